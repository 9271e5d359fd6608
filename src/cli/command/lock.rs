//! `vplan lock`: fetches and pins the bytes of the contract's git imports, and removes pins that
//! are no longer needed.

use super::format;
use crate::base::canon::Digest;
use crate::base::origin::GitOrigin;
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::{Format, Global, Request, duration};
use crate::cli::render::{diagnostic, style::count};
use crate::cli::terminal::Terminal;
use crate::effect::git::environment;
use crate::effect::git::error::GitError;
use crate::effect::git::fetch::Fetcher;
use crate::effect::git::object::Oid;
use crate::effect::git::pins::Pins;
use crate::effect::repo::changes;
use crate::effect::repo::load::{self, LoadError, Loaded, Site, Wanted};
use crate::effect::repo::lockfile::{self, LockFile};
use crate::effect::repo::pinned::{CHANGED, Fetching, Held, NOT_PINNED};
use crate::engine::Failure;
use crate::engine::failure::{invalid, load_failed};
use crate::engine::pins::{invalid as lock_invalid, no_cache};
use crate::engine::propose::Asking;
use crate::lock::{self, RecordedAnswer};
use clap::{Arg, Args};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// `vplan lock`
#[derive(Debug, Args)]
#[command(
    mut_args(part_of_a_request),
    after_help = "Exit codes: 0 the lock is up to date; 2 usage; 3 contract invalid or missing; 4 something cannot be fetched, or the lock \
                        cannot be used or, with `--check`, is not up to date; 5 the proposer or the judge gave no answer."
)]
pub struct Lock {
    /// Fetch and write nothing; exit 4 unless the lock pins exactly what is imported.
    #[arg(long)]
    pub check: bool,
    /// Ask the proposer and the judge what this request (below) makes them say, and record the
    /// answers. Nothing of a request has an effect without this flag, but `--contract-from`:
    /// that fetches what the lock of a revision pins, and writes no lock.
    #[arg(long, conflicts_with = "check")]
    pub record: bool,
    /// The program that answers `judge` checks, instead of the contract's `judge-with`.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub judge: Option<std::ffi::OsString>,
    /// How long an import may take to be fetched.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration)]
    pub timeout: u64,
    /// The request whose answers are recorded.
    #[command(flatten)]
    pub request: Request,
}

/// Nothing is asked without `--record`, so that nothing of a request would have an effect then.
fn part_of_a_request(arg: Arg) -> Arg {
    let own = ["check", "record", "timeout", "contract_from"].contains(&arg.get_id().as_str());
    if own {
        arg
    } else {
        arg.requires("record").conflicts_with("check")
    }
}

/// What was done, or found.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Account {
    /// The git imports, in the order in which the contract names them.
    entries: Vec<Line>,
    /// The digests of the questions to a judge whose answers were recorded just now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    judged: Vec<Digest>,
    /// The file.
    lock: RepoPath,
    /// How many recorded answers it holds.
    proposals: usize,
    /// The digest of the question to a proposer whose answer was recorded just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<Digest>,
    #[schemars(extend("const" = 1))]
    version: u32,
    /// Whether the file was written.
    written: bool,
}

/// The questions whose answers were recorded just now.
#[derive(Debug, Default)]
struct Recorded {
    proposed: Option<Digest>,
    judged: Vec<Digest>,
}

/// An import.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LockEntry")]
struct Line {
    /// The size of its file; absent when it is not pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// The digest of its file, which is pinned; absent when it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// Its name, as the contract writes it.
    import: String,
    /// What became of it.
    state: State,
}

/// What became of an import, or what is the matter with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum State {
    /// It was pinned already.
    Kept,
    /// It is pinned now.
    Pinned,
    /// It is not imported any more, and was taken out.
    Removed,
    /// It is not pinned.
    Missing,
    /// It is pinned and not imported.
    Surplus,
}

