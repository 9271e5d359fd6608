//! Previews a run by the records of earlier ones: which cached passes would replace steps, what
//! differs for the others, how long steps took, and which steps may run in parallel.

use super::staged::agree;
use crate::{Engine, Git, History, Plan, Root, Session};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use vplan_base::jobs::Jobs;
use vplan_git::snapshot::Snapshot;
use vplan_os::environment::{Environment, Grants};
use vplan_plan::explain::forecast::{Outlook, StepOutlook};
use vplan_plan::parallel;
use vplan_plan::parallel::ParallelPairs;
use vplan_plan::parallel::known::KnownEffects;
use vplan_reuse::decide::Use;
use vplan_run::expected::ExpectedTimes;
use vplan_store::reuse::RunCache;
use vplan_store::reuse::preview::PassPreview;
use vplan_store::reuse::results::StoredResults;
use vplan_store::reuse::scan::Snapshots;

impl Engine<'_> {
    /// Summarises earlier runs of a plan; `None` if none of its steps ran before. Unreadable
    /// records are ignored.
    pub fn forecast(&self, session: &Session, plan: &Plan) -> Option<Outlook> {
        let times = expected(session, plan);
        let mut beside = match plan.policy.jobs {
            Jobs::Auto => parallel::forecast(plan, &known_effects(session, None, plan)),
            Jobs::Number(_) => Vec::new(),
        }
        .into_iter();
        let mut previews = self.previews(session, plan).unwrap_or_default().into_iter();
        let steps = plan.steps.iter().map(|step| {
            let mut outlook = StepOutlook {
                beside: beside.next(),
                expected_ms: times.get(&step.id, &step.command),
                id: step.id.clone(),
                ..StepOutlook::default()
            };
            match previews.next().flatten() {
                Some(PassPreview::Replaced(pass)) => {
                    outlook.expected_ms = outlook.expected_ms.or(Some(pass.duration_ms));
                    outlook.replaced_by = Some(pass.run_id);
                }
                Some(PassPreview::Runs(why, took_ms)) => {
                    outlook.expected_ms = outlook.expected_ms.or(Some(took_ms));
                    outlook.differs = why.difference();
                    outlook.not_reused = Some(why.to_string());
                }
                None => {}
            }
            outlook
        });
        Outlook::sum(steps.collect())
    }

    /// Returns a preview of each step that has a cached pass.
    fn previews(&self, session: &Session, plan: &Plan) -> Option<Vec<Option<PassPreview>>> {
        // If staged files differ from the work tree, the run happens in a view, whose files are not
        // here.
        if session.site.is_checkout() || agree(session, plan).is_err() {
            return None;
        }
        let results = StoredResults::find(&self.kept_state(&session.site).ok()??)?;
        let root = Root::open(&session.site.root).ok()?;
        let environment = Environment::of_this_process(&root, Grants::default());
        let git = session.git().cloned();
        let recall = RunCache::new(&root, git, &environment, results, Use::Reuse, "").ok()?;
        let tree = Tree {
            git: session.git(),
            snapshot: OnceCell::new(),
        };
        Some(recall.preview(plan, &tree))
    }
}

/// A tree in which nothing runs.
struct Tree<'g> {
    git: Option<&'g Git>,
    snapshot: OnceCell<Option<Arc<Snapshot>>>,
}

impl Snapshots for Tree<'_> {
    fn newest(&self) -> Option<Arc<Snapshot>> {
        let take = || {
            self.git
                .map(Git::snapshot_of_comparison)?
                .ok()
                .map(Arc::new)
        };
        self.snapshot.get_or_init(take).clone()
    }

    fn at_rest(&self) -> Option<Arc<Snapshot>> {
        self.newest()
    }
}

/// Returns how long the steps of a plan took in the latest recorded runs.
fn expected(session: &Session, plan: &Plan) -> ExpectedTimes {
    let steps = plan.steps.iter();
    let steps = steps.map(|step| (step.id.clone(), step.command.clone()));
    let mut times = ExpectedTimes::new(steps);
    if let Ok(history) = History::open(&session.site.home, None) {
        history.add_latest(&mut times);
    }
    times
}

/// Search limit: the number of newest runs that are examined.
const LOOKED_AT: usize = 200;

/// Returns which steps of a plan may run in parallel, by the records in a directory.
pub(super) fn parallel_pairs(
    session: &Session,
    records: Option<&Path>,
    plan: &Plan,
) -> ParallelPairs {
    ParallelPairs::decide(plan, &known_effects(session, records, plan))
}

/// Returns the recorded effects of the steps of a plan's contract. Unreadable records are ignored.
/// Anyone who can write records can influence which steps run in parallel, and nothing else.
pub(super) fn known_effects(
    session: &Session,
    records: Option<&Path>,
    plan: &Plan,
) -> KnownEffects {
    let mut known = KnownEffects::new(plan);
    let Ok(history) = History::open(&session.site.home, records) else {
        return known;
    };
    let ids = history.ids().unwrap_or_default();
    for id in ids
        .iter()
        .take(LOOKED_AT)
        .filter(|id| history.is_observed(id))
    {
        if let Some((run, passed)) = recorded(&history, id)
            && is_of(plan, &run)
        {
            add(&mut known, &history, id, &run, &passed);
        }
    }
    known
}

/// Whether two plans are of the same contract.
fn is_of(plan: &Plan, run: &Plan) -> bool {
    let path = |plan: &Plan| plan.contract.as_ref().map(|contract| contract.path.clone());
    path(plan) == path(run)
}

/// Reads the plan of a run that is over, and the ids of the steps that passed.
fn recorded(history: &History, id: &str) -> Option<(Plan, BTreeSet<String>)> {
    let report = history.report(id).ok().flatten()?;
    let steps = report.steps.into_iter();
    let passed = steps
        .filter(|step| step.status.is_pass())
        .map(|step| step.id);
    Some((history.plan(id).ok().flatten()?, passed.collect()))
}

fn add(
    known: &mut KnownEffects,
    history: &History,
    id: &str,
    run: &Plan,
    passed: &BTreeSet<String>,
) {
    let wanted = || run.steps.iter().filter(|step| known.wants(step));
    let mut observed = history.observed(id, wanted().map(|step| step.id.as_str()));
    for step in &run.steps {
        if let Some(observed) = observed.remove(&step.id) {
            known.add(step, passed.contains(&step.id), observed);
        }
    }
}
