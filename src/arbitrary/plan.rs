//! Generates contracts, requests, facts and plans.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use std::collections::BTreeSet;
use std::sync::Arc;
use vplan_arbitrary::glob::{among, changes_like, globs_of, path, selections};
use vplan_base::canon::Digest;
use vplan_base::change::{ChangeSet, ChangedFile, Status};
use vplan_base::command::{Command, Env, Piece, Unsupported, UnsupportedReason, to_text};
use vplan_base::glob::{Glob, Item, ItemContent, Selection};
use vplan_base::index::Index as _;
use vplan_base::jobs::Jobs;
use vplan_base::machine::{Machine, On};
use vplan_base::path::RepoPath;
use vplan_base::service::{Ready, ReadyCommand, Service};
use vplan_base::setting::{Row, Value};
use vplan_base::span::Place;
use vplan_base::word::Word;
use vplan_check::Kind;
use vplan_check::request::Assertion;
use vplan_check::verb::CommandRequest;
use vplan_contract::expect::Expect;
use vplan_contract::{
    BUILT_IN_ROLES, Body, Check, CheckIndex, Condition, ConditionIndex, Contract, Limits,
    Placement, Risk, Role, Sequence, Sought, Test,
};
use vplan_plan::Plan;
use vplan_plan::compile::{Compiled, compile};
use vplan_plan::facts::{Certainty, FactAnswer, Facts, Question};
use vplan_plan::proposal::Proposal;
use vplan_plan::request::{Boundary, ChangedIn, Mode, Request, Risk as RiskLevel, Selector, Skip};

/// Paths that conditions and changes share: few, so that they match often.
const PATHS: [&str; 12] = [
    "src/a.rs",
    "src/b.rs",
    "src/gen/a.rs",
    "docs/a.md",
    "docs/b.md",
    "README.md",
    "Makefile",
    "package.json",
    "-x",
    "@y",
    "src",
    "contracts/verify.vplan",
];
const GLOBS: &str =
    "src/** | docs/** | **/*.md | * | ** | src/a.rs | src/{a,b}.rs | **/gen/** | never/**";
/// Globs for conditions on the existence of a match.
const MATCHED: [&str; 4] = ["src/*", "**/*.md", "{Makefile,-x}", "never/**"];
const ARTIFACTS: [&str; 5] = ["dist/**", "dist/app.js", "out/*.o", "**/*.o", "other/**"];
const COMMANDS: &str = "true | echo a | echo b | make test | npm run lint | ./check.sh";

fn repo_path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap_or_else(|_| RepoPath::root())
}

fn globs(texts: &[&str]) -> Vec<Glob> {
    texts.iter().filter_map(|t| Glob::parse(t).ok()).collect()
}

/// A command of words without quotes; `{changed}` is not expanded.
pub fn command(text: &str) -> Command {
    let piece = |w: &str| match w {
        "{changed}" => Piece::Changed,
        w => Piece::Word(Word::from(w)),
    };
    Command::Argv {
        env: Env::new(),
        pieces: text.split(' ').map(piece).collect(),
    }
}

/// A named check `run true` without further settings.
pub fn plain_check(id: &str) -> Check {
    Check {
        named: true,
        line: 1,
        column: 1,
        placements: vec![Placement {
            line: 1,
            ..Placement::default()
        }],
        ..Check::plain(id, Kind::Run, Body::Command(command("true")))
    }
}

/// A contract with only these checks.
pub fn plain_contract(checks: Vec<Check>) -> Contract {
    Contract {
        path: "contracts/verify.vplan".to_owned(),
        digest: Digest::hash(b"contract"),
        checks: checks.into(),
        ..vplan_plan::skeleton::without_contract()
    }
}

/// Selections of a few globs: some by name, some excluding.
pub fn selection() -> impl Strategy<Value = Selection> {
    let glob = || among(GLOBS).prop_filter_map("no glob", |t| Glob::parse(t).ok());
    let plain = move || glob().prop_map(ItemContent::Glob);
    let inner = vec((plain(), prop::bool::weighted(0.2)), 1..3).prop_map(items);
    let named = (select(&["api", "prose"]), inner).prop_map(|(name, items)| ItemContent::Paths {
        items: Arc::new(items),
        name: name.to_owned(),
    });
    let what = prop_oneof![4 => plain(), 1 => named];
    vec((what, prop::bool::weighted(0.25)), 1..4).prop_map(items)
}

