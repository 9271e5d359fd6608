//! Does what vplan prints and writes keep to the schemas that `vplan schema` prints?
//!
//! The schemas let unknown keys pass; here they do not. Every test that reads a JSON document of
//! vplan's (`Ran::json`) holds it against them, so that all situations of all tests count; those of
//! this file are about what no other test reads.

use crate::support::Project;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;
use std::sync::{LazyLock, Mutex};

/// Commands, and the documents that they print.
static PRINTED: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut printed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in list() {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        for command in entry["by"].as_array().unwrap() {
            printed
                .entry(text(command))
                .or_default()
                .push(text(&entry["name"]));
        }
    }
    printed
});

/// The strict validators that were needed so far.
static STRICT: Mutex<BTreeMap<String, &'static Validator>> = Mutex::new(BTreeMap::new());

fn vplan(args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_vplan"))
        .args(args)
        .env_clear()
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn list() -> Vec<Value> {
    vplan(&["schema", "--format", "json"])["schemas"]
        .as_array()
        .unwrap()
        .clone()
}

fn names() -> Vec<String> {
    list()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Closes every object of a schema. `open`: the object is described further by what stands around
/// this schema.
fn close(schema: &mut Value, open: bool) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let applicators = ["allOf", "anyOf", "oneOf"];
    let described = object.contains_key("properties");
    let further = applicators.iter().any(|key| object.contains_key(*key))
        || (described && object.contains_key("$ref"));
    for key in applicators {
        object
            .get_mut(key)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .for_each(|s| close(s, open || described));
    }
    for key in ["$defs", "properties"] {
        object
            .get_mut(key)
            .and_then(Value::as_object_mut)
            .into_iter()
            .flatten()
            .for_each(|(_, s)| close(s, false));
    }
    for key in ["additionalProperties", "items"] {
        object
            .get_mut(key)
            .into_iter()
            .for_each(|s| close(s, false));
    }
    if described && !open {
        let key = if further {
            "unevaluatedProperties"
        } else {
            "additionalProperties"
        };
        object.entry(key).or_insert(false.into());
    }
}

fn validator(name: &str) -> &'static Validator {
    let mut known = STRICT
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    known.entry(name.to_owned()).or_insert_with(|| {
        let mut schema = vplan(&["schema", name]);
        close(&mut schema, false);
        Box::leak(Box::new(jsonschema::draft202012::new(&schema).unwrap()))
    })
}

/// What is wrong with a document, a line each.
fn faults(name: &str, document: &Value) -> Vec<String> {
    validator(name)
        .iter_errors(document)
        .map(|e| format!("{name}: at `{}`: {e}", e.instance_path()))
        .collect()
}

#[track_caller]
fn keeps(name: &str, document: &Value) {
    let faults = faults(name, document);
    assert!(faults.is_empty(), "{}\n{document:#}", faults.join("\n"));
}

