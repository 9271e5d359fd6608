//! Laws of `jobs auto`: which steps run beside each other.

use super::run::{drive_late, timeless};
use proptest::prelude::*;
use vplan::arbitrary::config;
use vplan::arbitrary::run::{Case, cases};
use vplan::base::index::Index as _;
use vplan::base::jobs::Jobs;
use vplan::base::path::RepoPath;
use vplan::base::word::Word;
use vplan::check::observed::{Observed, Place, Uses};
use vplan::plan::StepIndex;
use vplan::plan::parallel::ParallelPairs;
use vplan::plan::parallel::known::KnownEffects;
use vplan::run::state::{SideBySide, StateBeginning};

/// A path, and what is done with it.
type Use = (bool, Vec<u8>, u8);

fn place((is_outside, path, _): &Use) -> String {
    let names: Vec<String> = path.iter().map(|name| format!("n{name}")).collect();
    format!("{}{}", if *is_outside { "/" } else { "" }, names.join("/"))
}

fn uses() -> impl Strategy<Value = Vec<Use>> {
    let path = prop::collection::vec(0..3_u8, 1..4);
    prop::collection::vec((any::<bool>(), path, 0..5_u8), 0..4)
}

/// What is known of each step; of some, nothing.
fn seen() -> impl Strategy<Value = Vec<Option<Vec<Use>>>> {
    prop::collection::vec(prop::option::weighted(0.9, uses()), 9)
}

fn observed(uses: &[Use]) -> Observed {
    let mut observed = Observed::default();
    for one in uses {
        let path = place(one);
        let place = match one.0 {
            true => Place::Elsewhere(Word::from(&*path)),
            false => Place::Repository(RepoPath::parse(path.as_bytes()).unwrap()),
        };
        let done: &mut Uses = observed.files.entry(place).or_default();
        match one.2 {
            0 | 1 => done.written = true,
            2 => done.read = true,
            3 => done.listed = true,
            _ => done.missing = true,
        }
    }
    observed
}

pub fn known(case: &Case, seen: &[Option<Vec<Use>>]) -> KnownEffects {
    let mut known = KnownEffects::new(&case.plan);
    for (step, seen) in case.plan.steps.iter().zip(seen) {
        if let Some(uses) = seen {
            known.add(step, true, observed(uses));
        }
    }
    known
}

/// Whether one step writes what another one uses, word by word of the definition.
fn spoils(writer: &[Use], user: &[Use]) -> bool {
    let writes = |one: &&Use| one.2 < 2;
    writer.iter().filter(writes).any(|write| {
        let path = place(write);
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        user.iter().any(|other| {
            let used = place(other);
            used == path
                || used.starts_with(&format!("{path}/"))
                || (other.2 == 3 && used == folder)
        })
    })
}

proptest! {
    #![proptest_config(config(512))]

    /// Two steps that are put beside each other meet nowhere, and of both everything is known.
    #[test]
    fn beside_never_meets(case in cases(), seen in seen()) {
        let beside = ParallelPairs::decide(&case.plan, &known(&case, &seen));
        for (one, step) in case.plan.steps.iter().enumerate() {
            for other in (0..case.plan.steps.len()).filter(|other| *other != one) {
                let (a, b) = (StepIndex::new(one), StepIndex::new(other));
                prop_assert_eq!(beside.may(a, b), beside.may(b, a), "either way");
                let starts = step.argv.is_some() && case.plan.steps[other].argv.is_some();
                if starts && beside.may(a, b) {
                    let (Some(one), Some(other)) = (&seen[one], &seen[other]) else {
                        return Err(TestCaseError::fail("nothing is known of one"));
                    };
                    prop_assert!(!spoils(one, other) && !spoils(other, one), "{:?} {:?}", one, other);
                }
            }
        }
    }

    /// What must not run beside each other never does, however long the steps take.
    #[test]
    fn beside_is_kept_to(
        case in cases(), seen in seen(), delays in prop::collection::vec(0..1000_u64, 24), processors in 1..5_usize
    ) {
        let mut case = timeless(case);
        case.plan.policy.jobs = Jobs::Auto;
        let beside = ParallelPairs::decide(&case.plan, &known(&case, &seen));
        let beginning = StateBeginning {
            beside: Some(SideBySide { processors, beside: beside.clone() }),
            ..StateBeginning::default()
        };
        let mut wrong = None;
        drive_late(&case, beginning, &delays, &mut |running, step| {
            if running.len() >= processors || running.iter().any(|other| !beside.may(step, *other)) {
                wrong = Some((running.clone(), step));
            }
        })?;
        prop_assert_eq!(wrong, None);
    }
}
