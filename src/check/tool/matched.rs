//! Reads a command by the table of tools: what it verifies, under which name, and the words to
//! propose for it.

use super::form::{Form, form};
use super::launch::{
    Started, matched, name, never, one_command, operands_with, started, values_of,
};
use super::table::{TaskVerb, ToolClass, ToolRow, mutes, rows_for, task_word};
use crate::Kind;

/// The meaning of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandReading {
    pub class: ToolClass,
    /// The verb; none where a task's name says nothing, or says that it verifies nothing.
    pub verb: Option<Kind>,
    /// The name of the language whose files it looks at, `code` or `all`; empty if unknown.
    pub paths: &'static str,
    /// The stem of the check's name.
    pub name: String,
    pub form: Form,
    /// The key of its configuration that makes it write, and the form that checks then.
    pub steered: Option<(&'static str, Form)>,
    /// Whether its exit code is 0 whatever it finds.
    pub silent: bool,
    /// Whether it exits with 0 and prints what it finds, and nothing else.
    pub lists: bool,
    /// The program and its subcommand: equal work has an equal key.
    pub key: (String, String),
    /// The operands after the call.
    pub positional: Vec<String>,
    pub config: &'static [&'static str],
    pub formats: &'static [&'static str],
    /// The name of the task that it runs.
    pub task: Option<String>,
}

/// The row of a command, and the place of its program.
pub(super) struct RowMatch<'a> {
    pub row: &'static ToolRow,
    pub at: usize,
    /// The index after the call, from `at`.
    pub end: usize,
    pub program: &'a str,
}

/// Finds the row of a command without its launchers.
pub(super) fn find<'a>(words: &'a [String], started: &Started) -> Option<RowMatch<'a>> {
    let at = started.at();
    let own = words.get(at..)?;
    let program = name(own.first()?);
    let values = values_of(program);
    let mut best: Option<(usize, usize, &'static ToolRow)> = None;
    for (row, call) in rows_for(program) {
        let found = matched(call, own, &values).filter(|_| row.class != ToolClass::Launcher);
        let Some((specific, end)) = found else {
            continue;
        };
        if best.is_none_or(|(most, ..)| specific > most) {
            best = Some((specific, end, row));
        }
    }
    let (_, end, row) = best?;
    Some(RowMatch {
        row,
        at,
        end,
        program,
    })
}

/// Reads an argument vector. None if no row fits, and no name of a task says what it does.
pub fn read(words: &[String]) -> Option<CommandReading> {
    let started = started(words);
    if let Some(text) = &started.text {
        let launchers = words.get(..started.at()).unwrap_or_default();
        let inner = one_command(text)?;
        return read(&launchers.iter().cloned().chain(inner).collect::<Vec<_>>());
    }
    let found = match find(words, &started) {
        Some(found) => Some(by_row(words, &found)),
        None => by_task(words, started.at()),
    };
    let Some(reason) = never(words, &started) else {
        return found;
    };
    Some(CommandReading {
        class: ToolClass::Setup(reason),
        form: Form::None(reason),
        ..found.unwrap_or_default()
    })
}

