//! The setting `on`, and the machines that it names: from the language to the plan.

use crate::support::{Project, Ran};
use serde_json::{Value, json};

/// A machine with its properties in another order than that of their names.
const LINUX: &str = "machine linux {\n  property \"container-image\" \"docker://ci@sha256:0123\"\n  property \"OSFamily\" \"linux\"\n}\n";

/// A contract with that machine, and a check that has these settings.
fn contract(settings: &str) -> String {
    format!("vplan 1\n{LINUX}check unit {{\n  run true\n  inputs \"src/**\"\n{settings}}}\n")
}

fn planned(text: &str) -> Value {
    let project = Project::contract(text);
    let words = ["plan", "--changed-none", "--format", "json"];
    project.run(&words).exits(0).json()
}

/// What each step of the plan of a contract says of where it is executed.
fn places(text: &str) -> Vec<Value> {
    let steps = planned(text)["steps"].as_array().unwrap().clone();
    steps.iter().map(|step| step["on"].clone()).collect()
}

fn linux() -> Value {
    let properties = json!({"OSFamily": "linux", "container-image": "docker://ci@sha256:0123"});
    json!({"machine": {"name": "linux", "properties": properties}})
}

#[test]
fn a_plan_holds_the_machine_with_its_properties() {
    assert_eq!(places(&contract("  on linux\n")), [linux()]);
    assert_eq!(places(&contract("  on here\n")), [json!("here")]);
    assert_eq!(places(&contract("")), [Value::Null]);
    let here = "vplan 1\ncheck a {\n  run true\n  on here\n}\n";
    assert_eq!(places(here), [json!("here")]);
}

#[test]
fn both_forms_of_a_plan_file_keep_it() {
    let odd = contract("  on linux\n").replace("\"OSFamily\"", "\"a b \\u{7f}\"");
    for text in [contract("  on linux\n"), contract("  on here\n"), odd] {
        let project = Project::git_with(&[("contracts/verify.vplan", &text)]);
        for file in ["p.kdl", "p.json"] {
            let words = ["plan", "--changed-none", "-o", file];
            project.run(&words).exits(0);
            project.run(&["diff", file, "p.kdl"]).exits(0);
            project.run(&["run", "--plan", file]).exits(0);
        }
    }
}

#[test]
fn defaults_hold_it_for_the_checks_that_can_have_it() {
    let text = format!(
        "vplan 1\n{LINUX}defaults {{\n  on linux\n}}\ncheck a {{\n  run true\n  inputs \"a\"\n}}\n\
         check b {{\n  run true\n  on here\n}}\n\
         check c: true\n\
         check d {{\n  file \"contracts/verify.vplan\" {{\n    exists\n  }}\n}}\n"
    );
    let want = [linux(), json!("here"), linux(), Value::Null];
    assert_eq!(places(&text), want);
    let explained = Project::contract(&text).run(&["explain", "--changed-none"]);
    explained.says("on linux").says("on here");
}

#[test]
fn the_name_may_come_of_a_row() {
    let text = format!(
        "vplan 1\n{LINUX}machine arm {{\n  property \"ISA\" \"arm\"\n}}\neach m in linux arm here {{\n  \
         check a-{{m}} {{\n    run true\n    inputs \"a\"\n    on {{m}}\n  }}\n}}\n"
    );
    let arm = json!({"machine": {"name": "arm", "properties": {"ISA": "arm"}}});
    assert_eq!(places(&text), [linux(), arm, json!("here")]);
}

#[test]
fn what_is_imported_names_the_machines_of_the_contract() {
    let project = Project::contract(&format!(
        "vplan 1\n{LINUX}import \"l.vplan\" as l {{\n  override b {{\n    on linux\n  }}\n  override c {{\n    without on\n  }}\n}}\n"
    ));
    let check = |name: &str, on: &str| {
        format!("check {name} {{\n  run true\n  inputs \"a\"\n  on {on}\n}}\n")
    };
    let checks = [check("a", "linux"), check("b", "here"), check("c", "here")];
    project.write("contracts/l.vplan", format!("vplan 1\n{}", checks.concat()));
    let words = ["plan", "--changed-none", "--format", "json"];
    let plan = project.run(&words).exits(0).json();
    let steps = plan["steps"].as_array().unwrap();
    let places: Vec<&Value> = steps.iter().map(|step| &step["on"]).collect();
    assert_eq!(places, [&linux(), &linux(), &Value::Null]);
}

#[test]
fn the_layout_puts_it_behind_shared() {
    let text = contract("  on linux\n  sandbox files\n  shared\n  setup\n");
    let project = Project::contract(&text);
    project.run(&["fmt"]).exits(0);
    let laid = project.read("contracts/verify.vplan");
    assert!(laid.contains("  shared\n  on linux\n  setup\n"), "{laid}");
    // The order of properties means nothing.
    let turned = text.replace(
        LINUX,
        "machine linux {\n  property \"OSFamily\" \"linux\"\n  property \"container-image\" \"docker://ci@sha256:0123\"\n}\n",
    );
    let digest = |text: &str| planned(text)["contract"]["digest"].clone();
    assert_eq!(digest(&laid), digest(&text));
    assert_eq!(digest(&turned), digest(&text));
}

/// Compares two contracts of one check with these settings.
fn diff(old: &str, new: &str) -> Ran {
    let project = Project::bare();
    project.write("old.vplan", old).write("new.vplan", new);
    project.run(&["diff", "old.vplan", "new.vplan"])
}

#[test]
fn another_place_is_undecided() {
    let linux = contract("  on linux\n");
    let other = linux.replace("0123", "4567");
    for (old, new, what) in [
        (
            contract(""),
            linux.clone(),
            "on none -> linux (`OSFamily=linux`, ",
        ),
        (linux.clone(), contract(""), "`) -> none"),
        (linux.clone(), contract("  on here\n"), "`) -> here"),
        (contract("  on here\n"), contract(""), "on here -> none"),
        (linux.clone(), other, "sha256:4567`)"),
    ] {
        let ran = diff(&old, &new);
        ran.exits(45)
            .says(what)
            .says("it may be executed on another machine");
    }
    diff(&linux, &linux).exits(0);
}

#[test]
fn here_nothing_else_depends_on_it() {
    let project = Project::git_with(&[("contracts/verify.vplan", &contract("")), ("src/a", "a\n")]);
    let run = || project.run(&["run", "--all", "--format", "json"]).json();
    assert_eq!(run()["steps"][0]["status"], "passed");
    for on in ["  on linux\n", "  on here\n"] {
        project.write("contracts/verify.vplan", contract(on));
        assert_eq!(run()["steps"][0]["status"], "cached", "{on}");
    }
}
