//! Renders a run as one self-contained HTML page: no request, no font, and one script of vplan's
//! own that filters and searches; without it the page is complete.
//!
//! Everything foreign is text between tags or inside a quoted attribute, escaped; and should an
//! escape be missing one day, the page's own policy allows no other script and no other style than
//! those whose hashes it has, no request and no frame. No attribute holds a style.

mod foreign;
mod matrix;
mod trend;

use super::style::{count, duration};
use foreign::{lines, text, when};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use vplan_base::canon::Digest;
use vplan_base::inert::inert;
use vplan_base::word::{encode_base64, framed, text_if};
use vplan_check::Severity;
use vplan_check::outcome::Status;
use vplan_check::reading::{Finding, Level};
use vplan_plan::audit::matrix::Matrix;
use vplan_plan::explain::sentence;
use vplan_plan::explain::text::{command_line, omission, settings};
use vplan_plan::{Coverage, Plan, Step, caveat};
use vplan_run::past::{self, Summary};
use vplan_run::record::StepRecord;
use vplan_run::report::Report;
use vplan_run::stop::verifies;

/// Limit of a step's log on the page, in bytes: its beginning and its end.
pub(crate) const LOG_SHOWN: usize = 64 << 10;
/// Limit of all logs together, in bytes. Failures come first.
pub(crate) const LOGS_SHOWN: usize = 8 << 20;
/// Matched files that a reason names.
const FILES: usize = 20;
/// Findings of a step on the page.
const FINDINGS: usize = 200;
/// Failed tests of a step on the page.
const TESTS: usize = 100;

/// Maximum number of runs in the trend.
pub(crate) const RUNS_SHOWN: usize = 50;

/// The contents of a page other than report and plan.
#[derive(Debug, Default)]
pub struct Record {
    /// The name of the project: that of the repository's folder. Foreign text.
    pub project: String,
    /// What observed steps read.
    pub matrix: Matrix,
    /// The last recorded runs of the same contract, oldest first, at most `RUNS_SHOWN`.
    pub runs: Vec<Summary>,
    /// The time of the run's start, by the wall clock (RFC 3339).
    pub started_at: Option<String>,
    /// The tries, in the order in which they began.
    pub tries: Vec<Try>,
    /// The output of steps, by step id: raw bytes, bounded by the caller to about `LOG_SHOWN`,
    /// and the number of bytes omitted in the middle.
    pub logs: BTreeMap<String, Log>,
}

/// A try, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// The id of the step.
    pub id: String,
    /// From 1.
    pub attempt: u32,
    /// In milliseconds since the run's start.
    pub from: u64,
    /// Likewise; absent when its end is not recorded.
    pub to: Option<u64>,
    /// Absent when its end is not recorded.
    pub status: Option<Status>,
}

/// Beginning and end of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The first bytes, or all.
    pub head: Vec<u8>,
    /// The number of omitted bytes.
    pub omitted: u64,
    /// The last bytes.
    pub tail: Vec<u8>,
}

/// Renders the whole page.
pub fn page(report: &Report, plan: &Plan, record: &Record) -> String {
    let mut out = String::with_capacity(1 << 16);
    let verdict = report.verdict.name().replace('_', " ");
    let title = match record.project.as_str() {
        "" => verdict.clone(),
        project => format!("{project}: {verdict}"),
    };
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"{}\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} · vplan</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        policy(),
        text(&title)
    );
    head(&mut out, report, plan, record, &verdict);
    out.push_str("<main>\n");
    notes(&mut out, report);
    out.push_str(FILTER);
    timeline(&mut out, report, plan, record);
    rewrites(&mut out, report);
    matrix::section(&mut out, &record.matrix);
    steps(&mut out, report, plan, record);
    left_out(&mut out, report);
    trend::section(&mut out, &record.runs, &report.run_id);
    let _ = write!(
        out,
        "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    );
    out
}

/// The page's policy: the style and the script of vplan's own, by their hashes, and nothing else.
fn policy() -> String {
    let hash = |text: &str| encode_base64(Digest::of(text.as_bytes()).as_bytes());
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

/// The group of a step in the filter.
fn kind(status: Status, is_warning: bool) -> &'static str {
    match status {
        status if status.is_failure() && is_warning => "warning",
        status if status.is_failure() => "failed",
        Status::PassedWithWarnings | Status::Flaky => "warning",
        status if status.is_pass() => "passed",
        _ => "off",
    }
}

