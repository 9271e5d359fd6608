//! The runner end to end: what `vplan run` says, records and decides.

use crate::support::process::Bounded as _;
use crate::support::{Project, Ran};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn json_of(project: &Project, args: &[&str]) -> (i32, Value) {
    let ran = project.run(&[&["run", "--format", "json", "--changed-none"], args].concat());
    (ran.exit.unwrap(), ran.json())
}

/// `id:status` or `id:status(reason)` of each step, in order.
fn statuses(report: &Value) -> String {
    let one = |s: &Value| {
        let reason = s["reason"]
            .as_str()
            .map_or(String::new(), |r| format!("({r})"));
        format!(
            "{}:{}{reason}",
            s["id"].as_str().unwrap(),
            s["status"].as_str().unwrap()
        )
    };
    report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(one)
        .collect::<Vec<_>>()
        .join(" ")
}

fn step<'a>(report: &'a Value, id: &str) -> &'a Value {
    report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["id"] == id)
        .unwrap()
}

/// The directories of all runs, oldest first.
fn runs(project: &Project) -> Vec<PathBuf> {
    let mut runs: Vec<_> = std::fs::read_dir(project.path(".vplan/runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    runs.sort();
    runs
}

fn events(run: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("events.jsonl")).unwrap();
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

/// Every file below a directory.
fn everything(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|w| w == word.as_bytes())
}

const ALL: &str = r#"vplan 1
check pass: true
check warn {
  run sh -c 'echo careful >&2; exit 3'
  severity warning
}
check flaky {
  shell test -e ../tried || { touch ../tried; exit 1; }
  retries 1
}
check slow {
  run sleep 600
  timeout 300ms
}
check skip {
  run sh -c 'exit 77'
  skip-exit 77
}
check missing: no-such-program
check behind {
  run true
  needs missing
}
check crash: sh -c 'kill -s SEGV $$'
check leaky: sh -c 'sleep 600 & echo done'
"#;

#[test]
fn every_status() {
    let project = Project::contract(ALL);
    let (exit, report) = json_of(&project, &["--keep-going"]);
    assert_eq!(
        statuses(&report),
        "pass:passed warn:failed(exit_code) flaky:flaky(retried) slow:timed_out(time_limit) skip:skipped(skip_exit) \
         missing:errored(missing) behind:not_run(needs) crash:failed(signal) leaky:passed"
    );
    // A time limit comes before a missing tool among the codes, and after it among the verdicts.
    assert_eq!(
        (exit, &report["exitCode"], &report["verdict"]),
        (43, &json!(43), &json!("errored"))
    );
    assert_eq!(
        (&report["coverage"], &report["decision"]),
        (&json!("narrowed"), &json!("retry"))
    );
    assert_eq!(
        (
            &step(&report, "flaky")["tries"],
            &step(&report, "slow")["signal"]
        ),
        (&json!(2), &json!("SIGTERM"))
    );
    assert_eq!(
        (
            &step(&report, "warn")["stderrTail"],
            &step(&report, "warn")["exitCode"]
        ),
        (&json!("careful\n"), &json!(3))
    );
    assert_eq!(
        (
            &step(&report, "crash")["signal"],
            &step(&report, "leaky")["leaked"]
        ),
        (&json!("SIGSEGV"), &json!(1))
    );
    assert_eq!(
        step(&report, "missing")["failureCode"],
        "setup_or_bootstrap_issue"
    );
    assert_eq!(step(&report, "slow")["failureCode"], "verification_timeout");
    let feedback = &report["feedback"];
    assert_eq!(
        (&feedback["stepId"], &feedback["failedCommand"]),
        (&json!("slow"), &json!("sleep 600")),
        "the first that blocks"
    );

    // The record says the same: report.json, the plan by its digest, each line of the journal
    // numbered.
    let run = runs(&project).remove(0);
    assert_eq!(report["runId"], run.file_name().unwrap().to_str().unwrap());
    let stored: Value =
        serde_json::from_slice(&std::fs::read(run.join("report.json")).unwrap()).unwrap();
    assert_eq!(stored, report);
    let events = events(&run);
    assert!(
        events.iter().enumerate().all(|(i, e)| e["seq"] == i),
        "numbered without a gap"
    );
    let plan = std::fs::read(run.join("plan.json")).unwrap();
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    assert_eq!(plan["steps"].as_array().unwrap().len(), 9);
    assert!(
        events
            .iter()
            .any(|e| e["type"] == "plan.compiled" && e["digest"] == report["planDigest"])
    );
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["exitCode"], &last["verdict"]),
        (&json!("run.finished"), &json!(43), &json!("errored"))
    );
    assert_eq!(
        std::fs::read_to_string(run.join("logs/warn.1.log")).unwrap(),
        "careful\n"
    );
    assert_eq!(step(&report, "warn")["log"], "logs/warn.1.log");
    assert!(
        step(&report, "pass")["log"].is_null(),
        "who says nothing has no log"
    );

    // What was started is known to the bit.
    let program = &step(&report, "warn")["program"];
    let path = program["path"].as_str().unwrap();
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(
        program["digest"],
        vplan::base::canon::Digest::hash(&bytes).to_string()
    );
    assert_eq!(program["size"], bytes.len());
    assert!(
        events
            .iter()
            .any(|e| e["type"] == "program.resolved" && e["program"] == *program)
    );
    assert!(
        events
            .iter()
            .any(|e| e["type"] == "step.finished" && e["id"] == "warn" && e["program"] == path)
    );
}

