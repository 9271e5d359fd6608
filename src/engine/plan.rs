//! Makes the plan: compiles the contract, answers the compiler's questions about the repository,
//! calls the proposer, and repairs steps that are known to fail.

use super::base_contract::{attach, of_look};
use super::baseline;
use super::judge_commit::JudgeCommit;
use super::open::inferred;
use super::propose::ProposerUse;
use super::request::deny;
use crate::{ChangeSet, Contract, Engine, Facts, Failure, Plan, PlanRequest, Session};
use std::collections::BTreeSet;
use vplan_plan::caveat;
use vplan_plan::compared::Compared;
use vplan_plan::compile::{Compiled, compile_with};
use vplan_plan::facts::{MAX_FACT_ROUNDS, Question};
use vplan_plan::request::{Mode, Request};
use vplan_recover as recover;
use vplan_repo::changes::gathered::Gathered;
use vplan_repo::facts::{self, FactSources};

impl Engine<'_> {
    /// Makes the plan for a change, as `vplan plan` prints it: with the caveats about the contract
    /// compared with that of the base. No proposer is started.
    ///
    /// # Errors
    /// A request that does not fit, or a file that is missing or invalid, with the exit code.
    pub fn plan(&self, requested: &PlanRequest) -> Result<Plan, Failure> {
        let (_, plan, _) = self.planned(requested)?;
        Ok(plan)
    }

    /// Makes the plan, and returns with it the session and the facts that it was made from.
    ///
    /// # Errors
    /// As [`Engine::plan`].
    pub fn planned(&self, requested: &PlanRequest) -> Result<(Session, Plan, Facts), Failure> {
        let mut session = self.open(requested)?;
        let (mut plan, facts) = session.plan(requested, ProposerUse::Recorded)?;
        self.add_comparisons(&session, &mut plan)?;
        Ok((session, plan, facts))
    }

    /// For a preview, adds the differences of the contract and the baseline from the base.
    ///
    /// # Errors
    /// A baseline that cannot be used.
    pub fn add_comparisons(&self, session: &Session, plan: &mut Plan) -> Result<(), Failure> {
        let judge = JudgeCommit::find(session, self);
        attach(plan, of_look(session, self, &judge));
        let found = baseline::of_look(session, self, judge.commit.as_ref())?;
        baseline::attach(plan, found);
        Ok(())
    }
}

impl Session {
    /// Compiles the plan, calls the proposer if the mode requires it, and repairs steps that are
    /// certain to fail.
    ///
    /// # Errors
    /// A request that does not fit the contract (exit 2), a step that `--deny` refuses (exit 40), a
    /// proposer that must not be called (exit 4). If a proposer fails, the plan has only the
    /// contract's checks, with a caveat.
    pub fn plan(
        &mut self,
        requested: &PlanRequest,
        asking: ProposerUse,
    ) -> Result<(Plan, Facts), Failure> {
        let made = self.make(
            requested,
            asking,
            !requested.no_preflight && !requested.request.no_recover,
        )?;
        deny(&made.0, &requested.deny)?;
        Ok(made)
    }

    /// Makes the plan with or without preflight, and refuses no step.
    ///
    /// # Errors
    /// As [`Session::plan`], except that no step is refused.
    pub fn make(
        &mut self,
        requested: &PlanRequest,
        asking: ProposerUse,
        preflight: bool,
    ) -> Result<(Plan, Facts), Failure> {
        let mut facts = Facts::default();
        let mode = self.request.mode;
        let mut failed = None;
        self.request.proposal = if mode == Mode::Llm {
            self.proposal(requested, asking, true, &mut failed)?
        } else {
            None
        };
        if mode == Mode::Hybrid {
            self.request.inferred.clear();
        }
        let mut plan = self.compile(&mut facts)?;
        if mode == Mode::Hybrid && plan.steps.is_empty() {
            self.request.proposal = self.proposal(requested, asking, false, &mut failed)?;
            if self
                .request
                .proposal
                .as_ref()
                .is_none_or(|p| p.commands.is_empty())
            {
                self.request.inferred = inferred(&self.site)?;
            }
            plan = self.compile(&mut facts)?;
        }
        let unseen = self.skipped_path_caveats(&plan, &facts)?;
        if preflight {
            for _ in 0..MAX_FACT_ROUNDS {
                let questions = recover::preflight_questions(&plan, &facts);
                if questions.is_empty() {
                    break;
                }
                tracing::debug!(
                    questions = questions.len(),
                    "looking for steps that are known to break"
                );
                facts.0.extend(self.answer(&questions).0);
            }
            plan = recover::preflight(plan, &facts);
        }
        self.annotate(&mut plan, &facts);
        plan.caveats.extend(unseen);
        plan.caveats.extend(self.lookalikes());
        plan.caveats.extend(failed);
        Ok((plan, facts))
    }

