//! Computes the fingerprints of a step's findings, from the lines that they are on.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_check::baseline::{Line, fingerprints};
use vplan_check::results::{Finding, Identity, Reading};
use vplan_os::files::beneath::Beneath;
use vplan_plan::Step;

/// Size limit of a file that lines are read from, in bytes.
const MAX_FILE: u64 = 4 << 20;
/// Limit of file contents that are read for one step, in bytes.
const MAX_ALL: usize = 64 << 20;
/// Limit of the lines with findings of one step, in bytes: thousands may be on one line of a
/// generated file.
const MAX_LINES: usize = 64 << 20;
/// The number of lines between two known line starts.
const STRIDE: usize = 64;

/// Makes the identities of a reading's findings, in order. `root`: the repository's folder. If the
/// line of a finding cannot be read (not a regular file of the repository, or too large), it has no
/// identity.
pub fn of_step(beneath: &Beneath, root: &Path, step: &Step, reading: &Reading) -> Vec<Identity> {
    if reading.findings.is_empty() && reading.failed_tests.is_empty() {
        return Vec::new();
    }
    let argv: Vec<_> = (step.argv.iter().flatten())
        .map(|word| String::from_utf8_lossy(Word::as_bytes(word)))
        .collect();
    let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
    let mut files = Files {
        beneath,
        read: BTreeMap::new(),
        left: MAX_ALL,
        lines_left: MAX_LINES,
    };
    fingerprints(step.check(), &argv, reading, &mut |finding| {
        files.line(root, step, finding)
    })
}

/// The files that were read, each once.
struct Files<'a> {
    beneath: &'a Beneath,
    read: BTreeMap<RepoPath, Option<Lines>>,
    /// The number of bytes that may still be read.
    left: usize,
    /// The number of bytes of lines that may still be returned.
    lines_left: usize,
}

/// A text with an index of lines, so that lookups need not read it from the start.
struct Lines {
    text: Vec<u8>,
    /// The beginnings of every [`STRIDE`]th line.
    begins: Vec<usize>,
}

impl Lines {
    fn new(text: Vec<u8>) -> Self {
        let is_end = |(at, byte): (usize, &u8)| (*byte == b'\n').then_some(at + 1);
        let ends = text.iter().enumerate().filter_map(is_end);
        let begins = std::iter::once(0).chain(ends).step_by(STRIDE).collect();
        Self { text, begins }
    }

    /// The line of an index, from 0.
    fn get(&self, index: usize) -> Option<&[u8]> {
        let from = *self.begins.get(index / STRIDE)?;
        let rest = self.text.get(from..)?;
        let mut lines = rest.split(|byte| *byte == b'\n');
        lines.nth(index % STRIDE)
    }
}

impl Files<'_> {
    fn line(&mut self, root: &Path, step: &Step, finding: &Finding) -> Option<Line> {
        let number = usize::try_from(finding.line?).ok()?.checked_sub(1)?;
        let name = finding.file.as_deref()?;
        let name = name.strip_prefix("file://").unwrap_or(name);
        // A tool counts from the directory in which it ran, or from the root of the repository.
        let places = match Path::new(name).strip_prefix(root) {
            Ok(below) => vec![RepoPath::parse(below.as_os_str().as_bytes())],
            Err(_) if name.starts_with('/') => return None,
            Err(_) => vec![
                step.dir.join(name.as_bytes()),
                RepoPath::parse(name.as_bytes()),
            ],
        };
        places.into_iter().flatten().find_map(|path| {
            let text = self.content(&path)?.get(number)?.to_vec();
            self.lines_left = self.lines_left.checked_sub(text.len())?;
            Some(Line {
                file: path.to_string(),
                text,
            })
        })
    }

    fn content(&mut self, path: &RepoPath) -> Option<&Lines> {
        if !self.read.contains_key(path) {
            let found = if self.left == 0 {
                None
            } else {
                self.beneath.read(path, MAX_FILE).ok()
            };
            let length = found.as_ref().map_or(0, Vec::len);
            self.left = self.left.saturating_sub(length);
            self.read.insert(path.clone(), found.map(Lines::new));
        }
        self.read.get(path)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_a_split() {
        for (count, end) in [
            (0, ""),
            (1, ""),
            (1, "\n"),
            (63, ""),
            (64, "\n"),
            (200, "\n\n"),
        ] {
            let lines: Vec<String> = (0..count).map(|n| format!("line {n}")).collect();
            let text = lines.join("\n") + end;
            let split: Vec<&[u8]> = text.as_bytes().split(|b| *b == b'\n').collect();
            let lines = Lines::new(text.clone().into_bytes());
            for index in 0..split.len() + 3 {
                assert_eq!(
                    lines.get(index),
                    split.get(index).copied(),
                    "{count} {end:?}"
                );
            }
        }
    }
}
