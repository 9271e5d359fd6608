//! Computes which tiers a request reaches, and why.

use super::request::{Boundary, Request, Risk};
use super::{Note, Tier};
use vplan_base::index::Dense;
use vplan_base::word::visible;
use vplan_contract::{self as contract, RiskIndex};

/// Returns the reached tiers, ascending, and a remark for each trigger that was lowered. `pulled`:
/// whether a changed file pulled each trigger.
pub fn reach(
    risks: &[contract::Risk],
    pulled: &Dense<RiskIndex, bool>,
    request: &Request,
) -> (Vec<Tier>, Vec<Note>) {
    let fired = || {
        let all = risks.iter().zip(pulled);
        let fired = all.filter(|(risk, pulled)| **pulled && risk.tier > 0);
        fired.map(|(risk, _)| risk)
    };
    // Tier 2 is reserved for the run's end.
    let lowered = fired().filter(|risk| risk.tier > 1).map(|risk| {
        let (name, tier) = (visible(&risk.name), risk.tier);
        let message = format!("risk `{name}` names tier {tier}, which a trigger reaches as tier 1");
        Note::new("trigger-lowered", message)
    });
    let at = |boundary| request.boundaries.contains(&boundary);
    let mut one: Vec<String> = fired().map(|r| format!("trigger {}", r.name)).collect();
    let mut two = Vec::new();
    let add = |reasons: &mut Vec<String>, holds: bool, token: &str| {
        reasons.extend(holds.then(|| token.to_owned()));
    };
    add(&mut one, at(Boundary::MilestoneEnd), "milestone-end");
    add(&mut one, request.risk == Risk::High, "high-risk");
    add(&mut one, request.min_tier >= 1, "min-tier");
    add(&mut two, at(Boundary::RunEnd), "run-end");
    add(&mut two, request.min_tier >= 2, "min-tier");
    let tiers = [(0, vec!["always".to_owned()]), (1, one), (2, two)];
    let reached = tiers.into_iter().filter(|(_, reasons)| !reasons.is_empty());
    let tiers = reached.map(|(tier, reasons)| Tier {
        reasons,
        tier,
        triggers: Vec::new(),
    });
    (tiers.collect(), lowered.collect())
}

/// Adds the tiers of checks that the request names: to name one reaches its tier.
pub fn add_named(tiers: &mut Vec<Tier>, of: impl Iterator<Item = u8>) {
    for tier in of {
        if !tiers.iter().any(|t| t.tier == tier) {
            tiers.push(Tier {
                reasons: vec!["named".to_owned()],
                tier,
                triggers: Vec::new(),
            });
            tiers.sort_by_key(|t| t.tier);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::glob::Selection;

    #[test]
    fn tiers_and_their_reasons() {
        let risk = |name: &str, tier| contract::Risk {
            name: name.to_owned(),
            tier,
            selection: Selection::default(),
            line: 1,
            place: Default::default(),
        };
        let risks = [risk("b", 1), risk("a", 2), risk("docs", 0)];
        let both = vec![Boundary::MilestoneEnd, Boundary::RunEnd];
        for (pulled, request, want) in [
            ([false; 3], Request::default(), vec![(0, "always")]),
            (
                [false, false, true],
                Request::default(),
                vec![(0, "always")],
            ),
            (
                [true, true, true],
                Request::default(),
                vec![(0, "always"), (1, "trigger b,trigger a")],
            ),
            (
                [false; 3],
                Request {
                    risk: Risk::High,
                    ..Request::default()
                },
                vec![(0, "always"), (1, "high-risk")],
            ),
            (
                [false; 3],
                Request {
                    boundaries: vec![Boundary::RunEnd],
                    ..Request::default()
                },
                vec![(0, "always"), (2, "run-end")],
            ),
            (
                [false, true, false],
                Request {
                    boundaries: both,
                    risk: Risk::High,
                    min_tier: 2,
                    ..Request::default()
                },
                vec![
                    (0, "always"),
                    (1, "trigger a,milestone-end,high-risk,min-tier"),
                    (2, "run-end,min-tier"),
                ],
            ),
        ] {
            let (tiers, notes) = reach(&risks, &pulled.into_iter().collect(), &request);
            let got: Vec<(u8, String)> = tiers
                .iter()
                .map(|t| (t.tier, t.reasons.join(",")))
                .collect();
            assert_eq!(
                got.iter()
                    .map(|(t, r)| (*t, r.as_str()))
                    .collect::<Vec<_>>(),
                want
            );
            assert_eq!(notes.len(), usize::from(pulled[1]));
        }
    }
}
