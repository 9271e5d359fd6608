//! A loop passes no work that is gone, and no confirmation that nobody gave.

use super::pushed;
use crate::support::{Project, Ran};
use serde_json::{Value, json};

const CONTRACT: &str = "vplan 1\nwhenChangedAny \"src/**\" {\n  check a: sh check.sh\n}\n";
const CONFIRMED: &str = "vplan 1\ngate {\n  confirmations 2\n}\ncheck a: sh check.sh\n";
/// What puts a commit under a name.
const COMMIT: &str = "git -c user.name=f -c user.email=f@example.org commit -q -m fixed";

/// A change that does not pass, and a fixer beside the repository.
fn project(contract: &str, fixer: &str) -> Project {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", contract),
        ("check.sh", "echo run >> ../runs\n! grep -q broken src/a\n"),
        ("src/a", "good\n"),
        ("src/tests/t", "old\n"),
    ]);
    pushed(&project);
    project
        .write("src/a", "broken\n")
        .write("src/tests/t", "new\n");
    project.script(
        "../fix.sh",
        &format!("#!/bin/sh\necho turn >> ../turns\n{fixer}\n"),
    );
    project
}

fn loops(project: &Project, flags: &[&str]) -> Ran {
    project.run(
        &[
            &["loop", "--fix", "sh ../fix.sh", "--format", "json"],
            flags,
        ]
        .concat(),
    )
}

fn lines(project: &Project, file: &str) -> usize {
    if project.exists(file) {
        project.read(file).lines().count()
    } else {
        0
    }
}

fn said<'a>(report: &'a Value, code: &str) -> Option<&'a Value> {
    report["caveats"]
        .as_array()?
        .iter()
        .find(|c| c["code"] == code)
}

#[test]
fn work_that_is_thrown_away_is_not_repaired() {
    let revert = format!("git add -A && {COMMIT} && git revert --no-edit HEAD > /dev/null");
    for (what, fixer, flags) in [
        ("checkout", "git checkout -q .", &[][..]),
        ("stash", "git stash -q", &[]),
        (
            "another branch",
            "git stash -q && git checkout -q -b other",
            &[],
        ),
        ("by hand", "echo good > src/a; echo old > src/tests/t", &[]),
        ("commit and revert", &revert, &[]),
        ("with a base", "git checkout -q .", &["--base", "main"]),
        ("with all files", "git checkout -q .", &["--all"]),
        ("with a list", "git checkout -q .", &["--changed", "src/a"]),
        (
            "something else instead",
            "git checkout -q . && echo x > src/new",
            &[],
        ),
        ("of a subject", "git checkout -q .", &["--subject", "S"]),
    ] {
        let fixer = format!(
            "export GIT_AUTHOR_NAME=f GIT_AUTHOR_EMAIL=f@example.org GIT_COMMITTER_NAME=f GIT_COMMITTER_EMAIL=f@example.org\n{fixer}"
        );
        let project = project(CONTRACT, &fixer);
        let ran = loops(&project, flags);
        ran.exits(40).warns("vplan::loop::change_gone");
        let answer = ran.json();
        assert_eq!(
            (&answer["stop"], &answer["decision"]),
            (&json!("change_gone"), &json!("fail")),
            "{what}"
        );
        assert_eq!(answer["undone"], json!(["src/a", "src/tests/t"]), "{what}");
        assert_eq!(answer["report"]["verdict"], "failed", "{what}");
        assert!(
            said(&answer["report"], "change_gone").is_some(),
            "{what}: {answer}"
        );
        assert_eq!(
            lines(&project, "../runs"),
            1,
            "{what}: nothing was verified of it"
        );
        if flags.contains(&"--subject") {
            project.run(&["gate", "show", "--check"]).exits(20);
        }
    }
}

#[test]
fn work_that_is_hidden_is_not_repaired() {
    for (what, hide) in [
        ("by a rule of the repository", "echo 'src/new' > .gitignore"),
        (
            "by a rule of this machine",
            "echo 'src/new' > .git/info/exclude",
        ),
        ("by its absence", "rm src/new"),
    ] {
        let project = project(CONTRACT, hide);
        project.git(&["checkout", "-q", "."]);
        project
            .write("src/new", "n\n")
            .write("check.sh", "! test -e src/new\n");
        project.git(&["add", "check.sh"]);
        project.commit("the check");
        project.git(&["rm", "-q", "--cached", "src/new"]);
        project.commit("not the file");
        let ran = loops(&project, &[]);
        let answer = ran.json();
        assert_ne!(answer["exitCode"], 0, "{what}: {answer}");
        assert_ne!(answer["stop"], "passed", "{what}");
    }
}

