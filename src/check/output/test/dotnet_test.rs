//! Reads the output of `dotnet test`: a line or a block of counts for each project, or one for all,
//! after the failed tests.
//!
//! The output of tests is indented under `Standard Output Messages:`; the summaries are not.

use crate::output::findings::msbuild::Msbuild;
use crate::output::kit::dedupe::append;
use crate::output::kit::number::count;
use crate::output::reader::{Format, FormatName, Reader, Stream, after, starts};
use crate::results::{FAILED_KEPT, FailedTest, Reading, TestCounts, clipped};

pub const FORMAT: Format = Format::run::<DotnetTest>(
    "dotnet-test",
    &[FormatName::Dotnet],
    &[
        "Build ",
        "Determining projects ",
        "Restore ",
        "Starting test ",
        "Test run ",
    ],
    |line| {
        starts(
            line,
            &[
                "Failed:",
                "Passed",
                "Skipped",
                "Test Run ",
                "Test summary:",
                "Total ",
            ],
        )
    },
);

#[derive(Default)]
struct DotnetTest {
    known: bool,
    /// The failures and problems, and the counts added up over the projects.
    done: Reading,
    /// The one summary of newer versions, which says all.
    whole: Option<TestCounts>,
    block: Option<Block>,
    /// A line without counts of its own says that a run failed.
    says_failed: bool,
    now: Now,
    build: Msbuild,
}

/// A summary of several lines.
#[derive(Default)]
struct Block {
    counts: TestCounts,
    total: u64,
    /// It is of all projects.
    whole: bool,
}

/// The kind of the lines after a failed test.
#[derive(Clone, Copy, Default, PartialEq)]
enum Now {
    #[default]
    Other,
    /// After its name.
    Failed,
    /// After `Error Message:`.
    Message,
    /// After `Stack Trace:`.
    Trace,
    /// After `error TESTERROR:`.
    Named,
    /// After the name, as the testing platform writes it: its messages are indented.
    Told,
}

impl Reader for DotnetTest {
    fn line(&mut self, stream: Stream, line: &str) {
        if self.block_line(line) {
            return;
        }
        self.says_failed |= starts(line, &["Failed!  - ", "Test Run Failed."]);
        let newer = || line.strip_prefix("Test summary: ").and_then(newer);
        if let Some(block) = short(line).or_else(|| single(line)).or_else(newer) {
            self.now = Now::Other;
            self.block = Some(block);
            return self.end_block();
        }
        if let Some(total) = line.strip_prefix("Total tests: ") {
            if let Some((total, "")) = count(total.trim()) {
                self.now = Now::Other;
                self.block = Some(Block {
                    total,
                    ..Block::default()
                });
            }
            return;
        }
        if line.starts_with("Test run summary: ") {
            self.now = Now::Other;
            self.block = Some(Block {
                whole: true,
                ..Block::default()
            });
            return;
        }
        if self.failure(line) {
            return;
        }
        const NONE: [&str; 2] = [
            "No test is available in ",
            "No test matches the given testcase filter",
        ];
        if starts(
            line,
            &["Test Run Aborted", "The active test run was aborted"],
        ) {
            self.known = true;
            self.done.object(line);
        } else if starts(line, &NONE) || line.starts_with("Test Run Failed.") {
            self.known = true;
        } else {
            self.build.line(stream, line);
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.end_block();
        let broken = self.build.has_failed();
        if !self.known && !broken {
            return None;
        }
        let mut reading = self.build.reading;
        let counts = self.whole.or(self.done.tests).unwrap_or_default();
        // A failed test fails the build that runs it, too.
        if broken && counts.failed == 0 {
            reading.object("the build failed");
        } else if self.known && self.says_failed {
            reading.object_all(counts.contradiction(false));
        }
        // What was tried again and passed has not failed.
        let failed = usize::try_from(counts.failed).unwrap_or(usize::MAX);
        self.done.failed_tests.truncate(failed);
        self.done.tests = Some(counts);
        reading.add(self.done);
        Some(reading)
    }
}

impl DotnetTest {
    /// A line of a summary that has begun; whether it is one.
    fn block_line(&mut self, line: &str) -> bool {
        let Some(block) = &mut self.block else {
            return false;
        };
        let parts = line.trim().split_once(':');
        let Some((key, value)) = parts.filter(|_| line.starts_with(' ')) else {
            self.end_block();
            return false;
        };
        let Some((n, "")) = count(value.trim()) else {
            // Its time, or where its log is.
            return true;
        };
        match key.trim() {
            "Passed" | "succeeded" => block.counts.passed = n,
            "Failed" | "failed" => block.counts.failed = n,
            "Skipped" | "skipped" => block.counts.skipped = n,
            "total" => block.total = n,
            _ => {}
        }
        true
    }