/// The first item is positive.
fn items(list: Vec<(ItemContent, bool)>) -> Selection {
    let items = list.into_iter().enumerate().map(|(i, (what, not))| Item {
        not: not && i > 0,
        what,
    });
    Selection {
        items: items.collect(),
    }
}

/// Paths and globs for conditions on existence, each once.
fn sought() -> impl Strategy<Value = Vec<Sought>> {
    let paths = PATHS[..4].iter().map(|path| Sought::Path(repo_path(path)));
    let globs = globs(&MATCHED).into_iter().map(Sought::Glob);
    let all: Vec<Sought> = paths.chain(globs).collect();
    subsequence(all, 1..4).prop_shuffle()
}

/// Returns a path with which it exists.
pub fn path_of(sought: &Sought) -> RepoPath {
    match sought {
        Sought::Path(path) => path.clone(),
        Sought::Glob(glob) => repo_path(glob.examples(&["x"]).first().map_or(".", String::as_str)),
    }
}

/// Conditions of every kind.
pub fn condition() -> impl Strategy<Value = Condition> {
    let roles = subsequence(&BUILT_IN_ROLES[..], 1..3)
        .prop_map(|r| Test::Role(r.into_iter().map(str::to_owned).collect()));
    let exists = prop_oneof![
        sought().prop_map(Test::Exists),
        sought().prop_map(Test::ExistsAny),
    ];
    let absent = sought().prop_map(Test::Absent);
    let test = prop_oneof![
        2 => roles,
        4 => selection().prop_map(Test::ChangedAny),
        2 => selection().prop_map(Test::ChangedAll),
        2 => selection().prop_map(Test::ChangedOnly),
        2 => selection().prop_map(Test::ChangedNone),
        1 => exists,
        1 => absent,
    ];
    (test, 1_usize..100).prop_map(|(test, line)| Condition {
        line,
        place: Place::default(),
        test,
    })
}

/// The body of a check: mostly commands, so that some are equal.
fn body() -> impl Strategy<Value = (Kind, Body)> {
    let run = among(COMMANDS).prop_map(|c| (Kind::Run, Body::Command(command(c))));
    let test = among(COMMANDS).prop_map(|c| (Kind::Test, Body::Command(command(c))));
    let changed = Just((Kind::Lint, Body::Command(command("lint {changed} end"))));
    let shell = Just((Kind::Shell, Body::Shell("a | b".to_owned())));
    let file = Body::File {
        path: repo_path("dist/app.js"),
        assertions: vec![Assertion::Exists],
    };
    let file = Just((Kind::File, file));
    let judge = Just((Kind::Judge, Body::Judge("is it good?".to_owned())));
    let unsupported = Just((Kind::Run, Body::Command(unsupported())));
    prop_oneof![8 => run, 2 => test, 2 => changed, 1 => shell, 1 => file, 1 => judge, 1 => unsupported]
}

/// A command outside the grammar.
pub fn unsupported() -> Command {
    let unsupported = Unsupported {
        chain: Vec::new(),
        changes_shell: false,
        offset: 2,
        reason: UnsupportedReason::Operator,
        text: "|".to_owned(),
    };
    Command::Unsupported {
        text: "a | b".to_owned(),
        unsupported,
    }
}

/// A service, as a contract has it.
fn service() -> Service {
    let argv = ["./serve", "{port}", "{tmp}/x"].map(Word::from).to_vec();
    Service {
        command: to_text(&Env::new(), &argv),
        argv,
        dir: RepoPath::root(),
        env: Env::from([("A".to_owned(), Word::from("{port}"))]),
        name: "db".to_owned(),
        ready: Some(Ready::Run(ReadyCommand {
            argv: vec![Word::from("true")],
            env: Env::new(),
        })),
        timeout_ms: 1_000,
        ..Service::default()
    }
}

