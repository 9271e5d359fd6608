//! Decides whether the newer contract requires less of one request than the older one. Both were
//! compiled for it.
//!
//! A comparison of whole contracts looks for a request that shows a difference; here the request is
//! given, and a difference that does not affect it does not count.

use super::contracts::{Side, at};
use super::difference::{At, Class};
use super::settings::{About, Finding, compare, finding, shown};
use super::shared::budget;
use super::units::{Pairs, UnitIndex, work};
use crate::about::is_about;
use crate::request::{Request, Selector};
use crate::scope::OUTSIDE;
use crate::{Origin, Plan, Step, StepIndex};
use std::collections::BTreeSet;
use vplan_base::change::Status;
use vplan_base::name::is_pattern;
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, visible};
use vplan_check::Kind;
use vplan_contract::{Body, Check, CheckIndex};

/// A contract, and its plan for the request.
#[derive(Clone, Copy, Debug)]
pub struct PlannedSide<'a> {
    /// The contract.
    pub side: Side<'a>,
    /// Its plan.
    pub plan: &'a Plan,
}

/// A check or setting that the newer contract no longer requires, or requires less strictly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weaker {
    /// The check; `None` for a difference of the whole contract.
    pub check: Option<String>,
    /// The difference, on one line.
    pub what: String,
    /// The place of the check's definition: in the newer contract if it is there, else in the older
    /// one.
    pub at: Option<At>,
    /// Whether `at` is a place in the older contract.
    pub is_old: bool,
}

impl Weaker {
    /// Returns a short text, for people and agents.
    #[must_use]
    pub fn line(&self) -> String {
        let place = self.at.as_ref().map(|at| {
            let then = if self.is_old { " at the base" } else { "" };
            format!(" ({}:{}{then})", visible(at.file.as_bytes()), at.line)
        });
        let name = self.check.as_ref().map_or("the contract".to_owned(), shown);
        format!("{name}{} {}", place.unwrap_or_default(), self.what)
    }
}

/// Translates a request for the older contract: checks have the names that it uses, a role that it
/// does not have becomes `worker`.
#[must_use]
pub fn as_of(request: &Request, old: &Side<'_>, new: &Side<'_>) -> Request {
    let pairs = Pairs::new(old.contract, new.contract);
    let then = |name: &str| {
        let known = old.contract.checks.iter().any(|c| c.id == name);
        let unit = pairs
            .new
            .by_id
            .get(name)
            .and_then(|unit| pairs.to_old.get(unit))
            .map(|unit| &pairs.old.all[*unit]);
        if known {
            Some(name.to_owned())
        } else {
            unit.map(|unit| unit.check.id.clone())
        }
    };
    let tags: BTreeSet<&str> = old
        .contract
        .checks
        .iter()
        .flat_map(|c| c.tags.iter().map(String::as_str))
        .collect();
    let mut asked = request.clone();
    let known = |list: &[Selector]| -> Vec<Selector> {
        let known = |selector: &Selector| match selector {
            Selector::Name(name) if is_pattern(name) => {
                let mut checks = old.contract.checks.iter();
                checks
                    .any(|c| selector.selects(&c.id, &c.tags))
                    .then(|| selector.clone())
            }
            Selector::Name(name) => then(name).map(Selector::Name),
            Selector::Tag(tag) => tags.contains(tag.as_str()).then(|| selector.clone()),
        };
        list.iter().filter_map(known).collect()
    };
    asked.names = known(&request.names);
    asked.only = known(&request.only);
    asked.skip.retain_mut(|skip| {
        then(&skip.name).is_some_and(|name| {
            skip.name = name;
            true
        })
    });
    if request
        .role
        .as_ref()
        .is_some_and(|role| !old.contract.roles.contains_key(role))
    {
        asked.role = None;
    }
    asked
}

/// Whether a request names checks, by `--only` or to run whatever their conditions are, of which
/// the older contract knows none: it requested nothing then.
#[must_use]
pub fn asks_nothing(request: &Request, then: &Request) -> bool {
    (!request.only.is_empty() && then.only.is_empty())
        || (!request.names.is_empty() && then.names.is_empty())
}

/// Compares what two contracts require for one request: each check that counted must still be
/// required, as strictly.
#[must_use]
pub fn weaker(old: &PlannedSide<'_>, new: &PlannedSide<'_>) -> Vec<Weaker> {
    let pairs = Pairs::new(old.side.contract, new.side.contract);
    let now = names(new);
    let comparison = Comparison {
        old,
        new,
        pairs: &pairs,
        now,
    };
    let mut found = Vec::new();
    for name in counted(old.plan) {
        if let Some(check) = old.side.contract.checks.iter().find(|c| c.id == name) {
            found.extend(comparison.check(check));
        }
    }
    found.extend(comparison.whole());
    found
}

