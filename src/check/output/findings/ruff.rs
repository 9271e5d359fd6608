//! Reads the output of ruff: concise, in full, or as JSON; `ruff format --check` too.
//!
//! Written from the output of ruff 0.4 to 0.14. Everything it reports is an error, as its own
//! summary says.

use super::table::{RUFF, TableFinding};
use crate::output::kit::json::{JsonContent, JsonDocument};
use crate::output::kit::location::{ending, place};
use crate::output::kit::number::counted;
use crate::output::reader::{Format, FormatName, Reader, Stream, after};
use crate::results::{Finding, Level, Reading};
use serde::Deserialize;

/// Text and JSON of ruff.
pub const FORMAT: Format = Format::linter::<Ruff>("ruff", &[FormatName::Ruff]);

#[derive(Default)]
struct Ruff {
    reading: Reading,
    telling: bool,
    /// `CODE MESSAGE`, whose place is on the next line.
    open: Option<(String, String)>,
    document: JsonDocument,
    /// The number of errors left, by the summary.
    said: u64,
}

/// A finding as JSON.
#[derive(Deserialize)]
struct Json {
    code: Option<String>,
    filename: String,
    location: Option<Location>,
    message: String,
    severity: Option<String>,
}

#[derive(Deserialize)]
struct Location {
    column: u64,
    row: u64,
}

impl Ruff {
    fn text(&mut self, line: &str) {
        let found = RUFF.read(line);
        self.telling |= is_ruffs(line, found.as_ref());
        if let Some((code, message)) = self.open.take()
            && let Some(at) = line.trim_start().strip_prefix("--> ")
        {
            if let Some((file, line, column)) = ending(at.trim_end()) {
                self.telling = true;
                self.reading.find(Finding {
                    code: Some(code),
                    column: Some(column),
                    file: Some(file.to_owned()),
                    line: Some(line),
                    message,
                    severity: Level::Error,
                });
            }
            return;
        }
        match line.as_bytes() {
            [b'A'..=b'Z', second, ..] if second.is_ascii_alphanumeric() => {
                if let Some(file) = line.strip_prefix("Would reformat: ") {
                    self.telling = true;
                    let (file, message) =
                        (Some(file.to_owned()), "would be reformatted".to_owned());
                    return self.reading.find(Finding {
                        file,
                        message,
                        ..Finding::default()
                    });
                }
                if let Some(said) = left(line) {
                    self.said = self.said.saturating_add(said);
                    return;
                }
                self.open = headline(line);
            }
            [b'e', ..] => {
                // `error: Failed to parse a.py:1:2: …`, `error: Failed to parse at 1:2: …`
                if let Some(message) = line.strip_prefix("error: Failed to parse ") {
                    self.telling = true;
                    let at = place(message);
                    self.reading.find(Finding {
                        column: at.and_then(|at| at.column),
                        file: at.map(|at| at.file.to_owned()),
                        line: at.map(|at| at.line),
                        message: format!("failed to parse: {}", at.map_or(message, |at| at.rest)),
                        ..Finding::default()
                    });
                }
            }
            [b'a'..=b'z', ..] => self.open = headline(line),
            _ => {}
        }
        if let Some(found) = found {
            self.telling = true;
            self.reading.find(found.finding);
        }
    }

    fn json(&mut self, json: Json) {
        self.telling = true;
        self.reading.find(Finding {
            code: json.code,
            column: json.location.as_ref().map(|at| at.column),
            file: Some(json.filename),
            line: json.location.as_ref().map(|at| at.row),
            message: json.message,
            severity: Level::warning_if(json.severity.as_deref() == Some("warning")),
        });
    }
}

impl Reader for Ruff {
    fn line(&mut self, stream: Stream, line: &str) {
        if stream == Stream::Out && self.document.take(line) {
            return;
        }
        self.text(line);
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        const BEGINS: &[&str] = &["[\n  {\n    \"cell\":"];
        match std::mem::take(&mut self.document).finish(&mut self.reading, BEGINS) {
            JsonContent::Nothing => {}
            JsonContent::Document(all) => {
                let all: Vec<Json> = all;
                // An empty list may be anyone's, but says the same.
                self.telling |= all.is_empty();
                all.into_iter().for_each(|json| self.json(json));
            }
            JsonContent::Other(text, torn) => {
                self.telling |= torn;
                // A finding a line (`json-lines`).
                for line in text.lines().filter(|line| line.starts_with("{\"cell\":")) {
                    match serde_json::from_str(line) {
                        Ok(json) => self.json(json),
                        Err(_) => self.reading.object("a finding is torn"),
                    }
                }
            }
        }
        self.reading.errors = self.reading.errors.max(self.said);
        self.telling.then_some(self.reading)
    }
}

