//! `--staged` where the system gives no overlay: what is staged is verified in a checkout, with the
//! folders of `linked`.

use super::staged::{commits, hooked};
use super::{caveat, codes};
use crate::support::{Project, Run};
use serde_json::Value;
use std::process::Command;

const CONTRACT: &str = "vplan 1\ncheck good {\n  shell ! grep -rq bad src\n}\n";

/// A program that runs another one where the system refuses new mounts, in the words of a shell.
const REFUSING: [&str; 6] = [
    "unshare",
    "--user",
    "--map-root-user",
    "sh",
    "-c",
    "echo 0 > /proc/sys/user/max_mnt_namespaces; exec \"$0\" \"$@\"",
];

/// Whether the system can refuse overlays here, or refuses them anyway. Otherwise the test is
/// skipped, aloud.
fn refuses() -> bool {
    let works = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command.output().is_ok_and(|o| o.status.success())
    };
    let here = works(&["unshare", "--user", "--map-root-user", "true"]);
    let refused = works(&[&REFUSING[..], &["unshare", "--mount", "true"]].concat());
    let is_ready = here && !refused;
    if !is_ready {
        eprintln!("SKIPPED: a checkout of what is staged: no user namespaces on this machine");
    }
    is_ready
}

fn without_overlays<'p>(project: &'p Project, words: &[&str]) -> Run<'p> {
    project.vplan(words).under(&REFUSING)
}

/// Everything is committed.
fn of(contract: &str) -> Project {
    Project::git_with(&[
        ("contracts/verify.vplan", contract),
        ("src/a", "good\n"),
        ("src/b", "good\n"),
        (".gitignore", "/out\nnode_modules/\n"),
    ])
}

fn stage(project: &Project, path: &str, text: &str) {
    project.write(path, text);
    project.git(&["add", path]);
}

fn staged(project: &Project, exit: i32) -> Value {
    without_overlays(project, &["run", "--staged", "--format", "json"])
        .run()
        .exits(exit)
        .json()
}

/// The checkouts that are left in the state.
fn left(project: &Project) -> usize {
    let views = project.parent().join("home/state/vplan/views");
    std::fs::read_dir(views).map_or(0, Iterator::count)
}

#[test]
fn what_is_broken_and_staged_fails_and_what_is_mended_and_staged_passes() {
    if !refuses() {
        return;
    }
    let project = of(CONTRACT);
    stage(&project, "src/a", "bad\n");
    project.write("src/a", "good\n");
    let before = project.git(&["status", "--porcelain=v2"]);
    let report = staged(&project, 40);
    assert!(codes(&report).contains(&"index_view"));
    stage(&project, "src/a", "good again\n");
    project.write("src/a", "bad\n");
    project.write("src/new", "bad\n");
    let report = staged(&project, 0);
    assert!(codes(&report).contains(&"index_view"));
    assert_eq!(project.read("src/a"), "bad\n");
    assert_eq!(project.read("src/new"), "bad\n");
    assert!(before.contains("src/a") && left(&project) == 0);
    // Its record is the repository's, and vplan knows that it wrote it.
    let runs = project.run(&["runs", "--format", "json"]).exits(0).json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2, "{runs}");
    // The work tree is another one than the verified one.
    let verified = project.run(&["verify"]);
    verified.exits(4).says("those that vplan wrote");
}

#[test]
fn steps_see_links_that_stay_links_and_modes_that_stay_modes() {
    if !refuses() {
        return;
    }
    let project = of(
        "vplan 1\ncheck good {\n  shell test -L lnk && test -x tool && test \"$(cat lnk)\" = new && git diff --quiet && test -z \"$VPLAN_VIEW\"\n}\n",
    );
    project.symlink("lnk", "src/a");
    project.write("tool", "#!/bin/sh\n");
    project.git(&["add", "-A"]);
    project.git(&["update-index", "--chmod=+x", "tool"]);
    stage(&project, "src/a", "new\n");
    project.write("src/a", "other\n");
    staged(&project, 0);
}

#[test]
fn ignored_folders_are_there_as_far_as_the_contract_links_them() {
    if !refuses() {
        return;
    }
    let project = of(
        "vplan 1\nlinked \"node_modules\" \"gone\"\ncheck good {\n  shell test -f node_modules/x/index && test ! -e out\n}\n",
    );
    project.write("node_modules/x/index", "1\n");
    project.write("out/old", "1\n");
    stage(&project, "src/a", "staged\n");
    project.write("src/a", "other\n");
    let report = staged(&project, 0);
    assert!(!codes(&report).contains(&"linked_changed"), "{report}");
}

