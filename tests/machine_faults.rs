//! A fault of the machine ends with 5, never as a fault of the change; what a caller passes on does no harm.

use crate::support::Project;

const CONTRACT: &str = "vplan 1\ncheck a: true\ncheck b: grep -q b src/a\n";

fn project() -> Project {
    let project = Project::git_with(&[("contracts/verify.vplan", CONTRACT), ("src/a", "a\n")]);
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.write("src/a", "b\n");
    project
}

/// A folder with a `git` of this script, before the others.
fn with_git(project: Project, script: &str) -> Project {
    let bin = project.parent().join("broken");
    std::fs::create_dir(&bin).unwrap();
    let git = bin.join("git");
    std::fs::write(&git, script).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    project.env("PATH", path)
}

#[test]
fn git_is_missing() {
    let project = project();
    let bin = project.parent().join("few");
    std::fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    for program in ["sh", "true", "grep"] {
        let found = std::env::split_paths(&path).map(|dir| dir.join(program));
        let found = found.into_iter().find(|file| file.exists()).unwrap();
        std::os::unix::fs::symlink(found, bin.join(program)).unwrap();
    }
    let project = project.env("PATH", bin);
    for args in [&["run"][..], &["explain"]] {
        project.run(args).exits(5).warns("`git` was not found");
    }
    project.run(&["run", "--changed", "src/a"]).exits(0);
}

#[test]
fn git_is_killed_or_cannot_be_started() {
    let killed = with_git(project(), "#!/bin/sh\nkill -9 $$\n");
    for args in [&["run"][..], &["explain"]] {
        killed.run(args).exits(5).warns("was ended by a signal");
    }
    with_git(project(), "#!/nowhere/sh\n")
        .run(&["run"])
        .exits(5);
    for faulty in [
        "echo 'fatal: cannot open x: Too many open files' >&2\nexit 128",
        "echo 'error: unable to write file x: No space left on device' >&2\nexit 128",
        "echo 'fatal: Out of memory? mmap failed: Cannot allocate memory' >&2\nexit 128",
        "echo 'git: error while loading shared libraries: libz.so.1' >&2\nexit 127",
        "exit 126",
    ] {
        with_git(project(), &format!("#!/bin/sh\n{faulty}\n"))
            .run(&["run"])
            .exits(5);
    }
    // A git that answers with an error is not the machine's fault.
    with_git(project(), "#!/bin/sh\necho 'fatal: no' >&2\nexit 128\n")
        .run(&["run"])
        .exits(2);
}

#[test]
fn a_caller_that_ignores_the_end_of_children() {
    let project = project();
    for ignored in ["trap '' CHLD", "trap '' CHLD INT TERM HUP"] {
        let script = format!("{ignored}; exec \"$@\"");
        let run = project.vplan(&["run"]).under(&["sh", "-c", &script, "sh"]);
        run.run().exits(0);
    }
}

#[test]
fn few_descriptors() {
    let project = project();
    for few in (4..10).chain(18..32) {
        let script = format!("ulimit -n {few}; exec \"$@\"");
        let run = project.vplan(&["run"]).under(&["sh", "-c", &script, "sh"]);
        let ran = run.run();
        assert!(
            matches!(ran.exit, Some(0 | 5)),
            "{few}: {:?} {}",
            ran.exit,
            ran.err()
        );
    }
}

/// What could not be started because of the machine is no audit that did not see everything.
#[test]
fn few_descriptors_for_an_audit() {
    let project = project();
    if project.run(&["audit"]).exit != Some(0) {
        return;
    }
    for few in 16..32 {
        let script = format!("ulimit -n {few}; exec \"$@\"");
        let audit = project.vplan(&["audit"]);
        let ran = audit.under(&["sh", "-c", &script, "sh"]).run();
        let said = (ran.out(), ran.err());
        assert!(matches!(ran.exit, Some(0 | 5)), "{few}: {ran:?} {said:?}");
    }
}

/// The line end is named, by the system's refusal as by what a shell prints.
#[test]
fn a_script_with_carriage_returns() {
    let named = "(CRLF)";
    for (first, command) in [
        ("#!/bin/sh", "./a"),
        ("#!/usr/bin/env sh", "./a"),
        ("#!/bin/sh", "sh -c ./a"),
        ("#!/bin/sh", "bash -c 'true && ./a'"),
        ("#!/bin/sh", "timeout 9 ./a"),
        ("#!/bin/sh", "sh a"),
        ("#!/bin/sh", "bash a"),
    ] {
        let contract = format!("vplan 1\ncheck c {{\n  run {command}\n}}\n");
        let files = [("contracts/verify.vplan", &*contract), ("src/a", "a\n")];
        let project = Project::git_with(&files);
        project.script("a", &format!("{first}\r\ntrue\r\nexit\r\n"));
        project.commit("script");
        project.write("src/a", "b\n");
        project
            .run(&["run", "--base", "HEAD"])
            .exits(40)
            .says(named);
        project.run(&["feedback"]).says(named).never_says("install");
    }
    let project = Project::git_with(&[
        ("contracts/verify.vplan", "vplan 1\ncheck c: ./a\n"),
        ("src/a", "a\n"),
    ]);
    project.script("a", "#!/nowhere/sh\nexit 0\n");
    project.commit("script");
    project.write("src/a", "b\n");
    project
        .run(&["run", "--base", "HEAD"])
        .exits(5)
        .says("does not exist")
        .never_says("CRLF");
}
