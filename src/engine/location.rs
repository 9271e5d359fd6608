//! Locates what belongs to a repository but not to the change: the contract, the state, the cache.

use super::failure::{Failure, valid};
use std::path::{Path, PathBuf};
use vplan_base::path::RepoPath;
use vplan_contract::Contract;
use vplan_git as git;
use vplan_os::state_dir::{self, StateDir, StateError};
use vplan_os::{terminal, view};
use vplan_plan::drift::Difference;
use vplan_repo::changes::commit_cache::CommitCache;
use vplan_repo::folders::FoldersOf;
use vplan_repo::load::{self, ContractRequest, Loaded, Site};
use vplan_repo::lockfile::LockFile;
use vplan_store::import_cache::Store;
use vplan_store::vault::{self, Vault};

/// The entry point: the places of the contract, the state and the cache, and an observer for
/// progress.
#[derive(Clone, Copy)]
pub struct Engine<'e> {
    /// The directory of the caller; the engine works on the repository around it.
    pub directory: &'e Path,
    /// The contract, relative to the repository's root; without it `contracts/verify.vplan`.
    pub contract: Option<&'e Path>,
    /// Whether the lock must pin exactly the imports.
    pub locked: bool,
    /// Size limit of a contract, in bytes.
    pub max_file: u64,
    /// The directory of fetched imports; the user's cache otherwise.
    pub cache_dir: Option<&'e Path>,
    /// The directory of repositories' state; the user's otherwise.
    pub state_dir: Option<&'e Path>,
    /// The file to use as git's index when verifying staged files; otherwise git's own, or that of
    /// the commit in progress.
    pub index: Option<&'e Path>,
    /// Whether this is CI, where an empty change and a missing base are errors. By default, the
    /// environment decides.
    pub is_ci: bool,
    /// Receives progress reports.
    pub observer: &'e dyn Observer,
}

/// Receives reports while a plan is made.
pub trait Observer {
    /// Reports why the changed files may differ from the expected ones.
    fn note(&self, text: &str) {
        let _ = text;
    }

    /// Reports the errors of a lock that is about to be rewritten.
    fn mended(&self, path: &RepoPath, found: &LockFile) {
        let _ = (path, found);
    }

    /// Reports how a saved plan differs from the one that is planned here now.
    fn drift(&self, differences: &[Difference]) {
        let _ = differences;
    }
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {}

/// The default limit on the size of a contract, in bytes.
pub const MAX_FILE: u64 = 1 << 20;

impl<'e> Engine<'e> {
    /// Makes the engine for the repository around a directory, with the user's cache and state, and
    /// in CI if the environment indicates that.
    pub fn at(directory: &'e Path) -> Self {
        Self {
            directory,
            contract: None,
            locked: false,
            max_file: MAX_FILE,
            cache_dir: None,
            state_dir: None,
            index: None,
            is_ci: terminal::read().ci,
            observer: &Silent,
        }
    }

    /// Sets the observer.
    pub fn with_observer(self, observer: &'e dyn Observer) -> Self {
        Self { observer, ..self }
    }

    /// Finds the repository around the caller's directory.
    ///
    /// # Errors
    /// A directory that cannot be entered.
    pub fn locate(&self) -> Result<Site, Failure> {
        let mut site = load::locate(self.directory, self.contract, &git::environment)?;
        // Without such a place, everything is read again.
        if let Ok(states) = self.state_base() {
            if let Some(home) = view::checked_out_from(&site.root, &states) {
                site.home = home;
            } else {
                site.git = site.git.map(|git| git.with_memory(&states));
            }
        }
        Ok(site)
    }

    /// Opens the state of a repository: its ledger, its reusable results.
    ///
    /// # Errors
    /// It cannot be opened (exit 5).
    pub fn state(&self, site: &Site) -> Result<StateDir, Failure> {
        StateDir::open(&self.state_base()?, &site.home).map_err(|e| state_failed(&e))
    }

    /// Finds the state directory without creating it; `None` if nothing is stored yet.
    ///
    /// # Errors
    /// A place that cannot be entered: exit 5.
    pub fn kept_state(&self, site: &Site) -> Result<Option<StateDir>, Failure> {
        StateDir::find(&self.state_base()?, &site.home).map_err(|e| state_failed(&e))
    }

    /// Opens the record of how runs ended. Without a place for it, runs continue, but their records
    /// are not trusted later.
    pub fn vault(&self, site: &Site) -> Option<Vault> {
        let state = self
            .state(site)
            .inspect_err(|failure| tracing::debug!(why = failure.message, "no vault"))
            .ok()?;
        Vault::open(&state)
            .inspect_err(|error| tracing::debug!(%error, "no vault"))
            .ok()
    }

    /// Finds the record of how runs ended; `None` if no run was recorded.
    ///
    /// # Errors
    /// A place that cannot be entered: exit 5.
    pub fn kept_vault(&self, site: &Site) -> Result<Option<Vault>, Failure> {
        let Some(state) = self.kept_state(site)? else {
            return Ok(None);
        };
        let failed = |e| StateError::Io(state.path.join(vault::FOLDER), e);
        Vault::find(&state).map_err(|e| state_failed(&failed(e)))
    }

    /// Opens the cached facts about a repository's commits. Without a place to store them, calls
    /// only take longer.
    pub fn commit_cache(&self, site: &Site) -> CommitCache {
        self.state_base().map_or_else(
            |_| CommitCache::nowhere(),
            |base| CommitCache::below(base, &site.home),
        )
    }

    /// Reads the contract of the work tree alone, without a change.
    ///
    /// # Errors
    /// The contract is missing, or cannot be read. An invalid one is not an error here.
    pub fn load_contract(&self, site: &Site) -> Result<Loaded, Failure> {
        Ok(self.load(site, &self.contract_request(None, None))??)
    }

    /// Loads the contract of the work tree, which has no errors, and what was loaded with it.
    pub fn valid_contract(&self, site: &Site) -> Result<(Contract, Loaded), Failure> {
        valid(self.load_contract(site)?)
    }

    /// Returns the contract to read: of a revision or the work tree. `base`: the base of the
    /// change, to report a deleted contract.
    pub fn contract_request<'w>(
        &self,
        revision: Option<&'w str>,
        base: Option<&'w git::object::Oid>,
    ) -> ContractRequest<'w>
    where
        'e: 'w,
    {
        ContractRequest {
            contract: self.contract,
            revision,
            base,
            max_file: self.max_file,
            text: None,
            folders: FoldersOf::WorkTree,
        }
    }

    /// Opens the cache of imports: `cache_dir`, or the user's.
    pub fn import_cache(&self) -> Option<Store> {
        match self.cache_dir {
            Some(dir) => Some(Store::at(
                std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()),
            )),
            None => Store::of_user(git::environment),
        }
    }

    pub(super) fn state_base(&self) -> Result<PathBuf, Failure> {
        state_dir::base(self.state_dir, git::environment).map_err(|e| state_failed(&e))
    }
}

fn state_failed(error: &StateError) -> Failure {
    Failure::setup("vplan::state", error.to_string()).help(error.help())
}
