//! Lists the recorded runs, newest first, and reads the files of each; one at a time, with nothing
//! in memory that is not requested.
//!
//! The folder of the runs is held open, no symlink below it is followed, and only regular files are
//! read, up to a cap: a step could have put anything there. Anything that is not a record of
//! vplan's is ignored.

use crate::records::{EVENTS, FOLDER, REPORT, RUNS, STARTS, log_name, service_log_name};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, FlockOperation, OFlags, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use vplan_base::canon::Digest;
use vplan_base::unit::show_size;
use vplan_base::word::{visible, visible_path};
use vplan_os::files::read_bounded;
use vplan_os::parallel;
use vplan_os::process::program::message_of;
use vplan_os::retry_eintr::{self, flock, open_folder, read_dir};
use vplan_plan::{Plan, document};
use vplan_run::expected::ExpectedTimes;
use vplan_run::journal::Line;
use vplan_run::journal::{JournalEnd, JournalEntry, ReplayedRun, lines, replay};
use vplan_run::merge;
use vplan_run::report::Report;
use vplan_run::run_summary::{Summary, Tally, is_one_in_sixteen, is_run_id};

/// Size limit of a journal, report or plan that is read, in bytes.
pub const MAX_FILE: u64 = 256 << 20;
/// The prefix of a run that is being removed, so that a half of it is never taken for a run.
const GONE: &str = ".gone-";
/// Maximum number of threads that remove runs. They wait for the disk, not for a processor: most of
/// the time is spent there if freed blocks are discarded at once.
const REMOVERS: usize = 16;
/// The greatest depth of folders that is removed.
const MAX_DEPTH: usize = 32;

/// All recorded runs.
#[derive(Debug)]
pub struct History {
    /// None where nothing was ever recorded.
    runs: Option<OwnedFd>,
    path: PathBuf,
}

/// The reason why the records cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Something else is in their place.
    #[error("`{}` is not a directory, or is a symlink: these are no records of vplan", visible_path(.0))]
    NotADirectory(PathBuf),
    /// The system refuses.
    #[error("the records in `{}` cannot be read: {}", visible_path(.0), message_of(.1))]
    Io(PathBuf, #[source] io::Error),
}

/// A run as its journal records it.
#[derive(Debug)]
pub struct RecordedRun {
    /// The run's name: that of its folder.
    pub id: String,
    /// The run, as far as its journal is valid.
    pub run: ReplayedRun,
    /// The reason why its journal, or the rest of it, cannot be read; for people.
    pub trouble: Option<String>,
    /// Whether a running vplan holds the journal.
    pub writing: bool,
}

impl RecordedRun {
    /// Summarises the run on one line.
    pub fn summary(&self) -> Summary {
        Summary::new(&self.id, &self.run, self.writing)
    }
}

/// The result of removing old runs.
#[derive(Debug, Default)]
pub struct Collected {
    /// Runs that were removed, newest first, with the bytes of their files.
    pub removed: Vec<(String, u64)>,
    /// Runs that had to stay, and why.
    pub kept: Vec<(String, String)>,
}

/// A try of a step that ran, or runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The number of the try, from 1.
    pub attempt: u32,
    pub id: String,
    /// Its log, relative to the run's folder; none when it wrote nothing.
    pub log: Option<String>,
}

/// All tries of a run.
#[derive(Debug, Default)]
pub struct Tries {
    /// The steps of all its plans.
    pub planned: BTreeSet<String>,
    /// In the order in which they began.
    pub tries: Vec<Logged>,
}

/// How much of the history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Maximum number of runs.
    pub runs: usize,
    /// Limit of the total size of their files, in bytes.
    pub bytes: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            runs: 200,
            bytes: 1 << 30,
        }
    }
}

impl History {
    /// Opens the records at a repository's root, or those in another directory.
    ///
    /// # Errors
    /// Something else is in their place, or they cannot be entered. Missing records are an error
    /// only in a directory that was named.
    pub fn open(root: &Path, elsewhere: Option<&Path>) -> Result<Self, HistoryError> {
        let opened = |path: &Path| open_folder(path).map_err(|e| failed(path, e));
        let (base, base_path) = match elsewhere {
            Some(path) => (Some(opened(path)?), path.to_owned()),
            None => {
                let path = root.join(FOLDER);
                let base = enter(opened(root)?.as_fd(), FOLDER);
                (base.map_err(|e| failed(&path, e))?, path)
            }
        };
        let path = base_path.join(RUNS);
        let runs = match base {
            Some(base) => enter(base.as_fd(), RUNS).map_err(|e| failed(&path, e))?,
            None => None,
        };
        Ok(Self { runs, path })
    }

