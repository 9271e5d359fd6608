//! Tests of compiling.

use super::*;
use crate::arbitrary::{command, plain_check, plain_contract, unsupported};
use crate::facts::{Certainty, FactAnswer};
use crate::request::{Selector, Skip};
use vplan_arbitrary::rows;
use vplan_base::change::ChangeSet;
use vplan_base::command::{Command, Piece};
use vplan_base::index::Index as _;
use vplan_base::path::RepoPath;
use vplan_base::setting::{Row, Value};
use vplan_base::word::Word;
use vplan_contract::{Body, Role};

fn changed(paths: &[&str]) -> ChangeSet {
    let paths = paths.iter().map(|p| RepoPath::parse(p.as_bytes()).unwrap());
    ChangeSet::modified(&paths.collect::<Vec<_>>())
}

fn check(id: &str, text: &str, needs: &[usize]) -> Check {
    Check {
        body: Body::Command(command(text)),
        needs: needs.iter().copied().map(CheckIndex::new).collect(),
        ..plain_check(id)
    }
}

fn planned(contract: &Contract, request: &Request) -> Result<Plan, PlanError> {
    let mut facts = Facts::default();
    facts.add(Question::MissingChanged, FactAnswer::List(Vec::new()));
    match compile(Some(contract), request, &facts)? {
        Compiled::Plan(plan) => Ok(*plan),
        Compiled::Needs(questions) => panic!("{questions:?}"),
    }
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.steps.iter().map(|s| s.id.as_str()).collect()
}

fn left_out(plan: &Plan) -> Vec<(&str, &str, bool)> {
    plan.omitted
        .iter()
        .map(|o| (o.id.as_str(), o.reason.as_str(), o.narrows))
        .collect()
}

fn of_changes(paths: &[&str]) -> Request {
    Request {
        changed: changed(paths),
        ..Request::default()
    }
}

fn only(names: &[&str]) -> Vec<Selector> {
    let selector = |name: &&str| Selector::Name((*name).to_owned());
    names.iter().map(selector).collect()
}

fn skip(names: &[&str]) -> Vec<Skip> {
    let skip = |name: &&str| Skip {
        name: (*name).to_owned(),
        reason: "flaky today".to_owned(),
    };
    names.iter().map(skip).collect()
}

#[test]
fn only_and_skip_with_needs() {
    let contract = plain_contract(vec![
        check("a", "a", &[]),
        check("b", "b", &[0]),
        check("c", "c", &[1]),
    ]);
    let with = |only: Vec<Selector>, skip: Vec<Skip>| {
        planned(
            &contract,
            &Request {
                only,
                skip,
                ..Request::default()
            },
        )
    };
    let plan = with(only(&["b"]), vec![]).unwrap();
    assert_eq!(ids(&plan), ["a", "b"]);
    assert_eq!(plan.steps[0].reasons[0].condition, "needed-by");
    assert_eq!(left_out(&plan), [("c", "not among --only", false)]);
    let plan = with(vec![], skip(&["c"])).unwrap();
    assert_eq!(left_out(&plan), [("c", "waived: flaky today", true)]);
    assert_eq!(ids(&with(vec![], skip(&["b", "c"])).unwrap()), ["a"]);
    let tag = vec![Selector::Tag("t".to_owned())];
    let (need, unknown) = (error::SKIPPED_NEED, error::UNKNOWN_CHECK);
    let known = "known are `a`, `b`, `c`";
    for (only, skip, code, message, help) in [
        (
            vec![],
            skip(&["b"]),
            need,
            "`b` cannot be skipped: `c` needs it",
            "skip `c` too",
        ),
        (
            only(&["c"]),
            skip(&["a"]),
            need,
            "`a` cannot be skipped: `b` needs it",
            "skip `b` too",
        ),
        (
            only(&["d"]),
            vec![],
            unknown,
            "no check is called `d`",
            known,
        ),
        (
            vec![],
            skip(&["zzzz"]),
            unknown,
            "no check is called `zzzz`",
            known,
        ),
        (tag, vec![], error::UNKNOWN_TAG, "no tag is called `t`", ""),
    ] {
        let got = with(only, skip).unwrap_err();
        let (is, way) = (got.message.as_str(), got.help.as_deref().unwrap_or(""));
        assert_eq!((got.code, is, way), (code, message, help));
    }
    let blank = vec![Skip {
        name: "c".to_owned(),
        reason: " \t".to_owned(),
    }];
    assert_eq!(with(vec![], blank).unwrap_err().code, error::BLANK_REASON);
    let role = Request {
        role: Some("tset".to_owned()),
        ..Request::default()
    };
    assert_eq!(
        planned(&contract, &role).unwrap_err().code,
        error::UNKNOWN_ROLE
    );
}

