//! The report of a run, in plan order: the one document that people and pipelines read.

use super::feedback::{Feedback, FeedbackRound, feedback};
use super::known::BaselineUse;
use super::record::StepRecord;
use super::state::StateEnding;
use super::verdict::{Require, RunFacts, UNRECORDED, Verdict, judge};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::Digest;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::Exit;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_check::confine::Guarantee;
use vplan_check::environment::EnvironmentUse;
use vplan_check::outcome::{Cause, Outcome, Status};
use vplan_plan::caveat::Caveat;
use vplan_plan::compared::Compared;
use vplan_plan::drift::Difference;
use vplan_plan::shard::division::Division;
use vplan_plan::shard::{Shard, Share};
use vplan_plan::{Coverage, Note, Omitted, Plan, Refusal, Rewrite, Step};

/// The number of rounds that may follow the first one.
pub const DEFAULT_RETRIES: u32 = 3;

/// A report. Nothing in it depends on the order in which things happened to be noticed.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The number of this round, from 1.
    pub attempt: u32,
    /// The baseline that counted, whether or not it excused anything; absent where there was none.
    pub baseline: Option<BaselineUse>,
    /// The caveats: why the answer means less than was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
    /// The comparison that found the changed files.
    pub compared: Option<Compared>,
    /// The mechanism that contained the steps' processes: `namespace`, where each of them was sealed,
    /// `subtree` or `group`.
    pub containment: Option<String>,
    /// The number of confirmations of the work now; absent without a subject, but in a loop whose
    /// gate asks for more than one confirmation.
    pub counter: Option<u32>,
    /// The part of the request that was verified.
    pub coverage: Coverage,
    /// The decision: what the caller does next.
    pub decision: Decision,
    /// The reason why the decision is about more than this round: `stuck`, `same_failure`,
    /// `verification_failed_max_retries`, `nothing_applies`, `part_of_change`, `left_behind`,
    /// `contract_changed`, `empty_change`, `other_subject`; of a loop `change_gone`.
    pub decision_reason: Option<String>,
    /// The duration of the run, in milliseconds.
    pub duration_ms: u64,
    /// The variables of vplan's own environment that steps got beyond the allow-list, or requested
    /// and did not get; absent when there are none.
    #[serde(default, skip_serializing_if = "EnvironmentUse::is_plain")]
    pub environment: EnvironmentUse,
    /// The exit code.
    pub exit_code: u8,
    /// The feedback on the failures; absent when nothing failed.
    pub feedback: Option<Feedback>,
    /// The plan of all shards, if shards were merged.
    pub merged: Option<MergedPlan>,
    /// New files that steps left and that git does not ignore, in byte order: `tree` is without
    /// them as long as they are as they were left and not in the index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_files: Vec<NewFile>,
    /// Whether no file has changed since the last round of any subject ended; absent without a
    /// subject.
    pub no_change: Option<bool>,
    /// Notes on the plan and the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The checks that were left out, and why.
    pub omitted: Vec<Omitted>,
    /// All other subjects; absent without a subject.
    pub others: Option<Vec<SubjectConfirmations>>,
    /// The digest of the plan that was executed last.
    pub plan_digest: Option<Digest>,
    /// The reason for the verdict, on one line; absent for a plain pass.
    pub reason: Option<String>,
    /// Repairs of the plan that were examined and not made, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// The number of confirmations that the work needs; absent where `counter` is.
    pub required: Option<u32>,
    /// The number of rounds left.
    pub retries_remaining: u32,
    /// The rewrites of the plan by recovery, in order.
    pub rewrites: Vec<Rewrite>,
    /// The run.
    pub run_id: String,
    /// The comparison of a saved plan with the repository, if one was run.
    pub saved_plan: Option<SavedPlan>,
    /// The shard of the plan that was run, if it was only one.
    pub shard: Option<ShardRecord>,
    /// The merged shards, if shards were merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardSummary>,
    /// One entry a step, in plan order.
    pub steps: Vec<StepRecord>,
    /// The subject of the round, if it had one.
    pub subject: Option<String>,
    /// Evidence of steps that ran again after a rewrite, or were removed by it: earliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<StepRecord>,
    /// The digest of the verified tree, if it is known.
    pub tree: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// The exit code of the verdict, before the ledger's decision replaced it; absent without a
    /// subject.
    pub verdict_code: Option<u8>,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

/// The comparison of a saved plan with the repository in which it was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedPlan {
    /// There was no contract that could have confirmed it.
    pub as_is: bool,
    /// The fields in which the plan would have been another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<Difference>,
}

/// The shard of a plan that was run, with all that is needed to merge it with the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShardRecord {
    /// The number of shards.
    pub count: u32,
    /// The division by which the steps were dealt; absent where they were dealt in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub division: Option<Division>,
    /// The steps that belong to other shards, in plan order.
    pub elsewhere: Vec<String>,
    /// The steps that were executed in the end, if recovery changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<Vec<Step>>,
    /// The number of the shard, from 1.
    pub index: u32,
    /// The whole plan.
    pub plan: Box<Plan>,
    /// The digest of the whole plan.
    pub plan_digest: Option<Digest>,
}

