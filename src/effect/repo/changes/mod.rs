//! Determines the changed files from the source that the caller chose.

pub mod base;
pub mod ci;
pub mod earlier;
pub mod kept;
pub mod list;
pub mod recorded;
pub mod said;

use crate::base::change::{ChangeSet, ChangedFile, Status, split_status};
use crate::base::path::RepoPath;
use crate::base::word::visible;
use crate::effect::git::error::GitError;
use crate::effect::git::object::Oid;
use crate::effect::git::{Git, Lookup, is_record};
use crate::plan::caveat::Caveat;
use crate::plan::request::ChangedIn;
use base::{DefaultBase, Lacking, Statement, common, default_base};
use ci::Compared;
use kept::Kept;
use list::{ListError, ListFormat, MAX_CHANGED};
use std::collections::BTreeSet;

/// Where the changed files come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeSource {
    /// The work tree against HEAD: staged, unstaged and untracked.
    WorkTree,
    /// The work tree against the merge base of a revision and HEAD.
    Base(BaseRevision),
    /// What is staged, against HEAD.
    Staged,
    /// `--changed [STATUS:]PATH…`, relative to the repository's root wherever vplan was started.
    Named(Vec<Vec<u8>>),
    /// `--changed-from`
    From {
        /// The list.
        bytes: Vec<u8>,
        /// Its form.
        format: ListFormat,
        /// Separated by NUL.
        nul: bool,
    },
    /// Every tracked file.
    All,
    /// No file.
    None,
    /// What a saved plan says.
    Recorded {
        /// Where git looks.
        place: ChangedIn,
        /// The id of the commit to compare with, in full; `None` where there was no commit yet.
        base: Option<String>,
    },
}

/// What `--base` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseRevision {
    /// A revision; a name that is none is tried as a branch of the remotes.
    Revision(String),
    /// Whatever the CI system's variables say.
    Auto,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathered {
    /// The changed files, without vplan's own records.
    pub changes: ChangeSet,
    /// Where they come from: one line for people, such as ``the work tree against `HEAD`
    /// (0123456789ab)``.
    pub description: String,
    /// What `base` questions are about: the merge base with `--base`, else HEAD. `None` without
    /// git or without a commit.
    pub base: Option<Oid>,
    /// Where git looked for them; `None` for what the caller named.
    pub place: Option<ChangedIn>,
    /// Remarks for people: which variable named the base.
    pub notes: Vec<String>,
    /// What keeps these from being all that changed.
    pub caveats: Vec<Caveat>,
    /// How the base was found, where the caller named no source.
    pub default: Option<DefaultBase>,
    /// The changed files that only commits since the base changed. `None` where that is not known.
    pub earlier: Option<BTreeSet<RepoPath>>,
    /// The caller named no source.
    pub by_default: bool,
}

impl Gathered {
    /// Whether nothing changed since the default base, and no source was named. In CI that is a
    /// mistake: an empty change set must be asked for.
    #[must_use]
    pub fn is_empty_by_default(&self) -> bool {
        self.by_default && self.changes.is_empty()
    }

    fn found_in(self, place: ChangedIn) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    /// The commit that the changed files were compared with, if they were compared with one.
    #[must_use]
    pub fn compared_with(&self) -> Option<&Oid> {
        self.base
            .as_ref()
            .filter(|_| matches!(self.place, Some(ChangedIn::WorkTree | ChangedIn::Index)))
    }
}

