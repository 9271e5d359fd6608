//! GitLab's configuration as one value: files that include each other, references and inheritance
//! replaced by what they name. Each text keeps its file and line.

use crate::base::glob::Glob;
use crate::base::path::RepoPath;
use crate::declared::candidate::{Declarations, Origin, Reason};
use crate::declared::tree::{DataFile, Syntax, Tree};
use crate::front::tree::{Node, Value};
use std::collections::BTreeMap;

/// A place of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    /// The index of the file in [`Config::files`].
    pub(super) file: usize,
    /// The line, from 1.
    pub(super) line: u32,
}

/// A value of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Nothing.
    Null,
    /// A text, a number or a truth value, as text.
    Text(String, At),
    /// A sequence.
    List(Vec<Item>),
    /// A mapping, in the order of the file.
    Map(Vec<ItemEntry>),
}

/// An entry of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ItemEntry {
    pub(super) key: String,
    pub(super) at: At,
    pub(super) value: Item,
}

/// The configuration of all files together.
#[derive(Clone, Debug, Default)]
pub(super) struct Config {
    /// The files that were read.
    pub(super) files: Vec<RepoPath>,
    /// The entries of the top level.
    pub(super) top: Vec<ItemEntry>,
    /// The number of values that may still be copied.
    budget: usize,
    /// Whether more would have been copied: then nothing is known to be whole.
    exhausted: bool,
}

/// The tag of a reference, a key as [`Syntax::YamlMerged`] reads it.
const REFERENCE: &str = "!reference";
/// The most files that include each other, as GitLab has it.
const MAX_FILES: usize = 150;
/// The deepest nesting of references and of inheritance.
const MAX_DEPTH: usize = 11;
/// The most values that inheritance and references may copy.
const MAX_COPIED: usize = 1_000_000;

impl Item {
    /// The text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Item::Text(text, _) => Some(text),
            _ => None,
        }
    }

    /// The entries of a mapping; none of anything else.
    pub(super) fn entries(&self) -> &[ItemEntry] {
        match self {
            Item::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The value of a key of a mapping.
    pub(super) fn get(&self, key: &str) -> Option<&Item> {
        find(self.entries(), key)
    }

    /// All texts of a scalar or of lists in lists.
    pub(super) fn texts(&self) -> Vec<(&str, At)> {
        match self {
            Item::Text(text, at) => vec![(text, *at)],
            Item::List(items) => items.iter().flat_map(Item::texts).collect(),
            Item::Null | Item::Map(_) => Vec::new(),
        }
    }

    /// The elements of lists in lists that are no lists; of anything else itself.
    pub(super) fn flat(&self) -> Vec<&Item> {
        match self {
            Item::List(items) => items.iter().flat_map(Item::flat).collect(),
            Item::Null => Vec::new(),
            other => vec![other],
        }
    }

    /// Whether it is this truth value.
    pub(super) fn is(&self, value: bool) -> bool {
        self.text() == Some(if value { "true" } else { "false" })
    }

    fn size(&self) -> usize {
        1 + match self {
            Item::Null | Item::Text(..) => 0,
            Item::List(items) => items.iter().map(Item::size).sum(),
            Item::Map(entries) => entries.iter().map(|e| e.value.size()).sum(),
        }
    }
}

/// The value of a key.
pub(super) fn find<'e>(entries: &'e [ItemEntry], key: &str) -> Option<&'e Item> {
    entries.iter().find(|e| e.key == key).map(|e| &e.value)
}

/// Puts entries over others: mappings are merged, everything else is replaced.
pub(super) fn over(base: &mut Vec<ItemEntry>, upper: Vec<ItemEntry>) {
    for entry in upper {
        match base.iter_mut().find(|e| e.key == entry.key) {
            Some(there) => {
                there.at = entry.at;
                match (&mut there.value, entry.value) {
                    (Item::Map(below), Item::Map(above)) => over(below, above),
                    (there, value) => *there = value,
                }
            }
            None => base.push(entry),
        }
    }
}

impl Config {
    /// Reads a configuration and what it includes from the repository. What is included from
    /// elsewhere is named as not read.
    pub(super) fn load(tree: &Tree, root: &RepoPath, found: &mut Declarations) -> Option<Self> {
        let mut config = Self {
            budget: MAX_COPIED,
            ..Self::default()
        };
        let origin = |line: u32, file: &RepoPath| Origin {
            file: file.clone(),
            line,
            label: String::new(),
        };
        let top = match config.file(tree, root, &BTreeMap::new(), found) {
            Ok(top) => top,
            Err(why) => {
                found.skip(origin(1, root), format!("`{root}`"), Reason::NotRead, why);
                return None;
            }
        };
        config.top = top;
        config.resolve_references();
        Some(config)
    }

