//! Checks that each round of a loop verifies the same as the first one: contract, base and change.

use crate::baseline::counting;
use crate::judge_commit::JudgeCommit;
use crate::open::gather_from;
use crate::request::Allowed;
use crate::subject::{now, trace};
use crate::{
    Caveat, ChangeSet, ChangeSource, Code, Digest, Effect, Engine, Exit, Failure, Oid, RepoPath,
    Session,
};
use vplan_ledger::undone::{Trace, moved, undone};
use vplan_plan::request::ChangedFrom;
use vplan_repo::lockfile;

/// The contract has changed.
pub(super) const CHANGED: &str = "vplan::loop::contract_changed";
/// HEAD has moved.
pub(super) const MOVED: &str = "vplan::loop::history_changed";
/// Nothing of the change is left.
pub(super) const GONE: &str = "vplan::loop::change_gone";

/// The identity of the contract, which must not change while the loop runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pin {
    contract: Option<Digest>,
    imports: Vec<(String, Digest)>,
    /// The digest of the lock's bytes, or why it cannot be read.
    lock: Result<Option<Digest>, String>,
    /// The digest of the baseline, or why it cannot be read: if the base has no contract, the fixer
    /// could add entries.
    known: Result<Option<Digest>, String>,
}

impl Pin {
    fn new(engine: &Engine<'_>, session: &Session) -> Self {
        let judge = JudgeCommit::find(session, engine);
        let known = counting(session, engine, judge.commit.as_ref());
        let contract = session.contract();
        let imports = contract.into_iter().flat_map(|c| &c.imports);
        let imports = imports.map(|i| (i.name.clone(), i.digest.clone()));
        let revision = session.loaded.as_ref().and_then(|l| l.revision.as_ref());
        let path = lockfile::path_for(&session.contract_path);
        let lock = lockfile::read(&session.site, &path, revision);
        let lock = lock
            .map(|l| l.text.map(|text| Digest::hash(text.as_bytes())))
            .map_err(|e| e.to_string());
        Self {
            contract: contract.map(|c| c.digest.clone()),
            imports: imports.collect(),
            lock,
            known: known
                .map(|known| known.used.map(|used| used.digest))
                .map_err(|failure| failure.message),
        }
    }
}

/// The state of the first round that later rounds are compared with.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Whether another contract may be verified.
    allowed: Option<Allowed>,
    pin: Option<Pin>,
    /// HEAD in the first round, if it matters.
    head: Option<Option<Oid>>,
    /// The change that the loop began with.
    work: Option<Work>,
    /// The contract has changed since the round before.
    pub changed: bool,
    /// The files of that change that are restored to the base.
    pub undone: Vec<RepoPath>,
}

impl Watch {
    /// Makes the state before the first round.
    pub(super) fn new(allowed: Option<Allowed>) -> Self {
        Self {
            allowed,
            ..Self::default()
        }
    }

    /// Returns the commit that the changed files are compared with, if it is one.
    pub(super) fn base(&self) -> Option<&Oid> {
        self.work.as_ref()?.base.as_ref()
    }

    /// Checks the session before a round runs.
    ///
    /// # Errors
    /// Another contract or another HEAD (exit 22), a change that is gone (exit 40), or one that can
    /// no longer be determined (exit 2).
    pub(super) fn check(
        &mut self,
        engine: &Engine<'_>,
        session: &Session,
    ) -> Result<Vec<Caveat>, Failure> {
        let now = Pin::new(engine, session);
        match &self.pin {
            Some(before) if *before != now && !is_allowed(self.allowed.as_ref(), session) => {
                let message =
                    "the fixer changed the contract, what it imports, its lock, or what is known";
                let help =
                    "look at the change; `--allow-contract-change` goes on under the new contract";
                return Err(Failure::new(Exit::Escalated, CHANGED, message).help(help));
            }
            Some(before) => self.changed |= *before != now,
            None => {}
        }
        self.pin = Some(now);
        self.same_head(session)?;
        let Some(work) = &self.work else {
            self.work = Some(Work::read(engine, session)?);
            return Ok(Vec::new());
        };
        let (files, caveats) = work.compare(session)?;
        self.undone = files;
        match caveats.iter().find(|c| c.code == Code::ChangeGone) {
            Some(gone) => Err(Failure::new(Exit::Failed, GONE, gone.message.clone())
                .help("look for the work in `git stash list`, `git reflog` and other branches")),
            None => Ok(caveats),
        }
    }

