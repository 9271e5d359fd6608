//! Finds an earlier pass that may replace a step whose turn has come, and keeps new passes. The I/O
//! of `reuse`.

mod confirm;
pub mod content;
mod eyes;
pub mod other_runs;
mod outside;
pub mod preview;
pub mod results;
pub mod scan;
mod sharing;
mod step_inputs;
mod tools;
pub mod unsteady;

use crate::shared::SharedCache;
use confirm::Expected;
use eyes::{Around, Eyes, SeenFiles};
use other_runs::{OtherRuns, RunMark};
use outside::Toolchains;
use results::{Bounds, StoredPass, StoredResults};
use scan::{InputScan, Snapshots};
use sharing::{SeenInputs, Sharing, ToShare};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use step_inputs::{Made, Open, Pending, StepInputs};
use unsteady::{MOST_PRODUCTS, MOST_WRITTEN, Unsteady};
use vplan_base::canon::Digest;
use vplan_base::glob::Selection;
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, framed, visible};
use vplan_check::Kind;
use vplan_check::confine::SandboxLevel;
use vplan_check::difference::{Difference, DifferenceKind};
use vplan_check::evidence::EarlierPass;
use vplan_check::outcome::Status;
use vplan_git::Git;
use vplan_git::environment as variable;
use vplan_git::fingerprint::{GitPrints, fingerprint, first_difference};
use vplan_git::snapshot::Snapshot;
use vplan_os::environment::{Environment, StepEnvironment, TEMPORARY};
use vplan_os::files::beneath::Beneath;
use vplan_os::outside::Outside;
use vplan_os::parallel::locked;
use vplan_os::process::program::{Root, SearchPath, message_of};
use vplan_os::stat_cache::StatCacheStats;
use vplan_plan::{Note, Plan, Step, StepIndex};
use vplan_reuse::decide::{NoReuseReason, RunSoFar, Use, barrier, eligible, replaces};
use vplan_reuse::entry::{KeptPass, Product};
use vplan_reuse::key::{JUDGING, KeyOrder, Parts, all_of, depends_on};
use vplan_reuse::own_output::{inherited, may_be_output};
use vplan_reuse::shared::SharedParts;
use vplan_run::record::{Confirmation, StepRecord};

/// The state of reuse in one run. The threads of steps query it, the executor updates it.
pub struct RunCache<'a> {
    root: &'a Root,
    beneath: Beneath,
    git: Option<Git>,
    environment: &'a Environment,
    results: StoredResults,
    how: Use,
    run_id: String,
    /// Shows this run to others; without it, what a step wrote is not told from what they wrote.
    mark: Option<&'a RunMark>,
    state: Mutex<State>,
    eyes: Mutex<Eyes>,
    outside: Arc<Outside>,
    toolchains: Toolchains,
    /// By the folders of a PATH: those that lead to programs.
    leading: Mutex<BTreeMap<Vec<PathBuf>, Vec<u8>>>,
    /// By which passes are shared with other machines.
    sharing: Option<Sharing<'a>>,
    /// The number of times that a process of a step has begun or ended.
    epoch: AtomicU64,
    /// The number of running processes.
    running: AtomicUsize,
}

#[derive(Default)]
struct State {
    past: RunSoFar,
    /// By step id: the pass to keep when the step ends.
    open: BTreeMap<String, Open>,
    /// By step id: why no earlier pass replaced it, and what differs.
    why: BTreeMap<String, (String, Option<Difference>)>,
    /// By step id: passes that are kept when the run has ended: then it is known whether git ignores
    /// all that they wrote, and whether what watches did not tell is as it was.
    pending: BTreeMap<String, Pending>,
    confirmations: BTreeMap<String, Confirmation>,
    notes: Vec<String>,
    kept: usize,
    /// By step id: the key of the pass that was kept in this run.
    keys: BTreeMap<String, Digest>,
    /// By step id: the passes that were kept in this run and are shared once it has ended, as then it is known
    /// whether they count.
    to_share: BTreeMap<String, ToShare>,
    /// The order of the plan that was queried last, with the plan's digest.
    order: Option<(Digest, Arc<KeyOrder>)>,
}

