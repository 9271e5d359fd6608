//! Finds, reads and replaces the baseline of a contract.

use crate::adjacent_file::{self, AdjacentFile, BesideError, FileBeside};
use crate::load::Site;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::path::RepoPath;
use vplan_base::source::{Source, Sources};
use vplan_base::span::{Place, Span};
use vplan_base::word::count;
use vplan_baseline::error::UNKNOWN_CHECK;
use vplan_baseline::{Baseline, MAX_BYTES, decode, encode, quoted};
use vplan_git::object::Oid;
use vplan_os::files;

/// A baseline, with its text and diagnostics.
pub type BaselineFile = FileBeside<Baseline>;

/// The mistakes in the baseline of a contract.
#[derive(Debug, Default)]
pub struct Surveyed {
    /// The errors, and warnings about checks that the contract does not have; their places are in
    /// the sources that were given.
    pub diagnostics: Diagnostics,
    /// The number of entries.
    pub entries: usize,
}

/// Returns the path of the baseline next to a contract: `verify.vplan` has `verify.baseline.kdl`.
pub fn path_for(contract: &RepoPath) -> RepoPath {
    contract.with_ending(b".baseline.kdl")
}

/// Reads a baseline from a revision, or from the work tree. If it is missing, the result has none.
///
/// # Errors
/// It exists, but is not a regular UTF-8 file of at most [`MAX_BYTES`].
pub fn read(
    site: &Site,
    path: &RepoPath,
    revision: Option<&Oid>,
) -> Result<BaselineFile, BesideError> {
    let text = adjacent_file::read(site, AdjacentFile::Baseline, path, revision, MAX_BYTES)?;
    Ok(BaselineFile::decode(path, text, decode))
}

/// Examines the baseline of the work tree; `checks` are the names that the contract has, and its
/// text is added to `sources`.
///
/// # Errors
/// It exists and cannot be read.
pub fn survey(
    site: &Site,
    path: &RepoPath,
    checks: &BTreeSet<&str>,
    sources: &mut Sources,
) -> Result<Surveyed, BesideError> {
    let Some(text) = adjacent_file::read(site, AdjacentFile::Baseline, path, None, MAX_BYTES)?
    else {
        return Ok(Surveyed::default());
    };
    let id = sources.add(Source::new(path.to_string(), &text));
    let (baseline, mut diagnostics) = decode(&text, id);
    let mut unknown: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in baseline.entries() {
        if !checks.contains(entry.check.as_str()) {
            *unknown.entry(&entry.check).or_default() += 1;
        }
    }
    for (check, entries) in unknown {
        let name = quoted(check);
        let at = text.find(&name).unwrap_or(0);
        let place = Place::new(id, Span::new(at, (at + name.len()).min(text.len())));
        let lines = count(entries, "line");
        let message =
            format!("the baseline has {lines} of a check that the contract does not have");
        let diagnostic = Diagnostic::warning(UNKNOWN_CHECK, message)
            .label(place, "no check is called so")
            .help("take the lines out, or give the check its name back");
        diagnostics.push(diagnostic);
    }
    Ok(Surveyed {
        entries: baseline.entries().len(),
        diagnostics,
    })
}

/// Replaces the baseline of the work tree. A reader gets the old one or the new one.
///
/// # Errors
/// It cannot be written.
pub fn write(site: &Site, path: &RepoPath, baseline: &Baseline) -> Result<(), BesideError> {
    let target = site.root.join(path.to_os());
    files::replace(&target, encode(baseline).as_bytes()).map_err(|e| BesideError::Unwritable {
        what: AdjacentFile::Baseline,
        path: path.clone(),
        message: e.to_string(),
    })
}
