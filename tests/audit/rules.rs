//! Tests of the rules of the audit: each finding, and what is none.

use std::collections::{BTreeMap, BTreeSet};
use vplan::base::diagnostic::Diagnostics;
use vplan::base::path::RepoPath;
use vplan::base::source::{Source, Sources};
use vplan::base::word::Word;
use vplan::check::observed::Observed;
use vplan::check::observed::{Gap, Peer, Place, Uses};
use vplan::contract::Contract;
use vplan::contract::validate::validate;
use vplan::engine::amend::amend;
use vplan::front::lower;
use vplan::plan::Plan;
use vplan::plan::audit::{AuditSubject, Audited, Finding, ObservedRun, audit};
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::facts::{Certainty, FactAnswer, Facts};
use vplan::plan::request::{Request, Selector};

const TRACKED: [&str; 14] = [
    "Cargo.toml",
    "README.md",
    "data/a.json",
    "data/b.json",
    "docs/guide.md",
    "docs/notes.md",
    "pkg/one/package.json",
    "pkg/two/extra.json",
    "pkg/two/package.json",
    "src/a.rs",
    "src/b.rs",
    "src/deep/c.rs",
    "tests/t.rs",
    "verify.vplan",
];

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

fn contract(text: &str) -> Contract {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("verify.vplan", &format!("vplan 1\n{text}")));
    let mut sink = Diagnostics::default();
    let draft = lower(&sources, id, &mut sink);
    let contract = validate(&draft, &sources, &mut sink);
    assert!(!sink.has_errors(), "{text}\n{sink:?}");
    contract.unwrap()
}

/// Plans all checks of a contract for a role, with nothing known of the repository.
pub fn planned(contract: &Contract, role: &str) -> Plan {
    let names = contract
        .checks
        .iter()
        .map(|check| Selector::Name(check.id.clone()));
    let request = Request {
        names: names.collect(),
        role: Some(role.to_owned()),
        min_tier: 2,
        ..Request::default()
    };
    let mut facts = Facts::default();
    loop {
        match compile(Some(contract), &request, &facts).unwrap() {
            Compiled::Plan(plan) => return *plan,
            Compiled::Needs(questions) => {
                let unknown = FactAnswer::Word(Certainty::Unknown);
                questions
                    .into_iter()
                    .for_each(|question| facts.add(question, unknown.clone()));
            }
        }
    }
}

/// Reads `read src/a.rs` lines: what was done with a path, an absolute one elsewhere; `git:read` where
/// git did it.
fn observed(lines: &[&str]) -> Observed {
    let mut observed = Observed::default();
    for line in lines {
        let (word, what) = line.split_once(' ').unwrap();
        let by_git = word.strip_prefix("git:");
        let program = by_git.map_or("prog", |_| "git");
        let word = by_git.unwrap_or(word);
        match word {
            "connect" => {
                let peer = Peer::Address(what.to_owned());
                observed
                    .peers
                    .entry(peer)
                    .or_default()
                    .insert(Word::from("curl"));
                continue;
            }
            "gap" => {
                observed.gaps.insert(Gap::IoUring(Word::from(what)));
                continue;
            }
            _ => {}
        }
        let place = match what.strip_prefix('/') {
            Some(_) => Place::Elsewhere(Word::from(what)),
            None => Place::Repository(path(what)),
        };
        let uses: &mut Uses = observed.files.entry(place).or_default();
        match word {
            "read" => uses.read = true,
            "write" => uses.written = true,
            "make" => (uses.written, uses.folder) = (true, true),
            "list" => uses.listed = true,
            "find" => uses.found = true,
            "miss" => uses.missing = true,
            other => panic!("{other}"),
        }
        uses.programs.insert(Word::from(program));
    }
    observed
}

