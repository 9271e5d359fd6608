//! What does one more round make of a ledger, and what follows from it?

use super::{Contents, Entry, Exhausted, Ledger, Propagate, SAME_FAILURES, Status, Terms, WAIVERS, Waiver};
use crate::base::canon::Digest;
use crate::run::report::{Decision, Standing};
use crate::run::verdict::{Exit, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A round that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round<'a> {
    /// Whether it changed files.
    pub changed: Change,
    /// What the files are now.
    pub contents: Contents,
    /// When it ended: an opaque text.
    pub ended_at: &'a str,
    /// What came of it.
    pub said: Said,
    /// Whose round it was.
    pub subject: &'a str,
}

/// Whether a round changed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// If the contents are not those that the ledger knows. Where it knows none, the round counts as one that changed files:
    /// nothing says that it did not.
    Auto,
    /// So many files.
    Files(u64),
}

/// What came of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Somebody says so.
    ByHand(Status),
    /// A run says so.
    Run {
        /// Its exit code, before anything is made of it here: only 0 is a pass.
        exit: u8,
        /// The run.
        run_id: String,
        /// What its failure is like, if it failed.
        signature: Option<Digest>,
        /// What the caller says as well.
        status: Option<Status>,
        /// Its verdict.
        verdict: Verdict,
    },
}

/// Why a decision is other than the verdict would have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// Somebody said that it does not go on.
    Stuck,
    /// The same failure came too often in a row.
    SameFailure,
    /// The retries are used up.
    VerificationFailedMaxRetries,
}

impl Because {
    /// The word in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Because::Stuck => "stuck",
            Because::SameFailure => "same_failure",
            Because::VerificationFailedMaxRetries => "verification_failed_max_retries",
        }
    }
}

/// What a round came to (engine.md section 13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// Which attempt at the subject's work it was, from 1.
    pub attempt: u32,
    /// How often the subject is confirmed now.
    pub counter: u32,
    /// What the caller should do.
    pub decision: Decision,
    /// Whether it changed nothing.
    pub no_change: bool,
    /// All other subjects.
    pub others: Vec<Standing>,
    /// Why, where the decision is about more than this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Because>,
    /// How many confirmations are asked for.
    pub required: u32,
    /// How many rounds of repair are left.
    pub retries_remaining: u32,
    /// The subject.
    pub subject: String,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

impl Recorded {
    /// The exit code (engine.md section 11). `verdict` is that of the run; 0 for a round that was recorded by hand.
    #[must_use]
    pub fn exit(&self, verdict: u8) -> u8 {
        let unless_failed = |exit: Exit| if verdict == 0 { exit.code() } else { verdict };
        match self.decision {
            Decision::Fail => Exit::Exhausted.code(),
            Decision::Escalate => Exit::Escalated.code(),
            Decision::Advance if self.reason.is_some() => Exit::Incomplete.code(),
            Decision::Retry | Decision::Reverify => unless_failed(Exit::Unconfirmed),
            Decision::Advance | Decision::Complete => unless_failed(Exit::Success),
        }
    }
}

