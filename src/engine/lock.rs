//! Pins the imports of a contract, removes pins that are no longer needed, and records answers.

use super::failure::{Failure, invalid, load_failed};
use super::pins::{invalid as lock_invalid, no_cache};
use super::place::Engine;
use super::propose::Asking;
use super::request::PlanRequest;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::time::Duration;
use vplan_base::canon::Digest;
use vplan_base::origin::{GitOrigin, GitRef};
use vplan_base::path::RepoPath;
use vplan_base::word::{count, visible};
use vplan_git::environment;
use vplan_git::error::GitError;
use vplan_git::fetch::Fetcher;
use vplan_git::object::Oid;
use vplan_git::pins::Pins;
use vplan_lock::{Lock, Lock as Pinned, PinnedImport, PinnedRef, RecordedAnswer};
use vplan_repo::changes;
use vplan_repo::load::{self, LoadError, Loaded, Site};
use vplan_repo::lockfile::{self, LockFile};
use vplan_repo::pinned::{CHANGED, Fetching, NOT_PINNED, PinnedImports};

/// The lock of a contract, with all that it takes to bring it up to date.
pub struct Locking<'e> {
    pub(super) engine: &'e Engine<'e>,
    pub(super) site: Site,
    pub(super) path: RepoPath,
    commit: Option<Oid>,
    how: LockOptions<'e>,
}

/// Options of an update: which lock, and the allowed actions.
#[derive(Clone, Copy, Debug)]
pub struct LockOptions<'e> {
    /// The lock of this revision, not that of the work tree.
    pub revision: Option<&'e str>,
    /// The time limit of the fetch of one import.
    pub limit: Duration,
    /// Nothing is fetched.
    pub offline: bool,
    /// The answers to a request are recorded.
    pub record: bool,
}

/// A request whose answers are recorded.
#[derive(Debug)]
pub struct Recording<'a> {
    /// The request that the proposer and the judges answer.
    pub request: PlanRequest,
    /// The program that answers `judge` checks, instead of the contract's `judge-with`.
    pub judge: Option<&'a OsStr>,
}

/// Makes the request, once the imports are pinned.
pub type MakeRecording<'a> = dyn Fn() -> Result<Recording<'a>, Failure> + 'a;

impl<'e> Locking<'e> {
    /// Finds the lock of the contract, in the work tree or at a revision.
    ///
    /// # Errors
    /// No repository, no such revision; recording answers where nothing may be written.
    pub fn open(engine: &'e Engine<'e>, how: LockOptions<'e>) -> Result<Self, Failure> {
        let site = engine.locate()?;
        let contract = load::contract_path(&site, engine.contract).map_err(load_failed)?;
        let refuse = |message: &str, help: &str| {
            Err(Failure::usage("vplan::usage::record", message).help(help))
        };
        if how.record && engine.locked {
            return refuse(
                "`--record` writes the lock, and `--locked` keeps it as it is",
                "leave out one of them",
            );
        }
        if how.record && how.revision.is_some() {
            let message =
                "an answer is recorded beside the contract of the work tree, and for that one";
            return refuse(message, "check out the revision, and record it there");
        }
        let commit = how.revision.map(|revision| resolve(&site, revision));
        Ok(Self {
            engine,
            commit: commit.transpose()?,
            site,
            path: lockfile::path_for(&contract),
            how,
        })
    }

    fn load(&self, pins: &mut dyn Pins) -> Result<Loaded, LoadError> {
        let wanted = self.engine.contract_request(self.how.revision, None);
        load::load(&self.site, &wanted, pins)
    }

    fn read_lock(&self) -> Result<LockFile, Failure> {
        let found = lockfile::read(&self.site, &self.path, self.commit.as_ref())?;
        if found.is_newer() {
            Err(lock_invalid(&self.path, found))
        } else {
            Ok(found)
        }
    }

    pub(super) fn whole(&self) -> Result<LockFile, Failure> {
        let found = self.read_lock()?;
        if found.has_errors() {
            return Err(lock_invalid(&self.path, found));
        }
        Ok(found)
    }

