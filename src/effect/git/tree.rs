//! Which file is at a path of a commit? The one that would be there if the commit were checked out.
//!
//! So a symlink is followed as the work tree's is, as long as it stays inside: a contract behind one would otherwise be there
//! in the work tree and not in the revision that it is compared with, and whatever is taken out of it would pass as new.

use super::error::GitError;
use super::object::Oid;
use super::{Git, split_nul};
use crate::base::path::RepoPath;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

/// The most symlinks on the way to a file, as on Linux.
const MAX_LINKS: usize = 40;
/// The most bytes of a symlink's target.
const MAX_TARGET: u64 = 4096;

/// Path, mode and id of what a tree has.
type Listed = (RepoPath, Vec<u8>, Vec<u8>);

/// What a tree has under a name.
struct Entry {
    mode: Vec<u8>,
    id: Vec<u8>,
    /// Only files and symlinks have one.
    size: Option<u64>,
}

impl Entry {
    fn is_file(&self) -> bool {
        self.mode.starts_with(b"100")
    }

    fn is_link(&self) -> bool {
        self.mode == b"120000"
    }

    fn is_directory(&self) -> bool {
        self.mode == b"040000"
    }
}

impl Git {
    /// The content of a regular file in a commit, symlinks inside the repository followed; `None` when there is no such file.
    ///
    /// # Errors
    /// What git says, and a content of more than `cap` bytes.
    pub fn file_at(&self, commit: &Oid, path: &RepoPath, cap: u64) -> Result<Option<Vec<u8>>, GitError> {
        let large = || GitError::TooLarge { path: path.to_string(), cap };
        match self.entry(commit, path.as_bytes())? {
            Some(entry) if entry.is_file() => return self.blob(&entry, cap)?.ok_or_else(large).map(Some),
            Some(entry) if !entry.is_link() => return Ok(None),
            None if !path.as_bytes().contains(&b'/') => return Ok(None),
            _ => {}
        }
        let mut pending: Vec<Vec<u8>> = parts(path.as_bytes());
        let mut walked: Vec<Vec<u8>> = Vec::new();
        let mut links = 0;
        while let Some(part) = pending.pop() {
            match part.as_slice() {
                b"" | b"." => continue,
                b".." if walked.pop().is_some() => continue,
                b".." => return Ok(None),
                _ => walked.push(part),
            }
            let Some(entry) = self.entry(commit, &walked.join(&b'/'))? else { return Ok(None) };
            if entry.is_link() {
                links += 1;
                let target = self.blob(&entry, MAX_TARGET)?.filter(|t| !t.starts_with(b"/") && links <= MAX_LINKS);
                let Some(target) = target else { return Ok(None) };
                walked.pop();
                pending.extend(parts(&target));
            } else if entry.is_file() && pending.is_empty() {
                return self.blob(&entry, cap)?.ok_or_else(large).map(Some);
            } else if !entry.is_directory() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The ids of the regular files that a commit has at these paths, in one question; a path that is none of them is left out.
    ///
    /// # Errors
    /// What git says.
    pub fn files_at(&self, commit: &Oid, paths: &[RepoPath]) -> Result<BTreeMap<RepoPath, Oid>, GitError> {
        let found = self.listed(commit, paths)?.into_iter().filter(|(_, mode, _)| mode.starts_with(b"100"));
        Ok(found.filter_map(|(path, _, id)| Some((path, Oid::parse(&id)?))).collect())
    }

    /// The submodule of a commit in which a path lies, or which it is.
    ///
    /// # Errors
    /// What git says.
    pub fn submodule_around(&self, commit: &Oid, path: &RepoPath) -> Result<Option<RepoPath>, GitError> {
        let found = self.listed(commit, &path.ancestors())?.into_iter().find(|(_, mode, _)| mode == b"160000");
        Ok(found.map(|(path, ..)| path))
    }

    /// What a commit has at these paths.
    fn listed(&self, commit: &Oid, paths: &[RepoPath]) -> Result<Vec<Listed>, GitError> {
        let mut args: Vec<OsString> = ["ls-tree", "-z", "--full-tree"].map(OsString::from).to_vec();
        args.extend([commit.to_string().into(), "--".into()]);
        args.extend(paths.iter().map(|path| OsString::from_vec(path.as_bytes().to_vec())));
        let read = |record: Vec<u8>| {
            let at = record.iter().position(|b| *b == b'\t')?;
            let (head, path) = (record.get(..at)?, record.get(at + 1..)?);
            let mut fields = head.split(|b| *b == b' ');
            let (mode, _, id) = (fields.next()?, fields.next()?, fields.next()?);
            Some((RepoPath::from_exact(path)?, mode.to_vec(), id.to_vec()))
        };
        let found: Option<Vec<_>> = split_nul(&self.ask(&args)?).into_iter().map(read).collect();
        found.ok_or_else(|| GitError::Unreadable("ls-tree".to_owned()))
    }

    fn entry(&self, commit: &Oid, path: &[u8]) -> Result<Option<Entry>, GitError> {
        let mut args: Vec<OsString> = ["ls-tree", "-z", "-l", "--full-tree"].map(OsString::from).to_vec();
        args.push(commit.to_string().into());
        args.push("--".into());
        args.push(OsString::from_vec(path.to_vec()));
        let listing = self.ask(&args)?;
        let unreadable = || GitError::Unreadable("ls-tree".to_owned());
        let Some(record) = split_nul(&listing).into_iter().next() else { return Ok(None) };
        let head = record.split(|b| *b == b'\t').next().ok_or_else(unreadable)?;
        let mut fields = head.split(|b| *b == b' ').filter(|f| !f.is_empty());
        let (Some(mode), Some(_), Some(id), Some(size)) = (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(unreadable());
        };
        let size = std::str::from_utf8(size).ok().and_then(|s| s.parse().ok());
        Ok(Some(Entry { mode: mode.to_vec(), id: id.to_vec(), size }))
    }

    /// `None` when it is larger than `cap`.
    fn blob(&self, entry: &Entry, cap: u64) -> Result<Option<Vec<u8>>, GitError> {
        let unreadable = || GitError::Unreadable("ls-tree".to_owned());
        if entry.size.ok_or_else(unreadable)? > cap {
            return Ok(None);
        }
        let id = Oid::parse(&entry.id).ok_or_else(unreadable)?;
        self.ask(&["cat-file", "blob", &id.to_string()]).map(Some)
    }
}

/// The parts of a path, the last one first.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.rsplit(|b| *b == b'/').map(<[u8]>::to_vec).collect()
}
