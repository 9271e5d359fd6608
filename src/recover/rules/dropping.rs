//! Decides whether a step may be dropped.
//!
//! Three cases are refused: dropping a step that a check requires, dropping one that others need,
//! and a plan that would verify nothing.

use super::conjunction;
use super::rule::RepairCase;
use crate::change::{PlanChange, replace_predecessor};
use crate::failure::{AskedKind, Failure, RequestedNames, requested_names};
use crate::obstacle::Obstacle;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::change::Status;
use vplan_base::index::Index as _;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::FailureCode;
use vplan_plan::facts::{Certainty, Facts};
use vplan_plan::{Coverage, Origin, Plan, Step};

/// Drops a step whose package script, goal or test file does not exist, unless [`drop`] forbids it.
pub(super) fn rewrite(case: &RepairCase<'_>) -> Option<Result<PlanChange, Obstacle>> {
    Some(drop(case))
}

/// Drops a step that cannot be expressed without a shell, when no rule above can express it, unless
/// [`drop`] forbids it. A repaired step is no longer unsupported, even if an earlier failure reports
/// that.
pub(super) fn unsupported(case: &RepairCase<'_>) -> Option<Result<PlanChange, Obstacle>> {
    is_inexpressible(case.step).then(|| drop(case))
}

fn is_inexpressible(step: &Step) -> bool {
    step.unsupported.is_some() && conjunction::parts(step).is_none()
}

/// Drops the failed step, or returns why not.
fn drop(case: &RepairCase<'_>) -> Result<PlanChange, Obstacle> {
    if let Some(reason) = refusal(case.plan, case.step, case.code, case.facts) {
        return Err(reason);
    }
    let id = &case.step.id;
    if let Some(other) = case.plan.steps.iter().find(|s| s.needs.contains(id)) {
        return Err(Obstacle::Needed(other.id.clone()));
    }
    let gone = case.together.get_or_init(|| together(case));
    // A step that cannot be run verifies nothing, even if it has not been tried yet.
    let stays = |step: &Step| step.id != *id && !gone.contains(step.id.as_str());
    let remains = |step: &Step| step.is_effective() && !is_inexpressible(step) && stays(step);
    if !case.plan.steps.iter().any(remains) {
        return Err(Obstacle::NothingRemains);
    }
    let mut steps = case.plan.steps.clone();
    steps.remove(case.index.position());
    let order = case.plan.positions();
    for step in &mut steps {
        // Its successors still follow its predecessors.
        replace_predecessor(step, id, [&case.step.after, &case.step.prepared_by], &order);
    }
    Ok(PlanChange {
        dropped: vec![id.clone()],
        steps,
    })
}

/// Returns the steps that the present failures would drop, sooner or later. If no other step
/// verifies anything, none of them may be dropped, in any order.
fn together<'a>(case: &RepairCase<'a>) -> BTreeSet<&'a str> {
    let plan = case.plan;
    let by_id: BTreeMap<&str, &Step> = plan.steps.iter().map(|s| (s.id.as_str(), s)).collect();
    let steps = case.failures.iter();
    let steps = steps.filter_map(|failure| Some((by_id.get(failure.step.as_str())?, failure)));
    let droppable = steps.filter(|(step, failure)| is_droppable(case, step, failure));
    let mut gone: BTreeSet<&str> = droppable.map(|(step, _)| step.id.as_str()).collect();
    loop {
        let stays = |step: &&Step| !gone.contains(step.id.as_str());
        let needed = plan.steps.iter().filter(stays).flat_map(|s| &s.needs);
        let needed: BTreeSet<&str> = needed.map(String::as_str).collect();
        let before = gone.len();
        gone.retain(|id| !needed.contains(id));
        if gone.len() == before {
            return gone;
        }
    }
}

fn is_droppable(case: &RepairCase<'_>, step: &Step, failure: &Failure) -> bool {
    let (plan, mut rules) = (case.plan, case.rules.iter());
    let rule =
        rules.find(|rule| rule.fires_on == failure.code && rule.coverage == Coverage::Narrowed);
    rule.is_some_and(|rule| plan.policy.recover.contains(&rule.name.into()))
        && (failure.code != FailureCode::UnsupportedFormat || is_inexpressible(step))
        && refusal(plan, step, failure.code, case.facts).is_none()
}

