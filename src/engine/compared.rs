//! Reads the contracts that are compared: of files, or of the base of a change and the work tree.

use super::baseline::{damaged, failed};
use super::failure::valid;
use crate::{
    Contract, ContractRequest, Engine, Failure, LoadError, Loaded, Oid, RepoPath, Site,
    visible_path,
};
use std::path::{Path, PathBuf};
use vplan_base::source::Sources;
use vplan_base::word::framed;
use vplan_baseline::{Baseline, differences};
use vplan_git as git;
use vplan_plan::diff::contracts::Side;
use vplan_plan::diff::{ContractDiff, Difference};
use vplan_plan::skeleton::without_contract;
use vplan_repo::changes::{self, BaseRevision};
use vplan_repo::folders::{FoldersOf, ModifiedTree};
use vplan_repo::{baseline as file, load};

/// One side of a comparison: the contract, or an empty one if it is missing.
#[derive(Debug)]
pub struct ReadContract {
    contract: Contract,
    sources: Sources,
    baseline: Baseline,
}

impl ReadContract {
    /// Returns the differences between the baselines of two contracts.
    pub fn baseline_differences(&self, newer: &ReadContract) -> Vec<Difference> {
        differences(&self.baseline, &newer.baseline)
    }

    /// Returns the input of the comparison.
    pub fn side(&self) -> Side<'_> {
        Side::new(&self.contract, &self.sources)
    }

    fn empty(path: &RepoPath) -> Self {
        Self {
            contract: Contract {
                path: path.to_string(),
                ..without_contract()
            },
            sources: Sources::default(),
            baseline: Baseline::default(),
        }
    }

    /// Takes a contract and the baseline that belongs to it: of a revision, or of the work tree.
    fn new(loaded: Loaded, site: &Site, revision: Option<&Oid>) -> Result<Self, Failure> {
        let path = file::path_for(&loaded.path);
        let found = file::read(site, &path, revision).map_err(failed)?;
        if found.has_errors() {
            return Err(damaged(&path, found));
        }
        let baseline = found.content;
        let (contract, Loaded { sources, .. }) = valid(loaded)?;
        Ok(Self {
            contract,
            sources,
            baseline,
        })
    }
}

impl Engine<'_> {
    /// Reads the contract in any file: in this repository, another one, or none.
    ///
    /// # Errors
    /// A file that cannot be read, or has an invalid contract.
    pub fn contract_in(
        &self,
        path: &Path,
        invented: Option<&str>,
    ) -> Result<(Site, ReadContract), Failure> {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let dir = dir.unwrap_or(Path::new("."));
        let name = path.file_name().map(PathBuf::from).unwrap_or_default();
        let unreadable = |e: std::io::Error| Failure::unreadable(&visible_path(path), e);
        let dir = dir.canonicalize().map_err(unreadable)?;
        let site = load::locate(&dir, Some(&name), &git::environment)?;
        let absolute = dir.join(&name);
        let wanted = ContractRequest {
            contract: Some(&absolute),
            folders: FoldersOf::And(ModifiedTree {
                invented,
                ..ModifiedTree::default()
            }),
            ..self.contract_request(None, None)
        };
        let loaded = self.load(&site, &wanted)?.map_err(|error| match error {
            // A contract is required here: a file was named that does not exist.
            LoadError::Missing(..) | LoadError::Deleted { .. } | LoadError::Sparse(_) => {
                unreadable(std::io::Error::other("there is no such file"))
            }
            error => error.into(),
        })?;
        let read = ReadContract::new(loaded, &site, None)?;
        Ok((site, read))
    }

    /// Reads the contract at the base of the change, and that of the work tree. One of them may be
    /// missing.
    ///
    /// # Errors
    /// No git, no such base, a contract that cannot be read or is invalid.
    pub fn contracts_since(
        &self,
        site: &Site,
        base: &BaseRevision,
        invented: Option<&str>,
    ) -> Result<(ReadContract, ReadContract), Failure> {
        let git = site.git.as_ref().map_err(git::error::GitError::clone)?;
        let base = changes::base(git, base, &git::environment)?;
        // The second reading gives the same notes, so they are reported once.
        let first = invented.is_none();
        let notes = base.notes.iter().filter(|_| first);
        notes.for_each(|note| self.observer.note(note));
        // Without a common ancestor, the contract at the tip counts.
        let tip = base.unrelated.as_ref().and_then(|branch| branch.tip);
        let base = changes::base::Base {
            commit: tip.unwrap_or(base.commit),
            ..base
        };
        let commit = base.commit.to_string();
        let beside = ModifiedTree {
            invented,
            ..ModifiedTree::default()
        };
        let newer = ContractRequest {
            folders: FoldersOf::And(beside),
            ..self.contract_request(None, Some(&base.commit))
        };
        let older = ContractRequest {
            folders: FoldersOf::And(ModifiedTree {
                tree: Some(&base.commit),
                ..beside
            }),
            ..self.contract_request(Some(&commit), Some(&base.commit))
        };
        let old = match self.load(site, &older)? {
            Err(LoadError::MissingIn { path, .. }) => Err(path),
            loaded => Ok(ReadContract::new(loaded?, site, Some(&base.commit))?),
        };
        let new = match self.load(site, &newer)? {
            Err(LoadError::Deleted { path, .. }) => Err(path),
            loaded => Ok(ReadContract::new(loaded?, site, None)?),
        };
        let absent = |path: &RepoPath, note: String| {
            self.observer.note(&note);
            ReadContract::empty(path)
        };
        let commit = base.commit.short();
        let missing = |path: &_| format!("`{commit}` has no contract at `{path}`");
        let deleted = |path: &_| format!("the contract `{path}` is deleted");
        let old = old.unwrap_or_else(|path| absent(&path, missing(&path)));
        let new = new.unwrap_or_else(|path| absent(&path, deleted(&path)));
        Ok((old, new))
    }
}

