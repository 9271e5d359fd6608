//! Decides whether a run that is over answers the present request: only if its record is the one
//! that vplan wrote, and it lacks nothing of the request.

use super::report::Report;
use super::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::Digest;
use vplan_base::vocabulary::Exit;
use vplan_base::word::{first_of, visible};
use vplan_check::Severity;
use vplan_plan::containment::missing;
use vplan_plan::request::Mode;
use vplan_plan::{ContractRef, Coverage, Plan, Step};

/// The record of an ended run in the state directory, outside the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndedRun {
    /// The part of the request that was verified.
    pub coverage: Coverage,
    /// Its exit code.
    pub exit_code: u8,
    /// The digest of the plan that was executed last.
    pub plan_digest: Option<Digest>,
    /// The digest of the bytes of its report, if that could be written.
    pub report: Option<Digest>,
    /// The run.
    pub run_id: String,
    /// The tree that it verified, if that is known.
    pub tree: Option<String>,
    /// Its verdict.
    pub verdict: Verdict,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

impl EndedRun {
    /// Whether a check failed in it, by its verdict.
    pub fn failed(&self) -> bool {
        matches!(
            self.verdict,
            Verdict::Failed | Verdict::TimedOut | Verdict::Errored
        )
    }
}

/// Whether the present tree was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Answer")]
pub enum VerifiedAnswer {
    /// A run verified it.
    Verified,
    /// No run verified it.
    NotVerified,
    /// There is a record, and no evidence that vplan wrote it here.
    Unknown,
}

/// The reason why a run does not answer the present request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyNot {
    /// Never [`VerifiedAnswer::Verified`].
    pub answer: VerifiedAnswer,
    /// One line for people, safe to show.
    pub message: String,
}

impl WhyNot {
    /// Makes the reason of a run that is known not to.
    pub fn not(message: impl Into<String>) -> Self {
        Self {
            answer: VerifiedAnswer::NotVerified,
            message: message.into(),
        }
    }

    /// Makes the reason of a run with an untrusted record.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self {
            answer: VerifiedAnswer::Unknown,
            message: message.into(),
        }
    }
}

/// A run with its record.
#[derive(Clone, Copy, Debug)]
pub struct RecordedEvidence<'a> {
    /// The digest of the bytes of its report.
    pub bytes: &'a Digest,
    /// The plan that was executed last; its digest was checked.
    pub plan: &'a Plan,
    pub report: &'a Report,
}

/// Checks that the record of a run is the one that vplan wrote.
///
/// # Errors
/// The reason not to trust the record.
pub fn believed(recorded: &RecordedEvidence<'_>, ended: &EndedRun) -> Result<(), WhyNot> {
    let RecordedEvidence {
        bytes,
        plan,
        report,
    } = recorded;
    let same = ended.report.as_ref() == Some(*bytes)
        && (&ended.run_id, &ended.tree) == (&report.run_id, &report.tree)
        && (ended.verdict, ended.coverage, ended.exit_code)
            == (report.verdict, report.coverage, report.exit_code);
    if !same {
        return Err(WhyNot::unknown(
            "its report is not the one that vplan wrote",
        ));
    }
    if plan.digest.is_none()
        || report.plan_digest != plan.digest
        || ended.plan_digest != plan.digest
    {
        return Err(WhyNot::unknown("its plan is not the one that vplan ran"));
    }
    Ok(())
}

/// Checks that a run with a trusted record verified all that `wanted` requires, on the present
/// tree. `present`: that tree, as a report of the run's plan would name it.
///
/// # Errors
/// The requirement that it lacks.
pub fn verifies(
    recorded: &RecordedEvidence<'_>,
    present: Option<&str>,
    wanted: &[&Plan],
) -> Result<(), WhyNot> {
    passed(recorded)?;
    same_tree(recorded.report, present)?;
    narrowed(recorded)?;
    let Some(first) = wanted.first() else {
        return Err(WhyNot::not("what is asked is not known"));
    };
    if !same_contract(first.contract.as_ref(), recorded.plan.contract.as_ref()) {
        return Err(WhyNot::not("it ran under another contract"));
    }
    if wanted
        .iter()
        .any(|wanted| missing(wanted, recorded.plan).is_empty() || became(wanted, recorded.plan))
    {
        return Ok(());
    }
    let lacking = names(&missing(first, recorded.plan));
    Err(WhyNot::not(format!(
        "it did not run {lacking} as it would run now"
    )))
}

