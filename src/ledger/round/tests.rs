//! Tests of the effect of a round on a ledger, case by case.

use super::*;
use crate::Contents;
use crate::undone::Trace;
use vplan_run::verdict::Verdict;

fn contents(what: &str) -> Contents {
    Contents {
        digest: Digest::hash(what.as_bytes()),
        files: 1,
    }
}

fn terms(confirmations: u32, retries: u32, exhausted: Exhausted) -> Terms {
    Terms {
        confirmations,
        exhausted,
        propagate: Propagate::Downgrade,
        retries,
        same_failure: 4,
    }
}

fn red(of: &str) -> RoundResult {
    RoundResult::Run {
        exit: 40,
        run_id: "r".into(),
        signature: Some(Digest::hash(of.as_bytes())),
        status: None,
        verdict: Verdict::Failed,
    }
}

fn green(status: Option<Status>) -> RoundResult {
    RoundResult::Run {
        exit: 0,
        run_id: "r".into(),
        signature: None,
        status,
        verdict: Verdict::Passed,
    }
}

/// Plays rounds of `S` and returns decision, exit code, attempt and retries left of each.
fn play(terms: &Terms, rounds: &[(RoundResult, u64)]) -> Vec<(Decision, u8, u32, u32)> {
    let mut ledger = Ledger::default();
    let mut seen = Vec::new();
    for (said, files) in rounds {
        let exit = if let RoundResult::Run { exit, .. } = said {
            *exit
        } else {
            0
        };
        let changed = RoundChange::Files(*files);
        let round = Round {
            about: SubjectRequest::default(),
            changed,
            contents: contents("x"),
            ended_at: "",
            result: said.clone(),
            subject: "S",
        };
        let (next, recorded) = record(&ledger, terms, &round);
        seen.push((
            recorded.decision,
            recorded.exit(exit),
            recorded.attempt,
            recorded.retries_remaining,
        ));
        ledger = next;
    }
    seen
}

#[test]
fn retries() {
    use Decision::{Advance, Complete, Escalate, Fail, Retry};
    let hand = RoundResult::ByHand;
    for (name, terms, rounds, want) in [
        (
            "one retry",
            terms(1, 1, Exhausted::Fail),
            vec![(red("a"), 1), (red("b"), 1), (red("c"), 1)],
            vec![(Retry, 40, 1, 1), (Fail, 21, 2, 0), (Retry, 40, 1, 1)],
        ),
        (
            "given up: what failed before stays so, what is new counts anew, and comes to an end",
            terms(1, 1, Exhausted::Fail),
            vec![
                (red("a"), 1),
                (red("b"), 1),
                (red("a"), 0),
                (red("c"), 1),
                (red("a"), 1),
                (red("b"), 1),
                (red("c"), 1),
            ],
            vec![
                (Retry, 40, 1, 1),
                (Fail, 21, 2, 0),
                (Fail, 21, 3, 0),
                (Retry, 40, 1, 1),
                (Fail, 21, 2, 0),
                (Fail, 21, 3, 0),
                (Fail, 21, 4, 0),
            ],
        ),
        (
            "used up and the same failure: what the gate says of used-up retries",
            terms(1, 3, Exhausted::Fail),
            vec![(red("a"), 1), (red("a"), 0), (red("a"), 0), (red("a"), 0)],
            vec![
                (Retry, 40, 1, 3),
                (Retry, 40, 2, 2),
                (Retry, 40, 3, 1),
                (Fail, 21, 4, 0),
            ],
        ),
        (
            "a pass gives them back",
            terms(1, 1, Exhausted::Fail),
            vec![
                (red("a"), 1),
                (green(None), 1),
                (red("b"), 1),
                (red("c"), 0),
            ],
            vec![
                (Retry, 40, 1, 1),
                (Complete, 0, 2, 0),
                (Retry, 40, 1, 1),
                (Fail, 21, 2, 0),
            ],
        ),
        (
            "none",
            terms(1, 0, Exhausted::Escalate),
            vec![(red("a"), 1)],
            vec![(Escalate, 22, 1, 0)],
        ),
        (
            "allowed",
            terms(1, 0, Exhausted::Allow),
            vec![(red("a"), 1)],
            vec![(Advance, 44, 1, 0)],
        ),
        (
            "four times the same, the others used up nothing new",
            terms(1, 9, Exhausted::Fail),
            vec![
                (red("a"), 1),
                (red("a"), 0),
                (hand(Status::Continue), 1),
                (red("a"), 1),
                (red("a"), 1),
            ],
            vec![
                (Retry, 40, 1, 9),
                (Retry, 40, 2, 8),
                (Retry, 20, 3, 7),
                (Retry, 40, 3, 7),
                (Escalate, 22, 4, 6),
            ],
        ),
        (
            "another failure between begins anew",
            terms(1, 9, Exhausted::Fail),
            vec![
                (red("a"), 1),
                (red("a"), 1),
                (red("a"), 1),
                (red("b"), 1),
                (red("a"), 1),
            ],
            vec![
                (Retry, 40, 1, 9),
                (Retry, 40, 2, 8),
                (Retry, 40, 3, 7),
                (Retry, 40, 4, 6),
                (Retry, 40, 5, 5),
            ],
        ),
        (
            "by hand only what changed nothing uses one up",
            terms(1, 1, Exhausted::Fail),
            vec![
                (hand(Status::Continue), 1),
                (hand(Status::Rotate), 0),
                (hand(Status::Continue), 0),
            ],
            vec![(Retry, 20, 1, 1), (Retry, 20, 1, 1), (Fail, 21, 2, 0)],
        ),
        (
            "a pass whose caller says that there is more to do",
            terms(1, 1, Exhausted::Fail),
            vec![
                (green(Some(Status::Continue)), 1),
                (green(Some(Status::Done)), 0),
            ],
            vec![(Retry, 20, 1, 1), (Complete, 0, 1, 1)],
        ),
        (
            "stuck goes before everything",
            terms(3, 0, Exhausted::Allow),
            vec![(green(Some(Status::Stuck)), 0), (hand(Status::Stuck), 0)],
            vec![(Escalate, 22, 1, 0), (Escalate, 22, 2, 0)],
        ),
    ] {
        assert_eq!(play(&terms, &rounds), want, "{name}");
    }
}

