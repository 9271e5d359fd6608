//! The change does not choose its judge: a contract that asks for less than the one at the base is
//! said, narrows a plain run, and makes no round done.

use crate::support::{Project, Ran};
use serde_json::Value;
use vplan::base::canon::Digest;
use vplan::base::origin::GitOrigin;
use vplan::lock::{Lock, PinnedImport, encode};

/// Every check passes, so that only the comparison with the base keeps a run from being green.
const STRICT: &str = "vplan 1

import \"part.vplan\" as part

whenChangedAny \"src/**\" {
  check unit {
    test sh -c \"echo 1..1; echo ok 1\"
    format auto
    timeout 1m
    needs build
  }
}
check build: true build
check lint {
  run true lint
  exit 0
}
check slow {
  run true slow
  tags slow
}
role docser {
  only slow
}
scope {
  deny \"secret/**\"
}
recover {
  off
}
limits {
  budget 5m
}
";

const PART: &str = "vplan 1\ncheck extra: true extra\n";

fn project() -> Project {
    let files = [
        ("contracts/verify.vplan", STRICT),
        ("contracts/part.vplan", PART),
        ("src/a", "1\n"),
        ("other", "1\n"),
    ];
    let project = Project::git_with(&files);
    super::pushed(&project);
    project.write("src/a", "2\n");
    project
}

/// What a caveat of this code says, if there is one.
fn said(ran: &Ran, code: &str) -> Option<Value> {
    let answer = ran.json();
    let caveats = answer["caveats"].as_array().cloned().unwrap_or_default();
    caveats.into_iter().find(|c| c["code"] == code)
}

const PLAIN: &[&str] = &["run", "--format", "json"];
const ROUND: &[&str] = &["run", "--format", "json", "--subject", "S"];

/// Expects that the change is said in a plain run, that `--require full` refuses it, and that no
/// round of it is done.
#[track_caller]
fn refused(project: &Project, check: &str, flags: &[&str]) {
    let plain = project.run(&[PLAIN, flags].concat());
    let caveat = said(plain.exits(0), "contract_weakened")
        .unwrap_or_else(|| panic!("nothing is said of {check}: {}", plain.out()));
    assert_eq!(caveat["effect"], "narrows");
    assert_eq!(plain.json()["coverage"], "narrowed");
    if !check.is_empty() {
        assert!(
            caveat["checks"].as_array().unwrap().contains(&check.into()),
            "{check}: {caveat}"
        );
        let line = caveat["message"].as_str().unwrap();
        assert!(line.contains(".vplan:"), "a place: {line}");
    }
    project
        .run(&[PLAIN, flags, &["--require", "full"]].concat())
        .exits(44);
    let text = project.run(&[&["run"], flags].concat());
    let first: String = text.exits(0).out().lines().take(3).collect();
    assert!(
        first.contains("asks for less"),
        "said first: {}",
        text.out()
    );
    // A subject of its own, for the same failure again and again is a person's matter.
    let subject = format!("S{}", flags.join(""));
    let round = project.run(&[PLAIN, &["--subject", &subject], flags].concat());
    assert_eq!(
        said(round.exits(44), "contract_weakened").unwrap()["effect"],
        "incomplete"
    );
    let report = round.json();
    assert_eq!(
        (&report["verdict"], &report["counter"]),
        (&"incomplete".into(), &0.into())
    );
}

fn changed(from: &str, to: &str) -> Project {
    let project = project();
    assert!(STRICT.contains(from), "{from}");
    project.write("contracts/verify.vplan", STRICT.replacen(from, to, 1));
    project
}

#[test]
fn a_check_that_the_change_deleted() {
    refused(
        &changed("check lint {\n  run true lint\n  exit 0\n}\n", ""),
        "lint",
        &[],
    );
}

#[test]
fn a_check_that_was_renamed_and_does_something_else() {
    refused(
        &changed("check lint {\n  run true", "check lint2 {\n  run true 2"),
        "lint",
        &[],
    );
}

#[test]
fn a_check_that_only_warns_now() {
    refused(&changed("  exit 0\n", "  severity warning\n"), "lint", &[]);
}

