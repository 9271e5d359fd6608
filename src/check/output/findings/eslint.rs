//! Reads ESLint's text formats: stylish, unix and compact.

use super::table::{ESLINT, ESLINT_STYLISH};
use crate::Kind;
use crate::output::kit::number::count;
use crate::output::reader::{Format, FormatName, Reader, Stream, after};
use crate::results::{Finding, Reading};

/// ESLint's text.
pub const FORMAT: Format = Format {
    kinds: &[Kind::Lint, Kind::Compile],
    ..Format::linter::<Eslint>("eslint", &[FormatName::Eslint])
};

#[derive(Default)]
struct Eslint {
    reading: Reading,
    /// The file of the findings that follow: the line before the first of them.
    file: Option<String>,
    summed: (u64, u64),
    told: bool,
    /// The number of files that it ignores, which it counts as warnings.
    ignored: u64,
    /// It broke down; why is on one of the next lines.
    oops: bool,
}

/// The end of what is reported of a file that ESLint ignores.
pub const IGNORES: &str = "which ESLint ignores";

/// Whether a message is that a file is ignored: the file was not linted, and nothing in it is wrong.
pub(super) fn is_ignored(message: &str) -> bool {
    message.starts_with("File ignored ")
}

/// Notes a file that was named and not linted.
pub(super) fn leave_out(reading: &mut Reading, file: Option<&str>) {
    let file = crate::agreement::short(file.unwrap_or("a file"));
    reading.leave_out(format!("`{file}`, {IGNORES}"));
}

impl Reader for Eslint {
    fn line(&mut self, _: Stream, line: &str) {
        match line.as_bytes() {
            [] => self.file = None,
            [b' ', ..] => {
                if let Some(file) = self.file.clone()
                    && let Some(found) = ESLINT_STYLISH.read(line)
                {
                    self.find(Finding {
                        file: Some(file),
                        ..found.finding
                    });
                }
            }
            // `✖ `
            [0xe2, 0x9c, 0x96, b' ', ..] => self.summary(line.get(4..).unwrap_or_default()),
            _ => self.flush_left(line),
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        if self.oops {
            self.reading.object("ESLint could not run");
        }
        if !self.told && self.reading.problems.is_empty() {
            return None;
        }
        // Some of what it found was printed in another form.
        self.reading.errors = self.reading.errors.max(self.summed.0);
        let summed = self.summed.1.saturating_sub(self.ignored);
        self.reading.warnings = self.reading.warnings.max(summed);
        Some(self.reading)
    }
}

impl Eslint {
    /// ESLint writes 0 where it knows no place.
    fn find(&mut self, mut finding: Finding) {
        if is_ignored(&finding.message) {
            self.ignored = self.ignored.saturating_add(1);
            self.told = true;
            leave_out(&mut self.reading, finding.file.as_deref());
            return;
        }
        finding.column = finding.column.filter(|column| *column > 0);
        self.reading.find(finding);
        self.told = true;
    }

    /// A line that is not indented: a file, a finding in another form, or anything.
    fn flush_left(&mut self, line: &str) {
        if self.oops && !line.starts_with("ESLint: ") {
            self.oops = false;
            self.reading.object(format!("ESLint could not run: {line}"));
        } else if line.starts_with("Oops! Something went wrong!") {
            self.oops = true;
        } else if let Some(found) = ESLINT.read(line) {
            self.find(found.finding);
        }
        let file = self.file.get_or_insert_default();
        file.clear();
        // The name of a file is short.
        if line.len() <= crate::results::TEXT_KEPT {
            file.push_str(line);
        }
    }

    /// `8 problems (7 errors, 1 warning)`.
    fn summary(&mut self, text: &str) {
        let counts = || {
            let (_, rest) = count(text)?;
            let rest = after(rest, &[" problems (", " problem ("])?;
            let (errors, rest) = count(rest)?;
            let rest = after(rest, &[" errors, ", " error, "])?;
            let (warnings, rest) = count(rest)?;
            rest.starts_with(" warning").then_some((errors, warnings))
        };
        if let Some((errors, warnings)) = counts() {
            self.told = true;
            self.summed = (
                self.summed.0.saturating_add(errors),
                self.summed.1.saturating_add(warnings),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    #[test]
    fn outputs() {
        let found = |text: &str| {
            let reading = read(&[&FORMAT], text.as_bytes(), b"")?;
            Some((
                reading.errors,
                reading.warnings,
                reading.findings.len(),
                reading.problems.len(),
            ))
        };
        for (text, want) in [
            (
                "\na.js\n  1:1  warning  Unexpected  no-console\n\n✖ 1 problem (0 errors, 1 warning)\n",
                Some((0, 1, 1, 0)),
            ),
            (
                "a.js\n  1:1  error  Unexpected  no-console\n",
                Some((1, 0, 1, 0)),
            ),
            ("✖ 3 problems (2 errors, 1 warning)\n", Some((2, 1, 0, 0))),
            (
                "/x/a.js:1:7: Missing. [Error/semi]\n/x/a.js:1:8: Parsing [Error]\n\n2 problems\n",
                Some((2, 0, 2, 0)),
            ),
            (
                "/x/a.js: line 1, col 7, Warning - Missing. (semi)\n",
                Some((0, 1, 1, 0)),
            ),
            (
                "a.js\n  0:0  warning  File ignored because of a matching ignore pattern\n",
                Some((0, 0, 0, 0)),
            ),
            (
                "a.js\n  0:0  warning  File ignored by default.\n\nb.js\n  1:1  warning  Unexpected  no-console\n\n✖ 2 problems (0 errors, 2 warnings)\n",
                Some((0, 1, 1, 0)),
            ),
            (
                "Oops! Something went wrong! :(\n\nESLint: 9.1.0\n\nError: no\n",
                Some((0, 0, 0, 1)),
            ),
            ("Oops! Something went wrong! :(\n", Some((0, 0, 0, 1))),
            ("\n  1:1  error  Unexpected  no-console\n", None),
            (
                "✖ failing tests:\n✖ 99999999999999999999999 problems (\n",
                None,
            ),
            ("a.js [Error]\n", None),
            ("", None),
        ] {
            assert_eq!(found(text), want, "{text}");
        }
    }

    #[test]
    fn parts() {
        let text = "a.js\r\n  1:12  error  Two  blanks in it  @x/semi\r\n  0:0  error  Parsing error: Unexpected token (\r\n";
        let reading = read(&[&FORMAT], text.as_bytes(), b"").unwrap();
        let parts: Vec<_> = reading
            .findings
            .iter()
            .map(|f| (f.line, f.column, &*f.message, f.code.as_deref()))
            .collect();
        assert_eq!(
            parts,
            [
                (Some(1), Some(12), "Two  blanks in it", Some("@x/semi")),
                (None, None, "Parsing error: Unexpected token (", None)
            ]
        );
    }
}