fn head(out: &mut String, report: &Report, plan: &Plan, record: &Record, verdict: &str) {
    let tone = if report.exit_code == 0 { "good" } else { "bad" };
    let _ = write!(
        out,
        "<header>\n<p class=\"project\">{}</p>\n<h1 class=\"{tone}\">{}</h1>\n",
        text(&record.project),
        text(verdict)
    );
    paragraph(out, "reason", report.reason.as_ref());
    let passed = report.steps.iter().filter(|s| s.status.is_pass()).count();
    let coverage = match report.coverage {
        Coverage::Full => "full",
        Coverage::Narrowed => "narrowed",
    };
    let changed = plan.request.changed.files().len();
    // Without a subject or a loop no round is counted, unless the caller counts them.
    let (steps, attempt) = (report.steps.len(), report.attempt);
    let rounds = report.no_change.is_some() || attempt > 1;
    let rounds = rounds.then(|| format!("{attempt}, {} left", report.retries_remaining));
    let contract = plan.contract.as_ref();
    out.push_str("<dl>\n");
    for (name, value) in [
        ("steps", Some(format!("{passed} of {steps} passed"))),
        ("coverage", Some(coverage.to_owned())),
        ("time", Some(duration(report.duration_ms))),
        ("exit code", Some(report.exit_code.to_string())),
        ("changed", Some(count(changed, "file"))),
        ("attempt", rounds),
        ("started", record.started_at.as_deref().map(when)),
        ("contract", contract.map(|c| c.path.clone())),
    ] {
        if let Some(value) = value {
            let _ = writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", text(&value));
        }
    }
    digests(out, report);
    out.push_str("</dl>\n</header>\n");
}

/// What tells a run from others: short, and whole on demand.
fn digests(out: &mut String, report: &Report) {
    let digest = report.plan_digest.as_ref().map(ToString::to_string);
    let run = past::short(&report.run_id);
    for (name, value, short) in [
        ("run", Some(&report.run_id), run),
        ("plan", digest.as_ref(), folded(digest.as_deref())),
        ("tree", report.tree.as_ref(), folded(report.tree.as_deref())),
    ] {
        if let Some(value) = value {
            let (short, value) = (text(short), text(value));
            let _ = writeln!(
                out,
                "<div><dt>{name}</dt><dd><details class=\"fold\"><summary><code>{short}…</code></summary><code>{value}</code></details></dd></div>"
            );
        }
    }
}

/// Writes a paragraph of a class, if there is one.
fn paragraph<T: AsRef<str>>(out: &mut String, class: &str, what: Option<T>) {
    if let Some(what) = what {
        let _ = writeln!(out, "<p class=\"{class}\">{}</p>", text(what.as_ref()));
    }
}

/// The beginning of a digest, long enough to tell it from others.
fn folded(digest: Option<&str>) -> &str {
    let digest = digest.unwrap_or_default();
    let hex = digest.rsplit(':').next().unwrap_or_default();
    hex.get(..12).unwrap_or(hex)
}

fn notes(out: &mut String, report: &Report) {
    let caveats = caveat::sorted(&report.caveats).into_iter();
    let caveats = caveats.map(|caveat| caveat.for_people());
    let notes = report.notes.iter().map(|note| note.message.clone());
    let refusals = report.refusals.iter();
    let refusals = refusals.map(|r| format!("{} was not applied: {}", r.recovery_rule, r.reason));
    for line in caveats.chain(notes).chain(refusals) {
        paragraph(out, "note", Some(line));
    }
}

/// A row for each step, a bar for each try. Places are in thousandths of the whole: whole numbers
/// look the same everywhere.
fn timeline(out: &mut String, report: &Report, plan: &Plan, record: &Record) {
    let ends = record.tries.iter().map(|t| t.to.unwrap_or(t.from));
    let whole = ends.fold(report.duration_ms.max(1), u64::max);
    let mut tries: BTreeMap<&str, Vec<&Try>> = BTreeMap::new();
    for one in &record.tries {
        tries.entry(&one.id).or_default().push(one);
    }
    if tries.is_empty() {
        return;
    }
    out.push_str("<section>\n<h2>timeline</h2>\n<div class=\"timeline\">\n");
    let warnings = warnings(plan);
    let kind_of = |id: &str| {
        let step = report.steps.iter().find(|s| s.id == id);
        step.map_or("off", |s| kind(s.status, warnings.contains(id)))
    };
    let tried = record.tries.iter().map(|t| t.id.as_str());
    let gone = tried.filter(|id| !report.steps.iter().any(|s| s.id == *id));
    let gone: BTreeSet<&str> = gone.collect();
    let ids = report.steps.iter().map(|s| s.id.as_str()).chain(gone);
    for (index, id) in ids.enumerate() {
        let Some(tries) = tries.get(id) else { continue };
        let _ = write!(
            out,
            "<a class=\"row\" href=\"#s{index}\" data-of=\"s{index}\" data-kind=\"{}\"><span class=\"id\">{}</span><svg class=\"lane\" \
             viewBox=\"0 0 10000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
            kind_of(id),
            text(id),
            count(tries.len(), "try")
        );
        for one in tries {
            bar(out, one, whole);
        }
        out.push_str("</svg></a>\n");
    }
    let _ = write!(
        out,
        "</div>\n<p class=\"axis\"><span></span><span>0</span><span>{}</span></p>\n</section>\n",
        duration(whole)
    );
}

