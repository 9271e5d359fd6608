//! The standing of all subjects, as a document.

use crate::command::answer::*;
use vplan_ledger::round::Because;
use vplan_ledger::{Acceptance, Contents, Ledger, Status, SubjectEntry, Terms, Waiver};
use vplan_run::report::Decision;

/// The standing of all subjects.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct Standings<'a> {
    /// Whether all that are shown are confirmed often enough.
    pub complete: bool,
    /// The number of required confirmations.
    pub required: u32,
    /// The number of recorded rounds, of all subjects together.
    pub rounds: u64,
    /// The subjects, ascending by name.
    pub subjects: Vec<Subject<'a>>,
}

/// The standing of a subject.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subject<'a> {
    /// The contracts that a person has accepted for it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub accepted: &'a [Acceptance],
    /// The commit that its rounds compare with, if that is known.
    pub base: Option<&'a str>,
    /// The number of its confirmations.
    pub counter: u32,
    /// The decision of its last round, as far as its counter still supports it.
    pub decision: Decision,
    /// The time of its last round's end; of its beginning, if it has had none.
    pub ended_at: &'a str,
    /// Whether its last round changed nothing.
    pub no_change: bool,
    /// Why it is not complete although its rounds confirmed it.
    pub outdated: Option<StaleReason>,
    /// The reason why the decision is about more than the last round.
    pub reason: Option<Because>,
    /// The number of confirmations that it needs: those of the contract, or of the stronger gate
    /// that it began with.
    pub required: u32,
    /// The number of rounds of repair left.
    pub retries_remaining: u32,
    /// The number of its rounds.
    pub rounds: u64,
    /// The run of its last round, if that was one.
    pub run_id: Option<&'a str>,
    /// Nothing of the contract applied to its whole change, and the files are the same now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// The status of its last round: reported by the caller, or derived from its verdict.
    pub status: Status,
    /// Its name.
    pub subject: &'a str,
    /// The verdict of its last round, if that was a run.
    pub verdict: Option<Verdict>,
    /// The times that it was allowed to go on without a pass.
    pub waivers: &'a [Waiver],
}

/// The reason why the recorded state of a subject does not count here and now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StaleReason {
    /// The contract of its rounds changed since the last one.
    ContractChanged,
    /// Files changed since the last round.
    FilesChanged,
    /// It began in another work tree, or on commits that HEAD does not contain.
    OtherSubject,
}

/// The present state that subjects are compared with.
#[derive(Debug, Default)]
pub(crate) struct PresentState<'a> {
    /// The files; none where they cannot be read.
    pub contents: Option<Contents>,
    /// The subjects that began elsewhere.
    pub elsewhere: Vec<&'a str>,
    /// The subjects whose contract has changed.
    pub other_contract: Vec<&'a str>,
}

impl PresentState<'_> {
    /// Returns why a subject's recorded state does not count.
    pub(super) fn outdated(&self, entry: &SubjectEntry, ledger: &Ledger) -> Option<StaleReason> {
        if self.elsewhere.contains(&entry.subject.as_str()) {
            return Some(StaleReason::OtherSubject);
        }
        if self.other_contract.contains(&entry.subject.as_str()) {
            return Some(StaleReason::ContractChanged);
        }
        // A caller that records its rounds by hand says itself what has changed.
        let is_changed = entry.is_by_runs() && entry.rounds > 0 && ledger.contents != self.contents;
        is_changed.then_some(StaleReason::FilesChanged)
    }
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        entry: &'a SubjectEntry,
        terms: &Terms,
        ledger: &Ledger,
        now: &PresentState<'_>,
    ) -> Self {
        Self {
            accepted: &entry.accepted,
            base: entry.began.as_ref().and_then(|b| b.base.as_deref()),
            counter: entry.counter.min(terms.applicable(entry).confirmations),
            decision: standing(entry, terms, ledger, now),
            ended_at: &entry.ended_at,
            no_change: entry.no_change,
            outdated: now.outdated(entry, ledger),
            reason: entry.reason,
            required: terms.applicable(entry).confirmations,
            retries_remaining: terms
                .applicable(entry)
                .retries
                .saturating_add(1)
                .saturating_sub(entry.used),
            rounds: entry.rounds,
            run_id: entry.run_id.as_deref(),
            settled: is_settled(entry, now),
            status: entry.status,
            subject: &entry.subject,
            verdict: entry.verdict,
            waivers: &entry.waivers,
        }
    }
}

/// Its decision in the words of today: a confirmation may have been taken back since its last
/// round, and the files may have changed.
pub(super) fn standing(
    entry: &SubjectEntry,
    terms: &Terms,
    ledger: &Ledger,
    now: &PresentState<'_>,
) -> Decision {
    let required = terms.applicable(entry).confirmations;
    let others_complete = ledger.others_complete(&entry.subject, required);
    match entry.standing(required, others_complete) {
        Decision::Advance | Decision::Complete
            if entry.settled.is_none() && now.outdated(entry, ledger).is_some() =>
        {
            Decision::Reverify
        }
        standing => standing,
    }
}

/// Whether nothing applied to its whole change, on the files that are there now.
pub(super) fn is_settled(entry: &SubjectEntry, now: &PresentState<'_>) -> bool {
    let mut others = now.elsewhere.iter().chain(&now.other_contract);
    !others.any(|other| *other == entry.subject)
        && now.contents.is_some()
        && entry.settled == now.contents
}
