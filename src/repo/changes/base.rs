//! Finds the default base of a change: the merge base of HEAD with the branch that the change is
//! made for.
//!
//! Any process that may write the repository can write its references: this base is a convenience,
//! not a protection.

use super::commit_cache::CommitCache;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::path::RepoPath;
use vplan_base::source::{Source, Sources};
use vplan_base::word::visible;
use vplan_front as front;
use vplan_git::Git;
use vplan_git::error::{GitError, is_branch_name};
use vplan_git::object::Oid;
use vplan_git::refs::{GitRemote, RefTarget, Refs};
use vplan_plan::caveat::Caveat;

/// The names to try if no remote names its default branch.
const COMMON: [&str; 3] = ["main", "master", "trunk"];

/// Whether a branch of this name is tried if no remote names its default branch.
pub fn is_common_name(branch: &str) -> bool {
    COMMON.contains(&branch)
}

/// Size limit of an earlier contract that is read for its `base`, in bytes.
const MAX_CONTRACT: u64 = 16 << 20;

/// The line `base "BRANCH"` of today's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseStatement<'a> {
    pub branch: &'a str,
    /// The contract's path.
    pub contract: &'a RepoPath,
}

/// The base of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The merge base of the revision and HEAD.
    pub commit: Oid,
    /// Its description: the merge base of something and HEAD.
    pub what: String,
    /// Remarks for people: which variable named it.
    pub notes: Vec<String>,
    /// The reasons why the change since then may not be all that changed.
    pub caveats: Vec<Caveat>,
    /// The revision, if it has no common ancestor with HEAD.
    pub unrelated: Option<Unrelated>,
    /// The revision's commit.
    pub tip: Option<Oid>,
}

/// A branch that has no common ancestor with HEAD. The contract at its tip counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unrelated {
    /// Its name; `None` if no default branch is known.
    pub branch: Option<String>,
    pub tip: Option<Oid>,
}

impl Unrelated {
    /// Returns the branch if its merge base with HEAD is the empty tree.
    pub fn from_merge_base(branch: &str, tip: Oid, merge_base: &Oid) -> Option<Self> {
        merge_base.is_empty_tree().then(|| Self {
            branch: Some(branch.to_owned()),
            tip: Some(tip),
        })
    }
}

/// Describes a merge base.
pub(super) fn merge_base_with(name: &str) -> String {
    format!("the merge base of `{}` and `HEAD`", visible(name))
}

/// The default base of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultBase {
    /// The commit: the merge base of HEAD and the branch; the empty tree without a common ancestor;
    /// HEAD if no branch is known. `None` on a branch without commits.
    pub commit: Option<Oid>,
    /// The full name of the branch's reference, if it is known.
    pub reference: Option<String>,
    /// How it was found, or why no branch is known.
    pub how: BaseOrigin,
    /// The branch of a `base` line that does not count, because the contract at its merge base has
    /// another one.
    pub ignored: Option<String>,
    /// The branch, if it has no common ancestor with HEAD.
    pub unrelated: Option<Unrelated>,
}

/// The way in which a default base was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseOrigin {
    /// The contract's line `base`.
    Statement,
    /// The HEAD of a remote.
    RemoteHead,
    /// A branch with a common name.
    CommonName,
    /// The repository has no commit yet, so the change has all files.
    Unborn,
    /// Not at all: the base is HEAD.
    Unknown(UnknownBase),
}

/// The reason why no default branch is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownBase {
    /// Nothing names it.
    Nothing,
    /// It is the one that is checked out, and no remote has it.
    CheckedOut(String),
    /// There are several remotes, and none is `origin`.
    SeveralRemotes(Vec<String>),
    /// This clone lacks commits that exist elsewhere.
    Lacking(Lacking),
}

/// The commits that a clone lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lacking {
    /// The remote that has it; `None` if no remote is known.
    pub remote: Option<String>,
    /// The branch, if its name is known.
    pub branch: Option<String>,
    /// Whether the branch is here, and its merge base with HEAD is not.
    pub apart: bool,
    /// Whether the clone is shallow.
    pub shallow: bool,
    /// Whether a plain `git fetch REMOTE BRANCH` would update the remote's branch here.
    pub follows: bool,
}

