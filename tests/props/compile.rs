//! Laws of compiling: the same as the reference, whatever order things come in, and monotone where
//! more is asked.

use crate::reference::glob::selects;
use crate::reference::plan::{right, said};
use proptest::prelude::*;
use std::collections::BTreeSet;
use vplan::arbitrary::config;
use vplan::arbitrary::glob::{globs_of, selections};
use vplan::arbitrary::plan::{Compilation, changes, command, compilation, varied};
use vplan::base::change::{ChangeSet, ChangedFile, Status};
use vplan::base::glob::{Item, Selection};
use vplan::base::index::Index as _;
use vplan::base::path::RepoPath;
use vplan::base::setting::{Row, Value};
use vplan::check::Kind;
use vplan::check::confine::{Confinement, NetworkUse, SandboxLevel};
use vplan::contract::{Body, CheckIndex, Contract, Risk, Role, Test};
use vplan::plan::canonical::value;
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::containment::contains;
use vplan::plan::document::to_json;
use vplan::plan::request::{Boundary, Mode, Risk as Level};
use vplan::plan::skeleton::without_contract;
use vplan::plan::{Omitted, Origin, Plan, Step};

fn repo_path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

fn file(path: &str) -> ChangedFile {
    ChangedFile {
        path: repo_path(path),
        status: Status::Modified,
    }
}

fn selection_of(test: &mut Test) -> Option<&mut Selection> {
    match test {
        Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
            Some(s)
        }
        Test::Role(_) | Test::Exists(_) | Test::ExistsAny(_) | Test::Absent(_) => None,
    }
}

fn matches_reference(c: &Compilation) -> Result<(), TestCaseError> {
    let got = match compile(c.contract.as_ref(), &c.request, &c.facts) {
        Ok(Compiled::Plan(plan)) => Some(said(&plan)),
        Ok(Compiled::Needs(questions)) => {
            return Err(TestCaseError::fail(format!("asks for {questions:?}")));
        }
        Err(_) => None,
    };
    prop_assert_eq!(
        got,
        right(
            c.contract.as_ref(),
            &without_contract(),
            &c.request,
            &c.facts
        )
    );
    Ok(())
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn compile_matches_reference(c in prop_oneof![compilation(), varied()]) {
        matches_reference(&c)?;
    }
}

/// The reference says something: most cases have steps, and all that can happen to a check happens.
#[test]
fn cases_of_the_reference_are_worth_comparing() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut steps, mut omitted, mut tiers, mut refused, mut waits, mut origins) =
        (0, 0, 0, 0, 0, BTreeSet::new());
    for _ in 0..2_000 {
        let c = varied().new_tree(&mut runner).unwrap().current();
        let Some(right) = right(
            c.contract.as_ref(),
            &without_contract(),
            &c.request,
            &c.facts,
        ) else {
            refused += 1;
            continue;
        };
        steps += usize::from(!right.steps.is_empty());
        omitted += usize::from(!right.omitted.is_empty());
        tiers += usize::from(right.tiers.len() > 1);
        waits += usize::from(right.steps.iter().any(|s| !s.behind.is_empty()));
        origins.extend(right.steps.iter().map(|s| s.origin));
    }
    assert!(
        steps > 200 && omitted > 200 && tiers > 100 && waits > 50 && refused > 0,
        "{steps} {omitted} {tiers} {waits} {refused}"
    );
    assert_eq!(origins.len(), 4);
}

/// No contract has a way to leave out what is in: no role, no waiver, no `{changed}`.
fn plain(mut c: Compilation) -> Option<(Contract, Compilation)> {
    let contract = c.contract.as_mut()?;
    contract
        .roles
        .values_mut()
        .for_each(|role| *role = Role::default());
    contract.limits.max_checks = None;
    for check in &mut contract.checks {
        check.named = true;
        if matches!(&check.body, Body::Command(k) if k.has_changed()) {
            check.body = Body::Command(command("lint all"));
        }
    }
    c.request.only.clear();
    c.request.skip.clear();
    c.request.explicit.retain(|k| !k.command.has_changed());
    c.request.mode = Mode::Contract;
    Some((c.contract.clone()?, c))
}

fn plain_compilations() -> impl Strategy<Value = (Contract, Compilation)> {
    varied().prop_filter_map("no contract", plain)
}

fn checks_of(plan: &Plan) -> BTreeSet<String> {
    plan.steps
        .iter()
        .filter(|s| s.origin == Origin::Contract)
        .map(|s| s.check().to_owned())
        .collect()
}

fn with(contract: &Contract, c: &Compilation) -> Plan {
    Compilation {
        contract: Some(contract.clone()),
        ..c.clone()
    }
    .plan()
    .unwrap()
}

