//! Laws of classification and recovery (src/engine.md section 6).

use crate::frozen::oracle::rewrites::{check_classification, check_recovery, check_rewrite};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use vplan::arbitrary::config;
use vplan::arbitrary::recover as any_of;
use vplan::base::index::Index as _;
use vplan::base::jobs::Jobs;
use vplan::base::path::RepoPath;
use vplan::base::vocabulary::FailureCode;
use vplan::base::vocabulary::RewriteRule;
use vplan::base::word::Word;
use vplan::check::evidence::{Captured, Evidence, SpawnError};
use vplan::lang::command::parse_command;
use vplan::plan::facts::{Certainty, FactAnswer, Facts, Question};
use vplan::plan::{Plan, StepIndex};
use vplan::recover::bare::{
    RecoverAnswer as Said, answer, bare_plan, plan_of_words, reported_failure,
};
use vplan::recover::rewrite::{measure, well_formed};
use vplan::recover::{Failure, Recovery, classify, preflight, preflight_questions, recover};

/// A plan, failures of its steps, facts.
pub(super) fn situation() -> impl Strategy<Value = (Plan, Vec<Failure>, Facts)> {
    let plan = prop_oneof![2 => any_of::plan(), 1 => any_of::list(), 1 => any_of::early_cleanup()];
    plan.prop_flat_map(|plan| {
        let failures = any_of::failures(&plan);
        (Just(plan), failures, any_of::facts())
    })
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn every_repair_keeps_the_laws((plan, failures, facts) in situation()) {
        check_recovery(&plan, &failures, &facts).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn rewrite_evidence_untrusted(plan in any_of::list(), index in 0_usize..7, evidence in any_of::evidence(), facts in any_of::facts()) {
        check_classification(&plan, index, &evidence, &facts).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn what_was_classified_is_repaired_by_the_laws(plan in any_of::list(), evidence in any_of::evidence(), facts in any_of::facts()) {
        let failures: Vec<Failure> = (0..plan.steps.len()).map(|i| classify(&plan, StepIndex::new(i), &evidence, &facts)).collect();
        check_recovery(&plan, &failures, &facts).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_preflight_ends_and_happens_once((plan, _, facts) in situation()) {
        let before = measure(&plan);
        let repaired = preflight(plan.clone(), &facts);
        prop_assert!(measure(&repaired) <= before);
        prop_assert_eq!(well_formed(&repaired), Ok(()));
        prop_assert_eq!(&preflight(repaired.clone(), &facts), &repaired);
        // It looks at nothing that was not asked for.
        prop_assert_eq!(preflight(plan.clone(), &asked_for(&plan, &facts)), repaired);
    }

    #[test]
    fn a_policy_without_rules_leaves_a_plan_alone((mut plan, failures, facts) in situation()) {
        plan.policy.recover.clear();
        let rewritten = matches!(recover(&plan, &failures, &facts), Recovery::Rewritten { .. });
        prop_assert!(!rewritten);
    }
}

#[test]
fn examples_keep_the_laws() {
    use FailureCode::UnsupportedFormat;
    use FailureCode::{MissingMakeTarget, MissingScript, NoTestFiles, SequenceIssue};
    let cleanup: &[&str] = &[
        "make",
        "make clean",
        "test -f build/app",
        "pnpm lint",
        "test -s build/map",
    ];
    let examples: [(&[&str], usize, FailureCode); 7] = [
        (&["./make all && ./try all"], 1, UnsupportedFormat),
        (&["cd apps/web && ./try all"], 1, UnsupportedFormat),
        (cleanup, 3, SequenceIssue),
        (&["pnpm run nope", "pnpm test"], 1, MissingScript),
        (&["make nope", "make test"], 1, MissingMakeTarget),
        (&["npx vitest run", "pnpm lint"], 1, NoTestFiles),
        (&["make | tee log", "pnpm lint"], 1, UnsupportedFormat),
    ];
    for (rule, (lines, number, code)) in RewriteRule::ALL.into_iter().zip(examples) {
        let commands: Vec<_> = lines.iter().map(|line| parse_command(line)).collect();
        let failures = [reported_failure(number, code)];
        let count = check_recovery(&bare_plan(&commands), &failures, &Facts::default()).unwrap();
        assert_eq!(count, 1, "{rule}");
    }
}

/// Laws say nothing about rules that never apply.
#[test]
fn generated_situations_reach_every_rule() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..600 {
        let (mut plan, failures, facts) = situation().new_tree(&mut runner).unwrap().current();
        loop {
            match recover(&plan, &failures, &facts) {
                Recovery::Rewritten {
                    plan: next,
                    rewrite,
                } => {
                    *seen.entry(rewrite.recovery_rule.to_string()).or_default() += 1;
                    plan = *next;
                }
                Recovery::Refused(refusals) => {
                    for refusal in refusals {
                        *seen
                            .entry(format!("{} refused", refusal.recovery_rule))
                            .or_default() += 1;
                    }
                    break;
                }
                Recovery::NotApplicable => break,
            }
        }
    }
    for rule in RewriteRule::NAMES {
        assert!(seen.get(*rule).is_some_and(|n| *n >= 3), "{rule}: {seen:?}");
        assert!(
            seen.contains_key(&format!("{rule} refused")),
            "{rule}: {seen:?}"
        );
    }
}

/// An oracle that cannot fail proves nothing.
#[test]
fn the_laws_can_be_broken() {
    let before = plan_of_words(&["make", "make x", "make y"]);
    let failure = reported_failure(2, FailureCode::MissingMakeTarget);
    let Recovery::Rewritten {
        plan: after,
        rewrite,
    } = recover(&before, &[failure], &Facts::default())
    else {
        panic!("not repaired");
    };
    assert_eq!(check_rewrite(&before, &after, &rewrite), Ok(()));
    type Break = fn(&mut Plan);
    let broken: [(&str, Break); 6] = [
        ("nothing", |p| p.steps.clear()),
        ("another word", |p| {
            p.steps[1].argv = Some(vec![Word::from("true")])
        }),
        ("another setting", |p| p.steps[0].timeout_ms += 1),
        ("another order", |p| p.steps.swap(0, 1)),
        ("another policy", |p| p.policy.jobs = Jobs::Auto),
        ("one more", |p| {
            p.steps.push(plan_of_words(&["make z"]).steps.remove(0))
        }),
    ];
    for (what, breaks) in broken {
        let mut plan = (*after).clone();
        breaks(&mut plan);
        assert!(check_rewrite(&before, &plan, &rewrite).is_err(), "{what}");
    }
}

/// The set that the drops together would empty stays whole, whichever step failed first.
#[test]
fn drops_together_leave_something() {
    let plan = plan_of_words(&["make x", "make y"]);
    let code = FailureCode::MissingMakeTarget;
    let both = [reported_failure(1, code), reported_failure(2, code)];
    assert!(
        matches!(recover(&plan, &both, &Facts::default()), Recovery::Refused(list) if list.len() == 2)
    );
    assert!(matches!(
        recover(&plan, &both[..1], &Facts::default()),
        Recovery::Rewritten { .. }
    ));
}

#[test]
fn refusals() {
    use vplan::base::change::{ChangeSet, ChangedFile, Status};
    use vplan::plan::Origin;
    let base = || plan_of_words(&["npm run x", "pnpm lint"]);
    let file = |path: &str, status| {
        ChangeSet::new(vec![ChangedFile {
            path: RepoPath::parse(path.as_bytes()).unwrap(),
            status,
        }])
    };
    let declared = |question: Question| {
        let mut facts = Facts::default();
        facts.add(question, FactAnswer::List(vec![Word::from("x")]));
        facts
    };
    let none = Facts::default;
    let cases: Vec<(&str, Plan, FailureCode, Facts, bool)> = vec![
        (
            "nothing against it",
            base(),
            FailureCode::MissingScript,
            none(),
            true,
        ),
        (
            "contract",
            Plan {
                steps: {
                    let mut s = base().steps;
                    s[0].origin = Origin::Contract;
                    s
                },
                ..base()
            },
            FailureCode::MissingScript,
            none(),
            false,
        ),
        (
            "optional",
            Plan {
                steps: {
                    let mut s = base().steps;
                    s[0].origin = Origin::Contract;
                    s[0].optional = true;
                    s
                },
                ..base()
            },
            FailureCode::MissingScript,
            none(),
            true,
        ),
        (
            "needed",
            Plan {
                steps: {
                    let mut s = base().steps;
                    s[1].needs.push("command-1".to_owned());
                    s
                },
                ..base()
            },
            FailureCode::MissingScript,
            none(),
            false,
        ),
        (
            "the only effective one",
            Plan {
                steps: {
                    let mut s = base().steps;
                    s[1].setup = true;
                    s
                },
                ..base()
            },
            FailureCode::MissingScript,
            none(),
            false,
        ),
        (
            "declared before",
            base(),
            FailureCode::MissingScript,
            declared(Question::BaseScripts(RepoPath::root())),
            false,
        ),
        (
            "declared elsewhere",
            base(),
            FailureCode::MissingScript,
            declared(Question::BaseScripts(RepoPath::parse(b"web").unwrap())),
            true,
        ),
        (
            "manifest changed",
            {
                let mut p = base();
                p.request.changed = file("package.json", Status::Modified);
                p
            },
            FailureCode::MissingScript,
            none(),
            false,
        ),
        (
            "another manifest changed",
            {
                let mut p = base();
                p.request.changed = file("web/package.json", Status::Modified);
                p
            },
            FailureCode::MissingScript,
            none(),
            true,
        ),
        (
            "test deleted",
            {
                let mut p = base();
                p.request.changed = file("src/a.test.ts", Status::Deleted);
                p
            },
            FailureCode::NoTestFiles,
            none(),
            false,
        ),
        (
            "test changed",
            {
                let mut p = base();
                p.request.changed = file("src/a.test.ts", Status::Modified);
                p
            },
            FailureCode::NoTestFiles,
            none(),
            true,
        ),
    ];
    for (what, plan, code, facts, dropped) in cases {
        match recover(&plan, &[reported_failure(1, code)], &facts) {
            Recovery::Rewritten { .. } => assert!(dropped, "{what}"),
            Recovery::Refused(refusals) => {
                assert!(
                    !dropped && refusals.len() == 1 && !refusals[0].reason.is_empty(),
                    "{what}: {refusals:?}"
                );
            }
            Recovery::NotApplicable => panic!("{what}: no rule"),
        }
    }
}

#[test]
fn preflight_asks_for_proof() {
    let root = RepoPath::root;
    let path = |p: &str| RepoPath::parse(p.as_bytes()).unwrap();
    let list = |names: &[&str]| FactAnswer::List(names.iter().map(|n| Word::from(*n)).collect());
    let mut facts = Facts::default();
    facts.add(Question::Scripts(root()), list(&["lint"]));
    facts.add(Question::MakeTargets(root()), list(&["all"]));
    let count =
        |commands: &[&str], facts: &Facts| preflight(plan_of_words(commands), facts).steps.len();
    assert_eq!(
        count(&["npm run x", "npm run lint"], &facts),
        1,
        "the first step"
    );
    assert_eq!(
        count(&["npm run lint", "npm run x"], &facts),
        2,
        "an earlier step may write package.json"
    );
    assert_eq!(
        count(&["make x", "make all"], &facts),
        2,
        "x.c may be there"
    );
    assert_eq!(count(&["npm run x"], &facts), 1, "something must remain");
    assert_eq!(
        count(&["pnpm x", "npm run lint"], &facts),
        2,
        "a program may have this name"
    );
    facts.add(
        Question::Tracked(path("package.json")),
        FactAnswer::Word(Certainty::Yes),
    );
    facts.add(
        Question::Tracked(path("Makefile")),
        FactAnswer::Word(Certainty::Yes),
    );
    assert_eq!(count(&["npm run lint", "npm run x"], &facts), 1, "tracked");
    let plan = plan_of_words(&["make all", "make x"]);
    for question in preflight_questions(&plan, &facts) {
        if matches!(question, Question::Exists(_)) {
            facts.add(question, FactAnswer::Word(Certainty::No));
        }
    }
    let repaired = preflight(plan, &facts);
    assert_eq!(repaired.steps.len(), 1, "nothing to make it from");
    assert_eq!(
        repaired.rewrites[0].recovery_rule.to_known(),
        Some(RewriteRule::DropMissingMakeTarget)
    );
    assert!(
        repaired
            .facts
            .iter()
            .any(|f| f.question == Question::MakeTargets(root())),
        "what it depended on is recorded"
    );
}

/// Those facts that a preflight asks for, round by round.
fn asked_for(plan: &Plan, facts: &Facts) -> Facts {
    let mut known = Facts::default();
    loop {
        let questions = preflight_questions(plan, &known);
        if questions.is_empty() {
            known.0.retain(|question, _| facts.get(question).is_some());
            return known;
        }
        for question in questions {
            let answer = facts
                .get(&question)
                .cloned()
                .unwrap_or(FactAnswer::Word(Certainty::Unknown));
            known.add(question, answer);
        }
    }
}

fn vectors(area: &str) -> Vec<Value> {
    let path = format!("{}/tests/vectors/{area}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .map(|v| v.as_str().unwrap().to_owned())
        .collect()
}

fn list_plan(commands: &[String]) -> Plan {
    bare_plan(
        &commands
            .iter()
            .map(|c| parse_command(c))
            .collect::<Vec<_>>(),
    )
}

/// Facts of the committed files: good enough for the flat ones of the vectors.
fn facts_of(files: &Value) -> Facts {
    let none = serde_json::Map::new();
    let files: BTreeMap<&str, &Value> = files
        .as_object()
        .unwrap_or(&none)
        .iter()
        .map(|(k, v)| (k.as_str(), v))
        .collect();
    let mut facts = Facts::default();
    let word = |s: &str| Word::from(s);
    let scripts = files.get("package.json").map(|text| {
        let json: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        FactAnswer::List(
            json["scripts"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(k, _)| word(k))
                .collect(),
        )
    });
    let targets = files.get("Makefile").map(|text| {
        let heads = text
            .as_str()
            .unwrap()
            .lines()
            .filter(|l| !l.starts_with(['\t', '.', '#']));
        FactAnswer::List(
            heads
                .filter_map(|l| l.split_once(':'))
                .map(|(name, _)| word(name))
                .collect(),
        )
    });
    for (list, now, base) in [
        (
            scripts,
            Question::Scripts(RepoPath::root()),
            Question::BaseScripts(RepoPath::root()),
        ),
        (
            targets,
            Question::MakeTargets(RepoPath::root()),
            Question::BaseMakeTargets(RepoPath::root()),
        ),
    ] {
        let list = list.unwrap_or(FactAnswer::Word(Certainty::No));
        facts.add(now, list.clone());
        facts.add(base, list);
    }
    facts
}

fn evidence_of(input: &Value) -> Evidence {
    let output = |name: &str| Captured::from(input[name].as_str().unwrap_or("").as_bytes());
    Evidence {
        exit: input["exit"]
            .as_i64()
            .map(|code| i32::try_from(code).unwrap()),
        signal: input["signal"].as_str().map(str::to_owned),
        spawn_error: input["spawnError"].as_str().map(|code| SpawnError {
            code: code.to_owned(),
            message: String::new(),
        }),
        stdout: output("stdout"),
        stderr: output("stderr"),
        ..Evidence::default()
    }
}

#[test]
fn classification_of_known_failures() {
    for case in vectors("classify") {
        let input = &case["input"];
        let mut commands = strings(&input["previous"]);
        commands.push(input["command"].as_str().unwrap().to_owned());
        let plan = list_plan(&commands);
        let facts = facts_of(&input["files"]);
        let got = classify(
            &plan,
            StepIndex::new(commands.len() - 1),
            &evidence_of(input),
            &facts,
        );
        assert_eq!(
            case["expected"]["failureCode"],
            got.code.name(),
            "{}: {got:?}\n{input}",
            case["id"]
        );
    }
}

#[test]
fn recovery_of_known_lists() {
    for case in vectors("recover") {
        let (id, input, expected) = (&case["id"], &case["input"], &case["expected"]);
        let plan = list_plan(&strings(&input["commands"]));
        let facts = facts_of(&input["files"]);
        let number = usize::try_from(input["failed"].as_u64().unwrap()).unwrap();
        let failure = match input["code"].as_str() {
            Some(code) => reported_failure(number, FailureCode::parse(code).unwrap()),
            None => classify(
                &plan,
                StepIndex::new(number - 1),
                &evidence_of(input),
                &facts,
            ),
        };
        let failures = [failure];
        check_recovery(&plan, &failures, &facts).unwrap();
        let said = answer(recover(&plan, &failures, &facts), &failures);
        let got = serde_json::to_value(&said).unwrap();
        if expected["refused"] == true {
            assert!(matches!(said, Said::Refused { .. }), "{id}: {got}");
            continue;
        }
        if let Some(rule) = expected["notRule"].as_str() {
            assert_ne!(got["recoveryRule"], rule, "{id}: {got}");
            continue;
        }
        for (key, want) in expected.as_object().unwrap() {
            if let Some(commands) = want.as_array() {
                let read = |list: &Value| {
                    strings(list)
                        .iter()
                        .map(|c| parse_command(c))
                        .collect::<Vec<_>>()
                };
                assert_eq!(
                    read(&got[key]),
                    read(&Value::Array(commands.clone())),
                    "{id}: {got}"
                );
            } else {
                assert_eq!(&got[key], want, "{id}: {got}");
            }
        }
    }
}

/// One entry of a list, as it is written and as a shell's script does the same.
fn entry(number: usize) -> impl Strategy<Value = (String, String)> {
    let dir =
        || proptest::sample::select(&["a", "b", "a/b", "..", "../b", ".", "./a/../b", "'a b'"][..]);
    let pair = || proptest::sample::select(&["A=1", "A=2", "B='x  y'", "B=", "A=3 B=4"][..]);
    let probe = format!("probe {number}");
    let apart = |text: &str| format!("({})", text.replace("cd ", "go "));
    let here = |text: String| (text.clone(), text.replace("cd ", "go "));
    prop_oneof![
        3 => dir().prop_map(move |d| here(format!("cd {d}"))),
        3 => pair().prop_map(move |p| here(format!("export {p}"))),
        1 => (dir(), pair()).prop_map(move |(d, p)| here(format!("cd {d} && export {p}"))),
        3 => Just(probe.clone()).prop_map(here),
        1 => (pair(), Just(probe.clone())).prop_map(move |(p, probe)| here(format!("{p} {probe}"))),
        1 => (dir(), Just(probe.clone())).prop_map(move |(d, probe)| {
            let text = format!("cd {d} && {probe}");
            (text.clone(), apart(&text))
        }),
        1 => (dir(), pair(), Just(probe)).prop_map(move |(d, p, probe)| {
            let text = format!("{probe} && export {p} && cd {d} && {probe}");
            (text.clone(), apart(&text))
        }),
    ]
}

/// What a shell says of the probes: number, directory, variables. `None` when it left the root.
fn seen_by_a_shell(scripts: &[&str]) -> Option<Vec<String>> {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    let mut script = "go() { mkdir -p -- \"$1\" && cd \"$1\" && case \"$PWD/\" in \"$HOME\"/*) ;; *) echo outside; exit ;; esac; }\n\
        probe() { echo \"$1 $PWD ${A-none} ${B-none}\"; }\n"
        .to_owned();
    scripts
        .iter()
        .for_each(|line| script += &format!("{line}\n"));
    let shell = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(&home)
        .env_clear()
        .env("HOME", &home)
        .env("PATH", std::env::var_os("PATH").unwrap())
        .output()
        .unwrap();
    let out = String::from_utf8(shell.stdout).unwrap();
    assert!(
        shell.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&shell.stderr)
    );
    let prefix = home.to_str().unwrap();
    let line = |line: &str| {
        (line != "outside").then(|| line.replacen(prefix, ".", 1).replacen(" ./", " ", 1))
    };
    out.lines().map(line).collect()
}

/// The same of a plan's steps.
fn seen_in(plan: &Plan) -> Vec<String> {
    let value = |step: &vplan::plan::Step, name: &str| match step.env.get(name) {
        Some(value) => value.as_str().unwrap().to_owned(),
        None => "none".to_owned(),
    };
    let probe = |step: &vplan::plan::Step| {
        let number = step.argv.as_ref()?.get(1)?.as_str()?.to_owned();
        Some(format!(
            "{number} {} {} {}",
            step.dir,
            value(step, "A"),
            value(step, "B")
        ))
    };
    plan.steps.iter().filter_map(probe).collect()
}

fn list_of_entries() -> impl Strategy<Value = Vec<(String, String)>> {
    (1_usize..8).prop_flat_map(|n| (0..n).map(entry).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(config(96))]

    /// What stays of a list has the directory, the variables and the words that a shell would give it, whether the list is a request's or a
    /// bare one.
    #[test]
    fn rewrite_leaves_what_a_shell_would_run(list in list_of_entries()) {
        let scripts: Vec<&str> = list.iter().map(|(_, script)| script.as_str()).collect();
        let Some(want) = seen_by_a_shell(&scripts) else { return Ok(()) };
        let commands: Vec<_> = list.iter().map(|(text, _)| parse_command(text)).collect();
        let facts = Facts::default();
        let bare = preflight(bare_plan(&commands), &facts);
        prop_assert_eq!(seen_in(&bare), want.clone(), "{:?}", list);
        let request = vplan::plan::request::Request { explicit: commands.into_iter().map(Into::into).collect(), ..Default::default() };
        let vplan::plan::compile::Compiled::Plan(plan) = vplan::plan::compile::compile(None, &request, &facts).unwrap() else {
            return Err(TestCaseError::fail("facts are missing"));
        };
        prop_assert_eq!(seen_in(&preflight(*plan, &facts)), want, "{:?}", list);
    }
}
