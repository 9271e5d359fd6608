//! Reads one configuration on its own, for `vplan import`.

use super::found::{Origin, Place, Reading, SourceCommand};
use super::tasks::{self, RUNNERS, Runner, RunnerRow};
use super::tree::Tree;
use super::{github, gitlab, hooks};
use vplan_base::path::RepoPath;

/// A kind of file that declares commands: its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(&'static str);

const GITHUB: Kind = Kind("github-workflow");
const GITLAB: Kind = Kind("gitlab-ci");

impl Kind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        let hooks = hooks::managers().map(|manager| manager.key);
        let keys = hooks.chain(RUNNERS.iter().map(|runner| runner.key));
        [GITHUB, GITLAB].into_iter().chain(keys.map(Kind))
    }

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0
    }

    fn manager(self) -> Option<hooks::Manager> {
        hooks::managers().find(|manager| manager.key == self.0)
    }

    fn runner(self) -> Option<Runner> {
        RUNNERS.iter().find(|runner| runner.key == self.0)
    }

    /// The names of its files, where they tell the kind.
    fn files(self) -> impl Iterator<Item = &'static str> {
        let of_hooks = self.manager().into_iter().flat_map(|one| one.files());
        of_hooks.chain(self.runner().into_iter().flat_map(RunnerRow::files))
    }

    /// The path of such a file in a repository, for one that comes from elsewhere.
    #[must_use]
    pub fn home(self) -> &'static str {
        match self.0 {
            "github-workflow" => ".github/workflows/ci.yml",
            "gitlab-ci" => ".gitlab-ci.yml",
            "lint-staged" => ".lintstagedrc",
            _ => self.files().next().unwrap_or_default(),
        }
    }
}

/// Recognises a file by its name, else a workflow by its text.
#[must_use]
pub fn recognize(name: &str, text: &str) -> Option<Kind> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let is_yaml = file.ends_with(".yml") || file.ends_with(".yaml");
    if file.ends_with(".gitlab-ci.yml") {
        return Some(GITLAB);
    }
    if is_yaml && name.contains("workflows/") {
        return Some(GITHUB);
    }
    let known = Kind::all().find(|kind| {
        let is_shared = kind.manager().is_some() && file == "package.json";
        !is_shared && kind.files().any(|known| known == file)
    });
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    let is_workflow = is_yaml && has("jobs:") && (has("on:") || has("\"on\":"));
    known.or_else(|| is_workflow.then_some(GITHUB))
}

/// Reads a file of the tree.
#[must_use]
pub fn read(tree: &Tree, file: &RepoPath, kind: Kind) -> Reading {
    match (kind, kind.manager(), kind.runner()) {
        (GITHUB, ..) => github::read(tree, std::slice::from_ref(file)),
        (GITLAB, ..) => gitlab::read(tree, std::slice::from_ref(file)),
        (_, Some(manager), _) => hooks::read_file(tree, manager, file),
        (_, None, Some(runner)) => tasks(tree, file, runner),
        _ => Reading::default(),
    }
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
