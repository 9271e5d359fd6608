//! What a step writes: a check that changes what it is about is no pass, and what it may change is
//! verified as it is now.

use super::{caveat, codes};
use crate::support::Project;
use serde_json::{Value, json};

fn step<'a>(report: &'a Value, id: &str) -> &'a Value {
    let steps = report["steps"].as_array().unwrap();
    steps
        .iter()
        .find(|s| s["id"] == id)
        .unwrap_or_else(|| panic!("no step {id}: {report:#}"))
}

fn ids(report: &Value) -> Vec<&str> {
    report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["id"].as_str().unwrap())
        .collect()
}

const FMT: &str =
    "check fmt {\n  shell for f in src/*; do sed -i s/bad/good/ $f; done\n  writes \"src/**\"\n}\n";

/// A project with this contract and two tracked files below `src`, all of it pushed; one of them
/// has changed.
fn project(contract: &str) -> Project {
    let files = [
        ("contracts/verify.vplan", contract),
        ("src/a", "bad\n"),
        ("src/b", "bad\n"),
        ("docs/a", "1\n"),
    ];
    let project = Project::git_with(&files);
    project.write("src/a", "bad, still\n");
    project
}

fn run(project: &Project, exit: i32) -> Value {
    project.run(&["run", "--format", "json"]).exits(exit).json()
}

#[test]
fn a_linter_that_mends_what_it_finds_has_not_passed() {
    for (does, file) in [
        ("sed -i s/bad/good/ src/a", "src/a"),
        ("rm src/b", "src/b"),
        ("echo other > docs/a", "docs/a"),
        ("mv src/b src/c", "src/b"),
        ("echo x > src/c; git add src/c", "src/c"),
        ("echo x > docs/a; exit 77", "docs/a"),
    ] {
        let project = project(&format!(
            "vplan 1\ncheck lint {{\n  shell {does}\n  skip-exit 77\n}}\n"
        ));
        let report = run(&project, 40);
        let lint = step(&report, "lint");
        assert_eq!(
            (&lint["status"], &lint["reason"]),
            (&json!("failed"), &json!("tree_changed")),
            "{does}"
        );
        assert_eq!(lint["failureCode"], "verification_tree_changed");
        assert_eq!(
            report["feedback"]["failureCode"],
            "verification_tree_changed"
        );
        assert!(lint["detail"].as_str().unwrap().contains(file), "{lint:#}");
        assert_eq!(
            caveat(&report, "tree_changed")["files"],
            json!([file]),
            "{does}"
        );
        assert_eq!(
            (report.get("tree"), &report["verdict"]),
            (None, &json!("failed"))
        );
        project.run(&["status", "--require", "verified"]).exits(44);
        project.run(&["verify"]).never_says("✗");
    }
}

#[test]
fn a_failure_stays_what_it_is_and_a_warning_lets_nothing_pass() {
    let writes =
        |more: &str| format!("vplan 1\ncheck lint {{\n  shell echo x > docs/a{more}\n}}\n");
    let report = run(&project(&writes("; exit 3")), 40);
    assert_eq!(
        (&step(&report, "lint")["reason"], codes(&report)),
        (&json!("exit_code"), vec!["tree_changed"])
    );
    let report = run(&project(&writes("\n  severity warning")), 44);
    assert_eq!(step(&report, "lint")["status"], "failed");
    // Whatever it is there for.
    for more in [
        "run ./w.sh\n  setup",
        "compile ./w.sh",
        "test ./w.sh",
        "lint ./w.sh\n  retries 2",
    ] {
        let project = project(&format!("vplan 1\ncheck w {{\n  {more}\n}}\n"));
        project.script("w.sh", "#!/bin/sh\necho x > docs/a\n");
        assert_eq!(
            step(&run(&project, 40), "w")["failureCode"],
            "verification_tree_changed",
            "{more}"
        );
    }
    // Nothing that may have written is kept: the same again comes to the same.
    let text = "vplan 1\ncheck kept {\n  run true\n  inputs \"src/**\"\n}\n\
        check other {\n  shell echo x >> docs/a\n  inputs \"src/**\"\n}\n";
    let project = project(text);
    for _ in 0..2 {
        let report = run(&project, 44);
        assert_eq!(
            (
                &step(&report, "kept")["status"],
                &step(&report, "other")["status"]
            ),
            (&json!("passed"), &json!("passed"))
        );
    }
}

