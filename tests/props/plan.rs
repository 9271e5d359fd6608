//! Laws of planning: identity, selection, order, explanation.

use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use vplan::arbitrary::config;
use vplan::arbitrary::glob::{changes_like, globs_of, selections};
use vplan::arbitrary::order::{Bundle, Constraints, Preparing, order};
use vplan::arbitrary::plan::{Compilation, changes, compilation, condition, facts, plan};
use vplan::base::canon::Digest;
use vplan::base::change::{ChangeSet, ChangedFile, Status};
use vplan::base::index::Index as _;
use vplan::base::jobs::Jobs;
use vplan::base::word::is_unsafe_to_show;
use vplan::check::Kind;
use vplan::contract::condition::holds;
use vplan::contract::{Body, Check, CheckIndex, ConditionIndex, Contract, Test};
use vplan::plan::digest::{digest, seal};
use vplan::plan::document::{canonical, from_json, to_json, to_json_pretty};
use vplan::plan::explain::Options;
use vplan::plan::explain::graph::{dot, mermaid};
use vplan::plan::explain::shell::shell;
use vplan::plan::explain::story::{StoryOutcome, story, story_text};
use vplan::plan::explain::text::explain_text;
use vplan::plan::facts::{Certainty, FactAnswer, Question};
use vplan::plan::implication::{contradicts, implies};
use vplan::plan::order::check_order;
use vplan::plan::request::Selector;
use vplan::plan::{Origin, Plan, Step};

/// A compilation in which every check has a name, so that none is merged into another.
fn named() -> impl Strategy<Value = (Contract, Compilation)> {
    compilation().prop_filter_map("no contract", |mut c| {
        c.contract
            .as_mut()?
            .checks
            .iter_mut()
            .for_each(|check| check.named = true);
        c.request.mode = vplan::plan::request::Mode::Contract;
        Some((c.contract.clone()?, c))
    })
}

fn contract_checks(plan: &Plan) -> BTreeSet<String> {
    plan.steps
        .iter()
        .filter(|s| s.origin == Origin::Contract)
        .map(|s| s.check().to_owned())
        .collect()
}

fn reached(plan: &Plan, tier: u8) -> bool {
    plan.tiers.iter().any(|t| t.tier == tier)
}

/// Which checks a contract asks for, by the definitions alone: conditions, tiers, role, `--only`,
/// `--skip`, `{changed}`, needs.
fn reference(contract: &Contract, c: &Compilation, plan: &Plan) -> BTreeSet<String> {
    let role = c.request.role.as_deref().unwrap_or("worker");
    let exists =
        |s: &_| c.facts.get(&Question::exists(s)) != Some(&FactAnswer::Word(Certainty::No));
    // What is not known neither exists for sure nor is absent for sure, and leaves nothing out.
    let known =
        |s: &_| c.facts.get(&Question::exists(s)) == Some(&FactAnswer::Word(Certainty::Yes));
    let condition = |i: &ConditionIndex| match &contract.conditions[*i].test {
        test @ Test::Absent(_) => holds(test, role, &c.request.changed, known),
        test => holds(test, role, &c.request.changed, exists),
    };
    let applies = |check: &Check| {
        check
            .placements
            .iter()
            .any(|p| p.conditions.iter().all(condition))
    };
    let missing = match c.facts.get(&Question::MissingChanged) {
        Some(FactAnswer::List(list)) => list.clone(),
        _ => Vec::new(),
    };
    let there = |f: &ChangedFile| {
        f.status != Status::Deleted && !missing.iter().any(|m| m.as_bytes() == f.path.as_bytes())
    };
    // What `{changed}` stands for through the placements that hold, or through the definition when
    // none does.
    let has_file = |check: &Check| {
        let holding: Vec<_> = check
            .placements
            .iter()
            .filter(|p| p.conditions.iter().all(condition))
            .collect();
        let holding = if holding.is_empty() || !applies(check) {
            vec![&check.placements[0]]
        } else {
            holding
        };
        let inside = |f: &ChangedFile, p: &vplan::contract::Placement| {
            p.conditions
                .iter()
                .all(|i| match &contract.conditions[*i].test {
                    Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) => {
                        s.selects(&f.path)
                    }
                    _ => true,
                })
        };
        let below = |f: &ChangedFile| f.path.below(&check.dir).is_some();
        c.request
            .changed
            .files()
            .iter()
            .any(|f| there(f) && below(f) && holding.iter().any(|p| inside(f, p)))
    };
    let left = |check: &Check| {
        !matches!(&check.body, Body::Command(k) if k.has_changed()) || has_file(check)
    };
    let only = &contract.roles[role].only;
    let selected = |check: &Check| {
        applies(check)
            && reached(plan, check.tier)
            && (only.is_empty() || check.tags.iter().any(|t| only.contains(t)))
            && (c.request.only.is_empty()
                || c.request.only.iter().any(|s| match s {
                    Selector::Name(name) => *name == check.id,
                    Selector::Tag(tag) => check.tags.contains(tag),
                }))
            && !c.request.skip.iter().any(|s| s.name == check.id)
            && left(check)
    };
    let all = contract.checks.indices();
    let mut chosen: BTreeSet<CheckIndex> = all.filter(|i| selected(&contract.checks[*i])).collect();
    loop {
        let needs = chosen
            .iter()
            .flat_map(|i| contract.checks[*i].needs.clone())
            .filter(|n| left(&contract.checks[*n]));
        let more: BTreeSet<CheckIndex> = needs.chain(chosen.iter().copied()).collect();
        if more == chosen {
            return chosen
                .into_iter()
                .map(|i| contract.checks[i].id.clone())
                .collect();
        }
        chosen = more;
    }
}

