//! Computes the verdict on a plan and the exit code that reports it (src/engine.md sections 7 and
//! 11).

use super::event::Interrupt;
use super::record::StepRecord;
use super::state::StateEnding;
use vplan_base::vocabulary::Exit;
use vplan_base::word::{framed, visible};
use vplan_check::outcome::{Cause, Status};
use vplan_check::{Kind, Severity};
use vplan_plan::caveat::{self, Caveat};
use vplan_plan::request::Mode;
use vplan_plan::{Coverage, Plan, Step, vacuity};

/// The beginning of the reason when the record could not be written; the system's message follows.
pub(super) const UNRECORDED: &str = "the record could not be written: ";

vplan_base::vocabulary! {
    /// The verdict on a run.
    Verdict {
        /// A signal ended it before everything was over.
        Cancelled = "cancelled",
        /// A blocking step could not be run.
        Errored = "errored",
        /// A blocking step failed, the change is outside the contract's scope, or a caveat says so.
        Failed = "failed",
        /// A blocking step used up its own time limit.
        TimedOut = "timed_out",
        /// Something that should have run did not, or nothing gave evidence.
        Incomplete = "incomplete",
        /// A contract was read, and each of its checks, of which it has some, was left out for a shown
        /// reason.
        NothingToVerify = "nothing_to_verify",
        /// Everything that blocks passed.
        Passed = "passed",
    }
}

impl Verdict {
    /// Whether the caller may go on.
    pub fn is_pass(self) -> bool {
        matches!(self, Verdict::Passed | Verdict::NothingToVerify)
    }
}

/// The caller's requirements beyond a pass (`--require`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Require {
    /// Whether narrowed coverage is not enough.
    pub full: bool,
    /// Whether an empty plan is not enough.
    pub some: bool,
}

/// The verdict with its coverage, exit code and reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The part of the request that was verified.
    pub coverage: Coverage,
    /// The exit code of the run.
    pub exit: Exit,
    /// One line for people, safe to show; absent for a plain pass.
    pub reason: Option<String>,
    pub verdict: Verdict,
}

/// The facts of a run other than its plan and its steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunFacts<'a> {
    /// Caveats: why a pass means less than was requested.
    pub caveats: &'a [Caveat],
    /// The display name of the run's share of the plan (`plan::shard`), if it is not all of it. A
    /// share without effective checks is reported, but is not an error: other shares have them.
    pub part: Option<&'a str>,
    /// Changes outside the contract's scope, for people; a run with one has run nothing.
    pub violations: &'a [String],
}

/// Computes the verdict on a run. Total: every plan with any records has one, and no verdict but a
/// pass has exit code 0.
///
/// `records` are in plan order; a step without a record counts as not run.
pub fn judge(
    plan: &Plan,
    records: &[StepRecord],
    ending: &StateEnding,
    also: &RunFacts<'_>,
    require: Require,
) -> Judgement {
    // A share with checks of its own is treated like any other plan.
    let part = also
        .part
        .filter(|_| !plan.steps.iter().any(Step::is_effective));
    let run = Run {
        plan,
        records,
        ending,
        also,
        part,
    };
    let (verdict, reason) = run.verdict();
    let coverage = run.coverage();
    let codes = run.blocking();
    let codes = codes.filter_map(|(step, record)| exit_of_step(step, record?));
    let mut codes: Vec<Exit> = codes.collect();
    codes.extend(ending.cancelled.map(Interrupt::exit));
    let is_refused = !also.violations.is_empty() || caveat::failing(also.caveats).is_some();
    codes.extend(is_refused.then_some(Exit::Failed));
    let narrowed = require.full && coverage == Coverage::Narrowed;
    let nothing = require.some && verdict == Verdict::NothingToVerify && part.is_none();
    codes.extend((narrowed || nothing || !verdict.is_pass()).then_some(Exit::Incomplete));
    let exit = if run.is_budget_used() && ending.cancelled.is_none() {
        Exit::Time
    } else {
        let first = codes.into_iter().min_by_key(|code| precedence(*code));
        first.unwrap_or(Exit::Success)
    };
    let unmet = match (nothing, narrowed) {
        (true, _) => Some("something was required to be verified"),
        (_, true) => Some("full coverage was required"),
        _ => None,
    };
    let reason = match (reason, unmet) {
        (Some(reason), Some(unmet)) if verdict.is_pass() => Some(format!("{reason}; {unmet}")),
        (None, Some(unmet)) => Some(unmet.to_owned()),
        (reason, _) => reason,
    };
    Judgement {
        coverage,
        exit,
        reason,
        verdict,
    }
}

