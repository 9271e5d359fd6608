//! What is written while a run goes on, and what can be read from it afterwards, however it ended? (engine.md section 9)
//!
//! A journal is one JSON object a line. A reader takes the longest valid prefix; a run whose end is not in it was
//! interrupted, whatever else it says.

use super::event::Interrupt;
use super::record::ProgramRecord;
use super::report::EnvironmentUse;
use super::verdict::Verdict;
use crate::base::canon::Digest;
use crate::base::word::Word;
use crate::check::outcome::{Cause, Status};
use crate::plan::{Coverage, Rewrite};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its number, from 0, without gaps.
    pub seq: u64,
    /// When, in milliseconds since the run's start.
    pub t: u64,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Entry {
    /// Always the first line.
    #[serde(rename = "run.started")]
    RunStarted {
        /// What the operator lets through to steps (`--grant-env`, `--inherit-env`), if anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        environment: Option<EnvironmentUse>,
        /// The run.
        run_id: String,
        /// When, by the wall clock: RFC 3339, UTC. For people; nothing depends on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<String>,
        /// The version of this shape: 1.
        version: u32,
    },
    /// A plan is about to be executed: the first one, or a rewritten one.
    #[serde(rename = "plan.compiled")]
    PlanCompiled {
        /// Which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
        /// Its steps, in order.
        steps: Vec<PlannedStep>,
    },
    /// A try has been started.
    #[serde(rename = "step.started")]
    StepStarted {
        /// Which try, from 1.
        attempt: u32,
        /// The step.
        id: String,
        /// The effective time limit in milliseconds.
        limit_ms: u64,
    },
    /// A try has ended. What it means for the run is said at the run's end.
    #[serde(rename = "step.finished")]
    StepFinished {
        /// Which try, from 1; 0 for a step that never began.
        attempt: u32,
        /// The run whose pass stands for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached_from: Option<String>,
        /// What decided, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// Its exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The step.
        id: String,
        /// How many processes it left behind.
        #[serde(default)]
        leaked: u32,
        /// Its log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<String>,
        /// The file that was started: the path of a [`Entry::ProgramResolved`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<Word>,
        /// What decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Cause>,
        /// The signal that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<String>,
        /// What it came to.
        status: Status,
    },
    /// What a file is that steps start. Once for each file, after the end of the first step that did.
    #[serde(rename = "program.resolved")]
    ProgramResolved {
        /// The file.
        program: ProgramRecord,
    },
    /// Recovery has rewritten the plan; a `plan.compiled` follows.
    #[serde(rename = "plan.rewritten")]
    PlanRewritten {
        /// What was done.
        rewrite: Box<Rewrite>,
    },
    /// A signal came.
    #[serde(rename = "run.interrupted")]
    RunInterrupted {
        /// Which.
        signal: Interrupt,
    },
    /// Always the last line; with it the run is complete.
    #[serde(rename = "run.finished")]
    RunFinished {
        /// How much was verified.
        coverage: Coverage,
        /// The exit code.
        exit_code: u8,
        /// The final status of each step, in plan order.
        steps: Vec<FinalStatus>,
        /// The verdict.
        verdict: Verdict,
    },
}

/// A step as a journal names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// Its command.
    pub command: String,
    /// Its id.
    pub id: String,
}

/// A step's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalStatus {
    /// Its id.
    pub id: String,
    /// What decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cause>,
    /// Its status.
    pub status: Status,
}

/// Writes lines: numbers them and keeps their times from going back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    next: u64,
    last_t: u64,
}

impl Journal {
    /// One line with its final newline.
    pub fn line(&mut self, t: u64, entry: Entry) -> String {
        self.last_t = self.last_t.max(t);
        let line = Line { seq: self.next, t: self.last_t, entry };
        self.next += 1;
        // Strings, integers and string keys only: this cannot fail.
        serde_json::to_string(&line).unwrap_or_default() + "\n"
    }
}

