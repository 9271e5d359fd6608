//! Rounds of a subject: the whole change since it began, whatever happens to commits, branches,
//! flags and the gate.

use super::codes;
use crate::support::Project;
use serde_json::{Value, json};

const CONTRACT: &str = "vplan 1\nwhenChangedAny \"src/**\" \"tests/**\" {\n  check unit: grep -q ok src/a\n}\n\
                        whenChangedAny \"docs/**\" {\n  check docs: grep -q . docs/a\n}\n";

/// A project in which the subject `S` has begun.
fn begun(contract: &str) -> Project {
    let files = [
        ("contracts/verify.vplan", contract),
        ("src/a", "ok\n"),
        ("docs/a", "x\n"),
        (".gitignore", ".vplan\n"),
    ];
    let project = Project::git_with(&files);
    project
        .run(&["gate", "begin", "--subject", "S", "--base", "HEAD"])
        .exits(0)
        .says("S begins at ");
    project
}

fn round(project: &Project, flags: &[&str], exit: i32) -> Value {
    project
        .run(&[&["run", "--subject", "S", "--format", "json"], flags].concat())
        .exits(exit)
        .json()
}

fn gate(lines: &str) -> String {
    CONTRACT.replacen('\n', &format!("\ngate {{\n  {lines}\n}}\n"), 1)
}

fn reason(report: &Value) -> (&str, &str) {
    (
        report["decision"].as_str().unwrap(),
        report["decisionReason"].as_str().unwrap_or_default(),
    )
}

