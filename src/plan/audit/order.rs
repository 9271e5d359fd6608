//! Which checks meet in a file although nothing orders them: one writes what the other reads, or
//! both write it.

use super::amendment::Amendment;
use super::context::{
    Context, Deeds, FILES_SHOWN, Finding, FindingKind, ObservedRun, planned, request_for,
};
use super::observed::is_reserved;
use crate::Plan;
use crate::containment::predecessors;
use crate::request::{Request, Selector};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::path::RepoPath;
use vplan_base::setting::Row;
use vplan_base::word::Word;
use vplan_check::observed::Place;
use vplan_contract::CheckIndex;

/// Who did what with a file in one run.
#[derive(Default)]
struct Users<'a> {
    readers: BTreeMap<CheckIndex, &'a BTreeSet<Word>>,
    writers: BTreeMap<CheckIndex, &'a BTreeSet<Word>>,
}

/// Two checks, in the order in which they have to run: the second reads what the first wrote, or
/// both wrote.
type Pair = (CheckIndex, CheckIndex);

/// The files in which two checks meet, with the programs of the second.
type Meetings<'a> = BTreeMap<Pair, BTreeMap<&'a RepoPath, BTreeSet<&'a Word>>>;

/// Finds the pairs of checks that meet without an order.
pub(super) fn find(context: &Context<'_>) -> Vec<Finding> {
    let meetings = meetings(context);
    if meetings.is_empty() {
        return Vec::new();
    }
    let mut order = Order::new(context);
    let mut found = Vec::new();
    for (pair, files) in order.unordered(meetings) {
        let (first, second) = pair;
        let files = files.into_iter().map(|(path, by)| (path.to_string(), by));
        let did: BTreeMap<String, BTreeSet<&Word>> = files.collect();
        let globs = did.keys().take(FILES_SHOWN).cloned().collect();
        let did: Deeds<'_> = did.iter().map(|(path, by)| (path.clone(), by)).collect();
        let (before, after) = (context.check(first), context.check(second));
        // What an `each` writes for all its rows would need itself.
        let is_own = context.can_change(second) && after.place.row == 0;
        let can_mend = is_own && before.named && order.add(pair);
        let amendment = can_mend.then(|| Amendment::Setting {
            check: second,
            row: Row::Needs,
            words: vec![before.id.clone()],
            is_shown_only: false,
        });
        let finding = context.finding(FindingKind::UndeclaredOrder, second, globs, &did);
        found.push(finding.mended_by(context.contract, amendment));
    }
    found
}

/// Collects the files in which two checks of one run meet.
fn meetings<'a>(context: &Context<'a>) -> Meetings<'a> {
    let by_id = context.contract.check_indices();
    let mut meetings = Meetings::new();
    for run in context.subject.runs {
        for (path, users) in users(run, &by_id) {
            for writer in users.writers.keys() {
                for (reader, programs) in &users.readers {
                    meet(&mut meetings, (*writer, *reader), path, programs);
                }
                let only_writes = |check| !users.readers.contains_key(check);
                for (other, programs) in users.writers.iter().filter(|(c, _)| *c > writer) {
                    if only_writes(writer) && only_writes(other) {
                        meet(&mut meetings, (*writer, *other), path, programs);
                    }
                }
            }
        }
    }
    meetings
}

fn meet<'a>(
    meetings: &mut Meetings<'a>,
    pair: Pair,
    path: &'a RepoPath,
    programs: &'a BTreeSet<Word>,
) {
    if pair.0 != pair.1 {
        let files = meetings.entry(pair).or_default();
        files.entry(path).or_default().extend(programs);
    }
}

/// Returns the files of a run that some step wrote, with all who read or wrote them.
fn users<'a>(
    run: &ObservedRun<'a>,
    by_id: &BTreeMap<&str, CheckIndex>,
) -> BTreeMap<&'a RepoPath, Users<'a>> {
    let steps = run.plan.steps.iter();
    let observed =
        steps.filter_map(|step| Some((*by_id.get(step.check())?, run.steps.get(&step.id)?)));
    let observed: Vec<_> = observed.collect();
    let mut users: BTreeMap<&RepoPath, Users<'_>> = BTreeMap::new();
    for (check, observed) in &observed {
        for (place, uses) in observed.files.iter().filter(|(_, uses)| uses.written) {
            if let Place::Repository(path) = place
                && !is_reserved(path)
            {
                let users = users.entry(path).or_default();
                users.writers.insert(*check, &uses.programs);
            }
        }
    }
    for (check, observed) in &observed {
        // A file that was looked up before it existed is read the next time.
        let asked = observed.files.iter();
        for (place, uses) in asked.filter(|(_, uses)| uses.read || uses.missing) {
            if let Place::Repository(path) = place
                && let Some(users) = users.get_mut(path)
            {
                users.readers.insert(*check, &uses.programs);
            }
        }
    }
    users
}

