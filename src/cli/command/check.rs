//! `vplan check`: checks that the contract is valid and fits the repository.

use super::answer::*;
use crate::args::CheckArgs;
use crate::render::diagnostic::{self, Message};
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use vplan_base::nearest::nearest;
use vplan_contract::Contract;
use vplan_engine::baseline::failed;
use vplan_engine::failure::invalid;
use vplan_engine::sandbox::conflicts;
use vplan_front::verify_contract_json;
use vplan_git::error::GitError;
use vplan_plan::explain::place;
use vplan_repo::load::{self, Loaded};
use vplan_repo::survey::uncovered::{self, Uncovered};
use vplan_repo::{baseline, survey};

/// The messages, what could not be looked at, and the files of `--uncovered`.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
pub(super) struct CheckDocument<'a> {
    /// The digest of the contract with all that it imports: what `--allow-contract-change` and
    /// `vplan gate accept` name.
    contract: Option<Digest>,
    /// The errors and warnings.
    diagnostics: Vec<Message<'a>>,
    /// The parts that could not be examined, one line each.
    notes: &'a [String],
    /// With `--uncovered`: how many files git tracks.
    tracked: Option<usize>,
    /// With `--uncovered`: the tracked files that no check is about.
    uncovered: Option<&'a [RepoPath]>,
}

/// Shows every error and warning of the contract; exit 3 when one of them is an error, or is
/// denied.
///
/// # Errors
/// A missing or invalid contract, or an unknown word after `--deny`.
pub fn run(global: &Global, args: &CheckArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let site = global.engine().locate()?;
    (args.deny.iter()).try_for_each(|word| check_deny_word(word))?;
    let mut loaded = global.engine().load_contract(&site)?;
    check_cases(global, &site, &mut loaded)?;
    let Looked {
        list,
        notes,
        uncovered,
    } = examine(&site, &mut loaded, args)?;
    let is_json = format == OutputFormat::Json;
    if is_json {
        terminal.print_document(&CheckDocument {
            contract: loaded.contract.as_ref().map(Contract::identity),
            diagnostics: diagnostic::messages(&loaded.sources, &list),
            notes: &notes,
            tracked: uncovered.as_ref().map(|u| u.tracked),
            uncovered: uncovered.as_ref().map(|u| u.files.as_slice()),
        });
    }
    let Some(contract) = &loaded.contract else {
        let failure = invalid(loaded);
        return Err(Failure {
            diagnostics: failure.diagnostics.filter(|_| !is_json),
            ..failure
        });
    };
    let (sources, talks) = (&loaded.sources, !is_json && !terminal.quiet);
    if talks || !is_json && !list.is_empty() {
        let (color, width) = (terminal.color_stderr, terminal.width);
        terminal.note(&diagnostic::diagnostics(sources, &list, color, width));
    }
    for note in notes.iter().filter(|_| talks) {
        terminal.note(&format!("note: {note}\n"));
    }
    if let Some(message) = denied(&args.deny, contract, &list) {
        return Err(Failure::contract("vplan::check::denied", message));
    }
    if talks {
        terminal.say(&text(&loaded.path, contract, &list));
    }
    Ok(Exit::Success.code())
}

/// Checks the contract's tests, where they are about folders that they mention.
fn check_cases(global: &Global, site: &Site, loaded: &mut Loaded) -> Result<(), Failure> {
    let contract = loaded.contract.as_ref();
    let Some(contract) = contract.filter(|_| !loaded.cases.is_empty()) else {
        return Ok(());
    };
    let mut found = Diagnostics::default();
    let engine = global.engine();
    engine.cases(site, contract, &loaded.cases, &loaded.sources, &mut found)?;
    if found.has_errors() {
        loaded.contract = None;
    }
    loaded.diagnostics.append(found);
    Ok(())
}

/// The findings about a contract.
#[derive(Default)]
struct Looked {
    list: Vec<Diagnostic>,
    /// The parts that could not be examined.
    notes: Vec<String>,
    uncovered: Option<Uncovered>,
}

