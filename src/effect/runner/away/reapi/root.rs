//! The files of a try as a tree of digests.

use crate::base::path::RepoPath;
use crate::effect::store::grpc::digest_of;
use crate::effect::store::grpc::messages::{
    Digest, Directory, DirectoryNode, FileNode, SymlinkNode,
};
use prost::Message as _;
use std::collections::BTreeMap;

/// A file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TreeEntry {
    /// With this content.
    File { digest: Digest, is_executable: bool },
    /// That leads there.
    Link(String),
}

/// A tree: its root, and all its folders by their digests.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The digest of the root.
    pub root: Digest,
    /// The folders, encoded.
    pub folders: BTreeMap<Digest, Vec<u8>>,
}

#[derive(Default)]
struct Folder {
    folders: BTreeMap<Vec<u8>, Folder>,
    entries: BTreeMap<Vec<u8>, TreeEntry>,
}

impl Tree {
    /// Makes the tree of these files, and of folders that are there even if nothing is in them.
    pub fn of(
        files: impl IntoIterator<Item = (RepoPath, TreeEntry)>,
        empty: impl IntoIterator<Item = RepoPath>,
    ) -> Self {
        let mut root = Folder::default();
        for path in empty {
            root.at(&path);
        }
        for (path, entry) in files {
            let folder = root.at(&path.folder());
            folder.entries.insert(path.name().to_vec(), entry);
        }
        let mut tree = Self::default();
        tree.root = tree.add(root);
        tree
    }

    /// Adds a folder. How deep it is, is bounded by how long a path can be.
    fn add(&mut self, folder: Folder) -> Digest {
        let text = |name: Vec<u8>| String::from_utf8_lossy(&name).into_owned();
        let mut message = Directory::default();
        for (name, folder) in folder.folders {
            let digest = Some(self.add(folder));
            let name = text(name);
            message.directories.push(DirectoryNode { name, digest });
        }
        for (name, entry) in folder.entries {
            let name = text(name);
            match entry {
                TreeEntry::File {
                    digest,
                    is_executable,
                } => message.files.push(FileNode {
                    name,
                    digest: Some(digest),
                    is_executable,
                }),
                TreeEntry::Link(target) => message.symlinks.push(SymlinkNode { name, target }),
            }
        }
        let bytes = message.encode_to_vec();
        let digest = digest_of(&bytes);
        self.folders.insert(digest.clone(), bytes);
        digest
    }
}

impl Folder {
    fn at(&mut self, path: &RepoPath) -> &mut Self {
        let mut folder = self;
        for segment in path.segments() {
            folder = folder.folders.entry(segment.to_vec()).or_default();
        }
        folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_have_equal_trees_whatever_their_order() {
        let path = |text: &str| RepoPath::parse(text.as_bytes()).unwrap();
        let file = |text: &str| TreeEntry::File {
            digest: digest_of(text.as_bytes()),
            is_executable: false,
        };
        let files = vec![
            (path("work/a"), file("1")),
            (path("work/b/c"), file("2")),
            (path("work/d/c"), file("2")),
            (path("work/l"), TreeEntry::Link("a".to_owned())),
        ];
        let tree = Tree::of(files.clone(), [path("work/empty")]);
        let turned = Tree::of(files.into_iter().rev(), [path("work/empty")]);
        assert_eq!(tree.root, turned.root);
        // The root, `work`, an empty one, and one that is there twice.
        assert_eq!(tree.folders.len(), 4);
        let root = Directory::decode(tree.folders[&tree.root].as_slice()).unwrap();
        let work = root.directories[0].digest.as_ref().unwrap();
        let work = Directory::decode(tree.folders[work].as_slice()).unwrap();
        let names: Vec<&str> = work.directories.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["b", "d", "empty"]);
        assert_eq!(work.directories[0].digest, work.directories[1].digest);
        assert_eq!(work.symlinks[0].target, "a");
    }
}
