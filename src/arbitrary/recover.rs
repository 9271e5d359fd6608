//! Generates values of `recover`.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{Index, select, subsequence};
use vplan_arbitrary::glob::among;
use vplan_base::change::{ChangeSet, ChangedFile, Status};
use vplan_base::command::{Command, Env, Link, Piece, Unsupported, UnsupportedReason};
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::FailureCode;
use vplan_base::vocabulary::{Open, RewriteRule};
use vplan_base::word::Word;
use vplan_check::Severity;
use vplan_check::evidence::{Captured, Evidence, SpawnError};
use vplan_plan::bare::{bare_plan, step};
use vplan_plan::facts::{Certainty, FactAnswer, Facts, Question};
use vplan_plan::{Origin, Plan, Step, digest};
use vplan_recover::Failure;

/// Commands that rules and table rows cover, and some others.
const COMMANDS: &str = "\
    make | make clean | make clean all | make x | make -C web y | npm run clean | npm run x | \
    npm run build | npm run y -w a | pnpm x | pnpm lint | yarn x | bun run x | npx vitest run | \
    pytest -q | timeout 5 npm test | rm -rf build dist | cargo clean | cargo test | \
    ./tool --flag | test -f build/a | test -s dist/b | [ -f out/c ] | test -f src/d";

/// Command words covered by rules and table rows.
pub fn words() -> impl Strategy<Value = Vec<Word>> {
    among(COMMANDS).prop_map(|text| text.split(' ').map(Word::from).collect())
}

fn environment() -> impl Strategy<Value = Env> {
    prop_oneof![
        4 => Just(Env::new()),
        1 => select(&["1", "a b", ""]).prop_map(|v| Env::from([("CI".to_owned(), Word::from(v))])),
    ]
}

fn operator(text: &str, chain: Vec<Link>) -> Unsupported {
    let changes = |link: &Link| match link {
        Link::Other { unsupported, .. } => unsupported.changes_shell,
        link => link.is_carried(),
    };
    let changes_shell = chain.iter().any(changes) || CHANGING.contains(&text);
    Unsupported {
        chain,
        changes_shell,
        offset: 0,
        reason: UnsupportedReason::Operator,
        text: text.to_owned(),
    }
}

/// Texts that change the shell in a way that only a shell can follow.
const CHANGING: &[&str] = &["source .env", "cd $X", "set -e", "unset CI"];

fn carried() -> impl Strategy<Value = Link> {
    let export = (select(&["CI", "B"]), select(&["1", "a b"]));
    prop_oneof![
        2 => select(&["web", "a/b", "..", ".", "../web", "/tmp", "-", ""])
            .prop_map(|d| Link::ChangeDirectory { cd: d.into() }),
        1 => export.prop_map(|(name, value)| Link::Export {
            export: Env::from([(name.to_owned(), Word::from(value))]),
        }),
    ]
}

fn link() -> impl Strategy<Value = Link> {
    let other = select(&["a | b", "! make", "source .env", "cd $X", "echo $HOME"]);
    prop_oneof![
        4 => (words(), environment()).prop_map(|(argv, env)| Link::Run { argv, env }),
        2 => carried(),
        1 => other.prop_map(|text| Link::Other {
            text: text.to_owned(),
            unsupported: Box::new(operator(text, Vec::new())),
        }),
    ]
}

/// A command, now and then one outside the grammar.
pub fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        5 => (words(), environment()).prop_map(|(words, env)| Command::Argv {
            env,
            pieces: words.into_iter().map(Piece::Word).collect(),
        }),
        2 => vec(link(), 2..5).prop_map(|chain| Command::Unsupported {
            text: "a && b".to_owned(),
            unsupported: operator("&&", chain),
        }),
        1 => Just(Command::Unsupported { text: "a | b".to_owned(), unsupported: operator("|", Vec::new()) }),
        2 => vec(carried(), 1..3).prop_map(|chain| Command::Unsupported {
            text: "cd a".to_owned(),
            unsupported: operator("cd", chain),
        }),
        1 => select(CHANGING).prop_map(|text| Command::Unsupported {
            text: text.to_owned(),
            unsupported: operator(text, Vec::new()),
        }),
    ]
}

/// A bare list.
pub fn list() -> impl Strategy<Value = Plan> {
    vec(command(), 1..7).prop_map(|commands| bare_plan(&commands))
}

/// Commands of plans that clean up too early.
const EARLY: &str = "\
    make | npm run build | make clean | rm -rf build | npm run clean | pnpm lint | \
    test -f build/a | [ -s build/b ] | test -s out/c";

