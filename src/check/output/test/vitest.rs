//! Reads vitest's report for people.
//!
//! The summary is the block ` Test Files  …`, `      Tests  …`, `     Errors  …`; failures are
//! under ` FAIL  file > suite > name`.

use crate::output::kit::blocks::{Blocks, first};
use crate::output::kit::location;
use crate::output::kit::message::Message;
use crate::output::kit::number;
use crate::output::reader::{Format, FormatName, Reader, Stream, after, starts};
use crate::results::{FAILED_KEPT, FailedTest, Reading, TestCounts};

/// vitest's text.
pub const FORMAT: Format =
    Format::run::<Vitest>("vitest", &[FormatName::Vitest], &["RUN "], |line| {
        starts(line, &["Duration ", "Test Files ", "Tests "])
    });

#[derive(Default)]
struct Vitest {
    blocks: Blocks,
    /// Tests that failed with the error which follows.
    failing: Vec<FailedTest>,
    /// A file that failed with the error which follows.
    suite: Option<String>,
    message: Message,
    reading: Reading,
    begun: bool,
    /// The number of tests that passed when they were tried again.
    retried: u64,
    none_found: bool,
    /// What failed outside of tests, as lines without a count say.
    outside: Option<String>,
}

impl Reader for Vitest {
    fn line(&mut self, _: Stream, line: &str) {
        if line.contains(" (retry x") && line.trim_start().starts_with('✓') {
            self.retried = self.retried.saturating_add(1);
        }
        match line.as_bytes() {
            [b' ', b'F', b'A', b'I', b'L', b' ', b' ', ..] => {
                self.fail(line.get(6..).unwrap_or_default().trim())
            }
            [b' ', b'T', b'e', b's', b't', b' ', ..]
            | [b' ', b' ', b' ', b' ', b' ', ..]
            | [b'T', b'y', b'p', b'e', b' ', ..]
                if self.word(line.trim_start()) => {}
            [b' ', b'R' | b'D', b'U' | b'E', b'N' | b'V', b' ', ..] => self.begun = true,
            [b'N', b'o', b' ', ..] | [b' ', b'N', b'o', b' ', ..] => {
                self.none_found |= line
                    .trim_start()
                    .starts_with("No test files found, exiting with code");
            }
            // `⎯⎯⎯ Unhandled Errors ⎯⎯⎯`, and what exceeds a threshold.
            [0xe2, 0x8e, 0xaf, ..] if line.contains("⎯ Unhandled ") => {
                self.flush();
                self.outside
                    .get_or_insert("errors outside of tests".to_owned());
            }
            [b'E', b'R', b'R', b'O', b'R', b':', ..] if line.contains(" does not meet ") => {
                self.outside.get_or_insert(line.to_owned());
            }
            _ if self.failing.is_empty() && self.suite.is_none() => {}
            _ => self.detail(line),
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.flush();
        let Some(last) = self.blocks.last else {
            self.reading.tests = Some(TestCounts::default());
            // Nothing was counted; without its banner another tool may have said so.
            return self.none_found.then_some(self.reading);
        };
        if !self.begun && last.files.is_none() && self.reading.failed_tests.is_empty() {
            return None;
        }
        self.blocks.finish(&mut self.reading, "test files");
        if self.reading.problems.is_empty() {
            self.reading.object_all(self.outside);
        }
        if let Some(tests) = &mut self.reading.tests {
            tests.flaky = self.retried.min(tests.passed);
        }
        Some(self.reading)
    }
}

impl Vitest {
    /// A line of the summary.
    fn word(&mut self, line: &str) -> bool {
        if let Some(text) = line.strip_prefix("Test Files ") {
            self.blocks.files(text, '|');
        } else if let Some(text) = line.strip_prefix("Tests ") {
            let is_known = |(_, word): (u64, &str)| WORDS.contains(&first(word));
            if text.trim() == "no tests" || number::counts(text, '|').any(is_known) {
                self.blocks.tests(text, '|');
            }
        } else if let Some(text) = after(line, &["Errors ", "Type Errors "]) {
            let errors = number::counts(text, '|')
                .next()
                .map_or(0, |(number, _)| number);
            if let Some(last) = &mut self.blocks.last {
                last.errors = last.errors.saturating_add(errors);
            }
        } else {
            return false;
        }
        true
    }

