//! Writes the memo, in Markdown, for the person who takes over when no further round is made.
//!
//! Foreign text in it is inert: in code spans that it cannot leave, in fences that it cannot close,
//! without terminal sequences.

use super::record::StepRecord;
use super::report::Report;
use vplan_base::inert::inert;
use vplan_base::word::{count, framed, visible};
use vplan_check::outcome::Status;
use vplan_plan::{Coverage, Rewrite};

/// The name of the memo in a run's folder.
pub const FILE: &str = "stop.md";
/// Limit of listed steps, findings and tests, each.
const NAMED: usize = 20;
/// Limit of each shown stream of a failure, in bytes.
const SHOWN: usize = 2048;

/// Returns the memo of a run after which its caller gives up.
pub fn stop_memo(report: &Report) -> String {
    let mut memo = Memo(String::from("# Verification gave up\n\n"));
    memo.head(report);
    memo.tried(report);
    for step in report.steps.iter().filter(|s| s.status.is_failure()) {
        memo.failure(step, report);
    }
    memo.rewrites(report);
    memo.next(report);
    memo.0
}

struct Memo(String);

impl Memo {
    fn line(&mut self, text: impl AsRef<str>) {
        self.0.push_str(text.as_ref());
        self.0.push('\n');
    }

    fn head(&mut self, report: &Report) {
        let verdict = report.verdict.name().replace('_', " ");
        self.line(format!("- run: {}", code(&report.run_id)));
        self.line(format!(
            "- verdict: {verdict}, exit code {}",
            report.exit_code
        ));
        let left = match report.retries_remaining {
            0 => "no retry left (`verification_failed_max_retries`)".to_owned(),
            n => format!("{} left", count(n, "retry")),
        };
        self.line(format!("- round: {}, {left}", report.attempt));
        if let Some(reason) = &report.reason {
            self.line(format!("- what decided: {}", code(reason)));
        }
        if report.coverage == Coverage::Narrowed {
            self.line("- coverage: narrowed, not all that was asked for was verified");
        }
        if let Some(digest) = &report.plan_digest {
            self.line(format!("- plan: `{digest}`"));
        }
        if let Some(tree) = &report.tree {
            self.line(format!("- tree: {}", code(tree)));
        }
    }

    fn tried(&mut self, report: &Report) {
        self.line("\n## What was tried\n");
        if report.steps.is_empty() {
            self.line("Nothing: the plan has no step.");
        }
        for step in report.steps.iter().take(NAMED) {
            let mut what = step.status.name().replace('_', " ");
            if step.tries > 0 {
                let tries = count(step.tries, "try");
                what.push_str(&format!(" after {tries}, {}ms", step.duration_ms));
            }
            if let Some(tests) = &step.tests {
                what.push_str(&format!("; tests: {tests}"));
            }
            self.line(format!(
                "- {}: {what}: {}",
                code(&step.id),
                code(&step.command)
            ));
        }
        self.more(report.steps.len(), "step");
    }

    fn more(&mut self, all: usize, noun: &str) {
        if all > NAMED {
            self.line(format!("- and {} more", count(all - NAMED, noun)));
        }
    }

    fn failure(&mut self, step: &StepRecord, report: &Report) {
        self.line(format!("\n## Failed: {}\n", code(&step.id)));
        let exit = match (&step.signal, step.exit_code) {
            (Some(signal), _) => format!(", ended by {}", code(signal)),
            (None, Some(exit)) => format!(", exit code {exit}"),
            (None, None) => String::new(),
        };
        let time = if step.status == Status::TimedOut {
            ", out of time"
        } else {
            ""
        };
        self.line(format!("{}{exit}{time}", code(&step.command)));
        if let Some(detail) = &step.detail {
            self.line(format!("\n{}", code(detail)));
        }
        if let Some(failure) = &step.failure_code {
            self.line(format!("\nClassified as {}.", code(failure)));
        }
        if !step.diagnostics.is_empty() {
            self.line("\nFindings:\n");
            for finding in step.diagnostics.iter().take(NAMED) {
                let place = framed("", finding.place().as_deref().map(code), ": ");
                let tool = framed(" (", finding.code.as_deref().map(code), ")");
                self.line(format!("- {place}{}{tool}", code(&finding.message)));
            }
            self.more(step.diagnostics.len(), "finding");
        }
        if !step.failed_tests.is_empty() {
            self.line("\nFailed tests:\n");
            for test in step.failed_tests.iter().take(NAMED) {
                let why = framed(": ", test.message.as_deref().map(code), "");
                self.line(format!("- {}{why}", code(&test.name)));
            }
            self.more(step.failed_tests.len(), "test");
        }
        for (name, text) in [
            ("Standard output", &step.stdout_tail),
            ("Standard error", &step.stderr_tail),
        ] {
            if !text.trim().is_empty() {
                self.line(format!("\n{name}, its end:\n"));
                self.0.push_str(&fenced(text));
            }
        }
        let told = report.feedback.as_ref().and_then(|f| f.get(&step.id));
        if let Some(told) = told.filter(|told| !told.suggestion.is_empty()) {
            self.line(format!("\nSuggestion: {}.", code(&told.suggestion)));
        }
    }