/// Why the changed files are not known. All of them are usage errors (exit 2), but for a commit of
/// a saved plan (exit 4).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// Git cannot say.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A path on the command line is none.
    #[error("{0}")]
    Path(String),
    /// A list is malformed.
    #[error(transparent)]
    List(#[from] ListError),
    /// `--base auto`, and no variable says anything.
    #[error("no variable of a CI system names a base")]
    NoCiBase,
    /// `--base auto`, and what is named is not here, or not enough of its history.
    #[error("`{}` ({variable}) is not in this clone, or not enough of its history", visible(.value.as_bytes()))]
    CiBaseMissing {
        /// What names it.
        variable: &'static str,
        /// What is named.
        value: String,
        /// The command that gets it.
        fetch: Option<String>,
    },
    /// `--base auto`, and the branch that the change goes into has all that is checked out.
    #[error("`{}` ({variable}) has all that is checked out: the change is not here", visible(.value.as_bytes()))]
    CiNoChange {
        /// The variable.
        variable: &'static str,
        /// What it names.
        value: String,
    },
    /// The commit that a saved plan names is not here.
    #[error("the change is compared with the commit {commit}, which is not in this clone")]
    NotFetched {
        /// The commit.
        commit: String,
        /// The command that brings it, if a remote is known.
        fetch: Option<String>,
    },
    /// `--base auto`, a branch was pushed, and nothing says which branch changes are made for.
    #[error("the CI system does not say which branch is the default, and neither does this clone")]
    CiDefault {
        /// The command that gets it.
        fetch: Option<String>,
    },
    /// `--base auto`, and a commit is wanted where everything counts as changed.
    #[error("there is no base to compare with: {}", visible(.why.as_bytes()))]
    CiWhole {
        /// Why.
        why: String,
    },
    /// The event file of the job cannot be read.
    #[error("the event file `{}` cannot be read: {}", visible(.path.as_bytes()), visible(.message.as_bytes()))]
    CiEvent {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// What is to be compared is not in this clone.
    #[error("{}", .0.message())]
    Lacking(Box<Lacking>),
    /// More than the cap.
    #[error("more than {MAX_CHANGED} changed files")]
    TooMany,
}

impl ChangeError {
    /// A stable name for it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            ChangeError::Git(e) => e.code(),
            ChangeError::Path(_) => "vplan::changes::path",
            ChangeError::List(_) => "vplan::changes::list",
            ChangeError::NoCiBase => "vplan::changes::no_ci_base",
            ChangeError::CiBaseMissing { .. } => "vplan::changes::ci_base_missing",
            ChangeError::NotFetched { .. } => "vplan::changes::not_fetched",
            ChangeError::CiNoChange { .. } => "vplan::changes::ci_no_change",
            ChangeError::CiDefault { .. } => "vplan::changes::ci_default",
            ChangeError::CiWhole { .. } => "vplan::changes::ci_whole",
            ChangeError::CiEvent { .. } => "vplan::changes::ci_event",
            ChangeError::Lacking(_) => "vplan::changes::base_lacking",
            ChangeError::TooMany => "vplan::changes::too_many",
        }
    }

    /// The way out, where there is one.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            ChangeError::Git(e) => return e.help(),
            ChangeError::Path(_) => "paths count from the root of the repository, wherever vplan is started".to_owned(),
            ChangeError::List(_) => {
                "say which form the list has with `--changed-format names|name-status|raw`, and `-z` if it is separated \
                 by NUL"
                    .to_owned()
            }
            ChangeError::NoCiBase => {
                let known: Vec<String> = ci::system::signs().map(|v| format!("`{v}`")).collect();
                format!("name the base yourself with `--base REV`; looked at: {}", known.join(" "))
            }
            ChangeError::CiBaseMissing { fetch: Some(fetch), .. } => format!("fetch it first: `{fetch}`"),
            ChangeError::CiDefault { fetch: Some(fetch) } => format!("`{fetch}`, or name it with `--base REV`"),
            ChangeError::CiBaseMissing { fetch: None, .. } | ChangeError::CiDefault { fetch: None } => {
                "name the base yourself with `--base REV`".to_owned()
            }
            ChangeError::CiNoChange { .. } => {
                "check out the commit of the change; `--base REV` compares with another one".to_owned()
            }
            ChangeError::CiWhole { .. } => "name it yourself with `--base REV`".to_owned(),
            ChangeError::CiEvent { .. } => {
                format!("`{}` names it; `--base REV` does without", ci::system::EVENT_FILE)
            }
            ChangeError::NotFetched { fetch: Some(fetch), .. } => format!("fetch it first: `{fetch}`"),
            ChangeError::NotFetched { fetch: None, .. } => {
                "fetch it from the repository that has it; several remotes, or none, could have it".to_owned()
            }
            ChangeError::Lacking(lacking) => match lacking.commands() {
                Some(commands) => format!("fetch it first: `{commands}`; or name another base with `--base REV`"),
                None => "fetch it first, or name another base with `--base REV`".to_owned(),
            },
            ChangeError::TooMany => "narrow the change, or verify it in parts".to_owned(),
        })
    }
}