#[test]
fn a_command_that_does_less() {
    refused(&changed("echo ok 1", "echo ok 1 - a"), "unit", &[]);
}

#[test]
fn a_condition_that_the_change_does_not_meet_any_more() {
    refused(&changed("\"src/**\" {", "\"src/*.rs\" {"), "unit", &[]);
    refused(&changed("\"src/**\" {", "\"test/**\" {"), "unit", &[]);
}

#[test]
fn a_condition_around_a_check_that_had_none() {
    let project = changed(
        "check build: true build\n",
        "whenExists \"nowhere\" {\n  check build: true build\n}\n",
    );
    // It is still needed by another one.
    assert_eq!(said(&project.run(PLAIN), "contract_weakened"), None);
    let without = STRICT.replace("    needs build\n", "").replace(
        "check build: true build\n",
        "whenExists \"nowhere\" {\n  check build: true build\n}\n",
    );
    project.write("contracts/verify.vplan", without);
    refused(&project, "build", &[]);
}

#[test]
fn a_tier_that_is_not_reached() {
    refused(&changed("  exit 0\n", "  tier 2\n"), "lint", &[]);
}

#[test]
fn settings_that_let_more_pass() {
    for line in [
        "exit 0 1",
        "skip-exit 1",
        "optional",
        "timeout 2h",
        "retries 3",
        "setup",
        "dir \"src\"",
        "env X=1",
        "inputs \"none\"",
    ] {
        refused(&changed("  exit 0\n", &format!("  {line}\n")), "lint", &[]);
    }
    refused(
        &changed(
            "role docser",
            "defaults {\n  severity warning\n}\nrole docser",
        ),
        "lint",
        &[],
    );
    refused(
        &changed("    format auto\n", "    format auto\n    min-tests 0\n"),
        "unit",
        &[],
    );
    refused(&changed("    needs build\n", ""), "unit", &[]);
}

#[test]
fn what_holds_for_the_whole_contract() {
    refused(&changed("  budget 5m\n", "  budget 5h\n"), "", &[]);
    refused(&changed("recover {\n  off\n}\n", ""), "", &[]);
    let denied = changed("  deny \"secret/**\"\n", "  deny \"none/**\"\n");
    assert_eq!(
        said(&denied.run(PLAIN), "contract_weakened"),
        None,
        "the change has nothing to do with it"
    );
    denied.write("secret/key", "1");
    refused(&denied, "", &[]);
}

#[test]
fn what_is_verified_and_said_to_be_made() {
    // What a step makes is no part of the tree that a run verifies, and may change while it runs.
    for line in [
        "produces \"src/**\"",
        "cleans \"src/**\"",
        "produces \"**\"",
    ] {
        refused(
            &changed("  run true lint\n", &format!("  run true lint\n  {line}\n")),
            "",
            &[],
        );
        refused(
            &changed(
                "check slow {\n",
                &format!("check new {{\n  run true new\n  {line}\n}}\ncheck slow {{\n"),
            ),
            "",
            &[],
        );
    }
    let report = changed(
        "  run true lint\n",
        "  lint true lint\n  report junit \"src/new\"\n",
    );
    // One that is tracked is an error.
    report.write("src/new", "1");
    assert!(said(&report.run(PLAIN), "contract_weakened").is_some());
    // What is no part of the change, and what nothing is about.
    let other = changed(
        "  run true lint\n",
        "  run true lint\n  produces \"dist/**\"\n",
    );
    assert_eq!(said(other.run(PLAIN).exits(0), "contract_weakened"), None);
}

#[test]
fn an_import_that_was_swapped() {
    let edited = project();
    edited.write(
        "contracts/part.vplan",
        "vplan 1\ncheck extra: echo nothing\n",
    );
    refused(&edited, "part/extra", &[]);
    let other = changed("\"part.vplan\" as part", "\"other.vplan\" as part");
    other.write("contracts/other.vplan", "vplan 1\n");
    refused(&other, "part/extra", &[]);
    refused(
        &changed("import \"part.vplan\" as part\n", ""),
        "part/extra",
        &[],
    );
}