    /// `a.test.ts > suite > name`, or for a file that could not be run `a.test.ts [ a.test.ts ]`.
    fn fail(&mut self, name: &str) {
        // Several may share one error: their lines follow each other.
        if self.message.ended() || self.suite.is_some() || !self.message.is_empty() {
            self.flush();
        }
        let unnamed = name
            .strip_prefix('|')
            .and_then(|rest| rest.split_once("| "))
            .map_or(name, |(_, rest)| rest);
        match unnamed.split_once(" > ") {
            Some(_) if self.failing.len() >= FAILED_KEPT => {}
            Some((file, _)) => {
                let file = Some(file.to_owned());
                self.failing.push(FailedTest {
                    file,
                    name: name.to_owned(),
                    ..FailedTest::default()
                });
            }
            None => {
                self.flush();
                let file = unnamed.split_once(" [ ").map_or(unnamed, |(file, _)| file);
                self.suite = Some(file.to_owned());
            }
        }
    }

    /// A line of the error.
    fn detail(&mut self, line: &str) {
        let text = line.trim_start();
        if text.starts_with('⎯') {
            return self.flush();
        }
        if text.starts_with("❯ ") {
            self.message.end();
            if let Some((file, number)) = location::frame(text) {
                for test in &mut self.failing {
                    if test.line.is_none() && test.file.as_deref() == Some(file) {
                        test.line = Some(number);
                    }
                }
            }
        }
        self.message.line(line);
    }

    fn flush(&mut self) {
        let message = self.message.take();
        if let Some(file) = self.suite.take() {
            self.reading
                .not_run(&file, message.as_deref().unwrap_or_default());
        }
        for mut test in std::mem::take(&mut self.failing) {
            test.message.clone_from(&message);
            self.reading.fail(test);
        }
    }
}

/// The words of the counts of tests.
const WORDS: [&str; 5] = ["expected", "failed", "passed", "skipped", "todo"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::counted;
    use crate::output::read;

    #[test]
    fn summaries() {
        let tests = |text: &str| counted(&FORMAT, text);
        for (text, want) in [
            (
                " Test Files  1 passed (1)\n      Tests  2 passed | 1 skipped | 1 todo (4)\n",
                Some((2, 0, 2, 0)),
            ),
            (
                " RUN  v3.0.0 /x\n      Tests  2 passed (2)\n",
                Some((2, 0, 0, 0)),
            ),
            (
                " Test Files  1 failed (1)\n      Tests  no tests\n",
                Some((0, 0, 0, 1)),
            ),
            (
                " Test Files  1 passed (1)\n      Tests  1 passed (1)\n     Errors  2 errors\n",
                Some((1, 0, 0, 1)),
            ),
            (
                "      Tests  9 failed (9)\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n",
                Some((1, 0, 0, 0)),
            ),
            (
                " Test Files  1 passed (1)\n      Tests  1 passed (1)\n      Tests  9 failed (9)\n",
                Some((1, 0, 0, 0)),
            ),
            (
                " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n",
                Some((3, 1, 0, 0)),
            ),
            (
                " Test Files  1 failed (1)\n      Tests  no tests\n     Errors  1 error\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n",
                Some((1, 0, 0, 2)),
            ),
            ("      Tests  9 failed (9)\n", None),
            ("Tests  9 failed (9)\n", None),
            (
                "\n No test files found, exiting with code 1\n",
                Some((0, 0, 0, 0)),
            ),
            ("", None),
        ] {
            assert_eq!(tests(text), want, "{text}");
        }
    }

    #[test]
    fn what_was_tried_again_is_flaky() {
        let text = " ✓ a.ts (2 tests) 3ms\n   ✓ x (retry x1) 1ms\n   ✓ y 1ms\n Test Files  1 passed (1)\n      Tests  2 passed (2)\n";
        let reading = read(&[&FORMAT], text.as_bytes(), b"").unwrap();
        let tests = reading.tests.unwrap();
        assert_eq!((tests.passed, tests.flaky), (2, 1));
    }

    #[test]
    fn tests_that_share_an_error() {
        let text = " FAIL  a.ts > x\n FAIL  a.ts > y\nError: boom\n ❯ a.ts:3:4\n⎯⎯⎯\n Test Files  1 failed (1)\n      Tests  2 failed (2)\n";
        let reading = read(&[&FORMAT], text.as_bytes(), b"").unwrap();
        let failed: Vec<_> = reading
            .failed_tests
            .iter()
            .map(|t| (t.name.as_str(), t.message.as_deref(), t.line))
            .collect();
        assert_eq!(
            failed,
            [
                ("a.ts > x", Some("Error: boom"), Some(3)),
                ("a.ts > y", Some("Error: boom"), Some(3))
            ]
        );
    }
}
