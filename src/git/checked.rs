//! Checks that an object has the content its id names. Git itself checks the requested commit and
//! its tree; any other object in its folder may be forged.

use super::Git;
use super::error::GitError;
use super::listing::Listed;
use super::object::{Oid, object_id};
use std::collections::BTreeMap;
use vplan_base::word::visible;
use vplan_os::process::input::memory;

/// An entry of a commit's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub mode: u32,
    pub id: Oid,
    pub name: Box<[u8]>,
}

/// An object's kind and content.
type Object = (String, Vec<u8>);

pub(super) const FOLDER: u32 = 0o040_000;

/// Whether bytes are the object of an id.
pub(super) fn check(id: &Oid, kind: &str, content: &[u8]) -> Result<(), GitError> {
    if object_id(id.length(), kind, content).as_ref() == Some(id) {
        Ok(())
    } else {
        Err(GitError::Damaged(id.to_string()))
    }
}

/// Parses the entries of a folder after checking its id.
fn entries(id: &Oid, content: &[u8]) -> Result<Vec<TreeEntry>, GitError> {
    check(id, "tree", content)?;
    parse(content, id.length())
}

fn parse(mut content: &[u8], length: usize) -> Result<Vec<TreeEntry>, GitError> {
    let mut found = Vec::new();
    while !content.is_empty() {
        let (entry, rest) = entry(content, length).ok_or(GitError::Unreadable("cat-file"))?;
        found.push(entry);
        content = rest;
    }
    Ok(found)
}

fn entry(content: &[u8], length: usize) -> Option<(TreeEntry, &[u8])> {
    let (mode, rest) = content.split_at_checked(memchr::memchr(b' ', content)?)?;
    let rest = rest.get(1..)?;
    let (name, rest) = rest.split_at_checked(memchr::memchr(0, rest)?)?;
    let (id, rest) = rest.get(1..)?.split_at_checked(length)?;
    let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
    Some((
        TreeEntry {
            mode: canonical(mode),
            id: Oid::from_bytes(id)?,
            name: name.into(),
        },
        rest,
    ))
}

/// Returns the mode as git interprets it: one of four, whatever old versions wrote.
fn canonical(mode: u32) -> u32 {
    match mode & 0o170_000 {
        0o100_000 if mode & 0o100 != 0 => 0o100_755,
        0o100_000 => 0o100_644,
        kind @ (0o120_000 | 0o040_000) => kind,
        _ => 0o160_000,
    }
}

/// A folder of a listing, as far as it has been read.
struct Open<'t> {
    /// Its path, without a slash at its end.
    path: &'t [u8],
    /// `None` for the commit's own, which git has checked.
    id: Option<Oid>,
    content: Vec<u8>,
}

impl Git {
    /// Returns the records of `ls-tree -r -t -z` without those of folders, after checking that each
    /// folder's content has its id.
    pub(super) fn checked_listing(&self, text: &[u8]) -> Result<Vec<u8>, GitError> {
        let unreadable = || GitError::Unreadable("ls-tree");
        let mut files = Vec::with_capacity(text.len());
        let mut open = vec![Open {
            path: b"",
            id: None,
            content: Vec::new(),
        }];
        for record in text.split_inclusive(|b| *b == 0) {
            let listed = record.strip_suffix(b"\0").and_then(Listed::read);
            let Listed { path, mode, id } = listed.ok_or_else(unreadable)?;
            let (dir, name) = split(path);
            while open.last().is_some_and(|folder| folder.path != dir) {
                self.close(open.pop())?;
            }
            let folder = open.last_mut().ok_or_else(unreadable)?;
            let mode_text = format!("{mode:o} ");
            let parts = [mode_text.as_bytes(), name, b"\0", id.raw()];
            folder.content.extend(parts.concat());
            if mode == FOLDER {
                open.push(Open {
                    path,
                    id: Some(id),
                    content: Vec::new(),
                });
            } else {
                files.extend_from_slice(record);
            }
        }
        let mut left = open.into_iter().rev();
        left.try_for_each(|folder| self.close(Some(folder)))?;
        Ok(files)
    }

    /// Checks that the content of a folder that was read as a whole has its id. One that an old git
    /// wrote with other modes is read again.
    fn close(&self, folder: Option<Open<'_>>) -> Result<(), GitError> {
        let Some(Open {
            id: Some(id),
            content,
            ..
        }) = folder
        else {
            return Ok(());
        };
        if check(&id, "tree", &content).is_ok() {
            return Ok(());
        }
        let written = self.ask(&["cat-file", "tree", &id.to_string()])?;
        if entries(&id, &written)? == parse(&content, id.length())? {
            Ok(())
        } else {
            Err(GitError::Damaged(id.to_string()))
        }
    }