/// Holds a contract against its repository.
fn examine(site: &Site, loaded: &mut Loaded, args: &CheckArgs) -> Result<Looked, Failure> {
    let mut found = loaded.diagnostics.clone();
    let mut looked = Looked::default();
    if let Some(contract) = &loaded.contract {
        let survey = survey::survey(site, contract, &loaded.sources, args.pure);
        found.append(survey.found);
        looked.notes = survey.notes;
        found.append(conflicts(site, loaded)?);
        let checks = contract.checks.iter().map(|c| c.id.as_str()).collect();
        let path = baseline::path_for(&loaded.path);
        let known = baseline::survey(site, &path, &checks, &mut loaded.sources);
        found.append(known.map_err(failed)?.diagnostics);
        if args.uncovered {
            let git = site.git.as_ref().map_err(GitError::clone);
            let files = git.and_then(|git| uncovered::uncovered(contract, git, &site.root));
            let files = files.map_err(|e| {
                let message = format!("`--uncovered` is about tracked files: {e}");
                Failure::usage(e.code(), message).helped(e.help())
            })?;
            let messages = files.diagnostic().into_iter().chain(files.defining());
            messages.for_each(|d| found.push(d));
            looked.uncovered = Some(files);
        }
    }
    looked.list = found.sorted();
    Ok(looked)
}

/// Returns the reason why a contract without an error is refused, if `--deny` asks for that.
fn denied(deny: &[String], contract: &Contract, list: &[Diagnostic]) -> Option<String> {
    let shell = contract.checks.iter().find(|c| c.goes_through_shell());
    let unconfined = contract.checks.iter().find(|c| c.may_read_more());
    let more = "has `inputs`, and without `sandbox files` it may read more";
    for (group, check, why) in [
        ("shell", shell, "goes through a shell"),
        ("unconfined", unconfined, more),
    ] {
        if let Some(check) = check.filter(|_| deny.iter().any(|word| word == group)) {
            let place = place(contract.imported(check.place.source), check.line);
            return Some(format!("`{}` {why} ({place})", check.id));
        }
    }
    // Found in the repository: an error of the text has ended this before.
    if let Some(error) = list.iter().find(|d| d.severity == Severity::Error) {
        return Some(error.message.clone());
    }
    let denies = |word: &String, d: &Diagnostic| word == "warnings" || is_called(d.code, word);
    let is_denied = |d: &&Diagnostic| deny.iter().any(|word| denies(word, d));
    let found = list.iter().find(is_denied)?;
    Some(format!("a warning is denied: {}", found.message))
}

fn text(path: &RepoPath, contract: &Contract, list: &[Diagnostic]) -> String {
    let warnings = list.iter().filter(|d| d.severity == Severity::Warning);
    let warnings = Some(warnings.count()).filter(|n| *n > 0);
    let also = framed(", ", warnings.map(|n| count(n, "warning")), "");
    // The contract itself is a file too.
    let imports = Some(contract.imports.len()).filter(|n| *n > 0);
    let from = framed(" from ", imports.map(|n| count(n + 1, "file")), "");
    let checks = count(contract.checks.len(), "check");
    let identity = contract.identity();
    format!("{path}: {checks}{from}{also}\n  {identity}\n")
}

/// Whether a word is a code, or its last part.
fn is_called(code: Code, word: &str) -> bool {
    code.0 == word || code.0.rsplit("::").next() == Some(word)
}

/// The groups that `--deny` takes in addition to codes.
const GROUPS: [&str; 3] = ["warnings", "shell", "unconfined"];

/// `--deny` takes a group or a code; a word that denies nothing would deny nothing silently.
fn check_deny_word(word: &str) -> Result<(), Failure> {
    let rooms = [
        vplan_lang::error::CODES,
        vplan_contract::error::CODES,
        survey::CODES,
        verify_contract_json::CODES,
        vplan_baseline::error::CODES,
    ];
    let codes = || rooms.iter().copied().flatten().chain(&load::CODES);
    if GROUPS.contains(&word) || codes().any(|code| is_called(*code, word)) {
        return Ok(());
    }
    let shown = vplan_base::word::visible(word);
    let failure = Failure::usage("vplan::usage::deny", format!("nothing is called `{shown}`"));
    let last = |code: &Code| code.0.rsplit("::").next();
    let wanted = word.rsplit("::").next().unwrap_or(word);
    Err(match nearest(wanted, GROUPS.into_iter().chain(codes().filter_map(last))) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help("`warnings`, `shell`, `unconfined`, or the code of a message, such as `vplan::contract::unused_paths`"),
    })
}
