//! Does one step ask for all that another one asks for?

use std::collections::BTreeSet;
use vplan::check::{Kind, Severity};
use vplan::plan::{Origin, Step};

/// Whether a step asks for all that another one asks for.
pub fn covers(new: &Step, old: &Step) -> bool {
    let words = |s: &Step| s.argv.iter().flatten().cloned().collect::<BTreeSet<_>>();
    let most = |n: Option<u64>| n.unwrap_or(u64::MAX);
    let same = (
        &new.env,
        &new.dir,
        &new.path,
        &new.assertions,
        &new.question,
    ) == (
        &old.env,
        &old.dir,
        &old.path,
        &old.assertions,
        &old.question,
    );
    // `{changed}` may hand over more files.
    let more = words(old).is_subset(&words(new)) && new.argv.is_some() == old.argv.is_some();
    // A command that is not the contract's may state a verb that asks for more.
    let stated = |kind: Kind| match kind {
        Kind::Run => 0,
        Kind::Compile | Kind::Lint => 1,
        _ => 2,
    };
    let verb = new.kind == old.kind
        || new.origin != Origin::Contract && stated(new.kind) > stated(old.kind);
    same && more
        && verb
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
