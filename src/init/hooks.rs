//! Reads hooks: pre-commit and prek, lefthook, husky and other git hooks, lint-staged.

use super::found::{Origin, Place, Reading, SourceCommand};
use super::listed::listed;
use super::shell::{self, Scope};
use super::source::quoted;
use super::tasks;
use super::tree::{DataFile, Keys, Syntax, Tree};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::path::RepoPath;
use vplan_check::tool::table;
use vplan_front::picomatch;
use vplan_front::tree::{Node, Value};

/// The word in whose place a hook manager puts the changed files.
pub const CHANGED: &str = "{changed}";

/// A hook manager: the key of `import --from`, its programs, whether a command of its needs `run`,
/// its files, and its reader. Lists are words of a text.
pub struct Manager {
    pub key: &'static str,
    programs: &'static str,
    needs_run: bool,
    files: &'static str,
    read: fn(&mut Hooks<'_>, &RepoPath) -> Result<(), String>,
}

impl Manager {
    /// The names of its files.
    pub fn files(&self) -> impl Iterator<Item = &'static str> {
        self.files.split_whitespace()
    }

    /// Those of its files that a repository has.
    fn found(&self, tree: &Tree) -> Vec<RepoPath> {
        let paths = self
            .files()
            .filter_map(|name| RepoPath::from_exact(name.as_bytes()));
        paths.filter(|file| tree.files.contains(file)).collect()
    }
}

/// The hook managers.
pub const MANAGERS: &[Manager] = &[
    Manager {
        key: "pre-commit",
        programs: "pre-commit pre_commit prek",
        needs_run: true,
        files: ".pre-commit-config.yaml .pre-commit-config.yml prek.toml",
        read: |hooks, file| hooks.pre_commit(file),
    },
    Manager {
        key: "lefthook",
        programs: "lefthook",
        needs_run: true,
        files: "lefthook.yml .lefthook.yml lefthook.yaml .lefthook.yaml lefthook.toml lefthook.json",
        read: |hooks, file| hooks.lefthook(file),
    },
    Manager {
        key: "lint-staged",
        programs: "lint-staged nano-staged",
        needs_run: false,
        files: "package.json .lintstagedrc .lintstagedrc.json .lintstagedrc.yaml .lintstagedrc.yml",
        read: |hooks, file| hooks.lint_staged(file),
    },
    Manager {
        key: "git-hooks",
        programs: "husky",
        needs_run: true,
        files: ".husky/pre-commit .husky/pre-push .simple-git-hooks.json simple-git-hooks.json package.json",
        read: |hooks, file| hooks.git_hooks(file),
    },
];

/// Reads all hooks of a repository.
#[must_use]
pub fn read(tree: &Tree) -> Reading {
    let mut hooks = Hooks::new(tree, None);
    for manager in MANAGERS {
        for file in manager.found(tree) {
            hooks.file(manager, &file);
        }
    }
    hooks.finish()
}

/// Whether a file is a hook manager's own.
#[must_use]
pub fn is_file(file: &RepoPath) -> bool {
    let is = |name: &str| name != "package.json" && file.as_bytes() == name.as_bytes();
    MANAGERS.iter().any(|manager| manager.files().any(is))
}

/// Reads a file of one manager; of several hooks only the one of this id.
#[must_use]
pub fn read_file(tree: &Tree, manager: &Manager, file: &RepoPath, only: Option<&str>) -> Reading {
    let mut hooks = Hooks::new(tree, only);
    hooks.file(manager, file);
    hooks.finish()
}

/// The hooks that a command starts: their manager, and the id of the one that it names.
#[must_use]
pub fn started<'w>(program: &str, rest: &[&'w str]) -> Option<(&'static Manager, Option<&'w str>)> {
    let manager = MANAGERS.iter().find(|m| listed(m.programs, program))?;
    let mut plain = rest.iter().filter(|word| !word.starts_with('-'));
    if manager.needs_run && *plain.next()? != "run" {
        return None;
    }
    let id = plain
        .next()
        .copied()
        .filter(|_| manager.key == "pre-commit");
    Some((manager, id))
}

/// What started hooks declare; all of them where none has the id, which is then an option's value.
#[must_use]
pub fn read_started(tree: &Tree, manager: &Manager, only: Option<&str>) -> Reading {
    let mut all = Reading::default();
    for file in manager.found(tree) {
        let one = read_file(tree, manager, &file, only);
        all.found.extend(one.found);
        all.not_read.extend(one.not_read);
    }
    match only {
        Some(_) if all.found.is_empty() && all.not_read.is_empty() => {
            read_started(tree, manager, None)
        }
        _ => all,
    }
}

