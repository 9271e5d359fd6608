//! The question to an external proposer, and the answers that are accepted.
//!
//! The question is one JSON object in canonical form; its digest is the identity under which an
//! answer is recorded and found again. It holds what the request holds, and no content of any file.
//! The answer is one JSON object:
//!
//! ```json
//! {"version":1,"commands":["make test",{"command":"cargo doc","why":"the change touches docs"}]}
//! ```
//!
//! Everything else is a bad answer: it is refused as a whole, and nothing of it is run.

pub(crate) mod answer;

use super::request::{Boundary, Mode, Request, Risk};
pub use answer::{
    BadProposal, MAX_ANSWER, MAX_COMMANDS, MAX_TEXT, Proposal, ProposalAnswer, ProposalRef,
    Suggestion,
};
use schemars::JsonSchema;
use serde::Serialize;
use vplan_base::canon::{Digest, to_canonical};
use vplan_base::change::ChangeSet;

use vplan_contract::{Body, Contract};

/// The protocol for authors of a proposer: the text of `vplan help proposer`.
pub const PROTOCOL: &str = include_str!("proposal.md");

/// The question to a proposer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The boundaries that the change completes.
    boundaries: Vec<Boundary>,
    /// The changed files, sorted.
    changed: ChangeSet,
    /// The checks of the contract, so that nothing is proposed twice.
    checks: Vec<KnownCheck>,
    /// The digest of the contract, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    contract: Option<Digest>,
    /// The commands that the caller named.
    explicit: Vec<String>,
    /// The least tier: 0, 1 or 2.
    min_tier: u8,
    /// The source of checks.
    mode: Mode,
    /// The risk of the change.
    risk: Risk,
    /// The role of the change's author.
    role: String,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// A check that the contract has.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Known")]
struct KnownCheck {
    /// Its command, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Its name.
    id: String,
}

impl Question {
    /// Creates the question of a request.
    pub fn from_request(contract: Option<&Contract>, request: &Request) -> Self {
        let checks = contract.iter().flat_map(|c| &c.checks).map(|check| {
            let command = match &check.body {
                Body::Command(command) => Some(command.to_text()),
                Body::Shell(text) => Some(text.clone()),
                Body::File { .. } | Body::Judge(_) => None,
            };
            let id = check.id.clone();
            KnownCheck { command, id }
        });

        Self {
            boundaries: request.sorted_boundaries(),
            changed: request.changed.clone(),
            checks: checks.collect(),
            contract: contract.map(|c| c.digest.clone()),
            explicit: request.explicit_texts(),
            min_tier: request.min_tier,
            mode: request.mode,
            risk: request.risk,
            role: request.role.clone().unwrap_or_else(|| "worker".to_owned()),
            version: 1,
        }
    }

    /// Returns the question as canonical JSON, exactly as it is sent.
    pub fn text(&self) -> String {
        to_canonical(self)
    }
}

/// The record of a proposal in a run, written by [`Proposal::record`].
#[derive(Debug, JsonSchema)]
pub struct RecordedProposal {
    /// The proposer's answer.
    pub answer: ProposalAnswer,
    /// The question.
    pub question: Question,
    /// 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn answers() {
        let one = |command: &str, why: Option<&str>| Suggestion {
            command: command.into(),
            why: why.map(Into::into),
        };
        for (text, want) in [
            (r#"{"commands":[]}"#, vec![]),
            (
                r#" {"version":1,"commands":["make", {"command":"a && b","why":"both"}]}
"#,
                vec![one("make", None), one("a && b", Some("both"))],
            ),
        ] {
            let answer = ProposalAnswer::read(text.as_bytes()).unwrap();
            assert_eq!(answer.commands, want, "{text}");
            assert_eq!(
                ProposalAnswer::read(answer.text().as_bytes()).unwrap(),
                answer
            );
        }
    }

