//! Decides whether the newer contract requires less of one request than the older one. Both were
//! compiled for it.
//!
//! A comparison of whole contracts looks for a request that shows a difference; here the request is
//! given, and a difference that does not affect it does not count.

use super::contracts::{Side, at};
use super::difference::{At, Class};
use super::settings::{Finding, Topic, compare, finding, quote};
use super::shared::{budget, listed_without};
use super::units::{Pairs, UnitIndex, work};
use crate::focus::is_about;
use crate::request::{Request, Selector, Skip};
use crate::scope::OUTSIDE;
use crate::{Origin, Plan, Step, StepIndex};
use std::collections::BTreeSet;
use vplan_base::change::Status;
use vplan_base::name::is_pattern;
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, visible};
use vplan_check::Kind;
use vplan_contract::{Check, CheckIndex};

/// A contract, and its plan for the request.
#[derive(Clone, Copy, Debug)]
pub struct PlannedSide<'a> {
    /// The contract and its sources.
    pub side: Side<'a>,
    /// Its plan for the request.
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
    pub fn line(&self) -> String {
        let place = self.at.as_ref().map(|at| {
            let then = if self.is_old { " at the base" } else { "" };
            format!(" ({}:{}{then})", visible(&at.file), at.line)
        });
        let name = self.check.as_ref().map_or("the contract".to_owned(), quote);
        format!("{name}{} {}", place.unwrap_or_default(), self.what)
    }
}

/// Translates a request for the older contract: checks have the names that it uses, a role that it
/// does not have becomes `worker`.
pub fn as_of(request: &Request, old: &Side<'_>, new: &Side<'_>) -> Request {
    let pairs = Pairs::new(old.contract, new.contract);
    let then = |name: &str| {
        if old.contract.check(name).is_some() {
            return Some(name.to_owned());
        }
        let unit = pairs.to_old.get(pairs.new.by_id.get(name)?)?;
        Some(pairs.old.all[*unit].check.id.clone())
    };
    let tags: BTreeSet<&String> = old.contract.checks.iter().flat_map(|c| &c.tags).collect();
    let mut asked = request.clone();
    let known = |list: &[Selector]| -> Vec<Selector> {
        let known = |selector: &Selector| match selector {
            Selector::Name(name) if is_pattern(name) => {
                let mut checks = old.contract.checks.iter();
                let is_known = checks.any(|c| selector.selects(&c.id, &c.tags));
                is_known.then(|| selector.clone())
            }
            Selector::Name(name) => then(name).map(Selector::Name),
            Selector::Tag(tag) => tags.contains(tag).then(|| selector.clone()),
        };
        list.iter().filter_map(known).collect()
    };
    asked.names = known(&request.names);
    asked.only = known(&request.only);
    let skip = request.skip.iter().filter_map(|skip| {
        let (name, reason) = (then(&skip.name)?, skip.reason.clone());
        Some(Skip { name, reason })
    });
    asked.skip = skip.collect();
    let is_known = |role: &String| old.contract.roles.contains_key(role);
    asked.role = request.role.clone().filter(is_known);
    asked
}

/// Whether a request names checks, by `--only` or to run regardless of conditions, and the older
/// contract knows none of them: it requested nothing then.
pub fn asks_nothing(request: &Request, then: &Request) -> bool {
    (!request.only.is_empty() && then.only.is_empty())
        || (!request.names.is_empty() && then.names.is_empty())
}

/// Compares what two contracts require for one request: each check that counted must still be
/// required, as strictly.
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
    let checks = counted(old.plan).into_iter();
    for check in checks.filter_map(|name| old.side.contract.check(name)) {
        found.extend(comparison.check(check));
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
        let needed = step.needs.iter();
        let needed = needed.filter_map(|id| positions.get(id.as_str()).copied());
        open.extend(needed.filter(|i| counted.insert(*i)));
    }
    let mut seen = BTreeSet::new();
    let steps = counted.into_iter().map(|i| plan.step(i));
    let checks = steps
        .filter(|s| s.origin == Origin::Contract)
        .map(Step::check);
    checks.filter(|name| seen.insert(*name)).collect()
}

/// Returns the contract's checks that a plan has.
fn names<'a>(asked: &PlannedSide<'a>) -> BTreeSet<&'a str> {
    let steps = asked.plan.steps.iter();
    let of_contract = steps.filter(|s| s.origin == Origin::Contract);
    of_contract.map(Step::check).collect()
}

