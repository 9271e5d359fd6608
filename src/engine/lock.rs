//! Pins the imports of a contract, removes pins that are no longer needed, and records answers.

use super::failure::invalid;
use super::pins::{invalid as lock_invalid, no_cache};
use super::propose::ProposerUse;
use crate::{
    Contract, Digest, Engine, Failure, GitError, LoadError, Loaded, Oid, PlanRequest, RepoPath,
    Site, visible,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::time::Duration;
use vplan_base::nearest::suggest;
use vplan_base::origin::{GitOrigin, GitRef};
use vplan_base::word::count;
use vplan_contract::import::source::{ImportSource, ImportedName};
use vplan_git::environment;
use vplan_git::fetch::Fetcher;
use vplan_git::pins::Pins;
use vplan_lock::{Lock, Lock as Pinned, PinnedImport, PinnedRef, RecordedAnswer};
use vplan_plan::diff::ContractDiff;
use vplan_plan::diff::contracts::{Side, compare};
use vplan_repo::load;
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
pub struct LockRecording<'a> {
    /// The request that the proposer and the judges answer.
    pub request: PlanRequest,
    /// The program that answers `judge` checks, instead of the contract's `judge-with`.
    pub judge: Option<&'a OsStr>,
}

/// Makes the request, once the imports are pinned.
pub type MakeRecording<'a> = dyn Fn() -> Result<LockRecording<'a>, Failure> + 'a;

