//! The contracts of `contracts/examples/`, each against a small real tree with the real tools, and
//! each recovery rule on a real failure. A tool that is missing skips its test, aloud; with
//! `VPLAN_TEST_TOOLS=required` (as in CI) it fails it.

use crate::support::tree::{copy, have, is_there};
use crate::support::{Project, Ran};
use std::path::Path;

/// A repository with the tree and the contract of an example, committed. Words of the contract are
/// replaced as told.
fn example(name: &str, replace: &[(&str, &str)]) -> Project {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let project = Project::git_empty();
    copy(&here.join("tests/trees").join(name), &project.root());
    let contract =
        std::fs::read_to_string(here.join(format!("contracts/examples/{name}.vplan"))).unwrap();
    let contract = replace
        .iter()
        .fold(contract, |text, (old, new)| text.replace(old, new));
    project.write("contracts/verify.vplan", contract);
    project.write(
        ".gitignore",
        "node_modules/\nbuild/\ndist/\ntarget/\n__pycache__/\n",
    );
    project.commit("begin");
    // Toolchains installed for one user find themselves by these, or below the real HOME.
    let home = std::env::var("HOME").unwrap_or_default();
    let value = |name: &str, below: &str| std::env::var(name).unwrap_or(format!("{home}/{below}"));
    project
        .env("CARGO_HOME", value("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", value("RUSTUP_HOME", ".rustup"))
}

fn run(project: &Project, args: &[&str]) -> Ran {
    let mut all = vec!["run", "--format", "json"];
    all.extend(args);
    project.run_in_time(&all)
}

fn statuses(ran: &Ran) -> Vec<(String, String)> {
    let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
    ran.json()["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (text(&s["id"]), text(&s["status"])))
        .collect()
}

#[track_caller]
fn all_pass(ran: &Ran, ids: &[&str]) {
    ran.exits(0);
    let want: Vec<(String, String)> = ids
        .iter()
        .map(|id| ((*id).to_owned(), "passed".to_owned()))
        .collect();
    assert_eq!(statuses(ran), want, "{}", ran.err());
    assert_eq!(ran.json()["verdict"], "passed");
}

/// The one rewrite of a run: its rule, its coverage, the commands after it.
#[track_caller]
fn repaired(ran: &Ran, rule: &str, coverage: &str, next: &[&str]) {
    ran.exits(0);
    let report = ran.json();
    assert_eq!(report["verdict"], "passed", "{report}");
    assert_eq!(report["coverage"], coverage, "{report}");
    let rewrites = report["rewrites"].as_array().unwrap();
    assert_eq!(rewrites.len(), 1, "{report}");
    assert_eq!(rewrites[0]["recoveryRule"], rule);
    assert_eq!(rewrites[0]["nextCommands"], serde_json::json!(next));
}

/// Without a contract of its own: explicit commands alone, so that only the rule at hand has
/// something to say.
const NONE: &str = "vplan 1\n";

#[test]
fn make() {
    if !have(&["make", "cc"]) {
        return;
    }
    let project = example("make-c", &[]);
    all_pass(
        &run(&project, &["--changed", "src/calc.c"]),
        &["build", "unit", "binary", "clean"],
    );
    all_pass(
        &run(&project, &["--changed", "VERSION", "--risk", "high"]),
        &["version-header", "clean", "manual"],
    );

    project.write("VERSION", "1.1\n");
    let ran = run(&project, &["--keep-going"]);
    ran.exits(40);
    assert!(
        statuses(&ran).contains(&("version-header".to_owned(), "failed".to_owned())),
        "what is checked in is stale"
    );

    project.write("src/calc.c", "int main(void) { return missing; }\n");
    run(&project, &["--changed", "src/calc.c"]).exits(41);
}

#[test]
fn make_repaired() {
    if !have(&["make", "cc"]) {
        return;
    }
    let project = example("make-c", &[]);
    project
        .write("contracts/verify.vplan", NONE)
        .write("src/empty", "");
    project.commit("no checks");
    let ran = run(
        &project,
        &["--changed-none", "--command", "make && make test"],
    );
    repaired(&ran, "split-conjunction", "full", &["make", "make test"]);

    let ran = run(
        &project,
        &["--changed-none", "--command", "cd tools && make"],
    );
    repaired(&ran, "hoist-directory", "full", &["make"]);
    assert_eq!(ran.json()["steps"][0]["status"], "passed");

    let order = [
        "--command",
        "make",
        "--command",
        "make clean",
        "--command",
        "test -f build/calc",
    ];
    let ran = run(&project, &[&["--changed-none"], &order[..]].concat());
    repaired(
        &ran,
        "reorder-after-cleanup",
        "full",
        &["make", "test -f build/calc", "make clean"],
    );
    run(
        &project,
        &[&["--changed-none", "--no-recover"], &order[..]].concat(),
    )
    .exits(40);

    let ran = run(
        &project,
        &[
            "--changed-none",
            "--command",
            "make nope",
            "--command",
            "make test",
        ],
    );
    repaired(&ran, "drop-missing-make-target", "narrowed", &["make test"]);

    let ran = run(
        &project,
        &[
            "--changed-none",
            "--command",
            "ls src | wc -l",
            "--command",
            "make test",
        ],
    );
    repaired(&ran, "drop-unsupported-format", "narrowed", &["make test"]);

    // The target is missing because the change deleted it: that is no fault of the plan.
    project.write("Makefile", "all:\n\ttrue\n");
    let ran = run(
        &project,
        &["--command", "make test", "--command", "make all"],
    );
    assert_ne!(ran.exit, Some(0), "{}", ran.out());
    assert_eq!(
        ran.json()["rewrites"],
        serde_json::json!([]),
        "deleting a test is not a repair"
    );
}

#[test]
fn make_repaired_while_running() {
    if !have(&["make", "cc"]) {
        return;
    }
    // Nothing is known before the run: the Makefile is not tracked, so only its failure tells.
    let project = example("make-c", &[]);
    project.write("contracts/verify.vplan", NONE);
    project.commit("no checks");
    let commands = [
        "--changed-none",
        "--no-preflight",
        "--command",
        "make",
        "--command",
        "make nope",
        "--command",
        "make test",
    ];
    let ran = run(&project, &commands);
    repaired(
        &ran,
        "drop-missing-make-target",
        "narrowed",
        &["make", "make test"],
    );
    run(&project, &[&commands[..], &["--no-recover"]].concat()).exits(40);
    let human = project.run(&[&["run"], &commands[..]].concat());
    human.exits(0).says("drop-missing-make-target");
}

#[test]
fn node() {
    if !have(&["node", "npm"]) {
        return;
    }
    // The contract is written for pnpm and uses nothing that npm lacks; where pnpm is missing, npm
    // stands in for it.
    let manager = if is_there("pnpm") {
        "pnpm run"
    } else {
        "npm run"
    };
    let project = example("pnpm-monorepo", &[("pnpm run", manager)]);
    all_pass(
        &run(&project, &["--changed", "apps/api/src/server.js"]),
        &["lint", "api-tests"],
    );
    all_pass(
        &run(&project, &["--changed", "packages/core/src/price.js"]),
        &["lint", "core-tests", "api-tests", "web-tests"],
    );
    all_pass(
        &run(&project, &["--changed", "apps/web/src/auth/login.js"]),
        &["lint", "web-tests", "web-clean", "web-build", "web-bundle"],
    );
    all_pass(
        &run(
            &project,
            &["--changed", "docs/guide.md", "--role", "docser"],
        ),
        &["prose"],
    );

    project.write("docs/guide.md", "TODO\n");
    run(&project, &["--role", "docser"]).exits(40);
    project.write(
        "packages/core/src/price.js",
        "\"use strict\";\nexports.total = () => 0;\n",
    );
    let ran = run(&project, &["--keep-going"]);
    ran.exits(42);
    assert!(statuses(&ran).contains(&("core-tests".to_owned(), "failed".to_owned())));
}

#[test]
fn node_repaired() {
    if !have(&["node", "npm"]) {
        return;
    }
    let project = example("pnpm-monorepo", &[]);
    project.write("contracts/verify.vplan", NONE);
    project.commit("no checks");
    let commands = [
        "--changed-none",
        "--command",
        "npm run nope",
        "--command",
        "npm run lint",
    ];
    repaired(
        &run(&project, &commands),
        "drop-missing-script",
        "narrowed",
        &["npm run lint"],
    );
    let late = [&commands[..], &["--no-preflight"]].concat();
    repaired(
        &run(&project, &late),
        "drop-missing-script",
        "narrowed",
        &["npm run lint"],
    );
    run(&project, &[&late[..], &["--require", "full"]].concat()).exits(44);
}

#[test]
fn cargo() {
    if !have(&["cargo"]) {
        return;
    }
    let project = example("cargo-workspace", &[]);
    let ran = run(
        &project,
        &["--changed", "crates/app/src/main.rs", "--jobs", "2"],
    );
    ran.exits(0);
    let ids: Vec<String> = statuses(&ran).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["compile", "format", "app-tests"]);
    let ran = run(
        &project,
        &["--changed", "crates/parser/src/lib.rs", "--milestone-end"],
    );
    ran.exits(0);
    assert_eq!(statuses(&ran).len(), 5);

    project.write(
        "crates/parser/src/lib.rs",
        "pub fn parse(_: &str) -> Option<i64> {\n    Some(1)\n}\n",
    );
    run(&project, &[]).exits(42);
}

#[test]
fn python() {
    if !have(&["python3"]) {
        return;
    }
    let project = example("python", &[]);
    all_pass(
        &run(&project, &["--changed", "inventory/__init__.py"]),
        &["compile", "unit", "style"],
    );
    all_pass(
        &run(&project, &["--changed", "README.md", "--role", "reviewer"]),
        &["imports", "typed"],
    );
    project.write(
        "inventory/__init__.py",
        "def count(items):   \n    return 0\n",
    );
    let ran = run(&project, &["--keep-going"]);
    ran.exits(42);
    assert_eq!(
        statuses(&ran),
        [
            ("compile", "passed"),
            ("unit", "failed"),
            ("style", "failed")
        ]
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    let ran = run(&project, &["--changed", "inventory/vendor/x.py"]);
    ran.exits(40);
    assert_eq!(
        ran.json()["steps"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|s| s["status"] == "passed")
            .count(),
        0
    );
}

#[test]
fn python_repaired() {
    if !have(&["pytest"]) {
        return;
    }
    let project = example("python", &[]);
    project.write("contracts/verify.vplan", NONE);
    project.commit("no checks");
    let commands = [
        "--changed-none",
        "--command",
        "pytest notests",
        "--command",
        "python3 -m compileall -q inventory",
    ];
    let ran = run(&project, &commands);
    repaired(
        &ran,
        "drop-no-test-files",
        "narrowed",
        &["python3 -m compileall -q inventory"],
    );
    assert_eq!(
        ran.json()["rewrites"][0]["reason"],
        "verification_command_no_test_files_adjusted"
    );
}

#[test]
fn every_example_is_checked_and_explained() {
    for entry in
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("contracts/examples")).unwrap()
    {
        let path = entry.unwrap().path();
        if path.to_str().unwrap().ends_with(".test.vplan") {
            continue;
        }
        let project = Project::git_empty();
        project.write("contracts/verify.vplan", std::fs::read(&path).unwrap());
        // What an `each` over folders asks for.
        project.write("packages/core/package.json", "{}\n");
        project.commit("begin");
        project.run(&["check"]).exits(0);
        let first = project.run(&["explain", "--all", "--last"]);
        first.exits(0);
        assert_eq!(
            first.stdout,
            project.run(&["explain", "--all", "--last"]).stdout,
            "{} is byte-stable",
            path.display()
        );
    }
}

/// Contracts of real projects, in folders with some of their files: how many lines each has at most
/// (blank ones not counted), how many checks, and how many a change plans without a milestone and
/// at one.
#[test]
fn contracts_of_real_projects() {
    let packages = "api auth cart core db docs jobs mail search ui web zoo".split(' ');
    let packages: Vec<String> = packages
        .map(|p| format!("packages/{p}/package.json"))
        .collect();
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    for (name, lines, checks, files, changes) in [
        (
            "flask",
            21,
            12,
            &["pyproject.toml", "src/flask/app.py", "docs/conf.py"][..],
            &[
                ("src/flask/app.py", 12, 12),
                ("docs/conf.py", 2, 2),
                ("pyproject.toml", 10, 10),
            ][..],
        ),
        (
            "packages",
            36,
            38,
            &packages,
            &[
                ("packages/cart/package.json", 4, 16),
                ("packages/core/package.json", 37, 38),
                ("README.md", 1, 14),
            ],
        ),
        (
            "nextest",
            59,
            26,
            &[
                "Cargo.toml",
                "scripts/regenerate-readmes.sh",
                "fixtures/nextest-metadata-msrv/Cargo.toml",
            ],
            &[("nextest-metadata/src/lib.rs", 6, 26)],
        ),
        (
            "jq",
            58,
            52,
            &["configure.ac", "Makefile.am", "src/main.c"],
            &[("src/main.c", 4, 52), ("docs/content/manual.yml", 0, 0)],
        ),
        (
            "openTiger",
            40,
            7,
            &[
                "package.json",
                "packages/core/package.json",
                "ops/docker/worker.Dockerfile",
            ],
            &[
                ("packages/core/src/index.ts", 5, 6),
                ("pnpm-lock.yaml", 5, 6),
                ("docs/flow.md", 1, 1),
            ],
        ),
    ] {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let contract = here.join(format!("contracts/examples/{name}.vplan"));
        let project = Project::git_empty();
        let text = std::fs::read_to_string(contract).unwrap();
        let written = text.lines().filter(|line| !line.trim().is_empty());
        assert!(written.count() <= lines, "{name}");
        project.write("contracts/verify.vplan", text);
        for file in files {
            project.write(file, "");
        }
        project.commit("begin");
        let found = project.run(&["check", "--format", "json"]);
        found.exits(0);
        let counts = |args: &[&str]| {
            let plan = [&["plan", "--format", "json"], args].concat();
            project.run(&plan).json()["steps"].as_array().unwrap().len()
        };
        assert_eq!(
            counts(&["--all", "--min-tier", "2", "--role", "worker"]),
            checks,
            "{name}"
        );
        for (changed, now, at_milestone) in changes {
            let request = ["--changed", changed];
            assert_eq!(counts(&request), *now, "{name}: {changed}");
            let request = [&request[..], &["--milestone-end"]].concat();
            assert_eq!(counts(&request), *at_milestone, "{name}: {changed}");
        }
    }
}