/// Gathers the changed files. `source`: what the caller chose, `None` for the default. `git`: the
/// repository, or why there is none, which only matters to sources that need it.
///
/// # Errors
/// See [`ChangeError`].
pub fn gather(
    source: Option<&ChangeSource>,
    git: Result<&Git, &GitError>,
    lookup: Lookup<'_>,
) -> Result<Gathered, ChangeError> {
    gather_stated(source, git, lookup, None)
}

/// The same. `statement`: the contract's line `base`, for where the CI system does not say which
/// branch is the default.
///
/// # Errors
/// See [`ChangeError`].
pub fn gather_stated(
    source: Option<&ChangeSource>,
    git: Result<&Git, &GitError>,
    lookup: Lookup<'_>,
    statement: Option<Statement<'_>>,
) -> Result<Gathered, ChangeError> {
    let Some(source) = source else {
        return by_default(git, statement, &Kept::nowhere());
    };
    let gathered = match source {
        ChangeSource::WorkTree => work_tree(repository(git)?)?,
        ChangeSource::Base(revision) => since_base(repository(git)?, revision, lookup, statement)?,
        ChangeSource::Staged => staged(repository(git)?)?,
        ChangeSource::All => all(repository(git)?)?,
        ChangeSource::Named(paths) => {
            let files = paths
                .iter()
                .map(|p| named(p))
                .collect::<Result<Vec<_>, _>>()
                .map_err(ChangeError::Path)?;
            given(files, "the paths on the command line", git)
        }
        ChangeSource::From { bytes, format, nul } => {
            given(list::parse(bytes, *format, *nul)?, "a list of paths", git)
        }
        ChangeSource::None => given(Vec::new(), "no changed file, as asked", git),
        ChangeSource::Recorded { place, base } => {
            recorded::gather(repository(git)?, *place, base.as_deref())?
        }
    };
    within_bounds(gathered)
}

/// Gathers what changed since the default base. `statement`: the contract's line `base`; `kept`:
/// what is known of commits.
///
/// # Errors
/// What git says. That no base is known is none: it is said by a caveat.
pub fn by_default(
    git: Result<&Git, &GitError>,
    statement: Option<Statement<'_>>,
    kept: &Kept,
) -> Result<Gathered, ChangeError> {
    let git = repository(git)?;
    let found = default_base(git, statement, kept)?;
    let files = without_records(git.worktree_against(found.commit.as_ref())?, false)?;
    let gathered = done(files, found.description(), found.commit).found_in(ChangedIn::WorkTree);
    let caveats = said::of_default(&found);
    within_bounds(Gathered {
        by_default: true,
        caveats,
        default: Some(found),
        ..gathered
    })
}

fn within_bounds(gathered: Gathered) -> Result<Gathered, ChangeError> {
    if gathered.changes.len() > MAX_CHANGED {
        return Err(ChangeError::TooMany);
    }
    tracing::debug!(files = gathered.changes.len(), source = %gathered.description, "changed files");
    for note in &gathered.notes {
        tracing::debug!("{note}");
    }
    Ok(gathered)
}

