//! The files of a repository that say how it is verified, as read before anything is decided.

use crate::found::Place;
use crate::globs::any_of;
use crate::kinds::KINDS;
use crate::words::{is_listed, listed};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::diagnostic::Diagnostics;
use vplan_base::index::Index as _;
use vplan_base::path::RepoPath;
use vplan_base::source::{Source, Sources};
use vplan_base::span;
use vplan_front::tree::{self, TreeKey, TreeNode, TreeValue};

/// A repository: its tracked files by path, and the text of those that may declare something.
#[derive(Clone, Debug, Default)]
pub struct RepositoryTree {
    /// All tracked files.
    pub files: BTreeSet<RepoPath>,
    /// The text of configurations, manifests and scripts: at most 1 MiB each.
    pub texts: BTreeMap<RepoPath, String>,
    /// Files that would have been read, with the reason why they were not.
    pub unread: BTreeMap<RepoPath, String>,
    /// `OWNER/NAME` of the repository, from the URL of `origin`.
    pub slug: Option<String>,
    /// The default branch, as `origin/HEAD` or the current branch names it.
    pub default_branch: Option<String>,
}

/// A configuration that was read as data with places, with the files that it includes.
#[derive(Clone, Debug, Default)]
pub(crate) struct DataFile {
    pub(crate) file: RepoPath,
    pub(crate) root: TreeNode,
    /// The file of each source.
    files: Vec<RepoPath>,
    sources: Sources,
}

impl DataFile {
    /// The line of a key or a value, from 1.
    pub(crate) fn line(&self, place: span::Place) -> u32 {
        u32::try_from(self.sources.position(place).line).unwrap_or(u32::MAX)
    }

    /// The place of a key or a value.
    pub(crate) fn place(&self, place: span::Place) -> Place {
        let file = self.files.get(place.source.position());
        Place::new(file.unwrap_or(&self.file), self.line(place))
    }

    /// The place of a text scalar's own lines: a block scalar (`|`, `>`) begins on the line after its
    /// key.
    pub(crate) fn text_place(&self, node: &TreeNode) -> Place {
        let source = self.sources.get(node.place.source);
        let raw = source.map_or("", |source| source.slice(node.place.span));
        let block = raw.starts_with(['|', '>']);
        self.place(node.place).below(u32::from(block))
    }

    /// Reads a text into it. Lines of YAML inside brackets that begin too far left are moved to the
    /// right: CI systems and hook managers take what the standard does not.
    fn add(&mut self, file: &RepoPath, text: &str) -> Result<TreeNode, String> {
        let mut text = text.to_owned();
        let mut left = if text.len() > MAX_MOVABLE {
            0
        } else {
            MAX_MOVED
        };
        loop {
            let id = self.sources.add(Source::new(file.to_string(), &text));
            self.files.push(file.clone());
            let mut sink = Diagnostics::default();
            let root = match ending(file) {
                b"toml" => tree::toml(&self.sources, id, &mut sink),
                b"json" | b"jsonc" => tree::json_with_comments(&self.sources, id, &mut sink),
                _ => tree::yaml_merged(&self.sources, id, &mut sink),
            };
            let (Some(fault), None) = (sink.iter().next(), &root) else {
                return root.ok_or_else(|| "it cannot be read".to_owned());
            };
            let is_flow = FLOW.iter().any(|end| fault.message.ends_with(end));
            let label = fault.labels.first();
            let at = label.map_or(0, |label| label.place.span.start);
            let (Some(before), true) = (text.get(..at), is_flow && left > 0) else {
                return Err(fault.message.clone());
            };
            text.insert_str(before.rfind('\n').map_or(0, |end| end + 1), MARGIN);
            left -= 1;
        }
    }
}

/// How the reader of YAML says that a line inside brackets begins too far left.
const FLOW: [&str; 2] = [
    "invalid indentation",
    "invalid indentation in flow construct",
];
/// The space that is put in front of such a line, the most of them, and the longest text.
const MARGIN: &str = "                                ";
const MAX_MOVED: usize = 64;
const MAX_MOVABLE: usize = 64 << 10;

fn ending(file: &RepoPath) -> &[u8] {
    let mut parts = file.name().rsplit(|b| *b == b'.');
    parts.next().unwrap_or_default()
}

/// What a value has at a path of keys, separated by dots; empty where it has nothing of that kind.
pub(crate) trait Keys {
    fn at(&self, keys: &str) -> Option<&TreeNode>;

    fn entries_at(&self, keys: &str) -> &[(TreeKey, TreeNode)] {
        self.at(keys).map_or(&[], TreeNode::entries)
    }

