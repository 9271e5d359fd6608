//! `vplan help security`: each promise has its test, and what is not promised is really to be had
//! by the commands that the page shows.

use crate::support::{Project, Ran};
use std::collections::BTreeSet;
use std::process::Command;

const PAGE: &str = include_str!("../../src/security.md");

/// What of the page is between two texts.
fn part(from: &str, to: &str) -> &'static str {
    let rest = PAGE.split(from).nth(1).unwrap();
    rest.split(to).next().unwrap()
}

/// The commands of an example.
fn commands(name: &str) -> &'static str {
    part("\n## Not promised\n", "\0")
        .split(&format!("```sh {name}\n"))
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap()
}

/// The names of all tests of this program.
fn tests() -> BTreeSet<String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--list", "--format", "terse"])
        .output()
        .unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    list.lines()
        .filter_map(|line| Some(line.strip_suffix(": test")?.to_owned()))
        .collect()
}

#[test]
fn each_promise_has_its_test() {
    let tests = tests();
    let promises: Vec<&str> = part("\n## Promised\n", "\n## ")
        .split("\n- ")
        .skip(1)
        .collect();
    assert!(promises.len() > 20, "{} promises", promises.len());
    for promise in promises {
        let names: Vec<&str> = promise
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|word| word.contains("::"))
            .collect();
        assert!(!names.is_empty(), "no test is named: {promise}");
        for name in names {
            assert!(tests.contains(name), "there is no test `{name}`: {promise}");
        }
    }
}

const UNIT: &str = "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit {\n    run CHECK\n  }\n}\n";

/// A work tree in which `check` does not pass after the change; programs are found in `~/bin`,
/// vplan among them in `../bin`.
fn red(check: &str, good: &str, bad: &str) -> Project {
    let contract = UNIT.replace("CHECK", check);
    let project = Project::git_with(&[
        ("contracts/verify.vplan", contract.as_str()),
        (".gitignore", "/.vplan/\n/node_modules/\n"),
        ("README.md", "Words.\n"),
        ("src/a", good),
        ("helper", "ok\n"),
        ("test.sh", "grep -q ok src/a\n"),
    ]);
    project
        .write("node_modules/lint/run.sh", "grep -q ok src/a\n")
        .mkdir("../home/bin")
        .mkdir("../bin");
    project.git(&["config", "user.name", "A"]);
    project.git(&["config", "user.email", "a@example.org"]);
    project
        .symlink("../bin/vplan", env!("CARGO_BIN_EXE_vplan"))
        .write("src/a", bad);
    let path = format!(
        "{}:{}",
        project.path("../bin").display(),
        std::env::var("PATH").unwrap()
    );
    project.env("PATH", path)
}

/// Runs an example of the page as it is written.
fn shown(project: &Project, name: &str) -> Ran {
    let nothing: [&str; 0] = [];
    project
        .vplan(&nothing)
        .under(&["sh", "-e", "-c", commands(name)])
        .run()
}

#[test]
fn what_is_not_promised_is_named() {
    let examples = PAGE.lines().filter_map(|line| line.strip_prefix("```sh "));
    let tried = [
        "tests", "ignored", "links", "home", "path", "refs", "state", "accept", "record", "reset",
        "narrowed", "inputs", "sandbox", "killed", "mapped", "own", "shm", "within", "empty",
    ];
    assert_eq!(examples.collect::<BTreeSet<_>>(), BTreeSet::from(tried));
}

