//! `vplan check`: is the contract right, and does it fit the repository?

use super::format;
use crate::base::diagnostic::{Diagnostic, Severity};
use crate::check::Kind;
use crate::cli::args::{Check, Format, Global};
use crate::cli::error::Failure;
use crate::cli::render::diagnostic;
use crate::cli::render::style::count;
use crate::cli::session::{invalid, load_contract, locate};
use crate::cli::terminal::Terminal;
use crate::effect::survey;
use crate::plan::explain::place;
use crate::run::verdict::Exit;

/// Shows every error and warning of the contract; exit 3 when one of them is an error, or is denied.
///
/// # Errors
/// No contract, an invalid one, a word behind `--deny` that is none.
pub fn run(global: &Global, args: &Check, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let site = locate(global)?;
    args.deny.iter().try_for_each(|word| known(word))?;
    let loaded = load_contract(&site, global)?;
    let mut found = loaded.diagnostics.clone();
    if let Some(contract) = &loaded.contract {
        found.append(survey::survey(&site, contract, &loaded.sources));
    }
    let list = found.sorted();
    if format == Format::Json {
        terminal.print(&(diagnostic::json(&loaded.sources, &list).to_string() + "\n"));
    }
    if loaded.contract.is_none() {
        let failure = invalid(loaded);
        return Err(if format == Format::Json { Failure { diagnostics: None, ..failure } } else { failure });
    }
    if format == Format::Text && !(terminal.quiet && list.is_empty()) {
        terminal.note(&diagnostic::diagnostics(&loaded.sources, &list, terminal.color_stderr, terminal.width));
    }
    let checks = loaded.contract.as_ref().map(|c| c.checks.as_slice()).unwrap_or_default();
    let shell = checks.iter().find(|c| c.kind == Kind::Shell);
    let denies = |d: &Diagnostic| args.deny.iter().any(|word| word == "warnings" || word == d.code.0);
    let denied = match shell {
        Some(check) if args.deny.iter().any(|word| word == "shell") => {
            let file = loaded.contract.as_ref().and_then(|c| c.imported(check.place.source));
            Some(format!("`{}` goes through a shell ({})", check.id, place(file, check.line)))
        }
        _ => list.iter().find(|d| denies(d)).map(|d| format!("a warning is denied: {}", d.message)),
    };
    if let Some(message) = denied {
        return Err(Failure::new(Exit::Contract.code(), "vplan::check::denied", message));
    }
    if format == Format::Text && !terminal.quiet {
        let warnings = list.iter().filter(|d| d.severity == Severity::Warning).count();
        let also = if warnings > 0 { format!(", {}", count(warnings, "warning")) } else { String::new() };
        // The contract itself is a file too.
        let files = loaded.contract.as_ref().map_or(0, |c| c.imports.len());
        let from = if files > 0 { format!(" from {}", count(files + 1, "file")) } else { String::new() };
        terminal.print(&format!("{}: {}{from}{also}\n", loaded.path, count(checks.len(), "check")));
    }
    Ok(Exit::Success.code())
}

/// `--deny` takes a group or a code; a word that denies nothing would deny nothing silently.
fn known(word: &str) -> Result<(), Failure> {
    let codes = crate::lang::error::CODES.iter().chain(crate::contract::error::CODES).chain(survey::CODES);
    if matches!(word, "warnings" | "shell") || codes.map(|c| c.0).any(|c| c == word) {
        return Ok(());
    }
    let shown = crate::base::word::visible(word.as_bytes());
    Err(Failure::usage("vplan::usage::deny", format!("nothing is called `{shown}`"))
        .help("`warnings`, `shell`, or the code of a message, such as `vplan::contract::unused_paths`"))
}