impl<'e> Locking<'e> {
    /// Finds the lock of the contract, in the work tree or at a revision.
    ///
    /// # Errors
    /// No repository, no such revision; recording answers where nothing may be written.
    pub fn open(engine: &'e Engine<'e>, how: LockOptions<'e>) -> Result<Self, Failure> {
        let site = engine.locate()?;
        let contract = load::contract_path(&site, engine.contract)?;
        let refuse = |message: &str, help: &str| {
            Err(Failure::usage("vplan::usage::record", message).help(help))
        };
        if how.record && engine.locked {
            let message = "`--record` writes the lock, and `--locked` keeps it as it is";
            return refuse(message, "leave out one of them");
        }
        if how.record && how.revision.is_some() {
            let message =
                "an answer is recorded beside the contract of the work tree, and for that one";
            return refuse(message, "check out the revision, and record it there");
        }
        let resolve = |revision| {
            let git = site.git.as_ref().map_err(GitError::clone)?;
            git.resolve_name(revision)
        };
        Ok(Self {
            engine,
            commit: how.revision.map(resolve).transpose()?,
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
        match found.is_newer() {
            true => Err(lock_invalid(&self.path, found)),
            false => Ok(found),
        }
    }

    pub(super) fn whole(&self) -> Result<LockFile, Failure> {
        let found = self.read_lock()?;
        match found.has_errors() {
            true => Err(lock_invalid(&self.path, found)),
            false => Ok(found),
        }
    }

    /// Updates the lock, and records the answers to a request if that is wanted.
    ///
    /// # Errors
    /// A contract that is invalid, an import that cannot be fetched, a lock that cannot be read or
    /// written, or that is outdated and must not change.
    pub fn update(&self, asked: &MakeRecording<'_>) -> Result<Account, Failure> {
        let found = match self.engine.locked {
            true => self.whole()?,
            false => self.read_lock()?,
        };
        if found.has_errors() {
            self.engine.observer.mended(&self.path, &found);
        }
        let (_, mut pinned) = self.loaded(&found.content, &BTreeSet::new())?;
        let mut before = Pinned::default();
        let written = self.replace(|now| {
            self.merged(now, &mut pinned)?;
            before = now.content.clone();
            Ok::<_, Failure>(pinned.clone())
        })?;
        let held = |import| Line::held(import, &before);

        let gone = |i: &&PinnedImport| pinned.import(&i.origin).is_none();
        let removed = |i: &PinnedImport| Line::new(&i.origin, Some(i), State::Removed);
        let refs = pinned.refs.iter();
        let refs = refs.map(|now| Line::of_ref(now, before.commit(&now.at)));
        let gone_refs = before.refs.iter();
        let gone_refs = gone_refs.filter(|was| pinned.commit(&was.at).is_none());
        let gone_refs = gone_refs.map(|was| Line::of_gone_ref(was, State::Removed));
        let gone = before.imports.iter().filter(gone).map(removed);
        let imports = pinned.imports.iter().map(held);
        let entries = refs.chain(imports).chain(gone_refs).chain(gone).collect();
        let (recorded, judged) = match self.how.record {
            true => self.record(&asked()?)?,
            false => (None, Vec::new()),
        };
        let lock = lockfile::read(&self.site, &self.path, None)?.content;
        Ok(Account {
            written: written || recorded.is_some() || !judged.is_empty(),
            judged,
            recorded,
            ..Account::unchanged(&self.path, entries, &lock)
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
        let imports = now.content.imports.iter();
        let imports = imports.filter(|i| pinned.import(&i.origin).is_some_and(|p| p != *i));
        let imports = imports.map(|i| format!("`{}` to other bytes", i.origin));
        let refs = now.content.refs.iter();
        let refs = refs.filter(|r| pinned.commit(&r.at).is_some_and(|p| p.commit != r.commit));
        let refs = refs.map(|r| format!("`{}` to another commit", r.at));
        if let Some(disputed) = imports.chain(refs).next() {
            let message = format!("another `vplan lock` pinned {disputed}");
            return Err(Failure::drift(CHANGED.0, message).help("look at the lock, then try again"));
        }
        pinned.proposals.clone_from(&now.content.proposals);
        if self.engine.locked && now.content != *pinned {
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
        let loaded = self.load(&mut pins)?;
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
        let (is_drift, path) = (loaded.drift, loaded.path.clone());
        let mut failure = invalid(loaded);
        if is_drift {
            failure.message =
                format!("`{path}` imports what cannot be pinned; the lock stays as it was");
            failure.code = "vplan::lock::incomplete".to_owned();
        }
        Err(failure)
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
        let (_, pinned) = self.loaded(&found.content, &BTreeSet::new())?;
        let imports = pinned.imports.iter();
        let mut origins = imports.clone().map(|import| &import.origin);
        let mut refs = pinned.refs.iter().map(|new| &new.at);
        let origin = origins.find(|origin| found.content.import(origin).is_none());
        let new = refs.find(|at| found.content.commit(at).is_none());
        let new = new.map(ToString::to_string);
        if let Some(what) = origin.map(ToString::to_string).or(new) {
            let path = &self.path;
            let message = format!("the lock `{path}` of that revision does not pin `{what}`");
            return Err(Failure::drift("vplan::lock::stale", message));
        }
        let entries = imports.map(|i| Line::new(&i.origin, Some(i), State::Kept));
        Ok(Account::unchanged(
            &self.path,
            entries.collect(),
            &found.content,
        ))
    }

    /// Calls the proposer and the judge, and records their answers. Returns the digests of the
    /// questions.
    fn record(&self, asked: &LockRecording<'_>) -> Result<(Option<Digest>, Vec<Digest>), Failure> {
        let mut session = self.engine.open(&asked.request)?;
        let (plan, _) = session.make(&asked.request, ProposerUse::Anew, false)?;
        let judge = session.judge(asked.judge, &plan)?;
        let judged = judge.map_or(Ok(Vec::new()), |judge| session.judge_now(&judge, &plan))?;
        let proposer = asked.request.proposer.as_deref();
        let proposer = proposer.map(|proposer| visible(proposer.as_encoded_bytes()));
        let proposed = session.request.proposal.map(|proposal| RecordedAnswer {
            question: proposal.reference().question,
            proposer: proposer.unwrap_or_default(),
            answer: proposal.answer,
        });
        if proposed.is_none() && judged.is_empty() {
            let message =
                "this request asks neither a proposer nor a judge, so there is nothing to record";
            return Err(Failure::usage("vplan::usage::record", message).help(
                "`--mode llm` asks always, `--mode hybrid` where the contract asks for nothing, `--proposer` names whom; a \
                 judge is asked by `judge` checks, `judge-with` or `--judge` names it",
            ));
        }
        let question = |answer: &RecordedAnswer| answer.question.clone();
        let questions = (
            proposed.as_ref().map(question),
            judged.iter().map(question).collect(),
        );
        self.replace(|now| {
            let mut lock = now.content.clone();
            let answers = proposed.into_iter().chain(judged);
            answers.for_each(|answer| lock.record(answer));
            Ok(lock)
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
        let loaded = self.load(&mut pins)?;
        let (asked, asked_refs) = (pins.requested, pins.requested_refs);
        let whole = loaded.contract.is_some();
        if !whole && !loaded.drift {
            return Err(invalid(loaded));
        }
        let mut entries: Vec<Line> = Vec::new();
        for pinned in &found.content.refs {
            if asked_refs.contains(&pinned.at) {
                entries.push(Line::of_ref(pinned, Some(pinned)));
            } else if whole {
                entries.push(Line::of_gone_ref(pinned, State::Surplus));
            }
        }
        for origin in &asked {
            let pin = found.content.import(origin);
            let state = pin.map_or(State::Missing, |_| State::Kept);
            entries.push(Line::new(origin, pin, state));
        }
        // While a file is missing, its imports are not known.
        let surplus = found.content.imports.iter();
        let surplus = surplus.filter(|i| whole && !asked.contains(&i.origin));
        entries.extend(surplus.map(|i| Line::new(&i.origin, Some(i), State::Surplus)));
        let stale = entries.iter().filter(|e| e.state != State::Kept).count();
        let failure = match whole {
            true => (stale > 0).then(|| {
                let surplus = count(stale, "import");
                let message = format!("the lock `{}` has {surplus} too many", self.path);
                Failure::drift("vplan::lock::surplus", message).help("`vplan lock` takes them out")
            }),
            false => {
                let what = match loaded.diagnostics.iter().all(|d| d.code == NOT_PINNED) {
                    true => "lacks",
                    false => "does not give",
                };
                let (lock, path) = (&self.path, &loaded.path);
                let message = format!("the lock `{lock}` {what} what `{path}` imports");
                Some(Failure {
                    diagnostics: invalid(loaded).diagnostics,
                    ..Failure::drift("vplan::lock::stale", message)
                })
            }
        };
        Ok((
            Account::unchanged(&self.path, entries, &found.content),
            failure,
        ))
    }
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
    pub(crate) fn unchanged(path: &RepoPath, entries: Vec<Line>, lock: &Lock) -> Self {
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
    pub(crate) fn new(origin: &GitOrigin, pin: Option<&PinnedImport>, state: State) -> Self {
        Self {
            bytes: pin.map(|p| p.bytes),
            digest: pin.map(|p| p.digest.to_string()),
            ..Self::bare(origin, None, state)
        }
    }

    /// An import, or a branch with the commit that it is pinned to.
    fn bare(import: &impl ToString, commit: Option<String>, state: State) -> Self {
        Self {
            bytes: None,
            commit,
            digest: None,
            from: None,
            import: import.to_string(),
            state,
        }
    }

    /// Makes the line of a pinned import, with the earlier pin.
    pub(crate) fn held(import: &PinnedImport, before: &Pinned) -> Self {
        let state = match before.import(&import.origin) {
            Some(_) => State::Kept,
            None => State::Pinned,
        };
        Self::new(&import.origin, Some(import), state)
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
        Self::bare(&pinned.at, Some(pinned.commit.clone()), state)
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

/// A lock whose branches and tags were looked up again. Nothing is written yet.
pub struct Moving<'l, 'e> {
    locking: &'l Locking<'e>,
    before: Pinned,
    pinned: Pinned,
    moved: BTreeSet<GitRef>,
    /// The contract with the new commits of its imports.
    contract: Contract,
    /// The branches and tags that move.
    pub account: Account,
    /// The differences between the contract with the present pins and with the new ones.
    pub diff: ContractDiff,
}

impl<'e> Locking<'e> {
    /// Looks up the present commits of branches and tags. `names`: imports, by the name after `as`
    /// or by URL; empty for all.
    ///
    /// # Errors
    /// A name that no import has, or one that names its commit itself; a contract that is invalid,
    /// before or after; a repository that cannot be read.
    pub fn moving(&self, names: &[String]) -> Result<Moving<'_, 'e>, Failure> {
        if self.engine.locked {
            let message = "`--update` writes the lock, and `--locked` keeps it as it is";
            let failure = Failure::usage("vplan::usage::update", message);
            return Err(failure.help("leave out one of them"));
        }
        let found = self.whole()?;
        let (old, before) = self.loaded(&found.content, &BTreeSet::new())?;
        let moved = select_refs(&old, &before, names)?;
        let (new, pinned) = self.loaded(&found.content, &moved)?;
        let sides = (old.contract, new.contract);
        let (Some(contract), Some(after)) = sides else {
            return Err(Failure::contract("vplan::contract::invalid", "no contract"));
        };
        let tracked = self.site.git.as_ref().ok();
        let tracked = tracked
            .and_then(|git| git.tracked().ok())
            .unwrap_or_default();
        let older = Side::new(&contract, &old.sources);
        let newer = Side::new(&after, &new.sources);
        let diff = compare(&older, &newer, &tracked);
        let entries = entries(&before, &pinned, &moved);
        let account = Account::unchanged(&self.path, entries, &pinned);
        Ok(Moving {
            locking: self,
            account,
            before: found.content,
            pinned,
            moved,
            contract: after,
            diff,
        })
    }
}

impl Moving<'_, '_> {
    /// Writes the lock. If the contract becomes or may become weaker, the caller has accepted that,
    /// and the lock records it.
    ///
    /// # Errors
    /// A lock that cannot be written, or that another process changed in the meantime.
    pub fn write(mut self) -> Result<Account, Failure> {
        if self.diff.weaker() > 0 {
            let identity = self.contract.identity();
            for at in &self.moved {
                if let Some(pinned) = self.pinned.commit(at).cloned() {
                    self.pinned.pin_ref(PinnedRef {
                        accepted: Some(identity.clone()),
                        ..pinned
                    });
                }
            }
        }
        let written = self.locking.replace(|now| {
            if now.content != self.before {
                let message = "another `vplan lock` changed the lock in the meantime";
                return Err(Failure::drift("vplan::lock::changed", message).help("try again"));
            }
            let mut pinned = self.pinned.clone();
            pinned.proposals.clone_from(&now.content.proposals);
            Ok(pinned)
        })?;
        self.account.written = written;
        Ok(self.account)
    }
}

/// Returns the branches and tags with these names; all of them if no names are given.
fn select_refs(
    loaded: &Loaded,
    lock: &Pinned,
    names: &[String],
) -> Result<BTreeSet<GitRef>, Failure> {
    if names.is_empty() {
        return Ok(lock.refs.iter().map(|pinned| pinned.at.clone()).collect());
    }
    let importer = ImportSource::Local(loaded.path.clone());
    let mut meant = BTreeSet::new();
    for name in names {
        let is_alias = |import: &&(Option<String>, String)| {
            import.0.as_ref() == Some(name) || import.1 == *name
        };
        let by_url = |at: &&GitRef| {
            [at.url.as_str(), at.to_string().as_str()].contains(&name.as_str())
                || name.strip_prefix("git+") == Some(at.url.as_str())
        };
        let refs = lock.refs.iter().map(|pinned| &pinned.at);
        let of_url: BTreeSet<GitRef> = refs.filter(by_url).cloned().collect();
        let import = loaded.imports.iter().find(is_alias);
        let written = import.and_then(|(_, text)| ImportSource::parse(text, &importer).ok());
        match written {
            Some(ImportedName::Moving { at, .. }) => {
                meant.insert(at);
            }
            Some(ImportedName::Source(source)) => {
                let (name, source) = (visible(name), visible(source.to_string()));
                let message = format!("`{name}` imports `{source}`, which does not move");
                let failure = Failure::usage("vplan::usage::update", message);
                return Err(failure.help("only imports with `?ref=BRANCH` have something to move"));
            }
            None if of_url.is_empty() => {
                let message = format!("no import is called `{}`", visible(name));
                let aliases = loaded
                    .imports
                    .iter()
                    .filter_map(|(alias, _)| alias.as_deref());
                let all = "an import is named by its name behind `as`, or by its URL";
                let help = suggest(name, aliases, all);
                return Err(Failure::usage("vplan::usage::update", message).help(help));
            }
            None => meant.extend(of_url),
        }
    }
    Ok(meant)
}

/// Lists the result for each branch and tag, and for the files imported through those that moved.
fn entries(before: &Pinned, pinned: &Pinned, moved: &BTreeSet<GitRef>) -> Vec<Line> {
    let mut entries = Vec::new();
    for now in pinned.refs.iter().filter(|now| moved.contains(&now.at)) {
        let was = before.commit(&now.at);
        entries.push(Line::of_ref(now, was));
        let is_of = |origin: &GitOrigin| origin.url == now.at.url && origin.revision == now.commit;
        let of_commit = pinned.imports.iter().filter(|import| is_of(&import.origin));
        entries.extend(of_commit.map(|import| Line::held(import, before)));
    }
    let gone = before
        .imports
        .iter()
        .filter(|i| pinned.import(&i.origin).is_none());
    entries.extend(gone.map(|import| Line::new(&import.origin, Some(import), State::Removed)));
    entries
}
