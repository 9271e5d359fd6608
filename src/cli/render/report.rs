//! Renders a report for people: failures and their reasons, repairs, omitted checks, and the
//! verdict last.

use super::style::{Tone, count, cut, duration, mark, marked, paint, widest};
use super::wrap::wrapped;
use crate::render::MANY;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::word::{framed, text_if, visible};
use vplan_check::Severity;
use vplan_check::agreement::{BY_EXIT_CODE, located, short};
use vplan_check::confine::{Confined, Confinement, Guarantee};
use vplan_check::difference::{Difference, DifferenceKind};
use vplan_check::outcome::{Cause, Status};
use vplan_check::results::{Level, TestCounts};
use vplan_plan::explain::text;
use vplan_plan::{Coverage, Plan, Refusal, Rewrite};
use vplan_run::feedback::Excerpt;
use vplan_run::record::{INTERRUPTED, StepRecord};
use vplan_run::report::Report;
use vplan_run::stop::verifies;
use vplan_run::verdict::Verdict;

/// Lines of each stream that are shown of a failure.
const LINES: usize = 20;

/// Columns of a step's line for everything but its id and its text: sign, time and gaps.
const BESIDE: usize = 15;

/// Findings and failed tests that are shown of a failure.
const FOUND: usize = 5;

/// The form of a report.
#[derive(Clone, Copy, Debug)]
pub struct ReportStyle<'a> {
    /// In colour.
    pub color: bool,
    /// Columns that a line must not pass, if there are any.
    pub columns: Option<usize>,
    /// Steps whose line the reader has seen already, with the status that it gave.
    pub statuses: &'a BTreeMap<String, Status>,
    /// Only what went wrong.
    pub quiet: bool,
}

/// Renders the end of a run for people. `records` is the directory of the run's record, if it has
/// one.
pub fn report(
    report: &Report,
    plan: &Plan,
    records: Option<&str>,
    look: ReportStyle<'_>,
) -> String {
    let (color, columns) = (look.color, look.columns);
    let mut out = String::new();
    if look.quiet && report.exit_code == 0 {
        return out;
    }
    for rewrite in &report.rewrites {
        out.push_str(&self::rewrite(rewrite, color));
    }
    let rows = ReportRows::new(plan, columns, color);
    let is_plain = |s: &StepRecord| s.status == Status::Passed && report.steps.len() > MANY;
    let is_new = |s: &&StepRecord| look.statuses.get(&s.id) != Some(&s.status) && !is_plain(s);
    for step in report.steps.iter().filter(is_new) {
        out.push_str(&rows.line(step));
    }
    let plain = report.steps.iter().filter(|s| is_plain(s)).count();
    if plain > 0 {
        let (sign, steps) = (paint(color, Tone::Good, "✓"), count(plain, "step"));
        out += &format!("  {sign} {steps} passed; `--format json` lists them\n");
    }
    for note in &report.notes {
        out.push_str(&marked(color, Tone::Warn, "!", &note.message));
    }
    out.push_str(&unread(report, color));
    out.push_str(&unconfined(report, color));
    for step in report.steps.iter().filter(|s| s.status.is_failure()) {
        out.push_str(&failure(step, report, records, &rows));
    }
    out.push_str(&verdict(report, plan, &rows));
    wrapped(&out, columns)
}

/// Renders the reasons why a passed run verified less than requested, except its caveats: repairs
/// of the plan, skipped steps, unreadable output, missing confinement.
pub fn less(report: &Report) -> String {
    let narrowing = |r: &&Rewrite| r.coverage == Coverage::Narrowed;
    let rewrites = report.rewrites.iter().filter(narrowing);
    let mut out: String = rewrites.map(|r| rewrite(r, false)).collect();
    for step in report.steps.iter().filter(|s| s.status == Status::Skipped) {
        let detail = framed(": ", step.detail.as_ref().map(visible), "");
        out.push_str(&format!("  ! {} was skipped{detail}\n", visible(&step.id)));
    }
    out + &unread(report, false) + &unconfined(report, false)
}

/// Formats the repairs of a plan that were not applied, a line each.
pub fn refusals(refusals: &[Refusal], color: bool) -> String {
    let what = |r: &Refusal| format!("{} was not applied: {}", r.recovery_rule, r.reason);
    let line = |refusal: &Refusal| marked(color, Tone::Faint, "↻", &what(refusal));
    refusals.iter().map(line).collect()
}

