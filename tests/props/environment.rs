//! Laws of what a step sees of the caller's environment, against a slow reading of the list by its
//! own words.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use vplan::arbitrary::config;
use vplan::arbitrary::run::step;
use vplan::base::word::Word;
use vplan::effect::os::environment::{Environment, Grants, StepEnvironment};
use vplan::effect::os::process::program::Root;

const LIST: &str = include_str!("../../src/os/environment.txt");

/// Whether a pattern holds for a whole name, tried at every place.
fn holds(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| holds(rest, &name[at..])),
        ([p, pattern @ ..], [n, name @ ..]) => p == n && holds(pattern, name),
        (pattern, name) => pattern.is_empty() && name.is_empty(),
    }
}

fn listed(section: &str, name: &str) -> bool {
    let (_, rest) = LIST.split_once(&format!("[{section}]\n")).unwrap();
    let lines = rest.lines().take_while(|l| !l.starts_with('['));
    let name = if section == "secret" {
        name.to_ascii_uppercase()
    } else {
        name.to_owned()
    };
    lines
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .any(|l| holds(l.as_bytes(), name.as_bytes()))
}

fn guarded(name: &str) -> bool {
    listed("secret", name) || listed("hook", name)
}

/// Names of the list with something in place of each `*`, names beside them, and names of nothing.
fn name() -> impl Strategy<Value = String> {
    let patterns: Vec<String> = LIST
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with(['#', '[']))
        .map(str::to_owned)
        .collect();
    let near =
        (prop::sample::select(patterns), "[A-Za-z_]{0,3}").prop_map(|(p, x)| p.replace('*', &x));
    prop_oneof![
        4 => near.clone(),
        1 => near.clone().prop_map(|n| n.to_lowercase()),
        1 => (near, "[A-Z_]").prop_map(|(n, x)| n + &x),
        1 => "[A-Z]{1,3}_(TOKEN|KEY|PATH|X)",
        1 => Just("PATH".to_owned()),
    ]
    .prop_filter("a variable has a name", |n| !n.is_empty())
}

#[derive(Debug)]
struct Asked {
    caller: Vec<(String, String)>,
    grants: BTreeSet<String>,
    inherit: bool,
    asks: Vec<String>,
    written: BTreeMap<String, String>,
}

fn asked() -> impl Strategy<Value = Asked> {
    let value = "[a-z]{8,12}";
    let caller = prop::collection::btree_map(name(), value, 0..20);
    (
        caller,
        any::<prop::sample::Index>(),
        0..4_usize,
        prop::bool::weighted(0.2),
        prop::collection::vec(name(), 0..3),
        0..4_usize,
    )
        .prop_flat_map(|(caller, from, grants, inherit, more, asks)| {
            let names: Vec<String> = caller
                .keys()
                .cloned()
                .chain(more.clone())
                .chain(["X".to_owned()])
                .collect();
            let start = from.index(names.len());
            let some = |count: usize, step: usize| -> Vec<String> {
                (0..count)
                    .map(|i| names[(start + i * step) % names.len()].clone())
                    .collect()
            };
            let grants: BTreeSet<String> = some(grants, 1).into_iter().collect();
            let asks: Vec<String> = some(asks, 2)
                .into_iter()
                .enumerate()
                .map(|(i, n)| {
                    if i == 1 {
                        n.chars().take(2).collect::<String>() + "*"
                    } else {
                        n
                    }
                })
                .collect();
            let written =
                prop::collection::btree_map(prop::sample::select(names), "[a-z/:]{1,8}", 0..3);
            let caller: Vec<(String, String)> = caller.into_iter().collect();
            (
                Just(caller).prop_shuffle(),
                Just(grants),
                Just(inherit),
                Just(asks),
                written,
            )
        })
        .prop_map(|(caller, grants, inherit, asks, written)| Asked {
            caller,
            grants,
            inherit,
            asks,
            written,
        })
}

fn made(asked: &Asked, caller: &[(String, String)], grants: &BTreeSet<String>) -> StepEnvironment {
    let root = Root::open(std::path::Path::new("/tmp")).unwrap();
    let caller = caller
        .iter()
        .map(|(n, v)| (n.clone().into_bytes(), v.clone().into_bytes()));
    let environment = Environment::new(
        &root,
        caller,
        Grants {
            names: grants.clone(),
            inherit: asked.inherit,
            ..Grants::default()
        },
    );
    let mut step = step("a");
    step.pass_env.clone_from(&asked.asks);
    step.env = asked
        .written
        .iter()
        .map(|(n, v)| (n.clone(), Word::from(v.as_str())))
        .collect();
    environment.of_step(&root, step.environment_request())
}

fn shown(made: &StepEnvironment) -> BTreeMap<String, String> {
    let text = |b: &Vec<u8>| String::from_utf8(b.clone()).unwrap();
    made.variables
        .iter()
        .filter(|(n, _)| *n != b"PATH")
        .map(|(n, v)| (text(n), text(v)))
        .collect()
}

proptest! {
    #![proptest_config(config(512))]

    /// Exactly what the list, the contract and the operator say together, nothing else; what is held back is told.
    #[test]
    fn an_environment_is_as_the_list_says(asked in asked()) {
        let made = made(&asked, &asked.caller, &asked.grants);
        let asks = |name: &str| asked.asks.iter().any(|p| holds(p.as_bytes(), name.as_bytes()));
        let mut want = BTreeMap::new();
        let mut withheld = BTreeSet::new();
        for (name, value) in asked.caller.iter().filter(|(n, _)| n != "PATH") {
            let granted = asked.grants.contains(name);
            if asked.inherit || (listed("pass", name) && !guarded(name)) || (asks(name) && (granted || !guarded(name))) {
                want.insert(name.clone(), value.clone());
            } else if asks(name) {
                withheld.insert(name.clone());
            }
        }
        want.extend(asked.written.iter().filter(|(n, _)| *n != "PATH").map(|(n, v)| (n.clone(), v.clone())));
        prop_assert_eq!(shown(&made), want);
        prop_assert_eq!(made.withheld.iter().map(|w| w.name.clone()).collect::<BTreeSet<_>>(), withheld);
        // What came in by the second key is masked.
        for (name, value) in asked.caller.iter().filter(|(n, _)| n != "PATH") {
            if asks(name) && asked.grants.contains(name) {
                prop_assert_eq!(made.secrets.mask_text(value), "***", "{}", name);
            }
        }
    }

    /// Whatever a contract asks for: without the operator no secret and no hook of the caller gets through.
    #[test]
    fn a_contract_alone_opens_nothing(mut asked in asked()) {
        asked.inherit = false;
        asked.asks.push("*".to_owned());
        let made = made(&asked, &asked.caller, &BTreeSet::new());
        let shown = shown(&made);
        for (name, _) in asked.caller.iter().filter(|(n, _)| guarded(n) && n != "PATH") {
            prop_assert_eq!(shown.get(name), asked.written.get(name), "{}", name);
            prop_assert!(made.withheld.iter().any(|w| &w.name == name), "{}", name);
        }
    }

    #[test]
    fn the_order_of_the_environment_is_nothing(asked in asked(), turn in any::<prop::sample::Index>()) {
        let mut other = asked.caller.clone();
        if !other.is_empty() {
            let at = turn.index(other.len());
            other.rotate_left(at);
            other.reverse();
        }
        let (one, two) = (made(&asked, &asked.caller, &asked.grants), made(&asked, &other, &asked.grants));
        prop_assert_eq!(one.variables, two.variables);
        prop_assert_eq!(one.withheld, two.withheld);
    }
}