#[test]
fn the_least_tier_of_the_needers() {
    let mut contract = plain_contract(vec![
        check("late", "l", &[]),
        check("mid", "m", &[0]),
        check("now", "n", &[1]),
    ]);
    for (check, tier) in contract.checks.iter_mut().zip([2, 1, 0]) {
        check.tier = tier;
    }
    let plan = planned(&contract, &Request::default()).unwrap();
    assert_eq!(
        plan.steps
            .iter()
            .map(|s| (s.id.as_str(), s.tier))
            .collect::<Vec<_>>(),
        [("late", 0), ("mid", 0), ("now", 0)]
    );
}

#[test]
fn commands_merge_or_stand_alone() {
    let mut contract = plain_contract(vec![
        check("lint", "echo lint", &[]),
        check("unit", "echo unit", &[]),
    ]);
    contract.checks[CheckIndex::new(1)].tier = 1;
    contract.limits.max_checks = Some(2);
    let explicit = ["echo lint", "x", "echo unit", "x", "y"]
        .map(|text| command(text).into())
        .to_vec();
    let plan = planned(
        &contract,
        &Request {
            explicit: explicit.clone(),
            ..Request::default()
        },
    )
    .unwrap();
    // The list keeps its order, also where a command is a check of the contract.
    assert_eq!(ids(&plan), ["lint", "x", "echo-unit"]);
    assert_eq!(plan.steps[2].prepared_by, ["x"]);
    assert_eq!(
        left_out(&plan),
        [
            ("y", "cut by max-checks 2", true),
            ("unit", "tier 1 was not reached", false)
        ]
    );
    assert_eq!(
        plan.steps[0]
            .reasons
            .iter()
            .map(|r| r.condition.as_str())
            .collect::<Vec<_>>(),
        ["always", "explicit"]
    );
    // A role that runs only tagged checks runs only commands that equal one of them.
    contract.checks[CheckIndex::new(0)].tags = vec!["safe".to_owned()];
    contract.roles.insert(
        "docser".to_owned(),
        Role {
            only: vec!["safe".to_owned()],
            max_checks: None,
            line: Some(9),
        },
    );
    let request = Request {
        explicit,
        role: Some("docser".to_owned()),
        ..Request::default()
    };
    let plan = planned(&contract, &request).unwrap();
    assert_eq!(ids(&plan), ["lint"]);
    assert!(
        plan.omitted
            .iter()
            .all(|o| o.id == "unit" || o.reason == "role docser runs only checks tagged safe")
    );
    assert_eq!(plan.omitted.len(), 4);
}

