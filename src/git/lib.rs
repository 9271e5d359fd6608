//! Queries git so that the repository's own configuration cannot run anything.
//!
//! Git calls are hardened: only plumbing that never compares contents (`ls-files`, `ls-tree`,
//! `cat-file`, `merge-base`, `rev-parse`). Everything that reads the work tree (`git diff`, `git
//! status`, `diff-files`, `diff-index` without `--cached`) runs the clean filter of `.git/config`
//! for entries that are not older than the index, despite all other hardening. So vplan compares
//! the work tree with the index itself ([`worktree`]). The environment is built from nothing,
//! revisions are resolved to object ids first, and nothing is fetched.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "the door: the core's purity is a lint, and this is where it ends"
)]

mod attributes;
pub mod between;
mod call;
mod checked;
mod checkout;
mod convert;
pub mod error;
pub mod fetch;
pub mod fingerprint;
pub mod hidden;
pub mod ignored;
pub mod index;
mod known;
mod listing;
mod memory;
pub mod mended;
pub mod object;
pub mod observed;
pub mod oracle;
mod others;
pub mod own_files;
mod pattern;
pub mod pins;
mod present;
pub mod proposed;
pub mod reflog;
pub mod refs;
pub mod repository;
pub mod revision;
mod rules;
pub mod shared_state;
pub mod skipped;
pub mod snapshot;
pub mod staged;
mod tree;
pub mod worktree;

pub use attributes::unquoted;
use error::GitError;
use memory::Memory;
use object::Oid;
use repository::{Discovery, Layout};
use skipped::Unseen;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use vplan_base::command::quote;
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, visible, visible_path};
use vplan_os::files;

/// The time limit of a call, in seconds.
const LIMIT_SECONDS: u64 = 30;
/// The limit on its output, in MiB.
const CAP_MIB: u64 = 256;
const LIMITS: (u64, u64) = (LIMIT_SECONDS, CAP_MIB);

/// Looks a variable up in the caller's environment.
pub type Lookup<'a> = &'a (dyn Fn(&str) -> Option<OsString> + Sync);

/// Looks a variable up in vplan's own environment.
pub fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A repository with a work tree, and the git that is called on it.
#[derive(Clone, Debug)]
pub struct Git {
    layout: Layout,
    /// The caller's `PATH`.
    path: OsString,
    /// Git's executable, located on the first use.
    program: OnceLock<Option<PathBuf>>,
    /// The PATH that git gets, made when it is first started: that takes a system call for each folder
    /// and each above it, and a request that names the changed files starts no git.
    safe_path: OnceLock<OsString>,
    env: Vec<(&'static str, OsString)>,
    memory: Arc<Memory>,
    /// In a submodule: its path in the repository that has this memory.
    below: Vec<u8>,
}

/// A query that git is working on.
struct PendingQuery<'g> {
    git: &'g Git,
    name: String,
    started: call::Started,
}

impl PendingQuery<'_> {
    fn output(self) -> Result<call::Output, GitError> {
        let output = self.started.finish();
        let output = output.map_err(|fault| unanswered(fault, self.name, LIMITS))?;
        let bytes = output.stdout.len();
        tracing::trace!(exit = output.exit, bytes, "git has answered");
        Ok(output)
    }

    /// Returns the output, unless it is longer.
    fn at_most(mut self, cap: u64) -> Result<Vec<u8>, GitError> {
        self.started
            .limit(usize::try_from(cap).unwrap_or(usize::MAX));
        self.answer()
    }

    fn answer(self) -> Result<Vec<u8>, GitError> {
        let (git, name) = (self.git, self.name.clone());
        let output = self.output()?;
        if output.exit == Some(0) {
            Ok(output.stdout)
        } else {
            Err(git.failure(&name, &output))
        }
    }
}

fn unanswered(fault: call::CallError, command: String, (seconds, mib): (u64, u64)) -> GitError {
    match fault {
        call::CallError::Spawn(e) => GitError::Spawn(e.to_string()),
        call::CallError::TimedOut => GitError::TimedOut { command, seconds },
        call::CallError::TooMuch => GitError::TooMuchOutput { command, mib },
    }
}

impl Git {
    /// Finds the repository around a directory. [`Git::available`] checks whether there is a git.
    ///
    /// # Errors
    /// No repository, a bare one.
    pub fn open(start: &Path, lookup: Lookup<'_>) -> Result<Self, GitError> {
        let real = start.canonicalize();
        let start = real.map_err(|_| GitError::NotARepository(start.to_owned()))?;
        match repository::discover(&start) {
            Discovery::WorkTree(layout) => Ok(Self::at(layout, lookup)),
            Discovery::Bare(dir) => Err(GitError::Bare(dir)),
            Discovery::Nothing => Err(GitError::NotARepository(start)),
        }
    }

