//! Laws of imports: they are what pasting is, `as` renames, `at` moves, and what counts once counts
//! once.

use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use vplan::arbitrary::config;
use vplan::base::change::{ChangeSet, ChangedFile, Status};
use vplan::base::path::RepoPath;
use vplan::contract::Contract;
use vplan::effect::git::pins::NothingPinned;
use vplan::effect::repo::load::{self, ContractRequest};
use vplan::plan::Plan;
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::document::canonical;
use vplan::plan::facts::{Certainty, FactAnswer, Facts, Question};
use vplan::plan::request::{Mode, Request};

const GLOBS: [&str; 7] = [
    "**",
    "src/**",
    "src/*.rs",
    "{docs,src}/**",
    "**/*.md",
    "!src/gen/**",
    "!*.[m]d",
];
const FILES: [&str; 8] = [
    "src/a.rs",
    "src/b.md",
    "src/gen/c.rs",
    "docs/d.md",
    "README.md",
    "Cargo.toml",
    "src/deep/er/e.rs",
    "x",
];

/// One check of a file, as random choices.
#[derive(Clone, Debug)]
struct Piece {
    block: u8,
    verb: u8,
    settings: BTreeSet<u8>,
    globs: Vec<&'static str>,
    need: Index,
}

fn piece() -> impl Strategy<Value = Piece> {
    (
        0_u8..9,
        0_u8..5,
        prop::collection::btree_set(0_u8..9, 0..4),
        subsequence(&GLOBS[..], 1..4),
        any::<Index>(),
    )
        .prop_map(|(block, verb, settings, globs, need)| Piece {
            block,
            verb,
            settings,
            globs,
            need,
        })
}

/// The statements of a file whose names begin with this letter. Nothing in it speaks of other
/// files.
fn statements(letter: char, pieces: &[Piece]) -> String {
    let mut out = String::new();
    let mut named: Vec<String> = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        let sels = |list: &[&str]| {
            list.iter()
                .map(|g| format!("\"{g}\""))
                .collect::<Vec<_>>()
                .join(" ")
        };
        // Without one that selects, the list would be an error.
        let selection = sels(&[&["src/**"], &piece.globs[..]].concat());
        let plain = sels(
            &piece
                .globs
                .iter()
                .filter(|g| !g.starts_with('!'))
                .copied()
                .chain(["out/**"])
                .collect::<Vec<_>>(),
        );
        let head = match piece.block {
            0 => "byRole tester {".to_owned(),
            1 => format!("whenChangedAny {selection} {{"),
            2 => format!("whenChangedOnly {selection} {{"),
            3 => format!("whenChangedNone {selection} {{"),
            4 => format!("whenChangedAll {selection} {{"),
            5 => "whenExists \"src/a.rs\" \"docs\" {".to_owned(),
            6 => {
                writeln!(out, "paths {letter}p{i} = {selection}").unwrap();
                format!("whenChangedAny {letter}p{i} !{letter}p{i} \"docs/**\" {{")
            }
            7 => {
                writeln!(out, "risk {letter}r{i} tier 1 {selection}").unwrap();
                "tier 1 {".to_owned()
            }
            _ => "byRole worker tester reviewer {".to_owned(),
        };
        writeln!(out, "{head}").unwrap();
        let name = format!("{letter}{i}");
        let changed = if piece.block == 3 { "" } else { " {changed}" };
        match piece.verb {
            0 => writeln!(out, "  run echo {}{changed}", i % 2).unwrap(),
            verb => {
                writeln!(out, "  check {name} {{").unwrap();
                let file = verb == 1;
                match verb {
                    1 => writeln!(out, "    file \"src/a.rs\" {{\n      exists\n    }}").unwrap(),
                    2 => writeln!(out, "    shell echo a | cat").unwrap(),
                    3 => writeln!(out, "    test echo t{changed}").unwrap(),
                    _ => writeln!(out, "    run echo c {i}").unwrap(),
                }
                for setting in &piece.settings {
                    match setting {
                        0 if !file => writeln!(out, "    dir \"src\"").unwrap(),
                        1 if !file => writeln!(out, "    produces {plain}").unwrap(),
                        2 => writeln!(out, "    requires {plain}").unwrap(),
                        3 if !file => writeln!(out, "    tool-path \"bin\" \".venv/bin\"").unwrap(),
                        4 => writeln!(out, "    exclusive port").unwrap(),
                        5 => writeln!(out, "    tags slow docs-safe").unwrap(),
                        6 if !file => writeln!(out, "    unchanged {selection}").unwrap(),
                        7 if verb == 3 => writeln!(out, "    report junit \"out/*.xml\"").unwrap(),
                        8 if !named.is_empty() => {
                            writeln!(out, "    needs {}", piece.need.get(&named)).unwrap()
                        }
                        _ => {}
                    }
                }
                writeln!(out, "  }}").unwrap();
                // A check of tier 1 before one of tier 0 would be another error.
                if piece.block != 7 {
                    named.push(name);
                }
            }
        }
        writeln!(out, "}}").unwrap();
    }
    if let [first, second, ..] = &named[..] {
        writeln!(out, "sequence {first} -> {second}").unwrap();
    }
    out
}

