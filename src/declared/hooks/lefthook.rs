//! Reads lefthook's configuration.

use super::{Group, is_other_hook, judges, pattern, types};
use crate::base::glob::Glob;
use crate::base::path::RepoPath;
use crate::declared::candidate::{Belief, Declarations, Origin, Reason, State, When, Work};
use crate::declared::judge::{self, Judged};
use crate::declared::tasks::{self, Body};
use crate::declared::tree::{DataFile, Syntax, Tree};
use crate::front::tree::{Node, Value};
use std::ops::Range;

/// Names of the configuration, at the root.
pub(super) const FILES: &[&str] = &[
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    "lefthook.jsonc",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".lefthook.toml",
    ".lefthook.json",
    ".config/lefthook.yml",
    ".config/lefthook.yaml",
    ".config/lefthook.toml",
    ".config/lefthook.json",
];

/// Keys of the top level that are no hook.
const SETTINGS: &[&str] = &[
    "$schema",
    "assert_lefthook_installed",
    "colors",
    "extends",
    "glob_matcher",
    "install_non_git_hooks",
    "lefthook",
    "min_version",
    "no_auto_install",
    "no_tty",
    "output",
    "rc",
    "remote",
    "remotes",
    "skip_lfs",
    "skip_output",
    "source_dir",
    "source_dir_local",
    "templates",
];

/// The deepest nesting of groups.
const MAX_DEPTH: usize = 8;

/// Reads a configuration.
pub(super) fn read(
    tree: &Tree,
    file: &RepoPath,
    only: Option<&str>,
    belief: Belief,
    found: &mut Declarations,
) -> Result<(), String> {
    let name = String::from_utf8_lossy(file.name()).into_owned();
    let syntax = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("toml") => Syntax::Toml,
        Some("json" | "jsonc") => Syntax::Json,
        _ => Syntax::YamlMerged,
    };
    let document = tree.read(file, syntax)?;
    for key in ["remote", "remotes"] {
        if let Some(node) = document.root.get(key) {
            let origin = Origin {
                file: file.clone(),
                line: document.line(node),
                label: key.to_owned(),
            };
            let why = "it is not in this repository".to_owned();
            found.skip(origin, format!("`{key}`"), Reason::NotRead, why);
        }
    }
    for (key, hook) in document.root.entries() {
        let name = key.name.as_str();
        if SETTINGS.contains(&name) || only.is_some_and(|only| only != name) {
            continue;
        }
        let reader = Reader {
            tree,
            document: &document,
            hook: name,
            belief,
        };
        let begun = found.candidates.len();
        let mut scope = Scope::default();
        scope.narrow(hook);
        reader.jobs(hook, &scope, 0, found);
        let range = begun..found.candidates.len();
        if is_other_hook(name) {
            super::leave_out(found, range, Reason::Occasion, &format!("only at {name}"));
        } else if !judges(name) && only.is_none() {
            // A group that is started by its name: `lefthook run fixes`.
            super::leave_out(
                found,
                range,
                Reason::NotRun,
                &format!("only `lefthook run {name}`"),
            );
        }
    }
    Ok(())
}

/// The settings of the groups around a job.
#[derive(Clone, Debug, Default)]
struct Scope {
    globs: Option<Vec<String>>,
    exclude: Vec<String>,
    root: Option<String>,
    notes: Vec<String>,
}

