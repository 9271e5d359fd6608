//! Workspaces: the checks that are the same for each of their packages are one, over their rows.

use crate::check::{CheckKey, ProposedCheck, ProposedCondition};
use crate::conditions;
use crate::found::Task;
use crate::tree::RepositoryTree;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::glob::escape;
use vplan_base::hole::as_part_of_name;
use vplan_base::path::RepoPath;
use vplan_base::word::has_word;
use vplan_base::workspace::{FoundMembers, Manifest, WorkspaceQuery};
use vplan_front::workspace::{WorkspaceFiles, read};

/// The hole of a package's folder, and that of its name.
pub const FOLDER: &str = "{pkg}";
pub const NAME: &str = "{pkg.name}";
/// The set of the files that are in no package: any of them may decide about all.
pub const SHARED: &str = "shared";
/// The fewest packages for which rows are shorter than a check for each.
const FEW: usize = 3;
/// What a task that runs the tasks of all packages says.
const WHOLE: &str = "--workspaces -ws -r --recursive turbo nx lerna wsrun foreach --filter moon";

/// The packages of the workspace whose manifest is at the root: none where there are several, or it
/// cannot be read.
fn packages(tree: &RepositoryTree) -> Option<FoundMembers> {
    let paths: Vec<RepoPath> = tree.files.iter().cloned().collect();
    let text = |path: &RepoPath| {
        let text = tree.source(path).map(str::to_owned);
        text.map_err(std::io::Error::other)
    };
    let files = WorkspaceFiles {
        paths: &paths,
        text: &text,
    };
    Some(read(&WorkspaceQuery::default(), files).ok()?.found)
}

/// The folders of the packages of the workspace.
pub fn folders(tree: &RepositoryTree) -> BTreeSet<RepoPath> {
    let found = packages(tree).into_iter();
    found.flat_map(|found| found.members.into_keys()).collect()
}

