//! Keeps scans of files during a run while they are valid.
//!
//! A scan made while nothing runs is valid until a step runs. It stays valid longer if its folders
//! are watched and no watch reports a change. What is trusted for that reason is compared with the
//! files at the end.

use crate::reuse::other_runs::OtherRuns;
use crate::reuse::scan::{self, InputScan, Same, Snapshots, ToldFiles};
use crate::reuse::unsteady::Unsteady;
use rustix::fd::AsFd as _;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use vplan_base::glob::Selection;
use vplan_base::path::RepoPath;
use vplan_git::snapshot::Snapshot;
use vplan_os::files::beneath::Beneath;
use vplan_os::stat_cache::{StatCacheStats, StatStamp, now};
use vplan_os::watches::{ToldChange, Watches};
use vplan_reuse::key::FileSet;

/// The files of a selection, scanned at one moment.
#[derive(Clone)]
pub(super) struct SeenFiles {
    wanted: Arc<[Selection]>,
    pub files: Arc<InputScan>,
    pub set: FileSet,
    folders: Arc<BTreeMap<RepoPath, StatStamp>>,
    /// A moment before they were scanned.
    since: i128,
    /// Other runs that existed before the scan.
    pub others: Option<OtherRuns>,
    /// How often a process of a step had begun or ended.
    epoch: u64,
    /// Whether all its folders have been watched since.
    is_watched: bool,
    /// Whether any of it was trusted although steps have run since, because no watch had reported
    /// a change.
    pub is_believed: bool,
    /// Changes reported by watches that concern it.
    told: BTreeSet<ToldChange>,
}

impl SeenFiles {
    /// Whether a change may make it other files.
    fn is_about(&self, change: &ToldChange) -> bool {
        self.wanted.iter().any(|what| {
            what.selects(&change.path) || change.is_folder && what.may_hold(&change.path)
        })
    }

    /// Whether a change of this file, or of a folder above it, was reported.
    fn was_told(&self, path: &RepoPath) -> bool {
        let is_told =
            |path: RepoPath, is_folder| self.told.contains(&ToldChange { path, is_folder });
        let mut above = path.ancestors().into_iter();
        is_told(path.clone(), false) || above.any(|folder| is_told(folder, true))
    }
}

/// The circumstances of a look.
pub(super) struct Around<'a> {
    /// The real path of what `beneath` holds.
    pub root: &'a Path,
    pub beneath: &'a Beneath,
    pub trees: &'a dyn Snapshots,
    /// How often a process of a step had begun or ended.
    pub epoch: u64,
    /// Whether no process of a step runs, and none has begun since.
    pub is_quiet: &'a dyn Fn() -> bool,
    /// Looks for other runs.
    pub others: &'a dyn Fn() -> Option<OtherRuns>,
    /// Reads the table of digests.
    pub stats: &'a dyn Fn() -> StatCacheStats,
}

#[derive(Default)]
pub(super) struct Eyes {
    pub stats: Option<StatCacheStats>,
    /// By selection.
    seen: BTreeMap<String, SeenFiles>,
    watches: Watches,
    /// What watches have told since the first snapshot.
    heard: ToldFiles,
    /// Whether a file trusted as unchanged had changed, or may have: no watch reported it, or
    /// reports were lost.
    is_deceived: bool,
    /// Whether any content of the tree was scanned after its newest snapshot.
    pub is_later: bool,
}

impl Eyes {
    /// Hears what watches tell. What is not watched holds no longer than nothing runs.
    fn listen(&mut self, epoch: u64) {
        let Some(changes) = self.watches.take_changes() else {
            self.is_deceived |= self.seen.values().any(|seen| seen.is_believed);
            let stays = |seen: &SeenFiles| seen.epoch == epoch && !seen.is_watched;
            self.seen.retain(|_, seen| stays(seen));
            self.heard = ToldFiles::default();
            return;
        };
        changes.iter().for_each(|change| self.heard.add(change));
        let holds = |seen: &SeenFiles| seen.epoch == epoch || seen.is_watched;
        // It cannot be compared at the end.
        let lost = |seen: &SeenFiles| seen.is_believed && !holds(seen);
        self.is_deceived |= self.seen.values().any(lost);
        self.seen.retain(|_, seen| holds(seen));
        for seen in self.seen.values_mut() {
            let told = changes.iter().filter(|change| seen.is_about(change));
            let told: Vec<ToldChange> = told.cloned().collect();
            seen.told.extend(told);
        }
    }

