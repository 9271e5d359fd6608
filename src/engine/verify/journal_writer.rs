//! Writes the record of a run and syncs it; a second reader of the events gets them after the
//! record has them.

use crate::{Digest, Plan, Report, Step};
use std::io::{self, Write};
use vplan_base::canon::to_canonical;
use vplan_check::environment::EnvironmentUse;
use vplan_os::process::program::{Program, message_of};
use vplan_run::journal::{FinalStatus, Journal, JournalEntry, PlannedStep};
use vplan_run::recorded_answer::EndedRun;
use vplan_run::report::Decision;
use vplan_run::stop;
use vplan_runner::background::{GroupCommit, IoJob, IoResult};
use vplan_store::records::{REPORT, RunRecord};
use vplan_store::vault::Vault;

/// The record of the run and a second reader of its events.
pub(super) struct JournalWriter<'e> {
    pub record: RunRecord,
    events: Option<Box<dyn Write + 'e>>,
    /// vplan's own record of what it wrote, outside of the repository.
    vault: Option<&'e Vault>,
    journal: Journal,
    /// The digest of the report that was written last.
    report: Option<Digest>,
    /// The first error of writing the record.
    pub fault: Option<String>,
    /// Waits for a sync request since the start of the run, or the end of a step. The next step
    /// starts meanwhile.
    commit: GroupCommit,
    /// Whether a step has started.
    has_started: bool,
    /// The length of the events that are to be synced, and of those that are, in bytes.
    requested_len: u64,
    synced_len: u64,
    /// Lines not yet sent to the second reader, with the length of the events at each: an end that
    /// it has received survives a loss of power.
    pending: Vec<(u64, String)>,
}

impl<'e> JournalWriter<'e> {
    pub fn new(
        record: RunRecord,
        events: Option<Box<dyn Write + 'e>>,
        vault: Option<&'e Vault>,
    ) -> Self {
        let journal = Journal::default();
        Self {
            record,
            events,
            vault,
            journal,
            report: None,
            fault: None,
            commit: GroupCommit::default(),
            has_started: false,
            requested_len: 0,
            synced_len: 0,
            pending: Vec::new(),
        }
    }

    /// Writes the first lines. If the run has a follower, they are synced at once, and the follower
    /// is notified; otherwise they are synced later.
    pub fn begin(&mut self, plan: &Plan, environment: &EnvironmentUse) -> io::Result<()> {
        let started_at = Some(vplan_store::records::wall_clock());
        let environment = Some(environment.clone()).filter(|e| *e != EnvironmentUse::default());
        self.commit.wrote(0);
        let started = JournalEntry::RunStarted {
            environment,
            run_id: self.record.id().to_owned(),
            started_at,
            version: 1,
        };
        self.write(0, started);
        self.plan(0, plan);
        if self.events.is_some() {
            let synced = self.record.sync();
            self.commit = GroupCommit::default();
            self.flush();
            self.note(synced);
        }
        self.fault
            .take()
            .map_or(Ok(()), |message| Err(io::Error::other(message)))
    }

    /// Writes the plan that is about to be executed.
    pub fn plan(&mut self, at: u64, plan: &Plan) {
        self.commit.wrote(at);
        let step = |s: &Step| PlannedStep {
            command: s.command.clone(),
            id: s.id.clone(),
        };
        let steps = plan.steps.iter().map(step).collect();
        let changed_files_count = u64::try_from(plan.request.changed.len()).ok();
        let compiled = JournalEntry::PlanCompiled {
            changed_files_count,
            digest: plan.digest.clone(),
            steps,
        };
        self.write(at, compiled);
        // The line contains its own digest, so that damage is detected.
        let text = to_canonical(plan);
        let written = self.record.write_later("plan.json", text.as_bytes());
        self.note(written);
    }

    /// Writes a line. `false` when that fails; it is not sent to the second reader then.
    pub fn write(&mut self, at: u64, entry: JournalEntry) -> bool {
        self.has_started |= matches!(entry, JournalEntry::StepStarted { .. });
        let line = self.journal.line(at, entry);
        let written = self.record.append(&line);
        let length = self.record.length();
        if self.events.is_some() && self.pending.last().map_or(0, |(last, _)| *last) < length {
            self.pending.push((length, line));
        }
        self.send_synced();
        self.note(written)
    }

    /// Writes a line about the end of a step, which is to be synced.
    pub fn write_end_of_step(&mut self, at: u64, entry: JournalEntry) -> bool {
        self.commit.wrote(at);
        self.write(at, entry)
    }

    /// Returns the time at which the record is to be synced.
    pub fn sync_due(&self) -> Option<u64> {
        self.commit.due()
    }

    /// Makes the background job: to sync the record if it is time, and to digest the programs that
    /// steps have started.
    pub fn work(&mut self, at: u64, programs: Vec<Program>) -> Option<IoJob> {
        let syncs = self.commit.take(at, self.events.is_some());
        if !syncs && programs.is_empty() {
            return None;
        }
        let record = syncs.then(|| {
            self.requested_len = self.record.length();
            (self.record.unsynced(), self.requested_len)
        });
        Some(IoJob {
            programs,
            record,
            answer: self.events.is_some(),
        })
    }

