//! The setting `fix`, and `vplan fix`: what fails is mended, what a fix may not change is told, and
//! what is staged is mended as a whole or not at all.

use crate::support::Project;
use crate::support::process::eventually;
use crate::support::tree::have;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MAIN: &str = "contracts/verify.vplan";
/// A check that fails for files with a line `BAD`, and what mends them.
const STYLE: &str = "vplan 1
whenChangedAny \"src/**\" {
  check style {
    lint sh bin/lint {changed}
    fix sh bin/mend {changed}
  }
}
";
const LINT: &str = "for f in \"$@\"; do grep -q BAD \"$f\" && { echo \"$f:1:1: error: BAD\"; exit 1; }; done; exit 0\n";
const MEND: &str = "sed -i s/BAD/good/ \"$@\"\n";

fn project(contract: &str, mend: &str) -> Project {
    Project::git_with(&[
        (MAIN, contract),
        ("bin/lint", LINT),
        ("bin/mend", mend),
        (".gitignore", ".vplan\n/cache/\n"),
        ("src/a", "good\n"),
        ("src/b", "good\n"),
        ("docs/d", "text\n"),
    ])
}

fn fixes(answer: &Value) -> Vec<(String, Vec<String>)> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let fix = |fix: &Value| {
        let changed = fix["changed"]
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect();
        (text(&fix["check"]), changed)
    };
    answer["fixes"]
        .as_array()
        .unwrap()
        .iter()
        .map(fix)
        .collect()
}

