//! What manifests declare where CI and hooks name nothing: tasks by their names, and the usual
//! commands of a language.

use crate::found::{CommandOrigin, Place, SourceCommand, SourceReading, Task};
use crate::kinds::KINDS;
use crate::tree::RepositoryTree;
use crate::words::{is_listed, words_of};
use crate::{tasks, workspace};
use std::collections::BTreeSet;
use vplan_base::path::RepoPath;
use vplan_base::word::has_word;
use vplan_check::Kind;
use vplan_check::tool::table;
use vplan_check::tool::table::{Language, TaskVerb, task_word};

/// The text that `npm init` writes where there is no test.
const NO_TEST: &str = "no test specified";
/// The job of the usual tests of a language.
pub const USUAL: &str = "the usual test";
/// The deepest folder of a package, and the most packages that are in no workspace.
const MAX_DEPTH: usize = 4;
const MAX_PACKAGES: usize = 40;

/// Reads all manifests, where others name the tests already, if these are `named`.
pub fn read(tree: &RepositoryTree, named: &BTreeSet<Kind>) -> SourceReading {
    let mut out = SourceReading::default();
    let files = tree.files.iter();
    let manifests = files.filter(|file| is_manifest(file) && is_ours(file));
    let folders = manifests.map(|file| (file.segments().count(), file.folder()));
    let shallow = folders.filter(|(depth, _)| *depth <= MAX_DEPTH + 1);
    let folders: BTreeSet<_> = shallow.collect();
    let packages = workspace::folders(tree);
    let root = tasks::of_program(tree, "npm", &RepoPath::root());
    let mut of_all = root.map_or_else(Vec::new, |root| root.all);
    of_all.retain(workspace::is_whole);
    for (index, (_, dir)) in folders.into_iter().enumerate() {
        if index >= MAX_PACKAGES && !packages.contains(&dir) {
            continue;
        }
        let is_package = !dir.is_root() && packages.contains(&dir);
        let of_all = if is_package { &*of_all } else { &[] };
        scripts(tree, &dir, of_all, named, &mut out);
        configured(tree, &dir, &mut out);
    }
    out
}

/// Whether a file is neither hidden nor in a folder of examples.
fn is_ours(file: &RepoPath) -> bool {
    let folder = file.folder();
    let is_foreign = |segment: &[u8]| {
        segment.starts_with(b".") && segment != b"."
            || is_listed("not-ours", &String::from_utf8_lossy(segment))
    };
    !folder.segments().any(is_foreign)
}

fn is_manifest(file: &RepoPath) -> bool {
    let named = |name: &str| file.name() == name.as_bytes();
    let manifests = table::languages().iter().flat_map(|one| &one.manifests);
    let mut runners = KINDS.iter().filter(|kind| kind.has_tasks());
    runners.any(|runner| runner.files().any(named)) || manifests.copied().any(named)
}

/// The tasks of a folder's runners. A task that another one starts, also one of those of the root that
/// start the tasks of all packages, is a part of it.
fn scripts(
    tree: &RepositoryTree,
    dir: &RepoPath,
    of_all: &[Task],
    named: &BTreeSet<Kind>,
    out: &mut SourceReading,
) {
    let starts_others = |key: &str| matches!(key, "turbo" | "nx" | "moon" | "cargo");
    let runners = KINDS.iter().filter(|kind| kind.has_tasks());
    for runner in runners.filter(|one| !starts_others(one.key)) {
        // Makefiles below the root are called by the one above.
        if runner.key == "make" && !dir.is_root() {
            continue;
        }
        let Some(file) = tasks::file(tree, *runner, dir) else {
            continue;
        };
        let Some(tasks) = out.noted(&file, tasks::read(tree, *runner, &file)) else {
            continue;
        };
        let parts = tasks.parts();
        for task in &tasks.all {
            let said = task_word(&task.name);
            let mut words = task.name.split(['-', ':']);
            let packs = words.any(|word| is_listed("packs", word));
            let is_check = matches!(said, TaskVerb::Test | TaskVerb::Lint)
                || said == TaskVerb::Compile && !packs
                || has_word("check ci verify validate", &task.name);
            let is_plain = |c: char| c.is_alphanumeric() || "-_:".contains(c);
            // One for all packages that names itself means the tasks of those.
            // A linter that a task starts counts by itself where that one is named already; what makes files
            // does not.
            let makes = |word| task_word(word) == TaskVerb::Compile;
            let is_linter = said == TaskVerb::Lint && !task.name.split(['-', ':']).any(makes);
            let is_part = |(part, by): &(String, &str)| {
                let verb = task_word(by).kind().filter(|verb| named.contains(verb));
                let is_free = is_linter && verb.is_some();
                table::fits(part, &task.name) && *by != task.name && !is_free
            };
            let is_of_all = |whole: &Task| runner.key == "package-json" && whole.name == task.name;
            if !is_check
                || !task.name.chars().all(is_plain)
                || parts.iter().any(is_part)
                || of_all.iter().any(is_of_all)
                || is_empty(task)
            {
                continue;
            }
            out.found
                .push(tasks.start(tree, task, CommandOrigin::Manifest));
        }
        let has_own = out.found.iter().any(|found| found.place.file == tasks.file);
        if let ("make", false, Some(first)) = (runner.key, has_own, tasks.all.first()) {
            let place = Place::new(&tasks.file, first.line);
            let found = SourceCommand::at(place, vec!["make".to_owned()], dir);
            out.found.push(found);
        }
    }
}

