//! Recognises a test runner that found no test files.

use super::invocation::Layer;
use super::scene::Scene;
use super::table::lines;
use super::text::{Line, Names, reads_as};

/// Whether a runner's summary shows that tests ran.
pub(super) fn tests_ran(scene: &Scene<'_>, _: &Layer) -> bool {
    let summary = |line: &Line| {
        lines("summaries")
            .iter()
            .any(|t| reads_as(&line.text, t, Names::default()))
    };
    scene
        .out
        .iter()
        .chain(&scene.err)
        .any(|line| summary(line) && line.text != "# tests 0")
}
