//! Renders feedback: text for people, Markdown for agents and comments. Bars before each line, and
//! fences around them, keep foreign text from passing for vplan's own words, a terminal sequence
//! or a workflow command.

use super::style::count;
use vplan_base::change::Status as Change;
use vplan_base::inert::{inert, without_commands};
use vplan_base::word::{framed, text_if, visible};
use vplan_check::outcome::{Cause, Status};
use vplan_check::results::{FailedTest, Finding};
use vplan_plan::scope::List;
use vplan_run::feedback::{Excerpt, FailedCheck, Feedback};

/// As text, without colour. Ends in a line feed.
pub fn text(feedback: &Feedback) -> String {
    page(feedback, &Text)
}

/// As Markdown, beginning with a heading of the second level. Ends in a line feed.
pub fn markdown(feedback: &Feedback) -> String {
    page(feedback, &Markdown)
}

/// As text of at most `bytes` bytes, not counting the names of the failing checks.
pub fn text_within(feedback: &Feedback, bytes: usize) -> String {
    text(&feedback.within(bytes, &|f| text(f).len()))
}

/// As Markdown of at most `bytes` bytes, not counting the names of the failing checks.
pub(crate) fn markdown_within(feedback: &Feedback, bytes: usize) -> String {
    markdown(&feedback.within(bytes, &|f| markdown(f).len()))
}

/// One form.
trait Form {
    /// A heading of a level, in our own words.
    fn heading(&self, level: usize, words: &str) -> String;
    /// A foreign text of one line inside a sentence.
    fn inline(&self, foreign: &str) -> String;
    /// Formats a sentence of vplan's own. It may come from a file that another program wrote.
    fn own(&self, words: &str) -> String;
    /// A line of a list; its foreign parts have been through `inline`.
    fn item(&self, words: &str) -> String;
    /// Foreign lines.
    fn block(&self, foreign: &str) -> String;
}

struct Text;

impl Form for Text {
    fn heading(&self, level: usize, words: &str) -> String {
        if level <= 2 {
            format!("{words}\n")
        } else {
            format!("\n{words}:\n")
        }
    }

    fn inline(&self, foreign: &str) -> String {
        visible(foreign)
    }

    fn own(&self, words: &str) -> String {
        visible(words)
    }

    fn item(&self, words: &str) -> String {
        format!("  {words}\n")
    }

    fn block(&self, foreign: &str) -> String {
        let foreign = inert(foreign.as_bytes());
        let line = |line| format!("  │ {line}").trim_end().to_owned() + "\n";
        foreign.trim_end().lines().map(line).collect()
    }
}

struct Markdown;

impl Form for Markdown {
    fn heading(&self, level: usize, words: &str) -> String {
        let gap = if level > 2 { "\n" } else { "" };
        format!("{gap}{} {words}\n\n", "#".repeat(level))
    }

    fn inline(&self, foreign: &str) -> String {
        code(foreign)
    }

    fn own(&self, words: &str) -> String {
        // Nothing that these characters can write is a link, a mention, or HTML.
        let plain =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || " ,;'()-`".contains(c);
        match words.chars().all(plain) {
            true => words.to_owned(),
            false => code(words),
        }
    }

    fn item(&self, words: &str) -> String {
        format!("- {words}\n")
    }

    fn block(&self, foreign: &str) -> String {
        let foreign = inert(foreign.as_bytes());
        let fence = "`".repeat((longest_run(&foreign) + 1).max(3));
        format!("{fence}text\n{}\n{fence}\n", foreign.trim_end())
    }
}

/// A foreign text of one line as Markdown: a code span, in which nothing acts.
pub fn code(foreign: &str) -> String {
    let shown = visible(foreign);
    if shown.trim().is_empty() {
        return "(blank)".to_owned();
    }
    // What begins or ends in a backtick, or would lose a space at both ends, is set off by one.
    let fence = "`".repeat(longest_run(&shown) + 1);
    let is_tight = shown.starts_with(['`', ' ']) || shown.ends_with(['`', ' ']);
    let gap = if is_tight { " " } else { "" };
    format!("{fence}{gap}{shown}{gap}{fence}")
}

