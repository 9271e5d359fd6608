//! Laws of comparison: the automata mean what the matcher means, nothing differs from itself, and
//! what is not reported as weaker asks for all that was asked for before.

use crate::reference::diff::covers;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use vplan::arbitrary::config;
use vplan::arbitrary::glob::{glob, glob_and_path, path, selections};
use vplan::arbitrary::plan::{
    condition, contract, facts, plain_check, plain_contract, plan, request, selection,
};
use vplan::base::glob::automaton::{AutomatonLimits, Region, atoms};
use vplan::base::glob::{Glob, Item, ItemContent, Selection};
use vplan::base::index::{Dense, Index as _};
use vplan::base::path::RepoPath;
use vplan::base::setting::{Row, Value};
use vplan::base::source::Sources;
use vplan::check::confine::{Confinement, NetworkUse, SandboxLevel};
use vplan::contract::{CheckIndex, ConditionIndex, Contract, Placement, Risk, Role, Test};
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::diff::contracts::{Side, compare};
use vplan::plan::diff::request::{PlannedSide, as_of, asks_nothing, weaker};
use vplan::plan::diff::{Class, ContractDiff, plans};
use vplan::plan::expectation::evaluate;
use vplan::plan::facts::Facts;
use vplan::plan::request::{Mode, Request};
use vplan::plan::{Origin, Plan};

fn alone(glob: &Glob) -> Selection {
    Selection {
        items: vec![Item {
            not: false,
            what: ItemContent::Glob(glob.clone()),
        }],
    }
}

/// All paths of up to five bytes of these.
fn small_paths() -> Vec<RepoPath> {
    let letters: [&[u8]; 5] = [b"a", b"b", b".", b"/", b"\xff"];
    let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
    let mut found = Vec::new();
    for _ in 0..5 {
        texts = texts
            .iter()
            .flat_map(|t| letters.iter().map(move |l| [t, *l].concat()))
            .collect();
        found.extend(texts.iter().filter_map(|t| RepoPath::from_exact(t)));
    }
    found
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn automata_select_what_the_matcher_selects((glob, near) in glob_and_path(), far in path()) {
        for path in [near, far] {
            let Some(this) = Glob::literal(&path) else { continue };
            let (a, b) = (alone(&glob), alone(&this));
            let Some(found) = atoms(&[Region::Selected(&a), Region::Selected(&b)], &AutomatonLimits::default()) else { continue };
            let both = found.iter().any(|atom| atom.inside == [true, true]);
            prop_assert_eq!(both, glob.matches(&path), "{} {}", glob.text(), path);
            for atom in &found {
                prop_assert_eq!(&atom.inside, &[glob.matches(&atom.example), atom.example == path], "{} {}", glob.text(), atom.example);
            }
        }
    }
}

