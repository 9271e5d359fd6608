//! How long does it take to hold 100,000 observed paths against 1,000 conditions? Once with a check
//! that read all of them, once with a thousand checks that read a hundred each, of which some are
//! blind spots; and the matching alone. And how long does it take to find the steps that meet?
//!
//! `cargo bench --bench audit`

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop, and it has a clock"
)]

mod monorepo;

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::time::{Duration, Instant};
use vplan::base::diagnostic::Diagnostics;
use vplan::base::glob::Selection;
use vplan::base::matching::group_files;
use vplan::base::path::RepoPath;
use vplan::base::source::{Source, Sources};
use vplan::base::word::Word;
use vplan::check::observed::{Observed, Place, Uses};
use vplan::contract::Contract;
use vplan::contract::validate::validate;
use vplan::front::lower;
use vplan::plan::Plan;
use vplan::plan::audit::{AuditSubject, ObservedRun, audit};
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::facts::Facts;
use vplan::plan::parallel::ParallelPairs;
use vplan::plan::parallel::known::KnownEffects;
use vplan::plan::request::{Request, Selector};

fn main() {
    // `cargo test --benches` only wants to know whether it runs.
    let (checks, files, rounds) = if std::env::args().any(|a| a == "--bench") {
        (1_000, 100_000, 11)
    } else {
        (20, 100, 1)
    };
    let changes = monorepo::changes(files);
    let lists = monorepo::selections(&monorepo::lists(checks));
    let lists: Vec<&Selection> = lists.iter().collect();
    let groups = middle(rounds, || group_files(&lists, &changes));
    println!("{files} files in groups by {checks} conditions {groups:>9.2?}");

    let contract = contract(&monorepo::contract(checks));
    let plan = planned(&contract);
    let tracked: Vec<RepoPath> = changes.files().iter().map(|f| f.path.clone()).collect();
    let share = files / checks;
    let mut by_all = BTreeMap::new();
    for (n, own) in tracked.chunks(share.max(1)).enumerate().take(checks) {
        by_all.insert(format!("check-{n}"), read(own));
    }
    let by_one = BTreeMap::from([("check-0".to_owned(), read(&tracked))]);
    for (what, steps) in [("one check", &by_one), ("all checks", &by_all)] {
        let run = ObservedRun {
            tree: "tree",
            plan: &plan,
            steps,
            failed: &BTreeSet::new(),
        };
        let subject = AuditSubject {
            contract: &contract,
            facts: &Facts::default(),
            tracked: &tracked,
            is_ignored: &|_| false,
            would_ignore: &|_, _| false,
            is_absent: &|_| false,
            home: None,
            toolchain: &[],
            runs: &[run],
        };
        let time = middle(rounds, || audit(&subject));
        println!("audit of {files} files read by {what:<10} {time:>9.2?}");
    }
    let mut known = KnownEffects::new(&plan);
    for (n, (step, observed)) in plan.steps.iter().zip(by_all.values()).enumerate() {
        known.add(step, true, with_output(observed, n));
    }
    let time = middle(rounds, || ParallelPairs::decide(&plan, &known));
    println!("which of {checks} steps meet in {files} files {time:>9.2?}");
}

/// Adds a file that another step may write, too, and one that is read by all.
fn with_output(observed: &Observed, number: usize) -> Observed {
    let file = |path: String| Place::Elsewhere(Word::from(&*path));
    let (mut written, mut read) = (Uses::default(), Uses::default());
    (written.written, read.read) = (true, true);
    let mut observed = observed.clone();
    observed.files.extend([
        (file(format!("/tmp/{}", number / 2)), written),
        (file("/usr/lib/libc.so".to_owned()), read),
    ]);
    observed
}

/// Returns the middle of the times of some rounds.
fn middle<T>(rounds: usize, work: impl Fn() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed()
        })
        .collect();
    times.sort();
    *times.get(rounds / 2).unwrap()
}

fn read(paths: &[RepoPath]) -> Observed {
    let mut observed = Observed::default();
    for path in paths {
        let uses = Uses {
            read: true,
            programs: [vplan::base::word::Word::from("tool")].into(),
            ..Uses::default()
        };
        observed.files.insert(Place::Repository(path.clone()), uses);
    }
    observed
}

fn contract(text: &str) -> Contract {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("verify.vplan", text));
    let mut sink = Diagnostics::default();
    let draft = lower(&sources, id, &mut sink);
    validate(&draft, &sources, &mut sink).unwrap()
}

fn planned(contract: &Contract) -> Plan {
    let names = contract.checks.iter();
    let request = Request {
        names: names
            .map(|check| Selector::Name(check.id.clone()))
            .collect(),
        ..Request::default()
    };
    match compile(Some(contract), &request, &Facts::default()).unwrap() {
        Compiled::Plan(plan) => *plan,
        Compiled::Needs(_) => std::process::exit(1),
    }
}
