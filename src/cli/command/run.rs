//! `vplan run`: verifies this change: plans, executes, repairs the plan where it was wrong,
//! reports.

mod planned;
mod shown;

use super::format;
use crate::base::command::is_env_name;
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::check::evidence::Evidence;
use crate::check::file;
use crate::cli::args::{Containment, Format, Global, Require as Asked, Run};
use crate::cli::error::Failure;
use crate::cli::judge::Program;
use crate::cli::progress::Progress;
use crate::cli::regrown::Taken;
use crate::cli::round::{Keeper, tree};
use crate::cli::session::{Session, state, vault};
use crate::cli::terminal::{JsonLines, Terminal};
use crate::effect::os::environment::{Environment, Grants};
use crate::effect::os::files::beneath::Beneath;
use crate::effect::os::process::program::Root;
use crate::effect::os::terminal::same_stream;
use crate::effect::runner::asserted;
use crate::effect::runner::executor::DriveError;
use crate::effect::runner::file_watch::watch;
use crate::effect::runner::judge::Judge;
use crate::effect::runner::tree::Beginning;
use crate::effect::runner::verify::{self, Seen, VerifyError, verify};
use crate::effect::store::earlier::Earlier;
use crate::effect::store::records::{RecordError, RunRecord};
use crate::ledger::round::Scope;
use crate::ledger::{Ledger, Terms};
use crate::plan::caveat::Caveat;
use crate::plan::{Plan, Step, scope::OUTSIDE};
use crate::run::report::{Circumstances, Report};
use crate::run::verdict::{Require, Verdict};
use planned::{Planned, planned};
use shown::{Showing, show};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a live view is told what runs.
const TICK: Duration = Duration::from_millis(200);

/// Runs the plan for this change and prints the report.
///
/// # Errors
/// Whatever keeps the plan from being made or begun. A failed check is no error: its exit code is
/// the answer.
pub fn run(global: &Global, args: &Run, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let round = Round {
        format: Some(format),
        memory: None,
        look: &mut |_| Ok(Vec::new()),
    };
    once(global, args, terminal, round).map(|once| once.finish(args, terminal))
}

/// How a plan is made and run once.
pub(super) struct Round<'r> {
    /// In which form the report is printed, if it is.
    pub format: Option<Format>,
    /// What is remembered of earlier rounds where there is no subject.
    pub memory: Option<&'r RefCell<Ledger>>,
    /// Has a look before anything runs, and says what there is to say.
    pub look: &'r mut dyn FnMut(&Session) -> Result<Vec<Caveat>, Failure>,
}

