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

use super::convert::Lost;
use super::convert::builder::{Builder, Spec};
use super::ralph_tui::limit_ms;
use super::tree::{self, Key, Node, Value};
use crate::base::command::is_env_name;
use crate::base::setting::Row;
use crate::base::span::Place;
use crate::base::word::{Word, visible};
use crate::check::Kind;
use crate::contract::InclusionIndex;
use crate::contract::draft::{At, Gate, Group, Limit, Sequence, Setting, Written};
use std::collections::{BTreeMap, BTreeSet};

const TOP: &[&str] = &["project", "commands", "verifier", "criteria", "steps"];
const ELSEWHERE: &[&str] = &[
    "schema_version",
    "mode",
    "model",
    "providers",
    "paths",
    "ignore",
    "network",
    "storage",
    "tools",
];
const PROJECT: &[&str] = &["name", "type", "languages", "description"];
const GROUPS: &[&str] = &["setup", "build", "test", "lint", "format", "start"];
/// The groups that become checks, and the kind of these.
const CHECKED: &[(&str, Kind)] = &[
    ("setup", Kind::Run),
    ("build", Kind::Compile),
    ("test", Kind::Test),
    ("lint", Kind::Lint),
];
const COMMAND: &[&str] = &[
    "run",
    "command",
    "cwd",
    "env",
    "timeout",
    "retry",
    "continue_on_error",
    "platforms",
];
const VERIFIER: &[&str] = &[
    "checks",
    "tools",
    "timeouts",
    "timeout_seconds",
    "thresholds",
    "max_cycles",
    "parallel",
    "steps",
    "criteria",
    "test_timeout_seconds",
    "compilation_timeout_seconds",
    "llm_timeout_seconds",
    "linter_timeout_seconds",
    "max_linter_errors",
    "max_linter_warnings",
    "require_test_pass",
];
/// The limits that are written flat, each with its kind.
const FLAT_TIMEOUTS: &[(&str, Kind)] = &[
    ("compilation_timeout_seconds", Kind::Compile),
    ("test_timeout_seconds", Kind::Test),
    ("linter_timeout_seconds", Kind::Lint),
    ("llm_timeout_seconds", Kind::Judge),
];
const FLAT_THRESHOLDS: &[(&str, Row)] = &[
    ("max_linter_errors", Row::MaxErrors),
    ("max_linter_warnings", Row::MaxWarnings),
];
/// The switches, each with the kind of the checks that it is about.
const CHECKS: &[(&str, Option<Kind>)] = &[
    ("file_exists", None),
    ("file_content", None),
    ("compilation", Some(Kind::Compile)),
    ("tests", Some(Kind::Test)),
    ("static_analysis", Some(Kind::Lint)),
    ("llm_review", None),
];
const TIMEOUTS: &[(&str, Kind)] = &[
    ("compilation", Kind::Compile),
    ("tests", Kind::Test),
    ("static_analysis", Kind::Lint),
    ("llm_review", Kind::Judge),
];
const THRESHOLDS: &[(&str, Row)] = &[
    ("max_errors", Row::MaxErrors),
    ("max_warnings", Row::MaxWarnings),
];
const TOOLS: &[(&str, Kind)] = &[
    ("typescript", Kind::Compile),
    ("tests", Kind::Test),
    ("linter", Kind::Lint),
];
/// The most seconds of a duration, so that milliseconds are exact everywhere.
const MOST_SECONDS: u64 = 1_000_000_000;

