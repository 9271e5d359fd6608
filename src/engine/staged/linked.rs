//! Gives a checkout of what is staged the ignored folders that the contract names in `linked`, and
//! notices what was written through their links.

use crate::failure::{Failure, changes_unknown};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use vplan_base::change::ChangeSet;
use vplan_base::path::RepoPath;
use vplan_os::files;
use vplan_plan::caveat::{Caveat, Code, Effect, FILES_SHOWN};
use vplan_repo::changes::error::ChangeError;
use vplan_repo::load::Site;

const CODE: &str = "vplan::staged::linked";

/// Makes the folders in the checkout, with a link for each entry of the repository's own folder: a
/// folder is what ignore rules of folders hide. A folder that is not there is left out.
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
        (make_room(&copy.root, folder).and_then(|()| Mirror::of(site, copy, folder)?.make(folder)))
            .map_err(|e| refused(folder, &e.to_string()))?;
    }
    let (false, Ok(git)) = (there.is_empty(), &copy.git) else {
        return Ok(());
    };
    let apart = git
        .apart_from_index(&ChangeSet::default())
        .map_err(|e| changes_unknown(ChangeError::Git(e)))?;
    let is_seen = |folder: &&&RepoPath| {
        apart
            .untracked
            .iter()
            .any(|path| path.below(folder).is_some())
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
    /// The folders that are made and not linked, as links in them lead to other files of the
    /// repository, of which the checkout has its own: packages of one workspace.
    made: BTreeSet<RepoPath>,
}

impl<'a> Mirror<'a> {
    fn of(site: &'a Site, copy: &'a Site, folder: &RepoPath) -> io::Result<Self> {
        let (home, tree) = (site.root.as_path(), copy.root.as_path());
        let own = home.join(folder.to_os()).canonicalize()?;
        let leads_out = |path: &&RepoPath| {
            let path = home.join(path.to_os());
            let end = path
                .is_symlink()
                .then(|| path.canonicalize().ok())
                .flatten();
            end.is_some_and(|end| end.starts_with(home) && !end.starts_with(&own))
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
                symlink(
                    self.target(folder, &entry.path())?,
                    place.join(entry.file_name()),
                )?;
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
type Stamps = BTreeMap<RepoPath, [i64; 6]>;

impl Linked {
    /// Looks at the folders of a contract; `None` where nothing is linked.
    pub fn look(site: &Site, folders: &[RepoPath]) -> Option<Self> {
        (site.is_checkout() && !folders.is_empty()).then(|| Self {
            home: site.home.clone(),
            folders: folders
                .iter()
                .map(|folder| (folder.clone(), stamps(&site.home, folder)))
                .collect(),
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
        (!changed.is_empty()).then(|| caveat().about(changed))
    }
}

/// Returns the state of all files of a folder; `None` where that cannot be known.
fn stamps(home: &Path, folder: &RepoPath) -> Option<Stamps> {
    let stamp = |path: RepoPath| {
        let meta = home.join(path.to_os()).symlink_metadata().ok()?;
        let size = i64::try_from(meta.size()).ok()?;
        let times = (
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        );
        let inode = meta.ino().cast_signed();
        Some((path, [inode, size, times.0, times.1, times.2, times.3]))
    };
    let found = files::walk(home, folder).ok()?;
    found.into_iter().map(stamp).collect()
}
