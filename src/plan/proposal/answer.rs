//! The answer of a proposer.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use vplan_base::canon::{Digest, to_canonical};
use vplan_base::word::visible;
use vplan_check::verb::{self, CommandRequest};
/// Maximum size of an answer, in bytes.
pub const MAX_ANSWER: usize = 1 << 20;

/// Maximum number of commands in an answer.
pub const MAX_COMMANDS: usize = 100;

/// Maximum size of a command, and of the reason for it, in bytes.
pub const MAX_TEXT: usize = 8 << 10;

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
pub struct BadProposal(pub String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    #[serde(default)]
    pub(super) version: Option<u32>,
    pub(super) commands: Vec<Value>,
}

/// Parses a string, or an object with `command` and perhaps `why`. (serde would also take a list
/// for the object.)
pub(super) fn suggestion(value: Value) -> Option<Suggestion> {
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
    pub fn read(bytes: &[u8]) -> Result<Self, BadProposal> {
        if bytes.len() > MAX_ANSWER {
            return Err(BadProposal(format!(
                "the answer has more than {MAX_ANSWER} bytes"
            )));
        }
        // serde would also take a list for the object.
        if bytes.trim_ascii_start().first() == Some(&b'[') {
            let message = "the answer is not the JSON that was asked for: invalid type: a list, an object is expected";
            return Err(BadProposal(message.to_owned()));
        }
        let written: Written = serde_json::from_slice(bytes).map_err(|e| {
            BadProposal(format!(
                "the answer is not the JSON that was asked for: {}",
                visible(e.to_string())
            ))
        })?;
        if let Some(version) = written.version.filter(|v| *v != 1) {
            return Err(BadProposal(format!(
                "the answer has version {version}, known is 1"
            )));
        }
        if written.commands.len() > MAX_COMMANDS {
            let count = written.commands.len();
            return Err(BadProposal(format!(
                "the answer has {count} commands, {MAX_COMMANDS} are the most"
            )));
        }
        let commands = written
            .commands
            .into_iter()
            .enumerate()
            .map(|(index, one)| {
                let wrong = |what: &str| {
                    Err(BadProposal(format!(
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
                if let Some(found) = verb::wrong(&command) {
                    return wrong(&format!("begins with a wrong verb: {found}"));
                }
                Ok(Suggestion { command, why })
            });
        Ok(Self {
            commands: commands.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the form in which it is recorded: canonical JSON, which [`ProposalAnswer::read`] reads back
    /// to the same.
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
    pub commands: Vec<(CommandRequest, Option<String>)>,
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
    pub fn record(&self) -> String {
        format!(
            "{{\"answer\":{},\"question\":{},\"version\":1}}",
            self.answer, self.question
        )
    }

    /// Returns the plan's reference to it.
    pub fn reference(&self) -> ProposalRef {
        ProposalRef {
            answer: Digest::hash(self.answer.as_bytes()),
            question: Digest::hash(self.question.as_bytes()),
        }
    }
}