#[test]
fn a_pass_that_is_not_accepted_confirms_nothing() {
    let narrowed = |exit| RoundResult::Run {
        exit,
        run_id: "r".into(),
        signature: None,
        status: Some(Status::Done),
        verdict: Verdict::Passed,
    };
    let terms = terms(2, 3, Exhausted::Fail);
    assert_eq!(
        play(&terms, &[(narrowed(0), 0)]),
        [(Decision::Reverify, 20, 1, 3)]
    );
    assert_eq!(
        play(&terms, &[(narrowed(44), 0)]),
        [(Decision::Retry, 44, 1, 3)]
    );
}

/// Checks that a claim neither completes nor confirms, and returns no retries, if a run was a round
/// or could be one.
#[test]
fn a_word_is_no_evidence() {
    use Decision::{Complete, Fail, Retry, Reverify};
    let done = || RoundResult::ByHand(Status::Done);
    for (name, n, rounds, want) in [
        (
            "after a failure",
            1,
            vec![(red("a"), 1), (done(), 0)],
            (Retry, 20, 2, 2),
        ),
        (
            "with a change",
            1,
            vec![(red("a"), 1), (done(), 1)],
            (Retry, 20, 2, 2),
        ),
        (
            "for a confirmation",
            2,
            vec![(green(None), 1), (done(), 0)],
            (Reverify, 20, 1, 3),
        ),
        (
            "of what is complete",
            1,
            vec![(green(None), 1), (done(), 0)],
            (Complete, 0, 1, 3),
        ),
        (
            "given up",
            1,
            vec![
                (red("a"), 1),
                (red("b"), 1),
                (red("c"), 1),
                (red("d"), 1),
                (done(), 0),
            ],
            (Fail, 21, 5, 0),
        ),
        (
            "before the first run",
            2,
            vec![(done(), 0), (done(), 0), (green(None), 0)],
            (Reverify, 20, 1, 3),
        ),
    ] {
        assert_eq!(
            play(&terms(n, 3, Exhausted::Fail), &rounds).last(),
            Some(&want),
            "{name}"
        );
    }
}

