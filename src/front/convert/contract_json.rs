//! Converts contracts in JSON, with an account of what the language expresses in another way.

use super::account::{BAD_VALUE, Lost, Statement, cut};
use super::builder::{Builder, parts_of, shell, slug};
use crate::verify_contract_json;
use std::collections::BTreeSet;
use vplan_base::command::Command;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::setting::Row;
use vplan_base::span::Place;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_contract::draft::{At, Check, CheckEntry, Condition, Role, Setting, Verb, Written};
use vplan_contract::validate::validate;
use vplan_contract::{BUILT_IN_ROLES, ConditionIndex};
use vplan_lang::command::{only_changes_shell, would_expand};

/// The limit of every command there, in milliseconds.
const LIMIT_MS: u64 = 300_000;

impl Builder<'_> {
    /// Converts `verify.contract.json`: its own front end reads it; what the language cannot
    /// express is replaced here.
    pub(super) fn contract_json(&mut self) {
        let mut found = Diagnostics::default();
        self.draft = verify_contract_json::lower(self.sources, self.id, &mut found);
        for message in found.sorted() {
            let place = message.labels.first().map(|l| l.place).unwrap_or_default();
            let key = self.sources.get(place.source);
            let key = key.map_or("", |s| s.slice(place.span)).trim_matches('"');
            let what = format!("`{key}`");
            if message.code == verify_contract_json::UNKNOWN_KEY {
                let why =
                    "a key that such a contract does not have, so that it never had an effect";
                let near = message.labels.first().map(|l| l.text.clone());
                let lost = Lost::omitted(what, place, why);
                self.lose(match near.filter(|text| text.ends_with('?')) {
                    Some(near) => lost.by_hand(near),
                    None => lost,
                });
            } else if message.code == verify_contract_json::UNSUPPORTED_KEY {
                let why = "vplan looks at no images";
                let hand = "a check that runs the captureCommand, and a `file` check for its imagePath that needs it";
                self.lose(Lost::omitted(what, place, why).by_hand(hand));
            } else {
                self.sink.push(message);
            }
        }
        if self.sink.has_errors() {
            return;
        }
        self.limits();
        self.declare_roles();
        self.report_idle_conditions();
        let mut ignored = Diagnostics::default();
        let Some(contract) = validate(&self.draft, self.sources, &mut ignored) else {
            return;
        };
        self.names = contract.checks.iter().map(|c| c.id.clone()).collect();
        let entries = std::mem::take(&mut self.draft.entries).into_iter();
        for (entry, check) in entries.zip(contract.checks) {
            let CheckEntry::Check(draft) = entry else {
                continue;
            };
            if !draft.settings.is_empty() {
                let about = Statement::Entry(self.draft.entries.len());
                let why = "it runs where the `cd` before it in the list leads, and with what is exported there";
                self.lose(
                    Lost::changed(format!("`{}`", check.id), draft.place, why)
                        .before_statement(about),
                );
            }
            match draft.verbs.first().map(|v| &v.value) {
                Some(Verb::Command(_, Command::Unsupported { text, .. })) => {
                    let text = text.clone();
                    self.replace_unsupported(*draft, &check.id, &text);
                }
                // A command with a directory or variables of the list is written as a block, which
                // has a name.
                _ if !draft.settings.is_empty() => {
                    let name = Some(At::new(check.id.clone(), draft.place));
                    let check = Check { name, ..*draft };
                    self.draft.entries.push(CheckEntry::Check(Box::new(check)));
                }
                _ => self.draft.entries.push(CheckEntry::Check(draft)),
            }
        }
        self.programs_of_packages();
    }

    /// Puts the programs of the package in whose folder a check runs in front of its PATH.
    fn programs_of_packages(&mut self) {
        for entry in &mut self.draft.entries {
            let CheckEntry::Check(check) = entry else {
                continue;
            };
            let dir = check.settings.iter().find_map(|s| s.value.dir()).cloned();
            if let Some(dir) = dir.filter(|dir| !matches!(dir.as_str(), "" | ".")) {
                let bin = format!("{}/node_modules/.bin", dir.trim_end_matches('/'));
                let bin = Written::Texts(vec![At::new(bin, check.place)]);
                let setting = Setting::new(Row::ToolPath, bin);
                check.settings.push(At::new(setting, check.place));
            }
        }
    }

    /// Writes out what held for every command without a word in the file: its limit, and the
    /// programs of the packages in front of the PATH.
    fn limits(&mut self) {
        let place = Place {
            source: self.id,
            ..Place::default()
        };
        let bin = vec![At::new("node_modules/.bin".to_owned(), place)];
        let settings = [
            Setting::new(Row::ToolPath, bin),
            Setting::new(Row::Timeout, LIMIT_MS),
        ];
        let settings = settings.map(|setting| At::new(setting, place));
        self.draft.defaults.extend(settings);
        let docser = self.roles().find(|role| role.value == "docser");
        if let Some(place) = docser.map(|role| role.place) {
            let why = "there, commands that a task of this role adds were left out unless they read like `pnpm run check`; here they run";
            let hand = "`max-checks 0` in `role docser {`: a task adds none";
            let lost = Lost::no_effect("what a task of `docser` may add", place, why);
            self.lose(lost.by_hand(hand));
        }
    }

    /// Returns the roles that conditions name.
    fn roles(&self) -> impl Iterator<Item = &At<String>> {
        let conditions = self.draft.conditions.iter();
        let roles = conditions.filter_map(|condition| match &condition.value {
            Condition::Role(roles) => Some(roles),
            _ => None,
        });
        roles.flatten()
    }

    /// Declares the roles that only this file has.
    fn declare_roles(&mut self) {
        let mut seen = BTreeSet::new();
        let own = self.roles();
        let own = own.filter(|role| !BUILT_IN_ROLES.contains(&role.value.as_str()));
        let new: Vec<At<String>> = own
            .filter(|role| seen.insert(&role.value))
            .cloned()
            .collect();
        for role in new {
            if slug(&role.value) != role.value {
                let message = format!("`{}` cannot be the name of a role", visible(&role.value));
                let help = Some(
                    "a name has letters, digits, `_` and `-`, and begins with none of the last two kinds",
                );
                self.fault(BAD_VALUE, role.place, message, "no name", help);
                continue;
            }
            let what = format!("role `{}`", role.value);
            let why =
                "vplan knows worker, tester, docser and reviewer; a block makes this one known";
            self.lose(Lost::changed(what, role.place, why));
            self.draft.roles.push(Role {
                name: role,
                only: Vec::new(),
                max_checks: Vec::new(),
            });
        }
    }

    /// Reports rules and roles without commands, which require nothing.
    fn report_idle_conditions(&mut self) {
        let used = self.draft.checks().flat_map(|check| &check.conditions);
        let used: BTreeSet<ConditionIndex> = used.copied().collect();
        let conditions = self.draft.conditions.numbered();
        for (_, idle) in conditions.filter(|(i, _)| !used.contains(i)) {
            let why = "there are no commands under it";
            let lost = Lost::no_effect("a condition", idle.place, why);
            self.lost.push(lost);
        }
    }

    /// Replaces a command outside the grammar by the parts of a conjunction, or by a shell. It
    /// keeps its id.
    fn replace_unsupported(&mut self, check: Check, id: &str, text: &str) {
        if !self.can_be_written(text, check.place) {
            return;
        }
        let Some(At {
            value: Verb::Command(_, Command::Unsupported { unsupported, .. }),
            ..
        }) = check.verbs.first()
        else {
            return;
        };
        if only_changes_shell(text) {
            let why = "no command comes after it, or only a shell can follow it";
            return self.state(text, check.place, why);
        }
        let own = check.settings.iter().find_map(|s| s.value.dir());
        let own = own.map(String::as_str);
        let parts = match would_expand(text) {
            true => None,
            false => parts_of(&unsupported.chain, own),
        };
        let about = Statement::Entry(self.draft.entries.len());
        let what = format!("`{}`", cut(text, 60));
        let named = |name: &str, verb: Verb, settings: Vec<Setting>| {
            // What the list has carried to it stays, unless a part goes further.
            let moves = settings.iter().any(|s| s.row == Row::Dir);
            let kept = check.settings.iter();
            let kept = kept.filter(|s| !(moves && s.value.row == Row::Dir));
            let settings = settings.into_iter().map(|s| At::new(s, check.place));
            CheckEntry::Check(Box::new(Check {
                name: Some(At::new(name.to_owned(), check.place)),
                verbs: vec![At::new(verb, check.place)],
                settings: kept.cloned().chain(settings).collect(),
                ..check.clone()
            }))
        };
        let lost = if let Some(parts) = parts {
            let last = parts.len().saturating_sub(1);
            let mut before: Option<String> = None;
            for (index, (command, dir)) in parts.into_iter().enumerate() {
                let name = match index == last {
                    true => id.to_owned(),
                    false => self.name(&format!("{id}-part")),
                };
                let needs = before.map(|n| Setting::new(Row::Needs, vec![At::new(n, check.place)]));
                let dir = dir.map(|dir| Setting::new(Row::Dir, dir)).into_iter();
                let verb = Verb::Command(Kind::Run, command);
                let made = named(&name, verb, dir.chain(needs).collect());
                self.draft.entries.push(made);
                before = Some(name);
            }
            let why = "`&&` and `cd` are no commands: it became what recovery would make of it";
            Lost::changed(what, check.place, why)
        } else {
            let made = named(id, shell(Kind::Run, text.trim()), Vec::new());
            self.draft.entries.push(made);
            let why =
                "it needs a shell, and no shell reads commands: it goes through one explicitly";
            Lost::changed(what, check.place, why).by_hand("a script, or checks without operators")
        };
        self.lose(lost.before_statement(about));
    }
}
