//! Makes the plan of a round from the command line, with everything to be reported before anything
//! runs.

use crate::base::vocabulary::Exit;
use crate::cli::args::{Global, Run};
use crate::cli::base_contract::{attach, of_run};
use crate::cli::error::Failure;
use crate::cli::propose::Asking;
use crate::cli::saved;
use crate::cli::session::{Session, selector};
use crate::cli::subject::{Held, Subject};
use crate::cli::terminal::Terminal;
use crate::effect::git::object::Oid;
use crate::plan::Plan;
use crate::plan::caveat::Caveat;
use crate::plan::shard::share;
use crate::run::report::{SavedPlan, ShardRecord};

/// What is run.
pub(super) struct Planned {
    /// What the round is held against, if it has a subject.
    pub held: Option<Held>,
    /// The plan, or a share of it.
    pub plan: Plan,
    /// In what the plan file differs from the present, if there is one.
    pub saved_plan: Option<SavedPlan>,
    /// Where, and under which contract.
    pub session: Session,
    /// Which share of the plan it is.
    pub shard: Option<ShardRecord>,
    /// The commit at which the subject began.
    pub since: Option<Oid>,
}

/// Makes the plan, or reads it. `look`: has a look before anything runs, and says what there is to
/// say.
///
/// # Errors
/// Whatever keeps the plan from being made, or from being run here.
pub(super) fn planned(
    global: &Global,
    args: &Run,
    terminal: &Terminal,
    is_loop: bool,
    look: &mut dyn FnMut(&Session) -> Result<Vec<Caveat>, Failure>,
) -> Result<Planned, Failure> {
    // With a flag of the request beside it, clap forgets that it asked for `--plan`.
    if args.saved.plan.is_none() && (args.saved.allow_drift || args.saved.plan_as_is) {
        let flag = if args.saved.allow_drift {
            "--allow-drift"
        } else {
            "--plan-as-is"
        };
        return Err(Failure::usage(
            "vplan::usage::plan",
            format!("`{flag}` is about a plan file"),
        )
        .help("name it with `--plan FILE`"));
    }
    let subject = Subject::of(global, &args.round)?;
    let (session, mut whole, saved_plan) = made(global, args, terminal, subject.as_ref())?;
    let said = look(&session)?;
    expected(args, &whole)?;
    let held = match &subject {
        Some(subject) => Some(subject.hold(
            global,
            &session,
            &args.request,
            &whole,
            saved_plan.is_some(),
        )?),
        None => None,
    };
    whole
        .caveats
        .extend(held.iter().flat_map(|held| held.caveats.clone()));
    let is_said = |c: &Caveat, plan: &Plan| {
        plan.caveats
            .iter()
            .any(|s| (s.code, &s.files) == (c.code, &c.files))
    };
    let more: Vec<Caveat> = said.into_iter().filter(|c| !is_said(c, &whole)).collect();
    whole.caveats.extend(more);
    attach(
        &mut whole,
        of_run(&session, global, args, is_loop, held.as_ref())?,
    );
    let (plan, shard) = match args.saved.shard {
        Some(shard) => {
            let share = share(&whole, shard);
            let record = ShardRecord::new(&whole, shard, &share);
            (share.plan, Some(record))
        }
        None => (whole, None),
    };
    let since = subject.as_ref().and_then(Subject::since);
    Ok(Planned {
        held,
        plan,
        saved_plan,
        session,
        shard,
        since,
    })
}

/// The plan as it is made, or as its file has it.
fn made(
    global: &Global,
    args: &Run,
    terminal: &Terminal,
    subject: Option<&Subject>,
) -> Result<(Session, Plan, Option<SavedPlan>), Failure> {
    if let Some(path) = &args.saved.plan {
        let opened = saved::open(global, args, path, terminal)?;
        return Ok((opened.session, opened.plan, Some(opened.saved)));
    }
    let since = subject.and_then(Subject::since);
    let mut session = Session::open_since(global, &args.request, terminal, since)?;
    session.request.names = args.names.iter().map(|name| selector(name)).collect();
    let (plan, _) = session.plan(
        &args.request,
        if global.locked {
            Asking::Recorded
        } else {
            Asking::Now
        },
    )?;
    Ok((session, plan, None))
}

/// `--expect-digest`
fn expected(args: &Run, plan: &Plan) -> Result<(), Failure> {
    match (&args.saved.expect_digest, &plan.digest) {
        (Some(wanted), Some(found)) if wanted != found => {
            let message = format!("the plan's digest is {found}, expected was {wanted}");
            Err(Failure::new(Exit::Drift.code(), "vplan::plan::expected_digest", message)
                .help("look at what changed with `vplan explain`, or make the plan again where it is reviewed"))
        }
        _ => Ok(()),
    }
}
