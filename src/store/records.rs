//! Writes the record of a run, `.vplan/runs/ID/`.
//!
//! Everything is reached from a directory that is held open, and no symlink is followed on the way
//! down: a step that swaps a folder of the record for a symlink makes vplan write into the folder
//! that was there before.

use data_encoding::HEXLOWER;
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, FallocateFlags, FileType, FlockOperation, FsWord, Mode, OFlags, fstatfs, mkdirat,
    statat, unlinkat,
};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use vplan_base::canon::Digest;
use vplan_base::path::RepoPath;
use vplan_base::word::{text_if, visible_path};
use vplan_os::atomic_file::{Keeping, RECORDED, RECORDED_LATER, create, replaced, sync_folder};
use vplan_os::files::make_folders;
use vplan_os::process::program::{Root, message_of};
use vplan_os::retry_eintr::{FolderEntries, fallocate, flock, fsync, open, open_folder};
use vplan_os::state_files;
use vplan_run::run_summary::is_run_id;

/// The folder at the root.
pub const FOLDER: &str = ".vplan";
/// The folder of all runs in it.
pub const RUNS: &str = "runs";
/// The journal of a run.
pub const EVENTS: &str = "events.jsonl";
/// The report of a run that has ended.
pub const REPORT: &str = "report.json";
/// The space that is reserved so that a run that fills the disk can still record how it ended, in
/// bytes.
const RESERVE: u64 = 64 * 1024;

/// The reason why a record could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file below `.vplan/` belongs to the repository.
    #[error("`{0}` is tracked, but `.vplan/` is for records, which are no part of the repository")]
    Tracked(RepoPath),
    /// Something else is in the way.
    #[error("`{}` is not a directory, or is a symlink; records of runs need a directory of their own", visible_path(.0))]
    NotADirectory(PathBuf),
    /// The system refuses.
    #[error("the record of the run cannot be kept in `{}`: {}", visible_path(.0), message_of(.1))]
    Io(PathBuf, #[source] io::Error),
}

impl RecordError {
    /// Returns how to fix it.
    pub fn help(&self) -> String {
        match self {
            RecordError::Tracked(path) => format!("`git rm --cached -- {path}` stops tracking it"),
            RecordError::NotADirectory(_) => {
                "move it away, or name another place with `--records DIR`".to_owned()
            }
            RecordError::Io(..) => "`--records DIR` keeps the records in another place".to_owned(),
        }
    }
}

/// The part of a record that may still be lost with the power.
#[derive(Debug)]
pub struct UnsyncedRecord {
    events: Arc<File>,
    folders: Vec<Arc<OwnedFd>>,
    files: Vec<Arc<File>>,
}

impl UnsyncedRecord {
    /// Makes sure of it. The events come last: what they say is there then.
    ///
    /// # Errors
    /// The disk does not take it. It may be lost then, even if a second try succeeds.
    pub fn sync(&self) -> io::Result<()> {
        for file in &self.files {
            file.sync_all()?;
        }
        for folder in &self.folders {
            sync_folder(folder)?;
        }
        self.events.sync_data()
    }

    /// Returns the number of files other than the events.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Adds what was written later.
    pub fn add(&mut self, more: Self) {
        self.folders.extend(more.folders);
        self.files.extend(more.files);
    }
}

/// Whether the file system of a folder writes all changes of names to one log, in their order: a
/// file that is synced has brought every name to the disk that was made before it was changed.
/// Elsewhere each folder is synced by itself.
///
/// By its type. An ext4 without a journal (ext2 has the same number) does not promise which names
/// survive a loss of power: the record is then missing, or has no end and is not a pass.
fn orders_names(folder: BorrowedFd<'_>) -> bool {
    const EXT4: FsWord = 0xef53;
    const XFS: FsWord = 0x5846_5342;
    fstatfs(folder).is_ok_and(|about| [EXT4, XFS].contains(&about.f_type))
}

