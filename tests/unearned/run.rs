//! What a run means: what is passed was asked for, was there while it was checked, and is as much
//! as before.

use super::{caveat, codes};
use crate::support::Project;
use crate::support::process::Bounded as _;
use serde_json::json;

const TWO: &str = "vplan 1\n\
    whenChangedAny \"src/**\" {\n  check unit {\n    run ./unit.sh\n    needs build\n  }\n  check lint: true\n}\n\
    check build: ./build.sh\n\
    byRole tester {\n  check e2e {\n    run ./e2e.sh\n    tier 2\n  }\n}\n";

fn two() -> Project {
    let project = Project::bare();
    for name in ["unit", "build", "e2e"] {
        project.script(
            &format!("{name}.sh"),
            &format!("#!/bin/sh\necho ran {name} >> ../ran\n"),
        );
    }
    project
        .write("contracts/verify.vplan", TWO)
        .git(&["init", "-q", "-b", "main"]);
    let begin = project.commit("begin");
    project.pushed(&begin);
    project
}

#[test]
fn a_contract_without_checks_is_no_pass() {
    for (path, text) in [
        ("contracts/verify.vplan", "vplan 1\n"),
        (
            "contracts/verify.vplan",
            "vplan 1\npaths src = \"src/**\"\nlimits {\n  jobs 2\n}\n",
        ),
        ("contracts/verify.contract.json", "{\"commands\": []}\n"),
    ] {
        let project = Project::git_with(&[(path, text)]);
        project.write("src/a", "x");
        let args = ["run", "--contract", path, "--format", "json"];
        for mode in [
            &[][..],
            &["--mode", "fallback"],
            &["--all"],
            &["--changed-none"],
            &["--min-tier", "2"],
        ] {
            let ran = project.run(&[&args[..], mode].concat());
            let report = ran.exits(44).json();
            assert_eq!(report["verdict"], "incomplete", "{path} {mode:?}");
            assert_eq!(codes(&report), ["empty_contract"]);
            assert_eq!(report["feedback"]["failureCode"], "empty_contract");
        }
        project
            .run(&["run", "--contract", path])
            .exits(44)
            .says("the contract has no checks");
        project
            .run(&["run", "--contract", path, "--subject", "S"])
            .exits(44)
            .never_says("complete:");
        project
            .run(&["explain", "--contract", path])
            .exits(0)
            .says("the contract has no checks");
        project
            .run(&["run", "--contract", path, "--mode", "off"])
            .exits(0)
            .says("mode is off");
        let brought = project.run(&[&args[..], &["--command", "true"]].concat());
        assert_eq!(
            codes(&brought.exits(0).json()),
            Vec::<&str>::new(),
            "the request brought a check"
        );
    }
}

#[test]
fn only_with_nothing_left_is_narrowed() {
    let project = two();
    let args = ["run", "--only", "unit", "--format", "json"];
    let report = project.run(&args).exits(0).json();
    assert_eq!(
        (&report["verdict"], &report["coverage"]),
        (&json!("nothing_to_verify"), &json!("narrowed"))
    );
    assert_eq!(codes(&report), ["only_nothing"]);
    project
        .run(&["run", "--only", "unit", "--require", "full"])
        .exits(44);
    project
        .run(&["run", "--only", "unit"])
        .exits(0)
        .says("no file changed against `refs/remotes/origin/main`; try `--all`");
    // The conditions count: a change of something else brings nothing either.
    project.write("other", "x");
    project
        .run(&["run", "--only", "unit"])
        .exits(0)
        .says("of `--only` `unit` nothing applies to this change");
    assert!(!project.exists("../ran"));
    project.write("src/a", "x");
    let report = project.run(&args).exits(0).json();
    assert_eq!(
        (&report["verdict"], codes(&report)),
        (&json!("passed"), vec![])
    );
    assert_eq!(project.read("../ran"), "ran build\nran unit\n");
}

