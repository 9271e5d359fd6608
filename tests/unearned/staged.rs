//! `--staged` verifies what would be committed: not the work tree, where that is another.

use super::{caveat, codes};
use crate::support::Project;
use serde_json::Value;
use std::process::Command;

const CONTRACT: &str = "vplan 1\ncheck good {\n  shell ! grep -rq bad src\n}\n";

/// Whether this system gives a view: an overlay in a mount namespace, in a user namespace for a user
/// without rights. Otherwise the test is skipped, aloud.
fn has_views(user: &[&str]) -> bool {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["lower", "upper", "work"] {
        std::fs::create_dir(dir.path().join(folder)).unwrap();
    }
    let given = Command::new("chmod")
        .args(["-R", "a+rwx"])
        .arg(dir.path())
        .status();
    assert!(given.unwrap().success());
    let mut words = user.to_vec();
    words.extend(["unshare", "--mount"]);
    if !user.is_empty() || !rustix::process::geteuid().is_root() {
        words.extend(["--user", "--map-root-user"]);
    }
    words.extend(["mount", "-t", "overlay", "overlay", "-o"]);
    words.push("lowerdir=lower,upperdir=upper,workdir=work,userxattr");
    words.push("lower");
    let mut overlay = Command::new(words[0]);
    overlay.args(&words[1..]).current_dir(dir.path());
    let possible = overlay.output().is_ok_and(|o| o.status.success());
    if !possible {
        eprintln!("SKIPPED: a view of what is staged: no overlays on this machine");
    }
    possible
}

/// A project whose one check fails when a file below `src` is bad. Everything is committed.
fn project() -> Project {
    of(CONTRACT)
}

fn of(contract: &str) -> Project {
    Project::git_with(&[
        ("contracts/verify.vplan", contract),
        ("src/a", "good\n"),
        ("src/b", "good\n"),
        ("docs/a", "1\n"),
        (".gitignore", "/out\n"),
    ])
}

fn staged(project: &Project, exit: i32) -> Value {
    project
        .run(&["run", "--staged", "--format", "json"])
        .exits(exit)
        .json()
}

/// Whether a run was in a view of its own.
fn is_view(report: &Value) -> bool {
    codes(report).contains(&"index_view")
}

/// The state of the work tree and the index, as git sees them.
fn state(project: &Project) -> String {
    project.git(&["status", "--porcelain=v2", "--untracked-files=all"])
        + &project.git(&["ls-files", "--stage"])
}

#[test]
fn what_is_broken_and_staged_is_not_mended_by_the_work_tree() {
    if !has_views(&[]) {
        return;
    }
    let project = project();
    project.write("src/a", "bad\n");
    project.git(&["add", "src/a"]);
    project.write("src/a", "good, not staged\n");
    let before = state(&project);
    let report = staged(&project, 40);
    assert!(is_view(&report), "{report:#}");
    caveat(&report, "index_view");
    assert_eq!(project.read("src/a"), "good, not staged\n");
    assert_eq!(state(&project), before);
    // Neighbours: a mode, a link, a deletion that is not staged.
    project.git(&["reset", "-q", "--hard"]);
    project.git(&["rm", "-q", "src/b"]);
    project.write("src/b", "bad, and no part of the commit\n");
    assert!(is_view(&staged(&project, 0)));
    assert_eq!(project.read("src/b"), "bad, and no part of the commit\n");
}

#[test]
fn what_is_broken_and_not_staged_does_not_matter() {
    if !has_views(&[]) {
        return;
    }
    let project = project();
    project.write("src/a", "better\n");
    project.git(&["add", "src/a"]);
    project.write("src/a", "bad\n").write("src/b", "bad\n");
    let report = staged(&project, 0);
    assert!(is_view(&report));
    assert_eq!(project.read("src/b"), "bad\n");
    // The record is the repository's own.
    project.run(&["runs"]).exits(0).says("passed");
}

#[test]
fn where_both_are_the_same_nothing_is_copied() {
    let project = project();
    project.write("src/a", "better\n");
    project.git(&["add", "src/a"]);
    assert!(!is_view(&staged(&project, 0)));
    // A file that no check is about. (One without a condition is about every file.)
    let contract = "vplan 1\nwhenChangedAny \"src/**\" {\n  check good: true\n}\n";
    let project = of(contract);
    project.write("src/a", "better\n");
    project.git(&["add", "src/a"]);
    project.write("notes", "1\n");
    assert!(!is_view(&staged(&project, 0)));
}