/// Levels, networks, readable places outside, and `on`; most checks set none of these.
const CONFINED: [(&str, &str, &[&str], &str); 10] = [
    ("none", "on", &[], ""),
    ("none", "on", &[], ""),
    ("none", "on", &[], "here"),
    ("guard", "on", &[], ""),
    ("none", "off", &[], ""),
    ("none", "loopback", &[], ""),
    ("guard", "off", &[], ""),
    ("files", "on", &[], "linux"),
    ("files", "off", &["~/.cargo/registry", "/opt/tool"], ""),
    ("files", "loopback", &["/opt/tool"], "here"),
];

/// Where a generated check is executed; an empty word gives no statement.
fn on(word: &str) -> Option<On> {
    let properties = [("OSFamily", "linux"), ("a b", "\u{e9}\"")];
    let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned()));
    match word {
        "" => None,
        On::HERE => Some(On::Here),
        name => Some(On::Machine(Machine {
            name: name.to_owned(),
            properties: properties.into(),
        })),
    }
}

/// A check whose conditions, needs and sequences are drawn later.
fn check() -> impl Strategy<Value = Check> {
    let artifacts = || subsequence(&ARTIFACTS[..], 0..2);
    let beside = prop::bool::weighted(0.2);
    let settings = (
        [artifacts(), artifacts(), artifacts()],
        subsequence(&["fast", "docs-safe"], 0..2),
        select(&[".", ".", ".", "src", "docs"]),
        (any::<[bool; 4]>(), beside, select(&CONFINED[..])),
    );
    let tier = select(&[0_u8, 0, 0, 1, 2]);
    let all = (body(), settings, tier, any::<bool>(), 0_u64..3);
    all.prop_map(|((kind, body), settings, tier, named, retries)| {
        let (artifacts, tags, dir, (flags, beside, confined)) = settings;
        let [cleans, produces, requires] = artifacts.map(|list| globs(&list));
        let (level, network, reads, place) = confined;
        let [setup, always, optional, warning] = flags;
        let mut check = Check {
            named: named || !matches!(body, Body::Command(_)),
            kind,
            body,
            tier,
            ..plain_check("")
        };
        if !check.named {
            return check;
        }
        check.dir = repo_path(dir);
        check.tags = tags.into_iter().map(str::to_owned).collect();
        let starts = match &check.body {
            Body::Command(command) => matches!(command, Command::Argv { .. }),
            Body::Shell(_) => true,
            Body::File { .. } | Body::Judge(_) => false,
        };
        let services = Value::Services(vec![service()]);
        let inputs = Value::Selection(globs(&["src/**"]).into_iter().collect());
        let outside = Value::Outside(reads.iter().map(|path| (*path).to_owned()).collect());
        for (row, is_set, value) in [
            (Row::Retries, true, Value::Number(retries)),
            (Row::Cleans, !cleans.is_empty(), Value::Globs(cleans)),
            (Row::Produces, !produces.is_empty(), Value::Globs(produces)),
            (Row::Requires, !requires.is_empty(), Value::Globs(requires)),
            (Row::Setup, setup && always, Value::Flag),
            (Row::Always, always && optional, Value::Flag),
            (Row::Optional, optional, Value::Flag),
            (Row::With, beside && starts, services),
            (Row::Severity, warning, Value::Word("warning")),
            (Row::Inputs, starts && level == "files", inputs),
            (Row::Reads, starts && !reads.is_empty(), outside),
            (Row::Sandbox, starts, Value::Word(level)),
            (Row::Network, starts, Value::Word(network)),
        ] {
            if is_set {
                check.set(row, value);
            }
        }
        if let Some(on) = on(place).filter(|_| starts) {
            check.set(Row::On, Value::On(on));
        }
        check
    })
}

