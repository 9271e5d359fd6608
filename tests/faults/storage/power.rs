//! What is left when the power is cut?
//!
//! The disk is an ext4 in a file. Whoever writes is stopped, the file is copied as it is at a
//! moment at which nothing is on its way to it, and the copy is mounted: what the system had not
//! written yet is not there.

use super::{DISK, DOCUMENTED, Mount, left, must, started, with_disks};
use crate::faults::sweep::{Case, Sweep};
use crate::support::Project;
use crate::support::process::Bounded as _;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;
use vplan::base::canon::Digest;
use vplan::effect::os::state_dir::StateDir;
use vplan::effect::repo::ledger_file::LedgerFile;
use vplan::effect::store::reuse::results::{StoredPass, StoredResults};
use vplan::plan::document;
use vplan::run::journal::{JournalEnd, JournalEntry, Line, lines};

struct Disk {
    image: PathBuf,
    at: PathBuf,
    /// What the system says of the device.
    device: PathBuf,
    _mount: Mount,
}

const SIZE: u64 = 8 << 20;

impl Disk {
    fn new(at: &Path, options: &str) -> Self {
        let image = Path::new(DISK).join("image");
        let _ = std::fs::remove_file(&image);
        std::fs::File::create(&image)
            .unwrap()
            .set_len(SIZE)
            .unwrap();
        let name = image.to_str().unwrap();
        must("mkfs.ext4", &["-q", "-F", "-m", "0", name]);
        let mount = Mount::new(at, &["-o", &format!("loop{options}"), name]);
        let device = must("findmnt", &["-n", "-o", "SOURCE", at.to_str().unwrap()]);
        let device = Path::new("/sys/block").join(Path::new(&device).file_name().unwrap());
        Self {
            image,
            at: at.to_owned(),
            device,
            _mount: mount,
        }
    }

    /// How much was written so far.
    fn written(&self) -> Vec<String> {
        let stat = std::fs::read_to_string(self.device.join("stat")).unwrap();
        let fields: Vec<&str> = stat.split_whitespace().collect();
        // Completed writes, sectors written, completed discards.
        [4, 6, 11].map(|i| fields[i].to_owned()).to_vec()
    }

    fn is_still(&self) -> bool {
        let inflight = std::fs::read_to_string(self.device.join("inflight")).unwrap();
        inflight.split_whitespace().all(|n| n == "0")
    }

    /// The disk as it would be found if the power went now. Only one at a time.
    fn cut(&self) -> Mount {
        let copy = Path::new(DISK).join("copy");
        loop {
            let before = self.written();
            if self.is_still() {
                std::fs::copy(&self.image, &copy).unwrap();
                if self.is_still() && self.written() == before {
                    break;
                }
            }
            std::thread::yield_now();
        }
        Mount::new(
            &Path::new(DISK).join("after"),
            &["-o", "loop", copy.to_str().unwrap()],
        )
    }
}

fn signal(child: &Child, signal: Signal) {
    let _ = kill_process(Pid::from_child(child), signal);
}

fn in_copy(name: &str) -> PathBuf {
    Path::new(DISK).join("after").join(name)
}

/// How many rounds the ledger in a copy knows: one that cannot be read is not to be found there.
fn rounds(project: &Project) -> u64 {
    let base = in_copy("state");
    if !base.exists() {
        return 0;
    }
    let place = StateDir::open(&base, &project.root()).unwrap();
    LedgerFile::new(place)
        .read()
        .expect("the ledger is whole")
        .rounds
}

/// How many passes in a copy are whole, and how many are found to be damaged.
fn passes(project: &Project) -> (u64, u64) {
    let base = in_copy("state");
    if !base.exists() {
        return (0, 0);
    }
    let place = StateDir::open(&base, &project.root()).unwrap();
    let folder = place.path.join("results");
    let names: Vec<String> = std::fs::read_dir(&folder)
        .map(|entries| {
            entries
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect()
        })
        .unwrap_or_default();
    let Ok(results) = StoredResults::open(&place) else {
        return (0, 0);
    };
    let (mut whole, mut damaged) = (0, 0);
    for name in names.iter().filter(|name| name.len() == 64) {
        let key: Digest = format!("sha256:{name}").parse().unwrap();
        match results.get(&key) {
            StoredPass::Pass(pass) => {
                assert_eq!(pass.key, key);
                whole += 1;
            }
            StoredPass::Damaged => damaged += 1,
            StoredPass::Nothing => panic!("it was there"),
        }
    }
    (whole, damaged)
}

