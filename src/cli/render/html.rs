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
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use vplan_base::canon::Digest;
use vplan_base::inert::inert;
use vplan_base::word::{encode_base64, framed, text_if, visible};
use vplan_check::Severity;
use vplan_check::outcome::Status;
use vplan_check::results::{Finding, Level};
use vplan_plan::audit::matrix::Matrix;
use vplan_plan::explain::sentence;
use vplan_plan::explain::text::{command_line, omission, settings};
use vplan_plan::{Coverage, Plan, Step, caveat};
use vplan_run::record::StepRecord;
use vplan_run::report::Report;
use vplan_run::run_summary::{self, Summary};
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
pub struct HtmlRecord {
    /// The name of the project: that of the repository's folder. Foreign text.
    pub project: String,
    /// What observed steps read.
    pub matrix: Matrix,
    /// The last recorded runs of the same contract, oldest first, at most `RUNS_SHOWN`.
    pub runs: Vec<Summary>,
    /// The time of the run's start, by the wall clock (RFC 3339).
    pub started_at: Option<String>,
    /// The tries, in the order in which they began.
    pub tries: Vec<HtmlTry>,
    /// The output of steps, by step id: raw bytes, bounded by the caller to about `LOG_SHOWN`,
    /// and the number of bytes omitted in the middle.
    pub logs: BTreeMap<String, HtmlLog>,
}

/// A try, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtmlTry {
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
pub struct HtmlLog {
    /// The first bytes, or all.
    pub head: Vec<u8>,
    /// The number of omitted bytes.
    pub omitted: u64,
    /// The last bytes.
    pub tail: Vec<u8>,
}

