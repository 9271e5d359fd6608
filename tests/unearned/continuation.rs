//! A subject stays the one that it was: its directory, its history, its contract, its rows, and the
//! commands of its request. And honest work that looks like one of these ways stays complete.

use super::{caveat, codes};
use crate::support::Project;
use serde_json::{Value, json};

const ONE: &str = "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: grep -q good src/a\n}\ncheck other: true\n";

fn project(contract: &str) -> Project {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", contract),
        ("src/a", "good\n"),
        (".gitignore", ".vplan/\n.tasks/\n"),
    ]);
    project.git(&["checkout", "-q", "-b", "work"]);
    project
}

fn round(project: &Project, flags: &[&str], exit: i32) -> Value {
    let flags = [&["run", "--subject", "S", "--format", "json"], flags].concat();
    project.run(&flags).exits(exit).json()
}

fn show(project: &Project, exit: i32) -> Value {
    let shown = project.run(&["gate", "show", "--check", "--format", "json"]);
    let shown = shown.exits(exit).json();
    shown["subjects"][0].clone()
}

fn identity(project: &Project, contract: &str) -> String {
    let args = ["check", "--format", "json", "--contract", contract];
    let checked = project.run(&args).out();
    let at = checked.find("sha256:").unwrap();
    checked[at..].split('"').next().unwrap().to_owned()
}

type Act<'a> = &'a dyn Fn(&Project);

