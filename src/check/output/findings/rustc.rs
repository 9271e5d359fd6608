//! Reads the text of rustc, cargo and clippy: headers with a severity, a code and a message, and a
//! place after an arrow.
//!
//! Written from the output of Rust 1.56 to 1.95. Cargo says everything again for each target and
//! when it replays a cached build, so each finding counts once.

use super::table::RUSTC;
use crate::output::kit::dedupe::Distinct;
use crate::output::kit::location::ending;
use crate::output::kit::number::counted;
use crate::output::reader::{Format, FormatName, PerStream, Reader, Stream, after};
use crate::results::{Finding, Level, Reading};

/// Text of rustc, cargo and clippy.
pub const FORMAT: Format = Format::compiler::<RustcDiagnostics>(
    "rustc",
    &[FormatName::Cargo, FormatName::Rustc, FormatName::Clippy],
);

/// The findings in the text of rustc and cargo; for readers of whatever cargo builds.
#[derive(Default)]
pub struct RustcDiagnostics {
    reading: Reading,
    seen: Distinct,
    /// The header of each stream (output, errors) whose lines are coming.
    open: PerStream<Option<Open>>,
    /// Something that only cargo or rustc writes.
    telling: bool,
    /// A roll-up says that there are errors.
    failed: bool,
}

/// A header, and the state of reading the lines below it.
struct Open {
    finding: Finding,
    part: Part,
}

/// The kind of lines that are coming below a header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    /// Those of a note or a proposal.
    Child,
    /// The line of source that sets the level of a lint.
    LintLevel,
    /// After an empty line: only cargo's causes may come.
    Over,
    /// The next line is cargo's cause.
    Cause,
}

/// Sentences of cargo about itself that have no place.
const OF_CARGO: &[&str] = &[
    "could not find `Cargo.toml` in ",
    "failed to parse manifest at ",
    "failed to load manifest for ",
    "failed to run custom build command for ",
    "failed to select a version for ",
    "failed to get `",
    "no matching package named ",
    "no such command: `",
    "package ID specification ",
    "the lock file ",
    "cannot update the lock file ",
];

impl RustcDiagnostics {
    /// Takes a line of text.
    pub fn text(&mut self, stream: Stream, line: &str) {
        match line.as_bytes() {
            [b'e', b'r', b'r', b'o', b'r', b':' | b'[', ..]
            | [b'w', b'a', b'r', b'n', b'i', b'n', b'g', b':' | b'[', ..] => {
                self.header(stream, line);
            }
            [b' ', ..] => self.indented(stream, line),
            [] => {
                if let Some(open) = self.open.get_mut(stream) {
                    open.part = Part::Over;
                }
            }
            [first, ..] => self.other(stream, *first, line),
        }
    }

    /// Counts a finding, once.
    pub fn find(&mut self, finding: Finding) {
        // The code does not count: it is written only with the first of its kind.
        let Finding {
            code: _,
            column,
            file,
            line,
            message,
            severity,
        } = &finding;
        if self.seen.is_new(&(column, file, line, message, severity)) {
            self.reading.find(finding);
        }
    }

    /// Notes what speaks against a pass.
    pub fn object(&mut self, problem: &str) {
        self.reading.object(problem);
    }

    /// Notes that the build failed, which there are errors for.
    pub fn fail(&mut self) {
        self.failed = true;
    }

    /// A message that is not a finding but adds up findings, or says what cargo did with them. Says
    /// whether it is one.
    pub(crate) fn roll_up(&mut self, level: Level, message: &str) -> bool {
        match level {
            Level::Error => {
                if message.starts_with("aborting due to ")
                    || message.starts_with("could not compile `")
                {
                    self.telling = true;
                    if message.contains("due to ") {
                        self.failed = true;
                    } else {
                        self.reading.object(message);
                    }
                    return true;
                }
                let targets =
                    || counted(message).is_some_and(|(_, rest)| rest.starts_with("target"));
                message.starts_with("test failed, to rerun ")
                    || message.starts_with("doctest failed, to rerun ")
                    || message.starts_with("could not document `")
                    || matches!(
                        message,
                        "build failed" | "test run failed" | "no tests to run"
                    )
                    || (message.starts_with("command `") && message.contains("` exited with "))
                    || (targets() && message.ends_with(" failed:"))
            }
            Level::Warning => {
                let generated = || message.starts_with('`') && message.contains(") generated ");
                let emitted =
                    || counted(message).is_some_and(|(_, rest)| rest.ends_with(" emitted"));
                let roll_up = generated()
                    || emitted()
                    || message.starts_with("build failed, waiting for other jobs");
                self.telling |= roll_up;
                roll_up || message.contains(" tests were not run due to ")
            }
        }
    }

    /// The reading, and whether the output is of this kind.
    pub fn close(mut self) -> (Reading, bool) {
        self.flush(Stream::Out);
        self.flush(Stream::Err);
        if self.failed && self.reading.errors == 0 {
            self.reading
                .object("the build failed, but no error was found in its output");
        }
        (self.reading, self.telling)
    }

