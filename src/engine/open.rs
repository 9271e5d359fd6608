//! Opens the inputs of a plan: the repository, the changed files, the contract.

use super::failure::{Failure, invalid};
use super::location::Engine;
use super::request::PlanRequest;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::OnceLock;
use vplan_base::change::ChangeSet;
use vplan_base::command::Command;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::folders::EachQuestion;
use vplan_base::path::RepoPath;
use vplan_base::word::visible_path;
use vplan_base::workspace::Manifest;
use vplan_contract::Contract;
use vplan_contract::error::{EACH_EMPTY, EACH_WORKSPACE};
use vplan_front::verify_contract_json::UNSUPPORTED_KEY;
use vplan_git as git;
use vplan_git::Git;
use vplan_git::object::Oid;
use vplan_init::proposal;
use vplan_plan::request::{ChangedIn, Mode, Request};
use vplan_repo::changes::base::{BaseStatement, default_base};
use vplan_repo::changes::earlier_commits::changed_before_head;
use vplan_repo::changes::gathered::Gathered;
use vplan_repo::changes::{self, BaseRevision, ChangeSource, base_caveats, given};
use vplan_repo::load::{self, LoadError, Loaded, Site};
use vplan_repo::survey::folders::{self, FOLDER_GLOB};
use vplan_repo::survey::misread::{self, MISREAD_GLOB};
use vplan_repo::unchanged_contract::Since;
use vplan_repo::{declaring, lockfile};

/// The state before planning: repository, changed files, contract, request.
#[derive(Debug)]
pub struct Session {
    /// The repository, or the folder without one.
    pub site: Site,
    /// The path of the contract, whether it exists or not.
    pub contract_path: RepoPath,
    /// The changed files, and their source.
    pub gathered: Gathered,
    /// The contract, if one is needed.
    pub loaded: Option<Loaded>,
    /// The request to the planner.
    pub request: Request,
    /// Where the caller names files: the base, and the request with the whole change, as they were at
    /// the first question.
    pub(crate) whole: OnceLock<Option<(Oid, Request)>>,
}

