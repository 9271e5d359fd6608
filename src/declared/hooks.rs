//! Reads hook configurations: pre-commit and prek, lefthook, husky, simple-git-hooks, lint-staged, hk.
//!
//! A hook manager as a whole is never a check: it rewrites what is staged. Each of its commands is a
//! candidate of its own, with the files that its hook is about.

mod hk;
mod known;
mod lefthook;
pub mod pattern;
mod precommit;
mod scripts;
mod staged;
mod types;

use super::candidate::{Belief, Declarations, Reason, State, When, Work};
use super::script::{self, Job, Script};
use super::tree::Tree;
use crate::base::path::RepoPath;
use crate::check::tool::Invocation;
use std::collections::BTreeMap;

/// A hook manager with a configuration of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// pre-commit, and prek, which reads the same.
    PreCommit,
    /// lefthook.
    Lefthook,
    /// lint-staged.
    LintStaged,
    /// hk.
    Hk,
}

impl Manager {
    const ALL: [Manager; 4] = [
        Manager::PreCommit,
        Manager::Lefthook,
        Manager::LintStaged,
        Manager::Hk,
    ];
}

/// The hooks that a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRunner {
    /// The manager.
    pub manager: Manager,
    /// The hook that it is asked for; all of them without one.
    pub hook: Option<String>,
}

impl HookRunner {
    /// All hooks of a manager.
    #[must_use]
    pub fn all(manager: Manager) -> Self {
        Self {
            manager,
            hook: None,
        }
    }
}

/// Whether a command runs hooks of the repository (`pre-commit run`, `npx lint-staged`), and which.
#[must_use]
pub fn started(words: &[String]) -> Option<HookRunner> {
    let argv: Vec<&str> = words.iter().map(String::as_str).collect();
    let invocation = Invocation::of(&argv);
    let named = |program: &str| {
        let known = match program {
            "pre-commit" | "prek" | "pre_commit" => Manager::PreCommit,
            "lefthook" => Manager::Lefthook,
            "lint-staged" | "nano-staged" => Manager::LintStaged,
            "hk" => Manager::Hk,
            _ => return None,
        };
        Some(known)
    };
    // Launchers that are not known (`uvx --with x pre-commit run`) have the program among their
    // words.
    let (manager, arguments) = match named(invocation.program()) {
        Some(manager) => (manager, invocation.arguments().to_vec()),
        None => {
            let launches = argv.iter().take(1).any(|first| {
                [
                    "uvx", "uv", "pipx", "npx", "pnpm", "yarn", "bunx", "python", "python3", "mise",
                ]
                .contains(first)
            });
            let at = argv.iter().position(|word| named(word).is_some())?;
            let manager = named(argv.get(at)?)?;
            if !launches {
                return None;
            }
            (manager, words.get(at + 1..)?.to_vec())
        }
    };
    let asked: Vec<&str> = plain(&arguments);
    let hook = |at: usize| asked.get(at).map(|word| (*word).to_owned());
    let runs = match manager {
        Manager::PreCommit | Manager::Lefthook => asked.first() == Some(&"run"),
        Manager::LintStaged => true,
        Manager::Hk => matches!(asked.first(), Some(&"run" | &"check" | &"fix")),
    };
    runs.then(|| HookRunner {
        manager,
        hook: match manager {
            Manager::PreCommit | Manager::Lefthook => hook(1),
            Manager::LintStaged | Manager::Hk => None,
        },
    })
}

/// The arguments that are neither options nor the values of known options.
fn plain(arguments: &[String]) -> Vec<&str> {
    const VALUED: &[&str] = &[
        "--color",
        "--config",
        "--files",
        "--from-ref",
        "--hook-stage",
        "--to-ref",
        "--cwd",
        "-c",
        "-o",
        "-s",
    ];
    let mut skip = false;
    let mut all = Vec::new();
    for word in arguments {
        if std::mem::take(&mut skip) {
            continue;
        }
        if VALUED.contains(&word.as_str()) {
            skip = true;
        } else if !word.starts_with('-') {
            all.push(word.as_str());
        }
    }
    all
}

/// Reads what is declared there.
pub fn read(tree: &Tree, found: &mut Declarations) {
    for manager in Manager::ALL {
        read_manager(tree, manager, None, Belief::Hook, found);
    }
    scripts::read(tree, found);
}

