//! Laws of plan files, shards and the joining of their reports.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use vplan::arbitrary::config;
use vplan::arbitrary::plan::plan;
use vplan::arbitrary::run::{Case, Incidents, Played, cases, chooser, picks, play};
use vplan::check::Severity;
use vplan::plan::Plan;
use vplan::plan::canonical::without_annotations;
use vplan::plan::digest::{digest, seal};
use vplan::plan::document::{DocumentForm, canonical, to_json};
use vplan::plan::drift::drift;
use vplan::plan::kdl::{from_kdl, text, to_kdl};
use vplan::plan::order::check_order;
use vplan::plan::shard::division::Division;
use vplan::plan::shard::{Shard, share};
use vplan::run::authenticity::{AspectState, examine, own_plan};
use vplan::run::merge::{DIVISION, MergeRequest, TREE, merge, read};
use vplan::run::report::{Circumstances, Report, ShardRecord, report};

fn played(case: &Case, picks: &[usize]) -> Played {
    play(case, &Incidents::default(), &mut chooser(picks.to_vec()))
        .unwrap_or_else(|why| panic!("{why}"))
}

fn reported(case: &Case, picks: &[usize], shard: Option<ShardRecord>, tree: Option<u8>) -> Report {
    let Played {
        records, ending, ..
    } = played(case, picks);
    let circumstances = Circumstances {
        attempt: 1,
        retries: 3,
        run_id: format!("{picks:?}"),
        shard,
        tree: tree.map(|tree| format!("sha256:{tree}")),
        ..Circumstances::default()
    };
    report(&case.plan, records, &ending, circumstances)
}

/// The part of a case that is about one share of its plan.
fn part(case: &Case, shard: Shard, division: Option<&Division>) -> (Case, ShardRecord) {
    let share = share(&case.plan, shard, division);
    let scripts: BTreeMap<&str, _> = case
        .plan
        .steps
        .iter()
        .map(|s| s.id.as_str())
        .zip(&case.script)
        .collect();
    let script = share
        .plan
        .steps
        .iter()
        .map(|s| scripts[s.id.as_str()].clone())
        .collect();
    let record = ShardRecord::new(&case.plan, shard, &share, division.cloned());
    (
        Case {
            plan: share.plan,
            script,
        },
        record,
    )
}

/// How long some steps took, by their position.
fn weights() -> impl Strategy<Value = Vec<Option<u64>>> {
    prop::collection::vec(prop::option::weighted(0.8, 0..3_000_u64), 0..12)
}

fn divided(plan: &Plan, count: u32, weights: &[Option<u64>]) -> Division {
    let known = plan.steps.iter().zip(weights);
    let known = known.filter_map(|(step, ms)| Some((step.id.clone(), (*ms)?)));
    Division::new(plan, count, &known.collect())
}

fn ends(report: &Report) -> Vec<(String, String)> {
    report
        .steps
        .iter()
        .map(|s| (s.id.clone(), format!("{:?} {:?}", s.status, s.reason)))
        .collect()
}

/// Which tree each shard verified: mostly one, sometimes others or none that is known.
fn trees() -> impl Strategy<Value = Vec<Option<u8>>> {
    let any = prop::option::weighted(0.8, 0..2_u8);
    prop_oneof![Just(vec![Some(0); 6]), prop::collection::vec(any, 6)]
}

/// Whether nothing that can be told by a report alone speaks against it.
fn holds(report: &Report) -> bool {
    let plan = own_plan(report).unwrap().unwrap();
    examine(report, Some(&plan), None)
        .iter()
        .all(|a| a.holds != AspectState::No)
}

