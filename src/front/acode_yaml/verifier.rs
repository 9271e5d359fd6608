//! The settings of acode's verifier, and the keys that commands and steps share.

use crate::convert::account::Lost;
use crate::convert::builder::Builder;
use crate::ralph_tui::limit_ms;
use crate::tree::{TreeKey, TreeNode};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::is_env_name;
use vplan_base::setting::Row;
use vplan_base::span::Place;
use vplan_base::word::{Word, visible};
use vplan_check::Kind;
use vplan_contract::draft::{At, Policy, Setting, Written};

const VERIFIER: &str = "\
    checks tools timeouts timeout_seconds thresholds max_cycles parallel steps criteria \
    test_timeout_seconds compilation_timeout_seconds llm_timeout_seconds linter_timeout_seconds \
    max_linter_errors max_linter_warnings require_test_pass";

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

/// Limit of a duration in seconds, so that milliseconds stay exact everywhere.
pub(super) const MOST_SECONDS: u64 = 1_000_000_000;

/// The settings of the verifier for all checks of a kind.
#[derive(Default)]
pub(super) struct Verifier {
    pub(super) off: Vec<Kind>,
    /// Disabled criterion types that have no check kind.
    off_types: Vec<String>,
    timeouts: BTreeMap<Kind, u64>,
    lint: Vec<Setting>,
    /// The keys of these, each with the kind of the checks that it limits.
    limited: Vec<(Kind, String, Place)>,
}

impl Verifier {
    pub(super) fn read(
        builder: &mut Builder<'_>,
        node: &TreeNode,
        types: &BTreeSet<String>,
    ) -> Self {
        let mut verifier = Self::default();
        for (key, node) in builder.map("verifier", node) {
            let (what, place) = (format!("verifier.{}", key.name), node.place);
            match key.name.as_str() {
                "checks" => verifier.switches(builder, node, types),
                "timeouts" => verifier.each(builder, &what, node, TIMEOUTS, Self::timeout),
                "thresholds" => verifier.each(builder, &what, node, THRESHOLDS, Self::threshold),
                "timeout_seconds" => {
                    let seconds = builder.whole(&what, node, 1, MOST_SECONDS);
                    let budget = seconds.map(|n| At::new(Policy::Budget(n * 1_000), place));
                    builder.draft.policy.extend(budget);
                }
                "parallel" => {
                    let jobs = builder.small(&what, node, 1, 256);
                    let jobs = jobs.map(|n| At::new(Policy::Jobs(n.into()), place));
                    builder.draft.policy.extend(jobs);
                }
                "max_cycles" => {
                    let retries = builder.small(&what, node, 0, 1_000);
                    let exhausted = Policy::OnExhausted("escalate".to_owned());
                    let gate = retries.map(|n| [Policy::Retries(n), exhausted]);
                    let lines = gate.into_iter().flatten().map(|line| At::new(line, place));
                    builder.draft.policy.extend(lines);
                }
                // Read once the settings for all checks are known.
                "tools" | "steps" | "criteria" => {}
                _ if verifier.flat(builder, &what, key, node) => {}
                _ => builder.unknown("verifier.", key, VERIFIER),
            }
        }
        verifier
    }

    /// Whether criteria of a type are disabled.
    pub(super) fn is_off(&self, name: &str, kind: Kind) -> bool {
        self.off.contains(&kind) || self.off_types.iter().any(|off| off == name)
    }

    /// Reads a limit or a threshold by itself. Returns whether the key was one.
    fn flat(
        &mut self,
        builder: &mut Builder<'_>,
        what: &str,
        key: &TreeKey,
        node: &TreeNode,
    ) -> bool {
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
                    builder.lose(Lost::no_effect(what, node.place, why));
                }
                Some(false) => {
                    let why = "tests that fail are a failure here";
                    let hand = "`severity warning` in the checks whose failure shall only be told";
                    builder.lose(Lost::changed(what, node.place, why).by_hand(hand));
                }
                None => {}
            }
        } else {
            return false;
        }
        true
    }

    fn switches(&mut self, builder: &mut Builder<'_>, node: &TreeNode, types: &BTreeSet<String>) {
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
                    builder.lose(Lost::no_effect(what, node.place, why));
                }
                (Some(false), None) => self.off_types.push(key.name.clone()),
                (Some(true), None) if !types.contains(&key.name) => {
                    let why = "what it looks at comes from acode's plan, step by step";
                    let hand = match key.name.as_str() {
                        "llm_review" => "a check with `judge \"QUESTION\"`",
                        _ => "a check with `file \"PATH\" {`",
                    };
                    builder.lose(Lost::omitted(what, node.place, why).by_hand(hand));
                }
                _ => {}
            }
        }
    }

    /// Reads a mapping of limits, each by what its key means.
    fn each<T: Copy>(
        &mut self,
        builder: &mut Builder<'_>,
        of: &str,
        node: &TreeNode,
        known: &[(&str, T)],
        read: fn(&mut Self, &mut Builder<'_>, &str, &TreeNode, T),
    ) {
        for (key, node) in builder.map(of, node) {
            let what = format!("{of}.{}", key.name);
            if self.flat(builder, &what, key, node) {
                continue;
            }
            if let Some(meaning) = builder.meaning(&format!("{of}."), key, known) {
                read(self, builder, &what, node, meaning);
            }
        }
    }

    fn timeout(&mut self, builder: &mut Builder<'_>, what: &str, node: &TreeNode, kind: Kind) {
        if let Some(seconds) = builder.whole(what, node, 1, MOST_SECONDS) {
            self.timeouts.insert(kind, seconds * 1_000);
            self.limited.push((kind, what.to_owned(), node.place));
        }
    }

    fn threshold(&mut self, builder: &mut Builder<'_>, what: &str, node: &TreeNode, row: Row) {
        if let Some(setting) = builder.count_of(what, node, row) {
            self.lint.push(setting);
            self.limited.push((Kind::Lint, what.to_owned(), node.place));
        }
    }

    /// Accounts for the limits of kinds that no check has in the end.
    pub(super) fn unused(&self, builder: &mut Builder<'_>) {
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
                Lost::omitted(what, *place, why).by_hand(hand)
            };
            builder.lose(lost);
        }
    }

    /// Thresholds and limits for a check that may have its own.
    pub(super) fn complete(&self, kind: Kind, settings: &mut Vec<Setting>, otherwise_ms: u64) {
        let ms = self.timeouts.get(&kind).copied().unwrap_or(otherwise_ms);
        let lint = self.lint.iter().filter(|_| kind == Kind::Lint).cloned();
        for setting in std::iter::once(Setting::new(Row::Timeout, ms)).chain(lint) {
            if !settings.iter().any(|s| s.row == setting.row) {
                settings.push(setting);
            }
        }
    }
}

