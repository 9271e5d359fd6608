//! Places outside of the repository: toolchains, and what `reads` names.

use crate::base::word::visible;
use crate::check::confine::toolchains;
use crate::effect::os::process::program::{Root, SearchPath, resolve};
use crate::plan::Step;
use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What is outside of the repository, seen from a run.
#[derive(Debug)]
pub struct Outside {
    root: PathBuf,
    home: Option<PathBuf>,
}

impl Outside {
    /// Looks from the repository's root and the user's folder.
    #[must_use]
    pub fn new(root: &Path, home: Option<&Path>) -> Self {
        let home = home.filter(|home| home.is_absolute());
        Self {
            root: root.to_owned(),
            home: home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned())),
        }
    }

    /// Returns the toolchains that a step may read: the usual places, the folders of its PATH, and that of
    /// its program.
    #[must_use]
    pub fn toolchains(&self, root: &Root, search: &SearchPath, step: &Step) -> BTreeSet<PathBuf> {
        let mut places = BTreeSet::new();
        for usual in toolchains() {
            self.around(Path::new(usual), &mut places);
        }
        let program = program(root, search, step);
        let program = program.and_then(|program| program.canonicalize().ok());
        let program = program.as_deref().and_then(Path::parent);
        places.extend(self.of_programs(search));
        program
            .into_iter()
            .for_each(|folder| self.programs(folder, &mut places));
        places
    }

    /// Returns the names under which these places are known besides: what leads over links to one.
    #[must_use]
    pub fn links(
        &self,
        root: &Root,
        search: &SearchPath,
        step: &Step,
        places: &BTreeSet<PathBuf>,
    ) -> Vec<PathBuf> {
        let program = program(root, search, step);
        let program = program.as_deref().and_then(Path::parent);
        let named = step
            .reads
            .iter()
            .filter_map(|named| self.path_of(named).ok());
        let all = toolchains().map(PathBuf::from).chain(named);
        let all = all.chain(search.folders().iter().cloned());
        let all = all.chain(program.map(Path::to_owned));
        let is_known = |path: &PathBuf| {
            !path.starts_with(&self.root)
                && path
                    .canonicalize()
                    .is_ok_and(|real| real != *path && places.contains(&real))
        };
        all.filter(is_known).collect()
    }

    /// Returns the folders of programs on a path, and around them what belongs to these programs.
    #[must_use]
    pub fn of_programs(&self, search: &SearchPath) -> BTreeSet<PathBuf> {
        let mut places = BTreeSet::new();
        for folder in search.folders() {
            self.programs(folder, &mut places);
        }
        places
    }

    /// Adds a folder of programs and, outside of HOME, the one around it: there are their libraries.
    fn programs(&self, folder: &Path, into: &mut BTreeSet<PathBuf>) {
        let Ok(folder) = folder.canonicalize() else {
            return;
        };
        if folder.starts_with(&self.root) || folder.parent().is_none() {
            return;
        }
        self.around(&folder, into);
        let is_at_home = |path: &Path| {
            self.home
                .as_ref()
                .is_some_and(|home| path.starts_with(home))
        };
        let parent = folder.parent().filter(|parent| {
            let is_top = parent.parent().and_then(Path::parent).is_none();
            !is_top && !is_at_home(parent) && !self.kept_within(parent)
        });
        if let Some(parent) = parent {
            into.insert(parent.to_owned());
        }
    }

    /// Whether the repository or HOME is this place, or in it.
    fn kept_within(&self, place: &Path) -> bool {
        let home = self.home.as_deref().filter(|home| home.parent().is_some());
        let mut kept = home.into_iter().chain([self.root.as_path()]);
        kept.any(|kept| kept.starts_with(place))
    }

    /// Adds a place without the repository and HOME, where these are in it. HOME may be above all.
    fn around(&self, place: &Path, into: &mut BTreeSet<PathBuf>) {
        let Ok(place) = place.canonicalize() else {
            return;
        };
        if !self.kept_within(&place) {
            into.insert(place);
            return;
        }
        if place == self.root || self.home.as_deref() == Some(&place) {
            return;
        }
        let inside = entries(&place).unwrap_or_default().into_iter();
        for (name, kind) in inside.filter(|(_, kind)| !kind.is_symlink()) {
            let inner = place.join(std::ffi::OsStr::from_bytes(&name));
            if kind.is_dir() {
                self.around(&inner, into);
            } else {
                into.insert(inner);
            }
        }
    }

    /// Returns the path that `reads` names.
    ///
    /// # Errors
    /// HOME is not known, in which it is. For people.
    pub fn path_of(&self, named: &str) -> Result<PathBuf, String> {
        match (named.strip_prefix('~'), &self.home) {
            (Some(below), Some(home)) => Ok(home.join(below.trim_start_matches('/'))),
            (Some(_), None) => Err(format!(
                "`reads \"{}\"` needs HOME",
                visible(named.as_bytes())
            )),
            (None, _) => Ok(PathBuf::from(named)),
        }
    }

    /// Returns what `reads` names, links followed, and with `None` what is not there.
    ///
    /// # Errors
    /// It is in the repository, or the repository in it. For people.
    pub fn named(&self, named: &str) -> Result<Option<PathBuf>, String> {
        let Ok(path) = self.path_of(named)?.canonicalize() else {
            return Ok(None);
        };
        if self
            .home
            .as_ref()
            .is_some_and(|home| home.starts_with(&path))
        {
            let named = visible(named.as_bytes());
            return Err(format!(
                "`reads \"{named}\"` holds all of HOME: name what is in it"
            ));
        }
        if path.starts_with(&self.root) || self.root.starts_with(&path) {
            return Err(format!(
                "`reads \"{}\"` is for what is outside of the repository: name what is in it with `inputs`",
                visible(named.as_bytes())
            ));
        }
        Ok(Some(path))
    }
}

