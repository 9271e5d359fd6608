//! What must the command line withstand? Repositories in every state, asked through the binary.

use crate::support::Project;
use serde_json::{Value, json};

const CONTRACT: &str =
    "vplan 1\ncheck always: true\nwhenChangedAny \"src/**\" \"lib\" {\n  check part: true\n}\n";

/// The changed files of the plan that these arguments give, `STATUS PATH`.
#[track_caller]
fn changed(project: &Project, args: &[&str]) -> Vec<String> {
    let ran = project.run(&[&["plan", "--format", "json"], args].concat());
    ran.exits(0);
    let plan = ran.json();
    let one = |f: &Value| {
        format!(
            "{} {}",
            f["status"].as_str().unwrap(),
            f["path"].as_str().unwrap()
        )
    };
    plan["request"]["changed"]
        .as_array()
        .unwrap()
        .iter()
        .map(one)
        .collect()
}

#[test]
fn deleted_renamed_untracked_and_retyped_files() {
    let project = Project::contract(CONTRACT);
    project
        .write("src/gone", "1")
        .write("src/old name", "2")
        .write("src/link", "3")
        .script("src/tool", "#!/bin/sh\n");
    project.write(".gitignore", "*.log\n").commit("files");
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project
        .remove("src/gone")
        .remove("src/old name")
        .remove("src/link");
    project
        .write("src/new name", "2")
        .write("x.log", "")
        .symlink("src/link", "tool");
    let all = [
        "deleted src/gone",
        "type-changed src/link",
        "added src/new name",
        "deleted src/old name",
    ]
    .map(str::to_owned);
    assert_eq!(changed(&project, &[]), all);
    assert_eq!(changed(&project, &["--base", "HEAD"]), all);
    let said = project.run(&["explain"]);
    said.exits(0).says("4 changed files").says("src/gone");
    assert_eq!(changed(&project, &["--staged"]), [""; 0]);
    project.git(&["add", "-A"]);
    assert_eq!(changed(&project, &["--staged"]), all);
    // What is gone is no argument.
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nwhenChangedAny \"src/**\" {\n  check a: echo {changed}\n}\n",
    );
    let plan = project.run(&["plan", "--format", "json"]).json();
    assert_eq!(
        plan["steps"][0]["argv"],
        json!(["echo", "src/link", "src/new name"])
    );
}

#[test]
fn a_submodule_changes_as_its_path_and_its_files() {
    let library = Project::git_with(&[("a", "1")]);
    let project = Project::contract(CONTRACT);
    let url = format!("file://{}", library.root().display());
    project.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &url,
        "lib",
    ]);
    project.commit("library");
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.write("lib/a", "2");
    // A submodule is its path, and what changed in it.
    assert_eq!(changed(&project, &[]), ["modified lib", "modified lib/a"]);
    project
        .run(&["explain"])
        .exits(0)
        .says("2 steps")
        .says("selects lib");
}

#[test]
fn a_shallow_clone_says_how_to_deepen_it() {
    let origin = Project::contract(CONTRACT);
    origin.git(&["checkout", "-q", "-b", "work"]);
    for name in ["src/a", "src/b", "src/c"] {
        origin.write(name, "1").commit(name);
    }
    origin.git(&["checkout", "-q", "main"]);
    origin.write("src/main", "1").commit("main goes on");
    let clone = Project::bare();
    let url = format!("file://{}", origin.root().display());
    clone.git(&["init", "-q"]);
    clone.git(&[
        "fetch",
        "-q",
        "--depth",
        "1",
        &url,
        "main:refs/remotes/origin/main",
        "work:refs/heads/work",
    ]);
    clone.git(&["checkout", "-q", "work"]);
    clone
        .run(&["plan", "--base", "origin/main"])
        .exits(2)
        .warns("this clone is shallow")
        .warns("fetch it first");
    assert_eq!(changed(&clone, &["--changed", "src/a"]), ["modified src/a"]);
    assert_eq!(changed(&clone, &[]), [""; 0]);
}

