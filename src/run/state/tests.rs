//! Tests of the runner's state machine.

use super::*;
use vplan_arbitrary::made::{plan, step};
use vplan_check::evidence::{EarlierPass, Evidence};

fn ended(step: usize, at: u64, exit: i32) -> Event {
    let evidence = Box::new(Evidence {
        duration_ms: 1,
        exit: Some(exit),
        ..Evidence::default()
    });
    Event::Finished {
        step: nth(step),
        attempt: 1,
        at,
        evidence,
    }
}

fn nth(step: usize) -> StepIndex {
    StepIndex::new(step)
}

fn spawn(step: usize, limit_ms: u64) -> Action {
    Action::Spawn {
        step: nth(step),
        attempt: 1,
        limit_ms,
        elsewhere: false,
    }
}

fn begin(jobs: u32, budget_ms: Option<u64>, names: &[&str]) -> (RunState, Vec<Action>) {
    let mut plan = plan(names.iter().map(|n| step(n)).collect());
    plan.policy.jobs = jobs.into();
    plan.policy.budget_ms = budget_ms;
    RunState::new(Arc::new(plan), BTreeMap::new(), 0)
}

#[test]
fn one_after_another_without_waiting() {
    let (mut state, actions) = begin(1, None, &["a", "b"]);
    assert_eq!(actions, [spawn(0, 60_000), Action::WakeAt { at: 60_001 }]);
    assert_eq!(
        state.handle(ended(0, 5, 0)),
        [spawn(1, 60_000), Action::WakeAt { at: 60_006 }]
    );
    assert_eq!(
        state.provisional_outcome(nth(0)).map(|o| o.status),
        Some(Status::Passed)
    );
    assert_eq!(state.provisional_outcome(nth(1)), None);
    assert_eq!(
        (state.drain_finished(), state.drain_finished()),
        (vec![nth(0)], vec![]),
        "each is told once"
    );
    assert_eq!(state.handle(ended(1, 6, 0)), [Action::Done]);
    assert_eq!(state.drain_finished(), [nth(1)]);
    assert_eq!(
        state.handle(Event::Time { at: 7 }),
        [],
        "nothing after the end"
    );
    assert_eq!(
        state.ending(),
        StateEnding {
            duration_ms: 6,
            ..StateEnding::default()
        }
    );
}

#[test]
fn side_by_side_a_place_is_given_away_when_the_millisecond_is_over() {
    let (mut state, actions) = begin(2, None, &["a", "b", "c"]);
    assert_eq!(
        actions,
        [
            spawn(0, 60_000),
            spawn(1, 60_000),
            Action::WakeAt { at: 60_001 }
        ]
    );
    assert_eq!(state.handle(ended(1, 5, 0)), [Action::WakeAt { at: 6 }]);
    assert_eq!(
        state.handle(Event::Time { at: 6 }),
        [spawn(2, 60_000), Action::WakeAt { at: 60_001 }]
    );
}

#[test]
fn a_moment_is_over_when_the_world_says_so() {
    let (mut state, _) = begin(2, None, &["a", "b", "c", "d"]);
    let wait = [Action::WakeAt { at: 6 }];
    assert_eq!(
        state.handle(ended(1, 5, 0)),
        wait,
        "another may end in the same moment"
    );
    assert_eq!(state.handle(Event::Time { at: 5 }), wait);
    let told = Event::InstantComplete { at: 5 };
    assert_eq!(
        state.handle(told.clone()),
        [spawn(2, 60_000), Action::WakeAt { at: 60_001 }]
    );
    assert_eq!(
        state.handle(told),
        [Action::WakeAt { at: 60_001 }],
        "nothing is free"
    );
    // A step that ends before the moment is over does not take its own place.
    assert_eq!(state.handle(ended(2, 5, 0)), [Action::WakeAt { at: 6 }]);
    assert_eq!(
        state.handle(Event::InstantComplete { at: 7 }),
        [spawn(3, 60_000), Action::WakeAt { at: 60_001 }]
    );
}

#[test]
fn a_failure_discards_what_runs_behind_it_and_awaits_what_runs_before_it() {
    let (mut state, _) = begin(3, None, &["a", "b", "c"]);
    let actions = state.handle(ended(1, 5, 1));
    assert_eq!(
        actions.first(),
        Some(&Action::Terminate {
            step: nth(2),
            timed_out: false
        })
    );
    assert!(
        !actions
            .iter()
            .any(|a| matches!(a, Action::Terminate { step, .. } if *step == nth(0)))
    );
    state.handle(ended(2, 6, 0));
    assert_eq!(state.handle(ended(0, 9, 0)), [Action::Done]);
    let reasons: Vec<_> = state
        .records()
        .iter()
        .map(|r| (r.status, r.reason))
        .collect();
    let failed = (Status::Failed, Some(Cause::ExitCode));
    assert_eq!(
        reasons,
        [
            (Status::Passed, None),
            failed,
            (Status::NotRun, Some(Cause::FailFast))
        ]
    );
}

