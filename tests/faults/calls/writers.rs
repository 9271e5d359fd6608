//! Do the small writers leave the old or the new, whatever happens to them?

use super::place::{Fault, Place, able};
use crate::faults::sweep::Sweep;
use crate::support::Project;
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

/// A command that writes files, what is there before, and where it writes.
struct Writer {
    args: &'static [&'static str],
    prepare: fn() -> Project,
}

const UGLY: &str = "vplan 1\n\n\n\ncheck   a:   true\n";

fn with_import() -> Project {
    let project = Project::git_with(&[("x", "x\n")]);
    project.mkdir("../remote");
    project.git_in("../remote", &["init", "-q", "-b", "main"]);
    project.write("../remote/shared.vplan", "vplan 1\ncheck shared: true\n");
    project.git_in("../remote", &["add", "-A"]);
    project.git_in("../remote", &["commit", "-q", "-m", "x"]);
    let rev = project.git_in("../remote", &["rev-parse", "HEAD"]);
    let url = format!("file://{}", project.parent().join("remote").display());
    project.write(
        "contracts/verify.vplan",
        format!("vplan 1\nimport \"git+{url}?rev={rev}#shared.vplan\"\ncheck a: true\n"),
    );
    project
}

const WRITERS: [(&str, Writer); 7] = [
    (
        "fmt",
        Writer {
            args: &["fmt"],
            prepare: || Project::contract(UGLY),
        },
    ),
    (
        "init",
        Writer {
            args: &["init"],
            prepare: || Project::git_with(&[("package.json", r#"{"scripts":{"test":"true"}}"#)]),
        },
    ),
    (
        "lock",
        Writer {
            args: &["lock"],
            prepare: with_import,
        },
    ),
    (
        "gate",
        Writer {
            args: &[
                "gate",
                "record",
                "--subject",
                "T",
                "--status",
                "done",
                "--changed",
                "none",
            ],
            prepare: || {
                let project =
                    Project::contract("vplan 1\ngate {\n  confirmations 3\n}\ncheck a: true\n");
                project
                    .run(&[
                        "gate",
                        "record",
                        "--subject",
                        "S",
                        "--status",
                        "done",
                        "--changed",
                        "none",
                    ])
                    .exits(20);
                project
            },
        },
    ),
    (
        "plan",
        Writer {
            args: &["plan", "--changed-none", "-o", "saved.json", "--force"],
            prepare: || {
                let project = Project::contract("vplan 1\ncheck a: true\ncheck b: true\n");
                project.write("saved.json", "old\n");
                project
            },
        },
    ),
    (
        "reuse",
        Writer {
            args: &[
                "run",
                "--changed-none",
                "--progress",
                "none",
                "--records",
                "../records",
            ],
            prepare: || Project::contract("vplan 1\ncheck a {\n  run true\n  inputs \"x\"\n}\n"),
        },
    ),
    (
        "reset",
        Writer {
            args: &["gate", "reset", "--all"],
            prepare: || {
                let project =
                    Project::contract("vplan 1\ngate {\n  confirmations 3\n}\ncheck a: true\n");
                project
                    .run(&[
                        "gate",
                        "record",
                        "--subject",
                        "S",
                        "--status",
                        "done",
                        "--changed",
                        "none",
                    ])
                    .exits(20);
                project
            },
        },
    ),
];

/// Everything below the project and its home, but git's own.
fn files(place: &Place) -> Files {
    let mut found = Files::new();
    let parent = place.project.parent().to_owned();
    let mut open = vec![parent.join("repo"), parent.join("home")];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_none_or(|name| name != ".git") {
                    open.push(path);
                }
            } else {
                let name = path
                    .strip_prefix(&parent)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// A name by which a file is on its way to its place.
fn is_temporary(name: &str) -> bool {
    name.rsplit('/')
        .next()
        .is_some_and(|n| n.starts_with('.') && n != ".gitignore")
}

/// Whether it is of the store of passes, or of what is remembered of runs, commits and contents:
/// another one each time.
fn is_kept(name: &str) -> bool {
    ["/results/", "/ended/", "/contents/", "/commits"]
        .iter()
        .any(|part| name.contains(part))
}

/// Puts back what was there.
fn restore(place: &Place, old: &Files) {
    for (name, now) in files(place) {
        if old.get(&name) != Some(&now) {
            std::fs::remove_file(place.project.parent().join(&name)).unwrap();
        }
    }
    for (name, bytes) in old {
        let path = place.project.parent().join(name);
        if !path.exists() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
    }
}

struct Known {
    place: Place,
    args: &'static [&'static str],
    exit: Option<i32>,
    old: Files,
    new: Files,
    /// What is not the same each time: a cache of file times, a random salt.
    varies: Vec<String>,
    points: Vec<(String, u64)>,
}

impl Known {
    fn new(writer: &Writer, kinds: &str) -> Self {
        let place = Place::new((writer.prepare)());
        let args = writer.args;
        let old = files(&place);
        let ran = place.traced(&Fault::new("all", "delay_enter=0", 1), args);
        let exit = ran.exit;
        assert!(matches!(exit, Some(0 | 20)), "{ran:#?}");
        let new = files(&place);
        assert!(old != new, "{args:?} writes nothing");
        assert!(
            !new.keys()
                .any(|name| is_temporary(name) && !old.contains_key(name)),
            "{:?}",
            new.keys()
        );
        restore(&place, &old);
        let points = place.points(kinds, false, args, exit.unwrap());
        let again = files(&place);
        let mut varies: Vec<String> = again
            .iter()
            .filter(|(name, now)| new.get(*name) != Some(*now))
            .map(|(n, _)| n.clone())
            .collect();
        if args == ["init"] {
            // It says in the contract what could not be asked or read.
            varies.push("repo/contracts/verify.vplan".to_owned());
        }
        restore(&place, &old);
        Self {
            place,
            args,
            exit,
            old,
            new,
            varies,
            points,
        }
    }

    /// Each file is the old or the new. Gives the files that were on their way.
    fn old_or_new(&self, about: &str) -> Vec<String> {
        let mut left = Vec::new();
        let now = files(&self.place);
        for (name, bytes) in &now {
            let known = self.old.get(name) == Some(bytes) || self.new.get(name) == Some(bytes);
            if is_temporary(name) && !known {
                left.push(name.clone());
            } else {
                // The store of passes holds durations and, once files are some seconds old, their
                // times.
                let varies = self.varies.contains(name) || is_kept(name);
                assert!(
                    known || varies,
                    "{about}: {name} is neither: {}",
                    String::from_utf8_lossy(bytes)
                );
            }
        }
        for name in self.old.keys() {
            assert!(
                now.contains_key(name) || !self.new.contains_key(name),
                "{about}: {name} is gone"
            );
        }
        left
    }

    /// The command once more, undisturbed: the new, and nothing else.
    fn once_more(&self, about: &str) {
        let ran = self.place.project.run(self.args);
        assert!(
            ran.exit == self.exit || self.args[0] == "init",
            "{about}: {ran:#?}"
        );
        let left = self.old_or_new(about);
        // The store of passes removes its own after an hour, and what is remembered of runs goes
        // when there are many newer ones.
        let ever = left.iter().any(|name| !is_kept(name));
        assert!(!ever, "{about}: left for ever: {left:?}");
    }
}

/// SIGKILL before each call of each writer.
#[test]
fn killed() {
    let name = "faults::calls::writers::killed";
    if !able(name) {
        return;
    }
    let known: Vec<(&str, Known)> = WRITERS
        .iter()
        .map(|(name, w)| (*name, Known::new(w, "all")))
        .collect();
    let all: Vec<(usize, &(String, u64))> = known
        .iter()
        .enumerate()
        .flat_map(|(i, (_, k))| k.points.iter().map(move |p| (i, p)))
        .collect();
    let mut sweep = Sweep::new(name, 20, all.len() as u64);
    while let Some(case) = sweep.next() {
        let (which, (calls, nth)) = all[usize::try_from(case.point(all.len() as u64)).unwrap()];
        let (name, known) = &known[which];
        let about = format!("vplan {name} killed before {calls} {nth}");
        restore(&known.place, &known.old);
        let ran = known
            .place
            .traced(&Fault::new(calls, "signal=SIGKILL", *nth), known.args);
        known.place.is_left_alone();
        let left = known.old_or_new(&about);
        sweep.count("files on their way", left.len() as u64);
        if ran.signal.is_none() {
            if ran.exit == known.exit {
                sweep.count("calls not there, or not needed", 1);
            } else {
                // A git on its way, before it had become git.
                assert!(
                    ran.exit.is_some_and(|e| e != 0) && !(ran.err.is_empty() && ran.out.is_empty()),
                    "{about}: {ran:#?}"
                );
                sweep.count("refused", 1);
            }
        } else {
            sweep.count(&format!("kills of `{name}`"), 1);
        }
        if case.number % 4 == 0 || !left.is_empty() {
            known.once_more(&about);
        }
        case.held();
    }
    assert!(
        WRITERS
            .iter()
            .any(|(name, _)| sweep.seen(&format!("kills of `{name}`")) > 0)
    );
}

const ERRORS: [&str; 5] = ["EIO", "ENOSPC", "EACCES", "EINTR", "ENOMEM"];
const FILES: &str = "openat,openat2,write,read,fsync,fdatasync,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,ftruncate,flock,\
                     fchmod,fchmodat,fchown,getdents64,newfstatat,statx,readlink,fcntl,utimensat";

/// Each call of each writer fails, with each error.
#[test]
fn failing() {
    let name = "faults::calls::writers::failing";
    if !able(name) {
        return;
    }
    let known: Vec<(&str, Known)> = WRITERS
        .iter()
        .map(|(name, w)| (*name, Known::new(w, FILES)))
        .collect();
    let all: Vec<(usize, &(String, u64), &str)> = known
        .iter()
        .enumerate()
        .flat_map(|(i, (_, k))| {
            k.points
                .iter()
                .flat_map(move |p| ERRORS.iter().map(move |e| (i, p, *e)))
        })
        .collect();
    let mut sweep = Sweep::new(name, 20, all.len() as u64);
    while let Some(case) = sweep.next() {
        let (which, (calls, nth), error) =
            all[usize::try_from(case.point(all.len() as u64)).unwrap()];
        let (name, known) = &known[which];
        let about = format!("vplan {name}: {calls} {nth} fails with {error}");
        restore(&known.place, &known.old);
        let ran = known.place.traced(
            &Fault::new(calls, &format!("error={error}"), *nth),
            known.args,
        );
        known.place.is_left_alone();
        let left = known.old_or_new(&about);
        if ran.hit.is_empty() {
            sweep.count("calls not there", 1);
        } else if ran.impossible() {
            sweep.count("faults that no system has", 1);
        } else {
            ran.owns_up();
            assert!(
                left.is_empty() || ran.hit_any(&["unlink", "unlinkat"]),
                "{about}: {left:?} {ran:#?}"
            );
            if ran.exit == known.exit {
                let now = files(&known.place);
                for (file, bytes) in &known.new {
                    // What is kept for later runs may be missing: they run the step again.
                    let may_miss = *name == "reuse" || known.varies.contains(file);
                    assert!(
                        now.get(file) == Some(bytes) || may_miss,
                        "{about}: {file} is not written: {ran:#?}"
                    );
                }
                sweep.count("written all the same", 1);
            } else {
                assert!(ran.exit.is_some_and(|e| e != 0), "{about}: {ran:#?}");
                let said =
                    !ran.err.trim().is_empty() || !ran.out.is_empty() || ran.hit_any(&["write"]);
                assert!(said, "not a word: {about}: {ran:#?}");
                sweep.count("refused", 1);
            }
        }
        if case.number % 16 == 0 {
            known.once_more(&about);
        }
        case.held();
    }
    assert!(sweep.seen("refused") > 0 || sweep.seen("written all the same") > 0 && !sweep.whole());
}
