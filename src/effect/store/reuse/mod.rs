//! Finds an earlier pass that may replace a step whose turn has come, and keeps new passes. The I/O
//! of `reuse`.

pub mod results;
pub mod scan;
mod tools;

use crate::base::canon::Digest;
use crate::base::glob::Selection;
use crate::base::word::{Word, visible};
use crate::check::Kind;
use crate::check::evidence::EarlierPass;
use crate::check::outcome::Status;
use crate::effect::git::Git;
use crate::effect::git::fingerprint::{Prints, fingerprint, first_difference};
use crate::effect::os::environment::Environment;
use crate::effect::os::files::beneath::Beneath;
use crate::effect::os::process::program::{Root, message_of};
use crate::effect::os::stat_cache::Stats;
use crate::plan::{Note, Plan, Step, StepIndex};
use crate::reuse::decide::{Past, Use, Why, barrier, eligible, keeps, replaces};
use crate::reuse::entry::{KeptPass, Product};
use crate::reuse::key::{JUDGING, Order, Parts, all_of, depends_on};
use crate::run::record::{Confirmation, StepRecord};
use results::{Bounds, Results, StoredPass};
use scan::Scan;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most `produces` files that are kept with a pass.
const MOST_PRODUCTS: usize = 20_000;

/// The state of reuse in one run. The threads of steps query it, the executor updates it.
pub struct Recall<'a> {
    root: &'a Root,
    beneath: Beneath,
    git: Option<Git>,
    environment: &'a Environment,
    results: Results,
    how: Use,
    run_id: String,
    state: Mutex<State>,
    eyes: Mutex<Eyes>,
    /// The number of times that a process of a step has begun or ended.
    epoch: AtomicU64,
    /// The number of running processes.
    running: AtomicUsize,
}

#[derive(Default)]
struct State {
    past: Past,
    /// By step id: the pass to keep when the step ends.
    open: BTreeMap<String, Open>,
    /// By step id: why no earlier pass replaced it.
    why: BTreeMap<String, String>,
    confirmations: BTreeMap<String, Confirmation>,
    notes: Vec<String>,
    kept: usize,
    /// By step id: the key of the pass that was kept in this run.
    keys: BTreeMap<String, Digest>,
    /// The order of the plan that was queried last, with the plan's digest.
    order: Option<(Digest, Arc<Order>)>,
}

impl State {
    fn order(&mut self, plan: &Plan) -> Arc<Order> {
        if let Some((digest, order)) = &self.order
            && plan.digest.as_ref() == Some(digest)
        {
            return Arc::clone(order);
        }
        let order = Arc::new(Order::new(plan));
        self.order = plan
            .digest
            .clone()
            .map(|digest| (digest, Arc::clone(&order)));
        order
    }
}

/// A step that runs.
struct Open {
    key: Digest,
    look: Arc<Look>,
    /// The earlier pass that was expected to replace it.
    expected: Option<Box<KeptPass>>,
    /// The files that it made, once it has ended; or why its end cannot be kept.
    made: Option<Result<Vec<Product>, String>>,
}

/// The inputs of a step at one moment.
#[derive(Clone)]
struct Look {
    parts: Parts,
    files: Arc<Scan>,
    unchanged: Option<Prints>,
}

#[derive(Default)]
struct Eyes {
    stats: Option<Stats>,
    /// The scans since a process last began or ended while none ran, by selection.
    seen: (u64, BTreeMap<String, Arc<Scan>>),
}

impl<'a> Recall<'a> {
    /// Opens it for one run.
    ///
    /// # Errors
    /// The repository's root cannot be opened.
    pub fn new(
        root: &'a Root,
        git: Option<Git>,
        environment: &'a Environment,
        results: Results,
        how: Use,
        run_id: &str,
    ) -> io::Result<Self> {
        Ok(Self {
            root,
            beneath: Beneath::open(root.path())?,
            git,
            environment,
            results,
            how,
            run_id: run_id.to_owned(),
            state: Mutex::default(),
            eyes: Mutex::default(),
            epoch: AtomicU64::new(0),
            running: AtomicUsize::new(0),
        })
    }