#[test]
fn a_write_through_a_link_is_named_and_no_pass_of_the_run_is_kept() {
    if !refuses() {
        return;
    }
    let project = of(
        "vplan 1\nlinked \"node_modules\"\ncheck good {\n  run sh tool\n  inputs \"src/**\" \"tool\"\n}\n",
    );
    project.write("tool", "echo 2 >> node_modules/x/index\n");
    project.git(&["add", "tool"]);
    project.write("node_modules/x/index", "1\n");
    project.write("node_modules/x/other", "1\n");
    stage(&project, "src/a", "staged\n");
    project.write("src/b", "other\n");
    let report = staged(&project, 0);
    let said = caveat(&report, "linked_changed");
    assert_eq!(said["files"], serde_json::json!(["node_modules/x/index"]));
    // In place, with the same inputs, it runs; of what passes there it is known.
    project.write("src/b", "good\n");
    let status = || {
        let ran = project.run(&["run", "--staged", "--format", "json"]);
        ran.exits(0).json()["steps"][0]["status"].clone()
    };
    assert_eq!((status(), status()), ("passed".into(), "cached".into()));
}

#[test]
fn a_link_to_a_package_of_the_repository_is_the_checkouts() {
    if !refuses() {
        return;
    }
    let project = of(CONTRACT);
    let looks = "#!/bin/sh\n! grep -q b[a]d \"$(dirname \"$(realpath \"$0\")\")/a\"\n";
    project.script("src/tool", looks);
    project.git(&["add", "src"]);
    project.mkdir("node_modules/@own");
    project.mkdir("node_modules/.bin");
    project.symlink("node_modules/top", "../src");
    project.symlink("node_modules/@own/deep", "../../src");
    project.symlink("node_modules/whole", project.path("src").to_str().unwrap());
    project.symlink("node_modules/.bin/tool", "../@own/deep/tool");
    let commands = [
        "! grep -rq bad node_modules/top/",
        "! grep -rq bad node_modules/@own/deep/",
        "! grep -rq bad node_modules/whole/",
        "node_modules/.bin/tool",
    ];
    for command in commands {
        let head = "vplan 1\nlinked \"node_modules\"\n";
        let contract = format!("{head}check good {{\n  shell {command}\n}}\n");
        stage(&project, "contracts/verify.vplan", &contract);
        for (index, tree, exit) in [("bad\n", "good\n", 40), ("good\n", "bad\n", 0)] {
            stage(&project, "src/a", index);
            project.write("src/a", tree);
            let report = staged(&project, exit);
            assert_eq!(caveat(&report, "index_view")["effect"], "narrows");
        }
    }
}

#[test]
fn only_ignored_folders_can_be_linked() {
    if !refuses() {
        return;
    }
    let linked = |what: &str| format!("vplan 1\nlinked {what}\ncheck good: true\n");
    for (folder, why) in [
        ("\"src\"", "tracked files"),
        ("\"build\"", "does not ignore"),
        ("\"lib/node_modules\"", "link is above"),
    ] {
        let project = of(&linked(folder));
        project.write("build/x", "1\n");
        project.mkdir("real/node_modules");
        project.symlink("lib", "real");
        project.git(&["add", "lib"]);
        stage(&project, "src/a", "staged\n");
        project.write("src/a", "other\n");
        let ran = without_overlays(&project, &["run", "--staged"]).run();
        ran.exits(3).warns("vplan::staged::linked").warns(why);
        assert_eq!(left(&project), 0);
    }
    for (folder, code) in [
        ("\".\"", "vplan::contract::path"),
        ("\"../x\"", "vplan::contract::path"),
        ("\"/etc\"", "vplan::contract::path"),
        ("x", "vplan::lang::unexpected_argument"),
    ] {
        of(&linked(folder)).run(&["check"]).exits(3).warns(code);
    }
}

#[test]
fn what_is_linked_is_no_part_of_a_plan() {
    let project = of(CONTRACT);
    let digest = || {
        let plan = project.run(&["plan", "--all", "--format", "json"]);
        plan.exits(0).json()["digest"].clone()
    };
    let before = digest();
    let with = CONTRACT.replace("vplan 1\n", "vplan 1\nlinked \"node_modules\"\n");
    project.write("contracts/verify.vplan", &with);
    assert_eq!(digest(), before);
    project.run(&["fmt", "--check"]).exits(0);
}

