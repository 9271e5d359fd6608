//! Known findings in a report: the baseline that counted, and all that it excused.

use super::record::StepRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::Digest;
use vplan_base::path::RepoPath;
use vplan_base::word::{count, visible};
use vplan_check::outcome::{Cause, Status};
use vplan_check::{Kind, Severity};
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_plan::{Plan, Step};

/// The baseline that counted in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BaselineUse {
    /// The commit that it was read from; absent for the work tree's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The digest of what it lists.
    pub digest: Digest,
    /// The number of its entries.
    pub entries: usize,
    /// The reason why this one counts.
    pub from: BaselineSource,
    /// The file.
    pub path: RepoPath,
}

/// The place at which the baseline that counts was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaselineSource {
    /// At the base of the change.
    Base,
    /// At HEAD, because there is no base.
    Head,
    /// In the work tree, because there is no commit that has the contract.
    WorkTree,
}

/// Makes the caveat about checks that passed because what they found is known; `origin`: the list,
/// for people. `None` where there are none.
pub fn known_findings(plan: &Plan, records: &[StepRecord], origin: &str) -> Option<Caveat> {
    let mut checks: Vec<&str> = Vec::new();
    let mut found = 0;
    for (step, record) in plan.steps.iter().zip(records) {
        if record.reason == Some(Cause::Known) {
            found += record.count_known();
            checks.push(step.check());
        }
    }
    if checks.is_empty() {
        return None;
    }
    checks.dedup();
    let names: Vec<String> = (checks.iter().take(3))
        .map(|check| format!("`{}`", visible(check.as_bytes())))
        .collect();
    let more = vplan_base::word::and_more(checks.len().saturating_sub(names.len()));
    let message = format!(
        "{} of {}: {}{more} passed with what was there before",
        count(found, "known finding"),
        visible(origin.as_bytes()),
        names.join(", "),
    );
    let checks = checks.iter().map(|check| (*check).to_owned()).collect();
    Some(Caveat::new(Code::KnownFindings, Effect::Note, message).of_checks(checks))
}

/// Says what speaks against the record of a step that claims to have passed for known findings, or
/// carries marks of them; `None`: nothing.
pub(super) fn contradicted(
    step: &Step,
    record: &StepRecord,
    baseline: Option<&BaselineUse>,
    caveats: &[Caveat],
) -> Option<&'static str> {
    let all = record.diagnostics.len() + record.failed_tests.len();
    if !record.identities.is_empty() && record.identities.len() != all {
        return Some("does not say of each finding what it is");
    }
    if record.count_known() > 0 && baseline.is_none() {
        return Some("has known findings, and no baseline counted");
    }
    if record.reason != Some(Cause::Known) {
        return None;
    }
    let is_read = matches!(step.kind, Kind::Compile | Kind::Test | Kind::Lint);
    let counted = record
        .errors
        .unwrap_or(0)
        .saturating_add(record.warnings.unwrap_or(0));
    let failed = record.tests.map_or(0, |tests| tests.failed);
    let length = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let errors = (record.diagnostics.iter())
        .zip(&record.identities)
        .filter(|(finding, _)| finding.severity == vplan_check::results::Level::Error)
        .map(|(_, identity)| identity);
    let tests = record.identities.iter().skip(record.diagnostics.len());
    let all_known = errors.chain(tests).all(|identity| identity.known);
    let is_said = caveats
        .iter()
        .any(|c| c.code == Code::KnownFindings && c.checks.iter().any(|c| c == step.check()));
    match () {
        () if record.status != Status::PassedWithWarnings => {
            Some("is excused by what is known, and did not pass with warnings")
        }
        () if !is_read || step.setup || !matches!(step.exit.as_slice(), [] | [0]) => {
            Some("is of a kind that no known finding excuses")
        }
        () if record.count_known() == 0 || !all_known => {
            Some("passed with findings that are not known")
        }
        () if length(record.diagnostics.len()) != counted
            || length(record.failed_tests.len()) != failed
            || !record.problems.is_empty() =>
        {
            Some("passed with more findings than it lists")
        }
        () if !is_said && step.severity == Severity::Blocking => {
            Some("passed with known findings, and no caveat says so")
        }
        () => None,
    }
}
