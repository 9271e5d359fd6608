//! The runner's state machine: which transitions are legal, and what they cause (src/engine.md
//! section 7).
//!
//! INVARIANT (interleaving): the report is a function of the plan and of what the steps did,
//! durations included; the order in which simultaneous events arrive has no influence. It rests on
//! four decisions:
//!
//! 1. *Choices are made when a moment is over.* While anything runs, a place that became free is
//!    given away after all events of this moment: when the caller reports so
//!    ([`Event::InstantComplete`]), or by the first event of a later millisecond (one is
//!    requested). When nothing runs, nothing else can end, and the choice is made at once.
//! 2. *A limit is passed when more than it has gone by.* What ends exactly at its limit is within
//!    it, whichever of the two events comes first; what took longer is out of time, however late
//!    that was noticed.
//! 3. *What ended at the moment of an interrupt had ended.* What ended later, or never began, is
//!    cancelled.
//! 4. *Statuses are settled at the end, in plan order* (`settle`): what a step did counts only if
//!    nothing before it says otherwise.
//!
//! Events arrive in the order of their times; those of one millisecond, up to
//! [`Event::InstantComplete`], in any order.

use super::event::{Action, Event, Interrupt};
use super::record::StepRecord;
use super::remote::{Elsewhere, MOST_UNANSWERED, OVERTIME_MS, as_here};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vplan_base::index::{Dense, Index as _, bug};
use vplan_base::jobs::Jobs;
use vplan_base::word::framed;
use vplan_check::baseline::{self, KnownFindings};
use vplan_check::decide::judge;
use vplan_check::outcome::{Cause, GRACE_MS, Outcome, Output, Status, Terms};
use vplan_check::{Kind, Severity};
use vplan_plan::parallel::{ParallelPairs, kept_apart};
use vplan_plan::{Plan, Step, StepIndex, predecessors};

/// Minimum grace period, in milliseconds.
pub(crate) const LEAST_GRACE_MS: u64 = 1_000;
/// The time after the end of the budget in which `always` steps may still run, all together, in
/// milliseconds.
pub const CLEAN_UP_MS: u64 = 10_000;

/// A run in progress.
#[derive(Clone, Debug)]
pub struct RunState {
    pub(super) plan: Arc<Plan>,
    pub(super) tracks: Dense<StepIndex, Track>,
    /// Steps that run or are about to be tried again: each occupies one of the places.
    busy: BTreeSet<StepIndex>,
    /// Steps that ended since the last call of [`RunState::drain_finished`].
    over: Vec<StepIndex>,
    /// The number of steps at the front of the plan that are over.
    front: usize,
    /// The first blocking failure in plan order so far.
    pub(super) first_failure: Option<StepIndex>,
    pub(super) cancel: Option<(u64, Interrupt)>,
    pub(super) urgent: Option<u64>,
    pub(super) storage: Option<(u64, String)>,
    /// Whether something changed in this moment that is decided when it is over.
    undecided: bool,
    pub(super) now: u64,
    done: bool,
    /// Whether there is a judge for the questions of `judge` checks.
    judge: bool,
    /// The findings that are known.
    known: Option<Arc<KnownFindings>>,
    /// Maximum number of parallel steps.
    most: usize,
    /// The steps that may run in parallel, if not all ready ones may.
    beside: Option<ParallelPairs>,
    /// The steps that are executed elsewhere, if any may be.
    elsewhere: Option<Elsewhere>,
}

/// The end of a run, without its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateEnding {
    /// Whether the budget ended a step, or left no time for one.
    pub budget_used: bool,
    /// The signal that ended the run. A signal after the last step ended nothing.
    pub cancelled: Option<Interrupt>,
    /// The duration of the run, in milliseconds.
    pub duration_ms: u64,
    /// The reason why the record could not be written, if that ended the run.
    pub storage: Option<String>,
}