/// Returns the reason against dropping this step, independent of the others.
fn refusal(plan: &Plan, step: &Step, code: FailureCode, facts: &Facts) -> Option<Obstacle> {
    if step.origin == Origin::Contract && !step.optional && !plan.policy.recover_contract {
        return Some(Obstacle::InContract(step.id.clone()));
    }
    if step.unsupported.as_ref().is_some_and(|u| u.changes_shell) {
        return Some(Obstacle::ChangesShell(step.command.clone()));
    }
    match code {
        FailureCode::MissingScript | FailureCode::MissingMakeTarget => {
            let asked = requested_names(step)?;
            changed_declaration(plan, &asked).or_else(|| declared_before(&asked, facts))
        }
        FailureCode::NoTestFiles => changed_tests(plan, step),
        _ => None,
    }
}

fn changed_declaration(plan: &Plan, asked: &RequestedNames) -> Option<Obstacle> {
    let known = asked.paths();
    let declares = |path: &RepoPath| {
        let named = asked
            .files
            .iter()
            .any(|file| path.name() == base_name(file));
        let included = asked.kind != AskedKind::Script && path.name().ends_with(b".mk");
        // Without a certain directory any file of this name may be the one.
        included
            || if known.is_empty() {
                named
            } else {
                known.contains(path)
            }
    };
    let mut changed = plan.request.changed.files().iter();
    let file = changed.find(|file| declares(&file.path))?;
    Some(Obstacle::DeclarationChanged(file.path.clone()))
}

fn base_name(file: &str) -> &[u8] {
    file.rsplit('/').next().unwrap_or(file).as_bytes()
}

fn declared_before(asked: &RequestedNames, facts: &Facts) -> Option<Obstacle> {
    let [_, base] = asked.questions()?;
    let name = asked.names.iter().find(|name| {
        // A goal that is still declared is not the missing one.
        let declares = facts.holds(&base, name.as_bytes()) == Certainty::Yes
            || facts.has_pattern(&base, name.as_bytes());
        declares && !still_declared(asked, facts, name)
    })?;
    Some(Obstacle::DeclaredAtBase(name.clone()))
}

fn still_declared(asked: &RequestedNames, facts: &Facts, name: &str) -> bool {
    let now = asked.now().filter(|_| asked.names.len() > 1);
    now.is_some_and(|now| facts.holds(&now, name.as_bytes()) == Certainty::Yes)
}

/// Files that determine which tests a runner runs.
const TEST_CONFIGURATIONS: &[&str] = &[
    "vitest.config.",
    "vitest.workspace.",
    "jest.config.",
    "playwright.config.",
    ".mocharc.",
    "ava.config.",
    "cypress.config.",
    "pytest.ini",
];

fn changed_tests(plan: &Plan, step: &Step) -> Option<Obstacle> {
    if let Some(reason) = requested_names(step).and_then(|asked| changed_declaration(plan, &asked))
    {
        return Some(reason);
    }
    plan.request.changed.files().iter().find_map(|file| {
        let name = String::from_utf8_lossy(file.path.name()).into_owned();
        if TEST_CONFIGURATIONS.iter().any(|c| name.starts_with(c)) {
            Some(Obstacle::TestConfigurationChanged(file.path.clone()))
        } else if file.status == Status::Deleted && is_test(&file.path, &name) {
            Some(Obstacle::TestDeleted(file.path.clone()))
        } else {
            None
        }
    })
}

