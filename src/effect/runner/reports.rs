//! Finds and reads the report files that a step has written.
//!
//! INVARIANT (no stale evidence): only files that were created or replaced between the two
//! inspections count, whatever their content. A file is the same as before when its place on the
//! disk, its size and both of its times are.

use crate::base::glob::Glob;
use crate::base::path::RepoPath;
use crate::base::unit::show_size;
use crate::base::word::visible;
use crate::check::output;
use crate::check::output::reader::Format;
use crate::check::reading::Reading;
use crate::effect::os::files::MAX_FILES;
use crate::effect::os::files::beneath::{Beneath, ReadError, Stamp};
use crate::effect::os::process::mask::Secrets;
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::time::Duration;

/// The largest report, in bytes.
pub const LARGEST: u64 = 64 << 20;
/// The largest sum of all reports, in bytes.
pub const LARGEST_SUM: u64 = 1 << 30;
/// The largest number of reports.
pub const MOST: usize = 1000;

/// The files at the places of reports, before the step runs.
#[derive(Debug)]
pub struct Before(Result<BTreeMap<RepoPath, Stamp>, String>);

impl Before {
    /// Reads the state of the files, and ensures that any later write gets a later time than
    /// theirs.
    #[must_use]
    pub fn look(beneath: &Beneath, glob: &Glob) -> Self {
        let seen = stamps(beneath, glob);
        if let Ok(seen) = &seen
            && let Some(latest) = seen.values().map(|s| s.changed()).max()
        {
            wait_until_later(latest);
        }
        Self(seen)
    }

    /// Reads the files that have been written since, masked; readings are added up, in the order of
    /// the paths. `None`: no file was written. A file that cannot be read is a problem of the
    /// reading.
    #[must_use]
    pub fn read(
        self,
        beneath: &Beneath,
        glob: &Glob,
        formats: &[&'static Format],
        secrets: &Secrets,
    ) -> Option<Reading> {
        let name = formats.first().map_or("", |f| f.id);
        let troubled = |problem: String| {
            let mut reading = Reading::of(name);
            reading.object(problem);
            Some(reading)
        };
        let (before, after) = match (self.0, stamps(beneath, glob)) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(why), _) | (_, Err(why)) => {
                return troubled(format!("reports could not be looked for: {why}"));
            }
        };
        let written: Vec<&RepoPath> = after
            .iter()
            .filter(|(path, stamp)| before.get(*path) != Some(*stamp))
            .map(|(path, _)| path)
            .collect();
        if written.is_empty() {
            return None;
        }
        if written.len() > MOST {
            return troubled(format!(
                "it wrote {} reports, more than {MOST}",
                written.len()
            ));
        }
        let mut sum = Reading::of(name);
        let mut left = LARGEST_SUM;
        for path in written {
            let shown = visible(path.as_bytes());
            match beneath.read(path, LARGEST.min(left)) {
                Ok(bytes) => {
                    left = left.saturating_sub(bytes.len() as u64);
                    // Masked before it is read, because the reading is cut.
                    let bytes = if secrets.is_empty() {
                        bytes
                    } else {
                        secrets.mask(&bytes)
                    };
                    match output::read(formats, &bytes, b"") {
                        Some(mut reading) => {
                            reading
                                .problems
                                .iter_mut()
                                .for_each(|p| *p = format!("`{shown}`: {p}"));
                            sum.add(reading);
                        }
                        None if bytes.is_empty() => {
                            sum.object(format!("the report `{shown}` is empty"))
                        }
                        None => {
                            sum.object(format!("`{shown}` is no report of the format `{name}`"))
                        }
                    }
                }
                Err(ReadError::TooLarge(_)) if left < LARGEST => {
                    sum.object(format!(
                        "its reports are larger than {} together",
                        show_size(LARGEST_SUM)
                    ));
                    break;
                }
                Err(why) => sum.object(format!("the report `{shown}` cannot be read: {why}")),
            }
        }
        Some(sum)
    }
}