/// Every way to change one value of a document, with the path to it.
fn mutations(
    value: &Value,
    path: &str,
    out: &mut Vec<(String, Value)>,
    rebuild: &dyn Fn(Value) -> Value,
) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let put = |new: Value| {
                    let mut map = map.clone();
                    map.insert(key.clone(), new);
                    rebuild(Value::Object(map))
                };
                mutations(inner, &format!("{path}/{key}"), out, &put);
            }
        }
        Value::Array(list) => {
            for (i, inner) in list.iter().enumerate() {
                let put = |new: Value| {
                    let mut list = list.clone();
                    list[i] = new;
                    rebuild(Value::Array(list))
                };
                mutations(inner, &format!("{path}/#"), out, &put);
                let mut shorter = list.clone();
                shorter.remove(i);
                out.push((format!("{path}/#"), rebuild(Value::Array(shorter))));
            }
        }
        Value::Bool(b) => out.push((path.to_owned(), rebuild(Value::Bool(!b)))),
        Value::Number(n) => out.push((
            path.to_owned(),
            rebuild(Value::from(n.as_i64().unwrap() + 1)),
        )),
        Value::String(s) => {
            // An enumeration takes none but its own words: a few of all of them are tried.
            let words = [
                format!("{s}x"),
                "contract".into(),
                "modified".into(),
                "warning".into(),
                "low".into(),
                "run".into(),
            ];
            out.extend(
                words
                    .into_iter()
                    .filter(|w| w != s)
                    .map(|w| (path.to_owned(), rebuild(Value::String(w)))),
            );
        }
        Value::Null => {}
    }
}

fn is_annotation(path: &str) -> bool {
    [
        "/digest",
        "/request/changedFrom",
        "/policy/jobs",
        "/policy/failFast",
    ]
    .contains(&path)
        || path.starts_with("/caveats")
        || path.starts_with("/compared")
        || path.ends_with("/describe")
        || path.contains("/source/")
        || path.ends_with("/line")
        || path.ends_with("/file")
}

