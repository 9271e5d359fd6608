//! Reads the JSON of rustc and cargo (`--message-format=json`, `--error-format=json`), one message
//! per line.
//!
//! Cargo still writes its own messages as text to standard error, and with
//! `json-render-diagnostics` those of rustc too, so text is read in addition.

use crate::output::findings::rustc::RustcDiagnostics;
use crate::output::reader::{Format, FormatName, Reader, Stream};
use crate::results::{Finding, Level, Reading};
use serde::Deserialize;

/// JSON of rustc, cargo and clippy.
pub const FORMAT: Format = Format::compiler::<Messages>(
    "rustc-json",
    &[FormatName::Cargo, FormatName::Rustc, FormatName::Clippy],
);

#[derive(Default)]
struct Messages {
    found: RustcDiagnostics,
    /// Whether there was a message.
    any: bool,
}

/// A message of cargo.
#[derive(Deserialize)]
struct OfCargo {
    reason: String,
    message: Option<OfRustc>,
    success: Option<bool>,
}

/// A diagnostic of rustc.
#[derive(Deserialize)]
struct OfRustc {
    message: String,
    code: Option<Code>,
    level: String,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u64,
    column_start: u64,
    is_primary: bool,
}

impl Reader for Messages {
    fn line(&mut self, stream: Stream, line: &str) {
        if !line.starts_with('{') {
            return self.found.text(stream, line);
        }
        if line.starts_with("{\"reason\":\"") {
            match serde_json::from_str::<OfCargo>(line) {
                Ok(message) => self.of_cargo(message),
                Err(_) if is_torn(line) => self.torn(),
                Err(_) => {}
            }
        } else if line.starts_with("{\"$message_type\":\"diagnostic\"")
            || line.starts_with("{\"message\":\"")
        {
            match serde_json::from_str::<OfRustc>(line) {
                Ok(message) => self.of_rustc(message),
                Err(_) if line.starts_with("{\"$") => self.torn(),
                Err(_) => {}
            }
        } else if line.starts_with("{\"$message_type\":\"artifact\"") {
            self.any = true;
        }
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        let (reading, _) = self.found.close();
        self.any.then_some(reading)
    }
}

impl Messages {
    fn of_cargo(&mut self, message: OfCargo) {
        match message.reason.as_str() {
            "compiler-message" => {
                if let Some(message) = message.message {
                    self.of_rustc(message);
                }
            }
            "compiler-artifact" | "build-script-executed" | "timing-info" => self.any = true,
            "build-finished" => {
                self.any = true;
                if message.success == Some(false) {
                    self.found.fail();
                }
            }
            _ => {}
        }
    }

    fn of_rustc(&mut self, message: OfRustc) {
        let OfRustc {
            message,
            code,
            level,
            spans,
        } = message;
        let severity = match level.as_str() {
            "error" | "error: internal compiler error" => Level::Error,
            "warning" => Level::Warning,
            "note" | "help" | "failure-note" => return self.any = true,
            _ => return,
        };
        self.any = true;
        if spans.is_empty() && self.found.roll_up(severity, &message) {
            return;
        }
        let span = spans
            .iter()
            .find(|span| span.is_primary)
            .or_else(|| spans.first());
        self.found.find(Finding {
            code: code.map(|code| code.code),
            column: span.map(|span| span.column_start),
            file: span.map(|span| span.file_name.clone()),
            line: span.map(|span| span.line_start),
            // As in the text, where only the first line is the message.
            message: message
                .lines()
                .next()
                .unwrap_or_default()
                .trim_end()
                .to_owned(),
            severity,
        });
    }

    fn torn(&mut self) {
        self.any = true;
        self.found.object("a message of the compiler is torn");
    }
}

/// Whether a line that is not a message began as one of the compiler's.
fn is_torn(line: &str) -> bool {
    line.starts_with("{\"reason\":\"compiler-") || line.starts_with("{\"reason\":\"build-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let read = |text: &str| crate::output::read(&[&FORMAT], text.as_bytes(), b"");
        let warning = r#"{"reason":"compiler-message","message":{"message":"unused","code":{"code":"dead_code"},"level":"warning","spans":[]}}"#;
        for (what, text, errors, warnings, problem) in [
            ("twice the same", format!("{warning}\n{warning}\n"), 0, 1, false),
            ("a message that is torn", format!("{warning}\n{{\"reason\":\"compiler-mess"), 0, 1, true),
            ("it failed, why is not said", r#"{"reason":"build-finished","success":false}"#.to_owned(), 0, 0, true),
            ("it passed", r#"{"reason":"build-finished","success":true}"#.to_owned(), 0, 0, false),
            (
                "a roll-up",
                r#"{"$message_type":"diagnostic","message":"1 warning emitted","code":null,"level":"warning","spans":[]}"#.to_owned(),
                0,
                0,
                false,
            ),
        ] {
            let reading = read(&text).unwrap_or_else(|| panic!("{what}: not recognised"));
            assert_eq!((reading.errors, reading.warnings), (errors, warnings), "{what}");
            assert_eq!(!reading.problems.is_empty(), problem, "{what}: {:?}", reading.problems);
        }
        for text in [
            "{\"reason\":\"else\"}\n",
            "{\"message\":\"hello\",\"level\":\"info\"}\n",
            "{\"reason\":1}\n",
            "error: no\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
