//! Where do checks come from? The five modes, and the proposer with everything that can be wrong
//! with its answer.

use crate::support::Project;
use crate::support::process::Bounded as _;
use std::time::{Duration, Instant};

const CONTRACT: &str =
    "vplan 1\ncheck lint: true\nwhenChangedAny \"src/**\" {\n  check unit: true\n}\n";

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
    ran.json()["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_mode_and_what_it_takes() {
    let project = project();
    let with = proposer(
        &project,
        r#"{"commands":["make test",{"command":"make check","why":"the Makefile has it"},"true"]}"#,
    );
    for (mode, changed, want) in [
        ("off", "src/a.c", &[][..]),
        ("contract", "src/a.c", &["lint", "unit"]),
        ("fallback", "src/a.c", &["lint", "unit"]),
        // What the contract has already is not proposed again: `true` is `lint`.
        (
            "llm",
            "src/a.c",
            &["lint", "unit", "make-test", "make-check"],
        ),
        // The contract asks for something: nobody else is asked.
        ("hybrid", "src/a.c", &["lint", "unit"]),
    ] {
        let ran = project.run(&[
            "run",
            "--mode",
            mode,
            "--proposer",
            &with,
            "--changed",
            changed,
            "--format",
            "json",
        ]);
        ran.exits(0);
        assert_eq!(ids(&ran), want, "{mode}");
    }
}

