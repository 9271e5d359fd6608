//! The key and the signed record of a pass that replaces a step on every machine of a scope.
//!
//! INVARIANT (shared): a pass of another machine replaces a step only if both have the same
//! [`SharedParts`]. These are the contract's settings for the step and its predecessors, the
//! contents of all files in the repository that it may read, and the outputs of the contract's
//! `toolchain` commands. Further, the contents of the first programs, the variables that the check
//! names, and the enforced guarantees. For everything else on a machine, the operator vouches with
//! the scope. The signer states that the step passed. A record counts only if a key that the
//! operator trusts has signed it.

use super::key::{FileSet, Print};
use super::signing::{Signer, Trust, Untrusted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vplan_base::canon::{Digest, to_canonical};
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_check::confine::Guarantee;
use vplan_check::evidence::EarlierPass;

/// The version of the format of a record.
pub const VERSION: u32 = 1;
/// Size limit of a record, in bytes.
pub const MOST: u64 = 16 << 20;

/// All that may have a say in how a step ends, on any machine of a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SharedParts {
    /// What the system makes sure of while the step runs, sorted.
    pub enforced: Vec<Guarantee>,
    /// The variables that the check names and that are granted, and those of language and time, ascending by
    /// name. Whoever can read the record can try values.
    pub environment: Vec<(Word, Digest)>,
    /// The files that `inputs`, `requires` and `unchanged` select; of their permissions only whether they can
    /// be executed.
    pub files: FileSet,
    /// The version of the rules that evaluated it.
    pub judging: u32,
    /// The system and its processor.
    pub platform: String,
    /// Of the settings of all steps that must be over before it, in no order, as one.
    pub predecessors: Digest,
    /// What the operator says of the machine.
    pub scope: String,
    /// Of the settings of the step itself.
    pub settings: Digest,
    /// Of what each `toolchain` command wrote, by name.
    pub toolchains: BTreeMap<String, Digest>,
    /// Of the program that its command names, then of that program's interpreter, and so on.
    pub tools: Vec<Digest>,
    /// The version of vplan.
    pub vplan: String,
}

impl SharedParts {
    /// Returns the key: the digest of all parts.
    pub fn key(&self) -> Digest {
        Digest::of_value(self)
    }
}

/// The permissions of a file that can be executed, and of one that cannot.
const EXECUTABLE: u32 = 0o755;
const PLAIN: u32 = 0o644;

/// Returns the properties of a file that are equal on every machine.
pub fn portable(print: &Print) -> Print {
    let is_executable = print.mode & 0o100 != 0;
    Print {
        mode: if is_executable { EXECUTABLE } else { PLAIN },
        ..print.clone()
    }
}

/// Returns the digest of files that may be on any machine. `held`: that of the files of
/// `unchanged`.
pub fn files<'p>(
    files: impl IntoIterator<Item = (&'p RepoPath, &'p Print)>,
    held: Option<&Digest>,
) -> FileSet {
    let portable: Vec<(&RepoPath, Print)> = files
        .into_iter()
        .map(|(path, print)| (path, portable(print)))
        .collect();
    let mut set = FileSet::from_files(portable.iter().map(|(path, print)| (*path, print)));
    if let Some(held) = held {
        set.digest = Digest::hash(format!("{} {held}", set.digest).as_bytes());
    }
    set
}

/// A pass that is shared, with its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SharedPass {
    /// The digest of `parts`.
    pub key: Digest,
    /// The parts of the step that passed.
    pub parts: SharedParts,
    /// The pass.
    pub pass: EarlierPass,
    /// The files that the step left of what it `produces`, ascending by path, each with its size in bytes.
    pub products: Vec<SharedProduct>,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

/// A file that a step made, whose content is kept under its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SharedProduct {
    /// Its path.
    pub path: RepoPath,
    /// Its content.
    pub print: Print,
    /// In bytes.
    pub size: u64,
}

/// The reason why a record is not trusted. For people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Its signature does not count.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// The signed text is not a record, or has another key.
    #[error("it is no pass of this key")]
    Damaged,
}

impl SharedPass {
    /// Creates the record of a pass.
    pub fn new(parts: SharedParts, products: Vec<SharedProduct>, pass: EarlierPass) -> Self {
        Self {
            key: parts.key(),
            parts,
            pass,
            products,
            version: VERSION,
        }
    }

    /// Returns the record's bytes: the canonical form on a separate line, then the signature.
    pub fn encode(&self, signer: &Signer) -> Vec<u8> {
        signer
            .sign(&format!("{}\n", to_canonical(self)))
            .into_bytes()
    }

    /// Reads the record of a key, with the id of the key that signed it. Never panics.
    ///
    /// # Errors
    /// The reason why it is not trusted.
    pub fn decode(key: &Digest, bytes: &[u8], trust: &Trust) -> Result<(Self, String), Refused> {
        let text = std::str::from_utf8(bytes).map_err(|_| Refused::Damaged)?;
        let (body, signer) = trust.signed(text)?;
        let body = body.strip_suffix('\n').ok_or(Refused::Damaged)?;
        let pass: Self = serde_json::from_str(body).map_err(|_| Refused::Damaged)?;
        let is_own = pass.version == VERSION && pass.key == *key && pass.parts.key() == *key;
        is_own
            .then(|| (pass, signer.to_owned()))
            .ok_or(Refused::Damaged)
    }
}