fn by_row(words: &[String], found: &RowMatch<'_>) -> CommandReading {
    let row = found.row;
    let own = words.get(found.at..).unwrap_or_default();
    let after = own.get(found.end.saturating_sub(1)..).unwrap_or_default();
    // `composer exec X -- ARGUMENTS`: the dashes are the launcher's.
    let after = match after {
        [_, dashes, ..] if dashes == "--" && found.at > 0 => after.get(1..).unwrap_or_default(),
        _ => after,
    };
    let positional = operands_with(after, &values_of(found.program));
    let task = (row.class == ToolClass::Task).then(|| task_of(row, own, &positional));
    let said = task.as_deref().map(task_word);
    let mut class = row.class;
    if let Some(TaskVerb::Never(reason)) = said.filter(|_| row.verb.by_name) {
        class = ToolClass::Never(reason);
    }
    if let (Some(""), Some(how)) = (task.as_deref(), row.bare) {
        class = ToolClass::Setup(how);
    }
    let verb = match said.filter(|_| row.verb.by_name) {
        Some(TaskVerb::Unclear) => row.verb.kind,
        Some(said) => said.kind(),
        None => row.verb.kind,
    };
    let stem = match row.name {
        "" | "=" => found.program,
        name => name,
    };
    let name = task.as_deref().filter(|task| !task.is_empty());
    let call = own.get(1..found.end).unwrap_or_default();
    let is_muted = class == ToolClass::Tool && mutes(own);
    let subcommand: Vec<&str> = call
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with(['-', '+']))
        .chain(name)
        .collect();
    CommandReading {
        class,
        verb,
        paths: row.paths,
        name: name.unwrap_or(stem).to_owned(),
        form: match class {
            ToolClass::Never(reason) | ToolClass::Setup(reason) | ToolClass::Service(reason) => {
                Form::None(reason)
            }
            _ if is_muted => Form::AsWritten(words.to_vec()),
            _ => form(row, words, found.at, found.end, false),
        },
        lists: row.silent && row.fails_with.is_empty() && !is_muted,
        silent: is_muted || row.silent && !own.iter().any(|word| row.fails_with.contains(&&**word)),
        steered: row
            .writes
            .steered
            .map(|key| (key, form(row, words, found.at, found.end, true))),
        key: (found.program.to_owned(), subcommand.join(" ")),
        positional,
        config: &row.config,
        formats: &row.formats,
        task,
    }
}

/// The name of the task that a runner is given: by an option, or as its operands.
fn task_of(row: &ToolRow, own: &[String], positional: &[String]) -> String {
    for (at, word) in own.iter().enumerate() {
        if row.task_options.contains(&word.as_str()) {
            return own.get(at + 1).cloned().unwrap_or_default();
        }
        if let Some((option, value)) = word.split_once('=')
            && row.task_options.contains(&option)
        {
            return value.to_owned();
        }
    }
    if let Some(name) = row.task_names.first() {
        return (*name).to_owned();
    }
    let mut operands = positional.iter().filter(|word| !word.contains('='));
    let first = operands.next().cloned().unwrap_or_default();
    // A path is a file to make.
    let others = operands.filter(|word| row.several && !word.contains(['/', '.']));
    others.fold(first, |names, name| format!("{names} {name}"))
}

/// `PROGRAM test`, `PROGRAM lint`: a program that is not known, with a task whose name is.
fn by_task(words: &[String], at: usize) -> Option<CommandReading> {
    let own = words.get(at..)?;
    let program = name(own.first()?);
    let task = own.get(1).filter(|word| !word.starts_with('-'))?;
    let plain = task
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c));
    if matches!(&**task, "version" | "help") {
        let key = (program.to_owned(), task.clone());
        return Some(CommandReading {
            key,
            ..CommandReading::default()
        });
    }
    // `./deploy.sh test` deploys.
    let named = Some(task_word(program)).filter(|verb| matches!(verb, TaskVerb::Never(_)));
    let said = named.or(Some(task_word(task)).filter(|_| plain))?;
    let class = match said {
        TaskVerb::Never(reason) => ToolClass::Never(reason),
        TaskVerb::Test | TaskVerb::Lint | TaskVerb::Compile => ToolClass::Task,
        TaskVerb::Idle | TaskVerb::Writes | TaskVerb::Unclear => return None,
    };
    Some(CommandReading {
        class,
        verb: said.kind(),
        paths: "code",
        name: task.clone(),
        form: match class {
            ToolClass::Never(reason) => Form::None(reason),
            _ => Form::AsWritten(words.to_vec()),
        },
        silent: false,
        lists: false,
        steered: None,
        key: (program.to_owned(), task.clone()),
        positional: own.get(2..).unwrap_or_default().to_vec(),
        config: &[],
        formats: &[],
        task: Some(task.clone()),
    })
}

#[cfg(test)]
mod tests;
