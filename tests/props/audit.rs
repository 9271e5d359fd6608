//! Laws of the audit: globs select what was read and little more; a mended contract has no errors,
//! and asks for no less; the order of the runs makes no difference.

use crate::audit::rules::planned;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use vplan::arbitrary::config;
use vplan::base::diagnostic::Diagnostics;
use vplan::base::glob::Glob;
use vplan::base::path::RepoPath;
use vplan::base::source::{Source, Sources};
use vplan::base::word::Word;
use vplan::check::observed::{Observed, Place};
use vplan::contract::Contract;
use vplan::contract::validate::validate;
use vplan::engine::amend::amend;
use vplan::front::lower;
use vplan::plan::audit::covering::{TrackedFiles, cover};
use vplan::plan::audit::{AuditSubject, Audited, FindingKind, ObservedRun, audit};
use vplan::plan::diff::Class;
use vplan::plan::diff::contracts::{Side, compare};
use vplan::plan::facts::Facts;

/// Tracked files, sorted.
const TRACKED: [&str; 16] = [
    "Makefile",
    "README.md",
    "a[1].txt",
    "data/a.json",
    "data/b.json",
    "data/x.csv",
    "docs/a.md",
    "docs/b.md",
    "src/a.rs",
    "src/b.rs",
    "src/deep/c.rs",
    "src/deep/d.md",
    "src/gen.rs",
    "tests/a.rs",
    "tests/b.rs",
    "verify.vplan",
];
/// Files that git ignores, files that are not there, folders.
const IGNORED: [&str; 4] = [".env", "target/a", "target/b", "target/deep/c"];
const ABSENT: [&str; 4] = ["build.rs", "data/c.json", "lib/x.rs", "src/lib.rs"];
const FOLDERS: [&str; 6] = [".", "data", "docs", "src", "src/deep", "tests"];

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

fn tracked() -> Vec<RepoPath> {
    TRACKED.iter().map(|text| path(text)).collect()
}

const HEADS: [&str; 9] = [
    "",
    "whenChangedAny \"src/**\"",
    "whenChangedAny \"src/**\" \"!**/*.md\"",
    "whenChangedAny \"data/a.json\"",
    "whenChangedAll \"src/**\" \"**/*.rs\"",
    "whenChangedOnly \"src/**\"",
    "whenChangedNone \"docs/**\"",
    "byRole tester",
    "whenExists \"Makefile\"",
];
const INPUTS: [&str; 4] = [
    "",
    "inputs \"src/**\"",
    "inputs \"**/*.rs\" \"data/a.json\"",
    "inputs \"Makefile\"",
];

/// A check: up to two blocks around it, its inputs, whether it needs the one before, its tier, and
/// whether it is on one line.
#[derive(Clone, Debug)]
struct Written {
    around: [&'static str; 2],
    inputs: &'static str,
    needs: bool,
    tier: u8,
    short: bool,
}

fn written() -> impl Strategy<Value = Written> {
    let head = || prop::sample::select(&HEADS[..]);
    let inputs = prop::sample::select(&INPUTS[..]);
    (
        head(),
        head(),
        inputs,
        prop::bool::weighted(0.3),
        0..3_u8,
        any::<bool>(),
    )
        .prop_map(|(outer, inner, inputs, needs, tier, short)| Written {
            around: [outer, inner],
            inputs,
            needs,
            tier,
            short,
        })
}

/// The text of a contract with these checks, named `c0`, `c1` …; `shared`: inputs for all.
fn text(checks: &[Written], shared: bool) -> String {
    let mut text = "vplan 1\n".to_owned();
    if shared {
        text.push_str("defaults {\n  inputs \"src/**\" \"Makefile\"\n}\n");
    }
    for (n, check) in checks.iter().enumerate() {
        let heads: Vec<&str> = check
            .around
            .into_iter()
            .filter(|head| !head.is_empty())
            .collect();
        heads
            .iter()
            .for_each(|head| text.push_str(&format!("{head} {{\n")));
        if check.short {
            text.push_str(&format!("check c{n}: make c{n} # as ever\n"));
        } else {
            let needs = if check.needs && n > 0 {
                format!("needs c{}\n", n - 1)
            } else {
                String::new()
            };
            let (inputs, tier) = (check.inputs, check.tier);
            text.push_str(&format!(
                "check c{n} {{\nrun make c{n}\ntier {tier}\n{needs}{inputs}\n}}\n"
            ));
        }
        heads.iter().for_each(|_| text.push_str("}\n"));
    }
    text
}

fn read(text: &str) -> Option<Contract> {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("verify.vplan", text));
    let mut sink = Diagnostics::default();
    let draft = lower(&sources, id, &mut sink);
    let contract = validate(&draft, &sources, &mut sink);
    contract.filter(|_| !sink.has_errors())
}

