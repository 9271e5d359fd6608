//! What if vplan is killed, at any moment and before any call?

use super::place::{Fault, Place, able};
use crate::faults::harness::Guard;
use crate::faults::sweep::Sweep;
use crate::support::process::Bounded as _;
use std::time::{Duration, Instant};
use vplan::run::journal::{JournalEnd, lines};

const RUN: [&str; 5] = ["run", "--changed-none", "--progress", "none", "--events"];

/// SIGKILL at random times of a real run: its journal is readable, holds every line that was told,
/// and says nothing that is not so; nobody is left, and the next run works.
#[test]
fn at_random_times() {
    let mut sweep = Sweep::new("faults::calls::kills::at_random_times", 40, 10_000);
    let place = Place::three();
    let args = [&RUN[..], &["-"]].concat();
    let mut usual = Duration::ZERO;
    while let Some(mut case) = sweep.next() {
        place.clear();
        let before = place.runs();
        let start = Instant::now();
        let mut vplan = Guard(place.command(&[], &args).spawn().unwrap());
        let micros = u64::try_from(usual.as_micros()).unwrap();
        // Now and then one comes to its end: how long that takes depends on how busy the machine
        // is.
        let spared = case.number % 20 == 0;
        if !spared {
            std::thread::sleep(Duration::from_micros(case.below(micros * 9 / 8)));
            let _ = vplan.0.kill();
        }
        let ended = vplan.0.ended();
        if spared {
            usual = start.elapsed();
        }
        if let Some(code) = ended.code() {
            assert_eq!(code, 0, "{}", place.said("err"));
            sweep.count("runs had ended", 1);
        } else {
            sweep.count("runs killed", 1);
        }
        place.is_left_alone();
        let replayed = place.records_hold(&before, "killed");
        let out = std::fs::read(place.beside("out")).unwrap();
        let told = out
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(&[][..], |end| &out[..=end]);
        let told: Vec<&[u8]> = told
            .split_inclusive(|b| *b == b'\n')
            .filter(|l| l.starts_with(b"{\"seq\""))
            .collect();
        let run = place.runs().difference(&before).next().cloned();
        let journal = run
            .map(|run| std::fs::read(run.join("events.jsonl")).unwrap_or_default())
            .unwrap_or_default();
        assert!(
            journal.starts_with(&told.concat()),
            "told, but not recorded: {}",
            String::from_utf8_lossy(&out)
        );
        sweep.count("lines told", told.len() as u64);
        match &replayed {
            None => sweep.count("before the journal", 1),
            Some(run) if run.is_pass() => sweep.count("journals of passes", 1),
            Some(_) => sweep.count("journals of interrupted runs", 1),
        }
        assert!(
            ended.code().is_none() || replayed.is_some_and(|run| run.is_pass()),
            "a pass without its record"
        );
        assert!(lines(&journal).count() >= told.len());
        if case.number % 25 == 0 {
            place.goes_on("killed");
        }
        case.held();
    }
    assert!(sweep.seen("runs killed") > 0);
}

/// SIGKILL before each call that a thread of vplan makes, of whatever kind, and before those of the
/// processes that it forks, until they become another program.
#[test]
fn before_each_call() {
    let place = Place::three();
    let args = [&RUN[..], &["/dev/null"]].concat();
    if !able("faults::calls::kills::before_each_call") {
        return;
    }
    let points = place.points("all", false, &args, 0);
    place.clear();
    let mut sweep = Sweep::new(
        "faults::calls::kills::before_each_call",
        15,
        points.len() as u64,
    );
    while let Some(case) = sweep.next() {
        let (calls, nth) = &points[usize::try_from(case.point(points.len() as u64)).unwrap()];
        let about = format!("killed before {calls} {nth}");
        place.clear();
        let before = place.runs();
        let ran = place.traced(&Fault::new(calls, "signal=SIGKILL", *nth), &args);
        place.is_left_alone();
        let replayed = place.records_hold(&before, &about);
        match (&replayed, ran.signal) {
            // A process that vplan was about to start, before it had become another program: the
            // run goes on.
            (Some(run), None) if ran.exit != Some(0) => {
                assert!(
                    matches!(run.end, JournalEnd::Finished { verdict, .. } if !verdict.is_pass()),
                    "{about}: {ran:#?}"
                );
                sweep.count("killed on its way to a step or to git", 1);
            }
            (run, None) => {
                let passed = run.as_ref().is_some_and(|run| run.is_pass());
                assert!(passed == (ran.exit == Some(0)), "{about}: {ran:#?}");
                sweep.count(
                    if passed {
                        "calls not there, or not needed"
                    } else {
                        "refused"
                    },
                    1,
                );
            }
            (None, _) => sweep.count("killed before there was a journal", 1),
            (Some(run), _) if run.is_pass() => sweep.count("killed after the end was recorded", 1),
            (Some(_), _) => sweep.count("killed in between", 1),
        }
        if case.number % 8 == 0 {
            place.goes_on(&about);
        }
        case.held();
    }
    assert!(sweep.seen("killed in between") > 0);
}