#[test]
fn a_word_that_nothing_changed_is_not_believed_of_what_runs_verify() {
    let terms = terms(3, 3, Exhausted::Fail);
    let round = |ledger: &Ledger, subject, result: RoundResult, changed, what| {
        let (about, contents) = (SubjectRequest::default(), contents(what));
        record(
            ledger,
            &terms,
            &Round {
                about,
                changed,
                contents,
                ended_at: "",
                result,
                subject,
            },
        )
    };
    let (ledger, _) = round(&Ledger::default(), "S", green(None), RoundChange::Auto, "1");
    let (of_its_own, own) = round(
        &ledger,
        "S",
        RoundResult::ByHand(Status::Continue),
        RoundChange::Files(0),
        "2",
    );
    assert_eq!((own.counter, own.no_change), (0, false));
    assert_eq!(
        round(&of_its_own, "S", green(None), RoundChange::Auto, "2")
            .1
            .counter,
        1
    );
    // A word for another subject does not hide it either.
    let (of_another, _) = round(
        &ledger,
        "T",
        RoundResult::ByHand(Status::Continue),
        RoundChange::Files(0),
        "2",
    );
    assert_eq!(
        round(&of_another, "S", green(None), RoundChange::Auto, "2")
            .1
            .counter,
        1
    );
    assert_eq!(
        round(&ledger, "S", green(None), RoundChange::Auto, "1")
            .1
            .counter,
        2
    );
}

#[test]
fn contents_decide_what_changed() {
    let terms = terms(3, 3, Exhausted::Fail);
    let round = |subject, what| Round {
        about: SubjectRequest::default(),
        changed: RoundChange::Auto,
        contents: contents(what),
        ended_at: "",
        result: RoundResult::ByHand(Status::Done),
        subject,
    };
    let mut ledger = Ledger::default();
    for (subject, what, counter, no_change) in [
        ("S", "1", 1, false),
        ("S", "1", 2, true),
        ("T", "2", 1, false),
        ("S", "2", 3, true),
        ("S", "1", 1, false),
    ] {
        let (next, recorded) = record(&ledger, &terms, &round(subject, what));
        assert_eq!(
            (recorded.counter, recorded.no_change),
            (counter, no_change),
            "{subject} {what}"
        );
        assert_eq!(
            next.entry(subject).map(|e| e.no_change),
            Some(no_change),
            "{subject} {what}"
        );
        ledger = next;
    }
    assert_eq!(ledger.rounds, 5);
}

#[test]
fn a_change_is_one_under_the_feet_of_others() {
    let round = |subject, files| Round {
        about: SubjectRequest::default(),
        changed: RoundChange::Files(files),
        contents: contents("x"),
        ended_at: "",
        result: RoundResult::ByHand(Status::Done),
        subject,
    };
    for (propagate, others, left) in [
        // T has been confirmed three times of two, U once.
        (Propagate::Downgrade, [3, 1], [1, 1]),
        (Propagate::Downgrade, [2, 0], [1, 0]),
        (Propagate::Reset, [3, 1], [0, 0]),
        (Propagate::Off, [3, 1], [3, 1]),
    ] {
        let terms = Terms {
            propagate,
            ..terms(2, 3, Exhausted::Fail)
        };
        let mut ledger = Ledger::default();
        for subject in ["S", "T", "U"] {
            ledger = record(&ledger, &terms, &round(subject, 0)).0;
        }
        for (entry, counter) in ledger.subjects.iter_mut().skip(1).zip(others) {
            entry.counter = counter;
        }
        let counters = |ledger: &Ledger| {
            ledger
                .subjects
                .iter()
                .map(|e| e.counter)
                .collect::<Vec<_>>()
        };
        let (next, recorded) = record(&ledger, &terms, &round("S", 1));
        assert_eq!(counters(&next), [1, left[0], left[1]], "{propagate:?}");
        assert_eq!(recorded.decision, Decision::Reverify);
        // A round that changes nothing does not affect other subjects.
        let (next, _) = record(&ledger, &terms, &round("S", 0));
        assert_eq!(counters(&next), [2, others[0], others[1]], "{propagate:?}");
    }
}

#[test]
fn all_subjects_are_complete_or_one_goes_on() {
    let terms = Terms {
        propagate: Propagate::Off,
        ..terms(1, 3, Exhausted::Fail)
    };
    let done = |ledger: &Ledger, subject, status| {
        let changed = RoundChange::Files(0);
        let said = RoundResult::ByHand(status);
        record(
            ledger,
            &terms,
            &Round {
                about: SubjectRequest::default(),
                changed,
                contents: contents("x"),
                ended_at: "",
                result: said,
                subject,
            },
        )
    };
    let (ledger, first) = done(&Ledger::default(), "T", Status::Continue);
    assert_eq!((first.decision, first.exit(0)), (Decision::Retry, 20));
    let (ledger, second) = done(&ledger, "S", Status::Done);
    assert_eq!(
        (second.decision, second.reason, second.exit(0)),
        (Decision::Advance, None, 0)
    );
    assert_eq!(second.exit(40), 40);
    let (_, third) = done(&ledger, "T", Status::Done);
    assert_eq!((third.decision, third.exit(0)), (Decision::Complete, 0));
}

