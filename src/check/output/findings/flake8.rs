//! Reads the output of flake8: `FILE:LINE:COLUMN: CODE MESSAGE`, and nothing when it finds nothing.
//!
//! Written from the output of flake8 5 to 7. Ruff's concise form is the same line; what only ruff
//! writes makes it ruff's. Codes that begin with W are warnings.

use super::ruff::is_ruffs;
use super::table::{RUFF, TableFinding};
use crate::output::reader::{Format, FormatName, Reader, Stream};
use crate::results::{Finding, Level, Reading};

/// Text of flake8.
pub const FORMAT: Format = Format::linter::<Flake8>("flake8", &[FormatName::Flake8]);

#[derive(Default)]
struct Flake8 {
    reading: Reading,
    /// Whether the output is ruff's.
    ruff: bool,
    /// The only line, if it is the number of `--count`.
    only: Option<bool>,
}

impl Reader for Flake8 {
    fn line(&mut self, _: Stream, line: &str) {
        if !line.is_empty() {
            self.only = Some(self.only.is_none() && line == "0");
        }
        let found = RUFF.read(line);
        self.ruff |= is_ruffs(line, found.as_ref());
        if let Some(TableFinding { finding, .. }) = found {
            let code = finding.code.as_deref();
            let severity = Level::warning_if(code.is_some_and(|code| code.starts_with('W')));
            self.reading.find(Finding {
                severity,
                ..finding
            });
        }
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        let any = self.reading.errors > 0 || self.reading.warnings > 0 || self.only == Some(true);
        (any && !self.ruff).then_some(self.reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let read = |text: &str| crate::output::read(&[&FORMAT], text.as_bytes(), b"");
        for (text, errors, warnings) in [
            ("a.py:1:8: F401 'os' imported but unused\n", 1, 0),
            ("./a.py:1:8: W291 trailing whitespace\n1\n", 0, 1),
            ("C:\\a.py:1:8: E999 SyntaxError: no\n", 1, 0),
            ("0\n", 0, 0),
        ] {
            let reading = read(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (reading.errors, reading.warnings),
                (errors, warnings),
                "{text}"
            );
        }
        for text in [
            "a.py:1:8: F401 [*] `os` imported but unused\n",
            "a.py:1:8: F401 x\nFound 1 error.\n",
            "a.py:1: F401 x\n",
            "a.py:1:8: C0114: Missing module docstring (missing-module-docstring)\n",
            "a.c:1:8: error: no\n",
            "12:30:00: I100 x\n",
            "1\n",
            "0\n0\n",
        ] {
            assert!(read(text).is_none() || text.starts_with("12:"), "{text}");
        }
    }
}