/// The state of one step.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    /// The steps that must be over before it, and those that must have passed, ascending.
    pub(super) after: Vec<StepIndex>,
    pub(super) needs: Vec<StepIndex>,
    pub(super) phase: Phase,
    /// The result of the last try that counts.
    pub(super) last: Option<StepRecord>,
    /// The reason why there was no further try although one was left.
    pub(super) denied: Option<Cause>,
    /// Whether an interrupt stopped a try of it.
    pub(super) was_interrupted: bool,
    /// The time at which its last process ended, whether that try counts or not.
    pub(super) ended_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Waiting,
    Running(Running),
    /// Failed, and is tried again when this millisecond is over.
    Retrying,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Running {
    attempt: u32,
    started: u64,
    limit_ms: u64,
    /// The time beyond the limit that its end may take to become known, in milliseconds.
    overtime_ms: u64,
    by_budget: bool,
    stop: Stop,
}

impl Running {
    /// Returns the last moment at which it is within its limit.
    fn ends_at(&self) -> u64 {
        let limit = self.limit_ms.saturating_add(self.overtime_ms);
        self.started.saturating_add(limit)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    No,
    Asked { kill_after: u64, timed_out: bool },
    Forced,
}

/// The initial state of a run, without its plan.
#[derive(Clone, Debug, Default)]
pub struct StateBeginning {
    /// By step id, the evidence that still counts; such steps do not run.
    pub kept: BTreeMap<String, StepRecord>,
    /// The time, in milliseconds since the run's start: later than 0 after a rewrite; the budget
    /// goes on.
    pub now: u64,
    /// Whether there is a judge for `judge` checks; without one they are skipped.
    pub judge: bool,
    /// For `jobs auto`: which steps may run in parallel. Without it each runs alone.
    pub beside: Option<SideBySide>,
    /// The steps that are executed elsewhere, if any may be.
    pub elsewhere: Option<Elsewhere>,
}

/// How many steps run in parallel, and which, if the plan leaves that to the machine.
#[derive(Clone, Debug)]
pub struct SideBySide {
    /// The number of processors.
    pub processors: usize,
    /// The steps that may run in parallel.
    pub beside: ParallelPairs,
}

impl RunState {
    /// Begins like [`RunState::begin`], without a judge, and without anything known of the steps.
    pub fn new(
        plan: Arc<Plan>,
        kept: BTreeMap<String, StepRecord>,
        now: u64,
    ) -> (Self, Vec<Action>) {
        let beginning = StateBeginning {
            kept,
            now,
            ..StateBeginning::default()
        };
        Self::begin(plan, beginning)
    }

    /// Begins to execute a plan.
    pub fn begin(plan: Arc<Plan>, beginning: StateBeginning) -> (Self, Vec<Action>) {
        let StateBeginning {
            mut kept,
            now,
            judge,
            beside,
            elsewhere,
        } = beginning;
        let beside = beside.filter(|_| plan.policy.jobs == Jobs::Auto);
        let processors = beside.as_ref().map_or(1, |beside| beside.processors);
        let most = plan.policy.jobs.most(processors);
        let positions = plan.positions();
        if positions.len() != plan.steps.len() {
            bug("two steps of a plan have one id");
        }
        let before = |own: StepIndex, ids: &mut dyn Iterator<Item = &String>| {
            let found: BTreeSet<StepIndex> = predecessors(&positions, own, ids).collect();
            found.into_iter().collect::<Vec<StepIndex>>()
        };
        let tracks = plan.numbered_steps().map(|(i, step)| {
            let last = kept.remove(&step.id);
            Track {
                after: before(i, &mut step.after.iter().chain(&step.needs)),
                needs: before(i, &mut step.needs.iter()),
                phase: if last.is_some() {
                    Phase::Over
                } else {
                    Phase::Waiting
                },
                last,
                ..Track::default()
            }
        });
        let tracks = tracks.collect();
        let mut state = Self {
            tracks,
            busy: BTreeSet::new(),
            over: Vec::new(),
            front: 0,
            first_failure: None,
            cancel: None,
            urgent: None,
            storage: None,
            undecided: false,
            now,
            done: false,
            judge,
            known: None,
            most,
            beside: beside.map(|beside| beside.beside),
            elsewhere,
            plan,
        };
        for index in state.tracks.indices() {
            state.note_failure(index);
        }
        let mut actions = Vec::new();
        state.decide(&mut actions);
        state.conclude(&mut actions);
        (state, actions)
    }

    /// Sets the findings and failing tests that are known.
    pub fn know(&mut self, known: Option<Arc<KnownFindings>>) {
        self.known = known;
    }

