//! Finds the file that the first word of a command names, and the directory in which it runs.

use crate::files::{is_program, may_lead_into, read_start};
use crate::retry_eintr::{open, open_folder, openat2};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Access, AtFlags, CWD, OFlags, ResolveFlags, accessat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use vplan_base::canon::{Digest, Hasher};
use vplan_base::path::RepoPath;
use vplan_base::word::{visible, visible_path};
use vplan_check::evidence::SpawnError;

/// The search path for programs if the caller has no PATH.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// A repository's root, held open.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    fd: OwnedFd,
}

impl Root {
    /// Opens a root; symlinks on the way to it are followed.
    ///
    /// # Errors
    /// It is not a directory, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let fd = open_folder(&path)?;
        Ok(Self { path, fd })
    }

    /// Returns its absolute path without symlinks.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a step's directory. The step starts in the descriptor, not the name, so that no
    /// process can swap a symlink in between.
    fn open_dir(&self, dir: &RepoPath) -> Result<OwnedFd, SpawnError> {
        let flags = OFlags::DIRECTORY | OFlags::PATH;
        let beneath = |path: &Path| openat2(&self.fd, path, flags, ResolveFlags::BENEATH);
        let real = || -> io::Result<OwnedFd> {
            let real = self.path.join(dir.to_os()).canonicalize()?;
            let inside = real.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?;
            let inside = or_here(inside);
            match beneath(inside) {
                // Before Linux 5.6.
                Err(Errno::NOSYS) => Ok(open(&self.fd, inside, flags | OFlags::NOFOLLOW)?),
                opened => Ok(opened?),
            }
        };
        let opened = match beneath(&dir.to_os()) {
            // An absolute symlink may still lead to a directory inside.
            Err(Errno::XDEV | Errno::NOSYS | Errno::AGAIN) => real(),
            opened => opened.map_err(io::Error::from),
        };
        opened.map_err(|error| {
            let (code, message) = match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::XDEV) => (
                    "DIRECTORY_OUTSIDE",
                    format!("the directory `{dir}` leads out of the repository through a symlink"),
                ),
                Some(Errno::NOENT) => (
                    "NO_SUCH_DIRECTORY",
                    format!("the directory `{dir}` does not exist"),
                ),
                Some(Errno::NOTDIR) => ("NO_SUCH_DIRECTORY", format!("`{dir}` is not a directory")),
                _ => return failure(&format!("the directory `{dir}` cannot be entered"), &error),
            };
            refusal(code, message)
        })
    }
}