#[test]
fn a_machine_without_git() {
    let project = Project::contract(CONTRACT).env("PATH", "/nonexistent");
    project.write("src/a", "1");
    let ran = project.run(&["plan"]);
    ran.exits(5).warns("--changed");
    assert_eq!(
        changed(&project, &["--changed", "src/a"]),
        ["modified src/a"]
    );
    project.run(&["check"]).exits(0);
    project
        .run(&["explain", "part", "--changed-none"])
        .exits(0)
        .says("src/**");
}

#[test]
fn a_contract_that_is_no_file_no_utf8_or_too_large() {
    let project = Project::git_with(&[("a", "1")]);
    project.mkdir("contracts/verify.vplan");
    project
        .run(&["plan", "--changed-none"])
        .exits(3)
        .warns("no regular file");
    project.remove("contracts/verify.vplan");
    project.symlink("contracts/verify.vplan", "../../outside.vplan");
    project.run(&["plan", "--changed-none"]).exits(3);
    project.remove("contracts/verify.vplan");
    project.write("contracts/verify.vplan", b"vplan 1\r\ncheck a: echo \xe9\n");
    for command in ["check", "plan", "explain", "run"] {
        let args: &[&str] = if command == "check" {
            &["check"]
        } else {
            &[command, "--changed-none"]
        };
        project
            .run(args)
            .exits(3)
            .warns("byte 0xe9 at offset 23")
            .warns(":2:15");
    }
    project.write(
        "contracts/verify.vplan",
        [b"vplan 1\n".to_vec(), vec![b'\n'; 1 << 20]].concat(),
    );
    project.run(&["check"]).exits(3).warns("--max-file");
    project.run(&["check", "--max-file", "2MiB"]).exits(0);
}

#[test]
fn an_invalid_contract_is_invalid_everywhere() {
    let project = Project::contract("vplan 1\ncheck a: true && false\nchek b: true\n");
    for args in [
        &["check"][..],
        &["plan", "--all"],
        &["explain", "--all"],
        &["explain", "a", "--all"],
        &["run", "--all"],
        &["plan", "--all", "--mode", "fallback"],
        &["plan", "--all", "--mode", "off"],
        &["plan", "--all", "--command", "true"],
        &["plan", "--all", "--contract-from", "HEAD"],
    ] {
        // Every error of the file, at once.
        project
            .run(args)
            .exits(3)
            .warns("command_operator")
            .warns("unknown_statement")
            .warns("2 errors");
    }
    let ran = project.run(&["check", "--format", "json"]);
    ran.exits(3);
    assert_eq!(ran.json()["diagnostics"].as_array().unwrap().len(), 2);
}

#[test]
fn git_is_not_told_what_to_run() {
    let project = Project::contract(CONTRACT);
    project.write("src/a", "1").commit("a");
    let mark = project.parent().join("mark");
    project.script(
        "../evil.sh",
        &format!("#!/bin/sh\n: > {}\ncat\n", mark.display()),
    );
    let evil = project.parent().join("evil.sh").display().to_string();
    for key in [
        "core.fsmonitor",
        "diff.external",
        "filter.evil.clean",
        "filter.evil.process",
        "core.pager",
    ] {
        project.git(&["config", key, &evil]);
    }
    std::fs::write(
        project.path(".git/info/attributes"),
        "* filter=evil diff=evil\n",
    )
    .unwrap();
    // Of the same length, so that only its content tells.
    project.write("src/a", "2");
    for args in [
        &["plan"][..],
        &["explain", "--base", "HEAD"],
        &["plan", "--staged"],
        &["plan", "--all"],
        &["check"],
    ] {
        project.run(args).exits(0);
    }
    assert!(!mark.exists());
    let git = |args: &[&str]| {
        project
            .vplan(args)
            .env("GIT_DIR", "/nonexistent")
            .env("GIT_EXTERNAL_DIFF", &evil)
            .run()
    };
    git(&["plan"]).exits(0);
    assert!(!mark.exists());
}
