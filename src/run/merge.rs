//! Merges the reports of all shards of a plan into the verdict that one run of the whole plan would
//! have had.
//!
//! INVARIANT (merge): without fail-fast, budget, signals and recovery, and with the same outcomes,
//! the merged statuses, verdict and exit code are those of the unsharded run. With fail-fast, all
//! statuses up to the first blocking failure in plan order are, and it is a pass exactly if the
//! unsharded run is: a failure in one shard does not stop the others, so that more is known.

mod agree;
mod part;
mod tools;

use super::authenticity::{ending, violations};
use super::record::StepRecord;
use super::report::{
    Circumstances, DEFAULT_RETRIES, MergedPlan, Report, SavedPlan, ShardSummary, report, weaker,
};
use super::state::StateEnding;
use super::verdict::Require;
use agree::{agree, check, of_division, of_plan};
pub use part::{
    BASE, DIVISION, DUPLICATE, MISMATCH, MergeError, NO_SHARD, OTHER_VERSION, Part, TAMPERED,
    TOOLS, TREE, UNREADABLE,
};
use part::{Checked, fail, mismatch, quote};
use std::collections::{BTreeMap, BTreeSet};
use tools::{Differing, differing};
use vplan_base::word::{first_of, visible};
use vplan_check::outcome::{Cause, Outcome, Status};
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_plan::shard::division::Division;
use vplan_plan::shard::{MOST, Shard, shares_of};
use vplan_plan::{Plan, Rewrite, Step};

/// Maximum number of shards or tools in a message.
const SHOWN: usize = 10;

/// The version of reports that this program reads.
const VERSION: u64 = 1;

/// The result of a merge.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The verdict over all shards.
    pub report: Report,
    /// The plan whose steps the report contains.
    pub plan: Plan,
}

/// Reads a report.
///
/// # Errors
/// The bytes are not a report, or are incomplete, or have another version.
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

/// The request to merge reports.
#[derive(Clone, Debug, Default)]
pub struct MergeRequest {
    /// The division by which all shards must have been dealt.
    pub division: Option<Division>,
    /// The plan that the reports must be of, all of it; without it at least one report is needed.
    pub expect: Option<Plan>,
    /// The requirements beyond a pass.
    pub require: Require,
    /// Whether tools that differ between shards are refused.
    pub same_tools: bool,
}

/// Merges the reports of shards.
///
/// # Errors
/// Modified reports; reports of different plans, bases or trees; contradicting reports of one
/// shard.
pub fn merge(parts: Vec<Part>, asked: &MergeRequest) -> Result<Merged, MergeError> {
    let mut shards: BTreeMap<u32, Checked> = BTreeMap::new();
    if let (Some(division), Some(plan)) = (&asked.division, &asked.expect)
        && let Err(error) = division.check(plan, None)
    {
        let message = format!("the division {error}");
        return mismatch(DIVISION, message, Vec::new());
    }
    for part in parts {
        let checked = check(part)?;
        if let Some(plan) = &asked.expect {
            of_plan(&checked, plan)?;
        }
        if let Some(division) = &asked.division {
            of_division(&checked, division)?;
        }
        for other in shards.values() {
            agree(other, &checked)?;
        }
        match shards.get(&checked.record.index) {
            Some(other) if other.report != checked.report => {
                let why = format!(
                    "and `{}` are different reports of {}",
                    quote(&other.name),
                    checked.record.shard()
                );
                let help = Some("give the one that counts");
                return fail(DUPLICATE, &checked.name, &why, help);
            }
            Some(_) => {}
            None => {
                shards.insert(checked.record.index, checked);
            }
        }
    }
    let first = shards.values().next();
    let (whole, count) = match (first, &asked.expect) {
        (Some(first), _) => ((*first.record.plan).clone(), first.record.count),
        (None, Some(plan)) => (plan.clone(), asked.division.as_ref().map_or(0, |d| d.count)),
        (None, None) => return fail(UNREADABLE, "", "is no report", None),
    };
    let caveats = caveats(&shards, count, asked.same_tools)?;
    let missing: Vec<Shard> = absent(&shards, count).collect();
    Ok(join(&whole, shards, &missing, caveats, asked.require))
}

fn absent(shards: &BTreeMap<u32, Checked>, count: u32) -> impl Iterator<Item = Shard> {
    (1..=count)
        .filter(|i| !shards.contains_key(i))
        .map(move |index| Shard { count, index })
}

/// Returns what keeps the merged answer from meaning what one run would have said.
fn caveats(
    shards: &BTreeMap<u32, Checked>,
    count: u32,
    same_tools: bool,
) -> Result<Vec<Caveat>, MergeError> {
    let mut caveats = Vec::new();
    let gap = gap(absent(shards, count), count);
    caveats.extend(gap.map(|gap| {
        Caveat::new(Code::ShardsMissing, Effect::Incomplete, gap)
            .way_out("run what is missing, and merge all reports")
    }));
    let unknown: Vec<String> = shards
        .values()
        .filter(|s| s.report.tree.is_none())
        .map(|s| s.record.index.to_string())
        .collect();
    if !unknown.is_empty() {
        let message = if unknown.len() == shards.len() {
            "no shard says which tree it verified".to_owned()
        } else {
            let some = first_of(&unknown, SHOWN);
            format!("which tree was verified is not known of shards {some} of {count}")
        };
        caveats.push(
            Caveat::new(Code::NoCommonTree, Effect::Incomplete, message).way_out(
                "run the shards in git checkouts of one commit that nothing else writes to",
            ),
        );
    }
    let Differing { caveat, unknown } = differing(shards.values());
    if same_tools {
        let why = caveat.as_ref().map(|c| c.message.clone()).or_else(|| {
            let tools = first_of(&unknown, SHOWN);
            (!unknown.is_empty())
                .then(|| format!("whether the shards had the same tools is not known: {tools}"))
        });
        if let Some(why) = why {
            return mismatch(TOOLS, why, Vec::new());
        }
    }
    caveats.extend(caveat);
    Ok(caveats)
}

