//! GitLab's configuration as one value: included files, `extends` and `!reference` put in. Each text
//! keeps its file and line.

use crate::found::Place;
use crate::github::value::text_of;
use crate::listed::listed;
use crate::sink::Sink;
use crate::tree::{DataFile, Syntax, Tree};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_front::tree::{Node, Value};

/// The tag of a reference, as a key (see [`Syntax::YamlMerged`]).
const REFERENCE: &str = "!reference";
/// The most files that include each other.
const MAX_FILES: usize = 150;
/// The deepest nesting of references and inheritance.
const MAX_DEPTH: usize = 11;
/// The most values that inheritance and references copy.
const MAX_COPIED: usize = 300_000;

/// A file by its index, and a line.
pub(super) type At = (usize, u32);

#[derive(Clone, Debug)]
pub(super) enum Item {
    Null,
    Text(String, At),
    List(Vec<Item>),
    Map(Vec<ItemEntry>),
}

#[derive(Clone, Debug)]
pub(super) struct ItemEntry {
    pub(super) key: String,
    pub(super) at: At,
    pub(super) value: Item,
}

impl Item {
    fn of(doc: &DataFile, file: usize, node: &Node) -> Self {
        match &node.value {
            Value::Null => Item::Null,
            Value::List(items) => {
                Item::List(items.iter().map(|item| Item::of(doc, file, item)).collect())
            }
            Value::Map(entries) => {
                let entry = |(key, node): &(vplan_front::tree::Key, Node)| ItemEntry {
                    key: key.name.clone(),
                    at: (file, doc.line_of(key.place)),
                    value: Item::of(doc, file, node),
                };
                Item::Map(entries.iter().map(entry).collect())
            }
            _ => Item::Text(text_of(doc, node), (file, doc.text_line(node))),
        }
    }

    pub(super) fn entries(&self) -> &[ItemEntry] {
        match self {
            Item::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Item> {
        self.entries()
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.value)
    }

    /// The items of lists in lists; of anything else itself.
    pub(super) fn flat(&self) -> Vec<&Item> {
        match self {
            Item::List(items) => items.iter().flat_map(Item::flat).collect(),
            Item::Null => Vec::new(),
            other => vec![other],
        }
    }

    /// The texts of lists in lists, or of a scalar.
    pub(super) fn texts(&self) -> Vec<(String, At)> {
        let text = |item: &Item| match item {
            Item::Text(text, at) => Some((text.clone(), *at)),
            _ => None,
        };
        self.flat().into_iter().filter_map(text).collect()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self, Item::Text(own, _) if own == text)
    }

    fn size(&self) -> usize {
        1 + match self {
            Item::Null | Item::Text(..) => 0,
            Item::List(items) => items.iter().map(Item::size).sum(),
            Item::Map(entries) => entries.iter().map(|entry| entry.value.size()).sum(),
        }
    }
}

/// Puts entries over others: mappings are merged, all else is replaced.
fn over(base: &mut Vec<ItemEntry>, upper: Vec<ItemEntry>) {
    for entry in upper {
        match base.iter_mut().find(|own| own.key == entry.key) {
            Some(own) => {
                own.at = entry.at;
                match (&mut own.value, entry.value) {
                    (Item::Map(below), Item::Map(above)) => over(below, above),
                    (own, value) => *own = value,
                }
            }
            None => base.push(entry),
        }
    }
}

/// All files of a configuration together.
#[derive(Debug, Default)]
pub(super) struct Config {
    files: Vec<RepoPath>,
    top: Vec<ItemEntry>,
}

impl Config {
    /// Reads a configuration with what it includes from the repository.
    pub(super) fn read(tree: &Tree, file: &RepoPath, sink: &mut Sink) -> Self {
        let mut config = Self::default();
        config.top = config.file(tree, file, sink);
        config
    }

