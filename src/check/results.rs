//! The reading of a step's output: how many tests, which findings.
//!
//! Made by `format` from output or from a report file; judged in `decide`. Bounded, whatever the
//! output: counts are complete, lists hold the first of them.

use super::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::{Digest, is_default};

/// Maximum number of findings of each severity that are kept with their text: as many as a baseline
/// of a long-ignored tool has.
pub const FINDINGS_KEPT: usize = 3_000;
/// Maximum number of failed tests that are kept with their message.
pub const FAILED_KEPT: usize = 500;
/// Maximum number of problems that are kept.
pub const PROBLEMS_KEPT: usize = 20;
/// Limit of bytes that are kept of a message, a name or a path.
pub const TEXT_KEPT: usize = 2048;

/// The meaning of a recognised output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Reading {
    /// The number of errors, each counted once however often it is printed.
    pub errors: u64,
    /// The first failed tests, in the order of the output.
    pub failed_tests: Vec<FailedTest>,
    /// The first findings of each severity, in the order of the output.
    pub findings: Vec<Finding>,
    /// The id of the format that recognised it.
    pub format: String,
    /// The signs of failure in the output besides its counts: a plan that is not kept, a suite that
    /// could not run, a bail-out, a summary that says "failed", a report that is torn. One line
    /// each, for people.
    pub problems: Vec<String>,
    /// The number of tests; only where tests are what the format counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// The parts of the output that were not read and may report a failure; one line each, for
    /// people. With any, the rest shows less than that all is well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// The number of warnings.
    pub warnings: u64,
}

/// A finding of a compiler or linter.
#[serde_with::skip_serializing_none]
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct Finding {
    /// The tool's code for it.
    pub code: Option<String>,
    /// From 1, as the tool counts.
    pub column: Option<u64>,
    /// As the tool names it.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u64>,
    /// The tool's words, on one line unless the tool wrote several.
    pub message: String,
    /// Its severity.
    pub severity: Level,
}

vplan_base::vocabulary! {
    /// The severity of a finding. A tool's notes, hints, help and info are not findings.
    #[derive(Default)]
    #[schemars(rename = "FindingLevel")]
    Level {
        /// It must be repaired.
        #[default]
        Error = "error",
        /// It may be.
        Warning = "warning",
    }
}

impl Level {
    /// A warning where something says so, and else an error.
    pub(crate) const fn warning_if(warns: bool) -> Self {
        if warns { Self::Warning } else { Self::Error }
    }
}

/// Counts of tests: errors count as failed, xfail and todo as skipped, an unexpected pass as
/// failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TestCounts {
    /// Failed, and those that ended in an error.
    pub failed: u64,
    /// Of the passed ones those that failed first, and passed when their tool tried them again.
    #[serde(skip_serializing_if = "is_default")]
    pub flaky: u64,
    /// Passed.
    pub passed: u64,
    /// Skipped.
    pub skipped: u64,
    /// Announced without an outcome, in addition to these: a plug-in may have taken them out.
    #[serde(skip_serializing_if = "is_default")]
    pub unshown: u64,
}

/// A test that failed.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FailedTest {
    /// The file, if the output names it.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u64>,
    /// The reason: the assertion or the first lines of the failure.
    pub message: Option<String>,
    /// Its name as the tool writes it, with its suites where the tool names them.
    pub name: String,
}

/// A finding or a failing test by what it is, wherever it moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Identity {
    /// The file of a finding, from the root of the repository, where its line could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its fingerprint; absent where it cannot be known: its line cannot be read, or it keeps its
    /// tool from finding others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Digest>,
    /// Whether the baseline that counts lists it.
    pub known: bool,
}

impl TestCounts {
    /// Returns the number of tests that gave evidence: all but the skipped ones.
    pub fn ran(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    /// Returns the number of tests whose outcome is known.
    pub(crate) fn all(self) -> u64 {
        self.ran().saturating_add(self.skipped)
    }

    /// What speaks against a summary that announces so many tests: it shows the outcome of fewer,
    /// or of more.
    pub(crate) fn differ_from(self, announced: u64) -> Option<String> {
        let tests = vplan_base::word::count(announced, "test");
        let shown = self.all();
        (shown != announced).then(|| format!("it counts {tests} and says how {shown} ended"))
    }

    /// Whether one of them is larger than a run can have.
    pub(crate) fn is_impossible(self) -> bool {
        let all = [self.failed, self.passed, self.skipped];
        all.iter().any(|n| *n > super::output::kit::number::LARGEST)
    }

    /// Returns what a run says of itself that its counts contradict.
    pub(crate) fn contradiction(self, is_good: bool) -> Option<&'static str> {
        match (is_good, self.failed) {
            (false, 0) => Some("a run without a failed test says that it failed"),
            (true, 1..) => Some("a run with failed tests says that it passed"),
            _ => None,
        }
    }

    /// Adds those of another run or suite.
    pub fn add(&mut self, more: TestCounts) {
        self.failed = self.failed.saturating_add(more.failed);
        self.flaky = self.flaky.saturating_add(more.flaky);
        self.passed = self.passed.saturating_add(more.passed);
        self.skipped = self.skipped.saturating_add(more.skipped);
        self.unshown = self.unshown.saturating_add(more.unshown);
    }
}

impl std::fmt::Display for TestCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
            ..
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

impl Finding {
    /// Returns its place, as far as it has one: `FILE:LINE:COLUMN`.
    pub fn place(&self) -> Option<String> {
        let numbers = [self.line, self.column].into_iter().flatten();
        let numbers = numbers.map(|n| n.to_string());
        let parts: Vec<String> = self.file.iter().cloned().chain(numbers).collect();
        (!parts.is_empty()).then(|| parts.join(":"))
    }
}

