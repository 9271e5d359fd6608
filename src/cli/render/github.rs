//! Renders a run for GitHub Actions: annotations at the places of errors, and a step summary in
//! Markdown.

use super::feedback;
use super::finding::{Issue, issues};
use super::style::{count, duration, mark};
use std::path::Path;
use vplan_base::inert::{inert, without_commands};
use vplan_base::word::framed;
use vplan_check::Severity;
use vplan_check::outcome::Status;
use vplan_check::results::Level;
use vplan_plan::Plan;
use vplan_plan::caveat::{self, Caveat, Effect};
use vplan_run::record::StepRecord;
use vplan_run::report::Report;

/// The number of annotations of each level that GitHub shows of one step of a job. (Of a whole job
/// it shows 50; two levels stay below.)
pub const SHOWN: usize = 10;
/// Limit of a step summary, in bytes.
pub(crate) const SUMMARY_BYTES: u64 = 1024 * 1024;
/// Maximum number of steps in a summary.
const LISTED: usize = 200;
/// Limit of an annotation's message, in bytes.
const MESSAGE_BYTES: usize = 4096;
/// Limit of a title, in characters.
const TITLE_CHARS: usize = 200;

/// The annotations, worst first, one workflow command a line. `root` is the repository, if it is
/// here; `prefix` is the way to it from the directory that GitHub takes for the repository.
pub fn annotations(report: &Report, plan: &Plan, root: Option<&Path>, prefix: &Path) -> String {
    let found = issues(report, plan, root);
    let mut out = caveats(&report.caveats);
    let mut hidden = Vec::new();
    for (level, command) in [(Level::Error, "error"), (Level::Warning, "warning")] {
        let of_level: Vec<&Issue> = found.iter().filter(|i| i.level == level).collect();
        for issue in of_level.iter().take(SHOWN) {
            out.push_str(&annotation(command, issue, prefix));
        }
        if of_level.len() > SHOWN {
            hidden.push(count(of_level.len() - SHOWN, &format!("more {command}")));
        }
    }
    if !hidden.is_empty() {
        let what = "not shown as annotations; the log and the summary have more";
        let message = data(&format!("{} {what}", hidden.join(" and ")));
        out.push_str(&format!("::notice title=vplan::{message}\n"));
    }
    out
}

/// The caveats, as annotations without a place.
fn caveats(caveats: &[Caveat]) -> String {
    let line = |c: &Caveat| {
        let command = match c.effect {
            Effect::Note => return None,
            Effect::Narrows => "warning",
            Effect::Incomplete | Effect::Fails => "error",
        };
        let (title, message) = (property(c.code.name()), data(&c.for_people()));
        Some(format!("::{command} title={title}::{message}\n"))
    };
    let shown = caveat::sorted(caveats).into_iter().take(SHOWN);
    shown.filter_map(line).collect()
}

fn annotation(command: &str, issue: &Issue, prefix: &Path) -> String {
    let mut properties = Vec::new();
    if let Some(spot) = &issue.spot {
        let path = prefix.join(spot.path.to_os());
        properties.push(format!("file={}", property(&path.to_string_lossy())));
        properties.extend(spot.line.map(|n| format!("line={n}")));
        properties.extend(spot.column.map(|n| format!("col={n}")));
    }
    let title: String = issue.title.chars().take(TITLE_CHARS).collect();
    properties.push(format!("title={}", property(&title)));
    let end = issue.message.floor_char_boundary(MESSAGE_BYTES);
    let message = issue.message.get(..end).unwrap_or_default();
    let message = match message.trim() {
        "" => &issue.title,
        _ => message,
    };
    format!("::{command} {}::{}\n", properties.join(","), data(message))
}

/// The message of a workflow command, on one line.
fn data(text: &str) -> String {
    let text = without_commands(&inert(text.trim().as_bytes()));
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The summary of a run: the verdict, every step, what failed first. Ends in a line feed.
pub fn summary(report: &Report, plan: &Plan) -> String {
    let verdict = report.verdict.name().replace('_', " ");
    let time = duration(report.duration_ms);
    let mut out = format!("## vplan: {verdict} in {time}\n\n");
    let reason = report.reason.as_deref().map(feedback::code);
    out.push_str(&framed("", reason, "\n\n"));
    for caveat in caveat::sorted(&report.caveats) {
        out.push_str(&format!("- ! {}\n", feedback::code(&caveat.for_people())));
    }
    if !report.caveats.is_empty() {
        out.push('\n');
    }
    let steps = plan.steps.iter().zip(&report.steps);
    let steps = steps.map(|(step, record)| (record, step.severity == Severity::Warning));
    let mut steps: Vec<(&StepRecord, bool)> = steps.collect();
    steps.sort_by_key(|(record, warning)| match record.status {
        status if status.is_failure() => usize::from(*warning),
        Status::NotRun | Status::Skipped => 2,
        Status::Flaky | Status::PassedWithWarnings => 3,
        _ => 4,
    });
    for (record, warning) in steps.iter().take(LISTED) {
        out.push_str(&line(record, *warning));
    }
    if steps.len() > LISTED {
        out.push_str(&format!("- and {} more\n", steps.len() - LISTED));
    }
    for rewrite in &report.rewrites {
        let rule = feedback::code(&rewrite.recovery_rule);
        out.push_str(&format!("- ↻ plan repaired by {rule}\n"));
    }
    if let Some(told) = &report.feedback {
        out.push('\n');
        out.push_str(&feedback::markdown(told));
    }
    out.push('\n');
    without_commands(&out)
}

/// Returns the line about the end of a step.
fn line(record: &StepRecord, warning: bool) -> String {
    let sign = match record.status {
        status if status.is_failure() && warning => "!",
        status => mark(status).0,
    };
    let time = (record.tries > 0).then(|| duration(record.duration_ms));
    let time = framed(" (", time, ")");
    let what = framed(": ", record.detail.as_deref().map(feedback::code), "");
    format!("- {sign} {}{what}{time}\n", feedback::code(&record.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping() {
        assert_eq!(data("a%b\r\nc\u{1b}[31m::x"), "a%25b%0Ac::x");
        assert_eq!(data("ok\n::error::x ##[y]"), "ok%0A| ::error::x ## [y]");
        assert_eq!(property("a:b,c%\n"), "a%3Ab%2Cc%25");
    }
}
