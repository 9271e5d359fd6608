//! Reads the JSON of jest (`--json`) and vitest (`--reporter=json`).

use crate::base::vocabulary::FormatName;
use crate::check::Kind;
use crate::check::output::kit::document::{self, CollectedDocument, Content, Signs};
use crate::check::output::kit::message;
use crate::check::output::kit::place;
use crate::check::output::kit::xml;
use crate::check::output::reader::{Claim, Extent, Format, Reader, Stream};
use crate::check::reading::{FAILED_KEPT, FailedTest, Reading, TestCounts};
use crate::check::tool::Tool;
use serde::{Deserialize, Deserializer};

/// `{"numFailedTests":…,"testResults":[…]}`.
pub const FORMAT: Format = Format {
    id: "jest-json",
    is_document: true,
    extent: Extent::Unknown,
    names: &[FormatName::Jest, FormatName::Vitest],
    kinds: &[Kind::Test],
    written_by: |run| run.is(Tool::Jest) || run.is(Tool::Vitest),
    reader: || {
        Box::new(JestJson {
            document: CollectedDocument::new(SIGNS),
        })
    },
};

// What tests print may precede it.
const SIGNS: Signs = Signs {
    begins: |line| line.starts_with("{\"num"),
    later: true,
    tells: |text| text.contains("TestSuites\""),
};

struct JestJson {
    document: CollectedDocument,
}

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
    test_results: Vec<Suite>,
    was_interrupted: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Suite {
    #[serde(deserialize_with = "failed_cases")]
    assertion_results: Vec<Case>,
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
    location: Option<Location>,
    status: String,
    title: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Location {
    line: Option<f64>,
}

/// The suites that failed, and every one in which a case did.
fn failed_suites<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<Suite>, D::Error> {
    let mut kept = Vec::new();
    document::each(list, |suite: Suite| {
        if kept.len() < FAILED_KEPT
            && (suite.status == "failed" || !suite.assertion_results.is_empty())
        {
            kept.push(suite);
        }
    })?;
    Ok(kept)
}

fn failed_cases<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<Case>, D::Error> {
    let mut kept = Vec::new();
    document::each(list, |case: Case| {
        if kept.len() < FAILED_KEPT && case.status == "failed" {
            kept.push(case);
        }
    })?;
    Ok(kept)
}

impl Reader for JestJson {
    fn line(&mut self, stream: Stream, line: &str) {
        self.document.line(stream, line);
    }

    fn claim(&self) -> Claim {
        self.document.claim()
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        let mut reading = Reading::of(FORMAT.id);
        let mut counts = TestCounts::default();
        match self.document.finish()? {
            Content::TooLarge => reading.object("the output is too large to read"),
            Content::Text(text) => {
                let (runs, wrong) = document::values::<Run>(&text);
                for run in runs {
                    counts.add(one(run, &mut reading));
                }
                if let Some(wrong) = wrong {
                    reading.object(format!("the output cannot be read: {wrong}"));
                }
            }
        }
        reading.tests = Some(counts);
        Some(reading)
    }
}

fn one(run: Run, reading: &mut Reading) -> TestCounts {
    let before = reading.problems.len();
    for suite in run.test_results {
        if suite.assertion_results.is_empty() {
            let message = xml::first_lines(&suite.message);
            let why = message
                .lines()
                .find(|line| !line.starts_with('●'))
                .unwrap_or_default();
            reading.object(format!("{} could not run: {why}", suite.name));
        }
        for case in suite.assertion_results {
            let messages = case.failure_messages.join("\n");
            let line = case
                .location
                .and_then(|location| document::natural(location.line))
                .or_else(|| {
                    let frames = messages.lines().filter_map(place::frame);
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
    TestCounts {
        failed: run.num_failed_tests,
        passed: run.num_passed_tests,
        skipped: run.num_pending_tests.saturating_add(run.num_todo_tests),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::output::counted;

    #[test]
    fn outputs() {
        let tests = |text: &str| counted(&FORMAT, text);
        let one = r#"{"numFailedTestSuites":0,"numFailedTests":1,"numPassedTests":2,"numPendingTests":3,"numTodoTests":4,"success":false}"#;
        for (text, want) in [
            (one.to_owned(), Some((2, 1, 7, 0))),
            (format!("noise\n{one}\nmore noise"), Some((2, 1, 7, 0))),
            (format!("{one}\n{one}"), Some((4, 2, 14, 0))),
            (one.replace("Tests\":1", "Tests\":0"), Some((2, 0, 7, 1))),
            (one[..60].to_owned(), Some((0, 0, 0, 1))),
            ("{\"numbers\":[]}".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(tests(&text), want, "{text}");
        }
    }
}