fn outside(answer: &Value) -> Vec<String> {
    let all = answer["fixes"].as_array().unwrap().iter();
    all.flat_map(|fix| fix["outside"].as_array().cloned().unwrap_or_default())
        .map(|path| path.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn it_is_an_annotation_of_a_plan_and_part_of_the_contract() {
    let with = STYLE.to_owned();
    let without = STYLE.replace("    fix sh bin/mend {changed}\n", "");
    let other = STYLE.replace("fix sh bin/mend", "fix A=1 sh bin/other");
    let plans: Vec<Value> = [&with, &without, &other]
        .iter()
        .map(|contract| {
            let project = project(contract, MEND);
            project.write("src/a", "BAD\n");
            let plan = project.run(&["plan", "--format", "json"]);
            // A plan file in KDL reads back to the same.
            project.run(&["plan", "-o", "../plan.kdl"]).exits(0);
            let kdl = project.run(&["run", "--plan", "../plan.kdl", "--format", "json"]);
            assert_eq!(kdl.exits(40).json()["planDigest"], plan.json()["digest"]);
            plan.json()
        })
        .collect();
    let fix = |plan: &Value| plan["steps"][0]["fix"].clone();
    assert_eq!(
        plans.iter().map(fix).collect::<Vec<_>>(),
        [
            json!("sh bin/mend {changed}"),
            Value::Null,
            json!("A=1 sh bin/other {changed}")
        ]
    );
    // The digests of contracts differ, those of steps do not.
    for plan in &plans[1..] {
        assert_ne!(plan["contract"]["digest"], plans[0]["contract"]["digest"]);
        let bare = |plan: &Value| {
            let mut step = plan["steps"][0].clone();
            for annotation in ["fix", "source"] {
                step.as_object_mut().unwrap().remove(annotation);
            }
            step
        };
        assert_eq!(bare(plan), bare(&plans[0]));
    }
}

#[test]
fn the_same_contract_with_another_fix_gives_the_same_plan_digest() {
    let project = project(STYLE, MEND);
    let digest = |fix: Option<&str>| {
        let edit = |plan: &mut Value| match fix {
            Some(fix) => plan["steps"][0]["fix"] = json!(fix),
            None => _ = plan["steps"][0].as_object_mut().unwrap().remove("fix"),
        };
        project.write("src/a", "BAD\n");
        let mut plan = project.run(&["plan", "--format", "json"]).json();
        edit(&mut plan);
        project.write("../plan.json", plan.to_string());
        // The file is believed: its digest is that of what it says.
        let ran = project.run(&["run", "--plan", "../plan.json", "--format", "json"]);
        ran.exits(40).json()["planDigest"].clone()
    };
    let all = [
        digest(None),
        digest(Some("rm -rf /")),
        digest(Some("sh bin/mend {changed}")),
    ];
    assert!(all.iter().all(|d| *d == all[0]), "{all:?}");
}

#[test]
fn layout_explanation_and_comparison_know_it() {
    let project = project(STYLE, MEND);
    project.write("src/a", "BAD\n");
    project
        .run(&["explain"])
        .exits(0)
        .says("fix    sh bin/mend {changed}; only `vplan fix` starts it");
    project
        .run(&["explain", "style"])
        .exits(0)
        .says("fix sh bin/mend {changed}; only `vplan fix` starts it");
    let sorted =
        "vplan 1\ncheck a {\n  run true\n  fix make mend\n  describe \"text\"\n  timeout 5m\n}\n";
    project.write(
        "../a.vplan",
        "vplan 1\ncheck a {\n  timeout 5m\n  describe \"text\"\n  fix make mend\n  run true\n}\n",
    );
    let laid = project
        .vplan(&["fmt", "-"])
        .stdin(project.read("../a.vplan"))
        .run();
    assert_eq!(laid.exits(0).out(), sorted);
    project.write(
        "../b.vplan",
        sorted.replace("fix make mend", "fix make other"),
    );
    for (old, new) in [("../a.vplan", "../b.vplan"), ("../b.vplan", "../a.vplan")] {
        let ran = project.run(&["diff", old, new, "--format", "json"]);
        let classes: Vec<&str> = ran.exits(0).json()["differences"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| d["class"].as_str().unwrap().to_owned())
            .map(|class| {
                if class == "changes" {
                    "changes"
                } else {
                    "other"
                }
            })
            .collect();
        assert_eq!(classes, ["changes"], "{}", ran.out());
    }
}

#[test]
fn what_fails_is_mended_and_verified_again() {
    let project = project(STYLE, MEND);
    project.write("src/a", "BAD\n").write("src/new", "BAD\n");
    let ran = project.run(&["fix", "--format", "json"]);
    let answer = ran.exits(0).json();
    assert_eq!(
        fixes(&answer),
        [(
            "style".to_owned(),
            vec!["src/a".to_owned(), "src/new".to_owned()]
        )]
    );
    assert_eq!(answer["changed"], json!(["src/a", "src/new"]));
    assert_eq!(answer["fixes"][0]["command"], "sh bin/mend src/a src/new");
    assert_eq!(
        (&answer["exitCode"], &answer["report"]["verdict"]),
        (&json!(0), &json!("passed"))
    );
    assert_eq!(
        project.read("src/a") + &project.read("src/new"),
        "good\ngood\n"
    );
    // Nothing of the fix is recorded as a run: the last one is the verification.
    project.run(&["runs", "--format", "json"]).exits(0);
    let again = project.run(&["fix"]);
    again.exits(0).says("nothing to fix");
    project.write("src/a", "BAD\n");
    project
        .run(&["fix"])
        .exits(0)
        .says("fix of style: changed 1 file")
        .says("    src/a\n")
        .says("1 file changed by 1 fix");
}

#[test]
fn names_and_all_select_as_in_a_run() {
    let contract = format!(
        "{STYLE}whenChangedAny \"docs/**\" {{\n  check prose {{\n    run sh bin/lint docs/d\n    fix sh bin/mend docs/d\n  }}\n}}\n"
    );
    let project = project(&contract, MEND);
    project
        .write("src/a", "BAD\n")
        .write("docs/d", "BAD\n")
        .commit("bad");
    project.pushed(&project.git(&["rev-parse", "HEAD"]));
    // Nothing changed, so nothing fails.
    project.run(&["fix"]).exits(0).says("nothing to fix");
    let named = project.run(&["fix", "prose", "--format", "json"]);
    assert_eq!(
        fixes(&named.exits(0).json()),
        [("prose".to_owned(), vec!["docs/d".to_owned()])]
    );
    assert_eq!(project.read("src/a"), "BAD\n");
    let all = project.run(&["fix", "--all", "--format", "json"]);
    assert_eq!(
        fixes(&all.exits(0).json()),
        [("style".to_owned(), vec!["src/a".to_owned()])]
    );
    project.run(&["fix", "prosa"]).exits(2).warns("prose");
}

#[test]
fn the_changed_files_are_those_of_the_check_also_where_only_the_fix_takes_them() {
    let contract = STYLE.replace("lint sh bin/lint {changed}", "lint sh bin/lint src/a src/b");
    let project = project(&contract, MEND);
    project
        .write("src/a", "BAD 2\n")
        .write("docs/d", "changed\n");
    let plan = project.run(&["plan", "--format", "json"]).json();
    assert_eq!(
        plan["facts"],
        json!([]),
        "it asks nothing of the repository"
    );
    let answer = project.run(&["fix", "--format", "json"]).exits(0).json();
    assert_eq!(answer["fixes"][0]["command"], "sh bin/mend src/a");
}

#[test]
fn what_a_named_check_needs_is_verified_and_not_mended() {
    let contract = "vplan 1\ncheck first {\n  run test -e src/first\n  fix touch src/first\n  writes \"src/**\"\n}\ncheck second {\n  run test -e src/second\n  fix touch src/second\n  writes \"src/**\"\n  needs first\n}\n";
    let project = project(contract, MEND);
    let answer = project
        .run(&["fix", "second", "--format", "json"])
        .exits(40)
        .json();
    assert_eq!(fixes(&answer), []);
    project.run(&["fix", "first"]).exits(0);
    project.run(&["fix", "second"]).exits(0);
}

#[test]
fn what_still_fails_ends_as_a_run_would() {
    let contract = "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit {\n    test false\n    fix true\n  }\n  check built {\n    compile false\n    fix no-such-program-at-all\n  }\n  check plain {\n    run false\n  }\n}\n";
    for (name, code) in [("unit", 42), ("built", 41), ("plain", 40)] {
        let project = project(contract, MEND);
        project.write("src/a", "x\n");
        let ran = project.run(&["fix", "--only", name, "--format", "json"]);
        let answer = ran.exits(code).json();
        assert_eq!(answer["exitCode"], code);
        assert_eq!(project.run(&["run", "--only", name]).exit, Some(code));
        match name {
            "plain" => {
                assert_eq!(
                    (fixes(&answer).len(), &answer["without"]),
                    (0, &json!(["plain"]))
                );
                project
                    .run(&["fix", "--only", name])
                    .exits(code)
                    .says("no `fix` in `plain`");
            }
            "built" => assert_eq!(answer["fixes"][0]["outcome"], "not_started"),
            _ => assert_eq!(answer["fixes"][0]["exitCode"], 0),
        }
    }
}

#[test]
fn all_that_fails_is_mended_each_by_its_own() {
    let contract = "vplan 1
whenChangedAny \"src/**\" {
  check one {
    run sh -c 'test ! -e src/one'
    fix rm src/one
  }
  check two {
    run sh -c 'test -e src/two'
    fix touch src/two
    needs one
  }
  check three {
    run sh -c 'test -e src/three'
    fix touch src/three
  }
}
";
    let project = project(contract, MEND);
    project.write("src/one", "");
    let ran = project.run(&["fix", "--format", "json"]);
    // `two` did not run, since what it needs failed: it is no failure to mend, and fails afterwards.
    let answer = ran.exits(40).json();
    let names: Vec<String> = fixes(&answer).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["one", "three"]);
    project.run(&["fix"]).exits(0);
    assert!(project.exists("src/two") && project.exists("src/three") && !project.exists("src/one"));
}

