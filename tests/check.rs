//! `vplan check`: what does not fit the repository, and what in a contract can do nothing.

use crate::support::{Project, Ran};

/// The messages of some kinds: the last part of the code, the line, and the message with the first
/// label.
fn found(ran: &Ran, kinds: &[&str]) -> Vec<String> {
    let document = ran.json();
    let text = |v: &serde_json::Value| v.as_str().unwrap_or("").to_owned();
    let list = document["diagnostics"].as_array().unwrap().iter();
    list.filter(|d| {
        kinds
            .iter()
            .any(|k| text(&d["code"]) == format!("vplan::repository::{k}"))
    })
    .map(|d| {
        format!(
            "{}: {}; {}",
            d["labels"][0]["line"],
            text(&d["message"]),
            text(&d["labels"][0]["text"])
        )
    })
    .collect()
}

#[test]
fn a_glob_that_names_a_folder() {
    let contract = "vplan 1\npaths code = \"src\" \"!src/gen\"\nwhenChangedAny code \"Makefile\" {\n  check a: true\n}\n\
                    check b {\n  run true\n  inputs \"lib\"\n}\ncheck c {\n  run true\n  produces \"out\"\n}\n";
    let project = Project::contract(contract);
    project.run(&["check"]).exits(0);
    project.run(&["run", "--all"]).exits(0);
    // What is not there may come, and what only git ignores is no file of a change.
    project
        .write(".gitignore", "out\nlib\n")
        .write("Makefile", "all:\n")
        .write("out/x", "x")
        .write("src/a.c", "x");
    let ran = project.run(&["check", "--format", "json"]);
    let want = ["2: `src` is a folder, and a glob selects files; selects nothing"];
    assert_eq!(found(ran.exits(3), &["folder_glob"]), want);
    // A pass would be reused whatever changes in there.
    project.write("lib/x", "x").write("src/gen/x", "x");
    let ran = project.run(&["check", "--format", "json"]);
    let found = found(ran.exits(3), &["folder_glob"]);
    // That `!src/gen` excludes nothing makes the condition hold for more changes.
    assert_eq!(found.len(), 2, "{found:?}");
    for command in ["run", "plan", "explain"] {
        project
            .run(&[command, "--changed", "src/a.c"])
            .exits(3)
            .warns("vplan::repository::folder_glob")
            .warns("write `\"src/\"` for all that is in it");
    }
    let mended = contract
        .replace("\"src\"", "\"src/\"")
        .replace("src/gen", "src/gen/")
        .replace("\"lib\"", "\"lib/\"");
    project.write("contracts/verify.vplan", &mended);
    project.run(&["check"]).exits(0);
    project.run(&["run", "--changed", "src/a.c"]).exits(0);
    // The files of a folder that the change takes away.
    project.write(
        "contracts/verify.vplan",
        contract.replace("\"lib\"", "\"lib/\""),
    );
    project.commit("all");
    project
        .remove("src/a.c")
        .remove("src/gen/x")
        .remove("src/gen")
        .remove("src");
    project
        .run(&["run", "--base", "HEAD"])
        .exits(3)
        .warns("`src` is a folder");
}

#[test]
fn a_glob_of_an_imported_file_that_names_a_folder() {
    let project =
        Project::contract("vplan 1\nimport \"shared.vplan\" as web at \"web\"\ncheck own: true\n");
    project
        .write(
            "contracts/shared.vplan",
            "vplan 1\nwhenChangedAny \"src\" {\n  check a: true\n}\n",
        )
        .write("web/src/a.c", "x");
    project
        .run(&["run"])
        .exits(3)
        .warns("`web/src` is a folder")
        .warns("shared.vplan:2");
    // A glob with a choice may select files later: that is said by `check` alone.
    project.write(
        "contracts/shared.vplan",
        "vplan 1\nwhenChangedAny \"sr*\" {\n  check a: true\n}\n",
    );
    project.run(&["run"]).exits(0);
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nwhenChangedAny \"we*\" {\n  check a: true\n}\n",
    );
    project
        .run(&["check"])
        .exits(0)
        .warns("did you mean `we*/**`");
}

