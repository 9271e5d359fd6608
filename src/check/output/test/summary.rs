//! Reads the line of counts with which many test runners end: `2 tests, 0 passed, 2 failures` (conftest),
//! `3 examples, 1 failure` (RSpec), `5 tests, 0 failures` (ExUnit, Bats), `3 runs, 5 assertions, 0
//! failures, 0 errors, 0 skips` (minitest), `OK (3 tests, 5 assertions)` and `Tests: 3, Assertions: 5,
//! Failures: 1.` (PHPUnit).
//!
//! For an output that no other format recognises. All parts of the line must be counts of known
//! things, one of them of tests and one of failures. Summaries are added.

use crate::output::kit::number;
use crate::output::reader::{Reader, Stream};
use crate::results::{Reading, TestCounts};

/// The id of the format in readings.
pub const ID: &str = "summary";

/// A fresh reader.
pub fn reader() -> Box<dyn Reader> {
    Box::<Summary>::default()
}

/// The longest line that is read, in bytes.
const LONGEST: usize = 400;

#[derive(Default)]
struct Summary {
    counts: Option<TestCounts>,
    problem: Option<String>,
}

/// The thing that a part of a line counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thing {
    Tests,
    Passed,
    Failed,
    Skipped,
    Warned,
    Other,
}

impl Thing {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "test" | "tests" | "example" | "examples" | "run" | "runs" | "spec" | "specs"
            | "doctest" | "doctests" | "property" | "properties" => Thing::Tests,
            "passed" => Thing::Passed,
            "failed"
            | "failure"
            | "failures"
            | "error"
            | "errors"
            | "exception"
            | "exceptions"
            | "invalid"
            | "error occurred outside of examples"
            | "errors occurred outside of examples" => Thing::Failed,
            "skipped" | "skip" | "skips" | "pending" | "pendings" | "omission" | "omissions"
            | "ignored" | "excluded" | "todo" => Thing::Skipped,
            "warning" | "warnings" | "notification" | "notifications" => Thing::Warned,
            "assertion" | "assertions" | "expectation" | "expectations" => Thing::Other,
            _ => return None,
        })
    }
}

impl Reader for Summary {
    fn line(&mut self, _: Stream, line: &str) {
        let line = line.trim().trim_end_matches('.');
        if line.len() > LONGEST {
            return;
        }
        let is_number = line.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let found = if is_number {
            counts(line)
        } else {
            phpunit(line)
        };
        if let Some((tests, counts)) = found {
            let problem = counts.differ_from(tests).filter(|_| counts.failed == 0);
            self.problem = self.problem.take().or(problem);
            self.counts.get_or_insert_default().add(counts);
        }
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        let mut reading = Reading::from_format(ID);
        reading.tests = Some(self.counts?);
        reading.object_all(self.problem);
        Some(reading)
    }
}

/// The number of tests that are announced, and their counts. A test with a warning is counted as
/// passed, too, or not.
fn counts(line: &str) -> Option<(u64, TestCounts)> {
    let (mut tests, mut passed, mut has_failures) = (None::<u64>, None::<u64>, false);
    let (mut counts, mut warned) = (TestCounts::default(), 0);
    let parts = line.split(", ").count();
    let mut read = 0;
    for (n, word) in number::counts(line, ',') {
        read += 1;
        let sum = match Thing::from_word(word)? {
            Thing::Other => continue,
            Thing::Tests => tests.get_or_insert(0),
            Thing::Passed => passed.get_or_insert(0),
            Thing::Skipped => &mut counts.skipped,
            Thing::Warned => &mut warned,
            Thing::Failed => {
                has_failures = true;
                &mut counts.failed
            }
        };
        *sum = sum.saturating_add(n);
    }
    let tests = tests.filter(|_| read == parts && has_failures)?;
    let rest = tests
        .saturating_sub(counts.failed)
        .saturating_sub(counts.skipped);
    counts.passed = passed.unwrap_or(rest);
    let least = tests.saturating_sub(warned);
    Some((counts.all().clamp(least, tests), counts))
}