#[test]
fn an_older_version_of_a_contract_that_is_shipped() {
    let newest = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\nimport \"std:rust@1\" as std\ncheck a: true\n",
        ),
        ("Cargo.toml", ""),
    ]);
    newest
        .write("src/a.rs", "2\n")
        .write("contracts/verify.vplan", "vplan 1\ncheck a: true\n");
    assert!(said(&newest.run(PLAIN), "contract_weakened").is_some());
}

#[test]
fn a_contract_without_checks() {
    let project = project();
    project.write("contracts/verify.vplan", "vplan 1\n");
    let caveat = said(&project.run(PLAIN), "contract_weakened").unwrap();
    assert_eq!(caveat["checks"].as_array().unwrap().len(), 5, "{caveat}");
    assert!(caveat["message"].as_str().unwrap().contains("more"));
    project
        .run(&[PLAIN, &["--require", "full"]].concat())
        .exits(44);
    let round = project.run(ROUND);
    assert_eq!(
        (
            round.exits(44).json()["verdict"].clone(),
            round.json()["counter"].clone()
        ),
        ("incomplete".into(), 0.into())
    );
}

#[test]
fn a_role_that_sees_less() {
    let project = changed("  only slow\n", "  only fast\n");
    assert_eq!(
        said(&project.run(PLAIN), "contract_weakened"),
        None,
        "a worker is asked for the same"
    );
    project
        .run(&[PLAIN, &["--role", "docser", "--require", "full"]].concat())
        .exits(44);
    assert!(
        said(
            &project.run(&[ROUND, &["--role", "docser"]].concat()),
            "contract_weakened"
        )
        .is_some()
    );
    // A role of the change's own.
    let project = changed("role docser", "role lazy {\n  only slow\n}\nrole docser");
    refused(&project, "lint", &["--role", "lazy"]);
    // Tags decide what a role sees.
    let project = changed("  tags slow\n", "  tags other\n");
    project.write(
        "contracts/verify.vplan",
        STRICT
            .replace("  tags slow\n", "  tags other\n")
            .replace("  exit 0\n", "  tags slow\n"),
    );
    refused(&project, "slow", &["--role", "docser"]);
}

#[test]
fn another_file_as_the_contract() {
    let project = project();
    project.write("weak.vplan", "vplan 1\ncheck nothing: true\n");
    refused(&project, "lint", &["--contract", "weak.vplan"]);
    // Moved, with a change on the way.
    project
        .remove("contracts/verify.vplan")
        .remove("contracts/part.vplan");
    refused(&project, "lint", &["--contract", "weak.vplan"]);
}

#[test]
fn another_contract_of_the_repository() {
    let files = [
        (
            "contracts/verify.vplan",
            "vplan 1\ncheck a: true a\ncheck b: true b\n",
        ),
        ("other.vplan", "vplan 1\ncheck b: true b\n"),
    ];
    let project = Project::git_with(&files);
    project.write("x", "1");
    // Who asks may have several contracts: it is said, and narrows nothing.
    let plain = project.run(&[PLAIN, &["--contract", "other.vplan", "--require", "full"]].concat());
    assert_eq!(
        said(plain.exits(0), "contract_weakened").unwrap()["effect"],
        "note"
    );
    project
        .run(&[ROUND, &["--contract", "other.vplan"]].concat())
        .exits(44);
    // What it was at the base itself counts as ever.
    project.write("other.vplan", "vplan 1\ncheck c: true\n");
    project
        .run(&[PLAIN, &["--contract", "other.vplan", "--require", "full"]].concat())
        .exits(44);
}

#[test]
fn a_contract_at_the_base_that_says_nothing() {
    let project = Project::git_with(&[("contracts/verify.vplan", "vplan 1\nchekc a: true\n")]);
    project.write("contracts/verify.vplan", "vplan 1\ncheck a: true\n");
    let plain = project.run(PLAIN);
    let caveat = said(plain.exits(0), "base_contract_unreadable").unwrap();
    assert_eq!(caveat["effect"], "narrows");
    assert!(
        caveat["message"]
            .as_str()
            .unwrap()
            .contains("contracts/verify.vplan:2"),
        "{caveat}"
    );
    project
        .run(&[PLAIN, &["--require", "full"]].concat())
        .exits(44);
    let round = project.run(ROUND);
    assert_eq!(
        said(round.exits(44), "base_contract_unreadable").unwrap()["effect"],
        "incomplete"
    );
}