    pub fn at(layout: Layout, lookup: Lookup<'_>) -> Self {
        let mut env = vec![
            ("LC_ALL", "C".into()),
            ("GIT_OPTIONAL_LOCKS", "0".into()),
            ("GIT_TERMINAL_PROMPT", "0".into()),
            // A partial clone would open a connection for an object that it does not have.
            ("GIT_NO_LAZY_FETCH", "1".into()),
            // `.git/info/grafts` gives commits other parents, and so a change another beginning.
            ("GIT_GRAFT_FILE", "/dev/null".into()),
        ];
        // The places of the user's own configuration, which has `safe.directory` and the personal
        // ignore file.
        for name in ["HOME", "XDG_CONFIG_HOME"] {
            env.extend(lookup(name).map(|value| (name, value)));
        }
        let path = lookup("PATH").unwrap_or_default();
        Self {
            layout,
            path,
            program: OnceLock::new(),
            safe_path: OnceLock::new(),
            env,
            memory: Arc::default(),
            below: Vec::new(),
        }
    }

    /// Adds a cache of known contents, below the state directory of all repositories. The directory
    /// may be missing. If it cannot be made, every file is read again. Writing to it begins with
    /// [`Git::keep`].
    pub fn with_memory(mut self, states: &Path) -> Self {
        self.memory = Arc::new(Memory::at(states, &self.layout.root));
        self
    }

    /// Stores the cache so far, and updates from now on: for a command that writes anyway.
    pub fn keep(&self) {
        self.memory.keep();
    }

    /// Returns the paths that the last comparison of the work tree with a commit skipped.
    pub fn skipped_paths(&self) -> Unseen {
        self.memory.skipped_paths()
    }