impl ShardRecord {
    /// Creates the entry of a share of a plan.
    pub fn new(plan: &Plan, shard: Shard, share: &Share, division: Option<Division>) -> Self {
        let Shard { count, index } = shard;
        let elsewhere = share.elsewhere.clone();
        Self {
            count,
            division,
            elsewhere,
            executed: None,
            index,
            plan: Box::new(plan.clone()),
            plan_digest: plan.digest.clone(),
        }
    }

    /// Returns the shard.
    pub fn shard(&self) -> Shard {
        Shard {
            count: self.count,
            index: self.index,
        }
    }

    /// Returns its name for people, if the whole plan has a check that counts.
    pub fn part(&self) -> Option<String> {
        self.plan
            .steps
            .iter()
            .any(Step::is_effective)
            .then(|| self.shard().to_string())
    }
}

/// A new file that a step left and that git does not ignore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewFile {
    /// Its mode, in octal, and the id that git has for its content.
    pub content: String,
    /// Its path.
    pub path: RepoPath,
}

/// The failure code of a step that changed files without permission. It is not one of the
/// classifier's, which reads the step's own evidence.
pub const TREE_CHANGED: &str = "verification_tree_changed";

/// The plan of merged shards, with all that is needed to check their report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergedPlan {
    /// The steps that were executed in the end, if recovery changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<Vec<Step>>,
    /// The whole plan.
    pub plan: Box<Plan>,
}

/// The summary of a merged shard.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShardSummary {
    /// Its duration in milliseconds.
    pub duration_ms: Option<u64>,
    /// The number of the shard, from 1.
    pub index: u32,
    /// Its run; absent when its report is missing.
    pub run_id: Option<String>,
    /// Its verdict; absent when its report is missing.
    pub verdict: Option<Verdict>,
}

vplan_base::vocabulary! {
    /// The decision: what a caller does next.
    Decision {
        /// Go on; other subjects are not complete.
        Advance = "advance",
        /// Nothing is left to do: every subject is complete.
        Complete = "complete",
        /// Have a person look at it.
        Escalate = "escalate",
        /// Give up: the rounds are used up.
        Fail = "fail",
        /// Repair and verify again.
        Retry = "retry",
        /// Verify again: it passed, and has to do so once more.
        Reverify = "reverify",
    }
}

/// The confirmations of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Standing")]
pub struct SubjectConfirmations {
    /// The number of confirmations.
    pub counter: u32,
    /// The name of the subject.
    pub subject: String,
}

/// The parts of a report other than the plan and the steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// The number of this round, from 1 (`--attempt`).
    pub attempt: u32,
    /// The baseline that counted.
    pub baseline: Option<BaselineUse>,
    /// Caveats: why the answer means less than was requested.
    pub caveats: Vec<Caveat>,
    /// The mechanism that contained the steps' processes.
    pub containment: Option<String>,
    /// The variables that steps inherited of vplan's own environment.
    pub environment: EnvironmentUse,
    /// New files that steps left, in byte order.
    pub new_files: Vec<NewFile>,
    /// Notes on the run, after the plan's own notes.
    pub notes: Vec<Note>,
    /// Repairs that were not made.
    pub refusals: Vec<Refusal>,
    /// The requirements beyond a pass.
    pub require: Require,
    /// The number of rounds that may follow the first one.
    pub retries: u32,
    pub run_id: String,
    /// The comparison of the saved plan with the present one, if one was run.
    pub saved_plan: Option<SavedPlan>,
    /// The share of a plan that this is, if it is only one.
    pub shard: Option<ShardRecord>,
    /// Evidence that no longer counts.
    pub superseded: Vec<StepRecord>,
    /// The tree that was verified.
    pub tree: Option<String>,
    /// Changes outside the contract's scope, one line each.
    pub violations: Vec<String>,
}

/// The containment in which no process outlives its step, whichever process is killed.
const NAMESPACE: &str = "namespace";

/// Returns the weaker one of two kinds of containment.
pub(super) fn weaker(one: Option<String>, other: Option<String>) -> Option<String> {
    let rank = |level: &String| {
        let mut levels = ["group", "subtree", NAMESPACE].iter();
        levels.position(|l| l == level)
    };
    one.into_iter().chain(other).min_by_key(rank)
}

/// Returns how the processes of all steps were contained; at least at `level`.
fn contained(plan: &Plan, records: &[StepRecord], level: String) -> String {
    let ran = plan.steps.iter().zip(records);
    let mut ran = ran
        .filter(|(step, record)| record.tries > 0 && step.kind != Kind::File)
        .peekable();
    let is_sealed = |record: &StepRecord| {
        let sandbox = record.sandbox.as_ref();
        sandbox.is_some_and(|sandbox| sandbox.reached.contains(&Guarantee::NoSurvivor))
    };
    let some = ran.peek().is_some();
    if some && ran.all(|(step, record)| step.with.is_empty() && is_sealed(record)) {
        NAMESPACE.to_owned()
    } else {
        level
    }
}

