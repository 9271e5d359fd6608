//! `vplan check`: checks that the contract is valid and fits the repository.

use super::format;
use crate::base::canon::Digest;
use crate::base::diagnostic::{Code, Diagnostic, Severity};
use crate::base::nearest::nearest;
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::check::Kind;
use crate::cli::args::{Check, Format, Global};
use crate::cli::render::diagnostic::{self, Message};
use crate::cli::render::style::count;
use crate::cli::terminal::Terminal;
use crate::contract::Contract;
use crate::effect::git::error::GitError;
use crate::effect::repo::load;
use crate::effect::repo::survey;
use crate::effect::repo::survey::uncovered;
use crate::engine::Failure;
use crate::engine::failure::invalid;
use crate::front::verify_contract_json;
use crate::plan::explain::place;
use schemars::JsonSchema;
use serde::Serialize;

/// The messages, what could not be looked at, and the files of `--uncovered`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'a> {
    /// The digest of the contract with all that it imports: what `--allow-contract-change` and
    /// `vplan gate accept` name.
    #[serde(skip_serializing_if = "Option::is_none")]
    contract: Option<Digest>,
    /// What is wrong, or doubtful.
    diagnostics: Vec<Message<'a>>,
    /// What could not be looked at, one line each.
    notes: &'a [String],
    /// With `--uncovered`: how many files git tracks.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracked: Option<usize>,
    /// With `--uncovered`: the tracked files that no check is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    uncovered: Option<&'a [RepoPath]>,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// Shows every error and warning of the contract; exit 3 when one of them is an error, or is
/// denied.
///
/// # Errors
/// No contract, an invalid one, a word behind `--deny` that is none.
pub fn run(global: &Global, args: &Check, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let site = global.engine().locate()?;
    args.deny.iter().try_for_each(|word| known(word))?;
    let loaded = global.engine().load_contract(&site)?;
    let mut found = loaded.diagnostics.clone();
    let mut notes = Vec::new();
    let mut uncovered = None;
    if let Some(contract) = &loaded.contract {
        let survey = survey::survey(&site, contract, &loaded.sources);
        found.append(survey.found);
        notes = survey.notes;
        if args.uncovered {
            let files = site
                .git
                .as_ref()
                .map_err(GitError::clone)
                .and_then(|git| uncovered::uncovered(contract, git));
            let files = files.map_err(|e| {
                let failure = Failure::usage(
                    e.code(),
                    format!("`--uncovered` is about tracked files: {e}"),
                );
                Failure {
                    help: e.help(),
                    ..failure
                }
            })?;
            files.diagnostic().into_iter().for_each(|d| found.push(d));
            uncovered = Some(files);
        }
    }
    let list = found.sorted();
    if format == Format::Json {
        terminal.print_json(&Document {
            contract: loaded.contract.as_ref().map(Contract::identity),
            diagnostics: diagnostic::messages(&loaded.sources, &list),
            notes: &notes,
            tracked: uncovered.as_ref().map(|u| u.tracked),
            uncovered: uncovered.as_ref().map(|u| u.files.as_slice()),
            version: 1,
        });
    }
    if loaded.contract.is_none() {
        let failure = invalid(loaded);
        return Err(if format == Format::Json {
            Failure {
                diagnostics: None,
                ..failure
            }
        } else {
            failure
        });
    }
    if format == Format::Text && !(terminal.quiet && list.is_empty()) {
        terminal.note(&diagnostic::diagnostics(
            &loaded.sources,
            &list,
            terminal.color_stderr,
            terminal.width,
        ));
    }
    for note in notes
        .iter()
        .filter(|_| format == Format::Text && !terminal.quiet)
    {
        terminal.note(&format!("note: {note}\n"));
    }
    let checks = loaded
        .contract
        .as_ref()
        .map(|c| c.checks.as_slice())
        .unwrap_or_default();
    let shell = checks.iter().find(|c| c.kind == Kind::Shell);
    let denies = |d: &Diagnostic| {
        args.deny
            .iter()
            .any(|word| word == "warnings" || is_called(d.code, word))
    };
    let denied = match shell {
        Some(check) if args.deny.iter().any(|word| word == "shell") => {
            let file = loaded
                .contract
                .as_ref()
                .and_then(|c| c.imported(check.place.source));
            Some(format!(
                "`{}` goes through a shell ({})",
                check.id,
                place(file, check.line)
            ))
        }
        _ => list
            .iter()
            .find(|d| denies(d))
            .map(|d| format!("a warning is denied: {}", d.message)),
    };
    if let Some(message) = denied {
        return Err(Failure::new(
            Exit::Contract.code(),
            "vplan::check::denied",
            message,
        ));
    }
    if format == Format::Text && !terminal.quiet {
        let warnings = list
            .iter()
            .filter(|d| d.severity == Severity::Warning)
            .count();
        let also = if warnings > 0 {
            format!(", {}", count(warnings, "warning"))
        } else {
            String::new()
        };
        // The contract itself is a file too.
        let files = loaded.contract.as_ref().map_or(0, |c| c.imports.len());
        let from = if files > 0 {
            format!(" from {}", count(files + 1, "file"))
        } else {
            String::new()
        };
        terminal.say(&format!(
            "{}: {}{from}{also}\n",
            loaded.path,
            count(checks.len(), "check")
        ));
        if let Some(contract) = &loaded.contract {
            terminal.say(&format!("  {}\n", contract.identity()));
        }
    }
    Ok(Exit::Success.code())
}

/// Whether a word is a code, or its last part.
fn is_called(code: Code, word: &str) -> bool {
    code.0 == word || code.0.rsplit("::").next() == Some(word)
}

/// `--deny` takes a group or a code; a word that denies nothing would deny nothing silently.
fn known(word: &str) -> Result<(), Failure> {
    let rooms = [
        crate::lang::error::CODES,
        crate::contract::error::CODES,
        survey::CODES,
        verify_contract_json::CODES,
    ];
    let codes = || rooms.iter().copied().flatten().chain(&load::CODES);
    if matches!(word, "warnings" | "shell") || codes().any(|code| is_called(*code, word)) {
        return Ok(());
    }
    let shown = crate::base::word::visible(word.as_bytes());
    let failure = Failure::usage("vplan::usage::deny", format!("nothing is called `{shown}`"));
    let last = |code: &Code| code.0.rsplit("::").next();
    let wanted = word.rsplit("::").next().unwrap_or(word);
    Err(match nearest(wanted, ["warnings", "shell"].into_iter().chain(codes().filter_map(last))) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help("`warnings`, `shell`, or the code of a message, such as `vplan::contract::unused_paths`"),
    })
}
