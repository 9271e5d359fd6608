//! Reads mocha's report for people.
//!
//! All of its reporters for people end with `  N passing (T)`, `  N pending`, `  N failing` on
//! lines that follow each other, and numbered failures below.

use crate::output::kit::location;
use crate::output::kit::message::{self, Message};
use crate::output::kit::number;
use crate::output::reader::{Format, FormatName, Reader, Stream};
use crate::results::{FailedTest, Reading, TestCounts};

/// mocha's text: spec, dot, list and others that end alike.
pub const FORMAT: Format = Format::run::<Mocha>("mocha", &[FormatName::Mocha], &[], |line| {
    line.contains(" passing (") || line.ends_with(" pending")
});

#[derive(Default)]
struct Mocha {
    last: Option<TestCounts>,
    before: TestCounts,
    /// The line before belongs to a summary.
    in_summary: bool,
    failure: Option<Failure>,
    reading: Reading,
    none_found: bool,
}

#[derive(Default)]
struct Failure {
    titles: Vec<String>,
    /// Its name is complete.
    named: bool,
    message: Message,
    place: Option<(String, u64)>,
}

impl Reader for Mocha {
    fn line(&mut self, _: Stream, line: &str) {
        if self.failure.is_none() && !self.in_summary {
            // Nothing of mocha's summary begins otherwise than with two blanks and a digit.
            match line.as_bytes() {
                [b' ', b' ', b'0'..=b'9', ..] => {}
                [b'E', b'r', b'r', b'o', b'r', b':', ..] => {
                    self.none_found |= line.starts_with("Error: No test files found");
                    return;
                }
                _ => return,
            }
        }
        let was_in_summary = std::mem::take(&mut self.in_summary);
        if let Some((number, word)) = line.strip_prefix("  ").and_then(number::count) {
            let word = word.trim_start();
            if word
                .strip_prefix("passing (")
                .is_some_and(|time| time.ends_with(')'))
            {
                self.flush();
                self.summary(number);
                return;
            }
            if was_in_summary && let Some(last) = &mut self.last {
                match word {
                    "pending" => last.skipped = number,
                    "failing" => last.failed = number,
                    _ if number > 0 && word.bytes().all(|b| b.is_ascii_lowercase()) => {
                        let all = last.all().saturating_add(number);
                        self.reading.object_all(last.differ_from(all));
                    }
                    _ => {}
                }
                self.in_summary = matches!(word, "pending" | "failing");
            }
            if let Some(title) = word.strip_prefix(") ")
                && self.last.is_some_and(|last| last.failed > 0)
            {
                self.flush();
                let mut failure = Failure::default();
                failure.title(title);
                self.failure = Some(failure);
                return;
            }
        }
        if let Some(failure) = &mut self.failure {
            failure.line(line);
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.flush();
        let mut counts = self.before;
        match self.last {
            Some(last) => counts.add(last),
            None if self.none_found => {}
            None => return None,
        }
        self.reading.tests = Some(counts);
        Some(self.reading)
    }
}

impl Mocha {
    /// `N passing`: a summary begins. The one before it is of another run.
    fn summary(&mut self, passed: u64) {
        if let Some(last) = self.last {
            self.before.add(last);
        }
        self.last = Some(TestCounts {
            passed,
            ..TestCounts::default()
        });
        self.in_summary = true;
    }

    fn flush(&mut self) {
        let Some(mut failure) = self.failure.take() else {
            return;
        };
        let name = message::path(failure.titles.iter().map(String::as_str));
        let (file, line) = failure.place.unzip();
        self.reading.fail(FailedTest {
            file,
            line,
            message: failure.message.take(),
            name,
        });
    }
}

impl Failure {
    /// A suite or, with a colon at its end, the test.
    fn title(&mut self, text: &str) {
        let text = text.trim();
        self.named = text.ends_with(':') || text.is_empty() || self.titles.len() > 50;
        let mut title = text.strip_suffix(':').unwrap_or(text).to_owned();
        crate::results::clip(&mut title);
        self.titles.push(title);
    }

    fn line(&mut self, line: &str) {
        if !self.named {
            return self.title(line);
        }
        if line.trim_start().starts_with("at ") {
            self.message.end();
        }
        if self.place.is_none() {
            self.place = location::frame(line).map(|(file, line)| (file.to_owned(), line));
        }
        self.message.line(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    #[test]
    fn summaries() {
        let tests = |text: &str| {
            let TestCounts {
                failed,
                passed,
                skipped,
                ..
            } = read(&[&FORMAT], text.as_bytes(), b"")?.tests?;
            Some((passed, failed, skipped))
        };
        for (text, want) in [
            (
                "\n  2 passing (16ms)\n  1 pending\n  1 failing\n\n  1) s\n       d:\n     Error: boom\n",
                Some((2, 1, 1)),
            ),
            ("  9 failing\n  0 passing (1ms)\n", Some((0, 0, 0))),
            (
                "  9 passing (1ms)\n  9 failing\n  1 passing (2s)\n",
                Some((10, 9, 0)),
            ),
            (
                "  1 passing (1ms)\n  1 failing\n\n  1) a:\n     x\n\n  1 passing (2s)\n",
                Some((2, 1, 0)),
            ),
            ("  3 passing\n", None),
            ("3 passing (1ms)\n", None),
            (
                "  99999999999999999999999 passing (1ms)\n",
                Some((u64::MAX, 0, 0)),
            ),
            ("Error: No test files found: \"x\"\n", Some((0, 0, 0))),
            ("", None),
        ] {
            assert_eq!(tests(text), want, "{text}");
        }
    }
}
