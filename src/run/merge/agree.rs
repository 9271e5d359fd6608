//! Checks that reports are what vplan wrote of shards, and that these are shards of one
//! verification: of one plan, one division, one base and one tree.

use super::part::{
    BASE, Checked, DIVISION, MISMATCH, MergeError, NO_SHARD, Part, TAMPERED, TREE, fail, mismatch,
    quote,
};
use crate::authenticity::{AspectState, examine, own_plan};
use crate::report::Report;
use vplan_base::word::visible;
use vplan_plan::Plan;
use vplan_plan::drift::drift;
use vplan_plan::shard::division::Division;

/// Checks that a report is the one that vplan wrote of a shard: its plans have their digests, its
/// share is its share, and nothing in it is refused by `vplan verify`.
pub(super) fn check(part: Part) -> Result<Checked, MergeError> {
    let Part { name, report } = part;
    let tampered = |why: &str| {
        let why = format!("was changed after it was written: {why}");
        fail(TAMPERED, &name, &why, None)
    };
    let Some(record) = report.shard.clone() else {
        return fail(
            NO_SHARD,
            &name,
            "is the report of a whole run, not of a shard",
            Some("`vplan run --shard I/N` runs a shard"),
        );
    };
    let executed = match own_plan(&report) {
        Ok(Some(plan)) => plan,
        Ok(None) => return tampered("it has no plan"),
        Err(why) => return tampered(why),
    };
    let aspects = examine(&report, Some(&executed), None);
    if let Some(aspect) = aspects.iter().find(|a| a.holds == AspectState::No) {
        return tampered(&visible(aspect.message.as_bytes()));
    }
    Ok(Checked {
        name,
        report,
        record,
        executed,
    })
}

/// Checks that two shards are of one division of one plan, for one base and one tree.
pub(super) fn agree(one: &Checked, other: &Checked) -> Result<(), MergeError> {
    let names = (quote(&one.name), quote(&other.name));
    if one.record.plan_digest != other.record.plan_digest {
        let message = format!("`{}` and `{}` are about different plans", names.0, names.1);
        let drift = drift(&one.record.plan, &other.record.plan);
        return mismatch(MISMATCH, message, drift);
    }
    if one.record.count != other.record.count {
        let counts = (one.record.count, other.record.count);
        let message = format!(
            "`{}` is one of {} shards, `{}` one of {}",
            names.0, counts.0, names.1, counts.1
        );
        return mismatch(MISMATCH, message, Vec::new());
    }
    if one.record.division != other.record.division {
        let message = format!(
            "`{}` and `{}` were dealt differently: {} and {}",
            names.0,
            names.1,
            dealt(one.record.division.as_ref()),
            dealt(other.record.division.as_ref())
        );
        return mismatch(DIVISION, message, Vec::new());
    }
    let differ = |code, what: &str, a: &str, b: &str| {
        let (a, b) = (visible(a.as_bytes()), visible(b.as_bytes()));
        let message = format!("`{}` and `{}` {what}: {a} and {b}", names.0, names.1);
        mismatch(code, message, Vec::new())
    };
    if let (Some(a), Some(b)) = (base(&one.report), base(&other.report))
        && a != b
    {
        return differ(BASE, "compared the change with different commits", a, b);
    }
    if one.report.baseline != other.report.baseline {
        let said = |report: &Report| {
            let digest = report.baseline.as_ref().map(|b| b.digest.to_string());
            digest.unwrap_or_else(|| "none".to_owned())
        };
        let (a, b) = (said(&one.report), said(&other.report));
        return differ(BASE, "went by different baselines", &a, &b);
    }
    match (&one.report.tree, &other.report.tree) {
        (Some(a), Some(b)) if a != b => differ(TREE, "verified different trees", a, b),
        _ => Ok(()),
    }
}

/// Checks that a shard is one of the expected plan.
pub(super) fn of_plan(checked: &Checked, plan: &Plan) -> Result<(), MergeError> {
    let name = quote(&checked.name);
    if checked.record.plan_digest != plan.digest {
        let message = format!("`{name}` is not about the expected plan");
        return mismatch(MISMATCH, message, drift(plan, &checked.record.plan));
    }
    let expected = plan.compared.as_ref().and_then(|c| c.base.as_deref());
    match (expected, base(&checked.report)) {
        (Some(a), Some(b)) if a != b => {
            let (a, b) = (visible(a.as_bytes()), visible(b.as_bytes()));
            let message =
                format!("`{name}` compared the change with {b}, the expected plan with {a}");
            mismatch(BASE, message, Vec::new())
        }
        _ => Ok(()),
    }
}

/// Checks that a shard is one of the given division.
pub(super) fn of_division(checked: &Checked, division: &Division) -> Result<(), MergeError> {
    if checked.record.division.as_ref() == Some(division) {
        return Ok(());
    }
    let message = format!(
        "`{}` was dealt {}, not {} as the given division",
        quote(&checked.name),
        dealt(checked.record.division.as_ref()),
        dealt(Some(division))
    );
    mismatch(DIVISION, message, Vec::new())
}

/// Says how the steps of a plan were dealt.
fn dealt(division: Option<&Division>) -> String {
    let digest = division.and_then(|division| division.digest.as_ref());
    digest.map_or_else(|| "in turn".to_owned(), |digest| format!("by {digest}"))
}

/// Returns the commit that the change was compared with.
fn base(report: &Report) -> Option<&str> {
    report.compared.as_ref()?.base.as_deref()
}
