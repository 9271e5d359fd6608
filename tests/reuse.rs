//! Reuse of results end to end: when `vplan run` starts a step, and when an earlier pass stands for
//! it.

use crate::support::Project;
use crate::support::process::Bounded as _;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// One step that writes down, beside the project, that it ran.
const ONE: &str = r#"vplan 1
check one {
  shell echo x >>../ran; cat src/*; test ! -e ../fail
  inputs src/**
}
"#;

/// A contract; globs need no quotes here.
fn quoted(contract: &str) -> String {
    let line = |line: &str| {
        let words = line.split(' ').map(|word| {
            if word.contains("**") {
                format!("\"{word}\"")
            } else {
                word.to_owned()
            }
        });
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    contract.lines().map(line).collect()
}

fn project(contract: &str) -> Project {
    let contract = quoted(contract);
    let contract = contract.as_str();
    Project::git_with(&[
        ("contracts/verify.vplan", contract),
        ("src/a", "1"),
        ("src/b", "1"),
        ("other", "1"),
    ])
}

fn ran(project: &Project) -> usize {
    std::fs::read(project.parent().join("ran"))
        .unwrap_or_default()
        .len()
        / 2
}

fn report(project: &Project, args: &[&str]) -> Value {
    project
        .run(&[&["run", "--format", "json", "--changed-none"], args].concat())
        .json()
}

/// `id:status` of each step, in order.
fn statuses(report: &Value) -> String {
    let one = |s: &Value| {
        format!(
            "{}:{}",
            s["id"].as_str().unwrap(),
            s["status"].as_str().unwrap()
        )
    };
    report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(one)
        .collect::<Vec<_>>()
        .join(" ")
}

fn step<'a>(report: &'a Value, id: &str) -> &'a Value {
    report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["id"] == id)
        .unwrap()
}

/// Why no earlier pass stood for a step.
fn why(report: &Value, id: &str) -> String {
    step(report, id)["notReused"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn notes(report: &Value) -> String {
    let list = report["notes"].as_array().cloned().unwrap_or_default();
    list.iter()
        .map(|n| n["message"].as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The folder of what is kept.
fn store(project: &Project) -> PathBuf {
    let state = project.parent().join("home/state/vplan");
    let of = std::fs::read_dir(&state)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    of.join("results")
}

/// The passes that are kept.
fn kept(project: &Project) -> Vec<PathBuf> {
    let files = std::fs::read_dir(store(project))
        .unwrap()
        .map(|e| e.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|p| p.file_name().unwrap().len() == 64)
        .collect();
    files.sort();
    files
}

#[test]
fn a_preview_says_what_a_pass_may_stand_for() {
    let preview = |contract: &str| project(contract).run(&["explain", "--changed-none"]);
    preview(ONE).says("   inputs \"src/**\"; a pass on the same may stand for it\n");
    preview("vplan 1\ncheck one: cat src/a\n").never_says("may stand for it");
}

#[test]
fn a_pass_stands_for_a_step_until_its_inputs_change() {
    let project = project(ONE);
    let first = report(&project, &[]);
    assert_eq!(
        (statuses(&first).as_str(), ran(&project)),
        ("one:passed", 1),
        "{first}"
    );
    assert_eq!(why(&first, "one"), "there is no earlier pass of it");

    let second = report(&project, &[]);
    assert_eq!(
        (statuses(&second).as_str(), ran(&project)),
        ("one:cached", 1),
        "{second}"
    );
    let cached = step(&second, "one");
    assert_eq!(cached["cachedFrom"]["runId"], first["runId"]);
    assert_eq!(
        (&cached["reason"], &cached["tries"]),
        (&"same_inputs".into(), &0.into())
    );
    assert_eq!(second["verdict"], "passed");
    assert_eq!(
        (&second["coverage"], &second["exitCode"]),
        (&"full".into(), &0.into())
    );
    let third = report(&project, &[]);
    assert_eq!(
        step(&third, "one")["cachedFrom"]["runId"],
        first["runId"],
        "the run that proved it"
    );

    project.write("other", "2");
    assert_eq!(
        statuses(&report(&project, &[])),
        "one:cached",
        "not an input"
    );
    for (name, change) in [
        (
            "content",
            &(|p: &Project| {
                p.write("src/a", "2");
            }) as &dyn Fn(&Project),
        ),
        ("a new file", &|p| {
            p.write("src/c", "1");
        }),
        ("a file less", &|p| {
            p.remove("src/c").remove("src/b");
        }),
        ("a mode", &|p| {
            p.mode("src/a", 0o755);
        }),
        ("an ignored file", &|p| {
            p.write(".gitignore", "src/ignored")
                .write("src/ignored", "1");
        }),
        ("a symlink", &|p| {
            p.symlink("src/link", "../other");
        }),
        ("what is behind a symlink", &|p| {
            p.write("other", "3");
        }),
    ] {
        let before = ran(&project);
        change(&project);
        let changed = report(&project, &[]);
        assert_eq!(statuses(&changed), "one:passed", "{name}: {changed}");
        assert!(ran(&project) == before + 1, "{name}");
        assert_eq!(statuses(&report(&project, &[])), "one:cached", "{name}");
    }
    project
        .write("src/a", "1")
        .mode("src/a", 0o644)
        .remove("src/ignored")
        .remove("src/link")
        .write("src/b", "1");
    let back = report(&project, &[]);
    assert_eq!(
        step(&back, "one")["cachedFrom"]["runId"],
        first["runId"],
        "all is as it was at first"
    );
}

#[test]
fn people_read_what_was_not_run() {
    let project = project(&format!("{ONE}check two: true\n"));
    project
        .run(&["run", "--changed-none"])
        .exits(0)
        .says("2 passed in");
    let second = project.run(&["run", "--changed-none"]);
    second
        .exits(0)
        .says("2 passed, 1 of them in earlier runs")
        .warns("passed in run ");
    let journal = std::fs::read_dir(project.path(".vplan/runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .max()
        .unwrap();
    let journal = std::fs::read_to_string(journal.join("events.jsonl")).unwrap();
    let events: Vec<Value> = journal
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let of = |kind: &str| {
        events
            .iter()
            .filter(|e| e["type"] == kind && e["id"] == "one")
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of("step.started"),
        Vec::<&Value>::new(),
        "nothing was started"
    );
    let finished = of("step.finished");
    assert_eq!(
        (&finished[0]["status"], &finished[0]["attempt"]),
        (&"cached".into(), &0.into())
    );
    assert!(finished[0]["cachedFrom"].is_string());
}

/// The program that a launcher starts is an input of a pass.
#[test]
fn a_program_behind_a_launcher_changes() {
    let project = project(
        "vplan 1\ncheck one {\n  run env -u X A=1 tool src/a\n  tool-path \"bin\"\n  inputs src/**\n}\n",
    );
    project.script("bin/tool", "#!/bin/sh\necho x >>../ran\n");
    assert_eq!(statuses(&report(&project, &[])), "one:passed");
    assert_eq!(statuses(&report(&project, &[])), "one:cached");
    project.script("bin/tool", "#!/bin/sh\necho y >>../ran\n");
    assert_eq!(statuses(&report(&project, &[])), "one:passed");
}

#[test]
fn cache_never_hides_contract_change() {
    let contract = |more: &str| {
        format!("vplan 1\ncheck one {{\n  run tool src/a\n  inputs src/**\n{more}}}\n")
    };
    let project = project(&contract("  tool-path \"bin\"\n"));
    project.script("bin/tool", "#!/bin/sh\necho x >>../ran\n");
    assert_eq!(statuses(&report(&project, &[])), "one:passed");
    assert_eq!(statuses(&report(&project, &[])), "one:cached");

    project.script("bin/tool", "#!/bin/sh\necho y >>../ran\n");
    let other = report(&project, &[]);
    let tool = format!(
        "{}/bin/tool",
        project.root().canonicalize().unwrap().display()
    );
    let said = format!("since its last pass, program `{tool}` changed");
    assert_eq!(
        (statuses(&other), why(&other, "one")),
        ("one:passed".to_owned(), said)
    );
    let differs = serde_json::json!({"kind": "program", "name": tool});
    assert_eq!(step(&other, "one")["differs"], differs);
    assert_eq!(statuses(&report(&project, &[])), "one:cached");

    let run = |name: &str, value: &str| {
        project
            .vplan(&["run", "--format", "json", "--changed-none"])
            .env(name, value)
            .run()
            .json()
    };
    let other = run("LANG", "xx");
    assert_eq!(
        why(&other, "one"),
        "since its last pass, variable `LANG` changed"
    );
    assert_eq!(statuses(&run("LANG", "xx")), "one:cached");
    assert_eq!(
        statuses(&run("UNRELATED", "xx")),
        "one:cached",
        "what the step does not see"
    );

    project.write(
        "contracts/verify.vplan",
        quoted(&contract("  tool-path \"bin\"\n  timeout 7s\n")),
    );
    let other = report(&project, &[]);
    assert_eq!(
        why(&other, "one"),
        "since its last pass, its words or settings changed and 1 more"
    );
    project.write(
        "contracts/verify.vplan",
        quoted(&contract(
            "  tool-path \"bin\"\n  timeout 7s\n  describe \"no say\"\n  tags x\n",
        )),
    );
    assert_eq!(statuses(&report(&project, &[])), "one:cached");
}

#[test]
fn a_scripts_interpreter_counts() {
    let project =
        project("vplan 1\ncheck one {\n  run tool\n  tool-path \"bin\"\n  inputs src/**\n}\n");
    project
        .script("bin/reader", "#!/bin/sh\necho x >>../ran\n")
        .script("bin/tool", "#!/usr/bin/env reader\n");
    assert_eq!(statuses(&report(&project, &[])), "one:passed");
    assert_eq!(statuses(&report(&project, &[])), "one:cached");
    project.script("bin/reader", "#!/bin/sh\necho y >>../ran\n");
    assert_eq!(statuses(&report(&project, &[])), "one:passed");
}

const BUILD: &str = r#"vplan 1
check build {
  shell echo x >>../ran; mkdir -p dist; cp src/a dist/app
  inputs src/**
  produces dist/**
}
"#;

#[test]
fn products_must_be_as_they_were() {
    let project = project(BUILD);
    assert_eq!(statuses(&report(&project, &[])), "build:passed");
    assert_eq!(statuses(&report(&project, &[])), "build:cached");
    for (name, change) in [
        (
            "gone",
            &(|p: &Project| {
                p.remove("dist/app");
            }) as &dyn Fn(&Project),
        ),
        ("altered", &|p| {
            p.write("dist/app", "2");
        }),
        ("not executable", &|p| {
            p.mode("dist/app", 0o600);
        }),
        ("all gone", &|p| {
            p.remove("dist");
        }),
    ] {
        change(&project);
        let again = report(&project, &[]);
        assert_eq!(statuses(&again), "build:passed", "{name}");
        assert_eq!(
            why(&again, "build"),
            "`dist/app`, which it made when it passed, is not as it was",
            "{name}"
        );
        assert_eq!(project.read("dist/app"), "1");
        project.mode("dist/app", 0o644);
    }
    project.write("dist/more", "of another step");
    assert_eq!(
        statuses(&report(&project, &[])),
        "build:cached",
        "what it did not make has no say"
    );
}

#[test]
fn nothing_made_is_nothing_kept() {
    let project = project(&BUILD.replace("cp src/a dist/app", "true"));
    for _ in 0..2 {
        let report = report(&project, &[]);
        assert_eq!(statuses(&report), "build:passed");
        assert!(
            why(&report, "build").contains("it made nothing of what it `produces`"),
            "{report}"
        );
    }
}

#[test]
fn who_cleans_before_it_makes_it_run() {
    let project = project(&format!(
        "{BUILD}check clean {{\n  run rm -rf dist\n  cleans dist/**\n}}\n"
    ));
    for _ in 0..2 {
        assert_eq!(
            statuses(&report(&project, &[])),
            "clean:passed build:passed"
        );
    }
    let last = report(&project, &[]);
    assert_eq!(
        why(&last, "build"),
        "`clean` before it cleans what it produces"
    );
}

#[test]
fn a_predecessor_that_ran_makes_it_run() {
    let contract = |produces: &str, inputs: &str| {
        format!(
            "vplan 1\ncheck first {{\n  shell mkdir -p gen; cp src/a gen/a\n{produces}}}\n\
             check second {{\n  shell cat gen/a; echo x >>../ran\n  inputs src/** {inputs}\n  needs first\n}}\n"
        )
    };
    let project = project(&contract("", "gen/**"));
    for _ in 0..2 {
        assert_eq!(
            statuses(&report(&project, &[])),
            "first:passed second:passed",
            "it may have made anything"
        );
    }
    project.write(
        "contracts/verify.vplan",
        quoted(&contract("  produces gen/**\n", "")),
    );
    for _ in 0..2 {
        assert_eq!(
            statuses(&report(&project, &[])),
            "first:passed second:passed",
            "not all of it is an input"
        );
    }
    project.write(
        "contracts/verify.vplan",
        quoted(&contract("  produces gen/**\n", "gen/**")),
    );
    assert_eq!(
        statuses(&report(&project, &[])),
        "first:passed second:passed"
    );
    assert_eq!(
        statuses(&report(&project, &[])),
        "first:passed second:cached"
    );
    project.write("src/a", "2");
    assert_eq!(
        statuses(&report(&project, &[])),
        "first:passed second:passed"
    );
    project.write(
        "contracts/verify.vplan",
        quoted(&contract("  produces gen/**\n  inputs src/**\n", "gen/**")),
    );
    assert_eq!(
        statuses(&report(&project, &[])),
        "first:passed second:passed"
    );
    assert_eq!(
        statuses(&report(&project, &[])),
        "first:cached second:cached"
    );
}

#[test]
fn cache_only_clean_passes_stored() {
    let flaky = "vplan 1\ncheck one {\n  shell echo x >>../ran; test $(wc -l <../ran) -gt 1\n  inputs src/**\n  retries 1\n}\n";
    let project = project(flaky);
    assert_eq!(statuses(&report(&project, &[])), "one:flaky");
    assert_eq!(kept(&project).len(), 0);
    assert_eq!(
        (statuses(&report(&project, &[])).as_str(), ran(&project)),
        ("one:passed", 3),
        "flaky ones are not reused"
    );

    let project = self::project(ONE);
    project.write("../fail", "");
    for n in 1..3 {
        assert_eq!(
            (statuses(&report(&project, &[])).as_str(), ran(&project)),
            ("one:failed", n)
        );
    }
    assert_eq!(kept(&project).len(), 0);
    project.remove("../fail");
    assert_eq!(statuses(&report(&project, &[])), "one:passed");
    assert_eq!(statuses(&report(&project, &[])), "one:cached");
}

#[test]
fn setup_and_always_run() {
    let project = project(
        "vplan 1\ndefaults {\n  inputs src/**\n}\ncheck up {\n  run true\n  setup\n}\ncheck down {\n  run true\n  always\n}\n\
         check there {\n  file \"src/a\" {\n    exists\n  }\n}\ncheck one: true\n",
    );
    let first = report(&project, &[]);
    let second = report(&project, &[]);
    assert_eq!(second["verdict"], "passed", "{second}");
    for id in ["up", "down", "there"] {
        assert_eq!(step(&second, id)["status"], "passed", "{id} of {first}");
    }
}

#[test]
fn an_input_that_is_written_meanwhile_voids_the_pass() {
    let project = project(&ONE.replace("cat src/*;", "echo 1 >src/b;"));
    project.write("src/b", "1\n");
    for n in 1..3 {
        let report = report(&project, &[]);
        assert_eq!(
            (statuses(&report).as_str(), ran(&project)),
            ("one:passed", n),
            "with the same content, but written"
        );
        assert!(
            why(&report, "one").contains("`src/b`, an input, was written while it ran"),
            "{report}"
        );
    }
    assert_eq!(kept(&project).len(), 0);
}

#[test]
fn cache_corrupt_entry_is_miss() {
    let project = project(ONE);
    report(&project, &[]);
    let [file] = kept(&project).try_into().unwrap();
    let whole = std::fs::read(&file).unwrap();
    let forged = String::from_utf8(whole.clone())
        .unwrap()
        .replace("\"runId\":\"2", "\"runId\":\"1");
    for (n, damaged) in (2..).zip([
        b"".to_vec(),
        whole[..whole.len() / 2].to_vec(),
        forged.into_bytes(),
        vec![0xff; 100],
    ]) {
        std::fs::write(&file, damaged).unwrap();
        let report = report(&project, &[]);
        assert_eq!(
            (statuses(&report).as_str(), ran(&project)),
            ("one:passed", n)
        );
        assert!(
            notes(&report).contains("what was kept of an earlier pass of `one` is damaged"),
            "{report}"
        );
    }
    assert_eq!(
        statuses(&report(&project, &[])),
        "one:cached",
        "it was kept anew"
    );
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let report = report(&project, &[]);
    assert_eq!(
        (statuses(&report).as_str(), &report["exitCode"]),
        ("one:passed", &0.into()),
        "nor does this end a run"
    );
}

#[test]
fn without_a_place_for_state_everything_runs() {
    let project = project(ONE);
    project.write("file", "");
    for n in 1..3 {
        let report = report(&project, &["--state-dir", "file/x"]);
        assert_eq!(
            (statuses(&report).as_str(), ran(&project)),
            ("one:passed", n)
        );
        assert!(notes(&report).contains("cannot be kept"), "{report}");
    }
}

#[test]
fn two_runs_at_once() {
    let project = project(ONE);
    let runs: Vec<_> = (0..4)
        .map(|_| {
            let mut command = project
                .vplan(&["run", "--format", "json", "--changed-none"])
                .command();
            command
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for run in runs {
        let output = run.finished();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&report["verdict"], notes(&report).as_str()),
            (&"passed".into(), "")
        );
    }
    assert_eq!(kept(&project).len(), 1);
    assert_eq!(statuses(&report(&project, &[])), "one:cached");
    let litter = std::fs::read_dir(store(&project))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap());
    assert_eq!(litter.filter(|n| n.starts_with('.')).count(), 0);
}

#[test]
fn cache_off_equals_on() {
    let project = project(ONE);
    for n in 1..3 {
        let report = report(&project, &["--no-cache"]);
        assert_eq!(
            (statuses(&report).as_str(), ran(&project)),
            ("one:passed", n)
        );
    }
    assert_eq!(
        statuses(&report(&project, &[])),
        "one:cached",
        "but what passes is kept"
    );
    project
        .run(&["run", "--changed-none", "--no-cache", "--confirm"])
        .exits(2);
}

#[test]
fn confirming() {
    let project = project(ONE);
    let first = report(&project, &[]);
    let same = report(&project, &["--confirm"]);
    assert_eq!((statuses(&same).as_str(), ran(&project)), ("one:passed", 2));
    assert_eq!(
        step(&same, "one")["confirmation"],
        serde_json::json!({"runId": first["runId"]})
    );
    assert_eq!(notes(&same), "");

    project.write("../fail", "");
    assert_eq!(
        statuses(&report(&project, &[])),
        "one:cached",
        "what no input says is not seen"
    );
    let other = report(&project, &["--confirm"]);
    assert_eq!(
        (statuses(&other).as_str(), &other["exitCode"]),
        ("one:failed", &40.into()),
        "the fresh run decides"
    );
    assert!(
        notes(&other).contains("`one` is not what it was in run"),
        "{other}"
    );
    assert!(
        notes(&other).contains("it passed then, now it is failed (exit code 1)"),
        "{other}"
    );
    assert!(step(&other, "one")["confirmation"]["difference"].is_string());
    assert_eq!(
        statuses(&report(&project, &[])),
        "one:failed",
        "the earlier result is gone"
    );
    project
        .run(&["run", "--changed-none", "--confirm"])
        .exits(40)
        .never_says("is not what it was");
}

#[test]
fn confirming_what_was_made() {
    let project = project(&BUILD.replace("cp src/a dist/app", "cp ../ran dist/app"));
    report(&project, &[]);
    let other = report(&project, &["--confirm"]);
    assert_eq!(statuses(&other), "build:passed");
    assert!(
        notes(&other).contains("it made another `dist/app`"),
        "{other}"
    );
}

#[test]
fn secrets_are_not_kept() {
    let project = project(
        "vplan 1\ncheck one {\n  shell echo x >>../ran; echo $MY_TOKEN\n  inputs src/**\n  pass-env MY_TOKEN\n}\n",
    );
    let run = |value: &str| {
        let args = [
            "run",
            "--format",
            "json",
            "--changed-none",
            "--grant-env",
            "MY_TOKEN",
        ];
        project.vplan(&args).env("MY_TOKEN", value).run().json()
    };
    assert_eq!(statuses(&run("swordfish-1")), "one:passed");
    assert_eq!(statuses(&run("swordfish-1")), "one:cached");
    assert_eq!(
        statuses(&run("swordfish-2")),
        "one:passed",
        "another secret"
    );
    let digest = vplan::base::canon::Digest::hash(b"swordfish-1").hex();
    for file in everything(&store(&project)) {
        let bytes = std::fs::read(&file).unwrap();
        for word in ["swordfish", digest.as_str()] {
            assert!(
                !bytes.windows(word.len()).any(|w| w == word.as_bytes()),
                "{}",
                file.display()
            );
        }
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o077,
            0,
            "{}",
            file.display()
        );
    }
}

fn everything(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    entries.filter(|path| path.is_file()).collect()
}

#[test]
fn records_are_never_inputs() {
    let project = project(
        &ONE.replace("inputs src/**", "inputs **")
            .replace("cat src/*;", ""),
    );
    project.write(".gitignore", "");
    assert_eq!(statuses(&report(&project, &[])), "one:passed");
    assert_eq!(
        statuses(&report(&project, &[])),
        "one:cached",
        "every run writes a record"
    );
    let project = self::project(&ONE.replace("inputs src/**", "inputs .vplan/** src/**"));
    report(&project, &[]);
    assert_eq!(statuses(&report(&project, &[])), "one:passed");
}

#[test]
fn what_cannot_be_pinned_runs() {
    for (inputs, prepare, said) in [
        (
            "nothing/**",
            &(|_: &Project| {}) as &dyn Fn(&Project),
            "its `inputs` select no file",
        ),
        (
            "src/**",
            &|p| {
                p.symlink("src/out", "../../home");
            },
            "`src/out` leads out of the repository",
        ),
        (
            "src/**",
            &|p| {
                p.symlink("src/out", "/etc/passwd");
            },
            "`src/out` leads out of the repository",
        ),
    ] {
        let project = project(&ONE.replace("src/**", inputs).replace("cat src/*;", ""));
        prepare(&project);
        for n in 1..3 {
            let report = report(&project, &[]);
            assert_eq!(
                (statuses(&report).as_str(), ran(&project)),
                ("one:passed", n),
                "{said}"
            );
            assert_eq!(why(&report, "one"), said);
        }
    }
}

#[test]
fn what_must_stay_unchanged_is_an_input() {
    let project = project(
        "vplan 1\ncheck gen {\n  shell echo x >>../ran; cp src/a other\n  inputs src/**\n  unchanged \"other\"\n}\n",
    );
    assert_eq!(statuses(&report(&project, &[])), "gen:passed");
    project.write("other", "by hand");
    let other = report(&project, &[]);
    assert_eq!(
        (statuses(&other).as_str(), ran(&project)),
        ("gen:failed", 2),
        "a fresh run would change it"
    );
}

#[test]
fn a_repaired_plan_runs_what_must_run_again() {
    let project = project(
        "vplan 1\ncheck make {\n  shell mkdir -p build; cp src/a build/x; echo x >>../ran\n  inputs src/**\n}\n",
    );
    let args = [
        "--command",
        "make all",
        "--command",
        "make clean",
        "--command",
        "test -f build/x",
    ];
    project
        .write(".gitignore", "build/\n.vplan/\n")
        .commit("ignore");
    project.write(
        "Makefile",
        "all:\n\tmkdir -p build; cp src/a build/x; echo x >>../ran\nclean:\n\trm -rf build\n",
    );
    let first = report(&project, &args);
    let second = report(&project, &args);
    assert_eq!(first["verdict"], second["verdict"], "{second}");
    assert_eq!(
        first["rewrites"].as_array().unwrap().len(),
        second["rewrites"].as_array().unwrap().len(),
        "{second}"
    );
}

#[test]
fn no_unrelated_run_touches_the_state() {
    let project = project("vplan 1\ncheck one: true\n");
    assert_eq!(statuses(&report(&project, &[])), "one:passed");
    let states = std::fs::read_dir(project.parent().join("home/state/vplan"))
        .into_iter()
        .flatten()
        .flatten();
    assert!(
        states
            .into_iter()
            .all(|s| !s.path().join("results").exists()),
        "without `inputs` there is nothing to keep"
    );
}
