//! Describes one failing check, and cuts the description to bounds.

use super::suggestion;
use crate::record::{StepRecord, head, tail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::is_default;
use vplan_base::inert::inert;
use vplan_base::vocabulary::{FailureCode, Open};
use vplan_base::word::{text_if, visible};
use vplan_check::evidence::{Captured, Evidence};
use vplan_check::outcome::{Cause, Status};
use vplan_check::results::{FailedTest, Finding, Level, TestCounts};
use vplan_plan::Step;

/// Limit of each shown end of a stream, in bytes.
pub const EXCERPT_BYTES: usize = 4096;
/// Limit of shown findings, failed tests and problems, each.
pub const FINDINGS_SHOWN: usize = 10;
/// Limit of a shown message, name or command, in bytes.
pub const TEXT_BYTES: usize = 1024;

/// A failing check, made for its repair. All foreign text in it is inert.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedCheck {
    /// Its command.
    pub command: String,
    /// Whether some of what is known of it was left out for want of space.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The outcome, on one line.
    pub detail: String,
    /// The first findings: those that the baseline does not list, errors before warnings, those with
    /// a place before those without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Finding>,
    /// The number of errors in its output, where it was read.
    pub errors: Option<u64>,
    /// Its exit code, if it exited by itself.
    pub exit_code: Option<i32>,
    /// The first tests that failed, by its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<FailedTest>,
    /// The failure code.
    pub failure_code: Option<Open<FailureCode>>,
    /// The format in which its output was read.
    pub format: Option<String>,
    /// Its id.
    pub id: String,
    /// The number of its findings and failed tests that the baseline lists: they come last, and do
    /// not make it fail.
    #[serde(default, skip_serializing_if = "is_default")]
    pub known: usize,
    /// Its whole output, relative to the run's directory.
    pub log: Option<String>,
    /// The signs of failure in its output besides its counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The cause of the status.
    pub reason: Option<Cause>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// Its status.
    pub status: Status,
    /// Its standard error.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stderr: Excerpt,
    /// Its standard output.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stdout: Excerpt,
    /// The advice for this kind of failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suggestion: String,
    /// The number of tests that it ran, where its output was read.
    pub tests: Option<TestCounts>,
    /// The number of warnings in its output, where it was read.
    pub warnings: Option<u64>,
}

/// Beginning and end of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Excerpt {
    /// The beginning, or everything when it is short.
    pub head: String,
    /// The number of bytes left out between both.
    pub omitted_bytes: u64,
    /// The end, unless `head` is everything.
    pub tail: String,
}

impl Excerpt {
    /// Returns both ends of a stream, at most `most` bytes each.
    pub fn new(captured: &Captured, most: usize) -> Self {
        let kept = captured.head.as_bytes().len() + captured.tail.as_bytes().len();
        let complete = u64::try_from(kept).is_ok_and(|kept| kept >= captured.total);
        if complete && kept <= 2 * most {
            return Self {
                head: head(captured, 2 * most),
                ..Self::default()
            };
        }
        let shown = u64::try_from(kept.min(2 * most)).unwrap_or(u64::MAX);
        Self {
            head: head(captured, most.min(kept)),
            omitted_bytes: captured.total.saturating_sub(shown),
            tail: tail(captured, most.min(kept.saturating_sub(most))),
        }
    }

    /// Returns how many bytes are shown.
    pub(super) fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Cuts both ends to at most `most` bytes each.
    fn shortened(&self, most: usize) -> Self {
        let is_whole = self.tail.is_empty() && self.omitted_bytes == 0;
        if is_whole && self.head.len() <= 2 * most {
            return self.clone();
        }
        let end = if is_whole { &self.head } else { &self.tail };
        let (head, tail) = (prefix(&self.head, most), suffix(end, most));
        let left_out = self.len().saturating_sub(head.len() + tail.len());
        Self {
            head: head.to_owned(),
            omitted_bytes: self
                .omitted_bytes
                .saturating_add(u64::try_from(left_out).unwrap_or(u64::MAX)),
            tail: tail.to_owned(),
        }
    }
}