    fn rewrites(&mut self, report: &Report) {
        if report.rewrites.is_empty() && report.refusals.is_empty() {
            return;
        }
        self.line("\n## Repairs of the plan\n");
        for rewrite in &report.rewrites {
            let (rule, what) = (code(&rewrite.recovery_rule), verifies(rewrite));
            self.line(format!("- {rule} ({what})"));
            let (before, after) = (&rewrite.previous_commands, &rewrite.next_commands);
            for (word, from, to) in [("without", before, after), ("with", after, before)] {
                for command in from.iter().filter(|c| !to.contains(c)).take(NAMED) {
                    self.line(format!("  - {word} {}", code(command)));
                }
            }
        }
        for refusal in &report.refusals {
            self.line(format!(
                "- {} was not applied: {}",
                code(&refusal.recovery_rule),
                code(&refusal.reason)
            ));
        }
    }

    fn next(&mut self, report: &Report) {
        self.line("\n## How to go on\n");
        let run = code(&report.run_id);
        if let Some(step) = report.steps.iter().find(|s| s.status.is_failure()) {
            let id = code(&step.id);
            self.line(format!(
                "1. Read the whole output of {id}: `vplan log` with its name and `--run` {run}."
            ));
            self.line(format!(
                "2. Run its command by itself: {}.",
                code(&step.command)
            ));
            self.line(
                "3. Repair the cause, not the check: a changed contract is shown in the next plan.",
            );
        } else {
            self.line(format!(
                "1. Look at what did not run, and why: `vplan details` {run}."
            ));
        }
        let again = match report.subject.as_deref().map(code) {
            None => "\nThen `vplan run` verifies again.".to_owned(),
            Some(subject) => format!(
                "\nThen `vplan run` with `--subject` {subject} verifies again. The recorded failures leave the subject given up; a pass, or another failure, is counted anew."
            ),
        };
        self.line(again);
    }
}

/// Says how a rewrite's coverage compares.
pub fn verifies(rewrite: &Rewrite) -> &'static str {
    match rewrite.coverage {
        Coverage::Full => "verifies the same",
        Coverage::Narrowed => "verifies less",
    }
}

/// Formats a foreign text of one line as a code span that it cannot leave.
fn code(text: &str) -> String {
    let text = visible(text.as_bytes());
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let ticks = "`".repeat(longest + 1);
    // An empty span would not be a span, and a backtick at its edge would belong to the fence.
    let pad = if text.is_empty() || text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Formats a foreign text of several lines in a fence that it cannot close.
fn fenced(text: &str) -> String {
    let text = inert(text.as_bytes());
    let mut from = text.len().saturating_sub(SHOWN);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let text = text.get(from..).unwrap_or_default();
    let longest = text
        .lines()
        .map(|l| l.trim_start().chars().take_while(|c| *c == '`').count())
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_in_its_place() {
        for (text, want) in [
            ("make", "`make`"),
            ("a`b", "``a`b``"),
            ("`", "`` ` ``"),
            ("", "`  `"),
            ("a\nb\u{1b}[31m", "`a\\nb\\u{1b}[31m`"),
        ] {
            let got = code(text);
            assert!(!got.contains(['\n', '\u{1b}']), "{got:?}");
            assert_eq!(
                got.matches('`').count() % 2,
                if text.matches('`').count() % 2 == 1 {
                    1
                } else {
                    0
                },
                "{got}"
            );
            if !text.contains('\n') {
                assert_eq!(got, want);
            }
        }
        let hostile = "x\n```\n# heading\n````\n<script>\u{1b}]0;t\u{7}";
        let block = fenced(hostile);
        let fence = block.lines().last().unwrap();
        assert_eq!(fence, "`````");
        let inside: Vec<&str> = block.lines().skip(1).take_while(|l| *l != fence).collect();
        assert_eq!(inside, ["x", "```", "# heading", "````", "<script>"]);
    }
}