/// What a step did with a file: read, written, looked for, listed.
fn observation() -> impl Strategy<Value = Observed> {
    let tracked = prop::collection::btree_set(prop::sample::select(&TRACKED[..]), 0..8);
    let ignored =
        prop::collection::btree_set((prop::sample::select(&IGNORED[..]), any::<bool>()), 0..3);
    let absent = prop::collection::btree_set(prop::sample::select(&ABSENT[..]), 0..2);
    let listed = prop::collection::btree_set(prop::sample::select(&FOLDERS[..]), 0..3);
    (tracked, ignored, absent, listed).prop_map(|(tracked, ignored, absent, listed)| {
        let mut observed = Observed::default();
        let mut uses = |text: &str, edit: &dyn Fn(&mut vplan::check::observed::Uses)| {
            let uses = observed
                .files
                .entry(Place::Repository(path(text)))
                .or_default();
            edit(uses);
            uses.programs.insert(Word::from("make"));
        };
        tracked
            .iter()
            .for_each(|text| uses(text, &|u| u.read = true));
        absent
            .iter()
            .for_each(|text| uses(text, &|u| u.missing = true));
        listed
            .iter()
            .for_each(|text| uses(text, &|u| u.listed = true));
        for (text, is_written) in &ignored {
            uses(text, &|u| {
                if *is_written {
                    u.written = true
                } else {
                    u.read = true
                }
            });
        }
        observed
    })
}

type Steps = BTreeMap<String, Observed>;

/// A contract's text, and what its checks did in some runs, each for a role.
fn case() -> impl Strategy<Value = (String, Vec<(bool, Steps)>)> {
    (prop::collection::vec(written(), 1..5), any::<bool>()).prop_flat_map(|(checks, shared)| {
        let count = checks.len();
        let steps = prop::collection::btree_map(
            (0..count).prop_map(|n| format!("c{n}")),
            observation(),
            1..=count,
        );
        (
            Just(text(&checks, shared)),
            prop::collection::vec((any::<bool>(), steps), 1..4),
        )
    })
}

fn audited(contract: &Contract, runs: &[(bool, Steps)]) -> Audited {
    let plans = [planned(contract, "worker"), planned(contract, "tester")];
    let trees: Vec<String> = (0..runs.len()).map(|n| format!("tree-{n}")).collect();
    let none = BTreeSet::new();
    let runs: Vec<ObservedRun<'_>> = (runs.iter().zip(&trees))
        .map(|((is_tester, steps), tree)| ObservedRun {
            tree,
            plan: &plans[usize::from(*is_tester)],
            steps,
            failed: &none,
        })
        .collect();
    let is_ignored =
        |path: &RepoPath| path.segments().next() == Some(b"target") || path.as_bytes() == b".env";
    audit(&AuditSubject {
        contract,
        facts: &Facts::default(),
        tracked: &tracked(),
        is_ignored: &is_ignored,
        would_ignore: &|path, _| is_ignored(path),
        is_absent: &|_| false,
        home: None,
        toolchain: &[],
        runs: &runs,
    })
}