/// Makes the report of a run. `records` are in plan order, one a step.
pub fn report(
    plan: &Plan,
    records: Vec<StepRecord>,
    ending: &StateEnding,
    mut of_run: Circumstances,
) -> Report {
    if let Some(shard) = &mut of_run.shard {
        let rewritten = plan.rewrites.len() > shard.plan.rewrites.len();
        shard.executed = rewritten.then(|| plan.steps.clone());
    }
    let part = of_run.shard.as_ref().and_then(ShardRecord::part);
    let containment = of_run
        .containment
        .map(|level| contained(plan, &records, level));
    let also = RunFacts {
        caveats: &of_run.caveats,
        part: part.as_deref(),
        violations: &of_run.violations,
    };
    let judgement = judge(plan, &records, ending, &also, of_run.require);
    // The first of N + 1 rounds leaves N; a round beyond the last leaves none.
    let retries_remaining = of_run
        .retries
        .saturating_add(1)
        .saturating_sub(of_run.attempt);
    let feedback = feedback(
        plan,
        &records,
        &FeedbackRound {
            attempt: of_run.attempt,
            caveats: &of_run.caveats,
            retries_remaining,
            run_id: &of_run.run_id,
        },
    );
    Report {
        attempt: of_run.attempt,
        baseline: of_run.baseline,
        caveats: of_run.caveats,
        compared: plan.compared.clone(),
        containment,
        counter: None,
        coverage: judgement.coverage,
        decision: if judgement.verdict.is_pass() {
            Decision::Advance
        } else {
            after_failure(retries_remaining)
        },
        decision_reason: None,
        duration_ms: ending.duration_ms,
        environment: of_run.environment,
        exit_code: judgement.exit.code(),
        feedback,
        merged: None,
        new_files: of_run.new_files,
        no_change: None,
        notes: plan.notes.iter().cloned().chain(of_run.notes).collect(),
        omitted: plan.omitted.clone(),
        others: None,
        plan_digest: plan.digest.clone(),
        reason: judgement.reason,
        refusals: of_run.refusals,
        required: None,
        retries_remaining,
        rewrites: rewrites(plan),
        run_id: of_run.run_id,
        saved_plan: of_run.saved_plan,
        shard: of_run.shard,
        shards: Vec::new(),
        steps: records,
        subject: None,
        superseded: of_run.superseded,
        tree: of_run.tree,
        verdict: judgement.verdict,
        verdict_code: None,
        version: 1,
    }
}

/// Decides what follows a failure, by the number of rounds left.
fn after_failure(retries_remaining: u32) -> Decision {
    match retries_remaining {
        0 => Decision::Fail,
        _ => Decision::Retry,
    }
}

impl Report {
    /// Whether the caller may go on.
    pub fn is_good(&self) -> bool {
        self.verdict.is_pass()
            || self.verdict == Verdict::NothingToVerify
            || [Exit::Success.code(), Exit::Unconfirmed.code()].contains(&self.exit_code)
    }

    /// Returns the whole plan, where that is not the executed one: of a shard, and of merged ones.
    pub fn whole(&self) -> Option<&Plan> {
        let shard = self.shard.as_ref().map(|shard| &*shard.plan);
        shard.or(self.merged.as_ref().map(|merged| &*merged.plan))
    }

    /// Makes a good verdict incomplete: the record could not be written to its end, so the evidence
    /// cannot be read again.
    pub fn unrecorded(&mut self, why: &str) {
        self.verdict = Verdict::Incomplete;
        self.reason = Some(format!("{UNRECORDED}{}", visible(why.as_bytes())));
        self.exit_code = Exit::Incomplete.code();
        self.verdict_code = self.verdict_code.map(|_| self.exit_code);
        self.decision = after_failure(self.retries_remaining);
    }
}

/// Returns recovery's rewrites. A plan cannot contain its own digest, so the digest after a rewrite
/// is that before the next one.
fn rewrites(plan: &Plan) -> Vec<Rewrite> {
    let before = plan
        .rewrites
        .iter()
        .skip(1)
        .map(|r| &r.previous_digest)
        .chain([&plan.digest]);
    plan.rewrites
        .iter()
        .zip(before)
        .map(|(r, next)| Rewrite {
            next_digest: next.clone(),
            ..r.clone()
        })
        .collect()
}

/// Returns the records of a run in which nothing ran because of changes outside the contract's
/// scope.
pub fn refused(plan: &Plan) -> Vec<StepRecord> {
    let why = || {
        Outcome::new(
            Status::NotRun,
            Cause::Policy,
            "the change is outside the contract's scope",
        )
    };
    plan.steps
        .iter()
        .map(|step| StepRecord::without_evidence(step, why()))
        .collect()
}