impl Lacking {
    /// Describes the missing part, on one line.
    pub fn message(&self) -> String {
        let whose = |remote: &str| format!(" of `{}`", visible(remote));
        let remote = self.remote.as_deref().map(whose).unwrap_or_default();
        match (self.branch.as_ref().map(visible), self.apart) {
            (Some(branch), true) => format!(
                "this clone is shallow, and has nothing that `{branch}`{remote} and `HEAD` have in common"
            ),
            (Some(branch), false) => {
                format!("this clone does not have the branch `{branch}`{remote}")
            }
            (None, _) => format!("this clone does not know the default branch{remote}"),
        }
    }

    /// Returns the commands that fetch it, on one line.
    pub fn commands(&self) -> Option<String> {
        let remote = self.remote.as_deref().filter(|r| is_branch_name(r))?;
        let branch = self.branch.as_deref().filter(|b| is_branch_name(b));
        let deep = if self.shallow { "--unshallow " } else { "" };
        Some(match branch {
            Some(branch) if self.follows => format!("git fetch {deep}{remote} {branch}"),
            Some(branch) => format!(
                "git fetch {deep}{remote} +refs/heads/{branch}:refs/remotes/{remote}/{branch}"
            ),
            None if self.follows => {
                format!("git fetch {deep}{remote} && git remote set-head {remote} -a")
            }
            None => format!(
                "git fetch {deep}{remote} '+refs/heads/*:refs/remotes/{remote}/*' && git remote set-head {remote} -a"
            ),
        })
    }
}

impl DefaultBase {
    fn without_branch(how: BaseOrigin) -> Self {
        Self {
            commit: None,
            reference: None,
            how,
            ignored: None,
            unrelated: None,
        }
    }

    /// Describes the comparison to people: one line.
    pub fn description(&self) -> String {
        let Some(commit) = &self.commit else {
            return "the work tree, on a branch without commits".to_owned();
        };
        match &self.reference {
            Some(reference) => {
                let (shown, id) = (visible(reference), commit.short());
                match commit.is_empty_tree() {
                    true => format!(
                        "the work tree against nothing, as `{shown}` and `HEAD` have no common ancestor"
                    ),
                    false => format!(
                        "the work tree against the merge base of `{shown}` and `HEAD` ({id})"
                    ),
                }
            }
            None => format!("the work tree against `HEAD` ({})", commit.short()),
        }
    }

    /// Returns what this clone lacks, if no base is known because of that. If no person reads the
    /// notes, this is an error.
    pub fn lacking(&self) -> Option<&Lacking> {
        match &self.how {
            BaseOrigin::Unknown(UnknownBase::Lacking(lacking)) => Some(lacking),
            _ => None,
        }
    }

    /// Whether a requested base leaves out commits that this one does not.
    ///
    /// # Errors
    /// Errors of git.
    pub fn is_before(&self, asked: &Oid, git: &Git, kept: &CommitCache) -> Result<bool, GitError> {
        Ok(match (&self.commit, self.unknown()) {
            (Some(own), None) if own == asked || asked.is_empty_tree() => false,
            (Some(own), None) if own.is_empty_tree() => true,
            (Some(own), None) => common(git, asked, own, kept)?.as_ref() != Some(asked),
            _ => false,
        })
    }

    /// Returns the reason if no base is known.
    pub fn unknown(&self) -> Option<&UnknownBase> {
        match &self.how {
            BaseOrigin::Unknown(why) => Some(why),
            _ => None,
        }
    }
}

/// A branch that changes are made for.
struct Branch {
    reference: String,
    id: Oid,
}

/// The result of looking a branch up.
type LookupResult<T> = Result<T, UnknownBase>;

