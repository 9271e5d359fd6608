//! What a check with `inputs` depends on that they do not select: files that it read, looked for or
//! listed.

use super::amendment::Amendment;
use super::context::{Context, Deeds, Finding, FindingKind, Severity};
use super::covering::{cover, ending, fewest, in_folder, is_narrow};
use super::observed::{ObservedCheck, Used};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::glob::{Glob, Selection, escape};
use vplan_base::path::RepoPath;
use vplan_base::setting::Row;
use vplan_check::confine::SandboxLevel;

/// A folder that was listed, and a glob for the files that may come into it.
type Listing<'a> = (&'a RepoPath, String);

/// The name of a file that no repository has, for the question whether a new file is selected.
const NEW_FILE: &str = "vplan-looks-for-new-files";

/// Finds what the `inputs` of a check lack.
pub(super) fn find(context: &Context<'_>, seen: &ObservedCheck<'_>) -> Option<Finding> {
    let inputs = seen.step.inputs.as_ref()?;
    let listed = seen.listed();
    let lacking = seen.files.iter();
    let lacking = lacking.filter(|(path, used)| lacks(context, seen, &listed, path, used));
    let files: Vec<&RepoPath> = lacking.map(|(path, _)| *path).collect();
    let listings = listings(context, seen, inputs);
    if files.is_empty() && listings.is_empty() {
        return None;
    }
    // What `!` excludes stays excluded, whatever is added.
    let is_taken = |path: &RepoPath| !inputs.excluding().any(|item| item.selects(path));
    let mut can_be_added = files.clone();
    can_be_added.retain(|path| is_taken(path));
    let mut new = listings.clone();
    new.retain(|(_, glob)| new_file(glob).is_some_and(|path| is_taken(&path)));
    let added = globs(context, seen, &can_be_added, &new);
    let can_mend = context.can_change(seen.check) && !added.is_empty();
    let amendment = can_mend.then_some(Amendment::Setting {
        check: seen.check,
        row: Row::Inputs,
        words: added,
        is_shown_only: false,
    });
    let globs = globs(context, seen, &files, &listings);
    let mut did: Vec<&RepoPath> = files;
    did.extend(listings.iter().map(|(dir, _)| *dir));
    let did: Deeds<'_> = seen.deeds(&did);
    let finding = context.finding(FindingKind::UndeclaredInput, seen.check, globs, &did);
    Some(finding.mended_by(context.contract, amendment))
}

/// Finds the missing files that a check looked for and that would not be its inputs if they
/// appeared. Most tools search many places, so this is only a warning.
pub(super) fn absent(context: &Context<'_>, seen: &ObservedCheck<'_>) -> Option<Finding> {
    seen.step.inputs.as_ref()?;
    let subject = context.subject;
    let is_absent = |path: &RepoPath, used: &Used<'_>| {
        let is_known = used.read || used.written || seen.is_declared(path);
        let is_of_git = context.is_tracked(path) || (subject.is_ignored)(path);
        used.missing && (subject.is_absent)(path) && !is_known && !is_of_git
    };
    let files = seen.files.iter();
    let files = files.filter(|(path, used)| is_absent(path, used));
    let files: Vec<&RepoPath> = files.map(|(path, _)| *path).collect();
    if files.is_empty() {
        return None;
    }
    let names = files.iter();
    let names = names.filter_map(|path| std::str::from_utf8(path.as_bytes()).ok());
    let globs = names.map(escape).collect();
    let did = seen.deeds(&files);
    let finding = context.finding(FindingKind::UndeclaredInput, seen.check, globs, &did);
    Some(Finding {
        severity: Severity::Warning,
        ..finding
    })
}