#[test]
fn a_fix_has_the_surroundings_of_its_check_and_no_secrets_in_what_it_says() {
    let contract = "vplan 1
check a {
  run sh -c 'test -e made'
  fix OWN=1 sh ../bin/mend
  dir \"src\"
  env A=x OWN_NOT
  pass-env SECRET_TOKEN
  tool-path \"tools\"
  writes \"src/made\"
}
"
    .replace("  env A=x OWN_NOT\n", "  env A=x\n");
    let project = project(
        &contract,
        "echo \"$SECRET_TOKEN\"; helper > made; echo \"$A $OWN $(basename \"$PWD\")\" >> made; exit 3\n",
    )
    .env("SECRET_TOKEN", "hunter2hunter2");
    project
        .script("tools/helper", "echo helped\n")
        .write("src/a", "x");
    project.git(&["add", "tools"]);
    let ran = project.run(&["fix", "--grant-env", "SECRET_TOKEN", "--format", "json"]);
    ran.exits(0).never_says("hunter2hunter2");
    assert_eq!(project.read("src/made"), "helped\nx 1 src\n");
    let answer = ran.json();
    assert_eq!(answer["fixes"][0]["exitCode"], 3);
    let log = answer["fixes"][0]["logs"][0].as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(log).unwrap();
    assert!(
        !text.contains("hunter2hunter2") && !text.is_empty(),
        "{text}"
    );
}

