//! The tasks of task runners: their names, and their commands one level deep.
//!
//! Files are read by line patterns or as data. What cannot be read leaves a task without commands,
//! and the task is kept as its source starts it.

use super::listed::listed;
use super::shell::{self, Scope};
use super::source::words_of;
use super::tree::{DataFile, Keys, Tree};
use vplan_base::path::RepoPath;
use vplan_check::tool::reading::read as read_command;
use vplan_front::tree::{Key, Node, Value};

mod lines;
mod task;
pub(crate) mod tox;

pub use task::Task;

/// A file of tasks.
#[derive(Clone, Debug)]
pub struct Tasks {
    pub file: RepoPath,
    /// Where its tasks run.
    pub dir: RepoPath,
    pub runner: Runner,
    pub all: Vec<Task>,
}

/// A task runner: its programs, files, and how a task is started.
#[derive(Debug)]
pub struct RunnerRow {
    /// The key of `import --from`.
    pub key: &'static str,
    programs: &'static str,
    /// Names of its files, in the order in which it looks for them.
    files: &'static str,
    /// The words in front of a task's name.
    start: &'static str,
    shape: Shape,
}

pub type Runner = &'static RunnerRow;

/// How a file has its tasks.
#[derive(Debug)]
enum Shape {
    /// Mappings from names to commands, at these paths of keys; `*` is the name of an environment.
    Map(&'static [&'static str]),
    /// Lines of a program.
    Lines(fn(&str) -> Vec<Task>),
    /// Data that tox reads.
    Tox,
}

const fn row(
    key: &'static str,
    [programs, files, start]: [&'static str; 3],
    shape: Shape,
) -> RunnerRow {
    RunnerRow {
        key,
        programs,
        files,
        start,
        shape,
    }
}

const MAKE: [&str; 3] = ["make gmake", "GNUmakefile makefile Makefile", "make"];
const TASK: &str = "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml";
const SCRIPTS: Shape = Shape::Map(&["scripts"]);
const TASKS: Shape = Shape::Map(&["tasks"]);
const HATCH: Shape = Shape::Map(&["tool.hatch.envs.*.scripts"]);
const NX: Shape = Shape::Map(&["targets", "targetDefaults"]);

/// The runners: programs, files, start. The order decides which names a task where two runners have
/// it.
#[rustfmt::skip]
pub const RUNNERS: &[RunnerRow] = &[
    row("package-json", ["npm pnpm yarn bun", "package.json", "npm run"], SCRIPTS),
    row("make", MAKE, Shape::Lines(lines::make)),
    row("tox", ["tox", "tox.ini", "tox -e"], Shape::Lines(tox::ini)),
    row("nox", ["nox", "noxfile.py", "nox -s"], Shape::Lines(lines::nox)),
    row("just", ["just", "justfile .justfile Justfile", "just"], Shape::Lines(lines::just)),
    row("mise", ["mise", "mise.toml .mise.toml", "mise run"], TASKS),
    row("taskfile", ["task", TASK, "task"], TASKS),
    row("rake", ["rake", "Rakefile", "rake"], Shape::Lines(lines::rake)),
    row("composer", ["composer", "composer.json", "composer run"], SCRIPTS),
    row("deno", ["deno", "deno.json deno.jsonc", "deno task"], TASKS),
    row("poe", ["poe", "pyproject.toml", "poe"], Shape::Map(&["tool.poe.tasks"])),
    row("pdm", ["pdm", "pyproject.toml", "pdm run"], Shape::Map(&["tool.pdm.scripts"])),
    row("tox-toml", ["tox", "tox.toml pyproject.toml", "tox -e"], Shape::Tox),
    row("hatch", ["hatch", "pyproject.toml", "hatch run"], HATCH),
    row("turbo", ["turbo", "turbo.json turbo.jsonc", "turbo run"], Shape::Map(&["tasks", "pipeline"])),
    row("nx", ["nx", "nx.json project.json", "nx run-many -t"], NX),
    row("moon", ["moon", "moon.yml tasks.yml", "moon run"], TASKS),
    row("cargo", ["cargo", ".cargo/config.toml", "cargo"], Shape::Map(&["alias"])),
];

/// The tasks that a program, as the table of tools names it, finds in a folder.
pub fn of_program(tree: &Tree, program: &str, dir: &RepoPath) -> Option<Tasks> {
    let mut own = RUNNERS.iter().filter(|row| listed(row.programs, program));
    own.find_map(|row| in_folder(tree, row, dir))
}

impl RunnerRow {
    /// The names of its files, in the order in which it looks for them.
    pub fn files(&self) -> impl Iterator<Item = &'static str> {
        self.files.split(' ')
    }

    /// The command that starts a task. Of a `package.json` the package manager of its lock file.
    pub fn words(&self, tree: &Tree, dir: &RepoPath, task: &str) -> Vec<String> {
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

/// The lock files of package managers, in the order of trust.
const LOCKS: [(&str, &str); 6] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
];

/// The package manager of a folder: of `packageManager` or a lock file, here or above.
pub fn manager(tree: &Tree, dir: &RepoPath) -> &'static str {
    let named = |name: &str| LOCKS.iter().find(|(_, m)| *m == name).map(|(_, m)| *m);
    for folder in dir.ancestors().into_iter().rev().chain([RepoPath::root()]) {
        let field = tree.part(&folder, "package.json:packageManager");
        let field = field.and_then(|field| named(field.text()?.split('@').next()?));
        let lock = LOCKS.iter().find(|(lock, _)| tree.has(&folder, lock));
        if let Some(found) = field.or_else(|| lock.map(|(_, manager)| *manager)) {
            return found;
        }
    }
    "npm"
}