/// The record of one run while it is written.
#[derive(Debug)]
pub struct RunRecord {
    id: String,
    path: PathBuf,
    folder: Arc<OwnedFd>,
    logs: OwnedFd,
    events: Arc<File>,
    /// The number of bytes of the events that are whole lines.
    whole: u64,
    /// Whether a line is missing: what would follow it could not be read.
    broken: bool,
    /// Whether syncing a file makes sure of all names that were made before.
    is_ordered: bool,
    /// Folders whose names may still be lost with the power. Without any where names are ordered.
    folders: Vec<Arc<OwnedFd>>,
    /// Files whose content may still be lost with the power.
    later: Vec<Arc<File>>,
    /// The reserved space, in a file without a name: the system frees it when vplan ends, however
    /// that happens.
    reserve: Option<File>,
}

impl RunRecord {
    /// Begins a record below `.vplan/` at the root, or below `elsewhere`. `tracked` is the first
    /// file of the repository below `.vplan/`, if there is one.
    ///
    /// # Errors
    /// There is such a file, or the directories and files cannot be made; nothing has been run
    /// then.
    pub fn create(
        root: &Root,
        elsewhere: Option<&Path>,
        tracked: Option<&RepoPath>,
    ) -> Result<Self, RecordError> {
        let (base, base_path, is_new) = match elsewhere {
            Some(path) => {
                let failed = |e: io::Error| RecordError::Io(path.to_owned(), e);
                make_folders(path).map_err(failed)?;
                let base = open_folder(path).map_err(|e| failed(e.into()))?;
                (base, path.to_owned(), false)
            }
            None => {
                if let Some(path) = tracked {
                    return Err(RecordError::Tracked(path.clone()));
                }
                let path = root.path().join(FOLDER);
                let known = statat(root.as_fd(), FOLDER, AtFlags::SYMLINK_NOFOLLOW).is_ok();
                (folder(root.as_fd(), FOLDER, &path)?, path, !known)
            }
        };
        let failed = |e: Errno| RecordError::Io(base_path.clone(), e.into());
        let is_ordered = orders_names(base.as_fd());
        // Where the file system begins, the order ends.
        if is_new && !(is_ordered && orders_names(root.as_fd())) {
            fsync(root).map_err(failed)?;
        }
        ignore_all(base.as_fd()).map_err(|e| RecordError::Io(base_path.clone(), e))?;
        let runs_path = base_path.join(RUNS);
        let runs = folder(base.as_fd(), RUNS, &runs_path)?;
        // While this is held, no process takes a folder whose events are not locked yet for an
        // abandoned one. Where there are no such locks, removing records goes by their contents.
        let _ = flock(&runs, FlockOperation::LockShared);
        let id = new_id(runs.as_fd()).map_err(|e| RecordError::Io(base_path.clone(), e))?;
        let path = runs_path.join(&id);
        // The id is random; if the directory is there all the same, another process made it.
        mkdirat(&runs, &id, Mode::from_raw_mode(0o755)).map_err(failed)?;
        let own = folder(runs.as_fd(), &id, &path)?;
        let logs = folder(own.as_fd(), "logs", &path.join("logs"))?;
        let events = Arc::new(create_append(own.as_fd(), EVENTS).map_err(failed)?);
        // Held as long as the record is written: it shows that a vplan is running. Started programs
        // do not inherit it.
        let _ = flock(&events, FlockOperation::LockExclusive);
        let reserve = match reserve(own.as_fd()) {
            Ok(file) => Some(file),
            // Without room for the end of the record, the run does not begin.
            Err(error @ (Errno::NOSPC | Errno::DQUOT)) => return Err(failed(error)),
            // A file system that reserves nothing, or a limit on file sizes, against which no free
            // space helps.
            Err(_) => None,
        };
        let own = Arc::new(own);
        let folders = if is_ordered {
            Vec::new()
        } else {
            // Its events are locked by now.
            let _ = flock(&runs, FlockOperation::Unlock);
            vec![Arc::clone(&own), Arc::new(runs), Arc::new(base)]
        };
        Ok(Self {
            id,
            path,
            folder: own,
            logs,
            events,
            whole: 0,
            broken: false,
            is_ordered,
            folders,
            later: Vec::new(),
            reserve,
        })
    }

