//! Proposes a contract for a repository without one, and writes it.

use crate::{Contract, Engine, Failure, RepoPath, Site, visible_path};
use std::path::Path;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::source::{Source, Sources};
use vplan_baseline::Baseline;
use vplan_contract::validate::validate;
use vplan_front as front;
use vplan_init::proposal::{self, ContractProposal};
use vplan_init::tree::RepositoryTree;
use vplan_os::files;
use vplan_repo::{baseline, declaring, load};

/// A proposed contract.
#[derive(Debug)]
pub struct Proposed {
    /// The checks, the text and the account.
    pub proposal: ContractProposal,
    /// The files that were read.
    pub tree: RepositoryTree,
    /// The title of the contract.
    pub title: String,
    /// The findings of a trial on the present tree; empty without a trial.
    pub baseline: Baseline,
}

/// Proposes a contract from the declarations of the repository.
///
/// # Errors
/// A repository that cannot be read, a proposal that is not valid.
pub fn propose(site: &Site) -> Result<Proposed, Failure> {
    let name = site.root.file_name().map(visible_path);
    let title = name.unwrap_or_default();
    let tree = declaring::read(&site.root, site.git.as_ref().ok()).map_err(|e| {
        let message = format!("the repository cannot be read: {e}");
        Failure::usage("vplan::usage::unreadable", message)
    })?;
    let proposal = proposal::propose(&tree, &title);
    valid(&proposal.text, "the proposal")?;
    Ok(Proposed {
        proposal,
        tree,
        title,
        baseline: Baseline::default(),
    })
}

/// Reads a contract that vplan wrote.
///
/// # Errors
/// It is not valid, which is a defect of vplan.
pub(super) fn valid(text: &str, what: &str) -> Result<Contract, Failure> {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("contracts/verify.vplan", text));
    let mut sink = Diagnostics::default();
    let draft = front::lower(&sources, id, &mut sink);
    let contract = validate(&draft, &sources, &mut sink);
    contract.filter(|_| !sink.has_errors()).ok_or_else(|| {
        let first = sink.sorted().into_iter().next();
        let why = first.map_or_else(String::new, |d| d.message);
        Failure::internal(format!("{what} is not a valid contract: {why}"))
            .help("please report it with the sources")
    })
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
            let message = format!("`{path}` cannot be written: {why}");
            Failure::setup("vplan::init::write", message)
        };
        if let Some(link) = link_above(&site.root, &path) {
            let why = format!("`{link}` is a symlink, and may lead out of the repository");
            return Err(failed(why));
        }
        files::replace(&target, found.proposal.text.as_bytes())
            .map_err(|e| failed(e.to_string()))?;
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
        if at != *path && root.join(at.to_os()).is_symlink() {
            return Some(at);
        }
    }
    None
}
