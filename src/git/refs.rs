//! Reads branches and remotes from the repository's files, because each call of git costs a
//! process. If the files have another format, git is called once for all of it.

use super::error::GitError;
use super::object::Oid;
use super::repository::find_packed;
use super::{Git, command, split_nul};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use vplan_os::files;

/// Size limit of one reference's file, in bytes.
const MAX_LOOSE: u64 = 64 << 10;
/// Size limit of the packed references, in bytes.
const MAX_PACKED: u64 = 64 << 20;
/// Size limit of a configuration, in bytes.
const MAX_CONFIG: u64 = 1 << 20;

/// The target of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefTarget {
    Id(Oid),
    /// Another reference, by its full name.
    Symbolic(String),
}

/// A remote of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitRemote {
    pub name: String,
    /// Its first `url` line.
    pub url: String,
    /// Its `fetch` lines.
    pub fetch: Vec<String>,
}

impl GitRemote {
    /// Whether `git fetch REMOTE BRANCH` updates `refs/remotes/REMOTE/BRANCH`.
    pub fn follows(&self, branch: &str) -> bool {
        let spec =
            |source: &str| format!("refs/heads/{source}:refs/remotes/{}/{source}", self.name);
        let (all, one) = (spec("*"), spec(branch));
        let mut specs = self.fetch.iter().map(|f| f.strip_prefix('+').unwrap_or(f));
        specs.any(|f| f == all || f == one)
    }
}

/// A reference as git lists it.
#[derive(Debug)]
struct Listed {
    name: String,
    target: RefTarget,
    is_head: bool,
}

/// The references of a repository.
#[derive(Debug)]
pub struct Refs<'g> {
    git: &'g Git,
    packed: OnceCell<Option<Vec<u8>>>,
    listed: OnceCell<Result<Vec<Listed>, GitError>>,
}

/// The result of reading a reference's file.
enum RefContent {
    Names(RefTarget),
    Absent,
    /// A form that git must parse.
    Unsupported,
}

impl<'g> Refs<'g> {
    /// Makes an empty reader.
    pub fn new(git: &'g Git) -> Self {
        Self {
            git,
            packed: OnceCell::new(),
            listed: OnceCell::new(),
        }
    }

    /// Returns the target of a reference below `refs/heads/` or `refs/remotes/`; `None` if it does
    /// not exist.
    ///
    /// # Errors
    /// Errors of git, if it is called.
    pub fn get(&self, name: &str) -> Result<Option<RefTarget>, GitError> {
        if !is_plain(name) {
            return Ok(None);
        }
        match self.read_ref(name) {
            RefContent::Names(target) => Ok(Some(target)),
            RefContent::Absent => Ok(None),
            RefContent::Unsupported => {
                let listed = self.listed()?.iter().find(|l| l.name == name);
                Ok(listed.map(|l| l.target.clone()))
            }
        }
    }

