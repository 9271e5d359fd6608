//! `compile`, `test` and `lint` end to end: exit code and output judged together, with real tools
//! and with scripts.

use crate::support::{Project, Ran};
use serde_json::Value;
use std::process::Command;

/// A project with these checks, each a name and the lines of its block, and a script that each may
/// run: it says what its first argument holds and exits with the second.
fn project(checks: &[(&str, &[&str])]) -> Project {
    let block = |(name, lines): &(&str, &[&str])| {
        format!("check {name} {{\n  {}\n}}\n", lines.join("\n  "))
    };
    let contract = format!("vplan 1\n{}", checks.iter().map(block).collect::<String>());
    Project::git_with(&[
        ("contracts/verify.vplan", &contract),
        ("say.sh", "cat \"$1\"\nexit \"$2\"\n"),
        (".gitignore", "out/\n"),
        ("tap", "1..2\nok 1 - a\nok 2 - b\n"),
        ("tap-bad", "1..2\nok 1 - a\nnot ok 2 - b\n"),
        ("gcc-bad", "a.c:1:2: error: no\na.c:2:2: warning: hm\n"),
        (
            "gcc-warns",
            "a.c:1:2: warning: hm\na.c:2:2: warning: hm too\n",
        ),
        ("noise", "all good\n"),
        ("none", ""),
    ])
}

fn run(project: &Project) -> Ran {
    project.run(&["run", "--all", "--keep-going", "--format", "json"])
}

fn step<'a>(report: &'a Value, id: &str) -> &'a Value {
    report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["id"] == id)
        .unwrap_or_else(|| panic!("no {id}: {report:#}"))
}

fn statuses(report: &Value) -> Vec<String> {
    let word = |v: &Value| v.as_str().unwrap_or("-").to_owned();
    let steps = report["steps"].as_array().unwrap().iter();
    steps
        .map(|s| {
            format!(
                "{} {} {}",
                word(&s["id"]),
                word(&s["status"]),
                word(&s["reason"])
            )
        })
        .collect()
}

/// Whether a tool is here; a test that needs one that is not says so and holds.
fn has(program: &str, args: &[&str]) -> bool {
    let here = Command::new(program)
        .args(args)
        .output()
        .is_ok_and(|o| o.status.success());
    if !here {
        eprintln!("`{program}` is not here: not tested");
    }
    here
}

#[test]
fn exit_code_and_output_together() {
    // The lines of the block, the exit code of the run, the step's status and reason.
    type Case<'a> = (&'a [&'a str], i32, &'a str);
    let cases: &[Case<'_>] = &[
        (&["test sh say.sh tap 0", "format tap"], 0, "passed -"),
        (&["test sh say.sh tap 0"], 0, "passed -"),
        (&["test sh say.sh tap-bad 0"], 42, "failed contradiction"),
        (&["test sh say.sh tap-bad 1"], 42, "failed tests_failed"),
        (
            &["test sh say.sh tap-bad 1", "exit 0 1"],
            42,
            "failed tests_failed",
        ),
        (&["test sh say.sh tap 1"], 42, "failed contradiction"),
        (
            &["test sh say.sh tap 0", "min-tests 3"],
            42,
            "failed too_few_tests",
        ),
        (&["test sh say.sh tap 0", "min-tests 2"], 0, "passed -"),
        (&["test sh say.sh noise 0"], 0, "passed output_unread"),
        (
            &["test sh say.sh noise 0", "min-tests 1"],
            42,
            "failed no_evidence",
        ),
        (
            &["test sh say.sh noise 0", "format tap"],
            42,
            "failed no_evidence",
        ),
        (
            &["test sh say.sh none 0", "format tap"],
            42,
            "failed no_evidence",
        ),
        (&["test sh say.sh none 0"], 0, "passed output_unread"),
        (
            &["test sh say.sh tap-bad 77", "skip-exit 77"],
            42,
            "failed contradiction",
        ),
        (
            &["test sh say.sh tap-bad 1", "setup"],
            5,
            "failed tests_failed",
        ),
        (
            &["compile sh say.sh gcc-bad 1", "format gcc"],
            41,
            "failed errors",
        ),
        (
            &["compile sh say.sh gcc-bad 0", "format gcc"],
            41,
            "failed contradiction",
        ),
        (
            &[
                "compile sh say.sh gcc-bad 1",
                "format gcc",
                "max-errors 1",
                "exit 0 1",
            ],
            0,
            "passed_with_warnings -",
        ),
        (
            &["compile sh say.sh gcc-bad 1", "format gcc", "max-errors 1"],
            41,
            "failed exit_code",
        ),
        (
            &["compile sh say.sh gcc-warns 0", "format gcc"],
            0,
            "passed_with_warnings -",
        ),
        (
            &[
                "compile sh say.sh gcc-warns 0",
                "format gcc",
                "max-warnings 2",
            ],
            0,
            "passed_with_warnings -",
        ),
        (
            &["lint sh say.sh gcc-warns 0", "format gcc", "max-warnings 1"],
            40,
            "failed warnings",
        ),
        (
            &["lint sh say.sh gcc-bad 0", "format gcc"],
            40,
            "failed errors",
        ),
        (&["lint sh say.sh none 0", "format gcc"], 0, "passed -"),
        (
            &["lint sh say.sh none 1", "format gcc"],
            40,
            "failed exit_code",
        ),
        (&["lint sh say.sh none 0"], 0, "passed -"),
        (&["run sh say.sh tap-bad 0"], 0, "passed -"),
        (&["shell cat gcc-bad"], 0, "passed -"),
    ];
    for (lines, exit, end) in cases {
        let project = project(&[("a", lines)]);
        let ran = run(&project);
        let report = ran.exits(*exit).json();
        assert_eq!(
            statuses(&report),
            [format!("a {end}")],
            "{lines:?}: {report:#}"
        );
        assert_eq!(report["exitCode"], *exit);
    }
}

