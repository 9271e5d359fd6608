//! Reads the output of mypy: a line for each finding, and how many there are.
//!
//! Written from the output of mypy 1.8 to 1.18, also of `dmypy` and of `--output json`, whose
//! columns count from 0.

use super::table::MYPY;
use crate::output::kit::number::counted;
use crate::output::reader::{Format, FormatName, PerStream, Reader, Stream};
use crate::results::{Finding, Level, Reading};
use serde::Deserialize;

/// Text and JSON of mypy.
pub const FORMAT: Format = Format::compiler::<Mypy>("mypy", &[FormatName::Mypy]);

#[derive(Default)]
struct Mypy {
    reading: Reading,
    telling: bool,
    /// Whether the message of the last finding may go on, by stream (`--pretty` breaks long ones).
    open: PerStream<bool>,
    /// The number of errors in the summary.
    said: u64,
}

/// A finding of `--output json`.
#[derive(Deserialize)]
struct Json {
    file: String,
    line: i64,
    column: i64,
    message: String,
    code: Option<String>,
    severity: String,
}

impl Mypy {
    fn text(&mut self, stream: Stream, line: &str) {
        let Some(found) = MYPY.read(line) else {
            return;
        };
        if found.is_note {
            *self.open.get_mut(stream) = false;
            return;
        }
        let has_code = found.finding.code.is_some();
        self.telling |= has_code;
        *self.open.get_mut(stream) = !has_code;
        self.reading.find(found.finding);
    }

    fn json(&mut self, json: Json) {
        self.telling = true;
        let severity = match json.severity.as_str() {
            "error" => Level::Error,
            "warning" => Level::Warning,
            _ => return,
        };
        self.reading.find(Finding {
            code: json.code,
            column: u64::try_from(json.column)
                .ok()
                .map(|column| column.saturating_add(1)),
            file: Some(json.file),
            line: u64::try_from(json.line).ok().filter(|line| *line > 0),
            message: json.message,
            severity,
        });
    }

    /// The rest of a message, or source.
    fn more(&mut self, stream: Stream, line: &str) {
        if !*self.open.get_mut(stream) {
            return;
        }
        let Some(finding) = self.reading.findings.last_mut() else {
            return;
        };
        let text = line.trim();
        if let Some((message, code)) = text.strip_suffix(']').and_then(|m| m.rsplit_once('['))
            && is_code(code)
        {
            self.telling = true;
            finding.code = Some(code.to_owned());
            finding.message = format!("{} {}", finding.message, message.trim_end())
                .trim_end()
                .to_owned();
        }
        *self.open.get_mut(stream) = false;
    }
}

impl Reader for Mypy {
    fn line(&mut self, stream: Stream, line: &str) {
        match line.as_bytes() {
            [b' ' | b'[', ..] => self.more(stream, line),
            [b'{', ..] => {
                if line.starts_with("{\"file\": ")
                    && let Ok(json) = serde_json::from_str(line)
                {
                    self.json(json);
                }
            }
            [b'F', b'o', b'u', b'n', b'd', b' ', ..] => {
                if let Some((n, rest)) = line.strip_prefix("Found ").and_then(counted)
                    && (rest.starts_with("error in ") || rest.starts_with("errors in "))
                    && (rest.contains(" source file")
                        || rest.ends_with("(errors prevented further checking)"))
                {
                    self.telling = true;
                    self.said = self.said.saturating_add(n);
                }
            }
            [b'S', b'u', b'c', ..] if line.starts_with("Success: no issues found in ") => {
                self.telling = true
            }
            [b'm', b'y', b'p', b'y', b':', b' ', ..] => {
                if let Some(message) = line.strip_prefix("mypy: ") {
                    // `mypy: can't read file 'x': No such file or directory`, `mypy: error: …` of
                    // its arguments.
                    self.telling = true;
                    let message = message
                        .strip_prefix("error: ")
                        .unwrap_or(message)
                        .to_owned();
                    self.reading.find(Finding {
                        message,
                        ..Finding::default()
                    });
                }
            }
            _ => self.text(stream, line),
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        // `--pretty` and plug-ins may write findings in ways of their own; the summary counts them.
        self.reading.errors = self.reading.errors.max(self.said);
        self.telling.then_some(self.reading)
    }
}

/// `arg-type`
fn is_code(code: &str) -> bool {
    !code.is_empty()
        && code
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let read = |text: &str| crate::output::read(&[&FORMAT], text.as_bytes(), b"");
        for (text, errors, place, code) in [
            (
                "a.py:1:5: error: No  [arg-type]\n",
                1,
                (Some(1), Some(5)),
                Some("arg-type"),
            ),
            (
                "a.py:1: error: No [x]  [misc]\n",
                1,
                (Some(1), None),
                Some("misc"),
            ),
            (
                "C:\\a.pyi:1:5:1:9: error: No  [misc]\n",
                1,
                (Some(1), Some(5)),
                Some("misc"),
            ),
            (
                "a.py: error: Source file found twice\nFound 1 error in 1 file (checked 1 source file)\n",
                1,
                (None, None),
                None,
            ),
            (
                "a.py:1: error: Long\n    end  [misc]\n",
                1,
                (Some(1), None),
                Some("misc"),
            ),
            (
                "Found 3 errors in 1 file (checked 2 source files)\n",
                3,
                (None, None),
                None,
            ),
            (
                "Success: no issues found in 1 source file\n",
                0,
                (None, None),
                None,
            ),
            (
                "a.py:1: note: Revealed  [misc]\nSuccess: no issues found in 1 source file\n",
                0,
                (None, None),
                None,
            ),
            (
                "mypy: can't read file 'x': No such file or directory\n",
                1,
                (None, None),
                None,
            ),
        ] {
            let reading = read(text).unwrap_or_else(|| panic!("{text}"));
            let first = reading.findings.first().cloned().unwrap_or_default();
            assert_eq!((reading.errors, reading.warnings), (errors, 0), "{text}");
            assert_eq!(
                ((first.line, first.column), first.code.as_deref()),
                (place, code),
                "{text}"
            );
        }
        for text in [
            "a.c:1:5: error: No  [misc]\n",
            "a.py:1: error: no\n",
            "Found 3 errors in 1 file\n",
            "a.py:1: in f\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