#[test]
fn where_several_ran_files_and_steps_are_named() {
    let text = "vplan 1\ncheck a: true\ncheck b {\n  shell echo x > docs/a\n}\ncheck c {\n  file \"src/a\" {\n    exists\n  }\n}\n";
    let report = run(&project(text), 44);
    assert_eq!(report["verdict"], "incomplete");
    let moved = caveat(&report, "tree_moved");
    assert_eq!(
        (&moved["files"], &moved["checks"]),
        (&json!(["docs/a"]), &json!(["a", "b"]))
    );
    assert!(
        report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .all(|s| s["status"] == "passed")
    );
    // Side by side as well.
    let report = project(text)
        .run(&["run", "--jobs", "3", "--format", "json"])
        .exits(44)
        .json();
    assert_eq!(caveat(&report, "tree_moved")["checks"], json!(["a", "b"]));
}

#[test]
fn what_a_check_may_write_is_written_before_anything_looks_at_it() {
    let text = format!("vplan 1\ncheck good {{\n  shell ! grep -r bad src\n}}\n{FMT}");
    let project = project(&text);
    project.write("src/b", "bad, too\n");
    for jobs in ["1", "4"] {
        let report = project
            .run(&["run", "--jobs", jobs, "--format", "json"])
            .exits(0)
            .json();
        assert_eq!(
            (ids(&report), codes(&report)),
            (vec!["fmt", "good"], vec![])
        );
        assert!(report["tree"].is_string());
        project.run(&["status", "--require", "verified"]).exits(0);
    }
    assert_eq!(project.read("src/a"), "good, still\n");
    // Another file than those is none that it may.
    let project = self::project(&text.replace("sed", "echo x > docs/a; sed"));
    let report = run(&project, 40);
    assert_eq!(
        step(&report, "fmt")["failureCode"],
        "verification_tree_changed"
    );
    assert_eq!(caveat(&report, "tree_changed")["files"], json!(["docs/a"]));
}

#[test]
fn what_is_written_behind_a_writer_is_not_taken_for_its_work() {
    // `fmt` may write below `src`; the check behind it may not, and ran alone since the last look.
    let text = format!("vplan 1\n{FMT}check sly {{\n  shell echo bad > src/b\n}}\n");
    let project = project(&text);
    let report = run(&project, 40);
    assert_eq!(
        (
            &step(&report, "fmt")["status"],
            &step(&report, "sly")["status"]
        ),
        (&json!("passed"), &json!("failed"))
    );
    assert_eq!(caveat(&report, "tree_changed")["checks"], json!(["sly"]));
    // What it needs runs before it, alone as well.
    let text = format!(
        "vplan 1\ncheck sly {{\n  shell echo worse > docs/a\n}}\n{}",
        FMT.replace("  writes", "  needs sly\n  writes")
    );
    let report = run(&self::project(&text), 44);
    assert_eq!(
        caveat(&report, "tree_moved")["checks"],
        json!(["fmt", "sly"])
    );
}

#[test]
fn a_change_that_grew_is_run_again() {
    // What `fmt` writes besides asks for a check that the change did not.
    let text = format!("vplan 1\n{FMT}whenChangedAny \"src/b\" {{\n  check b: false\n}}\n");
    let project = project(&text);
    let report = run(&project, 44);
    assert_eq!(
        (ids(&report), codes(&report)),
        (vec!["fmt"], vec!["change_grew"])
    );
    assert_eq!(caveat(&report, "change_grew")["checks"], json!(["b"]));
    assert_eq!(report["feedback"]["failureCode"], "change_grew");
    assert_eq!(ids(&run(&project, 40)), ["fmt", "b"]);
    // A check that had passed before is about what was written.
    let text = format!(
        "vplan 1\ncheck early: true\n{}",
        FMT.replace("  writes", "  needs early\n  writes")
    );
    let project = self::project(&text);
    let report = run(&project, 44);
    assert_eq!(caveat(&report, "change_grew")["checks"], json!(["early"]));
    assert_eq!(codes(&run(&project, 0)), Vec::<&str>::new());
    // So is one of an earlier tier; one that is about other files is not.
    let late = FMT.replace("  writes", "  tier 1\n  writes");
    for (about, exit) in [("src/**", 44), ("docs/**", 0)] {
        let text = format!("vplan 1\ncheck early {{\n  run true\n  inputs \"{about}\"\n}}\n{late}");
        self::project(&text)
            .run(&["run", "--min-tier", "1"])
            .exits(exit);
    }
}

