//! What a run leaves beside its report: feedback, JUnit, SARIF, and what it says to GitHub.

use crate::support::Project;
use serde_json::{Value, json};

/// Whether a value is a SARIF 2.1.0 log, by the rules of the schema for what vplan writes.
pub fn is_sarif(log: &Value) -> Result<(), String> {
    let text = |value: &Value, what: &str| match value.as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(format!("{what} is no text: {value}")),
    };
    let keys = |value: &Value, known: &[&str], what: &str| -> Result<(), String> {
        let object = value.as_object().ok_or(format!("{what} is no object"))?;
        match object.keys().find(|k| !known.contains(&k.as_str())) {
            Some(key) => Err(format!("{what} may not have `{key}`")),
            None => Ok(()),
        }
    };
    keys(log, &["$schema", "version", "runs"], "the log")?;
    (log["version"] == "2.1.0")
        .then_some(())
        .ok_or("its version is another")?;
    text(&log["$schema"], "the schema")?;
    let [run] = log["runs"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    else {
        return Err("not one run".into());
    };
    let known = [
        "automationDetails",
        "invocations",
        "originalUriBaseIds",
        "properties",
        "results",
        "tool",
    ];
    keys(run, &known, "the run")?;
    let driver = &run["tool"]["driver"];
    keys(
        driver,
        &["name", "version", "semanticVersion", "rules"],
        "the driver",
    )?;
    (driver["name"] == "vplan")
        .then_some(())
        .ok_or("the tool is another")?;
    let rules = driver["rules"].as_array().ok_or("no rules")?;
    let mut ids = std::collections::BTreeSet::new();
    for rule in rules {
        keys(
            rule,
            &["defaultConfiguration", "id", "shortDescription"],
            "a rule",
        )?;
        text(&rule["shortDescription"]["text"], "a description")?;
        ids.insert(text(&rule["id"], "an id")?)
            .then_some(())
            .ok_or("two rules of one id")?;
    }
    for invocation in run["invocations"].as_array().ok_or("no invocations")? {
        invocation["executionSuccessful"]
            .as_bool()
            .ok_or("no executionSuccessful")?;
        invocation["exitCode"].as_i64().ok_or("no exitCode")?;
    }
    for result in run["results"].as_array().ok_or("no results")? {
        keys(
            result,
            &["level", "locations", "message", "ruleId", "ruleIndex"],
            "a result",
        )?;
        text(&result["message"]["text"], "a message")?;
        ["error", "warning"]
            .contains(&result["level"].as_str().unwrap_or(""))
            .then_some(())
            .ok_or("no level")?;
        let index = usize::try_from(result["ruleIndex"].as_u64().ok_or("no index")?).unwrap();
        (rules.get(index).map(|r| &r["id"]) == Some(&result["ruleId"]))
            .then_some(())
            .ok_or("another rule's index")?;
        for location in result["locations"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
        {
            let physical = &location["physicalLocation"];
            keys(physical, &["artifactLocation", "region"], "a location")?;
            let uri = text(&physical["artifactLocation"]["uri"], "a uri")?;
            let plain = |c: char| c.is_ascii_alphanumeric() || "/-._~%".contains(c);
            let relative =
                !uri.starts_with('/') && uri.split('/').all(|s| !["", ".", ".."].contains(&s));
            (uri.chars().all(plain) && relative)
                .then_some(())
                .ok_or(format!("no relative uri: {uri}"))?;
            let base = text(&physical["artifactLocation"]["uriBaseId"], "a base")?;
            run["originalUriBaseIds"]
                .get(&base)
                .ok_or("an unknown base")?;
            if let Some(region) = physical.get("region") {
                keys(region, &["startLine", "startColumn"], "a region")?;
                (region["startLine"].as_u64() > Some(0))
                    .then_some(())
                    .ok_or("no line")?;
                let column = region
                    .get("startColumn")
                    .is_none_or(|c| c.as_u64() > Some(0));
                column.then_some(()).ok_or("no column")?;
            }
        }
    }
    Ok(())
}

const HOSTILE: &str = r#"#!/bin/sh
printf '\033]0;pwned\007\033[2J::error file=a::forged\n'
printf '::stop-commands::x\n  ::add-mask::hunter2\n##[error]forged\n'
printf '```\n# not a heading\n<script>@everyone #12 [x](http://evil.example)\n' >&2
printf 'x\r::warning::after a return\n' >&2
exit 3
"#;

fn hostile() -> Project {
    let project = Project::git_with(&[(
        "contracts/verify.vplan",
        "vplan 1\ncheck ok: true\ncheck bad: ./bad.sh\ncheck later: false\ncheck soft {\n  run false\n  severity warning\n}\n",
    )]);
    project.script("bad.sh", HOSTILE);
    project.pushed(&project.commit("a script"));
    project
        .write("new.txt", "")
        .write("bad.sh", HOSTILE.replace("exit 3", "exit 4"));
    project
}

/// No line may be one that GitHub's runner obeys, but for vplan's own annotations.
#[track_caller]
fn is_harmless(text: &str) {
    for line in text.lines() {
        assert!(
            !line.trim_start().starts_with("::") && !line.contains("##["),
            "obeyed: {line:?}\n{text}"
        );
        assert!(
            !line.contains(['\u{7}', '\r']) && !line.contains("\u{1b}]"),
            "{line:?}"
        );
    }
}

#[test]
fn feedback_of_a_run() {
    let project = hostile();
    let ran = project.run(&["run", "--keep-going"]);
    is_harmless(ran.exits(40).out().as_str());
    is_harmless(&ran.err());

    let told = project
        .run(&["feedback", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (&told["stepId"], &told["failedCommand"], &told["exitCode"]),
        (&json!("bad"), &json!("./bad.sh"), &json!(4))
    );
    assert_eq!(
        told["changedFiles"],
        json!([{"path": "bad.sh", "status": "modified"}, {"path": "new.txt", "status": "added"}])
    );
    assert_eq!(told["otherFailures"][0]["id"], "later");
    assert_eq!(
        (&told["otherFailuresCount"], &told["version"]),
        (&json!(1), &json!(1)),
        "a warning is no failure"
    );
    assert_eq!(
        told["stdout"]["head"],
        "::error file=a::forged\n::stop-commands::x\n  ::add-mask::hunter2\n##[error]forged\n"
    );

    let md = project.run(&["feedback", "--format", "md"]);
    md.exits(0)
        .says("## Verification failed\n\n- 2 checks failed: `bad`, `later`\n")
        .says("- check: `bad`\n");
    md.says("- what happened: failed `exit code 4`")
        .says("- added `new.txt`\n")
        .says("- modified `bad.sh`\n");
    md.says("\n````text\n```\n# not a heading\n")
        .says("| ::error file=a::forged\n")
        .says("## [error]forged\n");
    is_harmless(&md.out());

    let text = project.run(&["feedback"]);
    text.exits(0)
        .says("Verification failed\n  2 checks failed: bad, later\n  note: definition-changed: ")
        .says("  check: bad\n");
    text.says("  │ ::stop-commands::x\n")
        .says("  │ ::warning::after a return\n")
        .says("\nAlso failed: later:\n  check: later\n  command: false\n  what happened: failed exit code 1");
    is_harmless(&text.out());

    // The run by its id, by the beginning of it, its directory, its report.
    let id = told["runId"].as_str().unwrap().to_owned();
    let folder = format!(".vplan/runs/{id}");
    for name in [&id, &id[..30], &folder, &format!("{folder}/report.json")] {
        assert_eq!(
            project.run(&["feedback", name]).exits(0).out(),
            text.out(),
            "{name}"
        );
    }
    let report: Value =
        serde_json::from_str(&project.read(&format!("{folder}/report.json"))).unwrap();
    assert_eq!(report["feedback"], told);
}

/// Two failing checks with much to say, one that warns, one that passes, one left out.
fn three() -> Project {
    let project = Project::git_with(&[(
        "contracts/verify.vplan",
        "vplan 1\ncheck first: sh first.sh\ncheck second: sh second.sh\ncheck soft {\n  run sh soft.sh\n  severity warning\n}\n\
         check fine: true\nwhenChangedAny \"docs/**\" {\n  check docs: true\n}\n",
    )]);
    project
        .write("first.sh", "seq 1 20000\necho first-cause >&2\nexit 1\n")
        .write("second.sh", "seq 1 20000\necho second-cause >&2\nexit 1\n")
        .write("soft.sh", "echo soft-cause >&2\nexit 1\n");
    project
}

#[test]
fn every_failing_check_has_its_details() {
    let project = three();
    project.run(&["run", "--keep-going"]).exits(40);
    for format in ["text", "md", "json"] {
        let told = project.run(&["feedback", "--format", format]);
        told.exits(0)
            .says("first-cause")
            .says("second-cause")
            .never_says("soft-cause");
    }
    let told = project.run(&["feedback", "--format", "json"]).json();
    assert_eq!(told["failing"], json!(["first", "second"]));
    let other = &told["otherFailures"][0];
    assert_eq!(
        (&other["id"], &other["exitCode"], &other["stderr"]["head"]),
        (&json!("second"), &json!(1), &json!("second-cause\n"))
    );
    assert!(other["suggestion"].is_string() && other["log"].is_string());
    assert!(told.get("roundsCounted").is_none());
    // A budget cuts details, and says so; names and the first message stay.
    for (format, size) in [("text", 1), ("md", 1), ("json", 1), ("md", 3)] {
        let args = [
            "feedback",
            "--format",
            format,
            "--max-feedback",
            &format!("{size}KiB"),
        ];
        let ran = project.run(&args);
        ran.exits(0).says("first-cause").says("second");
        assert!(
            ran.out().len() <= 1024 * size + 100,
            "{format}: {}",
            ran.out()
        );
        assert!(
            ran.out().contains("shortened") || ran.out().contains("\"cut\":true"),
            "{format}: {}",
            ran.out()
        );
    }
    for (size, says) in [
        ("12B", "expected at least `1KiB`"),
        ("x", "expected a size"),
    ] {
        project
            .run(&["feedback", "--max-feedback", size])
            .exits(2)
            .warns(says);
    }
    // With a subject, rounds are counted, and only then they are told.
    project.run(&["run", "--subject", "M1"]).exits(40);
    project
        .run(&["feedback"])
        .says("Verification failed (attempt 1, 3 retries left)\n");
    project.run(&["run", "--attempt", "2"]).exits(40);
    project
        .run(&["feedback"])
        .says("Verification failed (attempt 2, 2 retries left)\n");
}

#[test]
fn the_feedback_of_one_check() {
    let project = three();
    project.run(&["run", "--keep-going"]).exits(40);
    for format in ["text", "md", "json"] {
        let told = project.run(&["feedback", "--check", "second", "--format", format]);
        told.exits(0)
            .says("second-cause")
            .says("first")
            .never_says("first-cause");
        let told = project.run(&["feedback", "--check", "soft", "--format", format]);
        told.exits(0).says("soft-cause").never_says("first-cause");
    }
    let told = project
        .run(&["feedback", "--check", "second", "--format", "json"])
        .json();
    assert_eq!(
        (&told["stepId"], &told["otherFailuresCount"]),
        (&json!("second"), &json!(1))
    );
    for (name, says) in [
        (
            "fine",
            "`fine` has nothing to repair: passed; failed: `first`, `second`, `soft`",
        ),
        ("docs", "`docs` has nothing to repair: left out: "),
    ] {
        for format in ["text", "json"] {
            let ran = project.run(&["feedback", "--check", name, "--format", format]);
            ran.exits(0).warns(says);
            assert_eq!(ran.out(), "", "{name}");
        }
    }
    for (name, says) in [
        ("secnd", "did you mean `second`?"),
        (
            "\u{1b}[31mx",
            "no check of this run is called `\\u{1b}[31mx`",
        ),
        ("", "no check of this run is called ``"),
    ] {
        project
            .run(&["feedback", "--check", name])
            .exits(2)
            .warns(says);
    }
    // Behind the first failure, without `--keep-going`.
    project.run(&["run"]).exits(40);
    project
        .run(&["feedback", "--check", "second"])
        .exits(0)
        .warns("`second` has nothing to repair: not run");
}

#[test]
fn nothing_failed_nothing_said() {
    let project = Project::contract("vplan 1\ncheck ok: true\n");
    project.run(&["run", "--changed-none"]).exits(0);
    for format in ["text", "md", "json"] {
        let ran = project.run(&["feedback", "--format", format]);
        ran.exits(0).is_quiet();
        assert_eq!(ran.out(), "", "{format}");
    }
}

#[test]
fn feedback_of_nothing() {
    let project = Project::contract("vplan 1\ncheck ok: true\n");
    project
        .run(&["feedback"])
        .exits(2)
        .warns("no run is recorded yet");
    project.run(&["run", "--changed-none"]).exits(0);
    project.run(&["run", "--changed-none"]).exits(0);
    project
        .write("torn.json", "{\"version\":1,")
        .write("other.json", "{\"version\":9}")
        .write("no.json", "[]");
    project.mkdir("empty");
    for (args, says) in [
        (&["feedback", "nowhere"][..], "no run is called `nowhere`"),
        (&["feedback", "./nowhere"], "`./nowhere` cannot be read"),
        (&["feedback", "2"], "is the beginning of 2 runs"),
        (&["feedback", "latest~7"], "there are only 2 runs"),
        (&["feedback", ""], "a value is required"),
        (&["feedback", "torn.json"], "ends in the middle"),
        (&["feedback", "other.json"], "has version 9"),
        (&["feedback", "no.json"], "is no report"),
        (
            &["feedback", "./empty"],
            "`./empty/report.json` cannot be read",
        ),
        (&["feedback", "--records", "nowhere"], "nowhere"),
        (&["feedback", "--format", "kdl"], "has no format `kdl`"),
        (&["feedback", "a", "b"], "unexpected argument"),
    ] {
        let ran = project.run(args);
        ran.exits(2).warns(says);
        assert_eq!(ran.out(), "");
    }
    // A run that was killed left no report.
    for run in std::fs::read_dir(project.path(".vplan/runs")).unwrap() {
        std::fs::remove_file(run.unwrap().path().join("report.json")).unwrap();
    }
    project
        .run(&["feedback"])
        .exits(2)
        .warns("it did not come to its end");
}

#[test]
fn a_change_outside_the_scope() {
    let contract = "vplan 1\nscope {\n  allow \"src/**\"\n  deny \"**/*.pem\"\n}\ncheck build: cargo --version\n";
    let project = Project::contract(contract);
    let changed = [
        "--changed",
        "src/a.rs",
        "added:Cargo.lock",
        "src/key.pem",
        "docs/x.md",
    ];
    let ran = project.run(&[&["run"], &changed[..], &["--format", "json"]].concat());
    let report = ran.exits(40).json();
    let told = &report["feedback"];
    assert_eq!(
        (&told["failureCode"], &told["reason"]),
        (&json!("policy_violation"), &json!("policy"))
    );
    assert_eq!(
        told["outsideScope"],
        json!([
            {"list": "deny", "path": "src/key.pem"},
            {"list": "allow", "path": "Cargo.lock"},
            {"list": "allow", "path": "docs/x.md"},
        ])
    );
    assert_eq!(
        told["allowedPathsNeeded"],
        json!([{"path": "Cargo.lock", "stepId": "build"}]),
        "never what is denied"
    );
    assert_eq!(
        report["steps"][0]["status"], "not_run",
        "and nothing is allowed by itself"
    );
    let md = project.run(&["feedback", "--format", "md"]);
    md.exits(0)
        .says("- `src/key.pem`: in `deny`\n")
        .says("- `docs/x.md`: not in `allow`\n");
    md.says("- `Cargo.lock`, which `build` works with\n")
        .says("do not change the contract's `scope` yourself");
    // Annotations at the files themselves, and a report in which something is red.
    let ran = project.run(
        &[
            &["run"],
            &changed[..],
            &["--github", "on", "--junit", "j.xml"],
        ]
        .concat(),
    );
    ran.exits(40)
        .warns("::error file=src/key.pem,title=outside the scope::the contract's scope denies");
    assert!(
        project.read("j.xml").contains("errors=\"1\""),
        "{}",
        project.read("j.xml")
    );
}

const LINTED: &str = "#!/bin/sh\nprintf 'src/a b.c:3:7: error: bad %% thing, really\\nsrc/a b.c:4:1: warning: hm\\n' >&2\nexit 1\n";

fn linted() -> Project {
    let project = Project::git_with(&[(
        "contracts/verify.vplan",
        "vplan 1\ncheck lint {\n  lint ./lint.sh\n  format gcc\n}\ncheck unit {\n  test false\n}\ncheck slow {\n  run sleep 600\n  timeout 200ms\n}\n\
         check gone: no-such-program\ncheck soft {\n  run false\n  severity warning\n}\ncheck ok: true\n",
    )]);
    project.script("lint.sh", LINTED).write("src/a b.c", "");
    project.commit("begin");
    project
}

#[test]
fn junit_and_sarif() {
    let project = linted();
    let args = [
        "run",
        "--changed-none",
        "--keep-going",
        "--no-recover",
        "--junit",
        "out/junit.xml",
        "--sarif",
        "out/r.sarif",
    ];
    project.run(&args).exits(42);
    let xml = project.read("out/junit.xml");
    let steps = "<testsuite name=\"vplan run\" tests=\"6\" failures=\"3\" errors=\"1\" skipped=\"1\" time=\"";
    assert!(xml.contains(steps), "{xml}");
    for part in [
        "<testcase classname=\"contracts/verify.vplan\" name=\"unit\" file=\"contracts/verify.vplan\" line=\"6\" time=\"",
        "<failure type=\"exit_code\" message=\"exit code 1, and it wrote nothing\">false",
        "<failure type=\"time_limit\" message=\"it took longer than 200ms\">",
        "<error type=\"missing\" message=\"`no-such-program` is not on",
        "<skipped message=\"failed as a warning: exit code 1\"/>",
        "<property name=\"verdict\" value=\"errored\"/>",
        "<system-err>src/a b.c:3:7: error: bad % thing, really",
    ] {
        assert!(xml.contains(part), "no {part:?} in {xml}");
    }
    let log: Value = serde_json::from_str(&project.read("out/r.sarif")).unwrap();
    is_sarif(&log).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let of = |rule: &str| {
        results
            .iter()
            .find(|r| r["ruleId"] == rule)
            .unwrap_or_else(|| panic!("no {rule} in {log}"))
    };
    let unit = &of("unit")["locations"][0]["physicalLocation"];
    assert_eq!(
        (
            &unit["artifactLocation"]["uri"],
            &unit["region"]["startLine"]
        ),
        (&json!("contracts/verify.vplan"), &json!(6))
    );
    assert_eq!(
        (&of("unit")["level"], &of("soft")["level"]),
        (&json!("error"), &json!("warning"))
    );
    assert_eq!(
        log["runs"][0]["invocations"][0],
        json!({"executionSuccessful": false, "exitCode": 42})
    );

    // A pass has no results, and its own JUnit.
    project
        .run(&[
            "run",
            "--changed-none",
            "--only",
            "soft",
            "--only",
            "ok",
            "--junit",
            "a.xml",
            "--sarif",
            "b",
        ])
        .exits(0);
    let log: Value = serde_json::from_str(&project.read("b")).unwrap();
    is_sarif(&log).unwrap();
    assert_eq!(
        log["runs"][0]["results"].as_array().unwrap().len(),
        1,
        "the warning"
    );
    assert!(
        project
            .read("a.xml")
            .contains("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\"")
    );

    // On standard output; people read standard error then.
    let ran = project.run(&[
        "run",
        "--changed-none",
        "--only",
        "unit",
        "--no-recover",
        "--junit",
        "-",
    ]);
    ran.exits(42).warns("failed: 1 failed");
    assert!(
        ran.out().starts_with("<?xml") && ran.out().ends_with("</testsuites>\n"),
        "{}",
        ran.out()
    );
    let ran = project.run(&[
        "run",
        "--changed-none",
        "--only",
        "unit",
        "--no-recover",
        "--sarif",
        "-",
    ]);
    is_sarif(&serde_json::from_slice(&ran.exits(42).stdout).unwrap()).unwrap();
}

#[test]
fn documents_that_cannot_be_written() {
    let project = Project::contract("vplan 1\ncheck ok: true\ncheck bad {\n  test false\n}\n");
    project.mkdir("dir").write("file", "");
    let base = ["run", "--changed-none", "--keep-going", "--no-recover"];
    for (more, says) in [
        (
            &["--junit", "-", "--sarif", "-"][..],
            "`--junit` and `--sarif` cannot both write to `-`",
        ),
        (
            &["--junit", "x", "--sarif", "x"],
            "cannot both write to `x`",
        ),
        (
            &["--junit", "-", "--format", "json"],
            "standard output is taken by `--format json`",
        ),
        (
            &["--sarif", "-", "--events", "-"],
            "standard output is taken by `--events -`",
        ),
        (&["--junit", "dir"], "`dir` is a directory"),
        (&["--sarif", ""], "a value is required"),
        (&["--github", "maybe"], "invalid value 'maybe'"),
    ] {
        project
            .run(&[&base[..], more].concat())
            .exits(2)
            .warns(says);
    }
    assert!(!project.exists(".vplan"), "nothing ran");
    // The verdict is never lost: a failure stays what it is, a pass that cannot be reported is none
    // of vplan's passes.
    for (only, exit) in [("bad", 42), ("ok", 1)] {
        let ran = project.run(
            &[
                &base[..],
                &["--only", only, "--junit", "file/below", "--sarif", "s.json"],
            ]
            .concat(),
        );
        ran.exits(exit)
            .warns("the JUnit report cannot be written to `file/below`")
            .says(if exit == 1 { "passed" } else { "failed" });
        assert!(
            project.exists("s.json"),
            "the others are written all the same"
        );
        project.remove("s.json");
    }
}

#[test]
fn annotations_and_summary() {
    let project = linted();
    let args = ["run", "--changed-none", "--keep-going", "--no-recover"];
    let quiet = project.run(&args);
    quiet.exits(42);
    assert!(!quiet.err().contains("::error"), "not outside of GitHub");
    let actions = |more: &[&str], summary: &str| {
        project
            .vplan(&[&args[..], more].concat())
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_STEP_SUMMARY", project.path(summary))
            .env("GITHUB_WORKSPACE", project.parent())
            .run()
    };
    let ran = actions(&[], "../summary");
    // The repository lies in a folder of the workspace, so that is where the files are.
    ran.exits(42)
        .warns("::error file=repo/contracts/verify.vplan,line=6,col=7,title=unit failed::false: exit code 1, and it wrote nothing\n");
    ran.warns("::warning file=repo/contracts/verify.vplan,line=");
    is_harmless(&ran.out());
    let summary = project.read("../summary");
    assert!(summary.starts_with("## vplan: errored in "), "{summary}");
    for part in [
        "- ✗ `unit`: `exit code 1, and it wrote nothing` (",
        "- ⧖ `slow`",
        "- ! `soft`",
        "## Verification failed\n",
        "### Also failed: `slow`\n",
    ] {
        assert!(summary.contains(part), "no {part:?} in {summary}");
    }
    let order = |part: &str| summary.find(part).unwrap();
    assert!(order("`gone`") < order("`soft`"), "worst first");
    // It grows: other commands of the same step write there, too.
    actions(&[], "../summary").exits(42);
    assert!(
        project
            .read("../summary")
            .matches("## vplan: errored")
            .count()
            == 2
    );
    // One document on standard output stays one.
    actions(&["--format", "json"], "../summary")
        .exits(42)
        .warns("::error ")
        .json();
    let off = actions(&["--github", "off"], "../none");
    off.exits(42);
    assert!(!off.err().contains("::error") && !project.exists("../none"));
    project
        .run(&[&args[..], &["--github", "on"]].concat())
        .exits(42)
        .warns("::error file=contracts/verify.vplan,line=6");

    // No room, no place: worth a word, no failure.
    project.write("../full", " ".repeat(1024 * 1024 - 10));
    actions(&[], "../full")
        .exits(42)
        .warns("the limit of 1 MiB is reached");
    assert_eq!(project.read("../full").len(), 1024 * 1024 - 10);
    actions(&["--only", "ok"], "..")
        .exits(0)
        .warns("the step summary was not written");
}

#[test]
fn foreign_commands_are_not_obeyed() {
    let project = hostile();
    let ran = project
        .vplan(&["run", "--keep-going", "--events", "-"])
        .env("GITHUB_ACTIONS", "true")
        .run();
    is_harmless(&ran.exits(40).out());
    let ours = ran.err();
    let (commands, rest): (Vec<&str>, Vec<&str>) = ours.lines().partition(|l| l.starts_with("::"));
    is_harmless(&rest.join("\n"));
    assert_eq!(commands.len(), 3, "{ours}");
    assert!(commands.iter().all(|c| c.contains("exit code")), "{ours}");
    let json = project
        .vplan(&["run", "--keep-going", "--format", "json"])
        .env("GITHUB_ACTIONS", "true")
        .run();
    is_harmless(&json.exits(40).out());
    assert!(
        json.json()["steps"][1]["stdoutTail"]
            .as_str()
            .unwrap()
            .contains("##[error]forged"),
        "the value is the same"
    );
}

#[test]
fn shards_are_reported_together() {
    let project = linted();
    project
        .run(&[
            "plan",
            "--changed-none",
            "-o",
            "p.json",
            "--keep-going",
            "--no-recover",
        ])
        .exits(0);
    let mut runs = Vec::new();
    for shard in ["1/2", "2/2"] {
        let report = project
            .run(&[
                "run", "--plan", "p.json", "--shard", shard, "--format", "json",
            ])
            .json();
        runs.push(format!(".vplan/runs/{}", report["runId"].as_str().unwrap()));
    }
    let args = [
        "merge", &runs[0], &runs[1], "--junit", "j.xml", "--sarif", "s.json", "--github", "on",
    ];
    project
        .run(&args)
        .exits(42)
        .warns("::error file=contracts/verify.vplan,line=6,col=7,title=unit failed");
    assert!(
        project
            .read("j.xml")
            .contains("tests=\"6\" failures=\"3\" errors=\"1\" skipped=\"1\"")
    );
    is_sarif(&serde_json::from_str(&project.read("s.json")).unwrap()).unwrap();
    project
        .run(&["merge", &runs[0], "--junit", "-", "--sarif", "-"])
        .exits(2)
        .warns("cannot both write");
}
