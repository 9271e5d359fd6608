//! Task files that are programs, read by line patterns: makefiles, `noxfile.py`, justfiles and
//! Rakefiles.

use crate::found::Task;
use crate::makefile::{self, MakefileLine};
use crate::words::{listed, quoted, words_of};
use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::sync::LazyLock;

type Pattern = LazyLock<Option<Regex>>;
pub(super) type Variables = BTreeMap<String, String>;

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

/// Puts the values of variables between marks in their place.
pub(super) fn filled(text: &str, variables: &Variables, marks: &[(&str, &str)]) -> String {
    let mut out = text.to_owned();
    for (name, value) in variables {
        for (open, close) in marks {
            out = out.replace(&format!("{open}{name}{close}"), value);
        }
    }
    out
}

const MAKE_MARKS: &[(&str, &str)] = &[("$(", ")"), ("${", "}")];
/// The longest value of a variable that is put in.
const MAX_VALUE: usize = 400;

pub(super) fn make(text: &str) -> Vec<Task> {
    let mut variables = Variables::from([("MAKE".to_owned(), "make".to_owned())]);
    let mut tasks: Vec<Task> = Vec::new();
    // Whether recipe lines belong to the last one, whose name is that of all targets of its rule.
    let mut open = false;
    for (line, text) in makefile::lines(text) {
        match MakefileLine::parse(&text) {
            MakefileLine::Recipe(command) => {
                let command = recipe_line(command);
                // What make itself prints is no command.
                let runs = open && !command.starts_with("$(info ");
                if let Some(task) = tasks.last_mut().filter(|_| runs) {
                    task.commands.push((line, command));
                }
            }
            MakefileLine::Variable(left, value) => {
                let name = left.trim_end_matches(['?', ':', '+']);
                let mode = left.get(name.len()..).unwrap_or_default();
                let name = name.trim().strip_prefix("export ").unwrap_or(name).trim();
                let value = filled(value.trim(), &variables, MAKE_MARKS);
                let is_given = mode == "?" && variables.contains_key(name);
                if is_given || value.len() > MAX_VALUE || name.contains(' ') {
                    continue;
                }
                match (mode, variables.get_mut(name)) {
                    ("+", Some(old)) => *old = format!("{old} {value}"),
                    _ => drop(variables.insert(name.to_owned(), value)),
                }
            }
            MakefileLine::OfTargets(_) => {}
            MakefileLine::Rule(names, needs, inline) => {
                let needs = needs.split_whitespace().take_while(|need| *need != "|");
                let inline = Some((line, inline.trim().to_owned()));
                let inline = inline.filter(|(_, inline)| !inline.is_empty());
                tasks.push(Task {
                    commands: inline.into_iter().collect(),
                    needs: needs.map(str::to_owned).collect(),
                    ..Task::new(names, line)
                });
                open = true;
            }
            MakefileLine::Other => {
                let mut words = makefile::without_comment(&text).split_whitespace();
                let stays = |word| listed("ifeq* ifneq* ifdef ifndef else endif", word);
                open &= words.next().is_none_or(stays);
            }
        }
    }
    merged(tasks, &variables)
}

/// A command of a recipe without the marks in front of it; a failure of `-command` is ignored.
fn recipe_line(text: &str) -> String {
    let text = text.trim();
    let command = text.trim_start_matches(['@', '+', '-', ' ']);
    match text.strip_suffix(command) {
        Some(marks) if marks.contains('-') => format!("{command} || true"),
        _ => command.to_owned(),
    }
}

/// One task for each name, with the values of variables, without make's special targets.
fn merged(rules: Vec<Task>, variables: &Variables) -> Vec<Task> {
    let mut out: Vec<Task> = Vec::new();
    for mut rule in rules {
        for (_, text) in &mut rule.commands {
            *text = filled(text, variables, MAKE_MARKS).replace("$$", "$");
        }
        let is_plain = |name: &&str| !name.contains(['%', '$', '(']) && !name.starts_with('.');
        for name in rule.name.split_whitespace().filter(is_plain) {
            match out.iter_mut().find(|old| old.name == name) {
                Some(old) => {
                    old.commands.extend(rule.commands.iter().cloned());
                    old.needs.extend(rule.needs.iter().cloned());
                }
                None => out.push(Task {
                    name: name.to_owned(),
                    ..rule.clone()
                }),
            }
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
        let body = body.unwrap_or_default();
        for call in RUN.iter().flat_map(|run| run.captures_iter(body)) {
            let line = line_of(start + call.get(0).map_or(0, |all| all.start()));
            let words = part(&call, 1).split(',').filter_map(nox_word);
            let text = words.collect::<Vec<_>>().join(" ");
            task.commands.push((line, text));
        }
        tasks.push(task);
    }
    tasks
}

/// An argument of `session.run` as a word, if it is one.
fn nox_word(argument: &str) -> Option<String> {
    let argument = argument.trim();
    let text = |quote: char| argument.strip_prefix(quote)?.strip_suffix(quote);
    let is_plain = |c: char| c.is_alphanumeric() || "_.".contains(c);
    let is_name = |list: &str| list.chars().all(is_plain);
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
    // The name of a recipe with its arguments.
    static CALL: Pattern = LazyLock::new(|| pattern(r"\(\s*([\w-]+)[^)]*\)"));
    let mut variables = Variables::new();
    let mut tasks: Vec<Task> = Vec::new();
    let mut inside = false;
    for (line, text) in makefile::lines(text) {
        if text.starts_with([' ', '\t']) {
            let command = recipe_line(&text);
            if let (Some(task), true) = (tasks.last_mut(), inside && !command.is_empty()) {
                task.commands.push((line, command));
            }
            continue;
        }
        if let Some(found) = captures(&VALUE, &text) {
            let (_, [name, value]) = found.extract();
            variables.insert(name.to_owned(), value.to_owned());
        } else if let Some(found) = captures(&HEADER, &text) {
            let needs = part(&found, 3).split(['&', '#']).next().unwrap_or_default();
            let needs = CALL.as_ref().map(|call| call.replace_all(needs, "$1"));
            inside = true;
            tasks.push(Task {
                needs: words_of(&needs.unwrap_or_default()),
                ..Task::new(part(&found, 1), line)
            });
        } else if !text.trim().is_empty() && !text.starts_with(['#', '[']) {
            inside = false;
        }
    }
    for (_, text) in tasks.iter_mut().flat_map(|task| &mut task.commands) {
        *text = filled(text, &variables, &[("{{", "}}"), ("{{ ", " }}")]);
    }
    tasks
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