/// Lowers the file.
pub(super) fn lower(builder: &mut Builder<'_>) {
    let Some(root) = tree::yaml(builder.sources, builder.id, builder.sink) else {
        return;
    };
    if matches!(root.value, Value::Null) {
        let why = "the file is empty, so it checks nothing";
        let lost = Lost::no_effect("the configuration", root.place, why);
        return builder.lost.push(lost);
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
            name if ELSEWHERE.contains(&name) => {
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
fn plan(builder: &mut Builder<'_>, node: &Node) {
    for step in builder.list("steps", node) {
        for (key, _) in builder.map("steps[]", step) {
            if key.name != "criteria" {
                let why = "it says what acode does in the step, not what must hold";
                builder.no_effect("steps[].", key, why);
            }
        }
    }
}

/// The settings of the verifier for all checks of a kind.
#[derive(Default)]
struct Verifier {
    off: Vec<Kind>,
    /// The types of criteria that are switched off and are no kind of their own.
    off_types: Vec<String>,
    timeouts: BTreeMap<Kind, u64>,
    lint: Vec<Setting>,
    /// The keys of these, each with the kind of the checks that it limits.
    limited: Vec<(Kind, String, Place)>,
}

impl Verifier {
    fn read(builder: &mut Builder<'_>, node: &Node, types: &BTreeSet<String>) -> Self {
        let mut verifier = Self::default();
        for (key, node) in builder.map("verifier", node) {
            let (what, place) = (format!("verifier.{}", key.name), node.place);
            match key.name.as_str() {
                "checks" => verifier.switches(builder, node, types),
                "timeouts" => verifier.limits(builder, node),
                "thresholds" => verifier.thresholds(builder, node),
                "timeout_seconds" => {
                    let seconds = builder.whole(&what, node, 1, MOST_SECONDS);
                    let budget = seconds.map(|n| At::new(Limit::Budget(n * 1_000), place));
                    builder.draft.limits.extend(budget);
                }
                "parallel" => {
                    let jobs = number(builder, &what, node, 1, 256);
                    let jobs = jobs.map(|n| At::new(Limit::Jobs(n.into()), place));
                    builder.draft.limits.extend(jobs);
                }
                "max_cycles" => {
                    let retries = number(builder, &what, node, 0, 1_000);
                    let exhausted = Gate::OnExhausted("escalate".to_owned());
                    let gate = retries.map(|n| [Gate::Retries(n), exhausted]);
                    let lines = gate.into_iter().flatten().map(|line| At::new(line, place));
                    builder.draft.gate.extend(lines);
                }
                // Read once the settings for all checks are known.
                "tools" | "steps" | "criteria" => {}
                _ if verifier.flat(builder, &what, key, node) => {}
                _ => builder.unknown("verifier.", key, VERIFIER),
            }
        }
        verifier
    }

    /// Whether criteria of a type are left out.
    fn is_off(&self, name: &str, kind: Kind) -> bool {
        self.off.contains(&kind) || self.off_types.iter().any(|off| off == name)
    }

    /// Reads a limit or a threshold by itself. Returns whether the key was one.
    fn flat(&mut self, builder: &mut Builder<'_>, what: &str, key: &Key, node: &Node) -> bool {
        let name = key.name.as_str();
        if let Some((_, kind)) = FLAT_TIMEOUTS.iter().find(|(known, _)| *known == name) {
            self.timeout(builder, what, node, *kind);
        } else if let Some((_, row)) = FLAT_THRESHOLDS.iter().find(|(known, _)| *known == name) {
            self.threshold(builder, what, node, *row);
        } else if name == "require_test_pass" {
            let what = format!("`{what}`");
            match builder.boolean(&what, node) {
                Some(true) => {
                    let why = "a `test` passes only when its tests do";
                    builder.lost.push(Lost::no_effect(what, node.place, why));
                }
                Some(false) => {
                    let why = "tests that fail are a failure here";
                    let lost = Lost::changed(what, node.place, why);
                    let hand = "`severity warning` in the checks whose failure shall only be told";
                    builder.lost.push(lost.by_hand(hand));
                }
                None => {}
            }
        } else {
            return false;
        }
        true
    }

    fn switches(&mut self, builder: &mut Builder<'_>, node: &Node, types: &BTreeSet<String>) {
        for (key, node) in builder.map("verifier.checks", node) {
            let Some(kind) = builder.meaning("verifier.checks.", key, CHECKS) else {
                continue;
            };
            let what = format!("verifier.checks.{}", key.name);
            let switched = builder.boolean(&what, node);
            let what = format!("`{what}`");
            match (switched, kind) {
                (Some(false), Some(kind)) => {
                    self.off.push(kind);
                    let why = format!(
                        "checks of the kind `{}` are switched off there and left out here",
                        kind.verb()
                    );
                    builder.lost.push(Lost::no_effect(what, node.place, why));
                }
                (Some(false), None) => self.off_types.push(key.name.clone()),
                (Some(true), None) if !types.contains(&key.name) => {
                    let why = "what it looks at comes from acode's plan, step by step";
                    let hand = if key.name == "llm_review" {
                        "a check with `judge \"QUESTION\"`"
                    } else {
                        "a check with `file \"PATH\" {`"
                    };
                    let lost = Lost::gone(what, node.place, why);
                    builder.lost.push(lost.by_hand(hand));
                }
                _ => {}
            }
        }
    }

    fn limits(&mut self, builder: &mut Builder<'_>, node: &Node) {
        for (key, node) in builder.map("verifier.timeouts", node) {
            let what = format!("verifier.timeouts.{}", key.name);
            if self.flat(builder, &what, key, node) {
                continue;
            }
            if let Some(kind) = builder.meaning("verifier.timeouts.", key, TIMEOUTS) {
                self.timeout(builder, &what, node, kind);
            }
        }
    }

    fn thresholds(&mut self, builder: &mut Builder<'_>, node: &Node) {
        for (key, node) in builder.map("verifier.thresholds", node) {
            let what = format!("verifier.thresholds.{}", key.name);
            if self.flat(builder, &what, key, node) {
                continue;
            }
            if let Some(row) = builder.meaning("verifier.thresholds.", key, THRESHOLDS) {
                self.threshold(builder, &what, node, row);
            }
        }
    }

    fn timeout(&mut self, builder: &mut Builder<'_>, what: &str, node: &Node, kind: Kind) {
        if let Some(seconds) = builder.whole(what, node, 1, MOST_SECONDS) {
            self.timeouts.insert(kind, seconds * 1_000);
            self.limited.push((kind, what.to_owned(), node.place));
        }
    }

    fn threshold(&mut self, builder: &mut Builder<'_>, what: &str, node: &Node, row: Row) {
        if let Some(setting) = count(builder, what, node, row) {
            self.lint.push(setting);
            self.limited.push((Kind::Lint, what.to_owned(), node.place));
        }
    }

    /// Accounts for the limits of kinds that no check has in the end.
    fn unused(&self, builder: &mut Builder<'_>) {
        for (kind, what, place) in &self.limited {
            if builder.has_check(*kind) {
                continue;
            }
            let what = format!("`{what}`");
            let verb = kind.verb();
            let lost = if self.off.contains(kind) {
                let why = format!("checks of the kind `{verb}` are switched off there");
                Lost::no_effect(what, *place, why)
            } else {
                let why = format!("the file has no command for a check of the kind `{verb}`");
                let hand = format!("a check with `{verb}`, and the limit in it");
                Lost::gone(what, *place, why).by_hand(hand)
            };
            builder.lost.push(lost);
        }
    }

    /// Thresholds and limits for a check that may have its own.
    fn complete(&self, kind: Kind, settings: &mut Vec<Setting>, otherwise_ms: u64) {
        let ms = self.timeouts.get(&kind).copied().unwrap_or(otherwise_ms);
        let lint = self.lint.iter().filter(|_| kind == Kind::Lint).cloned();
        for setting in std::iter::once(Setting::new(Row::Timeout, ms)).chain(lint) {
            if !settings.iter().any(|s| s.row == setting.row) {
                settings.push(setting);
            }
        }
    }
}

fn count(builder: &mut Builder<'_>, what: &str, node: &Node, row: Row) -> Option<Setting> {
    let count = builder.whole(what, node, 0, 1_000_000_000)?;
    Some(Setting::new(row, count))
}

/// Reads a whole number within bounds that 32 bits hold.
fn number(
    builder: &mut Builder<'_>,
    what: &str,
    node: &Node,
    least: u64,
    most: u64,
) -> Option<u32> {
    builder
        .whole(what, node, least, most)
        .and_then(|n| u32::try_from(n).ok())
}

fn groups(builder: &mut Builder<'_>, node: &Node, verifier: &Verifier) {
    let entries = builder.map("commands", node);
    let mut first = Vec::new();
    for (group, kind) in CHECKED {
        let Some((key, node)) = entries.iter().find(|(k, _)| k.name == *group) else {
            continue;
        };
        let steps = match &node.value {
            Value::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let made: Vec<(String, Place)> = builder.list_of(None, |builder| {
            let made = steps
                .iter()
                .map(|step| (command(builder, group, step, *kind, verifier), step.place));
            made.flat_map(|(names, place)| names.into_iter().map(move |n| (n, place)))
                .collect()
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
                let lost = Lost::gone("`commands.format`", key.place, why);
                builder.lost.push(lost.by_hand(hand));
            }
            "start" => {
                let why = "it starts the program and verifies nothing";
                let lost = Lost::gone("`commands.start`", key.place, why);
                builder.lost.push(lost);
            }
            name if GROUPS.contains(&name) => {}
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

/// A command that becomes checks.
struct NamedCommand<'a> {
    /// The path of its key.
    what: &'a str,
    name: &'a str,
    kind: Kind,
    /// Its limit, where neither it nor its kind has one.
    otherwise_ms: u64,
}

fn command(
    builder: &mut Builder<'_>,
    group: &str,
    node: &Node,
    kind: Kind,
    verifier: &Verifier,
) -> Vec<String> {
    let what = format!("commands.{group}");
    let entry = NamedCommand {
        what: &what,
        name: group,
        kind,
        otherwise_ms: 300_000,
    };
    entry.make(builder, node, verifier)
}

impl NamedCommand<'_> {
    /// Reads a command, a string or a mapping with `run` or `command`, and makes its checks.
    fn make(&self, builder: &mut Builder<'_>, node: &Node, verifier: &Verifier) -> Vec<String> {
        let (what, kind) = (self.what, self.kind);
        let mut settings = Vec::new();
        let (mut text, mut dir) = (None, None);
        match &node.value {
            Value::Text(_) => text = builder.text(what, node).map(|t| (t, node.place)),
            Value::Map(entries) => {
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
                            let row = THRESHOLDS.iter().find(|(name, _)| *name == key.name);
                            settings
                                .extend(row.and_then(|(_, row)| count(builder, &what, node, *row)));
                        }
                        (name, _) if COMMAND.contains(&name) => {
                            shared(builder, &what, key, node, &mut settings);
                        }
                        _ => builder.unknown(&format!("{}.", self.what), key, COMMAND),
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
        verifier.complete(kind, &mut settings, self.otherwise_ms);
        if self.name == "setup" {
            settings.push(Setting::new(Row::Setup, Written::Flag));
        }
        let (name, dir) = (self.name.to_owned(), dir.as_deref());
        builder.command(Spec {
            name,
            kind,
            settings,
            dir,
            ..Spec::bare(text, place)
        })
    }
}

/// Reads the keys that commands and steps share.
fn shared(
    builder: &mut Builder<'_>,
    what: &str,
    key: &Key,
    node: &Node,
    settings: &mut Vec<Setting>,
) {
    match key.name.as_str() {
        "timeout" => {
            let seconds = builder.whole(what, node, 0, MOST_SECONDS);
            let ms = seconds.map(|n| limit_ms(builder, what, node, n * 1_000));
            settings.extend(ms.map(|ms| Setting::new(Row::Timeout, ms)));
        }
        "retry" => {
            let retries = builder.whole(what, node, 0, 1_000).filter(|n| *n > 0);
            settings.extend(retries.map(|n| Setting::new(Row::Retries, n)));
        }
        "continue_on_error" => {
            let goes_on = builder.boolean(what, node).filter(|yes| *yes);
            settings.extend(goes_on.map(|_| Setting::new(Row::Severity, "warning".to_owned())));
        }
        "env" => {
            for (name, value) in builder.map(what, node) {
                variable(builder, what, name, value, settings);
            }
        }
        "platforms" => {
            let why = "a contract means the same on every machine";
            let hand = "a script that looks at the system";
            let lost = Lost::gone(format!("`{what}`"), key.place, why);
            builder.lost.push(lost.by_hand(hand));
        }
        _ => {}
    }
}

fn variable(
    builder: &mut Builder<'_>,
    what: &str,
    name: &Key,
    value: &Node,
    settings: &mut Vec<Setting>,
) {
    let what = format!("{what}.{}", name.name);
    if !is_env_name(&name.name) {
        let message = format!("`{}` names no variable", visible(name.name.as_bytes()));
        return builder.bad_value(name.place, message, "letters, digits and `_` are expected");
    }
    let Some(text) = builder.text(&what, value) else {
        return;
    };
    if text.contains('\0') {
        let message = format!("the value of `{}` holds a NUL", name.name);
        return builder.bad_value(value.place, message, "no variable can hold it");
    }
    let from = text
        .strip_prefix("${")
        .and_then(|t| t.strip_suffix('}'))
        .filter(|n| *n == name.name);
    if let Some(from) = from {
        let word = At::new(from.to_owned(), value.place);
        match settings
            .iter_mut()
            .find_map(|s| match (&mut s.value, s.row) {
                (Written::Texts(names), Row::PassEnv) => Some(names),
                _ => None,
            }) {
            Some(names) => names.push(word),
            None => settings.push(Setting::new(Row::PassEnv, vec![word])),
        }
    } else if text.contains("${") {
        let why = "the value would have to be put together from other variables";
        let hand = "`pass-env` for a variable that is there, `env NAME=VALUE` for a fixed value";
        let lost = Lost::gone(format!("`{what}`"), value.place, why);
        builder.lost.push(lost.by_hand(hand));
    } else {
        settings.push(Setting::new(
            Row::Env,
            Written::Variable(name.name.clone(), Word::from(text)),
        ));
    }
}

fn tools(builder: &mut Builder<'_>, node: &Node, verifier: &Verifier) {
    for (key, node) in builder.map("verifier.tools", node) {
        let Some(kind) = builder.meaning("verifier.tools.", key, TOOLS) else {
            continue;
        };
        let what = format!("verifier.tools.{}", key.name);
        let entry = NamedCommand {
            what: &what,
            name: &key.name,
            kind,
            otherwise_ms: kind.default_timeout_ms(),
        };
        entry.make(builder, node, verifier);
    }
}