struct Hooks<'t> {
    tree: &'t Tree,
    only: Option<&'t str>,
    out: Reading,
    /// The hooks that only rewrite, by the place of the first one.
    rewriting: Option<(Place, BTreeSet<String>)>,
}

/// A hook as its configuration has it.
#[derive(Default)]
struct Hook<'h> {
    text: &'h str,
    line: u32,
    label: &'h str,
    dir: RepoPath,
    paths: Vec<String>,
    env: BTreeMap<String, String>,
}

impl<'t> Hooks<'t> {
    fn new(tree: &'t Tree, only: Option<&'t str>) -> Self {
        Self {
            tree,
            only,
            out: Reading::default(),
            rewriting: None,
        }
    }

    fn finish(mut self) -> Reading {
        if let Some((place, ids)) = self.rewriting {
            let first: Vec<&str> = ids.iter().map(String::as_str).take(1).collect();
            let more = if ids.len() > 1 { ", ..." } else { "" };
            let noun = if ids.len() == 1 { "hook" } else { "hooks" };
            let part = format!("{} {noun} ({}{more})", ids.len(), first.join(", "));
            let why = "they only rewrite or look at single files";
            self.out.skip(place, Some(part), why);
        }
        self.out
    }

    fn file(&mut self, manager: &Manager, file: &RepoPath) {
        if let Err(why) = (manager.read)(self, file) {
            self.skip(file, 1, None, &why);
        }
    }

    fn skip(&mut self, file: &RepoPath, line: u32, part: Option<&str>, why: &str) {
        let part = part.map(str::to_owned);
        self.out.skip(Place::of(file, line), part, why);
    }

    /// Adds the commands of a hook.
    fn add(&mut self, file: &RepoPath, hook: Hook<'_>) {
        let scope = Scope::of(&hook.dir, &BTreeMap::new());
        for command in shell::split(hook.text, &scope) {
            let mut found = SourceCommand::of(command, file, hook.line, Origin::Hook);
            hook.label.clone_into(&mut found.label);
            found.paths.clone_from(&hook.paths);
            found.env.extend(hook.env.clone());
            self.out.found.push(found);
        }
    }

    fn pre_commit(&mut self, file: &RepoPath) -> Result<(), String> {
        let document = self.tree.read(file, Syntax::of(file))?;
        for repository in document.root.list_at("repos") {
            let name = repository.text_at("repo").unwrap_or_default();
            for hook in repository.list_at("hooks") {
                let Some(id) = hook.get("id") else { continue };
                let line = document.line(id);
                let id = id.text().unwrap_or_default();
                if self.only.is_none_or(|only| only == id) {
                    self.pre_commit_hook(file, line, name, id, hook);
                }
            }
        }
        Ok(())
    }

    fn pre_commit_hook(&mut self, file: &RepoPath, line: u32, repo: &str, id: &str, hook: &Node) {
        let stages = hook.get("stages").map_or_else(Vec::new, words);
        let runs =
            |stage: &String| ["pre-commit", "commit", "pre-push", "push"].contains(&&**stage);
        if !stages.is_empty() && !stages.iter().any(runs) {
            let why = format!("only at {}", stages.join(", "));
            return self.skip(file, line, Some(id), &why);
        }
        let known = table::hook(id).filter(|_| repo != "local");
        let own = hook.text_at("entry");
        let language = hook.text_at("language").unwrap_or_default();
        let is_meta = matches!(repo, "meta" | "builtin") || matches!(language, "pygrep" | "fail");
        if is_meta || known.as_ref().is_some_and(|known| known.command.is_none()) && own.is_none() {
            let new = || (Place::of(file, line), BTreeSet::new());
            let (_, ids) = self.rewriting.get_or_insert_with(new);
            ids.insert(id.to_owned());
            return;
        }
        if language.starts_with("docker") {
            return self.skip(file, line, Some(id), "it runs in a container");
        }
        let args = hook.get("args").map_or_else(Vec::new, words);
        let given: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
        let filled = known
            .and_then(|known| known.filled(|input| (input == "args").then(|| given.join(" "))));
        let takes_files = !matches!(
            hook.get("pass_filenames").map(|node| &node.value),
            Some(Value::Bool(false))
        );
        let mut paths = Vec::new();
        let text = match (own, filled) {
            (None, Some(text)) => match takes_files {
                true => with_files(text),
                false => text,
            },
            (Some(entry), _) => {
                let text = [vec![entry.to_owned()], given].concat().join(" ");
                match (takes_files, selection(hook)) {
                    (false, found) => {
                        paths = found.unwrap_or_default();
                        text
                    }
                    (true, Some(found)) => {
                        paths = found;
                        format!("{text} {CHANGED}")
                    }
                    (true, None) => {
                        let why = "a pattern selects its files";
                        return self.skip(file, line, Some(id), why);
                    }
                }
            }
            (None, None) => {
                let why = format!("its command is in {repo}");
                return self.skip(file, line, Some(id), &why);
            }
        };
        let hook = Hook {
            text: &text,
            line,
            label: hook.text_at("name").unwrap_or(id),
            paths,
            ..Hook::default()
        };
        self.add(file, hook);
    }

