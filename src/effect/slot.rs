//! What does the thread of one step do? It makes tries, one after another, and says what came of them.

use super::clock::Clock;
use super::drive::{Context, Finished};
use super::process::attempt::{Buffer, Tried, Try, attempt};
use super::process::capture::{Live, LogPlace};
use super::process::pool::{Handle, Pool};
use super::process::program::say;
use crate::check::Kind;
use crate::check::evidence::Evidence;
use crate::plan::{Plan, Step};
use rustix::process::Signal;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// What the threads of steps use in common.
pub(super) struct Shared {
    pub pool: Pool,
    pub clock: Clock,
}

/// What other threads tell the one that decides.
pub(super) enum Note {
    Ended { slot: usize, step: usize, attempt: u32, at: u64, evidence: Box<Evidence>, finished: Box<Finished> },
    Frozen,
    Signal(Signal),
}

/// What is given to a step's thread.
pub(super) struct Job {
    pub step: usize,
    pub attempt: u32,
    /// The name of its log.
    pub log: Option<String>,
    pub handle: Arc<Handle>,
    pub live: Arc<Live>,
}

/// A place at which one step after another runs.
pub(super) struct Slot<'e> {
    pub number: usize,
    pub shared: &'e Shared,
    pub plan: &'e Plan,
    pub context: &'e Context<'e>,
    pub outbox: Sender<Note>,
}

impl Slot<'_> {
    /// Works until no more jobs can come.
    pub(super) fn work(&self, jobs: &Receiver<Job>) {
        let mut buffer = Buffer::default();
        while let Ok(job) = jobs.recv() {
            // Whoever decides outlives this thread.
            let _ = self.outbox.send(self.do_job(job, &mut buffer));
        }
    }

    fn do_job(&self, job: Job, buffer: &mut Buffer) -> Note {
        let started = self.shared.clock.elapsed();
        let mut finished = Finished { started_at: millis(started), ..Finished::default() };
        let evidence = match self.plan.steps.get(job.step) {
            Some(step) if step.kind == Kind::File => {
                let evidence = (self.context.evaluate)(step);
                Evidence { duration_ms: millis(self.shared.clock.elapsed().saturating_sub(started)), ..evidence }
            }
            Some(step) => {
                let tried = self.run(step, &job, buffer, &mut finished);
                finished.log = job.log.filter(|_| tried.logged);
                finished.log_error = tried.log_error.map(|e| format!("the log could not be written: {}", say(&e)));
                finished.program = tried.program;
                finished.survivors = tried.survivors;
                tried.evidence
            }
            None => Evidence::default(),
        };
        Note::Ended {
            slot: self.number,
            step: job.step,
            attempt: job.attempt,
            at: self.shared.clock.now(),
            evidence: Box::new(evidence),
            finished: Box::new(finished),
        }
    }

    fn run(&self, step: &Step, job: &Job, buffer: &mut Buffer, finished: &mut Finished) -> Tried {
        let Context { root, environment, logs, max_output, watch, tick, .. } = *self.context;
        let environment = environment.of_step(root, step);
        let look = step.unchanged.as_ref().map(|_| watch(step));
        let what = Try {
            root,
            search: &environment.search,
            dir: &step.dir,
            argv: step.argv.as_deref().unwrap_or_default(),
            env: &environment.variables,
            secrets: &environment.secrets,
            log: logs.zip(job.log.as_deref()).map(|(folder, name)| LogPlace { folder, name }),
            max_output,
            live: tick.map(|_| &*job.live),
        };
        let frozen = || drop(self.outbox.send(Note::Frozen));
        // Looking at files before and after is not the step's time.
        let started = self.shared.clock.elapsed();
        let mut tried = attempt(&self.shared.pool, &what, &job.handle, buffer, &frozen);
        tried.evidence.duration_ms = millis(self.shared.clock.elapsed().saturating_sub(started));
        tried.evidence.mutated = look.and_then(|look| look());
        finished.withheld = environment.withheld;
        tried
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The name of a try's log: the step's id with everything escaped that means something to a file system, so that different
/// steps have different names.
pub(super) fn log_name(id: &str, attempt: u32, round: u32) -> String {
    let mut name = String::new();
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            byte => name.push_str(&format!("%{byte:02x}")),
        }
    }
    if name.len() > 180 {
        let digest = crate::base::canon::Digest::of(id.as_bytes()).hex();
        name = format!("{}%%{}", name.get(..100).unwrap_or_default(), digest.get(..32).unwrap_or_default());
    }
    let again = if round > 1 { format!(".r{round}") } else { String::new() };
    format!("{name}.{attempt}{again}.log")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (a, b) = (log_name(&"ö".repeat(300), 1, 1), log_name(&format!("{}x", "ö".repeat(300)), 1, 1));
        assert!(a.len() < 200 && a != b);
    }
}