/// Returns the words of all commands of a check in a plan.
fn words<'p>(plan: &'p Plan, check: &str) -> BTreeSet<&'p Word> {
    let steps = plan.steps.iter().filter(|s| s.check() == check);
    steps.flat_map(|s| s.argv.iter().flatten()).collect()
}

/// A difference that is about no single check.
fn whole(what: impl Into<String>) -> Weaker {
    Weaker {
        check: None,
        what: what.into(),
        at: None,
        is_old: false,
    }
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
        let unit = self.pairs.old.by_id.get(check.id.as_str());
        let partner = unit.and_then(|unit| self.pairs.to_new.get(unit));
        let partner = partner.map(|unit| self.pairs.new.all[*unit].checks(contract));
        let members = partner.unwrap_or_default();
        let is_planned = |c: &&Check| self.now.contains(c.id.as_str());
        let planned: Vec<&Check> = members.iter().copied().filter(is_planned).collect();
        // A check that does the same work under another name counts too.
        let same = contract.checks.iter().filter(is_planned);
        let same = same.filter(|c| work(c) == work(check));
        let mut others = planned.iter().copied().chain(same);
        if others.any(|other| self.less(check, other).is_empty()) {
            return Vec::new();
        }
        if let Some(other) = planned.first() {
            let line = |f: Finding| {
                let why = f.why.map_or(String::new(), |why| format!(" ({why})"));
                self.weaker(check, Some(other), f.what + &why)
            };
            return self.less(check, other).into_iter().map(line).collect();
        }
        let what = match members.first() {
            None => "is gone".to_owned(),
            Some(other) => {
                let left_out = self.new.plan.omitted.iter().find(|o| o.id == other.id);
                let why = left_out.map_or(String::new(), |o| format!(": {}", visible(&o.reason)));
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
        if old.has_changed()
            && old.body == new.body
            && !words(self.old.plan, &old.id).is_subset(&words(self.new.plan, &new.id))
        {
            let what = "sees fewer of the changed files";
            found.push(finding(Class::Weakens, what, ""));
        }
        // What is made is compared by the files themselves: `made`.
        let counts = |f: &Finding| {
            f.about != Topic::Order && matches!(f.class, Class::Weakens | Class::Undecided)
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
        let name = |i: &CheckIndex| quote(&self.old.side.contract.checks[*i].id);
        lost.map(|i| finding(Class::Weakens, format!("no longer needs {}", name(i)), ""))
            .collect()
    }

    /// Compares the parts that belong to no single check: scope, budget, recovery.
    fn whole(&self) -> Vec<Weaker> {
        let outside = |plan: &Plan| -> Vec<String> {
            let notes = plan.notes.iter().filter(|n| n.kind == OUTSIDE);
            let paths = notes.filter_map(|n| n.path.as_ref());
            paths.map(ToString::to_string).collect()
        };
        let (before, after) = (outside(self.old.plan), outside(self.new.plan));
        let mut found = Vec::new();
        // With any change outside its scope the newer plan runs nothing and fails.
        if let Some(path) = before.first().filter(|_| after.is_empty()) {
            let path = quote(path);
            found.push(whole(format!(
                "lets a change of {path} pass, which its `scope` refused"
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
        if let Some(rules) = listed_without(&new.recover, &old.recover, ", ") {
            found.push(whole(format!("lets recovery rewrite more plans: {rules}")));
        }
        if new.recover_contract && !old.recover_contract && !new.recover.is_empty() {
            found.push(whole("lets recovery drop its own checks"));
        }
        found.extend(self.made());
        found
    }

    /// Compares the files that steps declare to make or remove: declared only by the newer plan, a
    /// file is no longer part of the tree that a run verifies.
    fn made(&self) -> Option<Weaker> {
        let makes = |plan: &Plan, path: &RepoPath| {
            let makes = |step: &Step| step.products().any(|glob| glob.matches(path));
            plan.steps.iter().any(makes)
        };
        let contract = Some(self.old.side.contract);
        let counted = counted(self.old.plan);
        let about = |path: &&RepoPath| {
            let steps = self.old.plan.steps.iter();
            let mut steps = steps.filter(|s| counted.contains(&s.check()));
            steps.any(|step| is_about(contract, step, path))
        };
        let changed = self.new.plan.request.changed.files().iter();
        let changed = changed.filter(|f| f.status != Status::Deleted);
        let mut made = changed
            .map(|f| &f.path)
            .filter(|path| makes(self.new.plan, path) && !makes(self.old.plan, path));
        let path = quote(made.find(about)?);
        Some(whole(format!(
            "says that its own steps make {path}: what becomes of it is not looked at"
        )))
    }
}