    /// Whether [`Recall::look`] is needed before a try of this step.
    #[must_use]
    pub fn concerns(&self, step: &Step, attempt: u32) -> bool {
        attempt == 1 && eligible(step).is_ok()
    }

    /// Reads everything that a step depends on. Returns the earlier pass that replaces it, if one
    /// does; otherwise remembers what is needed to keep this one. Takes as long as reading the
    /// files.
    pub fn look(&self, plan: &Plan, index: StepIndex) -> Option<Box<EarlierPass>> {
        let step = plan.step(index);
        let free = {
            let mut state = self.state();
            let order = state.order(plan);
            let free = barrier(plan, &order, index, &state.past);
            state.past.tried.insert(step.id.clone());
            free
        };
        let look = match self.look_at(plan, index) {
            Ok(look) => Arc::new(look),
            Err(why) => {
                self.state().why.insert(step.id.clone(), why);
                return None;
            }
        };
        let key = look.parts.key();
        let free = free.and_then(|()| {
            if self.how == Use::Keep {
                Err(Why::NotWanted)
            } else {
                Ok(())
            }
        });
        let found = free.and_then(|()| self.find(step, &look.parts, &key));
        let expected = match found {
            Ok(entry) if self.how == Use::Reuse => {
                let mut pass = entry.pass;
                pass.key = Some(key);
                return Some(Box::new(pass));
            }
            Ok(entry) => Some(entry),
            Err(why) => {
                self.state().why.insert(step.id.clone(), why.to_string());
                None
            }
        };
        self.state().open.insert(
            step.id.clone(),
            Open {
                key,
                look,
                expected,
                made: None,
            },
        );
        None
    }

