//! The environments of tox, of its three formats: names that are generated (`py3{12,13}-{a,b}`),
//! commands under conditions of factors, what a command line selects.

use super::task::{Lines, Task, Variables};
use crate::makefile::lines;
use crate::source::quoted;
use crate::tree::{DataFile, Keys};
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use vplan_front::tree::{Node, Value};

/// The most names that one pattern generates.
const MAX_NAMES: usize = 256;
/// The variable with the environments that run by default.
const DEFAULT: &str = "env_list";

/// A section of an environment.
#[derive(Clone, Debug, Default)]
struct Section {
    line: u32,
    commands: Option<Vec<(u32, String)>>,
    dir: Option<String>,
}

/// The environments of a `tox.ini`. The base (`[testenv]`) has no name.
pub(super) fn ini(text: &str) -> Lines {
    let mut sections: Vec<(String, Section)> = Vec::new();
    let mut listed = String::new();
    let (mut section, mut key) = (String::new(), String::new());
    for (line, text) in lines(text) {
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            name.clone_into(&mut section);
            key.clear();
            if let Some(env) = name.strip_prefix("testenv") {
                let own = Section {
                    line,
                    ..Section::default()
                };
                sections.push((env.trim_start_matches(':').to_owned(), own));
            }
            continue;
        }
        let value = match text.split_once('=') {
            Some((name, value)) if !text.starts_with([' ', '\t']) => {
                name.trim().clone_into(&mut key);
                value.trim()
            }
            _ => trimmed,
        };
        let own = sections
            .last_mut()
            .filter(|_| section.starts_with("testenv"));
        match (&*key, own) {
            ("envlist" | "env_list", _) if section == "tox" => {
                listed.push_str(&format!("{value},"))
            }
            ("commands", Some((_, own))) => {
                let commands = own.commands.get_or_insert_default();
                commands.extend((!value.is_empty()).then(|| (line, value.to_owned())));
            }
            ("changedir" | "change_dir", Some((_, own))) => own.dir = Some(value.to_owned()),
            _ => {}
        }
    }
    environments(&sections, &names(&listed))
}

/// The environments of a `tox.toml` or of a table of another file.
pub(super) fn data(data: &DataFile, table: &str) -> Lines {
    let root = data.root.at(table).unwrap_or(&data.root);
    if let Some(node) = root.get("legacy_tox_ini") {
        let (mut tasks, variables) = ini(node.text().unwrap_or_default());
        let places = tasks.iter_mut().flat_map(|task| {
            let commands = task.commands.iter_mut().map(|(line, _)| line);
            commands.chain([&mut task.line])
        });
        places.for_each(|line| *line = line.saturating_add(data.line(node.place)));
        return (tasks, variables);
    }
    let own = |node: &Node, line: u32| Section {
        line,
        commands: node.get("commands").map(|commands| {
            let of = |node: &Node| (data.line(node.place), command(node));
            commands.list().iter().map(of).collect()
        }),
        dir: node.text_at("change_dir").map(str::to_owned),
    };
    let base = root.get("env_run_base");
    let base = base.map(|node| (String::new(), own(node, data.line(node.place))));
    let all = root.entries_at("env").iter();
    let all = all.map(|(key, node)| (key.name.clone(), own(node, data.line(key.place))));
    let sections: Vec<(String, Section)> = base.into_iter().chain(all).collect();
    let listed = root.list_at("env_list").iter().flat_map(listed_names);
    environments(&sections, &listed.collect::<Vec<_>>())
}