/// Returns the contract's checks in a plan whose failure counts: blocking ones that are no `setup`,
/// and what they need. In plan order.
fn counted(plan: &Plan) -> Vec<&str> {
    let positions = plan.positions();
    let effective = plan.numbered_steps().filter(|(_, s)| s.is_effective());
    let mut open: Vec<StepIndex> = effective.map(|(i, _)| i).collect();
    let mut counted: BTreeSet<StepIndex> = open.iter().copied().collect();
    while let Some(step) = open.pop().map(|i| plan.step(i)) {
        let needed = step
            .needs
            .iter()
            .filter_map(|id| positions.get(id.as_str()).copied());
        open.extend(needed.filter(|i| counted.insert(*i)));
    }
    let mut seen = BTreeSet::new();
    let steps = counted
        .into_iter()
        .map(|i| plan.step(i))
        .filter(|s| s.origin == Origin::Contract);
    steps
        .map(|s| s.check())
        .filter(|name| seen.insert(*name))
        .collect()
}

/// Returns the contract's checks that a plan has.
fn names<'a>(asked: &PlannedSide<'a>) -> BTreeSet<&'a str> {
    let steps = asked
        .plan
        .steps
        .iter()
        .filter(|s| s.origin == Origin::Contract);
    steps.map(|s| s.check()).collect()
}

/// Returns the words of all commands of a check in a plan.
fn words<'p>(plan: &'p Plan, check: &str) -> BTreeSet<&'p Word> {
    plan.steps
        .iter()
        .filter(|s| s.check() == check)
        .flat_map(|s| s.argv.iter().flatten())
        .collect()
}

struct Comparison<'a> {
    old: &'a PlannedSide<'a>,
    new: &'a PlannedSide<'a>,
    pairs: &'a Pairs<'a>,
    /// The checks of the newer plan.
    now: BTreeSet<&'a str>,
}

