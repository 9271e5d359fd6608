//! GitLab's configuration: the files that include each other. What a job extends and what `!reference`
//! names is looked up where it is, so that each text keeps its place.

use crate::sink::Sink;
use crate::tree::{DataFile, Keys, RepositoryTree, scalar, scalars};
use crate::words::is_listed;
use std::collections::BTreeSet;
use std::slice;
use vplan_base::path::RepoPath;
use vplan_front::tree::{TreeKey, TreeNode, TreeValue};

/// The tag of a reference, as a key (see [`Tree::read_into`]).
const REFERENCE: &str = "!reference";
/// The most files that include each other.
const MAX_FILES: usize = 150;
/// The most jobs that one extends.
const MAX_EXTENDED: usize = 100;
/// The deepest nesting of references, and the most values of a list with those that it refers to.
const MAX_DEPTH: usize = 11;
const MAX_VALUES: usize = 10_000;

/// All files of a configuration.
#[derive(Debug, Default)]
pub(super) struct Config {
    seen: BTreeSet<RepoPath>,
    pub(super) data: DataFile,
    /// What the files say; an earlier one holds over those after it.
    roots: Vec<TreeNode>,
}

/// A job and what it extends; an earlier mapping holds over those after it.
pub(super) struct Job<'c>(Vec<&'c TreeNode>);

impl Job<'_> {
    /// What it and all that it extends have under a key, the last to hold first.
    pub(super) fn all(&self, key: &str) -> impl Iterator<Item = &TreeNode> {
        self.0.iter().filter_map(move |node| node.get(key))
    }
}

impl Keys for Job<'_> {
    fn at(&self, keys: &str) -> Option<&TreeNode> {
        self.0.iter().find_map(|node| node.at(keys))
    }
}

impl Config {
    /// Reads a file, and then what it includes from the repository.
    pub(super) fn add(&mut self, tree: &RepositoryTree, file: &RepoPath, sink: &mut Sink) {
        if self.seen.len() >= MAX_FILES || !self.seen.insert(file.clone()) {
            return;
        }
        let read = tree.read_into(&mut self.data, file);
        let Some(root) = sink.out.noted(file, read) else {
            return;
        };
        let mut files = Vec::new();
        for item in flat(root.get("include")) {
            let path = scalar(item.get("local").unwrap_or(item));
            let before = files.len();
            files.extend(tree.matching(&[path.trim_start_matches('/')]).cloned());
            if files.len() == before {
                let named = item.entries().first().map_or(item, |(_, node)| node);
                let part = Some(format!("include `{}`", scalars(named).join(", ")));
                let place = self.data.place(item.place);
                sink.out.skip(place, part, "it is not in the repository");
            }
        }
        self.roots.push(root);
        for file in files.iter().rev() {
            self.add(tree, file, sink);
        }
    }

    /// The jobs, in the order in which they are included.
    pub(super) fn jobs(&self) -> Vec<(&TreeKey, Job<'_>)> {
        let mut names = BTreeSet::new();
        let is_job = |(key, node): &&(TreeKey, TreeNode)| {
            let named = !key.name.starts_with('.') && !is_listed("gitlab", &key.name);
            named && matches!(node.value, TreeValue::Map(_))
        };
        let all = self.roots.iter().rev().flat_map(TreeNode::entries);
        let jobs = all
            .filter(is_job)
            .filter(|(key, _)| names.insert(&key.name));
        jobs.map(|(key, _)| (key, self.job(&key.name))).collect()
    }

    /// A job, what it extends last before the others.
    fn job(&self, name: &str) -> Job<'_> {
        let mut all: Vec<&TreeNode> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut left = vec![name.to_owned()];
        while let Some(name) = left.pop().filter(|_| seen.len() < MAX_EXTENDED) {
            if seen.insert(name.clone()) {
                let own: Vec<&TreeNode> = self.tops(&name).collect();
                let extended = own.iter().find_map(|node| node.get("extends"));
                left.extend(extended.into_iter().flat_map(scalars));
                all.extend(own);
            }
        }
        Job(all)
    }

    /// What files have under a key of the top level.
    pub(super) fn tops(&self, key: &str) -> impl Iterator<Item = &TreeNode> {
        self.roots.iter().filter_map(move |root| root.get(key))
    }

    /// The items of lists in lists, or a single value, with the references in them put in.
    pub(super) fn values<'c>(&'c self, node: Option<&'c TreeNode>) -> Vec<&'c TreeNode> {
        flattened(&self.roots, node)
    }
}

/// The items of lists in lists, or a single value.
pub(super) fn flat(node: Option<&TreeNode>) -> Vec<&TreeNode> {
    flattened(&[], node)
}

fn flattened<'c>(roots: &'c [TreeNode], node: Option<&'c TreeNode>) -> Vec<&'c TreeNode> {
    let mut out = Vec::new();
    // The lists that are read, each with the number of references that lead to it.
    let first = node.map(|node| (slice::from_ref(node).iter(), 0));
    let mut lists: Vec<_> = first.into_iter().collect();
    for _ in 0..MAX_VALUES {
        let Some((items, depth)) = lists.last_mut() else {
            break;
        };
        let (next, depth) = (items.next(), *depth);
        match next.map(|node| (node, &node.value, node.get(REFERENCE))) {
            None => drop(lists.pop()),
            Some((_, TreeValue::List(items), _)) => lists.push((items.iter(), depth)),
            Some((_, _, Some(keys))) if depth < MAX_DEPTH => {
                let keys = scalars(keys);
                let step = |node: &'c TreeNode, key: &String| node.get(key);
                let at = |root: &'c TreeNode| keys.iter().try_fold(root, step);
                let found = roots.iter().find_map(at).filter(|_| !keys.is_empty());
                lists.extend(found.map(|found| (slice::from_ref(found).iter(), depth + 1)));
            }
            Some((_, TreeValue::Null, _) | (_, _, Some(_))) => {}
            Some((node, ..)) => out.push(node),
        }
    }
    out
}