/// One use of a rule: what it did and what that means.
pub fn rewrite(rewrite: &Rewrite, color: bool) -> String {
    let coverage = verifies(rewrite);
    let head = format!(
        "plan repaired: {}",
        visible(rewrite.recovery_rule.as_bytes())
    );
    let (sign, head) = (
        paint(color, Tone::Warn, "↻"),
        paint(color, Tone::Strong, &head),
    );
    let evidence = rewrite.evidence.as_ref().map(visible);
    let evidence = framed("    because: ", evidence, "\n");
    let mut out = format!("  {sign} {head} ({coverage})\n{evidence}");
    let (before, after) = (&rewrite.previous_commands, &rewrite.next_commands);
    for (sign, tone, from, to) in [
        ("-", Tone::Bad, before, after),
        ("+", Tone::Good, after, before),
    ] {
        // The same command may be in a plan twice.
        let mut left: Vec<&String> = to.iter().collect();
        for command in from {
            match left.iter().position(|c| *c == command) {
                Some(i) => drop(left.swap_remove(i)),
                None => out.push_str(&format!("  {}", marked(color, tone, sign, command))),
            }
        }
    }
    if BTreeSet::from_iter(before) == BTreeSet::from_iter(after) {
        let order: Vec<String> = after.iter().map(visible).collect();
        out.push_str(&format!("    now in this order: {}\n", order.join("; ")));
    }
    out
}

/// Steps on a line each, below each other.
#[derive(Debug)]
pub struct ReportRows {
    color: bool,
    /// Of the longest id.
    width: usize,
    /// The rest of a line after id and time.
    room: usize,
    /// Ids of the steps whose failure is a warning.
    warnings: BTreeSet<String>,
}

impl ReportRows {
    /// For the steps of a plan.
    pub fn new(plan: &Plan, columns: Option<usize>, color: bool) -> Self {
        let width = widest(plan.steps.iter().map(|s| visible(&s.id)))
            .min(columns.map_or(40, |columns| (columns * 2 / 5).clamp(12, 40)));
        let warnings = plan.steps.iter();
        let warnings = warnings.filter(|s| s.severity == Severity::Warning);
        Self {
            color,
            width,
            room: columns.map_or(100, |columns| columns.saturating_sub(width + BESIDE).max(8)),
            warnings: warnings.map(|s| s.id.clone()).collect(),
        }
    }

    /// An id, padded or cut.
    pub fn id(&self, id: &str) -> String {
        let id = cut(&visible(id), self.width);
        format!("{id:<width$}", width = self.width)
    }

    fn is_warning(&self, step: &StepRecord) -> bool {
        step.status.is_failure() && self.warnings.contains(&step.id)
    }

    fn mark(&self, step: &StepRecord) -> String {
        let (sign, tone) = if self.is_warning(step) || is_interrupted(step) {
            ("!", Tone::Warn)
        } else {
            mark(step.status)
        };
        paint(self.color, tone, sign)
    }

    /// One step.
    pub fn line(&self, step: &StepRecord) -> String {
        let time = text_if(step.tries > 0, || duration(step.duration_ms));
        let mut what = match (step.status, &step.detail) {
            (Status::Passed, None) => match step.tests.filter(|tests| tests.ran() > 0) {
                Some(tests) => format!("{} ({})", visible(&step.command), counts(&tests)),
                None => visible(&step.command),
            },
            _ if is_interrupted(step) => "interrupted: it was stopped".to_owned(),
            (Status::NotRun, Some(detail)) => format!("not run: {detail}"),
            (Status::Skipped, Some(detail)) => format!("skipped: {detail}"),
            (Status::Flaky, Some(detail)) if step.tries < 2 => format!("flaky: {detail}"),
            (Status::Flaky, _) => format!("flaky: passed on try {}", step.tries),
            (Status::Passed | Status::PassedWithWarnings, Some(detail)) => {
                // What was not read whole says itself how many there were.
                let is_whole = step.reason != Some(Cause::OutputUnread);
                let tests = step.tests.filter(|tests| is_whole && tests.ran() > 0);
                let tests = framed("", tests.map(|tests| counts(&tests)), ", ");
                format!("{} ({tests}{detail})", visible(&step.command))
            }
            (_, Some(detail)) => detail.clone(),
            (status, None) => status.name().replace('_', " "),
        };
        if self.is_warning(step) {
            what = format!("only a warning: {what}");
        }
        if step.leaked > 0 {
            let processes = count(step.leaked, "process");
            let were = if step.leaked == 1 { "was" } else { "were" };
            what.push_str(&format!("; left {processes} behind, which {were} stopped"));
        }
        let what = paint(self.color, Tone::Faint, &cut(&what, self.room));
        let (mark, id) = (self.mark(step), self.id(&step.id));
        format!("  {mark} {id}  {time:>7}  {what}\n")
    }
}