#[test]
fn for_people() {
    let project = Project::contract(ALL);
    let ran = project.run(&["run", "--changed-none", "--keep-going"]);
    ran.exits(43)
        .says("! warn")
        .says("only a warning: exit code 3")
        .says("⧖ slow")
        .says("sleep 600");
    ran.says("  │ careful")
        .says("whole output: .vplan/runs/")
        .says("flaky: passed on try 2");
    ran.says(
        "errored, with narrowed coverage: 3 passed, 1 of them flaky, 2 failed, 1 could not be run",
    );
    ran.says("1 failed as a warning, 1 skipped, 1 not run")
        .says("`missing` could not be run: `no-such-program` is not on");
    ran.warns("✓ pass").says("left 1 process behind");
    let quiet = project.run(&["run", "--changed-none", "--only", "pass", "-q"]);
    quiet.exits(0).is_quiet();
    assert_eq!(quiet.out(), "");
    let none = project.run(&[
        "run",
        "--changed-none",
        "--only",
        "pass",
        "--progress",
        "none",
    ]);
    none.exits(0).is_quiet().says("passed");
    // A live view without a terminal to draw it on draws nothing and harms nothing.
    project
        .run(&[
            "run",
            "--changed-none",
            "--only",
            "pass",
            "--progress",
            "bar",
        ])
        .exits(0)
        .says("✓ pass");
}

#[test]
fn fail_fast_and_always() {
    let project = Project::contract(
        "vplan 1\ncheck a: true\ncheck b: false\ncheck c: touch c\ncheck d {\n  run touch d\n  always\n}\n",
    );
    let (exit, report) = json_of(&project, &[]);
    assert_eq!(
        statuses(&report),
        "a:passed b:failed(exit_code) c:not_run(fail_fast) d:passed"
    );
    assert_eq!(
        (exit, project.exists("c"), project.exists("d")),
        (40, false, true)
    );
    let (_, report) = json_of(&project, &["--keep-going"]);
    assert_eq!(
        statuses(&report),
        "a:passed b:failed(exit_code) c:passed d:passed"
    );
}