/// Runs the plan for this change, records the round, and prints the report.
pub(super) fn once(
    global: &Global,
    args: &Run,
    terminal: &Terminal,
    round: Round<'_>,
) -> Result<Once, Failure> {
    let Round {
        format,
        memory,
        look,
    } = round;
    let grants = grants(args)?;
    let streams = streams(args, format)?;
    let planned = planned(global, args, terminal, memory.is_some(), look)?;
    let Planned {
        session,
        since,
        plan,
        held,
        saved_plan,
        shard,
    } = planned;
    let judge = session.judge(args.judge.as_deref(), &plan)?;
    let containment = containment(args)?;

    session.git().iter().for_each(|git| git.keep());
    let beginning = Beginning::look(session.git());
    let nothing = plan.steps.is_empty() && plan.rewrites.is_empty();
    let scope = if nothing {
        Scope::Nothing
    } else {
        Scope::Whole
    };
    let keeper = Keeper::open(global, &args.round, memory, &session, held, scope)?;
    let retries = Terms::of(session.contract().map(|c| &c.gate)).retries;
    let attempt = keeper
        .as_ref()
        .map_or((args.attempt, retries), Keeper::attempt);
    let own = [
        &args.events,
        &args.records,
        &args.reports.junit,
        &args.reports.sarif,
    ];
    let own: Vec<PathBuf> = own.into_iter().flatten().cloned().collect();
    let tree = tree(&session.site, session.contract(), global, &own);
    let conclude = |report: &mut Report| {
        keeper
            .iter()
            .for_each(|keeper| keeper.conclude(report, &tree))
    };
    let root = Root::open(&session.site.root).map_err(|e| broken(&e))?;
    let beneath = Beneath::open(&session.site.root).map_err(|e| broken(&e))?;
    let environment = Environment::of_this_process(&root, grants);
    let record = record(&session, args, &root)?;
    let place = record.path().display().to_string();
    let mut progress = Progress::new(args.progress, terminal, &plan);
    let evaluate = |step: &Step| evaluate(&beneath, step);
    let watch = |step: &Step| watch(&session.site.root, session.git(), step);
    let answer = |questions: &_| session.answer(questions);
    let confirms = keeper.as_ref().is_some_and(Keeper::confirms);
    let (recall, notes) = args.reuse.recall(
        global,
        &session,
        &plan,
        (&root, &environment),
        record.id(),
        confirms,
    );
    // Where nothing can be kept, nothing is known.
    let kept = session
        .git()
        .and_then(|git| Some((git, state(global, &session.site).ok()?)));
    let earlier = kept.and_then(|(git, kept)| {
        Earlier::new(
            git,
            session.gathered.base.as_ref(),
            session.contract(),
            &session.request,
            &kept,
        )
    });
    let compare = |plan: &Plan, records: &[_]| {
        earlier
            .as_ref()
            .map(|e| e.compare(plan, records))
            .unwrap_or_default()
    };
    let question = session.questions(&beneath, global.locked);
    let judge = judge.map(|Program { argv, env, .. }| Judge {
        argv,
        env,
        question: &question,
    });
    let vault = vault(global, &session.site);
    let taken = Taken {
        global,
        args,
        terminal,
        since,
        session: &session,
    };
    let again = |first: &Plan, wrote: &[RepoPath]| taken.again(first, wrote);
    let run = verify::Run {
        root: &root,
        environment: &environment,
        record,
        events: events(args)?,
        max_output: args.max_output,
        answer: &answer,
        evaluate: &evaluate,
        watch: &watch,
        recall,
        judge: judge.as_ref(),
        tick: matches!(progress, Progress::Live(_)).then_some(TICK),
        tree: beginning.seen(),
        again: &again,
        vault: vault.as_ref(),
        compare: &compare,
        contract: session.contract(),
        circumstances: Circumstances {
            containment: Some(containment.to_owned()),
            notes,
            saved_plan,
            shard,
            ..circumstances(args, &plan, attempt)
        },
        conclude: &conclude,
    };
    let verified = verify(plan, run, &mut |seen| match seen {
        Seen::Ended { step, record, at } => progress.ended(step, record, at, terminal),
        Seen::Running { at, running } => progress.running(at, running),
        Seen::Rewritten { rule, plan, kept } => progress.rewritten(rule, plan, kept, terminal),
    });
    let streams = streams || args.reports.take_stdout();
    let seen = if streams || same_stream() {
        progress.seen()
    } else {
        BTreeMap::new()
    };
    progress.close();
    let verified = verified.map_err(failed)?;
    let report = &verified.report;
    if let Some(earlier) = earlier
        .as_ref()
        .filter(|_| report.verdict == Verdict::Passed)
    {
        earlier.keep(&verified.plan, &report.steps, &report.caveats);
    }
    drop((earlier, tree, judge));
    drop(question);
    show(
        &verified,
        &session,
        &place,
        &Showing {
            format,
            streams,
            seen: &seen,
        },
        terminal,
    );
    if let Some(failure) = keeper.and_then(Keeper::fault) {
        terminal.failure(&failure);
    }
    Ok(Once {
        report: verified.report,
        plan: verified.plan,
        record: place.into(),
        session,
        own,
    })
}

/// Whether standard output is for a program, so that people read standard error.
fn streams(args: &Run, format: Option<Format>) -> Result<bool, Failure> {
    let streams = args.events.as_deref() == Some(Path::new("-"));
    if streams && format == Some(Format::Json) {
        let message = "standard output holds one JSON document or the events, not both";
        return Err(
            Failure::usage("vplan::usage::events", message).help("write the events to a file")
        );
    }
    let holder = if streams {
        Some("--events -")
    } else {
        (format == Some(Format::Json)).then_some("--format json")
    };
    args.reports.check(holder)?;
    Ok(streams)
}