    /// Updates the lock, and records the answers to a request if that is wanted.
    ///
    /// # Errors
    /// A contract that is invalid, an import that cannot be fetched, a lock that cannot be read or
    /// written, or that is outdated and must not change.
    pub fn update(&self, asked: &MakeRecording<'_>) -> Result<Account, Failure> {
        let found = if self.engine.locked {
            self.whole()?
        } else {
            self.read_lock()?
        };
        if found.has_errors() {
            self.engine.observer.mended(&self.path, &found);
        }
        let (_, mut pinned) = self.loaded(&found.lock, &BTreeSet::new())?;
        let mut before = Pinned::default();
        let written = self.replace(|now| {
            self.merged(now, &mut pinned)?;
            before = now.lock.clone();
            Ok::<_, Failure>(pinned.clone())
        })?;
        let held = |import| Line::held(import, &before);

        let gone = |i: &&PinnedImport| pinned.import(&i.origin).is_none();
        let removed = |i: &PinnedImport| Line::of(&i.origin, Some(i), State::Removed);
        let refs = pinned.refs.iter();
        let refs = refs.map(|now| Line::of_ref(now, before.commit(&now.at)));
        let gone_refs = before.refs.iter();
        let gone_refs = gone_refs.filter(|was| pinned.commit(&was.at).is_none());
        let gone_refs = gone_refs.map(|was| Line::of_gone_ref(was, State::Removed));
        let gone = before.imports.iter().filter(gone).map(removed);
        let imports = pinned.imports.iter().map(held);
        let entries = refs.chain(imports).chain(gone_refs).chain(gone).collect();
        let (recorded, judged) = if self.how.record {
            self.record(&asked()?)?
        } else {
            (None, Vec::new())
        };
        let lock = lockfile::read(&self.site, &self.path, None)?.lock;
        Ok(Account {
            written: written || recorded.is_some() || !judged.is_empty(),
            judged,
            recorded,
            ..Account::of(&self.path, entries, &lock)
        })
    }

    /// Compares the new pins with the present lock: another process may have pinned imports or
    /// recorded an answer meanwhile.
    fn merged(&self, now: &LockFile, pinned: &mut Pinned) -> Result<(), Failure> {
        if now.is_newer() {
            let found = LockFile {
                diagnostics: now.diagnostics.clone(),
                sources: now.sources.clone(),
                ..LockFile::default()
            };
            return Err(lock_invalid(&self.path, found));
        }
        let imports = now.lock.imports.iter();
        let imports = imports.filter(|i| pinned.import(&i.origin).is_some_and(|p| p != *i));
        let imports = imports.map(|i| format!("`{}` to other bytes", i.origin));
        let refs = now.lock.refs.iter();
        let refs = refs.filter(|r| pinned.commit(&r.at).is_some_and(|p| p.commit != r.commit));
        let refs = refs.map(|r| format!("`{}` to another commit", r.at));
        if let Some(disputed) = imports.chain(refs).next() {
            let message = format!("another `vplan lock` pinned {disputed}");
            return Err(Failure::drift(CHANGED.0, message).help("look at the lock, then try again"));
        }
        pinned.proposals.clone_from(&now.lock.proposals);
        if self.engine.locked && now.lock != *pinned {
            let message = format!("the lock `{}` is not up to date", self.path);
            return Err(Failure::drift("vplan::lock::stale", message)
                .help("run `vplan lock` without `--locked`, and check the lock in"));
        }
        Ok(())
    }

    /// Resolves the imports of the contract; fetches those that are not in the cache.
    fn read(&self, lock: &Pinned, moved: &BTreeSet<GitRef>) -> Result<(Loaded, Pinned), Failure> {
        let store = self.engine.import_cache().ok_or_else(no_cache)?;
        let fetcher = (!self.how.offline)
            .then(|| Fetcher::new(&self.site.root, &environment, self.how.limit));
        let mut pins = Fetching {
            lock,
            store: &store,
            fetcher,
            max_file: self.engine.max_file,
            pinned: Pinned::default(),
            fetched: BTreeSet::new(),
            moved: moved.clone(),
        };
        let loaded = self.load(&mut pins).map_err(load_failed)?;
        Ok((loaded, pins.pinned))
    }

    /// Reads the contract with the pinned imports, except for branches and tags that have moved.
    /// Returns it with the new pins.
    pub(super) fn loaded(
        &self,
        lock: &Pinned,
        moved: &BTreeSet<GitRef>,
    ) -> Result<(Loaded, Pinned), Failure> {
        let (loaded, pinned) = self.read(lock, moved)?;
        if loaded.contract.is_some() {
            return Ok((loaded, pinned));
        }
        let drift = loaded.drift;
        let message = format!(
            "`{}` imports what cannot be pinned; the lock stays as it was",
            loaded.path
        );
        let failure = invalid(loaded);
        let code = "vplan::lock::incomplete".to_owned();
        Err(if drift {
            Failure {
                message,
                code,
                ..failure
            }
        } else {
            failure
        })
    }

    pub(super) fn replace(
        &self,
        change: impl FnOnce(&LockFile) -> Result<Pinned, Failure>,
    ) -> Result<bool, Failure> {
        lockfile::replace(&self.site, &self.path, self.how.limit, change)
    }

