//! Finds where the command begins that the launchers in front of it start (`env`, `timeout 5`,
//! `uv run`, `npx`, `nix develop -c`, `sh -c`), by the rows `launcher` of the table of tools.

use super::layer::base_name;
use super::table::{Call, ToolClass, ToolRow, fits, rows_for};

/// Maximum number of launchers in front of a program.
const DEEPEST: usize = 12;

/// A command without its launchers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Started {
    /// The index of each program, launchers first; the last one does the work.
    pub starts: Vec<usize>,
    /// Shell text that the last one runs (`sh -c TEXT`).
    pub text: Option<String>,
}

impl Started {
    /// The index of the program that does the work.
    pub fn at(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }
}

/// Skips variables and launchers.
pub fn started(words: &[String]) -> Started {
    let mut out = Started::default();
    let mut at = 0;
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.first().is_some_and(|word| is_assignment(word)) {
            at += 1;
            continue;
        }
        out.starts.push(at);
        match inner(rest) {
            Some(Inner::At(by)) if by < rest.len() && out.starts.len() < DEEPEST => at += by,
            Some(Inner::Text(text)) => {
                out.text = Some(text);
                break;
            }
            _ => break,
        }
    }
    out
}

/// The words of a shell's text that is one plain command.
pub(super) fn one_command(text: &str) -> Option<Vec<String>> {
    let plain = |c: char| !"&|;<>()$`\\\"'*?[]{}#~\n".contains(c);
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    (text.trim().chars().all(plain) && !words.is_empty()).then_some(words)
}

/// Whether a program starts the text of a shell, and nothing else.
pub fn is_shell(program: &str) -> bool {
    rows_for(program).any(|(row, _)| row.only_text)
}

/// Whether a program starts modules.
pub(super) fn names_modules(program: &str) -> bool {
    rows_for(program).any(|(row, _)| !row.module.is_empty())
}

/// The folder that a launcher enters.
pub(super) fn folder(words: &[String]) -> Option<&str> {
    let program = name(words.first()?);
    let rows = rows_for(program);
    let options: Vec<&str> = rows
        .flat_map(|(row, _)| row.folder.iter().copied())
        .collect();
    let values = values_of(program);
    let mut at = 1;
    let mut found = None;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        if options.contains(&option) {
            let next = words.get(at + 1).map(String::as_str);
            found = if value.is_empty() { next } else { Some(value) };
        }
        at += 1 + usize::from(values.contains(&word.as_str()));
    }
    found
}

/// Whether a word sets a variable.
pub(crate) fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(vplan_base::command::is_env_name)
}

/// The command that a launcher starts.
pub(super) enum Inner {
    /// It begins at this word.
    At(usize),
    /// It is shell text.
    Text(String),
}

/// The command that the first of these words starts, unless it does work of its own by a call that
/// is more specific.
pub(super) fn inner(words: &[String]) -> Option<Inner> {
    let program = name(words.first()?);
    let values = values_of(program);
    let mut rows = Vec::new();
    let mut work = 0;
    for (row, call) in rows_for(program) {
        let Some((specific, end)) = matched(call, words, &values) else {
            continue;
        };
        if row.class == ToolClass::Launcher || row.starts_tools {
            rows.push((specific, end, row));
        } else if call.program != "*" {
            work = work.max(specific);
        }
    }
    rows.sort_by_key(|(specific, ..)| std::cmp::Reverse(*specific));
    rows.iter()
        .filter(|(specific, ..)| *specific >= work)
        .find_map(|(_, end, row)| inner_of(row, words, *end, &values))
}

fn inner_of(row: &ToolRow, words: &[String], end: usize, values: &[&str]) -> Option<Inner> {
    if row.only_text && row.text.is_empty() {
        return Some(Inner::Text(words.get(end..)?.join(" ")));
    }
    if !row.text.is_empty()
        && let Some(text) = text(row, words, end, values)
    {
        return Some(Inner::Text(text));
    }
    if !row.after.is_empty() {
        let is_end = |word: &String| row.after.contains(&word.as_str());
        let found = words.iter().skip(end).position(is_end)?;
        return Some(Inner::At(end + found + 1));
    }
    if let Some(found) = module(row, words, end, values) {
        return Some(found);
    }
    let operand = operand(words, end, values);
    if row.starts_tools {
        let own = words.get(operand..).filter(|own| !own.is_empty())?;
        let tool = name(own.first()?);
        let values = values_of(tool);
        let is_tool = |(row, _): (&ToolRow, &Call)| {
            matches!(row.class, ToolClass::Tool | ToolClass::Launcher)
                || !row.formats.is_empty()
                || !row.selectors.is_empty()
        };
        let is_call = |(_, call): (&ToolRow, &Call)| matched(call, own, &values).is_some();
        let is_known = rows_for(tool).any(is_tool) && rows_for(tool).any(is_call);
        return is_known.then_some(Inner::At(operand));
    }
    if !row.within.is_empty() {
        let word = words.get(operand)?;
        let is_within = row.within.iter().any(|part| word.contains(part));
        return is_within.then_some(Inner::At(operand));
    }
    (!row.only_text && row.module.is_empty()).then_some(Inner::At(operand + row.operands))
}

/// `-m NAME …`, in front of any operand.
fn module(row: &ToolRow, words: &[String], end: usize, values: &[&str]) -> Option<Inner> {
    let mut at = end;
    while let Some(word) = words.get(at).filter(|word| word.len() > 1) {
        if row.module.contains(&word.as_str()) {
            return Some(Inner::At(at + 1));
        }
        if !word.starts_with('-') || word == "-c" {
            break;
        }
        at += 1 + usize::from(values.contains(&word.as_str()));
    }
    None
}

