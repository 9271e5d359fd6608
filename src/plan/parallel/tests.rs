//! Which steps conflict, and how that is reported.

use super::known::KnownEffects;
use super::*;
use crate::Plan;
use crate::Step;
use crate::StepIndex;
use crate::arbitrary::made::{plan, step};
use crate::parallel::effects::StepEffects;
use proptest::prelude::*;
use vplan_arbitrary::rows;
use vplan_base::glob::{Glob, Item, ItemContent, Selection};
use vplan_base::index::Index as _;
use vplan_base::path::RepoPath;
use vplan_base::service::Service;
use vplan_base::word::Word;
use vplan_check::observed::{Gap, Observed, Place, Uses};
use vplan_check::{Kind, Severity};

/// Reads words such as `w:src/a`, `r:/tmp/x`, `l:.`: what was done with a path.
fn observed(words: &str) -> Observed {
    let mut observed = Observed::default();
    for word in words.split_whitespace() {
        let (what, path) = word.split_once(':').unwrap();
        let place = match path.starts_with('/') {
            true => Place::Elsewhere(Word::from(path)),
            false => Place::Repository(RepoPath::parse(path.as_bytes()).unwrap()),
        };
        let uses: &mut Uses = observed.files.entry(place).or_default();
        match what {
            "w" => uses.written = true,
            "r" => uses.read = true,
            "l" => uses.listed = true,
            "f" => uses.found = true,
            "m" => uses.missing = true,
            _ => observed.gaps.extend([Gap::TooMuch]),
        }
    }
    observed
}

fn made(glob: &str) -> Vec<Glob> {
    vec![Glob::parse(glob).unwrap()]
}

fn selection(globs: &str) -> Selection {
    let item = |glob: &str| Item {
        not: glob.starts_with('!'),
        what: ItemContent::Glob(Glob::parse(glob.trim_start_matches('!')).unwrap()),
    };
    Selection {
        items: globs.split_whitespace().map(item).collect(),
    }
}

/// A plan of independent steps with these observed effects.
fn plan_of(steps: &[&str]) -> (Plan, KnownEffects) {
    let names = (0..steps.len()).map(|n| step(&format!("s{n}")));
    let plan = plan(names.collect());
    let mut known = KnownEffects::new(&plan);
    for (step, seen) in plan.steps.iter().zip(steps) {
        known.add(step, true, observed(seen));
    }
    (plan, known)
}

/// Returns why the first of two steps does not run in parallel with the second; empty if it does.
fn why(plan: &Plan, known: &KnownEffects) -> String {
    let said = forecast(plan, known).remove(0);
    let of_pair = said.not_beside.into_iter().map(|not| not.reason).next();
    let why = said.alone.or(of_pair).unwrap_or_default();
    let beside = ParallelPairs::decide(plan, known);
    let (one, other) = (StepIndex::new(0), StepIndex::new(1));
    assert_eq!(beside.may(one, other), beside.may(other, one));
    assert_eq!(beside.may(one, other), why.is_empty(), "{why}");
    why
}

#[test]
fn where_two_steps_meet() {
    for [one, other, meets] in rows(
        "
        r:a r:b       | r:a l:.       |
        w:a           | w:b r:c       |
        w:a           | w:a           | both write a
        w:t/a w:t/b/c | w:t/b/c w:t/a | both write t/
        w:a w:b       | w:b w:a       | both write a and 1 more
        w:a           | r:a           | it writes a, which the other reads
        r:a           | w:a           | the other writes a, which it reads
        w:a           | m:a           | it writes a, which the other looks for
        w:a           | f:a           | it writes a, which the other looks for
        w:d/a         | l:d           | it writes d/a, in a folder that the other lists
        w:a           | l:.           | it writes a, in a folder that the other lists
        w:d/a/b       | l:d           |
        w:d           | l:d           | it writes d, in a folder that the other lists
        w:d           | r:d/a/b       | it writes d, and the other uses something below it
        w:d           | r:d-e r:da    |
        w:.           | r:a           | it writes ., and the other uses something below it
        w:/tmp/x      | w:/tmp/x      | both write /tmp/x
        w:/tmp/x      | w:tmp/x       |
        w:/tmp/x      | l:/tmp        | it writes /tmp/x, in a folder that the other lists
        w:/x          | l:/ l:.       | it writes /x, in a folder that the other lists
        w:/tmp/x      | l:/ l:.       |
        r:a gap:x     | r:b           | not all was seen: it did more than is kept
        r:b           | r:a gap:x     | not all was seen: it did more than is kept
        ",
    ) {
        let (plan, known) = plan_of(&[one, other]);
        assert_eq!(why(&plan, &known), meets, "{one} beside {other}");
    }
}

