//! The tasks of task runners: their names, and their commands one level deep.
//!
//! Files are read by line patterns or as data. What cannot be read leaves a task without commands,
//! and the task is kept as its source starts it.

use crate::found::{CommandOrigin, Place, SourceCommand, Task};
use crate::kinds::{KINDS, Kind};
use crate::shell;
use crate::shell::ShellScope;
use crate::tree::{DataFile, Keys, RepositoryTree};
use crate::words::{listed, words_of};
use vplan_base::path::RepoPath;
use vplan_check::tool::matched::read as read_command;
use vplan_check::tool::table::kept;
use vplan_front::tree::{TreeKey, TreeNode, TreeValue};

mod lines;
pub(crate) mod tox;

/// A file of tasks.
#[derive(Clone, Debug)]
pub struct Tasks {
    pub file: RepoPath,
    /// Where its tasks run.
    pub dir: RepoPath,
    pub runner: Kind,
    pub all: Vec<Task>,
}

/// The tasks that a program, as the table of tools names it, finds in a folder.
pub fn of_program(tree: &RepositoryTree, program: &str, dir: &RepoPath) -> Option<Tasks> {
    let mut own = KINDS.iter().filter(|kind| kind.has_tasks());
    own.find_map(|kind| {
        let file = listed(kind.programs, program).then(|| file(tree, *kind, dir))?;
        read(tree, *kind, &file?).ok()
    })
}

impl Kind {
    /// The command that starts a task. Of a `package.json` the package manager of its lock file.
    pub fn words(self, tree: &RepositoryTree, dir: &RepoPath, task: &str) -> Vec<String> {
        let mut words = words_of(self.start);
        if let ("package-json", Some(first)) = (self.key, words.first_mut()) {
            manager(tree, dir).clone_into(first);
        }
        if self.key == "moon" {
            return [words, vec![format!(":{task}")]].concat();
        }
        words.push(task.to_owned());
        words
    }
}

/// The package managers, in the order in which their lock files are trusted.
const MANAGERS: [&str; 4] = ["pnpm", "yarn", "npm", "bun"];

/// The package manager of a folder: of `packageManager` or a lock file, here or above.
pub fn manager(tree: &RepositoryTree, dir: &RepoPath) -> &'static str {
    let above = dir.ancestors().into_iter().rev().chain([RepoPath::root()]);
    let mut found = above.filter_map(|folder| {
        let field = tree.part(&folder, "package.json:packageManager");
        let field = field.as_ref().and_then(TreeNode::text).unwrap_or_default();
        let named = MANAGERS
            .iter()
            .find(|one| field.split('@').next() == Some(one));
        let is_lock = |file| file != "package.json" && tree.has(&folder, file);
        let mut by_lock = MANAGERS.iter().filter(|one| kept(one).any(is_lock));
        named.or_else(|| by_lock.next())
    });
    found.next().unwrap_or(&"npm")
}

/// Reads the tasks of one file, with a reason where it cannot be read.
///
/// # Errors
/// The file was not read, or is not of its format.
pub fn read(tree: &RepositoryTree, runner: Kind, file: &RepoPath) -> Result<Tasks, String> {
    let text = tree.source(file)?;
    let mut all = match runner.key {
        "make" => lines::make(text),
        "tox" => tox::ini(text),
        "nox" => lines::nox(text),
        "just" => lines::just(text),
        "rake" => lines::rake(text),
        "tox-toml" => tox::data(&tree.read(file)?, "tool.tox"),
        _ => {
            let data = tree.read(file)?;
            let keys = runner.keys.split(' ');
            keys.flat_map(|keys| map_tasks(&data, keys)).collect()
        }
    };
    if runner.key == "cargo" {
        // An alias is a text or a list of words.
        for task in &mut all {
            let words = task.commands.iter().map(|(_, text)| &**text);
            let words: Vec<&str> = std::iter::once("cargo").chain(words).collect();
            task.commands = vec![(task.line, words.join(" "))];
        }
    }
    let dir = match (runner.key, file.folder()) {
        ("cargo" | "moon", dir) if dir.name().starts_with(b".") => dir.folder(),
        (_, dir) => dir,
    };
    Ok(Tasks {
        file: file.clone(),
        dir,
        runner,
        all,
    })
}