    /// Refuses another HEAD: a commit removes its files from the staged ones, and nothing records
    /// which.
    fn same_head(&mut self, session: &Session) -> Result<(), Failure> {
        let from = session.request.changed_from.as_ref();
        if !matches!(from, Some(ChangedFrom::Staged | ChangedFrom::WorkTree)) {
            return Ok(());
        }
        let now = session.git().and_then(|git| git.head().ok().flatten());
        match &self.head {
            // If `--base` names a commit, that one counts instead.
            Some(before) if *before != now => {
                let message = "HEAD is not what it was in the first round";
                return Err(Failure::new(Exit::Escalated, MOVED, message)
                    .help("a fixer changes files, and leaves it to others to commit them"));
            }
            Some(_) => {}
            None => self.head = Some(now),
        }
        Ok(())
    }
}

/// Whether another contract than that of the first round may be verified.
fn is_allowed(allowed: Option<&Allowed>, session: &Session) -> bool {
    let is_own = |digest: &Digest| session.contract().is_some_and(|c| c.identity() == *digest);
    match allowed {
        None => false,
        Some(Allowed::Any) => true,
        Some(Allowed::Contract(digest)) => is_own(digest),
    }
}

/// The change that a loop began with.
#[derive(Debug)]
struct Work {
    /// The commit that the request compares with.
    base: Option<Oid>,
    /// The base of the change, if the request does not get its changes from git.
    own_base: Option<Oid>,
    /// The files that differed from the base.
    trace: Trace,
    /// The caveats about the base.
    caveats: Vec<Caveat>,
}

impl Work {
    fn read(engine: &Engine<'_>, session: &Session) -> Result<Self, Failure> {
        let by_default = || engine.by_default(&session.site, session.loaded.as_ref());
        let own_base = match reads_from_git(session) {
            true => None,
            false => by_default().ok().flatten().map(|place| place.commit),
        };
        let codes = [Code::BaseUnknown, Code::EarlierPushes, Code::WholeTree];
        let caveats = session.gathered.caveats.iter();
        let caveats = caveats.filter(|c| codes.contains(&c.code)).cloned();
        let changes = changes(own_base.as_ref(), session)?;
        // All paths count here; contents are known for as many files as a round stores.
        let paths = changes.files().iter().map(|file| file.path.clone());
        let trace = Trace {
            paths: paths.collect(),
            more: false,
            ..trace(&session.site.root, String::new(), &changes)
        };
        Ok(Self {
            base: session.gathered.base,
            own_base,
            trace,
            caveats: caveats.collect(),
        })
    }

    /// Returns the files that are restored to the base, and the caveats.
    fn compare(&self, session: &Session) -> Result<(Vec<RepoPath>, Vec<Caveat>), Failure> {
        let changes = changes(self.own_base.as_ref(), session)?;
        let mut caveats = self.caveats.clone();
        for caveat in caveats.iter_mut().filter(|_| !changes.is_empty()) {
            caveat.effect = caveat.effect.min(Effect::Narrows);
        }
        let is_changed = |path: &RepoPath| changes.contains(path);
        let now = || now(&session.site.root, &changes);
        let moved = moved([&self.trace], is_changed, now);
        let differs = |path: &RepoPath| is_changed(path) || moved.contains(path);
        let Some(found) = undone([&self.trace], differs) else {
            return Ok((Vec::new(), caveats));
        };
        let (code, effect, message) = if found.all {
            let message = "nothing is left of the change that the loop began with: all of its files are as at the base, or hidden";
            (Code::ChangeGone, Effect::Incomplete, message)
        } else if found.tests {
            let message = "files that the first round changed are as at the base again, test files among them";
            (Code::Undone, Effect::Narrows, message)
        } else {
            let message = "files that the first round changed are as at the base again";
            (Code::Undone, Effect::Note, message)
        };
        caveats.push(Caveat::new(code, effect, message).with_files(found.files.clone()));
        Ok((found.files, caveats))
    }
}

/// Returns the changed files: those of the request, or those since `own_base` if it names files.
fn changes(own_base: Option<&Oid>, session: &Session) -> Result<ChangeSet, Failure> {
    let since = |base| gather_from(&session.site, Some(&ChangeSource::since(base)));
    Ok(match (own_base, reads_from_git(session)) {
        (_, true) => session.request.changed.clone(),
        (Some(base), false) => since(base)?.changes,
        (None, false) => ChangeSet::default(),
    })
}

/// Whether the request gets its changes from git.
fn reads_from_git(session: &Session) -> bool {
    let from = session.request.changed_from.as_ref();
    from.is_some_and(|from| *from != ChangedFrom::All)
}
