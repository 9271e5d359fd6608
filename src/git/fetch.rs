//! Fetches a file of another repository, by git, into a temporary repository.
//!
//! The remote and its URL come from a contract, so neither is trusted: one protocol, no prompt, no
//! hook, no submodule, a new environment, and a time limit. Git starts helpers (`git-remote-https`,
//! `ssh`, `git-upload-pack`), so it runs below a supervisor, as a step does. All of them end at the
//! time limit, or when vplan is gone. The remote sends the requested object or nothing: git names
//! every object that arrives by its own digest, and a commit's id is what was requested.

use super::call::{self, Output};
use super::error::GitError;
use super::object::Oid;
use super::{Lookup, command, hardening, safe_path, unanswered, without_kind};
use crate::pins::{PinError, error, helped};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use vplan_base::diagnostic::Code;
use vplan_base::origin::{GitOrigin, GitRef};
use vplan_base::path::RepoPath;
use vplan_base::unit::{show_duration, show_size};
use vplan_base::word::{Word, visible};
use vplan_check::evidence::Evidence;
use vplan_os::files;
use vplan_os::process::ask::run;
use vplan_os::process::attempt::Try;
use vplan_os::process::mask::Secrets;
use vplan_os::process::pool::Pool;
use vplan_os::process::program::{Root, SearchPath};
use vplan_os::scratch::{self, Scratch};

/// The remote is unreachable, refuses, or sends an invalid answer.
pub(crate) const FETCH_FAILED: Code = Code("vplan::lock::fetch_failed");
/// The time was up.
pub(crate) const TIMED_OUT: Code = Code("vplan::lock::fetch_timed_out");
/// The remote lacks the commit.
pub(crate) const NO_COMMIT: Code = Code("vplan::lock::no_such_commit");
/// The remote lacks the branch or tag, or has both.
pub(crate) const NO_REF: Code = Code("vplan::lock::no_such_ref");
/// The object is not a commit.
pub(crate) const NOT_A_COMMIT: Code = Code("vplan::lock::not_a_commit");
/// The commit lacks the file.
pub const NO_FILE: Code = Code("vplan::lock::no_such_file");
/// The path is a directory, a symlink, a submodule.
pub(crate) const NOT_A_FILE: Code = Code("vplan::lock::not_a_file");
/// The file is larger than `--max-file` allows.
pub const TOO_LARGE: Code = Code("vplan::lock::too_large");
/// Git, or a place for its repository, is missing.
pub const SETUP: Code = Code("vplan::lock::setup");
/// The folders that fetches are made in.
const FETCHES: scratch::ScratchKind = scratch::ScratchKind {
    prefix: "vplan-fetch-",
    remove: |path| std::fs::remove_dir_all(path),
};

/// All codes of this file.
pub const CODES: [Code; 9] = [
    FETCH_FAILED,
    NO_REF,
    TIMED_OUT,
    NO_COMMIT,
    NOT_A_COMMIT,
    NO_FILE,
    NOT_A_FILE,
    TOO_LARGE,
    SETUP,
];

/// Variables that git gets when it fetches: the places of the user's configuration and keys, and
/// the network settings. None of them makes git prompt.
const PASSED: &str = "\
    HOME XDG_CONFIG_HOME USER LOGNAME SSH_AUTH_SOCK https_proxy HTTPS_PROXY all_proxy ALL_PROXY \
    no_proxy NO_PROXY SSL_CERT_FILE SSL_CERT_DIR GIT_SSL_CAINFO GIT_SSL_CAPATH";

/// Settings that replace prompts. `ssh` reads the user's own configuration, as every other `git
/// fetch` of theirs does.
const UNATTENDED: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GCM_INTERACTIVE", "never"),
    (
        "GIT_SSH_COMMAND",
        "ssh -oBatchMode=yes -oControlMaster=no -oControlPath=none -oForwardAgent=no -oClearAllForwardings=yes",
    ),
    ("GIT_SSH_VARIANT", "ssh"),
    ("GIT_NO_LAZY_FETCH", "1"),
];

const NO_UPKEEP: &str = "core.askPass= gc.auto=0 maintenance.auto=false transfer.bundleURI=false \
                         fetch.recurseSubmodules=false";

/// The time limit of local queries once everything is here.
const LOCAL_LIMIT: Duration = Duration::from_secs(30);

/// Fetches files of other repositories.
#[derive(Debug)]
pub struct Fetcher {
    program: PathBuf,
    search: SearchPath,
    env: BTreeMap<Vec<u8>, Vec<u8>>,
    limit: Duration,
    pool: Pool,
}

