//! The environments of tox, of its three formats.

use super::lines::{Variables, filled as put_in};
use crate::found::Task;
use crate::makefile::lines;
use crate::tree::{DataFile, Keys};
use crate::words::quoted;
use std::collections::BTreeMap;
use vplan_front::tree::{TreeNode, TreeValue};

/// The most names that one pattern generates.
const MAX_NAMES: usize = 256;

/// The environments of a `tox.ini`.
pub(super) fn ini(text: &str) -> Vec<Task> {
    let mut sections: Vec<Task> = Vec::new();
    let mut listed = String::new();
    let mut key = String::new();
    for (line, text) in lines(text) {
        let trimmed = text.trim();
        if trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            key.clear();
            sections.push(Task::new(name, line));
            continue;
        }
        let value = match text.split_once('=') {
            Some((name, value)) if !text.starts_with([' ', '\t']) => {
                name.trim().clone_into(&mut key);
                value.trim()
            }
            _ => trimmed,
        };
        match (&*key, sections.last_mut()) {
            ("envlist" | "env_list", _) => listed.push_str(&format!("{value},")),
            ("commands", Some(task)) if !value.is_empty() => {
                task.commands.push((line, value.to_owned()));
            }
            ("changedir" | "change_dir", Some(task)) => value.clone_into(&mut task.dir),
            _ => {}
        }
    }
    // `{[SECTION]commands}`, where that has one command.
    let single = sections.iter().filter_map(|task| match &*task.commands {
        [(_, text)] => Some((task.name.clone(), text.clone())),
        _ => None,
    });
    let single: Variables = single.collect();
    for (_, text) in sections.iter_mut().flat_map(|task| &mut task.commands) {
        *text = put_in(text, &single, &[("{[", "]commands}")]);
    }
    sections.retain_mut(|task| {
        let env = task.name.strip_prefix("testenv");
        let env = env.map(|env| env.trim_start_matches(':').to_owned());
        env.map(|env| task.name = env).is_some()
    });
    environments(&sections, names(&listed))
}

/// The environments of a `tox.toml` or of a table of another file.
pub(super) fn data(data: &DataFile, table: &str) -> Vec<Task> {
    let root = data.root.at(table).unwrap_or(&data.root);
    if let Some(node) = root.get("legacy_tox_ini") {
        let above = "\n".repeat(data.line(node.place) as usize);
        return ini(&format!("{above}{}", node.text().unwrap_or_default()));
    }
    let own = |name: &str, node: &TreeNode| {
        let of = |node: &TreeNode| (data.line(node.place), command(node));
        let mut task = Task::new(name, data.line(node.place));
        task.commands = node.list_at("commands").iter().map(of).collect();
        task.dir = node.scalar_at("change_dir");
        task
    };
    let base = root.get("env_run_base").map(|node| own("", node));
    let all = root.entries_at("env").iter();
    let all = all.map(|(key, node)| own(&key.name, node));
    let sections: Vec<Task> = base.into_iter().chain(all).collect();
    let listed = root.list_at("env_list").iter().filter_map(TreeNode::text);
    environments(&sections, listed.flat_map(names).collect())
}

