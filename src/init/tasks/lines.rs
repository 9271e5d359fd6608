//! Task files that are programs, read by line patterns: makefiles, `noxfile.py`, justfiles and
//! Rakefiles.

use super::task::Task;
use crate::listed::listed;
use crate::makefile::{self, Line};
use crate::source::quoted;
use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::sync::LazyLock;

type Pattern = LazyLock<Option<Regex>>;
type Variables = BTreeMap<String, String>;

fn captures<'t>(pattern: &Pattern, text: &'t str) -> Option<Captures<'t>> {
    pattern.as_ref()?.captures(text)
}

/// The text of a group; empty where it is not there.
fn part<'t>(found: &Captures<'t>, group: usize) -> &'t str {
    found.get(group).map_or("", |part| part.as_str())
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Puts the values of variables in the place of `$(NAME)` and `${NAME}`.
fn filled(text: &str, variables: &Variables) -> String {
    let mut out = text.to_owned();
    for (name, value) in variables {
        for mark in [format!("$({name})"), format!("${{{name}}}")] {
            if out.contains(&mark) {
                out = out.replace(&mark, value);
            }
        }
    }
    out
}

/// The longest value of a variable that is put in.
const MAX_VALUE: usize = 400;

pub(super) fn make(text: &str) -> Vec<Task> {
    let mut variables = Variables::from([("MAKE".to_owned(), "make".to_owned())]);
    let mut tasks: Vec<Task> = Vec::new();
    // The tasks to which recipe lines belong.
    let mut open: std::ops::Range<usize> = 0..0;
    for (line, text) in makefile::lines(text) {
        match Line::of(&text) {
            Line::Recipe(command) => {
                let command = recipe_line(command, &['@', '+']);
                for task in tasks.get_mut(open.clone()).unwrap_or_default() {
                    task.commands.push((line, command.clone()));
                }
            }
            Line::Variable(left, value) => {
                let name = left.trim_end_matches(['?', ':', '+']);
                let mode = left.get(name.len()..).unwrap_or_default();
                let name = name.trim().strip_prefix("export ").unwrap_or(name).trim();
                let value = filled(value.trim(), &variables);
                let is_given = mode == "?" && variables.contains_key(name);
                if is_given || value.len() > MAX_VALUE || !is_name(name) {
                    continue;
                }
                match (mode, variables.get_mut(name)) {
                    ("+", Some(old)) => *old = format!("{old} {value}"),
                    _ => drop(variables.insert(name.to_owned(), value)),
                }
            }
            Line::OfTargets(_) => {}
            Line::Rule(names, needs, inline) => {
                let needs = needs.split_whitespace().take_while(|need| *need != "|");
                let needs: Vec<String> = needs.map(str::to_owned).collect();
                let inline = inline.trim();
                let inline = (!inline.is_empty()).then(|| (line, inline.to_owned()));
                let start = tasks.len();
                tasks.extend(names.split_whitespace().map(|name| Task {
                    name: name.to_owned(),
                    line,
                    commands: inline.iter().cloned().collect(),
                    needs: needs.clone(),
                    ..Task::default()
                }));
                open = start..tasks.len();
            }
            Line::Other => {
                let first = makefile::without_comment(&text).split_whitespace().next();
                let ends = |word: &str| !listed("ifeq* ifneq* ifdef ifndef else endif", word);
                if first.is_some_and(ends) {
                    open = 0..0;
                }
            }
        }
    }
    merged(tasks, &variables)
}

/// Whether a name of a variable is plain.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_.-".contains(c))
}

/// A command of a recipe without the marks in front of it; a failure of `-command` is ignored.
fn recipe_line(text: &str, marks: &[char]) -> String {
    let command = text.trim().trim_start_matches(marks).trim();
    match command.strip_prefix('-') {
        Some(rest) => {
            let is_mark = |c: char| c == ' ' || marks.contains(&c);
            format!("{} || true", rest.trim_start_matches(is_mark))
        }
        None => command.to_owned(),
    }
}

/// One task for each name, with the values of variables, without make's special targets.
fn merged(tasks: Vec<Task>, variables: &Variables) -> Vec<Task> {
    let mut out: Vec<Task> = Vec::new();
    for mut task in tasks {
        let is_plain = !task.name.contains(['%', '$', '(']) && !task.name.starts_with('.');
        if !is_plain {
            continue;
        }
        for (_, text) in &mut task.commands {
            *text = filled(text, variables).replace("$$", "$");
        }
        match out.iter_mut().find(|old| old.name == task.name) {
            Some(old) => {
                old.commands.append(&mut task.commands);
                old.needs.append(&mut task.needs);
            }
            None => out.push(task),
        }
    }
    out
}