#[test]
fn counts_and_findings_are_in_the_report() {
    let project = project(&[
        ("compiled", &["compile sh say.sh gcc-warns 0", "format gcc"]),
        ("tested", &["test sh say.sh tap-bad 1", "format tap"]),
        ("silent", &["lint sh say.sh none 0", "format gcc"]),
        ("run", &["run sh say.sh tap-bad 0"]),
    ]);
    let report = run(&project).exits(42).json();
    let compiled = step(&report, "compiled");
    assert_eq!(
        (&compiled["errors"], &compiled["warnings"]),
        (&Value::from(0), &Value::from(2))
    );
    assert_eq!(
        (
            &compiled["diagnostics"][0]["file"],
            &compiled["diagnostics"][0]["line"]
        ),
        (&"a.c".into(), &1.into())
    );
    assert_eq!(compiled["detail"], "2 warnings");
    let tested = step(&report, "tested");
    assert_eq!(
        tested["tests"],
        serde_json::json!({"failed": 1, "passed": 1, "skipped": 0})
    );
    assert_eq!(tested["failedTests"][0]["name"], "b");
    assert_eq!(tested["detail"], "1 of 2 tests failed: b");
    let silent = step(&report, "silent");
    assert_eq!(
        (&silent["errors"], &silent["warnings"]),
        (&Value::from(0), &Value::from(0))
    );
    let run = step(&report, "run");
    assert!(
        run.get("tests").is_none() && run.get("format").is_none(),
        "{run:#}"
    );
}

#[test]
fn what_people_see() {
    let errors: String = (1..=9)
        .map(|n| format!("a.c:{n}:1: error: no {n}\n"))
        .collect();
    let project = project(&[
        ("errors", &["compile sh say.sh gcc-errors 1", "format gcc"]),
        ("tested", &["test sh say.sh tap-bad 1", "format tap"]),
        ("passes", &["test sh say.sh tap 0"]),
        ("warns", &["compile sh say.sh gcc-warns 0", "format gcc"]),
        ("noise", &["test sh say.sh noise 0"]),
    ]);
    project.write("gcc-errors", errors);
    let ran = project.run(&["run", "--all", "--keep-going"]);
    ran.exits(41)
        .says("9 errors, first a.c:1:1: no 1")
        .says("✗ a.c:5:1: no 5")
        .says("… and 4 more")
        .says("1 of 2 tests failed: b")
        .says("passed by exit code alone, what they wrote was not understood: noise");
    let all = ran.out() + &ran.err();
    assert!(
        all.contains("(2 tests)") && all.contains("(2 warnings)"),
        "{all}"
    );
    assert!(!all.contains("✗ a.c:6:1"), "{all}");
    project
        .run(&["explain", "--all"])
        .exits(0)
        .says("read as gcc");
}

