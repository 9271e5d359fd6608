//! Laws of order and of cycles, against tables that are filled by brute force.

use super::plan::{closure, constraints, hard_pairs};
use super::text::{Told, told};
use crate::reference::graph::{closed, is_cyclic, nothing, sorted};
use proptest::prelude::*;
use vplan::arbitrary::config;
use vplan::arbitrary::order::order;

/// Checks `c0`, `c1`, … each of which needs some, and may need itself.
fn needing(count: usize, edges: &[(usize, usize)]) -> String {
    let mut text = String::from("vplan 1\n");
    for needer in 0..count {
        text += &format!("check c{needer} {{\n  run tool {needer}\n");
        let mut needed: Vec<String> = edges
            .iter()
            .filter(|(_, n)| *n == needer)
            .map(|(a, _)| format!("c{a}"))
            .collect();
        needed.sort();
        needed.dedup();
        if !needed.is_empty() {
            text += &format!("  needs {}\n", needed.join(" "));
        }
        text += "}\n";
    }
    text
}

/// The lines of the chain that a message about a cycle tells: `needer` needs `needed`.
fn chain(message: &str) -> Vec<(usize, usize)> {
    let numbers = |part: &str| {
        let names: Vec<usize> = part
            .split('`')
            .skip(1)
            .step_by(2)
            .map(|n| n[1..].parse().unwrap())
            .collect();
        (names[0], *names.last().unwrap())
    };
    message
        .split_once(": ")
        .unwrap()
        .1
        .split(", ")
        .map(numbers)
        .collect()
}

/// How many edges the shortest way from a node back to itself has.
fn shortest(count: usize, edges: &[(usize, usize)]) -> Option<usize> {
    let step = |from: &[bool]| {
        let mut to = vec![false; count];
        edges
            .iter()
            .filter(|(a, _)| from[*a])
            .for_each(|(_, b)| to[*b] = true);
        to
    };
    let start = |node: usize| (0..count).map(|n| n == node).collect::<Vec<bool>>();
    let mut reached: Vec<Vec<bool>> = (0..count).map(start).collect();
    (1..=count).find(|_| {
        reached.iter_mut().for_each(|r| *r = step(r));
        (0..count).any(|n| reached[n][n])
    })
}