/// The limits of the feedback on one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bytes of each end of a stream.
    excerpt: usize,
    /// Whether to include all kinds of content: advice, the log, failed tests as well as findings.
    full: bool,
    /// Findings, failed tests and problems, each.
    items: usize,
    /// Bytes of a text.
    text: usize,
}

const fn bounds(excerpt: usize, items: usize, text: usize, full: bool) -> Bounds {
    Bounds {
        excerpt,
        full,
        items,
        text,
    }
}

/// The bounds for a single check.
pub(crate) const ALONE: Bounds = bounds(2 * EXCERPT_BYTES, 50, TEXT_BYTES, true);
/// The bounds for one of several checks.
pub(super) const AMONG_OTHERS: Bounds = bounds(EXCERPT_BYTES, FINDINGS_SHOWN, TEXT_BYTES, true);
/// The bounds to try, in descending order. Output is cut first, because it is the longest and
/// the log has it; each check keeps a message to the end.
pub(super) const LEVELS: [Bounds; 14] = [
    ALONE,
    AMONG_OTHERS,
    bounds(2048, FINDINGS_SHOWN, TEXT_BYTES, true),
    bounds(2048, 5, 512, true),
    bounds(1024, 5, 512, true),
    bounds(1024, 3, 256, true),
    bounds(512, 3, 256, true),
    bounds(256, 2, 256, true),
    bounds(128, 1, 256, true),
    bounds(0, 1, 192, true),
    bounds(0, 1, 128, true),
    bounds(0, 1, 96, false),
    bounds(0, 1, 64, false),
    bounds(0, 1, 32, false),
];

impl FailedCheck {
    /// Describes a step. Without its plan there is no advice; without its evidence, as in a report
    /// that was read, only the ends of its streams are known.
    pub(crate) fn new(step: Option<&Step>, record: &StepRecord, most: Bounds) -> Self {
        let line = |text: &str| safe(text, most.text, |bytes| visible(bytes));
        let lines = |text: &str| safe(text, most.text, inert);
        let excerpt = |of: fn(&Evidence) -> &Captured, end: &str| match &record.evidence {
            Some(evidence) => Excerpt::new(of(evidence), most.excerpt),
            None => Excerpt {
                head: end.to_owned(),
                ..Excerpt::default()
            }
            .shortened(most.excerpt),
        };
        let (mut findings, failed_tests) = record.news_first();
        findings.sort_by_key(|(f, known)| {
            (
                *known,
                f.severity != Level::Error,
                f.file.is_none() || f.line.is_none(),
            )
        });
        Self {
            command: cut(&visible(record.command.as_bytes()), EXCERPT_BYTES),
            cut: record.diagnostics.len() > most.items
                || record.failed_tests.len() > most.items
                || record.problems.len() > most.items,
            detail: line(record.detail.as_deref().unwrap_or_default()),
            diagnostics: (findings.into_iter().take(most.items))
                .map(|(f, _)| finding(f, &line, &lines))
                .collect(),
            errors: record.errors,
            exit_code: record.exit_code,
            failed_tests: (failed_tests.iter().take(most.items))
                .map(|(t, _)| failed_test(t, &line, &lines))
                .collect(),
            failure_code: record.failure_code.clone(),
            format: record.format.clone(),
            id: record.id.clone(),
            known: record.count_known(),
            log: record.log.clone(),
            problems: (record.problems.iter().take(most.items))
                .map(|p| line(p))
                .collect(),
            reason: record.reason,
            signal: record.signal.clone(),
            status: record.status,
            stderr: excerpt(|e| &e.stderr, &record.stderr_tail),
            stdout: excerpt(|e| &e.stdout, &record.stdout_tail),
            suggestion: step.map_or(String::new(), |step| suggestion::suggestion(step, record)),
            tests: record.tests,
            warnings: record.warnings,
        }
    }

