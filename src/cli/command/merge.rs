//! `vplan merge`: merges the reports of all shards of a plan into one verdict.

use super::answer::*;
use crate::args::REQUIRED;
use crate::render;
use crate::reports::Reports;
use crate::value::one_of;
use std::collections::BTreeMap;
use vplan_engine::merged::CannotMerge;
use vplan_engine::saved::{read_division, read_plan};
use vplan_run::merge::{MergeRequest, Merged};
use vplan_run::report::SavedPlan;
use vplan_run::verdict::Require;

/// `vplan merge`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 passed, or another of `vplan run`, for the whole plan; 2 usage, or a report that `vplan verify` would refuse; 4 the reports are of different plans, divisions, base commits or trees, or with `--same-tools` of different tools; 44 incomplete: also when a shard is missing, or does not say which tree it verified.\n\nA folder is searched for runs, four folders deep; no symlink in it is followed."
)]
pub struct MergeArgs {
    /// The `report.json` of each shard's run, the run's directory, or a directory of runs.
    #[arg(value_name = "REPORT", required_unless_present = "expect")]
    pub reports: Vec<PathBuf>,
    /// The plan that the reports must be of: without a report of each shard the answer is
    /// incomplete, also when there is none.
    #[arg(long, value_name = "PLAN")]
    pub expect: Option<PathBuf>,
    /// The division by which the shards must have been dealt.
    #[arg(long, value_name = "FILE")]
    pub division: Option<PathBuf>,
    /// Refuses shards that had different tools, which is a note otherwise.
    #[arg(long)]
    pub same_tools: bool,
    /// The least that a pass must have verified: `some` check at all, or with `full` coverage.
    #[arg(long, value_name = "COVERAGE", value_parser = one_of(REQUIRED))]
    pub require: Option<Require>,
    /// The documents to write.
    #[command(flatten)]
    pub documents: Reports,
}

/// Prints one report of all shards; its exit code is the verdict's.
///
/// # Errors
/// Reports that cannot be read or joined.
pub fn run(global: &Global, args: &MergeArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;

    args.documents
        .check((format == OutputFormat::Json).then_some("--format json"))?;
    let expect = args.expect.as_deref().map(read_plan).transpose()?;
    let division = args.division.as_deref().map(read_division).transpose()?;
    let request = MergeRequest {
        division,
        expect,
        require: args.require.unwrap_or_default(),
        same_tools: args.same_tools,
    };
    let merged = global.engine().merge(&args.reports, &request);
    let (merged, notes) = merged.map_err(|e| match e {
        CannotMerge::Report(failure) => *failure,
        CannotMerge::Contradict(error) => {
            terminal.note(&render::drift(&error.drift));
            Failure::new(error.exit, error.code, error.message).helped(error.help)
        }
    })?;
    for note in notes {
        terminal.note(&format!("note: {note}\n"));
    }
    if format == OutputFormat::Json {
        terminal.print_json(&merged.report);
    } else if args.documents.take_stdout() {
        terminal.note(&text(&merged, terminal, terminal.color_stderr));
    } else {
        terminal.say(&text(&merged, terminal, terminal.color));
    }
    // The shards ran elsewhere: there is no repository to look for files in.
    let (report, plan) = (&merged.report, &merged.plan);
    Ok(args.documents.write(report, plan, None, None, terminal))
}

fn text(merged: &Merged, terminal: &Terminal, color: bool) -> String {
    let Merged { report, plan } = merged;
    let mut text = String::new();
    if terminal.quiet && report.exit_code == 0 {
        return text;
    }
    text.push_str(&render::compared(report.compared.as_ref(), color));
    text.push_str(&render::caveats(&report.caveats, color));
    for shard in &report.shards {
        let name = format!("shard {} of {}", shard.index, report.shards.len());
        // What is missing is among the caveats.
        if let (Some(verdict), Some(run)) = (shard.verdict, &shard.run_id) {
            let time = duration(shard.duration_ms.unwrap_or(0));
            let verdict = verdict.name().replace('_', " ");
            let run = visible(run);
            text.push_str(&format!("  {name}: {verdict} in {time} ({run})\n"));
        }
    }
    let differs = |s: &&SavedPlan| s.as_is || !s.drift.is_empty();
    if let Some(saved) = report.saved_plan.as_ref().filter(differs) {
        let how = match saved.as_is {
            true => "without a contract".to_owned(),
            false => format!("with drift in {}", count(saved.drift.len(), "field")),
        };
        let sign = paint(color, Tone::Warn, "!");
        text.push_str(&format!("  {sign} a saved plan ran {how}\n"));
    }
    let seen = BTreeMap::new();
    let look = render::report::ReportStyle {
        color,
        columns: terminal.columns,
        statuses: &seen,
        quiet: terminal.quiet,
    };
    text.push_str(&render::report::report(report, plan, None, look));
    text
}