    /// Handles an event and returns the actions to execute. Events of steps that do not run, and
    /// all events after [`Action::Done`], are ignored; a step that the plan does not have is a bug.
    pub fn handle(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.done {
            return actions;
        }
        let at = event.at();
        let is_later = at > self.now;
        self.now = self.now.max(at);
        if self.undecided && (is_later || matches!(event, Event::InstantComplete { .. })) {
            self.decide(&mut actions);
            if let Event::Finished { step, .. } = &event {
                // The choice just made may discard the very step that is reported to have ended.
                actions.retain(|a| !matches!(a, Action::Terminate { step: s, .. } if s == step));
            }
        }
        match event {
            Event::Finished {
                step,
                attempt,
                at,
                evidence,
            } => self.finished(step, attempt, at, &evidence, &mut actions),
            Event::Began { step, attempt, .. } => self.began(step, attempt),
            Event::Time { .. } | Event::InstantComplete { .. } => {}
            Event::Interrupt { at, signal } => self.interrupted(at, signal, &mut actions),
            Event::RecordFailed { at, message } => {
                self.undecided = true;
                let (since, _) = self.storage.get_or_insert((at, message));
                let since = *since;
                self.stop_where(&mut actions, |_, _, running| running.started >= since);
            }
        }
        self.enforce_limits(&mut actions);
        if !self.is_running() {
            self.decide(&mut actions);
        }
        self.conclude(&mut actions);
        actions
    }

    /// Returns the plan that is executed.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether everything has ended.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Returns the steps that ended since the last call, ascending. Steps with evidence kept from
    /// before a rewrite are not among them: they ended under the plan before.
    pub fn drain_finished(&mut self) -> Vec<StepIndex> {
        let mut over = std::mem::take(&mut self.over);
        over.sort_unstable();
        over
    }

    /// Returns the result of a step's last try as soon as it has ended, whether or not another
    /// follows.
    pub fn last_try(&self, step: StepIndex) -> Option<&StepRecord> {
        self.tracks[step].last.as_ref()
    }

    fn is_running(&self) -> bool {
        let runs = |index: &StepIndex| matches!(self.tracks[*index].phase, Phase::Running(_));
        self.busy.iter().any(runs)
    }

    pub(super) fn is_over(&self, index: StepIndex) -> bool {
        self.tracks[index].phase == Phase::Over
    }

    fn running_mut(&mut self, index: StepIndex) -> Option<&mut Running> {
        match &mut self.tracks[index].phase {
            Phase::Running(running) => Some(running),
            Phase::Waiting | Phase::Retrying | Phase::Over => None,
        }
    }

    /// Returns the time at which the budget is used up for this step; `u64::MAX` without one.
    pub(super) fn deadline(&self, step: &Step) -> u64 {
        let clean_up = if step.always { CLEAN_UP_MS } else { 0 };
        let budget = self.plan.policy.budget_ms;
        budget.map_or(u64::MAX, |b| b.saturating_add(clean_up))
    }

    /// Returns why a step may not start, or not be tried again: first events of the run, then other
    /// steps, then time.
    fn barred(&self, index: StepIndex, step: &Step) -> Option<Cause> {
        if self.storage.is_some() {
            return Some(Cause::Storage);
        }
        if self.urgent.is_some() || (self.cancel.is_some() && !step.always) {
            return Some(Cause::Cancelled);
        }
        self.ruled_out(index, step)
            .or_else(|| (self.now >= self.deadline(step)).then_some(Cause::Budget))
    }

    /// Returns why other steps keep this one from having a status of its own.
    fn ruled_out(&self, index: StepIndex, step: &Step) -> Option<Cause> {
        if step.always {
            return None;
        }
        if self.is_behind_failure(index) {
            return Some(Cause::FailFast);
        }
        let passed = |i: &StepIndex| {
            let last = self.tracks[*i].last.as_ref();
            last.is_some_and(|r| r.status.is_pass())
        };
        let met = self.tracks[index].needs.iter().all(passed);
        (!met).then_some(Cause::Needs)
    }

    /// Returns the time at which an interrupt ended this step's prospects: the first one, or for
    /// `always` the second.
    pub(super) fn cancelled_at(&self, step: &Step) -> Option<u64> {
        if step.always {
            self.urgent
        } else {
            self.cancel.map(|(at, _)| at)
        }
    }

