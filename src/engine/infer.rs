//! Proposes a contract for a repository that has none, and writes it.

use super::failure::Failure;
use super::place::Engine;
use crate::base::command::{Command, Piece};
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::baseline::Baseline;
use crate::declared::proposal::{self, Proposal as Declared};
use crate::declared::tree::Tree;
use crate::effect::os::files;
use crate::effect::repo::baseline;
use crate::effect::repo::infer::contract;
use crate::effect::repo::infer::declared;
use crate::effect::repo::infer::propose::{self, Part, Proposal};
use crate::effect::repo::load::{self, Site};
use crate::front::std as shipped;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A proposed contract.
#[derive(Debug)]
pub struct Proposed {
    /// What the repository declares, with the account of all of it.
    pub declared: Declared,
    /// Statements for a repository that declares no check but in manifests, with the reasons.
    pub proposal: Proposal,
    /// Its text.
    pub text: String,
    /// The files that were read.
    pub tree: Tree,
    /// The title of the contract.
    pub title: String,
    /// What a trial found on the tree as it is; empty without one.
    pub baseline: Baseline,
}

/// Proposes a contract from what the repository declares.
///
/// # Errors
/// A repository that cannot be read.
pub fn propose(site: &Site) -> Result<Proposed, Failure> {
    let unreadable = |e: std::io::Error| {
        Failure::usage(
            "vplan::usage::unreadable",
            format!("the repository cannot be read: {e}"),
        )
    };
    let git = site.git.as_ref().ok();
    let name = site.root.file_name().map(|n| visible(n.as_bytes()));
    let name = name.unwrap_or_default();
    let tree = declared::read(&site.root, git).map_err(unreadable)?;
    let declared = proposal::propose(&tree, &name);
    let proposal = propose::propose(&site.root, git).map_err(unreadable)?;
    // Shipped contracts are shorter, where manifests alone speak and nothing of them writes.
    let is_plain = !declared.is_said() && proposal::is_harmless(&tree, &commands(&proposal));
    if !declared.checks.is_empty() && !is_plain {
        return Ok(Proposed {
            text: declared.text.clone(),
            declared,
            proposal: Proposal::default(),
            tree,
            title: name,
            baseline: Baseline::default(),
        });
    }
    let declared = Declared {
        checks: Vec::new(),
        ..declared
    };
    let text = contract::text(&name, &proposal);
    Ok(Proposed {
        declared,
        proposal,
        text,
        tree,
        title: name,
        baseline: Baseline::default(),
    })
}

/// The commands of a proposal, those of the shipped contracts among them, with their directories.
fn commands(proposal: &Proposal) -> Vec<(RepoPath, Vec<String>)> {
    let mut all: Vec<(RepoPath, Vec<String>)> = Vec::new();
    for part in &proposal.parts {
        match part {
            Part::Import { source, at, .. } => {
                let own = shipped::commands(source);
                all.extend(own.iter().filter_map(|c| Some((at.clone(), words(c)?))));
            }
            Part::Checks { checks, .. } => {
                let own = checks.iter();
                all.extend(own.filter_map(|c| Some((c.dir.clone(), words(&c.command)?))));
            }
        }
    }
    all
}

/// The words of a command, without its placeholders for files.
fn words(command: &Command) -> Option<Vec<String>> {
    let Command::Argv { pieces, .. } = command else {
        return None;
    };
    let words = pieces.iter().filter_map(|piece| match piece {
        Piece::Word(word) => word.as_str().map(str::to_owned),
        Piece::Changed => None,
    });
    Some(words.collect())
}

impl Engine<'_> {
    /// Writes a proposed contract; with `force` in place of an existing one.
    ///
    /// # Errors
    /// A contract that exists already, a place that cannot be written or that is not the
    /// repository's.
    pub fn write_proposal(
        &self,
        site: &Site,
        found: &Proposed,
        force: bool,
    ) -> Result<RepoPath, Failure> {
        let path = load::contract_path(site, self.contract)
            .map_err(|e| Failure::usage(e.code(), e.to_string()))?;
        let target = site.root.join(path.to_os());
        if !force && target.symlink_metadata().is_ok() {
            let message = format!("`{path}` is there already");
            return Err(Failure::usage("vplan::init::exists", message)
                .help("`--stdout` prints the proposal, `--force` replaces what is there"));
        }
        let failed = |why: String| {
            Failure::new(
                Exit::Setup,
                "vplan::init::write",
                format!("`{path}` cannot be written: {why}"),
            )
        };
        if let Some(link) = link_above(&site.root, &path) {
            return Err(failed(format!(
                "`{link}` is a symlink, and may lead out of the repository"
            )));
        }
        files::replace(&target, found.text.as_bytes()).map_err(|e| failed(e.to_string()))?;
        if !found.baseline.is_empty() {
            let beside = baseline::path_for(&path);
            baseline::write(site, &beside, &found.baseline).map_err(super::baseline::failed)?;
        }
        Ok(path)
    }
}

/// Returns the first directory above the file that is a symlink.
fn link_above(root: &Path, path: &RepoPath) -> Option<RepoPath> {
    let mut at = RepoPath::root();
    for segment in path.segments() {
        at = at.join(segment).ok()?;
        if at != *path
            && root
                .join(at.to_os())
                .symlink_metadata()
                .is_ok_and(|m| m.is_symlink())
        {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shipped_is_harmless_by_itself() {
        for one in shipped::SHIPPED {
            let import = format!("std:{}@{}", one.name, one.version);
            for command in shipped::commands(&import) {
                let one = [(RepoPath::root(), words(&command).unwrap())];
                assert!(
                    proposal::is_harmless(&Tree::default(), &one),
                    "{import}: {one:?}"
                );
            }
        }
    }
}