    /// Returns the run's name, which is unique and sorts after those of all runs that were there
    /// when it began.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder for logs.
    pub fn logs(&self) -> BorrowedFd<'_> {
        self.logs.as_fd()
    }

    /// Adds a line, which ends in a line feed, to the events, in one write. A line that does not
    /// fit is taken back whole; then the reserved space is freed, for this line, which is tried
    /// once more, and for those that follow. When that does not help, nothing more is added: a
    /// reader could not take it for valid.
    ///
    /// # Errors
    /// A full disk, a quota, a limit on file sizes, a broken disk. The run has to end, even if the
    /// second try has added the line.
    pub fn append(&mut self, line: &str) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier line is missing"));
        }
        let Err(error) = self.add(line) else {
            return Ok(());
        };
        self.broken = !self.release() || self.add(line).is_err();
        Err(error)
    }

    fn add(&mut self, line: &str) -> io::Result<()> {
        let added = (&*self.events).write_all(line.as_bytes());
        match added {
            Ok(()) => self.whole += line.len() as u64,
            // Where even that fails, readers ignore the incomplete line.
            Err(_) => self.broken |= self.events.set_len(self.whole).is_err(),
        }
        added
    }

    /// Makes sure that all lines so far survive a loss of power, and what was written by
    /// [`RunRecord::write`].
    ///
    /// # Errors
    /// The disk does not take them. They may be lost then, even if a second try succeeds.
    pub fn sync(&mut self) -> io::Result<()> {
        let later = std::mem::take(&mut self.later);
        let synced = self.unsynced().sync();
        self.later = later;
        if synced.is_err() {
            self.release();
        }
        synced
    }

    /// Returns all that may still be lost with the power, to be synced by a caller that calls
    /// [`RunRecord::release`] when that fails.
    pub fn unsynced(&mut self) -> UnsyncedRecord {
        UnsyncedRecord {
            events: Arc::clone(&self.events),
            folders: std::mem::take(&mut self.folders),
            files: std::mem::take(&mut self.later),
        }
    }

    /// Returns the length of the events, in bytes.
    pub fn length(&self) -> u64 {
        self.whole
    }

    /// Adds the last line and makes sure that all of them survive a loss of power, and the files
    /// before them. If they may not, it is taken back.
    ///
    /// # Errors
    /// The disk does not take them.
    pub fn end(&mut self, line: &str) -> io::Result<()> {
        self.release();
        let before = self.whole;
        self.append(line)?;
        let synced = self.sync();
        if synced.is_err() && self.events.set_len(before).is_ok() {
            self.whole = before;
        }
        synced
    }

    /// Removes a file of the record.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        unlinkat(&self.folder, name, AtFlags::empty())?;
        Ok(fsync(&self.folder)?)
    }

    /// Writes a file of the record as a whole: a reader sees all of it or none, also after
    /// a loss of power. Its name survives that once the record is synced.
    ///
    /// # Errors
    /// Errors of the system. The reserved space is freed then.
    pub fn write(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.replace(name, content, RECORDED).map(drop)
    }

    /// Writes a file of the record that its content shows to be whole: after a loss of power it may
    /// be damaged, until [`RunRecord::unsynced`] is synced.
    ///
    /// # Errors
    /// Errors of the system. The reserved space is freed then.
    pub fn write_later(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let file = self.replace(name, content, RECORDED_LATER)?;
        self.later.push(file);
        Ok(())
    }

    fn replace(&mut self, name: &str, content: &[u8], keeping: Keeping) -> io::Result<Arc<File>> {
        let written = replaced(&self.folder, name, content, keeping);
        if written.is_err() {
            self.release();
        } else if !self.is_ordered && !self.folders.iter().any(|f| Arc::ptr_eq(f, &self.folder)) {
            self.folders.push(Arc::clone(&self.folder));
        }
        written
    }

    /// Frees the reserved space, for what is written at the end. Returns whether there was some.
    pub fn release(&mut self) -> bool {
        self.reserve.take().is_some()
    }
}

