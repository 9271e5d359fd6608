//! What must be withstood of those who write contracts, file names, file contents, configurations
//! of git and the output of checks: none of it becomes anything but data.

mod git;
mod names;
mod programs;
mod quiet;
mod races;
mod same;
mod secrets;
mod tamper;

use super::sweep::Case;
use crate::support::process::{Bounded as _, PATIENCE};
use crate::support::{Project, Ran};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Every exit code that is documented. 1, vplan's own failure, is not among them: nothing here may
/// make vplan fail.
const CODES: [i32; 16] = [0, 2, 3, 4, 5, 20, 21, 22, 40, 41, 42, 43, 44, 45, 130, 143];

/// Names that bite: in terminals, in lists, in logs of CI systems, in command lines, in Markdown,
/// in globs.
const ZOO: &[&[u8]] = &[
    b"new\nline",
    b"two\n\nlines",
    b"::set-env name=A::b",
    b"x\n::error file=a::forged",
    b"##[error]forged",
    b"#\xcd\x8f#[group]x",
    b"\x1b[2Jcleared",
    b"\x1b]0;title\x07",
    b"\x1b]8;;http://evil.example\x1b\\link",
    b"\xc2\x9b31mred",
    b"back\x08space",
    b"carriage\rreturn",
    b"tab\there",
    b"\x01\x02\x7f",
    "\u{202e}txt.exe".as_bytes(),
    "zero\u{200b}width".as_bytes(),
    "line\u{2028}separator".as_bytes(),
    "\u{feff}mark".as_bytes(),
    "caf\u{e9}".as_bytes(),
    "cafe\u{301}".as_bytes(),
    b"\xff\xfe invalid",
    b"half \xe2\x82",
    b"\xed\xa0\x80 surrogate",
    b"--output=x",
    b"--config=pwn.cjs",
    b"-rf",
    b"-",
    b"--",
    b"@args",
    b"$(touch pwned).txt",
    b"`touch pwned`",
    b"; touch pwned",
    b"| touch pwned",
    b"&& touch pwned",
    b"> pwned",
    b"$HOME",
    b"{changed}",
    b"*",
    b"[a-z]?",
    b"!excluded",
    b"~root",
    b" leading and trailing ",
    b"it's",
    b"say \"hi\"",
    b"back\\slash",
    b"trailing\\",
    b"```",
    b"<script>alert(1)</script>",
    b"]]>",
    b"&lt;",
    b"%0A%25",
    b"![x](http://evil.example)",
    b"| table |",
    b"added:x",
    b"deleted:x",
    b"CON",
    b"a:1:2: error: x",
    b"...",
    b"..x",
    b" ",
    b"'",
    b"\"",
    b"\\",
    b"$'\\x41'",
];

/// A random name of one segment: of the zoo, of pieces of it, of any bytes; up to 255 bytes.
fn name(case: &mut Case) -> Vec<u8> {
    let mut name = match case.below(4) {
        0 => ZOO[case.below(ZOO.len() as u64) as usize].to_vec(),
        1 => [*case.one_of(ZOO), *case.one_of(ZOO), *case.one_of(ZOO)].concat(),
        2 => {
            let long = *case.one_of(ZOO);
            long.iter().copied().cycle().take(255).collect()
        }
        _ => (0..=case.below(40))
            .map(|_| u8::try_from(case.below(256)).unwrap())
            .collect(),
    };
    name.retain(|b| !matches!(b, 0 | b'/'));
    name.truncate(255);
    if matches!(name[..], [] | [b'.'] | [b'.', b'.']) || name.eq_ignore_ascii_case(b".git") {
        b"x".to_vec()
    } else {
        name
    }
}

/// Some different names; none of them two spellings of one for any file system.
fn names(case: &mut Case, count: usize) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    while all.len() < count {
        let one = name(case);
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all.sort();
    all
}

/// Whether one case is tried again: what must be seen in all of them together need not be seen in
/// it.
fn alone() -> bool {
    std::env::var_os("VPLAN_FAULTS_CASE").is_some()
}

fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// Runs a command to its end, at most for [`PATIENCE`]: it must end by itself, and not by a signal.
#[track_caller]
fn ended(command: &mut Command) -> (i32, Vec<u8>, Vec<u8>, Duration) {
    use std::io::Read as _;
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let pid = rustix::process::Pid::from_child(&child);
    let (over, wait) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        let late = wait.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if late {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        late
    });
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        err.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut bytes = Vec::new();
    out.read_to_end(&mut bytes).unwrap();
    let stderr = errors.join().unwrap();
    let status = child.ended();
    drop(over);
    let shown = || {
        format!(
            "{command:?}\n{}\n{}",
            String::from_utf8_lossy(&bytes),
            String::from_utf8_lossy(&stderr)
        )
    };
    assert!(!guard.join().unwrap(), "hung: {}", shown());
    let code = status
        .code()
        .unwrap_or_else(|| panic!("{status}: {}", shown()));
    (code, bytes, stderr, start.elapsed())
}

/// The exit code is a documented one, and nothing panicked.
#[track_caller]
fn orderly(ran: &Ran) {
    assert!(
        ran.exit.is_some_and(|code| CODES.contains(&code)),
        "{ran:?}"
    );
    assert!(!ran.err().contains("panicked"), "{ran:?}");
}

/// All regular files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// The records of the only run.
fn record(project: &Project) -> PathBuf {
    let runs: Vec<_> = std::fs::read_dir(project.path(".vplan/runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].clone()
}
