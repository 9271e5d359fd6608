//! `explain --may-change GLOB`: what a change of files there may need, before there is one.

use crate::support::Project;
use serde_json::{Value, json};

const CONTRACT: &str = r#"vplan 1
risk schema tier 1 "db/**"
check always: true
check slow {
  run true
  tier 2
}
check migrate {
  run true
  tier 1
}
whenChangedAny "docs/**" {
  check docs: true
}
whenChangedAll "docs/**" "src/**" {
  check both: true
}
whenChangedOnly "docs/**" {
  check prose: true
}
whenChangedNone "docs/**" {
  check code: true
}
byRole tester {
  check test: true
}
whenExists "Makefile" {
  check make: true
}
whenChangedAny "src/**" {
  check unit {
    run true
    needs lib
  }
  check format: rustfmt --check {changed}
}
byRole tester {
  check lib: true
}
"#;

/// A repository with a file in each folder.
fn repository(contract: &str) -> Project {
    let project = Project::contract(contract);
    for file in [
        "docs/help.md",
        "docs/a/long/name.md",
        "src/a.rs",
        "assets/logo",
        "assets/x/y",
        "db/1.sql",
    ] {
        project.write(file, "");
    }
    project.commit("all");
    project
}

/// The answers: the name of each check with `when`, and its files.
fn answers(project: &Project, args: &[&str]) -> Vec<(String, String, Value)> {
    let mut all = vec!["explain", "--format", "json"];
    all.extend(args);
    let ran = project.run(&all);
    ran.exits(0);
    let document = ran.json();
    let checks = document["checks"].as_array().unwrap().iter();
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    checks
        .map(|check| {
            assert_eq!(check["undecided"], Value::Null, "{check}");
            (
                text(check, "id"),
                text(check, "when"),
                check["paths"].clone(),
            )
        })
        .collect()
}

#[test]
fn each_check_is_always_sometimes_or_never_planned() {
    let project = repository(CONTRACT);
    let row = |id: &str, when: &str, paths: Value| (id.to_owned(), when.to_owned(), paths);
    let none = || json!([]);
    assert_eq!(
        answers(&project, &["--may-change", "docs/**"]),
        [
            row("always", "always", none()),
            row("slow", "never", none()),
            row("migrate", "never", none()),
            row("docs", "always", none()),
            row("both", "never", none()),
            row("prose", "always", none()),
            row("code", "never", none()),
            row("test", "never", none()),
            row("make", "never", none()),
            row("unit", "never", none()),
            row("format", "never", none()),
            row("lib", "never", none()),
        ]
    );
    // The shortest tracked file of each kind; what is needed comes along; `{changed}` needs a file that is left.
    let wide = [
        "--may-change",
        "docs/**",
        "--may-change",
        "src/**",
        "--may-change",
        "db/**",
    ];
    assert_eq!(
        answers(&project, &wide),
        [
            row("always", "always", none()),
            row("slow", "never", none()),
            row("migrate", "possible", json!(["db/1.sql"])),
            row("docs", "possible", json!(["docs/help.md"])),
            row("both", "possible", json!(["docs/help.md", "src/a.rs"])),
            row("prose", "possible", json!(["docs/help.md"])),
            row("code", "possible", json!(["db/1.sql"])),
            row("test", "never", none()),
            row("make", "never", none()),
            row("unit", "possible", json!(["src/a.rs"])),
            row("format", "possible", json!(["src/a.rs"])),
            row("lib", "possible", json!(["src/a.rs"])),
        ]
    );
    // The role, the tier, what exists, and what is taken away count.
    project.write("Makefile", "");
    let less = [
        &wide[..],
        &[
            "--may-change",
            "!docs/a/**",
            "--role",
            "tester",
            "--min-tier",
            "2",
        ],
    ]
    .concat();
    let found = answers(&project, &less);
    let always: Vec<&str> = found
        .iter()
        .filter(|f| f.1 == "always")
        .map(|f| f.0.as_str())
        .collect();
    assert_eq!(always, ["always", "slow", "migrate", "test", "make", "lib"]);
    // A file that is not there yet.
    let new = answers(&project, &["--may-change", "src/new/*.rs"]);
    assert!(new.contains(&row("unit", "always", none())), "{new:?}");
    let told = project.run(&[
        "explain",
        "--may-change",
        "src/new/*.rs",
        "--may-change",
        "docs/x",
    ]);
    told.exits(0)
        .says("every change inside of the globs plans:\n  always\n")
        .says("  format  src/new/")
        .says("whenChangedAny \"src/**\" (line ")
        .says("  lib  src/new/")
        .says("unit needs it: whenChangedAny")
        .says("  slow  tier 2 is not reached")
        .says("  test  byRole tester (line ")
        .says("the role is worker")
        .says("Nothing was verified.");
}

#[test]
fn files_that_no_check_is_about_are_named() {
    let project =
        repository("vplan 1\nwhenChangedAny \"src/**\" \"docs/*\" {\n  check a: true\n}\n");
    let ran = project.run(&["explain", "--may-change", "**", "--format", "json"]);
    ran.exits(0);
    assert_eq!(
        ran.json()["unguarded"],
        json!([
            {"files": 2, "glob": "assets/**"},
            {"files": 1, "glob": "contracts/**"},
            {"files": 1, "glob": "db/**"},
            {"files": 1, "glob": "docs/a/**"},
        ])
    );
    let told = project.run(&["explain", "--may-change", "**"]);
    told.says("a change of one of these files plans nothing:\n  assets/** (2 files)\n");
    let told = project.run(&["explain", "--may-change", "src/**"]);
    told.never_says("plans nothing");
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let project = repository(CONTRACT);
    let refused = |args: &[&str], code: i32, text: &str| {
        project
            .run(&[&["explain"], args].concat())
            .exits(code)
            .warns(text);
    };
    refused(&["--may-change", "src/["], 2, "`src/[`");
    refused(
        &["--may-change", "!src/**"],
        2,
        "no path lies inside of `!src/**`",
    );
    refused(
        &["--may-change", "src/**", "--may-change", "!**"],
        2,
        "no path lies inside of",
    );
    refused(&["--may-change", "src/**", "--role", "wizard"], 2, "wizard");
    for other in [
        &["--all"][..],
        &["--changed", "src/a.rs"],
        &["docs"],
        &["--checks"],
        &["--only", "docs"],
        &["--command", "true"],
    ] {
        refused(
            &[&["--may-change", "src/**"], other].concat(),
            2,
            "cannot be used with",
        );
    }
    refused(&["--may-change", "src/**", "--format", "dot"], 2, "dot");
    // A glob where a file is meant names the way here.
    project
        .run(&["run", "--changed", "src/**"])
        .exits(2)
        .warns("vplan explain --may-change 'src/**'");
    project.write("contracts/verify.vplan", "vplan 1\ncheck\n");
    refused(&["--may-change", "src/**"], 3, "contracts/verify.vplan");
    Project::bare()
        .run(&["explain", "--may-change", "src/**"])
        .exits(3);
}