/// Records a round.
///
/// INVARIANT (rounds): the counter of a subject moves by the table of engine.md section 9, whatever was recorded of others;
/// `tests/props/ledger.rs` compares it with that table.
#[must_use]
pub fn record(ledger: &Ledger, terms: &Terms, round: &Round<'_>) -> (Ledger, Recorded) {
    let required = terms.confirmations;
    let changed = match round.changed {
        Change::Files(count) => count > 0,
        Change::Auto => ledger.contents.as_ref() != Some(&round.contents),
    };
    let heard = Heard::of(&round.said);
    let before = ledger.entry(round.subject);
    let attempt = ledger.attempt(round.subject);
    let counter = match (heard.done, changed) {
        (true, false) => ledger.counter(round.subject, required).saturating_add(1).min(required),
        (true, true) => 1,
        (false, true) => 0,
        (false, false) => ledger.counter(round.subject, required),
    };
    // Work that goes on uses nothing up; a verification that fails does, and so does a round that did nothing.
    let used = match (heard.done, heard.failed || !changed) {
        (true, _) => 0,
        (false, true) => attempt,
        (false, false) => attempt.saturating_sub(1),
    };
    let mut failures = before.map(|e| e.failures.clone()).unwrap_or_default();
    match &round.said {
        Said::Run { signature: Some(signature), .. } if heard.failed => {
            failures.push(signature.clone());
            failures.drain(..failures.len().saturating_sub(SAME_FAILURES));
        }
        _ if heard.verified => failures.clear(),
        _ => {}
    }
    let mut next = ledger.clone();
    if changed {
        propagate(&mut next, round.subject, terms);
    }
    let mut entry = Entry {
        counter,
        decision: Decision::Retry,
        ended_at: round.ended_at.to_owned(),
        failures,
        no_change: !changed,
        rounds: before.map_or(0, |e| e.rounds).saturating_add(1),
        run_id: heard.run_id,
        status: heard.status,
        subject: round.subject.to_owned(),
        used,
        verdict: heard.verdict,
        accepted: before.map(|e| e.accepted.clone()).unwrap_or_default(),
        waivers: before.map(|e| e.waivers.clone()).unwrap_or_default(),
    };
    let others_complete = next.subjects.iter().filter(|e| e.subject != round.subject).all(|e| e.counter >= required);
    let (decision, reason) = decide(&entry, heard.failed, terms, others_complete);
    entry.decision = decision;
    if let (Decision::Advance, Some(reason)) = (decision, reason) {
        let waiver = Waiver { at: entry.ended_at.clone(), reason: reason.word().to_owned(), round: entry.rounds };
        entry.waivers.push(waiver);
        entry.waivers.drain(..entry.waivers.len().saturating_sub(WAIVERS));
    }
    match next.position(round.subject) {
        Ok(at) => next.subjects.iter_mut().skip(at).take(1).for_each(|e| *e = entry.clone()),
        Err(at) => next.subjects.insert(at, entry),
    }
    next.contents = Some(round.contents.clone());
    next.rounds = next.rounds.saturating_add(1);
    let recorded = Recorded {
        attempt,
        counter,
        decision,
        no_change: !changed,
        others: next.others(round.subject, required),
        reason,
        required,
        // The first of N + 1 rounds leaves N; a round beyond the last leaves none.
        retries_remaining: terms.retries.saturating_add(1).saturating_sub(attempt),
        subject: round.subject.to_owned(),
        version: 1,
    };
    (next, recorded)
}

/// What was said of a round, in the words of the table.
struct Heard {
    done: bool,
    /// Verification failed.
    failed: bool,
    run_id: Option<String>,
    status: Status,
    verdict: Option<Verdict>,
    /// Verification passed, or somebody says so: earlier failures are history.
    verified: bool,
}

impl Heard {
    fn of(said: &Said) -> Self {
        match said {
            Said::ByHand(status) => {
                let done = *status == Status::Done;
                Self { done, failed: false, run_id: None, status: *status, verdict: None, verified: done }
            }
            Said::Run { exit, run_id, status, verdict, .. } => {
                // A pass that the caller did not accept (`--require`) confirms nothing.
                let passed = verdict.is_pass() && *exit == 0;
                let own = if passed { Status::Done } else { Status::Continue };
                let status = match status {
                    Some(Status::Done) | None => own,
                    Some(other) => *other,
                };
                let (run_id, verdict) = (Some(run_id.clone()), Some(*verdict));
                Self { done: status == Status::Done, failed: !passed, run_id, status, verdict, verified: passed }
            }
        }
    }
}