/// The sessions of a `noxfile.py`, with the commands that they run.
pub(super) fn nox(text: &str) -> Vec<Task> {
    static SESSION: Pattern =
        LazyLock::new(|| pattern(r"(?s)\n@(?:nox\.)?session(.*?)\ndef\s+(\w+)\s*\("));
    static NAME: Pattern = LazyLock::new(|| pattern(r#"name\s*=\s*["']([^"']+)["']"#));
    static NEXT: Pattern = LazyLock::new(|| pattern(r"\n[^\s#)]"));
    // What a session installs in its own environment is no concern of the checkout.
    static RUN: Pattern = LazyLock::new(|| pattern(r"\bsession\.run(?:_always)?\(([^)]*)\)"));
    let line_of = |at: usize| {
        let above = text.get(..at).unwrap_or_default().matches('\n').count();
        u32::try_from(above).unwrap_or(u32::MAX).saturating_add(1)
    };
    let mut tasks: Vec<Task> = Vec::new();
    for found in SESSION.iter().flat_map(|one| one.captures_iter(text)) {
        let name = captures(&NAME, part(&found, 1));
        let name = name.map_or(part(&found, 2), |name| part(&name, 1));
        let start = found.get(0).map_or(0, |all| all.end());
        let body = text.get(start..).unwrap_or_default();
        let end = NEXT.as_ref().and_then(|next| next.find(body));
        let body = body.get(..end.map_or(body.len(), |end| end.start()));
        let mut task = Task::new(name, line_of(start));
        let calls = RUN
            .iter()
            .flat_map(|run| run.captures_iter(body.unwrap_or_default()));
        for call in calls {
            let line = line_of(start + call.get(0).map_or(0, |all| all.start()));
            let words = part(&call, 1).split(',').filter_map(nox_word);
            task.commands
                .push((line, words.collect::<Vec<_>>().join(" ")));
        }
        tasks.push(task);
    }
    tasks
}

/// An argument of `session.run` as a word, if it is one.
fn nox_word(argument: &str) -> Option<String> {
    let argument = argument.trim();
    let text = |quote: char| argument.strip_prefix(quote)?.strip_suffix(quote);
    let is_name = |list: &str| {
        list.chars()
            .all(|c| c.is_alphanumeric() || "_.".contains(c))
    };
    match text('"').or_else(|| text('\'')) {
        Some(text) => Some(quoted(text)),
        // Further arguments.
        None if argument.is_empty() || argument.strip_prefix('*').is_some_and(is_name) => None,
        None => Some("{{computed}}".to_owned()),
    }
}

/// The recipes of a justfile.
pub(super) fn just(text: &str) -> Vec<Task> {
    static HEADER: Pattern =
        LazyLock::new(|| pattern(r"^@?([A-Za-z_][\w-]*)(\s[^:]*)?:(?:([^=].*))?$"));
    static VALUE: Pattern = LazyLock::new(|| {
        pattern(r#"^(?:export\s+)?([A-Za-z_][\w-]*)\s*:=\s*["']([^"']*)["']\s*$"#)
    });
    let mut variables = Variables::new();
    let mut tasks: Vec<Task> = Vec::new();
    let mut inside = false;
    for (line, text) in makefile::lines(text) {
        if text.starts_with([' ', '\t']) {
            let command = recipe_line(&text, &['@']);
            if let (Some(task), true) = (tasks.last_mut(), inside && !command.is_empty()) {
                task.commands.push((line, command));
            }
            continue;
        }
        if let Some(found) = captures(&VALUE, &text) {
            let (_, [name, value]) = found.extract();
            variables.insert(name.to_owned(), value.to_owned());
        } else if let Some(found) = captures(&HEADER, &text) {
            let needs = part(&found, 3).split("&&").next().unwrap_or_default();
            let needs = dependencies(needs.split('#').next().unwrap_or_default());
            inside = true;
            tasks.push(Task {
                needs,
                ..Task::new(part(&found, 1), line)
            });
        } else if !text.trim().is_empty() && !text.starts_with(['#', '[']) {
            inside = false;
        }
    }
    for (_, text) in tasks.iter_mut().flat_map(|task| &mut task.commands) {
        for (name, value) in &variables {
            *text = text.replace(&format!("{{{{{name}}}}}"), value);
            *text = text.replace(&format!("{{{{ {name} }}}}"), value);
        }
    }
    tasks
}

/// The names of recipes; one with arguments is in parentheses.
fn dependencies(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut inside = false;
    for word in text.split_whitespace() {
        let name = word.trim_matches(['(', ')']);
        let is_name = name
            .chars()
            .all(|c| c.is_alphanumeric() || "-_".contains(c));
        if is_name && (!inside || word.starts_with('(')) {
            out.push(name.to_owned());
        }
        inside = (inside || word.starts_with('(')) && !word.ends_with(')');
    }
    out
}

/// The tasks of a Rakefile, with commands of `sh`.
pub(super) fn rake(text: &str) -> Vec<Task> {
    static TASK: Pattern = LazyLock::new(|| {
        pattern(r#"^\s*task\s*\(?\s*:?["']?([\w:]+)["']?\s*(?:=>\s*(.*?))?\s*(?:do\b.*|\{.*)?$"#)
    });
    static CLASS: Pattern = LazyLock::new(|| {
        pattern(r"^\s*(?:\w+::)*(TestTask|RakeTask|RuboCop::RakeTask)\.new(?:\(?\s*:?(\w+))?")
    });
    static SH: Pattern = LazyLock::new(|| pattern(r#"\bsh\s*\(?\s*["']([^"'#]+)["']"#));
    let mut tasks: Vec<Task> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(found) = captures(&CLASS, line) {
            let (tool, default) = match line {
                line if line.contains("RuboCop") => ("rubocop", "rubocop"),
                line if line.contains("RSpec") => ("rspec", "spec"),
                _ => ("minitest", "test"),
            };
            let name = found.get(2).map_or(default, |name| name.as_str());
            let mut task = Task::new(name, number);
            task.commands.push((number, tool.to_owned()));
            tasks.push(task);
        } else if let Some(found) = captures(&TASK, line) {
            let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let needs = part(&found, 2).split(|c| !is_word(c));
            let needs = needs.map(|word| word.trim_matches(':'));
            let needs = needs.filter(|word| !word.is_empty()).map(str::to_owned);
            tasks.push(Task {
                needs: needs.collect(),
                ..Task::new(part(&found, 1), number)
            });
        }
        if let (Some(found), Some(task)) = (captures(&SH, line), tasks.last_mut()) {
            task.commands.push((number, part(&found, 1).to_owned()));
        }
    }
    tasks
}