    /// Returns the folders of a commit on the way to paths and their entries, by path; the root's
    /// path is empty. Missing folders are omitted.
    pub(super) fn folders(
        &self,
        commit: &Oid,
        paths: &[&[u8]],
    ) -> Result<BTreeMap<Vec<u8>, Vec<TreeEntry>>, GitError> {
        let mut found = BTreeMap::new();
        if commit.is_empty_tree() {
            return Ok(found);
        }
        let mut dirs: Vec<&[u8]> = paths.iter().flat_map(|path| above(path)).collect();
        dirs.sort_unstable();
        dirs.dedup();
        // Many are queried level by level, so that git searches nothing below a missing directory.
        let many = dirs.len() > MANY_FOLDERS;
        if many {
            dirs.sort_by_key(|dir| level(dir));
        }
        for dirs in dirs.chunk_by(|a, b| !many || level(a) == level(b)) {
            let mut dirs = dirs.to_vec();
            if many {
                dirs.retain(|dir| dir.is_empty() || folder_in(&found, dir).is_some());
            }
            self.add_folders(commit, &dirs, &mut found)?;
        }
        Ok(found)
    }

    /// Adds folders of a commit. One whose parent is neither among them nor known is omitted.
    fn add_folders(
        &self,
        commit: &Oid,
        dirs: &[&[u8]],
        found: &mut BTreeMap<Vec<u8>, Vec<TreeEntry>>,
    ) -> Result<(), GitError> {
        let mut objects = self.objects(commit, dirs)?.into_iter();
        let unreadable = || GitError::Unreadable("cat-file");
        let (kind, content) = objects.next().flatten().ok_or_else(unreadable)?;
        check(commit, &kind, &content)?;
        let root = match kind.as_str() {
            "tree" => *commit,
            _ => content
                .strip_prefix(b"tree ")
                .and_then(|t| Oid::parse(t.get(..2 * commit.length())?))
                .ok_or_else(unreadable)?,
        };
        // In sorted order, a folder comes before its content.
        for (dir, object) in dirs.iter().zip(objects) {
            let id = if dir.is_empty() {
                Some(root)
            } else {
                folder_in(found, dir)
            };
            let Some(id) = id else { continue };
            let (_, content) = object.ok_or_else(|| GitError::Damaged(id.to_string()))?;
            found.insert(dir.to_vec(), entries(&id, &content)?);
        }
        Ok(())
    }

    /// Reads a commit, and the objects at some of its paths: kind and content.
    fn objects(&self, commit: &Oid, dirs: &[&[u8]]) -> Result<Vec<Option<Object>>, GitError> {
        let names = dirs.iter().map(|dir| match dir.is_empty() {
            true => format!("{commit}^{{tree}}\n").into_bytes(),
            false => [format!("{commit}:").as_bytes(), dir, b"\n"].concat(),
        });
        let own = format!("{commit}\n").into_bytes();
        let names: Vec<Vec<u8>> = std::iter::once(own).chain(names).collect();
        // A name with a line end cannot be requested in lines.
        let has_more = |name: &&Vec<u8>| name.iter().filter(|b| **b == b'\n').count() != 1;
        if let Some(name) = names.iter().find(has_more) {
            let name = visible(name.trim_ascii_end());
            return Err(failed(format!("`{name}` cannot be asked for")));
        }
        self.batch(&names)
    }
}

/// Above this number of directories, they are queried level by level, with one call each.
const MANY_FOLDERS: usize = 4096;

/// How many folders are above the path of one; the root's is empty.
fn level(dir: &[u8]) -> usize {
    match dir.is_empty() {
        true => 0,
        false => 1 + dir.iter().filter(|b| **b == b'/').count(),
    }
}

/// The number of files that one call reads.
const AT_ONCE: usize = 256;

impl Git {
    /// Reads the contents of files by their ids, in order.
    ///
    /// # Errors
    /// Errors of git; an object that is missing or damaged.
    pub(super) fn blobs(&self, ids: &[Oid]) -> Result<Vec<Vec<u8>>, GitError> {
        let mut contents = Vec::with_capacity(ids.len());
        for part in ids.chunks(AT_ONCE) {
            let names = part.iter().map(|id| format!("{id}\n").into_bytes());
            let names: Vec<Vec<u8>> = names.collect();
            for (object, id) in self.batch(&names)?.into_iter().zip(part) {
                let (kind, content) = object.ok_or_else(|| GitError::Damaged(id.to_string()))?;
                check(id, &kind, &content)?;
                contents.push(content);
            }
        }
        Ok(contents)
    }

