//! The files of a try as a tree of digests.

use prost::Message as _;
use std::collections::BTreeMap;
use vplan_base::canon;
use vplan_base::path::RepoPath;
use vplan_store::grpc::messages::{Directory, FileNode, Pair, ReapiDigest};

/// The name of a content: its digest, and its size in bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ContentName {
    digest: canon::Digest,
    size: u64,
}

impl ContentName {
    /// Returns that of these bytes.
    pub fn hash(bytes: &[u8]) -> Self {
        Self::new(canon::Digest::hash(bytes), bytes.len() as u64)
    }

    /// Makes it.
    pub fn new(digest: canon::Digest, size: u64) -> Self {
        Self { digest, size }
    }
}

impl From<&ContentName> for ReapiDigest {
    fn from(name: &ContentName) -> Self {
        Self {
            hash: name.digest.hex(),
            size_bytes: i64::try_from(name.size).unwrap_or(i64::MAX),
        }
    }
}

/// The entry at a path of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TreeEntry {
    /// With this content.
    File {
        content: ContentName,
        is_executable: bool,
    },
    /// A symlink that leads there.
    Link(String),
    /// An empty folder.
    Folder,
}

/// A tree: its root, and all its folders by their digests.
#[derive(Debug)]
pub(super) struct Tree {
    /// The digest of the root.
    pub root: ContentName,
    pub folders: Folders,
}

/// Encoded folders, by content name.
#[derive(Debug, Default)]
pub(super) struct Folders(pub BTreeMap<ContentName, Vec<u8>>);

/// A folder whose content is not complete yet.
#[derive(Default)]
struct OpenFolder {
    name: String,
    content: Directory,
}

impl Tree {
    /// Makes the tree of these entries. Each path occurs once, and no entry is below another one.
    pub fn from_entries(mut entries: Vec<(RepoPath, TreeEntry)>) -> Self {
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut all = Folders::default();
        // The root, and the folders down to that of the previous file. The content of a folder is
        // contiguous, since its paths begin alike.
        let mut open = vec![OpenFolder::default()];
        for (path, entry) in entries {
            let mut folders: Vec<&[u8]> = path.segments().collect();
            let name = text(folders.pop().unwrap_or_default());
            let names = open.iter().skip(1).map(|folder| folder.name.as_bytes());
            let depth = names.zip(&folders).take_while(|(a, b)| a == *b).count();
            all.close(&mut open, depth);
            let more = folders.iter().skip(depth);
            open.extend(more.map(|name| OpenFolder {
                name: text(name),
                ..OpenFolder::default()
            }));
            if let Some(OpenFolder { content, .. }) = open.last_mut() {
                all.add_to(content, name, entry);
            }
        }
        all.close(&mut open, 0);
        let root = open.pop().unwrap_or_default();
        Self {
            root: all.add(root.content),
            folders: all,
        }
    }
}

impl Folders {
    /// Adds the folders below this depth, each to the one that it is in.
    fn close(&mut self, open: &mut Vec<OpenFolder>, depth: usize) {
        while open.len() > depth + 1
            && let Some(OpenFolder { name, content }) = open.pop()
        {
            let folder = node(name, &self.add(content), false);
            if let Some(above) = open.last_mut() {
                above.content.directories.push(folder);
            }
        }
    }

    /// Adds a folder that is complete.
    fn add(&mut self, mut folder: Directory) -> ContentName {
        // `a-b/c` sorts before `a/b`.
        folder.directories.sort_by(|a, b| a.name.cmp(&b.name));
        let bytes = folder.encode_to_vec();
        let content = ContentName::hash(&bytes);
        self.0.insert(content.clone(), bytes);
        content
    }

    fn add_to(&mut self, folder: &mut Directory, name: String, entry: TreeEntry) {
        match entry {
            TreeEntry::File {
                content,
                is_executable,
            } => folder.files.push(node(name, &content, is_executable)),
            TreeEntry::Link(value) => folder.symlinks.push(Pair { name, value }),
            TreeEntry::Folder => {
                let empty = self.add(Directory::default());
                folder.directories.push(node(name, &empty, false));
            }
        }
    }
}

fn node(name: String, content: &ContentName, is_executable: bool) -> FileNode {
    FileNode {
        name,
        digest: Some(ReapiDigest::from(content)),
        is_executable,
    }
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_have_equal_trees_whatever_their_order() {
        let path = |text: &str| RepoPath::parse(text.as_bytes()).unwrap();
        let file = |text: &str| TreeEntry::File {
            content: ContentName::hash(text.as_bytes()),
            is_executable: false,
        };
        let files = vec![
            (path("work/a"), file("1")),
            (path("work/b/c"), file("2")),
            (path("work/b-/c"), file("3")),
            (path("work/d/c"), file("2")),
            (path("work/empty"), TreeEntry::Folder),
            (path("work/l"), TreeEntry::Link("a".to_owned())),
        ];
        let tree = Tree::from_entries(files.clone());
        let turned = Tree::from_entries(files.into_iter().rev().collect());
        assert_eq!(tree.root, turned.root);
        // The root, `work`, an empty one, `b-`, and one that is there twice.
        assert_eq!(tree.folders.0.len(), 5);
        let folder = |digest: &ReapiDigest| {
            let mut folders = tree.folders.0.iter();
            let found = folders.find(|(content, _)| ReapiDigest::from(*content) == *digest);
            Directory::decode(found.unwrap().1.as_slice()).unwrap()
        };
        let root = folder(&ReapiDigest::from(&tree.root));
        let work = folder(root.directories[0].digest.as_ref().unwrap());
        let names: Vec<&str> = work.directories.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["b", "b-", "d", "empty"]);
        assert_eq!(work.directories[0].digest, work.directories[2].digest);
        let empty = work.directories[3].digest.as_ref().unwrap();
        assert_eq!(folder(empty), Directory::default());
        assert_eq!(work.symlinks[0].value, "a");
    }
}
