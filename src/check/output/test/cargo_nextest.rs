//! Reads the output of cargo-nextest: its summary, and the list of tests below it.
//!
//! Written from the output of nextest 0.9. Its words are in a column of 12 characters in front of
//! a time in brackets; what tests print is indented, or (`--no-capture`) not: a summary counts when
//! it is about as many tests as were started.

use crate::output::findings::rustc::RustcDiagnostics;
use crate::output::kit::number::{count, counted};
use crate::output::kit::panic::{Panic, calm};
use crate::output::reader::{Format, FormatName, Reader, Stream, after, starts};
use crate::results::{FAILED_KEPT, FailedTest, Reading, TEXT_KEPT, TestCounts, clipped, fill};

/// Text of cargo-nextest.
pub const FORMAT: Format = Format::run::<Nextest>(
    "cargo-nextest",
    &[FormatName::Cargo, FormatName::Nextest],
    &["Compiling ", "Finished ", "Nextest run ", "Starting "],
    |line| starts(line, &["Summary ["]),
);

#[derive(Default)]
struct Nextest {
    built: RustcDiagnostics,
    /// The number of tests that were started; the run has begun.
    started: Option<u64>,
    summary: Option<Summary>,
    /// The runs before, each with its summary.
    done: Reading,
    /// The tests below the summary.
    listed: Vec<FailedTest>,
    /// The tests that failed, as they came; a test that is tried again is there once.
    failures: Vec<FailedTest>,
    /// The test whose output is coming, in `failures`.
    current: Option<usize>,
    panic: Option<Panic>,
    /// Panics that were not captured.
    panics: Vec<Panic>,
    /// By its lines, for when there is no summary.
    passed: u64,
    /// The build of the tests failed.
    not_built: bool,
}

struct Summary {
    tests: TestCounts,
    /// The number of tests that ran.
    ran: u64,
    /// The number of tests that did not run because it was stopped.
    not_run: u64,
}

impl Nextest {
    /// Adds up a run that has its summary.
    fn settle(&mut self) {
        let Some(Summary {
            tests,
            ran,
            not_run,
        }) = self.summary.take()
        else {
            return;
        };
        let shown = TestCounts {
            skipped: 0,
            ..tests
        };
        self.done.object_all(shown.differ_from(ran));
        if not_run > 0 {
            let why = format!("{not_run} tests were not run");
            if tests.failed == 0 {
                self.done.object(why);
            } else {
                self.done.leave_out(why);
            }
        }
        let failures = self.take_failures();
        for test in std::mem::take(&mut self.listed) {
            let told = failures.iter().find(|f| f.name == test.name).cloned();
            self.done.fail(told.unwrap_or(test));
        }
        if tests.failed == 0 && tests.flaky == 0 {
            self.done.fail_all(failures);
        }
        self.done.tests.get_or_insert_default().add(tests);
        self.started = None;
        self.current = None;
        self.passed = 0;
    }

    /// Takes the failed tests, with what their panics say.
    fn take_failures(&mut self) -> Vec<FailedTest> {
        let mut failures = std::mem::take(&mut self.failures);
        let panics = std::mem::take(&mut self.panics);
        for test in &mut failures {
            // The thread of a test has its name, which follows that of the binary.
            let thread = test.name.rsplit(' ').next().unwrap_or_default().to_owned();
            if test.message.is_none()
                && let Some(panic) = panics.iter().find(|p| p.thread == thread)
            {
                explain(test, panic.clone());
            }
        }
        failures
    }

    fn status(&mut self, word: &str, rest: &str) {
        let word = word.trim_start();
        if word == "Summary" {
            let Some((_, text)) = rest.split_once("] ") else {
                return;
            };
            if let Some((total, summary)) = summary(text)
                && self.started.is_none_or(|n| n == total)
            {
                self.summary = Some(summary);
                self.listed.clear();
                self.current = None;
            }
            return;
        }
        let Some(name) = test_name(rest) else { return };
        match result(word) {
            Some(false) => {
                let name = clipped(name);
                if self.summary.is_some() {
                    return fill(&mut self.listed, FAILED_KEPT, [FailedTest::from_name(name)]);
                }
                self.current = self.failures.iter().position(|test| test.name == name);
                if self.current.is_none() && self.failures.len() < FAILED_KEPT {
                    self.failures.push(FailedTest::from_name(name));
                    self.current = Some(self.failures.len() - 1);
                }
            }
            Some(true) => {
                let is_before = self.summary.is_none();
                self.passed = self.passed.saturating_add(u64::from(is_before));
                self.current = None;
            }
            None => self.current = None,
        }
    }

