//! Laws of `vplan import`: what is converted means the same, and is never less.

use crate::frozen::oracle::contract::{converted as oracle, drafted};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use vplan::arbitrary::config;
use vplan::arbitrary::lang::{contract as text_of_a_contract, style};
use vplan::arbitrary::plan::{Compilation, changes, facts, request};
use vplan::base::command::{Command, UnsupportedReason};
use vplan::base::diagnostic::Diagnostics;
use vplan::base::glob::Glob;
use vplan::base::path::RepoPath;
use vplan::base::setting::{self, Row};
use vplan::base::source::{Source, Sources};
use vplan::contract::Contract;
use vplan::contract::validate::validate;
use vplan::front::convert::{Conversion, Format, Weight, convert, recognize, text, verify};
use vplan::front::lower;
use vplan::lang::command::parse_command;
use vplan::plan::canonical::without_annotations;
use vplan::plan::digest::digest;
use vplan::plan::request::Boundary;
use vplan::plan::request::{Request, Risk};
use vplan::plan::{Origin, Plan};

/// The contract that a file is converted to, its text, and the names of checks that stand for a
/// command that is no argument vector.
fn converted(
    format: Format,
    content: &str,
) -> Result<(Contract, String, Conversion), TestCaseError> {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("file", content));
    let mut sink = Diagnostics::default();
    let conversion = convert(&sources, id, format, &mut sink);
    let Some(conversion) = conversion else {
        return Err(TestCaseError::fail(format!("refused: {sink:?}\n{content}")));
    };
    let written = text(&conversion, &sources);
    let contract = verify(&conversion, &sources, &written)
        .map_err(|e| TestCaseError::fail(format!("{e}\n{written}")))?;
    Ok((contract, written, conversion))
}

/// The contract that vplan sees in the JSON file itself.
fn native(content: &str) -> Result<Contract, TestCaseError> {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("verify.contract.json", content));
    let mut sink = Diagnostics::default();
    let draft = lower(&sources, id, &mut sink);
    validate(&draft, &sources, &mut sink)
        .ok_or_else(|| TestCaseError::fail(format!("{sink:?}\n{content}")))
}

const SUPPORTED: &[&str] = &[
    "pnpm run lint",
    "pnpm test",
    "pnpm  test ",
    "CI=1 pnpm test",
    "A= B='x y' make",
    "eslint {changed}",
    "echo x{changed} '{changed}'",
    "grep -q \"\\[ok\\]\" log",
    "echo '' \"it's\" \\# \\$HOME",
    "ls *.ts ~ {a,b}",
    "test ! -f x",
    "[ -f a ]",
    "printf $'\\xff\\x0a'",
    "größe ünïcode",
];
const UNSUPPORTED: &[&str] = &[
    "a && b",
    "cd apps/api && pnpm test",
    "cd .. && pnpm test",
    "make && cd out && ls *.o",
    "A=1 make && B=2 make install && cd x",
    "a | b",
    "a; b",
    "echo $HOME",
    "exit 1",
    "echo 'open",
    "-x",
    "foo: bar",
    "lint {changed} && b",
    "a # why",
    "a\nb",
    "a \\",
    "x &",
    "(a)",
    "! a",
];
const GLOBS: &[&str] = &[
    "src/**",
    "**/*.md",
    "docs/",
    "*.json",
    "!**/gen/**",
    "src/[ab]?.rs",
    "{a,b}/**",
    "a'b\"c",
    "'\\!x'",
    "größe/**",
];

fn commands(wild: bool) -> impl Strategy<Value = Vec<String>> {
    let mut pool: Vec<String> = SUPPORTED.iter().map(|c| (*c).to_owned()).collect();
    if wild {
        pool.extend(UNSUPPORTED.iter().map(|c| (*c).to_owned()));
    }
    let known = prop::sample::select(pool).boxed();
    let any_text = "[a-z =\\\\'\"{}*-]{1,12}".prop_filter("other", move |text: &String| {
        match parse_command(text) {
            Command::Argv { .. } => true,
            // Without a word there is nothing to convert.
            Command::Unsupported { unsupported, .. } => {
                wild && unsupported.reason != UnsupportedReason::Empty
            }
        }
    });
    prop::collection::vec(prop_oneof![5 => known, 1 => any_text.boxed()], 0..4)
}

fn globs() -> impl Strategy<Value = Vec<String>> {
    let some = prop::collection::vec(prop::sample::select(GLOBS), 1..4);
    some.prop_map(|list| {
        let mut list: Vec<String> = list
            .into_iter()
            .map(|g| g.trim_matches('\'').to_owned())
            .collect();
        // A list that only excludes is an error.
        if list.iter().all(|g| g.starts_with('!')) {
            list.push("**".to_owned());
        }
        list
    })
}