/// Audits a contract whose checks did this in one run each, on trees of different names.
fn audited_over(text: &str, runs: &[&[(&str, &[&str])]]) -> Audited {
    let contract = contract(text);
    let tracked: Vec<RepoPath> = TRACKED.iter().map(|text| path(text)).collect();
    let plan = planned(&contract, "worker");
    let steps: Vec<(String, BTreeMap<String, Observed>)> = (runs.iter().enumerate())
        .map(|(n, steps)| {
            let steps = steps
                .iter()
                .map(|(id, lines)| ((*id).to_owned(), observed(lines)));
            (format!("tree-{n}"), steps.collect())
        })
        .collect();
    let none = BTreeSet::new();
    let runs: Vec<ObservedRun<'_>> = (steps.iter())
        .map(|(tree, steps)| ObservedRun {
            tree,
            plan: &plan,
            steps,
            failed: &none,
        })
        .collect();
    let ignored = |path: &RepoPath| {
        let first = path.segments().next();
        matches!(first, Some(b"target" | b"node_modules")) || path.name() == b".env"
    };
    audit(&AuditSubject {
        contract: &contract,
        facts: &Facts::default(),
        tracked: &tracked,
        is_ignored: &ignored,
        would_ignore: &|path, _| ignored(path),
        is_absent: &|path| path.name() == b"absent",
        home: Some(&Word::from("/home/me")),
        toolchain: &[Word::from("/opt/tool")],
        runs: &runs,
    })
}

/// The findings, a line each: kind, check, globs, count, and the line that mends.
fn findings(text: &str, steps: &[(&str, &[&str])]) -> Vec<String> {
    lines(&audited_over(text, &[steps]))
}

fn lines(audited: &Audited) -> Vec<String> {
    let line = |finding: &Finding| {
        format!(
            "{} {} {} ({}): {}",
            finding.kind.name(),
            finding.check,
            finding.globs.join(" "),
            finding.count,
            finding.line.as_deref().unwrap_or("-")
        )
    };
    audited.findings.iter().map(line).collect()
}

/// The findings about a check without conditions and `inputs` that reads a tracked file.
fn plain_reading_a() -> Vec<String> {
    let read: &[(&str, &[&str])] = &[("unit", &["read data/a.json"])];
    findings("check unit: cargo test\n", read)
}

const BLOCK: &str = "whenChangedAny \"src/**\" {\n  check unit: cargo test\n}\n";

#[test]
fn a_file_whose_change_plans_nothing_is_a_blind_spot() {
    assert_eq!(
        findings(
            BLOCK,
            &[(
                "unit",
                &["read src/a.rs", "read data/a.json", "read data/b.json"]
            )]
        ),
        ["blind_spot unit data/*.json (2): whenChangedAny \"src/**\" \"data/*.json\""]
    );
    assert_eq!(
        findings(BLOCK, &[("unit", &["read src/a.rs", "read data/a.json"])]),
        ["blind_spot unit data/a.json (1): whenChangedAny \"src/**\" \"data/a.json\""]
    );
    let seen = [
        "read src/a.rs",
        "read src/deep/c.rs",
        "read .git/index",
        "find data/a.json",
        "read target/x.rs",
    ];
    assert!(
        !findings(BLOCK, &[("unit", &seen)])
            .iter()
            .any(|line| line.starts_with("blind"))
    );
    // At the top level every change plans it.
    assert!(plain_reading_a().is_empty());
}

#[test]
fn what_cannot_be_added_to_its_condition_is_used_in_a_block_of_its_own() {
    let read: (&str, &[&str]) = ("unit", &["read src/a.rs", "read docs/guide.md"]);
    let of = |block: &str| {
        findings(
            &format!("{block} {{\n  check unit: cargo test\n}}\n"),
            &[read],
        )
    };
    let used = "whenChangedAny \"docs/guide.md\" { use unit }";
    for block in [
        "whenChangedAll \"src/**\"",
        "whenChangedOnly \"src/**\"",
        "whenChangedAny \"**\" \"!**/*.md\"",
    ] {
        assert_eq!(
            of(block),
            [format!("blind_spot unit docs/guide.md (1): {used}")],
            "{block}"
        );
    }
    assert_eq!(
        of("whenChangedNone \"docs/**\""),
        [format!("blind_spot unit docs/guide.md (1): {used}")]
    );
    let nested = "byRole worker tester {\n  whenChangedAll \"src/**\" \"**/*.rs\" {\n    check unit: cargo test\n  }\n}\n";
    assert_eq!(
        findings(nested, &[read]),
        [format!(
            "blind_spot unit docs/guide.md (1): byRole worker tester {{ {used} }}"
        )]
    );
}

