//! Recognises a goal that does not exist: make, ninja, just.

use super::invocation::{Layer, LayerRole, ToolLayer};
use super::requested::asked_now;
use super::scene::Scene;
use super::table::EvidenceStream;
use vplan_plan::facts::{Certainty, FactAnswer};

pub(super) fn means_something_else(scene: &Scene<'_>, layer: &Layer) -> bool {
    // Only names in the command itself can be dropped with it.
    layer.role != LayerRole::Goals
        || layer.echoed
        || wrong_exit(scene, layer)
        || recipe_failed(scene, layer)
        || all_declared(scene, layer)
}

/// Whether make's last line reports a failed recipe, whatever the recipe printed: `make: ***
/// [Makefile:2: lint] Error 1`.
fn recipe_failed(scene: &Scene<'_>, layer: &Layer) -> bool {
    let failed = || scene.line_of_layer(layer, EvidenceStream::Stderr, &["{self}: *** [{any}"]);
    layer.tool == ToolLayer::Make && failed().is_some()
}

/// Whether the exit code is not 2, with which GNU make exits on any error (its manual, "Running
/// make").
fn wrong_exit(scene: &Scene<'_>, layer: &Layer) -> bool {
    layer.tool == ToolLayer::Make && scene.evidence.exit.is_some_and(|code| code != 2)
}

fn all_declared(scene: &Scene<'_>, layer: &Layer) -> bool {
    let Some(now) = asked_now(layer) else {
        return false;
    };
    let is_declared = |goal: &String| scene.facts.holds(&now, goal.as_bytes()) == Certainty::Yes;
    !layer.asked.is_empty() && layer.asked.iter().all(is_declared)
}

/// Whether the repository certainly has no makefile where this layer searches for one.
pub(super) fn has_no_makefile(scene: &Scene<'_>, layer: &Layer) -> bool {
    let answer = asked_now(layer).and_then(|now| scene.facts.get(&now));
    layer.tool == ToolLayer::Make && matches!(answer, Some(FactAnswer::Word(Certainty::No)))
}