    #[test]
    fn the_protocol_shows_a_question_and_an_answer() {
        let block = |name: &str| {
            let (_, rest) = PROTOCOL.split_once(&format!("```{name}\n")).unwrap();
            rest.split_once("\n```").unwrap().0
        };
        assert_eq!(
            ProposalAnswer::read(block("answer").as_bytes())
                .unwrap()
                .commands
                .len(),
            2
        );
        let question = Question {
            boundaries: vec![],
            changed: ChangeSet::new(vec![vplan_base::change::ChangedFile {
                path: vplan_base::path::RepoPath::parse(b"src/a.c").unwrap(),
                status: vplan_base::change::Status::Modified,
            }]),
            checks: vec![KnownCheck {
                command: Some("make test".into()),
                id: "unit".into(),
            }],
            contract: Some(Digest::hash(b"")),
            explicit: vec![],
            min_tier: 0,
            mode: Mode::Llm,
            risk: Risk::Medium,
            role: "worker".into(),
            version: 1,
        };
        assert_eq!(block("question"), question.text());
        let shown: Value = serde_json::from_str(block("question")).unwrap();
        for key in shown.as_object().unwrap().keys() {
            assert!(
                PROTOCOL.contains(&format!("`{key}`")),
                "{key} is not explained"
            );
        }
        for limit in [
            MAX_COMMANDS.to_string(),
            format!("{} KiB", MAX_TEXT >> 10),
            format!("{} MiB", MAX_ANSWER >> 20),
        ] {
            assert!(PROTOCOL.contains(&limit), "{limit}");
        }
    }

    #[test]
    fn bad_answers() {
        let many = format!(
            "{{\"commands\":[{}]}}",
            vec!["\"x\""; MAX_COMMANDS + 1].join(",")
        );
        let long = format!("{{\"commands\":[\"{}\"]}}", "x".repeat(MAX_TEXT + 1));
        let huge = format!("{}{{\"commands\":[]}}", " ".repeat(MAX_ANSWER));
        let deep = "[".repeat(100_000);
        for (text, part) in [
            ("", "EOF"),
            ("sure, here you go: make test", "expected value"),
            ("```json\n{\"commands\":[]}\n```", "expected value"),
            ("[]", "invalid"),
            ("[1, []]", "invalid type: a list"),
            ("null", "invalid"),
            ("{}", "missing field `commands`"),
            (r#"{"commands":"make"}"#, "invalid type"),
            (r#"{"commands":[1]}"#, "is neither a string nor an object"),
            (
                r#"{"commands":[null]}"#,
                "is neither a string nor an object",
            ),
            (
                r#"{"commands":[["make"]]}"#,
                "is neither a string nor an object",
            ),
            (
                r#"{"commands":[{"command":"x","shell":true}]}"#,
                "is neither a string nor an object",
            ),
            (r#"{"commands":[],"run":1}"#, "unknown field `run`"),
            (r#"{"commands":[],"commands":["x"]}"#, "duplicate field"),
            (r#"{"version":2,"commands":[]}"#, "version 2"),
            (r#"{"version":"1","commands":[]}"#, "invalid type"),
            (r#"{"commands":[]} and more"#, "trailing characters"),
            (r#"{"commands":[" "]}"#, "command 1 of the answer is empty"),
            ("{\"commands\":[\"a\\u0000b\"]}", "NUL"),
            (r#"{"commands":["\ud800"]}"#, "not the JSON"),
            (&many, "101 commands"),
            (&long, "too long"),
            (&huge, "more than"),
            (&deep, "not the JSON"),
        ] {
            let error = ProposalAnswer::read(text.as_bytes()).unwrap_err().0;
            assert!(
                error.contains(part),
                "{}: {error}",
                text.chars().take(80).collect::<String>()
            );
            assert!(!error.contains('\n'));
        }
        assert!(ProposalAnswer::read(b"{\"commands\":[\"\xff\"]}").is_err());
    }
}
