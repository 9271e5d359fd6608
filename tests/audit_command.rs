//! `vplan audit` and `vplan run --observe`, as people and programs call them.

use crate::reports::is_sarif;
use crate::support::Project;
use serde_json::Value;
use std::collections::BTreeSet;

/// A contract that lacks a condition, an input and an order.
const CONTRACT: &str = r#"vplan 1

whenChangedAny "src/**" {
  check unit {
    test sh tests/unit.sh
    inputs "src/**" "tests/unit.sh"
  }
}

check list: cat out/made.txt
check make: sh make.sh
"#;

fn project() -> Project {
    let project = Project::contract(CONTRACT);
    project
        .write(".gitignore", "out/\n.vplan/\n.env\n")
        .write("src/a.txt", "a\n")
        .write("data/b.txt", "b\n")
        .write("data/unread.txt", "c\n")
        .write(
            "tests/unit.sh",
            "cat src/a.txt data/b.txt\necho 1..1\necho ok 1\n",
        )
        .write("make.sh", "mkdir -p out\ncat src/a.txt > out/made.txt\n")
        .write("out/made.txt", "made before\n");
    project.commit("begin");
    project
}

/// The findings, a line each: kind, check, globs.
fn findings(document: &Value) -> BTreeSet<String> {
    let all = document["findings"].as_array().unwrap().iter();
    let words = |value: &Value| value.as_str().unwrap().to_owned();
    all.map(|one| {
        let globs = one["globs"].as_array().unwrap().iter().map(words);
        let globs: Vec<String> = globs.collect();
        format!(
            "{} {} {}",
            words(&one["kind"]),
            words(&one["check"]),
            globs.join(" ")
        )
    })
    .collect()
}

fn errors(document: &Value) -> usize {
    let all = document["findings"].as_array().unwrap().iter();
    all.filter(|one| one["severity"] == "error").count()
}

fn lines(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|line| (*line).to_owned()).collect()
}

fn audited(project: &Project, args: &[&str], exit: i32) -> Value {
    let args: Vec<&str> = [&["audit", "--format", "json"], args].concat();
    project.run(&args).exits(exit).json()
}

#[test]
fn what_is_missing_is_found_and_written() {
    let project = project();
    let found = audited(&project, &[], 40);
    assert_eq!(
        findings(&found),
        lines(&[
            "blind_spot unit data/b.txt tests/unit.sh",
            "undeclared_input unit data/b.txt",
            "undeclared_order list out/made.txt",
            "ignored_input list out/**",
        ])
    );
    assert_eq!(
        (found["exitCode"].as_u64(), &found["written"]),
        (Some(40), &false.into())
    );
    assert_eq!(project.read("contracts/verify.vplan"), CONTRACT);

    // For people: the file, the number, the program, the line that mends it, and the difference.
    let ran = project.run(&["audit"]);
    ran.exits(40)
        .says("blind_spot: read, and a change of it alone does not plan the check\n")
        .says("  unit (contracts/verify.vplan:4)  data/b.txt, tests/unit.sh (2 files)  by ")
        .says("would be mended by: whenChangedAny \"src/**\" \"data/b.txt\" \"tests/unit.sh\"")
        .says("+++ contracts/verify.vplan (mended)\n")
        .says("`vplan audit --write` writes this")
        .never_says("data/unread.txt");

    project
        .run(&["audit", "--write"])
        .exits(40)
        .says("was written");
    let text = project.read("contracts/verify.vplan");
    assert_eq!(
        text,
        CONTRACT
            .replace(
                "Any \"src/**\" {",
                "Any \"src/**\" \"data/b.txt\" \"tests/unit.sh\" {"
            )
            .replace(
                "tests/unit.sh\"\n  }",
                "tests/unit.sh\" \"data/b.txt\"\n  }"
            )
            .replace(
                "check list: cat out/made.txt",
                "check list {\n  run cat out/made.txt\n  needs make\n}"
            )
    );
    project.run(&["fmt", "--check"]).exits(0);
    project.run(&["check"]).exits(0);
    let after = audited(&project, &[], 0);
    assert_eq!(errors(&after), 0, "{after}");
    assert!(after.get("diff").is_none(), "{after}");
    // A change of the blind spot plans the check now.
    project
        .run(&["explain", "--changed", "data/b.txt"])
        .exits(0)
        .says("unit");
}

#[test]
fn a_kind_that_is_denied_is_an_error() {
    let project = project();
    project.run(&["audit", "--write"]).exits(40);
    audited(&project, &[], 0);
    let denied = audited(&project, &["--deny", "ignored_input"], 40);
    assert_eq!(errors(&denied), 1, "{denied}");
    // Others are no errors by that.
    audited(
        &project,
        &["--deny", "outside", "--deny", "idle_condition"],
        0,
    );
    project
        .run(&["audit", "--deny", "everything"])
        .exits(2)
        .warns("blind_spot");
}