/// Contracts in JSON, with commands that are argument vectors alone, or with others as well.
fn contract_json(wild: bool) -> impl Strategy<Value = String> {
    let roles = prop::collection::btree_map(
        prop::sample::select(&["worker", "tester", "docser", "reviewer"][..]),
        commands(wild),
        0..3,
    );
    let rule = (
        prop::option::of(globs()),
        prop::option::of(globs()),
        commands(wild),
    )
        .prop_map(|(any, all, list)| {
            let mut rule = json!({ "commands": list });
            if let Some(any) = any {
                rule["whenChangedAny"] = json!(any);
            }
            if let Some(all) = all {
                rule["whenChangedAll"] = json!(all);
            }
            rule
        });
    (commands(wild), roles, prop::collection::vec(rule, 0..4)).prop_map(
        |(commands, roles, rules)| {
            let file = json!({ "commands": commands, "byRole": roles, "rules": rules });
            // As people write it: equal reasons of two rules on one line count as one, and here no
            // two blocks share a line.
            serde_json::to_string_pretty(&file).unwrap()
        },
    )
}

/// What held there for every command and the file does not say: 300 s, and the programs of packages.
fn as_there(mut contract: Contract) -> Contract {
    for check in &mut contract.checks {
        check
            .settings
            .insert(Row::Timeout, setting::Value::Number(300_000));
        check.tool_path = vec![RepoPath::parse(b"node_modules/.bin").unwrap()];
    }
    contract
}

/// What a plan says, without the contract that it comes from.
fn without_contract(plan: &Plan) -> Plan {
    let mut plan = without_annotations(plan);
    plan.contract = None;
    plan
}