/// Holds what a command printed against its schema.
#[track_caller]
pub fn printed(args: &[OsString], document: &Value) {
    let Some(names) = args.iter().find_map(|arg| PRINTED.get(arg.to_str()?)) else {
        return;
    };
    let faults: Vec<Vec<String>> = names.iter().map(|name| faults(name, document)).collect();
    assert!(
        faults.iter().any(Vec::is_empty),
        "{args:?}: {}\n{document:#}",
        faults.concat().join("\n")
    );
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Every file that all runs of a project left behind. Gives the types of events that were seen.
#[track_caller]
fn records_keep(project: &Project) -> Vec<String> {
    let mut types = Vec::new();
    for run in std::fs::read_dir(project.path(".vplan/runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
    {
        let read = |name: &str| std::fs::read_to_string(run.join(name)).ok();
        for (file, name) in [
            ("plan.json", "plan"),
            ("report.json", "report"),
            ("proposal.json", "proposal"),
        ] {
            read(file)
                .into_iter()
                .for_each(|text| keeps(name, &parse(&text)));
        }
        for line in read("events.jsonl").unwrap_or_default().lines() {
            let event = parse(line);
            keeps("event", &event);
            types.push(event["type"].as_str().unwrap().to_owned());
        }
    }
    types.sort();
    types.dedup();
    types
}

#[test]
fn schemas_are_schemas_and_name_everything() {
    let mut missing = Vec::new();
    let names = names();
    assert!(names.len() > 25, "{names:?}");
    for name in &names {
        let schema = vplan(&["schema", name]);
        jsonschema::draft202012::meta::validate(&schema).unwrap_or_else(|e| panic!("{name}: {e}"));
        let version = if *name == "plan" { 2 } else { 1 };
        assert_eq!(schema["$id"], format!("urn:vplan:schema:{name}:{version}"));
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        undescribed(&schema, name, &mut missing);
        versioned(&schema, name);
    }
    assert!(
        missing.is_empty(),
        "without a description:\n{}",
        missing.join("\n")
    );
}

/// Properties of which nothing is said.
fn undescribed(schema: &Value, at: &str, out: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            let properties = object.get("properties").and_then(Value::as_object);
            // The one key of a variant is what the variant is.
            let variant =
                properties.is_some_and(|p| p.len() == 1) && object.contains_key("description");
            for (name, property) in properties.into_iter().flatten().filter(|_| !variant) {
                if property["description"].as_str().is_none_or(str::is_empty)
                    && property.get("const").is_none()
                    && name != "b64"
                {
                    out.push(format!("{at}.{name}"));
                }
            }
            for (key, value) in object {
                let at = format!("{at}.{key}");
                // A property may be called as a word of schemas is.
                match value.as_object().filter(|_| key == "properties") {
                    Some(properties) => (properties.iter())
                        .for_each(|(name, value)| undescribed(value, &format!("{at}.{name}"), out)),
                    None => undescribed(value, &at, out),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| undescribed(value, at, out)),
        _ => {}
    }
}

/// A document has a version, the only one there is. An event has none of its own: that of the
/// journal stands in its first line.
fn versioned(schema: &Value, name: &str) {
    if name == "shards" {
        // What a CI system takes as a matrix is a list, and nothing else.
        assert_eq!(schema["type"], "array");
        return;
    }
    let of = |shape: &Value| shape["properties"]["version"].clone();
    let shapes = match schema["anyOf"].as_array() {
        Some(any) => any.clone(),
        None if name == "event" => vec![schema["oneOf"][0].clone()],
        None => vec![schema.clone()],
    };
    for shape in shapes {
        let version = of(&shape);
        // Earlier versions of the ledger are read, and its third one is written.
        let written = if name == "ledger" { 3 } else { 1 };
        assert!(
            version["const"] == written || version["enum"][0] == 1,
            "{name}: {version}"
        );
    }
}

#[test]
fn strict_is_strict_and_lenient_is_lenient() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    let report = project
        .run(&["run", "--all", "--format", "json"])
        .exits(0)
        .json();
    let lenient = jsonschema::draft202012::new(&vplan(&["schema", "report"])).unwrap();
    let mut more = report.clone();
    more["new"] = json!(1);
    more["steps"][0]["new"] = json!(1);
    assert!(lenient.is_valid(&more));
    assert_eq!(
        faults("report", &more).len(),
        2,
        "{:?}",
        faults("report", &more)
    );
    for (pointer, value) in [
        ("/version", json!(2)),
        ("/verdict", json!("fine")),
        ("/planDigest", json!("sha256:x")),
        ("/steps/0/durationMs", json!("1")),
        ("/runId", json!(null)),
    ] {
        let mut other = report.clone();
        *other.pointer_mut(pointer).unwrap() = value;
        assert!(!lenient.is_valid(&other), "{pointer}");
    }
    let mut less = report.clone();
    less.as_object_mut().unwrap().remove("steps");
    assert!(!lenient.is_valid(&less));
    // An event is one of those that there are, with its own keys only.
    let event =
        json!({"attempt": 1, "id": "a", "limitMs": 1, "seq": 2, "t": 0, "type": "step.started"});
    keeps("event", &event);
    for (key, value) in [
        ("type", json!("step.ended")),
        ("verdict", json!("passed")),
        ("attempt", json!(-1)),
    ] {
        let mut other = event.clone();
        other[key] = value;
        assert!(!faults("event", &other).is_empty(), "{key}");
    }
}

#[test]
fn the_list_and_its_bad_inputs() {
    let project = Project::bare();
    let text = project.run(&["schema"]);
    text.exits(0).is_quiet();
    let listed: Vec<String> = text
        .out()
        .lines()
        .map(|l| l.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(listed, names());
    project.run(&["schema", "--format", "json"]).exits(0).json();
    for name in ["report", "lock"] {
        let once = project.run(&["schema", name]);
        assert_eq!(
            once.exits(0).stdout,
            project.run(&["schema", name, "--format", "json"]).stdout
        );
        assert!(once.out().ends_with("}\n"));
    }
    for (words, told) in [
        (&["schema", "reprot"][..], "did you mean `report`?"),
        (&["schema", "\u{1b}[31mx"], "vplan::usage::unknown_schema"),
        (&["schema", "", "--quiet"], "`vplan schema` lists them"),
        (
            &["schema", "report", "--format", "md"],
            "it has `text`, `json`",
        ),
        (&["schema", "report", "plan"], "unexpected argument"),
    ] {
        let ran = project.run(words);
        ran.exits(2).warns(told);
        assert!(
            ran.stdout.is_empty() && !ran.err().contains('\u{1b}'),
            "{words:?}"
        );
    }
}

const EVERYTHING: &str = "\
vplan 1
gate {
  confirmations 2
}
risk r tier 1 \"src/**\"
check setup {
  run true
  setup
  produces \"out/**\"
}
check bad {
  run sh -c \"echo out; echo err >&2; exit 3\"
  severity warning
}
check flaky {
  run sh -c \"test -e ../seen || { touch ../seen; exit 1; }\"
  retries 1
}
check skipped {
  run sh -c \"exit 9\"
  skip-exit 9
}
check tests {
  test sh -c \"printf 'TAP version 13\\\\n1..3\\\\nok 1 - a\\\\nok 2 - b # SKIP later\\\\nnot ok 3 - c\\\\n'; exit 1\"
  format tap
}
check compiled {
  compile sh -c \"echo 'src/a.c:3:7: error: no such thing' >&2; exit 1\"
  format gcc
}
check there {
  file \"src/a.c\" {
    exists
    size ..1000B
    contains \"int\"
  }
}
check slow {
  shell sleep 60
  timeout 50ms
}
whenChangedAny \"docs/**\" {
  check docs: true
}
";

#[test]
fn all_kinds_of_records() {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", EVERYTHING),
        ("src/a.c", "int a;\n"),
    ]);
    let check = project.run(&["check", "--format", "json", "--uncovered"]);
    check.exits(0).json();
    // All of it, keeping on, with a subject, a milestone's end and a file whose name is no text.
    project.write_bytes(b"src/\xff.c", "x");
    let args = [
        "run",
        "--keep-going",
        "--subject",
        "S",
        "--last",
        "--grant-env",
        "SECRET",
        "--format",
        "json",
    ];
    let report = project.run(&args);
    let report = report.exits(41).json();
    for status in ["failed", "flaky", "skipped", "timed_out", "passed"] {
        assert!(
            report["steps"]
                .as_array()
                .unwrap()
                .iter()
                .any(|s| s["status"] == status),
            "{status}: {report:#}"
        );
    }
    for words in [
        &["details"][..],
        &["report"],
        &["runs"],
        &["runs", "--check", "flaky"],
        &["stats"],
        &["status"],
        &["verify"],
        &["log", "bad"],
        &["feedback"],
        &["gate", "show"],
        &["gate", "reset", "--subject", "S"],
        &["gc", "--keep", "0"],
    ] {
        if words == ["gate", "reset", "--subject", "S"] {
            let ledgers = project.parent().join("home/state/vplan");
            let ledger = std::fs::read_dir(ledgers)
                .unwrap()
                .next()
                .unwrap()
                .unwrap()
                .path()
                .join("ledger.json");
            keeps("ledger", &parse(&std::fs::read_to_string(ledger).unwrap()));
            let types = records_keep(&project);
            for wanted in [
                "plan.compiled",
                "program.resolved",
                "run.finished",
                "run.started",
                "step.finished",
                "step.started",
            ] {
                assert!(types.iter().any(|t| t == wanted), "{wanted}: {types:?}");
            }
        }
        let ran = project.run(&[words, &["--format", "json"]].concat());
        assert!(!ran.stdout.is_empty(), "{words:?}: {}", ran.err());
        ran.json();
    }
}

