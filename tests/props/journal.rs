//! Laws of journals: what is read of one is what its valid lines say, wherever it ends and whatever
//! follows.

use crate::frozen::oracle::run::journal_laws;
use proptest::prelude::*;
use vplan::arbitrary::config;
use vplan::arbitrary::run::{
    Case, Incidents, Played, cases, chooser, incidents, journal_of, picks, play,
};
use vplan::plan::digest::seal;
use vplan::run::authenticity::{AspectState, examine};
use vplan::run::journal::{JournalEnd, StepState, lines, replay};
use vplan::run::report::{Circumstances, Report, report};

/// The case with a plan that has its digest, as one that runs has.
fn sealed(case: Case) -> Case {
    Case {
        plan: seal(case.plan.clone()),
        ..case
    }
}

fn played(case: &Case, incidents: &Incidents, picks: &[usize]) -> Played {
    play(case, incidents, &mut chooser(picks.to_vec())).unwrap_or_else(|why| panic!("{why}"))
}

fn reported(case: &Case, played: &Played) -> Report {
    let circumstances = Circumstances {
        attempt: 1,
        retries: 3,
        run_id: "r".into(),
        ..Circumstances::default()
    };
    report(
        &case.plan,
        played.records.clone(),
        &played.ending,
        circumstances,
    )
}

proptest! {
    #![proptest_config(config(256))]

    /// The whole journal says what the report says, and `vplan verify` finds nothing against the two.
    #[test]
    fn journal_replay_equals_live_report(case in cases(), incidents in incidents(), picks in picks()) {
        let case = sealed(case);
        let played = played(&case, &incidents, &picks);
        let report = reported(&case, &played);
        let text = journal_of(&case, &played, &report);
        let run = replay(text.as_bytes());
        prop_assert_eq!(run.bytes, text.len());
        let JournalEnd::Finished { coverage, exit_code, verdict } = run.end else { return Err(TestCaseError::fail("no end")) };
        prop_assert_eq!((coverage, exit_code, verdict), (report.coverage, report.exit_code, report.verdict));
        for (step, record) in run.steps.iter().zip(&report.steps) {
            prop_assert_eq!(&step.id, &record.id);
            prop_assert_eq!(step.state, StepState::Ended(record.status, record.reason));
        }
        prop_assert_eq!(run.steps.len(), report.steps.len());
        let wrong: Vec<_> = examine(&report, Some(&case.plan), Some(&run))
            .into_iter()
            .filter(|a| a.holds == AspectState::No)
            .collect();
        prop_assert!(wrong.is_empty(), "{:?}", wrong);
    }

    /// Cut at any byte, it is readable, never a pass, and says the same as its whole lines; what follows changes nothing.
    #[test]
    fn journal_prefix_replay_never_passed(
        case in cases(), picks in picks(), cut in any::<prop::sample::Index>(), garbage in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let played = played(&case, &Incidents::default(), &picks);
        let text = journal_of(&case, &played, &reported(&case, &played)).into_bytes();
        prop_assert_eq!(journal_laws(&text), Ok(()));
        let prefix = &text[..cut.index(text.len())];
        let torn = replay(prefix);
        prop_assert!(!torn.is_pass());
        prop_assert_eq!(journal_laws(prefix), Ok(()));
        let whole_lines = prefix.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        prop_assert_eq!(torn.bytes, whole_lines, "the longest prefix of whole lines");
        prop_assert_eq!(&replay(&prefix[..whole_lines]), &torn);
        prop_assert_eq!(lines(prefix).count(), prefix.iter().filter(|b| **b == b'\n').count());
        // A torn line followed by anything is no line; behind the end, nothing counts.
        if !garbage.contains(&b'\n') {
            prop_assert_eq!(&replay(&[&text[..whole_lines], &garbage[..]].concat()), &torn);
        }
        prop_assert_eq!(replay(&[&text[..], &garbage[..]].concat()), replay(&text));
        prop_assert_eq!(replay(&[&text[..], &text[..]].concat()), replay(&text));
    }

    /// Any bytes, also those that nearly are a journal.
    #[test]
    fn journal_prefix_replay_total(case in cases(), picks in picks(), at in any::<prop::sample::Index>(), with: u8, noise in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(journal_laws(&noise), Ok(()));
        let played = played(&case, &Incidents::default(), &picks);
        let mut text = journal_of(&case, &played, &reported(&case, &played)).into_bytes();
        let at = at.index(text.len());
        text[at] = with;
        prop_assert_eq!(journal_laws(&text), Ok(()));
        // Lines that change places are not taken for what happened.
        let mut shuffled: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
        let last = shuffled.len() - 1;
        shuffled.swap(0, last);
        prop_assert!(last == 0 || !replay(&shuffled.concat()).is_pass());
    }
}
