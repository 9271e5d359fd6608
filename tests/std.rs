//! The std contracts, each on a small real tree with the real tools: what is right passes, one
//! wrong change is found. A tool that this machine lacks has a stand-in, said aloud, that insists
//! on the exact arguments and finds the one fault the test makes.

use crate::support::tree::{copy, have, is_there};
use crate::support::{Project, Ran};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const NAMES: [&str; 7] = ["docs", "formats", "go", "make", "node", "python", "rust"];

/// Those that hold checks: all but the formats, which `tests/formats.rs` holds against output.
const OF_CHECKS: [&str; 6] = ["docs", "go", "make", "node", "python", "rust"];

/// The newest version of a std contract.
fn version(name: &str) -> u32 {
    match name {
        "python" | "rust" => 3,
        "go" | "make" | "node" => 2,
        _ => 1,
    }
}

/// Its text.
fn text(name: &str) -> String {
    text_of(name, version(name))
}

fn text_of(name: &str, version: u32) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(here.join(format!("contracts/std/{name}-{version}.vplan"))).unwrap()
}

/// A repository with the tree of a std contract at `at`, and the contract, committed.
fn tree_at(name: &str, at: &str, contract: &str) -> Project {
    let project = Project::git_empty();
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/trees")
            .join(format!("std-{name}")),
        &project.path(at),
    );
    project.write("contracts/verify.vplan", contract);
    project.write(
        ".gitignore",
        "node_modules/\nbuild/\ndist/\ntarget/\n__pycache__/\n.pytest_cache/\n.mypy_cache/\n",
    );
    project.commit("begin");
    let home = std::env::var("HOME").unwrap_or_default();
    let value = |name: &str, below: &str| std::env::var(name).unwrap_or(format!("{home}/{below}"));
    // First the stand-ins, then Debian's python3, which has Debian's pytest, then the machine's own
    // order.
    let path = format!(
        "{}:/usr/bin:{}",
        project.parent().join("bin").display(),
        std::env::var("PATH").unwrap_or_else(|_| "/bin".to_owned())
    );
    project
        .env("CARGO_HOME", value("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", value("RUSTUP_HOME", ".rustup"))
        .env("PATH", path)
}

fn tree(name: &str) -> Project {
    tree_at(name, "", &text(name))
}

/// Puts a program on the PATH where the machine has none of this name: `cases` are the branches of
/// a shell `case` over its arguments. Other arguments than those are an error.
fn stand_in(project: &Project, program: &str, cases: &str) {
    if is_there(program) && !(program == "go" && go_is_old()) {
        return;
    }
    eprintln!("STAND-IN: `{program}` is not on this machine, or too old");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n{cases}\n*) echo \"stand-in {program}: arguments $*\" >&2; exit 99;;\nesac\n"
    );
    project.script(&format!("../bin/{program}"), &script);
}

/// `go mod tidy -diff` came with Go 1.23.
fn go_is_old() -> bool {
    let said = std::process::Command::new("go")
        .arg("version")
        .output()
        .unwrap()
        .stdout;
    let said = String::from_utf8(said).unwrap();
    let minor = said
        .split_once(" go1.")
        .and_then(|(_, rest)| rest.split(['.', ' ']).next()?.parse::<u32>().ok());
    minor.is_none_or(|minor| minor < 23)
}

/// Runs the tools, also those whose pass in an earlier run of the same test would stand for them.
fn run(project: &Project, args: &[&str]) -> Ran {
    project.run_in_time(&[&["run", "--no-cache", "--format", "json"], args].concat())
}

fn statuses(ran: &Ran) -> Vec<String> {
    let steps = ran.json()["steps"].as_array().unwrap().clone();
    steps
        .iter()
        .map(|s| {
            format!(
                "{} {}",
                s["id"].as_str().unwrap(),
                s["status"].as_str().unwrap()
            )
        })
        .collect()
}

