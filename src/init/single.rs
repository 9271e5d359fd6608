//! Reads one configuration on its own, for `vplan import`.

use super::found::{Origin, Place, Reading, SourceCommand};
use super::tasks::{self, RUNNERS, Runner};
use super::tree::Tree;
use super::{github, gitlab, hooks};
use vplan_base::path::RepoPath;

/// A kind of file that declares commands.
#[derive(Clone, Copy)]
pub enum Kind {
    GithubWorkflow,
    GitlabCi,
    Hooks(&'static hooks::Manager),
    Tasks(Runner),
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Kind {}

impl Kind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        let ci = [Kind::GithubWorkflow, Kind::GitlabCi].into_iter();
        let hooks = hooks::MANAGERS.iter().map(Kind::Hooks);
        ci.chain(hooks).chain(RUNNERS.iter().map(Kind::Tasks))
    }

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::GithubWorkflow => "github-workflow",
            Kind::GitlabCi => "gitlab-ci",
            Kind::Hooks(manager) => manager.key,
            Kind::Tasks(runner) => runner.key,
        }
    }

    /// The path of such a file in a repository, for one that comes from elsewhere.
    #[must_use]
    pub fn home(self) -> &'static str {
        match self {
            Kind::GithubWorkflow => ".github/workflows/ci.yml",
            Kind::GitlabCi => ".gitlab-ci.yml",
            Kind::Hooks(manager) if manager.key == "lint-staged" => ".lintstagedrc",
            Kind::Hooks(manager) => manager.files().next().unwrap_or_default(),
            Kind::Tasks(runner) => runner.files().next().unwrap_or_default(),
        }
    }
}

/// Recognises a file by its name, else a workflow by its text.
#[must_use]
pub fn recognize(name: &str, text: &str) -> Option<Kind> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let is_yaml = file.ends_with(".yml") || file.ends_with(".yaml");
    if file.ends_with(".gitlab-ci.yml") {
        return Some(Kind::GitlabCi);
    }
    if is_yaml && name.contains("workflows/") {
        return Some(Kind::GithubWorkflow);
    }
    let known = Kind::all().find(|kind| match kind {
        Kind::Hooks(manager) => {
            file != "package.json" && manager.files().any(|known| known == file)
        }
        Kind::Tasks(runner) => runner.files().any(|known| known == file) && file != "config.toml",
        _ => false,
    });
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    let by_text = || {
        (is_yaml && has("jobs:") && (has("on:") || has("\"on\":"))).then_some(Kind::GithubWorkflow)
    };
    known.or_else(by_text)
}

/// Reads a file of the tree.
#[must_use]
pub fn read(tree: &Tree, file: &RepoPath, kind: Kind) -> Reading {
    match kind {
        Kind::GithubWorkflow => github::read_files(tree, std::slice::from_ref(file)),
        Kind::GitlabCi => gitlab(tree, file),
        Kind::Hooks(manager) => hooks::read_file(tree, manager, file),
        Kind::Tasks(runner) => tasks(tree, file, runner),
    }
}

/// A pipeline under another name is read as the repository's.
fn gitlab(tree: &Tree, file: &RepoPath) -> Reading {
    let mut own = tree.clone();
    let home = RepoPath::parse(Kind::GitlabCi.home().as_bytes()).unwrap_or_default();
    if let Some(text) = own.texts.get(file).cloned() {
        own.files.insert(home.clone());
        own.texts.insert(home, text);
    }
    gitlab::read(&own)
}

/// Each task of a file as a command that starts it.
fn tasks(tree: &Tree, file: &RepoPath, runner: Runner) -> Reading {
    let mut out = Reading::default();
    match tasks::read(tree, runner, file) {
        Ok(tasks) => {
            for task in tasks.all.iter().filter(|task| !task.name.is_empty()) {
                let words = runner.words(tree, &tasks.dir, &task.name);
                out.found.push(SourceCommand {
                    place: Place::of(file, task.line),
                    origin: Origin::Ci,
                    label: task.name.clone(),
                    ..SourceCommand::plain(&words, &tasks.dir)
                });
            }
        }
        Err(why) => out.skip(Place::of(file, 1), None, why),
    }
    out
}