/// The same of PHPUnit's line, which leaves out what there is none of. Risky tests, and
/// those with warnings, are among the others.
fn phpunit(line: &str) -> Option<(u64, TestCounts)> {
    if let Some(rest) = line.strip_prefix("OK (") {
        let rest = rest.strip_suffix(')')?;
        rest.contains(" assertion").then_some(())?;
        return counts(&format!("{rest}, 0 failures"));
    }
    let (tests, rest) = line.strip_prefix("Tests: ")?.split_once(", Assertions: ")?;
    let mut counts = TestCounts::default();
    for (word, n) in rest.split(", ").filter_map(|part| part.split_once(": ")) {
        let sum = match word {
            "Errors" | "Failures" | "PHPUnit Errors" => &mut counts.failed,
            "Skipped" | "Incomplete" => &mut counts.skipped,
            _ => continue,
        };
        *sum = sum.saturating_add(number::exact(n)?);
    }
    let tests = number::exact(tests)?;
    counts.passed = tests.saturating_sub(counts.all());
    Some((tests, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_phpunit() {
        let read = |line: &str| phpunit(line).map(|(_, c)| (c.passed, c.failed, c.skipped));
        for (line, want) in [
            ("OK (1 test, 2 assertions)", Some((1, 0, 0))),
            (
                "Tests: 9, Assertions: 8, Skipped: 1, Incomplete: 1, Risky: 2",
                Some((7, 0, 2)),
            ),
            (
                "Tests: 3, Assertions: 5, Errors: 1, Failures: 1, PHPUnit Deprecations: 1",
                Some((1, 2, 0)),
            ),
            ("Tests: 3, Assertions: 5, Failures: -1", None),
            ("Tests: 3 passed, 3 total", None),
            ("OK (3 tests)", None),
        ] {
            assert_eq!(read(line), want, "{line}");
        }
    }

    #[test]
    fn lines() {
        let read = |line: &str| counts(line).map(|(_, c)| (c.passed, c.failed, c.skipped));
        for (line, want) in [
            ("2 tests, 0 passed, 0 warnings, 2 failures", Some((0, 2, 0))),
            (
                "2 tests, 2 passed, 0 warnings, 0 failures, 0 exceptions",
                Some((2, 0, 0)),
            ),
            ("3 examples, 1 failure, 1 pending", Some((1, 1, 1))),
            (
                "3 runs, 5 assertions, 0 failures, 0 errors, 1 skips",
                Some((2, 0, 1)),
            ),
            ("2 doctests, 5 tests, 0 failures", Some((7, 0, 0))),
            ("-1 tests, 0 failures", Some((u64::MAX, 0, 0))),
            ("2 tests, 1.5 failures", Some((0, u64::MAX, 0))),
            ("2 tests", None),
            ("2 failures", None),
            ("2 tests, 0 failures, 3 apples", None),
            ("2 tests, no failures", None),
            ("2 tests ran, 0 failures", None),
        ] {
            assert_eq!(read(line), want, "{line}");
        }
    }

    #[test]
    fn outputs() {
        use crate::Kind;
        use crate::output::{guessed, read_expected};
        let read = |text: &str| {
            let expected = guessed(&["sh", "t.sh"], Kind::Test);
            let reading = read_expected(&expected, text.as_bytes(), b"")?;
            let tests = reading.tests?;
            Some((
                reading.format,
                tests.passed,
                tests.failed,
                reading.problems.len(),
            ))
        };
        let summary = |passed, failed, problems| Some((ID.to_owned(), passed, failed, problems));
        assert_eq!(
            read("3 examples, 1 failure\n2 tests, 0 failures\n"),
            summary(4, 1, 0)
        );
        assert_eq!(
            read("1 test, 5 passed, 0 failures\n"),
            summary(5, 0, 1),
            "a contradiction"
        );
        let tap = "1..1\nok 1\n3 examples, 1 failure\n";
        assert_eq!(read(tap).map(|(format, ..)| format).as_deref(), Some("tap"));
        assert_eq!(read("done\n"), None);
    }
}