impl Engine<'_> {
    /// Finds the repository, the changed files and the contract.
    ///
    /// # Errors
    /// A request that does not fit, or a file that is missing or invalid, with the exit code.
    pub fn open(&self, requested: &PlanRequest) -> Result<Session, Failure> {
        self.open_since(requested, None)
    }

    /// Like [`Engine::open`]. If the caller names no changes, the change is everything since a
    /// commit.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub(crate) fn open_since(
        &self,
        requested: &PlanRequest,
        since: Option<Oid>,
    ) -> Result<Session, Failure> {
        let mut site = self.locate()?;
        if requested.changes == Some(ChangeSource::Staged) {
            site = match self.index {
                Some(file) => site.with_index(file),
                None => site.at_index(),
            };
        }
        let early = self.early(&site, requested);
        let line = match &early {
            Some(Ok(Ok(loaded))) => statement(loaded),
            _ => None,
        };
        let gathered = self.gather(&site, requested.changes.as_ref(), line, since)?;
        gathered
            .notes
            .iter()
            .for_each(|note| self.observer.note(note));
        let revision = requested.contract_from.as_deref();
        // The early reading did not cover folders that only the base has, nor the users of packages
        // there.
        let early = early.filter(|read| {
            let lacks = matches!(read, Ok(Ok(loaded)) if lacks_base(loaded, &gathered.changes));
            gathered.base.is_none() || !lacks
        });
        let read = early.unwrap_or_else(|| {
            self.load(
                &site,
                &self.contract_request(revision, gathered.base.as_ref()),
            )
        });
        let brought = !requested.request.explicit.is_empty() || self.proposes(&site, requested);
        let loaded = contract(read, requested.request.mode, brought)?;
        let request = Request {
            changed: gathered.changes.clone(),
            changed_from: requested.changed_from(since),
            changed_in: gathered.place,
            base: gathered.compared_with().map(ToString::to_string),
            ..requested.request.clone()
        };
        self.session(site, gathered, loaded, request)
    }

    /// Makes a session; in mode `fallback` and without a contract, from the declarations of the
    /// repository.
    pub(super) fn session(
        &self,
        site: Site,
        gathered: Gathered,
        loaded: Option<Loaded>,
        mut request: Request,
    ) -> Result<Session, Failure> {
        if let Some(loaded) = &loaded {
            let unsupported = loaded.diagnostics.iter();
            for told in unsupported.filter(|d| d.code == UNSUPPORTED_KEY) {
                let note = format!("{} in `{}`: it has no effect", told.message, loaded.path);
                self.observer.note(&note);
            }
            globs_select_files(&site, loaded, &gathered.changes)?;
            let tip = gathered.unrelated.as_ref().and_then(|branch| branch.tip);
            let base = tip.or(gathered.base);
            if let (Some(contract), Some(base)) = (&loaded.contract, &base) {
                let (revision, changes) = (loaded.revision.as_ref(), Some(&gathered.changes));
                request.gone = self.missing_folders(&site, contract, revision, base, changes)?;
            }
        }
        if request.mode == Mode::Fallback && loaded.is_none() {
            request.inferred = inferred(&site)?;
        }
        let contract_path = load::contract_path(&site, self.contract)?;
        Ok(Session {
            site,
            contract_path,
            gathered,
            loaded,
            request,
            whole: OnceLock::new(),
        })
    }

    /// Gathers the changed files. `own`: their source, according to the request.
    fn gather(
        &self,
        site: &Site,
        own: Option<&ChangeSource>,
        statement: Option<BaseStatement<'_>>,
        since: Option<Oid>,
    ) -> Result<Gathered, Failure> {
        let kept = self.commit_cache(site);
        let begun = since.filter(|_| own.is_none());
        let source = own.cloned();
        let source = source.or_else(|| begun.as_ref().map(ChangeSource::since));
        let git = site.git.as_ref();
        let mut gathered = match &source {
            None => changes::by_default(git, statement, &kept)?,
            source => changes::gather_stated(source.as_ref(), git, &git::environment, statement)?,
        };
        if let Some(commit) = begun {
            gathered.tip = None;
            gathered.description = format!(
                "the work tree against the commit at which the subject began ({})",
                commit.short()
            );
        }
        self.has_history(gathered.default.as_ref())?;
        if let (Ok(git), Some(base)) = (&site.git, gathered.base) {
            if let Some(ChangeSource::Base(BaseRevision::Revision(_))) = &source {
                let default = default_base(git, statement, &kept)?;
                if default.is_before(&base, git, &kept)? {
                    let later = base_caveats::later(&default, "`--base`");
                    gathered.caveats.push(later);
                }
            }
            if begun.is_some() || matches!(source, None | Some(ChangeSource::Base(_))) {
                gathered.earlier = changed_before_head(git, &base, &gathered.changes, &kept)?;
            }
        }
        let is_list = matches!(source, Some(ChangeSource::From { .. }));
        let is_unasked = gathered.is_empty_by_default() || is_list && gathered.changes.is_empty();
        if is_unasked && self.is_ci {
            let what = match is_list {
                true => "the list of changed files is empty",
                false => "nothing changed",
            };
            let message = format!("{what}, and this is CI: an empty change set must be asked for");
            return Err(Failure::usage("vplan::usage::empty_change_set", message).help(
                "name the changes: `--base REV` or `--base auto` for a branch, `--all` for everything, `--changed-none` for nothing",
            ));
        }
        self.compare_names(site, source.as_ref(), &mut gathered)?;
        Ok(gathered)
    }

    /// Compares the files that the caller names with the repository.
    fn compare_names(
        &self,
        site: &Site,
        source: Option<&ChangeSource>,
        gathered: &mut Gathered,
    ) -> Result<(), Failure> {
        let texts = match source {
            Some(ChangeSource::Named(texts)) => texts.as_slice(),
            Some(ChangeSource::From { .. }) => &[],
            _ => return Ok(()),
        };
        let unknown = given::unknown(&site.root, site.usable_git(), &gathered.changes)?;
        given::check(texts, &site.root, &self.inside(site), &unknown)?;
        gathered.caveats.extend(given::caveat(unknown));
        Ok(())
    }

    /// Returns the caller's directory, relative to the root.
    fn inside(&self, site: &Site) -> RepoPath {
        let below = || {
            let directory = self.directory.canonicalize().ok()?;
            let below = directory.strip_prefix(&site.root).ok()?;
            RepoPath::parse(below.as_os_str().as_bytes()).ok()
        };
        below().unwrap_or_else(RepoPath::root)
    }

    /// Reads the contract before the changes are known, because it names the commit that they are
    /// compared with. If it is missing, only the changes will show whether the change deleted it.
    fn early(&self, site: &Site, requested: &PlanRequest) -> Option<Read> {
        let path = load::contract_path(site, self.contract).ok()?;
        let is_there = || site.root.join(path.to_os()).symlink_metadata().is_ok();
        let revision = requested.contract_from.as_deref();
        (revision.is_some() || is_there())
            .then(|| self.load(site, &self.contract_request(revision, None)))
    }

    /// Whether checks can come from elsewhere if there is no contract: from a proposer, or from
    /// recorded answers in a lock.
    fn proposes(&self, site: &Site, requested: &PlanRequest) -> bool {
        let recorded = || {
            let path = load::contract_path(site, self.contract).ok()?;
            let lock = site.root.join(lockfile::path_for(&path).to_os());
            lock.symlink_metadata().ok()
        };
        matches!(requested.request.mode, Mode::Llm | Mode::Hybrid)
            && (requested.proposer.is_some() || recorded().is_some())
    }
}

/// Whether a contract that was read before the base was known may change with the base.
fn lacks_base(loaded: &Loaded, changes: &ChangeSet) -> bool {
    let asks = |contract: &Contract| {
        let mut asked = contract.folders.keys();
        asked.any(|asked| matches!(asked, EachQuestion::Workspace(_)))
    };
    loaded
        .diagnostics
        .iter()
        .any(|d| matches!(d.code, EACH_EMPTY | EACH_WORKSPACE))
        || changes_manifests(changes) && loaded.contract.as_ref().is_some_and(asks)
}

