//! Tests the index of needers against a scan of all checks.

use super::*;
use crate::arbitrary::{command, plain_check, plain_contract};
use crate::diff::units::MOST_NEEDERS;
use crate::diff::units::changed_in;
use crate::diff::units::units;
use proptest::prelude::*;
use vplan_arbitrary::config;
use vplan_base::index::Index as _;
use vplan_contract::Body;

/// Reads every check again for each step upwards.
fn obvious(contract: &Contract, members: &[CheckIndex]) -> Vec<CheckIndex> {
    let mut wanted = members.to_vec();
    let mut found = Vec::new();
    loop {
        let checks = contract.checks.numbered();
        let more: Vec<CheckIndex> = checks
            .filter(|(i, c)| !wanted.contains(i) && c.needs.iter().any(|n| wanted.contains(n)))
            .map(|(i, _)| i)
            .collect();
        if more.is_empty() {
            return found;
        }
        let is_open = |i: &CheckIndex| changed_in(&contract.checks[*i]).is_some();
        if found.len() + more.len() > MOST_NEEDERS || more.iter().any(is_open) {
            return Vec::new();
        }
        wanted.extend(&more);
        found.extend(more);
    }
}

/// Contracts where some checks are needed by more checks than a question considers.
fn contract() -> impl Strategy<Value = Contract> {
    let edges = prop::collection::vec((0..90_usize, 0..90_usize), 0..60);
    // A need of many.
    let hub = prop::option::of((0..3_usize, 46..54_usize));
    let open = prop::collection::btree_set(0..90_usize, 0..3);
    let anonymous = prop::collection::btree_set(0..90_usize, 0..6);
    (edges, hub, open, anonymous).prop_map(|(mut edges, hub, open, anonymous)| {
        edges.extend(hub.iter().flat_map(|(hub, to)| (0..*to).map(|i| (*hub, i))));
        let mut checks: Vec<Check> = (0..90).map(|i| plain_check(&format!("c{i}"))).collect();
        for i in open {
            checks[i].body = Body::Command(command("lint {changed}"));
        }
        for i in anonymous {
            checks[i].named = false;
        }
        for (needed, needer) in edges.into_iter().filter(|(a, b)| a < b) {
            checks[needer].needs.push(CheckIndex::new(needed));
        }
        plain_contract(checks)
    })
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn the_index_of_needers_is_right(contract in contract()) {
        let units = units(&contract);
        for unit in &units.all {
            let needs = |c: &Check| c.needs.iter().any(|n| unit.members.contains(n));
            prop_assert_eq!(units.is_needed(unit), contract.checks.iter().any(needs));
            let found = units.needers(&contract, &unit.members);
            let found: Vec<CheckIndex> = found.into_iter().flat_map(|u| u.members).collect();
            prop_assert_eq!(found, obvious(&contract, &unit.members));
        }
    }
}
