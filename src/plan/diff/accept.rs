//! Accepts what cannot be compared: a maintainer names the new words of one check, or of one other
//! statement, by their digest.

pub use super::acceptance::{Accept, AcceptError};
use super::difference::{Class, ContractDiff, Difference};
use super::units::{Unit, units};
use serde::Serialize;
use std::collections::BTreeMap;
use vplan_base::canon::Digest;
use vplan_base::command::{Command, Env};
use vplan_base::path::RepoPath;
use vplan_base::setting::Value;
use vplan_contract::{Body, Check, Contract, Gate, Limits, RecoverPolicy, Test};

impl ContractDiff {
    /// Accepts undecided differences.
    ///
    /// # Errors
    /// A name that is not known, or is given twice; words that are not the present ones.
    pub fn accept(&mut self, new: &Contract, accepted: &[Accept]) -> Result<(), AcceptError> {
        for (index, accept) in accepted.iter().enumerate() {
            let Accept { name, words } = accept;
            if accepted.iter().take(index).any(|other| other.name == *name) {
                return Err(AcceptError::Twice(name.clone()));
            }
            let open = |d: &&mut Difference| d.accept.as_ref().is_some_and(|a| a.name == *name);
            let mut known: Vec<Digest> = Vec::new();
            for difference in self.differences.iter_mut().filter(open) {
                let now = difference.accept.as_ref().map(|a| a.words.clone());
                difference.accepted |= now.as_ref() == Some(words);
                known.extend(now);
            }
            // What is decided meanwhile needs no acceptance, and may keep it.
            if known.is_empty() {
                let units = units(new);
                let unit = units.by_id.get(name.as_str()).map(|unit| &units.all[*unit]);
                let unit = unit.filter(|unit| unit.check.id == *name);
                known.extend(unit.map(|unit| of_check(new, unit)));
            }
            let Some(now) = known.first() else {
                return Err(AcceptError::Unknown(name.clone()));
            };
            if !known.contains(words) {
                return Err(AcceptError::Other {
                    name: name.clone(),
                    accepted: words.clone(),
                    now: now.clone(),
                });
            }
        }
        Ok(())
    }

    /// Counts the differences by which the newer contract is weaker, or may be.
    #[must_use]
    pub fn weaker(&self) -> usize {
        let open = |d: &&Difference| {
            d.class == Class::Weakens || (d.class == Class::Undecided && !d.accepted)
        };
        self.differences.iter().filter(open).count()
    }
}

/// Says how a check is accepted.
pub(super) fn check(contract: &Contract, unit: &Unit<'_>) -> Accept {
    Accept {
        name: unit.check.id.clone(),
        words: of_check(contract, unit),
    }
}

/// Says how a check that is gone is accepted.
pub(super) fn gone(check: &Check) -> Accept {
    Accept {
        name: check.id.clone(),
        words: Digest::of_value(&("gone", &check.id)),
    }
}

/// Says how a statement about the whole contract is accepted: with all others of them.
pub(super) fn shared(contract: &Contract, subject: &str) -> Accept {
    let name = subject.replace('`', "").replace(' ', ":");
    let words = Digest::of_value(&(subject, Shared::of(contract)));
    Accept { name, words }
}

fn of_check(contract: &Contract, unit: &Unit<'_>) -> Digest {
    let members = unit.checks(contract);
    let words: Vec<Words> = members.iter().map(|c| Words::of(contract, c)).collect();
    Digest::of_value(&words)
}

/// All of a check that decides what it verifies, and when.
#[derive(Serialize)]
struct Words<'a> {
    body: String,
    dir: &'a RepoPath,
    env: &'a Env,
    exit: &'a [i32],
    kind: &'static str,
    name: &'a str,
    needs: Vec<&'a str>,
    pass_env: &'a [String],
    places: Vec<(u8, Vec<String>)>,
    report: Option<(String, &'a str)>,
    settings: BTreeMap<&'static str, String>,
    skip_exit: &'a [i32],
    tags: &'a [String],
    tool_path: &'a [RepoPath],
}