#[test]
fn checks_are_audited_by_name_with_what_they_need() {
    let project = project();
    let found = audited(&project, &["unit"], 40);
    assert_eq!(
        findings(&found),
        lines(&[
            "blind_spot unit data/b.txt tests/unit.sh",
            "undeclared_input unit data/b.txt",
        ])
    );
    project.run(&["audit", "unti"]).exits(2).warns("unit");
}

#[test]
fn earlier_runs_are_looked_at() {
    let project = project();
    project
        .run(&["audit", "--from-records"])
        .exits(2)
        .warns("vplan::audit::records")
        .warns("vplan run --observe");
    // A run that was not observed says nothing.
    project.run(&["run", "--all"]).exits(0);
    project.run(&["audit", "--from-records"]).exits(2);
    project.run(&["run", "--all", "--observe"]).exits(0);
    let from_records = audited(&project, &["--from-records"], 40);
    assert_eq!(from_records["runs"].as_array().unwrap().len(), 1);
    assert!(findings(&from_records).contains("undeclared_input unit data/b.txt"));
    // A run of another command says nothing of the one that the check has now.
    project.write(
        "contracts/verify.vplan",
        CONTRACT.replace("sh tests/unit.sh", "sh -e tests/unit.sh"),
    );
    let after = audited(&project, &["--from-records"], 40);
    let unit = |all: &BTreeSet<String>| all.iter().any(|line| line.contains(" unit "));
    assert!(!unit(&findings(&after)), "{after}");
    assert_eq!(
        after["incomplete"],
        serde_json::json!([{"check": "unit", "reason": "it was not observed"}])
    );
    project
        .run(&["audit", "unit", "--from-records"])
        .exits(2)
        .warns("cannot be used with");
}

#[test]
fn a_run_tells_what_it_saw_and_ends_as_it_would() {
    let project = project();
    let ran = project.run(&["run", "--all", "--observe", "--format", "json"]);
    let report = ran.exits(0).json();
    let notes = report["notes"].as_array().unwrap().iter();
    let notes: Vec<(&str, &str)> = notes
        .map(|note| {
            (
                note["kind"].as_str().unwrap(),
                note["message"].as_str().unwrap(),
            )
        })
        .collect();
    let of = |kind: &str| notes.iter().find(|note| note.0 == kind).map(|note| note.1);
    assert!(
        of("blind_spot").is_some_and(|said| said.starts_with("unit: data/b.txt, tests/unit.sh")),
        "{notes:?}"
    );
    assert!(of("undeclared_order").is_some(), "{notes:?}");
    project.run(&["verify"]).exits(0);
    // Nothing is taken over from before, and the next plain run takes over what passed.
    let again = project.run(&["run", "--all", "--observe", "--format", "json"]);
    let again = again.exits(0).json();
    let statuses = again["steps"].as_array().unwrap().iter();
    assert!(
        statuses.clone().all(|step| step["status"] == "passed"),
        "{again}"
    );
    // Without it nothing is said.
    let plain = project
        .run(&["run", "--all", "--format", "json"])
        .exits(0)
        .json();
    let notes = plain["notes"].as_array();
    assert!(
        notes.is_none_or(|notes| notes.iter().all(|note| note["kind"] != "blind_spot")),
        "{plain}"
    );
}

#[test]
fn a_denied_finding_is_no_pass() {
    let project = project();
    let denied = ["run", "--all", "--observe", "--deny", "blind_spot"];
    let report = project.run(&[&denied[..], &["--format", "json"]].concat());
    let report = report.exits(40).json();
    assert_eq!(report["verdict"], "failed", "{report}");
    let caveats = report["caveats"].as_array().unwrap();
    let caveat = caveats.iter().find(|one| one["code"] == "denied_findings");
    let caveat = caveat.unwrap_or_else(|| panic!("{report}"));
    assert_eq!(caveat["effect"], "fails");
    assert_eq!(report["coverage"], "full");
    assert_eq!(caveat["checks"], serde_json::json!(["unit"]));
    let steps = report["steps"].as_array().unwrap().iter();
    assert!(steps.clone().all(|step| step["status"] == "passed"));
    assert_eq!(report["feedback"]["failureCode"], "denied_findings");
    // The record says the same: it is genuine, and stands for nothing.
    project
        .run(&["verify"])
        .exits(0)
        .says("exit code 40")
        .says("(failed) holds");
    project.run(&["report", "--html", "page.html"]).exits(0);
    assert!(
        project
            .read("page.html")
            .contains("a finding is denied: blind_spot of")
    );
    // For people: why, and the way out.
    project
        .run(&denied)
        .exits(40)
        .says("a finding is denied: blind_spot of `unit` (data/b.txt, tests/unit.sh (2 files))")
        .says("`vplan audit --write`");
    // What has no finding denies nothing.
    let other = ["run", "--all", "--observe", "--deny", "undeclared_write"];
    project.run(&other).exits(0);
    // A step that failed keeps its own code.
    project.write("tests/unit.sh", "cat src/a.txt data/b.txt\nexit 1\n");
    project.run(&denied).exits(42);
}