proptest! {
    #![proptest_config(config(256))]

    /// The same bytes again, and in another thread with other hash seeds; other processes and places are tried in `cli`.
    #[test]
    fn compile_deterministic(c in varied()) {
        let Some(plan) = c.plan() else { return Ok(()) };
        let text = to_json(&plan);
        prop_assert_eq!(c.plan().map(|p| to_json(&p)), Some(text.clone()));
        let other = std::thread::spawn(move || c.plan().map(|p| to_json(&p))).join().unwrap();
        prop_assert_eq!(other, Some(text));
    }

    /// A plan in which nobody asks for a confinement has the canonical form of a vplan that knows none.
    #[test]
    fn no_sandbox_no_other_digest(c in varied()) {
        let mut c = c;
        for check in c.contract.iter_mut().flat_map(|contract| contract.checks.iter_mut()) {
            check.set(Row::Sandbox, Value::Word("none"));
            check.set(Row::Network, Value::Word("on"));
            // It is an error beside `sandbox none`.
            check.settings.remove(&Row::Reads);
        }
        let Some(plan) = c.plan() else { return Ok(()) };
        let steps = value(&plan)["steps"].as_array().unwrap().clone();
        for key in ["sandbox", "network", "reads", "sandboxFrom"] {
            prop_assert!(steps.iter().all(|step| step.get(key).is_none()), "{key}");
        }
    }

    /// `--sandbox` and `--network` only add: every command has what it had, and what they ask for.
    #[test]
    fn the_operator_only_strengthens(c in varied(), level in prop::sample::select(&SandboxLevel::ALL[..]), network in prop::sample::select(&NetworkUse::ALL[..])) {
        let Some(plain) = c.plan() else { return Ok(()) };
        let asked = Confinement { level, network };
        let mut c = c;
        c.request.confinement = asked;
        let plan = c.plan().unwrap();
        prop_assert!(contains(&plain, &plan));
        for (before, after) in plain.steps.iter().zip(&plan.steps) {
            let least = if matches!(after.kind, Kind::File | Kind::Judge) { Confinement::default() } else { asked };
            prop_assert_eq!(after.confinement(), before.confinement().and(least));
            prop_assert_eq!(after.sandbox_from.is_some(), after.confinement() != before.confinement());
            // But for that it is the same step.
            let bare = |step: &Step| Step {
                sandbox: SandboxLevel::None,
                sandbox_from: None,
                network: NetworkUse::On,
                ..step.clone()
            };
            prop_assert_eq!(bare(before), bare(after));
        }
    }

    /// More files, a higher risk, more boundaries, a higher least tier: nothing falls away but by a condition that says so.
    #[test]
    fn monotone_signals((mut contract, c) in plain_compilations(), more in changes(), level in 0..3_u8, tier in 0..3_u8, last in any::<bool>()) {
        for condition in &mut contract.conditions {
            if let Test::ChangedOnly(s) | Test::ChangedNone(s) = &condition.test {
                condition.test = Test::ChangedAny(s.clone());
            }
        }
        let few = with(&contract, &c);
        let mut grown = c.clone();
        let added = more.files().iter().filter(|f| !c.request.changed.contains(&f.path));
        grown.request.changed = ChangeSet::new(c.request.changed.files().iter().chain(added).cloned().collect());
        grown.request.risk = [Level::Low, Level::Medium, Level::High][usize::from(level)].max(c.request.risk);
        grown.request.min_tier = tier.max(c.request.min_tier);
        if last {
            grown.request.boundaries = vec![Boundary::MilestoneEnd, Boundary::RunEnd];
        }
        let many = with(&contract, &grown);
        prop_assert!(checks_of(&few).is_subset(&checks_of(&many)));
        prop_assert!(few.tiers.iter().all(|t| many.tiers.iter().any(|m| m.tier == t.tier)));
    }

    #[test]
    fn monotone_min_tier(mut c in varied()) {
        // Of equal ones without a name the first stands for all, and another one may be the first.
        c.contract.iter_mut().flat_map(|k| &mut k.checks).for_each(|check| check.named = true);
        let plans: Vec<Plan> = (0..=2).filter_map(|min_tier| {
            let mut c = c.clone();
            c.request.min_tier = min_tier;
            c.plan()
        }).collect();
        for pair in plans.windows(2) {
            prop_assert!(checks_of(&pair[0]).is_subset(&checks_of(&pair[1])));
        }
    }

    /// A file that nothing selects is written down, and that is all: but for `whenChangedOnly`, which asks about every file.
    #[test]
    fn irrelevant_file_no_effect((mut contract, c) in plain_compilations()) {
        for condition in &mut contract.conditions {
            if let Test::ChangedOnly(s) = &condition.test {
                condition.test = Test::ChangedNone(s.clone());
            }
        }
        let unseen = "zz/unseen/by.anybody";
        let all: Vec<Selection> = contract.conditions.iter_mut().filter_map(|c| selection_of(&mut c.test).cloned())
            .chain(contract.risks.iter().map(|r| r.selection.clone())).collect();
        prop_assume!(!globs_of(&all).iter().any(|g| selects(g.text(), unseen.as_bytes())));
        let plan = with(&contract, &c);
        let mut more = c.clone();
        more.request.changed = ChangeSet::new(c.request.changed.files().iter().cloned().chain([file(unseen)]).collect());
        let other = with(&contract, &more);
        prop_assert_ne!(&plan.request.changed, &other.request.changed);
        let changed = plan.request.changed.clone();
        let request = vplan::plan::request::RequestRecord { changed, ..other.request.clone() };
        prop_assert_eq!(Plan { digest: plan.digest.clone(), request, ..other }, plan);
    }

    #[test]
    fn always_rules_always((mut contract, c) in plain_compilations(), at in any::<prop::sample::Index>(), none in any::<bool>()) {
        let check = CheckIndex::new(at.index(contract.checks.len()));
        let check = &mut contract.checks[check];
        check.tier = 0;
        check.placements.truncate(1);
        check.placements[0].conditions.clear();
        let id = check.id.clone();
        let mut c = c;
        if none {
            c.request.changed = ChangeSet::default();
        }
        let plan = with(&contract, &c);
        let step = plan.steps.iter().find(|s| s.id == id);
        prop_assert!(step.is_some_and(|s| s.reasons.iter().any(|r| r.condition == "always")));
    }

    /// Each reason is one of the contract's or of the request's, and what it shows is there and is selected.
    #[test]
    fn every_step_has_reason(c in varied()) {
        let Some(plan) = c.plan() else { return Ok(()) };
        for step in &plan.steps {
            prop_assert!(!step.reasons.is_empty(), "{}", step.id);
            for reason in &step.reasons {
                let own = ["always", "needed-by", "explicit", "proposed", "inferred", "definition-changed", "use"];
                let rule = c.contract.iter().flat_map(|k| &k.conditions)
                    .any(|k| k.test.keyword() == reason.condition && Some(k.line) == reason.line);
                prop_assert!(rule || own.contains(&reason.condition.as_str()), "{:?}", reason);
                prop_assert!(reason.matched.iter().all(|p| c.request.changed.contains(p)), "{:?}", reason);
                if let Some(glob) = &reason.glob {
                    prop_assert!(reason.matched.iter().all(|p| selects(glob, p.as_bytes())), "{:?}", reason);
                    prop_assert!(!reason.matched.is_empty());
                }
                if reason.condition == "needed-by" {
                    let is_there = |n: &String| plan.steps.iter().any(|s| s.check() == n || s.reasons.len() > step.reasons.len());
                    prop_assert!(!reason.names.is_empty() && reason.names.iter().all(is_there), "{:?}", reason);
                }
            }
        }
    }

    /// What was asked for and is not granted is in the plan: a lowered trigger, a cut command, a waiver, a lesser budget.
    #[test]
    fn normalisation_visible(c in varied(), budgets in (prop::option::of(1..9_u64), prop::option::of(1..9_u64))) {
        let mut c = c;
        c.request.budget_ms = budgets.0;
        if let Some(contract) = &mut c.contract {
            contract.limits.budget_ms = budgets.1;
        }
        let Some(plan) = c.plan() else { return Ok(()) };
        let limits = c.contract.iter().filter_map(|k| k.limits.budget_ms).chain(budgets.0);
        prop_assert_eq!(plan.policy.budget_ms, limits.min());
        if c.request.mode == Mode::Off {
            prop_assert!(plan.notes.iter().any(|n| n.kind == "mode-off"));
            return Ok(());
        }
        let pulled = |r: &&Risk| c.request.changed.files().iter().any(|f| r.selection.selects(&f.path));
        let lowered = c.contract.iter().flat_map(|k| &k.risks).filter(|r| r.tier == 2).filter(pulled).count();
        prop_assert_eq!(plan.notes.iter().filter(|n| n.kind == "trigger-lowered").count(), lowered);
        for skip in &c.request.skip {
            let out = plan.omitted.iter().find(|o| o.id == skip.name);
            let waived = |o: &Omitted| o.narrows == o.reasons.iter().any(|r| matches!(r.condition.as_str(), "skip" | "max-checks"));
            prop_assert!(out.is_some_and(waived));
        }
        // No command disappears: it is a step, part of a check, or left out.
        for explicit in &c.request.explicit {
            let text = explicit.to_text();
            let merged = plan.steps.iter().any(|s| s.reasons.iter().any(|r| r.condition == "explicit"));
            prop_assert!(merged || !plan.omitted.is_empty(), "{}", text);
        }
    }

    /// An exclusion takes away the files that it names, and the checks that had no other.
    #[test]
    fn except_only_removes_what_it_names((mut contract, c) in plain_compilations(), lists in selections()) {
        contract.conditions.iter_mut().for_each(|k| {
            if let Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) = &k.test {
                k.test = Test::ChangedAny(s.clone());
            }
        });
        let before = with(&contract, &c);
        let except: Vec<Item> = lists[0].items.iter().filter(|i| !i.not).map(|i| Item { not: true, ..i.clone() }).collect();
        let named = |p: &RepoPath| except.iter().any(|i| Item { not: false, ..i.clone() }.selects(p));
        let mut narrowed = contract.clone();
        narrowed.conditions.iter_mut().filter_map(|k| selection_of(&mut k.test)).for_each(|s| s.items.extend(except.clone()));
        let after = with(&narrowed, &c);
        prop_assert!(checks_of(&after).is_subset(&checks_of(&before)));
        // It is as if the named files had not changed at all.
        let mut without = c.clone();
        let rest = c.request.changed.files().iter().filter(|f| !named(&f.path));
        without.request.changed = ChangeSet::new(rest.cloned().collect());
        let mut no_triggers = contract.clone();
        no_triggers.risks.clear();
        narrowed.risks.clear();
        prop_assert_eq!(checks_of(&with(&narrowed, &c)), checks_of(&with(&no_triggers, &without)));
        if without.request.changed == c.request.changed {
            prop_assert_eq!(checks_of(&before), checks_of(&after));
        }
    }

    /// The contract, or its lock, among the changed files is said aloud, and is no reason to verify less.
    #[test]
    fn contract_change_is_signal((contract, c) in plain_compilations(), lock in any::<bool>(), status in 0..3_u8) {
        let path = if lock { "contracts/verify.lock.kdl" } else { "contracts/verify.vplan" };
        let status = [Status::Added, Status::Modified, Status::Deleted][usize::from(status)];
        let mut c = c;
        let others = c.request.changed.files().iter().filter(|f| f.path.as_bytes() != path.as_bytes());
        let files = others.cloned().chain([ChangedFile { path: repo_path(path), status }]);
        c.request.changed = ChangeSet::new(files.collect());
        let plan = with(&contract, &c);
        let noted = |p: &str| plan.notes.iter().any(|n| n.kind == "contract-changed" && n.path == Some(repo_path(p)));
        prop_assert!(noted(path));
        let other = c.request.changed.contains(&repo_path("contracts/verify.vplan"));
        prop_assert_eq!(noted("contracts/verify.vplan"), other);
    }

    /// What a selected check needs is there, or is left out aloud; whatever part was asked for.
    #[test]
    fn subset_selection_closed(c in varied()) {
        let Some(plan) = c.plan() else { return Ok(()) };
        let Some(contract) = c.contract.as_ref().filter(|_| c.request.mode != Mode::Off) else { return Ok(()) };
        let ids: BTreeSet<&str> = plan.steps.iter().map(|s| s.check()).collect();
        for step in plan.steps.iter().filter(|s| s.origin == Origin::Contract) {
            prop_assert!(step.needs.iter().chain(&step.after).all(|n| plan.steps.iter().any(|s| s.id == *n)));
            let check = contract.checks.iter().find(|k| k.id == step.check()).unwrap();
            for need in check.needs.iter().map(|n| &contract.checks[*n].id) {
                let out = plan.omitted.iter().find(|o| o.id == *need);
                prop_assert_ne!(ids.contains(need.as_str()), out.is_some(), "{}", need);
                prop_assert!(out.is_none_or(|o| o.reasons.iter().all(|r| r.condition == "changed")), "{:?}", out);
            }
        }
    }

    /// A shell runs what a contract gave to `shell`, and nothing else.
    #[test]
    fn shell_only_if_declared(c in varied()) {
        let Some(plan) = c.plan() else { return Ok(()) };
        for step in &plan.steps {
            let by_shell = step.argv.as_ref().is_some_and(|a| a.len() == 3 && a[0].as_bytes() == b"sh" && a[1].as_bytes() == b"-c");
            prop_assert_eq!(by_shell, step.kind == Kind::Shell, "{}", step.command);
            prop_assert!(step.unsupported.is_none() || step.argv.is_none());
        }
    }
}
