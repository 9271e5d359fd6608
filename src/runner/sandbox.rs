//! Confines steps: determines the guarantees that hold for one on this system, its writable paths,
//! and its temporary folder.

use crate::readable::{
    Listings, MANY_RULES, Private, ReadRule, for_sealed, in_repository, let_read, let_read_outside,
    single_files,
};
use crate::sandbox_error::SandboxError::{self, *};
use crate::sealed::{Products, exists};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_check::confine::{Confined, Confinement, Guarantee, SandboxLevel};
pub use vplan_os::environment::{CONFINED, TEMPORARY};
use vplan_os::hard_links::linked_elsewhere;
use vplan_os::outside::Outside;
use vplan_os::process::confine::{Confine, SEALING, Writable, devices};
pub use vplan_os::process::guarantees::lacking;
use vplan_os::process::program::{Root, SearchPath};
use vplan_os::process::writable::made;
use vplan_os::scratch::{Emptied, ScratchFolders};
use vplan_plan::Step;

/// The common parts of all confined steps of a run.
#[derive(Debug)]
pub struct Sandbox {
    /// Paths in the repository that no step may change.
    reserved: BTreeSet<RepoPath>,
    outside: Arc<Outside>,
    /// Folders in which a file that a step may change can have further names.
    stores: Vec<PathBuf>,
    /// The temporary folders of steps, as soon as one is needed.
    temporary: OnceLock<io::Result<ScratchFolders>>,
    /// The devices that every step may write to, likewise.
    devices: OnceLock<Vec<Writable>>,
    listings: Listings,
}