#[test]
fn changed_files_in_batches() {
    let names: Vec<String> = (0..4_001).map(|i| format!("f{i:05}")).collect();
    let request = Request {
        changed: changed(&names.iter().map(String::as_str).collect::<Vec<_>>()),
        ..Request::default()
    };
    let mut contract = plain_contract(vec![
        check("fmt", "fmt {changed}", &[]),
        check("after", "true", &[0]),
    ]);
    let plan = planned(&contract, &request).unwrap();
    assert_eq!(ids(&plan), ["fmt#1", "fmt#2", "after"]);
    assert_eq!(plan.steps[2].needs, ["fmt#1", "fmt#2"]);
    assert_eq!(
        plan.steps[1].argv.as_ref().unwrap(),
        &[Word::from("fmt"), Word::from("f04000")]
    );
    assert!(
        plan.steps[..2]
            .iter()
            .all(|s| s.batch_of.as_deref() == Some("fmt"))
    );
    contract.checks[CheckIndex::new(0)].set(Row::MinTests, Value::Number(1));
    assert_eq!(
        planned(&contract, &request).unwrap_err().code,
        error::BATCHED_REPORT
    );
    // A check without a file that others need leaves them free.
    let none = planned(&contract, &Request::default()).unwrap();
    assert_eq!((ids(&none), none.steps[0].needs.len()), (vec!["after"], 0));
    // Without a file that may exist there is nothing to look up.
    assert!(matches!(
        compile(Some(&contract), &Request::default(), &Facts::default()),
        Ok(Compiled::Plan(_))
    ));
    let open = compile(Some(&contract), &request, &Facts::default());
    assert_eq!(
        open,
        Ok(Compiled::Needs(BTreeSet::from([Question::MissingChanged])))
    );
}

#[test]
fn what_weakens_a_plan_is_said() {
    let mut contract = plain_contract(vec![
        check("npm", "npm run lint", &[]),
        check("make", "make -C lib -f rules.mk all", &[]),
        check("script", "sh tools/x.sh", &[]),
        check("program", "./check.sh", &[]),
        check("module", "python3 -m pytest", &[]),
        check("workspace", "pnpm --filter web test", &[]),
    ]);
    contract.checks[CheckIndex::new(0)].dir = RepoPath::parse(b"web").unwrap();
    let files = [
        "web/package.json",
        "lib/rules.mk",
        "tools/x.sh",
        "check.sh",
        "contracts/verify.vplan",
        "Makefile",
    ];
    let plan = planned(&contract, &of_changes(&files)).unwrap();
    let got: Vec<(&str, String)> = super::super::definition::changed_definitions(&plan)
        .map(|(step, reason)| (step.id.as_str(), reason.matched[0].to_string()))
        .collect();
    let want = [
        ("npm", "web/package.json"),
        ("make", "lib/rules.mk"),
        ("script", "tools/x.sh"),
        ("program", "check.sh"),
        ("workspace", "web/package.json"),
    ];
    assert_eq!(got, want.map(|(a, b)| (a, b.to_owned())));
    assert_eq!(
        plan.notes
            .iter()
            .map(|n| n.kind.as_str())
            .collect::<Vec<_>>(),
        ["contract-changed"]
    );
}