pub(super) fn constraints() -> impl Strategy<Value = Constraints> {
    (2_usize..12).prop_flat_map(|n| {
        let node = 0..n;
        let tiers = prop::collection::vec(prop::sample::select(&[0_u8, 0, 0, 1, 2][..]), n);
        let needs = prop::collection::vec((node.clone(), node.clone()), 0..6);
        let groups = prop::collection::vec(prop::collection::btree_set(node.clone(), 0..4), 2..4);
        let sequences = prop::collection::vec(groups, 0..3);
        let nodes = prop::collection::btree_set(node, 1..4);
        let artifacts = prop::collection::vec((nodes.clone(), nodes), 0..4);
        let preparing = preparing(n);
        (
            tiers,
            needs,
            sequences,
            artifacts,
            preparing,
            Just((0..n).collect::<Vec<usize>>()).prop_shuffle(),
        )
            .prop_map(
                |(mut tiers, needs, sequences, artifacts, (setup, preparing), rank)| {
                    // Commands of the request have no tier.
                    tiers.iter_mut().take(preparing.alone).for_each(|t| *t = 0);
                    // Constraints agree with a hidden order by tier and rank; artifacts may not.
                    let key = |i: &usize| (tiers[*i], rank[*i]);
                    let needs = needs.into_iter().filter(|(a, b)| a != b);
                    let needs = needs
                        .map(|(a, b)| if key(&a) < key(&b) { (a, b) } else { (b, a) })
                        .collect();
                    let sequence = |groups: Vec<BTreeSet<usize>>| {
                        let mut members: Vec<usize> = groups.iter().flatten().copied().collect();
                        members.sort_by_key(key);
                        members.dedup();
                        let sizes: Vec<usize> = groups.iter().map(BTreeSet::len).collect();
                        let mut rest = members.into_iter();
                        sizes
                            .into_iter()
                            .map(|size| rest.by_ref().take(size).collect())
                            .collect()
                    };
                    let bundle = |(a, b): (BTreeSet<usize>, BTreeSet<usize>)| Bundle {
                        before: a.into_iter().collect(),
                        after: b.into_iter().collect(),
                    };
                    Constraints {
                        needs,
                        sequences: sequences.into_iter().map(sequence).collect(),
                        artifacts: artifacts.into_iter().map(bundle).collect(),
                        preparing,
                        setup,
                        tiers,
                        ..Constraints::default()
                    }
                },
            )
    })
}

/// Any of the nodes are `setup`; some are a list, of which the first are in no file. The contract
/// imports two files, and one of these a third.
fn preparing(n: usize) -> impl Strategy<Value = (BTreeSet<usize>, Preparing)> {
    let file = prop::sample::select(&[Some(0), Some(0), Some(1), Some(2), Some(3), None][..]);
    let files = prop::collection::vec(file, n);
    let setup = prop::collection::vec(prop::bool::weighted(0.3), n);
    let listed = prop::sample::subsequence((0..n).collect::<Vec<_>>(), 0..n.min(4)).prop_shuffle();
    (
        setup,
        files,
        listed,
        0..3_usize,
        prop::collection::vec(any::<bool>(), 8),
    )
        .prop_map(move |(setup, mut files, listed, alone, turns)| {
            let alone = alone.min(n);
            files.iter_mut().take(alone).for_each(|f| *f = None);
            // All commands that are alone, in the order of the nodes, and checks in between.
            let (mut commands, mut checks) =
                (0..alone, listed.into_iter().filter(|node| *node >= alone));
            let mut list: Vec<usize> = turns
                .iter()
                .filter_map(|turn| {
                    if *turn {
                        commands.next()
                    } else {
                        checks.next()
                    }
                })
                .collect();
            list.extend(commands);
            let setup = (0..n)
                .filter(|node| setup[*node] && files[*node].is_some())
                .collect();
            (
                setup,
                Preparing {
                    files,
                    importers: vec![0, 0, 2],
                    list,
                    alone,
                },
            )
        })
}

