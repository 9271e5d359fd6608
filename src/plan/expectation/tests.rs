//! Tests of the examiner: it finds what looking at every check and every condition would find.

use super::*;
use crate::arbitrary::{contract, expect_of, path_of, request as any_request};
use proptest::prelude::*;
use vplan_arbitrary::config;
use vplan_base::bits::Bits;
use vplan_base::index::{Dense, Index as _};
use vplan_base::span::{SourceId, Span};
use vplan_contract::draft::At;
use vplan_contract::{ConditionIndex, Placement, RiskIndex};

/// A test that is made of a request. `dice`: which paths exist.
fn case(
    contract: &Contract,
    request: &Request,
    dice: u64,
    assertions: Vec<ExpectAssertion>,
) -> Expect {
    let there = contract.sought().into_iter().enumerate();
    let exists = there.filter(|(i, _)| (dice >> i) & 1 == 1);
    Expect {
        assertions,
        ..expect_of(request, exists.map(|(_, sought)| path_of(sought)).collect())
    }
}

/// Looks at every condition, and at all around it.
fn touched(contract: &Contract, role: &str, names: &[String], seen: &ConditionResults) -> Touched {
    let mut around: Dense<ConditionIndex, Option<&[ConditionIndex]>> =
        Dense::filled(None, contract.conditions.len());
    for placement in contract.checks.iter().flat_map(|c| &c.placements) {
        for (depth, condition) in placement.conditions.iter().enumerate() {
            around[*condition].get_or_insert(&placement.conditions[..depth]);
        }
    }
    let mut found = Touched {
        role: role.to_owned(),
        checks: Vec::new(),
        held: Bits::none(contract.conditions.len()),
        failed: Bits::none(contract.conditions.len()),
        pulled: Vec::new(),
    };
    for name in names {
        let mut checks = contract.checks.numbered();
        let check = checks.find(|(_, c)| c.id == *name);
        found.checks.extend(check.map(|(i, _)| i));
    }
    for condition in contract.conditions.indices() {
        let above = around[condition].unwrap_or_default();
        if above.iter().any(|c| !seen.holds.has(*c)) || seen.open.contains(&condition) {
            continue;
        }
        match seen.holds.has(condition) {
            true => found.held.set(condition),
            false => found.failed.set(condition),
        }
    }
    for risk in 0..contract.risks.len() {
        let risk = RiskIndex::new(risk);
        found.pulled.extend(seen.pulled[risk].then_some(risk));
    }
    found
}

proptest! {
    #![proptest_config(config(256))]

    /// One after another, so that a test that left something to the next one would show.
    #[test]
    fn a_test_ends_as_with_all_reasons(
        mut contract in contract(),
        is_deep in any::<bool>(),
        cases in prop::collection::vec(
            (any_request(), any::<u64>(), prop::collection::vec((0..12_usize, 0..3_usize), 0..12)),
            1..5,
        ),
    ) {
        if is_deep {
            let conditions = contract.conditions.indices().collect();
            let placements = &mut contract.checks[CheckIndex::new(0)].placements;
            placements.insert(0, Placement { conditions, ..placements[0].clone() });
        }
        let examiner = Examiner::new(&contract);
        for (request, dice, drawn) in cases {
            let place = |i: usize| Place::new(SourceId::default(), Span::new(i, i));
            let names = |kind: usize| -> Vec<At<String>> {
                let of_kind = drawn.iter().enumerate().filter(|(_, (_, k))| *k == kind);
                of_kind
                    .map(|(i, (n, _))| {
                        let check = contract.checks.iter().nth(*n);
                        let value = check.map_or(format!("other-{n}"), |c| c.id.clone());
                        At { value, place: place(i) }
                    })
                    .collect()
            };
            let kinds = [AssertionKind::Plan, AssertionKind::Runs, AssertionKind::Skips];
            let assertions = kinds.into_iter().enumerate().map(|(k, kind)| ExpectAssertion {
                kind,
                names: names(k),
                place: place(100 + k),
            });
            // With one of them, or all.
            let of = dice as usize % 4;
            let assertions = assertions.enumerate().filter(|(k, _)| of == 3 || *k == of);
            let expect = case(&contract, &request, dice >> 2, assertions.map(|(_, a)| a).collect());
            let role = expect.role.clone().unwrap_or("worker".to_owned());
            let (asked, mut facts) = (super::request(&expect), examiner.facts(&expect));
            let assembled = assemble(Some(&contract), &asked, &facts, None);
            let Ok(Assembled::Plan(mut plan, seen)) = assembled else {
                return Err(TestCaseError::fail("no plan"));
            };
            name_definitions(&mut plan, &asked.changed, &mut facts, |_| Facts::default());
            let verdict = examiner.evaluate(&expect);
            prop_assert_eq!(&verdict, &examiner.verdict(&expect, &plan, &seen, role.clone()));
            prop_assert_eq!(&verdict.touched, &touched(&contract, &role, &verdict.plan, &seen));

            // Each name twice, as checks in batches have it.
            let mut twice = *plan;
            let again = twice.steps.iter().cloned().map(|s| Step { tier: 9, ..s });
            twice.steps = twice.steps.iter().cloned().chain(again).collect();
            let again = twice.omitted.iter().cloned().map(|o| Omitted { line: None, ..o });
            twice.omitted = twice.omitted.iter().cloned().chain(again).collect();
            let (plan, names) = (twice, [&verdict.plan[..], &verdict.plan].concat());
            let view = View::new(&examiner, &plan, &names);
            for name in contract.checks.iter().map(|c| &c.id).chain(&verdict.plan) {
                let place = names.iter().position(|n| n == name);
                prop_assert_eq!(view.places.get(name.as_str()).copied(), place);
                let step = plan.steps.iter().rfind(|s| s.check() == name);
                prop_assert_eq!(view.steps.get(name.as_str()).copied(), step);
                let omitted = plan.omitted.iter().find(|o| o.id == *name);
                prop_assert_eq!(view.omitted.get(name.as_str()).copied(), omitted);
            }
        }
    }
}