/// Finds the commit that a change is compared with when no base is named.
///
/// # Errors
/// Errors of git, if it is called. An unknown base is not an error.
pub fn default_base(
    git: &Git,
    statement: Option<BaseStatement<'_>>,
    kept: &CommitCache,
) -> Result<DefaultBase, GitError> {
    let refs = Refs::new(git);
    let view = View {
        git,
        kept,
        remote: Whence::from_remotes(refs.remotes()?),
        refs,
    };
    let Some(head) = git.head()? else {
        return Ok(DefaultBase {
            unrelated: view.unborn(statement)?,
            ..DefaultBase::without_branch(BaseOrigin::Unborn)
        });
    };
    let unknown = |why: UnknownBase| DefaultBase {
        commit: Some(head),
        ..DefaultBase::without_branch(BaseOrigin::Unknown(why))
    };
    let known = |(branch, commit): (Branch, Oid), how: BaseOrigin| DefaultBase {
        commit: Some(commit),
        unrelated: Unrelated::from_merge_base(&branch.reference, branch.id, &commit),
        reference: Some(branch.reference),
        ..DefaultBase::without_branch(how)
    };
    let mut ignored = None;
    if let Some(statement) = statement {
        match view.branch(statement.branch)? {
            Err(why) => return Ok(unknown(why)),
            Ok(branch) => match view.since(branch, &head)? {
                Err(why) => return Ok(unknown(why)),
                Ok(found) => {
                    // Without a common ancestor, the contract of the branch counts.
                    let (branch, base) = &found;
                    let at = if base.is_empty_tree() {
                        branch.id
                    } else {
                        *base
                    };
                    if view.agrees(statement, &at)? {
                        return Ok(known(found, BaseOrigin::Statement));
                    }
                    ignored = Some(statement.branch.to_owned());
                }
            },
        }
    }
    let found = match view.default_branch()? {
        Ok((branch, how)) => view.since(branch, &head)?.map(|found| known(found, how)),
        Err(why) => Err(why),
    };
    Ok(DefaultBase {
        ignored,
        ..found.unwrap_or_else(unknown)
    })
}

/// Returns the merge base of two commits, from the cache if possible; the empty tree without a
/// common ancestor. `Ok(None)` if the history is cut off before it.
///
/// # Errors
/// Errors of git.
pub fn common(
    git: &Git,
    one: &Oid,
    two: &Oid,
    kept: &CommitCache,
) -> Result<Option<Oid>, GitError> {
    if one == two {
        return Ok(Some(*one));
    }
    let question = format!("merge-base {one} {two}");
    if let Some(id) = kept.get(&question).and_then(|id| Oid::parse(id.as_bytes())) {
        return Ok(Some(id));
    }
    let found = match git.merge_base("", one, two) {
        Ok(id) => id,
        Err(GitError::NoMergeBase { shallow: true, .. }) => return Ok(None),
        Err(GitError::NoMergeBase { .. }) => {
            Oid::empty_tree(one.length()).ok_or(GitError::Unreadable("merge-base"))?
        }
        Err(error) => return Err(error),
    };
    // If commits have replaced ancestors, the answer is not stored permanently.
    if !git.layout().is_shallow() && !git.layout().has_grafts() {
        kept.put(&question, &found.to_string());
    }
    Ok(Some(found))
}

/// Returns what is missing, if a revision and HEAD have no common ancestor because the history is
/// cut off.
///
/// # Errors
/// Errors of git, if it is called.
pub(crate) fn missing_history(git: &Git, revision: &str) -> Result<Lacking, GitError> {
    let remotes = Refs::new(git).remotes()?;
    let short = revision.strip_prefix("refs/remotes/").unwrap_or(revision);
    let mut named = remotes.iter();
    let named = named.find_map(|r| Some((r.clone(), within(short, &r.name)?)));
    let (remote, branch) = match (named, Whence::from_remotes(remotes)) {
        (Some((remote, branch)), _) => (Some(remote), branch),
        (None, Whence::Remote(remote)) => {
            let branch = revision.strip_prefix("refs/heads/");
            (Some(remote), branch.unwrap_or(revision))
        }
        (None, _) => (None, revision),
    };
    let follows = remote.as_ref().is_some_and(|r| r.follows(branch));
    // An id is not the name of a branch; all branches are fetched in that case.
    let is_id = branch.len() >= 7 && branch.bytes().all(|b| b.is_ascii_hexdigit());
    let (follows, branch) = if is_id || branch == "HEAD" {
        (true, None)
    } else {
        (follows, Some(branch.to_owned()))
    };
    Ok(Lacking {
        remote: remote.map(|r| r.name),
        branch,
        apart: true,
        shallow: true,
        follows,
    })
}

/// The remotes of branches.
pub(super) enum Whence {
    /// `origin`, or the only remote.
    Remote(GitRemote),
    /// Several, and none is `origin`.
    Several(Vec<GitRemote>),
    Nowhere,
}

