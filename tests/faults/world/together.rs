//! Do sixteen at once in one workspace get in each other's way?

use super::World;
use crate::faults::harness::Guard;
use crate::faults::sweep::Sweep;
use crate::support::process::Bounded as _;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::process::Stdio;
use vplan::run::journal::replay;

/// What the sixteen do, in each round.
const WHO: &[&[&str]] = &[
    &["run", "--subject", "A"],
    &["run", "--subject", "A", "--no-cache"],
    &["run", "--subject", "A"],
    &["run", "--subject", "B"],
    &["run", "--subject", "B"],
    &["run"],
    &["run", "--confirm"],
    &["run", "--only", "quick"],
    &["gate", "record", "--subject", "A", "--status", "done"],
    &["gate", "record", "--subject", "B", "--status", "done"],
    &["gate", "show"],
    &["status"],
    &["runs"],
    &["gc", "--keep", "150"],
    &["gc", "--keep", "100", "--dry-run"],
    &["stats"],
];

#[test]
fn sixteen_at_once() {
    let mut sweep = Sweep::new("faults::world::together::sixteen_at_once", 1, 200);
    let contract = "gate {\n  confirmations 100000\n  retries 100000\n}\ncheck quick: echo quick\n\
                    check kept {\n  run echo kept\n  inputs \"contracts/**\"\n}\n";
    let world = World::new(contract);
    world.project.run(&["run", "--changed-none"]).exits(0);
    // From now on a word counts nothing: runs do.
    for subject in ["A", "B"] {
        world
            .project
            .run(&["run", "--subject", subject, "--changed-none"])
            .exits(20);
    }
    let mut all = BTreeSet::new();
    let (mut counted, mut rounds) = ([1_u64, 1], 2);
    while let Some(case) = sweep.next() {
        let mut children = Vec::new();
        for args in WHO {
            let mut args = args.to_vec();
            if args[0] == "run" {
                args.push("--changed-none");
            } else if args[1..].starts_with(&["record"]) {
                args.extend(["--changed", "none"]);
            }
            args.extend(["--format", "json"]);
            let mut command = world.project.vplan(&args).command();
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            children.push((args, Guard(command.spawn().unwrap())));
        }
        // What was counted in this round for each subject.
        let mut counters = [Vec::new(), Vec::new()];
        for (args, mut child) in children {
            let (mut out, mut err) = (String::new(), String::new());
            child
                .0
                .stdout
                .take()
                .unwrap()
                .read_to_string(&mut out)
                .unwrap();
            child
                .0
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut err)
                .unwrap();
            let exit = child.0.ended().code();
            let answer: Value = serde_json::from_str(&out)
                .unwrap_or_else(|e| panic!("{args:?} gave {exit:?}: {e}: {out}{err}"));
            let subject = args
                .iter()
                .position(|a| *a == "--subject")
                .map(|at| args[at + 1]);
            let wanted = if subject.is_some() { 20 } else { 0 };
            assert_eq!(exit, Some(wanted), "{args:?}: {out}{err}");
            rounds += u64::from(subject.is_some());
            if subject.is_some() && args[0] == "gate" {
                assert_eq!(answer["reason"], "not_verified", "{answer}");
            } else if let Some(subject) = subject {
                counters[usize::from(subject == "B")].push(answer["counter"].as_u64().unwrap());
            }
            if args[0] == "run" {
                let id = answer["runId"].as_str().unwrap().to_owned();
                assert_eq!(answer["verdict"], "passed", "{answer}");
                // None of them is old enough to have been removed.
                let folder = world.project.path(format!(".vplan/runs/{id}"));
                let kept: Value =
                    serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap())
                        .unwrap();
                assert_eq!(kept, answer);
                assert!(replay(&std::fs::read(folder.join("events.jsonl")).unwrap()).is_pass());
                assert!(all.insert(id), "two runs of one name");
                sweep.count("runs", 1);
            } else {
                sweep.count("others beside them", 1);
            }
        }
        for (counters, before) in counters.iter_mut().zip(&mut counted) {
            counters.sort_unstable();
            let wanted: Vec<u64> = (*before + 1..=*before + counters.len() as u64).collect();
            assert_eq!(*counters, wanted, "each counted once, in some order");
            *before += counters.len() as u64;
            sweep.count("rounds of a subject", counters.len() as u64);
        }
        case.held();
    }
    let shown = world
        .project
        .run(&["gate", "show", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(shown["rounds"], rounds);
    world.project.run(&["gc", "--keep", "0"]).exits(0);
    assert_eq!(
        world.runs(),
        Vec::<std::path::PathBuf>::new(),
        "nothing is left that nobody removes"
    );
    let left: Vec<_> = std::fs::read_dir(world.project.path(".vplan/runs"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(sweep.seen("runs") > 0);
}
