//! The runner end to end: what a plan's execution does, says, exits with and leaves behind.

use crate::support::Project;
use crate::support::process::{Bounded as _, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use vplan::run::journal::{JournalEnd, StepState, replay};

/// A project with these checks: a name and the lines of its block.
fn project(checks: &[(&str, &[&str])]) -> Project {
    let block = |(name, lines): &(&str, &[&str])| {
        format!("check {name} {{\n  {}\n}}\n", lines.join("\n  "))
    };
    Project::contract(&format!(
        "vplan 1\n{}",
        checks.iter().map(block).collect::<String>()
    ))
}

/// The directory of the only run.
fn record(project: &Project) -> PathBuf {
    let mut runs: Vec<_> = std::fs::read_dir(project.path(".vplan/runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

fn step<'a>(report: &'a Value, id: &str) -> &'a Value {
    report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["id"] == id)
        .unwrap_or_else(|| panic!("no {id}: {report:#}"))
}

fn statuses(report: &Value) -> Vec<String> {
    let word = |v: &Value| v.as_str().unwrap_or("-").to_owned();
    let steps = report["steps"].as_array().unwrap().iter();
    steps
        .map(|s| {
            format!(
                "{} {} {}",
                word(&s["id"]),
                word(&s["status"]),
                word(&s["reason"])
            )
        })
        .collect()
}

#[test]
fn what_came_of_it() {
    // Checks, flags, exit code, verdict, and each step's end.
    type Case<'a> = (
        &'a [(&'a str, &'a [&'a str])],
        &'a [&'a str],
        i32,
        &'a str,
        &'a [&'a str],
    );
    let cases: &[Case<'_>] = &[
        (&[("a", &["run true"])], &[], 0, "passed", &["a passed -"]),
        (
            &[("a", &["run false"]), ("b", &["run true"])],
            &[],
            40,
            "failed",
            &["a failed exit_code", "b not_run fail_fast"],
        ),
        (
            &[("a", &["run false"]), ("b", &["run true"])],
            &["--keep-going"],
            40,
            "failed",
            &["a failed exit_code", "b passed -"],
        ),
        (
            &[
                ("a", &["run false", "severity warning"]),
                ("b", &["run true", "needs a"]),
                ("c", &["run true"]),
            ],
            &[],
            44,
            "incomplete",
            &["a failed exit_code", "b not_run needs", "c passed -"],
        ),
        (
            &[("a", &["compile false"])],
            &[],
            41,
            "failed",
            &["a failed exit_code"],
        ),
        (
            &[("a", &["test false"])],
            &[],
            42,
            "failed",
            &["a failed exit_code"],
        ),
        (
            &[("a", &["shell exit 3", "exit 3 4"])],
            &[],
            0,
            "passed",
            &["a passed -"],
        ),
        (
            &[("a", &["shell exit 7"])],
            &[],
            40,
            "failed",
            &["a failed exit_code"],
        ),
        (
            &[("a", &["shell kill -9 $$"])],
            &[],
            40,
            "failed",
            &["a failed signal"],
        ),
        (
            &[("a", &["run no-such-program-at-all"])],
            &[],
            5,
            "errored",
            &["a errored missing"],
        ),
        (
            &[("a", &["run true", "dir \"nowhere\""])],
            &[],
            5,
            "errored",
            &["a errored missing"],
        ),
        (
            &[("a", &["run sleep 600", "timeout 50ms"])],
            &[],
            43,
            "timed_out",
            &["a timed_out time_limit"],
        ),
    ];
    for (checks, flags, exit, verdict, ends) in cases {
        let ran = project(checks).run(&[&["run", "--all", "--format", "json"], *flags].concat());
        let report = ran.exits(*exit).json();
        assert_eq!(report["verdict"], *verdict, "{checks:?}: {report:#}");
        let mut got = statuses(&report);
        got.sort();
        assert_eq!(got, *ends, "{checks:?}");
        assert_eq!(report["exitCode"], *exit);
    }
}

