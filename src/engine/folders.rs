//! Finds the folders that were removed since the base of a change, and the checks that were removed
//! with them.

use super::failure::valid;
use super::open::changes_manifests;
use crate::{ChangeSet, Contract, ContractRequest, Engine, Failure, Oid, RepoPath, Site};
use std::collections::BTreeSet;
use vplan_base::folders::{EachQuestion, FolderAnswers};
use vplan_plan::request::{GoneFolder, GoneFolders};
use vplan_repo::folders::{FoldersOf, ModifiedTree, folders_at};

/// Maximum number of missing folders that are examined one by one for their checks.
const EACH: usize = 32;

impl Engine<'_> {
    /// Returns the folders that a commit has and the work tree lacks, with the checks that the
    /// contract would have for them. These include checks of imported files and of nested blocks.
    /// `changes`: all differences from that commit, if they are known.
    ///
    /// # Errors
    /// The commit cannot be listed; a contract that is invalid with these folders.
    pub(super) fn missing_folders(
        &self,
        site: &Site,
        contract: &Contract,
        revision: Option<&Oid>,
        base: &Oid,
        changes: Option<&ChangeSet>,
    ) -> Result<GoneFolders, Failure> {
        // If no manifest is changed, packages are those of the base.
        let mut asked = contract.folders.clone();
        if changes.is_some_and(|changes| !changes_manifests(changes)) {
            asked.retain(|asked, _| matches!(asked, EachQuestion::Folders(_)));
        }
        if asked.is_empty() || base.is_empty_tree() {
            return Ok(GoneFolders::default());
        }
        // Usually nothing was removed, which shows without reading the contract again. Questions of
        // inner blocks need no comparison: their folders are lost with the outer ones.
        let then = folders_at(site.usable_git(), base, &asked).map_err(|message| {
            let message = format!("the folders of the base are not known: {message}");
            Failure::usage("vplan::load::folders", message)
        })?;
        let mut pairs = then.iter();
        let there = |query| contract.folders.get(query);
        if pairs.all(|(query, found)| there(query).is_some_and(|there| found.is_within(there))) {
            return Ok(GoneFolders::default());
        }
        let read = |without| {
            let beside = ModifiedTree {
                commit: Some(base),
                without,
                ..ModifiedTree::default()
            };
            self.with_folders(site, revision, FoldersOf::And(beside))
        };
        let before = read(None)?;
        let known: BTreeSet<&str> = contract.checks.iter().map(|c| c.id.as_str()).collect();
        let names = before.checks.iter().map(|check| check.id.clone());
        let mut lost: Vec<String> = names.filter(|id| !known.contains(id.as_str())).collect();
        if lost.is_empty() {
            return Ok(GoneFolders::default());
        }
        let there: BTreeSet<&RepoPath> = contract.folders.values().flatten().collect();
        let gone = before.folders.values().flatten();
        let gone: BTreeSet<&RepoPath> = gone.filter(|f| !there.contains(f)).collect();
        // Folders below a missing folder are not examined on their own.
        let is_outer =
            |folder: &&&RepoPath| !gone.iter().any(|other| folder.below(other).is_some());
        let outer: Vec<&RepoPath> = gone.iter().filter(is_outer).copied().collect();
        let mut folders = Vec::new();
        for folder in outer.iter().take(EACH) {
            let without = read(Some(folder))?;
            let left: BTreeSet<&str> = without.checks.iter().map(|c| c.id.as_str()).collect();
            let (rest, checks) = lost.into_iter().partition(|id| left.contains(id.as_str()));
            lost = rest;
            folders.push(GoneFolder {
                folder: (*folder).clone(),
                others: 0,
                checks,
            });
        }
        folders.retain(|gone| !gone.checks.is_empty());
        // Checks of the remaining folders, or of several folders at once if each of them makes the
        // check.
        let further = outer.get(EACH..).filter(|further| !further.is_empty());
        let further = further.unwrap_or(&outer);
        if let (false, Some(folder)) = (lost.is_empty(), further.first()) {
            folders.push(GoneFolder {
                folder: (*folder).clone(),
                others: further.len() - 1,
                checks: lost,
            });
        }
        let changed = before.folders.iter();
        let changed = changed.filter(|(query, found)| contract.folders.get(*query) != Some(*found));
        let base: FolderAnswers = changed
            .map(|(q, found)| (q.clone(), found.clone()))
            .collect();
        Ok(GoneFolders { folders, base })
    }

    /// Reads the contract of the work tree, or of a revision, with other folders.
    pub(super) fn with_folders(
        &self,
        site: &Site,
        revision: Option<&Oid>,
        folders: FoldersOf<'_>,
    ) -> Result<Contract, Failure> {
        let named = revision.map(ToString::to_string);
        let wanted = ContractRequest {
            folders,
            ..self.contract_request(named.as_deref(), None)
        };
        Ok(valid(self.load(site, &wanted)??)?.0)
    }
}