/// Every spelling of a command shows the changed file that decides what it does.
#[test]
fn what_defines_a_step_in_every_spelling() {
    let mut wrong = Vec::new();
    for [command, file, part] in rows(
        "
        ./check.sh                           | check.sh                | what it runs
        timeout -k 5 60 ./check.sh           | check.sh                | what it runs
        env -u X A=1 ./check.sh              | check.sh                | what it runs
        nice -n 5 ./check.sh                 | check.sh                | what it runs
        nohup setsid ./check.sh              | check.sh                | what it runs
        flock lock ./check.sh                | check.sh                | what it runs
        flock lock -c ./check.sh             | check.sh                | what it runs
        xargs -0 ./check.sh                  | check.sh                | what it runs
        time -p sh check.sh                  | check.sh                | what it runs
        stdbuf -oL bash -e check.sh          | check.sh                | what it runs
        bash -o pipefail check.sh            | check.sh                | what it runs
        sh -c ./check.sh                     | check.sh                | what it runs
        sh -c 'cd a && ./check.sh; true'     | a/check.sh              | what it runs
        sh -c '. ./check.sh'                 | check.sh                | what it runs
        timeout 5 bash -ec 'source check.sh' | check.sh                | what it runs
        env -C a ./b.sh                      | a/b.sh                  | what it runs
        python3 -m pkg.mod                   | pkg/mod.py              | the module that it runs
        uv run python -m pkg                 | pkg/__main__.py         | the module that it runs
        coverage run -m pkg                  | pkg/__init__.py         | the module that it runs
        uv run check.py                      | check.py                | what it runs
        python3 -W error check.py            | check.py                | what it runs
        mise exec -- make verify             | Makefile                | its rules
        nix develop -c make -C lib verify    | lib/Makefile            | its rules
        timeout 60 npm test                  | package.json            | its scripts
        npm test                             | .npmrc                  | configuration of npm
        pytest a                             | pytest.ini              | configuration of pytest
        pytest a                             | a/b/conftest.py         | configuration of pytest
        poetry run pytest                    | pyproject.toml          | pytest, by `tool.pytest`
        tox -e py                            | tox.ini                 | configuration of tox
        npx eslint .                         | eslint.config.mjs       | configuration of eslint
        eslint .                             | web/.eslintrc.json      | configuration of eslint
        tsc -b                               | web/tsconfig.build.json | configuration of tsc
        pnpm exec jest                       | jest.config.ts          | configuration of jest
        vitest run                           | vitest.config.ts        | configuration of vitest
        cargo test                           | .cargo/config.toml      | configuration of cargo
        cargo +nightly clippy                | clippy.toml             | configuration of cargo
        golangci-lint run                    | .golangci.yml           | configuration of golangci-lint
        ruff check                           | ruff.toml               | configuration of ruff
        mypy .                               | mypy.ini                | configuration of mypy
        just test                            | justfile                | configuration of just
        ",
    ) {
        let mut contract = plain_contract(vec![check("a", command, &[])]);
        // The last word of a shell's text is quoted.
        if let Some((before, text)) = command.split_once('\'') {
            let words = before
                .split_whitespace()
                .chain([text.trim_end_matches('\'')]);
            contract.checks[CheckIndex::new(0)].body = Body::Command(Command::Argv {
                env: Default::default(),
                pieces: words.map(|word| Piece::Word(Word::from(word))).collect(),
            });
        }
        let request = of_changes(&[file, "other/file"]);
        let plan = planned(&contract, &request).unwrap();
        let mut found = super::super::definition::changed_definitions(&plan);
        let reason = found.next().map(|(_, reason)| reason);
        let got = reason.map(|r| (r.matched.clone(), r.names.clone()));
        let path = RepoPath::parse(file.as_bytes()).unwrap();
        if got != Some((vec![path], vec![part.to_owned()])) {
            wrong.push(format!("{command}: {file}: {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Of another tool, of another folder, and code that only looks like a file.
    for (command, file) in [
        ("pytest a", "jest.config.ts"),
        ("pytest a", "a/pytest.ini"),
        ("node -e check.js", "check.js"),
        ("make -C lib verify", "other/Makefile"),
        ("sh -c check.sh", "other/check.sh"),
    ] {
        let contract = plain_contract(vec![check("a", command, &[])]);
        let request = of_changes(&[file]);
        let plan = planned(&contract, &request).unwrap();
        let mut found = super::super::definition::changed_definitions(&plan);
        assert!(found.next().is_none(), "{command}: {file}");
    }
}

/// What a script sources, a makefile includes and a script of a package calls defines a step, too; a table
/// of a file that is as it was does not.
#[test]
fn what_defines_a_step_by_the_content_of_files() {
    let calls: &[(&str, &[&str])] = &[
        (
            "package.json",
            &[
                "lint: eslint .",
                "pretest: ./prepare.sh",
                "test: npm run unit && cd sub; node t.js",
                "unit: timeout 5 sh ci/unit.sh",
            ],
        ),
        ("ci/unit.sh", &[". $/lib.sh", ". ./env.sh"]),
        (
            "Makefile",
            &["include mk/*.mk", "include a.mk", "include Makefile"],
        ),
        ("a.mk", &["include $/common.mk"]),
    ];
    let mut facts = Facts::default();
    for (path, lines) in calls {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let lines = lines.iter().map(|line| Word::from(*line)).collect();
        facts.add(Question::Calls(path), FactAnswer::List(lines));
    }
    let table = |path: &str| {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        Question::SameTable(path, "tool.ruff".to_owned())
    };
    for (path, same) in [
        ("pyproject.toml", Certainty::Yes),
        ("a/pyproject.toml", Certainty::No),
    ] {
        facts.add(table(path), FactAnswer::Word(same));
    }
    for [command, file, recorded, want] in rows(
        "
        npm test            | sub/t.js         | 1 | what its script `test` runs
        npm test            | prepare.sh       | 1 | what its script `test` runs
        npm t               | ci/unit.sh       | 1 | what its script `unit` runs
        npm test            | ci/lib.sh        | 2 | what `ci/unit.sh` sources
        npm test            | lib.sh           | 2 | what `ci/unit.sh` sources
        npm run lint        | eslint.config.js | 1 | configuration of eslint
        npm run lint        | sub/t.js         | 0 |
        npm run other       | ci/unit.sh       | 0 |
        bash -e ci/unit.sh  | ci/env.sh        | 1 | what `ci/unit.sh` sources
        ci/unit.sh          | env.sh           | 1 | what `ci/unit.sh` sources
        ci/unit.sh          | other/lib.sh     | 0 |
        make x              | mk/b.mk          | 1 | rules that `Makefile` includes
        make x              | a.mk             | 1 | rules that `Makefile` includes
        make x              | common.mk        | 2 | rules that `a.mk` includes
        make x              | b.mk             | 0 |
        make -f b.mk        | a.mk             | 0 |
        ruff check          | pyproject.toml   | 1 |
        ruff check a        | a/pyproject.toml | 0 |
        env -C a ruff check | a/pyproject.toml | 0 | ruff, by `tool.ruff`
        ",
    ) {
        let recorded: usize = recorded.parse().unwrap();
        let contract = plain_contract(vec![check("a", command, &[])]);
        let request = of_changes(&[file]);
        let made = |facts: &Facts| match compile(Some(&contract), &request, facts).unwrap() {
            Compiled::Plan(plan) => plan,
            Compiled::Needs(needs) => panic!("{needs:?}"),
        };
        let plan = made(&facts);
        let got = super::super::definition::changed_definitions(&plan)
            .map(|(_, reason)| reason.names.join(" "))
            .next();
        assert_eq!(got.unwrap_or_default(), want, "{command}: {file}");
        assert_eq!(
            plan.facts.len(),
            recorded,
            "{command}: {file}: {:?}",
            plan.facts
        );
        // What the plan records is enough to make it again.
        let known = plan.facts.iter();
        let known = known.map(|f| (f.question.clone(), f.answer.clone()));
        let again = made(&Facts(known.collect()));
        assert_eq!(again.digest, plan.digest, "{command}: {file}");
        // Without the facts, they are requested.
        let answer = |asked: &BTreeSet<Question>| {
            let known = asked.iter().filter_map(|q| facts.fact(q.clone()));
            Facts(known.map(|f| (f.question, f.answer)).collect())
        };
        let asked = compile_with(Some(&contract), &request, &mut Facts::default(), answer);
        assert_eq!(asked, Ok(Compiled::Plan(plan)), "{command}: {file}");
    }
}

#[test]
fn modes_without_a_contract() {
    let inferred = vec![("cargo-test".to_owned(), command("cargo test"))];
    let explicit = vec![command("make").into(), unsupported().into()];
    for (mode, want, note) in [
        (Mode::Off, vec![], "mode-off"),
        (Mode::Contract, vec!["make", "a-b"], "no-contract"),
        (
            Mode::Fallback,
            vec!["make", "a-b", "cargo-test"],
            "no-contract",
        ),
    ] {
        let request = Request {
            mode,
            explicit: explicit.clone(),
            inferred: inferred.clone(),
            ..Request::default()
        };
        let Ok(Compiled::Plan(plan)) = compile(None, &request, &Facts::default()) else {
            panic!()
        };
        assert_eq!(ids(&plan), want);
        assert_eq!(plan.notes.last().map(|n| n.kind.as_str()), Some(note));
    }
    let contract = plain_contract(vec![check("a", "a", &[])]);
    let off = planned(
        &contract,
        &Request {
            mode: Mode::Off,
            ..Request::default()
        },
    )
    .unwrap();
    assert_eq!(left_out(&off), [("a", "mode is off", false)]);
}
