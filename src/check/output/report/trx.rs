//! Reads TRX reports of Visual Studio.
//!
//! The results are counted, inner results instead of those that contain them; a report with only
//! counters is trusted.

use crate::Kind;
use crate::output::kit::document::{DocumentKind, DocumentReader};
use crate::output::kit::number::exact;
use crate::output::kit::xml::{self, Visit};
use crate::output::reader::{Format, FormatName};
use crate::results::{FailedTest, Reading, TestCounts};

/// A report of tests.
// It is written to a file.
pub const FORMAT: Format =
    Format::document::<DocumentReader<Trx>>("trx", &[FormatName::Trx], &[Kind::Test]);

#[derive(Default)]
struct Trx;

impl DocumentKind for Trx {
    const BEGINS: fn(&str) -> bool = |line| line.starts_with('<');
    const TELLS: fn(&str) -> bool = |text| text.contains("<TestRun");
    const WORD: &'static str = "report";

    fn read(text: &str, reading: &mut Reading) -> Option<()> {
        let mut report = Report {
            reading: std::mem::take(reading),
            ..Report::default()
        };
        if let Err(problem) = xml::walk(text, &mut report) {
            let problem = format!("the report cannot be read: {problem}");
            report.reading.object(problem);
        }
        while let Some(result) = report.results.pop() {
            report.end_result(result);
        }
        report.end_run();
        report.reading.tests = Some(report.total);
        *reading = report.reading;
        Some(())
    }
}

#[derive(Default)]
struct Report {
    reading: Reading,
    /// Of all runs.
    total: TestCounts,
    run: Run,
    results: Vec<TestResult>,
    /// The meaning of the following text: its depth and place.
    text: Option<(usize, Text)>,
    run_error: bool,
}

/// One `TestRun`.
#[derive(Default)]
struct Run {
    begun: bool,
    shown: TestCounts,
    /// The number of results, those with inner ones included.
    results: u64,
    declared: Option<TestCounts>,
    outcome: String,
}

#[derive(Default)]
struct TestResult {
    depth: usize,
    name: String,
    outcome: String,
    message: String,
    stack: String,
    has_inner: bool,
}

#[derive(Clone, Copy)]
enum Text {
    Message,
    Stack,
    RunInfo,
}

