//! How often a run looks at the files of the repository, and what it believes without looking
//! again.

use crate::support::Project;
use crate::support::tree::have;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const FILES: usize = 60;

/// A committed repository of so many files.
fn project(contract: &str) -> Project {
    let mut files = vec![
        ("contracts/verify.vplan".to_owned(), contract.to_owned()),
        (".gitignore".to_owned(), ".vplan/\ncache/\n".to_owned()),
    ];
    files.extend((0..FILES).map(|i| (format!("src/{}/file{i}", i % 6), i.to_string())));
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (&**p, &**t)).collect();
    Project::git_with(&files)
}

/// Waits until all that was written is so old that a digest of it is remembered.
fn rest() {
    // It is the clock itself that is waited for.
    std::thread::sleep(std::time::Duration::from_secs(3));
}

/// What a run asked of the system.
struct Counted {
    report: Value,
    /// By the name of a file of `src`: how often its metadata was read.
    looks: BTreeMap<String, usize>,
    /// How often each program was started.
    programs: BTreeMap<String, usize>,
}

fn counted(project: &Project, args: &[&str]) -> Counted {
    let trace = project.parent().join("trace");
    let args = [&["run", "--format", "json"], args].concat();
    let ran = project.vplan(&args).under(&[
        "strace",
        "-f",
        "-qq",
        "-e",
        "trace=newfstatat,lstat,stat,statx,execve",
        "-e",
        "signal=none",
        "-o",
        trace.to_str().unwrap(),
    ]);
    let report = ran.run().json();
    let trace = std::fs::read_to_string(&trace).unwrap();
    let (mut looks, mut programs) = (BTreeMap::new(), BTreeMap::new());
    for line in trace.lines() {
        let Some(name) = line.split('"').nth(1) else {
            continue;
        };
        let name = Path::new(name).file_name().unwrap_or_default();
        let name = name.to_str().unwrap().to_owned();
        // A call that another thread's line interrupts is shown in two parts: the first has the name.
        let is_begun = line.contains("unfinished") || line.ends_with("= 0");
        if line.contains("execve(") && is_begun {
            *programs.entry(name).or_default() += 1;
        } else if name.starts_with("file")
            && name.trim_start_matches("file").len() < 4
            && name != "files"
            && line.contains("stat")
        {
            *looks.entry(name).or_default() += 1;
        }
    }
    Counted {
        report,
        looks,
        programs,
    }
}

impl Counted {
    /// Checks that each file was looked at so often, but for `file0`, which has changed.
    fn looked(&self, times: usize) -> &Self {
        let other: Vec<_> = (self.looks.iter())
            .filter(|(name, count)| **name != "file0" && **count != times)
            .collect();
        assert!(other.is_empty(), "not {times} times: {other:?}");
        assert_eq!(self.looks.len(), FILES, "{:?}", self.looks);
        self
    }

    fn started(&self, programs: &[(&str, usize)]) -> &Self {
        let wanted = programs
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        assert_eq!(self.programs, wanted.collect());
        self
    }

    fn passed(&self, reused: usize) -> &Self {
        let steps = self.report["steps"].as_array().unwrap();
        let count = |status: &str| steps.iter().filter(|s| s["status"] == status).count();
        let expected = (steps.len() - reused, reused);
        assert_eq!(
            (count("passed"), count("cached")),
            expected,
            "{:#}",
            self.report
        );
        self
    }
}

const INPUTS: &str = "vplan 1
contract \"looks\"
check a {
  run true a
  inputs \"src/**\"
}
check b {
  run true b
  inputs \"src/0/**\" \"src/1/**\"
}
check c {
  run true c
  inputs \"**\"
}
";