#[test]
fn what_is_named_runs_whatever_its_conditions_say_and_is_narrowed() {
    let project = two();
    let report = project
        .run(&["run", "unit", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (&report["verdict"], &report["coverage"]),
        (&json!("passed"), &json!("narrowed"))
    );
    assert_eq!(caveat(&report, "named")["checks"], json!(["unit"]));
    assert_eq!(
        project.read("../ran"),
        "ran build\nran unit\n",
        "what it needs comes along"
    );
    project.run(&["run", "unit", "--require", "full"]).exits(44);
    // Roles and tiers are conditions too.
    let report = project
        .run(&["run", "e2e", "lint", "--format", "json"])
        .exits(0)
        .json();
    let steps: Vec<&str> = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["id"].as_str().unwrap())
        .collect();
    assert_eq!(steps, ["lint", "e2e"]);
    // Naming all of them leaves nothing out, and is narrowed all the same.
    let all = project
        .run(&["run", "unit", "lint", "build", "e2e", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(all["coverage"], "narrowed");
    project
        .run(&["run", "unti"])
        .exits(2)
        .warns("no check is called `unti`")
        .warns("unit");
    project
        .run(&["run", "tag:none"])
        .exits(2)
        .warns("no tag is called `none`");
    project.run(&["run", "unit", "--only", "lint"]).exits(2);
    project
        .run(&["run", "unit", "--skip", "unit", "--reason", "later"])
        .exits(0)
        .says("nothing to verify");
    project
        .run(&["run", "unit", "--skip", "build", "--reason", "later"])
        .exits(2)
        .warns("needs it");
    project.run(&["loop", "--fix", "true", "unit"]).exits(2);
    project
        .run(&["explain", "unit"])
        .exits(0)
        .says("unit is left out");
}

#[test]
fn a_name_does_not_lift_what_a_role_may_run() {
    let text = "vplan 1\nrole docs {\n  only safe\n}\ncheck rm: ./rm.sh\ncheck read {\n  run true\n  tags safe\n}\n";
    let project = Project::git_with(&[("contracts/verify.vplan", text)]);
    project.script("rm.sh", "#!/bin/sh\ntouch ../gone\n");
    project
        .run(&["run", "rm", "--role", "docs"])
        .exits(0)
        .says("nothing to verify")
        .says("role docs runs only");
    project
        .run(&["run", "rm", "read", "--role", "docs"])
        .exits(0)
        .says("1 passed");
    assert!(!project.exists("../gone"));
}

#[test]
fn a_named_check_gets_the_changed_files_of_its_conditions_and_none_is_said() {
    let text = "vplan 1\nwhenChangedAny \"*.md\" {\n  check words: echo {changed}\n}\n";
    let project = Project::git_with(&[("contracts/verify.vplan", text)]);
    project.write("a.txt", "x");
    let ran = project.run(&["run", "words"]);
    ran.exits(0)
        .says("nothing to verify")
        .says("no changed file is left for {changed}");
    project.write("a.md", "x");
    let report = project
        .run(&["run", "words", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(report["steps"][0]["command"], "echo a.md");
}

/// A project whose check `unit` does something to the tree while it runs, and passes; it is about
/// `src/**`.
fn moving(does: &str, more: &str) -> Project {
    let contract = format!(
        "vplan 1\nwhenChangedAny \"src/**\" {{\n  check unit {{\n    run ./unit.sh\n{more}  }}\n}}\n"
    );
    let project = Project::bare();
    project.script("unit.sh", &format!("#!/bin/sh\nset -e\n{does}\n"));
    project
        .write("contracts/verify.vplan", contract)
        .write("src/a", "1")
        .write("docs/a", "1");
    project.git(&["init", "-q", "-b", "main"]);
    project.git(&["config", "user.name", "A"]);
    project.git(&["config", "user.email", "a@example.org"]);
    let begin = project.commit("begin");
    project.pushed(&begin).write("src/b", "new");
    project
}

#[test]
fn a_file_that_became_bad_after_its_check_passed_is_no_pass() {
    for (does, file) in [
        ("echo bad > src/a", "src/a"),
        ("rm src/a", "src/a"),
        ("chmod +x src/a", "src/a"),
        ("rm src/a && ln -s b src/a", "src/a"),
        ("echo bad > src/a && git rm -q --cached src/a", "src/a"),
        (
            "echo bad > src/a && git update-index --assume-unchanged src/a",
            "src/a",
        ),
        ("echo x > src/c && git add src/c", "src/c"),
    ] {
        let project = moving(does, "");
        let report = project.run(&["run", "--format", "json"]).exits(40).json();
        assert_eq!(report["verdict"], "failed", "{does}");
        let moved = caveat(&report, "tree_changed");
        assert_eq!(
            (&moved["files"], &moved["checks"]),
            (&json!([file]), &json!(["unit"])),
            "{does}"
        );
        assert_eq!(
            report["feedback"]["failureCode"],
            "verification_tree_changed"
        );
        assert_eq!(report.get("tree"), None);
    }
    let project = moving("echo bad > src/a", "");
    let ran = project.run(&["run", "--subject", "x"]);
    ran.exits(40)
        .says("files changed while only `unit` ran")
        .never_says("1/1 complete");
}

#[test]
fn what_is_new_or_may_be_written_stays_a_note() {
    for (does, more, said) in [
        ("echo x > docs/c", "", &["new_files"][..]),
        ("echo made > src/a", "    produces \"src/a\"\n", &[]),
        ("rm src/a", "    cleans \"src/a\"\n", &[]),
    ] {
        let project = moving(does, more);
        let report = project.run(&["run", "--format", "json"]).exits(0).json();
        assert_eq!(codes(&report), said, "{does}");
    }
    // What no check is about is a tracked file all the same.
    for more in ["", "    inputs \"docs/**\"\n"] {
        let project = moving("echo other > docs/a", more);
        let report = project.run(&["run", "--format", "json"]).exits(40).json();
        assert_eq!(caveat(&report, "tree_changed")["files"], json!(["docs/a"]));
    }
}

#[test]
fn a_head_that_moves_during_a_run_is_no_pass() {
    for does in [
        "git commit -qam $$",
        "git commit -q --allow-empty -m $$",
        "git commit -q --amend -m $$",
    ] {
        for source in [&[][..], &["--staged"], &["--all"]] {
            let project = moving(does, "");
            project.git(&["add", "src/b"]);
            let report = project
                .run(&[&["run", "--format", "json"], source].concat())
                .exits(44)
                .json();
            assert!(
                caveat(&report, "head_moved")["message"]
                    .as_str()
                    .unwrap()
                    .contains(" -> "),
                "{does} {source:?}"
            );
        }
    }
    // Another branch at the same commit is the same tree.
    let project = moving("git symbolic-ref HEAD refs/heads/other", "");
    project.git(&["branch", "other"]);
    let report = project.run(&["run", "--format", "json"]).exits(0).json();
    assert_eq!(codes(&report), Vec::<&str>::new());
}

#[test]
fn two_runs_in_one_tree_do_not_pass_for_what_the_other_wrote() {
    // Each waits for the other to have begun; then one of them writes what the other is about.
    let project = moving("", "");
    let text = "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: ./unit.sh reader\n}\n";
    let other = "vplan 1\ncheck write {\n  shell ./unit.sh writer; echo w > src/a; echo done > ../wrote\n}\n";
    project.script(
        "unit.sh",
        "#!/bin/sh\necho $1 >> ../began\nwhile [ $(wc -l < ../began) -lt 2 ]; do sleep 0.01; done\n\
        [ $1 = writer ] || while [ ! -e ../wrote ]; do sleep 0.01; done\n",
    );
    project
        .write("contracts/verify.vplan", text)
        .write("contracts/other.vplan", other);
    let two = project.commit("two");
    project.pushed(&two);
    project.write("src/b", "newer");
    let mut command = project
        .vplan(&["run", "--contract", "contracts/other.vplan"])
        .command();
    let mut writer = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let report = project.run(&["run", "--format", "json"]).exits(40).json();
    assert_eq!(caveat(&report, "tree_changed")["files"], json!(["src/a"]));
    assert!(!writer.ended().success());
}

#[test]
fn an_earlier_pass_does_not_stand_for_a_tree_that_moved_and_without_git_it_is_said() {
    let text = "vplan 1\ncheck kept {\n  run true\n  inputs \"src/**\"\n}\ncheck other {\n  run ./other.sh\n  requires \"docs/**\"\n}\n";
    let project = Project::git_with(&[
        ("contracts/verify.vplan", text),
        ("src/a", "1"),
        ("docs/a", "1"),
    ]);
    project.script("other.sh", "#!/bin/sh\ntest ! -e ../go || echo x > src/a\n");
    project.commit("script");
    project.run(&["run", "--all"]).exits(0);
    project.write("../go", "");
    let report = project
        .run(&["run", "--all", "--format", "json"])
        .exits(40)
        .json();
    assert_eq!(report["steps"][0]["status"], "cached");
    assert_eq!(caveat(&report, "tree_changed")["checks"], json!(["other"]));

    let project = Project::bare();
    project
        .write("contracts/verify.vplan", "vplan 1\ncheck a: true\n")
        .write("a", "");
    let report = project
        .run(&["run", "--changed", "a", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(codes(&report), ["tree_unknown"]);
}

#[test]
fn a_proposer_that_fails_leaves_the_contracts_checks_and_no_pass() {
    let project = Project::contract("vplan 1\ncheck own: true\n");
    for (proposer, mode) in [
        ("false", "llm"),
        ("no-such-program", "llm"),
        ("echo nonsense", "llm"),
    ] {
        let args = [
            "run",
            "--mode",
            mode,
            "--proposer",
            proposer,
            "--format",
            "json",
        ];
        let report = project.run(&args).exits(44).json();
        assert_eq!(
            (&report["steps"][0]["status"], codes(&report)),
            (&json!("passed"), vec!["proposer_failed"])
        );
        assert_eq!(report["feedback"]["failureCode"], "proposer_failed");
    }
    // A check that fails decides before it.
    project.write("contracts/verify.vplan", "vplan 1\ncheck own: false\n");
    project
        .run(&["run", "--mode", "llm", "--proposer", "false"])
        .exits(40);
    // To record an answer is to have one.
    project
        .run(&["lock", "--record", "--mode", "llm", "--proposer", "false"])
        .exits(5);
    project
        .run(&["run", "--mode", "llm"])
        .exits(2)
        .warns("no_proposer");
}

#[test]
fn a_proposer_is_enough_where_there_is_no_contract_and_its_failure_is_no_pass() {
    let project = Project::git_with(&[("a", "1")]);
    project.script(
        "../propose",
        "#!/bin/sh\ncat > /dev/null\necho '{\"commands\":[\"true\"]}'\n",
    );
    project.write("Makefile", "test:\n\ttrue\n");
    for mode in ["llm", "hybrid"] {
        let report = project
            .run(&[
                "run",
                "--mode",
                mode,
                "--proposer",
                "../propose",
                "--format",
                "json",
            ])
            .exits(0)
            .json();
        assert_eq!(report["steps"][0]["command"], "true", "{mode}");
        project.run(&["run", "--mode", mode]).exits(3);
        project
            .run(&["run", "--mode", mode, "--proposer", "false"])
            .exits(44)
            .says("gave no answer");
    }
    project
        .run(&["run", "--mode", "contract", "--proposer", "../propose"])
        .exits(3);
}

/// A project whose check prints the summary of a test runner: as many tests as the file `tests`
/// says.
fn counting() -> Project {
    let project = Project::bare();
    project.script("unit.sh", "#!/bin/sh\necho \"running $(cat tests) tests\"\n\
        echo \"test result: ok. $(cat tests) passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\"\n");
    let text = "vplan 1\ncheck unit {\n  test ./unit.sh\n  format cargo\n}\n";
    project
        .write("contracts/verify.vplan", text)
        .write("tests", "214")
        .git(&["init", "-q", "-b", "main"]);
    let begin = project.commit("begin");
    project.pushed(&begin);
    project
}

#[test]
fn tests_that_vanish_are_said_as_long_as_the_base_is_the_same() {
    let args = ["run", "--base", "HEAD", "--format", "json"];
    let project = counting();
    let report = project.run(&args).exits(0).json();
    assert_eq!(report["steps"][0]["tests"]["passed"], 214, "{report:#}");
    assert!(
        codes(&report).iter().all(|c| *c != "tests_dropped"),
        "none is known"
    );
    project.write("tests", "12");
    // To run it again does not make it forgotten.
    for _ in 0..2 {
        let report = project.run(&args).exits(0).json();
        let dropped = caveat(&report, "tests_dropped");
        assert_eq!(
            (&dropped["checks"], &dropped["effect"]),
            (&json!(["unit"]), &json!("note"))
        );
        assert!(dropped["message"].as_str().unwrap().contains("214 -> 12"));
    }
    project
        .run(&["run", "--base", "HEAD"])
        .exits(0)
        .says("214 -> 12");
    // Another command is another measure; as many tests as before are nothing to be said.
    project.write("tests", "215");
    project.run(&args).exits(0).never_says("tests_dropped");
    project.write("tests", "214");
    project.run(&args).exits(0).says("215 -> 214");
    // A base that has fewer tests itself has nothing to answer for.
    project.write("tests", "12").commit("fewer");
    project.run(&args).exits(0).never_says("tests_dropped");
    // With the base before it, what was there counts.
    project
        .run(&["run", "--base", "HEAD~1"])
        .exits(0)
        .says("-> 12");
}

#[test]
fn a_program_below_the_repository_that_is_another_is_said() {
    let args = ["run", "--all", "--format", "json"];
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\ncheck lint: tools/lint\ncheck outside: true\n",
        ),
        (".gitignore", "tools/\n"),
    ]);
    project.script("tools/lint", "#!/bin/sh\nexit 0\n");
    assert_eq!(
        codes(&project.run(&args).exits(0).json()),
        Vec::<&str>::new()
    );
    assert_eq!(
        codes(&project.run(&args).exits(0).json()),
        Vec::<&str>::new()
    );
    project.script("tools/lint", "#!/bin/sh\nexit  0\n");
    for _ in 0..2 {
        let report = project.run(&args).exits(0).json();
        assert_eq!(
            caveat(&report, "program_changed")["checks"],
            json!(["lint"])
        );
    }
    project.script("tools/lint", "#!/bin/sh\nexit 0\n");
    assert_eq!(
        codes(&project.run(&args).exits(0).json()),
        Vec::<&str>::new()
    );
}

/// How many tests there are of the changed files says nothing of how many there were.
#[test]
fn a_check_of_the_changed_files_drops_no_tests() {
    let project = counting();
    let of = |words: &'static str| {
        let text = format!(
            "vplan 1\nwhenChangedAny \"src/**\" {{\n  check unit {{\n    test ./unit.sh{words}\n    format cargo\n  }}\n}}\n"
        );
        project
            .write("contracts/verify.vplan", text)
            .write("tests", "214")
            .commit("contract");
        super::pushed(&project);
        let report = project
            .write("src/a", words)
            .run(&["run", "--format", "json"])
            .exits(0)
            .json();
        assert_eq!(report["steps"][0]["tests"]["passed"], 214, "{report:#}");
        project.write("tests", "12");
        project.run(&["run", "--format", "json"]).exits(0).json()
    };
    assert!(!codes(&of(" {changed}")).contains(&"tests_dropped"));
    assert!(codes(&of(" all")).contains(&"tests_dropped"));
}

/// A check that a role does not ask for, and that another one needs: its `{changed}` is what the
/// change has where the check applies, not where it is written.
#[test]
fn a_needed_check_is_given_its_files() {
    let project = Project::contract(
        "vplan 1\nrole docser {\n  only docs-safe\n}\nwhenChangedOnly \"src/**\" {\n  check words: grep -q good {changed}\n}\n\
         whenChangedAny \"docs/**\" {\n  use words\n}\ncheck docs {\n  run true\n  tags docs-safe\n  needs words\n}\n",
    );
    project.write("docs/a.md", "bad\n");
    let ran = project.run(&["run", "--role", "docser", "--changed", "docs/a.md"]);
    ran.exits(40).warns("words");
}
