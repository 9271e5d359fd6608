//! Writes the contract of a proposal.

use crate::account::{Account, place, short};
use crate::check::{ProposedCheck, ProposedCondition};
use crate::conditions;
use crate::globs::any_of;
use crate::hooks::CHANGED;
use crate::rank::with_needs;
use crate::tree::RepositoryTree;
use crate::workspace::{self, FOLDER, NAME, SHARED};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::{Command, Env, Piece, is_env_name, to_text};
use vplan_base::glob::Glob;
use vplan_base::source::{Source, Sources};
use vplan_base::word::{Word, quote_literal, quote_string, visible};
use vplan_lang::command::parse_command;
use vplan_lang::layout::{Formatted, reformat};
use vplan_lang::parse::ParserCaps;

/// The most lines of the contract about what it does not cover.
const MAX_REMARKS: usize = 5;
/// The number of checks whose common variables are defaults.
const MANY: usize = 3;

/// A command of words; `{changed}` is the changed files.
pub fn command(words: &[String]) -> Command {
    let piece = |word: &String| match &**word {
        CHANGED => Piece::Changed,
        word => Piece::Word(Word::new(word.as_bytes())),
    };
    Command::Argv {
        env: Env::new(),
        pieces: words.iter().map(piece).collect(),
    }
}

/// Whether the contract can say a command on a line.
pub fn can_be_said(words: &[String]) -> bool {
    let text = command(words).to_text();
    !words.iter().any(|word| word.contains('\0'))
        && !words.is_empty()
        && matches!(parse_command(&text), Command::Argv { .. })
}

/// Writes the contract.
pub fn write(
    title: &str,
    checks: &[ProposedCheck],
    account: &Account,
    tree: &RepositoryTree,
) -> String {
    let mut out = String::from("vplan 1\n");
    if !title.is_empty() {
        let title = visible(title.as_bytes());
        out.push_str(&format!("contract {}\n", quote_string(&title)));
    }
    let head = match &account.converted {
        Some(name) => format!("Converted from {name} by `vplan import`."),
        None if checks.is_empty() => "Nothing was found that verifies a change.".to_owned(),
        None => format!("Proposed by `vplan init` from {}.", account.origin()),
    };
    out.push('\n');
    let mut comment = |text: &str| out.push_str(&format!("# {}\n", one_line(text)));
    comment(&head);
    let is_proposed = account.converted.is_none();
    let most = if is_proposed { MAX_REMARKS } else { 0 };
    account.remarks(most).iter().for_each(|line| comment(line));
    if checks.is_empty() && is_proposed {
        out.push_str(
            "#\n# whenChangedAny \"src/**\" {\n#   check unit {\n#     test COMMAND\n#   }\n# }\n",
        );
    }
    sets(&mut out, checks, tree);
    let shared = shared_env(checks);
    if !checks.is_empty() {
        out.push_str("\ndefaults {\n  timeout 15m\n");
        for (name, value) in &shared {
            out.push_str(&format!("  {}\n", env(name, value)));
        }
        out.push_str("}\n");
    }
    let mut written: BTreeSet<&ProposedCondition> = BTreeSet::new();
    for check in checks {
        if !written.insert(&check.condition) {
            continue;
        }
        out.push('\n');
        let list = match &check.condition {
            ProposedCondition::Set(set) => (*set).to_owned(),
            ProposedCondition::Package => format!("dependents {FOLDER} {SHARED}"),
            ProposedCondition::Own(globs) => {
                // A job's name begins with that of its file.
                let job = check.found.job.as_deref();
                let job = job.and_then(|job| job.split('/').next());
                let file = short(&check.found.place.file);
                let file = one_line(job.unwrap_or(&file));
                out.push_str(&format!("# paths of {file}\n"));
                quoted(globs)
            }
        };
        let same = checks
            .iter()
            .filter(|other| other.condition == check.condition);
        let texts: String = same.map(|check| text_of(check, checks, &shared)).collect();
        let text = format!("whenChangedAny {list} {{\n{texts}}}\n");
        out.push_str(&in_rows(check, text));
    }
    laid_out(out)
}

/// The sets of files that conditions name.
fn sets(out: &mut String, checks: &[ProposedCheck], tree: &RepositoryTree) {
    let mut written = BTreeSet::new();
    for check in checks {
        let set = match check.condition {
            ProposedCondition::Set(set) => set,
            ProposedCondition::Package => SHARED,
            ProposedCondition::Own(_) => continue,
        };
        if written.insert(set) {
            let start = if written.len() == 1 { "\n" } else { "" };
            let globs = quoted(&when(check, tree, checks));
            out.push_str(&format!("{start}paths {set} = {globs}\n"));
        }
    }
}

/// The globs of the files for which a check runs; of one for each package those that start all.
pub fn when(check: &ProposedCheck, tree: &RepositoryTree, checks: &[ProposedCheck]) -> Vec<String> {
    match &check.condition {
        ProposedCondition::Set(set) => conditions::globs(set, tree, checks),
        ProposedCondition::Package => workspace::shared(tree, checks),
        ProposedCondition::Own(globs) => globs.clone(),
    }
}