/// What a fix may not do: what it does, in which check, and what is named.
const CHEATS: &[(&str, &str)] = &[
    ("echo x >> docs/d", "docs/d"),
    ("echo x > other", "other"),
    ("rm docs/d", "docs/d"),
    ("chmod +x docs/d", "docs/d"),
    (
        "sed -i s/lint/true/ contracts/verify.vplan",
        "contracts/verify.vplan",
    ),
    ("echo > contracts/x.test.vplan", "contracts/x.test.vplan"),
    (
        "echo > contracts/verify.baseline.kdl",
        "contracts/verify.baseline.kdl",
    ),
    (
        "printf '#!/bin/sh\\n' > .git/hooks/pre-commit",
        ".git/hooks/pre-commit",
    ),
    ("echo '[alias] x = !true' >> .git/config", ".git/config"),
    ("echo good > src/n; git add src/n", ".git/index"),
    (
        "echo good > src/n; git add src/n; git -c user.name=x -c user.email=x commit -qm x",
        ".git/refs/heads/main",
    ),
    ("echo '[]' > .git/vplan-mended", ".git/vplan-mended"),
    ("git rev-parse HEAD > .git/shallow", ".git/shallow"),
    (
        "echo /nowhere > .git/objects/info/alternates",
        ".git/objects/info/alternates",
    ),
    ("ln -sf /etc/passwd src/b", "src/b"),
    ("rm -r src/sub; ln -s ../docs src/sub", "src/sub"),
];

#[test]
fn a_fix_that_changes_what_it_must_not_is_told_and_kept() {
    for (does, named) in CHEATS {
        let project = project(STYLE, &format!("{MEND}{does}\n"));
        project.write("src/sub/x", "good\n").commit("more");
        project.pushed(&project.git(&["rev-parse", "HEAD"]));
        project.write("src/a", "BAD 2\n");
        let ran = project.run(&["fix", "--format", "json"]);
        let answer = ran.exits(40).json();
        assert!(
            outside(&answer).contains(&(*named).to_owned()),
            "{does}: {answer:#}"
        );
        assert_ne!(answer["report"]["verdict"], "passed", "{does}");
        // What it mended is kept, too.
        assert_eq!(project.read("src/a"), "good 2\n", "{does}");
        let status = project.run(&["status", "--require", "verified"]);
        assert_ne!(status.exit, Some(0), "{does}");
    }
}

