//! What came of a run, in plan order? The one document that people and pipelines read (engine.md section 13).

use super::feedback::{Feedback, feedback};
use super::record::StepRecord;
use super::state::Ending;
use super::verdict::{Judgement, Require, Verdict, judge};
use crate::base::canon::Digest;
use crate::check::outcome::{Cause, Outcome, Status};
use crate::plan::{Coverage, Note, Omitted, Plan, Refusal, Rewrite};
use serde::{Deserialize, Serialize};

/// How many rounds may follow the first one (engine.md section 9).
pub const DEFAULT_RETRIES: u32 = 3;

/// A report. Nothing in it depends on the order in which things happened to be noticed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Which round this is, from 1.
    pub attempt: u32,
    /// What held the steps' processes together: `subtree` or `group`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<String>,
    /// How much of what was asked was verified.
    pub coverage: Coverage,
    /// What the caller should do.
    pub decision: Decision,
    /// How long the run took, in milliseconds.
    pub duration_ms: u64,
    /// What steps saw of vplan's own environment beyond the allow-list, or asked for in vain; absent when there is nothing
    /// to say.
    #[serde(default, skip_serializing_if = "EnvironmentUse::is_plain")]
    pub environment: EnvironmentUse,
    /// The exit code.
    pub exit_code: u8,
    /// For whoever repairs the first failure; absent when nothing failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// What is worth a reader's attention about the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The checks that were left out, and why.
    pub omitted: Vec<Omitted>,
    /// Which plan ran, in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<Digest>,
    /// What decided the verdict, on one line; absent for a plain pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Repairs of the plan that were looked at and not made, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// How many rounds are left.
    pub retries_remaining: u32,
    /// What recovery did to the plan, in order.
    pub rewrites: Vec<Rewrite>,
    /// The run.
    pub run_id: String,
    /// One entry a step, in plan order.
    pub steps: Vec<StepRecord>,
    /// Evidence of steps that ran again after a rewrite, or went with it: earliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<StepRecord>,
    /// Which tree was verified, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// The version of this shape: 1.
    pub version: u32,
}

/// What the operator let through to steps, and what was kept from them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvironmentUse {
    /// The names after `--grant-env`, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
    /// `--inherit-env`: everything was let through.
    pub inherited: bool,
    /// Variables that steps asked for and did not get, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
}

/// A variable that a step asked for and that was kept from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// Its name.
    pub name: String,
    /// One line for people, with the way out.
    pub reason: String,
}

impl EnvironmentUse {
    fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// What a caller without a subject should do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Go on.
    Advance,
    /// Repair and verify again.
    Retry,
    /// Give up: the rounds are used up.
    Fail,
}

/// What a report says beside the plan and the steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// Which round this is, from 1 (`--attempt`).
    pub attempt: u32,
    /// What held the steps' processes together.
    pub containment: Option<String>,
    /// What steps saw of vplan's own environment.
    pub environment: EnvironmentUse,
    /// Repairs that were not made.
    pub refusals: Vec<Refusal>,
    /// What is asked for beyond a pass.
    pub require: Require,
    /// How many rounds may follow the first one.
    pub retries: u32,
    /// The run.
    pub run_id: String,
    /// Evidence that no longer counts.
    pub superseded: Vec<StepRecord>,
    /// Which tree was verified.
    pub tree: Option<String>,
    /// Changes outside the contract's scope, one line each.
    pub violations: Vec<String>,
}

/// Makes the report of a run. `records` are in plan order, one a step.
#[must_use]
pub fn report(plan: &Plan, records: Vec<StepRecord>, ending: &Ending, circumstances: Circumstances) -> Report {
    let Circumstances {
        attempt,
        containment,
        environment,
        refusals,
        require,
        retries,
        run_id,
        superseded,
        tree,
        violations,
    } = circumstances;
    let Judgement { coverage, exit, reason, verdict } = judge(plan, &records, ending, &violations, require);
    // The first of N + 1 rounds leaves N; a round beyond the last leaves none.
    let retries_remaining = retries.saturating_add(1).saturating_sub(attempt);
    Report {
        attempt,
        containment,
        coverage,
        decision: match (verdict.is_pass(), retries_remaining) {
            (true, _) => Decision::Advance,
            (false, 0) => Decision::Fail,
            (false, _) => Decision::Retry,
        },
        duration_ms: ending.duration_ms,
        environment,
        exit_code: exit.code(),
        feedback: feedback(plan, &records, attempt, retries_remaining),
        notes: plan.notes.clone(),
        omitted: plan.omitted.clone(),
        plan_digest: plan.digest.clone(),
        reason,
        refusals,
        retries_remaining,
        rewrites: rewrites(plan),
        run_id,
        steps: records,
        superseded,
        tree,
        verdict,
        version: 1,
    }
}

/// What recovery did. A plan cannot hold its own digest, so the digest after a rewrite is that before the next one.
fn rewrites(plan: &Plan) -> Vec<Rewrite> {
    let before = plan.rewrites.iter().skip(1).map(|r| &r.previous_digest).chain([&plan.digest]);
    plan.rewrites.iter().zip(before).map(|(r, next)| Rewrite { next_digest: next.clone(), ..r.clone() }).collect()
}

/// The records of a run in which nothing ran because of changes outside the contract's scope.
#[must_use]
pub fn refused(plan: &Plan) -> Vec<StepRecord> {
    let why = || Outcome::new(Status::NotRun, Cause::Policy, "the change is outside the contract's scope");
    plan.steps.iter().map(|step| StepRecord::without_evidence(step, why())).collect()
}
