//! Reports programs and directories of checks that are missing: on this machine, or among the files
//! of the repository alone, which are the same on every machine.

use crate::facts::matched::matched;
use crate::load::Site;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_base::setting::Row;
use vplan_base::word::{first_of, visible};
use vplan_contract::{Check, Contract, Sought};
use vplan_os::environment::{Environment, Grants};
use vplan_os::process::program::{self, Root};
use vplan_plan::Step;

/// A directory that does not exist.
pub(super) const MISSING_DIRECTORY: Code = Code("vplan::repository::missing_directory");
/// A program that is missing where the system would search for it.
pub(super) const PROGRAM_NOT_FOUND: Code = Code("vplan::repository::program_not_found");

/// A whole command in quotes, which is one word.
pub(super) const QUOTED_COMMAND: Code = Code("vplan::repository::quoted_command");

/// Maximum number of further checks that a message names, in addition to the one that it points at.
const NAMED: usize = 5;

const MADE: &str = "if another check makes it, say so with `produces`";

/// The files that count as present.
pub(super) struct Tree<'a> {
    site: &'a Site,
    /// With `--pure` and a working git: every path that git does not ignore, and their folders.
    /// `None`: everything on the disk.
    pure: Option<(BTreeSet<RepoPath>, BTreeSet<RepoPath>)>,
    /// The globs of conditions that a file matches on this machine.
    matched: BTreeSet<Glob>,
}

impl<'a> Tree<'a> {
    /// Uses the files on the disk, or with `pure` only those that git does not ignore: a copy of
    /// the repository on another machine has the same.
    pub(super) fn new(site: &'a Site, contract: &Contract, pure: bool) -> Self {
        let git = site.git.as_ref().ok().filter(|_| pure);
        let pure = git.and_then(|git| git.present().ok()).map(|files| {
            let folders = files.iter().flat_map(|file| {
                let mut around = file.ancestors();
                around.pop();
                around
            });
            let folders = folders.chain([RepoPath::root()]).collect();
            (files.into_iter().collect(), folders)
        });
        let globs = contract
            .sought()
            .into_iter()
            .filter_map(|sought| match sought {
                Sought::Glob(glob) if pure.is_none() => Some(glob.clone()),
                _ => None,
            });
        // If the files cannot be listed, all checks are examined.
        let globs: BTreeSet<Glob> = globs.collect();
        let matched =
            matched(&globs, &site.root, site.git.as_ref().ok(), |_| true).unwrap_or(globs);
        Self {
            site,
            pure,
            matched,
        }
    }

    /// Whether this path is present, or a file of this glob.
    pub(super) fn meets(&self, sought: &Sought) -> bool {
        match (sought, &self.pure) {
            (Sought::Path(path), _) => self.has(path),
            (Sought::Glob(glob), Some((files, _))) => files.iter().any(|file| glob.matches(file)),
            (Sought::Glob(glob), None) => self.matched.contains(glob),
        }
    }

    /// Whether this file or folder is present.
    pub(super) fn has(&self, path: &RepoPath) -> bool {
        match &self.pure {
            Some((files, folders)) => files.contains(path) || folders.contains(path),
            None => std::fs::metadata(self.site.root.join(path.to_os())).is_ok(),
        }
    }

    /// Whether this path is missing in an existing folder. A missing folder, such as
    /// `node_modules/.bin`, may be installed or built later.
    fn lacks(&self, path: &RepoPath) -> bool {
        let mut around = path.ancestors();
        around.pop();
        !self.has(path) && around.last().is_none_or(|folder| self.has(folder))
    }
}

/// The programs and services that a contract starts.
pub(super) struct Started<'a> {
    /// The checks, each with one of its steps.
    pub(super) checks: &'a [(&'a Check, Step)],
    /// What else is started for them, in the same form: fix commands and services.
    pub(super) beside: &'a [(&'a Check, Step)],
}

impl<'a> Started<'a> {
    /// Returns all of it. If another entry starts the same command as a check, only the check.
    fn all(&self) -> impl Iterator<Item = &'a (&'a Check, Step)> {
        let words: BTreeSet<(&str, Option<&[u8]>)> = self
            .checks
            .iter()
            .map(|(check, step)| (check.id.as_str(), first_word(step)))
            .collect();
        let is_other = move |(check, step): &&(&Check, Step)| {
            !words.contains(&(check.id.as_str(), first_word(step)))
        };
        self.checks
            .iter()
            .chain(self.beside.iter().filter(is_other))
    }
}