    /// Returns the first event of the run that kept this step from ending by itself.
    pub(super) fn ended_by(&self, step: &Step) -> Cause {
        let budget = self.deadline(step);
        let storage = self.storage.as_ref().map_or(u64::MAX, |(at, _)| *at);
        let cancelled = self.cancelled_at(step).unwrap_or(u64::MAX);
        if budget <= storage.min(cancelled) {
            Cause::Budget
        } else if storage < cancelled {
            Cause::Storage
        } else {
            Cause::Cancelled
        }
    }

    pub(super) fn is_behind_failure(&self, index: StepIndex) -> bool {
        self.plan.policy.fail_fast && self.first_failure.is_some_and(|f| f < index)
    }

    /// Decides which of the ready steps start now, in plan order.
    fn decide(&mut self, actions: &mut Vec<Action>) {
        self.undecided = false;
        let plan = Arc::clone(&self.plan);
        for index in self.busy.clone() {
            if self.tracks[index].phase != Phase::Retrying {
                continue;
            }
            let step = plan.step(index);
            if self.barred(index, step).is_none() {
                self.spawn(index, step, actions);
                continue;
            }
            self.busy.remove(&index);
            self.tracks[index].denied = Some(self.ended_by(step));
            self.end(index, actions);
        }
        self.pass_over();
        for (position, step) in plan.steps.iter().enumerate().skip(self.front) {
            if position < self.front {
                continue;
            }
            // A later tier starts when everything before it is done.
            let first_open = plan.steps.get(self.front);
            let index = StepIndex::new(position);
            let is_full = !self.has_room(self.is_sent(index));
            if is_full && (self.elsewhere.is_none() || !self.has_room(!self.is_sent(index)))
                || first_open.is_some_and(|first| first.tier != step.tier)
            {
                break;
            }
            if !is_full {
                self.consider(index, step, actions);
            }
            self.pass_over();
        }
    }

    /// Whether a step is to be executed elsewhere, as far as is known now.
    pub fn is_sent(&self, index: StepIndex) -> bool {
        (self.elsewhere.as_ref()).is_some_and(|elsewhere| elsewhere.sent[index])
    }

    /// Whether a step for another machine can still run. Once sending has stopped, it runs here if
    /// the caller requested a fallback.
    fn may_still_be_sent(&mut self, index: StepIndex) -> bool {
        match &mut self.elsewhere {
            Some(there) if there.is_given_up() => {
                there.sent[index] = !there.fall_back;
                there.fall_back
            }
            _ => true,
        }
    }

    /// Whether one more step may be executed, here or elsewhere.
    fn has_room(&self, elsewhere: bool) -> bool {
        let most = match &self.elsewhere {
            Some(there) if elsewhere => there.most,
            _ => self.most,
        };
        let busy = self.busy.iter();
        busy.filter(|index| self.is_sent(**index) == elsewhere)
            .count()
            < most
    }

    fn pass_over(&mut self) {
        let rest = self.tracks.iter().skip(self.front);
        self.front += rest.take_while(|t| t.phase == Phase::Over).count();
    }

    fn consider(&mut self, index: StepIndex, step: &Step, actions: &mut Vec<Action>) {
        let track = &self.tracks[index];
        if track.phase != Phase::Waiting || !track.after.iter().all(|i| self.is_over(*i)) {
            return;
        }
        // Steps without a process are settled even when no process may start.
        if let Some(outcome) = settled_by_plan(step, self.judge) {
            if self.ruled_out(index, step).is_none() {
                self.tracks[index].last = Some(StepRecord::without_evidence(step, outcome));
            }
            return self.end(index, actions);
        }
        if self.barred(index, step).is_some() {
            return self.end(index, actions);
        }
        if self.is_sent(index) && !self.may_still_be_sent(index) {
            let row = format!("{MOST_UNANSWERED} steps in a row had no answer from there");
            let why = format!("it was not sent: {row}");
            let outcome = Outcome::new(Status::Errored, Cause::Away, why);
            self.tracks[index].last = Some(StepRecord::without_evidence(step, outcome));
            return self.end(index, actions);
        }
        let mut busy = self.busy.iter();
        if busy.all(|busy| self.may_run_beside(index, *busy)) {
            self.spawn(index, step, actions);
        }
    }

