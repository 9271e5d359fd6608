//! What if a file that is read is a pipe, `/proc` is not there, or the stack is small?

use crate::support::Project;
use crate::support::process::Bounded as _;
use std::process::{Command, Stdio};
use std::time::Duration;

const CONTRACT: &str = "vplan 1\ncheck a: touch ../ran\n";

fn pipe(project: &Project, path: &str) {
    let _ = std::fs::remove_file(project.path(path));
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let (here, kind) = (rustix::fs::CWD, rustix::fs::FileType::Fifo);
    rustix::fs::mknodat(here, project.path(path), kind, mode, 0).unwrap();
}

/// Git would wait for a writer, for as long as vplan lets it.
#[test]
fn a_pipe_where_git_reads_a_file() {
    for (path, exit) in [
        (".gitignore", 2),
        ("d/.gitignore", 2),
        ("new/.gitignore", 2),
        (".git/info/exclude", 2),
        (".git/config", 2),
        (".git/HEAD", 2),
        (".git/index", 2),
        (".git/packed-refs", 2),
        (".vplan/.gitignore", 0),
        ("other/.gitignore", 0),
        ("d/pipe", 0),
        (".gitattributes", 0),
    ] {
        let files = [
            ("contracts/verify.vplan", CONTRACT),
            ("d/t", "1\n"),
            (".gitignore", "/other\n"),
        ];
        let project = Project::git_with(&files);
        project.run(&["run"]).exits(0);
        project.remove("../ran");
        project.write("d/t", "2\n").write("d/new", "1\n");
        project.write("new/file", "1\n").write("other/file", "1\n");
        pipe(&project, path);
        let ran = project.run(&["run"]);
        ran.exits(exit);
        assert!(ran.took < Duration::from_secs(20), "{path}: {:?}", ran.took);
        assert_eq!(project.exists("../ran"), exit == 0, "{path}: {}", ran.err());
        if exit != 0 {
            ran.warns(path).warns("no regular file");
        }
    }
}

/// Everything is done with the smallest stack that a program is started with.
#[test]
fn a_small_stack() {
    let project = Project::contract(CONTRACT);
    for args in [
        ["run", "--all"].as_slice(),
        &["plan", "--all"],
        &["check"],
        &["--version"],
    ] {
        let small = ["prlimit", "--stack=102400"];
        project.vplan(args).under(&small).run().exits(0);
    }
    assert!(project.exists("../ran"));
}

/// Without `/proc` nothing is started, and the reason is said.
#[test]
fn no_proc() {
    let possible = Command::new("unshare")
        .args(["-m", "umount", "-l", "/proc"])
        .stderr(Stdio::null())
        .status();
    if !possible.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no mount namespace for this user on this machine");
        return;
    }
    let project = Project::contract(CONTRACT);
    let plain = project.vplan(&["run", "--all"]).command();
    let mut inside = Command::new("unshare");
    inside
        .args(["-m", "sh", "-c", "umount -l /proc; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(project.root())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = inside.spawn().unwrap().finished();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("`/proc` is not mounted"), "{said}");
    assert!(!project.exists("../ran"));
}