/// Contracts that validation would accept: names that exist, no cycle, no sequence against the
/// tiers.
pub fn contract() -> impl Strategy<Value = Contract> {
    let placements = vec(vec(any::<Index>(), 0..3), 1..3);
    let checks = vec((check(), placements, any::<u8>()), 1..9);
    let conditions = vec(condition(), 1..6);
    let edges = vec(any::<(Index, Index)>(), 0..5);
    let sequences = vec(vec(vec(any::<Index>(), 1..3), 2..4), 0..3);
    let risks = vec((selection(), 0_u8..3), 0..3);
    let jobs = prop_oneof![5 => (1_u32..4).prop_map(Jobs::Number), 1 => Just(Jobs::Auto)];
    let limits = (prop::option::of(1_u64..4), prop::option::of(jobs));
    let limits = limits.prop_map(|(max_checks, jobs)| Limits {
        budget_ms: None,
        max_checks,
        jobs,
    });
    let rest = (sequences, risks, (limits, any::<bool>()));
    (checks, conditions, edges, rest).prop_map(|(checks, conditions, edges, rest)| {
        let (sequences, risks, (limits, restricted)) = rest;
        let n = checks.len();
        // An order that every constraint agrees with, and that is not the order of the file.
        // Without sequences a check may need one of a later tier.
        let by_tier = !sequences.is_empty();
        let mut rank: Vec<usize> = (0..n).collect();
        rank.sort_by_key(|i| {
            let place = |(check, _, dice): &(Check, _, u8)| (by_tier.then_some(check.tier), *dice);
            checks.get(*i).map(place)
        });
        let position = |i: &usize| rank.iter().position(|r| r == i).unwrap_or(0);
        let mut built: Vec<Check> = Vec::new();
        for (i, (check, placements, _)) in checks.into_iter().enumerate() {
            let placements = placements.into_iter().enumerate().map(|(p, picks)| {
                let picks = picks.into_iter().map(|c| c.index(conditions.len()));
                let picked: BTreeSet<usize> = picks.collect();
                Placement {
                    conditions: picked.into_iter().map(ConditionIndex::new).collect(),
                    line: 10 * i + p + 1,
                    is_use: p > 0,
                    ..Placement::default()
                }
            });
            // Nothing can refer to an anonymous check.
            let (id, take) = match check.named {
                true => (format!("check-{i}"), 2),
                false => (format!("anonymous-{i}"), 1),
            };
            built.push(Check {
                id,
                line: 10 * i + 1,
                placements: placements.take(take).collect(),
                ..check
            });
        }
        let named: Vec<bool> = built.iter().map(|c| c.named).collect();
        let is_named = |i: &usize| named.get(*i).copied().unwrap_or(false);
        for (a, b) in edges {
            let mut ends = [a.index(n), b.index(n)];
            ends.sort_by_key(position);
            let [needed, needer] = ends;
            let index = CheckIndex::new(needed);
            if needed != needer
                && is_named(&needed)
                && let Some(check) = built.get_mut(needer)
                && check.named
                && !check.needs.contains(&index)
            {
                check.needs.push(index);
            }
        }
        let sequence = |groups: Vec<Vec<Index>>| {
            let members = groups.iter().flatten().map(|i| i.index(n));
            let mut members: Vec<usize> = members.filter(is_named).collect();
            members.sort_by_key(position);
            members.dedup();
            let size = members.len().div_ceil(groups.len()).max(1);
            let members: Vec<CheckIndex> = members.into_iter().map(CheckIndex::new).collect();
            Sequence {
                groups: members.chunks(size).map(<[CheckIndex]>::to_vec).collect(),
                line: 90,
            }
        };
        let risks = risks.into_iter().enumerate();
        let risks = risks.map(|(i, (selection, tier))| Risk {
            name: format!("risk-{i}"),
            tier,
            selection,
            line: 80 + i,
            place: Place::default(),
        });
        let mut contract = Contract {
            conditions: conditions.into(),
            risks: risks.collect(),
            sequences: sequences.into_iter().map(sequence).collect(),
            limits,
            ..plain_contract(built)
        };
        if restricted {
            let role = Role {
                only: vec!["docs-safe".to_owned()],
                max_checks: Some(2),
                line: Some(70),
            };
            contract.roles.insert("docser".to_owned(), role);
        }
        contract
    })
}

/// Changed files: those that conditions speak of, and a few others.
pub fn changes() -> impl Strategy<Value = ChangeSet> {
    use Status::{Added, Deleted, Modified, TypeChanged};
    let known = select(&PATHS[..]).prop_map(repo_path);
    let path = prop_oneof![6 => known, 1 => path()];
    let status = select(&[Added, Modified, Modified, Deleted, TypeChanged]);
    let file = (path, status).prop_map(|(path, status)| ChangedFile { path, status });
    vec(file, 0..8).prop_map(ChangeSet::new)
}