#[test]
fn an_import_of_the_base_that_is_not_to_be_had() {
    let import = format!(
        "import \"git+https://example.org/x?rev={}#a.vplan\" as x\n",
        "1a".repeat(20)
    );
    let project = Project::git_with(&[(
        "contracts/verify.vplan",
        &format!("vplan 1\n{import}check a: true\n"),
    )]);
    project.write("contracts/verify.vplan", "vplan 1\ncheck a: true\n");
    let caveat = said(&project.run(PLAIN), "base_contract_unreadable").unwrap();
    assert!(
        caveat["message"].as_str().unwrap().contains("`vplan lock`"),
        "{caveat}"
    );
    project.run(ROUND).exits(44);
}

#[test]
fn commits_do_not_hide_it() {
    let project = project();
    let base = project.git(&["rev-parse", "HEAD"]);
    project.write(
        "contracts/verify.vplan",
        STRICT.replace("  exit 0\n", "  severity warning\n"),
    );
    project.commit("weaker");
    refused(&project, "lint", &["--base", &base]);
}

#[test]
fn names_of_files_do_not_hide_it() {
    let project = changed("  exit 0\n", "  severity warning\n");
    // `--staged` is about the contract that is staged.
    project.git(&["add", "--all"]);
    for flags in [
        &["--changed", "src/a"][..],
        &["--all"],
        &["--changed-none"],
        &["--staged"],
    ] {
        refused(&project, "lint", flags);
    }
    // Committed, so that HEAD has the weak contract too. What is looked at is said of as what is
    // run.
    project.commit("weaker");
    for flags in [
        &["--changed", "contracts/verify.vplan"][..],
        &["--all"],
        &["--staged"],
    ] {
        for command in ["run", "explain", "plan"] {
            let ran = project.run(&[&[command][..], flags, &["--format", "json"]].concat());
            assert!(
                said(&ran, "contract_weakened").is_some(),
                "{command} {flags:?}: {}",
                ran.out()
            );
        }
    }
}

#[test]
fn a_symlink_does_not_hide_it() {
    let project = Project::git_with(&[
        ("real/strict.vplan", "vplan 1\ncheck a: true\n"),
        ("src", "1"),
    ]);
    project.pushed(
        &project
            .symlink("contracts", "real")
            .symlink("real/verify.vplan", "strict.vplan")
            .commit("links"),
    );
    project.write("real/strict.vplan", "vplan 1\ncheck b: echo\n");
    refused(&project, "a", &[]);
    // A symlink that comes instead of the file.
    let project = Project::contract("vplan 1\ncheck a: true\n");
    project
        .write(".vplan/weak.vplan", "vplan 1\ncheck b: echo\n")
        .remove("contracts/verify.vplan");
    project.symlink("contracts/verify.vplan", "../.vplan/weak.vplan");
    refused(&project, "a", &[]);
}

#[test]
fn a_saved_plan_does_not_hide_it() {
    let project = changed("  exit 0\n", "  severity warning\n");
    project.run(&["plan", "-o", "../plan.json"]).exits(0);
    let text = project.read("../plan.json");
    let mut plan: Value = serde_json::from_str(&text).unwrap();
    plan.as_object_mut().unwrap().remove("caveats").unwrap();
    project.write("../plan.json", plan.to_string());
    refused(&project, "lint", &["--plan", "../plan.json"]);
}

#[test]
fn what_strengthens_or_means_the_same_says_nothing() {
    let edits: [(&str, &str); 9] = [
        ("vplan 1\n", "vplan 1\n# A comment.\n"),
        (
            "check build: true build\n",
            "check more: true more\ncheck build: true build\n",
        ),
        ("    timeout 1m\n", "    timeout 30s\n"),
        ("  exit 0\n", "  exit 0\n  describe \"what it does\"\n"),
        (
            "whenChangedAny \"src/**\" {",
            "whenChangedAny \"src/**\" \"more/**\" {",
        ),
        ("  budget 5m\n", "  budget 1m\n"),
        ("check lint {", "check lint-it {"),
        (
            "  deny \"secret/**\"\n",
            "  deny \"secret/**\" \"more/**\"\n",
        ),
        (
            "check slow {\n  run true slow\n  tags slow\n}\n",
            "check slow2 {\n  run true slow\n  tags slow\n}\n",
        ),
    ];
    for (from, to) in edits {
        let project = changed(from, to);
        for flags in [PLAIN, ROUND] {
            let ran = project.run(&[flags, &["--require", "full"]].concat());
            assert!(
                ran.exits(0).json().get("caveats").is_none(),
                "{to}: {}",
                ran.out()
            );
        }
    }
}

