//! Compares a contract with the observed effects of its checks: files read that nothing selects,
//! forbidden writes, missing order.

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
pub use context::{AuditSubject, Audited, Finding, FindingKind, Incomplete, ObservedRun, Severity};
pub(super) use observed::reason;

/// Compares a contract with the observed effects. The order of the runs does not matter.
pub fn audit(subject: &AuditSubject<'_>) -> Audited {
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
