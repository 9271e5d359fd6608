//! Finds tracked files that no condition mentions: a change of them requires no check of its own.

use crate::facts;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use vplan_base::change::ChangeSet;
use vplan_base::diagnostic::{Code, Diagnostic};
use vplan_base::glob::{Item, ItemContent, Selection};
use vplan_base::matching::match_each;
use vplan_base::path::RepoPath;
use vplan_base::word::count;
use vplan_contract::{Check, ConditionIndex, Contract, Test};
use vplan_git::Git;
use vplan_git::error::GitError;
use vplan_plan::definition::{CommandPlace, parts_of, questions_of};
use vplan_plan::facts::{Facts, MAX_FACT_ROUNDS};

/// Tracked files that no condition mentions.
pub const UNCOVERED: Code = Code("vplan::repository::uncovered");

/// Maximum number of shown groups.
const GROUPS: usize = 20;

/// The tracked files that no condition mentions.
#[derive(Debug, Default)]
pub struct Uncovered {
    /// The number of tracked files.
    pub tracked: usize,
    /// The files that no condition mentions, sorted.
    pub files: Vec<RepoPath>,
    /// The same files, grouped with their number: whole directories (`dir/**`) if nothing in them
    /// is mentioned.
    groups: Vec<(String, usize)>,
    /// Those of them that define checks: the file, its kind, and the check.
    defining: Vec<(RepoPath, String, String)>,
}

/// Finds the tracked files that neither the `whenChanged…` around a check (or around a `use` of
/// one) nor a `risk` selects.
///
/// # Errors
/// Errors of git.
pub fn uncovered(contract: &Contract, git: &Git, root: &Path) -> Result<Uncovered, GitError> {
    let tracked = git.tracked()?;
    let mentioned = match_each(&mentions(contract), &ChangeSet::modified(&tracked));
    let all: Vec<(&RepoPath, bool)> = tracked.iter().zip(mentioned).collect();
    let left = all.iter().filter(|(_, mentioned)| !mentioned);
    let left: Vec<RepoPath> = left.map(|(path, _)| (*path).clone()).collect();
    Ok(Uncovered {
        tracked: all.len(),
        defining: defining(contract, root, &left),
        groups: groups(&all),
        files: left,
    })
}

/// Returns the files that define checks, each once, with the first such check.
fn defining(
    contract: &Contract,
    root: &Path,
    files: &[RepoPath],
) -> Vec<(RepoPath, String, String)> {
    let facts = called(contract, root);
    let mut found = BTreeMap::new();
    for check in contract.checks.iter() {
        let words = check.words();
        for (path, part) in parts_of(place(check, &words), &facts, files) {
            let entry = found.entry(path);
            entry.or_insert_with(|| (part, check.id.clone()));
        }
    }
    let row = |(path, (part, id))| (path, part, id);
    found.into_iter().map(row).collect()
}

fn place<'a>(check: &'a Check, words: &'a [String]) -> CommandPlace<'a> {
    CommandPlace {
        words,
        dir: &check.dir,
        tool_path: &check.tool_path,
    }
}

/// Returns the files of the work tree that files defining checks call.
fn called(contract: &Contract, root: &Path) -> Facts {
    facts::settled(root, None, MAX_FACT_ROUNDS, |known| {
        let asked = |check: &Check| questions_of(place(check, &check.words()), known);
        contract.checks.iter().flat_map(asked).collect()
    })
}

/// Returns one selection for everything that conditions in use select. An empty one selects
/// nothing.
fn mentions(contract: &Contract) -> Selection {
    let placements = contract.checks.iter().flat_map(|c| &c.placements);
    let used: BTreeSet<&ConditionIndex> = placements.flat_map(|p| &p.conditions).collect();
    let selected = |i: &ConditionIndex| match &contract.conditions[*i].test {
        Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
            Some(s)
        }
        Test::Role(_) | Test::Exists(_) | Test::ExistsAny(_) | Test::Absent(_) => None,
    };
    let conditions = used.into_iter().filter_map(selected);
    let item = |(i, selection): (usize, &Selection)| {
        let what = ItemContent::Paths {
            items: Arc::new(selection.clone()),
            name: i.to_string(),
        };
        Item { not: false, what }
    };
    let all = conditions.chain(contract.risks.iter().map(|r| &r.selection));
    Selection {
        items: all.enumerate().map(item).collect(),
    }
}