    fn end_block(&mut self) {
        let Some(block) = self.block.take() else {
            return;
        };
        self.known = true;
        let counts = block.counts;
        if let Some(wrong) = counts.differ_from(block.total) {
            self.done.object(wrong);
        }
        if block.whole {
            self.whole.get_or_insert_default().add(counts);
        } else {
            self.done.tests.get_or_insert_default().add(counts);
        }
    }

    /// A line about a failed test; whether it is one.
    fn failure(&mut self, line: &str) -> bool {
        if let Some(name) = line.strip_prefix("  Failed ").and_then(timed) {
            self.fail(name, Now::Failed);
            return true;
        }
        if let Some(name) = line.strip_prefix("failed ").and_then(timed) {
            self.fail(name, Now::Told);
            return true;
        }
        let word = ": error TESTERROR:";
        let at = |at: &usize| line.get(*at..).is_some_and(|rest| rest.starts_with(word));
        if let Some(at) = memchr::memchr_iter(b':', line.as_bytes()).find(at)
            && let (Some(place), Some(rest)) = (line.get(..at), line.get(at + word.len()..))
        {
            // The terminal logger: the name is on the next line, or here.
            self.now = Now::Named;
            let place = place.trim().strip_suffix(')');
            let place = place.and_then(|place| place.rsplit_once('('));
            let (file, number) = place.unwrap_or_default();
            let test = FailedTest {
                file: Some(clipped(file)),
                line: number.parse().ok(),
                ..FailedTest::default()
            };
            self.done.fail(test);
            if !rest.trim().is_empty() {
                self.read_name(rest);
            }
            return true;
        }
        match (self.now, line.trim()) {
            (Now::Named, text) if !text.is_empty() => self.read_name(text),
            (Now::Told, text) if line.starts_with("  ") && !text.starts_with("at ") => {
                self.tell(text)
            }
            (Now::Failed | Now::Message, "Error Message:") => self.now = Now::Message,
            (Now::Failed | Now::Message, "Stack Trace:") => self.now = Now::Trace,
            (
                Now::Failed | Now::Message | Now::Trace,
                "Standard Output Messages:" | "Standard Error Messages:",
            ) => self.now = Now::Other,
            (Now::Message, text) => self.tell(text),
            (Now::Trace, text) if text.starts_with("at ") => {
                if let Some((_, place)) = text.split_once(" in ")
                    && let Some((file, at)) = place.rsplit_once(":line ")
                    && let Some(test) = self.done.failed_tests.last_mut()
                    && test.file.is_none()
                {
                    test.file = Some(file.to_owned());
                    test.line = at.parse().ok();
                }
            }
            _ => return false,
        }
        true
    }

    fn tell(&mut self, text: &str) {
        if let Some(test) = self.done.failed_tests.last_mut() {
            append(test.message.get_or_insert_default(), text);
        }
    }

    fn fail(&mut self, name: &str, now: Now) {
        // Beyond the room there is no test to which the lines that follow belong.
        self.now = Now::Other;
        if self.done.failed_tests.len() < FAILED_KEPT {
            self.now = now;
            self.done.fail(FailedTest::from_name(name));
        }
    }

