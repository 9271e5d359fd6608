//! Reads the output of ShellCheck: for people, like gcc, or as JSON. `info` and `style` are no
//! findings.

use super::table::SHELLCHECK;
use crate::output::reader::{Format, FormatName, Reader, Stream};
use crate::results::{Finding, Level, Reading};
use serde::Deserialize;

pub const FORMAT: Format = Format::linter::<Shellcheck>("shellcheck", &[FormatName::Shellcheck]);

#[derive(Default)]
struct Shellcheck {
    known: bool,
    reading: Reading,
    /// For people: the place of the comments that follow.
    at: Option<(String, u64)>,
    now: Now,
}

/// The part of the text for people that a line is in.
#[derive(Clone, Copy, Default)]
enum Now {
    /// Between comments, or outside of them.
    #[default]
    Outside,
    /// The line of source that is talked about.
    Source,
    /// Under it.
    Comments,
}

/// A comment as JSON.
#[derive(Deserialize)]
struct Comment {
    file: String,
    line: u64,
    column: u64,
    level: String,
    code: u64,
    message: String,
}

/// `-f json1`.
#[derive(Deserialize)]
struct Json1Document {
    comments: Vec<Comment>,
}

impl Reader for Shellcheck {
    fn line(&mut self, _: Stream, line: &str) {
        match (self.now, line.as_bytes()) {
            (Now::Source, _) => self.now = Now::Comments,
            (_, [b'I', b'n', b' ', ..]) if self.header(line) => {}
            (Now::Comments, _) => self.comment(line),
            (_, [b'[' | b'{', ..]) => self.json(line),
            _ => self.like_gcc(line),
        }
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        self.known.then_some(self.reading)
    }
}

impl Shellcheck {
    fn find(&mut self, file: &str, line: u64, column: u64, level: &str, code: &str, message: &str) {
        self.known = true;
        let severity = match level {
            "error" => Level::Error,
            "warning" => Level::Warning,
            _ => return,
        };
        self.reading.find(Finding {
            code: Some(code.to_owned()),
            column: Some(column),
            file: Some(file.to_owned()),
            line: Some(line),
            message: message.to_owned(),
            severity,
        });
    }

    /// `In FILE line 3:`; whether it is that.
    fn header(&mut self, line: &str) -> bool {
        let parts = line
            .strip_prefix("In ")
            .and_then(|l| l.strip_suffix(':'))
            .and_then(|l| l.rsplit_once(" line "));
        let Some((file, Ok(number))) = parts.map(|(file, number)| (file, number.parse())) else {
            return false;
        };
        self.at = Some((file.to_owned(), number));
        self.now = Now::Source;
        true
    }

    /// `    ^--^ SC2086 (info): MESSAGE`; anything else ends the comments of a line.
    fn comment(&mut self, line: &str) {
        let text = line.trim_start_matches(' ');
        let column = u64::try_from(line.len() - text.len())
            .unwrap_or(0)
            .saturating_add(1);
        let code = text
            .trim_start_matches(['^', '-'])
            .strip_prefix(' ')
            .filter(|_| text.starts_with('^'));
        let parts = code
            .and_then(|rest| rest.split_once(" ("))
            .filter(|(code, _)| is_code(code));
        let parts = parts.and_then(|(code, rest)| {
            rest.split_once("): ")
                .map(|(level, message)| (code, level, message))
        });
        match (parts, self.at.clone()) {
            (Some((code, level, message)), Some((file, number))) => {
                self.find(&file, number, column, level, code, message);
            }
            _ => self.now = Now::Outside,
        }
    }

    fn json(&mut self, line: &str) {
        let comments = if line.starts_with('[') {
            serde_json::from_str::<Vec<Comment>>(line).ok()
        } else {
            serde_json::from_str::<Json1Document>(line)
                .ok()
                .map(|document| document.comments)
        };
        match comments {
            Some(comments) => {
                self.known = true;
                for c in comments {
                    self.find(
                        &c.file,
                        c.line,
                        c.column,
                        &c.level,
                        &format!("SC{}", c.code),
                        &c.message,
                    );
                }
            }
            None if line.starts_with("{\"comments\":[") || is_begun(line) => {
                self.known = true;
                self.reading
                    .object("the report of ShellCheck is cut off or is no JSON");
            }
            None => {}
        }
    }

    /// `FILE:LINE:COLUMN: LEVEL: MESSAGE [SC2086]`, and files that cannot be read.
    fn like_gcc(&mut self, line: &str) {
        if line.ends_with(')') && line.contains(": openBinaryFile: ") {
            self.known = true;
            return self.reading.object(line);
        }
        if let Some(found) = SHELLCHECK.read(line) {
            self.known = true;
            if !found.is_note {
                self.reading.find(found.finding);
            }
        }
    }
}

/// Whether a broken document is the beginning of ShellCheck's.
fn is_begun(line: &str) -> bool {
    line.starts_with("[{\"file\":") && line.contains("\"endLine\":") && line.contains("\"level\":")
}

fn is_code(text: &str) -> bool {
    text.strip_prefix("SC")
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    #[test]
    fn outputs() {
        for (text, want) in [
            (
                "\nIn a b.sh line 3:\necho $a\n     ^-- SC2164 (warning): Use it.\n",
                Some("0 1 0"),
            ),
            // The source may look like a comment, and like the place of another.
            (
                "\nIn a.sh line 3:\n^-- SC1 (error): no\n^-- SC2164 (warning): Use it.\n",
                Some("0 1 0"),
            ),
            (
                "\nIn a.sh line 3:\nIn b.sh line 1:\n^-- SC2164 (error): Use it.\n",
                Some("1 0 0"),
            ),
            (
                "\nIn a.sh line 3:\nx\n^-- SC2086 (info): Quote.\n\nDid you mean: \n^-- SC1 (error): no\n",
                Some("0 0 0"),
            ),
            (
                "a.sh:3:6: error: Mean it. [SC2078]\na.sh:4:1: note: Quote. [SC2086]\n",
                Some("1 0 0"),
            ),
            ("[]\n", Some("0 0 0")),
            ("{\"comments\":[]}\n", Some("0 0 0")),
            ("{\"comments\":[{\"file\":\"a.sh\"", Some("0 0 1")),
            (
                "[{\"file\":\"a.sh\",\"line\":3,\"endLine\":3,\"column\":6,\"level\":\"error\",\"co",
                Some("0 0 1"),
            ),
            ("[{\"file\":\"a.py\"}]\n", None),
            ("a.c:3:6: error: x [-Wy]\n", None),
            ("In short line 3:\n", None),
            ("", None),
        ] {
            let got = read(&[&FORMAT], text.as_bytes(), b"");
            let got = got.map(|r| format!("{} {} {}", r.errors, r.warnings, r.problems.len()));
            assert_eq!(got.as_deref(), want, "{text}");
        }
    }
}
