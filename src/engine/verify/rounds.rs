//! Executes the plan of a round, classifies failures, and repairs wrong plans, until no repair is
//! left.

use super::journal_writer::JournalWriter;
use super::world::RoundWorld;
use crate::{Facts, Note, Plan, first_of, visible};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use vplan_base::index::bug;
use vplan_base::jobs::Jobs;
use vplan_base::word::Word;
use vplan_check::confine::{Confined, InputsBasis};
use vplan_check::environment::Withheld;
use vplan_os::parallel::processors;
use vplan_os::process::program::Program;
use vplan_plan::{Refusal, Rewrite, StepIndex};
use vplan_recover::{self as recover, Failure, Recovery};
use vplan_run::carry_over::{CarryOver, carry_over};
use vplan_run::event::{Action, Event};
use vplan_run::journal::JournalEntry;
use vplan_run::record::{Place, ProgramRecord, StepRecord};
use vplan_run::remote::Elsewhere;
use vplan_run::report::refused;
use vplan_run::state::{RunState, SideBySide, StateBeginning, StateEnding};
use vplan_runner::background::IoResult;
use vplan_runner::context::Context;
use vplan_runner::executor::{DriveError, Executor, ExecutorMessage, Running};
use vplan_runner::remote::RemoteExecution;
use vplan_runner::snapshots::RunSnapshots;
use vplan_runner::step::Finished;
use vplan_store::reuse::RunCache;

/// An event of a verification, for an observer.
pub enum Progress<'a> {
    /// The plan is complete; nothing has run yet.
    Planned(&'a Plan),
    /// A step has ended.
    Ended {
        /// The step that ended.
        step: StepIndex,
        /// Its preliminary result.
        record: &'a StepRecord,
        /// The time, in milliseconds since the run's start.
        at: u64,
    },
    /// The running steps.
    Running {
        /// The time, in milliseconds since the run's start.
        at: u64,
        /// The steps, in plan order.
        running: &'a [Running<'a>],
    },
    /// The plan has been rewritten, and the run continues.
    Rewritten {
        /// The rule that changed it.
        rule: &'a str,
        /// The new plan.
        plan: &'a Plan,
        /// The number of its steps that already have their evidence.
        kept: usize,
    },
}