fn compared(old: &Contract, new: &Contract) -> vplan::plan::diff::ContractDiff {
    let none = Sources::default();
    let side = |contract| Side {
        contract,
        sources: &none,
    };
    compare(&side(old), &side(new), &[])
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn audit_mends_and_weakens_nothing((text, runs) in case()) {
        let contract = read(&text).unwrap();
        let found = audited(&contract, &runs);
        let wanted: Vec<_> = found.findings.iter().filter_map(|finding| finding.amendment.as_ref()).collect();
        let mended = amend(&Source::new("verify.vplan", &text), &contract, &wanted);
        prop_assert!(mended.is_ok(), "{text}\n{mended:?}");
        let mended = mended.unwrap();
        let Some(new) = read(&mended) else {
            return Err(TestCaseError::fail(format!("{text}\n{mended}")));
        };
        let left = audited(&new, &runs);
        prop_assert!(!left.has_errors(), "{text}\n{mended}\n{left:#?}");
        let diff = compared(&contract, &new);
        prop_assert_eq!(diff.count(Class::Weakens) + diff.count(Class::Undecided), 0, "{}\n{}\n{:#?}", text, mended, diff);
        // Nothing is left to be written.
        let again = amend(&Source::new("verify.vplan", &mended), &new, &[]);
        prop_assert_eq!(again, Ok(mended));
    }

    #[test]
    fn audit_ignores_the_order_of_runs((text, mut runs) in case()) {
        let contract = read(&text).unwrap();
        let found = audited(&contract, &runs);
        runs.reverse();
        let mut turned = audited(&contract, &runs);
        // The trees of the runs are others now; no finding names one.
        turned.findings.retain(|finding| finding.kind != FindingKind::IdleCondition);
        let mut found = found;
        found.findings.retain(|finding| finding.kind != FindingKind::IdleCondition);
        prop_assert_eq!(found, turned);
    }

    #[test]
    fn audit_globs_select_little_more_than_was_read(
        tracked in prop::collection::btree_set("[ab]{1,2}(/[ab]{1,2}){0,3}(\\.[xy])?", 1..30),
        absent in prop::collection::btree_set("[cd](/[ab]){0,2}(\\.[xy])?", 0..3),
        is_read in prop::collection::vec(any::<bool>(), 30),
        is_wanted in prop::collection::vec(any::<bool>(), 30),
        is_listed in prop::collection::vec(any::<bool>(), 30),
    ) {
        let tracked: BTreeSet<RepoPath> = tracked.iter().map(|text| path(text)).collect();
        // No file is a folder.
        let is_file = |path: &&RepoPath| !tracked.iter().any(|other| other.below(path).is_some());
        let tracked: Vec<RepoPath> = tracked.iter().filter(is_file).cloned().collect();
        let all = tracked.iter().zip(&is_read).zip(&is_wanted).zip(&is_listed);
        let read: Vec<&RepoPath> = all.clone().filter(|(((_, read), _), _)| **read).map(|(((path, _), _), _)| path).collect();
        let absent: Vec<RepoPath> = absent.iter().map(|text| path(text)).collect();
        let wanted = all.clone().filter(|(((_, read), wanted), _)| **read && **wanted).map(|(((path, _), _), _)| path);
        let mut wanted: Vec<&RepoPath> = wanted.chain(&absent).collect();
        wanted.sort();
        let folders: Vec<RepoPath> = all.filter(|(_, listed)| **listed).map(|(((path, _), _), _)| path.folder()).collect();
        let listed: BTreeSet<&RepoPath> = folders.iter().collect();
        let globs = cover(&wanted, &read, &TrackedFiles::new(&tracked), &listed);
        prop_assert!(globs.len() <= wanted.len());
        let globs: Vec<Glob> = globs.iter().map(|text| Glob::parse(text).unwrap()).collect();
        let is_selected = |path: &RepoPath| globs.iter().any(|glob| glob.matches(path));
        for path in &wanted {
            prop_assert!(is_selected(path), "{path} {globs:?}");
        }
        let selected: Vec<&RepoPath> = tracked.iter().filter(|path| is_selected(path)).collect();
        let of_read = selected.iter().filter(|path| read.contains(path)).count();
        prop_assert!(2 * selected.len() <= 3 * of_read, "{globs:?} {selected:?}");
        if listed.is_empty() {
            prop_assert_eq!(selected.len(), of_read);
        }
    }
}
