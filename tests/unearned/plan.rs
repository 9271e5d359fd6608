//! A saved plan whose annotations were edited: its digest stays, and so must what is looked at
//! before it runs.

use super::{caveat, codes};
use crate::support::Project;
use serde_json::{Value, json};
use vplan::plan::digest::seal;
use vplan::plan::document::to_json;

type Edit = fn(&mut Value);

const CONTRACT: &str =
    "vplan 1\ncheck lint: true\nwhenChangedAny \"src/**\" {\n  check unit: false\n}\n";

/// A plan for a change of `README` alone, as edited; then `src/a` changes, which the plan has no
/// check for.
fn edited(edit: impl Fn(&mut Value)) -> Project {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("README", ""),
        ("src/a", ""),
    ]);
    project.write("README", "changed");
    project
        .run(&["plan", "--base", "HEAD", "-o", "../p.json"])
        .exits(0);
    let mut plan: Value = serde_json::from_str(&project.read("../p.json")).unwrap();
    edit(&mut plan);
    project.write("../p.json", plan.to_string());
    project
        .run(&["run", "--plan", "../p.json"])
        .exits(0)
        .says("1 passed");
    project.write("src/a", "broken");
    project
}

#[test]
fn a_plan_that_no_longer_says_how_its_base_was_called_is_compared_all_the_same() {
    let edits: [(&str, Edit); 5] = [
        ("as it was", |_| {}),
        ("without", |p| {
            drop(p["request"].as_object_mut().unwrap().remove("changedFrom"))
        }),
        ("staged", |p| p["request"]["changedFrom"] = json!("staged")),
        ("all", |p| p["request"]["changedFrom"] = json!("all")),
        ("another", |p| {
            p["request"]["changedFrom"] = json!("base:no-such-branch")
        }),
    ];
    for (name, edit) in edits {
        let ran = edited(edit).run(&["run", "--plan", "../p.json"]);
        assert!(
            ran.exits(4).err().contains("request.changed.src/a"),
            "{name}: {}",
            ran.err()
        );
    }
}

#[test]
fn a_plan_without_its_base_or_with_another_one_is_refused() {
    let edits: [(&str, Edit); 5] = [
        ("no base", |p| {
            drop(p["request"].as_object_mut().unwrap().remove("base"))
        }),
        ("another base", |p| {
            p["request"]["base"] = json!("0".repeat(40))
        }),
        ("no place", |p| {
            drop(p["request"].as_object_mut().unwrap().remove("changedIn"))
        }),
        ("another place", |p| {
            p["request"]["changedIn"] = json!("index")
        }),
        ("another version", |p| p["version"] = json!(1)),
    ];
    let project = Project::git_with(&[("contracts/verify.vplan", CONTRACT)]);
    project.write("README", "changed");
    project
        .run(&["plan", "--base", "HEAD", "-o", "../p.json"])
        .exits(0);
    let plan: Value = serde_json::from_str(&project.read("../p.json")).unwrap();
    for (name, edit) in edits {
        let mut plan = plan.clone();
        edit(&mut plan);
        let ran = project.write("../f.json", plan.to_string()).run(&[
            "run",
            "--plan",
            "../f.json",
            "--allow-drift",
        ]);
        assert!(
            ran.exits(4).err().contains("the plan says its digest is"),
            "{name}: {}",
            ran.err()
        );
    }
    // With a digest of its own, too, where it says what no planner says.
    let edits: [(&str, Edit, &str); 7] = [
        (
            "a name",
            |p| p["request"]["base"] = json!("main"),
            "no id of a commit",
        ),
        (
            "an option",
            |p| p["request"]["base"] = json!("--upload-pack=touch x"),
            "no id of a commit",
        ),
        (
            "a part of an id",
            |p| p["request"]["base"] = json!("0123456789ab"),
            "no id of a commit",
        ),
        (
            "in capitals",
            |p| p["request"]["base"] = json!("A".repeat(40)),
            "no id of a commit",
        ),
        (
            "nothing looked at",
            |p| drop(p["request"].as_object_mut().unwrap().remove("changedIn")),
            "nothing is compared",
        ),
        (
            "every file",
            |p| p["request"]["changedIn"] = json!("tracked"),
            "nothing is compared",
        ),
        (
            "version 1",
            |p| p["version"] = json!(1),
            "a plan of version 1 has neither",
        ),
    ];
    for (name, edit, says) in edits {
        let mut plan = plan.clone();
        edit(&mut plan);
        project.write(
            "../f.json",
            to_json(&seal(serde_json::from_value(plan).unwrap())),
        );
        let ran = project.run(&["run", "--plan", "../f.json", "--allow-drift"]);
        assert!(ran.exits(2).err().contains(says), "{name}: {}", ran.err());
    }
    // A commit that is nowhere is not passed over.
    let mut nowhere = plan.clone();
    nowhere["request"]["base"] = json!("0".repeat(40));
    project.write(
        "../f.json",
        to_json(&seal(serde_json::from_value(nowhere).unwrap())),
    );
    project
        .run(&["run", "--plan", "../f.json", "--allow-drift"])
        .exits(4)
        .warns("vplan::changes::not_fetched");
    // The id of something else than a commit is none.
    let tree = project.git(&["rev-parse", "HEAD^{tree}"]);
    let mut other = plan;
    other["request"]["base"] = json!(tree);
    project.write(
        "../f.json",
        to_json(&seal(serde_json::from_value(other).unwrap())),
    );
    project
        .run(&["run", "--plan", "../f.json", "--allow-drift"])
        .exits(4)
        .warns("vplan::changes::not_fetched");
}

