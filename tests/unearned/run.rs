//! What a run means: what is passed was asked for, was there while it was checked, and is as much as before.

use crate::support::Project;
use serde_json::{Value, json};

/// The codes of a report's caveats.
fn codes(report: &Value) -> Vec<&str> {
    let caveats = report["caveats"].as_array().map(Vec::as_slice).unwrap_or_default();
    caveats.iter().map(|c| c["code"].as_str().unwrap()).collect()
}

fn caveat<'a>(report: &'a Value, code: &str) -> &'a Value {
    let caveats = report["caveats"].as_array().unwrap_or_else(|| panic!("no caveats: {report:#}"));
    caveats.iter().find(|c| c["code"] == code).unwrap_or_else(|| panic!("no {code}: {report:#}"))
}

const TWO: &str = "vplan 1\n\
    whenChangedAny \"src/**\" {\n  check unit {\n    run ./unit.sh\n    needs build\n  }\n  check lint: true\n}\n\
    check build: ./build.sh\n\
    byRole tester {\n  check e2e {\n    run ./e2e.sh\n    tier 2\n  }\n}\n";

fn two() -> Project {
    let project = Project::bare();
    for name in ["unit", "build", "e2e"] {
        project.script(&format!("{name}.sh"), &format!("#!/bin/sh\necho ran {name} >> ../ran\n"));
    }
    project.write("contracts/verify.vplan", TWO).git(&["init", "-q", "-b", "main"]);
    project.commit("begin");
    project
}

#[test]
fn a_contract_without_checks_is_no_pass() {
    for (path, text) in [
        ("contracts/verify.vplan", "vplan 1\n"),
        ("contracts/verify.vplan", "vplan 1\npaths src = \"src/**\"\nlimits {\n  jobs 2\n}\n"),
        ("contracts/verify.contract.json", "{\"commands\": []}\n"),
    ] {
        let project = Project::git_with(&[(path, text)]);
        project.write("src/a", "x");
        let args = ["run", "--contract", path, "--format", "json"];
        for mode in [&[][..], &["--mode", "fallback"], &["--all"], &["--changed-none"], &["--min-tier", "2"]] {
            let ran = project.run(&[&args[..], mode].concat());
            let report = ran.exits(44).json();
            assert_eq!(report["verdict"], "incomplete", "{path} {mode:?}");
            assert_eq!(codes(&report), ["empty_contract"]);
            assert_eq!(report["feedback"]["failureCode"], "empty_contract");
        }
        project.run(&["run", "--contract", path]).exits(44).says("the contract has no checks");
        project.run(&["run", "--contract", path, "--subject", "S"]).exits(44).never_says("complete:");
        project.run(&["explain", "--contract", path]).exits(0).says("the contract has no checks");
        project.run(&["run", "--contract", path, "--mode", "off"]).exits(0).says("mode is off");
        let brought = project.run(&[&args[..], &["--command", "true"]].concat());
        assert_eq!(codes(&brought.exits(0).json()), Vec::<&str>::new(), "the request brought a check");
    }
}

#[test]
fn only_with_nothing_left_is_narrowed() {
    let project = two();
    let args = ["run", "--only", "unit", "--format", "json"];
    let report = project.run(&args).exits(0).json();
    assert_eq!((&report["verdict"], &report["coverage"]), (&json!("nothing_to_verify"), &json!("narrowed")));
    assert_eq!(codes(&report), ["only_nothing"]);
    project.run(&["run", "--only", "unit", "--require", "full"]).exits(44);
    project.run(&["run", "--only", "unit"]).exits(0).says("no file changed against `HEAD`; try `--all`");
    // The conditions count: a change of something else brings nothing either.
    project.write("other", "x");
    project.run(&["run", "--only", "unit"]).exits(0).says("of `--only` `unit` nothing applies to this change");
    assert!(!project.exists("../ran"));
    project.write("src/a", "x");
    let report = project.run(&args).exits(0).json();
    assert_eq!((&report["verdict"], codes(&report)), (&json!("passed"), vec![]));
    assert_eq!(project.read("../ran"), "ran build\nran unit\n");
}

#[test]
fn what_is_named_runs_whatever_its_conditions_say_and_is_narrowed() {
    let project = two();
    let report = project.run(&["run", "unit", "--format", "json"]).exits(0).json();
    assert_eq!((&report["verdict"], &report["coverage"]), (&json!("passed"), &json!("narrowed")));
    assert_eq!(caveat(&report, "named")["checks"], json!(["unit"]));
    assert_eq!(project.read("../ran"), "ran build\nran unit\n", "what it needs comes along");
    project.run(&["run", "unit", "--require", "full"]).exits(44);
    // Roles and tiers are conditions too.
    let report = project.run(&["run", "e2e", "lint", "--format", "json"]).exits(0).json();
    let steps: Vec<&str> = report["steps"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap()).collect();
    assert_eq!(steps, ["lint", "e2e"]);
    // Naming all of them leaves nothing out, and is narrowed all the same.
    let all = project.run(&["run", "unit", "lint", "build", "e2e", "--format", "json"]).exits(0).json();
    assert_eq!(all["coverage"], "narrowed");
    project.run(&["run", "unti"]).exits(2).warns("no check is called `unti`").warns("unit");
    project.run(&["run", "tag:none"]).exits(2).warns("no tag is called `none`");
    project.run(&["run", "unit", "--only", "lint"]).exits(2);
    project.run(&["run", "unit", "--skip", "unit", "--reason", "later"]).exits(0).says("nothing to verify");
    project.run(&["run", "unit", "--skip", "build", "--reason", "later"]).exits(2).warns("needs it");
    project.run(&["loop", "--fix", "true", "unit"]).exits(2);
    project.run(&["explain", "unit"]).exits(0).says("unit is left out");
}

#[test]
fn a_name_does_not_lift_what_a_role_may_run() {
    let text = "vplan 1\nrole docs {\n  only safe\n}\ncheck rm: ./rm.sh\ncheck read {\n  run true\n  tags safe\n}\n";
    let project = Project::git_with(&[("contracts/verify.vplan", text)]);
    project.script("rm.sh", "#!/bin/sh\ntouch ../gone\n");
    project.run(&["run", "rm", "--role", "docs"]).exits(0).says("nothing to verify").says("role docs runs only");
    project.run(&["run", "rm", "read", "--role", "docs"]).exits(0).says("1 passed");
    assert!(!project.exists("../gone"));
}

#[test]
fn a_named_check_gets_the_changed_files_of_its_conditions_and_none_is_said() {
    let text = "vplan 1\nwhenChangedAny \"*.md\" {\n  check words: echo {changed}\n}\n";
    let project = Project::git_with(&[("contracts/verify.vplan", text)]);
    project.write("a.txt", "x");
    let ran = project.run(&["run", "words"]);
    ran.exits(0).says("nothing to verify").says("no changed file is left for {changed}");
    project.write("a.md", "x");
    let report = project.run(&["run", "words", "--format", "json"]).exits(0).json();
    assert_eq!(report["steps"][0]["command"], "echo a.md");
}
