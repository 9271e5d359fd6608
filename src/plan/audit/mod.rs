//! Holds a contract against what its checks were seen to do: what they read and nothing selects,
//! what they wrote and may not, what nothing orders.

pub mod amendment;
mod blind;
mod context;
pub mod covering;
pub mod findings;
mod home;
mod idle;
mod ignored;
mod inputs;
pub mod matrix;
mod observed;
mod order;
mod outside;
mod written;

use context::Context;
pub use context::{Audited, Finding, FindingKind, Incomplete, ObservedRun, Severity, Subject};
pub(super) use observed::reason;

/// Holds a contract against what was seen. The order of the runs makes no difference.
pub fn audit(subject: &Subject<'_>) -> Audited {
    let seen = observed::gather(subject);
    let context = Context::new(subject);
    let mut findings = blind::find(&context, &seen);
    for one in &seen {
        findings.extend(inputs::find(&context, one));
        findings.extend(inputs::absent(&context, one));
        findings.extend(written::find(&context, one));
        findings.extend(written::ignored(&context, one));
        findings.extend(outside::find(&context, one));
        findings.extend(ignored::find(&context, one));
    }
    findings.extend(order::find(&context));
    findings.extend(idle::find(&context, &seen));
    findings.sort_by(|a, b| {
        let key = |f: &Finding| (f.kind, f.severity, f.check.clone(), f.globs.clone());
        key(a).cmp(&key(b))
    });
    Audited {
        findings,
        incomplete: observed::incomplete(subject.contract, &seen),
    }
}
