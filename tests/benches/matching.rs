//! What does it cost to match many conditions against many files? From the texts of the globs to the answers, beside a bare
//! `globset::GlobSet` that does the same (and no exclusions, no counting by list).
//!
//! `cargo bench --bench matching` measures time. For peak memory, and for whole processes on the same data:
//!
//! ```text
//! cargo bench --bench matching --no-run                      # names the executable
//! /usr/bin/time -v EXECUTABLE --once vplan 10000 100000      # "Maximum resident set size"; the same with 0 checks is the floor
//! /usr/bin/time -v EXECUTABLE --once globset 10000 100000    # minutes, gigabytes
//! EXECUTABLE --write DIR 10000 100000                        # DIR/verify.vplan and DIR/changed.txt
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop, and it writes its own data"
)]

mod monorepo;

use criterion::{BenchmarkId, Criterion};
use globset::{GlobBuilder, GlobSetBuilder};
use std::hint::black_box;
use vplan::base::change::ChangeSet;
use vplan::base::glob::Selection;
use vplan::base::matching::match_all;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["--write", dir, checks, files, ..] => {
            let dir = std::path::Path::new(dir);
            std::fs::write(dir.join("verify.vplan"), monorepo::contract(checks.parse().unwrap())).unwrap();
            std::fs::write(dir.join("changed.txt"), monorepo::changed(files.parse().unwrap())).unwrap();
        }
        ["--once", engine, checks, files, ..] => {
            let lists = monorepo::lists(checks.parse().unwrap());
            let changes = monorepo::changes(files.parse().unwrap());
            let start = std::time::Instant::now();
            let hits = if engine == "globset" { globset(&lists, &changes) } else { ours(&lists, &changes) };
            println!("{hits} hits in {:?}", start.elapsed());
        }
        _ => {
            let mut criterion = Criterion::default().configure_from_args().sample_size(10);
            measure(&mut criterion);
            criterion.final_summary();
        }
    }
}

fn measure(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("matching");
    for (checks, files) in [(10, 20), (1_000, 10_000), (10_000, 100), (10_000, 100_000)] {
        let lists = monorepo::lists(checks);
        let changes = monorepo::changes(files);
        let id = |engine| BenchmarkId::new(engine, format!("{checks}x{files}"));
        group.bench_function(id("vplan"), |b| b.iter(|| ours(black_box(&lists), black_box(&changes))));
        // The largest one takes it more than a minute a round; see `--once`.
        if checks * files <= 10_000_000 {
            group.bench_function(id("globset"), |b| b.iter(|| globset(black_box(&lists), black_box(&changes))));
        }
    }
    group.finish();
}

/// Parses, indexes, matches, evaluates; yields how many files all lists select together.
fn ours(lists: &[Vec<String>], changes: &ChangeSet) -> u64 {
    let selections = monorepo::selections(lists);
    match_all(&selections.iter().collect::<Vec<&Selection>>(), changes).iter().map(|selected| selected.all.count).sum()
}

/// Compiles and matches; yields how many hits all globs have together.
fn globset(lists: &[Vec<String>], changes: &ChangeSet) -> u64 {
    let mut builder = GlobSetBuilder::new();
    for text in lists.iter().flatten() {
        let text = text.trim_start_matches('!');
        builder.add(GlobBuilder::new(text).literal_separator(true).build().unwrap());
    }
    let set = builder.build().unwrap();
    let mut found = Vec::new();
    let mut hits = 0;
    for file in changes.files() {
        set.matches_into(file.path.to_os(), &mut found);
        hits += found.len() as u64;
    }
    hits
}