#[test]
fn checks_that_no_request_selects() {
    let project = Project::contract(
        "vplan 1\n\
         role docser {\n  only docs-safe\n}\n\
         role robot {\n}\n\
         byRole tester {\n  byRole reviewer worker {\n    check a: true\n    check needed: true\n  }\n}\n\
         whenChangedAny \"docs/**\" {\n  whenChangedNone \"docs/**\" \"x\" {\n    check b: true\n  }\n\
         \x20 whenChangedNone \"docs/a\" {\n    check fine: true\n  }\n}\n\
         byRole docser {\n  check c {\n    run true\n    tags other\n  }\n  check safe {\n    run true\n    tags docs-safe\n  }\n}\n\
         whenChangedOnly \"src/**\" {\n  whenChangedAny \"lib/*\" {\n    check d: true\n  }\n}\n\
         whenChangedAny \"src/**\" \"!**\" {\n  check e: true\n}\n\
         check needs-it {\n  run false\n  needs needed\n}\n\
         byRole robot tester {\n  use a\n}\n",
    );
    let ran = project.run(&["check", "--format", "json"]);
    assert_eq!(
        found(ran.exits(0), &["never_selected"]),
        [
            "15: no request can select `b`; `whenChangedAny` (line 13) and `whenChangedNone` (line 14) never hold together",
            "22: no request can select `c`; every role that may ask for it runs only checks with other tags",
            "33: no request can select `d`; `whenChangedOnly` (line 31) and `whenChangedAny` (line 32) never hold together",
            "37: no request can select `e`; nothing makes `whenChangedAny` (line 36) hold",
        ]
    );
    project
        .run(&["check", "--deny", "never_selected"])
        .exits(3)
        .warns("`b`");
    // Three roles, each pair of blocks with one in common.
    let roles = "vplan 1\nbyRole tester worker {\n  byRole worker docser {\n    byRole docser tester {\n      check a: true\n    }\n  }\n}\n";
    let ran = Project::contract(roles).run(&["check", "--format", "json"]);
    let want = ["5: no request can select `a`; no role is named by every `byRole` around it"];
    assert_eq!(found(ran.exits(0), &["never_selected"]), want);
}

#[test]
fn checks_that_add_nothing() {
    let project = Project::contract(
        "vplan 1\n\
         check a: true x\n\
         whenChangedAny \"docs/**\" {\n  check b: true x\n}\n\
         check other-words: true y\n\
         check other-env: A=1 true x\n\
         check other-verb {\n  test true x\n}\n\
         check other-time {\n  run true x\n  timeout 5m\n}\n\
         check first: true z\n\
         check last: true z\n\
         sequence first -> a, other-words -> last\n\
         whenChangedAny \"docs/a\" {\n  check c: true w\n}\n\
         whenChangedAny \"docs/**\" {\n  check d: true w\n}\n\
         whenChangedAny \"src/**\" {\n  check e: true w\n}\n\
         tier 1 {\n  check f: true v\n}\n\
         check g: true v\n\
         whenChangedAny \"docs/**\" {\n  check h: echo {changed}\n}\n\
         check i: echo {changed}\n",
    );
    let shadowed = |p: &Project| {
        found(
            p.run(&["check", "--format", "json"]).exits(0),
            &["shadowed"],
        )
    };
    assert_eq!(
        shadowed(&project),
        [
            "19: `c` does what `d` does, and is selected only where `d` is, too; adds nothing",
            "28: `f` does what `g` does, and is selected only where `g` is, too; adds nothing",
        ]
    );
    // Of two that are the same in everything the later one goes; what is ordered stays.
    let same = Project::contract("vplan 1\ncheck a: true\ncheck b: true\ncheck c: true\n");
    assert_eq!(shadowed(&same).len(), 2);
    assert!(shadowed(&same)[0].starts_with("3: `b` does what `a` does"));
    // A role that sees only one of them makes a difference.
    let roles = "vplan 1\nrole docser {\n  only safe\n}\ncheck a: true\ncheck b {\n  run true\n  tags safe\n}\n";
    assert_eq!(
        shadowed(&Project::contract(roles)),
        ["5: `a` does what `b` does, and is selected only where `b` is, too; adds nothing"]
    );
}

