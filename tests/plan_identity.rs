//! What makes a plan that plan: the commit that the change is compared with, not its names; what
//! runs, not how many at a time.

use crate::support::Project;
use serde_json::Value;

const CONTRACT: &str =
    "vplan 1\ncheck lint: true\nwhenChangedAny \"src/**\" {\n  check unit: true\n}\n";

/// Two commits on `main`, one more on `work`, and a change that is not committed.
fn project() -> Project {
    let project = Project::contract(CONTRACT);
    project.write("src/a", "a");
    project.pushed(&project.commit("more"));
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("src/b", "b");
    project.commit("work");
    project.write("src/a", "changed");
    project
}

fn plan(project: &Project, args: &[&str]) -> Value {
    project
        .run(&[&["plan", "--format", "json"], args].concat())
        .exits(0)
        .json()
}

#[test]
fn two_names_of_one_commit_give_one_plan() {
    let project = project();
    let main = project.git(&["rev-parse", "main"]);
    project.git(&["tag", "begun", "main"]);
    let first = plan(&project, &["--base", "main"]);
    assert_eq!(first["request"]["base"], main);
    for name in ["HEAD~1", "begun", "refs/heads/main", &main, &main[..12]] {
        let other = plan(&project, &["--base", name]);
        assert_eq!(other["digest"], first["digest"], "{name}");
        assert_eq!(other["request"]["changedFrom"], format!("base:{name}"));
        let canonical = |base: &str| {
            project
                .run(&["plan", "--format", "canonical", "--base", base])
                .exits(0)
                .out()
        };
        assert_eq!(canonical(name), canonical("main"), "{name}");
    }
    // Another commit is another plan, also where the same files changed since.
    project.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
    let (one, other) = (
        plan(&project, &["--base", "HEAD"]),
        plan(&project, &["--base", "HEAD~1"]),
    );
    assert_eq!(one["request"]["changed"], other["request"]["changed"]);
    assert_ne!(one["digest"], other["digest"]);
}

/// Nothing was compared where the caller named the files, or every file counts.
#[test]
fn no_base_where_nothing_is_compared() {
    let project = project();
    let head = project.git(&["rev-parse", "HEAD"]);
    project.git(&["add", "-A"]);
    for (args, place, base) in [
        (&["--changed", "src/a"][..], None, None),
        (&["--changed-none"], None, None),
        (&["--all"], Some("tracked"), None),
        (&["--staged"], Some("index"), Some(head.as_str())),
        (&["--base", "HEAD"], Some("work-tree"), Some(head.as_str())),
    ] {
        let plan = plan(&project, args);
        assert_eq!(plan["request"]["changedIn"].as_str(), place, "{args:?}");
        assert_eq!(plan["request"]["base"].as_str(), base, "{args:?}");
    }
    // The same files from two places are two plans: they are looked for again in those places.
    assert_ne!(
        plan(&project, &["--staged"])["digest"],
        plan(&project, &["--base", "HEAD"])["digest"]
    );
    // A commit that changes no list of files changes no plan for all of them.
    let all = plan(&project, &["--all"]);
    project.commit("the same files");
    assert_eq!(plan(&project, &["--all"])["digest"], all["digest"]);
}

#[test]
fn how_it_is_run_is_no_part_of_it() {
    let project = project();
    let plain = plan(&project, &["--all"]);
    for flags in [
        &["--jobs", "4"][..],
        &["--keep-going"],
        &["-j", "2", "--keep-going"],
    ] {
        let other = plan(&project, &[&["--all"], flags].concat());
        assert_eq!(other["digest"], plain["digest"], "{flags:?}");
    }
    let other = plan(&project, &["--all", "--jobs", "4", "--keep-going"]);
    assert_eq!(
        (&other["policy"]["jobs"], &other["policy"]["failFast"]),
        (&4.into(), &false.into())
    );
    let explained = project.run(&["explain", "--all", "--jobs", "4", "--keep-going"]);
    explained
        .exits(0)
        .says("4 jobs")
        .says("keeps going")
        .says(plain["digest"].as_str().unwrap());
    // A limit of the contract is in the contract's digest, and so in the plan's.
    project.write(
        "contracts/verify.vplan",
        CONTRACT.replace("vplan 1\n", "vplan 1\nlimits {\n  jobs 3\n}\n"),
    );
    assert_ne!(plan(&project, &["--all"])["digest"], plain["digest"]);
}