/// A remark about a step's confinement: its kind, and one line for people.
pub type SandboxRemark = (&'static str, String);

/// A step's own confinement, as long as it runs.
pub(super) struct StepSandbox {
    pub confine: Confine,
    pub confined: Confined,
    /// The outputs that a sealed step makes for others.
    pub products: Option<Products>,
    /// Its temporary folder, which is emptied with it.
    temporary: Option<Emptied>,
    /// The folder of its outputs, likewise.
    _made: Option<Emptied>,
}

impl Sandbox {
    /// Makes one. `reserved`: files of the repository, and files and folders elsewhere or in it, that no
    /// step may change. `home`: the user's folder.
    pub fn new(
        root: &Path,
        own: BTreeSet<RepoPath>,
        elsewhere: &[&Path],
        home: Option<&Path>,
    ) -> Self {
        let inside = elsewhere.iter().filter_map(|path| {
            let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            let below = path.strip_prefix(root).ok()?;
            RepoPath::parse(below.as_os_str().as_bytes()).ok()
        });
        let always = [&b".git"[..], b".vplan"];
        let always = always
            .into_iter()
            .filter_map(|path| RepoPath::parse(path).ok());
        Self {
            reserved: own.into_iter().chain(inside).chain(always).collect(),
            outside: Arc::new(Outside::new(root, home)),
            stores: Vec::new(),
            temporary: OnceLock::new(),
            devices: OnceLock::new(),
            listings: Listings::default(),
        }
    }

    /// Allows hard links to files in these folders: stores of package managers and compilers.
    pub fn with_stores(self, stores: Vec<PathBuf>) -> Self {
        Self { stores, ..self }
    }

    /// Returns the resolver of places outside of the repository, which must be notified when they
    /// may have changed.
    pub fn outside(&self) -> &Arc<Outside> {
        &self.outside
    }

    /// Returns the sandbox of a step; `None` if it requests none.
    ///
    /// # Errors
    /// `writes` cannot be separated from what must not change; the system fails.
    pub(super) fn of_step(
        &self,
        root: &Root,
        search: &SearchPath,
        step: &Step,
    ) -> Result<Option<StepSandbox>, SandboxError> {
        let asked = step.confinement();
        if asked.is_none() {
            return Ok(None);
        }
        let held = held(asked);
        let mut confine = Confine::new(&held).map_err(Unmade)?;
        let (mut temporary, mut made, mut products) = (None, None, None);
        if asked.level >= SandboxLevel::Guard {
            let folder = self.folder()?;
            self.devices
                .get_or_init(devices)
                .iter()
                .try_for_each(|one| confine.let_change(one))
                .map_err(Unmade)?;
            if held.contains(&Guarantee::Absence) {
                let own = (folder.path(), &mut made);
                let own = self.products(root, search, step, own)?;
                own.files.prepare().map_err(Unmade)?;
                own.files
                    .changed()
                    .try_for_each(|own| confine.let_change(&Writable::open(&own)?))
                    .map_err(Unmade)?;
                confine = confine.with_only(own.files.clone());
                products = Some(own);
            } else {
                self.let_change(&confine, root, step)?;
                if held.contains(&Guarantee::DeclaredReads) {
                    self.let_read(&confine, root, search, step)?;
                }
                let place =
                    Writable::open(folder.path()).map_err(|e| TemporaryUnopened(e.into()))?;
                confine
                    .let_change(&place)
                    .and_then(|()| confine.let_read(&place.place, place.is_folder))
                    .map_err(Unmade)?;
            }
            temporary = Some(folder);
        }
        let missing = asked.guarantees().into_iter();
        Ok(Some(StepSandbox {
            confine,
            confined: Confined {
                asked: asked.level,
                missing: missing.filter(|one| !held.contains(one)).collect(),
                network: asked.network,
                reached: held,
            },
            products,
            temporary,
            _made: made,
        }))
    }

    /// Gives a folder for a step alone.
    fn folder(&self) -> Result<Emptied, SandboxError> {
        let folders = self.temporary.get_or_init(ScratchFolders::new).as_ref();
        let folders = folders.map_err(|error| NoTemporary(error.to_string()))?;
        folders
            .make()
            .map_err(|error| NoTemporary(error.to_string()))
    }

    fn let_change(&self, confine: &Confine, root: &Root, step: &Step) -> Result<(), SandboxError> {
        let places = self.places(root, step)?;
        let own: Vec<PathBuf> = places
            .keys()
            .map(|path| root.path().join(path.to_os()))
            .collect();
        self.without_links(root, &own)?;
        // One at a time, since there may be more of them than files can be open.
        for (path, is_file) in places {
            let place = made(root, &path, is_file)?;
            confine.let_change(&place).map_err(Unmade)?;
        }
        Ok(())
    }

    /// Makes sure that no file in these places has names elsewhere: writing it would change those.
    fn without_links(&self, root: &Root, places: &[PathBuf]) -> Result<(), SandboxError> {
        let found = linked_elsewhere(places, &self.stores).map_err(LinksUnlisted)?;
        found.map_or(Ok(()), |file| {
            let path = file.path.strip_prefix(root.path()).unwrap_or(&file.path);
            Err(Linked {
                path: path.to_owned(),
                names: file.names,
            })
        })
    }

    /// Returns the files that exist for a sealed step, and the outputs that it makes for others.
    /// The folder for outputs, if it needs one, is stored in `into`.
    fn products(
        &self,
        root: &Root,
        search: &SearchPath,
        step: &Step,
        (temporary, into): (&Path, &mut Option<Emptied>),
    ) -> Result<Products, SandboxError> {
        let folders = self.folders(root, step)?;
        for folder in &folders {
            made(root, folder, false)?;
        }
        let rules = self.in_sealed(root, step, &folders)?;
        let outside = self.outside.places(root, search, &step.outside_request())?;
        let places = outside.outermost().iter().chain(&outside.links);
        if !folders.is_empty() {
            *into = Some(self.folder()?);
        }
        let own = [temporary, into.as_ref().map_or(temporary, Emptied::path)];
        let files = exists(root, &rules, places.cloned(), &folders, own)?;
        Ok(Products::of_step(
            step,
            files,
            folders,
            self.reserved.clone(),
        ))
    }

    fn in_sealed(
        &self,
        root: &Root,
        step: &Step,
        folders: &BTreeSet<RepoPath>,
    ) -> Result<Vec<ReadRule>, SandboxError> {
        let changed = step.may_change();
        let private = Private { folders, changed };
        for_sealed(root, &self.listings, step, &private)
    }

    /// Returns the folders that a sealed step changes.
    fn folders(&self, root: &Root, step: &Step) -> Result<BTreeSet<RepoPath>, SandboxError> {
        let places = self.places(root, step)?;
        if let Some((file, _)) = places.iter().find(|(_, is_file)| **is_file) {
            return Err(RootFile(file.clone()));
        }
        Ok(places.into_keys().collect())
    }

    fn let_read(
        &self,
        confine: &Confine,
        root: &Root,
        search: &SearchPath,
        step: &Step,
    ) -> Result<(), SandboxError> {
        let_read(confine, root, &in_repository(root, &self.listings, step)?)?;
        let outside = self.outside.places(root, search, &step.outside_request())?;
        let mut places = outside.outermost().iter();
        places.try_for_each(|path| let_read_outside(confine, path))
    }

    /// Checks that the paths that a step may change and read can be separated from all others.
    /// Returns remarks, each with its kind.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(&self, root: &Root, step: &Step) -> Result<Vec<SandboxRemark>, SandboxError> {
        let level = step.confinement().level;
        if level < SandboxLevel::Guard {
            return Ok(Vec::new());
        }
        if let Some(name) = TEMPORARY.iter().find(|name| step.env.contains_key(**name)) {
            return Err(TemporaryNamed(name));
        }
        self.places(root, step)?;
        if level < SandboxLevel::Files {
            return Ok(Vec::new());
        }
        let id = visible(step.id.as_bytes());
        let mut remarks = Vec::new();
        let rules = if level == SandboxLevel::Sealed {
            self.in_sealed(root, step, &self.folders(root, step)?)?
        } else {
            in_repository(root, &self.listings, step)?
        };
        let files = single_files(&rules);
        if files > MANY_RULES {
            remarks.push((
                "many_file_rules",
                format!("{files} single files are named to the system for `{id}`, each time it starts: a glob for whole folders (`src/**`) is one rule each"),
            ));
        }
        for named in &step.reads {
            if self.outside.resolve(named)?.is_none() {
                let named = visible(named.as_bytes());
                remarks.push((
                    "reads_missing",
                    format!("`{named}`, which `{id}` reads, is not there"),
                ));
            }
        }
        Ok(remarks)
    }

    /// Returns the folders below which a step may change everything, and the files that it may change;
    /// those with `true`.
    fn places(&self, root: &Root, step: &Step) -> Result<BTreeMap<RepoPath, bool>, SandboxError> {
        self.places_of(root, step.written_globs())
    }

    /// Returns the places for the globs that a step may change.
    ///
    /// # Errors
    /// The step could change reserved paths.
    pub(crate) fn places_of<'g>(
        &self,
        root: &Root,
        globs: impl IntoIterator<Item = &'g Glob>,
    ) -> Result<BTreeMap<RepoPath, bool>, SandboxError> {
        let mut places = BTreeMap::new();
        for glob in globs {
            for (path, is_literal) in glob.anchors() {
                let (place, is_file) = place(root, glob, path, is_literal)?;
                self.is_free(glob, &place)?;
                places.insert(place, is_file);
            }
        }
        Ok(places)
    }

    fn is_free(&self, glob: &Glob, place: &RepoPath) -> Result<(), SandboxError> {
        let is_within = |path: &RepoPath, dir: &RepoPath| path == dir || path.below(dir).is_some();
        let mut reserved = self.reserved.iter();
        let hit = reserved.find(|one| is_within(one, place) || is_within(place, one));
        hit.map_or(Ok(()), |reserved| {
            Err(Reserved(glob.clone(), reserved.clone()))
        })
    }
}

