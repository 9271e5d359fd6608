//! Verifies a change: makes the plan, executes it, repairs a wrong plan, records the round.

mod concluded;
mod journal_writer;
mod planned;
mod rounds;
mod world;

use crate::{
    Caveat, Code, Engine, Failure, History, Note, Plan, RepoPath, Report, Root, Session, Site,
    Verdict, VerifyRequest,
};
pub use rounds::Progress;

use super::judge::JudgeProgram;
use super::remote::{open, transport};
use super::replanning::ReplannedRound;
use super::request::MAX_OUTPUT;
use super::round::Keeper;
use super::sandbox::sandbox;
use super::sharing::shared_cache;
use crate::staged::{Linked, complete};
use concluded::concluded;
use journal_writer::JournalWriter;
use planned::{Examine, planned};
use rounds::Executed;
use std::cell::RefCell;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use vplan_git::environment;
use vplan_ledger::{Ledger, Terms};
use vplan_os::environment::{CONFINED, Environment};
use vplan_os::files::beneath::Beneath;
use vplan_plan::scope::OUTSIDE;
use vplan_repo::contents::ContentTree;
use vplan_repo::survey::tracked::{TRACKED_REPORT, tracked_reports, words};
use vplan_reuse::decide::{Use, eligible};
use vplan_run::report::Circumstances;
use vplan_runner::context::Context;
use vplan_runner::executor::{DriveError, Driver, Executor, Played};
use vplan_runner::judge::JudgeRunner;
use vplan_runner::reports::Aside;
use vplan_runner::sandbox::Sandbox;
use vplan_runner::tree::TreeBeginning;
use vplan_store::last_passes::Earlier;
use vplan_store::records::{RecordError, RunRecord};
use vplan_store::reuse::RunCache;
use vplan_store::reuse::other_runs::RunMark;
use vplan_store::reuse::results::{StoredResults, unavailable};
use world::RoundWorld;

/// Opens the second place for the events, once everything is planned.
pub type OpenEvents<'c> = Box<dyn FnOnce() -> Result<Box<dyn Write + 'c>, Failure> + 'c>;

/// The callbacks and the executor that the caller of a verification supplies.
#[derive(Default)]
pub struct Caller<'c> {
    /// Receives the progress.
    pub see: Option<&'c mut dyn FnMut(Progress<'_>)>,
    /// The interval at which the progress reports the running steps; never without.
    pub tick: Option<Duration>,
    /// A second place for the events, in addition to the record.
    pub events: Option<OpenEvents<'c>>,
    /// An executor in the place of vplan's own.
    pub played: Option<Played<'c>>,
}

/// The outcome of a verification.
#[derive(Debug)]
pub struct Verified {
    /// The report, with the decision.
    pub report: Report,
    /// The plan that was executed last.
    pub plan: Plan,
    /// The directory of its record.
    pub record: PathBuf,
    /// The repository, and the contract.
    pub session: Session,
    /// The reason why the round could not be recorded, if it could not.
    pub unrecorded: Option<Failure>,
}

/// Verifies a change.
///
/// # Errors
/// The plan cannot be made or begun. A failed check is not an error: see the report's exit code.
pub fn verify(
    engine: &Engine<'_>,
    asked: &VerifyRequest,
    caller: Caller<'_>,
) -> Result<Verified, Failure> {
    round(engine, asked, caller, None, &mut |_| Ok(Vec::new()))
}

