//! Reads one configuration on its own, for `vplan import`: all that it declares becomes checks, with an
//! account of what does not.
//!
//! The readers are those of `vplan init`; there is no belief, no other source and no limit of size.

mod list;

use super::candidate::{Belief, Candidate, Declarations, Reason, State};
use super::hooks::{self, Manager};
use super::text::{self, Check};
use super::tree::Tree;
use super::{conditions, github, gitlab, look, merge, proposal};
use crate::base::path::RepoPath;
use crate::front::convert::Weight;

/// The kinds of files that declare commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A workflow of GitHub, Forgejo or Gitea.
    GithubWorkflow,
    /// GitLab's `.gitlab-ci.yml`.
    GitlabCi,
    /// `.pre-commit-config.yaml`, `prek.toml`.
    PreCommit,
    /// `lefthook.yml`.
    Lefthook,
    /// `.lintstagedrc`, or the map in a `package.json`.
    LintStaged,
    /// `turbo.json`.
    Turbo,
    /// `nx.json`, `project.json`.
    Nx,
    /// `moon.yml`, `.moon/tasks.yml`.
    Moon,
    /// `justfile`.
    Just,
    /// `mise.toml`.
    Mise,
    /// `tox.ini`, `tox.toml`.
    Tox,
    /// `noxfile.py`.
    Nox,
    /// `Makefile`.
    Make,
    /// The scripts of a `package.json`.
    PackageJson,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 14] = [
        Kind::GithubWorkflow,
        Kind::GitlabCi,
        Kind::PreCommit,
        Kind::Lefthook,
        Kind::LintStaged,
        Kind::Turbo,
        Kind::Nx,
        Kind::Moon,
        Kind::Just,
        Kind::Mise,
        Kind::Tox,
        Kind::Nox,
        Kind::Make,
        Kind::PackageJson,
    ];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::GithubWorkflow => "github-workflow",
            Kind::GitlabCi => "gitlab-ci",
            Kind::PreCommit => "pre-commit",
            Kind::Lefthook => "lefthook",
            Kind::LintStaged => "lint-staged",
            Kind::Turbo => "turbo",
            Kind::Nx => "nx",
            Kind::Moon => "moon",
            Kind::Just => "just",
            Kind::Mise => "mise",
            Kind::Tox => "tox",
            Kind::Nox => "nox",
            Kind::Make => "make",
            Kind::PackageJson => "package-json",
        }
    }

    /// The path of such a file in a repository, for one that comes from elsewhere.
    #[must_use]
    pub fn home(self) -> &'static str {
        match self {
            Kind::GithubWorkflow => ".github/workflows/ci.yml",
            Kind::GitlabCi => ".gitlab-ci.yml",
            Kind::PreCommit => ".pre-commit-config.yaml",
            Kind::Lefthook => "lefthook.yml",
            Kind::LintStaged => ".lintstagedrc",
            Kind::Turbo => "turbo.json",
            Kind::Nx => "nx.json",
            Kind::Moon => ".moon/tasks.yml",
            Kind::Just => "justfile",
            Kind::Mise => "mise.toml",
            Kind::Tox => "tox.ini",
            Kind::Nox => "noxfile.py",
            Kind::Make => "Makefile",
            Kind::PackageJson => "package.json",
        }
    }
}

/// The files by their names: the end of a path, and the kind.
const NAMES: &[(&str, Kind)] = &[
    (".gitlab-ci.yml", Kind::GitlabCi),
    (".pre-commit-config.yaml", Kind::PreCommit),
    (".pre-commit-config.yml", Kind::PreCommit),
    ("prek.toml", Kind::PreCommit),
    ("lefthook.yml", Kind::Lefthook),
    ("lefthook.yaml", Kind::Lefthook),
    ("lefthook.toml", Kind::Lefthook),
    ("lefthook.json", Kind::Lefthook),
    (".lintstagedrc", Kind::LintStaged),
    (".lintstagedrc.json", Kind::LintStaged),
    (".lintstagedrc.yaml", Kind::LintStaged),
    (".lintstagedrc.yml", Kind::LintStaged),
    ("turbo.json", Kind::Turbo),
    ("turbo.jsonc", Kind::Turbo),
    ("nx.json", Kind::Nx),
    ("project.json", Kind::Nx),
    ("moon.yml", Kind::Moon),
    ("justfile", Kind::Just),
    ("Justfile", Kind::Just),
    (".justfile", Kind::Just),
    ("mise.toml", Kind::Mise),
    (".mise.toml", Kind::Mise),
    ("tox.ini", Kind::Tox),
    ("tox.toml", Kind::Tox),
    ("noxfile.py", Kind::Nox),
    ("Makefile", Kind::Make),
    ("makefile", Kind::Make),
    ("GNUmakefile", Kind::Make),
    ("package.json", Kind::PackageJson),
];

