//! Folders for `each`: by their names, or as packages of a workspace.

use super::path::RepoPath;
use super::word::Word;
use super::workspace::{FoundMembers, WorkspaceQuery};
use std::collections::{BTreeMap, BTreeSet};

/// A question of an `each` about the repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EachQuestion {
    /// `in-folders`
    Folders(FolderQuery),
    /// `in-workspace`
    Workspace(WorkspaceQuery),
}

/// A query for folders: a glob of whole names, and the files that each folder must have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderQuery {
    /// The names, from the root; `None` is any.
    names: Vec<Option<Vec<u8>>>,
    /// The files, as paths below the folder.
    with: Vec<RepoPath>,
}

/// Why a text is not a glob of folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderError {
    /// A wildcard is only a part of a name.
    Wildcard,
    /// It is absolute, leaves the repository, or is empty.
    Path,
    /// It has no name `*`.
    NoStar,
}

/// The known answers to questions about folders.
pub type FolderAnswers = BTreeMap<EachQuestion, FoundMembers>;

/// The separator of a glob and the files, in the text form of a question.
const WITH: &[u8] = b"//";

impl FolderQuery {
    /// Parses a glob of folders below a directory, with the files that each folder must have. `*`
    /// matches a whole name, and `\` takes the next character literally.
    ///
    /// # Errors
    /// Another wildcard, no `*`, no path of the repository.
    pub fn parse(dir: &RepoPath, glob: &str, with: &[String]) -> Result<Self, FolderError> {
        let mut names: Vec<Option<Vec<u8>>> =
            dir.segments().map(|name| Some(name.to_vec())).collect();
        if dir.is_root() {
            names.clear();
        }
        if glob.starts_with('/') {
            return Err(FolderError::Path);
        }
        for name in glob.trim_end_matches('/').split('/') {
            match name {
                "." => {}
                "" | ".." => return Err(FolderError::Path),
                "*" => names.push(None),
                name => names.push(Some(literal(name)?)),
            }
        }
        if !names.contains(&None) {
            return Err(FolderError::NoStar);
        }
        let with = with.iter().map(|file| RepoPath::parse(file.as_bytes()));
        let mut with: Vec<RepoPath> = with
            .collect::<Result<_, _>>()
            .map_err(|_| FolderError::Path)?;
        with.sort();
        with.dedup();
        Ok(Self { names, with })
    }

    /// Returns the files that each folder must have, as paths below it.
    pub fn with(&self) -> &[RepoPath] {
        &self.with
    }

    /// Returns how many `*` it has.
    pub fn stars(&self) -> usize {
        self.names.iter().filter(|name| name.is_none()).count()
    }

    /// Returns the folder of this glob that a file is below, if there is one.
    pub fn folder_of(&self, file: &RepoPath) -> Option<RepoPath> {
        let mut end = 0;
        let mut segments = file.segments();
        for name in &self.names {
            let found = segments.next()?;
            if name.as_deref().is_some_and(|name| name != found) {
                return None;
            }
            end += found.len() + 1;
        }
        segments.next()?;
        RepoPath::from_exact(file.as_bytes().get(..end.checked_sub(1)?)?)
    }

    /// Returns the folders that there are, by the names of the folders in a folder.
    pub fn on_disk(&self, list: impl Fn(&RepoPath) -> Vec<Vec<u8>>) -> BTreeSet<RepoPath> {
        let mut found = BTreeSet::from([RepoPath::root()]);
        for name in &self.names {
            let below = |dir: &RepoPath| -> Vec<RepoPath> {
                let names = match name {
                    Some(name) => vec![name.clone()],
                    None => list(dir),
                };
                let join = |name: Vec<u8>| dir.join(&name).ok();
                names.into_iter().filter_map(join).collect()
            };
            found = found.iter().flat_map(below).collect();
        }
        found
    }

