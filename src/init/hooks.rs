//! Reads hooks: pre-commit and prek, lefthook, husky and other git hooks, lint-staged.

use crate::found::{CommandOrigin, Place, SourceCommand, SourceReading};
use crate::kinds::{KINDS, Kind};
use crate::shell::ShellScope;
use crate::tree::{DataFile, Keys, RepositoryTree, scalar, scalars};
use crate::words::{listed, quoted};
use crate::{shell, tasks};
use std::collections::BTreeSet;
use vplan_base::glob::{Glob, escape};
use vplan_base::path::RepoPath;
use vplan_base::word::count;
use vplan_check::tool::table::{self};
use vplan_front::picomatch;
use vplan_front::tree::{TreeKey, TreeNode};

/// The word in whose place a hook manager puts the changed files.
pub const CHANGED: &str = "{changed}";

fn managers() -> impl Iterator<Item = Kind> {
    KINDS.iter().copied().filter(|kind| kind.has_hooks())
}

/// Those of a manager's files that a repository has.
fn present(tree: &RepositoryTree, manager: Kind) -> impl Iterator<Item = (Kind, RepoPath)> + use<> {
    let files = manager.files().flat_map(|file| tree.present(file));
    let files: Vec<RepoPath> = files.collect();
    files.into_iter().map(move |file| (manager, file))
}

/// Reads all hooks of a repository.
pub fn read(tree: &RepositoryTree) -> SourceReading {
    let all = managers().flat_map(|manager| present(tree, manager));
    read_files(tree, all, None)
}

/// Reads a file of one manager.
pub fn read_file(tree: &RepositoryTree, manager: Kind, file: &RepoPath) -> SourceReading {
    read_files(tree, [(manager, file.clone())], None)
}

/// Reads files of managers; of several hooks only the one of this id.
fn read_files(
    tree: &RepositoryTree,
    files: impl IntoIterator<Item = (Kind, RepoPath)>,
    only: Option<&str>,
) -> SourceReading {
    let mut hooks = Hooks {
        tree,
        only,
        out: SourceReading::default(),
        rewriting: None,
    };
    for (manager, file) in files {
        let read = match manager.key {
            "pre-commit" => hooks.pre_commit(&file),
            "lint-staged" => hooks.lint_staged(&file),
            _ => hooks.git_hooks(&file),
        };
        hooks.out.noted(&file, read);
    }
    if let Some((place, ids)) = hooks.rewriting {
        let first = ids.first().map_or("", String::as_str);
        let more = if ids.len() > 1 { ", ..." } else { "" };
        let part = format!("{} ({first}{more})", count(ids.len(), "hook"));
        let why = "they only rewrite or look at single files";
        hooks.out.skip(place, Some(part), why);
    }
    hooks.out
}

/// Whether a file is a hook manager's own.
pub fn is_file(file: &RepoPath) -> bool {
    let is = |name: &str| name != "package.json" && file.as_bytes() == name.as_bytes();
    managers().any(|manager| manager.files().any(is))
}

/// The hooks that a command starts: their manager, and the id of the one that it names.
pub fn started<'w>(program: &str, rest: &'w [String]) -> Option<(Kind, Option<&'w str>)> {
    let manager = managers().find(|kind| listed(kind.programs, program))?;
    let mut plain = rest.iter().filter(|word| !word.starts_with('-'));
    if manager.key != "lint-staged" && plain.next()? != "run" {
        return None;
    }
    let id = plain.next().filter(|_| manager.key == "pre-commit");
    Some((manager, id.map(String::as_str)))
}

/// What started hooks declare; all of them where none has the id, which is then an option's value.
pub fn read_started(
    tree: &RepositoryTree,
    manager: Kind,
    only: Option<&str>,
) -> Vec<SourceCommand> {
    let all = read_files(tree, present(tree, manager), only);
    let is_none = all.found.is_empty() && all.not_read.is_empty();
    match only.filter(|_| is_none) {
        Some(_) => read_started(tree, manager, None),
        None => all.found,
    }
}