proptest! {
    #![proptest_config(config(128))]

    #[test]
    fn atoms_are_all_and_only_those_that_there_are(a in glob(), b in glob(), lists in selections()) {
        let (a, b) = (alone(&a), alone(&b));
        let mut regions = vec![Region::Selected(&a), Region::Selected(&b)];
        regions.extend(lists.iter().take(2).map(Region::Selected));
        let Some(found) = atoms(&regions, &AutomatonLimits { states: 20_000, ..AutomatonLimits::default() }) else { return Ok(()) };
        let known: BTreeSet<&Vec<bool>> = found.iter().map(|atom| &atom.inside).collect();
        prop_assert_eq!(known.len(), found.len());
        let vector = |path: &RepoPath| regions.iter().map(|r| r.holds(path)).collect::<Vec<bool>>();
        for atom in &found {
            prop_assert_eq!(&vector(&atom.example), &atom.inside, "{}", atom.example);
        }
        for path in small_paths() {
            prop_assert!(known.contains(&vector(&path)), "{path} lies in no atom of {regions:?}");
        }
    }

    #[test]
    fn a_plan_differs_from_what_has_another_digest(a in plan(), b in plan()) {
        prop_assert!(plans::compare(&a, &a).equal);
        prop_assert_eq!(plans::compare(&a, &b).equal, a.digest == b.digest);
        let (there, back) = (plans::compare(&a, &b), plans::compare(&b, &a));
        prop_assert_eq!(there.steps.added, back.steps.removed);
        prop_assert_eq!(there.steps.moved.len(), back.steps.moved.len());
    }

    #[test]
    fn diff_refl_empty(contract in contract(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        prop_assert_eq!(&diff(&contract, &contract).differences, &vec![]);
        let count = contract.checks.len();
        let swapped = swap(contract.clone(), CheckIndex::new(a.index(count)), CheckIndex::new(b.index(count)));
        let found = diff(&contract, &swapped);
        prop_assert!(found.differences.iter().all(|d| d.class == Class::Cosmetic), "{found:?}");
    }

    #[test]
    fn diff_detects_removed_gate(contract in contract(), at in any::<prop::sample::Index>(), narrow in any::<bool>()) {
        let mut old = contract;
        let index = CheckIndex::new(at.index(old.checks.len()));
        let check = &mut old.checks[index];
        check.named = true;
        check.id = "always".to_owned();
        check.tier = 0;
        check.settings.remove(&Row::Severity);
        check.settings.remove(&Row::Setup);
        check.body = plain_check("x").body;
        check.kind = plain_check("x").kind;
        check.placements = vec![Placement { conditions: Vec::new(), line: 1, is_use: false, source: Default::default() }];
        // Nothing else brings it back.
        old.checks.iter_mut().for_each(|c| c.needs.retain(|n| *n != index));
        let mut new = old.clone();
        if narrow {
            let added = new.conditions.push(vplan::contract::Condition {
                place: Default::default(),
                line: 1,
                test: Test::ChangedAny(alone(&Glob::parse("src/**").unwrap())),
            });
            new.checks[index].placements[0].conditions = vec![added];
        } else {
            new = drop_check(new, index);
        }
        let found = diff(&old, &new);
        let reported = found.differences.iter().any(|d| d.class == Class::Weakens && d.subject == "check `always`" && d.request.is_some());
        prop_assert!(reported, "{found:?}");
    }
}

proptest! {
    #![proptest_config(config(128))]

    /// What one direction calls weaker, the other calls stronger.
    #[test]
    fn diff_antisymmetric(contract in contract(), at in any::<prop::sample::Index>()) {
        let mut old = contract;
        let index = CheckIndex::new(at.index(old.checks.len()));
        let check = &mut old.checks[index];
        (check.named, check.tier) = (true, 0);
        check.settings.remove(&Row::Severity);
        check.settings.remove(&Row::Setup);
        (check.body, check.kind) = (plain_check("x").body, plain_check("x").kind);
        check.id = "gone".to_owned();
        check.placements = vec![Placement { conditions: Vec::new(), line: 1, is_use: false, source: Default::default() }];
        old.checks.iter_mut().for_each(|c| c.needs.retain(|n| *n != index));
        let new = drop_check(old.clone(), index);
        let (there, back) = (diff(&old, &new), diff(&new, &old));
        let about = |d: &ContractDiff, class: Class| d.differences.iter().any(|d| d.class == class && d.subject == "check `gone`");
        prop_assert!(about(&there, Class::Weakens) && !about(&there, Class::Strengthens));
        prop_assert!(about(&back, Class::Strengthens) && !about(&back, Class::Weakens));
    }
}

/// A contract with other words for how a check is confined.
fn confined(contract: &Contract, index: CheckIndex, by: Confinement) -> Contract {
    let mut contract = contract.clone();
    let check = &mut contract.checks[index];
    (check.body, check.kind) = (plain_check("x").body, plain_check("x").kind);
    check.set(Row::Sandbox, Value::Word(by.level.name()));
    check.set(Row::Network, Value::Word(by.network.name()));
    contract
}

fn confinement() -> impl Strategy<Value = Confinement> {
    let level = prop::sample::select(&SandboxLevel::ALL[..]);
    let network = prop::sample::select(&NetworkUse::ALL[..]);
    (level, network).prop_map(|(level, network)| Confinement { level, network })
}

proptest! {
    #![proptest_config(config(128))]

    #[test]
    fn stronger_confinement_is_never_weaker(contract in contract(), at in any::<prop::sample::Index>(), a in confinement(), b in confinement()) {
        let index = CheckIndex::new(at.index(contract.checks.len()));
        let (weak, strong) = (confined(&contract, index, a), confined(&contract, index, a.and(b)));
        let (there, back) = (diff(&weak, &strong), diff(&strong, &weak));
        // Which of equal commands without a name counts depends on the request.
        let nameless = |check: &&vplan::contract::Check| !check.named;
        prop_assume!(contract.checks[index].named || contract.checks.iter().filter(nameless).count() == 1);
        prop_assert_eq!(there.count(Class::Weakens) + there.count(Class::Undecided), 0, "{:?}", there);
        // What prepares verifies nothing, and others find what it leaves.
        let prepares = weak.checks[index].has(Row::Setup);
        prop_assert!(prepares || back.count(Class::Undecided) == 0, "{:?}", back);
        // A check whose failure does not count may ask for less.
        let counts = !weak.checks[index].has(Row::Severity) && !weak.checks[index].has(Row::Setup);
        if counts && a.and(b) != a {
            prop_assert!(back.count(Class::Weakens) > 0 && there.count(Class::Strengthens) > 0, "{back:?}");
        }
    }
}

fn diff(old: &Contract, new: &Contract) -> ContractDiff {
    let none = Sources::default();
    compare(
        &Side {
            contract: old,
            sources: &none,
        },
        &Side {
            contract: new,
            sources: &none,
        },
        &[],
    )
}

/// Renumbers the checks: `to` says where each goes, none that it goes away.
fn renumber(mut contract: Contract, to: &Dense<CheckIndex, Option<CheckIndex>>) -> Contract {
    let mut moved: Vec<(CheckIndex, vplan::contract::Check)> = contract
        .checks
        .into_iter()
        .zip(to)
        .filter_map(|(c, to)| Some(((*to)?, c)))
        .collect();
    moved.sort_by_key(|(to, _)| *to);
    contract.checks = moved.into_iter().map(|(_, c)| c).collect();
    let map = |list: &mut Vec<CheckIndex>| *list = list.iter().filter_map(|i| to[*i]).collect();
    contract.checks.iter_mut().for_each(|c| map(&mut c.needs));
    contract
        .sequences
        .iter_mut()
        .flat_map(|s| &mut s.groups)
        .for_each(map);
    contract
}

fn drop_check(contract: Contract, index: CheckIndex) -> Contract {
    let earlier = |i: CheckIndex| CheckIndex::new(i.position() - usize::from(i > index));
    let to = contract
        .checks
        .indices()
        .map(|i| (i != index).then(|| earlier(i)))
        .collect();
    renumber(contract, &to)
}

fn swap(contract: Contract, a: CheckIndex, b: CheckIndex) -> Contract {
    let to = contract
        .checks
        .indices()
        .map(|i| {
            Some(if i == a {
                b
            } else if i == b {
                a
            } else {
                i
            })
        })
        .collect();
    renumber(contract, &to)
}

/// A change to a contract.
#[derive(Clone, Debug)]
struct Edit {
    kind: u8,
    at: prop::sample::Index,
    other: prop::sample::Index,
    selection: Selection,
    condition: vplan::contract::Condition,
}

fn edit() -> impl Strategy<Value = Edit> {
    (
        0_u8..26,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        selection(),
        condition(),
    )
        .prop_map(|(kind, at, other, selection, condition)| Edit {
            kind,
            at,
            other,
            selection,
            condition,
        })
}

fn selection_of(test: &mut Test) -> Option<&mut Selection> {
    match test {
        Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
            Some(s)
        }
        Test::Role(_) | Test::Exists(_) | Test::ExistsAny(_) | Test::Absent(_) => None,
    }
}