#[test]
fn each_file_is_looked_at_twice_whatever_runs() {
    if !have(&["strace"]) {
        return;
    }
    let project = project(INPUTS);
    project.write("src/0/file0", "changed");
    // The first run reads all files, and git is asked for the commit.
    counted(&project, &[]).passed(0);
    project.write("src/0/file0", "changed again");
    let run = counted(&project, &[]);
    run.passed(0).looked(2);
    run.started(&[("true", 3), ("exe", 1), ("vplan", 1)]);
    // Of nothing that runs, the first look is the last.
    rest();
    counted(&project, &[]);
    let run = counted(&project, &[]);
    run.passed(3).looked(1);
    assert!(!run.programs.contains_key("git"), "{:?}", run.programs);
    assert_eq!(run.looks["file0"], 1);
}

#[test]
fn an_untracked_file_is_read_once() {
    if !have(&["strace"]) {
        return;
    }
    let project = project("vplan 1\ncontract \"one\"\ncheck a: true\n");
    project
        .write("src/0/file0", "changed")
        .write("src/0/filenew", "x");
    let run = counted(&project, &[]);
    // Once by git, which is asked whether rules of this machine hide it.
    assert_eq!(run.looks["filenew"], 3);
}

/// A write through a second link outside of the inputs, which the system's watches do not tell.
#[test]
fn what_no_watch_tells_is_not_believed() {
    let project = project(
        "vplan 1
contract \"links\"
check a {
  run sh -c 'cat cache/in/file && printf %s \"$((1 + $(cat other/link 2>/dev/null || echo 0)))\" >cache/link'
  inputs \"cache/in/**\"
}
",
    );
    project.mkdir("cache/in");
    project.write("cache/in/file", "1");
    std::fs::hard_link(project.path("cache/in/file"), project.path("cache/link")).unwrap();
    for _ in 0..3 {
        let report = project.run(&["run", "--all", "--format", "json"]).json();
        let step = &report["steps"][0];
        assert_eq!(step["status"], "passed");
        assert!(step["cachedFrom"].is_null(), "{step:#}");
        let why = step["notReused"].as_str().unwrap();
        assert!(why.contains("this pass was not kept"), "{why}");
    }
}

/// A check whose inputs another one, which it does not wait for, has written since they were looked
/// at: a pass on what they were is kept.
#[test]
fn no_pass_stands_for_a_step_because_watches_are_silent() {
    let project = project(
        "vplan 1
contract \"order\"
check first {
  run sh -c 'cat src/0/file0 >cache/link'
  inputs \"src/0/**\"
}
check second {
  run grep -qx good src/1/file1
  inputs \"src/1/**\"
}
",
    );
    project.write("src/1/file1", "good\n").mkdir("cache");
    project.commit("good");
    std::fs::hard_link(project.path("src/1/file1"), project.path("cache/link")).unwrap();
    let second = |args: &[&str]| {
        let args = [&["run", "--all", "--format", "json"], args].concat();
        let report = project.run(&args).json();
        let steps = report["steps"].as_array().unwrap();
        let second = steps.iter().find(|step| step["id"] == "second").unwrap();
        second["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(second(&["second"]), "passed");
    // The digest of a file that was just written is not remembered: it would be read again.
    rest();
    assert_eq!(second(&["second"]), "cached");
    // `first` leaves what `second` does not accept, by a name where no watch of ours looks.
    project.write("src/0/file0", "bad\n");
    assert_eq!(second(&[]), "failed");
}

/// The tree that a comparison has seen is not the one with which the run begins, when something
/// else ran in between.
#[test]
fn a_proposer_that_writes_is_before_the_run() {
    let project = project("vplan 1\ncontract \"one\"\ncheck a: true\n");
    project.write("src/0/file0", "changed");
    project.script(
        "../propose",
        "#!/bin/sh\ncat >/dev/null\necho new >src/0/made\necho '{\"commands\":[\"true proposed\"]}'\n",
    );
    let program = project.path("../propose");
    let ran = project.run(&[
        "run",
        "--mode",
        "llm",
        "--proposer",
        program.to_str().unwrap(),
        "--format",
        "json",
    ]);
    let report = ran.json();
    // No step has left it.
    let left = report["newFiles"].as_array();
    assert!(left.is_none_or(Vec::is_empty), "{report:#}");
    assert!(project.exists("src/0/made"));
}
