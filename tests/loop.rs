//! `vplan loop`: fixers of all kinds, none of which is believed.

use crate::support::process::Bounded as _;
use crate::support::{Project, Ran, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;

const CHECK: &str = "check a: sh check.sh\n";

/// A project whose check `a` wants `ok` in `flag`, and a fixer. The fixer stands beside the
/// repository, which it works in.
fn project(contract: &str, fixer: &str) -> Project {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", &format!("vplan 1\n{contract}")),
        (
            "check.sh",
            "grep -q ok flag || { echo \"broken: $(cat flag)\" >&2; exit 1; }\n",
        ),
        ("flag", "bad\n"),
    ]);
    project.script(
        "../fix.sh",
        &format!("#!/bin/sh\necho turn >> ../turns\n{fixer}"),
    );
    project
}

fn loops(project: &Project, args: &[&str]) -> Ran {
    let args = [
        &["loop", "--fix", "sh ../fix.sh", "--format", "json", "--all"],
        args,
    ]
    .concat();
    project.run(&args)
}

fn turns(project: &Project) -> usize {
    if project.exists("../turns") {
        project.read("../turns").lines().count()
    } else {
        0
    }
}

/// One value of each round.
fn each(answer: &Value, pointer: &str) -> Vec<Value> {
    let rounds = answer["rounds"].as_array().unwrap();
    rounds
        .iter()
        .map(|r| r.pointer(pointer).cloned().unwrap_or_default())
        .collect()
}

#[test]
fn one_that_repairs() {
    let project = project(
        CHECK,
        "cat > ../got\ncp \"$VPLAN_FEEDBACK\" ../file\necho said\necho ok > flag\nexit 3\n",
    );
    let answer = loops(&project, &[]).exits(0).json();
    assert_eq!(
        (&answer["stop"], &answer["decision"]),
        (&json!("passed"), &json!("advance"))
    );
    assert_eq!(each(&answer, "/verdict"), ["failed", "passed"]);
    assert_eq!(each(&answer, "/attempt"), [1, 2]);
    assert_eq!(each(&answer, "/noChange"), [false, false]);
    let fix = &answer["rounds"][0]["fix"];
    assert_eq!(
        (&fix["outcome"], &fix["exitCode"], &fix["noChange"]),
        (&json!("exited"), &json!(3), &json!(false))
    );
    assert_eq!(fix["said"], "said\n");
    assert!(
        std::fs::read_to_string(fix["log"].as_str().unwrap())
            .unwrap()
            .contains("said")
    );
    let got = project.read("../got");
    assert!(
        got.contains("broken: bad") && got.starts_with("## "),
        "{got}"
    );
    assert_eq!(got, project.read("../file"));
    assert_eq!(answer["report"]["verdict"], "passed");
    assert!(
        answer["report"].get("counter").is_none(),
        "there is no subject"
    );
}

#[test]
fn feedback_in_every_form() {
    for (form, begins) in [("md", "## "), ("text", ""), ("json", "{\"")] {
        let project = project(CHECK, "cat > ../got\necho ok > flag\n");
        loops(&project, &["--feedback", form]).exits(0);
        let got = project.read("../got");
        assert!(
            got.starts_with(begins) && got.contains("broken: bad"),
            "{form}: {got}"
        );
        if form == "json" {
            let got: Value = serde_json::from_str(&got).unwrap();
            assert_eq!(
                (&got["attemptNumber"], &got["retriesRemaining"]),
                (&json!(1), &json!(3))
            );
        }
    }
}

#[test]
fn one_round_shows_all_faults() {
    let contract = "check a: sh -c 'echo cause-a; test -e good-a'\ncheck b: sh -c 'echo cause-b; test -e good-b'\n";
    for form in ["md", "text", "json"] {
        let project = project(contract, "cat > ../got\ntouch good-a good-b\n");
        let answer = loops(&project, &["--feedback", form, "--max-feedback", "8KiB"])
            .exits(0)
            .json();
        assert_eq!(each(&answer, "/verdict"), ["failed", "passed"], "{form}");
        let got = project.read("../got");
        assert!(
            got.contains("cause-a") && got.contains("cause-b") && got.len() < 9_000,
            "{got}"
        );
    }
}