    fn flush(&mut self, stream: Stream) {
        if let Some(open) = self.open.get_mut(stream).take() {
            self.find(open.finding);
        }
    }

    fn header(&mut self, stream: Stream, line: &str) {
        let Some((severity, code, message)) = header(line) else {
            return;
        };
        self.flush(stream);
        if self.roll_up(severity, message) {
            return;
        }
        self.telling |= code.is_some_and(is_error_code)
            || OF_CARGO.iter().any(|words| message.starts_with(words));
        let finding = Finding {
            code: code.map(str::to_owned),
            message: message.to_owned(),
            severity,
            ..Finding::default()
        };
        let part = Part::Head;
        *self.open.get_mut(stream) = Some(Open { finding, part });
    }

    fn indented(&mut self, stream: Stream, line: &str) {
        let text = line.trim_start();
        let Some(open) = self.open.get_mut(stream) else {
            self.telling = self.telling || is_status(line);
            return;
        };
        match open.part {
            Part::Cause => {
                if open.finding.message.len() < 1000 {
                    open.finding.message.push_str(": ");
                    open.finding.message.push_str(text);
                }
                open.part = Part::Over;
            }
            Part::Over => {
                if is_status(line) {
                    self.telling = true;
                    self.flush(stream);
                }
            }
            Part::LintLevel | Part::Head | Part::Child => {
                if let Some(at) = text.strip_prefix("--> ") {
                    if open.part == Part::Head && open.finding.file.is_none() {
                        let at = at.trim_end();
                        let place = ending(at);
                        let told = place.is_some();
                        open.finding = Finding {
                            file: Some(place.map_or(at, |(file, _, _)| file).to_owned()),
                            line: place.map(|(_, line, _)| line),
                            column: place.map(|(_, _, column)| column),
                            ..std::mem::take(&mut open.finding)
                        };
                        self.telling |= told;
                    }
                } else if let Some(note) = text.strip_prefix("= ") {
                    if open.finding.code.is_none() {
                        open.finding.code = lint(note);
                    }
                } else if is_status(line) {
                    self.telling = true;
                    self.flush(stream);
                }
            }
        }
    }

    /// A line that begins with neither a blank nor a severity.
    fn other(&mut self, stream: Stream, first: u8, line: &str) {
        if let Some(open) = self.open.get_mut(stream) {
            match first {
                _ if line == "Caused by:" => open.part = Part::Cause,
                _ if open.part == Part::Over => self.flush(stream),
                b'n' if line == "note: the lint level is defined here" => {
                    open.part = Part::LintLevel
                }
                b'n' | b'h' if line.starts_with("note: ") || line.starts_with("help: ") => {
                    open.part = Part::Child
                }
                b'0'..=b'9' if open.part == Part::LintLevel && open.finding.code.is_none() => {
                    open.finding.code = level_of(line);
                }
                _ => {}
            }
        }
        if let Some(found) = RUSTC.read(line) {
            self.telling = true;
            self.find(found.finding);
        }
    }
}

impl Reader for RustcDiagnostics {
    fn line(&mut self, stream: Stream, line: &str) {
        self.text(stream, line);
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        let (reading, telling) = self.close();
        telling.then_some(reading)
    }
}

/// `error: MESSAGE`, `error[CODE]: MESSAGE`, `warning: …`.
fn header(line: &str) -> Option<(Level, Option<&str>, &str)> {
    let (severity, rest) = match line.strip_prefix("error") {
        Some(rest) => (Level::Error, rest),
        None => (Level::Warning, line.strip_prefix("warning")?),
    };
    let (code, message) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (code, message) = rest.split_once("]: ")?;
            (Some(code), message)
        }
        None => (None, rest.strip_prefix(": ")?),
    };
    let sane = code.is_none_or(|c| c.len() <= 80 && !c.contains(' '));
    sane.then_some((severity, code, message.trim_end()))
}

/// `E` and four digits.
fn is_error_code(code: &str) -> bool {
    matches!(code.as_bytes(), [b'E', digits @ ..] if digits.len() == 4 && digits.iter().all(u8::is_ascii_digit))
}

/// The lint after `= note:` or `= help:`.
fn lint(note: &str) -> Option<String> {
    if let Some(note) = note.strip_prefix("note: ") {
        let note = note
            .strip_prefix("requested on the command line with ")
            .unwrap_or(note);
        let quoted = note.strip_prefix('`')?.split('`').next()?;
        if let Some(inner) = after(quoted, &["#[", "#!["]) {
            return level_of(inner);
        }
        let option = ["-D ", "-W ", "-F ", "-A "]
            .iter()
            .find_map(|o| quoted.strip_prefix(o))?;
        return Some(option.replace('-', "_")).filter(|lint| lint != "warnings");
    }
    let (_, anchor) = note
        .strip_prefix("help: for further information visit https://")?
        .split_once("index.html#")?;
    let name = anchor.trim_end();
    let sane = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    sane.then(|| format!("clippy::{name}"))
}

