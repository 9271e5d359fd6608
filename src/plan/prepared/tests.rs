//! Tests of prepared contracts: they plan as contracts do.

use super::*;
use crate::Step;
use crate::arbitrary::{contract, facts, request};
use crate::compile::{Assembled, assemble};
use crate::facts::Question;
use crate::request::Request;
use crate::select::ConditionResults;
use proptest::prelude::*;
use vplan_arbitrary::config;

/// What both ways have in common: all but reasons.
type Common = Result<(Vec<Step>, ConditionResults), BTreeSet<Question>>;

fn planned(
    contract: &Contract,
    request: &Request,
    facts: &Facts,
    prepared: Option<&Prepared<'_>>,
) -> Option<Common> {
    let assembled = assemble(Some(contract), request, facts, prepared).ok()?;
    Some(match assembled {
        Assembled::Needs(questions) => Err(questions),
        Assembled::Plan(plan, seen) => {
            let bare = |step: Step| Step {
                reasons: Vec::new(),
                ..step
            };
            Ok((plan.steps.into_iter().map(bare).collect(), seen))
        }
    })
}

proptest! {
    #![proptest_config(config(256))]

    /// One after another, so that a request that left something to the next one would show.
    #[test]
    fn a_prepared_contract_plans_the_same(
        contract in contract(),
        requests in prop::collection::vec((request(), facts(), any::<bool>()), 1..5),
    ) {
        let prepared = Prepared::new(&contract);
        for (request, facts, known) in &requests {
            let facts = if *known { facts.clone() } else { Facts::default() };
            prop_assert_eq!(
                planned(&contract, request, &facts, Some(&prepared)),
                planned(&contract, request, &facts, None)
            );
        }
    }
}
