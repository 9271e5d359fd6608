//! Describes the repository at the start of a session, by which later work of it is recognised.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use vplan_base::canon::Digest;
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_git::reflog::Movement;
use vplan_git::refs::Refs;
use vplan_repo::load::Site;
use vplan_store::records::since_1970;

/// The age at which `git gc` may remove the line of a reflog, in seconds (`gc.reflogExpireUnreachable`).
const EXPIRES: u64 = 30 * 24 * 60 * 60;

/// The state of a repository at the start of a session.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "SessionStartState")]
pub struct StartState {
    /// The full name of the branch that was checked out, if one was.
    pub branch: Option<String>,
    /// The inode of the work tree's root.
    pub inode: u64,
    /// The digest of the last line of HEAD's reflog; absent without one.
    pub log_end: Option<String>,
    /// The time of that line, in seconds since 1970.
    #[serde(default)]
    pub log_end_at: u64,
    /// The number of lines of HEAD's reflog.
    pub log_lines: usize,
    /// The work tree's root; absent where its path is not UTF-8.
    pub root: Option<String>,
    /// The time of the start, in seconds since 1970.
    pub since: u64,
    /// The stash entries, by their commits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stashes: Vec<String>,
    /// The names of the other work trees below `.git/worktrees`; the empty one is the main work
    /// tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work_trees: Vec<String>,
}

/// Returns the inode of a folder; of a link, its own.
fn inode(path: &Path) -> Option<u64> {
    path.symlink_metadata().ok().map(|meta| meta.ino())
}

fn mark(movement: &Movement) -> String {
    let Movement {
        from,
        to,
        at,
        message,
    } = movement;
    let id = |id: &Option<Oid>| id.map(|id| id.to_string());
    Digest::of_value(&(id(from), id(to), at, message)).to_string()
}

impl StartState {
    /// Reads the present state.
    ///
    /// # Errors
    /// Errors of git.
    pub(super) fn of(site: &Site) -> Result<Self, GitError> {
        let state = Self {
            inode: inode(&site.root).unwrap_or_default(),
            root: site.root.to_str().map(str::to_owned),
            since: since_1970().as_secs(),
            ..Self::default()
        };
        let Some(git) = site.usable_git() else {
            return Ok(state);
        };
        let log = git.head_log()?.unwrap_or_default();
        Ok(Self {
            branch: Refs::new(git).head()?,
            log_end: log.last().map(mark),
            log_end_at: log.last().map_or(0, |movement| movement.at),
            log_lines: log.len(),
            stashes: (git.stashes()?.into_iter())
                .map(|(id, _)| id.to_string())
                .collect(),
            work_trees: (git.other_work_trees().into_iter())
                .map(|tree| tree.name)
                .collect(),
            ..state
        })
    }

    /// Returns where HEAD has been since the start, when it was at `head`. `None`: the reflog no
    /// longer says so.
    ///
    /// `git gc` removes lines that are old; what is left is complete if it begins at that HEAD.
    pub(super) fn since_start<'l>(
        &self,
        log: Option<&'l [Movement]>,
        head: Option<&Oid>,
    ) -> Option<&'l [Movement]> {
        let Some(end) = &self.log_end else {
            return Some(log.unwrap_or_default());
        };
        let log = log?;
        let is_end = |movement: &Movement| mark(movement) == *end;
        let last = self.log_lines.saturating_sub(1);
        let at = if log.get(last).is_some_and(is_end) {
            Some(last)
        } else {
            log.iter().rposition(is_end)
        };
        if let Some(at) = at {
            return log.get(at + 1..);
        }
        let is_old = self.since.saturating_sub(self.log_end_at) > EXPIRES;
        let begins_there = |first: &Movement| first.from.is_some() && first.from.as_ref() == head;
        (is_old && log.first().is_none_or(begins_there)).then_some(log)
    }

    /// Whether the folder at the root is the one of the start.
    pub(super) fn is_at(&self, root: &Path) -> bool {
        inode(root) == Some(self.inode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> Option<Oid> {
        Oid::parse(String::from(digit).repeat(40).as_bytes())
    }

    fn moved(from: char, to: char, at: u64) -> Movement {
        let message = "commit: x".to_owned();
        Movement {
            from: id(from),
            to: id(to),
            at,
            message,
        }
    }

    #[test]
    fn lines_since_the_start() {
        let log: Vec<Movement> = [('1', '2', 1), ('2', '3', 2), ('3', '4', 3), ('4', '5', 4)]
            .map(|(from, to, at)| moved(from, to, at))
            .to_vec();
        let start = StartState {
            log_end: Some(mark(&log[1])),
            log_lines: 2,
            since: 10,
            ..StartState::default()
        };
        let head = id('3');
        let of = |start: &StartState, log: &[Movement]| {
            start
                .since_start(Some(log), head.as_ref())
                .map(<[_]>::to_vec)
        };
        let since = |log: &[Movement]| of(&start, log);
        assert_eq!(since(&log), Some(log[2..].to_vec()));
        assert_eq!(since(&log[..2]), Some(Vec::new()));
        // Old lines were removed.
        assert_eq!(since(&log[1..]), Some(log[2..].to_vec()));
        assert_eq!(since(&log[2..]), None);
        // Lines of the session were removed, too, or all of them.
        assert_eq!(since(&log[3..]), None);
        assert_eq!(since(&[]), None);
        assert_eq!(start.since_start(None, head.as_ref()), None);
        // All of it was old.
        let old = StartState {
            since: 10 + EXPIRES,
            ..start.clone()
        };
        assert_eq!(of(&old, &[]), Some(Vec::new()));
        assert_eq!(of(&old, &log[2..]), Some(log[2..].to_vec()));
        assert_eq!(of(&old, &log[3..]), None);
        assert_eq!(old.since_start(None, head.as_ref()), None);
        // No reflog was there.
        let none = StartState::default();
        assert_eq!(none.since_start(Some(&log), None), Some(&log[..]));
        assert_eq!(none.since_start(None, None), Some(&[][..]));
    }
}