    /// `NAME (12ms): Error Message: TEXT`
    fn read_name(&mut self, text: &str) {
        self.now = Now::Other;
        let (name, message) = text.split_once("): ").unwrap_or((text, ""));
        let last = self.done.failed_tests.last_mut();
        let Some(test) = last.filter(|test| test.name.is_empty()) else {
            return;
        };
        let name = name.trim();
        test.name = name
            .rsplit_once(" (")
            .map_or(name, |(name, _)| name)
            .to_owned();
        let message = message.strip_prefix("Error Message: ").unwrap_or(message);
        test.message = (!message.is_empty()).then(|| message.to_owned());
    }
}

/// `Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5, Duration: 12 ms - My.dll
/// (net8.0)`
fn short(line: &str) -> Option<Block> {
    let rest = after(line, &["Passed!", "Failed!", "Skipped!"])?;
    let (mut counts, mut total) = (TestCounts::default(), None);
    for part in rest.trim_start().strip_prefix("- ")?.split(", ") {
        let (key, value) = part.split_once(':')?;
        let n = leading(value.trim());
        match key.trim() {
            "Failed" => counts.failed = n?,
            "Passed" => counts.passed = n?,
            "Skipped" => counts.skipped = n?,
            "Total" => total = Some(n?),
            _ => break,
        }
    }
    total.map(|total| Block {
        counts,
        total,
        whole: false,
    })
}

/// `Total tests: 5. Passed: 4. Failed: 1. Skipped: 0.`, as before .NET Core 3.
fn single(line: &str) -> Option<Block> {
    let rest = line.strip_prefix("Total tests: ")?;
    let mut counts = TestCounts::default();
    let mut parts = rest.trim_end().strip_suffix('.')?.split(". ");
    let total = leading(parts.next()?)?;
    for part in parts {
        let (key, value) = part.split_once(": ")?;
        let n = leading(value)?;
        match key {
            "Passed" => counts.passed = n,
            "Failed" => counts.failed = n,
            "Skipped" => counts.skipped = n,
            _ => return None,
        }
    }
    Some(Block {
        counts,
        total,
        whole: false,
    })
}

/// `total: 3, failed: 1, succeeded: 2, skipped: 0, duration: 1.0s`
fn newer(rest: &str) -> Option<Block> {
    let (mut counts, mut total) = (TestCounts::default(), None);
    for part in rest.split(", ") {
        let (key, value) = part.split_once(": ")?;
        match key {
            "total" => total = leading(value),
            "failed" => counts.failed = leading(value)?,
            "succeeded" => counts.passed = leading(value)?,
            "skipped" => counts.skipped = leading(value)?,
            _ => {}
        }
    }
    total.map(|total| Block {
        counts,
        total,
        whole: true,
    })
}

/// The name before a time: `NAME [12 ms]`, `NAME (12ms)`.
fn timed(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let (name, time) = match text.strip_suffix(']') {
        Some(text) => text.rsplit_once(" [")?,
        None => text.strip_suffix(')')?.rsplit_once(" (")?,
    };
    let time = time.trim_start_matches("< ");
    (time.starts_with(|c: char| c.is_ascii_digit()) && time.ends_with(['s', 'm', 'h']))
        .then_some(name)
}

/// The number at the beginning of a text, unless it is too large to be one.
fn leading(text: &str) -> Option<u64> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.strip_suffix(rest)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    #[test]
    fn summaries() {
        for (text, want) in [
            (
                "Passed!  - Failed:     0, Passed:     5, Skipped:     1, Total:     6, Duration: 1 s - A.dll (net8.0)",
                Some((5, 0, 1)),
            ),
            (
                "Failed!  - Failed:     9, Passed:   296, Skipped:     0, Total:   305, Duration: 39 s - B.dll",
                Some((296, 9, 0)),
            ),
            (
                "Passed! - Failed: 0, Passed: 5, Skipped: 0, Total: 5",
                Some((5, 0, 0)),
            ),
            (
                "Total tests: 5. Passed: 4. Failed: 1. Skipped: 0.",
                Some((4, 1, 0)),
            ),
            (
                "Total tests: 3\n     Passed: 3\n Total time: 0.9 Seconds",
                Some((3, 0, 0)),
            ),
            (
                "Test summary: total: 3, failed: 1, succeeded: 2, skipped: 0, duration: 1.0s",
                Some((2, 1, 0)),
            ),
            // Of all at once, whatever came before.
            (
                "Passed! - Failed: 0, Passed: 5, Skipped: 0, Total: 5\nTest summary: total: 5, failed: 0, succeeded: 5, skipped: 0",
                Some((5, 0, 0)),
            ),
            (
                "Passed! - Failed: 0, Passed: 18446744073709551615, Skipped: 0, Total: 5\nPassed! - Failed: 0, Passed: 5, Skipped: 0, Total: 5",
                Some((u64::MAX, 0, 0)),
            ),
            (
                "Passed! - Failed: 0, Passed: 99999999999999999999, Skipped: 0, Total: 5",
                None,
            ),
            (
                " Passed!  - Failed: 0, Passed: 5, Skipped: 0, Total: 5",
                None,
            ),
            ("Passed! - Failed: 0, Passed: 5", None),
            ("Passed!", None),
            ("Total tests: many", None),
            ("", None),
        ] {
            let got = read(&[&FORMAT], text.as_bytes(), b"").and_then(|r| r.tests);
            assert_eq!(got.map(|t| (t.passed, t.failed, t.skipped)), want, "{text}");
        }
    }

    #[test]
    fn a_summary_that_does_not_add_up_is_a_problem() {
        let reading = read(&[&FORMAT], b"Total tests: 3\n     Passed: 1\n", b"").unwrap();
        assert_eq!(reading.problems.len(), 1);
    }
}
