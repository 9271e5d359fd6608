//! Tests against the output of real tools, and against output that must not be taken for it.

mod scripts;
mod setup;

use super::scene::EVIDENCE;
use super::*;
use vplan_base::index::Index as _;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::FailureCode as Code;
use vplan_base::word::Word;
use vplan_check::evidence::{Captured, SpawnError};
use vplan_plan::bare::plan_of_words;
use vplan_plan::facts::FactAnswer;

const SCRIPT: Code = Code::MissingScript;
const GOAL: Code = Code::MissingMakeTarget;
const TESTS: Code = Code::NoTestFiles;
const SETUP: Code = Code::SetupOrBootstrap;
const FAILED: Code = Code::Failed;

fn evidence(exit: i32, stdout: &str, stderr: &str) -> Evidence {
    Evidence {
        exit: Some(exit),
        stdout: Captured::from(stdout.as_bytes()),
        stderr: Captured::from(stderr.as_bytes()),
        ..Evidence::default()
    }
}

fn facts(scripts: &[&str], goals: &[&str]) -> Facts {
    let list = |names: &[&str]| FactAnswer::List(names.iter().map(|n| Word::from(*n)).collect());
    let mut facts = Facts::default();
    facts.add(Question::Scripts(RepoPath::root()), list(scripts));
    facts.add(Question::MakeTargets(RepoPath::root()), list(goals));
    facts
}

fn check(cases: &[(&str, i32, &str, &str, Code)], facts: &Facts) {
    for (command, exit, stdout, stderr, want) in cases {
        let got = classify(
            &plan_of_words(&[command]),
            StepIndex::new(0),
            &evidence(*exit, stdout, stderr),
            facts,
        );
        assert_eq!(got.code, *want, "{command}: {got:?}\n{stdout}{stderr}");
    }
}

/// Checks the output of GNU make 4.3 and 3.82, ninja 1.11, just 1.
#[test]
fn goals() {
    check(
        &[
            (
                "make x",
                2,
                "",
                "make: *** No rule to make target 'x'.  Stop.\n",
                GOAL,
            ),
            (
                "make x",
                2,
                "",
                "make: *** No rule to make target `x'.  Stop.\n",
                GOAL,
            ),
            (
                "gmake -j 4 V=1 x",
                2,
                "",
                "gmake: *** No rule to make target 'x'.  Stop.\n",
                GOAL,
            ),
            (
                "make -k a x",
                2,
                "",
                "make: *** No rule to make target 'x'.\nmake: Target 'a' not remade because of errors.\n",
                GOAL,
            ),
            (
                "make x",
                1,
                "",
                "make: *** No rule to make target 'x'.  Stop.\n",
                FAILED,
            ),
            (
                "make x",
                2,
                "",
                "make: *** No rule to make target 'missing.c', needed by 'x'.  Stop.\n",
                FAILED,
            ),
            (
                "make x",
                2,
                "",
                "make: *** No rule to make target 'x', needed by 'all'.  Stop.\n",
                FAILED,
            ),
            (
                "make nosuch",
                2,
                "",
                "make[1]: *** No rule to make target 'nosuch'.  Stop.\nmake: *** [Makefile:6: sub] Error 2\n",
                FAILED,
            ),
            (
                "make y",
                2,
                "",
                "make: *** No rule to make target 'x'.  Stop.\n",
                FAILED,
            ),
            (
                "make x",
                2,
                "make: *** No rule to make target 'x'.  Stop.\n",
                "",
                FAILED,
            ),
            (
                "python3 -m unittest",
                1,
                "",
                "make: *** No rule to make target 'x'.  Stop.\n",
                FAILED,
            ),
            // A goal that the script requests, not the command.
            (
                "npm run e2e",
                2,
                "\n> demo@1.0.0 e2e\n> CI=1 make x\n\n",
                "make: *** No rule to make target 'x'.  Stop.\n",
                FAILED,
            ),
            ("ninja x", 1, "", "ninja: error: unknown target 'x'\n", GOAL),
            (
                "ninja cc",
                1,
                "",
                "ninja: error: unknown target 'cc', did you mean 'c'?\n",
                GOAL,
            ),
            (
                "just x",
                1,
                "",
                "error: Justfile does not contain recipe `x`\nDid you mean `y`?\n",
                GOAL,
            ),
        ],
        &Facts::default(),
    );
    let no_rule = "make: *** No rule to make target 'x'.  Stop.\n";
    check(
        &[
            ("make x", 2, "", no_rule, FAILED),
            ("make x y", 2, "", no_rule, GOAL),
        ],
        &facts(&[], &["x"]),
    );
    let mut none = Facts::default();
    none.add(
        Question::MakeTargets(RepoPath::root()),
        FactAnswer::Word(vplan_plan::facts::Certainty::No),
    );
    check(&[("make x", 2, "", no_rule, SETUP)], &none);
}

