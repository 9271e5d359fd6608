//! Finds the folders that contracts ask for, and lowers the files with them.

use crate::packages::{self, ListError, Manifests, files_here};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::folders::{EachQuestion, FolderAnswers, FolderQuery};
use vplan_base::nearest::nearest;
use vplan_base::path::RepoPath;
use vplan_base::source::Sources;
use vplan_base::span::{Place, SourceId};
use vplan_base::word::visible;
use vplan_base::workspace::{FoundMembers, WorkspaceQuery};
use vplan_contract::draft::{Draft, Rows};
use vplan_contract::error::{EACH_EMPTY, EACH_MEMBER, EACH_WORKSPACE};
use vplan_front as front;
use vplan_front::workspace::{Workspace, WorkspaceFault, WorkspaceRemark};
use vplan_git::Git;
use vplan_git::object::Oid;
use vplan_os::files::beneath::{Beneath, DirectoryNames};

/// The files of the repository cannot be listed, so its folders are not known.
pub const FOLDERS: Code = Code("vplan::load::folders");

/// Maximum number of rounds for the questions of one file: an `each` inside another one has its
/// question only after the outer one is answered.
const ROUNDS: usize = 8;

/// The source of folder names.
#[derive(Clone, Copy, Debug, Default)]
pub enum FoldersOf<'a> {
    /// The work tree.
    #[default]
    WorkTree,
    /// This revision.
    Revision(&'a Oid),
    /// These paths alone. A folder then counts as having all files that a question requires.
    Paths(&'a [RepoPath]),
    /// The work tree, and more.
    And(ModifiedTree<'a>),
}

/// The folders of a tree, and modifications for an analysis.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModifiedTree<'a> {
    /// The revision that is the tree, if not the work tree.
    pub tree: Option<&'a Oid>,
    /// A commit whose folders are included.
    pub commit: Option<&'a Oid>,
    /// The name of a folder that is added to every answer.
    pub invented: Option<&'a str>,
    /// A folder that is not there, with all below it.
    pub without: Option<&'a RepoPath>,
}

impl ModifiedTree<'_> {
    /// Whether a folder is there, as far as one is taken out.
    fn has(&self, folder: &RepoPath) -> bool {
        let without = self.without;
        without.is_none_or(|out| folder != out && folder.below(out).is_none())
    }
}

/// The known folders of a repository.
pub struct Folders<'a> {
    root: &'a Path,
    /// Git, if it can be called.
    git: Option<&'a Git>,
    of: FoldersOf<'a>,
    /// The base of the change, if it is known; HEAD otherwise.
    base: Option<&'a Oid>,
    known: FolderAnswers,
    files: Option<Result<Vec<RepoPath>, ListError>>,
    /// The files of commits, after the first query for each.
    commits: BTreeMap<String, Result<Vec<RepoPath>, ListError>>,
    /// The files that git tracks, after the first query.
    indexed: Option<Result<Vec<RepoPath>, ListError>>,
    /// The manifests of the work tree, after the first query.
    manifests: Option<Result<Manifests<'a>, ListError>>,
    /// The rows that each file has made.
    rows: BTreeMap<SourceId, Rows>,
    /// Whether a message already reported that the files cannot be listed.
    told: bool,
}