    /// Reads objects by their names, each with a line end.
    fn batch(&self, names: &[Vec<u8>]) -> Result<Vec<Option<Object>>, GitError> {
        let given = memory(&names.concat()).map_err(|e| failed(e.to_string()))?;
        let asked = self.start_with(&["cat-file", "--batch"], given.into())?;
        let output = asked.answer()?;
        let (mut found, mut rest) = (Vec::new(), output.as_slice());
        for _ in names {
            let (object, next) = answered(rest).ok_or(GitError::Unreadable("cat-file"))?;
            found.push(object);
            rest = next;
        }
        Ok(found)
    }
}

fn failed(message: String) -> GitError {
    GitError::Failed {
        command: "cat-file".to_owned(),
        message,
    }
}

/// Parses one answer of `cat-file --batch`, and returns it with the rest; inside `None` for a
/// missing object.
fn answered(output: &[u8]) -> Option<(Option<Object>, &[u8])> {
    let (head, rest) = output.split_at_checked(memchr::memchr(b'\n', output)?)?;
    let rest = rest.get(1..)?;
    let mut missing = [" missing", " submodule", " ambiguous"].iter();
    if missing.any(|end| head.ends_with(end.as_bytes())) {
        return Some((None, rest));
    }
    let text = std::str::from_utf8(head).ok()?;
    let mut fields = text.split(' ').skip(1);
    let (kind, size) = (fields.next()?, fields.next()?.parse().ok()?);
    let (content, rest) = rest.split_at_checked(size)?;
    Some((
        Some((kind.to_owned(), content.to_vec())),
        rest.strip_prefix(b"\n")?,
    ))
}

/// Returns the folders above a path, the root first.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = memchr::memchr_iter(b'/', path);
    let ends = std::iter::once(0).chain(ends);
    ends.filter_map(|end| path.get(..end))
}

/// Finds the entry of a path in its folder.
pub(super) fn find<'f>(
    folders: &'f BTreeMap<Vec<u8>, Vec<TreeEntry>>,
    path: &[u8],
) -> Option<&'f TreeEntry> {
    let (dir, name) = split(path);
    folders.get(dir)?.iter().find(|entry| &*entry.name == name)
}

/// Splits a path into its folder and its name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let parts = slash.and_then(|at| Some((path.get(..at)?, path.get(at + 1..)?)));
    parts.unwrap_or((b"", path))
}

fn folder_in(folders: &BTreeMap<Vec<u8>, Vec<TreeEntry>>, dir: &[u8]) -> Option<Oid> {
    let entry = find(folders, dir).filter(|entry| entry.mode == FOLDER);
    entry.map(|entry| entry.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_git() {
        let both = b"1234 tree 3\na\nb\nx:y missing\n";
        let (first, rest) = answered(both).unwrap();
        assert_eq!(first, Some(("tree".to_owned(), b"a\nb".to_vec())));
        assert_eq!(answered(rest), Some((None, &b""[..])));
        for bad in ["", "x", "1 tree 9\na\n", "1 tree 1\nab", "1 tree x\na\n"] {
            assert!(answered(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn folders_above() {
        assert_eq!(
            above(b"a/b/c").collect::<Vec<_>>(),
            [&b""[..], b"a", b"a/b"]
        );
        assert_eq!(above(b"a").collect::<Vec<_>>(), [b""]);
    }

    #[test]
    fn entries_are_those_of_the_id() {
        let id = |n: u8| [n; 20];
        let content = [&b"100664 a\0"[..], &id(1), b"40000 b\0", &id(2)].concat();
        let tree = object_id(20, "tree", &content).unwrap();
        let found = entries(&tree, &content).unwrap();
        let shown: Vec<(u32, &[u8])> = found.iter().map(|e| (e.mode, &*e.name)).collect();
        assert_eq!(shown, [(0o100_644, &b"a"[..]), (FOLDER, b"b")]);
        let other = Oid::from_bytes(&id(3)).unwrap();
        assert_eq!(
            entries(&other, &content),
            Err(GitError::Damaged(other.to_string()))
        );
    }
}