#[test]
fn a_file_that_is_not_staged_does_not_help() {
    if !has_views(&[]) {
        return;
    }
    for (setting, exit) in [
        (
            "whenChangedAny \"src/**\" {\n  check good: test -e src/new\n}\n",
            40,
        ),
        (
            "check good {\n  run test -e src/new\n  inputs \"src/**\"\n}\n",
            40,
        ),
        (
            "check good {\n  run test -e src/new\n  requires \"src/new\"\n}\n",
            40,
        ),
        (
            "whenExists \"src/new\" {\n  check good: false\n}\ncheck other: test ! -e src/new\n",
            0,
        ),
    ] {
        let project = of(&format!("vplan 1\n{setting}"));
        project.write("src/a", "better\n");
        project.git(&["add", "src/a"]);
        project.write("src/new", "1\n");
        assert!(is_view(&staged(&project, exit)), "{setting}");
        assert!(project.exists("src/new"));
        // `--intent-to-add` stages nothing of a file.
        project.git(&["add", "--intent-to-add", "src/new"]);
        assert!(is_view(&staged(&project, exit)), "{setting}");
    }
}

#[test]
fn a_file_outside_a_sparse_checkout_is_staged_like_any_other() {
    if !has_views(&[]) {
        return;
    }
    let project = project();
    project.write("src/a", "bad\n");
    project.git(&["add", "src/a"]);
    project.git(&["config", "core.sparseCheckout", "true"]);
    project.git(&["update-index", "--skip-worktree", "src/a", "src/b"]);
    project.remove("src/a").remove("src/b");
    staged(&project, 40);
    assert!(!project.exists("src/a"));
}

#[test]
fn what_vplan_keeps_inside_the_repository_stays() {
    if !has_views(&[]) {
        return;
    }
    let project = project();
    project.write("src/a", "bad\n");
    project.git(&["add", "src/a"]);
    project.write("src/a", "good\n");
    project.write("own/state/mine", "1\n");
    for _ in 0..2 {
        project
            .run(&["run", "--staged", "--state-dir", "own/state"])
            .exits(40);
        assert_eq!(project.read("own/state/mine"), "1\n");
    }
}

#[test]
fn what_steps_write_is_thrown_away() {
    if !has_views(&[]) {
        return;
    }
    let project = of(
        "vplan 1\ncheck build {\n  shell mkdir -p out; cat src/a > out/a; echo x >> out/kept\n}\n",
    );
    project.write("out/kept", "1\n");
    project.write("src/a", "staged\n");
    project.git(&["add", "src/a"]);
    project.write("src/a", "not staged\n");
    assert!(is_view(&staged(&project, 0)));
    assert!(!project.exists("out/a"));
    assert_eq!(project.read("out/kept"), "1\n");
    // What the caller asks for is written for the caller.
    project
        .run(&[
            "run",
            "--staged",
            "--junit",
            "out/j.xml",
            "--events",
            "out/e",
        ])
        .exits(0);
    assert!(project.read("out/j.xml").contains("testsuite"));
    assert!(project.read("out/e").contains("build"));
}

#[test]
fn a_report_is_read_where_it_was_written() {
    if !has_views(&[]) {
        return;
    }
    const REPORT: &str = "<testsuite tests=\"1\"><testcase name=\"a\"></testcase></testsuite>\n";
    let project = of(
        "vplan 1\ncheck tests {\n  test sh -c \"mkdir -p out; cp src/a out/r.xml\"\n  report junit \"out/r.xml\"\n}\n",
    );
    project.write(
        "src/a",
        REPORT.replace("</testcase>", "<failure/></testcase>"),
    );
    project.git(&["add", "src/a"]);
    project.write("src/a", REPORT);
    project.write("out/r.xml", REPORT);
    staged(&project, 42);
    assert_eq!(project.read("out/r.xml"), REPORT);
    project.git(&["add", "src/a"]);
    staged(&project, 0);
}

