//! Gives a checkout of what is staged the ignored folders that the contract names in `linked`, and
//! notices what was written through their links.

use crate::base::change::ChangeSet;
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::effect::os::files;
use crate::effect::repo::changes::error::ChangeError;
use crate::effect::repo::load::Site;
use crate::engine::failure::{Failure, changes_unknown};
use crate::plan::caveat::{Caveat, Code, Effect, FILES_SHOWN};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

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
        Failure::new(Exit::Contract, CODE, message).help(help)
    };
    let is_there = |folder: &&RepoPath| site.root.join(folder.to_os()).is_dir();
    let there: Vec<&RepoPath> = folders.iter().filter(is_there).collect();
    for folder in &there {
        let own = site.root.join(folder.to_os());
        fill(&copy.root, &own, &copy.root.join(folder.to_os()))
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

fn fill(root: &Path, own: &Path, place: &Path) -> io::Result<()> {
    if place.symlink_metadata().is_ok() {
        return Err(io::Error::other("it has tracked files"));
    }
    let mut above = place.ancestors().skip(1).take_while(|dir| *dir != root);
    // A tracked link may lead out of the checkout.
    if above.any(Path::is_symlink) {
        return Err(io::Error::other("a link is above it"));
    }
    std::fs::create_dir_all(place)?;
    for entry in std::fs::read_dir(own)? {
        let name = entry?.file_name();
        symlink(own.join(&name), place.join(&name))?;
    }
    Ok(())
}

/// The files of the linked folders as they were before anything ran.
#[derive(Debug)]
pub(in crate::engine) struct Linked {
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
