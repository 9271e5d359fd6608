//! What does it cost to match many conditions against many files? From the texts of the globs to
//! the answers, beside a bare `globset::GlobSet` that does the same (and no exclusions, no counting
//! by list).
//!
//! `cargo bench --bench matching` measures whole processes first: `vplan plan --format json`
//! (contract parsed, files read, matched, reasons, order, digest, output) beside this program doing
//! nothing but the matching with globset; then both engines alone, within one process. Single runs,
//! and the same data for other programs:
//!
//! ```text
//! cargo bench --bench matching --no-run                      # names the executable
//! EXECUTABLE --once vplan 10000 100000                       # the matching alone
//! EXECUTABLE --once globset 10000 100000                     # minutes, gigabytes
//! EXECUTABLE --write DIR 10000 100000                        # DIR/verify.vplan, DIR/globs.txt, DIR/changed.txt
//! EXECUTABLE --floor DIR                                     # bare globset on DIR/globs.txt and DIR/changed.txt
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop, and it writes its own data"
)]

mod monorepo;
mod paired;

use criterion::{BenchmarkId, Criterion};
use globset::{GlobBuilder, GlobSetBuilder};
use std::hint::black_box;
use std::process::Command;
use vplan::base::change::ChangeSet;
use vplan::base::glob::Selection;
use vplan::base::matching::match_all;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["--write", dir, checks, files, ..] => {
            let dir = std::path::Path::new(dir);
            std::fs::write(
                dir.join("verify.vplan"),
                monorepo::contract(checks.parse().unwrap()),
            )
            .unwrap();
            std::fs::write(
                dir.join("changed.txt"),
                monorepo::changed(files.parse().unwrap()),
            )
            .unwrap();
            std::fs::write(
                dir.join("globs.txt"),
                monorepo::lists(checks.parse().unwrap()).concat().join("\n"),
            )
            .unwrap();
        }
        ["--floor", dir] => {
            let read =
                |name: &str| std::fs::read_to_string(std::path::Path::new(dir).join(name)).unwrap();
            let (globs, changed) = (read("globs.txt"), read("changed.txt"));
            println!("{} hits", bare(globs.lines(), changed.lines()));
        }
        ["--once", engine, checks, files, ..] => {
            let lists = monorepo::lists(checks.parse().unwrap());
            let changes = monorepo::changes(files.parse().unwrap());
            let start = std::time::Instant::now();
            let hits = if engine == "globset" {
                globset(&lists, &changes)
            } else {
                ours(&lists, &changes)
            };
            println!("{hits} hits in {:?}", start.elapsed());
        }
        _ => {
            // `cargo test --benches` only wants to know whether it runs.
            if arguments.contains(&"--bench") {
                whole();
            }
            let mut criterion = Criterion::default().configure_from_args().sample_size(10);
            measure(&mut criterion);
            criterion.final_summary();
        }
    }
}

/// Whole processes. The aim: 10,000 checks and 100,000 files in a quarter of the time of bare
/// globset, with at most 96 MiB. That floor is not run here: with these globs it takes minutes and
/// more memory than most machines have. The smaller floors only show where the ground is; a plan
/// says much more than which globs match.
fn whole() {
    let own = std::env::current_exe().unwrap();
    let root = tempfile::tempdir().unwrap();
    for (checks, files, rounds) in [
        (1_000, 10_000, 11),
        (1_000, 100_000, 5),
        (10_000, 10_000, 5),
        (10_000, 100_000, 5),
    ] {
        let dir = root.path().join(format!("{checks}x{files}"));
        std::fs::create_dir_all(dir.join("contracts")).unwrap();
        std::fs::write(
            dir.join("contracts/verify.vplan"),
            monorepo::contract(checks),
        )
        .unwrap();
        std::fs::write(dir.join("changed.txt"), monorepo::changed(files)).unwrap();
        std::fs::write(
            dir.join("globs.txt"),
            monorepo::lists(checks).concat().join("\n"),
        )
        .unwrap();
        let ours = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_vplan"));
            command.args([
                "plan",
                "--format",
                "json",
                "--max-file",
                "16MiB",
                "--changed-from",
                "changed.txt",
            ]);
            command.current_dir(&dir);
            command
        };
        let floor = || {
            let mut command = Command::new(&own);
            command.arg("--floor").arg(&dir);
            command
        };
        let what = format!("plan, {checks} checks, {files} files");
        if checks <= 1_000 {
            let paired::Compared {
                ours, floor, ratio, ..
            } = paired::compare(rounds, ours, floor);
            println!("{what:<38} {ours:>9.2?}   bare globset {floor:>9.2?}   ratio {ratio:.2}");
        } else {
            let mut times: Vec<_> = (0..rounds).map(|_| paired::time(&mut ours())).collect();
            times.sort();
            println!("{what:<38} {:>9.2?}", times[rounds / 2]);
        }
        let peak = paired::peak(&mut ours());
        let met = if peak <= 96.0 { "met" } else { "MISSED" };
        println!(
            "{:38} {peak:>5.1} MiB at its peak, target 96 MiB: {met}",
            ""
        );
    }
}

fn measure(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("matching");
    for (checks, files) in [(10, 20), (1_000, 10_000), (10_000, 100), (10_000, 100_000)] {
        let lists = monorepo::lists(checks);
        let changes = monorepo::changes(files);
        let id = |engine| BenchmarkId::new(engine, format!("{checks}x{files}"));
        group.bench_function(id("vplan"), |b| {
            b.iter(|| ours(black_box(&lists), black_box(&changes)))
        });
        // The largest one takes it more than a minute a round; see `--once`.
        if checks * files <= 10_000_000 {
            group.bench_function(id("globset"), |b| {
                b.iter(|| globset(black_box(&lists), black_box(&changes)))
            });
        }
    }
    group.finish();
}

/// Parses, indexes, matches, evaluates; yields how many files all lists select together.
fn ours(lists: &[Vec<String>], changes: &ChangeSet) -> u64 {
    let selections = monorepo::selections(lists);
    match_all(&selections.iter().collect::<Vec<&Selection>>(), changes)
        .iter()
        .map(|selected| selected.all.count)
        .sum()
}

/// Compiles and matches; yields how many hits all globs have together.
fn globset(lists: &[Vec<String>], changes: &ChangeSet) -> u64 {
    let paths: Vec<std::path::PathBuf> = changes
        .files()
        .iter()
        .map(|file| file.path.to_os())
        .collect();
    bare(lists.iter().flatten().map(String::as_str), paths.iter())
}

fn bare<'a, P: AsRef<std::path::Path>>(
    globs: impl Iterator<Item = &'a str>,
    paths: impl Iterator<Item = P>,
) -> u64 {
    let mut builder = GlobSetBuilder::new();
    for text in globs {
        let text = text.trim_start_matches('!');
        builder.add(
            GlobBuilder::new(text)
                .literal_separator(true)
                .build()
                .unwrap(),
        );
    }
    let set = builder.build().unwrap();
    let mut found = Vec::new();
    let mut hits = 0;
    for path in paths {
        set.matches_into(path, &mut found);
        hits += found.len() as u64;
    }
    hits
}
