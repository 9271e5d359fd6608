//! Tests of the verdict and its exit code: the truth tables.

use super::*;
use crate::arbitrary::{Behaviour, Case, Finish, Incidents, plan, play, step};
use vplan_plan::Omitted;
use vplan_plan::caveat::{Code, Effect};

/// Makes a step by its name: the verb or a setting, then what it does.
fn step_by_name(name: &str) -> (Step, Vec<Behaviour>) {
    let mut step = step(name);
    let quick = |finish| Behaviour {
        duration_ms: 1,
        finish,
        stop_ms: Some(1),
    };
    let mut tries = vec![quick(Finish::Exit(if name.ends_with("fail") { 1 } else { 0 })); 2];
    step.kind = match name.split('-').next() {
        Some("compile") => Kind::Compile,
        Some("test") => Kind::Test,
        Some("lint") => Kind::Lint,
        Some("judge") => Kind::Judge,
        _ => Kind::Run,
    };
    match name.split('-').next() {
        Some("setup") => step.setup = true,
        Some("warning") => step.severity = Severity::Warning,
        Some("always") => step.always = true,
        Some("after") => step.needs = vec!["missing".to_owned()],
        Some("missing") => {
            tries = vec![Behaviour {
                duration_ms: 0,
                ..quick(Finish::NoProgram)
            }]
        }
        Some("lost") => tries = vec![quick(Finish::Lost)],
        Some("skip") => {
            step.skip_exit = vec![77];
            tries = vec![quick(Finish::Exit(77))];
        }
        Some("slow") => {
            step.timeout_ms = 300;
            tries = vec![Behaviour {
                duration_ms: 5000,
                ..quick(Finish::Exit(0))
            }];
        }
        Some("long") => {
            tries = vec![Behaviour {
                duration_ms: 5000,
                ..quick(Finish::Exit(0))
            }]
        }
        Some("flaky") => {
            step.retries = 1;
            tries = vec![quick(Finish::Exit(1)), quick(Finish::Exit(0))];
        }
        _ => {}
    }
    (step, tries)
}

fn run(
    names: &str,
    fail_fast: bool,
    budget_ms: Option<u64>,
    interrupts: &[(u64, Interrupt)],
) -> (Plan, Judgement, String) {
    let (steps, script): (Vec<Step>, Vec<Vec<Behaviour>>) =
        names.split_whitespace().map(step_by_name).unzip();
    let mut plan = plan(steps);
    plan.policy.fail_fast = fail_fast;
    plan.policy.budget_ms = budget_ms;
    let case = Case {
        plan: plan.clone(),
        script,
    };
    let incidents = Incidents {
        interrupts: interrupts.to_vec(),
        record_fails: None,
    };
    let played = play(&case, &incidents, &mut |_| 1).unwrap();
    let judgement = judge(
        &plan,
        &played.records,
        &played.ending,
        &RunFacts::default(),
        Require::default(),
    );
    let word = |r: &StepRecord| match r.reason {
        Some(reason) if r.status == Status::NotRun => format!("not_run({})", reason.name()),
        _ => r.status.name().to_owned(),
    };
    (
        plan,
        judgement,
        played
            .records
            .iter()
            .map(word)
            .collect::<Vec<_>>()
            .join(" "),
    )
}

#[test]
fn verdicts_and_exit_codes() {
    let go = true;
    for (names, keep_going, code, verdict, statuses) in [
        ("ok", !go, 0, "passed", "passed"),
        ("run-fail", !go, 40, "failed", "failed"),
        ("compile-fail", !go, 41, "failed", "failed"),
        ("test-fail", !go, 42, "failed", "failed"),
        ("lint-fail", !go, 40, "failed", "failed"),
        ("slow", !go, 43, "timed_out", "timed_out"),
        ("missing", !go, 5, "errored", "errored"),
        ("lost", !go, 40, "errored", "errored"),
        ("setup-fail", !go, 5, "failed", "failed"),
        ("setup-ok", !go, 44, "incomplete", "passed"),
        ("warning-ok", !go, 44, "incomplete", "passed"),
        ("judge-none", !go, 44, "incomplete", "skipped"),
        ("skip-code", !go, 44, "incomplete", "skipped"),
        ("skip-code ok", !go, 0, "passed", "skipped passed"),
        ("flaky", !go, 0, "passed", "flaky"),
        ("warning-fail ok", !go, 0, "passed", "failed passed"),
        (
            "ok run-fail ok2",
            !go,
            40,
            "failed",
            "passed failed not_run(fail_fast)",
        ),
        (
            "slow test-fail",
            !go,
            43,
            "timed_out",
            "timed_out not_run(fail_fast)",
        ),
        ("slow test-fail", go, 42, "timed_out", "timed_out failed"),
        ("test-fail lint-fail", go, 42, "failed", "failed failed"),
        ("lint-fail test-fail", go, 42, "failed", "failed failed"),
        ("test-fail compile-fail", go, 41, "failed", "failed failed"),
        ("missing run-fail", go, 40, "errored", "errored failed"),
        ("missing slow", go, 43, "errored", "errored timed_out"),
        ("ok missing ok2", go, 5, "errored", "passed errored passed"),
        ("warning-fail missing", go, 5, "errored", "failed errored"),
        (
            "missing after-missing",
            go,
            5,
            "errored",
            "errored not_run(needs)",
        ),
        (
            "run-fail ok always",
            !go,
            40,
            "failed",
            "failed not_run(fail_fast) passed",
        ),
        ("setup-fail test-fail", go, 42, "failed", "failed failed"),
        ("judge-none run-fail", !go, 40, "failed", "skipped failed"),
    ] {
        let (_, judgement, said) = run(names, !keep_going, None, &[]);
        assert_eq!(
            (
                judgement.exit.code(),
                judgement.verdict.name(),
                said.as_str()
            ),
            (code, verdict, statuses),
            "{names}"
        );
    }
}