    /// Whether a step may run in parallel with a running one, by the contract and by known effects.
    fn may_run_beside(&self, index: StepIndex, busy: StepIndex) -> bool {
        let (step, other) = (self.plan.step(index), self.plan.step(busy));
        // One that is elsewhere meets the others in what it brings back.
        let is_apart = |index, step: &Step| {
            self.is_sent(index) && step.produces.is_empty() && step.report.is_none()
        };
        kept_apart(step, other).is_none()
            && (is_apart(index, step)
                || is_apart(busy, other)
                || (self.beside.as_ref()).is_none_or(|beside| beside.may(index, busy)))
    }

    fn spawn(&mut self, index: StepIndex, step: &Step, actions: &mut Vec<Action>) {
        let left = self.deadline(step).saturating_sub(self.now);
        // The time in which its services are started is none of its own: see `began`.
        let services = step.with.iter().map(|service| service.timeout_ms);
        let own = services.fold(step.timeout_ms.max(1), u64::saturating_add);
        // `barred` let nothing through that has no time left, so this is at least 1.
        let limit_ms = own.min(left).max(1);
        let is_sent = self.is_sent(index);
        let track = &mut self.tracks[index];
        let attempt = track.last.as_ref().map_or(0, |r| r.tries) + 1;
        let by_budget = left < own;
        track.phase = Phase::Running(Running {
            attempt,
            started: self.now,
            limit_ms,
            // Until it has begun there, the budget alone limits it.
            overtime_ms: if is_sent { left - limit_ms } else { 0 },
            by_budget,
            stop: Stop::No,
        });
        self.busy.insert(index);
        actions.push(Action::Spawn {
            step: index,
            attempt,
            limit_ms,
            elsewhere: is_sent,
        });
    }

    /// Starts the time limit of a try, unless it is already being stopped.
    fn began(&mut self, index: StepIndex, attempt: u32) {
        let step = self.plan.step(index);
        let left = self.deadline(step).saturating_sub(self.now);
        let (own, now) = (step.timeout_ms.max(1), self.now);
        let by_budget = left < own;
        let is_late = self.is_sent(index) && !by_budget;
        let overtime_ms = if is_late {
            OVERTIME_MS.min(left - own)
        } else {
            0
        };
        if let Some(running) = self.running_mut(index)
            && running.attempt == attempt
            && running.stop == Stop::No
        {
            *running = Running {
                started: now,
                limit_ms: own.min(left).max(1),
                overtime_ms,
                by_budget,
                ..*running
            };
        }
    }

