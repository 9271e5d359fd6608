//! Finds and reads the report files that a step has written.
//!
//! INVARIANT (no stale evidence): only files that this try has written count, whatever their
//! content. Existing files in the place of reports are moved away, and come back unless the try has
//! written another file there. A file that cannot be moved (a symlink, a file of a step that runs
//! at the same time) counts only if it has changed: its place on the disk, its size or a time of
//! it, and its content. A file that was last written before the try began never counts, and no file
//! counts twice.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, unlinkat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use vplan_base::canon::Digest;
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_base::unit::show_size;
use vplan_base::word::visible;
use vplan_check::output;
use vplan_check::output::reader::Format;
use vplan_check::results::Reading;
use vplan_os::files::MAX_FILES;
use vplan_os::files::beneath::{Beneath, FileStamp, ReadError};
use vplan_os::process::mask::Secrets;

/// Size limit of a report, in bytes.
pub const LARGEST: u64 = 64 << 20;
/// Size limit of all reports together, in bytes.
pub(crate) const LARGEST_SUM: u64 = 1 << 30;
/// Maximum number of reports.
pub const MOST: usize = 1000;

/// The age at which a file is older than the try, for file systems that count in seconds.
const SLACK: i64 = 2;

/// A folder for files that were moved away from the places of reports, and the steps that use it
/// now.
#[derive(Debug)]
pub struct Aside {
    folder: OwnedFd,
    next: AtomicU64,
    running: Mutex<BTreeMap<u64, Glob>>,
}