impl Builder<'_> {
    /// Reads the number of a key that is called like a setting.
    pub(super) fn count(&mut self, what: &str, key: &TreeKey, node: &TreeNode) -> Option<Setting> {
        let word = key.name.replace('_', "-");
        let row = Row::ALL.iter().find(|row| row.setting().word == word);
        self.count_of(what, node, *row?)
    }

    fn count_of(&mut self, what: &str, node: &TreeNode, row: Row) -> Option<Setting> {
        let count = self.whole(what, node, 0, 1_000_000_000)?;
        Some(Setting::new(row, count))
    }

    /// Reads a whole number within bounds that 32 bits hold.
    fn small(&mut self, what: &str, node: &TreeNode, least: u64, most: u64) -> Option<u32> {
        let number = self.whole(what, node, least, most)?;
        u32::try_from(number).ok()
    }

    /// Reads a number of seconds that limits something.
    pub(super) fn timeout(&mut self, what: &str, node: &TreeNode) -> Option<Setting> {
        let seconds = self.whole(what, node, 1, MOST_SECONDS)?;
        Some(Setting::new(Row::Timeout, seconds * 1_000))
    }

    /// Reads the keys that commands and steps share.
    pub(super) fn shared(
        &mut self,
        what: &str,
        key: &TreeKey,
        node: &TreeNode,
        settings: &mut Vec<Setting>,
    ) {
        match key.name.as_str() {
            "timeout" => {
                let seconds = self.whole(what, node, 0, MOST_SECONDS);
                let ms = seconds.map(|n| limit_ms(self, what, node, n * 1_000));
                settings.extend(ms.map(|ms| Setting::new(Row::Timeout, ms)));
            }
            "retry" => {
                let retries = self.whole(what, node, 0, 1_000).filter(|n| *n > 0);
                settings.extend(retries.map(|n| Setting::new(Row::Retries, n)));
            }
            "continue_on_error" => {
                let goes_on = self.boolean(what, node).filter(|yes| *yes);
                settings.extend(goes_on.map(|_| Setting::new(Row::Severity, "warning".to_owned())));
            }
            "env" => {
                for (name, value) in self.map(what, node) {
                    self.variable(what, name, value, settings);
                }
            }
            "platforms" => {
                let why = "a contract means the same on every machine";
                let hand = "a script that looks at the system";
                self.lose(Lost::omitted(format!("`{what}`"), key.place, why).by_hand(hand));
            }
            _ => {}
        }
    }

    fn variable(
        &mut self,
        what: &str,
        name: &TreeKey,
        value: &TreeNode,
        settings: &mut Vec<Setting>,
    ) {
        let what = format!("{what}.{}", name.name);
        if !is_env_name(&name.name) {
            let message = format!("`{}` names no variable", visible(&name.name));
            return self.bad_value(name.place, message, "letters, digits and `_` are expected");
        }
        let Some(text) = self.text(&what, value) else {
            return;
        };
        if text.contains('\0') {
            let message = format!("the value of `{}` holds a NUL", name.name);
            return self.bad_value(value.place, message, "no variable can hold it");
        }
        if *text == format!("${{{}}}", name.name) {
            let word = At::new(name.name.clone(), value.place);
            let passed = settings
                .iter_mut()
                .find_map(|s| match (&mut s.value, s.row) {
                    (Written::Texts(names), Row::PassEnv) => Some(names),
                    _ => None,
                });
            match passed {
                Some(names) => names.push(word),
                None => settings.push(Setting::new(Row::PassEnv, vec![word])),
            }
        } else if text.contains("${") {
            let why = "the value would have to be put together from other variables";
            let hand =
                "`pass-env` for a variable that is there, `env NAME=VALUE` for a fixed value";
            self.lose(Lost::omitted(format!("`{what}`"), value.place, why).by_hand(hand));
        } else {
            let variable = Written::Variable(name.name.clone(), Word::from(text));
            settings.push(Setting::new(Row::Env, variable));
        }
    }
}