/// Reads the tasks of one file, with a reason where it cannot be read.
///
/// # Errors
/// The file was not read, or is not of its format.
pub fn read(tree: &Tree, runner: Runner, file: &RepoPath) -> Result<Tasks, String> {
    let text = tree.source(file)?;
    let data = || tree.read(file);
    let mut all = match runner.shape {
        Shape::Lines(read) => read(text),
        Shape::Map(paths) => {
            let data = data()?;
            let all = paths.iter().flat_map(|keys| map_tasks(&data, keys));
            all.collect()
        }
        Shape::Tox => tox::data(&data()?, "tool.tox"),
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
pub fn file(tree: &Tree, runner: Runner, dir: &RepoPath) -> Option<RepoPath> {
    runner.files().find_map(|name| {
        let file = dir.join(name.as_bytes()).ok()?;
        tree.texts.contains_key(&file).then_some(file)
    })
}

/// The tasks of a runner in a folder.
pub fn in_folder(tree: &Tree, runner: Runner, dir: &RepoPath) -> Option<Tasks> {
    read(tree, runner, &file(tree, runner, dir)?).ok()
}

impl Tasks {
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
                let commands = shell::split(text, &Scope::of(&self.dir)).into_iter();
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

fn map_task(data: &DataFile, prefix: &str, (key, node): &(Key, Node)) -> Option<Task> {
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

fn commands(data: &DataFile, node: &Node) -> Vec<(u32, String)> {
    let keys = COMMANDS.split(' ').filter_map(|key| node.get(key));
    let found = match &node.value {
        Value::Map(_) => keys.collect(),
        _ => vec![node],
    };
    let texts = found.into_iter().flat_map(texts);
    let placed = texts.map(|(node, text)| (data.text_place(node).line, text));
    placed.collect()
}

fn texts(node: &Node) -> Vec<(&Node, String)> {
    match &node.value {
        Value::Text(text) => vec![(node, text.clone())],
        _ => {
            let text = |item: &Node| {
                let words: Vec<&str> = item.list().iter().filter_map(Node::text).collect();
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