#[test]
fn a_pass_needs_no_fixer() {
    let project = project(CHECK, "");
    project.write("flag", "ok\n");
    let answer = loops(&project, &[]).exits(0).json();
    assert_eq!(
        (turns(&project), answer["rounds"].as_array().unwrap().len()),
        (0, 1)
    );
    let ran = project.run(&["loop", "--fix", "sh ../fix.sh", "--all"]);
    ran.exits(0).says("passed after 1 round and 0 repairs");
}

#[test]
fn confirmations() {
    let contract = format!("gate {{\n  confirmations 3\n}}\n{CHECK}");
    let project = project(
        &contract,
        "echo \"$VPLAN_SUBJECT\" > ../subject\necho ok > flag\n",
    );
    let answer = loops(&project, &["--subject", "M 1"]).exits(0).json();
    assert_eq!(
        each(&answer, "/decision"),
        ["retry", "reverify"],
        "nothing runs again for a review"
    );
    assert_eq!(
        (&answer["stop"], &answer["decision"]),
        (&json!("passed"), &json!("complete"))
    );
    assert_eq!(
        (&answer["subject"], &answer["counter"], &answer["required"]),
        (&json!("M 1"), &json!(3), &json!(3))
    );
    assert_eq!(
        (&answer["report"]["counter"], &answer["report"]["decision"]),
        (&json!(3), &json!("complete"))
    );
    let reviews = answer["rounds"][1]["reviews"].as_array().unwrap().clone();
    let seen: Vec<_> = reviews
        .iter()
        .map(|r| (r["confirmed"].clone(), r["counter"].clone()))
        .collect();
    assert_eq!(seen, [(json!(true), json!(2)), (json!(true), json!(3))]);
    assert_eq!(
        (turns(&project), project.read("../subject").as_str()),
        (3, "M 1\n")
    );
    project
        .run(&["gate", "show", "--check"])
        .exits(0)
        .says("M 1 3/3 [●●●] complete");
    // Without a subject it is as much work.
    project.write("flag", "bad\n");
    let answer = loops(&project, &[]).exits(0).json();
    assert_eq!(each(&answer, "/decision"), ["retry", "reverify"]);
    assert_eq!(
        (&answer["decision"], &answer["counter"], &answer["required"]),
        (&json!("advance"), &json!(3), &json!(3))
    );
    assert!(answer.get("subject").is_none() && answer["report"].get("subject").is_none());
    assert_eq!(turns(&project), 6);
}

#[test]
fn a_review_is_asked_for() {
    for (form, begins) in [
        ("md", "## review 1 of 2\n"),
        ("text", "review 1 of 2\n"),
        ("json", "{\"counter\":1,"),
    ] {
        let contract = format!("gate {{\n  confirmations 2\n}}\n{CHECK}");
        let project = project(
            &contract,
            "cat > ../got\ncp \"$VPLAN_FEEDBACK\" ../file\necho $VPLAN_TURN >> ../asked\n",
        );
        project.write("flag", "ok\n");
        let answer = loops(&project, &["--feedback", form]).exits(0).json();
        let got = project.read("../got");
        assert!(
            got.starts_with(begins) && got.contains("as a reviewer"),
            "{form}: {got}"
        );
        assert_eq!(
            (got, project.read("../asked").as_str()),
            (project.read("../file"), "review\n")
        );
        assert_eq!(
            answer["rounds"][0]["reviews"][0]["turn"]["outcome"],
            "exited"
        );
    }
}

#[test]
fn one_that_does_nothing() {
    for (gate, flags, exit, stop, decision, turned) in [
        (
            "retries 9",
            &["--subject", "S"][..],
            22,
            "no_change",
            "escalate",
            1,
        ),
        ("retries 9", &[], 22, "no_change", "escalate", 1),
        (
            "retries 1\n  on-exhausted allow",
            &[],
            22,
            "no_change",
            "escalate",
            1,
        ),
        ("retries 0", &[], 21, "exhausted", "fail", 0),
    ] {
        let project = project(
            &format!("gate {{\n  {gate}\n}}\n{CHECK}"),
            "cat > /dev/null\n",
        );
        let answer = loops(&project, flags).exits(exit).json();
        assert_eq!(
            (&answer["stop"], &answer["decision"]),
            (&json!(stop), &json!(decision)),
            "{gate}: {answer}"
        );
        assert_eq!(
            (each(&answer, "/exitCode"), turns(&project)),
            (vec![json!(40)], turned),
            "{gate}"
        );
        if !flags.is_empty() {
            project.run(&["gate", "show"]).exits(0).says("escalate");
        }
    }
}

