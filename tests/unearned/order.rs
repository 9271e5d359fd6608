//! What prepares runs before what it prepares, however many steps run side by side; so no outcome
//! is a matter of luck.

use crate::support::{Project, Ran};
use serde_json::Value;

/// A preparation that takes a while, and checks that see whether it is over.
fn prepared(settings: &str) -> Project {
    let project = Project::contract(&format!(
        "vplan 1\nlimits {{\n  jobs 8\n}}\ncheck uses-1: test -f made\ncheck prep {{\n  run ./prep.sh\n  {settings}\n}}\ncheck uses-2: test -f made\n"
    ));
    // What runs beside it finds nothing. No test waits for this: behind it, it does not matter how
    // long it takes.
    project.script("prep.sh", "#!/bin/sh\nsleep 0.3\ntouch made\n");
    project
}

fn steps(plan: &Value) -> Vec<(String, Vec<String>)> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let list = |v: &Value| v.as_array().unwrap().iter().map(text).collect();
    plan["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (text(&s["id"]), list(&s["after"])))
        .collect()
}

fn after<'p>(plan: &'p [(String, Vec<String>)], id: &str) -> Vec<&'p str> {
    plan.iter()
        .find(|(step, _)| step == id)
        .unwrap()
        .1
        .iter()
        .map(String::as_str)
        .collect()
}

fn planned(project: &Project, args: &[&str]) -> Vec<(String, Vec<String>)> {
    let ran = project.run(&[&["plan", "--all", "--format", "json"], args].concat());
    ran.exits(0);
    steps(&ran.json())
}

fn ran(project: &Project, args: &[&str]) -> Ran {
    project.run(&[&["run", "--all", "--no-preflight"], args].concat())
}

#[test]
fn a_check_beside_the_setup_that_it_uses() {
    let project = prepared("setup");
    let plan = planned(&project, &[]);
    assert_eq!(
        plan.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
        ["prep", "uses-1", "uses-2"]
    );
    assert_eq!(after(&plan, "uses-1"), ["prep"]);
    for jobs in ["1", "2", "8"] {
        ran(&prepared("setup"), &["--jobs", jobs]).exits(0);
    }
    // Checks that do not prepare are in no order.
    let project = prepared("describe \"no setup\"");
    assert!(
        planned(&project, &[])
            .iter()
            .all(|(_, after)| after.is_empty())
    );
}

#[test]
fn commands_of_a_list_beside_each_other_and_beside_checks() {
    let listed = || {
        let project = Project::contract("vplan 1\ncheck uses: test -f both\n");
        project.script("one.sh", "#!/bin/sh\nsleep 0.2\ntouch one\n");
        project.script("two.sh", "#!/bin/sh\ntest -f one && touch both\n");
        project
    };
    let list = ["--command", "./one.sh", "--command", "./two.sh"];
    let plan = planned(&listed(), &list);
    assert_eq!(
        (
            after(&plan, "one-sh"),
            after(&plan, "two-sh"),
            after(&plan, "uses")
        ),
        (vec![], vec!["one-sh"], vec!["two-sh"])
    );
    for jobs in ["1", "8"] {
        ran(&listed(), &[&["--jobs", jobs], &list[..]].concat()).exits(0);
    }
}

/// A command of the list that is a check of the contract keeps its place in the list.
#[test]
fn a_command_that_is_a_check_beside_the_rest_of_the_list() {
    let project = Project::contract("vplan 1\ncheck other: true\ncheck second: ./second.sh\n");
    let list = [
        "--command",
        "./first.sh",
        "--command",
        "./second.sh",
        "--command",
        "./third.sh",
    ];
    let plan = planned(&project, &list);
    assert_eq!(
        plan.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
        ["first-sh", "second", "third-sh", "other"]
    );
    assert_eq!(
        (after(&plan, "second"), after(&plan, "third-sh")),
        (vec!["first-sh"], vec!["second"])
    );
    assert_eq!(after(&plan, "other"), ["third-sh"]);
}

