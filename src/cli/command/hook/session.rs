//! Keeps, in the state directory, where the session of an agent began.

use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::Global;
use crate::effect::git::Git;
use crate::effect::git::error::GitError;
use crate::effect::git::object::Oid;
use crate::effect::os::files::{read_plain, replace};
use crate::effect::repo::load::{Site, contract_path};
use crate::effect::store::ledger::LedgerFile;
use crate::effect::store::records::wall_clock;
use crate::engine::Failure;
use crate::ledger::round::Because;
use crate::ledger::{Entry, Ledger};
use crate::run::report::Decision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The folder in the state directory.
const FOLDER: &str = "sessions";
/// How many sessions are remembered: the newest.
const KEPT: usize = 200;
/// The largest record that is read, in bytes.
const MOST: u64 = 1 << 20;

/// What is remembered of the start of a session: `sessions/ID.json` of the state directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "SessionRecord")]
pub struct Record {
    /// When it started.
    pub at: String,
    /// The commit that its change begins at; absent without git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Whether there was a contract then.
    pub contract: bool,
    /// The commit that was checked out; absent without git, and before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Whether it goes on with what an earlier session left unfinished.
    pub inherited: bool,
    /// The digests of the agent's settings then, by their paths; `null` for a file that was not
    /// there.
    pub settings: Vec<(String, Option<String>)>,
    /// The digest of the work tree, if it was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// How many rounds in a row could not be recorded.
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

/// The subject of a session.
pub(super) fn subject(id: &str) -> String {
    format!("session/{id}")
}

/// What is here now.
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

/// Remembers where a session begins. One that is resumed, or whose context was cleared or
/// compacted, has begun.
///
/// # Errors
/// No repository, or no place to remember it.
pub(super) fn start(global: &Global, id: &str) -> Result<(), Failure> {
    let site = global.engine().locate()?;
    if global
        .engine()
        .kept_state(&site)?
        .is_some_and(|place| read(&place.path, id).is_some())
    {
        return Ok(());
    }
    let git = site.usable_git();
    let head = git
        .map(Git::head)
        .transpose()
        .map_err(|e| crate::engine::failure::changes_unknown(e.into()))?
        .flatten();
    let contract = has_contract(global, &site, head.as_ref());
    if !contract {
        return Ok(());
    }
    let now = Now::look(git);
    // Of a ledger that cannot be read no session is known to be finished.
    let ledger = LedgerFile::new(global.engine().state(&site)?)
        .read()
        .unwrap_or_default();
    let place = global.engine().state(&site)?;
    let (left, inherited) = match (git, &head) {
        (Some(git), Some(head)) => unfinished(&place.path, &ledger, &now, git, head),
        _ => (None, false),
    };
    let unborn = || {
        git.filter(|_| head.is_none())
            .and_then(|git| git.empty_tree().ok())
    };
    let base = left.or(head).or_else(unborn).map(|id| id.to_string());
    let record = Record {
        at: wall_clock(),
        base,
        contract,
        head: now.head,
        inherited,
        settings: super::named::settings(&site.root),
        tree: now.tree,
        unrecorded: 0,
        version: 1,
    };
    write(&place.path, id, &record)?;
    prune(&place.path);
    Ok(())
}

/// Where a session began, if that is no repository any more: what is found in its place is another
/// one, around it.
pub(super) fn lost(global: &Global, site: &Site, id: &str) -> Option<Site> {
    let began = |root: &Path| {
        let site = Site {
            root: root.to_owned(),
            git: Err(GitError::NotARepository(root.to_owned())),
        };
        let known = global
            .engine()
            .kept_state(&site)
            .ok()
            .flatten()
            .is_some_and(|place| read(&place.path, id).is_some());
        known.then_some(site)
    };
    if began(&site.root).is_some() {
        return None;
    }
    let start = Path::new(".").canonicalize().ok()?;
    let within =
        |dir: &&Path| site.git.is_err() || (*dir != site.root && dir.starts_with(&site.root));
    start.ancestors().take_while(within).find_map(began)
}

/// Whether there is a contract in the work tree, or in a commit.
pub(super) fn has_contract(global: &Global, site: &Site, commit: Option<&Oid>) -> bool {
    let Ok(path) = contract_path(site, global.contract.as_deref()) else {
        return true;
    };
    if site.root.join(path.to_os()).symlink_metadata().is_ok() {
        return true;
    }
    match (site.usable_git(), commit) {
        // What cannot be told is no reason to let go.
        (Some(git), Some(commit)) => git
            .files_at(commit, std::slice::from_ref(&path))
            .map_or(true, |found| !found.is_empty()),
        _ => false,
    }
}

/// Where those sessions began that this work tree still has the work of: what is common to them and
/// HEAD.
fn unfinished(
    place: &Path,
    ledger: &Ledger,
    now: &Now,
    git: &Git,
    head: &Oid,
) -> (Option<Oid>, bool) {
    let mut found = None;
    for (id, record) in records(place) {
        let entry = ledger.entry(&subject(&id)).filter(|e| e.rounds > 0);
        let is_over = entry.map_or_else(|| now.is_start_of(&record), is_done);
        if !is_over {
            let base = entry
                .and_then(|e| e.began.as_ref()?.base.clone())
                .or(record.base);
            let base = base.and_then(|base| Oid::parse(base.as_bytes()));
            let earlier = found.unwrap_or(*head);
            if let Some(common) =
                base.and_then(|base| git.merge_base(&base.to_string(), &base, &earlier).ok())
            {
                found = Some(common);
            }
        } else if entry.is_some() && record.inherited {
            // It went on with what those before it had left, and finished that.
            break;
        }
    }
    (found, found.is_some())
}

/// Whether all that a session did is verified, or nothing applied to it.
fn is_done(entry: &Entry) -> bool {
    let required = entry.began.as_ref().map_or(1, |b| b.gate.confirmations);
    entry.reason == Some(Because::NothingApplies)
        || (entry.standing(required, true) == Decision::Complete && entry.counter >= required)
}

/// All that are remembered, the newest first.
fn records(place: &Path) -> Vec<(String, Record)> {
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
    crate::effect::os::files::names_in(&place.join(FOLDER))
        .into_iter()
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_owned()))
        .collect()
}

fn prune(place: &Path) {
    if ids(place).len() > KEPT {
        for (id, _) in records(place).into_iter().skip(KEPT) {
            // One that stays is looked at once more the next time.
            let _ = crate::effect::os::files::remove(&file(place, &id));
        }
    }
}

fn file(place: &Path, id: &str) -> PathBuf {
    place.join(FOLDER).join(format!("{id}.json"))
}

/// What is remembered of a session; nothing where that cannot be read.
pub(super) fn read(place: &Path, id: &str) -> Option<Record> {
    serde_json::from_slice(&read_plain(&file(place, id), MOST).ok()?).ok()
}

pub(super) fn write(place: &Path, id: &str, record: &Record) -> Result<(), Failure> {
    let text = crate::base::canon::to_canonical(record);
    replace(&file(place, id), text.as_bytes()).map_err(|e| {
        let message = format!(
            "the session `{}` cannot be remembered: {e}",
            visible(id.as_bytes())
        );
        Failure::new(Exit::Setup.code(), "vplan::hook::session", message)
            .help("`--state-dir DIR` keeps the state in another place")
    })
}
