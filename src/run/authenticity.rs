//! Decides whether a report is what vplan writes of its plan: offline, from the report, the plan and
//! the journal alone.
//!
//! A process that can write all three can make them agree: this finds damage, mix-ups and edits by
//! hand, not forgery.

use super::event::Interrupt;
use super::journal::{JournalEnd, ReplayedRun, StepState};
use super::known::contradicted;
use super::record::StepRecord;
use super::report::{MergedPlan, Report, ShardRecord};
use super::state::StateEnding;
use super::verdict::{Require, RunFacts, UNRECORDED, Verdict, judge};
use schemars::JsonSchema;
use serde::Serialize;
use vplan_base::canon::Digest;
use vplan_base::vocabulary::Exit;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_check::confine::InputsBasis;
use vplan_check::outcome::{Cause, Status};
use vplan_plan::caveat::Code;
use vplan_plan::order::check_order;
use vplan_plan::scope::OUTSIDE;
use vplan_plan::shard::{MOST, share};
use vplan_plan::{Coverage, Plan, Rewrite, Step, digest};

/// Whether something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AspectState {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// There is nothing to tell it by.
    Unknown,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Aspect {
    /// A stable name: `plan`, `steps`, `statuses`, `verdict`, `exitCode`, `coverage`, `journal`,
    /// `logs`, `origin`, `tree`.
    pub aspect: &'static str,
    /// Whether it holds.
    pub holds: AspectState,
    /// One line for people, safe to show.
    pub message: String,
}

impl Aspect {
    /// Creates the finding that an aspect holds.
    pub fn yes(aspect: &'static str, message: impl Into<String>) -> Self {
        Self::new(aspect, AspectState::Yes, message.into())
    }

    /// Creates the finding that an aspect does not hold.
    pub fn no(aspect: &'static str, message: impl Into<String>) -> Self {
        Self::new(aspect, AspectState::No, message.into())
    }

    /// Creates the finding that an aspect cannot be decided.
    pub fn unknown(aspect: &'static str, message: impl Into<String>) -> Self {
        Self::new(aspect, AspectState::Unknown, message.into())
    }

    fn new(aspect: &'static str, holds: AspectState, message: String) -> Self {
        Self {
            aspect,
            holds,
            message,
        }
    }
}

/// Examines a report. `plan`: the one that was executed last, as recorded. `journal`: its replay.
pub fn examine(report: &Report, plan: Option<&Plan>, journal: Option<&ReplayedRun>) -> Vec<Aspect> {
    let mut found = Vec::new();
    match plan {
        Some(plan) => {
            found.push(the_plan(report, plan));
            let steps = the_steps(report, plan);
            let pairs = steps.holds == AspectState::Yes;
            found.push(steps);
            // Statuses are compared by place: without the same steps there is nothing to compare.
            if pairs {
                found.push(the_statuses(report, plan));
                found.extend(the_verdict(report, plan));
            }
        }
        None => found.push(Aspect::unknown(
            "plan",
            "there is no plan beside the report: its verdict cannot be judged again",
        )),
    }
    found.push(match journal {
        Some(journal) => the_journal(report, journal),
        None => Aspect::unknown("journal", "there are no events beside the report"),
    });
    found
}

/// Returns the plan that was executed last, of a report that carries one: that of a shard, and that
/// of merged shards.
///
/// # Errors
/// The contradiction between the report and its plan.
pub fn own_plan(report: &Report) -> Result<Option<Plan>, &'static str> {
    match (&report.shard, &report.merged) {
        (Some(_), Some(_)) => Err("it is about a shard and about all of them"),
        (Some(record), None) => of_shard(report, record).map(Some),
        (None, Some(merged)) => of_merged(report, merged).map(Some),
        (None, None) => Ok(None),
    }
}

/// Checks a whole plan in a report.
fn own_digest(plan: &Plan, said: Option<&Digest>) -> Result<(), &'static str> {
    if plan.digest.as_ref() != Some(&digest::digest(plan)) || said != plan.digest.as_ref() {
        return Err("its plan does not have the digest that it says");
    }
    check_order(plan).map_err(|_| "its plan contradicts itself")
}

