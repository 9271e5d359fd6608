//! Keeps, in the state directory, where the session of an agent began.

use super::start_state::StartState;
use crate::{Engine, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use vplan_base::word::visible;
use vplan_git::Git;
use vplan_os::files::{names_in, read_plain, remove, replace};

/// The folder in the state directory.
const FOLDER: &str = "sessions";
/// The number of remembered sessions: the newest.
const KEPT: usize = 200;
/// The largest record that is read, in bytes.
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

/// The agent of a session whose stop is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopping<'a> {
    /// The id of the session.
    pub session: &'a str,
    /// The id of a subagent, which has a subject of its own; `None`: the main agent.
    pub subagent: Option<&'a str>,
}

impl Stopping<'_> {
    /// Returns the subject of its rounds.
    #[must_use]
    pub fn subject(&self) -> String {
        match self.subagent {
            None => subject(self.session),
            Some(agent) => format!("{}/{agent}", subject(self.session)),
        }
    }
}

/// The subject of a session.
#[must_use]
pub fn subject(id: &str) -> String {
    format!("session/{id}")
}

/// The present state of the work tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Now {
    pub head: Option<String>,
    /// `None` when it is not known, which is like no other.
    pub tree: Option<String>,
}

impl Now {
    pub(super) fn look(git: Option<&Git>) -> Self {
        let head = git
            .and_then(|git| git.head().ok().flatten())
            .map(|id| id.to_string());
        let tree = git
            .and_then(|git| git.snapshot().ok())
            .map(|s| s.digest(None).to_string());
        Self { head, tree }
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
    names_in(&base)
        .into_iter()
        .filter_map(|name| {
            let place = base.join(name);
            let record = read(&place, id)?;
            Some((place, record))
        })
        .collect()
}

/// All that are remembered, the newest first.
pub(super) fn records(place: &Path) -> Vec<(String, Record)> {
    let mut all: Vec<(String, Record)> = ids(place)
        .into_iter()
        .filter_map(|id| {
            let record = read(place, &id)?;
            Some((id, record))
        })
        .collect();
    all.sort_by(|a, b| (&b.1.at, &b.0).cmp(&(&a.1.at, &a.0)));
    all
}

fn ids(place: &Path) -> Vec<String> {
    names_in(&place.join(FOLDER))
        .into_iter()
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_owned()))
        .collect()
}

pub(super) fn prune(place: &Path) {
    if ids(place).len() > KEPT {
        for (id, _) in records(place).into_iter().skip(KEPT) {
            // One that stays is looked at once more the next time.
            let _ = remove(&file(place, &id));
        }
    }
}

fn file(place: &Path, id: &str) -> PathBuf {
    place.join(FOLDER).join(format!("{id}.json"))
}

/// Reads the record of a session; none where it cannot be read.
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
