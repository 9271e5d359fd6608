//! Renders results as JUnit XML: of a run, and (`test::junit`) of a contract's tests.

use super::finding::plain_file;
use std::fmt::Write as _;
use vplan_base::inert::{inert, without_commands};
use vplan_base::markup;
use vplan_base::word::{framed, is_unsafe_to_show, visible};
use vplan_check::Severity;
use vplan_check::outcome::{Cause, Status};
use vplan_check::results::FailedTest;
use vplan_plan::{Plan, Step};
use vplan_run::record::StepRecord;
use vplan_run::report::Report;

/// Limit of a stream or failure in a report, in bytes.
const TEXT_BYTES: usize = 8 * 1024;

/// A `testsuites` document.
#[derive(Debug, Default)]
pub struct JunitDocument {
    /// The name of the producer.
    pub name: String,
    pub suites: Vec<Suite>,
    /// The duration of all, in milliseconds, if that is known.
    pub time_ms: Option<u64>,
}

/// A list of cases.
#[derive(Debug, Default)]
pub struct Suite {
    pub cases: Vec<JunitCase>,
    pub name: String,
    /// Facts about all of it: name and value.
    pub properties: Vec<(&'static str, String)>,
    /// Its duration in milliseconds, if that is known.
    pub time_ms: Option<u64>,
}

/// One result.
#[derive(Debug, Default)]
pub struct JunitCase {
    /// The class name that groups cases.
    pub class: String,
    pub end: JunitEnd,
    /// The file of its definition.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u64>,
    pub name: String,
    /// Its standard error.
    pub stderr: String,
    /// Its standard output.
    pub stdout: String,
    /// Its duration in milliseconds, if that is known.
    pub time_ms: Option<u64>,
}

/// The end of a case.
#[derive(Debug, Default)]
pub enum JunitEnd {
    /// As it should.
    #[default]
    Passed,
    /// Not at all: why, if that is known.
    Skipped(Option<String>),
    /// It gave a wrong answer.
    Failed(JunitFailure),
    /// It gave none.
    Errored(JunitFailure),
}

/// The failure of a case.
#[derive(Debug, Default)]
pub struct JunitFailure {
    /// All that is known, several lines.
    pub body: String,
    /// A stable word.
    pub kind: String,
    /// One line.
    pub message: String,
}

/// Writes a document: XML 1.0 in UTF-8, whatever the texts hold.
pub fn write(document: &JunitDocument) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all = document.suites.iter().flat_map(|s| &s.cases);
    let name = escape(&document.name);
    // Writing to a string does not fail.
    let (counts_of_all, time) = (counts(all), seconds(document.time_ms));
    let _ = writeln!(out, "<testsuites name=\"{name}\" {counts_of_all}{time}>");
    for suite in &document.suites {
        let name = escape(&suite.name);
        let (counts, time) = (counts(suite.cases.iter()), seconds(suite.time_ms));
        let _ = writeln!(out, "  <testsuite name=\"{name}\" {counts}{time}>");
        if !suite.properties.is_empty() {
            out.push_str("    <properties>\n");
            for (name, value) in &suite.properties {
                let (name, value) = (escape(name), escape(value));
                let _ = writeln!(out, "      <property name=\"{name}\" value=\"{value}\"/>");
            }
            out.push_str("    </properties>\n");
        }
        for case in &suite.cases {
            self::case(case, &mut out);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    // It may go to the log of a pipeline.
    without_commands(&out)
}

fn case(case: &JunitCase, out: &mut String) {
    let (class, name) = (escape(&case.class), escape(&case.name));
    let file = framed(" file=\"", case.file.as_deref().map(escape), "\"");
    let (line, time) = (framed(" line=\"", case.line, "\""), seconds(case.time_ms));
    let _ = write!(
        out,
        "    <testcase classname=\"{class}\" name=\"{name}\"{file}{line}{time}"
    );
    let mut inside = String::new();
    let mut fault = |element: &str, fault: &JunitFailure| {
        let (kind, message) = (escape(&fault.kind), escape(&fault.message));
        let body = lines(&fault.body);
        let _ = writeln!(
            inside,
            "      <{element} type=\"{kind}\" message=\"{message}\">{body}</{element}>"
        );
    };
    match &case.end {
        JunitEnd::Passed => {}
        JunitEnd::Failed(what) => fault("failure", what),
        JunitEnd::Errored(what) => fault("error", what),
        JunitEnd::Skipped(None) => inside.push_str("      <skipped/>\n"),
        JunitEnd::Skipped(Some(why)) => {
            let _ = writeln!(inside, "      <skipped message=\"{}\"/>", escape(why));
        }
    }
    for (element, text) in [("system-out", &case.stdout), ("system-err", &case.stderr)] {
        if !text.trim().is_empty() {
            let _ = writeln!(inside, "      <{element}>{}</{element}>", lines(text));
        }
    }
    if inside.is_empty() {
        out.push_str("/>\n");
    } else {
        let _ = write!(out, ">\n{inside}    </testcase>\n");
    }
}

fn counts<'c>(cases: impl Iterator<Item = &'c JunitCase>) -> String {
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for case in cases {
        tests += 1;
        match case.end {
            JunitEnd::Passed => {}
            JunitEnd::Skipped(_) => skipped += 1,
            JunitEnd::Failed(_) => failures += 1,
            JunitEnd::Errored(_) => errors += 1,
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

fn seconds(ms: Option<u64>) -> String {
    let time = ms.map(|ms| format!("{}.{:03}", ms / 1000, ms % 1000));
    framed(" time=\"", time, "\"")
}

/// The text of an element: its line feeds stay.
fn lines(text: &str) -> String {
    escape(text).replace("&#10;", "\n")
}

/// Text for an attribute or an element. What XML 1.0 cannot hold at all, or a reader would not see,
/// is shown as vplan shows it.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if let Some(entity) = markup::entity(c) {
            out.push_str(entity);
            continue;
        }
        match c {
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            c if is_unsafe_to_show(c) => out.extend(c.escape_unicode()),
            '\u{20}'..='\u{7e}'
            | '\u{a0}'..='\u{d7ff}'
            | '\u{e000}'..='\u{fffd}'
            | '\u{10000}'..='\u{10ffff}' => {
                out.push(c);
            }
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// A run: a suite with a case for each step, and a suite of failed tests for each step whose
/// output names them. The document passes only if the run does: warnings count as skipped, and a
/// run that did not pass has a case that failed or errored.
pub fn run(report: &Report, plan: &Plan) -> String {
    let pairs = || plan.steps.iter().zip(&report.steps);
    let mut cases: Vec<JunitCase> = pairs()
        .map(|(step, record)| of_step(step, record))
        .collect();
    let is_wrong = |c: &JunitCase| matches!(c.end, JunitEnd::Failed(_) | JunitEnd::Errored(_));
    if report.exit_code != 0 && !cases.iter().any(is_wrong) {
        let body = framed("", report.feedback.as_ref().map(super::feedback::text), "");
        let verdict = || report.verdict.name().replace('_', " ");
        let message = report.reason.clone().unwrap_or_else(verdict);
        let fault = JunitFailure {
            body,
            kind: report.verdict.name().to_owned(),
            message,
        };
        cases.push(JunitCase {
            class: "vplan".to_owned(),
            end: JunitEnd::Errored(fault),
            name: "verdict".to_owned(),
            ..JunitCase::default()
        });
    }
    let mut properties = vec![
        ("runId", report.run_id.clone()),
        ("verdict", report.verdict.name().to_owned()),
    ];
    let digest = report.plan_digest.as_ref();
    properties.extend(digest.map(|d| ("planDigest", d.to_string())));
    let mut suites = vec![Suite {
        cases,
        name: "vplan run".to_owned(),
        properties,
        time_ms: Some(report.duration_ms),
    }];
    suites.extend(pairs().filter_map(|(step, record)| of_tests(step, record)));
    write(&JunitDocument {
        name: "vplan run".to_owned(),
        suites,
        time_ms: Some(report.duration_ms),
    })
}

fn of_step(step: &Step, record: &StepRecord) -> JunitCase {
    let status = || record.status.name().replace('_', " ");
    let detail = record.detail.clone().unwrap_or_else(status);
    let kind = record.reason.map_or(record.status.name(), |r| r.name());
    let fault = || {
        let command = [record.command.clone()].into_iter();
        let body: Vec<String> = command.chain(facts(record)).collect();
        JunitFailure {
            body: bounded(&body.join("\n")),
            kind: kind.to_owned(),
            message: detail.clone(),
        }
    };
    let end = match record.status {
        _ if record.status.is_failure() && step.severity == Severity::Warning => {
            JunitEnd::Skipped(Some(format!("failed as a warning: {detail}")))
        }
        Status::Failed | Status::TimedOut => JunitEnd::Failed(fault()),
        Status::Errored => JunitEnd::Errored(fault()),
        Status::Skipped => JunitEnd::Skipped(Some(detail)),
        Status::NotRun => JunitEnd::Skipped(Some(format!("not run: {detail}"))),
        Status::Passed | Status::PassedWithWarnings | Status::Flaky | Status::Cached => {
            JunitEnd::Passed
        }
    };
    let source = step.source.as_ref();
    let file = source.and_then(|s| plain_file(&s.file));
    JunitCase {
        class: source.map_or_else(|| "vplan".to_owned(), |s| s.file.clone()),
        end,
        line: (file.as_ref().and(source)).and_then(|s| u64::try_from(s.line).ok()),
        file,
        name: record.id.clone(),
        stderr: bounded(&record.stderr_tail),
        stdout: match (record.reason, &record.detail) {
            (Some(Cause::Known), known) => {
                let known = known.as_deref().unwrap_or_default();
                bounded(&format!("{known}\n{}", record.stdout_tail))
            }
            _ => bounded(&record.stdout_tail),
        },
        time_ms: (record.tries > 0).then_some(record.duration_ms),
    }
}

/// The findings in the output, a line each.
fn facts(record: &StepRecord) -> impl Iterator<Item = String> {
    let findings = record.diagnostics.iter().map(super::feedback::finding);
    let tests = record.failed_tests.iter().map(super::feedback::failed_test);
    findings.chain(tests).chain(record.problems.clone())
}

/// Lists the failed tests of a step, if their names are known. Names of passed ones are not known.
fn of_tests(step: &Step, record: &StepRecord) -> Option<Suite> {
    if record.failed_tests.is_empty() {
        return None;
    }
    let behind = record.diagnostics.len();
    let case = |(at, test): (usize, &FailedTest)| {
        let is_known = (record.identities.get(behind + at)).is_some_and(|i| i.known);
        let body = test.message.as_deref().unwrap_or_default();
        let mut lines = body.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty()).unwrap_or("failed");
        let message = visible(first);
        let end = if is_known {
            JunitEnd::Skipped(Some(format!("known to fail: {message}")))
        } else if step.severity == Severity::Warning {
            JunitEnd::Skipped(Some(format!("failed as a warning: {message}")))
        } else {
            JunitEnd::Failed(JunitFailure {
                body: bounded(body),
                kind: "failed".to_owned(),
                message,
            })
        };
        JunitCase {
            class: record.id.clone(),
            end,
            file: test.file.clone(),
            line: test.line,
            name: test.name.clone(),
            ..JunitCase::default()
        }
    };
    let counts = record.tests.map(|t| {
        let names = ["passed", "failed", "skipped"].into_iter();
        names.zip([t.passed, t.failed, t.skipped].map(|n| n.to_string()))
    });
    Some(Suite {
        cases: record.failed_tests.iter().enumerate().map(case).collect(),
        name: format!("tests of {}", record.id),
        properties: counts.into_iter().flatten().collect(),
        time_ms: None,
    })
}

/// The end of a text, at most [`TEXT_BYTES`].
fn bounded(text: &str) -> String {
    let text = inert(text.as_bytes());
    let from = text.ceil_char_boundary(text.len().saturating_sub(TEXT_BYTES));
    let mark = if from > 0 { "…\n" } else { "" };
    format!("{mark}{}", text.get(from..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping() {
        for (text, want) in [
            (
                "a <b> & \"c\" 'd'",
                "a &lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;",
            ),
            ("]]>", "]]&gt;"),
            ("a\nb\tc\r", "a&#10;b&#9;c&#13;"),
            ("é日\u{10000}", "é日\u{10000}"),
            ("\u{1b}[2J\u{7f}\u{fffe}", "\\u{1b}[2J\\u{7f}\\u{fffe}"),
            ("a\u{202e}b", "a\\u{202e}b"),
        ] {
            assert_eq!(escape(text), want);
        }
    }

    #[test]
    fn times_and_ends() {
        assert_eq!(
            [seconds(Some(0)), seconds(Some(61_002)), seconds(None)],
            [" time=\"0.000\"", " time=\"61.002\"", ""]
        );
        assert_eq!(
            bounded(&"ö".repeat(TEXT_BYTES)).len(),
            TEXT_BYTES + "…\n".len()
        );
    }
}