/// Verifies a change as a round: plans, opens what a run needs, executes, and concludes. `memory`:
/// the earlier rounds of a loop without a subject.
pub(super) fn round(
    engine: &Engine<'_>,
    asked: &VerifyRequest,
    mut caller: Caller<'_>,
    memory: Option<&RefCell<Ledger>>,
    look: Examine<'_>,
) -> Result<Verified, Failure> {
    complete(engine, &engine.locate()?)?;
    let mut planned = planned(engine, asked, memory.is_some(), look)?;
    let (session, plan) = (&planned.session, &planned.plan);
    let judge = session.judge(asked.judge.as_deref(), plan)?;
    let containment = containment(asked)?;
    let confined = sandbox(engine, session, plan, asked)?;

    session.git().iter().for_each(|git| git.keep());
    reports_are_untracked(session, plan)?;
    let (cache, unshared) = shared_cache(session, &asked.cache)?;
    let transport = transport(session, asked.remote.as_ref())?;
    // Must precede the snapshot, which takes the comparison's data of the index.
    let tracked = session.git().and_then(|git| git.tracked_record());
    let beginning = TreeBeginning::start(session.git());
    let requirements = planned.requirements.take();
    let keeper = Keeper::open(engine, asked, memory, session, plan, requirements)?;
    let retries = Terms::from_gate(session.contract().map(|c| &c.gate)).retries;
    let single = (asked.attempt.unwrap_or(1), retries);
    let (attempt, retries) = keeper.as_ref().map_or(single, Keeper::attempt);
    let root = Root::open(&session.site.root).map_err(|e| broken(&e))?;
    let beneath = Beneath::open(&session.site.root).map_err(|e| broken(&e))?;
    let environment = Environment::of_this_process(&root, asked.grants.clone());
    let record = record(session, asked, tracked.as_ref())?;
    let outside = plan.notes.iter().filter(|n| n.kind == OUTSIDE);
    let caveats = plan.caveats.iter().cloned().chain(confined.caveat);
    let mut circumstances = Circumstances {
        attempt,
        baseline: planned.baseline.used.take(),
        caveats: caveats.collect(),
        containment: Some(containment.to_owned()),
        environment: environment.granted(),
        notes: unshared.into_iter().chain(confined.notes).collect(),
        require: asked.require,
        retries,
        saved_plan: planned.saved_plan.take(),
        shard: planned.shard.take(),
        violations: outside.map(|n| n.message.clone()).collect(),
        ..Circumstances::default()
    };
    let events = caller.events.take().map(|open| open()).transpose()?;
    if let Some(see) = &mut caller.see {
        see(Progress::Planned(plan));
    }

    let place = record.path().to_owned();
    let folders = session.contract().map_or(&[][..], |c| &c.linked);
    let confirms = keeper.as_ref().is_some_and(Keeper::confirms);
    let of = (&root, &environment);
    let (recall, notes) = recall(engine, asked, session, plan, of, record.id(), confirms);
    circumstances.notes.extend(notes);
    let mut world = RoundWorld {
        round: ReplannedRound {
            engine,
            requested: asked,
            since: planned.since,
            session,
        },
        tree: engine.tree(&session.site, session.contract(), &asked.own_files),
        linked: Linked::record(&session.site, folders),
        keeper,
        earlier: open_earlier(engine, session),
        known: planned.baseline.known,
    };
    let mark = mark(engine, session, record.id());
    // A pass with less confinement than requested must not be cached.
    let is_unconfined = |caveat: &Caveat| caveat.code == Code::SandboxMissing;
    let recall = recall.filter(|_| !circumstances.caveats.iter().any(is_unconfined));
    let sandbox = confined.sandbox.as_ref();
    let outside = sandbox.map(Sandbox::outside);
    let recall = recall.map(|recall| {
        let recall = recall.marked(mark.as_ref()).seeing(outside);
        recall.sharing(cache.as_ref())
    });
    let question = session.questions(&beneath, engine.locked);
    let judge = judge.map(|JudgeProgram { argv, env, .. }| JudgeRunner {
        argv,
        env,
        question: &question,
    });
    let vault = engine.vault(&session.site);
    let remote = asked.remote.as_ref();
    let sent = transport.as_ref();
    let away = open((engine, session), &root, &environment, sent, remote)?;
    let looks = beginning.wait(world.tree.own_paths());
    let logs = record.logs().try_clone_to_owned();
    let logs = logs.map_err(|error| unwritten(&error))?;
    let aside = logs.try_clone().ok();
    let aside = aside.map(|logs| Arc::new(Aside::new(logs)));
    let context = Context {
        root: &root,
        environment: &environment,
        logs: Some(logs.as_fd()),
        max_output: asked.max_output.unwrap_or(MAX_OUTPUT),
        beneath: Some(&beneath),
        git: session.git(),
        aside: aside.as_ref(),
        looks: looks.as_ref(),
        recall: recall.as_ref(),
        judge: judge.as_ref(),
        input: None,
        tick: caller.tick,
        observe: asked.observe,
        sandbox,
        away: away.as_ref(),
    };
    let mut book = JournalWriter::new(record, events, vault.as_ref());
    let old_records = remove_old_records(&session.site, asked);
    let plan = planned.plan;
    let executed = begin(plan, &context, &world, &mut book, &circumstances, caller);
    // A failed run has removed old records, too.
    let _ = old_records.map(JoinHandle::join);
    let (executed, driver) = executed?;
    let used = (recall, looks.as_ref(), away.as_ref());
    let (report, plan) = concluded(executed, used, driver, &world, circumstances, book);
    let is_passed = report.verdict == Verdict::Passed;
    let earlier = world.earlier.iter().filter(|_| is_passed);
    earlier.for_each(|earlier| earlier.keep(&plan, &report.steps, &report.caveats));
    let unrecorded = world.keeper.take().and_then(Keeper::fault);
    drop((world, judge));
    drop(question);
    Ok(Verified {
        report,
        plan,
        record: place,
        session: planned.session,
        unrecorded,
    })
}