    /// Cuts it to bounds. Of a check without findings, failed tests and problems the ends of its
    /// output are its message, and some of them stay.
    pub(super) fn bounded(&self, most: Bounds) -> Self {
        let text = |text: &str| cut(text, most.text);
        let is_read = !self.diagnostics.is_empty();
        let has_tests = !self.failed_tests.is_empty();
        let tests = if most.full || !is_read { most.items } else { 0 };
        let problems = if most.full || !(is_read || has_tests) {
            most.items
        } else {
            0
        };
        let says_nothing = !is_read && !has_tests && self.problems.is_empty();
        let excerpt = if says_nothing {
            most.excerpt.max(most.text)
        } else {
            most.excerpt
        };
        let command = if most.text == TEXT_BYTES {
            EXCERPT_BYTES
        } else {
            most.text
        };
        let made = Self {
            command: cut(&self.command, command),
            detail: text(&self.detail),
            diagnostics: (self.diagnostics.iter().take(most.items))
                .map(|f| finding(f, &text, &text))
                .collect(),
            failed_tests: (self.failed_tests.iter().take(tests))
                .map(|t| failed_test(t, &text, &text))
                .collect(),
            log: self.log.clone().filter(|_| most.full),
            problems: (self.problems.iter().take(problems))
                .map(|p| text(p))
                .collect(),
            stderr: self.stderr.shortened(excerpt),
            stdout: self.stdout.shortened(excerpt),
            suggestion: text_if(most.full, || self.suggestion.clone()),
            ..self.clone()
        };
        let cut = made != *self;
        Self {
            cut: self.cut || cut,
            ..made
        }
    }

    /// Takes over the output of another description of the same check that shows more of it.
    pub(crate) fn with_output_of(mut self, other: &Self) -> Self {
        for (mine, theirs) in [
            (&mut self.stderr, &other.stderr),
            (&mut self.stdout, &other.stdout),
        ] {
            if theirs.len() > mine.len() {
                mine.clone_from(theirs);
            }
        }
        if self.suggestion.is_empty() {
            self.suggestion.clone_from(&other.suggestion);
        }
        self
    }
}

/// Makes a text of feedback from one of the record.
type Make<'m> = &'m dyn Fn(&str) -> String;

/// Returns a finding whose names are made by `line`, and its message by `text`.
fn finding(found: &Finding, line: Make<'_>, text: Make<'_>) -> Finding {
    Finding {
        code: found.code.as_deref().map(line),
        file: found.file.as_deref().map(line),
        message: text(&found.message),
        ..found.clone()
    }
}

/// Returns a failed test whose names are made by `line`, and its message by `text`.
fn failed_test(test: &FailedTest, line: Make<'_>, text: Make<'_>) -> FailedTest {
    FailedTest {
        file: test.file.as_deref().map(line),
        line: test.line,
        message: test.message.as_deref().map(text),
        name: line(&test.name),
    }
}

/// Makes a foreign text safe to show, in about `most` bytes. Reads only the start of a long text.
fn safe(text: &str, most: usize, make: fn(&[u8]) -> String) -> String {
    let begin = prefix(text, 4 * most);
    let made = cut(&make(begin.as_bytes()), most);
    if begin.len() < text.len() && !made.ends_with('…') {
        made + "…"
    } else {
        made
    }
}

/// Cuts a text to so many bytes, at a character, with a mark.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        text.to_owned()
    } else {
        format!("{}…", prefix(text, most))
    }
}

/// Returns the beginning of a text, in at most so many bytes.
fn prefix(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most))
        .unwrap_or_default()
}

/// Returns the end of a text, in at most so many bytes.
fn suffix(text: &str, most: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(most));
    text.get(start..).unwrap_or_default()
}