    fn lefthook(&mut self, file: &RepoPath) -> Result<(), String> {
        let document = self.tree.read(file, Syntax::of(file))?;
        for (key, hook) in document.root.entries() {
            if !judges(&key.name) {
                continue;
            }
            let commands = hook.entries_at("commands").iter();
            let commands = commands.map(|(key, node)| (key.name.as_str(), node));
            let jobs = hook.list_at("jobs").iter().map(|job| ("", job));
            for (name, job) in commands.chain(jobs) {
                let group = job.get("group");
                let inner = group.map_or(std::slice::from_ref(job), |group| group.list_at("jobs"));
                for job in inner {
                    self.lefthook_job(&document, name, hook, job);
                }
            }
        }
        Ok(())
    }

    fn lefthook_job(&mut self, document: &DataFile, name: &str, hook: &Node, job: &Node) {
        let Some(run) = job.get("run") else { return };
        let mut command = run.text().unwrap_or_default().to_owned();
        for hole in ["{staged_files}", "{push_files}", "{files}", "{all_files}"] {
            command = command.replace(hole, CHANGED);
        }
        let root = job.text_at("root");
        let root = root.and_then(|root| RepoPath::root().join(root.as_bytes()).ok());
        let dir = root.unwrap_or_default();
        let globs = job.get("glob").or_else(|| hook.get("glob"));
        let globs = globs.map_or_else(Vec::new, words);
        let paths = globs
            .iter()
            .filter_map(|glob| anywhere(glob, &RepoPath::root()))
            .collect();
        let env = job.entries_at("env").iter();
        let env = env.filter_map(|(key, node)| Some((key.name.clone(), node.text()?.to_owned())));
        let hook = Hook {
            text: &command,
            line: document.text_line(run),
            label: job.text_at("name").unwrap_or(name),
            dir,
            paths,
            env: env.collect(),
        };
        self.add(&document.file, hook);
    }

    fn lint_staged(&mut self, file: &RepoPath) -> Result<(), String> {
        let document = self.tree.read(file, Syntax::of(file))?;
        let map = match file.name() == b"package.json" {
            true => document
                .root
                .get("lint-staged")
                .or_else(|| document.root.get("nano-staged")),
            false => Some(&document.root),
        };
        for (key, node) in map.map_or(&[][..], Node::entries) {
            let paths: Vec<String> = anywhere(&key.name, &file.folder()).into_iter().collect();
            for text in words(node) {
                let line = document.line(node);
                let exec = shell::split(&text, &Scope::default()).into_iter().next();
                let manager = tasks::manager(self.tree, &file.folder());
                let launch = exec.is_some_and(|c| c.words.first().is_some_and(|w| !is_runner(w)));
                let launch = if launch { launcher(manager) } else { "" };
                let text = format!("{launch}{text} {CHANGED}");
                let hook = Hook {
                    text: &text,
                    line,
                    label: "lint-staged",
                    dir: file.folder(),
                    paths: paths.clone(),
                    ..Hook::default()
                };
                self.add(file, hook);
            }
        }
        Ok(())
    }

    fn git_hooks(&mut self, file: &RepoPath) -> Result<(), String> {
        let tree = self.tree;
        let mut add = |text: &str, line, label: &str| {
            let hook = Hook {
                text,
                line,
                label,
                ..Hook::default()
            };
            self.add(file, hook);
        };
        if file.as_bytes().starts_with(b".husky/") {
            add(tree.source(file)?, 1, &String::from_utf8_lossy(file.name()));
            return Ok(());
        }
        let document = tree.read(file, Syntax::Json)?;
        let root = &document.root;
        let maps = match file.name() {
            b"package.json" => [
                root.get("simple-git-hooks"),
                root.get("husky").and_then(|husky| husky.get("hooks")),
            ],
            _ => [Some(root), None],
        };
        for (key, node) in maps.into_iter().flatten().flat_map(Node::entries) {
            if judges(&key.name) {
                add(&words(node).join("\n"), document.line(node), &key.name);
            }
        }
        Ok(())
    }
}

