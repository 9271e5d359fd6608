//! Makes the fingerprints of what a step has found, from the lines that its findings are on.

use crate::base::path::RepoPath;
use crate::base::word::Word;
use crate::check::baseline::{Line, fingerprints};
use crate::check::reading::{Finding, Identity, Reading};
use crate::effect::os::files::beneath::Beneath;
use crate::plan::Step;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The largest file of which a line is read, in bytes.
const MAX_FILE: u64 = 4 << 20;
/// The most bytes of files that are read for one step.
const MAX_ALL: usize = 64 << 20;

/// Makes what the findings of a reading are, in its order; `root` is the repository's folder. Where a
/// line cannot be read (another file than a regular one of the repository, or too large a one), the
/// finding has none.
#[must_use]
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
    };
    fingerprints(step.check(), &argv, reading, &mut |finding| {
        files.line(root, step, finding)
    })
}

/// The files that were read, each once.
struct Files<'a> {
    beneath: &'a Beneath,
    read: BTreeMap<RepoPath, Option<Vec<u8>>>,
    /// The number of bytes that may still be read.
    left: usize,
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
            let text = self.content(&path)?.split(|b| *b == b'\n').nth(number)?;
            Some(Line {
                file: path.to_string(),
                text: text.to_vec(),
            })
        })
    }

    fn content(&mut self, path: &RepoPath) -> Option<&[u8]> {
        if !self.read.contains_key(path) {
            let found = if self.left == 0 {
                None
            } else {
                self.beneath.read(path, MAX_FILE).ok()
            };
            let length = found.as_ref().map_or(0, Vec::len);
            self.left = self.left.saturating_sub(length);
            self.read.insert(path.clone(), found);
        }
        self.read.get(path)?.as_deref()
    }
}