/// How it is run is an annotation: what that cannot do is make a failure a pass, or be more than a
/// command line may ask for.
#[test]
fn a_schedule_in_a_plan_file_makes_no_failure_a_pass() {
    let project = Project::contract("vplan 1\ncheck a: false\ncheck b: true\n");
    project
        .run(&["plan", "--changed-none", "-o", "../p.json"])
        .exits(0);
    let plan: Value = serde_json::from_str(&project.read("../p.json")).unwrap();
    for (jobs, fail_fast, exit) in [
        (1, true, 40),
        (1, false, 40),
        (256, true, 40),
        (0, true, 2),
        (257, true, 2),
    ] {
        let mut plan = plan.clone();
        plan["policy"]["jobs"] = json!(jobs);
        plan["policy"]["failFast"] = json!(fail_fast);
        project
            .write("../p.json", plan.to_string())
            .run(&["run", "--plan", "../p.json"])
            .exits(exit);
    }
}

/// A run for changes that were named by hand verifies nothing, whatever the plan beside its report
/// says of them afterwards.
#[test]
fn a_recorded_plan_that_says_another_source_of_its_changes_verifies_nothing() {
    let project =
        Project::contract("vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: false\n}\n");
    project.write("src/a", "broken");
    let report = project
        .run(&["run", "--changed-none", "--format", "json"])
        .exits(0)
        .json();
    project.run(&["status", "--require", "verified"]).exits(44);
    let file = format!(
        ".vplan/runs/{}/plan.json",
        report["runId"].as_str().unwrap()
    );
    let mut plan: Value = serde_json::from_str(&project.read(&file)).unwrap();
    plan["request"]["changedFrom"] = json!("work-tree");
    project.write(&file, plan.to_string());
    project.run(&["status", "--require", "verified"]).exits(44);
}

/// A file can leave out what was said of its base.
#[test]
fn a_plan_since_a_later_commit_says_so_when_it_runs() {
    let said = |project: &Project, file: &str| {
        let report = project
            .run(&["run", "--plan", file, "--format", "json"])
            .exits(0)
            .json();
        let codes: Vec<String> = report["caveats"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|c| c["code"].as_str().unwrap().to_owned())
            .collect();
        (codes, report["coverage"].as_str().unwrap().to_owned())
    };
    let project = Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("README", ""),
        ("src/a", ""),
    ]);
    project.write("README", "changed");
    // Nothing is left out yet.
    for (base, file) in [("HEAD", "../p.json"), ("origin/main", "../q.json")] {
        project.run(&["plan", "--base", base, "-o", file]).exits(0);
        assert_eq!(said(&project, file), (vec![], "full".to_owned()));
    }
    project.write("src/a", "bad").commit("bad");
    project.write("README", "again");
    project
        .run(&["plan", "--base", "HEAD", "-o", "../p.json"])
        .exits(0);
    let mut plan: Value = serde_json::from_str(&project.read("../p.json")).unwrap();
    for stripped in [false, true] {
        if stripped {
            plan.as_object_mut().unwrap().remove("caveats");
            project.write("../p.json", plan.to_string());
        }
        assert_eq!(
            said(&project, "../p.json"),
            (vec!["base_later".to_owned()], "narrowed".to_owned()),
            "{stripped}"
        );
        project
            .run(&["run", "--plan", "../p.json", "--require", "full"])
            .exits(44);
        project.run(&["status", "--require", "verified"]).exits(44);
    }
    project.run(&["run"]).exits(40);
    // Where no base is known, that is said again.
    project.git(&["remote", "remove", "origin"]);
    project.run(&["plan", "-o", "../p.json"]).exits(0);
    let mut plan: Value = serde_json::from_str(&project.read("../p.json")).unwrap();
    plan.as_object_mut().unwrap().remove("caveats");
    project.write("../p.json", plan.to_string());
    assert_eq!(
        said(&project, "../p.json"),
        (vec!["base_unknown".to_owned()], "narrowed".to_owned())
    );
}