/// Each is red for who asks for all of it, until the commands of the page are run.
#[test]
fn what_the_machine_and_the_tests_say_is_believed() {
    for (name, check, good, bad) in [
        ("tests", "sh test.sh", "ok\n", "bad\n"),
        ("own", "sh test.sh", "ok\n", "bad\n"),
        ("within", "sh test.sh", "ok\n", "bad\n"),
        ("links", "grep -q ok src/a", "ok\n", "bad\n"),
        ("ignored", "sh node_modules/lint/run.sh", "ok\n", "bad\n"),
        ("home", "git diff --check HEAD", "ok\n", "ok \n"),
        ("path", "grep -q ok src/a", "ok\n", "bad\n"),
        ("empty", "test -d src/done", "ok\n", "bad\n"),
        ("refs", "grep -q ok src/a", "ok\n", "bad\n"),
    ] {
        let project = red(check, good, bad);
        let before = project.run(&["run", "--require", "full"]);
        assert!(
            matches!(before.exit, Some(40..=42)),
            "{name}: {}",
            before.out()
        );
        shown(&project, name).exits(0);
    }
}

#[test]
fn the_state_directory_is_believed() {
    let project = red("grep -q ok src/a", "ok\n", "still ok\n");
    project.run(&["run"]).exits(0);
    project.write("src/a", "bad\n").run(&["run"]).exits(40);
    project.run(&["status", "--require", "verified"]).exits(44);
    shown(&project, "state")
        .exits(0)
        .says("the work tree is the one that was verified");
    assert_eq!(project.read("src/a"), "bad\n");
}

#[test]
fn the_same_user_speaks_for_people() {
    for name in ["accept", "record", "reset"] {
        let project = red("grep -q ok src/a", "ok\n", "bad\n");
        project.run(&["run", "--subject", "S"]).exits(40);
        shown(&project, name).exits(0).says("S ");
        assert_eq!(project.read("src/a"), "bad\n");
        let status = project.run(&["status", "--require", "verified"]);
        assert!(
            name == "accept" || status.exit == Some(44),
            "{name}: {}",
            status.out()
        );
    }
}

#[test]
fn narrowed_is_no_failure_unless_it_is_asked() {
    let project = red("grep -q ok src/a", "ok\n", "bad\n");
    project.run(&["run"]).exits(40);
    shown(&project, "narrowed").exits(0).says("asks for less");
    project.run(&["run", "--require", "full"]).exits(44);
}

#[test]
fn what_is_not_declared_is_not_looked_at() {
    let check = "sh -c \"grep -q ok helper\"\n    inputs \"src/**\"";
    let project = red(check, "ok\n", "ok too\n");
    project.run(&["run"]).exits(0);
    shown(&project, "inputs")
        .exits(0)
        .says("1 of them in earlier runs");
    project.run(&["run", "--no-cache"]).exits(40);
}

#[test]
fn a_step_is_not_confined() {
    let check = "sh sandbox.sh\n    pass-env TOKEN";
    let project = red(check, "ok\n", "ok too\n");
    project.write("sandbox.sh", "touch ../outside\nprintenv TOKEN | base64\n");
    shown(&project, "sandbox").exits(0);
    assert!(project.exists("../outside"));
}

#[test]
fn shared_memory_of_a_guarded_step_is_shared() {
    let project = red("sh test.sh", "ok\n", "bad\n");
    if !crate::sandbox::guards(&project) {
        return;
    }
    project.run(&["run", "--require", "full"]).exits(40);
    shown(&project, "shm").exits(0);
    let _ = std::fs::remove_file("/dev/shm/vplan-shared");
}

#[test]
fn a_hook_can_be_killed() {
    let project = red("sh test.sh", "ok\n", "bad\n");
    let ran = shown(&project, "killed").exits(0).out();
    assert!(!ran.contains("block"), "{ran}");
}

/// The kernel may write the page back between the two writes: then it notes a time after all.
#[test]
fn what_is_written_through_a_mapping_is_not_seen() {
    assert!(super::supervisor::python(), "python3 is needed");
    let tried = || {
        let project = red("grep -q ok src/a", "ok\n", "bad\n");
        let ran = shown(&project, "mapped");
        assert_eq!(project.read("src/a"), "bad\n");
        ran.exit == Some(0)
    };
    assert!((0..5).any(|_| tried()));
}