#[test]
fn a_try_that_fails_by_its_output_is_tried_again() {
    let script = "test -e out/once && exec sh say.sh tap 0; mkdir -p out; touch out/once; sh say.sh tap-bad 0";
    let project = project(&[("a", &["test sh again.sh", "format tap", "retries 2"])]);
    project.write("again.sh", script);
    let report = run(&project).exits(0).json();
    assert_eq!(statuses(&report), ["a flaky retried"]);
    assert_eq!(step(&report, "a")["tries"], 2);
    assert_eq!(
        step(&report, "a")["tests"]["failed"],
        0,
        "what the last try said"
    );
}

#[test]
fn what_the_log_leaves_out_is_read() {
    let project = project(&[("a", &["test sh late.sh", "format tap"])]);
    project.write(
        "late.sh",
        "yes filler | head -c 300000; echo 1..1; echo not ok 1 - late\n",
    );
    let ran = project.run(&["run", "--all", "--format", "json", "--max-output", "1KiB"]);
    let report = ran.exits(42).json();
    assert_eq!(step(&report, "a")["failedTests"][0]["name"], "late");
}

#[test]
fn secrets_do_not_come_in_by_the_reading() {
    let project = project(&[("a", &["test sh tell.sh", "format tap", "pass-env MY_TOKEN"])]);
    project.write(
        "tell.sh",
        "echo 1..1; echo \"not ok 1 - with $MY_TOKEN\"; exit 1\n",
    );
    let args = [
        "run",
        "--all",
        "--format",
        "json",
        "--grant-env",
        "MY_TOKEN",
    ];
    let ran = project.vplan(&args).env("MY_TOKEN", "open-sesame").run();
    ran.exits(42).never_says("open-sesame");
    assert_eq!(step(&ran.json(), "a")["failedTests"][0]["name"], "with ***");
}

const GOOD: &str = "<testsuite name='s'><testcase name='a'/><testcase name='b'/></testsuite>";
const BAD: &str =
    "<testsuite name='s'><testcase name='a'><failure message='no'/></testcase></testsuite>";

#[test]
fn reports() {
    // What the step does, the setting, the exit code, the status and reason, how many passed and
    // failed.
    type Case<'a> = (&'a str, &'a str, &'a str, i32, &'a str, Option<(u64, u64)>);
    let cases: &[Case<'_>] = &[
        (
            "written",
            "mkdir -p out; cp good out/r.xml",
            "out/*.xml",
            0,
            "passed -",
            Some((2, 0)),
        ),
        (
            "several",
            "mkdir -p out/x; cp good out/r.xml; cp good out/x/r.xml",
            "out/**/*.xml",
            0,
            "passed -",
            Some((4, 0)),
        ),
        (
            "one of several bad",
            "mkdir -p out; cp good out/r.xml; cp bad out/s.xml; exit 1",
            "out/*.xml",
            42,
            "failed tests_failed",
            Some((2, 1)),
        ),
        (
            "bad, and exit 0",
            "mkdir -p out; cp bad out/r.xml",
            "out/*.xml",
            42,
            "failed contradiction",
            Some((0, 1)),
        ),
        (
            "never written",
            "true",
            "out/*.xml",
            42,
            "failed no_evidence",
            None,
        ),
        (
            "never written, but said",
            "cat tap",
            "out/*.xml",
            42,
            "failed no_evidence",
            Some((2, 0)),
        ),
        ("stale", "true", "old/*.xml", 42, "failed no_evidence", None),
        (
            "stale, but said",
            "cat tap",
            "old/*.xml",
            42,
            "failed no_evidence",
            Some((2, 0)),
        ),
        (
            "replaced by the same",
            "cp good old/r.xml",
            "old/*.xml",
            0,
            "passed -",
            Some((2, 0)),
        ),
        (
            "the report decides, not the output",
            "cat tap-bad; cp good old/r.xml",
            "old/*.xml",
            0,
            "passed -",
            Some((2, 0)),
        ),
        (
            "torn",
            "printf '<testsuite><testcase' > old/r.xml",
            "old/*.xml",
            42,
            "failed contradiction",
            None,
        ),
        (
            "out of the repository",
            "ln -sf ../../good-elsewhere old/r.xml",
            "old/*.xml",
            42,
            "failed contradiction",
            None,
        ),
        (
            "a pipe",
            "mkfifo old/p.xml",
            "old/*.xml",
            42,
            "failed contradiction",
            None,
        ),
    ];
    for (name, does, glob, exit, end, counts) in cases {
        let project = project(&[("a", &["test sh do.sh", &format!("report junit \"{glob}\"")])]);
        project
            .write("do.sh", format!("{does}\n"))
            .write("good", GOOD)
            .write("bad", BAD)
            .write("old/r.xml", GOOD);
        project.write("../good-elsewhere", GOOD);
        let report = run(&project).exits(*exit).json();
        assert_eq!(
            statuses(&report),
            [format!("a {end}")],
            "{name}: {report:#}"
        );
        if let Some((passed, failed)) = counts {
            let tests = &step(&report, "a")["tests"];
            assert_eq!(
                (&tests["passed"], &tests["failed"]),
                (&Value::from(*passed), &Value::from(*failed)),
                "{name}"
            );
        }
    }
}