    /// Returns a file's key in the memory.
    fn key<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        if self.below.is_empty() {
            Cow::Borrowed(path)
        } else {
            Cow::Owned([&self.below, path].concat())
        }
    }

    /// Checks that there is a git.
    ///
    /// # Errors
    /// No git is on the PATH.
    pub fn available(&self) -> Result<(), GitError> {
        self.program().map(|_| ())
    }

    fn program(&self) -> Result<&Path, GitError> {
        let is_git = |(file, dir): &(PathBuf, PathBuf)| {
            files::is_program(file) && is_safe(dir, &self.layout.root)
        };
        let find = || {
            let mut found = std::env::split_paths(&self.path).map(|dir| (dir.join("git"), dir));
            found.find(is_git).map(|(file, _)| file)
        };
        let program = self.program.get_or_init(find);
        program.as_deref().ok_or(GitError::Missing)
    }

    fn safe_path(&self) -> &OsStr {
        let make = || safe_path(&self.path, &self.layout.root);
        self.safe_path.get_or_init(make)
    }

    /// Returns git for the repository of a submodule.
    fn nested(&self, layout: Layout, path: &RepoPath) -> Self {
        let below = [&self.below, path.as_bytes(), b"/"].concat();
        Self {
            layout,
            below,
            ..self.clone()
        }
    }

    /// Returns the work tree's root, absolute, without symlinks.
    pub fn root(&self) -> &Path {
        &self.layout.root
    }

    /// Returns the places of the repository's files.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<PendingQuery<'_>, GitError> {
        self.start_with(args, Stdio::null())
    }

    fn start_with<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: Stdio,
    ) -> Result<PendingQuery<'_>, GitError> {
        let is_option = |a: &&S| a.as_ref().as_bytes().starts_with(b"-");
        let subcommand = args.iter().find(|a| !is_option(a));
        let name = || subcommand.map(visible_path).unwrap_or_default();
        let program = self.program()?;
        self.layout.is_readable()?;
        let mut command = Command::new(program);
        command.arg("-C").arg(&self.layout.root).args(hardening(""));
        // `core.worktree` of the repository could point anywhere else.
        let mut work_tree = OsString::from("--work-tree=");
        work_tree.push(&self.layout.root);
        command
            .arg(work_tree)
            .args(args)
            .stdin(input)
            .env_clear()
            .env("GIT_INDEX_FILE", &self.layout.index)
            .envs(self.env.iter().map(|(k, v)| (k, v)))
            .env("PATH", self.safe_path());
        let cap = usize::try_from(CAP_MIB << 20).unwrap_or(usize::MAX);
        let shown = |a: &S| quote(&Word::new(a.as_ref().as_bytes().to_vec()));
        tracing::debug!(arguments = %args.iter().map(shown).collect::<Vec<_>>().join(" "), "git");
        let started = call::start(&mut command, Duration::from_secs(LIMIT_SECONDS), cap);
        Ok(PendingQuery {
            git: self,
            name: name(),
            started: started.map_err(|fault| unanswered(fault, name(), LIMITS))?,
        })
    }

    fn call<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<call::Output, GitError> {
        self.start(args)?.output()
    }

    /// Makes the error for an exit code that was not expected.
    fn failure(&self, command: &str, output: &call::Output) -> GitError {
        if output.exit.is_none() {
            return GitError::Killed(command.to_owned());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        if text.contains("dubious ownership") {
            return GitError::DubiousOwnership(self.layout.root.clone());
        }
        let line = text.lines().find(|l| !l.trim().is_empty());
        let line = without_kind(line.unwrap_or("it gave no reason"));
        let message = visible(line.trim_end_matches('.'));
        match output.exit {
            // What a shell and the loader say of a program that does not start.
            Some(126 | 127) => GitError::Spawn(message),
            _ => GitError::Failed {
                command: command.to_owned(),
                message,
            },
        }
    }

    fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        self.start(args)?.answer()
    }

    /// Returns the commit that is checked out; `None` on a branch without commits.
    ///
    /// # Errors
    /// Errors of git.
    pub fn head(&self) -> Result<Option<Oid>, GitError> {
        if let Some(id) = self.layout.head() {
            return Ok(Some(id));
        }
        match self.resolve("HEAD") {
            Ok(id) => Ok(Some(id)),
            Err(GitError::UnknownRevision(_)) => {
                // A branch without commits, or a HEAD that is damaged?
                let output = self.call(&["symbolic-ref", "--quiet", "HEAD"])?;
                match output.exit {
                    Some(0) => Ok(None),
                    _ => Err(GitError::UnknownRevision("HEAD".to_owned())),
                }
            }
            Err(e) => Err(e),
        }
    }

    /// Returns the empty tree, which represents a branch without commits.
    ///
    /// # Errors
    /// Errors of git.
    pub fn empty_tree(&self) -> Result<Oid, GitError> {
        let format = self.ask(&["rev-parse", "--show-object-format"])?;
        let is_long = format.trim_ascii_end() == b"sha256";
        let length = if is_long { 32 } else { 20 };
        Oid::empty_tree(length).ok_or(GitError::Unreadable("rev-parse"))
    }

    /// Returns the best common ancestor of a commit and HEAD. `revision` is the user's name for it,
    /// for the message.
    ///
    /// # Errors
    /// No common ancestor exists; in a shallow clone the error has a help text.
    pub fn merge_base(&self, revision: &str, commit: &Oid, head: &Oid) -> Result<Oid, GitError> {
        let ids = [commit.to_string(), head.to_string()];
        let output = self.call(&words("merge-base --end-of-options", ids))?;
        match output.exit {
            Some(0) => {
                Oid::parse(output.stdout.trim_ascii_end()).ok_or(GitError::Unreadable("merge-base"))
            }
            Some(1) => Err(GitError::NoMergeBase {
                revision: revision.to_owned(),
                shallow: self.layout.is_shallow(),
            }),
            _ => Err(self.failure("merge-base", &output)),
        }
    }

    /// Returns the names of the remotes that need no quotes in a proposed command line.
    ///
    /// # Errors
    /// Errors of git.
    pub fn remotes(&self) -> Result<Vec<String>, GitError> {
        let output = self.ask(&["remote"])?;
        let names = String::from_utf8_lossy(&output);
        let names = names.lines().filter(|name| error::is_branch_name(name));
        Ok(names.map(str::to_owned).collect())
    }

    /// Returns the paths in the index, sorted, each once.
    ///
    /// # Errors
    /// Errors of git.
    pub fn tracked(&self) -> Result<Vec<RepoPath>, GitError> {
        self.files("ls-files -z --cached")
    }

    /// Returns the untracked files and folders that a `.gitignore` hides, sorted. A folder with
    /// nothing else in it is one path. Paths hidden by git's own files or the user's settings are
    /// not included.
    ///
    /// # Errors
    /// Errors of git.
    pub fn ignored(&self) -> Result<Vec<RepoPath>, GitError> {
        let which = "--others --ignored --directory --exclude-per-directory=.gitignore";
        self.files(&format!("ls-files -z {which}"))
    }

    /// Returns every path that is tracked, or untracked and not ignored by any rule, as git lists
    /// it. Nested repositories are one path each. Sorted, each once. For proposals, and for files
    /// that leave the machine; for the paths of the tree, see [`Git::tree`].
    ///
    /// # Errors
    /// Errors of git.
    pub fn present(&self) -> Result<Vec<RepoPath>, GitError> {
        self.files("ls-files -z --cached --others --exclude-standard")
    }

    /// Returns the paths that a command lists, sorted, each once.
    fn files(&self, words: &str) -> Result<Vec<RepoPath>, GitError> {
        let listed = split_nul(&self.ask(&command(words))?);
        let exact = |p: &Vec<u8>| RepoPath::from_exact(p.strip_suffix(b"/").unwrap_or(p));
        let paths: BTreeSet<RepoPath> = listed.iter().filter_map(exact).collect();
        Ok(paths.into_iter().collect())
    }

    /// Returns which of these paths are in the index, or have something in the index below them.
    ///
    /// # Errors
    /// Errors of git.
    pub fn tracked_of(&self, paths: &[RepoPath]) -> Result<Vec<bool>, GitError> {
        let args = words("ls-files -z --cached --", paths.iter().map(RepoPath::to_os));
        let found = split_nul(&self.ask(&args)?);
        let found = found.iter().filter_map(|f| RepoPath::from_exact(f));
        let found: Vec<RepoPath> = found.collect();
        let is_in = |f: &RepoPath, path: &RepoPath| f == path || f.below(path).is_some();
        let holds = |path: &RepoPath| found.iter().any(|f| is_in(f, path));
        Ok(paths.iter().map(holds).collect())
    }

    /// Whether the executable bit of files means something on this file system. The configuration
    /// (`core.fileMode`) is not trusted: any process may have written it.
    fn has_file_modes(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            // FAT, exFAT, NTFS (two drivers), CIFS, SMB2, and 9p, by which WSL shows the drives of
            // Windows.
            const WITHOUT: [u32; 7] = [
                0x4d44,
                0x2011_bab0,
                0x5346_544e,
                0x7366_746e,
                0xff53_4d42,
                0xfe53_4d42,
                0x0102_1997,
            ];
            let found = rustix::fs::statfs(&self.layout.root);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the numbers have 32 bits"
            )]
            !found.is_ok_and(|found| WITHOUT.contains(&(found.f_type as u32)))
        }
        #[cfg(not(target_os = "linux"))]
        true
    }
}