impl Whence {
    pub(super) fn from_remotes(mut remotes: Vec<GitRemote>) -> Self {
        match remotes.iter().position(|r| r.name == "origin") {
            Some(at) => Whence::Remote(remotes.swap_remove(at)),
            None if remotes.len() > 1 => Whence::Several(remotes),
            None => remotes.pop().map_or(Whence::Nowhere, Whence::Remote),
        }
    }

    /// Returns the reason why a branch that the remote should have is unknown.
    fn lacking(&self, git: &Git, branch: Option<&str>) -> UnknownBase {
        match self {
            Whence::Remote(remote) => UnknownBase::Lacking(Lacking {
                remote: Some(remote.name.clone()),
                branch: branch.map(str::to_owned),
                shallow: git.layout().is_shallow(),
                follows: remote.follows(branch.unwrap_or("*")),
                ..Lacking::default()
            }),
            Whence::Several(remotes) => {
                UnknownBase::SeveralRemotes(remotes.iter().map(|r| r.name.clone()).collect())
            }
            Whence::Nowhere => UnknownBase::Nothing,
        }
    }
}

/// Returns the branch of this remote that a name reads like.
fn within<'n>(name: &'n str, remote: &str) -> Option<&'n str> {
    name.strip_prefix(remote)?.strip_prefix('/')
}

/// A repository, searched for its default branch.
struct View<'a> {
    git: &'a Git,
    kept: &'a CommitCache,
    refs: Refs<'a>,
    remote: Whence,
}

