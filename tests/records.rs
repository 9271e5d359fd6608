//! What past runs left behind, asked end to end: status, runs, details, log, report, stats, verify,
//! gc.

use crate::support::Project;
use crate::support::process::{Bounded as _, eventually};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Stdio};

const CONTRACT: &str = "vplan 1\n\
    check lint: true\n\
    check unit {\n  run sh -c \"echo out; printf '\\\\033[31mred\\\\033[0m\\\\n' >&2; test -f ok\"\n  retries 1\n}\n\
    check last: echo done\n\
    whenChangedAny \"docs/**\" {\n  check prose: echo prose\n}\n";

fn project() -> Project {
    let project = Project::contract(CONTRACT);
    project.write("ok", "").commit("ok");
    project
}

/// A run that passes.
fn pass(project: &Project) -> String {
    id(&project
        .run(&["run", "--all", "--format", "json"])
        .exits(0)
        .json())
}

/// A run in which `unit` fails.
fn fail(project: &Project) -> String {
    project.remove("ok");
    let id = id(&project
        .run(&["run", "--changed", "a", "--format", "json"])
        .exits(40)
        .json());
    project.write("ok", "");
    id
}

fn id(report: &Value) -> String {
    report["runId"].as_str().unwrap().to_owned()
}

fn short(id: &str) -> &str {
    &id[21..29]
}

fn folder(project: &Project, id: &str) -> PathBuf {
    project.path(".vplan/runs").join(id)
}

/// A name that vplan could have given to a run.
fn name(n: u32) -> String {
    format!("20260101T00000{}.{:03}Z-{n:032x}", n / 1000 % 10, n % 1000)
}

/// A run that goes on until `go` is there.
struct Live(Child);

