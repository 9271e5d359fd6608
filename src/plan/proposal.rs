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

use super::request::{Boundary, Mode, Request, Risk};
use crate::base::canon::{Digest, to_canonical};
use crate::base::change::ChangeSet;
use crate::base::command::Command;
use crate::base::word::visible;
use crate::contract::{Body, Contract};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// The protocol for authors of a proposer: the text of `vplan help proposer`.
pub const PROTOCOL: &str = include_str!("proposal.md");

/// The most bytes of an answer.
pub const MAX_ANSWER: usize = 1 << 20;
/// The most commands of an answer.
pub const MAX_COMMANDS: usize = 100;
/// The most bytes of a command, and of the reason for it.
pub const MAX_TEXT: usize = 8 << 10;

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
    #[must_use]
    pub fn of(contract: Option<&Contract>, request: &Request) -> Self {
        let checks = contract.iter().flat_map(|c| &c.checks).map(|check| {
            let command = match &check.body {
                Body::Command(command) => Some(command.to_text()),
                Body::Shell(text) => Some(text.clone()),
                Body::File { .. } | Body::Judge(_) => None,
            };
            KnownCheck {
                command,
                id: check.id.clone(),
            }
        });
        let mut boundaries = request.boundaries.clone();
        boundaries.sort();
        boundaries.dedup();
        Self {
            boundaries,
            changed: request.changed.clone(),
            checks: checks.collect(),
            contract: contract.map(|c| c.digest.clone()),
            explicit: request.explicit.iter().map(Command::to_text).collect(),
            min_tier: request.min_tier,
            mode: request.mode,
            risk: request.risk,
            role: request.role.clone().unwrap_or_else(|| "worker".to_owned()),
            version: 1,
        }
    }

    /// Returns the question as canonical JSON, exactly as it is sent.
    #[must_use]
    pub fn text(&self) -> String {
        to_canonical(self)
    }
}

/// The answer of a proposer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalAnswer {
    /// The proposed commands, in the answer's order.
    pub commands: Vec<Suggestion>,
}

/// A command that was proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Suggestion {
    /// The text, in the grammar of commands.
    pub command: String,
    /// The reason, if it gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The reason why an answer is refused, on one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAnswer(pub String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    version: Option<u32>,
    commands: Vec<Value>,
}

/// Parses a string, or an object with `command` and perhaps `why`. (serde would also take a list
/// for the object.)
fn suggestion(value: Value) -> Option<Suggestion> {
    let mut fields = match value {
        Value::String(command) => return Some(Suggestion { command, why: None }),
        Value::Object(fields) => fields,
        _ => return None,
    };
    let Value::String(command) = fields.remove("command")? else {
        return None;
    };
    let why = match fields.remove("why") {
        None => None,
        Some(Value::String(why)) => Some(why),
        Some(_) => return None,
    };
    fields.is_empty().then_some(Suggestion { command, why })
}

impl ProposalAnswer {
    /// Parses an answer.
    ///
    /// # Errors
    /// No JSON, another shape, another version, too many commands, an empty or overlong one.
    pub fn read(bytes: &[u8]) -> Result<Self, BadAnswer> {
        if bytes.len() > MAX_ANSWER {
            return Err(BadAnswer(format!(
                "the answer has more than {MAX_ANSWER} bytes"
            )));
        }
        // serde would also take a list for the object.
        if bytes.trim_ascii_start().first() == Some(&b'[') {
            let message = "the answer is not the JSON that was asked for: invalid type: a list, an object is expected";
            return Err(BadAnswer(message.to_owned()));
        }
        let written: Written = serde_json::from_slice(bytes).map_err(|e| {
            BadAnswer(format!(
                "the answer is not the JSON that was asked for: {}",
                visible(e.to_string().as_bytes())
            ))
        })?;
        if let Some(version) = written.version.filter(|v| *v != 1) {
            return Err(BadAnswer(format!(
                "the answer has version {version}, known is 1"
            )));
        }
        if written.commands.len() > MAX_COMMANDS {
            let count = written.commands.len();
            return Err(BadAnswer(format!(
                "the answer has {count} commands, {MAX_COMMANDS} are the most"
            )));
        }
        let commands = written
            .commands
            .into_iter()
            .enumerate()
            .map(|(index, one)| {
                let wrong = |what: &str| {
                    Err(BadAnswer(format!(
                        "command {} of the answer {what}",
                        index + 1
                    )))
                };
                let Some(Suggestion { command, why }) = suggestion(one) else {
                    return wrong(
                        "is neither a string nor an object with `command` and perhaps `why`",
                    );
                };
                if command.trim().is_empty() {
                    return wrong("is empty");
                }
                if command.len() > MAX_TEXT || why.as_ref().is_some_and(|w| w.len() > MAX_TEXT) {
                    return wrong("is too long");
                }
                if command.contains('\0') {
                    return wrong("holds a NUL");
                }
                Ok(Suggestion { command, why })
            });
        Ok(Self {
            commands: commands.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the form in which it is recorded: canonical JSON, which [`ProposalAnswer::read`] reads back
    /// to the same.
    #[must_use]
    pub fn text(&self) -> String {
        #[derive(Serialize, JsonSchema)]
        struct Shape<'a> {
            commands: &'a [Suggestion],
            #[schemars(extend("const" = 1))]
            version: u32,
        }
        to_canonical(&Shape {
            commands: &self.commands,
            version: 1,
        })
    }
}

/// An answer that takes part in a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The exact question.
    pub question: String,
    /// The answer as it is recorded.
    pub answer: String,
    /// Its commands, parsed, each with its reason.
    pub commands: Vec<(Command, Option<String>)>,
}

/// The entry of a plan about its proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalRef {
    /// The digest of the answer as it is recorded.
    pub answer: Digest,
    /// The digest of the exact question.
    pub question: Digest,
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

impl JsonSchema for ProposalAnswer {
    fn schema_name() -> Cow<'static, str> {
        "ProposalAnswer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let command = json_schema!({
            "description": "The text, in the grammar of commands.", "minLength": 1, "type": "string",
        });
        json_schema!({
            "additionalProperties": false,
            "description": "What a proposer answered.",
            "properties": {
                "commands": {
                    "description": "In the order in which they are to run; none when it has nothing to propose.",
                    "items": {"anyOf": [
                        command,
                        {
                            "additionalProperties": false,
                            "properties": {
                                "command": command,
                                "why": {"description": "Why, if there is something to say.", "type": "string"},
                            },
                            "required": ["command"],
                            "type": "object",
                        },
                    ]},
                    "maxItems": MAX_COMMANDS,
                    "type": "array",
                },
                "version": {"description": "The version of this shape.", "enum": [1, null]},
            },
            "required": ["commands"],
            "type": "object",
        })
    }
}

impl Proposal {
    /// Returns the question and its answer as one JSON document, for a run record.
    #[must_use]
    pub fn record(&self) -> String {
        format!(
            "{{\"answer\":{},\"question\":{},\"version\":1}}",
            self.answer, self.question
        )
    }

    /// Returns the plan's reference to it.
    #[must_use]
    pub fn reference(&self) -> ProposalRef {
        ProposalRef {
            answer: Digest::of(self.answer.as_bytes()),
            question: Digest::of(self.question.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            changed: ChangeSet::new(vec![crate::base::change::ChangedFile {
                path: crate::base::path::RepoPath::parse(b"src/a.c").unwrap(),
                status: crate::base::change::Status::Modified,
            }]),
            checks: vec![KnownCheck {
                command: Some("make test".into()),
                id: "unit".into(),
            }],
            contract: Some(Digest::of(b"")),
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