#[test]
fn one_that_repairs_nothing() {
    for (gate, subject, exit, stop, decision, rounds) in [
        ("retries 9", true, 22, "escalated", "escalate", 3),
        ("retries 9", false, 22, "escalated", "escalate", 3),
        (
            "retries 9\n  same-failure 2",
            true,
            22,
            "escalated",
            "escalate",
            2,
        ),
        ("retries 2", true, 21, "exhausted", "fail", 3),
        ("retries 1", true, 21, "exhausted", "fail", 2),
        ("retries 1", false, 21, "exhausted", "fail", 2),
        ("retries 0", false, 21, "exhausted", "fail", 1),
        (
            "retries 1\n  on-exhausted escalate",
            false,
            22,
            "exhausted",
            "escalate",
            2,
        ),
        (
            "retries 1\n  on-exhausted allow",
            true,
            44,
            "exhausted",
            "advance",
            2,
        ),
        (
            "retries 1\n  on-exhausted allow",
            false,
            44,
            "exhausted",
            "advance",
            2,
        ),
    ] {
        let project = project(
            &format!("gate {{\n  {gate}\n}}\n{CHECK}"),
            "echo more >> other\n",
        );
        let flags: &[&str] = if subject { &["--subject", "S"] } else { &[] };
        let answer = loops(&project, flags).exits(exit).json();
        let context = format!("{gate} {subject}: {answer}");
        assert_eq!(
            (&answer["stop"], &answer["decision"]),
            (&json!(stop), &json!(decision)),
            "{context}"
        );
        assert_eq!(answer["exitCode"], exit, "{context}");
        assert_eq!(
            each(&answer, "/exitCode"),
            vec![json!(40); rounds],
            "{context}"
        );
        assert_eq!(
            each(&answer, "/noChange"),
            vec![json!(false); rounds],
            "{context}"
        );
        let mut changed = vec![json!(false); rounds];
        changed[rounds - 1] = Value::Null;
        assert_eq!(each(&answer, "/fix/noChange"), changed, "{context}");
        assert_eq!(turns(&project), rounds - 1);
    }
}

#[test]
fn one_that_makes_it_worse() {
    let contract = format!("gate {{\n  retries 9\n}}\n{CHECK}check b: test -e good\n");
    let project = project(&contract, "rm -f good\necho worse >> flag\n");
    project.write("good", "").write("kept", "").commit("good");
    let answer = loops(&project, &["--keep-going"]).exits(22).json();
    // Another failure is another one; three times that one is enough.
    assert_eq!(each(&answer, "/attempt"), [1, 2, 3, 4]);
    assert_eq!(answer["report"]["decisionReason"], "same_failure");
}

#[test]
fn a_limit_of_rounds() {
    let project = project(
        &format!("gate {{\n  retries 9\n}}\n{CHECK}"),
        "echo more >> flag\n",
    );
    let answer = loops(&project, &["--max-rounds", "2"]).exits(21).json();
    assert_eq!(
        (&answer["stop"], &answer["decision"]),
        (&json!("max_rounds"), &json!("fail"))
    );
    assert_eq!(turns(&project), 1);
}

#[test]
fn one_that_hangs() {
    let project = project(
        &format!("gate {{\n  retries 1\n}}\n{CHECK}"),
        "echo here\nsleep 614161 &\nwait\n",
    );
    let answer = loops(&project, &["--fix-timeout", "1s"]).exits(22).json();
    assert_eq!(each(&answer, "/fix/outcome"), ["timed_out"]);
    assert_eq!(each(&answer, "/fix/noChange"), [true]);
    eventually("nobody is left", || !project.is_busy());
    assert_eq!(answer["stop"], "no_change");
}

