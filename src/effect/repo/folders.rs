//! Finds the folders that contracts ask for, and lowers files with what is found.

use crate::base::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::base::folders::{FolderAnswers, FolderQuery};
use crate::base::nearest::nearest;
use crate::base::path::RepoPath;
use crate::base::source::Sources;
use crate::base::span::{Place, SourceId};
use crate::base::word::visible;
use crate::contract::draft::{Draft, Rows};
use crate::contract::error::EACH_EMPTY;
use crate::effect::git::Git;
use crate::effect::git::object::Oid;
use crate::effect::os::files::beneath::{Beneath, DirectoryNames};
use crate::effect::os::files::walk;
use crate::front;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The files of the repository cannot be listed, so that its folders are not known.
pub const FOLDERS: Code = Code("vplan::load::folders");

/// The most rounds in which the questions of one file are answered: an `each` inside another asks
/// when the outer one has its answer.
const ROUNDS: usize = 8;

/// Where folders are looked for.
#[derive(Clone, Copy, Debug, Default)]
pub enum FoldersOf<'a> {
    /// The work tree.
    #[default]
    WorkTree,
    /// This revision.
    Revision(&'a Oid),
    /// These paths alone; a folder then has all files that it is asked to have.
    Paths(&'a [RepoPath]),
    /// The work tree, or this revision, and these folders beside.
    And(Option<&'a Oid>, &'a FolderAnswers),
}

/// What is known of the folders of a repository.
pub(in crate::effect) struct Folders<'a> {
    root: &'a Path,
    /// Git, if it can be called.
    git: Option<&'a Git>,
    of: FoldersOf<'a>,
    /// What the change is compared with, where that is known; HEAD otherwise.
    base: Option<&'a Oid>,
    known: FolderAnswers,
    files: Option<Result<Vec<RepoPath>, String>>,
    /// The rows that each file has made.
    rows: BTreeMap<SourceId, Rows>,
    /// Whether a message said that the files cannot be listed.
    told: bool,
}

impl<'a> Folders<'a> {
    pub(in crate::effect) fn new(
        root: &'a Path,
        git: Option<&'a Git>,
        of: FoldersOf<'a>,
        base: Option<&'a Oid>,
    ) -> Self {
        Self {
            root,
            git,
            of,
            base,
            known: FolderAnswers::new(),
            files: None,
            rows: BTreeMap::new(),
            told: false,
        }
    }

    /// Lowers a file that is used for this directory, with the folders that it asks for.
    pub(in crate::effect) fn lower(
        &mut self,
        sources: &Sources,
        id: SourceId,
        dir: &RepoPath,
        sink: &mut Diagnostics,
    ) -> Draft {
        let rows = self.rows.get(&id).cloned().unwrap_or_default();
        for _ in 0..ROUNDS {
            let mut found = Diagnostics::default();
            let draft = front::lower_for(sources, id, dir, &self.known, rows.clone(), &mut found);
            let open = draft
                .asked
                .iter()
                .filter(|(query, _)| !self.known.contains_key(query));
            let open: Vec<(FolderQuery, Place)> =
                open.map(|(query, place)| (query.clone(), *place)).collect();
            if open.is_empty() {
                sink.append(found);
                self.report_empty(&draft, sink);
                if !draft.asked.is_empty() {
                    self.rows.insert(id, draft.rows.clone());
                }
                return draft;
            }
            for (query, place) in open {
                let answer = self.answer(&query, place, sink);
                self.known.insert(query, answer);
            }
        }
        // `each` blocks are not nested as deep.
        front::lower_for(sources, id, dir, &self.known, rows, sink)
    }

    fn answer(
        &mut self,
        query: &FolderQuery,
        place: Place,
        sink: &mut Diagnostics,
    ) -> BTreeSet<RepoPath> {
        if let FoldersOf::Paths(paths) = self.of {
            // A folder may be named itself, too.
            let below = |path: &RepoPath| path.join(b"-").ok();
            let of = |path: &RepoPath| {
                (query.folder_of(path)).or_else(|| query.folder_of(&below(path)?))
            };
            return paths.iter().filter_map(of).collect();
        }
        let (commit, beside) = match self.of {
            FoldersOf::Revision(commit) => (Some(commit), None),
            FoldersOf::And(commit, beside) => (commit, beside.get(query)),
            FoldersOf::WorkTree | FoldersOf::Paths(_) => (None, None),
        };
        let (root, git) = (self.root, self.git);
        let files = self.files.get_or_insert_with(|| match commit {
            Some(commit) => files_of(git, commit),
            None => files_here(root, git),
        });
        let found = match files {
            Ok(files) if commit.is_some() => in_listing(query, files),
            Ok(files) => in_work_tree(query, files, root),
            Err(message) => {
                if !std::mem::replace(&mut self.told, true) {
                    let error = format!("the folders of the repository are not known: {message}");
                    sink.push(Diagnostic::error(FOLDERS, error).label(place, "asks for folders"));
                }
                BTreeSet::new()
            }
        };
        found
            .into_iter()
            .chain(beside.into_iter().flatten().cloned())
            .collect()
    }

