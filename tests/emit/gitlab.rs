//! Runs the emitted pipeline with gitlab-ci-local, in processes of this machine.

use super::{changed, emitted, path_with_vplan, project};
use crate::support::Project;
use crate::support::process::Bounded as _;
use crate::support::tree::have;
use std::process::{Command, Stdio};

/// Runs the pipeline that is there, and gives whether it passed and what it said.
fn pipeline(project: &Project) -> (bool, String) {
    let home = project.parent().join("home");
    let mut command = Command::new("gitlab-ci-local");
    let command = command
        .args([
            "--force-shell-executor",
            "--shell-executor-no-image",
            "--shell-isolation",
        ])
        .args([
            "--artifacts-to-source=false",
            "--state-dir",
            "../state",
            "--home",
            "../home",
        ])
        .current_dir(project.root())
        .env_clear()
        .env("PATH", path_with_vplan())
        .env("HOME", &home)
        .env("XDG_STATE_HOME", home.join("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let ran = command.spawn().unwrap().finished();
    let said =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    (ran.status.success(), said)
}

/// A project with this pipeline, committed; gitlab-ci-local wants a remote.
fn with(pipeline: &str) -> Project {
    let project = project();
    project.git(&[
        "remote",
        "set-url",
        "origin",
        "https://example.org/group/project.git",
    ]);
    project.write(".gitlab-ci.yml", pipeline).commit("ci");
    project
}

#[test]
#[ignore = "needs gitlab-ci-local: `.ci/long emit` installs it and runs this"]
fn gitlab_ci_local_runs_the_pipeline() {
    if !have(&["gitlab-ci-local", "rsync"]) {
        return;
    }
    let words = [
        "gitlab",
        "--shards",
        "3",
        "--base-from",
        "all",
        "--program",
        "installed",
    ];
    let text = emitted(&project(), &words);
    let good = with(&text);
    let (passed, said) = pipeline(&good);
    assert!(passed && said.contains("passed: 3 passed"), "{said}");
    let first = said.contains("none of the steps is in 0 runs");
    // What the steps took is known to the next pipeline.
    let (passed, said) = pipeline(&good);
    assert!(
        passed && first && said.contains("weighed by 3 runs"),
        "{said}"
    );

    let verdict = |project: &Project, code: &str| {
        let (passed, said) = pipeline(project);
        let is_verdict = |line: &&str| line.starts_with("vplan-verdict") && line.contains("FAIL");
        let line = said.lines().find(is_verdict).unwrap_or_default();
        assert!(!passed && line.contains(code), "{code}: {said}");
    };
    let broken = with(&text);
    broken.write("src/b", "broken\n").commit("broken");
    verdict(&broken, "FAIL 40");
    // A shard that ends well and has done nothing.
    let script = "    - vplan run --plan";
    let lost = "    - test \"$CI_NODE_INDEX\" != 2 || exit 0\n    - vplan run --plan";
    verdict(&with(&changed(&text, script, lost)), "FAIL 44");
    let in_turn = changed(&text, "--division .vplan/division.json --shard", "--shard");
    verdict(&with(&in_turn), "FAIL 4");
}