    fn list_at(&self, keys: &str) -> &[TreeNode] {
        self.at(keys).map_or(&[], TreeNode::list)
    }

    fn text_at(&self, keys: &str) -> Option<&str> {
        self.at(keys)?.text()
    }

    /// The text of a scalar.
    fn scalar_at(&self, keys: &str) -> String {
        self.at(keys).map(scalar).unwrap_or_default()
    }

    /// The texts of a list, or of one scalar.
    fn scalars_at(&self, keys: &str) -> Vec<String> {
        self.at(keys).map(scalars).unwrap_or_default()
    }
}

impl Keys for TreeNode {
    fn at(&self, keys: &str) -> Option<&TreeNode> {
        keys.split('.').try_fold(self, |node, key| node.get(key))
    }
}

impl Keys for Option<&TreeNode> {
    fn at(&self, keys: &str) -> Option<&TreeNode> {
        self.as_ref()?.at(keys)
    }
}

/// The text of a scalar as CI systems read it; empty for lists and mappings.
pub(crate) fn scalar(node: &TreeNode) -> String {
    match &node.value {
        TreeValue::Text(text) => text.clone(),
        TreeValue::Bool(yes) => yes.to_string(),
        TreeValue::Whole(n) => n.to_string(),
        TreeValue::Other(raw) => raw
            .parse()
            .map_or_else(|_| raw.clone(), |n: f64| n.to_string()),
        TreeValue::Null | TreeValue::List(_) | TreeValue::Map(_) => String::new(),
    }
}

/// The texts of a list, of lists in it, or of one scalar.
pub(crate) fn scalars(node: &TreeNode) -> Vec<String> {
    match &node.value {
        TreeValue::Null | TreeValue::Map(_) => Vec::new(),
        TreeValue::List(items) => items.iter().flat_map(scalars).collect(),
        _ => vec![scalar(node)],
    }
}

impl RepositoryTree {
    /// Makes a repository of these files, by name and text.
    #[cfg(test)]
    pub(crate) fn from_files(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (name, text) in files {
            let path = RepoPath::parse(name.as_bytes()).unwrap();
            tree.files.insert(path.clone());
            tree.texts.insert(path, (*text).to_owned());
        }
        tree
    }

    /// Whether git tracks a file of a directory.
    pub fn has(&self, dir: &RepoPath, name: &str) -> bool {
        let path = dir.join(name.as_bytes());
        path.is_ok_and(|path| self.files.contains(&path))
    }

    /// Those of the files named by words of a text that git tracks.
    pub(crate) fn present(&self, names: &str) -> Vec<RepoPath> {
        let files = names.split_whitespace().map(str::as_bytes);
        let files = files.filter_map(RepoPath::from_exact);
        files.filter(|file| self.files.contains(file)).collect()
    }

    /// The tracked files that a glob matches.
    pub(crate) fn matching(&self, globs: &[impl AsRef<str>]) -> impl Iterator<Item = &RepoPath> {
        let is_one = any_of(globs);
        self.files.iter().filter(move |file| is_one(file))
    }

    /// Whether git tracks a file below a directory.
    pub fn has_folder(&self, dir: &RepoPath) -> bool {
        dir.is_root() || self.files.iter().any(|file| file.below(dir).is_some())
    }

    /// The text of a file that was read.
    ///
    /// # Errors
    /// Why it was not.
    pub fn source(&self, file: &RepoPath) -> Result<&str, String> {
        let why = || self.unread.get(file).cloned();
        let text = self.texts.get(file).map(String::as_str);
        text.ok_or_else(|| why().unwrap_or_else(|| "it is not there".to_owned()))
    }

    /// Reads a file as data. The error is one line for people.
    pub(crate) fn read(&self, file: &RepoPath) -> Result<DataFile, String> {
        let mut data = DataFile {
            file: file.clone(),
            ..DataFile::default()
        };
        data.root = self.read_into(&mut data, file)?;
        Ok(data)
    }

    /// What a file `NAME` of a directory, or a part `NAME:KEYS` of it, has.
    pub(crate) fn part(&self, dir: &RepoPath, part: &str) -> Option<TreeNode> {
        let (name, keys) = part.split_once(':').unwrap_or((part, ""));
        let root = self.read(&dir.join(name.as_bytes()).ok()?).ok()?.root;
        let keys = keys.split(' ').filter(|keys| !keys.is_empty());
        keys.into_iter()
            .try_fold(root, |node, keys| node.at(keys).cloned())
    }