#[test]
fn a_pass_makes_earlier_failures_history() {
    let terms = terms(1, 9, Exhausted::Fail);
    let play = |said: &[RoundResult]| {
        let mut ledger = Ledger::default();
        for said in said {
            let round = Round {
                about: SubjectRequest::default(),
                changed: RoundChange::Files(1),
                contents: contents("x"),
                ended_at: "",
                result: said.clone(),
                subject: "S",
            };
            ledger = record(&ledger, &terms, &round).0;
        }
        ledger.subjects[0].failures.len()
    };
    // A manual round clears nothing; a pass does, even one with more to do.
    for (then, left) in [
        (RoundResult::ByHand(Status::Continue), 2),
        (RoundResult::ByHand(Status::Done), 2),
        (green(Some(Status::Continue)), 0),
        (green(None), 0),
    ] {
        assert_eq!(play(&[red("a"), red("b"), then.clone()]), left, "{then:?}");
    }
    // A signature counts only if verification failed.
    let odd = RoundResult::Run {
        exit: 0,
        run_id: "r".into(),
        signature: Some(Digest::hash(b"")),
        status: None,
        verdict: Verdict::Passed,
    };
    assert_eq!(play(&[odd]), 0);
}

#[test]
fn what_was_allowed_is_written_down() {
    let terms = terms(1, 0, Exhausted::Allow);
    let round = Round {
        about: SubjectRequest::default(),
        changed: RoundChange::Files(1),
        contents: contents("x"),
        ended_at: "now",
        result: red("a"),
        subject: "S",
    };
    let (ledger, recorded) = record(&Ledger::default(), &terms, &round);
    assert_eq!(
        (recorded.decision, recorded.reason),
        (
            Decision::Advance,
            Some(Because::VerificationFailedMaxRetries)
        )
    );
    let waiver = Waiver {
        at: "now".into(),
        reason: "verification_failed_max_retries".into(),
        round: 1,
    };
    assert_eq!(ledger.subjects[0].waivers, [waiver]);
    for because in [
        Because::Stuck,
        Because::SameFailure,
        Because::VerificationFailedMaxRetries,
        Because::NothingApplies,
        Because::PartOfChange,
        Because::LeftBehind,
        Because::NotVerified,
    ] {
        assert_eq!(
            serde_json::to_string(&because).unwrap(),
            format!("\"{}\"", because.name())
        );
    }
}

#[test]
fn a_gate_that_changes() {
    let done = |ledger: &Ledger, n| {
        let round = Round {
            about: SubjectRequest::default(),
            changed: RoundChange::Files(0),
            contents: contents("x"),
            ended_at: "",
            result: RoundResult::ByHand(Status::Done),
            subject: "S",
        };
        record(ledger, &terms(n, 3, Exhausted::Fail), &round)
    };
    let mut ledger = Ledger::default();
    for (n, counter) in [(3, 1), (3, 2), (3, 3), (1, 1), (3, 2)] {
        let (next, recorded) = done(&ledger, n);
        assert_eq!(recorded.counter, counter);
        ledger = next;
    }
}

/// Returns a run of `S` with this scope and request.
fn request(scope: RoundScope, asked: &str) -> SubjectRequest {
    let began = Began {
        assumed: false,
        base: Some("b".into()),
        contract: None,
        gate: Terms::from_gate(None),
    };
    SubjectRequest {
        asked: Some(Digest::hash(asked.as_bytes())),
        began: Some(began),
        scope,
        ..SubjectRequest::default()
    }
}

fn run(
    ledger: &Ledger,
    terms: &Terms,
    about: SubjectRequest,
    result: RoundResult,
    what: &str,
) -> (Ledger, Recorded) {
    let round = Round {
        about,
        changed: RoundChange::Auto,
        contents: contents(what),
        ended_at: "",
        result,
        subject: "S",
    };
    record(ledger, terms, &round)
}