#[test]
fn the_role_and_the_tier_of_a_check_count() {
    let tester = "byRole tester {\n  check unit: cargo test\n}\n";
    assert!(findings(tester, &[("unit", &["read docs/guide.md"])]).is_empty());
    let late = "tier 2 {\n  check unit: cargo test\n}\n";
    assert!(findings(late, &[("unit", &["read docs/guide.md"])]).is_empty());
    // What needs it is planned by that.
    let needed = "whenChangedAny \"docs/**\" {\n  check build: make\n}\nwhenChangedAny \"src/**\" {\n  check unit {\n    test cargo test\n    needs build\n  }\n}\n";
    let found = findings(
        needed,
        &[("build", &["read src/a.rs", "read docs/guide.md"])],
    );
    assert!(found.is_empty(), "{found:?}");
}

const INPUTS: &str = "check unit {\n  test cargo test\n  inputs \"src/**\" \"Cargo.toml\"\n}\n";

#[test]
fn what_inputs_do_not_select_is_undeclared() {
    for (did, want) in [
        ("read data/a.json", Some("data/a.json")),
        ("find data/a.json", Some("data/a.json")),
        ("miss build.rs", Some("build.rs")),
        ("read new.rs", Some("new.rs")),
        ("read src/new.rs", None),
        ("miss src/lib.rs", None),
        ("find docs", None),
        ("miss target/x", None),
        ("read absent", None),
        ("read .git/HEAD", None),
        ("list .", None),
    ] {
        let found = findings(INPUTS, &[("unit", &["read src/a.rs", did])]);
        let want: Vec<String> = want
            .into_iter()
            .map(|glob| {
                format!(
                    "undeclared_input unit {glob} (1): inputs \"src/**\" \"Cargo.toml\" \"{glob}\""
                )
            })
            .collect();
        assert_eq!(found, want, "{did}");
    }
    let requires = "check unit {\n  test cargo test\n  requires \"data/a.json\"\n  unchanged \"docs/**\"\n  inputs \"src/**\"\n}\n";
    assert!(
        findings(
            requires,
            &[("unit", &["read data/a.json", "read docs/guide.md"])]
        )
        .is_empty()
    );
    assert!(plain_reading_a().is_empty());
}

#[test]
fn what_was_looked_for_in_vain_is_a_warning() {
    let found = audited_over(INPUTS, &[&[("unit", &["read src/a.rs", "miss absent"])]]);
    assert_eq!(lines(&found), ["undeclared_input unit absent (1): -"]);
    assert!(!found.has_errors());
    for did in ["read absent", "write absent", "miss src/absent"] {
        let found = findings(INPUTS, &[("unit", &["read src/a.rs", "miss absent", did])]);
        assert_eq!(found.is_empty(), did != "miss src/absent", "{did}");
    }
    let none = "check unit: cargo test\n";
    assert!(findings(none, &[("unit", &["miss absent"])]).is_empty());
}