proptest! {
    #![proptest_config(config(512))]

    /// The JSON contract and its conversion give the same plan for every request: same steps, same order, same reasons, same
    /// omitted ones. The digests differ by the contract's own alone.
    #[test]
    fn a_contract_in_json_keeps_its_plans(content in contract_json(false), request in request(), facts in facts()) {
        let (contract, written, conversion) = converted(Format::VerifyContractJson, &content)?;
        prop_assert!(conversion.lost.iter().all(|l| l.weight == Weight::NoEffect), "{:?}", conversion.lost);
        let plan = |contract| Compilation { contract: Some(contract), request: request.clone(), facts: facts.clone() }.plan();
        match (plan(as_there(native(&content)?)), plan(contract)) {
            (Some(a), Some(b)) => {
                let (a, b) = (without_contract(&a), without_contract(&b));
                prop_assert_eq!(&a, &b, "{}\n{}", content, written);
                prop_assert_eq!(digest(&a), digest(&b));
            }
            (a, b) => prop_assert_eq!(a.is_some(), b.is_some(), "{}", content),
        }
    }

    /// Commands that are no argument vectors change; all others keep their place, their id and their reasons, and nothing that was
    /// required is missing.
    #[test]
    fn what_must_change_changes_alone(content in contract_json(true), changes in changes(), facts in facts()) {
        let (contract, written, _) = converted(Format::VerifyContractJson, &content)?;
        let request = Request { changed: changes, ..Request::default() };
        let plan = |contract| Compilation { contract: Some(contract), request: request.clone(), facts: facts.clone() }.plan();
        let old = native(&content)?;
        let unsupported: BTreeSet<String> = old
            .checks
            .iter()
            .filter(|c| matches!(&c.body, vplan::contract::Body::Command(Command::Unsupported { .. })))
            .map(|c| c.id.clone())
            .collect();
        let known: BTreeSet<String> = old.checks.iter().map(|c| c.id.clone()).collect();
        let (Some(a), Some(b)) = (plan(old), plan(contract)) else { return Err(TestCaseError::fail("no plan")) };
        let (a, b) = (without_contract(&a), without_contract(&b));
        // A supported check that comes to be equal to nothing else keeps every word.
        let kept = |plan: &Plan| -> Vec<_> {
            let steps = plan.steps.iter().filter(|s| s.origin == Origin::Contract && known.contains(s.check()));
            let steps = steps.filter(|s| !unsupported.contains(s.check()));
            steps.map(|s| (s.id.clone(), s.argv.clone(), s.env.clone(), s.dir.clone(), s.tier, s.reasons.clone())).collect()
        };
        prop_assert_eq!(kept(&a), kept(&b), "{}\n{}", content, written);
        let ids = |plan: &Plan| plan.steps.iter().map(|s| s.check().to_owned()).collect::<BTreeSet<_>>();
        let missing: Vec<String> = ids(&a).difference(&ids(&b)).cloned().collect();
        // Equal unsupported commands are one step there and two checks here, never the other way round.
        prop_assert!(missing.is_empty(), "{missing:?}\n{content}\n{written}");
        prop_assert!(b.steps.iter().all(|s| s.unsupported.is_none()), "{}", written);
    }

    /// Whatever the language can say is written so that it reads as the same.
    #[test]
    fn drafts_are_printed_as_they_are(source in text_of_a_contract(), style in style()) {
        let content = source.write(style);
        let (sources, mut draft, mut sink) = drafted("contracts/verify.vplan", content.as_bytes());
        // Written out, a block asks for no folders. The packages of a workspace are of the block alone, and no foreign contract has any.
        draft.folders.clear();
        if !content.contains("dependents") && validate(&draft, &sources, &mut sink).is_some() {
            let conversion = Conversion { format: Format::Runr, draft, lost: Vec::new() };
            let written = text(&conversion, &sources);
            let read = verify(&conversion, &sources, &written);
            prop_assert!(read.is_ok(), "{:?}\n{content}\n---\n{written}", read.err());
        }
    }

    /// Tiers are selected as runr selects them: 0 always; 1 by a trigger, high risk or a milestone's end; 2 by the run's end alone.
    #[test]
    fn runr_selects_the_same_tiers(
        tiers in prop::collection::vec(commands(true), 3),
        triggers in prop::collection::vec((prop::collection::vec(prop::sample::select(&["src/**", "**/*.md", "a/*", "x.json"][..]), 0..3), 0..3_u8), 0..4),
        budget in prop::option::of(1_u32..10_000),
        request in request(),
        facts in facts(),
    ) {
        let list: Vec<Value> = triggers
            .iter()
            .enumerate()
            .map(|(i, (patterns, tier))| json!({ "name": format!("t {i}"), "patterns": patterns, "tier": format!("tier{tier}") }))
            .collect();
        let mut verification = json!({ "tier0": tiers[0], "tier1": tiers[1], "tier2": tiers[2], "risk_triggers": list });
        if let Some(budget) = budget {
            verification["max_verify_time_per_milestone"] = json!(budget);
        }
        let (contract, written, _) = converted(Format::Runr, &json!({ "verification": verification }).to_string())?;
        let each: usize = tiers.iter().map(Vec::len).sum();
        prop_assert!(contract.checks.len() >= each, "{}", written);
        prop_assert!(contract.checks.iter().all(|c| c.value(Row::Timeout).as_deref() == Some(&setting::Value::Number(u64::from(budget.unwrap_or(600)) * 1_000))));
        for tier in 0..3_u8 {
            let count = contract.checks.iter().filter(|c| c.tier == tier).count();
            prop_assert!(count >= tiers[usize::from(tier)].len(), "tier {}\n{}", tier, written);
        }
        let request = Request { min_tier: 0, mode: vplan::plan::request::Mode::Contract, ..request };
        let fires = |patterns: &[&str]| {
            let globs: Vec<Glob> = patterns.iter().map(|p| Glob::parse(p).unwrap()).collect();
            request.changed.files().iter().any(|f| globs.iter().any(|g| g.matches(&f.path)))
        };
        let triggered = triggers.iter().any(|(patterns, tier)| *tier > 0 && fires(patterns));
        let one = triggered || request.risk == Risk::High || request.boundaries.contains(&Boundary::MilestoneEnd);
        let two = request.boundaries.contains(&Boundary::RunEnd);
        let want: Vec<u8> = [(0, true), (1, one), (2, two)].into_iter().filter(|(_, on)| *on).map(|(n, _)| n).collect();
        let plan = Compilation { contract: Some(contract), request, facts }.plan();
        let Some(plan) = plan else { return Err(TestCaseError::fail("no plan")) };
        prop_assert_eq!(plan.tiers.iter().map(|t| t.tier).collect::<Vec<_>>(), want, "{}", written);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for format in Format::ALL {
            oracle(format, &bytes).map_err(TestCaseError::fail)?;
        }
    }

    /// Samples with a piece taken out, doubled, or replaced.
    #[test]
    fn damaged_samples(pick in 0..SAMPLES.len(), at in any::<prop::sample::Index>(), length in 0..40_usize, with in "[-a-z0-9:{}\\[\\]\"'!*&|#\\n \\t]{0,6}") {
        let (format, sample) = SAMPLES[pick];
        let mut bytes = sample.as_bytes().to_vec();
        let start = at.index(bytes.len());
        let end = (start + length).min(bytes.len());
        bytes.splice(start..end, with.bytes());
        oracle(format, &bytes).map_err(TestCaseError::fail)?;
    }
}

/// What the tests in `convert.rs` hold against its conversion.
pub const SAMPLES: &[(Format, &str)] = &[
    (
        Format::VerifyContractJson,
        include_str!("../trees/convert-opentiger/verify.contract.json"),
    ),
    (
        Format::Runr,
        include_str!("../trees/convert-runr/.runr/runr.config.json"),
    ),
    (
        Format::RalphTui,
        include_str!("../trees/convert-ralph-tui/.ralph-tui/config.toml"),
    ),
    (
        Format::Acode,
        include_str!("../trees/convert-acode/.agent/config.yml"),
    ),
];

#[test]
fn samples_hold_and_are_told_apart() {
    for (format, sample) in SAMPLES {
        oracle(*format, sample.as_bytes()).unwrap();
        assert_eq!(recognize("-", sample), Some(*format));
    }
}