#[test]
fn a_part_is_never_done() {
    let terms = terms(2, 1, Exhausted::Fail);
    let mut ledger = Ledger::default();
    for _ in 0..4 {
        let (next, got) = run(
            &ledger,
            &terms,
            request(RoundScope::Part, "a"),
            green(Some(Status::Done)),
            "1",
        );
        assert_eq!(
            (got.decision, got.reason, got.exit(0)),
            (Decision::Retry, Some(Because::PartOfChange), 20)
        );
        assert_eq!((got.counter, got.attempt), (0, 1), "it uses up no retry");
        ledger = next;
    }
    // It neither confirms nor makes a failure history.
    let (ledger, whole) = run(
        &ledger,
        &terms,
        request(RoundScope::Whole, "a"),
        green(None),
        "1",
    );
    assert_eq!((whole.counter, whole.decision), (1, Decision::Reverify));
    let (ledger, part) = run(
        &ledger,
        &terms,
        request(RoundScope::Part, "a"),
        green(None),
        "1",
    );
    assert_eq!((part.counter, part.decision), (1, Decision::Retry));
    let (ledger, _) = run(
        &ledger,
        &terms,
        request(RoundScope::Whole, "a"),
        red("x"),
        "1",
    );
    let (ledger, _) = run(
        &ledger,
        &terms,
        request(RoundScope::Part, "a"),
        green(None),
        "1",
    );
    assert_eq!(ledger.subjects[0].failures.len(), 1);
    let (_, red_part) = run(
        &ledger,
        &terms,
        request(RoundScope::Part, "a"),
        red("x"),
        "1",
    );
    assert_eq!((red_part.decision, red_part.exit(40)), (Decision::Fail, 21));
}

#[test]
fn nothing_applies() {
    let terms = terms(1, 3, Exhausted::Fail);
    let none = RoundResult::Run {
        exit: 0,
        run_id: "r".into(),
        signature: None,
        status: None,
        verdict: Verdict::NothingToVerify,
    };
    let nothing = |ledger: &Ledger, what: &str| {
        run(
            ledger,
            &terms,
            request(RoundScope::Nothing, "a"),
            none.clone(),
            what,
        )
    };
    let (first, got) = nothing(&Ledger::default(), "1");
    assert_eq!(
        (got.decision, got.reason, got.exit(0)),
        (Decision::Advance, Some(Because::NothingApplies), 0)
    );
    assert_eq!((got.counter, first.is_complete(1)), (0, false));
    assert_eq!(first.subjects[0].settled, Some(contents("1")));
    let (again, got) = nothing(&first, "2");
    assert_eq!((got.decision, got.counter), (Decision::Advance, 0));
    assert_eq!(again.subjects[0].settled, Some(contents("2")));
    // Work begins, and the completed subject is open again.
    let (red_now, _) = run(
        &again,
        &terms,
        request(RoundScope::Whole, "a"),
        red("x"),
        "3",
    );
    assert_eq!(red_now.subjects[0].settled, None);
    // The work is stashed: everything is as before.
    let (aside, got) = nothing(&red_now, "2");
    assert_eq!(
        (got.decision, got.exit(0), got.counter),
        (Decision::Retry, 20, 0)
    );
    let (before, after) = (&red_now.subjects[0], &aside.subjects[0]);
    assert_eq!(
        (&before.failures, before.used, &before.settled),
        (&after.failures, after.used, &after.settled)
    );
    assert_eq!(
        (aside.contents.as_ref(), aside.rounds, after.rounds),
        (red_now.contents.as_ref(), 4, 4)
    );
    // The same after a pass: it continues, and is confirmed when the files are restored.
    let two = Terms {
        confirmations: 2,
        ..terms
    };
    let (passed, _) = run(
        &red_now,
        &two,
        request(RoundScope::Whole, "a"),
        green(None),
        "4",
    );
    let (aside, got) = run(
        &passed,
        &two,
        request(RoundScope::Nothing, "a"),
        none.clone(),
        "1",
    );
    assert_eq!(
        (got.decision, got.exit(0), got.counter),
        (Decision::Reverify, 20, 1)
    );
    let (complete, got) = run(
        &aside,
        &two,
        request(RoundScope::Whole, "a"),
        green(None),
        "4",
    );
    assert_eq!((got.decision, got.counter), (Decision::Complete, 2));
    let (_, got) = run(
        &complete,
        &two,
        request(RoundScope::Nothing, "a"),
        none,
        "1",
    );
    assert_eq!(
        (got.decision, got.reason, got.exit(0)),
        (Decision::Advance, Some(Because::NothingApplies), 0)
    );
}

