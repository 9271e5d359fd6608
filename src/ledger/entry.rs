//! The entries of a ledger: subjects, their rounds and the terms of their gates.

use super::contract_mark::ContractMark;
use super::undone::{Trace, keep_newest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::Digest;
use vplan_base::path::RepoPath;
use vplan_contract::Gate;
use vplan_run::report::{DEFAULT_RETRIES, Decision, SubjectConfirmations};
use vplan_run::verdict::Verdict;
/// The default number of times in a row that the same failure may occur before a person must
/// decide.
pub(super) const SAME_FAILURE: u32 = 3;

/// Maximum number of stored waivers of a subject; the newest are kept.
pub(super) const WAIVERS: usize = 32;

/// Maximum number of stored accepted contracts of a subject; the newest are kept.
pub(super) const ACCEPTED: usize = 32;

/// The recorded state of all subjects of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ledger {
    /// The files when the last round of any subject ended; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
    /// The files that `contents` leaves out because vplan wrote them for the caller of that round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<RepoPath>,
    /// The number of recorded rounds, of all subjects together.
    pub rounds: u64,
    /// The subjects, ascending by name, each once.
    pub subjects: Vec<SubjectEntry>,
}

/// The files of a work tree, as far as they are not ignored, without vplan's own and without what
/// checks produce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Contents {
    /// The digest of their paths and contents.
    pub digest: Digest,
    /// The number of files.
    pub files: u64,
}

/// The recorded state of one subject.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubjectEntry {
    /// The contracts that a person has accepted for it although they ask for less than the one at
    /// its base, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Acceptance>,
    /// The digest of the request that its confirmations confirm: role, risk, tier, boundaries,
    /// mode, commands and base.
    pub asked: Option<Digest>,
    /// The terms under which it began; absent before its first run.
    pub began: Option<Began>,
    /// Whether a run was one of its rounds: a report of the caller alone no longer makes it done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_runs: bool,
    /// The contract of its rounds.
    pub contract: Option<ContractMark>,
    /// The number of confirmations of its work in a row, as recorded: no gate caps it.
    pub counter: u32,
    /// The decision of its last round.
    pub decision: Decision,
    /// The time at which its last round ended, or without one at which it began, as the caller
    /// reported it.
    pub ended_at: String,
    /// Whether a run failed or left work unverified, and since then none has passed in full and no
    /// person has accepted a contract: an empty change is not done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The failures of the last rounds in which verification failed, latest last; as many as are
    /// needed to find that they are the same.
    pub failures: Vec<Digest>,
    /// The failures with which it was given up since it was last done, and those seen since then:
    /// another one counts anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<Digest>,
    /// Whether its last round changed nothing.
    pub no_change: bool,
    /// The reason for its decision, where the decision is about more than the last round.
    pub reason: Option<Because>,
    /// The identity of the directory that it began in.
    pub root: Option<String>,
    /// The number of its rounds.
    pub rounds: u64,
    /// The id of its last round's run, if that was a run.
    pub run_id: Option<String>,
    /// The files when no check of the contract applied to its whole change.
    pub settled: Option<Contents>,
    /// The status of its last round: reported by the caller, or derived from its verdict.
    pub status: Status,
    /// The subject's name.
    pub subject: String,
    /// The files that differed from the base in its rounds, by the commit that HEAD was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<Trace>,
    /// The number of rounds of repair used up since it was last done.
    pub used: u32,
    /// The verdict of its last round, if that was a run.
    pub verdict: Option<Verdict>,
    /// The waivers: each allowed it to go on without a pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<Waiver>,
}

/// A person has accepted a contract that asks for less (`vplan gate accept`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Acceptance {
    /// The time, as the caller reported it.
    pub at: String,
    /// The digest of the contract with all that it imports.
    pub contract: Digest,
}

impl SubjectEntry {
    /// Creates the entry of a subject that has had no round.
    pub fn begun(subject: &str, at: &str, began: Option<Began>) -> Self {
        Self {
            accepted: Vec::new(),
            asked: None,
            began,
            by_runs: false,
            contract: None,
            counter: 0,
            decision: Decision::Retry,
            ended_at: at.to_owned(),
            failed: false,
            failures: Vec::new(),
            given_up: Vec::new(),
            no_change: false,
            reason: None,
            root: None,
            rounds: 0,
            run_id: None,
            settled: None,
            status: Status::Continue,
            subject: subject.to_owned(),
            traces: Vec::new(),
            used: 0,
            verdict: None,
            waivers: Vec::new(),
        }
    }