/// A try. Its place is in hundredths of a percent of the whole.
fn bar(out: &mut String, one: &Try, whole: u64) {
    let place = |at: u64| u128::from(at) * 10_000 / u128::from(whole);
    let (from, to) = (place(one.from), place(one.to.unwrap_or(whole)));
    let took = one.to.map(|to| duration(to.saturating_sub(one.from)));
    let took = took.unwrap_or("no end".to_owned());
    let end = one.status.map_or("interrupted", Status::name);
    let title = text(&format!("try {}: {took}, {end}", one.attempt));
    // Short ones stay visible.
    let width = to.saturating_sub(from).max(40);
    let (tone, x) = (tone(one.status), from.min(10_000 - 40));
    let _ = write!(
        out,
        "<rect class=\"{tone}\" x=\"{x}\" y=\"1\" width=\"{width}\" height=\"8\"><title>{title}</title></rect>"
    );
}

/// The ids of the steps whose failure is a warning.
fn warnings(plan: &Plan) -> BTreeSet<&str> {
    let steps = plan.steps.iter();
    let soft = steps.filter(|s| s.severity == Severity::Warning);
    soft.map(|s| s.id.as_str()).collect()
}

fn rewrites(out: &mut String, report: &Report) {
    if report.rewrites.is_empty() {
        return;
    }
    let _ = write!(out, "<section>\n<h2>repairs of the plan</h2>\n");
    for rewrite in &report.rewrites {
        let (rule, reason) = (text(&rewrite.recovery_rule), text(&rewrite.reason));
        let verifies = verifies(rewrite);
        let _ = writeln!(
            out,
            "<h3>{rule} <small>{verifies}</small></h3><p>{reason}</p>"
        );
        if let Some(evidence) = &rewrite.evidence {
            let _ = writeln!(out, "<p>because: <code>{}</code></p>", text(evidence));
        }
        let (before, after) = (&rewrite.previous_commands, &rewrite.next_commands);
        for (name, list) in [("before", before), ("after", after)] {
            let lines: Vec<String> = list.iter().map(|c| text(c)).collect();
            let lines = lines.join("\n");
            let _ = writeln!(out, "<h4>{name}</h4><pre tabindex=\"0\">{lines}</pre>");
        }
    }
    out.push_str("</section>\n");
}

fn steps(out: &mut String, report: &Report, plan: &Plan, record: &Record) {
    let _ = write!(out, "<section>\n<h2>steps</h2>\n");
    let planned: BTreeMap<&str, &Step> = plan.steps.iter().map(|s| (s.id.as_str(), s)).collect();
    let mut left = LOGS_SHOWN;
    // Failures get space for their logs first.
    let mut shown: BTreeMap<usize, String> = BTreeMap::new();
    let order = |failures: bool| {
        let steps = report.steps.iter().enumerate();
        steps.filter(move |(_, s)| s.status.is_failure() == failures)
    };
    for (index, step) in order(true).chain(order(false)) {
        let Some(log) = record.logs.get(&step.id) else {
            continue;
        };
        let text = log_text(log);
        if text.len() <= left {
            left -= text.len();
            shown.insert(index, text);
        }
    }
    for (index, step) in report.steps.iter().enumerate() {
        let planned = planned.get(step.id.as_str()).copied();
        self::step(out, index, step, planned, shown.get(&index));
    }
    if !report.superseded.is_empty() {
        out.push_str("<h3>earlier evidence that no longer counts</h3>\n");
    }
    for (index, step) in report.superseded.iter().enumerate() {
        self::step(out, report.steps.len() + index, step, None, None);
    }
    out.push_str("</section>\n");
}

