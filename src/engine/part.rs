//! Compares a request that names its files, or a saved plan of one, with the change since the
//! default base, and reports what it does not cover.

use super::open::{gather_from, statement};
use crate::{
    Caveat, ChangeSet, ChangeSource, Code, Effect, Engine, Facts, Failure, Git, Oid, Plan,
    RepoPath, Session, first_of, visible,
};
use std::collections::BTreeSet;
use vplan_base::change::ChangedFile;
use vplan_plan::Step;
use vplan_plan::containment::missing;
use vplan_plan::request::{Mode, Request};
use vplan_repo::changes::base::default_base;

/// Maximum number of missing checks that a message names.
const NAMED: usize = 3;

/// The message about a saved plan, and its help.
const SAVED: (&str, &str) = ("the saved plan covers only a part", "make the plan again");

/// Returns the caveats about a plan whose files were named by the caller: if the whole change
/// requires more checks, and about the files that its comparison did not read. `saved`: the plan
/// comes from a file.
///
/// # Errors
/// The whole change cannot be determined.
pub(crate) fn part_of_named(
    engine: &Engine<'_>,
    session: &Session,
    plan: &Plan,
    saved: bool,
) -> Result<Vec<Caveat>, Failure> {
    let request = &session.request;
    let names_files = request.changed_in.is_none() && request.mode != Mode::Off;
    let (Some(git), Some(contract)) = (session.git().filter(|_| names_files), session.contract())
    else {
        return Ok(Vec::new());
    };
    let Some((base, wider)) = whole_of_named(engine, session, git, None)? else {
        return Ok(Vec::new());
    };
    let files = wider.changed.files().iter();
    let lacking = files.filter(|file| !request.changed.contains(&file.path));
    let lacking: Vec<&ChangedFile> = lacking.collect();
    let compiled =
        |request: &Request, facts: &mut Facts| session.compiled(Some(contract), request, facts);
    let mut facts = Facts::default();
    // Both as compiled: recovery may have rewritten the plan.
    let own = match saved && plan.rewrites.is_empty() {
        true => Ok(None),
        false => compiled(request, &mut Facts::default()).map(Some),
    };
    let (all, own) = match (compiled(&wider, &mut facts), own) {
        (Ok(all), Ok(own)) => (all, own),
        // A saved plan with allowed drift.
        (Err(_), _) | (_, Err(_)) if saved => return Ok(vec![does_not_fit()]),
        (all, own) => (all?, own?),
    };
    let mut caveats = session.unseen_since(Some(&base), &wider, &all, &facts)?;
    let missing = missing(&all, own.as_ref().unwrap_or(plan));
    if lacking.is_empty() {
        return Ok(caveats);
    }
    let files: Vec<RepoPath> = lacking.iter().map(|file| file.path.clone()).collect();
    let (what, help) = if saved {
        SAVED
    } else if request.changed.is_empty() {
        let help = "`--changed-none` verifies none of it";
        ("the request covers no file", help)
    } else {
        let help = "leave them out to verify all of it";
        ("the named files are only a part", help)
    };
    caveats.extend(lacks(&missing, what, help).map(|caveat| caveat.with_files(files)));
    Ok(caveats)
}

/// Returns the caveat about a saved plan that runs with drift, if today's plan requires more.
pub(crate) fn part_of_present(present: &Plan, saved: &Plan) -> Option<Caveat> {
    let (what, help) = SAVED;
    lacks(&missing(present, saved), what, help)
}

fn lacks(missing: &[&Step], what: &str, help: &str) -> Option<Caveat> {
    let checks: BTreeSet<&str> = missing.iter().map(|step| step.check()).collect();
    if checks.is_empty() {
        return None;
    }
    let name = |check: &&str| format!("`{}`", visible(check));
    let shown = first_of(checks.iter().map(name), NAMED);
    let message = format!("{what} of the change, which also requires {shown}");
    let checks = checks.into_iter().map(str::to_owned).collect();
    let caveat = Caveat::new(Code::PartOfChange, Effect::Narrows, message);
    Some(caveat.of_checks(checks).way_out(help))
}

/// Returns, for a request that names its files, the base, and the request with the whole change as
/// well. `since`: the commit at which the subject began, if there is one.
///
/// A clone without the default branch compares with HEAD: callers that name the files need no
/// default branch.
///
/// # Errors
/// The whole change cannot be determined.
pub(super) fn whole_of_named(
    engine: &Engine<'_>,
    session: &Session,
    git: &Git,
    since: Option<Oid>,
) -> Result<Option<(Oid, Request)>, Failure> {
    if let Some(known) = session.whole.get() {
        return Ok(known.clone());
    }
    let line = session.loaded.as_ref().and_then(statement);
    let base = match since {
        Some(_) => since,
        None => default_base(git, line, &engine.commit_cache(&session.site))?.commit,
    };
    let Some(base) = base else { return Ok(None) };
    let whole = gather_from(&session.site, Some(&ChangeSource::since(&base)))?.changes;
    let mut wider = session.request.clone();
    // With the named files, which need not be changed.
    let lacking = whole.files().iter();
    let lacking = lacking.filter(|file| !wider.changed.contains(&file.path));
    let all = lacking.chain(wider.changed.files()).cloned().collect();
    wider.changed = ChangeSet::new(all);
    let whole = Some((base, wider));
    Ok(session.whole.get_or_init(|| whole).clone())
}

/// The caveat about a saved plan whose request cannot be planned today.
pub(crate) fn does_not_fit() -> Caveat {
    let message =
        "the saved plan does not fit the contract, and may cover only a part of the change";
    Caveat::new(Code::PartOfChange, Effect::Narrows, message).way_out("make the plan again")
}