/// Applies a change; some widen, some narrow, some say the same in other words.
fn apply(mut contract: Contract, edit: &Edit) -> Contract {
    let index = CheckIndex::new(edit.at.index(contract.checks.len()));
    let picked = ConditionIndex::new(edit.other.index(contract.conditions.len()));
    let here = ConditionIndex::new(edit.at.index(contract.conditions.len()));
    match edit.kind {
        0 => return drop_check(contract, index),
        1 => contract.conditions[here] = edit.condition.clone(),
        2 => {
            if let Some(s) = selection_of(&mut contract.conditions[here].test) {
                s.items.extend(edit.selection.items.iter().map(|i| Item {
                    not: true,
                    ..i.clone()
                }));
            }
        }
        3 => {
            if let Some(s) = selection_of(&mut contract.conditions[here].test) {
                s.items.retain(|i| !i.not);
            }
        }
        4 => {
            if let Some(s) = selection_of(&mut contract.conditions[here].test) {
                s.items.extend(edit.selection.items.iter().map(|i| Item {
                    not: false,
                    ..i.clone()
                }));
            }
        }
        5 => contract.checks[index].tier = u8::try_from(edit.other.index(3)).unwrap(),
        6 => drop(contract.checks[index].settings.remove(&Row::Severity)),
        7 => contract.checks[index].placements[0].conditions.clear(),
        8 => contract.checks[index].placements[0].conditions.push(picked),
        9 => {
            let place = Placement {
                conditions: vec![picked],
                line: 7,
                is_use: true,
                source: Default::default(),
            };
            if contract.checks[index].named {
                contract.checks[index].placements.push(place);
            }
        }
        10 => {
            if !contract.risks.is_empty() {
                contract.risks.remove(edit.at.index(contract.risks.len()));
            }
        }
        11 => contract.risks.push(Risk {
            name: "more".to_owned(),
            tier: 1,
            selection: edit.selection.clone(),
            line: 9,
            place: Default::default(),
        }),
        12 => {
            let only = if edit.other.index(2) == 0 {
                vec!["docs-safe".to_owned(), "fast".to_owned()]
            } else {
                vec![]
            };
            contract.roles.insert(
                "docser".to_owned(),
                Role {
                    only,
                    max_checks: None,
                    line: Some(3),
                },
            );
        }
        13 => {
            let tries = u64::try_from(edit.other.index(3)).unwrap();
            contract.checks[index].set(Row::Retries, Value::Number(tries));
        }
        14 => {
            let ms = 1_000 * u64::try_from(edit.other.index(120) + 1).unwrap();
            contract.checks[index].set(Row::Timeout, Value::Number(ms));
        }
        15 => {
            contract.checks[index].needs.pop();
        }
        // Two checks have no name in common.
        16 => contract.checks[index].id = format!("renamed-{}", index.position()),
        17 => {
            if let Some(s) = selection_of(&mut contract.conditions[here].test) {
                s.items.reverse();
                let first = s.items.iter().position(|i| !i.not).unwrap();
                s.items.swap(0, first);
                let twice = s.items[0].clone();
                s.items.push(twice);
            }
        }
        18 => {
            let mut more = plain_check("more");
            more.placements[0].conditions = vec![picked];
            contract.checks.push(more);
        }
        19 => contract.checks[index].tags = vec!["docs-safe".to_owned()],
        20 => {
            let swapped = CheckIndex::new(edit.other.index(contract.checks.len()));
            return swap(contract, index, swapped);
        }
        // The opposite of what was asked, of the same paths.
        21 => {
            let test = &mut contract.conditions[here].test;
            *test = match std::mem::replace(test, Test::Role(Vec::new())) {
                Test::Exists(all) | Test::ExistsAny(all) => Test::Absent(all),
                Test::Absent(all) => Test::Exists(all),
                other => other,
            };
        }
        // Fewer to exist, or to be missing, are a weaker condition, and a stronger contract; fewer
        // of which one must exist, the other way round.
        22 => {
            if let Test::Exists(all) | Test::ExistsAny(all) | Test::Absent(all) =
                &mut contract.conditions[here].test
                && all.len() > 1
            {
                all.pop();
            }
        }
        23 => {
            let level = ["none", "guard"][edit.other.index(2)];
            contract.checks[index].set(Row::Sandbox, Value::Word(level));
        }
        24 => {
            let network = ["on", "loopback", "off"][edit.other.index(3)];
            contract.checks[index].set(Row::Network, Value::Word(network));
        }
        _ => {
            if let Some(risk) = contract.risks.first_mut() {
                risk.selection = edit.selection.clone();
            }
        }
    }
    contract
}

