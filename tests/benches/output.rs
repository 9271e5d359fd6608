//! How fast is output read? 100 MiB of what test runners and compilers write, in pieces of 64 KiB
//! as a runner reads them: by the one format that it is, by all formats of its kind (`format auto`
//! with a command that nobody knows), and by formats that it does not concern. `cargo bench --bench
//! output`; `cargo bench --bench output -- --once` prints one round of each in MB/s.
//!
//! The aim: 500 MB/s for lines that do not concern the format, 100 MB/s by all.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::panic
)]

use criterion::{BenchmarkId, Criterion, Throughput};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;
use vplan::base::vocabulary::FormatName;
use vplan::check::Kind;
use vplan::check::output::reader::{Expected, Stream};
use vplan::check::output::{self, ALL, Scan};
use vplan::check::results::Reading;

const SIZE: usize = 100 << 20;
const PIECE: usize = 64 << 10;

/// An output, and what reads it.
struct Case {
    name: &'static str,
    text: String,
    formats: Vec<(&'static str, Expected)>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let once = arguments.iter().any(|a| a == "--once");
    // `cargo test --benches` only wants to know whether it runs.
    let size = if once || arguments.iter().any(|a| a == "--bench") {
        SIZE
    } else {
        1 << 20
    };
    if once {
        for case in cases(size) {
            for (by, formats) in &case.formats {
                let mut best = f64::MAX;
                for _ in 0..3 {
                    let start = Instant::now();
                    black_box(scan(formats, &case.text));
                    best = best.min(start.elapsed().as_secs_f64());
                }
                let speed = case.text.len() as f64 / best / 1e6;
                println!("{:14} {by:20} {speed:7.0} MB/s", case.name);
            }
        }
        return;
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    for case in cases(size) {
        let mut group = criterion.benchmark_group(case.name);
        group.throughput(Throughput::Bytes(case.text.len() as u64));
        for (by, formats) in &case.formats {
            group.bench_function(BenchmarkId::from_parameter(by), |b| {
                b.iter(|| scan(formats, &case.text))
            });
        }
        group.finish();
    }
    criterion.final_summary();
}

fn scan(formats: &Expected, text: &str) -> Option<Reading> {
    let mut scan = Scan::expecting(formats);
    text.as_bytes()
        .chunks(PIECE)
        .for_each(|piece| scan.push(Stream::Out, piece));
    scan.finish()
}

fn cases(size: usize) -> Vec<Case> {
    let mut cases = vec![
        case("cargo test", Kind::Test, "cargo", filled(size, cargo)),
        case("pytest", Kind::Test, "pytest", filled(size, pytest)),
        case("go test -v", Kind::Test, "go", filled(size, go)),
        case("go test -json", Kind::Test, "go", filled(size, go_json)),
        case("TAP", Kind::Test, "tap", filled(size, tap)),
        case("a log", Kind::Test, "go", filled(size, log)),
        case("rustc", Kind::Compile, "rustc", filled(size, rustc)),
        case("gcc", Kind::Compile, "gcc", filled(size, gcc)),
        case("a build log", Kind::Compile, "gcc", filled(size, log)),
    ];
    // What each format costs where it is not concerned.
    let log = filled(size / 10, log);
    for kind in [Kind::Test, Kind::Compile, Kind::Lint] {
        let alone = ALL
            .iter()
            .filter(|f| f.kinds.contains(&kind))
            .map(|f| (f.id, Expected::sure(vec![f])))
            .collect();
        let name = match kind {
            Kind::Test => "log, each test",
            Kind::Compile => "log, compile",
            _ => "log, each lint",
        };
        cases.push(Case {
            name,
            text: log.clone(),
            formats: alone,
        });
    }
    cases
}

fn case(name: &'static str, kind: Kind, format: &'static str, text: String) -> Case {
    let mut formats = Vec::new();
    let known = output::resolve_name(FormatName::parse(format).unwrap(), kind);
    if !known.is_empty() {
        formats.push(("known", Expected::sure(known)));
    }
    formats.push(("auto", output::guessed(&["make"], kind)));
    Case {
        name,
        text,
        formats,
    }
}

/// So much of what a writer writes, given the number of each part.
fn filled(size: usize, write: fn(usize, &mut String)) -> String {
    let mut text = String::with_capacity(size + 4096);
    let mut n = 0;
    while text.len() < size {
        write(n, &mut text);
        n += 1;
    }
    text
}

fn cargo(n: usize, out: &mut String) {
    if n % 1000 == 999 {
        let _ = writeln!(
            out,
            "\ntest result: ok. 999 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s\n"
        );
        let _ = writeln!(
            out,
            "     Running unittests src/lib.rs (target/debug/deps/room{n}-0123456789abcdef)\n\nrunning 999 tests"
        );
    } else {
        let _ = writeln!(
            out,
            "test room{}::tests::what_is_met_again_is_not_new_{n} ... ok",
            n / 1000
        );
    }
}

fn pytest(n: usize, out: &mut String) {
    let _ = writeln!(
        out,
        "tests/test_room{}.py::test_what_is_met_again_is_not_new[{n}] PASSED              [ {:2}%]",
        n / 100,
        n % 100
    );
}

fn go(n: usize, out: &mut String) {
    if n % 1000 == 999 {
        let _ = writeln!(out, "PASS\nok  \texample.com/room/p{n}\t0.312s");
    } else {
        let _ = writeln!(
            out,
            "=== RUN   TestRoom{n}\n    room_test.go:31: looked at {n} of them\n--- PASS: TestRoom{n} (0.00s)"
        );
    }
}

fn go_json(n: usize, out: &mut String) {
    let head = |out: &mut String, action: &str| {
        let _ = write!(
            out,
            "{{\"Time\":\"2026-01-02T03:04:05.123456789Z\",\"Action\":\"{action}\",\"Package\":\"example.com/room/p\""
        );
    };
    head(out, "run");
    let _ = writeln!(out, ",\"Test\":\"TestRoom{n}\"}}");
    head(out, "output");
    let _ = writeln!(
        out,
        ",\"Test\":\"TestRoom{n}\",\"Output\":\"    room_test.go:31: looked at {n} of them\\n\"}}"
    );
    head(out, "pass");
    let _ = writeln!(out, ",\"Test\":\"TestRoom{n}\",\"Elapsed\":0}}");
}

fn tap(n: usize, out: &mut String) {
    if n == 0 {
        out.push_str("TAP version 14\n");
    }
    let _ = writeln!(
        out,
        "ok {} - what is met again is not new\n  ---\n  duration_ms: 0.123\n  ...",
        n + 1
    );
}

fn log(n: usize, out: &mut String) {
    let _ = writeln!(
        out,
        "2026-01-02T03:04:05.{:06}Z INFO  server::accept request id={n} path=/rooms/{} took {}us",
        n % 1_000_000,
        n % 97,
        n % 1013
    );
}

fn rustc(n: usize, out: &mut String) {
    let _ = writeln!(
        out,
        "warning: unused variable: `x{n}`\n  --> src/room/file{}.rs:{}:9\n   |\n{:<3}|     let x{n} = 5;\n   |         ^^ help: if this is intentional, prefix it with an underscore: `_x{n}`\n   |\n   = note: `#[warn(unused_variables)]` on by default\n",
        n / 50,
        n % 997 + 1,
        n % 997 + 1
    );
}

fn gcc(n: usize, out: &mut String) {
    let _ = writeln!(
        out,
        "src/room{}.c: In function 'main':\nsrc/room{}.c:{}:7: warning: unused variable 'x{n}' [-Wunused-variable]\n  {:3} |   int x{n} = 5;\n      |       ^~~~",
        n / 50,
        n / 50,
        n % 997 + 1,
        n % 997 + 1
    );
}