impl State {
    fn order(&mut self, plan: &Plan) -> Arc<KeyOrder> {
        if let Some((digest, order)) = &self.order
            && plan.digest.as_ref() == Some(digest)
        {
            return Arc::clone(order);
        }
        let order = Arc::new(KeyOrder::new(plan));
        let digest = plan.digest.clone();
        self.order = digest.map(|digest| (digest, Arc::clone(&order)));
        order
    }
}

impl<'a> RunCache<'a> {
    /// Opens it for one run.
    ///
    /// # Errors
    /// The repository's root cannot be opened.
    pub fn new(
        root: &'a Root,
        git: Option<Git>,
        environment: &'a Environment,
        results: StoredResults,
        how: Use,
        run_id: &str,
    ) -> io::Result<Self> {
        let home = variable("HOME").map(PathBuf::from);
        Ok(Self {
            root,
            beneath: Beneath::open(root.path())?,
            git,
            environment,
            results,
            how,
            run_id: run_id.to_owned(),
            mark: None,
            state: Mutex::default(),
            eyes: Mutex::default(),
            outside: Arc::new(Outside::new(root.path(), home.as_deref())),
            toolchains: Toolchains::default(),
            leading: Mutex::default(),
            sharing: None,
            epoch: AtomicU64::new(0),
            running: AtomicUsize::new(0),
        })
    }

    /// Sets the mark of the run.
    pub fn marked(self, mark: Option<&'a RunMark>) -> Self {
        Self { mark, ..self }
    }

    /// Sets who says what is outside of the repository, and whether it may have changed.
    pub fn seeing(self, outside: Option<&Arc<Outside>>) -> Self {
        let outside = outside.map_or(self.outside, Arc::clone);
        Self { outside, ..self }
    }

    /// Sets by which passes are shared.
    pub fn sharing(self, cache: Option<&'a SharedCache>) -> Self {
        let sharing = cache.map(|cache| Sharing::new(self.root, self.environment, cache));
        let sharing = sharing.and_then(Result::ok);
        Self { sharing, ..self }
    }

    /// Whether [`RunCache::find_pass`] is needed before a try of this step.
    pub fn concerns(&self, step: &Step, attempt: u32) -> bool {
        attempt == 1 && eligible(step).is_ok()
    }