    /// Returns the folder of the runs.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of all runs, newest first, without reading them.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn ids(&self) -> Result<Vec<String>, HistoryError> {
        let mut ids = self.names(is_run_id)?;
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids)
    }

    /// Returns the names of all runs, newest first, and of the folders that a collection has renamed.
    fn ids_and_gone(&self) -> Result<(Vec<String>, Vec<String>), HistoryError> {
        let is_gone = |name: &str| name.strip_prefix(GONE).is_some_and(is_run_id);
        let names = self.names(|name| is_run_id(name) || is_gone(name))?;
        let (gone, mut ids): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| is_gone(name));
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok((ids, gone))
    }

    fn names(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, HistoryError> {
        let Some(runs) = &self.runs else {
            return Ok(Vec::new());
        };
        let io = |e: Errno| HistoryError::Io(self.path.clone(), e.into());
        let mut names = Vec::new();
        for entry in read_dir(runs).map_err(io)? {
            let entry = entry.map_err(io)?;
            let folder = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            if let Ok(name) = entry.file_name().to_str()
                && folder
                && wanted(name)
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    pub(super) fn folder(&self, id: &str) -> io::Result<OwnedFd> {
        let runs = self.runs.as_ref();
        match runs.map_or(Ok(None), |runs| enter(runs.as_fd(), id)) {
            Ok(Some(folder)) if is_run_id(id) => Ok(folder),
            Ok(_) => Err(io::Error::other("there is no such run")),
            Err(Errno::NOTDIR | Errno::LOOP) => Err(io::Error::other("it is no folder")),
            Err(e) => Err(io::Error::other(message_of(&e.into()))),
        }
    }

    /// Reads the journal of a run. Never fails: a journal that cannot be read is reported in the
    /// result.
    pub fn read_run(&self, id: &str) -> RecordedRun {
        let mut past = RecordedRun {
            id: id.to_owned(),
            run: ReplayedRun::default(),
            trouble: None,
            writing: false,
        };
        match self.events_within(id, MAX_FILE) {
            Ok((bytes, writing)) => {
                past.run = replay(&bytes);
                past.writing = writing;
                let torn = bytes.len() - past.run.bytes;
                // A line that is being written is not a torn one.
                if torn > 0 && !writing {
                    let trouble =
                        format!("the last {torn} bytes of its journal are torn or foreign");
                    past.trouble = Some(trouble);
                }
            }
            Err(why) => past.trouble = Some(format!("its journal {why}")),
        }
        past
    }

    /// Returns the journal of a run as it is: at most [`MAX_FILE`] bytes.
    ///
    /// # Errors
    /// The reason why there are none, for people.
    pub fn events(&self, id: &str) -> io::Result<Vec<u8>> {
        self.events_within(id, MAX_FILE).map(|(bytes, _)| bytes)
    }

    /// Adds the latest runs to the times of some steps: a few small journals, however many there
    /// are.
    pub fn add_latest(&self, times: &mut ExpectedTimes) {
        const MOST_RUNS: usize = 8;
        const MOST_BYTES: u64 = 4 << 20;
        let ids = self.ids().unwrap_or_default();
        for id in ids.iter().take(MOST_RUNS) {
            if times.is_complete() {
                break;
            }
            if let Ok((bytes, _)) = self.events_within(id, MOST_BYTES) {
                times.add(&replay(&bytes));
            }
        }
    }

    /// Reads a journal of at most so many bytes, and whether it is being written.
    fn events_within(&self, id: &str, most: u64) -> io::Result<(Vec<u8>, bool)> {
        let file = open(self.folder(id)?.as_fd(), EVENTS).map_err(cannot)?;
        // First the lock, then the content: the process that released it had written everything.
        let writing = flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
        let bytes = read_bounded(&file, most).map_err(cannot)?;
        Ok((bytes, writing))
    }

    /// Reads the report of a run; `None` when it has none. For runs that have ended.
    ///
    /// # Errors
    /// The reason why it cannot be read, to follow the name of the run.
    pub fn report(&self, id: &str) -> io::Result<Option<Report>> {
        Ok(self.report_and_digest(id)?.map(|(report, _)| report))
    }

    /// Reads the report of a run, and the digest of its bytes.
    ///
    /// # Errors
    /// As [`History::report`].
    pub fn report_and_digest(&self, id: &str) -> io::Result<Option<(Report, Digest)>> {
        let Some(bytes) = self.file(id, REPORT)? else {
            return Ok(None);
        };
        let part = merge::read(REPORT, &bytes).map_err(|e| io::Error::other(e.message))?;
        Ok(Some((part.report, Digest::hash(&bytes))))
    }

    /// Reads the plan of a run: the one that was executed last.
    ///
    /// # Errors
    /// The reason why it cannot be read, for people; also that its content does not have its
    /// digest.
    pub fn plan(&self, id: &str) -> io::Result<Option<Plan>> {
        let Some(bytes) = self.file(id, "plan.json")? else {
            return Ok(None);
        };
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| io::Error::other("`plan.json` is not UTF-8"))?;
        let plan = document::from_json(text);
        plan.map(Some)
            .map_err(|e| io::Error::other(format!("`plan.json`: {}", e.message)))
    }

    fn file(&self, id: &str, name: &str) -> io::Result<Option<Vec<u8>>> {
        match open(self.folder(id)?.as_fd(), name).and_then(|file| read_bounded(&file, MAX_FILE)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(io::Error::other(format!("`{name}` {}", cannot(e)))),
        }
    }

    /// Opens a log of a run by its path in the run's folder, as reports and journals give it.
    ///
    /// # Errors
    /// The reason why it cannot be read, to follow the name of the run.
    pub fn log(&self, id: &str, path: &str) -> io::Result<File> {
        let plain = |name: &&str| !name.is_empty() && !name.starts_with('.') && !name.contains('/');
        let Some(name) = path.strip_prefix("logs/").filter(plain) else {
            let why = format!("`{}` is no place of a log", visible(path));
            return Err(io::Error::other(why));
        };
        match enter(self.folder(id)?.as_fd(), "logs") {
            Ok(Some(folder)) => open(folder.as_fd(), name).map_err(cannot),
            Ok(None) => Err(io::Error::other("there is no folder for logs")),
            Err(e) => {
                let why = format!("the folder for logs {}", cannot(e.into()));
                Err(io::Error::other(why))
            }
        }
    }

    /// Returns the last log of a service in a run, if there is one.
    pub fn service_log(&self, id: &str, service: &str) -> Option<Logged> {
        let events = self.events(id).unwrap_or_default();
        let is_plan = |line: &Line| matches!(line.entry, JournalEntry::PlanCompiled { .. });
        let plans = lines(&events).filter(is_plan).count();
        let rounds = 1..=u32::try_from(plans).unwrap_or(u32::MAX);
        let starts = |round| (1..=STARTS).rev().map(move |start| (start, round));
        let log = |(start, round)| Logged {
            attempt: start,
            id: service.to_owned(),
            log: Some(format!("logs/{}", service_log_name(service, start, round))),
        };
        let is_there = |logged: &Logged| {
            let path = logged.log.as_deref();
            path.is_some_and(|path| self.log(id, path).is_ok())
        };
        rounds.rev().flat_map(starts).map(log).find(is_there)
    }

    /// Returns the tries of a run, by its journal. One that has not ended has a log where it would
    /// be; it may not be there yet.
    pub fn tries(&self, id: &str) -> Tries {
        let mut found = Tries::default();
        let mut round = 0;
        for line in lines(&self.events(id).unwrap_or_default()) {
            match line.entry {
                JournalEntry::PlanCompiled { steps, .. } => {
                    round += 1;
                    found.planned.extend(steps.into_iter().map(|s| s.id));
                }
                JournalEntry::StepStarted { attempt, id, .. } => {
                    let log = Some(format!("logs/{}", log_name(&id, attempt, round)));
                    found.tries.push(Logged { attempt, id, log });
                }
                JournalEntry::StepFinished {
                    attempt, id, log, ..
                } => {
                    let mut tries = found.tries.iter_mut().rev();
                    let of = tries.find(|t| t.id == id && t.attempt == attempt);
                    of.into_iter().for_each(|t| t.log.clone_from(&log));
                }
                _ => {}
            }
        }
        found
    }

    /// Counts checks over runs, which come newest first, on all processors.
    pub fn tally(&self, ids: &[String]) -> Tally {
        const FEW: usize = 50;
        let threads = parallel::parts();
        let count = |ids: &[String]| {
            let mut tally = Tally::default();
            for id in ids {
                let past = self.read_run(id);
                // The checks of a run that is being written may still change.
                if !(past.writing && past.run.end == JournalEnd::Interrupted) {
                    tally.add(id, &past.run);
                }
            }
            tally
        };
        if threads == 1 || ids.len() < FEW {
            return count(ids);
        }
        let mut all = Tally::default();
        // In their order: the newest failure is the last one.
        let parts = ids.chunks(ids.len().div_ceil(threads)).collect();
        let parts = parallel::each(parts, count).into_iter();
        parts.for_each(|part| all.merge(part));
        all
    }

    /// Removes the oldest runs beyond these bounds, a few at a time, so that no run waits for it
    /// long. The newest run stays, whatever its size.
    ///
    /// # Errors
    /// Errors of the system; what was removed before stays removed.
    pub fn collect_beyond(&self, keep: Keep) -> Result<Collected, HistoryError> {
        const AT_ONCE: usize = 64;
        const FEW: usize = 16;
        let Some(runs) = &self.runs else {
            return Ok(Collected::default());
        };
        let (ids, gone) = self.ids_and_gone()?;
        // To look into hundreds of folders costs more than a small run.
        let newest = ids.first().map_or("", String::as_str);
        if ids.len() > FEW && !is_one_in_sixteen(newest) {
            self.remove_renamed(&gone)?;
            return self.remove_old(ids, keep.runs.max(1), AT_ONCE, false);
        }
        let (mut bytes, mut stay) = (0_u64, 0);
        for id in ids.iter().take(keep.runs.max(1)) {
            let folder = enter(runs.as_fd(), id).ok().flatten();
            let size = folder.and_then(|folder| clear(folder.as_fd(), true, 0).ok());
            bytes = bytes.saturating_add(size.unwrap_or(0));
            if bytes > keep.bytes && stay > 0 {
                break;
            }
            stay += 1;
        }
        self.remove_renamed(&gone)?;
        self.remove_old(ids, stay, AT_ONCE, false)
    }

    /// Removes all but the newest runs. `dry`: only reports what it would remove. A run that is
    /// being written stays, whatever its age.
    ///
    /// # Errors
    /// Errors of the system; what was removed before stays removed.
    pub fn collect(&self, keep: usize, dry: bool) -> Result<Collected, HistoryError> {
        let (ids, gone) = self.ids_and_gone()?;
        if !dry {
            self.remove_renamed(&gone)?;
        }
        self.remove_old(ids, keep, usize::MAX, dry)
    }

    /// Removes folders that an earlier collection renamed and was killed before it removed them.
    fn remove_renamed(&self, gone: &[String]) -> Result<(), HistoryError> {
        let io = |e: io::Error| HistoryError::Io(self.path.clone(), e);
        let runs = self.runs.iter();
        runs.flat_map(|runs| gone.iter().map(move |name| remove(runs.as_fd(), name)))
            .try_for_each(|removed| removed.map(drop).map_err(io))
    }

    /// Removes at most so many of the oldest runs, and none of the newest ones. `ids`: all of them,
    /// newest first.
    fn remove_old(
        &self,
        ids: Vec<String>,
        keep: usize,
        most: usize,
        dry: bool,
    ) -> Result<Collected, HistoryError> {
        let mut collected = Collected::default();
        let Some(runs) = &self.runs else {
            return Ok(collected);
        };
        let io = |e: io::Error| HistoryError::Io(self.path.clone(), e);
        let old = ids.get(keep..).unwrap_or_default();
        let old = old
            .get(old.len().saturating_sub(most)..)
            .unwrap_or_default();
        // Only one thread at a time takes a run: they share the lock of the folder.
        let waiting = Mutex::new(old.iter().enumerate());
        let lock = || parallel::locked(&waiting);
        let take_and_remove = |()| {
            let mut done = Vec::new();
            loop {
                let mut waiting = lock();
                let Some((place, id)) = waiting.next() else {
                    return done;
                };
                let taken = self.take(runs.as_fd(), id, dry);
                drop(waiting);
                let taken = match taken {
                    Ok(Taken::Renamed(name)) => {
                        remove(runs.as_fd(), &name).map(Taken::Counted).map_err(io)
                    }
                    taken => taken.map_err(|e| HistoryError::Io(self.path.join(id), e)),
                };
                if taken.is_err() {
                    lock().by_ref().for_each(drop);
                }
                done.push((place, id, taken));
            }
        };
        let threads = vec![(); old.len().min(REMOVERS)];
        let done = parallel::each(threads, take_and_remove);
        let mut done: Vec<_> = done.into_iter().flatten().collect();
        done.sort_unstable_by_key(|(place, ..)| *place);
        for (_, id, taken) in done {
            match taken? {
                Taken::Gone | Taken::Renamed(_) => {}
                Taken::Written => {
                    let why = "it is being written".to_owned();
                    collected.kept.push((id.clone(), why));
                }
                Taken::Counted(bytes) => collected.removed.push((id.clone(), bytes)),
            }
        }
        Ok(collected)
    }

    /// Renames a run so that no reader finds it, unless it is being written. A writer that begins a
    /// record shares the lock of the folder until it holds the record's own, so that no such run is
    /// taken for an abandoned one.
    fn take(&self, runs: BorrowedFd<'_>, id: &str, dry: bool) -> io::Result<Taken> {
        let alone = flock(runs, FlockOperation::LockExclusive).is_ok();
        let taken = (|| {
            // Another collection may have removed it first, here and below.
            let Some(folder) = enter(runs, id)? else {
                return Ok(Taken::Gone);
            };
            let written = match open(folder.as_fd(), EVENTS) {
                Ok(events) => match flock(&events, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => false,
                    Err(Errno::WOULDBLOCK) => true,
                    // A file system without locks: only a run with an end is known to be over.
                    Err(_) => {
                        replay(&read_bounded(&events, MAX_FILE)?).end == JournalEnd::Interrupted
                    }
                },
                Err(_) => false,
            };
            if written {
                return Ok(Taken::Written);
            }
            if dry {
                return clear(folder.as_fd(), true, 0).map(Taken::Counted);
            }
            let name = format!("{GONE}{id}");
            renameat(runs, id, runs, &name)?;
            Ok(Taken::Renamed(name))
        })();
        if alone {
            let _ = flock(runs, FlockOperation::Unlock);
        }
        taken
    }
}

enum Taken {
    Gone,
    Written,
    Counted(u64),
    Renamed(String),
}

fn failed(path: &Path, errno: Errno) -> HistoryError {
    match errno {
        Errno::NOTDIR | Errno::LOOP => HistoryError::NotADirectory(path.to_owned()),
        error => HistoryError::Io(path.to_owned(), error.into()),
    }
}

/// Describes why a file cannot be used, to follow its name in a message.
fn cannot(error: io::Error) -> io::Error {
    io::Error::other(match error.kind() {
        io::ErrorKind::NotFound => "is not there".to_owned(),
        io::ErrorKind::FileTooLarge => format!("is larger than {}", show_size(MAX_FILE)),
        io::ErrorKind::InvalidInput => "is no regular file".to_owned(),
        _ => format!("cannot be read: {}", message_of(&error)),
    })
}

/// Opens a folder in a folder; `None` when it is not there.
pub(super) fn enter(
    parent: BorrowedFd<'_>,
    name: impl Arg + Copy,
) -> Result<Option<OwnedFd>, Errno> {
    if_there(retry_eintr::open(
        parent,
        name,
        OFlags::DIRECTORY | OFlags::NOFOLLOW,
    ))
}

/// Opens a regular file that is not a symlink, without blocking on a pipe.
fn open(folder: BorrowedFd<'_>, name: &str) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match retry_eintr::open(folder, name, flags) {
        Ok(fd) => File::from(fd),
        Err(Errno::LOOP) => return Err(io::ErrorKind::InvalidInput.into()),
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// Removes a folder with all that is in it, symlinks as themselves. Returns the bytes of its files.
fn remove(parent: BorrowedFd<'_>, name: &str) -> io::Result<u64> {
    let Some(folder) = enter(parent, name)? else {
        return Ok(0);
    };
    let bytes = clear(folder.as_fd(), false, 0)?;
    if_there(unlinkat(parent, name, AtFlags::REMOVEDIR))?;
    Ok(bytes)
}

/// Treats a file that another process has removed in the meantime as removed.
fn if_there<T>(result: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes all that is in a folder, or only counts its bytes.
fn clear(folder: BorrowedFd<'_>, dry: bool, depth: usize) -> io::Result<u64> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("folders are nested too deep"));
    }
    let mut bytes = 0;
    let entries: Vec<_> = read_dir(folder)?.collect::<Result<_, _>>()?;
    for entry in entries {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Some(stat) = if_there(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW))? else {
            continue;
        };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let Some(inner) = enter(folder, name)? else {
                continue;
            };
            bytes += clear(inner.as_fd(), dry, depth + 1)?;
            if !dry {
                if_there(unlinkat(folder, name, AtFlags::REMOVEDIR))?;
            }
        } else {
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                bytes += u64::try_from(stat.st_size).unwrap_or(0);
            }
            if !dry {
                if_there(unlinkat(folder, name, AtFlags::empty()))?;
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::RunRecord;
    use rustix::fs::{CWD, Mode};
    use std::fs;
    use std::os::unix::fs::symlink;
    use vplan_os::process::program::Root;
    use vplan_run::run_summary::State;

    fn id(n: u32) -> String {
        format!("20260101T000000.{n:03}Z-{n:032x}")
    }

    fn history(dir: &Path) -> History {
        History::open(dir, None).unwrap()
    }

    const BEGIN: &str =
        "{\"runId\":\"r\",\"seq\":0,\"t\":0,\"type\":\"run.started\",\"version\":1}\n";

    #[test]
    fn nothing_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(history(dir.path()).ids().unwrap().is_empty());
        fs::create_dir(dir.path().join(".vplan")).unwrap();
        assert!(history(dir.path()).ids().unwrap().is_empty());
        assert!(
            history(dir.path())
                .collect(0, false)
                .unwrap()
                .removed
                .is_empty()
        );
        let missing = History::open(dir.path(), Some(&dir.path().join("none"))).unwrap_err();
        assert!(matches!(missing, HistoryError::Io(..)), "{missing}");
        fs::remove_dir(dir.path().join(".vplan")).unwrap();
        symlink("/tmp", dir.path().join(".vplan")).unwrap();
        assert!(matches!(
            History::open(dir.path(), None),
            Err(HistoryError::NotADirectory(_))
        ));
    }

    #[test]
    fn foreign_things_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join(".vplan/runs");
        fs::create_dir_all(runs.join(id(1))).unwrap();
        fs::create_dir_all(runs.join("notes")).unwrap();
        fs::create_dir_all(runs.join(format!("{GONE}{}", id(9)))).unwrap();
        fs::write(runs.join(id(2)), "a file").unwrap();
        symlink(id(1), runs.join(id(3))).unwrap();
        let history = history(dir.path());
        assert_eq!(history.ids().unwrap(), [id(1)]);
        for wrong in [id(2), id(3), id(4), "notes".to_owned(), "..".to_owned()] {
            assert!(history.read_run(&wrong).trouble.is_some(), "{wrong}");
        }
        // A folder without a journal is a run that was killed at once.
        let past = history.read_run(&id(1));
        assert_eq!(past.summary().state, State::Interrupted);
        assert_eq!(past.trouble.unwrap(), "its journal is not there");
    }

    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join(".vplan/runs").join(id(1));
        fs::create_dir_all(run.join("logs")).unwrap();
        let secret = dir.path().join("secret");
        fs::write(&secret, BEGIN).unwrap();
        symlink(&secret, run.join(EVENTS)).unwrap();
        symlink(&secret, run.join("logs/a.1.log")).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(CWD, run.join("report.json"), FileType::Fifo, mode, 0).unwrap();
        fs::File::create(run.join("plan.json"))
            .unwrap()
            .set_len(MAX_FILE + 1)
            .unwrap();
        let history = history(dir.path());
        assert_eq!(
            history.read_run(&id(1)).trouble.unwrap(),
            "its journal is no regular file"
        );
        assert_eq!(
            history.report(&id(1)).unwrap_err().to_string(),
            "`report.json` is no regular file"
        );
        assert_eq!(
            history.plan(&id(1)).unwrap_err().to_string(),
            "`plan.json` is larger than 256MiB"
        );
        for wrong in [
            "logs/a.1.log",
            "logs/../plan.json",
            "plan.json",
            "logs/",
            "logs/.hidden",
            "/etc/passwd",
        ] {
            assert!(history.log(&id(1), wrong).is_err(), "{wrong}");
        }
        fs::write(run.join("logs/b.1.log"), "b").unwrap();
        assert!(history.log(&id(1), "logs/b.1.log").is_ok());
    }

    #[test]
    fn who_writes_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let mut record = RunRecord::create(&root, None, None).unwrap();
        record.append(BEGIN).unwrap();
        let history = history(dir.path());
        let id = record.id().to_owned();
        assert_eq!(history.read_run(&id).summary().state, State::Running);
        let collected = history.collect(0, false).unwrap();
        assert_eq!((collected.removed.len(), collected.kept.len()), (0, 1));
        record.append("{\"se").unwrap();
        assert_eq!(
            history.read_run(&id).trouble,
            None,
            "the end of a line may still come"
        );
        drop(record);
        let past = history.read_run(&id);
        assert_eq!(past.summary().state, State::Interrupted);
        assert!(past.trouble.unwrap().contains("4 bytes"));
        assert_eq!(history.collect(0, false).unwrap().removed.len(), 1);
        assert!(history.ids().unwrap().is_empty());
    }

    #[test]
    fn records_have_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join(".vplan/runs");
        for n in 1..=70 {
            fs::create_dir_all(runs.join(id(n))).unwrap();
            fs::write(runs.join(id(n)).join(EVENTS), BEGIN).unwrap();
        }
        let history = history(dir.path());
        let one = BEGIN.len() as u64;
        let beyond = |runs: usize, bytes: u64| {
            let collected = history.collect_beyond(Keep { runs, bytes }).unwrap();
            (collected.removed.len(), history.ids().unwrap().len())
        };
        assert_eq!(beyond(70, one), (0, 70), "not looked at by every run");
        fs::create_dir(runs.join(id(80))).unwrap();
        assert_eq!(beyond(71, 70 * one), (0, 71), "at the bounds");
        assert_eq!(beyond(71, 68 * one), (2, 69), "by bytes, by some runs");
        fs::remove_dir(runs.join(id(80))).unwrap();
        assert_eq!(beyond(1, u64::MAX), (64, 4), "so many at once");
        assert_eq!(history.ids().unwrap()[3], id(67), "the oldest go first");
        assert_eq!(beyond(100, 3 * one + 1), (1, 3), "by bytes");
        assert_eq!(beyond(0, 0), (2, 1), "the newest stays");
    }

    #[test]
    fn more_than_there_are_threads() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join(".vplan/runs");
        let most = 2 * u32::try_from(REMOVERS).unwrap() + 3;
        for n in 1..=most {
            fs::create_dir_all(runs.join(id(n))).unwrap();
            fs::write(runs.join(id(n)).join(EVENTS), "x".repeat(n as usize)).unwrap();
        }
        let history = history(dir.path());
        let collected = history.collect(1, false).unwrap();
        let want: Vec<_> = (1..most).rev().map(|n| (id(n), u64::from(n))).collect();
        assert_eq!(collected.removed, want);
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 1);
        assert_eq!(history.ids().unwrap(), [id(most)]);
    }

    #[test]
    fn what_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join(".vplan/runs");
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        for n in 1..=4 {
            let run = runs.join(id(n));
            fs::create_dir_all(run.join("logs/deeper")).unwrap();
            fs::write(run.join(EVENTS), BEGIN).unwrap();
            fs::write(run.join("logs/deeper/x"), "12345").unwrap();
            symlink(&outside, run.join("logs/link")).unwrap();
            symlink("/etc/passwd", run.join("report.json")).unwrap();
        }
        fs::create_dir_all(runs.join(format!("{GONE}{}", id(9))).join("logs")).unwrap();
        fs::create_dir(runs.join("notes")).unwrap();
        symlink(&outside, runs.join(id(0))).unwrap();
        let history = history(dir.path());
        let bytes = BEGIN.len() as u64 + 5;
        let dry = history.collect(3, true).unwrap();
        assert_eq!(dry.removed, [(id(1), bytes)]);
        assert_eq!(history.ids().unwrap().len(), 4);
        let collected = history.collect(2, false).unwrap();
        assert_eq!(collected.removed, [(id(2), bytes), (id(1), bytes)]);
        assert_eq!(history.ids().unwrap(), [id(4), id(3)]);
        let mut left: Vec<_> = fs::read_dir(&runs)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(
            left,
            [id(0).as_str(), id(3).as_str(), id(4).as_str(), "notes"]
        );
        assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept");
    }
}
