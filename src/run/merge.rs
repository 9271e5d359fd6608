//! Merges the reports of all shards of a plan into the verdict that one run of the whole plan would
//! have had.
//!
//! INVARIANT (merge): without fail-fast, budget, signals and recovery, and with the same outcomes,
//! the merged statuses, verdict and exit code are those of the unsharded run. With fail-fast, all
//! statuses up to the first blocking failure in plan order are, and it is a pass exactly if the
//! unsharded run is: a failure in one shard does not stop the others, so that more is known.

use super::event::Interrupt;
use super::record::StepRecord;
use super::report::{
    Circumstances, DEFAULT_RETRIES, Decision, Report, SavedPlan, ShardRecord, ShardSummary, report,
};
use super::state::Ending;
use super::verdict::{Require, RunFacts, UNRECORDED, Verdict, judge, judge_share};
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::check::outcome::{Cause, Outcome, Status};
use crate::plan::caveat::Caveat;
use crate::plan::drift::{Difference, drift};
use crate::plan::order::check_order;
use crate::plan::scope::OUTSIDE;
use crate::plan::shard::{MOST, Shard, share};
use crate::plan::{Plan, Rewrite, Step, digest};
use std::collections::{BTreeMap, BTreeSet};

/// The version of reports that this program reads.
const VERSION: u64 = 1;

/// A report with the name that messages use for it.
#[derive(Clone, Debug)]
pub struct Part {
    /// The file.
    pub name: String,
    /// The report.
    pub report: Report,
}

/// The result of a merge.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The verdict over all shards.
    pub report: Report,
    /// The plan whose steps the report contains.
    pub plan: Plan,
}

/// Why reports cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MergeError {
    /// A stable code.
    pub code: &'static str,
    /// How the plans differ, if that is why.
    pub drift: Vec<Difference>,
    /// The exit code of the error.
    pub exit: Exit,
    /// The way out.
    pub help: Option<&'static str>,
    /// One line for people.
    pub message: String,
}

/// A report that cannot be read.
pub const UNREADABLE: &str = "vplan::merge::unreadable";
/// A report of another version.
pub const OTHER_VERSION: &str = "vplan::merge::version";
/// A report of a whole run.
pub const NO_SHARD: &str = "vplan::merge::no_shard";
/// A report that is not what vplan wrote.
pub const TAMPERED: &str = "vplan::merge::tampered";
/// Shards of different plans, or of different divisions of one.
pub const MISMATCH: &str = "vplan::merge::mismatch";
/// Two different reports of one shard.
pub const DUPLICATE: &str = "vplan::merge::duplicate";

fn fail<T>(
    code: &'static str,
    name: &str,
    why: &str,
    help: Option<&'static str>,
) -> Result<T, MergeError> {
    let message = format!("`{}` {why}", visible(name.as_bytes()));
    Err(MergeError {
        code,
        drift: Vec::new(),
        exit: Exit::Usage,
        help,
        message,
    })
}

/// Reads a report.
///
/// # Errors
/// The bytes are no report, incomplete, or of another version.
pub fn read(name: &str, bytes: &[u8]) -> Result<Part, MergeError> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u64,
    }
    let unreadable = |e: &serde_json::Error| {
        let torn = if e.is_eof() {
            "ends in the middle"
        } else {
            "is no report"
        };
        let why = format!("{torn}: {}", visible(e.to_string().as_bytes()));
        fail(
            UNREADABLE,
            name,
            &why,
            Some("give the `report.json` of a run, or the run's directory"),
        )
    };
    match serde_json::from_slice::<Versioned>(bytes) {
        Ok(Versioned { version: VERSION }) => {}
        Ok(Versioned { version }) => {
            let why = format!("has version {version}, known is {VERSION}");
            return fail(
                OTHER_VERSION,
                name,
                &why,
                Some("it was written by another vplan: join the reports with that one"),
            );
        }
        Err(error) => return unreadable(&error),
    }
    match serde_json::from_slice(bytes) {
        Ok(report) => Ok(Part {
            name: name.to_owned(),
            report,
        }),
        Err(error) => unreadable(&error),
    }
}

/// A report that was checked to be of a shard, with the plan that it executed last.
struct Checked {
    name: String,
    report: Report,
    record: ShardRecord,
    executed: Plan,
}

