//! What do tests share? A project in a temporary directory, and the binary run in it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods
)]
#![allow(dead_code, reason = "each test uses the part that it needs")]

#[cfg(feature = "remote")]
pub mod certs;
pub mod process;
#[cfg(feature = "remote")]
pub mod reapi;
#[cfg(feature = "remote")]
pub mod there;
pub mod tree;

use process::Bounded as _;
pub use process::eventually;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The programs of the system alone. A step under `sandbox files` may read all that is beside a program of PATH, and
/// below the HOME of whoever tests that is what others install and build meanwhile.
pub const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A directory tree of its own: `parent()/repo` is the project, `parent()/home` the home directory
/// of what runs in it.
#[must_use]
pub struct Project {
    dir: tempfile::TempDir,
    env: BTreeMap<OsString, OsString>,
}

impl Project {
    /// An empty directory, without git.
    pub fn bare() -> Self {
        process::usual_signals();
        let dir = tempfile::Builder::new()
            .prefix("vplan-test-")
            .tempdir()
            .unwrap();
        std::fs::create_dir(dir.path().join("repo")).unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let env = BTreeMap::from([
            (OsString::from("PATH"), path),
            (
                OsString::from("HOME"),
                dir.path().join("home").into_os_string(),
            ),
            (
                OsString::from("XDG_STATE_HOME"),
                dir.path().join("home/state").into_os_string(),
            ),
        ]);
        Self { dir, env }
    }

    /// An empty git repository on branch `main`, without a commit.
    pub fn git_empty() -> Self {
        let project = Self::bare();
        project.git(&["init", "-q", "-b", "main"]);
        project
    }

    /// A git repository with one commit that holds these files, and that the remote `origin` has
    /// too.
    pub fn git_with(files: &[(&str, &str)]) -> Self {
        let project = Self::git_empty();
        for (path, content) in files {
            project.write(path, content);
        }
        let begin = project.commit("begin");
        project.pushed(&begin);
        project
    }

    /// Says that the remote `origin`, which nothing can be fetched from, has this commit on its
    /// default branch `main`.
    pub fn pushed(&self, commit: &str) -> &Self {
        let config = self.read(".git/config");
        if !config.contains("[remote \"origin\"]") {
            let remote = "[remote \"origin\"]\n\turl = /nowhere\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
            self.write(".git/config", config + remote);
        }
        self.write(
            ".git/refs/remotes/origin/HEAD",
            "ref: refs/remotes/origin/main\n",
        );
        self.write(".git/refs/remotes/origin/main", format!("{commit}\n"))
    }

    /// A git repository with one commit that holds this contract and nothing else.
    pub fn contract(text: &str) -> Self {
        Self::git_with(&[("contracts/verify.vplan", text)])
    }

    /// Sets a variable for everything that runs in the project.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    /// The directory around it.
    pub fn parent(&self) -> &Path {
        self.dir.path()
    }

    /// Whether a process works in it.
    pub fn is_busy(&self) -> bool {
        let root = self.root().canonicalize().unwrap();
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let mut dirs = all.filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
        dirs.any(|dir| dir.starts_with(&root))
    }

    /// A path below the root.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file and the directories above it; `../x` stands beside the project.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        self
    }

    /// Writes a file whose name is no UTF-8.
    pub fn write_bytes(&self, path: &[u8], content: impl AsRef<[u8]>) -> &Self {
        self.write(OsStr::from_bytes(path), content)
    }

    /// Writes a program.
    pub fn script(&self, path: &str, content: &str) -> &Self {
        self.write(path, content);
        self.mode(path, 0o755)
    }

    /// Sets a file's mode.
    pub fn mode(&self, path: &str, mode: u32) -> &Self {
        std::fs::set_permissions(self.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    /// Makes a symlink.
    pub fn symlink(&self, path: &str, target: &str) -> &Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self
    }

    /// Makes a directory.
    pub fn mkdir(&self, path: &str) -> &Self {
        std::fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    /// Removes a file or a directory.
    pub fn remove(&self, path: &str) -> &Self {
        let path = self.path(path);
        if path.is_dir() && !path.is_symlink() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
        self
    }

    /// The text of a file.
    pub fn read(&self, path: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path(path)).unwrap()).into_owned()
    }

    /// Whether something is there, a broken symlink included.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Sets a file's modification time to another one than it has.
    pub fn touch(&self, path: &str) -> &Self {
        let file = std::fs::File::options()
            .append(true)
            .open(self.path(path))
            .unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000))
            .unwrap();
        self
    }

    /// Runs git in the project, with a fixed author, date and configuration; it must succeed. Gives
    /// its output.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in("", args)
    }

    /// Runs git in a directory of the project.
    pub fn git_in(&self, dir: &str, args: &[&str]) -> String {
        let output = self.git_command(dir).args(args).output().unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    /// Runs git with bytes on its standard input.
    pub fn git_stdin(&self, args: &[&str], input: &[u8]) -> String {
        let mut child = self
            .git_command("")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.finished();
        assert!(output.status.success(), "git {args:?}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    fn git_command(&self, dir: &str) -> Command {
        let path = &self.env[OsStr::new("PATH")];
        // By its path: with a `PATH` of its own it would be forked off, with all memory of the tests, which takes
        // longer than what it does.
        let mut programs = std::env::split_paths(path).map(|folder| folder.join("git"));
        let mut command = Command::new(programs.find(|git| git.is_file()).unwrap());
        command
            .current_dir(self.path(dir))
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.parent().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .args([
                "-c",
                "protocol.file.allow=always",
                "-c",
                "commit.gpgSign=false",
            ]);
        command
    }

    /// Commits everything; gives the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Prepares a run of the binary in the project's root.
    pub fn vplan<S: AsRef<OsStr>>(&self, args: &[S]) -> Run<'_> {
        let args = args.iter().map(|a| a.as_ref().to_owned()).collect();
        Run {
            project: self,
            args,
            launcher: Vec::new(),
            dir: self.root(),
            stdin: Vec::new(),
            env: BTreeMap::new(),
        }
    }

    /// Runs the binary where nothing may run into its time limit: what a busy machine gave no time
    /// is run again.
    pub fn run_in_time<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        let in_time = |ran: &Ran| ran.exit != Some(43);
        (0..2)
            .map(|_| self.run(args))
            .find(in_time)
            .unwrap_or_else(|| self.run(args))
    }

    /// Runs the binary in the project's root.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        self.vplan(args).run()
    }
}

