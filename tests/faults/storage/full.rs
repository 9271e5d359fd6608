//! What if there is no space left, no file can be made, or none may grow?

use super::{
    DISK, DOCUMENTED, Left, Mount, holds, left, looked_at, must, started, tidy, vplan, with_disks,
};
use crate::faults::sweep::{Case, Sweep};
use crate::support::Project;
use crate::support::process::Bounded as _;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use vplan::effect::os::state_dir::{StateDir, StateError};
use vplan::effect::repo::ledger_file::LedgerFile;

/// Steps that write much, a step that fills the disk, many small steps. Each leaves a mark outside
/// of the disk.
fn contracts() -> [String; 3] {
    let step = |id: &str, command: &str| {
        format!("check {id} {{\n  shell touch ../marks/{id}; {command}\n  inputs \"src\"\n}}\n")
    };
    let mut all = [const { String::new() }; 3];
    for i in 0..5 {
        all[0] += &step(
            &format!("loud{i}"),
            "head -c 20000 /dev/zero | tr '\\\\0' x",
        );
        all[1] += &step(
            &format!("small{i}"),
            if i == 2 {
                "test ! -e ../fills || cat /dev/zero >/mnt/fill 2>/dev/null; true"
            } else {
                "echo hi"
            },
        );
    }
    for i in 0..40 {
        all[2] += &step(&format!("s{i}"), "true");
    }
    all.map(|text| format!("vplan 1\n{text}"))
}

struct Setup {
    projects: Vec<Project>,
}

impl Setup {
    fn new() -> Self {
        let project = |text: &String| {
            let project = Project::git_with(&[("contracts/verify.vplan", text), ("src", "1\n")]);
            project.mkdir("../marks");
            project
        };
        Self {
            projects: contracts().iter().map(project).collect(),
        }
    }
}

fn marks(project: &Project) -> PathBuf {
    project.parent().join("marks")
}

/// No step has run yet. `fills`: one of them is to fill the disk.
fn begin_anew(project: &Project, fills: bool) {
    std::fs::remove_dir_all(marks(project)).unwrap();
    project.mkdir("../marks");
    let _ = std::fs::remove_file(project.path("../fills"));
    if fills {
        project.write("../fills", "");
    }
}

const RUN: [&str; 8] = [
    "run",
    "--changed-none",
    "--progress",
    "none",
    "--events",
    "-",
    "--records",
    "/mnt/records",
];
const LEDGER: [&str; 4] = ["--subject", "S", "--state-dir", "/mnt/state"];

/// How many rounds the ledger on the disk knows, and how often its subject is confirmed.
fn rounds(project: &Project) -> (u64, u32) {
    if !Path::new("/mnt/state").exists() {
        return (0, 0);
    }
    let place = match StateDir::open(Path::new("/mnt/state"), &project.root()) {
        Ok(place) => place,
        // The folder of this repository could not be made in it: there is no ledger.
        Err(StateError::Io(_, error)) if error.kind() == ErrorKind::StorageFull => return (0, 0),
        Err(error) => panic!("{error}"),
    };
    let ledger = LedgerFile::new(place).read().expect("the ledger is whole");
    (
        ledger.rounds,
        ledger.subjects.first().map_or(0, |s| s.counter),
    )
}

/// One run on a disk that does not suffice, and one after that is mended.
fn suffer(sweep: &mut Sweep, case: &mut Case, setup: &Setup, limit: &[&str], heal: &dyn Fn()) {
    let project = case.one_of(&setup.projects);
    begin_anew(project, true);
    let with_ledger = case.below(2) == 0;
    let own_state: String = project
        .parent()
        .join("home/state")
        .to_str()
        .unwrap()
        .to_owned();
    let ledger: &[&str] = if with_ledger {
        &LEDGER
    } else {
        &["--state-dir", &own_state, "--no-cache"]
    };
    let args = [&RUN[..], ledger].concat();
    let ran = vplan(project, limit, &args);
    let found = left(Path::new("/mnt/records"));
    holds(&ran, found.as_ref(), &marks(project));
    let exit = ran.exit.unwrap();
    sweep.count(&format!("exit {exit}"), 1);
    sweep.count(
        "runs that were stopped on the way",
        u64::from(exit == 44 && marks(project).read_dir().unwrap().next().is_some()),
    );
    looked_at(project, "/mnt/records");
    let known = if with_ledger { rounds(project) } else { (0, 0) };
    if with_ledger {
        // What the ledger says was confirmed, was.
        let passed = found.as_ref().is_some_and(|left: &Left| left.run.is_pass());
        assert!(
            known.1 == 0 || passed || exit == 44,
            "{known:?}: {}",
            ran.err
        );
        assert!(
            exit != 0 || known == (1, 1),
            "exit 0, and the ledger says {known:?}"
        );
    }
    let _ = std::fs::remove_file("/mnt/fill");
    heal();
    begin_anew(project, false);
    let again = vplan(project, &[], &args);
    assert_eq!(again.exit, Some(0), "the next run: {}", again.err);
    let next = left(Path::new("/mnt/records")).unwrap();
    assert!(next.run.is_pass() && found.is_none_or(|found| found.id != next.id));
    if with_ledger {
        assert_eq!(rounds(project).0, known.0 + 1);
    }
    tidy(Path::new(DISK));
}

