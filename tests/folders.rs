//! `each … in-folders`: which folders count, who asks for them, and what is said when one is new, is
//! gone, or is not mentioned.

use crate::support::Project;

const MAIN: &str = "contracts/verify.vplan";

const CONTRACT: &str = r#"vplan 1
each pkg in-folders "packages/*" with "package.json" {
  whenChangedAny "packages/{pkg}/**" {
    check test-{pkg}: test {pkg}
  }
}
check own: true
"#;

/// A repository with these packages.
fn packages(names: &[&str]) -> Project {
    let project = Project::git_with(&[(MAIN, CONTRACT), (".gitignore", "ignored\nnode_modules\n")]);
    for name in names {
        project.write(format!("packages/{name}/package.json"), "{}\n");
        project.write(format!("packages/{name}/a.ts"), "x\n");
    }
    let commit = project.commit("packages");
    project.pushed(&commit);
    project
}

/// The names of all checks.
fn checks(project: &Project) -> Vec<String> {
    let list = project.run(&["explain", "--checks", "--format", "json"]);
    list.exits(0);
    let list = list.json();
    let definitions = list["definitions"].as_array().unwrap().clone();
    let rows = definitions
        .iter()
        .flat_map(|d| d["rows"].as_array().unwrap().clone());
    rows.map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn folders_that_count() {
    let project = packages(&["b", "a"]);
    assert_eq!(
        checks(&project),
        ["test-a", "test-b", "own"],
        "by the bytes of their names"
    );
    // Neither tracked nor ignored.
    project.write("packages/new/package.json", "{}");
    assert_eq!(checks(&project), ["test-a", "test-b", "test-new", "own"]);
    // Without the file, empty, ignored, a file, deeper: none of these.
    project
        .write("packages/bare/a.ts", "x")
        .mkdir("packages/empty");
    project.write("packages/ignored/package.json", "{}");
    project.write("packages/node_modules/package.json", "{}");
    project
        .write("packages/file", "x")
        .write("packages/deep/er/package.json", "{}");
    assert_eq!(checks(&project), ["test-a", "test-b", "test-new", "own"]);
    // Tracked, and not there any more.
    project.remove("packages/b");
    assert_eq!(checks(&project), ["test-a", "test-new", "own"]);
    // A name that makes none is never skipped.
    project.write("packages/c++/package.json", "{}");
    let refused = project.run(&["check"]);
    refused
        .exits(3)
        .warns("`test-c++` is no name")
        .warns("in the row pkg = c++");
    project.remove("packages/c++");
    project.write_bytes(b"packages/\xff/package.json", "{}");
    project.run(&["check"]).exits(3).warns("is not UTF-8");
}

#[test]
fn a_name_that_holds_what_a_glob_would_read() {
    let project = packages(&["a"]);
    project.write("packages/[x]/package.json", "{}");
    project.write(
        MAIN,
        "vplan 1\neach pkg in-folders \"packages/*\" {\n  whenChangedAny \"packages/{pkg}/**\" {\n    run t {pkg}\n  }\n}\n",
    );
    let plan = project
        .run(&["plan", "--changed", "packages/[x]/a", "--format", "json"])
        .json();
    assert_eq!(plan["steps"].as_array().unwrap().len(), 1);
    assert_eq!(plan["steps"][0]["argv"], serde_json::json!(["t", "[x]"]));
    let plan = project
        .run(&["plan", "--changed", "packages/x/a", "--format", "json"])
        .json();
    assert_eq!(plan["steps"], serde_json::json!([]));
}

#[test]
fn no_folder_is_an_error() {
    let project = packages(&["a"]);
    for (head, code, says) in [
        (
            "in-folders \"pakages/*\"",
            "each_empty",
            "did you mean the folder `packages`?",
        ),
        (
            "in-folders \"packages/*\" with \"Cargo.toml\"",
            "each_empty",
            "no folder is `packages/*` with `Cargo.toml`",
        ),
        (
            "in-folders \"packages/**\"",
            "each_glob",
            "no glob of folders",
        ),
        (
            "in-folders \"packages/a*\"",
            "each_glob",
            "`*` stands for a whole name",
        ),
        ("in-folders \"packages\"", "each_glob", "1 name and 0 `*`"),
        ("in-folders \"*/*\"", "each_glob", "1 name and 2 `*`"),
        (
            "in-folders \"../*\"",
            "each_glob",
            "names no folders of the repository",
        ),
        (
            "in-folders \"/packages/*\"",
            "each_glob",
            "names no folders",
        ),
        (
            "in-folders \"packages/*\" with \"../x\"",
            "each_glob",
            "names no folders",
        ),
        ("in-folders", "missing_argument", "in-folders"),
        ("in-folders packages/*", "unquoted_glob", "`\"packages/*\"`"),
        ("in-folders \"packages/*\" with", "missing_argument", "with"),
        (
            "in packages/*",
            "each_glob",
            "write `in-folders \"packages/*\"`",
        ),
        ("in-folders \"{x}/*\"", "unknown_hole", "{x}"),
    ] {
        project.write(
            MAIN,
            format!("vplan 1\neach pkg {head} {{\n  check t-{{pkg}}: t\n}}\n"),
        );
        let ran = project.run(&["check"]);
        ran.exits(3).warns(code).warns(says);
    }
    project.write(
        MAIN,
        "vplan 1\neach pkg in-folders \"packages/*\" {\n  check t: t\n}\n",
    );
    project.run(&["check"]).exits(3).warns("each_unused");
    // Without git all files count.
    let bare = Project::bare();
    bare.write(MAIN, CONTRACT)
        .write("packages/a/package.json", "{}");
    assert_eq!(checks(&bare), ["test-a", "own"]);
}

#[test]
fn several_names_and_blocks_inside_each_other() {
    let project = packages(&["core"]);
    project
        .write("apps/web/package.json", "{}")
        .write("apps/web/e2e/package.json", "{}");
    project.write(
        MAIN,
        "vplan 1\neach group in apps packages {\n  each pkg in-folders \"{group}/*\" {\n    check {group}.{pkg}: t\n    each sub in-folders \"{group}/{pkg}/*\" with \"package.json\" {\n      check {group}.{pkg}.{sub}: t\n    }\n  }\n}\n",
    );
    // An inner `each` over nothing says so.
    project
        .run(&["check"])
        .exits(3)
        .warns("no folder is `packages/core/*` with `package.json`");
    project.write("packages/core/sub/package.json", "{}");
    assert_eq!(
        sorted(checks(&project)),
        [
            "apps.web",
            "apps.web.e2e",
            "packages.core",
            "packages.core.sub"
        ]
    );
    project.write(
        MAIN,
        "vplan 1\neach group pkg in-folders \"*/*\" with \"package.json\" {\n  check {group}.{pkg}: t\n}\n",
    );
    assert_eq!(sorted(checks(&project)), ["apps.web", "packages.core"]);
}

#[test]
fn imported_files_ask_below_their_directory() {
    let project = packages(&["core", "web"]);
    project.write(
        "contracts/package.vplan",
        "vplan 1\nwhenChangedAny \"**\" {\n  check unit: npm test\n}\n",
    );
    // An import for each folder.
    project.write(
        MAIN,
        "vplan 1\neach pkg in-folders \"packages/*\" {\n  import \"package.vplan\" as {pkg} at \"packages/{pkg}\"\n}\n",
    );
    assert_eq!(checks(&project), ["core/unit", "web/unit"]);
    let plan = project
        .run(&["plan", "--changed", "packages/web/x", "--format", "json"])
        .json();
    assert_eq!(plan["steps"][0]["id"], "web/unit");
    assert_eq!(plan["steps"][0]["dir"], "packages/web");
    // A file that asks for folders, used twice: each below its own directory.
    project.write(
        "contracts/all.vplan",
        "vplan 1\neach m in-folders \"mods/*\" {\n  check {m}: t {m}\n}\n",
    );
    project
        .write("one/mods/a/x", "x")
        .write("two/mods/b/x", "x");
    project.write(
        MAIN,
        "vplan 1\nimport \"all.vplan\" as one at \"one\"\nimport \"all.vplan\" as two at \"two\"\n",
    );
    assert_eq!(checks(&project), ["one/a", "two/b"]);
    // And through another file.
    project.write(
        "contracts/outer.vplan",
        "vplan 1\nimport \"all.vplan\" as inner\n",
    );
    project.write(MAIN, "vplan 1\nimport \"outer.vplan\" as one at \"one\"\nimport \"outer.vplan\" as two at \"two\"\n");
    assert_eq!(checks(&project), ["one/inner/a", "two/inner/b"]);
    // Files that import each other, a directory deeper each time, come to an end.
    project.write("contracts/all.vplan", "vplan 1\nimport \"outer.vplan\" at \"x\"\neach m in-folders \"mods/*\" {\n  check {m}: t {m}\n}\n");
    project.run(&["check"]).exits(3).warns("import_cycle");
}

#[test]
fn the_folders_are_part_of_a_plan() {
    let project = packages(&["a", "b"]);
    let plan = project.run(&[
        "plan",
        "--changed",
        "packages/a/a.ts",
        "--output",
        "plan.json",
    ]);
    plan.exits(0);
    let facts = project
        .run(&["plan", "--changed", "packages/a/a.ts", "--format", "json"])
        .json()["facts"]
        .clone();
    assert_eq!(
        facts,
        serde_json::json!([{"answer": ["packages/a", "packages/b"], "question": "folders:packages/*//package.json"}])
    );
    project.write("packages/c/package.json", "{}");
    let drifted = project.run(&["run", "--plan", "plan.json"]);
    drifted.exits(4).warns("folders:packages/*//package.json");
}

#[test]
fn a_folder_that_is_gone_narrows() {
    let project = packages(&["core", "web"]);
    project.remove("packages/web");
    let explained = project.run(&["explain"]);
    explained
        .exits(0)
        .says("gone with packages/web: test-web")
        .says("test-web")
        .says("gone with `packages/web`");
    project
        .run(&["explain", "test-web"])
        .exits(0)
        .says("left out");
    let ran = project.run(&["run", "--skip", "test-core", "--reason", "no such program"]);
    ran.exits(0).says("narrowed");
    project
        .run(&["run"])
        .exits(0)
        .says("with narrowed coverage");
    project.run(&["run", "--require", "full"]).exits(44);
    // A rename names what went; the new folder has its own checks.
    project.write("packages/site/package.json", "{}");
    project
        .run(&["explain"])
        .says("gone with packages/web: test-web")
        .says("test-site");
    // The last one: said, where the base had it.
    project.remove("packages/core").remove("packages/site");
    project
        .run(&["explain"])
        .exits(0)
        .says("gone with packages/core: test-core");
    project.commit("all gone");
    project
        .run(&["explain"])
        .exits(0)
        .says("gone with packages/core: test-core");
    project.run(&["check"]).exits(3).warns("each_empty");
    // Nothing is gone where nothing went.
    let project = packages(&["core"]);
    let ran = project.run(&["run", "--changed-none"]);
    ran.exits(0).never_says("gone with");
}

#[test]
fn of_too_many_gone_folders_none_is_named_for_the_checks_of_another() {
    let names: Vec<String> = (10..50).map(|n| format!("p{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let project = packages(&names);
    for name in names.get(1..).unwrap_or_default() {
        project.remove(&format!("packages/{name}"));
    }
    let explained = project.run(&["explain"]);
    explained
        .exits(0)
        .says("gone with packages/p11: test-p11")
        .says("gone with packages/p42: test-p42")
        .says("gone with packages/p43, or with one of 6 other folders: test-p43 test-p44");
}

#[test]
fn a_test_is_about_the_folders_that_it_mentions() {
    let project = packages(&["core", "web"]);
    let with = |lines: &str| {
        let text = format!(
            "{CONTRACT}expect \"a\" {{\n  {}\n}}\n",
            lines.replace('\n', "\n  ")
        );
        project.write(MAIN, text);
        project.run(&["test"])
    };
    // A folder that nobody has, and none that the repository has.
    with("changed \"packages/cart/a.ts\"\nplan test-cart own").exits(0);
    with("changed \"packages/cart/a.ts\"\nplan test-cart own test-web")
        .exits(3)
        .warns("`test-web` is of a folder that the test does not mention")
        .warns("add `exists \"packages/web\"`");
    with("changed \"packages/cart/a.ts\"\nexists \"packages/web\"\nplan test-cart own\nskips test-web").exits(0);
    with("changed \"packages/cart/a.ts\"\nplan own").exits(40);
    with("changed \"deleted:packages/cart/a.ts\"\nplan own").exits(0);
    with("changed \"packages/cart/a.ts\"\nplan test-crat own")
        .exits(3)
        .warns("did you mean `test-cart`?");
    project
        .run(&["check"])
        .exits(3)
        .warns("unknown check `test-crat`");
    // A definition counts once, whichever folder touched it.
    let passed = with("changed \"packages/cart/a.ts\"\nplan test-cart own");
    passed.exits(0).says("checks 2/2 (100%)");
    // A test for each row, and tests in a file of their own.
    project.write(
        MAIN,
        "vplan 1\neach pkg in-folders \"packages/*\" {\n  whenChangedAny \"packages/{pkg}/**\" {\n    check t-{pkg}: t\n  }\n  expect \"{pkg} is tested\" {\n    changed \"packages/{pkg}/x\"\n    plan t-{pkg}\n  }\n}\n",
    );
    project.run(&["test"]).exits(0).says("2 tests passed");
    project.write(
        "contracts/more.test.vplan",
        "vplan 1\ntests \"verify.vplan\"\nexpect \"new\" {\n  changed \"packages/zoo/x\"\n  plan t-zoo\n}\nexpect \"new\" {\n  changed \"x\"\n  plan\n}\n",
    );
    project
        .run(&["test"])
        .exits(3)
        .warns("two tests are called `new`");
}

#[test]
fn a_comparison_has_the_folders_of_each_side_and_one_that_is_new() {
    let project = packages(&["core", "web"]);
    // Only the tree differs.
    project.write("packages/zoo/package.json", "{}");
    let found = project.run(&["diff", "--base", "HEAD"]);
    found.exits(0).says("check `test-zoo`");
    project.remove("packages/zoo").remove("packages/web");
    project
        .run(&["diff", "--base", "HEAD"])
        .exits(45)
        .says("check `test-web`: removed");
    project.git(&["checkout", "-q", "."]);
    // Written out, the folders that are there are the same; new ones are not looked at.
    project.write("old.vplan", CONTRACT);
    let by_hand = CONTRACT.replace(
        "in-folders \"packages/*\" with \"package.json\"",
        "in core web",
    );
    project.write("new.vplan", by_hand);
    let found = project.run(&["diff", "old.vplan", "new.vplan"]);
    found
        .exits(45)
        .says("check `test-new-folder`: removed")
        .says("for a folder that is new")
        .never_says("test-core");
    project
        .run(&["diff", "old.vplan", "old.vplan"])
        .exits(0)
        .says("mean the same");
    let found = project.run(&["diff", "new.vplan", "old.vplan"]);
    found.exits(0).says("for a folder that is new");
    // What holds for the folders that are there is said of them.
    project.write(
        "new.vplan",
        CONTRACT.replace(
            "check test-{pkg}: test {pkg}",
            "check test-{pkg} {\n    run test {pkg}\n    timeout 1h\n  }",
        ),
    );
    let found = project.run(&["diff", "old.vplan", "new.vplan"]);
    found
        .exits(45)
        .says("check `test-core`, `test-web`: timeout")
        .never_says("new-folder");
}

#[test]
fn whatever_a_gone_folder_made_is_named() {
    let project = packages(&["a", "b"]);
    project.write(
        "contracts/package.vplan",
        "vplan 1\nwhenChangedAny \"**\" {\n  check unit: true\n}\n",
    );
    // Checks of an imported file.
    let contract = "vplan 1\neach pkg in-folders \"packages/*\" {\n  import \"package.vplan\" as {pkg} at \"packages/{pkg}\"\n}\ncheck own: true\n";
    project.write(MAIN, contract);
    let base = project.commit("imports");
    project.pushed(&base).remove("packages/b");
    let gone = project.run(&["run", "--require", "full"]);
    gone.exits(44);
    project
        .run(&["explain"])
        .says("gone with packages/b: b/unit");
    // Checks of a block inside.
    project.git(&["checkout", "-q", "."]);
    let contract = "vplan 1\neach pkg in-folders \"packages/*\" {\n  each sub in-folders \"packages/{pkg}/*\" {\n    check t-{pkg}-{sub}: true\n  }\n}\n";
    project.write(MAIN, contract);
    for name in ["a", "b"] {
        project.write(format!("packages/{name}/sub/x"), "x");
    }
    let base = project.commit("inside");
    project.pushed(&base).remove("packages/b");
    project.run(&["run", "--require", "full"]).exits(44);
    project
        .run(&["explain"])
        .says("gone with packages/b: t-b-sub");
    let plan = project.run(&["plan", "--format", "json"]).json();
    let facts = plan["facts"].to_string();
    assert!(facts.contains("base-folders:packages/*"), "{facts}");
    // Compared with itself, with a folder that is new in every block.
    project.git(&["checkout", "-q", "."]);
    project.write("old.vplan", contract);
    project
        .run(&["diff", "old.vplan", "old.vplan"])
        .exits(0)
        .says("mean the same");
    // Two blocks with one name: each check goes with its own folder.
    let contract = "vplan 1\neach pkg in-folders \"packages/*\" {\n  check t-{pkg}: true\n}\neach pkg in-folders \"apps/*\" {\n  check app-{pkg}: true\n}\n";
    project.write(MAIN, contract);
    for name in ["a", "b"] {
        project.write(format!("apps/{name}/x"), "x");
    }
    let base = project.commit("two blocks");
    project.pushed(&base).remove("packages/b").remove("apps/b");
    project
        .run(&["explain"])
        .says("gone with apps/b: app-b")
        .says("gone with packages/b: t-b");
}

#[test]
fn a_folder_with_the_name_of_one_that_is_new_is_a_folder() {
    let project = packages(&["new-folder", "a"]);
    project.git(&["rm", "-qr", "packages/new-folder"]);
    let found = project.run(&["diff", "--base", "HEAD"]);
    found.exits(45).says("check `test-new-folder`: removed");
}

#[test]
fn a_test_that_lacks_a_folder_of_an_import_says_which() {
    let project = packages(&["a", "b"]);
    project.write("contracts/package.vplan", "vplan 1\ncheck unit: true\n");
    project.write(
        MAIN,
        "vplan 1\neach pkg in-folders \"packages/*\" {\n  import \"package.vplan\" as {pkg} at \"packages/{pkg}\"\n}\nexpect \"x\" {\n  changed \"packages/a/x\"\n  skips b/unit\n}\n",
    );
    project
        .run(&["test"])
        .exits(3)
        .warns("add `exists \"packages/b\"`");
}
