//! The standing of all subjects, as a document.

use crate::ledger::round::Because;
use crate::ledger::{Acceptance, Contents, Ledger, Status, SubjectEntry, Terms, Waiver};
use crate::run::report::Decision;
use crate::run::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// The standing of all subjects.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli::command) struct Standings<'a> {
    /// Whether all that are shown are confirmed often enough.
    pub complete: bool,
    /// The number of required confirmations.
    pub required: u32,
    /// The number of recorded rounds, of all subjects together.
    pub rounds: u64,
    /// The subjects, ascending by name.
    pub subjects: Vec<Subject<'a>>,
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

/// The standing of a subject.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subject<'a> {
    /// The contracts that a person has accepted for it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub accepted: &'a [Acceptance],
    /// The commit that its rounds compare with, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<&'a str>,
    /// The number of its confirmations.
    pub counter: u32,
    /// The decision of its last round, as far as its counter still supports it.
    pub decision: Decision,
    /// The time of its last round's end; of its beginning, if it has had none.
    pub ended_at: &'a str,
    /// Whether its last round changed nothing.
    pub no_change: bool,
    /// The reason why the decision is about more than the last round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Because>,
    /// The number of confirmations that it needs: those of the contract, or of the stronger gate
    /// that it began with.
    pub required: u32,
    /// The number of rounds of repair left.
    pub retries_remaining: u32,
    /// The number of its rounds.
    pub rounds: u64,
    /// The run of its last round, if that was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<&'a str>,
    /// Nothing of the contract applied to its whole change, and the files are the same now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// The status of its last round: reported by the caller, or derived from its verdict.
    pub status: Status,
    /// Its name.
    pub subject: &'a str,
    /// The verdict of its last round, if that was a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The times that it was allowed to go on without a pass.
    pub waivers: &'a [Waiver],
}

impl<'a> Subject<'a> {
    pub(super) fn of(
        entry: &'a SubjectEntry,
        terms: &Terms,
        ledger: &Ledger,
        now: Option<&Contents>,
    ) -> Self {
        Self {
            accepted: &entry.accepted,
            base: entry.began.as_ref().and_then(|b| b.base.as_deref()),
            counter: entry.counter.min(terms.applicable(entry).confirmations),
            decision: standing(entry, terms, ledger),
            ended_at: &entry.ended_at,
            no_change: entry.no_change,
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
/// round.
pub(super) fn standing(entry: &SubjectEntry, terms: &Terms, ledger: &Ledger) -> Decision {
    let required = terms.applicable(entry).confirmations;
    entry.standing(required, ledger.others_complete(&entry.subject, required))
}

/// Whether nothing applied to its whole change, on the files that are there now.
pub(super) fn is_settled(entry: &SubjectEntry, now: Option<&Contents>) -> bool {
    now.is_some() && entry.settled.as_ref() == now
}
