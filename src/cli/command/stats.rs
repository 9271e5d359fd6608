//! `vplan stats`: summarises the results of checks over many runs.

use super::answer::*;
use crate::history::ids;
use crate::render::style::cut;
use vplan_run::run_summary::CheckStats;

/// `vplan stats`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 shown; 2 usage, also when no run has such a check; 5 the records cannot be read."
)]
pub struct StatsArgs {
    /// Only this check.
    #[arg(long, value_name = "NAME")]
    pub check: Option<String>,
    /// Count only so many runs, the newest.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub last: Option<u32>,
    /// The directory of the records.
    #[command(flatten)]
    pub records: Records,
}

/// The statistics of checks.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatsDocument {
    /// The checks that were in a plan.
    checks: Vec<CheckStats>,
    /// The number of runs examined.
    runs: usize,
}

/// Shows what the records say of each check.
///
/// # Errors
/// Records that cannot be read, a check that no run has.
pub fn run(global: &Global, args: &StatsArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let (_, history) = open(global, &args.records)?;
    let mut ids = ids(&history)?;
    let last = args.last.and_then(|n| usize::try_from(n).ok());
    ids.truncate(last.unwrap_or(usize::MAX));
    let mut checks = history.tally(&ids).checks();
    if let Some(name) = &args.check {
        let known = checks.iter().map(|c| c.id.as_str());
        let help = suggest(name, known, "`vplan stats` lists all checks");
        checks.retain(|c| c.id == *name);
        if checks.is_empty() {
            let (runs, name) = (count(ids.len(), "run"), visible(name));
            let message = format!("none of {runs} has a check `{name}`");
            return Err(Failure::usage("vplan::records::unknown_check", message).help(help));
        }
    }
    let document = StatsDocument {
        checks,
        runs: ids.len(),
    };
    answer_if(terminal, format, true, &versioned(&document), || {
        text(&document, terminal)
    });
    Ok(0)
}

fn text(document: &StatsDocument, terminal: &Terminal) -> String {
    let (checks, runs) = (&document.checks, document.runs);
    if checks.is_empty() {
        return format!("no check has come to an end in {}\n", count(runs, "run"));
    }
    let color = terminal.color;
    let narrow = terminal.columns.filter(|columns| *columns < 80);
    let most = narrow.map_or(40, |columns| columns.saturating_sub(2));
    let narrow = narrow.is_some();
    let width = widest(checks.iter().map(|c| visible(&c.id))).clamp(5, most.max(5));
    let mut out = String::new();
    if !narrow {
        let head = format!(
            "{:<width$}  {:>6} {:>7} {:>7} {:>8} {:>8} {:>8}  last failure",
            "check", "runs", "passed", "flaky", "median", "p95", "longest"
        );
        out.push_str(&format!("{}\n", paint(color, Tone::Strong, &head)));
    }
    let row = |check: &CheckStats| row(check, width, narrow, color);
    out.extend(checks.iter().map(row));
    let what = "passes and flaky passes in a hundred runs of the check";
    out.push_str(&format!("\nover {}: {what}\n", count(runs, "run")));
    out
}

fn row(check: &CheckStats, width: usize, narrow: bool, color: bool) -> String {
    let id = cut(&visible(&check.id), width);
    let percent = |permille: u64| format!("{}.{}%", permille / 10, permille % 10);
    let [passed, flaky] = match check.runs {
        0 => ["-".to_owned(), "-".to_owned()],
        _ => [percent(check.pass_permille), percent(check.flaky_permille)],
    };
    let tone = tone(check.failed == 0);
    let [median, p95, longest] = [check.median_ms, check.p95_ms, check.max_ms].map(duration);
    let last = check.last_failure.as_ref().map_or_else(String::new, |f| {
        let day = f.started_at.as_deref().and_then(|t| t.get(..10));
        format!("{} {}", visible(day.unwrap_or_default()), short(&f.run_id))
    });
    if !narrow {
        let passed = paint(color, tone, &format!("{passed:>7}"));
        let row = format!(
            "{:>6} {passed} {flaky:>7} {median:>8} {p95:>8} {longest:>8}  {last}",
            check.runs
        );
        return format!("{}\n", format!("{id:<width$}  {row}").trim_end());
    }
    let (id, passed) = (paint(color, Tone::Strong, &id), paint(color, tone, &passed));
    let runs = count(usize::try_from(check.runs).unwrap_or(0), "run");
    let failed = text_if(!last.is_empty(), || format!("  failed {last}\n"));
    format!(
        "{id}\n  {passed} of {runs} passed\n  {flaky} flaky\n  {median} / {p95} / {longest}\n{failed}"
    )
}