#[test]
fn a_try_that_passes_later_is_flaky() {
    let project = project(&[(
        "a",
        &["shell test -e mark || { touch mark; exit 1; }", "retries 2"],
    )]);
    let report = project
        .run(&["run", "--all", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(statuses(&report), ["a flaky retried"]);
    assert_eq!(step(&report, "a")["tries"], 2);
    assert!(
        !record(&project).join("logs/a.1.log").exists(),
        "it said nothing"
    );
}

#[test]
fn the_record_tells_the_same_as_the_report() {
    let project = project(&[
        ("a", &["run echo out"]),
        ("b", &["shell echo err >&2; exit 1"]),
        ("c", &["run true"]),
    ]);
    let report = project
        .run(&["run", "--all", "--format", "json"])
        .exits(40)
        .json();
    let record = record(&project);
    let read = |name: &str| std::fs::read(record.join(name)).unwrap();
    assert_eq!(
        record.file_name().unwrap().to_str(),
        report["runId"].as_str()
    );
    assert_eq!(read("logs/a.1.log"), b"out\n");
    assert_eq!(read("logs/b.1.log"), b"err\n");
    assert_eq!(read("logs/b.1.log.index"), b"e 4\n");
    assert_eq!(step(&report, "a")["log"], "logs/a.1.log");
    assert_eq!(step(&report, "b")["stderrTail"], "err\n");
    assert_eq!(
        serde_json::from_slice::<Value>(&read("report.json")).unwrap(),
        report
    );
    let plan: Value = serde_json::from_slice(&read("plan.json")).unwrap();
    assert_eq!(plan["steps"].as_array().unwrap().len(), 3);
    let run = replay(&read("events.jsonl"));
    assert!(
        matches!(run.end, JournalEnd::Finished { exit_code: 40, .. }),
        "{run:?}"
    );
    assert!(!run.is_pass());
    // git does not see it, and the next run begins another one.
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

/// Every prefix of a journal can be read, and none of them but the whole one is more than an
/// interrupted run.
#[test]
fn every_prefix_of_a_record_is_an_interrupted_run() {
    let project = project(&[("a", &["run echo out"]), ("b", &["run true"])]);
    project.run(&["run", "--all"]).exits(0);
    let events = std::fs::read(record(&project).join("events.jsonl")).unwrap();
    assert!(replay(&events).is_pass());
    for length in 0..events.len() {
        assert_eq!(
            replay(&events[..length]).end,
            JournalEnd::Interrupted,
            "{length}"
        );
    }
}

#[test]
fn an_interrupted_run_is_recorded() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let project = project(&[
            ("a", &["shell echo here; exec sleep 600"]),
            ("b", &["run true"]),
            ("c", &["run touch cleaned", "always"]),
        ]);
        let mut command = project
            .vplan(&["run", "--all", "--format", "json"])
            .command();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        eventually("the step speaks", || spoke(&project, "a"));
        kill_process(pid, signal).unwrap();
        let output = child.finished();
        assert_eq!(output.status.code(), Some(code));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["verdict"], "cancelled");
        assert_eq!(step(&report, "b")["status"], "not_run");
        assert!(project.exists("cleaned"), "what is always run is run");
        assert!(matches!(
            replay(&std::fs::read(record(&project).join("events.jsonl")).unwrap()).end,
            JournalEnd::Finished { .. }
        ));
    }
}

