//! What a step may read whose reads are declared: files of the repository, toolchains, what `reads` names.

use crate::base::glob::Selection;
use crate::base::path::RepoPath;
use crate::base::word::visible;
use crate::check::confine::TOOLCHAINS;
use crate::effect::os::process::confine::Confine;
use crate::effect::os::process::program::{Root, SearchPath, resolve};
use crate::effect::os::retry_eintr::{openat, openat2};
use crate::plan::Step;
use crate::reuse::key::depends_on;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The most rules for single files without a note.
pub const MANY_RULES: usize = 1_000;
/// The most rules for single files.
const MOST_RULES: usize = 10_000;

/// A file of the repository that a step may read, or a folder with all that is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadRule {
    pub path: RepoPath,
    is_folder: bool,
}

/// What a sealed step does not have of the repository.
pub(super) struct Private<'w> {
    /// The folders of its own, which begin empty.
    pub folders: &'w BTreeSet<RepoPath>,
    /// All that it may change.
    pub changed: Vec<Selection>,
}

/// Returns the files and folders of the repository that a step may read. A folder stands for all below
/// it where everything there is selected, so that the key of reuse holds it too.
///
/// # Errors
/// They cannot be listed, or are too many. For people.
pub(super) fn in_repository(root: &Root, step: &Step) -> Result<Vec<ReadRule>, String> {
    let mut wanted = depends_on(step);
    // What a step leaves out of what it may change, it may not read either.
    wanted.extend(step.may_change());
    walk(root, &wanted, None)
}

/// Returns the files, links and folders of the repository that exist for a step that is sealed. What it may
/// change begins empty.
///
/// # Errors
/// They cannot be listed, or are too many. For people.
pub(super) fn for_sealed(
    root: &Root,
    step: &Step,
    private: &Private<'_>,
) -> Result<Vec<ReadRule>, String> {
    walk(root, &depends_on(step), Some(private))
}

fn walk(
    root: &Root,
    wanted: &[Selection],
    private: Option<&Private<'_>>,
) -> Result<Vec<ReadRule>, String> {
    let walk = Walk {
        root: root.path(),
        wanted,
        private,
    };
    let rules = walk.folder(&RepoPath::root(), false)?.rules;
    let files = single_files(&rules);
    if files > MOST_RULES {
        return Err(format!(
            "{files} single files are selected for it to read, more than {MOST_RULES}: write a glob for whole folders (`src/**`)"
        ));
    }
    Ok(rules)
}

/// Returns how many of these rules are for single files.
pub(super) fn single_files(rules: &[ReadRule]) -> usize {
    rules.iter().filter(|rule| !rule.is_folder).count()
}

struct Walk<'w> {
    root: &'w Path,
    wanted: &'w [Selection],
    private: Option<&'w Private<'w>>,
}

/// What a step may read in a folder.
struct Below {
    rules: Vec<ReadRule>,
    /// Whether everything in it may be read.
    is_whole: bool,
}

impl Walk<'_> {
    /// Walks a folder. `all`: whether everything below it is selected. What the key of reuse leaves out is
    /// left out here.
    fn folder(&self, folder: &RepoPath, all: bool) -> Result<Below, String> {
        let all = all || (!folder.is_root() && self.wanted.iter().any(|s| s.holds_all(folder)));
        let is_own = self.private.is_some_and(|own| own.folders.contains(folder));
        let (mut rules, mut is_whole) = (Vec::new(), all && !is_own);
        for (name, kind) in entries(&self.root.join(folder.to_os()))
            .map_err(|error| format!("`{folder}` cannot be listed: {error}"))?
        {
            if name == b".git" || (folder.is_root() && name == b".vplan") {
                is_whole = false;
                continue;
            }
            let Ok(path) = folder.join(&name) else {
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
            } else if self.is_named(kind) && (all || self.wanted.iter().any(|s| s.selects(&path))) {
                rules.push(ReadRule {
                    path,
                    is_folder: false,
                });
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

    /// Whether a sealed step may change all of it, so that nothing of it is there.
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

    /// Whether what is of this kind is readable by itself. Links exist anyway, where a step is not sealed.
    fn is_named(&self, kind: std::fs::FileType) -> bool {
        kind.is_file() || (kind.is_symlink() && self.private.is_some())
    }
}

/// Returns the names in a folder, and what each is.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<(Vec<u8>, std::fs::FileType)>> {
    let entry = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.file_name().as_bytes().to_vec(), entry.file_type()?))
    };
    std::fs::read_dir(folder)?.map(entry).collect()
}