/// Returns a line of git's without the word for its kind.
fn without_kind(line: &str) -> &str {
    let kinds = ["fatal: ", "error: "].into_iter();
    kinds.fold(line, |line, kind| line.strip_prefix(kind).unwrap_or(line))
}

/// Settings of every call of git.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    // A file of the repository that defines the order of commits, and that nothing checks.
    "core.commitGraph=false",
    // Two names that differ in case are two files. A setting to the contrary would hide one.
    "core.ignoreCase=false",
    // Otherwise git's first message about any failure would be this warning.
    "advice.graftFileDeprecated=false",
    // A hook of some builds of git.
    "core.virtualFilesystem=",
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    // git must warn of ambiguous names, whatever the repository configures.
    "core.warnAmbiguousRefs=true",
];

/// The options before every subcommand; `more` has further settings.
fn hardening(more: &'static str) -> impl Iterator<Item = &'static str> {
    let options = "--no-optional-locks --no-pager --no-replace-objects --literal-pathspecs";
    let settings = SETTINGS.iter().copied().chain(more.split(' '));
    let settings = settings.filter(|one| !one.is_empty());
    let settings = settings.flat_map(|one| ["-c", one]);
    settings.chain(options.split(' '))
}

/// Returns the words of a command of git, and what follows them.
fn words<S: AsRef<OsStr>>(command: &str, more: impl IntoIterator<Item = S>) -> Vec<OsString> {
    let more = more.into_iter().map(|word| word.as_ref().to_owned());
    command.split(' ').map(OsString::from).chain(more).collect()
}

/// Returns the words of a command of git.
fn command(words: &str) -> Vec<&str> {
    words.split(' ').collect()
}

/// Returns PATH without entries that are empty, relative, or inside the repository, where a change
/// could place a `git`.
fn safe_path(path: &OsStr, root: &Path) -> OsString {
    let kept = std::env::split_paths(path).filter(|dir| is_safe(dir, root));
    std::env::join_paths(kept).unwrap_or_default()
}

/// Whether a folder of PATH is absolute and not inside the repository.
fn is_safe(folder: &Path, root: &Path) -> bool {
    folder.is_absolute() && !files::may_lead_into(folder, root)
}

/// Whether a path is one of vplan's own records.
pub fn is_record(path: &[u8]) -> bool {
    path.strip_prefix(b".vplan")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn split_nul(bytes: &[u8]) -> Vec<Vec<u8>> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if bytes.is_empty() {
        Vec::new()
    } else {
        bytes.split(|b| *b == 0).map(<[u8]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_only_absolute_entries_outside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let inside = root.join("bin");
        std::fs::create_dir(&inside).unwrap();
        let path = format!(":.:bin:{}:/usr/bin", inside.display());
        assert_eq!(safe_path(OsStr::new(&path), &root), "/usr/bin");
    }
}