    /// Reads everything that a step depends on. Returns the earlier pass that replaces it, if one
    /// does; otherwise remembers what is needed to keep this one. Takes as long as reading the
    /// files.
    pub fn find_pass(
        &self,
        plan: &Plan,
        index: StepIndex,
        trees: &dyn Snapshots,
    ) -> Option<Box<EarlierPass>> {
        let step = plan.step(index);
        let free = {
            let mut state = self.state();
            let order = state.order(plan);
            let free = barrier(plan, &order, index, &state.past);
            state.past.tried.insert(step.id.clone());
            free
        };
        let mut look = match self.look_at(plan, index, trees, false) {
            Ok(look) => Arc::new(look),
            Err(why) => {
                self.runs(step, why.to_string(), None);
                return None;
            }
        };
        let mut key = look.parts.key();
        let free = free.and(match self.how {
            Use::Keep => Err(NoReuseReason::NotWanted),
            _ => Ok(()),
        });
        let is_free = free.is_ok();
        let mut found = free.and_then(|()| self.find(step, &look, &key, trees));
        let asked = self.sharing.as_ref().filter(|_| step.shared && is_free);
        if (found.is_ok() || asked.is_some()) && look.is_believed {
            // No pass replaces a step because a watch has told nothing.
            match self.look_at(plan, index, trees, true) {
                Ok(again) => look = Arc::new(again),
                Err(why) => {
                    self.runs(step, why.to_string(), None);
                    return None;
                }
            }
            key = look.parts.key();
            found = self.find(step, &look, &key, trees);
        }
        let is_replaced = found.is_ok() && self.how == Use::Reuse;
        let is_kept = self.sharing.as_ref().is_some_and(Sharing::is_written);
        let is_shared = !is_replaced && (asked.is_some() || is_kept);
        let shared = is_shared.then(|| self.shared_parts(step, &look)).flatten();
        let mut expected = Vec::new();
        if let Some((sharing, parts)) = asked.zip(shared.as_ref()) {
            if self.how == Use::Confirm {
                expected.extend(sharing.expected(step, parts));
            } else if let Some((pass, wrote)) = sharing.find(step, parts) {
                // Whoever looked at the tree before looks again.
                let changes = if wrote { 2 } else { 0 };
                self.epoch.fetch_add(changes, Ordering::SeqCst);
                return Some(pass);
            }
        }
        match found {
            Ok(entry) if self.how == Use::Reuse => {
                self.results.touch(&key);
                let mut pass = entry.pass;
                pass.key = Some(key);
                return Some(Box::new(pass));
            }
            Ok(entry) => expected.push(Expected::own(*entry)),
            Err(why) => {
                if why == NoReuseReason::Damaged {
                    let id = visible(&step.id);
                    let note =
                        format!("what was kept of an earlier pass of `{id}` is damaged; it runs");
                    self.state().notes.push(note);
                    self.results.remove(&key);
                }
                // Without a pass of it there is nothing that it could differ from.
                let differs = why.difference().filter(|_| self.results.has_last(&step.id));
                self.runs(step, why.to_string(), differs);
            }
        }
        let open = Open {
            key,
            look,
            expected,
            shared: shared.filter(|_| is_kept),
            made: None,
        };
        self.state().open.insert(step.id.clone(), open);
        self.watch(plan, step, trees);
        None
    }

    /// Returns what a pass of a step rests on wherever it is, where passes of it are shared.
    fn shared_parts(&self, step: &Step, look: &StepInputs) -> Option<SharedParts> {
        let seen = SeenInputs {
            parts: &look.parts,
            files: &look.files,
            held: look.unchanged.as_ref().map(digest_of),
            since: self.outside.unchanged_since(),
        };
        self.sharing.as_ref()?.parts(step, &seen)
    }

    /// Remembers why no earlier pass replaces a step.
    fn runs(&self, step: &Step, why: String, differs: Option<Difference>) {
        let id = visible(&step.id);
        tracing::debug!("`{id}` is not reused: {why}");
        self.state().why.insert(step.id.clone(), (why, differs));
    }

    /// Finds the pass that may replace a step. Changes nothing.
    fn find(
        &self,
        step: &Step,
        look: &StepInputs,
        key: &Digest,
        trees: &dyn Snapshots,
    ) -> Result<Box<KeptPass>, NoReuseReason> {
        let entry = match self.results.get(key) {
            StoredPass::Pass(entry) => entry,
            StoredPass::Damaged => return Err(NoReuseReason::Damaged),
            StoredPass::Nothing => return Err(self.since_last(step, look)),
        };
        let made = self.produced_files(step, trees)?;
        let product = |path: &RepoPath| made.get(path).map(|seen| seen.print.clone());
        // To know the tree may take a while, and few passes depend on it.
        let tree = (!entry.wrote.is_empty()).then(|| trees.newest()).flatten();
        let is_ignored = |path: &RepoPath| tree.as_ref().is_some_and(|tree| !tree.holds(path));
        replaces(step, &look.parts, &entry, product, is_ignored)?;
        Ok(entry)
    }

