//! Decides the caller's next action from rounds of work (src/ledger/rounds.md).
//!
//! ```text
//! ledger x gate x round --record--> ledger x decision        pure
//! ```

#![forbid(unsafe_code)]

pub mod began;
pub mod contract_mark;
pub mod document;
mod entry;
pub mod round;
pub mod signature;
pub mod undone;

pub use entry::{
    Acceptance, Contents, Exhausted, Ledger, Propagate, Status, SubjectEntry, Terms, Waiver,
};

/// The text of `vplan help rounds`.
pub const ROUNDS: &str = include_str!("rounds.md");

/// The longest name of a subject, in bytes.
const LONGEST: usize = 256;

/// Returns why a text is not a valid name of a subject. Names are printed, compared and typed.
pub fn wrong_name(subject: &str) -> Option<&'static str> {
    if subject.is_empty() {
        Some("is empty")
    } else if subject.len() > LONGEST {
        Some("is longer than 256 bytes")
    } else if subject.trim() != subject {
        Some("begins or ends with a blank")
    } else if vplan_base::word::visible(subject) != subject {
        Some("has a character that cannot be shown")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_contract::Gate;

    #[test]
    fn names() {
        let long = "x".repeat(257);
        for (name, wrong) in [
            ("M1", false),
            ("specs/login page.md", false),
            ("größe", false),
            ("", true),
            (" a", true),
            ("a\n", true),
            ("a\x1b[2J", true),
            ("a\u{202e}b", true),
            (long.as_str(), true),
        ] {
            assert_eq!(wrong_name(name).is_some(), wrong, "{name:?}");
        }
    }

    #[test]
    fn gates() {
        let gate = |exhausted: Option<&str>, propagate: Option<&str>| Gate {
            confirmations: Some(0),
            retries: None,
            on_exhausted: exhausted.map(str::to_owned),
            propagate: propagate.map(str::to_owned),
            same_failure: None,
        };
        for (on_exhausted, propagate, want) in [
            (None, None, (Exhausted::Fail, Propagate::Downgrade)),
            (
                Some("fail"),
                Some("downgrade"),
                (Exhausted::Fail, Propagate::Downgrade),
            ),
            (
                Some("escalate"),
                Some("off"),
                (Exhausted::Escalate, Propagate::Off),
            ),
            (
                Some("allow"),
                Some("reset"),
                (Exhausted::Allow, Propagate::Reset),
            ),
            (
                Some("alow"),
                Some("downgrde"),
                (Exhausted::Fail, Propagate::Reset),
            ),
        ] {
            let terms = Terms::from_gate(Some(&gate(on_exhausted, propagate)));
            assert_eq!((terms.exhausted, terms.propagate), want);
            assert_eq!(
                (terms.confirmations, terms.retries, terms.same_failure),
                (1, 3, 3)
            );
        }
        assert_eq!(Terms::from_gate(None).confirmations, 1);
    }
}
