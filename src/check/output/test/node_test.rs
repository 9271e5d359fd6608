//! Reads the report for people of `node --test`, its reporter `spec`; its other reporters write TAP
//! and JUnit.

use crate::output::kit::location;
use crate::output::kit::message::Message;
use crate::output::kit::number;
use crate::output::reader::{Format, FormatName, Reader, Stream, starts};
use crate::results::{FailedTest, Reading, TestCounts};

/// The reporter `spec`.
pub const FORMAT: Format = Format::run::<NodeTest>("node-test", &[FormatName::Node], &[], |line| {
    starts(line, &["ℹ "])
});

#[derive(Default)]
struct NodeTest {
    /// The summary whose lines come.
    summary: Option<Summary>,
    last: Option<TestCounts>,
    before: TestCounts,
    /// The list below the summary has begun.
    listing: bool,
    place: Option<(String, u64)>,
    failure: Option<(FailedTest, Message)>,
    reading: Reading,
}

#[derive(Default)]
struct Summary {
    /// The number of tests that it announces; suites may be among those it counts.
    tests: u64,
    /// The number of its counts so far.
    seen: u64,
    counts: TestCounts,
}

impl Reader for NodeTest {
    fn line(&mut self, _: Stream, line: &str) {
        match line.as_bytes() {
            // `ℹ `
            [0xe2, 0x84, 0xb9, b' ', ..] => self.count(line.get(4..).unwrap_or_default()),
            // `✖ `
            [0xe2, 0x9c, 0x96, b' ', ..] => self.failed(line.get(4..).unwrap_or_default()),
            [b't', b'e', b's', b't', b' ', b'a', b't', b' ', ..] if self.listing => {
                self.flush();
                let place = line.get(8..).and_then(location::located);
                self.place = place.map(|(file, line)| (file.to_owned(), line));
            }
            _ => {
                if let Some((_, message)) = &mut self.failure {
                    if line.trim_start().starts_with("at ") {
                        message.end();
                    }
                    message.line(line);
                }
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.flush();
        let mut counts = self.before;
        counts.add(self.last?);
        self.reading.tests = Some(counts);
        Some(self.reading)
    }
}

impl NodeTest {
    /// `tests 3`, `pass 2`, … and last `duration_ms 9`. Only a complete summary counts; each is
    /// of a run.
    fn count(&mut self, text: &str) {
        let Some((word, number)) = text.split_once(' ') else {
            return;
        };
        if word == "Error:" && number.contains(" does not meet threshold") {
            return self.reading.object(text);
        }
        let number = number::count(number).map_or(0, |(number, _)| number);
        if word == "tests" {
            self.summary = Some(Summary {
                tests: number,
                ..Summary::default()
            });
            return;
        }
        let Some(Summary {
            tests,
            seen,
            counts,
        }) = &mut self.summary
        else {
            return;
        };
        let count = match word {
            "pass" => &mut counts.passed,
            "fail" | "cancelled" => &mut counts.failed,
            "skipped" | "todo" => &mut counts.skipped,
            "duration_ms" if *seen >= 3 => {
                let (counts, tests) = (*counts, (*tests).max(counts.all()));
                self.summary = None;
                self.reading.object_all(counts.differ_from(tests));
                if let Some(last) = self.last.replace(counts) {
                    self.before.add(last);
                }
                return;
            }
            _ => return,
        };
        *seen += 1;
        *count = count.saturating_add(number);
    }

    /// `✖ failing tests:` begins the list, which contains `✖ name (1.2ms)`.
    fn failed(&mut self, text: &str) {
        self.flush();
        if text == "failing tests:" {
            self.listing = self.last.is_some();
            return;
        }
        if !self.listing {
            return;
        }
        let Some((name, rest)) = text.rsplit_once(" (") else {
            return;
        };
        let place = self.place.take();
        // A test that is still to be written may fail.
        if rest
            .split_once(')')
            .is_some_and(|(_, mark)| mark.trim_start().starts_with("# TODO"))
        {
            return;
        }
        let (file, line) = place.unzip();
        self.failure = Some((
            FailedTest {
                file,
                line,
                name: name.to_owned(),
                message: None,
            },
            Message::default(),
        ));
    }

    fn flush(&mut self) {
        if let Some((mut test, mut message)) = self.failure.take() {
            test.message = message.take();
            self.reading.fail(test);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    #[test]
    fn summaries() {
        let block = |pass: &str, fail: u64| {
            format!(
                "ℹ tests 9\nℹ suites 0\nℹ pass {pass}\nℹ fail {fail}\nℹ cancelled 1\nℹ skipped 1\nℹ todo 2\nℹ duration_ms 1.5\n"
            )
        };
        let tests = |text: &str| {
            let TestCounts {
                failed,
                passed,
                skipped,
                ..
            } = read(&[&FORMAT], text.as_bytes(), b"")?.tests?;
            Some((passed, failed, skipped))
        };
        assert_eq!(tests(&block("4", 0)), Some((4, 1, 3)));
        assert_eq!(
            tests(&format!("{}{}", block("9", 9), block("4", 0))),
            Some((13, 11, 6)),
            "two runs, and the failures of the first are not listed"
        );
        let listed = format!(
            "{}✖ failing tests:\n\n✖ a (1ms)\n{}",
            block("1", 1),
            block("4", 0)
        );
        assert_eq!(tests(&listed), Some((5, 3, 6)), "two runs");
        assert_eq!(
            tests(&block("99999999999999999999999", 0)),
            Some((u64::MAX, 1, 3))
        );
        assert_eq!(tests("ℹ tests 3\nℹ pass 3\n"), None, "torn");
        assert_eq!(tests("ℹ hello\n✖ x\n"), None);
    }
}