/// Receives the progress.
pub(super) type See<'s> = &'s mut dyn FnMut(Progress<'_>);

/// The executed plans of a round, and their results.
pub(super) struct Executed {
    /// The plans that were executed, in order; at least one.
    pub plans: Vec<Arc<Plan>>,
    /// The last one.
    pub plan: Arc<Plan>,
    /// The results of its steps.
    pub records: Vec<StepRecord>,
    /// How the execution ended.
    pub ending: StateEnding,
    /// Results that later plans do not have.
    pub superseded: Vec<StepRecord>,
    /// The data of all plans together.
    pub rounds: Rounds,
}

impl Executed {
    /// The result for a plan that must not be executed.
    pub fn refused(plan: Plan) -> Self {
        let plan = Arc::new(plan);
        Self {
            records: refused(&plan),
            plans: vec![Arc::clone(&plan)],
            plan,
            ending: StateEnding::default(),
            superseded: Vec::new(),
            rounds: Rounds::default(),
        }
    }
}

/// Executes a plan and its repairs.
///
/// # Errors
/// vplan's own executor fails. A failed step is not an error.
pub(super) fn execute(
    plan: Plan,
    executor: &mut dyn Executor,
    context: &Context<'_>,
    world: &RoundWorld<'_>,
    book: &mut JournalWriter<'_>,
    see: See<'_>,
) -> Result<Executed, DriveError> {
    let mut plan = Arc::new(plan);
    let mut plans = vec![Arc::clone(&plan)];
    let (mut rounds, mut superseded, mut kept) = <(Rounds, Vec<_>, _)>::default();
    loop {
        let beginning = StateBeginning {
            kept: std::mem::take(&mut kept),
            now: executor.now(),
            judge: context.judge.is_some(),
            beside: (plan.policy.jobs == Jobs::Auto).then(|| SideBySide {
                processors: processors(),
                beside: world.parallel_pairs(&plan),
            }),
            elsewhere: context.away.map(|away| rounds.seat(away, &plan)),
        };
        let (mut state, actions) = RunState::begin(Arc::clone(&plan), beginning);
        state.know(world.known.clone());
        let mut table = Table {
            plan: &plan,
            state: &mut state,
            book,
            rounds: &mut rounds,
            recall: context.recall,
            looks: context.looks,
            see,
        };
        // Steps that the plan itself decides are reported before anything runs.
        table.report_finished(executor.now());
        executor.drive(&plan, context, actions, &mut |message| table.tell(message))?;
        if !state.is_done() {
            bug("the executor ends before the run is over");
        }
        let mut records = state.records();
        rounds.attach(&mut records);
        let recall = context.recall.into_iter();
        recall.for_each(|recall| recall.attach(&mut records));
        let (failures, facts) = classify(&plan, &mut records, world);
        let ending = state.ending();
        let Some((next, rewrite, carried)) =
            repair(&plan, &failures, &records, &ending, &facts, &mut rounds)
        else {
            return Ok(Executed {
                plans,
                plan,
                records,
                ending,
                superseded,
                rounds,
            });
        };
        see(Progress::Rewritten {
            rule: &rewrite.recovery_rule,
            plan: &next,
            kept: carried.kept.len(),
        });
        let rewrite = Box::new(rewrite);
        book.write(executor.now(), JournalEntry::PlanRewritten { rewrite });
        book.plan(executor.now(), &next);
        superseded.extend(carried.superseded);
        kept = carried.kept;
        plan = Arc::new(next);
        plans.push(Arc::clone(&plan));
    }
}

/// Classifies each failure, from its evidence and from facts, which decide on its repair too.
fn classify(
    plan: &Plan,
    records: &mut [StepRecord],
    world: &RoundWorld<'_>,
) -> (Vec<Failure>, Facts) {
    let mut failed: Vec<(StepIndex, &mut StepRecord)> = (plan.numbered_steps().zip(records))
        .filter(|(_, record)| record.status.is_failure())
        .map(|((index, _), record)| (index, record))
        .collect();
    if failed.is_empty() {
        return Default::default();
    }
    let asked = |(index, _): &(StepIndex, _)| recover::questions(plan.step(*index));
    let facts = world.answer(&failed.iter().flat_map(asked).collect());
    let classified = failed.iter_mut().map(|(index, record)| {
        let evidence = record.evidence.as_deref().cloned().unwrap_or_default();
        let failure = recover::classify(plan, *index, &evidence, &facts);
        record.failure_code = Some(failure.code.into());
        let step = plan.step(*index);
        let more = recover::advice_questions(step, failure.code);
        let known = (!more.is_empty()).then(|| {
            let mut known = facts.clone();
            known.0.extend(world.answer(&more).0);
            known
        });
        let known = known.as_ref().unwrap_or(&facts);
        record.advice = recover::advice(step, failure.code, &evidence.stderr.text(), known);
        failure
    });
    (classified.collect(), facts)
}

/// Returns the next plan, if there is one. After an interrupt, an exhausted budget or a full disk,
/// nothing is tried again.
fn repair(
    plan: &Plan,
    failures: &[Failure],
    records: &[StepRecord],
    ending: &StateEnding,
    facts: &Facts,
    rounds: &mut Rounds,
) -> Option<(Plan, Rewrite, CarryOver)> {
    let stopped = ending.cancelled.is_some() || ending.budget_used || ending.storage.is_some();
    if stopped || failures.is_empty() || plan.policy.recover.is_empty() {
        return None;
    }
    match recover::recover(plan, failures, facts) {
        Recovery::Rewritten {
            plan: next,
            rewrite,
        } => {
            let carried = carry_over(plan, &next, records.to_vec());
            Some((*next, rewrite, carried))
        }
        Recovery::Refused(refusals) => {
            rounds.refusals = refusals;
            None
        }
        Recovery::NotApplicable => None,
    }
}

/// The state that lasts over all plans of a run.
#[derive(Default)]
pub(super) struct Rounds {
    /// What the last tries left, by step id.
    tries: BTreeMap<String, LastTry>,
    /// Each file that was started, by path.
    resolved: BTreeMap<Word, ProgramRecord>,
    /// Files that have not been read yet.
    unread: Vec<Program>,
    /// Why the last failures were not repaired.
    pub refusals: Vec<Refusal>,
    /// Variables that steps were not given, by name.
    pub withheld: BTreeMap<String, Withheld>,
    /// The machines that executed the steps, by step id, in a run with remote execution.
    places: BTreeMap<String, Place>,
    /// The steps that were executed here because there was no answer from elsewhere.
    fallen_back: BTreeSet<String>,
}

/// What the last try of a step left for its record.
#[derive(Default)]
struct LastTry {
    log: Option<String>,
    /// The program that was started last, in this try or an earlier one.
    program: Option<Word>,
    /// The program that was started elsewhere.
    elsewhere: Option<ProgramRecord>,
    confined: Option<Confined>,
    /// The evidence that the step depends on its `inputs` alone.
    inputs: Option<InputsBasis>,
}

impl Rounds {
    /// Decides which steps of a plan are executed elsewhere.
    fn seat(&mut self, away: &RemoteExecution<'_>, plan: &Plan) -> Elsewhere {
        let seats = away.seats(plan);
        let here = plan.steps.iter().zip(&seats);
        let here = here.filter_map(|(step, why)| Some((step, why.as_ref()?)));
        let here = here.map(|(step, why)| (step.id.clone(), Place::local(why.to_string())));
        self.places.extend(here);
        let down = away.down();
        if let Some(place) = &down {
            let unsent = plan.steps.iter().zip(&seats);
            let unsent = unsent.filter(|(_, why)| why.is_none());
            for (step, _) in unsent {
                self.places.insert(step.id.clone(), place.clone());
                self.fallen_back.insert(step.id.clone());
            }
        }
        let is_sent = |why: &Option<_>| why.is_none() && down.is_none();
        let sent = seats.iter().map(is_sent).collect();
        Elsewhere::new(sent, away.most, away.fall_back)
    }

    /// Names the steps that were executed here because a remote try had no answer.
    pub fn fallen_back(&self, records: &[StepRecord]) -> Option<Note> {
        let ran = records.iter().filter(|record| record.tries > 0);
        let ids = ran.map(|record| &record.id);
        let ids: Vec<&String> = ids.filter(|id| self.fallen_back.contains(*id)).collect();
        let shown = ids.iter().map(|id| format!("`{}`", visible(id.as_bytes())));
        let named = first_of(shown, 3);
        let were = match ids.len() {
            1 => "one step was".to_owned(),
            count => format!("{count} steps were"),
        };
        let message =
            format!("{were} executed here, as there was no answer from elsewhere: {named}");
        (!ids.is_empty()).then(|| Note::new("remote-fallback", message))
    }

    fn attach(&self, records: &mut [StepRecord]) {
        let none = LastTry::default();
        for record in records.iter_mut().filter(|r| r.tries > 0) {
            let place = || self.places.get(&record.id).cloned();
            record.place = record.place.take().or_else(place);
            let last = self.tries.get(&record.id).unwrap_or(&none);
            let started = last.program.as_ref();
            let started = started.and_then(|path| self.resolved.get(path));
            let program = || last.elsewhere.as_ref().or(started).cloned();
            record.program = record.program.take().or_else(program);
            record.log = record.log.take().or_else(|| last.log.clone());
            record.sandbox = record.sandbox.take().or_else(|| last.confined.clone());
            record.inputs = record.inputs.or(last.inputs);
        }
    }

    /// Takes a program that was started, to be digested later. Returns its path.
    fn started(&mut self, program: &Program) -> Word {
        let path = Word::new(program.path.as_os_str().as_bytes());
        if let btree_map::Entry::Vacant(entry) = self.resolved.entry(path.clone()) {
            entry.insert(ProgramRecord {
                digest: None,
                path: path.clone(),
                size: program.size,
            });
            self.unread.push(program.clone());
        }
        path
    }
}

/// Connects the state machine with the record and the observer.
struct Table<'t, 'e, 'r> {
    plan: &'t Plan,
    state: &'t mut RunState,
    book: &'t mut JournalWriter<'e>,
    rounds: &'t mut Rounds,
    recall: Option<&'t RunCache<'r>>,
    looks: Option<&'t RunSnapshots>,
    see: See<'t>,
}

