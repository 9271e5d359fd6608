//! The tasks of one file, each as the command that runs it.

use super::Kind;
use crate::base::path::RepoPath;
use crate::declared::candidate::{Belief, Candidate, Declarations, Origin, Reason, Work};
use crate::declared::tree::{Syntax, Tree};
use crate::front::tree::{Node, Value};

/// The most tasks of a file.
const MAX_TASKS: usize = 500;

/// A task: its name, its line, and what is in the way of running it.
struct Task {
    words: Vec<String>,
    line: u32,
    name: String,
    out: Option<(Reason, &'static str)>,
}

/// Reads the tasks of a file as candidates.
pub(super) fn read(tree: &Tree, file: &RepoPath, kind: Kind, found: &mut Declarations) {
    let tasks = match kind {
        Kind::Turbo => turbo(tree, file),
        Kind::Nx => nx(tree, file),
        Kind::Moon => moon(tree, file),
        Kind::Mise => mise(tree, file),
        Kind::PackageJson => scripts(tree, file),
        Kind::Tox if file.as_bytes().ends_with(b".toml") => tox_toml(tree, file),
        _ => tree.texts.get(file).map_or_else(
            || Err("it was not read".to_owned()),
            |text| {
                Ok(match kind {
                    Kind::Just => just(text),
                    Kind::Tox => tox(text),
                    Kind::Nox => nox(text),
                    _ => make(text, file),
                })
            },
        ),
    };
    let origin = |line, name: &str| Origin {
        file: file.clone(),
        line,
        label: name.to_owned(),
    };
    let tasks = match tasks {
        Ok(tasks) => tasks,
        Err(why) => {
            found.skip(origin(1, ""), format!("`{file}`"), Reason::NotRead, why);
            return;
        }
    };
    let dir = folder(file);
    for (index, task) in tasks.into_iter().enumerate() {
        if index == MAX_TASKS {
            let why = format!("more than {MAX_TASKS} tasks");
            found.skip(
                origin(task.line, ""),
                format!("`{file}`"),
                Reason::NotRead,
                why,
            );
            return;
        }
        let mut one = Candidate::new(
            origin(task.line, &task.name),
            Belief::Workflow,
            Work::Words(task.words),
            dir.clone(),
        );
        one.name = Some(task.name);
        if let Some((reason, why)) = task.out {
            one.leave_out(reason, why);
        }
        found.candidates.push(one);
    }
}

/// The folder of a file; for `.moon/tasks.yml` the root.
fn folder(file: &RepoPath) -> RepoPath {
    let mut above = file.ancestors();
    above.pop();
    above.retain(|dir| dir.name() != b".moon" && !dir.as_bytes().starts_with(b".moon/"));
    above.pop().unwrap_or_default()
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

/// The package manager of a folder, as it runs a program of the packages.
fn manager(tree: &Tree, dir: &RepoPath) -> (&'static str, &'static [&'static str]) {
    let has = |name: &str| {
        let root = RepoPath::root();
        tree.has(dir, name) || tree.has(&root, name)
    };
    if has("pnpm-lock.yaml") {
        ("pnpm", &["pnpm", "exec"])
    } else if has("yarn.lock") {
        ("yarn", &["yarn"])
    } else if has("bun.lock") || has("bun.lockb") {
        ("bun", &["bunx"])
    } else {
        ("npm", &["npx"])
    }
}

fn is_true(node: Option<&Node>) -> bool {
    matches!(node.map(|node| &node.value), Some(Value::Bool(true)))
}

/// Scripts that a package manager runs by itself.
const LIFECYCLE: &[&str] = &[
    "install",
    "postinstall",
    "postpack",
    "postpublish",
    "preinstall",
    "prepack",
    "prepare",
    "prepublish",
    "prepublishOnly",
    "publish",
    "version",
];

fn scripts(tree: &Tree, file: &RepoPath) -> Result<Vec<Task>, String> {
    let document = tree.read(file, Syntax::Json)?;
    let (program, _) = manager(tree, &folder(file));
    let scripts = document.root.get("scripts").map_or(&[][..], Node::entries);
    let belongs = |name: &str| {
        ["pre", "post"].iter().any(|start| {
            name.strip_prefix(start)
                .is_some_and(|rest| scripts.iter().any(|(key, _)| key.name == rest))
        })
    };
    let task = |(key, node): &(crate::front::tree::Key, Node)| Task {
        words: words(&[program, "run", &key.name]),
        line: document.line(node),
        name: key.name.clone(),
        out: if LIFECYCLE.contains(&key.name.as_str()) {
            Some((Reason::Nothing, "the package manager runs it by itself"))
        } else if belongs(&key.name) {
            Some((
                Reason::Nothing,
                "it runs with the script that it is named after",
            ))
        } else {
            None
        },
    };
    Ok(scripts.iter().map(task).collect())
}

fn turbo(tree: &Tree, file: &RepoPath) -> Result<Vec<Task>, String> {
    let document = tree.read(file, Syntax::Json)?;
    let (_, exec) = manager(tree, &folder(file));
    let root = &document.root;
    let tasks = root.get("tasks").or_else(|| root.get("pipeline"));
    let mut all = Vec::new();
    for (key, node) in tasks.map_or(&[][..], Node::entries) {
        let (package, name) = match key.name.split_once('#') {
            Some((package, name)) => (Some(package), name),
            None => (None, key.name.as_str()),
        };
        let mut line = words(exec);
        line.extend(words(&["turbo", "run", name]));
        if let Some(package) = package {
            line.push(format!("--filter={package}"));
        }
        all.push(Task {
            words: line,
            line: document.line_of(key.place),
            name: key.name.clone(),
            out: is_true(node.get("persistent")).then_some((Reason::NeverEnds, "persistent")),
        });
    }
    Ok(all)
}

fn nx(tree: &Tree, file: &RepoPath) -> Result<Vec<Task>, String> {
    let document = tree.read(file, Syntax::Json)?;
    let (_, exec) = manager(tree, &folder(file));
    let root = &document.root;
    let mut all = Vec::new();
    for (key, _) in root.get("targetDefaults").map_or(&[][..], Node::entries) {
        // An executor's name is no target.
        if key.name.contains(':') || key.name.contains('/') {
            continue;
        }
        let mut line = words(exec);
        line.extend(words(&["nx", "run-many", "-t", &key.name]));
        all.push(Task {
            words: line,
            line: document.line_of(key.place),
            name: key.name.clone(),
            out: None,
        });
    }
    let project = root.get("name").and_then(Node::text).map(str::to_owned);
    let own = folder(file);
    let project = project.unwrap_or_else(|| String::from_utf8_lossy(own.name()).into_owned());
    for (key, node) in root.get("targets").map_or(&[][..], Node::entries) {
        let mut line = words(exec);
        line.extend(words(&["nx", "run", &format!("{project}:{}", key.name)]));
        all.push(Task {
            words: line,
            line: document.line_of(key.place),
            name: key.name.clone(),
            out: is_true(node.get("continuous")).then_some((Reason::NeverEnds, "continuous")),
        });
    }
    Ok(all)
}

fn moon(tree: &Tree, file: &RepoPath) -> Result<Vec<Task>, String> {
    let document = tree.read(file, Syntax::YamlMerged)?;
    let root = &document.root;
    let shared = file.as_bytes().starts_with(b".moon/");
    let project = if shared {
        String::new()
    } else {
        let own = folder(file);
        let id = root.get("id").and_then(Node::text).map(str::to_owned);
        id.unwrap_or_else(|| String::from_utf8_lossy(own.name()).into_owned())
    };
    let mut all = Vec::new();
    for (key, node) in root.get("tasks").map_or(&[][..], Node::entries) {
        let options = node.get("options");
        let option = |name: &str| options.and_then(|options| options.get(name));
        let server = node
            .get("preset")
            .and_then(Node::text)
            .is_some_and(|preset| matches!(preset, "server" | "watcher"));
        let out = if server || is_true(option("persistent")) {
            Some((Reason::NeverEnds, "a server"))
        } else if is_true(node.get("local")) {
            Some((Reason::NeverEnds, "local: it is for people"))
        } else if matches!(
            option("runInCI").map(|node| &node.value),
            Some(Value::Bool(false))
        ) {
            Some((Reason::NotRun, "runInCI: false"))
        } else {
            None
        };
        all.push(Task {
            words: words(&["moon", "run", &format!("{project}:{}", key.name)]),
            line: document.line_of(key.place),
            name: key.name.clone(),
            out,
        });
    }
    Ok(all)
}

fn mise(tree: &Tree, file: &RepoPath) -> Result<Vec<Task>, String> {
    let document = tree.read(file, Syntax::Toml)?;
    let tasks = document.root.get("tasks").map_or(&[][..], Node::entries);
    let task = |(key, node): &(crate::front::tree::Key, Node)| Task {
        words: words(&["mise", "run", &key.name]),
        line: document.line_of(key.place),
        name: key.name.clone(),
        out: is_true(node.get("hide")).then_some((Reason::NotRun, "a hidden task")),
    };
    Ok(tasks.iter().map(task).collect())
}

fn tox_toml(tree: &Tree, file: &RepoPath) -> Result<Vec<Task>, String> {
    let document = tree.read(file, Syntax::Toml)?;
    let root = &document.root;
    let mut names: Vec<(String, u32)> = Vec::new();
    for node in root.get("env_list").map_or(&[][..], Node::list) {
        if let Some(name) = node.text() {
            names.push((name.to_owned(), document.line(node)));
        }
    }
    for (key, _) in root.get("env").map_or(&[][..], Node::entries) {
        names.push((key.name.clone(), document.line_of(key.place)));
    }
    Ok(environments(names))
}

fn environments(names: Vec<(String, u32)>) -> Vec<Task> {
    let mut seen = std::collections::BTreeSet::new();
    names
        .into_iter()
        .filter(|(name, _)| !name.is_empty() && seen.insert(name.clone()))
        .map(|(name, line)| Task {
            words: words(&["tox", "run", "-e", &name]),
            line,
            name,
            out: None,
        })
        .collect()
}

/// The environments of a `tox.ini`: those of its list, and those with a section.
fn tox(text: &str) -> Vec<Task> {
    let mut names = Vec::new();
    let mut listing = false;
    for (line, number) in text.lines().zip(1_u32..) {
        let bare = line.split('#').next().unwrap_or_default();
        if let Some(name) = bare
            .trim()
            .strip_prefix("[testenv:")
            .and_then(|l| l.strip_suffix(']'))
        {
            for one in expanded(name) {
                names.push((one, number));
            }
        }
        let value = ["envlist", "env_list"].iter().find_map(|key| {
            let rest = bare.strip_prefix(key)?.trim_start();
            rest.strip_prefix('=')
        });
        let value = match value {
            Some(value) => {
                listing = true;
                value
            }
            None if listing && line.starts_with(char::is_whitespace) => bare,
            None => {
                listing = false;
                continue;
            }
        };
        for name in outside_braces(value) {
            for one in expanded(name.trim()) {
                names.push((one, number));
            }
        }
    }
    environments(names)
}

/// Splits at commas that are not in braces.
fn outside_braces(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

/// Expands `py{311,312}-x`; at most a hundred names.
fn expanded(name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    for _ in 0..4 {
        let mut next = Vec::new();
        for name in &all {
            let parts = name.split_once('{').and_then(|(before, rest)| {
                let (inner, after) = rest.split_once('}')?;
                Some((before, inner, after))
            });
            match parts {
                Some((before, inner, after)) => next.extend(
                    inner
                        .split(',')
                        .map(|one| format!("{before}{}{after}", one.trim())),
                ),
                None => next.push(name.clone()),
            }
        }
        next.truncate(100);
        all = next;
    }
    all
}

/// The sessions of a `noxfile.py`.
fn nox(text: &str) -> Vec<Task> {
    let mut all = Vec::new();
    let mut named: Option<Option<String>> = None;
    for (line, number) in text.lines().zip(1_u32..) {
        if line.starts_with("@nox.session") || line.starts_with("@session") {
            let name = line.split_once("name=").map(|(_, rest)| {
                let rest = rest.trim_start();
                let quote = rest.chars().next().unwrap_or('"');
                rest.trim_start_matches(quote)
                    .split(quote)
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            });
            named = Some(name);
        } else if let Some(rest) = line.strip_prefix("def ")
            && let Some(name) = named.take()
        {
            let own = rest.split('(').next().unwrap_or_default().trim().to_owned();
            let name = name.filter(|name| !name.is_empty()).unwrap_or(own);
            all.push(Task {
                words: words(&["nox", "-s", &name]),
                line: number,
                name,
                out: None,
            });
        }
    }
    all
}

/// The recipes of a `justfile`.
fn just(text: &str) -> Vec<Task> {
    let mut all = Vec::new();
    let mut private = false;
    for (line, number) in text.lines().zip(1_u32..) {
        if line.starts_with('[') {
            private |= line.contains("private");
            continue;
        }
        let line = line.strip_prefix('@').unwrap_or(line);
        let head = line
            .split_once(':')
            .map(|(head, rest)| (head.trim_end(), rest));
        let Some((head, rest)) = head.filter(|(_, rest)| !rest.starts_with('=')) else {
            continue;
        };
        let mut parts = head.split_whitespace();
        let name = parts.next().unwrap_or_default();
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
            && !matches!(name, "alias" | "export" | "import" | "mod" | "set");
        if !is_name || line.starts_with([' ', '\t', '#']) || rest.starts_with(':') {
            continue;
        }
        let needs = parts.any(|parameter| !parameter.contains('=') && !parameter.starts_with('*'));
        let out = if std::mem::take(&mut private) || name.starts_with('_') {
            Some((Reason::NotRun, "a private recipe"))
        } else if needs {
            Some((Reason::Unknown, "it wants arguments"))
        } else {
            None
        };
        all.push(Task {
            words: words(&["just", name]),
            line: number,
            name: name.to_owned(),
            out,
        });
    }
    all
}

/// The targets of a makefile.
fn make(text: &str, file: &RepoPath) -> Vec<Task> {
    let own = String::from_utf8_lossy(file.name()).into_owned();
    let found_by_itself = matches!(own.as_str(), "Makefile" | "makefile" | "GNUmakefile");
    let mut seen = std::collections::BTreeSet::new();
    let mut all = Vec::new();
    for (line, number) in text.lines().zip(1_u32..) {
        if line.starts_with(['\t', ' ', '#', '.']) {
            continue;
        }
        let Some((head, rest)) = line.split_once(':') else {
            continue;
        };
        if rest.starts_with('=') || rest.starts_with(":=") || head.contains('=') {
            continue;
        }
        for name in head.split_whitespace() {
            let plain = name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-./+".contains(c));
            if !plain || !seen.insert(name.to_owned()) {
                continue;
            }
            let line = if found_by_itself {
                words(&["make", name])
            } else {
                words(&["make", "-f", &own, name])
            };
            all.push(Task {
                words: line,
                line: number,
                name: name.to_owned(),
                out: None,
            });
        }
    }
    all
}
