//! Paths of the repository's files.

use super::word::{bytes_schema, deserialize_bytes, serialize_bytes, visible};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;

/// A path below the repository's root: bytes, `/` between segments, no `.`, `..` or empty segment.
/// The root is `.`.
///
/// Shared, because thousands of reasons name the same changed files.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Arc<[u8]>);

/// The reason why a text is not a path of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// It is empty.
    Empty,
    /// It begins with `/`.
    Absolute,
    /// It leaves the repository.
    Outside,
    /// It holds a NUL byte.
    Nul,
}

impl Default for RepoPath {
    fn default() -> Self {
        Self::root()
    }
}

fn is_exact(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && !bytes.contains(&0)
        && bytes
            .split(|b| *b == b'/')
            .all(|s| !matches!(s, b"" | b"." | b".."))
}

impl RepoPath {
    /// Returns the repository's root, written `.`.
    pub fn root() -> Self {
        Self(Arc::from(*b"."))
    }

    /// Takes a name exactly as git or a directory entry gives it. `None` if it cannot be a path of
    /// a repository.
    pub fn from_exact(bytes: &[u8]) -> Option<Self> {
        is_exact(bytes).then(|| Self(Arc::from(bytes)))
    }

    /// Takes a name like [`RepoPath::from_exact`], without a copy of it.
    pub fn from_shared(bytes: &Arc<[u8]>) -> Option<Self> {
        is_exact(bytes).then(|| Self(Arc::clone(bytes)))
    }

    /// Parses a path that a person wrote. `.` segments, doubled and trailing slashes are removed,
    /// and `..` removes a segment.
    ///
    /// # Errors
    /// Empty, absolute and escaping paths, and NUL bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, PathError> {
        Self::root().join(bytes)
    }

    /// Reads a path relative to this one, as [`RepoPath::parse`] does.
    ///
    /// # Errors
    /// Empty, absolute and escaping paths, and NUL bytes.
    pub fn join(&self, bytes: &[u8]) -> Result<Self, PathError> {
        // Most paths, and all that git lists, need no change.
        if self.is_root()
            && let Some(exact) = Self::from_exact(bytes)
        {
            return Ok(exact);
        }
        match bytes {
            [] => return Err(PathError::Empty),
            [b'/', ..] => return Err(PathError::Absolute),
            _ if bytes.contains(&0) => return Err(PathError::Nul),
            _ => {}
        }
        let mut segments: Vec<&[u8]> = if self.is_root() {
            Vec::new()
        } else {
            self.segments().collect()
        };
        for segment in bytes.split(|b| *b == b'/') {
            match segment {
                b"" | b"." => {}
                b".." => {
                    segments.pop().ok_or(PathError::Outside)?;
                }
                name => segments.push(name),
            }
        }
        if segments.is_empty() {
            return Ok(Self::root());
        }
        Ok(Self(segments.join(&b'/').into()))
    }

    /// Returns the bytes, `.` for the root.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        &*self.0 == b"."
    }

    /// Returns the segments; the root has the one segment `.`.
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|b| *b == b'/')
    }

    /// Returns the directory that contains it, `.` for the root.
    pub fn folder(&self) -> RepoPath {
        let slash = self.0.iter().rposition(|b| *b == b'/');
        let above = slash.and_then(|end| self.0.get(..end));
        above.and_then(Self::from_exact).unwrap_or_default()
    }

    /// Returns the target of a symlink at this path, by its text alone; `None` if that could be
    /// outside, or depends on other links.
    pub fn leads_to(&self, target: &[u8]) -> Option<RepoPath> {
        let mut folder = Some(self.folder());
        let mut below: Vec<&[u8]> = Vec::new();
        for part in target.split(|byte| *byte == b'/').enumerate() {
            match part {
                (0, b"") => return None,
                (_, b"" | b".") => {}
                (_, b"..") if !below.is_empty() => return None,
                (_, b"..") => {
                    let here = folder.filter(|folder| !folder.is_root())?;
                    folder = Some(here.folder());
                }
                (_, name) => below.push(name),
            }
        }
        let folder = folder?;
        if below.is_empty() {
            return Some(folder);
        }
        folder.join(&below.join(&b'/')).ok()
    }

    /// Returns the directories around it, the outermost first, and itself last; empty for the root.
    pub fn ancestors(&self) -> Vec<RepoPath> {
        let bytes = self.0.iter().enumerate();
        let ends = bytes.filter(|(_, b)| **b == b'/').map(|(at, _)| at);
        let part = |end: usize| self.0.get(..end).and_then(RepoPath::from_exact);
        ends.chain([self.0.len()])
            .filter_map(part)
            .filter(|p| !p.is_root())
            .collect()
    }

    /// Returns the part of `self` below `dir`, if it is there.
    pub fn below(&self, dir: &RepoPath) -> Option<&[u8]> {
        if dir.is_root() {
            return Some(&self.0);
        }
        self.0.strip_prefix(&*dir.0)?.strip_prefix(b"/")
    }

    /// Returns the last segment.
    pub fn name(&self) -> &[u8] {
        self.0.rsplit(|b| *b == b'/').next().unwrap_or(&self.0)
    }

    /// Replaces the ending of the last segment: `a/b.x` with `.lock.kdl` is `a/b.lock.kdl`. A
    /// leading dot begins no ending.
    pub fn with_ending(&self, ending: &[u8]) -> Self {
        let own = match self.name().iter().rposition(|b| *b == b'.') {
            Some(at) if at > 0 => self.name().len() - at,
            _ => 0,
        };
        let kept = self.0.get(..self.0.len() - own).unwrap_or(&self.0);
        Self::from_exact(&[kept, ending].concat()).unwrap_or_else(Self::root)
    }

    /// Converts to an operating system path, relative to the root.
    pub fn to_os(&self) -> std::path::PathBuf {
        use std::os::unix::ffi::OsStrExt;
        std::path::PathBuf::from(std::ffi::OsStr::from_bytes(&self.0))
    }
}