impl Comparison<'_> {
    fn check(&self, check: &Check) -> Vec<Weaker> {
        let contract = self.new.side.contract;
        let partner = self
            .pairs
            .old
            .by_id
            .get(check.id.as_str())
            .and_then(|u| self.pairs.to_new.get(u));
        let partner = partner.map(|u| &self.pairs.new.all[*u]);
        let members = partner
            .map(|unit| unit.checks(contract))
            .unwrap_or_default();
        let planned: Vec<&Check> = members
            .iter()
            .copied()
            .filter(|c| self.now.contains(c.id.as_str()))
            .collect();
        // A check that does the same work under another name counts too.
        let same = contract
            .checks
            .iter()
            .filter(|c| self.now.contains(c.id.as_str()) && work(c) == work(check));
        if planned
            .iter()
            .copied()
            .chain(same)
            .any(|other| self.less(check, other).is_empty())
        {
            return Vec::new();
        }
        if let Some(other) = planned.first() {
            let line = |f: Finding| {
                self.weaker(
                    check,
                    Some(other),
                    match f.why {
                        Some(why) => format!("{} ({why})", f.what),
                        None => f.what,
                    },
                )
            };
            return self.less(check, other).into_iter().map(line).collect();
        }
        let what = match members.first() {
            None => "is gone".to_owned(),
            Some(other) => {
                let left_out = self.new.plan.omitted.iter().find(|o| o.id == other.id);
                let why = left_out.map_or(String::new(), |o| {
                    format!(": {}", visible(o.reason.as_bytes()))
                });
                format!("no longer applies to this change{why}")
            }
        };
        vec![self.weaker(check, members.first().copied(), what)]
    }

    fn weaker(&self, check: &Check, other: Option<&Check>, what: String) -> Weaker {
        let place = other.map_or_else(
            || at(&self.old.side, check),
            |other| at(&self.new.side, other),
        );
        Weaker {
            check: Some(check.id.clone()),
            what,
            at: Some(place),
            is_old: other.is_none(),
        }
    }

    /// Returns the differences that make the second check weaker than the first, or may do so.
    fn less(&self, old: &Check, new: &Check) -> Vec<Finding> {
        let mut found = compare(old, new);
        found.extend(self.needs(old, new));
        let (before, after) = (self.old.side.contract, self.new.side.contract);
        if old.kind == Kind::Judge && before.judge_with != after.judge_with {
            found.push(finding(Class::Undecided, "is asked of another judge", ""));
        }
        let hands_over = matches!(&old.body, Body::Command(command) if command.has_changed());
        if hands_over
            && old.body == new.body
            && !words(self.old.plan, &old.id).is_subset(&words(self.new.plan, &new.id))
        {
            found.push(finding(
                Class::Weakens,
                "sees fewer of the changed files",
                "",
            ));
        }
        // What is made is compared by the files themselves: `made`.
        let counts = |f: &Finding| {
            f.about != About::Order && matches!(f.class, Class::Weakens | Class::Undecided)
        };
        found.retain(counts);
        found
    }

    /// Returns the checks that the first needs and the second does not.
    fn needs(&self, old: &Check, new: &Check) -> Vec<Finding> {
        let units = new.needs.iter().map(|i| self.pairs.new.of[*i]);
        let needed: BTreeSet<UnitIndex> = units.collect();
        let lost = old.needs.iter().filter(|i| {
            let partner = self.pairs.to_new.get(&self.pairs.old.of[**i]);
            !partner.is_some_and(|p| needed.contains(p))
        });
        let name = |i: &CheckIndex| shown(&self.old.side.contract.checks[*i].id);
        lost.map(|i| finding(Class::Weakens, format!("no longer needs {}", name(i)), ""))
            .collect()
    }

    /// Compares the parts that belong to no single check: scope, budget, recovery.
    fn whole(&self) -> Vec<Weaker> {
        let whole = |what: String| Weaker {
            check: None,
            what,
            at: None,
            is_old: false,
        };
        let outside = |plan: &Plan| -> Vec<String> {
            plan.notes
                .iter()
                .filter(|n| n.kind == OUTSIDE)
                .filter_map(|n| n.path.as_ref())
                .map(ToString::to_string)
                .collect()
        };
        let (before, after) = (outside(self.old.plan), outside(self.new.plan));
        let mut found = Vec::new();
        // With any change outside its scope the newer plan runs nothing and fails.
        if let Some(path) = before.first().filter(|_| after.is_empty()) {
            found.push(whole(format!(
                "lets a change of {} pass, which its `scope` refused",
                shown(path)
            )));
        }
        if before.is_empty() && counted(self.old.plan).is_empty() {
            return found;
        }
        let (old, new) = (&self.old.plan.policy, &self.new.plan.policy);
        if let Some(said) =
            budget(old.budget_ms, new.budget_ms).filter(|f| f.class == Class::Weakens)
        {
            found.push(whole(format!("has more time: {}", said.what)));
        }
        let rules: Vec<String> = new
            .recover
            .iter()
            .filter(|r| !old.recover.contains(r))
            .map(shown)
            .collect();
        if !rules.is_empty() {
            found.push(whole(format!(
                "lets recovery rewrite more plans: {}",
                rules.join(", ")
            )));
        }
        if new.recover_contract && !old.recover_contract && !new.recover.is_empty() {
            found.push(whole("lets recovery drop its own checks".to_owned()));
        }
        found.extend(self.made());
        found
    }

    /// Compares the files that steps declare to make or remove: declared only by the newer plan, a
    /// file is no longer part of the tree that a run verifies.
    fn made(&self) -> Option<Weaker> {
        let makes = |plan: &Plan, path: &RepoPath| {
            let globs = |s: &Step| {
                s.produces
                    .iter()
                    .chain(&s.cleans)
                    .any(|glob| glob.matches(path))
            };
            plan.steps
                .iter()
                .any(|s| globs(s) || s.report.as_ref().is_some_and(|r| r.glob.matches(path)))
        };
        let contract = Some(self.old.side.contract);
        let counted = counted(self.old.plan);
        let about = |path: &&RepoPath| {
            let steps = self
                .old
                .plan
                .steps
                .iter()
                .filter(|s| counted.contains(&s.check()));
            steps.into_iter().any(|step| is_about(contract, step, path))
        };
        let changed = self
            .new
            .plan
            .request
            .changed
            .files()
            .iter()
            .filter(|f| f.status != Status::Deleted);
        let path = changed
            .map(|f| &f.path)
            .filter(|path| makes(self.new.plan, path) && !makes(self.old.plan, path))
            .find(about)?;
        let what = format!(
            "says that its own steps make {}: what becomes of it is not looked at",
            shown(path)
        );
        Some(Weaker {
            check: None,
            what,
            at: None,
            is_old: false,
        })
    }
}