    /// Returns the names that the `*` match in a folder of this glob.
    pub fn values<'f>(&self, folder: &'f RepoPath) -> impl Iterator<Item = &'f [u8]> {
        let pairs = self.names.iter().zip(folder.segments());
        let stars = pairs.filter(|(name, _)| name.is_none());
        stars.map(|(_, found)| found)
    }

    /// Returns the folder that this glob finds by these names, if there are as many as it has `*`.
    pub fn folder(&self, values: &[&[u8]]) -> Option<RepoPath> {
        let mut values = values.iter();
        let mut path = Vec::new();
        for name in &self.names {
            let name = match name {
                Some(name) => name.as_slice(),
                None => values.next()?,
            };
            path.extend_from_slice(name);
            path.push(b'/');
        }
        path.pop();
        RepoPath::from_exact(&path).filter(|_| values.next().is_none())
    }

    /// Returns the names before the first `*`.
    pub fn literal(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map_while(|name| name.as_deref())
    }

    /// Returns it as one text: `packages/*//package.json`.
    pub fn to_word(&self) -> Word {
        let mut text = Vec::new();
        for name in &self.names {
            if !text.is_empty() {
                text.push(b'/');
            }
            match name {
                None => text.push(b'*'),
                Some(name) => {
                    for byte in name {
                        if b"*?[]{}\\".contains(byte) {
                            text.push(b'\\');
                        }
                        text.push(*byte);
                    }
                }
            }
        }
        for file in &self.with {
            text.extend_from_slice(WITH);
            text.extend_from_slice(file.as_bytes());
        }
        Word::new(text)
    }

    /// Reads the text of [`FolderQuery::to_word`].
    pub fn from_word(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut parts = text.split("//");
        let glob = parts.next()?;
        let with: Vec<String> = parts.map(str::to_owned).collect();
        let query = Self::parse(&RepoPath::root(), glob, &with).ok()?;
        (query.to_word().as_bytes() == text.as_bytes()).then_some(query)
    }
}

/// Reads a name in which `\` takes the next character literally.
fn literal(name: &str) -> Result<Vec<u8>, FolderError> {
    let mut read = String::new();
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => read.push(chars.next().ok_or(FolderError::Wildcard)?),
            '*' | '?' | '[' | ']' | '{' | '}' => return Err(FolderError::Wildcard),
            c => read.push(c),
        }
    }
    match read.as_str() {
        "." | ".." => Err(FolderError::Path),
        _ => Ok(read.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    fn query(dir: &str, glob: &str, with: &[&str]) -> Result<FolderQuery, FolderError> {
        let with: Vec<String> = with.iter().map(|file| (*file).to_owned()).collect();
        FolderQuery::parse(&path(dir), glob, &with)
    }

    #[test]
    fn globs_of_folders() {
        for (dir, glob, with, word) in [
            (".", "packages/*", &[][..], "packages/*"),
            ("app", "./*/", &["b", "a"], "app/*//a//b"),
            (".", "*/*", &["x/y"], "*/*//x/y"),
            (".", r"a\*/*", &[], r"a\*/*"),
            ("[a]", "*", &[], r"\[a\]/*"),
        ] {
            let query = query(dir, glob, with).unwrap();
            assert_eq!(query.to_word(), Word::from(word));
            assert_eq!(FolderQuery::from_word(word.as_bytes()), Some(query));
        }
        use FolderError::{NoStar, Path, Wildcard};
        for (glob, error) in [
            ("packages/**", Wildcard),
            ("a*", Wildcard),
            ("{a,b}/*", Wildcard),
            ("a?/*", Wildcard),
            ("packages", NoStar),
            (r"\*", NoStar),
            ("../*", Path),
            ("/a/*", Path),
            ("", Path),
            ("a//*", Path),
            (r"\../*", Path),
        ] {
            assert_eq!(query(".", glob, &[]), Err(error), "{glob}");
        }
        assert_eq!(query(".", "*", &["../x"]), Err(Path));
        assert_eq!(
            FolderQuery::from_word(b"a/*//b//a"),
            None,
            "one text for each"
        );
    }

    #[test]
    fn folders_and_their_names() {
        let query = query("x", "*/b/*", &[]).unwrap();
        assert_eq!(query.folder_of(&path("x/1/b/2/f")), Some(path("x/1/b/2")));
        for outside in ["x/1/b/2", "x/1/c/2/f", "y/1/b/2/f", "x"] {
            assert_eq!(query.folder_of(&path(outside)), None, "{outside}");
        }
        let folder = path("x/1/b/2");
        let values: Vec<&[u8]> = query.values(&folder).collect();
        assert_eq!(values, [b"1", b"2"]);
        assert_eq!(query.folder(&values), Some(folder));
        assert_eq!(query.folder(&[b"1"]), None);
        assert_eq!(query.stars(), 2);
    }
}
