//! Finds checks that no request can select, and checks that add nothing to another. Decided from
//! the contract alone, and only if certain.

use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::Env;
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::path::RepoPath;
use vplan_base::setting::Row;
use vplan_check::Kind;
use vplan_contract::{
    Body, Check, CheckIndex, Condition, ConditionIndex, Contract, Placement, Test,
};
use vplan_plan::explain::place;
use vplan_plan::implication::{contradicts, implies};

/// A check that no request can select.
pub(crate) const NEVER_SELECTED: Code = Code("vplan::repository::never_selected");
/// A check that runs only together with an equal one.
pub const SHADOWED: Code = Code("vplan::repository::shadowed");

/// Maximum number of equal checks that one is compared with. Further ones are not reported.
const COMPARED: usize = 32;

/// The reason why a placement never applies.
enum Never<'a> {
    /// These two contradict each other.
    Both(&'a Condition, &'a Condition),
    /// This condition can never hold.
    Alone(&'a Condition),
    /// Its roles are restricted to checks with other tags.
    Roles,
    /// No role is in all the `byRole` around it.
    NoRole,
}

/// Reports checks that no request selects, and that no selected check needs.
pub(super) fn never_selected(contract: &Contract, sink: &mut Diagnostics) {
    // Blocks are shared by the checks in them.
    let mut decided: BTreeMap<(ConditionIndex, ConditionIndex), bool> = BTreeMap::new();
    let mut never: BTreeMap<CheckIndex, Never<'_>> = BTreeMap::new();
    for (index, check) in contract.checks.numbered() {
        let placements = check.placements.iter();
        let mut reasons = placements.map(|p| why_never(contract, check, p, &mut decided));
        // The first reason is reported for all; `None` is a placement that may well apply.
        if let Some(Some(reason)) = reasons.next()
            && reasons.all(|r| r.is_some())
        {
            never.insert(index, reason);
        }
    }
    let all = contract.checks.indices();
    let mut queue: Vec<CheckIndex> = all.filter(|i| !never.contains_key(i)).collect();
    while let Some(index) = queue.pop() {
        let needs = contract.checks[index].needs.iter();
        queue.extend(needs.filter(|need| never.remove(need).is_some()));
    }
    for (index, reason) in never {
        let check = &contract.checks[index];
        let named = |c: &Condition| {
            let at = place(contract.imported(c.place.source), c.line);
            format!("`{}` ({at})", c.test.keyword())
        };
        let why = match reason {
            Never::Both(a, b) => format!("{} and {} never hold together", named(a), named(b)),
            Never::Alone(a) => format!("nothing makes {} hold", named(a)),
            Never::Roles => {
                "every role that may ask for it runs only checks with other tags".to_owned()
            }
            Never::NoRole => "no role is named by every `byRole` around it".to_owned(),
        };
        let message = format!("no request can select `{}`", check.id);
        sink.push(Diagnostic::warning(NEVER_SELECTED, message).label(check.place, why));
    }
}

fn why_never<'a>(
    contract: &'a Contract,
    check: &Check,
    placement: &Placement,
    decided: &mut BTreeMap<(ConditionIndex, ConditionIndex), bool>,
) -> Option<Never<'a>> {
    let indices = placement.conditions.iter().copied();
    let around: Vec<(ConditionIndex, &Condition)> =
        indices.zip(contract.around(placement)).collect();
    for (i, (index, a)) in around.iter().enumerate() {
        for (other, b) in around.iter().skip(i) {
            let known = decided.entry((*index, *other));
            match *known.or_insert_with(|| contradicts(&a.test, &b.test)) {
                true if index == other => return Some(Never::Alone(a)),
                true => return Some(Never::Both(a, b)),
                false => {}
            }
        }
    }
    let asked = |name: &String| {
        around.iter().all(|(_, c)| match &c.test {
            Test::Role(names) => names.contains(name),
            _ => true,
        })
    };
    let roles = contract.roles.iter().filter(|(name, _)| asked(name));
    let mut roles = roles.map(|(_, role)| role).peekable();
    if roles.peek().is_none() {
        return Some(Never::NoRole);
    }
    let admits =
        |only: &[String]| only.is_empty() || only.iter().any(|tag| check.tags.contains(tag));
    (!roles.any(|role| admits(&role.only))).then_some(Never::Roles)
}

