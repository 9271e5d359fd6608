//! Counts the summaries that jest and vitest print: a line of files, then one of tests.

use super::number;
use crate::reading::{Reading, TestCounts};

/// The summaries in one stream.
#[derive(Default)]
pub struct Blocks {
    /// The number of failed files, when their line was the one before.
    files: Option<u64>,
    /// The last summary.
    pub last: Option<Block>,
    /// Summaries before it: other runs in the same output.
    before: Vec<Block>,
}

/// Maximum number of summaries kept apart.
const SUMMARIES: usize = 100;

#[derive(Clone, Copy, Default)]
pub struct Block {
    counts: TestCounts,
    /// The number of failed files; `None` without a line for them.
    pub files: Option<u64>,
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
        let block = Block {
            files: Some(files),
            ..block
        };
        // A line alone is not of another run.
        if let Some(last) = self.last.replace(block).filter(|last| last.files.is_some()) {
            self.before.push(last);
            if self.before.len() > SUMMARIES {
                self.compact();
            }
        }
    }

    /// Makes one of the summaries before the last one: that it failed is not lost.
    fn compact(&mut self) {
        let mut sum = Block::default();
        for block in self.before.drain(..) {
            sum.counts.add(block.counts);
            sum.errors = sum.errors.saturating_add(block.errors);
            let failed = block.failed_files().max(sum.files);
            sum.files = failed;
        }
        self.before.push(sum);
    }

    /// Adds what they say to a reading, whose files are called this. Returns whether there is one.
    pub fn finish(&self, reading: &mut Reading, files: &str) -> bool {
        let Some(last) = self.last else { return false };
        let mut counts = TestCounts::default();
        let is_explained = !reading.problems.is_empty();
        for block in self.before.iter().chain([&last]) {
            counts.add(block.counts);
            if let Some(failed) = block.failed_files().filter(|_| !is_explained) {
                reading.object(format!(
                    "every test passed, but {failed} of the {files} failed"
                ));
            }
            if block.errors > 0 {
                reading.object(format!("errors outside of tests: {}", block.errors));
            }
        }
        reading.tests = Some(counts);
        true
    }
}

impl Block {
    /// The number of failed files where no test failed.
    fn failed_files(&self) -> Option<u64> {
        self.files.filter(|n| *n > 0 && self.counts.failed == 0)
    }
}

/// The first word.
#[must_use]
pub fn first(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}