#[test]
fn a_listing_is_an_input_where_new_files_would_not_be_selected() {
    let files = "check unit {\n  test cargo test\n  inputs \"src/a.rs\" \"src/b.rs\"\n}\n";
    let read = ["read src/a.rs", "read src/b.rs", "list src"];
    assert_eq!(
        findings(files, &[("unit", &read)]),
        ["undeclared_input unit src/*.rs (1): inputs \"src/a.rs\" \"src/b.rs\" \"src/*.rs\""]
    );
    // A program that goes through all folders for one ending.
    let walked = ["read src/a.rs", "read src/b.rs", "list src", "list docs"];
    assert_eq!(
        findings(INPUTS, &[("unit", &walked)]),
        ["undeclared_input unit docs/*.rs (1): inputs \"src/**\" \"Cargo.toml\" \"docs/*.rs\""]
    );
    let all = "check unit {\n  test cargo test\n  inputs \"**/*.rs\"\n}\n";
    assert!(findings(all, &[("unit", &walked)]).is_empty());
    // What is listed is looked for, too.
    let looked = [
        "read src/a.rs",
        "list .",
        "find README.md",
        "find verify.vplan",
    ];
    assert!(findings(INPUTS, &[("unit", &looked)]).is_empty());
    assert_eq!(
        findings(INPUTS, &[("unit", &["list docs", "find docs/guide.md"])]),
        ["undeclared_input unit docs/* (1): inputs \"src/**\" \"Cargo.toml\" \"docs/*\""]
    );
}

#[test]
fn a_name_that_is_read_in_several_folders_is_what_is_looked_for() {
    let read = [
        "read pkg/one/package.json",
        "read pkg/two/package.json",
        "list pkg/one",
        "list pkg/two",
        "list docs",
    ];
    let of = |inputs: &str| {
        let text = format!("check unit {{\n  test npm test\n  inputs {inputs}\n}}\n");
        findings(&text, &[("unit", &read)])
    };
    assert!(of("\"**/package.json\"").is_empty());
    assert_eq!(
        of("\"pkg/*/package.json\""),
        [
            "undeclared_input unit docs/package.json (1): inputs \"pkg/*/package.json\" \"docs/package.json\""
        ]
    );
}

#[test]
fn a_glob_that_another_one_makes_superfluous_is_left_out() {
    let read = ["read src/a.rs", "read data/a.json", "list data"];
    assert_eq!(
        findings(INPUTS, &[("unit", &read)]),
        ["undeclared_input unit data/a.json (1): inputs \"src/**\" \"Cargo.toml\" \"data/a.json\""]
    );
    let read = [
        "read src/a.rs",
        "read data/a.json",
        "read data/b.json",
        "list data",
    ];
    assert_eq!(
        findings(INPUTS, &[("unit", &read)]),
        ["undeclared_input unit data/*.json (3): inputs \"src/**\" \"Cargo.toml\" \"data/*.json\""]
    );
    // One file of its ending, in a folder that was listed.
    let read = ["read src/a.rs", "read tests/t.rs", "list tests"];
    let text = "check unit {\n  test cargo test\n  inputs \"src/**\"\n}\n";
    assert_eq!(
        findings(text, &[("unit", &read)]),
        ["undeclared_input unit tests/*.rs (2): inputs \"src/**\" \"tests/*.rs\""]
    );
}

#[test]
fn what_git_reads_to_say_what_has_changed_is_no_input() {
    let did = [
        "read src/a.rs",
        "git:read data/a.json",
        "git:list docs",
        "git:write .git/index.lock",
    ];
    assert!(findings(INPUTS, &[("unit", &did)]).is_empty());
    // A check that is git itself, and one in which git looks for something.
    let git = INPUTS.replace("cargo test", "git diff --exit-code");
    assert_eq!(findings(&git, &[("unit", &did)]).len(), 1);
    assert_eq!(findings(INPUTS, &[("unit", &did[..3])]).len(), 1);
    let both = [
        "read data/a.json",
        "git:read data/a.json",
        "git:write .git/index.lock",
    ];
    assert_eq!(findings(INPUTS, &[("unit", &both)]).len(), 1);
}

#[test]
fn a_product_that_is_read_has_to_be_an_input() {
    let text = "check build {\n  run make\n  produces \"target/out/**\"\n}\ncheck unit {\n  test cargo test\n  needs build\n  inputs \"src/**\"\n}\n";
    let steps: [(&str, &[&str]); 2] = [
        ("build", &["write target/out/x"]),
        ("unit", &["read target/out/x"]),
    ];
    assert_eq!(
        findings(text, &steps),
        ["undeclared_input unit target/out/x (1): inputs \"src/**\" \"target/out/x\""]
    );
}