/// The lint in `warn(LINT)`, when it is one and not a group of all.
fn level_of(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('(')?;
    let (name, _) = rest.split_once(')')?;
    let sane = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':');
    (!name.is_empty() && name != "warnings" && name.bytes().all(sane)).then(|| name.to_owned())
}

/// One of cargo's lines about its progress: a verb that ends in column 12.
pub fn is_status(line: &str) -> bool {
    let Some((verb, rest)) = line.split_at_checked(12) else {
        return false;
    };
    if !verb.starts_with(' ') || !rest.starts_with(' ') {
        return false;
    }
    let rest = rest.trim_start();
    match verb.trim_start() {
        "Compiling" | "Checking" | "Fresh" | "Documenting" | "Dirty" => rest
            .split_once(" v")
            .is_some_and(|(_, version)| version.starts_with(|c: char| c.is_ascii_digit())),
        "Finished" => rest.contains("target(s) in "),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Reading> {
        crate::output::read(&[&FORMAT], b"", text.as_bytes())
    }

    #[test]
    fn codes_of_lints() {
        for (note, want) in [
            (
                "note: `#[warn(unused_variables)]` on by default",
                Some("unused_variables"),
            ),
            (
                "note: `#[warn(dead_code)]` (part of `#[warn(unused)]`) on by default",
                Some("dead_code"),
            ),
            (
                "note: `-D unused-variables` implied by `-D warnings`",
                Some("unused_variables"),
            ),
            (
                "note: `-W clippy::must-use-candidate` implied by `-W clippy::pedantic`",
                Some("clippy::must_use_candidate"),
            ),
            (
                "note: requested on the command line with `-D clippy::unwrap-used`",
                Some("clippy::unwrap_used"),
            ),
            (
                "help: for further information visit https://rust-lang.github.io/rust-clippy/rust-1.95.0/index.html#len_zero",
                Some("clippy::len_zero"),
            ),
            ("note: `#[deny(warnings)]` on", None),
            ("note: expected `u32`", None),
            ("help: try", None),
        ] {
            assert_eq!(lint(note).as_deref(), want, "{note}");
        }
        assert_eq!(
            level_of("4 | #![deny(clippy::eq_op)]").as_deref(),
            Some("clippy::eq_op")
        );
        assert_eq!(level_of("4 | #![deny(warnings)]"), None);
    }

    #[test]
    fn what_counts() {
        let warning = "warning: unused\n --> src/a.rs:1:2\n  |\n\n";
        for (what, text, errors, warnings, problem) in [
            ("twice the same", format!("{warning}{warning}"), 0, 1, false),
            (
                "roll-ups",
                format!(
                    "{warning}warning: 1 warning emitted\n\nwarning: `x` (lib) generated 1 warning\n"
                ),
                0,
                1,
                false,
            ),
            (
                "no error was understood",
                "error: aborting due to 2 previous errors\n".to_owned(),
                0,
                0,
                true,
            ),
            (
                "rustc was killed",
                "error: could not compile `x` (lib)\n".to_owned(),
                0,
                0,
                true,
            ),
            (
                "a code tells",
                "error[E0463]: can't find crate for `std`\n".to_owned(),
                1,
                0,
                false,
            ),
            (
                "short",
                "src/a.rs:1:2: error[E0425]: no\nsrc/a.rs:3:1: warning: unused\n".to_owned(),
                1,
                1,
                false,
            ),
            (
                "nothing to say",
                "   Compiling x v0.1.0 (/repo)\n    Finished dev [unoptimized] target(s) in 1s\n"
                    .to_owned(),
                0,
                0,
                false,
            ),
            (
                "of cargo",
                "error: failed to parse manifest at `/x`\n\nCaused by:\n  missing\n".to_owned(),
                1,
                0,
                false,
            ),
        ] {
            let reading = read(&text).unwrap_or_else(|| panic!("{what}: not recognised"));
            assert_eq!(
                (reading.errors, reading.warnings),
                (errors, warnings),
                "{what}: {reading:?}"
            );
            assert_eq!(
                !reading.problems.is_empty(),
                problem,
                "{what}: {:?}",
                reading.problems
            );
        }
        let cause =
            read("error: failed to parse manifest at `/x`\n\nCaused by:\n  missing\n").unwrap();
        assert_eq!(
            cause.findings.first().unwrap().message,
            "failed to parse manifest at `/x`: missing"
        );
    }

    #[test]
    fn what_others_write() {
        for text in [
            "error: recipe `x` failed\n",
            "warning: deprecated\n",
            "a.c:1:2: error: no\n",
            "errors: 3\n  --> here\n",
            " --> src/a.rs:1:2\n",
            "Compiling 3 files\n   Compiling it\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
