//! Accepts what cannot be compared: a maintainer names the new words of one check, or of one other
//! statement, by their digest.

pub use super::acceptance::{Accept, AcceptError};
use super::difference::{Class, ContractDiff, Difference};
use super::units::{Unit, units};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use vplan_base::canon::Digest;
use vplan_base::command::Command;
use vplan_base::setting::Value;
use vplan_contract::{Body, Check, CheckIndex, Contract, Test};

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
pub(super) fn removed_check(check: &Check) -> Accept {
    Accept {
        name: check.id.clone(),
        words: Digest::of_value(&("gone", &check.id)),
    }
}

/// Says how a statement about the whole contract is accepted: with all others of them.
pub(super) fn shared(contract: &Contract, subject: &str) -> Accept {
    let name = subject.replace('`', "").replace(' ', ":");
    let words = Digest::of_value(&(subject, outside_checks(contract)));
    Accept { name, words }
}

fn of_check(contract: &Contract, unit: &Unit<'_>) -> Digest {
    let members = unit.checks(contract);
    Digest::of_value(&Vec::from_iter(members.iter().map(|c| words(contract, c))))
}

/// Returns all of a check that decides what it verifies, and when.
fn words(contract: &Contract, check: &Check) -> serde_json::Value {
    let settings = check.settings.iter();
    let settings = settings.filter(|(row, _)| !row.setting().annotation);
    let settings = settings.map(|(row, v)| (row.setting().word, value(v)));
    let needs = check.needs.iter().map(|i| &contract.checks[*i].id);
    let conditions = |p| contract.around(p).map(|c| condition(&c.test)).collect();
    let places = check.placements.iter();
    let places = places.map(|p| -> (u8, Vec<String>) { (check.tier, conditions(p)) });
    let report = check.report.as_ref();
    json!({
        "body": body(&check.body),
        "dir": check.dir,
        "env": check.env,
        "exit": check.exit,
        "kind": check.kind.verb(),
        "name": check.id,
        "needs": Vec::from_iter(needs),
        "pass_env": check.pass_env,
        "places": Vec::from_iter(places),
        "report": report.map(|r| (r.format.to_string(), r.glob.text())),
        "settings": BTreeMap::from_iter(settings),
        "skip_exit": check.skip_exit,
        "tags": check.tags,
        "tool_path": check.tool_path,
    })
}

/// Returns all that belongs to no single check.
fn outside_checks(contract: &Contract) -> serde_json::Value {
    let names = |group: &Vec<CheckIndex>| {
        Vec::from_iter(group.iter().map(|i| contract.checks[*i].id.as_str()))
    };
    let sequences = contract.sequences.iter();
    let risks = contract.risks.iter();
    let roles = contract.roles.iter();
    let allowed = contract.allowed.iter().map(|allowed| {
        let words = Vec::from_iter(allowed.words.iter().map(|word| word.name()));
        (&allowed.import, &allowed.namespace, words)
    });
    let scope = [&contract.scope.allow, &contract.scope.deny];
    let mut all = json!({
        "base": contract.base,
        "gate": contract.gate,
        "judge_with": contract.judge_with.as_ref().map(Command::to_text),
        "limits": contract.limits,
        "linked": contract.linked,
        "recover": contract.recover,
        "risks": Vec::from_iter(risks.map(|r| (&r.name, r.tier, text(&r.selection)))),
        "roles": BTreeMap::from_iter(roles.map(|(name, r)| (name, (&r.only, r.max_checks)))),
        "scope": scope.map(|s| s.as_ref().map(text)),
        "sequences": Vec::from_iter(sequences.map(|s| Vec::from_iter(s.groups.iter().map(names)))),
    });
    if let Some(all) = all.as_object_mut().filter(|_| !contract.allowed.is_empty()) {
        all.insert("allowed".to_owned(), json!(Vec::from_iter(allowed)));
    }
    all
}

fn text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn value(value: &Value) -> String {
    match value {
        Value::Flag => String::new(),
        Value::Number(n) => n.to_string(),
        Value::Word(word) => (*word).to_owned(),
        Value::Text(said) => said.clone(),
        Value::Globs(globs) => text(globs),
        Value::Outside(paths) => text(paths),
        Value::Selection(selection) => text(selection),
        Value::Command(command) => command.to_text(),
        Value::Services(services) => text(services),
        Value::On(on) => text(on),
    }
}

fn condition(test: &Test) -> String {
    let words = match test {
        Test::Role(roles) => text(roles),
        Test::Exists(all) | Test::ExistsAny(all) | Test::Absent(all) => text(all),
        Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
            text(s)
        }
    };
    format!("{} {words}", test.keyword())
}

fn body(body: &Body) -> String {
    match body {
        Body::Command(command) => format!("command {}", command.to_text()),
        Body::Shell(script) => format!("shell {script}"),
        Body::Judge(question) => format!("judge {question}"),
        Body::File { path, assertions } => format!("file {path} {}", text(assertions)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_accepted_is_named_and_digested() {
        let digest = Digest::hash(b"x");
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