/// The words of a command; a reference to arguments is their default.
fn command(node: &Node) -> String {
    let words = node.list().iter().map(|word| match &word.value {
        Value::Text(text) => quoted(text),
        _ if word.get("replace").and_then(Node::text) == Some("posargs") => {
            word.get("default").map(command).unwrap_or_default()
        }
        _ => "{computed}".to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The names of an entry of `env_list`: a name, or the product of lists of factors.
fn listed_names(node: &Node) -> Vec<String> {
    let Some(product) = node.get("product") else {
        return node.text().map(names).unwrap_or_default();
    };
    let pattern = product.list().iter().map(|part| {
        let texts = part.list().iter().filter_map(Node::text);
        let range = part.get("prefix").and_then(Node::text).map(|prefix| {
            let end = |key| {
                part.get(key).map_or(0, |node| match &node.value {
                    Value::Whole(number) => *number,
                    _ => 0,
                })
            };
            format!("{prefix}{{{}-{}}}", end("start"), end("stop"))
        });
        range.unwrap_or_else(|| format!("{{{}}}", texts.collect::<Vec<_>>().join(",")))
    });
    names(&pattern.collect::<Vec<_>>().join("-"))
}

/// The names of a list, with those that are generated.
fn names(list: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = list.split(|c: char| {
        depth += usize::from(c == '{');
        depth = depth.saturating_sub(usize::from(c == '}'));
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    let mut open: Vec<String> = parts.map(str::to_owned).collect();
    open.reverse();
    let mut out: Vec<String> = Vec::new();
    while let Some(name) = open.pop() {
        let braces = name.split_once('{').and_then(|(before, rest)| {
            let (inner, after) = rest.split_once('}')?;
            Some((before.to_owned(), inner.to_owned(), after.to_owned()))
        });
        match braces {
            Some((before, inner, after)) if open.len() < MAX_NAMES => {
                let all = inner.split(',').flat_map(|one| range(one.trim()));
                let all: Vec<String> = all.map(|one| format!("{before}{one}{after}")).collect();
                open.extend(all.into_iter().rev());
            }
            None if !name.is_empty() && out.len() < MAX_NAMES => out.push(name),
            _ => {}
        }
    }
    out
}

/// The numbers of `8-12`.
fn range(text: &str) -> Vec<String> {
    let (first, last) = text.split_once('-').unwrap_or_default();
    match (first.parse::<u8>(), last.parse::<u8>()) {
        (Ok(first), Ok(last)) => (first..=last).map(|number| number.to_string()).collect(),
        _ => vec![text.to_owned()],
    }
}

fn environments(sections: &[(String, Section)], listed: &[String]) -> Lines {
    let section = |name: &str| sections.iter().find(|(own, _)| own == name);
    let base = section("")
        .map(|(_, base)| base.clone())
        .unwrap_or_default();
    let mut all: Vec<Task> = Vec::new();
    let mut add = |name: &str, own: &Section| {
        if all.iter().any(|task| task.name == name) {
            return;
        }
        let dir = own.dir.as_ref().or(base.dir.as_ref());
        let in_dir = |text: String| match (dir, conditional(&text)) {
            (None, _) => text,
            (Some(dir), (condition, command)) => format!("{condition}cd {dir} && {command}"),
        };
        let mut task = Task::new(name, own.line);
        let commands = own.commands.as_ref().or(base.commands.as_ref());
        for (line, text) in commands.into_iter().flatten() {
            let (condition, command) = conditional(text);
            // `{[testenv:other]commands}`
            let other = command.strip_prefix("{[testenv").and_then(|rest| {
                let name = rest.strip_suffix("]commands}")?;
                section(name.trim_start_matches(':'))?.1.commands.as_ref()
            });
            let own = vec![(*line, command.to_owned())];
            let started = other.unwrap_or(&own).iter();
            let started = started.map(|(at, text)| (*at, in_dir(format!("{condition}{text}"))));
            task.commands.extend(started);
        }
        // The base is read for each name that it has no section for.
        if !name.is_empty() {
            task = selected(&task, name);
        }
        all.push(task);
    };
    for (pattern, own) in sections {
        match &**pattern {
            "" => add("", own),
            pattern => names(pattern).iter().for_each(|name| add(name, own)),
        }
    }
    listed.iter().for_each(|name| add(name, &base));
    let default = BTreeMap::from([(DEFAULT.to_owned(), listed.join(","))]);
    (all, default)
}

/// A command and the condition in front of it (`py312,lint: `), if it has one.
fn conditional(text: &str) -> (&str, &str) {
    static CONDITION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\w.!,{}-]+:\s+").ok());
    let found = CONDITION.as_ref().and_then(|pattern| pattern.find(text));
    text.split_at_checked(found.map_or(0, |found| found.end()))
        .unwrap_or(("", text))
}

/// An environment with the commands that a name selects.
fn selected(task: &Task, name: &str) -> Task {
    let factors: Vec<&str> = name.split('-').collect();
    let has = |factor: &str| match factor.strip_prefix('!') {
        Some(factor) => !factors.contains(&factor),
        None => factors.contains(&factor),
    };
    let holds = |condition: &str| {
        let list = condition.trim().trim_end_matches(':');
        list.is_empty() || names(list).iter().any(|one| one.split('-').all(has))
    };
    let commands = task.commands.iter().filter_map(|(line, text)| {
        let (condition, command) = conditional(text);
        holds(condition).then(|| (*line, filled(command)))
    });
    Task {
        name: name.to_owned(),
        commands: commands.collect(),
        ..task.clone()
    }
}

/// A command as shell text: with what it says of arguments and folders. What only tox knows is a
/// parameter.
fn filled(text: &str) -> String {
    let (text, ignored) = match text.strip_prefix('-') {
        Some(rest) => (rest.trim(), " || true"),
        None => (text, ""),
    };
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, inner)) = rest.split_once('{') {
        let (inner, after) = inner.split_once('}').unwrap_or((inner, ""));
        out.push_str(before);
        match inner.split_once(':').unwrap_or((inner, "")) {
            ("posargs", default) => out.push_str(default),
            ("toxinidir" | "tox_root", _) => out.push('.'),
            ("envpython", _) => out.push_str("python"),
            ("/" | "", _) => out.push('/'),
            _ => out.push_str(&format!("{{{{{inner}}}}}")),
        }
        rest = after;
    }
    format!("{out}{rest}{ignored}")
}

/// What a command line selects.
fn option<'w>(words: &'w [String], names: &[&str]) -> Option<(usize, &'w str)> {
    words.iter().enumerate().find_map(|(at, word)| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let next = words.get(at + 1).map_or("", String::as_str);
        names
            .contains(&name)
            .then_some((at, if value.is_empty() { next } else { value }))
    })
}

