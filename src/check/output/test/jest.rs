//! Reads jest's report for people.
//!
//! jest writes it to standard error; the summary is the block `Test Suites: …`, `Tests: …`. What a
//! test itself prints is on standard output or indented.

use crate::output::kit::blocks::Blocks;
use crate::output::kit::location;
use crate::output::kit::message::Message;
use crate::output::kit::number;
use crate::output::reader::{Format, FormatName, PerStream, Reader, Stream, starts};
use crate::results::{FailedTest, Reading, TestCounts};
use std::collections::BTreeSet;

/// jest's text.
pub const FORMAT: Format = Format::run::<Jest>(
    "jest",
    &[FormatName::Jest],
    &["FAIL ", "PASS ", "RUNS "],
    |line| {
        starts(
            line,
            &[
                "A worker process ",
                "Ran all ",
                "Snapshots:",
                "Test Suites:",
                "Tests:",
                "Time:",
            ],
        )
    },
);

#[derive(Default)]
struct Jest {
    /// The readings of each stream: that of standard error counts, if there is one.
    blocks: PerStream<Blocks>,
    reading: Reading,
    /// The file of the failures that follow.
    file: Option<String>,
    failure: Option<Failure>,
    /// Failures are printed twice when there are many files.
    seen: BTreeSet<(Option<String>, String)>,
    none_found: bool,
}

/// A failure whose lines come.
struct Failure {
    test: FailedTest,
    message: Message,
    /// Not a failed test: its file could not be run.
    suite: bool,
}

impl Reader for Jest {
    fn line(&mut self, stream: Stream, line: &str) {
        match line.as_bytes() {
            [b' ', b' ', 0xe2, 0x97, 0x8f, b' ', ..] => {
                self.title(line.get(6..).unwrap_or_default())
            }
            // In colour the words are on blanks.
            [b' ', b'F' | b'P', b'A', ..] => self.word(stream, line.trim_start()),
            [b' ', ..] | [] => {
                if let Some(failure) = &mut self.failure {
                    failure.line(line);
                }
            }
            [b'T' | b'F' | b'P' | b'N' | b'J' | b'S', ..] => self.word(stream, line),
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.flush();
        let mut reading = self.reading;
        let is_read = self
            .blocks
            .get_mut(Stream::Err)
            .finish(&mut reading, "test suites");
        let on_err = reading.tests.take();
        // Other text on standard output may be another run, or what a test printed: only one
        // that failed counts.
        let problems = reading.problems.len();
        let mut is_read_there = self
            .blocks
            .get_mut(Stream::Out)
            .finish(&mut reading, "test suites");
        let on_out = reading.tests.take();
        let is_whole = self
            .blocks
            .get_mut(Stream::Out)
            .last
            .is_some_and(|last| last.files.is_some());
        let has_failed =
            on_out.is_some_and(|tests| tests.failed > 0) || reading.problems.len() > problems;
        is_read_there &= !is_read || is_whole && has_failed;
        if !is_read_there {
            reading.problems.truncate(problems);
        }
        let mut counts = on_err.unwrap_or_default();
        if is_read_there {
            counts.add(on_out.unwrap_or_default());
        }
        reading.tests = Some(counts);
        if !is_read && !is_read_there {
            if !self.none_found {
                return None;
            }
            reading = Reading::default();
            reading.tests = Some(TestCounts::default());
        }
        Some(reading)
    }
}

impl Jest {
    /// A line that begins with a word of jest's.
    fn word(&mut self, stream: Stream, line: &str) {
        let summaries = self.blocks.get_mut(stream);
        if let Some(text) = line.strip_prefix("Tests:") {
            // PHPUnit's `Tests: 10, Assertions: 20.` has no number with a word.
            if number::counts(text, ',').all(|(_, word)| word.is_empty()) {
                return;
            }
            summaries.tests(text, ',');
            self.flush();
        } else if let Some(text) = line.strip_prefix("Test Suites:") {
            summaries.files(text, ',');
            self.flush();
        } else if let Some(file) = line.strip_prefix("FAIL ") {
            self.flush();
            // The time that it took may follow the file: `(5.1 s)`.
            let file = file.rsplit_once(" (").map_or(file, |(file, _)| file);
            self.file = Some(file.trim().to_owned());
        } else if line.starts_with("PASS ") || line.starts_with("Summary of all failing tests") {
            self.flush();
            self.file = None;
        } else if line.starts_with("No tests found, exiting with code")
            || line.starts_with("No tests found related to files changed")
        {
            self.none_found = true;
        } else if line.starts_with("Jest: ") && line.contains("threshold") {
            self.reading.object(line);
        }
    }