#[test]
fn work_that_passed_and_is_thrown_away_in_its_review_is_no_pass() {
    for flags in [&[][..], &["--subject", "S"]] {
        let project = project(CONFIRMED, "git checkout -q .");
        project.write("src/a", "fine\n");
        let answer = loops(&project, flags).exits(40).json();
        assert_eq!(
            (&answer["stop"], &answer["report"]["verdict"]),
            (&json!("change_gone"), &json!("failed"))
        );
        assert_eq!(
            (&answer["counter"], lines(&project, "../runs")),
            (&json!(0), 1)
        );
    }
}

#[test]
fn tests_that_are_taken_back_narrow() {
    let project = project(CONTRACT, "git checkout -q src/tests && echo fine > src/a");
    let answer = loops(&project, &["--require", "full", "--max-rounds", "2"])
        .exits(21)
        .json();
    assert_eq!(answer["undone"], json!(["src/tests/t"]));
    let caveat = said(&answer["report"], "undone").unwrap();
    assert_eq!(
        (&caveat["effect"], &caveat["files"]),
        (&json!("narrows"), &json!(["src/tests/t"]))
    );
    assert_eq!(answer["report"]["coverage"], "narrowed");
    // What is no test is said.
    let project = self::project(CONTRACT, "git checkout -q src/a");
    let answer = loops(&project, &[]).exits(0).json();
    assert_eq!(
        (&answer["undone"], &answer["report"]["coverage"]),
        (&json!(["src/a"]), &json!("full"))
    );
    assert_eq!(said(&answer["report"], "undone").unwrap()["effect"], "note");
}

#[test]
fn a_repair_after_which_nothing_applies_is_no_pass() {
    let project = project(CONTRACT, "git checkout -q src\necho more >> ../n\n");
    project.write("README", "new\n");
    let answer = loops(&project, &["--max-rounds", "3"]).exits(22).json();
    assert_eq!(
        (&answer["stop"], &answer["rounds"][1]["decision"]),
        (&json!("no_change"), &json!("retry")),
        "{answer}"
    );
}

#[test]
fn a_confirmation_that_nobody_gave_does_not_count() {
    for (what, fixer, exit, stop, runs, counter) in [
        ("it does not agree", "exit 1", 20, "not_confirmed", 1, 1),
        ("it is killed", "kill -9 $$", 20, "not_confirmed", 1, 1),
        (
            "it is stuck",
            "echo STUCK: I cannot read it",
            22,
            "stuck",
            1,
            1,
        ),
        (
            "it changes the work each time",
            "echo more >> src/a",
            21,
            "max_rounds",
            3,
            1,
        ),
        ("it agrees", "true", 0, "passed", 1, 2),
        (
            "it commits what is there",
            &format!("git add -A && {COMMIT}"),
            0,
            "passed",
            1,
            2,
        ),
        (
            "it repairs, then agrees",
            "test -e ../once || echo more >> src/a; touch ../once",
            0,
            "passed",
            2,
            2,
        ),
        (
            "it edits the contract",
            "echo 'check b: true' >> contracts/verify.vplan",
            22,
            "contract_changed",
            1,
            1,
        ),
    ] {
        for flags in [&[][..], &["--subject", "S"]] {
            let project = project(CONFIRMED, fixer);
            project.write("src/a", "fine\n");
            let ran = loops(&project, &[flags, &["--max-rounds", "3"]].concat());
            ran.exits(exit);
            let answer = ran.json();
            let seen = (
                &answer["stop"],
                &answer["counter"],
                lines(&project, "../runs"),
            );
            assert_eq!(
                seen,
                (&json!(stop), &json!(counter), runs),
                "{what} {flags:?}: {answer}"
            );
            if let [_, subject] = flags {
                let shown = project
                    .run(&["gate", "show", "--format", "json"])
                    .exits(0)
                    .json();
                let complete = shown["subjects"][0]["decision"] == "complete";
                assert_eq!(complete, exit == 0, "{what} {subject}: {shown}");
            }
        }
    }
}