/// A run that is being prepared.
#[must_use]
pub struct Run<'a> {
    project: &'a Project,
    args: Vec<OsString>,
    launcher: Vec<OsString>,
    dir: PathBuf,
    stdin: Vec<u8>,
    env: BTreeMap<OsString, OsString>,
}

impl Run<'_> {
    /// Starts it in another directory, relative to the root.
    pub fn within(mut self, dir: &str) -> Self {
        self.dir = self.project.path(dir);
        self
    }

    /// Gives it bytes on standard input.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Starts it by another program, which is given these words before vplan's.
    pub fn under(mut self, launcher: &[&str]) -> Self {
        self.launcher = launcher.iter().map(OsString::from).collect();
        self
    }

    /// The command itself: for tests that must signal it or watch it.
    pub fn command(&self) -> Command {
        let program = OsString::from(env!("CARGO_BIN_EXE_vplan"));
        let words: Vec<&OsString> = self.launcher.iter().chain([&program]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(&self.project.env)
            .envs(&self.env);
        command
    }

    /// Runs it to its end.
    pub fn run(self) -> Ran {
        let started = Instant::now();
        let mut command = self.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let input = self.stdin;
        // A reader that does not want its input may be gone already; that is not what is tested.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
        let output = child.finished();
        writer.join().unwrap();
        Ran {
            args: self.args,
            exit: output.status.code(),
            stdout: output.stdout,
            stderr: output.stderr,
            took: started.elapsed(),
        }
    }
}

/// What a run of the binary gave. Each check returns it, so that they chain: `.exits(0).says("…")`.
#[must_use = "look at what it gave: at least `.exits(CODE)`"]
#[derive(Debug)]
pub struct Ran {
    args: Vec<OsString>,
    /// The exit code; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// How long it took.
    pub took: Duration,
}

impl Ran {
    /// Standard output as text.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    fn shown(&self) -> String {
        format!(
            "vplan {:?} gave {:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.args,
            self.exit,
            self.out(),
            self.err()
        )
    }

    /// Checks the exit code.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.exit, Some(code), "{}", self.shown());
        self
    }

    /// Checks that standard output holds a text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(
            self.out().contains(text),
            "no {text:?} on stdout: {}",
            self.shown()
        );
        self
    }

    /// Checks that standard error holds a text.
    #[track_caller]
    pub fn warns(&self, text: &str) -> &Self {
        assert!(
            self.err().contains(text),
            "no {text:?} on stderr: {}",
            self.shown()
        );
        self
    }

    /// Checks that neither output holds a text.
    #[track_caller]
    pub fn never_says(&self, text: &str) -> &Self {
        assert!(
            !self.out().contains(text) && !self.err().contains(text),
            "{text:?} was said: {}",
            self.shown()
        );
        self
    }

    /// Checks that standard error is empty.
    #[track_caller]
    pub fn is_quiet(&self) -> &Self {
        assert!(self.stderr.is_empty(), "{}", self.shown());
        self
    }

    /// Standard output as the one JSON document that it must be, as the schema of the command says.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        let document = serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|e| panic!("no JSON ({e}): {}", self.shown()));
        crate::schema::printed(&self.args, &document);
        document
    }
}
