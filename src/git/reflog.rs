//! Reads the positions of HEAD and the stash, the work trees that share the repository, and the
//! commits that HEAD does not contain.

use super::error::GitError;
use super::object::Oid;
use super::{Git, repository, words};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use vplan_base::word::{visible, visible_path};
use vplan_os::files::{self, names_in};

/// Size limit of a reflog, in bytes.
const MOST: u64 = 64 << 20;
/// Where git names what a rebase or a merge has stashed by itself.
const AUTOSTASHES: [&str; 3] = [
    "rebase-merge/autostash",
    "rebase-apply/autostash",
    "MERGE_AUTOSTASH",
];
/// Maximum number of commits in one call of git.
const ASKED: usize = 500;
/// The namespaces of references that are not work of this repository's users, or that have a log of
/// their own.
const FOREIGN: [&str; 4] = [
    "refs/remotes/",
    "refs/stash",
    "refs/bisect/",
    "refs/prefetch/",
];

/// A line of a reflog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// The commit before it; `None` if there was none.
    pub from: Option<Oid>,
    /// The commit after it; `None` if there is none.
    pub to: Option<Oid>,
    /// The time, in seconds since 1970.
    pub at: u64,
    /// The cause of the movement, on one line, safe to show.
    pub message: String,
}

/// Another work tree of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkTree {
    /// Its name below `.git/worktrees`; empty for the main one.
    pub name: String,
    /// Its root, as recorded in the repository.
    pub root: PathBuf,
    /// The directory of its HEAD.
    git_dir: PathBuf,
}

/// A branch, a tag or another reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The commit that it names.
    pub commit: Oid,
    /// Its full name, safe to show.
    pub name: String,
}

impl Movement {
    /// Parses a line of a reflog. `None` for anything that git does not write.
    fn parse(line: &[u8]) -> Option<Self> {
        let (head, message) = match line.iter().position(|b| *b == b'\t') {
            Some(at) => line.split_at_checked(at)?,
            None => (line, &b""[..]),
        };
        let mut words = head.split(|b| *b == b' ');
        let (from, to) = (words.next()?, words.next()?);
        let (_zone, at) = (words.next_back()?, words.next_back()?);
        Some(Self {
            from: commit(from)?,
            to: commit(to)?,
            at: std::str::from_utf8(at).ok()?.parse().ok()?,
            message: visible(message.trim_ascii()),
        })
    }

    /// Whether it brought HEAD to a commit that existed already, by its message.
    pub fn finds_commit(&self) -> bool {
        let word = self.message.split([':', ' ']).next().unwrap_or_default();
        matches!(word, "checkout" | "reset" | "clone" | "Branch" | "bisect")
            || self.message.ends_with(": Fast-forward")
            || self.message.contains("(start): checkout")
            || self.message.contains("): returning to ")
    }

    /// Returns the branches between which it moved HEAD, by their full names; an id may be among
    /// them.
    pub fn branches(&self) -> Vec<String> {
        let names = self.message.strip_prefix("checkout: moving from ");
        let names = names.and_then(|rest| rest.split_once(" to "));
        let names = names.map_or_else(Vec::new, |(from, to)| vec![from, to]);
        names
            .into_iter()
            .map(|name| format!("refs/heads/{name}"))
            .collect()
    }

    /// Whether HEAD moved away from a commit without a branch.
    pub fn leaves_detached(&self) -> bool {
        let from = self.message.strip_prefix("checkout: moving from ");
        let from = from.and_then(|rest| rest.split(' ').next());
        from.is_some_and(|name| Oid::parse(name.as_bytes()) == self.from && self.from.is_some())
    }
}

/// Parses an id; `Some(None)` for the null id.
fn commit(hex: &[u8]) -> Option<Option<Oid>> {
    let id = Oid::parse(hex)?;
    Some((!hex.iter().all(|b| *b == b'0')).then_some(id))
}

/// Parses the reflog of a file, the oldest line first.
pub fn parse(bytes: &[u8]) -> Vec<Movement> {
    bytes
        .split(|b| *b == b'\n')
        .filter_map(Movement::parse)
        .collect()
}

/// Parses git's listing of a reflog in a format that only git can read, the newest line first.
fn listed(text: &[u8]) -> Vec<Movement> {
    let mut all: Vec<Movement> = Vec::new();
    let lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
    for line in lines.into_iter().rev() {
        let fields = || {
            let mut fields = line.splitn(3, |b| *b == b'\t');
            let to = commit(fields.next()?)?;
            let selector = std::str::from_utf8(fields.next()?).ok()?;
            let at = selector.rsplit_once("@{")?.1.strip_suffix('}')?;
            Some(Movement {
                from: all.last().and_then(|before| before.to),
                to,
                at: at.parse().ok()?,
                message: visible(fields.next()?.trim_ascii()),
            })
        };
        all.extend(fields());
    }
    all
}

