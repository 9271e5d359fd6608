//! The verb that a caller states in front of a command.

use crate::support::{Project, Ran};
use serde_json::{Value, json};

/// A makefile whose goals pass: `quiet` shows no test, `shows` one, `test` one that failed.
fn project() -> Project {
    with_contract("vplan 1\ncheck own: true\n")
}

fn with_contract(text: &str) -> Project {
    let project = Project::contract(text);
    project.write(
        "Makefile",
        "quiet:\n\t@true\nshows:\n\t@echo '1 passed in 0.1s'\ntest:\n\t@echo 1..1; echo not ok 1 - a\n\
         shown shown-test:\n\t@true\n",
    );
    project.write(
        "package.json",
        "{\"scripts\":{\"test\":\"echo 1 passed in 0.1s\"}}",
    );
    project.commit("files");
    project
}

fn with<'a>(command: &'a str, texts: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec![command, "--all", "--format", "json"];
    texts
        .iter()
        .for_each(|text| args.extend(["--command", text]));
    args
}

fn planned(project: &Project, texts: &[&str]) -> Value {
    project.run(&with("plan", texts)).exits(0).json()
}

/// The verb of each step with its command.
fn steps(plan: &Value) -> Vec<String> {
    let shown = |s: &Value| {
        let [verb, command] = ["kind", "command"].map(|key| s[key].as_str().unwrap());
        format!("{verb} {command}")
    };
    plan["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(shown)
        .collect()
}

fn ran_in_full(project: &Project, text: &str) -> Ran {
    let mut args = with("run", &[text]);
    args.extend(["--require", "full"]);
    project.run(&args)
}

fn narrows(ran: &Ran) -> bool {
    let report = ran.json();
    let caveats = report["caveats"].as_array().cloned().unwrap_or_default();
    caveats.iter().any(|c| c["code"] == "tests_not_shown")
}

#[test]
fn a_stated_test_narrows_unless_it_shows_a_test() {
    let project = project();
    for (text, exit, is_narrowed) in [
        ("make quiet", 0, false),
        ("test:make quiet", 44, true),
        ("test: make quiet", 44, true),
        ("lint:make quiet", 0, false),
        ("test:make shows", 0, false),
        ("test:cd . && make quiet", 44, true),
        ("test:true && make quiet", 44, true),
        // Neither is what only shows it.
        ("make -n shown", 0, false),
        ("make shown-test", 0, false),
        ("make -n shown-test", 44, true),
        ("run:make -n shown-test", 44, true),
        ("test:make -n shows", 44, true),
        ("test:sh -c 'true && make -n shows'", 44, true),
        ("test:npm run", 44, true),
    ] {
        let ran = ran_in_full(&project, text);
        ran.exits(exit);
        assert_eq!(narrows(&ran), is_narrowed, "{text}");
    }
}

#[test]
fn a_stated_verb_is_no_way_around_what_the_table_knows() {
    let project = project();
    let own = ran_in_full(&project, "make test");
    own.exits(42);
    for text in [
        "run:make test",
        "lint:make test",
        "compile: make test",
        "cd . && make test",
        "run:cd . && make test",
    ] {
        ran_in_full(&project, text).exits(42);
        assert_eq!(steps(&planned(&project, &[text]))[0], "test make test");
    }
    let parts = steps(&planned(&project, &["true && make test"]));
    assert_eq!(parts, ["run true", "test make test", "run true"]);
    let explained = project.run(&["explain", "--all", "--command", "run:make test"]);
    explained
        .exits(0)
        .says("asked for as a command with the verb `run`");
}

#[test]
fn a_check_of_the_contract_keeps_its_verb() {
    let project =
        with_contract("vplan 1\ncheck own: make quiet\ncheck counted {\n  test make shows\n}\n");
    let texts = ["test:make quiet", "lint:make shows"];
    let plan = planned(&project, &texts);
    assert_eq!(steps(&plan), ["run make quiet", "test make shows"]);
    assert_eq!(plan["request"]["explicit"], json!(texts));
    // The caller asked for tests; nothing shows one.
    let ran = ran_in_full(&project, "test:make quiet");
    ran.exits(44);
    assert!(narrows(&ran));
    ran_in_full(&project, "lint:make quiet").exits(0);
    let args = ["explain", "--all", "--command", "test:make quiet"];
    let explained = project.run(&args);
    explained
        .exits(0)
        .says("asked for as a command with the verb `test`");
}

#[test]
fn a_command_with_two_verbs_is_verified_by_both() {
    let project = project();
    let plan = planned(
        &project,
        &["make quiet", "test:make quiet", "run:make quiet"],
    );
    let want = ["run make quiet", "test make quiet", "run true"];
    assert_eq!(steps(&plan), want);
}

#[test]
fn a_text_without_a_verb_is_what_it_was() {
    let project = project();
    let plan = planned(&project, &["make quiet", "'test:x' y", "run:test:x z"]);
    let request = &plan["request"]["explicit"];
    assert_eq!(
        *request,
        json!(["make quiet", "'test:x' y", "run:test:x z"])
    );
    let want = ["run make quiet", "run test:x y", "run test:x z", "run true"];
    assert_eq!(steps(&plan), want);
    let reasons = [1, 2].map(|at| plan["steps"][at]["reasons"].clone());
    let stated = json!([{"condition": "explicit", "names": ["run"]}]);
    assert_eq!(reasons, [json!([{"condition": "explicit"}]), stated]);
    let digest = |text| planned(&project, &[text])["digest"].clone();
    assert_ne!(digest("make quiet"), digest("test:make quiet"));
}

#[test]
fn a_saved_plan_has_the_verb() {
    let project = project();
    for file in ["p.json", "p.kdl"] {
        let text = "test:make quiet";
        project
            .run(&["plan", "--all", "--command", text, "-o", file])
            .exits(0);
        let ran = project.run(&[
            "run",
            "--plan",
            file,
            "--format",
            "json",
            "--require",
            "full",
        ]);
        ran.exits(44);
        assert!(narrows(&ran), "{file}");
        project.remove(file);
    }
}

#[test]
fn a_proposer_states_verbs() {
    let project = project();
    let with = |answer: &str| {
        let script = format!("#!/bin/sh\ncat >/dev/null\nprintf '%s' '{answer}'\n");
        project.script("../proposer", &script);
        let proposer = project.path("../proposer").to_str().unwrap().to_owned();
        project.run(&[
            "run",
            "--all",
            "--mode",
            "llm",
            "--proposer",
            &proposer,
            "--format",
            "json",
        ])
    };
    let ran = with(r#"{"commands":["test:make quiet"]}"#);
    ran.exits(0);
    assert!(narrows(&ran));
    with(r#"{"commands":["tset:make quiet"]}"#)
        .exits(44)
        .says("command 1 of the answer begins with a wrong verb: `tset` is not a verb");
}

#[test]
fn a_misspelt_verb_is_refused_with_its_place() {
    let project = project();
    project.write("list", "make quiet\n\nlnit:make quiet\n");
    for (args, word, help) in [
        (
            ["--command", "tset:make quiet"],
            "tset",
            "did you mean `test:`?",
        ),
        (
            ["--command", " Test: make quiet"],
            "Test",
            "did you mean `test:`?",
        ),
        (
            ["--command", "shell:a | b"],
            "shell",
            "`run`, `compile`, `test` and `lint`",
        ),
        (["--commands-from", "list"], "lnit", "did you mean `lint:`?"),
    ] {
        let ran = project.run(&[&["run", "--all"][..], &args].concat());
        ran.exits(2)
            .warns("vplan::contract::command_verb")
            .warns(&format!("`{word}` is not a verb of a command"))
            .warns(help);
    }
    // Neither a URL nor a program with a colon further on.
    for text in ["file://x", "npm:run x", "make tset:x"] {
        project.run(&with("plan", &[text])).exits(0);
    }
}

#[test]
fn a_bare_list_keeps_its_verbs() {
    let project = project();
    let args = [
        "recover",
        "--command",
        "test:cd d && make x",
        "--failed",
        "1",
    ];
    let answer = project.run(
        &[
            &args[..],
            &["--code", "verification_command_unsupported_format"],
        ]
        .concat(),
    );
    let step = json!([{"command": "make x", "dir": "d", "verb": "test"}]);
    assert_eq!(answer.exits(0).json()["nextSteps"], step);
}