#[test]
fn findings_are_denied_only_where_steps_are_observed() {
    let project = project();
    for args in [
        &["run", "--deny", "blind_spot"][..],
        &["loop", "--fix", "true", "--deny", "outside"],
        &["plan", "--deny", "idle_condition"],
        &["explain", "--deny", "undeclared_order"],
    ] {
        project
            .run(args)
            .exits(2)
            .warns("vplan::usage::deny")
            .warns("is about what steps are seen to do")
            .warns("vplan run --observe");
    }
}

#[test]
fn denied_findings_need_that_all_was_seen() {
    let uring = python(
        "import ctypes\nctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(256))\n",
    );
    let denied = ["run", "--all", "--observe", "--deny", "undeclared_write"];
    let report = uring.run(&[&denied[..], &["--format", "json"]].concat());
    let report = report.exits(44).json();
    assert_eq!(report["verdict"], "incomplete", "{report}");
    assert_eq!(report["caveats"][0]["code"], "observation_incomplete");
    uring.run(&["verify"]).exits(0);
    // Without a contract there is nothing to hold against what was seen.
    let bare = Project::git_empty();
    bare.run(&[
        "run",
        "--command",
        "true",
        "--changed",
        "x",
        "--observe",
        "--deny",
        "outside",
    ])
    .exits(44)
    .says("there is no contract");
}

#[test]
fn the_findings_are_sarif() {
    let project = project();
    let log = project.run(&["audit", "--format", "sarif"]).exits(40).out();
    let log: Value = serde_json::from_str(&log).unwrap();
    is_sarif(&log).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 4, "{log}");
    let first = &results[0];
    assert_eq!(first["ruleId"], "blind_spot");
    assert_eq!(first["level"], "error");
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "contracts/verify.vplan");
    assert_eq!(place["region"]["startLine"], 4);
    project
        .run(&["audit", "--format", "junit"])
        .exits(2)
        .warns("no format `junit`");
}

/// Runs a Python program as the one check.
fn python(program: &str) -> Project {
    let project = Project::contract("vplan 1\ncheck one: python3 -I one.py\n");
    project
        .write(".gitignore", ".vplan/\n")
        .write("one.py", program);
    project.commit("begin");
    project
}

fn incomplete(document: &Value) -> String {
    let all = document["incomplete"].as_array().unwrap().iter();
    let reasons: Vec<&str> = all.map(|one| one["reason"].as_str().unwrap()).collect();
    reasons.join("; ")
}

#[test]
fn what_cannot_be_seen_is_said_and_is_no_clean_audit() {
    // Whatever io_uring reads no call shows: it is refused, and the program told.
    let uring = python(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n\
         got = libc.syscall(425, 1, ctypes.create_string_buffer(256))\n\
         assert got == -1 and ctypes.get_errno() == 38, (got, ctypes.get_errno())\n",
    );
    let found = audited(&uring, &[], 44);
    assert!(incomplete(&found).contains("io_uring"), "{found}");
    let ran = uring.run(&["audit"]);
    ran.exits(44)
        .says("observation_incomplete: one: ")
        .says("not everything could be seen");
    let report = uring.run(&["run", "--all", "--observe", "--format", "json"]);
    let notes = report.exits(0).json()["notes"].to_string();
    assert!(notes.contains("observation_incomplete"), "{notes}");
}

#[test]
fn what_a_check_does_after_it_has_failed_was_not_seen() {
    let project = python("raise SystemExit(1)\n");
    let found = audited(&project, &[], 44);
    assert!(incomplete(&found).contains("it did not pass"), "{found}");
    project.write("one.py", "pass\n");
    // That an earlier run of it failed takes nothing from one in which it passed.
    project.run(&["run", "--all", "--observe"]).exits(0);
    let found = audited(&project, &["--from-records"], 0);
    assert_eq!(found["runs"].as_array().unwrap().len(), 2, "{found}");
}

#[test]
fn a_daemon_that_reads_for_a_check_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("daemon.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let daemon = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"what it read").unwrap();
    });
    let project = python(&format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect({:?})\nassert s.recv(99)\n",
        socket.to_str().unwrap()
    ));
    let found = audited(&project, &[], 44);
    daemon.join().unwrap();
    assert!(
        incomplete(&found).contains("connected to a process outside of the step"),
        "{found}"
    );
}

