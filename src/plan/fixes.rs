//! Plans the fixes of failing checks, and decides which files a fix may change.
//!
//! A fix is planned like its check: by a contract in which the check runs its fix. So it has the
//! same directory, environment and changed files, in as many steps.

use super::step::empty;
use super::{Origin, Plan, Step};
use std::collections::BTreeSet;
use vplan_base::command::Command;
use vplan_base::path::RepoPath;
use vplan_base::setting::{Row, Value};
use vplan_check::Kind;
use vplan_contract::{Body, Check, Contract};

/// Returns the command that fixes a check, if there is one.
pub fn fix(check: &Check) -> Option<&Command> {
    match check.settings.get(&Row::Fix) {
        Some(Value::Command(command)) => Some(command),
        _ => None,
    }
}

/// Returns the contract in which these checks run their fixes, if they have one.
pub fn contract_of_fixes(contract: &Contract, ids: &BTreeSet<&str>) -> Contract {
    let mut fixes = contract.clone();
    for check in fixes.checks.iter_mut() {
        let Some(command) = fix(check).filter(|_| ids.contains(check.id.as_str())) else {
            continue;
        };
        let mut command = command.clone();
        if let Command::Argv { env, .. } = &mut command {
            check.env.append(env);
        }
        check.body = Body::Command(command);
        // Of these there may be one for all changed files only.
        check.report = None;
        check.settings.remove(&Row::MinTests);
    }
    fixes
}

/// Leaves only the fixes of these checks in the plan of such a contract.
pub fn plan_of_fixes(mut plan: Plan, ids: &BTreeSet<&str>) -> Plan {
    let wanted = |s: &Step| s.origin == Origin::Contract && ids.contains(s.check());
    plan.steps.retain(wanted);
    plan
}

/// Returns a step of such a plan with nothing but what starts its command.
pub fn bare_step(step: &Step) -> Step {
    let step = step.clone();
    Step {
        argv: step.argv,
        batch_of: step.batch_of,
        command: step.command,
        dir: step.dir,
        env: step.env,
        exit: vec![0],
        id: step.id,
        pass_env: step.pass_env,
        timeout_ms: step.timeout_ms,
        tool_path: step.tool_path,
        unsupported: step.unsupported,
        with: step.with,
        ..empty(Kind::Run, Origin::Contract)
    }
}

/// Whether the fix of this step's check may change a file: the check may write it, or all
/// conditions around one place of the check select it.
pub fn may_change(contract: &Contract, step: &Step, path: &RepoPath) -> bool {
    step.may_write(path)
        || contract.check(step.check()).is_some_and(|check| {
            check.placements.iter().any(|placement| {
                let around = contract.around(placement);
                let mut around = around.filter_map(|c| c.test.narrowing()).peekable();
                around.peek().is_some() && around.all(|selection| selection.selects(path))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{plain_check, plain_contract};
    use vplan_base::glob::{Glob, Item, ItemContent, Selection};
    use vplan_base::index::Index as _;
    use vplan_base::span::{Place, SourceId};
    use vplan_contract::{Condition, ConditionIndex, Placement, Sought, Test};

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    fn selection(glob: &str) -> Selection {
        Selection {
            items: vec![Item {
                not: false,
                what: ItemContent::Glob(Glob::parse(glob).unwrap()),
            }],
        }
    }

    #[test]
    fn a_fix_may_change_what_all_conditions_of_a_place_select_and_what_its_check_may_write() {
        let mut check = plain_check("a");
        let condition = |test| Condition {
            line: 1,
            place: Place::default(),
            test,
        };
        let place = |conditions: &[usize]| Placement {
            conditions: conditions.iter().map(|c| ConditionIndex::new(*c)).collect(),
            line: 1,
            source: SourceId(0),
            is_use: false,
        };
        check.placements = vec![place(&[0, 1]), place(&[2]), place(&[3]), place(&[])];
        let step = Step {
            id: check.id.clone(),
            writes: Some(selection("gen/**")),
            ..empty(Kind::Run, Origin::Contract)
        };
        let mut contract = plain_contract(vec![check]);
        contract.conditions = [
            Test::ChangedAny(selection("src/**")),
            Test::ChangedOnly(selection("**/*.rs")),
            Test::ChangedNone(selection("docs/**")),
            Test::Exists(vec![Sought::Path(path("made"))]),
        ]
        .map(condition)
        .into_iter()
        .collect();
        for (file, may) in [
            ("src/a.rs", true),
            ("src/a.py", false),
            ("lib/a.rs", false),
            ("docs/a", false),
            ("made", false),
            ("gen/x", true),
        ] {
            assert_eq!(may_change(&contract, &step, &path(file)), may, "{file}");
        }
    }
}
