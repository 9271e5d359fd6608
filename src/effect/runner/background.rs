//! Defines what threads tell the driving thread, and runs slow I/O off it: syncs the record and
//! digests the programs that were started. A disk that is slow to sync would otherwise make steps late.

use crate::base::canon::Digest;
use crate::check::evidence::{EarlierPass, Evidence};
use crate::effect::os::process::program::Program;
use crate::effect::runner::file_watch::Looked;
use crate::effect::runner::judge::PreparedQuestion;
use crate::plan::StepIndex;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use tokio::sync::mpsc::UnboundedSender;

/// One background job.
#[derive(Debug, Default)]
pub struct IoJob {
    /// Programs to digest.
    pub programs: Vec<Program>,
    /// The file to sync, and its length by now, in bytes.
    pub record: Option<(Arc<File>, u64)>,
    /// Whether a caller waits for the end of the job; without, only a result with content is sent.
    pub answer: bool,
}

/// The result of one background job.
#[derive(Debug, Default)]
pub struct IoResult {
    /// The digests, by path.
    pub digests: Vec<(PathBuf, Option<Digest>)>,
    /// The length of the record that is synced, in bytes; 0 for none.
    pub synced: u64,
    /// The error of a failed sync. The record may be lost then, whatever a second attempt reports.
    pub fault: Option<io::Error>,
}

impl IoJob {
    fn done(self) -> IoResult {
        let (synced, fault) = match self.record.map(|(file, length)| (file.sync_data(), length)) {
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
        self.record = more.record.or(self.record.take());
        self.answer |= more.answer;
    }
}

/// A message of a worker thread to the driving thread, about a step that runs.
pub(in crate::effect) enum WorkerEvent {
    /// A step that starts no process is over.
    Evaluated(StepIndex, Box<Evidence>),
    /// Its files have been recorded; it can start.
    Looked(StepIndex),
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
pub(in crate::effect) struct BackgroundIo<'s> {
    thread: Option<(Sender<IoJob>, ScopedJoinHandle<'s, ()>)>,
    outbox: UnboundedSender<WorkerEvent>,
}

impl<'s> BackgroundIo<'s> {
    /// Makes one that sends its results to `outbox`.
    pub(in crate::effect) fn new(outbox: UnboundedSender<WorkerEvent>) -> Self {
        Self {
            thread: None,
            outbox,
        }
    }

    /// Runs a job in the background; at once where no thread can be started.
    pub(in crate::effect) fn submit(&mut self, scope: &'s Scope<'s, '_>, work: IoJob) {
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
    pub(in crate::effect) fn finish(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            drop(sender);
            // It does not panic; if it did, the record would be missing what it was to write.
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