fn edges() -> impl Strategy<Value = (usize, Vec<(usize, usize)>)> {
    (1_usize..9).prop_flat_map(|n| (Just(n), prop::collection::vec((0..n, 0..n), 0..14)))
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn topo_is_permutation(c in constraints()) {
        let mut all = order(&c).order;
        all.sort_unstable();
        prop_assert_eq!(all, (0..c.tiers.len()).collect::<Vec<_>>());
    }

    /// Without artifact settings, which may give way, the order is that of the reference.
    #[test]
    fn topo_matches_reference(mut c in constraints()) {
        c.artifacts.clear();
        c.preparing = Default::default();
        let count = c.tiers.len();
        let mut table = nothing(count);
        hard_pairs(&c).into_iter().for_each(|(a, b)| table[a][b] = true);
        for (a, row) in table.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(b, before)| *before |= c.tiers[a] < c.tiers[b]);
        }
        prop_assert_eq!(Some(order(&c).order), sorted(&table, |n| (c.tiers[n], n)));
    }

    /// One more edge moves its later end and what follows that; all others keep their order.
    #[test]
    fn adding_edge_never_reorders_unrelated(mut c in constraints(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        c.artifacts.clear();
        c.preparing = Default::default();
        let before = order(&c).order;
        let (mut a, mut b) = (a.index(before.len()), b.index(before.len()));
        let at = |n: usize| before.iter().position(|x| *x == n).unwrap();
        if at(a) > at(b) {
            std::mem::swap(&mut a, &mut b);
        }
        // The edge may turn the two round where nothing was said of them.
        let hard = closure(&hard_pairs(&c));
        if !hard.contains(&(a, b)) && c.tiers[a] == c.tiers[b] {
            std::mem::swap(&mut a, &mut b);
        }
        prop_assume!(a != b && !hard.contains(&(b, a)) && c.tiers[a] <= c.tiers[b]);
        let moved = |n: &usize| *n == b || hard.contains(&(b, *n));
        c.needs.push((a, b));
        let after = order(&c).order;
        let others = |order: &[usize]| order.iter().filter(|n| !moved(n)).copied().collect::<Vec<_>>();
        prop_assert_eq!(others(&after), others(&before));
    }

    /// A contract is refused for a cycle exactly when there is one; a step that needs itself is the shortest.
    #[test]
    fn cycle_iff_no_topo((count, edges) in edges()) {
        let Told { contract, diagnostics } = told(&needing(count, &edges));
        let cycles = diagnostics.iter().filter(|d| d.code.0 == "vplan::contract::cycle").count();
        let mut table = nothing(count);
        edges.iter().for_each(|(a, b)| table[*a][*b] = true);
        prop_assert_eq!(cycles > 0, is_cyclic(&table));
        prop_assert_eq!(contract.is_none(), cycles > 0);
        prop_assert_eq!(sorted(&table, |n| n).is_none(), cycles > 0);
    }

    #[test]
    fn cycle_witness_is_cycle((count, edges) in edges()) {
        for diagnostic in told(&needing(count, &edges)).diagnostics.iter().filter(|d| d.code.0 == "vplan::contract::cycle") {
            let chain = chain(&diagnostic.message);
            for (i, (needer, needed)) in chain.iter().enumerate() {
                prop_assert!(edges.contains(&(*needed, *needer)), "{}", diagnostic.message);
                prop_assert_eq!(*needed, chain[(i + 1) % chain.len()].0);
            }
        }
    }

    #[test]
    fn cycle_witness_minimal((count, edges) in edges()) {
        let told = told(&needing(count, &edges));
        let lengths = told.diagnostics.iter().filter(|d| d.code.0 == "vplan::contract::cycle").map(|d| chain(&d.message).len());
        prop_assert_eq!(lengths.min(), shortest(count, &edges));
        for diagnostic in told.diagnostics.iter().filter(|d| d.code.0 == "vplan::contract::cycle") {
            // It begins with the first of its own in the order of the file, and no shorter one is among its nodes.
            let nodes: Vec<usize> = chain(&diagnostic.message).iter().map(|(a, _)| *a).collect();
            prop_assert_eq!(nodes.first(), nodes.iter().min());
            let inside: Vec<_> = edges.iter().filter(|(a, b)| nodes.contains(a) && nodes.contains(b)).copied().collect();
            prop_assert_eq!(shortest(count, &inside), Some(nodes.len()));
        }
    }

    /// A name that does not exist is an error on that very name.
    #[test]
    fn dangling_dependency_error_span((count, edges) in edges(), name in "[d-z][a-z0-9]{2,8}", at in any::<prop::sample::Index>(), kind in 0..3) {
        let needer = at.index(count);
        let text = match kind {
            0 => needing(count, &[]).replacen(&format!("run tool {needer}\n"), &format!("run tool {needer}\n  needs {name}\n"), 1),
            1 => format!("{}sequence c{needer} -> {name}\n", needing(count, &[])),
            _ => format!("{}byRole tester {{\n  use c{needer} {name}\n}}\n", needing(count, &[])),
        };
        let Told { contract, diagnostics } = told(&text);
        prop_assert!(contract.is_none());
        let points = diagnostics.iter().any(|d| d.labels.first().is_some_and(|l| text[l.place.span.start..l.place.span.end] == name));
        prop_assert!(points, "{:?}\n{}", diagnostics, text);
        let _ = edges;
    }
}

/// Both ways to see a cycle agree, so that neither is believed alone.
#[test]
fn tables_are_filled_right() {
    let mut table = nothing(3);
    table[0][1] = true;
    table[1][2] = true;
    assert!(!is_cyclic(&table) && closed(table.clone())[0][2]);
    assert_eq!(sorted(&table, std::cmp::Reverse), Some(vec![0, 1, 2]));
    table[2][0] = true;
    assert!(is_cyclic(&table) && sorted(&table, |n| n).is_none());
    assert_eq!(shortest(3, &[(0, 1), (1, 2), (2, 0)]), Some(3));
}