/// Returns the blocking checks of `wanted` that failed in a run with a valid record: evidence
/// against the present tree, if it was the same.
pub fn failed<'a>(recorded: &RecordedEvidence<'_>, wanted: &'a Plan) -> Vec<&'a Step> {
    let other = missing(wanted, recorded.plan);
    let has_failed = |step: &Step| {
        let record = recorded.report.steps.iter().find(|r| r.id == step.id);
        record.is_some_and(|r| r.status.is_failure() && !r.is_cut())
    };
    let blocks = |step: &&Step| {
        step.severity == Severity::Blocking && !other.iter().any(|o| o.id == step.id)
    };
    wanted
        .steps
        .iter()
        .filter(blocks)
        .filter(|step| has_failed(step))
        .collect()
}

/// Checks that a run with a trusted record passes by itself.
fn passed(recorded: &RecordedEvidence<'_>) -> Result<(), WhyNot> {
    let RecordedEvidence { plan, report, .. } = recorded;
    let why = match report.verdict {
        _ if report.shard.is_some() => {
            "it ran only a shard of its plan: `vplan merge` joins the reports"
        }
        _ if plan.request.mode == Mode::Off => "mode is off: it verified nothing",
        Verdict::Passed if report.exit_code != Exit::Success.code() => {
            "it did not end with exit code 0"
        }
        Verdict::Passed => return Ok(()),
        Verdict::NothingToVerify => "it verified nothing",
        _ => "it did not pass",
    };
    Err(WhyNot::not(why))
}

fn same_tree(report: &Report, present: Option<&str>) -> Result<(), WhyNot> {
    let why = match (report.tree.as_deref(), present) {
        (None, _) => "which tree it verified is not recorded",
        (_, None) => "which tree this is cannot be said",
        (Some(tree), Some(present)) if tree == present => return Ok(()),
        _ => "the work tree is not the one that was verified",
    };
    Err(WhyNot::not(why))
}

fn narrowed(recorded: &RecordedEvidence<'_>) -> Result<(), WhyNot> {
    let report = recorded.report;
    if report.coverage == Coverage::Full {
        return Ok(());
    }
    let because = report
        .caveats
        .iter()
        .find(|c| c.effect >= vplan_plan::caveat::Effect::Narrows);
    let because = because.map_or_else(String::new, |c| {
        format!(": {}", visible(c.message.as_bytes()))
    });
    Err(WhyNot::not(format!("its coverage was narrowed{because}")))
}

/// Whether two plans were made from one contract, wherever its file was.
fn same_contract(one: Option<&ContractRef>, other: Option<&ContractRef>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (&one.digest, &one.imports) == (&other.digest, &other.imports),
        (None, None) => true,
        _ => false,
    }
}

/// Whether recovery made one plan of the other, without narrowing it.
fn became(wanted: &Plan, executed: &Plan) -> bool {
    let first = executed
        .rewrites
        .first()
        .and_then(|r| r.previous_digest.as_ref());
    first.is_some()
        && first == wanted.digest.as_ref()
        && executed
            .rewrites
            .iter()
            .all(|r| r.coverage == Coverage::Full)
}