/// Merges the reports of shards.
///
/// # Errors
/// Reports that were changed, that belong to different plans, or of which two contradict each other
/// about one shard.
pub fn merge(parts: Vec<Part>, require: Require) -> Result<Merged, MergeError> {
    let mut shards: BTreeMap<u32, Checked> = BTreeMap::new();
    for part in parts {
        let checked = check(part)?;
        if let Some(other) = shards.values().next() {
            agree(other, &checked)?;
        }
        match shards.get(&checked.record.index) {
            Some(other) if other.report != checked.report => {
                let why = format!(
                    "and `{}` are different reports of {}",
                    visible(other.name.as_bytes()),
                    checked.record.shard()
                );
                return fail(
                    DUPLICATE,
                    &checked.name,
                    &why,
                    Some("give the one that counts"),
                );
            }
            Some(_) => {}
            None => {
                shards.insert(checked.record.index, checked);
            }
        }
    }
    let Some(first) = shards.values().next() else {
        return fail(UNREADABLE, "", "is no report", None);
    };
    let (whole, count) = ((*first.record.plan).clone(), first.record.count);
    let missing: Vec<Shard> = (1..=count)
        .filter(|i| !shards.contains_key(i))
        .map(|index| Shard { count, index })
        .collect();
    Ok(join(&whole, count, shards, &missing, require))
}

/// Whether two shards are of one division of one plan.
fn agree(one: &Checked, other: &Checked) -> Result<(), MergeError> {
    let names = (visible(one.name.as_bytes()), visible(other.name.as_bytes()));
    let mismatch = |message: String, drift: Vec<Difference>| {
        let help = Some("all shards must run the same plan: give each of them the same plan file");
        Err(MergeError {
            code: MISMATCH,
            drift,
            exit: Exit::Drift,
            help,
            message,
        })
    };
    if one.record.plan_digest != other.record.plan_digest {
        let message = format!("`{}` and `{}` are about different plans", names.0, names.1);
        return mismatch(message, drift(&one.record.plan, &other.record.plan));
    }
    if one.record.count != other.record.count {
        let counts = (one.record.count, other.record.count);
        return mismatch(
            format!(
                "`{}` is one of {} shards, `{}` one of {}",
                names.0, counts.0, names.1, counts.1
            ),
            Vec::new(),
        );
    }
    Ok(())
}

/// Checks that a report is the one that vplan wrote of a shard: its plans have their digests, its
/// share is its share, every step has its record, and the verdict is the one that its records have.
fn check(part: Part) -> Result<Checked, MergeError> {
    let Part { name, report } = part;
    let tampered = |why: &str| {
        fail(
            TAMPERED,
            &name,
            &format!("was changed after it was written: {why}"),
            None,
        )
    };
    let Some(record) = report.shard.clone() else {
        return fail(
            NO_SHARD,
            &name,
            "is the report of a whole run, not of a shard",
            Some("`vplan run --shard I/N` runs a shard"),
        );
    };
    if record.plan.digest.as_ref() != Some(&digest::digest(&record.plan))
        || record.plan_digest != record.plan.digest
    {
        return tampered("its plan does not have the digest that it says");
    }
    if check_order(&record.plan).is_err() {
        return tampered("its plan contradicts itself");
    }
    if record.index == 0 || record.index > record.count || record.count > MOST {
        return tampered("there is no such shard");
    }
    let own = share(&record.plan, record.shard());
    let executed = match &record.executed {
        None => own.plan,
        Some(steps) => {
            let rewrites = report
                .rewrites
                .iter()
                .map(|r| Rewrite {
                    next_digest: None,
                    ..r.clone()
                })
                .collect();
            digest::seal(Plan {
                steps: steps.clone(),
                rewrites,
                ..own.plan
            })
        }
    };
    if own.elsewhere != record.elsewhere
        || executed.digest != report.plan_digest
        || check_order(&executed).is_err()
    {
        return tampered("the plan that it executed is not the shard's");
    }
    let named = report.steps.iter().map(|r| (&r.id, &r.command));
    if !named.eq(executed.steps.iter().map(|s| (&s.id, &s.command))) {
        return tampered("its steps are not those of its plan");
    }
    let part = record.part();
    let judged = judge_share(
        &executed,
        &report.steps,
        &ending(&report, &executed),
        &RunFacts {
            caveats: &report.caveats,
            violations: &violations(&executed),
        },
        Require::default(),
        part.as_deref(),
    );
    if judged.verdict != report.verdict || judged.coverage != report.coverage {
        return tampered("its verdict is not the one that its steps give");
    }
    Ok(Checked {
        name,
        report,
        record,
        executed,
    })
}

