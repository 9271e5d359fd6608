//! Defines the messages of threads to the driving thread, and runs slow I/O outside of it: syncs
//! the record, and digests the programs that were started. Otherwise a slow disk would delay steps.

use crate::file_watch::Looked;
use crate::judge::PreparedQuestion;
use crate::remote::CameBack;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use tokio::sync::mpsc::UnboundedSender;
use vplan_base::canon::Digest;
use vplan_check::evidence::{EarlierPass, Evidence};
use vplan_os::process::program::Program;
use vplan_plan::StepIndex;
use vplan_store::records::UnsyncedRecord;

/// One background job.
#[derive(Debug, Default)]
pub struct IoJob {
    /// Programs to digest.
    pub programs: Vec<Program>,
    /// The record to sync, and the length of its events by now, in bytes.
    pub record: Option<(UnsyncedRecord, u64)>,
    /// Whether a caller waits for the end of the job; without, only a result with content is sent.
    pub answer: bool,
}

/// Decides when a record without a follower is synced: a second after the first unsynced end. One
/// sync covers all ends until then. So a loss of power costs at most a second of a run, and a run
/// of a thousand steps does not wait for the disk a thousand times.
#[derive(Debug, Default)]
pub struct GroupCommit {
    /// The time of the first end that is not synced.
    since: Option<u64>,
}

impl GroupCommit {
    /// The time that an end may wait, in milliseconds.
    const DELAY_MS: u64 = 1000;

    /// Notes that unsynced data was written.
    pub fn wrote(&mut self, at: u64) {
        self.since.get_or_insert(at);
    }

    /// Whether something is to be synced.
    pub fn is_open(&self) -> bool {
        self.since.is_some()
    }

    /// Returns the time of the next sync.
    pub fn due(&self) -> Option<u64> {
        self.since.map(|since| since.saturating_add(Self::DELAY_MS))
    }

    /// Whether the sync is to be made now; it counts as made then. `followed`: whether a reader
    /// waits for it.
    pub fn take(&mut self, at: u64, followed: bool) -> bool {
        let takes = self.due().is_some_and(|due| followed || due <= at);
        self.since.take_if(|_| takes);
        takes
    }
}

/// The result of one background job.
#[derive(Debug, Default)]
pub struct IoResult {
    /// The digests, by path.
    pub digests: Vec<(PathBuf, Option<Digest>)>,
    /// The synced length of the record, in bytes; 0 for none.
    pub synced: u64,
    /// The error of a failed sync. The record may be lost then, even if a second attempt succeeds.
    pub fault: Option<io::Error>,
}

impl IoJob {
    fn done(self) -> IoResult {
        let (synced, fault) = match self.record.map(|(record, length)| (record.sync(), length)) {
            Some((Ok(()), length)) => (length, None),
            Some((Err(error), _)) => (0, Some(error)),
            None => (0, None),
        };
        let digests = self
            .programs
            .into_iter()
            .map(|p| (p.path.clone(), p.digest()))
            .collect();
        IoResult {
            digests,
            synced,
            fault,
        }
    }

    fn add(&mut self, more: Self) {
        self.programs.extend(more.programs);
        self.record = match (self.record.take(), more.record) {
            (Some((mut record, _)), Some((later, length))) => {
                record.add(later);
                Some((record, length))
            }
            (earlier, later) => later.or(earlier),
        };
        self.answer |= more.answer;
    }
}

/// A message of a worker thread to the driving thread, about a step that runs.
pub(crate) enum WorkerEvent {
    /// A step that starts no process is over.
    Evaluated(StepIndex, Box<Evidence>),
    /// Its files have been recorded; it can start.
    Looked(StepIndex),
    /// It has begun elsewhere.
    BeganElsewhere(StepIndex),
    /// The result of a remote try.
    CameBack(StepIndex, Box<CameBack>),
    /// An earlier pass replaces it.
    Recalled(StepIndex, Box<EarlierPass>),
    /// The question of a `judge` check is made.
    Asked(StepIndex, PreparedQuestion),
    /// Its files have been compared.
    LookedAgain(StepIndex, Box<Looked>),
    /// A background job is done.
    IoFinished(IoResult),
}