impl Scope {
    /// Adds what a hook, a group or a job says of its files.
    fn narrow(&mut self, node: &Node) {
        if let Some(root) = node.get("root").and_then(Node::text) {
            self.root = Some(root.trim_matches('/').to_owned());
        }
        if let Some(glob) = node.get("glob") {
            let globs = texts(glob).iter().map(|text| wide(text)).collect();
            self.globs = Some(globs);
        } else if let Some(types) = node.get("file_types")
            && let types::Files::Names(names) = types::both(&[], &texts(types))
        {
            self.globs = Some(types::within(&["**".to_owned()], &names));
        }
        match node.get("exclude") {
            // A single text was a regular expression before it was a glob.
            Some(Node {
                value: Value::Text(text),
                ..
            }) if text.contains(['^', '$', '\\', '|']) => match pattern::globs(text) {
                Some(globs) => self.exclude.extend(globs),
                None => self
                    .notes
                    .push("its `exclude` cannot be said as globs".to_owned()),
            },
            Some(node) => {
                let globs = texts(node).into_iter().flat_map(|text| exact(&text));
                self.exclude.extend(globs);
            }
            None => {}
        }
    }

    fn when(&self) -> When {
        let mut all = self.globs.clone().unwrap_or_else(|| vec!["**".to_owned()]);
        if let Some(root) = self.root.as_ref().filter(|root| !root.is_empty()) {
            let root = crate::base::glob::escape(root);
            all = all
                .iter()
                .map(|glob| match glob.strip_prefix("**/") {
                    Some(name) => format!("{root}/**/{name}"),
                    // A glob from the root already names the folder.
                    None if glob.starts_with(&format!("{root}/")) => glob.clone(),
                    None => format!("{root}/**"),
                })
                .collect();
        }
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|glob| seen.insert(glob.clone()));
        all.extend(self.exclude.iter().map(|glob| format!("!{glob}")));
        if all == ["**"]
            || all
                .iter()
                .any(|g| Glob::parse(g.trim_start_matches('!')).is_err())
        {
            return When::Unsaid;
        }
        When::Changed(all)
    }
}

/// A glob of lefthook, in which `*` goes through folders. Never narrower.
fn wide(text: &str) -> String {
    let text = text.trim_start_matches("./").trim_start_matches('/');
    match text.rsplit_once('/') {
        None => format!("**/{text}"),
        Some((folder, name)) => {
            // What begins with a wildcard may be anywhere.
            let fixed = folder
                .split('/')
                .take_while(|segment| !segment.contains(['*', '?', '[', '{']));
            let fixed: Vec<&str> = fixed.collect();
            let prefix: String = fixed.iter().map(|segment| format!("{segment}/")).collect();
            format!("{prefix}**/{}", name.replace("**", "*"))
        }
    }
}

/// A glob of lefthook that excludes. Never wider.
fn exact(text: &str) -> Vec<String> {
    let text = text.trim_start_matches("./").trim_start_matches('/');
    match text.split_once('/') {
        None => vec![format!("**/{text}")],
        Some(_) => match text.strip_suffix("/*") {
            Some(folder) => vec![format!("{folder}/**")],
            None => vec![text.to_owned()],
        },
    }
}

struct Reader<'r> {
    tree: &'r Tree,
    document: &'r DataFile,
    hook: &'r str,
    belief: Belief,
}

