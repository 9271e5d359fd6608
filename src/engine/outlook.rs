//! Tells what earlier runs say of a plan: which kept passes would replace its steps, what differs
//! for the others, and how long these took before.

use super::beside::known_effects;
use super::open::Session;
use super::place::Engine;
use super::staged::agree;
use crate::base::jobs::Jobs;
use crate::effect::git::Git;
use crate::effect::git::snapshot::Snapshot;
use crate::effect::os::environment::{Environment, Grants};
use crate::effect::os::process::program::Root;
use crate::effect::store::history::History;
use crate::effect::store::reuse::Recall;
use crate::effect::store::reuse::preview::PassPreview;
use crate::effect::store::reuse::results::Results;
use crate::effect::store::reuse::scan::Snapshots;
use crate::plan::Plan;
use crate::plan::beside;
use crate::plan::explain::outlook::{Outlook, StepOutlook};
use crate::reuse::decide::Use;
use crate::run::expected::ExpectedTimes;
use std::cell::OnceCell;
use std::sync::Arc;

impl Engine<'_> {
    /// Returns what earlier runs say of a plan; `None` where none of its steps ran before. What
    /// cannot be read says nothing.
    #[must_use]
    pub fn outlook(&self, session: &Session, plan: &Plan) -> Option<Outlook> {
        let times = expected(session, plan);
        let mut beside = match plan.policy.jobs {
            Jobs::Auto => beside::outlook(plan, &known_effects(session, None, plan)),
            Jobs::Number(_) => Vec::new(),
        }
        .into_iter();
        let mut previews = self.previews(session, plan).unwrap_or_default().into_iter();
        let steps = plan.steps.iter().map(|step| {
            let mut outlook = StepOutlook {
                beside: beside.next(),
                expected_ms: times.of(&step.id, &step.command),
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
        Outlook::of(steps.collect())
    }

    /// Returns what would become of each step that has a kept pass.
    fn previews(&self, session: &Session, plan: &Plan) -> Option<Vec<Option<PassPreview>>> {
        // What is staged and not in the work tree runs in a view, whose files are not here.
        if session.site.is_checkout() || agree(session, plan).is_err() {
            return None;
        }
        let results = Results::find(&self.kept_state(&session.site).ok()??)?;
        let root = Root::open(&session.site.root).ok()?;
        let environment = Environment::of_this_process(&root, Grants::default());
        let git = session.git().cloned();
        let recall = Recall::new(&root, git, &environment, results, Use::Reuse, "").ok()?;
        let tree = Tree {
            git: session.git(),
            snapshot: OnceCell::new(),
        };
        Some(recall.preview(plan, &tree))
    }
}

/// The tree, in which nothing runs.
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