fn step(
    out: &mut String,
    index: usize,
    record: &StepRecord,
    step: Option<&Step>,
    log: Option<&String>,
) {
    let is_failure = record.status.is_failure();
    let open = if is_failure { " open" } else { "" };
    let time = text_if(record.tries > 0, || duration(record.duration_ms));
    let is_warning = step.is_some_and(|s| s.severity == Severity::Warning);
    let status = record.status.name().replace('_', " ");
    let _ = write!(
        out,
        "<details id=\"s{index}\" class=\"step\" data-kind=\"{}\"{open}>\n<summary><b class=\"{}\">{status}</b> <span \
         class=\"id\">{}</span> <span class=\"time\">{time}</span> <code>{}</code></summary>\n",
        kind(record.status, is_warning),
        if is_warning && is_failure {
            "warn"
        } else {
            tone(Some(record.status))
        },
        text(&record.id),
        text(&record.command)
    );
    if let Some(detail) = &record.detail {
        let _ = writeln!(out, "<p>{}</p>", text(detail));
    }
    if let Some(step) = step {
        planned(out, step);
    }
    facts(out, record);
    if let Some(reasoning) = &record.reasoning {
        let _ = writeln!(out, "<blockquote>{}</blockquote>", lines(reasoning));
    }
    for problem in &record.problems {
        paragraph(out, "note", Some(problem));
    }
    findings(out, record);
    let tests = record.news_first().1;
    for (test, _) in tests.iter().take(TESTS) {
        let _ = writeln!(out, "<h3 class=\"id\">{}</h3>", text(&test.name));
        if let Some(message) = &test.message {
            let _ = writeln!(out, "<pre tabindex=\"0\">{}</pre>", lines(message));
        }
    }
    rest(out, tests.len(), TESTS, "failed test");
    output(out, record, log.map(String::as_str), open);
    out.push_str("</details>\n");
}

/// The entry of a step in the plan.
fn planned(out: &mut String, step: &Step) {
    let (settings, command) = (text(&settings(step).join(", ")), text(&command_line(step)));
    let _ = writeln!(
        out,
        "<p class=\"faint\">{settings} · <code>{command}</code></p>"
    );
    let reason = |r| format!("<li>{}</li>", text(&sentence(r, FILES)));
    let reasons: String = step.reasons.iter().map(reason).collect();
    if !reasons.is_empty() {
        let _ = writeln!(out, "<ul class=\"why\">{reasons}</ul>");
    }
}

/// The end of a step.
fn facts(out: &mut String, record: &StepRecord) {
    let mut facts: Vec<String> = Vec::new();
    let tests = record.tests.map(|t| (t.passed, t.failed, t.skipped));
    facts.extend(tests.map(|(passed, failed, skipped)| {
        format!("{passed} tests passed, {failed} failed, {skipped} skipped")
    }));
    facts.extend(record.errors.map(|n| count(n, "error")));
    facts.extend(record.warnings.map(|n| count(n, "warning")));
    facts.extend(record.exit_code.map(|code| format!("exit code {code}")));
    facts.extend(record.signal.clone());
    facts.extend((record.tries > 1).then(|| format!("{} tries", record.tries)));
    facts.extend((record.leaked > 0).then(|| {
        let processes = count(record.leaked, "process");
        format!("{processes} left behind and stopped")
    }));
    let mut facts: Vec<String> = facts.iter().map(|fact| text(fact)).collect();
    // Only vplan's own words may wrap after underscores.
    facts.extend(record.failure_code.as_ref().map(|code| match code.known() {
        Some(_) => text(code).replace('_', "_<wbr>"),
        None => text(code),
    }));
    if !facts.is_empty() {
        let _ = writeln!(out, "<p class=\"faint\">{}</p>", facts.join(" · "));
    }
}

/// A finding on two lines: its place, what it is; what it says. A table would have no room for four
/// columns on a small screen.
fn findings(out: &mut String, record: &StepRecord) {
    if record.diagnostics.is_empty() {
        return;
    }
    out.push_str("<ul class=\"findings\">\n");
    let all = record.news_first().0;
    for (finding, known) in all.iter().take(FINDINGS).copied() {
        let (level, tone) = match finding.severity {
            Level::Error => ("error", "bad"),
            Level::Warning => ("warning", "warn"),
        };
        let _ = writeln!(
            out,
            "<li><code class=\"place\">{}</code> <b class=\"{tone}\">{level}{}</b> <code>{}</code><p>{}</p></li>",
            text(&place(finding)),
            if known { ", known" } else { "" },
            text(finding.code.as_deref().unwrap_or("")),
            lines(&finding.message)
        );
    }
    out.push_str("</ul>\n");
    rest(out, all.len(), FINDINGS, "finding");
}

