//! Tasks of mise: tables of `mise.toml`, and files with `#MISE` lines.

use super::super::tree::{Syntax, Tree};
use super::kit::{self, Options, appended, line};
use super::{Body, Line};
use crate::base::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// Configurations that may have tasks.
const FILES: [&str; 4] = [
    "mise.toml",
    ".mise.toml",
    ".config/mise/config.toml",
    ".config/mise.toml",
];
/// Folders whose files are tasks.
const FOLDERS: [&str; 4] = [
    "mise-tasks",
    ".mise-tasks",
    ".mise/tasks",
    ".config/mise/tasks",
];
/// The most tasks that one command may need.
const MAX_TASKS: usize = 100;

/// A task.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// Names or patterns of what it needs.
    needs: Vec<String>,
    lines: Vec<Line>,
    /// Where it is declared.
    pub place: Option<(RepoPath, u32)>,
    odd: Option<String>,
}

/// All tasks of the repository's root.
pub fn tasks(tree: &Tree) -> BTreeMap<String, Task> {
    let root = RepoPath::root();
    let mut found: BTreeMap<String, Task> = BTreeMap::new();
    for folder in FOLDERS {
        let Ok(folder) = root.join(folder.as_bytes()) else {
            continue;
        };
        for (file, text) in &tree.texts {
            let Some(name) = file
                .below(&folder)
                .and_then(|n| std::str::from_utf8(n).ok())
            else {
                continue;
            };
            let name = name.trim_end_matches("/_default").replace('/', ":");
            let name = name.strip_suffix(".sh").unwrap_or(&name).to_owned();
            let needs = text
                .lines()
                .filter_map(|l| l.trim_start_matches(['#', '/', ' ']).strip_prefix("MISE "))
                .filter_map(|l| l.strip_prefix("depends="))
                .flat_map(|l| {
                    l.split('"')
                        .skip(1)
                        .step_by(2)
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                });
            let first = text.lines().next().unwrap_or_default();
            let shell = ["sh", "bash", "zsh"].iter().any(|s| first.ends_with(s))
                || !first.starts_with("#!");
            found.insert(
                name.clone(),
                Task {
                    needs: needs.collect(),
                    lines: vec![line(file, 1, &name, text.clone(), &root)],
                    place: Some((file.clone(), 1)),
                    odd: (!shell).then(|| format!("`{file}` is no shell script")),
                },
            );
        }
    }
    for file in FILES {
        let Ok(file) = root.join(file.as_bytes()) else {
            continue;
        };
        let Some(Ok(doc)) = kit::document(tree, &file, Syntax::Toml) else {
            continue;
        };
        for (key, node) in doc.root.get("tasks").map_or(&[][..], |n| n.entries()) {
            let run = if node.get("run").is_some() {
                node.get("run")
            } else {
                Some(node)
            };
            let dir = node.get("dir").and_then(|d| d.text()).unwrap_or(".");
            let dir = root
                .join(dir.as_bytes())
                .unwrap_or_else(|_| RepoPath::root());
            let env = kit::variables(node.get("env"));
            let mut lines = Vec::new();
            let mut needs: Vec<String> = Vec::new();
            for name in ["depends", "wait_for", "depends_post"] {
                let named = node.get(name).filter(|_| name != "wait_for");
                needs.extend(
                    named
                        .map_or(Vec::new(), kit::texts)
                        .into_iter()
                        .map(str::to_owned),
                );
            }
            for text in run.map_or(Vec::new(), kit::texts) {
                let number = run.map_or(1, |n| doc.text_line(n));
                let mut one = line(&file, number, &key.name, text.to_owned(), &dir);
                one.env.clone_from(&env);
                lines.push(one);
            }
            for part in run.map_or(&[][..], |n| n.list()) {
                needs.extend(part.get("task").and_then(|t| t.text()).map(str::to_owned));
                needs.extend(
                    part.get("tasks")
                        .map_or(Vec::new(), kit::texts)
                        .into_iter()
                        .map(str::to_owned),
                );
            }
            let odd = node.get("file").map(|_| "its file is elsewhere".to_owned());
            found.insert(
                key.name.clone(),
                Task {
                    needs,
                    lines,
                    place: Some((file.clone(), doc.line(node))),
                    odd,
                },
            );
        }
    }
    found
}

/// Finds the lines of the tasks that are asked for.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    let _ = dir;
    if kit::program(words) != "mise" {
        return None;
    }
    let valued = [
        "-C", "--cd", "-E", "--env", "-j", "--jobs", "-o", "--output", "-t", "--tool",
    ];
    let options = Options::of(words.get(1..).unwrap_or_default(), &valued);
    let (first, rest) = options.rest.split_first()?;
    let rest = match first.as_str() {
        "run" | "r" => Options::of(rest, &valued).rest,
        "tasks" if rest.first().is_some_and(|w| w == "run") => {
            Options::of(rest.get(1..).unwrap_or_default(), &valued).rest
        }
        _ => return None,
    };
    let all = tasks(tree);
    let (mut seen, mut lines) = (BTreeSet::new(), Vec::new());
    for part in rest.split(|w| w == ":::") {
        let Some((name, args)) = part.split_first() else {
            continue;
        };
        let args = args.strip_prefix(&["--".to_owned()]).unwrap_or(args);
        if let Err(why) = walk(&all, name, args, &mut seen, &mut lines, 0) {
            return Some(Body::Opaque(why));
        }
    }
    Some(Body::Lines(lines))
}

fn walk(
    all: &BTreeMap<String, Task>,
    name: &str,
    args: &[String],
    seen: &mut BTreeSet<String>,
    lines: &mut Vec<Line>,
    depth: usize,
) -> Result<(), String> {
    let hits: Vec<(&String, &Task)> = all
        .iter()
        .filter(|(task, _)| *task == name || name.contains('*') && kit::matches(name, task, ':'))
        .collect();
    if hits.is_empty() && !name.contains('*') {
        return Err(format!("mise has no task `{name}` here"));
    }
    for (task, found) in hits {
        if !seen.insert(task.clone()) {
            continue;
        }
        if seen.len() > MAX_TASKS || depth > 32 || lines.len() > kit::MAX_LINES {
            return Err(format!("`{name}` needs too many tasks"));
        }
        if let Some(odd) = &found.odd {
            return Err(format!("the task `{task}`: {odd}"));
        }
        for need in &found.needs {
            let need = need.split_whitespace().next().unwrap_or_default();
            walk(all, need, &[], seen, lines, depth + 1)?;
        }
        let last = found.lines.len();
        for (index, line) in found.lines.iter().enumerate() {
            let mut line = line.clone();
            if index + 1 == last && !args.is_empty() && !line.text.starts_with("#!") {
                line.text.push_str(&appended(args));
            }
            lines.push(line);
        }
    }
    Ok(())
}