    /// Returns the files of some selections, `anew` without believing anything.
    ///
    /// # Errors
    /// As [`scan::scan`].
    pub fn scan(
        &mut self,
        around: &Around<'_>,
        wanted: &[Selection],
        anew: bool,
    ) -> Result<SeenFiles, Unsteady> {
        let name = vplan_base::canon::to_canonical(&wanted);
        let Around { epoch, trees, .. } = *around;
        self.listen(epoch);
        let holds = |seen: &&mut SeenFiles| {
            let is_of_now = seen.epoch == epoch && !seen.is_believed;
            (is_of_now || !anew) && seen.told.is_empty() && (around.is_quiet)()
        };
        if let Some(seen) = self.seen.get_mut(&name).filter(holds) {
            seen.is_believed |= seen.epoch != epoch;
            return Ok(seen.clone());
        }
        let others = (around.others)();
        let at_rest = trees.at_rest();
        let same = match &at_rest {
            Some(_) => Same::All,
            None => Same::Watched(&self.heard),
        };
        let tree = at_rest.or_else(|| trees.newest().filter(|_| !anew && (around.is_quiet)()));
        let place = scan::ScanPlace {
            root: around.root,
            beneath: around.beneath,
            tree: tree.as_deref(),
            same,
        };
        let since = now();
        let stats = self.stats.get_or_insert_with(around.stats);
        let scanned = scan::scan(place, wanted, stats)?;
        self.is_later |= scanned.is_later;
        let seen = SeenFiles {
            wanted: wanted.into(),
            set: scanned.scan.set(),
            files: Arc::new(scanned.scan),
            folders: Arc::new(scanned.folders),
            since,
            others,
            epoch,
            is_watched: false,
            is_believed: scanned.is_believed,
            told: BTreeSet::new(),
        };
        // Trusted scans are compared at the end, whatever began meanwhile.
        if (around.is_quiet)() || seen.is_believed {
            self.replace(name, &seen);
        }
        Ok(seen)
    }

    fn replace(&mut self, name: String, seen: &SeenFiles) {
        let before = self.seen.insert(name, seen.clone());
        // Differences that no watch reported had been trusted as unchanged.
        self.is_deceived |= before.filter(|b| b.is_believed).is_some_and(|before| {
            let touched = before.files.touched(&seen.files);
            touched.iter().any(|file| !before.was_told(&file.path))
        });
    }

    /// Watches the folders of the `inputs` of a step that is about to run, as far as they were looked
    /// at while nothing ran; before the first step also the folders of the tree in which `all`
    /// inputs of the plan are.
    pub fn watch(
        &mut self,
        around: &Around<'_>,
        inputs: &[Selection],
        all: impl FnOnce() -> Vec<Selection>,
    ) {
        if !(around.is_quiet)() {
            return;
        }
        let at_rest = around.trees.at_rest();
        let add = |watches: &mut Watches, path: &RepoPath| {
            let folder = around.beneath.folder(path);
            folder.is_ok_and(|folder| watches.add(path, folder.as_fd()))
        };
        if let Some(tree) = at_rest {
            let all = all();
            // Watches on some of them help, too.
            for path in tree.folders() {
                if !self.heard.folders.contains(&path) && all.iter().any(|w| w.may_hold(&path)) {
                    if !add(&mut self.watches, &path) {
                        break;
                    }
                    self.heard.folders.insert(path);
                }
            }
        }
        let name = vplan_base::canon::to_canonical(&inputs);
        if let Some(seen) = self.seen.get_mut(&name)
            && seen.epoch == around.epoch
            && !seen.is_watched
            && !seen.files.has_links()
        {
            let (mut folders, heard) = (seen.folders.keys(), &self.heard.folders);
            seen.is_watched =
                folders.all(|path| heard.contains(path) || add(&mut self.watches, path));
        }
    }

    /// Whether everything trusted as unchanged is. `tree`: as it is at the end of the run.
    pub(crate) fn was_right(&self, beneath: &Beneath, tree: Option<&Snapshot>) -> bool {
        let is_as_before = |seen: &SeenFiles| {
            let changed = seen.files.changed(beneath, tree, seen.since);
            let listed = |(folder, then): (&RepoPath, &StatStamp)| {
                let is_same = |now| StatStamp::from(&now) == *then;
                self.heard.listings.contains(folder) || beneath.status(folder).is_ok_and(is_same)
            };
            changed.iter().all(|path| seen.was_told(path)) && seen.folders.iter().all(listed)
        };
        let mut believed = self.seen.values().filter(|seen| seen.is_believed);
        !self.is_deceived && believed.all(is_as_before)
    }
}