/// Brings the lock up to date, or says what is wrong with it.
///
/// # Errors
/// A contract that is invalid (exit 3); an import that cannot be fetched, a lock that cannot be
/// read or is not up to date (exit 4).
pub fn run(global: &Global, args: &Lock, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let site = global.engine().locate()?;
    let contract = load::contract_path(&site, global.contract.as_deref()).map_err(load_failed)?;
    let path = lockfile::beside(&contract);
    let refuse =
        |message: &str, help: &str| Err(Failure::usage("vplan::usage::record", message).help(help));
    if args.record && global.locked {
        return refuse(
            "`--record` writes the lock, and `--locked` keeps it as it is",
            "leave out one of them",
        );
    }
    if args.record && args.request.contract_from.is_some() {
        let message =
            "an answer is recorded beside the contract of the work tree, and for that one";
        return refuse(message, "check out the revision, and record it there");
    }
    let revision = args.request.contract_from.as_deref();
    let commit = revision
        .map(|revision| resolve(&site, revision))
        .transpose()?;
    let task = Task {
        global,
        args,
        terminal,
        format,
        site,
        path,
        commit,
    };
    match (args.check, &task.commit) {
        (true, _) => task.check(),
        (false, Some(_)) => task.fetch(),
        (false, None) => task.write(),
    }
}

struct Task<'a> {
    global: &'a Global,
    args: &'a Lock,
    terminal: &'a Terminal,
    format: Format,
    site: Site,
    path: RepoPath,
    /// What `--contract-from` names.
    commit: Option<Oid>,
}

fn resolve(site: &Site, revision: &str) -> Result<Oid, Failure> {
    let failed = |e: GitError| load_failed(LoadError::Git(e));
    let git = site.git.as_ref().map_err(|e| failed(e.clone()))?;
    changes::resolve(git, revision).map_err(failed)
}

