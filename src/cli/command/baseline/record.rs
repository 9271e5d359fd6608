//! Records the findings of a run.

use crate::command::answer::*;
use vplan_engine::baseline::{RecordRequest, RecordedBaseline};

/// `vplan baseline record`
#[derive(Debug, Args)]
#[command(after_help = NAMES)]
pub struct BaselineRecordArgs {
    /// Only these checks; without any, all of the run.
    #[arg(value_name = "CHECK")]
    pub checks: Vec<String>,
    /// Only take out what the run does not show any more.
    #[arg(long)]
    pub tighten: bool,
    /// Record this run; without it the latest of this contract.
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// The directory of the records.
    #[command(flatten)]
    pub records: Records,
}

/// The result of a recording.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordedDocument {
    /// The number of entries that were added.
    added: usize,
    /// The number of entries now.
    entries: usize,
    /// The checks that were not recorded, or not all of them.
    left: Vec<LeftCheck>,
    /// The baseline, from the root of the repository.
    path: String,
    /// The number of entries that were taken out.
    removed: usize,
    /// The run.
    run: String,
    /// Whether the file was written: an unchanged one is not.
    written: bool,
}

/// A check that was not recorded, or not all of it.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftCheck {
    /// Its name; empty where it is about all of them.
    check: String,
    /// The reason.
    why: String,
}

/// Records the findings of a run.
///
/// # Errors
/// As [`super::run`].
pub fn record(
    global: &Global,
    args: &BaselineRecordArgs,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let (site, history) = open(global, &args.records)?;
    let run = args.run.as_deref().map(|name| pick(&history, name));
    let run = run.transpose()?;
    let asked = RecordRequest {
        checks: &args.checks,
        tighten: args.tighten,
        run: run.as_deref(),
    };
    let recorded = global.engine().record_baseline(&site, &history, &asked)?;
    let left = &recorded.recording.left;
    let is_named = |check: &str| args.checks.iter().any(|c| c == check);
    let mut checks = left.iter().map(|left| &left.check);
    let lacks = checks.any(|check| check.is_empty() || is_named(check));
    if format == OutputFormat::Json {
        terminal.print_document(&document(&recorded));
    } else {
        for left in left {
            let check = visible(&left.check);
            let name = text_if(!check.is_empty(), || format!("`{check}`: "));
            terminal.note(&format!("note: {name}{}\n", left.why));
        }
        if !terminal.quiet {
            terminal.say(&text(&recorded));
        }
    }
    Ok(Exit::Incomplete.when(lacks).code())
}

fn document(recorded: &RecordedBaseline) -> RecordedDocument {
    let recording = &recorded.recording;
    let left = recording.left.iter().map(|left| LeftCheck {
        check: left.check.clone(),
        why: left.why.clone(),
    });
    RecordedDocument {
        added: recording.added,
        entries: recording.baseline.entries().len(),
        left: left.collect(),
        path: recorded.path.to_string(),
        removed: recording.removed,
        run: recorded.run.clone(),
        written: recorded.written,
    }
}

fn text(recorded: &RecordedBaseline) -> String {
    let (path, run) = (&recorded.path, short(&recorded.run));
    let recording = &recorded.recording;
    let entries = recording.baseline.entries().len();
    if !recorded.written {
        return format!("{path}: {entries} known, as before (run {run})\n");
    }
    let (added, removed) = (recording.added, recording.removed);
    let commit = match added {
        0 => "",
        _ => "; what was added counts once it is at the base of a change",
    };
    format!("{path}: {entries} known, {added} added, {removed} taken out (run {run}){commit}\n")
}
