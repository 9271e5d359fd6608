//! The inputs of a round in addition to its repository: the contract, the change, earlier runs, and
//! the ledger.

use crate::continuation::request_lost;
use crate::forecast::parallel_pairs;
use crate::replanning::ReplannedRound;
use crate::round::Keeper;
use crate::staged::Linked;
use crate::{Caveat, Facts, Plan, Report};
use std::collections::BTreeSet;
use std::sync::Arc;
use vplan_check::baseline::KnownFindings;
use vplan_plan::audit::findings::ObservedFindings;
use vplan_plan::facts::Question;
use vplan_plan::parallel::ParallelPairs;
use vplan_repo::contents::ContentTree;
use vplan_run::record::StepRecord;
use vplan_store::last_passes::Earlier;

/// The world of a round.
pub(super) struct RoundWorld<'k> {
    /// The round, which may have to make its plan again.
    pub round: ReplannedRound<'k>,
    /// The definition of a change.
    pub tree: ContentTree<'k>,
    /// The linked folders, as they were before the run.
    pub linked: Option<Linked>,
    /// Records the round.
    pub keeper: Option<Keeper<'k>>,
    /// The passes of earlier runs.
    pub earlier: Option<Earlier<'k>>,
    /// The known findings and failing tests.
    pub known: Option<Arc<KnownFindings>>,
}

impl RoundWorld<'_> {
    /// Answers questions about the repository.
    pub fn answer(&self, questions: &BTreeSet<Question>) -> Facts {
        self.round.session.answer(questions)
    }

    /// Decides which steps of a plan may run in parallel, for `jobs auto`.
    pub fn parallel_pairs(&self, plan: &Plan) -> ParallelPairs {
        let records = self.round.requested.records.as_deref();
        parallel_pairs(self.round.session, records, plan)
    }

    /// Compares the contract with the observed effects of the steps of this run. `run`: its name.
    pub fn findings(&self, run: &str) -> ObservedFindings {
        let ReplannedRound {
            engine,
            requested,
            session,
            ..
        } = self.round;
        match requested.observe {
            true => engine.observed_findings(session, requested, run),
            false => ObservedFindings::default(),
        }
    }

    /// Makes the caveats about passes in comparison with earlier ones.
    pub fn compare(&self, plan: &Plan, records: &[StepRecord]) -> Vec<Caveat> {
        let earlier = self.earlier.iter();
        let found = earlier.flat_map(|earlier| earlier.compare(plan, records));
        let lost = self.keeper.as_ref().and_then(|_| request_lost(plan));
        found.chain(lost).collect()
    }

    /// Completes the report before it is recorded: the ledger's decision. Meanwhile no signal ends
    /// vplan.
    pub fn conclude(&self, report: &mut Report) {
        let changed = self.linked.iter().filter_map(Linked::changed);
        report.caveats.extend(changed);
        let keeper = self.keeper.iter();
        keeper.for_each(|keeper| keeper.conclude(report, &self.tree));
    }
}