fn is_test(path: &RepoPath, name: &str) -> bool {
    let folder = |segment: &[u8]| {
        const FOLDERS: [&[u8]; 6] = [b"test", b"tests", b"__tests__", b"spec", b"specs", b"e2e"];
        FOLDERS.contains(&segment)
    };
    let stem = name.split('.').next().unwrap_or(name);
    path.segments().any(folder)
        || [".test.", ".spec.", ".cy."]
            .iter()
            .any(|mark| name.contains(mark))
        || ["test_", "test-"].iter().any(|mark| stem.starts_with(mark))
        || ["_test", "-test", "_spec"]
            .iter()
            .any(|mark| stem.ends_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::reported_failure;
    use crate::tests::plan_of_lines;
    use crate::{Recovery, recover};
    use FailureCode::{Failed, MissingMakeTarget, MissingScript, NoTestFiles, UnsupportedFormat};
    use vplan_base::change::{ChangeSet, ChangedFile};
    use vplan_base::word::Word;
    use vplan_plan::facts::{FactAnswer, Question};

    /// Returns `rule: dropped`, or all reasons against it.
    fn drop_result(plan: &Plan, failures: &[Failure], facts: &Facts) -> String {
        match recover(plan, failures, facts) {
            Recovery::Rewritten { rewrite, .. } => {
                format!("{}: {}", rewrite.recovery_rule, rewrite.dropped.join(" "))
            }
            Recovery::Refused(refusals) => refusals
                .into_iter()
                .map(|r| r.reason)
                .collect::<Vec<_>>()
                .join("; "),
            Recovery::NotApplicable => "no rule".to_owned(),
        }
    }

    type Edit = fn(&mut Plan);
    const NONE: &str = "no step that verifies something would remain";

    /// Whether a check remains is evaluated for all steps that would be dropped together, and no
    /// others.
    #[test]
    fn what_would_be_dropped_together() {
        let goal = MissingMakeTarget;
        let first = "drop-missing-make-target: command-1";
        for (what, lines, codes, edit, want) in [
            (
                "both",
                ["make x", "make y"],
                [goal, goal],
                (|_| ()) as Edit,
                format!("{NONE}; {NONE}"),
            ),
            (
                "the other fails, and stays",
                ["make x", "cargo test"],
                [goal, Failed],
                |_| (),
                first.to_owned(),
            ),
            (
                "the other is of no rule's code",
                ["make x", "cargo test"],
                [goal, UnsupportedFormat],
                |_| (),
                first.to_owned(),
            ),
            (
                "the other will be split",
                ["make x", "a && b"],
                [goal, UnsupportedFormat],
                |_| (),
                first.to_owned(),
            ),
            (
                "the other goes",
                ["make x", "a | b"],
                [goal, UnsupportedFormat],
                |_| (),
                format!("{NONE}; {NONE}"),
            ),
            (
                "only this rule",
                ["make x", "make y"],
                [goal, goal],
                |p| p.policy.recover = vec!["drop-missing-make-target".into()],
                format!("{NONE}; {NONE}"),
            ),
            (
                "the other's rule is not allowed",
                ["make x", "npm run y"],
                [goal, MissingScript],
                |p| p.policy.recover = vec!["drop-missing-make-target".into()],
                first.to_owned(),
            ),
            (
                "the other is the contract's",
                ["make x", "npm run y"],
                [goal, MissingScript],
                |p| p.steps[1].origin = Origin::Contract,
                first.to_owned(),
            ),
        ] {
            let mut plan = plan_of_lines(&lines);
            edit(&mut plan);
            let failures = [reported_failure(1, codes[0]), reported_failure(2, codes[1])];
            assert_eq!(
                drop_result(&plan, &failures, &Facts::default()),
                want,
                "{what}"
            );
        }
    }

    /// Checks that a needed step stays, so that the other may be dropped, whether or not the others
    /// have been tried.
    #[test]
    fn what_cannot_be_run_does_not_remain() {
        let only_the_first = [reported_failure(1, UnsupportedFormat)];
        let none = Facts::default();
        assert_eq!(
            drop_result(
                &plan_of_lines(&["a | b", "c | d", "e | f"]),
                &only_the_first,
                &none
            ),
            NONE
        );
        for other in ["c && d", "make"] {
            let dropped = drop_result(
                &plan_of_lines(&["a | b", "c | d", other]),
                &only_the_first,
                &none,
            );
            assert_eq!(dropped, "drop-unsupported-format: command-1", "{other}");
        }
    }

    #[test]
    fn what_is_needed_by_what_stays() {
        let mut plan = plan_of_lines(&["make x", "make y", "setup"]);
        plan.steps[2].setup = true;
        let failures = [
            reported_failure(1, MissingMakeTarget),
            reported_failure(2, MissingMakeTarget),
        ];
        assert_eq!(
            drop_result(&plan, &failures, &Facts::default()),
            format!("{NONE}; {NONE}")
        );
        plan.steps[2].needs = vec!["command-1".into()];
        assert_eq!(
            drop_result(&plan, &failures, &Facts::default()),
            "drop-missing-make-target: command-2"
        );
        plan.steps[2].needs = vec!["command-1".into(), "command-2".into()];
        assert_eq!(
            drop_result(&plan, &failures, &Facts::default()),
            "`command-3` needs it; `command-3` needs it"
        );
    }

    #[test]
    fn who_stood_behind_it_stays_behind_its_predecessors() {
        let mut plan = plan_of_lines(&["a", "make x", "b"]);
        plan.steps[1].after = vec!["command-1".into()];
        plan.steps[2].after = vec!["command-2".into()];
        let Recovery::Rewritten { plan, .. } = recover(
            &plan,
            &[reported_failure(2, MissingMakeTarget)],
            &Facts::default(),
        ) else {
            panic!("not repaired");
        };
        assert_eq!(plan.steps[1].after, ["command-1"]);
    }

    fn changed(path: &str, status: Status) -> ChangeSet {
        ChangeSet::new(vec![ChangedFile {
            path: RepoPath::parse(path.as_bytes()).unwrap(),
            status,
        }])
    }

    /// Checks that a change to the file that declares a name, or one that removes tests, does not
    /// lose a check.
    #[test]
    fn changes_that_may_have_broken_it() {
        use Status::{Deleted, Modified};
        for (line, code, file, status, dropped) in [
            ("npm run x", MissingScript, "package.json", Modified, false),
            (
                "npm run x",
                MissingScript,
                "web/package.json",
                Modified,
                true,
            ),
            ("npm run x", MissingScript, "rules.mk", Modified, true),
            // Its directory is unknown: any package.json may be the one.
            (
                "pnpm --filter a run x",
                MissingScript,
                "web/package.json",
                Modified,
                false,
            ),
            (
                "pnpm --filter a run x",
                MissingScript,
                "web/tsconfig.json",
                Modified,
                true,
            ),
            ("make x", MissingMakeTarget, "Makefile", Modified, false),
            ("make x", MissingMakeTarget, "web/Makefile", Modified, true),
            // It may be included.
            ("make x", MissingMakeTarget, "rules.mk", Modified, false),
            ("make x", MissingMakeTarget, "package.json", Modified, true),
            (
                "make -f ci/build.make x",
                MissingMakeTarget,
                "ci/build.make",
                Modified,
                false,
            ),
            (
                "make -C ../up -f ci/build.make x",
                MissingMakeTarget,
                "ci/build.make",
                Modified,
                false,
            ),
            (
                "make -C ../up -f ci/build.make x",
                MissingMakeTarget,
                "ci/other.make",
                Modified,
                true,
            ),
            ("npm test", NoTestFiles, "package.json", Modified, false),
            ("npx vitest", NoTestFiles, "package.json", Modified, true),
            (
                "npx vitest",
                NoTestFiles,
                "vitest.config.ts",
                Modified,
                false,
            ),
            ("npx mocha", NoTestFiles, ".mocharc.yml", Modified, false),
            ("npx vitest", NoTestFiles, "vite.config.ts", Modified, true),
            ("npx vitest", NoTestFiles, "src/a.ts", Deleted, true),
            ("npx vitest", NoTestFiles, "src/a.test.ts", Modified, true),
            ("npx vitest", NoTestFiles, "src/a.test.ts", Deleted, false),
            ("npx vitest", NoTestFiles, "src/a.spec.tsx", Deleted, false),
            ("npx vitest", NoTestFiles, "tests/a.ts", Deleted, false),
            (
                "npx vitest",
                NoTestFiles,
                "src/__tests__/a.ts",
                Deleted,
                false,
            ),
            ("npx vitest", NoTestFiles, "src/latest/a.ts", Deleted, true),
            ("pytest", NoTestFiles, "src/test_a.py", Deleted, false),
            ("pytest", NoTestFiles, "src/a_test.py", Deleted, false),
            ("pytest", NoTestFiles, "src/contest.py", Deleted, true),
        ] {
            let mut plan = plan_of_lines(&[line, "pnpm lint"]);
            plan.request.changed = changed(file, status);
            let got = drop_result(&plan, &[reported_failure(1, code)], &Facts::default());
            assert_eq!(
                got.ends_with(": command-1"),
                dropped,
                "{line}, {file}: {got}"
            );
            assert!(
                dropped || got.contains(&format!("`{file}`")),
                "{line}, {file}: {got}"
            );
        }
    }

    /// Checks that a name that the base revision declares counts as present before the change; of
    /// several goals each is checked.
    #[test]
    fn what_was_declared_before() {
        let declares = |name: &str| format!("the base revision declares `{name}`");
        let gone = || "drop-missing-make-target: command-1".to_owned();
        for (line, now, base, want) in [
            ("make x", &["all"][..], &["all"][..], gone()),
            ("make x", &["all"], &["all", "x"], declares("x")),
            // The caller's code is trusted.
            ("make x", &["x"], &["x"], declares("x")),
            ("make x y", &["x"], &["x"], gone()),
            ("make x y", &["x"], &["x", "y"], declares("y")),
            ("make x y", &[], &["x", "y"], declares("x")),
        ] {
            let list =
                |names: &[&str]| FactAnswer::List(names.iter().map(|n| Word::from(*n)).collect());
            let mut facts = Facts::default();
            facts.add(Question::MakeTargets(RepoPath::root()), list(now));
            facts.add(Question::BaseMakeTargets(RepoPath::root()), list(base));
            let plan = plan_of_lines(&[line, "pnpm lint"]);
            assert_eq!(
                drop_result(&plan, &[reported_failure(1, MissingMakeTarget)], &facts),
                want,
                "{line} {now:?} {base:?}"
            );
        }
    }
}