fn repository<'a>(git: Result<&'a Git, &GitError>) -> Result<&'a Git, ChangeError> {
    let git = git.map_err(|e| ChangeError::Git(e.clone()))?;
    git.available()?;
    Ok(git)
}

fn work_tree(git: &Git) -> Result<Gathered, ChangeError> {
    let head = git.head()?;
    let files = git.worktree_against(head.as_ref())?;
    let description = match &head {
        Some(id) => format!("the work tree against `HEAD` ({})", id.short()),
        None => "the work tree, on a branch without commits".to_owned(),
    };
    Ok(done(without_records(files, false)?, description, head).found_in(ChangedIn::WorkTree))
}

fn staged(git: &Git) -> Result<Gathered, ChangeError> {
    let head = git.head()?;
    let files = git.staged(head.as_ref())?;
    let description = match &head {
        Some(id) => format!("what is staged against `HEAD` ({})", id.short()),
        None => "what is staged, on a branch without commits".to_owned(),
    };
    Ok(done(without_records(files, true)?, description, head).found_in(ChangedIn::Index))
}

fn all(git: &Git) -> Result<Gathered, ChangeError> {
    let head = git.head()?;
    let tracked = git.tracked()?;
    // What the index lacks is tracked all the same as long as the commit has it: anybody may have
    // written the index.
    let committed = head
        .as_ref()
        .map(|head| git.names_at(head))
        .transpose()?
        .unwrap_or_default();
    let taken_out = committed
        .into_iter()
        .filter(|path| tracked.binary_search(path).is_err())
        .map(|path| {
            let is_there = git.root().join(path.to_os()).symlink_metadata().is_ok();
            ChangedFile {
                path,
                status: if is_there {
                    Status::Modified
                } else {
                    Status::Deleted
                },
            }
        });
    let mut files: Vec<ChangedFile> = taken_out.collect();
    files.extend(tracked.into_iter().map(|path| ChangedFile {
        path,
        status: Status::Modified,
    }));
    let description = "every tracked file".to_owned();
    Ok(done(without_records(files, true)?, description, head).found_in(ChangedIn::Tracked))
}

fn since_base(
    git: &Git,
    revision: &BaseRevision,
    lookup: Lookup<'_>,
    statement: Option<Statement<'_>>,
) -> Result<Gathered, ChangeError> {
    let Base {
        commit,
        what,
        notes,
        caveats,
    } = match revision {
        BaseRevision::Revision(_) => base(git, revision, lookup)?,
        BaseRevision::Auto => match ci::compared(git, lookup, statement)? {
            Compared::With(base) => base,
            Compared::Whole { caveat, .. } => {
                return Ok(Gathered {
                    caveats: vec![caveat],
                    ..all(git)?
                });
            }
        },
    };
    let files = git.worktree_against(Some(&commit))?;
    let description = format!("the work tree against {what} ({})", commit.short());
    let gathered = done(without_records(files, false)?, description, Some(commit));
    Ok(Gathered {
        notes,
        caveats,
        ..gathered.found_in(ChangedIn::WorkTree)
    })
}

/// What a change began from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The merge base of the revision and HEAD.
    pub commit: Oid,
    /// What it is: the merge base of something and HEAD.
    pub what: String,
    /// Remarks for people: which variable named it.
    pub notes: Vec<String>,
    /// What keeps the change since then from being all that changed.
    pub caveats: Vec<Caveat>,
}

/// Finds what a change began from.
///
/// # Errors
/// No such revision, no merge base, or no variable that names one.
pub fn base(git: &Git, revision: &BaseRevision, lookup: Lookup<'_>) -> Result<Base, ChangeError> {
    let BaseRevision::Revision(name) = revision else {
        return match ci::compared(git, lookup, None)? {
            Compared::With(base) => Ok(base),
            Compared::Whole { why, .. } => Err(ChangeError::CiWhole { why }),
        };
    };
    let commit = resolve(git, name)?;
    let head = git
        .head()?
        .ok_or_else(|| GitError::UnknownRevision("HEAD".to_owned()))?;
    // HEAD is its own merge base with itself, and needs no process to say so.
    let Some(commit) = common(git, &commit, &head, &Kept::nowhere())? else {
        return Err(ChangeError::Lacking(Box::new(base::apart(git, name)?)));
    };
    Ok(Base {
        commit,
        what: merge_base_with(name),
        notes: Vec::new(),
        caveats: Vec::new(),
    })
}

