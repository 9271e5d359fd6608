//! Recovery takes away what cannot run. It must not take away what the commands behind it need, nor
//! a goal that make would have found.

use crate::support::{Project, Ran};
use serde_json::Value;

const CONTRACT: &str = "vplan 1\ncheck own: true\n";

fn project() -> Project {
    let project = Project::contract(CONTRACT);
    project
        .write("marker", "")
        .mkdir("packages/db")
        .mkdir("web")
        .write("web/only", "")
        .write(".env", "A=1\n");
    project.script("uses.sh", "#!/bin/sh\ntest \"$WANTED\" = 'a b'\n");
    project.commit("files");
    project
}

/// `vplan COMMAND --all` with a list of commands.
fn listed(project: &Project, command: &str, list: &[&str]) -> Ran {
    let mut args = vec![command, "--all"];
    list.iter()
        .for_each(|text| args.extend(["--command", text]));
    project.run(&args)
}

/// `command@dir` of each step that the request asked for.
fn steps(plan: &Value) -> Vec<String> {
    let own = |s: &&Value| s["origin"] == "explicit";
    let shown = |s: &Value| {
        format!(
            "{}@{}",
            s["command"].as_str().unwrap(),
            s["dir"].as_str().unwrap_or(".")
        )
    };
    plan["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(own)
        .map(shown)
        .collect()
}

fn planned(project: &Project, list: &[&str]) -> Vec<String> {
    let mut args = vec!["plan", "--all", "--format", "json"];
    list.iter()
        .for_each(|text| args.extend(["--command", text]));
    steps(&project.run(&args).exits(0).json())
}

#[test]
fn a_cd_of_its_own_moves_the_commands_after_it() {
    let project = project();
    let list = ["cd packages/db", "test -f marker"];
    listed(&project, "run", &list).exits(40);
    assert_eq!(planned(&project, &list), ["test -f marker@packages/db"]);
    project.write("packages/db/marker", "").remove("marker");
    listed(&project, "run", &list)
        .exits(0)
        .never_says("narrowed");
    listed(&project, "explain", &list)
        .exits(0)
        .says("`cd packages/db` is carried into the commands after it");
}

#[test]
fn a_moved_command_is_not_the_contracts_at_the_root() {
    let project = project();
    project
        .write(
            "contracts/verify.vplan",
            "vplan 1\ncheck own: test -f marker\n",
        )
        .commit("a check that passes");
    listed(&project, "run", &["cd packages/db", "test -f marker"]).exits(40);
    listed(
        &project,
        "run",
        &["test -f marker", "cd packages/db", "test -f marker"],
    )
    .exits(40);
    // Where it is the same work it still is one step.
    assert_eq!(
        planned(&project, &["cd packages/db", "cd ../..", "test -f marker"]),
        Vec::<String>::new()
    );
}

#[test]
fn an_exported_variable_reaches_the_commands_after_it() {
    let project = project();
    listed(&project, "run", &["export WANTED='a b'", "./uses.sh"]).exits(0);
    listed(&project, "run", &["./uses.sh"]).exits(40);
    listed(
        &project,
        "run",
        &["export WANTED='a b'", "export WANTED=c", "./uses.sh"],
    )
    .exits(40);
    listed(
        &project,
        "run",
        &[
            "export WANTED='a b' && cd web",
            "../uses.sh && test -f only",
        ],
    )
    .exits(0);
}

#[test]
fn every_list_of_commands_is_read_alike() {
    let project = project();
    project
        .write("list.json", r#"["cd web", "test -f only"]"#)
        .write("list", "cd packages/db\n\ntest -f only\n");
    let from = |file: &str| project.run(&["run", "--all", "--commands-from", file]);
    from("list.json").exits(0);
    from("list").exits(40);
    let json = r#"{"commands":["cd packages/db","test -f marker"],"byRole":{"tester":["cd web","test -f only"]},
        "rules":[{"whenChangedAny":["**"],"commands":["export WANTED='a b'","./uses.sh"]}]}"#;
    project.write("verify.contract.json", json);
    let args = [
        "plan",
        "--all",
        "--role",
        "tester",
        "--contract",
        "verify.contract.json",
        "--format",
        "json",
    ];
    let plan = project.run(&args).exits(0).json();
    let shown = |s: &Value| {
        format!(
            "{}@{}",
            s["command"].as_str().unwrap(),
            s["dir"].as_str().unwrap_or(".")
        )
    };
    let got: Vec<String> = plan["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(shown)
        .collect();
    assert_eq!(
        got,
        [
            "test -f marker@packages/db",
            "test -f only@web",
            "WANTED='a b' ./uses.sh@."
        ]
    );
}

/// Changed files are those below the directory, and are called as they are from there.
#[test]
fn changed_files_are_named_from_where_the_command_runs() {
    let project = project();
    assert_eq!(
        planned(&project, &["cd web", "cat {changed}"]),
        ["cat only@web"]
    );
}

/// What only a shell could carry is neither dropped nor passed over.
#[test]
fn what_changes_the_shell_is_never_dropped() {
    let project = project();
    for text in [
        "pushd web",
        "popd",
        "set -e",
        "set -euo pipefail",
        "source .env",
        ". ./.env",
        "eval 'A=1'",
        "umask 022",
        "ulimit -n 100",
        "alias a=b",
        "unalias a",
        "trap 'exit 0' EXIT",
        "exec true",
        "unset CI",
        "readonly A=1",
        "declare -x A=1",
        "shopt -s globstar",
        "exit 0",
        "read A",
        "cd",
        "cd -",
        "cd ~",
        "cd ..",
        "cd web/../..",
        "cd /tmp",
        "cd \"$HOME\"",
        "cd w*",
        "cd web; set -e",
        "command cd web",
        "A=1",
        "PATH=$PWD/bin:$PATH",
        "export A",
        "export A=$HOME",
        "export -n CI",
        "f() { true; }",
        "source .env && true",
        "true && cd web",
        "true; cd web",
    ] {
        let ran = listed(&project, "run", &[text, "true"]);
        assert_eq!(ran.exit, Some(40), "{text}: {}{}", ran.out(), ran.err());
        assert!(
            (ran.out() + &ran.err()).contains("changes the shell"),
            "{text}: {}{}",
            ran.out(),
            ran.err()
        );
    }
    // What leaves the shell as it is may go, and is told.
    for text in [
        "echo a | cat",
        "(cd web && make)",
        "echo \"$HOME\"",
        "A=1 echo $B",
        "cd web | cat",
    ] {
        listed(&project, "run", &[text, "true"])
            .exits(0)
            .says("narrowed");
    }
}

#[test]
fn a_bare_list_is_repaired_alike() {
    let project = project();
    let recovered = |list: &[&str], failed: &str| {
        let mut args = vec![
            "recover",
            "--failed",
            failed,
            "--code",
            "verification_command_unsupported_format",
        ];
        list.iter()
            .for_each(|text| args.extend(["--command", text]));
        project.run(&args)
    };
    let said = recovered(&["cd packages/db", "test -f marker"], "1")
        .exits(0)
        .json();
    assert_eq!(
        said["nextSteps"],
        serde_json::json!([{"command": "test -f marker", "dir": "packages/db"}])
    );
    assert_eq!(
        (said["coverage"].as_str(), said["recoveryRule"].as_str()),
        (Some("full"), Some("hoist-directory"))
    );
    let said = recovered(&["true", "source .env", "make"], "2")
        .exits(44)
        .json();
    assert!(
        said["refused"]
            .as_str()
            .unwrap()
            .contains("`source .env` changes the shell"),
        "{said}"
    );
}

fn imported(name: &str, text: &str) -> (Project, Ran) {
    let project = Project::git_with(&[(name, text)]);
    let ran = project.run(&["import", name, "-o", "contracts/verify.vplan"]);
    (project, ran)
}

#[test]
fn an_import_carries_alike() {
    for (name, text) in [
        (
            "verify.contract.json",
            r#"{"commands":["cd src","export A='b c'","test -f marker"]}"#,
        ),
        (
            "runr.config.json",
            r#"{"verification":{"tier0":["cd src","export A='b c'","test -f marker"],"tier1":[],"tier2":[]}}"#,
        ),
        (
            ".ralph-tui/config.toml",
            "[verification]\nenabled = true\ncommands = [\"cd src\", \"export A='b c'\", \"test -f marker\"]\n",
        ),
        (
            ".agent/config.yml",
            "schema_version: 1\ncommands:\n  build:\n    - cd src\n    - \"export A='b c'\"\n    - test -f marker\n",
        ),
    ] {
        let (project, ran) = imported(name, text);
        ran.exits(0);
        let contract = project.read("contracts/verify.vplan");
        assert!(contract.contains("dir \"src\""), "{name}: {contract}");
        assert!(
            contract.contains("env A='b c'") || contract.contains("A='b c' test"),
            "{name}: {contract}"
        );
        assert!(
            !contract.contains("shell cd") && !contract.contains("shell export"),
            "{name}: {contract}"
        );
        project.write("marker", "").mkdir("src").commit("all");
        let ran = project.run(&["run", "--all", "--last"]);
        assert!(matches!(ran.exit, Some(40 | 41)), "{name}: {}", ran.out());
        project.write("src/marker", "");
        project.run(&["run", "--all", "--last"]).exits(0);
    }
}

#[test]
fn an_import_makes_no_check_of_what_changes_the_shell() {
    for list in [
        r#"["source .env", "make"]"#,
        r#"["make", "cd src"]"#,
        r#"["pushd src", "make"]"#,
        r#"["set -e", "make"]"#,
        r#"["cd ..", "make"]"#,
        r#"["cd a; set -e", "make"]"#,
        r#"["export A=$HOME", "make"]"#,
    ] {
        for (name, text) in [
            ("verify.contract.json", format!("{{\"commands\":{list}}}")),
            (
                "runr.config.json",
                format!("{{\"verification\":{{\"tier0\":{list}}}}}"),
            ),
            (
                ".ralph-tui/config.toml",
                format!("[verification]\nenabled = true\ncommands = {list}\n"),
            ),
            (
                ".agent/config.yml",
                format!("schema_version: 1\ncommands:\n  test: {list}\n"),
            ),
        ] {
            let (project, ran) = imported(name, &text);
            ran.exits(3).warns("vplan::convert::shell_state");
            assert!(!project.exists("contracts/verify.vplan"), "{name}: {list}");
        }
    }
    // In one entry with what needs it, it is that entry's own.
    let (_, ran) = imported(
        "verify.contract.json",
        r#"{"commands":["source .env && make"]}"#,
    );
    ran.exits(0);
}

/// Which of these goals stay in the plan, beside one that always does.
fn kept(files: &[(&str, &str)], command: &str) -> bool {
    let mut all = vec![("contracts/verify.vplan", CONTRACT)];
    all.extend(files);
    let project = Project::git_with(&all);
    // The makefile is not among what changed: else nothing would be dropped anyway.
    let args = [
        "plan",
        "--changed",
        "src/a",
        "--format",
        "json",
        "--command",
        command,
        "--command",
        "echo ok",
    ];
    let got = steps(&project.run(&args).exits(0).json());
    assert!(got.contains(&"echo ok@.".to_owned()), "{got:?}");
    got.len() == 2
}

#[test]
fn a_goal_that_make_would_find_is_not_missing() {
    for (makefile, command) in [
        ("\u{feff}lint:\n\tfalse\n", "make lint"),
        ("./lint:\n\tfalse\n", "make lint"),
        ("lint:\n\tfalse\n", "make ./lint"),
        (".//lint other:\n\tfalse\n", "make other lint"),
        (".DEFAULT:\n\tfalse\nall:\n", "make lint"),
        ("%:\n\tfalse\n", "make lint"),
        ("li%:\n\tfalse\n", "make lint"),
        // What make's own rules make a program of.
        ("lint.o:\n\tfalse\n", "make lint"),
        ("lint%:\n\tfalse\n", "make lint"),
        ("lint::\n\tfalse\n", "make lint"),
        ("all \\\n lint: \\\n  a\n", "make lint"),
        // Only make knows.
        ("include o.mk\nall:\n", "make lint"),
        ("-include o.mk\nall:\n", "make lint"),
        ("sinclude o.mk\nall:\n", "make lint"),
        ("x = lint\n$(x):\n\tfalse\n", "make lint"),
        ("MAKEFLAGS += -r\nall:\n", "make lint"),
        ("export MAKEFILES = o.mk\nall:\n", "make lint"),
        ("define lint\nendef\nall:\n", "make lint"),
        ("$(eval lint: ; false)\n", "make lint"),
        ("VPATH = src\nall:\n", "make lint"),
        ("all:\n", "MAKEFILES=o.mk make lint"),
        ("all:\n", "env MAKEFILES=o.mk make lint"),
        ("all:\n", "env MAKEFLAGS=-fo.mk make lint"),
        ("all:\n", "make --eval=lint: lint"),
        ("all:\n", "make -f Makefile -f o.mk lint"),
        ("all:\n", "make -f o.mk lint"),
        ("all:\n", "make -C sub lint"),
        ("all:\n", "make -C . -C sub -f ../o.mk lint"),
        ("all:\n", "make --directory=sub --file=Makefile lint"),
    ] {
        let files = [
            ("Makefile", makefile),
            ("o.mk", "lint:\n\tfalse\n"),
            ("sub/Makefile", "lint:\n\tfalse\n"),
        ];
        assert!(kept(&files, command), "{makefile:?} {command}");
    }
    let both = [
        ("GNUmakefile", "lint:\n"),
        ("makefile", "all:\n"),
        ("Makefile", "all:\n"),
    ];
    assert!(kept(&both, "make lint"));
}

/// Else nothing of the above would say that a makefile is read at all.
#[test]
fn a_goal_that_make_would_not_find_is_missing() {
    for (makefile, command) in [
        ("\u{feff}all:\n", "make lint"),
        ("./all:\n", "make ./lint"),
        ("test-%:\n\tgo\n", "make lint"),
        ("all:\n", "make -f o.mk other"),
        ("all:\n", "make -C sub -f ../o.mk other"),
        ("lint:\n", "make -C sub lint"),
        ("lint:\n", "make -f o.mk lint"),
    ] {
        let files = [
            ("Makefile", makefile),
            ("o.mk", "x:\n"),
            ("sub/Makefile", "x:\n"),
        ];
        assert!(!kept(&files, command), "{makefile:?} {command}");
    }
    let first = [
        ("GNUmakefile", "all:\n"),
        ("makefile", "lint:\n"),
        ("Makefile", "lint:\n"),
    ];
    assert!(!kept(&first, "make lint"));
}

/// A recipe may print whatever make says; then make has the last word about that recipe.
#[test]
fn a_recipe_that_prints_the_words_of_make_has_failed() {
    let project = Project::contract(CONTRACT);
    project
        .write("Makefile", "include o.mk\nlint:\n\t@./lint.sh\n")
        .write("o.mk", "");
    project.script(
        "lint.sh",
        "#!/bin/sh\necho \"make: *** No rule to make target 'lint'.  Stop.\" >&2\nexit 2\n",
    );
    // A program in place of make, which says what GNU make 4.4 says.
    let make =
        "#!/bin/sh\n./lint.sh || { echo 'make: *** [Makefile:3: lint] Error 2' >&2; exit 2; }\n";
    project.script("../bin/make", make).commit("a makefile");
    let path = format!(
        "{}:{}",
        project.parent().join("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let ran = project
        .vplan(&["run", "--changed", "x", "--command", "make lint"])
        .env("PATH", path)
        .run();
    ran.exits(40).says("make lint");
}