/// One to seven capitals, then three or four digits: `E501`, `PLR0913`.
fn is_code(code: &str) -> bool {
    let digits = code.bytes().rev().take_while(u8::is_ascii_digit).count();
    let letters = code.len().saturating_sub(digits);
    (3..=4).contains(&digits)
        && (1..=7).contains(&letters)
        && code.bytes().take(letters).all(|b| b.is_ascii_uppercase())
}

/// `F401 [*] MESSAGE`, `invalid-syntax: MESSAGE`, `unformatted: MESSAGE`
fn headline(line: &str) -> Option<(String, String)> {
    let (code, message) = line.split_once(' ')?;
    let is_name = |name: &&str| {
        !matches!(*name, "error" | "warning" | "note" | "help")
            && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
    };
    let named = code.strip_suffix(':').filter(is_name);
    let code = named.or_else(|| is_code(code).then_some(code))?;
    let message = after(message, &["[*] ", "[-] "]).unwrap_or(message);
    Some((code.to_owned(), message.trim_end().to_owned()))
}

/// Whether a line is one that only ruff writes.
pub(crate) fn is_ruffs(line: &str, found: Option<&TableFinding>) -> bool {
    match line.as_bytes() {
        [b'F', b'o', b'u', b'n', b'd', ..] => left(line).is_some(),
        [b'A', b'l', b'l', ..] => line == "All checks passed!",
        [b'[', b'*', b']', ..] => line.contains(" fixable with "),
        [b'0'..=b'9', ..] => {
            line.ends_with(" already formatted") || line.ends_with(" would be reformatted")
        }
        [b'N', b'o', b' ', ..] => {
            line.starts_with("No fixes available (") && line.contains("hidden fix")
        }
        _ => found.is_some_and(|found| {
            found.marked || found.finding.code.as_deref() == Some("invalid-syntax")
        }),
    }
}

/// `Found 2 errors.`, `Found 2 errors (1 fixed, 1 remaining).`: how many are left.
fn left(line: &str) -> Option<u64> {
    let (n, rest) = line.strip_prefix("Found ").and_then(counted)?;
    let rest = after(rest, &["errors", "error"])?;
    if rest == "." {
        return Some(n);
    }
    let (fixed, remaining) = rest
        .strip_prefix(" (")?
        .strip_suffix(" remaining).")?
        .split_once(" fixed, ")?;
    fixed.parse::<u64>().ok()?;
    remaining.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let read = |text: &str| crate::output::read(&[&FORMAT], text.as_bytes(), b"");
        for (text, errors, problem) in [
            (
                "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n",
                1,
                false,
            ),
            (
                "F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n\nFound 1 error.\n",
                1,
                false,
            ),
            ("invalid-syntax: Expected `)`\n --> a.py:1:8\n", 1, false),
            ("All checks passed!\n", 0, false),
            ("Found 3 errors (2 fixed, 1 remaining).\n", 1, false),
            (
                "Would reformat: a.py\n1 file would be reformatted, 3 files already formatted\n",
                1,
                false,
            ),
            ("3 files already formatted\n", 0, false),
            ("error: Failed to parse a.py:1:2: no\n", 1, false),
            (
                "{\"cell\":null,\"code\":\"F401\",\"filename\":\"a.py\",\"location\":{\"column\":8,\"row\":1},\"message\":\"m\"}\n{\"cell\":nu\n",
                1,
                true,
            ),
            ("[\n  {\n    \"cell\": null,\n    \"code\"", 0, true),
        ] {
            let reading = read(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((reading.errors, reading.warnings), (errors, 0), "{text}");
            assert_eq!(!reading.problems.is_empty(), problem, "{text}");
        }
        for text in [
            "{}\n",
            "[{\"a\": 1}]\n",
            "Found 3 errors in 2 files\n",
            "F401 x\n",
            "All good\n",
            "error: no\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