#[test]
fn whatever_is_around_it_decides_the_contract_stays_as_it_is() {
    let contract = STYLE.replace("\"src/**\"", "\"**\"").replace(
        "    fix sh bin/mend {changed}\n",
        "    fix sh bin/mend {changed}\n    writes \"**\"\n",
    );
    let project = project(&contract, &format!("{MEND}sed -i s/lint/run/ {MAIN}\n"));
    project.write("src/a", "BAD\n");
    let answer = project.run(&["fix", "--format", "json"]);
    assert_eq!(outside(&answer.exits(40).json()), [MAIN]);
}

#[test]
fn conditions_and_writes_say_what_it_may_change() {
    let cases = [
        // Without a condition, only what `writes` says.
        (
            "check a {\n  run test -e gen/x\n  fix touch gen/x\n  writes \"gen/**\"\n}\n",
            0,
        ),
        ("check a {\n  run test -e gen/x\n  fix touch gen/x\n}\n", 40),
        // What git ignores is not looked at.
        (
            "check a {\n  run test -e cache/x\n  fix touch cache/x\n}\n",
            0,
        ),
        // Another place of the check counts, too.
        (
            "check a {\n  run test -e gen/x\n  fix touch gen/x\n}\nwhenChangedAny \"gen/**\" {\n  use a\n}\n",
            0,
        ),
        // One block in another: what both select.
        (
            "whenChangedAny \"**\" {\n  whenChangedAny \"src/**\" {\n    check a {\n      run test -e gen/x\n      fix touch gen/x\n    }\n  }\n}\n",
            40,
        ),
        (
            "whenChangedNone \"docs/**\" {\n  check a {\n    run test -e docs/x\n    fix touch docs/x\n  }\n}\n",
            40,
        ),
    ];
    for (checks, code) in cases {
        let project = project(&format!("vplan 1\n{checks}"), MEND);
        project.mkdir("gen").mkdir("cache").write("src/a", "x\n");
        project.run(&["fix"]).exits(code);
    }
}

#[test]
fn after_a_fix_that_changed_what_it_must_not_no_other_one_runs() {
    let contract = "vplan 1\nwhenChangedAny \"src/**\" {\n  check one {\n    run false\n    fix touch outside\n  }\n  check two {\n    run false\n    fix touch src/two\n  }\n}\n";
    let project = project(contract, MEND);
    project.write("src/a", "x\n");
    project
        .run(&["fix"])
        .exits(40)
        .says("outside: it must not change this");
    assert!(project.exists("outside") && !project.exists("src/two"));
}

#[test]
fn nothing_of_a_fix_is_left_running() {
    let contract = STYLE.replace("{changed}\n  }", "{changed}\n    timeout 2s\n  }");
    let mend = format!(
        "{MEND}(setsid sh -c 'echo $$ > ../pid; sleep 600' </dev/null >/dev/null 2>&1 &)\nwhile ! test -s ../pid; do :; done\n"
    );
    for (more, outcome) in [("", "exited"), ("sleep 600\n", "timed_out")] {
        let project = project(&contract, &format!("{mend}{more}"));
        project.write("src/a", "BAD\n");
        let ran = project.run(&["fix", "--format", "json"]);
        let answer = ran.exits(0).json();
        assert_eq!(answer["fixes"][0]["outcome"], outcome);
        assert!(answer["fixes"][0]["leaked"].as_u64().unwrap() > 0 || outcome == "timed_out");
        let pid = project.read("../pid").trim().to_owned();
        eventually("the process is gone", || {
            !std::path::Path::new("/proc").join(&pid).exists()
        });
    }
}

/// What is in the index and in the work tree, by path.
fn state(project: &Project) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let listed = project.git(&["ls-files", "-s"]);
    let staged = listed.lines().map(|line| {
        let (entry, path) = line.split_once('\t').unwrap();
        (path.to_owned(), entry.to_owned())
    });
    let files = project.git(&["ls-files", "-co", "--exclude-standard"]);
    let there = files.lines().filter(|path| project.exists(path));
    let there = there.map(|path| (path.to_owned(), project.read(path)));
    (staged.collect(), there.collect())
}