    /// `● suite › name`.
    fn title(&mut self, title: &str) {
        self.flush();
        if self.file.is_none() || title.trim() == "Console" {
            return;
        }
        let suite = title == "Test suite failed to run";
        let test = FailedTest {
            file: self.file.clone(),
            name: title.trim().to_owned(),
            ..FailedTest::default()
        };
        self.failure = Some(Failure {
            test,
            message: Message::default(),
            suite,
        });
    }

    fn flush(&mut self) {
        let Some(Failure {
            mut test,
            mut message,
            suite,
        }) = self.failure.take()
        else {
            return;
        };
        test.message = message.take();
        crate::results::clip(&mut test.name);
        if self.seen.len() > 10_000 || !self.seen.insert((test.file.clone(), test.name.clone())) {
            return;
        }
        if suite {
            let (file, why) = (
                test.file.unwrap_or_default(),
                test.message.unwrap_or_default(),
            );
            self.reading.not_run(&file, &why);
        } else {
            self.reading.fail(test);
        }
    }
}

impl Failure {
    fn line(&mut self, line: &str) {
        if self.test.line.is_none()
            && let Some((file, number)) = location::frame(line)
        {
            // The frame that lies in the file of the test says where; another one does not name the
            // line of this file.
            if self.test.file.as_deref().is_some_and(|own| {
                own.ends_with(file) || file.ends_with(own.trim_start_matches("./"))
            }) {
                self.test.line = Some(number);
            }
        }
        let text = line.trim_start();
        let excerpt = || {
            let text = text.trim_start_matches(['>', ' ']);
            text.trim_start_matches(|c: char| c.is_ascii_digit())
                .starts_with(" |")
        };
        if text.starts_with("at ") || excerpt() {
            self.message.end();
        }
        self.message.line(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    fn tests(out: &str, err: &str) -> Option<(u64, u64, u64, usize)> {
        let reading = read(&[&FORMAT], out.as_bytes(), err.as_bytes())?;
        let TestCounts {
            failed,
            passed,
            skipped,
            ..
        } = reading.tests?;
        Some((passed, failed, skipped, reading.problems.len()))
    }

    #[test]
    fn summaries() {
        let two = "FAIL a\n  ● x\n\nTest Suites: 1 failed, 1 total\nTests: 1 failed, 1 total\nTest Suites: 1 passed, 1 total\nTests: 3 passed, 3 total\n";
        for (out, err, want) in [
            (
                "",
                "Tests: 1 failed, 1 todo, 2 skipped, 3 passed, 7 total\n",
                Some((3, 1, 3, 0)),
            ),
            (
                "Tests: 9 failed, 9 total\n",
                "Test Suites: 1 passed\nTests: 1 passed, 1 total\n",
                Some((1, 0, 0, 0)),
            ),
            (
                "Test Suites: 1 passed\nTests: 1 passed\nTests: 9 failed\n",
                "",
                Some((1, 0, 0, 0)),
            ),
            (
                "FAIL a\nTests: 9 failed\nTest Suites: 1 passed\nTests: 1 passed\n",
                "",
                Some((1, 0, 0, 0)),
            ),
            ("", two, Some((3, 1, 0, 0))),
            (
                "",
                "Test Suites: 1 failed\nTests: 1 failed\nTest Suites: 1 passed\nTests: 3 passed\n",
                Some((3, 1, 0, 0)),
            ),
            (
                "Test Suites: 1 failed\nTests: 1 failed\n",
                "Test Suites: 1 passed\nTests: 3 passed\n",
                Some((3, 1, 0, 0)),
            ),
            (
                "Test Suites: 1 passed\nTests: 9 passed\n",
                "Test Suites: 1 passed\nTests: 3 passed\n",
                Some((3, 0, 0, 0)),
            ),
            (
                "",
                "Tests: -1 failed, 3 passed\n",
                Some((3, u64::MAX, 0, 0)),
            ),
            ("    Tests: 9 failed, 9 total\n", "", None),
            (
                "Test Suites: 1 failed, 1 of 5 total\nTests: 1 failed, 1 total\n",
                "",
                Some((0, 1, 0, 0)),
            ),
            (
                "Test Suites: 2 failed, 2 total\nTests: 0 total\n",
                "",
                Some((0, 0, 0, 1)),
            ),
            (
                "Tests: 99999999999999999999999 passed\n",
                "",
                Some((u64::MAX, 0, 0, 0)),
            ),
            (
                "Jest: \"global\" coverage threshold for lines (100%) not met: 50%\nTests: 1 passed\n",
                "",
                Some((1, 0, 0, 1)),
            ),
            (
                "No tests found, exiting with code 1\n",
                "",
                Some((0, 0, 0, 0)),
            ),
            (
                "No tests found related to files changed since last commit.\n",
                "",
                Some((0, 0, 0, 0)),
            ),
            ("it said 1 failed\n", "", None),
            ("", "", None),
        ] {
            assert_eq!(tests(out, err), want, "{out}{err}");
        }
    }
}
