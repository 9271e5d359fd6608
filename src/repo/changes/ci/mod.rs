//! Finds the base of a change in CI: the target branch or the default branch, as the system and its
//! event name it. If that cannot be determined, no smaller change is assumed.

pub mod event;
pub mod system;

use super::base::{
    self, Base, BaseOrigin, BaseStatement, DefaultBase, Lacking, UnknownBase, Unrelated, Whence,
    merge_base_with,
};
use super::base_caveats;
use super::commit_cache::CommitCache;
use super::error::ChangeError;
use event::CiEvent;
use std::path::Path;
use system::{CiJob, CiMerge, CiMergeRequest, CiSystem, Main, Push};
use vplan_base::word::visible;
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_git::refs::{GitRemote, Refs};
use vplan_git::{Git, Lookup};
use vplan_os::files;
use vplan_plan::caveat::{Caveat, Code, Effect};

/// The base of a change in CI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// A commit, or the empty tree.
    With(Base),
    /// Nothing: every tracked file counts as changed.
    Whole {
        why: String,
        /// The caveat about it.
        caveat: Caveat,
    },
}

/// Finds the base. `statement`: the contract's line `base`, which counts if the system does not
/// name the default branch.
///
/// # Errors
/// The system is unknown, or this clone lacks the commit that the system names. HEAD is never
/// assumed instead.
pub fn compared(
    git: &Git,
    lookup: Lookup<'_>,
    statement: Option<BaseStatement<'_>>,
) -> Result<Compared, ChangeError> {
    let text = |name: &str| {
        (!name.is_empty())
            .then(|| lookup(name))
            .flatten()?
            .into_string()
            .ok()
            .filter(|v| !v.trim().is_empty())
    };
    let event = event_of(text(system::EVENT_FILE).as_deref())?;
    let job = system::detect(&text, &event).ok_or(ChangeError::NoCiBase)?;
    let head = git
        .head()?
        .ok_or_else(|| GitError::UnknownRevision("HEAD".to_owned()))?;
    let refs = Refs::new(git);
    let remote = match Whence::from_remotes(refs.remotes()?) {
        Whence::Remote(remote) => Some(remote),
        Whence::Several(_) | Whence::Nowhere => None,
    };
    let here = Checkout {
        git,
        head,
        refs,
        remote,
        statement,
    };
    match job {
        CiJob::Request(request) => here.request(&request).map(Compared::With),
        CiJob::Push(push) => here.push(&push),
        CiJob::Whole(why) => Ok(whole(why)),
    }
}

/// Reads the event file. A missing one is an empty event; one that cannot be read is an error.
fn event_of(path: Option<&str>) -> Result<CiEvent, ChangeError> {
    let Some(path) = path else {
        return Ok(CiEvent::default());
    };
    let unreadable = |message: String| ChangeError::CiEvent {
        path: path.to_owned(),
        message,
    };
    match files::read_plain(Path::new(path), event::MAX) {
        Ok(bytes) => event::read(&bytes).map_err(|e| unreadable(e.to_string())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(CiEvent::default()),
        Err(e) => Err(unreadable(e.to_string())),
    }
}

fn whole(why: String) -> Compared {
    let message = format!("every tracked file counts as changed: {why}");
    Compared::Whole {
        why,
        caveat: Caveat::new(Code::WholeTree, Effect::Note, message),
    }
}

/// The present checkout.
struct Checkout<'a> {
    git: &'a Git,
    head: Oid,
    refs: Refs<'a>,
    /// `origin`, or the only one.
    remote: Option<GitRemote>,
    statement: Option<BaseStatement<'a>>,
}