#[test]
fn what_is_staged_is_mended_in_the_index_and_the_work_tree() {
    let mend = format!("{MEND}echo made > src/made; chmod +x src/a; rm -f src/gone\n");
    let project = project(STYLE, &mend);
    project.write("src/gone", "good\n").commit("more");
    project.pushed(&project.git(&["rev-parse", "HEAD"]));
    project.write("src/a", "BAD\n");
    project.git(&["add", "src/a"]);
    // Neither is staged: both stay as they are, and out of the commit.
    project
        .write("src/b", "BAD and mine\n")
        .write("notes", "mine\n");
    let ran = project.run(&["fix", "--staged", "--format", "json"]);
    let answer = ran.exits(0).json();
    assert_eq!(answer["changed"], json!(["src/a", "src/gone", "src/made"]));
    assert_eq!(project.git(&["show", ":src/a"]), "good");
    assert_eq!(project.git(&["show", ":src/made"]), "made");
    assert!(
        project
            .git(&["ls-files", "-s", "src/a"])
            .starts_with("100755 ")
    );
    assert_eq!(
        project.git(&["status", "--porcelain"]),
        "M  src/a\n M src/b\nD  src/gone\nA  src/made\n?? notes"
    );
    assert_eq!(project.read("src/b"), "BAD and mine\n");
    assert_eq!(project.read("notes"), "mine\n");
    // Nothing is left of it beside the index.
    assert!(!project.exists(".git/vplan-mended") && !project.exists(".git/index.lock"));
}

#[test]
fn a_staged_file_with_unstaged_changes_is_refused_before_anything_runs() {
    let contract = STYLE.replace("lint sh bin/lint", "lint sh bin/count");
    let project = project(&contract, MEND);
    project.write("bin/count", "touch ../ran\n").commit("more");
    project.pushed(&project.git(&["rev-parse", "HEAD"]));
    project.write("src/a", "BAD\n").write("src/b", "BAD\n");
    project.git(&["add", "src"]);
    project.write("src/b", "BAD\nand more\n");
    let before = state(&project);
    project
        .run(&["fix", "--staged"])
        .exits(2)
        .warns("vplan::fix::unstaged")
        .warns("`src/b`")
        .never_says("`src/a`");
    // Deleted in the index, and there.
    project.git(&["checkout", "-q", "src/b"]);
    project.git(&["rm", "-q", "--cached", "src/b"]);
    project.run(&["fix", "--staged"]).exits(2).warns("`src/b`");
    assert!(!project.exists("../ran"));
    assert_eq!(project.read("src/a"), before.1["src/a"]);
}

#[test]
fn of_what_is_staged_nothing_is_kept_when_a_fix_goes_astray_or_loses_what_is_mine() {
    for (mend, code) in [
        (format!("{MEND}echo x >> docs/d\n"), 40),
        // A tracked file that is not staged, and that has changes of its own.
        (format!("{MEND}sed -i s/good/better/ src/b\n"), 2),
    ] {
        let project = project(STYLE, &mend);
        project.write("src/a", "BAD\n");
        project.git(&["add", "src/a"]);
        project.write("src/b", "mine\n");
        let before = state(&project);
        project.run(&["fix", "--staged"]).exits(code);
        assert_eq!(state(&project), before, "{mend}");
        assert!(!project.exists(".git/vplan-mended"));
    }
}

#[test]
fn a_commit_has_what_its_hook_has_mended() {
    let project = project(STYLE, MEND);
    let vplan = env!("CARGO_BIN_EXE_vplan");
    project.script(
        ".git/hooks/pre-commit",
        &format!("exec {vplan} fix --staged -q\n"),
    );
    project.write("src/a", "BAD\n").write("src/b", "BAD mine\n");
    project.git(&["add", "src/a"]);
    project.git(&["commit", "-qm", "mended"]);
    assert_eq!(project.git(&["show", "HEAD:src/a"]), "good");
    assert_eq!(project.git(&["status", "--porcelain"]).trim(), "M src/b");
}

