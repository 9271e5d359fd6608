//! The state of what a step may read outside of the repository: what its `reads` names, and toolchains.

use super::unsteady::Unsteady;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use vplan_base::canon::{Digest, Hasher};
use vplan_os::outside::{Outside, Places};
use vplan_os::parallel::locked;

/// The most files and folders that are looked at.
const MOST: usize = 300_000;

/// The lists of what the system's packages are: files and folders that change with them.
const PACKAGES: &str = "/lib/apk/db/installed /run/current-system /usr/lib/apk/db/installed \
                        /usr/lib/sysimage/rpm/rpmdb.sqlite /var/lib/dpkg/status \
                        /var/lib/pacman/local /var/lib/rpm/Packages /var/lib/rpm/rpmdb.sqlite";

/// Folders in which packages install files; other files may be there, too.
const OF_PACKAGES: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"];

/// Where no package installs.
const LOCAL: &str = "/usr/local";

/// What has no state that could be followed, or says it by its names.
const STATELESS: [&str; 3] = ["/proc", "/dev", "/nix/store"];

/// Returns one digest of the state of all that `reads` names: see [`State::below`]. `None` where nothing is
/// named.
///
/// # Errors
/// It cannot be looked at, or is too much.
pub(super) fn digest_named(
    outside: &Outside,
    named: &[String],
) -> Result<Option<Digest>, Unsteady> {
    if named.is_empty() {
        return Ok(None);
    }
    let mut state = State::default();
    for name in named {
        let path = outside.path_of(name).map_err(Unsteady::Outside)?;
        let added = state.one(&path).and_then(|_| match path.canonicalize() {
            Ok(real) => state.below(real),
            Err(_) => Ok(()),
        });
        added.map_err(|error| Unsteady::Unfollowed("what it reads", name.into(), error))?;
    }
    Ok(Some(state.hasher.finish()))
}

/// The states of toolchains, by their places, as they were when they were first asked for. None is
/// remembered while something runs that may change them.
#[derive(Debug, Default)]
pub(super) struct Toolchains(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    /// Since when ([`Outside::unchanged_since`]).
    since: Option<u64>,
    states: BTreeMap<PathBuf, Digest>,
    /// The state of the last requested places.
    last: Option<(Arc<Places>, Digest)>,
}

impl Toolchains {
    /// Returns one digest of the state of these toolchains.
    ///
    /// # Errors
    /// One cannot be looked at, or is too much.
    pub(super) fn state(
        &self,
        outside: &Outside,
        places: &Arc<Places>,
    ) -> Result<Digest, Unsteady> {
        let since = outside.unchanged_since();
        if since.is_none() {
            return state(&places.toolchains, &mut BTreeMap::new());
        }
        let mut known = locked(&self.0);
        if known.since != since {
            *known = Remembered {
                since,
                ..Remembered::default()
            };
        }
        if let Some((last, state)) = &known.last
            && Arc::ptr_eq(last, places)
        {
            return Ok(state.clone());
        }
        let state = state(&places.toolchains, &mut known.states)?;
        known.last = Some((Arc::clone(places), state.clone()));
        Ok(state)
    }
}

/// Returns one digest of the state of these toolchains. `known`: of their places, where that is known; what
/// is learned is added to it.
///
/// Of a folder of the system that is the lists of its packages and the folders at its top, else all of it
/// ([`State::below`]).
fn state(
    places: &BTreeSet<PathBuf>,
    known: &mut BTreeMap<PathBuf, Digest>,
) -> Result<Digest, Unsteady> {
    let is_of_packages = |place: &Path| {
        let is_there = OF_PACKAGES.iter().any(|there| place.starts_with(there));
        let mut lists = PACKAGES.split(' ').map(Path::new);
        is_there && !place.starts_with(LOCAL) && lists.any(Path::exists)
    };
    let mut all = State::default();
    for place in places {
        if STATELESS.iter().any(|there| place.starts_with(there)) {
            continue;
        }
        let unknown = |error| Unsteady::Unfollowed("its toolchain", place.clone(), error);
        let state = match known.get(place) {
            Some(state) => state.clone(),
            None => {
                let mut state = State::default();
                let added = if is_of_packages(place) {
                    state.installed(place)
                } else {
                    state.below(place.clone())
                };
                added.map_err(unknown)?;
                let state = state.hasher.finish();
                known.insert(place.clone(), state.clone());
                state
            }
        };
        let added = all.text(place.as_os_str().as_bytes());
        let added = added.and_then(|()| all.text(state.as_bytes()));
        added.map_err(unknown)?;
    }
    Ok(all.hasher.finish())
}

struct State {
    hasher: Hasher,
    left: usize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            hasher: Hasher::default(),
            left: MOST,
        }
    }
}

