//! Determines what a step with declared reads may read: files of the repository, toolchains, and
//! the values of `reads`.

use crate::sandbox_error::{MOST_RULES, SandboxError};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, OFlags, ResolveFlags, fstat, statat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vplan_base::glob::Selection;
use vplan_base::path::RepoPath;
use vplan_os::outside::entries;
use vplan_os::process::confine::Confine;
use vplan_os::process::program::Root;
use vplan_os::retry_eintr::{open, openat2};
use vplan_os::stat_cache::{StatStamp, now};
use vplan_plan::Step;
use vplan_reuse::key::depends_on;

/// Maximum number of rules for single files without a note.
pub(crate) const MANY_RULES: usize = 1_000;
/// Maximum number of cached names in folders.
const MOST_LISTED: usize = 200_000;

/// A file of the repository that a step may read, or a folder with all that is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadRule {
    pub path: RepoPath,
    is_folder: bool,
}

/// The parts of the repository that are hidden from a sealed step.
pub(super) struct Private<'w> {
    /// The private folders, which begin empty.
    pub folders: &'w BTreeSet<RepoPath>,
    /// All that it may change.
    pub changed: Vec<Selection>,
}

/// Returns the files and folders of the repository that a step may read. A folder includes all
/// below it if everything there is selected, so that its later files are in the cache key too.
///
/// # Errors
/// They cannot be listed, or are too many. For people.
pub(super) fn in_repository(
    root: &Root,
    listings: &Listings,
    step: &Step,
) -> Result<Vec<ReadRule>, SandboxError> {
    let mut wanted = depends_on(step);
    // Paths that a step excludes from its writes must not be read either.
    wanted.extend(step.may_change());
    walk(root, listings, &wanted, None)
}

/// Returns the files, links and folders of the repository that exist for a sealed step. Paths that
/// it may change begin empty.
///
/// # Errors
/// They cannot be listed, or are too many. For people.
pub(super) fn for_sealed(
    root: &Root,
    listings: &Listings,
    step: &Step,
    private: &Private<'_>,
) -> Result<Vec<ReadRule>, SandboxError> {
    walk(root, listings, &depends_on(step), Some(private))
}

fn walk(
    root: &Root,
    listings: &Listings,
    wanted: &[Selection],
    private: Option<&Private<'_>>,
) -> Result<Vec<ReadRule>, SandboxError> {
    let walk = Walk {
        root,
        listings,
        wanted,
        private,
    };
    let rules = walk.folder(&RepoPath::root(), false)?.rules;
    let files = single_files(&rules);
    if files > MOST_RULES {
        return Err(SandboxError::ManyRules(files));
    }
    Ok(rules)
}

/// Returns how many of these rules are for single files.
pub(super) fn single_files(rules: &[ReadRule]) -> usize {
    rules.iter().filter(|rule| !rule.is_folder).count()
}

struct Walk<'w> {
    root: &'w Root,
    listings: &'w Listings,
    wanted: &'w [Selection],
    private: Option<&'w Private<'w>>,
}

/// The readable paths of a step in a folder.
struct Below {
    rules: Vec<ReadRule>,
    /// Whether everything in it may be read.
    is_whole: bool,
}

