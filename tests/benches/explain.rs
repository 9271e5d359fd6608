//! How long does a person wait for `vplan explain`, with ten checks? As whole processes: with the
//! changed files named, beside `git --version`; with git as the source of changes, beside the two
//! calls of git, side by side, that say the same.
//!
//! `cargo bench --bench explain [-- PROGRAM]`: what is measured is a copy of the program, as it is
//! where it has been installed (what a linker has just written lies in small pieces in the page
//! cache, and starts 0.3 ms later), or a copy of `PROGRAM`, say of the one that is built statically
//! as README says.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop"
)]

mod paired;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ROUNDS: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["--floor", root] => floor(Path::new(root)),
        _ => measure(&arguments),
    }
}

fn measure(arguments: &[&str]) {
    // `cargo test --benches` only wants to know whether it runs.
    let rounds = if arguments.contains(&"--bench") {
        ROUNDS
    } else {
        1
    };
    let program = arguments
        .iter()
        .find(|a| !a.starts_with("--"))
        .unwrap_or(&env!("CARGO_BIN_EXE_vplan"));
    let dir = tempfile::tempdir().unwrap();
    let installed = dir.path().join("vplan");
    std::fs::copy(program, &installed).unwrap();
    let root = repository(dir.path());
    let own = std::env::current_exe().unwrap();
    let command = |program: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(&root).args(args);
        command
    };
    for (what, args) in [
        (
            "explain, ten checks",
            &["explain", "--changed", "src/part1/lib.rs", "docs/map.md"][..],
        ),
        (
            "plan in JSON",
            &[
                "plan",
                "--format",
                "json",
                "--changed",
                "src/part1/lib.rs",
                "docs/map.md",
            ],
        ),
    ] {
        let git = || command(Path::new("git"), &["--version"]);
        let compared = paired::compare(rounds, || command(&installed, args), git);
        paired::report(what, &compared, "git --version", 1.3);
    }
    let calls = || command(&own, &["--floor", "."]);
    let compared = paired::compare(rounds, || command(&installed, &["explain"]), calls);
    paired::report(
        "explain, 1,000 files, asking git",
        &compared,
        "two calls of git",
        1.2,
    );
}

/// A repository of a thousand files, two of which are not as they were.
fn repository(dir: &Path) -> PathBuf {
    let root = dir.join("repository");
    let mut contract = String::from("vplan 1\ncontract \"ten\"\n");
    for i in 0..10 {
        let _ = write!(
            contract,
            "\nwhenChangedAny \"src/part{i}/**\" \"**/*.rs\" {{\n  check c{i}: cargo test -p part{i}\n}}\n"
        );
    }
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("contracts/verify.vplan", &contract);
    (0..999).for_each(|i| write(&format!("src/part{}/file{i}.rs", i % 20), "\n"));
    paired::commit(&root);
    write("src/part1/file1.rs", "changed\n");
    write("docs/map.md", "new\n");
    root
}

/// The floor: what git must be asked, side by side, and nothing made of it. (vplan compares the
/// files of the work tree with the index itself, because git would run programs that the repository
/// names; it asks only for what is staged.)
fn floor(root: &Path) {
    let ask = |args: &[&str]| -> Child {
        Command::new("git")
            .current_dir(root)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let changed = ask(&["diff-index", "--raw", "-z", "--no-renames", "HEAD", "--"]);
    let untracked = ask(&["ls-files", "-z", "--others", "--exclude-standard"]);
    for child in [changed, untracked] {
        assert!(child.wait_with_output().unwrap().status.success());
    }
}
