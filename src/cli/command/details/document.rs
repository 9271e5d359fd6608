//! The results of the checks of a run, gathered from its record.

use crate::command::answer::*;
use crate::history::unknown_check;
use vplan_check::Kind;
use vplan_plan::caveat::Caveat;
use vplan_plan::{Note, Omitted, Reason, Refusal, Rewrite};
use vplan_run::record::StepRecord;
use vplan_run::run_summary::{State, Summary, records};
use vplan_store::history::{History, RecordedRun};

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DetailsDocument {
    /// The caveats: why the answer means less than was requested.
    pub caveats: Vec<Caveat>,
    /// Notes on the plan.
    pub notes: Vec<Note>,
    /// The checks that were left out, and why.
    pub omitted: Vec<Omitted>,
    /// Repairs of the plan that were not made, and why.
    pub refusals: Vec<Refusal>,
    /// The parts of the record that could not be used, and why.
    pub remarks: Vec<String>,
    /// The rewrites of the plan by recovery, in order.
    pub rewrites: Vec<Rewrite>,
    /// The summary of the run.
    pub run: Summary,
    /// The results of the checks, in plan order.
    pub steps: Vec<Detail>,
    /// Evidence that no longer counts: of steps before a rewrite.
    pub superseded: Vec<StepRecord>,
}

/// One step, by the plan and by the report.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Detail {
    /// Its verb; absent when no plan is kept.
    pub kind: Option<Kind>,
    /// The reasons why it was in the plan.
    pub reasons: Vec<Reason>,
    /// Its record.
    pub record: StepRecord,
    /// Its tier; absent when no plan is kept.
    pub tier: Option<u8>,
}

/// All that is known of a run: by its report if it came to its end, else by its journal.
pub(super) fn gather(history: &History, past: &RecordedRun) -> DetailsDocument {
    let run = past.summary();
    let mut remarks: Vec<String> = past.trouble.iter().cloned().collect();
    let report = match run.state {
        State::Finished => report(history, past, &mut remarks),
        _ => None,
    };
    let plan: Option<Plan> = history.plan(&past.id).unwrap_or_else(|why| {
        remarks.push(why.to_string());
        None
    });
    let planned = |record: StepRecord| {
        let mut steps = plan.iter().flat_map(|p| &p.steps);
        let step = steps.find(|s| s.id == record.id);
        let ran = || past.run.steps.iter().find(|s| s.id == record.id)?.kind;
        Detail {
            kind: step.map(|s| s.kind).or_else(ran),
            reasons: step.map(|s| s.reasons.clone()).unwrap_or_default(),
            tier: step.map(|s| s.tier),
            record,
        }
    };
    let Some(report) = report else {
        let steps = records(&past.run, run.state).into_iter().map(planned);
        let steps = steps.collect();
        let of_plan = plan.map(|plan| (plan.caveats, plan.notes, plan.omitted));
        let (caveats, notes, omitted) = of_plan.unwrap_or_default();
        return DetailsDocument {
            caveats,
            notes,
            omitted,
            refusals: Vec::new(),
            remarks,
            rewrites: past.run.rewrites.clone(),
            run,
            steps,
            superseded: Vec::new(),
        };
    };
    DetailsDocument {
        caveats: report.caveats,
        notes: report.notes,
        omitted: report.omitted,
        refusals: report.refusals,
        remarks,
        rewrites: report.rewrites,
        run,
        steps: report.steps.into_iter().map(planned).collect(),
        superseded: report.superseded,
    }
}

/// The report of a run that came to its end.
fn report(history: &History, past: &RecordedRun, remarks: &mut Vec<String>) -> Option<Report> {
    match history.report(&past.id) {
        Ok(Some(report)) => return Some(report),
        Ok(None) if remarks.is_empty() => remarks.push("`report.json` is not there".to_owned()),
        Ok(None) => {}
        Err(why) => remarks.push(why.to_string()),
    }
    None
}

/// Leaves only what is about one check.
pub(super) fn only(document: &mut DetailsDocument, name: &str) -> Result<(), Failure> {
    let steps = document.steps.iter().map(|s| s.record.id.as_str());
    let ids = || (steps.clone()).chain(document.omitted.iter().map(|o| o.id.as_str()));
    if !ids().any(|id| id == name) {
        let run = short(&document.run.run_id);
        let all = format!("`vplan details {run}` shows all of them");
        return Err(unknown_check(name, ids(), all));
    }
    document.steps.retain(|s| s.record.id == name);
    document.omitted.retain(|o| o.id == name);
    document.superseded.retain(|s| s.id == name);
    Ok(())
}
