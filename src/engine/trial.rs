//! Tries a proposed contract once on the commit that is checked out, in a separate checkout, and
//! adjusts the proposal by the result: `vplan init --try`.

use super::infer::Proposed;
use crate::{Code, Engine, Failure, History, RepoPath, Report, Site, first_of, visible};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use vplan_base::vocabulary::{FailureCode, Open};
use vplan_base::word::count;
use vplan_baseline::{Baseline, Recording, record};
use vplan_check::observed::Peer;
use vplan_check::outcome::Status;
use vplan_init::check::ProposedCheck;
use vplan_init::{proposal, text};
use vplan_os::clock::Clock;
use vplan_os::own_program::run_until;
use vplan_os::scratch;
use vplan_os::signals::while_listening;
use vplan_run::record::StepRecord;
use vplan_run::report::TREE_CHANGED;

/// The contract of a trial. It is in no work tree, so a trial never uses the user's contract.
const CONTRACT: &str = "contracts/vplan-try.vplan";
/// Folders of installed dependencies that a checkout links, if the system has no overlay.
const LINKED: [&str; 3] = ["node_modules", ".venv", "vendor"];
/// The time beyond its budget that a trial may take to end its last step.
const GRACE: Duration = Duration::from_secs(30);

/// The end of a trial.
#[derive(Debug)]
pub enum TrialEnd {
    /// It ran: the checks, each with its result in words.
    Ran(Vec<(String, String)>),
    /// It did not run, for this reason. The proposal is unchanged.
    Untried(String),
}

/// Tries a proposal, and adjusts it.
///
/// # Errors
/// The folder for the records cannot be made.
pub fn attempt(
    engine: &Engine<'_>,
    site: &Site,
    found: &mut Proposed,
    budget: Duration,
) -> Result<TrialEnd, Failure> {
    let folder = scratch::temporary().map_err(|e| {
        let message = format!("there is no temporary folder for the trial: {e}");
        Failure::setup("vplan::init::trial", message)
    })?;
    let trial = Trial {
        engine,
        site,
        folder: folder.path(),
        budget,
        clock: Clock::start(),
    };
    let names = found.proposal.checks.iter().map(|check| check.name.clone());
    let names: BTreeSet<String> = names.collect();
    let first = match trial.run(found, &names) {
        Ok(report) => report,
        Err(why) => return Ok(TrialEnd::Untried(why)),
    };
    let mut read = trial.read(found, &first);
    let writers = trial.writers(found, &first);
    let recording = trial.recorded(&first);
    let mut told = Vec::new();
    let mut left_out: BTreeMap<String, String> = BTreeMap::new();
    let mut by_check: BTreeMap<String, &StepRecord> = BTreeMap::new();
    for record in &first.steps {
        if let Some(name) = check_of(found, &record.id) {
            // Of the rows of a check one that did not pass counts.
            let own = by_check.entry(name).or_insert(record);
            *own = if own.status.is_pass() { record } else { own };
        }
    }
    for check in &mut found.proposal.checks {
        let record = by_check.get(&check.name).copied();
        let what = match (record, writers.get(&check.name)) {
            (_, Some(what)) => {
                left_out.insert(check.name.clone(), what.clone());
                format!("left out: {what}")
            }
            (Some(record), None) => {
                let read = read.remove(&check.name).unwrap_or_default();
                outcome(record, check, &read, &recording, &mut left_out)
            }
            (None, None) => "did not run".to_owned(),
        };
        told.push((check.name.clone(), what));
    }
    found.proposal = proposal::without(&found.proposal, &left_out, &found.title, &found.tree);
    let kept = recording.baseline.entries();
    let kept = kept.filter(|entry| check_of(found, &entry.check).is_some());
    let kept: Vec<_> = kept.cloned().collect();
    found.baseline = Baseline::new(kept);
    Ok(TrialEnd::Ran(told))
}

/// The name of the check of a step: a check over packages has a step for each.
fn check_of(found: &Proposed, id: &str) -> Option<String> {
    let checks = || found.proposal.checks.iter();
    let is_row = |check: &&ProposedCheck| {
        let (before, rest) = check.name.split_once('{').unwrap_or((id, ""));
        let after = rest.split_once('}').map(|(_, after)| after);
        after.is_some_and(|after| id.starts_with(before) && id.ends_with(after))
    };
    let own = checks().find(|check| check.name == id);
    own.or_else(|| checks().find(is_row))
        .map(|check| check.name.clone())
}

