//! Recognises a package script that does not exist: npm, pnpm, yarn 1 and berry, bun, `node --run`.

use super::invocation::{Layer, Role, Tool};
use super::text::Line;
use super::{EvidenceStream, Row, Scene, Test, Text, asked_of};
use crate::base::vocabulary::FailureCode;
use crate::plan::facts::Certainty;

/// Rows that read the facts about the script.
pub(super) const FACTS: &[Row] = &[Row {
    name: "script-not-declared",
    code: FailureCode::MissingScript,
    test: Test::Structure(not_declared),
}];

/// Rows that read what the runners print.
pub(super) const ROWS: &[Row] = &[
    row(
        "npm-missing-script",
        &[Tool::Npm],
        EvidenceStream::Stderr,
        &[
            "npm error Missing script: \"{asked}\"",
            "npm ERR! Missing script: \"{asked}\"",
            // npm 6
            "npm ERR! missing script: {asked}",
        ],
    ),
    row(
        "pnpm-missing-script",
        &[Tool::Pnpm],
        EvidenceStream::Either,
        &[
            "ERR_PNPM_NO_SCRIPT Missing script: {asked}",
            "ERR_PNPM_NO_SCRIPT_OR_SERVER Missing script {asked} or file server.js",
            "ERR_PNPM_RECURSIVE_RUN_NO_SCRIPT None of the selected packages has a \"{asked}\" script",
            "ERR_PNPM_RECURSIVE_RUN_NO_SCRIPT None of the packages has a \"{asked}\" script",
            // `pnpm NAME` looks for a program next.
            "ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL Command \"{asked}\" not found",
            "Command \"{asked}\" not found.",
            "Command \"{asked}\" not found. Did you mean {any}",
        ],
    ),
    row(
        "yarn-missing-script",
        &[Tool::Yarn],
        EvidenceStream::Either,
        &[
            "error Command \"{asked}\" not found.",
            "error Command \"{asked}\" not found. Did you mean {any}",
            "Usage Error: Couldn't find a script named \"{asked}\".",
        ],
    ),
    row(
        "bun-missing-script",
        &[Tool::Bun],
        EvidenceStream::Either,
        &[
            "error: Script not found \"{asked}\"",
            "error: missing script \"{asked}\"",
            "error: Module not found \"{asked}\"",
        ],
    ),
    row(
        "node-missing-script",
        &[Tool::Node],
        EvidenceStream::Stderr,
        &[
            "Missing script: \"{asked}\" for {any}",
            "Missing script: \"{asked}\"",
        ],
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
        code: FailureCode::MissingScript,
        test: Test::Text(Text {
            tools,
            place,
            lines,
            unless: exists,
        }),
    }
}

/// Whether there is evidence that the layer's script exists, or that it was not requested at all.
fn exists(scene: &Scene<'_>, layer: &Layer) -> bool {
    layer.role != Role::Script
        || scene.body.is_some()
        || scene.names_a_program(layer)
        || declared(scene, layer) == Certainty::Yes
}

fn declared(scene: &Scene<'_>, layer: &Layer) -> Certainty {
    let question = asked_of(layer.clone()).and_then(|asked| asked.questions());
    match (question, layer.asked.first()) {
        (Some([now, _]), Some(name)) => scene.facts.holds(&now, name.as_bytes()),
        _ => Certainty::Unknown,
    }
}

fn not_declared(scene: &Scene<'_>) -> Option<String> {
    if !scene.ended_badly() || scene.evidence.exit.is_none() || scene.body.is_some() {
        return None;
    }
    let layer = scene
        .layers
        .iter()
        .find(|l| l.role == Role::Script && !l.lenient)?;
    let missing = asked_of(layer.clone())?
        .undeclared(scene.facts)
        .into_iter()
        .next()?;
    Some(format!(
        "package.json declares no script `{}`",
        super::shown(&missing)
    ))
}

/// Returns the body of the layer's script, where its runner prints it before it starts it.
pub(super) fn body(layer: &Layer, out: &[Line], err: &[Line]) -> Option<String> {
    let name = layer.asked.first().filter(|_| layer.role == Role::Script)?;
    match layer.tool {
        // > demo@1.0.0 test [/repo]
        // > vitest run
        Tool::Npm | Tool::Pnpm => out.iter().zip(out.iter().skip(1)).find_map(|(head, body)| {
            let head = head.text.strip_prefix("> ").filter(|_| head.indent == 0)?;
            let body = body.text.strip_prefix("> ").filter(|_| body.indent == 0)?;
            head.split(' ')
                .any(|word| word == name)
                .then(|| body.to_owned())
        }),
        // yarn run v1.22.22
        // $ vitest run
        Tool::Yarn => {
            let begun = out
                .iter()
                .skip_while(|line| !line.text.starts_with("yarn run v1."));
            begun.skip(1).find_map(dollar)
        }
        Tool::Bun => err.iter().chain(out).find_map(dollar),
        _ => None,
    }
}

fn dollar(line: &Line) -> Option<String> {
    line.text
        .strip_prefix("$ ")
        .filter(|_| line.indent == 0)
        .map(str::to_owned)
}
