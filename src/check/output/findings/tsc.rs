//! Reads the diagnostics of TypeScript's compiler, plain and pretty.

use super::table::TSC;
use crate::output::kit::number::count;
use crate::output::reader::{Format, FormatName, Reader, Stream, after};
use crate::results::{Finding, Reading};

/// `a.ts(1,7): error TS2322: …` and `a.ts:1:7 - error TS2322: …`.
pub const FORMAT: Format = Format::compiler::<Tsc>("tsc", &[FormatName::Tsc]);

#[derive(Default)]
struct Tsc {
    reading: Reading,
    /// A finding whose message may go on, indented.
    open: Option<Finding>,
    /// The counts in the summaries.
    summed: Option<u64>,
}

impl Reader for Tsc {
    fn line(&mut self, _: Stream, line: &str) {
        if let Some(finding) = &mut self.open {
            if line.starts_with("  ") && finding.message.len() < crate::results::TEXT_KEPT {
                finding.message.push('\n');
                finding.message.push_str(line.trim());
                return;
            }
            self.flush();
        }
        // In watch mode the time precedes it.
        if line.starts_with("Found ")
            || line.starts_with(|c: char| c.is_ascii_digit() || c == '[')
                && line.contains(" - Found ")
        {
            return self.summary(line);
        }
        self.open = TSC.read(line).map(|found| found.finding);
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.flush();
        let found = self.reading.errors > 0 || self.reading.warnings > 0;
        if !found && self.summed.is_none() {
            return None;
        }
        // Some of what it found was printed in another form.
        self.reading.errors = self.reading.errors.max(self.summed.unwrap_or(0));
        Some(self.reading)
    }
}

impl Tsc {
    fn flush(&mut self) {
        if let Some(finding) = self.open.take() {
            self.reading.find(finding);
        }
    }

    /// `Found 2 errors in 2 files.`, in watch mode after the time and with a full stop.
    fn summary(&mut self, line: &str) {
        let text = line
            .strip_prefix("Found ")
            .or_else(|| line.split_once(" - Found ").map(|(_, text)| text));
        let Some((count, rest)) = text.and_then(count) else {
            return;
        };
        let rest = rest.trim_start();
        let Some(rest) = after(rest, &["errors", "error"]) else {
            return;
        };
        if [" in ", ".", ","].iter().any(|more| rest.starts_with(more)) || rest.is_empty() {
            // In watch mode the last one counts, and so it does for several projects: what is below
            // is counted anyway.
            self.summed = Some(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;
    use crate::results::Level;

    #[test]
    fn outputs() {
        let found = |text: &str| {
            let reading = read(&[&FORMAT], text.as_bytes(), b"")?;
            Some((reading.errors, reading.warnings, reading.findings.len()))
        };
        for (text, want) in [
            (
                "a.ts(1,7): error TS2322: Type 'a' is not b.\n  Type c.\n    Type d.\n",
                Some((1, 0, 1)),
            ),
            (
                "src/(x)/[id].ts(1,7): error TS2322: Type (a): error TS1: b.\n",
                Some((1, 0, 1)),
            ),
            (
                "a.ts:1:7 - error TS2322: Type 'string'.\n\n1 const\n  ~~\n\n  a.ts:3:20\n    3 x\n    'b' is declared here.\n\nFound 1 error in a.ts:1\n",
                Some((1, 0, 1)),
            ),
            ("C:\\x\\a.ts:1:7 - error TS2322: y\n", Some((1, 0, 1))),
            ("error TS18003: No inputs were found.\n", Some((1, 0, 1))),
            ("a.ts(1,7): warning TS6133: x\n", Some((0, 1, 1))),
            (
                "12:00:00 AM - Starting compilation in watch mode...\n\n12:00:01 AM - Found 0 errors. Watching for file changes.\n",
                Some((0, 0, 0)),
            ),
            ("Found 3 errors in 2 files.\n", Some((3, 0, 0))),
            ("Found 3 errors in the soup\n", Some((3, 0, 0))),
            ("Found 3 mice\n", None),
            ("error TSX: y\n", None),
            ("x error TS12 y\n", None),
            ("we fixed error TS2322: it is gone\n", None),
            ("a.ts(x,7): error TS2322: y\n", None),
            ("", None),
        ] {
            assert_eq!(found(text), want, "{text}");
        }
    }

    #[test]
    fn a_message_of_several_lines() {
        let text = "a(b).ts(4,21): error TS2322: Type 'a'.\r\n  Type 'c'.\r\nDone.\r\n";
        let reading = read(&[&FORMAT], text.as_bytes(), b"").unwrap();
        let want = Finding {
            code: Some("TS2322".into()),
            column: Some(21),
            file: Some("a(b).ts".into()),
            line: Some(4),
            message: "Type 'a'.\nType 'c'.".into(),
            severity: Level::Error,
        };
        assert_eq!(reading.findings, [want]);
    }
}
