//! The results of the checks of a run, gathered from its record.

use schemars::JsonSchema;
use serde::Serialize;
use vplan_base::nearest::suggest;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_engine::Failure;
use vplan_plan::caveat::Caveat;
use vplan_plan::{Note, Omitted, Plan, Reason, Refusal, Rewrite};
use vplan_run::past::{State, Summary, records, short};
use vplan_run::record::StepRecord;
use vplan_run::report::Report;
use vplan_store::history::{History, Past};

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
pub(super) fn gather(history: &History, past: &Past) -> DetailsDocument {
    let run = past.summary();
    let mut remarks: Vec<String> = past.trouble.iter().cloned().collect();
    let report = (run.state == State::Finished)
        .then(|| report(history, past, &mut remarks))
        .flatten();
    let plan: Option<Plan> = history.plan(&past.id).unwrap_or_else(|why| {
        remarks.push(why);
        None
    });
    let planned = |record: StepRecord| {
        let step = plan
            .as_ref()
            .and_then(|p| p.steps.iter().find(|s| s.id == record.id));
        let kind = step
            .map(|s| s.kind)
            .or_else(|| past.run.steps.iter().find(|s| s.id == record.id)?.kind);
        Detail {
            kind,
            reasons: step.map(|s| s.reasons.clone()).unwrap_or_default(),
            record,
            tier: step.map(|s| s.tier),
        }
    };
    let document = DetailsDocument {
        caveats: plan.as_ref().map(|p| p.caveats.clone()).unwrap_or_default(),
        notes: plan.as_ref().map(|p| p.notes.clone()).unwrap_or_default(),
        omitted: plan.as_ref().map(|p| p.omitted.clone()).unwrap_or_default(),
        refusals: Vec::new(),
        remarks,
        rewrites: past.run.rewrites.clone(),
        steps: Vec::new(),
        superseded: Vec::new(),
        run,
    };
    match report {
        Some(report) => DetailsDocument {
            caveats: report.caveats,
            notes: report.notes,
            omitted: report.omitted,
            refusals: report.refusals,
            rewrites: report.rewrites,
            steps: report.steps.into_iter().map(planned).collect(),
            superseded: report.superseded,
            ..document
        },
        None => {
            let steps = records(&past.run, document.run.state)
                .into_iter()
                .map(planned)
                .collect();
            DetailsDocument { steps, ..document }
        }
    }
}

/// The report of a run that came to its end.
fn report(history: &History, past: &Past, remarks: &mut Vec<String>) -> Option<Report> {
    match history.report(&past.id) {
        Ok(Some(report)) => return Some(report),
        Ok(None) if remarks.is_empty() => remarks.push("`report.json` is not there".to_owned()),
        Ok(None) => {}
        Err(why) => remarks.push(why),
    }
    None
}

/// Leaves only what is about one check.
pub(super) fn only(document: &mut DetailsDocument, name: &str) -> Result<(), Failure> {
    let ids = || {
        document
            .steps
            .iter()
            .map(|s| s.record.id.as_str())
            .chain(document.omitted.iter().map(|o| o.id.as_str()))
    };
    if !ids().any(|id| id == name) {
        let help = suggest(
            name,
            ids(),
            format!(
                "`vplan details {}` shows all of them",
                short(&document.run.run_id)
            ),
        );
        let message = format!("no check of this run is called `{}`", visible(name));
        return Err(Failure::usage("vplan::records::unknown_check", message).help(help));
    }
    document.steps.retain(|s| s.record.id == name);
    document.omitted.retain(|o| o.id == name);
    document.superseded.retain(|s| s.id == name);
    Ok(())
}