    /// Syncs the record now, unless it is: the run is about to be suspended, it is unknown for how
    /// long.
    pub fn suspend(&mut self) {
        if self.commit.take(0, true) {
            let synced = self.record.sync();
            self.note(synced);
        }
    }

    /// Takes the result of a background job.
    pub fn done(&mut self, done: &mut IoResult) -> bool {
        let fault = done.fault.take();
        if fault.is_some() {
            self.record.release();
        }
        self.synced_len = self.synced_len.max(done.synced);
        self.send_synced();
        self.note(fault.map_or(Ok(()), Err))
    }

    /// Writes the last lines. A pass that cannot be recorded does not count: the report and the
    /// exit code show that, and the report of a pass is removed. The record of any other run is
    /// kept as far as possible; without its end it counts as interrupted.
    pub fn end(mut self, report: &mut Report) {
        // The space was reserved for this, so a report that fits does not fail.
        self.record.release();
        if report.is_good() {
            let before = self.journal.clone();
            if let Err(error) = self.close(report) {
                self.journal = before;
                let _ = self.record.remove(REPORT);
                report.unrecorded(&message_of(&error));
            }
        }
        if !report.is_good() {
            // Each file by itself, so that as many as possible are written.
            let _ = self.write_files(report);
            let _ = self.write_end(report, RunRecord::append);
            let _ = self.record.sync();
        }
        self.remember(report);
        self.flush();
    }

    /// Remembers the run only after its record is complete, so that no run is trusted before its
    /// record exists. If that fails, the record is not trusted later, and its readers report that.
    fn remember(&self, report: &Report) {
        let Some(vault) = self.vault else { return };
        let ended = EndedRun {
            coverage: report.coverage,
            exit_code: report.exit_code,
            plan_digest: report.plan_digest.clone(),
            report: self.report.clone(),
            run_id: self.record.id().to_owned(),
            tree: report.tree.clone(),
            verdict: report.verdict,
            version: 1,
        };
        if let Err(error) = vault.put(&ended) {
            tracing::debug!(%error, "the run is not remembered");
        }
    }

    fn close(&mut self, report: &Report) -> io::Result<()> {
        self.write_files(report)?;
        self.write_end(report, RunRecord::end)
    }

    fn write_files(&mut self, report: &Report) -> io::Result<()> {
        if matches!(report.decision, Decision::Fail | Decision::Escalate) {
            let memo = stop::stop_memo(report);
            let _ = self.record.write(stop::FILE, memo.as_bytes());
        }
        let text = to_canonical(report);
        if self.has_started || self.events.is_some() || !report.is_good() {
            self.record.write(REPORT, text.as_bytes())?;
        } else {
            // Everything that was done is on record elsewhere, and no follower waits for the end to
            // read the report: the end among the events is enough.
            self.record.write_later(REPORT, text.as_bytes())?;
        }
        self.report = Some(Digest::hash(text.as_bytes()));
        Ok(())
    }

    fn write_end(
        &mut self,
        report: &Report,
        add: fn(&mut RunRecord, &str) -> io::Result<()>,
    ) -> io::Result<()> {
        let line = self.journal.line(report.duration_ms, last(report));
        add(&mut self.record, &line)?;
        self.pending.push((self.record.length(), line));
        Ok(())
    }

    /// Keeps the first error.
    fn note(&mut self, result: io::Result<()>) -> bool {
        match result {
            Ok(()) => true,
            Err(error) => {
                self.fault.get_or_insert_with(|| message_of(&error));
                false
            }
        }
    }

    /// Sends the second reader the lines that are synced; all lines when no sync is outstanding.
    fn send_synced(&mut self) {
        if !self.commit.is_open() && self.synced_len >= self.requested_len {
            return self.flush();
        }
        let pending = self.pending.iter().map(|(length, _)| *length);
        let known = pending.take_while(|length| *length <= self.synced_len);
        let known = known.count();
        let lines: String = self.pending.drain(..known).map(|(_, line)| line).collect();
        self.pass_on(&lines);
    }

    fn flush(&mut self) {
        let lines: String = self.pending.drain(..).map(|(_, line)| line).collect();
        self.pass_on(&lines);
    }

    /// Writes to the second reader. If it is gone, the run still does not fail.
    fn pass_on(&mut self, lines: &str) {
        if !lines.is_empty()
            && let Some(events) = &mut self.events
            && let written = events.write_all(lines.as_bytes())
            && written.and_then(|()| events.flush()).is_err()
        {
            self.events = None;
        }
    }
}

fn last(report: &Report) -> JournalEntry {
    let steps = report.steps.iter().map(|s| FinalStatus {
        id: s.id.clone(),
        reason: s.reason,
        status: s.status,
    });
    JournalEntry::RunFinished {
        attempt: Some(report.attempt),
        coverage: report.coverage,
        decision: Some(report.decision),
        exit_code: report.exit_code,
        retries_remaining: Some(report.retries_remaining),
        steps: steps.collect(),
        verdict: report.verdict,
    }
}