#[test]
fn a_commit_hides_nothing() {
    let project = begun(&gate("retries 20\n  same-failure 20"));
    project.write("src/a", "bad\n").commit("work");
    round(&project, &[], 40);
    project.git(&["commit", "-q", "--amend", "-m", "reworded"]);
    round(&project, &[], 40);
    project.git(&["checkout", "-q", "-b", "elsewhere"]);
    project.write("docs/a", "y\n").commit("more");
    assert_eq!(
        round(&project, &[], 40)["steps"].as_array().unwrap().len(),
        2
    );
    project.git(&["checkout", "-q", "--detach"]);
    round(&project, &[], 40);
    project.write("src/a", "ok too\n").commit("mend");
    let report = round(&project, &[], 0);
    assert_eq!(
        (reason(&report), report["counter"].as_u64()),
        (("complete", ""), Some(1))
    );
    assert_eq!(report["steps"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_put_aside_is_not_done() {
    for aside in [
        &["stash", "-q"][..],
        &["checkout", "-q", "."],
        &["reset", "-q", "--hard"],
    ] {
        let project = begun(CONTRACT);
        project.write("src/a", "bad\n");
        round(&project, &[], 40);
        project.git(aside);
        let report = round(&project, &[], 20);
        assert_eq!(
            (reason(&report), report["counter"].as_u64()),
            (("retry", ""), Some(0)),
            "{aside:?}"
        );
        project
            .run(&["gate", "show", "--check"])
            .exits(20)
            .says("S 0/1 [○] retry");
        project.write("src/a", "bad\n");
        assert_eq!(round(&project, &[], 40)["attempt"], 2, "{aside:?}");
    }
}

#[test]
fn work_on_another_branch_is_left_behind() {
    let project = begun(&gate("retries 20\n  same-failure 20"));
    project.git(&["checkout", "-q", "-b", "work"]);
    project
        .write("src/a", "bad\n")
        .write("src/b", "1\n")
        .commit("work");
    round(&project, &[], 40);
    project.git(&["checkout", "-q", "main"]);
    project.write("docs/a", "instead\n");
    for _ in 0..2 {
        let report = round(&project, &[], 44);
        assert_eq!(
            (reason(&report), codes(&report)),
            (("retry", "left_behind"), vec!["left_behind"])
        );
        assert_eq!(report["caveats"][0]["files"], json!(["src/a", "src/b"]));
    }
    project.write("docs/a", "x\n");
    round(&project, &[], 44);
    // It is there again, and is verified.
    project.git(&["checkout", "-q", "work"]);
    round(&project, &[], 40);
    // A part of it elsewhere is no longer all of it.
    project.git(&["checkout", "-q", "main"]);
    project.write("src/b", "1\n").write("docs/a", "instead\n");
    let report = round(&project, &[], 0);
    assert_eq!(
        (codes(&report), &report["caveats"][0]["files"]),
        (vec!["undone"], &json!(["src/a"]))
    );
    assert_eq!(
        (&report["caveats"][0]["effect"], &report["coverage"]),
        (&json!("note"), &json!("full"))
    );
}

#[test]
fn amend_rebase_and_squash_undo_nothing() {
    let project = begun(&gate("confirmations 9"));
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("src/b", "1\n").commit("one");
    project.write("docs/a", "y\n").commit("two");
    assert_eq!(codes(&round(&project, &[], 20)), [""; 0]);
    project.git(&["commit", "-q", "--amend", "-m", "reworded"]);
    assert_eq!(codes(&round(&project, &[], 20)), [""; 0]);
    project.git(&["reset", "-q", "--soft", "main"]);
    project.git(&["commit", "-q", "-m", "squashed"]);
    assert_eq!(codes(&round(&project, &[], 20)), [""; 0]);
    project.git(&["checkout", "-q", "main"]);
    project.write("README", "others\n").commit("others");
    project.git(&["checkout", "-q", "work"]);
    project.git(&["rebase", "-q", "main"]);
    let report = round(&project, &[], 20);
    assert_eq!(
        (codes(&report), report["steps"].as_array().unwrap().len()),
        (vec![], 2)
    );
    project.git(&["checkout", "-q", "main"]);
    project.git(&["cherry-pick", "work"]);
    assert_eq!(codes(&round(&project, &[], 20)), [""; 0]);
}

/// Contents decide, not names.
#[test]
fn a_file_with_another_name_is_not_undone() {
    type Act<'a> = &'a dyn Fn(&Project);
    let amend = |p: &Project| {
        p.git(&["add", "-A"]);
        p.git(&["commit", "-q", "--amend", "-m", "work"]);
    };
    let rename = |p: &Project, from: &str, to: &str| {
        let text = p.read(from);
        p.remove(from).write(to, text);
    };
    let cases: [(&str, &[&str], Act<'_>); 7] = [
        ("renamed and amended", &[], &|p| {
            rename(p, "src/b", "src/c");
            amend(p);
        }),
        ("renamed, not committed", &[], &|p| {
            rename(p, "src/b", "src/c")
        }),
        ("renamed twice, with a round in between", &[], &|p| {
            rename(p, "src/b", "src/c");
            amend(p);
            round(p, &[], 20);
            rename(p, "src/c", "src/d");
            amend(p);
        }),
        ("changed, verified, renamed", &[], &|p| {
            p.write("src/b", "2\n");
            amend(p);
            round(p, &[], 20);
            rename(p, "src/b", "src/c");
            amend(p);
        }),
        ("its content has gone", &["left_behind"], &|p| {
            p.remove("src/b").write("src/c", "another\n");
            amend(p);
        }),
        ("a test that is no test any more", &["undone"], &|p| {
            p.write("tests/t", "t\n");
            amend(p);
            round(p, &[], 20);
            rename(p, "tests/t", "docs/t");
            amend(p);
        }),
        (
            "two of the same content, one is removed",
            &["undone"],
            &|p| {
                p.write("src/c", "1\n");
                amend(p);
                round(p, &[], 20);
                p.remove("src/b");
                amend(p);
            },
        ),
    ];
    for (name, want, act) in cases {
        let project = begun(&gate("confirmations 9"));
        project.write("src/b", "1\n").commit("work");
        round(&project, &[], 20);
        act(&project);
        let exit = if want == ["left_behind"] { 44 } else { 20 };
        assert_eq!(codes(&round(&project, &[], exit)), want, "{name}");
    }
}

#[test]
fn a_test_that_is_undone_narrows() {
    for head in [true, false] {
        let project = begun(CONTRACT);
        project.write("src/b", "1\n").write("tests/t", "1\n");
        if head {
            project.commit("work");
        }
        round(&project, &[], 0);
        if head {
            project.git(&["rm", "-q", "tests/t"]);
            project.git(&["commit", "-q", "--amend", "-m", "work"]);
        } else {
            project.remove("tests/t");
        }
        let report = round(&project, &[], 0);
        assert_eq!(
            (codes(&report), &report["coverage"]),
            (vec!["undone"], &json!("narrowed")),
            "{head}"
        );
        assert_eq!(report["caveats"][0]["files"], json!(["tests/t"]));
        round(&project, &["--require", "full"], 44);
    }
}

#[test]
fn a_part_of_the_change_is_never_done() {
    let project = begun(&gate("confirmations 2\n  retries 50"));
    project.write("src/a", "bad\n").write("docs/a", "y\n");
    project.git(&["add", "docs"]);
    let parts = [
        &["--only", "docs"][..],
        &["--only", "docs"],
        &["--skip", "unit", "--reason", "x"],
        &["--changed", "docs/a"],
        &["--staged"],
        &["--changed-none"],
        &["--mode", "off"],
    ];
    for flags in parts {
        let report = round(&project, flags, 20);
        // A view of what is staged does not have the rest.
        let is_view = flags == ["--staged"];
        let expected: &[&str] = if is_view {
            &["part_of_change", "index_view"]
        } else {
            &["part_of_change"]
        };
        assert_eq!(
            (reason(&report), codes(&report)),
            (("retry", "part_of_change"), expected.to_vec()),
            "{flags:?}"
        );
        let checks = report["caveats"][0]["checks"].as_array();
        assert_eq!(
            (
                &report["counter"],
                is_view || checks.is_some_and(|all| all.contains(&json!("unit")))
            ),
            (&json!(0), true),
            "{flags:?}"
        );
    }
    project.run(&["gate", "show", "--check"]).exits(20);
    // What holds all of it counts.
    project.write("src/a", "ok 2\n");
    let report = round(&project, &["--all"], 20);
    assert_eq!(
        (reason(&report), &report["counter"]),
        (("reverify", ""), &json!(1))
    );
    let report = round(&project, &["--changed", "docs/a", "--changed", "src/a"], 0);
    assert_eq!(
        (reason(&report), &report["counter"]),
        (("complete", ""), &json!(2))
    );
    let report = round(&project, &["--only", "docs"], 20);
    assert_eq!(
        &report["counter"],
        &json!(2),
        "it takes nothing away, either"
    );
}

#[test]
fn a_base_can_only_be_widened() {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("src/a", "ok\n"),
        (".gitignore", ".vplan\n"),
    ]);
    project.write("src/a", "bad\n").commit("bad");
    project.write("docs/a", "x\n").commit("docs");
    project
        .run(&["gate", "begin", "--subject", "S", "--base", "HEAD"])
        .exits(0);
    project.write("docs/a", "y\n").commit("later");
    for later in ["HEAD", "main"] {
        let ran = project.run(&["run", "--subject", "S", "--base", later]);
        ran.exits(2)
            .warns("vplan::usage::subject_base")
            .warns("leave `--base` out");
    }
    assert_eq!(
        round(&project, &["--base", "HEAD~1"], 0)["steps"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        round(&project, &["--base", "HEAD~3"], 40)["steps"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    // It stays wide.
    round(&project, &[], 40);
    project
        .run(&["run", "--subject", "S", "--base", "HEAD~1"])
        .exits(2);
    project
        .run(&["gate", "begin", "--subject", "S", "--base", "HEAD"])
        .exits(2)
        .warns("has begun at")
        .warns("gate reset");
    project.run(&["gate", "reset", "--subject", "S"]).exits(0);
    project
        .run(&["gate", "begin", "--subject", "S", "--base", "HEAD"])
        .exits(0);
}

#[test]
fn another_request_confirms_nothing() {
    let project = begun(&gate("confirmations 3"));
    project.write("src/b", "1\n");
    let counter = |flags: &[&str], exit| round(&project, flags, exit)["counter"].clone();
    assert_eq!((counter(&[], 20), counter(&[], 20)), (json!(1), json!(2)));
    for flags in [
        &["--role", "tester"][..],
        &["--risk", "high"],
        &["--min-tier", "1"],
        &["--milestone-end"],
        &["--command", "true"],
        &["--command", "lint:true"],
        &[],
    ] {
        assert_eq!(counter(flags, 20), 1, "{flags:?}");
    }
    assert_eq!((counter(&[], 20), counter(&[], 0)), (json!(2), json!(3)));
}

#[test]
fn a_gate_that_is_lowered_counts_for_nothing() {
    const LONG: &str = "same-failure 20\n  retries 20\n  ";
    let project = begun(&gate(&format!("{LONG}confirmations 3")));
    project.write("src/b", "1\n");
    let lower =
        |lines: &str| project.write("contracts/verify.vplan", gate(&format!("{LONG}{lines}")));
    // Before the first round, by the change itself.
    lower("confirmations 1");
    let report = round(&project, &[], 44);
    assert_eq!(
        (
            codes(&report).contains(&"gate_weakened"),
            &report["required"]
        ),
        (true, &json!(3)),
        "{report}"
    );
    assert_eq!(
        (&report["verdict"], &report["counter"]),
        (&json!("incomplete"), &json!(0))
    );
    // Neither does what an agent reads name a way out.
    assert!(
        !report["feedback"].to_string().contains("gate reset"),
        "{report}"
    );
    lower("confirmations 3");
    assert_eq!(round(&project, &[], 20)["counter"], 1);
    // One that is stronger replaces it.
    lower("confirmations 4");
    assert_eq!(round(&project, &[], 20)["required"], 4);
    for lines in [
        "confirmations 3",
        "confirmations 4\n  on-exhausted allow",
        "confirmations 4\n  propagate off",
    ] {
        lower(lines);
        let report = round(&project, &[], 44);
        assert!(
            codes(&report).contains(&"gate_weakened"),
            "{lines}: {report}"
        );
        let by_hand = ["gate", "record", "--subject", "S", "--status", "done"];
        project
            .run(&by_hand)
            .exits(44)
            .warns("vplan::ledger::gate_weakened");
    }
    lower("confirmations 1");
    project
        .run(&["gate", "show", "--check"])
        .exits(20)
        .says("/4 ");
}

#[test]
fn nothing_applies_is_settled_and_never_complete() {
    let project = begun(CONTRACT);
    project.write("notes", "1\n");
    let report = round(&project, &[], 0);
    assert_eq!(
        (reason(&report), &report["counter"]),
        (("advance", "nothing_applies"), &json!(0))
    );
    let shown = project
        .run(&["gate", "show", "--check", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (&shown["complete"], &shown["subjects"][0]["settled"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(shown["subjects"][0]["decision"], "advance");
    project
        .run(&["gate", "show", "--check"])
        .exits(0)
        .says("nothing applies");
    // It stands for this tree only.
    project.write("src/a", "bad\n");
    project.run(&["gate", "show", "--check"]).exits(20);
    round(&project, &[], 40);
    project.git(&["checkout", "-q", "."]);
    round(&project, &[], 20);
    project.run(&["gate", "show", "--check"]).exits(20);
}

#[test]
fn words_follow_what_was_taken_back() {
    let project = begun(&gate("confirmations 2"));
    project.write("src/b", "1\n");
    round(&project, &[], 20);
    round(&project, &[], 0);
    project
        .run(&["gate", "show"])
        .exits(0)
        .says("S 2/2 [●●] complete");
    project
        .run(&[
            "gate",
            "record",
            "--subject",
            "T",
            "--status",
            "continue",
            "--changed",
            "1",
        ])
        .exits(20);
    let shown = project
        .run(&["gate", "show", "--subject", "S", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (
            &shown["subjects"][0]["counter"],
            &shown["subjects"][0]["decision"]
        ),
        (&json!(1), &json!("reverify"))
    );
    project
        .run(&["gate", "show", "--subject", "S"])
        .exits(0)
        .says("S 1/2 [●○] reverify");
}

#[test]
fn what_was_given_up_is_verified_all_the_same() {
    let contract = "vplan 1\ngate {\n  retries 1\n}\ncheck a: test -e a\ncheck b: test -e b\n";
    let project = begun(contract);
    project.write("b", "");
    assert_eq!(
        reason(&round(&project, &["--keep-going"], 40)),
        ("retry", "")
    );
    for _ in 0..2 {
        assert_eq!(
            reason(&round(&project, &["--keep-going"], 21)),
            ("fail", "verification_failed_max_retries")
        );
    }
    // What else is broken since then counts, and comes to an end, too.
    project.remove("b").write("c", "");
    assert_eq!(
        reason(&round(&project, &["--keep-going"], 40)),
        ("retry", "")
    );
    round(&project, &["--keep-going"], 21);
    round(&project, &["--keep-going"], 21);
    project.write("b", "");
    round(&project, &["--keep-going"], 21);
    project.write("a", "");
    round(&project, &["--keep-going"], 0);
}

#[test]
fn the_same_failure_shows_before_the_retries_are_used_up() {
    let project = begun(CONTRACT);
    project.write("src/a", "bad\n");
    for exit in [40, 40, 22, 21] {
        round(&project, &[], exit);
    }
    for (lines, exits) in [
        ("same-failure 2\n  retries 9", &[40, 22, 22][..]),
        ("retries 1\n  same-failure 2", &[40, 21]),
    ] {
        let project = begun(&gate(lines));
        project.write("src/a", "bad\n");
        for exit in exits {
            round(&project, &[], *exit);
        }
    }
}

/// Nobody has said where the work begins: it does where it left the default branch, not at HEAD of
/// the first round.
#[test]
fn it_begins_at_the_default_base() {
    let files = [
        ("contracts/verify.vplan", CONTRACT),
        ("src/a", "ok\n"),
        (".gitignore", ".vplan\n"),
    ];
    let project = Project::git_with(&files);
    super::pushed(&project);
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("src/a", "bad\n").commit("work");
    let report = round(&project, &[], 40);
    assert_eq!(codes(&report), [""; 0]);
    // Neither forgetting it nor a default branch that has moved meanwhile makes less of it.
    project.run(&["gate", "reset", "--subject", "S"]).exits(0);
    round(&project, &[], 40);
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    round(&project, &[], 40);
    // A part in the first round, too.
    assert_eq!(
        reason(&round(&project, &["--changed-none"], 20)),
        ("retry", "part_of_change")
    );
}

/// No default branch is known: nothing is green that could only be so because commits were not
/// looked at.
#[test]
fn head_as_base_is_said_in_each_round() {
    let contract = gate("same-failure 9\n  retries 9");
    let files = [
        ("contracts/verify.vplan", contract.as_str()),
        ("src/a", "ok\n"),
        (".gitignore", ".vplan\n"),
    ];
    let project = Project::git_with(&files);
    if project.exists(".git/refs/remotes") {
        project.remove(".git/refs/remotes");
    }
    project.write(".git/config", "[core]\n\trepositoryformatversion = 0\n");
    project.write("src/a", "bad\n").commit("work");
    for _ in 0..2 {
        let report = round(&project, &[], 44);
        assert_eq!(
            (codes(&report), &report["counter"]),
            (vec!["base_unknown"], &json!(0)),
            "{report}"
        );
    }
    project.run(&["gate", "show", "--check"]).exits(20);
    round(&project, &["--changed", "none"], 44);
    // Work that follows is narrowed, and an earlier base mends it.
    project.write("src/b", "1\n");
    assert_eq!(
        round(&project, &["--base", "HEAD~1"], 40)["caveats"],
        Value::Null
    );
    project.write("src/a", "ok\n");
    round(&project, &[], 0);
}

#[test]
fn a_word_completes_nothing_that_runs_verify() {
    let word = |project: &Project, subject: &str, flags: &[&str], exit: i32| {
        let args = [
            "gate",
            "record",
            "--status",
            "done",
            "--format",
            "json",
            "--subject",
            subject,
        ];
        project.run(&[&args[..], flags].concat()).exits(exit).json()
    };
    let is_complete = |project: &Project| project.run(&["gate", "show", "--check"]).exit == Some(0);
    // It has begun, and nothing was verified.
    let project = begun(&gate("confirmations 2"));
    let said = word(&project, "S", &["--changed", "none"], 20);
    assert_eq!(
        (reason_of(&said), &said["counter"]),
        (("retry", "not_verified"), &json!(0))
    );
    assert!(!is_complete(&project));
    // Its runs are red.
    project.write("src/a", "bad\n");
    round(&project, &[], 40);
    for flags in [&[][..], &["--changed", "none"], &["--changed", "3"]] {
        let said = word(&project, "S", flags, 20);
        assert_eq!(
            (reason_of(&said), &said["counter"]),
            (("retry", "not_verified"), &json!(0)),
            "{flags:?}"
        );
        assert!(!is_complete(&project));
    }
    let told = project.run(&[
        "gate",
        "record",
        "--subject",
        "S",
        "--status",
        "done",
        "--changed",
        "none",
    ]);
    told.exits(20).says("`vplan run --subject 'S'`");
    // One of two confirmations is there: a word is not the other.
    project.write("src/a", "ok too\n");
    round(&project, &[], 20);
    let said = word(&project, "S", &["--changed", "none"], 20);
    assert_eq!(
        (reason_of(&said), &said["counter"]),
        (("reverify", "not_verified"), &json!(1))
    );
    // Nor does it say that nothing changed.
    project.write("src/a", "ok as well\n");
    word(&project, "S", &["--changed", "none"], 20);
    assert_eq!(round(&project, &[], 20)["counter"], 1);
    round(&project, &[], 0);
    // What runs have completed stays so.
    word(&project, "S", &["--changed", "none"], 0);
    assert!(is_complete(&project));
    // Words that came before the first run confirm none.
    word(&project, "T", &["--changed", "none"], 20);
    word(&project, "T", &["--changed", "none"], 0);
    let first = project
        .run(&["run", "--subject", "T", "--format", "json"])
        .json();
    assert_eq!(first["counter"], 1, "{first}");
    word(&project, "U", &["--changed", "none"], 20);
    word(&project, "U", &["--changed", "none"], 0);
    project.run(&["gate", "begin", "--subject", "U"]).exits(0);
    project
        .run(&["gate", "show", "--check", "--subject", "U"])
        .exits(20)
        .says("U 0/2");
}

fn reason_of(recorded: &Value) -> (&str, &str) {
    (
        recorded["decision"].as_str().unwrap(),
        recorded["reason"].as_str().unwrap_or_default(),
    )
}

/// Others lower the gate, or ask for less, on the default branch: who merges it is told so, and is
/// held against what was there.
#[test]
fn what_others_changed_is_said_to_be_theirs() {
    let contract = gate("confirmations 3");
    let lower = contract.replace("confirmations 3", "confirmations 1");
    let less = contract.replace("check docs: grep", "check docs: true grep");
    for (own, text, code) in [
        (false, &lower, "gate_weakened"),
        (true, &lower, "gate_weakened"),
        (false, &less, "contract_weakened"),
        (true, &less, "contract_weakened"),
    ] {
        let project = begun(&contract);
        project.git(&["checkout", "-q", "-b", "work"]);
        project.write("docs/a", "y\n").commit("work");
        round(&project, &[], 20);
        if own {
            project.write("contracts/verify.vplan", text).commit("mine");
        } else {
            project.git(&["checkout", "-q", "main"]);
            project
                .write("contracts/verify.vplan", text)
                .commit("theirs");
            super::pushed(&project);
            project.git(&["checkout", "-q", "work"]);
            project.git(&["merge", "-q", "--no-edit", "main"]);
        }
        let report = round(&project, &[], 44);
        let caveats = report["caveats"].as_array().unwrap();
        let said = caveats
            .iter()
            .find(|c| c["code"] == code)
            .unwrap_or_else(|| panic!("{code}: {report}"));
        let message = said["message"].as_str().unwrap();
        assert_eq!(
            (message.contains("others changed it"), &report["counter"]),
            (!own, &json!(0)),
            "{code}: {message}"
        );
    }
}

#[test]
fn an_accepted_contract_brings_its_gate() {
    let project = begun(&gate("confirmations 3"));
    project.write("src/b", "1\n");
    round(&project, &[], 20);
    let lower = |lines: &str| {
        project.write("contracts/verify.vplan", gate(lines));
        let answer = project.run(&["check", "--format", "json"]).exits(0).json();
        answer["contract"].as_str().unwrap().to_owned()
    };
    let digest = lower("confirmations 1");
    assert!(codes(&round(&project, &[], 44)).contains(&"gate_weakened"));
    project
        .run(&["gate", "accept", "--subject", "S", "--contract", &digest])
        .exits(0);
    let report = round(&project, &[], 0);
    assert_eq!(
        (codes(&report), &report["required"], reason(&report).0),
        (vec![], &json!(1), "complete")
    );
    project
        .run(&["gate", "show", "--check"])
        .exits(0)
        .says("S 1/1");
    // This contract and no other one.
    lower("confirmations 1\n  on-exhausted allow");
    assert!(codes(&round(&project, &[], 44)).contains(&"gate_weakened"));
}

#[test]
fn a_file_of_a_repository_inside_counts_for_what_is_complete() {
    let inner = Project::git_with(&[("x", "1"), (".gitignore", "out/\n")]);
    let project = begun("vplan 1\ncheck a: true\n");
    let url = inner.root().display().to_string();
    project.git(&["submodule", "--quiet", "add", &url, "sub"]);
    project.commit("a submodule");
    project.mkdir("nested").git_in("nested", &["init", "-q"]);
    project.write("nested/y", "1");
    let complete = |exit| {
        let show = ["gate", "show", "--subject", "S", "--check"];
        project.run(&show).exits(exit);
    };
    for file in ["sub/x", "nested/y"] {
        project.run(&["run", "--subject", "S"]).exits(0);
        complete(0);
        project.write(file, "2");
        complete(20);
        project.write(file, "1");
        complete(0);
    }
    // What a submodule ignores is no part of it; a file that is written anew is the same.
    project.write("sub/out/y", "1").write("sub/x", "1");
    complete(0);
    project.write("sub/new", "1");
    complete(20);
}
