//! Lists all files of a commit, with mode and id, in byte order of their paths.
//!
//! `diff-index --cached` would be cheaper, but trusts the index's records of whole folders (its
//! cache of trees).

use super::error::GitError;
use super::index::IndexEntry;
use super::object::Oid;
use super::{Git, words};
use std::ops::Range;
use vplan_base::path::RepoPath;

/// One file, or a submodule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listed<'l> {
    pub path: &'l [u8],
    pub mode: u32,
    pub id: Oid,
}

impl<'l> Listed<'l> {
    /// Reads `MODE KIND ID<tab>PATH`.
    pub(super) fn read(record: &'l [u8]) -> Option<Self> {
        let (head, path) = record.split_at_checked(memchr::memchr(b'\t', record)?)?;
        let mut fields = head.split(|b| *b == b' ');
        let mode = u32::from_str_radix(std::str::from_utf8(fields.next()?).ok()?, 8).ok()?;
        let id = Oid::parse(fields.nth(1)?)?;
        let path = path
            .get(1..)
            .filter(|path| !path.is_empty() && fields.next().is_none())?;
        Some(Self { path, mode, id })
    }
}

/// The files of a commit.
#[derive(Debug, Default)]
pub(super) struct Listing {
    text: Vec<u8>,
    files: Vec<(Range<usize>, u32, Oid)>,
}

impl Listing {
    /// Reads the output of `ls-tree -r -z --full-tree`; `None` when it has another form.
    pub(super) fn read(text: Vec<u8>) -> Option<Self> {
        let records = memchr::memchr_iter(0, &text).count();
        let mut files: Vec<(Range<usize>, u32, Oid)> = Vec::with_capacity(records);
        let mut at = 0;
        while at < text.len() {
            let end = at + memchr::memchr(0, text.get(at..)?)?;
            let Listed { path, mode, id } = Listed::read(text.get(at..end)?)?;
            let previous = files
                .last()
                .map(|(range, ..)| text.get(range.clone()).unwrap_or_default());
            if previous >= Some(path) {
                return None;
            }
            files.push((end - path.len()..end, mode, id));
            at = end + 1;
        }
        Some(Self { text, files })
    }

    /// Returns the index as the listing of the commit that it would become.
    pub(super) fn of_index(entries: &[IndexEntry]) -> Self {
        let mut listing = Self::default();
        for entry in entries {
            let from = listing.text.len();
            listing.text.extend_from_slice(&entry.path);
            let range = from..listing.text.len();
            listing.files.push((range, entry.mode, entry.id));
        }
        listing
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Listed<'_>> {
        self.files.iter().map(|file| self.listed(file))
    }

    pub(super) fn get(&self, path: &[u8]) -> Option<Listed<'_>> {
        let at = self
            .files
            .binary_search_by(|file| self.listed(file).path.cmp(path))
            .ok()?;
        self.files.get(at).map(|file| self.listed(file))
    }

    fn listed(&self, (path, mode, id): &(Range<usize>, u32, Oid)) -> Listed<'_> {
        Listed {
            path: self.text.get(path.clone()).unwrap_or_default(),
            mode: *mode,
            id: *id,
        }
    }
}

impl Git {
    /// Returns the paths of all files of a commit, in byte order.
    ///
    /// # Errors
    /// Errors of git.
    pub fn names_at(&self, commit: &Oid) -> Result<Vec<RepoPath>, GitError> {
        let listing = self.listing(commit)?;
        let name = |file: Listed<'_>| RepoPath::from_exact(file.path);
        let names: Option<Vec<RepoPath>> = listing.iter().map(name).collect();
        names.ok_or(GitError::Unreadable("ls-tree"))
    }

    /// Lists the files of a commit or tree; git is called once for each.
    pub(super) fn listing(&self, tree: &Oid) -> Result<Listing, GitError> {
        if tree.is_empty_tree() {
            return Ok(Listing::default());
        }
        if let Some(listing) = self.memory.listing(tree).and_then(Listing::read) {
            return Ok(listing);
        }
        let text = self.ask(&words("ls-tree -r -t -z --full-tree", [tree.to_string()]))?;
        let text = self.checked_listing(&text)?;
        self.memory.keep_listing(tree, &text);
        Listing::read(text).ok_or(GitError::Unreadable("ls-tree"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records() {
        let (a, b) = ("1".repeat(40), "2".repeat(40));
        let text = format!("100644 blob {a}\tx\ny\0160000 commit {b}\tz\tz\0");
        let listing = Listing::read(text.clone().into_bytes()).unwrap();
        let files: Vec<(&[u8], u32)> = listing.iter().map(|f| (f.path, f.mode)).collect();
        assert_eq!(files, [(&b"x\ny"[..], 0o100_644), (b"z\tz", 0o160_000)]);
        assert_eq!(listing.get(b"z\tz").map(|f| f.id), Oid::parse(b.as_bytes()));
        assert_eq!(listing.get(b"z"), None);
        let swapped = format!("100644 blob {a}\tb\0100644 blob {a}\ta\0");
        for bad in [
            &text[..text.len() - 1],
            "x\0",
            "100644 blob 12\ta\0",
            &swapped,
        ] {
            assert!(Listing::read(bad.as_bytes().to_vec()).is_none(), "{bad}");
        }
    }
}