fn of_shard(report: &Report, record: &ShardRecord) -> Result<Plan, &'static str> {
    own_digest(&record.plan, record.plan_digest.as_ref())?;
    if record.index == 0 || record.index > record.count || record.count > MOST {
        return Err("there is no such shard");
    }
    if let Some(division) = &record.division
        && (division.check(&record.plan, Some(record.count))).is_err()
    {
        return Err("its division is not one of its plan");
    }
    let own = share(&record.plan, record.shard(), record.division.as_ref());
    let executed = match &record.executed {
        None => own.plan,
        Some(steps) => {
            let plain = |r: &Rewrite| Rewrite {
                next_digest: None,
                ..r.clone()
            };
            digest::seal(Plan {
                steps: steps.clone(),
                rewrites: report.rewrites.iter().map(plain).collect(),
                ..own.plan
            })
        }
    };
    if own.elsewhere != record.elsewhere
        || executed.digest != report.plan_digest
        || check_order(&executed).is_err()
    {
        return Err("the plan that it executed is not the shard's");
    }
    Ok(executed)
}

/// Returns the plan of merged shards, with the steps that recovery made. Its digest is that of the
/// whole plan.
fn of_merged(report: &Report, merged: &MergedPlan) -> Result<Plan, &'static str> {
    own_digest(&merged.plan, report.plan_digest.as_ref())?;
    let mut plan = (*merged.plan).clone();
    if let Some(steps) = &merged.executed {
        plan.steps.clone_from(steps);
        plan.rewrites.clone_from(&report.rewrites);
    }
    Ok(plan)
}

/// Returns the changes outside the contract's scope, from the plan's notes.
pub(super) fn violations(plan: &Plan) -> Vec<String> {
    let outside = plan.notes.iter().filter(|n| n.kind == OUTSIDE);
    outside.map(|n| n.message.clone()).collect()
}

/// Returns how a run ended, as far as its report records it.
pub(super) fn ending(report: &Report, plan: &Plan) -> StateEnding {
    let cancelled =
        (report.verdict == Verdict::Cancelled).then_some(match Exit::of(report.exit_code) {
            Some(Exit::Terminated) => Interrupt::Term,
            _ => Interrupt::Int,
        });
    // A step's own limit gives that code too, unless another failure precedes it.
    let own_limit = || {
        let (ending, also) = (StateEnding::default(), RunFacts::default());
        let judged = judge(plan, &report.steps, &ending, &also, Require::default());
        judged.exit == Exit::Time
    };
    let is_cut = report.steps.iter().any(StepRecord::is_cut);
    let budget_used =
        cancelled.is_none() && report.exit_code == Exit::Time.code() && (is_cut || !own_limit());
    let cut = || {
        let mut steps = report.steps.iter();
        let cut = steps.find(|r| r.reason == Some(Cause::Storage))?;
        cut.detail.clone()
    };
    // Where all steps had ended, no step records that the record could not be kept.
    let reason = report.reason.as_deref();
    let reason = reason.filter(|_| report.verdict == Verdict::Incomplete);
    let unrecorded = reason.and_then(|reason| reason.strip_prefix(UNRECORDED));
    let storage = unrecorded.map(str::to_owned).or_else(cut);
    StateEnding {
        budget_used,
        cancelled,
        duration_ms: report.duration_ms,
        storage,
    }
}

fn the_plan(report: &Report, plan: &Plan) -> Aspect {
    if report.merged.is_some() {
        return match own_plan(report) {
            Ok(_) => {
                let digest = plan.digest.as_ref().map(ToString::to_string);
                let digest = digest.unwrap_or_default();
                let message = format!("the plan of all shards is {digest}, as reported");
                Aspect::yes("plan", message)
            }
            Err(why) => Aspect::no("plan", why),
        };
    }
    let actual = digest::digest(plan);
    let wrong = match (&plan.digest, &report.plan_digest) {
        (Some(said), _) if *said != actual => {
            format!("the plan says that its digest is {said}, but it is {actual}")
        }
        (_, None) => "the report does not say which plan ran".to_owned(),
        (_, Some(reported)) if *reported != actual => {
            format!("the report is about the plan {reported}, beside it is {actual}")
        }
        _ => return Aspect::yes("plan", format!("the plan is {actual}, as reported")),
    };
    Aspect::no("plan", wrong)
}

