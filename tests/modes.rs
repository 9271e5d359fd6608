//! Where do checks come from? The five modes, and the proposer with everything that can be wrong with its answer.

use crate::support::Project;
use std::time::{Duration, Instant};

const CONTRACT: &str = "vplan 1\ncheck lint: true\nwhenChangedAny \"src/**\" {\n  check unit: true\n}\n";

fn project() -> Project {
    Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("src/a.c", "a"),
        ("Makefile", "test:\n\t@true\ncheck:\n\t@true\n"),
    ])
}

/// A proposer that keeps its question in `question.json` beside the project and answers `answer`.
fn proposer(project: &Project, answer: &str) -> String {
    project.write("../answer", answer);
    project.script(
        "../propose",
        "#!/bin/sh\ndir=$(dirname \"$0\")\ncat > \"$dir/question.json\"\nexec cat \"$dir/answer\"\n",
    );
    project.path("../propose").to_str().unwrap().to_owned()
}

fn ids(ran: &crate::support::Ran) -> Vec<String> {
    ran.json()["steps"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_mode_and_what_it_takes() {
    let project = project();
    let with =
        proposer(&project, r#"{"commands":["make test",{"command":"make check","why":"the Makefile has it"},"true"]}"#);
    for (mode, changed, want) in [
        ("off", "src/a.c", &[][..]),
        ("contract", "src/a.c", &["lint", "unit"]),
        ("fallback", "src/a.c", &["lint", "unit"]),
        // What the contract has already is not proposed again: `true` is `lint`.
        ("llm", "src/a.c", &["lint", "unit", "make-test", "make-check"]),
        // The contract asks for something: nobody else is asked.
        ("hybrid", "src/a.c", &["lint", "unit"]),
    ] {
        let ran = project.run(&["run", "--mode", mode, "--proposer", &with, "--changed", changed, "--format", "json"]);
        ran.exits(0);
        assert_eq!(ids(&ran), want, "{mode}");
    }
}

#[test]
fn hybrid_asks_in_turn() {
    let project = project();
    project.write("contracts/verify.vplan", "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: true\n}\n");
    let run = |with: Option<&str>| {
        let mut words = vec!["run", "--mode", "hybrid", "--changed", "README", "--format", "json"];
        words.extend(with.iter().flat_map(|w| ["--proposer", w]));
        let ran = project.run(&words);
        ran.exits(0);
        let origin = ran.json()["steps"][0]["id"].as_str().unwrap_or_default().to_owned();
        (origin, project.exists("../question.json"))
    };
    assert_eq!(run(None), ("check".to_owned(), false), "no proposer: what the repository declares");
    let with = proposer(&project, r#"{"version":1,"commands":["make test"]}"#);
    assert_eq!(run(Some(&with)), ("make-test".to_owned(), true));
    let none = proposer(&project, r#"{"commands":[]}"#);
    assert_eq!(run(Some(&none)), ("check".to_owned(), true), "it knew nothing");
}

#[test]
fn a_contract_that_is_missing_or_invalid_is_passed_over_by_no_mode() {
    let project = project();
    let with = proposer(&project, r#"{"commands":["true"]}"#);
    for (text, code) in [(None, "vplan::load::missing"), (Some("vplan 1\nchek a: true\n"), "vplan::contract::invalid")]
    {
        match text {
            Some(text) => drop(project.write("contracts/verify.vplan", text)),
            None => {
                project.remove("contracts/verify.vplan");
                project.commit("no contract");
            }
        }
        for mode in ["llm", "hybrid", "contract"] {
            let ran = project.run(&["run", "--mode", mode, "--proposer", &with, "--changed", "src/a.c"]);
            ran.exits(3).warns(code);
        }
    }
    assert!(!project.exists("../question.json"), "nobody was asked");
    project.remove("contracts/verify.vplan");
    project
        .run(&["run", "--mode", "llm", "--proposer", &with, "--changed", "src/a.c", "--command", "make test"])
        .exits(0)
        .says("make-test");
}

#[test]
fn the_question_and_its_record() {
    let project = project();
    let with = proposer(&project, r#"{"commands":["make test"]}"#);
    let request =
        ["--mode", "llm", "--changed", "src/a.c", "--changed", "deleted:b", "--role", "tester", "--risk", "high"];
    let mut words = vec!["run", "--proposer", &with, "--command", "make check", "--format", "json"];
    words.extend(request);
    project.run(&words).exits(0);
    let question: serde_json::Value = serde_json::from_str(&project.read("../question.json")).unwrap();
    assert_eq!(question["version"], 1);
    assert_eq!(question["role"], "tester");
    assert_eq!(question["risk"], "high");
    assert_eq!(question["explicit"], serde_json::json!(["make check"]));
    assert_eq!(question["changed"][1], serde_json::json!({"path": "src/a.c", "status": "modified"}));
    assert_eq!(question["checks"][0], serde_json::json!({"command": "true", "id": "lint"}));
    let runs: Vec<_> = std::fs::read_dir(project.path(".vplan/runs")).unwrap().map(|e| e.unwrap().path()).collect();
    let text = |name: &str| std::fs::read_to_string(runs[0].join(name)).unwrap();
    let record: serde_json::Value = serde_json::from_str(&text("proposal.json")).unwrap();
    assert_eq!(record["question"], question);
    assert_eq!(record["answer"]["commands"][0]["command"], "make test");
    let plan: serde_json::Value = serde_json::from_str(&text("plan.json")).unwrap();
    let digest = vplan::base::canon::Digest::of(project.read("../question.json").as_bytes());
    assert_eq!(plan["request"]["proposal"]["question"], digest.to_string());
    let proposed = plan["steps"].as_array().unwrap().iter().find(|s| s["id"] == "make-test").unwrap().clone();
    assert_eq!((&proposed["origin"], &proposed["reasons"][0]["condition"]), (&"proposed".into(), &"proposed".into()));
}

#[test]
fn an_answer_is_recorded_for_the_change_as_it_is() {
    // The lock that is written belongs to the change from then on, and must not make the question another one.
    let project = project();
    project.write("src/a.c", "b");
    let with = proposer(&project, r#"{"commands":[{"command":"make test","why":"it is the test"}]}"#);
    project.run(&["explain", "--mode", "llm", "--locked"]).exits(2);
    let recorded = project.run(&["lock", "--record", "--mode", "llm", "--proposer", &with, "--format", "json"]);
    let question = recorded.exits(0).json()["recorded"].clone();
    let plan = project.run(&["plan", "--mode", "llm", "--locked", "--format", "json"]);
    plan.exits(0);
    assert_eq!(plan.json()["request"]["proposal"]["question"], question);
    let changed = plan.json()["request"]["changed"].to_string();
    assert!(changed.contains("contracts/verify.lock.kdl"), "the plan says what changed: {changed}");
    project.run(&["run", "--mode", "llm", "--locked"]).exits(0).says("make test");
    let again = project.run(&["lock", "--record", "--mode", "llm", "--proposer", &with, "--format", "json"]);
    assert_eq!(again.exits(0).json()["recorded"], question);
}

#[test]
fn quiet_commands_start_no_proposer() {
    let project = project();
    let with = proposer(&project, r#"{"commands":["make test"]}"#);
    for command in ["explain", "plan"] {
        let ran = project.run(&[command, "--mode", "llm", "--proposer", &with, "--changed", "src/a.c"]);
        ran.exits(4).warns("vplan::proposer::not_recorded").warns("lock --record");
    }
    assert!(!project.exists("../question.json"));
    project.run(&["plan", "--mode", "llm", "--changed", "src/a.c"]).exits(2).warns("vplan::usage::no_proposer");
}

#[test]
fn operators_are_repaired_or_dropped_never_run_by_a_shell() {
    let project = project();
    let with = proposer(
        &project,
        r#"{"commands":["make test && make check","make test > pwned","true; touch pwned","$(touch pwned)"]}"#,
    );
    let ran = project.run(&["run", "--mode", "llm", "--proposer", &with, "--changed", "src/a.c", "--format", "json"]);
    ran.exits(0);
    let report = ran.json();
    assert_eq!(report["coverage"], "narrowed");
    let rules: Vec<&str> =
        report["rewrites"].as_array().unwrap().iter().map(|r| r["recoveryRule"].as_str().unwrap()).collect();
    let drop = "drop-unsupported-format";
    assert_eq!(rules, ["split-conjunction", drop, drop, drop]);
    assert!(!project.exists("pwned"));
}

#[test]
fn bad_proposers() {
    let project = project();
    let big = format!("{{\"commands\":[{}]}}", vec!["\"true\""; 300_000].join(","));
    for (answer, part) in [
        ("", "not the JSON"),
        ("I would run `make test`.", "not the JSON"),
        ("[\"make test\"]", "not the JSON"),
        (r#"{"commands":"make test"}"#, "invalid type"),
        (r#"{"commands":[42]}"#, "neither a string nor an object"),
        (r#"{"commands":["make test"],"exec":true}"#, "unknown field"),
        (r#"{"commands":["make\u0000test"]}"#, "NUL"),
        ("\u{1b}[2J{}", "not the JSON"),
    ] {
        let with = proposer(&project, answer);
        let ran = project.run(&["run", "--mode", "llm", "--proposer", &with, "--changed", "src/a.c"]);
        ran.exits(5).warns("vplan::proposer::bad_answer").warns(part).never_says("\u{1b}[2J");
    }
    let with = proposer(&project, &big);
    let ran = project.run(&["run", "--mode", "llm", "--proposer", &with, "--changed", "src/a.c"]);
    ran.exits(5).warns("vplan::proposer::too_much");
    for (command, code, part) in [
        ("sh -c 'echo no key >&2; exit 7'", "failed", "no key"),
        ("sh -c 'kill -9 $$'", "failed", "signal 9"),
        ("no-such-program", "not_started", "no-such-program"),
        ("sh -c 'yes'", "too_much", "stopped"),
        ("sh -c 'kill -9 $PPID; sleep 600'", "failed", "supervisor"),
    ] {
        let ran = project.run(&["run", "--mode", "llm", "--proposer", command, "--changed", "src/a.c"]);
        ran.exits(5).warns(&format!("vplan::proposer::{code}")).warns(part);
    }
    for command in ["a && b", "make {changed}", ""] {
        let ran = project.run(&["run", "--mode", "llm", "--proposer", command, "--changed", "src/a.c"]);
        ran.exits(2).warns("vplan::usage::proposer");
    }
    assert!(!project.exists(".vplan"), "nothing was run");
}

#[test]
fn a_proposer_that_hangs_is_stopped_with_all_it_started() {
    let project = project();
    // It writes its own and its child's number, and both would outlive the test by far.
    project.script("../hang", "#!/bin/sh\nsetsid sleep 600 & echo $! > \"$(dirname \"$0\")/pids\"\necho $$ >> \"$(dirname \"$0\")/pids\"\nexec sleep 600\n");
    let with = project.path("../hang").to_str().unwrap().to_owned();
    let started = Instant::now();
    let ran =
        project.run(&["run", "--mode", "llm", "--proposer", &with, "--proposer-timeout", "2s", "--changed", "src/a.c"]);
    ran.exits(5).warns("vplan::proposer::timed_out").warns("--proposer-timeout");
    assert!(started.elapsed() < Duration::from_secs(300));
    for pid in project.read("../pids").split_whitespace() {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
    }
}

#[test]
fn a_proposer_that_does_not_read_answers_too() {
    let project = project();
    let files: Vec<String> = (0..20_000).map(|n| format!("src/file-with-a-long-name-{n}.c")).collect();
    project.write("../changed", files.join("\n"));
    let changed = project.path("../changed").to_str().unwrap().to_owned();
    let ran = project.run(&[
        "run",
        "--mode",
        "llm",
        "--proposer",
        "echo '{\"commands\":[\"make test\"]}'",
        "--changed-from",
        &changed,
        "--format",
        "json",
    ]);
    ran.exits(0);
    assert_eq!(ids(&ran), ["lint", "unit", "make-test"]);
}