#[test]
fn one_that_leaves_somebody_behind() {
    let project = project(
        CHECK,
        "setsid sleep 614162 > /dev/null 2>&1 &\necho ok > flag\n",
    );
    let answer = loops(&project, &[]).exits(0).json();
    assert_eq!(answer["rounds"][0]["fix"]["leaked"], 1);
    eventually("nobody is left", || !project.is_busy());
}

#[test]
fn one_that_edits_the_contract() {
    let contract = format!("import \"shared.vplan\"\n{CHECK}");
    for (what, edit) in [
        (
            "weaker",
            "printf 'vplan 1\\ncheck a: true\\n' > contracts/verify.vplan",
        ),
        ("no contract", "rm contracts/verify.vplan"),
        ("invalid", "echo '}' >> contracts/verify.vplan"),
        (
            "an import",
            "printf 'vplan 1\\ncheck b: echo\\n' > contracts/shared.vplan",
        ),
        ("no import", "rm contracts/shared.vplan"),
        (
            "the lock",
            "printf 'lock version=1\\n' > contracts/verify.lock.kdl",
        ),
        ("another one in its place", "mkdir x && mv contracts x/"),
    ] {
        for subject in [true, false] {
            let project = project(&contract, &format!("echo ok > flag\n{edit}\n"));
            project
                .write("contracts/shared.vplan", "vplan 1\ncheck b: true\n")
                .commit("import");
            let flags: &[&str] = if subject { &["--subject", "S"] } else { &[] };
            let ran = loops(&project, flags);
            ran.exits(22);
            let answer = ran.json();
            assert_eq!(
                (&answer["stop"], &answer["decision"]),
                (&json!("contract_changed"), &json!("escalate")),
                "{what}"
            );
            assert_eq!(
                answer["report"]["verdict"], "failed",
                "{what}: nothing was verified under the new contract"
            );
            if subject {
                project.git(&["checkout", "-q", "contracts"]);
                project
                    .run(&["gate", "show"])
                    .exits(0)
                    .says("S 0/1 [○] escalate");
            }
        }
    }
    // What means the same is the same.
    let project = project(
        &contract,
        "echo ok > flag\necho '# a remark' >> contracts/verify.vplan\n",
    );
    let base = project
        .write("contracts/shared.vplan", "vplan 1\ncheck b: true\n")
        .commit("import");
    project.pushed(&base);
    loops(&project, &[]).exits(0);
}

#[test]
fn an_edited_contract_may_be_allowed() {
    // What asks for no less may be verified.
    let edit = "printf 'check more: true\\n' >> contracts/verify.vplan\necho ok > flag\n";
    let more = self::project(CHECK, edit);
    let answer = loops(&more, &["--allow-contract-change"]).exits(0).json();
    assert_eq!(
        each(&answer, "/contractChanged"),
        [Value::Null, json!(true)]
    );
    // What asks for less is no pass, unless it is the very contract that a person accepts.
    let edit = "printf 'vplan 1\\ncheck a: true\\n' > contracts/verify.vplan\n";
    let less = self::project(CHECK, edit);
    let answer = loops(&less, &["--allow-contract-change", "--max-rounds", "2"])
        .exits(21)
        .json();
    assert_eq!(answer["report"]["caveats"][0]["code"], "contract_weakened");
    let digest = less.run(&["check", "--format", "json"]).exits(0).json()["contract"]
        .as_str()
        .unwrap()
        .to_owned();
    less.git(&["checkout", "-q", "contracts"]);
    let answer = loops(&less, &[&format!("--allow-contract-change={digest}")])
        .exits(0)
        .json();
    assert_eq!(
        each(&answer, "/contractChanged"),
        [Value::Null, json!(true)]
    );
    less.git(&["checkout", "-q", "contracts"]);
    loops(
        &less,
        &[&format!(
            "--allow-contract-change=sha256:{}",
            "0".repeat(64)
        )],
    )
    .exits(22);
    let broken = self::project(CHECK, "echo '}' >> contracts/verify.vplan\n");
    loops(&broken, &["--allow-contract-change"])
        .exits(22)
        .warns("contract");
}