#[test]
fn what_the_contract_says_counts() {
    type Says = fn(&mut [Step]);
    let cases: [(Says, &str, &str, &str); 10] = [
        (|_| {}, "r:a", "r:dist/x", ""),
        (
            |s| s[0].produces = made("dist/**"),
            "r:a",
            "r:dist/x",
            "it writes dist/x, which the other reads",
        ),
        (
            |s| s[0].cleans = made("dist/*.js"),
            "r:a",
            "l:dist r:c",
            "it writes dist/*.js, in a folder that the other lists",
        ),
        (
            |s| s[0].produces = made("dist/*"),
            "r:a",
            "l:dist/b/c l:.",
            "",
        ),
        (
            |s| s[0].writes = Some(selection("**/*.rs !gen/**")),
            "r:a",
            "r:gen/x.rs",
            "",
        ),
        (
            |s| {
                s[0].writes = Some(selection("**/*.rs !gen/**"));
                s[1].produces = made("gen/**");
            },
            "",
            "",
            "",
        ),
        (
            |s| {
                s[0].writes = Some(selection("**/*.rs"));
                s[1].produces = made("gen/**");
            },
            "",
            "",
            "both write **/*.rs",
        ),
        (
            |s| s[0].unchanged = Some(selection("gen/**")),
            "",
            "w:gen/x",
            "the other writes gen/x, which it reads",
        ),
        (|s| s[0].inputs = Some(selection("**")), "r:a", "w:b", ""),
        (
            |s| {
                for step in s {
                    step.exclusive = Some("db".to_owned());
                }
            },
            "",
            "",
            "exclusive db",
        ),
    ];
    for (says, one, other, meets) in cases {
        let (mut plan, _) = plan_of(&["", ""]);
        says(&mut plan.steps);
        let mut known = KnownEffects::new(&plan);
        known.add(&plan.steps[0], true, observed(one));
        known.add(&plan.steps[1], true, observed(other));
        if meets.starts_with("exclusive") {
            let said = forecast(&plan, &known).remove(0);
            assert_eq!(said.not_beside[0].reason, meets);
            continue;
        }
        assert_eq!(why(&plan, &known), meets, "{one} beside {other}");
    }
}

#[test]
fn what_is_known_of_a_command() {
    let (plan, _) = plan_of(&["", ""]);
    let step = &plan.steps[0];
    let said = |runs: &[(bool, &str)]| {
        let mut known = KnownEffects::new(&plan);
        known.add(&plan.steps[1], true, observed("r:x"));
        runs.iter()
            .for_each(|(passed, words)| known.add(step, *passed, observed(words)));
        why(&plan, &known)
    };
    let never = "it was never observed (vplan audit s0)";
    assert_eq!(said(&[]), never);
    assert_eq!(said(&[(false, "r:a")]), never, "it may have ended early");
    assert_eq!(said(&[(true, "r:a")]), "");
    assert_eq!(
        said(&[(true, "r:a"), (true, "gap:x")]),
        "",
        "the newest counts"
    );
    assert_ne!(said(&[(true, "gap:x"), (true, "r:a")]), "");
    let more = "it writes x, which the other reads";
    assert_eq!(said(&[(true, "r:a"), (true, "w:x")]), more);
    assert_eq!(said(&[(false, "w:x"), (true, "r:a")]), more);
    let many = [(true, "r:a"); 8];
    assert_eq!(said(&[&many[..], &[(true, "w:x")]].concat()), "", "too old");
}