/// Makes a directory unless it is there, and opens it; a symlink or anything else in its place is
/// refused.
fn folder(parent: BorrowedFd<'_>, name: &str, path: &Path) -> Result<OwnedFd, RecordError> {
    let made = state_files::folder_of(parent, name, Mode::from_raw_mode(0o755));
    made.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NOTDIR | Errno::LOOP) => RecordError::NotADirectory(path.to_owned()),
        _ => RecordError::Io(path.to_owned(), error),
    })
}

/// Makes git ignore the records, unless configured otherwise. An empty file is one that was never
/// finished.
fn ignore_all(folder: BorrowedFd<'_>) -> io::Result<()> {
    const NAME: &str = ".gitignore";
    let mut file = match create(folder, NAME, FILE) {
        Ok(file) => file,
        Err(Errno::EXIST) => {
            let stat = statat(folder, NAME, AtFlags::SYMLINK_NOFOLLOW)?;
            if stat.st_size > 0 || FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Ok(());
            }
            open(folder, NAME, OFlags::WRONLY | OFlags::NOFOLLOW)?.into()
        }
        Err(error) => return Err(error.into()),
    };
    file.write_all(b"*\n").and_then(|()| file.sync_all())
}

/// The mode of what a record holds.
const FILE: Mode = Mode::from_raw_mode(0o644);

fn create_append(folder: BorrowedFd<'_>, name: &str) -> Result<File, Errno> {
    let file = create(folder, name, FILE)?;
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file)
}

fn reserve(folder: BorrowedFd<'_>) -> Result<File, Errno> {
    const NAME: &str = ".reserve";
    let file = create(folder, NAME, FILE)?;
    unlinkat(folder, NAME, AtFlags::empty())?;
    fallocate(&file, FallocateFlags::empty(), 0, RESERVE)?;
    Ok(file)
}

/// Makes a run's name, `20260102T030405.678Z-` and 128 random bits. The time is now, or later when
/// there is a run of a later time: when the clock goes back, no older run becomes the latest one.
fn new_id(runs: BorrowedFd<'_>) -> io::Result<String> {
    let mut random = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let hex = HEXLOWER.encode(&random);
    let mut newest = String::new();
    let mut entries = FolderEntries::default();
    entries.read(runs)?;
    for (name, _) in entries.iter() {
        match std::str::from_utf8(name) {
            Ok(name) if is_run_id(name) && *name > *newest => name.clone_into(&mut newest),
            _ => {}
        }
    }
    let now = u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX);
    let time = after(newest.split('-').next().unwrap_or_default(), now);
    Ok(format!("{time}-{hex}"))
}

/// Formats `20260102T030405.678Z`: `now`, in milliseconds since 1970, or else the first time that
/// sorts after another one. After the last millisecond of the year 9999 none does.
fn after(other: &str, now: u64) -> String {
    const END: u64 = 253_402_300_800_000;
    let text = |millis: u64| {
        let civil = civil(millis / 1000).replace(['-', ':'], "");
        format!("{civil}.{:03}Z", millis % 1000)
    };
    let (mut low, mut high) = (now, END);
    if *text(low) > *other || *text(END - 1) <= *other {
        return text(now);
    }
    // A text that is not a time, such as a 13th month, has a place in the order too.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if *text(middle) > *other {
            high = middle
        } else {
            low = middle
        }
    }
    text(high)
}

/// Returns the time by the wall clock, in UTC (RFC 3339). For people; it may jump, and nothing
/// depends on it.
pub fn wall_clock() -> String {
    let since = since_1970();
    format!("{}.{:03}Z", civil(since.as_secs()), since.subsec_millis())
}

/// Returns the time since 1970.
pub fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Converts seconds since 1970 to a date and a time of day of the Gregorian calendar.
fn civil(seconds: u64) -> String {
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    // 400 years have 146,097 days.
    let mut year = 1970 + days / 146_097 * 400;
    days %= 146_097;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    let february = 28 + u64::from(leap(year));
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (day, hour, minute, second) = (days + 1, second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Returns the name of a try's log: the step's id with everything escaped that means something to a
/// file system, so that different steps have different names.
pub fn log_name(id: &str, attempt: u32, round: u32) -> String {
    let again = text_if(round > 1, || format!(".r{round}"));
    format!("{}.{attempt}{again}.log", file_name(id))
}

/// Returns the id of a step as the names of its files begin.
fn file_name(id: &str) -> String {
    let mut name = String::new();
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            byte => name.push_str(&format!("%{byte:02x}")),
        }
    }
    if name.len() > 180 {
        let digest = Digest::hash(id.as_bytes()).hex();
        name.truncate(100);
        name.push_str("%%");
        name.push_str(digest.get(..32).unwrap_or_default());
    }
    name
}