#[test]
fn who_asks_for_something_else_confirms_nothing() {
    let terms = terms(3, 3, Exhausted::Fail);
    let mut ledger = Ledger::default();
    for (asked, counter) in [
        ("a", 1),
        ("a", 2),
        ("b", 1),
        ("b", 2),
        ("a", 1),
        ("a", 2),
        ("a", 3),
    ] {
        let (next, got) = run(
            &ledger,
            &terms,
            request(RoundScope::Whole, asked),
            green(None),
            "1",
        );
        assert_eq!(got.counter, counter, "{asked}");
        ledger = next;
    }
}

#[test]
fn another_base_meanwhile() {
    let terms = terms(1, 3, Exhausted::Fail);
    let based = |base: &str, known: Option<&str>| {
        let mut about = request(RoundScope::Whole, "a");
        about.began = about.began.map(|b| Began {
            base: Some(base.into()),
            ..b
        });
        SubjectRequest {
            known: known.map(str::to_owned),
            ..about
        }
    };
    let base = |ledger: &Ledger| ledger.subjects[0].began.clone().and_then(|b| b.base);
    let (ledger, got) = run(
        &Ledger::default(),
        &terms,
        based("new", None),
        green(None),
        "1",
    );
    assert_eq!(
        (got.decision, base(&ledger).as_deref()),
        (Decision::Complete, Some("new"))
    );
    // A run that began with another base at the same time has not verified this subject's change.
    let (ledger, got) = run(&ledger, &terms, based("other", None), green(None), "1");
    assert_eq!(
        (got.decision, base(&ledger).as_deref()),
        (Decision::Retry, Some("new"))
    );
    // A run that knew the base may widen it.
    let (ledger, got) = run(&ledger, &terms, based("old", Some("new")), green(None), "1");
    assert_eq!(
        (got.decision, base(&ledger).as_deref()),
        (Decision::Complete, Some("old"))
    );
}

#[test]
fn what_is_left_behind_leaves_no_trace() {
    let terms = terms(1, 9, Exhausted::Fail);
    let path = |name: &str| vplan_base::path::RepoPath::from_exact(name.as_bytes()).unwrap();
    let traced = |head: &str, name: &str, left_behind| SubjectRequest {
        left_behind,
        trace: Some(Trace::new(head.into(), [(path(name), String::new())])),
        ..request(RoundScope::Whole, "a")
    };
    let incomplete = RoundResult::Run {
        exit: 44,
        run_id: "r".into(),
        signature: Some(Digest::hash(b"i")),
        status: None,
        verdict: Verdict::Incomplete,
    };
    let (ledger, _) = run(
        &Ledger::default(),
        &terms,
        traced("1", "a", false),
        red("x"),
        "1",
    );
    let (ledger, got) = run(&ledger, &terms, traced("2", "b", true), incomplete, "2");
    assert_eq!(
        (got.decision, got.reason, got.exit(44)),
        (Decision::Retry, Some(Because::LeftBehind), 44)
    );
    assert_eq!(
        ledger.subjects[0].traces,
        [Trace::new("1".into(), [(path("a"), String::new())])]
    );
}

#[test]
fn words_follow_the_counter() {
    let terms = terms(2, 3, Exhausted::Fail);
    let mut ledger = Ledger::default();
    for _ in 0..2 {
        ledger = run(
            &ledger,
            &terms,
            request(RoundScope::Whole, "a"),
            green(None),
            "1",
        )
        .0;
    }
    let standing = |ledger: &Ledger, others| ledger.subjects[0].standing(2, others);
    assert_eq!(
        (standing(&ledger, true), standing(&ledger, false)),
        (Decision::Complete, Decision::Advance)
    );
    ledger.subjects[0].counter = 1;
    assert_eq!(
        standing(&ledger, true),
        Decision::Reverify,
        "a confirmation was taken back"
    );
    let (ledger, _) = run(
        &ledger,
        &terms,
        request(RoundScope::Whole, "a"),
        red("x"),
        "1",
    );
    assert_eq!(standing(&ledger, true), Decision::Retry);
    let begun = SubjectEntry::begun("S", "now", request(RoundScope::Whole, "a").began);
    assert_eq!(begun.standing(1, true), Decision::Retry);
}