#[test]
fn the_loop_and_the_hook_run_once_more_and_repair_nothing() {
    let text = format!(
        "vplan 1\n{FMT}whenChangedAny \"src/b\" {{\n  check b {{\n    shell echo b >> ../ran\n  }}\n}}\n"
    );
    let grown = project(&text);
    grown.run(&["loop", "--fix", "touch ../fixed"]).exits(0);
    assert_eq!(
        (grown.read("../ran"), grown.exists("../fixed")),
        ("b\n".to_owned(), false)
    );
    // One that writes something else each time grows once more, and then it is the loop's.
    let text = "vplan 1\ncheck early: true\ncheck fmt {\n  shell echo x >> src/a; echo x >> ../ran\n  needs early\n  writes \"src/a\"\n}\n";
    let restless = project(text);
    restless
        .run(&["loop", "--fix", "true", "--max-rounds", "1"])
        .exits(21);
    assert_eq!(restless.read("../ran"), "x\nx\n");
}

#[test]
fn a_new_file_is_said_with_what_settles_it_and_is_not_in_the_verified_tree() {
    let text = "vplan 1\ncheck unit {\n  shell mkdir -p out/x; echo 1 > out/x/r.xml; echo 1 > docs/log\n}\n";
    let project = project(text);
    let report = run(&project, 0);
    let new = caveat(&report, "new_files");
    assert_eq!(
        (&new["effect"], &new["files"]),
        (&json!("note"), &json!(["docs/log", "out/x/r.xml"]))
    );
    assert_eq!(report["newFiles"].as_array().unwrap().len(), 2);
    project.run(&["status", "--require", "verified"]).exits(0);
    project.run(&["verify"]).exits(0);
    // As long as it is as it was left, and not in the index.
    project.write("out/x/r.xml", "2");
    project
        .run(&["status", "--require", "verified"])
        .exits(44)
        .says("not the one that was verified");
    project.write("out/x/r.xml", "1\n");
    project.run(&["status", "--require", "verified"]).exits(0);
    project.git(&["add", "out"]);
    project.run(&["status", "--require", "verified"]).exits(44);
    project.git(&["rm", "-q", "--cached", "out/x/r.xml"]);
    project.run(&["status", "--require", "verified"]).exits(0);
    project.remove("out/x/r.xml");
    project.run(&["status", "--require", "verified"]).exits(0);
    project.write("out/x/s.xml", "1\n");
    project.run(&["status", "--require", "verified"]).exits(44);
}

#[test]
fn the_lines_that_are_proposed_for_new_files_settle_it() {
    let text = "vplan 1\ncheck unit {\n  shell mkdir -p out/x; echo $$ > out/x/r.xml; echo $$ > docs/log\n}\n";
    let ran = project(text).run(&["run"]);
    ran.exits(0)
        .says("`/docs/log`, `/out/` in `.gitignore`")
        .says("produces \"docs/log\" \"out/**\"");
    let project = project(&text.replace("\n}", "\n  produces \"docs/log\" \"out/**\"\n}"));
    assert_eq!(codes(&run(&project, 0)), Vec::<&str>::new());
    let project = self::project(text);
    project
        .write(".gitignore", "/docs/log\n/out/\n")
        .git(&["add", ".gitignore"]);
    assert_eq!(codes(&run(&project, 0)), Vec::<&str>::new());
}

