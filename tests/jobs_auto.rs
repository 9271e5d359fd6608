//! `jobs auto`: steps side by side that were not seen to meet.

use crate::support::Project;
use serde_json::{Value, json};

/// The steps of the recorded events in their order: `+a` where it starts, `-a` where it ends.
fn order(events: &str) -> Vec<String> {
    let step = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let sign = match line["type"].as_str().unwrap() {
            "step.started" => "+",
            "step.finished" => "-",
            _ => return None,
        };
        Some(format!("{sign}{}", line["id"].as_str().unwrap()))
    };
    events.lines().filter_map(step).collect()
}

/// Runs everything with `--jobs auto`, and returns what started and ended when.
fn run(project: &Project) -> Vec<String> {
    let args = ["run", "--all", "--jobs", "auto", "--events", "../events"];
    project.run(&args).exits(0);
    order(&project.read("../events"))
}

fn observe(project: &Project, names: &[&str]) {
    let args = [&["run", "--all", "--observe"], names].concat();
    project.run(&args).exits(0);
}

fn explain(project: &Project, jobs: &str) -> String {
    let explained = project.run(&["explain", "--all", "--jobs", jobs]);
    explained.exits(0).out()
}

/// A contract of checks of a word each, for `sh -c`.
fn checks(commands: &[(&str, &str)]) -> String {
    let checks = commands.iter().map(|(name, command)| {
        format!("check {name} {{\n  run sh -c '{command}'\n  timeout 10m\n}}\n")
    });
    format!("vplan 1\n{}", checks.collect::<String>())
}

fn project(commands: &[(&str, &str)]) -> Project {
    Project::git_with(&[
        ("contracts/verify.vplan", &checks(commands)),
        (".gitignore", "out/\nsolo\n"),
        ("src/a", "1\n"),
        ("src/b", "2\n"),
    ])
}

#[test]
fn steps_that_do_not_meet_run_at_the_same_time() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    // Where `solo` is not there, each waits for the other one: they pass only if both run.
    let (here, there) = ("$HOME/here", "$HOME/there");
    let project = project(&[
        (
            "a",
            &format!("[ -e solo ] || {{ echo x > {here}; read line < {there}; }}"),
        ),
        (
            "b",
            &format!("[ -e solo ] || {{ read line < {here}; echo x > {there}; }}"),
        ),
    ]);
    for fifo in ["here", "there"] {
        let path = project.parent().join("home").join(fifo);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
    }
    project.write("solo", "");
    observe(&project, &[]);
    project.remove("solo");
    let order = run(&project);
    assert_eq!(order[..2], ["+a", "+b"]);
    let text = explain(&project, "auto");
    assert!(
        text.contains("beside b\n") && text.contains("beside a\n"),
        "{text}"
    );
    assert!(!text.contains("not beside"), "{text}");
}

#[test]
fn steps_that_write_the_same_file_never_meet() {
    let shared = "$HOME/shared";
    let both =
        |name: &str| format!("mkdir -p out/{name}; echo x >> out/{name}/1; echo {name} > {shared}");
    let project = project(&[
        ("a", "mkdir -p out; echo x > out/1; echo x > out/2"),
        ("b", "mkdir -p out; echo x >> out/1; echo x >> out/2"),
        ("c", &both("c")),
        ("d", &both("d")),
        ("e", "cat src/a"),
        ("f", "ls src"),
    ]);
    project.mkdir("out");
    observe(&project, &[]);
    let order = run(&project);
    for (one, other) in [("a", "b"), ("c", "d")] {
        let place = |what: String| order.iter().position(|seen| *seen == what).unwrap();
        let [one_starts, other_starts] = [one, other].map(|name| place(format!("+{name}")));
        let [one_ends, other_ends] = [one, other].map(|name| place(format!("-{name}")));
        assert!(
            one_ends < other_starts || other_ends < one_starts,
            "{order:?}"
        );
    }
    let text = explain(&project, "auto");
    for line in [
        "not beside b: both write out/\n".to_owned(),
        "not beside a: both write out/\n".to_owned(),
        format!(
            "not beside d: both write {}\n",
            project
                .parent()
                .canonicalize()
                .unwrap()
                .join("home/shared")
                .display()
        ),
    ] {
        assert!(text.contains(&line), "{line}{text}");
    }
    // Nobody else has anything to do with these.
    assert!(
        text.contains("beside a, b, c, d, f\n") && text.contains("beside a, b, c, d, e\n"),
        "{text}"
    );
    assert!(!explain(&project, "4").contains("beside"));
}