#[test]
fn a_plan_for_a_subject_is_held_against_its_whole_change() {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("README", ""),
        ("src/a", ""),
    ]);
    project.write("src/a", "bad").commit("bad");
    project.write("README", "changed");
    project
        .run(&["plan", "--base", "HEAD", "-o", "../part.json"])
        .exits(0);
    let report = project
        .run(&[
            "run",
            "--plan",
            "../part.json",
            "--subject",
            "S",
            "--format",
            "json",
        ])
        .exits(20)
        .json();
    assert_eq!(
        (&report["decision"], &report["decisionReason"]),
        (&json!("retry"), &json!("part_of_change"))
    );
    let caveats = report["caveats"].as_array().unwrap();
    let part = caveats
        .iter()
        .find(|c| c["code"] == "part_of_change")
        .unwrap();
    assert_eq!(part["checks"], json!(["unit"]), "{report}");
    assert_eq!(report["counter"], 0);
    // A plan of all of it is a round as any other.
    project.run(&["plan", "-o", "../whole.json"]).exits(0);
    let report = project
        .run(&[
            "run",
            "--plan",
            "../whole.json",
            "--subject",
            "S",
            "--format",
            "json",
        ])
        .exits(40)
        .json();
    assert_eq!(
        (&report["counter"], report["decisionReason"].is_null()),
        (&json!(0), true)
    );
}

/// A plan that runs although it is not today's verifies what it has.
#[test]
fn drift_that_leaves_checks_out_narrows() {
    const PARTS: &str = "vplan 1\nwhenChangedAny \"a/**\" {\n  check a: true\n}\nwhenChangedAny \"b/**\" {\n  check b: \
                         sh -c '! grep -rq bad b'\n}\n";
    let run = [
        "run",
        "--plan",
        "../p.json",
        "--allow-drift",
        "--require",
        "full",
        "--format",
        "json",
    ];
    for flags in [&[][..], &["--base", "HEAD"], &["--changed", "a/x"]] {
        let project =
            Project::git_with(&[("contracts/verify.vplan", PARTS), ("a/x", ""), ("b/x", "")]);
        project.write("a/x", "1\n");
        project
            .run(&[&["plan", "-o", "../p.json"], flags].concat())
            .exits(0);
        // More files of the same checks.
        project.write("a/x", "2\n").write("a/y", "1\n");
        let report = project.run(&run).exits(0).json();
        assert_eq!(codes(&report), [""; 0], "{flags:?}");
        // Files of another check.
        project.write("b/x", "bad\n");
        let report = project.run(&run).exits(44).json();
        let found = caveat(&report, "part_of_change");
        assert_eq!(found["checks"], json!(["b"]), "{flags:?}");
        assert_eq!(codes(&report), ["part_of_change"], "{flags:?}");
        // Another check of the same files.
        project.remove("b/x").git(&["checkout", "-q", "b"]);
        let more = PARTS.replace("check a: true", "check a: true\n  check c: true");
        project.write("contracts/verify.vplan", more);
        let report = project.run(&run).exits(44).json();
        let found = caveat(&report, "part_of_change");
        assert_eq!(found["checks"], json!(["c"]), "{flags:?}");
    }
}