impl Task<'_> {
    fn load(&self, pins: &mut dyn Pins) -> Result<Loaded, LoadError> {
        let contract = self.global.contract.as_deref();
        let revision = self.args.request.contract_from.as_deref();
        let wanted = Wanted {
            contract,
            revision,
            base: None,
            max_file: self.global.max_file,
        };
        load::load(&self.site, &wanted, pins)
    }

    fn found(&self) -> Result<LockFile, Failure> {
        let found = lockfile::read(&self.site, &self.path, self.commit.as_ref())?;
        if found.is_newer() {
            Err(lock_invalid(&self.path, found))
        } else {
            Ok(found)
        }
    }

    fn write(&self) -> Result<u8, Failure> {
        let found = self.found()?;
        if self.global.locked && found.has_errors() {
            return Err(lock_invalid(&self.path, found));
        }
        if found.has_errors() {
            let Terminal {
                color_stderr,
                width,
                ..
            } = *self.terminal;
            self.terminal.note(&diagnostic::diagnostics(
                &found.sources,
                &found.diagnostics,
                color_stderr,
                width,
            ));
            self.terminal
                .note(&format!("note: the lock `{}` is mended\n", self.path));
        }
        let limit = Duration::from_millis(self.args.timeout);
        let mut pinned = self.pinned(&found.lock, limit)?;
        let mut before = lock::Lock::default();
        let locked = self.global.locked;
        let written = lockfile::replace(&self.site, &self.path, limit, |now| {
            if now.is_newer() {
                return Err(lock_invalid(
                    &self.path,
                    LockFile {
                        diagnostics: now.diagnostics.clone(),
                        sources: now.sources.clone(),
                        ..LockFile::default()
                    },
                ));
            }
            // Another process may have pinned, or recorded an answer, in the meantime.
            let disputed = now
                .lock
                .imports
                .iter()
                .find(|i| pinned.import(&i.origin).is_some_and(|p| p != *i));
            if let Some(import) = disputed {
                let message = format!(
                    "another `vplan lock` pinned `{}` to other bytes",
                    import.origin
                );
                return Err(Failure::new(Exit::Drift.code(), CHANGED.0, message)
                    .help("look at the lock, then try again"));
            }
            pinned.proposals.clone_from(&now.lock.proposals);
            before = now.lock.clone();
            if locked && before != pinned {
                let message = format!("the lock `{}` is not up to date", self.path);
                return Err(
                    Failure::new(Exit::Drift.code(), "vplan::lock::stale", message)
                        .help("run `vplan lock` without `--locked`, and check the lock in"),
                );
            }
            Ok(pinned.clone())
        })?;
        let mut entries: Vec<Line> = Vec::new();
        for import in &pinned.imports {
            let state = if before.import(&import.origin).is_some() {
                State::Kept
            } else {
                State::Pinned
            };
            entries.push(line(&import.origin, Some(import), state));
        }
        let removed = before
            .imports
            .iter()
            .filter(|i| pinned.import(&i.origin).is_none());
        entries.extend(removed.map(|i| line(&i.origin, Some(i), State::Removed)));
        let (
            before,
            Recorded {
                proposed: recorded,
                judged,
            },
        ) = if self.args.record {
            (written, self.record(limit)?)
        } else {
            (written, Recorded::default())
        };
        let lock = lockfile::read(&self.site, &self.path, None)?.lock;
        let written = before || recorded.is_some() || !judged.is_empty();
        let proposals = lock.proposals.len();
        self.account(&Account {
            entries,
            judged,
            lock: self.path.clone(),
            proposals,
            recorded,
            version: 1,
            written,
        });
        Ok(Exit::Success.code())
    }

    /// What the contract imports, fetched where the cache does not have it.
    fn pinned(&self, lock: &lock::Lock, limit: Duration) -> Result<lock::Lock, Failure> {
        let store = self.global.engine().import_cache().ok_or_else(no_cache)?;
        let fetcher =
            (!self.global.offline).then(|| Fetcher::new(&self.site.root, &environment, limit));
        let mut pins = Fetching {
            lock,
            store: &store,
            fetcher,
            max_file: self.global.max_file,
            pinned: lock::Lock::default(),
            fetched: BTreeSet::new(),
        };
        let loaded = self.load(&mut pins).map_err(load_failed)?;
        if loaded.contract.is_none() {
            let drift = loaded.drift;
            let message = format!(
                "`{}` imports what cannot be pinned; the lock stays as it was",
                loaded.path
            );
            let failure = invalid(loaded);
            let code = "vplan::lock::incomplete".to_owned();
            return Err(if drift {
                Failure {
                    message,
                    code,
                    ..failure
                }
            } else {
                failure
            });
        }
        Ok(pins.pinned)
    }

    /// Fetches what the lock of a revision pins, and writes nothing but the cache: a machine that
    /// starts with an empty one needs it for `--contract-from` and for `diff --base`.
    fn fetch(&self) -> Result<u8, Failure> {
        let found = self.found()?;
        if found.has_errors() {
            return Err(lock_invalid(&self.path, found));
        }
        let pinned = self.pinned(&found.lock, Duration::from_millis(self.args.timeout))?;
        if let Some(import) = pinned
            .imports
            .iter()
            .find(|i| found.lock.import(&i.origin).is_none())
        {
            let message = format!(
                "the lock `{}` of that revision does not pin `{}`",
                self.path, import.origin
            );
            return Err(Failure::new(
                Exit::Drift.code(),
                "vplan::lock::stale",
                message,
            ));
        }
        let entries = pinned
            .imports
            .iter()
            .map(|i| line(&i.origin, Some(i), State::Kept))
            .collect();
        let proposals = found.lock.proposals.len();
        let lock = self.path.clone();
        let judged = Vec::new();
        self.account(&Account {
            entries,
            judged,
            lock,
            proposals,
            recorded: None,
            version: 1,
            written: false,
        });
        Ok(Exit::Success.code())
    }

    /// Asks the proposer and the judge, and records what they say. Gives the digests of the
    /// questions.
    fn record(&self, limit: Duration) -> Result<Recorded, Failure> {
        let asked = self.args.request.planned()?;
        let mut session = self.global.engine().told(self.terminal).open(&asked)?;
        let (plan, _) = session.make(&asked, Asking::Anew, false)?;
        let judge = session.judge(self.args.judge.as_deref(), &plan)?;
        let judged = judge.map_or(Ok(Vec::new()), |judge| session.judge_now(&judge, &plan))?;
        let proposed = session.request.proposal.map(|proposal| {
            let proposer = asked
                .proposer
                .as_deref()
                .map(|p| visible(p.as_encoded_bytes()))
                .unwrap_or_default();
            RecordedAnswer {
                question: proposal.reference().question,
                proposer,
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
        let questions = Recorded {
            proposed: proposed.as_ref().map(|a| a.question.clone()),
            judged: judged.iter().map(|a| a.question.clone()).collect(),
        };
        lockfile::replace(&self.site, &self.path, limit, |now| {
            let mut lock = now.lock.clone();
            proposed
                .into_iter()
                .chain(judged)
                .for_each(|answer| lock.record(answer));
            Ok::<_, Failure>(lock)
        })?;
        Ok(questions)
    }

    fn check(&self) -> Result<u8, Failure> {
        let found = self.found()?;
        if found.has_errors() {
            return Err(lock_invalid(&self.path, found));
        }
        let store = self.global.engine().import_cache();
        let mut pins = Held::new(
            &self.site,
            self.path.clone(),
            self.args.request.contract_from.as_deref(),
            store.as_ref(),
            self.global.max_file,
        );
        let loaded = self.load(&mut pins).map_err(load_failed)?;
        let asked = pins.asked;
        let whole = loaded.contract.is_some();
        if !whole && !loaded.drift {
            return Err(invalid(loaded));
        }
        let mut entries: Vec<Line> = Vec::new();
        for origin in &asked {
            let pin = found.lock.import(origin);
            entries.push(line(
                origin,
                pin,
                if pin.is_some() {
                    State::Kept
                } else {
                    State::Missing
                },
            ));
        }
        // While something is missing, its imports are not known.
        let surplus = found
            .lock
            .imports
            .iter()
            .filter(|i| !asked.contains(&i.origin))
            .filter(|_| whole);
        entries.extend(surplus.map(|i| line(&i.origin, Some(i), State::Surplus)));
        let stale = entries.iter().filter(|e| e.state != State::Kept).count();
        let proposals = found.lock.proposals.len();
        self.account(&Account {
            entries,
            judged: Vec::new(),
            lock: self.path.clone(),
            proposals,
            recorded: None,
            version: 1,
            written: false,
        });
        if !whole {
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
            let failure = invalid(loaded);
            let diagnostics = failure.diagnostics;
            return Err(Failure {
                diagnostics: diagnostics.filter(|_| self.format == Format::Text),
                ..Failure::new(Exit::Drift.code(), "vplan::lock::stale", message)
            });
        }
        if stale > 0 {
            let message = format!(
                "the lock `{}` has {} too many",
                self.path,
                count(stale, "import")
            );
            return Err(
                Failure::new(Exit::Drift.code(), "vplan::lock::surplus", message)
                    .help("`vplan lock` takes them out"),
            );
        }
        Ok(Exit::Success.code())
    }

    fn account(&self, account: &Account) {
        if self.format == Format::Json {
            self.terminal.print_json(account);
            return;
        }
        if self.terminal.quiet {
            return;
        }
        let mut out = String::new();
        for line in account.entries.iter().filter(|l| l.state != State::Kept) {
            let state = match line.state {
                State::Kept => "kept",
                State::Pinned => "pinned",
                State::Removed => "removed",
                State::Missing => "missing",
                State::Surplus => "surplus",
            };
            out.push_str(&format!("{state:8} {}\n", line.import));
        }
        let held = account
            .entries
            .iter()
            .filter(|l| matches!(l.state, State::Kept | State::Pinned))
            .count();
        let answers = match account.proposals {
            0 => String::new(),
            n => format!(", {}", count(n, "recorded answer")),
        };
        out.push_str(&format!(
            "{}: {}{answers}\n",
            account.lock,
            count(held, "import")
        ));
        self.terminal.say(&out);
    }
}

fn line(origin: &GitOrigin, pin: Option<&lock::PinnedImport>, state: State) -> Line {
    let import = origin.to_string();
    Line {
        bytes: pin.map(|p| p.bytes),
        digest: pin.map(|p| p.digest.to_string()),
        import,
        state,
    }
}
