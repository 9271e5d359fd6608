//! Reads one configuration on its own, for `vplan import`.

use crate::found::{CommandOrigin, SourceReading};
use crate::tree::RepositoryTree;
use crate::{github, gitlab, hooks, tasks};
use vplan_base::path::RepoPath;

pub use super::kinds::{KINDS, Kind};

/// Recognises a file by its name, else a workflow by its text.
pub fn recognize(name: &str, text: &str) -> Option<Kind> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let is_yaml = file.ends_with(".yml") || file.ends_with(".yaml");
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    let is_workflow = is_yaml && has("jobs:") && (has("on:") || has("\"on\":"));
    let is = |kind: &Kind| match kind.key {
        "gitlab-ci" => file.ends_with(".gitlab-ci.yml"),
        "github-workflow" => is_yaml && name.contains("workflows/"),
        _ if kind.has_hooks() && file == "package.json" => false,
        _ => kind.files().any(|known| known == file),
    };
    let known = KINDS.iter().copied().find(is);
    known.or_else(|| KINDS.first().copied().filter(|_| is_workflow))
}

/// Reads a file of the tree; each task of it is a command that starts it.
pub fn read(tree: &RepositoryTree, file: &RepoPath, kind: Kind) -> SourceReading {
    match kind.key {
        "github-workflow" => github::read(tree, std::slice::from_ref(file)),
        "gitlab-ci" => gitlab::read(tree, std::slice::from_ref(file)),
        _ if kind.has_hooks() => hooks::read_file(tree, kind, file),
        _ => {
            let mut out = SourceReading::default();
            if let Some(tasks) = out.noted(file, tasks::read(tree, kind, file)) {
                let all = tasks.all.iter().filter(|task| !task.name.is_empty());
                let all = all.map(|task| {
                    let mut found = tasks.start(tree, task, CommandOrigin::Ci);
                    found.label.clone_from(&task.name);
                    found
                });
                out.found = all.collect();
            }
            out
        }
    }
}