fn planned(contract: &Contract, request: &Request, facts: &Facts) -> Option<Plan> {
    match compile(Some(contract), request, facts) {
        Ok(Compiled::Plan(plan)) => Some(*plan),
        Ok(Compiled::Needs(_)) | Err(_) => None,
    }
}

/// A contract, and what edits made of it.
fn edited(old: &Contract, edits: &[Edit]) -> Contract {
    let one = |contract: Contract, edit| {
        if contract.checks.is_empty() {
            contract
        } else {
            apply(contract, edit)
        }
    };
    edits.iter().fold(old.clone(), one)
}

/// The law that makes the comparison worth having, on thousands of requests.
#[test]
fn diff_sound() {
    let mut runner = TestRunner::new(config(1));
    let pairs = (contract(), prop::collection::vec(edit(), 1..4));
    let asked = prop::collection::vec((request(), facts()), 6);
    let (mut sound, mut weaker, mut undecided, mut steps) = (0, 0, 0, 0);
    for _ in 0..1_500 {
        let (old, edits) = pairs.new_tree(&mut runner).unwrap().current();
        let new = edited(&old, &edits);
        let found = diff(&old, &new);
        if found.count(Class::Weakens) > 0 {
            weaker += 1;
            continue;
        }
        if found.count(Class::Undecided) > 0 {
            undecided += 1;
            continue;
        }
        for (mut request, facts) in asked.new_tree(&mut runner).unwrap().current() {
            request.mode = Mode::Contract;
            let (Some(before), Some(after)) = (
                planned(&old, &request, &facts),
                planned(&new, &request, &facts),
            ) else {
                continue;
            };
            sound += 1;
            let effective = before
                .steps
                .iter()
                .filter(|s| s.is_effective() && s.origin == Origin::Contract);
            for step in effective {
                steps += 1;
                assert!(
                    after.steps.iter().any(|other| covers(other, step)),
                    "`{}` is lost, and nobody said so\n{edits:?}\n{found:#?}\n{request:?}\n{facts:?}\nold {old:#?}",
                    step.id
                );
            }
        }
    }
    println!("{sound} requests, {steps} steps, {weaker} weaker, {undecided} not decided");
    assert!(
        sound >= 1_000 && steps >= 1_000,
        "too few cases say anything: {sound} requests, {steps} steps"
    );
    assert!(weaker >= 100, "too few cases are weaker: {weaker}");
    assert!(
        undecided <= 150,
        "too many cases are not decided: {undecided}"
    );
    // A contract without checks is as weak as can be.
    let nothing = plain_contract(Vec::new());
    let one = plain_contract(vec![plain_check("one")]);
    assert_eq!(diff(&one, &nothing).count(Class::Weakens), 1);
    assert_eq!(diff(&nothing, &one).count(Class::Strengthens), 1);
}