#[test]
fn an_ignored_contract_is_looked_at_before_a_review_counts() {
    let project = project(CONFIRMED, "echo 'check b: true' >> contracts/own.vplan");
    project
        .write("src/a", "fine\n")
        .write(".gitignore", "own.vplan\n")
        .write("contracts/own.vplan", CONFIRMED);
    let answer = loops(&project, &["--contract", "contracts/own.vplan"])
        .exits(22)
        .json();
    assert_eq!(answer["stop"], "contract_changed");
}

#[test]
fn one_that_is_stuck_says_so_and_nothing_more() {
    for (what, fixer, stuck) in [
        (
            "its last line",
            "echo working; echo 'STUCK: no access to the \\033[2Jdatabase'; echo",
            "no access",
        ),
        (
            "on standard error",
            "echo 'STUCK: because' >&2; exit 3",
            "because",
        ),
        (
            "in the file",
            "echo 'from the file' > \"$VPLAN_STUCK\"",
            "from the file",
        ),
        ("an empty file", ": > \"$VPLAN_STUCK\"", "it gave no reason"),
        (
            "something else in its place",
            "mkdir \"$VPLAN_STUCK\"",
            "cannot be read",
        ),
        (
            "with a secret",
            "echo \"key $GRANTED_KEY\" > \"$VPLAN_STUCK\"",
            "key ",
        ),
        (
            "after a repair",
            "echo good > src/a; echo STUCK: the rest; ",
            "the rest",
        ),
    ] {
        let project = project(CONTRACT, fixer);
        let flags = [
            "loop",
            "--fix",
            "sh ../fix.sh",
            "--format",
            "json",
            "--subject",
            "S",
            "--grant-env",
            "GRANTED_KEY",
        ];
        let ran = project
            .vplan(&flags)
            .env("GRANTED_KEY", "granted-value")
            .run();
        ran.exits(22).never_says("granted-value").never_says("\x1b");
        let answer = ran.json();
        assert_eq!(
            (&answer["stop"], &answer["decision"]),
            (&json!("stuck"), &json!("escalate")),
            "{what}"
        );
        assert!(
            answer["stuck"].as_str().unwrap().contains(stuck),
            "{what}: {}",
            answer["stuck"]
        );
        assert_eq!(lines(&project, "../turns"), 1, "{what}");
        project.run(&["gate", "show"]).exits(0).says("escalate");
    }
    // What is said earlier is not the last word.
    let project = project(CONTRACT, "echo STUCK: no; echo fine > src/a; echo done");
    loops(&project, &[]).exits(0);
}

#[test]
fn what_was_not_looked_at_is_said_in_every_round() {
    let project = project(CONTRACT, "echo fine > src/a");
    project.git(&["update-ref", "-d", "refs/remotes/origin/HEAD"]);
    project.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    project.git(&["branch", "-q", "-m", "work"]);
    let first = project
        .run(&["explain", "--format", "json"])
        .exits(0)
        .json();
    let answer = loops(&project, &[]).exits(0).json();
    assert!(said(&first, "base_unknown").is_some(), "{first}");
    let last = said(&answer["report"], "base_unknown");
    assert_eq!(
        last.map(|c| &c["effect"]),
        Some(&json!("narrows")),
        "{answer}"
    );
    assert_eq!(answer["report"]["coverage"], "narrowed");
}

/// Contents decide, not names.
#[test]
fn work_under_another_name_is_not_gone() {
    for (fixer, stop, exit) in [
        (
            "if test -e src/new; then mv src/new src/other; else echo good > src/a; fi",
            "passed",
            0,
        ),
        ("rm src/new; echo else > src/other", "change_gone", 40),
    ] {
        let project = project(CONTRACT, fixer);
        project
            .write("src/tests/t", "old\n")
            .commit("broken before");
        super::pushed(&project);
        project.write("src/new", "1\n");
        let answer = loops(&project, &[]).exits(exit).json();
        assert_eq!(answer["stop"], stop, "{fixer}: {answer}");
        assert!(
            answer.get("undone").is_none_or(|u| u == &json!([])) || exit == 40,
            "{answer}"
        );
    }
}
