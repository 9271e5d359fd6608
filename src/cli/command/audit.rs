//! `vplan audit`: compares the contract with the recorded effects of its checks.

pub(super) mod machine;
mod sarif;
mod text;

use super::answer::*;
use crate::args::{ProgressArgs, jobs, levels};
use crate::progress::ProgressView;
use clap::builder::PossibleValuesParser;
use vplan_base::jobs::Jobs;
use vplan_check::confine::SandboxLevel;
use vplan_engine::audit::{AuditRequest, AuditedContract, FixedContract};
use vplan_engine::request::{VerifyRequest, selector};
use vplan_engine::verify::Caller;
use vplan_os::environment::Grants;
use vplan_plan::audit::{Finding, FindingKind, Incomplete, Severity};
use vplan_store::history::Keep;

/// `vplan audit`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        vplan audit                 run every command of the contract, and see\n  \
        vplan audit unit --write    write what is missing into the contract\n  \
        vplan audit --from-records  what earlier observed runs saw\n  \
        vplan audit --machine       what steps can be confined to here\n\n\
        What a check reads in one run is one path through its code: an audit finds what is missing, and never shows that nothing is. \
        `vplan help security` says what cannot be seen.\n\n\
        Exit codes: 0 no error; 2 usage, also when no observed run is recorded; 3 the contract is invalid, or cannot be written; \
        5 a check could not be started, or `--require` is not reached; 40 errors were found, or what `--deny` names; 44 not everything could be seen; 130, 143 interrupted.")]
pub struct Audit {
    /// Audit these checks, or those with `tag:NAME`, with what they need; otherwise all.
    #[arg(value_name = "CHECK", conflicts_with = "from_records")]
    pub names: Vec<String>,
    /// Run no check: try what this machine can confine steps to, and show it.
    #[arg(long, conflicts_with_all = ["names", "from_records", "write", "deny", "role", "jobs", "grant_env", "records"])]
    pub machine: bool,
    /// End with 5 unless this machine reaches the level.
    #[arg(long, value_name = "LEVEL", requires = "machine", value_parser = levels())]
    pub require: Option<SandboxLevel>,
    /// Run nothing: take what earlier observed runs recorded.
    #[arg(long)]
    pub from_records: bool,
    /// Write the lines that mend the contract into it.
    #[arg(long)]
    pub write: bool,
    /// Take findings of this kind for errors (repeatable).
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(FindingKind::NAMES))]
    pub deny: Vec<String>,
    /// Audit for this role: checks that it has not are looked at for the first role that has them.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// Steps side by side, or `auto`; what the contract says otherwise.
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<Jobs>,
    /// Let this variable through to the checks that ask for it (repeatable).
    #[arg(long, value_name = "NAME")]
    pub grant_env: Vec<String>,
    /// The form of the progress.
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub progress: ProgressArgs,
    /// The directory of the records of runs, instead of `.vplan/` at the root.
    #[arg(long, value_name = "DIR")]
    pub records: Option<PathBuf>,
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditDocument<'a> {
    /// The contract.
    contract: String,
    /// How the contract was mended, or would be with `--write`, as a unified diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The exit code.
    exit_code: u8,
    /// The findings, by kind, check and glob.
    findings: &'a [Finding],
    /// The checks of which not everything was seen: for them, no finding says nothing.
    incomplete: &'a [Incomplete],
    /// The runs that were looked at, newest first.
    runs: &'a [String],
    /// Whether the contract was written.
    written: bool,
}

/// Audits the contract, and fixes it on request.
///
/// # Errors
/// A contract that is invalid (exit 3), a run that cannot be made, no observed run (exit 2).
pub fn run(global: &Global, args: &Audit, terminal: &Terminal) -> Result<u8, Failure> {
    if args.machine {
        let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
        return Ok(machine::run(args.require, format, terminal));
    }
    let format = format(
        global,
        &[OutputFormat::Text, OutputFormat::Json, OutputFormat::Sarif],
    )?;
    let engine = global.engine().with_observer(terminal);
    let mut view = ProgressView::new(args.progress, terminal);
    let caller = Caller {
        see: Some(&mut |progress| view.see(progress)),
        tick: ProgressView::tick(args.progress, terminal),
        ..Caller::default()
    };
    let audited = engine.audit(&args.request(), caller);
    view.close();
    let mut found = audited?;
    for finding in &mut found.audited.findings {
        if args.deny.iter().any(|kind| kind == finding.kind.name()) {
            finding.severity = Severity::Error;
        }
    }
    // What was found is shown in any case.
    let mended = engine.mend(&found).and_then(|mended| {
        if let (true, Some(mended)) = (args.write, &mended) {
            mended.write()?;
        }
        Ok(mended)
    });
    let (mended, unmended) = mended.map_or_else(|why| (None, Some(why)), |mended| (mended, None));
    let exit = exit(&found);
    match format {
        OutputFormat::Json => {
            terminal.print_document(&document(&found, mended.as_ref(), args.write, exit))
        }
        OutputFormat::Sarif => terminal.print_json(&sarif::log(&found.audited, exit)),
        _ => text::print(&found, mended.as_ref(), args.write, terminal),
    }
    match unmended {
        Some(why) if args.write => Err(why),
        Some(why) => {
            terminal.note(&format!("  ! {}\n", why.message));
            Ok(exit.code())
        }
        None => Ok(exit.code()),
    }
}

impl Audit {
    fn request(&self) -> AuditRequest {
        let mut verify = VerifyRequest {
            records: self.records.clone(),
            keep: Keep::default(),
            grants: Grants {
                names: self.grant_env.iter().cloned().collect(),
                ..Grants::default()
            },
            ..VerifyRequest::default()
        };
        verify.plan.request.role.clone_from(&self.role);
        verify.plan.request.jobs = self.jobs;
        AuditRequest {
            names: self.names.iter().map(|name| selector(name)).collect(),
            from_records: self.from_records,
            verify,
        }
    }
}

/// Returns the exit code of an audit. A run that was interrupted or never began is not an audit.
fn exit(found: &AuditedContract) -> Exit {
    let ended = found.verified.as_ref();
    let ended = ended.and_then(|verified| Exit::of(verified.report.exit_code));
    match ended {
        Some(stopped @ (Exit::Interrupted | Exit::Terminated)) => stopped,
        _ if found.audited.has_errors() => Exit::Failed,
        // What could not be started because of the machine was not seen because of it.
        Some(Exit::Setup) if !found.audited.incomplete.is_empty() => Exit::Setup,
        _ if !found.audited.incomplete.is_empty() => Exit::Incomplete,
        _ => Exit::Success,
    }
}

fn document<'a>(
    found: &'a AuditedContract,
    mended: Option<&FixedContract>,
    written: bool,
    exit: Exit,
) -> AuditDocument<'a> {
    AuditDocument {
        contract: found.loaded.path.to_string(),
        diff: mended.map(|mended| text::diff(mended, false)),
        exit_code: exit.code(),
        findings: &found.audited.findings,
        incomplete: &found.audited.incomplete,
        runs: &found.runs,
        written: written && mended.is_some(),
    }
}
