//! Reads JUnit reports in the dialects of surefire, gradle, pytest, jest, nextest and others.
//!
//! The cases are counted: counters may be missing. A counter speaks against a pass if it is not a
//! number, counts failures but no case shows one, or counts more tests than there are cases. So
//! does a case whose outcome is unknown.

use crate::Kind;
use crate::output::kit::document::{DocumentKind, DocumentReader};
use crate::output::kit::number::{count, exact};
use crate::output::kit::outcome::{OutcomeWord, of_element, of_word};
use crate::output::kit::xml::{self, Visit};
use crate::output::reader::{Format, FormatName};
use crate::results::{FailedTest, Finding, Level, Reading, TestCounts};

/// A report of tests.
pub const FORMAT: Format =
    Format::document::<DocumentReader<Junit<false>>>("junit", &[FormatName::Junit], &[Kind::Test])
        .asked_by(&["junit", "xunit", "junit-xml"]);

/// A report of a linter or compiler in the same form: failures are findings.
pub const FINDINGS: Format = Format::document::<DocumentReader<Junit<true>>>(
    "junit-findings",
    &[FormatName::Junit],
    &[Kind::Compile, Kind::Lint],
)
.asked_by(&["junit", "xunit", "junit-xml"]);

#[derive(Default)]
struct Junit<const IS_FINDINGS: bool>;

impl<const IS_FINDINGS: bool> DocumentKind for Junit<IS_FINDINGS> {
    const BEGINS: fn(&str) -> bool = |line| line.starts_with('<');
    const TELLS: fn(&str) -> bool = |text| text.contains("<testsuite");
    const WORD: &'static str = "report";
    const HAS_TESTS: bool = !IS_FINDINGS;

    fn read(text: &str, reading: &mut Reading) -> Option<()> {
        let mut report = Report {
            reading: std::mem::take(reading),
            findings: IS_FINDINGS,
            ..Report::default()
        };
        if let Err(problem) = xml::walk(text, &mut report) {
            let problem = format!("the report cannot be read: {problem}");
            report.reading.object(problem);
        }
        // A torn report ends within suites and cases: what they said so far counts.
        while report.case.is_some() {
            report.end_case();
            report.case = report.outer.pop();
        }
        report.reading.tests = (!IS_FINDINGS).then_some(report.counts);
        *reading = report.reading;
        Some(())
    }
}

#[derive(Default)]
struct Report {
    reading: Reading,
    findings: bool,
    counts: TestCounts,
    suites: Vec<Suite>,
    case: Option<Case>,
    /// The cases around it, which few tools write.
    outer: Vec<Case>,
    /// The element of a failure that is open: its depth, and what it says.
    open: Option<(usize, FailureElement)>,
}

#[derive(Default)]
struct Suite {
    depth: usize,
    name: String,
    file: Option<String>,
    /// The number of failures and errors in its counters.
    declared: u64,
    /// The number of those shown in it.
    shown: u64,
    /// The number of tests in its counter.
    tests: Option<u64>,
    /// The number of skipped tests in its counters.
    skipped: u64,
    /// The cases in it, and the skipped ones among them.
    cases: u64,
    skipped_cases: u64,
    /// It has fewer cases than it counts tests, which is reported.
    is_short: bool,
}

#[derive(Default)]
struct Case {
    depth: usize,
    name: String,
    class: String,
    file: Option<String>,
    line: Option<u64>,
    failed: Option<FailureElement>,
    skipped: bool,
    todo: bool,
    is_flaky: bool,
    /// A word for its outcome, in an attribute or as an element, that is not a pass.
    odd: Option<String>,
}

#[derive(Default)]
struct FailureElement {
    message: Option<String>,
    text: String,
    kind: String,
}

