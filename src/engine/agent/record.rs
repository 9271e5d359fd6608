//! Stores the start of an agent's session in the state directory: the commit, and the state of the
//! repository.

use crate::{Digest, Engine, Failure, Git, GitError, Oid, Site, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use vplan_git::reflog::Movement;
use vplan_git::refs::Refs;
use vplan_os::files::{names_in, read_plain, remove, replace};
use vplan_store::records::since_1970;

/// The folder in the state directory.
const FOLDER: &str = "sessions";
/// The number of remembered sessions: the newest.
const KEPT: usize = 200;
/// Size limit of a record, in bytes.
const MOST: u64 = 1 << 20;

/// The record of the start of a session: `sessions/ID.json` of the state directory.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "SessionRecord")]
pub struct Record {
    /// The time of the start.
    pub at: String,
    /// The commit that its change begins at; absent without git.
    pub base: Option<String>,
    /// Whether the agent was sent back since the last pass.
    #[serde(default, skip_serializing_if = "is_false")]
    pub blocked: bool,
    /// Whether there was a contract then.
    pub contract: bool,
    /// The commit that was checked out; absent without git, and before the first commit.
    pub head: Option<String>,
    /// Whether it goes on with what an earlier session left unfinished.
    pub inherited: bool,
    /// The digests of the agent's settings then, by their paths; `null` for a file that was not
    /// there.
    pub settings: Vec<(String, Option<String>)>,
    /// The newest contents that passed in the session: digests of a path and its content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<String>,
    /// The state of the repository then.
    pub start: Option<StartState>,
    /// The digest of the work tree, if it was known.
    pub tree: Option<String>,
    /// The number of rounds in a row that could not be recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unrecorded: u32,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The agent that wants to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopping<'a> {
    /// The id of the session.
    pub session: &'a str,
    /// The id of a subagent, which has its own subject; `None` for the main agent.
    pub subagent: Option<&'a str>,
}

impl Stopping<'_> {
    /// Returns the subject of its rounds.
    pub fn subject(&self) -> String {
        match self.subagent {
            None => subject(self.session),
            Some(agent) => format!("{}/{agent}", subject(self.session)),
        }
    }
}

/// The subject of a session.
pub fn subject(id: &str) -> String {
    format!("session/{id}")
}

/// The present state of the work tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Now {
    pub head: Option<String>,
    /// `None` if it is not known; an unknown tree equals no other.
    pub tree: Option<String>,
}

impl Now {
    pub(super) fn read(git: Option<&Git>) -> Self {
        let head = git.and_then(|git| git.head().ok().flatten());
        let tree = git.and_then(|git| git.snapshot().ok());
        Self {
            head: head.map(|id| id.to_string()),
            tree: tree.map(|s| s.digest(None).to_string()),
        }
    }

    /// Whether nothing has happened since the start of a session.
    pub(super) fn is_start_of(&self, record: &Record) -> bool {
        self.tree.is_some() && self.tree == record.tree && self.head == record.head
    }
}

/// Returns the records of a session in the state of any repository, with those states.
pub(super) fn records_anywhere(engine: &Engine<'_>, id: &str) -> Vec<(PathBuf, Record)> {
    let Ok(base) = engine.state_base() else {
        return Vec::new();
    };
    let places = names_in(&base).into_iter().map(|name| base.join(name));
    let found = places.filter_map(|place| read(&place, id).map(|record| (place, record)));
    found.collect()
}

/// All that are remembered, the newest first.
pub(super) fn records(place: &Path) -> Vec<(String, Record)> {
    let record = |id: String| read(place, &id).map(|record| (id, record));
    let mut all: Vec<(String, Record)> = ids(place).into_iter().filter_map(record).collect();
    all.sort_by(|a, b| (&b.1.at, &b.0).cmp(&(&a.1.at, &a.0)));
    all
}

fn ids(place: &Path) -> Vec<String> {
    let names = names_in(&place.join(FOLDER)).into_iter();
    let ids = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_owned()));
    ids.collect()
}

pub(super) fn prune(place: &Path) {
    if ids(place).len() > KEPT {
        for (id, _) in records(place).into_iter().skip(KEPT) {
            // If that fails, the next call tries again.
            let _ = remove(&file(place, &id));
        }
    }
}

fn file(place: &Path, id: &str) -> PathBuf {
    place.join(FOLDER).join(format!("{id}.json"))
}

/// Reads the record of a session; `None` if it cannot be read.
pub(super) fn read(place: &Path, id: &str) -> Option<Record> {
    serde_json::from_slice(&read_plain(&file(place, id), MOST).ok()?).ok()
}

pub(super) fn write(place: &Path, id: &str, record: &Record) -> Result<(), Failure> {
    let text = vplan_base::canon::to_canonical(record);
    replace(&file(place, id), text.as_bytes()).map_err(|e| {
        let message = format!("the session `{}` cannot be remembered: {e}", visible(id));
        Failure::setup("vplan::hook::session", message)
            .help("`--state-dir DIR` keeps the state in another place")
    })
}

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
    /// Of a submodule: the commit that was checked out in it.
    pub head: Option<String>,
    /// The inode of the work tree's root; 0 for a submodule.
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
    /// The submodules that were checked out, by their paths; absent in a record of an earlier
    /// version.
    pub submodules: Option<BTreeMap<String, StartState>>,
    /// The names of the other work trees below `.git/worktrees`; the empty one is the main work
    /// tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work_trees: Vec<String>,
}

/// Returns the inode of a folder; for a link, that of the link itself.
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
    pub(super) fn read(site: &Site) -> Result<Self, GitError> {
        let since = since_1970().as_secs();
        let state = match site.usable_git() {
            Some(git) => Self::of_repository(git, since)?,
            None => Self::default(),
        };
        Ok(Self {
            head: None,
            inode: inode(&site.root).unwrap_or_default(),
            root: site.root.to_str().map(str::to_owned),
            since,
            ..state
        })
    }

    fn of_repository(git: &Git, since: u64) -> Result<Self, GitError> {
        let inside = git.submodules()?.into_iter();
        let inside = inside.filter_map(|(path, git)| Some((path.to_string(), git?)));
        let inside = inside.map(|(path, git)| Ok((path, Self::of_repository(&git, since)?)));
        let log = git.head_log()?.unwrap_or_default();
        Ok(Self {
            branch: Refs::new(git).head()?,
            head: git.head()?.map(|id| id.to_string()),
            log_end: log.last().map(mark),
            log_end_at: log.last().map_or(0, |movement| movement.at),
            log_lines: log.len(),
            since,
            stashes: (git.stashes()?.into_iter())
                .map(|(id, _)| id.to_string())
                .collect(),
            submodules: Some(inside.collect::<Result<_, GitError>>()?),
            work_trees: (git.other_work_trees().into_iter())
                .map(|tree| tree.name)
                .collect(),
            ..Self::default()
        })
    }

    /// Returns the positions of HEAD since the start, when it was at `head`. `None` if the reflog
    /// no longer goes back that far.
    ///
    /// `git gc` removes old lines. The rest is complete if it begins at that HEAD.
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
        let at = match log.get(last).is_some_and(is_end) {
            true => Some(last),
            false => log.iter().rposition(is_end),
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
        // Lines of the session were removed too, or all of them.
        assert_eq!(since(&log[3..]), None);
        assert_eq!(since(&[]), None);
        assert_eq!(start.since_start(None, head.as_ref()), None);
        // All lines were old.
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
