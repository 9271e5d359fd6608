//! `vplan classify`: classifies why a command failed.

use super::answer::*;
use crate::args::{self, Classify};
use crate::request::read;
use std::collections::BTreeSet;
use vplan_base::index::Index as _;
use vplan_base::vocabulary::{FailureCode, FormatName};
use vplan_check::evidence::{Captured, Evidence, SpawnError};
use vplan_check::output::{self, Expected};
use vplan_check::results::Reading;
use vplan_engine::propose::command;
use vplan_plan::StepIndex;
use vplan_plan::facts::{Facts, Question};
use vplan_recover::{bare::bare_plan, classify, questions};
use vplan_repo::facts::{self, FactSources};

/// Signals by name, as `--signal` takes them.
const SIGNALS: [&str; 17] = [
    "SIGABRT", "SIGALRM", "SIGBUS", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGKILL", "SIGPIPE",
    "SIGQUIT", "SIGSEGV", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGUSR1", "SIGUSR2", "SIGXCPU",
];

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClassifyDocument {
    /// The line that decided; empty when none did.
    evidence: String,
    /// The failure code.
    failure_code: FailureCode,
    /// The name of what decided.
    rule: String,
}

/// What a format reads in an output.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadDocument {
    /// What is read; absent when nothing in the output is of the format.
    #[serde(skip_serializing_if = "Option::is_none")]
    reading: Option<Reading>,
}

/// Prints the failure's code and what decided, or what a format reads.
///
/// # Errors
/// Evidence that cannot be read.
pub fn run(global: &Global, args: &Classify, terminal: &Terminal) -> Result<u8, Failure> {
    format(global, &[OutputFormat::Json])?;
    if let Some(name) = &args.read {
        let reading = reading(global, name)?;
        terminal.print_document(&ReadDocument { reading });
        return Ok(Exit::Success.code());
    }
    let site = global.engine().locate()?;
    let texts = args.previous.iter().chain(&args.command);
    let commands: Vec<_> = texts.map(|text| command(text)).collect::<Result<_, _>>()?;
    let plan = bare_plan(&commands);
    let last = StepIndex::new(commands.len() - 1);
    let facts = answer(&site, &plan, &questions(plan.step(last)));
    let failure = classify(&plan, last, &evidence(&args.evidence)?, &facts);
    terminal.print_document(&ClassifyDocument {
        evidence: failure.evidence,
        failure_code: failure.code,
        rule: failure.rule,
    });
    Ok(Exit::Success.code())
}

/// Reads standard input by a format, a built-in one or one of the contract.
fn reading(global: &Global, name: &str) -> Result<Option<Reading>, Failure> {
    if let Some(known) = FormatName::parse(name) {
        let formats = output::ALL.iter().filter(|f| f.names.contains(&known));
        let formats: Vec<_> = formats.collect();
        return Ok(output::read(&formats, &read(Path::new("-"))?, b""));
    }
    let engine = global.engine();
    let (contract, _) = engine.valid_contract(&engine.locate()?)?;
    let Some(definition) = contract.formats.get(name) else {
        let own = contract.formats.keys().map(String::as_str);
        let known: Vec<&str> = FormatName::NAMES.iter().copied().chain(own).collect();
        let message = format!("no format is called `{}`", visible(name));
        let all = format!("known are: {}", known.join(" "));
        let help = suggest(name, known.iter().copied(), all);
        return Err(Failure::usage("vplan::usage::read", message).help(help));
    };
    let expected = Expected::defined(name, definition);
    let stdout = read(Path::new("-"))?;
    Ok(output::read_expected(&expected, &stdout, b""))
}

/// Answers questions for a plan that no request made.
pub(super) fn answer(site: &Site, plan: &Plan, questions: &BTreeSet<Question>) -> Facts {
    let ground = FactSources {
        root: &site.root,
        git: site.git.as_ref().ok(),
        base: None,
        changes: &plan.request.changed,
    };
    facts::answer(questions, &ground).unwrap_or_default()
}

/// The evidence on the command line.
pub(super) fn evidence(args: &args::EvidenceArgs) -> Result<Evidence, Failure> {
    let output = |path: &Option<std::path::PathBuf>| match path {
        Some(path) => read(path).map(|bytes| Captured::from(bytes.as_slice())),
        None => Ok(Captured::default()),
    };
    let signal = match &args.signal {
        None => None,
        Some(text) => {
            let name = text.to_uppercase();
            let name = format!("SIG{}", name.strip_prefix("SIG").unwrap_or(&name));
            if !SIGNALS.contains(&name.as_str()) {
                let message = format!("`{}` is no signal that ends a process", visible(text));
                return Err(Failure::usage("vplan::usage::signal", message)
                    .help("such as `SIGKILL` or `SIGTERM`"));
            }
            Some(name)
        }
    };
    Ok(Evidence {
        exit: args.exit,
        signal,
        spawn_error: args.spawn_error.as_ref().map(|code| SpawnError {
            code: code.clone(),
            message: String::new(),
        }),
        timed_out: args.timed_out,
        stdout: output(&args.stdout)?,
        stderr: output(&args.stderr)?,
        ..Evidence::default()
    })
}
