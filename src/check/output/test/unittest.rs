//! Reads the output of Python's unittest: `Ran N tests in …`, and whether that went well.
//!
//! Written from the output of Python 3.8 to 3.13. Several runs may follow each other, and a test
//! may print the same: the last summary counts, after its line of dashes, and each earlier one that
//! failed and whose failures were listed.

use crate::output::kit::number::{count, counted};
use crate::output::reader::{Format, FormatName, Reader, Stream, after, starts};
use crate::results::{FailedTest, Reading, TEXT_KEPT, TestCounts};

/// Text of unittest, and of what runs it (Django).
pub const FORMAT: Format =
    Format::run::<Unittest>("unittest", &[FormatName::Unittest], &[], |line| {
        starts(line, &["OK", "Ran "])
    });

#[derive(Default)]
struct Unittest {
    at: At,
    /// The failures, the counts of all summaries, and what does not agree with them.
    done: Reading,
    /// Tests have begun to be counted, and the result did not come.
    torn: bool,
}

/// The kind of the lines so far.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum At {
    #[default]
    Elsewhere,
    /// A line of `=`.
    Double,
    /// The title of a failure, and its description.
    Title,
    /// The title of a test that passed although it should not.
    Unexpected,
    /// The traceback of a failure.
    Failure,
    /// A line of `-` that does not follow a title.
    Rule,
    /// `Ran N tests in 0.001s`
    Ran(u64),
}

impl Unittest {
    /// A summary, and whether it says that its run went well.
    fn summary(&mut self, ran: u64, more: &str, good: bool) {
        let tests = counts(ran, more);
        let problem = tests.contradiction(good).filter(|_| tests.ran() > 0);
        self.done.object_all(problem);
        self.done
            .object_all(tests.differ_from(ran.max(tests.all())));
        self.done.tests.get_or_insert_default().add(tests);
    }

    /// A line of a traceback, or the message after it.
    fn explain(&mut self, line: &str) {
        let Some(test) = self.done.failed_tests.last_mut() else {
            return;
        };
        if let Some(rest) = line.strip_prefix("  File \"")
            && let Some((file, rest)) = rest.split_once("\", line ")
            && let Some((at, _)) = count(rest)
        {
            // The last place counts that is not of unittest itself.
            if !file.contains("/unittest/") && !file.contains("\\unittest\\") {
                test.file = Some(file.to_owned());
                test.line = Some(at);
            }
            test.message = None;
        } else if line.starts_with("Traceback (most recent call last):") {
            test.message = None;
        } else if !line.starts_with("  ") || test.message.is_some() {
            let message = test.message.get_or_insert_default();
            if message.len() < TEXT_KEPT && message.lines().count() < 12 {
                if !message.is_empty() {
                    message.push('\n');
                }
                message.push_str(line.trim_end());
            }
        }
    }

    fn other(&mut self, line: &str) {
        if let At::Ran(ran) = self.at {
            if line.is_empty() {
                return;
            }
            self.at = At::Elsewhere;
            if let Some((good, more)) = verdict(line) {
                self.summary(ran, more, good);
                self.torn = false;
            }
            return;
        }
        match self.at {
            At::Double => {
                if let Some(name) = after(line, &["FAIL: ", "ERROR: "]) {
                    self.done.fail(FailedTest::from_name(name));
                    self.at = At::Title;
                } else if let Some(name) = line.strip_prefix("UNEXPECTED SUCCESS: ") {
                    self.done.fail(FailedTest::from_name(name));
                    if let Some(test) = self.done.failed_tests.last_mut() {
                        test.message = Some("passed although it is expected to fail".to_owned());
                    }
                    self.at = At::Unexpected;
                } else {
                    self.at = At::Elsewhere;
                }
            }
            At::Rule if line.starts_with("Ran ") => {
                if let Some(ran) = ran(line) {
                    self.at = At::Ran(ran);
                    self.torn = true;
                } else {
                    self.at = At::Elsewhere;
                }
            }
            At::Failure if line.is_empty() => {}
            At::Failure => self.explain(line),
            // The description of a test.
            At::Title | At::Unexpected => {}
            _ => self.at = At::Elsewhere,
        }
    }
}

impl Reader for Unittest {
    fn line(&mut self, _: Stream, line: &str) {
        match line.as_bytes().first() {
            Some(b'=') if is_rule(line, '=') => self.at = At::Double,
            Some(b'-') if is_rule(line, '-') => {
                self.at = if self.at == At::Title {
                    At::Failure
                } else {
                    At::Rule
                }
            }
            _ if self.at == At::Elsewhere => {}
            _ => self.other(line),
        }
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        if self.done.tests.is_none() && !self.torn {
            return None;
        }
        let mut reading = Reading::default();
        if self.torn {
            reading.object("the run ended without its result");
        }
        reading.tests = Some(TestCounts::default());
        reading.add(self.done);
        Some(reading)
    }
}