#[test]
fn budgets_and_signals() {
    let int = (100, Interrupt::Int);
    let term = (100, Interrupt::Term);
    let again = (101, Interrupt::Term);
    for (names, budget, interrupts, code, verdict, statuses) in [
        (
            "long after",
            Some(700),
            vec![],
            43,
            "incomplete",
            "timed_out not_run(budget)",
        ),
        (
            "slow ok",
            Some(700),
            vec![],
            43,
            "timed_out",
            "timed_out passed",
        ),
        (
            "test-fail long ok",
            Some(700),
            vec![],
            43,
            "failed",
            "failed timed_out not_run(budget)",
        ),
        (
            "long ok always",
            Some(700),
            vec![],
            43,
            "incomplete",
            "timed_out not_run(budget) passed",
        ),
        (
            "ok long ok2",
            None,
            vec![int],
            130,
            "cancelled",
            "passed not_run(cancelled) not_run(cancelled)",
        ),
        (
            "long always",
            None,
            vec![term],
            143,
            "cancelled",
            "not_run(cancelled) passed",
        ),
        (
            "long always",
            None,
            vec![int, again],
            130,
            "cancelled",
            "not_run(cancelled) not_run(cancelled)",
        ),
        (
            "compile-fail long",
            Some(700),
            vec![int],
            130,
            "cancelled",
            "failed not_run(cancelled)",
        ),
        ("ok", None, vec![int], 0, "passed", "passed"),
    ] {
        let names = names.replace("after", "ok");
        let (_, judgement, said) = run(&names, false, budget, &interrupts);
        assert_eq!(
            (
                judgement.exit.code(),
                judgement.verdict.name(),
                said.as_str()
            ),
            (code, verdict, statuses),
            "{names}"
        );
    }
}

#[test]
fn nothing_to_verify_and_what_is_required() {
    let omitted = |narrows| Omitted {
        each: Default::default(),
        file: None,
        id: "a".into(),
        line: None,
        narrows,
        reason: "waived".into(),
        reasons: Vec::new(),
    };
    let mut empty = plan(Vec::new());
    let ending = StateEnding::default();
    let (full, some) = (
        Require {
            full: true,
            some: false,
        },
        Require {
            full: false,
            some: true,
        },
    );
    let judged = |plan: &Plan, require| {
        let judgement = judge(plan, &[], &ending, &RunFacts::default(), require);
        (judgement.verdict, judgement.coverage, judgement.exit.code())
    };
    assert_eq!(
        judged(&empty, Require::default()),
        (Verdict::Incomplete, Coverage::Full, 44),
        "a contract without checks"
    );
    empty.omitted = vec![omitted(false)];
    assert_eq!(
        judged(&empty, Require::default()),
        (Verdict::NothingToVerify, Coverage::Full, 0)
    );
    assert_eq!(
        judged(&empty, some),
        (Verdict::NothingToVerify, Coverage::Full, 44)
    );
    assert_eq!(
        judged(&empty, full).2,
        0,
        "a condition that does not hold narrows nothing"
    );
    empty.request.only = vec!["a".to_owned()];
    assert_eq!(
        judged(&empty, full),
        (Verdict::NothingToVerify, Coverage::Narrowed, 44)
    );
    empty.request.only.clear();
    empty.omitted = vec![omitted(true)];
    assert_eq!(
        judged(&empty, full),
        (Verdict::NothingToVerify, Coverage::Narrowed, 44)
    );
    empty.contract = None;
    assert_eq!(
        judged(&empty, Require::default()).0,
        Verdict::Incomplete,
        "nobody said that there is nothing"
    );
    let (plan, _, _) = run("ok", true, None, &[]);
    let refused = crate::report::refused(&plan);
    let judgement = judge(
        &plan,
        &refused,
        &ending,
        &RunFacts {
            violations: &["`x` is outside".to_owned()],
            ..RunFacts::default()
        },
        Require::default(),
    );
    assert_eq!(
        (judgement.verdict, judgement.exit),
        (Verdict::Failed, Exit::Failed)
    );
}