/// Lists everything that the glob selects and that is no directory.
fn stamps(beneath: &Beneath, glob: &Glob) -> Result<BTreeMap<RepoPath, Stamp>, String> {
    let mut found = BTreeMap::new();
    let mut looked_at = 0_usize;
    let mut note = |path: RepoPath| {
        if let Some(stamp) = beneath.stamp(&path) {
            found.insert(path, stamp);
        }
    };
    let mut open = Vec::new();
    for (anchor, is_exact) in glob.anchors() {
        if is_exact {
            note(anchor)
        } else {
            open.push(anchor)
        }
    }
    while let Some(dir) = open.pop() {
        for (name, kind) in beneath.list(&dir) {
            looked_at += 1;
            if looked_at > MAX_FILES {
                return Err(format!(
                    "there are more than {MAX_FILES} files below `{}`",
                    visible(dir.as_bytes())
                ));
            }
            let Ok(path) = dir.join(&name) else { continue };
            if kind == FileType::Directory {
                // Neither git's own files nor vplan's records are reports.
                let ours = name == b".git" || (name == b".vplan" && dir.is_root());
                if !ours && glob.reaches_below(&path) {
                    open.push(path);
                }
            } else if glob.matches(&path) {
                note(path);
            }
        }
    }
    Ok(found)
}

