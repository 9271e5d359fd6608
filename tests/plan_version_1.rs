//! Plans of version 1, which an older vplan made: read, verified against their own digests, run;
//! and nothing else is made of them.
//!
//! Everything in `tests/golden/version-1` was written by vplan at commit ec08b75 in the repository
//! that [`project`] makes.

use crate::support::Project;
use serde_json::Value;
use std::path::PathBuf;
use vplan::contract::Contract;
use vplan::effect::git::pins::NothingPinned;
use vplan::effect::repo::load::{self, ContractRequest};
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::digest::digest;
use vplan::plan::document::{DocumentForm, canonical};
use vplan::plan::facts::Facts;
use vplan::plan::request::Request;
use vplan::plan::{Plan, Step, canonical::FIRST};

const NAMES: [&str; 10] = [
    "all",
    "base",
    "given",
    "none",
    "only",
    "policy",
    "rewritten",
    "skipped",
    "staged",
    "work-tree",
];

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/version-1")
        .join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap()
}

fn project() -> Project {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", &text("contract.vplan")),
        ("package.json", "{\"scripts\":{}}"),
        ("src/a", "a"),
        ("docs/d", "d"),
        ("flag", ""),
    ]);
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("src/b", "b");
    project.commit("more");
    project.write("src/a", "changed").git(&["add", "-A"]);
    project
}

/// The digest that stands in the file, found without our reader.
fn stated(text: &str) -> &str {
    let at = text.find("sha256:").unwrap();
    &text[at..at + 71]
}

#[test]
fn both_forms_are_read_and_have_their_digests() {
    for name in NAMES {
        let (json, kdl) = (text(&format!("{name}.json")), text(&format!("{name}.kdl")));
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&value["version"], value["digest"].as_str()),
            (&1.into(), Some(stated(&kdl))),
            "{name}"
        );
        for (form, text) in [(DocumentForm::Json, &json), (DocumentForm::Kdl, &kdl)] {
            let plan = form.read(text).unwrap();
            assert_eq!(digest(&plan).to_string(), stated(&kdl), "{name}");
            assert_eq!(plan.version, FIRST);
            // What is written of it again is it.
            assert_eq!(form.read(&form.write(&plan)), Ok(plan.clone()), "{name}");
            assert!(
                form == DocumentForm::Kdl || form.write(&plan) == *text,
                "{name}"
            );
            let again = vplan::base::canon::Digest::hash(canonical(&plan).as_bytes());
            assert_eq!(again.to_string(), stated(&kdl), "{name}");
        }
        // What was a part of the plan then is one still.
        for (from, to) in [
            ("\"jobs\": ", "\"jobs\": 1"),
            ("\"failFast\": true", "\"failFast\": false"),
        ] {
            if json.contains(from) {
                assert!(
                    DocumentForm::Json.read(&json.replace(from, to)).is_err(),
                    "{name}: {from}"
                );
            }
        }
        assert!(
            DocumentForm::Json
                .read(&json.replace("\"version\": 1", "\"version\": 2"))
                .is_err(),
            "{name}"
        );
        for more in [
            "\"base\": \"0000000000000000000000000000000000000000\",",
            "\"changedIn\": \"index\",",
        ] {
            let more = json.replace("\"boundaries\"", &format!("{more} \"boundaries\""));
            assert!(DocumentForm::Json.read(&more).is_err(), "{name}");
        }
    }
}

/// The plan of version 1 that is made today of what a plan was made of.
fn in_version_1(contract: &Contract, plan: &Plan) -> Plan {
    let record = plan.request.clone();
    let request = Request {
        role: Some(record.role),
        changed: record.changed,
        changed_from: record.changed_from,
        in_version_1: true,
        risk: record.risk,
        boundaries: record.boundaries,
        min_tier: record.min_tier,
        mode: record.mode,
        skip: record.skip,
        jobs: Some(plan.policy.jobs),
        budget_ms: plan.policy.budget_ms,
        keep_going: !plan.policy.fail_fast,
        no_recover: plan.policy.recover.is_empty(),
        ..Request::default()
    };
    let mut facts = Facts::default();
    plan.facts
        .iter()
        .for_each(|fact| facts.add(fact.question.clone(), fact.answer.clone()));
    match compile(Some(contract), &request, &facts) {
        // Which steps there are is no matter of the version; their order and what each waits for
        // is.
        Ok(Compiled::Plan(ordered)) => {
            let step = |s: &Step| {
                let own = plan.steps.iter().find(|own| own.id == s.id).unwrap();
                let (after, needs, prepared_by) =
                    (s.after.clone(), s.needs.clone(), s.prepared_by.clone());
                Step {
                    after,
                    needs,
                    prepared_by,
                    ..own.clone()
                }
            };
            Plan {
                steps: ordered.steps.iter().map(step).collect(),
                version: ordered.version,
                ..plan.clone()
            }
        }
        other => panic!("{other:?}"),
    }
}

