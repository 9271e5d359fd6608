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
//! | `verifier.checks.file_exists`, `file_content`, `llm_review` | lost: what they look at comes from acode's plan |
//! | `verifier.tools.typescript`, `tests`, `linter` | `compile`, `test`, `lint` |
//! | `verifier.timeouts.compilation`, `tests`, `llm_review`, `static_analysis` | `timeout` of that kind |
//! | `verifier.timeout_seconds` | `limits { budget }` |
//! | `verifier.thresholds.max_errors`, `max_warnings` | `max-errors`, `max-warnings` of lint checks |
//! | `verifier.max_cycles` | `gate { retries, on-exhausted escalate }` |
//! | `verifier.parallel` | `limits { jobs }` |
//! | `verifier.steps[]`: `name`, `kind`, `run`, `depends_on`, `enabled`, `cwd`, `env`, `timeout` (60 s), `retry`, `continue_on_error`, `max_errors`, `max_warnings`, `min_tests`, `path`, `exists`, `not_empty`, `contains`, `not_contains`, `matches`, `min_size`, `max_size`, `question` | a check: `compile`, `test`, `lint`, `file`, `run`, `judge` |
//! | `schema_version`, `project`, `mode`, `model`, `providers`, `paths`, `ignore`, `network`, `storage`, `tools` | no effect on checks |
//! | any other key | lost |
//!
//! Commands run through a shell there; `runr_json` describes what that becomes.

use super::convert::builder::{Builder, Spec, slug};
use super::convert::{BAD_VALUE, DUPLICATE_STEP, Weight};
use super::ralph_tui::NO_LIMIT_MS;
use super::tree::{self, Key, Node, Value};
use crate::base::command::is_env_name;
use crate::base::setting::Row;
use crate::base::span::Place;
use crate::base::word::{Word, visible};
use crate::check::Kind;
use crate::check::request::Assertion;
use crate::contract::InclusionIndex;
use crate::contract::draft::{
    At, Check, CheckEntry, Gate, Group, Limit, Sequence, Setting, Verb, Written,
};
use std::collections::BTreeMap;

const TOP: &[&str] = &["project", "commands", "verifier"];
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
const GROUPS: &[&str] = &["setup", "build", "test", "lint", "format", "start"];
const COMMAND: &[&str] = &[
    "run",
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
];
const CHECKS: &[&str] = &[
    "file_exists",
    "file_content",
    "compilation",
    "tests",
    "static_analysis",
    "llm_review",
];
const STEP: &[&str] = &[
    "name",
    "kind",
    "run",
    "depends_on",
    "enabled",
    "cwd",
    "env",
    "timeout",
    "retry",
    "continue_on_error",
    "max_errors",
    "max_warnings",
    "min_tests",
    "path",
    "exists",
    "not_empty",
    "contains",
    "not_contains",
    "matches",
    "min_size",
    "max_size",
    "question",
];
/// The most seconds of a duration, so that milliseconds are exact everywhere.
const MOST_SECONDS: u64 = 1_000_000_000;

/// Lowers the file.
pub(super) fn lower(builder: &mut Builder<'_>) {
    let Some(root) = tree::yaml(builder.sources, builder.id, builder.sink) else {
        return;
    };
    if matches!(root.value, Value::Null) {
        builder.lose(
            Weight::NoEffect,
            "the configuration",
            root.place,
            "the file is empty, so it checks nothing",
            None,
        );
        return;
    }
    let verifier = root
        .get("verifier")
        .map(|node| Verifier::read(builder, node))
        .unwrap_or_default();
    for (key, node) in builder.map("the configuration", &root) {
        match key.name.as_str() {
            "commands" => groups(builder, node, &verifier),
            "project" => project(builder, node),
            "verifier" => {}
            name if ELSEWHERE.contains(&name) => {
                builder.no_effect("", key, "it says how acode works, not what is checked");
            }
            _ => builder.unknown("", key, TOP),
        }
    }
    if let Some(node) = root.get("verifier") {
        tools(builder, node, &verifier);
        if let Some(steps) = node.get("steps") {
            self::steps(builder, steps, &verifier);
        }
    }
}

