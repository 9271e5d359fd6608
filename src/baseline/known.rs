//! The entries of a baseline: known findings and failing tests.

use std::collections::{BTreeMap, BTreeSet};
use vplan_base::canon::Digest;
use vplan_check::baseline::KnownFindings;

/// Size limit of a baseline, in bytes.
pub const MAX_BYTES: u64 = 8 << 20;

/// Maximum number of entries of a baseline.
pub const MAX_ENTRIES: usize = 20_000;

/// Limit of a message or a name in an entry, in bytes.
pub const TEXT_SHOWN: usize = 160;

/// The known findings and failing tests of a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    entries: BTreeSet<KnownEntry>,
}

/// A known finding or failing test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownEntry {
    /// The name of the check that has it.
    pub check: String,
    /// Its description, for people.
    pub what: EntryKind,
    /// The format that it was parsed from, for people.
    pub format: String,
    pub fingerprint: Digest,
}

/// The description of an entry, for people: only the fingerprint decides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    Finding {
        /// Its file, from the root of the repository.
        file: String,
        /// The tool's code for it, if it has one.
        rule: Option<String>,
        /// The beginning of its message.
        message: String,
    },
    /// A failing test.
    Test {
        /// The beginning of its name.
        name: String,
    },
}

impl Baseline {
    /// Makes a baseline of entries, in any order.
    pub fn new(entries: impl IntoIterator<Item = KnownEntry>) -> Self {
        Self {
            entries: entries.into_iter().collect(),
        }
    }

    /// Returns the entries in their order: by check, findings before tests.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &KnownEntry> {
        self.entries.iter()
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the digest of its entries, independent of the layout.
    pub fn digest(&self) -> Digest {
        let listed: BTreeSet<(&str, &Digest)> = (self.entries.iter())
            .map(|e| (e.check.as_str(), &e.fingerprint))
            .collect();
        Digest::of_value(&listed)
    }

    /// Returns the entries, by check; `origin`: its name and where it was read, for people.
    pub fn to_known_findings(&self, origin: String) -> KnownFindings {
        let mut checks: BTreeMap<String, BTreeSet<Digest>> = BTreeMap::new();
        for entry in &self.entries {
            let listed = checks.entry(entry.check.clone()).or_default();
            listed.insert(entry.fingerprint.clone());
        }
        KnownFindings { checks, origin }
    }

    /// Returns the number of entries that each check has more than in another baseline: of those
    /// that the other does not list.
    pub fn beyond(&self, other: &Baseline) -> BTreeMap<&str, usize> {
        let listed: BTreeSet<(&str, &Digest)> = (other.entries.iter())
            .map(|e| (e.check.as_str(), &e.fingerprint))
            .collect();
        let mut more: BTreeMap<&str, BTreeSet<&Digest>> = BTreeMap::new();
        for entry in &self.entries {
            if !listed.contains(&(entry.check.as_str(), &entry.fingerprint)) {
                let own = more.entry(&entry.check).or_default();
                own.insert(&entry.fingerprint);
            }
        }
        more.into_iter()
            .map(|(check, own)| (check, own.len()))
            .collect()
    }
}

impl KnownEntry {
    /// Returns it on one line, for people: `src/a.js: semi: Missing semicolon.`
    pub fn line(&self) -> String {
        let text = match &self.what {
            EntryKind::Finding {
                file,
                rule,
                message,
            } => [Some(file), rule.as_ref(), Some(message)]
                .into_iter()
                .flatten()
                .filter(|part| !part.is_empty())
                .cloned()
                .collect::<Vec<_>>()
                .join(": "),
            EntryKind::Test { name } => name.clone(),
        };
        vplan_base::word::visible(text)
    }
}
