//! `vplan baseline`: records what was wrong before a change, and lists it.

mod record;

use super::answer::*;
use clap::Subcommand;
pub(super) use record::RecordedDocument;
use vplan_baseline::{Baseline, EntryKind};

/// `vplan baseline`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        vplan run --all --keep-going\n  \
        vplan baseline record\n  \
        vplan baseline record lint --tighten\n  \
        vplan baseline show\n\n\
        Exit codes: 0 recorded, or shown; 2 usage, also when there is no such run; 3 the contract or the baseline is invalid, \
        missing or cannot be written; 5 the records cannot be read; 44 a check that was named could not be recorded, \
        or not all of it.")]
pub struct BaselineArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: BaselineCommand,
}

/// The subcommands of `baseline`.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Write the findings and failing tests of a run beside the contract. They fail nothing once
    /// the file is at the base of a change.
    Record(record::BaselineRecordArgs),
    /// List the known findings and failing tests.
    Show(BaselineShowArgs),
}

/// Records or lists.
///
/// # Errors
/// A contract or a baseline that is invalid (exit 3), no such run or check (exit 2).
pub fn run(global: &Global, args: &BaselineArgs, terminal: &Terminal) -> Result<u8, Failure> {
    match &args.command {
        BaselineCommand::Record(args) => record::record(global, args, terminal),
        BaselineCommand::Show(args) => show(global, args, terminal),
    }
}

/// `vplan baseline show`
#[derive(Debug, Args)]
pub struct BaselineShowArgs {
    /// Only these checks.
    #[arg(value_name = "CHECK")]
    pub checks: Vec<String>,
}

/// The baseline of the work tree.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BaselineDocument {
    /// The digest of all that it lists.
    digest: Digest,
    /// The entries: by check, findings before tests.
    entries: Vec<EntryDocument>,
    /// The file, from the root of the repository.
    path: String,
}

/// A known finding, or a known failing test.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EntryDocument {
    /// The check that has it.
    check: String,
    /// The file of a finding.
    file: Option<String>,
    /// Its fingerprint: only this and the check decide.
    fingerprint: Digest,
    /// The format in which it was read.
    format: String,
    /// `finding` or `test`.
    kind: &'static str,
    /// The message of a finding, or the name of a test.
    message: String,
    /// The tool's code for a finding.
    rule: Option<String>,
}

/// Lists what the baseline of the work tree holds.
///
/// # Errors
/// As [`run`].
fn show(global: &Global, args: &BaselineShowArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let engine = global.engine();
    let site = engine.locate()?;
    let (path, whole) = engine.baseline(&site)?;
    for check in &args.checks {
        if !whole.entries().any(|e| e.check == *check) {
            let name = visible(check);
            let message = format!("the baseline lists nothing of a check `{name}`");
            return Err(Failure::usage("vplan::usage::unknown_check", message)
                .help("`vplan baseline show` lists all"));
        }
    }
    let is_asked = |check: &String| args.checks.is_empty() || args.checks.contains(check);
    let asked = whole.entries().filter(|e| is_asked(&e.check)).cloned();
    let shown = Baseline::new(asked);
    let document = versioned(BaselineDocument {
        digest: whole.digest(),
        entries: shown.entries().map(entry).collect(),
        path: path.to_string(),
    });
    answer_if(terminal, format, true, &document, || {
        text(&path.to_string(), &shown, terminal.color)
    });
    Ok(Exit::Success.code())
}

fn entry(entry: &vplan_baseline::KnownEntry) -> EntryDocument {
    let (kind, file, message, rule) = match &entry.what {
        EntryKind::Finding {
            file,
            rule,
            message,
        } => ("finding", Some(file.clone()), message.clone(), rule.clone()),
        EntryKind::Test { name } => ("test", None, name.clone(), None),
    };
    EntryDocument {
        check: entry.check.clone(),
        file,
        fingerprint: entry.fingerprint.clone(),
        format: entry.format.clone(),
        kind,
        message,
        rule,
    }
}

fn text(path: &str, shown: &Baseline, color: bool) -> String {
    let mut out = String::new();
    let mut check = "";
    for entry in shown.entries() {
        if entry.check != check {
            check = &entry.check;
            let all = shown.entries().filter(|e| e.check == check).count();
            let name = paint(color, Tone::Strong, &visible(check));
            out.push_str(&format!("{name}: {all} known\n"));
        }
        out.push_str(&format!("  {}\n", entry.line()));
    }
    let entries = shown.entries().len();
    out + &format!("{path}: {entries} known\n")
}