/// The file of a runner in a folder: the first of its names that is there.
pub fn file(tree: &RepositoryTree, runner: Kind, dir: &RepoPath) -> Option<RepoPath> {
    runner.files().find_map(|name| {
        let file = dir.join(name.as_bytes()).ok()?;
        tree.texts.contains_key(&file).then_some(file)
    })
}

impl Tasks {
    /// The command that starts a task.
    pub fn start(
        &self,
        tree: &RepositoryTree,
        task: &Task,
        origin: CommandOrigin,
    ) -> SourceCommand {
        let words = self.runner.words(tree, &self.dir, &task.name);
        let place = Place::new(&self.file, task.line);
        SourceCommand {
            origin,
            ..SourceCommand::at(place, words, &self.dir)
        }
    }

    /// A task by its name.
    pub fn task(&self, name: &str) -> Option<&Task> {
        self.all.iter().find(|task| task.name == name)
    }

    /// What runs before a task and in it, one level deep, with the place of each.
    pub fn body<'t>(&'t self, task: &'t Task) -> Vec<&'t (u32, String)> {
        let own = self.task(&format!("pre{}", task.name));
        let own = own.filter(|_| self.runner.key == "package-json");
        let needed = task.needs.iter().filter_map(|name| self.task(name));
        let all = own.into_iter().chain(needed).chain([task]);
        all.flat_map(|task| &task.commands).collect()
    }

    /// The tasks that others start, as patterns of their names, each with the task that does.
    pub fn parts(&self) -> Vec<(String, &str)> {
        let mut parts = Vec::new();
        for task in &self.all {
            parts.extend(task.needs.iter().map(|need| (need.clone(), &*task.name)));
            for (_, text) in &task.commands {
                let commands = shell::split(text, &ShellScope::new(&self.dir)).into_iter();
                let started = commands.filter_map(|one| read_command(&one.words)?.task);
                for name in started.flat_map(|names| words_of(&names)) {
                    let name = name.strip_prefix("npm:").unwrap_or(&name);
                    parts.push((name.to_owned(), &*task.name));
                }
            }
        }
        parts
    }
}

/// Tasks of a mapping from names to a text, a list, or a mapping with one of the keys below.
fn map_tasks(data: &DataFile, keys: &str) -> Vec<Task> {
    let Some((outer, inner)) = keys.split_once(".*.") else {
        let all = data.root.entries_at(keys).iter();
        return all.filter_map(|entry| map_task(data, "", entry)).collect();
    };
    let environments = data.root.entries_at(outer).iter();
    let scripts = environments.flat_map(|(env, node)| {
        let prefix = match &*env.name {
            "default" => String::new(),
            env => format!("{env}:"),
        };
        let scripts = node.entries_at(inner).iter();
        scripts.filter_map(move |entry| map_task(data, &prefix, entry))
    });
    scripts.collect()
}

fn map_task(data: &DataFile, prefix: &str, (key, node): &(TreeKey, TreeNode)) -> Option<Task> {
    let list = |name| node.get(name).into_iter().flat_map(texts);
    let needs = ["deps", "depends", "needs"].into_iter().flat_map(list);
    let is_own = !key.name.starts_with('_');
    is_own.then(|| Task {
        commands: commands(data, node),
        needs: needs.map(|(_, text)| text).collect(),
        ..Task::new(format!("{prefix}{}", key.name), data.line(key.place))
    })
}

/// The keys under which a task of a mapping has its commands.
const COMMANDS: &str = "run cmds cmd command shell composite sequence commands";

fn commands(data: &DataFile, node: &TreeNode) -> Vec<(u32, String)> {
    let keys = COMMANDS.split(' ').filter_map(|key| node.get(key));
    let found = match &node.value {
        TreeValue::Map(_) => keys.collect(),
        _ => vec![node],
    };
    let texts = found.into_iter().flat_map(texts);
    let placed = texts.map(|(node, text)| (data.text_place(node).line, text));
    placed.collect()
}

fn texts(node: &TreeNode) -> Vec<(&TreeNode, String)> {
    match &node.value {
        TreeValue::Text(text) => vec![(node, text.clone())],
        _ => {
            let text = |item: &TreeNode| {
                let words: Vec<&str> = item.list().iter().filter_map(TreeNode::text).collect();
                let text = item.text().or_else(|| item.text_at("cmd"));
                text.map_or_else(|| words.join(" "), str::to_owned)
            };
            let all = node.list().iter().map(|item| (item, text(item)));
            all.filter(|(_, text)| !text.is_empty()).collect()
        }
    }
}

#[cfg(test)]
mod tests;