#[test]
fn verdicts_and_codes() {
    for (contract, args, exit, verdict, coverage) in [
        (
            "check a {\n compile false\n}\ncheck b {\n test false\n}",
            &["--keep-going"][..],
            41,
            "failed",
            "full",
        ),
        (
            "check a {\n test false\n}\ncheck b {\n lint false\n}",
            &["--keep-going"],
            42,
            "failed",
            "full",
        ),
        (
            "check a {\n lint false\n}\ncheck b: no-such-program",
            &["--keep-going"],
            40,
            "errored",
            "full",
        ),
        (
            "check a {\n run false\n setup\n}\ncheck b: true",
            &[],
            5,
            "failed",
            "full",
        ),
        (
            "check a {\n run true\n setup\n}",
            &[],
            44,
            "incomplete",
            "full",
        ),
        (
            "check a {\n run false\n severity warning\n}\ncheck b: true",
            &[],
            0,
            "passed",
            "full",
        ),
        (
            "check a: true\ncheck b: true",
            &["--skip", "a", "--reason", "later"],
            0,
            "passed",
            "narrowed",
        ),
        (
            "check a: true\ncheck b: true",
            &["--skip", "a", "--reason", "later", "--require", "full"],
            44,
            "passed",
            "narrowed",
        ),
        (
            "whenChangedAny \"x\" {\n check a: true\n}",
            &[],
            0,
            "nothing_to_verify",
            "full",
        ),
        (
            "whenChangedAny \"x\" {\n check a: true\n}",
            &["--require", "some"],
            44,
            "nothing_to_verify",
            "full",
        ),
        (
            "check a: true",
            &["--mode", "off"],
            0,
            "nothing_to_verify",
            "narrowed",
        ),
        (
            "check a: sleep 600\ncheck b: true",
            &["--budget", "1s"],
            43,
            "incomplete",
            "full",
        ),
        ("check a: ./no-such-file", &[], 5, "errored", "full"),
        (
            "check a {\n run true\n dir \"nowhere\"\n}",
            &[],
            5,
            "errored",
            "full",
        ),
        ("check a: ./no-interpreter", &[], 5, "errored", "full"),
    ] {
        let project = Project::contract(&format!("vplan 1\n{contract}\n"));
        project.script("no-interpreter", "#!/nowhere/sh\n");
        let (code, report) = json_of(&project, args);
        let got = (
            code,
            report["verdict"].as_str().unwrap(),
            report["coverage"].as_str().unwrap(),
        );
        assert_eq!(
            got,
            (exit, verdict, coverage),
            "{contract} {args:?}: {report}"
        );
        let human = project.run(&[&["run", "--changed-none"], args].concat());
        human.exits(exit).says(&verdict.replace('_', " "));
    }
}

/// One after another or side by side: the same report but for the times.
#[test]
fn jobs_make_no_difference() {
    let mut contract = "vplan 1\n".to_owned();
    for i in 0..12 {
        let end = if i == 7 { "exit 1" } else { "true" };
        contract += &format!("check c{i}: sh -c 'echo {i}; {end}'\n");
    }
    contract += "check x {\n  run true\n  needs c3 c7\n}\n";
    let project = Project::contract(&contract);
    let bare = |args: &[&str]| {
        let (exit, mut report) = json_of(&project, args);
        for key in ["durationMs", "runId", "planDigest"] {
            report.as_object_mut().unwrap().remove(key);
        }
        report["feedback"].as_object_mut().unwrap().remove("runId");
        for step in report["steps"].as_array_mut().unwrap() {
            step.as_object_mut().unwrap().remove("durationMs");
        }
        (exit, report)
    };
    assert_eq!(bare(&["--jobs", "4"]), bare(&["--jobs", "1"]));
    assert_eq!(
        bare(&["--jobs", "4", "--keep-going"]),
        bare(&["--jobs", "1", "--keep-going"])
    );
}

#[test]
fn exclusive_steps_do_not_meet() {
    let mut contract = "vplan 1\n".to_owned();
    for i in 0..4 {
        contract += &format!(
            "check c{i} {{\n  run sh -c 'mkdir port && sleep 0.05 && rmdir port'\n  exclusive port\n}}\n"
        );
    }
    let (exit, report) = json_of(&Project::contract(&contract), &["--jobs", "4"]);
    assert_eq!(exit, 0, "{report}");
}

