//! What earlier runs say of a plan before it runs: `vplan explain`, and why a step is not reused, by
//! name.

use crate::support::Project;
use serde_json::{Value, json};

const CONTRACT: &str = "vplan 1\n\
    check one {\n  run cat src/a\n  inputs \"src/**\"\n}\n\
    check two: true\n\
    check three {\n  run cat src/a\n  inputs \"src/**\"\n  needs two\n}\n";

fn project(contract: &str) -> Project {
    Project::git_with(&[
        ("contracts/verify.vplan", contract),
        ("src/a", "1\n"),
        ("src/b", "1\n"),
    ])
}

fn outlook(project: &Project) -> Value {
    let explained = project.run(&["explain", "--all", "--format", "json"]);
    explained.exits(0).json()["outlook"].clone()
}

/// The outlook of the only step.
fn only(project: &Project) -> Value {
    outlook(project)["steps"][0].clone()
}

#[test]
fn without_earlier_runs_nothing_is_said_of_them() {
    let project = project(CONTRACT);
    let text = project.run(&["explain", "--all"]);
    text.exits(0)
        .never_says("expected")
        .never_says("reuse ")
        .never_says("time ");
    let json = project.run(&["explain", "--all", "--format", "json"]);
    let plan = project.run(&["plan", "--all", "--format", "json"]);
    assert_eq!(json.stdout, plan.stdout);
    assert!(!project.exists(".vplan"));

    let digest = plan.json()["digest"].clone();
    project.run(&["run", "--all"]).exits(0);
    let after = project
        .run(&["explain", "--all", "--format", "json"])
        .json();
    assert_eq!(after["digest"], digest, "they have no say in the plan");
    assert!(after["outlook"].is_object());
    let mut after = after;
    after.as_object_mut().unwrap().remove("outlook");
    assert_eq!(after, plan.json());

    std::fs::remove_dir_all(project.path(".vplan")).unwrap();
    std::fs::remove_dir_all(project.parent().join("home/state")).unwrap();
    assert_eq!(project.run(&["explain", "--all"]).stdout, text.stdout);
}

#[test]
fn expected_times_and_what_is_reused() {
    let project = project(CONTRACT);
    let ran = project
        .run(&["run", "--all", "--format", "json"])
        .exits(0)
        .json();
    let text = project.run(&["explain", "--all"]);
    text.exits(0)
        .says("expected: about ")
        .says(" by earlier runs, 1 step replaced by an earlier pass\n")
        .says("   reuse  an earlier pass stands for it\n")
        .says("   reuse  none: `two` before it ran, and not all that it may have made is among the inputs\n")
        .says("   time   about ");
    let outlook = outlook(&project);
    let [one, two, three] = [0, 1, 2].map(|at| outlook["steps"][at].clone());
    assert_eq!(one["replacedBy"], ran["runId"]);
    assert_eq!(
        two,
        json!({"expectedMs": ran["steps"][1]["durationMs"], "id": "two"})
    );
    assert_eq!(three["differs"], json!({"kind": "step", "name": "two"}));
    let both = [&two, &three].map(|step| step["expectedMs"].as_u64().unwrap());
    assert_eq!(
        outlook["expectedMs"],
        both[0] + both[1],
        "the sum of those that run"
    );
    assert_eq!(outlook["unknown"], 0);
    // Asking changes nothing: neither what is reused, nor the next answer.
    assert_eq!(project.run(&["explain", "--all"]).stdout, text.stdout);
    let again = project.run(&["run", "--all", "--format", "json"]).json();
    assert_eq!(again["steps"][0]["status"], "cached");
}

#[test]
fn only_passes_of_the_latest_runs_count() {
    let project = project("vplan 1\ncheck one: true\n");
    project.run(&["run", "--all"]).exits(0);
    assert!(only(&project)["expectedMs"].is_u64());
    let runs = project.path(".vplan/runs");
    let first = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap();
    let journal = std::fs::read_to_string(first.path().join("events.jsonl")).unwrap();
    let failed = journal.replace("\"status\":\"passed\"", "\"status\":\"failed\"");
    let add = |number: usize| {
        let run = runs.join(format!("29990101T000000.000Z-{number:032x}"));
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("events.jsonl"), &failed).unwrap();
    };
    (0..7).for_each(add);
    assert!(
        only(&project)["expectedMs"].is_u64(),
        "the eighth run from the end passed"
    );
    add(7);
    assert_eq!(outlook(&project), Value::Null, "older ones are not read");
    std::fs::remove_dir_all(&runs).unwrap();
    std::fs::create_dir(&runs).unwrap();
    std::fs::write(runs.join("20260101T000000.000Z"), "").unwrap();
    assert_eq!(outlook(&project), Value::Null);
}

