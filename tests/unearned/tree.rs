//! What belongs to the tree is one list: a file counts where a check is about it, whether git knows
//! it or not. What tools leave and the user's own settings hide does not narrow honest work.

use super::{caveat, codes};
use crate::support::Project;
use proptest::prelude::*;
use serde_json::{Value, json};
use vplan::arbitrary::config;

const SELECTED: &str = "whenChangedAny \"src/**\" {\n  check unit: sh src/a\n}\n";
const EVERY: &str = "whenChangedAny \"**\" {\n  check unit: sh src/a\n}\n";
const PLAIN: &str = "check unit: sh src/a\n";
const CHECKS: [&str; 3] = [SELECTED, EVERY, PLAIN];

/// A repository whose change sources `src/helper`, which passes.
fn project(checks: &str) -> Project {
    let contract = format!("vplan 1\n{checks}");
    let project = Project::git_with(&[
        ("contracts/verify.vplan", contract.as_str()),
        (".gitignore", "/.vplan/\n/out/\n"),
        ("src/a", "true\n"),
    ]);
    super::pushed(&project);
    project
}

fn with_helper(checks: &str) -> Project {
    let project = project(checks);
    project
        .write("src/a", ". src/helper\n")
        .write("src/helper", "true\n");
    project
}

fn report(project: &Project, args: &[&str]) -> Value {
    let words = [&["run", "--format", "json"], args].concat();
    project.run(&words).json()
}

#[track_caller]
fn narrows(project: &Project, args: &[&str], file: &str) {
    let report = report(project, args);
    let said = caveat(&report, "hidden_files");
    assert_eq!(said["effect"], "narrows", "{said}");
    let files = said["files"].as_array().unwrap();
    assert!(files.contains(&file.into()), "{said}");
    assert_eq!(report["coverage"], "narrowed", "{report:#}");
    let words = [&["run", "--require", "full"], args].concat();
    project.run(&words).exits(44);
}

#[test]
fn hidden_file_beside_a_selected_check_narrows() {
    type Hide = fn(&Project);
    let hide: [(&str, Hide); 5] = [
        ("info/exclude", |p| {
            _ = p.write(".git/info/exclude", "src/helper\n")
        }),
        ("an untracked .gitignore", |p| {
            _ = p.write("src/.gitignore", "helper\n.gitignore\n")
        }),
        ("core.excludesFile", |p| {
            p.write("../ignored", "helper\n");
            p.git(&["config", "core.excludesFile", "../ignored"]);
        }),
        ("an included configuration", |p| {
            p.write("../ignored", "helper\n")
                .write(".git/more", "[core]\n  excludesFile = ../ignored\n");
            p.git(&["config", "include.path", "more"]);
        }),
        ("a link", |p| {
            p.remove("src/helper").symlink("src/helper", "/dev/null");
            p.write(".git/info/exclude", "src/h*\n");
        }),
    ];
    for checks in CHECKS {
        for (name, hide) in hide {
            let project = with_helper(checks);
            hide(&project);
            eprintln!("{checks} {name}");
            narrows(&project, &[], "src/helper");
            narrows(&project, &["--all"], "src/helper");
            narrows(&project, &["--subject", "S"], "src/helper");
            project.run(&["status", "--require", "verified"]).exits(44);
        }
    }
}

#[test]
fn hook_names_a_hidden_file() {
    let project = project(SELECTED);
    let event = |name: &str| {
        let event = json!({"session_id": "s", "hook_event_name": name, "cwd": "/"});
        let ran = project
            .vplan(&["hook", "claude-code"])
            .stdin(event.to_string())
            .run();
        ran.exits(0);
        ran.out()
    };
    assert_eq!(event("SessionStart"), "");
    project
        .write("src/a", ". src/helper\n")
        .write("src/helper", "true\n")
        .write(".git/info/exclude", "helper\n");
    assert!(event("Stop").contains("src/helper"));
}

#[test]
fn saved_plan_names_a_file_hidden_since() {
    let project = with_helper(SELECTED);
    project.remove("src/helper");
    project.run(&["plan", "-o", "../p.json"]).exits(0);
    project
        .write("src/helper", "true\n")
        .write(".git/info/exclude", "helper\n");
    let report = report(&project, &["--plan", "../p.json"]);
    assert_eq!(caveat(&report, "hidden_files")["effect"], "narrows");
}

#[test]
fn hidden_folder_is_one_entry_unless_a_condition_enters_it() {
    for (checks, want) in [
        (PLAIN, json!(["notes"])),
        (
            "whenChangedAny \"notes/**\" {\n  check unit: true\n}\n",
            json!(["notes/d/x", "notes/y"]),
        ),
    ] {
        let project = project(checks);
        project
            .write("notes/d/x", "1")
            .write("notes/y", "1")
            .write(".git/info/exclude", "notes/\n");
        let report = report(&project, &[]);
        assert_eq!(caveat(&report, "hidden_files")["files"], want);
    }
}