#[test]
fn what_checks_write_and_read_wants_an_order() {
    let text = "check build: make\ncheck unit: cargo test\n";
    let steps: [(&str, &[&str]); 2] =
        [("build", &["write target/x"]), ("unit", &["read target/x"])];
    let found = findings(text, &steps);
    assert!(
        found.contains(&"undeclared_order unit target/x (1): needs build".to_owned()),
        "{found:?}"
    );
    let both: [(&str, &[&str]); 2] = [
        ("build", &["write target/x"]),
        ("unit", &["write target/x"]),
    ];
    assert_eq!(
        findings(text, &both),
        ["undeclared_order unit target/x (1): needs build"]
    );
    // Where the reader came first, it did not find it.
    let early: [(&str, &[&str]); 2] =
        [("build", &["write target/x"]), ("unit", &["miss target/x"])];
    assert_eq!(
        findings(text, &early),
        ["undeclared_order unit target/x (1): needs build"]
    );
    // The reader waits, whichever stands first.
    let turned: [(&str, &[&str]); 2] =
        [("build", &["read target/x"]), ("unit", &["write target/x"])];
    let found = findings(text, &turned);
    assert!(
        found.contains(&"undeclared_order build target/x (1): needs unit".to_owned()),
        "{found:?}"
    );
    for ordered in [
        "check build: make\ncheck unit {\n  test cargo test\n  needs build\n}\n",
        "check build: make\ncheck unit: cargo test\nsequence build -> unit\n",
        "check build: make\ncheck unit: cargo test\nsequence unit -> build\n",
        "check build: make\ntier 1 {\n  check unit: cargo test\n}\n",
        "check build {\n  run make\n  produces \"target/x\"\n}\ncheck unit {\n  test cargo test\n  requires \"target/x\"\n}\n",
    ] {
        for steps in [steps, both] {
            let found = findings(ordered, &steps);
            assert!(
                !found
                    .iter()
                    .any(|line| line.starts_with("undeclared_order")),
                "{ordered}{found:?}"
            );
        }
    }
}

#[test]
fn what_is_written_has_to_be_declared_unless_git_ignores_it() {
    let text = "check unit {\n  test cargo test\n  produces \"out/**\"\n}\n";
    let did = [
        "write src/a.rs",
        "write out/x",
        "write out",
        "write target/x",
        "write coverage.xml",
        "write gen/x",
        "write gen",
    ];
    assert_eq!(
        findings(text, &[("unit", &did)]),
        [
            "undeclared_write unit coverage.xml gen/x src/a.rs (3): writes \"coverage.xml\" \"gen/x\" \"src/a.rs\""
        ]
    );
    let may = "check unit {\n  test cargo test\n  writes \"src/**\"\n}\n";
    assert!(findings(may, &[("unit", &["write src/a.rs"])]).is_empty());
}

#[test]
fn what_a_confined_check_is_refused_to_write() {
    let check = |lines: &str| format!("check unit {{\n  run make\n{lines}}}\n");
    let guard = check("  sandbox guard\n");
    let of_ignored = "undeclared_write unit target/** (2): writes \"target/**\"";
    for (text, did, want) in [
        // Git ignores the folder, whether it is there or not; only what is confined is refused it.
        (
            &guard,
            &["make target", "write target/x"][..],
            &[of_ignored][..],
        ),
        (&check(""), &["make target", "write target/x"], &[]),
        (
            &check("  sandbox guard\n  writes \"out/**\"\n"),
            &["write target/deep/x"],
            &["undeclared_write unit target/** (1): writes \"out/**\" \"target/**\""],
        ),
        (
            &check("  sandbox guard\n  writes \"target/**\"\n"),
            &["write target/x"],
            &[],
        ),
        (
            &check("  sandbox guard\n  writes \"target/*.o\"\n"),
            &["write target/x"],
            &[],
        ),
        // An ignored file in a folder that is not.
        (&guard, &["write .env", "write src/.env"], &[]),
        // What is not there any more, or never was.
        (
            &guard,
            &["make made/absent"],
            &["undeclared_write unit made/absent/** (1): writes \"made/absent/**\""],
        ),
        // With what was to be in it.
        (
            &guard,
            &[
                "make made/absent",
                "make made/absent/deep",
                "write made/absent/deep/x",
                "miss made/absent/y",
            ],
            &["undeclared_write unit made/absent/** (1): writes \"made/absent/**\""],
        ),
        (&check(""), &["make made/absent", "miss made/absent/y"], &[]),
        (
            &guard,
            &["write src/absent"],
            &["undeclared_write unit src/absent (1): writes \"src/absent\""],
        ),
        (&check(""), &["write src/absent", "make made/absent"], &[]),
    ] {
        assert_eq!(findings(text, &[("unit", did)]), want, "{text} {did:?}");
    }
}