#[test]
fn limits_are_the_lesser_of_two_and_are_enforced_step_by_step() {
    let (mut state, actions) = begin(1, Some(700), &["a", "b"]);
    assert_eq!(actions, [spawn(0, 700), Action::WakeAt { at: 701 }]);
    assert_eq!(
        state.handle(Event::Time { at: 700 }),
        [Action::WakeAt { at: 701 }],
        "just in time is in time"
    );
    let stop = Action::Terminate {
        step: nth(0),
        timed_out: true,
    };
    assert_eq!(
        state.handle(Event::Time { at: 701 }),
        [stop, Action::WakeAt { at: 1702 }]
    );
    let kill = Action::Kill {
        step: nth(0),
        timed_out: true,
    };
    assert_eq!(
        state.handle(Event::Time { at: 1702 }),
        [kill],
        "and then there is nothing but its end to wait for"
    );
    let evidence = Evidence {
        duration_ms: 1702,
        timed_out: true,
        ..Evidence::default()
    };
    let end = Event::Finished {
        step: nth(0),
        attempt: 1,
        at: 1703,
        evidence: Box::new(evidence),
    };
    assert_eq!(state.handle(end), [Action::Done]);
    let reasons: Vec<_> = state
        .records()
        .iter()
        .map(|r| (r.status, r.reason))
        .collect();
    assert_eq!(
        reasons,
        [
            (Status::TimedOut, Some(Cause::Budget)),
            (Status::NotRun, Some(Cause::Budget))
        ]
    );
    assert!(state.ending().budget_used);
}

#[test]
fn evidence_from_before_a_rewrite_stays() {
    let plan = plan(vec![step("a"), step("b")]);
    let passed = StepRecord::without_evidence(&plan.steps[0], Outcome::PASSED);
    let kept = BTreeMap::from([("a".to_owned(), passed.clone())]);
    let (mut state, actions) = RunState::new(Arc::new(plan), kept, 40);
    assert_eq!(actions, [spawn(1, 60_000), Action::WakeAt { at: 60_041 }]);
    assert_eq!(state.handle(ended(1, 50, 0)), [Action::Done]);
    assert_eq!(state.drain_finished(), [nth(1)]);
    assert_eq!(state.records().first(), Some(&passed));
}

#[test]
fn an_earlier_pass_stands_for_a_step() {
    let mut plan = plan(vec![step("a"), step("b")]);
    plan.steps[1].needs = vec!["a".into()];
    let (mut state, _) = RunState::new(Arc::new(plan), BTreeMap::new(), 0);
    let earlier = EarlierPass {
        exit_code: Some(0),
        run_id: "r".to_owned(),
        ..EarlierPass::default()
    };
    let evidence = Box::new(Evidence {
        earlier: Some(Box::new(earlier.clone())),
        ..Evidence::default()
    });
    let found = Event::Finished {
        step: nth(0),
        attempt: 1,
        at: 3,
        evidence,
    };
    assert_eq!(
        state.handle(found),
        [spawn(1, 60_000), Action::WakeAt { at: 60_004 }],
        "it satisfies `needs`"
    );
    assert_eq!(state.handle(ended(1, 5, 0)), [Action::Done]);
    let records = state.records();
    let cached = &records[0];
    assert_eq!(
        (cached.status, cached.reason),
        (Status::Cached, Some(Cause::SameInputs))
    );
    assert_eq!(
        (cached.tries, cached.duration_ms, cached.exit_code),
        (0, 0, Some(0))
    );
    assert_eq!(cached.cached_from.as_deref(), Some(&earlier));
}

#[test]
fn looking_at_files_is_not_the_time_of_a_step() {
    let (mut state, _) = begin(1, Some(70_000), &["a"]);
    let began = Event::Began {
        step: nth(0),
        attempt: 1,
        at: 20_000,
    };
    assert_eq!(
        state.handle(began),
        [Action::WakeAt { at: 70_001 }],
        "the budget goes on"
    );
    assert_eq!(
        state.handle(Event::Time { at: 60_001 }),
        [Action::WakeAt { at: 70_001 }],
        "its own limit does not"
    );
    let (mut state, _) = begin(1, None, &["a"]);
    let other = Event::Began {
        step: nth(0),
        attempt: 2,
        at: 20_000,
    };
    assert_eq!(
        state.handle(other),
        [Action::WakeAt { at: 60_001 }],
        "a try that there is not"
    );
}

#[test]
fn an_empty_plan_is_done_at_once() {
    let (state, actions) = begin(1, None, &[]);
    assert_eq!(actions, [Action::Done]);
    assert!(state.is_done());
}

#[test]
fn strange_events_change_nothing() {
    let (mut state, _) = begin(1, None, &["a", "b"]);
    let wake = [Action::WakeAt { at: 60_001 }];
    assert_eq!(
        state.handle(ended(1, 1, 1)),
        wake,
        "a step that does not run"
    );
    let other = Event::Finished {
        step: nth(0),
        attempt: 2,
        at: 1,
        evidence: Box::default(),
    };
    assert_eq!(state.handle(other), wake, "a try that there is not");
}

#[test]
#[should_panic(expected = "a bug in vplan: step")]
fn a_step_that_the_plan_does_not_have_is_a_bug() {
    let (mut state, _) = begin(1, None, &["a", "b"]);
    state.handle(ended(2, 1, 0));
}

#[test]
#[should_panic(expected = "a bug in vplan: a step waits for one that is not before it")]
fn a_need_that_is_not_in_the_plan_is_not_forgotten() {
    let mut plan = plan(vec![step("a"), step("b")]);
    plan.steps[1].needs = vec!["z".into()];
    let _ = RunState::new(Arc::new(plan), BTreeMap::new(), 0);
}

#[test]
#[should_panic(expected = "a bug in vplan: two steps of a plan have one id")]
fn two_steps_do_not_share_a_result() {
    let plan = plan(vec![step("a"), step("a")]);
    let _ = RunState::new(Arc::new(plan), BTreeMap::new(), 0);
}