    /// Returns what has changed since the last pass of a step that was kept.
    fn since_last(&self, step: &Step, look: &StepInputs) -> NoReuseReason {
        let Some((last, listing)) = self.results.last(&step.id) else {
            return NoReuseReason::Unknown;
        };
        let files = match listing.zip(look.listing()) {
            Some((then, now)) => {
                let file =
                    |(path, change): (RepoPath, _)| Difference::file(change, path.as_bytes());
                let files = then.changes(&now).into_iter().map(file).collect();
                // The step is about to run, and what it leaves is listed, too.
                *look.listed() = Some(now);
                files
            }
            None if last.parts.files == look.parts.files => Vec::new(),
            None => vec![Difference::unnamed(DifferenceKind::File)],
        };
        match Difference::first_of(look.parts.differences(&last.parts, files)) {
            Some(difference) => NoReuseReason::Differs(difference),
            None => last
                .inherited
                .map_or(NoReuseReason::Unknown, NoReuseReason::Inherited),
        }
    }

    /// Records that a process of a step is about to begin.
    pub fn started(&self, step: &Step) {
        self.running.fetch_add(1, Ordering::SeqCst);
        self.epoch.fetch_add(1, Ordering::SeqCst);
        // A judge answers, and writes no files.
        if step.kind != Kind::Judge {
            self.state().past.ran.insert(step.id.clone());
        }
    }

    /// Records that a step is executed elsewhere: its pass is that of other tools, and is not kept.
    pub fn went_away(&self, step: &Step) {
        let mut state = self.state();
        // It may leave what it makes here.
        state.past.ran.insert(step.id.clone());
        state.open.remove(&step.id);
    }

    /// Records that what a step has left elsewhere was written here: whoever looked at the tree before looks
    /// again.
    pub fn came_back(&self) {
        self.epoch.fetch_add(2, Ordering::SeqCst);
    }

