//! `each … in-workspace`: which packages there are, who is started by a change of one, and what is
//! said when one is gone, has another name, or cannot be read.

use crate::support::Project;
use std::collections::BTreeSet;

const MAIN: &str = "contracts/verify.vplan";

const CONTRACT: &str = r#"vplan 1
each pkg in-workspace {
  whenChangedAny dependents {pkg} {
    check test-{pkg.name} {
      test node t {pkg.name}
      dir "{pkg}"
    }
  }
}
"#;

/// Packages as `NAME` or `NAME: USED USED`, each in a folder below `packages`.
fn packages(all: &[&str]) -> Project {
    let project = Project::git_with(&[
        (MAIN, CONTRACT),
        ("package.json", r#"{"workspaces": ["packages/*"]}"#),
    ]);
    all.iter().for_each(|package| write(&project, package));
    let commit = project.commit("packages");
    project.pushed(&commit);
    project
}

fn write(project: &Project, package: &str) {
    let (name, uses) = package.split_once(':').unwrap_or((package, ""));
    let uses = uses.split_whitespace();
    let uses: Vec<String> = uses
        .map(|used| format!("\"@acme/{used}\": \"^1\""))
        .collect();
    let uses = uses.join(", ");
    let text = format!(r#"{{"name": "@acme/{name}", "dependencies": {{{uses}}}}}"#);
    project.write(format!("packages/{name}/package.json"), text);
    project.write(format!("packages/{name}/a.ts"), "x\n");
}

/// The steps of a plan for the change since the base, or for these files.
fn planned(project: &Project, changed: &[&str]) -> BTreeSet<String> {
    let mut args = vec!["plan", "--format", "json"];
    changed
        .iter()
        .for_each(|file| args.extend(["--changed", file]));
    let plan = project.run(&args);
    let plan = plan.json();
    let steps = plan["steps"].as_array().unwrap().iter();
    steps
        .map(|step| step["id"].as_str().unwrap().to_owned())
        .collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_change_of_a_library_starts_its_users() {
    let project = packages(&["base", "ui: base", "web: ui left-pad", "docs"]);
    for (file, want) in [
        (
            "packages/base/a.ts",
            &["test-acme.base", "test-acme.ui", "test-acme.web"][..],
        ),
        ("packages/ui/a.ts", &["test-acme.ui", "test-acme.web"]),
        ("packages/web/a.ts", &["test-acme.web"]),
        ("README.md", &[]),
        (
            "package-lock.json",
            &[
                "test-acme.base",
                "test-acme.docs",
                "test-acme.ui",
                "test-acme.web",
            ],
        ),
    ] {
        assert_eq!(planned(&project, &[file]), set(want), "{file}");
    }
    let explained = project.run(&["explain", "--changed", "packages/base/a.ts"]);
    explained.exits(0).says("dependents packages/ui");
    // Rows are told of together, by what is written.
    let explained = project.run(&["explain", "--changed", "README.md"]);
    explained.says("test-{pkg.name}").says("4 of 4");
    let listed = project.run(&["explain", "--checks"]);
    listed.says("dependents {pkg}").says("4 rows");
    let plan = project.run(&["plan", "--changed", "packages/ui/a.ts", "--format", "json"]);
    let plan = plan.json();
    let step = &plan["steps"][0];
    assert_eq!(step["argv"], serde_json::json!(["node", "t", "@acme/ui"]));
    assert_eq!(step["dir"], "packages/ui");
    assert_eq!(step["each"]["pkg"], "packages/ui");
    assert_eq!(step["each"]["pkg.name"], "@acme/ui");
}

#[test]
fn the_packages_are_part_of_a_plan() {
    let project = packages(&["base", "ui: base"]);
    let plan = |project: &Project| {
        let args = ["plan", "--changed", "packages/ui/a.ts", "--format", "json"];
        project.run(&args).json()
    };
    let before = plan(&project);
    assert_eq!(before["facts"][0]["question"], "workspace:./");
    assert_eq!(
        before["facts"][0]["answer"],
        serde_json::json!([
            "package.json//",
            "packages/base//@acme/base",
            "packages/ui//@acme/ui//packages/base"
        ])
    );
    // What no package says anything with moves nothing.
    project.write("packages/ui/b.ts", "y");
    project.write(
        "packages/base/package.json",
        r#"{"name": "@acme/base", "version": "2.0.0"}"#,
    );
    assert_eq!(plan(&project)["digest"], before["digest"]);
    // Another use, or a further package, does.
    let args = [
        "plan",
        "--changed",
        "packages/ui/a.ts",
        "--output",
        "plan.json",
    ];
    project.run(&args).exits(0);
    write(&project, "new: ui");
    assert_ne!(plan(&project)["digest"], before["digest"]);
    let drifted = project.run(&["run", "--plan", "plan.json"]);
    drifted.exits(4).warns("workspace:./");
}

/// Renaming a package leaves who asks for it by the old name without it: it is tested all the same.
#[test]
fn who_used_a_package_before_the_change_is_tested() {
    let project = packages(&["base", "ui: base", "web: ui"]);
    project.write("packages/base/package.json", r#"{"name": "@acme/other"}"#);
    let want = ["test-acme.other", "test-acme.ui", "test-acme.web"];
    assert_eq!(planned(&project, &[]), set(&want));
    // And where it is taken away.
    project.remove("packages/base");
    let explained = project.run(&["explain"]);
    explained
        .exits(0)
        .says("gone with packages/base: test-acme.base");
    assert_eq!(
        planned(&project, &[]),
        set(&["test-acme.ui", "test-acme.web"])
    );
}

/// A row does not vanish in silence: its manifest renamed, or the package taken out of the list.
#[test]
fn a_package_that_is_listed_no_more_narrows() {
    let project = packages(&["base", "ui: base"]);
    project.remove("packages/ui/package.json");
    project.write("packages/ui/package.json.bak", "{}");
    let gone = "gone with packages/ui: test-acme.ui";
    project.run(&["explain"]).exits(0).says(gone);
    let run = project.run(&[
        "run",
        "--skip",
        "test-acme.base",
        "--reason",
        "no such program",
    ]);
    run.says("narrowed");
    write(&project, "ui: base");
    project.write("package.json", r#"{"workspaces": ["packages/b*"]}"#);
    project.run(&["explain"]).exits(0).says(gone);
    // All of them: no error of an empty workspace either.
    project.remove("package.json");
    let all = project.run(&["explain"]);
    all.exits(0)
        .says("test-acme.base")
        .says("test-acme.ui")
        .says("gone with");
}

#[test]
fn what_is_wrong_with_a_workspace_is_an_error_with_a_way_out() {
    let project = packages(&["base"]);
    for (files, says) in [
        (
            &[("packages/base/package.json", "{")][..],
            "`packages/base/package.json`: this is not JSON",
        ),
        (&[("packages/base/package.json", "[1]")], "it is no object"),
        (
            &[("Cargo.toml", "[workspace]\n")],
            "several workspaces are declared: `package.json`, `Cargo.toml`",
        ),
        (
            &[("package.json", "{}")],
            "no workspace is declared in `./`",
        ),
        (
            &[("package.json", r#"{"workspaces": []}"#)],
            "the workspace `./` has no packages",
        ),
    ] {
        // Committed, so that nothing was there before the change.
        let project = packages(&["base"]);
        for (file, text) in files {
            project.write(file, text);
        }
        project.commit("wrong");
        project.run(&["check"]).exits(3).warns(says).warns("help");
        assert_ne!(project.run(&["plan"]).exit, Some(0), "{says}");
    }
    project.write(
        "package.json",
        r#"{"workspaces": ["packages/*", "none/*", "../else"]}"#,
    );
    project.write("packages/too/package.json", r#"{"name": "@acme/base"}"#);
    project.write(MAIN, CONTRACT.replace("test-{pkg.name}", "test-{pkg}"));
    let warned = project.run(&["check"]);
    warned
        .warns("`none/*` is no folder with a `package.json`")
        .warns("`../else` is outside of the repository")
        .warns("`packages/base` and `packages/too` are both packages named `@acme/base`");
    for (head, code, says) in [
        (
            "pkg more in-workspace",
            "each_row",
            "a package has one name",
        ),
        (
            "pkg in-workspace \"../x\"",
            "each_workspace",
            "is no manifest of the repository",
        ),
        (
            "pkg in-workspace \"Cargo.toml\"",
            "each_workspace",
            "in-workspace \"package.json\"",
        ),
        (
            "pkg in-workspace packages",
            "unexpected_argument",
            "packages",
        ),
        ("pkg in a", "unknown_hole", "{pkg.name}"),
    ] {
        project.write(
            MAIN,
            format!("vplan 1\neach {head} {{\n  check t-{{pkg.name}}: t\n}}\n"),
        );
        project.run(&["check"]).exits(3).warns(code).warns(says);
    }
}

/// What is no hole of an `each` over packages stays text, as it was.
#[test]
fn elsewhere_the_name_of_a_package_is_text() {
    let project = packages(&["base"]);
    project.write(MAIN, "vplan 1\nrun docker ps \"{x.name}\"\neach x in a {\n  run t {x} --format \"{x.name}\"\n}\n");
    let plan = project.run(&["plan", "--changed-none", "--format", "json"]);
    let plan = plan.json();
    assert_eq!(
        plan["steps"][0]["argv"],
        serde_json::json!(["docker", "ps", "{x.name}"])
    );
    assert_eq!(plan["steps"][1]["argv"][3], "{x.name}");
}

#[test]
fn a_root_that_is_a_package_has_what_no_other_has() {
    let project = Project::git_with(&[
        (
            MAIN,
            "vplan 1\neach p in-workspace \"Cargo.toml\" {\n  whenChangedAny dependents {p} {\n    check t-{p}: test cargo test -p {p.name}\n  }\n  whenChangedAny \"{p}/**/*.md\" {\n    check m-{p}: mdl {p}\n  }\n}\n",
        ),
        (
            "Cargo.toml",
            "[package]\nname = \"top\"\n[workspace]\nmembers = [\"crates/*\"]\n",
        ),
        ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
        (
            "crates/b/Cargo.toml",
            "[package]\nname = \"b\"\n[dev-dependencies]\na = { path = \"../a\" }\n",
        ),
    ]);
    assert_eq!(planned(&project, &["src/lib.rs"]), set(&["t-root"]));
    assert_eq!(
        planned(&project, &["crates/a/x.rs"]),
        set(&["t-crates.a", "t-crates.b"])
    );
    assert_eq!(
        planned(&project, &["crates/a/x.md"]),
        set(&["m-crates.a", "m-root", "t-crates.a", "t-crates.b"])
    );
}

#[test]
fn tests_and_comparisons_know_the_packages() {
    let project = packages(&["base", "ui: base"]);
    let tests = "expect \"users are tested\" {\n  changed \"packages/base/a.ts\"\n  plan test-acme.base test-acme.ui\n}\n";
    project.write(MAIN, format!("{CONTRACT}{tests}"));
    project.run(&["test"]).exits(0).says("passed");
    project.write(
        MAIN,
        format!("{CONTRACT}{}", tests.replace(" test-acme.ui", "")),
    );
    assert_ne!(project.run(&["test"]).exit, Some(0));
    project.commit("a test");
    // A condition that looks at the package alone is weaker.
    project.write(MAIN, CONTRACT.replace("dependents {pkg}", "\"{pkg}/**\""));
    let diff = project.run(&["diff", "--base", "HEAD"]);
    diff.says("test-acme.ui");
    assert_ne!(diff.exit, Some(0));
    project.write(
        MAIN,
        CONTRACT.replace("dependents {pkg}", "dependents {pkg} \"tsconfig.json\""),
    );
    let diff = project.run(&["diff", "--base", "HEAD"]);
    diff.exits(0);
}

/// An imported file asks below its directory, and an excluded package is one.
#[test]
fn imported_files_and_exclusions() {
    let project = packages(&["base", "ui: base"]);
    project.write("web/pnpm-workspace.yaml", "packages: ['*']\n");
    project.write(
        "web/app/package.json",
        r#"{"name": "app", "dependencies": {"lib": "*"}}"#,
    );
    project.write("web/lib/package.json", r#"{"name": "lib"}"#);
    project.write(
        "contracts/web.vplan",
        "vplan 1\neach p in-workspace {\n  whenChangedAny \"**\" !dependents {p} {\n    check not-{p.name}: t\n  }\n}\n",
    );
    project.write(MAIN, "vplan 1\nimport \"web.vplan\" as w at \"web\"\n");
    assert_eq!(planned(&project, &["web/lib/a"]), set(&[]));
    assert_eq!(planned(&project, &["web/app/a"]), set(&["w/not-lib"]));
}

/// What is written in place of `dependents {pkg}` is one mistake, with the line to write.
#[test]
fn a_package_that_is_written_wrong() {
    let project = packages(&["base"]);
    let code = "vplan::contract::each_package";
    for (written, message, help) in [
        (
            "dependents pkg",
            "no package of a workspace",
            "write `dependents {pkg}`",
        ),
        (
            "dependants {pkg}",
            "no package of a workspace",
            "write `dependents {pkg}`",
        ),
        (
            "dependents {pkg.name}",
            "no package of a workspace",
            "write `dependents {pkg}`",
        ),
        (
            "dependents {pgk}",
            "`{pgk}` stands for nothing",
            "did you mean `{pkg}`?",
        ),
    ] {
        project.write(MAIN, CONTRACT.replace("dependents {pkg}", written));
        let checked = project.run(&["check"]);
        checked.exits(3).warns(code).warns(message).warns(help);
        assert!(!checked.err().contains("unknown_paths"), "{written}");
    }
}

/// 40 packages in fewer than 60 lines, whatever their number.
#[test]
fn forty_packages_are_few_lines() {
    let names: Vec<String> = (0..40).map(|n| format!("p{n}: p{}", n + 1)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let project = packages(&names);
    assert!(CONTRACT.lines().count() < 60);
    assert_eq!(planned(&project, &["packages/p39/a.ts"]).len(), 40);
    assert_eq!(planned(&project, &["packages/p0/a.ts"]).len(), 1);
    project.run(&["fmt", "--check", MAIN]).exits(0);
}

/// `init` proposes rows for 40 packages in fewer than 60 lines, and a change of one starts its users.
#[test]
fn a_workspace_is_proposed_as_rows() {
    let project = Project::git_with(&[
        ("package.json", r#"{"workspaces": ["packages/*"]}"#),
        ("package-lock.json", "{}"),
        ("tsconfig.json", "{}"),
    ]);
    for at in 0..40 {
        let text = format!(
            r#"{{"name": "@acme/p{at}", "scripts": {{"test": "jest"}}, "dependencies": {{"@acme/p{}": "*"}}}}"#,
            at + 1
        );
        project.write(format!("packages/p{at}/package.json"), text);
        project.write(format!("packages/p{at}/a.ts"), "x\n");
    }
    let commit = project.commit("packages");
    project.pushed(&commit);
    project
        .run(&["init"])
        .exits(0)
        .says("tests: test-{pkg.name}");
    let text = project.read(MAIN);
    assert!(text.lines().count() < 60, "{text}");
    project.run(&["fmt", "--check", MAIN]).exits(0);
    project.run(&["check"]).exits(0);
    let explained = project.run(&["explain", "--changed", "packages/p39/a.ts"]);
    explained.exits(0).says("test-acme.p0");
    assert_eq!(planned(&project, &["packages/p39/a.ts"]).len(), 40);
    assert_eq!(
        planned(&project, &["packages/p0/a.ts"]),
        set(&["test-acme.p0"])
    );
    assert_eq!(
        planned(&project, &["tsconfig.json"]).len(),
        40,
        "it is in no package"
    );
    let plan = project.run(&["plan", "--changed", "packages/p0/a.ts", "--format", "json"]);
    let step = &plan.json()["steps"][0];
    assert_eq!(step["argv"], serde_json::json!(["npm", "run", "test"]));
    assert_eq!(step["dir"], "packages/p0");
    let document = project.run(&["init", "--stdout", "--format", "json"]);
    let check = &document.exits(0).json()["checks"][0];
    assert_eq!(check["name"], "test-{pkg.name}");
    assert_eq!(check["dir"], "{pkg}");
}