fn record(step: &Step, status: Status, cause: Option<Cause>, detail: Option<&str>) -> StepRecord {
    StepRecord::without_evidence(
        step,
        vplan_check::outcome::Outcome {
            cause,
            detail: detail.map(Into::into),
            status,
        },
    )
}

/// Checks the reasons for people, and the requirements, by the results of `a` and of `b`.
#[test]
fn reasons_and_requirements() {
    let three = plan(vec![step("a"), step("b")]);
    let (any, full) = (
        Require::default(),
        Require {
            full: true,
            some: false,
        },
    );
    let passed = (Status::Passed, None, None);
    let skipped = (Status::Skipped, Some(Cause::SkipExit), Some("why"));
    for (a, b, require, code, verdict, coverage, reason) in [
        (passed, passed, any, 0, "passed", Coverage::Full, None),
        (passed, passed, full, 0, "passed", Coverage::Full, None),
        (passed, skipped, any, 0, "passed", Coverage::Narrowed, None),
        (
            passed,
            skipped,
            full,
            44,
            "passed",
            Coverage::Narrowed,
            Some("full coverage was required"),
        ),
        (
            (Status::Failed, None, None),
            skipped,
            full,
            40,
            "failed",
            Coverage::Narrowed,
            Some("`a` failed"),
        ),
        (
            (Status::Failed, None, Some("d")),
            passed,
            any,
            40,
            "failed",
            Coverage::Full,
            Some("`a` failed: d"),
        ),
        (
            passed,
            (Status::Errored, None, None),
            any,
            40,
            "errored",
            Coverage::Full,
            Some("`b` could not be run"),
        ),
        (
            passed,
            (Status::TimedOut, None, None),
            any,
            43,
            "timed_out",
            Coverage::Full,
            Some("`b` timed out"),
        ),
        (
            passed,
            (Status::NotRun, Some(Cause::Shard), None),
            any,
            44,
            "incomplete",
            Coverage::Full,
            Some("`b` did not run"),
        ),
        (
            passed,
            (Status::Skipped, Some(Cause::NoJudge), None),
            any,
            44,
            "incomplete",
            Coverage::Narrowed,
            Some("`b` was skipped"),
        ),
        // The record alone shows that the budget was used up, whatever the end of the run reports.
        (
            passed,
            (Status::TimedOut, Some(Cause::Budget), None),
            any,
            43,
            "incomplete",
            Coverage::Full,
            Some("the budget was used up"),
        ),
    ] {
        let outcomes = three.steps.iter().zip([a, b]);
        let records: Vec<StepRecord> = outcomes
            .map(|(s, (status, cause, said))| record(s, status, cause, said))
            .collect();
        let judged = judge(
            &three,
            &records,
            &StateEnding::default(),
            &RunFacts::default(),
            require,
        );
        let got = (
            judged.exit.code(),
            judged.verdict.name(),
            judged.coverage,
            judged.reason.as_deref(),
        );
        assert_eq!(got, (code, verdict, coverage, reason), "{a:?} {b:?}");
    }
    // A step without a record, and an end that alone shows that the budget was used up.
    let some = [record(&three.steps[0], Status::Passed, None, None)];
    let judged = judge(
        &three,
        &some,
        &StateEnding::default(),
        &RunFacts::default(),
        any,
    );
    assert_eq!(
        (judged.verdict, judged.reason.as_deref()),
        (Verdict::Incomplete, Some("`b` did not run"))
    );
    let ending = StateEnding {
        budget_used: true,
        ..StateEnding::default()
    };
    let both: Vec<StepRecord> = three
        .steps
        .iter()
        .map(|s| record(s, Status::Passed, None, None))
        .collect();
    let judged = judge(&three, &both, &ending, &RunFacts::default(), any);
    assert_eq!(
        (judged.verdict, judged.exit),
        (Verdict::Incomplete, Exit::Time)
    );
}