    /// Reads a file, and below it what it includes.
    fn file(
        &mut self,
        tree: &Tree,
        path: &RepoPath,
        inputs: &BTreeMap<String, String>,
        found: &mut Declarations,
    ) -> Result<Vec<ItemEntry>, String> {
        if self.files.len() >= MAX_FILES {
            return Err(format!("more than {MAX_FILES} files include each other"));
        }
        let document = tree.read(path, Syntax::YamlMerged)?;
        let file = self.files.len();
        self.files.push(path.clone());
        let values = with_defaults(tree, path, inputs);
        let own = match of_node(&document, &document.root, file, &values) {
            Item::Map(entries) => entries,
            _ => return Err("it is no mapping".to_owned()),
        };
        let mut all = Vec::new();
        let includes = find(&own, "include").cloned();
        for include in includes.iter().flat_map(Item::flat) {
            for entries in self.include(tree, path, file, include, found) {
                over(&mut all, entries);
            }
        }
        over(&mut all, own);
        Ok(all)
    }

    fn include(
        &mut self,
        tree: &Tree,
        from: &RepoPath,
        file: usize,
        include: &Item,
        found: &mut Declarations,
    ) -> Vec<Vec<ItemEntry>> {
        let first = |item: &Item| item.texts().first().map(|(_, at)| at.line);
        let line = match include {
            Item::Map(entries) => entries.first().map(|e| e.at.line),
            other => first(other),
        };
        let origin = Origin {
            file: self.files.get(file).unwrap_or(from).clone(),
            line: line.unwrap_or(1),
            label: "include".to_owned(),
        };
        let local = match include {
            Item::Text(text, _) if !text.contains("://") => Some(text.as_str()),
            Item::Map(_) => include.get("local").and_then(Item::text),
            _ => None,
        };
        let Some(local) = local else {
            let named = ["component", "project", "template", "remote"];
            let what = named.iter().find_map(|key| {
                let value = include.get(key)?.text()?;
                Some(format!("{key} `{value}`"))
            });
            let what = what
                .or_else(|| include.text().map(|text| format!("`{text}`")))
                .unwrap_or_else(|| "an include".to_owned());
            let why = "it is not in this repository".to_owned();
            found.skip(origin, what, Reason::NotRead, why);
            return Vec::new();
        };
        let mut inputs = BTreeMap::new();
        for entry in include.get("inputs").map_or(&[][..], Item::entries) {
            if let Some(text) = entry.value.text() {
                inputs.insert(entry.key.clone(), text.to_owned());
            }
        }
        let name = local.trim_start_matches('/');
        let paths: Vec<RepoPath> = if name.contains('*') {
            Glob::parse(name).map_or_else(
                |_| Vec::new(),
                |glob| {
                    let matching = tree.files.iter().filter(|f| glob.matches(f));
                    matching.cloned().collect()
                },
            )
        } else {
            RepoPath::parse(name.as_bytes()).into_iter().collect()
        };
        let mut all = Vec::new();
        for path in paths {
            if self.files.contains(&path) && inputs.is_empty() {
                continue;
            }
            match self.file(tree, &path, &inputs, found) {
                Ok(entries) => all.push(entries),
                Err(why) => {
                    found.skip(origin.clone(), format!("`{path}`"), Reason::NotRead, why);
                }
            }
        }
        all
    }

    /// Replaces each `!reference [job, key]` by what it names.
    fn resolve_references(&mut self) {
        let whole = Item::Map(std::mem::take(&mut self.top));
        let mut resolved = whole.clone();
        self.resolve(&whole, &mut resolved, 0);
        if let Item::Map(entries) = resolved {
            self.top = entries;
        }
    }