/// Returns the changes outside the contract's scope, from the plan's notes.
pub(super) fn violations(plan: &Plan) -> Vec<String> {
    plan.notes
        .iter()
        .filter(|n| n.kind == OUTSIDE)
        .map(|n| n.message.clone())
        .collect()
}

/// Returns how a run ended, as far as its report records it.
pub(super) fn ending(report: &Report, plan: &Plan) -> Ending {
    let cancelled =
        (report.verdict == Verdict::Cancelled).then_some(match Exit::of(report.exit_code) {
            Some(Exit::Terminated) => Interrupt::Term,
            _ => Interrupt::Int,
        });
    // A step's own limit gives that code too, unless another failure precedes it.
    let own_limit = || {
        judge(
            plan,
            &report.steps,
            &Ending::default(),
            &RunFacts::default(),
            Require::default(),
        )
        .exit
            == Exit::Time
    };
    let is_cut = report.steps.iter().any(StepRecord::is_cut);
    let budget_used =
        cancelled.is_none() && report.exit_code == Exit::Time.code() && (is_cut || !own_limit());
    let cut = || {
        report
            .steps
            .iter()
            .find(|r| r.reason == Some(Cause::Storage))
            .and_then(|r| r.detail.clone())
    };
    // Where all steps had ended, no step records that the record could not be kept.
    let reason = report
        .reason
        .as_deref()
        .filter(|_| report.verdict == Verdict::Incomplete);
    let storage = reason
        .and_then(|reason| reason.strip_prefix(UNRECORDED))
        .map(str::to_owned)
        .or_else(cut);
    Ending {
        budget_used,
        cancelled,
        duration_ms: report.duration_ms,
        storage,
    }
}