/// Returns globs for files and for the new files of folders, sorted.
fn globs(
    context: &Context<'_>,
    seen: &ObservedCheck<'_>,
    files: &[&RepoPath],
    listings: &[Listing<'_>],
) -> Vec<String> {
    let asked = files.iter().filter(|path| context.is_tracked(path));
    let mut used: Vec<&RepoPath> = seen.tracked.iter().chain(asked).copied().collect();
    used.sort_unstable();
    used.dedup();
    let mut globs = cover(files, &used, context.tracked(), &seen.listed());
    let read = globs.iter().filter_map(|text| Glob::parse(text).ok());
    let read: Vec<Glob> = read.collect();
    for (_, glob) in listings {
        let new = new_file(glob);
        let is_selected = |other: &Glob| new.as_ref().is_some_and(|path| other.matches(path));
        if !read.iter().any(is_selected) {
            globs.push(glob.clone());
        }
    }
    fewest(globs)
}

/// Whether a check depends on a file without declaring it. A lookup in a listed folder is covered
/// by the listing.
fn lacks(
    context: &Context<'_>,
    seen: &ObservedCheck<'_>,
    listed: &BTreeSet<&RepoPath>,
    path: &RepoPath,
    used: &Used<'_>,
) -> bool {
    if path.is_root() || seen.is_declared(path) {
        return false;
    }
    if context.is_tracked(path) {
        let is_sought = used.found && !listed.contains(&path.folder());
        return used.read || is_sought || used.missing;
    }
    // A folder that is there says nothing that the files in it do not say.
    let is_asked = used.read || used.missing && context.tracked().below(path) == 0;
    is_asked && (!context.is_ignored(path) || used.read && context.is_product(path, seen.check))
}

/// Returns the folders that a check listed where `inputs` would not select a new file that it may
/// then read, each with a glob for that. The root is listed by many programs that only want to know
/// where they are.
fn listings<'a>(
    context: &Context<'_>,
    seen: &ObservedCheck<'a>,
    inputs: &Selection,
) -> Vec<Listing<'a>> {
    let listed = seen.listed();
    let read = ReadFiles::new(seen);
    let folders = read.by_folder.iter();
    let folders = folders.filter(|(dir, _)| !dir.is_root() && listed.contains(dir));
    let kinds = folders.flat_map(|(_, files)| read.kinds(files).into_keys());
    let elsewhere: BTreeSet<Kind<'_>> = kinds.collect();
    let mut found = Vec::new();
    for dir in listed {
        if dir.is_root() || context.is_ignored(dir) || seen.is_declared(dir) {
            continue;
        }
        let globs: Vec<String> = match read.by_folder.get(dir) {
            Some(files) => {
                let kinds = read.kinds(files).into_iter();
                let kinds = kinds.filter(|(kind, read)| kind.is_narrow(context, dir, *read));
                kinds.filter_map(|(kind, _)| kind.glob(dir)).collect()
            }
            None if inputs.may_hold(dir) => Vec::new(),
            None if elsewhere.is_empty() => in_folder(dir, "*").into_iter().collect(),
            None => {
                let new = elsewhere.iter().filter(|kind| kind.is_new(context, dir));
                new.filter_map(|kind| kind.glob(dir)).collect()
            }
        };
        let is_lacking =
            |glob: &String| !new_file(glob).is_some_and(|path| seen.is_declared(&path));
        found.extend(globs.into_iter().filter(is_lacking).map(|glob| (dir, glob)));
    }
    found.extend(hidden(context, seen, inputs));
    found
}

/// Returns the folders that did not exist for a check that is sealed, because nothing in them is declared,
/// and that it looked for.
fn hidden<'a>(
    context: &Context<'_>,
    seen: &ObservedCheck<'a>,
    inputs: &Selection,
) -> Vec<Listing<'a>> {
    let is_hidden = |path: &RepoPath, used: &Used<'_>| {
        let is_there = !context.is_tracked(path) && context.tracked().below(path) > 0;
        used.missing && is_there && !inputs.may_hold(path) && !seen.is_declared(path)
    };
    let files = seen.files.iter();
    let files = files.filter(|_| seen.step.sandbox == SandboxLevel::Sealed);
    let files = files.filter(|(path, used)| is_hidden(path, used));
    let listing = |(path, _): (&&'a RepoPath, _)| Some((*path, in_folder(path, "**")?));
    files.filter_map(listing).collect()
}