#[test]
fn what_the_change_does_not_meet_says_nothing() {
    let project = changed("whenChangedAny \"src/**\" {", "whenChangedAny \"lib/**\" {");
    project.write("src/a", "1\n").write("other", "2\n");
    assert_eq!(said(&project.run(PLAIN), "contract_weakened"), None);
}

#[test]
fn a_first_contract_is_said_where_a_round_is_recorded() {
    let project = Project::git_with(&[("x", "1")]);
    project.write("contracts/verify.vplan", "vplan 1\ncheck a: true\n");
    assert_eq!(said(&project.run(PLAIN), "base_contract_missing"), None);
    let round = project.run(ROUND);
    assert_eq!(
        said(round.exits(0), "base_contract_missing").unwrap()["effect"],
        "note"
    );
}

/// The digest that `check` prints.
fn digest(project: &Project) -> String {
    let answer = project.run(&["check", "--format", "json"]).exits(0).json();
    answer["contract"].as_str().unwrap().to_owned()
}

#[test]
fn a_person_accepts_it_for_a_subject() {
    let project = changed("  exit 0\n", "  severity warning\n");
    let now = digest(&project);
    project
        .run(&["gate", "accept", "--subject", "S", "--contract", &now])
        .exits(2)
        .warns("has had no round");
    let round = project.run(ROUND);
    let way_out = said(round.exits(44), "contract_weakened").unwrap()["wayOut"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        way_out.contains(&format!("vplan gate accept --subject S --contract {now}")),
        "{way_out}"
    );
    let feedback = round.json()["feedback"].to_string();
    assert!(feedback.contains("asks for less"), "{feedback}");
    for hidden in ["accept", "allow-contract-change", now.as_str()] {
        assert!(!feedback.contains(hidden), "{feedback}");
        project.run(&["feedback"]).never_says(hidden);
    }
    project
        .run(&["gate", "accept", "--subject", "S", "--contract", &now])
        .exits(0)
        .says(&now);
    let round = project.run(ROUND);
    assert_eq!(
        said(round.exits(0), "contract_weakened").unwrap()["effect"],
        "note"
    );
    assert_eq!(round.json()["coverage"], "full");
    // Of another subject nothing was said, nor of another contract: an import is a part of it.
    project.run(&["run", "--subject", "T"]).exits(44);
    project.write("contracts/part.vplan", "vplan 1\n");
    project.run(ROUND).exits(44);
    project
        .run(&["gate", "show", "--format", "json"])
        .exits(0)
        .json();
}

#[test]
fn a_person_accepts_it_on_the_command_line() {
    let project = changed("  exit 0\n", "  severity warning\n");
    let flag = format!("--allow-contract-change={}", digest(&project));
    let ran = project.run(&[PLAIN, &["--require", "full", &flag]].concat());
    assert_eq!(
        said(ran.exits(0), "contract_weakened").unwrap()["effect"],
        "note"
    );
    project.run(&[ROUND, &[&flag[..]]].concat()).exits(0);
    let other = format!("--allow-contract-change=sha256:{}", "0".repeat(64));
    project
        .run(&[PLAIN, &["--require", "full", &other]].concat())
        .exits(44);
    project
        .run(&["run", "--allow-contract-change"])
        .exits(2)
        .warns("names no contract");
    project
        .run(&["run", "--allow-contract-change=1234"])
        .exits(2);
}