#[test]
fn hybrid_asks_in_turn() {
    let project = project();
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: true\n}\n",
    );
    let run = |with: Option<&str>| {
        let mut words = vec![
            "run",
            "--mode",
            "hybrid",
            "--changed",
            "README",
            "--format",
            "json",
        ];
        words.extend(with.iter().flat_map(|w| ["--proposer", w]));
        let ran = project.run(&words);
        ran.exits(0);
        let origin = ran.json()["steps"][0]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        (origin, project.exists("../question.json"))
    };
    assert_eq!(
        run(None),
        ("test".to_owned(), false),
        "no proposer: what the repository declares"
    );
    let with = proposer(&project, r#"{"version":1,"commands":["make test"]}"#);
    assert_eq!(run(Some(&with)), ("make-test".to_owned(), true));
    let none = proposer(&project, r#"{"commands":[]}"#);
    assert_eq!(
        run(Some(&none)),
        ("test".to_owned(), true),
        "it knew nothing"
    );
}

#[test]
fn a_contract_that_is_invalid_is_passed_over_by_no_mode_and_a_missing_one_where_there_is_a_proposer()
 {
    let project = project();
    let with = proposer(&project, r#"{"commands":["true"]}"#);
    let run = |mode| {
        project.run(&[
            "run",
            "--mode",
            mode,
            "--proposer",
            &with,
            "--changed",
            "src/a.c",
        ])
    };
    project.write("contracts/verify.vplan", "vplan 1\nchek a: true\n");
    for mode in ["llm", "hybrid", "contract"] {
        run(mode).exits(3).warns("vplan::contract::invalid");
    }
    project.remove("contracts/verify.vplan");
    project.commit("no contract");
    run("contract").exits(3).warns("vplan::load::missing");
    assert!(!project.exists("../question.json"), "nobody was asked");
    for mode in ["llm", "hybrid"] {
        run(mode).exits(0).says("there is no contract");
    }
    project
        .run(&[
            "run",
            "--mode",
            "llm",
            "--proposer",
            &with,
            "--changed",
            "src/a.c",
            "--command",
            "make test",
        ])
        .exits(0)
        .says("make-test");
}

#[test]
fn the_question_and_its_record() {
    let project = project();
    let with = proposer(&project, r#"{"commands":["make test"]}"#);
    let request = [
        "--mode",
        "llm",
        "--changed",
        "src/a.c",
        "--changed",
        "deleted:b",
        "--role",
        "tester",
        "--risk",
        "high",
    ];
    let mut words = vec![
        "run",
        "--proposer",
        &with,
        "--command",
        "make check",
        "--format",
        "json",
    ];
    words.extend(request);
    project.run(&words).exits(0);
    let question: serde_json::Value =
        serde_json::from_str(&project.read("../question.json")).unwrap();
    assert_eq!(question["version"], 1);
    assert_eq!(question["role"], "tester");
    assert_eq!(question["risk"], "high");
    assert_eq!(question["explicit"], serde_json::json!(["make check"]));
    assert_eq!(
        question["changed"][1],
        serde_json::json!({"path": "src/a.c", "status": "modified"})
    );
    assert_eq!(
        question["checks"][0],
        serde_json::json!({"command": "true", "id": "lint"})
    );
    let runs: Vec<_> = std::fs::read_dir(project.path(".vplan/runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    let text = |name: &str| std::fs::read_to_string(runs[0].join(name)).unwrap();
    let record: serde_json::Value = serde_json::from_str(&text("proposal.json")).unwrap();
    assert_eq!(record["question"], question);
    assert_eq!(record["answer"]["commands"][0]["command"], "make test");
    let plan: serde_json::Value = serde_json::from_str(&text("plan.json")).unwrap();
    let digest = vplan::base::canon::Digest::hash(project.read("../question.json").as_bytes());
    assert_eq!(plan["request"]["proposal"]["question"], digest.to_string());
    let proposed = plan["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["id"] == "make-test")
        .unwrap()
        .clone();
    assert_eq!(
        (&proposed["origin"], &proposed["reasons"][0]["condition"]),
        (&"proposed".into(), &"proposed".into())
    );
}

#[test]
fn an_answer_is_recorded_for_the_change_as_it_is() {
    // The lock that is written belongs to the change from then on, and must not make the question
    // another one.
    let project = project();
    project.write("src/a.c", "b");
    let with = proposer(
        &project,
        r#"{"commands":[{"command":"make test","why":"it is the test"}]}"#,
    );
    project
        .run(&["explain", "--mode", "llm", "--locked"])
        .exits(4)
        .warns("vplan::proposer::not_recorded");
    let recorded = project.run(&[
        "lock",
        "--record",
        "--mode",
        "llm",
        "--proposer",
        &with,
        "--format",
        "json",
    ]);
    let question = recorded.exits(0).json()["recorded"].clone();
    let plan = project.run(&["plan", "--mode", "llm", "--locked", "--format", "json"]);
    plan.exits(0);
    assert_eq!(plan.json()["request"]["proposal"]["question"], question);
    let changed = plan.json()["request"]["changed"].to_string();
    assert!(
        changed.contains("contracts/verify.lock.kdl"),
        "the plan says what changed: {changed}"
    );
    project
        .run(&["run", "--mode", "llm", "--locked"])
        .exits(0)
        .says("make test");
    let again = project.run(&[
        "lock",
        "--record",
        "--mode",
        "llm",
        "--proposer",
        &with,
        "--format",
        "json",
    ]);
    assert_eq!(again.exits(0).json()["recorded"], question);
}

#[test]
fn quiet_commands_start_no_proposer() {
    let project = project();
    let with = proposer(&project, r#"{"commands":["make test"]}"#);
    for command in ["explain", "plan"] {
        let ran = project.run(&[
            command,
            "--mode",
            "llm",
            "--proposer",
            &with,
            "--changed",
            "src/a.c",
        ]);
        ran.exits(4)
            .warns("vplan::proposer::not_recorded")
            .warns("lock --record");
    }
    assert!(!project.exists("../question.json"));
    project
        .run(&["plan", "--mode", "llm", "--changed", "src/a.c"])
        .exits(4)
        .warns("vplan::proposer::not_recorded");
    project
        .run(&["run", "--mode", "llm", "--changed", "src/a.c"])
        .exits(2)
        .warns("vplan::usage::no_proposer");
}

#[test]
fn operators_are_repaired_or_dropped_never_run_by_a_shell() {
    let project = project();
    let with = proposer(
        &project,
        r#"{"commands":["make test && make check","make test > pwned","true; touch pwned","echo $(touch pwned)"]}"#,
    );
    let ran = project.run(&[
        "run",
        "--mode",
        "llm",
        "--proposer",
        &with,
        "--changed",
        "src/a.c",
        "--format",
        "json",
    ]);
    ran.exits(0);
    let report = ran.json();
    assert_eq!(report["coverage"], "narrowed");
    let rules: Vec<&str> = report["rewrites"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["recoveryRule"].as_str().unwrap())
        .collect();
    let drop = "drop-unsupported-format";
    assert_eq!(rules, ["split-conjunction", drop, drop, drop]);
    // Its first word is not known: it may change the shell, and is not dropped.
    let with = proposer(&project, r#"{"commands":["$(touch pwned)","make test"]}"#);
    project
        .run(&[
            "run",
            "--mode",
            "llm",
            "--proposer",
            &with,
            "--changed",
            "src/a.c",
        ])
        .exits(40);
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
        let ran = project.run(&[
            "run",
            "--mode",
            "llm",
            "--proposer",
            &with,
            "--changed",
            "src/a.c",
        ]);
        ran.exits(44)
            .says(part)
            .says("2 passed")
            .never_says("\u{1b}[2J");
    }
    let with = proposer(&project, &big);
    let ran = project.run(&[
        "run",
        "--mode",
        "llm",
        "--proposer",
        &with,
        "--changed",
        "src/a.c",
    ]);
    ran.exits(44).says("gave no answer");
    for (command, part) in [
        ("sh -c 'echo no key >&2; exit 7'", "no key"),
        ("sh -c 'kill -9 $$'", "signal 9"),
        ("no-such-program", "no-such-program"),
        ("sh -c 'yes'", "stopped"),
        ("sh -c 'kill -9 $PPID; sleep 600'", "supervisor"),
        (
            "sh -c 'exec >&- 2>&-; sleep 0.2; kill -9 $PPID; sleep 600'",
            "supervisor",
        ),
    ] {
        let ran = project.run(&[
            "run",
            "--mode",
            "llm",
            "--proposer",
            command,
            "--changed",
            "src/a.c",
        ]);
        ran.exits(44).says(part).says("2 passed");
    }
    let project = self::project();
    for command in ["a && b", "make {changed}", ""] {
        let ran = project.run(&[
            "run",
            "--mode",
            "llm",
            "--proposer",
            command,
            "--changed",
            "src/a.c",
        ]);
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
    let ran = project.run(&[
        "run",
        "--mode",
        "llm",
        "--proposer",
        &with,
        "--proposer-timeout",
        "2s",
        "--changed",
        "src/a.c",
    ]);
    ran.exits(44)
        .says("gave no answer")
        .says("--proposer-timeout");
    assert!(started.elapsed() < Duration::from_secs(300));
    for pid in project.read("../pids").split_whitespace() {
        assert!(
            !std::path::Path::new(&format!("/proc/{pid}")).exists(),
            "{pid} is still there"
        );
    }
}

#[test]
fn a_proposer_that_does_not_read_answers_too() {
    let project = project();
    let files: Vec<String> = (0..20_000)
        .map(|n| format!("src/file-with-a-long-name-{n}.c"))
        .collect();
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

const LOCK: &str = "contracts/verify.lock.kdl";
const ASK: [&str; 4] = ["--mode", "llm", "--changed", "src/a.c"];

/// Records what a proposer says to `ASK`, and forgets that it was asked.
fn record(project: &Project, answer: &str) {
    let with = proposer(project, answer);
    project
        .run(&[&["lock", "--record", "--proposer", &with][..], &ASK].concat())
        .exits(0)
        .says("1 recorded answer");
    project.remove("../question.json");
}

#[test]
fn a_recorded_answer_is_replayed_by_every_command() {
    let project = project();
    record(
        &project,
        r#"{"commands":[{"command":"make test","why":"the \u001b[2J Makefile has it"},"make check"]}"#,
    );
    let with = project.path("../propose").to_str().unwrap().to_owned();
    let asked = || project.exists("../question.json");
    let want = ["lint", "unit", "make-test", "make-check"];
    for (words, more) in [
        (&["plan", "--format", "json"][..], &[][..]),
        (&["plan", "--format", "json", "--locked"], &[]),
        (&["run", "--format", "json"], &[]),
        (&["run", "--format", "json"], &["--proposer", &with]),
        (
            &["run", "--format", "json", "--locked"],
            &["--proposer", &with],
        ),
    ] {
        let ran = project.run(&[words, &ASK, more].concat());
        ran.exits(0);
        assert_eq!(ids(&ran), want, "{words:?} {more:?}");
    }
    let ran = project.run(&[&["explain"][..], &ASK].concat());
    ran.exits(0)
        .says("make-test")
        .says("proposed")
        .never_says("\u{1b}[2J");
    assert!(!asked(), "a recorded answer is enough");
    // Another request is another question, whoever could be asked.
    for (words, more) in [
        (&["explain"][..], &["--changed", "src/b.c"][..]),
        (&["plan"], &["--changed", "src/a.c", "--role", "tester"]),
        (
            &["plan"],
            &["--changed", "src/a.c", "--command", "make all"],
        ),
        (&["run", "--locked"], &["--changed", "src/b.c"]),
        (
            &["run", "--locked"],
            &["--changed", "src/b.c", "--proposer", &with],
        ),
        (
            &["run", "--locked"],
            &[
                "--changed",
                "src/a.c",
                "--risk",
                "high",
                "--proposer",
                &with,
            ],
        ),
    ] {
        let ran = project.run(&[words, &["--mode", "llm"], more].concat());
        ran.exits(4)
            .warns("vplan::proposer::not_recorded")
            .warns("lock --record");
        assert!(ran.stdout.is_empty());
    }
    assert!(!asked());
    // So is the same request under another contract.
    project.write(
        "contracts/verify.vplan",
        CONTRACT.replace("check unit: true", "check unit: make check"),
    );
    project
        .run(&[&["explain"][..], &ASK].concat())
        .exits(4)
        .warns("not_recorded");
}

#[test]
fn a_record_is_changed_by_nothing_but_recording() {
    let project = project();
    record(&project, r#"{"commands":["make test"]}"#);
    let first = project.read(LOCK);
    let with = proposer(&project, r#"{"commands":["make check"]}"#);
    let other = [
        "lock",
        "--record",
        "--mode",
        "llm",
        "--changed",
        "src/b.c",
        "--proposer",
        &with,
        "--format",
        "json",
    ];
    let ran = project.run(&other);
    let account = ran.exits(0).json();
    assert_eq!(
        (&account["proposals"], &account["written"]),
        (&2.into(), &true.into())
    );
    let question = vplan::base::canon::Digest::hash(project.read("../question.json").as_bytes());
    assert_eq!(account["recorded"], question.to_string());
    let both = project.read(LOCK);
    assert!(
        both.contains(first.trim_start_matches(|c| c != '\n').trim()),
        "the first one stays as it was:\n{both}"
    );
    assert_eq!(both.matches("\nproposal ").count(), 2);
    // Recording again asks again, and changes that entry alone.
    record_again(&project, r#"{"commands":["make test","make check"]}"#);
    let again = project.read(LOCK);
    let differ = both
        .lines()
        .zip(again.lines())
        .filter(|(a, b)| a != b)
        .count();
    assert_eq!(
        (both.lines().count(), differ),
        (again.lines().count(), 1),
        "{both}\n{again}"
    );
    let ran = project.run(&[&["plan", "--format", "json"][..], &ASK].concat());
    assert_eq!(ids(&ran), ["lint", "unit", "make-test", "make-check"]);
    // The other uses of the lock leave the answers alone.
    project.run(&["lock"]).exits(0).says("2 recorded answers");
    project
        .run(&["lock", "--check"])
        .exits(0)
        .says("2 recorded answers");
    project.run(&["lock", "--locked"]).exits(0);
    assert_eq!(project.read(LOCK), again);
}

fn record_again(project: &Project, answer: &str) {
    let with = proposer(project, answer);
    project
        .run(&[&["lock", "--record", "--proposer", &with][..], &ASK].concat())
        .exits(0)
        .says("2 recorded answers");
}

#[test]
fn a_record_that_was_edited_is_not_used() {
    let project = project();
    record(&project, r#"{"commands":["make test"]}"#);
    let good = project.read(LOCK);
    let forged = good.replace("make test", "make evil");
    assert_ne!(good, forged);
    project.write(LOCK, &forged);
    for command in ["explain", "plan", "run"] {
        let ran = project.run(&[&[command][..], &ASK].concat());
        ran.exits(4)
            .warns("vplan::lock::seal")
            .warns("verify.lock.kdl:3:");
    }
    project
        .run(&["lock", "--check"])
        .exits(4)
        .warns("vplan::lock::seal");
    // With a seal that fits it is another answer, and must still be one.
    for answer in [
        "no JSON",
        r#"{"commands":[1]}"#,
        r#"{"version":9,"commands":[]}"#,
    ] {
        let (mut lock, _) = vplan::lock::decode(&good, vplan::base::span::SourceId(0));
        let mut entry = lock.proposals.first().unwrap().clone();
        entry.answer = answer.to_owned();
        lock.record(entry);
        project.write(LOCK, vplan::lock::encode(&lock));
        for words in [&["explain"][..], &["run", "--locked"], &["run"]] {
            let ran = project.run(&[words, &ASK].concat());
            ran.exits(4)
                .warns("vplan::proposer::bad_record")
                .warns("--record");
        }
    }
    record(&project, r#"{"commands":["make test"]}"#);
    assert_eq!(project.read(LOCK), good);
}

#[test]
fn what_cannot_be_recorded() {
    let project = project();
    let with = proposer(&project, r#"{"commands":["make test"]}"#);
    let bad = proposer(&project, "nonsense");
    assert_eq!(with, bad);
    for (words, exit, says) in [
        (
            &["lock", "--record", "--proposer", &with][..],
            2,
            "vplan::usage::record",
        ),
        (
            &["lock", "--record", "--mode", "llm"],
            2,
            "vplan::usage::no_proposer",
        ),
        (
            &[
                "lock",
                "--record",
                "--mode",
                "hybrid",
                "--changed",
                "src/a.c",
                "--proposer",
                &with,
            ],
            2,
            "asks neither a proposer nor a judge",
        ),
        (
            &["lock", "--record", "--mode", "llm", "--proposer", "a | b"],
            2,
            "vplan::usage::proposer",
        ),
        (
            &[
                "lock",
                "--record",
                "--mode",
                "llm",
                "--proposer",
                &with,
                "--role",
                "nobody",
            ],
            2,
            "nobody",
        ),
        (
            &[
                "lock",
                "--record",
                "--mode",
                "llm",
                "--proposer",
                &with,
                "--locked",
            ],
            2,
            "--locked",
        ),
        (
            &[
                "lock",
                "--record",
                "--mode",
                "llm",
                "--proposer",
                &with,
                "--contract-from",
                "HEAD",
            ],
            2,
            "work tree",
        ),
        (&["lock", "--record", "--check"], 2, "--check"),
        (&["lock", "--mode", "llm"], 2, "--record"),
        (&["lock", "--changed", "src/a.c"], 2, "--record"),
        (&["lock", "--check", "--role", "tester"], 2, "--check"),
        (&["lock", "--proposer", &with], 2, "--record"),
        (
            &["lock", "--record", "--mode", "llm", "--proposer", "/none"],
            5,
            "vplan::proposer::not_started",
        ),
        (
            &["lock", "--record", "--mode", "llm", "--proposer", &with],
            5,
            "vplan::proposer::bad_answer",
        ),
        (
            &[
                "lock",
                "--record",
                "--mode",
                "llm",
                "--proposer",
                "sh -c 'exit 1'",
            ],
            5,
            "vplan::proposer::failed",
        ),
    ] {
        let ran = project.run(words);
        ran.exits(exit).warns(says);
        assert!(ran.stdout.is_empty() && !project.exists(LOCK), "{words:?}");
        let asked = std::fs::remove_file(project.path("../question.json")).is_ok();
        assert_eq!(
            asked,
            says == "vplan::proposer::bad_answer",
            "nobody is asked for nothing: {words:?}"
        );
    }
}

#[test]
fn two_records_at_once() {
    let project = project();
    let with = proposer(&project, r#"{"commands":["make test"]}"#);
    for _ in 0..3 {
        let running: Vec<_> = (0..4)
            .map(|n| {
                let changed = format!("src/{n}.c");
                let words = [
                    "lock",
                    "--record",
                    "--mode",
                    "llm",
                    "--changed",
                    &changed,
                    "--proposer",
                    &with,
                ];
                let mut command = project.vplan(&words).command();
                command
                    .stdin(std::process::Stdio::null())
                    .stdout(std::process::Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for mut child in running {
            assert!(child.ended().success());
        }
        for n in 0..4 {
            project
                .run(&[
                    "explain",
                    "--mode",
                    "llm",
                    "--changed",
                    &format!("src/{n}.c"),
                ])
                .exits(0)
                .says("make-test");
        }
        project
            .run(&["lock", "--check"])
            .exits(0)
            .says("4 recorded answers");
        project.remove(LOCK);
    }
}

#[test]
fn a_saved_plan_with_a_proposal() {
    let project = project();
    record(&project, r#"{"commands":["make test && make check"]}"#);
    project
        .run(&[&["plan", "-o", "../p.kdl"][..], &ASK].concat())
        .exits(0);
    let steps = [
        "lint",
        "unit",
        "make-test-make-check-1",
        "make-test-make-check-2",
    ];
    let ran = project.run(&["run", "--plan", "../p.kdl", "--locked", "--format", "json"]);
    ran.exits(0);
    assert_eq!(ids(&ran), steps);
    let mut reports = vec!["merge".to_owned(), "--format".to_owned(), "json".to_owned()];
    for shard in ["1/2", "2/2"] {
        let ran = project.run(&[
            "run", "--plan", "../p.kdl", "--shard", shard, "--format", "json",
        ]);
        ran.exits(0);
        let name = format!("../{}.json", &shard[..1]);
        project.write(&name, &ran.stdout);
        reports.push(name);
    }
    let ran = project.run(&reports);
    assert_eq!(ran.exits(0).json()["verdict"], "passed");
    assert_eq!(ids(&ran), steps);
    let ran = project.run(&reports[..4]);
    assert_eq!(ran.exits(44).json()["verdict"], "incomplete");
    assert!(!project.exists("../question.json"));
    // Another answer under the same question is another plan; none is drift, too, and nobody is
    // asked.
    let kept = project.read(LOCK);
    let with = proposer(&project, r#"{"commands":["make check"]}"#);
    project
        .run(&[&["lock", "--record", "--proposer", &with][..], &ASK].concat())
        .exits(0);
    project.remove("../question.json");
    project
        .run(&["run", "--plan", "../p.kdl"])
        .exits(4)
        .warns("request.proposal.answer: ");
    project.remove(LOCK);
    let ran = project.run(&["run", "--plan", "../p.kdl", "--proposer", &with]);
    ran.exits(4)
        .warns("request: has a recorded answer -> ")
        .warns("1 field differs");
    project
        .run(&["run", "--plan", "../p.kdl", "--allow-drift"])
        .exits(0)
        .says("1 field would be different");
    project.write(LOCK, kept).write(
        "contracts/verify.vplan",
        CONTRACT.replace("check lint: true", "check lint: make"),
    );
    project
        .run(&["run", "--plan", "../p.kdl"])
        .exits(4)
        .warns("contract.digest: ")
        .warns("is not recorded");
    assert!(!project.exists("../question.json"));
}

#[test]
fn a_saved_plan_of_mode_hybrid() {
    let project = project();
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: true\n}\n",
    );
    let ask = ["--mode", "hybrid", "--changed", "README"];
    let with = proposer(&project, r#"{"commands":["make test"]}"#);
    // The proposer knows more than what the repository declares, as long as its answer is there.
    project
        .run(&[&["plan", "-o", "../inferred.json"][..], &ask].concat())
        .exits(0);
    project
        .run(&["run", "--plan", "../inferred.json", "--locked"])
        .exits(0)
        .says("check");
    project
        .run(&[&["lock", "--record", "--proposer", &with][..], &ask].concat())
        .exits(0);
    project
        .run(&[&["plan", "-o", "../proposed.json"][..], &ask].concat())
        .exits(0);
    let ran = project.run(&[
        "run",
        "--plan",
        "../proposed.json",
        "--locked",
        "--format",
        "json",
    ]);
    ran.exits(0);
    assert_eq!(ids(&ran), ["make-test"]);
    project
        .run(&["run", "--plan", "../inferred.json"])
        .exits(4)
        .warns("request.proposal: (absent) -> ");
    project.remove(LOCK);
    project
        .run(&["run", "--plan", "../proposed.json"])
        .exits(4)
        .warns("request.proposal: ");
    // Where a proposer is named, its answer is expected.
    project
        .run(&[&["plan", "--proposer", &with][..], &ask].concat())
        .exits(4)
        .warns("not_recorded");
}
