//! What identifies a plan?

use super::Plan;
use crate::base::canon::Digest;

/// The plan without annotations (source positions, `describe`, the digest itself): what the digest covers.
#[must_use]
pub fn without_annotations(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.digest = None;
    for step in &mut plan.steps {
        step.describe = None;
        step.source = None;
        step.reasons.iter_mut().for_each(|r| r.line = None);
    }
    for omitted in &mut plan.omitted {
        omitted.line = None;
        omitted.reasons.iter_mut().for_each(|r| r.line = None);
    }
    plan
}

/// The digest of a plan's canonical form.
#[must_use]
pub fn digest(plan: &Plan) -> Digest {
    Digest::of_value(&without_annotations(plan))
}

/// Sets the plan's digest.
#[must_use]
pub fn seal(mut plan: Plan) -> Plan {
    plan.digest = Some(digest(&plan));
    plan
}
