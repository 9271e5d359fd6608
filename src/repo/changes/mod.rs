//! Determines the changed files from the source that the caller chose.

pub mod base;
pub mod base_caveats;
pub mod ci;
pub mod commit_cache;
pub mod earlier_commits;
pub mod error;
pub mod gathered;
pub mod given;
pub mod list;
pub mod recorded;

use base::{Base, BaseStatement, Unrelated, common, default_base, merge_base_with};
use ci::Compared;
use commit_cache::CommitCache;
use error::ChangeError;
use gathered::{Gathered, all, done, without_records};
use list::{ListFormat, MAX_CHANGED};
use vplan_base::change::{ChangedFile, split_status};
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_git::{Git, Lookup};
use vplan_plan::request::ChangedIn;

/// The source of the changed files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeSource {
    /// The work tree against HEAD: staged, unstaged and untracked.
    WorkTree,
    /// The work tree against the merge base of a revision and HEAD.
    Base(BaseRevision),
    /// The staged changes, against HEAD.
    Staged,
    /// `--changed [STATUS:]PATH…`, relative to the repository's root wherever vplan was started.
    Named(Vec<Vec<u8>>),
    /// `--changed-from`
    From {
        bytes: Vec<u8>,
        /// Its form; `None`: it is recognised.
        format: Option<ListFormat>,
        /// Separated by NUL, in any format.
        nul: bool,
    },
    /// Every tracked file.
    All,
    /// No file.
    None,
    /// The source that a saved plan records.
    Recorded {
        /// The place that git compares.
        place: ChangedIn,
        /// The full id of the commit to compare with; `None` if there was no commit yet.
        base: Option<String>,
    },
}

impl ChangeSource {
    /// Makes the source that compares the work tree with a commit.
    pub fn since(commit: &Oid) -> Self {
        Self::Recorded {
            place: ChangedIn::WorkTree,
            base: Some(commit.to_string()),
        }
    }
}

/// The value of `--base`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseRevision {
    /// A revision; an unknown one is tried as a branch of the remotes.
    Revision(String),
    /// The base that the CI system's variables name.
    Auto,
}

/// Gathers the changed files. `source`: the caller's choice, `None` for the default. `git`: the
/// repository, or an error, which only matters to sources that need git.
///
/// # Errors
/// Any [`ChangeError`].
pub fn gather(
    source: Option<&ChangeSource>,
    git: Result<&Git, &GitError>,
    lookup: Lookup<'_>,
) -> Result<Gathered, ChangeError> {
    gather_stated(source, git, lookup, None)
}

/// Gathers the changed files like [`gather`]. `statement`: the contract's line `base`, if the CI
/// system does not name the default branch.
///
/// # Errors
/// Any [`ChangeError`].
pub fn gather_stated(
    source: Option<&ChangeSource>,
    git: Result<&Git, &GitError>,
    lookup: Lookup<'_>,
    statement: Option<BaseStatement<'_>>,
) -> Result<Gathered, ChangeError> {
    let Some(source) = source else {
        return by_default(git, statement, &CommitCache::nowhere());
    };
    let gathered = match source {
        ChangeSource::WorkTree => work_tree(repository(git)?)?,
        ChangeSource::Base(revision) => since_base(repository(git)?, revision, lookup, statement)?,
        ChangeSource::Staged => staged(repository(git)?)?,
        ChangeSource::All => all(repository(git)?)?,
        ChangeSource::Named(paths) => {
            let files: Result<_, _> = paths.iter().map(|p| parse_changed_file(p)).collect();
            given_files(files?, "the paths on the command line", git)
        }
        ChangeSource::From { bytes, format, nul } => {
            let files = match format {
                Some(format) => list::parse(bytes, *format, *nul)?,
                // Without git a record is a path.
                None => list::recognise(bytes, *nul, |path| {
                    git.map_or(true, |git| given::is_file(git.root(), path))
                })?,
            };
            given_files(files, "a list of paths", git)
        }
        ChangeSource::None => given_files(Vec::new(), "no changed file, as asked", git),
        ChangeSource::Recorded { place, base } => {
            recorded::gather(repository(git)?, *place, base.as_deref())?
        }
    };
    within_bounds(gathered)
}

