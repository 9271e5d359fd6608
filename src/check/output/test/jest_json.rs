//! Reads the JSON of jest (`--json`) and vitest (`--reporter=json`).

use crate::Kind;
use crate::output::kit::document::{self, DocumentKind, DocumentReader};
use crate::output::kit::location;
use crate::output::kit::message;
use crate::output::kit::outcome::{OutcomeWord, of_word};
use crate::output::kit::xml;
use crate::output::reader::{Format, FormatName};
use crate::results::{FAILED_KEPT, FailedTest, Reading, TestCounts};
use serde::{Deserialize, Deserializer};

/// `{"numFailedTests":…,"testResults":[…]}`.
pub const FORMAT: Format = Format::document::<DocumentReader<JestJson>>(
    "jest-json",
    &[FormatName::Jest, FormatName::Vitest],
    &[Kind::Test],
);

#[derive(Default)]
struct JestJson;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Run {
    num_failed_tests: u64,
    num_passed_tests: u64,
    num_pending_tests: u64,
    num_runtime_error_test_suites: u64,
    num_todo_tests: u64,
    success: Option<bool>,
    #[serde(deserialize_with = "failed_suites")]
    test_results: Suites,
    was_interrupted: bool,
}

/// The suites that failed, and every one in which a case did.
#[derive(Default)]
struct Suites {
    failed: Vec<Suite>,
    /// The number of all.
    all: u64,
    /// The number of their cases.
    cases: u64,
    /// The number of cases that passed when they were tried again.
    flaky: u64,
}

