//! `expect` and `vplan test`: what passes, what a failure shows, what is refused, what is covered;
//! and their laws.

use crate::support::Project;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use vplan::arbitrary::config;
use vplan::arbitrary::plan::{contract, expect_of, path_of, plain_check, plain_contract, request};
use vplan::base::change::{ChangeSet, ChangedFile, Status};
use vplan::base::diagnostic::Diagnostics;
use vplan::base::index::Index as _;
use vplan::base::path::RepoPath;
use vplan::base::source::{Source, Sources};
use vplan::contract::CheckIndex;
use vplan::contract::expect::validate::validate_tests;
use vplan::contract::expect::{AssertionKind, Expect, ExpectAssertion};
use vplan::contract::{Contract, Sought};
use vplan::front::vplan_test::lower_tests;
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::expectation::alignment::align;
use vplan::plan::expectation::coverage::TestCoverage;
use vplan::plan::expectation::writing::write_expect;
use vplan::plan::expectation::{self, Examiner, evaluate};
use vplan::plan::facts::{Certainty, FactAnswer, Facts, Question};
use vplan::plan::request::{Boundary, Mode, Request, Risk};

/// A contract with one of each, behind which tests are put.
const SHOP: &str = r#"vplan 1
paths api = "apps/api/**" "!**/*.md"
check lint: pnpm run lint
byRole tester reviewer {
  check unit: pnpm test
}
whenChangedAny api "pnpm-lock.yaml" {
  use unit
  check api-tests: pnpm test api
  whenExists "docs" {
    check docs: pnpm run docs
  }
}
tier 1 {
  check build: pnpm run build
}
risk auth tier 1 "**/auth/**"
sequence api-tests -> unit
role docser {
  only docs-safe
}
"#;

fn shop(tests: &str) -> Project {
    Project::contract(&format!("{SHOP}{tests}"))
}

const PASSES: &str = r#"
expect "an API change runs the API tests for a tester" {
  role tester
  changed "apps/api/src/server.ts"
  plan lint api-tests unit
}
expect "nothing for a writer" {
  role docser
  changed "added:x" "deleted:README.md"
  plan
}
"#;