/// What the caller says of a run; `attempt`: which one it is, and how many may follow the first.
fn circumstances(args: &Run, plan: &Plan, attempt: (u32, u32)) -> Circumstances {
    Circumstances {
        attempt: attempt.0,
        caveats: plan.caveats.clone(),
        require: Require {
            full: args.require == Some(Asked::Full),
            some: args.require == Some(Asked::Some),
        },
        retries: attempt.1,
        violations: plan
            .notes
            .iter()
            .filter(|n| n.kind == OUTSIDE)
            .map(|n| n.message.clone())
            .collect(),
        ..Circumstances::default()
    }
}

fn failed(error: VerifyError) -> Failure {
    match error {
        VerifyError::Record(_) => {
            Failure::new(Exit::Setup.code(), "vplan::run::record", error.to_string())
                .help("`--records DIR` keeps the records in another place")
        }
        VerifyError::Drive(DriveError::Setup(_)) => {
            Failure::new(Exit::Setup.code(), "vplan::run::setup", error.to_string())
        }
        VerifyError::Drive(DriveError::Stuck) => {
            Failure::new(Exit::Internal.code(), "vplan::run", error.to_string())
        }
    }
}

/// A plan that was made and run.
pub(super) struct Once {
    /// The report.
    pub report: Report,
    /// The plan that was executed last.
    pub plan: Plan,
    /// The directory of its record.
    pub record: PathBuf,
    /// Where, and under which contract.
    pub session: Session,
    /// What vplan itself was told to write.
    pub own: Vec<PathBuf>,
}

impl Once {
    /// Writes the documents beside the report, and gives the exit code.
    pub fn finish(&self, args: &Run, terminal: &Terminal) -> u8 {
        args.reports.write(
            &self.report,
            &self.plan,
            Some(&self.session.site.root),
            terminal,
        )
    }
}

pub(super) fn grants(args: &Run) -> Result<Grants, Failure> {
    if let Some(name) = args.grant_env.iter().find(|n| !is_env_name(n)) {
        let message = format!("`{}` is no name of a variable", visible(name.as_bytes()));
        return Err(Failure::usage("vplan::usage::grant_env", message)
            .help("`--grant-env NAME`, without a value"));
    }
    Ok(Grants {
        names: args.grant_env.iter().cloned().collect(),
        inherit: args.inherit_env,
        capabilities: args.keep_capabilities,
    })
}

/// The level that this system reaches, if it is enough.
fn containment(args: &Run) -> Result<&'static str, Failure> {
    let reached = if cfg!(target_os = "linux") {
        "subtree"
    } else {
        "group"
    };
    if args.require_containment == Some(Containment::Subtree) && reached != "subtree" {
        let message = format!("this system can only end a step's {reached}, not its subtree");
        return Err(Failure::new(
            Exit::Setup.code(),
            "vplan::run::containment",
            message,
        ));
    }
    Ok(reached)
}

/// Begins the record, with what a proposer said.
fn record(session: &Session, args: &Run, root: &Root) -> Result<RunRecord, Failure> {
    let unusable = |why: String| Failure::new(Exit::Setup.code(), "vplan::run::record", why);
    let tracked = session.git().and_then(|git| git.tracked_record());
    let mut record = RunRecord::create(root, args.records.as_deref(), tracked.as_ref())
        .map_err(|e: RecordError| unusable(e.to_string()).help(e.help()))?;
    if let Some(proposal) = &session.request.proposal {
        record
            .write("proposal.json", proposal.record().as_bytes())
            .map_err(|e| unusable(format!("the proposal cannot be recorded: {e}")))?;
    }
    Ok(record)
}

fn events(args: &Run) -> Result<Option<Box<dyn Write>>, Failure> {
    let Some(path) = &args.events else {
        return Ok(None);
    };
    if path == Path::new("-") {
        return Ok(Some(Box::new(JsonLines)));
    }
    let file = crate::effect::os::files::create(path).map_err(|e| {
        Failure::usage(
            "vplan::usage::events",
            format!("`{}` cannot be written: {e}", path.display()),
        )
    })?;
    Ok(Some(Box::new(file)))
}

/// Looks at the path of a `file` check.
fn evaluate(beneath: &Beneath, step: &Step) -> Evidence {
    let path = step.path.clone().unwrap_or_else(RepoPath::root);
    let facts = asserted::gather(beneath, &path, file::needs_content(&step.assertions));
    Evidence {
        assertion: file::judge(&step.assertions, &facts).err(),
        ..Evidence::default()
    }
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Setup.code(),
        "vplan::run::root",
        format!("the repository cannot be opened: {error}"),
    )
}
