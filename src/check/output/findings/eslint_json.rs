//! Reads ESLint's JSON (`-f json`).

use crate::base::vocabulary::FormatName;
use crate::check::Kind;
use crate::check::output::findings::eslint;
use crate::check::output::kit::document::{self, CollectedDocument, Content, Signs};
use crate::check::output::reader::{Claim, Extent, Format, Reader, Stream};
use crate::check::reading::{Finding, Level, Reading};
use serde::Deserialize;

/// `[{"filePath":…,"messages":[…]}]`.
pub const FORMAT: Format = Format {
    id: "eslint-json",
    is_document: true,
    extent: Extent::Unknown,
    names: &[FormatName::Eslint],
    kinds: &[Kind::Lint, Kind::Compile],
    written_by: |run| run.runs(eslint::TOOLS),
    reader: || {
        Box::new(EslintJson {
            document: CollectedDocument::new(SIGNS),
        })
    },
};

const SIGNS: Signs = Signs {
    begins: |line| {
        line.strip_prefix('[')
            .is_some_and(|rest| matches!(rest.trim_start().as_bytes(), [] | [b'{' | b']', ..]))
    },
    later: false,
    tells: |text| text.trim() == "[]" || text.contains("\"filePath\""),
};

struct EslintJson {
    document: CollectedDocument,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    file_path: String,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(default)]
    column: Option<f64>,
    #[serde(default)]
    line: Option<f64>,
    message: String,
    #[serde(default)]
    rule_id: Option<String>,
    severity: u64,
}

impl Reader for EslintJson {
    fn line(&mut self, stream: Stream, line: &str) {
        self.document.line(stream, line);
    }

    fn claim(&self) -> Claim {
        self.document.claim()
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        let mut reading = Reading::of(FORMAT.id);
        match self.document.finish()? {
            Content::TooLarge => reading.object("the output is too large to read"),
            Content::Text(text) => {
                let (outputs, wrong) = document::values::<Vec<File>>(&text);
                for file in outputs.into_iter().flatten() {
                    for message in file.messages {
                        reading.find(Finding {
                            code: message.rule_id,
                            column: document::natural(message.column),
                            file: Some(file.file_path.clone()),
                            line: document::natural(message.line),
                            message: message.message,
                            severity: if message.severity == 1 {
                                Level::Warning
                            } else {
                                Level::Error
                            },
                        });
                    }
                }
                if let Some(wrong) = wrong {
                    reading.object(format!("the output cannot be read: {wrong}"));
                }
            }
        }
        Some(reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::output::read;

    #[test]
    fn outputs() {
        let found = |text: &str| {
            let reading = read(&[&FORMAT], text.as_bytes(), b"")?;
            Some((reading.errors, reading.warnings, reading.problems.len()))
        };
        let one = r#"[{"filePath":"/a.js","messages":[{"ruleId":null,"severity":2,"fatal":true,"message":"Parsing","line":1,"column":1.0},
            {"ruleId":"semi","severity":1,"message":"x"}],"errorCount":1}]"#;
        for (text, want) in [
            (one.to_owned(), Some((1, 1, 0))),
            (
                format!("> a@1 lint\n> eslint -f json .\n\n{one}\n"),
                Some((1, 1, 0)),
            ),
            (format!("{one}\n{one}\n"), Some((2, 2, 0))),
            (format!("{one}\nDone in 2s.\n"), Some((1, 1, 0))),
            ("[]".to_owned(), Some((0, 0, 0))),
            (one[..80].to_owned(), Some((0, 0, 1))),
            ("[1]".to_owned(), None),
            (format!("[INFO] x\n{one}"), None),
            (String::new(), None),
        ] {
            assert_eq!(found(&text), want, "{text}");
        }
    }
}