/// Whether a manifest of packages is among the changed files.
pub(super) fn changes_manifests(changes: &ChangeSet) -> bool {
    let mut files = changes.files().iter();
    files.any(|file| Manifest::is_read(file.path.name()))
}

impl Session {
    /// Returns the contract, if there is one.
    pub fn contract(&self) -> Option<&Contract> {
        self.loaded.as_ref().and_then(|l| l.contract.as_ref())
    }

    /// Returns git, if this is a git repository.
    pub fn git(&self) -> Option<&Git> {
        self.site.usable_git()
    }

    /// Removes a file from the changes that git found: a plan in the work tree is not part of its
    /// own change.
    pub fn leave_out(&mut self, file: &Path) {
        let folder = Path::new(".").join(file.parent().unwrap_or(Path::new("")));
        let real = folder.canonicalize().ok().zip(file.file_name());
        let Some(real) = real.map(|(folder, name)| folder.join(name)) else {
            return;
        };
        let below = real.strip_prefix(&self.site.root);
        if let (Ok(below), Some(_)) = (below, self.request.changed_in) {
            let below = below.as_os_str().as_bytes();
            let files = self.request.changed.files().iter();
            let others = files.filter(|f| f.path.as_bytes() != below).cloned();
            self.request.changed = ChangeSet::new(others.collect());
            self.gathered.changes = self.request.changed.clone();
        }
    }
}

impl Session {
    /// Whether files are as at a commit; a file that is in neither counts as such. `None` if only
    /// git could tell, and `may_ask` does not allow a call.
    pub(crate) fn is_same(
        &self,
        engine: &Engine<'_>,
        commit: &Oid,
        paths: &[RepoPath],
        may_ask: bool,
    ) -> Option<bool> {
        let gathered = &self.gathered;
        let is_whole =
            gathered.place == Some(ChangedIn::WorkTree) && gathered.base.as_ref() == Some(commit);
        let changes = is_whole.then_some(&gathered.changes);
        let stored = || engine.kept_state(&self.site).ok().flatten();
        let state = if is_whole { None } else { stored() };
        let since = Since {
            root: &self.site.root,
            git: self.git()?,
            commit,
            changes,
            state: state.as_ref(),
        };
        since.is_same(paths, may_ask)
    }
}

/// Gathers the changed files from a source.
///
/// # Errors
/// They cannot be determined (exit 2).
pub(crate) fn gather_from(site: &Site, source: Option<&ChangeSource>) -> Result<Gathered, Failure> {
    Ok(changes::gather(
        source,
        site.git.as_ref(),
        &git::environment,
    )?)
}

/// The result of reading the contract.
type Read = Result<Result<Loaded, LoadError>, Failure>;

/// Returns the contract's line `base`.
pub(super) fn statement(loaded: &Loaded) -> Option<BaseStatement<'_>> {
    Some(BaseStatement {
        branch: loaded.contract.as_ref()?.base.as_ref()?,
        contract: &loaded.path,
    })
}

fn contract(read: Read, mode: Mode, brought: bool) -> Result<Option<Loaded>, Failure> {
    match read? {
        Ok(loaded) if loaded.contract.is_some() => Ok(Some(loaded)),
        Ok(loaded) => Err(invalid(loaded)),
        // Mode `off` verifies nothing and reports that; it needs no contract, but still refuses an
        // invalid one.
        Err(LoadError::Missing(..) | LoadError::Deleted { .. } | LoadError::Sparse(_))
            if mode == Mode::Off =>
        {
            Ok(None)
        }
        Err(LoadError::Missing(..)) if brought || mode == Mode::Fallback => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Checks that no glob of the contract names a folder, or seems to select a changed file that it
/// does not select. Otherwise its checks would be skipped without a message.
fn globs_select_files(site: &Site, loaded: &Loaded, changed: &ChangeSet) -> Result<(), Failure> {
    let Some(contract) = &loaded.contract else {
        return Ok(());
    };
    let mut found = Diagnostics::default();
    folders::find(site, contract, &loaded.sources, changed, &mut found)?;
    let (mut code, mut what) = (FOLDER_GLOB, "names a folder where files are meant");
    if found.is_empty() {
        (code, what) = (
            MISREAD_GLOB,
            "has a glob that is read otherwise than it looks",
        );
        let files = changed.files().iter().map(|file| &file.path);
        let is_there = |path: &RepoPath| given::is_file(&site.root, path);
        misread::find(
            contract,
            &loaded.sources,
            files,
            is_there,
            false,
            &mut found,
        );
    }
    if found.is_empty() {
        return Ok(());
    }
    let message = format!("the contract `{}` {what}", loaded.path);
    Err(Failure::contract(code.0, message).diagnosed(loaded.sources.clone(), found.sorted()))
}

/// Infers the commands that the repository declares, with their ids.
pub(super) fn inferred(site: &Site) -> Result<Vec<(String, Command)>, Failure> {
    let tree = declaring::declarations(&site.root, site.git.as_ref().ok())
        .map_err(|e| Failure::unreadable(&visible_path(&site.root), e))?;
    Ok(proposal::fallback(&tree))
}