impl<'a> Words<'a> {
    fn of(contract: &'a Contract, check: &'a Check) -> Self {
        let settings = check.settings.iter();
        let settings = settings.filter(|(row, _)| !row.setting().annotation);
        let place = |p: &'a vplan_contract::Placement| {
            (
                check.tier,
                contract.around(p).map(|c| condition(&c.test)).collect(),
            )
        };
        Self {
            body: body(&check.body),
            dir: &check.dir,
            env: &check.env,
            exit: &check.exit,
            kind: check.kind.verb(),
            name: &check.id,
            needs: check
                .needs
                .iter()
                .map(|i| contract.checks[*i].id.as_str())
                .collect(),
            pass_env: &check.pass_env,
            places: check.placements.iter().map(place).collect(),
            report: check
                .report
                .as_ref()
                .map(|r| (r.format.to_string(), r.glob.text())),
            settings: settings
                .map(|(row, v)| (row.setting().word, value(v)))
                .collect(),
            skip_exit: &check.skip_exit,
            tags: &check.tags,
            tool_path: &check.tool_path,
        }
    }
}

/// All that belongs to no single check.
#[derive(Serialize)]
struct Shared<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed: Vec<(&'a str, &'a str, Vec<&'static str>)>,
    base: Option<&'a str>,
    gate: &'a Gate,
    judge_with: Option<String>,
    limits: &'a Limits,
    linked: &'a [RepoPath],
    recover: &'a RecoverPolicy,
    risks: Vec<(&'a str, u8, String)>,
    roles: BTreeMap<&'a str, (&'a [String], Option<u64>)>,
    scope: [Option<String>; 2],
    sequences: Vec<Vec<Vec<&'a str>>>,
}

impl<'a> Shared<'a> {
    fn of(contract: &'a Contract) -> Self {
        let id = |i: &vplan_contract::CheckIndex| contract.checks[*i].id.as_str();
        let groups = |s: &'a vplan_contract::Sequence| {
            s.groups
                .iter()
                .map(|g| g.iter().map(id).collect())
                .collect()
        };
        let scope = &contract.scope;
        let allowed = contract.allowed.iter().map(|allowed| {
            let words = allowed.words.iter().map(|word| word.name());
            let words = words.collect();
            (allowed.import.as_str(), allowed.namespace.as_str(), words)
        });
        Self {
            allowed: allowed.collect(),
            base: contract.base.as_deref(),
            gate: &contract.gate,
            judge_with: contract.judge_with.as_ref().map(Command::to_text),
            limits: &contract.limits,
            linked: &contract.linked,
            recover: &contract.recover,
            risks: (contract.risks.iter())
                .map(|r| (r.name.as_str(), r.tier, json(&r.selection)))
                .collect(),
            roles: (contract.roles.iter())
                .map(|(name, r)| (name.as_str(), (r.only.as_slice(), r.max_checks)))
                .collect(),
            scope: [&scope.allow, &scope.deny].map(|s| s.as_ref().map(json)),
            sequences: contract.sequences.iter().map(groups).collect(),
        }
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn value(value: &Value) -> String {
    match value {
        Value::Flag => String::new(),
        Value::Number(n) => n.to_string(),
        Value::Word(word) => (*word).to_owned(),
        Value::Text(text) => text.clone(),
        Value::Globs(globs) => json(globs),
        Value::Outside(paths) => json(paths),
        Value::Selection(selection) => json(selection),
        Value::Command(command) => command.to_text(),
        Value::Services(services) => json(services),
        Value::On(on) => json(on),
    }
}

fn condition(test: &Test) -> String {
    let words = match test {
        Test::Role(roles) => json(roles),
        Test::Exists(all) | Test::ExistsAny(all) | Test::Absent(all) => json(all),
        Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
            json(s)
        }
    };
    format!("{} {words}", test.keyword())
}

fn body(body: &Body) -> String {
    match body {
        Body::Command(command) => format!("command {}", command.to_text()),
        Body::Shell(text) => format!("shell {text}"),
        Body::Judge(question) => format!("judge {question}"),
        Body::File { path, assertions } => format!("file {path} {}", json(assertions)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_accepted_is_named_and_digested() {
        let digest = Digest::of(b"x");
        let text = format!("a=b={digest}");
        let accept: Accept = text.parse().unwrap();
        assert_eq!((accept.name.as_str(), &accept.words), ("a=b", &digest));
        assert_eq!(accept.to_string(), text);
        for wrong in [
            "",
            "a",
            "a=",
            &format!("={digest}"),
            "a=sha256:12",
            "a=sha512:x",
        ] {
            assert!(wrong.parse::<Accept>().is_err(), "{wrong}");
        }
    }
}