/// Whether the step was running when the run was interrupted.
fn is_interrupted(step: &StepRecord) -> bool {
    step.status == Status::NotRun
        && step.reason == Some(Cause::Cancelled)
        && step.detail.as_deref() == Some(INTERRUPTED)
}

fn failure(step: &StepRecord, report: &Report, records: Option<&str>, rows: &ReportRows) -> String {
    let color = rows.color;
    let title = format!("{}: {}", visible(&step.id), visible(&step.command));
    let (mark, title) = (rows.mark(step), paint(color, Tone::Strong, &title));
    let detail = step.detail.as_deref().unwrap_or(step.status.name());
    let code = framed(" (", step.failure_code.as_ref(), ")");
    let mut out = format!("\n{mark} {title}\n  {detail}{code}\n");
    out.push_str(&failures_and_findings(step, color));
    let ends = match &step.evidence {
        Some(evidence) => [&evidence.stdout, &evidence.stderr].map(|t| Excerpt::new(t, 2048)),
        None => [&step.stdout_tail, &step.stderr_tail].map(|t| Excerpt {
            head: t.clone(),
            ..Excerpt::default()
        }),
    };
    for (name, excerpt) in ["stdout", "stderr"].iter().zip(&ends) {
        out.push_str(&block(name, excerpt, color));
    }
    if let (Some(log), Some(records)) = (&step.log, records) {
        let whole = format!("whole output: {records}/{log}");
        out += &format!("  {}\n", paint(color, Tone::Faint, &whole));
    }
    let told = report.feedback.as_ref().and_then(|f| f.get(&step.id));
    if let Some(told) = told.filter(|told| !told.suggestion.is_empty()) {
        out.push_str(&marked(color, Tone::Command, "→", &told.suggestion));
    }
    out
}

/// `14 tests`, `14 tests, 2 skipped`.
fn counts(tests: &TestCounts) -> String {
    let skipped = Some(tests.skipped).filter(|skipped| *skipped > 0);
    let skipped = framed(", ", skipped, " skipped");
    format!("{}{skipped}", count(tests.ran(), "test"))
}

/// Lists the steps that passed although their output, or a part of it, could not be read.
fn unread(report: &Report, color: bool) -> String {
    let is_unread = |s: &&StepRecord| s.status.is_pass() && s.reason == Some(Cause::OutputUnread);
    let unread = report.steps.iter().filter(is_unread);
    let detail = |s: &StepRecord| s.detail.clone().unwrap_or_default();
    let (whole, parts): (Vec<_>, Vec<_>) =
        unread.partition(|s| detail(s).starts_with(BY_EXIT_CODE));
    let sign = paint(color, Tone::Warn, "!");
    let mut out = String::new();
    for step in parts.iter().take(FOUND) {
        let id = visible(&step.id);
        out.push_str(&format!("  {sign} {id}: {}\n", visible(detail(step))));
    }
    if parts.len() > FOUND {
        let more = parts.len() - FOUND;
        out += &format!("  {sign} not all output was read of {more} more\n");
    }
    let ids: Vec<String> = whole.iter().map(|s| visible(&s.id)).collect();
    if ids.is_empty() {
        return out;
    }
    let more = more(ids.len().saturating_sub(FOUND) as u64);
    let shown = ids.get(..FOUND).unwrap_or(&ids).join(", ");
    out.push_str(&format!(
        "  {sign} {BY_EXIT_CODE}, what they wrote was not understood: {shown}{more}\n"
    ));
    out
}

