//! `vplan init`: proposes a contract from what the repository declares, and accounts for what is not
//! in it. Nothing of it is guessed again when a plan is made.

pub(crate) mod account;

use super::answer::*;
use crate::args::Init;
use std::time::Duration;
use vplan_base::path::RepoPath;
use vplan_base::word::count;
use vplan_engine::infer;
use vplan_engine::infer::Proposed;
use vplan_engine::trial::{self, TrialEnd, summary};
use vplan_repo::load::{DEFAULT_CONTRACT, Site};

/// Writes the contract, or prints it.
///
/// # Errors
/// A contract that is there already, a place that cannot be written or that is not the
/// repository's.
pub fn run(global: &Global, args: &Init, terminal: &Terminal) -> Result<u8, Failure> {
    let shape = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let site = global.engine().locate()?;
    let mut found = infer::propose(&site)?;
    let tried = match args.r#try {
        true => Some(tried(global, args, &site, &mut found, terminal)?),
        false => None,
    };
    if args.stdout && shape == OutputFormat::Text {
        terminal.print_contract(&found.proposal.text)?;
        return Ok(Exit::Success.code());
    }
    let path = match args.stdout {
        true => None,
        false => Some(global.engine().write_proposal(&site, &found, args.force)?),
    };
    if shape == OutputFormat::Json {
        terminal.print_document(&account::document(path.as_ref(), &found, tried.as_ref()));
    } else if let (Some(path), false) = (&path, terminal.quiet) {
        terminal.say(&format_account(
            path,
            &found,
            tried.as_ref(),
            global.verbose > 0,
        ));
    }
    Ok(Exit::Success.code())
}

/// Tries the proposal.
fn tried(
    global: &Global,
    args: &Init,
    site: &Site,
    found: &mut Proposed,
    terminal: &Terminal,
) -> Result<TrialEnd, Failure> {
    if found.proposal.checks.is_empty() {
        return Ok(TrialEnd::Untried("no source declares a check".to_owned()));
    }
    terminal.note("trying the checks on HEAD, apart from the work tree\n");
    let budget = Duration::from_millis(args.budget);
    trial::attempt(&global.engine(), site, found, budget)
}

/// Accounts for the contract.
fn format_account(
    path: &RepoPath,
    found: &Proposed,
    tried: Option<&TrialEnd>,
    all: bool,
) -> String {
    let proposal = &found.proposal;
    let mut out = match proposal.checks.len() {
        0 => format!(
            "no check found; wrote a template to {path}\nlooked for: CI workflows, hooks, manifests and task files that git tracks\n"
        ),
        number => {
            let origin = visible(proposal.account.origin());
            format!("wrote {path}: {} from {origin}\n", count(number, "check"))
        }
    };
    out.push_str(&proposal.account.text(&proposal.checks, all));
    if let Some(tried) = tried {
        out.push_str(&format!("{}\n", summary(tried)));
        if let TrialEnd::Ran(checks) = tried {
            let others = checks.iter().filter(|(_, what)| what != "passes");
            let line = |(name, what): &(String, String)| format!("  {name}: {}\n", visible(what));
            out.extend(others.map(line));
        }
    }
    let contract = if path.as_bytes() == DEFAULT_CONTRACT.as_bytes() {
        String::new()
    } else {
        format!(" --contract {path}")
    };
    out.push_str(&format!("next: vplan explain --all{contract}\n"));
    out
}