#[test]
fn an_audit_within_an_audit_says_that_it_saw_nothing() {
    let inner = python("print(1)\n");
    let vplan = env!("CARGO_BIN_EXE_vplan");
    let root = inner.root();
    let outer = Project::contract(&format!(
        "vplan 1\ncheck outer {{\n  run {vplan} -C {} audit --format json\n  exit 44\n}}\n",
        root.display(),
    ));
    outer.commit("begin");
    // The outer one sees what the inner one does.
    let document = outer.run(&["audit", "--format", "json"]).json();
    assert!(
        document["findings"].to_string().contains("outside"),
        "{document}"
    );
    let log = outer.run(&["log", "outer"]).out();
    assert!(log.contains("it cannot be observed here"), "{log}");
}

#[test]
fn wrong_use_is_told() {
    let bare = Project::bare();
    bare.write("contracts/verify.vplan", "vplan 1\ncheck a: true\n");
    bare.run(&["audit"]).exits(5).warns("vplan::audit::no_git");
    let none = Project::git_empty();
    none.run(&["audit"]).exits(3).warns("there is no contract");
    let invalid = Project::contract("vplan 1\ncheck a {\n");
    invalid.run(&["audit"]).exits(3).warns("verify.vplan");
    invalid.run(&["audit", "--from-records"]).exits(3);
    let project = project();
    project
        .run(&["audit", "--jobs", "0"])
        .exits(2)
        .warns("--jobs");
    project
        .run(&["audit", "--role", "nosuchrole"])
        .exits(2)
        .warns("nosuchrole");
}

#[test]
fn what_another_contract_says_is_mended_in_ones_own() {
    let project = Project::contract("vplan 1\nimport \"shared.vplan\" as shared\n");
    project
        .write(".gitignore", ".vplan/\n")
        .write(
            "contracts/shared.vplan",
            "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: cat src/a.txt data/b.txt\n}\n",
        )
        .write("src/a.txt", "a\n")
        .write("data/b.txt", "b\n");
    project.commit("begin");
    let shared = project.read("contracts/shared.vplan");
    project.run(&["audit", "--write"]).exits(40);
    assert_eq!(project.read("contracts/shared.vplan"), shared);
    let text = project.read("contracts/verify.vplan");
    assert!(
        text.contains("whenChangedAny \"data/b.txt\" {\n  use shared/unit\n}\n"),
        "{text}"
    );
    let after = audited(&project, &[], 0);
    assert_eq!(errors(&after), 0, "{after}");
}

#[test]
fn a_check_that_fails_is_audited_too() {
    let project = Project::contract(
        "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: sh -c 'cat data/b.txt; exit 3'\n}\n",
    );
    project
        .write(".gitignore", ".vplan/\n")
        .write("data/b.txt", "b\n");
    project.commit("begin");
    let found = audited(&project, &[], 40);
    assert_eq!(findings(&found), lines(&["blind_spot unit data/b.txt"]));
}

#[test]
fn the_page_of_an_observed_run_shows_what_was_read() {
    let project = project();
    project.run(&["run", "--all", "--observe"]).exits(0);
    let page = project.run(&["report", "--html", "-"]).exits(0).out();
    let part = |from: &str, to: &str| {
        let from = page.find(from).unwrap_or_else(|| panic!("{from}: {page}"));
        let rest = &page[from..];
        rest[..rest.find(to).unwrap()].to_owned()
    };
    let matrix = part("<h2>what the checks read</h2>", "</section>");
    for folder in [".", "data", "src", "tests"] {
        assert!(
            matrix.contains(&format!("<th scope=\"col\"><code>{folder}</code></th>")),
            "{matrix}"
        );
    }
    let unit = part("<th scope=\"row\">unit</th>", "</tr>");
    assert!(
        unit.contains("title=\"1 file read; not selected: data/b.txt\">1 ✗1</td>"),
        "{unit}"
    );
    assert!(
        unit.contains(
            "selected by inputs &quot;src/**&quot;, whenChangedAny &quot;src/**&quot;\">1</td>"
        ),
        "{unit}"
    );
    // Of a run that was not observed, or under another contract, nothing is shown.
    project.write(
        "contracts/verify.vplan",
        format!("{CONTRACT}check more: true\n"),
    );
    let page = project.run(&["report", "--html", "-"]).exits(0).out();
    assert!(!page.contains("what the checks read"), "{page}");
    project.run(&["run", "--all"]).exits(0);
    let page = project.run(&["report", "--html", "-"]).exits(0).out();
    assert!(!page.contains("what the checks read"), "{page}");
}