impl Table<'_, '_, '_> {
    fn tell(&mut self, message: ExecutorMessage<'_>) -> Vec<Action> {
        let (at, written) = match message {
            ExecutorMessage::Event(event, finished) => return self.event(event, finished),
            ExecutorMessage::Starting {
                step,
                attempt,
                limit_ms,
                at,
            } => {
                let planned = self.plan.step(step);
                if let Some(looks) = self.looks {
                    looks.started(planned, self.plan);
                }
                let started = JournalEntry::StepStarted {
                    attempt,
                    id: planned.id.clone(),
                    limit_ms,
                };
                (at, self.book.write(at, started))
            }
            ExecutorMessage::Tick { running, at } => {
                (self.see)(Progress::Running { at, running });
                (at, true)
            }
            ExecutorMessage::IoWanted { at, work, again } => {
                *work = self.book.work(at, std::mem::take(&mut self.rounds.unread));
                *again = self.book.sync_due();
                (at, true)
            }
            ExecutorMessage::IoFinished { at, done } => (at, self.done(at, done)),
            ExecutorMessage::Suspended => {
                self.book.suspend();
                (0, true)
            }
            ExecutorMessage::Resumed => (0, true),
        };
        match written {
            true => Vec::new(),
            false => self.storage_failed(at),
        }
    }

    fn event(&mut self, event: Event, finished: Option<&Finished>) -> Vec<Action> {
        let at = event.at();
        if let Event::Interrupt { signal, .. } = &event {
            self.book
                .write(at, JournalEntry::RunInterrupted { signal: *signal });
        }
        let ended = match &event {
            Event::Finished {
                step,
                attempt,
                evidence,
                ..
            } => Some((*step, *attempt, evidence.duration_ms)),
            _ => None,
        };
        if let Some(((step, ..), looks)) = ended.zip(self.looks) {
            looks.ended(self.plan.step(step));
        }
        let mut actions = self.state.handle(event);
        if let Some(((step, ..), looks)) = ended.zip(self.looks)
            && (!self.state.is_done() || !self.plan.step(step).with.is_empty())
        {
            looks.compare();
        }
        if let Some((step, attempt, duration_ms)) = ended
            && !self.finished(at, step, attempt, duration_ms, finished)
        {
            actions.extend(self.storage_failed(at));
        }
        self.report_finished(at);
        actions
    }

    /// Writes the end of a try. `false` when that fails.
    fn finished(
        &mut self,
        at: u64,
        step: StepIndex,
        attempt: u32,
        duration_ms: u64,
        finished: Option<&Finished>,
    ) -> bool {
        let planned = self.plan.step(step);
        let id = planned.id.clone();
        let log = finished.and_then(|f| Some(format!("logs/{}", f.log.as_ref()?)));
        let mut program = None;
        if let Some(finished) = finished {
            let rounds = &mut *self.rounds;
            let withheld = finished.withheld.iter();
            let withheld = withheld.map(|w| (w.name.clone(), w.clone()));
            rounds.withheld.extend(withheld);
            if let Some(place) = &finished.place {
                if place.reason.is_some() && !self.state.is_sent(step) {
                    rounds.fallen_back.insert(id.clone());
                }
                rounds.places.insert(id.clone(), place.clone());
            }
            program = finished.program.as_ref().map(|p| rounds.started(p));
            let last = rounds.tries.entry(id.clone()).or_default();
            *last = LastTry {
                log: log.clone(),
                program: program.clone().or(last.program.take()),
                elsewhere: finished.program_elsewhere.clone(),
                confined: finished.confined.clone(),
                inputs: finished.inputs,
            };
        }
        let record = self.state.last_try(step);
        if let Some(recall) = self.recall {
            recall.ended(planned, record);
        }
        let Some(record) = record else { return true };
        let earlier = record.cached_from.as_ref();
        let cached_from = earlier.map(|earlier| earlier.run_id.clone());
        let entry = JournalEntry::StepFinished {
            attempt: if cached_from.is_some() { 0 } else { attempt },
            cached_from,
            detail: record.detail.clone(),
            duration_ms,
            exit_code: record.exit_code,
            id,
            kind: Some(planned.kind),
            leaked: record.leaked,
            log,
            program,
            reason: record.reason,
            signal: record.signal.clone(),
            status: record.status,
            tests: record.tests,
        };
        self.book.write_end_of_step(at, entry)
    }

    /// Takes the result of a background job: writes the digests of programs.
    fn done(&mut self, at: u64, mut done: IoResult) -> bool {
        let mut written = self.book.done(&mut done);
        for (path, digest) in done.digests {
            let path = Word::new(path.as_os_str().as_bytes());
            let Some(record) = self.rounds.resolved.get_mut(&path) else {
                bug("a program was digested that no step started");
            };
            record.digest = digest;
            // Its reported end must be synced, as the end of a step must.
            let program = record.clone();
            let resolved = JournalEntry::ProgramResolved { program };
            written &= self.book.write_end_of_step(at, resolved);
        }
        written
    }

    fn storage_failed(&mut self, at: u64) -> Vec<Action> {
        let message = self.book.fault.clone().unwrap_or_default();
        self.state.handle(Event::RecordFailed { at, message })
    }

    fn report_finished(&mut self, at: u64) {
        for step in self.state.drain_finished() {
            let Some(outcome) = self.state.provisional_outcome(step) else {
                bug("a step that is over has no outcome");
            };
            let own = self.state.last_try(step);
            let own = own.filter(|record| record.status == outcome.status);
            let decided = || StepRecord::without_evidence(self.plan.step(step), outcome);
            let record = &own.map_or_else(|| Cow::Owned(decided()), Cow::Borrowed);
            (self.see)(Progress::Ended { step, record, at });
        }
    }
}