#[test]
fn a_check_that_writes_has_not_verified_the_index() {
    if !has_views(&[]) {
        return;
    }
    let project =
        of("vplan 1\ncheck fmt {\n  shell sed -i s/bad/good/ src/a\n  writes \"src/**\"\n}\n");
    project.write("src/a", "bad\n");
    project.git(&["add", "src/a"]);
    let report = staged(&project, 44);
    assert!(caveat(&report, "index_differs")["files"][0] == "src/a");
    project.git(&["reset", "-q", "--hard"]);
    project.write("src/a", "bad\n");
    project.git(&["add", "src/a"]);
    project.write("src/a", "other\n");
    let report = staged(&project, 44);
    assert!(is_view(&report) && codes(&report).contains(&"index_differs"));
    assert_eq!(project.read("src/a"), "other\n");
}

#[test]
fn conflicts_and_submodules_are_said() {
    let project = project();
    project.git(&["checkout", "-q", "-b", "side"]);
    project.write("src/a", "one\n").commit("one");
    project.git(&["checkout", "-q", "main"]);
    project.write("src/a", "two\n").commit("two");
    let merged = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "merge", "side"])
        .current_dir(project.root())
        .output()
        .unwrap();
    assert!(!merged.status.success());
    project
        .run(&["run", "--staged"])
        .exits(2)
        .warns("the index has conflicts in `src/a`");

    if !has_views(&[]) {
        return;
    }
    let inner = Project::git_with(&[("file", "1\n")]);
    let outer = self::project();
    let path = inner.root();
    outer.git(&["submodule", "--quiet", "add", path.to_str().unwrap(), "sub"]);
    outer.commit("submodule");
    assert!(!is_view(&staged(&outer, 0)));
    outer.write("sub/file", "other\n");
    outer
        .run(&["run", "--staged"])
        .exits(5)
        .warns("vplan::staged::unwritable")
        .warns("`sub`");
}

#[test]
fn a_loop_does_not_take_the_work_tree_for_the_index() {
    let project = project();
    project.write("src/a", "bad\n");
    project.git(&["add", "src/a"]);
    project.write("src/a", "good\n");
    project
        .run(&["loop", "--staged", "--fix", "true"])
        .exits(5)
        .warns("vplan::staged::differs");
}

/// A hook of git that verifies what is staged, started by another program if one is given.
pub(super) fn hooked(project: &Project, launcher: &[&str]) {
    let command = project
        .vplan(&["run", "--staged", "--format", "json"])
        .under(launcher)
        .command();
    let words: Vec<String> = command
        .get_args()
        .map(|w| format!("'{}'", w.to_str().unwrap()))
        .collect();
    let variables: Vec<String> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)))
        .map(|(name, value)| format!("export {name}='{value}'\n"))
        .collect();
    let program = command.get_program().to_str().unwrap().to_owned();
    project.script(
        ".git/hooks/pre-commit",
        &format!(
            "#!/bin/sh\n{}exec '{program}' {} > \"$(git rev-parse --absolute-git-dir)/report.json\"\n",
            variables.concat(),
            words.join(" ")
        ),
    );
}

/// Commits with the hook; whether git let it.
pub(super) fn commits(project: &Project, dir: &str, args: &[&str]) -> bool {
    let mut command = Command::new("git");
    command
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-qm",
            "m",
        ])
        .args(args)
        .current_dir(project.path(dir))
        .output()
        .unwrap()
        .status
        .success()
}