/// Which pairs the plain definition wants prepared, strongest wish first.
fn wishes(c: &Constraints) -> Vec<(usize, usize)> {
    let p = &c.preparing;
    let n = c.tiers.len();
    let scope = |file: usize| {
        std::iter::successors(Some(file), |f| f.checked_sub(1).map(|i| p.importers[i]))
            .collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for setup in c.setup.iter().copied() {
        let files = scope(p.files[setup].unwrap());
        all.extend(
            (0..n)
                .filter(|i| !c.setup.contains(i) && p.files[*i].is_some_and(|f| files.contains(&f)))
                .map(|i| (setup, i)),
        );
    }
    all
}

/// Pairs that `needs` and `sequences` order, by their definition: all of an earlier group before
/// all of a later one.
pub(super) fn hard_pairs(c: &Constraints) -> BTreeSet<(usize, usize)> {
    let mut pairs: BTreeSet<(usize, usize)> = c.needs.iter().copied().collect();
    for groups in &c.sequences {
        for (i, before) in groups.iter().enumerate() {
            for after in &groups[i + 1..] {
                pairs.extend(
                    before
                        .iter()
                        .flat_map(|a| after.iter().map(move |b| (*a, *b))),
                );
            }
        }
    }
    pairs
}

pub(super) fn closure(pairs: &BTreeSet<(usize, usize)>) -> BTreeSet<(usize, usize)> {
    let mut all = pairs.clone();
    loop {
        let more: Vec<_> = all
            .iter()
            .flat_map(|(a, b)| {
                all.iter()
                    .filter(move |(c, _)| b == c)
                    .map(move |(_, d)| (*a, *d))
            })
            .filter(|p| !all.contains(p))
            .collect();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

proptest! {
    #![proptest_config(config(1024))]

    /// What is said of two conditions holds for changes made to refute it: files that their globs select, one or a few.
    #[test]
    fn implied_and_contradicting_conditions(
        (a, b, files) in (selections(), condition(), condition(), 0..4_usize, 0..4_usize).prop_flat_map(|(lists, a, b, x, y)| {
            let pick = |given: Test, kind: usize, from: usize| match lists.get(from % (lists.len() * 2)) {
                Some(list) => [Test::ChangedAny, Test::ChangedAll, Test::ChangedOnly, Test::ChangedNone][kind](list.clone()),
                None => given,
            };
            let (a, b) = (pick(a.test, x, x), pick(b.test, y, y + 1));
            let lists = [&a, &b].into_iter().filter_map(|t| match t {
                Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => Some(s.clone()),
                _ => None,
            }).collect::<Vec<_>>();
            let globs = globs_of(&lists);
            let files = if globs.is_empty() { changes().boxed() } else { changes_like(globs).boxed() };
            (Just(a), Just(b), files)
        }),
        role in prop::sample::select(&["worker", "tester", "docser"][..]),
    ) {
        let few = files.files().iter().take(12).map(|f| ChangeSet::new(vec![f.clone()]));
        let pairs = files.files().windows(2).take(6).map(|two| ChangeSet::new(two.to_vec()));
        for changes in few.chain(pairs).chain([files.clone(), ChangeSet::default()]) {
            let holds = |test: &Test| holds(test, role, &changes, |p| p.to_string().len() % 2 == 0);
            prop_assert!(!(implies(&a, &b) && holds(&a)) || holds(&b), "{:?} without {:?} on {:?}", a, b, changes);
            prop_assert!(!(contradicts(&a, &b) && holds(&a) && holds(&b)), "{:?} and {:?} on {:?}", a, b, changes);
            prop_assert!(!(contradicts(&a, &a) && holds(&a)), "{:?} on {:?}", a, changes);
        }
        prop_assert!(implies(&a, &a));
        prop_assert_eq!(contradicts(&a, &b), contradicts(&b, &a));
    }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn changed_files_permutation_and_duplicates(c in compilation(), rotate in 0_usize..8) {
        let Some(want) = c.plan() else { return Ok(()) };
        let mut other = c.clone();
        let mut files: Vec<ChangedFile> = c.request.changed.files().to_vec();
        files.extend(c.request.changed.files().iter().cloned());
        let by = rotate % files.len().max(1);
        files.rotate_left(by);
        files.reverse();
        // A path given twice with one status is that status.
        other.request.changed = ChangeSet::new(files);
        other.request.boundaries.reverse();
        other.request.boundaries.extend(c.request.boundaries.iter().copied());
        other.request.only.extend(c.request.only.iter().cloned());
        other.request.skip.extend(c.request.skip.iter().cloned());
        for (question, answer) in c.facts.0.iter().rev() {
            other.facts.add(question.clone(), answer.clone());
        }
        // A fact that nobody asks for.
        let unasked = vplan::base::path::RepoPath::parse(b"no/such/question").unwrap();
        other.facts.add(Question::Tracked(unasked), FactAnswer::Word(Certainty::Yes));
        prop_assert_eq!(other.plan().map(|p| to_json(&p)), Some(to_json(&want)));
    }

    #[test]
    fn the_order_of_checks_does_not_change_the_set_of_steps(c in compilation(), seed in any::<u64>()) {
        let (Some(want), Some(contract)) = (c.plan(), c.contract.clone()) else { return Ok(()) };
        let mut new_order: Vec<CheckIndex> = contract.checks.indices().collect();
        new_order.sort_by_key(|i| (seed.rotate_left(u32::try_from(i.position() * 7).unwrap())) % 97);
        let place = |old: CheckIndex| CheckIndex::new(new_order.iter().position(|o| *o == old).unwrap());
        let mut moved = contract.clone();
        moved.checks = new_order.iter().map(|i| contract.checks[*i].clone()).collect();
        moved.checks.iter_mut().for_each(|check| check.needs.iter_mut().for_each(|n| *n = place(*n)));
        moved.sequences.iter_mut().for_each(|s| s.groups.iter_mut().flatten().for_each(|n| *n = place(*n)));
        let got = Compilation { contract: Some(moved), ..c.clone() }.plan().unwrap();
        let set = |p: &Plan| {
            let mut all: Vec<_> = p.steps.iter().map(|s| (s.command.clone(), s.dir.clone(), s.kind, s.tier)).collect();
            all.sort();
            all
        };
        prop_assert_eq!(set(&got), set(&want));
    }

    #[test]
    fn hash_sensitive(p in plan(), picks in prop::collection::vec(any::<prop::sample::Index>(), 24)) {
        let value = serde_json::to_value(&p).unwrap();
        let mut all = Vec::new();
        mutations(&value, "", &mut all, &|v| v);
        for (path, mutated) in picks.iter().map(|i| i.get(&all)) {
            // What is no plan any more has no digest.
            let Ok(other) = serde_json::from_value::<Plan>(mutated.clone()) else { continue };
            if other == p {
                // Another spelling of the same value: `""` for an enumeration's default, a repeated list entry.
                continue;
            }
            prop_assert_eq!(digest(&other) == digest(&p), is_annotation(path), "{}", path);
        }
    }

    /// Where things stand, what is said of them, and the digest itself have no say in it.
    #[test]
    fn hash_insensitive(p in plan(), line in 1..999_usize, words in "[a-z ]{0,9}") {
        use vplan::plan::StepSource;
        let mut other = p.clone();
        other.digest = None;
        other.request.changed_from = Some(vplan::plan::request::ChangedFrom::Base(words.clone() + "x"));
        (other.policy.jobs, other.policy.fail_fast) = (Jobs::Number(u32::try_from(line).unwrap()), !other.policy.fail_fast);
        for step in &mut other.steps {
            step.describe = Some(words.clone());
            step.source = Some(StepSource { column: line, file: words.clone(), line });
        }
        other.omitted.iter_mut().for_each(|o| (o.file, o.line) = (Some(words.clone()), Some(line)));
        let of_steps = other.steps.iter_mut().flat_map(|s| &mut s.reasons);
        let of_omitted = other.omitted.iter_mut().flat_map(|o| &mut o.reasons);
        let of_tiers = other.tiers.iter_mut().flat_map(|t| &mut t.triggers);
        of_steps.chain(of_omitted).chain(of_tiers).for_each(|r| (r.file, r.line) = (Some(words.clone()), Some(line)));
        prop_assert_eq!(digest(&other), digest(&p));
        prop_assert_eq!(canonical(&other), canonical(&p));
    }

    #[test]
    fn the_canonical_form_is_that_of_the_standard(p in plan()) {
        let bare = vplan::plan::canonical::value(&p);
        let independent = serde_json_canonicalizer::to_string(&bare).unwrap();
        prop_assert_eq!(canonical(&p), independent);
        prop_assert_eq!(Some(Digest::hash(canonical(&p).as_bytes())), p.digest.clone());
    }

    #[test]
    fn hash_injective_encoding(p in plan()) {
        prop_assert_eq!(from_json(&to_json(&p)), Ok(p.clone()));
        prop_assert_eq!(from_json(&to_json_pretty(&p)), Ok(p.clone()));
        let forged = Plan { request: vplan::plan::request::RequestRecord { role: "other".into(), ..p.request.clone() }, ..p.clone() };
        prop_assert!(from_json(&to_json(&forged)).is_err());
        let other = Plan { version: 3, ..p.clone() };
        prop_assert!(from_json(&to_json(&seal(other))).is_err());
        let unknown = to_json(&p).replacen('{', "{\"more\":1,", 1);
        prop_assert!(from_json(&unknown).is_err());
    }

    #[test]
    fn selection_is_as_defined((contract, c) in named()) {
        let Some(plan) = c.plan() else { return Ok(()) };
        let want = reference(&contract, &c, &plan);
        let got = contract_checks(&plan);
        prop_assert_eq!(&got, &want);
        // What is not in the plan is left out with a reason.
        for check in contract.checks.iter().filter(|check| !got.contains(&check.id)) {
            let out = plan.omitted.iter().find(|o| o.id == check.id);
            prop_assert!(out.is_some_and(|o| !o.reason.trim().is_empty() && !o.reasons.is_empty()), "{}", check.id);
        }
        prop_assert!(plan.steps.iter().all(|s| !s.reasons.is_empty()));
        let ids: BTreeSet<&str> = plan.steps.iter().map(|s| s.id.as_str()).chain(plan.omitted.iter().map(|o| o.id.as_str())).collect();
        prop_assert_eq!(ids.len(), plan.steps.len() + plan.omitted.len());
    }

    #[test]
    fn more_changes_only_add_checks((mut contract, mut c) in named(), more in changes()) {
        for condition in &mut contract.conditions {
            if let Test::ChangedOnly(s) | Test::ChangedNone(s) = &condition.test {
                condition.test = Test::ChangedAny(s.clone());
            }
        }
        c.contract = Some(contract);
        let Some(few) = c.plan() else { return Ok(()) };
        let mut grown = c.clone();
        let all = c.request.changed.files().iter().chain(more.files().iter().filter(|f| !c.request.changed.contains(&f.path)));
        grown.request.changed = ChangeSet::new(all.cloned().collect());
        let Some(many) = grown.plan() else { return Ok(()) };
        prop_assert!(contract_checks(&few).is_subset(&contract_checks(&many)));
        prop_assert!(few.tiers.iter().all(|t| reached(&many, t.tier)));
    }

    #[test]
    fn reason_is_sufficient((mut contract, mut c) in named()) {
        // One condition a block, of the kind that one file can meet.
        for check in &mut contract.checks {
            check.placements.iter_mut().for_each(|p| p.conditions.truncate(1));
            check.tier = 0;
        }
        for condition in &mut contract.conditions {
            if let Test::ChangedOnly(s) | Test::ChangedNone(s) | Test::ChangedAll(s) = &condition.test {
                condition.test = Test::ChangedAny(s.clone());
            }
        }
        c.contract = Some(contract.clone());
        let Some(plan) = c.plan() else { return Ok(()) };
        for step in plan.steps.iter().filter(|s| s.origin == Origin::Contract && s.kind != vplan::check::Kind::Lint) {
            let named: Vec<_> = step.reasons.iter().filter(|r| r.condition == "whenChangedAny").collect();
            for reason in &named {
                prop_assert!(reason.glob.is_some() && !reason.matched.is_empty());
                prop_assert!(reason.matched_count >= Some(reason.matched.len() as u64));
                let witness = c.request.changed.files().iter().filter(|f| reason.matched.contains(&f.path)).take(1);
                let mut alone = c.clone();
                alone.request.changed = ChangeSet::new(witness.cloned().collect());
                let other = alone.plan().unwrap();
                prop_assert!(contract_checks(&other).contains(step.check()), "{:?}", reason);
            }
            let other = ["always", "use", "byRole", "whenExists", "whenExistsAny", "whenAbsent", "needed-by"];
            prop_assert!(!named.is_empty() || step.reasons.iter().any(|r| other.contains(&r.condition.as_str())));
        }
    }

    #[test]
    fn topo_is_declaration_stable((contract, c) in named()) {
        let Some(plan) = c.plan() else { return Ok(()) };
        prop_assert_eq!(check_order(&plan), Ok(()));
        // Of the steps that are ready, the first of the lowest tier in base order comes next.
        let base = |id: &str| match contract.checks.iter().position(|check| check.id == id) {
            Some(i) => (1, i),
            None => (0, 0),
        };
        let mut explicit = Vec::new();
        let mut left: Vec<_> = plan.steps.iter().collect();
        explicit.extend(plan.steps.iter().filter(|s| s.origin == Origin::Explicit).map(|s| s.id.clone()));
        // A judge goes last in its tier, behind those for which others wait.
        let by_id: BTreeMap<&str, &Step> = plan.steps.iter().map(|s| (s.id.as_str(), s)).collect();
        let mut awaited: BTreeSet<&str> = BTreeSet::new();
        for step in plan.steps.iter().filter(|s| s.kind != Kind::Judge) {
            let mut seen: BTreeSet<&str> = BTreeSet::new();
            let mut stack: Vec<&str> = step.after.iter().map(String::as_str).collect();
            while let Some(id) = stack.pop() {
                if seen.insert(id) {
                    stack.extend(by_id[id].after.iter().map(String::as_str));
                }
            }
            awaited.extend(seen.into_iter().filter(|id| by_id[id].tier == step.tier));
        }
        let class = |s: &Step| match s.kind {
            Kind::Judge if awaited.contains(s.id.as_str()) => 1,
            Kind::Judge => 2,
            _ => 0,
        };
        let mut done: BTreeSet<&str> = BTreeSet::new();
        for step in &plan.steps {
            let ready = left.iter().filter(|s| s.after.iter().all(|a| done.contains(a.as_str())));
            let first = ready.min_by_key(|s| (s.tier, class(s), base(s.check()))).unwrap();
            prop_assert_eq!(&first.id, &step.id);
            left.retain(|s| s.id != step.id);
            done.insert(&step.id);
        }
        // `needs` and sequences hold between all that is there.
        let at: BTreeMap<&str, usize> = plan.steps.iter().enumerate().map(|(i, s)| (s.check(), i)).collect();
        let gives_way = plan.notes.iter().any(|n| n.kind == "sequence-gives-way");
        for check in &contract.checks {
            for need in &check.needs {
                let pair = (at.get(contract.checks[*need].id.as_str()), at.get(check.id.as_str()));
                prop_assert!(!matches!(pair, (Some(a), Some(b)) if a > b));
            }
        }
        for sequence in contract.sequences.iter().filter(|_| !gives_way) {
            for (i, before) in sequence.groups.iter().enumerate() {
                for (a, b) in sequence.groups[i + 1..].iter().flatten().flat_map(|b| before.iter().map(move |a| (a, b))) {
                    let pair = (at.get(contract.checks[*a].id.as_str()), at.get(contract.checks[*b].id.as_str()));
                    prop_assert!(!matches!(pair, (Some(a), Some(b)) if a > b));
                }
            }
        }
    }

    #[test]
    fn topo_respects_edges(c in constraints()) {
        let got = order(&c);
        let mut sorted = got.order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..c.tiers.len()).collect::<Vec<_>>());
        prop_assert!(got.against_tiers.is_empty());
        let at = |node: usize| got.order.iter().position(|n| *n == node).unwrap();
        prop_assert!(got.order.windows(2).all(|w| c.tiers[w[0]] <= c.tiers[w[1]]));
        let hard = closure(&hard_pairs(&c));
        for (a, b) in &hard {
            prop_assert!(at(*a) < at(*b), "{} {}", a, b);
        }
        // `after` says all of it, and nothing against the order.
        let direct: BTreeSet<(usize, usize)> =
            got.after.iter().enumerate().flat_map(|(later, all)| all.iter().map(move |e| (*e, later))).collect();
        let said = closure(&direct);
        prop_assert!(hard.is_subset(&said));
        prop_assert!(said.iter().all(|(a, b)| at(*a) < at(*b)));
        // No fewer would say it.
        for pair in &direct {
            let mut fewer = direct.clone();
            fewer.remove(pair);
            prop_assert!(!closure(&fewer).contains(pair), "{:?} follows from the rest", pair);
        }
        // Nothing waits for what neither a constraint nor an artifact setting names.
        let soft: BTreeSet<(usize, usize)> = c.artifacts.iter().flat_map(|b| b.before.iter().flat_map(move |x| b.after.iter().map(move |y| (*x, *y)))).collect();
        prop_assert!(direct.iter().all(|p| hard.contains(p) || soft.contains(p)));
        // An artifact edge that does not hold has a reason: the opposite follows from the rest, or is said as well.
        for (a, b) in soft.iter().filter(|(a, b)| a != b && c.tiers[*a] <= c.tiers[*b] && !soft.contains(&(*b, *a))) {
            prop_assert!(said.contains(&(*a, *b)) || said.contains(&(*b, *a)), "{} {}", a, b);
            prop_assert!(at(*a) < at(*b) || said.contains(&(*b, *a)));
        }
    }

    /// What prepares gives way to all else, and to nothing without a reason; what is told of it is what else would not be known.
    #[test]
    fn preparing_gives_way(c in constraints()) {
        let got = order(&c);
        let pairs = |lists: &[Vec<usize>]| lists.iter().enumerate().flat_map(|(later, all)| all.iter().map(move |e| (*e, later))).collect::<BTreeSet<_>>();
        let (strong, weak) = (pairs(&got.after), pairs(&got.prepared_by));
        let without = order(&Constraints { preparing: Preparing::default(), ..c.clone() });
        prop_assert_eq!(closure(&pairs(&without.after)), closure(&strong), "nothing else has changed");
        let both: BTreeSet<(usize, usize)> = strong.union(&weak).copied().collect();
        let said = closure(&both);
        let at = |node: usize| got.order.iter().position(|n| *n == node).unwrap();
        prop_assert!(said.iter().all(|(a, b)| at(*a) < at(*b) && c.tiers[*a] <= c.tiers[*b]));
        for pair in &weak {
            let mut fewer = both.clone();
            fewer.remove(pair);
            prop_assert!(!closure(&fewer).contains(pair), "{:?} follows from the rest", pair);
        }
        let fits = |(a, b): &(usize, usize)| c.tiers[*a] <= c.tiers[*b];
        for (a, b) in wishes(&c).iter().filter(|pair| fits(pair)) {
            prop_assert!(said.contains(&(*a, *b)) || said.contains(&(*b, *a)), "setup {} and {}", a, b);
        }
        let p = &c.preparing;
        for (at, later) in p.list.iter().enumerate().skip(1) {
            let earlier = &p.list[..at];
            prop_assert!(earlier.iter().any(|e| said.contains(&(*e, *later)) || said.contains(&(*later, *e)) || !fits(&(*e, *later))));
        }
        for (command, other) in (0..p.alone).flat_map(|a| (p.alone..c.tiers.len()).map(move |b| (a, b))).filter(|pair| fits(pair)) {
            prop_assert!(said.contains(&(command, other)) || said.contains(&(other, command)), "{} and {}", command, other);
        }
    }

    #[test]
    fn what_is_shown_is_harmless_and_complete(p in plan()) {
        let text = explain_text(&p, &Options::default());
        prop_assert_eq!(&text, &explain_text(&p.clone(), &Options::default()));
        for shown in [&text, &dot(&p), &mermaid(&p), &shell(&p)] {
            prop_assert!(shown.chars().all(|c| c == '\n' || !is_unsafe_to_show(c)));
            prop_assert!(shown.ends_with('\n'));
        }
        for id in p.steps.iter().map(|s| &s.id).chain(p.omitted.iter().map(|o| &o.id)) {
            prop_assert!(text.contains(id.as_str()));
        }
    }

    #[test]
    fn every_check_has_a_story((contract, c) in named(), other in facts()) {
        let Some(plan) = c.plan() else { return Ok(()) };
        for check in &contract.checks {
            let told = story(Some(&contract), &c.request, &c.facts, &plan, &check.id).unwrap();
            let planned = matches!(told.outcome, StoryOutcome::Planned { .. });
            prop_assert_eq!(planned, contract_checks(&plan).contains(&check.id));
            let text = story_text(&told, &Options::default());
            prop_assert!(text.starts_with(check.id.as_str()));
            if let Some(change) = &told.would {
                // It really is selected then.
                let mut then = c.clone();
                then.facts = other.clone();
                change.exist.iter().for_each(|s| then.facts.add(Question::exists(s), FactAnswer::Word(Certainty::Yes)));
                change.absent.iter().for_each(|s| then.facts.add(Question::exists(s), FactAnswer::Word(Certainty::No)));
                let thought = |q: &Question| change.exist.iter().chain(&change.absent).any(|s| *q == Question::exists(s));
                c.facts.0.iter().filter(|(q, _)| **q != Question::MissingChanged && !thought(q))
                    .for_each(|(q, a)| then.facts.add(q.clone(), a.clone()));
                then.facts.add(Question::MissingChanged, FactAnswer::List(Vec::new()));
                then.request.role = change.role.clone().or(then.request.role);
                then.request.min_tier = change.min_tier.unwrap_or(0).max(then.request.min_tier);
                let kept = if change.instead { Vec::new() } else { c.request.changed.files().to_vec() };
                let added = change.files.iter().map(|p| ChangedFile { path: p.clone(), status: Status::Modified });
                then.request.changed = ChangeSet::new(kept.into_iter().chain(added).collect());
                if change.without_only { then.request.only.clear(); }
                if change.without_skip { then.request.skip.clear(); }
                prop_assert!(contract_checks(&then.plan().unwrap()).contains(&check.id));
            }
        }
        prop_assert!(story(Some(&contract), &c.request, &c.facts, &plan, "no-such-check").is_err());
    }
}
