//! Adds one round to a ledger and makes the decision that follows from it.

mod input;
mod report;

use super::began::Began;
pub use super::entry::Because;
use super::entry::{Exhausted, Ledger, Propagate, Status, SubjectEntry, Terms};
use super::entry::{WAIVERS, Waiver};
use super::undone::{self, keep_newest};
use input::is_moved;
pub use input::{Round, RoundChange, RoundResult, RoundScope, SubjectRequest};
use report::RoundReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::Digest;
use vplan_base::vocabulary::Exit;
use vplan_run::report::{Decision, SubjectConfirmations};

/// Maximum number of stored failures of a subject that was given up. Beyond that, no failure counts
/// as new.
const GIVEN_UP: usize = 32;

/// The result of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// The number of the attempt at the subject's work, from 1.
    pub attempt: u32,
    /// The number of the subject's confirmations now.
    pub counter: u32,
    /// The decision: what the caller does next.
    pub decision: Decision,
    /// Whether it changed nothing.
    pub no_change: bool,
    /// All other subjects.
    pub others: Vec<SubjectConfirmations>,
    /// The reason, where the decision is about more than this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Because>,
    /// The number of required confirmations.
    pub required: u32,
    /// The number of rounds of repair left.
    pub retries_remaining: u32,
    /// The subject.
    pub subject: String,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

impl Recorded {
    /// Returns the exit code. `verdict` is that of the run; 0 for a round that was recorded by
    /// hand.
    pub fn exit(&self, verdict: u8) -> u8 {
        let unless_failed = |exit: Exit| if verdict == 0 { exit.code() } else { verdict };
        match self.decision {
            Decision::Fail => Exit::Exhausted.code(),
            Decision::Escalate => Exit::Escalated.code(),
            Decision::Advance if self.reason == Some(Because::VerificationFailedMaxRetries) => {
                Exit::Incomplete.code()
            }
            Decision::Retry | Decision::Reverify => unless_failed(Exit::Unconfirmed),
            Decision::Advance | Decision::Complete => unless_failed(Exit::Success),
        }
    }
}

/// Adds a round to the ledger and returns the new ledger and the decision.
///
/// INVARIANT (rounds): the counter of a subject moves by the table of src/ledger/rounds.md,
/// "Confirmations", whatever was recorded of others; `tests/props/ledger.rs` compares it with that
/// table.
pub fn record(ledger: &Ledger, terms: &Terms, round: &Round<'_>) -> (Ledger, Recorded) {
    let required = terms.confirmations;
    let before = ledger.entry(round.subject);
    let differs = ledger.contents.as_ref() != Some(&round.contents);
    let changed = match round.changed {
        // A subject that is verified by runs has changed when its contents have.
        RoundChange::Files(0) => differs && before.is_some_and(SubjectEntry::is_by_runs),
        RoundChange::Files(_) => true,
        RoundChange::Auto => differs,
    };
    let heard = RoundReport::new(round, before, changed);
    let mut next = ledger.clone();
    next.rounds = next.rounds.saturating_add(1);
    let (decision, reason);
    let (attempt, entry) = match before.filter(|before| heard.changes_nothing(before, changed)) {
        // Nothing of the change is present now, or the caller claims without evidence: neither
        // changes the state of the work.
        Some(before) => {
            let others_complete = next.others_complete(round.subject, required);
            (decision, reason) = match before.standing(required, others_complete) {
                Decision::Advance | Decision::Complete
                    if heard.nothing && before.reason.is_none() =>
                {
                    (Decision::Advance, Some(Because::NothingApplies))
                }
                standing @ (Decision::Retry | Decision::Reverify) if heard.claimed => {
                    (standing, Some(Because::NotVerified))
                }
                standing => (standing, before.reason),
            };
            let entry = SubjectEntry {
                ended_at: round.ended_at.to_owned(),
                rounds: before.rounds.saturating_add(1),
                ..before.clone()
            };
            (ledger.attempt(round.subject), entry)
        }
        None => {
            if changed {
                propagate(&mut next, round.subject, terms);
            }
            // Contents that were only reported as unchanged are not stored: the next round compares
            // with those before.
            if changed || !differs || next.contents.is_none() {
                next.contents = Some(round.contents.clone());
            }
            let others_complete = next.others_complete(round.subject, required);
            let after = after(ledger, terms, round, heard, changed, others_complete);
            (decision, reason) = (after.1.decision, after.1.reason);
            after
        }
    };
    let counter = entry.counter.min(required);
    next.put(entry);
    let recorded = Recorded {
        attempt,
        counter,
        decision,
        no_change: !changed,
        others: next.others(round.subject, required),
        reason,
        required,
        // After the first of N + 1 rounds, N remain; after a round beyond the last, none.
        retries_remaining: terms.retries.saturating_add(1).saturating_sub(attempt),
        subject: round.subject.to_owned(),
        version: 1,
    };
    (next, recorded)
}