/// Requests without `--only` and `--skip`, which depend on a contract.
pub fn request() -> impl Strategy<Value = Request> {
    let role = prop::option::of(select(&BUILT_IN_ROLES[..]).prop_map(str::to_owned));
    let boundaries = subsequence(&Boundary::ALL, 0..=2);
    let one = prop_oneof![
        5 => among(COMMANDS).prop_map(command),
        1 => Just(command("fmt {changed}")),
        1 => Just(unsupported()),
    ];
    // Most state no verb.
    let verbs = select(&[Kind::Run, Kind::Compile, Kind::Lint, Kind::Test]);
    let one = (prop::option::weighted(0.2, verbs), one);
    let one = one.prop_map(|(verb, command)| CommandRequest { verb, command });
    let who = (role, changes(), select(&RiskLevel::ALL), boundaries);
    let source = (mode(), any::<[bool; 2]>(), select(&SOURCES));
    let what = (0_u8..3, vec(one, 0..4), source);
    (who, what).prop_map(|((role, changed, risk, boundaries), what)| {
        let (min_tier, explicit, (mode, [keep_going, no_recover], (changed_in, base))) = what;
        Request {
            role,
            changed,
            changed_in,
            base: base.map(str::to_owned),
            risk,
            boundaries,
            min_tier,
            explicit,
            mode,
            keep_going,
            no_recover,
            inferred: vec![("inferred-test".to_owned(), command("make test"))],
            ..Request::default()
        }
    })
}

/// Modes without proposed commands.
fn mode() -> impl Strategy<Value = Mode> {
    use Mode::{Contract, Fallback, Off};
    select(&[Contract, Contract, Contract, Fallback, Off])
}

/// The scope of the search for changed files, and the commit they are compared with.
const SOURCES: [(Option<ChangedIn>, Option<&str>); 5] = [
    (None, None),
    (Some(ChangedIn::Tracked), None),
    (Some(ChangedIn::WorkTree), None),
    (
        Some(ChangedIn::WorkTree),
        Some("0123456789abcdef0123456789abcdef01234567"),
    ),
    (
        Some(ChangedIn::Index),
        Some("0000000000000000000000000000000000000000000000000000000000000000"),
    ),
];

/// Makes a contract's test of a request, without assertions.
pub fn expect_of(request: &Request, exists: BTreeSet<RepoPath>) -> Expect {
    Expect {
        title: "x".to_owned(),
        place: Place::default(),
        line: 1,
        role: request.role.clone(),
        changed: request.changed.clone(),
        min_tier: request.min_tier,
        risk: Some(request.risk).filter(|risk| *risk != RiskLevel::Medium),
        ends: request.boundaries.iter().copied().collect(),
        commands: request.explicit.clone(),
        exists,
        assertions: Vec::new(),
    }
}

/// Answers to everything that the compiler may ask.
pub fn facts() -> impl Strategy<Value = Facts> {
    let certainty = select(&[Certainty::Yes, Certainty::No, Certainty::Unknown]);
    let exists = vec(certainty.clone(), PATHS.len());
    let matched = vec(certainty, MATCHED.len());
    let missing = subsequence(&PATHS[..], 0..3);
    (exists, matched, missing).prop_map(|(exists, matched, mut missing)| {
        let mut facts = Facts::default();
        let paths = PATHS.map(|path| Question::Exists(repo_path(path)));
        let globs = globs(&MATCHED).into_iter().map(Question::ExistsMatch);
        let answers = exists.into_iter().chain(matched).map(FactAnswer::Word);
        for (question, answer) in paths.into_iter().chain(globs).zip(answers) {
            facts.add(question, answer);
        }
        missing.sort_unstable();
        let missing = missing.into_iter().map(Word::from).collect();
        facts.add(Question::MissingChanged, FactAnswer::List(missing));
        facts
    })
}

/// All arguments of one compilation, `--only` and `--skip` among them.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// The contract, if there is one.
    pub contract: Option<Contract>,
    /// What the caller asks for.
    pub request: Request,
    /// Every fact that may be requested.
    pub facts: Facts,
}