#[test]
fn more_may_be_written_is_weaker() {
    let with = |writes: &str| format!("vplan 1\ncheck fmt {{\n  run true\n{writes}}}\n");
    for (old, new, exit) in [
        ("", "  writes \"src/**\"\n", 1),
        ("  writes \"src/**\"\n", "", 0),
        ("  writes \"src/*\"\n", "  writes \"src/**\"\n", 1),
        (
            "  writes \"src/**\" \"!src/a\"\n",
            "  writes \"src/**\"\n",
            1,
        ),
    ] {
        let project = project(&with(old));
        project.write("new.vplan", with(new));
        let ran = project.run(&["diff", "contracts/verify.vplan", "new.vplan"]);
        assert_eq!(
            ran.out().contains("may change more of the tree"),
            exit == 1,
            "{old} {new}: {}",
            ran.out()
        );
    }
}

#[test]
fn an_agent_that_stops_is_not_sent_back_for_what_a_formatter_wrote() {
    let text = format!(
        "vplan 1\n{FMT}whenChangedAny \"src/b\" {{\n  check b {{\n    shell echo b >> ../ran\n  }}\n}}\n"
    );
    let project = Project::git_with(&[
        ("contracts/verify.vplan", text.as_str()),
        ("src/a", "good\n"),
        ("src/b", "bad\n"),
        (".gitignore", "/.vplan\n"),
    ]);
    super::pushed(&project);
    let tell = |name: &str| {
        let event = json!({"session_id": "s-1", "hook_event_name": name, "stop_hook_active": false, "cwd": "/"});
        project
            .vplan(&["hook", "claude-code", "--timeout", "120"])
            .stdin(event.to_string())
            .run()
    };
    tell("SessionStart").exits(0);
    project.write("src/a", "bad\n");
    let said = tell("Stop").exits(0).json();
    assert_eq!(
        (&said["decision"], project.read("../ran")),
        (&Value::Null, "b\n".to_owned())
    );
    // The formatter took the work back: that is noted, as `run` does.
    let note = said["systemMessage"].as_str().unwrap();
    assert!(note.contains("as at the base again: src/a"), "{note}");
}

#[test]
fn what_writes_leaves_out_is_as_forbidden_as_without_it() {
    let text = "vplan 1\ncheck fmt {\n  shell echo x > src/a; echo x > src/b\n  writes \"src/**\" \"!src/b\"\n}\n";
    let report = run(&project(text), 40);
    assert_eq!(caveat(&report, "tree_changed")["files"], json!(["src/b"]));
    // By name; and a file that is new and may be written is part of the tree, and of the change.
    let text = "vplan 1\npaths made = \"src/**\"\ncheck gen {\n  shell echo x > src/new\n  writes made\n}\n\
        whenChangedAny \"src/new\" {\n  check new: true\n}\n";
    let project = project(text);
    let report = run(&project, 44);
    assert_eq!(
        (codes(&report), report.get("newFiles")),
        (vec!["change_grew"], None)
    );
    assert_eq!(ids(&run(&project, 0)), ["gen", "new"]);
    project.run(&["status", "--require", "verified"]).exits(0);
    project
        .write("src/new", "y")
        .run(&["status", "--require", "verified"])
        .exits(44);
}

#[test]
fn a_share_of_a_plan_does_not_see_what_the_others_wrote() {
    let text = format!("vplan 1\ncheck good {{\n  shell ! grep -r bad src\n}}\n{FMT}");
    let project = project(&text);
    for shard in ["1/2", "2/2"] {
        let ran = project.run(&["run", "--keep-going", "--shard", shard, "--format", "json"]);
        let report = ran.json();
        let has_written = ids(&report).contains(&"fmt");
        assert_eq!(
            codes(&report).contains(&"change_grew"),
            has_written,
            "{report:#}"
        );
        assert!(!has_written || report["verdict"] != "passed");
    }
}

#[test]
fn what_may_be_written_is_shown() {
    let project = project(&format!("vplan 1\ncheck good: true\n{FMT}"));
    project
        .run(&["explain"])
        .exits(0)
        .says("\"src/**\"; any other tracked file must stay as it is");
    project
        .run(&["explain", "good"])
        .exits(0)
        .says("fmt (writes)");
    let plan = project.run(&["plan", "--format", "kdl"]);
    plan.exits(0).says("writes");
    project.write("../plan.kdl", plan.out());
    project
        .run(&["run", "--plan", "../plan.kdl"])
        .exits(44)
        .says("checks wrote files that were not part of the change");
    project.run(&["run", "--format", "json"]).exits(0);
}