impl State {
    /// Adds the packages of the system, and of a folder what is directly in its folders.
    fn installed(&mut self, place: &Path) -> io::Result<()> {
        for list in PACKAGES.split(' ') {
            self.one(Path::new(list))?;
        }
        for folder in self.list(place)? {
            if self.one(&folder)? && !folder.starts_with(LOCAL) {
                for path in self.list(&folder)? {
                    self.one(&path)?;
                }
            }
        }
        if Path::new(LOCAL).starts_with(place) {
            self.below(PathBuf::from(LOCAL))?;
        }
        Ok(())
    }

    /// Adds the paths, kinds, sizes and times of all that is at and below a path, and the targets of
    /// symlinks; no content is read. What is touched counts as changed.
    fn below(&mut self, path: PathBuf) -> io::Result<()> {
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            if self.one(&path)? {
                open.extend(self.list(&path)?);
            }
        }
        Ok(())
    }

    /// Lists a folder, sorted. One that this user cannot read is empty: its steps cannot, either.
    fn list(&mut self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let entries = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut paths = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<PathBuf>>>()?;
        paths.sort();
        Ok(paths)
    }

    /// Adds the state of a path; returns whether it is a folder.
    fn one(&mut self, path: &Path) -> io::Result<bool> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            io::Error::other(format!("it holds more than {MOST} files and folders"))
        })?;
        self.text(path.as_os_str().as_bytes())?;
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.text(b"")?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        // A folder's own times change with its entries, which are examined.
        let is_folder = found.is_dir();
        let times = [
            found.mtime(),
            found.mtime_nsec(),
            found.ctime(),
            found.ctime_nsec(),
        ];
        let times = if is_folder { [0; 4] } else { times };
        let size = if is_folder { 0 } else { found.size() };
        for number in times {
            self.hasher.write_all(&number.to_le_bytes())?;
        }
        for number in [size, found.ino(), found.dev(), u64::from(found.mode())] {
            self.hasher.write_all(&number.to_le_bytes())?;
        }
        if found.is_symlink() {
            self.text(std::fs::read_link(path)?.as_os_str().as_bytes())?;
        }
        Ok(is_folder)
    }

    fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.write_all(&(bytes.len() as u64).to_le_bytes())?;
        self.hasher.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::step;
    use vplan_check::confine::SandboxLevel;
    use vplan_os::process::program::{Root, SearchPath};

    #[test]
    fn what_changes_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("named");
        let outside = Outside::new(Path::new("/repository"), None);
        let state = |names: &[String]| digest_named(&outside, names);
        let names = [path.to_str().unwrap().to_owned()];
        let mut states = vec![state(&names).unwrap()];
        let mut next = || states.push(state(&names).unwrap());
        std::fs::create_dir(&path).unwrap();
        next();
        std::fs::write(path.join("a"), "1").unwrap();
        next();
        std::fs::write(path.join("a"), "22").unwrap();
        next();
        std::fs::create_dir(path.join("deep")).unwrap();
        std::os::unix::fs::symlink("a", path.join("deep/link")).unwrap();
        next();
        std::fs::remove_file(path.join("deep/link")).unwrap();
        std::os::unix::fs::symlink("b", path.join("deep/link")).unwrap();
        next();
        for (at, state) in states.iter().enumerate() {
            assert!(!states[..at].contains(state), "{at}");
        }
        assert_eq!(state(&names).unwrap(), *states.last().unwrap());
        assert_eq!(state(&[]).unwrap(), None);
    }

    #[test]
    fn what_was_known_while_a_toolchain_may_change_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for folder in ["tree", "tool/bin"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        let root = Root::open(&base.join("tree")).unwrap();
        let path = base.join("tool/bin");
        let search = SearchPath::new(&root, Some(path.as_os_str().as_bytes()));
        let outside = Outside::new(root.path(), None);
        let (mut held, free) = (step("held"), step("free"));
        held.sandbox = SandboxLevel::Files;
        let toolchains = Toolchains::default();
        let state = || {
            let places = outside
                .places(&root, &search, &held.outside_request())
                .unwrap();
            toolchains.state(&outside, &places).unwrap()
        };
        let change = |text: &str| std::fs::write(base.join("tool/library"), text).unwrap();
        change("1");
        let first = state();
        // A step held to what it declares does not change it.
        outside.started(held.confinement());
        change("22");
        outside.ended(held.confinement());
        assert_eq!(state(), first);
        // An unconfined one may, at any time.
        outside.started(free.confinement());
        let second = state();
        assert_ne!(second, first);
        change("333");
        let third = state();
        assert_ne!(third, second);
        change("4444");
        outside.ended(free.confinement());
        let fourth = state();
        assert_ne!(fourth, third);
        // So may a service, at an unknown time.
        outside.may_change();
        change("55555");
        assert_ne!(state(), fourth);
    }
}
