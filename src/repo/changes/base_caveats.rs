//! Makes the caveats about the commit that a change is compared with.

use super::base::{DefaultBase, UnknownBase};
use vplan_base::word::visible;
use vplan_plan::caveat::{Caveat, Code, Effect};

/// Returns the caveats of a default base.
pub fn of_default(base: &DefaultBase) -> Vec<Caveat> {
    let unknown = base.unknown().map(unknown);
    let ignored = base.ignored.as_deref().map(ignored);
    unknown.into_iter().chain(ignored).collect()
}

/// Makes the caveat that no base is known, so HEAD is the base.
fn unknown(why: &UnknownBase) -> Caveat {
    let reason = match why {
        UnknownBase::Nothing => "nothing says which branch they are made for".to_owned(),
        UnknownBase::CheckedOut(branch) => {
            format!("`{}` is checked out, and no remote has it", visible(branch))
        }
        UnknownBase::SeveralRemotes(_) => {
            "there are several remotes, and none is `origin`".to_owned()
        }
        UnknownBase::Lacking(lacking) => lacking.message(),
    };
    let fetch = match why {
        UnknownBase::Lacking(lacking) => {
            lacking.commands().map(|c| format!("`{c}` gets it; else "))
        }
        _ => None,
    };
    let way_out = format!(
        "{}name a base with `--base REV` or with the line `base \"BRANCH\"` in the contract, all files with `--all`, or none \
         with `--changed-none`",
        fetch.unwrap_or_default()
    );
    Caveat::new(
        Code::BaseUnknown,
        Effect::Narrows,
        format!("commits before HEAD were not looked at: {reason}"),
    )
    .way_out(way_out)
}

/// Makes the caveat about a line `base` that the contract at its own merge base lacks.
pub(super) fn ignored(branch: &str) -> Caveat {
    let branch = visible(branch);
    let message = format!(
        "the contract's line `base \"{branch}\"` does not count: the contract at the merge base with `{branch}` does not have it"
    );
    Caveat::new(Code::BaseIgnored, Effect::Narrows, message).way_out(format!(
        "it counts as soon as it is on `{branch}`; until then `--base {branch}` says the same"
    ))
}

/// Makes the caveat about a requested base that excludes commits of the change. `whose`: who
/// requests it.
pub fn later(base: &DefaultBase, whose: &str) -> Caveat {
    let shown = base.reference.as_deref().map(visible).unwrap_or_default();
    let message = format!("{whose} leaves out commits that are not on `{shown}`");
    Caveat::new(Code::BaseLater, Effect::Narrows, message)
        .way_out("without `--base` they are looked at")
}