struct Hooks<'t> {
    tree: &'t RepositoryTree,
    only: Option<&'t str>,
    out: SourceReading,
    /// The hooks that only rewrite, by the place of the first one.
    rewriting: Option<(Place, BTreeSet<String>)>,
}

/// A hook as its configuration has it.
fn hook(place: Place, label: &str) -> SourceCommand {
    SourceCommand {
        place,
        label: label.to_owned(),
        origin: CommandOrigin::Hook,
        ..SourceCommand::default()
    }
}

impl Hooks<'_> {
    /// Adds the commands of a hook.
    fn add(&mut self, text: &str, hook: &SourceCommand) {
        for mut command in shell::split(text, &ShellScope::new(&hook.dir)) {
            command.env.extend(hook.env.clone());
            self.out.found.push(SourceCommand {
                label: hook.label.clone(),
                paths: hook.paths.clone(),
                place: hook.place.below(command.place.line),
                origin: hook.origin,
                ..command
            });
        }
    }

    fn pre_commit(&mut self, file: &RepoPath) -> Result<(), String> {
        let document = self.tree.read(file)?;
        for repository in document.root.list_at("repos") {
            let name = repository.text_at("repo").unwrap_or_default();
            for hook in repository.list_at("hooks") {
                let Some(node) = hook.get("id") else { continue };
                let (id, place) = (node.text().unwrap_or_default(), document.place(node.place));
                if self.only.is_none_or(|only| only == id)
                    && let Err(why) =
                        self.pre_commit_hook(place.clone(), name, id, &[hook, &document.root])
                {
                    self.out.skip(place, Some(id.to_owned()), why);
                }
            }
        }
        Ok(())
    }

    fn pre_commit_hook(
        &mut self,
        place: Place,
        repo: &str,
        id: &str,
        nodes: &[&TreeNode; 2],
    ) -> Result<(), String> {
        let [node, _] = nodes;
        let stages = node.scalars_at("stages");
        let runs = ["pre-commit", "commit", "pre-push", "push"];
        if !stages.is_empty() && !stages.iter().any(|stage| runs.contains(&&**stage)) {
            return Err(format!("only at {}", stages.join(", ")));
        }
        let known = table::hook(id).filter(|_| repo != "local");
        let own = node.text_at("entry");
        let language = node.text_at("language").unwrap_or_default();
        let is_meta = matches!(repo, "meta" | "builtin") || matches!(language, "pygrep" | "fail");
        if is_meta || known.as_ref().is_some_and(|known| known.command.is_none()) && own.is_none() {
            let first = || (place, BTreeSet::new());
            let (_, ids) = self.rewriting.get_or_insert_with(first);
            ids.insert(id.to_owned());
            return Ok(());
        }
        if language.starts_with("docker") {
            return Err("it runs in a container".to_owned());
        }
        let takes_files = node.scalar_at("pass_filenames") != "false";
        let mut hook = hook(place, node.text_at("name").unwrap_or(id));
        let is_own = own.is_some();
        let selected = match selection(nodes, is_own) {
            None if takes_files => return Err("a pattern selects its files".to_owned()),
            selected => selected.unwrap_or_default(),
        };
        let files = |name: &str| match (name, selected.is_empty()) {
            _ if !takes_files => None,
            ("folder", true) => Some(".".to_owned()),
            ("narrowed", true) => None,
            _ => Some(CHANGED.to_owned()),
        };
        let text = match (own, known.and_then(|known| known.filled(files))) {
            (Some(entry), _) => {
                let args = node.scalars_at("args");
                let args = args.iter().map(|arg| format!(" {}", quoted(arg)));
                let files = takes_files.then(|| format!(" {CHANGED}"));
                format!("{entry}{}", args.chain(files).collect::<String>())
            }
            // Its arguments are those of a program around the tool.
            (None, Some(text)) => text,
            (None, None) => return Err(format!("its command is in {repo}")),
        };
        // What reads the whole tree runs for all of it.
        if is_own || text.contains(CHANGED) {
            hook.paths = selected;
        }
        self.add(&text, &hook);
        Ok(())
    }

    fn lint_staged(&mut self, file: &RepoPath) -> Result<(), String> {
        let document = self.tree.read(file)?;
        let root = &document.root;
        let map = match file.name() == b"package.json" {
            true => root.get("lint-staged").or_else(|| root.get("nano-staged")),
            false => Some(root),
        };
        for (key, node) in map.map_or(&[][..], TreeNode::entries) {
            let hook = SourceCommand {
                dir: file.folder(),
                paths: anywhere(&key.name, &file.folder()).into_iter().collect(),
                ..hook(document.place(node.place), "lint-staged")
            };
            for text in scalars(node) {
                let program = text.split_whitespace().next().unwrap_or_default();
                let launch = match listed(RUNNERS, program) || program.contains('/') {
                    true => "",
                    false => launcher(tasks::manager(self.tree, &hook.dir)),
                };
                self.add(&format!("{launch}{text} {CHANGED}"), &hook);
            }
        }
        Ok(())
    }

    /// Hooks of git: each is a text, or has commands and jobs.
    fn git_hooks(&mut self, file: &RepoPath) -> Result<(), String> {
        if file.as_bytes().starts_with(b".husky/") {
            let name = String::from_utf8_lossy(file.name());
            self.add(self.tree.source(file)?, &hook(Place::new(file, 1), &name));
            return Ok(());
        }
        let document = self.tree.read(file)?;
        let root = &document.root;
        let maps = match file.name() {
            b"package.json" => [root.get("simple-git-hooks"), root.at("husky.hooks")],
            _ => [Some(root), None],
        };
        let hooks = maps.into_iter().flatten().flat_map(TreeNode::entries);
        for (key, node) in hooks.filter(|(key, _)| listed(JUDGES, &key.name)) {
            let commands = node.entries_at("commands").iter();
            let commands = commands.map(|(key, node)| (&*key.name, node));
            let jobs = node.list_at("jobs").iter().map(|job| ("", job));
            let own = node.entries().is_empty().then_some((&*key.name, node));
            for (name, job) in commands.chain(jobs).chain(own) {
                let name = job.text_at("name").unwrap_or(name);
                let read = self.job(&document, name, node, job);
                self.out.note(document.place(job.place), name, read);
            }
        }
        Ok(())
    }

    fn job(
        &mut self,
        document: &DataFile,
        name: &str,
        outer: &TreeNode,
        job: &TreeNode,
    ) -> Result<(), &'static str> {
        let run = job.get("run").unwrap_or(job);
        let mut command = scalars(run).join("\n");
        if command.is_empty() {
            return Err("it has no command of its own");
        }
        for hole in ["{staged_files}", "{push_files}", "{files}", "{all_files}"] {
            command = command.replace(hole, CHANGED);
        }
        let mut hook = hook(document.text_place(run), name);
        if let Some(root) = job.text_at("root") {
            hook.dir = RepoPath::parse(root.as_bytes()).map_err(|_| "its folder is not known")?;
        }
        let globs = job.get("glob").or_else(|| outer.get("glob"));
        let globs = globs.into_iter().flat_map(scalars);
        let globs = globs.filter_map(|glob| anywhere(&glob, &RepoPath::root()));
        hook.paths = globs.collect();
        let variable = |(key, node): &(TreeKey, TreeNode)| (key.name.clone(), scalar(node));
        hook.env = job.entries_at("env").iter().map(variable).collect();
        self.add(&command, &hook);
        Ok(())
    }
}