/// Checks the output of vitest 2, jest 29, mocha 10, pytest 8, Python 3.12, node 20, go 1.22.
#[test]
fn test_runners() {
    let vitest = "include: **/*.test.ts\n\nNo test files found, exiting with code 1\n";
    let jest =
        "No tests found, exiting with code 1\nRun with `--passWithNoTests` to exit with code 0\n";
    let echo = |body: &str| format!("\n> demo@1.0.0 test\n> {body}\n\n");
    check(
        &[
            ("npx vitest run", 1, " RUN  v2.1.9\n", vitest, TESTS),
            ("pnpm exec vitest run", 1, vitest, "", TESTS),
            ("pnpm vitest", 1, vitest, "", TESTS),
            ("npm test", 1, &echo("vitest run"), vitest, TESTS),
            ("npm test", 1, &echo("tsc -b && jest"), jest, TESTS),
            ("npm test", 1, &echo("node t.js"), vitest, FAILED),
            ("npm test", 1, &echo("jest"), vitest, FAILED),
            ("npm test --silent", 1, "", vitest, TESTS),
            (
                "npm test",
                1,
                "\n> demo@1.0.0 pretest\n> vitest run\n\n\n> demo@1.0.0 test\n> node t.js\n\n",
                vitest,
                FAILED,
            ),
            (
                "yarn test",
                1,
                "yarn run v1.22.22\n$ node t.js\n",
                vitest,
                FAILED,
            ),
            (
                "yarn test",
                1,
                "yarn run v1.22.22\n  $ vitest run\n$ node t.js\n",
                vitest,
                FAILED,
            ),
            (
                "bun run test",
                1,
                "",
                &format!("$ node t.js\n{vitest}"),
                FAILED,
            ),
            (
                "yarn test",
                1,
                "yarn run v1.22.22\n$ vitest run\n",
                vitest,
                TESTS,
            ),
            (
                "bun run test",
                1,
                "",
                &format!("$ vitest run\n{vitest}"),
                TESTS,
            ),
            ("make test", 2, "", vitest, FAILED),
            ("node t.js", 1, "", vitest, FAILED),
            (
                "npx vitest run",
                1,
                " Test Files  1 failed (1)\n",
                vitest,
                FAILED,
            ),
            (
                "npx vitest run",
                1,
                "",
                "FAIL src/a.test.ts > says No test files found, exiting with code 1\n",
                FAILED,
            ),
            ("npx jest", 1, jest, "", TESTS),
            (
                "npx jest",
                1,
                jest,
                "Tests:       1 failed, 1 total\n",
                FAILED,
            ),
            (
                "mocha",
                1,
                "",
                "\x1b[31mError: No test files found: \"test\"\x1b[39m\n",
                TESTS,
            ),
            ("playwright test", 1, "", "Error: No tests found\n", TESTS),
            ("pytest -q", 5, "\nno tests ran in 0.00s\n", "", TESTS),
            ("uv run pytest", 5, "", "", TESTS),
            ("npm test", 5, &echo("pytest -q"), "", TESTS),
            ("npm test", 5, "", "", FAILED),
            ("pytest", 1, "no tests ran in 0.00s\n", "", FAILED),
            ("python3 -m pytest tests", 5, "", "", TESTS),
            (
                "python3.12 -m unittest",
                5,
                "",
                "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n",
                TESTS,
            ),
            ("python3 x.py", 5, "", "NO TESTS RAN\n", FAILED),
            (
                "cargo nextest run",
                4,
                "",
                "error: no tests to run\n",
                TESTS,
            ),
            (
                "go test ./...",
                1,
                "",
                "go: warning: \"./...\" matched no packages\nno packages to test\n",
                TESTS,
            ),
            (
                "go test ./...",
                1,
                "?   \texample.com/a\t[no test files]\n--- FAIL: TestX (0.00s)\nFAIL\texample.com/b\t0.002s\nFAIL\n",
                "",
                FAILED,
            ),
            (
                "node --test a.test.js",
                1,
                "",
                "Could not find '/repo/a.test.js'\n",
                TESTS,
            ),
            (
                "node --test",
                1,
                "# tests 3\n# fail 1\n",
                "Could not find '/x'\n",
                FAILED,
            ),
            (
                "bun test",
                1,
                "",
                "error: 0 test files matching **{.test,.spec,_test_,_spec_}.{js,ts,jsx,tsx} in --cwd=\"/repo\"\n",
                TESTS,
            ),
        ],
        &Facts::default(),
    );
}

