//! Waits for signals, threads and running steps, and reads their messages and output.

use super::{Drive, Driver, ExecutorEvent, execution, stopped_before};
use crate::background::WorkerEvent;
use crate::step::{StepExecution, StepIo};
use rustix::event::{Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::Signal;
use std::time::Duration;
use vplan_check::evidence::Evidence;
use vplan_os::process::attempt::AttemptProgress;
use vplan_run::event::Event;

enum Wakeup {
    Signal(Signal),
    WorkerEvent(WorkerEvent),
    Ring,
}

impl Drive<'_, '_, '_> {
    /// Waits until something happens, and reads it.
    pub(super) async fn turn(&mut self, timeout: Option<Duration>) {
        let Driver {
            signals,
            notes,
            doorbell,
            ..
        } = &mut *self.driver;
        let something = async {
            // Signals first, so that a request to stop is handled however much output the steps
            // have.
            tokio::select! {
                biased;
                signal = signals.next() => Wakeup::Signal(signal),
                Some(note) = notes.recv() => Wakeup::WorkerEvent(note),
                () = doorbell.ring() => Wakeup::Ring,
            }
        };
        let came = match timeout {
            Some(timeout) => tokio::time::timeout(timeout, something).await.ok(),
            None => Some(something.await),
        };
        match came {
            Some(Wakeup::Signal(signal)) => self.news.push_back(ExecutorEvent::Signal(signal)),
            Some(Wakeup::WorkerEvent(note)) => self.note(note),
            Some(Wakeup::Ring) => {
                self.listen();
                // Constant output never pauses by itself, and signals are only noticed in between.
                if self.news.is_empty() {
                    tokio::task::yield_now().await;
                }
            }
            None => {}
        }
    }

    /// Reads the output of the running steps.
    pub(super) fn listen(&mut self) {
        let mut fds = Vec::new();
        self.busy
            .values()
            .filter_map(StepExecution::running)
            .for_each(|attempt| attempt.watch(&mut fds));
        self.services.watch(&mut fds);
        // It does not wait. A signal may not hide the death of a service from the end of a step.
        let now = Timespec::default();
        if retry_on_intr(|| poll(&mut fds, Some(&now))).is_err() {
            // The doorbell still rings.
            return;
        }
        let ready: Vec<bool> = fds.iter().map(|f| !f.revents().is_empty()).collect();
        drop(fds);
        if !ready.contains(&true) {
            return self.driver.doorbell.mute();
        }
        let now = self.driver.clock.elapsed();
        let at = self.driver.clock.now();
        let mut io = StepIo {
            pool: &self.driver.pool,
            buffer: &mut self.driver.buffer,
            now,
        };
        let (flags, _) = ready.as_chunks::<3>();
        // In the order in which they were added above.
        let running = self
            .busy
            .iter_mut()
            .filter(|(_, busy)| busy.running().is_some());
        for ((step, busy), flags) in running.zip(flags) {
            let (heard, tried) = busy.ready(self.context, *flags, &mut io);
            if heard != AttemptProgress::Nothing {
                self.awaited = self.awaited.saturating_sub(1);
            }
            let step = *step;
            self.news
                .extend(tried.map(|tried| ExecutorEvent::ended(step, at, tried)));
        }
        let own = flags.len() - self.services.running().count();
        let Driver {
            pool,
            buffer,
            doorbell,
            round,
            ..
        } = &mut *self.driver;
        let (answers, dead) = self.services.ready(
            flags.get(own..).unwrap_or_default(),
            self.context,
            (pool, buffer, doorbell, *round),
        );
        self.awaited = self.awaited.saturating_sub(answers);
        // Without the service, their results would mean nothing.
        for (step, busy) in &mut self.busy {
            let wants = |name: &&str| self.plan.step(*step).with.iter().any(|s| s.name == **name);
            if dead.iter().any(wants) {
                busy.terminate(false);
            }
        }
    }

    /// Takes a thread's message to the step that it is about.
    pub(super) fn note(&mut self, note: WorkerEvent) {
        let at = self.driver.clock.now();
        let (step, tried) = match note {
            WorkerEvent::IoFinished(done) => {
                return self.news.push_back(ExecutorEvent::IoFinished(done));
            }
            WorkerEvent::Evaluated(step, evidence) => {
                let busy = execution(&mut self.busy, step);
                let duration_ms = at.saturating_sub(busy.since);
                let evaluated = busy.finish_with(|seen| {
                    *seen = Evidence {
                        duration_ms,
                        ..*evidence
                    }
                });
                (step, Some(evaluated))
            }
            WorkerEvent::Recalled(step, earlier) => {
                let recalled = execution(&mut self.busy, step).finish_with(|seen| {
                    *seen = Evidence {
                        earlier: Some(earlier),
                        ..Evidence::default()
                    }
                });
                (step, Some(recalled))
            }
            WorkerEvent::Looked(step) if !self.announce(step) => (step, Some(stopped_before())),
            WorkerEvent::Looked(step) if execution(&mut self.busy, step).sets_out() => (step, None),
            WorkerEvent::BeganElsewhere(step) => {
                let busy = execution(&mut self.busy, step);
                let attempt = busy.attempt;
                let at = self.now();
                self.event(Event::Began { step, attempt, at }, None);
                (step, None)
            }
            WorkerEvent::CameBack(step, came) => {
                let tried = execution(&mut self.busy, step).come_back(*came);
                (step, Some(tried))
            }
            WorkerEvent::Looked(step) => {
                let refused = self.advance(step, |busy, context, io| busy.start(context, io, None));
                let attempt = execution(&mut self.busy, step).attempt;
                let at = self.now();
                self.event(Event::Began { step, attempt, at }, None);
                (step, refused)
            }
            WorkerEvent::Asked(step, asked) => {
                let over = self.advance(step, |busy, context, io| busy.ask(asked, context, io));
                (step, over)
            }
            WorkerEvent::LookedAgain(step, looked) => {
                let busy = execution(&mut self.busy, step);
                (step, Some(busy.finish_with(|seen| looked.add_to(seen))))
            }
        };
        self.news
            .extend(tried.map(|tried| ExecutorEvent::ended(step, at, tried)));
    }
}
