//! Verifies the staged files instead of the work tree. If they differ, the run uses a view of the
//! repository: the index's content, with links to the folders that the contract names in `linked`.

use crate::{
    Caveat, ChangeSet, Code, Effect, Engine, Failure, Git, GitError, Plan, RepoPath, Session, Site,
    first_of,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use vplan_contract::Test;
use vplan_git::mended::MendError;
use vplan_git::skipped::HiddenBy;
use vplan_os::files;
use vplan_os::view::{self, View, ViewError};
use vplan_plan::caveat::FILES_SHOWN;
use vplan_plan::focus::{Focus, Interest};
use vplan_plan::request::ChangedIn;

/// The code of the failure that [`in_view`] answers.
const DIFFERS: &str = "vplan::staged::differs";
/// The failed operation if this process was not replaced.
const AGAIN: &str = "vplan cannot be executed again";
/// Maximum number of files that a message names.
const NAMED: usize = 3;

/// Compares the work tree with the index, for a plan of staged files. Returns caveats about a view,
/// and about hidden files that a view keeps.
///
/// # Errors
/// They differ in a file that matters, or the index has conflicts.
pub(super) fn agree(session: &Session, plan: &Plan) -> Result<Vec<Caveat>, Failure> {
    let git = match (session.request.changed_in, session.git()) {
        (Some(ChangedIn::Index), Some(git)) => git,
        _ => return Ok(Vec::new()),
    };
    let apart = git.apart_from_index(&session.request.changed)?;
    if !apart.conflicts.is_empty() {
        return Err(conflicts(&apart.conflicts));
    }
    let hidden = apart.hidden.iter();
    let hidden = hidden.filter(|(_, by)| **by == HiddenBy::Repository);
    let untracked = apart.untracked.iter().chain(hidden.map(|(path, _)| path));
    let is_view = view::is_inside(&session.site.root);
    // Untracked files left in a view are vplan's own.
    let least = match is_view {
        true => Interest::Selected,
        false => Interest::Everything,
    };
    let foci = plan
        .steps
        .iter()
        .map(|step| Focus::new(session.contract(), step));
    let foci: Vec<Focus<'_>> = foci.collect();
    let untracked = untracked.filter(|path| matters(session, &foci, path, least));
    let mut differing: Vec<RepoPath> = untracked.chain(apart.tracked()).cloned().collect();
    if differing.is_empty() {
        let (effect, message) = if session.site.is_checkout() {
            let message = "the index was verified in a checkout, without the ignored folders that `linked` does not name; what names the repository by its whole path (editable installs, generated settings) reads the work tree; what the checks wrote is not kept";
            (Effect::Narrows, message)
        } else {
            let message = "the index was verified apart from the work tree, which differs from it; what the checks wrote is not kept";
            (Effect::Note, message)
        };
        let hidden = session.with_records(apart.hidden.clone());
        let mut caveats = session.hidden_from(&hidden, plan.steps.iter());
        caveats.extend(is_view.then(|| Caveat::new(Code::IndexView, effect, message)));
        return Ok(caveats);
    }
    differing.sort();
    let files = format_files(&differing);
    if is_view {
        let message = format!("the content that is staged cannot be written out: {files}");
        return Err(Failure::setup("vplan::staged::unwritable", message)
            .help("submodules and filters of the configuration are left alone: bring the work tree in line with the index"));
    }
    let message = format!("what is staged is not what is in the work tree: {files}");
    Err(Failure::setup(DIFFERS, message)
        .help("`vplan run --staged` verifies it apart from the work tree"))
}

/// Refuses staged files with unstaged changes, and requests a view of the index ([`in_view`]).
///
/// # Errors
/// Always: a file that is named, conflicts, or that there is no view yet.
pub(super) fn only_in_a_view(session: &Session) -> Failure {
    let Some(git) = session.git() else {
        return Failure::internal("what is staged is known, and there is no git");
    };
    let apart = match git.apart_from_index(&session.request.changed) {
        Ok(apart) => apart,
        Err(error) => return error.into(),
    };
    let all = apart.tracked().chain(&apart.untracked);
    let both = all.filter(|path| session.request.changed.contains(path));
    let mut both: Vec<RepoPath> = both.cloned().collect();
    both.sort();
    if !apart.conflicts.is_empty() {
        return conflicts(&apart.conflicts);
    }
    if !both.is_empty() {
        let files = format_files(&both);
        let message = format!("staged files have changes that are not staged: {files}");
        return Failure::usage("vplan::fix::unstaged", message)
            .help("`git add` these changes too, or put them aside: a fix would mix them with what is staged");
    }
    Failure::setup(DIFFERS, "a fix works on what is staged in a view")
}

fn conflicts(files: &[RepoPath]) -> Failure {
    let message = format!("the index has conflicts in {}", format_files(files));
    Failure::usage("vplan::staged::conflicts", message).help("resolve them and `git add` the files")
}

/// Completes the changes of the index and the work tree that a killed `vplan fix --staged` had
/// begun.
///
/// # Errors
/// It cannot be completed.
pub(super) fn complete(engine: &Engine<'_>, site: &Site) -> Result<(), Failure> {
    let git = site.git.as_ref().ok();
    let git = git.filter(|_| !view::is_inside(&site.root));
    let done = git.map_or(Ok(false), Git::complete_mended);
    if done.map_err(|e| not_brought_in(&e))? {
        let note =
            "what an earlier `vplan fix --staged` had mended when it was killed is staged now";
        engine.observer.note(note);
    }
    Ok(())
}

/// Makes the failure for fixes that could not be applied.
pub(super) fn not_brought_in(error: &MendError) -> Failure {
    let message = format!("nothing of what was mended is staged: {error}");
    match error {
        MendError::Differs(_) => Failure::usage("vplan::fix::differs", message)
            .help("`vplan fix` without `--staged` mends the work tree; what git converts on its way there is mended only so"),
        MendError::Busy => Failure::setup("vplan::fix::busy", message)
            .help("try again when it is done"),
        MendError::Git(_) => Failure::setup("vplan::fix::index", message),
    }
}

/// Whether an untracked file may influence the verdict: a condition of the contract selects it, or
/// a planned step has at least this interest in it.
fn matters(session: &Session, foci: &[Focus<'_>], path: &RepoPath, least: Interest) -> bool {
    let by_condition = |test: &Test| match test {
        Test::Role(_) => false,
        Test::ChangedAny(all)
        | Test::ChangedAll(all)
        | Test::ChangedOnly(all)
        | Test::ChangedNone(all) => all.selects(path),
        Test::Exists(all) | Test::ExistsAny(all) | Test::Absent(all) => {
            all.iter().any(|sought| sought.is_about(path))
        }
    };
    let contract = session.contract();
    // A file that the commit would remove is there for no check.
    let is_removed = session.request.changed.contains(path);
    is_removed
        || contract.is_some_and(|c| c.conditions.iter().any(|c| by_condition(&c.test)))
        || foci.iter().any(|focus| focus.interest(path) >= Some(least))
}

/// Returns the caveat of checks that changed tracked files, as they may or not.
pub(super) fn index_differs(wrote: &[RepoPath]) -> Caveat {
    let message = "checks changed files: what was verified is not what is staged";
    Caveat::new(Code::IndexDiffers, Effect::Incomplete, message)
        .with_files(wrote.to_vec())
        .way_out("let them run in the work tree, `git add` what they wrote, and run again")
}

/// Handles the failure that staged files differ from the work tree: replaces this process by a
/// vplan in a view, or in a checkout if the system has no overlay. Returns every other failure, and
/// the reason if neither is possible. `records`: the directory of run records, if it is not
/// `.vplan`.
pub fn in_view(engine: &Engine<'_>, records: Option<&Path>, failure: Failure) -> Failure {
    if failure.code != DIFFERS {
        return failure;
    }
    let apart = || {
        let site = engine.locate()?;
        let (state, kept) = places(engine, &site, records)?;
        match view::attempt(&site.root, &state, &kept) {
            Ok(()) => Ok(no_view(&ViewError::refused(AGAIN, view::start()))),
            Err(refused) => {
                tracing::debug!(%refused, "no overlay");
                checked_out(engine, &site, &state)
            }
        }
    };
    apart().unwrap_or_else(|failure| failure)
}

/// Makes the view of the repository, writes the index's content into it, and executes vplan there.
/// Returns only on failure, with the reason. `records`: the directory of run records, if it is not
/// `.vplan`.
pub fn enter(engine: &Engine<'_>, records: Option<&Path>) -> Failure {
    let enter = || {
        view::separate().map_err(|e| no_view(&e))?;
        let site = engine.locate()?;
        let (state, kept) = places(engine, &site, records)?;
        let view = View::make(&site.root, &state, &kept).map_err(|e| no_view(&e))?;
        if let Err(error) = engine.locate().and_then(|site| write(site, &kept)) {
            view.discard();
            return Err(error);
        }
        Ok(no_view(&ViewError::refused(AGAIN, view.execute())))
    };
    enter().unwrap_or_else(|failure| failure)
}

/// Returns the state directory, and the places that a view of the repository does not hide.
fn places(
    engine: &Engine<'_>,
    site: &Site,
    records: Option<&Path>,
) -> Result<(PathBuf, Vec<PathBuf>), Failure> {
    let no_folder = |e| no_view(&ViewError::refused("no folder for what is kept", e));
    let state = std::path::absolute(engine.state_base()?).map_err(no_folder)?;
    let kept = kept(site, &[Some(&state), engine.cache_dir, records]).map_err(no_folder)?;
    Ok((state, kept))
}

/// Makes a checkout of the index, and becomes a vplan that runs in it. Returns why that failed.
fn checked_out(engine: &Engine<'_>, site: &Site, state: &Path) -> Result<Failure, Failure> {
    let view = View::create(&site.root, state).map_err(|e| no_view(&e))?;
    let make = || {
        let tree = view.tree();
        let index = engine.locate()?.at_index();
        let git = index.git?;
        let refused =
            |e: GitError| no_view(&ViewError::refused("no checkout", std::io::Error::other(e)));
        git.check_out(&tree, &view.git_dir()).map_err(refused)?;
        let copy = Engine {
            directory: &tree,
            ..*engine
        };
        write(copy.locate()?, &[])?;
        let is_there = copy.locate()?;
        let contract = copy.load_contract(&is_there)?.contract;
        let linked = contract.map(|c| c.linked).unwrap_or_default();
        link(site, &is_there, &linked)
    };
    match make() {
        Ok(()) => Ok(no_view(&ViewError::refused(AGAIN, view.execute()))),
        Err(error) => {
            view.discard();
            Err(error)
        }
    }
}

/// Writes the index's content into the view. Repeats that if it brings other ignore rules, which
/// hid files from the first comparison.
fn write(site: Site, kept: &[PathBuf]) -> Result<(), Failure> {
    let git = site.at_index().git?;
    let changed = ChangeSet::new(git.staged(git.head()?.as_ref())?);
    for _ in 0..2 {
        let apart = git.apart_from_index(&changed)?;
        git.write_index(&apart, kept)?;
    }
    Ok(())
}

/// Returns the folders inside the repository that a view does not replace: vplan's and git's.
fn kept(site: &Site, places: &[Option<&Path>]) -> std::io::Result<Vec<PathBuf>> {
    let mut kept = vec![site.root.join(".vplan")];
    let places = places.iter().flatten();
    let places = places.filter_map(|path| std::path::absolute(path).ok());
    kept.extend(places.filter(|path| path.starts_with(&site.root)));
    for path in &kept {
        std::fs::create_dir_all(path)?;
    }
    let git = site.root.join(".git");
    kept.extend(git.symlink_metadata()?.is_dir().then_some(git));
    Ok(kept)
}

/// If this process runs in a view, removes its written files, as the last step.
pub fn leave(engine: &Engine<'_>) {
    if let Ok(state) = engine.state_base()
        && let Ok(state) = std::path::absolute(state)
    {
        view::leave(&state);
    }
}

/// Makes the failure of a process that cannot enter its checkout.
pub fn no_checkout(error: &std::io::Error) -> Failure {
    no_view(&ViewError::refused("the checkout", error.kind()))
}

fn no_view(error: &ViewError) -> Failure {
    let message = format!("what is staged cannot be verified apart from the work tree: {error}");
    Failure::setup("vplan::staged::view", message).help(
        "stage or stash the rest, so that the work tree is what is staged; or let this user make namespaces and overlays",
    )
}

fn format_files(files: &[RepoPath]) -> String {
    first_of(files.iter().map(|file| format!("`{file}`")), NAMED)
}

const CODE: &str = "vplan::staged::linked";

/// Makes the folders in the checkout, with a link for each entry of the repository's own folder. A
/// single link would not do: ignore rules for folders match only real folders. A missing folder is
/// skipped.
///
/// # Errors
/// A folder with tracked files, one that git does not ignore, or one that cannot be made: exit 3.
pub(super) fn link(site: &Site, copy: &Site, folders: &[RepoPath]) -> Result<(), Failure> {
    let refused = |folder: &RepoPath, why: &str| {
        let message = format!("`linked \"{folder}\"` cannot be made in the checkout: {why}");
        let help = "`linked` is for folders that git ignores and that have no tracked files, such as `node_modules`";
        Failure::contract(CODE, message).help(help)
    };
    let is_there = |folder: &&RepoPath| site.root.join(folder.to_os()).is_dir();
    let there: Vec<&RepoPath> = folders.iter().filter(is_there).collect();
    for folder in &there {
        (make_room(&copy.root, folder)
            .and_then(|()| Mirror::new(site, copy, folder)?.make(folder)))
        .map_err(|e| refused(folder, &e.to_string()))?;
    }
    let (false, Ok(git)) = (there.is_empty(), &copy.git) else {
        return Ok(());
    };
    let apart = git.apart_from_index(&ChangeSet::default())?;
    let is_seen = |folder: &&&RepoPath| {
        let mut untracked = apart.untracked.iter();
        untracked.any(|path| path.below(folder).is_some())
    };
    match there.iter().find(is_seen) {
        Some(folder) => Err(refused(folder, "git does not ignore it")),
        None => Ok(()),
    }
}

/// Checks that a folder can be made in the checkout, and makes those above it.
fn make_room(root: &Path, folder: &RepoPath) -> io::Result<()> {
    let place = root.join(folder.to_os());
    if place.symlink_metadata().is_ok() {
        return Err(io::Error::other("it has tracked files"));
    }
    let mut above = place.ancestors().skip(1).take_while(|dir| *dir != root);
    // A tracked link may lead out of the checkout.
    if above.any(Path::is_symlink) {
        return Err(io::Error::other("a link is above it"));
    }
    place.parent().map_or(Ok(()), std::fs::create_dir_all)
}

/// A folder of the repository that is made again in the checkout.
struct Mirror<'a> {
    home: &'a Path,
    tree: &'a Path,
    /// Folders that are made instead of linked, because links in them lead to other files of the
    /// repository, which the checkout has itself: packages of one workspace.
    made: BTreeSet<RepoPath>,
}

impl<'a> Mirror<'a> {
    fn new(site: &'a Site, copy: &'a Site, folder: &RepoPath) -> io::Result<Self> {
        let (home, tree) = (site.root.as_path(), copy.root.as_path());
        let own = home.join(folder.to_os()).canonicalize()?;
        let leads_out = |path: &&RepoPath| {
            let path = home.join(path.to_os());
            let is_out = |end: PathBuf| end.starts_with(home) && !end.starts_with(&own);
            path.is_symlink() && path.canonicalize().is_ok_and(is_out)
        };
        let found = files::walk(home, folder)?;
        let made = found.iter().filter(leads_out).flat_map(RepoPath::ancestors);
        let made = made.chain([folder.clone()]).collect();
        Ok(Self { home, tree, made })
    }

    fn make(&self, folder: &RepoPath) -> io::Result<()> {
        let place = self.tree.join(folder.to_os());
        std::fs::create_dir(&place)?;
        for entry in std::fs::read_dir(self.home.join(folder.to_os()))? {
            let entry = entry?;
            let path = (folder.join(entry.file_name().as_bytes()))
                .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            if entry.file_type()?.is_dir() && self.made.contains(&path) {
                self.make(&path)?;
            } else {
                let target = self.target(folder, &entry.path())?;
                symlink(target, place.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Returns the target of the link in place of an entry of a folder: the entry; of a link into
    /// the repository its counterpart in the checkout.
    fn target(&self, folder: &RepoPath, entry: &Path) -> io::Result<PathBuf> {
        if !entry.is_symlink() {
            return Ok(entry.to_owned());
        }
        let target = std::fs::read_link(entry)?;
        let below = match target.strip_prefix(self.home) {
            Ok(below) => RepoPath::parse(below.as_os_str().as_bytes()),
            Err(_) => folder.join(target.as_os_str().as_bytes()),
        };
        Ok(below.map_or(entry.to_owned(), |path| self.tree.join(path.to_os())))
    }
}

/// The files of the linked folders as they were before anything ran.
#[derive(Debug)]
pub(crate) struct Linked {
    home: PathBuf,
    folders: Vec<(RepoPath, Option<Stamps>)>,
}

/// The state of each file: it differs once the file was written or replaced.
type Stamps = BTreeMap<RepoPath, [[i64; 2]; 3]>;

impl Linked {
    /// Records the state of a contract's linked folders; `None` if nothing is linked.
    pub fn record(site: &Site, folders: &[RepoPath]) -> Option<Self> {
        let stamped = folders.iter().map(|f| (f.clone(), stamps(&site.home, f)));
        (site.is_checkout() && !folders.is_empty()).then(|| Self {
            home: site.home.clone(),
            folders: stamped.collect(),
        })
    }

    /// Returns the caveat about the files that changed since.
    pub fn changed(&self) -> Option<Caveat> {
        let mut changed = Vec::new();
        for (folder, before) in &self.folders {
            match (before, stamps(&self.home, folder)) {
                (Some(before), Some(after)) => {
                    let differs = |path: &&RepoPath| before.get(path) != after.get(path);
                    changed.extend(before.keys().chain(after.keys()).filter(differs).cloned());
                }
                (None, None) if !self.home.join(folder.to_os()).exists() => {}
                _ => changed.push(folder.clone()),
            }
        }
        changed.sort();
        changed.dedup();
        let message = "checks may have changed files of folders that the checkout has as links: they are the repository's own";
        let caveat = || Caveat::new(Code::LinkedChanged, Effect::Note, message);
        changed.truncate(FILES_SHOWN);
        (!changed.is_empty()).then(|| caveat().with_files(changed))
    }
}

/// Returns the state of all files of a folder; `None` if it cannot be determined.
fn stamps(home: &Path, folder: &RepoPath) -> Option<Stamps> {
    let stamp = |path: RepoPath| {
        let meta = home.join(path.to_os()).symlink_metadata().ok()?;
        let size = i64::try_from(meta.size()).ok()?;
        let [modified, changed] = [
            [meta.mtime(), meta.mtime_nsec()],
            [meta.ctime(), meta.ctime_nsec()],
        ];
        Some((path, [[meta.ino().cast_signed(), size], modified, changed]))
    };
    let found = files::walk(home, folder).ok()?;
    found.into_iter().map(stamp).collect()
}
