//! How long does it take to lay out a contract of 10,000 checks, and to show how it differs?
//!
//! `cargo bench --bench fmt`

#![expect(clippy::panic, reason = "a benchmark may stop")]

use criterion::Criterion;
use std::fmt::Write as _;
use std::hint::black_box;
use vplan::base::source::Source;
use vplan::base::span::SourceId;
use vplan::cli::render::diff::unified;
use vplan::lang::layout::{Formatted, reformat};
use vplan::lang::parse::{ParserCaps, parse};

const CHECKS: usize = 10_000;

/// A contract in which nothing is where it belongs: tabs, comments, settings out of order, spare
/// blank lines.
fn ugly() -> String {
    let mut text = String::from("# a comment\n\n\nvplan 1\n");
    for i in 0..CHECKS {
        let _ = write!(
            text,
            "\n\n# about {i}\nwhenChangedAny \"src/part{i}/**\"   'docs/{i}/*' {{\n\tcheck c{i} {{ # here\n\t\ttags slow\n\t\t# why\n\
             \t\ttimeout 5m\n\t\tenv B={i}\n\t\tenv A=1\n\t\ttest cargo test \\\n\t\t\t-p  part{i} # this one\n\n\t}}\n}}\n"
        );
    }
    text
}

fn main() {
    let caps = ParserCaps {
        file_bytes: usize::MAX,
        ..ParserCaps::default()
    };
    let lay_out = |source: &Source| match reformat(source, SourceId(0), &caps) {
        Ok(Formatted::Text(text)) => text,
        other => panic!("{other:?}"),
    };
    let ugly = Source::new("ugly", &ugly());
    let formatted = Source::new("formatted", &lay_out(&ugly));
    // One block with as many settings: sorting them is the only work that is more than linear.
    let mut block = String::from("vplan 1\ncheck a {\n  run x\n");
    for i in 0..CHECKS {
        let _ = write!(block, "  needs c{i}\n  env A{i}=1\n");
    }
    let block = Source::new("block", &(block + "}\n"));

    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    criterion.bench_function("fmt: parse alone", |b| {
        b.iter(|| black_box(parse(&ugly, SourceId(0), &caps)))
    });
    criterion.bench_function("fmt: 10,000 checks", |b| {
        b.iter(|| black_box(lay_out(&ugly)))
    });
    criterion.bench_function("fmt: 10,000 checks, formatted", |b| {
        b.iter(|| black_box(lay_out(&formatted)))
    });
    criterion.bench_function("fmt: one block of 20,000 settings", |b| {
        b.iter(|| black_box(lay_out(&block)))
    });
    criterion.bench_function("fmt --check: the difference", |b| {
        b.iter(|| {
            black_box(unified(
                "a",
                ugly.text(),
                (formatted.text(), "formatted"),
                false,
            ))
        });
    });
    criterion.final_summary();
}