/// Returns the rank of an exit code; the lowest rank counts.
fn precedence(code: Exit) -> usize {
    const ORDER: [Exit; 8] = [
        Exit::Interrupted,
        Exit::Terminated,
        Exit::Compilation,
        Exit::Tests,
        Exit::Time,
        Exit::Failed,
        Exit::Setup,
        Exit::Incomplete,
    ];
    ORDER.iter().position(|c| *c == code).unwrap_or(ORDER.len())
}

/// Returns the exit code that follows from a blocking step's own end. (Where the budget ended it,
/// [`Run::is_budget_used`] has the same code.)
///
/// A time limit is 43 for any step; a step that changed the tree is 40; otherwise a `setup` step's
/// failure is 5 whatever its verb.
fn exit_of_step(step: &Step, record: &StepRecord) -> Option<Exit> {
    match record.status {
        Status::TimedOut => Some(Exit::Time),
        Status::Errored
            if matches!(
                record.reason,
                Some(
                    Cause::Away | Cause::Machine | Cause::Missing | Cause::Sandbox | Cause::Service
                )
            ) || step.setup =>
        {
            Some(Exit::Setup)
        }
        Status::Errored => Some(Exit::Failed),
        // That it wrote tells nothing about what it verifies.
        Status::Failed if record.reason == Some(Cause::TreeChanged) => Some(Exit::Failed),
        Status::Failed if step.setup => Some(Exit::Setup),
        Status::Failed => Some(match step.kind {
            Kind::Compile => Exit::Compilation,
            Kind::Test => Exit::Tests,
            Kind::Run | Kind::Shell | Kind::Lint | Kind::File | Kind::Judge => Exit::Failed,
        }),
        Status::Passed
        | Status::PassedWithWarnings
        | Status::Flaky
        | Status::Cached
        | Status::Skipped
        | Status::NotRun => None,
    }
}

struct Run<'a> {
    plan: &'a Plan,
    records: &'a [StepRecord],
    ending: &'a StateEnding,
    also: &'a RunFacts<'a>,
    /// The name of this share of a plan, if it has no check that counts.
    part: Option<&'a str>,
}