/// The command of a check as the contract has it: in that of a package its holes are open.
pub fn command_text(check: &ProposedCheck) -> String {
    if check.condition != ProposedCondition::Package {
        return command(&check.found.words).to_text();
    }
    let is_open = |word: &str| word.contains(FOLDER) || word.contains(NAME);
    let words = check.found.words.iter().map(|word| match is_open(word) {
        true => quote_string(word).into_owned(),
        false => command(std::slice::from_ref(word)).to_text(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn quoted(globs: &[String]) -> String {
    let is_glob = |glob: &&String| {
        !glob.contains(['\0', '\n']) && Glob::parse(glob.trim_start_matches('!')).is_ok()
    };
    let list = globs.iter().filter(is_glob).map(|glob| quote_literal(glob));
    list.collect::<Vec<_>>().join(" ")
}

/// The variables that at least three checks have, and that no other check sets otherwise.
fn shared_env(checks: &[ProposedCheck]) -> BTreeMap<String, String> {
    let mut values: BTreeMap<&String, BTreeMap<&String, usize>> = BTreeMap::new();
    for (name, value) in checks.iter().flat_map(|check| &check.found.env) {
        *values.entry(name).or_default().entry(value).or_default() += 1;
    }
    let shared = values.into_iter().filter_map(|(name, values)| {
        let (value, times) = values.iter().next()?;
        (values.len() == 1 && *times >= MANY && can_be_set(name, value))
            .then(|| (name.clone(), (*value).clone()))
    });
    shared.collect()
}

fn can_be_set(name: &str, value: &str) -> bool {
    is_env_name(name) && !value.contains(['\0', '\n'])
}

fn env(name: &str, value: &str) -> String {
    let env = Env::from([(name.to_owned(), Word::new(value.as_bytes()))]);
    format!("env {}", to_text(&env, &[]))
}

fn text_of(
    check: &ProposedCheck,
    all: &[ProposedCheck],
    shared: &BTreeMap<String, String>,
) -> String {
    let mut remarks = vec![place(&check.found.place)];
    remarks.extend(check.notes.iter().cloned());
    if check.is_uncounted {
        remarks.push("its output may show no number of tests".to_owned());
    }
    let comment = one_line(&remarks.join("; "));
    let (name, verb, command) = (&check.name, check.verb.verb(), command_text(check));
    let mut out = format!("  # {comment}\n  check {name} {{\n    {verb} {command}\n");
    let mut set = |holds: bool, setting: String| {
        if holds {
            out.push_str(&format!("    {setting}\n"));
        }
    };
    let dir = check.found.dir.to_string();
    set(
        !check.found.dir.is_root(),
        format!("dir {}", quote_string(&dir)),
    );
    for (name, value) in &check.found.env {
        let is_own = can_be_set(name, value) && shared.get(name) != Some(value);
        set(is_own, env(name, value));
    }
    let needs = check.needs.iter().filter_map(|need| all.get(*need));
    let needs: String = needs.map(|need| format!(" {}", need.name)).collect();
    set(!needs.is_empty(), format!("needs{needs}"));
    let inputs = check.inputs.iter().map(|glob| quote_literal(glob));
    let inputs: String = inputs.map(|glob| format!(" {glob}")).collect();
    set(!inputs.is_empty(), format!("inputs{inputs}"));
    set(check.tier > 0, format!("tier {}", check.tier));
    set(check.unchanged, "unchanged \"**\"".to_owned());
    set(check.is_uncounted, "min-tests 0".to_owned());
    out + "  }\n"
}

/// The text of a check, for each package where it is one of rows.
fn in_rows(check: &ProposedCheck, text: String) -> String {
    match check.condition {
        ProposedCondition::Package => format!("each pkg in-workspace {{\n{text}}}\n"),
        _ => text,
    }
}

fn one_line(text: &str) -> String {
    visible(text.replace('\n', " ").as_bytes())
}

/// Lays a text out; one that cannot be laid out stays as it is, and is reported as invalid.
fn laid_out(text: String) -> String {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("contracts/verify.vplan", &text));
    let source = sources.get(id);
    match source.map(|source| reformat(source, id, &ParserCaps::default())) {
        Some(Ok(Formatted::Text(text))) => text,
        _ => text,
    }
}

/// The contract of a trial: these checks without conditions, and what they need. In the place of
/// `{changed}` are all files that a check is for.
pub fn for_trial(
    checks: &[ProposedCheck],
    wanted: &BTreeSet<String>,
    tree: &RepositoryTree,
    linked: &[&str],
) -> String {
    let all = checks.iter().enumerate();
    let wanted = all.filter(|(_, check)| wanted.contains(&check.name));
    let chosen = with_needs(checks, wanted.map(|(at, _)| at));
    let mut out = String::from("vplan 1\ndefaults {\n  timeout 60m\n}\n");
    if !linked.is_empty() {
        let list: Vec<_> = linked.iter().map(|name| quote_string(name)).collect();
        out.push_str(&format!("linked {}\n", list.join(" ")));
    }
    for check in chosen.iter().filter_map(|at| checks.get(*at)) {
        let mut one = check.clone();
        let files = files_for(tree, &one, checks);
        let words = one.found.words.iter().flat_map(|word| match &**word {
            CHANGED => files.clone(),
            _ => vec![word.clone()],
        });
        one.found.words = words.collect();
        let text = text_of(&one, checks, &BTreeMap::new());
        out.push_str(&in_rows(&one, text));
    }
    out
}

/// The most files that a trial gives to a check in place of the changed ones.
const MOST_TRIED_FILES: usize = 500;

/// The files that a condition selects, relative to the folder of the check.
fn files_for(
    tree: &RepositoryTree,
    check: &ProposedCheck,
    checks: &[ProposedCheck],
) -> Vec<String> {
    let list = when(check, tree, checks);
    let no = list.iter().filter_map(|glob| glob.strip_prefix('!'));
    let is_out = any_of(&no.collect::<Vec<_>>());
    // What begins with `!` is no glob, and matches nothing.
    let selected = tree.matching(&list).filter(|file| !is_out(file));
    let relative =
        selected.filter_map(|file| String::from_utf8(file.below(&check.found.dir)?.to_vec()).ok());
    relative.take(MOST_TRIED_FILES).collect()
}
