//! Converts acode's configuration, `.agent/config.yml`: the command groups, and the verifier's
//! settings.
//!
//! | key | here |
//! |---|---|
//! | `project.name` | `contract NAME` |
//! | `commands.setup` | checks with `setup`, before all others |
//! | `commands.build`, `test`, `lint` | `compile`, `test`, `lint`; a list is a `sequence` |
//! | `commands.format`, `start` | lost: they verify nothing |
//! | a command: `run`, `cwd`, `env`, `timeout` (300 s), `retry`, `continue_on_error` | the verb, `dir`, `env`, `timeout`, `retries`, `severity warning` |
//! | an `env` value `${NAME}` | `pass-env NAME`; any other use of `${…}` is lost |
//! | a command's `platforms` | lost: a contract means the same on every machine |
//! | `verifier.checks.compilation`, `tests`, `static_analysis`: false | no checks of that kind, and that is reported |
//! | `verifier.checks.file_exists`, `file_content`, `llm_review` | lost, unless the file has such criteria: what they look at comes from acode's plan |
//! | `verifier.tools.typescript`, `tests`, `linter`: a command, or a mapping with `command` | `compile`, `test`, `lint` |
//! | `verifier.timeouts.compilation`, `tests`, `llm_review`, `static_analysis` | `timeout` of that kind |
//! | `compilation_timeout_seconds`, `test_timeout_seconds`, `llm_timeout_seconds`, `linter_timeout_seconds`, in `verifier`, its `timeouts` or its `thresholds` | `timeout` of that kind |
//! | `max_linter_errors`, `max_linter_warnings`, likewise | `max-errors`, `max-warnings` of lint checks |
//! | one of these limits, where no check is of its kind | lost; no effect where the kind is switched off |
//! | `require_test_pass`, likewise | true: what `test` means; false: changed, tests must pass |
//! | `criteria`, of the file, of `verifier` or of `steps[]`: `type`, `name`, `path`, `paths`, `file`, `files`, `command`, `cwd`, `timeout_seconds`, `contains`, `not_contains`, `matches`, `pattern`, `not_empty`, `min_size`, `max_size`, `max_errors`, `max_warnings`, `min_tests`, `required`, `prompt`, `question`, `criteria`, `context` | a `file` check for each path; `compile`, `test`, `lint` of its command; `judge` |
//! | `verifier.timeout_seconds` | `limits { budget }` |
//! | `verifier.thresholds.max_errors`, `max_warnings` | `max-errors`, `max-warnings` of lint checks |
//! | `verifier.max_cycles` | `gate { retries, on-exhausted escalate }` |
//! | `verifier.parallel` | `limits { jobs }` |
//! | `verifier.steps[]`: `name`, `kind`, `run`, `depends_on`, `enabled`, `cwd`, `env`, `timeout` (60 s), `retry`, `continue_on_error`, `max_errors`, `max_warnings`, `min_tests`, `path`, `exists`, `not_empty`, `contains`, `not_contains`, `matches`, `min_size`, `max_size`, `question` | a check: `compile`, `test`, `lint`, `file`, `run`, `judge` |
//! | `schema_version`, `project`, `mode`, `model`, `providers`, `paths`, `ignore`, `network`, `storage`, `tools` | no effect on checks |
//! | any other key | lost |
//!
//! Commands run through a shell there; `runr_json` describes what that becomes.

mod criteria;
mod step;
mod verifier;

use super::convert::account::Lost;
use super::convert::builder::{Builder, Spec};
use super::tree::{self, TreeNode, TreeValue};
use verifier::{MOST_SECONDS, Verifier};
use vplan_base::setting::Row;
use vplan_base::span::Place;
use vplan_base::word::has_word;
use vplan_check::Kind;
use vplan_contract::InclusionIndex;
use vplan_contract::draft::{At, Group, Sequence, Setting, Written};

const TOP: &str = "project commands verifier criteria steps";
const ELSEWHERE: &str = "schema_version mode model providers paths ignore network storage tools";
const PROJECT: &str = "name type languages description";
const GROUPS: &str = "setup build test lint format start";
/// The groups that become checks, and the kind of these.
const CHECKED: &[(&str, Kind)] = &[
    ("setup", Kind::Run),
    ("build", Kind::Compile),
    ("test", Kind::Test),
    ("lint", Kind::Lint),
];
const COMMAND: &str = "run command cwd env timeout retry continue_on_error platforms";
const TOOLS: &[(&str, Kind)] = &[
    ("typescript", Kind::Compile),
    ("tests", Kind::Test),
    ("linter", Kind::Lint),
];
/// Lowers the file.
pub(super) fn lower(builder: &mut Builder<'_>) {
    let Some(root) = tree::yaml(builder.sources, builder.id, builder.sink) else {
        return;
    };
    if matches!(root.value, TreeValue::Null) {
        let why = "the file is empty, so it checks nothing";
        return builder.lose(Lost::no_effect("the configuration", root.place, why));
    }
    let types = criteria::types(&root);
    let verifier = root
        .get("verifier")
        .map(|node| Verifier::read(builder, node, &types))
        .unwrap_or_default();
    for (key, node) in builder.map("the configuration", &root) {
        match key.name.as_str() {
            "commands" => groups(builder, node, &verifier),
            "project" => builder.project("project", node, PROJECT, "it asks for no check"),
            "verifier" | "criteria" => {}
            "steps" => plan(builder, node),
            name if has_word(ELSEWHERE, name) => {
                builder.no_effect("", key, "it says how acode works, not what is checked");
            }
            _ => builder.unknown("", key, TOP),
        }
    }
    let part = |name| root.get("verifier").and_then(|node| node.get(name));
    if let Some(node) = part("tools") {
        tools(builder, node, &verifier);
    }
    if let Some(node) = part("steps") {
        step::steps(builder, node, &verifier);
    }
    for (what, list) in criteria::lists(&root) {
        criteria::criteria(builder, &what, list, &verifier);
    }
    verifier.unused(builder);
}