/// What a journal says about its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayedRun {
    /// How many bytes of the journal are valid; what follows is torn or foreign.
    pub bytes: usize,
    /// The plan that was executed last.
    pub plan_digest: Option<Digest>,
    /// Recovery's rewrites, in order.
    pub rewrites: Vec<Rewrite>,
    /// The run; empty when not even the first line is whole.
    pub run_id: String,
    /// When it began, by the wall clock.
    pub started_at: Option<String>,
    /// The steps of the last plan, in order.
    pub steps: Vec<ReplayedStep>,
    /// The time of the last valid line, in milliseconds since the run's start.
    pub t: u64,
    /// How the run ended.
    pub end: End,
}

/// How a run ended, by its journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Its end is not in the journal: it was killed, or is still going on. Never a pass.
    #[default]
    Interrupted,
    /// It came to its end.
    Finished {
        /// How much was verified.
        coverage: Coverage,
        /// The exit code.
        exit_code: u8,
        /// The verdict.
        verdict: Verdict,
    },
}

/// A step, by its run's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedStep {
    /// Its command.
    pub command: String,
    /// Its id.
    pub id: String,
    /// Where it stood when the journal ends.
    pub stands: Stands,
    /// How many of its tries have ended.
    pub tries: u32,
}

/// Where a step stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// It had not begun.
    Waiting,
    /// It was running.
    Running,
    /// A try had ended so; in a run that came to its end, the step's final status.
    Ended(Status, Option<Cause>),
}

impl ReplayedRun {
    /// Whether the run is known to have passed.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        matches!(self.end, End::Finished { verdict, .. } if verdict.is_pass())
    }
}

/// Reads a journal: the longest prefix of whole lines in which the numbers have no gap, time does not go back, the first
/// line begins the run, and nothing follows its end. Total: any bytes give an answer.
#[must_use]
pub fn replay(bytes: &[u8]) -> ReplayedRun {
    let mut run = ReplayedRun::default();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    for (expected, raw) in (0_u64..).zip(bytes.split_inclusive(|b| *b == b'\n')) {
        let Some(text) = raw.strip_suffix(b"\n") else { break };
        let Ok(Line { seq, t, entry }) = serde_json::from_slice(text) else { break };
        let begins = matches!(entry, Entry::RunStarted { .. });
        if seq != expected || t < run.t || begins != (seq == 0) || run.end != End::Interrupted {
            break;
        }
        run.t = t;
        run.bytes += raw.len();
        apply(&mut run, &mut index, entry);
    }
    run
}

fn apply(run: &mut ReplayedRun, index: &mut BTreeMap<String, usize>, entry: Entry) {
    let set = |steps: &mut Vec<ReplayedStep>, id: &str, stands, ended: u32| {
        if let Some(step) = index.get(id).and_then(|i| steps.get_mut(*i)) {
            step.stands = stands;
            step.tries = step.tries.saturating_add(ended);
        }
    };
    match entry {
        Entry::RunStarted { run_id, started_at, .. } => {
            run.run_id = run_id;
            run.started_at = started_at;
        }
        Entry::PlanCompiled { digest, steps } => {
            run.plan_digest = digest;
            let mut known: BTreeMap<String, ReplayedStep> =
                std::mem::take(&mut run.steps).into_iter().map(|s| (s.id.clone(), s)).collect();
            index.clear();
            for (i, PlannedStep { command, id }) in steps.into_iter().enumerate() {
                index.insert(id.clone(), i);
                let fresh = ReplayedStep { command, id, stands: Stands::Waiting, tries: 0 };
                let old = known.remove(&fresh.id).filter(|old| old.command == fresh.command);
                run.steps.push(old.unwrap_or(fresh));
            }
        }
        Entry::StepStarted { id, .. } => set(&mut run.steps, &id, Stands::Running, 0),
        Entry::StepFinished { id, status, reason, attempt, .. } => {
            set(&mut run.steps, &id, Stands::Ended(status, reason), attempt.min(1));
        }
        Entry::PlanRewritten { rewrite } => run.rewrites.push(*rewrite),
        Entry::ProgramResolved { .. } | Entry::RunInterrupted { .. } => {}
        Entry::RunFinished { coverage, exit_code, steps, verdict } => {
            for FinalStatus { id, status, reason } in steps {
                set(&mut run.steps, &id, Stands::Ended(status, reason), 0);
            }
            run.end = End::Finished { coverage, exit_code, verdict };
        }
    }
}