impl Run<'_> {
    fn steps(&self) -> impl Iterator<Item = (&Step, Option<&StepRecord>)> {
        let steps = self.plan.steps.iter().enumerate();
        steps.map(|(i, step)| (step, self.records.get(i)))
    }

    fn blocking(&self) -> impl Iterator<Item = (&Step, Option<&StepRecord>)> {
        self.steps()
            .filter(|(step, _)| step.severity == Severity::Blocking)
    }

    fn is_budget_used(&self) -> bool {
        self.ending.budget_used || self.records.iter().any(StepRecord::is_cut)
    }

    /// Returns the verdict and, for people, the reason: the first rule that applies.
    fn verdict(&self) -> (Verdict, Option<String>) {
        if let Some(signal) = self.ending.cancelled {
            let name = match signal {
                Interrupt::Int => "SIGINT",
                Interrupt::Term => "SIGTERM",
            };
            return (Verdict::Cancelled, Some(format!("interrupted by {name}")));
        }
        let first = |wanted: fn(&StepRecord) -> bool| {
            self.blocking().find_map(|(_, r)| r.filter(|r| wanted(r)))
        };
        if let Some(record) = first(|r| r.status == Status::Errored) {
            return (Verdict::Errored, Some(describe_end(record)));
        }
        if let Some(violation) = self.also.violations.first() {
            return (Verdict::Failed, Some(violation.clone()));
        }
        if let Some(record) =
            first(|r| matches!(r.status, Status::Failed | Status::TimedOut) && !r.is_cut())
        {
            let verdict = match record.status {
                Status::TimedOut => Verdict::TimedOut,
                _ => Verdict::Failed,
            };
            return (verdict, Some(describe_end(record)));
        }
        if let Some(caveat) = caveat::failing(self.also.caveats) {
            return (Verdict::Failed, Some(caveat.message.clone()));
        }
        if let Some(reason) = self.missing() {
            return (Verdict::Incomplete, Some(reason));
        }
        if let Some(part) = self.part {
            let reason = format!("{part} has no check of its own that counts: it verified nothing");
            return (Verdict::NothingToVerify, Some(reason));
        }
        if self.plan.steps.is_empty() {
            return (Verdict::NothingToVerify, Some(vacuity::why(self.plan)));
        }
        (Verdict::Passed, None)
    }

    /// Returns why the evidence is not complete.
    fn missing(&self) -> Option<String> {
        if let Some(message) = &self.ending.storage {
            return Some(format!("{UNRECORDED}{}", visible(message.as_bytes())));
        }
        if self.is_budget_used() {
            return Some("the budget was used up".to_owned());
        }
        for (step, record) in self.blocking() {
            match record {
                None => return Some(format!("`{}` did not run", visible(step.id.as_bytes()))),
                Some(r) if r.status == Status::NotRun || r.reason == Some(Cause::NoJudge) => {
                    return Some(describe_end(r));
                }
                Some(_) => {}
            }
        }
        if let Some(caveat) = caveat::blocking(self.also.caveats) {
            return Some(caveat.message.clone());
        }
        if self.part.is_some() {
            return None;
        }
        if self.plan.steps.is_empty() {
            // Mode `off` was requested: nothing is verified, which is reported, and `--require
            // some` refuses it.
            return match &self.plan.contract {
                _ if self.plan.request.mode == Mode::Off => None,
                None => Some("there was nothing to run and no contract that says so".to_owned()),
                Some(_) if vacuity::left_something_out(self.plan) => None,
                Some(_) => Some(vacuity::EMPTY.to_owned()),
            };
        }
        let passed = |r: &StepRecord| r.status.is_pass();
        let mut steps = self.steps();
        let evidence = steps.any(|(step, r)| step.is_effective() && r.is_some_and(passed));
        (!evidence).then(|| "no check that counts gave evidence".to_owned())
    }

    fn coverage(&self) -> Coverage {
        let narrowed = caveat::narrows(self.also.caveats)
            || vacuity::narrows(self.plan)
            || self.plan.omitted.iter().any(|o| o.narrows)
            || self
                .plan
                .rewrites
                .iter()
                .any(|r| r.coverage == Coverage::Narrowed)
            || self
                .steps()
                .any(|(step, r)| !step.setup && r.is_some_and(|r| r.status == Status::Skipped));
        if narrowed {
            Coverage::Narrowed
        } else {
            Coverage::Full
        }
    }
}

/// Describes a step's end on one line.
fn describe_end(record: &StepRecord) -> String {
    let what = match record.status {
        Status::Errored => "could not be run",
        Status::Failed => "failed",
        Status::TimedOut => "timed out",
        Status::Skipped => "was skipped",
        Status::NotRun => "did not run",
        Status::Passed | Status::PassedWithWarnings | Status::Flaky | Status::Cached => "passed",
    };
    let detail = framed(": ", record.detail.as_ref(), "");
    format!("`{}` {what}{detail}", visible(record.id.as_bytes()))
}

#[cfg(test)]
mod tests;