fn file(letter: char) -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..6).prop_map(move |pieces| statements(letter, &pieces))
}

#[derive(Clone, Debug)]
struct Asked {
    role: &'static str,
    changed: Vec<&'static str>,
    min_tier: bool,
}

fn asked() -> impl Strategy<Value = Asked> {
    (
        prop::sample::select(&["worker", "tester"][..]),
        subsequence(&FILES[..], 0..6),
        any::<bool>(),
    )
        .prop_map(|(role, changed, min_tier)| Asked {
            role,
            changed,
            min_tier,
        })
}

/// A contract with what it imports, read from a real tree. The first file is the contract.
fn contract(files: &[(&str, String)]) -> Contract {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("contracts")).unwrap();
    for (name, text) in files {
        std::fs::write(
            dir.path().join("contracts").join(name),
            format!("vplan 1\n{text}"),
        )
        .unwrap();
    }
    let site = load::locate(dir.path(), None, &|_| None).unwrap();
    let wanted = ContractRequest {
        contract: None,
        revision: None,
        base: None,
        max_file: 1 << 20,
        text: None,
        folders: vplan::effect::repo::folders::FoldersOf::WorkTree,
    };
    let loaded = load::load(&site, &wanted, &mut NothingPinned).unwrap();
    loaded
        .contract
        .unwrap_or_else(|| panic!("{:?}\n{files:?}", loaded.diagnostics))
}

/// The plan of a contract; every path exists, no changed file is missing. `below` is where the
/// changed files lie.
fn plan(contract: &Contract, asked: &Asked, below: &str) -> Plan {
    let file = |path: &&str| ChangedFile {
        path: RepoPath::parse(format!("{below}{path}").as_bytes()).unwrap(),
        status: Status::Modified,
    };
    let request = Request {
        role: Some(asked.role.to_owned()),
        changed: ChangeSet::new(asked.changed.iter().map(file).collect()),
        min_tier: u8::from(asked.min_tier),
        mode: Mode::Contract,
        ..Request::default()
    };
    let mut facts = Facts::default();
    for _ in 0..8 {
        match compile(Some(contract), &request, &facts).unwrap() {
            Compiled::Plan(plan) => return *plan,
            Compiled::Needs(questions) => facts.0.extend(questions.into_iter().map(|q| {
                let answer = match &q {
                    Question::Exists(_) | Question::ExistsMatch(_) => {
                        FactAnswer::Word(Certainty::Yes)
                    }
                    _ => FactAnswer::List(Vec::new()),
                };
                (q, answer)
            })),
        }
    }
    panic!("facts without end");
}

/// What is hashed, without the contract's own identity.
fn bare(mut plan: Plan) -> String {
    plan.contract = None;
    canonical(&plan)
}

fn main_file(text: &str) -> (&'static str, String) {
    ("verify.vplan", text.to_owned())
}