#[test]
fn what_a_generator_changes() {
    let project = Project::contract(
        "vplan 1\ncheck gen {\n  shell echo new > made.txt\n  unchanged \"made.txt\"\n}\ncheck idle {\n  run true\n  unchanged \"made.txt\"\n}\n",
    );
    project.write("made.txt", "old\n").commit("stale");
    let (exit, report) = json_of(&project, &["--keep-going"]);
    assert_eq!(
        (exit, statuses(&report).as_str()),
        (40, "gen:failed(mutated) idle:passed")
    );
    assert!(
        step(&report, "gen")["detail"]
            .as_str()
            .unwrap()
            .contains("made.txt"),
        "{report}"
    );
    assert_eq!(json_of(&project, &[]).0, 0, "fresh now");
}

#[test]
fn programs_of_the_repository() {
    let project = Project::contract(
        "vplan 1\ncheck plain: tool\ncheck asked {\n  run tool\n  tool-path \"bin\"\n}\ncheck slash: ./bin/tool\n",
    );
    project.script("bin/tool", "#!/bin/sh\necho mine\n");
    let path = format!(
        "{}:.:{}",
        project.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let ran = project
        .vplan(&["run", "--changed-none", "--keep-going", "--format", "json"])
        .env("PATH", path)
        .run();
    ran.exits(5);
    let report = ran.json();
    assert_eq!(
        statuses(&report),
        "plain:errored(missing) asked:passed slash:passed"
    );
    let detail = step(&report, "plain")["detail"].as_str().unwrap();
    assert!(
        detail.contains("`bin`") && detail.contains("tool-path"),
        "{detail}"
    );
}

#[test]
fn standard_input_is_not_the_caller_s() {
    let project =
        Project::contract("vplan 1\ncheck reads: sh -c 'read line && exit 1; test ! -t 0'\n");
    project
        .vplan(&["run", "--changed-none"])
        .stdin("a line\n")
        .run()
        .exits(0);
}

/// Two keys for a secret, and its value nowhere, in however many pieces it is written.
#[test]
fn secrets() {
    let secret = "hunter2-hunter2";
    let contract = r#"vplan 1
check a {
  run sh -c 'printf "%s\n" "got:${DEPLOY_TOKEN:-nothing}:${PLAIN:-nothing}:${OTHER:-nothing}"; printf hunter2-; sleep 0.05; echo hunter2 >&2; printf "hunter2\n"; printf "hunter2-hunter" >&2; sleep 0.05; echo 2 >&2; exit 1'
  pass-env DEPLOY_TOKEN PLAIN
}
"#;
    let run = |args: &[&str]| {
        let project = Project::contract(contract);
        let ran: Ran = project
            .vplan(&[&["run", "--changed-none", "--events", "events"], args].concat())
            .env("DEPLOY_TOKEN", secret)
            .env("PLAIN", "plain")
            .env("OTHER", "other")
            .run();
        ran.exits(40);
        (project, ran)
    };
    let (_, ran) = run(&[]);
    ran.says("got:nothing:plain:nothing")
        .warns("`DEPLOY_TOKEN` looks like a secret: `--grant-env DEPLOY_TOKEN`");

    for args in [&["--grant-env", "DEPLOY_TOKEN"][..], &["--inherit-env"]] {
        for format in ["text", "json"] {
            let (project, ran) = run(&[args, &["--format", format]].concat());
            ran.says("got:***:plain:")
                .never_says(secret)
                .never_says("withheld");
            let found = everything(&project.path(".vplan"));
            assert!(found.len() > 4);
            for (path, bytes) in &found {
                assert!(!holds(bytes, secret), "{} holds the secret", path.display());
            }
            let log = found
                .iter()
                .find(|(p, _)| p.ends_with("a.1.log"))
                .unwrap()
                .1;
            // Standard output is one stream and standard error another; pieces are put together in
            // each.
            assert_eq!(
                String::from_utf8_lossy(log).matches("***").count(),
                3,
                "{:?}",
                String::from_utf8_lossy(log)
            );
            assert!(!project.read("events").contains(secret));
        }
    }
    let (project, ran) = run(&["--inherit-env", "--format", "json"]);
    ran.says("got:***:plain:other");
    assert_eq!(ran.json()["environment"], json!({"inherited": true}));
    assert_eq!(
        events(&runs(&project)[0])[0]["environment"]["inherited"],
        true,
        "a killed run says so too"
    );
    let (_, ran) = run(&["--grant-env", "DEPLOY_TOKEN", "--format", "json"]);
    assert_eq!(
        ran.json()["environment"],
        json!({"granted": ["DEPLOY_TOKEN"], "inherited": false})
    );
}

#[test]
fn too_much_output() {
    let project = Project::contract("vplan 1\ncheck a: perl -e 'print \"x\" x 300000'\n");
    let (exit, _) = json_of(&project, &["--max-output", "100KiB"]);
    assert_eq!(exit, 0);
    let log = std::fs::read(runs(&project)[0].join("logs/a.1.log")).unwrap();
    assert!(log.len() > 102_400 && log.len() < 102_500, "{}", log.len());
    assert!(log.ends_with(b"\n[vplan: cut here, after 102400 bytes]\n"));
}

/// Text of a step cannot act as vplan: no terminal sequences, no lines without a bar.
#[test]
fn output_is_inert() {
    let project = Project::contract(
        "vplan 1\ncheck a: sh -c 'printf \"\\033[2J\\033]0;owned\\007\\r\\nverdict: passed\\n::error::x\\n\"; exit 1'\n",
    );
    let ran = project.run(&["run", "--changed-none"]);
    ran.exits(40)
        .says("  │ verdict: passed")
        .says("  │ ::error::x");
    assert!(!holds(&ran.stdout, "\u{1b}") && !holds(&ran.stderr, "\u{1b}"));
}

#[test]
fn where_events_go() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    let ran = project.run(&["run", "--changed-none", "--events", "-"]);
    ran.exits(0).warns("passed: 1 passed");
    let lines: Vec<Value> = ran
        .out()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(
        lines,
        events(&runs(&project)[0]),
        "standard output is the stream and nothing else"
    );
    project
        .run(&["run", "--changed-none", "--events", "-", "--format", "json"])
        .exits(2);
    project
        .run(&["run", "--changed-none", "--events", "no/such/dir"])
        .exits(2)
        .warns("no/such/dir");
}