#[test]
fn a_step_of_which_nothing_is_known_runs_alone() {
    let project = project(&[
        ("a", "cat src/a"),
        ("b", "cat src/b"),
        ("c", "cat src/a src/b"),
    ]);
    let text = explain(&project, "auto");
    for name in ["a", "b", "c"] {
        let line = format!("not beside anything: it was never observed (vplan audit {name})\n");
        assert!(text.contains(&line), "{text}");
    }
    let alone = ["+a", "-a", "+b", "-b", "+c", "-c"];
    assert_eq!(run(&project), alone, "an unobserved run is no evidence");
    observe(&project, &["b", "c"]);
    let text = explain(&project, "auto");
    assert!(
        text.contains("not beside anything: it was never observed (vplan audit a)\n"),
        "{text}"
    );
    assert!(
        text.contains("beside c\n") && text.contains("not beside a: never observed\n"),
        "{text}"
    );
    let order = run(&project);
    assert_eq!(order[..2], ["+a", "-a"], "{order:?}");
    // A command that changed is another one.
    let changed = [
        ("a", "cat src/a"),
        ("b", "cat  src/b"),
        ("c", "cat src/a src/b"),
    ];
    project.write("contracts/verify.vplan", checks(&changed));
    let text = explain(&project, "auto");
    assert!(text.contains("never observed (vplan audit b)\n"), "{text}");
    // What the contract says of it otherwise is none of it.
    let tagged = checks(&changed).replace("10m", "11m");
    project.write("contracts/verify.vplan", tagged);
    let text = explain(&project, "auto");
    assert!(text.contains("never observed (vplan audit b)\n"), "{text}");
    assert!(!text.contains("never observed (vplan audit c)\n"), "{text}");
}

#[test]
fn the_limit_is_a_word_of_the_contract_and_of_the_plan() {
    let project = project(&[("a", "cat src/a"), ("b", "cat src/b")]);
    let plan = |args: &[&str]| {
        let args = [&["plan", "--all", "--format", "json"], args].concat();
        project.run(&args).exits(0).json()
    };
    let (one, auto) = (plan(&[]), plan(&["--jobs", "auto"]));
    assert_eq!(auto["policy"]["jobs"], json!("auto"));
    assert_eq!(
        auto["digest"], one["digest"],
        "how it runs is not what it is"
    );
    let with = |jobs: &Value| {
        let mut plan = auto.clone();
        plan["policy"]["jobs"] = jobs.clone();
        plan
    };
    assert_eq!(with(&one["policy"]["jobs"]), one, "nothing else is in it");
    observe(&project, &[]);
    assert_eq!(plan(&["--jobs", "auto"]), auto, "nor is what was seen");

    let contract = project.read("contracts/verify.vplan");
    let limits = "limits {\n  jobs auto\n}\n";
    project.write("contracts/verify.vplan", contract + limits);
    project.run(&["check"]).exits(0);
    assert_eq!(plan(&[])["policy"]["jobs"], json!("auto"));
    assert_eq!(plan(&["--jobs", "3"])["policy"]["jobs"], json!(3));
    let explained = project.run(&["explain", "--all"]);
    explained.exits(0).says("auto jobs").says("beside b\n");
    let json = project
        .run(&["explain", "--all", "--format", "json"])
        .json();
    let beside = &json["outlook"]["steps"][0]["beside"];
    assert_eq!(*beside, json!({"beside": ["b"], "notBeside": []}));

    for name in ["../a.json", "../a.kdl"] {
        project.run(&["plan", "--all", "--output", name]).exits(0);
        project.run(&["run", "--plan", name]).exits(0);
    }
    assert!(project.read("../a.kdl").contains("jobs \"auto\""));
}

#[test]
fn what_is_no_number_of_steps() {
    let project = project(&[("a", "true")]);
    for jobs in ["autos", "0", "257", "-1", ""] {
        let ran = project.run(&["run", &format!("--jobs={jobs}")]);
        ran.exits(2).warns("a number from 1 to 256, or `auto`");
    }
    let contract = project.read("contracts/verify.vplan");
    for (jobs, says) in [
        ("autos", "did you mean `auto`?"),
        ("many", "a whole number, 1 or more, or `auto`, is expected"),
        ("0", "out of range"),
        ("\"auto\"", "write `jobs auto`"),
    ] {
        let limits = format!("limits {{\n  jobs {jobs}\n}}\n");
        project.write("contracts/verify.vplan", contract.clone() + &limits);
        project.run(&["run"]).exits(3).warns(says);
    }
}

#[test]
fn the_report_is_that_of_one_after_another() {
    let project = project(&[
        ("a", "cat src/a"),
        ("b", "cat src/b; exit 1"),
        ("c", "cat src/b"),
        ("d", "mkdir -p out; echo x > out/1"),
        ("e", "cat out/1 src/a"),
    ]);
    project
        .run(&["run", "--all", "--observe", "--keep-going"])
        .says("failed: ");
    let report = |args: &[&str]| {
        let args = [&["run", "--all", "--format", "json"], args].concat();
        let mut report = project.run(&args).json();
        for key in ["durationMs", "runId"] {
            report.as_object_mut().unwrap().remove(key).unwrap();
        }
        report["feedback"].as_object_mut().unwrap().remove("runId");
        for step in report["steps"].as_array_mut().unwrap() {
            step.as_object_mut().unwrap().remove("durationMs");
        }
        report
    };
    for more in [&[][..], &["--keep-going"]] {
        let [one, auto] = ["1", "auto"].map(|jobs| report(&[&["--jobs", jobs], more].concat()));
        assert_eq!(one, auto);
    }
}
