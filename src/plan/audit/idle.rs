//! Which globs of conditions are of no use: the checks below them were never seen to read their
//! files.

use super::context::{Context, Deeds, Finding, FindingKind};
use super::observed::ObservedCheck;
use crate::StepSource;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::glob::{Glob, ItemContent};
use vplan_base::path::RepoPath;
use vplan_contract::{CheckIndex, Condition, ConditionIndex};

/// The fewest trees on which a check was observed before its silence says something.
const FEWEST_TREES: usize = 3;

/// Finds the idle globs of the contract's own conditions.
pub(super) fn find(context: &Context<'_>, seen: &[ObservedCheck<'_>]) -> Vec<Finding> {
    let by_check: BTreeMap<CheckIndex, &ObservedCheck<'_>> =
        seen.iter().map(|one| (one.check, one)).collect();
    let below = checks_below(context);
    let mut found = Vec::new();
    for (index, condition) in context.contract.conditions.numbered() {
        let Some(selection) = condition.test.narrowing() else {
            continue;
        };
        let is_own = context.contract.imported(condition.place.source).is_none();
        let checks = below.get(&index).filter(|_| is_own);
        let Some((first, seen)) = checks.and_then(|checks| {
            let seen: Option<Vec<&&ObservedCheck<'_>>> =
                checks.iter().map(|check| by_check.get(check)).collect();
            let often = |one: &&&ObservedCheck<'_>| one.trees.len() >= FEWEST_TREES;
            Some((checks.first()?, seen.filter(|seen| seen.iter().all(often))?))
        }) else {
            continue;
        };
        for item in selection.positive() {
            if let ItemContent::Glob(glob) = &item.what
                && is_idle(context, glob, &seen)
            {
                found.push(finding(context, *first, condition, glob));
            }
        }
    }
    found
}

/// Returns the checks below each condition.
fn checks_below(context: &Context<'_>) -> BTreeMap<ConditionIndex, BTreeSet<CheckIndex>> {
    let mut below: BTreeMap<_, BTreeSet<CheckIndex>> = BTreeMap::new();
    for (index, check) in context.contract.checks.numbered() {
        for condition in check.placements.iter().flat_map(|place| &place.conditions) {
            below.entry(*condition).or_default().insert(index);
        }
    }
    below
}

/// Whether there are tracked files of a glob, and the checks read none of them.
fn is_idle(context: &Context<'_>, glob: &Glob, seen: &[&&ObservedCheck<'_>]) -> bool {
    let is_used = |path: &&RepoPath| glob.matches(path);
    let is_read = seen.iter().any(|one| one.tracked.iter().any(is_used));
    let mut tracked = context.subject.tracked.iter();
    !is_read && tracked.any(|path| glob.matches(path))
}

fn finding(
    context: &Context<'_>,
    check: CheckIndex,
    condition: &Condition,
    glob: &Glob,
) -> Finding {
    let tracked = context.subject.tracked;
    let selected = tracked.iter().filter(|path| glob.matches(path));
    let nobody = BTreeSet::new();
    let did: Deeds<'_> = selected.map(|path| (path.to_string(), &nobody)).collect();
    let globs = vec![glob.text().to_owned()];
    let finding = context.finding(FindingKind::IdleCondition, check, globs, &did);
    Finding {
        source: StepSource {
            line: condition.line,
            column: 1,
            ..finding.source
        },
        ..finding
    }
}