/// What the files of a folder that a check read have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind<'a> {
    Ending(&'a str),
    /// Their name: files of this name are read in several folders, and no others of its ending here.
    Name(&'a str),
}

impl Kind<'_> {
    /// Returns the glob for the files of this kind in a folder.
    fn glob(self, dir: &RepoPath) -> Option<String> {
        match self {
            Kind::Ending(ending) => in_folder(dir, &format!("*.{}", escape(ending))),
            Kind::Name(name) => in_folder(dir, &escape(name)),
        }
    }

    /// Whether its glob selects few enough files of a folder that were not read.
    fn is_narrow(self, context: &Context<'_>, dir: &RepoPath, read: usize) -> bool {
        match self {
            Kind::Ending(ending) => {
                let tracked = context.tracked().directly_in(dir, Some(ending));
                is_narrow(tracked, read, 0, true)
            }
            Kind::Name(_) => true,
        }
    }

    /// Whether a folder has no tracked file of this kind.
    fn is_new(self, context: &Context<'_>, dir: &RepoPath) -> bool {
        match self {
            Kind::Ending(ending) => context.tracked().directly_in(dir, Some(ending)) == 0,
            Kind::Name(name) => {
                let path = [dir.as_bytes(), b"/", name.as_bytes()].concat();
                RepoPath::from_exact(&path).is_some_and(|path| !context.is_tracked(&path))
            }
        }
    }
}

/// The tracked files with an ending that a check read.
struct ReadFiles<'a> {
    by_folder: BTreeMap<RepoPath, Vec<&'a RepoPath>>,
    /// In how many folders a file of a name was read.
    folders: BTreeMap<&'a [u8], usize>,
}

impl<'a> ReadFiles<'a> {
    fn new(seen: &ObservedCheck<'a>) -> Self {
        let mut by_folder: BTreeMap<_, Vec<&RepoPath>> = BTreeMap::new();
        let mut folders = BTreeMap::new();
        for path in seen.tracked.iter().filter(|path| ending(path).is_some()) {
            by_folder.entry(path.folder()).or_default().push(*path);
            *folders.entry(path.name()).or_default() += 1;
        }
        Self { by_folder, folders }
    }

    /// Returns the kinds of some files of one folder, with the number of each.
    fn kinds(&self, files: &[&'a RepoPath]) -> BTreeMap<Kind<'a>, usize> {
        let mut by_ending: BTreeMap<&str, Vec<&RepoPath>> = BTreeMap::new();
        for path in files {
            if let Some(ending) = ending(path) {
                by_ending.entry(ending).or_default().push(path);
            }
        }
        let kind = |(ending, files): (&'a str, Vec<&'a RepoPath>)| {
            let count = files.len();
            let only = files.first().filter(|_| count == 1);
            let named = only.filter(|path| self.folders.get(path.name()).is_some_and(|n| *n > 1));
            let name = named.and_then(|path| std::str::from_utf8(path.name()).ok());
            (name.map_or(Kind::Ending(ending), Kind::Name), count)
        };
        by_ending.into_iter().map(kind).collect()
    }
}

/// Returns a path that no repository has, and that a glob that ends with `*` or `*.ENDING` selects.
fn new_file(glob: &str) -> Option<RepoPath> {
    let (dir, name) = glob.rsplit_once('/')?;
    let examples = Glob::parse(dir).ok()?.examples(&[]);
    let name = name.replacen('*', NEW_FILE, 1);
    let name = Glob::parse(&name).ok()?.examples(&[]);
    let path = format!("{}/{}", examples.first()?, name.first()?);
    RepoPath::from_exact(path.as_bytes())
}
