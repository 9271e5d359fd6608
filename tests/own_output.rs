//! What a check writes of its own inputs: build folders and caches that git ignores, written by real
//! tools and by small commands. A pass stands for a step only where the step would pass.

use crate::support::Project;
use crate::support::tree::have;
use serde_json::{Value, json};

const IGNORED: &str = "cache/\n.env\nCargo.lock\ntarget/\n__pycache__/\n.pytest_cache/\n";

/// A check of all there is, which writes down, beside the project, that it ran.
fn contract(command: &str) -> String {
    format!("vplan 1\ncheck one {{\n  shell echo x >>../ran; {command}\n  inputs \"**\"\n}}\n")
}

fn project(command: &str) -> Project {
    Project::git_with(&[
        ("contracts/verify.vplan", &contract(command)),
        (".gitignore", IGNORED),
        ("src/a", "1"),
    ])
}

fn run(project: &Project, args: &[&str]) -> Value {
    project
        .run_in_time(&[&["run", "--format", "json", "--all"], args].concat())
        .json()
}

/// `passed`, or `cached`, and so on: of the only step.
fn status(project: &Project) -> String {
    step(&run(project, &[]))["status"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn step(report: &Value) -> &Value {
    &report["steps"][0]
}

fn why(report: &Value) -> String {
    step(report)["notReused"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The names and statuses of the steps.
fn statuses(report: &Value) -> String {
    let steps = report["steps"].as_array().unwrap().iter();
    let one = |s: &Value| {
        format!(
            "{}:{}",
            s["id"].as_str().unwrap(),
            s["status"].as_str().unwrap()
        )
    };
    steps.map(one).collect::<Vec<_>>().join(" ")
}

/// A file changed.
fn changed(path: &str, change: &str) -> Value {
    json!({"change": change, "kind": "file", "name": path})
}

#[test]
fn the_second_run_of_pytest_is_reused() {
    if !have(&["pytest"]) {
        return;
    }
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\ncheck one {\n  test pytest\n  inputs \"**\"\n}\n",
        ),
        (".gitignore", IGNORED),
        (
            "conftest.py",
            "import os\nif os.path.exists('.env'):\n    os.environ['MODE'] = open('.env').read()\n",
        ),
        (
            "test_a.py",
            "import os\ndef test_mode(): assert os.environ.get('MODE', 'good') == 'good'\n",
        ),
    ]);
    assert_eq!(status(&project), "passed");
    assert!(project.exists(".pytest_cache") && project.exists("__pycache__"));
    assert_eq!(status(&project), "cached");

    project.write(
        "test_a.py",
        project.read("test_a.py") + "def test_more(): pass\n",
    );
    let edited = run(&project, &[]);
    assert_eq!(step(&edited)["status"], "passed");
    assert_eq!(step(&edited)["differs"], changed("test_a.py", "changed"));
    assert_eq!(status(&project), "cached", "also after an edit");

    project.write(".env", "good");
    let ignored = run(&project, &[]);
    assert_eq!(step(&ignored)["status"], "passed");
    assert_eq!(step(&ignored)["differs"], changed(".env", "new"));
    assert_eq!(why(&ignored), "since its last pass, file `.env` is new");
    project.write(".env", "bad");
    let failed = run(&project, &[]);
    assert_eq!(step(&failed)["status"], "failed");
    assert_eq!(status(&project), "failed", "what failed is not kept");

    project.write(".env", "good");
    assert_eq!(status(&project), "passed", "its cache is that of a failure");
    let again = run(&project, &[]);
    assert_eq!(
        step(&again)["status"],
        "passed",
        "and nothing says that it had no say"
    );
    assert!(why(&again).contains("as another run left it"), "{again:#}");
    assert_eq!(status(&project), "cached");
}

#[test]
fn the_second_run_of_cargo_test_is_reused() {
    if !have(&["cargo"]) {
        return;
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let value = |name: &str, below: &str| std::env::var(name).unwrap_or(format!("{home}/{below}"));
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\ncheck one {\n  test cargo test --offline\n  inputs \"**\"\n}\n",
        ),
        (".gitignore", IGNORED),
        (
            "Cargo.toml",
            "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        ),
        ("src/lib.rs", "#[test]\nfn works() {}\n"),
    ])
    .env("CARGO_HOME", value("CARGO_HOME", ".cargo"))
    .env("RUSTUP_HOME", value("RUSTUP_HOME", ".rustup"));
    let first = run(&project, &[]);
    assert_eq!(step(&first)["status"], "passed", "{first:#}");
    assert_eq!(status(&project), "cached");

    project.write(
        "src/lib.rs",
        "#[test]\nfn works() {}\n#[test]\nfn too() {}\n",
    );
    let edited = run(&project, &[]);
    assert_eq!(step(&edited)["status"], "passed");
    assert_eq!(step(&edited)["differs"], changed("src/lib.rs", "changed"));
    assert_eq!(status(&project), "cached", "also after an edit");

    project.write("target/debug/more", "by hand");
    let other = run(&project, &[]);
    assert_eq!(step(&other)["status"], "passed");
    assert_eq!(step(&other)["differs"], changed("target/debug/more", "new"));
    project.write("target/.rustc_info.json", "{}");
    let other = run(&project, &[]);
    assert_eq!(step(&other)["status"], "passed");
    assert_eq!(
        step(&other)["differs"],
        changed("target/.rustc_info.json", "changed")
    );

    project.write("src/lib.rs", "#[test]\nfn works() { panic!() }\n");
    for _ in 0..2 {
        assert_eq!(status(&project), "failed");
    }
}

#[test]
fn a_pass_stands_where_it_began_and_where_it_ended() {
    let project = project("mkdir -p cache; cat src/* >cache/built");
    assert_eq!(status(&project), "passed");
    assert_eq!(status(&project), "cached", "where it ended");
    project.remove("cache");
    assert_eq!(status(&project), "cached", "where it began");
    project.write("cache/built", "0");
    let poisoned = run(&project, &[]);
    assert_eq!(step(&poisoned)["status"], "passed");
    assert_eq!(
        step(&poisoned)["differs"],
        changed("cache/built", "changed")
    );
    // It began with what others left, which may be why it passed.
    let again = run(&project, &[]);
    assert_eq!(
        step(&again)["status"],
        "cached",
        "it ended where its first pass did"
    );

    project.write("src/a", "2").write("cache/built", "0");
    assert_eq!(status(&project), "passed");
    let again = run(&project, &[]);
    assert_eq!(step(&again)["status"], "passed");
    assert_eq!(
        why(&again),
        "its last pass began with `cache/built` as another run left it, and changed it: it passes once more"
    );
    assert_eq!(status(&project), "cached");
}

/// `pytest --lf`, `go test` with a cache of results, a build folder of others: what is there decides.
#[test]
fn a_memory_of_failures_is_not_believed() {
    let fails = "grep -q good src/a";
    let memory = format!(
        "mkdir -p cache; if test -e cache/failed; then rm cache/failed; else {fails} || (echo >cache/failed; exit 1); fi"
    );
    let project = project(&memory);
    project.write("src/a", "bad");
    assert_eq!(status(&project), "failed");
    assert_eq!(
        status(&project),
        "passed",
        "only what failed ran, whatever that is"
    );
    assert_eq!(
        status(&project),
        "failed",
        "and that pass is believed by none"
    );
    project.write("src/a", "good");
    assert_eq!(status(&project), "passed");
    let again = run(&project, &[]);
    assert_eq!(step(&again)["status"], "passed");
    assert!(
        why(&again).contains("`cache/failed` as another run left it"),
        "{again:#}"
    );
    assert_eq!(status(&project), "cached");
}

#[test]
fn what_another_check_writes_counts() {
    let text = "vplan 1\n\
        check one {\n  shell mkdir -p cache; cp src/a cache/one\n  inputs \"**\"\n}\n\
        check two {\n  shell mkdir -p cache; cp src/a cache/two\n  inputs \"**\"\n}\n";
    let project = Project::git_with(&[
        ("contracts/verify.vplan", text),
        (".gitignore", IGNORED),
        ("src/a", "1"),
    ]);
    assert_eq!(statuses(&run(&project, &[])), "one:passed two:passed");
    let second = run(&project, &[]);
    assert_eq!(statuses(&second), "one:passed two:cached");
    assert_eq!(step(&second)["differs"], changed("cache/two", "new"));
    assert_eq!(statuses(&run(&project, &[])), "one:cached two:cached");
}

#[test]
fn what_is_written_side_by_side_is_no_ones_output() {
    // Each waits until the other one has begun.
    let one = |own: &str, other: &str| {
        format!(
            "check {own} {{\n  shell mkdir -p cache; echo >../{own}; until test -e ../{other}; do sleep 0.01; done; cp src/a cache/{own}\n  inputs \"**\"\n}}\n"
        )
    };
    let text = format!(
        "vplan 1\nlimits {{\n  jobs 2\n}}\n{}{}",
        one("one", "two"),
        one("two", "one")
    );
    let project = Project::git_with(&[
        ("contracts/verify.vplan", &text),
        (".gitignore", IGNORED),
        ("src/a", "1"),
    ]);
    let report = run(&project, &[]);
    assert_eq!(statuses(&report), "one:passed two:passed");
    let told = report["steps"].as_array().unwrap().iter();
    let told: Vec<&str> = told.filter_map(|s| s["notReused"].as_str()).collect();
    assert_eq!(told.len(), 2);
    for why in told {
        assert!(
            why.contains("was written while it ran, as other steps did"),
            "{why}"
        );
    }
}

#[test]
fn only_what_git_ignores_is_a_checks_own_output() {
    for (name, command, prepare) in [
        (
            "a tracked file",
            "cat src/a >src/b",
            &(|p: &Project| {
                p.write("src/b", "0");
                p.commit("more");
            }) as &dyn Fn(&Project),
        ),
        (
            "a new file that git does not ignore",
            "cat src/a >made",
            &|_| {},
        ),
        ("what only this clone ignores", "cat src/a >made", &|p| {
            p.write(".git/info/exclude", "made\n");
        }),
        (
            "a tracked file in an ignored folder",
            "cat src/a >cache/b",
            &|p| {
                p.write("cache/b", "0");
                p.git(&["add", "-f", "cache/b"]);
                p.commit("more");
            },
        ),
        ("a symlink to a tracked file", "cat src/a >cache/b", &|p| {
            p.write("src/b", "0").symlink("cache/b", "../src/b");
            p.commit("more");
        }),
        ("a file of another repository", "cat src/a >lib/x", &|p| {
            p.write("lib/x", "0").git_in("lib", &["init", "-q"]);
        }),
        ("a file of a submodule", "cat src/a >lib/x", &|p| {
            p.write("lib/x", "0").git_in("lib", &["init", "-q"]);
            p.git_in("lib", &["add", "x"]);
            p.git_in("lib", &["commit", "-q", "-m", "x"]);
            p.commit("more");
        }),
    ] {
        let project = project(command);
        prepare(&project);
        for _ in 0..3 {
            let report = run(&project, &[]);
            assert_ne!(step(&report)["status"], "cached", "{name}");
            project.git(&["checkout", "-q", "."]);
            let _ = std::fs::remove_file(project.path("made"));
        }
    }
}

#[test]
fn what_is_tracked_since_is_not_its_output_any_more() {
    let project = project("mkdir -p cache; date +%N >cache/built");
    assert_eq!(status(&project), "passed");
    assert_eq!(status(&project), "cached");
    project.git(&["add", "-f", "cache/built"]);
    let report = run(&project, &[]);
    assert_eq!(
        step(&report)["status"],
        "failed",
        "it changes a tracked file"
    );
    assert_eq!(step(&report)["differs"], changed("cache/built", "changed"));
    assert!(why(&report).contains("`cache/built`, which it writes, is no file that git ignores"));
}

#[test]
fn what_does_not_hold_is_found_by_confirming() {
    // It cannot pass twice.
    let project = project("mkdir -p cache; test ! -e cache/y && echo >cache/y");
    assert_eq!(status(&project), "passed");
    assert_eq!(status(&project), "cached");
    let confirmed = run(&project, &["--confirm"]);
    assert_eq!(step(&confirmed)["status"], "failed");
    assert!(step(&confirmed)["confirmation"]["difference"].is_string());
    assert_eq!(status(&project), "failed", "that pass is forgotten");
    project.remove("cache");
    assert_eq!(status(&project), "passed", "also where it began");
}

#[test]
fn a_run_without_a_known_tree_keeps_nothing_of_the_kind() {
    let project = Project::bare();
    project.write(
        "contracts/verify.vplan",
        contract("mkdir -p cache; cp src/a cache/b"),
    );
    project.write("src/a", "1").write(".gitignore", IGNORED);
    for _ in 0..3 {
        let report = project
            .run(&["run", "--format", "json", "--changed", "src/a"])
            .json();
        assert_eq!(step(&report)["status"], "passed");
        let told = "`cache/b`, an input, was written while it ran";
        assert!(why(&report).contains(told), "{report:#}");
    }
}

#[test]
fn what_another_run_writes_is_not_its_output() {
    // It begins another run, which ends before this one does.
    let text = "vplan 1\n\
        check one {\n  shell HOME=@/home XDG_STATE_HOME=@/home/state VPLAN run two --changed-none --quiet && mkdir -p cache && cp src/a cache/one\n  inputs \"**\"\n}\n\
        check two {\n  shell mkdir -p cache; cp src/a cache/two\n  inputs \"src/**\"\n}\n";
    let project = Project::git_with(&[(".gitignore", IGNORED), ("src/a", "1")]);
    let text = text
        .replace('@', project.parent().to_str().unwrap())
        .replace("VPLAN", env!("CARGO_BIN_EXE_vplan"));
    project.write("contracts/verify.vplan", text);
    project.commit("contract");
    for _ in 0..2 {
        let words = ["run", "one", "--changed-none", "--format", "json"];
        let report = project.run_in_time(&words).json();
        assert_eq!(statuses(&report), "one:passed", "{report:#}");
        let told = "was written while it ran, as another run of vplan did";
        assert!(why(&report).contains(told), "{report:#}");
        // A run in which nothing runs writes nothing, and is there all the same.
        project.remove("cache");
    }
}