#[test]
fn a_loop_does_not_begin_under_a_weaker_contract() {
    let project = changed("  exit 0\n", "  severity warning\n");
    let flags = [
        "loop",
        "--fix",
        "cat",
        "--format",
        "json",
        "--max-rounds",
        "1",
    ];
    let ran = project.run(&flags);
    assert_eq!(ran.exits(21).json()["report"]["verdict"], "incomplete");
    project
        .run(&[&flags[..], &["--allow-contract-change"]].concat())
        .exits(21);
    let flag = format!("--allow-contract-change={}", digest(&project));
    project.run(&[&flags[..], &[&flag]].concat()).exits(0);
}

#[test]
fn a_fixer_reads_nothing_of_the_way_out() {
    let project = changed("  exit 0\n", "  severity warning\n");
    project.script("../fix.sh", "#!/bin/sh\ncat >> ../seen\necho 3 > src/a\n");
    project
        .run(&["loop", "--fix", "../fix.sh", "--max-rounds", "2"])
        .exits(21)
        .says("asks for less");
    let seen = project.read("../seen");
    assert!(
        seen.contains("asks for less")
            && !seen.contains("accept")
            && !seen.contains("allow-contract"),
        "{seen}"
    );
}

#[test]
fn shards_that_are_joined_say_it_once() {
    let project = changed("  exit 0\n", "  severity warning\n");
    for shard in ["1/2", "2/2"] {
        project
            .run(&[
                "run",
                "--shard",
                shard,
                "--records",
                &format!("../r{}", &shard[..1]),
            ])
            .exits(0);
    }
    let report = |n: u8| {
        let runs = std::fs::read_dir(project.path(format!("../r{n}/runs"))).unwrap();
        runs.flatten()
            .map(|e| e.path().join("report.json"))
            .find(|p| p.is_file())
            .unwrap()
            .display()
            .to_string()
    };
    let merged = project.run(&["merge", &report(1), &report(2), "--format", "json"]);
    let answer = merged.exits(0).json();
    assert_eq!(
        (
            answer["caveats"].as_array().unwrap().len(),
            &answer["coverage"]
        ),
        (1, &"narrowed".into())
    );
    project
        .run(&["merge", &report(1), &report(2), "--require", "full"])
        .exits(44);
}

#[test]
fn ci_sees_it() {
    let project = changed("  exit 0\n", "  severity warning\n");
    let summary = project.path("../summary");
    let run = project
        .vplan(&["run", "--base", "HEAD"])
        .env("GITHUB_ACTIONS", "true")
        .env("CI", "true")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .run();
    run.exits(0).warns("::warning title=contract_weakened::");
    assert!(project.read("../summary").contains("asks for less"));
}

#[test]
fn a_name_of_today_for_a_check_of_the_base() {
    let project = project();
    project.write(
        "contracts/verify.vplan",
        STRICT.replace("check lint {\n", "check lint-it {\n  timeout 2h\n"),
    );
    refused(&project, "lint", &["--only", "lint-it"]);
    // What was not asked for then is not missed now.
    assert_eq!(
        said(
            &project.run(&[PLAIN, &["--only", "build"]].concat()),
            "contract_weakened"
        ),
        None
    );
}