/// Returns the number of a subject's attempt, and its entry after the round.
fn after(
    ledger: &Ledger,
    terms: &Terms,
    round: &Round<'_>,
    heard: RoundReport,
    changed: bool,
    others_complete: bool,
) -> (u32, SubjectEntry) {
    let SubjectRequest {
        asked,
        began,
        because,
        contained,
        contract,
        has_work,
        left_behind,
        root,
        trace,
        ..
    } = &round.about;
    let before = ledger.entry(round.subject);
    let new = || SubjectEntry::begun(round.subject, round.ended_at, None);
    let mut entry = before.cloned().unwrap_or_else(new);
    // A subject that was given up is still verified: a failure that is new since then counts.
    let is_new =
        |failure: &Digest| entry.given_up.len() < GIVEN_UP && !entry.given_up.contains(failure);
    let anew = entry.is_given_up() && heard.failure.as_ref().is_some_and(is_new);
    let mut attempt = ledger.attempt(round.subject);
    if anew {
        attempt = 1;
        entry.failures.clear();
    }
    match &heard.failure {
        Some(failure) => {
            entry.failures.push(failure.clone());
            let most = usize::try_from(terms.same_failure).unwrap_or(usize::MAX);
            keep_newest(&mut entry.failures, most);
        }
        None if heard.verified => entry.failures.clear(),
        None => {}
    }
    if let Some(trace) = trace.as_ref().filter(|_| !left_behind) {
        let earlier = &mut entry.traces;
        earlier.retain(|other| other.head == trace.head || !contained.contains(&other.head));
        undone::add(earlier, trace.clone());
    }
    let is_run = matches!(round.result, RoundResult::Run { .. });
    // A confirmation by hand confirms no run.
    let counted = before.filter(|e| !is_run || e.is_by_runs());
    let required = terms.confirmations;
    let (counter, asked) = count(counted, &heard, changed, required, asked.as_ref());
    let began = match (&round.result, entry.began.take()) {
        // A round by hand gives a subject neither a base nor a weaker gate.
        (RoundResult::ByHand(_), Some(kept)) if terms.weaker_than(&kept.gate).is_empty() => {
            Some(Began {
                gate: *terms,
                ..kept
            })
        }
        (RoundResult::ByHand(_), Some(kept)) => Some(kept),
        (_, kept) if is_moved(before, &round.about) => kept,
        (_, kept) => began.clone().or(kept),
    };
    if heard.done {
        entry.given_up.clear();
    }
    entry = SubjectEntry {
        asked,
        began,
        by_runs: is_run || before.is_some_and(SubjectEntry::is_by_runs),
        contract: contract.clone().or(entry.contract),
        counter,
        ended_at: round.ended_at.to_owned(),
        failed: !heard.verified && (heard.leaves_unverified(*has_work) || entry.failed),
        no_change: !changed,
        root: entry.root.or_else(|| root.clone()),
        rounds: entry.rounds.saturating_add(1),
        run_id: heard.run_id.clone(),
        settled: heard.nothing.then(|| round.contents.clone()),
        status: heard.status,
        // Work in progress uses up no retry; a failed verification does, and so does a manual round
        // that did nothing.
        used: match heard.done {
            true => 0,
            false if heard.failed || (!changed && !heard.partial && !heard.nothing) => attempt,
            false => attempt.saturating_sub(1),
        },
        verdict: heard.verdict,
        ..entry
    };
    let own = left_behind.then_some(Because::LeftBehind).or(*because);
    (entry.decision, entry.reason) = decide(&entry, &heard, terms, others_complete, own);
    remember(&mut entry, heard.failure.as_ref());
    (attempt, entry)
}