impl Walk<'_> {
    /// Walks a folder. `all`: whether everything below it is selected. It skips the same paths as
    /// the cache key.
    fn folder(&self, folder: &RepoPath, all: bool) -> Result<Below, SandboxError> {
        let all = all || (!folder.is_root() && self.wanted.iter().any(|s| s.holds_all(folder)));
        let is_own = self.private.is_some_and(|own| own.folders.contains(folder));
        let (mut rules, mut is_whole) = (Vec::new(), all && !is_own);
        let listed = self.listings.list(self.root, folder);
        let listed = listed.map_err(|error| SandboxError::Unlisted(folder.clone(), error))?;
        for (name, kind) in &*listed {
            if name == b".git" || (folder.is_root() && name == b".vplan") {
                is_whole = false;
                continue;
            }
            let Ok(path) = folder.join(name) else {
                is_whole = false;
                continue;
            };
            if self.is_private(&path, kind.is_dir()) {
                is_whole = false;
            } else if kind.is_dir() {
                if all || self.wanted.iter().any(|s| s.may_hold(&path)) {
                    let below = self.folder(&path, all)?;
                    is_whole &= below.is_whole;
                    rules.extend(below.rules);
                }
            } else if self.is_named(*kind) && (all || self.wanted.iter().any(|s| s.selects(&path)))
            {
                rules.push(ReadRule {
                    path,
                    is_folder: false,
                });
            } else if !kind.is_file() && !kind.is_symlink() {
                // Another process may be at the other end of a pipe, or a socket.
                is_whole = false;
            }
        }
        if is_whole {
            rules = vec![ReadRule {
                path: folder.clone(),
                is_folder: true,
            }];
        }
        Ok(Below { rules, is_whole })
    }

    /// Whether a sealed step may change all of it, so that it is hidden from the step.
    fn is_private(&self, path: &RepoPath, is_folder: bool) -> bool {
        let changed = self.private.iter().flat_map(|own| &own.changed);
        changed.into_iter().any(|changed| {
            if is_folder {
                changed.holds_all(path)
            } else {
                changed.selects(path)
            }
        })
    }

    /// Whether a file of this kind needs a rule of its own. Unless a step is sealed, links exist
    /// anyway.
    fn is_named(&self, kind: std::fs::FileType) -> bool {
        kind.is_file() || (kind.is_symlink() && self.private.is_some())
    }
}

/// Cached listings of folders of the repository. A folder is listed again only if it has changed.
#[derive(Debug, Default)]
pub(super) struct Listings(Mutex<Listed>);

#[derive(Debug, Default)]
struct Listed {
    folders: BTreeMap<RepoPath, (StatStamp, Arc<Entries>)>,
    /// The number of names in them.
    names: usize,
}

/// The names and the kinds of a folder's entries.
type Entries = Vec<(Vec<u8>, std::fs::FileType)>;