#[test]
fn what_a_command_is() {
    let (plan, _) = plan_of(&["", ""]);
    let step = &plan.steps[0];
    type Change = fn(&mut Step);
    let same: [Change; 5] = [
        |s| s.id.push('x'),
        |s| s.timeout_ms += 1,
        |s| s.inputs = Some(selection("**")),
        |s| s.after.push("s1".to_owned()),
        |s| s.severity = Severity::Warning,
    ];
    let other: [Change; 4] = [
        |s| {
            s.argv
                .iter_mut()
                .for_each(|argv| argv.push(Word::from("x")))
        },
        |s| s.dir = RepoPath::parse(b"d").unwrap(),
        |s| s.pass_env.push("X".to_owned()),
        |s| s.with = vec![Service::default()],
    ];
    let known_as = |change: &Change| {
        let mut step = step.clone();
        change(&mut step);
        known::identity(&step) == known::identity(&plan.steps[0])
    };
    assert!(same.iter().all(known_as));
    assert!(!other.iter().any(known_as));
    assert_ne!(known::identity(step), known::identity(&plan.steps[1]));
}

#[test]
fn steps_without_a_process() {
    let (mut plan, known) = plan_of(&["", "w:a"]);
    let step = &mut plan.steps[0];
    (step.argv, step.kind) = (None, Kind::File);
    step.path = Some(RepoPath::parse(b"a").unwrap());
    assert_eq!(why(&plan, &known), "the other writes a, which it reads");
    plan.steps[0].path = Some(RepoPath::parse(b"b").unwrap());
    assert_eq!(why(&plan, &known), "");
    plan.steps[0].kind = Kind::Judge;
    assert_eq!(why(&plan, &known), "what a judge does is not observed");
}

fn words() -> impl Strategy<Value = String> {
    let path = prop::collection::vec(prop::sample::select(vec!["a", "b", "a-b"]), 1..4);
    let place = (any::<bool>(), path).prop_map(|(is_outside, path)| {
        let start = if is_outside { "/" } else { "" };
        format!("{start}{}", path.join("/"))
    });
    let place = prop_oneof![8 => place, 1 => Just(".".to_owned()), 1 => Just("/".to_owned())];
    let word = (
        prop::sample::select(vec!["w", "w", "r", "l", "f", "m"]),
        place,
    );
    let words = prop::collection::vec(
        word.prop_map(|(what, place)| format!("{what}:{place}")),
        0..5,
    );
    words.prop_map(|words| words.join(" "))
}

fn globs() -> impl Strategy<Value = Option<Selection>> {
    let globs = ["a/**", "**/b", "a/*", "b", "** !a/**", "a/b", "{a,b}/a-b"];
    let globs = prop::sample::select(globs.to_vec()).prop_map(selection);
    prop::option::weighted(0.3, globs)
}

proptest! {
    #![proptest_config(vplan_arbitrary::config(512))]

    /// The decision for all pairs at once equals the report on each pair.
    #[test]
    fn all_pairs_are_as_each_pair(
        seen in prop::collection::vec(words(), 2..6),
        said in prop::collection::vec((globs(), globs()), 6),
    ) {
        let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
        let (mut plan, known) = plan_of(&seen);
        for (step, (writes, unchanged)) in plan.steps.iter_mut().zip(said) {
            (step.writes, step.unchanged) = (writes, unchanged);
        }
        let beside = ParallelPairs::decide(&plan, &known);
        for (one, step) in plan.numbered_steps() {
            for (other, other_step) in plan.numbered_steps().filter(|(other, _)| *other != one) {
                let pair = [step, other_step].map(|step| StepEffects::new(step, &known));
                let met = meeting::meeting(&pair[0], &pair[1]);
                prop_assert_eq!(beside.may(one, other), met.is_none(), "{:?}", met);
                prop_assert_eq!(beside.may(one, other), beside.may(other, one));
            }
        }
    }
}