    /// A line that a failed test printed.
    fn captured(&mut self, line: &str) {
        let failures = &mut self.failures;
        let test = self.current.and_then(|at| failures.get_mut(at));
        let Some(test) = test else { return };
        if let Some(panic) = &mut self.panic {
            if panic.more(line) {
                return;
            }
            if let Some(panic) = self.panic.take() {
                explain(test, panic);
            }
        }
        if line.starts_with("thread '") {
            self.panic = Panic::begin(line);
            return;
        }
        let calm = calm(line);
        let telling = calm.is_some() || line.starts_with("(test ") || line.starts_with("Error: ");
        if let Some(place) = calm {
            (test.file, test.line) = place;
        }
        if telling && test.message.is_none() {
            test.message = Some(
                line.get(..TEXT_KEPT)
                    .unwrap_or(line)
                    .trim_matches(['(', ')'])
                    .to_owned(),
            );
        }
    }

    /// A line of a test whose output is not captured.
    fn printed(&mut self, line: &str) {
        if self.panic.as_mut().is_some_and(|panic| panic.more(line)) {
            return;
        }
        if let Some(panic) = self.panic.take()
            && self.panics.len() < FAILED_KEPT
        {
            self.panics.push(panic);
        }
        if line.starts_with("thread '") {
            self.panic = Panic::begin(line);
        }
    }
}

impl Reader for Nextest {
    fn line(&mut self, stream: Stream, line: &str) {
        if line.as_bytes().first() == Some(&b' ') {
            if let Some((word, rest)) = line.split_at_checked(12)
                && rest.starts_with(" [")
                && self.started.is_some()
            {
                return self.status(word, rest);
            }
            if let Some(rest) = line.strip_prefix("    Starting ")
                && let Some((n, rest)) = counted(rest)
                && (rest.starts_with("test across ") || rest.starts_with("tests across "))
            {
                self.settle();
                self.started.get_or_insert(n);
                return;
            }
            if let Some(captured) = line.strip_prefix("    ")
                && self.current.is_some()
            {
                return self.captured(captured);
            }
        } else if line.starts_with("TRY ") && line.get(12..14) == Some(" [") {
            return self.status(
                line.get(..12).unwrap_or_default(),
                line.get(12..).unwrap_or_default(),
            );
        }
        if line.is_empty() && self.current.is_some() {
            return self.captured("");
        }
        if self.started.is_some() {
            return self.printed(line);
        }
        if line.starts_with("error: command `")
            && line.contains(" --no-run --message-format json-render-diagnostics")
        {
            self.not_built = true;
        }
        self.built.text(stream, line);
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        if self.started.is_none() && self.done.tests.is_none() && !self.not_built {
            return None;
        }
        match self.current {
            Some(_) => self.captured(""),
            None => self.printed(""),
        }
        let has_ended = self.summary.is_some();
        self.settle();
        let failures = self.take_failures();
        let (mut reading, _) = self.built.close();
        reading.add(self.done);
        let tests = reading.tests.get_or_insert_default();
        if !has_ended {
            tests.add(TestCounts {
                failed: failures.len() as u64,
                passed: self.passed,
                ..TestCounts::default()
            });
            reading.fail_all(failures);
            if self.started.is_some() {
                reading.object("the run ended without its summary");
            } else if reading.errors == 0 {
                reading.object("the tests did not build");
            }
        }
        Some(reading)
    }
}

fn explain(test: &mut FailedTest, panic: Panic) {
    test.file = panic.file;
    test.line = panic.line;
    test.message = Some(panic.message).filter(|m| !m.is_empty());
}

/// Whether a word says that a test passed, or that it failed; `None` if it is not a result.
fn result(word: &str) -> Option<bool> {
    let (tried, word) = match word.strip_prefix("TRY ").and_then(count) {
        Some((_, rest)) => (true, rest.trim_start()),
        None => (false, word),
    };
    match word {
        "PASS" | "LEAK" => Some(true),
        "SLOW" | "START" | "SKIP" | "TRMNTG" | "TERMINATING" | "RETRY" | "DELAY" | "SETUP" => None,
        _ if word.starts_with("FLAKY")
            || word.starts_with("SETUP ")
            || word.starts_with("FLKY") =>
        {
            None
        }
        _ if word.contains("FAIL")
            || word.starts_with("SIG")
            || matches!(word, "TIMEOUT" | "TMT" | "ABORT") =>
        {
            Some(false)
        }
        _ if tried && word == "ABRT" => Some(false),
        _ => None,
    }
}