/// Records the result of a check in it, and returns the result in words. If the check is
/// dropped, adds the reason to the map.
fn outcome(
    record: &StepRecord,
    check: &mut ProposedCheck,
    read: &BTreeSet<RepoPath>,
    recording: &Recording,
    left_out: &mut BTreeMap<String, String>,
) -> String {
    let detail = record.detail.clone().unwrap_or_default();
    match record.status {
        Status::Passed | Status::PassedWithWarnings | Status::Flaky => {
            check.add_inputs(read);
            "passes".to_owned()
        }
        _ if is_missing(record) => {
            let needs = format!("could not be tried: {detail}");
            check.notes.push(needs.clone());
            needs
        }
        Status::Failed => {
            let entries = recording.baseline.entries();
            let known = entries.filter(|entry| entry.check == record.id).count();
            let why = recording.left.iter().find(|left| left.check == record.id);
            if known == 0 || why.is_some() {
                let why = why.map_or("nothing in its output can be told apart", |left| &left.why);
                let what = format!("it fails on the untouched tree ({detail}): {why}");
                left_out.insert(check.name.clone(), what.clone());
                return format!("left out: {what}");
            }
            let known = count(known, "finding");
            let note = format!("{known} of before vplan: `vplan baseline show`");
            check.notes.push(note);
            format!("{known} of before vplan in the baseline")
        }
        Status::TimedOut => {
            check.tier = check.tier.saturating_add(1).min(2);
            check.notes.push(format!("the trial ended it: {detail}"));
            format!("tier {}: {detail}", check.tier)
        }
        _ => {
            check.tier = check.tier.saturating_add(1).min(2);
            format!("did not come to its end, tier {}: {detail}", check.tier)
        }
    }
}

struct Trial<'t> {
    engine: &'t Engine<'t>,
    site: &'t Site,
    /// For records and state.
    folder: &'t Path,
    /// The total time, and the start.
    budget: Duration,
    clock: Clock,
}