    /// Returns the object that a reference names, directly or through others; `None` if it does not
    /// exist.
    ///
    /// # Errors
    /// Errors of git, if it is called.
    pub fn id(&self, name: &str) -> Result<Option<Oid>, GitError> {
        let mut name = name.to_owned();
        for _ in 0..5 {
            match self.get(&name)? {
                Some(RefTarget::Id(id)) => return Ok(Some(id)),
                Some(RefTarget::Symbolic(next)) => name = next,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Returns the full name of the branch that is checked out; `None` when HEAD is detached.
    ///
    /// # Errors
    /// Errors of git, if it is called.
    pub fn head(&self) -> Result<Option<String>, GitError> {
        if !self.is_of_files() {
            let head = self.listed()?.iter().find(|l| l.is_head);
            return Ok(head.map(|l| l.name.clone()));
        }
        let bytes = files::read_plain(&self.git.layout().git_dir.join("HEAD"), MAX_LOOSE)
            .unwrap_or_default();
        Ok(match read_target(&bytes) {
            Some(RefTarget::Symbolic(name)) => Some(name),
            _ => None,
        })
    }

    /// Whether the repository has had a commit: there is a reference, HEAD has a log, something was
    /// fetched, or a work tree is at a commit.
    ///
    /// # Errors
    /// Errors of git, if it is called.
    pub fn has_commits(&self) -> Result<bool, GitError> {
        let layout = self.git.layout();
        let has_content = |path: &Path| path.metadata().is_ok_and(|file| file.len() > 0);
        let is_at_commit = |dir: &Path| {
            let head = files::read_plain(&dir.join("HEAD"), MAX_LOOSE).unwrap_or_default();
            matches!(read_target(&head), Some(RefTarget::Id(_)))
        };
        let others = layout.common_dir.join("worktrees").read_dir();
        let others = others.into_iter().flatten().flatten();
        let mut dirs = vec![layout.git_dir.clone(), layout.common_dir.clone()];
        dirs.extend(others.map(|entry| entry.path()));
        let has_traces = |dir: &PathBuf| {
            ["logs/HEAD", "FETCH_HEAD"]
                .iter()
                .any(|name| has_content(&dir.join(name)))
                || is_at_commit(dir)
        };
        let any = ["for-each-ref", "--count=1", "--format=%(refname)"];
        Ok(dirs.iter().any(has_traces) || !self.git.ask(&any)?.is_empty())
    }

    /// Returns the remotes of the configuration that have a URL, by name.
    ///
    /// # Errors
    /// Errors of git, if it is called.
    pub fn remotes(&self) -> Result<Vec<GitRemote>, GitError> {
        let bytes =
            match files::read_plain(&self.git.layout().common_dir.join("config"), MAX_CONFIG) {
                Ok(bytes) => Some(bytes),
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                Err(_) => None,
            };
        if let Some(found) = bytes.and_then(|bytes| settings(&bytes)) {
            return Ok(gather(found));
        }
        let words = command(r"config --null --get-regexp ^remote\..*\.(url|fetch)$");
        let output = self.git.call(&words)?;
        let text = |record: Vec<u8>| String::from_utf8(record).ok();
        let setting = |record: String| {
            let (key, value) = record.split_once('\n')?;
            let (name, key) = key.strip_prefix("remote.")?.rsplit_once('.')?;
            Some((name.to_owned(), key.to_owned(), value.to_owned()))
        };
        let found = split_nul(&output.stdout).into_iter().filter_map(text);
        Ok(gather(found.filter_map(setting).collect()))
    }

    /// Whether references are files here, and not tables.
    fn is_of_files(&self) -> bool {
        !self.git.layout().common_dir.join("reftable").is_dir()
    }

    fn read_ref(&self, name: &str) -> RefContent {
        let common = &self.git.layout().common_dir;
        if !self.is_of_files() {
            return RefContent::Unsupported;
        }
        match files::read_plain(&common.join(name), MAX_LOOSE) {
            Ok(bytes) => read_target(&bytes).map_or(RefContent::Unsupported, RefContent::Names),
            Err(e) if is_absent(&e, &common.join(name)) => self.packed(name),
            Err(_) => RefContent::Unsupported,
        }
    }

    fn packed(&self, name: &str) -> RefContent {
        let path = self.git.layout().common_dir.join("packed-refs");
        let read = || match files::read_plain(&path, MAX_PACKED) {
            Ok(bytes) => Some(bytes),
            Err(e) if e.kind() == ErrorKind::NotFound => Some(Vec::new()),
            Err(_) => None,
        };
        let Some(bytes) = self.packed.get_or_init(read) else {
            return RefContent::Unsupported;
        };
        match find_packed(bytes, name.as_bytes()) {
            Some(Some(id)) => RefContent::Names(RefTarget::Id(id)),
            Some(None) => RefContent::Unsupported,
            None => RefContent::Absent,
        }
    }

    fn listed(&self) -> Result<&[Listed], GitError> {
        let list = || {
            let format = "--format=%(HEAD)%(objectname) %(refname) %(symref)";
            let words = ["for-each-ref", format, "refs/heads/", "refs/remotes/"];
            let output = self.git.ask(&words)?;
            let text = String::from_utf8_lossy(&output);
            Ok(text.lines().filter_map(read_listed).collect())
        };
        let listed = self.listed.get_or_init(list).as_deref();
        listed.map_err(Clone::clone)
    }
}

fn read_listed(line: &str) -> Option<Listed> {
    let is_head = line.starts_with('*');
    let mut fields = line.get(1..)?.split(' ');
    let (id, name) = (fields.next()?, fields.next()?);
    let target = match fields.next().unwrap_or_default() {
        "" => RefTarget::Id(Oid::parse(id.as_bytes())?),
        other => RefTarget::Symbolic(other.to_owned()),
    };
    Some(Listed {
        name: name.to_owned(),
        target,
        is_head,
    })
}

/// Whether a name is looked up below `refs/`, and cannot leave it.
fn is_plain(name: &str) -> bool {
    let part = |s: &str| !matches!(s, "" | "." | "..") && !s.ends_with(".lock");
    (name.starts_with("refs/heads/") || name.starts_with("refs/remotes/"))
        && name.split('/').all(part)
        && !name.contains('\0')
}

fn is_absent(error: &io::Error, path: &Path) -> bool {
    // A folder of this name contains longer names.
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        || path.symlink_metadata().is_ok_and(|m| m.is_dir())
}

fn read_target(bytes: &[u8]) -> Option<RefTarget> {
    let line = bytes.trim_ascii_end();
    match line.strip_prefix(b"ref: ") {
        Some(name) => std::str::from_utf8(name.trim_ascii_start())
            .ok()
            .map(|n| RefTarget::Symbolic(n.to_owned())),
        None => Oid::parse(line).map(RefTarget::Id),
    }
}

/// Parses the settings `remote.NAME.url` and `remote.NAME.fetch` of a configuration; `None` for
/// anything that only git can read: other files, continued lines, quoting.
fn settings(bytes: &[u8]) -> Option<Vec<(String, String, String)>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (mut found, mut remote) = (Vec::new(), None);
    for line in text.lines().map(str::trim) {
        if line.ends_with('\\') {
            return None;
        }
        if let Some(head) = line.strip_prefix('[') {
            let name = head.trim_start().to_ascii_lowercase();
            if name.starts_with("include") || name.starts_with("remote.") {
                return None;
            }
            remote = if name.starts_with("remote") {
                remote_of(head.trim_start())?
            } else {
                None
            };
            // The text after a head on its line is a setting.
            let plain = head.ends_with(']')
                || head
                    .split_once(']')
                    .is_some_and(|(_, r)| r.trim().starts_with(['#', ';']));
            if !plain {
                return None;
            }
        } else if let (Some(name), Some((key, value))) = (&remote, line.split_once('=')) {
            let key = key.trim().to_ascii_lowercase();
            if (key == "url" || key == "fetch") && !value.contains(['"', '\\']) {
                found.push((String::clone(name), key, value.trim().to_owned()));
            } else if key == "url" || key == "fetch" {
                return None;
            }
        }
    }
    Some(found)
}

/// Parses the name in `remote "NAME"]`. `Some(None)` for `remote]`, `None` for names that git must
/// parse.
fn remote_of(head: &str) -> Option<Option<String>> {
    let rest = head.get("remote".len()..)?.trim_start();
    if rest.starts_with(']') {
        return Some(None);
    }
    let (name, end) = rest.strip_prefix('"')?.split_once('"')?;
    (end.starts_with(']') && !name.contains('\\')).then(|| Some(name.to_owned()))
}

fn gather(found: Vec<(String, String, String)>) -> Vec<GitRemote> {
    let of = |name: &str, wanted: &str| {
        let own = found
            .iter()
            .filter(|(n, key, _)| n == name && key == wanted);
        own.map(|(.., value)| value.clone()).collect::<Vec<_>>()
    };
    let with_url = found.iter().filter(|(_, key, _)| key == "url");
    let names: BTreeSet<&String> = with_url.map(|(name, ..)| name).collect();
    let remote = |name: &String| GitRemote {
        name: name.clone(),
        url: of(name, "url").into_iter().next().unwrap_or_default(),
        fetch: of(name, "fetch"),
    };
    names.into_iter().map(remote).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_of_a_configuration() {
        let names = |text: &str| {
            settings(text.as_bytes())
                .map(|f| gather(f).into_iter().map(|r| r.name).collect::<Vec<_>>())
        };
        let some = |list: &[&str]| Some(list.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        for (text, want) in [
            ("", some(&[])),
            (
                "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n\tfetch = y\n",
                some(&["origin"]),
            ),
            (
                "[REMOTE \"b\"] # said\nURL=x\n[remote \"a/c\"]\n url = y\n",
                some(&["a/c", "b"]),
            ),
            // A remote needs a section with a URL: comments and the settings of all remotes do not
            // count.
            (
                "[remote \"o\"]\n\tprune = true\n#[remote \"p\"]\n#url=x\n[remote]\n\tpushDefault = q\n\turl = x\n",
                some(&[]),
            ),
            ("[include]\n\tpath = x\n", None),
            ("[includeIf \"gitdir:x\"]\n\tpath = x\n", None),
            ("[remote.old]\n\turl = x\n", None),
            (
                "[alias]\n\tx = \"a\\\n[remote \\\"y\\\"]\n\turl = z\"\n",
                None,
            ),
            ("[remote \"a\\\"b\"]\n\turl = x\n", None),
            ("[remote \"a\"] url = x\n", None),
        ] {
            assert_eq!(names(text), want, "{text}");
        }
        let remote = |fetch: &str| GitRemote {
            url: "x".to_owned(),
            name: "origin".into(),
            fetch: vec![fetch.into()],
        };
        assert!(remote("+refs/heads/*:refs/remotes/origin/*").follows("main"));
        assert!(remote("refs/heads/main:refs/remotes/origin/main").follows("main"));
        assert!(!remote("+refs/heads/work:refs/remotes/origin/work").follows("main"));
    }

    #[test]
    fn names_stay_below_refs() {
        for (name, want) in [
            ("refs/heads/main", true),
            ("refs/remotes/origin/a/b", true),
            ("refs/tags/v1", false),
            ("refs/heads/../../config", false),
            ("refs/heads//x", false),
            ("refs/heads/x.lock", false),
            ("HEAD", false),
        ] {
            assert_eq!(is_plain(name), want, "{name}");
        }
    }
}