/// Which checks run before which.
struct Order {
    /// For each check the position in a plan of all, and the checks before it.
    position: BTreeMap<CheckIndex, usize>,
    before: BTreeMap<CheckIndex, BTreeSet<CheckIndex>>,
    tiers: BTreeMap<CheckIndex, u8>,
}

impl Order {
    fn new(context: &Context<'_>) -> Self {
        let mut this = Self {
            position: BTreeMap::new(),
            before: BTreeMap::new(),
            tiers: BTreeMap::new(),
        };
        let runs = context.subject.runs.iter();
        let roles: BTreeSet<&String> = runs.map(|run| &run.plan.request.role).collect();
        for plan in roles
            .into_iter()
            .filter_map(|role| plan_of_all(context, role))
        {
            this.read(context, &plan);
        }
        this
    }

    /// Takes over what a plan orders. Another plan, for another role, may know further checks.
    fn read(&mut self, context: &Context<'_>, plan: &Plan) {
        let by_id = context.contract.check_indices();
        let check_of: BTreeMap<&str, CheckIndex> = (plan.steps.iter())
            .filter_map(|step| Some((step.id.as_str(), *by_id.get(step.check())?)))
            .collect();
        let all = predecessors(plan);
        for (position, step) in plan.steps.iter().enumerate() {
            if let Some(check) = check_of.get(step.id.as_str()) {
                self.position.entry(*check).or_insert(position);
                self.tiers.entry(*check).or_insert(step.tier);
                let before = all.get(step.id.as_str()).into_iter().flatten();
                let before = before.filter_map(|id| check_of.get(id));
                self.before.entry(*check).or_default().extend(before);
            }
        }
    }

    fn waits(&self, check: CheckIndex, earlier: CheckIndex) -> bool {
        let before = self.before.get(&check);
        before.is_some_and(|before| before.contains(&earlier))
    }

    fn is_ordered(&self, (one, other): Pair) -> bool {
        let waits = |check, earlier| self.waits(check, earlier);
        let are_known = self.tiers.contains_key(&one) && self.tiers.contains_key(&other);
        !are_known
            || self.tiers.get(&one) != self.tiers.get(&other)
            || waits(one, other)
            || waits(other, one)
    }

    /// Returns the pairs that nothing orders, one of each two checks: where each reads what the other
    /// wrote, in the order of the plan.
    fn unordered<'a>(
        &self,
        meetings: Meetings<'a>,
    ) -> Vec<(Pair, BTreeMap<&'a RepoPath, BTreeSet<&'a Word>>)> {
        let known: BTreeSet<Pair> = meetings.keys().copied().collect();
        let place = |check| (self.position.get(&check).copied(), check);
        let is_wanted = |(one, other): Pair| {
            let is_first = place(one) < place(other) || !known.contains(&(other, one));
            is_first && !self.is_ordered((one, other))
        };
        let meetings = meetings.into_iter();
        let mut pairs: Vec<_> = meetings.filter(|(pair, _)| is_wanted(*pair)).collect();
        pairs.sort_by_key(|((one, other), _)| (place(*other), place(*one)));
        pairs
    }

    /// Adds that the second of two checks waits for the first; not where the first waits for the
    /// second by now.
    fn add(&mut self, (first, second): Pair) -> bool {
        if self.waits(first, second) {
            return false;
        }
        let mut more = self.before.get(&first).cloned().unwrap_or_default();
        more.insert(first);
        let waiting: Vec<CheckIndex> = (self.before.iter())
            .filter(|(check, before)| **check == second || before.contains(&second))
            .map(|(check, _)| *check)
            .collect();
        for check in waiting {
            self.before.entry(check).or_default().extend(&more);
        }
        true
    }
}

/// Plans every check that was observed, whatever the conditions say.
fn plan_of_all(context: &Context<'_>, role: &str) -> Option<Plan> {
    let steps = context.subject.runs.iter().flat_map(|run| &run.plan.steps);
    let ids: BTreeSet<&str> = steps.map(super::super::Step::check).collect();
    let checks = context.contract.checks.iter().map(|check| &check.id);
    let checks = checks.filter(|id| ids.contains(id.as_str())).cloned();
    let request = Request {
        names: checks.map(Selector::Name).collect(),
        changed: context.everything(),
        ..request_for(role, 2)
    };
    let mut facts = context.subject.facts.clone();
    planned(context.contract, &request, &mut facts, None)
}
