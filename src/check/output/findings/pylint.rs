//! Reads the output of pylint: `FILE:LINE:COLUMN: CODE: MESSAGE (symbol)`, or JSON in two
//! generations.
//!
//! Written from the output of pylint 2.17 to 4. Its columns count from 0. Fatal and error are
//! errors; warning, convention and refactoring are warnings; information is nothing.

use super::table::PYLINT;
use crate::output::kit::json::{JsonContent, JsonDocument};
use crate::output::reader::{Format, FormatName, Reader, Stream};
use crate::results::{Finding, Level, Reading};
use serde::Deserialize;

/// Text and JSON of pylint.
pub const FORMAT: Format = Format::linter::<Pylint>("pylint", &[FormatName::Pylint]);

#[derive(Default)]
struct Pylint {
    reading: Reading,
    telling: bool,
    document: JsonDocument,
}

/// `--output-format=json`, `--output-format=json2`
#[derive(Deserialize)]
#[serde(untagged)]
enum Json {
    List(Vec<Message>),
    Json2(Json2),
}

#[derive(Deserialize)]
struct Json2 {
    messages: Vec<Message>,
    #[serde(rename = "statistics")]
    _statistics: serde::de::IgnoredAny,
}

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    line: Option<u64>,
    column: Option<u64>,
    message: String,
    #[serde(alias = "messageId", rename = "message-id")]
    id: String,
    #[serde(rename = "symbol")]
    _symbol: String,
}

impl Pylint {
    /// Keeps a finding, whose column counts from 0.
    fn find(&mut self, mut finding: Finding) {
        finding.column = finding.column.map(|column| column.saturating_add(1));
        self.reading.find(finding);
    }

    fn text(&mut self, line: &str) {
        match line.as_bytes() {
            [b'*', b'*', b'*', ..] => self.telling |= line.starts_with("************* Module "),
            [b'Y', b'o', b'u', ..] => {
                self.telling |= line.starts_with("Your code has been rated at ")
            }
            _ => {
                if let Some(found) = PYLINT.read(line) {
                    self.telling = true;
                    if !found.is_note {
                        self.find(found.finding);
                    }
                }
            }
        }
    }

    fn json(&mut self, message: Message) {
        self.telling = true;
        let severity = match message.kind.as_str() {
            "fatal" | "error" => Level::Error,
            "warning" | "convention" | "refactor" => Level::Warning,
            _ => return,
        };
        self.find(Finding {
            code: Some(message.id),
            column: message.column,
            file: Some(message.path),
            line: message.line,
            message: message.message,
            severity,
        });
    }
}

impl Reader for Pylint {
    fn line(&mut self, stream: Stream, line: &str) {
        if stream == Stream::Out && self.document.take(line) {
            return;
        }
        self.text(line);
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        const BEGINS: &[&str] = &["[\n    {\n        \"type\":", "{\n    \"messages\":"];
        match std::mem::take(&mut self.document).finish(&mut self.reading, BEGINS) {
            JsonContent::Nothing => {}
            JsonContent::Other(_, torn) => self.telling |= torn,
            JsonContent::Document(document) => {
                let (all, is_pylints) = match document {
                    Json::List(all) => (all, false),
                    Json::Json2(all) => (all.messages, true),
                };
                // An empty list may be anyone's, but says the same.
                self.telling |= is_pylints || all.is_empty();
                all.into_iter().for_each(|message| self.json(message));
            }
        }
        self.telling.then_some(self.reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let read = |text: &str| crate::output::read(&[&FORMAT], text.as_bytes(), b"");
        for (text, errors, warnings, problem) in [
            (
                "************* Module a\na.py:1:0: C0114: Missing (really) (missing-module-docstring)\n",
                0,
                1,
                false,
            ),
            (
                "a.py:3:4: E0602: Undefined variable 'y' (undefined-variable)\n",
                1,
                0,
                false,
            ),
            (
                "a.py:3: I0011: Locally disabling (locally-disabled)\n",
                0,
                0,
                false,
            ),
            ("Your code has been rated at 10.00/10\n", 0, 0, false),
            (
                "{\n    \"messages\": [],\n    \"statistics\": {}\n}\n",
                0,
                0,
                false,
            ),
            ("{\n    \"messages\": [", 0, 0, true),
        ] {
            let reading = read(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (reading.errors, reading.warnings),
                (errors, warnings),
                "{text}"
            );
            assert_eq!(!reading.problems.is_empty(), problem, "{text}");
        }
        for text in [
            "{}\n",
            "a.py:1:0: F401 x\n",
            "a.c:1:0: error: C0114: x\n",
            "a.py:1:0: X0114: x\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
