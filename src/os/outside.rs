//! Places outside of the repository: toolchains, and the values of `reads`.

use crate::parallel::locked;
use crate::process::guarantees::lacking;
use crate::process::program::{Root, SearchPath, resolve};
use rustix::fs::{CWD, readlinkat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use vplan_base::word::{Word, visible};
use vplan_check::confine::{Confinement, Guarantee, OutsideRequest, SandboxLevel, toolchains};

/// Maximum number of links in a path (path_resolution(7)).
const LINKS: usize = 40;

/// The places outside of the repository, during a run.
#[derive(Debug)]
pub struct Outside {
    root: PathBuf,
    home: Option<PathBuf>,
    known: Mutex<SeenPlaces>,
}

/// The reason why a value of `reads` names no place that a step may read.
#[derive(Debug, thiserror::Error)]
pub enum ReadsError {
    #[error("`reads \"{}\"` needs HOME", visible(.0))]
    Homeless(String),
    #[error("`reads \"{}\"` holds all of HOME: name what is in it", visible(.0))]
    Home(String),
    #[error("`reads \"{}\"` is for what is outside of the repository: name what is in it with `inputs`", visible(.0))]
    Repository(String),
}

/// Cached places. They are valid while no step runs that may change them.
#[derive(Debug, Default)]
struct SeenPlaces {
    /// How many steps run that may.
    changing: usize,
    /// The number of such steps that have started so far.
    begun: u64,
    places: BTreeMap<Sought, Arc<Places>>,
}

/// Cache key of places: the folders of programs outside the repository, the values of `reads`, and
/// the first word of the command, where it matters.
type Sought = (Vec<PathBuf>, Vec<String>, Option<Vec<u8>>);

/// Places outside of the repository that a step may read, each without links.
#[derive(Debug, Default)]
pub struct Places {
    /// The usual places of toolchains, the folders of its PATH, and that of its program.
    pub toolchains: BTreeSet<PathBuf>,
    /// The values of `reads`.
    pub named: BTreeSet<PathBuf>,
    /// Links that lead to one of them: further names of the same places.
    pub links: BTreeSet<PathBuf>,
    outermost: OnceLock<Vec<PathBuf>>,
}

impl Places {
    /// Returns all places that are not inside another one.
    pub fn outermost(&self) -> &[PathBuf] {
        self.outermost.get_or_init(|| {
            let outermost = outermost(self.toolchains.union(&self.named));
            outermost.into_iter().cloned().collect()
        })
    }
}

impl Outside {
    /// Looks from the repository's root and the user's folder.
    pub fn new(root: &Path, home: Option<&Path>) -> Self {
        let home = home.filter(|home| home.is_absolute());
        Self {
            root: root.to_owned(),
            home: home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned())),
            known: Mutex::default(),
        }
    }

    /// Records that a step is about to begin.
    pub fn started(&self, confinement: Confinement) {
        if is_unconfined(confinement) {
            self.may_change();
        }
    }

    /// Records that a step has ended that had begun.
    pub fn ended(&self, confinement: Confinement) {
        if is_unconfined(confinement) {
            locked(&self.known).changing -= 1;
        }
    }

    /// Records the start of a step that may change the places.
    pub fn may_change(&self) {
        let mut known = locked(&self.known);
        known.changing += 1;
        known.begun += 1;
        known.places.clear();
    }

    /// Returns a number that changes as soon as something may have changed the places; `None` while
    /// a step may.
    pub fn unchanged_since(&self) -> Option<u64> {
        let known = locked(&self.known);
        (known.changing == 0).then_some(known.begun)
    }

    /// Returns what a step may read outside of the repository. Program folders in the repository,
    /// and a program given by path, are resolved anew each time.
    ///
    /// # Errors
    /// A value of `reads` is in the repository, or around it.
    pub fn places(
        &self,
        root: &Root,
        search: &SearchPath,
        request: &OutsideRequest<'_>,
    ) -> Result<Arc<Places>, ReadsError> {
        let word = request.program.map_or(&b""[..], Word::as_bytes);
        let folders = search.folders().iter();
        let (inside, elsewhere): (Vec<&PathBuf>, Vec<&PathBuf>) =
            folders.partition(|folder| folder.starts_with(&self.root));
        let folders: Vec<PathBuf> = elsewhere.iter().copied().cloned().collect();
        let reads = request.reads.to_vec();
        let of_all: Sought = (folders.clone(), reads.clone(), Some(word.to_vec()));
        let of_usual = (folders, reads, None);
        let is_elsewhere = inside.is_empty() && !word.contains(&b'/');
        let all = |ways: &mut Ways| {
            let usual = self.remember(ways, of_usual, |ways| {
                self.usual(ways, &elsewhere, request.reads).map(Arc::new)
            })?;
            let program = program(root, search, request);
            Ok(self.with_program(&usual, ways, program.as_deref(), &inside))
        };
        let mut ways = Ways::default();
        if is_elsewhere {
            self.remember(&mut ways, of_all, all)
        } else {
            all(&mut ways)
        }
    }

    /// Returns the cached places, or computes them, and caches them if that is safe. `ways`: the
    /// links followed for it so far.
    fn remember(
        &self,
        ways: &mut Ways,
        sought: Sought,
        look: impl FnOnce(&mut Ways) -> Result<Arc<Places>, ReadsError>,
    ) -> Result<Arc<Places>, ReadsError> {
        let since = {
            let known = locked(&self.known);
            if let Some(places) = known.places.get(&sought) {
                return Ok(Arc::clone(places));
            }
            known.begun
        };
        let places = look(ways)?;
        let mut known = locked(&self.known);
        let is_steady = known.changing == 0 && known.begun == since;
        // If a link passes through the repository, a confined step may change where it leads.
        if is_steady && !ways.lead_through(&self.root) {
            known.places.insert(sought, Arc::clone(&places));
        }
        Ok(places)
    }

    /// Computes the places of every step with this search path and these reads.
    fn usual(
        &self,
        ways: &mut Ways,
        folders: &[&PathBuf],
        reads: &[String],
    ) -> Result<Places, ReadsError> {
        let mut places = Places::default();
        for usual in toolchains() {
            if let Some(place) = ways.real(Path::new(usual)) {
                self.around(&place, &mut places.toolchains);
            }
        }
        self.add_folders(&mut places, ways, folders);
        for named in reads {
            places.named.extend(self.resolve(named)?);
        }
        let named = reads.iter().filter_map(|named| self.path_of(named).ok());
        let names = toolchains().map(PathBuf::from).chain(named);
        let names = names.chain(folders.iter().copied().cloned());
        self.add_links(&mut places, ways, names);
        Ok(places)
    }

    /// Adds the places of one step: those of its program, and program folders in the repository.
    fn with_program(
        &self,
        usual: &Arc<Places>,
        ways: &mut Ways,
        program: Option<&Path>,
        folders: &[&PathBuf],
    ) -> Arc<Places> {
        let mut places = Places {
            toolchains: usual.toolchains.clone(),
            named: usual.named.clone(),
            links: usual.links.clone(),
            outermost: OnceLock::new(),
        };
        let real = program.and_then(|program| ways.real(program));
        if let Some(folder) = real.as_deref().and_then(Path::parent) {
            self.programs(folder, &mut places.toolchains);
        }
        self.add_folders(&mut places, ways, folders);
        let folder = program.and_then(Path::parent).map(Path::to_owned);
        self.add_links(&mut places, ways, folder);
        let count = |places: &Places| places.toolchains.len() + places.links.len();
        if count(&places) == count(usual) {
            return Arc::clone(usual);
        }
        Arc::new(places)
    }

    fn add_folders(&self, places: &mut Places, ways: &mut Ways, folders: &[&PathBuf]) {
        let real = folders.iter().filter_map(|folder| ways.real(folder));
        real.for_each(|folder| self.programs(&folder, &mut places.toolchains));
    }

    /// Adds those of these names that lead over links to a place.
    fn add_links(
        &self,
        places: &mut Places,
        ways: &mut Ways,
        names: impl IntoIterator<Item = PathBuf>,
    ) {
        for name in names {
            let real = ways.real(&name).filter(|real| *real != name);
            let is_known = |real| places.toolchains.contains(&real) || places.named.contains(&real);
            if !name.starts_with(&self.root) && real.is_some_and(is_known) {
                places.links.insert(name);
            }
        }
    }

    /// Returns the folders of programs on a path, with the folders that belong to these programs.
    pub fn of_programs(&self, search: &SearchPath) -> BTreeSet<PathBuf> {
        let (mut places, mut ways) = (Places::default(), Ways::default());
        let folders: Vec<&PathBuf> = search.folders().iter().collect();
        self.add_folders(&mut places, &mut ways, &folders);
        places.toolchains
    }

    /// Adds a folder of programs, a path without links, and, outside of HOME, the one around it: there are
    /// their libraries.
    fn programs(&self, folder: &Path, into: &mut BTreeSet<PathBuf>) {
        if folder.starts_with(&self.root) || folder.parent().is_none() {
            return;
        }
        self.around(folder, into);
        let home = self.home.as_ref();
        let parent = folder.parent().filter(|parent| {
            let is_top = parent.parent().and_then(Path::parent).is_none();
            let is_at_home = home.is_some_and(|home| parent.starts_with(home));
            !is_top && !is_at_home && !self.kept_within(parent)
        });
        into.extend(parent.map(Path::to_owned));
    }

    /// Whether the repository or HOME is this place, or in it.
    fn kept_within(&self, place: &Path) -> bool {
        let home = self.home.as_deref().filter(|home| home.parent().is_some());
        let mut kept = home.into_iter().chain([self.root.as_path()]);
        kept.any(|kept| kept.starts_with(place))
    }

    /// Adds a place, given without links. If it contains the repository or HOME, these are
    /// excluded. HOME may be above all.
    fn around(&self, place: &Path, into: &mut BTreeSet<PathBuf>) {
        if !self.kept_within(place) {
            into.insert(place.to_owned());
            return;
        }
        if place == self.root || self.home.as_deref() == Some(place) {
            return;
        }
        let inside = entries(place).unwrap_or_default().into_iter();
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
    /// The place is in HOME, which is unknown.
    pub fn path_of(&self, named: &str) -> Result<PathBuf, ReadsError> {
        match (named.strip_prefix('~'), &self.home) {
            (Some(below), Some(home)) => Ok(home.join(below.trim_start_matches('/'))),
            (Some(_), None) => Err(ReadsError::Homeless(named.to_owned())),
            (None, _) => Ok(PathBuf::from(named)),
        }
    }

    /// Resolves a value of `reads`, links followed; `None` if it does not exist.
    ///
    /// # Errors
    /// It is in the repository, or the repository in it.
    pub fn resolve(&self, named: &str) -> Result<Option<PathBuf>, ReadsError> {
        let Ok(path) = self.path_of(named)?.canonicalize() else {
            return Ok(None);
        };
        let home = self.home.as_ref();
        if home.is_some_and(|home| home.starts_with(&path)) {
            Err(ReadsError::Home(named.to_owned()))
        } else if path.starts_with(&self.root) || self.root.starts_with(&path) {
            Err(ReadsError::Repository(named.to_owned()))
        } else {
            Ok(Some(path))
        }
    }
}