/// Lists the steps that ran with less confinement than they asked for.
fn unconfined(report: &Report, color: bool) -> String {
    let line = |step: &StepRecord| {
        let id = visible(&step.id);
        let how = step.sandbox.as_ref().map(confined).unwrap_or_default();
        format!("  {} {id}: {how}\n", paint(color, Tone::Warn, "!"))
    };
    report.steps.iter().filter(|s| lacks(s)).map(line).collect()
}

/// Whether something that a step asked for did not hold.
fn lacks(step: &StepRecord) -> bool {
    (step.sandbox.as_ref()).is_some_and(|sandbox| !sandbox.missing.is_empty())
}

/// Returns how a step was to be confined, what held of that, and what did not.
pub fn confined(sandbox: &Confined) -> String {
    let asked = text::confined(Confinement {
        level: sandbox.asked,
        network: sandbox.network,
    });
    let list = |called: &str, guarantees: &[Guarantee]| {
        let words: Vec<&str> = guarantees.iter().map(|g| g.name()).collect();
        (!words.is_empty()).then(|| format!("; {called} {}", words.join(", ")))
    };
    let held = list("held:", &sandbox.reached).unwrap_or_default();
    asked + &held + &list("not held:", &sandbox.missing).unwrap_or_default()
}

fn more(number: u64) -> String {
    text_if(number > 0, || format!(", and {number} more"))
}

/// The first failed tests and the first findings of a failed step.
fn failures_and_findings(step: &StepRecord, color: bool) -> String {
    let mut out = String::new();
    let mut line = |sign: &str, tone, text: &str| {
        out.push_str(&format!("    {} {text}\n", paint(color, tone, sign)))
    };
    let (findings, tests) = step.news_first();
    let mark = |known: bool| if known { " (known)" } else { "" };
    for (test, known) in tests.into_iter().take(FOUND) {
        let place = test.file.as_deref().map(short).unwrap_or_default();
        let number = framed(":", test.line, "");
        let place = text_if(!place.is_empty(), || format!(" ({place}{number})"));
        let message = test.message.as_deref().map(short).filter(|m| !m.is_empty());
        let (name, message) = (short(&test.name), framed(": ", message, ""));
        let what = format!("{name}{place}{message}{}", mark(known));
        line("✗", Tone::Bad, &what);
    }
    let failed = step.tests.map_or(0, |t| t.failed);
    if failed > FOUND as u64 && !step.failed_tests.is_empty() {
        let more = format!("and {} more", failed - FOUND as u64);
        line("…", Tone::Faint, &more);
    }
    // Warnings are in the way of errors, unless they are what it failed for.
    let (severity, sign, tone, total) = match step.reason {
        Some(Cause::Warnings) => (Level::Warning, "!", Tone::Warn, step.warnings),
        _ => (Level::Error, "✗", Tone::Bad, step.errors),
    };
    let mut shown = 0;
    let of_level = findings.into_iter().filter(|(f, _)| f.severity == severity);
    for (finding, known) in of_level.take(FOUND) {
        line(sign, tone, &format!("{}{}", located(finding), mark(known)));
        shown += 1;
    }
    let rest = total.unwrap_or(0).saturating_sub(shown);
    if shown > 0 && rest > 0 {
        line("…", Tone::Faint, &format!("and {rest} more"));
    }
    for problem in step.problems.iter().take(FOUND) {
        line("!", Tone::Warn, &short(problem));
    }
    out
}

/// The last lines of a stream, each after a bar, so that they cannot pass for vplan's own words.
fn block(name: &str, excerpt: &Excerpt, color: bool) -> String {
    let text = match excerpt.tail.as_str() {
        "" => &excerpt.head,
        tail => tail,
    };
    let lines: Vec<&str> = text.trim_end().lines().collect();
    if lines.iter().all(|l| l.trim().is_empty()) {
        return String::new();
    }
    let skipped = lines.len().saturating_sub(LINES);
    let mut out = String::new();
    if skipped > 0 || excerpt.omitted_bytes > 0 {
        let title = paint(color, Tone::Faint, &format!("{name}, its last lines:"));
        out.push_str(&format!("  {title}\n"));
    }
    for line in lines.iter().skip(skipped) {
        let line = format!("│ {}", visible(line));
        out.push_str(&format!("  {}\n", line.trim_end()));
    }
    out
}