/// Kills vplan at each call by which it brings in what it mended.
#[test]
fn a_killed_fix_is_completed_or_never_was() {
    if !have(&["strace"]) {
        return;
    }
    let make = || {
        let project = project(
            STYLE,
            &format!(
                "{MEND}echo made > src/new/made 2>/dev/null || {{ mkdir src/new; echo made > src/new/made; }}\n"
            ),
        );
        project
            .write("src/a", "BAD 1\n")
            .write("src/b", "BAD 2\n")
            .write("src/c", "BAD 3\n");
        project.git(&["add", "src"]);
        project.write("notes", "mine\n");
        project
    };
    let calls = "trace=renameat,renameat2,unlinkat";
    let seen = make();
    let log = seen.parent().join("calls");
    let under = [
        "strace",
        "-f",
        "-qq",
        "-e",
        calls,
        "-o",
        log.to_str().unwrap(),
    ];
    seen.vplan(&["fix", "--staged"])
        .under(&under)
        .run()
        .exits(0);
    let after = state(&seen);
    // The calls from the first that has to do with what is brought in to the last.
    let mut counts: BTreeMap<(String, String), u32> = BTreeMap::new();
    let mut points = Vec::new();
    let mut is_in = false;
    for line in std::fs::read_to_string(&log).unwrap().lines() {
        let Some((pid, call)) = line.split_once(' ') else {
            continue;
        };
        let Some((name, _)) = call.trim_start().split_once('(') else {
            continue;
        };
        let count = counts.entry((pid.to_owned(), name.to_owned())).or_default();
        *count += 1;
        is_in |= call.contains("vplan-mended");
        if is_in {
            points.push((name.to_owned(), *count));
        }
        if name == "unlinkat" && call.contains("vplan-mended") {
            break;
        }
    }
    assert!(points.len() >= 6, "{points:?}");
    let mut ends = [0, 0];
    for (name, count) in points {
        for how in ["signal=KILL", "error=EIO"] {
            let project = make();
            let before = state(&project);
            let inject = format!("inject={name}:{how}:when={count}");
            let log = project.parent().join("calls");
            let log = log.to_str().unwrap();
            let under = ["strace", "-f", "-qq", "-e", calls, "-e", &inject, "-o", log];
            _ = project.vplan(&["fix", "--staged"]).under(&under).run().exit;
            // The next run completes it, whatever it is asked.
            project.run(&["run", "--changed-none"]).exits(0);
            let now = state(&project);
            assert!(
                now == before || now == after,
                "{how} {name} {count}: {now:#?}"
            );
            ends[usize::from(now == after)] += 1;
            assert!(!project.exists(".git/vplan-mended"));
            assert_eq!(project.read("notes"), "mine\n");
        }
    }
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
}

#[test]
fn a_loop_without_a_fixer_uses_the_fixes() {
    let project = project(STYLE, MEND);
    project.write("src/a", "BAD 2\n");
    let ran = project.run(&["loop", "--format", "json"]);
    let answer = ran.exits(0).json();
    assert_eq!(
        (&answer["stop"], answer["rounds"].as_array().unwrap().len()),
        (&json!("passed"), 2)
    );
    assert_eq!(answer["rounds"][0]["fixes"][0]["changed"], json!(["src/a"]));
    assert_eq!(project.read("src/a"), "good 2\n");
    project.write("src/a", "BAD 2\n");
    project
        .run(&["loop"])
        .exits(0)
        .says("fix of style: changed 1 file")
        .says("passed after 2 rounds and 1 repair");
}

