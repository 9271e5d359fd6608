//! Verifies a plan: executes it, classifies failures, and repairs the plan where it was wrong,
//! until there is a verdict.

use crate::away::Away;
use crate::background::IoResult;
use crate::context::Context;
use crate::executor::{DriveError, Driver, Executor, Message, Played, Running};
use crate::journal_writer::JournalWriter;
use crate::judge::Judge;
use crate::looks::Looks;
use crate::reports::Aside;
use crate::sandbox::Sandbox;
use crate::step::Finished;
use crate::tree::{self, TreeChanges, blame};
use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::Duration;
use vplan_base::index::bug;
use vplan_base::jobs::Jobs;
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, first_of, visible};
use vplan_check::Kind;
use vplan_check::baseline::KnownFindings;
use vplan_check::confine::{Confined, InputsBasis};
use vplan_check::environment::Withheld;
use vplan_check::outcome::{Cause, Status};
use vplan_contract::Contract;
use vplan_git::Git;
use vplan_os::environment::Environment;
use vplan_os::files::beneath::Beneath;
use vplan_os::parallel::processors;
use vplan_os::process::program::{Program, Root};
use vplan_plan::audit::findings::ObservedFindings;
use vplan_plan::beside::Beside;
use vplan_plan::caveat::{Caveat, Code};
use vplan_plan::facts::{Facts, Question};
use vplan_plan::{Note, Plan, Refusal, Rewrite, Step, StepIndex};
use vplan_recover::{self as recover, Failure, Recovery};
use vplan_run::carry::{CarryOver, carry_over};
use vplan_run::elsewhere::Elsewhere;
use vplan_run::event::{Action, Event};
use vplan_run::journal::JournalEntry;
use vplan_run::known::known_findings;
use vplan_run::record::{Place, ProgramRecord, StepRecord};
use vplan_run::report::{Circumstances, Report, TREE_CHANGED, refused, report};
use vplan_run::state::{Beginning, Ending, RunState, SideBySide};
use vplan_run::unshown::tests_not_shown;
use vplan_store::records::RunRecord;
use vplan_store::reuse::Recall;
use vplan_store::vault::Vault;

/// What a run needs from the world besides its repository: what is known of the contract, of
/// earlier runs, and of the change.
pub trait World {
    /// Answers questions about the repository.
    fn answer(&self, questions: &BTreeSet<Question>) -> Facts;
    /// Decides which steps of a plan may run beside each other, for `jobs auto`.
    fn beside(&self, plan: &Plan) -> Beside;
    /// Makes the caveat about a change that grew because steps wrote to the tree with permission,
    /// from the first plan, the files they wrote, and new files that nothing in the plan selects.
    fn grown(&self, first: &Plan, wrote: &[RepoPath], made: &[RepoPath]) -> Option<Caveat>;
    /// Holds the contract against what the steps of this run, by its name, were seen to do.
    fn findings(&self, run: &str) -> ObservedFindings;
    /// Makes the caveats about passes in comparison with earlier ones.
    fn compare(&self, plan: &Plan, records: &[StepRecord]) -> Vec<Caveat>;
    /// Completes the report before it is recorded: the ledger's decision. Meanwhile no signal ends
    /// vplan.
    fn conclude(&self, report: &mut Report);
}