impl Fetcher {
    /// Locates git. `root`: the present repository, whose own programs are never used; `limit`: for
    /// each import.
    ///
    /// # Errors
    /// No git on the PATH.
    pub fn new(root: &Path, lookup: Lookup<'_>, limit: Duration) -> Result<Self, PinError> {
        let path = safe_path(&lookup("PATH").unwrap_or_default(), root);
        let found = std::env::split_paths(&path)
            .map(|dir| dir.join("git"))
            .find(|file| files::is_program(file));
        let program =
            found.ok_or_else(|| helped(SETUP, GitError::Missing.to_string(), "install git"))?;
        let opened = Root::open(root)
            .map_err(|e| error(SETUP, format!("the repository cannot be read: {e}")))?;
        let passed = |name: &str| Some((name.as_bytes().to_vec(), lookup(name)?.into_vec()));
        let own = UNATTENDED.iter();
        let own = own.map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec()));
        let mut env: BTreeMap<Vec<u8>, Vec<u8>> =
            PASSED.split(' ').filter_map(passed).chain(own).collect();
        env.insert(b"PATH".to_vec(), path.as_bytes().to_vec());
        let search = SearchPath::new(&opened, Some(path.as_bytes()));
        Ok(Self {
            program,
            search,
            env,
            limit,
            pool: Pool::new(None),
        })
    }

    /// Returns the bytes of a file in a commit of another repository; at most `cap` of them.
    ///
    /// # Errors
    /// The remote does not answer, lacks the commit, or the commit lacks the file.
    pub fn fetch(&self, origin: &GitOrigin, cap: u64) -> Result<Vec<u8>, PinError> {
        tracing::debug!(%origin, "fetching");
        let repository = Repository::new(self, &origin.url, &origin.revision)?;
        repository.bring(&origin.revision)?;
        let bytes = repository.file(origin, cap)?;
        tracing::debug!(bytes = bytes.len(), "fetched");
        Ok(bytes)
    }

    /// Returns the commit that a branch or tag of another repository names now.
    ///
    /// # Errors
    /// The remote does not answer, lacks the branch or tag, or has both.
    pub fn commit_of(&self, at: &GitRef) -> Result<String, PinError> {
        Repository::new(self, &at.url, "")?.commit_of(&at.name)
    }
}

fn no_room(e: std::io::Error) -> PinError {
    error(SETUP, format!("there is no room to fetch into: {e}"))
}

/// A bare repository for one import.
struct Repository<'a> {
    fetcher: &'a Fetcher,
    dir: Scratch,
    url: &'a str,
}

impl<'a> Repository<'a> {
    /// Makes one, for commits with ids like this one.
    fn new(fetcher: &'a Fetcher, url: &'a str, revision: &str) -> Result<Self, PinError> {
        let dir = Scratch::below(&tempfile::env::temp_dir(), FETCHES).map_err(no_room)?;
        let made = Self { fetcher, dir, url };
        let format = if revision.len() == 64 {
            "--object-format=sha256"
        } else {
            "--object-format=sha1"
        };
        let words = ["init", "--quiet", "--bare", "--template=", format];
        made.answer(&words, 1 << 16, SETUP)?;
        Ok(made)
    }

    fn arguments(&self, args: &[&str]) -> Vec<OsString> {
        let mut git_dir = OsString::from("--git-dir=");
        git_dir.push(self.dir.path());
        let all = hardening(NO_UPKEEP).map(OsString::from).chain([git_dir]);
        all.chain(args.iter().map(OsString::from)).collect()
    }

    /// Runs git on the repository here, without a connection.
    fn local(&self, args: &[&str], cap: u64) -> Result<Output, PinError> {
        let mut command = Command::new(&self.fetcher.program);
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        command
            .current_dir(self.dir.path())
            .args(self.arguments(args))
            .env_clear();
        command.envs(self.fetcher.env.iter().map(|(n, v)| (text(n), text(v))));
        let cap = usize::try_from(cap).unwrap_or(usize::MAX);
        let name = args.first().copied().unwrap_or_default();
        let answer = call::start(&mut command, LOCAL_LIMIT, cap).and_then(call::Started::finish);
        answer.map_err(|fault| {
            let limits = (LOCAL_LIMIT.as_secs(), (cap >> 20) as u64);
            let fault = unanswered(fault, name.to_owned(), limits);
            error(SETUP, fault.to_string())
        })
    }

    /// Runs git as [`Repository::local`] does; a failure has this code.
    fn answer(&self, args: &[&str], cap: u64, code: Code) -> Result<Vec<u8>, PinError> {
        let output = self.local(args, cap)?;
        if output.exit == Some(0) {
            return Ok(output.stdout);
        }
        let failed = GitError::Failed {
            command: args.first().copied().unwrap_or_default().to_owned(),
            message: reason(&output.stderr),
        };
        Err(error(code, failed.to_string()))
    }