impl Trial<'_> {
    /// Runs these checks, or returns the reason why that is impossible, for people.
    fn run(&self, found: &Proposed, names: &BTreeSet<String>) -> Result<Report, String> {
        let git = self.site.git.as_ref().map_err(ToString::to_string)?;
        let mut linked = LINKED.to_vec();
        linked.retain(|name| {
            let path = RepoPath::parse(name.as_bytes());
            self.site.root.join(name).is_dir()
                && path.is_ok_and(|path| !found.tree.has_folder(&path))
        });
        let contract = text::for_trial(&found.proposal.checks, names, &found.tree, &linked);
        let path = RepoPath::parse(CONTRACT.as_bytes()).map_err(|e| format!("{e:?}"))?;
        let index = git.propose(&path, &contract).map_err(|e| e.to_string())?;
        let left = self.budget.saturating_sub(self.clock.elapsed());
        if left.is_zero() {
            return Err("its time was up".to_owned());
        }
        let commit = index.commit().map(ToString::to_string);
        let words = self.words(left, &commit.unwrap_or_default());
        let variable = ("GIT_INDEX_FILE", index.file().as_os_str());
        let left = left + GRACE;
        let output = while_listening(|stop| run_until(&words, Some(variable), left, stop));
        let output = output.map_err(|e| format!("vplan cannot be started once more: {e}"))?;
        if matches!(output.exit, Some(130 | 143)) || output.exit.is_none() {
            return Err("it was interrupted".to_owned());
        }
        serde_json::from_slice(&output.stdout).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            let line = said.lines().find(|line| !line.trim().is_empty());
            visible(line.unwrap_or("vplan ended without a report").as_bytes())
        })
    }

    fn words(&self, left: Duration, commit: &str) -> Vec<OsString> {
        const RUN: &str =
            "run --staged --keep-going --min-tier 2 --no-recover --observe --format json -q";
        let mut words: Vec<OsString> = vec!["-C".into(), self.site.root.clone().into()];
        words.extend(["--contract", CONTRACT, "--state-dir"].map(OsString::from));
        words.push(self.folder.join("state").into());
        if let Some(cache) = self.engine.cache_dir {
            words.extend(["--cache-dir".into(), cache.as_os_str().to_owned()]);
        }
        let budget = format!("{}ms", left.as_millis());
        words.extend(RUN.split(' ').map(OsString::from));
        words.extend(
            ["--contract-from", commit, "--budget", &budget, "--records"].map(OsString::from),
        );
        words.push(self.folder.join("records").into());
        words
    }

    fn history(&self) -> Option<History> {
        History::open(&self.site.root, Some(&self.folder.join("records"))).ok()
    }

    /// Returns the tracked files that each check read. Includes only checks that passed and whose
    /// relevant inputs are all known: nothing untracked except outputs of other checks and
    /// installed files, and no network.
    fn read(&self, found: &Proposed, report: &Report) -> BTreeMap<String, BTreeSet<RepoPath>> {
        let ids = report.steps.iter().map(|step| step.id.as_str());
        let observed = self.history();
        let observed = observed.map(|history| history.observed(&report.run_id, ids));
        let observed = observed.unwrap_or_default();
        let uses = observed.values().flat_map(|one| one.in_repository());
        let made = uses.filter(|(_, uses)| uses.written).map(|(path, _)| path);
        let made: BTreeSet<&RepoPath> = made.collect();
        let is_free = |path: &RepoPath| {
            let first = path.segments().next().unwrap_or_default();
            made.contains(path) || LINKED.iter().any(|name| name.as_bytes() == first)
        };
        let passed = report.steps.iter().filter(|step| step.status.is_pass());
        let read = passed.filter_map(|step| {
            let seen = observed.get(&step.id)?;
            let read = seen.in_repository().filter(|(path, uses)| {
                uses.read && path.segments().all(|segment| segment != b".git")
            });
            let read = read.map(|(path, _)| path);
            let (tracked, other): (Vec<&RepoPath>, Vec<&RepoPath>) =
                read.partition(|path| found.tree.files.contains(*path));
            let is_remote = |peer: &Peer| matches!(peer, Peer::Address(_));
            let is_whole = seen.gaps.is_empty()
                && !seen.peers.keys().any(is_remote)
                && other.into_iter().all(is_free);
            let tracked = tracked.into_iter().cloned().collect();
            is_whole.then(|| (step.id.clone(), tracked))
        });
        read.collect()
    }

    /// Returns the findings of the trial as a baseline.
    fn recorded(&self, report: &Report) -> Recording {
        let plan = self
            .history()
            .and_then(|history| history.plan(&report.run_id).ok()?);
        plan.map_or_else(Recording::default, |plan| {
            record(&Baseline::default(), report, &plan, &[], &BTreeSet::new())
        })
    }

    /// The checks that changed tracked files. If any did, each suspect is run alone. It counts as a
    /// writer unless that run shows otherwise.
    fn writers(&self, found: &Proposed, first: &Report) -> BTreeMap<String, String> {
        if !is_moved(first) && !first.steps.iter().any(is_blamed) {
            return BTreeMap::new();
        }
        let ran = first.steps.iter().filter(|record| record.tries > 0);
        let suspects = ran.filter(|record| !is_missing(record));
        let writer = |record: &StepRecord| {
            let alone = BTreeSet::from([check_of(found, &record.id)?]);
            // The checks that it needs run too.
            let why = match self.run(found, &alone) {
                Err(why) => why,
                Ok(report) => {
                    let own = report.steps.iter().find(|own| own.id == record.id);
                    if own.is_some_and(is_blamed) || is_moved(&report) {
                        return Some(format!("it wrote {}", changed_files(&report)));
                    }
                    match own {
                        Some(own) if own.exit_code.is_some() => return None,
                        _ => "it did not come to its end".to_owned(),
                    }
                }
            };
            let files = changed_files(first);
            Some(format!(
                "perhaps it wrote {files}, and it could not be tried alone ({why})"
            ))
        };
        let mut writers = BTreeMap::new();
        for record in suspects {
            if let (Some(check), Some(what)) = (check_of(found, &record.id), writer(record)) {
                writers.entry(check).or_insert(what);
            }
        }
        writers
    }
}

/// The caveats about tracked files that changed during a run.
const MOVED: [Code; 2] = [Code::IndexDiffers, Code::TreeMoved];

fn is_moved(report: &Report) -> bool {
    report.caveats.iter().any(|c| MOVED.contains(&c.code))
}

fn is_blamed(record: &StepRecord) -> bool {
    record.failure_code.as_deref() == Some(TREE_CHANGED)
}

/// Whether a program that it needs is not there.
fn is_missing(record: &StepRecord) -> bool {
    record.failure_code == Some(Open::Known(FailureCode::SetupOrBootstrap))
}

/// Returns the first tracked files that changed during a run, in words.
fn changed_files(report: &Report) -> String {
    let caveats = report.caveats.iter().filter(|c| MOVED.contains(&c.code));
    let files = caveats
        .flat_map(|c| &c.files)
        .map(|file| format!("`{file}`"));
    let files: BTreeSet<String> = files.collect();
    if files.is_empty() {
        return "tracked files".to_owned();
    }
    first_of(files.iter(), 3)
}

/// Summarises a trial in a line.
pub fn summary(end: &TrialEnd) -> String {
    match end {
        TrialEnd::Untried(why) => format!("not tried: {why}"),
        TrialEnd::Ran(told) => {
            let passed = told.iter().filter(|(_, what)| what == "passes").count();
            let checks = count(told.len(), "check");
            format!("tried on HEAD: {passed} of {checks} pass")
        }
    }
}