fn project(builder: &mut Builder<'_>, node: &Node) {
    for (key, node) in builder.map("project", node) {
        match key.name.as_str() {
            "name" => {
                if let Some(name) = builder.text("project.name", node) {
                    builder
                        .draft
                        .names
                        .push(At::new(name.to_owned(), node.place));
                }
            }
            "type" | "languages" | "description" => {
                builder.no_effect("project.", key, "it asks for no check")
            }
            _ => builder.unknown(
                "project.",
                key,
                &["name", "type", "languages", "description"],
            ),
        }
    }
}

/// The settings of the verifier for all checks of a kind.
#[derive(Default)]
struct Verifier {
    off: Vec<Kind>,
    timeouts: BTreeMap<Kind, u64>,
    lint: Vec<Setting>,
}

impl Verifier {
    fn read(builder: &mut Builder<'_>, node: &Node) -> Self {
        let mut verifier = Self::default();
        for (key, node) in builder.map("verifier", node) {
            let what = format!("verifier.{}", key.name);
            match key.name.as_str() {
                "checks" => verifier.switches(builder, node),
                "timeouts" => verifier.limits(builder, node),
                "thresholds" => {
                    for (key, node) in builder.map(&what, node) {
                        let what = format!("{what}.{}", key.name);
                        match key.name.as_str() {
                            "max_errors" => {
                                verifier
                                    .lint
                                    .extend(count(builder, &what, node, Row::MaxErrors))
                            }
                            "max_warnings" => {
                                verifier
                                    .lint
                                    .extend(count(builder, &what, node, Row::MaxWarnings));
                            }
                            _ => builder.unknown(
                                "verifier.thresholds.",
                                key,
                                &["max_errors", "max_warnings"],
                            ),
                        }
                    }
                }
                "timeout_seconds" => {
                    if let Some(seconds) = builder.whole(&what, node, 1, MOST_SECONDS) {
                        builder
                            .draft
                            .limits
                            .push(At::new(Limit::Budget(seconds * 1_000), node.place));
                    }
                }
                "parallel" => {
                    if let Some(jobs) = builder
                        .whole(&what, node, 1, 256)
                        .and_then(|n| u32::try_from(n).ok())
                    {
                        builder
                            .draft
                            .limits
                            .push(At::new(Limit::Jobs(jobs), node.place));
                    }
                }
                "max_cycles" => {
                    if let Some(retries) = builder
                        .whole(&what, node, 0, 1_000)
                        .and_then(|n| u32::try_from(n).ok())
                    {
                        builder
                            .draft
                            .gate
                            .push(At::new(Gate::Retries(retries), node.place));
                        builder.draft.gate.push(At::new(
                            Gate::OnExhausted("escalate".to_owned()),
                            node.place,
                        ));
                    }
                }
                // Read once the settings for all checks are known.
                "tools" | "steps" => {}
                _ => builder.unknown("verifier.", key, VERIFIER),
            }
        }
        verifier
    }

    fn switches(&mut self, builder: &mut Builder<'_>, node: &Node) {
        for (key, node) in builder.map("verifier.checks", node) {
            let what = format!("verifier.checks.{}", key.name);
            let kind = match key.name.as_str() {
                "compilation" => Some(Kind::Compile),
                "tests" => Some(Kind::Test),
                "static_analysis" => Some(Kind::Lint),
                "file_exists" | "file_content" | "llm_review" => None,
                _ => {
                    builder.unknown("verifier.checks.", key, CHECKS);
                    continue;
                }
            };
            match (builder.boolean(&what, node), kind) {
                (Some(false), Some(kind)) => {
                    self.off.push(kind);
                    let why = format!(
                        "checks of the kind `{}` are switched off there and left out here",
                        kind.verb()
                    );
                    builder.lose(
                        Weight::NoEffect,
                        &format!("`{what}`"),
                        node.place,
                        &why,
                        None,
                    );
                }
                (Some(true), None) => {
                    let why = "what it looks at comes from acode's plan, step by step";
                    let hand = if key.name == "llm_review" {
                        "a check with `judge \"QUESTION\"`"
                    } else {
                        "a check with `file \"PATH\" {`"
                    };
                    builder.lose(
                        Weight::Lost,
                        &format!("`{what}`"),
                        node.place,
                        why,
                        Some(hand),
                    );
                }
                _ => {}
            }
        }
    }