impl<'a> Folders<'a> {
    pub fn new(
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
            commits: BTreeMap::new(),
            indexed: None,
            manifests: None,
            rows: BTreeMap::new(),
            told: false,
        }
    }

    /// Lowers a file that is used for this directory, with its folders.
    pub fn lower(
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
            let open: Vec<(EachQuestion, Place)> =
                open.map(|(query, place)| (query.clone(), *place)).collect();
            if open.is_empty() {
                sink.append(found);
                self.report_empty(&draft, sink);
                if !draft.asked.is_empty() {
                    self.rows.insert(id, draft.rows.clone());
                }
                return draft;
            }
            for (asked, place) in open {
                let answer = match &asked {
                    EachQuestion::Folders(query) => self.answer(query, place, sink),
                    EachQuestion::Workspace(query) => self.packages(query, place, sink),
                };
                self.known.insert(asked, answer);
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
    ) -> FoundMembers {
        if let FoldersOf::Paths(paths) = self.of {
            // A folder may be named itself, too.
            let below = |path: &RepoPath| path.join(b"-").ok();
            let of = |path: &RepoPath| {
                (query.folder_of(path)).or_else(|| query.folder_of(&below(path)?))
            };
            return paths.iter().filter_map(of).collect();
        }
        let beside = self.modified_tree();
        let found = match beside.tree {
            Some(commit) => self.in_commit(commit, query),
            None => self.in_work_tree(query),
        };
        let also = match beside.commit {
            Some(commit) => self.in_commit(commit, query),
            None => Ok(BTreeSet::new()),
        };
        let invented = beside.invented.and_then(|name| {
            let names = vec![name.as_bytes(); query.stars()];
            query.folder(&names)
        });
        match found.and_then(|found| Ok((found, also?))) {
            Ok((found, also)) => {
                let all = found.into_iter().chain(also).chain(invented);
                all.filter(|folder| beside.has(folder)).collect()
            }
            Err(message) => {
                if !std::mem::replace(&mut self.told, true) {
                    let error = format!("the folders of the repository are not known: {message}");
                    sink.push(Diagnostic::error(FOLDERS, error).label(place, "asks for folders"));
                }
                FoundMembers::default()
            }
        }
    }

    /// Returns the tree to search, with its modifications.
    fn modified_tree(&self) -> ModifiedTree<'a> {
        match self.of {
            FoldersOf::Revision(commit) => ModifiedTree {
                tree: Some(commit),
                ..ModifiedTree::default()
            },
            FoldersOf::And(beside) => beside,
            FoldersOf::WorkTree | FoldersOf::Paths(_) => ModifiedTree::default(),
        }
    }

    /// The packages of a workspace. A test of the contract uses those of the work tree:
    /// dependencies are in their manifests.
    fn packages(
        &mut self,
        query: &WorkspaceQuery,
        place: Place,
        sink: &mut Diagnostics,
    ) -> FoundMembers {
        let beside = self.modified_tree();
        let read = match beside.tree {
            Some(commit) => packages::in_commit(self.git, commit, query),
            None => {
                let (root, git) = (self.root, self.git);
                let here = self
                    .manifests
                    .get_or_insert_with(|| Manifests::list(root, git));
                match here {
                    Ok(here) => here.read(query),
                    Err(e) => Err(WorkspaceFault::Broken(query.dir.clone(), e.to_string())),
                }
            }
        };
        let mut found = match read {
            Ok(Workspace { found, remarks, .. }) => {
                let remarks = remarks.iter().map(|remark| remarked(remark, place));
                remarks.for_each(|remark| sink.push(remark));
                found
            }
            // The plan reports the checks that went with it.
            Err(WorkspaceFault::None(_))
                if beside.commit.is_some() || beside.tree.is_none() && self.had_packages(query) =>
            {
                FoundMembers::default()
            }
            Err(fault) => {
                self.told = true;
                sink.push(faulty(query, fault, place));
                return FoundMembers::default();
            }
        };
        let at = |commit| packages::in_commit(self.git, commit, query);
        // Packages that used a package before the change are affected by it too.
        if let (FoldersOf::WorkTree, Some(base)) = (self.of, self.base)
            && let Ok(before) = at(base)
        {
            found.merge_uses(before.found);
        }
        if let Some(Ok(also)) = beside.commit.map(at) {
            found.merge(also.found);
        }
        if let Some(folder) = beside
            .invented
            .and_then(|name| query.dir.join(name.as_bytes()).ok())
        {
            let name = beside.invented.unwrap_or_default().to_owned();
            found.members.entry(folder).or_default().name = name;
        }
        found.members.retain(|folder, _| beside.has(folder));
        found
    }

    /// The commit that the change is compared with.
    fn before(&self) -> Option<Oid> {
        let head = || self.git?.head().ok().flatten();
        self.base.copied().or_else(head)
    }

    /// Whether that commit had packages of a workspace.
    fn had_packages(&self, query: &WorkspaceQuery) -> bool {
        let then = self.before();
        let then = then.map(|commit| packages::in_commit(self.git, &commit, query));
        then.is_some_and(|then| then.is_ok_and(|then| !then.found.members.is_empty()))
    }

    fn in_commit(
        &mut self,
        commit: &Oid,
        query: &FolderQuery,
    ) -> Result<BTreeSet<RepoPath>, ListError> {
        let git = self.git;
        let files = self.commits.entry(commit.to_string());
        let files = files.or_insert_with(|| files_of(git, commit));
        Ok(in_listing(query, files.as_ref().map_err(Clone::clone)?))
    }

    /// The folders of the work tree. Those with tracked files are known from the index, without
    /// scanning files. Untracked files are listed only if there is a folder without a tracked file.
    fn in_work_tree(&mut self, query: &FolderQuery) -> Result<BTreeSet<RepoPath>, ListError> {
        let beneath = Beneath::open(self.root)?;
        let mut names = DirectoryNames::default();
        let mut open: BTreeSet<RepoPath> = query.on_disk(|dir| {
            let folders = beneath.list(dir).into_iter();
            let folders = folders.filter(|(_, kind)| kind.is_dir());
            folders.map(|(name, _)| name).collect()
        });
        open.retain(|folder| {
            let mut with = query.with().iter();
            with.all(|file| {
                let path = folder.join(file.as_bytes());
                path.is_ok_and(|path| beneath.exists(&path, &mut names))
            })
        });
        let mut found = BTreeSet::new();
        // The index may list files that no longer exist.
        let mut settle = |open: &mut BTreeSet<RepoPath>, files: &[RepoPath]| {
            for file in files {
                if let Some(folder) = query.folder_of(file)
                    && open.contains(&folder)
                    && beneath.exists(file, &mut names)
                {
                    open.remove(&folder);
                    found.insert(folder);
                }
            }
        };
        if let Some(git) = self.git {
            let indexed = self.indexed.get_or_insert_with(|| Ok(git.files_indexed()?));
            settle(&mut open, indexed.as_ref().map_err(Clone::clone)?);
        }
        if !open.is_empty() {
            let (root, git) = (self.root, self.git);
            let files = self.files.get_or_insert_with(|| files_here(root, git));
            settle(&mut open, files.as_ref().map_err(Clone::clone)?);
        }
        Ok(found)
    }

    /// Reports questions that no folder answers, unless the base had some. In that case the plan
    /// reports the checks that went with them.
    fn report_empty(&mut self, draft: &Draft, sink: &mut Diagnostics) {
        if self.told || matches!(self.of, FoldersOf::Paths(_)) {
            return;
        }
        for (asked, place) in &draft.asked {
            let found = draft.folders.get(asked);
            if found.is_none_or(|found| !found.members.is_empty()) {
                continue;
            }
            let (message, help) = match asked {
                EachQuestion::Folders(query) if !self.had(query) => self.no_folder(query),
                EachQuestion::Workspace(query) if !self.had_packages(query) => {
                    let shown = visible(query.to_word());
                    let help = "a package counts when its manifest is tracked, or neither tracked nor ignored";
                    (
                        format!("the workspace `{shown}` has no packages"),
                        help.to_owned(),
                    )
                }
                EachQuestion::Folders(_) | EachQuestion::Workspace(_) => continue,
            };
            let error = Diagnostic::error(EACH_EMPTY, message)
                .label(*place, "an `each` of nothing verifies nothing");
            sink.push(error.help(help));
        }
    }

    fn no_folder(&self, query: &FolderQuery) -> (String, String) {
        let shown = visible(query.to_word());
        let (glob, with) = shown.split_once("//").unwrap_or((&shown, ""));
        let with = with.replace("//", "`, `");
        let message = match with.is_empty() {
            true => format!("no folder is `{glob}`"),
            false => format!("no folder is `{glob}` with `{with}`"),
        };
        let help = match self.near(query) {
            Some(near) => format!("did you mean the folder `{near}`?"),
            None => "a folder counts when a file in it is tracked, or neither tracked nor ignored"
                .to_owned(),
        };
        (message, help)
    }

    /// Whether the base commit had such a folder.
    fn had(&self, query: &FolderQuery) -> bool {
        let files = self.before().map(|commit| files_of(self.git, &commit));
        files.is_some_and(|files| files.is_ok_and(|files| !in_listing(query, &files).is_empty()))
    }

    /// The folder that may be meant by the first name that no folder has.
    fn near(&self, query: &FolderQuery) -> Option<String> {
        let files = match &self.files {
            Some(Ok(files)) => files.clone(),
            _ => files_here(self.root, self.git).ok()?,
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

/// Lists the files of a commit.
fn files_of(git: Option<&Git>, commit: &Oid) -> Result<Vec<RepoPath>, ListError> {
    Ok(git.ok_or(ListError::NoGit)?.names_at(commit)?)
}

/// The folders of a list of files that is whole.
pub(crate) fn in_listing(query: &FolderQuery, files: &[RepoPath]) -> BTreeSet<RepoPath> {
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

/// Returns the folders of a commit that a contract asks for.
///
/// # Errors
/// The commit cannot be listed.
pub fn folders_at(
    git: Option<&Git>,
    commit: &Oid,
    asked: &FolderAnswers,
) -> Result<FolderAnswers, ListError> {
    let files = files_of(git, commit)?;
    let answer = |asked: &EachQuestion| {
        let found = match asked {
            EachQuestion::Folders(query) => in_listing(query, &files).into_iter().collect(),
            EachQuestion::Workspace(query) => {
                let then = packages::in_commit(git, commit, query);
                then.map_or_else(|_| FoundMembers::default(), |then| then.found)
            }
        };
        (asked.clone(), found)
    };
    Ok(asked.keys().map(answer).collect())
}

/// Explains why the packages of a workspace are not known, and what to do.
fn faulty(query: &WorkspaceQuery, fault: WorkspaceFault, place: Place) -> Diagnostic {
    let (message, help) = match fault {
        WorkspaceFault::None(near) => {
            let shown = visible(query.to_word());
            let help = match near {
                Some(near) => format!("write `in-workspace \"{near}\"` for the one that is there"),
                None => "a workspace is declared by `workspaces` of a package.json, pnpm-workspace.yaml, go.work, `[workspace]` of a Cargo.toml or `[tool.uv.workspace]` of a pyproject.toml; write `in-folders` for folders without one".to_owned(),
            };
            (format!("no workspace is declared in `{shown}`"), help)
        }
        WorkspaceFault::Several(manifests) => {
            let named: Vec<String> = manifests.iter().map(|m| format!("`{m}`")).collect();
            let first = manifests
                .first()
                .map(ToString::to_string)
                .unwrap_or_default();
            let message = format!("several workspaces are declared: {}", named.join(", "));
            (
                message,
                format!("say which one: `in-workspace \"{first}\"`"),
            )
        }
        WorkspaceFault::Broken(file, reason) => {
            let message = format!("the packages are not known: `{file}`: {reason}");
            (
                message,
                "mend the file, or write the packages out: `each pkg in a b {`".to_owned(),
            )
        }
    };
    Diagnostic::error(EACH_WORKSPACE, message)
        .label(place, "asks for packages")
        .help(help)
}

fn remarked(remark: &WorkspaceRemark, place: Place) -> Diagnostic {
    let message = format!("`{}`: {}", remark.file, remark.message);
    Diagnostic::warning(EACH_MEMBER, message)
        .label(place, "of this workspace")
        .help(remark.help.clone())
}