/// Suffix of the file with the recorded effects of a try, next to its log.
const READS: &str = ".reads";

/// Returns the name of the file with the recorded effects of a try, next to its log.
pub fn reads_name(log: &str) -> String {
    format!("{}{READS}", log.strip_suffix(".log").unwrap_or(log))
}

/// Whether a file has the recorded effects of a try.
pub(crate) fn is_reads_name(name: &str) -> bool {
    name.ends_with(READS)
}

/// Finds, among file names, those with recorded effects of tries of these steps.
pub(crate) fn observed_tries<'i>(
    names: Vec<String>,
    steps: impl Iterator<Item = &'i str>,
) -> Vec<(&'i str, String)> {
    let steps: BTreeMap<String, &str> = steps.map(|id| (file_name(id), id)).collect();
    let step = |name: &str| {
        let (rest, last) = name.strip_suffix(READS)?.rsplit_once('.')?;
        let stem = match last.strip_prefix('r') {
            Some(_) => rest.rsplit_once('.')?.0,
            None => rest,
        };
        steps.get(stem).copied()
    };
    let found = names.into_iter();
    found
        .filter_map(|name| Some((step(&name)?, name)))
        .collect()
}

/// Maximum number of starts of a service, each with another port because a different process took
/// the one that was chosen.
pub const STARTS: u32 = 5;