fn is_rule(line: &str, of: char) -> bool {
    line.len() == 70 && line.chars().all(|c| c == of)
}

/// `Ran 3 tests in 0.001s`
fn ran(line: &str) -> Option<u64> {
    let (n, rest) = counted(line.strip_prefix("Ran ")?)?;
    let rest = after(rest, &["tests in ", "test in "])?;
    rest.ends_with('s').then_some(n)
}

/// `OK`, `OK (skipped=1)`, `FAILED (failures=2)`, `NO TESTS RAN`: whether it went well, and what
/// is in parentheses.
fn verdict(line: &str) -> Option<(bool, &str)> {
    let (good, rest) = ["OK", "NO TESTS RAN"]
        .iter()
        .find_map(|word| Some((true, line.strip_prefix(word)?)))
        .or_else(|| Some((false, line.strip_prefix("FAILED")?)))?;
    match rest.strip_prefix(" (") {
        Some(rest) => Some((good, rest.strip_suffix(')')?)),
        None => rest.is_empty().then_some((good, "")),
    }
}

fn counts(ran: u64, more: &str) -> TestCounts {
    let (mut tests, mut odd) = (TestCounts::default(), 0_u64);
    for part in more.split(", ") {
        let Some((word, n)) = part.split_once('=') else {
            continue;
        };
        let Some((n, _)) = count(n) else { continue };
        let sum = match word {
            "failures" | "errors" | "unexpected successes" => &mut tests.failed,
            // The second is nose's.
            "skipped" | "SKIP" | "expected failures" => &mut tests.skipped,
            _ => &mut odd,
        };
        *sum = sum.saturating_add(n);
    }
    // Parts of a test (`subTest`) and what fails around tests count as failures, but not as tests.
    tests.passed = ran
        .saturating_sub(tests.failed)
        .saturating_sub(tests.skipped)
        .saturating_sub(odd);
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Reading> {
        crate::output::read(&[&FORMAT], b"", text.as_bytes())
    }

    #[test]
    fn summaries() {
        let rule = "-".repeat(70);
        for (text, want, problem) in [
            (
                format!("{rule}\nRan 3 tests in 0.001s\n\nOK\n"),
                Some((3, 0, 0)),
                false,
            ),
            (
                format!("{rule}\nRan 1 test in 0.001s\n\nOK (skipped=1)\n"),
                Some((0, 0, 1)),
                false,
            ),
            (
                format!(
                    "{rule}\nRan 9 tests in 1.5s\n\nFAILED (failures=1, errors=1, skipped=1, expected failures=2, unexpected successes=1)\n"
                ),
                Some((3, 3, 3)),
                false,
            ),
            (
                format!("{rule}\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n"),
                Some((0, 0, 0)),
                false,
            ),
            (
                format!("{rule}\nRan 0 tests in 0.000s\n\nFAILED (errors=1)\n"),
                Some((0, 1, 0)),
                false,
            ),
            (
                format!(
                    "{rule}\nRan 9 tests in 1s\n\nOK\n{rule}\nRan 1 test in 1s\n\nFAILED (failures=1)\n"
                ),
                Some((9, 1, 0)),
                false,
            ),
            (
                format!("{rule}\nRan 1 test in 1s\n\nFAILED\n{rule}\nRan 2 tests in 1s\n\nOK\n"),
                Some((3, 0, 0)),
                true,
            ),
            (
                format!("{rule}\nRan 3 tests in 0.001s\n"),
                Some((0, 0, 0)),
                true,
            ),
            (
                format!("{rule}\nRan 3 tests in 0.001s\n\nFAILED\n"),
                Some((3, 0, 0)),
                true,
            ),
            ("Ran 3 tests in 0.001s\n\nOK\n".to_owned(), None, false),
            (
                format!("  {rule}\n  Ran 3 tests in 0.001s\n\n  OK\n"),
                None,
                false,
            ),
            (format!("{rule}\nRan away in 3s\n"), None, false),
            ("OK\nFAILED (failures=9)\n".to_owned(), None, false),
        ] {
            let reading = read(&text);
            let got = reading
                .as_ref()
                .map(|r| r.tests.unwrap())
                .map(|t| (t.passed, t.failed, t.skipped));
            assert_eq!(got, want, "{text}");
            assert_eq!(
                reading.is_some_and(|r| !r.problems.is_empty()),
                problem,
                "{text}"
            );
        }
    }
}
