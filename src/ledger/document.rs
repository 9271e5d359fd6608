//! Writes a ledger as JSON, and reads one back or refuses it.
//!
//! The file contains its own digest: a truncated file, a file of another tool, or an edited one is
//! not a ledger. That guards against accidents only: a process that can write the file can compute
//! a digest too.

use super::entry::Ledger;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vplan_base::canon::{Digest, to_canonical};

/// The version of the form that is written. Version 1, which had no base, no gate and no traces, and
/// version 2, in which subjects were bound to no contract and no directory, are still read.
pub const VERSION: u64 = 3;
/// The first version.
const FIRST: u64 = 1;

/// A ledger as it is written.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LedgerFile")]
#[serde(deny_unknown_fields)]
pub struct LedgerDocument {
    /// The digest of `ledger`.
    digest: Digest,
    /// All of it.
    ledger: Ledger,
    #[schemars(extend("const" = 3))]
    version: u64,
}

/// The reason why a text cannot be used as a ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableLedger {
    /// It was not written by vplan, or not in full, or something has changed it.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// A newer vplan wrote it.
    #[error("a newer vplan wrote it (version {0}, this one knows {VERSION})")]
    Newer(u64),
}

/// Writes a ledger as JSON text, with its digest.
pub fn encode(ledger: &Ledger) -> String {
    let document = LedgerDocument {
        digest: Digest::of_value(ledger),
        ledger: ledger.clone(),
        version: VERSION,
    };
    to_canonical(&document) + "\n"
}

/// Reads the text that [`encode`] wrote.
///
/// # Errors
/// The text is damaged, or was written by a newer vplan.
pub fn decode(text: &[u8]) -> Result<Ledger, UnusableLedger> {
    let damaged = |why: &dyn std::fmt::Display| UnusableLedger::Damaged(why.to_string());
    let value: Value = serde_json::from_slice(text).map_err(|e| damaged(&e))?;
    match value.get("version").and_then(Value::as_u64) {
        Some(FIRST..=VERSION) => {}
        Some(newer) if newer > VERSION => return Err(UnusableLedger::Newer(newer)),
        _ => return Err(damaged(&"it does not say its version")),
    }
    // The digest covers the text of the file, including fields of later versions.
    let found = value.get("ledger").map(Digest::of_value);
    let document: LedgerDocument = serde_json::from_value(value).map_err(|e| damaged(&e))?;
    if found.as_ref() != Some(&document.digest) {
        return Err(damaged(&"its content is not what its digest says"));
    }
    let sorted = document
        .ledger
        .subjects
        .is_sorted_by(|a, b| a.subject < b.subject);
    if sorted {
        Ok(document.ledger)
    } else {
        Err(damaged(&"its subjects are not in order"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_believed() {
        let text = encode(&Ledger {
            rounds: 7,
            ..Ledger::default()
        });
        assert_eq!(decode(text.as_bytes()).unwrap().rounds, 7);
        assert!(matches!(
            decode(text.replace("\"version\":3", "\"version\":4").as_bytes()),
            Err(UnusableLedger::Newer(4))
        ));
        for damaged in [
            "",
            "{}",
            "null",
            "[]",
            "{\"version\":3}",
            "{\"version\":3,\"subjects\":[],\"rounds\":0}",
            &text.replace("\"rounds\":7", "\"rounds\":8"),
            &text.replace("\"rounds\"", "\"round\""),
            text.get(..text.len() - 3).unwrap(),
            &text.replace("\"version\":3", "\"version\":0"),
            &text.replace("\"version\":3", "\"version\":\"3\""),
            &text.replace("\"rounds\":7", "\"more\":1,\"rounds\":7"),
        ] {
            assert!(
                matches!(decode(damaged.as_bytes()), Err(UnusableLedger::Damaged(_))),
                "{damaged}"
            );
        }
        assert!(decode(b"\xff").is_err());
    }

    /// Written by vplan 0.1.0 before subjects had a base.
    const FIRST_VERSION: &str = concat!(
        r#"{"digest":"DIGEST","ledger":"#,
        r#"{"contents":{"digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","files":3},"rounds":2,"#,
        r#""subjects":[{"counter":2,"decision":"reverify","endedAt":"2026-01-01T00:00:00Z","failures":[],"noChange":true,"rounds":2,"#,
        r#""runId":"r2","status":"done","subject":"S","used":0,"verdict":"passed"}]},"version":1}"#,
    );

    /// Written before subjects were bound to a contract and a directory.
    #[test]
    fn the_second_version_is_read() {
        let value: Value = serde_json::from_str(FIRST_VERSION).unwrap();
        let digest = Digest::of_value(&value["ledger"]).to_string();
        let text = FIRST_VERSION.replace("DIGEST", &digest);
        let text = text.replace("\"version\":1", "\"version\":2");
        let ledger = decode(text.as_bytes()).unwrap();
        let entry = ledger.entry("S").unwrap();
        assert_eq!(
            (&entry.contract, &entry.root, entry.failed),
            (&None, &None, false)
        );
        assert!(encode(&ledger).contains("\"version\":3"));
    }

    #[test]
    fn the_first_version_is_read() {
        let value: Value = serde_json::from_str(FIRST_VERSION).unwrap();
        let digest = Digest::of_value(&value["ledger"]).to_string();
        let text = FIRST_VERSION.replace("DIGEST", &digest);
        let ledger = decode(text.as_bytes()).unwrap();
        let entry = ledger.entry("S").unwrap();
        assert_eq!(
            (
                entry.counter,
                entry.rounds,
                entry.began.as_ref(),
                entry.worked()
            ),
            (2, 2, None, true)
        );
        assert_eq!(decode(encode(&ledger).as_bytes()).unwrap(), ledger);
        for damaged in [
            &text.replace("\"counter\":2", "\"counter\":3"),
            &text.replace("\"version\":1", "\"version\":0"),
        ] {
            assert!(matches!(
                decode(damaged.as_bytes()),
                Err(UnusableLedger::Damaged(_))
            ));
        }
    }
}
