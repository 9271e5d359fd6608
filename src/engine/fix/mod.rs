//! Verifies, runs the contract's fixes for what failed, and verifies again.
//!
//! A fix is not trusted. Its exit code decides nothing, the contract decides what it may change,
//! and the tree shows what it changed. In a view of staged files, the fixes are applied to the
//! index and the work tree after the second verification.

mod mend;

use crate::{
    ChangeSource, Engine, Exit, Failure, Git, RepoPath, Session, Site, Verdict, VerifyRequest,
};
pub use mend::FixRecord;
pub(crate) use mend::{HowEnded, Mended, failing, has_fix, mend};

use super::staged::{complete, not_brought_in, only_in_a_view};
use super::verify::{Caller, Progress, Verified, verify};
use std::time::Duration;
use vplan_git::{self as git, mended};
use vplan_os::view;
use vplan_run::event::Interrupt;

/// An event of fixing.
pub enum FixProgress<'a> {
    /// It is being verified.
    Verifying(Progress<'a>),
    /// It was verified.
    Verified(&'a Verified),
    /// A fix has ended.
    Fixed(&'a FixRecord),
}

/// The caller's part.
pub struct FixCaller<'c> {
    /// Receives the progress.
    pub see: &'c mut dyn FnMut(FixProgress<'_>),
    /// The interval at which the progress reports the running steps; never without.
    pub tick: Option<Duration>,
}

/// How a call of `fix` ended.
#[derive(Debug)]
pub struct FixOutcome {
    /// The changed files, ascending; empty if no fix was applied.
    pub changed: Vec<RepoPath>,
    /// The exit code.
    pub exit: u8,
    /// The fixes that ran, in order.
    pub fixes: Vec<FixRecord>,
    /// The verification that counts.
    pub last: Verified,
    /// The checks that failed and have no fix, in the order of the first plan.
    pub without: Vec<String>,
}

/// Verifies a change, fixes it, and verifies it again.
///
/// # Errors
/// The change cannot be verified; a staged file has changes that are not staged (exit 2); the fixes
/// cannot be applied. If a view of the index is required, [`in_view`](super::staged::in_view)
/// handles the error.
pub fn fix(
    engine: &Engine<'_>,
    asked: &VerifyRequest,
    mut caller: FixCaller<'_>,
) -> Result<FixOutcome, Failure> {
    let mut asked = asked.clone();
    // One run shows all that fails.
    asked.plan.request.keep_going = true;
    let site = engine.locate()?;
    let is_view = view::is_inside(&site.root);
    complete(engine, &site)?;
    if !is_view && asked.plan.changes == Some(ChangeSource::Staged) {
        return Err(only_in_a_view(&engine.open(&asked.plan)?));
    }
    let first = verified(engine, &asked, &mut caller)?;
    let contract = first.session.contract();
    let without = failing(&first).into_iter();
    let without: Vec<String> = without
        .filter(|id| contract.is_none_or(|contract| !has_fix(contract, id)))
        .map(str::to_owned)
        .collect();
    let see = &mut caller.see;
    let mended = mend(&first, &asked, &mut |record| {
        see(FixProgress::Fixed(record))
    })?;
    let Some(mended) = mended else {
        let exit = match first.report.verdict {
            Verdict::Passed | Verdict::Incomplete if failing(&first).is_empty() => {
                Exit::Success.code()
            }
            _ => first.report.exit_code,
        };
        return Ok(FixOutcome {
            changed: Vec::new(),
            exit,
            fixes: Vec::new(),
            last: first,
            without,
        });
    };
    let stopped = mended.interrupted.map(Interrupt::exit);
    let stopped = stopped.or_else(|| mended.is_outside().then_some(Exit::Failed));
    let last = if stopped.is_some() {
        first
    } else if is_view {
        verified_and_brought_in(engine, &asked, &first.session, &mended, &mut caller)?
    } else {
        verified(engine, &asked, &mut caller)?
    };
    let is_over = stopped.is_some() || last.report.verdict == Verdict::Cancelled;
    Ok(FixOutcome {
        changed: if is_view && is_over {
            Vec::new()
        } else {
            mended.changed()
        },
        exit: stopped.map_or(last.report.exit_code, Exit::code),
        fixes: mended.fixes,
        last,
        without,
    })
}

fn verified(
    engine: &Engine<'_>,
    asked: &VerifyRequest,
    caller: &mut FixCaller<'_>,
) -> Result<Verified, Failure> {
    let see = &mut caller.see;
    let mut tell = |progress: Progress<'_>| see(FixProgress::Verifying(progress));
    let of_run = Caller {
        see: Some(&mut tell),
        tick: caller.tick,
        ..Caller::default()
    };
    let verified = verify(engine, asked, of_run)?;
    (caller.see)(FixProgress::Verified(&verified));
    Ok(verified)
}

/// Verifies the fixes made in a view as if they were staged. Then applies them to the repository's
/// own index and work tree, unless the run was interrupted.
fn verified_and_brought_in(
    engine: &Engine<'_>,
    asked: &VerifyRequest,
    session: &Session,
    mended: &Mended,
    caller: &mut FixCaller<'_>,
) -> Result<Verified, Failure> {
    let (Some(git), Some((real, folder))) = (session.git(), view::places()) else {
        return Err(Failure::internal("a view without a repository"));
    };
    let files = mended::ReplacedFile::between(&mended.changed(), &mended.before, &mended.after);
    let index = folder.join("index");
    git.keep_contents(&files).map_err(|e| not_brought_in(&e))?;
    let staged = git.at_mended_index(&index, &files);
    staged.map_err(|e| not_brought_in(&e))?;
    let engine = Engine {
        index: Some(&index),
        ..*engine
    };
    let last = verified(&engine, asked, caller)?;
    if last.report.verdict != Verdict::Cancelled {
        let own = own_git(&session.site, git).map_err(|e| not_brought_in(&e.into()))?;
        own.bring_in(&real, &files)
            .map_err(|e| not_brought_in(&e))?;
    }
    Ok(last)
}

/// Returns git at the repository's own index, from a view.
fn own_git(site: &Site, git: &Git) -> Result<Git, git::error::GitError> {
    if site.is_checkout() {
        let own = Git::open(&site.home, &git::environment)?;
        Ok(own.with_index_of(&git::environment))
    } else {
        Ok(git.clone())
    }
}