impl Visit for Report {
    fn open(&mut self, depth: usize, name: &str, attributes: &xml::Attributes<'_>) {
        match name {
            "testsuites" | "testsuite" => {
                let mut suite = Suite {
                    depth,
                    ..Suite::default()
                };
                let mut wrong = None;
                attributes.each(|key, value| {
                    let mut number = || {
                        let text = value();
                        let number = exact(&text);
                        if number.is_none() && !text.trim().is_empty() {
                            wrong = Some(format!("it counts {key}=\"{text}\""));
                        }
                        number
                    };
                    match key {
                        "name" => suite.name = value(),
                        "file" => suite.file = Some(value()),
                        "tests" => suite.tests = number(),
                        "failures" | "errors" => {
                            suite.declared = suite.declared.saturating_add(number().unwrap_or(0));
                        }
                        "skipped" | "disabled" | "ignored" => {
                            suite.skipped = suite.skipped.saturating_add(number().unwrap_or(0));
                        }
                        _ => {}
                    }
                });
                if let Some(wrong) = wrong {
                    let wrong = format!("{}: {wrong}", suite.shown_name());
                    self.reading.object(wrong);
                }
                self.suites.push(suite);
            }
            "testcase" if self.case.is_none() || self.is_direct(depth) => {
                self.outer.extend(self.case.take());
                let mut case = Case {
                    depth,
                    ..Case::default()
                };
                attributes.each(|key, value| match key {
                    "name" => case.name = value(),
                    "classname" | "class" => case.class = value(),
                    "file" => case.file = Some(value()),
                    "line" => case.line = value().trim().parse().ok(),
                    // GoogleTest and CTest say so here.
                    "status" | "result" => {
                        let word = value();
                        case.end(of_word(&word), &word);
                    }
                    _ => {}
                });
                self.case = Some(case);
            }
            "failure" | "error" if self.open.is_none() && self.is_direct(depth) => {
                let mut said = FailureElement::default();
                attributes.each(|key, value| match key {
                    "message" => said.message = Some(value()),
                    "type" => said.kind = value(),
                    _ => {}
                });
                self.open = Some((depth, said));
            }
            "skipped" | "ignored" if self.is_direct(depth) => {
                if let Some(case) = &mut self.case {
                    case.skipped = true;
                    attributes.each(|key, value| case.todo |= key == "type" && value() == "todo");
                }
            }
            // A later try passed; `rerunFailure` accompanies the `failure` of a test that never did.
            "flakyFailure" | "flakyError" => {
                if let Some(case) = &mut self.case {
                    case.is_flaky |= depth == case.depth + 1;
                }
            }
            name if self.is_direct(depth) => {
                if let Some(case) = &mut self.case {
                    case.end(of_element(name), name);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, said)) = &mut self.open {
            xml::append(&mut said.text, text);
        }
    }

    fn close(&mut self, depth: usize) {
        if self.open.as_ref().is_some_and(|(at, _)| *at == depth) {
            self.end_failure();
        }
        if self.case.as_ref().is_some_and(|case| case.depth == depth) {
            self.end_case();
            self.case = self.outer.pop();
        }
        if let Some(suite) = self.suites.pop_if(|suite| suite.depth == depth) {
            let name = suite.shown_name();
            let hides_failures = suite.declared > 0 && suite.shown == 0;
            if hides_failures {
                let declared = suite.declared;
                let wrong = format!("{name}: it counts {declared} failures and shows none");
                self.reading.object(wrong);
            }
            let outer_skipped = self.suites.first().map_or(0, |outer| outer.skipped);
            let is_short = !self.findings && suite.hides_tests(outer_skipped);
            if is_short && !suite.is_short && !hides_failures {
                let counts = vplan_base::word::count(suite.tests.unwrap_or_default(), "test");
                let wrong = format!("{name}: it counts {counts} and shows {}", suite.cases);
                self.reading.object(wrong);
            }
            if let Some(outer) = self.suites.last_mut() {
                outer.is_short |= is_short || suite.is_short;
                outer.cases = outer.cases.saturating_add(suite.cases);
                outer.skipped_cases = outer.skipped_cases.saturating_add(suite.skipped_cases);
                // What an inner suite was found to miss need not be reported again.
                let shown = suite.shown.saturating_add(suite.declared.min(1));
                outer.shown = outer.shown.saturating_add(shown);
            }
        }
    }
}

impl Report {
    /// Whether an element at this depth is directly in the case, or in the suite when there is
    /// no case: what a test printed may be deeper.
    fn is_direct(&self, depth: usize) -> bool {
        match (&self.case, self.suites.last()) {
            (Some(case), _) => depth == case.depth + 1,
            (None, Some(suite)) => depth == suite.depth + 1,
            (None, None) => false,
        }
    }

