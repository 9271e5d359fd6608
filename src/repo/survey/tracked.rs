//! Finds checks that report in files that git tracks. vplan could not tell whether the check wrote
//! such a file, and writing it changes the verified content.

use crate::load::Site;
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::path::RepoPath;
use vplan_check::Report;
use vplan_contract::Contract;
use vplan_git::Git;
use vplan_git::error::GitError;

/// A check that reports in a tracked file.
pub const TRACKED_REPORT: Code = Code("vplan::repository::tracked_report");

/// Returns the checks that report in a tracked file, each with the first such file.
///
/// # Errors
/// Errors of git; it is not called when there are no reports.
pub fn tracked_reports<'c>(
    git: &Git,
    reports: impl Iterator<Item = (&'c str, &'c Report)>,
) -> Result<Vec<(&'c str, RepoPath)>, GitError> {
    let mut reports = reports.peekable();
    if reports.peek().is_none() {
        return Ok(Vec::new());
    }
    let tracked = git.tracked()?;
    let found = reports.filter_map(|(id, report)| {
        let path = tracked.iter().find(|path| report.glob.matches(path))?;
        Some((id, path.clone()))
    });
    Ok(found.collect())
}

/// Describes such a check, and how to fix it.
pub fn words(id: &str, path: &RepoPath) -> (String, String) {
    (
        format!("`{id}` reports in `{path}`, which git tracks"),
        format!("`git rm --cached -- {path}` stops tracking it; or name other files in `report`"),
    )
}

/// Reports those of a contract.
pub(super) fn find(
    site: &Site,
    contract: &Contract,
    sink: &mut Diagnostics,
) -> Result<(), GitError> {
    let checks = contract.checks.iter();
    let reports = checks.filter_map(|check| Some((&*check.id, check.report.as_ref()?)));
    let Ok(git) = &site.git else {
        // Without git, nothing is tracked.
        return Ok(());
    };
    for (id, path) in tracked_reports(git, reports)? {
        let (message, help) = words(id, &path);
        let check = contract.checks.iter().find(|check| check.id == id);
        let place = check.map(|check| check.place).unwrap_or_default();
        let found = Diagnostic::error(TRACKED_REPORT, message);
        sink.push(found.label(place, "no run accepts this").help(help));
    }
    Ok(())
}