/// A plan with cleanups, producers and presence checks in any order; now and then with constraints.
pub fn early_cleanup() -> impl Strategy<Value = Plan> {
    let step = (among(EARLY), vec(any::<Index>(), 0..2), 0_u8..6);
    (vec(step, 2..9), any::<bool>(), any::<bool>()).prop_map(|(chosen, chained, sealed)| {
        let words: Vec<&str> = chosen.iter().map(|(command, ..)| *command).collect();
        let mut plan = vplan_plan::bare::plan_of_words(&words);
        let ids: Vec<String> = plan.steps.iter().map(|s| s.id.clone()).collect();
        for (i, (step, (_, predecessors, rare))) in plan.steps.iter_mut().zip(chosen).enumerate() {
            let earlier = predecessors
                .iter()
                .filter(|_| rare == 0)
                .filter_map(|index| ids.get(index.index(i.max(1))));
            step.after = earlier.filter(|id| **id != step.id).cloned().collect();
            // The commands of a request run in this order.
            if chained
                && let Some(id) = i.checked_sub(1).and_then(|before| ids.get(before))
                && !step.after.contains(id)
            {
                step.prepared_by.push(id.clone());
                step.after.push(id.clone());
            }
            if rare == 1 {
                step.origin = Origin::Contract;
            }
        }
        if sealed { digest::seal(plan) } else { plan }
    })
}

/// Generates the parts of a step: itself without an id, its predecessors (each is needed, waited
/// for, or only prepares), and whether its id is one that a split would like to give.
fn rough_step() -> impl Strategy<Value = (Step, Vec<(Index, u8)>, bool)> {
    use Origin::{Contract, Explicit, Inferred, Proposed};
    let origin = select(&[Explicit, Contract, Inferred, Proposed]);
    // Rare settings: one in eight.
    let rare = || (0_u8..8).prop_map(|n| n == 0);
    let flags = (any::<bool>(), rare(), rare());
    let predecessors = vec((any::<Index>(), 0_u8..3), 0..3);
    let rest = (predecessors, 0_u8..3, any::<bool>());
    (command(), origin, flags, rest).prop_map(|(command, origin, flags, rest)| {
        let (optional, warning, setup) = flags;
        let (predecessors, tier, suffixed) = rest;
        let mut made = Step {
            origin,
            optional,
            setup,
            tier,
            ..step("", &command)
        };
        if warning {
            made.severity = Severity::Warning;
        }
        (made, predecessors, suffixed)
    })
}

/// A sealed, well-formed plan with constraints, tiers and origins, changed files and a policy.
pub fn plan() -> impl Strategy<Value = Plan> {
    const FILES: &str = "package.json | Makefile | src/d | a.test.ts | web/Makefile";
    let changed = subsequence(FILES.split(" | ").collect::<Vec<_>>(), 0..3);
    let rules: Vec<Open<RewriteRule>> = RewriteRule::ALL.iter().copied().map(Open::Known).collect();
    let policy =
        prop_oneof![3 => Just(rules.clone()), 1 => subsequence(rules.clone(), 0..rules.len())];
    let steps = vec(rough_step(), 1..8);
    let all = (steps, changed, any::<bool>(), policy, any::<bool>());
    all.prop_map(|(mut steps, changed, deleted, policy, recover_contract)| {
        steps.sort_by_key(|(step, ..)| step.tier);
        let mut plan = bare_plan::<Command>(&[]);
        for (number, (step, predecessors, suffixed)) in steps.into_iter().enumerate() {
            let id = match number.checked_sub(1).filter(|_| suffixed) {
                Some(before) => format!("s{before}-{number}"),
                None => format!("s{number}"),
            };
            let made = placed(Step { id, ..step }, predecessors, &plan.steps);
            plan.steps.push(made);
        }
        plan.policy.recover = policy;
        plan.policy.recover_contract = recover_contract;
        let status = match deleted {
            true => Status::Deleted,
            false => Status::Modified,
        };
        let file = |path: &str| {
            RepoPath::from_exact(path.as_bytes()).map(|path| ChangedFile { path, status })
        };
        plan.request.changed = ChangeSet::new(changed.into_iter().filter_map(file).collect());
        digest::seal(plan)
    })
}

fn placed(mut made: Step, predecessors: Vec<(Index, u8)>, earlier: &[Step]) -> Step {
    for (index, how) in predecessors {
        let before = earlier.get(index.index(earlier.len().max(1)));
        let Some(before) = before.filter(|b| !made.after.contains(&b.id)) else {
            continue;
        };
        made.after.push(before.id.clone());
        match how {
            0 => made.needs.push(before.id.clone()),
            1 => made.prepared_by.push(before.id.clone()),
            _ => {}
        }
    }
    made.after
        .sort_by_key(|id| earlier.iter().position(|s| s.id == *id));
    made.after.dedup();
    made
}

/// Failures of a plan's steps: most have the code that fits the command.
pub fn failures(plan: &Plan) -> impl Strategy<Value = Vec<Failure>> + use<> {
    let plan = plan.clone();
    let one = (any::<Index>(), select(&FailureCode::ALL[..]), 0_u8..4);
    vec(one, 0..6).prop_map(move |list| {
        let failure = |(index, code, odd): (Index, FailureCode, u8)| {
            let at = index.index(plan.steps.len().max(1));
            let step = plan.steps.get(at)?;
            let fitting = fitting(step).filter(|_| odd > 0);
            Some(Failure {
                step: step.id.clone(),
                code: fitting.unwrap_or(code),
                rule: "made up".to_owned(),
                evidence: "x".to_owned(),
            })
        };
        list.into_iter().filter_map(failure).collect()
    })
}