/// Computes the counter by the table of src/ledger/rounds.md, "Confirmations", and the digest of
/// the request that it counts confirmations of.
fn count(
    before: Option<&SubjectEntry>,
    heard: &RoundReport,
    changed: bool,
    required: u32,
    asked: Option<&Digest>,
) -> (u32, Option<Digest>) {
    let now = before.map_or(0, |e| e.counter.min(required));
    let earlier = before.and_then(|e| e.asked.as_ref());
    // A round with another request confirms nothing yet; it is the first of the new request.
    let other = now > 0 && earlier.is_some() && asked.is_some() && earlier != asked;
    match (heard.done, changed) {
        _ if heard.nothing => (now, earlier.cloned()),
        (true, false) if !other => (
            now.saturating_add(1).min(required),
            earlier.filter(|_| now > 0).or(asked).cloned(),
        ),
        (true, _) => (1, asked.cloned()),
        (false, true) => (0, earlier.cloned()),
        (false, false) => (now, earlier.cloned()),
    }
}

/// Records the results of a decision: a waiver, and the failures with which the subject was given
/// up.
fn remember(entry: &mut SubjectEntry, failure: Option<&Digest>) {
    if entry.decision == Decision::Advance
        && let Some(reason @ Because::VerificationFailedMaxRetries) = entry.reason
    {
        let waiver = Waiver {
            at: entry.ended_at.clone(),
            reason: reason.name().to_owned(),
            round: entry.rounds,
        };
        entry.waivers.push(waiver);
        keep_newest(&mut entry.waivers, WAIVERS);
    }
    let seen: Vec<Digest> = match failure {
        _ if entry.is_given_up() => entry.failures.clone(),
        Some(failure) if !entry.given_up.is_empty() => vec![failure.clone()],
        _ => Vec::new(),
    };
    for failure in seen {
        if entry.given_up.len() < GIVEN_UP && !entry.given_up.contains(&failure) {
            entry.given_up.push(failure);
        }
    }
}

/// Returns the decision of the first rule that applies.
fn decide(
    entry: &SubjectEntry,
    heard: &RoundReport,
    terms: &Terms,
    others_complete: bool,
    because: Option<Because>,
) -> (Decision, Option<Because>) {
    let same = match entry.failures.as_slice() {
        [first, rest @ ..] => {
            u32::try_from(rest.len() + 1).is_ok_and(|n| n >= terms.same_failure)
                && rest.iter().all(|f| f == first)
        }
        [] => false,
    };
    if entry.status == Status::Stuck {
        (Decision::Escalate, Some(Because::Stuck))
    } else if heard.nothing {
        (Decision::Advance, Some(Because::NothingApplies))
    } else if !heard.done && entry.used > terms.retries {
        let decision = match terms.exhausted {
            Exhausted::Fail => Decision::Fail,
            Exhausted::Escalate => Decision::Escalate,
            Exhausted::Allow => Decision::Advance,
        };
        (decision, Some(Because::VerificationFailedMaxRetries))
    } else if heard.failed && same {
        (Decision::Escalate, Some(Because::SameFailure))
    } else if !heard.done {
        let own = match heard {
            _ if because.is_some() => because,
            RoundReport { partial: true, .. } => Some(Because::PartOfChange),
            RoundReport { claimed: true, .. } => Some(Because::NotVerified),
            _ => None,
        };
        (Decision::Retry, own)
    } else if entry.counter < terms.confirmations {
        (Decision::Reverify, None)
    } else if others_complete {
        (Decision::Complete, None)
    } else {
        (Decision::Advance, None)
    }
}

/// Applies the gate's `propagate`: a subject's change also affects the other subjects.
fn propagate(ledger: &mut Ledger, subject: &str, terms: &Terms) {
    for other in ledger.subjects.iter_mut().filter(|e| e.subject != subject) {
        match terms.propagate {
            Propagate::Downgrade if other.counter >= terms.confirmations => {
                other.counter = terms.confirmations - 1
            }
            Propagate::Reset => other.counter = 0,
            Propagate::Downgrade | Propagate::Off => {}
        }
    }
}

#[cfg(test)]
mod tests;