impl View<'_> {
    fn at(&self, reference: String) -> Result<Option<Branch>, GitError> {
        Ok(self.refs.id(&reference)?.map(|id| Branch { reference, id }))
    }

    /// Finds the branch of this name: a remote's before the local one, and never the one that is
    /// checked out.
    fn branch(&self, name: &str) -> Result<LookupResult<Branch>, GitError> {
        let full = name.starts_with("refs/");
        let remote_name = format!("refs/remotes/{name}");
        let is_of = |remote: &GitRemote| within(name, &remote.name).is_some();
        let mut candidates = Vec::new();
        match &self.remote {
            _ if full => candidates.push(name.to_owned()),
            // `origin/main` means the remote's `main`, not a local branch of that name.
            Whence::Remote(remote) => {
                candidates.extend(is_of(remote).then(|| remote_name.clone()));
                candidates.push(format!("refs/remotes/{}/{name}", remote.name));
            }
            Whence::Several(remotes) => {
                let is_one = remotes.iter().any(is_of);
                candidates.extend(is_one.then(|| remote_name.clone()));
            }
            Whence::Nowhere => {}
        }
        let of_remote = within(name, "origin").is_some() || candidates.contains(&remote_name);
        candidates.extend((!full && !of_remote).then(|| format!("refs/heads/{name}")));
        let checked_out = self.refs.head()?;
        for candidate in candidates {
            if checked_out.as_ref() != Some(&candidate)
                && let Some(branch) = self.at(candidate)?
            {
                return Ok(Ok(branch));
            }
        }
        let of_remote = match &self.remote {
            Whence::Remote(remote) => within(name, &remote.name),
            Whence::Several(_) | Whence::Nowhere => None,
        };
        let local = || name.strip_prefix("refs/heads/");
        let short = of_remote.or_else(local).unwrap_or(name);
        Ok(Err(match self.remote.lacking(self.git, Some(short)) {
            UnknownBase::Nothing
                if checked_out.is_some_and(|h| h == format!("refs/heads/{short}")) =>
            {
                UnknownBase::CheckedOut(short.to_owned())
            }
            UnknownBase::Nothing => UnknownBase::Lacking(Lacking {
                branch: Some(short.to_owned()),
                shallow: self.git.layout().is_shallow(),
                ..Lacking::default()
            }),
            other => other,
        }))
    }

    /// Finds the default branch from the references that are here.
    fn default_branch(&self) -> Result<LookupResult<(Branch, BaseOrigin)>, GitError> {
        if let Whence::Several(_) = self.remote {
            return Ok(Err(self.remote.lacking(self.git, None)));
        }
        if let Whence::Remote(GitRemote { name: remote, .. }) = &self.remote {
            let prefix = format!("refs/remotes/{remote}/");
            if let Some(RefTarget::Symbolic(target)) = self.refs.get(&format!("{prefix}HEAD"))?
                && let Some(short) = target.strip_prefix(&prefix)
            {
                return Ok(match self.at(target.clone())? {
                    Some(branch) => Ok((branch, BaseOrigin::RemoteHead)),
                    None => Err(self.remote.lacking(self.git, Some(short))),
                });
            }
            for name in COMMON {
                if let Some(branch) = self.at(format!("{prefix}{name}"))? {
                    return Ok(Ok((branch, BaseOrigin::CommonName)));
                }
            }
        }
        let checked_out = self.refs.head()?;
        for name in COMMON {
            let reference = format!("refs/heads/{name}");
            if checked_out.as_ref() == Some(&reference) {
                return Ok(Err(match self.remote.lacking(self.git, Some(name)) {
                    UnknownBase::Nothing => UnknownBase::CheckedOut(name.to_owned()),
                    lacking => lacking,
                }));
            }
            if let Some(branch) = self.at(reference)? {
                return Ok(Ok((branch, BaseOrigin::CommonName)));
            }
        }
        Ok(Err(self.remote.lacking(self.git, None)))
    }

    /// Finds the branch that counts for a branch without commits: the stated one, if its contract
    /// states it too, or the default branch. `None` before the first commit of a repository.
    fn unborn(&self, statement: Option<BaseStatement<'_>>) -> Result<Option<Unrelated>, GitError> {
        let mut found = None;
        if let Some(statement) = statement
            && let Ok(branch) = self.branch(statement.branch)?
            && self.agrees(statement, &branch.id)?
        {
            found = Some(branch);
        }
        if found.is_none() {
            found = self.default_branch()?.ok().map(|(branch, _)| branch);
        }
        Ok(match found {
            Some(branch) => Some(Unrelated {
                branch: Some(branch.reference),
                tip: Some(branch.id),
            }),
            None => self.refs.has_commits()?.then(Unrelated::default),
        })
    }

    /// Returns the merge base of HEAD and a branch.
    fn since(&self, branch: Branch, head: &Oid) -> Result<LookupResult<(Branch, Oid)>, GitError> {
        Ok(match common(self.git, &branch.id, head, self.kept)? {
            Some(commit) => Ok((branch, commit)),
            None => {
                let reference = branch.reference.as_str();
                let (remote, name) = match reference.strip_prefix("refs/remotes/") {
                    Some(rest) => rest.split_once('/').unzip(),
                    None => (None, reference.strip_prefix("refs/heads/")),
                };
                let (remote, follows) = match (&self.remote, name) {
                    (Whence::Remote(one), Some(name)) if remote.is_none_or(|r| r == one.name) => {
                        (Some(one.name.as_str()), one.follows(name))
                    }
                    _ => (remote, false),
                };
                Err(UnknownBase::Lacking(Lacking {
                    remote: remote.map(str::to_owned),
                    branch: name.map(str::to_owned),
                    apart: true,
                    shallow: true,
                    follows,
                }))
            }
        })
    }

    /// Whether the contract at a commit names the same branch, or is not there.
    fn agrees(&self, statement: BaseStatement<'_>, commit: &Oid) -> Result<bool, GitError> {
        let question = format!("base {commit} {}", visible(statement.contract.as_bytes()));
        // `-` for no contract, `=` and the branch that it names, which may be empty.
        let answer = match self.kept.get(&question) {
            Some(answer) => answer,
            None => {
                let answer = match self.git.file_at(commit, statement.contract, MAX_CONTRACT)? {
                    None => "-".to_owned(),
                    Some(bytes) => {
                        let named = named_in(statement.contract, &bytes);
                        format!("={}", named.unwrap_or_default())
                    }
                };
                self.kept.put(&question, &answer);
                answer
            }
        };
        Ok(answer == "-" || answer.strip_prefix('=') == Some(statement.branch))
    }
}

/// Returns the branch that a contract names itself, without its imports.
fn named_in(path: &RepoPath, bytes: &[u8]) -> Option<String> {
    let mut sources = Sources::default();
    let text = std::str::from_utf8(bytes).ok()?;
    let id = sources.add(Source::new(path.to_string(), text));
    let mut sink = Diagnostics::default();
    let draft = front::lower_within(&sources, id, usize::MAX, &mut sink);
    match draft.bases.as_slice() {
        [one] => Some(one.value.clone()),
        _ => None,
    }
}