/// Foreign lines as Markdown: a fenced block that they cannot close.
pub fn block(foreign: &str) -> String {
    Markdown.block(foreign)
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn page(feedback: &Feedback, form: &dyn Form) -> String {
    let left = match feedback.retries_remaining {
        0 => "no retry".to_owned(),
        n => count(n, "retry"),
    };
    let attempt = feedback.attempt_number;
    // Without a subject or a loop no round is counted, unless the caller counts them.
    let is_counted = feedback.rounds_counted || attempt > 1;
    let rounds = text_if(is_counted, || format!(" (attempt {attempt}, {left} left)"));
    let mut out = form.heading(2, &format!("Verification failed{rounds}"));
    if feedback.failing.len() > 1 {
        let names: Vec<String> = feedback.failing.iter().map(|id| form.inline(id)).collect();
        let names = format!("{} checks failed: {}", names.len(), names.join(", "));
        out.push_str(&form.item(&names));
    }
    for caveat in &feedback.caveats {
        out.push_str(&form.item(&format!("note: {}", form.inline(caveat))));
    }
    let (first, status) = (feedback.first(), feedback.status);
    out.push_str(&check(&first, status, &feedback.run_id, 3, form));
    // The requested check comes first, then the context.
    out.push_str(&scope(feedback, form));
    out.push_str(&others(feedback, form));
    out.push_str(&changed(feedback, form));
    without_commands(&out)
}

/// A failing check: what happened, then what it wrote, under headings of this level.
fn check(
    check: &FailedCheck,
    status: Option<Status>,
    run: &str,
    level: usize,
    form: &dyn Form,
) -> String {
    let summary = summary(check, status, run, form);
    let mut out: String = summary.iter().map(|line| form.item(line)).collect();
    let findings: Vec<String> = check.diagnostics.iter().map(finding).collect();
    let tests: Vec<String> = check.failed_tests.iter().map(failed_test).collect();
    for (title, body) in [
        ("First findings", findings.join("\n")),
        ("Failed tests", tests.join("\n")),
        ("Problems", check.problems.join("\n")),
        ("Standard output", excerpt(&check.stdout)),
        ("Standard error", excerpt(&check.stderr)),
    ] {
        if !body.trim().is_empty() {
            out.push_str(&form.heading(level, title));
            out.push_str(&form.block(&body));
        }
    }
    out
}

/// The changes outside the contract's scope, and what could be allowed.
fn scope(feedback: &Feedback, form: &dyn Form) -> String {
    let mut out = String::new();
    if !feedback.outside_scope.is_empty() {
        out.push_str(&form.heading(3, "Changes outside the contract's scope"));
        for file in &feedback.outside_scope {
            let list = match file.list {
                List::Allow => "not in `allow`",
                List::Deny => "in `deny`",
            };
            let path = form.inline(&visible(file.path.as_bytes()));
            out.push_str(&form.item(&format!("{path}: {list}")));
        }
        let shown = u64::try_from(feedback.outside_scope.len()).unwrap_or(u64::MAX);
        let hidden = feedback.outside_scope_count.saturating_sub(shown);
        out.push_str(&more(hidden, form));
    }
    if !feedback.allowed_paths_needed.is_empty() {
        out.push_str(&form.heading(3, "Paths that the contract's owner could allow"));
        for needed in &feedback.allowed_paths_needed {
            let (path, step) = (form.inline(&needed.path), form.inline(&needed.step_id));
            out.push_str(&form.item(&format!("{path}, which {step} works with")));
        }
    }
    out
}

/// The other failures, each with its details as far as they fit.
fn others(feedback: &Feedback, form: &dyn Form) -> String {
    let mut out = String::new();
    for other in &feedback.other_failures {
        out.push_str(&form.heading(3, &format!("Also failed: {}", form.inline(&other.id))));
        out.push_str(&check(other, Some(other.status), &feedback.run_id, 4, form));
    }
    let shown = feedback.other_failures.len();
    let hidden = feedback.other_failures_count.saturating_sub(shown);
    if hidden > 0 {
        out.push_str(&form.heading(3, "Other failures"));
        let way = form.inline("vplan feedback --check NAME");
        let ways = format!("{way} has those of the check `NAME`");
        out.push_str(&form.item(&format!("details of {hidden} more are not shown: {ways}")));
    }
    out
}

/// Returns the changed files.
fn changed(feedback: &Feedback, form: &dyn Form) -> String {
    let mut out = String::new();
    if feedback.changed_files_count > 0 {
        out.push_str(&form.heading(3, "Changed files"));
        for file in &feedback.changed_files {
            let how = match file.status {
                Change::Added => "added",
                Change::Modified => "modified",
                Change::Deleted => "deleted",
                Change::TypeChanged => "type changed",
            };
            let path = form.inline(&visible(file.path.as_bytes()));
            out.push_str(&form.item(&format!("{how} {path}")));
        }
        let shown = feedback.changed_files.len();
        let hidden = feedback.changed_files_count.saturating_sub(shown);
        out.push_str(&more(u64::try_from(hidden).unwrap_or(u64::MAX), form));
    }
    out
}

/// A failure, and what to do about it.
fn summary(check: &FailedCheck, status: Option<Status>, run: &str, form: &dyn Form) -> Vec<String> {
    let mut lines = Vec::new();
    if !check.id.is_empty() {
        lines.push(format!("check: {}", form.inline(&check.id)));
        lines.push(format!("command: {}", form.inline(&check.command)));
    }
    let status = status.filter(|_| check.reason != Some(Cause::Policy));
    let code = check.failure_code.as_deref();
    let mut what = Vec::new();
    what.extend(status.map(|s| s.name().replace('_', " ")));
    what.extend((!check.detail.is_empty()).then(|| form.inline(&check.detail)));
    what.extend(code.map(|code| format!("({})", form.inline(code))));
    lines.push(format!("what happened: {}", what.join(" ")));
    let mut counts = Vec::new();
    counts.extend(check.tests.map(|tests| tests.to_string()));
    counts.extend(check.errors.map(|n| count(n, "error")));
    counts.extend(check.warnings.map(|n| count(n, "warning")));
    if !counts.is_empty() {
        lines.push(format!("its output says: {}", counts.join(", ")));
    }
    let known = Some(check.known).filter(|known| *known > 0);
    let known = known.map(|n| format!("known before this change, and no part of the failure: {n}"));
    lines.extend(known);
    if !check.suggestion.is_empty() {
        lines.push(format!("what to do: {}", form.own(&check.suggestion)));
    }
    if let Some(log) = &check.log {
        let folder = text_if(!run.is_empty(), || format!("{run}/"));
        let log = form.inline(&format!("{folder}{log}"));
        lines.push(format!("whole output, in the folder of runs: {log}"));
    }
    if check.cut {
        let more = match check.id.as_str() {
            "" => "`vplan feedback` says more",
            _ => "`vplan feedback --check NAME` and the whole output say more",
        };
        lines.push(format!("shortened: {more}"));
    }
    lines
}

fn more(hidden: u64, form: &dyn Form) -> String {
    text_if(hidden > 0, || form.item(&format!("and {hidden} more")))
}

/// A place as compilers write it.
fn place(file: Option<&str>, line: Option<u64>, column: Option<u64>) -> Option<String> {
    let mut place = visible(file?);
    for number in [line, line.and(column)].into_iter().flatten() {
        place.push_str(&format!(":{number}"));
    }
    Some(place)
}

/// A finding as compilers write it, further lines of its message below.
pub fn finding(finding: &Finding) -> String {
    let level = finding.severity;
    let code = framed("[", finding.code.as_ref().map(visible), "]");
    let place = place(finding.file.as_deref(), finding.line, finding.column);
    let place = framed("", place, ": ");
    format!("{place}{level}{code}: {}", finding.message)
}

/// A test and, indented, why it failed.
pub(crate) fn failed_test(test: &FailedTest) -> String {
    let place = framed(" (", place(test.file.as_deref(), test.line, None), ")");
    let mut out = format!("{}{place}", visible(&test.name));
    for line in test.message.iter().flat_map(|m| m.trim_end().lines()) {
        out.push_str(&format!("\n    {line}"));
    }
    out
}

/// Both ends of a stream, and between them the number of omitted bytes.
fn excerpt(excerpt: &Excerpt) -> String {
    let mut out = excerpt.head.clone();
    if excerpt.omitted_bytes > 0 {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&format!("[… {} bytes left out …]\n", excerpt.omitted_bytes));
    }
    out.push_str(&excerpt.tail);
    out
}