/// Returns the largest directories without a mentioned file, and the files next to them by
/// directory, each with their number.
pub fn groups(all: &[(&RepoPath, bool)]) -> Vec<(String, usize)> {
    let mut touched: BTreeSet<&[u8]> = BTreeSet::new();
    for (path, _) in all.iter().filter(|(_, mentioned)| *mentioned) {
        touched.insert(b"");
        touched.extend(above(path.as_bytes()));
    }
    let mut groups: BTreeMap<(&[u8], bool), usize> = BTreeMap::new();
    for (path, _) in all.iter().filter(|(_, mentioned)| !mentioned) {
        let bytes = path.as_bytes();
        let whole = std::iter::once(&b""[..])
            .chain(above(bytes))
            .find(|dir| !touched.contains(dir));
        let group = match whole {
            Some(dir) => (dir, true),
            None => (above(bytes).last().unwrap_or(b""), false),
        };
        *groups.entry(group).or_default() += 1;
    }
    let shown = |dir: &[u8], whole: bool| {
        let dir = vplan_base::word::visible(dir);
        match (dir.is_empty(), whole) {
            (true, true) => "**".to_owned(),
            (true, false) => "*".to_owned(),
            (false, true) => format!("{dir}/**"),
            (false, false) => format!("{dir}/*"),
        }
    };
    let groups = groups.into_iter();
    let groups = groups.map(|((dir, whole), count)| (shown(dir, whole), count));
    let mut groups: Vec<(String, usize)> = groups.collect();
    // Largest groups first: a condition is most likely missing there.
    groups.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    groups
}

/// Returns the directories above a path, outermost first, without the root.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter()
        .enumerate()
        .filter(|(_, b)| **b == b'/')
        .filter_map(|(i, _)| path.get(..i))
}

impl Uncovered {
    /// Makes the warning, if there are such files.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        if self.files.is_empty() {
            return None;
        }
        let line = |(dir, number): &(String, usize)| format!("{dir} ({})", count(*number, "file"));
        let mut lines: Vec<String> = self.groups.iter().take(GROUPS).map(line).collect();
        let more = self.groups.len().saturating_sub(GROUPS);
        if more > 0 {
            let rest = self.groups.iter().skip(GROUPS);
            let rest: usize = rest.map(|(_, count)| count).sum();
            lines.push(format!("and {more} more ({})", count(rest, "file")));
        }
        let (left, all) = (self.files.len(), self.tracked);
        let message = format!("no condition mentions {left} of the {all} tracked files");
        Some(Diagnostic::warning(UNCOVERED, message).help(lines.join(", ")))
    }

    /// Makes the warning about files that define checks, if no condition mentions some of them.
    pub fn defining(&self) -> Option<Diagnostic> {
        if self.defining.is_empty() {
            return None;
        }
        let line = |(path, part, id): &(RepoPath, String, String)| {
            let path = vplan_base::word::visible(path.as_bytes());
            format!("{path} ({part}; {id})")
        };
        let mut lines: Vec<String> = self.defining.iter().take(GROUPS).map(line).collect();
        let more = self.defining.len().saturating_sub(GROUPS);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        let number = self.defining.len();
        let message =
            format!("of the files that decide what checks do no condition mentions {number}");
        Some(Diagnostic::warning(UNCOVERED, message).help(lines.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_directories_are_one_group() {
        let path = |text: &str| RepoPath::parse(text.as_bytes()).unwrap();
        let paths = ["a", "b/c/x", "b/c/y", "b/d", "e/f/x", "e/g/y", "z"].map(path);
        let of = |mentioned: &[&str]| {
            let all: Vec<(&RepoPath, bool)> = paths
                .iter()
                .map(|p| (p, mentioned.contains(&p.to_string().as_str())))
                .collect();
            groups(&all)
                .iter()
                .map(|(dir, count)| format!("{dir} {count}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(of(&[]), "** 7");
        assert_eq!(of(&["a"]), "b/** 3, e/** 2, * 1");
        assert_eq!(of(&["a", "b/d", "e/f/x", "z"]), "b/c/** 2, e/g/** 1");
        assert_eq!(of(&["a", "b/c/x", "e/f/x", "e/g/y"]), "* 1, b/* 1, b/c/* 1");
    }

    #[test]
    fn the_list_is_bounded() {
        let many = Uncovered {
            tracked: 90,
            files: vec![RepoPath::root(); 60],
            groups: (0..60).map(|i| (format!("d{i}/**"), 1)).collect(),
            defining: Vec::new(),
        };
        let help = many.diagnostic().unwrap().help.unwrap();
        assert!(
            help.starts_with("d0/** (1 file), d1/** (1 file)")
                && help.ends_with("d19/** (1 file), and 40 more (40 files)"),
            "{help}"
        );
        assert!(Uncovered::default().diagnostic().is_none());
    }
}
