//! Counts the summaries that jest and vitest print: a line of files, then one of tests.

use super::number;
use crate::results::{Reading, TestCounts};

/// The summaries in one stream.
#[derive(Default)]
pub struct Blocks {
    /// The files, when their line was the one before.
    files: Option<Files>,
    /// The last summary.
    pub last: Option<Block>,
    /// Summaries before it: other runs in the same output.
    before: Vec<Block>,
}

/// Maximum number of separate summaries.
const SUMMARIES: usize = 100;

#[derive(Clone, Copy, Default)]
pub struct Block {
    counts: TestCounts,
    /// The number of tests that are announced.
    announced: u64,
    /// `None` without a line for them.
    pub files: Option<Files>,
    /// The number of additional errors.
    pub errors: u64,
}

/// The files in a summary.
#[derive(Clone, Copy, Default)]
pub struct Files {
    failed: u64,
    /// Those that are announced without an outcome.
    open: u64,
}

/// The counts of a line, and how many it announces: `1 failed, 2 passed, 3 total`, `1 failed | 2
/// passed (3)`, `1 skipped, 2 passed, 2 of 3 total`. Those with an outcome that is not known are
/// among them.
fn counted(text: &str, separator: char) -> (TestCounts, u64) {
    let mut counts = TestCounts::default();
    let behind = text.rsplit_once('(').and_then(|(_, n)| number::count(n));
    let (mut total, mut odd) = (behind.map(|(n, _)| n), 0_u64);
    for (number, word) in number::counts(text, separator) {
        let count = match first(word) {
            "failed" => &mut counts.failed,
            "passed" => &mut counts.passed,
            "skipped" | "todo" | "pending" | "expected" => &mut counts.skipped,
            "total" => {
                total = Some(number);
                continue;
            }
            "of" => {
                total = word
                    .strip_prefix("of ")
                    .and_then(number::count)
                    .map(|(n, _)| n);
                continue;
            }
            _ => &mut odd,
        };
        *count = count.saturating_add(number);
    }
    let all = counts.all().saturating_add(odd);
    (counts, total.filter(|_| odd == 0).unwrap_or(all))
}

impl Blocks {
    /// Takes the counts of files: `1 failed, 2 passed`.
    pub fn files(&mut self, text: &str, separator: char) {
        let (counts, announced) = counted(text, separator);
        self.files = Some(Files {
            failed: counts.failed,
            open: announced.saturating_sub(counts.all()),
        });
    }

    /// Takes the counts of tests, if there are any or the text says that there is none.
    pub fn tests(&mut self, text: &str, separator: char) {
        let (counts, announced) = counted(text, separator);
        let block = Block {
            counts,
            announced,
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
            sum.announced = sum.announced.saturating_add(block.announced);
            sum.errors = sum.errors.saturating_add(block.errors);
            let files = sum.files.get_or_insert_default();
            files.failed = block.failed_files().max(files.failed);
            files.open = files.open.max(block.files.map_or(0, |files| files.open));
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
            let failed = block.failed_files();
            if failed > 0 && !is_explained {
                reading.object(format!(
                    "every test passed, but {failed} of the {files} failed"
                ));
            }
            match block.files.map_or(0, |files| files.open) {
                0 => {}
                // It stopped (`bail`).
                _ if failed > 0 || block.counts.failed > 0 => {
                    reading.leave_out(format!("the {files} behind the first failures"));
                }
                open => reading.object(format!("it does not say how {open} of the {files} ended")),
            }
            reading.object_all(block.counts.differ_from(block.announced));
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
    fn failed_files(&self) -> u64 {
        let files = self.files.filter(|_| self.counts.failed == 0);
        files.map_or(0, |files| files.failed)
    }
}

/// The first word.
pub fn first(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}