fn names(steps: &[&Step]) -> String {
    const SHOWN: usize = 3;
    let mut checks: Vec<&str> = steps.iter().map(|s| s.check()).collect();
    checks.dedup();
    let name = |check: &&str| format!("`{}`", visible(check.as_bytes()));
    first_of(checks.iter().map(name), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::StepRecord;
    use crate::report::{Circumstances, report};
    use crate::state::StateEnding;
    use vplan_check::outcome::{Cause, Outcome, Status};
    use vplan_plan::bare::plan_of_words;
    use vplan_plan::caveat::{Caveat, Code, Effect};
    use vplan_plan::digest::seal;

    const TREE: &str = "sha256:tree";

    fn plan(words: &[&str]) -> Plan {
        let mut plan = plan_of_words(words);
        for (step, word) in plan.steps.iter_mut().zip(words) {
            (step.id, step.after) = ((*word).to_owned(), Vec::new());
        }
        plan.contract = Some(ContractRef {
            digest: Digest::hash(b"contract"),
            imports: Vec::new(),
            path: "a.vplan".to_owned(),
        });
        seal(plan)
    }

    fn ran(plan: &Plan, fails: &str, caveats: Vec<Caveat>) -> Report {
        let record = |step: &Step| {
            let outcome = match step.id == fails {
                true => Outcome {
                    cause: Some(Cause::ExitCode),
                    detail: None,
                    status: Status::Failed,
                },
                false => Outcome {
                    cause: None,
                    detail: None,
                    status: Status::Passed,
                },
            };
            StepRecord::without_evidence(step, outcome)
        };
        let circumstances = Circumstances {
            caveats,
            run_id: "r".to_owned(),
            tree: Some(TREE.to_owned()),
            ..Circumstances::default()
        };
        report(
            plan,
            plan.steps.iter().map(record).collect(),
            &StateEnding::default(),
            circumstances,
        )
    }

    fn why(plan: &Plan, report: &Report, wanted: &Plan) -> String {
        let bytes = Digest::hash(b"");
        let recorded = RecordedEvidence {
            bytes: &bytes,
            plan,
            report,
        };
        verifies(&recorded, Some(TREE), &[wanted])
            .map_or_else(|why| why.message, |()| String::new())
    }

    #[test]
    fn a_run_stands_for_what_it_contains() {
        let (two, one) = (plan(&["a", "b"]), plan(&["a"]));
        assert_eq!(why(&two, &ran(&two, "", Vec::new()), &two), "");
        assert_eq!(why(&two, &ran(&two, "", Vec::new()), &one), "");
        let lacking = why(&one, &ran(&one, "", Vec::new()), &plan(&["a", "b", "c"]));
        assert_eq!(lacking, "it did not run `b`, `c` as it would run now");
        assert_eq!(
            why(&two, &ran(&two, "b", Vec::new()), &one),
            "it did not pass"
        );
        let caveat = Caveat::new(Code::BaseUnknown, Effect::Narrows, "not looked at");
        assert_eq!(
            why(&two, &ran(&two, "", vec![caveat]), &one),
            "its coverage was narrowed: not looked at"
        );
        let mut other = plan(&["a"]);
        other.contract.as_mut().unwrap().path = "b.vplan".to_owned();
        assert_eq!(
            why(&two, &ran(&two, "", Vec::new()), &other),
            "",
            "where a contract stands says nothing"
        );
        other.contract.as_mut().unwrap().digest = Digest::hash(b"other");
        assert_eq!(
            why(&two, &ran(&two, "", Vec::new()), &other),
            "it ran under another contract"
        );
        other.contract = None;
        assert_eq!(
            why(&two, &ran(&two, "", Vec::new()), &other),
            "it ran under another contract"
        );
    }

    #[test]
    fn another_tree_or_none() {
        let plan = plan(&["a"]);
        let report = ran(&plan, "", Vec::new());
        let bytes = Digest::hash(b"");
        let recorded = RecordedEvidence {
            bytes: &bytes,
            plan: &plan,
            report: &report,
        };
        for present in [None, Some("sha256:other"), Some("")] {
            assert!(
                verifies(&recorded, present, &[&plan]).is_err(),
                "{present:?}"
            );
        }
        let unknown = Report {
            tree: None,
            ..report.clone()
        };
        let recorded = RecordedEvidence {
            report: &unknown,
            ..recorded
        };
        assert!(verifies(&recorded, None, &[&plan]).is_err());
        assert!(verifies(&recorded, Some(TREE), &[]).is_err());
    }

    #[test]
    fn what_failed_is_evidence_against_what_asks_for_it() {
        let two = plan(&["a", "b"]);
        let report = ran(&two, "b", Vec::new());
        let bytes = Digest::hash(b"");
        let recorded = RecordedEvidence {
            bytes: &bytes,
            plan: &two,
            report: &report,
        };
        let found = |wanted: &Plan| {
            failed(&recorded, wanted)
                .iter()
                .map(|s| s.id.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&two), ["b"]);
        assert_eq!(found(&plan(&["a"])), [""; 0]);
        let mut other = two.clone();
        other.steps[1].command = "b --fast".to_owned();
        assert_eq!(found(&other), [""; 0], "another check of this name");
    }

    #[test]
    fn only_what_vplan_wrote_is_believed() {
        let plan = plan(&["a"]);
        let report = ran(&plan, "", Vec::new());
        let bytes = Digest::hash(b"report");
        let ended = EndedRun {
            coverage: report.coverage,
            exit_code: report.exit_code,
            plan_digest: plan.digest.clone(),
            report: Some(bytes.clone()),
            run_id: "r".to_owned(),
            tree: Some(TREE.to_owned()),
            verdict: report.verdict,
            version: 1,
        };
        let recorded = RecordedEvidence {
            bytes: &bytes,
            plan: &plan,
            report: &report,
        };
        assert_eq!(believed(&recorded, &ended), Ok(()));
        let edits: [&dyn Fn(&mut EndedRun); 7] = [
            &|e| e.report = None,
            &|e| e.report = Some(Digest::hash(b"other")),
            &|e| e.tree = None,
            &|e| e.verdict = Verdict::Failed,
            &|e| e.exit_code = 40,
            &|e| e.plan_digest = None,
            &|e| e.run_id = "s".to_owned(),
        ];
        for (index, edit) in edits.iter().enumerate() {
            let mut other = ended.clone();
            edit(&mut other);
            assert_eq!(
                believed(&recorded, &other).unwrap_err().answer,
                VerifiedAnswer::Unknown,
                "{index}"
            );
        }
        let unsealed = Plan {
            digest: None,
            ..plan.clone()
        };
        assert!(
            believed(
                &RecordedEvidence {
                    plan: &unsealed,
                    ..recorded
                },
                &ended
            )
            .is_err()
        );
    }
}