/// A disk of 4 KiB to 260 KiB, in the steps in which such a disk can be had.
#[test]
fn tiny_disks() {
    let Some(mut sweep) = with_disks("faults::storage::full::tiny_disks", 5, 195) else {
        return;
    };
    let setup = Setup::new();
    while let Some(mut case) = sweep.next() {
        let pages = if sweep.whole() {
            case.number % 65
        } else {
            14 + case.below(18)
        };
        let _disk = Mount::memory(&format!("size={}k", 4 * (pages + 1)));
        suffer(&mut sweep, &mut case, &setup, &[], &|| {
            drop(must("mount", &["-o", "remount,size=8m", DISK]))
        });
        case.held();
    }
    assert!(
        sweep.seen("exit 5") + sweep.seen("exit 44") > 0,
        "no disk was too small"
    );
}

/// A disk on which few files can be made.
#[test]
fn no_inodes() {
    let Some(mut sweep) = with_disks("faults::storage::full::no_inodes", 4, 80) else {
        return;
    };
    let setup = Setup::new();
    while let Some(mut case) = sweep.next() {
        let inodes = if sweep.whole() {
            2 + case.number % 40
        } else {
            2 + case.below(20)
        };
        let _disk = Mount::memory(&format!("nr_inodes={inodes}"));
        suffer(&mut sweep, &mut case, &setup, &[], &|| {
            drop(must("mount", &["-o", "remount,nr_inodes=1000", DISK]))
        });
        case.held();
    }
    assert!(
        sweep.seen("exit 5") + sweep.seen("exit 44") > 0,
        "no disk had too few"
    );
}

/// A full ext4, where space is given out when it is written and not when it is asked for.
#[test]
fn a_full_ext4() {
    let Some(mut sweep) = with_disks("faults::storage::full::a_full_ext4", 3, 80) else {
        return;
    };
    let setup = Setup::new();
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    let image = image.to_str().unwrap();
    while let Some(mut case) = sweep.next() {
        std::fs::File::create(image)
            .unwrap()
            .set_len(8 << 20)
            .unwrap();
        must("mkfs.ext4", &["-q", "-F", "-m", "0", image]);
        let _disk = Mount::new(Path::new(DISK), &["-o", "loop", image]);
        let free: u64 = must("stat", &["-f", "-c", "%a", DISK])
            .parse::<u64>()
            .unwrap()
            * must("stat", &["-f", "-c", "%S", DISK])
                .parse::<u64>()
                .unwrap()
            / 1024;
        let leave = case.below(200);
        must(
            "fallocate",
            &[
                "-l",
                &format!("{}k", free.saturating_sub(leave)),
                "/mnt/fill2",
            ],
        );
        suffer(&mut sweep, &mut case, &setup, &[], &|| {
            std::fs::remove_file("/mnt/fill2").unwrap()
        });
        case.held();
    }
    assert!(
        sweep.seen("exit 5") + sweep.seen("exit 44") > 0,
        "no disk was full"
    );
}

/// No file may grow beyond a size, to the byte.
#[test]
fn a_limit_on_file_sizes() {
    let Some(mut sweep) = with_disks("faults::storage::full::a_limit_on_file_sizes", 5, 200) else {
        return;
    };
    let setup = Setup::new();
    while let Some(mut case) = sweep.next() {
        let _disk = Mount::memory("size=16m");
        let most = if case.below(4) == 0 {
            case.below(600)
        } else {
            case.below(24_000)
        };
        let limit = format!("--fsize={most}");
        suffer(&mut sweep, &mut case, &setup, &["prlimit", &limit], &|| ());
        case.held();
    }
    assert!(
        sweep.seen("exit 5") + sweep.seen("exit 44") > 0,
        "no limit was too low"
    );
}