/// Says which shards are missing; `None`: all are there.
fn gap(missing: impl Iterator<Item = Shard>, count: u32) -> Option<String> {
    let missing: Vec<String> = missing.map(|shard| shard.index.to_string()).collect();
    match missing.as_slice() {
        _ if count == 0 => Some("no shard has reported".to_owned()),
        [] => None,
        [one] => Some(format!("shard {one} of {count} is missing")),
        more => Some(format!(
            "shards {} of {count} are missing",
            first_of(more, SHOWN)
        )),
    }
}

fn join(
    whole: &Plan,
    shards: BTreeMap<u32, Checked>,
    missing: &[Shard],
    caveats: Vec<Caveat>,
    require: Require,
) -> Merged {
    let count = u32::try_from(shards.len() + missing.len()).unwrap_or(MOST);
    let nothing = shards.is_empty();
    let mut plan = whole.clone();
    if !nothing {
        plan.steps = steps(whole, &shards, missing);
    }
    let mut total = StateEnding::default();
    let mut records: BTreeMap<String, StepRecord> = BTreeMap::new();
    let mut circumstances = Circumstances {
        attempt: 1,
        require,
        retries: DEFAULT_RETRIES,
        run_id: "merged".to_owned(),
        tree: common_tree(&shards),
        ..Circumstances::default()
    };
    let mut rewrites: Vec<Rewrite> = Vec::new();
    let mut summaries: BTreeMap<u32, ShardSummary> = (1..=count)
        .map(|index| {
            (
                index,
                ShardSummary {
                    index,
                    ..ShardSummary::default()
                },
            )
        })
        .collect();
    let mut feedback = Vec::new();
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
        circumstances.baseline = circumstances.baseline.or(report.baseline);
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
        circumstances.containment = weaker(circumstances.containment.take(), report.containment);
        let environment = &mut circumstances.environment;
        environment.inherited |= report.environment.inherited;
        environment.capabilities_kept |= report.environment.capabilities_kept;
        environment.granted.extend(report.environment.granted);
        environment.withheld.extend(report.environment.withheld);
        circumstances.new_files.extend(report.new_files);
        circumstances.refusals.extend(report.refusals);
        circumstances.superseded.extend(report.superseded);
        // A plan with a remark precedes one without.
        let is_plain = |s: &SavedPlan| !s.as_is && s.drift.is_empty();
        if circumstances.saved_plan.as_ref().is_none_or(is_plain) {
            circumstances.saved_plan = report.saved_plan.or(circumstances.saved_plan);
        }
        rewrites.extend(report.rewrites.into_iter().skip(whole.rewrites.len()));
        feedback.extend(report.feedback);
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
    let environment = &mut circumstances.environment;
    environment.granted.sort();
    environment.granted.dedup();
    environment.withheld.sort_by(|a, b| a.name.cmp(&b.name));
    environment.withheld.dedup();
    circumstances.violations = violations(whole);
    circumstances.caveats.extend(caveats);
    circumstances.new_files.sort_by(|a, b| a.path.cmp(&b.path));
    circumstances.new_files.dedup_by(|a, b| a.path == b.path);
    let gap = gap(missing.iter().copied(), count).unwrap_or_default();
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
    joined.feedback = joined.feedback.map(|told| told.join(feedback));
    let rewritten = plan.rewrites.len() > whole.rewrites.len();
    joined.merged = Some(MergedPlan {
        executed: rewritten.then(|| plan.steps.clone()),
        plan: Box::new(whole.clone()),
    });
    Merged {
        report: joined,
        plan,
    }
}

/// Returns the tree that all shards verified, which agree where they say one.
fn common_tree(shards: &BTreeMap<u32, Checked>) -> Option<String> {
    let all = shards.values().all(|s| s.report.tree.is_some());
    let first = shards.values().next().filter(|_| all)?;
    first.report.tree.clone()
}

/// Returns all steps in plan order: those of the plan that were executed or are missing, and those
/// that recovery put in their place.
fn steps(whole: &Plan, shards: &BTreeMap<u32, Checked>, missing: &[Shard]) -> Vec<Step> {
    let executed: BTreeSet<&str> = shards
        .values()
        .flat_map(|s| &s.executed.steps)
        .map(|s| s.id.as_str())
        .collect();
    // All shards are dealt alike, so that any report says how.
    let division = shards.values().find_map(|s| s.record.division.as_ref());
    let awaited: BTreeSet<&str> = shares_of(whole, missing, division).into_iter().collect();
    let stays = |s: &&Step| executed.contains(s.id.as_str()) || awaited.contains(s.id.as_str());
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
fn rank(status: Status) -> u8 {
    match status {
        Status::Errored => 0,
        Status::Failed => 1,
        Status::TimedOut => 2,
        Status::NotRun => 3,
        Status::Skipped => 4,
        Status::Flaky => 5,
        Status::PassedWithWarnings => 6,
        Status::Passed => 7,
        Status::Cached => 8,
    }
}
