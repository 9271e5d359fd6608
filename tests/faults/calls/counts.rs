//! How many processes does a run start, and how often does it wait for the disk? Counted, so that
//! a slow or busy machine has no say in it.

use super::place::{Place, RUN, able};
use crate::faults::storage::orders_names;
use crate::faults::sweep::Sweep;
use crate::support::Project;
use crate::support::process::Bounded as _;
use crate::support::tree::{have, rest};
use serde_json::Value;

/// What a run made of its system.
#[derive(Debug, PartialEq, Eq)]
struct Made {
    supervisors: usize,
    /// Processes that a supervisor started.
    commands: usize,
    syncs: usize,
    report: Value,
}

/// Runs it once, for what only the first run of a repository makes, and once more, counted.
fn second_run(place: &Place, args: &[&str]) -> Made {
    let warm = place.command(&[], args).spawn().unwrap().ended();
    assert_eq!(warm.code(), Some(0), "{}", place.said("err"));
    let trace = place.beside("trace");
    let calls = "trace=execve,fsync,fdatasync,syncfs,sync,sync_file_range,msync";
    let strace = [
        "strace",
        "-f",
        "-qq",
        "-o",
        trace.to_str().unwrap(),
        "-e",
        "signal=none",
        "-e",
        calls,
    ];
    let ran = place.command(&strace, args).spawn().unwrap().ended();
    assert_eq!(ran.code(), Some(0), "{}", place.said("err"));
    let trace = place.said("trace");
    // Of a call that is shown in two parts, the first one.
    let calls = |name: &str| {
        let begins = format!("{name}(");
        let of = move |line: &&str| {
            line.split_once(' ')
                .is_some_and(|(_, call)| call.trim_start().starts_with(&begins))
        };
        trace.lines().filter(of).collect::<Vec<_>>()
    };
    let executed = calls("execve");
    let is_supervisor = |line: &&&str| line.contains("vplan-supervisor");
    // `true`, which no other part of vplan starts.
    let is_command = |line: &&&str| line.contains(r#"["true"]"#);
    Made {
        supervisors: executed.iter().filter(is_supervisor).count(),
        commands: executed.iter().filter(is_command).count(),
        syncs: [
            "fsync",
            "fdatasync",
            "syncfs",
            "sync",
            "sync_file_range",
            "msync",
        ]
        .iter()
        .map(|name| calls(name).len())
        .sum(),
        report: serde_json::from_str(&place.said("out")).unwrap(),
    }
}

/// Syncs of folders that one record needs, where the file system does not order names: the run's,
/// the one of all runs, and the one that is in.
fn folders(place: &Place) -> usize {
    if orders_names(&place.project.root()) {
        0
    } else {
        3
    }
}

fn statuses(report: &Value, status: &str) -> usize {
    let steps = report["steps"].as_array().unwrap();
    steps.iter().filter(|s| s["status"] == status).count()
}

/// One trivial check: one supervisor; the report is synced, and the record's end.
#[test]
fn of_one_check() {
    let name = "faults::calls::counts::of_one_check";
    if !able(name) {
        return;
    }
    let place = Place::new(Project::git_with(&[(
        "contracts/verify.vplan",
        "vplan 1\ncheck a: true\n",
    )]));
    let made = second_run(&place, &RUN);
    assert_eq!(statuses(&made.report, "passed"), 1);
    assert_eq!(
        (made.supervisors, made.commands, made.syncs),
        (1, 1, 2 + folders(&place)),
        "{}",
        place.said("trace")
    );
}

/// Where an earlier pass stands for every check, no supervisor is started, and one sync is made: of
/// the record's end.
#[test]
fn of_checks_that_are_reused() {
    let name = "faults::calls::counts::of_checks_that_are_reused";
    if !able(name) {
        return;
    }
    let check = |name: &str| format!("check {name} {{\n  run true\n  inputs \"src\"\n}}\n");
    let contract = format!("vplan 1\n{}{}{}", check("a"), check("b"), check("c"));
    let place = Place::new(Project::git_with(&[
        ("contracts/verify.vplan", &contract),
        ("src", "1\n"),
    ]));
    let made = second_run(&place, &RUN);
    assert_eq!(statuses(&made.report, "cached"), 3, "{}", made.report);
    assert_eq!(
        (made.supervisors, made.commands, made.syncs),
        (0, 0, 1 + folders(&place)),
        "{}",
        place.said("trace")
    );
    // Where one runs after all, there is one supervisor.
    let again = second_run(&place, &[&RUN[..], &["--no-cache"]].concat());
    assert_eq!((again.supervisors, again.commands), (1, 3));
}

/// Many steps: at most one sync a second, of the events, and with the first one the plan; at the end
/// two.
#[test]
fn of_many_steps() {
    let name = "faults::calls::counts::of_many_steps";
    if !able(name) {
        return;
    }
    let mut sweep = Sweep::new(name, 1, 1);
    let steps = if sweep.whole() { 1000 } else { 150 };
    let checks: String = (0..steps).map(|i| format!("check s{i}: true\n")).collect();
    let contract = format!("vplan 1\n{checks}");
    let place = Place::new(Project::git_with(&[("contracts/verify.vplan", &contract)]));
    while let Some(case) = sweep.next() {
        let made = second_run(&place, &RUN);
        assert_eq!(statuses(&made.report, "passed"), steps);
        assert_eq!((made.supervisors, made.commands), (1, steps));
        let seconds = usize::try_from(made.report["durationMs"].as_u64().unwrap() / 1000).unwrap();
        let most = 2 + seconds + usize::from(seconds > 0) + folders(&place);
        assert!(
            (2..=most).contains(&made.syncs),
            "{} syncs in {seconds} s",
            made.syncs
        );
        sweep.count("syncs", made.syncs as u64);
        sweep.count("seconds", seconds as u64);
        case.held();
    }
    assert!(sweep.seen("syncs") > 0);
}

/// Calls that name a file, rules, namespaces, and processes: what a step of its own costs.
const OF_A_STEP: &str =
    "trace=%file,%process,landlock_create_ruleset,landlock_add_rule,unshare,setns";

/// How many of these calls a run of so many checks makes at a level: all, and those that start a process.
fn calls_of(checks: usize, level: &str) -> (usize, usize) {
    let check =
        |i| format!("check s{i} {{\n  run true\n  inputs \"src/*.c\"\n  sandbox {level}\n}}\n");
    let contract = "vplan 1\n".to_owned() + &(0..checks).map(check).collect::<String>();
    let mut files = vec![
        ("contracts/verify.vplan".to_owned(), contract),
        ("src/other".to_owned(), String::new()),
    ];
    files.extend((0..RULES).map(|i| (format!("src/{i}.c"), String::new())));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let place = Place::new(Project::git_with(&files));
    // Files that were written just before are looked at once more, in one of two runs or in both.
    rest();
    let run = [&RUN[..], &["--no-cache", "--jobs", "1"]].concat();
    // Each folder of PATH is looked at.
    let path = ["env", "PATH=/usr/bin:/bin"];
    let ended = place.command(&path, &run).spawn().unwrap().ended();
    assert_eq!(ended.code(), Some(0), "{}", place.said("err"));
    let trace = place.beside("trace");
    let strace = ["strace", "-f", "-qq", "-s", "0", "-e", "signal=none"];
    let traced = ["-e", OF_A_STEP, "-o", trace.to_str().unwrap()];
    let traced = [&path[..], &strace, &traced].concat();
    let mut traced = place.command(&traced, &run);
    assert_eq!(traced.spawn().unwrap().ended().code(), Some(0));
    let trace = place.said("trace");
    // Of a call that is shown in two parts, the first one; of a process that ends, nothing.
    let calls = trace
        .lines()
        .filter_map(|line| Some(line.split_once(' ')?.1.trim_start()));
    let calls = calls.filter(|call| !call.starts_with(['<', '+', '-']));
    let starts = ["clone(", "clone3(", "fork(", "vfork("];
    let calls: Vec<&str> = calls.collect();
    let started = calls
        .iter()
        .filter(|call| starts.iter().any(|start| call.starts_with(start)));
    (calls.len(), started.count())
}

/// The single files that each step may read.
const RULES: usize = 100;

/// What a confined step costs more than one that is not: in calls, at most, and in processes and threads.
#[test]
fn of_confined_steps() {
    let name = "faults::calls::counts::of_confined_steps";
    if !able(name) {
        return;
    }
    let project = Project::contract("vplan 1\ncheck a: true\n");
    let each = |level: &str| {
        let [few, many] = [2, 12].map(|checks| calls_of(checks, level));
        ((many.0 - few.0) / 10, (many.1 - few.1) / 10)
    };
    let none = each("none");
    for (level, most, processes) in [("guard", 25, 1), ("files", 290, 1), ("sealed", 480, 3)] {
        let tried = project.run(&["audit", "--machine", "--require", level]);
        if tried.exit != Some(0) {
            eprintln!("SKIPPED: {name}: sandbox {level}: {}", tried.out());
            continue;
        }
        let own = each(level);
        let more = own.0.saturating_sub(none.0);
        eprintln!(
            "{level}: {more} calls and {} processes and threads more than {}",
            own.1 - none.1,
            none.0
        );
        assert!(
            more <= most,
            "{level}: {more} calls a step more than without"
        );
        assert_eq!(own.1, none.1 + processes, "{level}");
    }
}

/// The bytes that a run writes, and its page faults, in a repository of so many files that are known
/// from earlier runs.
fn written_and_faults(files: usize) -> (u64, u64) {
    let contract = "vplan 1\ncheck a {\n  run true\n  inputs \"src/**\"\n}\n";
    let mut all = vec![("contracts/verify.vplan".to_owned(), contract.to_owned())];
    all.extend((0..files).map(|i| (format!("src/{}/file{i}", i % 30), i.to_string())));
    let all: Vec<(&str, &str)> = all.iter().map(|(p, t)| (&**p, &**t)).collect();
    let place = Place::new(Project::git_with(&all));
    rest();
    let run = [&RUN[..], &["--no-cache"]].concat();
    let ran = |launcher: &[&str]| {
        let ran = place.command(launcher, &run).spawn().unwrap().ended();
        assert_eq!(ran.code(), Some(0), "{}", place.said("err"));
    };
    ran(&[]);
    ran(&[]);
    let (trace, count) = (place.beside("trace"), place.beside("count"));
    let strace = ["strace", "-f", "-qq", "-s", "0", "-e", "signal=none"];
    let writes = [
        "-e",
        "trace=write,pwrite64,writev",
        "-o",
        trace.to_str().unwrap(),
    ];
    ran(&[&strace[..], &writes].concat());
    let trace = place.said("trace");
    let result = |line: &str| line.rsplit_once(" = ")?.1.parse::<u64>().ok();
    let written = trace.lines().filter_map(result).sum();
    let counting = "import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
open(sys.argv[1], 'w').write(str(faults))
sys.exit(code)";
    ran(&["python3", "-c", counting, count.to_str().unwrap()]);
    (written, place.said("count").parse().unwrap())
}

/// What a run writes does not depend on how many files there are, and a file costs a fraction of a
/// page of memory.
#[test]
fn of_many_files() {
    let name = "faults::calls::counts::of_many_files";
    if !able(name) || !have(&["python3"]) {
        return;
    }
    let (few, many) = (300, 6_300);
    let (few_written, few_faults) = written_and_faults(few);
    let (many_written, many_faults) = written_and_faults(many);
    assert!(
        few_written > 0 && many_written <= few_written + 2048,
        "{few_written} {many_written}"
    );
    let more = many_faults.saturating_sub(few_faults);
    let each = more as f64 / (many - few) as f64;
    assert!(each < 0.7, "{few_faults} {many_faults}: {each} for a file");
}