#[test]
fn where_records_go() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    let elsewhere = project.parent().join("records");
    project
        .run(&[
            "run",
            "--changed-none",
            "--records",
            elsewhere.to_str().unwrap(),
        ])
        .exits(0);
    assert!(!project.exists(".vplan") && elsewhere.join("runs").exists());
    project.run(&["run", "--changed-none"]).exits(0);
    assert_eq!(
        project.git(&["status", "--porcelain"]),
        "",
        "a record is no change"
    );

    std::fs::remove_dir_all(project.path(".vplan")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, project.path(".vplan")).unwrap();
    project
        .run(&["run", "--changed-none"])
        .exits(5)
        .warns("symlink")
        .warns("--records DIR");
    std::fs::remove_file(project.path(".vplan")).unwrap();
    project.write(".vplan", "");
    project
        .run(&["run", "--changed-none"])
        .exits(5)
        .warns("not a directory");
    std::fs::remove_file(project.path(".vplan")).unwrap();
    project
        .write(".vplan/x", "")
        .git(&["add", "-f", ".vplan/x"]);
    project
        .run(&["run", "--changed-none"])
        .exits(2)
        .warns("tracked")
        .warns("git rm -r --cached .vplan");
}

#[test]
fn a_change_out_of_scope() {
    let project =
        Project::contract("vplan 1\nscope {\n  allow \"src/**\"\n}\ncheck a: touch ran\n");
    let ran = project.run(&["run", "--changed", "docs/x", "src/y", "--format", "json"]);
    ran.exits(40);
    let report = ran.json();
    assert_eq!(
        (statuses(&report).as_str(), &report["verdict"]),
        ("a:not_run(policy)", &json!("failed"))
    );
    assert!(
        report["reason"].as_str().unwrap().contains("docs/x"),
        "{report}"
    );
    assert!(!project.exists("ran"), "nothing was run");
    project
        .run(&["run", "--changed", "docs/x"])
        .exits(40)
        .says("docs/x");
    project.run(&["run", "--changed", "src/y"]).exits(0);
}