fn the_steps(report: &Report, plan: &Plan) -> Aspect {
    let name = |id: &str| visible(id.as_bytes());
    let wrong = plan.steps.iter().enumerate().find_map(|(index, step)| {
        let records = report.steps.iter().filter(|r| r.id == step.id).count();
        let id = name(&step.id);
        if records != 1 {
            return Some(format!("the step `{id}` has {records} records, not one"));
        }
        match report.steps.get(index) {
            Some(record) if record.id != step.id => {
                Some(format!("the record of `{id}` is not in its place"))
            }
            Some(record) if record.command != step.command => {
                Some(format!("the record of `{id}` is about another command"))
            }
            _ => None,
        }
    });
    let extra = report.steps.get(plan.steps.len());
    let extra = || extra.map(|extra| format!("the plan has no step `{}`", name(&extra.id)));
    match wrong.or_else(extra) {
        Some(wrong) => Aspect::no("steps", wrong),
        None => {
            let message = format!("each of {} steps has its record", plan.steps.len());
            Aspect::yes("steps", message)
        }
    }
}

/// Checks for records that no step can have.
fn the_statuses(report: &Report, plan: &Plan) -> Aspect {
    for (step, record) in plan.steps.iter().zip(&report.steps) {
        let runs = !matches!(step.kind, Kind::File | Kind::Judge);
        let ended = matches!(
            record.status,
            Status::Passed | Status::PassedWithWarnings | Status::Flaky
        );
        let wrong = match record.status {
            _ if ended && record.tries == 0 => Some("passed without a try"),
            _ if ended && runs && record.signal.is_some() => {
                Some("passed although a signal ended it")
            }
            _ if ended
                && runs
                && record.reason != Some(Cause::Known)
                && !step.accepts(record.exit_code) =>
            {
                Some("passed with an exit code that is not accepted")
            }
            _ if let Some(wrong) =
                contradicted(step, record, report.baseline.as_ref(), &report.caveats) =>
            {
                Some(wrong)
            }
            _ if ended && !is_confined(step, record, report) => {
                Some("passed, and was not confined as the plan asks")
            }
            _ if !is_basis_earned(step, record) => {
                Some("is said to have been held to its inputs, and was not")
            }
            Status::PassedWithWarnings
                if record.reason != Some(Cause::Known)
                    && record.tests.is_some_and(|t| t.failed > 0) =>
            {
                Some("passed although tests failed")
            }
            Status::Flaky if record.tries < 2 && record.tests.is_none_or(|t| t.flaky == 0) => {
                Some("is flaky after one try")
            }
            Status::Passed | Status::Flaky if record.tests.is_some_and(|t| t.failed > 0) => {
                Some("passed although tests failed")
            }
            Status::NotRun if record.tries > 0 => Some("has a try although it did not run"),
            Status::Failed
            | Status::TimedOut
            | Status::Errored
            | Status::Skipped
            | Status::NotRun
                if record.reason.is_none() =>
            {
                Some("did not pass, for no reason")
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            let wrong = format!("`{}` {wrong}", visible(&step.id));
            return Aspect::no("statuses", wrong);
        }
    }
    Aspect::yes("statuses", "each status fits its record")
}

/// Whether a step that passed was confined as the plan asks, or the report says that it was not.
fn is_confined(step: &Step, record: &StepRecord, report: &Report) -> bool {
    let Some(confined) = &record.sandbox else {
        return step.confinement().is_none();
    };
    let mut caveats = report.caveats.iter();
    confined.is_of(step.confinement())
        && (confined.missing.is_empty()
            || caveats.any(|caveat| caveat.code == Code::SandboxMissing))
}

/// Whether plan and enforced limits justify the recorded basis for the claim that a step depends
/// only on its `inputs`. A record may claim less.
fn is_basis_earned(step: &Step, record: &StepRecord) -> bool {
    match record.inputs {
        None => true,
        Some(InputsBasis::Enforced) => record.sandbox.as_ref().is_some_and(|confined| {
            confined.is_of(step.confinement()) && step.is_held_to_inputs(&confined.reached)
        }),
        Some(InputsBasis::Observed | InputsBasis::Believed) => step.inputs.is_some(),
    }
}

/// Compares the verdict, the exit code and the coverage with those that the records give.
fn the_verdict(report: &Report, plan: &Plan) -> [Aspect; 3] {
    let part = report.shard.as_ref().and_then(ShardRecord::part);
    let violations = violations(plan);
    let also = RunFacts {
        caveats: &report.caveats,
        part: part.as_deref(),
        violations: &violations,
    };
    let ending = ending(report, plan);
    let judge = |require| judge(plan, &report.steps, &ending, &also, require);
    let judged = judge(Require::default());
    // `--require` is not recorded: its strictest value gives the other possible code.
    let strict = judge(Require {
        full: true,
        some: true,
    });
    let compared = |aspect, [reported, given]: [String; 2]| {
        let differs = format!("the records give {given}, the report says {reported}");
        match reported == given {
            true => Aspect::yes(aspect, reported),
            false => Aspect::no(aspect, differs),
        }
    };
    let verdict = |v: Verdict| v.name().replace('_', " ");
    let coverage = |c: Coverage| match c {
        Coverage::Full => "full coverage".to_owned(),
        Coverage::Narrowed => "narrowed coverage".to_owned(),
    };
    let reported = format!("exit code {}", report.exit_code);
    let exit = if is_of_ledger(report) {
        Aspect::unknown("exitCode", format!("{reported} is the ledger's"))
    } else {
        let exits = [judged.exit.code(), strict.exit.code()];
        let given = match exits.contains(&report.exit_code) {
            true => reported.clone(),
            false => format!("exit code {}", judged.exit.code()),
        };
        compared("exitCode", [reported, given])
    };
    let verdicts = [report.verdict, judged.verdict].map(verdict);
    let coverages = [report.coverage, judged.coverage].map(coverage);
    [
        compared("verdict", verdicts),
        exit,
        compared("coverage", coverages),
    ]
}

/// Whether the exit code is one that the ledger gives: with a subject, it may decide last.
fn is_of_ledger(report: &Report) -> bool {
    let exits = [Exit::Unconfirmed, Exit::Exhausted, Exit::Escalated];
    exits.map(Exit::code).contains(&report.exit_code)
}

fn the_journal(report: &Report, journal: &ReplayedRun) -> Aspect {
    let no = |message: String| Aspect::no("journal", message);
    if journal.run_id != report.run_id {
        let run = visible(&journal.run_id);
        return no(format!("the events are those of the run `{run}`"));
    }
    let JournalEnd::Finished {
        coverage,
        exit_code,
        verdict,
    } = journal.end
    else {
        return no("the events have no end: the run was interrupted".to_owned());
    };
    if journal.plan_digest != report.plan_digest {
        return no("the events are about another plan".to_owned());
    }
    if (verdict, coverage) != (report.verdict, report.coverage)
        || (exit_code != report.exit_code && !is_of_ledger(report))
    {
        let verdict = verdict.name().replace('_', " ");
        return no(format!(
            "the events end with {verdict}, exit code {exit_code}"
        ));
    }
    let ends = journal.steps.iter().map(|s| (s.id.as_str(), s.state));
    let reported = report.steps.iter();
    let reported = reported.map(|s| (s.id.as_str(), StepState::Ended(s.status, s.reason)));
    if !ends.eq(reported) {
        return no("the events end with other statuses".to_owned());
    }
    if journal.rewrites.len() > report.rewrites.len() {
        return no("the events have rewrites that the report does not have".to_owned());
    }
    Aspect::yes("journal", "the events end as the report says")
}