/// Two contracts that are compared.
pub struct ComparedContracts<S> {
    /// The place of the newer one.
    pub site: S,
    /// The older one.
    pub old: ReadContract,
    /// The newer one.
    pub new: ReadContract,
    /// The name of the folder that represents all future ones, if a contract asks for folders.
    invented: Option<String>,
}

/// Reads two contracts. If one of them asks for folders, both are read with an additional folder
/// that represents all future ones; `read` gets its name. The comparison then covers existing
/// folders and that one.
///
/// # Errors
/// Those of reading.
pub fn with_new_folder<S>(
    read: impl Fn(Option<&str>) -> Result<(S, ReadContract, ReadContract), Failure>,
) -> Result<ComparedContracts<S>, Failure> {
    let (mut site, mut old, mut new) = read(None)?;
    let sides = [&old.contract, &new.contract];
    let mut invented = None;
    if sides.iter().any(|side| !side.folders.is_empty()) {
        // Nothing that is there has the name in it.
        let is_free = |name: &String| {
            !sides.iter().any(|side| {
                let mut folders = side.folders.values().flatten();
                let mut ids = side.checks.iter().map(|check| &check.id);
                folders.any(|folder| folder.to_string().contains(name))
                    || ids.any(|id| id.contains(name))
            })
        };
        let more = (2_u64..).map(|n| format!("new-folder-{n}x"));
        let mut names = std::iter::once("new-folder".to_owned()).chain(more);
        let name = names.find(is_free).unwrap_or_default();
        (site, old, new) = read(Some(&name))?;
        invented = Some(name);
    }
    Ok(ComparedContracts {
        site,
        old,
        new,
        invented,
    })
}

impl<S> ComparedContracts<S> {
    /// Marks differences that hold for future folders only, and drops those that also hold for
    /// existing ones.
    pub fn tell_of_new_folders(&self, diff: &mut ContractDiff) {
        let Some(name) = &self.invented else { return };
        let is_check = |d: &Difference| d.subject.starts_with("check ");
        let is_new = |d: &Difference| is_check(d) && d.subject.contains(name.as_str());
        let told = diff.differences.iter();
        let told = told.filter(|d| is_check(d) && !is_new(d)).cloned();
        let told: Vec<Difference> = told.collect();
        let same = |a: &Difference, b: &Difference| {
            (&a.old, &a.new, a.class, &a.what) == (&b.old, &b.new, b.class, &b.what)
        };
        let is_told = |d: &Difference| told.iter().any(|other| same(d, other));
        diff.differences.retain(|d| !is_new(d) || !is_told(d));
        for difference in diff.differences.iter_mut().filter(|d| is_new(d)) {
            let why = framed("; ", difference.why.take(), "");
            difference.why = Some(format!("for a folder that is new{why}"));
        }
    }
}