#[test]
fn only_folders_that_git_ignores_are_let_be_written() {
    let amended = |text: &str, did: &[&str]| {
        let text = format!("vplan 1\n{text}");
        let audited = audited_over(&text[8..], &[&[("unit", did)]]);
        let wanted = audited.findings.iter();
        let wanted: Vec<_> = wanted.filter_map(|one| one.amendment.as_ref()).collect();
        let contract = contract(&text[8..]);
        amend(&Source::new("verify.vplan", &text), &contract, &wanted).unwrap()
    };
    let did = [
        "write src/a.rs",
        "write src/new",
        "make target",
        "write node_modules/x",
    ];
    let text = "check unit {\n  run make\n  sandbox guard\n}\n";
    assert_eq!(
        amended(text, &did),
        "vplan 1\ncheck unit {\n  run make\n  sandbox guard\n  writes \"node_modules/**\" \"target/**\"\n}\n"
    );
    let own = "check unit {\n  run make\n  sandbox guard\n  writes \"out/**\"\n}\n";
    assert!(amended(own, &did).contains("writes \"out/**\" \"node_modules/**\" \"target/**\"\n"));
    assert!(!amended("check unit: make\n", &did).contains("writes"));
}

#[test]
fn what_did_not_exist_for_a_sealed_check() {
    let text = "check unit {\n  run make\n  inputs \"src/**\"\n  sandbox sealed\n}\n";
    let of = |did: &str| findings(text, &[("unit", &["read src/a.rs", did])]);
    let mended = |globs: &str| format!("inputs \"src/**\" {globs}");
    assert_eq!(
        of("miss data/a.json"),
        [format!(
            "undeclared_input unit data/a.json (1): {}",
            mended("\"data/a.json\"")
        )]
    );
    // A folder of which nothing is declared is not there.
    assert_eq!(
        of("miss pkg/one"),
        [format!(
            "undeclared_input unit pkg/one/** (1): {}",
            mended("\"pkg/one/**\"")
        )]
    );
    assert!(of("miss src/deep").is_empty());
    let files = text.replace("sealed", "files");
    assert!(findings(&files, &[("unit", &["read src/a.rs", "miss pkg/one"])]).is_empty());
}

#[test]
fn what_is_used_outside_is_told_but_for_the_toolchain() {
    let did = [
        "read /usr/lib/libc.so",
        "read /opt/tool/bin/x",
        "read /proc/7/stat",
        "read /usrlocal/x",
        "read /home/me/.cargo/registry/a",
        "read /home/me/.cargo/registry/b",
        "read /home/me/.npmrc",
        "find /srv/x",
        "connect 10.0.0.1:80",
    ];
    assert_eq!(
        findings("check unit: cargo test\n", &[("unit", &did)]),
        [
            "outside unit /usrlocal/x (1): -",
            "outside unit 10.0.0.1:80 (1): -",
            "outside unit ~/.cargo/registry/** (2): -",
            "outside unit ~/.npmrc (1): -",
        ]
    );
}