#[test]
fn commits_of_every_kind() {
    if !refuses() {
        return;
    }
    let project = of(CONTRACT);
    hooked(&project, &REFUSING);
    let passes = |args: &[&str]| commits(&project, "", args);
    // `commit -a` commits what the work tree has, `commit FILE` that file.
    project.write("src/a", "bad\n");
    assert!(!passes(&["-a"]));
    project.write("src/a", "good, one\n");
    stage(&project, "src/b", "bad\n");
    project.write("src/b", "good\n");
    assert!(
        passes(&["src/a"]),
        "the other file is no part of the commit"
    );
    assert!(!passes(&["--amend"]), "it is a part of this one");
    project.git(&["rm", "-qf", "--cached", "src/b"]);
    project.write("src/b", "bad\n");
    assert!(passes(&[]), "the commit removes it");
    assert_eq!(left(&project), 0);
}

#[test]
fn in_a_linked_work_tree_with_a_split_index_and_before_the_first_commit() {
    if !refuses() {
        return;
    }
    let project = of(CONTRACT);
    project.git(&["worktree", "add", "-q", "../other", "-b", "work"]);
    project.git_in("../other", &["update-index", "--split-index"]);
    project.write("../other/src/a", "bad\n");
    project.git_in("../other", &["add", "src/a"]);
    project.write("../other/src/a", "good\n");
    let registered = project.read(".git/worktrees/other/gitdir");
    let run = |dir: &str| {
        without_overlays(&project, &["run", "--staged"])
            .within(dir)
            .run()
    };
    run("../other").exits(40).says("in a checkout");
    run("../other/src").exits(40);
    assert_eq!(project.read(".git/worktrees/other/gitdir"), registered);

    let first = Project::git_empty();
    for (path, text) in [("contracts/verify.vplan", CONTRACT), ("src/a", "bad\n")] {
        stage(&first, path, text);
    }
    first.write("src/a", "good\n");
    without_overlays(&first, &["run", "--staged"])
        .run()
        .exits(40);
}

#[test]
fn a_submodule_with_files_cannot_be_checked_out() {
    if !refuses() {
        return;
    }
    let project = of(CONTRACT);
    let other = Project::git_with(&[("x", "1\n")]);
    let from = other.root();
    project.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        from.to_str().unwrap(),
        "sub",
    ]);
    stage(&project, "src/a", "staged\n");
    project.write("src/a", "other\n");
    let ran = without_overlays(&project, &["run", "--staged"]).run();
    ran.exits(5).warns("sub").warns("submodule");
    assert_eq!(left(&project), 0);
}

#[test]
fn what_the_caller_names_is_where_the_caller_is() {
    if !refuses() {
        return;
    }
    let project = of(CONTRACT);
    stage(&project, "src/a", "staged\n");
    project.write("src/a", "other\n");
    let words = [
        "-C",
        "src",
        "run",
        "--staged",
        "-q",
        "--junit",
        "out.xml",
        "--records",
        "../rec",
    ];
    without_overlays(&project, &words).run().exits(0);
    assert!(project.read("src/out.xml").contains("testsuite"));
    assert!(project.root().join("rec/runs").is_dir());
    assert!(!project.root().join(".vplan/runs").exists());
}

#[test]
fn a_file_system_inside_the_repository() {
    let mounting = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        "mount -t tmpfs none out && exec \"$0\" \"$@\"",
    ];
    let project = of(CONTRACT);
    project.mkdir("out");
    let mut command = Command::new(mounting[0]);
    command
        .args(&mounting[1..])
        .arg("true")
        .current_dir(project.root());
    if !command.output().is_ok_and(|o| o.status.success()) {
        eprintln!("SKIPPED: a file system inside the repository: nothing can be mounted here");
        return;
    }
    stage(&project, "src/a", "bad\n");
    project.write("src/a", "good\n");
    let ran = project.vplan(&["run", "--staged"]).under(&mounting).run();
    ran.exits(40).says("in a checkout");
}

#[test]
fn what_is_mended_in_a_checkout_is_staged() {
    if !refuses() {
        return;
    }
    let project = of(
        "vplan 1\nwhenChangedAny \"src/**\" {\n  check good {\n    shell ! grep -rq bad src\n    fix sed -i s/bad/good/ {changed}\n  }\n}\n",
    );
    stage(&project, "src/a", "bad, mended\n");
    project.write("src/b", "bad, and not staged\n");
    let ran = without_overlays(&project, &["fix", "--staged", "--format", "json"]).run();
    assert_eq!(ran.exits(0).json()["changed"], serde_json::json!(["src/a"]));
    assert_eq!(project.git(&["show", ":src/a"]), "good, mended");
    assert_eq!(project.read("src/a"), "good, mended\n");
    assert_eq!(project.read("src/b"), "bad, and not staged\n");
    assert_eq!(left(&project), 0);
}