/// The digests of 200 plans of version 1, from the plans that are made of the same requests today.
#[test]
fn todays_plans_in_version_1_have_the_digests_of_then() {
    let golden: Value = serde_json::from_str(&text("digests.json")).unwrap();
    let project = Project::bare();
    project.write(
        "contracts/verify.vplan",
        include_str!("golden/settings.vplan"),
    );
    let site = load::locate(&project.root(), None, &|_| None).unwrap();
    let wanted = ContractRequest {
        contract: None,
        revision: None,
        base: None,
        max_file: 1 << 20,
        text: None,
        folders: vplan::effect::repo::folders::FoldersOf::WorkTree,
    };
    let contract = load::load(&site, &wanted, &mut NothingPinned)
        .unwrap()
        .contract
        .unwrap();
    let mut seen = 0;
    for (request, then) in golden["plans"].as_object().unwrap() {
        // A plan says more today of what a changed makefile defines, and of a command its verb.
        let says_more = request.contains("Makefile") || request.contains("--command");
        if !request.starts_with("--changed") || !request.is_ascii() || says_more {
            continue;
        }
        let args: Vec<&str> = ["plan", "--format", "json"]
            .into_iter()
            .chain(request.split(' '))
            .collect();
        let plan: Plan = serde_json::from_value(project.run(&args).exits(0).json()).unwrap();
        assert!(
            plan.rewrites.is_empty() && plan.request.base.is_none(),
            "{request}"
        );
        let plan = in_version_1(&contract, &plan);
        assert_eq!(
            (
                plan.version,
                plan.steps.iter().all(|s| s.prepared_by.is_empty())
            ),
            (FIRST, true)
        );
        assert_eq!(digest(&plan).to_string(), *then, "{request}");
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn they_run_where_they_fit_and_keep_their_digests() {
    let project = project();
    for name in NAMES {
        for ending in ["json", "kdl"] {
            let plan = file(&format!("{name}.{ending}"));
            let stated = stated(&text(&format!("{name}.kdl"))).to_owned();
            let args = [
                "run",
                "--plan",
                plan.to_str().unwrap(),
                "--expect-digest",
                &stated,
                "--format",
                "json",
            ];
            let report = project.run(&args).exits(0).json();
            assert_eq!(report["planDigest"], stated, "{name}");
            assert!(report["savedPlan"]["drift"].is_null(), "{name}: {report:#}");
        }
    }
    // `work-tree` is what it was: the work tree against HEAD, whatever earlier commits changed, and
    // that is said.
    let tree = file("work-tree.json");
    let report = project
        .run(&["run", "--plan", tree.to_str().unwrap(), "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(report["caveats"][0]["code"], "base_later", "{report:#}");
    project
        .run(&["run", "--plan", tree.to_str().unwrap(), "--require", "full"])
        .exits(44);
    // What differs is named as before, and how it is run is a part of it.
    let base = file("base.json");
    let base = base.to_str().unwrap();
    project.write("src/c", "");
    project
        .run(&["run", "--plan", base])
        .exits(4)
        .warns("request.changed.src/c: (absent) -> \"added\"");
    project.remove("src/c");
    for flags in [&["--jobs", "3"][..], &["--jobs", "auto"], &["--keep-going"]] {
        project
            .run(&[&["run", "--plan", base], flags].concat())
            .exits(2)
            .warns("version 1")
            .warns("make the plan again");
    }
    project
        .run(&["run", "--plan", base, "--jobs", "2"])
        .exits(0);
    project
        .run(&["diff", base, file("work-tree.kdl").to_str().unwrap()])
        .exits(0)
        .says("request.changedFrom");
    // A name means what it means today: version 1 had nothing else.
    project.git(&["branch", "-f", "main", "work"]);
    project
        .run(&["run", "--plan", base])
        .exits(4)
        .warns("request.changed.src/b");
}

#[test]
fn their_reports_are_joined_and_their_records_hold() {
    let project = project();
    let shards = [file("shard-1.report.json"), file("shard-2.report.json")];
    let [one, two] = shards.each_ref().map(|f| f.to_str().unwrap());
    let merged = project
        .run(&["merge", one, two, "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        merged["planDigest"].as_str(),
        Some(stated(&text("base.kdl")))
    );
    project.run(&["merge", one]).exits(44);
    // One half run by an older vplan, the other one by this one.
    let base = file("base.kdl");
    let args = [
        "run",
        "--plan",
        base.to_str().unwrap(),
        "--shard",
        "2/2",
        "--records",
        "../r",
        "--format",
        "json",
    ];
    let ran = project.run(&args).exits(0).json();
    let run = format!("../r/runs/{}", ran["runId"].as_str().unwrap());
    project.run(&["merge", one, &run]).exits(0).says("passed");
    // A plan of today is another one, whatever its steps are.
    project
        .run(&["plan", "--base", "main", "-o", "../p.json"])
        .exits(0);
    let args = [
        "run",
        "--plan",
        "../p.json",
        "--shard",
        "2/2",
        "--records",
        "../s",
        "--format",
        "json",
    ];
    let ran = project.run(&args).exits(0).json();
    let run = format!("../s/runs/{}", ran["runId"].as_str().unwrap());
    project
        .run(&["merge", one, &run])
        .exits(4)
        .warns("version: 1 -> 2");
    let verified = project
        .run(&["verify", file("run").to_str().unwrap(), "--format", "json"])
        .json();
    let plan = verified["aspects"]
        .as_array()
        .unwrap()
        .iter()
        .find(|a| a["aspect"] == "plan");
    assert!(plan.is_some_and(|a| a["holds"] == "yes"), "{verified:#}");
}