#[test]
fn another_judge() {
    let contract = "vplan 1\njudge-with ./strict.sh\ncheck clear {\n  judge \"Is it?\"\n}\n";
    let project = Project::git_with(&[("contracts/verify.vplan", contract), ("a", "1")]);
    project.write("contracts/verify.vplan", contract.replace("strict", "kind"));
    let plan = project
        .run(&["explain", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(plan["caveats"][0]["checks"], serde_json::json!(["clear"]));
}

#[test]
fn a_revision_of_the_change_is_not_the_contract_from_elsewhere() {
    let project = project();
    let base = project.git(&["rev-parse", "HEAD"]);
    project.git(&["branch", "target"]);
    project
        .write(
            "contracts/verify.vplan",
            STRICT.replace("  exit 0\n", "  severity warning\n"),
        )
        .commit("weaker");
    refused(
        &project,
        "lint",
        &["--base", &base, "--contract-from", "HEAD"],
    );
    let strict = project.run(&[PLAIN, &["--base", &base, "--contract-from", "target"]].concat());
    assert_eq!(said(strict.exits(0), "contract_weakened"), None);
    // A branch beside the change: who asks chose it, but no round is done by it.
    project.git(&["checkout", "-q", "target"]);
    project
        .write("contracts/verify.vplan", "vplan 1\ncheck a: true\n")
        .commit("others");
    project.git(&["checkout", "-q", "main"]);
    let flags = ["--base", &base, "--contract-from", "target"];
    assert_eq!(
        said(&project.run(&[PLAIN, &flags].concat()), "contract_weakened"),
        None
    );
    project.run(&[ROUND, &flags].concat()).exits(44);
}

#[test]
fn a_contract_in_a_submodule_is_not_a_first_one() {
    let project = Project::git_with(&[("x", "1")]);
    project.write("contracts/verify.vplan", "vplan 1\ncheck a: true\n");
    project.git_in("contracts", &["init", "-q", "-b", "main"]);
    project.git_in("contracts", &["add", "-A"]);
    project.git_in("contracts", &["commit", "-q", "-m", "strict"]);
    project.git(&["-c", "advice.addEmbeddedRepo=false", "add", "contracts"]);
    let base = project.commit("a submodule");
    project.git(&["update-ref", "refs/remotes/origin/main", &base]);
    assert_eq!(
        said(project.run(ROUND).exits(0), "base_contract_unreadable"),
        None
    );
    project.write("contracts/verify.vplan", "vplan 1\ncheck b: echo\n");
    let round = project.run(ROUND);
    let caveat = said(round.exits(44), "base_contract_unreadable").unwrap();
    assert!(
        caveat["message"]
            .as_str()
            .unwrap()
            .contains("`contracts` is a submodule"),
        "{caveat}"
    );
}

#[test]
fn other_line_ends_are_no_other_contract() {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", "vplan 1\ncheck a: true\n"),
        (".gitattributes", "*.vplan eol=crlf\n"),
    ]);
    project.write("contracts/verify.vplan", "vplan 1\r\ncheck a: true\r\n");
    for flags in [
        &[][..],
        &["--changed", ".gitattributes"],
        &["--changed", "contracts/verify.vplan"],
    ] {
        let ran = project.run(&[PLAIN, flags].concat());
        assert!(
            ran.exits(0).json().get("caveats").is_none(),
            "{}",
            ran.out()
        );
    }
}