/// Killed while the disk is full, or on the way there; and what another one makes of the torn
/// record while the disk does not answer.
#[test]
fn killed_on_a_full_disk() {
    let Some(mut sweep) = with_disks("faults::storage::full::killed_on_a_full_disk", 4, 120) else {
        return;
    };
    let setup = Setup::new();
    let strace = crate::support::tree::is_there("strace");
    while let Some(mut case) = sweep.next() {
        let _disk = Mount::memory(&format!("size={}k", 76 + case.below(40) * 4));
        let project = case.one_of(&setup.projects);
        begin_anew(project, true);
        let args = [&RUN[..], &LEDGER].concat();
        let mut run = started(project, &[], &args);
        let mut out = BufReader::new(run.stdout.take().unwrap());
        let mut told = Vec::new();
        for _ in 0..case.below(14) {
            out.read_until(b'\n', &mut told).unwrap();
        }
        std::thread::sleep(Duration::from_micros(case.below(20_000)));
        run.kill().unwrap();
        out.read_to_end(&mut told).unwrap();
        let killed = run.ended().code().is_none();
        sweep.count("runs killed", u64::from(killed));
        let found = left(Path::new("/mnt/records"));
        if let Some(found) = &found {
            assert!(!killed || !found.run.is_pass() || found.folder.join("report.json").exists());
            let torn = &found.events[found.run.bytes..];
            assert!(!torn.contains(&b'\n'), "more than a line is torn");
            sweep.count("torn records", u64::from(!torn.is_empty()));
            // Whoever was told of an end finds it.
            for line in vplan::run::journal::lines(&told) {
                if matches!(
                    line.entry,
                    vplan::run::journal::JournalEntry::StepFinished { .. }
                ) {
                    let kept: Vec<_> = vplan::run::journal::lines(&found.events).collect();
                    assert!(
                        kept.contains(&line) || kept.len() < usize::try_from(line.seq).unwrap(),
                        "{line:?}"
                    );
                    sweep.count("ends that were told", 1);
                }
            }
        }
        rounds(project);
        looked_at(project, "/mnt/records");
        if let Some(found) = found.filter(|_| strace) {
            // A record with a torn end, and a disk that fails when it is looked at, or taken away.
            let file = std::fs::File::options()
                .append(true)
                .open(found.folder.join("events.jsonl"))
                .unwrap();
            file.set_len(case.below(found.events.len() as u64 + 1))
                .unwrap();
            let before = super::files(Path::new("/mnt/records"));
            for command in [
                &["status"][..],
                &["report"],
                &["runs"],
                &["gc", "--keep", "0"],
            ] {
                let call = *case.one_of(&[
                    "openat",
                    "read",
                    "statx,fstat,newfstatat",
                    "getdents64",
                    "flock",
                    "renameat,unlinkat",
                ]);
                let error = *case.one_of(&["EIO", "ENOSPC", "EACCES", "ENOMEM"]);
                let when = 1 + case.below(if call == "openat" || call == "read" {
                    60
                } else {
                    6
                });
                let inject = format!("inject={call}:error={error}:when={when}");
                let limit = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &inject];
                let ran = vplan(
                    project,
                    &limit,
                    &[command, &["--records", "/mnt/records"]].concat(),
                );
                let exit = ran.exit.unwrap_or(-1);
                // A program whose libraries cannot be loaded has not begun.
                let begun = !ran.err.contains("error while loading shared libraries");
                assert!(
                    !begun || exit == 1 || DOCUMENTED.contains(&exit),
                    "{command:?} {inject}: {exit} {}",
                    ran.err
                );
                assert!(
                    !ran.err.contains("vplan::internal"),
                    "{command:?} {inject}: {}",
                    ran.err
                );
                sweep.count("looks at a failing disk", 1);
                if command[0] != "gc" {
                    assert_eq!(
                        super::files(Path::new("/mnt/records")),
                        before,
                        "{command:?} changes nothing"
                    );
                }
            }
        }
        let _ = std::fs::remove_file("/mnt/fill");
        must("mount", &["-o", "remount,size=8m", DISK]);
        begin_anew(project, false);
        let again = vplan(project, &[], &args);
        assert_eq!(again.exit, Some(0), "the next run: {}", again.err);
        project
            .run(&["gc", "--keep", "0", "--records", "/mnt/records"])
            .exits(0);
        let runs = std::fs::read_dir("/mnt/records/runs").unwrap().count();
        assert_eq!(runs, 0, "all is gone that is to go");
        case.held();
    }
    assert!(sweep.seen("runs killed") > 0);
}