/// Recognises a file by its name, else by words that only one kind has at the beginning of a line.
#[must_use]
pub fn recognize(name: &str, text: &str) -> Option<Kind> {
    let file = name.rsplit('/').next().unwrap_or_default();
    if name.contains("/workflows/") && (file.ends_with(".yml") || file.ends_with(".yaml")) {
        return Some(Kind::GithubWorkflow);
    }
    if name.ends_with(".moon/tasks.yml") || name.contains(".moon/tasks/") {
        return Some(Kind::Moon);
    }
    let known = NAMES
        .iter()
        .find(|(known, _)| *known == file || *known == ".gitlab-ci.yml" && file.ends_with(known))
        .or_else(|| {
            let lefthook = NAMES.iter().filter(|(_, kind)| *kind == Kind::Lefthook);
            lefthook
                .into_iter()
                .find(|(known, _)| file == format!(".{known}"))
        });
    if let Some((_, kind)) = known {
        return Some(*kind);
    }
    if file.contains('.') && !file.ends_with(".yml") && !file.ends_with(".yaml") {
        return None;
    }
    let begins = |word: &str| text.lines().any(|line| line.starts_with(word));
    let inside = |word: &str| text.lines().any(|line| line.trim_start().starts_with(word));
    if begins("jobs:") && (begins("on:") || begins("\"on\":") || begins("'on':")) {
        Some(Kind::GithubWorkflow)
    } else if begins("repos:") && (inside("- id:") || inside("hooks:")) {
        Some(Kind::PreCommit)
    } else if (begins("pre-commit:") || begins("pre-push:"))
        && (inside("commands:") || inside("jobs:"))
    {
        Some(Kind::Lefthook)
    } else if (begins("stages:") || begins("include:") || begins("workflow:")) && inside("script:")
        || inside("script:") && inside("stage:")
    {
        Some(Kind::GitlabCi)
    } else {
        None
    }
}

/// A file, translated.
#[derive(Clone, Debug)]
pub struct Translation {
    /// All that it declares.
    pub found: Declarations,
    /// The checks.
    pub checks: Vec<Check>,
    /// The contract, laid out.
    pub text: String,
    /// All that is not in the contract, or is there otherwise, in the order of the files.
    pub account: Vec<TaskEntry>,
}

/// A part of the file that the contract lacks, or has otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEntry {
    /// Its weight.
    pub weight: Weight,
    /// The command, or what was left out as a whole.
    pub what: String,
    /// The file.
    pub file: RepoPath,
    /// The line, from 1.
    pub line: u32,
    /// The reason.
    pub why: String,
}

/// Translates a file of the tree. Its text is among the tree's texts.
#[must_use]
pub fn translate(tree: &Tree, file: &RepoPath, kind: Kind, name: &str) -> Translation {
    let mut found = Declarations::default();
    read(tree, file, kind, &mut found);
    look::through(tree, &mut found);
    for candidate in &mut found.candidates {
        if candidate.state == State::Open && !text::can_be_said(&candidate.work) {
            candidate.leave_out(Reason::Inline, "no line of a contract can say it");
        }
    }
    merge::apply(&mut found);
    let conditions = conditions::derive(tree, &found);
    let checks = text::checks(&found, &conditions);
    let head = format!("Converted from {name} by `vplan import`.");
    let text = proposal::laid_out(text::write_under(&head, "", &found, &checks));
    let account = account(&found);
    Translation {
        found,
        checks,
        text,
        account,
    }
}

fn read(tree: &Tree, file: &RepoPath, kind: Kind, found: &mut Declarations) {
    let manager = |manager, found: &mut Declarations| {
        hooks::read_file(tree, manager, file, None, Belief::Workflow, found);
    };
    match kind {
        Kind::GithubWorkflow => github::read_files(tree, std::slice::from_ref(file), found),
        Kind::GitlabCi => gitlab::read_file(tree, file, found),
        Kind::PreCommit => manager(Manager::PreCommit, found),
        Kind::Lefthook => manager(Manager::Lefthook, found),
        Kind::LintStaged => manager(Manager::LintStaged, found),
        Kind::Turbo
        | Kind::Nx
        | Kind::Moon
        | Kind::Just
        | Kind::Mise
        | Kind::Tox
        | Kind::Nox
        | Kind::Make
        | Kind::PackageJson => list::read(tree, file, kind, found),
    }
}

/// The account of all that was found.
fn account(found: &Declarations) -> Vec<TaskEntry> {
    let mut all: Vec<TaskEntry> = found.candidates.iter().filter_map(of_candidate).collect();
    all.extend(found.skipped.iter().map(|skipped| TaskEntry {
        weight: weight(skipped.reason),
        what: skipped.what.clone(),
        file: skipped.origin.file.clone(),
        line: skipped.origin.line,
        why: why(skipped.reason, &skipped.detail),
    }));
    all.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    all
}

fn of_candidate(candidate: &Candidate) -> Option<TaskEntry> {
    let (weight, why) = match &candidate.state {
        State::Out(reason, detail) => (weight(*reason), why(*reason, detail)),
        State::Open if !candidate.notes.is_empty() => (Weight::Changed, candidate.notes.join("; ")),
        State::Open | State::Merged(_) => return None,
    };
    Some(TaskEntry {
        weight,
        what: candidate.text(),
        file: candidate.origin.file.clone(),
        line: candidate.origin.line,
        why,
    })
}

/// The weight of a reason: a command that installs or prints requires no check, there or here.
fn weight(reason: Reason) -> Weight {
    match reason {
        Reason::Installs | Reason::Nothing | Reason::Built => Weight::NoEffect,
        _ => Weight::Lost,
    }
}

fn why(reason: Reason, detail: &str) -> String {
    if detail.is_empty() {
        reason.sentence().to_owned()
    } else {
        format!("{}: {detail}", reason.sentence())
    }
}

#[cfg(test)]
mod tests;