    /// Returns its present decision, which depends on the other subjects too: that of its last
    /// round, as far as its counter still supports it.
    pub fn standing(&self, confirmations: u32, others_complete: bool) -> Decision {
        let done = self.status == Status::Done && self.reason.is_none();
        match (done, self.counter >= confirmations) {
            (true, true) if others_complete => Decision::Complete,
            (true, true) => Decision::Advance,
            (true, false) => Decision::Reverify,
            (false, _) => self.decision,
        }
    }

    /// Whether runs verify it: a run was a round of it, or it has a base commit for them.
    pub fn is_by_runs(&self) -> bool {
        let has_base = self.began.as_ref().is_some_and(|b| b.base.is_some());
        self.by_runs || has_base || self.run_id.is_some() || self.asked.is_some()
    }

    /// Whether it has had a round to which something applied.
    pub(super) fn worked(&self) -> bool {
        self.rounds > 0 && self.settled.is_none()
    }

    /// Whether it was given up, so that only another failure counts.
    pub(super) fn is_given_up(&self) -> bool {
        let last = matches!(
            self.decision,
            Decision::Fail | Decision::Escalate | Decision::Advance
        );
        last && matches!(
            self.reason,
            Some(Because::SameFailure | Because::VerificationFailedMaxRetries)
        )
    }
}

/// A subject was allowed to go on although its retries were used up (`on-exhausted allow`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waiver {
    /// The time, as the caller reported it.
    pub at: String,
    /// The reason: `verification_failed_max_retries`.
    pub reason: String,
    /// The number of the subject's round, from 1.
    pub round: u64,
}

/// The status that a caller reports for a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SubjectStatus")]
pub enum Status {
    /// The work is done.
    Done,
    /// There is more to do.
    #[default]
    Continue,
    /// There is more to do, for another agent or a fresh session.
    Rotate,
    /// It cannot go on without a person.
    Stuck,
}

/// The requirements of a gate, with its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Terms {
    /// The number of required confirmations, at least 1.
    pub confirmations: u32,
    /// The decision when the retries are used up.
    #[serde(rename = "onExhausted")]
    pub exhausted: Exhausted,
    /// The effect of a change on other subjects.
    pub propagate: Propagate,
    /// The number of rounds of repair that may follow the first one.
    pub retries: u32,
    /// The number of times in a row that the same failure may come, at least 2.
    pub same_failure: u32,
}

/// The decision when the retries are used up: `on-exhausted`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exhausted {
    /// Give up.
    Fail,
    /// A person decides.
    Escalate,
    /// Go on, with a waiver.
    Allow,
}

/// `propagate`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Propagate {
    /// A subject with N confirmations falls to N - 1.
    Downgrade,
    /// All fall to 0.
    Reset,
    /// Nothing.
    Off,
}

impl Terms {
    /// Reads the terms of a gate; no gate is one without lines. A word that no checked contract has
    /// gets the strictest meaning.
    pub fn from_gate(gate: Option<&Gate>) -> Self {
        let none = Gate::default();
        let gate = gate.unwrap_or(&none);
        Self {
            confirmations: gate.confirmations.unwrap_or(1).max(1),
            exhausted: match gate.on_exhausted.as_deref() {
                Some("allow") => Exhausted::Allow,
                Some("escalate") => Exhausted::Escalate,
                _ => Exhausted::Fail,
            },
            propagate: match gate.propagate.as_deref() {
                None | Some("downgrade") => Propagate::Downgrade,
                Some("off") => Propagate::Off,
                Some(_) => Propagate::Reset,
            },
            retries: gate.retries.unwrap_or(DEFAULT_RETRIES),
            same_failure: gate.same_failure.unwrap_or(SAME_FAILURE).max(2),
        }
    }
}

impl Ledger {
    /// Returns the entry of a subject.
    pub fn entry(&self, subject: &str) -> Option<&SubjectEntry> {
        let at = self.position(subject).ok()?;
        self.subjects.get(at)
    }

    /// Returns a subject's counter under a gate that requires that many confirmations; 0 for a new
    /// subject.
    pub fn counter(&self, subject: &str, confirmations: u32) -> u32 {
        self.entry(subject)
            .map_or(0, |e| e.counter.min(confirmations))
    }

    /// Returns the number of a subject's next attempt, from 1.
    pub fn attempt(&self, subject: &str) -> u32 {
        self.entry(subject).map_or(0, |e| e.used).saturating_add(1)
    }

