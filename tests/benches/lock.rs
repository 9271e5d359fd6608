//! What does a lock of 10,000 entries cost? Read, written, changed in place; and read by the parser
//! of the `kdl` crate, which is why we read ourselves. `cargo bench --bench lock`.

#![expect(clippy::unwrap_used, reason = "a benchmark may stop")]

use criterion::Criterion;
use std::hint::black_box;
use vplan::base::canon::Digest;
use vplan::base::origin::GitOrigin;
use vplan::base::span::SourceId;
use vplan::lock::{Lock, PinnedImport, decode, encode, update};

const ENTRIES: u64 = 10_000;

fn lock(keep: impl Fn(u64) -> bool) -> Lock {
    let import = |i: u64| PinnedImport {
        origin: GitOrigin::parse(&format!(
            "git+https://example.org/x{i:05}.git?rev={i:040x}#verify.vplan"
        ))
        .unwrap(),
        digest: Digest::hash(&i.to_le_bytes()),
        bytes: i,
    };
    // Not by `pin`, which keeps its list sorted each time.
    Lock {
        imports: (1..=ENTRIES).filter(|i| keep(*i)).map(import).collect(),
        ..Lock::default()
    }
}

fn main() {
    let whole = lock(|_| true);
    let text = encode(&whole);
    let (read, found) = decode(&text, SourceId::default());
    assert!(found.is_empty() && read == whole);
    // The half goes in one direction, and comes in the other.
    let half = lock(|i| i % 2 == 0);
    let half_text = encode(&half);
    assert_eq!(update(&text, &half), half_text);
    assert_eq!(update(&half_text, &whole), text);

    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    criterion.bench_function("decode", |b| {
        b.iter(|| decode(black_box(&text), SourceId::default()))
    });
    criterion.bench_function("encode", |b| b.iter(|| encode(black_box(&whole))));
    criterion.bench_function("update to half", |b| {
        b.iter(|| update(black_box(&text), &half))
    });
    criterion.bench_function("update to twice", |b| {
        b.iter(|| update(black_box(&half_text), &whole))
    });
    criterion.bench_function("kdl crate parses", |b| {
        b.iter(|| kdl::KdlDocument::parse_v2(black_box(&text)).unwrap())
    });
    criterion.final_summary();
}