    /// Reports questions that no folder answers, unless the base had some: then their checks went
    /// with them, which is said with the plan.
    fn report_empty(&mut self, draft: &Draft, sink: &mut Diagnostics) {
        if self.told || matches!(self.of, FoldersOf::Paths(_)) {
            return;
        }
        for (query, place) in &draft.asked {
            if draft
                .folders
                .get(query)
                .is_none_or(|found| !found.is_empty())
                || self.had(query)
            {
                continue;
            }
            let shown = visible(query.to_word().as_bytes());
            let (glob, with) = shown.split_once("//").unwrap_or((&shown, ""));
            let with = with.replace("//", "`, `");
            let message = match with.is_empty() {
                true => format!("no folder is `{glob}`"),
                false => format!("no folder is `{glob}` with `{with}`"),
            };
            let error = Diagnostic::error(EACH_EMPTY, message)
                .label(*place, "an `each` of nothing verifies nothing");
            sink.push(match self.near(query) {
                Some(near) => error.help(format!("did you mean the folder `{near}`?")),
                None => error.help(
                    "a folder counts when a file in it is tracked, or neither tracked nor ignored",
                ),
            });
        }
    }

    /// Whether the commit that the change is compared with had such a folder.
    fn had(&self, query: &FolderQuery) -> bool {
        let head = self.git.and_then(|git| git.head().ok().flatten());
        let base = self.base.or(head.as_ref());
        let files = base.map(|commit| files_of(self.git, commit));
        files.is_some_and(|files| files.is_ok_and(|files| !in_listing(query, &files).is_empty()))
    }

    /// The folder that may be meant by the first name that no folder has.
    fn near(&self, query: &FolderQuery) -> Option<String> {
        let Some(Ok(files)) = &self.files else {
            return None;
        };
        let mut dir = RepoPath::root();
        for name in query.literal() {
            let below = |file: &RepoPath| {
                let rest = if dir.is_root() {
                    Some(file.as_bytes())
                } else {
                    file.below(&dir)
                };
                let name = rest?.split(|b| *b == b'/').next()?;
                (name.len() < rest?.len()).then(|| String::from_utf8(name.to_vec()).ok())?
            };
            let names: BTreeSet<String> = files.iter().filter_map(below).collect();
            let wanted = std::str::from_utf8(name).ok()?;
            if !names.contains(wanted) {
                let near = nearest(wanted, names.iter().map(String::as_str))?;
                return dir.join(near.as_bytes()).ok().map(|path| path.to_string());
            }
            dir = dir.join(name).ok()?;
        }
        None
    }
}

/// Lists the files of the work tree that git tracks, or neither tracks nor ignores; without git all.
fn files_here(root: &Path, git: Option<&Git>) -> Result<Vec<RepoPath>, String> {
    match git {
        Some(git) => git.files_present().map_err(|e| e.to_string()),
        None => walk(root, &RepoPath::root()).map_err(|e| e.to_string()),
    }
}

/// Lists the files of a commit.
fn files_of(git: Option<&Git>, commit: &Oid) -> Result<Vec<RepoPath>, String> {
    let git = git.ok_or("there is no git")?;
    git.names_at(commit).map_err(|e| e.to_string())
}

/// The folders of a list of files that is whole.
pub(in crate::effect) fn in_listing(query: &FolderQuery, files: &[RepoPath]) -> BTreeSet<RepoPath> {
    let found: BTreeSet<RepoPath> = files
        .iter()
        .filter_map(|file| query.folder_of(file))
        .collect();
    let has = |path: &RepoPath| files.binary_search(path).is_ok();
    let is_whole = |folder: &RepoPath| {
        let mut with = query.with().iter();
        with.all(|file| folder.join(file.as_bytes()).is_ok_and(|path| has(&path)))
    };
    found.into_iter().filter(is_whole).collect()
}

/// The folders of the work tree, by its files; the index may list some that are not there any more.
fn in_work_tree(query: &FolderQuery, files: &[RepoPath], root: &Path) -> BTreeSet<RepoPath> {
    let Ok(beneath) = Beneath::open(root) else {
        return BTreeSet::new();
    };
    let mut names = DirectoryNames::default();
    let mut found: BTreeSet<RepoPath> = BTreeSet::new();
    for file in files {
        if let Some(folder) = query.folder_of(file)
            && !found.contains(&folder)
            && beneath.exists(file, &mut names)
        {
            found.insert(folder);
        }
    }
    found.retain(|folder| {
        let mut with = query.with().iter();
        with.all(|file| {
            let path = folder.join(file.as_bytes());
            path.is_ok_and(|path| beneath.exists(&path, &mut names))
        })
    });
    found
}

/// The folders that a commit had, of those that a contract asks for.
///
/// # Errors
/// The commit cannot be listed.
pub fn folders_at(
    git: Option<&Git>,
    commit: &Oid,
    asked: &FolderAnswers,
) -> Result<FolderAnswers, String> {
    let files = files_of(git, commit)?;
    let answer = |query: &FolderQuery| (query.clone(), in_listing(query, &files));
    Ok(asked.keys().map(answer).collect())
}
