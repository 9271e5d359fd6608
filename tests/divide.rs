//! Plans divided into shards that take equally long, from the command line.

use crate::support::{Project, Ran};
use serde_json::{Value, json};

/// Three checks, of which the first takes as long as the others together.
const CONTRACT: &str = "vplan 1\ncheck a: sleep 0.4\ncheck b: sleep 0.2\ncheck c: true\n";

fn project() -> Project {
    let project = Project::contract(CONTRACT);
    project
        .run(&["plan", "--all", "-o", "../p.json"])
        .exits(0)
        .says("3 steps");
    project
}

fn divide(project: &Project, words: &[&str]) -> Ran {
    project.run(&[&["plan", "--plan", "../p.json", "--divide"], words].concat())
}

/// Runs a shard by the division, with its records beside the project.
fn shard(project: &Project, shard: &str, words: &[&str]) -> Ran {
    let records = format!("../shards/{}", &shard[..1]);
    let all = [
        &["run", "--plan", "../p.json", "--shard", shard][..],
        &["--records", &records],
        words,
    ];
    project.run(&all.concat())
}

fn division(project: &Project) -> Value {
    serde_json::from_str(&project.read("../d.json")).unwrap()
}

#[test]
fn shards_take_equally_long() {
    let project = project();
    // Nothing ran yet: each counts alike, and that is said.
    divide(&project, &["2"])
        .exits(0)
        .says("3 steps in 2 shards, none of the steps is in 0 runs: each counts alike")
        .says("1/2: 2 steps");
    project.run(&["run", "--all"]).exits(0);
    divide(&project, &["2", "-o", "../d.json"])
        .exits(0)
        .says("weighed by 1 run")
        .says("1/2: 1 step")
        .says("2/2: 2 steps")
        .says("../d.json: sha256:");
    let made = division(&project);
    let weight = |id: &str| made["weights"][id].as_u64().unwrap();
    assert!(
        weight("a") > weight("b") && weight("b") > weight("c"),
        "{made}"
    );
    // The same words and the same past: the same bytes; over its own file, and no other.
    let before = project.read("../d.json");
    divide(&project, &["2", "-o", "../d.json"]).exits(0);
    assert_eq!(project.read("../d.json"), before);
    project.write("../other.json", "{}");
    divide(&project, &["2", "-o", "../other.json"])
        .exits(2)
        .warns("does not overwrite");
    let words = divide(&project, &["2", "--format", "json"]);
    assert_eq!(words.exits(0).out(), "[\"1/2\",\"2/2\"]\n");
    // It stands in the record of the shard, and merging makes the same shares again.
    for (word, id) in [("1/2", "a"), ("2/2", "b")] {
        let words = ["--division", "../d.json", "--format", "json"];
        let report = shard(&project, word, &words).exits(0).json();
        assert_eq!(report["steps"][0]["id"], id);
        assert_eq!(report["shard"]["division"], made);
    }
    let merge = |words: &[&str]| {
        project.run(&[&["merge", "../shards", "--format", "json"], words].concat())
    };
    let whole = merge(&[]).exits(0).json();
    let expected = ["--expect", "../p.json", "--division", "../d.json"];
    assert_eq!(merge(&expected).exits(0).json(), whole);
    project.write("../merged.json", whole.to_string());
    project
        .run(&["verify", "../merged.json"])
        .exits(0)
        .says("holds");
    // Nothing has reported: all shards of the division are missing.
    project.mkdir("../none");
    project
        .run(&[&["merge", "../none"][..], &expected].concat())
        .exits(44)
        .says("shards 1, 2 of 2 are missing");
}

#[test]
fn fewer_shards_where_that_is_fast_enough() {
    let project = project();
    project.run(&["run", "--all"]).exits(0);
    let count = |target: &str| {
        let ran = divide(&project, &["3", "--target", target, "--format", "json"]);
        ran.exits(0).json().as_array().unwrap().len()
    };
    assert_eq!(count("10m"), 1);
    divide(&project, &["3", "--target", "100ms"])
        .exits(0)
        .warns("3 shards cannot keep within 100ms");
    // The runs of shards, wherever they were unpacked.
    for word in ["1/2", "2/2"] {
        shard(&project, word, &[]).exits(0);
    }
    divide(&project, &["2", "--past", "../shards"])
        .exits(0)
        .says("weighed by 2 runs");
    project.mkdir("../empty");
    divide(&project, &["2", "--past", "../empty"])
        .exits(0)
        .says("each counts alike");
    divide(&project, &["2", "--past", "../gone"])
        .exits(2)
        .warns("vplan::usage::past");
}

