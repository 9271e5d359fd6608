//! The result of a round, as input for the ledger.

use super::super::began::Began;
use super::super::contract_mark::ContractMark;
use super::super::entry::Because;
use super::super::entry::{Contents, Status, SubjectEntry};
use super::super::undone::Trace;
use vplan_base::canon::Digest;
use vplan_run::verdict::Verdict;
/// A round that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round<'a> {
    /// The request that it verified, if it was a run.
    pub about: SubjectRequest,
    /// Whether it changed files.
    pub changed: RoundChange,
    /// The present files.
    pub contents: Contents,
    /// The time of its end: an opaque text, never parsed.
    pub ended_at: &'a str,
    pub result: RoundResult,
    /// The subject of the round.
    pub subject: &'a str,
}

/// The request that a run of a subject verified. Empty for a round recorded by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectRequest {
    /// The digest of the request: only a round with the same request confirms.
    pub asked: Option<Digest>,
    /// The base and the gate that apply to the subject from now on.
    pub began: Option<Began>,
    /// The reason why a pass does not complete it, unless that is the covered part.
    pub because: Option<Because>,
    /// The contract that its next rounds are compared with.
    pub contract: Option<ContractMark>,
    /// The commits of earlier rounds that HEAD contains: the present differences from the base
    /// include those at these commits.
    pub contained: Vec<String>,
    /// Whether files differed from the base.
    pub has_work: bool,
    /// The base that the ledger knew when the run began.
    pub known: Option<String>,
    /// Whether the work of earlier rounds is missing.
    pub left_behind: bool,
    /// The identity of the repository's directory.
    pub root: Option<String>,
    /// The part of the subject's whole change that it covered.
    pub scope: RoundScope,
    /// The files that differed from the base.
    pub trace: Option<Trace>,
}

/// The part of a subject's whole change that a round covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoundScope {
    /// All that applies to it.
    #[default]
    Whole,
    /// A part of it: such a round never completes the subject.
    Part,
    /// All of it, and no check applies.
    Nothing,
}

/// The result of a round, by its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoundResult {
    /// Reported by the caller, without a run.
    ByHand(Status),
    /// A review of work that had passed changed nothing, and nothing ran again. It confirms only
    /// the files that the ledger knows.
    Reviewed,
    /// Reported by a run.
    Run {
        /// The run's own exit code: only 0 is a pass.
        exit: u8,
        run_id: String,
        /// The signature of its failure, if it failed.
        signature: Option<Digest>,
        /// The caller's additional statement.
        status: Option<Status>,
        verdict: Verdict,
    },
}

/// Whether another process gave the subject another base during the run.
pub(super) fn is_moved(before: Option<&SubjectEntry>, about: &SubjectRequest) -> bool {
    let Some(own) = &about.began else {
        return false;
    };
    let there = before
        .and_then(|e| e.began.as_ref())
        .and_then(|b| b.base.as_ref());
    there.is_some() && there != own.base.as_ref() && there != about.known.as_ref()
}

/// The way in which a round's changes are determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundChange {
    /// By contents: the round changed files if they differ from those in the ledger. Without any
    /// there, the round counts as one that changed files.
    Auto,
    /// The caller gives the number of changed files.
    Files(u64),
}
