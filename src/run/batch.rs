//! Checks the limits of a check over all its batches: thresholds apply to the sum.

use super::record::StepRecord;
use std::collections::BTreeMap;
use vplan_base::index::Dense;
use vplan_check::outcome::{Cause, Outcome, Status};
use vplan_plan::{Plan, Step, StepIndex};

/// Returns the first batch, in plan order, with which the findings of a check exceed a limit, if it
/// passed by itself, and its outcome therefore. The steps are those of one check; one without a record
/// has found nothing.
pub(super) fn exceeded<'a>(
    batches: impl Iterator<Item = (StepIndex, &'a Step, Option<&'a StepRecord>)>,
) -> Option<(StepIndex, Outcome)> {
    let (mut errors, mut warnings) = (0_u64, 0_u64);
    for (nth, (index, step, record)) in batches.enumerate() {
        // What is known was judged with its own batch, and counts towards no limit.
        let Some(record) = record.filter(|r| r.reason != Some(Cause::Known)) else {
            continue;
        };
        errors = errors.saturating_add(record.errors.unwrap_or(0));
        warnings = warnings.saturating_add(record.warnings.unwrap_or(0));
        let most = step.max_errors.unwrap_or(0);
        let (cause, found, noun, most) = match step.max_warnings {
            _ if errors > most => (Cause::Errors, errors, "errors", most),
            Some(most) if warnings > most => (Cause::Warnings, warnings, "warnings", most),
            _ => continue,
        };
        let detail = format!(
            "{found} {noun} in the batches 1 to {} together; at most {most} may be",
            nth + 1
        );
        return record
            .status
            .is_pass()
            .then(|| (index, Outcome::new(Status::Failed, cause, detail)));
    }
    None
}

/// Evaluates the limits of all checks over their batches, once every step has its record.
pub(super) fn judge_all(plan: &Plan, records: &mut Dense<StepIndex, StepRecord>) {
    let mut checks: BTreeMap<&str, Vec<(StepIndex, &Step)>> = BTreeMap::new();
    for (index, step) in plan.numbered_steps() {
        if let Some(name) = &step.batch_of {
            checks.entry(name).or_default().push((index, step));
        }
    }
    for batches in checks.into_values() {
        let batches = batches.into_iter();
        if let Some((batch, outcome)) = exceeded(batches.map(|(i, s)| (i, s, Some(&records[i])))) {
            records[batch].end_as(outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::step;
    use vplan_base::index::Index as _;

    #[test]
    fn limits_hold_for_the_sum() {
        let limited = Step {
            max_errors: Some(2),
            max_warnings: Some(3),
            ..step("a")
        };
        let of = |status, errors, warnings| {
            let outcome = Outcome {
                cause: None,
                detail: None,
                status,
            };
            let record = StepRecord::without_evidence(&limited, outcome);
            Some(StepRecord {
                errors: Some(errors),
                warnings: Some(warnings),
                ..record
            })
        };
        let passed = |errors, warnings| of(Status::PassedWithWarnings, errors, warnings);
        for (name, records, want) in [
            (
                "equal to both limits",
                vec![passed(1, 1), passed(1, 2)],
                None,
            ),
            (
                "errors",
                vec![passed(1, 0), passed(1, 0), passed(1, 0), passed(1, 0)],
                Some((2, Cause::Errors)),
            ),
            (
                "warnings",
                vec![passed(0, 3), None, passed(0, 1)],
                Some((2, Cause::Warnings)),
            ),
            (
                "one that failed by itself",
                vec![of(Status::Failed, 3, 0), passed(1, 0)],
                None,
            ),
            (
                "after one that failed otherwise",
                vec![of(Status::TimedOut, 2, 0), passed(1, 0)],
                Some((1, Cause::Errors)),
            ),
        ] {
            let batches = records
                .iter()
                .enumerate()
                .map(|(i, record)| (StepIndex::new(i), &limited, record.as_ref()));
            let got =
                exceeded(batches).and_then(|(i, outcome)| Some((i.position(), outcome.cause?)));
            assert_eq!(got, want, "{name}");
        }
    }
}