#[test]
fn names_with_dots_and_patterns_of_them() {
    let project = Project::contract(
        r#"vplan 1
check build-core: true
check build-web: true
check test:unit {
  run echo of it
  timeout 1m30s
  needs build-*
}
check py3.14 {
  run true
  tags test:fast
}
check build-all {
  run true
  needs build-*
}
tier 2 {
  check late: true
}
byRole tester {
  use la*
}
sequence build-* -> test:*
expect "all of them, in this order" {
  plan build-core build-web py* build-all test:*
}
expect "some of them" {
  runs py* test:unit
  skips l*e
}
"#,
    );
    let text = std::fs::read_to_string(project.path("contracts/verify.vplan")).unwrap();
    project.run(&["fmt", "--check"]).exits(0);
    project.run(&["test"]).exits(0);
    let plan = |args: &[&str]| {
        let plan = project
            .run(&[&["plan", "--changed-none", "--format", "json"][..], args].concat())
            .exits(0)
            .json();
        let ids = plan["steps"].as_array().unwrap().iter();
        ids.map(|s| s["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(plan(&["--only", "*web"]), ["build-web"]);
    assert_eq!(plan(&["--only", "tag:test:fast"]), ["py3.14"]);
    assert_eq!(
        plan(&["--only", "test:*"]),
        ["build-core", "build-web", "build-all", "test:unit"]
    );
    project
        .run(&["plan", "--changed-none", "--only", "web*"])
        .exits(2);
    // What a pattern means, by hand.
    let names = [
        (
            "needs build-*\n}\ncheck py",
            "needs build-core build-web build-all\n}\ncheck py",
        ),
        (
            "needs build-*\n}\ntier",
            "needs build-core build-web\n}\ntier",
        ),
        ("use la*", "use late"),
        (
            "build-* -> test:*",
            "build-core, build-web, build-all -> test:unit",
        ),
    ];
    let by_hand = names.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let digest = |project: &Project| {
        project
            .run(&["plan", "--changed-none", "--run-end", "--format", "json"])
            .exits(0)
            .json()["steps"]
            .clone()
    };
    assert_eq!(digest(&project), digest(&Project::contract(&by_hand)));
    let record = project.run(&["run", "--changed-none", "--progress", "none"]);
    record.exits(0);
    let runs = std::fs::read_dir(project.path(".vplan/runs")).unwrap();
    let logs = runs.last().unwrap().unwrap().path().join("logs");
    let logs: BTreeSet<String> = std::fs::read_dir(logs)
        .unwrap()
        .map(|log| log.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(logs.iter().all(|log| !log.contains(':')), "{logs:?}");
    assert!(
        logs.iter().any(|log| log.starts_with("test%3aunit")),
        "{logs:?}"
    );
}

#[test]
fn tests_that_pass() {
    let project = shop(PASSES);
    let ran = project.run(&["test"]);
    ran.exits(0).is_quiet();
    assert_eq!(
        ran.out(),
        "ok     an API change runs the API tests for a tester  (contracts/verify.vplan:23)
ok     nothing for a writer  (contracts/verify.vplan:28)

2 tests passed
coverage 66%: checks 3/5 (60%), conditions 5/6 (83%), triggers 0/1 (0%), roles 2/3 (66%)
  contracts/verify.vplan:11  docs: in no plan
  contracts/verify.vplan:15  build: in no plan
  contracts/verify.vplan:10  whenExists \"docs\": never true
  contracts/verify.vplan:17  auth: never pulled
  contracts/verify.vplan:4  reviewer: in no test
"
    );
    assert_eq!(project.run(&["test", "-q"]).exits(0).is_quiet().out(), "");
    let listed = project.run(&["test", "--list", "--filter", "writer"]);
    assert_eq!(
        listed.exits(0).out(),
        "nothing for a writer  (contracts/verify.vplan:28)\n"
    );
}

#[test]
fn a_test_that_fails_shows_both_plans() {
    let project = shop(
        r#"expect "an API change" {
  role tester
  changed "apps/api/src/server.ts"
  command "make test"
  plan lint unit api-tests build make-tset
  skips docs build
}
"#,
    );
    let ran = project.run(&["test"]);
    ran.exits(3)
        .warns("`build` is expected to run and not to run");

    let project = shop(
        r#"expect "an API change" {
  role tester
  changed "apps/api/src/server.ts"
  command "make test"
  plan lint unit api-tests build make-tset
}
"#,
    );
    let ran = project.run(&["test"]);
    ran.exits(40).is_quiet();
    for line in [
        "FAILED an API change  (contracts/verify.vplan:22)\n",
        "× `an API change`: the plan is another\n",
        "[contracts/verify.vplan:26:",
        " 26 │   plan lint unit api-tests build make-tset\n",
        "    expected    actual\n",
        "  +             make-test   runs, too: asked for as a command\n",
        "    lint        lint\n",
        "  - unit\n",
        "    api-tests   api-tests\n",
        "  - build                   does not run: tier 1 was not reached\n",
        "  - make-tset               is unknown: no check, and no command of this test, has this name\n",
        "  +             unit        runs at another place: it runs behind `api-tests`; it waits for `api-tests`\n",
        "1 of 1 test failed\n",
    ] {
        ran.says(line);
    }
}

#[test]
fn runs_and_skips() {
    let project = shop(
        r#"expect "a" {
  changed "apps/api/a.ts"
  runs lint build unit
}
expect "b" {
  changed "apps/api/a.ts"
  exists "docs"
  skips docs build
}
expect "c" {
  command "x"
  skips y
}
"#,
    );
    let ran = project.run(&["test", "--format", "json"]);
    let document = ran.exits(40).is_quiet().json();
    let differences = |i: usize| {
        let list = document["cases"][i]["differences"].as_array().unwrap();
        let one = |d: &Value| {
            format!(
                "{} {} {}: {}",
                d["assertion"], d["kind"], d["name"], d["why"]
            )
            .replace('"', "")
        };
        list.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(
        differences(0),
        ["runs missing build: tier 1 was not reached"]
    );
    assert_eq!(
        differences(1),
        [
            r"skips surplus docs: whenChangedAny api with \apps/api/**\ (line 7) selects apps/api/a.ts; whenExists docs (line 10)"
        ]
    );
    assert_eq!(
        differences(2),
        ["skips unknown y: no check, and no command of this test, has this name"]
    );
    let text = project.run(&["test"]);
    text.exits(40)
        .says("`a`: something does not run")
        .says("it does not run: tier 1 was not reached")
        .says("the plan is: lint api-tests unit")
        .says("`b`: something runs")
        .says("`c`: nothing has this name");
}

#[test]
fn which_tests_run() {
    let project = shop(PASSES);
    project.write(
        "contracts/more.test.vplan",
        "vplan 1\ntests \"verify.vplan\"\nexpect \"beside\" {\n  runs lint\n}\n",
    );
    project.write(
        "contracts/up.test.vplan",
        "vplan 1\ntests \"../contracts/verify.vplan\"\nexpect \"up\" {\n  runs lint\n}\n",
    );
    // Another contract's tests, which would fail in this one.
    project.write("contracts/other.vplan", "vplan 1\ncheck a: true\n");
    project.write(
        "contracts/other.test.vplan",
        "vplan 1\ntests \"other.vplan\"\nexpect \"other\" {\n  plan a\n}\nnonsense\n",
    );
    project.write(
        "contracts/deep/x.test.vplan",
        "vplan 1\ntests \"../verify.vplan\"\nexpect \"deep\" {\n  plan build\n}\n",
    );
    let titles = |args: &[&str]| {
        let document = project
            .run(&[&["test", "--format", "json"], args].concat())
            .exits(0)
            .json();
        document["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["title"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let own = [
        "an API change runs the API tests for a tester",
        "nothing for a writer",
    ];
    assert_eq!(titles(&[]), [own[0], own[1], "beside", "up"]);
    assert_eq!(titles(&["--filter", "up"]), ["up"]);
    assert_eq!(titles(&["contracts/more.test.vplan"]), ["beside"]);
    assert_eq!(
        titles(&["contracts/verify.vplan", "./contracts/up.test.vplan"]),
        ["up", own[0], own[1]]
    );
    project
        .run(&["test", "contracts/deep/x.test.vplan"])
        .exits(40)
        .says("FAILED deep");
    // Its own contract is as wrong as its file.
    project
        .run(&["test", "--contract", "contracts/other.vplan"])
        .exits(3)
        .warns("unknown statement `nonsense`");
    project
        .run(&["test", "contracts/other.test.vplan"])
        .exits(2)
        .warns("`contracts/other.test.vplan` tests `contracts/other.vplan`")
        .warns("run its tests with `--contract contracts/other.vplan`");
    for file in [
        "contracts/none.test.vplan",
        "contracts",
        "/etc/passwd",
        "../repo2/x",
    ] {
        project
            .run(&["test", file])
            .exits(2)
            .warns("is no file of the repository");
    }
    project
        .run(&["test", "--filter", "zz"])
        .exits(2)
        .warns("no title of 4 tests contains `zz`");
    project
        .run(&["test", "--filter", "a", "--min-coverage", "1"])
        .exits(2);
    project.run(&["test", "--min-coverage", "101"]).exits(2);
    project
        .run(&["test", "--format", "dot"])
        .exits(2)
        .warns("this command has no format `dot`");
}

#[test]
fn no_tests_are_no_success() {
    let project = shop("");
    project
        .run(&["test"])
        .exits(44)
        .warns("`contracts/verify.vplan` has no tests, so nothing was verified");
    project
        .run(&["test", "-q", "--min-coverage", "0"])
        .exits(44);
    project.run(&["test", "--filter", "x"]).exits(44);
    let ran = project.run(&["test", "--format", "json"]);
    assert_eq!(ran.exits(44).json()["cases"], json!([]));
    assert_eq!(project.run(&["test", "--list"]).exits(0).out(), "");
    Project::bare()
        .run(&["test"])
        .exits(3)
        .warns("there is no contract");
    Project::contract("vplan 1\ncheck a: x | y\n")
        .run(&["test"])
        .exits(3);
}

#[test]
fn files_of_tests_that_are_none() {
    let with = |text: &str| {
        let project = shop(PASSES);
        project.write("contracts/x.test.vplan", text);
        project
    };
    for (text, message) in [
        (
            "",
            "the file does not say which version of the language it is in",
        ),
        ("vplan 1\n", "the file does not say which contract it tests"),
        (
            "vplan 1\ntests \"verfy.vplan\"\n",
            "there is no contract at `contracts/verfy.vplan`",
        ),
        (
            "vplan 1\ntests \"../../x\"\n",
            "there is no contract at this path",
        ),
        ("vplan 1\ntests \"\"\n", "there is no contract at this path"),
        (
            "vplan 1\ntests \"verify.vplan\"\ncheck a: true\n",
            "`check` does not stand in a file of tests",
        ),
        (
            "vplan 1\ntests \"verify.vplan\"\nexpect \"x\" {\n  plan lnit\n}\n",
            "unknown check `lnit`",
        ),
        (
            "vplan 1\ntests \"verify.vplan\"\nexpect \"x\" {\n  role docsre\n  plan\n}\n",
            "unknown role `docsre`",
        ),
    ] {
        let project = with(text);
        project
            .run(&["test"])
            .exits(3)
            .warns(message)
            .warns("contracts/x.test.vplan");
        assert_eq!(
            project.run(&["test"]).out(),
            "",
            "nothing is said to have passed"
        );
        // Plans know nothing of tests.
        project.run(&["plan", "--changed", "a"]).exits(0);
    }
    let project = shop(PASSES);
    project.write_bytes(b"contracts/x.test.vplan", b"vplan 1\n# \xff\n");
    project.run(&["test"]).exits(3).warns("is not UTF-8");
    project
        .remove("contracts/x.test.vplan")
        .mkdir("contracts/x.test.vplan");
    project
        .run(&["test"])
        .exits(3)
        .warns("cannot be read: it is no regular file");
    project
        .remove("contracts/x.test.vplan")
        .symlink("contracts/x.test.vplan", "/etc/passwd");
    project
        .run(&["test"])
        .exits(3)
        .warns("cannot be read: it leads out of the repository");
    project
        .remove("contracts/x.test.vplan")
        .symlink("contracts/x.test.vplan", "nowhere");
    project
        .run(&["test"])
        .exits(3)
        .warns("cannot be read: there is no such file");
    project
        .remove("contracts/x.test.vplan")
        .write("contracts/x.test.vplan", "#".repeat(3_000));
    project
        .run(&["test", "--max-file", "2KiB"])
        .exits(3)
        .warns("cannot be read: it is larger than 2KiB");
    // Doubtful is not wrong, and is said.
    project.write(
        "contracts/x.test.vplan",
        "vplan 1\ntests \"verify.vplan\"\nexpect \"x\" {\n  changed \"a/*\"\n  runs lint\n}\n",
    );
    project
        .run(&["test"])
        .exits(0)
        .warns("stand for themselves");
}

#[test]
fn coverage() {
    let all = r#"
expect "1" {
  role tester
  changed "apps/api/auth/a.ts"
  exists "docs"
  plan lint api-tests unit docs build
}
expect "2" {
  role reviewer
  changed "pnpm-lock.yaml"
  runs lint
}
expect "3" {
  role docser
  plan
}
"#;
    let project = shop(all);
    project
        .run(&["test", "--min-coverage", "100"])
        .exits(0)
        .says("coverage 100%: checks 5/5 (100%)");
    let document = project.run(&["test", "--format", "json"]).exits(0).json();
    let full = |n: u64| json!({"covered": n, "percent": 100, "total": n});
    assert_eq!(
        document["coverage"],
        json!({
            "covered": 15, "elsewhere": 0, "percent": 100, "total": 15, "uncovered": [],
            "kinds": {"checks": full(5), "conditions": full(6), "roles": full(3), "triggers": full(1)},
        })
    );
    let project = shop(PASSES);
    let ran = project.run(&["test", "--min-coverage", "67"]);
    ran.exits(40)
        .says("2 tests passed")
        .warns("the tests cover 66% of the contract (10 of 15 items), less than the 67% asked for")
        .warns("`whenExists \"docs\"` (contracts/verify.vplan:10, never true)");
    project.run(&["test", "--min-coverage", "66"]).exits(0);
    let document = project.run(&["test", "--format", "json"]).exits(0).json();
    assert_eq!(
        document["coverage"]["uncovered"][0],
        json!({"file": "contracts/verify.vplan", "kind": "check", "line": 11, "name": "docs", "never": "in no plan"})
    );
    // Inside a block that does not apply, a condition decides nothing, whatever it would say.
    let nested = "vplan 1\nbyRole tester {\n  whenChangedAny \"a\" {\n    check x: true\n  }\n}\n";
    let project = Project::contract(&format!(
        "{nested}expect \"t\" {{\n  changed \"a\"\n  plan\n}}\n"
    ));
    project
        .run(&["test"])
        .exits(0)
        .says("conditions 1/4 (25%)")
        .says(":3  whenChangedAny \"a\": never true")
        .says(":3  whenChangedAny \"a\": never false");
    // Nothing to cover is covered.
    let project = Project::contract("vplan 1\nexpect \"t\" {\n  plan\n}\n");
    project
        .run(&["test", "--min-coverage", "100"])
        .exits(0)
        .says("coverage 100%\n");
}

#[test]
fn imported_checks_have_their_names() {
    let web = "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: true\n  check lint: true\n}\nexpect \"not taken along\" {\n  plan nothing\n}\n";
    let main = "vplan 1\nimport \"web.vplan\" as web at \"apps/web\"\ncheck all: true\nexpect \"x\" {\n  changed \"apps/web/src/a\"\n  plan web/unit web/lint all\n}\n";
    let project = Project::git_with(&[
        ("contracts/verify.vplan", main),
        ("contracts/web.vplan", web),
        (
            "contracts/b.test.vplan",
            "vplan 1\ntests \"verify.vplan\"\nexpect \"y\" {\n  skips web/unit\n}\n",
        ),
    ]);
    project
        .run(&["test", "--min-coverage", "100"])
        .exits(0)
        .says("2 tests passed");
    project
        .run(&["test", "contracts/b.test.vplan"])
        .exits(0)
        .says("  contracts/web.vplan:3  web/unit: in no plan\n");
    // What comes from elsewhere has its tests there.
    project.write(
        "contracts/verify.vplan",
        main.replace("check all", "import \"std:docs@1\" as docs\ncheck all"),
    );
    let ran = project.run(&["test", "--min-coverage", "100"]);
    ran.exits(0).says("coverage 100%").says("  not counted: ");
    project.write(
        "contracts/verify.vplan",
        main.replace("web/lint all", "web/lnit all"),
    );
    project
        .run(&["test"])
        .exits(3)
        .warns("unknown check `web/lnit`")
        .warns("web/lint");
    project.write(
        "contracts/verify.vplan",
        main.replace("web.vplan", "none.vplan"),
    );
    project.run(&["test"]).exits(3).never_says("unknown check");
}

/// Whether a text is well-formed XML of elements, attributes and text: every tag closed, every
/// character allowed.
fn well_formed(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let body = text
        .strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
        .expect("a declaration");
    assert!(
        body.chars()
            .all(|c| c == '\n' || (c >= ' ' && !('\u{7f}'..='\u{9f}').contains(&c))),
        "{text:?}"
    );
    for (i, part) in body.split('<').enumerate() {
        if i == 0 {
            assert_eq!(part, "");
            continue;
        }
        let (tag, after) = part.split_once('>').expect("a closed tag");
        for run in [tag, after] {
            for reference in run.split('&').skip(1) {
                let name = reference.split_once(';').expect("a reference").0;
                assert!(
                    ["amp", "lt", "gt", "quot", "apos", "#10", "#9", "#13"].contains(&name),
                    "{name}"
                );
            }
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{text}");
        } else if !tag.ends_with('/') {
            assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
            open.push(tag.split(' ').next().unwrap());
        }
        assert!(!open.is_empty() || after.trim().is_empty());
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn junit() {
    let project = shop(
        r#"expect "<a> & \"b\" 'c' ]]> \u{1b}[2J \t \n \u{202e} é" {
  changed "x<&>"
  plan
}
expect "fine" {
  runs lint
}
"#,
    );
    project.write(
        "contracts/b.test.vplan",
        "vplan 1\ntests \"verify.vplan\"\nexpect \"beside\" {\n  runs lint\n}\n",
    );
    let ran = project.run(&["test", "--format", "junit"]);
    ran.exits(40).is_quiet();
    well_formed(&ran.out());
    ran.says(
        "<testsuites name=\"vplan test\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\">",
    )
    .says("<testsuite name=\"contracts/verify.vplan\" tests=\"2\" failures=\"1\"")
    .says("<testsuite name=\"contracts/b.test.vplan\" tests=\"1\" failures=\"0\"")
    .says("name=\"&lt;a&gt; &amp; &quot;b&quot; &apos;c&apos; ]]&gt; \\u{1b}[2J &#9; &#10; ")
    .says("<failure type=\"expect\" message=\"plan: `lint` runs, too: always\">")
    .says("the plan is: lint</failure>");
    let listed = project.run(&["test", "--format", "junit", "--list"]);
    well_formed(&listed.exits(0).out());
    listed.says("skipped=\"3\"");
    // What a title holds does not reach the terminal as it is.
    project
        .run(&["test"])
        .exits(40)
        .never_says("\u{1b}")
        .never_says("\u{202e}");
}

#[test]
fn a_test_is_part_of_the_contract_and_of_no_plan() {
    let digest = |project: &Project| {
        let plan = project
            .run(&["plan", "--format", "json", "--changed", "a"])
            .exits(0)
            .json();
        (plan["contract"]["digest"].clone(), plan["steps"].clone())
    };
    let (without, with) = (shop(""), shop(PASSES));
    assert_ne!(digest(&without).0, digest(&with).0);
    assert_eq!(digest(&without).1, digest(&with).1);
    let before = digest(&without).0;
    without.write(
        "contracts/x.test.vplan",
        "vplan 1\ntests \"verify.vplan\"\nexpect \"x\" {\n  runs lint\n}\n",
    );
    assert_eq!(before, digest(&without).0, "a file beside it is not");
}

#[test]
fn nothing_of_the_repository_matters() {
    let tests = "whenExists \"there\" {\n  check t: true\n}\ncheck c: cat {changed}\nexpect \"x\" {\n  changed \"gone\"\n  plan lint c build\n  tier 1\n}\n";
    let project = shop(tests);
    project.run(&["test"]).exits(0);
    project
        .write("there", "")
        .write("package.json", "{}")
        .remove("contracts/../.git");
    project.run(&["test"]).exits(0);
}

#[test]
fn our_contracts_do_what_their_tests_say() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut contracts = vec!["contracts/verify.vplan".to_owned()];
    for entry in std::fs::read_dir(here.join("contracts/examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".test.vplan") {
            contracts.push(format!("contracts/examples/{name}"));
        }
    }
    assert!(contracts.len() >= 5, "the examples were not found");
    for contract in contracts {
        // The files alone, in a place where nothing else is.
        let project = Project::bare();
        // What an `each` over folders asks for.
        project.write("packages/core/package.json", "{}\n");
        for path in [contract.clone(), contract.replace(".vplan", ".test.vplan")] {
            if let Ok(text) = std::fs::read(here.join(&path)) {
                project.write(&path, text);
            }
        }
        project
            .run(&["test", "--contract", &contract, "--min-coverage", "100"])
            .exits(0)
            .says("coverage 100%");
    }
}

/// Some of the paths that a contract asks for, and one that it does not.
fn some_exist(contract: &Contract, dice: &[bool]) -> BTreeSet<RepoPath> {
    let other = RepoPath::parse(b"it's \"there\"").unwrap();
    let asked = contract.sought().into_iter().map(path_of);
    let all: BTreeSet<RepoPath> = asked.chain([other]).collect();
    all.into_iter()
        .zip(dice.iter().cycle())
        .filter(|(_, d)| **d)
        .map(|(p, _)| p)
        .collect()
}

/// Reads a file of tests of a contract; there must be no error.
pub fn read(contract: &Contract, tests: &str) -> Result<Vec<Expect>, TestCaseError> {
    let mut sources = Sources::default();
    let text = format!("vplan 1\ntests \"verify.vplan\"\n{tests}");
    let id = sources.add(Source::new("contracts/x.test.vplan", &text));
    let mut sink = Diagnostics::default();
    let tests = lower_tests(&sources, id, 1 << 20, &mut sink);
    let expects = validate_tests(&tests.expects, contract, &sources, &mut sink);
    prop_assert!(
        !sink.has_errors(),
        "{}\n{:?}",
        text,
        sink.iter().collect::<Vec<_>>()
    );
    Ok(expects)
}

/// Request without commands, commands, what exists, and what is asserted.
type Meaning = (
    Request,
    Vec<String>,
    BTreeSet<RepoPath>,
    Vec<(AssertionKind, Vec<String>)>,
);

/// What a test says, without where it says it.
fn meaning(expect: &Expect) -> Meaning {
    let names = |a: &ExpectAssertion| (a.kind, a.names.iter().map(|n| n.value.clone()).collect());
    // A command outside the grammar is known by its text alone.
    let commands = expect.commands.iter().map(|c| c.to_text()).collect();
    let request = Request {
        explicit: Vec::new(),
        ..expectation::request(expect)
    };
    (
        request,
        commands,
        expect.exists.clone(),
        expect.assertions.iter().map(names).collect(),
    )
}

/// Names that look like something else are read back as what they are.
#[test]
fn odd_paths_survive() {
    let file = |path: &str, status| ChangedFile {
        path: RepoPath::from_exact(path.as_bytes()).unwrap(),
        status,
    };
    let changed = vec![
        file("added:y", Status::Modified),
        file("deleted:", Status::Added),
        file(":z", Status::Modified),
        file("modified:added:q", Status::Deleted),
        file("a b\\\"'\u{202e}\n", Status::Modified),
        file("#c", Status::Deleted),
        file("{d", Status::Added),
        file("--at", Status::Modified),
    ];
    let request = Request {
        role: Some("tester".to_owned()),
        changed: ChangeSet::new(changed),
        risk: Risk::High,
        boundaries: vec![Boundary::RunEnd],
        ..Request::default()
    };
    let exists: BTreeSet<RepoPath> = ["added:y", "Cargo.toml", "\\"]
        .iter()
        .map(|p| RepoPath::from_exact(p.as_bytes()).unwrap())
        .collect();
    let contract = plain_contract(vec![plain_check("unit"), plain_check("lint")]);
    for (kind, names) in [
        (
            AssertionKind::Plan,
            vec!["unit".to_owned(), "lint".to_owned()],
        ),
        (AssertionKind::Runs, vec!["lint".to_owned()]),
        (AssertionKind::Plan, vec![]),
    ] {
        let text = write_expect("the \"title\"", &request, &exists, kind, &names).unwrap();
        let read = read(&contract, &text).unwrap();
        let want = (
            request.clone(),
            Vec::new(),
            exists.clone(),
            vec![(kind, names)],
        );
        assert_eq!(meaning(&read[0]), want, "{text}");
    }
    let stray = ChangedFile {
        path: RepoPath::from_exact(b"\xff").unwrap(),
        status: Status::Modified,
    };
    let request = Request {
        changed: ChangeSet::new(vec![stray]),
        ..Request::default()
    };
    assert_eq!(
        write_expect("x", &request, &exists, AssertionKind::Runs, &[]),
        None
    );
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn what_is_written_of_a_plan_passes(
        contract in contract(),
        request in request(),
        dice in prop::collection::vec(any::<bool>(), 1..6),
        title in "[^\0]{0,12}x",
    ) {
        let exists = some_exist(&contract, &dice);
        let bare = expect_of(&request, exists.clone());
        let plan = evaluate(&contract, &bare).plan;
        let Some(text) = write_expect(&title, &request, &exists, AssertionKind::Plan, &plan) else {
            prop_assert!(request.changed.files().iter().any(|f| std::str::from_utf8(f.path.as_bytes()).is_err()));
            return Ok(());
        };
        let read = read(&contract, &text)?;
        prop_assert_eq!(read.len(), 1);
        let verdict = evaluate(&contract, &read[0]);
        prop_assert!(verdict.passed(), "{}\n{:?}", text, verdict.differences);
        prop_assert_eq!(&read[0].title, &title);
        let (want, commands, exist, _) = meaning(&bare);
        prop_assert_eq!(meaning(&read[0]), (want, commands, exist, vec![(AssertionKind::Plan, plan.clone())]));
        // Writing is a fixed point.
        let again = write_expect(&title, &expectation::request(&read[0]), &read[0].exists, AssertionKind::Plan, &plan);
        prop_assert_eq!(again, Some(text));
    }

    #[test]
    fn the_order_of_changed_means_nothing(
        contract in contract(),
        request in request(),
        by in prop::collection::vec(any::<Index>(), 1..8),
    ) {
        let names = ["check-0".to_owned()];
        let Some(text) = write_expect("x", &request, &BTreeSet::new(), AssertionKind::Plan, &names) else { return Ok(()) };
        let mut contract = contract;
        contract.checks[CheckIndex::new(0)].id = "check-0".to_owned();
        let (changed, other): (Vec<&str>, Vec<&str>) = text.lines().partition(|l| l.starts_with("  changed "));
        let mut shuffled: Vec<&str> = Vec::new();
        for (line, at) in changed.iter().zip(by.iter().cycle()) {
            shuffled.insert(at.index(shuffled.len() + 1), line);
        }
        // Several lines, or one.
        let joined = format!("  changed {}", shuffled.iter().map(|l| l.trim_start_matches("  changed ")).collect::<Vec<_>>().join(" "));
        let one = if shuffled.is_empty() { Vec::new() } else { vec![joined.as_str()] };
        let first = read(&contract, &text)?;
        for lines in [&shuffled, &one] {
            let text = [&other[..1], lines, &other[1..]].concat().join("\n") + "\n";
            let second = read(&contract, &text)?;
            prop_assert_eq!(meaning(&first[0]), meaning(&second[0]));
            let (a, b) = (evaluate(&contract, &first[0]), evaluate(&contract, &second[0]));
            prop_assert_eq!((a.plan, a.touched), (b.plan, b.touched));
        }
    }

    /// A test sees the very plan that `vplan plan` would print where only these paths exist.
    #[test]
    fn a_test_sees_the_plan(contract in contract(), request in request(), dice in prop::collection::vec(any::<bool>(), 1..6)) {
        let exists = some_exist(&contract, &dice);
        let request = Request {
            base: None,
            changed_from: None,
            changed_in: None,
            inferred: Vec::new(),
            keep_going: false,
            mode: Mode::Contract,
            no_recover: false,
            ..request
        };
        let mut facts = Facts::default();
        for condition in &contract.conditions {
            for sought in condition.test.sought().into_iter().flatten() {
                let is = exists.iter().any(|path| match sought {
                    Sought::Path(asked) => path == asked,
                    Sought::Glob(glob) => glob.matches(path),
                });
                let there = if is { Certainty::Yes } else { Certainty::No };
                facts.add(Question::exists(sought), FactAnswer::Word(there));
            }
        }
        facts.add(Question::MissingChanged, FactAnswer::List(Vec::new()));
        let Ok(Compiled::Plan(plan)) = compile(Some(&contract), &request, &facts) else {
            return Err(TestCaseError::fail("no plan"));
        };
        let mut names: Vec<String> = plan.steps.iter().map(|s| s.check().to_owned()).collect();
        names.dedup();
        let expect = expect_of(&request, exists.clone());
        prop_assert_eq!(expectation::request(&expect), request);
        prop_assert_eq!(evaluate(&contract, &expect).plan, names);
    }

    #[test]
    fn more_tests_cover_more(contract in contract(), requests in prop::collection::vec(request(), 1..5)) {
        let examiner = Examiner::new(&contract);
        let verdicts: Vec<_> = requests.iter().map(|r| examiner.evaluate(&expect_of(r, BTreeSet::new()))).collect();
        let mut least = 0;
        for count in 0..=verdicts.len() {
            let coverage = TestCoverage::new(&contract, verdicts.iter().take(count).map(|v| &v.touched));
            let total = coverage.total();
            prop_assert!(total.covered >= least);
            prop_assert_eq!(total.total - total.covered, coverage.uncovered.len());
            prop_assert_eq!(total.percent() == 100, coverage.uncovered.is_empty());
            least = total.covered;
        }
        let coverage = TestCoverage::new(&contract, verdicts.iter().map(|v| &v.touched));
        for check in contract.checks.iter() {
            let run = verdicts.iter().any(|v| v.plan.contains(&check.id));
            prop_assert_eq!(run, !coverage.uncovered.iter().any(|i| i.name == check.id && i.line == check.line && i.never == "in no plan"));
        }
    }

    #[test]
    fn alignment_keeps_both_lists(a in "[a-d]{0,12}", b in "[a-d]{0,12}") {
        let split = |text: &'static str| text.split("").filter(|s| !s.is_empty()).collect::<Vec<_>>();
        let (left, right) = (split(a.leak()), split(b.leak()));
        let rows = align(&left, &right);
        prop_assert_eq!(rows.iter().filter_map(|r| r.expected).collect::<Vec<_>>(), left.clone());
        prop_assert_eq!(rows.iter().filter_map(|r| r.actual).collect::<Vec<_>>(), right.clone());
        prop_assert!(rows.iter().all(|r| r.expected.is_some() || r.actual.is_some()));
        let both = rows.iter().filter(|r| r.expected.is_some() && r.actual.is_some()).inspect(|r| assert_eq!(r.expected, r.actual)).count();
        prop_assert_eq!(both, longest(&left, &right));
    }
}

/// The length of the longest common part, by the plain definition with a memory of one row.
fn longest(a: &[&str], b: &[&str]) -> usize {
    let mut row = vec![0; b.len() + 1];
    for x in a {
        let mut corner = 0;
        for (j, y) in b.iter().enumerate() {
            let up = row[j + 1];
            row[j + 1] = if x == y { corner + 1 } else { up.max(row[j]) };
            corner = up;
        }
    }
    row[b.len()]
}