    fn limits(&mut self, builder: &mut Builder<'_>, node: &Node) {
        const KEYS: &[&str] = &["compilation", "tests", "static_analysis", "llm_review"];
        for (key, node) in builder.map("verifier.timeouts", node) {
            let kind = match key.name.as_str() {
                "compilation" => Kind::Compile,
                "tests" => Kind::Test,
                "static_analysis" => Kind::Lint,
                "llm_review" => Kind::Judge,
                _ => {
                    builder.unknown("verifier.timeouts.", key, KEYS);
                    continue;
                }
            };
            let what = format!("verifier.timeouts.{}", key.name);
            if let Some(seconds) = builder.whole(&what, node, 1, MOST_SECONDS) {
                self.timeouts.insert(kind, seconds * 1_000);
            }
        }
    }

    /// Thresholds and limits for a check that may have its own.
    fn complete(&self, kind: Kind, settings: &mut Vec<Setting>, otherwise_ms: u64) {
        if !settings.iter().any(|s| s.row == Row::Timeout) {
            let ms = self.timeouts.get(&kind).copied().unwrap_or(otherwise_ms);
            settings.push(Setting::new(Row::Timeout, ms));
        }
        if kind == Kind::Lint {
            for threshold in &self.lint {
                if !settings.iter().any(|s| s.row == threshold.row) {
                    settings.push(threshold.clone());
                }
            }
        }
    }
}

fn count(builder: &mut Builder<'_>, what: &str, node: &Node, row: Row) -> Option<Setting> {
    let count = builder.whole(what, node, 0, 1_000_000_000)?;
    Some(Setting::new(row, count))
}