impl Visit for Report {
    fn open(&mut self, depth: usize, name: &str, attributes: &xml::Attributes<'_>) {
        match name {
            "TestRun" if depth == 1 => self.run.begun = true,
            "UnitTestResult" | "TestResultAggregation" | "TestResult" | "GenericTestResult" => {
                if let Some(outer) = self.results.last_mut() {
                    outer.has_inner = true;
                }
                self.run.results = self.run.results.saturating_add(1);
                let mut result = TestResult {
                    depth,
                    ..TestResult::default()
                };
                attributes.each(|key, value| match key {
                    "testName" => result.name = value(),
                    "outcome" => result.outcome = value(),
                    _ => {}
                });
                self.results.push(result);
            }
            "ResultSummary" => attributes.each(|key, value| {
                if key == "outcome" {
                    self.run.outcome = value();
                }
            }),
            "Counters" => {
                let (mut total, mut passed, mut failed) = (None, 0_u64, 0_u64);
                let mut wrong = None;
                attributes.each(|key, value| {
                    let mut number = || {
                        let text = value();
                        let number = exact(&text);
                        if number.is_none() {
                            wrong = Some(format!("it counts {key}=\"{text}\""));
                        }
                        number.unwrap_or(0)
                    };
                    match key {
                        "total" => total = Some(number()),
                        "passed" => passed = number(),
                        "failed" | "error" | "timeout" | "aborted" | "passedButRunAborted" => {
                            failed = failed.saturating_add(number());
                        }
                        _ => {}
                    }
                });
                if let Some(wrong) = wrong {
                    self.reading.object(wrong);
                }
                // Skipped tests are counted under several names, or only in the total.
                let ran = passed.saturating_add(failed);
                let skipped = total.unwrap_or(0_u64).saturating_sub(ran);
                self.run.declared = Some(TestCounts {
                    failed,
                    passed,
                    skipped,
                    ..TestCounts::default()
                });
            }
            "Message" if !self.results.is_empty() => self.text = Some((depth, Text::Message)),
            "StackTrace" if !self.results.is_empty() => self.text = Some((depth, Text::Stack)),
            "RunInfo" => {
                attributes.each(|key, value| {
                    if key == "outcome" {
                        self.run_error = matches!(&*value(), "Error" | "Failed" | "Aborted");
                    }
                });
                if self.run_error {
                    self.reading.object("the run had an error");
                }
            }
            "Text" if self.run_error && self.results.is_empty() => {
                self.text = Some((depth, Text::RunInfo))
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match (self.text, self.results.last_mut()) {
            (Some((_, Text::Message)), Some(result)) => xml::append(&mut result.message, text),
            (Some((_, Text::Stack)), Some(result)) => xml::append(&mut result.stack, text),
            (Some((_, Text::RunInfo)), _) => {
                let line = xml::first_lines(text);
                if let Some(problem) = self.reading.problems.last_mut()
                    && let Some(line) = line.lines().next()
                    && problem == "the run had an error"
                {
                    problem.push_str(&format!(": {line}"));
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, depth: usize) {
        self.text.take_if(|(at, _)| *at == depth);
        if let Some(result) = self.results.pop_if(|result| result.depth == depth) {
            self.end_result(result);
        }
        if depth == 1 {
            self.end_run();
        }
    }
}

impl Report {
    fn end_result(&mut self, result: TestResult) {
        if result.has_inner {
            return;
        }
        let shown = &mut self.run.shown;
        match &*result.outcome {
            "Passed" | "Completed" | "Warning" => {
                shown.passed = shown.passed.saturating_add(1);
                return;
            }
            // MSTest calls a test inconclusive that says so itself.
            "NotExecuted" | "Inconclusive" => {
                shown.skipped = shown.skipped.saturating_add(1);
                return;
            }
            // A missing outcome means an error; any other word is not a pass.
            _ => shown.failed = shown.failed.saturating_add(1),
        }
        let place = result.stack.lines().find_map(place);
        let message = xml::first_lines(&result.message);
        self.reading.fail(FailedTest {
            file: place.map(|(file, _)| file.to_owned()),
            line: place.map(|(_, line)| line),
            message: (!message.is_empty()).then_some(message),
            name: result.name,
        });
    }

    fn end_run(&mut self) {
        let Run {
            begun,
            shown,
            results,
            declared,
            outcome,
        } = std::mem::take(&mut self.run);
        if !begun {
            return;
        }
        let any = shown != TestCounts::default();
        let declared = declared.unwrap_or_default();
        let counts = if any { shown } else { declared };
        let failures = declared.failed;
        if any && shown.failed == 0 && failures > 0 {
            let wrong = format!("it counts {failures} failures and shows none");
            self.reading.object(wrong);
        }
        let all = declared.ran().saturating_add(declared.skipped);
        if any && all > results {
            let all = vplan_base::word::count(all, "test");
            self.reading
                .object(format!("it counts {all} and shows {results}"));
        }
        let bad = [
            "Failed",
            "Error",
            "Aborted",
            "Timeout",
            "PassedButRunAborted",
        ];
        if bad.contains(&&*outcome) && counts.failed == 0 {
            let wrong = format!("the run's outcome is `{outcome}`");
            self.reading.object(wrong);
        }
        self.total.add(counts);
    }
}

/// `at Some.Method() in /x/a.cs:line 12`.
fn place(line: &str) -> Option<(&str, u64)> {
    let (_, place) = line.trim().strip_prefix("at ")?.rsplit_once(" in ")?;
    let (file, line) = place.rsplit_once(":line ")?;
    Some((file, line.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::counted;
    use crate::output::read;

    #[test]
    fn reports() {
        let tests = |text: &str| counted(&FORMAT, text);
        let result = |outcome: &str| format!("<UnitTestResult testName='t' outcome='{outcome}'/>");
        let all: String = ["Passed", "Failed", "NotExecuted", "Timeout", "Inconclusive"]
            .map(result)
            .concat();
        let run = |inner: &str| {
            format!(
                "\u{feff}<?xml version=\"1.0\"?>\n<TestRun><Results>{inner}</Results></TestRun>"
            )
        };
        let counters = |attributes: &str| {
            run("").replace(
                "</TestRun>",
                &format!("<ResultSummary outcome='Completed'><Counters {attributes}/></ResultSummary></TestRun>"),
            )
        };
        for (name, text, want) in [
            ("results", run(&all), Some((1, 2, 2, 0))),
            ("counters", counters("total='4' executed='4' passed='4' failed='0'"), Some((4, 0, 0, 0))),
            ("skipped only in the total", counters("total='4' executed='3' passed='2' failed='1' notExecuted='0'"), Some((2, 1, 1, 0))),
            ("huge", counters("total='99999999999999999999999' passed='99999999999999999999999'"), Some((0, 0, 0, 1))),
            ("more than it shows", run(&all).replace("</TestRun>", "<ResultSummary><Counters total='9' passed='1' failed='2'/></ResultSummary></TestRun>"), Some((1, 2, 2, 1))),
            ("unknown outcomes", run(&["Pending", "InProgress", "Kaputt"].map(result).concat()), Some((0, 3, 0, 0))),
            ("two runs", run(&all).repeat(2).replace("\u{feff}", ""), Some((2, 4, 4, 0))),
            (
                "inner results",
                run("<UnitTestResult outcome='Failed'><InnerResults><UnitTestResult outcome='Passed'/><UnitTestResult outcome='Failed'/></InnerResults></UnitTestResult>"),
                Some((1, 1, 0, 0)),
            ),
            ("no outcome", run("<UnitTestResult testName='t'/>"), Some((0, 1, 0, 0))),
            (
                "a failed run of passed tests",
                "<TestRun><Results><UnitTestResult outcome='Passed'/></Results><ResultSummary outcome='Failed'><RunInfos><RunInfo outcome='Error'><Text>host crashed</Text></RunInfo></RunInfos></ResultSummary></TestRun>".to_owned(),
                Some((1, 0, 0, 2)),
            ),
            ("torn", "<TestRun><Results><UnitTestResult outcome='Failed'>".to_owned(), Some((0, 1, 0, 1))),
            ("another document", "<testsuite/>".to_owned(), None),
            ("nothing", String::new(), None),
        ] {
            assert_eq!(tests(&text), want, "{name}");
        }
    }

    #[test]
    fn what_failed() {
        let text = "<TestRun><Results><UnitTestResult testName='N.T.Bad' outcome='Failed'><Output><ErrorInfo><Message>Assert.Equal() Failure\nExpected: 1</Message><StackTrace>   at N.T.Bad() in /x/T.cs:line 12</StackTrace></ErrorInfo></Output></UnitTestResult></Results></TestRun>";
        let reading = read(&[&FORMAT], text.as_bytes(), b"").unwrap();
        let want = FailedTest {
            file: Some("/x/T.cs".into()),
            line: Some(12),
            message: Some("Assert.Equal() Failure\nExpected: 1".into()),
            name: "N.T.Bad".into(),
        };
        assert_eq!(reading.failed_tests, [want]);
    }
}