    /// Fetches the commit alone, or everything if the server does not allow that.
    fn bring(&self, revision: &str) -> Result<(), PinError> {
        let deadline = Instant::now() + self.fetcher.limit;
        let url = self.url;
        let alone = self.fetch(&["--depth=1", url, revision], deadline)?;
        if alone.exit == Some(0) {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&alone.stderr.text()).into_owned();
        let refused = [
            "not our ref",
            "unadvertised object",
            "not allow request",
            "couldn't find remote ref",
        ];
        if !refused.iter().any(|sign| said.contains(sign)) {
            return Err(self.unreachable(&alone));
        }
        tracing::debug!(
            "the server does not give the commit alone; fetching all branches and tags"
        );
        let heads = "+refs/heads/*:refs/fetched/heads/*";
        let tags = "+refs/tags/*:refs/fetched/tags/*";
        let everything = self.fetch(&[url, heads, tags], deadline)?;
        if everything.exit == Some(0) {
            Ok(())
        } else {
            Err(self.unreachable(&everything))
        }
    }

    fn unreachable(&self, evidence: &Evidence) -> PinError {
        if let Some(refused) = &evidence.spawn_error {
            return error(SETUP, format!("git could not fetch: {}", refused.message));
        }
        let message = format!(
            "`{}` cannot be fetched: {}",
            self.url,
            reason(&evidence.stderr.text())
        );
        let help = format!(
            "try `git ls-remote {}`: vplan asks for no password and has your keys and credential helpers only",
            self.url
        );
        helped(FETCH_FAILED, message, &help)
    }

    /// Asks the remote which commit a branch or tag names.
    fn commit_of(&self, name: &str) -> Result<String, PinError> {
        let deadline = Instant::now() + self.fetcher.limit;
        let (head, tag) = (format!("refs/heads/{name}"), format!("refs/tags/{name}"));
        let peeled = format!("{tag}^{{}}");
        let args = ["ls-remote", "--quiet", self.url, &head, &tag, &peeled];
        let asked = self.online(&args, deadline)?;
        if asked.exit != Some(0) {
            return Err(self.unreachable(&asked));
        }
        let text = asked.stdout.text();
        let text = String::from_utf8_lossy(&text);
        let id_of = |wanted: &str| {
            let named = text.lines().filter_map(|line| line.split_once('\t'));
            let mut found = named.filter(|(_, name)| *name == wanted);
            found.find_map(|(id, _)| Oid::parse(id.as_bytes()))
        };
        let help = format!("`git ls-remote {}` shows what it has", self.url);
        match (id_of(&head), id_of(&peeled).or_else(|| id_of(&tag))) {
            (Some(branch), Some(tag)) if branch != tag => {
                let message = format!("`{}` has a branch and a tag `{name}`", self.url);
                Err(helped(NO_REF, message, "name the commit with `rev`"))
            }
            (Some(id), _) | (None, Some(id)) => Ok(id.to_string()),
            (None, None) => {
                let message = format!("`{}` has no branch and no tag `{name}`", self.url);
                Err(helped(NO_REF, message, &help))
            }
        }
    }

    /// Fetches with these arguments.
    fn fetch(&self, args: &[&str], deadline: Instant) -> Result<Evidence, PinError> {
        let fetch = "fetch --quiet --no-tags --no-write-fetch-head --no-recurse-submodules";
        self.online(&[&command(fetch), args].concat(), deadline)
    }

    /// Runs git with a connection, below a supervisor.
    fn online(&self, args: &[&str], deadline: Instant) -> Result<Evidence, PinError> {
        let program = self.fetcher.program.clone().into_os_string();
        let argv = [program].into_iter().chain(self.arguments(args));
        let argv: Vec<Word> = argv.map(|word| Word::new(word.into_vec())).collect();
        let mut env = self.fetcher.env.clone();
        // Stronger than `protocol.*.allow`: the user's own configuration does not add to it.
        let protocols = if self.url.starts_with("file:") {
            "file"
        } else {
            "https:ssh"
        };
        env.insert(b"GIT_ALLOW_PROTOCOL".to_vec(), protocols.into());
        let root = Root::open(self.dir.path()).map_err(no_room)?;
        let limit_ms = u64::try_from(self.fetcher.limit.as_millis()).unwrap_or(u64::MAX);
        let what = Try {
            input: None,
            root: &root,
            search: &self.fetcher.search,
            dir: &RepoPath::root(),
            argv: &argv,
            env: &env,
            secrets: &Secrets::default(),
            log: None,
            max_output: 0,
            live: None,
            formats: None,
            confine: None,
            limit_ms,
            observe: false,
        };
        let evidence = run(&self.fetcher.pool, &what, deadline, (None, None))
            .0
            .evidence;
        if evidence.timed_out {
            let limit = show_duration(limit_ms);
            let message = format!("`{}` did not answer within {limit}", self.url);
            let help = "try again, or give it more time with `--timeout`";
            return Err(helped(TIMED_OUT, message, help));
        }
        Ok(evidence)
    }

