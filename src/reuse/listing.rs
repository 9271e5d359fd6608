//! Lists the files that a step depends on, as its last cached pass left them. They name the changes
//! since, and show which files the step's own passes wrote.

use super::key::Print;
use super::touched::TouchedFile;
use vplan_base::canon::Digest;
use vplan_base::path::RepoPath;
use vplan_check::difference::FileChange;

/// Maximum number of files in a list; a longer list is not stored.
pub const MOST_LISTED: usize = 100_000;
const MAGIC: &[u8] = b"vplan files 1\n";
/// The size of the data after a path: a digest, and whether passes wrote the file.
const FIXED: usize = 32 + 1;

/// A file of a [`Listing`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedFile {
    /// Whether only passes of the step have written its content.
    pub own: bool,
    /// The digest of its [`Print`].
    pub print: Digest,
}

/// The files that a step depends on, as a pass left them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// In byte order of the paths, each once.
    files: Vec<(RepoPath, ListedFile)>,
}

impl Listing {
    /// Makes a list of the present files, none recorded as written by a pass. Each path occurs
    /// once.
    pub fn from_files(files: impl IntoIterator<Item = (RepoPath, Digest)>) -> Self {
        let listed = |(path, print)| (path, ListedFile { own: false, print });
        let mut files: Vec<_> = files.into_iter().map(listed).collect();
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
        files.dedup_by(|(later, _), (first, _)| later == first);
        Self { files }
    }

    fn place(&self, path: &RepoPath) -> Option<usize> {
        let found = self.files.binary_search_by(|(known, _)| known.cmp(path));
        found.ok()
    }

    /// Marks the files that passes of the step wrote: those that this pass touched, and those that
    /// an earlier pass wrote (`then`), if they are unchanged.
    pub fn with_output(mut self, touched: &[TouchedFile], then: Option<&Listing>) -> Self {
        let mut then = then.into_iter().flat_map(|then| &then.files).peekable();
        for (path, file) in &mut self.files {
            while then.next_if(|(earlier, _)| earlier < path).is_some() {}
            let earlier = then.next_if(|(earlier, _)| earlier == path);
            file.own = earlier.is_some_and(|(_, e)| e.own && e.print == file.print);
        }
        for TouchedFile { path, .. } in touched {
            let at = self.place(path);
            if let Some((_, file)) = at.and_then(|at| self.files.get_mut(at)) {
                file.own = true;
            }
        }
        self
    }

    /// Whether passes of the step wrote this file, and left it like this.
    pub(crate) fn has_left(&self, path: &RepoPath, print: &Print) -> bool {
        let listed = self.place(path).and_then(|at| self.files.get(at));
        listed.is_some_and(|(_, file)| file.own && file.print == print.digest())
    }

    /// Returns the changes of these files since, in byte order of the paths. `now`: the same files
    /// at present.
    pub fn changes(&self, now: &Listing) -> Vec<(RepoPath, FileChange)> {
        let (mut list, mut then) = (Vec::new(), self.files.iter().peekable());
        for (path, file) in &now.files {
            while let Some((gone, _)) = then.next_if(|(earlier, _)| earlier < path) {
                list.push((gone.clone(), FileChange::Gone));
            }
            match then.next_if(|(earlier, _)| earlier == path) {
                None => list.push((path.clone(), FileChange::New)),
                Some((_, then)) if then.print != file.print => {
                    list.push((path.clone(), FileChange::Changed));
                }
                Some(_) => {}
            }
        }
        list.extend(then.map(|(path, _)| (path.clone(), FileChange::Gone)));
        list
    }

    /// Returns the bytes of its file, whose name is their digest.
    pub fn encode(&self) -> Vec<u8> {
        let each = |(path, _): &(RepoPath, ListedFile)| 8 + path.as_bytes().len() + FIXED;
        let length = MAGIC.len() + self.files.iter().map(each).sum::<usize>();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(MAGIC);
        for (path, file) in &self.files {
            let path = path.as_bytes();
            bytes.extend((path.len() as u64).to_le_bytes());
            bytes.extend(path);
            bytes.extend(file.print.as_bytes());
            bytes.push(u8::from(file.own));
        }
        bytes
    }