/// Reports programs and directories that would not be found here, unless a check makes them.
pub(super) fn of_this_machine(site: &Site, started: &Started<'_>, sink: &mut Diagnostics) {
    let Ok(root) = Root::open(&site.root) else {
        return;
    };
    let environment = Environment::of_this_process(&root, Grants::default());
    let checks = started.checks;
    let mut found = Vec::new();
    for (check, step) in started.all() {
        let Some(word) = first_word(step) else {
            continue;
        };
        let search = environment
            .of_step(&root, step.environment_request())
            .search;
        let warning = match program::resolve(&root, &search, &step.dir, word) {
            Err(e) if matches!(e.code.as_str(), "NO_SUCH_DIRECTORY" | "DIRECTORY_OUTSIDE") => {
                if is_made(&step.dir, checks) {
                    continue;
                }
                Diagnostic::warning(MISSING_DIRECTORY, e.message)
                    .label(check.place, "would run there")
            }
            Err(_) if is_quoted(step, word) => quoted(check, word),
            Err(e) => Diagnostic::warning(PROGRAM_NOT_FOUND, e.message)
                .label(check.place, format!("runs `{}`", step.command)),
            Ok((program, _))
                if word.contains(&b'/') && std::fs::metadata(&program.path).is_err() =>
            {
                let inside = step.dir.join(word);
                if inside.as_ref().is_ok_and(|path| is_made(path, checks)) {
                    continue;
                }
                let shown = inside.map_or_else(|_| visible(word), |path| path.to_string());
                if is_quoted(step, word) {
                    found.push((*check, quoted(check, word)));
                    continue;
                }
                Diagnostic::warning(PROGRAM_NOT_FOUND, format!("`{shown}` does not exist"))
                    .label(check.place, format!("runs `{}`", step.command))
                    .help(MADE)
            }
            Ok(_) => continue,
        };
        found.push((*check, warning));
    }
    push_merged(found, sink);
}

/// Reports directories, and programs given by path, that the repository lacks, unless a check makes
/// them. A program on the PATH, or with an absolute path, belongs to the machine.
pub(super) fn of_the_repository(tree: &Tree<'_>, started: &Started<'_>, sink: &mut Diagnostics) {
    let checks = started.checks;
    let mut found = Vec::new();
    for (check, step) in started.all() {
        let Some(word) = first_word(step) else {
            continue;
        };
        if !tree.has(&step.dir) {
            if tree.lacks(&step.dir) && !is_made(&step.dir, checks) {
                let message = format!("the repository has no directory `{}`", step.dir);
                let warning = Diagnostic::warning(MISSING_DIRECTORY, message)
                    .label(check.place, "would run there");
                found.push((*check, warning));
            }
            continue;
        }
        if is_quoted(step, word) && !word.contains(&b'/') && step.tool_path.is_empty() {
            found.push((*check, quoted(check, word)));
            continue;
        }
        if !word.contains(&b'/') || word.starts_with(b"/") {
            continue;
        }
        let Ok(path) = step.dir.join(word) else {
            continue;
        };
        if is_quoted(step, word) && !tree.has(&path) && !is_made(&path, checks) {
            found.push((*check, quoted(check, word)));
        } else if tree.lacks(&path) && !is_made(&path, checks) {
            let message = format!("the repository has no file `{path}`");
            let warning = Diagnostic::warning(PROGRAM_NOT_FOUND, message)
                .label(check.place, format!("runs `{}`", step.command))
                .help(MADE);
            found.push((*check, warning));
        }
    }
    push_merged(found, sink);
}

fn first_word(step: &Step) -> Option<&[u8]> {
    Some(step.argv.as_ref()?.first()?.as_bytes())
}

/// Whether a command is one word with a blank in it.
fn is_quoted(step: &Step, word: &[u8]) -> bool {
    word.contains(&b' ') && step.argv.as_ref().is_some_and(|argv| argv.len() == 1)
}

fn quoted(check: &Check, word: &[u8]) -> Diagnostic {
    let shown = visible(word);
    let message = format!("`{shown}` is one word, and no program has this name");
    Diagnostic::error(QUOTED_COMMAND, message)
        .label(check.place, "would start a program of this name")
        .help(format!("write it without the quotes: `{shown}`"))
}

fn is_made(path: &RepoPath, checks: &[(&Check, Step)]) -> bool {
    checks
        .iter()
        .any(|(c, _)| c.globs(Row::Produces).iter().any(|glob| glob.matches(path)))
}

/// Adds warnings about checks; those with one code and one message are one, which points at the
/// first check and names some of the others.
pub(super) fn push_merged(found: Vec<(&Check, Diagnostic)>, sink: &mut Diagnostics) {
    let mut groups: BTreeMap<(Code, String), Vec<(&Check, Diagnostic)>> = BTreeMap::new();
    for (check, warning) in found {
        let key = (warning.code, warning.message.clone());
        groups.entry(key).or_default().push((check, warning));
    }
    for mut group in groups.into_values() {
        group.sort_by_key(|(check, _)| check.place);
        let mut group = group.into_iter();
        let Some((check, first)) = group.next() else {
            continue;
        };
        // One check may use several services.
        let mut named = BTreeSet::from([check.id.as_str()]);
        let others = group.filter(|(check, _)| named.insert(check.id.as_str()));
        let others: Vec<String> = others.map(|(check, _)| format!("`{}`", check.id)).collect();
        if others.is_empty() {
            sink.push(first);
            continue;
        }
        let also = format!("the same holds for {}", first_of(others, NAMED));
        let help = match &first.help {
            Some(help) => format!("{help}; {also}"),
            None => also,
        };
        sink.push(first.help(help));
    }
}