/// Renders the whole page.
pub fn page(report: &Report, plan: &Plan, record: &HtmlRecord) -> String {
    let verdict = report.verdict.name().replace('_', " ");
    let title = match record.project.as_str() {
        "" => verdict.clone(),
        project => format!("{project}: {verdict}"),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (text(&title)) " · vplan" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(report, plan, record, &verdict))
                main {
                    (notes(report))
                    (filter())
                    (timeline(report, plan, record))
                    (rewrites(report))
                    (matrix::section(&record.matrix))
                    (steps(report, plan, record))
                    (left_out(report))
                    (trend::section(&record.runs, &report.run_id))
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// The page's policy: the style and the script of vplan's own, by their hashes, and nothing else.
fn policy() -> String {
    let hash = |text: &str| encode_base64(Digest::hash(text.as_bytes()).as_bytes());
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

fn head(report: &Report, plan: &Plan, record: &HtmlRecord, verdict: &str) -> Markup {
    let tone = if report.exit_code == 0 { "good" } else { "bad" };
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
    let facts = [
        ("steps", Some(format!("{passed} of {steps} passed"))),
        ("coverage", Some(coverage.to_owned())),
        ("time", Some(duration(report.duration_ms))),
        ("exit code", Some(report.exit_code.to_string())),
        ("changed", Some(count(changed, "file"))),
        ("attempt", rounds),
        ("started", record.started_at.as_deref().map(when)),
        ("contract", contract.map(|c| c.path.clone())),
    ];
    // What tells a run from others: short, and whole on demand.
    let digest = report.plan_digest.as_ref().map(ToString::to_string);
    let run = run_summary::short(&report.run_id);
    let digests = [
        ("run", Some(&report.run_id), run),
        ("plan", digest.as_ref(), folded(digest.as_deref())),
        ("tree", report.tree.as_ref(), folded(report.tree.as_deref())),
    ];
    html! {
        header {
            p.project { (text(&record.project)) }
            h1 class=(tone) { (text(verdict)) }
            @if let Some(reason) = &report.reason { p.reason { (text(reason)) } }
            dl {
                @for (name, value) in &facts {
                    @if let Some(value) = value { div { dt { (name) } dd { (text(value)) } } }
                }
                @for (name, value, short) in &digests {
                    @if let Some(value) = value {
                        div { dt { (name) } dd { details.fold { summary { code { (text(short)) "…" } } code { (text(value)) } } } }
                    }
                }
            }
        }
    }
}

/// The beginning of a digest, long enough to tell it from others.
fn folded(digest: Option<&str>) -> &str {
    let digest = digest.unwrap_or_default();
    let hex = digest.rsplit(':').next().unwrap_or_default();
    hex.get(..12).unwrap_or(hex)
}

fn notes(report: &Report) -> Markup {
    let caveats = caveat::sorted(&report.caveats).into_iter();
    let caveats = caveats.map(|caveat| caveat.for_people());
    let notes = report.notes.iter().map(|note| note.message.clone());
    let refusals = report.refusals.iter();
    let refusals = refusals.map(|r| format!("{} was not applied: {}", r.recovery_rule, r.reason));
    html! { @for line in caveats.chain(notes).chain(refusals) { p.note { (text(&line)) } } }
}

/// A row for each step, a bar for each try. Places are in thousandths of the whole: whole numbers
/// look the same everywhere.
fn timeline(report: &Report, plan: &Plan, record: &HtmlRecord) -> Markup {
    let ends = record.tries.iter().map(|t| t.to.unwrap_or(t.from));
    let whole = ends.fold(report.duration_ms.max(1), u64::max);
    let mut tries: BTreeMap<&str, Vec<&HtmlTry>> = BTreeMap::new();
    for one in &record.tries {
        tries.entry(&one.id).or_default().push(one);
    }
    let warnings = warnings(plan);
    let kind_of = |id: &str| {
        let step = report.steps.iter().find(|s| s.id == id);
        step.map_or("off", |s| kind(s.status, warnings.contains(id)))
    };
    let tried = record.tries.iter().map(|t| t.id.as_str());
    let gone = tried.filter(|id| !report.steps.iter().any(|s| s.id == *id));
    let gone: BTreeSet<&str> = gone.collect();
    let ids = report.steps.iter().map(|s| s.id.as_str()).chain(gone);
    let rows = ids.enumerate();
    let rows = rows.filter_map(|(index, id)| Some((index, id, tries.get(id)?)));
    html! {
        @if !tries.is_empty() {
            section {
                h2 { "timeline" }
                div.timeline {
                    @for (index, id, tries) in rows {
                        a.row href={ "#s" (index) } data-of={ "s" (index) } data-kind=(kind_of(id)) {
                            span.id { (text(id)) }
                            svg.lane viewBox="0 0 10000 10" preserveAspectRatio="none" role="img" aria-label=(count(tries.len(), "try")) {
                                @for one in tries { (bar(one, whole)) }
                            }
                        }
                    }
                }
                p.axis { span {} span { "0" } span { (duration(whole)) } }
            }
        }
    }
}

/// A try. Its place is in hundredths of a percent of the whole.
fn bar(one: &HtmlTry, whole: u64) -> Markup {
    let place = |at: u64| u128::from(at) * 10_000 / u128::from(whole);
    let (from, to) = (place(one.from), place(one.to.unwrap_or(whole)));
    let took = one.to.map(|to| duration(to.saturating_sub(one.from)));
    let took = took.unwrap_or("no end".to_owned());
    let end = one.status.map_or("interrupted", Status::name);
    let title = text(&format!("try {}: {took}, {end}", one.attempt));
    // Short ones stay visible.
    let width = to.saturating_sub(from).max(40);
    let (tone, x) = (tone(one.status), from.min(10_000 - 40));
    html! { rect class=(tone) x=(x) y="1" width=(width) height="8" { title { (title) } } }
}

/// The ids of the steps whose failure is a warning.
fn warnings(plan: &Plan) -> BTreeSet<&str> {
    let steps = plan.steps.iter();
    let soft = steps.filter(|s| s.severity == Severity::Warning);
    soft.map(|s| s.id.as_str()).collect()
}

fn rewrites(report: &Report) -> Markup {
    html! {
        @if !report.rewrites.is_empty() {
            section {
                h2 { "repairs of the plan" }
                @for rewrite in &report.rewrites {
                    h3 { (text(&rewrite.recovery_rule)) " " small { (verifies(rewrite)) } }
                    p { (text(&rewrite.reason)) }
                    @if let Some(evidence) = &rewrite.evidence { p { "because: " code { (text(evidence)) } } }
                    @for (name, list) in [("before", &rewrite.previous_commands), ("after", &rewrite.next_commands)] {
                        h4 { (name) }
                        pre tabindex="0" { (lines(&list.iter().map(visible).collect::<Vec<_>>().join("\n"))) }
                    }
                }
            }
        }
    }
}

fn steps(report: &Report, plan: &Plan, record: &HtmlRecord) -> Markup {
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
    html! {
        section {
            h2 { "steps" }
            @for (index, step) in report.steps.iter().enumerate() {
                (self::step(index, step, planned.get(step.id.as_str()).copied(), shown.get(&index)))
            }
            @if !report.superseded.is_empty() { h3 { "earlier evidence that no longer counts" } }
            @for (index, step) in report.superseded.iter().enumerate() {
                (self::step(report.steps.len() + index, step, None, None))
            }
        }
    }
}

fn step(index: usize, record: &StepRecord, step: Option<&Step>, log: Option<&String>) -> Markup {
    let is_failure = record.status.is_failure();
    let time = text_if(record.tries > 0, || duration(record.duration_ms));
    let is_warning = step.is_some_and(|s| s.severity == Severity::Warning);
    let tone = match is_warning && is_failure {
        true => "warn",
        false => tone(Some(record.status)),
    };
    let tests = record.news_first().1;
    html! {
        details.step id={ "s" (index) } data-kind=(kind(record.status, is_warning)) open[is_failure] {
            summary {
                b class=(tone) { (record.status.name().replace('_', " ")) } " "
                span.id { (text(&record.id)) } " "
                span.time { (time) } " "
                code { (text(&record.command)) }
            }
            @if let Some(detail) = &record.detail { p { (text(detail)) } }
            @if let Some(step) = step { (self::planned(step)) }
            (facts(record))
            @if let Some(reasoning) = &record.reasoning { blockquote { (lines(reasoning)) } }
            @for problem in &record.problems { p.note { (text(problem)) } }
            (findings(record))
            @for (test, _) in tests.iter().take(TESTS) {
                h3.id { (text(&test.name)) }
                @if let Some(message) = &test.message { pre tabindex="0" { (lines(message)) } }
            }
            (rest(tests.len(), TESTS, "failed test"))
            (output(record, log, is_failure))
        }
    }
}

/// The entry of a step in the plan.
fn planned(step: &Step) -> Markup {
    html! {
        p.faint { (text(&settings(step).join(", "))) " · " code { (text(&command_line(step))) } }
        @if !step.reasons.is_empty() {
            ul.why { @for reason in &step.reasons { li { (text(&sentence(reason, FILES))) } } }
        }
    }
}

/// The end of a step.
fn facts(record: &StepRecord) -> Markup {
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
    let mut facts: Vec<String> = facts.iter().map(|fact| text(fact).0).collect();
    // Only vplan's own words may wrap after underscores.
    facts.extend(
        record
            .failure_code
            .as_ref()
            .map(|code| match code.to_known() {
                Some(_) => text(code).0.replace('_', "_<wbr>"),
                None => text(code).0,
            }),
    );
    html! { @if !facts.is_empty() { p.faint { (PreEscaped(facts.join(" · "))) } } }
}

/// A finding on two lines: its place, what it is; what it says. A table would have no room for four
/// columns on a small screen.
fn findings(record: &StepRecord) -> Markup {
    let all = record.news_first().0;
    let tone = |finding: &Finding| match finding.severity {
        Level::Error => ("error", "bad"),
        Level::Warning => ("warning", "warn"),
    };
    html! {
        @if !record.diagnostics.is_empty() {
            ul.findings {
                @for (finding, known) in all.iter().take(FINDINGS).copied() {
                    @let (level, tone) = tone(finding);
                    li {
                        code.place { (text(&place(finding))) } " "
                        b class=(tone) { (level) @if known { ", known" } } " "
                        code { (text(finding.code.as_deref().unwrap_or(""))) }
                        p { (lines(&finding.message)) }
                    }
                }
            }
            (rest(all.len(), FINDINGS, "finding"))
        }
    }
}

/// Says how many the page does not list.
fn rest(all: usize, listed: usize, word: &str) -> Markup {
    let more = all.saturating_sub(listed);
    let text = count(more, &format!("more {word}"));
    html! { @if more > 0 { p.note { (text) ", in the run's report.json" } } }
}

fn place(finding: &Finding) -> String {
    let file = finding.file.as_deref().unwrap_or("");
    let line = framed(":", finding.line, "");
    format!("{file}{line}{}", framed(":", finding.column, ""))
}

/// The output of a step: as much as its log has, or as its record has.
fn output(record: &StepRecord, log: Option<&String>, is_open: bool) -> Markup {
    let tails = [
        ("standard output", &record.stdout_tail),
        ("standard error", &record.stderr_tail),
    ];
    let tails = tails
        .into_iter()
        .filter(|(_, tail)| !tail.trim().is_empty());
    html! {
        @if let Some(log) = log {
            details.log open[is_open] { summary { "output" } pre tabindex="0" { (PreEscaped(log)) } }
        } @else {
            @for (name, tail) in tails {
                h3 { (name) ", its end" }
                pre tabindex="0" { (lines(tail)) }
            }
        }
    }
}

fn left_out(report: &Report) -> Markup {
    html! {
        @if !report.omitted.is_empty() {
            section {
                h2 { "left out" }
                ul.left {
                    @for omitted in &report.omitted {
                        li data-kind="out" {
                            b.id.warn[omitted.narrows] { (text(&omitted.id)) } " " (text(&omission(omitted)))
                        }
                    }
                }
            }
        }
    }
}

fn log_text(log: &HtmlLog) -> String {
    let mut shown = lines(&inert(&log.head)).0;
    if log.omitted > 0 {
        let _ = write!(shown, "\n<b>… {} bytes left out …</b>\n", log.omitted);
    }
    shown.push_str(&lines(&inert(&log.tail)).0);
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
fn filter() -> Markup {
    let kinds = [
        ("all", "all"),
        ("failed", "failed"),
        ("warning", "warnings"),
        ("passed", "passed"),
        ("off", "not run"),
        ("out", "left out"),
    ];
    html! {
        form id="filter" role="search" hidden {
            fieldset {
                legend { "show" }
                @for (kind, shown) in kinds {
                    label { input type="radio" name="show" value=(kind) checked[kind == "all"]; " " (shown) }
                }
            }
            label.find { "search " input id="find" type="search" autocomplete="off"; }
            output id="found" aria-live="polite" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_style_and_script_and_nothing_else() {
        // Of `printf alert | openssl dgst -sha256 -binary | base64`.
        assert_eq!(
            encode_base64(Digest::hash(b"alert").as_bytes()),
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
