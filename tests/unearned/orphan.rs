//! A branch that has no common ancestor with the default branch: the contract and the baseline at
//! the tip of that branch count, and a person has to accept the rest.

use super::{caveat, codes};
use crate::support::Project;

const BOTH: &str = "vplan 1\ncheck a: true\ncheck hard: grep -q good src/a\n";
const LESS: &str = "vplan 1\ncheck a: true\n";

/// A branch without commits, on which the work tree has this contract.
fn unborn(contract: &str) -> Project {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", BOTH),
        ("src/a", "good\n"),
        (".gitignore", ".vplan/\n"),
    ]);
    project.git(&["checkout", "-q", "--orphan", "island"]);
    project.write("contracts/verify.vplan", contract);
    project
}

/// The same, with a commit.
fn orphan(contract: &str) -> Project {
    let project = unborn(contract);
    project.write("src/a", "bad\n").commit("island");
    project
}

fn narrowed(project: &Project, flags: &[&str]) {
    let flags = [&["run", "--require", "full", "--format", "json"], flags].concat();
    let report = project.run(&flags).exits(44).json();
    let found = codes(&report);
    assert!(
        found.contains(&"no_common_ancestor"),
        "{flags:?}: {report:#}"
    );
    assert_eq!(
        caveat(&report, "contract_weakened")["checks"],
        serde_json::json!(["hard"]),
        "{flags:?}"
    );
}

#[test]
fn an_orphan_branch_is_held_against_the_default_branch() {
    let project = orphan(LESS);
    for flags in [
        &[][..],
        &["--base", "main"],
        &["--all"],
        &["--changed", "src/a"],
        &["--staged"],
    ] {
        project.write("src/a", "bad 2\n");
        project.git(&["add", "-A"]);
        narrowed(&project, flags);
    }
    let plan = project.path("plan.json");
    let plan = plan.to_str().unwrap();
    let args = ["plan", "--base", "main", "-o", plan];
    project.run(&args).exits(0);
    narrowed(&project, &["--plan", plan]);
    project.run(&["run"]).exits(0).says("no common ancestor");
    project
        .run(&["explain"])
        .exits(0)
        .says("no common ancestor");
    project.run(&["status", "--require", "verified"]).exits(44);
    project.run(&["diff", "--base", "main"]).says("hard");
    for flags in [&[][..], &["--base", "main"]] {
        let args = [&["run", "--subject", "S"], flags].concat();
        project.run(&args).exits(44).says("asks for less");
    }
    project.run(&["gate", "show", "--check"]).exits(20);
    let status = ["status", "--subject", "S", "--require", "verified"];
    project.run(&status).exits(44);
}

#[test]
fn an_unborn_branch_beside_others_is_an_orphan() {
    let project = unborn(LESS);
    narrowed(&project, &[]);
    project.git(&["add", "-A"]);
    narrowed(&project, &["--staged"]);
    project.run(&["run", "--subject", "S"]).exits(44);
    project.run(&["gate", "show", "--check"]).exits(20);
}

/// Without any branch, the log of HEAD still says that there was a commit.
#[test]
fn a_removed_branch_is_not_the_first_commit() {
    let project = Project::git_empty();
    project
        .write("contracts/verify.vplan", BOTH)
        .write(".gitignore", ".vplan/\n")
        .commit("begin");
    project.git(&["update-ref", "-d", "HEAD"]);
    project.write("contracts/verify.vplan", LESS);
    let args = ["run", "--require", "full", "--format", "json"];
    let report = project.run(&args).exits(44).json();
    assert!(codes(&report).contains(&"no_common_ancestor"));
}

/// Nor is it one beside anything else that leads to a commit.
#[test]
fn an_unborn_branch_without_a_log_is_not_the_first_commit() {
    let traces: [&[&str]; 4] = [
        &["tag", "v1", "main"],
        &["update-ref", "refs/pull/7/head", "main"],
        &["fetch", "-q", ".", "main"],
        &["worktree", "add", "-q", "--detach", "../other", "main"],
    ];
    for trace in traces {
        let project = unborn(LESS);
        project.git(trace);
        for name in ["main", "remotes/origin/HEAD", "remotes/origin/main"] {
            let _ = std::fs::remove_file(project.path(format!(".git/refs/{name}")));
        }
        project.git(&["update-ref", "-d", "refs/heads/main"]);
        std::fs::remove_dir_all(project.path(".git/logs")).unwrap();
        let args = ["run", "--require", "full", "--format", "json"];
        let report = project.run(&args).exits(44).json();
        assert!(codes(&report).contains(&"no_common_ancestor"), "{trace:?}");
    }
}