/// Checks that no step reports in a file that git tracks.
fn reports_are_untracked(session: &Session, plan: &Plan) -> Result<(), Failure> {
    let Some(git) = session.git() else {
        return Ok(());
    };
    let reports = plan.steps.iter();
    let reports = reports.filter_map(|step| Some((step.id.as_str(), step.report.as_ref()?)));
    let found = tracked_reports(git, reports)?;
    found.into_iter().next().map_or(Ok(()), |(id, path)| {
        let (message, help) = words(id, &path);
        Err(Failure::contract(TRACKED_REPORT.0, message).help(help))
    })
}

/// Begins the record and executes the plan, unless the request refuses it. The driver lives until
/// the record is closed: as long as it does, no signal ends vplan.
fn begin(
    plan: Plan,
    context: &Context<'_>,
    world: &RoundWorld<'_>,
    book: &mut JournalWriter<'_>,
    circumstances: &Circumstances,
    caller: Caller<'_>,
) -> Result<(Executed, Option<Driver>), Failure> {
    let failed = |error: DriveError| Failure::setup("vplan::run::setup", error.to_string());
    let is_refused = !circumstances.violations.is_empty();
    let granted = &circumstances.environment;
    let mut driver = None;
    if !is_refused && caller.played.is_none() {
        let started = Driver::new(None, granted.capabilities_kept).map_err(failed)?;
        // It becomes ready while the record is begun.
        driver.insert(started).prepare(&plan, context.recall);
    }
    let begun = book.begin(&plan, granted);
    begun.map_err(|error| unwritten(&error))?;
    let played = caller.played.map(Played::into_inner);
    let driven = driver.as_mut().map(|driver| driver as &mut dyn Executor);
    let executed = match played.or(driven) {
        Some(executor) if !is_refused => {
            let mut unseen = |_: Progress<'_>| {};
            let see = caller.see.unwrap_or(&mut unseen);
            rounds::execute(plan, executor, context, world, book, see).map_err(failed)?
        }
        _ => Executed::refused(plan),
    };
    Ok((executed, driver))
}