#[test]
fn git_commits_what_was_verified() {
    if !has_views(&[]) {
        return;
    }
    let project = project();
    hooked(&project, &[]);
    // `commit -a`: the index is another file, in which both are staged.
    project.write("src/a", "bad\n");
    assert!(!commits(&project, "", &["-a"]));
    assert!(!commits(&project, "src", &["-a"]));
    // `commit FILE`: only that file of what is staged.
    project.write("src/b", "fine\n");
    project.git(&["add", "src/a"]);
    assert!(
        commits(&project, "", &["src/b"]),
        "the bad one is no part of it"
    );
    assert!(!commits(&project, "", &["src/a"]));
    assert!(!commits(&project, "", &[]));
    // `--amend`, with nothing staged.
    project.git(&["reset", "-q", "--", "src/a"]);
    assert!(
        commits(&project, "", &["--amend"]),
        "bad in the work tree only"
    );
    assert_eq!(project.read("src/a"), "bad\n");
    // `add -p`: one of two changes of a file.
    project.git(&["checkout", "-q", "--", "src/a"]);
    project
        .write("src/a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
        .git(&["add", "src/a"]);
    project.git(&["commit", "-q", "--no-verify", "-m", "lines"]);
    project.write("src/a", "one\n2\n3\n4\n5\n6\n7\n8\nbad\n");
    project.git_stdin(&["add", "-p", "src/a"], b"y\nn\n");
    assert!(commits(&project, "", &[]));
    assert!(!commits(&project, "", &["-a"]));
    // A rename.
    project.git(&["checkout", "-q", "--", "src/a"]);
    project.git(&["mv", "src/a", "src/c"]);
    project.write("src/c", "bad\n");
    assert!(commits(&project, "", &[]));
}

#[test]
fn the_first_commit_and_linked_work_trees() {
    if !has_views(&[]) {
        return;
    }
    let project = Project::git_empty();
    project
        .write("contracts/verify.vplan", CONTRACT)
        .write("src/a", "bad\n");
    hooked(&project, &[]);
    project.git(&["add", "."]);
    project.write("src/a", "good\n");
    assert!(!commits(&project, "", &[]));
    project.git(&["add", "."]);
    project.write("src/a", "bad\n");
    assert!(commits(&project, "", &[]));
    project.git(&["worktree", "add", "-q", "../linked"]);
    project.write("../linked/src/a", "bad\n");
    project.git_in("../linked", &["add", "."]);
    project.write("../linked/src/a", "good\n");
    assert!(!commits(&project, "../linked", &[]));
    project.write("../linked/src/a", "better\n");
    project.git_in("../linked", &["add", "."]);
    assert!(commits(&project, "../linked", &[]));
}

#[test]
fn an_index_elsewhere_does_not_count() {
    let project = project();
    project.write("src/a", "bad\n");
    let elsewhere = project.parent().join("index");
    std::fs::copy(project.path(".git/index"), &elsewhere).unwrap();
    project.git(&["add", "src/a"]);
    // The repository's own index has the bad file.
    project
        .vplan(&["run", "--staged"])
        .env("GIT_INDEX_FILE", &elsewhere)
        .run()
        .exits(40);
    project
        .vplan(&["run", "--staged"])
        .env("GIT_INDEX_FILE", "/nowhere")
        .run()
        .exits(40);
}

#[test]
fn a_view_cannot_be_claimed() {
    if !has_views(&[]) {
        return;
    }
    let project = project();
    project.write("src/a", "bad\n");
    project.git(&["add", "src/a"]);
    project.write("src/a", "good\n");
    let victim = project.parent().join("victim");
    std::fs::create_dir(&victim).unwrap();
    project
        .vplan(&["run", "--staged"])
        .env("VPLAN_VIEW", format!("3:{}", victim.display()))
        .run()
        .exits(40);
    assert!(victim.exists());
    // What a killed process left is removed by the next one.
    let views = project.parent().join("home/state/vplan/views");
    let is_left = || std::fs::read_dir(&views).map_or(0, Iterator::count);
    assert_eq!(is_left(), 0);
}

#[test]
fn as_a_user_without_rights() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: as another user: it needs root");
        return;
    }
    let project = project();
    project.write("src/a", "bad\n");
    project.git(&["add", "src/a"]);
    project.write("src/a", "good\n");
    let given = Command::new("chown")
        .args(["-R", "64123:64123"])
        .arg(project.parent())
        .status()
        .unwrap();
    assert!(given.success());
    let user = [
        "setpriv",
        "--reuid=64123",
        "--regid=64123",
        "--clear-groups",
    ];
    if !has_views(&user) {
        return;
    }
    let run = |args: &[&str]| project.vplan(args).under(&user).run();
    run(&["run", "--staged"])
        .exits(40)
        .says("apart from the work tree");
    assert_eq!(project.read("src/a"), "good\n");
    // Where the system refuses, what is staged is checked out.
    let mut refused = user.to_vec();
    refused.extend(["unshare", "--user", "--map-root-user", "sh", "-c"]);
    refused.extend([
        "echo 0 > /proc/sys/user/max_mnt_namespaces; exec \"$@\"",
        "sh",
    ]);
    let ran = project.vplan(&["run", "--staged"]).under(&refused).run();
    ran.exits(40).says("in a checkout");
}