/// The environments that a command starts.
pub(crate) fn started(
    (all, variables): (&[Task], &Variables),
    words: &[String],
    env: &BTreeMap<String, String>,
) -> Vec<Task> {
    let by_name = option(words, &["-e", "--env"]).map(|(_, list)| names(list));
    let by_name = by_name.or_else(|| env.get("TOXENV").map(|list| names(list)));
    let by_factor = option(words, &["-f"]).map(|(_, factor)| {
        let names = all.iter().map(|task| task.name.clone());
        names
            .filter(|name| name.split('-').any(|own| own == factor))
            .collect()
    });
    let chosen = by_name.or(by_factor).unwrap_or_else(|| default(variables));
    let named = chosen.iter().filter_map(|name| {
        let task = |name: &str| all.iter().find(|task| task.name == name);
        let own = task(name).filter(|_| !name.is_empty()).cloned();
        own.or_else(|| Some(selected(task("")?, name)))
    });
    named.collect()
}

fn default(variables: &Variables) -> Vec<String> {
    names(variables.get(DEFAULT).map_or("", String::as_str))
}

/// The words of a command that selects an environment by something that only CI knows: of those that
/// run by default the newest one with the factors that are known, for the Python that is there; all
/// of them where no factor is known.
pub(crate) fn resolved(
    variables: &Variables,
    words: &[String],
    unknown: &str,
) -> Option<Vec<String>> {
    static PYTHON: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^(py|pypy|cpython)?\d[\d.]*t?$").ok());
    let (at, value) =
        option(words, &["-e", "--env"]).filter(|(_, value)| value.contains(unknown))?;
    let is_spread = words.get(at).is_some_and(|word| !word.contains('='));
    let mut out = words.to_vec();
    out.drain(at..(at + 1 + usize::from(is_spread)).min(words.len()));
    let rest = value.replace(unknown, "");
    let known: Vec<&str> = rest
        .split('-')
        .filter(|factor| !factor.is_empty())
        .collect();
    if !known.is_empty() {
        let default = default(variables);
        let fits = |name: &&String| {
            known
                .iter()
                .all(|known| name.split('-').any(|own| own == *known))
        };
        let is_version = |factor: &str| {
            !known.contains(&factor)
                && PYTHON
                    .as_ref()
                    .is_some_and(|python| python.is_match(factor))
        };
        let factors = default.iter().rfind(fits)?.split('-');
        let factors: Vec<&str> = factors
            .map(|own| if is_version(own) { "py" } else { own })
            .collect();
        out.splice(at..at, ["-e".to_owned(), factors.join("-")]);
    }
    out.iter().all(|word| !word.contains('$')).then_some(out)
}