    /// Reads another file into a configuration: JSON with comments or TOML by its name, else YAML with
    /// merge keys (`<<`) and tags (`!reference`), where a tagged value is a mapping whose only key is
    /// the tag.
    pub(crate) fn read_into(
        &self,
        data: &mut DataFile,
        file: &RepoPath,
    ) -> Result<TreeNode, String> {
        data.add(file, self.source(file)?)
    }
}

/// The depth below which no manifest is read, in directories.
const MAX_DEPTH: usize = 6;

fn name_of(file: &RepoPath) -> &str {
    std::str::from_utf8(file.name()).unwrap_or_default()
}

/// Whether a tracked file may declare something, and is read.
pub fn may_declare(file: &RepoPath) -> bool {
    let (Ok(path), name) = (std::str::from_utf8(file.as_bytes()), name_of(file)) else {
        return false;
    };
    let mut folders: Vec<&str> = path.split('/').collect();
    folders.pop();
    if folders.len() > MAX_DEPTH || folders.iter().any(|f| is_listed("vendored", f)) {
        return false;
    }
    let is_own = |known: &str| known == name || known == path;
    is_listed("declaring", name)
        || is_listed("declaring", path)
        || KINDS.iter().flat_map(|kind| kind.files()).any(is_own)
}

/// Whether a tracked file may be a script whose tools say what it does.
pub fn is_script(file: &RepoPath) -> bool {
    const FOLDERS: &str = "bin build ci .ci dev .github hack script scripts tools";
    let folder = file.folder();
    let is_named = |ending: &[u8]| file.name().ends_with(ending);
    let in_folder = std::str::from_utf8(folder.name()).is_ok_and(|name| listed(FOLDERS, name));
    let is_own = in_folder || file.name() == b"install";
    is_named(b".sh") || is_named(b".bash") || is_own && !file.name().contains(&b'.')
}

/// Whether a tracked file is prose by its name: documentation or a licence.
pub fn is_prose(file: &RepoPath) -> bool {
    const PLAIN: &str = "LICENSE* LICENCE* COPYING* NOTICE* AUTHORS* CHANGELOG CHANGES NEWS";
    const ABOUT: &str =
        ".all-contributorsrc .git-blame-ignore-revs .mailmap .zenodo.json codemeta.json";
    let name = name_of(file);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "txt"));
    listed("md markdown rst adoc rdoc cff", ending)
        || listed(ABOUT, name)
        || ending == "txt" && listed(PLAIN, &stem.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_of_a_number_is_that_number() {
        let tree = RepositoryTree::from_files(&[("a.yml", "a: &v 3.50\nb: *v\nc: [*v, x]\n")]);
        let root = tree.read(&RepoPath::parse(b"a.yml").unwrap()).unwrap().root;
        assert_eq!(root.scalar_at("b"), "3.5");
        assert_eq!(root.scalars_at("c"), ["3.5", "x"]);
    }

    #[test]
    fn brackets_may_close_below_their_key() {
        let list = "m:\n  os: [\n    \"a\",\n  # one\n  b,\n  ]\n  x: 1\n";
        let map = "- on: {\n  push: {},\n}\n- b\n";
        let tree = RepositoryTree::from_files(&[
            ("a.yml", list),
            ("b.yml", map),
            ("c.yml", "a: 'b\n c: 1"),
        ]);
        let read = |name: &str| tree.read(&RepoPath::parse(name.as_bytes()).unwrap());
        let root = read("a.yml").unwrap().root;
        assert_eq!(root.scalars_at("m.os"), ["a", "b"]);
        assert_eq!(root.scalar_at("m.x"), "1");
        let data = read("b.yml").unwrap();
        let second = data.root.list().last().unwrap();
        assert_eq!(
            (scalar(second), data.line(second.place)),
            ("b".to_owned(), 4)
        );
        assert!(read("c.yml").is_err());
    }

    #[test]
    fn files_that_may_declare_something() {
        for (file, want) in [
            (".github/workflows/ci.yml", true),
            (".github/actions/setup/action.yml", true),
            ("package.json", true),
            ("mypy.ini", true),
            ("a/b/package.json", true),
            ("node_modules/x/package.json", false),
            ("vendor/x/Makefile", false),
            (".github/check.sh", false),
            ("scripts/check.sh", false),
            ("ci/jobs/test.yml", true),
            ("src/main.rs", false),
            ("a/b/c/d/e/f/g/Makefile", false),
        ] {
            assert_eq!(
                may_declare(&RepoPath::parse(file.as_bytes()).unwrap()),
                want,
                "{file}"
            );
        }
    }
}