/// Returns a relative path as one that can be opened and shown.
fn or_here(path: &Path) -> &Path {
    match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The directories that are searched for programs, and those that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath {
    kept: Vec<PathBuf>,
    left_out: Vec<PathBuf>,
}

impl SearchPath {
    /// Splits a PATH. Empty and relative entries and those in the repository are dropped, because a
    /// writer of the repository could put a `git` there.
    pub fn new(root: &Root, path: Option<&[u8]>) -> Self {
        let mut out = Self::default();
        for entry in path.unwrap_or(DEFAULT_PATH).split(|b| *b == b':') {
            let entry = PathBuf::from(OsStr::from_bytes(entry));
            if !entry.is_absolute() || may_lead_into(&entry, &root.path) {
                out.left_out.push(root.path.join(entry));
            } else {
                out.kept.push(entry);
            }
        }
        out
    }

    /// Puts folders of the repository first, as the contract's `tool-path` requires.
    pub(crate) fn with_tools(&self, root: &Root, tools: &[RepoPath]) -> Self {
        let mut out = self.clone();
        out.kept
            .splice(..0, tools.iter().map(|t| root.path.join(t.to_os())));
        out
    }

    /// Returns the folders, in order.
    pub fn folders(&self) -> &[PathBuf] {
        &self.kept
    }

    /// Returns the folders outside of the repository that contain programs: real paths, each once,
    /// in order. Other entries of PATH do not affect which programs are found.
    pub fn leading(&self, root: &Root) -> Vec<PathBuf> {
        let mut leading: Vec<PathBuf> = Vec::new();
        let elsewhere = self.kept.iter().filter(|one| !one.starts_with(&root.path));
        for folder in elsewhere.filter_map(|folder| folder.canonicalize().ok()) {
            if !leading.contains(&folder) && holds_program(&folder) {
                leading.push(folder);
            }
        }
        leading
    }

    /// Returns the child's PATH: exactly the searched folders.
    pub fn to_value(&self) -> Vec<u8> {
        let entries: Vec<&[u8]> = self.kept.iter().map(|p| p.as_os_str().as_bytes()).collect();
        entries.join(&b':')
    }
}

/// Whether a folder contains a program, or might: if it cannot be listed.
fn holds_program(folder: &Path) -> bool {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().any(|entry| is_program(&entry.path())),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

/// The program of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file's absolute path. Symlinks are not followed, since programs use the name by which
    /// they are called.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The time of its content's last change, in nanoseconds since 1970.
    pub modified: i128,
    /// The path to execute in the step's directory: the absolute path, or the name with a slash
    /// that the command gave.
    pub(super) name: Vec<u8>,
}

impl Program {
    /// Digests its content, if it is still the started file.
    pub fn digest(&self) -> Option<Digest> {
        let is_it = |m: &std::fs::Metadata| {
            m.is_file() && m.len() == self.size && modified(m) == self.modified
        };
        // Checked first: opening a named pipe in its place would block for ever.
        std::fs::metadata(&self.path).ok().filter(is_it)?;
        let mut file = std::fs::File::open(&self.path).ok()?;
        file.metadata().ok().filter(is_it)?;
        let mut hasher = Hasher::default();
        io::copy(&mut file, &mut hasher).ok()?;
        Some(hasher.finish())
    }
}

fn modified(of: &std::fs::Metadata) -> i128 {
    i128::from(of.mtime()) * 1_000_000_000 + i128::from(of.mtime_nsec())
}

/// Finds the program of a step and opens the directory that it starts in.
///
/// # Errors
/// The program does not exist, or the directory is not inside the repository.
pub fn resolve(
    root: &Root,
    search: &SearchPath,
    dir: &RepoPath,
    word: &[u8],
) -> Result<(Program, OwnedFd), SpawnError> {
    let opened = root.open_dir(dir)?;
    if word.is_empty() || word.contains(&0) {
        let message = "the command has no program".to_owned();
        return Err(refusal("PROGRAM_NOT_FOUND", message));
    }
    if word.contains(&b'/') {
        let path = root.path.join(dir.to_os()).join(OsStr::from_bytes(word));
        let path: PathBuf = path.components().collect();
        // If it cannot be executed, the system reports the reason, and `explain` shows it.
        let found = std::fs::metadata(&path).ok();
        return Ok((program(path, found.as_ref(), word.to_vec()), opened));
    }
    let shown = visible(word);
    match find(&search.kept, word) {
        Ok((path, found)) => {
            let name = path.clone().into_os_string().into_vec();
            Ok((program(path, Some(&found), name), opened))
        }
        Err(Some(denied)) => {
            let denied = visible_path(denied);
            let message = format!("`{shown}` was found as `{denied}`, which is not executable");
            Err(refusal("EACCES", message))
        }
        Err(None) => Err(match find(&search.left_out, word) {
            Ok((path, _)) => {
                let folder = path.parent().unwrap_or(&path);
                let inside = folder.strip_prefix(&root.path).unwrap_or(folder);
                let inside = visible_path(or_here(inside));
                let message = format!(
                    "`{shown}` is only in `{inside}`, an entry of PATH that is relative or inside the repository and so left out: name the folder with `tool-path`"
                );
                refusal("PROGRAM_IN_REPOSITORY", message)
            }
            Err(_) => {
                let why = match word.contains(&b' ') {
                    true => {
                        "is one word, and no program on the PATH has this name: write a command without quotes around all of it"
                    }
                    false => "is not on the PATH: install it, or name its folder with `tool-path`",
                };
                refusal("PROGRAM_NOT_FOUND", format!("`{shown}` {why}"))
            }
        }),
    }
}

fn program(path: PathBuf, found: Option<&std::fs::Metadata>, name: Vec<u8>) -> Program {
    Program {
        path,
        size: found.map_or(0, std::fs::Metadata::len),
        modified: found.map_or(0, modified),
        name,
    }
}

/// Returns the first file of this name that may be executed, or else the first that may not.
fn find(folders: &[PathBuf], word: &[u8]) -> Result<(PathBuf, std::fs::Metadata), Option<PathBuf>> {
    let mut denied = None;
    for folder in folders {
        let path = folder.join(OsStr::from_bytes(word));
        let Ok(found) = std::fs::metadata(&path) else {
            continue;
        };
        if found.is_file() {
            if accessat(CWD, &path, Access::EXEC_OK, AtFlags::EACCESS).is_ok() {
                return Ok((path, found));
            }
            denied = denied.or(Some(path));
        }
    }
    Err(denied)
}

/// Explains why the system does not find a script's interpreter, if its line ends as on Windows.
pub fn carriage_return(path: &Path) -> Option<SpawnError> {
    first_line(path).filter(|line| line.ends_with(b"\r"))?;
    let message = format!(
        "`{}` ends its first line with a carriage return (CRLF), which the system takes for a part of the interpreter's name",
        visible_path(path)
    );
    Some(refusal("CARRIAGE_RETURN", message))
}

/// Explains why the system would not execute a file.
pub(super) fn explain(errno: i32, path: &Path) -> SpawnError {
    let error = io::Error::from_raw_os_error(errno);
    let shown = visible_path(path);
    let found = std::fs::metadata(path);
    let message = match (Errno::from_raw_os_error(errno), &found) {
        (Errno::NOENT, Err(_)) => format!("`{shown}` does not exist"),
        (Errno::NOENT, Ok(_)) if let Some(refused) = carriage_return(path) => return refused,
        (Errno::NOENT, Ok(_)) => match interpreter(path).and_then(|words| words.into_iter().next())
        {
            Some(name) => format!(
                "`{shown}` asks for the interpreter `{}`, which does not exist",
                visible(&name)
            ),
            None => format!(
                "`{shown}` asks for a loader that does not exist: it was built for another system"
            ),
        },
        (Errno::ACCESS, Ok(found)) if found.is_dir() => format!("`{shown}` is a directory"),
        (Errno::ACCESS, Ok(found)) if found.permissions().mode() & 0o111 == 0 => {
            format!("`{shown}` is not executable: `chmod +x` makes it so")
        }
        (Errno::ACCESS, _) => format!("`{shown}` may not be executed here"),
        (Errno::NOEXEC, _) => {
            format!(
                "`{shown}` is neither a program for this system nor a script that begins with `#!`"
            )
        }
        (Errno::TOOBIG, _) => {
            "the command's words and environment are longer than the system allows".to_owned()
        }
        (Errno::TXTBSY, _) => format!("`{shown}` is being written to"),
        _ => format!("`{shown}` could not be started: {}", message_of(&error)),
    };
    refusal(code_of(&error), message)
}

/// Reads a script's first line without its `#!`.
fn first_line(path: &Path) -> Option<Vec<u8>> {
    let start = read_start(std::fs::File::open(path).ok()?, 256).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    Some(line.to_vec())
}

/// Reads the words of a script's first line, if it names its interpreter there.
pub fn interpreter(path: &Path) -> Option<Vec<Vec<u8>>> {
    let line = first_line(path)?;
    let words = line.split(u8::is_ascii_whitespace);
    Some(
        words
            .filter(|w| !w.is_empty())
            .map(<[u8]>::to_vec)
            .collect(),
    )
}

/// Makes the error of a refused start.
pub(super) fn refusal(code: impl Into<String>, message: String) -> SpawnError {
    SpawnError {
        code: code.into(),
        message,
    }
}

/// Makes the refusal for an error of the system.
pub(super) fn failure(what: &str, error: &io::Error) -> SpawnError {
    refusal(code_of(error), format!("{what}: {}", message_of(error)))
}

/// Returns the system's message for an error, in the form of vplan's: lower case, without the
/// number.
pub fn message_of(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_lowercase);
    first.chain(chars).collect()
}