    fn resolve(&mut self, whole: &Item, item: &mut Item, depth: usize) {
        let named = item.get(REFERENCE).map(|path| {
            let words = path.texts().into_iter();
            words.map(|(text, _)| text.to_owned()).collect::<Vec<_>>()
        });
        if let Some(path) = named {
            let target = path.iter().try_fold(whole, |at, key| at.get(key));
            *item = Item::Null;
            let Some(target) = target.filter(|_| depth < MAX_DEPTH) else {
                return;
            };
            if self.spend(target.size()).is_none() {
                return;
            }
            *item = target.clone();
            self.resolve(whole, item, depth + 1);
            return;
        }
        match item {
            Item::List(items) => {
                for inner in items {
                    self.resolve(whole, inner, depth);
                }
            }
            Item::Map(entries) => {
                for entry in entries {
                    self.resolve(whole, &mut entry.value, depth);
                }
            }
            Item::Null | Item::Text(..) => {}
        }
    }

    /// A job with all that it inherits.
    pub(super) fn job(&mut self, name: &str) -> Option<Vec<ItemEntry>> {
        let job = self.inherited(name, 0);
        job.filter(|_| !self.exhausted)
    }

    /// Takes a number of values from the budget.
    fn spend(&mut self, size: usize) -> Option<()> {
        let left = self.budget.checked_sub(size);
        self.exhausted |= left.is_none();
        self.budget = left?;
        Some(())
    }

    fn inherited(&mut self, name: &str, depth: usize) -> Option<Vec<ItemEntry>> {
        let size = find(&self.top, name)?.size();
        self.spend(size)?;
        let own = find(&self.top, name)?.entries().to_vec();
        if depth >= MAX_DEPTH {
            return Some(own);
        }
        let parents: Vec<String> = find(&own, "extends").map_or_else(Vec::new, |parents| {
            let texts = parents.texts().into_iter();
            texts.map(|(text, _)| text.to_owned()).collect()
        });
        let mut all = Vec::new();
        for parent in parents {
            if let Some(entries) = self.inherited(&parent, depth + 1) {
                over(&mut all, entries);
            }
        }
        over(&mut all, own);
        Some(all)
    }
}

/// Adds the defaults that the header of a file (`spec: inputs:`) gives.
fn with_defaults(
    tree: &Tree,
    path: &RepoPath,
    given: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut all = given.clone();
    let text = tree.texts.get(path).map_or("", String::as_str);
    let Some((header, _)) = text
        .split_once("\n---")
        .filter(|(header, _)| header.lines().any(|l| l.starts_with("spec:")))
    else {
        return all;
    };
    // `  name:` of two blanks, and `    default: value` below it.
    let mut input = None;
    for line in header.lines() {
        let depth = line.len() - line.trim_start().len();
        let Some((key, value)) = line.trim().split_once(':') else {
            continue;
        };
        match (key, depth) {
            ("spec" | "inputs", _) => {}
            ("default", _) => {
                if let Some(name) = &input {
                    let value = value.trim().trim_matches(['"', '\'']);
                    all.entry(String::clone(name))
                        .or_insert_with(|| value.to_owned());
                }
            }
            (_, 4) => input = Some(key.to_owned()),
            _ => {}
        }
    }
    all
}

/// Copies a value. Recursion is bounded: the reader refuses what nests deep.
fn of_node(
    document: &DataFile,
    node: &Node,
    file: usize,
    inputs: &BTreeMap<String, String>,
) -> Item {
    let text = |text: &str| {
        let at = At {
            file,
            line: document.text_line(node),
        };
        Item::Text(filled(text, inputs), at)
    };
    match &node.value {
        Value::Null => Item::Null,
        Value::Bool(value) => text(if *value { "true" } else { "false" }),
        Value::Whole(_) | Value::Other => text(document.raw(node)),
        Value::Text(value) => text(value),
        Value::List(nodes) => Item::List(
            nodes
                .iter()
                .map(|node| of_node(document, node, file, inputs))
                .collect(),
        ),
        Value::Map(entries) => Item::Map(
            entries
                .iter()
                .map(|(key, value)| ItemEntry {
                    key: filled(&key.name, inputs),
                    at: At {
                        file,
                        line: document.line_of(key.place),
                    },
                    value: of_node(document, value, file, inputs),
                })
                .collect(),
        ),
    }
}

/// Fills in `$[[ inputs.NAME ]]`. What has no value becomes `${{ … }}`, which no contract takes.
fn filled(text: &str, inputs: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$[[") {
        let Some((inner, tail)) = after.split_once("]]") else {
            break;
        };
        out.push_str(before);
        let name = inner.trim().strip_prefix("inputs.");
        match name.and_then(|name| inputs.get(name.trim())) {
            Some(value) => out.push_str(value),
            None => {
                out.push_str("${{");
                out.push_str(inner);
                out.push_str("}}");
            }
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}