/// Words for a merge base.
fn merge_base_with(name: &str) -> String {
    format!(
        "the merge base of `{}` and `HEAD`",
        visible(name.as_bytes())
    )
}

/// The commit of a revision, or of a branch that only a remote has.
///
/// # Errors
/// There is none, or the name means several things.
pub fn resolve(git: &Git, name: &str) -> Result<Oid, GitError> {
    git.named(name)
}

/// Reads `[STATUS:]PATH`.
fn named(text: &[u8]) -> Result<ChangedFile, String> {
    let (status, path) = split_status(text);
    Ok(ChangedFile {
        path: list::read_path(path)?,
        status,
    })
}

/// What the caller named is taken as it is. HEAD is only asked for questions about the base, so its
/// absence is none.
fn given(files: Vec<ChangedFile>, description: &str, git: Result<&Git, &GitError>) -> Gathered {
    let base = git.ok().and_then(|git| git.layout().head());
    done(files, description.to_owned(), base)
}

fn done(files: Vec<ChangedFile>, description: String, base: Option<Oid>) -> Gathered {
    Gathered {
        changes: ChangeSet::new(files),
        description,
        base,
        place: None,
        notes: Vec::new(),
        caveats: Vec::new(),
        default: None,
        earlier: None,
        by_default: false,
    }
}

/// vplan's own records are never a change; one that git tracks is a mistake.
fn without_records(
    mut files: Vec<ChangedFile>,
    tracked: bool,
) -> Result<Vec<ChangedFile>, GitError> {
    match files
        .iter()
        .find(|f| tracked && f.status != Status::Deleted && is_record(f.path.as_bytes()))
    {
        Some(file) => Err(GitError::TrackedRecord(file.path.to_string())),
        None => {
            files.retain(|f| !is_record(f.path.as_bytes()));
            Ok(files)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_paths() {
        for (text, want) in [
            ("a.ts", Ok(("a.ts", Status::Modified))),
            ("added:a.ts", Ok(("a.ts", Status::Added))),
            ("deleted:a.ts", Ok(("a.ts", Status::Deleted))),
            ("type-changed:a.ts", Ok(("a.ts", Status::TypeChanged))),
            (":added:a.ts", Ok(("added:a.ts", Status::Modified))),
            ("other:a.ts", Ok(("other:a.ts", Status::Modified))),
            ("./a//b", Ok(("a/b", Status::Modified))),
            ("added:", Err("an empty path")),
            ("../a", Err("`../a` leaves the repository")),
        ] {
            let got = named(text.as_bytes()).map(|f| (f.path.to_string(), f.status));
            assert_eq!(
                got,
                want.map(|(p, s)| (p.to_owned(), s)).map_err(str::to_owned),
                "{text}"
            );
        }
    }

    #[test]
    fn no_git_is_no_matter_where_paths_are_named() {
        let nothing = |_: &str| None;
        let error = GitError::Missing;
        let named = ChangeSource::Named(vec![b"a".to_vec()]);
        let gathered = gather(Some(&named), Err(&error), &nothing).unwrap();
        assert_eq!((gathered.changes.len(), gathered.base), (1, None));
        assert_eq!(
            gather(None, Err(&error), &nothing),
            Err(ChangeError::Git(GitError::Missing))
        );
        let none = gather(Some(&ChangeSource::None), Err(&error), &nothing).unwrap();
        assert!(none.changes.is_empty() && !none.is_empty_by_default());
    }
}