/// Whether a task is what `npm init` writes.
fn is_empty(task: &Task) -> bool {
    task.commands.iter().any(|(_, text)| text.contains(NO_TEST))
}

fn configured(tree: &RepositoryTree, dir: &RepoPath, out: &mut SourceReading) {
    for [text, configs] in table::columns("configured") {
        let found = configs.split(' ').find_map(|config| {
            let (name, part) = config.split_once(':').unwrap_or((config, ""));
            let is_own = tree.has(dir, name) && !is_member(tree, dir, name);
            let is_there = is_own && (part.is_empty() || tree.part(dir, config).is_some());
            dir.join(name.as_bytes()).ok().filter(|_| is_there)
        });
        let found = found.map(|file| SourceCommand::at(Place::new(&file, 1), words_of(text), dir));
        out.found.extend(found);
    }
}

/// Whether a folder above has the same manifest: it is a part of that workspace.
fn is_member(tree: &RepositoryTree, dir: &RepoPath, file: &str) -> bool {
    let mut above = dir.ancestors().into_iter().chain([RepoPath::root()]);
    above.any(|above| above != *dir && tree.has(&above, file))
}

/// The usual tests of languages that nothing else tests: of `tested` the names of the languages that a
/// check tests, `all` for all.
pub fn gaps(tree: &RepositoryTree, tested: &BTreeSet<&str>) -> Vec<SourceCommand> {
    let is_untested = |name: &str| !tested.contains("all") && !tested.contains(name);
    let found = main_language(tree).filter(|(language, ..)| is_untested(language.name));
    let Some((language, dir, file)) = found else {
        return Vec::new();
    };
    let tests: Vec<&RepoPath> = tree.matching(&language.tests).collect();
    if tests.is_empty() {
        return Vec::new();
    }
    let at_root = usual(tree, language, &dir, &file);
    let mut packages = workspace::started_alone(tree, language.name);
    packages.retain(|package| tests.iter().any(|file| file.below(package).is_some()));
    let own = packages.iter();
    let own = own.flat_map(|package| usual(tree, language, package, &file));
    let own: Vec<_> = own.collect();
    match own.is_empty() || !at_root.is_empty() && language.name != "go" {
        true => at_root,
        false => own,
    }
}

/// The usual tests of a language in a folder.
fn usual(
    tree: &RepositoryTree,
    language: &Language,
    dir: &RepoPath,
    file: &RepoPath,
) -> Vec<SourceCommand> {
    let commands = language.gap.iter().filter_map(|text| {
        let mut words = words_of(text);
        // A language has several builders: the one whose files are there.
        let program = text.split_whitespace().next()?.trim_start_matches("./");
        let mut kept = table::kept(program).peekable();
        if kept.peek().is_some() && !kept.any(|file| tree.has(dir, file)) {
            return None;
        }
        if words.first().is_some_and(|word| word == "npm") {
            let script = tasks::of_program(tree, "npm", dir)?;
            let task = script.task("test")?;
            if is_empty(task) {
                return None;
            }
            tasks::manager(tree, dir).clone_into(words.first_mut()?);
        }
        let mut found = SourceCommand::at(Place::new(file, 1), words, dir);
        found.job = Some(USUAL.to_owned());
        Some(found)
    });
    commands.collect()
}

/// The language with the most files of those that have a manifest, its folder and its manifest.
fn main_language(tree: &RepositoryTree) -> Option<(&'static Language, RepoPath, RepoPath)> {
    let with_manifest = table::languages().iter().filter_map(|language| {
        let is_manifest = |file: &&RepoPath| {
            let name = String::from_utf8_lossy(file.name());
            let mut manifests = language.manifests.iter();
            manifests.any(|glob| table::fits(glob, &name)) && is_ours(file)
        };
        let manifests = tree.files.iter().filter(is_manifest);
        let file = manifests.min_by_key(|file| file.segments().count())?;
        let count = tree.matching(&language.globs).count();
        let at_root = file.segments().count() == 1;
        Some(((at_root, count), (language, file.folder(), file.clone())))
    });
    let gap = with_manifest.filter(|(_, (language, _, _))| !language.gap.is_empty());
    gap.max_by_key(|(rank, _)| *rank).map(|(_, found)| found)
}