#[test]
fn files_that_no_condition_mentions() {
    let project = Project::contract(
        "vplan 1\npaths unused = \"assets/**\"\ncheck always: true\n\
         whenChangedAny \"src/**\" {\n  check a: true a\n}\n\
         whenChangedNone \"*.md\" {\n  check b: true b\n}\n\
         whenChangedAny \"empty/**\" {\n}\n\
         risk r tier 1 \"deploy/*\"\n",
    );
    for path in [
        "src/a",
        "README.md",
        "assets/a",
        "assets/b/c",
        "empty/x",
        "deploy/a",
        "deploy/b/c",
        "notes",
    ] {
        project.write(path, "");
    }
    project.commit("files");
    project.write("untracked", "");
    let ran = project.run(&["check", "--uncovered"]);
    ran.exits(0)
        .warns("no condition mentions 6 of the 9 tracked files")
        .warns("assets/** (2 files)");
    let document = project
        .run(&["check", "--uncovered", "--format", "json"])
        .exits(0)
        .json();
    let want = [
        "assets/a",
        "assets/b/c",
        "contracts/verify.vplan",
        "deploy/b/c",
        "empty/x",
        "notes",
    ];
    assert_eq!(document["uncovered"], serde_json::json!(want));
    assert_eq!(document["tracked"], 9);
    let messages = document["diagnostics"].as_array().unwrap();
    let uncovered = messages
        .iter()
        .find(|d| d["code"] == "vplan::repository::uncovered")
        .unwrap();
    let groups = "assets/** (2 files), * (1 file), contracts/** (1 file), deploy/b/** (1 file), empty/** (1 file)";
    assert_eq!(uncovered["help"], groups);
    project
        .run(&["check", "--uncovered", "--deny", "uncovered"])
        .exits(3)
        .warns("no condition mentions");
    project.run(&["check", "--deny", "uncovered"]).exits(0);
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nwhenChangedAny \"**\" {\n  check a: true\n}\n",
    );
    project
        .run(&["check", "--uncovered", "--deny", "warnings"])
        .exits(0);
}

#[test]
fn what_decides_about_checks_and_no_condition_mentions() {
    let project = Project::contract(
        "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: uv run pytest\n  check own: sh own.sh\n}\n",
    );
    for path in [
        "src/a",
        "pytest.ini",
        "tests/conftest.py",
        "jest.config.js",
        "own.sh",
    ] {
        project.write(path, "");
    }
    project.commit("files");
    project
        .run(&["check", "--uncovered"])
        .exits(0)
        .warns("of the files that decide what checks do no condition mentions 3")
        .warns("own.sh (what it runs; own)")
        .warns("pytest.ini (configuration of pytest; unit)");
    project.write("own.sh", ". ./lib.sh\n").write("lib.sh", "");
    project.commit("a script that sources another one");
    project
        .run(&["check", "--uncovered"])
        .exits(0)
        .warns("lib.sh (what `own.sh` sources; own)");
}