#[track_caller]
fn all_pass(ran: &Ran, ids: &[&str]) {
    ran.exits(0);
    assert_eq!(
        statuses(ran),
        ids.iter()
            .map(|id| format!("{id} passed"))
            .collect::<Vec<_>>(),
        "{}",
        ran.err()
    );
    let report = ran.json();
    assert_eq!(report["verdict"], "passed", "{report}");
    // Stand-ins and targets of these trees print no tests, some requests name files; nothing else narrows.
    let caveats = report["caveats"].as_array().into_iter().flatten();
    let narrows: Vec<&Value> = caveats.filter(|c| c["effect"] != "note").collect();
    assert!(
        narrows
            .iter()
            .all(|c| c["code"] == "tests_not_shown" || c["code"] == "part_of_change"),
        "{report}"
    );
    assert_eq!(report["coverage"] == "full", narrows.is_empty(), "{report}");
}

#[track_caller]
fn fails(ran: &Ran, code: i32, step: &str) {
    ran.exits(code);
    assert!(
        statuses(ran).contains(&format!("{step} failed")),
        "{:?}\n{}",
        statuses(ran),
        ran.err()
    );
}

/// What a plan runs, in order: id and words.
fn commands(project: &Project, args: &[&str]) -> Vec<String> {
    let ran = project.run(&[&["plan", "--format", "json"], args].concat());
    ran.exits(0);
    let steps = ran.json()["steps"].as_array().unwrap().clone();
    let words = |s: &serde_json::Value| {
        let argv = s["argv"].as_array().cloned().unwrap_or_default();
        argv.iter()
            .map(|w| w.as_str().unwrap_or("?").to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    steps
        .iter()
        .map(|s| format!("{}: {}", s["id"].as_str().unwrap(), words(s)))
        .collect()
}

#[test]
fn published_versions_never_change() {
    let pinned = [
        (
            "docs",
            1,
            "sha256:a3fbd74a05f28025c4a0fa18a181bb3422a74ecf30a87248fa3db950bf09d87d",
        ),
        (
            "formats",
            1,
            "sha256:3ed20b5114fc612ed59641b60f791832d3a1c1430361a045b24025a9b82c8026",
        ),
        (
            "go",
            1,
            "sha256:b5022818fa006f937f2547c288612f8ad13004f9b84c88d95db814ded4c0f4a4",
        ),
        (
            "go",
            2,
            "sha256:b62abbafa9c12f878ae8af7b591eeab5eac993e21aabe1afd63356534a9f096d",
        ),
        (
            "make",
            1,
            "sha256:ca659828fcad618a72c441dfa95d1d9e9c15ef5835fbabc5a25851149631292a",
        ),
        (
            "make",
            2,
            "sha256:4380e7f9388777977cd7166271442cbddc50caf5b3502154651de744b21ad549",
        ),
        (
            "node",
            1,
            "sha256:be811471697ca2c98400d8bfd87a3d9289c167d7db27999d5b9f52af834fb902",
        ),
        (
            "node",
            2,
            "sha256:d2a11e98093ec62700f21db25564eb95cf6cfa09379ae0f0d0a131b5a7214e0a",
        ),
        (
            "python",
            1,
            "sha256:f64ad98632d50b91a28634b0a07a22994ce54db14109ea02972c56265623ceeb",
        ),
        (
            "python",
            2,
            "sha256:193d7b7beef3d5c26cf41ece381a2f0a1b4a68f339dea1ff677cd4c32caa854e",
        ),
        (
            "python",
            3,
            "sha256:9c64bc52bfea5306b8ec195d36adee1362cc2689f9b424498641773954be8ab6",
        ),
        (
            "rust",
            1,
            "sha256:ea0cf206ecee0cf1090cf289d30893d2e6fce06ff9d3bb887c5dba4bd9eef2bc",
        ),
        (
            "rust",
            2,
            "sha256:99864cee455a9e45c07560df25da4fb8640f27944ad552cfb366457a1dc3269c",
        ),
        (
            "rust",
            3,
            "sha256:53aaec8ff7ad1ba71c9338947f40e443079605c85e1b3ddec50bc7c374777621",
        ),
    ];
    let project = Project::git_empty();
    let mut wrong = Vec::new();
    for (name, version, want) in pinned {
        project.write("contract.vplan", text_of(name, version));
        let ran = project.run(&[
            "plan",
            "--format",
            "json",
            "--changed-none",
            "--contract",
            "contract.vplan",
        ]);
        ran.exits(0);
        let got = ran.json()["contract"]["digest"]
            .as_str()
            .unwrap()
            .to_owned();
        if got != want {
            wrong.push(format!("(\"{name}\", {version}, \"{got}\"),"));
        }
    }
    assert!(
        wrong.is_empty(),
        "a published version of a std contract never changes: put the change into the next one, and pin that here\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_version_is_pinned_and_described() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("contracts/std");
    let mut names: Vec<String> = std::fs::read_dir(here)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".vplan"))
        .collect();
    names.sort();
    let all = NAMES
        .iter()
        .flat_map(|name| (1..=version(name)).map(move |version| (*name, version)));
    let files: Vec<String> = all
        .clone()
        .map(|(name, version)| format!("{name}-{version}.vplan"))
        .collect();
    assert_eq!(names, files, "pin it in `published_versions_never_change`");
    for (name, version) in all {
        let text = text_of(name, version);
        assert!(
            text.contains(&format!("contract \"std:{name}@{version}\"")),
            "{name}"
        );
        let copy = format!("vplan std {name}@{version} > contracts/{name}.vplan");
        assert!(text.contains(&copy), "{name} says how to adapt it");
        let count = |word: &str| {
            text.lines()
                .filter(|l| l.trim_start().starts_with(word))
                .count()
        };
        assert_eq!(
            count("check "),
            count("describe "),
            "each check of {name} says what it is for"
        );
        assert_eq!(count("shell "), 0, "{name} needs no shell");
    }
}

#[test]
fn every_std_contract_is_valid_and_explained() {
    for name in OF_CHECKS {
        let project = tree(name);
        let checked = project.run(&["check", "--format", "json"]);
        checked.exits(0);
        for diagnostic in checked.json()["diagnostics"].as_array().unwrap() {
            let code = diagnostic["code"].as_str().unwrap();
            // As a file of the repository its globs may well select nothing; the machine may lack a
            // tool.
            let expected = [
                "vplan::repository::glob_selects_nothing",
                "vplan::repository::program_not_found",
            ];
            assert!(expected.contains(&code), "{name}: {diagnostic}");
        }
        let ran = project.run(&["explain", "--all", "--last"]);
        ran.exits(0);
        assert!(ran.out().lines().count() > 5, "{name}: {}", ran.out());
    }
}

#[test]
fn they_are_listed_and_printed() {
    let project = Project::git_empty();
    let listed = project.run(&["std"]);
    listed.exits(0);
    let versions = NAMES.iter().map(|name| version(name) as usize);
    assert_eq!(listed.out().lines().count(), versions.sum::<usize>());
    for name in NAMES {
        for version in 1..=version(name) {
            listed.says(&format!("std:{name}@{version}"));
            let printed = project.run(&["std", &format!("{name}@{version}")]).out();
            assert_eq!(
                printed,
                text_of(name, version),
                "a copy is the same contract"
            );
        }
        assert_eq!(
            project.run(&["std", name]).out(),
            text(name),
            "the newest one"
        );
    }
}

/// Each contract imported twice, for a directory and for the root: nothing in it is bound to the
/// root.
#[test]
fn with_as_and_at() {
    for name in OF_CHECKS {
        let imports = format!(
            "vplan 1\nimport \"std:{name}@{n}\" as top\nimport \"std:{name}@{n}\" as low at \"a/b c\"\n",
            n = version(name)
        );
        let project = tree_at(name, "a/b c", &imports);
        copy(&project.path("a/b c"), &project.root());
        // Two lock files are a check more.
        project
            .write("a/b c/tsconfig.json", "{}")
            .write("tsconfig.json", "{}")
            .commit("at the root too");
        let checked = project.run(&["check", "--format", "json"]);
        checked.exits(0);
        let other = |d: &serde_json::Value| d["code"] != "vplan::repository::program_not_found";
        let list = checked.json()["diagnostics"].as_array().unwrap().clone();
        assert_eq!(list.into_iter().find(other), None, "{name}");

        let plan = project.run(&["plan", "--format", "json", "--all", "--last"]);
        plan.exits(0);
        let of = |space: &str| -> Vec<(String, String, serde_json::Value)> {
            let steps = plan.json()["steps"].as_array().unwrap().clone();
            let id = |s: &serde_json::Value| {
                s["id"]
                    .as_str()
                    .unwrap()
                    .strip_prefix(space)
                    .map(str::to_owned)
            };
            let dir = |s: &serde_json::Value| s["dir"].as_str().unwrap_or("-").to_owned();
            steps
                .iter()
                .filter_map(|s| Some((id(s)?, dir(s), s["argv"].clone())))
                .collect()
        };
        let (top, low) = (of("top/"), of("low/"));
        assert!(!top.is_empty(), "{name}");
        let ids = |list: &[(String, String, serde_json::Value)]| {
            list.iter().map(|s| s.0.clone()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&top), ids(&low), "{name}");
        for ((id, above, _), (_, below, argv)) in top.iter().zip(&low) {
            // A file is looked at from the root, wherever that is.
            let want = if argv.is_null() {
                (".", ".")
            } else {
                (".", "a/b c")
            };
            assert_eq!((above.as_str(), below.as_str()), want, "{name} {id}");
            assert!(
                !argv.to_string().contains("b c"),
                "files are relative to the directory: {argv}"
            );
        }
        // What changes at the root is nothing to the directory below.
        let ran = project.run(&[
            "plan",
            "--format",
            "json",
            "--last",
            "--changed",
            "x.rs",
            "x.go",
            "x.py",
            "x.js",
            "README.md",
        ]);
        ran.exits(0);
        let steps = ran.json()["steps"].as_array().unwrap().clone();
        assert!(
            !steps
                .iter()
                .any(|s| s["id"].as_str().unwrap().starts_with("low/")),
            "{name}: {steps:?}"
        );
    }
}

#[test]
fn imported_for_a_package_and_run() {
    if !have(&["node", "npm", "make"]) {
        return;
    }
    let imports = "vplan 1\nimport \"std:node@1\" as web at \"apps/web\"\nimport \"std:docs@1\"\n";
    let project = tree_at("node", "apps/web", imports);
    all_pass(
        &run(&project, &["--changed", "apps/web/src/sum.js", "--last"]),
        &["web/lint", "web/test", "web/build"],
    );
    project.write("apps/web/src/sum.js", "exports.sum = () => 5;\n");
    fails(&run(&project, &[]), 42, "web/test");

    let project = tree_at(
        "make",
        "tools",
        "vplan 1\nimport \"std:make@1\" as tools at \"tools\"\n",
    );
    let ids = ["tools/lint", "tools/all", "tools/check", "tools/test"];
    all_pass(&run(&project, &["--changed", "tools/src/greet.sh"]), &ids);
    project.write("tools/src/greet.sh", "echo bye\n");
    fails(&run(&project, &[]), 42, "tools/test");
}

/// What is no source by its name is read too: a README whose examples are tests, a prompt.
#[test]
fn every_file_may_be_read() {
    for (name, test) in [
        ("go", "test"),
        ("make", "test"),
        ("node", "test"),
        ("python", "test"),
        ("rust", "test"),
    ] {
        let project = tree(name);
        for file in ["README.md", "prompts/review.md", ".github/workflows/ci.yml"] {
            project.write(file, "as it was\n").commit(file);
            project.remove(file);
            let planned = commands(&project, &[]);
            let is_planned = planned
                .iter()
                .any(|step| step.starts_with(&format!("{test}: ")));
            assert!(is_planned, "{name} {file}: {planned:?}");
            project.git(&["reset", "-q", "--hard"]);
        }
    }
    // How CI verifies has a wide effect.
    let project = tree("rust");
    project.write(".github/workflows/ci.yml", "on: push\n");
    let planned = commands(&project, &[]);
    assert!(
        planned.iter().any(|step| step.starts_with("doc: ")),
        "{planned:?}"
    );
}

#[test]
fn a_readme_that_is_included_plans_the_tests() {
    if !have(&["cargo"]) {
        return;
    }
    let project = tree("rust");
    let source = project.read("src/lib.rs");
    project
        .write("README.md", "# Sums\n\n```\nassert_eq!(1 + 1, 2);\n```\n")
        .write(
            "src/lib.rs",
            format!("#![doc = include_str!(\"../README.md\")]\n{source}"),
        )
        .commit("readme");
    project.git(&["rm", "-q", "README.md"]);
    fails(&run(&project, &[]), 41, "check");
}

#[test]
fn rust() {
    if !have(&["cargo", "rustfmt", "cargo-clippy"]) {
        return;
    }
    let project = tree("rust");
    all_pass(
        &run(&project, &["--all", "--last"]),
        &["fmt", "check", "clippy", "test", "doc"],
    );
    assert_eq!(
        commands(&project, &["--changed", "rustfmt.toml"]),
        ["fmt: cargo fmt --all --check"]
    );
    assert_eq!(commands(&project, &["--changed", "docs/guide.md"]), [""; 0]);
    assert_eq!(
        commands(&project, &["--changed", "Cargo.lock"]).len(),
        4,
        "a risk: tier 1 too, but no layout"
    );

    let source = project.read("src/lib.rs");
    project.write("src/lib.rs", source.replace("a + b", "a - b"));
    fails(&run(&project, &[]), 42, "test");
    project.write("src/lib.rs", source.replace("    a + b", "  a + b"));
    fails(&run(&project, &[]), 40, "fmt");
    project.write("src/lib.rs", source.replace("a + b", "return a + b;"));
    fails(&run(&project, &[]), 40, "clippy");
    project.write("src/lib.rs", source.replace("a + b", "a + c"));
    fails(&run(&project, &[]), 41, "check");
    project.write("src/lib.rs", source);
    project.write(
        "Cargo.toml",
        project.read("Cargo.toml").replace("0.1.0", "0.2.0"),
    );
    fails(&run(&project, &[]), 41, "check");
}

#[test]
fn node() {
    if !have(&["node", "npm"]) {
        return;
    }
    let project = tree("node");
    all_pass(
        &run(&project, &["--all", "--last"]),
        &["lint", "test", "build"],
    );
    project.write("tsconfig.json", "{}");
    all_pass(
        &run(&project, &["--changed", "src/sum.js"]),
        &["lint", "typecheck", "test"],
    );
    project.write("src/sum.js", "exports.sum = (a, b) => a - b;\n");
    fails(&run(&project, &[]), 42, "test");
    project.write("src/sum.js", "exports.sum = (a, b => a - b;\n");
    fails(&run(&project, &[]), 40, "lint");
}

#[test]
fn node_without_a_script() {
    let project = tree("node");
    // Never declared: left out, and said.
    project
        .write(
            "package.json",
            "{\"scripts\":{\"test\":\"node test/sum.test.js\"}}",
        )
        .commit("less");
    let ran = project.run(&["plan", "--format", "json", "--changed", "src/sum.js"]);
    ran.exits(0);
    assert_eq!(ran.json()["steps"].as_array().unwrap().len(), 1);
    assert_eq!(
        ran.json()["rewrites"][0]["recoveryRule"],
        "drop-missing-script"
    );
    assert_eq!(ran.json()["rewrites"][0]["coverage"], "narrowed");
    // Removed by the change: it stays, and fails.
    let project = tree("node");
    project.write(
        "package.json",
        "{\"scripts\":{\"test\":\"node test/sum.test.js\"}}",
    );
    assert_eq!(commands(&project, &[])[0], "lint: npm run lint");
    if have(&["npm"]) {
        let ran = run(&project, &[]);
        assert_ne!(ran.exit, Some(0), "{}", ran.out());
    }
}

#[test]
fn node_package_managers() {
    let managers = |locks: &[&str]| {
        let project = tree("node");
        project
            .remove("package-lock.json")
            .write("tsconfig.json", "{}");
        for lock in locks {
            project.write(lock, "");
        }
        project.commit("locks");
        commands(&project, &["--changed", "src/sum.js", "--last"])
    };
    let plan = |manager: &str, prefix: &str| -> Vec<String> {
        ["lint", "typecheck", "test", "build"]
            .map(|s| format!("{prefix}{s}: {manager} run {s}"))
            .to_vec()
    };
    for (locks, want) in [
        (&[][..], plan("npm", "")),
        (&["package-lock.json"], plan("npm", "")),
        (&["npm-shrinkwrap.json"], plan("npm", "")),
        (&["pnpm-lock.yaml"], plan("pnpm", "pnpm-")),
        (&["yarn.lock"], plan("yarn", "yarn-")),
        (&["bun.lock"], plan("bun", "bun-")),
        (&["bun.lockb"], plan("bun", "bun-")),
        (&["bun.lock", "bun.lockb"], plan("bun", "bun-")),
        (
            &["pnpm-lock.yaml", "yarn.lock", "bun.lock"],
            plan("pnpm", "pnpm-"),
        ),
        (&["yarn.lock", "bun.lockb"], plan("yarn", "yarn-")),
    ] {
        assert_eq!(managers(locks), want, "{locks:?}");
    }
    for (lock, manager) in [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lockb", "bun"),
    ] {
        let got = managers(&["package-lock.json", lock]);
        assert_eq!(got.len(), 5, "{got:?}");
        assert!(
            got.contains(&format!("{manager}-test: {manager} run test")),
            "{got:?}"
        );
        assert!(got.iter().any(|c| c.starts_with("two-locks")), "{got:?}");
    }
}

/// The right words for a package manager that is not there, and a failure of it.
#[test]
fn node_with_another_package_manager() {
    if !have(&["node"]) {
        return;
    }
    for (lock, manager) in [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
    ] {
        let project = tree("node");
        stand_in(
            &project,
            manager,
            "\"run lint\") node --check src/sum.js;;\n\"run test\") node test/sum.test.js;;\n\"run build\") node src/build.js;;",
        );
        project.write(lock, "").commit("lock");
        // npm's lock file is still there: said, but nobody is held up by it.
        let ran = run(&project, &["--changed", "src/sum.js", "--last"]);
        ran.exits(0);
        assert!(
            statuses(&ran).contains(&format!("{manager}-test passed")),
            "{}",
            ran.out()
        );
        project.remove("package-lock.json").commit("one lock");
        let ids = ["lint", "test", "build"].map(|id| format!("{manager}-{id}"));
        all_pass(
            &run(&project, &["--changed", "src/sum.js", "--last"]),
            &ids.each_ref().map(String::as_str),
        );
        project.write("src/sum.js", "exports.sum = () => 5;\n");
        fails(&run(&project, &[]), 42, &format!("{manager}-test"));
    }
}

#[test]
fn python() {
    let module = Command::new("/usr/bin/python3")
        .args(["-c", "import pytest"])
        .output();
    if !have(&["/usr/bin/python3"]) || !module.is_ok_and(|m| m.status.success()) {
        eprintln!("SKIPPED: no python3 with pytest in /usr/bin");
        assert_ne!(std::env::var("VPLAN_TEST_TOOLS").as_deref(), Ok("required"));
        return;
    }
    let project = tree("python");
    let ruff = "\"check --force-exclude \"*) shift 2; ! grep -n '^import os, sys' \"$@\";;\ncheck) ! grep -rn '^import os, sys' .;;";
    stand_in(&project, "ruff", ruff);
    stand_in(&project, "mypy", "\".\") ! grep -rn 'int = \"' shop;;");
    all_pass(
        &run(&project, &["--changed", "shop/__init__.py"]),
        &["syntax", "ruff", "mypy", "test"],
    );
    all_pass(
        &run(&project, &["--all", "--last"]),
        &["syntax", "ruff", "mypy", "test", "ruff-all"],
    );
    assert_eq!(
        project.git(&["status", "--porcelain"]),
        "",
        "nothing is written beside the files"
    );

    let source = project.read("shop/__init__.py");
    project.write(
        "shop/__init__.py",
        source.replace("sum(prices)", "len(prices)"),
    );
    fails(&run(&project, &[]), 42, "test");
    project.write(
        "shop/__init__.py",
        source.replace("sum(prices)", "sum(prices"),
    );
    fails(&run(&project, &[]), 41, "syntax");
    project.write("shop/__init__.py", format!("import os, sys\n{source}"));
    fails(&run(&project, &[]), 40, "ruff");
    project.write("shop/__init__.py", format!("{source}\n\nX: int = \"a\"\n"));
    fails(&run(&project, &[]), 41, "mypy");
}

#[test]
fn go() {
    let project = tree("go");
    stand_in(
        &project,
        "go",
        "\"build ./...\" | \"vet ./...\") ! grep -n 'return missing' *.go;;\n\
         \"test ./...\") ! grep -n 'return a - b' *.go;;\n\"mod tidy -diff\") ;;",
    );
    all_pass(
        &run(&project, &["--all", "--last"]),
        &["build", "vet", "test", "tidy"],
    );
    project.write(".golangci.yml", "version: \"2\"\n");
    stand_in(&project, "golangci-lint", "run) ;;");
    assert!(
        commands(&project, &["--changed", "sum.go"])
            .contains(&"golangci: golangci-lint run".to_owned())
    );
    project.remove(".golangci.yml");
    project.write("sum.go", project.read("sum.go").replace("a + b", "a - b"));
    fails(&run(&project, &[]), 42, "test");
    project.write("sum.go", project.read("sum.go").replace("a - b", "missing"));
    fails(&run(&project, &[]), 41, "build");
}

#[test]
fn make() {
    if !have(&["make"]) {
        return;
    }
    let project = tree("make");
    all_pass(
        &run(&project, &["--all"]),
        &["lint", "all", "check", "test"],
    );
    assert_eq!(commands(&project, &["--changed", "docs/guide.md"]), [""; 0]);
    project.write("src/greet.sh", "echo bye\n");
    fails(&run(&project, &[]), 42, "test");
    project.write("src/greet.sh", "if\n");
    fails(&run(&project, &[]), 40, "lint");
    // A target that never was is left out; one that the change removes is not.
    let without = project
        .read("Makefile")
        .replace("all lint", "all")
        .replace("\nlint:", "\nother:");
    project
        .write("src/greet.sh", "echo \"hello, $1\"\n")
        .write("Makefile", without);
    assert_ne!(run(&project, &[]).exit, Some(0));
    project.commit("no lint");
    let ran = run(&project, &["--changed", "src/greet.sh"]);
    ran.exits(0);
    assert_eq!(ran.json()["coverage"], "narrowed");
}

#[test]
fn docs() {
    let project = tree("docs");
    stand_in(&project, "markdownlint", "*.md) ! grep -nH '\t' \"$@\";;");
    all_pass(
        &run(&project, &["--all", "--last"]),
        &["readme", "markdownlint"],
    );
    assert_eq!(
        commands(&project, &["--changed", "docs/guide.md"]),
        ["markdownlint: markdownlint docs/guide.md"]
    );
    assert_eq!(
        commands(
            &project,
            &["--changed", "docs/guide.md", "--role", "docser"]
        )
        .len(),
        1
    );
    project.write("docs/guide.md", "# Guide\n\nA\ttab\n");
    fails(&run(&project, &[]), 40, "markdownlint");
    project.write("README.md", "# A manual\n\n<<<<<<< ours\n");
    fails(&run(&project, &[]), 40, "readme");
}