/// `gate show --check` is for a hook: it must read the files.
#[test]
fn gate_show_compares_the_files() {
    let acts: [(&str, Act<'_>); 6] = [
        ("removed", &|p| {
            p.remove("done");
        }),
        ("another content", &|p| {
            p.write("src/a", "other\n");
        }),
        ("a new file", &|p| {
            p.write("src/new", "");
        }),
        ("a mode", &|p| {
            p.mode("src/a", 0o755);
        }),
        ("stashed", &|p| {
            p.git(&["stash", "-q", "-u"]);
        }),
        ("renamed", &|p| {
            p.write("other", p.read("done")).remove("done");
        }),
    ];
    for (name, act) in acts {
        let project = project("vplan 1\ncheck a: test -f done\n");
        project.write("done", "");
        round(&project, &[], 0);
        assert_eq!(show(&project, 0)["decision"], "complete", "{name}");
        act(&project);
        let shown = show(&project, 20);
        assert_eq!(
            (&shown["outdated"], &shown["decision"]),
            (&json!("files_changed"), &json!("reverify")),
            "{name}"
        );
    }
}

#[test]
fn a_failed_round_without_a_change_is_not_complete() {
    let project = project("vplan 1\ncheck a: test -f .vplan/flag\n");
    project.write("src/b", "1\n").write(".vplan/flag", "");
    round(&project, &[], 0);
    project.remove(".vplan/flag");
    round(&project, &[], 40);
    show(&project, 20);
}

/// What git ignores is not among the files; the contract of the last round is compared by itself.
#[test]
fn gate_show_compares_the_contract() {
    let contract = |criteria: &str| task(&format!("check AC-1: grep -q good src/a\n{criteria}"));
    let (project, flags) = with_task("check AC-1: grep -q good src/a\n");
    let full = [&flags[..], &["--require", "full"]].concat();
    round(&project, &full, 0);
    project.write(".tasks/T.vplan", contract("# a comment\n"));
    show(&project, 0);
    project.write(".tasks/T.vplan", contract("check AC-2: true\n"));
    assert_eq!(show(&project, 20)["outdated"], "contract_changed");
    project
        .run(&["gate", "show", "--check", "--contract", ".tasks/T.vplan"])
        .exits(20);
    round(&project, &flags, 20);
    round(&project, &full, 0);
    show(&project, 0);
    // Done, and put away.
    project.remove(".tasks/T.vplan");
    show(&project, 0);
}

#[test]
fn a_removed_repository_is_another_subject() {
    let project = project("vplan 1\ncheck a: true\n");
    project.write("src/b", "1\n");
    round(&project, &[], 0);
    show(&project, 0);
    std::fs::rename(project.path(".git"), project.path("../git")).unwrap();
    project.run(&["gate", "show", "--check"]).exits(20);
    std::fs::rename(project.path("../git"), project.path(".git")).unwrap();
    show(&project, 0);
}

/// A round that is no pass, although no check failed in it, takes a completion back.
#[test]
fn gate_show_reports_the_last_round() {
    let flags = [
        (&["--status", "stuck"][..], 22),
        (&["--status", "continue"], 20),
        (&["--budget", "1ms"], 43),
        (&["--contract", ".tasks/T.vplan"], 44),
    ];
    for (flags, exit) in flags {
        let project = project("vplan 1\ncheck a: sh -c 'test ! -e .tasks/slow || sleep 5'\n");
        project.write("src/b", "1\n");
        project.write(".tasks/T.vplan", "vplan 1\ncheck b: true\n");
        round(&project, &[], 0);
        show(&project, 0);
        project.write(".tasks/slow", "");
        round(&project, flags, exit);
        assert_ne!(show(&project, 20)["decision"], "complete", "{flags:?}");
        // The same files, verified again.
        project.remove(".tasks/slow");
        round(&project, &["--require", "full"], 0);
        show(&project, 0);
    }
}

#[test]
fn what_keeps_the_files_keeps_a_subject_complete() {
    let commit: Act<'_> = &|p| {
        p.commit("work");
    };
    let acts: [(&str, Act<'_>); 8] = [
        ("committed", commit),
        ("amended", &|p| {
            p.commit("work");
            p.git(&["commit", "-q", "--amend", "-m", "other"]);
        }),
        ("squashed", &|p| {
            p.commit("work");
            p.git(&["reset", "-q", "--soft", "main"]);
            p.git(&["commit", "-q", "-m", "squashed"]);
        }),
        ("merged", &|p| {
            p.commit("work");
            p.git(&["checkout", "-q", "main"]);
            p.git(&["merge", "-q", "work"]);
        }),
        ("detached", &|p| {
            p.commit("work");
            p.git(&["checkout", "-q", "--detach"]);
        }),
        ("another branch", &|p| {
            p.git(&["checkout", "-q", "-b", "other"]);
        }),
        ("written again", &|p| {
            p.write("done", "");
        }),
        ("stashed and popped", &|p| {
            p.git(&["stash", "-q", "-u"]);
            p.git(&["stash", "pop", "-q"]);
        }),
    ];
    for (name, act) in acts {
        let project = project("vplan 1\ncheck a: test -f done\n");
        project.write("done", "");
        let report = project.path("report.xml");
        let report = report.to_str().unwrap();
        round(&project, &["--junit", report, "--require", "full"], 0);
        act(&project);
        assert_eq!(show(&project, 0)["decision"], "complete", "{name}");
    }
}

#[test]
fn another_work_tree_at_the_same_path_is_another_subject() {
    let project = project("vplan 1\ncheck a: test -f src/a\n");
    project.git(&["worktree", "add", "-q", "../w", "-b", "one", "main"]);
    let within =
        |args: &[&str], exit: i32| project.vplan(args).within("../w").run().exits(exit).out();
    let file = project.parent().join("w/new");
    std::fs::write(&file, "1").unwrap();
    within(&["run", "--subject", "S"], 0);
    within(&["gate", "show", "--check"], 0);
    project.git(&["worktree", "remove", "--force", "../w"]);
    project.git(&["worktree", "add", "-q", "../w", "-b", "two", "main"]);
    std::fs::write(&file, "1").unwrap();
    let shown = within(&["gate", "show", "--check"], 20);
    assert!(shown.contains("of another work tree"), "{shown}");
    let answer = within(&["run", "--subject", "S"], 44);
    assert!(answer.contains("began in another work tree"), "{answer}");
    within(&["gate", "reset", "--subject", "S"], 0);
    within(&["run", "--subject", "S", "--require", "full"], 0);
    within(&["gate", "show", "--check"], 0);
}

#[test]
fn history_without_the_subjects_beginning_is_another_subject() {
    let project = project("vplan 1\ncheck a: test -f src/a\n");
    project.write("new", "1");
    round(&project, &[], 0);
    project.git(&["checkout", "-q", "--orphan", "island"]);
    assert_eq!(show(&project, 20)["outdated"], "other_subject");
    project.commit("island");
    assert_eq!(show(&project, 20)["outdated"], "other_subject");
    let report = round(&project, &[], 44);
    assert!(codes(&report).contains(&"other_subject"), "{report:#}");
    assert_eq!(report["decisionReason"], "other_subject");
    project.git(&["checkout", "-q", "-B", "work", "main"]);
    project.write("new", "1");
    round(&project, &["--require", "full"], 0);
}

/// A branch in the middle, a detached HEAD, a rebase and a squash continue a subject.
#[test]
fn honest_history_continues_a_subject() {
    let project = project("vplan 1\ncheck a: test -f src/a\n");
    let full = ["--require", "full"];
    project.write("src/b", "1\n");
    round(&project, &full, 0);
    project.git(&["checkout", "-q", "-b", "feature"]);
    project.commit("one");
    round(&project, &full, 0);
    project.git(&["checkout", "-q", "--detach"]);
    project.write("src/c", "1\n").commit("two");
    round(&project, &full, 0);
    project.git(&["checkout", "-q", "-B", "feature"]);
    project.git(&["checkout", "-q", "main"]);
    project.write("others", "1\n").commit("others");
    project.git(&["checkout", "-q", "feature"]);
    project.git(&["rebase", "-q", "main"]);
    round(&project, &full, 0);
    project.git(&["reset", "-q", "--soft", "main"]);
    project.git(&["commit", "-q", "-m", "squashed"]);
    round(&project, &full, 0);
    show(&project, 0);
}

fn task(criteria: &str) -> String {
    format!("vplan 1\nimport \"../contracts/verify.vplan\" as shop\n{criteria}")
}

const BOTH: &str = "check AC-1: grep -q good src/a\ncheck AC-2: test -f page\n";

/// A project with a contract of a task that git ignores, and the flags of its rounds.
fn with_task(criteria: &str) -> (Project, [&'static str; 2]) {
    let project = project("vplan 1\ncheck own: true\n");
    project
        .write(".tasks/T.vplan", task(criteria))
        .write("src/b", "1\n");
    (project, ["--contract", ".tasks/T.vplan"])
}

#[test]
fn a_criterion_that_goes_between_rounds_completes_nothing() {
    let weaker = [
        "check AC-1: grep -q good src/a\n",
        "check AC-1: grep -q good src/a\ncheck AC-2: true\n",
        "check AC-1: grep -q good src/a\nwhenChangedAny \"no/**\" {\n  check AC-2: test -f page\n}\n",
        "check AC-1: grep -q good src/a\ncheck AC-2 {\n  run test -f page\n  exit 0 1\n}\n",
    ];
    for criteria in weaker {
        let (project, flags) = with_task(BOTH);
        round(&project, &flags, 40);
        project.write(".tasks/T.vplan", task(criteria));
        for _ in 0..2 {
            let report = round(&project, &flags, 44);
            let found = caveat(&report, "contract_changed");
            assert_eq!(found["checks"], json!(["AC-2"]), "{criteria}");
            assert_eq!(report["decisionReason"], "contract_changed", "{criteria}");
        }
        show(&project, 20);
        // As it was, it completes.
        project
            .write(".tasks/T.vplan", task(BOTH))
            .write("page", "");
        round(&project, &[&flags[..], &["--require", "full"]].concat(), 0);
        show(&project, 0);
    }
}

/// What decides what passes must stay, as a criterion must; what asks for more may come.
#[test]
fn a_statement_that_goes_between_rounds_completes_nothing() {
    const TIER: &str = "check AC-1: true\ntier 1 {\n  check AC-2: test -f page\n}\n";
    const JUDGE: &str = "check AC-1 {\n  judge \"ok?\"\n  context \"src/**\"\n}\n";
    let verdict = |verdict: &str| format!("judge-with sh .tasks/{verdict}.sh\n");
    let scope = |allow: &str| format!("scope {{\n  allow {allow}\n}}\n");
    let ways = [
        (TIER, scope("\"lib/**\""), String::new(), "scope"),
        (TIER, scope("\"lib/**\""), scope("\"**\""), "scope"),
        (
            TIER,
            "risk high tier 1 \"src/**\"\n".to_owned(),
            String::new(),
            "risk high",
        ),
        (
            TIER,
            "risk high tier 1 \"src/**\"\n".to_owned(),
            "risk high tier 1 \"docs/**\"\n".to_owned(),
            "risk high",
        ),
        (JUDGE, verdict("fail"), verdict("pass"), "judge-with"),
    ];
    for (checks, before, after, what) in ways {
        let (project, flags) = with_task(&format!("{before}{checks}"));
        for verdict in ["fail", "pass"] {
            let answer = format!(
                "cat >/dev/null; echo '{{\"verdict\": \"{verdict}\", \"reasoning\": \"r\"}}'\n"
            );
            project.write(format!(".tasks/{verdict}.sh"), answer);
        }
        round(&project, &flags, 40);
        project.write(".tasks/T.vplan", task(&format!("{after}{checks}")));
        for _ in 0..2 {
            let report = round(&project, &flags, 44);
            let found = caveat(&report, "contract_changed");
            let message = found["message"].as_str().unwrap();
            assert!(
                message.ends_with(&format!("as it was: `{what}`")),
                "{message}"
            );
        }
        show(&project, 20);
    }
    for more in [
        scope("\"**\""),
        "risk high tier 1 \"docs/**\"\n".to_owned(),
        verdict("pass"),
    ] {
        let (project, flags) = with_task("check AC-1: true\n");
        round(&project, &flags, 0);
        let text = format!("{more}check AC-1: true\n");
        project.write(".tasks/T.vplan", task(&text));
        round(&project, &flags, 20);
        round(&project, &[&flags[..], &["--require", "full"]].concat(), 0);
        show(&project, 0);
    }
}

#[test]
fn a_criterion_that_goes_before_the_first_round_or_with_the_contract() {
    let (project, flags) = with_task(BOTH);
    let begin = [&["gate", "begin", "--subject", "S"], &flags[..]].concat();
    project.run(&begin).exits(0);
    project.write(".tasks/T.vplan", task("check AC-1: true\n"));
    round(&project, &flags, 44);
    project
        .write(".tasks/T.vplan", task(BOTH))
        .write("page", "");
    // The contract of the repository has none of the criteria.
    let report = round(&project, &[], 44);
    assert_eq!(
        caveat(&report, "contract_changed")["checks"],
        json!(["AC-1", "AC-2", "shop/own"]),
    );
    round(&project, &flags, 0);
}

#[test]
fn a_tracked_criterion_newer_than_the_base_must_stay() {
    let project = project("vplan 1\ncheck own: true\n");
    project.write("src/b", "1\n");
    project.write(
        "contracts/verify.vplan",
        "vplan 1\ncheck own: true\ncheck AC-2: test -f page\n",
    );
    round(&project, &[], 40);
    project.git(&["checkout", "-q", "contracts"]);
    for _ in 0..2 {
        assert!(codes(&round(&project, &[], 44)).contains(&"contract_changed"));
    }
}

#[test]
fn a_contract_that_a_person_accepts_completes() {
    let less = task("check AC-1: grep -q good src/a\n");
    let (project, flags) = with_task(BOTH);
    round(&project, &flags, 40);
    project.write(".tasks/T.vplan", &less);
    round(&project, &flags, 44);
    let digest = identity(&project, ".tasks/T.vplan");
    let accept = ["gate", "accept", "--subject", "S", "--contract", &digest];
    project.run(&accept).exits(0);
    round(&project, &[&flags[..], &["--require", "full"]].concat(), 0);
    show(&project, 0);
    let (project, flags) = with_task(BOTH);
    round(&project, &flags, 40);
    project.write(".tasks/T.vplan", &less);
    let allow = format!("--allow-contract-change={digest}");
    round(&project, &[&flags[..], &[&allow]].concat(), 0);
}

/// A comment changes nothing, and one criterion more costs one more round.
#[test]
fn a_contract_that_grows_costs_one_round() {
    let (project, flags) = with_task(BOTH);
    let full = [&flags[..], &["--require", "full"]].concat();
    round(&project, &flags, 40);
    project.write("page", "");
    let text = format!("{}# a comment\n", task(BOTH));
    project.write(".tasks/T.vplan", text);
    round(&project, &full, 0);
    let more = |last: &str| project.write(".tasks/T.vplan", task(&format!("{BOTH}{last}")));
    more("check AC-3: true\n");
    let report = round(&project, &flags, 20);
    assert_eq!(report["decisionReason"], "contract_changed");
    round(&project, &full, 0);
    // What was added later may be altered, and must stay.
    more("check AC-3: test -f src/a\n");
    round(&project, &flags, 20);
    round(&project, &full, 0);
    more("");
    round(&project, &flags, 44);
}

#[test]
fn a_command_of_the_request_that_recovery_drops_confirms_nothing() {
    for command in [
        "npm run test-login",
        "make nothere",
        "npm run test && npm run test-login",
        "npm run --if-present test-login",
        "pnpm --if-present run test-login",
    ] {
        // Recovery drops only what the base does not have, either.
        let project = Project::git_with(&[
            ("contracts/verify.vplan", "vplan 1\ncheck own: true\n"),
            ("package.json", "{\"scripts\":{\"test\":\"true\"}}"),
            ("Makefile", "all:\n\ttrue\n"),
            (".gitignore", ".vplan/\n"),
        ]);
        project.git(&["checkout", "-q", "-b", "work"]);
        project.write("src/b", "1\n");
        let report = round(&project, &["--command", command], 44);
        assert!(
            codes(&report).contains(&"request_lost_command"),
            "{command}: {report:#}"
        );
        show(&project, 20);
        // The request without it may.
        round(&project, &["--require", "full"], 0);
        show(&project, 0);
    }
}

#[test]
fn a_request_whose_commands_all_ran_confirms() {
    // A contract may have commands that pass without their script.
    let project = project("vplan 1\ncheck own: npm run --if-present lint\n");
    project.write("Makefile", "a:\n\ttrue\nb:\n\ttrue\n");
    project.write("package.json", "{\"scripts\":{\"x\":\"true\"}}");
    for command in ["make a && make b", "npm run --if-present x"] {
        round(&project, &["--command", command, "--require", "full"], 0);
    }
}

#[test]
fn an_empty_change_after_a_failed_round_is_not_done() {
    let acts: [(&str, Act<'_>); 5] = [
        ("stash", &|p| {
            p.git(&["stash", "-q"]);
        }),
        ("checkout", &|p| {
            p.git(&["checkout", "-q", "."]);
        }),
        ("committed elsewhere", &|p| {
            p.git(&["checkout", "-q", "-b", "x"]);
            p.commit("x");
            p.git(&["checkout", "-q", "work"]);
        }),
        ("an empty commit", &|p| {
            p.git(&["stash", "-q"]);
            p.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
        }),
        ("reverted", &|p| {
            p.commit("bad");
            p.git(&["revert", "--no-edit", "HEAD"]);
        }),
    ];
    for (name, act) in acts {
        let project = project(ONE);
        project.write("src/a", "bad\n");
        round(&project, &[], 40);
        act(&project);
        let report = round(&project, &[], 20);
        assert_eq!(report["decisionReason"], "empty_change", "{name}");
        round(&project, &["--all", "--only", "other"], 20);
        show(&project, 20);
        // Reverting may be the task.
        round(&project, &["--all"], 0);
        show(&project, 0);
    }
}

#[test]
fn an_empty_change_that_a_person_accepts_is_done() {
    let project = project(ONE);
    round(&project, &["--require", "full"], 0);
    project.write("src/a", "bad\n");
    round(&project, &[], 40);
    project.git(&["checkout", "-q", "."]);
    round(&project, &[], 20);
    let digest = identity(&project, "contracts/verify.vplan");
    let accept = ["gate", "accept", "--subject", "S", "--contract", &digest];
    project.run(&accept).exits(0);
    round(&project, &["--require", "full"], 0);
}

/// A round that left work unverified is as one that failed, until a round verifies all of it.
#[test]
fn an_empty_change_after_a_round_that_left_work_unverified_is_not_done() {
    let rounds: [(&[&str], i32); 4] = [
        (&["--only", "other"], 20),
        (&["--mode", "off"], 20),
        (&["--changed-none"], 20),
        (&["--budget", "1ms"], 43),
    ];
    for (flags, exit) in rounds {
        for is_verified in [false, true] {
            let project = project(ONE);
            project.write("src/a", "good too\n");
            round(&project, flags, exit);
            if is_verified {
                round(&project, &["--require", "full"], 0);
            }
            project.git(&["stash", "-q"]);
            if !is_verified {
                let report = round(&project, &[], 20);
                assert_eq!(report["decisionReason"], "empty_change", "{flags:?}");
                round(&project, &["--all"], 0);
            }
            round(&project, &[], 0);
            show(&project, 0);
        }
        // Without work there is none to lose.
        let project = project(ONE);
        let ran = project.run(&[&["run", "--subject", "S"], flags].concat());
        assert!(matches!(ran.exit, Some(0 | 20 | 43)), "{flags:?}: {ran:?}");
        round(&project, &["--require", "full"], 0);
    }
}

/// What was put aside and comes back, and another way after one that failed.
#[test]
fn work_after_a_failed_round_is_done() {
    let project = project(ONE);
    let full = ["--require", "full"];
    project.write("src/a", "bad\n");
    round(&project, &[], 40);
    project.git(&["stash", "-q"]);
    round(&project, &[], 20);
    project.git(&["stash", "pop", "-q"]);
    project.write("src/a", "good again\n");
    round(&project, &full, 0);
    project.write("src/a", "bad\n");
    round(&project, &[], 40);
    project.git(&["checkout", "-q", "."]);
    project.write("src/b", "another way\n");
    round(&project, &full, 0);
    show(&project, 0);
}

#[test]
fn a_row_of_each_that_goes_keeps_a_subject_from_being_done() {
    let each = "vplan 1\neach pkg in-folders \"p/*\" with \"package.json\" {\n  whenChangedAny \"p/{pkg}/**\" {\n    \
                check t-{pkg}: grep -q good p/{pkg}/s\n  }\n}\ncheck other: true\n";
    let project = Project::git_with(&[
        ("contracts/verify.vplan", each),
        ("p/a/package.json", "{}"),
        ("p/a/s", "good\n"),
        ("p/b/package.json", "{}"),
        ("p/b/s", "good\n"),
        (".gitignore", ".vplan/\n"),
    ]);
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("p/b/s", "bad\n").remove("p/b/package.json");
    let dropped = |flags: &[&str]| {
        let report = round(&project, flags, 44);
        let found = caveat(&report, "rows_dropped");
        assert_eq!(found["checks"], json!(["t-b"]), "{flags:?}");
        show(&project, 20);
        project.run(&["gate", "reset", "--all"]).exits(0);
    };
    dropped(&[]);
    dropped(&["--all"]);
    project.commit("renamed");
    dropped(&["--changed", "p/b/s"]);
    project
        .write("p/b/s", "good 2\n")
        .write("p/b/package.json", "{}");
    round(&project, &["--require", "full"], 0);
    // A package that is removed is a matter for a person.
    project.remove("p/b/package.json").remove("p/b/s");
    round(&project, &[], 44);
    let digest = identity(&project, "contracts/verify.vplan");
    let accept = ["gate", "accept", "--subject", "S", "--contract", &digest];
    project.run(&accept).exits(0);
    round(&project, &[], 0);
    show(&project, 0);
}