/// The words of a command; a reference to arguments is their default.
fn command(node: &TreeNode) -> String {
    let words = node.list().iter().map(|word| match &word.value {
        TreeValue::Text(text) => quoted(text),
        _ if word.get("replace").and_then(TreeNode::text) == Some("posargs") => {
            word.get("default").map(command).unwrap_or_default()
        }
        _ => "{computed}".to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The names of a list, with those that are generated.
fn names(list: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = list.split(|c: char| {
        depth += usize::from(c == '{');
        depth = depth.saturating_sub(usize::from(c == '}'));
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    let names = parts.flat_map(generated).filter(|name| !name.is_empty());
    names.take(MAX_NAMES).collect()
}

/// The names that a pattern generates.
fn generated(pattern: &str) -> Vec<String> {
    let mut parts = pattern.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(vec![first], |starts, part| {
        let (inner, after) = part.split_once('}').unwrap_or((part, ""));
        let ways: Vec<String> = inner.split(',').flat_map(|one| range(one.trim())).collect();
        let pairs = starts
            .iter()
            .flat_map(|start| ways.iter().map(move |way| (start, way)));
        let names = pairs.map(|(start, way)| format!("{start}{way}{after}"));
        names.take(MAX_NAMES).collect()
    })
}

/// The numbers of `8-12`.
fn range(text: &str) -> Vec<String> {
    let (first, last) = text.split_once('-').unwrap_or_default();
    match (first.parse::<u8>(), last.parse::<u8>()) {
        (Ok(first), Ok(last)) => (first..=last).map(|number| number.to_string()).collect(),
        _ => vec![text.to_owned()],
    }
}

/// The environments that have a section, those that are listed, and the base (`[testenv]`), which has
/// no name and needs those that run by default.
fn environments(sections: &[Task], listed: Vec<String>) -> Vec<Task> {
    let base = sections.iter().find(|task| task.name.is_empty());
    let base = Task {
        needs: listed,
        ..base.cloned().unwrap_or_default()
    };
    let named = |task: &Task| names(&task.name);
    let own = sections.iter().map(|task| (task, named(task)));
    let every = own.chain([(&base, base.needs.clone())]);
    let every = every.flat_map(|(task, names)| names.into_iter().map(move |name| (task, name)));
    let mut all: Vec<Task> = Vec::new();
    for own in every.map(|(task, name)| selected(task, &base, &name)) {
        if all.iter().all(|task| task.name != own.name) {
            all.push(own);
        }
    }
    all.push(base);
    all
}

/// An environment of a section, with the commands that its name selects (`py312,!lint: COMMAND`).
fn selected(task: &Task, base: &Task, name: &str) -> Task {
    let factors: Vec<&str> = name.split('-').collect();
    let has = |factor: &str| match factor.strip_prefix('!') {
        Some(factor) => !factors.contains(&factor),
        None => factors.contains(&factor),
    };
    let from = |has: fn(&Task) -> bool| if has(task) { task } else { base };
    let dir = filled(&from(|task| !task.dir.is_empty()).dir);
    let enter = if dir.is_empty() {
        dir
    } else {
        format!("cd {dir} && ")
    };
    let all = from(|task| !task.commands.is_empty()).commands.iter();
    let commands = all.filter_map(|(line, text)| {
        let parts = text.split_once(": ");
        let parts = parts.filter(|(list, _)| !list.contains([' ', '=', '/']));
        let (condition, command) = parts.unwrap_or(("", text));
        let holds =
            condition.is_empty() || names(condition).iter().any(|one| one.split('-').all(has));
        holds.then(|| (*line, format!("{enter}{}", filled(command.trim()))))
    });
    Task {
        name: name.to_owned(),
        line: task.line,
        commands: commands.collect(),
        ..Task::default()
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
            // A variable is taken to be unset.
            ("env", variable) if variable.contains(':') => {
                out.push_str(variable.split_once(':').unwrap_or_default().1);
            }
            ("/" | "", _) => out.push('/'),
            _ => out.push_str(&format!("{{{{{inner}}}}}")),
        }
        rest = after;
    }
    format!("{out}{rest}{ignored}")
}

/// What a command line selects.
fn option<'w>(words: &'w [String], names: &[&str]) -> Option<&'w str> {
    let next = words.iter().skip(1).map(String::as_str).chain([""]);
    words.iter().zip(next).find_map(|(word, next)| {
        let (name, value) = word.split_once('=').unwrap_or((word, next));
        names.contains(&name).then_some(value)
    })
}

/// The environments that a command starts.
pub(crate) fn started(all: &[Task], words: &[String], env: &BTreeMap<String, String>) -> Vec<Task> {
    let Some(base) = all.iter().find(|task| task.name.is_empty()) else {
        return Vec::new();
    };
    let by_name = option(words, &["-e", "--env"]).map(names);
    let variable = env.get("TOXENV").or_else(|| env.get("TOX_ENV"));
    let by_name = by_name.or_else(|| variable.map(|list| names(list)));
    let by_factor = option(words, &["-f"]).map(|factor| {
        let names = all.iter().map(|task| task.name.clone());
        let has = |name: &String| name.split('-').any(|own| own == factor);
        names.filter(has).collect()
    });
    let chosen = by_name.or(by_factor).unwrap_or_else(|| base.needs.clone());
    let task = |name: &String| match all.iter().find(|task| task.name == *name) {
        Some(task) => task.clone(),
        None => selected(base, base, name),
    };
    chosen.iter().map(task).collect()
}

/// The words of a command with a part of an environment that only CI knows: the Python that is there, where a
/// default environment has the other factors, else the newest version that an environment has there.
pub(crate) fn resolved(all: &[Task], words: &[String], unknown: &str) -> Option<Vec<String>> {
    let value = option(words, &["-e", "--env", "-f"]).filter(|value| value.contains(unknown))?;
    let has = |name: &str, factor: &str| name.split('-').any(|own| own == factor);
    let mut default = all.last()?.needs.iter();
    let with_py = value.replace(unknown, "py");
    let is_there = default.any(|name| with_py.split('-').all(|one| one == "py" || has(name, one)));
    let (before, after) = value.split_once(unknown)?;
    let version = |task: &Task| -> Option<(Vec<u32>, String)> {
        let version = task.name.strip_prefix(before)?.strip_suffix(after)?;
        let numbers: Result<_, _> = version.split('.').map(str::parse).collect();
        Some((numbers.ok()?, version.to_owned()))
    };
    let known = match is_there {
        true => "py".to_owned(),
        false => all.iter().filter_map(version).max()?.1,
    };
    // Factors select several environments, and that Python none of those with a version.
    let resolved = |word: &String| match &**word {
        "-f" => "-e".to_owned(),
        word => word.replace(unknown, &known),
    };
    let words: Vec<String> = words.iter().map(resolved).collect();
    let is_known = |word: &String| !word.contains('$');
    words.iter().all(is_known).then_some(words)
}