/// A second try does not live on the report of the first.
#[test]
fn a_report_counts_for_its_own_try_only() {
    let project = project(&[(
        "a",
        &["test sh do.sh", "report junit \"out/*.xml\"", "retries 1"],
    )]);
    project.write("good", GOOD);
    project.write(
        "do.sh",
        "mkdir -p out; test -e out/done && exit 0; touch out/done; cp good out/r.xml; exit 1\n",
    );
    let report = run(&project).exits(42).json();
    assert_eq!(statuses(&report), ["a failed no_evidence"]);
    assert_eq!(step(&report, "a")["tries"], 2);
}

#[test]
fn a_linter_may_report_tests() {
    let project = project(&[("a", &["lint sh do.sh", "report junit \"out/*.xml\""])]);
    project
        .write("do.sh", "mkdir -p out; cp bad out/r.xml; exit 1\n")
        .write("bad", BAD);
    let report = run(&project).exits(40).json();
    assert_eq!(statuses(&report), ["a failed errors"]);
    assert_eq!(
        (&step(&report, "a")["errors"], &step(&report, "a")["tests"]),
        (&Value::from(1), &Value::Null)
    );
}

/// Limits are for all batches of a check together, whatever the number of jobs.
#[test]
fn batches_are_one_check() {
    let project = project(&[(
        "a",
        &[
            "lint sh count.sh {changed}",
            "format gcc",
            "max-warnings 40",
        ],
    )]);
    project.write(
        "count.sh",
        "for f in \"$@\"; do case $f in *warn*) echo \"$f:1:1: warning: hm\";; esac; done\n",
    );
    project.commit("script");
    // 4,000 files are one batch.
    let name = |n: usize| {
        format!(
            "d/{n:05}-{}.txt",
            if n.is_multiple_of(200) {
                "warn"
            } else {
                "fine"
            }
        )
    };
    for n in 0..9000 {
        project.write(name(n), "");
    }
    for jobs in ["1", "3"] {
        let ran = project.run(&["run", "--keep-going", "--format", "json", "-j", jobs]);
        let report = ran.exits(40).json();
        let ends = [
            "a#1 passed_with_warnings -",
            "a#2 passed_with_warnings -",
            "a#3 failed warnings",
        ];
        assert_eq!(statuses(&report), ends, "{jobs} jobs");
        assert_eq!(
            step(&report, "a#3")["detail"],
            "45 warnings in the batches 1 to 3 together; at most 40 may be"
        );
    }
}