/// The first that holds.
fn decide(entry: &Entry, failed: bool, terms: &Terms, others_complete: bool) -> (Decision, Option<Because>) {
    let done = entry.status == Status::Done;
    let same = match entry.failures.as_slice() {
        [first, rest @ ..] => rest.len() + 1 >= SAME_FAILURES && rest.iter().all(|f| f == first),
        [] => false,
    };
    if entry.status == Status::Stuck {
        (Decision::Escalate, Some(Because::Stuck))
    } else if failed && same {
        (Decision::Escalate, Some(Because::SameFailure))
    } else if !done && entry.used > terms.retries {
        let decision = match terms.exhausted {
            Exhausted::Fail => Decision::Fail,
            Exhausted::Escalate => Decision::Escalate,
            Exhausted::Allow => Decision::Advance,
        };
        (decision, Some(Because::VerificationFailedMaxRetries))
    } else if !done {
        (Decision::Retry, None)
    } else if entry.counter < terms.confirmations {
        (Decision::Reverify, None)
    } else if others_complete {
        (Decision::Complete, None)
    } else {
        (Decision::Advance, None)
    }
}

/// A subject's change is one under the feet of all others.
fn propagate(ledger: &mut Ledger, subject: &str, terms: &Terms) {
    for other in ledger.subjects.iter_mut().filter(|e| e.subject != subject) {
        match terms.propagate {
            Propagate::Downgrade if other.counter >= terms.confirmations => other.counter = terms.confirmations - 1,
            Propagate::Reset => other.counter = 0,
            Propagate::Downgrade | Propagate::Off => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(what: &str) -> Contents {
        Contents { digest: Digest::of(what.as_bytes()), files: 1 }
    }

    fn terms(confirmations: u32, retries: u32, exhausted: Exhausted) -> Terms {
        Terms { confirmations, exhausted, propagate: Propagate::Downgrade, retries }
    }

    fn red(of: &str) -> Said {
        Said::Run {
            exit: 40,
            run_id: "r".into(),
            signature: Some(Digest::of(of.as_bytes())),
            status: None,
            verdict: Verdict::Failed,
        }
    }

    fn green(status: Option<Status>) -> Said {
        Said::Run { exit: 0, run_id: "r".into(), signature: None, status, verdict: Verdict::Passed }
    }

    /// Plays rounds of `S` and gives decision, exit code, attempt and retries left of each.
    fn play(terms: &Terms, rounds: &[(Said, u64)]) -> Vec<(Decision, u8, u32, u32)> {
        let mut ledger = Ledger::default();
        let mut seen = Vec::new();
        for (said, files) in rounds {
            let exit = if let Said::Run { exit, .. } = said { *exit } else { 0 };
            let changed = Change::Files(*files);
            let round = Round { changed, contents: contents("x"), ended_at: "", said: said.clone(), subject: "S" };
            let (next, recorded) = record(&ledger, terms, &round);
            seen.push((recorded.decision, recorded.exit(exit), recorded.attempt, recorded.retries_remaining));
            ledger = next;
        }
        seen
    }

    #[test]
    fn retries() {
        use Decision::{Advance, Complete, Escalate, Fail, Retry};
        let hand = Said::ByHand;
        for (name, terms, rounds, want) in [
            (
                "one retry",
                terms(1, 1, Exhausted::Fail),
                vec![(red("a"), 1), (red("b"), 1), (red("c"), 1)],
                vec![(Retry, 40, 1, 1), (Fail, 21, 2, 0), (Fail, 21, 3, 0)],
            ),
            (
                "a pass gives them back",
                terms(1, 1, Exhausted::Fail),
                vec![(red("a"), 1), (green(None), 1), (red("b"), 1), (red("c"), 0)],
                vec![(Retry, 40, 1, 1), (Complete, 0, 2, 0), (Retry, 40, 1, 1), (Fail, 21, 2, 0)],
            ),
            ("none", terms(1, 0, Exhausted::Escalate), vec![(red("a"), 1)], vec![(Escalate, 22, 1, 0)]),
            ("allowed", terms(1, 0, Exhausted::Allow), vec![(red("a"), 1)], vec![(Advance, 44, 1, 0)]),
            (
                "four times the same, the others used up nothing new",
                terms(1, 9, Exhausted::Fail),
                vec![(red("a"), 1), (red("a"), 0), (hand(Status::Continue), 1), (red("a"), 1), (red("a"), 1)],
                vec![(Retry, 40, 1, 9), (Retry, 40, 2, 8), (Retry, 20, 3, 7), (Retry, 40, 3, 7), (Escalate, 22, 4, 6)],
            ),
            (
                "another failure between begins anew",
                terms(1, 9, Exhausted::Fail),
                vec![(red("a"), 1), (red("a"), 1), (red("a"), 1), (red("b"), 1), (red("a"), 1)],
                vec![(Retry, 40, 1, 9), (Retry, 40, 2, 8), (Retry, 40, 3, 7), (Retry, 40, 4, 6), (Retry, 40, 5, 5)],
            ),
            (
                "by hand only what changed nothing uses one up",
                terms(1, 1, Exhausted::Fail),
                vec![(hand(Status::Continue), 1), (hand(Status::Rotate), 0), (hand(Status::Continue), 0)],
                vec![(Retry, 20, 1, 1), (Retry, 20, 1, 1), (Fail, 21, 2, 0)],
            ),
            (
                "a pass whose caller says that there is more to do",
                terms(1, 1, Exhausted::Fail),
                vec![(green(Some(Status::Continue)), 1), (green(Some(Status::Done)), 0)],
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
        let narrowed = |exit| Said::Run {
            exit,
            run_id: "r".into(),
            signature: None,
            status: Some(Status::Done),
            verdict: Verdict::Passed,
        };
        let terms = terms(2, 3, Exhausted::Fail);
        assert_eq!(play(&terms, &[(narrowed(0), 0)]), [(Decision::Reverify, 20, 1, 3)]);
        assert_eq!(play(&terms, &[(narrowed(44), 0)]), [(Decision::Retry, 44, 1, 3)]);
    }

    #[test]
    fn contents_decide_what_changed() {
        let terms = terms(3, 3, Exhausted::Fail);
        let round = |subject, what| Round {
            changed: Change::Auto,
            contents: contents(what),
            ended_at: "",
            said: Said::ByHand(Status::Done),
            subject,
        };
        let mut ledger = Ledger::default();
        for (subject, what, counter, no_change) in
            [("S", "1", 1, false), ("S", "1", 2, true), ("T", "2", 1, false), ("S", "2", 3, true), ("S", "1", 1, false)]
        {
            let (next, recorded) = record(&ledger, &terms, &round(subject, what));
            assert_eq!((recorded.counter, recorded.no_change), (counter, no_change), "{subject} {what}");
            assert_eq!(next.entry(subject).map(|e| e.no_change), Some(no_change), "{subject} {what}");
            ledger = next;
        }
        assert_eq!(ledger.rounds, 5);
    }

    #[test]
    fn a_change_is_one_under_the_feet_of_others() {
        let round = |subject, files| Round {
            changed: Change::Files(files),
            contents: contents("x"),
            ended_at: "",
            said: Said::ByHand(Status::Done),
            subject,
        };
        for (propagate, others, left) in [
            // T has been confirmed three times of two, U once.
            (Propagate::Downgrade, [3, 1], [1, 1]),
            (Propagate::Downgrade, [2, 0], [1, 0]),
            (Propagate::Reset, [3, 1], [0, 0]),
            (Propagate::Off, [3, 1], [3, 1]),
        ] {
            let terms = Terms { propagate, ..terms(2, 3, Exhausted::Fail) };
            let mut ledger = Ledger::default();
            for subject in ["S", "T", "U"] {
                ledger = record(&ledger, &terms, &round(subject, 0)).0;
            }
            for (entry, counter) in ledger.subjects.iter_mut().skip(1).zip(others) {
                entry.counter = counter;
            }
            let counters = |ledger: &Ledger| ledger.subjects.iter().map(|e| e.counter).collect::<Vec<_>>();
            let (next, recorded) = record(&ledger, &terms, &round("S", 1));
            assert_eq!(counters(&next), [1, left[0], left[1]], "{propagate:?}");
            assert_eq!(recorded.decision, Decision::Reverify);
            // A round that changes nothing is nobody else's.
            let (next, _) = record(&ledger, &terms, &round("S", 0));
            assert_eq!(counters(&next), [2, others[0], others[1]], "{propagate:?}");
        }
    }

    #[test]
    fn all_subjects_are_complete_or_one_goes_on() {
        let terms = Terms { propagate: Propagate::Off, ..terms(1, 3, Exhausted::Fail) };
        let done = |ledger: &Ledger, subject, status| {
            let changed = Change::Files(0);
            let said = Said::ByHand(status);
            record(ledger, &terms, &Round { changed, contents: contents("x"), ended_at: "", said, subject })
        };
        let (ledger, first) = done(&Ledger::default(), "T", Status::Continue);
        assert_eq!((first.decision, first.exit(0)), (Decision::Retry, 20));
        let (ledger, second) = done(&ledger, "S", Status::Done);
        assert_eq!((second.decision, second.reason, second.exit(0)), (Decision::Advance, None, 0));
        assert_eq!(second.exit(40), 40);
        let (_, third) = done(&ledger, "T", Status::Done);
        assert_eq!((third.decision, third.exit(0)), (Decision::Complete, 0));
    }

    #[test]
    fn a_pass_makes_earlier_failures_history() {
        let terms = terms(1, 9, Exhausted::Fail);
        let play = |said: &[Said]| {
            let mut ledger = Ledger::default();
            for said in said {
                let round = Round {
                    changed: Change::Files(1),
                    contents: contents("x"),
                    ended_at: "",
                    said: said.clone(),
                    subject: "S",
                };
                ledger = record(&ledger, &terms, &round).0;
            }
            ledger.subjects[0].failures.len()
        };
        // Somebody's word that it goes on clears nothing, a pass with more to do does, and so does what is said to be done.
        for (then, left) in [
            (Said::ByHand(Status::Continue), 2),
            (Said::ByHand(Status::Done), 0),
            (green(Some(Status::Continue)), 0),
            (green(None), 0),
        ] {
            assert_eq!(play(&[red("a"), red("b"), then.clone()]), left, "{then:?}");
        }
        // A signature counts only where verification failed.
        let odd = Said::Run {
            exit: 0,
            run_id: "r".into(),
            signature: Some(Digest::of(b"")),
            status: None,
            verdict: Verdict::Passed,
        };
        assert_eq!(play(&[odd]), 0);
    }

    #[test]
    fn what_was_allowed_is_written_down() {
        let terms = terms(1, 0, Exhausted::Allow);
        let round =
            Round { changed: Change::Files(1), contents: contents("x"), ended_at: "now", said: red("a"), subject: "S" };
        let (ledger, recorded) = record(&Ledger::default(), &terms, &round);
        assert_eq!(
            (recorded.decision, recorded.reason),
            (Decision::Advance, Some(Because::VerificationFailedMaxRetries))
        );
        let waiver = Waiver { at: "now".into(), reason: "verification_failed_max_retries".into(), round: 1 };
        assert_eq!(ledger.subjects[0].waivers, [waiver]);
        for because in [Because::Stuck, Because::SameFailure, Because::VerificationFailedMaxRetries] {
            assert_eq!(serde_json::to_string(&because).unwrap(), format!("\"{}\"", because.word()));
        }
    }

    #[test]
    fn a_gate_that_changes() {
        let done = |ledger: &Ledger, n| {
            let round = Round {
                changed: Change::Files(0),
                contents: contents("x"),
                ended_at: "",
                said: Said::ByHand(Status::Done),
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
}
