//! Removes a `cd` or an `export` that is a separate command of a list, and carries its effect into
//! the commands after it.
//!
//! In a plan, the compiler carries both into the commands of the request. Here it is a bare list
//! that is repaired.

use super::rule::RepairCase;
use crate::change::{PlanChange, replace_predecessor};
use crate::failure::sequence::is_bare;
use crate::obstacle::Obstacle;
use vplan_base::carried::Carried;
use vplan_base::command::{Env, Link, Unsupported, to_text};
use vplan_base::index::Index as _;
use vplan_base::path::RepoPath;
use vplan_plan::{Origin, Step};

/// Removes the step and gives each step after it the directory and the variables. `None` if it is
/// another kind of step, nothing comes after it, or its effect needs a shell.
pub(super) fn carry(case: &RepairCase<'_>) -> Option<Result<PlanChange, Obstacle>> {
    let behind = case.plan.steps.get(case.index.position() + 1..);
    let behind = behind.filter(|steps| !steps.is_empty())?;
    if !is_bare(case.plan) || !is_carried(case.step) {
        return None;
    }
    let mut carried = Carried {
        dir: case.step.dir.clone(),
        env: case.step.env.clone(),
    };
    carried.follow_all(case.step.unsupported.as_ref()?)?;
    Some(blocked_by_earlier(case).map_or_else(|| into(case, &carried, behind), Err))
}

/// Returns why a `cd` of this step may not be followed yet: another one before it still waits to be
/// carried.
pub(super) fn blocked_by_earlier(case: &RepairCase<'_>) -> Option<Obstacle> {
    let moves = |step: &Step| {
        let mut chain = step.unsupported.iter().flat_map(|u| &u.chain);
        step.origin == Origin::Explicit && chain.any(|l| matches!(l, Link::ChangeDirectory { .. }))
    };
    if !moves(case.step) {
        return None;
    }
    let waits = |step: &&Step| is_carried(step) && moves(step);
    let mut before = case.plan.steps.iter().take(case.index.position());
    let waiting = before.find(waits)?;
    Some(Obstacle::CarriedFirst(waiting.id.clone()))
}

fn is_carried(step: &Step) -> bool {
    let unsupported = step.unsupported.as_ref();
    unsupported.is_some_and(Unsupported::is_carried)
}

fn into(case: &RepairCase<'_>, carried: &Carried, behind: &[Step]) -> Result<PlanChange, Obstacle> {
    let gone = case.step;
    if let Some(other) = case.plan.steps.iter().find(|s| s.needs.contains(&gone.id)) {
        return Err(Obstacle::Needed(other.id.clone()));
    }
    let mut env = carried.env.clone();
    // The state of a shell that runs the remaining separate steps.
    let mut walk = carried.clone();
    let before = case.plan.steps.iter().take(case.index.position());
    let mut steps: Vec<Step> = before.cloned().collect();
    for step in behind {
        let mut step = step.clone();
        step.dir = moved(&step, &gone.dir, &carried.dir)?;
        step = with(step, &env)?;
        // If a variable is exported again, its value no longer comes from this step.
        walk.env.extend(step.env.clone());
        if let Some(waiting) = &step.unsupported
            && walk.follow_all(waiting).is_some()
        {
            for link in &waiting.chain {
                if let Link::Export { export } = link {
                    env.retain(|name, _| !export.contains_key(name));
                }
            }
        }
        steps.push(step);
    }
    if !steps.iter().any(Step::is_effective) {
        return Err(Obstacle::NothingRemains);
    }
    let order = case.plan.positions();
    for step in &mut steps {
        replace_predecessor(step, &gone.id, [&gone.after, &gone.prepared_by], &order);
    }
    Ok(PlanChange {
        dropped: Vec::new(),
        steps,
    })
}

/// Returns the directory of a step after a move from one directory to another.
fn moved(step: &Step, from: &RepoPath, to: &RepoPath) -> Result<RepoPath, Obstacle> {
    let inner = match step.dir == *from {
        true => Some(to.clone()),
        false => step.dir.below(from).and_then(|d| to.join(d).ok()),
    };
    inner.ok_or_else(|| Obstacle::OtherDirectory(step.id.clone()))
}

fn with(step: Step, carried: &Env) -> Result<Step, Obstacle> {
    if carried.is_empty() {
        return Ok(step);
    }
    let mut env = carried.clone();
    env.extend(step.env.clone());
    let command = match (&step.argv, &step.unsupported) {
        (Some(argv), _) => to_text(&env, argv),
        // Its parts will get them, and its text contains them.
        (None, Some(u)) if !u.chain.is_empty() => {
            format!("export {} && {}", to_text(carried, &[]), step.command)
        }
        _ => return Err(Obstacle::NeedsShell(step.id)),
    };
    Ok(Step {
        command,
        env,
        ..step
    })
}