    fn file(&mut self, tree: &Tree, file: &RepoPath, sink: &mut Sink) -> Vec<ItemEntry> {
        if self.files.contains(file) || self.files.len() >= MAX_FILES {
            return Vec::new();
        }
        let index = self.files.len();
        self.files.push(file.clone());
        let doc = match tree.read(file, Syntax::YamlMerged) {
            Ok(doc) => doc,
            Err(why) => {
                sink.not_read(self.place((index, 1)), None, why);
                return Vec::new();
            }
        };
        let Item::Map(own) = Item::of(&doc, index, &doc.root) else {
            return Vec::new();
        };
        let include = own.iter().find(|entry| entry.key == "include");
        let mut all = Vec::new();
        for item in include.map(|entry| entry.value.flat()).unwrap_or_default() {
            let local = item.get("local").unwrap_or(item);
            let at = include.map_or((index, 1), |entry| entry.at);
            match local {
                Item::Text(path, _) if !path.contains("://") => {
                    for file in local_files(tree, path) {
                        let included = self.file(tree, &file, sink);
                        over(&mut all, included);
                    }
                    if local_files(tree, path).is_empty() {
                        sink.not_read(
                            self.place(at),
                            None,
                            format!("`{path}` is not in the repository"),
                        );
                    }
                }
                _ => {
                    let shown = ["project", "remote", "template", "component"];
                    let shown = shown.iter().find_map(|key| item.get(key)).unwrap_or(item);
                    let shown = shown.texts().into_iter().map(|(text, _)| text).next();
                    let shown = shown.unwrap_or_else(|| "an artifact".to_owned());
                    sink.not_read(
                        self.place(at),
                        Some(format!("include `{shown}`")),
                        "it is not in the repository",
                    );
                }
            }
        }
        over(&mut all, own);
        all
    }

    pub(super) fn place(&self, (file, line): At) -> Place {
        let file = self.files.get(file).cloned().unwrap_or_default();
        Place { file, line }
    }

    pub(super) fn top(&self, key: &str) -> Option<&Item> {
        self.top
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.value)
    }

    /// The jobs, with what they extend.
    pub(super) fn jobs(&self, keywords: &str) -> Vec<ItemEntry> {
        let mut left = MAX_COPIED;
        let is_job = |entry: &&ItemEntry| {
            let named = !entry.key.starts_with('.') && !listed(keywords, &entry.key);
            named && matches!(entry.value, Item::Map(_))
        };
        let jobs = self.top.iter().filter(is_job);
        let extended = jobs.map(|entry| ItemEntry {
            value: Item::Map(self.extended(&entry.value, 0, &mut left)),
            ..entry.clone()
        });
        extended.collect()
    }

    fn extended(&self, job: &Item, depth: usize, left: &mut usize) -> Vec<ItemEntry> {
        let mut all = Vec::new();
        let size = job.size();
        if depth > MAX_DEPTH || size > *left {
            return all;
        }
        *left -= size;
        for (name, _) in job.get("extends").map(Item::texts).unwrap_or_default() {
            if let Some(base) = self.top(&name) {
                over(&mut all, self.extended(base, depth + 1, left));
            }
        }
        over(&mut all, job.entries().to_vec());
        all
    }

    /// A value with the references in its lists put in.
    pub(super) fn resolved(&self, item: &Item) -> Item {
        self.resolve(item, 0, &mut MAX_COPIED.clone())
    }

    fn resolve(&self, item: &Item, depth: usize, left: &mut usize) -> Item {
        if depth > MAX_DEPTH || *left == 0 {
            return Item::Null;
        }
        *left -= 1;
        match item {
            Item::List(items) => {
                Item::List(items.iter().map(|i| self.resolve(i, depth, left)).collect())
            }
            Item::Map(_) => match item.get(REFERENCE) {
                Some(keys) => {
                    let keys: Vec<String> = keys.texts().into_iter().map(|(key, _)| key).collect();
                    let (first, rest) = keys
                        .split_first()
                        .map_or((None, &[][..]), |(f, r)| (self.top(f), r));
                    let target = rest.iter().fold(first, |item, key| item?.get(key));
                    target.map_or(Item::Null, |target| self.resolve(target, depth + 1, left))
                }
                None => item.clone(),
            },
            other => other.clone(),
        }
    }
}

/// The files that a local include names.
fn local_files(tree: &Tree, path: &str) -> Vec<RepoPath> {
    let path = path.trim_start_matches('/');
    match Glob::parse(path) {
        Ok(glob) if path.contains('*') => tree
            .files
            .iter()
            .filter(|file| glob.matches(file))
            .cloned()
            .collect(),
        _ => {
            let file = RepoPath::parse(path.as_bytes()).ok();
            file.filter(|file| tree.files.contains(file))
                .into_iter()
                .collect()
        }
    }
}