/// Returns the requested guarantees that do not hold on this system, with the reasons.
pub fn missing(asked: Confinement) -> BTreeMap<Guarantee, String> {
    let asked = asked.guarantees().into_iter();
    asked.filter_map(|one| Some((one, lacking(one)?))).collect()
}

/// Returns the guarantees that hold for a step. Those of namespaces hold all or none, because they
/// come with one mechanism.
fn held(asked: Confinement) -> Vec<Guarantee> {
    let missing = missing(asked);
    let is_there = |one: &Guarantee| !missing.contains_key(one);
    let can_seal = SEALING.iter().all(is_there);
    let all = asked.guarantees().into_iter().filter(is_there);
    all.filter(|one| can_seal || !SEALING.contains(one))
        .collect()
}

/// Returns the folder or file that a step must be able to change, for a glob below a path.
fn place(
    root: &Root,
    glob: &Glob,
    path: RepoPath,
    is_literal: bool,
) -> Result<(RepoPath, bool), SandboxError> {
    let found = root.path().join(path.to_os()).symlink_metadata();
    let kind = found.ok().map(|found| found.file_type());
    let (folder, is_file) = match kind {
        Some(kind) if is_literal && kind.is_file() => {
            let folder = path.folder();
            if folder.is_root() {
                return Ok((path, true));
            }
            (folder, false)
        }
        Some(kind) if kind.is_dir() => (path, false),
        Some(kind) if kind.is_symlink() => {
            return Err(OverLink(glob.clone(), path));
        }
        _ if is_literal => (path.folder(), false),
        _ => (path, false),
    };
    if folder.is_root() {
        return Err(WholeRoot(glob.clone()));
    }
    Ok((folder, is_file))
}

impl StepSandbox {
    /// Puts the variables that name its temporary folder and its level into an environment.
    pub(crate) fn add_variables(&self, variables: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
        let Some(folder) = &self.temporary else {
            return;
        };
        let path = match &self.products {
            Some(_) => &b"/tmp"[..],
            None => folder.path().as_os_str().as_bytes(),
        };
        for name in TEMPORARY {
            variables.insert(name.as_bytes().to_vec(), path.to_vec());
        }
        let level = self.confined.asked.name().as_bytes().to_vec();
        variables.insert(CONFINED.as_bytes().to_vec(), level);
    }
}