#[test]
fn commits_hide_nothing() {
    let contract =
        "gate {\n  retries 1\n}\nwhenChangedAny \"src/**\" {\n  check a: sh check.sh\n}\n";
    let commit = "echo more >> other && git add -A && git -c user.name=f -c user.email=f@example.org commit -q -m fixed\n";
    for (flags, exit, stop) in [
        (&[][..], 21, "exhausted"),
        (&["--base", "HEAD"], 21, "exhausted"),
        (&["--base", "main"], 21, "exhausted"),
        (&["--staged"], 22, "history_changed"),
    ] {
        let project = project(contract, commit);
        project.write("src/a", "changed\n").git(&["add", "-A"]);
        let args = [
            &["loop", "--fix", "sh ../fix.sh", "--format", "json"],
            flags,
        ]
        .concat();
        let ran = project.run(&args);
        ran.exits(exit);
        assert_eq!(ran.json()["stop"], stop, "{flags:?}");
        assert_eq!(turns(&project), 1);
    }
    // A repair that is committed is one.
    let project = project(contract, &format!("echo ok > flag\n{commit}"));
    project.write("src/a", "changed\n");
    let answer = project
        .run(&["loop", "--fix", "sh ../fix.sh", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(each(&answer, "/verdict"), ["failed", "passed"]);
}

#[test]
fn one_that_cannot_be_started() {
    let project = project(CHECK, "");
    let ran = project.run(&[
        "loop",
        "--fix",
        "no-such-program --now",
        "--all",
        "--format",
        "json",
    ]);
    ran.exits(5)
        .warns("vplan::loop::fixer")
        .warns("no-such-program");
    assert_eq!(ran.json()["stop"], "fixer_not_started");
    project.write("plain", "no program\n");
    project.run(&["loop", "--fix", "./plain", "--all"]).exits(5);
}

#[test]
fn bad_words() {
    let project = project(CHECK, "");
    for (args, what) in [
        (&["--fix", "a && b"][..], "without a shell"),
        (&["--fix", "a {changed}"], "{changed}"),
        (&["--fix", "true", "--max-rounds", "0"], "--max-rounds"),
        (&["--fix", "true", "--fix-timeout", "soon"], "--fix-timeout"),
        (&["--fix", "true", "--feedback", "html"], "--feedback"),
        (&["--fix", "true", "--subject", ""], "is empty"),
        (
            &["--fix", "true", "--subject", "S", "--status", "done"],
            "cannot be used with",
        ),
        (&["--fix", "true", "--attempt", "2"], "cannot be used with"),
        (&["--fix", "true", "--shard", "1/2"], "cannot be used with"),
        (
            &["--fix", "true", "--plan", "p.json"],
            "cannot be used with",
        ),
        (&["--fix", "true", "--events", "-"], "cannot be used with"),
        (&["--fix", "true", "--format", "kdl"], "no format"),
        (&[], "--fix"),
    ] {
        project
            .run(&[&["loop"], args].concat())
            .exits(2)
            .warns(what);
    }
    assert_eq!(turns(&project), 0);
    assert!(!project.exists(".vplan"), "nothing ran");
    project
        .write("contracts/verify.vplan", "}")
        .run(&["loop", "--fix", "true"])
        .exits(3);
}

#[test]
fn what_it_sees() {
    let project = project(CHECK, "env > ../env\necho ok > flag\n");
    let flags = [
        "loop",
        "--fix",
        "OWN=1 sh ../fix.sh",
        "--all",
        "--grant-env",
        "GRANTED_KEY",
    ];
    let run = project
        .vplan(&flags)
        .env("API_TOKEN", "s3cret-token")
        .env("GRANTED_KEY", "granted-value")
        .env("ANY", "1");
    run.run().exits(0);
    let env = project.read("../env");
    assert!(
        env.contains("OWN=1\n") && env.contains("GRANTED_KEY=granted-value\n"),
        "{env}"
    );
    assert!(
        !env.contains("s3cret") && !env.contains("ANY=") && !env.contains("VPLAN_SUBJECT"),
        "{env}"
    );
}

#[test]
fn secrets_are_masked_in_its_log() {
    let project = project(CHECK, "echo \"the key is $GRANTED_KEY\"\necho ok > flag\n");
    let flags = [
        "loop",
        "--fix",
        "sh ../fix.sh",
        "--all",
        "--grant-env",
        "GRANTED_KEY",
        "--format",
        "json",
    ];
    let ran = project
        .vplan(&flags)
        .env("GRANTED_KEY", "granted-value")
        .run();
    ran.exits(0).never_says("granted-value").says("the key is");
    let log = ran.json()["rounds"][0]["fix"]["log"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        !std::fs::read_to_string(log)
            .unwrap()
            .contains("granted-value")
    );
}

#[test]
fn an_interrupt() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let project = project(CHECK, "touch ../there\nsleep 614163 &\nwait\n");
        let args = [
            "loop",
            "--fix",
            "sh ../fix.sh",
            "--all",
            "--format",
            "json",
            "--subject",
            "S",
        ];
        let mut command = project.vplan(&args).command();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        eventually("the fixer works", || project.exists("../there"));
        kill_process(pid, signal).unwrap();
        let output = child.finished();
        assert_eq!(output.status.code(), Some(code));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&answer["stop"], &answer["rounds"][0]["fix"]["outcome"]),
            (&json!("interrupted"), &json!("interrupted"))
        );
        eventually("nobody is left", || !project.is_busy());
        // The round before was one.
        let shown = project
            .run(&["gate", "show", "--format", "json"])
            .exits(0)
            .json();
        assert_eq!(
            (&shown["rounds"], &shown["subjects"][0]["retriesRemaining"]),
            (&json!(1), &json!(3))
        );
    }
}