    /// Lists all subjects but one, with their counters.
    pub fn others(&self, subject: &str, confirmations: u32) -> Vec<SubjectConfirmations> {
        let others = self.subjects.iter().filter(|e| e.subject != subject);
        others
            .map(|e| SubjectConfirmations {
                counter: e.counter.min(confirmations),
                subject: e.subject.clone(),
            })
            .collect()
    }

    /// Whether there is a subject, and each has been confirmed often enough.
    pub fn is_complete(&self, confirmations: u32) -> bool {
        !self.subjects.is_empty() && self.subjects.iter().all(|e| e.counter >= confirmations)
    }

    /// Records that a person accepts a contract for a subject. Returns whether the subject is
    /// known.
    pub fn accept(&mut self, subject: &str, acceptance: Acceptance) -> bool {
        let Some(entry) = self.entry_mut(subject) else {
            return false;
        };
        entry.failed = false;
        entry.accepted.retain(|a| a.contract != acceptance.contract);
        entry.accepted.push(acceptance);
        keep_newest(&mut entry.accepted, ACCEPTED);
        true
    }

    /// Whether all subjects but one are confirmed often enough.
    pub fn others_complete(&self, subject: &str, confirmations: u32) -> bool {
        self.subjects
            .iter()
            .filter(|e| e.subject != subject)
            .all(|e| e.counter >= confirmations)
    }

    /// Binds a subject to a contract and a directory, unless it is.
    pub fn bind(&mut self, subject: &str, contract: Option<ContractMark>, root: Option<String>) {
        if let Some(entry) = self.entry_mut(subject) {
            entry.contract = entry.contract.take().or(contract);
            entry.root = entry.root.take().or(root);
        }
    }

    /// Begins a subject, or widens one that has begun: its next rounds cover more.
    pub fn begin(&mut self, subject: &str, at: &str, began: Began) {
        let Some(e) = self.entry_mut(subject) else {
            return self.put(SubjectEntry::begun(subject, at, Some(began)));
        };
        // Manual rounds do not count as evidence once runs verify the subject.
        if !e.is_by_runs() {
            (e.counter, e.status, e.decision, e.reason) =
                (0, Status::Continue, Decision::Retry, None);
        }
        e.began = Some(began);
    }

    /// Forgets the places of a subject's work. That work has passed and may be elsewhere.
    pub fn forget_traces(&mut self, subject: &str) {
        if let Some(entry) = self.entry_mut(subject) {
            entry.traces.clear();
        }
    }

    /// Removes a subject. Returns whether it was known.
    pub fn reset(&mut self, subject: &str) -> bool {
        let before = self.subjects.len();
        self.subjects.retain(|e| e.subject != subject);
        self.subjects.len() < before
    }

    /// Adds a subject, or replaces its entry.
    pub(super) fn put(&mut self, entry: SubjectEntry) {
        self.reset(&entry.subject);
        let at = self.subjects.partition_point(|e| e.subject < entry.subject);
        self.subjects.insert(at, entry);
    }

    fn entry_mut(&mut self, subject: &str) -> Option<&mut SubjectEntry> {
        let at = self.position(subject).ok()?;
        self.subjects.get_mut(at)
    }

    fn position(&self, subject: &str) -> Result<usize, usize> {
        self.subjects
            .binary_search_by(|e| e.subject.as_str().cmp(subject))
    }
}

/// The terms under which a subject began: all of its rounds are compared with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Began {
    /// The base was HEAD because no default branch was known: commits before it were not looked
    /// at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// The commit that all rounds compare with; absent without git, and before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The digest of its contract then; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Digest>,
    /// Its gate then, or one that was at least as strong later.
    pub gate: Terms,
}

vplan_base::vocabulary! {
    /// The reason why a decision differs from what the verdict implies.
    Because {
        /// The caller said that it does not go on.
        Stuck = "stuck",
        /// The same failure came too often in a row.
        SameFailure = "same_failure",
        /// The retries are used up.
        VerificationFailedMaxRetries = "verification_failed_max_retries",
        /// Nothing applies to the subject's whole change.
        NothingApplies = "nothing_applies",
        /// It verified a part of what the subject's whole change asks for.
        PartOfChange = "part_of_change",
        /// The work of earlier rounds is not there.
        LeftBehind = "left_behind",
        /// The caller says that it is done, and no run has shown it.
        NotVerified = "not_verified",
        /// The contract is not that of the round before.
        ContractChanged = "contract_changed",
        /// The change is empty, and earlier work was not verified.
        EmptyChange = "empty_change",
        /// The subject began in another work tree, or on commits that HEAD does not contain.
        OtherSubject = "other_subject",
    }
}