#[test]
fn what_narrows() {
    let judged = |plan: &Plan, status| {
        let records: Vec<StepRecord> = plan
            .steps
            .iter()
            .map(|s| record(s, status, None, None))
            .collect();
        judge(
            plan,
            &records,
            &StateEnding::default(),
            &RunFacts::default(),
            Require::default(),
        )
        .coverage
    };
    let mut one = plan(vec![step("a")]);
    assert_eq!(judged(&one, Status::Passed), Coverage::Full);
    assert_eq!(judged(&one, Status::Skipped), Coverage::Narrowed);
    let rewrite = |coverage| vplan_plan::Rewrite {
        coverage,
        dropped: Vec::new(),
        evidence: None,
        next_commands: Vec::new(),
        next_digest: None,
        previous_commands: Vec::new(),
        previous_digest: None,
        reason: "r".into(),
        recovery_rule: "r".into(),
    };
    one.rewrites = vec![rewrite(Coverage::Full)];
    assert_eq!(judged(&one, Status::Passed), Coverage::Full);
    one.rewrites.push(rewrite(Coverage::Narrowed));
    assert_eq!(judged(&one, Status::Passed), Coverage::Narrowed);
    let mut setup = plan(vec![step("a")]);
    setup.steps[0].setup = true;
    assert_eq!(
        judged(&setup, Status::Skipped),
        Coverage::Full,
        "what only prepares verifies nothing that could be missing"
    );
}

#[test]
fn a_share_and_a_mode_without_checks_say_so() {
    let some = Require {
        full: false,
        some: true,
    };
    let ending = StateEnding::default();
    let mut off = plan(Vec::new());
    off.omitted = vec![Omitted {
        each: Default::default(),
        file: None,
        id: "a".into(),
        line: None,
        narrows: false,
        reason: "r".into(),
        reasons: Vec::new(),
    }];
    let said = |plan: &Plan, require| {
        judge(plan, &[], &ending, &RunFacts::default(), require)
            .reason
            .unwrap()
    };
    assert_eq!(
        said(&off, Require::default()),
        "each check of the contract was left out"
    );
    assert_eq!(
        said(&off, some),
        "each check of the contract was left out; something was required to be verified"
    );
    off.request.mode = Mode::Off;
    assert_eq!(
        said(&off, Require::default()),
        "mode is off: nothing was verified"
    );
    // Other shares have the checks that count.
    let one = plan(vec![step("a")]);
    let mut only_setup = one.clone();
    only_setup.steps[0].setup = true;
    let share = |plan: &Plan, status| {
        let records = [record(&plan.steps[0], status, None, None)];
        let also = RunFacts {
            part: Some("share 1 of 2"),
            ..RunFacts::default()
        };
        let judged = judge(plan, &records, &ending, &also, some);
        (judged.verdict, judged.exit.code(), judged.reason)
    };
    assert_eq!(share(&one, Status::Passed), (Verdict::Passed, 0, None));
    let reason = "share 1 of 2 has no check of its own that counts: it verified nothing".to_owned();
    assert_eq!(
        share(&only_setup, Status::Passed),
        (Verdict::NothingToVerify, 0, Some(reason))
    );
    assert_eq!(
        share(&only_setup, Status::Failed),
        (Verdict::Failed, 5, Some("`a` failed".to_owned()))
    );
}

#[test]
fn a_caveat_can_fail_what_would_be_a_pass() {
    let plan = plan(vec![step("a"), step("b")]);
    let judged = |status, effects: &[Effect]| {
        let statuses = [status, Status::Passed];
        let steps = plan.steps.iter().zip(statuses);
        let records: Vec<_> = steps
            .map(|(s, status)| record(s, status, None, None))
            .collect();
        let caveats = effects.iter().map(|effect| {
            let code = Code::DeniedFindings;
            Caveat::new(code, *effect, format!("{effect:?}"))
        });
        let caveats: Vec<_> = caveats.collect();
        let also = RunFacts {
            caveats: &caveats,
            ..RunFacts::default()
        };
        let judged = judge(
            &plan,
            &records,
            &StateEnding::default(),
            &also,
            Require::default(),
        );
        (judged.verdict, judged.exit.code(), judged.reason)
    };
    use Effect::{Fails, Incomplete, Note};
    let failed = (Verdict::Failed, 40, Some("Fails".to_owned()));
    assert_eq!(judged(Status::Passed, &[Note, Fails]), failed);
    assert_eq!(judged(Status::Passed, &[Incomplete, Fails]), failed);
    let own = judged(Status::Failed, &[Fails]);
    assert_eq!(own.2.as_deref(), Some("`a` failed"));
}