/// What KDL is made of, and what is almost KDL.
const WORDS: &[&str] = &[
    "a",
    "b ",
    " c",
    "\n",
    "\n",
    " ",
    " ",
    "{",
    "}",
    " {\n",
    "\n}\n",
    " {}",
    ";",
    "=",
    "x=1",
    " \"q r\"",
    "\"s\"",
    " #\"t\"#",
    " #true",
    "#null",
    " 12",
    " -3",
    "+4",
    " 1.5",
    "(m)",
    "/-",
    "/- ",
    "//",
    " // c\n",
    "/* d */",
    "/*",
    "*/",
    " \\\n",
    "\\",
    "#",
    "-",
    ".",
    " -",
    " \"\\u{e9}\\n\"",
    "\"",
    "true",
    ",",
    "[",
    "\u{a0}",
    "é",
    "r\"x\"",
];

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn plan_files_lose_nothing(plan in plan()) {
        for form in [DocumentForm::Json, DocumentForm::Kdl] {
            let text = form.write(&plan);
            let back = form.read(&text).map_err(|e| TestCaseError::fail(format!("{e:?}\n{text}")))?;
            prop_assert_eq!(&back, &plan, "{}", text);
            prop_assert_eq!(digest(&back), plan.digest.clone().unwrap());
            prop_assert_eq!(form.write(&back), text);
        }
        // The form is KDL, and not only our idea of it.
        let kdl = to_kdl(&plan);
        let theirs: kdl::KdlDocument = kdl.parse().unwrap();
        prop_assert_eq!(theirs.nodes().len(), text::parse(&kdl).unwrap().len());
        prop_assert!(drift(&plan, &plan).is_empty());
    }

    /// An edit of one byte leaves the plan as it is, or is refused.
    #[test]
    fn edits_are_harmless_or_refused(plan in plan(), edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 16)) {
        for form in [DocumentForm::Json, DocumentForm::Kdl] {
            let good = form.write(&plan);
            for (at, byte, how) in &edits {
                let mut bytes = good.clone().into_bytes();
                let at = at.index(bytes.len());
                match how {
                    0 => drop(bytes.remove(at)),
                    1 => bytes.insert(at, byte % 128),
                    2 => bytes[at] = *byte,
                    // The signs of the form are where it hurts.
                    _ => bytes[at] = b"{}\"\\#-=;\n/*() 01,:[]"[usize::from(*byte) % 20],
                }
                let Ok(text) = String::from_utf8(bytes) else { continue };
                if let Ok(read) = form.read(&text) {
                    prop_assert_eq!(canonical(&without_annotations(&read)), canonical(&plan), "{}", text);
                }
            }
        }
    }

    #[test]
    fn texts_never_panic(words in prop::collection::vec(prop::sample::select(WORDS), 0..14), noise in "[a-z{}\"\\\\#()=;/*\\- \n0-9.]{0,6}") {
        let text = words.concat() + &noise;
        let _ = from_kdl(&text);
        if let Ok(nodes) = text::parse(&text) {
            // What we accept has nothing in it that the crate would have to mend.
            let theirs: Result<kdl::KdlDocument, _> = text.parse();
            prop_assert_eq!(theirs.map(|d| d.nodes().len()).ok(), Some(nodes.len()), "{}", text);
        }
    }

    #[test]
    fn a_difference_is_drift(one in plan(), other in plan()) {
        prop_assert_eq!(drift(&one, &other).is_empty(), one.digest == other.digest);
        let _ = to_json(&one);
    }

    #[test]
    fn shares_cover_the_plan(case in cases(), plan in plan(), count in 1..6_u32, weights in weights(), by_weight in any::<bool>()) {
        for plan in [seal(case.plan), plan] {
            let division = by_weight.then(|| divided(&plan, count, &weights));
            let share = |index| share(&plan, Shard { count, index }, division.as_ref());
            let all: Vec<Plan> = (1..=count).map(|index| share(index).plan).collect();
            let covered: BTreeSet<&str> = all.iter().flat_map(|p| &p.steps).map(|s| s.id.as_str()).collect();
            prop_assert_eq!(covered.len(), plan.steps.len(), "every step is in a share");
            let place = |id: &str| plan.steps.iter().position(|s| s.id == id).unwrap();
            for share in &all {
                prop_assert_eq!(check_order(share), Ok(()), "closed under needs");
                prop_assert_eq!(share.digest.clone(), Some(digest(share)));
                prop_assert!(share.steps.iter().map(|s| place(&s.id)).is_sorted(), "in plan order");
                for step in &share.steps {
                    prop_assert_eq!(&step.needs, &plan.steps[place(&step.id)].needs);
                }
            }
            if count == 1 {
                prop_assert_eq!(&all[0], &plan, "one share is the plan");
            }
        }
    }

    /// A division is read back as it was, divides its plan alone, and no share of it takes longer than list scheduling allows: what
    /// goes to every share, the mean of what was dealt, and the longest that was.
    #[test]
    fn a_division_is_a_value_and_its_longest_share_is_bounded(case in cases(), other in plan(), count in 1..6_u32, weights in weights(), target in 1..5_000_u64) {
        let plan = seal(case.plan);
        let division = divided(&plan, count, &weights);
        prop_assert_eq!(Division::decode(&division.to_json()), Ok(division.clone()));
        prop_assert_eq!(division.check(&plan, Some(count)), Ok(()));
        prop_assert_eq!(division.check(&other, None).is_ok(), other.digest == plan.digest);
        let weigh = |steps: &[vplan::plan::Step]| steps.iter().map(|s| division.weights[&s.id]).sum::<u64>();
        let expected = division.expected(&plan);
        for (index, ms) in (1..=count).zip(&expected) {
            let own = share(&plan, Shard { count, index }, Some(&division));
            prop_assert_eq!(weigh(&own.plan.steps), *ms);
        }
        // As many shares as there are steps, dealt in turn: what one step brings along.
        let alone = u32::try_from(plan.steps.len()).unwrap().max(1);
        let alone: Vec<Plan> = (1..=alone).map(|index| share(&plan, Shard { count: alone, index }, None).plan).collect();
        let setup: Vec<vplan::plan::Step> = alone.first().into_iter().flat_map(|first| &first.steps)
            .filter(|s| alone.iter().all(|p| p.steps.is_empty() || p.steps.iter().any(|o| o.id == s.id)) && alone.len() > 1)
            .cloned().collect();
        let everywhere = weigh(&setup);
        let units: Vec<u64> = alone.iter().filter(|p| !p.steps.is_empty()).map(|p| weigh(&p.steps) - everywhere).collect();
        let (sum, longest) = (units.iter().sum::<u64>(), units.iter().max().copied().unwrap_or(0));
        let m = u64::from(count);
        for ms in &expected {
            prop_assert!(*ms * m <= everywhere * m + sum + (m - 1) * longest, "{} of {:?}, everywhere {}", ms, units, everywhere);
        }
        // Fewer shares only where none of them takes longer.
        let fewer = division.clone().within(&plan, target);
        prop_assert!(fewer.count <= count);
        let useful = units.len().max(1).min(count as usize);
        let in_time = fewer.expected(&plan).iter().all(|ms| *ms <= target);
        prop_assert!(in_time || fewer.count as usize == useful, "{} of {}", fewer.count, useful);
    }

    /// On one tree, without fail-fast and budget: the same statuses, verdict, coverage and exit code as one run. With fail-fast: the
    /// same up to the first blocking failure, and a pass exactly when that is one. On different trees there is no answer, and where
    /// a tree is not known there is no pass.
    #[test]
    fn joined_is_as_if_run_at_once(case in cases(), count in 1..6_u32, picks in prop::collection::vec(picks(), 7), fail_fast in any::<bool>(), trees in trees(), weights in prop::option::of(weights())) {
        let mut case = case;
        case.plan.policy.budget_ms = None;
        case.plan.policy.fail_fast = fail_fast;
        case.plan = seal(case.plan);
        let whole = reported(&case, &picks[6], None, Some(0));
        let trees = &trees[..count as usize];
        let mut parts = Vec::new();
        let division = weights.map(|weights| divided(&case.plan, count, &weights));
        for index in 1..=count {
            let (part, record) = part(&case, Shard { count, index }, division.as_ref());
            let report = reported(&part, &picks[index as usize], Some(record), trees[index as usize - 1]);
            let bytes = serde_json::to_vec(&report).unwrap();
            parts.push(read(&index.to_string(), &bytes).unwrap());
        }
        parts.reverse();
        let asked = MergeRequest::default();
        let known: BTreeSet<u8> = trees.iter().copied().flatten().collect();
        if known.len() > 1 {
            let refused = merge(parts, &asked).map(|_| ()).unwrap_err();
            prop_assert_eq!((refused.code, refused.exit.code()), (TREE, 4));
            return Ok(());
        }
        let is_known = trees.iter().all(Option::is_some);
        let joined = merge(parts.clone(), &asked).map_err(|e| TestCaseError::fail(e.to_string()))?.report;
        let failed = |report: &Report| {
            let blocking = |id: &str| case.plan.steps.iter().any(|s| s.id == id && s.severity == Severity::Blocking);
            report.steps.iter().position(|r| r.status.is_failure() && blocking(&r.id))
        };
        prop_assert_eq!(joined.verdict.is_pass(), is_known && whole.verdict.is_pass());
        prop_assert_eq!(joined.exit_code == 0, is_known && whole.exit_code == 0);
        prop_assert_eq!(&joined.tree, &trees[0].filter(|_| is_known).map(|tree| format!("sha256:{tree}")));
        prop_assert!(holds(&joined), "{:#?}", joined);
        if let Some(first) = failed(&whole).filter(|_| fail_fast) {
            prop_assert_eq!(&ends(&joined)[..=first], &ends(&whole)[..=first]);
        } else {
            prop_assert_eq!(ends(&joined), ends(&whole));
            if is_known {
                prop_assert_eq!((joined.verdict, joined.exit_code, joined.coverage), (whole.verdict, whole.exit_code, whole.coverage));
            }
        }
        prop_assert_eq!(&joined.plan_digest, &whole.plan_digest);
        // Of the plan that is expected: the same, also when nothing has reported.
        let expecting = |plan: &Plan| MergeRequest { expect: Some(plan.clone()), ..MergeRequest::default() };
        let again = merge(parts.clone(), &expecting(&case.plan)).map_err(|e| TestCaseError::fail(e.to_string()))?.report;
        prop_assert_eq!(&again, &joined);
        let none = merge(Vec::new(), &expecting(&case.plan)).map_err(|e| TestCaseError::fail(e.to_string()))?.report;
        prop_assert!(!none.verdict.is_pass() && none.exit_code == 44 && holds(&none), "{:#?}", none);
        let mut other = case.plan.clone();
        other.steps.truncate(case.plan.steps.len() / 2);
        let other = seal(other);
        prop_assert_eq!(merge(parts.clone(), &expecting(&other)).is_ok(), other.digest == case.plan.digest);
        // By the division that is given, and by no other.
        let dealt = |division: &Division| MergeRequest { division: Some(division.clone()), ..MergeRequest::default() };
        if let Some(division) = &division {
            let again = merge(parts.clone(), &dealt(division)).map_err(|e| TestCaseError::fail(e.to_string()))?.report;
            prop_assert_eq!(&again, &joined);
        }
        let mut heavier = divided(&case.plan, count, &[]);
        heavier.count += 1;
        let refused = merge(parts.clone(), &dealt(&heavier)).map(|_| ()).unwrap_err();
        prop_assert_eq!((refused.code, refused.exit.code()), (DIVISION, 4));
        // A shard that is missing is never a pass.
        for gone in 0..parts.len() {
            let mut rest = parts.clone();
            rest.remove(gone);
            if !rest.is_empty() {
                let open = merge(rest, &asked).map_err(|e| TestCaseError::fail(e.to_string()))?.report;
                prop_assert!(!open.verdict.is_pass() && open.exit_code != 0);
                prop_assert!(holds(&open), "{:#?}", open);
            }
        }
    }
}
