//! Recognises a test runner that found no test files.

use super::invocation::{Layer, Tool};
use super::text::{Line, Names, reads_as};
use super::{EvidenceStream, Row, Scene, Test, Text};
use crate::base::vocabulary::FailureCode;

const CODE: FailureCode = FailureCode::NoTestFiles;

/// Exit codes that mean this and nothing else.
pub(super) const EXITS: &[Row] = &[
    // pytest's documentation, "Exit codes".
    Row {
        name: "pytest-exit-5",
        code: CODE,
        test: Test::Structure(|s| exited(s, Tool::Pytest, 5)),
    },
    // Since Python 3.12.
    Row {
        name: "unittest-exit-5",
        code: CODE,
        test: Test::Structure(|s| exited(s, Tool::Unittest, 5)),
    },
    // nextest's documentation, "Exit codes": NO_TESTS_RUN.
    Row {
        name: "nextest-exit-4",
        code: CODE,
        test: Test::Structure(|s| exited(s, Tool::Nextest, 4)),
    },
];

pub(super) const ROWS: &[Row] = &[
    row(
        "vitest-no-test-files",
        &[Tool::Vitest, Tool::SilentScript],
        EvidenceStream::Either,
        &[
            "No test files found, exiting with code {n}",
            "No affected test files found, exiting with code {n}",
        ],
    ),
    row(
        "jest-no-tests",
        &[Tool::Jest, Tool::SilentScript],
        EvidenceStream::Either,
        &["No tests found, exiting with code {n}"],
    ),
    row(
        "mocha-no-test-files",
        &[Tool::Mocha, Tool::SilentScript],
        EvidenceStream::Stderr,
        &[
            "Error: No test files found",
            "Error: No test files found: {any}",
        ],
    ),
    row(
        "playwright-no-tests",
        &[Tool::Playwright, Tool::SilentScript],
        EvidenceStream::Either,
        &["Error: No tests found", "Error: No tests found."],
    ),
    row(
        "ava-no-test-files",
        &[Tool::Ava],
        EvidenceStream::Either,
        &[
            "✖ Couldn’t find any files to test{any}",
            "✖ Couldn't find any files to test{any}",
            "✖ No test files were found{any}",
        ],
    ),
    row(
        "cypress-no-specs",
        &[Tool::Cypress],
        EvidenceStream::Either,
        &["Can't run because no spec files were found."],
    ),
    row(
        "node-test-no-file",
        &[Tool::NodeTest],
        EvidenceStream::Stderr,
        &["Could not find '{any}'"],
    ),
    row(
        "bun-test-no-files",
        &[Tool::BunTest],
        EvidenceStream::Either,
        &["error: 0 test files matching {any}", "No tests found!"],
    ),
    row(
        "deno-no-test-modules",
        &[Tool::DenoTest],
        EvidenceStream::Stderr,
        &["error: No test modules found"],
    ),
    row(
        "go-no-packages",
        &[Tool::Go],
        EvidenceStream::Stderr,
        &["no packages to test"],
    ),
    row(
        "ctest-no-tests",
        &[Tool::Ctest],
        EvidenceStream::Either,
        &["No tests were found!!!"],
    ),
];

const fn row(
    name: &'static str,
    tools: &'static [Tool],
    place: EvidenceStream,
    lines: &'static [&'static str],
) -> Row {
    Row {
        name,
        code: CODE,
        test: Test::Text(Text {
            tools,
            place,
            lines,
            unless: tests_ran,
        }),
    }
}

fn exited(scene: &Scene<'_>, tool: Tool, code: i32) -> Option<String> {
    let ours = |layer: &Layer| layer.tool == tool;
    (scene.exited(code) && scene.layers.iter().any(ours)).then(|| format!("exit {code}"))
}

/// The last lines of runners when there were tests: then one of the tests printed the other line.
const SUMMARIES: &[&str] = &[
    "Test Files {n} {any}",
    "Tests {n} {any}",
    "Test Suites: {any}",
    "Tests: {any}",
    "{n} passing{any}",
    "{n} failing{any}",
    "{n} passed{any}",
    "{n} failed{any}",
    "# tests {n}",
    "not ok {n} {any}",
];

/// Whether a runner's summary shows that tests ran.
pub(super) fn tests_ran(scene: &Scene<'_>, _: &Layer) -> bool {
    let summary = |line: &Line| {
        SUMMARIES
            .iter()
            .any(|t| reads_as(&line.text, t, Names::default()))
    };
    scene
        .out
        .iter()
        .chain(&scene.err)
        .any(|line| summary(line) && line.text != "# tests 0")
}
