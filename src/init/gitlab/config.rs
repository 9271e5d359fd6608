//! GitLab's configuration as one value: included files, `extends` and `!reference` put in. Each text
//! keeps its place.

use crate::found::Place;
use crate::listed::listed;
use crate::sink::Sink;
use crate::tree::{DataFile, Tree, scalar};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_front::tree::{Key, Node, Value};

/// The tag of a reference, as a key (see [`Tree::read_into`]).
const REFERENCE: &str = "!reference";
/// The most files that include each other.
const MAX_FILES: usize = 150;
/// The deepest nesting of references and inheritance.
const MAX_DEPTH: usize = 11;
/// The most values that inheritance and references copy.
const MAX_COPIED: usize = 300_000;

pub(super) type MapEntry = (Key, Node);

/// The items of lists in lists; of anything else itself.
pub(super) fn flat(node: &Node) -> Vec<&Node> {
    match &node.value {
        Value::List(items) => items.iter().flat_map(flat).collect(),
        Value::Null => Vec::new(),
        _ => vec![node],
    }
}

/// The texts of lists in lists, or of a scalar.
pub(super) fn texts(node: Option<&Node>) -> Vec<String> {
    let all = node.map(flat).unwrap_or_default().into_iter();
    all.filter(|node| is_scalar(node)).map(scalar).collect()
}

pub(super) fn is_scalar(node: &Node) -> bool {
    !matches!(node.value, Value::Null | Value::List(_) | Value::Map(_))
}

fn size(node: &Node) -> usize {
    let items = node.list().iter();
    let below = items.chain(node.entries().iter().map(|(_, node)| node));
    1 + below.map(size).sum::<usize>()
}

/// Puts entries over others: mappings are merged, all else is replaced.
fn over(base: &mut Vec<MapEntry>, upper: Vec<MapEntry>) {
    for (key, node) in upper {
        match base.iter_mut().find(|(own, _)| own.name == key.name) {
            Some(own) => {
                own.0 = key;
                own.1.place = node.place;
                match (&mut own.1.value, node.value) {
                    (Value::Map(below), Value::Map(above)) => over(below, above),
                    (own, value) => *own = value,
                }
            }
            None => base.push((key, node)),
        }
    }
}

/// All files of a configuration together.
#[derive(Debug, Default)]
pub(super) struct Config {
    seen: Vec<RepoPath>,
    pub(super) data: DataFile,
}

impl Config {
    /// Reads a configuration with what it includes from the repository.
    pub(super) fn read(tree: &Tree, file: &RepoPath, sink: &mut Sink) -> Self {
        let mut config = Self::default();
        config.data.root.value = Value::Map(config.file(tree, file, sink));
        config
    }

    fn file(&mut self, tree: &Tree, file: &RepoPath, sink: &mut Sink) -> Vec<MapEntry> {
        if self.seen.contains(file) || self.seen.len() >= MAX_FILES {
            return Vec::new();
        }
        self.seen.push(file.clone());
        let own = match tree.read_into(&mut self.data, file) {
            Ok(root) => root,
            Err(why) => {
                sink.not_read(Place::of(file, 1), None, why);
                return Vec::new();
            }
        };
        let mut all = Vec::new();
        let include = own.entries().iter().find(|(key, _)| key.name == "include");
        let at = include.map_or(own.place, |(key, _)| key.place);
        for item in include.map(|(_, list)| flat(list)).unwrap_or_default() {
            let local = item.get("local").unwrap_or(item);
            let path = scalar(local);
            if !is_scalar(local) || path.contains("://") {
                let mut keys = ["project", "remote", "template", "component"].iter();
                let named = keys.find_map(|key| item.get(key)).unwrap_or(item);
                let named = texts(Some(named)).into_iter().next();
                let named = named.unwrap_or_else(|| "an artifact".to_owned());
                let part = Some(format!("include `{named}`"));
                let why = "it is not in the repository";
                sink.not_read(self.data.place(at), part, why);
                continue;
            }
            let files = local_files(tree, &path);
            if files.is_empty() {
                let why = format!("`{path}` is not in the repository");
                sink.not_read(self.data.place(at), None, why);
            }
            for file in files {
                let included = self.file(tree, &file, sink);
                over(&mut all, included);
            }
        }
        if let Value::Map(own) = own.value {
            over(&mut all, own);
        }
        all
    }

    pub(super) fn top(&self, key: &str) -> Option<&Node> {
        self.data.root.get(key)
    }

    /// The jobs, with what they extend.
    pub(super) fn jobs(&self, keywords: &str) -> Vec<MapEntry> {
        let mut left = MAX_COPIED;
        let is_job = |(key, node): &&MapEntry| {
            let named = !key.name.starts_with('.') && !listed(keywords, &key.name);
            named && matches!(node.value, Value::Map(_))
        };
        let jobs = self.data.root.entries().iter().filter(is_job);
        let extended = jobs.map(|(key, node)| {
            let value = Value::Map(self.extended(node, 0, &mut left));
            (key.clone(), Node { value, ..*node })
        });
        extended.collect()
    }

    fn extended(&self, job: &Node, depth: usize, left: &mut usize) -> Vec<MapEntry> {
        let mut all = Vec::new();
        let size = size(job);
        if depth > MAX_DEPTH || size > *left {
            return all;
        }
        *left -= size;
        for name in texts(job.get("extends")) {
            if let Some(base) = self.top(&name) {
                over(&mut all, self.extended(base, depth + 1, left));
            }
        }
        over(&mut all, job.entries().to_vec());
        all
    }

    /// A value with the references in its lists put in.
    pub(super) fn resolved(&self, node: &Node) -> Node {
        self.resolve(node, 0, &mut MAX_COPIED.clone())
    }

    fn resolve(&self, node: &Node, depth: usize, left: &mut usize) -> Node {
        if depth > MAX_DEPTH || *left == 0 {
            return Node::default();
        }
        *left -= 1;
        match (&node.value, node.get(REFERENCE)) {
            (Value::List(items), _) => {
                let items = items.iter().map(|item| self.resolve(item, depth, left));
                let value = Value::List(items.collect());
                Node { value, ..*node }
            }
            (_, Some(keys)) => {
                let keys = texts(Some(keys));
                let found = keys
                    .iter()
                    .try_fold(&self.data.root, |node, key| node.get(key));
                let found = found.filter(|_| !keys.is_empty());
                found.map_or_else(Node::default, |found| self.resolve(found, depth + 1, left))
            }
            _ => node.clone(),
        }
    }
}

/// The files that a local include names.
fn local_files(tree: &Tree, path: &str) -> Vec<RepoPath> {
    let path = path.trim_start_matches('/');
    if path.contains('*') && Glob::parse(path).is_ok() {
        return tree.matching(&[path]).cloned().collect();
    }
    let file = RepoPath::parse(path.as_bytes()).ok();
    file.filter(|file| tree.files.contains(file))
        .into_iter()
        .collect()
}