    fn finished(
        &mut self,
        index: StepIndex,
        attempt: u32,
        at: u64,
        evidence: &vplan_check::evidence::Evidence,
        actions: &mut Vec<Action>,
    ) {
        let plan = Arc::clone(&self.plan);
        let step = plan.step(index);
        let Phase::Running(running) = self.tracks[index].phase else {
            return;
        };
        if running.attempt != attempt {
            return;
        }
        self.undecided = true;
        // A step that ended by the moment of the interrupt had ended; one whose time was up before
        // it ended by its limit.
        let in_time =
            |moment: u64| running.started < moment && (at <= moment || running.ends_at() < moment);
        let cancelled = self.cancelled_at(step).filter(|moment| !in_time(*moment));
        let unrecorded = self.storage.as_ref().map(|(since, _)| *since);
        let unrecorded = unrecorded.filter(|since| running.started >= *since);
        let stopped = match (cancelled, unrecorded) {
            (Some(cancelled), Some(since)) if since < cancelled => Some(Cause::Storage),
            (Some(_), _) => Some(Cause::Cancelled),
            (None, Some(_)) => Some(Cause::Storage),
            (None, None) => None,
        };
        let track = &mut self.tracks[index];
        track.ended_at = Some(at);
        if stopped.is_some() {
            // This try does not count: it was stopped, whatever its result. An earlier one may.
            track.denied = stopped;
            // What starts in the millisecond of the interrupt may as well not have started.
            track.was_interrupted = stopped == Some(Cause::Cancelled)
                && cancelled.is_some_and(|moment| running.started < moment);
            self.busy.remove(&index);
            return self.end(index, actions);
        }
        let is_sent = self.elsewhere.as_ref().is_some_and(|e| e.sent[index]);
        let is_cut = is_sent && evidence.is_unanswered() && at >= self.deadline(step);
        let by_budget = running.by_budget || is_cut;
        let evidence = &*as_here(evidence, by_budget);
        let there = self.elsewhere.as_mut().filter(|_| is_sent);
        if there.is_some_and(|there| there.ended(index, evidence)) {
            // It waits for a place here.
            self.busy.remove(&index);
            self.tracks[index].phase = Phase::Waiting;
            return;
        }
        let track = &mut self.tracks[index];
        let terms = terms(step, running.limit_ms, by_budget);
        // What prepares for others has nothing that may be left as it is.
        let known = self.known.as_deref().filter(|_| !step.setup);
        let is_listed = known.is_some_and(|known| known.checks.contains_key(step.check()));
        let identities = baseline::identities(known, step.check(), evidence);
        let outcome = judge(&terms, evidence);
        let mut outcome = baseline::judge(known, step.check(), &terms, evidence, outcome);
        let is_excused = outcome.cause == Some(Cause::Known);
        if outcome.status.is_pass() && attempt > 1 && !is_excused {
            let beside = framed("; ", outcome.detail, "");
            let detail = format!("passed on try {attempt}{beside}");
            outcome = Outcome::new(Status::Flaky, Cause::Retried, detail);
        }
        let spent = track.last.as_ref().map_or(0, |r| r.duration_ms);
        let spent = spent.saturating_add(evidence.duration_ms);
        let bad_answer = outcome.cause == Some(Cause::BadAnswer);
        let again = (bad_answer || matches!(outcome.status, Status::Failed | Status::TimedOut))
            && outcome.cause != Some(Cause::Budget)
            && attempt <= step.retries;
        let record = StepRecord::with_evidence(step, outcome, evidence, attempt, spent);
        track.last = Some(record.identified(identities, is_listed));
        if again {
            track.phase = Phase::Retrying;
        } else {
            self.busy.remove(&index);
            self.end(index, actions);
        }
    }

    /// Ends a step. With fail-fast, the first failure discards the running steps that follow it in
    /// plan order.
    fn end(&mut self, index: StepIndex, actions: &mut Vec<Action>) {
        self.tracks[index].phase = Phase::Over;
        self.over.push(index);
        self.note_failure(index);
        self.judge_batches(index);
        if self.plan.policy.fail_fast
            && let Some(first) = self.first_failure
        {
            self.stop_where(actions, |i, step, _| i > first && !step.always);
        }
    }

    /// Evaluates the thresholds of a check over all its batches: the batch that exceeds them
    /// depends on their order in the plan, not on which ended first. Steps that need the check wait
    /// for all of them.
    fn judge_batches(&mut self, index: StepIndex) {
        let plan = Arc::clone(&self.plan);
        let Some(name) = &plan.step(index).batch_of else {
            return;
        };
        let batches = plan.numbered_steps().zip(&self.tracks);
        let batches = batches.filter(|((_, step), _)| step.batch_of.as_ref() == Some(name));
        let ended = batches.take_while(|(_, track)| track.phase == Phase::Over);
        let ended = ended.map(|((i, step), track)| (i, step, track.last.as_ref()));
        let Some((batch, outcome)) = super::batch::exceeded(ended) else {
            return;
        };
        if let Some(record) = &mut self.tracks[batch].last {
            record.end_as(outcome);
        }
        if batch != index {
            self.over.push(batch);
        }
        self.note_failure(batch);
    }

    fn note_failure(&mut self, index: StepIndex) {
        let (step, track) = (self.plan.step(index), &self.tracks[index]);
        let failed = |r: &StepRecord| r.status.is_failure() && !r.is_cut();
        if track.phase == Phase::Over
            && step.severity == Severity::Blocking
            && track.last.as_ref().is_some_and(failed)
            && self.first_failure.is_none_or(|f| index < f)
        {
            self.first_failure = Some(index);
        }
    }

    fn interrupted(&mut self, at: u64, signal: Interrupt, actions: &mut Vec<Action>) {
        self.undecided = true;
        if self.cancel.is_none() {
            self.cancel = Some((at, signal));
            return self.stop_where(actions, |_, step, _| !step.always);
        }
        self.urgent.get_or_insert(at);
        for index in self.busy.clone() {
            self.kill(index, actions);
        }
    }

