//! No finding is excused that was not there, and known, before the change.

use super::caveat;
use crate::baseline::{FILE, LINT, at_base, known, project, run};
use serde_json::Value;

fn reason(report: &Value) -> &str {
    report["steps"][0]["reason"].as_str().unwrap()
}

#[test]
fn entries_that_the_change_adds() {
    let project = project(LINT);
    run(&project, 40);
    project.run(&["baseline", "record"]).exits(0);
    let report = run(&project, 40);
    let said = caveat(&report, "baseline_changed")["message"].to_string();
    assert!(said.contains("adds 2 entries"), "{said}");
    assert!(report.get("baseline").is_none(), "{report:#}");
    // Neither in the index, nor in a commit of the change, nor where git is told to look away.
    project.git(&["add", "-A"]);
    run(&project, 40);
    project.commit("known");
    run(&project, 40);
    project.git(&["update-index", "--skip-worktree", FILE]);
    run(&project, 40);
    project.git(&["update-index", "--no-skip-worktree", FILE]);
    // Where paths are named, it is still the whole change's base.
    project.run(&["run", "--changed", "src/a.js"]).exits(40);
    // More of them on top of what is known.
    at_base(&project);
    project.write("src/b.js", "var more = 1;\n");
    run(&project, 40);
    project.run(&["baseline", "record"]).exits(0);
    project.commit("more");
    run(&project, 40);
}

#[test]
fn an_ignored_file() {
    let project = project(LINT);
    run(&project, 40);
    project.run(&["baseline", "record"]).exits(0);
    project.write(".git/info/exclude", "*.kdl\n");
    run(&project, 40);
    project.write(".gitignore", "*.kdl\n");
    run(&project, 40);
}

#[test]
fn one_more_of_the_same() {
    let project = known(LINT);
    // Lines above move what is known.
    project.write(
        "src/a.js",
        "let z = 0;\n\nlet y = 0;\nvar a = 1;\nlet b = 2;\n  var c = 3;\n",
    );
    assert_eq!(reason(&run(&project, 0)), "known");
    project.write("src/a.js", "var a = 1;\nvar a = 1;\nvar c = 3;\n");
    assert_eq!(reason(&run(&project, 40)), "errors");
    // Another text of the line is another finding.
    project.write("src/a.js", "var a = 2;\nvar c = 3;\n");
    assert_eq!(reason(&run(&project, 40)), "errors");
}

#[test]
fn another_file_or_check() {
    let project = known(LINT);
    project.write("src/a.js", "let a = 1;\n");
    project.write("src/b.js", "var a = 1;\n");
    assert_eq!(reason(&run(&project, 40)), "errors");
    let project = known(LINT);
    let contract = project.read("contracts/verify.vplan");
    project.write(
        "contracts/verify.vplan",
        contract.replace("lint {", "other {"),
    );
    assert_eq!(reason(&run(&project, 40)), "errors");
}

#[test]
fn another_end() {
    for (file, text, want) in [
        ("code", "2", "errors"),
        ("code", "139", "errors"),
        ("code", "0", "errors"),
        ("crash", "", "signal"),
        ("cut", "", "errors"),
    ] {
        let project = known(LINT);
        project.write(file, text);
        assert_eq!(reason(&run(&project, 40)), want, "{file} {text}");
        project.remove(file);
        run(&project, 0);
    }
}

#[test]
fn tests_behind_the_first_failure() {
    let unit = "check unit {\n  test pytest\n}\n";
    let project = known(unit);
    run(&project, 0);
    // The runner stops, and what is behind did not run.
    project.write("stopped", "");
    run(&project, 42);
    project.remove("stopped");
    project.write("tests.txt", "good one\nbad two\nbad three\n");
    run(&project, 42);
    project.write("tests.txt", "good one\ngood two\n");
    run(&project, 0);
}

#[test]
fn a_tool_that_something_else_starts() {
    let lint = "check lint {\n  lint sh -c \"eslint . && true\"\n  format eslint\n}\n";
    let project = project(lint);
    run(&project, 40);
    let _ = project.run(&["baseline", "record"]);
    at_base(&project);
    run(&project, 40);
}

#[test]
fn a_check_that_prepares_or_has_codes_of_its_own() {
    for (setting, exit) in [("setup", 5), ("exit 1", 40)] {
        let project = known(LINT);
        let contract = project.read("contracts/verify.vplan");
        let with = format!("lint eslint .\n  {setting}\n");
        project.write(
            "contracts/verify.vplan",
            contract.replace("lint eslint .\n", &with),
        );
        at_base(&project);
        run(&project, exit);
    }
}

#[test]
fn a_report_that_says_so() {
    let project = known(LINT);
    let good = run(&project, 0);
    let folder = format!(".vplan/runs/{}", good["runId"].as_str().unwrap());
    let file = format!("{folder}/report.json");
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 5] = [
        ("no caveat", |r| r["caveats"] = serde_json::json!([])),
        ("no baseline", |r| {
            r.as_object_mut().unwrap().remove("baseline");
        }),
        ("not known", |r| {
            r["steps"][0]["identities"][0]["known"] = false.into();
        }),
        ("another reason", |r| {
            r["steps"][0].as_object_mut().unwrap().remove("reason");
        }),
        ("more errors", |r| r["steps"][0]["errors"] = 5.into()),
    ];
    for (what, edit) in edits {
        let mut report = good.clone();
        edit(&mut report);
        project.write(&file, report.to_string());
        let ran = project.run(&[
            "verify",
            &format!("{folder}/report.json"),
            "--format",
            "json",
        ]);
        let aspects = ran.exits(4).json();
        let wrong = aspects["aspects"]
            .as_array()
            .unwrap()
            .iter()
            .any(|a| a["holds"] == "no" && a["aspect"] == "statuses");
        assert!(wrong, "{what}: {aspects:#}");
    }
}

#[test]
fn a_pass_is_not_kept() {
    let lint = "check lint {\n  lint eslint .\n  inputs \"src/**\" \"bin/**\"\n}\n";
    let project = known(lint);
    for _ in 0..2 {
        let report = run(&project, 0);
        assert_eq!(reason(&report), "known");
    }
    // The base knows less: the same tree does not stand as verified.
    project.git(&["rm", "-q", "--cached", FILE]);
    project.remove(FILE);
    at_base(&project);
    run(&project, 40);
}
