//! `vplan merge`: merges the reports of all shards of a plan into one verdict.

use super::format;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::{Format, Global, Require as Asked};
use crate::cli::render;
use crate::cli::render::style::{Tone, count, duration, paint};
use crate::cli::reports::Reports;
use crate::cli::terminal::Terminal;
use crate::effect::os::files;
use crate::effect::store::records::REPORT;
use crate::engine::Failure;
use crate::run::merge::{MergeError, Merged, UNREADABLE, merge, read};
use crate::run::verdict::Require;
use clap::Args;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The largest report that is read, in bytes.
const MAX_REPORT: u64 = 256 << 20;

/// `vplan merge`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 passed, or another of `vplan run`, for the whole plan; 2 usage; 4 the reports are of different plans."
)]
pub struct Merge {
    /// The `report.json` of each shard's run, or the run's directory.
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<PathBuf>,
    /// What a pass must have verified: `some` check at all, or with `full` coverage.
    #[arg(long, value_name = "COVERAGE")]
    pub require: Option<Asked>,
    /// Which documents are written.
    #[command(flatten)]
    pub documents: Reports,
}

/// Prints one report of all shards; its exit code is the verdict's.
///
/// # Errors
/// Reports that cannot be read or joined.
pub fn run(global: &Global, args: &Merge, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let require = Require {
        full: args.require == Some(Asked::Full),
        some: args.require == Some(Asked::Some),
    };
    args.documents
        .check((format == Format::Json).then_some("--format json"))?;
    let mut parts = Vec::new();
    for path in &args.reports {
        parts.push(load(path)?);
    }
    let merged = merge(parts, require).map_err(|error| {
        terminal.note(&render::drift(&error.drift));
        failure(error)
    })?;
    if format == Format::Json {
        terminal.print_json(&merged.report);
    } else if args.documents.take_stdout() {
        terminal.note(&text(&merged, terminal, terminal.color_stderr));
    } else {
        terminal.say(&text(&merged, terminal, terminal.color));
    }
    // The shards ran elsewhere: there is no repository to look for files in.
    Ok(args
        .documents
        .write(&merged.report, &merged.plan, None, None, terminal))
}

fn failure(error: MergeError) -> Failure {
    Failure::new(error.exit, error.code, error.message).helped(error.help)
}

fn load(path: &Path) -> Result<crate::run::merge::Part, Failure> {
    let name = visible(path.as_os_str().as_bytes());
    let wrong = |why: String| Failure::new(Exit::Usage, UNREADABLE, format!("`{name}` {why}"));
    let file = if path.is_dir() {
        path.join(REPORT)
    } else {
        path.to_owned()
    };
    let bytes = files::read_plain(&file, MAX_REPORT).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound if path.is_dir() => wrong(
            "holds no report: its run did not come to an end, or it is no run's directory"
                .to_owned(),
        ),
        std::io::ErrorKind::FileTooLarge => wrong("is larger than any report".to_owned()),
        _ => wrong(format!("cannot be read: {e}")),
    })?;
    read(&name, &bytes).map_err(failure)
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
        match (shard.verdict, &shard.run_id) {
            (Some(verdict), Some(run)) => {
                let time = duration(shard.duration_ms.unwrap_or(0));
                let verdict = verdict.name().replace('_', " ");
                text.push_str(&format!(
                    "  {name}: {verdict} in {time} ({})\n",
                    visible(run.as_bytes())
                ));
            }
            _ => text.push_str(&format!(
                "  {} {name} is missing\n",
                paint(color, Tone::Bad, "!")
            )),
        }
    }
    if let Some(saved) = report
        .saved_plan
        .as_ref()
        .filter(|s| s.as_is || !s.drift.is_empty())
    {
        let how = if saved.as_is {
            "without a contract".to_owned()
        } else {
            format!("with drift in {}", count(saved.drift.len(), "field"))
        };
        text.push_str(&format!(
            "  {} a saved plan ran {how}\n",
            paint(color, Tone::Warn, "!")
        ));
    }
    let seen = BTreeMap::new();
    let look = render::report::Look {
        color,
        columns: terminal.columns,
        statuses: &seen,
        quiet: terminal.quiet,
    };
    text.push_str(&render::report::report(report, plan, None, look));
    text
}