/// The tests send signals of their own, also where a script's background job or `nohup` starts them
/// with some ignored.
#[test]
fn the_tests_signals_are_their_own() {
    const THIS: &str = "execution::an_interrupted_run_is_recorded";
    let mut again = std::process::Command::new("sh");
    again
        .args(["-c", "trap '' INT HUP TERM USR1 CHLD; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap());
    again
        .args([THIS, "--exact"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = again.spawn().unwrap().finished();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

fn spoke(project: &Project, step: &str) -> bool {
    let Ok(mut runs) = std::fs::read_dir(project.path(".vplan/runs")) else {
        return false;
    };
    let log = |run: std::fs::DirEntry| run.path().join(format!("logs/{step}.1.log"));
    runs.any(|run| std::fs::metadata(log(run.unwrap())).is_ok_and(|m| m.len() > 0))
}

#[test]
fn a_killed_run_is_interrupted_and_leaves_nobody() {
    let project = project(&[
        ("first", &["run echo done"]),
        ("a", &["shell setsid sleep 614159 & echo here; wait"]),
    ]);
    let mut command = project.vplan(&["run", "--all"]).command();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the step speaks", || spoke(&project, "a"));
    child.kill().unwrap();
    child.ended();
    let run = replay(&std::fs::read(record(&project).join("events.jsonl")).unwrap());
    assert_eq!(run.end, JournalEnd::Interrupted);
    let stands: Vec<_> = run.steps.iter().map(|s| (s.id.as_str(), s.state)).collect();
    assert!(
        matches!(
            stands[..],
            [("first", StepState::Ended(..)), ("a", StepState::Running)]
        ),
        "{stands:?}"
    );
    let root = project.root();
    eventually("nobody is left", || !anybody_in(&root));
    project.run(&["run", "--all", "--only", "first"]).exits(0);
}

/// Whether a process has its working directory there.
fn anybody_in(root: &Path) -> bool {
    let root = root.canonicalize().unwrap();
    let links = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|e| std::fs::read_link(e.path().join("cwd")).ok());
    links.into_iter().any(|cwd| cwd.starts_with(&root))
}

#[test]
fn side_by_side_and_never_two_of_the_same() {
    // Each claims a directory that only one can have.
    let claims: &[&str] = &[
        "shell mkdir claim && sleep 0.05 && rmdir claim",
        "exclusive claim",
    ];
    project(&[("p", claims), ("q", claims), ("r", claims)])
        .run(&["run", "--all", "-j", "4"])
        .exits(0);
    // Two that wait for each other need to run at the same time.
    let meet = |own: &str, other: &str| {
        format!("shell touch {own}; until test -e {other}; do sleep 0.01; done")
    };
    let (p, q) = (meet("p", "q"), meet("q", "p"));
    project(&[("p", &[&p]), ("q", &[&q])])
        .run(&["run", "--all", "-j", "2"])
        .exits(0);
}

/// However short the steps are, a place that is free is given away before anything else ends.
#[test]
fn short_steps_lie_side_by_side() {
    let checks: String = (0..200)
        .map(|n| format!("check c{n}: true {n}\n"))
        .collect();
    let project = Project::contract(&format!("vplan 1\n{checks}"));
    project.run(&["run", "--changed-none", "-j", "2"]).exits(0);
    let events = std::fs::read_to_string(record(&project).join("events.jsonl")).unwrap();
    let (mut running, mut beside, mut started) = (0, 0, 0);
    for event in events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
    {
        match event["type"].as_str().unwrap() {
            "step.started" => {
                started += 1;
                beside += usize::from(running > 0);
                running += 1;
            }
            "step.finished" => running -= 1,
            _ => {}
        }
    }
    // Where both end at once, the first of the next two finds nobody.
    assert!(started == 200 && beside >= 100, "{beside} of {started}");
}

#[test]
fn unchanged_means_unchanged() {
    let project = project(&[
        ("a", &["shell echo x >> gen/a.txt", "unchanged \"gen/**\""]),
        ("b", &["run true", "unchanged \"gen/**\""]),
    ]);
    project.write("gen/a.txt", "1\n").commit("generated");
    let report = project
        .run(&["run", "--all", "--keep-going", "--format", "json"])
        .exits(40)
        .json();
    assert_eq!(statuses(&report), ["a failed mutated", "b passed -"]);
    assert!(
        step(&report, "a")["detail"]
            .as_str()
            .unwrap()
            .contains("gen/a.txt"),
        "{report:#}"
    );
}

#[test]
fn redaction_no_secret_substring() {
    let project = project(&[("a", &["shell echo [$MY_TOKEN]", "pass-env MY_TOKEN"])]);
    let run = |flags: &[&str]| {
        let args = [&["run", "--all", "--format", "json"], flags].concat();
        project.vplan(&args).env("MY_TOKEN", "open-sesame").run()
    };
    let without = run(&[]);
    assert_eq!(step(&without.exits(0).json(), "a")["stdoutTail"], "[]\n");
    without.warns("--grant-env MY_TOKEN");
    let with = run(&["--grant-env", "MY_TOKEN"]);
    assert_eq!(step(&with.exits(0).json(), "a")["stdoutTail"], "[***]\n");
    let grep = std::process::Command::new("grep")
        .args(["-r", "open-sesame", ".vplan"])
        .current_dir(project.root())
        .status();
    assert_eq!(
        grep.unwrap().code(),
        Some(1),
        "no file of the record holds it"
    );
}

/// In a report file and in the JSON of a test runner a secret is spelled otherwise than it is.
#[test]
fn redaction_in_what_is_read() {
    let secret = "open&\"sesame\"<now>";
    let xml = secret
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;");
    let long = format!("{}{xml}", "x".repeat(100_000));
    let suite = |what: &str| {
        format!(
            "<testsuite name='s'><testcase name='{what}' file='{what}'><failure message='{what}'>{what}</failure></testcase></testsuite>"
        )
    };
    let json = secret.replace('"', "\\\"");
    let line = |rest: &str| format!("{{\"Package\":\"p\",\"Test\":\"T{json}\",{rest}}}\n");
    let go = [
        line("\"Action\":\"run\""),
        line(&format!("\"Action\":\"output\",\"Output\":\"{json}\\n\"")),
        line("\"Action\":\"fail\""),
    ]
    .concat();
    let project = project(&[
        (
            "a",
            &[
                "test cp a.xml out/a.xml",
                "report junit \"out/a.xml\"",
                "pass-env MY_TOKEN",
            ],
        ),
        (
            "b",
            &[
                "test cp b.xml out/b.xml",
                "report junit \"out/b.xml\"",
                "pass-env MY_TOKEN",
            ],
        ),
        ("c", &["test cat c.json", "format go", "pass-env MY_TOKEN"]),
    ]);
    project
        .write("a.xml", suite(&xml))
        .write("b.xml", suite(&long))
        .write("c.json", go)
        .write("out/.keep", "");
    project.commit("what they write");
    let args = [
        "run",
        "--all",
        "--keep-going",
        "--format",
        "json",
        "--grant-env",
        "MY_TOKEN",
    ];
    let ran = project.vplan(&args).env("MY_TOKEN", secret).run();
    let report = ran.exits(42).json();
    for id in ["a", "b", "c"] {
        assert_eq!(step(&report, id)["tests"]["failed"], 1, "{report:#}");
    }
    assert_eq!(
        step(&report, "a")["failedTests"][0]["name"],
        "***",
        "{report:#}"
    );
    assert_eq!(
        step(&report, "c")["failedTests"][0]["name"],
        "T***",
        "{report:#}"
    );
    let grep = |what: &str| {
        std::process::Command::new("grep")
            .args(["-rlF", what, ".vplan"])
            .current_dir(project.root())
            .output()
            .unwrap()
    };
    // As it is, as JSON has it, as XML has it, and as far as a place that is cut may show it.
    for spelled in [secret, &json, &xml, "sesame"] {
        let found = String::from_utf8(grep(spelled).stdout).unwrap();
        assert!(
            !ran.out().contains(spelled) && found.is_empty(),
            "{spelled}: {found}"
        );
    }
}

#[test]
fn exe_resolution_ignores_repo_path_entries() {
    let project = project(&[("a", &["run own-tool"])]);
    project.script("bin/own-tool", "#!/bin/sh\n");
    project.commit("a tool");
    let path = format!("bin:{}:/usr/bin:/bin", project.path("bin").display());
    let ran = project
        .vplan(&["run", "--all"])
        .env("PATH", path.clone())
        .run();
    ran.exits(5).says("tool-path");
    project.write(
        "contracts/verify.vplan",
        "vplan 1\ncheck a {\n  run own-tool\n  tool-path \"bin\"\n}\n",
    );
    project
        .vplan(&["run", "--all"])
        .env("PATH", path)
        .run()
        .exits(0);
}

#[test]
fn records_elsewhere() {
    let project = project(&[("a", &["run true"])]);
    let place = project.parent().join("elsewhere");
    project
        .run(&[
            "run".as_ref(),
            "--all".as_ref(),
            "--records".as_ref(),
            place.as_os_str(),
        ])
        .exits(0);
    assert!(place.join("runs").is_dir() && !project.exists(".vplan"));
    project.symlink(".vplan", place.to_str().unwrap());
    project
        .run(&["run", "--all"])
        .exits(5)
        .warns("is not a directory, or is a symlink")
        .warns("--records");
}

/// A thousand passes do not hide a failure.
#[test]
fn many_steps_stay_readable() {
    let checks: String = (0..300)
        .map(|i| format!("check s{i}: {}\n", if i == 150 { "false" } else { "true" }))
        .collect();
    let project = Project::contract(&format!("vplan 1\n{checks}"));
    let ran = project.run(&["run", "--changed-none", "--keep-going", "--jobs", "2"]);
    ran.exits(40)
        .says("299 steps passed")
        .says("✗ s150")
        .never_says("✓ s1 ");
    let err = ran.err();
    assert!(
        err.contains("✗ s150") && err.contains("  300/300  ") && err.lines().count() < 15,
        "{err}"
    );
    let few = Project::contract("vplan 1\ncheck a: true\n");
    few.run(&["run", "--changed-none"]).exits(0).warns("✓ a");
}
