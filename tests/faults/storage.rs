//! What if the disk is full, lies, or loses power; what if a file of ours is damaged?
//!
//! Disks that are mounted are mounted in a namespace of their own, in which the test starts itself
//! again: they are gone with it, however it ends.

mod damage;
mod full;
mod order;
mod power;
mod refused;

use super::sweep::Sweep;
use crate::support::Project;
use crate::support::process::Bounded as _;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use vplan::effect::store::history::History;
use vplan::run::journal::{JournalEnd, JournalEntry, Line, ReplayedRun, lines, replay};

/// Whether the file system of a path has one log of all names, in their order (ext4, xfs).
pub fn orders_names(path: &Path) -> bool {
    let about = rustix::fs::statfs(path).unwrap();
    [0xef53, 0x5846_5342].contains(&about.f_type)
}

/// Where disks are mounted.
const DISK: &str = "/mnt";

/// Says to a test that it runs in a namespace of its own.
const INSIDE: &str = "VPLAN_TEST_INSIDE";

/// The sweep of a test that mounts disks, if this process may do that and is the one that does. Any
/// other process has started one and waited for it.
fn with_disks(name: &'static str, fast: u64, whole: u64) -> Option<Sweep> {
    if std::env::var_os(INSIDE).is_some_and(|inside| inside == name) {
        return Some(Sweep::new(name, fast, whole));
    }
    let possible = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", DISK])
        .output();
    if !possible.is_ok_and(|o| o.status.success()) {
        Sweep::new(name, fast, whole).cannot("no mount namespace for this user on this machine");
        return None;
    }
    let mut command = Command::new("unshare");
    command.arg("-m").arg(std::env::current_exe().unwrap());
    command
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(INSIDE, name)
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && out.contains("1 passed"),
        "{}\n{out}\n{err}",
        output.status
    );
    err.lines()
        .filter(|line| line.starts_with("SKIPPED"))
        .for_each(|line| eprintln!("{line}"));
    None
}