impl Listings {
    fn list(&self, root: &Root, folder: &RepoPath) -> io::Result<Arc<Entries>> {
        let since = now();
        let path = folder.to_os();
        let stamp = StatStamp::from(&statat(root, &path, AtFlags::SYMLINK_NOFOLLOW)?);
        let known = self.listed().folders.get(folder).cloned();
        if let Some((_, entries)) = known.filter(|(then, _)| *then == stamp) {
            return Ok(entries);
        }
        let entries = Arc::new(entries(&root.path().join(path))?);
        let mut listed = self.listed();
        // Two changes within one tick of the clock may have the same time stamp.
        if stamp.is_settled(since) && listed.names + entries.len() <= MOST_LISTED {
            listed.names += entries.len();
            let known = (stamp, Arc::clone(&entries));
            listed.folders.insert(folder.clone(), known);
        }
        Ok(entries)
    }

    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a step read these files and folders of the repository, and list everything in it.
///
/// # Errors
/// A path is no longer of the same kind, or the system fails. For people.
pub(super) fn let_read(
    confine: &Confine,
    root: &Root,
    rules: &[ReadRule],
) -> Result<(), SandboxError> {
    confine.let_list(root)?;
    for ReadRule { path, is_folder } in rules {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let opened = openat2(root.as_fd(), &path.to_os(), flags, beneath);
        match opened {
            Ok(place) => allow(confine, &place, Some(*is_folder)),
            // Other steps may have removed their outputs; a missing file cannot be read anyway.
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
        .map_err(|error| SandboxError::Unopened(path.to_os(), error))?;
    }
    Ok(())
}

/// Adds a rule for an opened file or folder, unless its kind is not the expected one.
fn allow(confine: &Confine, place: &OwnedFd, is_folder: Option<bool>) -> io::Result<()> {
    let kind = FileType::from_raw_mode(fstat(place)?.st_mode);
    let is = kind == FileType::Directory;
    if is_folder.is_some_and(|expected| expected != is) || kind == FileType::Symlink {
        return Ok(());
    }
    confine.let_read(place, is)
}

/// Lets a step read a file or a folder outside of the repository, if it exists.
///
/// # Errors
/// The system fails. For people.
pub(super) fn let_read_outside(confine: &Confine, path: &Path) -> Result<(), SandboxError> {
    let opened = match open(CWD, path, OFlags::PATH | OFlags::NOFOLLOW) {
        Ok(place) => allow(confine, &place, None),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(()),
        Err(error) => Err(error.into()),
    };
    opened.map_err(|error| SandboxError::Unopened(path.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::step;
    use vplan_base::glob::{Glob, Item, ItemContent};

    fn selection(items: &[&str]) -> Selection {
        let item = |text: &&str| {
            let (not, text) = text.strip_prefix('!').map_or((false, *text), |t| (true, t));
            Item {
                not,
                what: ItemContent::Glob(Glob::parse(text).unwrap()),
            }
        };
        Selection {
            items: items.iter().map(item).collect(),
        }
    }

    fn rules(root: &Path, change: impl FnOnce(&mut Step)) -> String {
        let mut step = step("a");
        change(&mut step);
        let root = Root::open(root).unwrap();
        let rules = in_repository(&root, &Listings::default(), &step).unwrap();
        let show =
            |rule: &ReadRule| format!("{}{}", rule.path, if rule.is_folder { "/" } else { "" });
        let mut rules: Vec<String> = rules.iter().map(show).collect();
        rules.sort();
        rules.join(" ")
    }

    #[test]
    fn a_folder_stands_for_all_below_it_only_where_all_is_selected() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        for path in [
            "src/a",
            "src/deep/b",
            "src/deep/.env",
            "top",
            "out/x",
            "out/y.o",
        ] {
            write(path);
        }
        write(".git/HEAD");
        write(".vplan/x");
        write("lib/nested/.git/HEAD");
        write("lib/nested/a");
        write("lib/other/b");
        std::os::unix::fs::symlink("../top", dir.path().join("src/link")).unwrap();
        for (inputs, want) in [
            (&["src/**"][..], "src/"),
            (&["src/**", "!src/deep/.env"], "src/a src/deep/b"),
            (&["src/**", "!**/*.md"], "src/a src/deep/.env src/deep/b"),
            (&["src/*"], "src/a"),
            (&["**"], "lib/nested/a lib/other/ out/ src/ top"),
            (&["lib/**"], "lib/nested/a lib/other/"),
            (&["src/**", "out/*.o"], "out/y.o src/"),
            (&["src/a", "none/**"], "src/a"),
        ] {
            let found = rules(dir.path(), |step| step.inputs = Some(selection(inputs)));
            assert_eq!(found, want, "{inputs:?}");
        }
        let found = rules(dir.path(), |step| {
            step.inputs = Some(selection(&["top"]));
            step.sandbox = vplan_check::confine::SandboxLevel::Files;
            step.unchanged = Some(selection(&["src/a"]));
            step.writes = Some(selection(&["out/**", "!out/x"]));
            step.produces = vec![Glob::parse("lib/other/**").unwrap()];
        });
        assert_eq!(found, "lib/other/ out/y.o src/a top");
    }

    #[test]
    fn a_folder_that_has_changed_is_listed_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(path("src/deep")).unwrap();
        let root = Root::open(dir.path()).unwrap();
        let listings = Listings::default();
        let mut step = step("a");
        step.inputs = Some(selection(&["src/*", "src/deep/*"]));
        let found = || {
            let rules = in_repository(&root, &listings, &step).unwrap();
            let mut rules: Vec<String> = rules.iter().map(|rule| rule.path.to_string()).collect();
            rules.sort();
            rules.join(" ")
        };
        let age = |name: &str| {
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
            let file = std::fs::File::open(path(name)).unwrap();
            file.set_modified(then).unwrap();
        };
        let write = |name: &str| std::fs::write(path(name), "x").unwrap();
        write("src/a");
        // A recent change makes the cached listing unreliable, whatever the times say.
        age("src");
        assert_eq!(found(), "src/a");
        assert!(listings.listed().folders.is_empty());
        write("src/b");
        age("src");
        assert_eq!(found(), "src/a src/b");
        std::fs::rename(path("src/deep"), path("other")).unwrap();
        std::fs::create_dir(path("src/deep")).unwrap();
        write("src/deep/c");
        assert_eq!(found(), "src/a src/b src/deep/c");
    }

    #[test]
    fn a_folder_that_is_as_it_was_is_not_listed_again() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(Path::new("/usr")).unwrap();
        let listings = Listings::default();
        let bin = RepoPath::parse(b"bin").unwrap();
        let (first, again) = (listings.list(&root, &bin), listings.list(&root, &bin));
        assert!(Arc::ptr_eq(&first.unwrap(), &again.unwrap()));
        let other = Root::open(dir.path()).unwrap();
        std::fs::create_dir(dir.path().join("bin")).unwrap();
        assert!(listings.list(&other, &bin).unwrap().is_empty());
    }
}
