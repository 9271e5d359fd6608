//! Plan files, shards and the joining of their reports, through the command line.

use crate::support::{Project, Ran};
use serde_json::{Value, json};
use vplan::plan::Plan;
use vplan::plan::digest::seal;
use vplan::plan::document::{from_json, to_json};

const CONTRACT: &str = "vplan 1\n\
    check lint: true\n\
    check unit {\n  run true\n  timeout 60s\n  needs lint\n}\n\
    check slow: true\n\
    whenExists \"flag\" {\n  check flag: true\n}\n";

fn project() -> Project {
    let project = Project::contract(CONTRACT);
    project.write("src/a", "a");
    project.commit("more");
    project
}

fn digest(text: &str) -> String {
    let at = text.find("sha256:").unwrap();
    text[at..at + 71].to_owned()
}

#[test]
fn both_forms_are_the_same_plan() {
    let project = project();
    for file in ["p.json", "p.kdl"] {
        project
            .run(&["plan", "--changed", "src/a", "-o", file])
            .exits(0)
            .says(&format!("{file}: 3 steps, sha256:"));
    }
    let (kdl, text) = (project.read("p.kdl"), project.read("p.json"));
    assert!(kdl.starts_with("// A plan of vplan: "), "{kdl}");
    let printed = project.run(&["plan", "--changed", "src/a", "--format", "kdl"]);
    assert_eq!(
        printed.exits(0).out(),
        kdl,
        "what is printed is what is written"
    );
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        digest(&kdl[kdl.find("digest").unwrap()..]),
        json["digest"].as_str().unwrap()
    );
    // Again, and the bytes are the same.
    project
        .run(&["plan", "--changed", "src/a", "-o", "p.kdl"])
        .exits(0);
    assert_eq!(project.read("p.kdl"), kdl);
    let digest = json["digest"].as_str().unwrap();
    for file in ["p.json", "p.kdl"] {
        let report = project
            .run(&[
                "run",
                "--plan",
                file,
                "--expect-digest",
                digest,
                "--format",
                "json",
            ])
            .exits(0)
            .json();
        assert_eq!(
            (&report["planDigest"], &report["savedPlan"]),
            (&json["digest"], &json!({"asIs": false}))
        );
    }
    // A comment and another layout are nobody's business.
    let edited = kdl.replace("steps {", "/* look here */ steps { // ours\n");
    project
        .write("p.kdl", edited.replace('\n', "\r\n"))
        .run(&["run", "--plan", "p.kdl"])
        .exits(0);
    // For a planner that requeues work itself.
    project.write(
        "f.json",
        r#"{"step":"lint","code":"verification_command_failed"}"#,
    );
    project
        .run(&["recover", "--plan", "p.kdl", "--failure", "f.json"])
        .exits(44)
        .says("refused");
}

#[test]
fn where_a_plan_is_written() {
    let project = project();
    project.mkdir("dir.kdl").symlink("link.json", "p.json");
    for (file, says) in [
        ("-", "`--format json`"),
        ("p.txt", "does not end in `.kdl` or `.json`"),
        (".kdl", "does not end in"),
        ("dir.kdl", "no regular file"),
        ("link.json", "no regular file"),
        ("src/a/p.kdl", "cannot be written"),
    ] {
        project
            .run(&["plan", "--changed", "src/a", "-o", file])
            .exits(2)
            .warns(says);
    }
    project
        .run(&[
            "plan",
            "--changed",
            "src/a",
            "-o",
            "p.kdl",
            "--format",
            "json",
        ])
        .exits(2)
        .warns("--format");
    project
        .run(&["plan", "--changed", "src/a", "-o", "p.kdl", "-q"])
        .exits(0)
        .is_quiet();
    assert!(!project.exists("p.json") && project.exists("p.kdl"));
}