/// Counts the steps by their ends, those that there are.
fn numbers(report: &Report, rows: &ReportRows) -> Vec<String> {
    let number =
        |wanted: &dyn Fn(&StepRecord) -> bool| report.steps.iter().filter(|s| wanted(s)).count();
    let of = |status: Status| number(&|s| s.status == status);
    let blocking =
        |wanted: &[Status]| number(&|s| wanted.contains(&s.status) && !rows.is_warning(s));
    let failed = blocking(&[Status::Failed, Status::TimedOut]);
    let interrupted = number(&is_interrupted);
    [
        (number(&|s| s.status.is_pass()), "passed"),
        (of(Status::Flaky), "of them flaky"),
        (of(Status::Cached), "of them in earlier runs"),
        (failed, "failed"),
        (blocking(&[Status::Errored]), "could not be run"),
        (number(&|s| rows.is_warning(s)), "failed as a warning"),
        (of(Status::Skipped), "skipped"),
        (interrupted, "interrupted"),
        (of(Status::NotRun) - interrupted, "not run"),
    ]
    .iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, word)| format!("{n} {word}"))
    .collect()
}

fn verdict(report: &Report, plan: &Plan, rows: &ReportRows) -> String {
    let color = rows.color;
    let tone = match report.verdict {
        Verdict::Passed if report.exit_code == 0 => Tone::Good,
        Verdict::NothingToVerify if report.exit_code == 0 => Tone::Warn,
        _ => Tone::Bad,
    };
    let mut parts = numbers(report, rows);
    if !plan.omitted.is_empty() {
        let omitted = plan.omitted.len();
        parts.push(format!("{omitted} left out (see `vplan explain`)"));
    }
    let coverage = match report.coverage {
        Coverage::Full => "",
        Coverage::Narrowed => ", with narrowed coverage",
    };
    let name = report.verdict.name().replace('_', " ");
    let (name, time) = (paint(color, tone, &name), duration(report.duration_ms));
    let parts = text_if(!parts.is_empty(), || format!(": {}", parts.join(", ")));
    let reused = nothing_reused(report);
    let reused = framed("  no earlier pass was reused: ", reused, "\n");
    let has_passed = report.verdict == Verdict::Passed && report.exit_code == 0;
    let reason = framed("  ", report.reason.as_ref().filter(|_| !has_passed), "\n");
    format!("\n{name}{coverage}{parts} in {time}\n{reused}{reason}")
}

/// Returns why no cached pass was used, if all steps with a reason have the same one, and it is
/// not a file.
fn nothing_reused(report: &Report) -> Option<Difference> {
    let is_reused = |step: &StepRecord| step.status == Status::Cached;
    let mut differing = report.steps.iter().filter_map(|step| step.differs.as_ref());
    let first = differing.next()?;
    let is_same = |other: &Difference| other.kind == first.kind && other.name == first.name;
    let of_all = first.kind != DifferenceKind::File
        && differing.all(is_same)
        && !report.steps.iter().any(is_reused);
    of_all.then(|| Difference {
        more: 0,
        ..first.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::step;
    use vplan_check::confine::{NetworkUse, SandboxLevel};
    use vplan_check::outcome::Outcome;

    fn confined_to(missing: &[Guarantee], reached: &[Guarantee]) -> Confined {
        Confined {
            asked: SandboxLevel::Guard,
            missing: missing.to_vec(),
            network: NetworkUse::Off,
            reached: reached.to_vec(),
        }
    }

    #[test]
    fn what_a_confinement_guaranteed() {
        use Guarantee::{NetworkOff, NoPrivileges, NoTampering, OnlyDeclared};
        let whole = confined_to(&[], &[NetworkOff, NoPrivileges, NoTampering, OnlyDeclared]);
        assert_eq!(
            confined(&whole),
            "sandbox guard, network off; held: network-off, no-privileges, no-tampering, writes"
        );
        let nothing = confined_to(&[NoTampering, OnlyDeclared], &[]);
        assert_eq!(
            confined(&nothing),
            "sandbox guard, network off; not held: no-tampering, writes"
        );
        let record = StepRecord {
            sandbox: Some(whole),
            ..StepRecord::without_evidence(&step("a"), Outcome::PASSED)
        };
        assert!(!lacks(&record), "all of it held");
        let record = StepRecord {
            sandbox: Some(nothing),
            ..record
        };
        assert!(lacks(&record));
    }
}