/// The cases that did not pass.
#[derive(Default)]
struct Cases {
    failed: Vec<Case>,
    /// The number of all.
    all: u64,
    /// The number of those that passed when they were tried again.
    flaky: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Suite {
    #[serde(deserialize_with = "failed_cases")]
    assertion_results: Cases,
    message: String,
    name: String,
    status: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Case {
    ancestor_titles: Vec<String>,
    failure_messages: Vec<String>,
    invocations: u64,
    location: Option<Location>,
    status: String,
    title: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Location {
    line: Option<f64>,
}

fn failed_suites<'de, D: Deserializer<'de>>(list: D) -> Result<Suites, D::Error> {
    let mut suites = Suites::default();
    document::each(list, |suite: Suite| {
        suites.all = suites.all.saturating_add(1);
        suites.cases = suites.cases.saturating_add(suite.assertion_results.all);
        suites.flaky = suites.flaky.saturating_add(suite.assertion_results.flaky);
        if suites.failed.len() < FAILED_KEPT
            && (suite.status == "failed" || !suite.assertion_results.failed.is_empty())
        {
            suites.failed.push(suite);
        }
    })?;
    Ok(suites)
}

fn failed_cases<'de, D: Deserializer<'de>>(list: D) -> Result<Cases, D::Error> {
    let mut cases = Cases::default();
    document::each(list, |case: Case| {
        cases.all = cases.all.saturating_add(1);
        let is_flaky = case.invocations > 1 && case.status == "passed";
        cases.flaky = cases.flaky.saturating_add(u64::from(is_flaky));
        if cases.failed.len() < FAILED_KEPT && !case.is_well() {
            cases.failed.push(case);
        }
    })?;
    Ok(cases)
}

impl Case {
    /// Whether it passed, or was not meant to run; a case that does not say passed.
    fn is_well(&self) -> bool {
        const OWN: [&str; 3] = ["focused", "pending", "todo"];
        let word = of_word(&self.status);
        word != Some(OutcomeWord::NotPassed) || OWN.contains(&&*self.status)
    }
}

impl DocumentKind for JestJson {
    // What tests print may precede it.
    const BEGINS: fn(&str) -> bool = |line| line.starts_with("{\"num");
    const LATER: bool = true;
    const TELLS: fn(&str) -> bool = |text| text.contains("TestSuites\"");
    const WORD: &'static str = "output";

    fn read(text: &str, reading: &mut Reading) -> Option<()> {
        let (runs, wrong) = document::values::<Run>(text);
        for run in runs {
            let counts = one(run, reading);
            reading.tests.get_or_insert_default().add(counts);
        }
        if let Some(wrong) = wrong {
            reading.object(format!("the output cannot be read: {wrong}"));
        }
        Some(())
    }
}

fn one(run: Run, reading: &mut Reading) -> TestCounts {
    let before = reading.problems.len();
    let counts = TestCounts {
        failed: run.num_failed_tests,
        flaky: run.test_results.flaky,
        passed: run.num_passed_tests,
        skipped: run.num_pending_tests.saturating_add(run.num_todo_tests),
        unshown: 0,
    };
    let (all, shown) = (
        counts.ran().saturating_add(counts.skipped),
        run.test_results.cases,
    );
    if run.test_results.all > 0 && all > shown {
        let all = vplan_base::word::count(all, "test");
        reading.object(format!("it counts {all} and shows {shown}"));
    }
    let before_cases = reading.failed_tests.len();
    for suite in run.test_results.failed {
        if suite.assertion_results.failed.is_empty() {
            let message = xml::first_lines(&suite.message);
            let why = message
                .lines()
                .find(|line| !line.starts_with('●'))
                .unwrap_or_default();
            reading.not_run(&suite.name, why);
        }
        for case in suite.assertion_results.failed {
            if case.status != "failed" {
                reading.object(format!(
                    "the outcome of {} is `{}`",
                    case.title, case.status
                ));
            }
            let messages = case.failure_messages.join("\n");
            let line = case
                .location
                .and_then(|location| document::natural(location.line))
                .or_else(|| {
                    let frames = messages.lines().filter_map(location::frame);
                    frames
                        .into_iter()
                        .find(|(file, _)| *file == suite.name)
                        .map(|(_, line)| line)
                });
            let message = xml::first_lines(&messages);
            reading.fail(FailedTest {
                file: Some(suite.name.clone()),
                line,
                message: (!message.is_empty()).then_some(message),
                name: message::path(
                    case.ancestor_titles
                        .iter()
                        .chain([&case.title])
                        .map(String::as_str),
                ),
            });
        }
    }
    let unsaid = reading.problems.len() == before;
    if run.was_interrupted {
        reading.object("the run was interrupted");
    } else if unsaid && run.num_runtime_error_test_suites > 0 {
        reading.object(format!(
            "test suites that could not run: {}",
            run.num_runtime_error_test_suites
        ));
    } else if unsaid && run.success == Some(false) && run.num_failed_tests == 0 {
        reading.object("every test passed, but it says `\"success\": false`");
    }
    if counts.failed == 0 && reading.failed_tests.len() > before_cases {
        reading.object("it counts no failure and shows some");
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::counted;

    #[test]
    fn outputs() {
        let tests = |text: &str| counted(&FORMAT, text);
        let with = |passed: u64, cases: &[&str]| {
            let cases: Vec<String> = cases
                .iter()
                .map(|status| format!(r#"{{"status":"{status}","title":"t"}}"#))
                .collect();
            format!(
                r#"{{"numFailedTestSuites":0,"numPassedTests":{passed},"success":true,"testResults":[{{"status":"passed","assertionResults":[{}]}}]}}"#,
                cases.join(",")
            )
        };
        let one = r#"{"numFailedTestSuites":0,"numFailedTests":1,"numPassedTests":2,"numPendingTests":3,"numTodoTests":4,"success":false}"#;
        for (text, want) in [
            (one.to_owned(), Some((2, 1, 7, 0))),
            (format!("noise\n{one}\nmore noise"), Some((2, 1, 7, 0))),
            (format!("{one}\n{one}"), Some((4, 2, 14, 0))),
            (one.replace("Tests\":1", "Tests\":0"), Some((2, 0, 7, 1))),
            (one[..60].to_owned(), Some((0, 0, 0, 1))),
            (one.replace("Tests\":2", "Tests\":-2"), Some((0, 0, 0, 1))),
            (one.replace("Tests\":2", "Tests\":2.5"), Some((0, 0, 0, 1))),
            (with(1, &["passed"]), Some((1, 0, 0, 0))),
            (with(1, &["passed", "pending", "todo"]), Some((1, 0, 0, 0))),
            (with(9, &["passed"]), Some((9, 0, 0, 1))),
            (with(1, &["kaputt"]), Some((1, 0, 0, 2))),
            (with(1, &["passed", "failed"]), Some((1, 0, 0, 1))),
            ("{\"numbers\":[]}".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(tests(&text), want, "{text}");
        }
    }
}