#[test]
fn an_orphan_branch_has_the_gate_and_the_rows_of_the_default_branch() {
    let three = BOTH.replacen('\n', "\ngate {\n  confirmations 3\n}\n", 1);
    let project = Project::git_with(&[
        ("contracts/verify.vplan", three.as_str()),
        ("src/a", "good\n"),
        (".gitignore", ".vplan/\n"),
    ]);
    project.git(&["checkout", "-q", "--orphan", "island"]);
    project
        .write("contracts/verify.vplan", BOTH)
        .commit("island");
    let args = ["run", "--subject", "S", "--format", "json"];
    let report = project.run(&args).exits(44).json();
    assert!(codes(&report).contains(&"gate_weakened"), "{report:#}");
    assert_eq!(report["required"], 3);
}

#[test]
fn a_person_accepts_an_orphan_branch() {
    let project = orphan(BOTH);
    project.write("src/a", "good\n");
    let full = ["run", "--require", "full"];
    project.run(&full).exits(44);
    let checked = project.run(&["check", "--format", "json"]).out();
    let at = checked.find("sha256:").unwrap();
    let digest = checked[at..].split('"').next().unwrap();
    let allow = format!("--allow-contract-change={digest}");
    project.run(&[&full[..], &[&allow]].concat()).exits(0);
    let subject = [&full[..], &["--subject", "S"]].concat();
    project.run(&subject).exits(44);
    let accept = ["gate", "accept", "--subject", "S", "--contract", digest];
    project.run(&accept).exits(0);
    project.run(&subject).exits(0);
    project.run(&["gate", "show", "--check"]).exits(0);
}

/// A branch from the first commit, which has no contract, while `main` has one.
fn before_the_contract(contract: &str) -> Project {
    let project = Project::git_with(&[(".gitignore", ".vplan/\n")]);
    project.git(&["checkout", "-q", "-b", "island"]);
    project.git(&["checkout", "-q", "main"]);
    let main = project
        .write("contracts/verify.vplan", BOTH)
        .write("src/a", "good\n")
        .commit("contract");
    project.pushed(&main);
    project.git(&["checkout", "-q", "island"]);
    project
        .write("contracts/verify.vplan", contract)
        .write("src/a", "good, too\n")
        .commit("island");
    project
}

#[test]
fn a_branch_made_before_the_contract_is_held_against_the_one_at_the_tip() {
    let full = ["run", "--require", "full", "--format", "json"];
    let flags = [
        &[][..],
        &["--base", "main"],
        &["--all"],
        &["--changed", "src/a"],
        &["--subject", "S"],
    ];
    let project = before_the_contract(LESS);
    for flags in flags {
        let report = project.run(&[&full[..], flags].concat()).exits(44).json();
        assert_eq!(
            caveat(&report, "contract_weakened")["checks"],
            serde_json::json!(["hard"]),
            "{flags:?}"
        );
    }
    project.run(&["run"]).says("(the base has no contract)");
    project.run(&["gate", "show", "--check"]).exits(20);
    project.run(&["status", "--require", "verified"]).exits(44);
    // The same contract, and a further check.
    for contract in [BOTH.to_owned(), format!("{BOTH}check more: true\n")] {
        let project = before_the_contract(&contract);
        for flags in flags {
            project.run(&[&full[..], flags].concat()).exits(0);
        }
        project.run(&["gate", "show", "--check"]).exits(0);
    }
    // A first contract, for a branch that has none at its tip either.
    let project = before_the_contract(LESS);
    project.git(&["branch", "-q", "release", "island~"]);
    project
        .run(&[&full[..], &["--base", "release"]].concat())
        .exits(0);
}

#[test]
fn merged_histories_have_a_common_ancestor() {
    let project = orphan(BOTH);
    project.write("src/a", "good\n").commit("good");
    let merge = [
        "merge",
        "-q",
        "--allow-unrelated-histories",
        "-X",
        "ours",
        "main",
    ];
    project.git(&merge);
    project.run(&["run", "--require", "full"]).exits(0);
}

/// In a repository without any commit there is nothing to be held against.
#[test]
fn the_first_commit_stays_a_full_pass() {
    let project = Project::git_empty();
    project
        .write("contracts/verify.vplan", BOTH)
        .write("src/a", "good\n")
        .write(".gitignore", ".vplan/\n");
    project.run(&["run", "--require", "full"]).exits(0);
    let subject = ["run", "--subject", "S", "--require", "full"];
    project.run(&subject).exits(0);
    project.run(&["gate", "show", "--check"]).exits(0);
    project.git(&["add", "-A"]);
    project
        .run(&["run", "--staged", "--require", "full"])
        .exits(0);
}