#[test]
fn nested_git_folder_narrows() {
    let make: [fn(&Project) -> &'static str; 4] = [
        |p| {
            p.write("src/.git/helper", "true\n");
            "src/.git"
        },
        |p| {
            p.write("src/.git", "true\n");
            "src/.git"
        },
        // Hidden once more, and not by a rule.
        |p| {
            p.write("src/x/.git/helper", "true\n");
            p.write("src/.gitignore", "x/\n");
            "src/x/.git"
        },
        // A repository around tracked files of this one.
        |p| {
            p.git_in("src", &["init", "-q"]);
            p.write("src/.git/helper", "true\n");
            "src/.git"
        },
    ];
    for (number, make) in make.into_iter().enumerate() {
        let project = project(SELECTED);
        project.write("src/a", "# sources it\n");
        let file = make(&project);
        eprintln!("{number}");
        narrows(&project, &[], file);
    }
    // A clone in a folder of its own counts with its files.
    let honest = project(SELECTED);
    honest.write("src/a", "true # 2\n").mkdir("vendor");
    honest.git_in("vendor", &["init", "-q"]);
    honest.write("vendor/x", "1");
    honest.run(&["run", "--require", "full"]).exits(0);
}

#[test]
fn command_that_names_a_file_of_git_or_records_narrows() {
    for file in [".git/helper", ".vplan/helper"] {
        let project = project(&format!("check unit: sh {file}\n"));
        project.write(file, "true\n").write("src/a", "true # 2\n");
        narrows(&project, &[], file);
    }
    for (check, file) in [
        ("run awk -f .git/helper src/a", ".git/helper"),
        ("run env BASH_ENV=.git/helper bash -c true", ".git/helper"),
        (
            "run sh -c true\n  env PYTHONPATH=\"lib:.git/lib\"",
            ".git/lib",
        ),
        ("run git -c core.hooksPath=.git/own status", ".git/own"),
    ] {
        let project = project(&format!("check unit {{\n  {check}\n}}\n"));
        project
            .write(".git/helper", "{}\n")
            .write("src/a", "true # 2\n");
        narrows(&project, &[], file);
    }
    // Words that are no program and no script name nothing that is executed.
    for command in [
        "test -d .git",
        "env GIT_DIR=.git git status",
        "env PYTHONPATH=src true",
    ] {
        let honest = project(&format!("check unit: {command}\n"));
        honest.write("src/a", "true # 2\n");
        honest.run(&["run", "--require", "full"]).exits(0);
    }
}

#[test]
fn hidden_product_violates_unchanged() {
    let checks = "check gen {\n  run sh gen.sh\n  unchanged \"gen/**\"\n}\n";
    let project = project(checks);
    project.write("gen/a", "a\n").write("gen.sh", "true\n");
    project.pushed(&project.commit("generator"));
    project
        .write("gen.sh", "echo b > gen/b\n")
        .write(".git/info/exclude", "gen/b\n");
    project
        .run(&["run", "--require", "full"])
        .exits(40)
        .says("gen/b");
    // A cache that its tool makes and ignores violates nothing.
    let honest = self::project(&checks.replace("gen/**", "**"));
    honest.write("gen.sh", "true\n");
    honest.pushed(&honest.commit("generator"));
    let cache =
        "mkdir -p .ruff_cache; echo '*' > .ruff_cache/.gitignore; date +%N > .ruff_cache/v\n";
    honest.write("gen.sh", cache);
    honest.run(&["run", "--require", "full"]).exits(0);
}

#[test]
fn hidden_context_of_a_judge_and_hidden_file_out_of_scope_narrow() {
    let judge = "judge-with sh judge.sh\nwhenChangedAny \"src/**\" {\n  check c {\n    judge \"ok?\"\n    context \"docs/**\"\n  }\n}\n";
    let project = project(judge);
    let answer = "cat > ../asked; echo '{\"verdict\": \"pass\", \"reasoning\": \"r\"}'\n";
    project.write("judge.sh", answer).write("docs/a", "fine\n");
    project.pushed(&project.commit("judge"));
    project
        .write("src/a", "true # 2\n")
        .write("docs/b", "PRIVATE\n")
        .write(".git/info/exclude", "docs/b\n");
    narrows(&project, &[], "docs/b");
    assert!(
        !project.read("../asked").contains("PRIVATE"),
        "what is hidden here does not leave the machine"
    );

    let scope = "whenChangedAny \"src/**\" {\n  check o: true\n}\nscope {\n  allow \"src/**\"\n}\n";
    let project = self::project(scope);
    project
        .write("src/a", "true # 2\n")
        .write("docs/n", "1")
        .write(".git/info/exclude", "docs/n\n");
    narrows(&project, &[], "docs/n");
}