#[test]
fn cargo_test() {
    if !has("cargo", &["--version"]) {
        return;
    }
    let project = project(&[("a", &["test cargo test --offline", "timeout 10m"])]);
    project.write(
        "Cargo.toml",
        "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    let source = |body: &str| format!("#[test]\nfn one() {{}}\n#[test]\nfn two() {{ {body} }}\n");
    let counts = |ran: &Ran| {
        let report = ran.json();
        let tests = &step(&report, "a")["tests"];
        (tests["passed"].as_u64(), tests["failed"].as_u64())
    };
    // Of the developer's own machine, so that nothing is fetched.
    let cargo = |name: &str, below: &str| {
        let home = std::env::var_os("HOME")
            .map(|home| std::path::Path::new(&home).join(below).into_os_string());
        std::env::var_os(name).or(home).unwrap_or_default()
    };
    let run = || {
        let vplan = project.vplan(&["run", "--all", "--format", "json"]);
        vplan
            .env("CARGO_HOME", cargo("CARGO_HOME", ".cargo"))
            .env("RUSTUP_HOME", cargo("RUSTUP_HOME", ".rustup"))
            .run()
    };
    project.write("src/lib.rs", source(""));
    let passed = run();
    passed.exits(0);
    assert_eq!(counts(&passed), (Some(2), Some(0)));
    project.write("src/lib.rs", source("panic!(\"no\")"));
    let failed = run();
    let report = failed.exits(42).json();
    assert_eq!(counts(&failed), (Some(1), Some(1)));
    assert_eq!(step(&report, "a")["reason"], "tests_failed");
    assert_eq!(step(&report, "a")["failedTests"][0]["name"], "two");
    project.write("src/lib.rs", source("let x: u32 = \"\";"));
    let report = run().exits(42).json();
    assert_eq!(step(&report, "a")["reason"], "errors", "{report:#}");
    assert_eq!(step(&report, "a")["diagnostics"][0]["file"], "src/lib.rs");
    project.write("src/lib.rs", "");
    assert_eq!(
        step(&run().exits(42).json(), "a")["reason"],
        "too_few_tests"
    );
}

#[test]
fn node_test() {
    if !has("node", &["--version"]) {
        return;
    }
    let project = project(&[("a", &["test node --test a.test.js"])]);
    let test = |body: &str| {
        format!(
            "const t = require('node:test');\nt('one', () => {{}});\nt('two', () => {{ {body} }});\n"
        )
    };
    project.write("a.test.js", test(""));
    let report = run(&project).exits(0).json();
    assert_eq!(step(&report, "a")["tests"]["passed"], 2, "{report:#}");
    project.write("a.test.js", test("throw new Error('no')"));
    let report = run(&project).exits(42).json();
    assert_eq!(step(&report, "a")["reason"], "tests_failed");
    assert_eq!(step(&report, "a")["tests"]["failed"], 1);
}

#[test]
fn python_unittest() {
    if !has("python3", &["--version"]) {
        return;
    }
    let project = project(&[("a", &["test python3 -m unittest"])]);
    let test = |body: &str| {
        format!(
            "import unittest\nclass T(unittest.TestCase):\n    def test_one(self): pass\n    def test_two(self): {body}\n"
        )
    };
    project.write("test_a.py", test("pass"));
    let report = run(&project).exits(0).json();
    assert_eq!(step(&report, "a")["tests"]["passed"], 2);
    project.write("test_a.py", test("self.fail()"));
    let report = run(&project).exits(42).json();
    assert_eq!(statuses(&report), ["a failed tests_failed"]);
    project.write("test_a.py", "");
    assert_eq!(
        statuses(&run(&project).exits(42).json()),
        ["a failed too_few_tests"]
    );
}

#[test]
fn gcc() {
    if !has("gcc", &["--version"]) {
        return;
    }
    let project = project(&[(
        "a",
        &["compile gcc -Wall -c a.c -o out/a.o", "max-warnings 1"],
    )]);
    project
        .mkdir("out")
        .write("a.c", "int f(void) { return 1; }\n");
    let report = run(&project).exits(0).json();
    assert_eq!(
        statuses(&report),
        ["a passed -"],
        "silence of a compiler that is known"
    );
    assert_eq!(step(&report, "a")["errors"], 0);
    project.write("a.c", "int f(void) { int x; return 1; }\n");
    assert_eq!(
        statuses(&run(&project).exits(0).json()),
        ["a passed_with_warnings -"]
    );
    project.write("a.c", "int f(void) { int x; int y; return 1; }\n");
    assert_eq!(
        statuses(&run(&project).exits(41).json()),
        ["a failed warnings"]
    );
    project.write("a.c", "int f(void) { return y; }\n");
    let report = run(&project).exits(41).json();
    assert_eq!(statuses(&report), ["a failed errors"]);
    assert_eq!(step(&report, "a")["diagnostics"][0]["file"], "a.c");
}
