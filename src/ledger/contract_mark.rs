//! Stores the contract of a subject: a round under another one completes nothing.
//!
//! A check that the contract had when the subject began must stay unchanged, and one that was added
//! later must not be removed. So must a statement that decides what passes, such as `scope`. Otherwise a person must accept the contract. A contract that only
//! grows costs one more round.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::canon::Digest;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::RewriteRule;
use vplan_contract::{Check, Contract, Placement};

/// The version that computed the digests of the definitions: another one may compute them
/// differently.
const WRITER: &str = env!("CARGO_PKG_VERSION");

/// The contract of a subject's rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContractMark {
    /// The names of its checks, with a short digest of each definition; without one for a check
    /// that was added after the subject began.
    pub checks: BTreeMap<String, String>,
    /// The digest of the contract of the last round, with all that it imports.
    pub identity: Digest,
    /// The file in the work tree; `None` for a contract of another revision.
    #[serde(default)]
    pub path: Option<RepoPath>,
    /// A short digest of what else decides which checks run, without the gate, which is compared by
    /// itself.
    pub rest: String,
    /// The statements that decide what passes, in the same way: `scope`, `judge-with`, the risks and
    /// roles, and each rule that recovery must not apply.
    #[serde(default)]
    pub statements: BTreeMap<String, String>,
    /// The version of vplan that made the digests of the definitions.
    pub writer: String,
}

/// The difference between the contract of a round and that of the round before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContractChange {
    /// None.
    Same,
    /// Another contract, where each check and statement of earlier rounds is unchanged.
    Extended,
    /// These checks and statements are gone, or have changed since the subject began.
    Lost(BTreeSet<String>),
}

impl ContractMark {
    /// Makes the mark of a contract.
    pub fn new(contract: &Contract) -> Self {
        let define = |check: &Check| (check.id.clone(), definition(contract, check));
        Self {
            checks: contract.checks.iter().map(define).collect(),
            identity: contract.identity(),
            path: None,
            rest: rest(contract),
            statements: statements(contract),
            writer: WRITER.to_owned(),
        }
    }

    /// Compares the contract of a round with this one; `None` if there is none now.
    pub fn compare(&self, now: Option<&Self>) -> ContractChange {
        if now.is_some_and(|now| now.identity == self.identity) {
            return ContractChange::Same;
        }
        let lost = |parts: fn(&Self) -> &BTreeMap<String, String>| {
            let is_lost = |(name, definition): &(&String, &String)| {
                let now = now.and_then(|now| Some((now, parts(now).get(*name)?)));
                let is_same = |(now, other): (&Self, &String)| {
                    definition.is_empty() || now.writer != self.writer || other == *definition
                };
                !now.is_some_and(is_same)
            };
            let lost = parts(self).iter().filter(is_lost);
            lost.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let lost = [lost(|mark| &mark.checks), lost(|mark| &mark.statements)];
        let lost: BTreeSet<String> = lost.into_iter().flatten().collect();
        let is_same = |now: &Self| {
            (&now.checks, &now.rest, &now.statements)
                == (&self.checks, &self.rest, &self.statements)
        };
        if lost.is_empty() && now.is_some_and(is_same) {
            ContractChange::Same
        } else if lost.is_empty() {
            ContractChange::Extended
        } else {
            ContractChange::Lost(lost)
        }
    }

    /// Adds the checks and statements of a contract that extends this one.
    pub fn extended(&self, now: &Self) -> Self {
        let extended = |before: &BTreeMap<String, String>, now: &BTreeMap<String, String>| {
            let added = now.keys().map(|name| (name.clone(), String::new()));
            let mut all: BTreeMap<String, String> = added.collect();
            all.extend(before.clone());
            all
        };
        Self {
            checks: extended(&self.checks, &now.checks),
            identity: now.identity.clone(),
            path: now.path.clone(),
            rest: now.rest.clone(),
            statements: extended(&self.statements, &now.statements),
            writer: self.writer.clone(),
        }
    }
}

/// Returns a short digest of everything that determines what a check does and when it applies.
fn definition(contract: &Contract, check: &Check) -> String {
    let needs = check.needs.iter().map(|need| &contract.checks[*need].id);
    let needs: Vec<&String> = needs.collect();
    let conditions = |placement: &Placement| {
        let tests = contract.around(placement).map(|c| format!("{:?}", c.test));
        tests.collect::<Vec<_>>()
    };
    let places: BTreeSet<Vec<String>> = check.placements.iter().map(conditions).collect();
    let run = (
        check.kind,
        &check.body,
        check.tier,
        &check.dir,
        &check.env,
        &check.pass_env,
        &check.tool_path,
    );
    let outcome = (
        &check.exit,
        &check.skip_exit,
        &check.report,
        &check.format_definition,
        &check.settings,
    );
    short(&format!("{run:?} {outcome:?} {needs:?} {places:?}"))
}

/// Returns a short digest of each statement that decides what passes.
fn statements(contract: &Contract) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let scope = (&contract.scope.allow, &contract.scope.deny);
    if scope != (&None, &None) {
        found.insert("scope".to_owned(), short(&format!("{scope:?}")));
    }
    if let Some(judge) = &contract.judge_with {
        found.insert("judge-with".to_owned(), short(&format!("{judge:?}")));
    }
    for risk in &contract.risks {
        let what = short(&format!("{:?}", (risk.tier, &risk.selection)));
        found.insert(format!("risk {}", risk.name), what);
    }
    for (name, role) in &contract.roles {
        let what = short(&format!("{:?}", (&role.only, role.max_checks)));
        found.insert(format!("role {name}"), what);
    }
    let recover = &contract.recover;
    let forbidden = RewriteRule::ALL
        .iter()
        .filter(|rule| !recover.rules.contains(rule));
    let own = (!recover.contract).then(|| "contract".to_owned());
    for rule in forbidden.map(ToString::to_string).chain(own) {
        found.insert(format!("recover without {rule}"), String::new());
    }
    found
}