    /// Records that all processes of a step have ended.
    pub fn step_ended(&self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Reads a step's inputs and products again when it has ended by itself, before anything that
    /// waits for it begins.
    pub fn look_again(&self, plan: &Plan, index: StepIndex, trees: &dyn Snapshots) {
        let step = plan.step(index);
        let open = |open: &Open| (Arc::clone(&open.look), open.shared.clone());
        let Some((before, shared)) = self.state().open.get(&step.id).map(open) else {
            return;
        };
        let after = self.look_at(plan, index, trees, false);
        // What it rests on there may have changed by others, too: a toolchain.
        let shared = shared.zip(after.as_ref().ok()).and_then(|(then, after)| {
            let now = self.shared_parts(step, after)?;
            if now != then
                && let Some(sharing) = &self.sharing
            {
                sharing.is_not_shared(&step.id, "what it rests on changed while it ran");
            }
            (now == then).then_some(now)
        });
        let made = after.and_then(|after| self.made(step, &before, &after, trees));
        if let Some(open) = self.state().open.get_mut(&step.id) {
            open.made = Some(made);
            open.shared = shared;
        }
    }

    /// Tells what a step left, or why its end cannot be kept.
    fn made(
        &self,
        step: &Step,
        before: &StepInputs,
        after: &StepInputs,
        trees: &dyn Snapshots,
    ) -> Result<Made, Unsteady> {
        let touched = if Arc::ptr_eq(&before.files, &after.files) {
            Vec::new()
        } else {
            before.files.touched(&after.files)
        };
        if let Some(first) = touched.first() {
            let written = |by| Unsteady::InputWritten(first.path.clone(), by);
            // A file that is not there yet is looked for in the tree at the end of the run, too.
            let tree = trees.newest().ok_or_else(|| written(""))?;
            let ignored = may_be_output(&touched, |path| !tree.holds(path));
            ignored.map_err(|path| Unsteady::InputWritten(path.clone(), ""))?;
            if !self.ran_alone(before) {
                return Err(written(", as other steps did"));
            }
            let now = self.other_runs();
            let others = before.others.as_ref().zip(now.as_ref());
            if !others.is_some_and(|(before, now)| before.is_alone_until(now)) {
                return Err(written(", as another run of vplan did"));
            }
        }
        if let (Some(before), Some(after)) = (&before.unchanged, &after.unchanged)
            && let Some(path) = first_difference(before, after)
        {
            return Err(Unsteady::UnchangedWritten(path.clone()));
        }
        let compared = Parts {
            files: before.parts.files.clone(),
            ..after.parts.clone()
        };
        if let Some(what) = Difference::first_of(compared.differences(&before.parts, Vec::new())) {
            return Err(Unsteady::Differs(what));
        }
        let wrote = touched.iter().filter(|file| file.is_changed());
        let wrote: Vec<RepoPath> = wrote.map(|file| file.path.clone()).collect();
        if wrote.len() > MOST_WRITTEN {
            return Err(Unsteady::TooManyWritten);
        }
        let products = self.products(step, trees)?;
        // With other settings it is another program, whose passes say nothing of this one.
        let then = self.results.last(&step.id);
        let then = then.filter(|(last, _)| last.parts.settings == before.parts.settings);
        let then = then.and_then(|(_, listing)| listing);
        let inherited = inherited(&touched, then.as_ref()).cloned();
        let listed = before.listed().take();
        let listed = listed.filter(|_| before.has_files_of(after));
        let listing = listed.or_else(|| after.listing());
        let listing = listing.map(|l| l.with_output(&touched, then.as_ref()));
        // Without the list, a later run cannot determine what changed, and trusts less.
        let listing = listing.and_then(|listing| self.results.put_listing(&listing).ok());
        Ok(Made {
            products,
            wrote,
            inherited,
            parts: after.parts.clone(),
            listing,
            is_believed: before.is_believed || after.is_believed,
        })
    }

    /// Whether, between a look at the inputs of a step that has run since and now, processes of
    /// that step alone have run.
    fn ran_alone(&self, before: &StepInputs) -> bool {
        let begun_and_ended = before.quiet.and_then(|epoch| epoch.checked_add(2));
        begun_and_ended == Some(self.epoch.load(Ordering::SeqCst))
            && self.running.load(Ordering::SeqCst) == 0
    }

    /// Finds other runs, if they can be detected.
    fn other_runs(&self) -> Option<OtherRuns> {
        self.mark.and_then(|mark| mark.others().ok())
    }

    /// Reads what a step made of what it `produces`.
    fn products(&self, step: &Step, trees: &dyn Snapshots) -> Result<Vec<Product>, Unsteady> {
        let made = self.produced_files(step, trees)?;
        match made.len() {
            0 if !step.produces.is_empty() => return Err(Unsteady::MadeNothing),
            many if many > MOST_PRODUCTS => return Err(Unsteady::MadeTooMany),
            _ => {}
        }
        let product = |(path, seen): (&RepoPath, &scan::ScannedFile)| Product {
            path: path.clone(),
            print: seen.print.clone(),
        };
        Ok(made.files().map(product).collect())
    }

    /// Keeps the result of a step that has ended, if it counts; else forgets what was kept.
    pub fn ended(&self, step: &Step, record: Option<&StepRecord>) {
        let mut state = self.state();
        let Some(open) = state.open.remove(&step.id) else {
            return;
        };
        let Some(record) = record.filter(|r| r.status != Status::NotRun) else {
            return;
        };
        let made = open.made.unwrap_or(Err(Unsteady::Ended));
        let products = made.as_ref().ok().map(|made| made.products.as_slice());
        if let Some((confirmation, notes)) = confirm::all(&open.expected, record, products) {
            state.notes.extend(notes);
            state.confirmations.insert(step.id.clone(), confirmation);
        }
        state.pending.remove(&step.id);
        match made {
            Ok(made) if record.is_reusable() => {
                let pass = self.pass(step, record);
                let mut entry = KeptPass::new(open.look.parts.clone(), made.products, pass);
                entry.wrote = made.wrote;
                entry.inherited = made.inherited;
                let left = !entry.wrote.is_empty() && entry.inherited.is_none();
                let pending = Pending {
                    left: left.then(|| entry.left(made.parts)),
                    entry,
                    listing: made.listing,
                    is_believed: made.is_believed,
                    shared: open.shared,
                };
                if pending.entry.wrote.is_empty() && !pending.is_believed {
                    self.keep(&mut state, pending);
                } else {
                    state.pending.insert(step.id.clone(), pending);
                }
            }
            Err(why) if record.is_reusable() => {
                self.results.remove(&open.key);
                let told = format!("; this pass was not kept: {why}");
                let said = &mut state.why.entry(step.id.clone()).or_default().0;
                said.push_str(&told);
            }
            // The same inputs gave two results, or this one: neither may replace another run.
            _ => self.results.remove(&open.key),
        }
    }

    fn keep(&self, state: &mut State, pending: Pending) {
        let Pending {
            entry,
            left,
            listing,
            shared,
            ..
        } = pending;
        if let Some(parts) = shared.filter(|_| entry.wrote.is_empty()) {
            let (products, pass) = (entry.products.clone(), entry.pass.clone());
            let to_share = ToShare {
                parts,
                products,
                pass,
            };
            state.to_share.insert(entry.pass.step.clone(), to_share);
        }
        let put_left = |()| left.iter().try_for_each(|left| self.results.put_left(left));
        match self
            .results
            .put(&entry, listing.as_ref())
            .and_then(put_left)
        {
            Ok(()) => {
                state.kept += 1;
                state.keys.insert(entry.pass.step, entry.key);
            }
            Err(error) => {
                let why = message_of(&error);
                state.notes.push(format!("a pass could not be kept: {why}"));
            }
        }
    }

    fn pass(&self, step: &Step, record: &StepRecord) -> EarlierPass {
        EarlierPass {
            at: crate::records::wall_clock(),
            detail: record.detail.clone(),
            duration_ms: record.duration_ms,
            errors: record.errors,
            exit_code: record.exit_code,
            format: record.format.clone(),
            key: None,
            run_id: self.run_id.clone(),
            scope: None,
            signed_by: None,
            step: step.id.clone(),
            tests: record.tests,
            warnings: record.warnings,
        }
    }

    /// Adds the results of reuse to the records.
    pub fn attach(&self, records: &mut [StepRecord]) {
        let state = self.state();
        for record in records.iter_mut().filter(|r| r.tries > 0) {
            let why = state.why.get(&record.id);
            record.not_reused = why.map(|(why, _)| why.trim_start_matches("; ").to_owned());
            record.differs = why.and_then(|(_, differs)| differs.clone());
            record.confirmation = state.confirmations.get(&record.id).cloned();
        }
    }

    /// Whether any content of the tree was scanned after its newest snapshot.
    pub fn is_later(&self) -> bool {
        self.eyes().is_later
    }

    /// Forgets what was kept of these steps in this run.
    pub fn forget(&self, steps: &[String]) {
        let mut state = self.state();
        for id in steps {
            state.pending.remove(id);
            state.to_share.remove(id);
            if let Some(key) = state.keys.get(id) {
                self.results.remove(key);
            }
        }
    }

    /// Keeps the passes that wrote files, where git ignores them all, and those that rest on
    /// watches, where these were right. `tree`: as it is at the end of the run.
    fn settle(&self, tree: Option<&Snapshot>, records: &mut [StepRecord]) {
        let pending = std::mem::take(&mut self.state().pending);
        let was_right =
            pending.values().all(|p| !p.is_believed) || self.eyes().was_right(&self.beneath, tree);
        let is_ignored = |path: &RepoPath| tree.is_some_and(|tree| !tree.holds(path));
        let mut state = self.state();
        for (id, pending) in pending {
            let other = pending.entry.wrote.iter().find(|path| !is_ignored(path));
            let why = match other.cloned() {
                Some(path) => NoReuseReason::NotIgnored(path),
                None if pending.is_believed && !was_right => {
                    NoReuseReason::Unsteady("a file was written that no watch told of".to_owned())
                }
                None => {
                    self.keep(&mut state, pending);
                    continue;
                }
            };
            let record = records.iter_mut().find(|record| record.id == id);
            if let Some(record) = record {
                let said = framed("", record.not_reused.take(), "; ");
                record.not_reused = Some(format!("{said}this pass was not kept: {why}"));
            }
        }
    }

    /// Ends the run: keeps what is left to keep, stores the digests of files. `tree`: as it is now,
    /// if that is known. `is_over`: whether to share no more. Returns notes for the report's reader.
    pub fn finish(
        self,
        tree: Option<&Snapshot>,
        records: &mut [StepRecord],
        is_over: &mut dyn FnMut() -> bool,
    ) -> Vec<Note> {
        self.settle(tree, records);
        let state = std::mem::take(&mut *self.state());
        let stats = self.eyes().stats.take();
        let mut notes = state.notes;
        if let Some(sharing) = &self.sharing {
            sharing.share(state.to_share.into_values(), is_over);
            notes.extend(sharing.notes());
        }
        if let Some(stats) = stats.filter(StatCacheStats::is_worth_writing)
            && let Err(error) = self.results.write_stats(&stats)
        {
            let why = message_of(&error);
            notes.push(format!("the digests of files could not be kept: {why}"));
        }
        if state.kept > 0 {
            // What exceeds the bounds now exceeds them the next time.
            let _ = self.results.collect(Bounds::default());
        }
        let note = |message| Note::new("reuse", message);
        notes.into_iter().map(note).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Reads all inputs of a step: `anew`, or as far as earlier scans are no longer valid.
    fn look_at(
        &self,
        plan: &Plan,
        index: StepIndex,
        trees: &dyn Snapshots,
        anew: bool,
    ) -> Result<StepInputs, Unsteady> {
        let step = plan.step(index);
        let quiet = self.epoch.load(Ordering::SeqCst);
        let quiet = (self.running.load(Ordering::SeqCst) == 0).then_some(quiet);
        let environment = self.environment;
        let environment = environment.of_step(self.root, step.environment_request());
        let order = self.state().order(plan);
        let wanted = depends_on(step);
        let SeenFiles {
            files,
            mut set,
            others,
            is_believed,
            ..
        } = self.scan(&wanted, trees, anew)?;
        if files.is_empty() {
            return Err(Unsteady::NoFiles);
        }
        let unchanged = step.unchanged.as_ref();
        let prints = |what| fingerprint(&self.beneath, self.root.path(), self.git.as_ref(), what);
        let unchanged = unchanged.map(prints).transpose();
        let unchanged = unchanged.map_err(Unsteady::Unchanged)?;
        if let Some(prints) = &unchanged {
            set.digest = Digest::hash(format!("{} {}", set.digest, digest_of(prints)).as_bytes());
            set.count += prints.len() as u64;
        }
        let tools = {
            let mut eyes = self.eyes();
            let stats = eyes.stats.get_or_insert_with(|| self.results.stats());
            tools::tools(self.root, &environment.search, step, stats)?
        };
        let (mut reads, mut toolchains) = (None, None);
        if step.confinement().level >= SandboxLevel::Files {
            reads = outside::digest_named(&self.outside, &step.reads)?;
            let places = step.outside_request();
            let places = self.outside.places(self.root, &environment.search, &places);
            let places = places.map_err(Unsteady::Outside)?;
            toolchains = Some(self.toolchains.state(&self.outside, &places)?);
        }
        let parts = Parts {
            enforced: step.confinement().guarantees(),
            environment: self.variables(step, &environment),
            files: set,
            judging: JUDGING,
            place: Digest::hash(self.root.path().as_os_str().as_bytes()),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            predecessors: order.settings_before(index),
            reads,
            settings: order.settings(index).clone(),
            toolchains,
            tools,
            vplan: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Ok(StepInputs {
            parts,
            files,
            unchanged,
            quiet,
            others,
            is_believed,
            listed: Mutex::default(),
        })
    }

    /// Returns the variables that a step sees, with the digests of their values. PATH counts by the programs that it
    /// leads to, and the temporary folder of a confined step is its own.
    fn variables(&self, step: &Step, environment: &StepEnvironment) -> Vec<(Word, Digest)> {
        let is_confined = step.confinement().level >= SandboxLevel::Guard;
        let is_own = |name: &[u8]| TEMPORARY.iter().any(|one| one.as_bytes() == name);
        let variables = environment.variables.iter();
        let variables = variables.filter(|(name, _)| !(is_confined && is_own(name)));
        let digest = |(name, value): (&Vec<u8>, &Vec<u8>)| {
            let digest = match name.as_slice() {
                b"PATH" => (self.results).conceal(name, &self.leading(&environment.search)),
                _ => self.results.conceal(name, value),
            };
            (Word::new(name.clone()), digest)
        };
        variables.map(digest).collect()
    }

    /// Returns the folders of programs that a PATH leads to, as one text.
    fn leading(&self, search: &SearchPath) -> Vec<u8> {
        let mut known = locked(&self.leading);
        let found = known.entry(search.folders().to_vec()).or_insert_with(|| {
            let folders = search.leading(self.root).into_iter();
            let folders: Vec<_> = folders.map(|f| f.into_os_string().into_vec()).collect();
            folders.join(&b':')
        });
        found.clone()
    }

    /// Reads the files that a step `produces` and that are there.
    fn produced_files(
        &self,
        step: &Step,
        trees: &dyn Snapshots,
    ) -> Result<Arc<InputScan>, Unsteady> {
        if step.produces.is_empty() {
            return Ok(Arc::default());
        }
        let seen = self.scan(&[all_of(&step.produces)], trees, true)?;
        Ok(seen.files)
    }

    fn eyes(&self) -> MutexGuard<'_, Eyes> {
        locked(&self.eyes)
    }

    /// Scans files: `anew`, or as far as earlier scans are no longer valid.
    fn scan(
        &self,
        wanted: &[Selection],
        trees: &dyn Snapshots,
        anew: bool,
    ) -> Result<SeenFiles, Unsteady> {
        let mut eyes = self.eyes();
        self.around(trees, |around| eyes.scan(around, wanted, anew))
    }

    fn around<T>(&self, trees: &dyn Snapshots, act: impl FnOnce(&Around<'_>) -> T) -> T {
        let epoch = self.epoch.load(Ordering::SeqCst);
        let is_quiet = || {
            self.running.load(Ordering::SeqCst) == 0 && self.epoch.load(Ordering::SeqCst) == epoch
        };
        act(&Around {
            root: self.root.path(),
            beneath: &self.beneath,
            trees,
            epoch,
            is_quiet: &is_quiet,
            others: &|| self.other_runs(),
            stats: &|| self.results.stats(),
        })
    }

    /// Watches the inputs of a step that is about to run, and before the first one those of all.
    fn watch(&self, plan: &Plan, step: &Step, trees: &dyn Snapshots) {
        let steps = plan.steps.iter().filter(|step| eligible(step).is_ok());
        let all = || steps.flat_map(depends_on).collect();
        let mut eyes = self.eyes();
        self.around(trees, |around| eyes.watch(around, &depends_on(step), all));
    }
}

fn digest_of(prints: &GitPrints) -> Digest {
    let mut text = String::new();
    for (path, print) in prints {
        text.push_str(&format!("{path:?} {print:?}\n"));
    }
    Digest::hash(text.as_bytes())
}

/// Removes stored passes of a repository until these bounds are met: for `vplan gc`.
///
/// # Errors
/// Errors of the system.
pub fn collect(
    state: &vplan_os::state_dir::StateDir,
    bounds: Bounds,
) -> io::Result<results::CollectedResults> {
    if !Path::new(&state.path).join(results::FOLDER).is_dir() {
        return Ok(results::CollectedResults::default());
    }
    StoredResults::open(state)?.collect(bounds)
}