impl std::fmt::Display for RepoPath {
    /// Writes the path with everything escaped that could harm a terminal.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&visible(&self.0))
    }
}

impl std::fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RepoPath({self})")
    }
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_bytes(&self.0, serializer)
    }
}

impl JsonSchema for RepoPath {
    fn schema_name() -> Cow<'static, str> {
        "RepoPath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        bytes_schema(
            "A path relative to the repository's root, which is `.`; its bytes in base64 when they are not UTF-8.",
        )
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = deserialize_bytes(deserializer)?;
        if bytes == b"." {
            return Ok(Self::root());
        }
        Self::from_exact(&bytes)
            .ok_or_else(|| serde::de::Error::custom("not a path of the repository"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_where_their_text_says_or_nowhere() {
        let path = |text: &str| RepoPath::parse(text.as_bytes()).unwrap();
        for (target, want) in [
            ("x", Some("out/deep/x")),
            ("./x/y", Some("out/deep/x/y")),
            ("../x", Some("out/x")),
            ("../../src/a", Some("src/a")),
            ("../..", Some(".")),
            ("../../../x", None),
            ("x/../y", None),
            ("/etc/passwd", None),
            ("", None),
        ] {
            let found = path("out/deep/link").leads_to(target.as_bytes());
            assert_eq!(found, want.map(path), "{target}");
        }
    }

    #[test]
    fn paths() {
        for (text, want) in [
            ("a/b", Ok("a/b")),
            ("./a//b/", Ok("a/b")),
            ("a/../b", Ok("b")),
            (".", Ok(".")),
            ("a/..", Ok(".")),
            ("..", Err(PathError::Outside)),
            ("a/../../b", Err(PathError::Outside)),
            ("/a", Err(PathError::Absolute)),
            ("", Err(PathError::Empty)),
        ] {
            let got = RepoPath::parse(text.as_bytes());
            assert_eq!(
                got.map(|p| p.to_string()),
                want.map(str::to_owned),
                "{text}"
            );
        }
        let dir = RepoPath::parse(b"apps/web").unwrap();
        assert_eq!(
            RepoPath::parse(b"apps/web/a").unwrap().below(&dir),
            Some(&b"a"[..])
        );
        assert_eq!(RepoPath::parse(b"apps/web2").unwrap().below(&dir), None);
    }
}