fn join(
    whole: &Plan,
    count: u32,
    shards: BTreeMap<u32, Checked>,
    missing: &[Shard],
    require: Require,
) -> Merged {
    let mut plan = whole.clone();
    plan.steps = steps(whole, &shards, missing);
    let mut total = Ending::default();
    let mut records: BTreeMap<String, StepRecord> = BTreeMap::new();
    let mut circumstances = Circumstances {
        attempt: 1,
        require,
        retries: DEFAULT_RETRIES,
        run_id: "merged".to_owned(),
        ..Circumstances::default()
    };
    let mut rewrites: Vec<Rewrite> = Vec::new();
    let mut summaries: BTreeMap<u32, ShardSummary> = (1..=count)
        .map(|index| (index, unreported(index)))
        .collect();
    let mut feedback = BTreeMap::new();
    let mut retries = None;
    for (index, shard) in shards {
        let Checked {
            report, executed, ..
        } = shard;
        let own = ending(&report, &executed);
        total.budget_used |= own.budget_used;
        total.cancelled = total.cancelled.or(own.cancelled);
        total.duration_ms = total.duration_ms.max(own.duration_ms);
        total.storage = total.storage.or(own.storage);
        let summary = ShardSummary {
            duration_ms: Some(report.duration_ms),
            index,
            run_id: Some(report.run_id.clone()),
            verdict: Some(report.verdict),
        };
        summaries.insert(index, summary);
        circumstances.attempt = circumstances.attempt.max(report.attempt);
        let other = |c: &Caveat| !circumstances.caveats.contains(c);
        let more: Vec<Caveat> = report.caveats.into_iter().filter(other).collect();
        circumstances.caveats.extend(more);
        // The number of retries of the contract is not in a report, but follows from it.
        retries = retries.max(Some(
            report
                .attempt
                .saturating_add(report.retries_remaining)
                .saturating_sub(1),
        ));
        circumstances.containment = circumstances.containment.or(report.containment);
        circumstances.environment.inherited |= report.environment.inherited;
        circumstances.environment.capabilities_kept |= report.environment.capabilities_kept;
        circumstances
            .environment
            .granted
            .extend(report.environment.granted);
        circumstances
            .environment
            .withheld
            .extend(report.environment.withheld);
        circumstances.refusals.extend(report.refusals);
        circumstances.superseded.extend(report.superseded);
        // A plan with a remark precedes one without.
        let is_plain = |s: &SavedPlan| !s.as_is && s.drift.is_empty();
        if circumstances.saved_plan.as_ref().is_none_or(is_plain) {
            circumstances.saved_plan = report.saved_plan.or(circumstances.saved_plan);
        }
        rewrites.extend(report.rewrites.into_iter().skip(whole.rewrites.len()));
        feedback.extend(report.feedback.map(|f| (f.step_id.clone(), f)));
        for record in report.steps {
            match records.get(&record.id) {
                Some(known) if rank(known.status) <= rank(record.status) => {}
                _ => {
                    records.insert(record.id.clone(), record);
                }
            }
        }
    }
    circumstances.retries = retries.unwrap_or(DEFAULT_RETRIES);
    plan.rewrites.extend(rewrites.iter().cloned());
    circumstances.environment.granted.sort();
    circumstances.environment.granted.dedup();
    circumstances
        .environment
        .withheld
        .sort_by(|a, b| a.name.cmp(&b.name));
    circumstances.environment.withheld.dedup();
    circumstances.violations = violations(whole);
    let gap = missing
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let verb = if missing.len() == 1 { "is" } else { "are" };
    let gap = format!("{gap} {verb} missing");
    let records = plan.steps.iter().map(|step| {
        let absent = || {
            StepRecord::without_evidence(
                step,
                Outcome::new(Status::NotRun, Cause::Shard, gap.clone()),
            )
        };
        records.remove(&step.id).unwrap_or_else(absent)
    });
    let mut records = records.collect();
    // Batches of one check may have run on several machines.
    super::batch::judge_all(&plan, &mut records);
    let mut joined = report(&plan, records.into_vec(), &total, circumstances);
    joined.rewrites.splice(whole.rewrites.len().., rewrites);
    joined.plan_digest.clone_from(&whole.digest);
    joined.shards = summaries.into_values().collect();
    if let Some(told) = joined
        .feedback
        .as_ref()
        .and_then(|f| feedback.remove(&f.step_id))
    {
        joined.feedback = Some(told);
    }
    if !missing.is_empty() && joined.verdict.is_pass() {
        joined.verdict = Verdict::Incomplete;
        joined.exit_code = Exit::Incomplete.code();
        joined.reason = Some(gap);
        joined.decision = if joined.retries_remaining == 0 {
            Decision::Fail
        } else {
            Decision::Retry
        };
    }
    Merged {
        report: joined,
        plan,
    }
}

fn unreported(index: u32) -> ShardSummary {
    ShardSummary {
        duration_ms: None,
        index,
        run_id: None,
        verdict: None,
    }
}

/// Returns all steps in plan order: those of the plan that were executed or are missing, and those
/// that recovery put in their place.
fn steps(whole: &Plan, shards: &BTreeMap<u32, Checked>, missing: &[Shard]) -> Vec<Step> {
    let executed: BTreeSet<&str> = shards
        .values()
        .flat_map(|s| &s.executed.steps)
        .map(|s| s.id.as_str())
        .collect();
    let awaited: BTreeSet<String> = missing
        .iter()
        .flat_map(|s| share(whole, *s).plan.steps)
        .map(|s| s.id)
        .collect();
    let stays = |s: &&Step| executed.contains(s.id.as_str()) || awaited.contains(&s.id);
    let mut steps: Vec<Step> = whole.steps.iter().filter(stays).cloned().collect();
    for shard in shards.values().filter(|s| s.record.executed.is_some()) {
        let mut at = 0;
        for step in &shard.executed.steps {
            match steps.iter().position(|s| s.id == step.id) {
                Some(known) => at = known + 1,
                None => {
                    steps.insert(at.min(steps.len()), step.clone());
                    at += 1;
                }
            }
        }
    }
    steps
}

/// Returns the rank of a status, the worst first.
fn rank(status: Status) -> usize {
    const ORDER: [Status; 9] = [
        Status::Errored,
        Status::Failed,
        Status::TimedOut,
        Status::NotRun,
        Status::Skipped,
        Status::Flaky,
        Status::PassedWithWarnings,
        Status::Passed,
        Status::Cached,
    ];
    ORDER
        .iter()
        .position(|s| *s == status)
        .unwrap_or(ORDER.len())
}