impl Aside {
    /// Makes it of a folder in which names that begin with `.aside-` are free.
    pub fn new(folder: OwnedFd) -> Self {
        Self {
            folder,
            next: AtomicU64::default(),
            running: Mutex::default(),
        }
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<u64, Glob>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file at the place of a report, before the step runs.
#[derive(Debug)]
enum Earlier {
    /// It was moved to this name.
    Moved(String),
    /// It was left in place. With the digest of its content, if that can be read.
    Kept(FileStamp, Option<Digest>),
}

/// There are too many files below this folder to look for reports.
#[derive(Debug, thiserror::Error)]
#[error("there are more than {MAX_FILES} files below `{0}`")]
struct Many(RepoPath);

/// The files at the places of reports, before the step runs.
#[derive(Debug)]
pub struct Before {
    beneath: Arc<Beneath>,
    glob: Glob,
    aside: Option<Arc<Aside>>,
    /// Its number among those that use `aside`.
    number: u64,
    seen: Result<BTreeMap<RepoPath, Earlier>, Many>,
    /// The time of the try's start, in seconds since 1970.
    since: i64,
}

impl Before {
    /// Moves the files away; of those that cannot be moved it reads the state, and ensures that any
    /// later write gets a later time than theirs.
    pub fn move_away(beneath: Arc<Beneath>, glob: Glob, aside: Option<Arc<Aside>>) -> Self {
        let place = aside.as_deref();
        let number = place.map_or(0, Aside::number);
        let seen = stamps(&beneath, &glob).map(|found| {
            let mut others = place.map(Aside::running);
            let is_others = |path: &RepoPath| {
                let mut globs = others.iter().flat_map(|running| running.values());
                globs.any(|glob| glob.matches(path))
            };
            let seen = found.into_iter().map(|(path, stamp)| {
                let moved = place.filter(|_| stamp.is_direct() && !is_others(&path));
                let moved = moved.and_then(|place| move_away(&beneath, &path, place));
                let earlier = moved.map_or_else(|| keep(&beneath, &path, stamp), Earlier::Moved);
                (path, earlier)
            });
            let seen: BTreeMap<_, _> = seen.collect();
            if let Some(running) = &mut others {
                running.insert(number, glob.clone());
            }
            seen
        });
        let kept = |earlier: &Earlier| match earlier {
            Earlier::Moved(_) => None,
            Earlier::Kept(stamp, _) => Some(stamp.changed()),
        };
        if let Some(latest) = seen
            .iter()
            .flat_map(BTreeMap::values)
            .filter_map(kept)
            .max()
        {
            wait_until_later(latest);
        }
        Self {
            beneath,
            glob,
            aside,
            number,
            seen,
            since: now().0,
        }
    }

    /// Reads the files below `beneath` that have been written since, masked; readings are added up, in the order of
    /// the paths. `None`: no file was written. A file that cannot be read is a problem of the
    /// reading.
    pub fn read(
        self,
        beneath: &Beneath,
        formats: &[&'static Format],
        secrets: &Secrets,
    ) -> Option<Reading> {
        let name = formats.first().map_or("", |f| f.id);
        let troubled = |problem: String| {
            let mut reading = Reading::from_format(name);
            reading.object(problem);
            Some(reading)
        };
        let (before, after) = match (&self.seen, stamps(beneath, &self.glob)) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(why), _) => return troubled(format!("reports could not be looked for: {why}")),
            (_, Err(why)) => return troubled(format!("reports could not be looked for: {why}")),
        };
        let is_new = |path: &RepoPath, stamp: &FileStamp| match before.get(path) {
            None | Some(Earlier::Moved(_)) => true,
            Some(Earlier::Kept(before, _)) => before != stamp,
        };
        let mut files = BTreeSet::new();
        let (mut written, mut stale) = (Vec::new(), None);
        for (path, stamp) in after.iter().filter(|(path, stamp)| is_new(path, stamp)) {
            if stamp.modified().0.saturating_add(SLACK) < self.since {
                stale = stale.or(Some(path));
            } else if files.insert(stamp.file()) {
                written.push(path);
            }
        }
        if written.len() > MOST {
            return troubled(format!(
                "it wrote {} reports, more than {MOST}",
                written.len()
            ));
        }
        let mut sum = Reading::from_format(name);
        let mut left = LARGEST_SUM;
        let mut is_written = false;
        for path in written {
            let shown = visible(path.as_bytes());
            let bytes = beneath.read(path, LARGEST.min(left));
            if let (Ok(bytes), Some(Earlier::Kept(_, Some(digest)))) = (&bytes, before.get(path))
                && Digest::hash(bytes) == *digest
            {
                continue;
            }
            is_written = true;
            match bytes {
                Ok(bytes) => {
                    left = left.saturating_sub(bytes.len() as u64);
                    add(&mut sum, &shown, formats, &bytes, secrets);
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
        match stale {
            _ if is_written => Some(sum),
            Some(path) => troubled(format!(
                "`{}` was last written before this try began, so it is no report of it",
                visible(path.as_bytes())
            )),
            None => None,
        }
    }
}

impl Drop for Before {
    /// Moves the files back, unless the try has left other ones in their place.
    fn drop(&mut self) {
        let Some(aside) = &self.aside else { return };
        for (path, earlier) in self.seen.iter().flatten() {
            let Earlier::Moved(name) = earlier else {
                continue;
            };
            let moved = self.beneath.move_in((&aside.folder, name), path);
            // The try has replaced it, or removed its folder. After any other error, it stays in
            // the record of the run.
            if let Err(Errno::EXIST | Errno::NOENT | Errno::NOTDIR) = moved {
                let _ = unlinkat(&aside.folder, &**name, AtFlags::empty());
            }
        }
        aside.running().remove(&self.number);
    }
}

/// Adds the content of a report. It is masked before it is parsed, because the parsed texts are
/// cut.
fn add(
    sum: &mut Reading,
    shown: &str,
    formats: &[&'static Format],
    bytes: &[u8],
    secrets: &Secrets,
) {
    let masked = (!secrets.is_empty()).then(|| secrets.mask(bytes));
    let bytes = masked.as_deref().unwrap_or(bytes);
    match output::read(formats, bytes, b"") {
        Some(mut reading) => {
            reading
                .problems
                .iter_mut()
                .for_each(|p| *p = format!("`{shown}`: {p}"));
            sum.add(reading);
        }
        None if bytes.is_empty() => sum.object(format!("the report `{shown}` is empty")),
        None => {
            let name = formats.first().map_or("", |f| f.id);
            sum.object(format!("`{shown}` is no report of the format `{name}`"))
        }
    }
}

/// Moves a file away; returns its name there.
fn move_away(beneath: &Beneath, path: &RepoPath, aside: &Aside) -> Option<String> {
    let name = format!(".aside-{}", aside.number());
    beneath.move_out(path, (&aside.folder, &name)).ok()?;
    Some(name)
}

fn keep(beneath: &Beneath, path: &RepoPath, stamp: FileStamp) -> Earlier {
    let content = beneath.read(path, LARGEST).ok();
    Earlier::Kept(stamp, content.map(|content| Digest::hash(&content)))
}

/// Lists everything that the glob selects, except directories.
fn stamps(beneath: &Beneath, glob: &Glob) -> Result<BTreeMap<RepoPath, FileStamp>, Many> {
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
                return Err(Many(dir));
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
        let now = now();
        if now > than || now.0.saturating_add(1) < than.0 {
            return;
        }
        std::thread::sleep(TICK);
    }
}

/// Returns the clock of file times: seconds and nanoseconds since 1970.
fn now() -> (i64, i64) {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    (now.tv_sec, now.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use vplan_base::vocabulary::FormatName;
    use vplan_check::output::reader::{Reader, Stream};
    use vplan_check::results::TestCounts;

    /// A format of its own: `ok` and `no` on lines.
    static WORDS: Format = Format {
        kinds: &[vplan_check::Kind::Test],
        ..Format::linter::<Words>("words", &[FormatName::Tap])
    };

    #[derive(Default)]
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
                ..Reading::from_format("words")
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
            let before = self.prepare(glob, Some(&self.aside()));
            step(&root);
            let reading = before.read(&self.beneath(), &[&WORDS], &Secrets::default());
            let left = std::fs::read_dir(self.0.path().join("aside")).unwrap();
            assert_eq!(left.count(), 0, "nothing is left aside");
            reading
        }

        fn beneath(&self) -> Arc<Beneath> {
            Arc::new(Beneath::open(&self.0.path().join("repo")).unwrap())
        }

        fn aside(&self) -> Arc<Aside> {
            let aside = self.0.path().join("aside");
            std::fs::create_dir_all(&aside).unwrap();
            Arc::new(Aside::new(std::fs::File::open(aside).unwrap().into()))
        }

        fn prepare(&self, glob: &str, aside: Option<&Arc<Aside>>) -> Before {
            Before::move_away(self.beneath(), Glob::parse(glob).unwrap(), aside.cloned())
        }

        fn content(&self, path: &str) -> Option<String> {
            std::fs::read_to_string(self.0.path().join("repo").join(path)).ok()
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
                |r| std::fs::remove_dir_all(r.join("r")).unwrap(),
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

    /// Makes a file older than any try.
    fn age(path: &std::path::Path) {
        let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(long_ago).unwrap();
    }

    #[test]
    fn what_is_stale_does_not_count() {
        type Step = fn(&std::path::Path);
        fn touch(path: std::path::PathBuf) {
            let now = std::time::SystemTime::now();
            let file = std::fs::File::options()
                .create(true)
                .append(true)
                .open(path);
            file.unwrap().set_modified(now).unwrap();
        }
        type Case<'a> = (&'a str, &'a str, Step, Option<(u64, u64, usize)>);
        let cases: &[Case<'_>] = &[
            ("touched", "r/a", |r| touch(r.join("r/a")), Some((0, 0, 1))),
            (
                "renamed from elsewhere",
                "r/*",
                |r| std::fs::rename(r.join("s/old"), r.join("r/new")).unwrap(),
                Some((0, 0, 1)),
            ),
            (
                "linked from elsewhere",
                "r/*",
                |r| std::fs::hard_link(r.join("s/old"), r.join("r/new")).unwrap(),
                Some((0, 0, 1)),
            ),
            (
                "a symlink to a stale one",
                "r/*",
                |r| symlink("../s/old", r.join("r/new")).unwrap(),
                Some((0, 0, 1)),
            ),
            (
                "a folder renamed to it",
                "t/*",
                |r| std::fs::rename(r.join("s"), r.join("t")).unwrap(),
                Some((0, 0, 1)),
            ),
            (
                "the same file twice",
                "r/*",
                |r| {
                    std::fs::write(r.join("r/x"), "ok\n").unwrap();
                    std::fs::hard_link(r.join("r/x"), r.join("r/y")).unwrap();
                    symlink("x", r.join("r/z")).unwrap();
                },
                Some((1, 0, 0)),
            ),
            (
                "a stale one beside a new one",
                "r/*",
                |r| {
                    std::fs::rename(r.join("s/old"), r.join("r/new")).unwrap();
                    std::fs::write(r.join("r/a"), "no\n").unwrap();
                },
                Some((0, 1, 0)),
            ),
            (
                "touched behind a symlink",
                "r/l",
                |r| touch(r.join("s/old")),
                None,
            ),
        ];
        for (name, glob, step, want) in cases {
            let tree = Tree::new();
            tree.write("s/old", "ok\nok\n");
            let root = tree.0.path().join("repo");
            age(&root.join("s/old"));
            if *glob == "r/l" {
                symlink("../s/old", root.join("r/l")).unwrap();
            }
            assert_eq!(counts(&tree.read(glob, step)), *want, "{name}");
        }
    }

    #[test]
    fn what_was_there_comes_back_unless_it_is_replaced() {
        let tree = Tree::new();
        tree.write("r/c", "old\n");
        let reading = tree.read("r/**", |r| {
            assert!(!r.join("r/a").exists() && !r.join("r/deep/b").exists());
            std::fs::write(r.join("r/a"), "no\n").unwrap();
            std::fs::remove_dir(r.join("r/deep")).unwrap();
        });
        assert_eq!(counts(&reading), Some((0, 1, 0)));
        assert_eq!(tree.content("r/a").as_deref(), Some("no\n"));
        assert_eq!(tree.content("r/c").as_deref(), Some("old\n"));
        assert_eq!(tree.content("r/deep/b"), None, "its folder was removed");
        assert_eq!(counts(&tree.read("r/**", |_| {})), None);
        assert_eq!(tree.content("r/a").as_deref(), Some("no\n"));
        // A step that is never started.
        let before = tree.prepare("r/*", Some(&tree.aside()));
        assert_eq!(tree.content("r/c"), None);
        drop(before);
        assert_eq!(tree.content("r/c").as_deref(), Some("old\n"));
    }

    #[test]
    fn steps_that_run_at_once_leave_each_other_theirs() {
        let tree = Tree::new();
        let aside = tree.aside();
        let first = tree.prepare("r/one", Some(&aside));
        tree.write("r/one", "ok\n");
        let second = tree.prepare("r/*", Some(&aside));
        assert_eq!(tree.content("r/one").as_deref(), Some("ok\n"));
        let read =
            |before: Before| counts(&before.read(&tree.beneath(), &[&WORDS], &Secrets::default()));
        assert_eq!(read(first), Some((1, 0, 0)));
        tree.write("r/two", "no\n");
        assert_eq!(read(second), Some((0, 1, 0)));
        assert_eq!(tree.content("r/a").as_deref(), Some("ok\n"));
    }

    #[test]
    fn without_a_place_aside_the_content_decides() {
        let tree = Tree::new();
        for (text, want) in [("ok\n", None), ("ok\nok\n", Some((2, 0, 0)))] {
            let before = tree.prepare("r/a", None);
            tree.write("r/a", text);
            assert_eq!(
                counts(&before.read(&tree.beneath(), &[&WORDS], &Secrets::default())),
                want
            );
        }
    }
}