/// The same for one request: what is not reported as weaker asks for all that was asked for, and
/// nothing is reported where the contracts as a whole ask for no less.
#[test]
fn diff_of_a_request_is_sound() {
    let mut runner = TestRunner::new(config(1));
    let pairs = (contract(), prop::collection::vec(edit(), 1..4));
    let asked = prop::collection::vec((request(), facts()), 6);
    let none = Sources::default();
    let (mut sound, mut weak, mut steps) = (0, 0, 0);
    for _ in 0..700 {
        let (old, edits) = pairs.new_tree(&mut runner).unwrap().current();
        let new = edited(&old, &edits);
        let whole = diff(&old, &new);
        let is_less = whole.count(Class::Weakens) + whole.count(Class::Undecided) > 0;
        let (then, now) = (
            Side {
                contract: &old,
                sources: &none,
            },
            Side {
                contract: &new,
                sources: &none,
            },
        );
        for (mut request, facts) in asked.new_tree(&mut runner).unwrap().current() {
            request.mode = Mode::Contract;
            let asked = as_of(&request, &then, &now);
            if asks_nothing(&request, &asked) {
                continue;
            }
            let (Some(before), Some(after)) = (
                planned(&old, &asked, &facts),
                planned(&new, &request, &facts),
            ) else {
                continue;
            };
            let found = weaker(
                &PlannedSide {
                    side: then,
                    plan: &before,
                },
                &PlannedSide {
                    side: now,
                    plan: &after,
                },
            );
            if !found.is_empty() {
                weak += 1;
                // What `--only` and `--skip` name is about this request alone.
                let is_whole = request.only.is_empty() && request.skip.is_empty();
                assert!(
                    is_less || !is_whole,
                    "{found:#?}\n{edits:?}\n{whole:#?}\n{request:?}"
                );
                continue;
            }
            sound += 1;
            for step in before
                .steps
                .iter()
                .filter(|s| s.is_effective() && s.origin == Origin::Contract)
            {
                steps += 1;
                let is_kept = after.steps.iter().any(|other| covers(other, step));
                assert!(
                    is_kept,
                    "`{}` is lost, and nobody said so\n{edits:?}\n{request:?}\n{facts:?}\nold {old:#?}",
                    step.id
                );
            }
        }
    }
    println!("{sound} requests, {steps} steps, {weak} weaker");
    assert!(
        sound >= 500 && steps >= 500 && weak >= 100,
        "too few cases say anything: {sound} {steps} {weak}"
    );
}

