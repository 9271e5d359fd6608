//! Tells, before anything runs and without changing anything, which steps of a plan an earlier pass
//! would replace.

use super::RunCache;
use super::scan::Snapshots;
use vplan_check::Kind;
use vplan_check::evidence::EarlierPass;
use vplan_plan::{Plan, Step, StepIndex};
use vplan_reuse::decide::{NoReuseReason, RunSoFar, barrier, eligible};
use vplan_reuse::key::KeyOrder;

/// What would become of a step that passed before.
#[derive(Debug)]
pub enum PassPreview {
    /// This pass would replace it.
    Replaced(Box<EarlierPass>),
    /// It would run; how long its last pass took, in milliseconds.
    Runs(NoReuseReason, u64),
}

impl RunCache<'_> {
    /// Predicts the result of each step, in plan order, if it passed before with `inputs`. A step
    /// that would run counts as one that may change the inputs of later steps, as in a run.
    pub fn preview(&self, plan: &Plan, trees: &dyn Snapshots) -> Vec<Option<PassPreview>> {
        let order = KeyOrder::new(plan);
        let mut past = RunSoFar::default();
        let mut previews = Vec::new();
        for (index, step) in plan.numbered_steps() {
            let preview = self.preview_of(plan, (&order, &past), index, trees);
            let is_replaced = matches!(preview, Some(PassPreview::Replaced(_)));
            if !is_replaced && starts_a_process(step) {
                past.ran.insert(step.id.clone());
            }
            previews.push(preview);
        }
        previews
    }

    fn preview_of(
        &self,
        plan: &Plan,
        (order, past): (&KeyOrder, &RunSoFar),
        index: StepIndex,
        trees: &dyn Snapshots,
    ) -> Option<PassPreview> {
        let step = plan.step(index);
        eligible(step).ok()?;
        // Where nothing was kept of it, its files need not be read.
        let (last, _) = self.results.last(&step.id)?;
        let found = barrier(plan, order, index, past).and_then(|()| {
            let look = self.look_at(plan, index, trees, false)?;
            self.find(step, &look, &look.parts.key(), trees)
        });
        Some(match found {
            Ok(entry) => PassPreview::Replaced(Box::new(entry.pass)),
            Err(why) => PassPreview::Runs(why, last.pass.duration_ms),
        })
    }
}

/// Whether a step may change what others see: a judge answers, and writes no files.
fn starts_a_process(step: &Step) -> bool {
    !matches!(step.kind, Kind::File | Kind::Judge)
}