#[test]
fn structure_comes_first() {
    let plan = plan_of_words(&["npm run x"]);
    let said = evidence(1, "", "npm error Missing script: \"x\"\n");
    for (evidence, want, rule) in [
        (
            Evidence {
                timed_out: true,
                ..said.clone()
            },
            Code::Timeout,
            "timed-out",
        ),
        (
            Evidence {
                signal: Some("SIGKILL".into()),
                exit: None,
                ..said.clone()
            },
            FAILED,
            "failed",
        ),
        (
            Evidence {
                spawn_error: Some(SpawnError {
                    code: "PROGRAM_NOT_FOUND".into(),
                    message: String::new(),
                }),
                ..Default::default()
            },
            SETUP,
            "not-started",
        ),
        (said, SCRIPT, "npm-missing-script"),
        (Evidence::default(), FAILED, "failed"),
    ] {
        let got = classify(&plan, StepIndex::new(0), &evidence, &Facts::default());
        assert_eq!((got.code, got.rule.as_str()), (want, rule), "{evidence:?}");
    }
    check(
        &[
            ("timeout 5 make", 124, "", "", Code::Timeout),
            ("timeout 5 make", 2, "", "", FAILED),
            ("env CI=1 make", 124, "", "", FAILED),
            ("./timeout.sh", 124, "", "", FAILED),
        ],
        &Facts::default(),
    );
}

/// Checks that an invalid command precedes all evidence, since it was never started.
#[test]
fn a_command_that_is_none() {
    use vplan_base::command::UnsupportedReason as Why;
    let line = crate::tests::plan_of_lines(&["make | tee log"]);
    for (why, text, want) in [
        (Why::Operator, "|", "`|` needs a shell"),
        (Why::Expansion, "$HOME", "`$HOME` needs a shell"),
        (Why::Quote, "'", "`'` is not how a command is written"),
        (
            Why::Empty,
            "",
            "`make | tee log` is not how a command is written",
        ),
    ] {
        let mut plan = line.clone();
        if let Some(unsupported) = &mut plan.steps[0].unsupported {
            (unsupported.reason, unsupported.text) = (why, text.to_owned());
        }
        let late = Evidence {
            timed_out: true,
            ..Evidence::default()
        };
        let got = classify(&plan, StepIndex::new(0), &late, &Facts::default());
        assert_eq!(
            (got.code, got.evidence.as_str()),
            (Code::UnsupportedFormat, want)
        );
    }
}

#[test]
fn what_decided_is_told() {
    let missing = evidence(1, "", "npm warn x\n  \nnpm error   Missing script: \"x\"\n");
    let long = SpawnError {
        code: "x".repeat(300),
        message: String::new(),
    };
    for (command, evidence, rule, want) in [
        (
            "npm run x",
            missing,
            "npm-missing-script",
            "npm error Missing script: \"x\"".to_owned(),
        ),
        ("cmd", evidence(3, "", "no"), "failed", "exit 3".to_owned()),
        (
            "cmd",
            Evidence {
                signal: Some("SIGKILL".into()),
                ..Default::default()
            },
            "failed",
            "SIGKILL".to_owned(),
        ),
        ("cmd", Evidence::default(), "failed", String::new()),
        (
            "timeout 5 cmd",
            evidence(124, "", ""),
            "timed-out",
            "exit 124 of timeout".to_owned(),
        ),
        (
            "cmd",
            Evidence {
                timed_out: true,
                ..Default::default()
            },
            "timed-out",
            "time limit of 120000 ms".to_owned(),
        ),
        (
            "cmd",
            Evidence {
                spawn_error: Some(long),
                ..Default::default()
            },
            "not-started",
            "x".repeat(EVIDENCE),
        ),
        (
            "pytest",
            evidence(5, "", ""),
            "pytest-exit-5",
            "exit 5".to_owned(),
        ),
    ] {
        let mut plan = plan_of_words(&[command]);
        plan.steps[0].timeout_ms = 120_000;
        let got = classify(&plan, StepIndex::new(0), &evidence, &Facts::default());
        assert_eq!(
            (got.step.as_str(), got.rule.as_str(), got.evidence),
            ("command-1", rule, want),
            "{command}"
        );
    }
}