/// What is printed is a test of the language: the contract that asks for more passes it, the other
/// one fails it.
#[test]
fn the_test_that_is_printed_tells_them_apart() {
    let mut runner = TestRunner::new(config(1));
    let pairs = (contract(), prop::collection::vec(edit(), 1..4));
    let (mut told, mut exist, mut prefixed, mut at_end, mut high, mut handed) = (0, 0, 0, 0, 0, 0);
    for case in 0..10_000 {
        // Some kinds are rare: one case in some hundreds.
        if case >= 1_000 && [exist, at_end, high, handed].iter().all(|n| *n > 0) {
            break;
        }
        let (old, edits) = pairs.new_tree(&mut runner).unwrap().current();
        let new = edited(&old, &edits);
        for asked in diff(&old, &new).requests {
            let Some(text) = &asked.expect else {
                assert!(
                    asked
                        .changed
                        .iter()
                        .any(|f| std::str::from_utf8(f.path.as_bytes()).is_err()),
                    "{asked:?}"
                );
                continue;
            };
            // Only the contract that asks for more is sure to know the names.
            let is_newer =
                text.contains(" the newer contract") || text.contains("\"the newer contract");
            let (more, less) = if is_newer { (&new, &old) } else { (&old, &new) };
            let read = crate::expect::read(more, text).unwrap();
            let [test] = read.as_slice() else {
                panic!("{text}")
            };
            assert_eq!(test.changed.files(), asked.changed, "{text}");
            assert_eq!(
                test.exists.iter().collect::<Vec<_>>(),
                asked.exists.iter().collect::<Vec<_>>(),
                "{text}"
            );
            let verdict = evaluate(more, test);
            assert!(
                verdict.passed(),
                "{text}\n{:?} {:?}\n{edits:?}\n{old:#?}",
                verdict.differences,
                verdict.refused
            );
            let verdict = evaluate(less, test);
            assert_eq!(verdict.refused, None, "{text}");
            // With fewer files for `{changed}` it is the same check.
            let is_same = test.title.ends_with(" with more files");
            assert_eq!(verdict.passed(), is_same, "{text}\n{edits:?}\n{old:#?}");
            told += usize::from(!is_same);
            handed += usize::from(is_same);
            exist += usize::from(!asked.exists.is_empty());
            prefixed += usize::from(
                asked
                    .changed
                    .iter()
                    .any(|f| f.to_named() != f.path.as_bytes()),
            );
            at_end += usize::from(asked.run_end);
            high += usize::from(asked.high_risk);
        }
    }
    println!(
        "{told} tests, {exist} with paths that exist, {prefixed} with a prefix, {at_end} at the end, {high} high, {handed} with files"
    );
    assert!(told >= 256, "too few tests: {told}");
    assert!(
        [exist, at_end, high, handed].iter().all(|n| *n > 0),
        "{exist} {at_end} {high} {handed}"
    );
}