/// Everything that a run needs besides its plan.
pub struct Run<'a> {
    /// The repository.
    pub root: &'a Root,
    /// The environment that steps are given.
    pub environment: &'a Environment,
    /// The record of the run.
    pub record: RunRecord,
    /// A second place for the events.
    pub events: Option<Box<dyn Write + 'a>>,
    /// The most bytes of a step's output that its log keeps.
    pub max_output: u64,
    /// All else that it needs.
    pub world: &'a dyn World,
    /// The files of the repository.
    pub beneath: &'a Beneath,
    /// Its git, if it has one.
    pub git: Option<&'a Git>,
    /// The findings and failing tests that are known.
    pub known: Option<Arc<KnownFindings>>,
    /// Results of earlier runs, if they may be used.
    pub recall: Option<Recall<'a>>,
    /// The judge that answers the questions of `judge` checks, if there is one.
    pub judge: Option<&'a Judge<'a>>,
    /// The interval of [`ProgressEvent::Running`] for the observer.
    pub tick: Option<Duration>,
    /// Whether steps are observed.
    pub observe: bool,
    /// What confines steps that are to be confined.
    pub sandbox: Option<&'a Sandbox>,
    /// What executes steps elsewhere, if some may be.
    pub away: Option<&'a Away<'a>>,
    /// The snapshots of the tree, if the tree is known.
    pub tree: Option<Looks>,
    /// The memory, outside the repository, of how the run ended.
    pub vault: Option<&'a Vault>,
    /// The contract that the plan was made from, if there is one.
    pub contract: Option<&'a Contract>,
    /// The parts of the report besides the plan and its steps.
    pub circumstances: Circumstances,
}

/// A progress event for an observer.
pub enum ProgressEvent<'a> {
    /// A step has ended.
    Ended {
        /// The step.
        step: StepIndex,
        /// Its result, as far as it is known now.
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
    /// The plan has been rewritten, the run goes on.
    Rewritten {
        /// The rule that changed it.
        rule: &'a str,
        /// The new plan.
        plan: &'a Plan,
        /// The number of its steps that already have their evidence.
        kept: usize,
    },
}

/// The result of a verification.
pub struct Verified {
    /// The report.
    pub report: Report,
    /// The plan that was executed last.
    pub plan: Plan,
}

/// The reason why a run has no report.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The executor failed.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The record could not be written before anything ran.
    #[error("the record cannot be written: {0}")]
    Record(#[from] io::Error),
}