#[test]
fn what_a_command_asks_for() {
    use AskedKind::{MakeGoal, OtherGoal, Script};
    let makefiles = "GNUmakefile makefile Makefile";
    for (command, want) in [
        ("npm run x", Some((Script, "x", Some("package.json")))),
        (
            "npm --prefix web test",
            Some((Script, "test", Some("web/package.json"))),
        ),
        ("npm run x -w a", Some((Script, "x", None))),
        (
            "env CI=1 make x y",
            Some((MakeGoal, "x y", Some(makefiles))),
        ),
        ("make -f b.mk ./x", Some((MakeGoal, "x", Some("b.mk")))),
        // The goals are known only if a single file defines them.
        (
            "make -f a.mk -f b.mk x",
            Some((OtherGoal, "x", Some("b.mk"))),
        ),
        (
            "env MAKEFLAGS=-k make x",
            Some((OtherGoal, "x", Some(makefiles))),
        ),
        ("make --eval=x:y x", Some((OtherGoal, "x", Some(makefiles)))),
        ("make -E x:y x", Some((OtherGoal, "x", Some(makefiles)))),
        (
            "ninja -C out a",
            Some((OtherGoal, "a", Some("out/build.ninja"))),
        ),
        (
            "ninja -f o.ninja a",
            Some((OtherGoal, "a", Some("o.ninja"))),
        ),
        (
            "just a",
            Some((OtherGoal, "a", Some("justfile .justfile Justfile"))),
        ),
        ("just -f b.just a", Some((OtherGoal, "a", Some("b.just")))),
        ("ninja -t clean", None),
        ("npm install", None),
        ("cargo test", None),
    ] {
        let got = requested_names(&plan_of_words(&[command]).steps[0]);
        let files = |a: &RequestedNames| {
            a.paths()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let got = got.map(|a| {
            (
                a.kind,
                a.names.join(" "),
                Some(files(&a)).filter(|f| !f.is_empty()),
            )
        });
        let want =
            want.map(|(kind, names, files)| (kind, names.to_owned(), files.map(str::to_owned)));
        assert_eq!(got, want, "{command}");
    }
}

#[test]
fn a_check_behind_a_cleanup_fails_silently() {
    let plan = plan_of_words(&["make", "make clean", "test -f build/a"]);
    for (exit, stdout, want) in [
        (1, "", Code::SequenceIssue),
        (1, " \n", Code::SequenceIssue),
        (2, "", FAILED),
        (1, "x", FAILED),
    ] {
        let got = classify(
            &plan,
            StepIndex::new(2),
            &evidence(exit, stdout, ""),
            &Facts::default(),
        );
        assert_eq!(got.code, want, "exit {exit} {stdout:?}");
    }
    let plan = plan_of_words(&[
        "make",
        "make clean",
        "rm -r build",
        "test -f build/a",
        "make clean",
        "test -f build/b",
    ]);
    let got = classify(
        &plan,
        StepIndex::new(3),
        &evidence(1, "", ""),
        &Facts::default(),
    );
    assert_eq!(
        (got.code, got.evidence.as_str()),
        (Code::SequenceIssue, "`rm -r build` stands before it")
    );
}

#[test]
fn names_of_rows_are_unique() {
    let mut names: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
    let count = names.len();
    assert_eq!(count, 68);
    names.sort_unstable();
    names.dedup();
    // The same row may occur twice only under different names.
    assert_eq!(names.len(), count);
}

#[test]
fn each_function_of_the_table_is_there() {
    assert!(TABLE.len() > 50, "{}", TABLE.len());
    for row in TABLE.iter() {
        match row.test {
            Test::Structure => assert!(structure(row.name).is_some(), "{}", row.name),
            Test::Text(_, Some(name)) => assert!(unless(name).is_some(), "{name}"),
            _ => {}
        }
    }
}