#[test]
fn what_differs_has_a_name_and_no_value() {
    let contract =
        "vplan 1\ncheck one {\n  run cat src/a\n  inputs \"src/**\"\n  pass-env MY_TOKEN\n}\n";
    let project = project(contract);
    let run = |token: &str| {
        let words = [
            "run",
            "--all",
            "--format",
            "json",
            "--grant-env",
            "MY_TOKEN",
        ];
        project.vplan(&words).env("MY_TOKEN", token).run().json()["steps"][0].clone()
    };
    assert_eq!(run("swordfish")["differs"], Value::Null, "its first pass");
    assert_eq!(run("swordfish")["status"], "cached");
    let other = run("cuttlefish");
    assert_eq!(
        other["differs"],
        json!({"kind": "variable", "name": "MY_TOKEN"})
    );
    let told = project.run(&["details"]);
    told.says("not reused: since its last pass, variable `MY_TOKEN` changed\n");
    for told in [
        told.out(),
        other.to_string(),
        project.run(&["explain", "--all"]).out(),
    ] {
        assert!(
            !told.contains("tlefish") && !told.contains("swordfish"),
            "{told}"
        );
    }
    project
        .write("src/a", "2\n")
        .write("src/c", "1\n")
        .remove("src/b");
    let differs = json!({"change": "changed", "kind": "file", "more": 3, "name": "src/a"});
    assert_eq!(
        only(&project)["differs"],
        differs,
        "and the variable is not granted here"
    );
    project
        .run(&["explain", "--all"])
        .says("   reuse  none: since its last pass, file `src/a` changed and 3 more\n");
    let words = ["run", "-v", "--all", "--grant-env", "MY_TOKEN"];
    let run = project.vplan(&words).env("MY_TOKEN", "cuttlefish").run();
    let told = "since its last pass, file `src/a` changed and 2 more";
    run.exits(0).warns(&format!("`one` is not reused: {told}"));
}

#[test]
fn names_are_made_safe() {
    let project = project("vplan 1\ncheck one {\n  run true\n  inputs \"src/**\"\n}\n");
    project.run(&["run", "--all"]).exits(0);
    project.write_bytes(b"src/\x1b[31m\n\xff", "1");
    let name = "src/\\u{1b}[31m\\n\\xff";
    assert_eq!(
        only(&project)["differs"],
        json!({"change": "new", "kind": "file", "name": name})
    );
    let told = format!("file `{name}` is new");
    project.run(&["explain", "--all"]).says(&told);
    project.run(&["run", "-v", "--all"]).exits(0).warns(&told);
}

#[test]
fn damaged_memories_say_less() {
    let project = project("vplan 1\ncheck one {\n  run true\n  inputs \"src/**\"\n}\n");
    project.run(&["run", "--all"]).exits(0);
    project.write("src/a", "2\n");
    let state = project.parent().join("home/state/vplan");
    let state = std::fs::read_dir(state).unwrap().next().unwrap().unwrap();
    let results = state.path().join("results");
    let files = |prefix: &str| {
        let all = std::fs::read_dir(&results).unwrap().map(|e| e.unwrap());
        let of = |e: &std::fs::DirEntry| e.file_name().to_str().unwrap().starts_with(prefix);
        all.filter(of).map(|e| e.path()).collect::<Vec<_>>()
    };
    let [list] = files("files-").try_into().unwrap();
    std::fs::write(&list, "vplan files 1\nx").unwrap();
    assert_eq!(only(&project)["differs"], json!({"kind": "file"}));
    project
        .run(&["explain", "--all"])
        .says("since its last pass, its inputs changed\n");
    std::fs::remove_file(&list).unwrap();
    assert_eq!(only(&project)["differs"], json!({"kind": "file"}));
    let [last] = files("last-").try_into().unwrap();
    std::fs::write(last, "sha256:00\n").unwrap();
    assert_eq!(only(&project)["notReused"], Value::Null);
    let report = project.run(&["run", "--all", "--format", "json"]).json();
    assert_eq!(
        report["steps"][0]["notReused"],
        "there is no earlier pass of it"
    );
}

#[test]
fn nothing_is_said_of_a_view_that_is_not_made() {
    let project = project("vplan 1\ncheck one {\n  run true\n  inputs \"src/**\"\n}\n");
    project.run(&["run", "--all"]).exits(0);
    project.write("src/a", "2\n").git(&["add", "src/a"]);
    let staged = ["explain", "--staged", "--format", "json"];
    let told = |project: &Project| project.run(&staged).json()["outlook"]["steps"][0].clone();
    assert!(
        told(&project)["notReused"].is_string(),
        "index and work tree agree"
    );
    project.write("src/a", "3\n");
    assert_eq!(told(&project)["notReused"], Value::Null);
    assert!(told(&project)["expectedMs"].is_u64());
}