/// `setup` of an import prepares its own file and those that import it, and no other file.
#[test]
fn setup_of_imports() {
    let project = Project::contract(
        "vplan 1\nimport \"a.vplan\" as a\nimport \"b.vplan\" as b\ncheck main: true\n",
    );
    project.write(
        "contracts/a.vplan",
        "vplan 1\ncheck prep {\n  run echo a\n  setup\n}\ncheck uses: echo ua\n",
    );
    project.write(
        "contracts/b.vplan",
        "vplan 1\ncheck uses: echo ub\nimport \"c.vplan\"\n",
    );
    project.write(
        "contracts/c.vplan",
        "vplan 1\ncheck deep {\n  run echo c\n  setup\n}\n",
    );
    let plan = planned(&project, &[]);
    assert_eq!(after(&plan, "a/uses"), ["a/prep"]);
    assert_eq!(after(&plan, "b/uses"), ["b/deep"]);
    assert_eq!(after(&plan, "main"), ["a/prep", "b/deep"]);
    assert!(after(&plan, "a/prep").is_empty() && after(&plan, "b/deep").is_empty());
}

/// The order of preparing gives way to what the contract says, and the rest of it stays.
#[test]
fn preparing_gives_way() {
    let text = |more: &str| {
        format!(
            "vplan 1\ncheck build: echo build\ncheck prep {{\n  run echo prep\n  setup\n  {more}\n}}\ncheck test: echo test\n"
        )
    };
    for (name, contract) in [
        ("needs", text("needs build")),
        (
            "sequence",
            text("describe \"x\"") + "sequence build -> prep\n",
        ),
        (
            "artifacts",
            text("requires \"out/x\"").replace(
                "check build: echo build",
                "check build {\n  run echo build\n  produces \"out/**\"\n}",
            ),
        ),
    ] {
        let plan = planned(&Project::contract(&contract), &[]);
        assert_eq!(
            plan.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
            ["build", "prep", "test"],
            "{name}"
        );
        assert_eq!(
            (after(&plan, "prep"), after(&plan, "test")),
            (vec!["build"], vec!["prep"]),
            "{name}"
        );
    }
    // A tier goes before what prepares a later one.
    let plan = planned(&Project::contract(&text("tier 1")), &["--min-tier", "1"]);
    assert_eq!(
        plan.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
        ["build", "test", "prep"]
    );
}

/// A cleanup that comes in the list before the check of what was made moves behind it, and all else
/// keeps its order.
#[test]
fn recovery_reorders_across_the_list() {
    let list = ["make", "make clean", "test -f build/k", "./gone.sh"];
    let args: Vec<&str> = list.iter().flat_map(|c| ["--command", c]).collect();
    for jobs in ["1", "8"] {
        let project = Project::git_with(&[
            ("contracts/verify.vplan", "vplan 1\ncheck other: true\n"),
            (
                "Makefile",
                "all:\n\tmkdir -p build; touch build/k\nclean:\n\trm -rf build\n",
            ),
            ("gone.sh", "#!/bin/sh\ntest ! -e build\n"),
        ]);
        project.mode("gone.sh", 0o755);
        let ran = project.run(
            &[
                &["run", "--all", "--jobs", jobs, "--format", "json"],
                &args[..],
            ]
            .concat(),
        );
        ran.exits(0);
        let report = ran.json();
        let ids: Vec<&str> = report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["id"].as_str().unwrap())
            .collect();
        assert_eq!(
            ids,
            ["make", "test-f-build-k", "make-clean", "gone-sh", "other"],
            "{jobs}"
        );
    }
}

/// A setup step before it does not make an earlier pass worthless: what it leaves behind is an
/// input like any other.
#[test]
fn a_pass_is_reused_behind_a_setup() {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\ncheck prep {\n  run true\n  setup\n}\ncheck unit {\n  run ./unit.sh\n  inputs \"src/**\" \"unit.sh\"\n}\n",
        ),
        ("src/a", "a"),
        ("unit.sh", "#!/bin/sh\nexit 0\n"),
    ]);
    project.mode("unit.sh", 0o755);
    ran(&project, &[]).exits(0);
    let again = project.run(&["run", "--all", "--no-preflight", "--format", "json"]);
    again.exits(0);
    assert_eq!(
        again.json()["steps"][1]["status"],
        "cached",
        "{:#}",
        again.json()
    );
    // Another preparation is another thing.
    project.write(
        "contracts/verify.vplan",
        project
            .read("contracts/verify.vplan")
            .replace("run true", "run echo"),
    );
    let other = project.run(&["run", "--all", "--no-preflight", "--format", "json"]);
    assert_eq!(
        other.json()["steps"][1]["status"],
        "passed",
        "{:#}",
        other.json()
    );
}