/// Waits until a file that is written next gets a later time: the clock of file times moves in
/// steps of some milliseconds. A file from the future is not waited for.
fn wait_until_later(than: (i64, i64)) {
    const TICK: Duration = Duration::from_millis(1);
    const LONGEST_TICKS: u32 = 50;
    for _ in 0..LONGEST_TICKS {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        if (now.tv_sec, now.tv_nsec) > than || now.tv_sec.saturating_add(1) < than.0 {
            return;
        }
        std::thread::sleep(TICK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::vocabulary::FormatName;
    use crate::check::output::reader::{Reader, Stream};
    use crate::check::reading::TestCounts;
    use std::os::unix::fs::symlink;

    /// A format of its own: `ok` and `no` on lines.
    static WORDS: Format = Format {
        id: "words",
        is_document: false,
        names: &[FormatName::Tap],
        kinds: &[crate::check::Kind::Test],
        written_by: |_| false,
        reader: || Box::new(Words(None)),
    };

    struct Words(Option<TestCounts>);

    impl Reader for Words {
        fn line(&mut self, _: Stream, line: &str) {
            match line {
                "ok" => self.0.get_or_insert_default().passed += 1,
                "no" => self.0.get_or_insert_default().failed += 1,
                _ => {}
            }
        }

        fn finish(self: Box<Self>) -> Option<Reading> {
            self.0.map(|tests| Reading {
                tests: Some(tests),
                ..Reading::of("words")
            })
        }
    }

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            tree.write("r/a", "ok\n")
                .write("r/deep/b", "no\n")
                .write("r/.git/c", "ok\n");
            std::fs::write(tree.0.path().join("secret"), "ok\n").unwrap();
            tree
        }

        fn write(&self, path: &str, text: &str) -> &Self {
            let path = self.0.path().join("repo").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
            self
        }

        fn read(&self, glob: &str, step: impl FnOnce(&std::path::Path)) -> Option<Reading> {
            let root = self.0.path().join("repo");
            let (beneath, glob) = (Beneath::open(&root).unwrap(), Glob::parse(glob).unwrap());
            let before = Before::look(&beneath, &glob);
            step(&root);
            before.read(&beneath, &glob, &[&WORDS], &Secrets::default())
        }
    }

    fn counts(reading: &Option<Reading>) -> Option<(u64, u64, usize)> {
        let tests = |r: &Reading| r.tests.unwrap_or_default();
        reading
            .as_ref()
            .map(|r| (tests(r).passed, tests(r).failed, r.problems.len()))
    }

    #[test]
    fn only_what_was_written() {
        type Step = fn(&std::path::Path);
        let write = |path: &std::path::Path, text: &str| std::fs::write(path, text).unwrap();
        type Case<'a> = (&'a str, &'a str, Step, Option<(u64, u64, usize)>);
        let cases: &[Case<'_>] = &[
            ("nothing", "r/**", |_| {}, None),
            ("nowhere", "none/*.xml", |_| {}, None),
            (
                "replaced by the same",
                "r/a",
                |r| std::fs::write(r.join("r/a"), "ok\n").unwrap(),
                Some((1, 0, 0)),
            ),
            (
                "another file in its place",
                "r/*",
                |r| {
                    std::fs::write(r.join("new"), "ok\nok\n").unwrap();
                    std::fs::rename(r.join("new"), r.join("r/a")).unwrap();
                },
                Some((2, 0, 0)),
            ),
            (
                "removed",
                "r/**",
                |r| std::fs::remove_file(r.join("r/a")).unwrap(),
                None,
            ),
            (
                "added up",
                "r/**",
                |r| {
                    std::fs::write(r.join("r/c"), "ok\nno\n").unwrap();
                    std::fs::write(r.join("r/deep/b"), "ok\n").unwrap();
                },
                Some((2, 1, 0)),
            ),
            (
                "in a folder that was not there",
                "new/**/*.txt",
                |r| {
                    std::fs::create_dir_all(r.join("new/x/y")).unwrap();
                    std::fs::write(r.join("new/x/y/a.txt"), "ok\n").unwrap();
                    std::fs::write(r.join("new/x/y/a.log"), "no\n").unwrap();
                },
                Some((1, 0, 0)),
            ),
            (
                "git's own",
                "r/**",
                |r| std::fs::write(r.join("r/.git/c"), "ok\nok\n").unwrap(),
                None,
            ),
            (
                "no report",
                "r/a",
                |r| std::fs::write(r.join("r/a"), "?").unwrap(),
                Some((0, 0, 1)),
            ),
            (
                "empty",
                "r/a",
                |r| std::fs::write(r.join("r/a"), "").unwrap(),
                Some((0, 0, 1)),
            ),
            (
                "out of the repository",
                "r/*",
                |r| symlink("../../secret", r.join("r/l")).unwrap(),
                Some((0, 0, 1)),
            ),
            (
                "a link inside",
                "r/l",
                |r| symlink("a", r.join("r/l")).unwrap(),
                Some((1, 0, 0)),
            ),
            (
                "a link to nothing",
                "r/l",
                |r| symlink("nothing", r.join("r/l")).unwrap(),
                Some((0, 0, 1)),
            ),
            (
                "a pipe",
                "r/p",
                |r| {
                    let mode = rustix::fs::Mode::RUSR;
                    rustix::fs::mknodat(rustix::fs::CWD, r.join("r/p"), FileType::Fifo, mode, 0)
                        .unwrap();
                },
                Some((0, 0, 1)),
            ),
            (
                "too large",
                "r/a",
                |r| {
                    std::fs::File::create(r.join("r/a"))
                        .unwrap()
                        .set_len(LARGEST + 1)
                        .unwrap()
                },
                Some((0, 0, 1)),
            ),
            (
                "too many",
                "many/*",
                |r| {
                    std::fs::create_dir(r.join("many")).unwrap();
                    (0..=MOST)
                        .for_each(|n| std::fs::write(r.join(format!("many/{n}")), "ok\n").unwrap());
                },
                Some((0, 0, 1)),
            ),
        ];
        for (name, glob, step, want) in cases {
            let tree = Tree::new();
            assert_eq!(counts(&tree.read(glob, step)), *want, "{name}");
        }
        // The target of a symlink may be the file that is replaced.
        let tree = Tree::new();
        symlink("a", tree.0.path().join("repo/r/l")).unwrap();
        assert_eq!(
            counts(&tree.read("r/l", |r| write(&r.join("r/a"), "no\n"))),
            Some((0, 1, 0))
        );
        assert_eq!(counts(&tree.read("r/l", |_| {})), None);
    }
}