    /// Fetches the imports that the lock of a revision pins, and writes nothing but the cache. A
    /// machine that starts with an empty cache needs this for `--contract-from` and for `diff
    /// --base`.
    ///
    /// # Errors
    /// As for [`Self::update`], and a lock that does not pin all.
    pub fn fetch(&self) -> Result<Account, Failure> {
        let found = self.whole()?;
        let (_, pinned) = self.loaded(&found.lock, &BTreeSet::new())?;
        let imports = pinned.imports.iter();
        let mut origins = imports.clone().map(|import| &import.origin);
        let mut refs = pinned.refs.iter().map(|new| &new.at);
        let origin = origins.find(|origin| found.lock.import(origin).is_none());
        let new = refs.find(|at| found.lock.commit(at).is_none());
        let new = new.map(ToString::to_string);
        if let Some(what) = origin.map(ToString::to_string).or(new) {
            let message = format!(
                "the lock `{}` of that revision does not pin `{what}`",
                self.path
            );
            return Err(Failure::drift("vplan::lock::stale", message));
        }
        let entries = imports
            .map(|i| Line::of(&i.origin, Some(i), State::Kept))
            .collect();
        Ok(Account::of(&self.path, entries, &found.lock))
    }

    /// Calls the proposer and the judge, and records their answers. Returns the digests of the
    /// questions.
    fn record(&self, asked: &Recording<'_>) -> Result<(Option<Digest>, Vec<Digest>), Failure> {
        let mut session = self.engine.open(&asked.request)?;
        let (plan, _) = session.make(&asked.request, Asking::Anew, false)?;
        let judge = session.judge(asked.judge, &plan)?;
        let judged = judge.map_or(Ok(Vec::new()), |judge| session.judge_now(&judge, &plan))?;
        let proposed = session.request.proposal.map(|proposal| {
            let proposer = asked.request.proposer.as_deref();
            RecordedAnswer {
                question: proposal.reference().question,
                proposer: proposer
                    .map(|p| visible(p.as_encoded_bytes()))
                    .unwrap_or_default(),
                answer: proposal.answer,
            }
        });
        if proposed.is_none() && judged.is_empty() {
            let message =
                "this request asks neither a proposer nor a judge, so there is nothing to record";
            return Err(Failure::usage("vplan::usage::record", message).help(
                "`--mode llm` asks always, `--mode hybrid` where the contract asks for nothing, `--proposer` names whom; a \
                 judge is asked by `judge` checks, `judge-with` or `--judge` names it",
            ));
        }
        let questions = (
            proposed.as_ref().map(|a| a.question.clone()),
            judged.iter().map(|a| a.question.clone()).collect(),
        );
        lockfile::replace(&self.site, &self.path, self.how.limit, |now| {
            let mut lock = now.lock.clone();
            proposed
                .into_iter()
                .chain(judged)
                .for_each(|answer| lock.record(answer));
            Ok::<_, Failure>(lock)
        })?;
        Ok(questions)
    }

    /// Checks that the lock pins exactly the imports, or returns the failure. Fetches and writes
    /// nothing.
    ///
    /// # Errors
    /// A contract or a lock that cannot be read, or is invalid.
    pub fn check(&self) -> Result<(Account, Option<Failure>), Failure> {
        let found = self.whole()?;
        let store = self.engine.import_cache();
        let mut pins = PinnedImports::new(
            &self.site,
            self.path.clone(),
            self.how.revision,
            store.as_ref(),
            self.engine.max_file,
        );
        let loaded = self.load(&mut pins).map_err(load_failed)?;
        let asked = pins.requested;
        let asked_refs = pins.requested_refs;
        let whole = loaded.contract.is_some();
        if !whole && !loaded.drift {
            return Err(invalid(loaded));
        }
        let mut entries: Vec<Line> = Vec::new();
        for pinned in &found.lock.refs {
            if asked_refs.contains(&pinned.at) {
                entries.push(Line::of_ref(pinned, Some(pinned)));
            } else if whole {
                entries.push(Line::of_gone_ref(pinned, State::Surplus));
            }
        }
        for origin in &asked {
            let pin = found.lock.import(origin);
            let state = pin.map_or(State::Missing, |_| State::Kept);
            entries.push(Line::of(origin, pin, state));
        }
        // While a file is missing, its imports are not known.
        let surplus = found
            .lock
            .imports
            .iter()
            .filter(|i| whole && !asked.contains(&i.origin));
        entries.extend(surplus.map(|i| Line::of(&i.origin, Some(i), State::Surplus)));
        let stale = entries.iter().filter(|e| e.state != State::Kept).count();
        let failure = if whole {
            (stale > 0).then(|| self.too_many(stale))
        } else {
            Some(self.lacking(loaded))
        };
        Ok((Account::of(&self.path, entries, &found.lock), failure))
    }