#[test]
fn approved_plan_runs_or_refuses() {
    let project = project();
    project
        .run(&["plan", "--changed", "src/a", "-o", "p.kdl"])
        .exits(0);
    project.run(&["run", "--plan", "p.kdl"]).exits(0);
    // The contract.
    project.write("contracts/verify.vplan", CONTRACT.replace("60s", "120s"));
    let ran = project.run(&["run", "--plan", "p.kdl"]);
    ran.exits(4)
        .warns("steps.unit.timeoutMs: 60000 -> 120000")
        .warns("contract.digest: ")
        .warns("2 fields differ");
    assert!(!project.exists(".vplan/runs/1"));
    let report = project
        .run(&[
            "run",
            "--plan",
            "p.kdl",
            "--allow-drift",
            "--format",
            "json",
        ])
        .exits(0)
        .json();
    let drift = json!({"path": "steps.unit.timeoutMs", "saved": "60000", "present": "120000"});
    assert!(
        report["savedPlan"]["drift"]
            .as_array()
            .unwrap()
            .contains(&drift),
        "{report:#}"
    );
    project
        .run(&["run", "--plan", "p.kdl", "--allow-drift"])
        .exits(0)
        .says("60000 -> 120000");
    // A fact.
    project
        .write("contracts/verify.vplan", CONTRACT)
        .write("flag", "");
    let ran = project.run(&["run", "--plan", "p.kdl"]);
    ran.exits(4)
        .warns("facts.exists:flag.answer: \"no\" -> \"yes\"")
        .warns("steps.flag: (absent) -> \"true\"");
    project.remove("flag");
    // A contract that no longer knows the request.
    project
        .run(&[
            "plan",
            "--changed",
            "src/a",
            "--only",
            "slow",
            "-o",
            "only.json",
        ])
        .exits(0);
    project.write("contracts/verify.vplan", CONTRACT.replace("slow", "swift"));
    project
        .run(&["run", "--plan", "only.json"])
        .exits(4)
        .warns("request: fits the contract -> no check is called `slow`");
    project
        .run(&["run", "--plan", "only.json", "--allow-drift"])
        .exits(0);
    // No contract, or a broken one.
    project.write("contracts/verify.vplan", "vplan 1\ncheck\n");
    project
        .run(&["run", "--plan", "p.kdl", "--allow-drift"])
        .exits(3);
}

#[test]
fn changes_that_git_found_are_looked_up_again() {
    let project = project();
    project.write("src/a", "b");
    project.run(&["plan", "-o", "p.json"]).exits(0);
    let plan: Value = serde_json::from_str(&project.read("p.json")).unwrap();
    assert_eq!(plan["request"]["changedFrom"], "work-tree");
    assert_eq!(plan["request"]["changedIn"], "work-tree");
    // The plan file itself is no part of the change.
    project.run(&["run", "--plan", "p.json"]).exits(0);
    project.run(&["plan", "-o", "p.json"]).exits(0);
    project.run(&["run", "--plan", "p.json"]).exits(0);
    project.write("src/new", "");
    project
        .run(&["run", "--plan", "p.json"])
        .exits(4)
        .warns("request.changed.src/new: (absent) -> \"added\"");
    project.remove("src/new");
    let base = project.git(&["rev-parse", "HEAD"]);
    for flags in [
        vec!["--staged"],
        vec!["--all"],
        vec!["--base", "HEAD"],
        vec!["--base", base.as_str()],
    ] {
        project
            .run(&[&["plan", "-o", "p.kdl"], flags.as_slice()].concat())
            .exits(0);
        project.run(&["run", "--plan", "p.kdl"]).exits(0);
    }
    // What the caller named is what the caller named.
    project
        .run(&["plan", "--changed", "src/a", "-o", "p.kdl"])
        .exits(0);
    project
        .write("src/new", "")
        .run(&["run", "--plan", "p.kdl"])
        .exits(0);
    let text = project.read("p.kdl");
    assert!(
        ["changedFrom", "changedIn", "base"]
            .iter()
            .all(|key| !text.contains(key)),
        "{text}"
    );
}

