//! Which defaults hold for a check: its own before those of its verb, those before those of all.

use crate::support::Project;
use serde_json::{Value, json};

const MAIN: &str = "contracts/verify.vplan";

fn contract(text: &str) -> Project {
    Project::git_with(&[(MAIN, text)])
}

/// Plans a contract for everything, and returns the steps.
fn steps(project: &Project) -> Vec<Value> {
    let ran = project.run(&["plan", "--format", "json", "--no-preflight", "--all"]);
    ran.exits(0);
    ran.json()["steps"].as_array().unwrap().clone()
}

fn step(steps: &[Value], id: &str) -> Value {
    let found = steps.iter().find(|s| s["id"] == id);
    found.unwrap_or_else(|| panic!("no step `{id}`")).clone()
}

#[test]
fn the_nearest_one_counts_and_what_adds_up_adds_up() {
    let project = contract(
        "vplan 1
defaults {
  dir \"a\"
  env A=all
  env B=all
  pass-env HOME
  tool-path \"bin\"
  timeout 1m
  retries 1
  tags all
}
defaults test {
  dir \"b\"
  env B=test
  tool-path \"test-bin\"
  timeout 2m
  inputs \"src/**\"
  tags tests
}
defaults test {
  env C=more
  pass-env LANG
  tool-path \"more-bin\"
  tags more
}
check own {
  test true
  env A=own
  tool-path \"own-bin\"
  timeout 3m
  tags own
}
check unit {
  test true
}
check plain: true
check there {
  file \"x\" {
    exists
  }
}
",
    );
    for folder in ["a", "b"] {
        project.write(format!("{folder}/x"), "");
    }
    let steps = steps(&project);
    let own = step(&steps, "own");
    assert_eq!(own["dir"], "b");
    assert_eq!(own["env"], json!({"A": "own", "B": "test", "C": "more"}));
    assert_eq!(own["passEnv"], json!(["LANG"]));
    assert_eq!(
        own["toolPath"],
        json!(["own-bin", "test-bin", "more-bin", "bin"])
    );
    assert_eq!(own["tags"], json!(["all", "tests", "more", "own"]));
    assert_eq!(
        (&own["timeoutMs"], &own["retries"]),
        (&json!(180_000), &json!(1))
    );
    let unit = step(&steps, "unit");
    assert_eq!(unit["timeoutMs"], 120_000);
    assert_eq!(unit["inputs"], own["inputs"]);
    assert!(
        unit["inputs"].is_object() || unit["inputs"].is_array(),
        "{unit}"
    );
    let plain = step(&steps, "plain");
    assert_eq!(plain["env"], json!({"A": "all", "B": "all"}));
    assert_eq!(
        (&plain["dir"], &plain["timeoutMs"]),
        (&json!("a"), &json!(60_000))
    );
    assert_eq!(plain["tags"], json!(["all"]));
    assert_eq!(plain["inputs"], Value::Null);
    assert_eq!(step(&steps, "there")["tags"], json!(["all"]));
}

#[test]
fn a_block_of_a_verb_says_what_each_check_could_say_itself() {
    let with = "vplan 1\ndefaults lint {\n  timeout 5m\n  severity warning\n}\ncheck a {\n  lint true\n}\ncheck b: true\n";
    let without =
        "vplan 1\ncheck a {\n  lint true\n  timeout 5m\n  severity warning\n}\ncheck b: true\n";
    let steps = [with, without].map(|text| {
        let mut steps = steps(&contract(text));
        for step in &mut steps {
            step.as_object_mut().unwrap().remove("source");
        }
        steps
    });
    assert_eq!(steps[0], steps[1]);
}

#[test]
fn an_imported_file_has_its_own() {
    let project = Project::git_with(&[
        (
            MAIN,
            "vplan 1\ndefaults test {\n  timeout 7m\n}\nimport \"package.vplan\" as web at \"web\"\ncheck own {\n  test true\n}\n",
        ),
        (
            "contracts/package.vplan",
            "vplan 1\ndefaults test {\n  dir \"sub\"\n  retries 2\n  inputs \"src/**\"\n}\ncheck unit {\n  test true\n}\ncheck plain: true\n",
        ),
        ("web/sub/src/a", ""),
    ]);
    let steps = steps(&project);
    let (unit, own) = (step(&steps, "web/unit"), step(&steps, "own"));
    assert_eq!(
        (&unit["dir"], &unit["retries"], &unit["timeoutMs"]),
        (&json!("web/sub"), &json!(2), &json!(120_000))
    );
    assert!(unit["inputs"].to_string().contains("web/src/**"), "{unit}");
    assert_eq!(
        (&own["dir"], &own["retries"], &own["timeoutMs"]),
        (&json!("."), &json!(0), &json!(420_000))
    );
    assert_eq!(step(&steps, "web/plain")["dir"], "web");
}

#[test]
fn the_layout_keeps_the_head_and_sorts_the_lines() {
    let project = contract(
        "vplan 1\ndefaults   test{\n  tags a\n  timeout 5m\n}\ncheck a {\n  test true\n}\n",
    );
    let digest = || project.run(&["plan", "--all", "--format", "json"]).json()["digest"].clone();
    let before = digest();
    project.run(&["fmt"]).exits(0);
    assert_eq!(
        project.read(MAIN),
        "vplan 1\ndefaults test {\n  timeout 5m\n  tags a\n}\ncheck a {\n  test true\n}\n"
    );
    assert_eq!(digest(), before);
}