#[test]
fn without_git_what_cannot_be_looked_at_is_said_once() {
    let project = Project::bare();
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nwhenChangedAny \"a/**\" \"b/**\" {\n  check a: true\n}\n",
    );
    let ran = project.run(&["check", "--deny", "warnings"]);
    ran.exits(0)
        .warns("note: no glob was compared with the files of the repository");
    assert_eq!(ran.err().lines().count(), 1, "{}", ran.err());
    project.run(&["check", "-q"]).exits(0).is_quiet();
    assert_eq!(
        project.run(&["check", "--format", "json"]).exits(0).json()["notes"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    project
        .run(&["check", "--uncovered"])
        .exits(2)
        .warns("`--uncovered` is about tracked files");
    project.write("contracts/verify.vplan", "vplan 1\ncheck a: true\n");
    project.run(&["check"]).exits(0).is_quiet();
}

#[test]
fn words_behind_deny() {
    let project = Project::contract("vplan 1\npaths unused = \"contracts/**\"\ncheck a: true\n");
    for word in ["unused_paths", "vplan::contract::unused_paths", "warnings"] {
        project
            .run(&["check", "--deny", word])
            .exits(3)
            .warns("unused");
    }
    for (word, help) in [
        ("unused_path", "did you mean `unused_paths`?"),
        ("vplan::repository::shadwed", "did you mean `shadowed`?"),
        ("warning", "did you mean `warnings`?"),
        ("utterly-wrong", "the code of a message"),
        ("vplan::other::unused_paths", "did you mean `unused_paths`?"),
        ("", "the code of a message"),
    ] {
        project.run(&["check", "--deny", word]).exits(2).warns(help);
    }
}

#[test]
fn what_many_checks_lack_is_one_message() {
    let mut contract = String::from("vplan 1\n");
    for n in 0..77 {
        contract += &format!("check c{n}: no-such-tool run {n}\n");
    }
    contract += "check other: no-such-other\n";
    for n in 0..2 {
        contract += &format!("check d{n} {{\n  run true\n  dir \"web\"\n}}\n");
        contract += &format!("check m{n}: make nope\n");
        contract += &format!("check s{n}: ./missing.sh {n}\n");
    }
    let project = Project::contract(&contract);
    project.write("Makefile", "all:\n\ttrue\n").commit("files");
    let ran = project.run(&["check", "--format", "json"]);
    let kinds = [
        "program_not_found",
        "missing_directory",
        "missing_make_target",
    ];
    let found = found(ran.exits(0), &kinds);
    // `make` itself need not be here.
    let found: Vec<&String> = found.iter().filter(|f| !f.contains("`make` is")).collect();
    assert_eq!(
        found,
        [
            "2: `no-such-tool` is not on the PATH: install it, or name its folder with `tool-path`; runs `no-such-tool run 0`",
            "79: `no-such-other` is not on the PATH: install it, or name its folder with `tool-path`; runs `no-such-other`",
            "80: the directory `web` does not exist; would run there",
            "84: the makefile has no goal `nope`; runs `make nope`",
            "85: `missing.sh` does not exist; runs `./missing.sh 0`",
        ]
    );
    let messages = ran.json()["diagnostics"].clone();
    let help = |word: &str| {
        let mut list = messages.as_array().unwrap().iter();
        let one = list.find(|d| d["message"].as_str().unwrap().contains(word));
        one.unwrap()["help"].as_str().unwrap_or("").to_owned()
    };
    assert_eq!(
        help("no-such-tool"),
        "the same holds for `c1`, `c2`, `c3`, `c4`, `c5` and 71 more"
    );
    assert_eq!(help("no-such-other"), "");
    assert_eq!(
        help("missing.sh"),
        "if another check makes it, say so with `produces`; the same holds for `s1`"
    );
}

/// What `check --pure` says of a contract, with the exit code of `--deny warnings`.
fn pure(project: &Project) -> (Vec<String>, i32) {
    let json = project.run(&["check", "--pure", "--format", "json"]);
    let kinds = [
        "program_not_found",
        "missing_directory",
        "missing_script",
        "missing_make_target",
    ];
    let list = found(json.exits(0), &kinds);
    let denied = project.run(&["check", "--pure", "--deny", "warnings"]);
    (list, denied.exit.unwrap_or(-1))
}

#[test]
fn a_pure_check_asks_nothing_of_the_machine() {
    let project = Project::contract(
        "vplan 1\n\
         check a: no-such-tool\n\
         check b: /no/such/tool\n\
         check c: ./node_modules/.bin/tool\n\
         check d {\n  run true\n  dir \"node_modules/x\"\n}\n\
         check e {\n  run tool\n  tool-path \"bin\"\n}\n\
         whenExists \"cache\" {\n  check f: npm run nope\n}\n",
    );
    project
        .write(".gitignore", "node_modules/\ncache\n/built\n")
        .write("package.json", "{\"scripts\":{}}")
        .commit("files");
    let nothing = (vec![], 0);
    assert_eq!(pure(&project), nothing);
    project.run(&["check", "--deny", "warnings"]).exits(3);
    // What is installed or built here changes nothing, nor do the environment and the PATH.
    project
        .write("node_modules/x/y", "")
        .write("cache", "")
        .script("node_modules/.bin/tool", "#!/bin/sh\n");
    assert_eq!(pure(&project), nothing);

    // What the repository itself lacks is said, even where a file that git ignores is there.
    project.write(
        "contracts/verify.vplan",
        "vplan 1\ncheck a: ./missing.sh\ncheck b: ./built\ncheck c {\n  run true\n  dir \"web\"\n}\n\
         check d: npm run nope\ncheck e: ./new.sh\ncheck f: sub/../new.sh\n",
    );
    project.write("built", "").script("new.sh", "#!/bin/sh\n");
    let wanted = [
        "2: the repository has no file `missing.sh`; runs `./missing.sh`",
        "3: the repository has no file `built`; runs `./built`",
        "4: the repository has no directory `web`; would run there",
        "8: package.json declares no script `nope`; runs `npm run nope`",
    ]
    .map(str::to_owned)
    .to_vec();
    assert_eq!(pure(&project), (wanted.clone(), 3));
    std::fs::remove_file(project.path("built")).unwrap();
    assert_eq!(pure(&project), (wanted, 3));
}

/// A copy of the files without git, as a build sandbox has it.
#[test]
fn a_pure_check_of_a_copy_without_git() {
    let text = "vplan 1\ncheck a: no-such-tool\ncheck b: ./missing.sh\ncheck c: ./there.sh\ncheck d: vendor/bin/tool\n";
    let project = Project::bare();
    project.write("contracts/verify.vplan", text);
    project.script("there.sh", "#!/bin/sh\n");
    let project = project.env("PATH", "/nowhere").env("HOME", "/nowhere");
    let wanted = vec!["3: the repository has no file `missing.sh`; runs `./missing.sh`".to_owned()];
    assert_eq!(pure(&project), (wanted, 3));
}