fn fitting(step: &Step) -> Option<FailureCode> {
    if step.unsupported.is_some() {
        return Some(FailureCode::UnsupportedFormat);
    }
    let program = step.argv.as_ref()?.first()?.as_str()?;
    match program {
        "make" => Some(FailureCode::MissingMakeTarget),
        "npm" | "pnpm" | "yarn" | "bun" => Some(FailureCode::MissingScript),
        "npx" | "pytest" => Some(FailureCode::NoTestFiles),
        "test" | "[" => Some(FailureCode::SequenceIssue),
        _ => None,
    }
}

/// Generates facts about the repository.
pub fn facts() -> impl Strategy<Value = Facts> {
    const NAMES: &str = "all | build | clean | lint | test | x | y";
    let names = subsequence(NAMES.split(" | ").collect::<Vec<_>>(), 0..7);
    let words = |names: Vec<&str>| names.into_iter().map(Word::from).collect();
    let list = names.prop_map(move |names| FactAnswer::List(words(names)));
    let no = select(&[Certainty::No, Certainty::Unknown]).prop_map(FactAnswer::Word);
    let answer = prop_oneof![2 => list, 1 => no];
    let word = select(&[Certainty::Yes, Certainty::No, Certainty::Unknown]);
    let word = word.prop_map(FactAnswer::Word);
    (vec(answer, 8), vec(word, 8), any::<bool>()).prop_map(|(lists, words, all)| {
        let mut facts = Facts::default();
        let web = RepoPath::from_exact(b"web").unwrap_or_else(RepoPath::root);
        let dirs = [RepoPath::root(), web];
        let kinds = [
            Question::Scripts,
            Question::BaseScripts,
            Question::MakeTargets,
            Question::BaseMakeTargets,
        ];
        let asked = kinds.iter();
        let asked = asked.flat_map(|kind| dirs.iter().map(|dir| kind(dir.clone())));
        for (question, answer) in asked.zip(lists) {
            facts.add(question, answer);
        }
        let tracked = ["package.json", "Makefile", "web/Makefile"].iter();
        let tracked = tracked.filter_map(|p| RepoPath::from_exact(p.as_bytes()));
        for (path, answer) in tracked.zip(words) {
            facts.add(Question::Tracked(path), answer);
        }
        if all {
            // Nothing else exists.
            let commands: Vec<&str> = COMMANDS.split(" | ").collect();
            let plan = vplan_plan::bare::plan_of_words(&commands);
            let mut nothing = Facts::default();
            for question in vplan_recover::preflight_questions(&plan, &nothing) {
                nothing.add(question, FactAnswer::List(Vec::new()));
            }
            for question in vplan_recover::preflight_questions(&plan, &nothing) {
                if matches!(question, Question::Exists(_)) {
                    facts.add(question, FactAnswer::Word(Certainty::No));
                }
            }
        }
        facts
    })
}

/// Lines that tools print, among noise.
fn output() -> impl Strategy<Value = Captured> {
    let known = select(&[
        "npm error Missing script: \"x\"",
        " ERR_PNPM_NO_SCRIPT  Missing script: x",
        "error Command \"x\" not found.",
        "error: Script not found \"x\"",
        "make: *** No rule to make target 'x'.  Stop.",
        "ninja: error: unknown target 'x'",
        "No test files found, exiting with code 1",
        "Error: No test files found: \"test\"",
        "no packages to test",
        "sh: 1: x: not found",
        "\u{1b}[31mnpm error\u{1b}[0m Missing script: \"x\"",
        "> demo@1.0.0 x",
        "> vitest run",
        "$ jest",
    ]);
    let line = prop_oneof![
        3 => known.prop_map(|line| line.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..40),
    ];
    (vec(line, 0..6), any::<bool>()).prop_map(|(lines, cut)| {
        let bytes = lines.join(&b'\n');
        let (head, tail) = bytes.split_at(bytes.len() / 2);
        let total = bytes.len() as u64 + if cut { 1000 } else { 0 };
        Captured {
            head: Word::new(head),
            tail: Word::new(tail),
            total,
        }
    })
}

/// Generates the evidence of a failed step.
pub fn evidence() -> impl Strategy<Value = Evidence> {
    let exit = prop_oneof![
        select(&[1, 2, 4, 5, 101, 124, 127]).prop_map(Some),
        any::<i32>().prop_map(Some),
        Just(None)
    ];
    let rare = || (0_u8..10).prop_map(|n| n == 0);
    (exit, output(), output(), rare(), rare(), rare()).prop_map(
        |(exit, stdout, stderr, timed_out, killed, not_started)| Evidence {
            exit: exit.filter(|_| !killed),
            signal: killed.then(|| "SIGKILL".to_owned()),
            spawn_error: not_started.then(|| SpawnError {
                code: "PROGRAM_NOT_FOUND".to_owned(),
                message: "not found".to_owned(),
            }),
            stdout,
            stderr,
            timed_out,
            ..Evidence::default()
        },
    )
}
