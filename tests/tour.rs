//! `vplan tour` runs what `vplan help tour` prints, and leaves nothing.

use crate::readme::scrub;
use crate::support::process::{Bounded as _, PATIENCE};
use crate::support::{Project, eventually, tree};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    entries
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// A project whose temporary folder is `../tmp`.
fn project() -> Project {
    let project = Project::bare()
        .env("GIT_DIR", "/nonexistent")
        .env("CI", "true");
    let tmp = project.parent().join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    project.env("TMPDIR", tmp)
}

/// Starts a tour and waits until it has printed a command.
fn under_way(project: &Project) -> Child {
    let mut command = project.vplan(&["tour"]).command();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("$ vplan init")));
    // What else it prints is read and thrown away.
    std::thread::spawn(move || lines.count());
    child
}

/// Whether a process works in a folder.
fn is_used(folder: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok())
        .any(|cwd| cwd.starts_with(folder))
}

#[test]
fn the_tour_runs_what_its_page_prints_and_leaves_nothing() {
    if !tree::have(&["git", "make"]) {
        return;
    }
    let project = project();
    let tmp = project.parent().join("tmp");
    // What a killed tour leaves, the next one takes away.
    let mut killed = under_way(&project);
    killed.kill().unwrap();
    killed.ended();
    assert_eq!(names(&tmp).len(), 1);
    eventually("no process of a killed tour is left", || !is_used(&tmp));

    let before = names(project.parent());
    let ran = project.run(&["tour"]);
    ran.exits(0).says("in a folder that is gone");
    assert_eq!(ran.err(), "");
    assert_eq!(names(&tmp), [""; 0]);
    assert_eq!(names(&project.root()), [""; 0]);
    assert_eq!(names(&project.path("../home")), [""; 0]);
    assert_eq!(names(project.parent()), before);

    let page = project.run(&["help", "tour"]).exits(0).out();
    let page: Vec<&str> = page.lines().filter(|l| !l.starts_with("```")).collect();
    let tmp = regex::escape(&tmp.canonicalize().unwrap().display().to_string());
    let home = regex::Regex::new(&format!(r"{tmp}/vplan-tour-\w+/repos")).unwrap();
    // On a terminal, and in the log of a pipeline, a workflow command is text.
    let told = ran.out().replace("| ::", "::");
    let told = home.replace_all(&told, "/home/you/repos").into_owned();
    let commands = |text: &str| {
        let typed = text
            .lines()
            .filter(|l| l.starts_with("$ ") || l.starts_with("> "));
        typed.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(commands(&told), commands(&page.join("\n")));
    assert!(commands(&told).len() > 60);
    let (told, page) = (scrub(&told), scrub(&(page.join("\n") + "\n")));
    assert!(told.lines().count() > page.lines().count());
    for (told, page) in told.lines().zip(page.lines()) {
        assert_eq!(told, page);
    }
}

#[test]
fn an_interrupted_tour_leaves_nothing() {
    if !tree::have(&["git", "make"]) {
        return;
    }
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 143)] {
        let project = project();
        let tmp = project.parent().join("tmp");
        let mut child = under_way(&project);
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(
            child.ended().code(),
            Some(code),
            "{signal:?} within {PATIENCE:?}"
        );
        assert_eq!(names(&tmp), [""; 0], "{signal:?}");
        assert!(!is_used(&tmp));
    }
}

#[test]
fn a_tour_that_cannot_be_run_says_why() {
    let project = project();
    let bin = project.parent().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let link = |name: &str| {
        let paths = std::env::var_os("PATH").unwrap();
        let found = std::env::split_paths(&paths).map(|dir| dir.join(name));
        let found = found.into_iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(found, bin.join(name)).unwrap();
    };
    let tour = || project.vplan(&["tour"]).env("PATH", &bin).run();
    tour().exits(5).warns("the tour needs `sh`");
    link("sh");
    tour()
        .exits(5)
        .warns("the tour needs `git`")
        .warns("vplan help tour");
    if tree::have(&["git", "make"]) {
        link("git");
        tour().exits(5).warns("the tour needs `make`");
        // Without the other programs that a system has, a command ends otherwise, and that is said.
        link("make");
        let ran = tour();
        ran.exits(5).warns("vplan::tour::command");
    }
    let nowhere = project
        .vplan(&["tour"])
        .env("TMPDIR", "/no/such/folder")
        .run();
    nowhere.exits(5).warns("TMPDIR");
    assert_eq!(names(&project.parent().join("tmp")), [""; 0]);
    project.run(&["tour", "--nonsense"]).exits(2);
}