#[test]
fn a_repaired_plan_and_one_with_flags_are_made_again() {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\nlimits {\n  budget 10m\n  jobs 2\n}\ncheck a: true\n",
        ),
        ("package.json", "{\"scripts\":{}}"),
    ]);
    for flags in [
        &["--command", "true && true"][..],
        &["--command", "pnpm run nope"],
        &["--command", "pnpm run nope", "--no-preflight"],
        &[
            "--no-recover",
            "--keep-going",
            "--jobs",
            "3",
            "--budget",
            "5m",
        ],
        &["--jobs", "1"],
        &["--mode", "off"],
        &[
            "--role",
            "reviewer",
            "--risk",
            "high",
            "--last",
            "--min-tier",
            "2",
        ],
        &["--skip", "a", "--reason", "broken"],
    ] {
        project
            .run(&[&["plan", "--changed-none", "-o", "p.kdl"][..], flags].concat())
            .exits(0);
        let ran = project.run(&[
            "run",
            "--plan",
            "p.kdl",
            "--expect-digest",
            &digest(&project.read("p.kdl")),
        ]);
        assert_ne!(ran.exit, Some(4), "{flags:?}: {}", ran.err());
        assert_ne!(ran.exit, Some(2), "{flags:?}: {}", ran.err());
    }
    // What the contract limits, no plan raises.
    project
        .run(&["plan", "--changed-none", "-o", "p.json"])
        .exits(0);
    let mut forged: Value = serde_json::from_str(&project.read("p.json")).unwrap();
    forged["policy"]["budgetMs"] = json!(1_200_000);
    project.write(
        "p.json",
        to_json(&seal(serde_json::from_value(forged).unwrap())),
    );
    project
        .run(&["run", "--plan", "p.json"])
        .exits(4)
        .warns("policy.budgetMs: 1200000 -> 600000");
}

#[test]
fn without_a_contract() {
    let project = project();
    project
        .run(&["plan", "--changed", "src/a", "-o", "p.json"])
        .exits(0);
    project
        .run(&["run", "--plan", "p.json", "--plan-as-is"])
        .exits(2)
        .warns("there is a contract");
    let elsewhere = Project::git_with(&[("x", "")]);
    elsewhere.write("p.json", project.read("p.json"));
    elsewhere
        .run(&["run", "--plan", "p.json"])
        .exits(3)
        .warns("--plan-as-is");
    elsewhere
        .run(&["run", "--plan", "p.json", "--allow-drift"])
        .exits(3);
    elsewhere
        .run(&["run", "--plan", "p.json", "--plan-as-is"])
        .exits(0)
        .says("the plan ran as it is");
    let report = elsewhere
        .run(&[
            "run",
            "--plan",
            "p.json",
            "--plan-as-is",
            "--format",
            "json",
        ])
        .exits(0)
        .json();
    assert_eq!(report["savedPlan"]["asIs"], true);
    // Deleting the contract is no way out, here neither.
    project.remove("contracts/verify.vplan");
    project
        .run(&["run", "--plan", "p.json", "--plan-as-is"])
        .exits(3)
        .warns("deleting the contract");
    // A plan of commands alone never had one.
    elsewhere
        .run(&["plan", "--changed-none", "--command", "true", "-o", "c.kdl"])
        .exits(0);
    elsewhere.run(&["run", "--plan", "c.kdl"]).exits(0);
}

#[test]
fn flags_that_do_not_go_together() {
    let project = project();
    project
        .run(&["plan", "--changed", "src/a", "-o", "p.json"])
        .exits(0);
    for flags in [
        "--role worker",
        "--risk medium",
        "--milestone-end",
        "--run-end",
        "--last",
        "--min-tier 0",
        "--command true",
        "--commands-from x",
        "--mode contract",
        "--only lint",
        "--skip lint --reason x",
        "--budget 1m",
        "--no-recover",
        "--no-preflight",
        "--changed src/a",
        "--changed-from x",
        "--base HEAD",
        "--staged",
        "--all",
        "--changed-none",
    ] {
        let line: Vec<&str> = ["run", "--plan", "p.json"]
            .into_iter()
            .chain(flags.split(' '))
            .collect();
        project.run(&line).exits(2).warns("--plan");
    }
    for flags in [
        "--allow-drift",
        "--plan-as-is",
        "--expect-digest sha256:1",
        "--shard 0/2",
        "--shard 3/2",
        "--shard x",
    ] {
        let line: Vec<&str> = ["run", "--all"]
            .into_iter()
            .chain(flags.split(' '))
            .collect();
        project.run(&line).exits(2);
    }
    project
        .run(&["run", "--plan", "p.json", "--deny", "shell"])
        .exits(0);
    let other = format!("sha256:{}", "0".repeat(64));
    project
        .run(&["run", "--all", "--expect-digest", &other])
        .exits(4)
        .warns("expected was sha256:0000");
    let plan = project
        .run(&["plan", "--all", "--format", "json"])
        .exits(0)
        .json();
    project
        .run(&[
            "run",
            "--all",
            "--expect-digest",
            plan["digest"].as_str().unwrap(),
        ])
        .exits(0);
}

