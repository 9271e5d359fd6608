//! Counts the summaries that jest and vitest print: a line of files, then one of tests.

use super::number;
use crate::check::reading::{Reading, TestCounts};

/// The summaries in one stream.
#[derive(Default)]
pub struct Blocks {
    /// The number of failed files, when their line was the one before.
    files: Option<u64>,
    /// The last summary.
    pub last: Option<Block>,
    /// Summaries before it that reported failures which are shown: another run in the same output.
    /// One whose failures are not shown was printed by a test.
    before: TestCounts,
    /// Whether a failure was shown since the last summary.
    pub shown: bool,
}

/// A summary.
#[derive(Clone, Copy, Default)]
pub struct Block {
    counts: TestCounts,
    /// The number of failed files; `None` without a line for them.
    pub files: Option<u64>,
    shown: bool,
    /// The number of errors besides.
    pub errors: u64,
}

impl Blocks {
    /// Takes the counts of files: `1 failed, 2 passed`.
    pub fn files(&mut self, text: &str, separator: char) {
        let failed = number::counts(text, separator).find(|(_, word)| first(word) == "failed");
        self.files = Some(failed.map_or(0, |(number, _)| number));
    }

    /// Takes the counts of tests, if there are any or the text says that there is none.
    pub fn tests(&mut self, text: &str, separator: char) {
        let mut counts = TestCounts::default();
        for (number, word) in number::counts(text, separator) {
            let count = match first(word) {
                "failed" => &mut counts.failed,
                "passed" => &mut counts.passed,
                "skipped" | "todo" | "pending" | "expected" => &mut counts.skipped,
                _ => continue,
            };
            *count = count.saturating_add(number);
        }
        let block = Block {
            counts,
            ..Block::default()
        };
        let Some(files) = self.files.take() else {
            // A line alone counts as the summary only where there is no other.
            if self.last.is_none_or(|last| last.files.is_none()) {
                self.last = Some(block);
            }
            return;
        };
        if let Some(last) = self
            .last
            .filter(|last| last.shown && last.counts.failed > 0)
        {
            self.before.add(last.counts);
        }
        self.last = Some(Block {
            files: Some(files),
            shown: std::mem::take(&mut self.shown),
            ..block
        });
    }

    /// Adds what they say to a reading, whose files are called this. Returns whether there is one.
    pub fn finish(&self, reading: &mut Reading, files: &str) -> bool {
        let Some(last) = self.last else { return false };
        let mut counts = self.before;
        counts.add(last.counts);
        if let Some(failed) = last.files.filter(|n| *n > 0 && last.counts.failed == 0)
            && reading.problems.is_empty()
        {
            reading.object(format!(
                "every test passed, but {failed} of the {files} failed"
            ));
        }
        reading.tests = Some(counts);
        true
    }
}

/// The first word.
#[must_use]
pub fn first(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}