    fn find(&self, step: &Step, parts: &Parts, key: &Digest) -> Result<Box<KeptPass>, Why> {
        let entry = match self.results.get(key) {
            StoredPass::Pass(entry) => entry,
            StoredPass::Damaged => {
                let id = visible(step.id.as_bytes());
                self.state().notes.push(format!(
                    "what was kept of an earlier pass of `{id}` is damaged; it runs"
                ));
                self.results.remove(key);
                return Err(Why::Damaged);
            }
            StoredPass::Nothing => {
                let Some(last) = self.results.last(&step.id) else {
                    return Err(Why::Unknown);
                };
                let what = parts.differences(&last.parts);
                return Err(if what.is_empty() {
                    Why::Unknown
                } else {
                    Why::Differs(what.join(", "))
                });
            }
        };
        let made = self.produced_files(step).map_err(Why::Unsteady)?;
        replaces(step, parts, &entry, |path| {
            made.0.get(path).map(|seen| seen.print.clone())
        })?;
        Ok(entry)
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

    /// Records that all processes of a step have ended.
    pub fn step_ended(&self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Reads a step's inputs and products again when it has ended by itself, before anything that
    /// waits for it begins.
    pub fn look_again(&self, plan: &Plan, index: StepIndex) {
        let step = plan.step(index);
        let Some(before) = self
            .state()
            .open
            .get(&step.id)
            .map(|open| Arc::clone(&open.look))
        else {
            return;
        };
        let made = self.look_at(plan, index).and_then(|after| {
            if let Some(path) = before.files.first_written(&after.files) {
                return Err(format!("`{path}`, an input, was written while it ran"));
            }
            if let (Some(before), Some(after)) = (&before.unchanged, &after.unchanged)
                && let Some(path) = first_difference(before, after)
            {
                return Err(format!("`{path}` was written while it ran"));
            }
            if before.parts != after.parts {
                return Err(format!(
                    "{} changed while it ran",
                    after.parts.differences(&before.parts).join(", ")
                ));
            }
            let made = self.produced_files(step)?;
            match made.0.len() {
                0 if !step.produces.is_empty() => {
                    Err("it made nothing of what it `produces`".to_owned())
                }
                many if many > MOST_PRODUCTS => {
                    Err(format!("it made more than {MOST_PRODUCTS} files"))
                }
                _ => Ok(made
                    .0
                    .iter()
                    .map(|(p, s)| Product {
                        path: p.clone(),
                        print: s.print.clone(),
                    })
                    .collect()),
            }
        });
        if let Some(open) = self.state().open.get_mut(&step.id) {
            open.made = Some(made);
        }
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
        let made = open
            .made
            .unwrap_or_else(|| Err("it did not end by itself".to_owned()));
        if let Some(expected) = &open.expected {
            let difference = difference(expected, record, made.as_ref().ok().map(Vec::as_slice));
            if let Some(what) = &difference {
                let (id, run) = (
                    visible(step.id.as_bytes()),
                    visible(expected.pass.run_id.as_bytes()),
                );
                let message =
                    format!("`{id}` is not what it was in run {run} on the same inputs: {what}");
                state.notes.push(message);
            }
            let confirmation = Confirmation {
                difference,
                run_id: expected.pass.run_id.clone(),
            };
            state.confirmations.insert(step.id.clone(), confirmation);
        }
        match made {
            Ok(products) if keeps(record) => {
                let entry =
                    KeptPass::new(open.look.parts.clone(), products, self.pass(step, record));
                match self.results.put(&entry) {
                    Ok(()) => {
                        state.kept += 1;
                        state.keys.insert(step.id.clone(), open.key);
                    }
                    Err(error) => state
                        .notes
                        .push(format!("a pass could not be kept: {}", message_of(&error))),
                }
            }
            Err(why) if keeps(record) => {
                self.results.remove(&open.key);
                let told = format!("; this pass was not kept: {why}");
                state
                    .why
                    .entry(step.id.clone())
                    .or_default()
                    .push_str(&told);
            }
            // The same inputs gave two results, or this one: neither may replace another run.
            _ => self.results.remove(&open.key),
        }
    }

    fn pass(&self, step: &Step, record: &StepRecord) -> EarlierPass {
        EarlierPass {
            at: crate::effect::store::records::wall_clock(),
            detail: record.detail.clone(),
            duration_ms: record.duration_ms,
            errors: record.errors,
            exit_code: record.exit_code,
            format: record.format.clone(),
            key: None,
            run_id: self.run_id.clone(),
            step: step.id.clone(),
            tests: record.tests,
            warnings: record.warnings,
        }
    }

    /// Adds the results of reuse to the records.
    pub fn attach(&self, records: &mut [StepRecord]) {
        let state = self.state();
        for record in records.iter_mut().filter(|r| r.tries > 0) {
            record.not_reused = state
                .why
                .get(&record.id)
                .map(|why| why.trim_start_matches("; ").to_owned());
            record.confirmation = state.confirmations.get(&record.id).cloned();
        }
    }

    /// Forgets what was kept of these steps in this run.
    pub fn forget(&self, steps: &[String]) {
        let keys = &self.state().keys;
        steps
            .iter()
            .filter_map(|id| keys.get(id))
            .for_each(|key| self.results.remove(key));
    }

    /// Ends the run: stores the digests of files. Returns notes for the report's reader.
    pub fn finish(self) -> Vec<Note> {
        let state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let eyes = self
            .eyes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut notes = state.notes;
        if let Some(stats) = eyes.stats.filter(|s| s.grown)
            && let Err(error) = self.results.write_stats(&stats)
        {
            notes.push(format!(
                "the digests of files could not be kept: {}",
                message_of(&error)
            ));
        }
        if state.kept > 0 {
            // What exceeds the bounds now exceeds them the next time.
            let _ = self.results.collect(Bounds::default());
        }
        notes
            .into_iter()
            .map(|message| Note {
                kind: "reuse".to_owned(),
                message,
                path: None,
            })
            .collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all that a step depends on, now.
    fn look_at(&self, plan: &Plan, index: StepIndex) -> Result<Look, String> {
        let step = plan.step(index);
        let environment = self.environment.of_step(self.root, step);
        let order = self.state().order(plan);
        let wanted = depends_on(step);
        let files = self.scan(&wanted)?;
        if files.0.is_empty() {
            return Err("its `inputs` select no file".to_owned());
        }
        let unchanged = step.unchanged.as_ref().map(|what| {
            let prints = fingerprint(&self.beneath, self.root.path(), self.git.as_ref(), what);
            prints.map_err(|e| {
                format!(
                    "what must stay unchanged cannot be known: {}",
                    message_of(&e)
                )
            })
        });
        let unchanged = unchanged.transpose()?;
        let mut set = files.set();
        if let Some(prints) = &unchanged {
            set.digest = Digest::of(format!("{} {}", set.digest, digest_of(prints)).as_bytes());
            set.count += prints.len() as u64;
        }
        let tools = {
            let mut eyes = self.eyes();
            let stats = eyes.stats.get_or_insert_with(|| self.results.stats());
            tools::tools(self.root, &environment.search, step, stats)?
        };
        let variables = environment.variables.iter();
        let parts = Parts {
            environment: variables
                .map(|(n, v)| (Word::new(n.clone()), self.results.conceal(n, v)))
                .collect(),
            files: set,
            judging: JUDGING,
            place: Digest::of(self.root.path().as_os_str().as_bytes()),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            predecessors: order.settings_before(index),
            settings: order.settings(index).clone(),
            tools,
            vplan: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Ok(Look {
            parts,
            files,
            unchanged,
        })
    }

    /// Reads the files that a step `produces` and that are there.
    fn produced_files(&self, step: &Step) -> Result<Arc<Scan>, String> {
        if step.produces.is_empty() {
            return Ok(Arc::default());
        }
        self.scan(&[all_of(&step.produces)])
    }

    fn eyes(&self) -> MutexGuard<'_, Eyes> {
        self.eyes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scans files. A scan from a time when nothing ran holds until something runs: no step writes
    /// then, and the run verifies the tree as it was at one moment of it.
    fn scan(&self, wanted: &[Selection]) -> Result<Arc<Scan>, String> {
        let name = crate::base::canon::to_canonical(&wanted);
        let mut eyes = self.eyes();
        let epoch = self.epoch.load(Ordering::SeqCst);
        let is_quiet = || {
            self.running.load(Ordering::SeqCst) == 0 && self.epoch.load(Ordering::SeqCst) == epoch
        };
        if eyes.seen.0 != epoch {
            eyes.seen = (epoch, BTreeMap::new());
        }
        if let Some(seen) = eyes.seen.1.get(&name).filter(|_| is_quiet()) {
            return Ok(Arc::clone(seen));
        }
        let stats = eyes.stats.get_or_insert_with(|| self.results.stats());
        let seen = Arc::new(scan::scan(self.root.path(), &self.beneath, wanted, stats)?);
        if is_quiet() {
            eyes.seen.1.insert(name, Arc::clone(&seen));
        }
        Ok(seen)
    }
}

/// Describes how a step differs from an earlier pass on the same inputs.
fn difference(earlier: &KeptPass, record: &StepRecord, made: Option<&[Product]>) -> Option<String> {
    if !matches!(record.status, Status::Passed) {
        let why = record
            .detail
            .as_deref()
            .map_or(String::new(), |d| format!(" ({d})"));
        return Some(format!(
            "it passed then, now it is {}{why}",
            record.status.name().replace('_', " ")
        ));
    }
    if earlier.pass.tests != record.tests {
        return Some("it counted other tests".to_owned());
    }
    if earlier.pass.exit_code != record.exit_code {
        return Some("it ended with another exit code".to_owned());
    }
    let made = made?;
    let of = |list: &[Product]| {
        list.iter()
            .map(|p| (p.path.clone(), p.print.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    let (then, now) = (of(&earlier.products), of(made));
    let differs = then
        .keys()
        .chain(now.keys())
        .filter(|p| then.get(*p) != now.get(*p))
        .min()
        .cloned();
    differs.map(|path| format!("it made another `{path}`"))
}

fn digest_of(prints: &Prints) -> Digest {
    let mut text = String::new();
    for (path, print) in prints {
        text.push_str(&format!("{path:?} {print:?}\n"));
    }
    Digest::of(text.as_bytes())
}

/// Removes stored passes of a repository until these bounds are met: for `vplan gc`.
///
/// # Errors
/// Errors of the system.
pub fn collect(
    state: &crate::effect::os::state_dir::StateDir,
    bounds: Bounds,
) -> io::Result<results::Collected> {
    if !Path::new(&state.path).join(results::FOLDER).is_dir() {
        return Ok(results::Collected::default());
    }
    Results::open(state)?.collect(bounds)
}