/// Takes the hooks that a command of this belief runs as candidates: what CI runs is believed more
/// than what only hooks run.
pub fn start(tree: &Tree, runner: &HookRunner, belief: Belief, found: &mut Declarations) {
    let belief = if belief >= Belief::Started {
        Belief::Started
    } else {
        Belief::Hook
    };
    let files = files(tree, runner.manager);
    let mut there = false;
    for candidate in &mut found.candidates {
        if !files.contains(&candidate.origin.file) {
            continue;
        }
        // A package.json declares more than hooks, and a label may be a group's.
        let hook = matches!(candidate.belief, Belief::Hook | Belief::Started);
        let asked = runner
            .hook
            .as_ref()
            .is_none_or(|name| candidate.origin.label.split([' ', '/']).any(|w| w == name));
        if hook && asked {
            there = true;
            candidate.belief = candidate.belief.max(belief);
        }
    }
    if !there {
        read_manager(tree, runner.manager, runner.hook.as_deref(), belief, found);
    }
}

/// The configurations of a manager.
fn files(tree: &Tree, manager: Manager) -> Vec<RepoPath> {
    let root = |names: &[&str]| -> Vec<RepoPath> {
        names
            .iter()
            .filter_map(|name| RepoPath::parse(name.as_bytes()).ok())
            .filter(|path| tree.texts.contains_key(path) || tree.unread.contains_key(path))
            .collect()
    };
    match manager {
        Manager::PreCommit => root(&[
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            "prek.toml",
        ]),
        Manager::Lefthook => root(lefthook::FILES),
        Manager::LintStaged => staged::files(tree),
        Manager::Hk => root(&["hk.pkl", ".config/hk.pkl"]),
    }
}

fn read_manager(
    tree: &Tree,
    manager: Manager,
    hook: Option<&str>,
    belief: Belief,
    found: &mut Declarations,
) {
    for file in files(tree, manager) {
        read_file(tree, manager, &file, hook, belief, found);
    }
    if manager == Manager::LintStaged {
        staged::unread(tree, found);
    }
}

/// Reads one configuration of a manager, wherever it is.
pub fn read_file(
    tree: &Tree,
    manager: Manager,
    file: &RepoPath,
    hook: Option<&str>,
    belief: Belief,
    found: &mut Declarations,
) {
    let read = match manager {
        Manager::PreCommit => precommit::read(tree, file, hook, belief, found),
        Manager::Lefthook => lefthook::read(tree, file, hook, belief, found),
        Manager::LintStaged => staged::read(tree, file, belief, found),
        Manager::Hk => hk::read(tree, file, belief, found),
    };
    if let Err(why) = read {
        let origin = super::candidate::Origin {
            file: file.clone(),
            line: 1,
            label: String::new(),
        };
        found.skip(origin, format!("`{file}`"), Reason::NotRead, why);
    }
}

/// A hook while its commands are read.
struct Group<'g> {
    file: &'g RepoPath,
    belief: Belief,
    label: String,
    when: When,
    tier: u8,
    env: BTreeMap<String, String>,
    dir: RepoPath,
    tool_path: Vec<String>,
    notes: Vec<String>,
}

