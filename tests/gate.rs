//! `vplan gate` and `vplan run --subject`: what is recorded, by whom, and what is made of it.

use crate::support::process::Bounded as _;
use crate::support::{Project, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use vplan::ledger::signature::signature;
use vplan::run::report::Report;

const THREE: &str = "vplan 1\ngate {\n  confirmations 3\n}\ncheck a: grep -q ok flag\n";

fn project(contract: &str) -> Project {
    Project::git_with(&[("contracts/verify.vplan", contract), ("flag", "ok\n")])
}

fn record(project: &Project, subject: &str, flags: &[&str], exit: i32) -> Value {
    let args = [
        &["gate", "record", "--subject", subject, "--format", "json"],
        flags,
    ]
    .concat();
    project.run(&args).exits(exit).json()
}

fn done(project: &Project, subject: &str, exit: i32) -> Value {
    record(
        project,
        subject,
        &["--status", "done", "--changed", "none"],
        exit,
    )
}

fn run(project: &Project, flags: &[&str], exit: i32) -> Value {
    project
        .run(&[&["run", "--all", "--format", "json"], flags].concat())
        .exits(exit)
        .json()
}

/// The one ledger of the project.
fn ledger(project: &Project) -> PathBuf {
    let state = project.parent().join("home/state/vplan");
    let mut found = std::fs::read_dir(state)
        .unwrap()
        .map(|e| e.unwrap().path().join("ledger.json"));
    let ledger = found.next().unwrap();
    assert!(found.next().is_none());
    ledger
}

#[test]
fn the_documented_shape() {
    let project = project(THREE);
    done(&project, "T", 20);
    done(&project, "T", 20);
    done(&project, "S", 20);
    let answer = done(&project, "S", 20);
    let expected = json!({
        "version": 1, "subject": "S", "counter": 2, "required": 3, "decision": "reverify",
        "others": [{"subject": "T", "counter": 2}],
        "attempt": 1, "retriesRemaining": 3, "noChange": true,
    });
    assert_eq!(answer, expected);
    let shown = project
        .run(&["gate", "show", "--subject", "S", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (&shown["version"], &shown["required"], &shown["complete"]),
        (&json!(1), &json!(3), &json!(false))
    );
    assert_eq!(shown["subjects"][0]["counter"], 2);
    assert_eq!(shown["subjects"][0]["status"], "done");
}

#[test]
fn for_people() {
    let project = project(THREE);
    project
        .run(&["gate", "show"])
        .exits(0)
        .says("no subject has had a round");
    project.run(&["gate", "show", "--check"]).exits(20);
    let text = [
        "gate",
        "record",
        "--subject",
        "S",
        "--changed",
        "none",
        "--status",
    ];
    project
        .run(&[&text[..], &["done"]].concat())
        .exits(20)
        .says("S 1/3 [●○○] reverify\n");
    project
        .run(&[&text[..], &["continue"]].concat())
        .exits(20)
        .says("S 1/3 [●○○] retry: 3 more rounds left\n");
    project
        .run(&[&text[..], &["stuck"]].concat())
        .exits(22)
        .says("S 1/3 [●○○] escalate: stuck\n");
    for _ in 0..2 {
        done(
            &project,
            "S",
            if project.run(&["gate", "show"]).out().contains("2/3") {
                0
            } else {
                20
            },
        );
    }
    project
        .run(&["gate", "show", "--check"])
        .exits(0)
        .says("S 3/3 [●●●] complete");
    let ran = project.run(&["run", "--all", "--subject", "mile-1", "--progress", "none"]);
    ran.exits(20).says("mile-1 1/3 [●○○] reverify\n");
    project.run(&["gate", "show", "--check"]).exits(20);
    project
        .run(&["gate", "show", "--check", "--subject", "S", "--quiet"])
        .exits(0)
        .is_quiet();
    project
        .run(&["gate", "reset", "--subject", "S"])
        .exits(0)
        .says("forgot `S`\n");
    project
        .run(&["gate", "reset", "--subject", "mile-2"])
        .exits(0)
        .says("nothing to forget")
        .warns("did you mean `mile-1`?");
    project
        .run(&["gate", "reset", "--all"])
        .exits(0)
        .says("forgot `mile-1`\n");
    let help = project.run(&["help", "rounds"]);
    help.exits(0)
        .says("confirmations")
        .says("What this does not protect from");
}

#[test]
fn bad_words() {
    let project = project(THREE);
    let long = "x".repeat(300);
    for (args, what) in [
        (&["gate"][..], "record"),
        (&["gate", "record"], "--subject"),
        (&["gate", "record", "--subject", "S"], "--status"),
        (
            &["gate", "record", "--subject", "S", "--status", "finished"],
            "done",
        ),
        (
            &["gate", "record", "--subject", "S", "--status", "DONE"],
            "done",
        ),
        (
            &[
                "gate",
                "record",
                "--subject",
                "S",
                "--status",
                "done",
                "--changed",
                "some",
            ],
            "number of files",
        ),
        (
            &[
                "gate",
                "record",
                "--subject",
                "S",
                "--status",
                "done",
                "--changed=-1",
            ],
            "number of files",
        ),
        (
            &[
                "gate",
                "record",
                "--subject",
                "S",
                "--status",
                "done",
                "--changed",
                "",
            ],
            "number of files",
        ),
        (
            &["gate", "record", "--subject", "", "--status", "done"],
            "is empty",
        ),
        (
            &["gate", "record", "--subject", " S", "--status", "done"],
            "blank",
        ),
        (
            &[
                "gate",
                "record",
                "--subject",
                "a\u{1b}[2Jb",
                "--status",
                "done",
            ],
            "cannot be shown",
        ),
        (
            &["gate", "record", "--subject", &long, "--status", "done"],
            "256",
        ),
        (&["gate", "show", "--subject", "S"], "had no round"),
        (&["gate", "show", "--subject", "\n"], "blank"),
        (&["gate", "reset"], "--subject"),
        (
            &["gate", "reset", "--all", "--subject", "S"],
            "cannot be used with",
        ),
        (&["gate", "show", "--format", "kdl"], "no format"),
        (&["run", "--status", "done"], "--subject"),
        (
            &["run", "--subject", "S", "--attempt", "2"],
            "cannot be used with",
        ),
        (
            &["run", "--subject", "S", "--shard", "1/2"],
            "cannot be used with",
        ),
        (&["run", "--subject", "S", "--status", "idle"], "done"),
        (&["run", "--all", "--subject", ""], "is empty"),
    ] {
        project.run(args).exits(2).warns(what);
    }
    assert!(!project.exists(".vplan"), "nothing ran");
    project.write("contracts/verify.vplan", "vplan 1\ncheck");
    project
        .run(&["gate", "record", "--subject", "S", "--status", "done"])
        .exits(3);
    project.run(&["gate", "show"]).exits(3);
    project.remove("contracts/verify.vplan");
    // A contract that was deleted is no way to be asked for less; without any, nothing says how
    // often is enough.
    project.run(&["gate", "show"]).exits(3);
    let bare = Project::bare();
    bare.run(&["gate", "record", "--subject", "S", "--status", "done"])
        .exits(3);
    bare.run(&["gate", "show"]).exits(0);
}

#[test]
fn a_run_is_a_round() {
    let project = project(&THREE.replace("confirmations 3", "confirmations 2\n  retries 2"));
    let report = run(&project, &["--subject", "S"], 20);
    assert_eq!(
        (
            &report["decision"],
            &report["verdictCode"],
            &report["exitCode"]
        ),
        (&json!("reverify"), &json!(0), &json!(20))
    );
    assert_eq!(
        (&report["counter"], &report["required"], &report["subject"]),
        (&json!(1), &json!(2), &json!("S"))
    );
    // The report on disk is the same.
    let id = report["runId"].as_str().unwrap();
    let kept: Value =
        serde_json::from_str(&project.read(&format!(".vplan/runs/{id}/report.json"))).unwrap();
    assert_eq!(kept, report);
    let report = run(&project, &["--subject", "S"], 0);
    assert_eq!(
        (&report["decision"], &report["noChange"]),
        (&json!("complete"), &json!(true))
    );
    // Another subject's change takes a confirmation back, its failures count for itself.
    project.write("flag", "bad\n");
    for (attempt, left, exit, decision) in
        [(1, 2, 40, "retry"), (2, 1, 40, "retry"), (3, 0, 21, "fail")]
    {
        let report = run(&project, &["--subject", "T"], exit);
        assert_eq!(
            (&report["attempt"], &report["retriesRemaining"]),
            (&json!(attempt), &json!(left))
        );
        assert_eq!(
            (&report["feedback"]["attemptNumber"], &report["decision"]),
            (&json!(attempt), &json!(decision))
        );
        assert_eq!(
            (&report["verdictCode"], &report["others"]),
            (&json!(40), &json!([{"counter": 1, "subject": "S"}]))
        );
    }
    let report = run(&project, &["--subject", "T"], 21);
    let memo = project.read(&format!(
        ".vplan/runs/{}/stop.md",
        report["runId"].as_str().unwrap()
    ));
    assert!(
        memo.contains("grep -q ok flag")
            && memo.contains(
                "`--subject` `T` verifies again. The recorded failures leave the subject given up"
            ),
        "{memo}"
    );
    let why = json!("verification_failed_max_retries");
    assert_eq!(
        (&report["decision"], &report["decisionReason"]),
        (&json!("fail"), &why),
        "it is given up"
    );
    // A pass gives all of it back.
    project.write("flag", "ok\n");
    assert_eq!(run(&project, &["--subject", "T"], 20)["attempt"], 5);
    assert_eq!(run(&project, &["--subject", "T"], 0)["attempt"], 1);
}

/// Two failures are the same whatever differs between two runs of the same thing.
#[test]
fn the_same_failure() {
    let project = project(THREE);
    project.write("flag", "bad\n");
    let report = run(&project, &[], 40);
    let signed = |edit: &dyn Fn(&mut Value)| {
        let mut report = report.clone();
        report["steps"][0]["failedTests"] =
            json!([{"name": "reads /tmp/x1/f (12 ms)"}, {"name": "b"}]);
        report["steps"][0]["diagnostics"] = json!([{"code": "E1", "message": "m", "severity": "error", "file": "/tmp/x1/a.c", "line": 3}]);
        edit(&mut report);
        signature(&serde_json::from_value::<Report>(report).unwrap(), "/repo")
    };
    let first = signed(&|_| {});
    let same: [&dyn Fn(&mut Value); 8] = [
        &|r| r["runId"] = json!("other"),
        &|r| r["durationMs"] = json!(99),
        &|r| r["attempt"] = json!(3),
        &|r| r["steps"][0]["durationMs"] = json!(99),
        &|r| r["steps"][0]["stderrTail"] = json!("at 12:01"),
        &|r| r["steps"][0]["tests"] = json!({"failed": 2, "passed": 7, "skipped": 0}),
        &|r| {
            r["steps"][0]["failedTests"] =
                json!([{"name": "b"}, {"name": "reads /tmp/y2/f (3 ms)", "line": 4}])
        },
        &|r| r["steps"][0]["diagnostics"][0]["line"] = json!(4),
    ];
    for (index, edit) in same.iter().enumerate() {
        assert_eq!(signed(edit), first, "{index}");
    }
    let other: [&dyn Fn(&mut Value); 6] = [
        &|r| r["steps"][0]["id"] = json!("c"),
        &|r| r["steps"][0]["failureCode"] = json!("another"),
        &|r| r["steps"][0]["failedTests"] = json!([{"name": "b"}]),
        &|r| r["steps"][0]["diagnostics"][0]["code"] = json!("E2"),
        &|r| r["steps"][0]["reason"] = json!("time_limit"),
        &|r| r["verdict"] = json!("incomplete"),
    ];
    for (index, edit) in other.iter().enumerate() {
        assert_ne!(signed(edit), first, "{index}");
    }
}

#[test]
fn retries_without_a_subject() {
    let project = project(&THREE.replace("confirmations 3", "retries 1"));
    project.write("flag", "bad\n");
    for (attempt, left, decision) in [("1", 1, "retry"), ("2", 0, "fail"), ("3", 0, "fail")] {
        let report = run(&project, &["--attempt", attempt], 40);
        assert_eq!(
            (&report["retriesRemaining"], &report["decision"]),
            (&json!(left), &json!(decision))
        );
    }
}

#[test]
fn what_a_caller_says_of_a_pass() {
    let project = project(&THREE.replace("confirmations 3", "confirmations 1"));
    for (flags, exit, decision) in [
        (&["--status", "continue"][..], 20, "retry"),
        (&["--status", "stuck"], 22, "escalate"),
        (
            &[
                "--status",
                "done",
                "--require",
                "full",
                "--skip",
                "a",
                "--reason",
                "x",
            ],
            44,
            "retry",
        ),
        (&["--status", "done"], 0, "complete"),
        (&[], 0, "complete"),
    ] {
        let report = run(&project, &[&["--subject", "S"], flags].concat(), exit);
        assert_eq!(report["decision"], decision, "{flags:?}");
    }
}

#[test]
fn without_a_subject_nothing_is_recorded() {
    let project = project(THREE);
    let report = run(&project, &["--attempt", "4"], 0);
    assert_eq!(
        (&report["attempt"], &report["decision"]),
        (&json!(4), &json!("advance"))
    );
    assert!(
        ["counter", "others", "required", "subject", "verdictCode"]
            .iter()
            .all(|key| report.get(key).is_none())
    );
    let states = std::fs::read_dir(project.parent().join("home/state/vplan"))
        .unwrap()
        .map(|e| e.unwrap().path());
    let kept = states
        .flat_map(|s| std::fs::read_dir(s).unwrap())
        .map(|e| e.unwrap().file_name());
    // What was read of files is kept when it was written a while ago.
    let kept: Vec<_> = kept.filter(|name| name != "contents").collect();
    assert_eq!(kept, ["ended"], "no ledger is made");
}

#[test]
fn what_is_no_change() {
    let contract = "vplan 1\ngate {\n  confirmations 9\n}\ncheck a {\n  shell echo $$ > gen/out; echo $$ > ignored; echo $$ > ../beside\n  \
                    produces \"gen/**\"\n}\n";
    let project = project(contract);
    project
        .write(".gitignore", "ignored\n")
        .mkdir("gen")
        .commit("ignore");
    let flags = [
        "--subject",
        "S",
        "--junit",
        "out.xml",
        "--events",
        "events.jsonl",
        "--records",
        "records",
        "--state-dir",
        "state",
    ];
    for counter in 1..=3 {
        assert_eq!(run(&project, &flags, 20)["counter"], counter);
    }
    project.write("flag", "2\n");
    assert_eq!(run(&project, &flags, 20)["counter"], 1);
    // What a check leaves that nothing accounts for is a change, and is none that it may edit.
    let project = self::project(&contract.replace("  produces \"gen/**\"\n", ""));
    project.mkdir("gen");
    assert_eq!(run(&project, &["--subject", "S"], 20)["counter"], 1);
    let edited = run(&project, &["--subject", "S"], 40);
    assert_eq!(edited["caveats"][0]["code"], "tree_changed");
}

#[test]
fn without_git() {
    let project = Project::bare();
    project
        .write("contracts/verify.vplan", THREE)
        .write("flag", "ok\n");
    for counter in [1, 2] {
        let ran = project.run(&[
            "run",
            "--changed-none",
            "--subject",
            "S",
            "--format",
            "json",
        ]);
        assert_eq!(ran.exits(20).json()["counter"], counter);
    }
}

#[test]
fn what_could_not_begin_or_was_interrupted_is_no_round() {
    let project = project(&THREE.replace(
        "check a: grep -q ok flag",
        "check a {\n  shell touch ../there; sleep 614165\n}",
    ));
    project
        .run(&["run", "--all", "--subject", "S", "--only", "nothing"])
        .exits(2);
    let kill = |signal: Signal, code: Option<i32>| {
        let args = ["run", "--all", "--subject", "S", "--format", "json"];
        let mut command = project.vplan(&args).command();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        eventually("the step runs", || project.exists("../there"));
        project.remove("../there");
        kill_process(pid, signal).unwrap();
        let output = child.finished();
        assert_eq!(output.status.code(), code);
        output.stdout
    };
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let report: Value = serde_json::from_slice(&kill(signal, Some(code))).unwrap();
        assert_eq!(
            (&report["attempt"], &report["decision"]),
            (&json!(1), &json!("retry"))
        );
        assert!(report.get("counter").is_none());
    }
    kill(Signal::KILL, None);
    project
        .run(&["gate", "show"])
        .exits(0)
        .says("no subject has had a round");
}

#[test]
fn a_damaged_ledger_is_no_empty_one() {
    let project = project(THREE);
    done(&project, "S", 20);
    let whole = std::fs::read_to_string(ledger(&project)).unwrap();
    let half = &whole[..whole.len() / 2];
    let edited = whole.replace("\"counter\":1", "\"counter\":3");
    assert_ne!(edited, whole);
    for damage in ["", "{}", "null", half, &edited, &whole.repeat(2)] {
        std::fs::write(ledger(&project), damage).unwrap();
        for args in [
            &["gate", "show"][..],
            &["gate", "record", "--subject", "S", "--status", "done"],
            &["gate", "reset", "--subject", "S"],
            &["run", "--all", "--subject", "S"],
            &["loop", "--all", "--subject", "S", "--fix", "true"],
        ] {
            project
                .run(args)
                .exits(5)
                .warns("vplan::ledger::damaged")
                .warns("gate reset --all");
        }
        assert_eq!(
            std::fs::read_to_string(ledger(&project)).unwrap(),
            damage,
            "nobody wrote over it"
        );
    }
    assert!(
        !project.exists(".vplan"),
        "nothing ran that could not have been recorded"
    );
    project.run(&["run", "--all"]).exits(0);
    project
        .run(&["gate", "reset", "--all"])
        .exits(0)
        .warns("ledger.damaged");
    assert_eq!(done(&project, "S", 20)["counter"], 1);
    std::fs::write(
        ledger(&project),
        whole.replace("\"version\":3}", "\"version\":4}"),
    )
    .unwrap();
    project
        .run(&["gate", "show"])
        .exits(5)
        .warns("a newer vplan");
    project
        .run(&["gate", "reset", "--all"])
        .exits(5)
        .warns("--state-dir");
    project
        .run(&["gate", "show", "--state-dir", "../other"])
        .exits(0);
}

#[test]
fn a_state_that_cannot_be_kept() {
    let project = project(THREE);
    project.write("../plain", "");
    project
        .run(&["run", "--all", "--subject", "S", "--state-dir", "../plain"])
        .exits(5)
        .warns("--state-dir");
    assert!(!project.exists(".vplan"));
    // It is lost while the run goes on: the round is not recorded, and that is no pass.
    let contract = "vplan 1\ncheck a {\n  shell rm -rf ../home/state && touch ../home/state\n}\n";
    let project = self::project(contract);
    let report = run(&project, &["--subject", "S"], 5);
    assert_eq!(
        (
            &report["verdict"],
            &report["verdictCode"],
            &report["exitCode"]
        ),
        (&json!("passed"), &json!(0), &json!(5))
    );
    assert_eq!(
        (&report["decision"], &report["decisionReason"]),
        (&json!("escalate"), &json!("not_recorded"))
    );
}

/// Many at once: each is one round, and none is lost.
#[test]
fn counter_concurrent_updates_linearizable() {
    const WRITERS: usize = 24;
    let project = project(&THREE.replace("confirmations 3", "confirmations 1000"));
    let spawn = |subject: &str| -> Child {
        let args = [
            "gate",
            "record",
            "--subject",
            subject,
            "--status",
            "done",
            "--changed",
            "none",
            "--format",
            "json",
        ];
        project
            .vplan(&args)
            .command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<(bool, Child)> = (0..WRITERS)
        .map(|i| (i % 3 == 0, spawn(if i % 3 == 0 { "B" } else { "A" })))
        .collect();
    let mut counters = [Vec::new(), Vec::new()];
    for (other, child) in children {
        let output = child.finished();
        assert_eq!(output.status.code(), Some(20));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        counters[usize::from(other)].push(answer["counter"].as_u64().unwrap());
    }
    counters.iter_mut().for_each(|list| list.sort_unstable());
    assert_eq!(counters, [(1..=16).collect::<Vec<_>>(), (1..=8).collect()]);
    let shown = project
        .run(&["gate", "show", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(shown["rounds"], WRITERS);
}

/// Writers that are killed at any moment leave a ledger that counts at least what was answered, and
/// at most what was begun.
#[test]
fn killed_writers() {
    let project = project(&THREE.replace("confirmations 3", "confirmations 1000"));
    done(&project, "S", 20);
    let mut answered = 1;
    let mut begun = 1;
    for round in 0_u32..30 {
        let args = [
            "gate",
            "record",
            "--subject",
            "S",
            "--status",
            "done",
            "--changed",
            "none",
        ];
        let mut child = project
            .vplan(&args)
            .command()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        begun += 1;
        // Not to wait for anything, but to be killed at another point each time.
        std::thread::sleep(std::time::Duration::from_micros(u64::from(round) * 700));
        let _ = child.kill();
        answered += u64::from(child.ended().code() == Some(20));
        let shown = project
            .run(&["gate", "show", "--format", "json"])
            .exits(0)
            .json();
        let counter = shown["subjects"][0]["counter"].as_u64().unwrap();
        assert!(
            (answered..=begun).contains(&counter),
            "{answered} {counter} {begun}"
        );
    }
    assert_eq!(done(&project, "S", 20)["noChange"], true, "no lock is left");
}
