//! Lays out by folder what checks read, what the contract selects of it, and where it does not.

use super::context::{AuditSubject, Audited, FindingKind};
use super::observed::{ObservedCheck, gather};
use crate::select::item_text;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::glob::Item;
use vplan_base::path::RepoPath;
use vplan_base::setting::Row;
use vplan_contract::{Check, Contract};

/// Maximum number of separate folders; deeper ones count as their parent.
const MOST_FOLDERS: usize = 20;
/// Maximum number of segments in a folder's name.
const DEEPEST: usize = 4;

/// What observed checks read, by folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// The folders, sorted; `.` is the root.
    pub folders: Vec<RepoPath>,
    /// The checks, in the contract's order.
    pub rows: Vec<MatrixRow>,
}

/// What a check read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixRow {
    /// The id of the check.
    pub check: String,
    /// Each folder in which it read something.
    pub cells: BTreeMap<RepoPath, Cell>,
}

/// What a check read in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The number of tracked files that it read.
    pub read: usize,
    /// The globs of the contract that select some of them, each after its setting's keyword.
    pub selected_by: BTreeSet<String>,
    /// The files that it depends on and that its conditions or its `inputs` do not select.
    pub holes: BTreeSet<RepoPath>,
}

/// Lays out what was found in the runs of a subject.
pub fn matrix(subject: &AuditSubject<'_>, audited: &Audited) -> Matrix {
    let seen = gather(subject);
    let holes: Vec<BTreeSet<RepoPath>> = seen
        .iter()
        .map(|one| holes(audited, &subject.contract.checks[one.check].id))
        .collect();
    let files = seen.iter().flat_map(|one| one.tracked.iter().copied());
    let files: Vec<&RepoPath> = files.chain(holes.iter().flatten()).collect();
    let depths = (1..=DEEPEST).rev();
    let folders_at =
        |depth| -> BTreeSet<RepoPath> { files.iter().map(|path| folder(path, depth)).collect() };
    let few = |depth: &usize| folders_at(*depth).len() <= MOST_FOLDERS;
    let depth = depths.into_iter().find(few).unwrap_or(1);
    let rows = seen.iter().zip(&holes);
    let rows = rows.map(|(one, holes)| row(subject.contract, one, holes, depth));
    Matrix {
        rows: rows.filter(|row| !row.cells.is_empty()).collect(),
        folders: folders_at(depth).into_iter().collect(),
    }
}

/// Returns what a check depends on and is not selected.
fn holes(audited: &Audited, check: &str) -> BTreeSet<RepoPath> {
    let of_check = audited.findings.iter().filter(|finding| {
        let is_hole = [FindingKind::BlindSpot, FindingKind::UndeclaredInput];
        finding.check == check && is_hole.contains(&finding.kind)
    });
    let paths = of_check.flat_map(|finding| &finding.all);
    paths
        .filter_map(|path| RepoPath::parse(path.as_bytes()).ok())
        .collect()
}

fn row(
    contract: &Contract,
    seen: &ObservedCheck<'_>,
    holes: &BTreeSet<RepoPath>,
    depth: usize,
) -> MatrixRow {
    let check = &contract.checks[seen.check];
    let selecting = selecting(contract, check);
    let mut cells: BTreeMap<RepoPath, Cell> = BTreeMap::new();
    for path in &seen.tracked {
        let cell = cells.entry(folder(path, depth)).or_default();
        cell.read += 1;
        let selects = |(_, item): &&(&str, &Item)| item.selects(path);
        let by = selecting.iter().filter(selects);
        cell.selected_by
            .extend(by.map(|(word, item)| format!("{word} {}", item_text(item))));
    }
    for path in holes {
        let cell = cells.entry(folder(path, depth)).or_default();
        cell.holes.insert(path.clone());
    }
    MatrixRow {
        check: check.id.clone(),
        cells,
    }
}

/// Returns the items that select files for a check, with their keywords: conditions and `inputs`.
fn selecting<'c>(contract: &'c Contract, check: &'c Check) -> Vec<(&'c str, &'c Item)> {
    let places = check.placements.iter();
    let tests = places
        .flat_map(|place| contract.around(place))
        .map(|c| &c.test);
    let conditions = tests.filter_map(|test| Some((test.keyword(), test.narrowing()?)));
    let inputs = check.selection(Row::Inputs).map(|own| ("inputs", own));
    let all = conditions.chain(inputs);
    all.flat_map(|(word, selection)| selection.positive().map(move |item| (word, item)))
        .collect()
}

/// Returns the folder of a path, truncated to `depth` segments.
fn folder(path: &RepoPath, depth: usize) -> RepoPath {
    let folder = path.folder();
    if folder.is_root() {
        return folder;
    }
    let mut around = folder.ancestors();
    around.truncate(depth);
    around.pop().unwrap_or_default()
}