#[test]
fn a_loop_with_fixes_ends_where_they_do() {
    let ends = |contract: &str, mend: &str, code: i32, stop: &str| {
        let project = project(contract, mend);
        project.write("src/a", "BAD 2\n");
        let answer = project.run(&["loop", "--format", "json"]);
        assert_eq!(answer.exits(code).json()["stop"], stop);
    };
    ends(STYLE, "exit 0\n", 22, "no_change");
    ends(
        STYLE,
        &format!("{MEND}echo x >> docs/d\n"),
        40,
        "wrote_outside",
    );
    // Nobody looks a second time.
    let twice = format!("{STYLE}gate {{\n  confirmations 2\n}}\n");
    ends(&twice, MEND, 20, "not_confirmed");
    let project = project("vplan 1\ncheck a: false\n", MEND);
    project.run(&["loop"]).exits(2).warns("--fix COMMAND");
    let project = self::project(STYLE, MEND);
    project
        .run(&["loop", "--staged"])
        .exits(2)
        .warns("vplan fix --staged");
}

#[test]
fn options_of_a_single_run_are_refused() {
    let project = project(STYLE, MEND);
    for words in [
        &["fix", "--shard", "1/2"][..],
        &["fix", "--events", "-"],
        &["fix", "--subject", "M1"],
        &["fix", "--plan", "x.json"],
        &["loop", "--shard", "1/2"],
    ] {
        project.run(words).exits(2);
    }
}

#[test]
fn a_missing_program_of_a_fix_is_said_by_check() {
    let contract = |fix: &str| format!("vplan 1\ncheck lint {{\n  run true\n  fix {fix}\n}}\n");
    let project = Project::contract(&contract("no-such-fixer {changed}"));
    project
        .run(&["check"])
        .exits(0)
        .warns("`no-such-fixer` is not on the PATH");
    project.write("contracts/verify.vplan", contract("./mend {changed}"));
    let pure = project.run(&["check", "--pure"]);
    pure.exits(0).warns("the repository has no file `mend`");
    project.write("contracts/verify.vplan", contract("true {changed}"));
    project.run(&["check"]).exits(0).never_says("PATH");
}

#[test]
fn feedback_says_that_there_is_a_fix() {
    let project = Project::contract(
        "vplan 1\ncheck lint {\n  run test -e mended\n  fix touch mended\n  writes \"mended\"\n}\n",
    );
    project.run(&["run", "--changed", "a"]).exits(40);
    let told = project.run(&["feedback", "--format", "json"]).json();
    let suggestion = told["suggestion"].as_str().unwrap();
    assert!(
        suggestion.starts_with("`vplan fix lint` mends"),
        "{suggestion}"
    );
}

#[test]
fn a_cache_that_its_tool_hides_is_no_change() {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\nwhenChangedAny \"*.txt\" {\n  check lint {\n    run ./tool check {changed}\n    fix ./tool mend {changed}\n  }\n}\n",
        ),
        ("a.txt", "good\n"),
    ]);
    // As ruff does it: a folder with a `.gitignore` that hides all of it, itself too. As Python does it:
    // a folder that no rule hides, known by its name.
    project.script(
        "tool",
        "#!/bin/sh\nmkdir -p .cache __pycache__\necho $1 $$ > __pycache__/tool.pyc\necho '*' > .cache/.gitignore\necho $1 $$ > .cache/state\n\
         if [ $1 = mend ]; then echo good > a.txt; else grep -q good a.txt; fi\n",
    );
    project.commit("tool");
    project.write("a.txt", "bad\n");
    let fixed = project.run(&["fix", "--changed", "a.txt"]);
    fixed
        .exits(0)
        .says("changed 1 file")
        .never_says("it must not change this");
    // What is tracked counts, whatever hides it.
    project.script(
        "tool",
        "#!/bin/sh\nif [ $1 = mend ]; then echo good > a.txt; echo x >> tracked; else grep -q good a.txt; fi\n",
    );
    project.write("tracked", "x\n");
    project.commit("tracked");
    project
        .write("a.txt", "bad\n")
        .write(".gitignore", "tracked\n");
    let fixed = project.run(&["fix", "--changed", "a.txt"]);
    fixed.exits(40).says("tracked: it must not change this");
}