/// Lets a step read these files and folders of the repository, and list all of it.
///
/// # Errors
/// One of them is not what it was, or the system fails. For people.
pub(super) fn let_read(confine: &Confine, root: &Root, rules: &[ReadRule]) -> Result<(), String> {
    confine.let_list(root).map_err(|error| error.to_string())?;
    for ReadRule { path, is_folder } in rules {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat2(
            root.as_fd(),
            &path.to_os(),
            flags,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
        );
        match opened {
            Ok(place) => allow(confine, &place, Some(*is_folder)),
            // Other steps remove what they made; what is not there cannot be read.
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
        .map_err(|error| format!("`{path}` cannot be opened for it: {error}"))?;
    }
    Ok(())
}

/// Adds a rule for an opened file or folder; none for what is of another kind than expected.
fn allow(confine: &Confine, place: &OwnedFd, is_folder: Option<bool>) -> io::Result<()> {
    let kind = FileType::from_raw_mode(fstat(place)?.st_mode);
    let is = kind == FileType::Directory;
    if is_folder.is_some_and(|expected| expected != is) || kind == FileType::Symlink {
        return Ok(());
    }
    confine.let_read(place, is)
}

/// Lets a step read a file or a folder outside of the repository; nothing where it is not there.
///
/// # Errors
/// The system fails. For people.
pub(super) fn let_read_outside(confine: &Confine, path: &Path) -> Result<(), String> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(CWD, path, flags, Mode::empty()) {
        Ok(place) => allow(confine, &place, None),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(()),
        Err(error) => Err(error.into()),
    };
    opened.map_err(|error| {
        let path = visible(path.as_os_str().as_bytes());
        format!("`{path}` cannot be opened for it: {error}")
    })
}

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
    pub(super) fn toolchains(
        &self,
        root: &Root,
        search: &SearchPath,
        step: &Step,
    ) -> BTreeSet<PathBuf> {
        let mut places = BTreeSet::new();
        let lines = TOOLCHAINS
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        for line in lines {
            self.around(Path::new(line), &mut places);
        }
        let word = step.argv.as_deref().and_then(<[_]>::first);
        let program = word.and_then(|word| resolve(root, search, &step.dir, word.as_bytes()).ok());
        let program = program.and_then(|(program, _)| program.path.canonicalize().ok());
        let program = program.as_deref().and_then(Path::parent);
        places.extend(self.of_programs(search));
        program
            .into_iter()
            .for_each(|folder| self.programs(folder, &mut places));
        places
    }

    /// Returns the names under which these places are known besides: what leads over links to one.
    pub(super) fn links(
        &self,
        root: &Root,
        search: &SearchPath,
        step: &Step,
        places: &BTreeSet<PathBuf>,
    ) -> Vec<PathBuf> {
        let usual = TOOLCHAINS.lines().filter(|line| line.starts_with('/'));
        let word = step.argv.as_deref().and_then(<[_]>::first);
        let program = word.and_then(|word| resolve(root, search, &step.dir, word.as_bytes()).ok());
        let named = step.reads.iter().filter_map(|named| self.spelled(named));
        let all = usual.map(PathBuf::from).chain(named);
        let all = all.chain(search.folders().iter().cloned());
        let all =
            all.chain(program.and_then(|(program, _)| Some(program.path.parent()?.to_owned())));
        let is_known = |path: &PathBuf| {
            !path.starts_with(&self.root)
                && path
                    .canonicalize()
                    .is_ok_and(|real| real != *path && places.contains(&real))
        };
        all.filter(is_known).collect()
    }

    /// Returns the path that `reads` names, as it is spelled.
    fn spelled(&self, named: &str) -> Option<PathBuf> {
        match named.strip_prefix('~') {
            Some(below) => Some(self.home.as_ref()?.join(below.trim_start_matches('/'))),
            None => Some(PathBuf::from(named)),
        }
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

    /// Returns what `reads` names, links followed, and with `None` what is not there.
    ///
    /// # Errors
    /// It is in the repository, or the repository in it. For people.
    pub(super) fn named(&self, named: &str) -> Result<Option<PathBuf>, String> {
        let path = self.spelled(named).ok_or_else(|| {
            let named = visible(named.as_bytes());
            format!("`reads \"{named}\"` needs HOME")
        })?;
        let Ok(path) = path.canonicalize() else {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::run::step;
    use crate::base::glob::{Glob, Item, ItemContent};

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
        let rules = in_repository(&root, &step).unwrap();
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
            step.sandbox = crate::check::confine::SandboxLevel::Files;
            step.unchanged = Some(selection(&["src/a"]));
            step.writes = Some(selection(&["out/**", "!out/x"]));
            step.produces = vec![Glob::parse("lib/other/**").unwrap()];
        });
        assert_eq!(found, "lib/other/ out/y.o src/a top");
    }

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