impl WorkTree {
    /// The branch that is checked out, by its full name.
    pub fn branch(&self) -> Option<String> {
        let head = files::read_plain(&self.git_dir.join("HEAD"), 1 << 16).ok()?;
        let name = head.strip_prefix(b"ref: ")?.trim_ascii();
        Some(visible(name))
    }
}

impl Git {
    /// Returns the positions of HEAD in this work tree, the oldest first; `None` without a reflog.
    ///
    /// # Errors
    /// Errors of git, and a file that cannot be read.
    pub fn head_log(&self) -> Result<Option<Vec<Movement>>, GitError> {
        self.log_of(&self.layout.git_dir, "HEAD")
    }

    fn log_of(&self, dir: &Path, name: &str) -> Result<Option<Vec<Movement>>, GitError> {
        if self.layout.common_dir.join("reftable").is_dir() {
            let format = "--format=%H%x09%gd%x09%gs";
            let output =
                self.call(&["log", "--walk-reflogs", "--date=unix", format, name, "--"])?;
            // A reference that does not exist has no log.
            let log = listed(&output.stdout);
            return Ok((!log.is_empty()).then_some(log));
        }
        match files::read_plain(&dir.join("logs").join(name), MOST) {
            Ok(bytes) => Ok(Some(parse(&bytes))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(_) => Err(GitError::Unreadable("reflog")),
        }
    }

    /// Returns the stash entries with their messages, and what a rebase or a merge of this work tree
    /// has stashed until it ends.
    ///
    /// # Errors
    /// As [`Git::head_log`].
    pub fn stashes(&self) -> Result<Vec<(Oid, String)>, GitError> {
        let log = self.log_of(&self.layout.common_dir, "refs/stash")?;
        let mut all: Vec<(Oid, String)> = log
            .into_iter()
            .flatten()
            .filter_map(|movement| Some((movement.to?, movement.message)))
            .collect();
        // The newest entry is a reference, whether its log is there or not.
        let tip = self.stash_tip();
        all.extend(
            tip.filter(|tip| all.iter().all(|(id, _)| id != tip))
                .map(|tip| (tip, String::new())),
        );
        let aside = AUTOSTASHES.map(|name| self.layout.git_dir.join(name));
        let aside = aside.iter().filter_map(|path| {
            let text = files::read_plain(path, 1 << 10).ok()?;
            Some((Oid::parse(text.trim_ascii())?, "autostash".to_owned()))
        });
        all.extend(aside);
        Ok(all)
    }

    /// Returns the newest stash entry, by the files of references.
    fn stash_tip(&self) -> Option<Oid> {
        match files::read_plain(&self.layout.common_dir.join("refs/stash"), 1 << 10) {
            Ok(loose) => Oid::parse(loose.trim_ascii()),
            Err(_) => self.layout.packed(b"refs/stash"),
        }
    }

    /// Returns the other work trees of the repository.
    pub fn other_work_trees(&self) -> Vec<WorkTree> {
        let common = real(&self.layout.common_dir);
        let folder = common.join("worktrees");
        let linked = names_in(&folder).into_iter().filter_map(|name| {
            let git_dir = folder.join(&name);
            let file = files::read_plain(&git_dir.join("gitdir"), 1 << 16).ok()?;
            let root = Path::new(OsStr::from_bytes(file.trim_ascii_end())).parent()?;
            Some(WorkTree {
                name: visible_path(&name),
                root: git_dir.join(root),
                git_dir,
            })
        });
        let root = common.parent().unwrap_or(&common).to_owned();
        let main = repository::at(&root)
            .filter(|layout| real(&layout.git_dir) == common)
            .map(|_| WorkTree {
                name: String::new(),
                root,
                git_dir: common.clone(),
            });
        let own = real(&self.layout.git_dir);
        let all = main.into_iter().chain(linked);
        all.filter(|tree| tree.git_dir != own).collect()
    }

    /// Returns the commits that neither HEAD nor one of the `known` ones contains, without those
    /// that another one of them contains.
    ///
    /// # Errors
    /// Errors of git.
    pub fn outside_head(&self, commits: &[Oid], known: &[Oid]) -> Result<Vec<Oid>, GitError> {
        let Some(head) = self.head()? else {
            return Ok(commits.to_vec());
        };
        let asked = || commits.iter().rev().take(ASKED).filter(|id| **id != head);
        if asked().next().is_none() {
            return Ok(Vec::new());
        }
        let ids = asked().map(ToString::to_string).chain(["--not".to_owned()]);
        let ids = ids.chain([&head].into_iter().chain(known).map(ToString::to_string));
        let mut arguments = words("rev-list --ignore-missing --parents", ids);
        arguments.push("--".into());
        let output = self.ask(&arguments)?;
        let (mut listed, mut parents) = (BTreeSet::new(), BTreeSet::new());
        for line in output.split(|b| *b == b'\n') {
            let mut ids = line.split(|b| *b == b' ').filter_map(Oid::parse);
            listed.extend(ids.next());
            parents.extend(ids);
        }
        let mut tips: Vec<Oid> = asked()
            .filter(|id| listed.contains(id) && !parents.contains(id))
            .copied()
            .collect();
        tips.sort_unstable();
        tips.dedup();
        Ok(tips)
    }

    /// Returns the branches, tags and other references that contain a commit.
    ///
    /// # Errors
    /// Errors of git.
    pub fn references_with(&self, commit: &Oid) -> Result<Vec<String>, GitError> {
        let contains = format!("--contains={commit}");
        let text = self.ask(&["for-each-ref", "--format=%(refname)", &contains])?;
        let names = text.split(|b| *b == b'\n').filter(|name| !name.is_empty());
        Ok(names
            .filter(|name| *name != b"refs/stash")
            .map(visible)
            .collect())
    }

    /// Returns the local references to commits made since a time, in seconds since 1970, by the
    /// commits' own dates.
    ///
    /// # Errors
    /// Errors of git.
    pub fn references_since(&self, time: u64) -> Result<Vec<Reference>, GitError> {
        let format = "--format=%(creatordate:unix) %(objectname) %(*objectname) %(refname)";
        let text = self.ask(&["for-each-ref", format])?;
        let read = |line: &[u8]| {
            let mut fields = line.splitn(4, |b| *b == b' ');
            let date: u64 = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
            let (object, target) = (fields.next()?, fields.next()?);
            let name = visible(fields.next()?);
            let own = date >= time && !FOREIGN.iter().any(|f| name.starts_with(f));
            let commit = Oid::parse(if target.is_empty() { object } else { target })?;
            own.then_some(Reference { commit, name })
        };
        Ok(text.split(|b| *b == b'\n').filter_map(read).collect())
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    const NONE: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn lines_of_a_reflog() {
        let text = format!(
            "{NONE} {A} A B <a@b> 1700000000 +0000\tcommit (initial): x\n\
             nonsense\n\
             {A} {B} A B <a@b> 1700000001 -0930\tcommit: y\tz\n\
             {B} {A} <> 1700000002 +0000\n"
        );
        let log = parse(text.as_bytes());
        let (a, b) = (Oid::parse(A.as_bytes()), Oid::parse(B.as_bytes()));
        let ends: Vec<_> = log.iter().map(|m| (m.from, m.to, m.at)).collect();
        assert_eq!(
            ends,
            [
                (None, a, 1_700_000_000),
                (a, b, 1_700_000_001),
                (b, a, 1_700_000_002)
            ]
        );
        assert!(log[0].message == "commit (initial): x" && log[2].message.is_empty());
        assert_eq!(parse(b""), []);
    }

    #[test]
    fn what_git_lists_reads_as_the_file() {
        let text = format!("{B}\tHEAD@{{1700000001}}\tcommit: y\n{A}\tHEAD@{{1700000000}}\tx\n");
        let log = listed(text.as_bytes());
        assert_eq!((log[0].from, log[0].at), (None, 1_700_000_000));
        assert_eq!(log[1].from, log[0].to);
        assert_eq!(log[1].message, "commit: y");
    }

    #[test]
    fn movements_by_their_messages() {
        let movement = |message: &str| Movement {
            from: Oid::parse(A.as_bytes()),
            to: Oid::parse(B.as_bytes()),
            at: 0,
            message: message.to_owned(),
        };
        for message in [
            "checkout: moving from a to b",
            "reset: moving to HEAD~1",
            "pull: Fast-forward",
            "merge origin/main: Fast-forward",
            "rebase (start): checkout main",
            "rebase -i (finish): returning to refs/heads/x",
            "pull --rebase (start): checkout abc",
            "clone: from x",
        ] {
            assert!(movement(message).finds_commit(), "{message}");
        }
        for message in [
            "commit: checkout",
            "commit (amend): x",
            "rebase (pick): x",
            "cherry-pick: x",
            "merge b: Merge made by the 'ort' strategy.",
            "revert: x",
            "am: x",
            "",
        ] {
            assert!(!movement(message).finds_commit(), "{message}");
        }
        let detached = format!("checkout: moving from {A} to main");
        assert!(movement(&detached).leaves_detached());
        for message in ["checkout: moving from a to main", "reset: moving to b"] {
            assert!(!movement(message).leaves_detached(), "{message}");
        }
    }
}