#[test]
fn staged_view_is_without_hidden_files() {
    for checks in CHECKS {
        for hide in ["src/helper\n", ""] {
            let project = with_helper(checks);
            project.write(".git/info/exclude", hide);
            project.git(&["add", "src/a"]);
            // Without the file the check fails; where there is no view, the run is refused.
            let ran = project.run(&["run", "--staged", "--require", "full"]);
            assert!(matches!(ran.exit, Some(5 | 40)), "{checks}: {}", ran.out());
            assert!(project.exists("src/helper"));
        }
    }
}

#[test]
fn recorded_read_of_what_tools_leave_narrows() {
    let project = project(SELECTED);
    project
        .write("src/a", ". src/a~\n")
        .write("src/a~", "true\n")
        .write(".git/info/exclude", "*~\n");
    let before = report(&project, &[]);
    let said = caveat(&before, "hidden_files");
    assert_eq!(
        (&said["effect"], &before["coverage"]),
        (&"note".into(), &"full".into())
    );
    assert!(said["wayOut"].as_str().unwrap().ends_with("`*~`"), "{said}");
    let observed = report(&project, &["--observe"]);
    if observed["coverage"] == "full" {
        eprintln!("SKIPPED: this machine does not observe");
        return;
    }
    narrows(&project, &[], "src/a~");
}

#[test]
fn folder_of_sources_is_not_a_tools() {
    let project = project(SELECTED);
    project.write("src/venv/z", "true\n");
    project.pushed(&project.commit("sources"));
    project
        .write("src/a", ". src/venv/h\n")
        .write("src/venv/h", "true\n")
        .write(".git/info/exclude", "/src/venv/h\n");
    narrows(&project, &[], "src/venv/h");
}

#[test]
fn what_is_left_and_hidden_after_a_pass_makes_no_other_tree() {
    let verified = |project: &Project, is: bool| {
        let gate = ["gate", "show", "--subject", "S", "--check"];
        project.run(&gate).exits(if is { 0 } else { 20 });
        let status = ["status", "--require", "verified"];
        project.run(&status).exits(if is { 0 } else { 44 });
    };
    for checks in CHECKS {
        let project = project(checks);
        project.write("../home/.config/git/ignore", "*.swp\n.DS_Store\n.idea/\n");
        project.write("src/a", "true # 2\n").write("src/n", "1");
        let run = ["run", "--subject", "S", "--require", "full"];
        project.run(&run).exits(0);
        for (file, rules) in [
            ("src/.a.swp", None),
            ("src/.DS_Store", None),
            (".venv/x", Some(".venv/.gitignore")),
            (".pytest_cache/v", Some(".pytest_cache/.gitignore")),
            (".idea/w", None),
        ] {
            project.write(file, "1");
            rules.map(|rules| project.write(rules, "*\n"));
            verified(&project, true);
        }
        project.write("src/venv/x", "1");
        verified(&project, false);
        project
            .remove("src/venv/x")
            .write(".git/info/exclude", "helper\n");
        verified(&project, true);
        project.write("src/helper", "1");
        verified(&project, false);
    }
}

#[test]
fn newly_ignored_files_narrow_every_answer() {
    let project = project("whenChangedAny \"new/**\" {\n  check n: true\n}\ncheck always: true\n");
    project
        .write("new/x", "1")
        .write(".gitignore", "/.vplan/\n/out/\n/new/\n");
    for args in [&[][..], &["--all"], &["--subject", "S"]] {
        let report = report(&project, args);
        let said = caveat(&report, "newly_ignored");
        assert_eq!(
            (&said["effect"], &report["coverage"]),
            (&"narrows".into(), &"narrowed".into())
        );
        project.run(&["feedback"]).exits(0).warns("new/x");
    }
    // An empty `.git` does not end the search.
    project.mkdir("new/.git");
    let report = self::report(&project, &[]);
    assert_eq!(caveat(&report, "newly_ignored")["effect"], "narrows");
    // For a check without a condition, and for what tools leave, it is a note.
    for (checks, file, line) in [
        (PLAIN, "dist/x", "/dist/"),
        (EVERY, "dist/x", "/dist/"),
        (SELECTED, "src/__pycache__/x.pyc", "__pycache__/"),
    ] {
        let honest = self::project(checks);
        honest.write("src/a", "true # 2\n").write(file, "1");
        honest.write(".gitignore", format!("/.vplan/\n/out/\n{line}\n"));
        let report = self::report(&honest, &["--require", "full"]);
        assert_eq!(caveat(&report, "newly_ignored")["effect"], "note");
        assert_eq!(report["exitCode"], 0);
    }
}