/// Says how many the page does not list.
fn rest(out: &mut String, all: usize, listed: usize, word: &str) {
    let more = all.saturating_sub(listed);
    if more > 0 {
        let more = count(more, &format!("more {word}"));
        let _ = writeln!(
            out,
            "<p class=\"note\">{more}, in the run's report.json</p>"
        );
    }
}

fn place(finding: &Finding) -> String {
    let file = finding.file.as_deref().unwrap_or("");
    let line = framed(":", finding.line, "");
    format!("{file}{line}{}", framed(":", finding.column, ""))
}

/// The output of a step: as much as its log has, or as its record has.
fn output(out: &mut String, record: &StepRecord, log: Option<&str>, open: &str) {
    if let Some(log) = log {
        let _ = writeln!(
            out,
            "<details class=\"log\"{open}><summary>output</summary><pre tabindex=\"0\">{log}</pre></details>"
        );
        return;
    }
    for (name, tail) in [
        ("standard output", &record.stdout_tail),
        ("standard error", &record.stderr_tail),
    ] {
        if !tail.trim().is_empty() {
            let tail = lines(tail);
            let _ = writeln!(
                out,
                "<h3>{name}, its end</h3><pre tabindex=\"0\">{tail}</pre>"
            );
        }
    }
}

fn left_out(out: &mut String, report: &Report) {
    if report.omitted.is_empty() {
        return;
    }
    let _ = write!(out, "<section>\n<h2>left out</h2>\n<ul class=\"left\">\n");
    for omitted in &report.omitted {
        let class = if omitted.narrows { "warn id" } else { "id" };
        let (id, why) = (text(&omitted.id), text(&omission(omitted)));
        let _ = writeln!(
            out,
            "<li data-kind=\"out\"><b class=\"{class}\">{id}</b> {why}</li>"
        );
    }
    out.push_str("</ul>\n</section>\n");
}

fn log_text(log: &Log) -> String {
    let mut shown = lines(&inert(&log.head));
    if log.omitted > 0 {
        let _ = write!(shown, "\n<b>… {} bytes left out …</b>\n", log.omitted);
    }
    shown.push_str(&lines(&inert(&log.tail)));
    shown
}

fn tone(status: Option<Status>) -> &'static str {
    match status {
        Some(Status::Passed | Status::Cached) => "good",
        Some(Status::PassedWithWarnings | Status::Flaky) => "warn",
        Some(Status::Failed | Status::TimedOut | Status::Errored) => "bad",
        Some(Status::Skipped | Status::NotRun) | None => "off",
    }
}

const STYLE: &str = include_str!("html.css");
const SCRIPT: &str = include_str!("html.js");

/// The form that the script shows and answers. Without the script it stays hidden.
const FILTER: &str = "<form id=\"filter\" role=\"search\" hidden>\n<fieldset><legend>show</legend>\
    <label><input type=\"radio\" name=\"show\" value=\"all\" checked> all</label>\
    <label><input type=\"radio\" name=\"show\" value=\"failed\"> failed</label>\
    <label><input type=\"radio\" name=\"show\" value=\"warning\"> warnings</label>\
    <label><input type=\"radio\" name=\"show\" value=\"passed\"> passed</label>\
    <label><input type=\"radio\" name=\"show\" value=\"off\"> not run</label>\
    <label><input type=\"radio\" name=\"show\" value=\"out\"> left out</label></fieldset>\n\
    <label class=\"find\">search <input id=\"find\" type=\"search\" autocomplete=\"off\"></label>\n\
    <output id=\"found\" aria-live=\"polite\"></output>\n</form>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_style_and_script_and_nothing_else() {
        // Of `printf alert | openssl dgst -sha256 -binary | base64`.
        assert_eq!(
            encode_base64(Digest::of(b"alert").as_bytes()),
            "35BQWN1npAn++BSA6B5HNlcrDttNf7mHxpXNB+Jg7IE="
        );
        let policy = policy();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"));
        assert!(!policy.contains("unsafe"), "{policy}");
        // Neither can end its element, whatever a parser makes of it.
        for own in [STYLE, SCRIPT] {
            assert!(!own.contains("</") && !own.contains("<!--"));
        }
        assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("eval"));
    }

    #[test]
    fn folds() {
        let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
        assert_eq!(folded(Some(&digest)), "0123456789ab");
        assert_eq!((folded(Some("abc")), folded(None)), ("abc", ""));
    }
}