/// Verifies a plan; `see` receives the progress. `executor` executes it; the default is vplan's own
/// [`Driver`].
///
/// # Errors
/// The record cannot be begun, or vplan's own executor fails. A failed step is no error.
pub fn verify(
    plan: Plan,
    run: Run<'_>,
    played: Option<Played<'_>>,
    see: &mut dyn FnMut(ProgressEvent<'_>),
) -> Result<Verified, VerifyError> {
    let Run {
        root,
        environment,
        record,
        events,
        max_output,
        world,
        beneath,
        git,
        known,
        judge,
        recall,
        tick,
        observe,
        sandbox,
        away,
        tree,
        vault,
        contract,
        mut circumstances,
    } = run;
    let mut book = JournalWriter::new(record, events, vault);
    circumstances.environment = environment.granted();
    // It lives until the record is closed: as long as it does, no signal ends vplan.
    let mut driver = None;
    if circumstances.violations.is_empty() && played.is_none() {
        let driver = driver.insert(Driver::new(
            None,
            circumstances.environment.capabilities_kept,
        )?);
        // It becomes ready while the record is begun.
        driver.prepare(&plan, recall.as_ref());
    }
    book.begin(&plan, &circumstances.environment)?;
    let mut plan = Arc::new(plan);
    let mut plans = vec![Arc::clone(&plan)];
    let mut rounds = Rounds::default();
    let ending;
    let mut records;
    let executor: Option<&mut dyn Executor> = match played {
        Some(played) => Some(played.into_inner()),
        None => driver.as_mut().map(|driver| driver as &mut dyn Executor),
    };
    if let Some(executor) = executor.filter(|_| circumstances.violations.is_empty()) {
        let logs = book.record.logs().try_clone_to_owned()?;
        let aside = logs.try_clone().ok();
        let aside = aside.map(|logs| Arc::new(Aside::new(logs)));
        let context = Context {
            root,
            environment,
            logs: Some(rustix::fd::AsFd::as_fd(&logs)),
            max_output,
            beneath: Some(beneath),
            git,
            aside: aside.as_ref(),
            looks: tree.as_ref(),
            recall: recall.as_ref(),
            judge,
            input: None,
            tick,
            observe,
            sandbox,
            away,
        };
        let mut kept = BTreeMap::new();
        loop {
            let beginning = Beginning {
                kept: std::mem::take(&mut kept),
                now: executor.now(),
                judge: judge.is_some(),
                beside: (plan.policy.jobs == Jobs::Auto).then(|| SideBySide {
                    processors: processors(),
                    beside: world.beside(&plan),
                }),
                elsewhere: away.map(|away| rounds.seat(away, &plan)),
            };
            let (mut state, actions) = RunState::begin(Arc::clone(&plan), beginning);
            state.know(known.clone());
            let mut table = Table {
                plan: &plan,
                state: &mut state,
                book: &mut book,
                rounds: &mut rounds,
                recall: context.recall,
                looks: context.looks,
                see,
            };
            // Steps that the plan itself decides are reported before anything runs.
            table.report_finished(executor.now());
            executor.drive(&plan, &context, actions, &mut |message| table.tell(message))?;
            if !state.is_done() {
                bug("the executor ends before the run is over");
            }
            records = state.records();
            rounds.attach(&mut records);
            context
                .recall
                .into_iter()
                .for_each(|recall| recall.attach(&mut records));
            let (failures, facts) = classify(&plan, &mut records, world);
            let end = state.ending();
            let Some((next, rewrite, carried)) =
                repair(&plan, &failures, &records, &end, &facts, &mut rounds)
            else {
                ending = end;
                break;
            };
            see(ProgressEvent::Rewritten {
                rule: &rewrite.recovery_rule,
                plan: &next,
                kept: carried.kept.len(),
            });
            book.write(
                executor.now(),
                JournalEntry::PlanRewritten {
                    rewrite: Box::new(rewrite),
                },
            );
            book.plan(executor.now(), &next);
            circumstances.superseded.extend(carried.superseded);
            kept = carried.kept;
            plan = Arc::new(next);
            plans.push(Arc::clone(&plan));
        }
    } else {
        records = refused(&plan);
        ending = Ending::default();
    }
    circumstances.run_id = book.record.id().to_owned();
    let fallen_back = rounds.fallen_back(&records);
    circumstances.refusals = rounds.refusals;
    circumstances.environment.withheld = rounds.withheld.into_values().collect();
    let ending = Ending {
        storage: ending.storage.clone().or(book.fault.clone()),
        ..ending
    };
    let found = tree::ended(
        tree.as_ref(),
        &blame::Run {
            plans: &plans,
            contract,
            records: &records,
            whole: circumstances.shard.as_ref().map(|shard| &*shard.plan),
        },
        plan.steps.iter().any(looks_itself) || recall.as_ref().is_some_and(Recall::is_later),
    );
    let first = plans.first().unwrap_or(&plan);
    let recall_of = recall.as_ref();
    let note = apply_tree_changes(
        found,
        &mut records,
        &mut circumstances,
        recall_of,
        (first, world),
    );
    let now = tree.as_ref().and_then(Looks::newest);
    let is_interrupted = ending.cancelled.is_some();
    let mut is_over = || is_interrupted || driver.as_mut().is_some_and(Driver::is_asked_to_end);
    let notes = recall.map(|recall| recall.finish(now.as_deref(), &mut records, &mut is_over));
    circumstances.notes.extend(notes.unwrap_or_default());
    circumstances.caveats.extend(world.compare(&plan, &records));
    let origin = known.as_ref().map_or("", |known| known.origin.as_str());
    circumstances
        .caveats
        .extend(known_findings(&plan, &records, origin));
    circumstances
        .caveats
        .extend(tests_not_shown(&plan, &records));
    let observed = world.findings(&circumstances.run_id);
    circumstances.caveats.extend(observed.caveats);
    circumstances.notes.extend(fallen_back);
    let away = away.into_iter().flat_map(Away::notes);
    circumstances.notes.extend(away);
    let mut report = report(&plan, records, &ending, circumstances);
    report.notes.extend(note.into_iter().chain(observed.notes));
    world.conclude(&mut report);
    book.end(&mut report);
    drop(plans);
    let plan = Arc::unwrap_or_clone(plan);
    Ok(Verified { report, plan })
}

/// Whether vplan itself reads files of the tree for a step, and not in a snapshot.
fn looks_itself(step: &Step) -> bool {
    step.kind == Kind::File || step.unchanged.is_some()
}

/// Applies the changes of the tree to the records and the report. Returns a note to add.
fn apply_tree_changes(
    found: TreeChanges,
    records: &mut [StepRecord],
    circumstances: &mut Circumstances,
    recall: Option<&Recall<'_>>,
    (first, world): (&Plan, &dyn World),
) -> Option<Note> {
    let TreeChanges {
        caveats,
        failed,
        made,
        new,
        note,
        suspects,
        tree,
        wrote,
    } = found;
    for (id, detail) in failed {
        let ran =
            |r: &&mut StepRecord| r.id == id && (r.status.is_pass() || r.status == Status::Skipped);
        if let Some(record) = records.iter_mut().find(ran) {
            record.status = Status::Failed;
            record.reason = Some(Cause::TreeChanged);
            record.detail = Some(detail);
            record.failure_code = Some(TREE_CHANGED.into());
        }
    }
    recall
        .into_iter()
        .for_each(|recall| recall.forget(&suspects));
    let has_grown = caveats.iter().any(|c| c.code == Code::ChangeGrew);
    circumstances.caveats.extend(caveats);
    if !(has_grown || wrote.is_empty() && made.is_empty()) {
        let whole = circumstances.shard.as_ref().map(|shard| &*shard.plan);
        let grown = world.grown(whole.unwrap_or(first), &wrote, &made);
        circumstances.caveats.extend(grown);
    }
    circumstances.new_files = new;
    circumstances.tree = tree;
    note
}

/// Classifies each failure, from its evidence and from facts, which decide on its repair too.
fn classify(plan: &Plan, records: &mut [StepRecord], world: &dyn World) -> (Vec<Failure>, Facts) {
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

/// Returns the next plan, if there is one: after an interrupt, an exhausted budget or a full disk
/// nothing is tried again.
fn repair(
    plan: &Plan,
    failures: &[Failure],
    records: &[StepRecord],
    ending: &Ending,
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
struct Rounds {
    /// The logs of the last tries, by step id.
    logs: BTreeMap<String, String>,
    /// The programs that were started last, by step id.
    programs: BTreeMap<String, Word>,
    /// Each file that was started, by path.
    resolved: BTreeMap<Word, ProgramRecord>,
    /// Files that have not been read yet.
    unread: Vec<Program>,
    refusals: Vec<Refusal>,
    withheld: BTreeMap<String, Withheld>,
    /// How steps were confined in their last try, by step id.
    confined: BTreeMap<String, Confined>,
    /// How far it is known that steps depend on their `inputs` alone, by step id.
    inputs: BTreeMap<String, InputsBasis>,
    /// Where steps were executed, by step id, in a run that may execute some elsewhere.
    places: BTreeMap<String, Place>,
    /// The programs that were started elsewhere, by step id.
    elsewhere: BTreeMap<String, ProgramRecord>,
    /// The steps that were executed here because there was no answer from elsewhere.
    fallen_back: BTreeSet<String>,
}

impl Rounds {
    /// Decides which steps of a plan are executed elsewhere.
    fn seat(&mut self, away: &Away<'_>, plan: &Plan) -> Elsewhere {
        let seats = away.seats(plan);
        let here = plan.steps.iter().zip(&seats);
        let here = here.filter_map(|(step, why)| Some((step, why.as_ref()?)));
        let here = here.map(|(step, why)| (step.id.clone(), Place::here(why.to_string())));
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

    /// Says which steps were executed here for want of an answer.
    fn fallen_back(&self, records: &[StepRecord]) -> Option<Note> {
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
        for record in records.iter_mut().filter(|r| r.tries > 0) {
            record.log = record
                .log
                .take()
                .or_else(|| self.logs.get(&record.id).cloned());
            record.place = record
                .place
                .take()
                .or_else(|| self.places.get(&record.id).cloned());
            let started = self
                .programs
                .get(&record.id)
                .and_then(|path| self.resolved.get(path));
            let elsewhere = self.elsewhere.get(&record.id);
            record.program = (record.program.take()).or_else(|| elsewhere.or(started).cloned());
            let confined = self.confined.get(&record.id);
            record.sandbox = record.sandbox.take().or_else(|| confined.cloned());
            record.inputs = record
                .inputs
                .or_else(|| self.inputs.get(&record.id).copied());
        }
    }

    fn started(&mut self, id: &str, program: &Program) -> Word {
        let path = Word::new(program.path.as_os_str().as_bytes());
        self.programs.insert(id.to_owned(), path.clone());
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
    recall: Option<&'t Recall<'r>>,
    looks: Option<&'t Looks>,
    see: &'t mut dyn FnMut(ProgressEvent<'_>),
}

impl Table<'_, '_, '_> {
    fn tell(&mut self, message: Message<'_>) -> Vec<Action> {
        let (at, written) = match message {
            Message::Event(event, finished) => return self.event(event, finished),
            Message::Starting {
                step,
                attempt,
                limit_ms,
                at,
            } => {
                let planned = self.plan.step(step);
                if let Some(looks) = self.looks {
                    looks.started(planned, self.plan.steps.len() > 1);
                }
                let started = JournalEntry::StepStarted {
                    attempt,
                    id: planned.id.clone(),
                    limit_ms,
                };
                (at, self.book.write(at, started))
            }
            Message::Tick { running, at } => {
                (self.see)(ProgressEvent::Running { at, running });
                (at, true)
            }
            Message::IoWanted { at, work, again } => {
                *work = self.book.work(at, std::mem::take(&mut self.rounds.unread));
                *again = self.book.sync_due();
                (at, true)
            }
            Message::IoFinished { at, done } => (at, self.done(at, done)),
            Message::Suspended => {
                self.book.suspend();
                (0, true)
            }
            Message::Resumed => (0, true),
        };
        if written {
            Vec::new()
        } else {
            self.storage_failed(at)
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
        if let Some(looks) = self.looks.filter(|_| ended.is_some())
            && !self.state.is_done()
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
        let log = finished
            .and_then(|f| f.log.as_ref())
            .map(|name| format!("logs/{name}"));
        if let Some(finished) = finished {
            self.rounds.withheld.extend(
                finished
                    .withheld
                    .iter()
                    .map(|w| (w.name.clone(), w.clone())),
            );
            match &finished.confined {
                Some(confined) => self.rounds.confined.insert(id.clone(), confined.clone()),
                None => self.rounds.confined.remove(&id),
            };
            match finished.inputs {
                Some(inputs) => self.rounds.inputs.insert(id.clone(), inputs),
                None => self.rounds.inputs.remove(&id),
            };
            if let Some(place) = &finished.place {
                if place.reason.is_some() && !self.state.is_sent(step) {
                    self.rounds.fallen_back.insert(id.clone());
                }
                self.rounds.places.insert(id.clone(), place.clone());
            }
            match &finished.program_elsewhere {
                Some(program) => self.rounds.elsewhere.insert(id.clone(), program.clone()),
                None => self.rounds.elsewhere.remove(&id),
            };
            match &log {
                Some(log) => self.rounds.logs.insert(id.clone(), log.clone()),
                None => self.rounds.logs.remove(&id),
            };
        }
        let program = finished
            .and_then(|f| f.program.as_ref())
            .map(|p| self.rounds.started(&id, p));
        let record = self.state.last_try(step);
        if let Some(recall) = self.recall {
            recall.ended(planned, record);
        }
        let Some(record) = record else { return true };
        let cached_from = record
            .cached_from
            .as_ref()
            .map(|earlier| earlier.run_id.clone());
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
            written &= self.book.write_end_of_step(
                at,
                JournalEntry::ProgramResolved {
                    program: record.clone(),
                },
            );
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
            match self.state.last_try(step) {
                Some(record) if record.status == outcome.status => {
                    (self.see)(ProgressEvent::Ended { step, record, at })
                }
                _ => {
                    let record = StepRecord::without_evidence(self.plan.step(step), outcome);
                    (self.see)(ProgressEvent::Ended {
                        step,
                        record: &record,
                        at,
                    });
                }
            }
        }
    }
}
