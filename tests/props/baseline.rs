//! With a baseline, a check passes only if its findings are a sub-multiset of the known ones.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use vplan::arbitrary::config;
use vplan::base::canon::Digest;
use vplan::check::Kind;
use vplan::check::baseline::{KnownFindings, Line, fingerprints, judge};
use vplan::check::decide;
use vplan::check::evidence::Evidence;
use vplan::check::outcome::{Cause, Output, Terms};
use vplan::check::results::{Finding, Identity, Reading};

/// A finding: its file, its message, the text of its line; all of few values, so that many are
/// equal.
type Found = (u8, u8, u8);

fn found() -> impl Strategy<Value = Vec<Found>> {
    proptest::collection::vec((0..2_u8, 0..2_u8, 0..2_u8), 0..7)
}

fn reading(all: &[Found]) -> (Reading, Vec<Identity>) {
    let mut reading = Reading::from_format("eslint");
    for (at, (file, message, _)) in all.iter().enumerate() {
        reading.find(Finding {
            code: Some("rule".to_owned()),
            file: Some(format!("{file}.js")),
            line: Some(u64::try_from(at).unwrap() + 1),
            message: format!("message {message}"),
            ..Finding::default()
        });
    }
    let made = fingerprints("c", &["eslint", "."], &reading, &mut |finding| {
        let at = usize::try_from(finding.line?).unwrap() - 1;
        Some(Line {
            file: finding.file.clone()?,
            text: format!("line {}", all[at].2).into_bytes(),
        })
    });
    (reading, made)
}

fn counted(all: &[Found]) -> BTreeMap<Found, usize> {
    let mut counts = BTreeMap::new();
    all.iter().for_each(|f| *counts.entry(*f).or_default() += 1);
    counts
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn only_what_is_known_passes(before in found(), now in found(), exit in 0..3_i32) {
        let listed: BTreeSet<Digest> = reading(&before).1.into_iter().filter_map(|i| i.fingerprint).collect();
        prop_assert_eq!(listed.len(), before.len());
        let known = KnownFindings { checks: BTreeMap::from([("c".to_owned(), listed)]), origin: "base".to_owned() };
        let (reading, identities) = reading(&now);
        let terms = Terms {
            by_budget: false, exit: &[], kind: Kind::Lint, limit_ms: 1, output: Output::default(), skip_exit: &[],
        };
        let evidence = Evidence { exit: Some(exit), identities, reading: Some(Box::new(reading)), ..Evidence::default() };
        let plain = decide::judge(&terms, &evidence);
        let outcome = judge(Some(&known), "c", &terms, &evidence, plain.clone());
        let (had, has) = (counted(&before), counted(&now));
        let is_part = has.iter().all(|(f, n)| had.get(f).is_some_and(|known| known >= n));
        let excused = !now.is_empty() && is_part && exit == 1;
        prop_assert_eq!(outcome.cause == Some(Cause::Known), excused, "{:?}", outcome);
        prop_assert_eq!(outcome.status.is_pass(), plain.status.is_pass() || excused);
        // Another check knows nothing of it, and without a baseline all is as it was.
        prop_assert_eq!(judge(Some(&known), "d", &terms, &evidence, plain.clone()), plain.clone());
        prop_assert_eq!(judge(None, "c", &terms, &evidence, plain.clone()), plain);
    }
}