/// Gathers the changes since the default base. `statement`: the contract's line `base`; `kept`: the
/// cache of facts about commits.
///
/// # Errors
/// Errors of git. An unknown base is not an error: a caveat reports it.
pub fn by_default(
    git: Result<&Git, &GitError>,
    statement: Option<BaseStatement<'_>>,
    kept: &CommitCache,
) -> Result<Gathered, ChangeError> {
    let git = repository(git)?;
    let found = default_base(git, statement, kept)?;
    let files = without_records(git.worktree_against(found.commit.as_ref())?, false)?;
    let gathered = done(files, found.description(), found.commit).found_in(ChangedIn::WorkTree);
    let caveats = base_caveats::of_default(&found);
    within_bounds(Gathered {
        by_default: true,
        caveats,
        unrelated: found.unrelated.clone(),
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

fn since_base(
    git: &Git,
    revision: &BaseRevision,
    lookup: Lookup<'_>,
    statement: Option<BaseStatement<'_>>,
) -> Result<Gathered, ChangeError> {
    let Base {
        commit,
        what,
        notes,
        caveats,
        unrelated,
        tip,
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
        unrelated,
        tip,
        ..gathered.found_in(ChangedIn::WorkTree)
    })
}

/// Finds the base of a change.
///
/// # Errors
/// The revision is unknown, has no merge base, or is in a variable that is not set.
pub fn base(git: &Git, revision: &BaseRevision, lookup: Lookup<'_>) -> Result<Base, ChangeError> {
    let BaseRevision::Revision(name) = revision else {
        return match ci::compared(git, lookup, None)? {
            Compared::With(base) => Ok(base),
            Compared::Whole { why, .. } => Err(ChangeError::CiWhole { why }),
        };
    };
    let tip = git.resolve_name(name)?;
    let head = git
        .head()?
        .ok_or_else(|| GitError::UnknownRevision("HEAD".to_owned()))?;
    // The merge base of HEAD with itself is HEAD: no call is needed.
    let Some(commit) = common(git, &tip, &head, &CommitCache::nowhere())? else {
        let lacking = base::missing_history(git, name)?;
        return Err(ChangeError::Lacking(Box::new(lacking)));
    };
    Ok(Base {
        commit,
        what: merge_base_with(name),
        notes: Vec::new(),
        caveats: Vec::new(),
        unrelated: Unrelated::from_merge_base(name, tip, &commit),
        tip: Some(tip),
    })
}

/// Reads `[STATUS:]PATH`, or `:/PATH`, which is from the root in any directory.
fn parse_changed_file(text: &[u8]) -> Result<ChangedFile, list::Problem> {
    let (status, path) = split_status(text);
    let path = text.strip_prefix(given::FROM_ROOT).unwrap_or(path);
    Ok(ChangedFile {
        path: list::read_path(path)?,
        status,
    })
}

/// Takes the files that the caller named, unchanged. HEAD is needed only to compare with the base,
/// so a missing HEAD is not an error.
fn given_files(
    files: Vec<ChangedFile>,
    description: &str,
    git: Result<&Git, &GitError>,
) -> Gathered {
    let base = git.ok().and_then(|git| git.layout().head());
    done(files, description.to_owned(), base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::change::Status;

    #[test]
    fn named_paths() {
        for (text, want) in [
            ("a.ts", Ok(("a.ts", Status::Modified))),
            ("added:a.ts", Ok(("a.ts", Status::Added))),
            ("deleted:a.ts", Ok(("a.ts", Status::Deleted))),
            ("type-changed:a.ts", Ok(("a.ts", Status::TypeChanged))),
            (":added:a.ts", Ok(("added:a.ts", Status::Modified))),
            (":/a.ts", Ok(("a.ts", Status::Modified))),
            ("other:a.ts", Ok(("other:a.ts", Status::Modified))),
            ("./a//b", Ok(("a/b", Status::Modified))),
            ("added:", Err("an empty path")),
            ("../a", Err("`../a` leaves the repository")),
        ] {
            let got = parse_changed_file(text.as_bytes())
                .map(|f| (f.path.to_string(), f.status))
                .map_err(|e| e.to_string());
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