impl Verified {
    /// Returns the parts of its work tree that count as a change.
    pub fn tree(&self, engine: &Engine<'_>, asked: &VerifyRequest) -> ContentTree<'_> {
        let session = &self.session;
        engine.tree(&session.site, session.contract(), &asked.own_files)
    }
}

/// Opens the passes of earlier runs for comparison. Without a place to store them, there are none.
fn open_earlier<'s>(engine: &Engine<'_>, session: &'s Session) -> Option<Earlier<'s>> {
    let git = session.git()?;
    let kept = engine.state(&session.site).ok()?;
    let (base, contract) = (session.gathered.base.as_ref(), session.contract());
    Earlier::new(git, base, contract, &session.request, &kept)
}

/// Opens the cache, if a step of the plan may use it. Without a place for it, the run continues.
/// `counts`: the round counts towards several confirmations, which only real runs can give, so
/// cached passes replace no step. Nor do they if steps are observed.
fn recall<'a>(
    engine: &Engine<'_>,
    asked: &VerifyRequest,
    session: &Session,
    plan: &Plan,
    of: (&'a Root, &'a Environment),
    run_id: &str,
    counts: bool,
) -> (Option<RunCache<'a>>, Vec<Note>) {
    // Passes with links would be those of other files than the same inputs are in the repository.
    if session.site.is_checkout() || !plan.steps.iter().any(|step| eligible(step).is_ok()) {
        return (None, Vec::new());
    }
    let how = match asked.reuse {
        Use::Reuse if counts || asked.observe => Use::Keep,
        how => how,
    };
    let state = engine.state(&session.site).map_err(|f| f.message);
    let opened = state.and_then(|state| {
        let results = StoredResults::open(&state).map_err(|e| unavailable(&e))?;
        let recall = RunCache::new(of.0, session.git().cloned(), of.1, results, how, run_id);
        recall.map_err(|e| unavailable(&e))
    });
    match opened {
        Ok(recall) => (Some(recall), Vec::new()),
        Err(message) => (None, vec![Note::new("reuse", message)]),
    }
}

/// Marks this run for processes that store passes of the same repository, so that they do not take
/// its files for their own.
fn mark(engine: &Engine<'_>, session: &Session, run_id: &str) -> Option<RunMark> {
    let state = engine.kept_state(&session.site).ok()??;
    RunMark::set(&state, run_id)
        .inspect_err(|error| tracing::debug!(%error, "no mark"))
        .ok()
}

fn unwritten(error: &io::Error) -> Failure {
    let message = format!("the record cannot be written: {error}");
    Failure::setup("vplan::run::record", message)
        .help("`--records DIR` keeps the records in another place")
}

/// Returns the containment level of this system, if it is enough.
fn containment(asked: &VerifyRequest) -> Result<&'static str, Failure> {
    let reached = match cfg!(target_os = "linux") {
        true => "subtree",
        false => "group",
    };
    if asked.require_subtree && reached != "subtree" {
        let message = format!("this system can only end a step's {reached}, not its subtree");
        return Err(Failure::setup("vplan::run::containment", message));
    }
    Ok(reached)
}

/// Begins the record, with the proposer's output. `tracked`: a tracked file in the place of
/// records.
fn record(
    session: &Session,
    asked: &VerifyRequest,
    tracked: Option<&RepoPath>,
) -> Result<RunRecord, Failure> {
    let unusable = |why: String| Failure::setup("vplan::run::record", why);
    let home = Root::open(&session.site.home).map_err(|e| broken(&e))?;
    let create = |place: Option<&Path>| RunRecord::create(&home, place, tracked);
    let created = match create(asked.records.as_deref()) {
        // Within a confined step, `.vplan` is read-only, and the temporary folder is private.
        Err(RecordError::Io(_, error))
            if asked.records.is_none()
                && is_read_only(&error)
                && environment(CONFINED).is_some() =>
        {
            create(Some(&std::env::temp_dir().join("vplan-records")))
        }
        created => created,
    };
    let mut record = created.map_err(|e: RecordError| unusable(e.to_string()).help(e.help()))?;
    if let Some(proposal) = &session.request.proposal {
        record
            .write("proposal.json", proposal.record().as_bytes())
            .map_err(|e| unusable(format!("the proposal cannot be recorded: {e}")))?;
    }
    Ok(record)
}

fn is_read_only(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    [PermissionDenied, ReadOnlyFilesystem].contains(&error.kind())
}

/// Removes the oldest records in the background; the run's own record exists already. If no thread
/// can be started, they stay until the next run.
fn remove_old_records(site: &Site, asked: &VerifyRequest) -> Option<JoinHandle<()>> {
    let history = History::open(&site.home, asked.records.as_deref());
    let keep = asked.keep;
    let aside = std::thread::Builder::new().name("old records".to_owned());
    let started = aside.spawn(move || {
        // The next run retries what cannot be removed now; `vplan gc` reports the reason.
        let removed = history.and_then(|history| history.collect_beyond(keep));
        tracing::debug!(?removed, "old records");
    });
    started.ok()
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::setup(
        "vplan::run::root",
        format!("the repository cannot be opened: {error}"),
    )
}