/// The folders of the packages where each must have its tests started by itself, as no command at the
/// root starts those of all: `cargo test` and `pytest` do.
pub fn started_alone(tree: &RepositoryTree, language: &str) -> Vec<RepoPath> {
    let found = packages(tree).filter(|found| found.members.len() >= FEW);
    match (found.as_ref().and_then(|found| found.manifest), language) {
        (Some(Manifest::Npm | Manifest::Pnpm), "javascript") | (Some(Manifest::Go), "go") => {
            folders(tree).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// What is left of a check when its package is taken out: its words are operands, its variables
/// options. `None` where it says nothing of the package.
fn template(check: &ProposedCheck, folder: &RepoPath, name: &str) -> Option<CheckKey> {
    let in_folder = !folder.is_root() && check.found.dir == *folder;
    let path = folder.to_string();
    let words = check.found.words.iter();
    let words: Vec<String> = words.map(|word| without(word, &path, name)).collect();
    let dir = match in_folder {
        true => RepoPath::parse(FOLDER.as_bytes()).ok()?,
        false => check.found.dir.clone(),
    };
    let env = check.found.env.iter();
    let env = env.map(|(name, value)| format!("{name}={value}"));
    let is_about = in_folder || words != check.found.words;
    is_about.then(|| CheckKey {
        verb: check.verb,
        dir,
        options: env.chain(check.unchanged.then(String::new)).collect(),
        operands: words,
        ..CheckKey::default()
    })
}

/// A word with the hole of a package in the place of its name or folder.
fn without(word: &str, folder: &str, name: &str) -> String {
    let (option, value) = word.split_at(word.find('=').map_or(0, |at| at + 1));
    let (start, path) = value.split_at(if value.starts_with("./") { 2 } else { 0 });
    match path.strip_prefix(folder) {
        _ if value == name => format!("{option}{NAME}"),
        Some(rest) if folder != "." && (rest.is_empty() || rest.starts_with('/')) => {
            format!("{option}{start}{FOLDER}{rest}")
        }
        _ => word.to_owned(),
    }
}

/// Makes the checks that are the same for each package of a workspace equal, so that they fold into
/// one. A package without it would have a row without a command, so then they stay as they are; also
/// where they follow a build of their job, or have their own conditions, and where the names of packages
/// are one in a check's name.
pub fn rows(checks: &mut [ProposedCheck], tree: &RepositoryTree) {
    let Some(found) = packages(tree).filter(|found| found.members.len() >= FEW) else {
        return;
    };
    let names = found.members.values().map(|one| as_part_of_name(&one.name));
    if names.collect::<BTreeSet<_>>().len() < found.members.len() {
        return;
    }
    let builds = checks.iter().filter(|check| check.is_build);
    let jobs = builds.filter_map(|check| check.found.job.clone());
    let built: BTreeSet<String> = jobs.collect();
    let mut all: BTreeMap<CheckKey, (BTreeSet<&RepoPath>, BTreeSet<usize>)> = BTreeMap::new();
    for (at, check) in checks.iter().enumerate() {
        let job = check.found.job.as_ref();
        let is_behind = job.is_some_and(|job| built.contains(job));
        if is_behind || !matches!(check.condition, ProposedCondition::Set(_)) {
            continue;
        }
        for (folder, member) in &found.members {
            if let Some(key) = template(check, folder, &member.name) {
                let (folders, places) = all.entry(key).or_default();
                folders.insert(folder);
                places.insert(at);
            }
        }
    }
    all.retain(|_, (folders, _)| folders.len() == found.members.len());
    for (mut key, (_, places)) in all {
        let own = checks.iter_mut().enumerate();
        let own = own
            .filter(|(at, _)| places.contains(at))
            .map(|(_, check)| check);
        let own: Vec<&mut ProposedCheck> = own.collect();
        let is_uncounted = own.iter().any(|one| one.is_uncounted);
        let Some(first) = own.first() else { continue };
        let name = format!("{}-{NAME}", first.name);
        key.tool.clone_from(&first.key.tool);
        for check in own {
            let note = format!("each of {} packages", found.members.len());
            check.is_uncounted = is_uncounted;
            check.name.clone_from(&name);
            check.key.clone_from(&key);
            check.condition = ProposedCondition::Package;
            check.notes.push(note);
            check.found.words.clone_from(&key.operands);
            check.found.dir.clone_from(&key.dir);
        }
    }
}

/// Whether a task starts those of all packages.
pub fn is_whole(task: &Task) -> bool {
    let texts = task.commands.iter();
    let mut words = texts.flat_map(|(_, text)| text.split_whitespace());
    words.any(|word| has_word(WHOLE, word.split('=').next().unwrap_or_default()))
}

/// The globs of the files that are in no package, prose left out.
pub fn shared(tree: &RepositoryTree, checks: &[ProposedCheck]) -> Vec<String> {
    let folders = folders(tree);
    let mut by_parent: BTreeMap<RepoPath, BTreeSet<&RepoPath>> = BTreeMap::new();
    for folder in folders.iter().filter(|folder| !folder.is_root()) {
        by_parent.entry(folder.folder()).or_default().insert(folder);
    }
    let glob = |folder: &RepoPath, rest| format!("!{}/{rest}", escape(&folder.to_string()));
    let mut out = conditions::globs("code", tree, checks);
    for (parent, own) in by_parent {
        let is_own = |file: &RepoPath| own.iter().any(|folder| file.below(folder).is_some());
        let is_deep = |rest: &[u8]| rest.contains(&b'/');
        let deep = |file: &&RepoPath| file.below(&parent).is_some_and(is_deep);
        let is_all = !parent.is_root() && own.len() > 1;
        match is_all && tree.files.iter().filter(deep).all(is_own) {
            true => out.push(glob(&parent, "*/**")),
            false => out.extend(own.iter().map(|folder| glob(folder, "**"))),
        }
    }
    out
}