    /// Reads the list with this digest; `None` if it is damaged. Never panics.
    pub fn decode(digest: &Digest, bytes: &[u8]) -> Option<Self> {
        if Digest::hash(bytes) != *digest {
            return None;
        }
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut files: Vec<(RepoPath, ListedFile)> = Vec::new();
        while !rest.is_empty() {
            let (length, more) = rest.split_first_chunk::<8>()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let end = length.checked_add(FIXED)?;
            let (path, fixed) = more.get(..end)?.split_at_checked(length)?;
            let (print, own) = fixed.split_first_chunk::<32>()?;
            let own = match own {
                [0] => false,
                [1] => true,
                _ => return None,
            };
            let print = Digest::from_bytes(*print);
            if files
                .last()
                .is_some_and(|(last, _)| last.as_bytes() >= path)
            {
                return None;
            }
            files.push((RepoPath::from_exact(path)?, ListedFile { own, print }));
            rest = more.get(end..)?;
        }
        Some(Self { files })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::from_exact(text.as_bytes()).unwrap()
    }

    fn print(text: &str) -> Print {
        Print {
            content: Some(Digest::hash(text.as_bytes())),
            link: None,
            mode: 0o644,
        }
    }

    fn listing(files: &[(&str, &str)]) -> Listing {
        Listing::from_files(files.iter().map(|(p, t)| (path(p), print(t).digest())))
    }

    #[test]
    fn only_what_is_whole_is_read() {
        let touched = [TouchedFile {
            path: path("b"),
            before: None,
            after: Some(print("2")),
        }];
        let listing = listing(&[("a", "1"), ("b", "2")]).with_output(&touched, None);
        let bytes = listing.encode();
        let digest = Digest::hash(&bytes);
        assert_eq!(Listing::decode(&digest, &bytes), Some(listing));
        for end in 0..bytes.len() {
            let torn = &bytes[..end];
            assert_eq!(Listing::decode(&digest, torn), None, "torn at {end}");
            // Even with a fitting name: no bytes make it panic.
            let read = Listing::decode(&Digest::hash(torn), torn);
            assert!(read.is_none_or(|l| l.files.len() < 2), "torn at {end}");
        }
    }

    #[test]
    fn what_became_of_each_file() {
        let then = listing(&[("a", "1"), ("b", "1"), ("d", "1")]);
        let now = listing(&[("a", "2"), ("c", "1"), ("d", "1")]);
        let list = [
            (path("a"), FileChange::Changed),
            (path("b"), FileChange::Gone),
            (path("c"), FileChange::New),
        ];
        assert_eq!(then.changes(&now), list);
        assert_eq!(then.changes(&then), []);
    }

    #[test]
    fn what_passes_left() {
        let wrote = |name: &str, text: &str| TouchedFile {
            path: path(name),
            before: None,
            after: Some(print(text)),
        };
        let first =
            listing(&[("a", "1"), ("b", "1"), ("c", "1")]).with_output(&[wrote("a", "1")], None);
        assert!(first.has_left(&path("a"), &print("1")));
        assert!(!first.has_left(&path("a"), &print("2")), "another content");
        assert!(!first.has_left(&path("b"), &print("1")), "it wrote no such");
        let second =
            listing(&[("a", "1"), ("b", "2")]).with_output(&[wrote("b", "2")], Some(&first));
        assert!(
            second.has_left(&path("a"), &print("1")),
            "as the first left it"
        );
        assert!(second.has_left(&path("b"), &print("2")));
        let third = listing(&[("a", "9"), ("b", "2")]).with_output(&[], Some(&second));
        assert!(
            !third.has_left(&path("a"), &print("9")),
            "of another program"
        );
        let fourth = listing(&[("a", "1"), ("b", "2")]).with_output(&[], Some(&third));
        assert!(
            !fourth.has_left(&path("a"), &print("1")),
            "put back by hand"
        );
    }
}