/// The thread for the jobs, started with the first one. Jobs that arrive while it is busy are
/// merged.
#[derive(Debug)]
pub(crate) struct BackgroundIo<'s> {
    thread: Option<(Sender<IoJob>, ScopedJoinHandle<'s, ()>)>,
    outbox: UnboundedSender<WorkerEvent>,
}

impl<'s> BackgroundIo<'s> {
    /// Makes one that sends its results to `outbox`.
    pub fn new(outbox: UnboundedSender<WorkerEvent>) -> Self {
        Self {
            thread: None,
            outbox,
        }
    }

    /// Runs a job in the background; at once if no thread can be started.
    pub fn submit(&mut self, scope: &'s Scope<'s, '_>, work: IoJob) {
        if self.thread.is_none() {
            let (sender, receiver) = channel();
            let outbox = self.outbox.clone();
            let thread = Builder::new().name("background-io".to_owned());
            let thread = thread.spawn_scoped(scope, move || serve(&receiver, &outbox));
            self.thread = thread.ok().map(|thread| (sender, thread));
        }
        match &self.thread {
            // It lives as long as its sender.
            Some((sender, _)) => drop(sender.send(work)),
            None => serve_one(work, &self.outbox),
        }
    }

    /// Waits until all jobs are done.
    pub fn finish(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            drop(sender);
            // It does not panic; if it did, its part of the record would be missing.
            let _ = thread.join();
        }
    }
}

fn serve(receiver: &Receiver<IoJob>, outbox: &UnboundedSender<WorkerEvent>) {
    while let Ok(mut work) = receiver.recv() {
        while let Ok(more) = receiver.try_recv() {
            work.add(more);
        }
        serve_one(work, outbox);
    }
}

fn serve_one(work: IoJob, outbox: &UnboundedSender<WorkerEvent>) {
    let answer = work.answer;
    let done = work.done();
    if answer || done.fault.is_some() || !done.digests.is_empty() {
        // The driving thread outlives this one.
        let _ = outbox.send(WorkerEvent::IoFinished(done));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sync_makes_sure_of_a_second() {
        let mut commit = GroupCommit::default();
        assert!(!commit.take(5000, true) && commit.due().is_none());
        commit.wrote(300);
        commit.wrote(900);
        assert_eq!(commit.due(), Some(1300), "since the first one");
        assert!(!commit.take(1299, false) && commit.is_open());
        assert!(commit.take(1300, false) && !commit.is_open());
        assert!(!commit.take(9000, false), "nothing was written since");
        commit.wrote(9000);
        assert!(commit.take(9000, true), "whoever follows waits for it");
    }

    #[test]
    fn jobs_that_are_merged_sync_all_of_both() {
        let dir = tempfile::tempdir().unwrap();
        let root = vplan_os::process::program::Root::open(dir.path()).unwrap();
        let mut record = vplan_store::records::RunRecord::create(&root, None, None).unwrap();
        record.write_later("plan.json", b"1").unwrap();
        let mut job = IoJob {
            record: Some((record.unsynced(), 10)),
            ..IoJob::default()
        };
        job.add(IoJob {
            answer: true,
            ..IoJob::default()
        });
        record.write_later("report.json", b"2").unwrap();
        job.add(IoJob {
            record: Some((record.unsynced(), 20)),
            ..IoJob::default()
        });
        let (unsynced, length) = job.record.as_ref().unwrap();
        assert_eq!((unsynced.files(), *length, job.answer), (2, 20, true));
        assert_eq!(record.unsynced().files(), 0, "they are handed over once");
        assert_eq!(job.done().synced, 20);
    }
}
