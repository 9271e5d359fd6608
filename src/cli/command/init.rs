//! `vplan init`: proposes a contract from what the repository declares, with the reason for each
//! line. Nothing of it is guessed again when a plan is made.

pub(in crate::cli) mod account;
mod told;

use super::format;
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::{Format, Global, Init};
use crate::cli::render::style::count;
use crate::cli::terminal::Terminal;
use crate::effect::repo::infer::propose::{Part, Proposal};
use crate::effect::repo::load::{DEFAULT_CONTRACT, Site};
use crate::engine::infer::Proposed;
use crate::engine::trial::{self, TrialEnd};
use crate::engine::{Failure, infer};
use std::time::Duration;

/// Writes the contract, or prints it.
///
/// # Errors
/// A contract that is there already, a place that cannot be written or that is not the
/// repository's.
pub fn run(global: &Global, args: &Init, terminal: &Terminal) -> Result<u8, Failure> {
    let shape = format(global, &[Format::Text, Format::Json])?;
    let site = global.engine().locate()?;
    let mut found = infer::propose(&site)?;
    let tried = match args.r#try {
        true => Some(tried(global, args, &site, &mut found, terminal)?),
        false => None,
    };
    if args.stdout && shape == Format::Text {
        terminal.print(&found.text);
        return Ok(Exit::Success.code());
    }
    let path = match args.stdout {
        true => None,
        false => Some(global.engine().write_proposal(&site, &found, args.force)?),
    };
    if shape == Format::Json {
        terminal.print_json(&account::document(path.as_ref(), &found, tried.as_ref()));
    } else if let (Some(path), false) = (&path, terminal.quiet) {
        let declared = !found.declared.checks.is_empty() || tried.is_some();
        let told = if declared {
            told::told(path, &found.declared, tried.as_ref(), global.verbose > 0)
        } else {
            description(path, &found.proposal)
        };
        terminal.say(&told);
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
    if found.declared.checks.is_empty() {
        return Ok(TrialEnd::Untried("no source declares a check".to_owned()));
    }
    terminal.note("trying the checks on HEAD, apart from the work tree\n");
    let budget = Duration::from_millis(args.budget);
    trial::attempt(&global.engine(), site, found, budget)
}

/// Describes the contract: each line of the contract with its reason.
fn description(path: &RepoPath, found: &Proposal) -> String {
    let lines: String = found.parts.iter().map(lines).collect();
    let left_out = found.left_out.iter();
    let left_out = left_out.map(|what| format!("left out: {}\n", visible(what.as_bytes())));
    let left_out: String = left_out.collect();
    let checks_of = |part: &Part| match part {
        Part::Import { .. } => None,
        Part::Checks { checks, .. } => Some(checks.len()),
    };
    let imports = found
        .parts
        .iter()
        .filter(|p| checks_of(p).is_none())
        .count();
    let checks: usize = found.parts.iter().filter_map(checks_of).sum();
    let mut head = Vec::new();
    head.extend((imports > 0).then(|| count(imports, "import")));
    head.extend((checks > 0 || imports == 0).then(|| count(checks, "check")));
    let next = if path.as_bytes() == DEFAULT_CONTRACT.as_bytes() {
        String::new()
    } else {
        format!(" --contract {path}")
    };
    format!(
        "{path}: {}\n{lines}{left_out}next: `vplan explain --all{next}` shows what would run\n",
        head.join(", ")
    )
}

/// The lines of a part, each with its reason.
fn lines(part: &Part) -> String {
    let place = |word: &str, dir: &RepoPath| {
        if dir.is_root() {
            String::new()
        } else {
            format!(" {word} {dir}")
        }
    };
    match part {
        Part::Import {
            source,
            alias,
            at,
            why,
        } => {
            let (at, why) = (place("at", at), visible(why.as_bytes()));
            format!("  {alias}: {source}{at} ({why})\n")
        }
        Part::Checks { why, checks, .. } => {
            let mut lines = String::new();
            for one in checks {
                let (dir, why) = (place("in", &one.dir), visible(one.why.as_bytes()));
                let command = one.command.to_text();
                lines.push_str(&format!("  {}: {command}{dir} ({why})\n", one.id));
            }
            let why = why.iter().map(|why| visible(why.as_bytes()));
            lines.extend(why.map(|why| format!("    {why}\n")));
            lines
        }
    }
}