/// A known hook's command with the files that its tool must be given.
fn with_files(text: String) -> String {
    const FOLDERS: &str = "\
        black isort prettier yamllint zizmor djlint interrogate eslint";
    const FILES: &str = "\
        autopep8 check-jsonschema clang-format cmake-format cmake-lint cpplint cspell doc8 \
        hadolint markdownlint markdownlint-cli2 mdformat mypy pylint shellcheck shfmt yapf";
    let mut words = text.split_whitespace();
    let program = words.next().unwrap_or_default();
    let has_operand = words.last().is_some_and(|word| !word.starts_with('-'));
    match () {
        () if has_operand => text,
        () if listed(FOLDERS, program) => format!("{text} ."),
        () if listed(FILES, program) => format!("{text} {CHANGED}"),
        () => text,
    }
}

/// Whether a hook of git looks at a change.
fn judges(hook: &str) -> bool {
    matches!(hook, "pre-commit" | "pre-push" | "pre-merge-commit")
}

/// The words that start a program of a package.
#[must_use]
pub fn launcher(manager: &str) -> &'static str {
    match manager {
        "pnpm" => "pnpm exec ",
        "yarn" => "yarn ",
        "bun" => "bunx ",
        _ => "npx ",
    }
}

fn is_runner(word: &str) -> bool {
    ["npm", "npx", "pnpm", "yarn", "bun", "bunx", "node", "git"].contains(&word)
        || word.contains('/')
}

/// A pattern of names or paths as a glob of ours.
fn anywhere(pattern: &str, dir: &RepoPath) -> Option<String> {
    let translated = picomatch::translate(pattern)
        .ok()
        .filter(|found| !found.not)?;
    let glob = match pattern.contains('/') || translated.glob == "**" {
        true => translated.glob,
        false => format!("**/{}", translated.glob),
    };
    match dir.is_root() {
        true => Some(glob),
        false => Some(format!(
            "{}/{glob}",
            vplan_base::glob::escape(&dir.to_string())
        )),
    }
}

/// The globs of the files that a local hook of pre-commit takes; `None` where they are not plain.
fn selection(hook: &Node) -> Option<Vec<String>> {
    if let Some(pattern) = hook.text_at("files") {
        return plain_pattern(pattern).map(|glob| vec![glob]);
    }
    let types = ["types", "types_or"].iter().filter_map(|key| hook.get(key));
    let types: Vec<String> = types.flat_map(words).collect();
    let mut globs = Vec::new();
    for name in types
        .iter()
        .filter(|name| !matches!(&***name, "text" | "file"))
    {
        let language = table::languages()
            .iter()
            .find(|language| language.name == name)?;
        let own = language.globs.iter().filter(|glob| glob.contains("*."));
        globs.extend(own.map(|glob| (*glob).to_owned()));
    }
    Some(globs)
}

/// An anchored path, folder or ending as a glob: `\.py$`, `^src/`, `^src/.*\.(a|b)$`, `^a\.b$`.
fn plain_pattern(pattern: &str) -> Option<String> {
    let (start, rest) = match pattern.strip_prefix('^') {
        Some(rest) => ("", rest),
        None => ("**/*", pattern),
    };
    let (rest, end) = match rest.strip_suffix('$') {
        Some(rest) => (rest, ""),
        None => (rest, if rest.ends_with('/') { "**" } else { "*" }),
    };
    let text = rest
        .replace(".*", "\u{1}")
        .replace("\\.", "\u{2}")
        .replace('(', "{");
    let text = text.replace(')', "}").replace('|', ",").replace("\\/", "/");
    if text.contains(['.', '\\', '[', ']', '?', '+', '*', '$', '^']) {
        return None;
    }
    let glob = format!("{start}{text}{end}")
        .replace('\u{2}', ".")
        .replace('\u{1}', "**/*");
    vplan_base::glob::Glob::parse(&glob).is_ok().then_some(glob)
}

fn words(node: &Node) -> Vec<String> {
    match &node.value {
        Value::Text(text) => vec![text.clone()],
        _ => node
            .list()
            .iter()
            .filter_map(|one| one.text().map(str::to_owned))
            .collect(),
    }
}

#[cfg(test)]
mod tests;
