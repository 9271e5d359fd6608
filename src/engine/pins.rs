//! Selects the lock for the imports of a contract, and handles differences.

use crate::{ContractRequest, Engine, Exit, Failure, LoadError, Loaded, RepoPath, Site};
use vplan_repo::adjacent_file::BesideError;
use vplan_repo::load;
use vplan_repo::lockfile::{self, LockFile};
use vplan_repo::pinned::PinnedImports;

impl Engine<'_> {
    /// Reads a contract with pinned imports only. With `--locked`, the lock must also pin nothing
    /// but imports.
    ///
    /// # Errors
    /// A lock that cannot be read, is invalid, or with `--locked` pins files that nothing imports:
    /// exit 4. The inner error: the contract cannot be found.
    pub fn load(
        &self,
        site: &Site,
        wanted: &ContractRequest<'_>,
    ) -> Result<Result<Loaded, LoadError>, Failure> {
        let store = self.import_cache();
        let path = match load::contract_path(site, wanted.contract) {
            Ok(path) => lockfile::path_for(&path),
            Err(e) => return Ok(Err(e)),
        };
        let mut pins = PinnedImports::new(
            site,
            path.clone(),
            wanted.revision,
            store.as_ref(),
            wanted.max_file,
        );
        if self.locked {
            pins.read();
        }
        let loaded = load::load(site, wanted, &mut pins);
        let asked = std::mem::take(&mut pins.requested);
        let found = match pins.into_found() {
            None => return Ok(loaded),
            Some(found) => found?,
        };
        if found.has_errors() {
            return Err(invalid(&path, found));
        }
        let complete = matches!(&loaded, Ok(loaded) if loaded.contract.is_some());
        let mut surplus = found
            .content
            .imports
            .iter()
            .filter(|i| !asked.contains(&i.origin));
        if let Some(import) = surplus.next().filter(|_| self.locked && complete) {
            let also = vplan_base::word::and_more(surplus.count());
            let message = format!(
                "the lock `{path}` pins `{}`{also}, which nothing imports",
                import.origin
            );
            return Err(
                Failure::drift("vplan::lock::surplus", message).help("`vplan lock` takes it out")
            );
        }
        Ok(loaded)
    }
}

/// Makes the failure of a lock with mistakes in it.
pub fn invalid(path: &RepoPath, found: LockFile) -> Failure {
    let count = vplan_base::word::count(found.diagnostics.len(), "error");
    let help = (!found.is_newer()).then_some("`vplan lock` mends it");
    Failure::drift(
        "vplan::lock::invalid",
        format!("the lock `{path}` has {count}"),
    )
    .helped(help)
    .diagnosed(found.sources, found.diagnostics)
}

impl From<BesideError> for Failure {
    fn from(error: BesideError) -> Self {
        // A revision that cannot be read does not mean that the lock does not fit.
        let exit = if matches!(error, BesideError::Git(_)) {
            Exit::Usage
        } else {
            Exit::Drift
        };
        Failure::new(exit, error.code(), error.to_string()).helped(error.help())
    }
}

/// Makes the failure of a user without a cache.
pub fn no_cache() -> Failure {
    let message = "there is no cache: neither `XDG_CACHE_HOME` nor `HOME` says where";
    Failure::setup("vplan::lock::cache", message).help("name a directory with `--cache-dir`")
}
