//! `status --require verified`, and `verify`: what is not verified is not called so.

use crate::support::Project;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const CONTRACT: &str = "vplan 1\ncheck other: true\nwhenChangedAny \"src/**\" {\n  check unit: test ! -e src/bad\n  check lint: true\n}\n";

fn project() -> Project {
    Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("src/a", "1"),
        ("README.md", "Words.\n"),
    ])
}

/// A tree on which the run that the change needs has failed.
fn red() -> Project {
    let project = project();
    project.write("src/bad", "");
    project.run(&["run"]).exits(40);
    project
}

#[track_caller]
fn refused(project: &Project, why: &str) {
    project
        .run(&["status", "--require", "verified"])
        .exits(44)
        .says(why);
    let document = project
        .run(&["status", "--require", "verified", "--format", "json"])
        .exits(44)
        .json();
    assert_eq!(document["verified"], false);
    assert_ne!(document["answer"], "verified");
    assert!(
        document["whyNot"].as_str().unwrap().contains(why),
        "{document}"
    );
    // Who requires nothing is told the same, and is let go.
    assert_eq!(
        project.run(&["status", "--format", "json"]).exits(0).json(),
        document
    );
}

#[track_caller]
fn verified(project: &Project) {
    project.run(&["status", "--require", "verified"]).exits(0);
    let document = project.run(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(
        (&document["answer"], &document["verified"]),
        (&json!("verified"), &json!(true)),
        "{document}"
    );
}

#[track_caller]
fn ran(project: &Project, args: &[&str], exit: i32) -> Value {
    project
        .run(&[&["run"], args, &["--format", "json"]].concat())
        .exits(exit)
        .json()
}

fn folder(project: &Project, report: &Value) -> PathBuf {
    project
        .path(".vplan/runs")
        .join(report["runId"].as_str().unwrap())
}

fn edit(file: &Path, old: &str, new: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(old), "no {old:?} in {}", file.display());
    std::fs::write(file, text.replace(old, new)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// What vplan remembers of the runs of a project.
fn remembered(project: &Project) -> Vec<String> {
    let state = project.parent().join("home/state/vplan");
    let repositories = std::fs::read_dir(state).unwrap().map(|e| e.unwrap().path());
    let mut names: Vec<String> = repositories
        .flat_map(|r| std::fs::read_dir(r.join("ended")).unwrap())
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A failed run, and then one on the same tree that does less.
#[test]
fn a_run_that_does_less_does_not_cover_a_failure() {
    for less in [
        &["--changed-none"][..],
        &["--changed", "README.md"],
        &["--only", "other"],
        &["--only", "tag:none", "--only", "other"],
        &["--skip", "unit", "--reason", "x"],
        &["other"],
        &["other", "lint"],
        &["--staged"],
        &["--mode", "off"],
    ] {
        let project = red();
        let exit = project.run(&[&["run"], less].concat()).exit;
        refused(&project, "");
        assert!(matches!(exit, Some(0 | 2 | 44)), "{less:?}: {exit:?}");
    }
}

/// A base that is later than the default one: such a run counts for what it contains, and it is
/// narrowed.
#[test]
fn a_run_since_a_later_commit_does_not_cover_earlier_ones() {
    let project = project();
    project.write("src/bad", "").commit("bad");
    project.write("src/c", "").commit("more");
    project.write("README.md", "Other words.\n");
    for base in ["HEAD", "HEAD~1", "main"] {
        let report = project
            .run(&["run", "--only", "other", "--base", base, "--format", "json"])
            .exits(0)
            .json();
        assert_eq!(report["coverage"], "narrowed", "{base}");
        refused(&project, "");
    }
    project
        .run(&["run", "--base", "HEAD"])
        .exits(0)
        .says("`--base` leaves out commits");
    refused(&project, "narrowed");
    project.run(&["run", "--base", "HEAD~1"]).exits(40);
    refused(&project, "");
    // One that looks further back contains it.
    project.remove("src/bad");
    project.run(&["run", "--base", "HEAD~2"]).exits(0);
    verified(&project);
    project.run(&["run", "--base", "HEAD"]).exits(0);
    verified(&project);
}

#[test]
fn a_run_that_does_less_says_what_it_lacks() {
    for (less, why) in [
        (
            &["--changed", "README.md"][..],
            "it did not run `unit`, `lint` as it would run now",
        ),
        (
            &["--changed-none"],
            "it did not run `unit`, `lint` as it would run now",
        ),
        (&["--shard", "1/2"], "only a shard"),
        (&["--shard", "1/1"], "only a shard"),
        (&["--mode", "off"], "mode is off"),
    ] {
        let project = project();
        project.write("src/b", "");
        let _ = project.run(&[&["run"], less].concat()).exits(0);
        let why_not =
            project.run(&["status", "--format", "json"]).exits(0).json()["whyNot"].clone();
        let named = |word: &str| why_not.as_str().unwrap().contains(word);
        assert!(
            named(why) || (why.contains("lint") && named("narrowed")),
            "{less:?}: {why_not}"
        );
        project.run(&["status", "--require", "verified"]).exits(44);
        ran(&project, &[], 0);
        verified(&project);
    }
}

/// The weak contract lies where it is no part of the tree, and is gone when somebody asks.
#[test]
fn another_contract_verifies_nothing() {
    let project = red();
    project.write(
        ".vplan/weak.vplan",
        "vplan 1\ncheck unit: true\ncheck lint: true\ncheck other: true\n",
    );
    let _ = project
        .run(&["run", "--contract", ".vplan/weak.vplan"])
        .exit;
    project.remove(".vplan/weak.vplan");
    refused(&project, "");
    // Nor does it where nothing has failed.
    let project = self::project();
    project.write("src/b", "").write(
        ".vplan/weak.vplan",
        CONTRACT.replace("test ! -e src/bad", "true"),
    );
    ran(&project, &["--contract", ".vplan/weak.vplan"], 0);
    project.remove(".vplan/weak.vplan");
    refused(&project, "");
    ran(&project, &[], 0);
    verified(&project);
}

#[test]
fn an_edited_report_is_unknown() {
    let project = project();
    project.write("src/b", "");
    let passed = ran(&project, &[], 0);
    project.write("src/bad", "");
    let failed = ran(&project, &[], 40);
    // The pass is said to be about the tree that is here, and the failure is put out of sight.
    edit(
        &folder(&project, &passed).join("report.json"),
        passed["tree"].as_str().unwrap(),
        failed["tree"].as_str().unwrap(),
    );
    std::fs::remove_dir_all(folder(&project, &failed)).unwrap();
    project
        .run(&["status", "--require", "verified"])
        .exits(44)
        .says("unknown: its record is not there");
    let verify = project.run(&["verify", passed["runId"].as_str().unwrap()]);
    verify
        .exits(4)
        .says("✗ origin: its report is not the one that vplan wrote");
    verify.says(
        "✗ tree: the work tree is the one that the report names, and not the one that was verified",
    );
}

#[test]
fn each_edit_of_a_record_is_seen() {
    let project = project();
    project.write("src/b", "");
    for (file, old, new) in [
        (
            "report.json",
            "\"verdict\":\"passed\"",
            "\"verdict\": \"passed\"",
        ),
        ("report.json", "\"exitCode\":0,", "\"exitCode\":0, "),
        ("report.json", "\"durationMs\":", "\"durationMs\":1"),
        ("plan.json", "\"id\":\"lint\"", "\"id\":\"tint\""),
    ] {
        let report = ran(&project, &[], 0);
        verified(&project);
        let path = folder(&project, &report).join(file);
        edit(&path, old, new);
        let shown = project.run(&["status", "--require", "verified", "--format", "json"]);
        let document = shown.json();
        assert_eq!(document["answer"], "unknown", "{file} {old}: {document}");
        shown.exits(44);
        std::fs::remove_file(&path).unwrap();
        let document = project.run(&["status", "--format", "json"]).exits(0).json();
        assert_eq!(document["answer"], "unknown", "{file}: {document}");
        std::fs::remove_dir_all(folder(&project, &report)).unwrap();
    }
    // The journal alone decides nothing either.
    let failed = red();
    let report = ran(&failed, &[], 40);
    for file in ["events.jsonl", "report.json"] {
        edit(
            &folder(&failed, &report).join(file),
            "\"verdict\":\"failed\"",
            "\"verdict\":\"passed\"",
        );
    }
    refused(&failed, "");
}

/// The same tree, the same contract, and a check that looks outside of both.
#[test]
fn a_record_of_another_repository_is_unknown() {
    let files = [(
        "contracts/verify.vplan",
        "vplan 1\ncheck unit: test -e ../ok\n",
    )];
    let (here, there) = (Project::git_with(&files), Project::git_with(&files));
    there.write("../ok", "");
    let report = ran(&there, &["--all"], 0);
    copy(&folder(&there, &report), &folder(&here, &report));
    here.run(&["status", "--require", "verified"])
        .exits(44)
        .says("unknown: vplan has not kept that it ran here");
    assert_eq!(
        here.run(&["status", "--format", "json"]).json()["answer"],
        "unknown"
    );
    let verify = here.run(&["verify"]);
    verify
        .exits(0)
        .says("? origin: vplan has not kept that it ran here")
        .says("? tree: ");
    // Beside a run of its own it counts as little.
    ran(&here, &["--all"], 40);
    refused(&here, "failed");
}

#[test]
fn a_state_elsewhere_knows_nothing() {
    let project = project();
    project.write("src/b", "");
    ran(&project, &[], 0);
    verified(&project);
    let elsewhere = [
        "status",
        "--require",
        "verified",
        "--state-dir",
        "../elsewhere",
    ];
    project.run(&elsewhere).exits(44).says("unknown: ");
    assert!(!project.exists("../elsewhere"), "a look makes nothing");
    ran(&project, &["--state-dir", "../elsewhere"], 0);
    project.run(&elsewhere).exits(0);
    // The records elsewhere, and what is remembered of them where it always is.
    ran(&project, &["--records", "../kept"], 0);
    project
        .run(&["status", "--require", "verified", "--records", "../kept"])
        .exits(0);
    project.write("../kept/file", "");
    project
        .run(&[
            "status",
            "--require",
            "verified",
            "--state-dir",
            "../kept/file",
        ])
        .exits(44)
        .says("unknown: ");
}

#[test]
fn another_tree_is_not_verified() {
    let project = project();
    project.write("src/b", "");
    ran(&project, &[], 0);
    project.write("src/bad", "");
    refused(&project, "the work tree is not the one that was verified");
    ran(&project, &[], 40);
    project.remove("src/bad");
    ran(&project, &["--only", "unit"], 0);
    // What failed here, and passes without the bad file, is put back.
    project.write("src/bad", "");
    refused(&project, "");
    project.remove("src/bad");
    verified(&project);
}

/// A check that passes and then fails on the same tree has not passed.
#[test]
fn a_later_failure_on_the_same_tree_counts() {
    let project = Project::contract("vplan 1\ncheck other: true\ncheck unit: test -e ../ok\n");
    project.write("../ok", "");
    ran(&project, &["--all"], 0);
    verified(&project);
    project.remove("../ok");
    let failed = ran(&project, &["--all"], 40);
    refused(&project, "`unit` failed on this tree");
    // Also when its record is put out of sight, or is damaged.
    edit(
        &folder(&project, &failed).join("report.json"),
        "\"version\":1",
        "\"version\": 1",
    );
    refused(&project, "failed on this tree");
    std::fs::remove_dir_all(folder(&project, &failed)).unwrap();
    refused(&project, "failed on this tree");
    // What the failed run did besides says nothing against what is asked.
    project.write("../ok", "");
    ran(&project, &["--all"], 0);
    ran(&project, &["--all", "--command", "false"], 40);
    verified(&project);
}

#[test]
fn a_narrowed_run_does_not_verify() {
    let contract = "vplan 1\ncheck other: true\ncheck unit {\n  shell exit 77\n  skip-exit 77\n}\n";
    let project = Project::contract(contract);
    assert_eq!(ran(&project, &["--all"], 0)["coverage"], "narrowed");
    refused(&project, "its coverage was narrowed");
}

#[test]
fn an_empty_contract_verifies_nothing() {
    let project = Project::contract("vplan 1\n");
    let _ = project.run(&["run", "--all"]).exit;
    refused(&project, "the contract has no check");
    let project = Project::git_with(&[("a", "")]);
    let _ = project.run(&["run", "--mode", "fallback", "--all"]).exit;
    refused(&project, "");
    let deleted = self::project();
    deleted.write("src/b", "");
    ran(&deleted, &[], 0);
    deleted.remove("contracts/verify.vplan");
    refused(&deleted, "");
}

/// What is asked for is asked of the run: a pass at a lower tier is none of a higher one.
#[test]
fn more_is_asked_than_was_run() {
    let contract = "vplan 1\ncheck fast: true\ncheck slow {\n  run true\n  tier 2\n}\nbyRole reviewer {\n  check prose: true\n}\n";
    let project = Project::contract(contract);
    project.run(&["check"]).exits(0);
    ran(&project, &["--all"], 0);
    let asked = |flags: &[&str]| {
        project
            .run(&[&["status", "--require", "verified"], flags].concat())
            .exit
    };
    assert_eq!(asked(&[]), Some(0));
    for more in [
        &["--last"][..],
        &["--run-end"],
        &["--min-tier", "2"],
        &["--role", "reviewer"],
    ] {
        assert_eq!(asked(more), Some(44), "{more:?}");
    }
    for same in [
        &["--risk", "high"][..],
        &["--milestone-end"],
        &["--min-tier", "1"],
        &["--role", "worker"],
    ] {
        assert_eq!(asked(same), Some(0), "{same:?}");
    }
    ran(&project, &["--all", "--last"], 0);
    assert_eq!(asked(&["--last"]), Some(0));
    assert_eq!(asked(&[]), Some(0), "what is not said is as in the run");
    ran(&project, &["--all", "--role", "reviewer"], 0);
    assert_eq!(asked(&["--role", "reviewer"]), Some(0));
    for wrong in [
        &["--role", "nobody"][..],
        &["--base", "nowhere"],
        &["--contract-from", "nowhere"],
        &["--min-tier", "3"],
    ] {
        assert_eq!(asked(wrong), Some(2), "{wrong:?}");
    }
}

/// The change does not choose its judge, here neither: somebody has to accept what asks for less.
#[test]
fn a_weakened_contract_is_not_verified_by_itself() {
    let project = project();
    project.write("src/bad", "").write(
        "contracts/verify.vplan",
        CONTRACT.replace("test ! -e src/bad", "true"),
    );
    ran(&project, &[], 0);
    refused(&project, "");
    let found = project.run(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(found["caveats"][0]["code"], "contract_weakened", "{found}");
    let digest = project.run(&["check", "--format", "json"]).exits(0).json()["contract"]
        .as_str()
        .unwrap()
        .to_owned();
    let accept = format!("--allow-contract-change={digest}");
    let asked = |flags: &[&str]| {
        project
            .run(&[&["status", "--require", "verified"], flags].concat())
            .exit
    };
    assert_eq!(asked(&[&accept]), Some(44), "the run was narrowed");
    ran(&project, &[&accept], 0);
    assert_eq!((asked(&[]), asked(&[&accept])), (Some(44), Some(0)));
    let other = format!("--allow-contract-change=sha256:{}", "0".repeat(64));
    assert_eq!(
        (asked(&[&other]), asked(&["--allow-contract-change"])),
        (Some(44), Some(2))
    );
    assert_eq!(
        (asked(&["--subject", "S"]), asked(&["--subject", ""])),
        (Some(44), Some(2))
    );
    let _ = project.run(&["run", "--subject", "S"]).exit;
    project
        .run(&["gate", "accept", "--subject", "S", "--contract", &digest])
        .exits(0);
    assert_eq!(
        (asked(&["--subject", "S"]), asked(&["--subject", "T"])),
        (Some(0), Some(44))
    );
    // One that is not there any more says nothing for another one.
    project.write(
        "contracts/verify.vplan",
        CONTRACT.replace("test ! -e src/bad", "true || true"),
    );
    assert_eq!(
        (asked(&["--subject", "S"]), asked(&[&accept])),
        (Some(44), Some(44))
    );
}

/// Greens that were earned.
#[test]
fn what_is_verified_stays_verified() {
    let project = project();
    project.write("src/b", "");
    ran(&project, &[], 0);
    verified(&project);
    // More than is asked.
    ran(&project, &["--all"], 0);
    verified(&project);
    project.git(&["add", "-A"]);
    project.git(&["stash", "-q"]);
    project.git(&["stash", "pop", "-q"]);
    verified(&project);
    project.commit("work");
    verified(&project);
    project.git(&["checkout", "-q", "-b", "other"]);
    project.git(&["commit", "-q", "--amend", "-m", "other words"]);
    verified(&project);
    // A red tree, and back.
    project.write("src/bad", "");
    ran(&project, &["--all"], 40);
    refused(&project, "");
    project.remove("src/bad");
    verified(&project);
    let by = project.run(&["status", "--format", "json"]).exits(0).json();
    assert_ne!(by["verifiedBy"], by["run"]["runId"]);
    project
        .run(&["status"])
        .exits(0)
        .says("the work tree is the one that the run ");
}

#[test]
fn nothing_applies_to_the_whole_change() {
    let contract = "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: true\n}\n";
    let project = Project::git_with(&[("contracts/verify.vplan", contract), ("src/a", "1")]);
    project.write("README.md", "Words.\n");
    let status = project.run(&["status", "--require", "verified"]);
    status
        .exits(0)
        .says("compared: ")
        .says("verified: nothing applies");
    let document = project.run(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(
        (&document["nothingApplies"], &document["verified"]),
        (&json!(true), &json!(true))
    );
    // As soon as something does, it has to be run.
    project.write("src/b", "");
    refused(&project, "no run has come to its end");
    ran(&project, &["--changed", "README.md"], 0);
    refused(&project, "");
}

#[test]
fn what_is_remembered_goes_with_the_records() {
    let project = project();
    for _ in 0..4 {
        ran(&project, &["--all"], 0);
    }
    let runs = |project: &Project| {
        let mut names: Vec<String> = std::fs::read_dir(project.path(".vplan/runs"))
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(remembered(&project), runs(&project));
    project.run(&["gc", "--keep", "2", "--dry-run"]).exits(0);
    assert_eq!(remembered(&project).len(), 4);
    project.run(&["gc", "--keep", "2"]).exits(0);
    assert_eq!(
        (remembered(&project).len(), remembered(&project)),
        (2, runs(&project))
    );
    verified(&project);
}
