//! Recognises a package script that does not exist: npm, pnpm, yarn 1 and berry, bun, `node --run`.

use super::invocation::{Layer, LayerRole};
use super::requested::{asked_now, asked_of};
use super::scene::{Scene, quote};
use vplan_plan::facts::Certainty;

/// Whether there is evidence that the layer's script exists, or that it was not requested at all.
pub(super) fn exists(scene: &Scene<'_>, layer: &Layer) -> bool {
    layer.role != LayerRole::Script
        || scene.body.is_some()
        || scene.names_a_program(layer)
        || declared(scene, layer) == Certainty::Yes
}

fn declared(scene: &Scene<'_>, layer: &Layer) -> Certainty {
    match (asked_now(layer), layer.asked.first()) {
        (Some(now), Some(name)) => scene.facts.holds(&now, name.as_bytes()),
        _ => Certainty::Unknown,
    }
}

pub(super) fn not_declared(scene: &Scene<'_>) -> Option<String> {
    if !scene.ended_badly() || scene.evidence.exit.is_none() || scene.body.is_some() {
        return None;
    }
    let mut layers = scene.layers.iter();
    let layer = layers.find(|l| l.role == LayerRole::Script && !l.lenient)?;
    let missing = asked_of(layer.clone())?.undeclared(scene.facts);
    let missing = quote(missing.first()?);
    Some(format!("package.json declares no script `{missing}`"))
}