const STEPS: [&str; 3] = ["first", "second", "third"];

/// A run of three steps, of which the last one passes if what it looks at is good; with the ledger
/// and with reuse.
fn a_run(sweep: &mut Sweep, case: &mut Case, disk: &Disk, project: &Project) {
    let records = disk.at.join("records");
    let state = disk.at.join("state");
    let told = Path::new(DISK).join("told");
    // Whom nobody follows syncs later.
    let is_followed = case.below(3) > 0;
    let run = |told: &Path, records: &Path, state: &Path| {
        let [told, records, state] = [told, records, state].map(|p| p.to_str().unwrap().to_owned());
        let args = [
            "run",
            "--changed-none",
            "--progress",
            "none",
            "--subject",
            "S",
        ]
        .map(str::to_owned);
        let events = ["--events".to_owned(), told];
        [
            &args[..],
            if is_followed { &events[..] } else { &[] },
            &[
                "--records".to_owned(),
                records,
                "--state-dir".to_owned(),
                state,
            ],
        ]
        .concat()
    };
    let start = |args: Vec<String>| {
        started(
            project,
            &[],
            &args.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    };
    let reset = |good: bool| {
        let _ = std::fs::remove_dir_all(project.path("../marks"));
        project.mkdir("../marks");
        project.write("src", if good { "good\n" } else { "bad\n" });
    };
    let good = case.below(3) > 0;
    let earlier = case.below(2);
    for _ in 0..earlier {
        reset(true);
        assert!(
            start(run(&told, &records, &state))
                .finished()
                .status
                .success()
        );
    }
    reset(good);
    let _ = std::fs::remove_file(&told);
    let mut child = start(run(&told, &records, &state));
    let mut kept_at_cuts: Vec<Vec<Line>> = Vec::new();
    let mut wanted = 0;
    for nth in 0..4 {
        wanted += usize::try_from(case.below(5)).unwrap() * usize::from(is_followed);
        let lines_told = || std::fs::read(&told).unwrap_or_default();
        let mut exit = None;
        while exit.is_none() && lines(&lines_told()).count() < wanted {
            exit = child.try_wait().unwrap();
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(case.below(8_000)));
        if nth == 3 {
            exit = Some(child.ended());
        }
        if exit.is_none() {
            signal(&child, Signal::STOP);
        }
        let (known, marks) = (lines_told(), |name: &str| {
            project.exists(&format!("../marks/{name}"))
        });
        let after = disk.cut();
        sweep.count("cuts", 1);
        sweep.count("cuts of a run", 1);
        let found = left(&in_copy("records")).filter(|found| {
            // Without a line nobody can tell whether it is the earlier run.
            lines(&known)
                .next()
                .is_none_or(|line| matches!(&line.entry, JournalEntry::RunStarted { run_id, .. } if *run_id == found.id))
        });
        let kept: Vec<Line> = found
            .as_ref()
            .map(|found| lines(&found.events).collect())
            .unwrap_or_default();
        for line in
            lines(&known).filter(|line| !matches!(line.entry, JournalEntry::StepStarted { .. }))
        {
            assert!(
                kept.contains(&line),
                "told, and lost with the power: {line:?}"
            );
            sweep.count("lines that were told and are there", 1);
        }
        // When it is over, it is on record, whoever was told.
        if exit.is_some() {
            let (found, written) = (found.as_ref().expect("a record"), left(&records).unwrap());
            assert_eq!(found.id, written.id, "the run is there");
            assert_eq!(found.events, written.events, "all of it");
            assert!(matches!(found.run.end, JournalEnd::Finished { .. }));
            assert_eq!(found.run.is_pass(), good);
            let report = |of: &Path| std::fs::read(of.join("report.json")).unwrap();
            let is_whole = report(&found.folder) == report(&written.folder);
            // Where earlier passes stood for all steps, nobody followed, and nothing was done that
            // is not on record elsewhere.
            let started = |line: Line| matches!(line.entry, JournalEntry::StepStarted { .. });
            let may_be_lost = good && !is_followed && !lines(&found.events).any(started);
            assert!(is_whole || may_be_lost, "the report is there");
            sweep.count(
                if is_whole {
                    "reports of runs that are over"
                } else {
                    "reports of runs that started nothing, lost"
                },
                1,
            );
            sweep.count(
                if is_followed {
                    "ends of runs that were followed"
                } else {
                    "ends of runs that nobody followed"
                },
                1,
            );
        }
        if let Some(found) = found.filter(|_| lines(&known).next().is_some()) {
            if found.run.is_pass() {
                assert!(
                    good && STEPS.iter().all(|s| marks(s) || earlier > 0),
                    "a pass that did not happen"
                );
            }
            let finished = |line: &Line| matches!(line.entry, JournalEntry::RunFinished { .. });
            if lines(&known).any(|line| finished(&line)) {
                assert_eq!(rounds(project), earlier + 1, "the round is there");
                assert_eq!(found.run.is_pass(), good);
                let report: serde_json::Value = serde_json::from_slice(
                    &std::fs::read(found.folder.join("report.json")).unwrap(),
                )
                .unwrap();
                assert_eq!(report["runId"], found.id.as_str());
            }
            if let Ok(text) = std::fs::read(found.folder.join("report.json")) {
                serde_json::from_slice::<serde_json::Value>(&text)
                    .expect("it is whole or not there");
            }
            if let Ok(text) = std::fs::read_to_string(found.folder.join("plan.json")) {
                let written =
                    std::fs::read_to_string(left(&records).unwrap().folder.join("plan.json"));
                let is_whole = written.is_ok_and(|written| written == text);
                assert!(
                    is_whole || document::from_json(&text).is_err(),
                    "another plan: {text}"
                );
                sweep.count(
                    if is_whole {
                        "plans that are whole"
                    } else {
                        "plans that are damaged, and known to be"
                    },
                    1,
                );
            }
            kept_at_cuts.push(kept);
        }
        let known_rounds = rounds(project);
        assert!(
            [earlier, earlier + 1].contains(&known_rounds),
            "{known_rounds} of {earlier}"
        );
        let (whole, damaged) = passes(project);
        sweep.count("passes that are whole", whole);
        sweep.count("passes that are damaged, and known to be", damaged);
        if exit.is_some() || case.below(6) == 0 {
            // Whoever finds the disk so goes on.
            let elsewhere = Path::new(DISK).join("told.after");
            let next = start(run(&elsewhere, &in_copy("records"), &in_copy("state"))).finished();
            let err = String::from_utf8_lossy(&next.stderr).into_owned();
            assert_eq!(next.status.code(), Some(if good { 0 } else { 40 }), "{err}");
            assert_eq!(rounds(project), known_rounds + 1);
            sweep.count("runs afterwards", 1);
        }
        drop(after);
        if exit.is_some() {
            break;
        }
        signal(&child, Signal::CONT);
    }
    assert_eq!(child.ended().code(), Some(if good { 0 } else { 40 }));
    let last: Vec<Line> = lines(&left(&records).unwrap().events).collect();
    for kept in kept_at_cuts {
        assert!(
            last.starts_with(&kept),
            "what is found is a beginning of what was written"
        );
    }
}

/// Rounds that are recorded by hand, one after the other.
fn rounds_by_hand(sweep: &mut Sweep, case: &mut Case, disk: &Disk, project: &Project) {
    let state = disk.at.join("state");
    let mut known = 0;
    for _ in 0..4 {
        let args = [
            "gate",
            "record",
            "--subject",
            "S",
            "--status",
            "done",
            "--changed",
            "none",
            "--state-dir",
        ];
        let mut child = started(
            project,
            &[],
            &[&args[..], &[state.to_str().unwrap()]].concat(),
        );
        std::thread::sleep(Duration::from_micros(case.below(40_000)));
        let mut exit = child.try_wait().unwrap();
        if case.below(3) == 0 {
            exit = Some(child.ended());
        }
        signal(&child, Signal::STOP);
        let after = disk.cut();
        sweep.count("cuts", 1);
        sweep.count("cuts of a ledger", 1);
        known += u64::from(exit.is_some());
        let found = rounds(project);
        assert!(
            found == known || exit.is_none() && found == known + 1,
            "{known} were known, {found} are there"
        );
        drop(after);
        signal(&child, Signal::CONT);
        assert!(
            child
                .ended()
                .code()
                .is_some_and(|code| DOCUMENTED.contains(&code))
        );
        known += u64::from(exit.is_none());
    }
}

/// A lock that is replaced again and again. The disk holds the folder of the contract.
fn a_lock(
    sweep: &mut Sweep,
    case: &mut Case,
    disk: &Disk,
    project: &Project,
    revisions: &[String; 2],
) {
    let url = format!("file://{}", project.parent().join("remote").display());
    let contract = |revision: &str| {
        format!(
            "vplan 1\nimport \"git+{url}?rev={revision}#shared.vplan\" as shared\ncheck own: true\n"
        )
    };
    let lock = disk.at.join("verify.lock.kdl");
    let mut texts = [String::new(), String::new()];
    for (revision, text) in revisions.iter().zip(&mut texts) {
        project.write("contracts/verify.vplan", contract(revision));
        project.run(&["lock"]).exits(0);
        *text = std::fs::read_to_string(&lock).unwrap();
    }
    assert_ne!(texts[0], texts[1]);
    // The second one is there.
    for nth in 0..4 {
        let (old, new) = (&texts[(nth + 1) % 2], &texts[nth % 2]);
        project.write("contracts/verify.vplan", contract(&revisions[nth % 2]));
        let mut child = started(project, &[], &["lock"]);
        std::thread::sleep(Duration::from_micros(case.below(60_000)));
        let mut exit = child.try_wait().unwrap();
        if case.below(3) == 0 {
            exit = Some(child.ended());
        }
        signal(&child, Signal::STOP);
        let after = disk.cut();
        sweep.count("cuts", 1);
        sweep.count("cuts of a lock", 1);
        let found = std::fs::read_to_string(in_copy("verify.lock.kdl")).expect("there is a lock");
        assert!(
            found == *new || exit.is_none() && found == *old,
            "exit {exit:?}:\n{found}"
        );
        drop(after);
        signal(&child, Signal::CONT);
        assert_eq!(child.ended().code(), Some(0));
    }
}

/// The power goes while vplan runs checks, records rounds, or replaces a lock.
#[test]
fn power_cuts() {
    let Some(mut sweep) = with_disks("faults::storage::power::power_cuts", 4, 290) else {
        return;
    };
    if !crate::support::tree::have(&["mkfs.ext4", "findmnt"]) {
        return sweep.cannot("no e2fsprogs");
    }
    let check = |name: &str, test: &str| {
        format!(
            "check {name} {{\n  shell touch ../marks/{name}; echo output; {test}\n  inputs \"src\"\n}}\n"
        )
    };
    let steps =
        check("first", "true") + &check("second", "true") + &check("third", "grep -q good src");
    let project = Project::git_with(&[
        ("contracts/verify.vplan", &format!("vplan 1\n{steps}")),
        ("src", "good\n"),
    ]);
    let with_lock = Project::git_with(&[("a", "a\n")]);
    with_lock.mkdir("../remote").mkdir("contracts");
    with_lock.git_in("../remote", &["init", "-q", "-b", "main"]);
    let revisions = ["true", "false"].map(|command| {
        with_lock.write(
            "../remote/shared.vplan",
            format!("vplan 1\ncheck shared: {command}\n"),
        );
        with_lock.git_in("../remote", &["add", "-A"]);
        with_lock.git_in("../remote", &["commit", "-q", "-m", command]);
        with_lock.git_in("../remote", &["rev-parse", "HEAD"])
    });
    let _memory = Mount::memory("size=64m");
    while let Some(mut case) = sweep.next() {
        let options = *case.one_of(&[
            "",
            ",data=writeback",
            ",data=journal",
            ",nobarrier",
            ",commit=1",
            ",nodelalloc",
        ]);
        let what = case.number % 4;
        let at = if what == 3 {
            with_lock.path("contracts")
        } else {
            Path::new(DISK).join("disk")
        };
        let disk = Disk::new(&at, options);
        match what {
            0 | 1 => a_run(&mut sweep, &mut case, &disk, &project),
            2 => rounds_by_hand(&mut sweep, &mut case, &disk, &project),
            _ => a_lock(&mut sweep, &mut case, &disk, &with_lock, &revisions),
        }
        case.held();
    }
    assert!(sweep.seen("cuts of a run") > 0);
}