fn groups(builder: &mut Builder<'_>, node: &Node, verifier: &Verifier) {
    let entries = builder.map("commands", node);
    let mut first = Vec::new();
    for (group, kind) in [
        ("setup", Kind::Run),
        ("build", Kind::Compile),
        ("test", Kind::Test),
        ("lint", Kind::Lint),
    ] {
        let Some((key, node)) = entries.iter().find(|(k, _)| k.name == group) else {
            continue;
        };
        let steps: Vec<&Node> = match &node.value {
            Value::List(nodes) => nodes.iter().collect(),
            _ => vec![node],
        };
        let made: Vec<(String, Place)> = builder.list_of(None, |builder| {
            let made = steps
                .into_iter()
                .map(|step| (command(builder, group, step, kind, verifier), step.place));
            made.flat_map(|(names, place)| names.into_iter().map(move |n| (n, place)))
                .collect()
        });
        if group == "setup" {
            first = made;
        } else if made.len() > 1 {
            builder
                .draft
                .sequences
                .push(sequence(&made, key.place, false));
        }
    }
    if let Some((_, place)) = first.first().cloned() {
        let others = builder.draft.entries.len() > first.len();
        if first.len() > 1 || others {
            builder
                .draft
                .sequences
                .insert(0, sequence(&first, place, others));
        }
    }
    for (key, _) in entries {
        match key.name.as_str() {
            "format" => {
                let why = "it changes files and verifies nothing";
                let hand = "a check that runs it, with `unchanged \"**\"`, fails when something is not formatted";
                builder.lose(
                    Weight::Lost,
                    "`commands.format`",
                    key.place,
                    why,
                    Some(hand),
                );
            }
            "start" => {
                let why = "it starts the program and verifies nothing";
                builder.lose(Weight::Lost, "`commands.start`", key.place, why, None);
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

/// Reads a command: a string, or a mapping with `run`.
fn command(
    builder: &mut Builder<'_>,
    group: &str,
    node: &Node,
    kind: Kind,
    verifier: &Verifier,
) -> Vec<String> {
    let what = format!("commands.{group}");
    let mut settings = Vec::new();
    let (mut text, mut dir) = (None, None);
    match &node.value {
        Value::Text(_) => text = builder.text(&what, node).map(|t| (t, node.place)),
        Value::Map(entries) => {
            for (key, node) in entries {
                let what = format!("{what}.{}", key.name);
                match key.name.as_str() {
                    "run" => text = builder.text(&what, node).map(|t| (t, node.place)),
                    "cwd" => dir = builder.directory(&what, node),
                    name if COMMAND.contains(&name) => {
                        shared(builder, &what, key, node, &mut settings)
                    }
                    _ => builder.unknown(&format!("commands.{group}."), key, COMMAND),
                }
            }
            if node.get("run").is_none() {
                let message = format!("`{what}` without `run`");
                builder.fault(BAD_VALUE, node.place, message, "nothing to run", None);
            }
        }
        _ => builder.wrong_type(
            &what,
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
    verifier.complete(kind, &mut settings, 300_000);
    if group == "setup" {
        settings.push(Setting::new(Row::Setup, Written::Flag));
    }
    let (name, dir) = (group.to_owned(), dir.as_deref());
    builder.command(Spec {
        name,
        kind,
        settings,
        dir,
        ..Spec::bare(text, place)
    })
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
            let Some(seconds) = builder.whole(what, node, 0, MOST_SECONDS) else {
                return;
            };
            if seconds == 0 {
                let why = "0 is no limit there; here a command always has one, 24h";
                builder.lose(Weight::Changed, &format!("`{what}`"), node.place, why, None);
            }
            let ms = if seconds == 0 {
                NO_LIMIT_MS
            } else {
                seconds * 1_000
            };
            settings.push(Setting::new(Row::Timeout, ms));
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
            builder.lose(
                Weight::Lost,
                &format!("`{what}`"),
                key.place,
                why,
                Some(hand),
            );
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
        builder.fault(
            BAD_VALUE,
            name.place,
            message,
            "letters, digits and `_` are expected",
            None,
        );
        return;
    }
    let Some(text) = builder.text(&what, value) else {
        return;
    };
    if text.contains('\0') {
        let message = format!("the value of `{}` holds a NUL", name.name);
        builder.fault(
            BAD_VALUE,
            value.place,
            message,
            "no variable can hold it",
            None,
        );
        return;
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
        builder.lose(
            Weight::Lost,
            &format!("`{what}`"),
            value.place,
            why,
            Some(hand),
        );
    } else {
        settings.push(Setting::new(
            Row::Env,
            Written::Variable(name.name.clone(), Word::from(text)),
        ));
    }
}

fn tools(builder: &mut Builder<'_>, node: &Node, verifier: &Verifier) {
    let Some(node) = node.get("tools") else {
        return;
    };
    for (key, node) in builder.map("verifier.tools", node) {
        let kind = match key.name.as_str() {
            "typescript" => Kind::Compile,
            "tests" => Kind::Test,
            "linter" => Kind::Lint,
            _ => {
                builder.unknown("verifier.tools.", key, &["typescript", "tests", "linter"]);
                continue;
            }
        };
        let Some(text) = builder.text(&format!("verifier.tools.{}", key.name), node) else {
            continue;
        };
        if verifier.off.contains(&kind) {
            continue;
        }
        let mut settings = Vec::new();
        verifier.complete(kind, &mut settings, kind.default_timeout_ms());
        let (name, place) = (key.name.clone(), node.place);
        builder.command(Spec {
            name,
            kind,
            settings,
            ..Spec::bare(text, place)
        });
    }
}

/// A parsed step of the pipeline.
struct Step<'n> {
    node: &'n Node,
    name: At<String>,
    kind: Kind,
    settings: Vec<Setting>,
    depends_on: Vec<At<String>>,
    assertions: Vec<At<Assertion>>,
    enabled: bool,
}

fn steps(builder: &mut Builder<'_>, node: &Node, verifier: &Verifier) {
    let read: Vec<Step<'_>> = builder
        .list("verifier.steps", node)
        .iter()
        .filter_map(|n| step(builder, n, verifier))
        .collect();
    // acode's names of the steps, ignoring case, and the names of their checks here; the last of
    // them represents the step.
    let mut known: BTreeMap<String, (Place, Option<String>)> = BTreeMap::new();
    let mut pending: Vec<(Vec<At<String>>, usize)> = Vec::new();
    for step in read {
        let folded = step.name.value.to_lowercase();
        if known.contains_key(&folded) {
            let message = format!(
                "two steps are called `{}`",
                visible(step.name.value.as_bytes())
            );
            builder.fault(
                DUPLICATE_STEP,
                step.name.place,
                message,
                "names count without their case",
                None,
            );
            continue;
        }
        if !step.enabled || verifier.off.contains(&step.kind) {
            if !step.enabled {
                let what = format!("step `{}`", step.name.value);
                builder.lose(
                    Weight::NoEffect,
                    &what,
                    step.name.place,
                    "it is switched off there and left out here",
                    None,
                );
            }
            known.insert(folded, (step.name.place, None));
            continue;
        }
        let entry = builder.draft.entries.len();
        let made = make(builder, &step);
        if let Some(last) = made.last()
            && slug(&step.name.value) != step.name.value
        {
            let why = format!("it is called `{last}` here");
            builder.lose(
                Weight::Changed,
                &format!("step `{}`", step.name.value),
                step.name.place,
                &why,
                None,
            );
        }
        known.insert(folded, (step.name.place, made.last().cloned()));
        if !made.is_empty() {
            pending.push((step.depends_on, entry));
        }
    }
    for (depends_on, entry) in pending {
        let mut needs = Vec::new();
        for name in depends_on {
            match known.get(&name.value.to_lowercase()) {
                Some((_, Some(check))) => needs.push(At::new(check.clone(), name.place)),
                Some((_, None)) => {
                    let what = format!("depends_on `{}`", name.value);
                    builder.lose(
                        Weight::Changed,
                        &what,
                        name.place,
                        "that step is switched off",
                        None,
                    );
                }
                None => {
                    let message = format!("there is no step `{}`", visible(name.value.as_bytes()));
                    builder.fault(
                        BAD_VALUE,
                        name.place,
                        message,
                        "no step has this name",
                        None,
                    );
                }
            }
        }
        if let Some(CheckEntry::Check(check)) = builder.draft.entries.get_mut(entry)
            && !needs.is_empty()
        {
            let place = check.place;
            check
                .settings
                .push(At::new(Setting::new(Row::Needs, needs), place));
        }
    }
}

fn step<'n>(builder: &mut Builder<'_>, node: &'n Node, verifier: &Verifier) -> Option<Step<'n>> {
    let entries = builder.map("a step", node);
    let (mut name, mut kind, mut settings) = (None, None, Vec::new());
    let (mut depends_on, mut assertions, mut enabled) = (Vec::new(), Vec::new(), true);
    let (mut least, mut most) = (None, None);
    for (key, node) in entries {
        let what = format!("verifier.steps[].{}", key.name);
        let mut assert = |a: Assertion| assertions.push(At::new(a, node.place));
        match key.name.as_str() {
            "name" => {
                name = builder
                    .text(&what, node)
                    .map(|t| At::new(t.to_owned(), node.place))
            }
            "kind" => kind = Some(read_kind(builder, node)?),
            "enabled" => enabled = builder.boolean(&what, node).unwrap_or(true),
            "depends_on" => {
                let texts = builder.texts(&what, node);
                depends_on.extend(
                    texts
                        .into_iter()
                        .map(|(t, place)| At::new(t.to_owned(), place)),
                );
            }
            "timeout" | "retry" | "continue_on_error" | "env" => {
                shared(builder, &what, key, node, &mut settings)
            }
            "max_errors" => settings.extend(count(builder, &what, node, Row::MaxErrors)),
            "max_warnings" => settings.extend(count(builder, &what, node, Row::MaxWarnings)),
            "min_tests" => settings.extend(count(builder, &what, node, Row::MinTests)),
            "exists" => match builder.boolean(&what, node) {
                Some(true) => assert(Assertion::Exists),
                Some(false) => assert(Assertion::Absent),
                None => {}
            },
            "not_empty" if builder.boolean(&what, node) == Some(true) => {
                assert(Assertion::NotEmpty)
            }
            "contains" => builder
                .texts(&what, node)
                .iter()
                .for_each(|(t, _)| assert(Assertion::Contains((*t).to_owned()))),
            "not_contains" => {
                builder
                    .texts(&what, node)
                    .iter()
                    .for_each(|(t, _)| assert(Assertion::Lacks((*t).to_owned())));
            }
            "matches" => {
                if let Some(text) = builder.text(&what, node) {
                    assert(Assertion::Matches(text.to_owned()));
                }
            }
            // A size of zero allows every size.
            "min_size" => least = builder.whole(&what, node, 0, 1 << 50).filter(|n| *n > 0),
            "max_size" => most = builder.whole(&what, node, 1, 1 << 50),
            "run" | "cwd" | "path" | "question" | "not_empty" => {}
            _ => builder.unknown("verifier.steps[].", key, STEP),
        }
    }
    if least.is_some() || most.is_some() {
        assertions.push(At::new(
            Assertion::Size {
                max: most,
                min: least,
            },
            node.place,
        ));
    }
    let (Some(name), Some(kind)) = (name, kind) else {
        if node.get("name").is_none() || node.get("kind").is_none() {
            let message = "a step has a `name` and a `kind`".to_owned();
            builder.fault(BAD_VALUE, node.place, message, "in this step", None);
        }
        return None;
    };
    if kind != Kind::File {
        let otherwise = if kind == Kind::Judge { 30_000 } else { 60_000 };
        verifier.complete(kind, &mut settings, otherwise);
    }
    Some(Step {
        node,
        name,
        kind,
        settings,
        depends_on,
        assertions,
        enabled,
    })
}

fn read_kind(builder: &mut Builder<'_>, node: &Node) -> Option<Kind> {
    Some(match builder.text("verifier.steps[].kind", node)? {
        "build" | "compile" => Kind::Compile,
        "test" => Kind::Test,
        "lint" => Kind::Lint,
        "file" => Kind::File,
        "custom" => Kind::Run,
        "llm_review" => Kind::Judge,
        other => {
            let message = format!("there is no kind `{}`", visible(other.as_bytes()));
            let help = Some("the kinds are build, test, lint, file, custom and llm_review");
            builder.fault(BAD_VALUE, node.place, message, "no kind of step", help);
            return None;
        }
    })
}

/// Makes a step's checks.
fn make(builder: &mut Builder<'_>, step: &Step<'_>) -> Vec<String> {
    let place = step.name.place;
    let wanted = match step.kind {
        Kind::File => "path",
        Kind::Judge => "question",
        _ => "run",
    };
    let Some(node) = step.node.get(wanted) else {
        let message = format!(
            "the step `{}` has no `{wanted}`",
            visible(step.name.value.as_bytes())
        );
        builder.fault(BAD_VALUE, place, message, "of this kind", None);
        return Vec::new();
    };
    let Some(text) = builder.text(&format!("verifier.steps[].{wanted}"), node) else {
        return Vec::new();
    };
    let dir = step
        .node
        .get("cwd")
        .and_then(|n| builder.directory("verifier.steps[].cwd", n));
    for setting in &step.settings {
        if !suits(step.kind, setting) {
            let what = format!("`{}` of step `{}`", setting.keyword(), step.name.value);
            builder.lose(
                Weight::NoEffect,
                &what,
                place,
                "a step of this kind does not use it",
                None,
            );
        }
    }
    let settings: Vec<Setting> = step
        .settings
        .iter()
        .filter(|s| suits(step.kind, s))
        .cloned()
        .collect();
    let verb = match step.kind {
        Kind::File => {
            let path = At::new(text.to_owned(), node.place);
            let mut assertions = step.assertions.clone();
            if assertions.is_empty() {
                assertions.push(At::new(Assertion::Exists, node.place));
            }
            Verb::File { path, assertions }
        }
        Kind::Judge => Verb::Judge(text.to_owned()),
        kind => {
            let name = step.name.value.clone();
            let dir = dir.as_deref();
            return builder.command(Spec {
                name,
                kind,
                settings,
                dir,
                ..Spec::bare(text, node.place)
            });
        }
    };
    let name = builder.name(&step.name.value);
    builder
        .draft
        .entries
        .push(CheckEntry::Check(Box::new(Check {
            inclusion: InclusionIndex::CONTRACT,
            name: Some(At::new(name.clone(), place)),
            verbs: vec![At::new(verb, node.place)],
            settings: settings.into_iter().map(|s| At::new(s, place)).collect(),
            conditions: Vec::new(),
            tier_block: None,
            place,
        })));
    vec![name]
}

/// Whether a check of this kind takes the setting.
fn suits(kind: Kind, setting: &Setting) -> bool {
    match setting.row {
        Row::MaxErrors | Row::MaxWarnings => kind == Kind::Lint,
        Row::MinTests => kind == Kind::Test,
        Row::Severity => true,
        Row::Timeout | Row::Retries => kind != Kind::File,
        _ => !matches!(kind, Kind::File | Kind::Judge),
    }
}