/// Returns the system's name for an error.
pub(super) fn code_of(error: &io::Error) -> String {
    const NAMES: &[(Errno, &str)] = &[
        (Errno::ACCESS, "EACCES"),
        (Errno::AGAIN, "EAGAIN"),
        (Errno::INVAL, "EINVAL"),
        (Errno::IO, "EIO"),
        (Errno::ISDIR, "EISDIR"),
        (Errno::LOOP, "ELOOP"),
        (Errno::MFILE, "EMFILE"),
        (Errno::NAMETOOLONG, "ENAMETOOLONG"),
        (Errno::NFILE, "ENFILE"),
        (Errno::NOENT, "ENOENT"),
        (Errno::NOEXEC, "ENOEXEC"),
        (Errno::NOMEM, "ENOMEM"),
        (Errno::NOSPC, "ENOSPC"),
        (Errno::NOTDIR, "ENOTDIR"),
        (Errno::PERM, "EPERM"),
        (Errno::ROFS, "EROFS"),
        (Errno::TOOBIG, "E2BIG"),
        (Errno::TXTBSY, "ETXTBSY"),
    ];
    let Some(number) = error.raw_os_error() else {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        return if is_missing { "ENOENT" } else { "EIO" }.to_owned();
    };
    let named = NAMES
        .iter()
        .find(|(errno, _)| errno.raw_os_error() == number);
    named.map_or_else(|| format!("ERRNO_{number}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("repo");
        for (path, mode) in [
            ("repo/bin/only-here", 0o755),
            ("repo/bin/git", 0o755),
            ("out/bin/git", 0o755),
            ("out/bin/plain", 0o644),
            ("repo/sub/x", 0o755),
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "#!/nowhere/sh -e\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, repo.join(at)).unwrap();
        link("../out", "leads-out");
        link("sub", "leads-in");
        link(repo.join("sub").to_str().unwrap(), "leads-in-absolutely");
        let root = Root::open(&repo).unwrap();
        (dir, root)
    }

    #[test]
    fn programs() {
        let (dir, root) = tree();
        let base = dir.path().canonicalize().unwrap();
        let path = format!(
            ".::bin:{0}/repo/bin:{0}/out/bin:{0}/nowhere",
            base.display()
        );
        let search = SearchPath::new(&root, Some(path.as_bytes()));
        assert_eq!(
            search.to_value(),
            format!("{0}/out/bin:{0}/nowhere", base.display()).into_bytes()
        );
        let tools = search.with_tools(&root, &[RepoPath::parse(b"bin").unwrap()]);
        for (search, dir, word, want) in [
            (&search, ".", "git", Ok("out/bin/git")),
            (&tools, ".", "git", Ok("repo/bin/git")),
            (&tools, ".", "only-here", Ok("repo/bin/only-here")),
            (&search, ".", "only-here", Err("PROGRAM_IN_REPOSITORY")),
            (&search, ".", "nobody", Err("PROGRAM_NOT_FOUND")),
            (&search, ".", "", Err("PROGRAM_NOT_FOUND")),
            (&search, ".", "plain", Err("EACCES")),
            (&search, "sub", "./x", Ok("repo/sub/x")),
            (&search, "leads-in", "./x", Ok("repo/leads-in/x")),
            (
                &search,
                "leads-in-absolutely",
                "./x",
                Ok("repo/leads-in-absolutely/x"),
            ),
            (&search, "leads-out", "git", Err("DIRECTORY_OUTSIDE")),
            (&search, "missing", "git", Err("NO_SUCH_DIRECTORY")),
            (&search, "sub/x", "git", Err("NO_SUCH_DIRECTORY")),
        ] {
            let got = resolve(
                &root,
                search,
                &RepoPath::parse(dir.as_bytes()).unwrap(),
                word.as_bytes(),
            );
            let got = got.map(|(p, _)| p.path).map_err(|e| e.code);
            assert_eq!(
                got,
                want.map(|p| base.join(p)).map_err(str::to_owned),
                "{dir} {word}"
            );
        }
    }

    #[test]
    fn reasons() {
        let (dir, _root) = tree();
        let at = |p: &str| dir.path().join(p);
        for (errno, path, code, says) in [
            (Errno::NOENT, "repo/none", "ENOENT", "does not exist"),
            (
                Errno::NOENT,
                "repo/sub/x",
                "ENOENT",
                "the interpreter `/nowhere/sh`",
            ),
            (Errno::ACCESS, "out/bin/plain", "EACCES", "chmod +x"),
            (Errno::ACCESS, "out/bin", "EACCES", "is a directory"),
            (Errno::NOEXEC, "repo/sub/x", "ENOEXEC", "#!"),
            (Errno::TOOBIG, "repo/sub/x", "E2BIG", "longer than"),
        ] {
            let error = explain(errno.raw_os_error(), &at(path));
            assert_eq!(error.code, code, "{path}");
            assert!(error.message.contains(says), "{}", error.message);
        }
        assert_eq!(
            message_of(&io::Error::from_raw_os_error(Errno::NOSPC.raw_os_error())),
            "no space left on device"
        );
    }
}
