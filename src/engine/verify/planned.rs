//! Makes the plan of a round, with every caveat that must be reported before anything runs.

use crate::base_contract::{attach, of_run};
use crate::baseline::{self, Counting};
use crate::judge_commit::JudgeCommit;
use crate::part::part_of_named;
use crate::propose::ProposerUse;
use crate::staged::agree;
use crate::subject::{RoundRequirements, Subject};
use crate::{Caveat, Code, Engine, Failure, Oid, Plan, Session, VerifyRequest, saved};
use vplan_plan::shard::share;
use vplan_run::report::{SavedPlan, ShardRecord};

/// Examines the session before anything runs, and returns the caveats.
pub type Examine<'l> = &'l mut dyn FnMut(&Session) -> Result<Vec<Caveat>, Failure>;

/// The plan of a round, with its session.
pub(super) struct Planned {
    /// The requirements of the round, if it has a subject.
    pub requirements: Option<RoundRequirements>,
    /// The baseline that counts.
    pub baseline: Counting,
    /// The plan, or the part of a shard.
    pub plan: Plan,
    /// The differences between the plan file and the present, if there is one.
    pub saved_plan: Option<SavedPlan>,
    /// The repository, and the contract.
    pub session: Session,
    /// The share of the plan, if it is one.
    pub shard: Option<ShardRecord>,
    /// The commit at which the subject began.
    pub since: Option<Oid>,
}

/// Makes the plan, or reads it. `look`: examines the session before anything runs, and returns
/// caveats.
///
/// # Errors
/// The plan cannot be made, or cannot be run here.
pub(super) fn planned(
    engine: &Engine<'_>,
    requested: &VerifyRequest,
    is_loop: bool,
    look: Examine<'_>,
) -> Result<Planned, Failure> {
    let subject = Subject::open(engine, requested.subject.as_deref())?;
    let (session, mut whole, saved_plan) = made(engine, requested, subject.as_ref())?;
    let mut said = look(&session)?;
    said.extend(agree(&session, &whole)?);
    expected(requested, &whole)?;
    let is_saved = saved_plan.is_some();
    let held = subject
        .as_ref()
        .map(|subject| subject.requirements(engine, &session, requested, &whole, is_saved))
        .transpose()?;
    let found = match &held {
        Some(held) => held.caveats.clone(),
        None => part_of_named(engine, &session, &whole, is_saved)?,
    };
    // It replaces the comparison of a saved plan with today's.
    if found.iter().any(|c| c.code == Code::PartOfChange) {
        whole.caveats.retain(|c| c.code != Code::PartOfChange);
    }
    whole.caveats.extend(found);
    let is_said = |c: &Caveat| {
        let mut all = whole.caveats.iter();
        all.any(|s| (s.code, &s.files) == (c.code, &c.files))
    };
    said.retain(|c| !is_said(c));
    whole.caveats.extend(said);
    let judge = match &held {
        Some(held) => held.judge.clone(),
        None => JudgeCommit::find(&session, engine),
    };
    let found = of_run(&session, engine, requested, is_loop, &judge, held.as_ref())?;
    attach(&mut whole, found);
    let baseline = baseline::counting(&session, engine, judge.commit.as_ref())?;
    baseline::attach(&mut whole, baseline.caveats.clone());
    let (plan, shard) = match requested.shard {
        Some(shard) => {
            let division = requested.division.as_ref();
            if let Some(division) = division {
                (division.check(&whole, Some(shard.count))).map_err(saved::misfit)?;
            }
            let share = share(&whole, shard, division);
            let record = ShardRecord::new(&whole, shard, &share, division.cloned());
            (share.plan, Some(record))
        }
        None => (whole, None),
    };
    let since = subject.as_ref().and_then(Subject::since);
    Ok(Planned {
        requirements: held,
        baseline,
        plan,
        saved_plan,
        session,
        shard,
        since,
    })
}

/// Makes the plan, or reads it from its file.
fn made(
    engine: &Engine<'_>,
    requested: &VerifyRequest,
    subject: Option<&Subject>,
) -> Result<(Session, Plan, Option<SavedPlan>), Failure> {
    if let Some(file) = &requested.file {
        let (session, plan, saved) = saved::open(engine, requested, file)?;
        return Ok((session, plan, Some(saved)));
    }
    let mut session = engine.open_since(&requested.plan, subject.and_then(Subject::since))?;
    let asking = match engine.locked {
        true => ProposerUse::Recorded,
        false => ProposerUse::Now,
    };
    let (plan, _) = session.plan(&requested.plan, asking)?;
    Ok((session, plan, None))
}

/// Refuses every plan but the one that is expected.
fn expected(requested: &VerifyRequest, plan: &Plan) -> Result<(), Failure> {
    match (&requested.expect_digest, &plan.digest) {
        (Some(wanted), Some(found)) if wanted != found => {
            let message = format!("the plan's digest is {found}, expected was {wanted}");
            Err(Failure::drift("vplan::plan::expected_digest", message)
                .help("look at what changed with `vplan explain`, or make the plan again where it is reviewed"))
        }
        _ => Ok(()),
    }
}