#[test]
fn what_a_repair_leaves_behind() {
    let project = Project::contract("vplan 1\n");
    project
        .write(
            "Makefile",
            "build/x:\n\tmkdir -p build && echo x > build/x\nclean:\n\trm -rf build\n",
        )
        .commit("make");
    let commands = [
        "--command",
        "make build/x",
        "--command",
        "make clean",
        "--command",
        "test -f build/x",
    ];
    let (exit, report) = json_of(&project, &commands);
    assert_eq!(exit, 0, "{report}");
    let rewrite = &report["rewrites"][0];
    assert_eq!(rewrite["recoveryRule"], "reorder-after-cleanup");
    assert_eq!(rewrite["reason"], "verification_command_sequence_adjusted");
    assert_eq!(
        rewrite["previousCommands"],
        json!(["make build/x", "make clean", "test -f build/x"])
    );
    assert_eq!(
        rewrite["nextCommands"],
        json!(["make build/x", "test -f build/x", "make clean"])
    );
    assert_eq!(rewrite["coverage"], "full");
    assert_eq!(rewrite["nextDigest"], report["planDigest"]);
    assert_ne!(rewrite["previousDigest"], report["planDigest"]);
    let superseded: Vec<&str> = report["superseded"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["command"].as_str().unwrap())
        .collect();
    assert_eq!(
        superseded,
        ["make build/x", "make clean", "test -f build/x"],
        "everything ran again, the producer included"
    );
    let run = runs(&project).remove(0);
    let kinds: Vec<String> = events(&run)
        .iter()
        .map(|e| e["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds.iter().filter(|k| *k == "plan.compiled").count(), 2);
    assert_eq!(kinds.iter().filter(|k| *k == "plan.rewritten").count(), 1);
    let plan = std::fs::read(run.join("plan.json")).unwrap();
    assert!(
        holds(&plan, "make clean") && !holds(&plan, "\"digest\":null"),
        "the plan that was executed last"
    );

    let refused = project.run(&[
        "run",
        "--changed",
        "deleted:package.json",
        "--command",
        "npm run nope",
        "--no-preflight",
    ]);
    assert_ne!(refused.exit, Some(0));
    let (exit, report) = json_of(&project, &["--command", "make nope", "--no-preflight"]);
    assert_ne!(exit, 0);
    assert_eq!(
        report["refusals"][0]["recoveryRule"], "drop-missing-make-target",
        "{report}"
    );
    project
        .run(&[
            "run",
            "--changed-none",
            "--command",
            "make nope",
            "--no-preflight",
        ])
        .says("was not applied");
    let (_, report) = json_of(
        &project,
        &["--command", "make nope", "--no-preflight", "--no-recover"],
    );
    assert!(
        report["refusals"].is_null() && report["rewrites"] == json!([]),
        "the bare failure"
    );
}

#[test]
fn containment() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    let (exit, report) = json_of(&project, &["--require-containment", "subtree"]);
    assert_eq!((exit, &report["containment"]), (0, &json!("subtree")));
}

/// A line that was printed too early is put right.
#[test]
fn a_pass_behind_a_failure() {
    let project = Project::contract(
        "vplan 1\ncheck a: sh -c 'until grep -q \"✓ b\" said; do sleep 0.01; done; exit 1'\ncheck b: true\n",
    );
    let vplan = project
        .vplan(&["run", "--changed-none", "--jobs", "2"])
        .command();
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "exec \"$0\" \"$@\" > said 2>&1"])
        .arg(vplan.get_program())
        .args(vplan.get_args());
    shell
        .current_dir(project.root())
        .env_clear()
        .envs(vplan.get_envs().filter_map(|(n, v)| Some((n, v?))));
    assert_eq!(shell.spawn().unwrap().ended().code(), Some(40));
    let text = project.read("said");
    let lines: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("  ✓ b") || l.starts_with("  - b"))
        .collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[1].contains("not run: `a` failed before it"), "{text}");
    assert_eq!(text.matches("✗ a ").count(), 1, "{text}");
}