#[test]
fn a_folder_elsewhere_that_is_only_listed_is_wanted_by_a_confined_check() {
    let did = [
        "list /opt/modules",
        "list /opt",
        "list /home/me",
        "list /home/me/.config",
        "list /home/me/.venvs/one",
        "list /usr/lib",
    ];
    let at = |level: &str| {
        let text = format!(
            "check unit {{\n  test cargo test\n  inputs \"src/**\"\n  sandbox {level}\n}}\n"
        );
        findings(&text, &[("unit", &did)])
    };
    let mended = |path: &str| format!("outside unit {path} (1): reads \"{path}\"");
    assert_eq!(
        at("files"),
        [mended("/opt/modules"), mended("~/.venvs/one")]
    );
    assert!(at("guard").is_empty());
}

#[test]
fn ignored_files_that_are_read_are_told() {
    let did = [
        "read .env",
        "read node_modules/a/b.js",
        "read node_modules/c.js",
        "miss target/y",
    ];
    assert_eq!(
        findings(INPUTS, &[("unit", &did)]),
        ["ignored_input unit .env node_modules/** (3): -"]
    );
    let declared =
        "check unit {\n  test cargo test\n  inputs \"src/**\" \"node_modules/**\" \".env\"\n}\n";
    assert!(findings(declared, &[("unit", &did)]).is_empty());
}

#[test]
fn a_glob_whose_files_nobody_reads_is_idle_after_three_trees() {
    let text =
        "whenChangedAny \"src/**\" \"docs/**\" \"never/**\" {\n  check unit: cargo test\n}\n";
    let run: &[(&str, &[&str])] = &[("unit", &["read src/a.rs"])];
    assert_eq!(
        lines(&audited_over(text, &[run, run, run])),
        ["idle_condition unit docs/** (2): -"]
    );
    assert!(lines(&audited_over(text, &[run, run])).is_empty());
    let reads: &[(&str, &[&str])] = &[("unit", &["read docs/guide.md"])];
    assert!(lines(&audited_over(text, &[run, run, reads])).is_empty());
    let blind: &[(&str, &[&str])] = &[("unit", &["read src/a.rs", "gap tool"])];
    assert!(lines(&audited_over(text, &[run, run, blind])).is_empty());
}

#[test]
fn what_was_not_seen_is_said() {
    let text = "check unit: cargo test\ncheck lint: cargo clippy\n";
    let audited = audited_over(text, &[&[("unit", &["gap tool"])]]);
    let said: Vec<String> = audited
        .incomplete
        .iter()
        .map(|one| format!("{}: {}", one.check, one.reason))
        .collect();
    assert_eq!(
        said,
        [
            "lint: it was not observed",
            "unit: `tool` wanted io_uring, which was refused"
        ]
    );
}

#[test]
fn the_form_is_the_documented_one() {
    let audited = audited_over(BLOCK, &[&[("unit", &["read data/a.json"])]]);
    assert_eq!(
        serde_json::to_value(&audited).unwrap(),
        serde_json::json!({
            "findings": [{
                "check": "unit", "count": 1, "files": ["data/a.json"], "globs": ["data/a.json"],
                "kind": "blind_spot", "line": "whenChangedAny \"src/**\" \"data/a.json\"",
                "program": "prog", "severity": "error",
                "source": {"column": 9, "file": "verify.vplan", "line": 3},
            }],
            "incomplete": [],
        })
    );
    assert!(audited.has_errors());
}

#[test]
fn two_checks_below_one_condition_get_no_glob_twice() {
    let text = "whenChangedAny \"src/**\" {\n  check a: cargo test a\n  check b: cargo test b\n}\n";
    let read = contract(text);
    let a: &[&str] = &["read data/a.json"];
    let b: &[&str] = &["read data/a.json", "read data/b.json", "list data"];
    let found = audited_over(text, &[&[("a", a), ("b", b)]]);
    let findings = found.findings.iter();
    let wanted: Vec<_> = findings.filter_map(|f| f.amendment.as_ref()).collect();
    assert_eq!(wanted.len(), 2);
    let source = Source::new("verify.vplan", &format!("vplan 1\n{text}"));
    let mended = amend(&source, &read, &wanted).unwrap();
    assert!(
        mended.contains("whenChangedAny \"src/**\" \"data/*.json\" {"),
        "{mended}"
    );
}