/// Programs that need no launcher in a hook of a package.
const RUNNERS: &str = "npm npx pnpm yarn bun bunx node git";

/// The hooks of git that look at a change.
const JUDGES: &str = "pre-commit pre-push pre-merge-commit";

/// The words that start a program of a package.
pub fn launcher(manager: &str) -> &'static str {
    match manager {
        "pnpm" => "pnpm exec ",
        "yarn" => "yarn ",
        "bun" => "bunx ",
        _ => "npx ",
    }
}

/// A pattern of names or paths as a glob of ours.
fn anywhere(pattern: &str, dir: &RepoPath) -> Option<String> {
    let translated = picomatch::translate(pattern).ok();
    let translated = translated.filter(|found| !found.not)?;
    let glob = match pattern.contains('/') || translated.glob == "**" {
        true => translated.glob,
        false => format!("**/{}", translated.glob),
    };
    Some(match dir.is_root() {
        true => glob,
        false => format!("{}/{glob}", escape(&dir.to_string())),
    })
}

/// The globs of the files that a hook of pre-commit takes, with `!` those that it or the configuration
/// excludes; `None` where they are not plain. The types of one that is `own` are its only ones.
fn selection(nodes: &[&TreeNode; 2], own: bool) -> Option<Vec<String>> {
    let [hook, _] = nodes;
    let mut globs = match hook.text_at("files") {
        Some(pattern) => plain_patterns(pattern)?,
        None => Vec::new(),
    };
    let types = ["types", "types_or"]
        .map(|key| hook.scalars_at(key))
        .concat();
    let types = types
        .iter()
        .filter(|name| own && !listed("text file", name));
    for name in types.filter(|_| hook.get("files").is_none()) {
        let mut languages = table::languages().iter();
        let language = languages.find(|language| language.name == name)?;
        let own = language.globs.iter().filter(|glob| glob.contains("*."));
        globs.extend(own.map(|glob| (*glob).to_owned()));
    }
    for pattern in nodes.iter().filter_map(|node| node.text_at("exclude")) {
        let excluded = plain_patterns(pattern)?;
        globs.extend(excluded.iter().map(|glob| format!("!{glob}")));
    }
    Some(globs)
}