#[test]
fn recovered_sharded_merged_and_saved() {
    let contract = "vplan 1\ncheck a: true\ncheck b: false\ncheck c: sh -c \"exit 2\"\n";
    let project = Project::git_with(&[
        ("contracts/verify.vplan", contract),
        ("package.json", "{\"scripts\":{}}\n"),
        ("Makefile", "all:\n"),
    ]);
    let saved = project.run(&[
        "plan",
        "--all",
        "--keep-going",
        "-o",
        "../p.json",
        "--format",
        "json",
    ]);
    saved.exits(0).json();
    keeps("plan-written", &saved.json());
    keeps("plan", &parse(&project.read("../p.json")));
    // A command of the request is dropped: its script does not exist.
    let ran = project.run(&[
        "run",
        "--changed",
        "a",
        "--keep-going",
        "--command",
        "npm run nope",
        "--format",
        "json",
    ]);
    assert!(
        !ran.json()["rewrites"].as_array().unwrap().is_empty(),
        "{}",
        ran.out()
    );
    let divide = [
        "plan",
        "--plan",
        "../p.json",
        "--divide",
        "2",
        "-o",
        "../d.json",
        "--format",
        "json",
    ];
    keeps("shards", &project.run(&divide).exits(0).json());
    keeps("division", &parse(&project.read("../d.json")));
    for shard in ["1/2", "2/2"] {
        let ran = project.run(&[
            "run",
            "--plan",
            "../p.json",
            "--division",
            "../d.json",
            "--shard",
            shard,
            "--format",
            "json",
        ]);
        project.write(format!("../{}.json", &shard[..1]), &ran.stdout);
        ran.json();
    }
    project
        .run(&["merge", "../1.json", "../2.json", "--format", "json"])
        .json();
    project.write(
        "contracts/verify.vplan",
        contract.replace("exit 2", "exit 3"),
    );
    project
        .run(&[
            "run",
            "--plan",
            "../p.json",
            "--allow-drift",
            "--format",
            "json",
        ])
        .json();
    // While it runs, too.
    project
        .run(&[
            "run",
            "--changed",
            "a",
            "--keep-going",
            "--command",
            "make nope",
            "--no-preflight",
            "--format",
            "json",
        ])
        .json();
    let types = records_keep(&project);
    assert!(types.contains(&"plan.rewritten".to_owned()), "{types:?}");
    for words in [
        &[
            "recover",
            "--command",
            "make",
            "--command",
            "make clean",
            "--failed",
            "1",
            "--exit",
            "1",
        ][..],
        &[
            "recover",
            "--command",
            "cd a && b",
            "--failed",
            "1",
            "--exit",
            "1",
        ],
        &["classify", "--command", "npm run nope", "--exit", "1"],
        &["argv", "A=1 b 'c d'"],
        &["argv", "cd a && b | c"],
        &["diff", "../p.json", "../p.json", "--format", "json"],
        &["diff", "--base", "HEAD", "--format", "json"],
        &["explain", "--changed", "a", "--format", "json"],
        &["fmt", "--check", "--format", "json"],
        &["std", "--format", "json"],
    ] {
        project.run(words).json();
    }
    // A plan gets the plan after.
    let plan = project.run(&[
        "plan",
        "--changed-none",
        "--command",
        "npm run nope",
        "--command",
        "true",
        "--no-preflight",
        "--format",
        "json",
    ]);
    project.write("../q.json", &plan.stdout);
    let step = plan.json()["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["command"] == "npm run nope")
        .unwrap()["id"]
        .clone();
    project.write(
        "../f.json",
        json!({"step": step, "code": "verification_command_missing_script"}).to_string(),
    );
    let after = project
        .run(&["recover", "--plan", "../q.json", "--failure", "../f.json"])
        .exits(0)
        .json();
    assert!(after["plan"]["steps"].is_array(), "{after:#}");
}

#[test]
fn other_programs_are_asked_as_their_schemas_say() {
    let contract = "vplan 1\njudge-with ./judge.sh\ncheck page {\n  judge \"good?\"\n  context \"docs/**\"\n}\n";
    let project = Project::git_with(&[("contracts/verify.vplan", contract), ("docs/a.md", "a\n")]);
    project.write_bytes(b"docs/\xff.md", b"\xfe");
    project.script(
        "judge.sh",
        "#!/bin/sh\ncat > ../asked\necho '{\"verdict\":\"fail\",\"reasoning\":\"no\",\"version\":1}'\n",
    );
    project.script(
        "../propose.sh",
        "#!/bin/sh\ncat > ../question\necho '{\"commands\":[\"true\",{\"command\":\"echo\",\"why\":\"so\"}]}'\n",
    );
    let with = [
        "--mode",
        "llm",
        "--proposer",
        "sh ../propose.sh",
        "--format",
        "json",
    ];
    project
        .run(
            &[
                &["run", "--keep-going", "--changed", "docs/a.md"],
                &with[..],
            ]
            .concat(),
        )
        .exits(40)
        .json();
    keeps("judge-question", &parse(&project.read("../asked")));
    keeps("proposal-question", &parse(&project.read("../question")));
    records_keep(&project);
    project
        .run(&[&["lock", "--record", "--changed", "docs/a.md"], &with[..]].concat())
        .exits(0)
        .json();
    project
        .run(&["lock", "--check", "--format", "json"])
        .exits(0)
        .json();
    for (name, answer, good) in [
        (
            "judge-answer",
            r#"{"verdict":"pass","reasoning":"r"}"#,
            true,
        ),
        (
            "judge-answer",
            r#"{"verdict":"pass","reasoning":"r","version":1}"#,
            true,
        ),
        (
            "judge-answer",
            r#"{"verdict":"maybe","reasoning":"r"}"#,
            false,
        ),
        ("judge-answer", r#"{"verdict":"pass"}"#, false),
        (
            "judge-answer",
            r#"{"verdict":"pass","reasoning":"r","version":2}"#,
            false,
        ),
        (
            "judge-answer",
            r#"{"verdict":"pass","reasoning":"r","sure":true}"#,
            false,
        ),
        ("proposal-answer", r#"{"commands":[]}"#, true),
        (
            "proposal-answer",
            r#"{"commands":["a",{"command":"b"},{"command":"c","why":"w"}],"version":1}"#,
            true,
        ),
        (
            "proposal-answer",
            r#"{"commands":[{"command":"c","why":null}]}"#,
            false,
        ),
        (
            "proposal-answer",
            r#"{"commands":[{"command":"c","because":"w"}]}"#,
            false,
        ),
        ("proposal-answer", r#"{"commands":"a"}"#, false),
        ("proposal-answer", r#"{"commands":[],"version":2}"#, false),
        ("proposal-answer", r#"["a"]"#, false),
    ] {
        // The schema says what the reader says.
        let read = match name {
            "judge-answer" => vplan::check::judge::JudgeAnswer::read(answer.as_bytes()).is_ok(),
            _ => vplan::plan::proposal::ProposalAnswer::read(answer.as_bytes()).is_ok(),
        };
        assert_eq!(
            (faults(name, &parse(answer)).is_empty(), read),
            (good, good),
            "{answer}"
        );
    }
}

#[test]
fn a_loop_and_a_killed_run() {
    let project = Project::contract("vplan 1\ncheck a: grep -q ok flag\n");
    project.write("flag", "bad\n");
    project.script("../fix.sh", "#!/bin/sh\ncat > ../told\necho ok > flag\n");
    let args = [
        "loop",
        "--fix",
        "sh ../fix.sh",
        "--feedback",
        "json",
        "--subject",
        "S",
        "--all",
        "--format",
        "json",
    ];
    project.run(&args).exits(0).json();
    keeps("feedback", &parse(&project.read("../told")));
    keeps(
        "feedback",
        &json!({"reason": "nothing was verified", "verdict": "incomplete", "version": 1}),
    );
    // What a killed run leaves: everything but its end.
    let run = std::fs::read_dir(project.path(".vplan/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let events = std::fs::read_to_string(run.join("events.jsonl")).unwrap();
    let cut: Vec<&str> = events.lines().collect();
    std::fs::write(
        run.join("events.jsonl"),
        cut[..cut.len() - 2].join("\n") + "\n{\"seq\":9",
    )
    .unwrap();
    std::fs::remove_file(run.join("report.json")).unwrap();
    let name = run.file_name().unwrap().to_str().unwrap();
    for words in [
        &["details", name][..],
        &["report", name],
        &["runs"],
        &["stats"],
        &["status"],
    ] {
        project
            .run(&[words, &["--format", "json"]].concat())
            .exits(0)
            .json();
    }
}

#[test]
fn a_pass_that_is_kept_and_stands_for_a_step() {
    let contract = "vplan 1\ncheck one {\n  run cat src/a\n  inputs \"src/**\"\n}\n";
    let project = Project::git_with(&[("contracts/verify.vplan", contract), ("src/a", "1\n")]);
    for status in ["passed", "cached"] {
        let report = project
            .run(&["run", "--changed-none", "--format", "json"])
            .exits(0)
            .json();
        assert_eq!(report["steps"][0]["status"], status, "{report:#}");
    }
    project
        .run(&["run", "--changed-none", "--confirm", "--format", "json"])
        .exits(0)
        .json();
    let state = project.parent().join("home/state/vplan");
    let results = std::fs::read_dir(state)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join("results");
    let files = std::fs::read_dir(results)
        .unwrap()
        .map(|e| e.unwrap().path());
    let kept: Vec<String> = files
        .filter(|path| path.file_name().unwrap().len() == 64)
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(kept.len(), 1);
    kept.iter()
        .for_each(|text| keeps("kept-pass", &parse(text.lines().nth(1).unwrap())));
    records_keep(&project);
}

#[test]
fn golden_plans() {
    let project = Project::bare();
    let settings = include_str!("golden/settings.vplan");
    project.write("contracts/verify.vplan", settings);
    for request in [&["--all-none"][..], &[]] {
        let mut words = vec![
            "plan",
            "--format",
            "json",
            "--changed",
            "src/a.ts",
            "deleted:b.rs",
            "--risk",
            "high",
            "--last",
        ];
        if !request.is_empty() {
            words.extend([
                "--role",
                "reviewer",
                "--keep-going",
                "--jobs",
                "3",
                "--budget",
                "5m",
            ]);
        }
        project.run(&words).exits(0).json();
    }
}