/// The name after ` [   0.113s] (3/9) `: that of the binary and that of the test.
fn test_name(rest: &str) -> Option<&str> {
    let (_, rest) = rest.split_once("] ")?;
    let name = match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(") ")?.1,
        None => rest.trim_start(),
    };
    Some(name.trim_end()).filter(|name| !name.is_empty())
}

/// `5/9 tests run: 3 passed (1 flaky, 1 leaky), 2 failed, 1 timed out, 1 skipped`: of how many
/// tests it is, and the counts.
fn summary(text: &str) -> Option<(u64, Summary)> {
    let (ran, rest) = count(text)?;
    let (total, rest) = match rest.strip_prefix('/') {
        Some(rest) => count(rest)?,
        None => (ran, rest),
    };
    let rest = after(rest, &[" tests run: ", " test run: "])?;
    let mut tests = TestCounts::default();
    // What is in parentheses is counted outside them.
    let mut depth = 0_u32;
    let flat: String = rest
        .chars()
        .filter(|c| {
            match c {
                '(' => depth = depth.saturating_add(1),
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect();
    let aside = rest.split(['(', ',', ')']).map(str::trim);
    tests.flaky = aside
        .filter_map(|part| counted(part).filter(|(_, word)| *word == "flaky"))
        .fold(0, |sum, (n, _)| n.saturating_add(sum));
    for part in flat.split(", ") {
        let (n, word) = counted(part.trim_end())?;
        let sum = match word.trim_end() {
            "passed" => &mut tests.passed,
            "skipped" => &mut tests.skipped,
            "failed" | "exec failed" | "timed out" => &mut tests.failed,
            _ => continue,
        };
        *sum = sum.saturating_add(n);
    }
    Some((
        total,
        Summary {
            tests,
            ran,
            not_run: total.saturating_sub(ran),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        for (text, want) in [
            (
                "9 tests run: 4 passed, 5 failed, 1 skipped",
                Some((9, 4, 5, 1, 0)),
            ),
            (
                "5/9 tests run: 3 passed, 2 failed, 1 skipped",
                Some((9, 3, 2, 1, 4)),
            ),
            (
                "5 tests run: 3 passed (1 flaky, 1 leaky), 1 failed, 1 timed out, 0 skipped",
                Some((5, 3, 2, 0, 0)),
            ),
            ("1 test run: 1 passed, 0 skipped", Some((1, 1, 0, 0, 0))),
            (
                "2 tests run: 0 passed, 1 exec failed, 1 failed (1 due to being leaky), 0 skipped",
                Some((2, 0, 2, 0, 0)),
            ),
            ("9 tests ran", None),
            ("tests run: 1 passed", None),
        ] {
            let got = summary(text).map(|(total, s)| {
                (
                    total,
                    s.tests.passed,
                    s.tests.failed,
                    s.tests.skipped,
                    s.not_run,
                )
            });
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn what_was_tried_again_is_flaky() {
        let flaky = |text: &str| summary(text).map(|(_, s)| s.tests.flaky);
        let text = "5 tests run: 3 passed (1 flaky, 1 leaky), 2 failed, 0 skipped";
        assert_eq!(flaky(text), Some(1));
        assert_eq!(flaky("5 tests run: 5 passed, 0 skipped"), Some(0));
    }

    #[test]
    fn two_runs_are_added() {
        let run = |n: u64, result: &str| {
            format!(
                "    Starting {n} tests across 1 binary\n     Summary [   0.001s] {n} tests run: {result}\n"
            )
        };
        let (bad, good) = (
            run(2, "1 passed, 1 failed, 0 skipped"),
            run(3, "3 passed, 0 skipped"),
        );
        for text in [format!("{bad}{good}"), format!("{good}{bad}")] {
            let reading = crate::output::read(&[&FORMAT], b"", text.as_bytes()).unwrap();
            let tests = reading.tests.unwrap();
            assert_eq!((tests.passed, tests.failed), (4, 1), "{text}");
        }
    }

    #[test]
    fn a_summary_of_another_run_does_not_count() {
        let text = "    Starting 2 tests across 1 binary\n     Summary [   0.001s] 9 tests run: 9 passed, 0 skipped\n";
        let reading = crate::output::read(&[&FORMAT], b"", text.as_bytes()).unwrap();
        assert_eq!(reading.tests, Some(TestCounts::default()));
        assert_eq!(reading.problems, ["the run ended without its summary"]);
        assert_eq!(
            crate::output::read(
                &[&FORMAT],
                b"     Summary [  1s] 9 tests run: 9 passed\n",
                b""
            ),
            None
        );
    }
}