/// The patterns that a regular expression joins by `|`, as globs.
fn plain_patterns(pattern: &str) -> Option<Vec<String>> {
    let text = match pattern.trim_start().strip_prefix("(?x)") {
        Some(spaced) => spaced.split_whitespace().collect(),
        None => pattern.replace("(?:", "("),
    };
    let whole = text.strip_prefix('^').unwrap_or(&text);
    let whole = whole.strip_suffix('$').unwrap_or(whole);
    let inner = whole
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let (start, end, inner) = match inner.filter(|inner| !inner.contains(['(', ')'])) {
        Some(inner) => (text.starts_with('^'), text.ends_with('$'), inner),
        None => (false, false, &*text),
    };
    let is_list = !inner.contains('(');
    let parts = inner.split(|c| c == '|' && is_list);
    let mark = |mark, holds| if holds { mark } else { "" };
    let one = |part: &str| format!("{}{part}{}", mark("^", start), mark("$", end));
    let parts = parts.filter(|part| !part.is_empty() && *part != "^$");
    let globs: Option<Vec<_>> = parts.map(|part| plain_pattern(&one(part))).collect();
    Some(globs?.concat())
}

/// An ending, a folder or a file as globs: `\.(js|ts)$`, `^src/`, `^a\.b$`.
fn plain_pattern(pattern: &str) -> Option<Vec<String>> {
    let text = pattern
        .replace('(', "{")
        .replace(')', "}")
        .replace('|', ",");
    // Any path is a bar for now.
    let text = text.replace("/.*", "/|").replace("\\.", ".");
    let (start, text) = match text.strip_prefix('^') {
        Some(text) if !text.starts_with(".*") => ("", text),
        other => ("**/*", other.unwrap_or(&text).trim_start_matches(".*")),
    };
    let whole = text.strip_suffix('$');
    let text = whole.unwrap_or(text).trim_end_matches('|');
    let name = text.rsplit('/').next().unwrap_or_default();
    let ends: &[&str] = match name {
        "" => &["**"],
        name if whole.is_some() || name.rfind('.').is_some_and(|at| at > 0) => &[""],
        _ => &["*", "*/**"],
    };
    let is_plain = |c: char| c.is_alphanumeric() || "/{},_-|.".contains(c);
    let globs = ends
        .iter()
        .map(|end| format!("{start}{}{end}", text.replace('|', "**/*")));
    let globs: Vec<String> = globs.collect();
    let is_glob = |glob: &String| Glob::parse(glob).is_ok();
    (text.chars().all(is_plain) && globs.iter().all(is_glob)).then_some(globs)
}

#[cfg(test)]
mod tests;