    /// Terminates the running steps that the test selects, unless they are already being stopped.
    fn stop_where(
        &mut self,
        actions: &mut Vec<Action>,
        test: impl Fn(StepIndex, &Step, &Running) -> bool,
    ) {
        let plan = Arc::clone(&self.plan);
        for index in self.busy.clone() {
            let phase = &self.tracks[index].phase;
            if matches!(phase, Phase::Running(running) if test(index, plan.step(index), running)) {
                self.terminate(index, false, actions);
            }
        }
    }

    fn terminate(&mut self, index: StepIndex, timed_out: bool, actions: &mut Vec<Action>) {
        let budget = self.plan.policy.budget_ms;
        let left = budget.map_or(u64::MAX, |b| b.saturating_sub(self.now));
        let grace = GRACE_MS.min(left).max(LEAST_GRACE_MS);
        let kill_after = self.now.saturating_add(grace);
        let Some(running) = self.running_mut(index) else {
            return;
        };
        if running.stop == Stop::No {
            running.stop = Stop::Asked {
                kill_after,
                timed_out,
            };
            actions.push(Action::Terminate {
                step: index,
                timed_out,
            });
        }
    }

    fn kill(&mut self, index: StepIndex, actions: &mut Vec<Action>) {
        let Some(running) = self.running_mut(index) else {
            return;
        };
        let timed_out = match running.stop {
            Stop::No => false,
            Stop::Asked { timed_out, .. } => timed_out,
            Stop::Forced => return,
        };
        running.stop = Stop::Forced;
        actions.push(Action::Kill {
            step: index,
            timed_out,
        });
    }

    fn enforce_limits(&mut self, actions: &mut Vec<Action>) {
        for index in self.busy.clone() {
            let Phase::Running(running) = self.tracks[index].phase else {
                continue;
            };
            match running.stop {
                Stop::No if self.now > running.ends_at() => {
                    self.terminate(index, true, actions);
                }
                Stop::Asked { kill_after, .. } if self.now > kill_after => {
                    self.kill(index, actions)
                }
                _ => {}
            }
        }
    }

    /// Requests the next wake-up, or reports that everything is over.
    fn conclude(&mut self, actions: &mut Vec<Action>) {
        self.pass_over();
        if self.front == self.tracks.len() {
            self.done = true;
            actions.push(Action::Done);
            return;
        }
        let busy = self.busy.iter();
        let deadlines = busy.filter_map(|i| match self.tracks[*i].phase {
            Phase::Running(running) => match running.stop {
                Stop::No => Some(running.ends_at()).filter(|at| *at < u64::MAX),
                Stop::Asked { kill_after, .. } => Some(kill_after),
                Stop::Forced => None,
            },
            _ => None,
        });
        let next = deadlines.chain(self.undecided.then_some(self.now)).min();
        let next = next.map(|last| last.saturating_add(1));
        actions.extend(next.map(|at| Action::WakeAt { at }));
    }
}

/// Returns the outcome of a step that starts no process.
fn settled_by_plan(step: &Step, judge: bool) -> Option<Outcome> {
    if let Some(unsupported) = &step.unsupported {
        let fault = vplan_base::word::visible(unsupported.text.as_bytes());
        let detail = format!("no command without a shell: `{fault}`");
        return Some(Outcome::new(Status::Errored, Cause::Unsupported, detail));
    }
    let unjudged = step.kind == Kind::Judge && !judge;
    unjudged.then(|| Outcome::new(Status::Skipped, Cause::NoJudge, "no judge is configured"))
}

/// Returns the terms by which a try of this step is evaluated.
fn terms(step: &Step, limit_ms: u64, by_budget: bool) -> Terms<'_> {
    let output = Output {
        format: step.explicit_format().map(|f| &**f),
        is_defined: step.format_definition.is_some(),
        max_errors: step.max_errors.unwrap_or(0),
        max_warnings: step.max_warnings,
        min_tests: step.min_tests,
        report: step.report.as_ref().map(|r| r.glob.text()),
    };
    Terms {
        by_budget,
        exit: &step.exit,
        kind: step.kind,
        limit_ms,
        output,
        skip_exit: &step.skip_exit,
    }
}

#[cfg(test)]
mod tests;
