//! Combines the readings of several formats that recognise one output.
//!
//! A command that is not known (`make check`) may run several tools, and several formats may know
//! the same lines: a failure is neither lost nor counted twice. Of formats that share a name, which
//! are those of one tool, the first that recognises the output counts; a document is of one run with
//! the lines around it. But no reading silences the failure of another. Tests of different tools are
//! added up, and so are findings, each once.

use super::reader::Format;
use crate::results::{Finding, Level, Reading};

/// One reading of all, in the order of the formats; its format is theirs, joined by `+`.
pub(super) fn together(
    readings: impl Iterator<Item = (&'static Format, Reading)>,
    added: &dyn Fn(&Format, &Format) -> bool,
) -> Option<Reading> {
    let mut readings: Vec<(&Format, Reading)> = readings.collect();
    if readings.iter().any(|(_, reading)| is_detailed(reading)) {
        readings.retain(|(_, reading)| is_detailed(reading));
    }
    let mut known: Vec<&Format> = Vec::new();
    let mut sum: Option<Reading> = None;
    let mut is_whole = false;
    for (format, mut reading) in readings {
        let Some(sum) = &mut sum else {
            known.push(format);
            is_whole = format.is_document()
                && (reading.tests.is_some() || reading.errors > 0 || reading.warnings > 0);
            sum = Some(reading);
            continue;
        };
        let mut names = known.iter().flat_map(|k| k.names);
        let is_of_the_same = is_whole || names.any(|name| format.names.contains(name));
        let adds_failure = fails(&reading) && !fails(sum);
        if is_of_the_same && !adds_failure {
            continue;
        }
        // It is not known that both tools have run: the one may be what a test of the other printed.
        if let Some(tests) = &mut reading.tests
            && !known.iter().any(|other| added(other, format))
        {
            sum.leave_out(format!(
                "results of {}, because which tools ran is not known",
                format.id
            ));
            if !adds_failure {
                continue;
            }
            (tests.passed, tests.skipped) = (0, 0);
        }
        leave_new(&mut reading, &sum.findings);
        if reading.tests.is_none() && reading.findings.is_empty() && reading.problems.is_empty() {
            continue;
        }
        known.push(format);
        sum.format = format!("{}+{}", sum.format, reading.format);
        sum.add(reading);
    }
    sum
}

/// Adds what the lanes of an output say, each a run of its own: all of them where nothing was read
/// without them, else those that failed.
pub(super) fn with_lanes(
    plain: Option<Reading>,
    lanes: impl Iterator<Item = Reading>,
) -> Option<Reading> {
    let mut sum = plain;
    let takes_all = sum.is_none();
    for lane in lanes {
        match &mut sum {
            None => sum = Some(lane),
            Some(sum) if takes_all || fails(&lane) && !fails(sum) => {
                let known = |format: &str| sum.format.split('+').any(|part| part == format);
                if !known(&lane.format) {
                    sum.format = format!("{}+{}", sum.format, lane.format);
                }
                sum.add(lane);
            }
            Some(_) => {}
        }
    }
    sum
}

/// Whether it says more than that something failed: a line that a test printed names none.
fn is_detailed(reading: &Reading) -> bool {
    let counts = reading.tests.unwrap_or_default();
    counts.failed == 0 || !reading.failed_tests.is_empty() || !reading.problems.is_empty()
}

/// Whether it says that something failed.
pub(super) fn fails(reading: &Reading) -> bool {
    reading.tests.is_some_and(|tests| tests.failed > 0)
        || reading.errors > 0
        || !reading.problems.is_empty()
}

/// Takes out of a reading the findings that are known.
fn leave_new(reading: &mut Reading, known: &[Finding]) {
    let (old, new): (Vec<Finding>, Vec<Finding>) = std::mem::take(&mut reading.findings)
        .into_iter()
        .partition(|found| known.iter().any(|k| same(k, found)));
    if new.is_empty() {
        // Those without their text, too: a summary counts them, and many tools write the same one.
        (reading.errors, reading.warnings) = (0, 0);
    } else {
        let count = |level| {
            u64::try_from(old.iter().filter(|f| f.severity == level).count()).unwrap_or(u64::MAX)
        };
        reading.errors = reading.errors.saturating_sub(count(Level::Error));
        reading.warnings = reading.warnings.saturating_sub(count(Level::Warning));
    }
    reading.findings = new;
}

/// Whether two are of the same lines: formats differ in how much of a line is the message, and how
/// bad it is.
fn same(a: &Finding, b: &Finding) -> bool {
    a.line == b.line
        && (a.file == b.file)
        && (a.message.contains(b.message.as_str()) || b.message.contains(a.message.as_str()))
}

#[cfg(test)]
mod tests {
    use crate::Kind;
    use crate::output::{guessed, read_expected};
    use crate::results::TestCounts;

    #[test]
    fn tests_of_several_tools_are_added_up() {
        let cargo = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let pytest = "..F [100%]\n=== short test summary info ===\nFAILED t.py::test_a - assert 0\n1 failed, 2 passed in 0.01s\n";
        for text in [format!("{cargo}{pytest}"), format!("{pytest}{cargo}")] {
            // Without its command it is not known that a tool has run: its failures count alone.
            for (echo, passed) in [("", 1), ("cargo test\npytest\n", 3)] {
                let reading = read_expected(
                    &guessed(&["make", "check"], Kind::Test),
                    format!("{echo}{text}").as_bytes(),
                    b"",
                )
                .unwrap();
                assert_eq!(reading.format, "cargo-test+pytest");
                assert_eq!(
                    reading.tests,
                    Some(TestCounts {
                        failed: 1,
                        passed,
                        skipped: 0,
                        ..TestCounts::default()
                    }),
                    "{echo}{text}"
                );
            }
            let known = read_expected(
                &guessed(&["cargo", "test"], Kind::Test),
                text.as_bytes(),
                b"",
            )
            .unwrap();
            assert_eq!(
                known.tests,
                Some(TestCounts {
                    failed: 0,
                    passed: 1,
                    skipped: 0,
                    ..TestCounts::default()
                }),
                "{text}"
            );
        }
    }

    #[test]
    fn a_summary_that_a_test_prints_does_not_fail_another_tool() {
        let vitest = " RUN  v4.1.12 /r/vt\n\nstdout | a.test.mjs > a\n1 failed, 2 passed in 0.1s\n\n ✓ a.test.mjs (1 test) 4ms\n\n \
                      Test Files  1 passed (1)\n      Tests  1 passed (1)\n";
        let reading = read_expected(
            &guessed(&["npm", "test"], Kind::Test),
            vitest.as_bytes(),
            b"",
        )
        .unwrap();
        assert_eq!(
            (reading.format.as_str(), reading.tests.unwrap().failed),
            ("vitest", 0)
        );
    }

    #[test]
    fn findings_of_several_tools_are_added_up_each_once() {
        let mypy = "a.py:3: error: Incompatible types  [assignment]\nFound 1 error in 1 file (checked 1 source file)\n";
        let tsc =
            "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\n";
        let eslint = "\n/r/src/a.ts\n  3:5  warning  'x' is never used  no-unused-vars\n\n✖ 1 problem (0 errors, 1 warning)\n\n";
        for (text, errors, warnings) in [
            (mypy.to_owned(), 1, 0),
            (format!("{mypy}{tsc}"), 2, 0),
            (format!("{eslint}{tsc}"), 1, 1),
            (format!("{tsc}{mypy}{eslint}"), 2, 1),
        ] {
            let reading = read_expected(
                &guessed(&["make", "lint"], Kind::Lint),
                text.as_bytes(),
                b"",
            )
            .unwrap();
            assert_eq!(
                (reading.errors, reading.warnings),
                (errors, warnings),
                "{text}{reading:#?}"
            );
        }
    }
}
