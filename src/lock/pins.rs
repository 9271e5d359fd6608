//! The pinned imports and recorded answers of a lock, and their order in it.

use serde_json::{Value, json};
use std::iter::once;
use vplan_base::canon::Digest;
use vplan_base::origin::{GitOrigin, GitRef};

/// The pinned imports and answers of a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// The branches and tags that are imported from. None twice.
    pub refs: Vec<PinnedRef>,
    /// The git imports. No origin twice.
    pub imports: Vec<PinnedImport>,
    /// The recorded answers. No question twice.
    pub proposals: Vec<RecordedAnswer>,
}

/// The pinned bytes of a git import.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PinnedImport {
    pub origin: GitOrigin,
    pub digest: Digest,
    pub bytes: u64,
}

/// The commit that a branch or a tag names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PinnedRef {
    /// The branch or tag.
    pub at: GitRef,
    /// The commit, 40 or 64 lower-case hexadecimal digits.
    pub commit: String,
    /// The identity of the contract that was accepted with this commit, if the commit weakened it.
    pub accepted: Option<Digest>,
}

/// The recorded answer of a proposer or a judge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordedAnswer {
    /// The digest of the exact question.
    pub question: Digest,
    /// The program that answered.
    pub proposer: String,
    /// The recorded answer. Users check it against the rules for answers again.
    pub answer: String,
}

impl Lock {
    /// Returns the commit of a branch or tag.
    pub fn commit(&self, at: &GitRef) -> Option<&PinnedRef> {
        self.refs.iter().find(|pinned| pinned.at == *at)
    }

    /// Pins a branch or tag to a commit, replacing its earlier pin.
    pub fn pin_ref(&mut self, pinned: PinnedRef) {
        self.refs.retain(|other| other.at != pinned.at);
        self.refs.push(pinned);
        self.refs.sort();
    }

    /// Returns the pin of an import.
    pub fn import(&self, origin: &GitOrigin) -> Option<&PinnedImport> {
        self.imports.iter().find(|i| i.origin == *origin)
    }

    /// Returns the recorded answer to a question.
    pub fn answer(&self, question: &Digest) -> Option<&RecordedAnswer> {
        self.proposals.iter().find(|a| a.question == *question)
    }

    /// Pins an import, replacing its earlier pin.
    pub fn pin(&mut self, import: PinnedImport) {
        self.imports.retain(|i| i.origin != import.origin);
        self.imports.push(import);
        self.imports.sort();
    }

    /// Records an answer, and replaces the one to the same question.
    pub fn record(&mut self, answer: RecordedAnswer) {
        self.proposals.retain(|a| a.question != answer.question);
        self.proposals.push(answer);
        self.proposals.sort();
    }

    /// Whether there are no pins.
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty() && self.imports.is_empty() && self.proposals.is_empty()
    }
}

/// An entry, of either kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LockEntry {
    Ref(PinnedRef),
    Import(PinnedImport),
    Proposal(RecordedAnswer),
}

/// The key of an entry, by which entries are sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Ref(GitRef),
    Import(GitOrigin),
    Proposal(Digest),
}

impl LockEntry {
    pub(crate) fn key(&self) -> Key {
        match self {
            LockEntry::Ref(pinned) => Key::Ref(pinned.at.clone()),
            LockEntry::Import(import) => Key::Import(import.origin.clone()),
            LockEntry::Proposal(answer) => Key::Proposal(answer.question.clone()),
        }
    }

    /// Returns the name of its node, the number of values on the first of its two lines, and the
    /// values with their names, all but the seal.
    pub(crate) fn values(&self) -> (&'static str, usize, Vec<(&'static str, Value)>) {
        match self {
            LockEntry::Ref(r) => {
                let (at, commit) = (("", json!(r.at.to_string())), ("commit", json!(r.commit)));
                ("ref", 1, vec![at, commit, ("accepted", json!(r.accepted))])
            }
            LockEntry::Import(i) => {
                let (digest, bytes) = (json!(i.digest), json!(i.bytes));
                let origin = ("", json!(i.origin.to_string()));
                (
                    "import",
                    1,
                    vec![origin, ("digest", digest), ("bytes", bytes)],
                )
            }
            LockEntry::Proposal(a) => {
                let question = ("question", json!(a.question));
                let proposer = ("proposer", json!(a.proposer));
                (
                    "proposal",
                    2,
                    vec![question, proposer, ("answer", json!(a.answer))],
                )
            }
        }
    }

    /// Returns 16 hexadecimal digits that depend on the whole entry.
    pub(crate) fn seal(&self) -> String {
        let (name, _, values) = self.values();
        let values = values.into_iter().map(|(_, value)| value);
        let all: Vec<Value> = once(json!(name)).chain(values).collect();
        Digest::of_value(&all).hex().chars().take(16).collect()
    }
}

/// Returns all entries of a lock in their order.
pub(crate) fn entries(lock: &Lock) -> Vec<LockEntry> {
    let refs = lock.refs.iter().cloned().map(LockEntry::Ref);
    let imports = lock.imports.iter().cloned().map(LockEntry::Import);
    let mut all: Vec<LockEntry> = refs
        .chain(imports)
        .chain(lock.proposals.iter().cloned().map(LockEntry::Proposal))
        .collect();
    all.sort();
    all.dedup_by(|b, a| a.key() == b.key());
    all
}