impl Live {
    fn start(project: &Project) -> Self {
        let mut command = project.vplan(&["run", "--all"]).command();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        eventually("the step speaks", || project.exists("here"));
        Self(child)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn waiting() -> Project {
    let wait = "vplan 1\ncheck first: true\ncheck wait {\n  shell echo begun; touch here; until test -e go; do sleep 0.01; done\n}\n";
    Project::git_with(&[
        ("contracts/verify.vplan", wait),
        (".gitignore", "/here\n/go\n"),
    ])
}

#[test]
fn without_any_run() {
    let project = project();
    project
        .run(&["status"])
        .exits(0)
        .says("no run is recorded yet")
        .is_quiet();
    let status = project.run(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(
        (&status["run"], &status["verified"]),
        (&Value::Null, &json!(false))
    );
    project.run(&["status", "--require", "verified"]).exits(44);
    project.run(&["runs"]).exits(0).says("no such run");
    assert_eq!(
        project.run(&["runs", "--format", "json"]).json(),
        json!({"runs": [], "version": 1})
    );
    project.run(&["stats"]).exits(0).says("0 runs");
    project
        .run(&["gc", "--keep", "0"])
        .exits(0)
        .says("removed 0 runs, 0 B");
    for words in [&["details"][..], &["report"], &["log", "lint"], &["verify"]] {
        project
            .run(words)
            .exits(2)
            .warns("no run is recorded yet")
            .warns("vplan run");
    }
    assert!(!project.exists(".vplan"), "asking writes nothing");
}

#[test]
fn a_run_keeps_so_many_records() {
    let project = project();
    let all: Vec<String> = (0..4).map(|_| pass(&project)).collect();
    assert_eq!(listed(&project).len(), 4);
    for (args, kept) in [(&["--keep-runs", "3"][..], 3), (&["--keep-bytes", "1B"], 1)] {
        let mut run = vec!["run"];
        run.extend(args);
        run.push("--all");
        project.run(&run).exits(0);
        assert_eq!(listed(&project).len(), kept, "{args:?}");
    }
    assert!(!folder(&project, &all[0]).exists());
    project.run(&["run", "--keep-runs", "0"]).exits(2);
    // No contract says it: a change must not remove evidence.
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nlimits {\n  keep-runs 1\n}\n",
    );
    project.run(&["check"]).exits(3);
}

/// The names of the runs that are listed.
fn listed(project: &Project) -> Vec<String> {
    let ran = project.run(&["runs", "--format", "json"]);
    let runs = ran.json();
    let runs = runs["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run["run"]["runId"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn asked_for_what_there_is_not() {
    let project = project();
    let (one, two) = (fail(&project), pass(&project));
    let unknown = "vplan::records::unknown_run";
    for words in [
        &["details", "zzzz"][..],
        &["details", "latest~2"],
        &["details", ""],
        &["report", "latest~x"],
        &["log", "lint", "--run", "nope"],
        &["verify", "nope"],
        &["verify", "latest~9"],
    ] {
        project.run(words).exits(2).warns(unknown);
    }
    project
        .run(&["details", "lastet"])
        .exits(2)
        .warns("did you mean `latest`?");
    let mut near = short(&two).to_owned();
    near.replace_range(7..8, "z");
    project
        .run(&["details", &near])
        .exits(2)
        .warns(&format!("did you mean `{}`?", short(&two)));
    project
        .run(&["details", "2"])
        .exits(2)
        .warns("is the beginning of 2 runs")
        .warns(short(&one))
        .warns(short(&two));
    for run in ["latest~1", &one, short(&one), &one[..40]] {
        project.run(&["details", run]).exits(0).says(short(&one));
    }
    for words in [
        &["status", "--require", "peace"][..],
        &["runs", "--limit", "0"],
        &["runs", "--limit", "x"],
        &["runs", "--status", "faild"],
        &["runs", "--status", "flaky"],
        &["runs", "--check", "unit", "--status", "interrupted"],
        &["runs", "--since", "yesterday"],
        &["runs", "--since", "2026-02-30T99:00"],
        &["details", "--check", "unti"],
        &["details", "a", "b"],
        &["log"],
        &["log", "unti"],
        &["log", "unit", "--try", "0"],
        &["log", "unit", "--try", "3", "--run", "latest~1"],
        &["log", "last", "--run", "latest~1"],
        &["log", "unit", "--raw", "--format", "json"],
        &["report", "--tail", "-1"],
        &["stats", "--check", "unti"],
        &["stats", "--last", "0"],
        &["gc"],
        &["gc", "--keep", "-1"],
        &["gc", "--keep", "all"],
        &["runs", "--format", "kdl"],
        &["runs", "--records", "nowhere"],
        &["status", "--records", "contracts/verify.vplan"],
    ] {
        project.run(words).exits(2);
    }
    project
        .run(&["runs", "--status", "faild"])
        .exits(2)
        .warns("did you mean `failed`?");
    project
        .run(&["log", "unti"])
        .exits(2)
        .warns("did you mean `unit`?");
    project
        .run(&["log", "unit", "--try", "3", "--run", "latest~1"])
        .exits(2)
        .warns("had only 2 tries");
    project
        .run(&["log", "last", "--run", "latest~1"])
        .exits(2)
        .warns("did not run");
    project
        .run(&["details", "--check", "unti"])
        .exits(2)
        .warns("did you mean `unit`?");
    project
        .run(&["stats", "--check", "unti"])
        .exits(2)
        .warns("did you mean `unit`?");
    // Something else in the place of the records.
    let other = Project::contract(CONTRACT);
    other.symlink(".vplan", "/tmp");
    for words in [
        &["status"][..],
        &["runs"],
        &["stats"],
        &["gc", "--keep", "0"],
    ] {
        other
            .run(words)
            .exits(5)
            .warns("is not a directory, or is a symlink");
    }
}

#[test]
fn the_latest_run() {
    let project = project();
    let failed = fail(&project);
    project
        .run(&["status"])
        .exits(0)
        .says("failed")
        .says("failed: unit")
        .says(short(&failed))
        .says("not verified");
    project
        .run(&["status", "--require", "verified"])
        .exits(44)
        .says("it did not pass");
    let passed = pass(&project);
    let status = project.run(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(status["run"]["runId"], passed);
    assert_eq!(
        (&status["run"]["passed"], &status["run"]["total"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(
        (&status["verified"], &status["tree"]["same"]),
        (&json!(true), &json!(true))
    );
    project
        .run(&["status", "--require", "verified"])
        .exits(0)
        .says("the work tree is the one that was verified");
    assert_eq!(
        project
            .run(&["status", "--require", "verified", "-q"])
            .exits(0)
            .out(),
        ""
    );
    assert_eq!(
        project.run(&["runs", "--format", "json"]).json()["runs"][1]["run"]["failed"],
        json!(["unit"])
    );
}

/// The tree is content: what does not change any, changes nothing.
#[test]
fn which_tree_was_verified() {
    let project = project();
    project
        .write(".gitignore", "/target\n")
        .write("new", "untracked")
        .write("run.sh", "x")
        .symlink("link", "new");
    pass(&project);
    let required = || project.run(&["status", "--require", "verified"]).exit;
    assert_eq!(required(), Some(0));
    project.git(&["add", "-A"]);
    assert_eq!(required(), Some(0), "staging is no change");
    project.git(&["commit", "-q", "-m", "all"]);
    assert_eq!(required(), Some(0), "committing is no change");
    project.git(&["commit", "-q", "--amend", "-m", "other words"]);
    project.touch("new").write("target/out", "ignored");
    assert_eq!(
        required(),
        Some(0),
        "neither is a time stamp, nor an ignored file"
    );
    type Do<'a> = &'a dyn Fn() -> &'a Project;
    let changes: &[(Do<'_>, Do<'_>)] = &[
        (&|| project.write("new", "other"), &|| {
            project.write("new", "untracked")
        }),
        (&|| project.write("more", ""), &|| project.remove("more")),
        (&|| project.remove("new"), &|| {
            project.write("new", "untracked")
        }),
        (&|| project.mode("run.sh", 0o755), &|| {
            project.mode("run.sh", 0o644)
        }),
        (&|| project.remove("link").symlink("link", "ok"), &|| {
            project.remove("link").symlink("link", "new")
        }),
    ];
    for (i, (change, undo)) in changes.iter().enumerate() {
        change();
        assert_eq!(required(), Some(44), "change {i}");
        undo();
        assert_eq!(required(), Some(0), "change {i} undone");
    }
    project.write("new", "other").commit("another");
    project
        .run(&["status", "--require", "verified"])
        .exits(44)
        .says("is not the one that was verified");
    project
        .run(&["verify"])
        .exits(4)
        .says("tree: the work tree is");
}

#[test]
fn what_a_run_produces_is_no_part_of_the_tree() {
    let contract =
        "vplan 1\ncheck build {\n  shell echo $RANDOM$$ > out.txt\n  produces \"out.txt\"\n}\n";
    let project = Project::contract(contract);
    project.run(&["run", "--all"]).exits(0);
    project.run(&["status", "--require", "verified"]).exits(0);
    project.write("out.txt", "by hand");
    project.run(&["status", "--require", "verified"]).exits(0);
    // What a step leaves besides is named, and no part of it either.
    let contract = "vplan 1\ncheck touch: cp a b\n";
    let project = Project::git_with(&[("contracts/verify.vplan", contract), ("a", "1")]);
    let report = project
        .run(&["run", "--all", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(report["newFiles"][0]["path"], "b");
    project.run(&["status", "--require", "verified"]).exits(0);
    project
        .write("b", "by hand")
        .run(&["status", "--require", "verified"])
        .exits(44)
        .says("not the one that was verified");
    project.write("b", "1");
    // Now it is there, so that the same run changes nothing.
    let report = project
        .run(&["run", "--all", "--format", "json"])
        .exits(0)
        .json();
    assert!(report["tree"].as_str().unwrap().starts_with("sha256:"));
    project.run(&["status", "--require", "verified"]).exits(0);
}

/// A pass that verifies less than the tree does not stand for it.
#[test]
fn what_does_not_verify() {
    let project = project();
    let refused = |args: &[&str], why: &str| {
        project.run(args).exits(0);
        project
            .run(&["status", "--require", "verified"])
            .exits(44)
            .says(why);
    };
    refused(&["run", "--mode", "off", "--all"], "mode is off");
    refused(&["run", "--all", "--shard", "1/2"], "only a shard");
    let none = Project::contract("vplan 1\nwhenChangedAny \"docs/**\" {\n  check a: true\n}\n");
    none.run(&["status", "--require", "verified"])
        .exits(0)
        .says("nothing applies");
    none.write("docs/x", "");
    none.run(&["run", "--changed-none"]).exits(0);
    none.run(&["status", "--require", "verified"])
        .exits(44)
        .says("it verified nothing");
    none.remove("docs/x");
    none.write("x", "");
    none.run(&["run"]).exits(0);
    none.run(&["status", "--require", "verified"]).exits(0);
    let bare = Project::bare();
    bare.write("contracts/verify.vplan", "vplan 1\ncheck a: true\n");
    bare.run(&["run", "--changed-none"]).exits(0);
    bare.run(&["status", "--require", "verified"])
        .exits(44)
        .says("cannot be planned");
    // A report that was changed by hand, or is torn, is none.
    let id = pass(&project);
    let path = format!(".vplan/runs/{id}/report.json");
    let whole = project.read(&path);
    for (text, why) in [
        (
            whole.replacen("\"planDigest\":\"sha256:", "\"planDigest\":\"sha256:0", 1),
            "cannot be used",
        ),
        (whole[..whole.len() / 2].to_owned(), "ends in the middle"),
        (
            whole.replacen("\"verdict\":\"passed\"", "\"verdict\":\"failed\"", 1),
            "is not the one that vplan wrote",
        ),
        (
            whole.replacen("\"version\":1", "\"version\":7", 1),
            "version 7",
        ),
    ] {
        project.write(&path, text);
        project
            .run(&["status", "--require", "verified"])
            .exits(44)
            .says(why);
    }
    project.remove(&path);
    project
        .run(&["status", "--require", "verified"])
        .exits(44)
        .says("its report is not there");
}

#[test]
fn a_run_that_goes_on_and_one_that_was_killed() {
    let project = waiting();
    project.write("go", "");
    let before = pass(&project);
    project.remove("go").remove("here");
    let mut live = Live::start(&project);
    project
        .run(&["status"])
        .exits(0)
        .says("running")
        .says("still going on")
        .says(short(&before));
    project
        .run(&["runs", "--status", "running"])
        .exits(0)
        .says("running");
    project.run(&["log", "wait"]).exits(0).says("begun");
    project
        .run(&["details", "--check", "wait"])
        .exits(0)
        .says("it is running");
    project.run(&["report"]).exits(0).says("wait begins");
    project
        .run(&["verify"])
        .exits(2)
        .warns("has no report: it is running");
    assert_eq!(
        project
            .run(&["stats", "--check", "wait", "--format", "json"])
            .json()["checks"][0]["runs"],
        1
    );
    let gc = project
        .run(&["gc", "--keep", "0", "--dry-run", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (
            gc["removed"].as_array().unwrap().len(),
            gc["kept"].as_array().unwrap().len()
        ),
        (1, 1)
    );
    project
        .run(&["gc", "--keep", "0"])
        .exits(0)
        .says("it is being written")
        .says("removed 1 run");
    project.run(&["status"]).exits(0).says("running");
    live.0.kill().unwrap();
    live.0.ended();
    project
        .run(&["status"])
        .exits(0)
        .says("interrupted")
        .says("it was killed");
    project
        .run(&["runs", "--status", "interrupted"])
        .exits(0)
        .says("interrupted");
    project
        .run(&["status", "--require", "verified"])
        .exits(44)
        .says("no run has come to its end");
    project
        .run(&["details"])
        .exits(0)
        .says("it was running when the run was interrupted");
    project.run(&["log", "wait"]).exits(0).says("begun");
    project.run(&["verify"]).exits(2).warns("it is interrupted");
    project
        .run(&["gc", "--keep", "0"])
        .exits(0)
        .says("removed 1 run");
    project
        .run(&["status"])
        .exits(0)
        .says("no run is recorded yet");
}

/// An interrupted run after a pass takes nothing from the pass.
#[test]
fn an_earlier_pass_stands() {
    let project = waiting();
    project.write("go", "");
    let before = pass(&project);
    project.remove("go").remove("here");
    drop(Live::start(&project));
    let status = project
        .run(&["status", "--require", "verified", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(status["run"]["state"], "interrupted");
    assert_eq!(status["latestFinished"]["runId"], before);
}

#[test]
fn which_runs() {
    let project = project();
    let ids = [fail(&project), pass(&project), pass(&project)];
    let of = |words: &[&str]| -> Vec<String> {
        let document = project
            .run(&[&["runs", "--format", "json"], words].concat())
            .exits(0)
            .json();
        assert_eq!(document["version"], 1);
        document["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| id(&r["run"]))
            .collect()
    };
    let newest: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(of(&[]), newest);
    assert_eq!(of(&["--limit", "1"]), newest[..1]);
    assert_eq!(of(&["--status", "failed"]), ids[..1]);
    assert_eq!(of(&["--status", "timed-out"]), [""; 0]);
    assert_eq!(of(&["--check", "unit"]), newest);
    assert_eq!(of(&["--check", "unit", "--status", "failed"]), ids[..1]);
    assert_eq!(of(&["--check", "last", "--status", "not_run"]), ids[..1]);
    assert_eq!(of(&["--check", "nothing"]), [""; 0]);
    assert_eq!(of(&["--since", "2020-01-01"]), newest);
    assert_eq!(of(&["--since", "9999-01-01"]), [""; 0]);
    let started =
        project.run(&["runs", "--format", "json"]).json()["runs"][1]["run"]["startedAt"].clone();
    assert!(of(&["--since", &started.as_str().unwrap()[..19]]).len() >= 2);
    project
        .run(&["runs"])
        .exits(0)
        .says(short(&ids[0]))
        .says("1/3")
        .says("unit")
        .is_quiet();
    project
        .run(&["runs", "--check", "unit"])
        .exits(0)
        .says("failed")
        .says("passed");
    let elsewhere = Project::contract(CONTRACT);
    elsewhere
        .run(&["run", "--all", "--records", "../kept"])
        .exits(40);
    elsewhere
        .run(&["runs", "--records", "../kept"])
        .exits(0)
        .says("failed");
    elsewhere
        .run(&["status", "--records", "../kept"])
        .exits(0)
        .says("failed: unit");
    elsewhere.run(&["runs"]).exits(0).says("no such run");
}

#[test]
fn every_check_of_a_run() {
    let project = project();
    let failed = fail(&project);
    project.write("docs/a", "").commit("docs");
    let ran = project.run(&["details", &failed]);
    for words in [
        "unit (run): failed",
        "2 tries",
        "exit code 1",
        "because always",
        "│ out",
        "left out:",
        "prose",
        "vplan log unit",
    ] {
        ran.exits(0).says(words);
    }
    ran.says("last (run): not run").never_says("\u{1b}");
}

#[test]
fn details_without_a_report() {
    let project = project();
    let id = fail(&project);
    let all = project
        .run(&["details", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(all["steps"].as_array().unwrap().len(), 3);
    assert_eq!(all["steps"][1]["record"]["status"], "failed");
    assert_eq!(all["steps"][1]["kind"], "run");
    assert_eq!(all["omitted"][0]["id"], "prose");
    let one = project
        .run(&["details", "--check", "prose", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (
            one["steps"].as_array().unwrap().len(),
            one["omitted"].as_array().unwrap().len()
        ),
        (0, 1)
    );
    let path = folder(&project, &id).join("report.json");
    for (damage, why) in [
        (
            (|path| std::fs::write(path, "{\"version\":1,").unwrap()) as fn(&PathBuf),
            "ends in the middle",
        ),
        (
            |path| std::fs::write(path, [0xff; 9]).unwrap(),
            "is no report",
        ),
        (
            |path| {
                std::fs::File::create(path)
                    .unwrap()
                    .set_len(300 << 20)
                    .unwrap()
            },
            "is larger than 256MiB",
        ),
        (
            |path| std::os::unix::fs::symlink("/etc/passwd", path).unwrap(),
            "is no regular file",
        ),
        (
            |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap(),
            "is no regular file",
        ),
        (
            |path| std::fs::create_dir(path).unwrap(),
            "is no regular file",
        ),
        (|_| (), "is not there"),
    ] {
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_dir(&path);
        damage(&path);
        let document = project
            .run(&["details", "--format", "json"])
            .exits(0)
            .json();
        assert!(
            document["remarks"][0].as_str().unwrap().contains(why),
            "{why}: {document}"
        );
        assert_eq!(
            document["steps"][1]["record"]["status"], "failed",
            "the journal knows it"
        );
        project.run(&["details"]).exits(0).says(why).says("unit");
    }
}

#[test]
fn what_a_check_wrote() {
    let project = project();
    fail(&project);
    pass(&project);
    let text = project.run(&["log", "unit"]).exits(0).out();
    assert!(
        text.contains("out\n") && text.contains("red\n") && !text.contains('\u{1b}'),
        "{text:?}"
    );
    project
        .run(&["log", "unit", "--raw"])
        .exits(0)
        .says("\u{1b}[31mred\u{1b}[0m");
    project
        .run(&["log", "lint"])
        .exits(0)
        .warns("`lint` wrote nothing");
    assert_eq!(
        project
            .run(&["log", "lint", "-q"])
            .exits(0)
            .is_quiet()
            .out(),
        ""
    );
    let first = project
        .run(&[
            "log", "unit", "--run", "latest~1", "--try", "1", "--format", "json",
        ])
        .exits(0)
        .json();
    assert_eq!(
        (&first["try"], &first["log"]),
        (&json!(1), &json!("logs/unit.1.log"))
    );
    assert_eq!(first["omittedBytes"], 0);
    let last = project
        .run(&["log", "unit", "--run", "latest~1", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(last["try"], 2);
    assert!(last["text"].as_str().unwrap().contains("red\n"));
    let silent = project
        .run(&["log", "lint", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!((silent.get("log"), &silent["text"]), (None, &json!("")));
    // Of a long log, a document holds the end.
    let id = pass(&project);
    let path = folder(&project, &id).join("logs/unit.1.log");
    std::fs::write(&path, "x".repeat((1 << 20) + 10)).unwrap();
    let long = project
        .run(&["log", "unit", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (
            long["omittedBytes"].as_u64(),
            long["text"].as_str().unwrap().len()
        ),
        (Some(10), 1 << 20)
    );
    assert_eq!(
        project.run(&["log", "unit"]).exits(0).stdout.len(),
        (1 << 20) + 10
    );
    std::fs::remove_file(&path).unwrap();
    project.run(&["log", "unit"]).exits(5).warns("is not there");
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    project
        .run(&["log", "unit"])
        .exits(5)
        .warns("is no regular file")
        .never_says("root:");
}

#[test]
fn what_happened() {
    let project = project();
    fail(&project);
    let all = project.run(&["report", "--format", "json"]).exits(0).json();
    let events = all["events"].as_array().unwrap();
    assert_eq!(events.first().unwrap()["type"], "run.started");
    let end = events.last().unwrap();
    assert_eq!(
        (&end["type"], &end["decision"], &end["attempt"]),
        (&json!("run.finished"), &json!("retry"), &json!(1))
    );
    assert_eq!(end["retriesRemaining"], 3);
    let finished = events
        .iter()
        .find(|e| e["type"] == "step.finished" && e["id"] == "unit")
        .unwrap();
    assert_eq!(finished["kind"], "run");
    assert_eq!(
        events
            .iter()
            .find(|e| e["type"] == "plan.compiled")
            .unwrap()["changedFilesCount"],
        1
    );
    let figures = &all["figures"];
    assert_eq!(
        (&figures["tries"], &figures["retries"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(figures["lastLog"], "logs/unit.2.log");
    let two = project
        .run(&["report", "--tail", "2", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(two["events"].as_array().unwrap().len(), 2);
    assert_eq!(
        two["omittedEvents"].as_u64().unwrap() as usize,
        events.len() - 2
    );
    assert_eq!(two["figures"], *figures, "figures are about the whole run");
    project
        .run(&["report", "--tail", "2"])
        .exits(0)
        .says("before these")
        .says("run ends: failed, exit code 40");
    project
        .run(&["report", "--tail", "0"])
        .exits(0)
        .says("3 tries; 1 retry");
}

#[test]
fn a_torn_journal() {
    let project = project();
    let id = pass(&project);
    let path = folder(&project, &id).join("events.jsonl");
    let whole = std::fs::read(&path).unwrap();
    let state = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        project.run(&["status", "--format", "json"]).exits(0).json()["run"]["state"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(state(&whole), "finished");
    assert_eq!(state(&whole[..whole.len() - 1]), "interrupted");
    project.run(&["status"]).exits(0).says("torn or foreign");
    project.run(&["status", "--require", "verified"]).exits(44);
    project
        .run(&["verify", folder(&project, &id).to_str().unwrap()])
        .exits(4)
        .says("journal: the events have no end");
    assert_eq!(
        state(&[&whole, &b"{\"seq\":99}\n"[..]].concat()),
        "finished"
    );
    assert_eq!(state(b""), "interrupted");
    assert_eq!(state(&[0xff; 100]), "interrupted");
    std::fs::remove_file(&path).unwrap();
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
    project
        .run(&["status"])
        .exits(0)
        .says("its journal is no regular file");
    project.run(&["runs"]).exits(0).says("interrupted");
    project.run(&["stats"]).exits(0);
    project
        .run(&["report"])
        .exits(0)
        .says("its journal is no regular file");
    project
        .run(&["details"])
        .exits(0)
        .says("its journal is no regular file");
    project.run(&["log", "unit"]).exits(2);
    project
        .run(&["gc", "--keep", "0"])
        .exits(0)
        .says("removed 1 run");
}

#[test]
fn how_checks_fare() {
    let flaky = "vplan 1\ncheck sometimes {\n  shell test -f once || { touch once; exit 1; }\n  retries 1\n}\ncheck never: false\n";
    let project =
        Project::git_with(&[("contracts/verify.vplan", flaky), (".gitignore", "/once\n")]);
    let run = || {
        id(&project
            .run(&["run", "--all", "--keep-going", "--format", "json"])
            .exits(40)
            .json())
    };
    let ids = [run(), run()];
    let stats = project.run(&["stats", "--format", "json"]).exits(0).json();
    assert_eq!(
        (&stats["runs"], stats["checks"].as_array().unwrap().len()),
        (&json!(2), 2)
    );
    let check = |name: &str| {
        project
            .run(&["stats", "--check", name, "--format", "json"])
            .exits(0)
            .json()["checks"][0]
            .clone()
    };
    let sometimes = check("sometimes");
    assert_eq!(
        (
            &sometimes["runs"],
            &sometimes["passed"],
            &sometimes["flaky"]
        ),
        (&json!(2), &json!(2), &json!(1))
    );
    assert_eq!(
        (&sometimes["passPermille"], &sometimes["flakyPermille"]),
        (&json!(1000), &json!(500))
    );
    let never = check("never");
    assert_eq!(
        (&never["failed"], &never["lastFailure"]["runId"]),
        (&json!(2), &json!(ids[1]))
    );
    assert_eq!(never["lastFailure"]["reason"], "exit_code");
    let last = project
        .run(&["stats", "--last", "1", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (&last["runs"], &last["checks"][1]["flaky"]),
        (&json!(1), &json!(0))
    );
    project
        .run(&["stats"])
        .exits(0)
        .says("never")
        .says("0.0%")
        .says("50.0%")
        .says("over 2 runs");
}

#[test]
fn old_runs_go() {
    let project = project();
    let kept = pass(&project);
    for n in 1..=5 {
        project.write(format!(".vplan/runs/{}/events.jsonl", name(n)), "torn");
    }
    project
        .write(".vplan/runs/notes/mine", "stays")
        .write(".vplan/other", "stays")
        .write("outside/x", "stays");
    project.symlink(&format!(".vplan/runs/{}", name(9)), "../../outside");
    project.symlink(&format!(".vplan/runs/{}/logs", name(3)), "../../../outside");
    let dry = project
        .run(&["gc", "--keep", "3", "--dry-run", "--format", "json"])
        .exits(0)
        .json();
    let removed: Vec<&str> = dry["removed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["runId"].as_str().unwrap())
        .collect();
    assert_eq!(removed, [name(3), name(2), name(1)]);
    assert_eq!((&dry["bytes"], &dry["dryRun"]), (&json!(12), &json!(true)));
    assert!(project.exists(&format!(".vplan/runs/{}", name(1))));
    project
        .run(&["gc", "--keep", "3", "--dry-run"])
        .exits(0)
        .says("would remove 3 runs, 12 B")
        .says("2026-01-01");
    project
        .run(&["gc", "--keep", "3"])
        .exits(0)
        .says("removed 3 runs, 12 B");
    project
        .run(&["gc", "--keep", "3"])
        .exits(0)
        .says("removed 0 runs");
    project.run(&["gc", "--keep", "1", "-q"]).exits(0);
    for path in [
        ".vplan/runs/notes/mine",
        ".vplan/other",
        "outside/x",
        &format!(".vplan/runs/{}", name(9)),
    ] {
        assert!(project.exists(path), "{path}");
    }
    assert!(folder(&project, &kept).join("report.json").exists());
    let runs = project.run(&["runs", "--format", "json"]).json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1);
}

/// Each edit by hand is found, and by the aspect that it is about.
#[test]
fn a_report_is_checked() {
    let project = project();
    let id = pass(&project);
    let run = folder(&project, &id);
    let report = std::fs::read_to_string(run.join("report.json")).unwrap();
    let plan = std::fs::read_to_string(run.join("plan.json")).unwrap();
    let events = std::fs::read_to_string(run.join("events.jsonl")).unwrap();
    for path in [".", "report.json"].map(|name| run.join(name)) {
        let ran = project.run(&["verify", path.to_str().unwrap()]);
        ran.exits(0).says("holds").never_says("?");
    }
    assert_eq!(project.run(&["verify", "-q"]).exits(0).out(), "");
    let value: Value = serde_json::from_str(&report).unwrap();
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut value = value.clone();
        edit(&mut value);
        value.to_string()
    };
    let found = |why: &str, aspect: &str| {
        let ran = project.run(&["verify", short(&id), "--format", "json"]);
        let document = ran.exits(4).json();
        assert_eq!(document["holds"], false);
        let aspects = document["aspects"].as_array().unwrap();
        let broken: Vec<&str> = aspects
            .iter()
            .filter(|a| a["holds"] == "no")
            .map(|a| a["aspect"].as_str().unwrap())
            .collect();
        assert!(broken.contains(&aspect), "{why}: {broken:?}");
        project
            .run(&["verify", short(&id)])
            .exits(4)
            .says("does not hold");
    };
    type Edit<'a> = (&'a str, &'a str, &'a dyn Fn(&mut Value));
    let edits: &[Edit<'_>] = &[
        ("a verdict", "verdict", &|r| r["verdict"] = json!("failed")),
        ("an exit code", "exitCode", &|r| r["exitCode"] = json!(40)),
        ("a coverage", "coverage", &|r| {
            r["coverage"] = json!("narrowed")
        }),
        ("a status", "journal", &|r| {
            r["steps"][0]["status"] = json!("cached")
        }),
        ("a failure hidden", "statuses", &|r| {
            r["steps"][0]["exitCode"] = json!(1)
        }),
        ("a pass without a try", "statuses", &|r| {
            r["steps"][0]["tries"] = json!(0)
        }),
        ("a record less", "steps", &|r| {
            drop(r["steps"].as_array_mut().unwrap().pop())
        }),
        ("a record twice", "steps", &|r| {
            let first = r["steps"][0].clone();
            r["steps"].as_array_mut().unwrap().push(first);
        }),
        ("another order", "steps", &|r| {
            r["steps"].as_array_mut().unwrap().swap(0, 1)
        }),
        ("another command", "steps", &|r| {
            r["steps"][0]["command"] = json!("false")
        }),
        ("another plan", "plan", &|r| {
            r["planDigest"] = json!(format!("sha256:{}", "0".repeat(64)))
        }),
        ("another run", "journal", &|r| r["runId"] = json!(name(1))),
        ("another tree", "tree", &|r| r["tree"] = json!("sha256:0")),
        ("a log that is not there", "logs", &|r| {
            r["steps"][1]["log"] = json!("logs/nothing.log")
        }),
        ("a log elsewhere", "logs", &|r| {
            r["steps"][1]["log"] = json!("logs/../report.json")
        }),
    ];
    for (why, aspect, edit) in edits {
        std::fs::write(run.join("report.json"), edited(edit)).unwrap();
        found(why, aspect);
    }
    std::fs::write(run.join("report.json"), &report).unwrap();
    for (file, content, aspect) in [
        (
            "plan.json",
            plan.replacen("\"timeoutMs\":60000", "\"timeoutMs\":60001", 1),
            "plan",
        ),
        ("plan.json", "{}".to_owned(), "plan"),
        (
            "events.jsonl",
            events.lines().take(3).map(|l| format!("{l}\n")).collect(),
            "journal",
        ),
        (
            "events.jsonl",
            events.replace(
                "\"exitCode\":0,\"retriesRemaining\"",
                "\"exitCode\":40,\"retriesRemaining\"",
            ),
            "journal",
        ),
    ] {
        let before = std::fs::read(run.join(file)).unwrap();
        assert_ne!(content.as_bytes(), before);
        std::fs::write(run.join(file), content).unwrap();
        found(file, aspect);
        std::fs::write(run.join(file), before).unwrap();
    }
    // What is not there is not known, and said.
    let alone = project.path("../alone.json");
    std::fs::copy(run.join("report.json"), &alone).unwrap();
    project
        .run(&["verify", "../alone.json"])
        .exits(0)
        .says("? plan")
        .says("? journal")
        .says("? tree")
        .says("? logs");
    for (path, why) in [
        ("../none.json", "is not there"),
        ("contracts/verify.vplan", "is no report"),
        ("../home", "is not there"),
    ] {
        project.run(&["verify", path]).exits(2).warns(why);
    }
    mknodat(
        CWD,
        project.path("../pipe.json"),
        FileType::Fifo,
        Mode::RUSR,
        0,
    )
    .unwrap();
    project
        .run(&["verify", "../pipe.json"])
        .exits(2)
        .warns("is no regular file");
    std::fs::File::create(project.path("../huge.json"))
        .unwrap()
        .set_len(300 << 20)
        .unwrap();
    project
        .run(&["verify", "../huge.json"])
        .exits(2)
        .warns("is larger than");
}

/// What holds of a pass holds of every other end.
#[test]
fn every_kind_of_report_holds() {
    let cases: &[(&str, &[&str], i32)] = &[
        ("check a: false\ncheck b: true\n", &["run", "--all"], 40),
        (
            "check a: false\ncheck b: true\n",
            &["run", "--all", "--keep-going"],
            40,
        ),
        (
            "check a {\n  run sleep 60\n  timeout 50ms\n}\n",
            &["run", "--all"],
            43,
        ),
        (
            "check a {\n  run sleep 60\n}\n",
            &["run", "--all", "--budget", "50ms"],
            43,
        ),
        ("check a: no-such-program-anywhere\n", &["run", "--all"], 5),
        (
            "whenChangedAny \"docs/**\" {\n  check a: true\n}\n",
            &["run", "--changed", "x"],
            0,
        ),
        (
            "whenChangedAny \"docs/**\" {\n  check a: true\n}\n",
            &["run", "--changed", "x", "--require", "some"],
            44,
        ),
        (
            "check a: true\ncheck b: true\n",
            &[
                "run",
                "--all",
                "--skip",
                "b",
                "--reason",
                "x",
                "--require",
                "full",
            ],
            44,
        ),
        ("check a: true\n", &["run", "--all", "--mode", "off"], 0),
        (
            "check a: true\ncheck b: true\n",
            &["run", "--all", "--shard", "2/2"],
            0,
        ),
        (
            "check a: true\n",
            &["run", "--all", "--command", "true && echo x"],
            0,
        ),
        (
            "scope {\n  allow \"src/**\"\n}\ncheck a: true\n",
            &["run", "--changed", "x"],
            40,
        ),
    ];
    for (contract, args, exit) in cases {
        let project = Project::contract(&format!("vplan 1\n{contract}"));
        project.run(args).exits(*exit);
        let ran = project.run(&["verify"]);
        ran.exits(0).says("holds");
        project.run(&["details"]).exits(0);
        project.run(&["report"]).exits(0);
    }
}

#[test]
fn the_memo_of_giving_up() {
    let project = project();
    project.remove("ok");
    let again = id(&project
        .run(&[
            "run",
            "--changed",
            "a",
            "--attempt",
            "3",
            "--format",
            "json",
        ])
        .exits(40)
        .json());
    assert!(
        !folder(&project, &again).join("stop.md").exists(),
        "a round is left"
    );
    let last = project
        .run(&[
            "run",
            "--changed",
            "a",
            "--attempt",
            "4",
            "--format",
            "json",
        ])
        .exits(40)
        .json();
    assert_eq!(last["decision"], "fail");
    let memo = std::fs::read_to_string(folder(&project, &id(&last)).join("stop.md")).unwrap();
    for words in [
        "# Verification gave up",
        "verification_failed_max_retries",
        "## Failed: `unit`",
        "exit code 1",
        "red",
        "How to go on",
    ] {
        assert!(memo.contains(words), "{words}: {memo}");
    }
    assert!(!memo.contains('\u{1b}'));
    project
        .run(&["run", "--changed", "a", "--attempt", "9"])
        .exits(40);
    project.write("ok", "");
    let passed = id(&project
        .run(&[
            "run",
            "--changed",
            "a",
            "--attempt",
            "9",
            "--format",
            "json",
        ])
        .exits(0)
        .json());
    assert!(!folder(&project, &passed).join("stop.md").exists());
}

#[test]
fn what_is_printed_is_harmless() {
    let contract = "vplan 1\ncheck a {\n  run sh -c \"printf '\\\\033]0;title\\\\007\\\\033[2Jx\\\\r::error::y\\\\n'; exit 1\"\n}\n";
    let project = Project::contract(contract);
    project.run(&["run", "--all", "--attempt", "9"]).exits(40);
    for words in [
        &["status"][..],
        &["runs"],
        &["details"],
        &["log", "a"],
        &["report"],
        &["stats"],
        &["verify"],
    ] {
        let ran = project.run(words);
        let text = ran.exits(0).out();
        assert!(
            !text.contains(['\u{1b}', '\u{7}', '\r']),
            "{words:?}: {text:?}"
        );
    }
    project
        .run(&["help", "events"])
        .exits(0)
        .says("run.finished")
        .says("verify_failed_max_retries");
}

#[test]
fn what_an_answer_did_not_mean_is_said_afterwards_too() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    project.write("x", "1").commit("earlier");
    project.run(&["run", "--base", "HEAD"]).exits(0);
    let said = "`--base` leaves out commits that are not on `refs/remotes/origin/main`";
    project
        .run(&["details"])
        .exits(0)
        .says(&format!("! {said}; without `--base`"));
    let document = project
        .run(&["details", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (
            &document["caveats"][0]["code"],
            &document["caveats"][0]["effect"]
        ),
        (&"base_later".into(), &"narrows".into())
    );
    project
        .run(&["details", "--check", "a"])
        .exits(0)
        .never_says(said);
    project.run(&["report", "--html", "../page.html"]).exits(0);
    assert!(
        project
            .read("../page.html")
            .contains("<p class=\"note\">`--base` leaves out commits"),
        "on the page"
    );
    project.run(&["run"]).exits(0);
    project.run(&["details"]).exits(0).never_says("leaves out");
    let document = project
        .run(&["details", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(document["caveats"], serde_json::json!([]));
}