    fn end_failure(&mut self) {
        let Some((_, said)) = self.open.take() else {
            return;
        };
        if let Some(suite) = self.suites.last_mut() {
            suite.shown = suite.shown.saturating_add(1);
        }
        match &mut self.case {
            // Several failures of one case are one failed case; the first says why.
            Some(case) => {
                case.failed.get_or_insert(said);
            }
            None => {
                let name = self.suites.last().map_or("", |suite| &suite.name);
                self.reading.not_run(name, &said.why().unwrap_or_default());
            }
        }
    }

    fn end_case(&mut self) {
        self.end_failure();
        let Some(mut case) = self.case.take() else {
            return;
        };
        let is_open = case.failed.is_none() && !case.skipped;
        if let Some(word) = case.odd.take().filter(|_| is_open) {
            case.failed = Some(FailureElement {
                message: Some(format!("its outcome is `{word}`")),
                ..FailureElement::default()
            });
        }
        if let Some(suite) = self.suites.last_mut() {
            let is_skipped = case.skipped && (case.failed.is_none() || case.todo);
            suite.cases = suite.cases.saturating_add(1);
            suite.skipped_cases = suite.skipped_cases.saturating_add(u64::from(is_skipped));
        }
        let counts = &mut self.counts;
        if case.is_flaky && case.failed.is_none() && !case.skipped {
            counts.flaky = counts.flaky.saturating_add(1);
        }
        let count = match &case.failed {
            Some(_) if !case.todo => &mut counts.failed,
            _ if case.skipped => &mut counts.skipped,
            _ => &mut counts.passed,
        };
        *count = count.saturating_add(1);
        let Some(said) = case.failed.filter(|_| !case.todo) else {
            return;
        };
        let mut around = self.suites.iter().rev();
        let file = case
            .file
            .or_else(|| around.find_map(|suite| suite.file.clone()));
        if self.findings {
            let suite = self.suites.last().map_or("", |suite| &suite.name);
            let own = || suite.contains(['.', '/']).then(|| suite.to_owned());
            let finding = said.finding(case.name, file.or_else(own), case.line);
            self.reading.find(finding);
        } else {
            let name = full_name(&case.class, &case.name);
            self.reading.fail(FailedTest {
                file,
                line: case.line,
                message: said.why(),
                name,
            });
        }
    }
}

impl Suite {
    fn shown_name(&self) -> &str {
        if self.name.is_empty() {
            "a suite"
        } else {
            &self.name
        }
    }

    /// Whether it counts more tests than it has cases; some tools do not show those that they skip,
    /// and count them here or for all suites.
    fn hides_tests(&self, all_skipped: u64) -> bool {
        let skipped = self.skipped.max(all_skipped);
        let known = self
            .cases
            .saturating_add(skipped.saturating_sub(self.skipped_cases));
        self.tests.is_some_and(|tests| tests > known)
    }
}

impl Case {
    /// Takes a word for its outcome.
    fn end(&mut self, outcome: Option<OutcomeWord>, word: &str) {
        match outcome {
            Some(OutcomeWord::NotPassed) => {
                self.odd.get_or_insert_with(|| word.to_owned());
            }
            Some(OutcomeWord::Skipped) => self.skipped = true,
            Some(OutcomeWord::Passed) | None => {}
        }
    }
}

/// The name of a case with its class, unless the tool has put the one into the other.
fn full_name(class: &str, name: &str) -> String {
    let (class, name) = (class.trim(), name.trim());
    // Node's own tests all have the class `test`.
    if class.is_empty() || class == "test" || name.starts_with(class) {
        return name.to_owned();
    }
    format!("{class} > {name}")
}

impl FailureElement {
    fn why(&self) -> Option<String> {
        let text = xml::first_lines(&self.text);
        let message = xml::first_lines(self.message.as_deref().unwrap_or_default());
        // Some give only the first words as the message.
        let longer = text.starts_with(&message);
        Some(if longer { text } else { message }).filter(|why| !why.is_empty())
    }