impl Compilation {
    /// The plan, or `None` when the request does not fit the contract.
    pub fn plan(&self) -> Option<Plan> {
        match compile(self.contract.as_ref(), &self.request, &self.facts) {
            Ok(Compiled::Plan(plan)) => Some(*plan),
            Ok(Compiled::Needs(_)) | Err(_) => None,
        }
    }
}

/// Arguments of compilations; most give a plan.
pub fn compilation() -> impl Strategy<Value = Compilation> {
    let picks = prop::option::weighted(0.15, any::<(Index, bool)>());
    let skip = prop::option::weighted(0.15, any::<Index>());
    let contract = prop::option::weighted(0.95, contract());
    let all = (contract, request(), facts(), picks, skip);
    all.prop_map(|(contract, mut request, facts, only, skip)| {
        let checks: Vec<&Check> = contract.iter().flat_map(|c| c.checks.iter()).collect();
        let picked = |pick: Index| (!checks.is_empty()).then(|| *pick.get(&checks));
        if let Some((pick, by_tag)) = only
            && let Some(check) = picked(pick)
        {
            let tag = check.tags.first().filter(|_| by_tag);
            let name = || Selector::Name(check.id.clone());
            request.only = vec![tag.cloned().map_or_else(name, Selector::Tag)];
        }
        request.skip.extend(skip.and_then(picked).map(|check| Skip {
            name: check.id.clone(),
            reason: "known to be broken".to_owned(),
        }));
        Compilation {
            contract,
            request,
            facts,
        }
    })
}

/// Plans as compiling makes them.
pub fn plan() -> impl Strategy<Value = Plan> {
    compilation().prop_filter_map("the request does not fit", |c| c.plan())
}

/// Compilations with globs of every form, files that nearly fit them, and commands from everywhere.
pub fn varied() -> impl Strategy<Value = Compilation> {
    const COMMANDS: [&str; 5] = ["true", "echo a", "make test", "new one", "fmt {changed}"];
    let proposed = vec(select(&COMMANDS[..]), 0..4);
    let mode = prop_oneof![5 => mode(), 1 => Just(Mode::Llm), 1 => Just(Mode::Hybrid)];
    let all = (compilation(), selections(), mode, proposed, any::<u8>());
    all.prop_flat_map(|(mut c, lists, mode, proposed, dice)| {
        c.request.mode = mode;
        let commands = proposed.into_iter();
        let commands = commands.map(|text| (command(text).into(), None));
        c.request.proposal = (dice % 4 > 0).then(|| Proposal {
            question: "{}".into(),
            answer: "{}".into(),
            commands: commands.collect(),
        });
        let mut lists = lists.into_iter().cycle();
        let mut all = Vec::new();
        if let Some(contract) = &mut c.contract {
            let conditions = contract.conditions.iter_mut();
            let conditions = conditions.filter_map(|c| selection_of(&mut c.test));
            let risks = contract.risks.iter_mut().map(|r| &mut r.selection);
            for (i, selection) in conditions.chain(risks).enumerate() {
                if dice >> (i % 8) & 1 == 1
                    && let Some(other) = lists.next()
                {
                    *selection = other;
                }
                all.push(selection.clone());
            }
        }
        // Files whose names sort differently with a `./` before them.
        let odd = ["0", "@0", "docs/-1", "docs/0"];
        let odd = odd.map(|path| ChangedFile::modified(&repo_path(path)));
        let mut globs = globs_of(&all);
        globs.extend(Glob::parse("src/**").ok());
        (Just(c), changes_like(globs)).prop_map(move |(mut c, near)| {
            let odd = odd.iter().filter(|_| dice % 3 == 0);
            let near = near.files().iter().take(12).chain(odd);
            let files = c.request.changed.files().iter().chain(near);
            c.request.changed = ChangeSet::new(files.cloned().collect());
            c
        })
    })
}

fn selection_of(test: &mut Test) -> Option<&mut Selection> {
    match test {
        Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
            Some(s)
        }
        Test::Role(_) | Test::Exists(_) | Test::ExistsAny(_) | Test::Absent(_) => None,
    }
}
