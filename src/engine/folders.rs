//! Finds out which folders are gone since the base of a change, and which checks went with them.

use super::failure::{Failure, load_failed};
use super::place::Engine;
use crate::base::folders::{FolderAnswers, FolderQuery};
use crate::base::path::RepoPath;
use crate::contract::{Check, Contract};
use crate::effect::git::object::Oid;
use crate::effect::repo::folders::{FoldersOf, folders_at};
use crate::effect::repo::load::{ContractRequest, Site};
use crate::plan::request::GoneFolder;
use std::collections::BTreeSet;

impl Engine<'_> {
    /// Returns the folders that a commit has and the work tree has not, with the checks that the
    /// contract would have for them.
    ///
    /// # Errors
    /// The commit cannot be listed; a contract that is invalid with these folders.
    pub(super) fn gone(
        &self,
        site: &Site,
        contract: &Contract,
        revision: Option<&Oid>,
        base: &Oid,
    ) -> Result<Vec<GoneFolder>, Failure> {
        if contract.folders.is_empty() || Oid::empty_tree(base.length()) == Some(*base) {
            return Ok(Vec::new());
        }
        let before = folders_at(site.usable_git(), base, &contract.folders).map_err(|message| {
            let message = format!("the folders of the base are not known: {message}");
            Failure::usage("vplan::load::folders", message)
        })?;
        let mut gone = FolderAnswers::new();
        for (query, folders) in &contract.folders {
            let then = before.get(query).into_iter().flatten();
            let missing: BTreeSet<RepoPath> = then
                .filter(|folder| !folders.contains(*folder))
                .cloned()
                .collect();
            if !missing.is_empty() {
                gone.insert(query.clone(), missing);
            }
        }
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        let named = revision.map(ToString::to_string);
        let wanted = ContractRequest {
            folders: FoldersOf::And(None, &gone),
            ..self.contract_request(named.as_deref(), None)
        };
        let loaded = self.load(site, &wanted)?.map_err(load_failed)?;
        let Some(with) = &loaded.contract else {
            return Err(super::failure::invalid(loaded));
        };
        let known: BTreeSet<&str> = contract
            .checks
            .iter()
            .map(|check| check.id.as_str())
            .collect();
        let lost = with
            .checks
            .iter()
            .filter(|check| !known.contains(check.id.as_str()));
        let mut lost: Vec<&Check> = lost.collect();
        let mut found = Vec::new();
        for (query, folders) in &gone {
            for folder in folders {
                let (own, others): (Vec<&Check>, Vec<&Check>) = lost
                    .into_iter()
                    .partition(|check| is_of(with, check, query, folder));
                lost = others;
                let checks: Vec<String> = own.iter().map(|check| check.id.clone()).collect();
                if !checks.is_empty() {
                    found.push(GoneFolder {
                        query: query.clone(),
                        folder: folder.clone(),
                        checks,
                    });
                }
            }
        }
        Ok(found)
    }
}

/// Whether a check is of the row that an `each` has for a folder: one of its names stands for each
/// `*` of the question.
pub(super) fn is_of(
    contract: &Contract,
    check: &Check,
    query: &FolderQuery,
    folder: &RepoPath,
) -> bool {
    let row = contract.row_of(check.place);
    let mut values = query.values(folder);
    values.all(|value| row.values().any(|own| own.as_bytes() == value))
}