impl Checkout<'_> {
    /// Finds the base of a request.
    fn request(&self, request: &CiMergeRequest) -> Result<Base, ChangeError> {
        if let Some(merge) = &request.merge
            && let Some(base) = self.merged(merge, request)?
        {
            return Ok(base);
        }
        let mut contained = None;
        if let Some(target) = &request.target
            && let Some((reference, id)) = self.branch(&target.value)?
        {
            match self.since(&id, target, &target.value)? {
                // HEAD is in the branch already, so HEAD is not the change.
                commit if commit == self.head => contained = Some(target),
                commit => return Ok(since_branch(commit, &reference, id, target)),
            }
        }
        for named in &request.ids {
            let Some(id) = self.commit(&named.value)? else {
                continue;
            };
            let branch = request.target.as_ref().map_or("", |target| &target.value);
            match self.since(&id, named, branch)? {
                commit if commit == self.head => contained = contained.or(Some(named)),
                commit => return Ok(since_branch(commit, &named.value, id, named)),
            }
        }
        match (contained, &request.target, request.ids.first()) {
            (Some(named), ..) => Err(ChangeError::CiNoChange {
                variable: named.variable,
                value: named.value.clone(),
            }),
            (None, Some(target), _) => Err(self.missing(target, Some(&target.value))),
            (None, None, Some(id)) => Err(self.missing(id, None)),
            (None, None, None) => Err(ChangeError::NoCiBase),
        }
    }

    /// Returns the branch that the forge merged the change into, if that merge commit is checked
    /// out: its first parent.
    fn merged(
        &self,
        merge: &CiMerge,
        request: &CiMergeRequest,
    ) -> Result<Option<Base>, ChangeError> {
        if Oid::parse(merge.commit.as_bytes()) != Some(self.head) {
            return Ok(None);
        }
        let parents = self.git.parents(&self.head)?;
        let [first, second] = parents.as_slice() else {
            return Ok(None);
        };
        let is = |id: &Oid, said: &Option<String>| {
            said.as_ref().is_none_or(|said| *said == id.to_string())
        };
        if !is(first, &merge.first) || !is(second, &merge.second) {
            return Ok(None);
        }
        let Some(target) = request.target.as_ref().or(request.ids.first()) else {
            return Ok(None);
        };
        if self.commit(&first.to_string())?.is_some() {
            let target_name = visible(&target.value);
            let what = format!("`{target_name}` as the change was merged into it");
            return Ok(Some(base_of(*first, what, target)));
        }
        if request.target.is_some() && self.branch(&target.value)?.is_some() {
            return Ok(None);
        }
        let remote = self.remote.as_ref().map_or("origin", |r| r.name.as_str());
        let fetch = format!("git fetch --depth=2 {} {}", visible(remote), self.head);
        Err(lacks(target, Some(fetch)))
    }

    /// Finds the base of a push: the default branch, or the branch's commit before it.
    fn push(&self, push: &Push) -> Result<Compared, ChangeError> {
        let mut caveats = Vec::new();
        let default = match &push.default {
            Main::Named(named) => named.clone(),
            Main::ThisOne => push.branch.clone(),
            Main::Unknown => self.guess(push, &mut caveats)?,
        };
        Ok(match self.pushed(push, &default)? {
            Compared::With(base) => {
                caveats.extend(base.caveats);
                Compared::With(Base { caveats, ..base })
            }
            whole @ Compared::Whole { .. } => whole,
        })
    }

    fn pushed(&self, push: &Push, default: &CiSystem) -> Result<Compared, ChangeError> {
        if push.branch.value == default.value {
            return self.before(push);
        }
        let Some((reference, id)) = self.branch(&default.value)? else {
            return Err(self.missing(default, Some(&default.value)));
        };
        let commit = self.since(&id, default, &default.value)?;
        let base = since_branch(commit, &reference, id, default);
        Ok(Compared::With(base))
    }

    /// Returns the default branch if the system does not name it: from the contract's line `base`,
    /// as far as that counts, or from the references here.
    fn guess(&self, push: &Push, caveats: &mut Vec<Caveat>) -> Result<CiSystem, ChangeError> {
        let found = base::default_base(self.git, self.statement, &CommitCache::nowhere())?;
        let DefaultBase {
            reference,
            how,
            ignored,
            ..
        } = found;
        caveats.extend(ignored.as_deref().map(base_caveats::ignored));
        let variable = if how == BaseOrigin::Statement {
            "the contract's line `base`"
        } else {
            "HEAD of the remote"
        };
        let name = reference
            .as_deref()
            .and_then(|full| match full.strip_prefix("refs/heads/") {
                Some(local) => Some(local),
                None => full
                    .strip_prefix("refs/remotes/")?
                    .split_once('/')
                    .map(|(_, name)| name),
            });
        match (name, how) {
            (Some(name), _) => Ok(CiSystem {
                variable,
                value: name.to_owned(),
            }),
            (None, BaseOrigin::Unknown(UnknownBase::Lacking(lacking))) => match &lacking.branch {
                Some(branch) if *branch == push.branch.value => Ok(push.branch.clone()),
                _ => Err(ChangeError::CiDefault {
                    fetch: lacking.commands(),
                }),
            },
            (None, BaseOrigin::Unknown(UnknownBase::CheckedOut(branch)))
                if branch == push.branch.value =>
            {
                Ok(push.branch.clone())
            }
            (None, _) => Err(ChangeError::CiDefault { fetch: None }),
        }
    }

    /// Returns the branch's commit before the push.
    fn before(&self, push: &Push) -> Result<Compared, ChangeError> {
        let branch = &push.branch.value;
        let Some(before) = &push.before else {
            let why = format!("`{branch}` was pushed, and nothing says what it was before");
            return Ok(whole(why));
        };
        if system::is_zeros(&before.value) {
            let commit =
                Oid::empty_tree(self.head.length()).ok_or(GitError::Unreadable("rev-parse"))?;
            let what = format!("nothing: `{}` is new", visible(branch));
            return Ok(Compared::With(Base {
                notes: Vec::new(),
                ..base_of(commit, what, before)
            }));
        }
        let rewritten = || {
            let why = format!("`{branch}` does not go on from what it was before the push");
            Ok(whole(why))
        };
        let Some(commit) = self.commit(&before.value)? else {
            // A complete history that ends at HEAD has every commit that HEAD is based on.
            if push.forced || !self.git.layout().is_shallow() {
                return rewritten();
            }
            return Err(self.missing(before, Some(branch)));
        };
        if commit == self.head {
            return Ok(whole(format!("`{branch}` was at this commit before")));
        }
        if self.since(&commit, before, branch)? != commit {
            return rewritten();
        }
        let message = format!("pushes to `{branch}` before this one were not looked at");
        let caveat = Caveat::new(Code::EarlierPushes, Effect::Note, message);
        let what = format!("`{}` before the push", visible(branch));
        Ok(Compared::With(Base {
            caveats: vec![caveat],
            ..base_of(commit, what, before)
        }))
    }

    /// Returns the merge base with a named commit; the empty tree without a common ancestor.
    /// `branch`: the branch to fetch if the history is cut off before it.
    fn since(&self, commit: &Oid, named: &CiSystem, branch: &str) -> Result<Oid, ChangeError> {
        let found = base::common(self.git, commit, &self.head, &CommitCache::nowhere())?;
        found.ok_or_else(|| lacks(named, self.lacking(branch, true).commands()))
    }

    /// Finds a branch of the remote, or a local one that is not checked out.
    fn branch(&self, name: &str) -> Result<Option<(String, Oid)>, ChangeError> {
        let remote = self
            .remote
            .as_ref()
            .map(|r| format!("refs/remotes/{}/{name}", r.name));
        let local = format!("refs/heads/{name}");
        let local = (self.refs.head()?.as_ref() != Some(&local)).then_some(local);
        for reference in remote.into_iter().chain(local) {
            if let Some(id) = self.refs.id(&reference)? {
                return Ok(Some((reference, id)));
            }
        }
        Ok(self.git.remote_branch(name)?)
    }

    /// Returns the commit with this id, if it is here.
    fn commit(&self, id: &str) -> Result<Option<Oid>, ChangeError> {
        let Some(id) = Oid::parse(id.as_bytes()) else {
            return Ok(None);
        };
        match self.git.resolve(&id.to_string()) {
            Ok(commit) => Ok(Some(commit)),
            Err(GitError::UnknownRevision(_)) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn missing(&self, named: &CiSystem, branch: Option<&str>) -> ChangeError {
        let fetch = branch.and_then(|branch| self.lacking(branch, false).commands());
        lacks(named, fetch)
    }

    fn lacking(&self, branch: &str, apart: bool) -> Lacking {
        let remote = self.remote.as_ref();
        Lacking {
            remote: Some(remote.map_or_else(|| "origin".to_owned(), |r| r.name.clone())),
            branch: Some(branch.to_owned()),
            apart,
            shallow: self.git.layout().is_shallow(),
            follows: remote.is_some_and(|r| r.follows(branch)),
        }
    }
}

fn lacks(named: &CiSystem, fetch: Option<String>) -> ChangeError {
    ChangeError::CiBaseMissing {
        variable: named.variable,
        value: named.value.clone(),
        fetch,
    }
}

/// Returns a reference without the prefix of its kind.
fn short(reference: &str) -> &str {
    ["refs/remotes/", "refs/heads/"]
        .iter()
        .find_map(|p| reference.strip_prefix(p))
        .unwrap_or(reference)
}

/// Describes a merge base, or the empty tree in its place.
fn merge_base(commit: &Oid, name: &str) -> String {
    if commit.is_empty_tree() {
        let name = visible(name);
        return format!("nothing: `{name}` and `HEAD` have no commit in common");
    }
    merge_base_with(name)
}

/// Makes the base of a change from the branch or commit that has this tip.
fn since_branch(commit: Oid, name: &str, tip: Oid, named: &CiSystem) -> Base {
    Base {
        unrelated: Unrelated::from_merge_base(name, tip, &commit),
        tip: Some(tip),
        ..base_of(commit, merge_base(&commit, short(name)), named)
    }
}

fn base_of(commit: Oid, what: String, named: &CiSystem) -> Base {
    let (value, variable) = (visible(&named.value), named.variable);
    let note = format!("the base is `{value}`, from `{variable}`");
    Base {
        commit,
        what,
        notes: vec![note],
        caveats: Vec::new(),
        unrelated: None,
        tip: None,
    }
}