impl FailedTest {
    /// A failed test with a known name only.
    pub(crate) fn from_name(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

impl Reading {
    /// An empty reading of a format.
    pub fn from_format(format: &str) -> Self {
        Self {
            format: format.to_owned(),
            ..Self::default()
        }
    }

    /// Counts a finding, and keeps it while there is room.
    pub fn find(&mut self, mut finding: Finding) {
        let count = match finding.severity {
            Level::Error => &mut self.errors,
            Level::Warning => &mut self.warnings,
        };
        *count = count.saturating_add(1);
        if usize::try_from(*count).is_ok_and(|n| n <= FINDINGS_KEPT) {
            clip(&mut finding.message);
            finding.file.as_mut().map(clip);
            finding.code.as_mut().map(clip);
            self.findings.push(finding);
        }
    }

    /// Keeps a failed test while there is room. Does not count it: summaries do.
    pub fn fail(&mut self, mut test: FailedTest) {
        if self.failed_tests.len() < FAILED_KEPT {
            clip(&mut test.name);
            test.message.as_mut().map(clip);
            test.file.as_mut().map(clip);
            self.failed_tests.push(test);
        }
    }

    /// Adds what another file or part of the same step says.
    pub fn add(&mut self, other: Reading) {
        let Reading {
            errors,
            failed_tests,
            findings,
            format,
            problems,
            tests,
            unread,
            warnings,
        } = other;
        if self.format.is_empty() {
            self.format = format;
        }
        self.errors = self.errors.saturating_add(errors);
        self.warnings = self.warnings.saturating_add(warnings);
        if let Some(more) = tests {
            self.tests.get_or_insert_default().add(more);
        }
        for severity in [Level::Error, Level::Warning] {
            let kept = self
                .findings
                .iter()
                .filter(|f| f.severity == severity)
                .count();
            let room = FINDINGS_KEPT.saturating_sub(kept);
            self.findings.extend(
                findings
                    .iter()
                    .filter(|f| f.severity == severity)
                    .take(room)
                    .cloned(),
            );
        }
        self.fail_all(failed_tests);
        self.object_all(problems);
        unread.into_iter().for_each(|part| self.leave_out(part));
    }

    /// Returns the reading as a check of a kind counts it: a compiler or a linter that writes a
    /// report of tests means one finding by each failed one, and a report without any is a clean
    /// one.
    pub fn counted_by(mut self, kind: Kind) -> Self {
        if kind == Kind::Test {
            return self;
        }
        let Some(tests) = self.tests.take() else {
            return self;
        };
        if tests.failed > self.errors {
            self.errors = tests.failed;
            let finding = |test: FailedTest| Finding {
                code: Some(test.name),
                file: test.file,
                line: test.line,
                message: test.message.unwrap_or_default(),
                ..Finding::default()
            };
            self.findings.extend(
                std::mem::take(&mut self.failed_tests)
                    .into_iter()
                    .map(finding),
            );
        }
        self
    }

    /// Every text that is not vplan's own.
    pub fn for_each_text(&mut self, mut change: impl FnMut(&mut String)) {
        for finding in &mut self.findings {
            let Finding {
                code,
                column: _,
                file,
                line: _,
                message,
                severity: _,
            } = finding;
            code.iter_mut()
                .chain(file)
                .chain([message])
                .for_each(&mut change);
        }
        for test in &mut self.failed_tests {
            let FailedTest {
                file,
                line: _,
                message,
                name,
            } = test;
            file.iter_mut()
                .chain(message)
                .chain([name])
                .for_each(&mut change);
        }
        let lines = self.problems.iter_mut().chain(&mut self.unread);
        lines.for_each(change);
    }

    /// Notes a part of the output that was not read, once and while there is room.
    pub fn leave_out(&mut self, part: impl Into<String>) {
        let mut part = part.into();
        clip(&mut part);
        if self.unread.len() < PROBLEMS_KEPT && !self.unread.contains(&part) {
            self.unread.push(part);
        }
    }

    /// Notes each of these failed tests, while there is room.
    pub(crate) fn fail_all(&mut self, tests: impl IntoIterator<Item = FailedTest>) {
        tests.into_iter().for_each(|test| self.fail(test));
    }

    /// Notes each of these problems, while there is room.
    pub(crate) fn object_all<P: Into<String>>(&mut self, problems: impl IntoIterator<Item = P>) {
        problems
            .into_iter()
            .for_each(|problem| self.object(problem));
    }

    /// Notes that this part of the tests could not run, and the first line of why.
    pub(crate) fn not_run(&mut self, name: &str, why: &str) {
        let why = why.lines().next().unwrap_or_default();
        self.object(format!("{name} could not run: {why}"));
    }

    /// Notes what speaks against a pass, while there is room.
    pub fn object(&mut self, problem: impl Into<String>) {
        if self.problems.len() < PROBLEMS_KEPT {
            let mut problem = problem.into();
            clip(&mut problem);
            self.problems.push(problem);
        }
    }
}

/// Adds things to a list while it has no more than so many.
pub(crate) fn fill<T>(list: &mut Vec<T>, most: usize, more: impl IntoIterator<Item = T>) {
    let room = most.saturating_sub(list.len());
    list.extend(more.into_iter().take(room));
}

/// A copy of foreign text, cut to what is kept.
pub(crate) fn clipped(text: &str) -> String {
    let mut text = text.to_owned();
    clip(&mut text);
    text
}

/// Cuts foreign text to what is kept, at a character, with a mark.
pub fn clip(text: &mut String) {
    if text.len() > TEXT_KEPT {
        text.truncate(text.floor_char_boundary(TEXT_KEPT));
        text.push('…');
        // What was cut off may have been large.
        text.shrink_to_fit();
    }
}