#[test]
fn files_that_are_no_plan() {
    let project = project();
    project
        .run(&["plan", "--changed", "src/a", "-o", "p.json"])
        .exits(0);
    project
        .run(&["plan", "--changed", "src/a", "-o", "p.kdl"])
        .exits(0);
    let (json, kdl) = (project.read("p.json"), project.read("p.kdl"));
    let twice = json.replace("\"env\": {}", "\"env\": {\"A\": \"1\", \"A\": \"2\"}");
    for (name, text, exit, says) in [
        ("a.json", "{}".to_owned(), 2, "missing field `version`"),
        ("a.json", String::new(), 2, "EOF"),
        (
            "a.json",
            json.replace("\"version\": 2", "\"version\": 3"),
            2,
            "written by a newer vplan",
        ),
        (
            "a.json",
            json.replace("\"version\": 2", "\"version\": 99999999999"),
            2,
            "written by a newer vplan",
        ),
        (
            "a.json",
            json.replace("60000", "60001"),
            4,
            "the plan says its digest is",
        ),
        (
            "a.json",
            json.replace("\"jobs\"", "\"hobs\""),
            2,
            "unknown field `hobs`",
        ),
        (
            "a.json",
            json.replace("\"jobs\": 1", "\"jobs\": \"1\""),
            2,
            "invalid type",
        ),
        ("a.json", twice, 2, "`A` is here twice"),
        (
            "a.json",
            json.replace("  \"steps\"", "<<<<<<< HEAD\n  \"steps\""),
            2,
            "a merge left a conflict here",
        ),
        ("a.json", json[..json.len() / 2].to_owned(), 2, "EOF"),
        ("a.json", "[".repeat(1_000_000), 2, ""),
        ("a.kdl", String::new(), 2, "does not say its version"),
        (
            "a.kdl",
            kdl.replace("version 2", "version 3"),
            2,
            "written by a newer vplan",
        ),
        (
            "a.kdl",
            kdl.replace("60000", "60001"),
            4,
            "the plan says its digest is",
        ),
        (
            "a.kdl",
            kdl.replace("jobs 1", "hobs 1"),
            2,
            "did you mean `jobs`?",
        ),
        (
            "a.kdl",
            kdl.replace("jobs 1", "jobs 1\njobs 1"),
            2,
            "`jobs` is here twice",
        ),
        (
            "a.kdl",
            kdl.replace("steps {", ">>>>>>> theirs\nsteps {"),
            2,
            "a merge left a conflict here",
        ),
        ("a.kdl", kdl[..kdl.len() / 2].to_owned(), 2, "is not closed"),
        ("a.kdl", "a{".repeat(1_000_000), 2, "nested too deeply"),
        ("a.kdl", "a )\n".repeat(100_000), 2, ""),
        ("a.txt", kdl.clone(), 2, "does not end in"),
    ] {
        let ran = project.write(name, text).run(&["run", "--plan", name]);
        ran.exits(exit).warns(says).never_says("a bug in vplan");
    }
    // The place is shown.
    project
        .write("a.kdl", kdl.replace("jobs 1", "jobs one"))
        .run(&["run", "--plan", "a.kdl"])
        .exits(2)
        .warns("a.kdl:");
    project
        .write_bytes(b"b.kdl", b"version 1\n\xff")
        .run(&["run", "--plan", "b.kdl"])
        .exits(2)
        .warns("not UTF-8 at byte 10");
    project
        .symlink("l.kdl", "p.kdl")
        .run(&["run", "--plan", "l.kdl"])
        .exits(2);
    project
        .mkdir("d.kdl")
        .run(&["run", "--plan", "d.kdl"])
        .exits(2)
        .warns("no regular file");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        project.path("f.kdl"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    project
        .run(&["run", "--plan", "f.kdl"])
        .exits(2)
        .warns("no regular file");
    project
        .run(&["run", "--plan", "none.kdl"])
        .exits(2)
        .warns("cannot be read");
    std::fs::File::create(project.path("large.kdl"))
        .unwrap()
        .set_len(65 << 20)
        .unwrap();
    project
        .run(&["run", "--plan", "large.kdl"])
        .exits(2)
        .warns("64MiB");
}

/// A forged plan with a right digest is refused for what it says, in both forms and whatever it is
/// allowed.
#[test]
fn forged_plans() {
    let project = project();
    project
        .run(&["plan", "--changed", "src/a", "-o", "p.json"])
        .exits(0);
    let good: Value = serde_json::from_str(&project.read("p.json")).unwrap();
    type Forge = fn(&mut Value);
    let forge: &[(&str, Forge, &str)] = &[
        (
            "dir",
            |p| p["steps"][0]["dir"] = json!("../.."),
            "not a path of the repository",
        ),
        (
            "dir",
            |p| p["steps"][0]["dir"] = json!("/etc"),
            "not a path of the repository",
        ),
        (
            "dir",
            |p| p["steps"][0]["toolPath"] = json!(["../x"]),
            "not a path of the repository",
        ),
        (
            "id",
            |p| p["steps"][2]["id"] = json!("../../x"),
            "its id is no name",
        ),
        (
            "id",
            |p| p["steps"][2]["id"] = json!("/x"),
            "its id is no name",
        ),
        (
            "id",
            |p| p["steps"][2]["id"] = json!(""),
            "its id is no name",
        ),
        (
            "id",
            |p| p["steps"][2]["id"] = json!("a\u{1b}[2J"),
            "its id is no name",
        ),
        (
            "id",
            |p| p["steps"][2]["id"] = json!("lint"),
            "occurs twice",
        ),
        (
            "argv",
            |p| p["steps"][0]["argv"] = json!([]),
            "its command has no program",
        ),
        (
            "argv",
            |p| p["steps"][0]["argv"] = json!([""]),
            "its command has no program",
        ),
        (
            "argv",
            |p| p["steps"][0]["argv"] = json!(["rm", "-rf", "x"]),
            "says something else",
        ),
        (
            "argv",
            |p| p["steps"][0]["argv"] = json!(["a\u{0}"]),
            "a NUL byte",
        ),
        (
            "argv",
            |p| p["steps"][0]["command"] = json!("echo harmless"),
            "says something else",
        ),
        (
            "argv",
            |p| drop(p["steps"][0].as_object_mut().unwrap().remove("argv")),
            "it has no command",
        ),
        (
            "kind",
            |p| p["steps"][0]["kind"] = json!("file"),
            "runs no command",
        ),
        (
            "kind",
            |p| p["steps"][0]["kind"] = json!("shell"),
            "`sh -c TEXT`",
        ),
        (
            "env",
            |p| p["steps"][0]["env"] = json!({"A=B": "c"}),
            "no name of a variable",
        ),
        (
            "needs",
            |p| p["steps"][0]["needs"] = json!(["unit"]),
            "does not stand before it",
        ),
        (
            "needs",
            |p| p["steps"][0]["after"] = json!(["lint"]),
            "does not stand before it",
        ),
        (
            "needs",
            |p| p["steps"][1]["after"] = json!([]),
            "does not wait for it",
        ),
        (
            "time",
            |p| p["steps"][0]["timeoutMs"] = json!(0),
            "its time limit",
        ),
        (
            "time",
            |p| p["steps"][0]["timeoutMs"] = json!(1_u64 << 60),
            "its time limit",
        ),
        ("time", |p| p["policy"]["budgetMs"] = json!(0), "`budgetMs`"),
        ("jobs", |p| p["policy"]["jobs"] = json!(0), "`jobs`"),
        ("jobs", |p| p["policy"]["jobs"] = json!(100_000), "`jobs`"),
        (
            "rule",
            |p| p["policy"]["recover"] = json!(["drop-everything"]),
            "no recovery rule",
        ),
        (
            "tier",
            |p| p["steps"][0]["tier"] = json!(2),
            "of tier 0 stands behind tier 2",
        ),
        (
            "tier",
            |p| p["steps"][2]["tier"] = json!(9),
            "tiers are 0, 1 and 2",
        ),
        (
            "exit",
            |p| p["steps"][0]["exit"] = json!([-1]),
            "exit codes are 0 to 255",
        ),
        (
            "contract",
            |p| p["contract"]["path"] = json!("../x"),
            "none of the repository's",
        ),
        (
            "assert",
            |p| p["steps"][0]["path"] = json!("x"),
            "only a `file` check",
        ),
        (
            "on",
            |p| {
                p["steps"][0]["on"] = json!({"machine": {"name": "here", "properties": {"a": "b"}}})
            },
            "its machine is none",
        ),
        (
            "on",
            |p| p["steps"][0]["on"] = json!({"machine": {"name": "linux", "properties": {}}}),
            "its machine is none",
        ),
        (
            "on",
            |p| p["steps"][0]["on"] = json!({"machine": {"name": "linux"}}),
            "properties",
        ),
        ("on", |p| p["steps"][0]["on"] = json!("there"), "there"),
    ];
    for (what, forge, says) in forge {
        let mut forged = good.clone();
        forge(&mut forged);
        // What the types refuse has no digest to be had.
        let sealed = serde_json::from_value::<Plan>(forged.clone()).map(seal);
        let text = sealed.as_ref().map_or_else(|_| forged.to_string(), to_json);
        project.write("f.json", &text);
        let ran: Ran = project.run(&["run", "--plan", "f.json", "--allow-drift"]);
        assert!(ran.exits(2).err().contains(says), "{what}: {}", ran.err());
        if let Ok(plan) = sealed {
            assert!(from_json(&text).is_err());
            project.write("f.kdl", vplan::plan::kdl::to_kdl(&plan));
            project
                .run(&["run", "--plan", "f.kdl", "--allow-drift"])
                .exits(2)
                .warns(says);
        }
    }
    // What a contract could say is drift, not nonsense: a digest gives no authority.
    for forge in [
        (|p: &mut Value| p["steps"][0]["severity"] = json!("warning")) as Forge,
        |p| p["steps"][0]["retries"] = json!(9),
        |p| p["policy"]["recoverContract"] = json!(true),
        |p| drop(p["steps"].as_array_mut().unwrap().pop()),
    ] {
        let mut forged = good.clone();
        forge(&mut forged);
        project.write(
            "f.json",
            to_json(&seal(serde_json::from_value(forged).unwrap())),
        );
        project.run(&["run", "--plan", "f.json"]).exits(4);
    }
    // A part of a conjunction that its text does not have.
    project
        .run(&[
            "plan",
            "--changed-none",
            "--no-preflight",
            "--command",
            "true && true",
            "-o",
            "c.json",
        ])
        .exits(0);
    project.run(&["run", "--plan", "c.json"]).exits(0);
    let forged =
        project
            .read("c.json")
            .replacen("\"true\"\n            ]", "\"false\"\n            ]", 1);
    let plan: Plan = serde_json::from_str(&forged).unwrap();
    let mut value = serde_json::to_value(plan).unwrap();
    value["steps"][0]["unsupported"]["chain"][0]["argv"] = json!(["rm", "x"]);
    project.write(
        "f.json",
        to_json(&seal(serde_json::from_value(value).unwrap())),
    );
    project
        .run(&["run", "--plan", "f.json", "--allow-drift"])
        .exits(2)
        .warns("what its command does not say");
}

pub fn shards(project: &Project, count: u32, exits: &[i32]) -> Vec<String> {
    (1..=count)
        .map(|i| {
            let records = format!("../shard-{i}");
            let shard = format!("{i}/{count}");
            let ran = project.run(&[
                "run",
                "--plan",
                "p.kdl",
                "--shard",
                &shard,
                "--records",
                &records,
            ]);
            ran.exits(exits[i as usize - 1]);
            let runs = std::fs::read_dir(project.path(format!("{records}/runs")));
            let runs = runs
                .or_else(|_| std::fs::read_dir(project.path(&records)))
                .unwrap();
            let run = runs
                .map(|e| e.unwrap().path())
                .find(|p| p.is_dir())
                .unwrap();
            run.to_str().unwrap().to_owned()
        })
        .collect()
}

pub fn merge(project: &Project, runs: &[&str]) -> Ran {
    project.run(&[&["merge", "--format", "json"], runs].concat())
}

/// Merges where vplan does not remember the runs.
fn merge_elsewhere(project: &Project, runs: &[&str]) -> Ran {
    let state = project.path("../elsewhere");
    project
        .vplan(&[&["merge", "--format", "json"], runs].concat())
        .env("XDG_STATE_HOME", state)
        .run()
}

#[test]
fn shards_are_joined() {
    let project = Project::contract(
        "vplan 1\ncheck a: true\ncheck b {\n  run true\n  needs a\n}\ncheck c {\n  test false\n  needs a\n}\ncheck d: true\n",
    );
    project
        .run(&["plan", "--changed-none", "-o", "p.kdl"])
        .exits(0);
    let runs = shards(&project, 5, &[0, 42, 0, 0, 0]);
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let report = merge(&project, &runs).exits(42).json();
    let statuses: Vec<(&str, &str)> = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (s["id"].as_str().unwrap(), s["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        statuses,
        [
            ("a", "passed"),
            ("b", "passed"),
            ("c", "failed"),
            ("d", "passed")
        ]
    );
    assert_eq!(
        (&report["verdict"], &report["exitCode"]),
        (&json!("failed"), &json!(42))
    );
    assert_eq!(report["planDigest"], json!(digest(&project.read("p.kdl"))));
    assert_eq!(report["shards"].as_array().unwrap().len(), 5);
    assert_eq!(report["feedback"]["stepId"], "c");
    project
        .run(&[&["merge"], runs.as_slice()].concat())
        .exits(42)
        .says("shard 2 of 5: failed")
        .says("failed: 3 passed, 1 failed");
    // A report file instead of its directory, one of them twice, in any order.
    let file = format!("{}/report.json", runs[0]);
    let again = merge(
        &project,
        &[runs[4], runs[2], &file, runs[1], runs[3], runs[2]],
    )
    .exits(42)
    .json();
    assert_eq!(again, report);
    // A missing one leaves the verdict open, unless a failure has settled it.
    merge(&project, &runs[..4]).exits(42);
    let open = merge(&project, &[runs[0], runs[2], runs[3], runs[4]])
        .exits(44)
        .json();
    assert_eq!(
        (&open["verdict"], &open["steps"][2]["reason"]),
        (&json!("incomplete"), &json!("shard"))
    );
    let idle = merge(&project, &[runs[0]]).exits(44).json();
    assert_eq!(idle["verdict"], "incomplete");
    project
        .run(&["merge", runs[0]])
        .exits(44)
        .says("shards 2, 3, 4, 5 of 5 are missing");
    // One that has nothing to do says so.
    let ran = project.run(&[
        "run",
        "--plan",
        "p.kdl",
        "--shard",
        "5/5",
        "--require",
        "some",
    ]);
    ran.exits(0)
        .says("nothing to verify")
        .says("shard 5 of 5 has no check of its own that counts");
}

#[test]
fn reports_that_cannot_be_joined() {
    let project = Project::contract("vplan 1\ncheck a: true\ncheck b: true\n");
    project
        .run(&["plan", "--changed-none", "-o", "p.kdl"])
        .exits(0);
    let runs = shards(&project, 2, &[0, 0]);
    merge(&project, &[&runs[0], &runs[1]]).exits(0);
    let text = std::fs::read_to_string(format!("{}/report.json", runs[0])).unwrap();
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut report: Value = serde_json::from_str(&text).unwrap();
        edit(&mut report);
        report.to_string()
    };
    for (text, exit, says) in [
        (String::new(), 2, "ends in the middle"),
        (text[..text.len() / 2].to_owned(), 2, "ends in the middle"),
        ("[]".to_owned(), 2, "is no report"),
        (edited(&|r| r["version"] = json!(2)), 2, "has version 2"),
        (
            edited(&|r| drop(r.as_object_mut().unwrap().remove("shard"))),
            2,
            "of a whole run",
        ),
        (
            edited(&|r| r["shard"]["plan"]["steps"][0]["retries"] = json!(7)),
            2,
            "does not have the digest",
        ),
        (
            edited(&|r| r["shard"]["planDigest"] = json!(format!("sha256:{}", "0".repeat(64)))),
            2,
            "does not have the digest",
        ),
        (
            edited(&|r| r["shard"]["index"] = json!(2)),
            2,
            "is not the shard's",
        ),
        (
            edited(&|r| r["shard"]["index"] = json!(0)),
            2,
            "there is no such shard",
        ),
        (
            edited(&|r| r["shard"]["count"] = json!(3)),
            4,
            "one of 2 shards",
        ),
        (
            edited(&|r| r["shard"]["elsewhere"] = json!([])),
            2,
            "is not the shard's",
        ),
        (
            edited(&|r| r["planDigest"] = json!(format!("sha256:{}", "0".repeat(64)))),
            2,
            "is not the shard's",
        ),
        (
            edited(&|r| r["steps"] = json!([])),
            2,
            "has 0 records, not one",
        ),
        (
            edited(&|r| r["steps"][0]["id"] = json!("b")),
            2,
            "has 0 records, not one",
        ),
        (
            edited(&|r| r["steps"][0]["status"] = json!("failed")),
            2,
            "did not pass, for no reason",
        ),
        (
            edited(&|r| r["verdict"] = json!("failed")),
            2,
            "the records give passed, the report says failed",
        ),
        (
            edited(&|r| r["coverage"] = json!("narrowed")),
            2,
            "the report says narrowed coverage",
        ),
        (
            edited(&|r| r["steps"][0]["durationMs"] = json!(123_456)),
            2,
            "different reports of shard 1 of 2",
        ),
    ] {
        project.write("x.json", text);
        merge_elsewhere(&project, &[&runs[0], &runs[1], "x.json"])
            .exits(exit)
            .warns(says);
    }
    // With the right digest: what the order says is asked before anything follows it.
    let contradictions: [fn(&mut Plan); 4] = [
        |plan| plan.steps[0].needs = vec!["z".to_owned()],
        |plan| plan.steps[0].after = vec!["b".to_owned()],
        |plan| plan.steps[1].after = vec!["b".to_owned()],
        |plan| plan.steps[1].id = "a".to_owned(),
    ];
    for edit in contradictions {
        let forged = edited(&|r| {
            let mut plan: Plan = serde_json::from_value(r["shard"]["plan"].take()).unwrap();
            edit(&mut plan);
            let plan = seal(plan);
            r["shard"]["planDigest"] = json!(plan.digest);
            r["shard"]["plan"] = json!(plan);
        });
        project.write("x.json", forged);
        merge_elsewhere(&project, &["x.json", &runs[1]])
            .exits(2)
            .warns("its plan contradicts itself");
    }
    project.run(&["merge"]).exits(2);
    project
        .run(&["merge", "none.json"])
        .exits(2)
        .warns("cannot be read");
    project
        .run(&["merge", "contracts"])
        .exits(2)
        .warns("holds no report");
    project
        .run(&["merge", &runs[0], "--format", "kdl"])
        .exits(2);
    // Another plan, and another division of the same one.
    let third = project
        .run(&[
            "run", "--plan", "p.kdl", "--shard", "2/3", "--format", "json",
        ])
        .exits(0)
        .json();
    project.write("third.json", third.to_string());
    project
        .run(&["merge", &runs[0], "third.json"])
        .exits(4)
        .warns("one of 2 shards")
        .warns("one of 3");
    project.write(
        "contracts/verify.vplan",
        "vplan 1\ncheck a: true\ncheck b {\n  run true\n  retries 1\n}\n",
    );
    let other = project
        .run(&[
            "run",
            "--changed-none",
            "--shard",
            "2/2",
            "--format",
            "json",
        ])
        .exits(0)
        .json();
    project.write("other.json", other.to_string());
    project
        .run(&["merge", &runs[0], "other.json"])
        .exits(4)
        .warns("steps.b.retries: 0 -> 1")
        .warns("different plans");
    let whole = project
        .run(&["run", "--changed-none", "--format", "json"])
        .exits(0)
        .json();
    project.write("whole.json", whole.to_string());
    project
        .run(&["merge", "whole.json"])
        .exits(2)
        .warns("vplan run --shard I/N");
}

#[test]
fn repairs_happen_within_a_shard() {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", "vplan 1\ncheck a: true\n"),
        ("package.json", "{\"scripts\":{}}"),
    ]);
    let flags = [
        "--changed-none",
        "--no-preflight",
        "--command",
        "true && true",
        "--command",
        "true",
    ];
    project
        .run(&[&["plan", "-o", "p.kdl"][..], &flags].concat())
        .exits(0);
    let runs = shards(&project, 2, &[0, 0]);
    let report = merge(&project, &[&runs[0], &runs[1]]).exits(0).json();
    let ids: Vec<&str> = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        report["rewrites"].as_array().unwrap().len(),
        1,
        "{report:#}"
    );
    assert_eq!(report["rewrites"][0]["recoveryRule"], "split-conjunction");
    assert!(ids.len() >= 3 && !ids.contains(&"true-true"), "{ids:?}");
}
