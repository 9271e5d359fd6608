//! Does one step ask for all that another one asks for?

use std::collections::BTreeSet;
use vplan::check::Severity;
use vplan::plan::Step;

/// Whether a step asks for all that another one asks for.
pub fn covers(new: &Step, old: &Step) -> bool {
    let words = |s: &Step| s.argv.iter().flatten().cloned().collect::<BTreeSet<_>>();
    let most = |n: Option<u64>| n.unwrap_or(u64::MAX);
    let same = (
        &new.env,
        &new.dir,
        new.kind,
        &new.path,
        &new.assertions,
        &new.question,
    ) == (
        &old.env,
        &old.dir,
        old.kind,
        &old.path,
        &old.assertions,
        &old.question,
    );
    // `{changed}` may hand over more files.
    let more = words(old).is_subset(&words(new)) && new.argv.is_some() == old.argv.is_some();
    same && more
        && new.unsupported == old.unsupported
        && new.severity == Severity::Blocking
        && !new.setup
        && (!new.optional || old.optional)
        && new.exit.iter().all(|c| old.exit.contains(c))
        && new.skip_exit.iter().all(|c| old.skip_exit.contains(c))
        && new.retries <= old.retries
        && new.sandbox >= old.sandbox
        && new.network >= old.network
        && new.timeout_ms <= old.timeout_ms
        && new.max_errors <= old.max_errors
        && most(new.max_warnings) <= most(old.max_warnings)
}