    /// As a linter means it. ESLint and its like write `line 1, col 7, Error - …` into the text.
    fn finding(&self, code: String, file: Option<String>, line: Option<u64>) -> Finding {
        let place = self.text.trim().strip_prefix("line ").and_then(count);
        let after = place.map(|(_, rest)| rest).unwrap_or_default();
        let column = after.strip_prefix(", col ").and_then(count);
        let word = column.map(|(_, rest)| rest).unwrap_or_default();
        let warns = word.starts_with(", Warning") || self.kind.eq_ignore_ascii_case("warning");
        Finding {
            code: Some(code).filter(|code| !code.is_empty()),
            column: column.map(|(number, _)| number).filter(|n| *n > 0),
            file,
            line: line.or(place.map(|(number, _)| number)).filter(|n| *n > 0),
            message: self.why().unwrap_or_default(),
            severity: Level::warning_if(warns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::counted;
    use crate::output::read;

    fn tests(text: &str) -> Option<(u64, u64, u64, usize)> {
        counted(&FORMAT, text)
    }

    #[test]
    fn reports() {
        let deep = "<a>".repeat(200_000);
        let wide: String = (0..300_000).map(|i| format!(" a{i}='1'")).collect();
        for (name, text, want) in [
            (
                "no counters",
                "<testsuite name='s'><testcase name='a'/><testcase name='b'><failure/></testcase></testsuite>",
                Some((1, 1, 0, 0)),
            ),
            (
                "wrong counters",
                "<testsuite tests='9' failures='0'><testcase name='a'><error/></testcase></testsuite>",
                Some((0, 1, 0, 1)),
            ),
            (
                "more tests than cases",
                "<testsuites tests='3'><testsuite tests='2'><testcase/></testsuite><testcase/></testsuites>",
                Some((2, 0, 0, 1)),
            ),
            (
                "skipped ones that are not shown",
                "<testsuites tests='3' skipped='1'><testsuite tests='3'><testcase/><testcase/></testsuite></testsuites>",
                Some((2, 0, 0, 0)),
            ),
            (
                "shown ones are not hidden, too",
                "<testsuite tests='3' skipped='1'><testcase/><testcase><skipped/></testcase></testsuite>",
                Some((1, 0, 1, 1)),
            ),
            (
                "impossible counts",
                "<testsuites failures='-1'><testsuite tests='1.0'><testcase/></testsuite><testsuite errors='100000000000000000000'/><testsuite skipped=''/></testsuites>",
                Some((1, 0, 0, 3)),
            ),
            (
                "unknown outcomes",
                "<testsuite><testcase><aborted/></testcase><testcase><pending/></testcase><testcase><incomplete/></testcase>\
                 <testcase status='failed'/><testcase result='kaputt'/><testcase status='run' result='completed'/></testsuite>",
                Some((1, 5, 0, 0)),
            ),
            (
                "words that are not outcomes",
                "<testsuite><testcase status='0'><properties/><attachments/><system-out>x<aborted/></system-out></testcase>\
                 <testcase status='pending'><skipped/></testcase></testsuite>",
                Some((1, 0, 1, 0)),
            ),
            (
                "one name twice",
                "<testsuite tests='2'><testcase name='a'/><testcase name='a'/></testsuite>",
                Some((2, 0, 0, 0)),
            ),
            ("torn", "<testsuites><testsuite\n", Some((0, 0, 0, 1))),
            (
                "torn later",
                "<testsuite><testcase name='a'/><testcase name='b'><failure>x",
                Some((1, 1, 0, 1)),
            ),
            (
                "not closed",
                "<testsuite><testcase name='a'/>",
                Some((1, 0, 0, 1)),
            ),
            (
                "nested",
                "<testsuites><testsuite><testsuite><testcase/></testsuite><testcase/></testsuite></testsuites>",
                Some((2, 0, 0, 0)),
            ),
            (
                "two",
                "<?xml version='1.0'?><testsuite><testcase/></testsuite><?xml version='1.0'?>\n<testsuite><testcase/></testsuite>",
                Some((2, 0, 0, 0)),
            ),
            (
                "one of two torn",
                "<testsuite><testcase/><?xml version='1.0'?>\n<testsuite><testcase/></testsuite>",
                Some((1, 0, 0, 1)),
            ),
            (
                "skipped",
                "<testsuite><testcase><skipped/></testcase><testcase status='notrun'/></testsuite>",
                Some((0, 0, 2, 0)),
            ),
            (
                "todo",
                "<testsuite><testcase><skipped type='todo'/><failure/></testcase></testsuite>",
                Some((0, 0, 1, 0)),
            ),
            (
                "both",
                "<testsuite><testcase><skipped/><failure/></testcase></testsuite>",
                Some((0, 1, 0, 0)),
            ),
            (
                "flaky",
                "<testsuite><testcase><flakyFailure message='x'/></testcase></testsuite>",
                Some((1, 0, 0, 0)),
            ),
            (
                "reruns",
                "<testsuite><testcase><failure/><rerunFailure/></testcase></testsuite>",
                Some((0, 1, 0, 0)),
            ),
            (
                "a rerun that failed alone",
                "<testsuite><testcase><rerunFailure/></testcase></testsuite>",
                Some((0, 1, 0, 0)),
            ),
            (
                "a case in a case",
                "<testsuite><testcase><testcase><failure/></testcase><error/></testcase><testcase/></testsuite>",
                Some((1, 2, 0, 0)),
            ),
            (
                "two failures of one",
                "<testsuite failures='2'><testcase><failure/><error/></testcase></testsuite>",
                Some((0, 1, 0, 0)),
            ),
            (
                "printed",
                "<testsuite><testcase><system-out><failure/></system-out></testcase></testsuite>",
                Some((1, 0, 0, 0)),
            ),
            (
                "a suite that could not run",
                "<testsuite name='s' errors='1'><error message='no'/></testsuite>",
                Some((0, 0, 0, 1)),
            ),
            (
                "only counters",
                "<testsuites errors='1'><testsuite tests='2' errors='1'/></testsuites>",
                Some((0, 0, 0, 1)),
            ),
            (
                "entities",
                "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><testsuite name='&b;'><testcase name='&b;'>&b;<failure>&b;&#60;</failure></testcase></testsuite>",
                Some((1, 0, 0, 1)),
            ),
            (
                "a dangling &",
                "<testsuite><testcase name='a&b'/></testsuite>",
                Some((1, 0, 0, 0)),
            ),
            ("deep", &format!("<testsuite>{deep}"), Some((0, 0, 0, 1))),
            (
                "wide",
                &format!("<testsuite><testcase name='a'{wide}/></testsuite>"),
                Some((1, 0, 0, 0)),
            ),
            ("another document", "<html><body/></html>", None),
            ("text", "ok\n<testsuite><testcase/></testsuite>", None),
            ("nothing", "", None),
        ] {
            assert_eq!(tests(text), want, "{name}");
        }
    }

    #[test]
    fn what_failed() {
        let text = "<testsuite name='s' file='t.py'><testcase classname='c.d' name='a' line='3'><failure message=''>one\n\ntwo</failure></testcase>\
            <testcase classname='c' name='c b'><error message='E&amp;&lt;'><![CDATA[x]]></error></testcase></testsuite>";
        let reading = read(&[&FORMAT], text.as_bytes(), b"").unwrap();
        let failed: Vec<_> = reading
            .failed_tests
            .iter()
            .map(|t| {
                (
                    t.name.as_str(),
                    t.message.as_deref(),
                    t.file.as_deref(),
                    t.line,
                )
            })
            .collect();
        assert_eq!(
            failed,
            [
                ("c.d > a", Some("one\ntwo"), Some("t.py"), Some(3)),
                ("c b", Some("E&<"), Some("t.py"), None)
            ]
        );
    }

    #[test]
    fn what_was_tried_again_is_flaky() {
        let text = "<testsuite><testcase><flakyFailure/></testcase><testcase><failure/><rerunFailure/></testcase><testcase/></testsuite>";
        let tests = read(&[&FORMAT], text.as_bytes(), b"")
            .unwrap()
            .tests
            .unwrap();
        assert_eq!((tests.passed, tests.failed, tests.flaky), (2, 1, 1));
    }

    #[test]
    fn findings() {
        let text = "<testsuite name='/x/a.js'><testcase name='semi'><failure message='No.'><![CDATA[line 2, col 7, Warning - No. (semi)]]></failure></testcase>\
            <testcase name='b' file='b.py' line='4'><failure>bad</failure></testcase></testsuite>";
        let reading = read(&[&FINDINGS], text.as_bytes(), b"").unwrap();
        assert_eq!(
            (reading.errors, reading.warnings, reading.tests),
            (1, 1, None)
        );
        let places: Vec<_> = reading
            .findings
            .iter()
            .map(|f| (f.file.as_deref(), f.line, f.column))
            .collect();
        assert_eq!(
            places,
            [
                (Some("/x/a.js"), Some(2), Some(7)),
                (Some("b.py"), Some(4), None)
            ]
        );
    }
}