/// Whether a step with this confinement may change places outside of the repository.
fn is_unconfined(confinement: Confinement) -> bool {
    confinement.level < SandboxLevel::Guard || lacking(Guarantee::OnlyDeclared).is_some()
}

/// Follows the links of paths. Directories that several paths share are read once.
#[derive(Default)]
struct Ways {
    /// The kind of entry at a path whose parents are not links; `None` if it does not exist.
    seen: BTreeMap<OsString, Option<PathPart>>,
}

#[derive(Clone)]
enum PathPart {
    Link(PathBuf),
    /// A folder, or a file.
    Plain,
}

impl Ways {
    /// Returns a path without links. Like `canonicalize`, but a file followed by `..` counts as a
    /// folder. `None` if nothing is there.
    fn real(&mut self, path: &Path) -> Option<PathBuf> {
        let mut left = LINKS;
        self.walk(Path::new("/"), path, &mut left)
    }

    /// `left`: how many links may be followed.
    fn walk(&mut self, from: &Path, path: &Path, left: &mut usize) -> Option<PathBuf> {
        let mut real = from.to_owned();
        for part in path.components() {
            match part {
                Component::RootDir => real = PathBuf::from("/"),
                Component::ParentDir => {
                    real.pop();
                }
                Component::Normal(name) => {
                    let next = real.join(name);
                    real = match self.at(&next)? {
                        PathPart::Plain => next,
                        PathPart::Link(target) => {
                            *left = left.checked_sub(1)?;
                            self.walk(&real, &target, left)?
                        }
                    };
                }
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(real)
    }

    /// Whether one led through a folder.
    fn lead_through(&self, folder: &Path) -> bool {
        let mut seen = self.seen.keys();
        seen.any(|path| Path::new(path).starts_with(folder))
    }

    fn at(&mut self, path: &Path) -> Option<PathPart> {
        if let Some(seen) = self.seen.get(path.as_os_str()) {
            return seen.clone();
        }
        let seen = match readlinkat(CWD, path, Vec::new()) {
            Ok(target) => Some(PathPart::Link(
                OsString::from_vec(target.into_bytes()).into(),
            )),
            // It is there, and no link.
            Err(Errno::INVAL) => Some(PathPart::Plain),
            Err(_) => None,
        };
        self.seen.insert(path.into(), seen.clone());
        seen
    }
}

/// Removes, from sorted places, those inside another one.
fn outermost<'p>(places: impl Iterator<Item = &'p PathBuf>) -> Vec<&'p PathBuf> {
    let mut outermost: Vec<&PathBuf> = Vec::new();
    // A folder comes before its content.
    for place in places {
        if outermost
            .last()
            .is_none_or(|folder| !place.starts_with(folder))
        {
            outermost.push(place);
        }
    }
    outermost
}