/// The processes of git that a command starts, by their first argument.
fn asked_of_git(project: &Project, args: &[&str]) -> Vec<String> {
    let ran = project.run(&[args, &["-vv", "--color", "never"]].concat());
    let err = ran.exits(0).err();
    let calls = err
        .lines()
        .filter_map(|line| line.split_once("arguments=").map(|(_, rest)| rest));
    calls
        .map(|rest| {
            rest.trim_matches('"')
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

#[test]
fn an_unchanged_contract_costs_no_process() {
    let project = project();
    let first = asked_of_git(&project, &["explain"]);
    assert!(!first.is_empty(), "the trace says what git is asked");
    // What commits hold is kept by a run: what follows is about the contract alone.
    let kept = self::project();
    let _ = kept.run(&["run"]).exits(0);
    for command in [&["explain"][..], &["plan"], &["run"]] {
        let asked = asked_of_git(&kept, command);
        assert!(
            !asked
                .iter()
                .any(|call| call == "cat-file" || call == "ls-tree"),
            "{command:?}: {asked:?}"
        );
    }
    // Where names do not say, a look asks nothing, and a run asks twice for each commit, for the
    // contract and for the baseline, as soon as there is a place to keep it; and once for the whole
    // change, with which it compares the names.
    assert_eq!(
        asked_of_git(&project, &["explain", "--changed", "other"]),
        Vec::<String>::new()
    );
    let listed = |project: &Project| {
        let asked = asked_of_git(project, &["run", "--changed", "other"]);
        asked
            .iter()
            .filter(|call| *call == "ls-tree" || *call == "cat-file")
            .count()
    };
    project
        .run(&["gate", "record", "--subject", "S", "--status", "done"])
        .exits(0);
    assert_eq!((listed(&project), listed(&project)), (3, 0));
    // What is kept is of the commit alone.
    project.write(
        "contracts/verify.vplan",
        STRICT.replace("  exit 0\n", "  severity warning\n"),
    );
    assert!(
        said(
            &project.run(&["run", "--changed", "other", "--format", "json"]),
            "contract_weakened"
        )
        .is_some()
    );
}

#[test]
fn what_a_check_looks_for_was_taken_away() {
    let contract = "vplan 1
whenExists \"Makefile\" {
  check make: false
}
whenAbsent \"SKIP\" \"skip\" {
  check unit: false
}
check lint: true
";
    let project = || {
        Project::git_with(&[
            ("contracts/verify.vplan", contract),
            ("Makefile", ""),
            ("old/a", ""),
        ])
    };
    let gone = project();
    assert_eq!(said(&gone.run(PLAIN), "switched_off"), None);
    gone.remove("Makefile").write("SKIP", "");
    let ran = gone.run(PLAIN);
    let caveat = said(ran.exits(0), "switched_off").unwrap();
    assert_eq!(caveat["checks"], serde_json::json!(["make", "unit"]));
    assert_eq!(caveat["files"], serde_json::json!(["Makefile", "SKIP"]));
    assert_eq!(caveat["effect"], "note");
    // Committed, renamed, or hidden by a rule of this machine.
    gone.commit("work");
    assert!(said(gone.run(PLAIN).exits(0), "switched_off").is_some());
    for (file, rules, effect) in [
        ("skip", ".git/info/exclude", "narrows"),
        ("skip/x", ".git/info/exclude", "narrows"),
        // What the user's own file hides is theirs, as an editor's folder is.
        ("skip", "../home/.config/git/ignore", "note"),
    ] {
        let hidden = project();
        hidden.write(file, "").write(rules, "/skip\n");
        let caveat = said(&hidden.run(PLAIN), "switched_off").unwrap();
        assert_eq!(caveat["checks"], serde_json::json!(["unit"]));
        assert_eq!(caveat["effect"], effect, "{file} {rules}");
    }
    // What was so at the base is the contract's own.
    let before = project();
    before.remove("Makefile").write("SKIP", "");
    let base = before.commit("as it is");
    before.pushed(&base).write("old/a", "new\n");
    assert_eq!(said(before.run(PLAIN).exits(0), "switched_off"), None);
}

/// The contract is the same, and so is what it imports; the lock says that this is something else.
#[test]
fn a_pin_that_was_changed_alone() {
    let origin = format!("git+https://example.org/x?rev={}#a.vplan", "1a".repeat(20));
    let strong = "vplan 1\ncheck shared: true shared\n";
    let weak = "vplan 1\ncheck shared {\n  run true shared\n  severity warning\n}\n";
    let pinned = |text: &str| {
        let origin = GitOrigin::parse(&origin).unwrap();
        let import = PinnedImport {
            origin,
            digest: Digest::hash(text.as_bytes()),
            bytes: text.len() as u64,
        };
        encode(&Lock {
            imports: vec![import],
            ..Lock::default()
        })
    };
    let contract = format!("vplan 1\nimport \"{origin}\" as x\ncheck a: true\n");
    let lock = pinned(strong);
    let files = [
        ("contracts/verify.vplan", contract.as_str()),
        ("contracts/verify.lock.kdl", &lock),
    ];
    let project = Project::git_with(&files);
    for text in [strong, weak] {
        let hex = Digest::hash(text.as_bytes()).hex();
        project.write(
            format!("../home/.cache/vplan/sha256/{}/{hex}", &hex[..2]),
            text,
        );
    }
    project.write("src/a", "1");
    assert!(said(&project.run(PLAIN), "contract_weakened").is_none());
    project.write("contracts/verify.lock.kdl", pinned(weak));
    refused(&project, "x/shared", &[]);
    project.commit("pinned");
    refused(&project, "x/shared", &["--all"]);
    refused(&project, "x/shared", &["--changed", "src/a"]);
}

/// What is compared is one thing, by what is judged another: the default base, however many commits
/// hide it.
#[test]
fn commits_do_not_hide_it_from_who_names_files() {
    for flags in [
        &["--all"][..],
        &["--changed", "src/a"],
        &["--changed-none"],
        &["--staged"],
    ] {
        let project = changed("  exit 0\n", "  severity warning\n");
        project.commit("weaker");
        project.write("src/a", "3\n").commit("more");
        refused(&project, "lint", flags);
    }
}