/// The parts that two checks must have in common to be compared at all.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Work<'a> {
    kind: Kind,
    body: String,
    dir: &'a RepoPath,
    env: &'a Env,
}

/// Reports checks that do the same as another, and are in a plan only if that one is.
pub(super) fn shadowed(contract: &Contract, sink: &mut Diagnostics) {
    // The same work at two moments is two obligations: checks that are ordered or needed are left
    // alone.
    let groups = contract.sequences.iter().flat_map(|s| &s.groups);
    let mut placed: BTreeSet<CheckIndex> = groups.flatten().copied().collect();
    placed.extend(contract.checks.iter().flat_map(|c| &c.needs));
    let plain = |(index, check): &(CheckIndex, &Check)| {
        let effect = |row: &Row| {
            use Row::{Always, Cleans, Produces, Requires, Setup, Writes};
            matches!(row, Produces | Cleans | Requires | Writes | Setup | Always)
        };
        !placed.contains(index) && check.needs.is_empty() && !check.settings.keys().any(effect)
    };
    let mut alike: BTreeMap<Work<'_>, Vec<&Check>> = BTreeMap::new();
    for (_, check) in contract.checks.numbered().filter(plain) {
        let body = match &check.body {
            Body::Command(command) => format!("{command:?}"),
            body => format!("{body:?}"),
        };
        let work = Work {
            kind: check.kind,
            body,
            dir: &check.dir,
            env: &check.env,
        };
        alike.entry(work).or_default().push(check);
    }
    let restricted = contract.roles.values().any(|role| !role.only.is_empty());
    for checks in alike.into_values().filter(|checks| checks.len() > 1) {
        let mut gone: BTreeSet<usize> = BTreeSet::new();
        // Of two identical checks, the earlier one counts.
        for (i, check) in checks.iter().enumerate().rev() {
            let by = |(j, other): &(usize, &&Check)| {
                *j != i
                    && !gone.contains(j)
                    && same_judgement(check, other)
                    && always_beside(contract, check, other, restricted)
            };
            if let Some((_, other)) = checks.iter().enumerate().take(COMPARED).find(by) {
                gone.insert(i);
                let (own, by) = (&check.id, &other.id);
                let message = format!(
                    "`{own}` does what `{by}` does, and is selected only where `{by}` is, too"
                );
                let same = "the same work, whenever the other is asked for";
                let warning = Diagnostic::warning(SHADOWED, message)
                    .label(check.place, "adds nothing")
                    .label(other.place, same);
                sink.push(warning.help("leave it out, or give it other conditions"));
            }
        }
    }
}

/// Whether both have the same limits, environment and evaluation of their output.
fn same_judgement(a: &Check, b: &Check) -> bool {
    let said = |check: &Check| {
        let mut settings = check.settings.clone();
        settings.retain(|row, _| !row.setting().annotation);
        settings
    };
    said(a) == said(b)
        && (&a.exit, &a.skip_exit) == (&b.exit, &b.skip_exit)
        && (&a.pass_env, &a.tool_path) == (&b.pass_env, &b.tool_path)
        && a.report == b.report
}

/// Whether every plan with `a` has `b`.
fn always_beside(contract: &Contract, a: &Check, b: &Check, restricted: bool) -> bool {
    if b.tier > a.tier || restricted && !a.tags.iter().all(|tag| b.tags.contains(tag)) {
        return false;
    }
    let tests = |p: &Placement| -> Vec<&Test> { contract.around(p).map(|c| &c.test).collect() };
    // The replacement of `{changed}` depends on the place of a check.
    let changed = |c: &Check| matches!(&c.body, Body::Command(command) if command.has_changed());
    if changed(a) || changed(b) {
        return false;
    }
    a.placements.iter().map(tests).all(|given| {
        let holds = |wanted: &&Test| given.iter().any(|test| implies(test, wanted));
        let mut wanted = b.placements.iter().map(tests);
        wanted.any(|wanted| wanted.iter().all(holds))
    })
}