proptest! {
    #![proptest_config(config(128))]

    #[test]
    fn inline_equals_import(a in file('a'), b in file('b'), c in file('c'), d in file('d'), asked in asked()) {
        let pasted = contract(&[main_file(&format!("{a}{b}{c}{d}"))]);
        let imported = contract(&[
            main_file(&format!("{a}import \"l\"\n{d}")),
            ("l", format!("{b}import \"./m\" at \".\"\n")),
            ("m", c.clone()),
        ]);
        prop_assert_eq!(imported.imports.len(), 2);
        let (pasted, imported) = (plan(&pasted, &asked, ""), plan(&imported, &asked, ""));
        prop_assert_eq!(imported.contract.as_ref().map(|c| c.imports.len()), Some(2));
        prop_assert_eq!(bare(imported), bare(pasted));
    }

    #[test]
    fn a_namespace_only_renames(a in file('a'), b in file('b'), asked in asked()) {
        let files = |how: &str| [main_file(&format!("import \"l\"{how}\n")), ("l", format!("{a}import \"m\"\n")), ("m", b.clone())];
        let plain = plan(&contract(&files("")), &asked, "");
        let renamed = plan(&contract(&files(" as zz")), &asked, "");
        let twice = [main_file("import \"k\" as zz\n"), ("k", "import \"l\" as yy\n".to_owned()), ("l", a.clone())];
        let once = [main_file("import \"l\"\n"), ("l", a.clone())];
        let ids = |plan: &Plan| plan.steps.iter().map(|s| s.id.clone()).collect::<Vec<_>>();
        prop_assert!(ids(&renamed).iter().all(|id| id.starts_with("zz/")));
        prop_assert_eq!(bare(renamed).replace("zz/", ""), bare(plain));
        let (once, twice) = (plan(&contract(&once), &asked, ""), plan(&contract(&twice), &asked, ""));
        prop_assert_eq!(bare(twice).replace("zz/yy/", ""), bare(once));
    }

    #[test]
    fn a_directory_moves_everything_below_it(a in file('a'), asked in asked(), dir in prop::sample::select(&["apps/web", "p", "d/e/f"][..])) {
        let plain = plan(&contract(&[main_file("import \"l\"\n"), ("l", a.clone())]), &asked, "");
        let files = [main_file(&format!("import \"l\" at \"{dir}/\"\n")), ("l", a.clone())];
        let moved = plan(&contract(&files), &asked, &format!("{dir}/"));
        let back = |text: String| text.replace(&format!("{dir}/"), "").replace(&format!("\"dir\":\"{dir}\""), "\"dir\":\".\"");
        prop_assert_eq!(back(bare(moved)), back(bare(plain.clone())));
        // Two imports that add up are one.
        let (outer, inner) = dir.split_once('/').unwrap_or((dir, "."));
        let nested = [main_file(&format!("import \"k\" at \"{outer}\"\n")), ("k", format!("import \"l\" at \"{inner}\"\n")), ("l", a.clone())];
        let nested = plan(&contract(&nested), &asked, &format!("{dir}/"));
        prop_assert_eq!(back(bare(nested)), back(bare(plain)));
    }

    #[test]
    fn import_diamond_loaded_once_same_meaning(a in file('a'), b in file('b'), c in file('c'), asked in asked()) {
        let once = [main_file("import \"l\"\nimport \"m\"\n"), ("l", format!("{a}import \"c\"\n")), ("m", b.clone()), ("c", c.clone())];
        let mut twice = once.clone();
        twice[0] = main_file("import \"l\"\nimport \"m\"\nimport \"l\"\nimport \"../contracts/c\" at \"./x/..\"\n");
        twice[2].1 = format!("{b}import \"c\"\n");
        prop_assert_eq!(bare(plan(&contract(&twice), &asked, "")), bare(plan(&contract(&once), &asked, "")));
    }

    #[test]
    fn import_order_invariance(a in file('a'), b in file('b'), asked in asked()) {
        let files = |main: &str| [main_file(main), ("l", a.clone()), ("m", b.clone())];
        let one = plan(&contract(&files("import \"l\"\nimport \"m\"\n")), &asked, "");
        let other = plan(&contract(&files("import \"m\"\nimport \"l\"\n")), &asked, "");
        let steps = |plan: &Plan| {
            let mut all: Vec<_> = plan.steps.iter().map(|s| (s.command.clone(), s.dir.clone(), s.tier)).collect();
            all.sort();
            all
        };
        prop_assert_eq!(steps(&one), steps(&other));
        let left_out = |plan: &Plan| plan.omitted.iter().map(|o| o.reason.clone()).collect::<BTreeSet<_>>();
        prop_assert_eq!(left_out(&one), left_out(&other));
    }
}
