//! Finds files with more names than given places contain: writing one of them changes a file
//! elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// A file by its device and inode.
type FileId = (u64, u64);

/// A file with names elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedFile {
    /// One of its names in the places.
    pub path: PathBuf,
    /// The number of its names.
    pub names: u64,
}

/// The regular files with several names in some places.
#[derive(Debug, Default)]
struct LinkedFiles(BTreeMap<FileId, (LinkedFile, u64)>);

impl LinkedFiles {
    fn add(&mut self, path: PathBuf, meta: &Metadata) {
        let names = meta.nlink();
        let file = || (LinkedFile { path, names }, 0);
        let (_, inside) = self.0.entry((meta.dev(), meta.ino())).or_insert_with(file);
        *inside += 1;
    }
}

/// Returns a file with names outside of these files and folders, and none in a store, if there is
/// one.
///
/// # Errors
/// A folder cannot be listed.
pub fn linked_elsewhere(places: &[PathBuf], stores: &[PathBuf]) -> io::Result<Option<LinkedFile>> {
    let mut linked = LinkedFiles::default();
    walk(places, &mut |path, meta| {
        if meta.nlink() > 1 {
            linked.add(path, meta);
        }
        true
    })?;
    linked.0.retain(|_, (file, inside)| file.names > *inside);
    if linked.0.is_empty() {
        return Ok(None);
    }
    walk(stores, &mut |_, meta| {
        linked.0.remove(&(meta.dev(), meta.ino()));
        !linked.0.is_empty()
    })?;
    Ok(linked.0.into_values().next().map(|(file, _)| file))
}

/// Visits the regular files at these places and below, each name once, until one is the last that is wanted.
fn walk(places: &[PathBuf], visit: &mut dyn FnMut(PathBuf, &Metadata) -> bool) -> io::Result<()> {
    let mut known = BTreeSet::new();
    let mut open: Vec<PathBuf> = places.to_vec();
    while let Some(place) = open.pop() {
        let Ok(meta) = place.symlink_metadata() else {
            continue;
        };
        if meta.is_file() && !visit(place.clone(), &meta) {
            return Ok(());
        }
        // Places may be nested.
        if !meta.is_dir() || !known.insert((meta.dev(), meta.ino())) {
            continue;
        }
        let entries = match std::fs::read_dir(&place) {
            Err(error) if is_of_others(&error, &meta) => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file()
                && let Ok(meta) = entry.metadata()
                && !visit(entry.path(), &meta)
            {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Whether a folder cannot be listed because it belongs to another user: a step could not make it readable either.
fn is_of_others(error: &io::Error, meta: &Metadata) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
        && meta.uid() != rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_in_all_places() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for folder in ["out/deps", "more", "elsewhere", "store"] {
            std::fs::create_dir_all(path(folder)).unwrap();
        }
        let link = |from: &str, to: &str| std::fs::hard_link(path(from), path(to)).unwrap();
        let find = |places: &[&str], stores: &[&str]| {
            let all = |names: &[&str]| names.iter().map(|name| path(name)).collect::<Vec<_>>();
            let found = linked_elsewhere(&all(places), &all(stores)).unwrap();
            found.map(|file| (file.path.file_name().unwrap().to_owned(), file.names))
        };
        std::fs::write(path("out/deps/a-1"), "").unwrap();
        std::fs::write(path("out/plain"), "").unwrap();
        link("out/deps/a-1", "out/a");
        // A place within another one counts once.
        assert_eq!(find(&["out", "out/deps", "none"], &[]), None);
        link("out/a", "more/a");
        assert_eq!(find(&["out", "more"], &[]), None);
        assert_eq!(find(&["more/a"], &[]), Some(("a".into(), 3)));
        std::fs::write(path("elsewhere/b"), "").unwrap();
        link("elsewhere/b", "out/b");
        assert_eq!(find(&["out", "more"], &["store"]), Some(("b".into(), 2)));
        link("elsewhere/b", "store/b");
        assert_eq!(find(&["out", "more"], &["store"]), None);
        assert_eq!(find(&["out"], &["store"]).map(|(_, names)| names), Some(3));
    }
}