/// Returns the path of the program that a step's command names.
fn program(root: &Root, search: &SearchPath, step: &Step) -> Option<PathBuf> {
    let word = step.argv.as_deref().and_then(<[_]>::first)?;
    let (program, _) = resolve(root, search, &step.dir, word.as_bytes()).ok()?;
    Some(program.path)
}

/// Returns the names and the kinds of what is in a folder, in no order.
///
/// # Errors
/// It cannot be listed.
pub fn entries(folder: &Path) -> io::Result<Vec<(Vec<u8>, std::fs::FileType)>> {
    let entry = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.file_name().as_bytes().to_vec(), entry.file_type()?))
    };
    std::fs::read_dir(folder)?.map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchains_are_never_the_repository_or_home() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for folder in [
            "usr/src/app",
            "usr/bin",
            "usr/home/bin",
            "opt/node/bin",
            "usr/home/.cargo/bin",
        ] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        let outside = Outside::new(&base.join("usr/src/app"), Some(&base.join("usr/home")));
        let shown = |places: BTreeSet<PathBuf>| {
            let below = |path: &PathBuf| path.strip_prefix(&base).unwrap().display().to_string();
            places.iter().map(below).collect::<Vec<_>>().join(" ")
        };
        let mut places = BTreeSet::new();
        outside.around(&base.join("usr"), &mut places);
        assert_eq!(shown(places), "usr/bin");
        for (folder, want) in [
            ("opt/node/bin", "opt/node opt/node/bin"),
            ("usr/home/.cargo/bin", "usr/home/.cargo/bin"),
            ("usr/home/bin", "usr/home/bin"),
            ("usr/bin", "usr/bin"),
            ("usr/src/app", ""),
        ] {
            let mut places = BTreeSet::new();
            outside.programs(&base.join(folder), &mut places);
            assert_eq!(shown(places), want, "{folder}");
        }
        assert!(outside.named("~/none").unwrap().is_none());
        assert_eq!(
            outside.named("~/bin").unwrap(),
            Some(base.join("usr/home/bin"))
        );
        for path in ["usr/src/app", "usr/src/app/x", "usr", ""] {
            let path = base.join(path);
            let _ = std::fs::create_dir_all(&path);
            assert!(outside.named(path.to_str().unwrap()).is_err(), "{path:?}");
        }
    }
}