    /// Reads the file, once the commit is here.
    fn file(&self, origin: &GitOrigin, cap: u64) -> Result<Vec<u8>, PinError> {
        let GitOrigin {
            url,
            revision,
            path,
        } = origin;
        let kind = self.local(&["cat-file", "-t", revision], 1 << 16)?;
        match kind.stdout.trim_ascii_end() {
            b"commit" if kind.exit == Some(0) => {}
            b"tag" => {
                let peeled = format!("{revision}^{{commit}}");
                let peeled = self.local(&["rev-parse", "--verify", &peeled], 1 << 16)?;
                let help = Oid::parse(peeled.stdout.trim_ascii_end())
                    .map(|id| format!("the commit behind it is `{id}`"));
                let message = format!("`{revision}` names a tag of `{url}`, not a commit");
                return Err(PinError {
                    help,
                    ..error(NOT_A_COMMIT, message)
                });
            }
            b"" => {
                let message = format!("`{url}` has no commit `{revision}` on a branch or tag");
                let help = format!("`git ls-remote {url}` shows what it has");
                return Err(helped(NO_COMMIT, message, &help));
            }
            _ => {
                let message = format!("`{revision}` of `{url}` is no commit");
                return Err(error(NOT_A_COMMIT, message));
            }
        }
        let name = std::str::from_utf8(path.as_bytes()).unwrap_or_default();
        let words = ["ls-tree", "-z", "-l", "--full-tree", revision, "--", name];
        let listed = self.answer(&words, 1 << 20, FETCH_FAILED)?;
        if listed.is_empty() {
            let short: String = revision.chars().take(12).collect();
            let message = format!("there is no `{path}` in `{url}` at `{short}`");
            let help = "the path begins at that repository's root";
            return Err(helped(NO_FILE, message, help));
        }
        let unreadable = || error(FETCH_FAILED, GitError::Unreadable("ls-tree").to_string());
        let head = String::from_utf8_lossy(&listed);
        let head = head.split('\t').next().unwrap_or_default();
        let words: Vec<&str> = head.split_ascii_whitespace().collect();
        let [mode, _, id, size] = words.as_slice() else {
            return Err(unreadable());
        };
        let what = match *mode {
            "100644" | "100755" | "100664" => None,
            "120000" => Some("a symlink"),
            "040000" => Some("a directory"),
            "160000" => Some("a submodule"),
            _ => Some("no regular file"),
        };
        if let Some(what) = what {
            let message = format!("`{path}` in `{url}` is {what}");
            return Err(helped(NOT_A_FILE, message, "name the file itself"));
        }
        if size.parse::<u64>().map_err(|_| unreadable())? > cap {
            let message = format!("`{path}` in `{url}` is larger than {}", show_size(cap));
            let help = "raise the limit with `--max-file`";
            return Err(helped(TOO_LARGE, message, help));
        }
        let id = Oid::parse(id.as_bytes()).ok_or_else(unreadable)?;
        let words = ["cat-file", "blob", &id.to_string()];
        self.answer(&words, cap, FETCH_FAILED)
    }
}

/// Returns the most informative line of git's output, shortened and safe to show.
fn reason(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|l| !l.is_empty()).collect();
    // The last line of a failing ssh is about access rights; the one before is specific.
    let vague = |l: &&&str| {
        !l.contains("Could not read from remote")
            && !l.contains("Please make sure")
            && !l.contains("and the repository exists")
    };
    let mut telling = lines.iter().filter(vague);
    let telling = telling.rfind(|l| l.starts_with("fatal: ") || l.starts_with("ssh: "));
    let line = telling
        .or_else(|| lines.iter().rfind(vague))
        .or(lines.first())
        .copied()
        .unwrap_or("git gave no reason");
    let short: String = without_kind(line).chars().take(300).collect();
    visible(short.trim_end_matches('.').replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_most() {
        for (stderr, want) in [
            (
                "fatal: unable to access 'https://x/': Could not resolve host: x\n",
                "unable to access 'https://x/': Could not resolve host: x",
            ),
            (
                "ssh: connect to host x port 1: Connection refused\r\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n",
                "ssh: connect to host x port 1: Connection refused",
            ),
            (
                "fatal: '/x' does not appear to be a git repository\nfatal: Could not read from remote repository.\n",
                "'/x' does not appear to be a git repository",
            ),
            ("", "git gave no reason"),
            ("error: \u{1b}[2J`x`.\n", "\\u{1b}[2J'x'"),
        ] {
            assert_eq!(reason(stderr.as_bytes()), want);
        }
    }
}