#[test]
fn what_is_no_division_of_the_plan() {
    let project = project();
    divide(&project, &["2", "-o", "../d.json"]).exits(0);
    let good = project.read("../d.json");
    let with = |text: &str| {
        project.write("../bad.json", text);
        shard(&project, "1/2", &["--division", "../bad.json"])
    };
    let changed = |key: &str, value: Value| {
        let mut division = division(&project);
        division[key] = value;
        division.to_string()
    };
    with(&good[..good.len() / 2])
        .exits(2)
        .warns("vplan::division::document")
        .warns("ends in the middle");
    with("[]").exits(2).warns("is no division");
    with(&changed("version", json!(2)))
        .exits(2)
        .warns("vplan::division::version");
    with(&changed("count", json!(0)))
        .exits(2)
        .warns("has 0 shares");
    let forged = changed("weights", json!({"a": 1, "b": 1, "c": 1}));
    with(&forged)
        .exits(4)
        .warns("vplan::division::tampered")
        .warns("says that its digest is");
    // A digest that fits, of weights that the plan does not have.
    let mut forged: vplan::plan::shard::division::Division =
        serde_json::from_str(&changed("weights", json!({"a": 1, "x": 1}))).unwrap();
    forged.digest = None;
    forged.digest = Some(vplan::base::canon::Digest::of_value(&forged));
    with(&forged.to_json())
        .exits(4)
        .warns("vplan::division::other")
        .warns("weighs `x`, which is no step");
    let gone = shard(&project, "1/2", &["--division", "../none.json"]);
    gone.exits(2).warns("vplan::usage::division");
    shard(&project, "1/3", &["--division", "../d.json"])
        .exits(4)
        .warns("into 2 shares, not 3");
    project
        .run(&["run", "--plan", "../p.json", "--division", "../d.json"])
        .exits(2)
        .warns("--shard");
    // Of another plan.
    project
        .run(&[
            "run",
            "--only",
            "a",
            "--all",
            "--shard",
            "1/2",
            "--division",
            "../d.json",
        ])
        .exits(4)
        .warns("divides the plan sha256:");
    // What is not divided at all.
    for (words, says) in [
        (&["0"][..], "0 is not in 1..=10000"),
        (&["10001"], "10001 is not in"),
        (&["2", "--all"], "cannot be used with"),
        (&["2", "-o", "../d.kdl"], "does not end in `.json`"),
        (&["2", "--target", "soon"], "expected a duration"),
        (&["2", "--format", "kdl"], "has no format `kdl`"),
    ] {
        divide(&project, words).exits(2).warns(says);
    }
    project
        .run(&["plan", "--all", "--target", "10m"])
        .exits(2)
        .warns("--divide");
    // The plan would be another one today.
    project.write("contracts/verify.vplan", CONTRACT.replace("true", "false"));
    divide(&project, &["2"])
        .exits(4)
        .warns("vplan::plan::drift");
}

#[test]
fn shards_that_were_dealt_differently() {
    let project = project();
    project.run(&["run", "--all"]).exits(0);
    divide(&project, &["2", "-o", "../d.json"]).exits(0);
    shard(&project, "1/2", &["--division", "../d.json"]).exits(0);
    // One in turn, the other by the division: `b` would be in neither of them.
    shard(&project, "2/2", &[]).exits(0);
    project
        .run(&["merge", "../shards"])
        .exits(4)
        .warns("vplan::merge::division")
        .warns("were dealt differently: by sha256:")
        .warns("in turn");
    let words = ["merge", "../shards/2", "--division", "../d.json"];
    project
        .run(&words)
        .exits(4)
        .warns("vplan::merge::division")
        .warns("was dealt in turn");
    // A report whose division was exchanged is no report of vplan.
    let file = |n: u32| {
        let runs = project.path(format!("../shards/{n}/runs"));
        let run = std::fs::read_dir(runs).unwrap();
        let mut runs = run.map(|e| e.unwrap().path()).filter(|p| p.is_dir());
        runs.next().unwrap().join("report.json")
    };
    let text = std::fs::read_to_string(file(1)).unwrap();
    let mut report: Value = serde_json::from_str(&text).unwrap();
    report["shard"]["division"]["weights"]["a"] = json!(1);
    project.write("../edited.json", report.to_string());
    project
        .run(&["merge", "../edited.json"])
        .exits(2)
        .warns("vplan::merge::tampered");
    report["shard"].as_object_mut().unwrap().remove("division");
    project.write("../edited.json", report.to_string());
    project
        .run(&["merge", "../edited.json"])
        .exits(2)
        .warns("vplan::merge::tampered");
}