impl Reader<'_> {
    fn jobs(&self, node: &Node, scope: &Scope, depth: usize, found: &mut Declarations) {
        if depth > MAX_DEPTH {
            return;
        }
        for job in node.get("jobs").map_or(&[][..], Node::list) {
            let name = job.get("name").and_then(Node::text).unwrap_or_default();
            let mut inner = scope.clone();
            inner.narrow(job);
            if let Some(group) = job.get("group") {
                inner.narrow(group);
                self.jobs(group, &inner, depth + 1, found);
            } else if let Some(script) = job.get("script").and_then(Node::text) {
                self.script(script, job, &inner, found);
            } else {
                self.job(name, job, &inner, found);
            }
        }
        for (key, command) in node.get("commands").map_or(&[][..], Node::entries) {
            let mut inner = scope.clone();
            inner.narrow(command);
            self.job(&key.name, command, &inner, found);
        }
        for (key, script) in node.get("scripts").map_or(&[][..], Node::entries) {
            let mut inner = scope.clone();
            inner.narrow(script);
            self.script(&key.name, script, &inner, found);
        }
    }

    fn group(&self, name: &str, job: &Node, scope: &Scope) -> Group<'_> {
        let label = if name.is_empty() { self.hook } else { name };
        let mut group = Group::new(&self.document.file, self.belief, label);
        group.when = scope.when();
        group.tier = u8::from(self.hook == "pre-push");
        group.notes.clone_from(&scope.notes);
        for (key, value) in job.get("env").map_or(&[][..], Node::entries) {
            let text = value.text().unwrap_or_else(|| self.document.raw(value));
            group.env.insert(key.name.clone(), text.to_owned());
        }
        if let Some(root) = &scope.root
            && let Ok(dir) = RepoPath::root().join(root.as_bytes())
        {
            group.dir = dir;
        }
        group
    }

    fn job(&self, name: &str, job: &Node, scope: &Scope, found: &mut Declarations) {
        let Some(run) = job.get("run").filter(|run| run.text().is_some()) else {
            return;
        };
        let text = run.text().unwrap_or_default();
        let group = self.group(name, job, scope);
        let mut filled = text.to_owned();
        for form in ["{staged_files}", "{all_files}", "{push_files}", "{files}"] {
            for form in [format!("\"{form}\""), format!("'{form}'"), form.to_owned()] {
                filled = filled.replace(&form, "{changed}");
            }
        }
        let range = group.shell(self.tree, &filled, self.document.text_line(run), found);
        let is = |key: &str| {
            matches!(
                job.get(key).map(|node| &node.value),
                Some(Value::Bool(true))
            )
        };
        if is("skip") {
            super::leave_out(found, range.clone(), Reason::NotRun, "it is skipped");
        }
        if is("interactive") {
            super::leave_out(found, range.clone(), Reason::NeverEnds, "it asks a person");
        }
        if is("stage_fixed") || text.contains("git add") {
            fixers(self.tree, range, found);
        }
    }

    /// A script in lefthook's folder, named by its file.
    fn script(&self, name: &str, job: &Node, scope: &Scope, found: &mut Declarations) {
        let folder = self
            .document
            .root
            .get("source_dir")
            .and_then(Node::text)
            .unwrap_or(".lefthook");
        let path = format!("{}/{}/{name}", folder.trim_end_matches('/'), self.hook);
        let runner = job.get("runner").and_then(Node::text).unwrap_or_default();
        let mut words = super::split(runner);
        words.push(path);
        let group = self.group(name, job, scope);
        group.words(self.tree, words, false, self.document.line(job), found);
    }
}

/// Leaves out commands of a hook that stages what they write, unless they have a form that only
/// checks.
pub(super) fn fixers(tree: &Tree, range: Range<usize>, found: &mut Declarations) {
    for candidate in found.candidates.get_mut(range).into_iter().flatten() {
        if candidate.state != State::Open {
            continue;
        }
        let (dir, env) = (candidate.dir.clone(), candidate.env.clone());
        let checks = |words: &[String]| {
            matches!(
                judge::command(tree, &dir, &env, words),
                Judged::Checking(..) | Judged::CheckingShell(..)
            )
        };
        let checks_only = match &candidate.work {
            Work::Words(words) => {
                checks(words)
                    || match tasks::body(tree, &candidate.dir, words) {
                        Body::Lines(lines) => {
                            lines.iter().any(|line| checks(&super::split(&line.text)))
                        }
                        Body::NotATask | Body::Opaque(_) => false,
                    }
            }
            Work::Shell(_) => false,
        };
        if !checks_only {
            candidate.leave_out(Reason::Writes, "the hook stages what it writes");
        }
    }
}

fn texts(node: &Node) -> Vec<String> {
    match &node.value {
        Value::Text(text) => vec![text.clone()],
        Value::List(nodes) => nodes.iter().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Whole(_) | Value::Other | Value::Map(_) => Vec::new(),
    }
}