#[cfg(test)]
mod tests {
    use crate::bare::reported_failure;
    use crate::tests::plan_of_lines;
    use crate::{Recovery, recover};
    use vplan_base::vocabulary::FailureCode;

    /// Returns `command@dir` of each step after the repair of these steps, or the refusals.
    fn repaired_commands(lines: &[&str], failed: &[usize]) -> String {
        let mut plan = plan_of_lines(lines);
        let failures: Vec<_> = failed
            .iter()
            .map(|n| reported_failure(*n, FailureCode::UnsupportedFormat))
            .collect();
        loop {
            match recover(&plan, &failures, &Default::default()) {
                Recovery::Rewritten { plan: next, .. } => plan = *next,
                Recovery::Refused(list) => {
                    return list
                        .into_iter()
                        .map(|r| format!("{}: {}", r.recovery_rule, r.reason))
                        .collect::<Vec<_>>()
                        .join("; ");
                }
                Recovery::NotApplicable => break,
            }
        }
        plan.steps
            .iter()
            .map(|s| format!("{}@{}", s.command, s.dir))
            .collect::<Vec<_>>()
            .join(", ")
    }

    #[test]
    fn what_is_carried() {
        for (lines, failed, want) in [
            (
                &["cd packages/db", "test -f marker"][..],
                &[1][..],
                "test -f marker@packages/db",
            ),
            (
                &["a", "cd d", "b", "cd ../e", "c"],
                &[2, 4],
                "a@., b@d, c@e",
            ),
            (&["cd d", "cd e", "c"], &[1, 2], "c@d/e"),
            (&["cd d && cd ..", "c"], &[1], "c@."),
            (
                &["export A=1", "a", "A=2 b", "export A=3", "c"],
                &[1, 4],
                "A=1 a@., A=2 b@., A=3 c@.",
            ),
            (&["export A=1 B=2", "cd d", "a"], &[1, 2], "A=1 B=2 a@d"),
            (&["cd d", "a && b"], &[1, 2], "a@d, b@d"),
            (&["cd d", "cd e && a", "b"], &[1, 2], "a@d/e, b@d"),
            (&["cd d", "a | b", "c"], &[1], "a | b@d, c@d"),
            (&["export A=1", "cd e && a"], &[1, 2], "A=1 a@e"),
            (
                &["cd d && export A=1", "cd e && a", "b"],
                &[1, 2],
                "A=1 a@d/e, A=1 b@d",
            ),
            (
                &["export A=1", "cd d", "export A=2", "a"],
                &[1, 2, 3],
                "A=2 a@d",
            ),
            (
                &["export A=1", "cd d", "cd .. && export A=", "a"],
                &[1, 2, 3],
                "A= a@.",
            ),
            (&["export A=1", "a && b"], &[1], "export A=1 && a && b@."),
            (
                &["export A=1", "export A=2 B=3", "a && b"],
                &[1, 2, 3],
                "A=2 B=3 a@., A=2 B=3 b@.",
            ),
        ] {
            assert_eq!(repaired_commands(lines, failed), want, "{lines:?}");
        }
    }

    #[test]
    fn what_is_refused() {
        let changes = |text: &str| {
            format!(
                "drop-unsupported-format: `{text}` changes the shell, and with it what the commands behind it mean"
            )
        };
        let waits = |rule: &str, id: &str| {
            format!("{rule}: `{id}` stands before it, and must be carried first")
        };
        for (lines, failed, want) in [
            (&["cd ..", "a"][..], &[1][..], changes("cd ..")),
            (&["a", "cd d"], &[2], changes("cd d")),
            (&["set -e", "a"], &[1], changes("set -e")),
            (&["set -e && a", "b"], &[1], changes("set -e && a")),
            (&["a && cd d", "b"], &[1], changes("a && cd d")),
            (&["export CDPATH=x", "cd d", "a"], &[1, 2], changes("export CDPATH=x && cd d")),
            (&["cd d", "cd e", "a"], &[2], waits("hoist-directory", "command-1")),
            (&["cd d", "cd e && a"], &[2], waits("hoist-directory", "command-1")),
            (&["cd d", "a && cd e && b"], &[2], waits("split-conjunction", "command-1")),
            (
                &["export A=1", "a | b"],
                &[1],
                "hoist-directory: the variables cannot be given to `command-2`, which needs a shell".to_owned(),
            ),
        ] {
            assert!(repaired_commands(lines, failed).contains(&want), "{lines:?}: {}", repaired_commands(lines, failed));
        }
    }

    /// Checks that no step moves after a `cd`, where it would run in another directory.
    #[test]
    fn nothing_moves_over_what_changes_the_shell() {
        let plan = plan_of_lines(&["make", "make clean", "cd build/..", "test -f build/a"]);
        let got = recover(
            &plan,
            &[reported_failure(4, FailureCode::SequenceIssue)],
            &Default::default(),
        );
        assert_eq!(got, Recovery::NotApplicable);
    }
}