/// Returns a short digest of everything else that determines which checks run, and on which files.
fn rest(contract: &Contract) -> String {
    let sequences = contract.sequences.iter().flat_map(|s| &s.groups);
    let sequences: Vec<Vec<&String>> = sequences
        .map(|group| group.iter().map(|c| &contract.checks[*c].id).collect())
        .collect();
    let (limits, places) = (&contract.limits, (&contract.base, &contract.linked));
    short(&format!("{sequences:?} {limits:?} {places:?}"))
}

fn short(text: &str) -> String {
    let digest = Digest::hash(text.as_bytes()).hex();
    digest.get(..16).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(identity: &str, checks: &[(&str, &str)]) -> ContractMark {
        let pair = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        ContractMark {
            checks: checks.iter().map(pair).collect(),
            identity: Digest::hash(identity.as_bytes()),
            path: None,
            rest: String::new(),
            statements: BTreeMap::new(),
            writer: WRITER.to_owned(),
        }
    }

    #[test]
    fn a_lost_or_altered_check_is_named() {
        let before = mark("1", &[("a", "x"), ("b", "y")]);
        let lost =
            |names: &[&str]| ContractChange::Lost(names.iter().map(|n| (*n).to_owned()).collect());
        let now = |checks: &[(&str, &str)]| before.compare(Some(&mark("2", checks)));
        assert_eq!(before.compare(Some(&before)), ContractChange::Same);
        assert_eq!(
            now(&[("a", "x"), ("b", "y")]),
            ContractChange::Same,
            "only the gate"
        );
        let rest = ContractMark {
            rest: "sequence".to_owned(),
            ..mark("2", &[("a", "x"), ("b", "y")])
        };
        assert_eq!(before.compare(Some(&rest)), ContractChange::Extended);
        assert_eq!(
            now(&[("a", "x"), ("b", "y"), ("c", "z")]),
            ContractChange::Extended
        );
        assert_eq!(now(&[("a", "x")]), lost(&["b"]));
        assert_eq!(now(&[("a", "x"), ("b", "true")]), lost(&["b"]));
        assert_eq!(before.compare(None), lost(&["a", "b"]));
    }

    #[test]
    fn a_check_that_was_added_may_be_altered_and_must_stay() {
        let added = mark("2", &[("a", "x"), ("b", "y")]);
        let before = mark("1", &[("a", "x")]).extended(&added);
        let altered = mark("3", &[("a", "x"), ("b", "z")]);
        assert_eq!(before.compare(Some(&added)), ContractChange::Same);
        assert_eq!(before.compare(Some(&altered)), ContractChange::Extended);
        assert!(matches!(
            before.compare(Some(&mark("4", &[("a", "x")]))),
            ContractChange::Lost(names) if names.contains("b")
        ));
    }

    #[test]
    fn a_lost_or_altered_statement_is_named() {
        let with = |statements: &[(&str, &str)]| ContractMark {
            statements: mark("", statements).checks,
            ..mark(&format!("{statements:?}"), &[("a", "x")])
        };
        let before = with(&[("scope", "x")]);
        let more = with(&[("scope", "x"), ("risk high", "y")]);
        assert_eq!(before.compare(Some(&more)), ContractChange::Extended);
        assert!(matches!(
            before.extended(&more).compare(Some(&with(&[("scope", "z")]))),
            ContractChange::Lost(names) if names.iter().eq(["risk high", "scope"])
        ));
    }

    #[test]
    fn another_writer_compares_names_alone() {
        let before = ContractMark {
            writer: "0".to_owned(),
            ..mark("1", &[("a", "x")])
        };
        let now = |checks: &[(&str, &str)]| before.compare(Some(&mark("2", checks)));
        assert_eq!(now(&[("a", "other")]), ContractChange::Extended);
        assert!(matches!(now(&[]), ContractChange::Lost(_)));
    }
}
