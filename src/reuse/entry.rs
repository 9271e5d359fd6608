//! The cached record of a pass, and the detection of damage.

use super::key::{Parts, Print};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::{Digest, to_canonical};
use vplan_base::path::RepoPath;
use vplan_check::evidence::EarlierPass;

/// The version of the file format.
pub const VERSION: u32 = 1;

/// A pass, kept under its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptPass {
    /// The key of the same pass, kept for the state that it left, or for that in which it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterpart: Option<Digest>,
    /// The first file that it changed and that others had left: why it is not kept for the state
    /// that it left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited: Option<RepoPath>,
    /// The digest of `parts`.
    pub key: Digest,
    /// The parts of the step that passed.
    pub parts: Parts,
    /// The pass.
    pub pass: EarlierPass,
    /// The files that the step left of what it `produces`, ascending by path.
    pub products: Vec<Product>,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// The files, ignored by git, that it changed although it depends on them, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<RepoPath>,
}

/// A file that a step made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Product {
    /// Its path.
    pub path: RepoPath,
    /// Its content.
    pub print: Print,
}

impl KeptPass {
    /// Creates the entry of a pass.
    pub fn new(parts: Parts, products: Vec<Product>, pass: EarlierPass) -> Self {
        Self {
            counterpart: None,
            inherited: None,
            key: parts.key(),
            parts,
            pass,
            products,
            version: VERSION,
            wrote: Vec::new(),
        }
    }

    /// Returns the same pass, cached for the state that it left. Each names the other.
    pub fn left(&mut self, parts: Parts) -> Self {
        let key = parts.key();
        self.counterpart = Some(key.clone());
        Self {
            counterpart: Some(self.key.clone()),
            key,
            parts,
            ..self.clone()
        }
    }

    /// Returns the file's bytes: the digest on a separate line, then the canonical form and a line
    /// feed.
    pub fn encode(&self) -> Vec<u8> {
        let body = to_canonical(self);
        format!("{}\n{body}\n", Digest::hash(body.as_bytes())).into_bytes()
    }

    /// Reads the entry of a key; `None` if it is damaged, or of another key or version. Never
    /// panics.
    pub fn decode(key: &Digest, bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (digest, body) = text.strip_suffix('\n')?.split_once('\n')?;
        if digest.parse() != Ok(Digest::hash(body.as_bytes())) {
            return None;
        }
        let entry: Self = serde_json::from_str(body).ok()?;
        (entry.version == VERSION && entry.key == *key && entry.parts.key() == *key)
            .then_some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::FileSet;
    use super::*;
    use std::collections::BTreeSet;
    use vplan_check::confine::{Guarantee, SandboxLevel};
    use vplan_check::difference::{Difference, DifferenceKind};

    fn entry() -> KeptPass {
        let parts = Parts {
            enforced: Vec::new(),
            environment: vec![(vplan_base::word::Word::from("A"), Digest::hash(b"1"))],
            files: FileSet {
                count: 0,
                digest: Digest::hash(b""),
            },
            judging: super::super::key::JUDGING,
            place: Digest::hash(b"/repo"),
            platform: "x".to_owned(),
            predecessors: Digest::hash(b""),
            reads: None,
            toolchains: None,
            settings: Digest::hash(b"s"),
            tools: Vec::new(),
            vplan: "0".to_owned(),
        };
        KeptPass::new(
            parts,
            Vec::new(),
            EarlierPass {
                run_id: "r".to_owned(),
                ..EarlierPass::default()
            },
        )
    }

    #[test]
    fn another_confinement_is_another_key() {
        let plain = entry().parts;
        let enforced = |list: &[Guarantee]| Parts {
            enforced: list.to_vec(),
            ..plain.clone()
        };
        // Keys from before there were levels stay the same.
        let text = serde_json::to_string(&plain).unwrap();
        assert!(!text.contains("enforced"), "{text}");
        assert_eq!(enforced(&[]).key(), plain.key());
        let offline = enforced(&[Guarantee::NetworkOff]);
        let guarded = enforced(SandboxLevel::Guard.guarantees());
        assert!(offline.key() != plain.key() && offline.key() != guarded.key());
        let differs = offline.differences(&plain, Vec::new());
        assert_eq!(differs, [Difference::unnamed(DifferenceKind::Settings)]);
    }

    #[test]
    fn a_pass_is_kept_under_the_guarantees_that_held() {
        let plain = entry().parts;
        let sets = 0..1_usize << Guarantee::ALL.len();
        let keys = sets.clone().map(|set| {
            let held = Guarantee::ALL.into_iter().enumerate();
            let held = held.filter(|(bit, _)| set & 1 << bit != 0);
            Parts {
                enforced: held.map(|(_, one)| one).collect(),
                ..plain.clone()
            }
            .key()
        });
        let keys: BTreeSet<Digest> = keys.collect();
        assert_eq!(
            keys.len(),
            sets.len(),
            "no set of guarantees has the key of another"
        );
    }

    #[test]
    fn only_what_is_whole_is_read() {
        let entry = entry();
        let bytes = entry.encode();
        assert_eq!(KeptPass::decode(&entry.key, &bytes), Some(entry.clone()));
        assert_eq!(
            KeptPass::decode(&Digest::hash(b"other"), &bytes),
            None,
            "of another key"
        );
        for end in 0..bytes.len() {
            assert_eq!(
                KeptPass::decode(&entry.key, &bytes[..end]),
                None,
                "torn at {end}"
            );
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_eq!(
                KeptPass::decode(&entry.key, &other),
                None,
                "damaged at {at}"
            );
        }
        let mut forged = entry.clone();
        forged.parts.vplan = "1".to_owned();
        assert_eq!(
            KeptPass::decode(&entry.key, &forged.encode()),
            None,
            "whole, but its parts do not give its key"
        );
    }
}