    /// Makes the failure of a lock that lacks imports.
    fn lacking(&self, loaded: Loaded) -> Failure {
        let only_missing = loaded.diagnostics.iter().all(|d| d.code == NOT_PINNED);
        let what = if only_missing {
            "lacks"
        } else {
            "does not give"
        };
        let message = format!(
            "the lock `{}` {what} what `{}` imports",
            self.path, loaded.path
        );
        Failure {
            diagnostics: invalid(loaded).diagnostics,
            ..Failure::drift("vplan::lock::stale", message)
        }
    }

    fn too_many(&self, surplus: usize) -> Failure {
        let surplus = count(surplus, "import");
        let message = format!("the lock `{}` has {surplus} too many", self.path);
        Failure::drift("vplan::lock::surplus", message).help("`vplan lock` takes them out")
    }
}

fn resolve(site: &Site, revision: &str) -> Result<Oid, Failure> {
    let failed = |e: GitError| load_failed(LoadError::Git(e));
    let git = site.git.as_ref().map_err(|e| failed(e.clone()))?;
    changes::resolve(git, revision).map_err(failed)
}

/// The changes that were made, or the differences that were found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Account {
    /// The git imports, in the order in which the contract names them.
    pub entries: Vec<Line>,
    /// The digests of the questions to a judge whose answers were recorded just now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<Digest>,
    /// The file.
    pub lock: RepoPath,
    /// The number of recorded answers in it.
    pub proposals: usize,
    /// What is worth a look: repositories of which files of several commits are imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The digest of the question to a proposer whose answer was recorded just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Digest>,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// Whether the file was written.
    pub written: bool,
}

impl Account {
    /// Makes the account of an unchanged lock.
    pub(crate) fn of(path: &RepoPath, entries: Vec<Line>, lock: &Lock) -> Self {
        Self {
            entries,
            judged: Vec::new(),
            lock: path.clone(),
            notes: notes(lock),
            proposals: lock.proposals.len(),
            recorded: None,
            version: 1,
            written: false,
        }
    }
}

/// An import.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LockEntry")]
pub struct Line {
    /// The size of its file; absent when it is not pinned.
    pub bytes: Option<u64>,
    /// The commit of a branch or tag.
    pub commit: Option<String>,
    /// The digest of its file, which is pinned; absent when it is not.
    pub digest: Option<String>,
    /// The commit that a branch or tag had before, if that is another one.
    pub from: Option<String>,
    /// Its name; of a branch or tag `git+URL?ref=NAME`.
    pub import: String,
    /// Its state.
    pub state: State,
}

impl Line {
    pub(crate) fn of(origin: &GitOrigin, pin: Option<&PinnedImport>, state: State) -> Self {
        Self {
            bytes: pin.map(|p| p.bytes),
            commit: None,
            from: None,
            digest: pin.map(|p| p.digest.to_string()),
            import: origin.to_string(),
            state,
        }
    }

    /// Makes the line of a pinned import, with the earlier pin.
    pub(crate) fn held(import: &PinnedImport, before: &Pinned) -> Self {
        let state = match before.import(&import.origin) {
            Some(_) => State::Kept,
            None => State::Pinned,
        };
        Self::of(&import.origin, Some(import), state)
    }

    /// Makes the line of a branch or tag, with the earlier pin.
    pub(crate) fn of_ref(now: &PinnedRef, was: Option<&PinnedRef>) -> Self {
        let from = was.filter(|was| was.commit != now.commit);
        let state = match (was, from) {
            (None, _) => State::Pinned,
            (Some(_), Some(_)) => State::Moved,
            (Some(_), None) => State::Kept,
        };
        Self {
            from: from.map(|was| was.commit.clone()),
            ..Self::of_gone_ref(now, state)
        }
    }

    /// Of a branch or tag in this state.
    pub(crate) fn of_gone_ref(pinned: &PinnedRef, state: State) -> Self {
        Self {
            bytes: None,
            commit: Some(pinned.commit.clone()),
            digest: None,
            from: None,
            import: pinned.at.to_string(),
            state,
        }
    }
}

/// Names the repositories whose files are imported at several commits.
fn notes(lock: &Lock) -> Vec<String> {
    let mut commits: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in &lock.imports {
        let of_url = commits.entry(&import.origin.url).or_default();
        of_url.insert(&import.origin.revision);
    }
    let several = commits.iter().filter(|(_, commits)| commits.len() > 1);
    let note = |(url, commits): (&&str, &BTreeSet<&str>)| {
        format!("`{url}` is imported at {}", count(commits.len(), "commit"))
    };
    several.map(note).collect()
}

/// The state of an import, or its problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It was pinned already.
    Kept,
    /// It is pinned now.
    Pinned,
    /// The branch or tag is at another commit now.
    Moved,
    /// It is not imported any more, and was taken out.
    Removed,
    /// It is not pinned.
    Missing,
    /// It is pinned and not imported.
    Surplus,
}
