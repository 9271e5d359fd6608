//! `vplan baseline`, and runs that know what was wrong before.

use crate::support::Project;
use serde_json::Value;

/// A linter with the words of ESLint: each line with `var` is an error. `code` overrides its exit
/// code, `crash` has it end by a signal, `cut` has it print no more than one finding, `also` is
/// printed before all else.
const ESLINT: &str = r#"#!/bin/sh
[ -e also ] && cat also
n=0
for f in src/*.js; do
  found=$(grep -n '\bvar\b' "$f" | cut -d: -f1)
  [ -n "$found" ] || continue
  printf '\n%s/%s\n' "$PWD" "$f"
  for line in $found; do
    n=$((n+1))
    [ -e cut ] && [ "$n" -gt 1 ] && continue
    printf '  %s:1  error  Unexpected var  no-var\n' "$line"
  done
done
[ -e crash ] && kill -SEGV $$
[ "$n" = 0 ] && exit 0
printf '\n\342\234\226 %s problems (%s errors, 0 warnings)\n\n' "$n" "$n"
[ -e code ] && exit $(cat code)
exit 1
"#;

/// A test runner with the words of pytest: each line of `tests.txt` is a test, `bad` ones fail.
const PYTEST: &str = r#"#!/bin/sh
bad=$(grep -c '^bad' tests.txt)
good=$(grep -c '^good' tests.txt)
echo '=== test session starts ==='
echo '=== short test summary info ==='
grep '^bad' tests.txt | while read -r name; do echo "FAILED t.py::$name - assert 0"; done
[ "$bad" = 0 ] && { echo "=== $good passed in 0.01s ==="; exit 0; }
[ -e stopped ] && echo '!!! stopping after 1 failures !!!'
echo "=== $bad failed, $good passed in 0.01s ==="
exit 1
"#;

pub const FILE: &str = "contracts/verify.baseline.kdl";

/// A project whose checks find what is wrong with `src/a.js` (two errors) and `tests.txt` (one).
pub fn project(checks: &str) -> Project {
    let contract = format!("vplan 1\ndefaults {{\n  tool-path \"bin\"\n}}\n{checks}");
    let project = Project::git_with(&[
        ("contracts/verify.vplan", contract.as_str()),
        ("src/a.js", "var a = 1;\nlet b = 2;\nvar c = 3;\n"),
        ("tests.txt", "good one\nbad two\ngood three\n"),
    ]);
    project.script("bin/eslint", ESLINT);
    project.script("bin/pytest", PYTEST);
    at_base(&project);
    project
}

pub const LINT: &str = "check lint {\n  lint eslint .\n}\n";
const UNIT: &str = "check unit {\n  test pytest\n}\n";

/// Commits what is there, as what a change begins from.
pub fn at_base(project: &Project) -> String {
    let commit = project.commit("base");
    project.pushed(&commit);
    commit
}

/// A project in which all that is wrong is known at the base.
pub fn known(checks: &str) -> Project {
    let project = project(checks);
    let _ = project.run(&["run", "--all", "--keep-going"]);
    project.run(&["baseline", "record"]).exits(0);
    at_base(&project);
    project
}

pub fn run(project: &Project, exit: i32) -> Value {
    let ran = project.run(&["run", "--all", "--keep-going", "--format", "json"]);
    ran.exits(exit).json()
}

fn outcome(report: &Value, at: usize) -> (&str, &str) {
    let step = &report["steps"][at];
    (
        step["status"].as_str().unwrap(),
        step["reason"].as_str().unwrap_or_default(),
    )
}

#[test]
fn what_is_known_at_the_base_fails_nothing() {
    let project = project(&format!("{LINT}{UNIT}"));
    let report = run(&project, 42);
    assert_eq!(outcome(&report, 0), ("failed", "errors"));
    assert_eq!(outcome(&report, 1), ("failed", "tests_failed"));
    project
        .run(&["baseline", "record"])
        .exits(0)
        .says("3 known, 3 added, 0 taken out");
    let text = project.read(FILE);
    assert!(text.contains("file=\"src/a.js\" rule=\"no-var\""), "{text}");
    assert!(
        text.contains("test \"unit\" format=\"pytest\" name=\"t.py::bad two\""),
        "{text}"
    );
    // Nothing to do a second time.
    project
        .run(&["baseline", "record"])
        .exits(0)
        .says("as before");
    let base = at_base(&project);
    project.write("src/b.js", "let x = 1;\n");
    let report = run(&project, 0);
    assert_eq!(outcome(&report, 0), ("passed_with_warnings", "known"));
    assert_eq!(outcome(&report, 1), ("passed_with_warnings", "known"));
    let detail = report["steps"][0]["detail"].as_str().unwrap();
    assert!(
        detail.starts_with(&format!("2 known findings of `{FILE}` at ")),
        "{detail}"
    );
    assert_eq!(report["baseline"]["from"], "base");
    assert_eq!(report["baseline"]["commit"], base.as_str());
    assert_eq!(report["baseline"]["entries"], 3);
    let caveat = &report["caveats"][0];
    assert_eq!(
        (&caveat["code"], &caveat["effect"]),
        (&"known_findings".into(), &"note".into())
    );
    assert_eq!(caveat["checks"], serde_json::json!(["lint", "unit"]));
    // It is said wherever a run is shown, and is what vplan writes.
    let ran = project.run(&[
        "run",
        "--all",
        "--junit",
        "../j.xml",
        "--sarif",
        "../s.json",
    ]);
    ran.exits(0)
        .says("2 known findings")
        .says("1 known failing test");
    let junit = project.read("../j.xml");
    assert!(
        junit.contains("failures=\"0\"") && junit.contains("known to fail"),
        "{junit}"
    );
    let sarif: Value = serde_json::from_str(&project.read("../s.json")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        assert_eq!(result["baselineState"], "unchanged", "{result}");
        assert_eq!(result["level"], "warning", "{result}");
    }
    project.run(&["verify"]).exits(0);
    let status = ["status", "--all", "--require", "verified"];
    project.run(&status).exits(0);
}

#[test]
fn what_is_new_comes_first() {
    let project = known(LINT);
    project.write("src/b.js", "var new = 1;\n");
    let report = run(&project, 40);
    assert_eq!(outcome(&report, 0), ("failed", "errors"));
    let detail = report["steps"][0]["detail"].as_str().unwrap();
    assert!(
        detail.contains("2 known of") && detail.ends_with("but 1 more"),
        "{detail}"
    );
    let feedback = &report["feedback"];
    assert_eq!(feedback["known"], 2);
    let first = feedback["diagnostics"][0]["file"].as_str().unwrap();
    assert!(first.ends_with("src/b.js"), "{first}");
    project
        .run(&["feedback"])
        .exits(0)
        .says("known before this change, and no part of the failure: 2");
    project.run(&["run", "--all"]).exits(40).says("(known)");
}

#[test]
fn it_is_listed() {
    let project = known(&format!("{LINT}{UNIT}"));
    project
        .run(&["baseline", "show"])
        .exits(0)
        .says("lint: 2 known")
        .says("src/a.js: no-var: Unexpected var")
        .says("t.py::bad two");
    let shown = project.run(&["baseline", "show", "unit", "--format", "json"]);
    let shown = shown.exits(0).json();
    let entries = shown["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["kind"], "test");
    project.run(&["baseline", "show", "none"]).exits(2);
    project.run(&["baseline", "record", "none"]).exits(2);
    project
        .run(&["baseline", "record", "--run", "none"])
        .exits(2);
    let recorded = project.run(&["baseline", "record", "--format", "json"]);
    let recorded = recorded.exits(0).json();
    assert_eq!(recorded["written"], false);
    let fresh = Project::contract("vplan 1\ncheck a: true\n");
    fresh.run(&["baseline", "show"]).exits(0).says("0 known");
    fresh
        .run(&["baseline", "record"])
        .exits(2)
        .warns("vplan::baseline::run");
}

#[test]
fn what_is_gone_is_taken_out() {
    let project = known(&format!("{LINT}{UNIT}"));
    project.write(
        "src/a.js",
        "let a = 1;\nlet b = 2;\nvar c = 3;\nvar new = 4;\n",
    );
    run(&project, 40);
    project
        .run(&["baseline", "record", "--tighten"])
        .exits(0)
        .says("2 known, 0 added, 1 taken out");
    // A run that did not have a check says nothing of it.
    project.write("src/a.js", "let a = 1;\n");
    project.run(&["run", "lint"]).exits(0);
    project
        .run(&["baseline", "record", "unit", "--tighten"])
        .exits(44)
        .warns("the run did not have it");
    project
        .run(&["baseline", "record", "--tighten"])
        .exits(0)
        .says("1 known, 0 added, 1 taken out");
    assert!(project.read(FILE).contains("t.py::bad two"));
}

#[test]
fn what_was_not_read_whole_is_not_recorded() {
    for (file, text, why) in [
        ("crash", "", "ended by SIG"),
        ("cut", "", "it counts others than are listed"),
        ("code", "2", ""),
    ] {
        let project = known(LINT);
        let before = project.read(FILE);
        project
            .write(file, text)
            .write("src/b.js", "var new = 1;\n");
        run(&project, 40);
        if why.is_empty() {
            // An error of usage with findings is recorded, and excuses nothing: the code is wrong.
            project.run(&["baseline", "record", "lint"]).exits(0);
            at_base(&project);
            run(&project, 40);
            continue;
        }
        project
            .run(&["baseline", "record", "lint"])
            .exits(44)
            .warns(why);
        project.run(&["baseline", "record", "--tighten"]).exits(0);
        assert_eq!(project.read(FILE), before, "{file}");
    }
    // A tool behind another program may not be the only one that would have run.
    let project = project("check lint {\n  lint sh lint.sh\n  format eslint\n}\n");
    project.script("lint.sh", "#!/bin/sh\nexec bin/eslint .\n");
    at_base(&project);
    run(&project, 40);
    project
        .run(&["baseline", "record", "lint"])
        .exits(44)
        .warns("2 of its findings cannot be known");
    assert!(!project.exists(FILE));
}

#[test]
fn thousands_of_findings_are_known() {
    let project = project(LINT);
    project.write("src/a.js", "var a = 1;\n".repeat(2_000));
    at_base(&project);
    run(&project, 40);
    project
        .run(&["baseline", "record"])
        .exits(0)
        .says("2000 known, 2000 added");
    at_base(&project);
    // They are the same further down, and one more is one more.
    project.write(
        "src/a.js",
        format!("let b;\n{}", "var a = 1;\n".repeat(2_000)),
    );
    let report = run(&project, 0);
    assert_eq!(outcome(&report, 0), ("passed_with_warnings", "known"));
    project.write("src/b.js", "var new = 1;\n");
    let report = run(&project, 40);
    let detail = report["steps"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("1 more"), "{detail}");
    // The page has room for some.
    let page = project.run(&["report", "--html", "-"]).exits(0).out();
    assert!(page.contains("1801 more findings"), "{page}");
    assert!(page.contains("src/b.js"), "what is new comes first");
}

#[test]
fn more_findings_than_can_be_listed_are_refused() {
    let project = project(LINT);
    project.write("src/a.js", "var a = 1;\n".repeat(3_001));
    at_base(&project);
    run(&project, 40);
    project
        .run(&["baseline", "record", "lint"])
        .exits(44)
        .warns("it has 3001 findings, and at most 3000 of a severity can be listed");
    assert!(!project.exists(FILE));
}

#[test]
fn a_damaged_file_is_an_error() {
    let project = known(LINT);
    let good = project.read(FILE);
    for (text, code) in [
        (
            good.replace("version 1", "version 9"),
            "vplan::baseline::version",
        ),
        (
            good.replace("finding ", "found "),
            "vplan::baseline::unknown",
        ),
        (
            good.replace(" format=\"eslint\"", ""),
            "vplan::baseline::missing",
        ),
        (
            good.replace("sha256:", "sha1:"),
            "vplan::baseline::bad_value",
        ),
        (format!("<<<<<<< ours\n{good}"), "vplan::baseline::syntax"),
    ] {
        project.write(FILE, text);
        for args in [
            &["check"][..],
            &["run", "--all"],
            &["plan", "--all"],
            &["baseline", "show"],
            &["baseline", "record"],
        ] {
            project.run(args).exits(3).warns(code);
        }
    }
    project.write(FILE, b"version 1\n\xff");
    project.run(&["run", "--all"]).exits(3).warns("not UTF-8");
    project.remove(FILE).symlink(FILE, "/etc/passwd");
    project.run(&["run", "--all"]).exits(3).warns("a symlink");
}

#[test]
fn a_check_that_is_not_there_is_a_warning() {
    let project = known(LINT);
    project.run(&["check"]).exits(0);
    let text = project.read(FILE);
    project.write(FILE, text.replace("\"lint\"", "\"linter\""));
    project
        .run(&["check"])
        .exits(0)
        .warns("vplan::baseline::unknown_check");
    project.run(&["check", "--deny", "unknown_check"]).exits(3);
}

#[test]
fn growth_weakens() {
    let project = known(LINT);
    let base = project.git(&["rev-parse", "HEAD"]);
    project.write("src/b.js", "var new = 1;\n");
    run(&project, 40);
    project.run(&["baseline", "record"]).exits(0);
    let weaker = project.run(&["diff", "--base", &base, "--format", "json"]);
    let weaker = weaker.exits(45).json();
    assert_eq!(weaker["differences"][0]["class"], "weakens");
    assert_eq!(weaker["differences"][0]["subject"], "baseline of lint");
    project
        .run(&["explain", "--all"])
        .exits(0)
        .says("adds 1 entry (`lint` 1), which excuse nothing before");
    // Files: two folders with a contract and a baseline each.
    project.mkdir("../old").mkdir("../new");
    for (dir, commit) in [("../old", "HEAD"), ("../new", "")] {
        for file in ["verify.vplan", "verify.baseline.kdl"] {
            let path = format!("contracts/{file}");
            let text = if commit.is_empty() {
                project.read(&path)
            } else {
                project.git(&["show", &format!("{commit}:{path}")]) + "\n"
            };
            project.write(format!("{dir}/{file}"), text);
        }
    }
    let (old, new) = ("../old/verify.vplan", "../new/verify.vplan");
    project.run(&["diff", old, new]).exits(45);
    project
        .run(&["diff", new, old])
        .exits(0)
        .says("1 known finding taken out");
}

#[test]
fn which_one_counts() {
    // There is no contract at the base: the work tree's counts, and the answer says so.
    let project = Project::git_with(&[("src/a.js", "var a = 1;\n")]);
    project.script("bin/eslint", ESLINT);
    let contract = format!("vplan 1\ndefaults {{\n  tool-path \"bin\"\n}}\n{LINT}");
    project.write("contracts/verify.vplan", &contract);
    run(&project, 40);
    project.run(&["baseline", "record"]).exits(0);
    let report = run(&project, 0);
    assert_eq!(report["baseline"]["from"], "work_tree");
    let said = report["caveats"].to_string();
    assert!(
        said.contains("in the work tree, which counts because"),
        "{said}"
    );
    // Paths are named, and no base is known: that of HEAD counts.
    let project = known(LINT);
    project.remove(".git/refs/remotes/origin");
    let config = project.read(".git/config");
    let (own, _) = config.split_once("[remote").unwrap();
    project.write(".git/config", own);
    project.write("src/b.js", "let x = 1;\n");
    let ran = project.run(&["run", "--changed", "src/b.js", "--format", "json"]);
    let report = ran.exits(0).json();
    let from = report["baseline"]["from"].as_str().unwrap();
    assert!(["head", "base"].contains(&from), "{report:#}");
    assert_eq!(
        report["baseline"]["commit"],
        project.git(&["rev-parse", "HEAD"]).as_str()
    );
}

#[test]
fn shards_agree() {
    let project = known(&format!("{LINT}{UNIT}"));
    project.run(&["plan", "--all", "-o", "../p.json"]).exits(0);
    for (shard, dir) in [("1/2", "../one"), ("2/2", "../two")] {
        let args = [
            "run",
            "--plan",
            "../p.json",
            "--shard",
            shard,
            "--records",
            dir,
        ];
        project.run(&args).exits(0);
    }
    let merged = project.run(&["merge", "../one", "../two", "--format", "json"]);
    let merged = merged.exits(0).json();
    assert_eq!(merged["baseline"]["from"], "base");
    assert_eq!(outcome(&merged, 0), ("passed_with_warnings", "known"));
    project.write("../merged.json", merged.to_string());
    project.run(&["verify", "../merged.json"]).exits(0);
}