/// The text that a shell is given: the value of an option, which may be one of several letters.
fn text(row: &ToolRow, words: &[String], end: usize, values: &[&str]) -> Option<String> {
    let mut at = end;
    let mut expects_text = false;
    let mut operands = row.operands;
    while let Some(word) = words.get(at) {
        let Some(letters) = word.strip_prefix(['-', '+']).filter(|l| !l.is_empty()) else {
            if operands == 0 || expects_text {
                break;
            }
            operands -= 1;
            at += 1;
            continue;
        };
        at += 1;
        if word == "--" {
            break;
        }
        if letters.starts_with('-') {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            if row.text.contains(&option) {
                if !value.is_empty() {
                    return Some(value.to_owned());
                }
                expects_text = true;
            } else {
                at += usize::from(values.contains(&word.as_str()));
            }
            continue;
        }
        let option = |letter: char| format!("-{letter}");
        expects_text |=
            word.starts_with('-') && letters.chars().any(|l| row.text.contains(&&*option(l)));
        let takes = letters.chars().last().map(option);
        at += usize::from(takes.is_some_and(|option| values.contains(&&*option)));
    }
    words.get(at).filter(|_| expects_text).cloned()
}

/// The operands of a program's words, without the values of its options.
pub fn operands(words: &[String]) -> Vec<String> {
    let values = words.first().map(|word| values_of(name(word)));
    operands_with(words, &values.unwrap_or_default())
}

/// The operands after the first word.
pub(super) fn operands_with(words: &[String], values: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = operand(words, 1, values);
    while let Some(word) = words.get(at) {
        found.push(word.clone());
        at = operand(words, at + 1, values);
    }
    found
}

/// The index of the first word that is not an option; `--` ends them.
pub(super) fn operand(words: &[String], from: usize, values: &[&str]) -> usize {
    let mut at = from;
    while let Some(word) = words.get(at) {
        if word == "--" {
            return at + 1;
        }
        if !word.starts_with(['-', '+']) || word == "-" {
            break;
        }
        at += 1 + usize::from(values.contains(&word.as_str()));
    }
    at
}

/// The rows of the launchers in front of the program that does the work.
fn launchers(words: &[String], started: &Started) -> impl Iterator<Item = &'static ToolRow> {
    let last = started.starts.len().saturating_sub(1);
    let words = started
        .starts
        .iter()
        .take(last)
        .filter_map(|at| words.get(*at));
    words.flat_map(|word| rows_for(name(word)).map(|(row, _)| row))
}

/// The reason why no command of a launcher is proposed.
pub(super) fn never(words: &[String], started: &Started) -> Option<&'static str> {
    launchers(words, started).find_map(|row| row.never)
}

/// Whether a launcher starts what the project installs.
pub fn is_installed(words: &[String]) -> bool {
    launchers(words, &started(words)).any(|row| row.installed)
}

/// The options of a program that take a value.
pub(super) fn values_of(program: &str) -> Vec<&'static str> {
    let rows = rows_for(program);
    rows.filter(|(_, call)| call.program != "*")
        .flat_map(|(row, _)| row.values.iter().copied())
        .collect()
}

/// How specific a call is, and the index after it, if these words are one.
pub(super) fn matched(call: &Call, words: &[String], values: &[&str]) -> Option<(usize, usize)> {
    let mut end = 1;
    let own = words.iter().position(|w| w == "--").unwrap_or(words.len());
    let own = words.get(..own)?;
    for wanted in &call.words {
        // In short texts one of several characters is found sooner than a single one.
        let is = |word: &str| wanted.split(['/']).any(|one| fits(one, word));
        if wanted.starts_with('-') {
            let name = |word: &String| word.split_once('=').is_some_and(|(name, _)| is(name));
            own.iter().skip(1).find(|word| is(word) || name(word))?;
        } else if let Some(goal) = wanted.strip_prefix('~') {
            let goals = |word: &&String| {
                let last = word.rsplit(':').next().unwrap_or(word);
                goal.split('/')
                    .any(|one| fits(one, word) || fits(one, last))
            };
            own.iter().skip(1).find(goals)?;
        } else {
            let at = operand(words, end, values);
            words.get(at).filter(|word| is(word))?;
            end = at + 1;
        }
    }
    let any_program = usize::from(call.program == "*") * 50;
    Some((call.words.len() + any_program, end))
}

/// The name of a program: without folder, version, and the ending of a script.
pub fn name(word: &str) -> &str {
    let of_registry = word
        .strip_prefix("npm:")
        .or_else(|| word.strip_prefix("jsr:"));
    let word = of_registry.unwrap_or(word);
    let word = match word.rsplit_once('@') {
        Some((before, _)) if !before.is_empty() && !before.ends_with('/') => before,
        _ => word,
    };
    let word = word.strip_prefix('\\').unwrap_or(word);
    let mut base = base_name(word);
    // The major version of a Go module.
    if let Some(version) = base.strip_prefix('v')
        && version.parse::<u32>().is_ok()
        && let Some((before, _)) = word.rsplit_once('/')
    {
        base = base_name(before);
    }
    let is_script = word.contains("node_modules/");
    let ends = [".phar", ".bat", ".ps1", ".cjs", ".mjs"];
    let mut ends = ends.iter().chain(is_script.then_some(&".js"));
    ends.find_map(|end| base.strip_suffix(end)).unwrap_or(base)
}