/// Two checks that wait for each other end only side by side.
#[test]
fn a_saved_plan_is_run_as_the_command_line_says() {
    let project = Project::contract(
        "vplan 1\n\
         check tell {\n  shell echo > p\n  timeout 10s\n}\n\
         check hear {\n  shell read x < p\n  timeout 10s\n}\n\
         check red: false\n\
         check last: true\n",
    );
    project.write(".gitignore", "p\n").git(&["add", "-A"]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        project.path("p"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let statuses = |report: &Value| {
        let steps = report["steps"].as_array().unwrap().iter();
        steps
            .map(|s| s["status"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    project
        .run(&["plan", "--changed-none", "-o", "p.json"])
        .exits(0);
    let digest = serde_json::from_str::<Value>(&project.read("p.json")).unwrap()["digest"].clone();
    let run = |flags: &[&str]| {
        let expected = [
            "run",
            "--plan",
            "p.json",
            "--format",
            "json",
            "--expect-digest",
            digest.as_str().unwrap(),
        ];
        let report = project.run(&[&expected[..], flags].concat()).json();
        assert_eq!(report["planDigest"], digest);
        assert!(report["savedPlan"]["drift"].is_null(), "{report:#}");
        statuses(&report)
    };
    assert_eq!(run(&[]), "timed_out not_run not_run not_run");
    assert_eq!(run(&["--jobs", "2"]), "passed passed failed not_run");
    assert_eq!(
        run(&["--jobs", "2", "--keep-going"]),
        "passed passed failed passed"
    );
    // What the file says, where the command line says nothing.
    project
        .run(&[
            "plan",
            "--changed-none",
            "--jobs",
            "2",
            "--keep-going",
            "-o",
            "p.json",
        ])
        .exits(0);
    assert_eq!(run(&[]), "passed passed failed passed");
    // The record says what was done, and is the plan that it was.
    let record = project
        .run(&[
            "run",
            "--plan",
            "p.json",
            "--jobs",
            "3",
            "--records",
            "../r",
            "--format",
            "json",
        ])
        .json();
    let recorded = project.read(&format!(
        "../r/runs/{}/plan.json",
        record["runId"].as_str().unwrap()
    ));
    let recorded: Value = serde_json::from_str(&recorded).unwrap();
    assert_eq!(
        (&recorded["policy"]["jobs"], &recorded["digest"]),
        (&3.into(), &digest)
    );
}

/// What a name means today does not matter, and neither does where HEAD is.
#[test]
fn a_saved_plan_is_compared_with_its_commit() {
    let project = project();
    project
        .run(&["plan", "--base", "main", "-o", "../p.kdl"])
        .exits(0);
    project.git(&["branch", "-f", "main", "work"]);
    project
        .run(&["run", "--plan", "../p.kdl"])
        .exits(0)
        .says("2 passed");
    project.git(&["branch", "-D", "main"]);
    project
        .run(&["run", "--plan", "../p.kdl"])
        .exits(0)
        .says("2 passed");
    project.commit("all of it");
    project
        .run(&["run", "--plan", "../p.kdl"])
        .exits(0)
        .says("2 passed");
    // What differs from that commit now and did not then is drift.
    project.write("src/new", "");
    project
        .run(&["run", "--plan", "../p.kdl"])
        .exits(4)
        .warns("request.changed.src/new: (absent) -> \"added\"");
    project.remove("src/new");
    // What is staged, too: it is committed, and still the same.
    project.write("src/a", "again").git(&["add", "-A"]);
    project
        .run(&["plan", "--staged", "-o", "../s.json"])
        .exits(0);
    project.commit("staged");
    project
        .run(&["run", "--plan", "../s.json"])
        .exits(0)
        .says("2 passed");
    project.git(&["rm", "-q", "src/b"]);
    project
        .run(&["run", "--plan", "../s.json"])
        .exits(4)
        .warns("request.changed.src/b: (absent) -> \"deleted\"");
}

#[test]
fn a_plan_made_before_the_first_commit() {
    let project = Project::git_empty();
    project
        .write("contracts/verify.vplan", CONTRACT)
        .write("src/a", "a");
    project.run(&["plan", "-o", "../p.json"]).exits(0);
    let plan: Value = serde_json::from_str(&project.read("../p.json")).unwrap();
    assert_eq!(
        (&plan["request"]["base"], &plan["request"]["changedIn"]),
        (&Value::Null, &"work-tree".into())
    );
    project
        .run(&["run", "--plan", "../p.json"])
        .exits(0)
        .says("2 passed");
    project.commit("first");
    project
        .run(&["run", "--plan", "../p.json"])
        .exits(0)
        .says("2 passed");
    project.write("src/b", "");
    project
        .run(&["run", "--plan", "../p.json"])
        .exits(4)
        .warns("request.changed.src/b: (absent) -> \"added\"");
    // What unrelated histories have in common, the empty tree, is no commit and in every clone.
    project.remove("src/b");
    let mut plan: vplan::plan::Plan =
        vplan::plan::document::from_json(&project.read("../p.json")).unwrap();
    plan.request.base = Some("4b825dc642cb6eb9a060e54bf8d69288fbee4904".to_owned());
    project.write(
        "../p.json",
        vplan::plan::document::to_json(&vplan::plan::digest::seal(plan)),
    );
    project
        .run(&["run", "--plan", "../p.json"])
        .exits(0)
        .says("2 passed");
}

/// Each machine runs its shard as it can; the reports are about one plan.
#[test]
fn shards_that_are_run_differently_are_joined() {
    let project = project();
    project
        .run(&["plan", "--base", "main", "-o", "../p.kdl"])
        .exits(0);
    for (shard, records, flags) in [
        ("1/2", "../one", &["--jobs", "4"][..]),
        ("2/2", "../two", &["--keep-going"]),
    ] {
        let args = [
            "run",
            "--plan",
            "../p.kdl",
            "--shard",
            shard,
            "--records",
            records,
        ];
        project.run(&[&args[..], flags].concat()).exits(0);
    }
    let run = |records: &str| {
        let runs = std::fs::read_dir(project.path(format!("{records}/runs"))).unwrap();
        runs.map(|e| e.unwrap().path())
            .find(|p| p.is_dir())
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    project
        .run(&["merge", &run("../one"), &run("../two")])
        .exits(0)
        .says("2 passed");
}

/// The command of the message brings the commit, in a shallow clone and in one of a single branch.
#[test]
fn a_commit_that_is_not_in_this_clone_is_named_with_its_fetch() {
    let project = project();
    project.commit("all of it");
    project
        .run(&["plan", "--base", "main", "-o", "../p.kdl"])
        .exits(0);
    let base = project.git(&["rev-parse", "main"]);
    let url = format!("file://{}", project.root().display());
    project.git(&["checkout", "-q", "--orphan", "alone"]);
    project.commit("the same files");
    for (dir, args, depth) in [
        ("shallow", &["--depth=1", "--branch=work"][..], "--depth=1 "),
        ("single", &["--single-branch", "--branch=alone"], ""),
    ] {
        let there = format!("../{dir}");
        project.git(&[&["clone", "-q"], args, &[&url, &there]].concat());
        let run = |flags: &[&str]| {
            project.run(&[&["-C", &there, "run", "--plan", "../p.kdl"], flags].concat())
        };
        let command = format!("git fetch {depth}origin {base}");
        run(&[])
            .exits(4)
            .warns("vplan::changes::not_fetched")
            .warns(&base)
            .warns(&command);
        run(&["--allow-drift"]).exits(4);
        assert!(
            !project.exists(&format!("{there}/.vplan")),
            "nothing has run"
        );
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        project.git_in(&there, &words);
        run(&[]).exits(0).says("2 passed");
    }
    // Without a remote there is no command to name.
    project.git(&["clone", "-q", "--depth=1", "--branch=work", &url, "../none"]);
    project.git_in("../none", &["remote", "remove", "origin"]);
    let ran = project.run(&["-C", "../none", "run", "--plan", "../p.kdl"]);
    ran.exits(4)
        .warns("several remotes, or none")
        .never_says("git fetch");
}

/// Where no contract could confirm the plan, no commit has to be there either.
#[test]
fn as_it_is_a_plan_needs_no_commit() {
    let project = project();
    project
        .run(&["plan", "--base", "main", "-o", "../p.kdl"])
        .exits(0);
    project
        .mkdir("../elsewhere")
        .git_in("../elsewhere", &["init", "-q"]);
    let run = |flags: &[&str]| {
        project.run(&[&["-C", "../elsewhere", "run", "--plan", "../p.kdl"], flags].concat())
    };
    run(&[]).exits(4).warns("vplan::changes::not_fetched");
    run(&["--plan-as-is"])
        .exits(0)
        .says("2 passed")
        .says("no contract in");
}