/// Runs a program that must succeed.
#[track_caller]
fn must(program: &str, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Something mounted; unmounted at the end, lazily if somebody is still there.
struct Mount(PathBuf);

impl Mount {
    fn new(at: &Path, args: &[&str]) -> Self {
        std::fs::create_dir_all(at).unwrap();
        must("mount", &[args, &[at.to_str().unwrap()]].concat());
        Self(at.to_owned())
    }

    /// A disk in memory.
    fn memory(options: &str) -> Self {
        Self::new(Path::new(DISK), &["-t", "tmpfs", "-o", options, "none"])
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// What came of a run that had to withstand something.
struct Ran {
    /// None when a signal ended it.
    exit: Option<i32>,
    /// The events that it has told.
    told: Vec<u8>,
    err: String,
}

/// Runs a command of vplan to its end, through `limit` (`prlimit --fsize=1`), if any. Nothing of
/// ours stands on the disk.
fn vplan(project: &Project, limit: &[&str], args: &[&str]) -> Ran {
    let output = started(project, limit, args).finished();
    Ran {
        exit: output.status.code(),
        told: output.stdout,
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn started(project: &Project, limit: &[&str], args: &[&str]) -> Child {
    let plain = project.vplan(args).command();
    let words: Vec<&std::ffi::OsStr> = limit
        .iter()
        .map(std::ffi::OsStr::new)
        .chain([plain.get_program()])
        .chain(plain.get_args())
        .collect();
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .current_dir(project.root())
        .env_clear();
    command.envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// All exit codes that are documented.
const DOCUMENTED: [i32; 15] = [0, 2, 3, 4, 5, 20, 21, 22, 40, 41, 42, 43, 44, 130, 143];

/// What a run left on its disk: the newest one there.
struct Left {
    events: Vec<u8>,
    run: ReplayedRun,
    folder: PathBuf,
    id: String,
}

/// The newest run of the records; none where none was begun.
fn left(records: &Path) -> Option<Left> {
    let history = History::open(Path::new("/"), Some(records)).ok()?;
    let id = history.ids().unwrap().into_iter().next()?;
    let folder = history.path().join(&id);
    let events = history.events(&id).unwrap_or_default();
    Some(Left {
        run: replay(&events),
        events,
        folder,
        id,
    })
}

/// What holds of any run that came to an end of its own, whatever its disk did. `steps` have each
/// written their name into a file of that name in `marks`.
#[track_caller]
fn holds(ran: &Ran, left: Option<&Left>, marks: &Path) {
    let shown = || {
        format!(
            "exit {:?}\n{}\n{}",
            ran.exit,
            ran.err,
            String::from_utf8_lossy(&ran.told)
        )
    };
    let exit = ran
        .exit
        .unwrap_or_else(|| panic!("a signal ended it: {}", shown()));
    assert!(DOCUMENTED.contains(&exit), "{}", shown());
    let told: Vec<Line> = lines(&ran.told).collect();
    let ended = |line: &&Line| {
        matches!(
            line.entry,
            JournalEntry::StepFinished { .. } | JournalEntry::RunFinished { .. }
        )
    };
    let marks: Vec<String> = std::fs::read_dir(marks)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    let Some(left) = left else {
        assert_ne!(exit, 0, "a pass without a record: {}", shown());
        assert!(
            marks.is_empty(),
            "{marks:?} ran without a record: {}",
            shown()
        );
        return;
    };
    let kept: Vec<Line> = lines(&left.events).collect();
    assert_eq!(
        left.run.bytes,
        left.events.len(),
        "no half of a line is left: {}",
        shown()
    );
    for line in told
        .iter()
        .filter(ended)
        .filter(|_| exit == 0 || exit == 40)
    {
        assert!(kept.contains(line), "told and not kept: {line:?}");
    }
    for (kept, told) in kept.iter().zip(&told) {
        assert_eq!(kept, told, "it tells what it keeps");
    }
    for mark in &marks {
        let begun = kept
            .iter()
            .any(|l| matches!(&l.entry, JournalEntry::StepStarted { id, .. } if id == mark));
        assert!(begun, "{mark} ran and is not on record: {}", shown());
    }
    // A pass is on record as one, and what is on record as one happened, whatever came of its
    // round.
    assert!(exit != 0 || left.run.is_pass(), "{}", shown());
    if let (true, JournalEnd::Finished { exit_code, .. }) = (left.run.is_pass(), &left.run.end) {
        let all = left.run.steps.iter().all(|step| marks.contains(&step.id));
        assert!(all && exit == i32::from(*exit_code), "{}", shown());
    }
    if exit == 0 {
        assert!(left.folder.join("report.json").exists(), "{}", shown());
    }
    if exit == 44 || exit == 5 {
        let why = [
            "no space",
            "too large",
            "read-only",
            "quota",
            "not there",
            "no such",
            "line is missing",
        ];
        let said = format!("{}{}", ran.err, reason(left));
        assert!(
            why.iter().any(|w| said.to_lowercase().contains(w)),
            "it does not say why: {}",
            shown()
        );
    }
}

/// Why, by the report.
fn reason(left: &Left) -> String {
    let report = std::fs::read_to_string(left.folder.join("report.json")).unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(&report)
        .map_or(String::new(), |r| r["reason"].to_string())
}

/// What looks at records; each ends in a way that is documented, whatever it finds.
#[track_caller]
fn looked_at(project: &Project, records: &str) {
    for command in ["status", "runs", "report", "details", "stats", "verify"] {
        let ran = project.run(&[command, "--records", records]);
        assert!(
            ran.exit.is_some_and(|exit| DOCUMENTED.contains(&exit)),
            "{command}: {:?} {}",
            ran.exit,
            ran.err()
        );
        assert!(
            !ran.err().contains("vplan::internal"),
            "{command}: {}",
            ran.err()
        );
    }
}

/// All files below a folder with their content; a folder ends in `/`.
fn files(at: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![at.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                open.push(path);
            } else {
                let content = std::fs::read(&path).unwrap_or_default();
                found.insert(path.strip_prefix(at).unwrap().to_owned(), content);
            }
        }
    }
    found
}

/// No temporary file is left.
#[track_caller]
fn tidy(at: &Path) {
    let temporary = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with('.') && name != ".gitignore" && !path.starts_with(".git")
    };
    let found = files(at);
    let found: Vec<&PathBuf> = found.keys().filter(temporary).collect();
    assert!(found.is_empty(), "{found:?}");
}