/// Whoever interrupts a later round interrupts the loop.
#[test]
fn an_interrupt_of_a_later_round() {
    let contract = "check a {\n  shell if test -e ../second; then touch ../there; sleep 614166; fi; exit 1\n}\n";
    let project = project(contract, "touch ../second\necho more >> other\n");
    let args = [
        "loop",
        "--fix",
        "sh ../fix.sh",
        "--all",
        "--format",
        "json",
        "--subject",
        "S",
    ];
    let mut command = project.vplan(&args).command();
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    eventually("the second round runs", || project.exists("../there"));
    kill_process(pid, Signal::INT).unwrap();
    let output = child.finished();
    assert_eq!(output.status.code(), Some(130));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["stop"], &answer["report"]["verdict"]),
        (&json!("interrupted"), &json!("cancelled"))
    );
    assert_eq!(each(&answer, "/attempt"), [1, 2]);
    eventually("nobody is left", || !project.is_busy());
}

#[test]
fn a_killed_loop_leaves_nobody() {
    let project = project(CHECK, "setsid sleep 614164 &\ntouch ../there\nwait\n");
    let mut command = project
        .vplan(&["loop", "--fix", "sh ../fix.sh", "--all", "--subject", "S"])
        .command();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the fixer works", || project.exists("../there"));
    child.kill().unwrap();
    child.ended();
    eventually("nobody is left", || !project.is_busy());
    project.run(&["gate", "show"]).exits(0).says("retry");
}

#[test]
fn documents_are_written_once() {
    let project = project(CHECK, "echo ok > flag\n");
    loops(&project, &["--junit", "out.xml"]).exits(0);
    let xml = project.read("out.xml");
    assert!(
        xml.contains("failures=\"0\""),
        "that of the last round: {xml}"
    );
    assert!(Path::new(&project.path("out.xml")).is_file());
}

#[test]
fn for_people() {
    let project = project(CHECK, "echo ok > flag\n");
    let ran = project.run(&["loop", "--fix", "sh ../fix.sh", "--all"]);
    ran.exits(0)
        .says("round 2")
        .says("fix: changed files (exit code 0")
        .says("passed after 2 rounds and 1 repair");
    project.write("flag", "ok\n");
    let quiet = project.run(&["loop", "--fix", "sh ../fix.sh", "--all", "--quiet"]);
    quiet.exits(0);
    assert_eq!(quiet.out(), "");
}