/// The name of the log of a service: of its start with this number, in this plan of the run. A
/// blank is in no name of a step.
pub fn service_log_name(service: &str, start: u32, round: u32) -> String {
    log_name(&format!("service {service}"), start, round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn root() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        (dir, root)
    }

    #[test]
    fn log_names() {
        for (id, want) in [
            ("api-tests", "api-tests.1.log"),
            ("std/rust", "std%2frust.1.log"),
            ("../../etc/passwd", "%2e.%2f..%2fetc%2fpasswd.1.log"),
            (".", "%2e.1.log"),
            ("a b\n", "a%20b%0a.1.log"),
            ("größe", "gr%c3%b6%c3%9fe.1.log"),
        ] {
            assert_eq!(log_name(id, 1, 1), want);
        }
        assert_eq!(log_name("a", 2, 3), "a.2.r3.log");
        let (a, b) = (
            log_name(&"ö".repeat(300), 1, 1),
            log_name(&format!("{}x", "ö".repeat(300)), 1, 1),
        );
        assert!(a.len() < 200 && a != b);
    }

    #[test]
    fn a_record() {
        let (dir, root) = root();
        let mut record = RunRecord::create(&root, None, None).unwrap();
        record.append("{\"seq\":0}\n").unwrap();
        record.sync().unwrap();
        record.append("{\"seq\":1}\n").unwrap();
        record.write("plan.json", b"{}").unwrap();
        record.write("report.json", b"old").unwrap();
        record.write("report.json", b"new").unwrap();
        let path = record.path().to_owned();
        record.sync().unwrap();
        assert!(record.release() && !record.release());
        drop(record);
        assert_eq!(
            fs::read_to_string(path.join("events.jsonl")).unwrap(),
            "{\"seq\":0}\n{\"seq\":1}\n"
        );
        assert_eq!(fs::read_to_string(path.join("report.json")).unwrap(), "new");
        assert_eq!(
            fs::read_to_string(dir.path().join(".vplan/.gitignore")).unwrap(),
            "*\n"
        );
        let mut left: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["events.jsonl", "logs", "plan.json", "report.json"]);
    }

    #[test]
    fn git_is_kept_away() {
        let (dir, root) = root();
        let ignore = dir.path().join(".vplan/.gitignore");
        for (found, left) in [("", "*\n"), ("*\n", "*\n"), ("!x\n", "!x\n")] {
            fs::create_dir_all(dir.path().join(".vplan")).unwrap();
            fs::write(&ignore, found).unwrap();
            RunRecord::create(&root, None, None).unwrap();
            assert_eq!(fs::read_to_string(&ignore).unwrap(), left);
        }
    }

    #[test]
    fn two_runs_do_not_meet() {
        let (_dir, root) = root();
        let a = RunRecord::create(&root, None, None).unwrap();
        let b = RunRecord::create(&root, None, None).unwrap();
        assert_ne!(a.path(), b.path());
        assert_eq!(a.id().len(), 53);
    }

    #[test]
    fn a_clock_that_goes_back() {
        for (other, now, want) in [
            ("", 0, "19700101T000000.000Z"),
            (
                "20260102T030405.678Z",
                4_107_542_400_123,
                "21000301T000000.123Z",
            ),
            ("20260102T030405.678Z", 0, "20260102T030405.679Z"),
            (
                "20261231T235959.999Z",
                1_735_689_599_000,
                "20270101T000000.000Z",
            ),
            (
                "20260102T030405.678Z",
                1_767_323_045_678,
                "20260102T030405.679Z",
            ),
            ("20261399T999999.999Z", 0, "20270101T000000.000Z"),
            ("99991231T235959.999Z", 1, "19700101T000000.001Z"),
            ("99999999T999999.999Z", 1, "19700101T000000.001Z"),
        ] {
            assert_eq!(after(other, now), want, "{other} {now}");
        }
        let (dir, root) = root();
        let later = format!(
            "{}/.vplan/runs/29990101T000000.000Z-{:032x}",
            dir.path().display(),
            7
        );
        fs::create_dir_all(later).unwrap();
        let names = [1, 2].map(|n| {
            (
                RunRecord::create(&root, None, None)
                    .unwrap()
                    .id()
                    .to_owned(),
                n,
            )
        });
        assert!(names[0].0.starts_with("29990101T000000.001Z-"), "{names:?}");
        assert!(names[1].0.starts_with("29990101T000000.002Z-"), "{names:?}");
    }

    #[test]
    fn what_is_in_the_way_is_refused() {
        let (dir, root) = root();
        let tracked = RepoPath::parse(b".vplan/x").unwrap();
        assert!(matches!(
            RunRecord::create(&root, None, Some(&tracked)),
            Err(RecordError::Tracked(_))
        ));

        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), dir.path().join(".vplan")).unwrap();
        let refused = RunRecord::create(&root, None, None).unwrap_err();
        assert!(
            matches!(refused, RecordError::NotADirectory(_)),
            "{refused}"
        );
        assert!(refused.help().contains("--records"));
        assert_eq!(
            fs::read_dir(elsewhere.path()).unwrap().count(),
            0,
            "nothing was written through the symlink"
        );

        let record =
            RunRecord::create(&root, Some(&elsewhere.path().join("a/b")), Some(&tracked)).unwrap();
        assert!(record.path().starts_with(elsewhere.path()));

        fs::remove_file(dir.path().join(".vplan")).unwrap();
        fs::write(dir.path().join(".vplan"), "").unwrap();
        assert!(matches!(
            RunRecord::create(&root, None, None),
            Err(RecordError::NotADirectory(_))
        ));
    }

    #[test]
    fn a_swapped_folder_is_not_followed() {
        let (dir, root) = root();
        let mut record = RunRecord::create(&root, None, None).unwrap();
        let victim = tempfile::tempdir().unwrap();
        let aside = dir.path().join("aside");
        fs::rename(record.path(), &aside).unwrap();
        symlink(victim.path(), record.path()).unwrap();
        record.append("{}\n").unwrap();
        record.write("report.json", b"{}").unwrap();
        assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 0);
        assert!(aside.join("report.json").exists());
    }

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_400, "2000-02-29T00:00:00"),
            (951_868_799, "2000-02-29T23:59:59"),
            (951_868_800, "2000-03-01T00:00:00"),
            (1_735_689_599, "2024-12-31T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
            (12_622_780_800, "2370-01-01T00:00:00"),
        ] {
            assert_eq!(civil(seconds), text, "{seconds}");
        }
    }
}