/// Accounts for the steps of a plan, whose criteria are read apart.
fn plan(builder: &mut Builder<'_>, node: &TreeNode) {
    for step in builder.list("steps", node) {
        for (key, _) in builder.map("steps[]", step) {
            if key.name != "criteria" {
                let why = "it says what acode does in the step, not what must hold";
                builder.no_effect("steps[].", key, why);
            }
        }
    }
}

fn groups(builder: &mut Builder<'_>, node: &TreeNode, verifier: &Verifier) {
    let entries = builder.map("commands", node);
    let mut first = Vec::new();
    for (group, kind) in CHECKED {
        let Some((key, node)) = entries.iter().find(|(k, _)| k.name == *group) else {
            continue;
        };
        let steps = match &node.value {
            TreeValue::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let made: Vec<(String, Place)> = builder.list_of(None, |builder| {
            let made = steps.iter().flat_map(|step| {
                let of = ("commands", *group);
                let names = command(builder, of, step, *kind, 300_000, verifier);
                names.into_iter().map(move |name| (name, step.place))
            });
            made.collect()
        });
        if *group == "setup" {
            first = made;
        } else if made.len() > 1 {
            let sequence = sequence(&made, key.place, false);
            builder.draft.sequences.push(sequence);
        }
    }
    if let Some((_, place)) = first.first().cloned() {
        let others = builder.draft.entries.len() > first.len();
        if first.len() > 1 || others {
            let sequence = sequence(&first, place, others);
            builder.draft.sequences.insert(0, sequence);
        }
    }
    for (key, _) in entries {
        match key.name.as_str() {
            "format" => {
                let why = "it changes files and verifies nothing";
                let hand = "a check that runs it, with `unchanged \"**\"`, fails when something is not formatted";
                builder.lose(Lost::omitted("`commands.format`", key.place, why).by_hand(hand));
            }
            "start" => {
                let why = "it starts the program and verifies nothing";
                builder.lose(Lost::omitted("`commands.start`", key.place, why));
            }
            name if has_word(GROUPS, name) => {}
            _ => builder.unknown("commands.", key, GROUPS),
        }
    }
}

fn sequence(names: &[(String, Place)], place: Place, rest: bool) -> Sequence {
    let group = |(name, place): &(String, Place)| {
        At::new(Group::Names(vec![At::new(name.clone(), *place)]), *place)
    };
    let rest = rest.then(|| At::new(Group::Rest, place));
    Sequence {
        groups: names.iter().map(group).chain(rest).collect(),
        place,
        inclusion: InclusionIndex::CONTRACT,
    }
}

/// Reads a command, a string or a mapping with `run` or `command`, and makes its checks.
/// `otherwise_ms`: its limit, where neither it nor its kind has one.
fn command(
    builder: &mut Builder<'_>,
    (of, name): (&str, &str),
    node: &TreeNode,
    kind: Kind,
    otherwise_ms: u64,
    verifier: &Verifier,
) -> Vec<String> {
    let (path, mut settings) = (format!("{of}.{name}"), Vec::new());
    let what = path.as_str();
    let (mut text, mut dir) = (None, None);
    match &node.value {
        TreeValue::Text(_) => text = builder.text(what, node).map(|t| (t, node.place)),
        TreeValue::Map(entries) => {
            for (key, node) in entries {
                let what = format!("{what}.{}", key.name);
                match (key.name.as_str(), kind) {
                    ("run" | "command", _) => {
                        text = builder.text(&what, node).map(|t| (t, node.place));
                    }
                    ("cwd", _) => dir = builder.directory(&what, node),
                    ("timeout_seconds", _) => {
                        let seconds = builder.whole(&what, node, 1, MOST_SECONDS);
                        let ms = seconds.map(|n| Setting::new(Row::Timeout, n * 1_000));
                        settings.extend(ms);
                    }
                    ("max_errors" | "max_warnings", Kind::Lint) => {
                        settings.extend(builder.count(&what, key, node));
                    }
                    (name, _) if has_word(COMMAND, name) => {
                        builder.shared(&what, key, node, &mut settings);
                    }
                    _ => builder.unknown(&format!("{path}."), key, COMMAND),
                }
            }
            if node.get("run").is_none() && node.get("command").is_none() {
                let message = format!("`{what}` without `run`");
                builder.bad_value(node.place, message, "nothing to run");
            }
        }
        _ => builder.wrong_type(
            what,
            "a command, a list of commands or a mapping with `run`",
            node,
        ),
    }
    let Some((text, place)) = text else {
        return Vec::new();
    };
    if verifier.off.contains(&kind) {
        return Vec::new();
    }
    verifier.complete(kind, &mut settings, otherwise_ms);
    if name == "setup" {
        settings.push(Setting::new(Row::Setup, Written::Flag));
    }
    builder.command(Spec {
        name: name.to_owned(),
        kind,
        settings,
        dir: dir.as_deref(),
        ..Spec::bare(text, place)
    })
}

fn tools(builder: &mut Builder<'_>, node: &TreeNode, verifier: &Verifier) {
    for (key, node) in builder.map("verifier.tools", node) {
        let Some(kind) = builder.meaning("verifier.tools.", key, TOOLS) else {
            continue;
        };
        let (of, ms) = (("verifier.tools", &*key.name), kind.default_timeout_ms());
        command(builder, of, node, kind, ms, verifier);
    }
}