/// Returns the path of the program that a step's command names.
fn program(root: &Root, search: &SearchPath, request: &OutsideRequest<'_>) -> Option<PathBuf> {
    let word = request.program?;
    let (program, _) = resolve(root, search, request.dir, word.as_bytes()).ok()?;
    Some(program.path)
}

/// Returns the names and the kinds of the entries of a folder, in no order.
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
    use vplan_base::path::RepoPath;
    use vplan_check::confine::NetworkUse;

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
        assert!(outside.resolve("~/none").unwrap().is_none());
        assert_eq!(
            outside.resolve("~/bin").unwrap(),
            Some(base.join("usr/home/bin"))
        );
        for path in ["usr/src/app", "usr/src/app/x", "usr", ""] {
            let path = base.join(path);
            let _ = std::fs::create_dir_all(&path);
            assert!(outside.resolve(path.to_str().unwrap()).is_err(), "{path:?}");
        }
    }

    #[test]
    fn what_may_have_changed_is_looked_at_again() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for folder in ["tree", "a/bin", "b/bin"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        let link = |at: &str, to: &str| {
            let _ = std::fs::remove_file(base.join(at));
            std::os::unix::fs::symlink(base.join(to), base.join(at)).unwrap();
        };
        link("path", "a/bin");
        link("tree/tools", "a/bin");
        let root = Root::open(&base.join("tree")).unwrap();
        let outside = Outside::new(root.path(), None);
        let search = SearchPath::new(&root, Some(base.join("path").as_os_str().as_bytes()));
        let tools = [RepoPath::parse(b"tools").unwrap()];
        let [free, held] = [SandboxLevel::None, SandboxLevel::Files].map(|level| Confinement {
            level,
            network: NetworkUse::On,
        });
        let request = OutsideRequest {
            program: None,
            dir: &RepoPath::root(),
            reads: &[],
        };
        let leads_to = |search: &SearchPath, to: &str| {
            let places = outside.places(&root, search, &request).unwrap();
            places.toolchains.contains(&base.join(to))
        };
        assert!(leads_to(&search, "a/bin") && !leads_to(&search, "b/bin"));
        link("path", "b/bin");
        assert!(!leads_to(&search, "b/bin"), "nobody runs who could have");
        outside.started(held);
        assert!(!leads_to(&search, "b/bin"));
        outside.ended(held);
        // What a confined step may change is resolved anew each time.
        let with_tools = search.with_tools(&root, &tools);
        assert!(leads_to(&with_tools, "a/bin") && !leads_to(&with_tools, "b/bin"));
        link("tree/tools", "b/bin");
        assert!(leads_to(&with_tools, "b/bin"));
        // Also if a folder elsewhere is a link through the repository.
        link("through", "tree/tools");
        let through = SearchPath::new(&root, Some(base.join("through").as_os_str().as_bytes()));
        assert!(leads_to(&through, "b/bin"));
        link("tree/tools", "a/bin");
        assert!(leads_to(&through, "a/bin"));
        outside.started(free);
        assert!(leads_to(&search, "b/bin"));
        link("path", "a/bin");
        assert!(!leads_to(&search, "b/bin"));
        outside.ended(free);
        assert!(leads_to(&search, "a/bin"));
    }

    #[test]
    fn links_are_followed_as_the_system_follows_them() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("a/b/c")).unwrap();
        std::fs::write(base.join("a/file"), "").unwrap();
        let absolute = base.join("a/b");
        for (link, target) in [
            ("up", "a/b/.."),
            ("a/b/c/far", "../../../a/file"),
            ("absolute", absolute.to_str().unwrap()),
            ("through", "absolute/c/far"),
            ("gone", "a/none"),
            ("loop", "loop/x"),
            ("one", "other"),
            ("other", "one"),
            ("a/b/self", "."),
        ] {
            std::os::unix::fs::symlink(target, base.join(link)).unwrap();
        }
        let mut ways = Ways::default();
        let mut there = 0;
        for path in [
            "",
            ".",
            "a//b/./c",
            "up",
            "up/b/c/far",
            "absolute/../file",
            "absolute/self/self/c",
            "through",
            "through/x",
            "a/file/x",
            "gone",
            "gone/x",
            "loop",
            "one",
            "none",
            "a/none/..",
        ] {
            let path = base.join(path);
            let real = path.canonicalize().ok();
            there += usize::from(real.is_some());
            // Before and after the links on the way are cached.
            for _ in 0..2 {
                assert_eq!(ways.real(&path), real, "{path:?}");
                assert_eq!(Ways::default().real(&path), real, "{path:?}");
            }
        }
        assert_eq!(there, 8);
        assert!(ways.seen.len() < 40, "{}", ways.seen.len());
    }

    #[test]
    fn what_is_in_another_place_is_left_out() {
        let places = [
            "/usr",
            "/usr/bin",
            "/usr-local",
            "/etc",
            "/usr/lib/a",
            "/opt/a/b",
        ];
        let places: BTreeSet<PathBuf> = places.iter().map(PathBuf::from).collect();
        let left = outermost(places.iter()).into_iter();
        let left: Vec<&str> = left.filter_map(|path| path.to_str()).collect();
        assert_eq!(left, ["/etc", "/opt/a/b", "/usr", "/usr-local"]);
    }
}