    /// Compiles, and gathers the facts that the compiler requests.
    fn compile(&self, facts: &mut Facts) -> Result<Plan, Failure> {
        self.compiled(self.contract(), &self.request, facts)
    }

    /// Compiles for another contract or another request of the same repository.
    ///
    /// # Errors
    /// A request that does not fit the contract (exit 2).
    pub(super) fn compiled(
        &self,
        contract: Option<&Contract>,
        request: &Request,
        facts: &mut Facts,
    ) -> Result<Plan, Failure> {
        for round in 1..=MAX_FACT_ROUNDS {
            match compile_with(contract, request, facts, |asked| self.answer(asked))? {
                Compiled::Plan(compiled) => {
                    tracing::debug!(
                        round,
                        steps = compiled.steps.len(),
                        omitted = compiled.omitted.len(),
                        digest = compiled.digest.as_ref().map(tracing::field::display),
                        "compiled"
                    );
                    return Ok(*compiled);
                }
                Compiled::Needs(questions) => {
                    tracing::debug!(round, questions = questions.len(), "compiling needs facts");
                    facts.0.extend(self.answer(&questions).0);
                }
            }
        }
        Err(Failure::internal("compiling asks for facts without end"))
    }

    /// Adds caveats about the comparison, and about changes that it may not include.
    fn annotate(&self, plan: &mut Plan, facts: &Facts) {
        let Gathered {
            changes,
            description,
            default,
            caveats,
            ..
        } = &self.gathered;
        plan.compared = Some(Compared {
            base: self.gathered.compared_with().map(ToString::to_string),
            branch: default.as_ref().and_then(|d| d.reference.clone()),
            changed: changes.len(),
            earlier_checks: self.earlier_checks(plan, facts),
            what: description.clone(),
        });
        let nothing = changes.is_empty() || plan.steps.is_empty();
        plan.caveats
            .extend(caveats.iter().cloned().map(|mut caveat| {
                // Commits that were not examined could contain everything there is to verify.
                if caveat.code == caveat::Code::BaseUnknown
                    && nothing
                    && self.request.mode != Mode::Off
                {
                    caveat.effect = caveat::Effect::Incomplete;
                }
                caveat
            }));
    }

    /// Counts the steps that are in the plan because of files that only earlier commits changed.
    fn earlier_checks(&self, plan: &Plan, facts: &Facts) -> Option<usize> {
        let earlier = self.gathered.earlier.as_ref()?;
        if earlier.is_empty() {
            return Some(0);
        }
        let others = self
            .request
            .changed
            .files()
            .iter()
            .filter(|f| !earlier.contains(&f.path))
            .cloned()
            .collect();
        let request = Request {
            changed: ChangeSet::new(others),
            ..self.request.clone()
        };
        let without = self
            .compiled(self.contract(), &request, &mut facts.clone())
            .ok()?;
        fn checks(plan: &Plan) -> BTreeSet<&str> {
            plan.steps
                .iter()
                .map(|s| s.batch_of.as_ref().unwrap_or(&s.id).as_str())
                .collect()
        }
        Some(checks(plan).difference(&checks(&without)).count())
    }

    /// Answers questions about the repository. An answer that cannot be determined is "unknown",
    /// which has no effect.
    pub fn answer(&self, questions: &BTreeSet<Question>) -> Facts {
        let ground = FactSources {
            root: &self.site.root,
            git: self.git(),
            base: self.gathered.base.as_ref(),
            changes: &self.request.changed,
        };
        facts::answer(questions, &ground).unwrap_or_default()
    }
}