impl<'g> Group<'g> {
    fn new(file: &'g RepoPath, belief: Belief, label: impl Into<String>) -> Self {
        Self {
            file,
            belief,
            label: label.into(),
            when: When::Unsaid,
            tier: 0,
            env: BTreeMap::new(),
            dir: RepoPath::root(),
            tool_path: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Reads a text that the manager gives to a shell. Returns the indices of the new candidates.
    fn shell(
        &self,
        tree: &Tree,
        text: &str,
        line: u32,
        found: &mut Declarations,
    ) -> std::ops::Range<usize> {
        let mut job = Job {
            file: self.file.clone(),
            belief: self.belief,
            name: self.label.clone(),
            when: self.when.clone(),
            tier: self.tier,
            warning: false,
            timeout: None,
            notes: self.notes.clone(),
            secrets: Vec::new(),
            services: Vec::new(),
            exported: BTreeMap::new(),
            tool_path: self.tool_path.clone(),
            edited: None,
            built: Vec::new(),
            since_compared: Vec::new(),
        };
        let script = Script {
            text,
            line,
            label: self.label.clone(),
            dir: self.dir.clone(),
            env: self.env.clone(),
            condition: None,
        };
        let begun = found.candidates.len();
        script::read(tree, &mut job, &script, found);
        for candidate in found.candidates.iter_mut().skip(begun) {
            if candidate.state != State::Open {
                continue;
            }
            let inside = |word: &String| word.contains("{changed}") && word != "{changed}";
            match &candidate.work {
                Work::Shell(text) if text.contains("{changed}") => {
                    candidate.leave_out(Reason::Inline, "it gives the changed files to a shell");
                }
                Work::Words(words) if words.iter().any(inside) => {
                    candidate.leave_out(Reason::Unknown, "the changed files are part of a word");
                }
                _ => {}
            }
        }
        begun..found.candidates.len()
    }

    /// Adds a command of words. One that is given to a shell (`bash -c '…'`) is read as that
    /// shell's text: the files behind it are for `$@` alone.
    fn words(
        &self,
        tree: &Tree,
        mut words: Vec<String>,
        changed: bool,
        line: u32,
        found: &mut Declarations,
    ) -> std::ops::Range<usize> {
        if let Some(text) = of_shell(&words) {
            let mut text = text.to_owned();
            if changed {
                for form in ["\"$@\"", "\"$*\"", "$@", "$*"] {
                    text = text.replace(form, "{changed}");
                }
            }
            return self.shell(tree, &text, line, found);
        }
        if changed {
            words.push("{changed}".to_owned());
        }
        let origin = super::candidate::Origin {
            file: self.file.clone(),
            line,
            label: self.label.clone(),
        };
        let mut candidate = super::candidate::Candidate::new(
            origin,
            self.belief,
            Work::Words(words),
            self.dir.clone(),
        );
        candidate.when = self.when.clone();
        candidate.tier = self.tier;
        candidate.env = self.env.clone();
        candidate.tool_path = self.tool_path.clone();
        candidate.notes = self.notes.clone();
        let begun = found.candidates.len();
        found.candidates.push(candidate);
        begun..found.candidates.len()
    }
}

/// The text of `sh -c TEXT`.
fn of_shell(words: &[String]) -> Option<&str> {
    let (program, rest) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or_default();
    let (flags, rest) = rest.split_first()?;
    let is_text = flags.starts_with('-') && flags.ends_with('c') && !flags.starts_with("--");
    (matches!(program, "sh" | "bash" | "zsh" | "dash") && is_text)
        .then(|| rest.first().map(String::as_str))
        .flatten()
}

/// Leaves out what a range of candidates says.
fn leave_out(
    found: &mut Declarations,
    range: std::ops::Range<usize>,
    reason: Reason,
    detail: &str,
) {
    for candidate in found.candidates.get_mut(range).into_iter().flatten() {
        candidate.leave_out(reason, detail);
    }
}

/// Splits a command as a shell splits words, without any other meaning.
fn split(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => {
                let next = chars.next();
                let own = word.get_or_insert_default();
                match (quote, next) {
                    (Some(_), Some(n)) if !"\"\\$`".contains(n) => own.extend(['\\', n]),
                    (_, Some(n)) => own.push(n),
                    (_, None) => own.push('\\'),
                }
            }
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => all.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    all
}

/// Hooks of git at which a change is judged.
fn judges(hook: &str) -> bool {
    matches!(hook, "pre-commit" | "pre-push" | "pre-merge-commit")
}

/// All other hooks of git.
fn is_other_hook(hook: &str) -> bool {
    matches!(
        hook,
        "applypatch-msg"
            | "commit-msg"
            | "fsmonitor-watchman"
            | "post-applypatch"
            | "post-checkout"
            | "post-commit"
            | "post-merge"
            | "post-receive"
            | "post-rewrite"
            | "post-update"
            | "pre-applypatch"
            | "pre-auto-gc"
            | "pre-rebase"
            | "pre-receive"
            | "prepare-commit-msg"
            | "push-to-checkout"
            | "reference-transaction"
            | "sendemail-validate"
            | "update"
    )
}

#[cfg(test)]
mod tests;
