//! Properties of reading output.

use crate::frozen::oracle::readings as oracle;
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;
use vplan::arbitrary::config;

/// What real tools wrote, with what tests may print to look like them.
static OUTPUTS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let mut outputs = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs");
    for folder in root
        .read_dir()
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|path| path.is_dir())
    {
        for file in folder.read_dir().unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|e| e == "txt" || e == "err") {
                let bytes = std::fs::read(path).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                outputs.push(
                    text.lines()
                        .filter(|l| l.len() < 4096)
                        .map(str::to_owned)
                        .collect(),
                );
            }
        }
    }
    outputs.retain(|lines: &Vec<String>| !lines.is_empty());
    outputs.sort();
    assert!(outputs.len() > 60, "{} outputs", outputs.len());
    outputs
});

static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut lines = OUTPUTS.concat();
    lines.sort();
    lines.dedup();
    lines
});

/// A line: a real one, a part of one, one with a huge number, one inside of another, or anything.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let real = || any::<prop::sample::Index>().prop_map(|i| i.get(&LINES).clone());
    prop_oneof![
        8 => real().prop_map(String::into_bytes),
        2 => (real(), any::<prop::sample::Index>()).prop_map(|(line, at)| {
            let mut bytes = line.into_bytes();
            bytes.truncate(at.index(bytes.len() + 1));
            bytes
        }),
        1 => (real(), any::<u64>()).prop_map(|(line, n)| line.replace(['1', '2', '3'], &format!("{n}{n}")).into_bytes()),
        1 => (real(), real()).prop_map(|(one, two)| format!("{one}{two}").into_bytes()),
        1 => "[ -~\u{1b}\r]{0,40}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ]
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let lines = prop::collection::vec(
        (
            line(),
            prop_oneof![8 => Just("\n"), 1 => Just("\r\n"), 1 => Just("")],
        ),
        0..24,
    );
    lines.prop_map(|lines| {
        lines
            .into_iter()
            .flat_map(|(line, end)| [line, end.into()].concat())
            .collect()
    })
}

/// Outputs of one tool or two, each torn somewhere.
fn torn() -> impl Strategy<Value = Vec<u8>> {
    let run = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        1_usize..60,
    );
    prop::collection::vec(run, 1..3).prop_map(|runs| {
        let pieces = runs.into_iter().map(|(output, from, many)| {
            let lines = output.get(&OUTPUTS);
            let from = from.index(lines.len());
            lines[from..(from + many).min(lines.len())].join("\n")
        });
        pieces.collect::<Vec<_>>().join("\n").into_bytes()
    })
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn any_output_is_read_the_same_however_it_comes(
        out in prop_oneof![3 => stream(), 1 => torn()], err in prop_oneof![1 => Just(Vec::new()), 1 => stream()], seed in any::<u64>()
    ) {
        oracle::output(&out, &err, seed).map_err(TestCaseError::fail)?;
    }

    /// Whatever runs came before and after, in whatever order.
    #[test]
    fn a_failed_summary_is_not_passed(
        tool in 0..SUMMARIES.len(), results in prop::collection::vec(any::<bool>(), 1..6)
    ) {
        let (format, good, bad) = SUMMARIES[tool];
        let text: String = results.iter().map(|ok| if *ok { good } else { bad }).collect();
        let format = vplan::check::output::ALL.iter().find(|f| f.id == format).unwrap();
        let reading = vplan::check::output::read(&[format], text.as_bytes(), b"").unwrap();
        let failed = reading.tests.unwrap().failed > 0 || !reading.problems.is_empty();
        prop_assert_eq!(failed, results.contains(&false), "{}", text);
    }
}

/// A summary of a run that passed and of one that failed, by the id of their format.
const SUMMARIES: [(&str, &str, &str); 6] = [
    (
        "vitest",
        " Test Files  1 passed (1)\n      Tests  1 passed (1)\n",
        " Test Files  1 failed (1)\n      Tests  1 failed (1)\n",
    ),
    (
        "jest",
        "Test Suites: 1 passed, 1 total\nTests: 1 passed, 1 total\n",
        "Test Suites: 1 failed, 1 total\nTests: 1 failed, 1 total\n",
    ),
    (
        "mocha",
        "  1 passing (1ms)\n\n",
        "  1 passing (1ms)\n  1 failing\n\n",
    ),
    (
        "pytest",
        ".  [100%]\n1 passed in 0.1s\n",
        "F  [100%]\n1 failed in 0.1s\n",
    ),
    (
        "junit",
        "<testsuite tests='1'><testcase/></testsuite>\n",
        "<testsuite tests='1'><testcase status='no-idea'/></testsuite>\n",
    ),
    ("tap", "1..1\nok 1\n", "1..2\nok 1\nok 1\n"),
];