#[test]
fn a_file_that_git_no_longer_tracks_and_that_is_still_there_narrows() {
    let begun = |checks| {
        let project = project(checks);
        let rules = "/.vplan/\n/out/\n/src/helper\n/dist/\n";
        project
            .write(".gitignore", rules)
            .write("src/a", ". src/helper\n")
            .write("src/helper", "true\n")
            .write("dist/x", "1");
        project.git(&["add", "-f", "src/helper", "dist/x"]);
        project.pushed(&project.commit("both"));
        project
    };
    let project = begun(SELECTED);
    project.git(&["rm", "-q", "--cached", "src/helper"]);
    for commit in [false, true] {
        let said = caveat(&report(&project, &[]), "newly_ignored").clone();
        assert_eq!(
            (&said["effect"], &said["files"]),
            (&"narrows".into(), &json!(["src/helper"]))
        );
        let message = said["message"].as_str().unwrap();
        assert!(message.contains("`.gitignore:3: /src/helper`"), "{message}");
        for staged in [&[][..], &["--staged"][..usize::from(!commit)]] {
            let words = [&["run", "--require", "full"], staged].concat();
            project.run(&words).exits(44);
        }
        project.run(&["status", "--require", "verified"]).exits(44);
        project.commit("gone");
    }
    // What is built is no longer tracked, and no condition selects it.
    for checks in CHECKS {
        let honest = begun(checks);
        honest.git(&["rm", "-rq", "--cached", "dist"]);
        honest.write("src/a", ". src/helper # 2\n");
        honest.run(&["run", "--require", "full"]).exits(0);
    }
}

#[test]
fn all_takes_untracked_files() {
    let project = project("whenChangedAny \"new/**\" {\n  check n: false\n}\n");
    project.run(&["run", "--all"]).exits(0);
    project.write("new/x", "1").run(&["run", "--all"]).exits(40);
}

#[test]
fn no_line_is_proposed_that_ignores_a_folder_of_the_change() {
    for (script, file) in [
        ("mv src/old src/b\n", "/src/b"),
        ("echo 1 > work/made\n", "/work/made"),
    ] {
        let project = project("check unit: sh m.sh\n");
        project.git(&["rm", "-q", "src/a"]);
        project.write("src/old", "1\n");
        project.pushed(&project.commit("one file"));
        project.write("m.sh", script).write("work/x", "1");
        let report = report(&project, &[]);
        if codes(&report).contains(&"new_files") {
            let said = caveat(&report, "new_files")["wayOut"].to_string();
            let names_rule = said.contains(".gitignore");
            assert!(!names_rule || said.contains(&format!("`{file}`")), "{said}");
        }
        let said = report["caveats"].to_string();
        assert!(
            !said.contains("`/src/`") && !said.contains("`/work/`"),
            "{said}"
        );
    }
}

/// An act of honest work.
const HONEST: [fn(&Project); 10] = [
    |p| {
        let text = p.read("src/a");
        p.write("src/a", text + "true\n");
    },
    |p| _ = p.commit("work"),
    |p| {
        _ = p
            .write(".venv/.gitignore", "*\n")
            .write(".venv/lib/x.py", "1")
    },
    |p| {
        p.write(".pytest_cache/.gitignore", "*\n")
            .write(".pytest_cache/v/last", "1");
    },
    |p| _ = p.write("src/__pycache__/x.pyc", "1"),
    |p| _ = p.write("src/.DS_Store", "1").write("src/.a.swp", "1"),
    |p| _ = p.write(".idea/workspace.xml", "1"),
    |p| {
        let text = p.read(".gitignore");
        p.write(".gitignore", text + "/dist/\n")
            .write("dist/x", "1");
    },
    |p| {
        if !p.git(&["status", "--porcelain", "-uno"]).is_empty() {
            p.git(&["stash", "-q"]);
            p.git(&["stash", "pop", "-q"]);
        }
    },
    |p| _ = p.write("src/new", "1"),
];

proptest! {
    #![proptest_config(config(16))]

    /// The converse of `content::every_difference_is_in_the_plan_or_in_the_answer`.
    #[test]
    fn honest_sessions_stay_full(
        checks in 0..CHECKS.len(),
        acts in proptest::collection::vec(0..HONEST.len(), 1..8),
    ) {
        let project = project(CHECKS[checks]);
        project.write("../home/.config/git/ignore", ".idea/\n.DS_Store\n*.swp\n__pycache__/\n");
        project.write("src/a", "true # changed\n");
        for act in acts {
            HONEST[act](&project);
        }
        let report = report(&project, &["--require", "full"]);
        prop_assert_eq!(&report["exitCode"], 0, "{:#}", report["caveats"]);
        prop_assert_eq!(&report["coverage"], "full");
    }
}
