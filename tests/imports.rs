//! What do imports bring, and what is said of those that bring nothing? Real trees, read as the
//! program reads them.

use crate::support::Project;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use vplan::base::diagnostic::Severity;
use vplan::base::index::Index as _;
use vplan::base::origin::{GitOrigin, GitRef};
use vplan::contract::CheckIndex;
use vplan::contract::import as contract;
use vplan::effect::git::pins::{NOT_PINNED, NothingPinned, PinError, Pins};
use vplan::effect::repo::import as effect;
use vplan::effect::repo::import::{NOT_UTF8, TOO_LARGE};
use vplan::effect::repo::load::{self, ContractRequest, Loaded};
use vplan::plan::diff::Class;
use vplan::plan::diff::contracts::{Side, compare};

const REV: &str = "0123456789abcdef0123456789abcdef01234567";

/// Reads the contract of a project with these pins.
fn load_with(project: &Project, pins: &mut dyn Pins) -> Loaded {
    let site = load::locate(&project.root(), None, &|_| None).unwrap();
    let wanted = ContractRequest {
        contract: None,
        revision: None,
        base: None,
        max_file: 1 << 20,
        text: None,
        folders: vplan::effect::repo::folders::FoldersOf::WorkTree,
    };
    load::load(&site, &wanted, pins).unwrap()
}

/// A project without git that holds these files; a text without a header gets one.
fn tree(files: &[(&str, &str)]) -> Project {
    let project = Project::bare();
    for (path, text) in files {
        let header = if text.starts_with("vplan") || text.starts_with('{') {
            ""
        } else {
            "vplan 1\n"
        };
        project.write(path, format!("{header}{text}"));
    }
    project
}

/// What was found: the code without its first part, and the text under the first label.
fn found(loaded: &Loaded) -> Vec<(String, String)> {
    let all = loaded.diagnostics.clone().sorted();
    let one = |d: vplan::base::diagnostic::Diagnostic| {
        let place = d.labels.first().map(|l| l.place).unwrap_or_default();
        for line in d
            .labels
            .iter()
            .map(|l| &l.text)
            .chain(&d.help)
            .chain([&d.message])
        {
            assert!(
                !line.is_empty() && !line.contains('\n') && !line.ends_with('.'),
                "{line}"
            );
            assert!(line.matches('`').count().is_multiple_of(2), "{line}");
        }
        let text = loaded
            .sources
            .get(place.source)
            .unwrap()
            .slice(place.span)
            .to_owned();
        (d.code.0.trim_start_matches("vplan::").to_owned(), text)
    };
    all.into_iter().map(one).collect()
}

/// Trees whose imports are at fault, each with everything that is found: the code, and what is
/// underlined.
type Bad = (
    &'static [(&'static str, &'static str)],
    &'static [(&'static str, &'static str)],
);

const MAIN: &str = "contracts/verify.vplan";
const BAD: &[Bad] = &[
    (
        &[(MAIN, "import\n")],
        &[("lang::missing_argument", "import")],
    ),
    (
        &[(MAIN, "import lib.vplan\n")],
        &[("lang::unexpected_argument", "lib.vplan")],
    ),
    (
        &[(MAIN, "import \"l\" as\ncheck a: true\n")],
        &[("lang::missing_argument", "as")],
    ),
    (
        &[(MAIN, "import \"l\" as \"x\"\ncheck a: true\n")],
        &[("lang::unexpected_argument", "\"x\"")],
    ),
    (
        &[(MAIN, "import \"l\" as a/b\ncheck a: true\n")],
        &[("lang::bad_name", "a/b")],
    ),
    (
        &[(MAIN, "import \"l\" at\ncheck a: true\n")],
        &[("lang::missing_argument", "at")],
    ),
    (
        &[(MAIN, "import \"l\" at x\ncheck a: true\n")],
        &[("lang::unexpected_argument", "x")],
    ),
    (
        &[(MAIN, "import \"l\" \"m\"\ncheck a: true\n")],
        &[("lang::unexpected_argument", "\"m\"")],
    ),
    (
        &[(MAIN, "byRole tester {\n  import \"l\"\n}\ncheck a: true\n")],
        &[("lang::misplaced_statement", "import")],
    ),
    (
        &[(MAIN, "import \"\"\n")],
        &[("contract::import_source", "\"\"")],
    ),
    (
        &[(MAIN, "import \"/etc/passwd\"\n")],
        &[("contract::import_source", "\"/etc/passwd\"")],
    ),
    (
        &[(MAIN, "import \"../../x\"\n")],
        &[("contract::import_source", "\"../../x\"")],
    ),
    (
        &[(MAIN, "import \".\"\n")],
        &[("contract::import_source", "\".\"")],
    ),
    (
        &[(MAIN, "import \"https://h/r\"\n")],
        &[("contract::import_source", "\"https://h/r\"")],
    ),
    (
        &[(MAIN, "import \"std:rust\"\n")],
        &[("contract::import_source", "\"std:rust\"")],
    ),
    (
        &[(MAIN, "import \"git+https://h/r?rev=main#a\"\n")],
        &[("contract::import_source", "\"git+https://h/r?rev=main#a\"")],
    ),
    (
        &[(MAIN, "import \"std:rust@999\"\n")],
        &[("load::import_unknown_std", "\"std:rust@999\"")],
    ),
    (
        &[(MAIN, "import \"std:nothing@1\" as s\n")],
        &[("load::import_unknown_std", "\"std:nothing@1\"")],
    ),
    (
        &[(MAIN, "import \"lib.vplan\"\n")],
        &[("load::import_missing", "\"lib.vplan\"")],
    ),
    // What the file would have brought is not missed as well; what it would not have brought is.
    (
        &[(
            MAIN,
            "import \"lib.vplan\"\ncheck a: true\nsequence a -> b\n",
        )],
        &[("load::import_missing", "\"lib.vplan\"")],
    ),
    (
        &[(
            MAIN,
            "import \"lib.vplan\" as l\ncheck a: true\nsequence a -> l/b\nsequence a -> b\n",
        )],
        &[
            ("load::import_missing", "\"lib.vplan\""),
            ("contract::unknown_check", "b"),
        ],
    ),
    (
        &[(
            MAIN,
            "import \"lib.vplan\" as l\nwhenChangedAny l/p q {\n  check a: true\n}\n",
        )],
        &[
            ("load::import_missing", "\"lib.vplan\""),
            ("contract::unknown_paths", "q"),
        ],
    ),
    // A fault is told at every import of the file.
    (
        &[(
            MAIN,
            "import \"lib.vplan\" as a\nimport \"lib.vplan\" as b\n",
        )],
        &[
            ("load::import_missing", "\"lib.vplan\""),
            ("load::import_missing", "\"lib.vplan\""),
        ],
    ),
    (
        &[(MAIN, "import \"sub\"\n"), ("contracts/sub/x", "")],
        &[("load::import_no_file", "\"sub\"")],
    ),
    (
        &[
            (MAIN, "base \"main\"\nimport \"l\"\n"),
            ("contracts/l", "base \"main\"\ncheck a: true\n"),
        ],
        &[("contract::base_imported", "\"main\"")],
    ),
    (
        &[
            (MAIN, "linked \"out\"\nimport \"l\"\n"),
            ("contracts/l", "linked \"out\"\ncheck a: true\n"),
        ],
        &[("contract::linked_imported", "\"out\"")],
    ),
    (
        &[
            (MAIN, "toolchain sh: sh\nimport \"l\"\n"),
            ("contracts/l", "toolchain sh: sh\ncheck a: true\n"),
        ],
        &[("contract::toolchain_imported", "sh")],
    ),
    (
        &[
            (MAIN, "import \"l\"\n"),
            (
                "contracts/l",
                "machine m {\n  property \"OS\" \"x\"\n}\ncheck a {\n  run x\n  inputs \"x\"\n  on m\n}\n",
            ),
        ],
        &[("contract::machine_imported", "m")],
    ),
    (
        &[
            (MAIN, "import \"l\" at \"\"\n"),
            ("contracts/l", "check a: true\n"),
        ],
        &[("contract::import_at", "\"\"")],
    ),
    (
        &[
            (MAIN, "import \"l\" at \"/a\"\n"),
            ("contracts/l", "check a: true\n"),
        ],
        &[("contract::import_at", "\"/a\"")],
    ),
    (
        &[
            (MAIN, "import \"l\" at \"../a\"\n"),
            ("contracts/l", "check a: true\n"),
        ],
        &[("contract::import_at", "\"../a\"")],
    ),
    (
        &[
            (MAIN, "import \"l\" at \"a*\"\n"),
            ("contracts/l", "check a: true\n"),
        ],
        &[("contract::glob_in_path", "\"a*\"")],
    ),
    // A directory of a file that is imported twice is found fault with once.
    (
        &[
            (MAIN, "import \"l\" as x\nimport \"l\" as y\n"),
            ("contracts/l", "import \"m\" at \"..\"\n"),
            ("contracts/m", "check a: true\n"),
        ],
        &[("contract::import_at", "\"..\"")],
    ),
    (
        &[(MAIN, "import \"verify.vplan\"\ncheck a: true\n")],
        &[("contract::import_cycle", "\"verify.vplan\"")],
    ),
    (
        &[
            (MAIN, "import \"a\"\n"),
            ("contracts/a", "import \"b\"\n"),
            ("contracts/b", "import \"a\" as x\n"),
        ],
        &[("contract::import_cycle", "\"a\"")],
    ),
    (
        &[(MAIN, "import \"l\"\n"), ("contracts/l", "chek a: true\n")],
        &[("lang::unknown_statement", "chek")],
    ),
    (
        &[(MAIN, "import \"l\"\n"), ("contracts/l", "vplan 2\n")],
        &[("lang::unknown_version", "2")],
    ),
    (
        &[
            (MAIN, "import \"l.json\"\n"),
            ("contracts/l.json", "{\"comands\": []}"),
        ],
        &[("json::unknown_key", "\"comands\"")],
    ),
    (
        &[
            (MAIN, "check a: true\nimport \"l\"\n"),
            ("contracts/l", "check a: false\n"),
        ],
        &[("contract::duplicate_name", "a")],
    ),
    (
        &[
            (MAIN, "import \"l\"\nimport \"l\" at \"x\"\n"),
            ("contracts/l", "check a: true\n"),
        ],
        &[("contract::duplicate_name", "a")],
    ),
    (
        &[
            (MAIN, "import \"l\"\nimport \"m\"\ncheck a: true\n"),
            ("contracts/l", "paths p = \"a\"\nrisk r tier 1 p\n"),
            ("contracts/m", "paths p = \"a\"\nrisk r tier 1 p\n"),
        ],
        &[
            ("contract::duplicate_name", "p"),
            ("contract::duplicate_name", "r"),
        ],
    ),
    // The block of an import.
    (
        &[
            (MAIN, "import \"l\" as x {\n  without c\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_unknown", "c")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x {\n  without x/a\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_unknown", "x/a")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override c {\n    timeout 1m\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_unknown", "c")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x {\n  without c*\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_unknown", "c*")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x {\n  without *\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_unknown", "*")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x {\n  without a\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_needed", "a")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x {\n  without b b\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_twice", "b")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  without b\n  override b {\n    timeout 1m\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_twice", "b")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    timeout 1m\n  }\n  override b {\n    timeout 2m\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_twice", "timeout 2m")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    timeout 1m\n    timeout 2m\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_twice", "timeout 2m")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    timeout 1m\n    without timeout\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_twice", "timeout")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    run true\n    test true\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_twice", "test true")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override * {\n    timeout 1m\n  }\n  override b {\n    timeout 2m\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_unknown", "*")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b* {\n    timeout 1m\n  }\n  override b {\n    timeout 2m\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_twice", "timeout 2m")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    timeout 5m\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::change_nothing", "timeout 5m")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override a {\n    timeout 1m\n    run true\n    without env dir\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[
            ("contract::change_nothing", "timeout 1m"),
            ("contract::change_nothing", "run true"),
            ("contract::change_nothing", "env"),
            ("contract::change_nothing", "dir"),
        ],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    without needs\n  }\n  without a\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    needs c\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::unknown_check", "c")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    needs x/b\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::cycle", "x/b")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    without timeuot\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("lang::unknown_word", "timeuot")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    without env.1\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("lang::unknown_word", "env.1")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    without timeout.A\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("lang::unknown_word", "timeout.A")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    min-tests 2\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("contract::foreign_setting", "min-tests 2")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  override b {\n    whenChangedAny \"q\" {\n    }\n  }\n}\n",
            ),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("lang::misplaced_statement", "whenChangedAny")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x {\n  check c: true\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("lang::misplaced_statement", "check")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x {\n  timeout 5m\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("lang::misplaced_statement", "timeout")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x {\n  exclude a\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("lang::unknown_statement", "exclude")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x {\n  override b\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("lang::missing_block", "override")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x {\n  without\n}\n"),
            (
                "contracts/l",
                "check a: true\ncheck b {\n  run true\n  needs a\n  timeout 5m\n}\n",
            ),
        ],
        &[("lang::missing_argument", "without")],
    ),
    (
        &[(
            MAIN,
            "check a: true\noverride a {\n  timeout 1m\n}\nwithout a\n",
        )],
        &[("lang::misplaced_statement", "override")],
    ),
    // An inner block has changed it before.
    (
        &[
            (MAIN, "import \"l\" as x {\n  without y/b\n}\n"),
            ("contracts/l", "import \"m\" as y {\n  without b\n}\n"),
            ("contracts/m", "check a: true\ncheck b: false\n"),
        ],
        &[("contract::change_unknown", "y/b")],
    ),
    // What is missing is said once.
    (
        &[(MAIN, "import \"l\" as x {\n  without b\n}\ncheck a: true\n")],
        &[("load::import_missing", "\"l\"")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as x {\n  without b\n}\nimport \"l\" as x\n",
            ),
            ("contracts/l", "check a: true\ncheck b: false\n"),
        ],
        &[("contract::duplicate_name", "a")],
    ),
    // What an importer says is nothing to a file in a namespace.
    (
        &[
            (MAIN, "check a: true\nimport \"l\" as l\n"),
            ("contracts/l", "check bb {\n  run true\n  needs a\n}\n"),
        ],
        &[("contract::unknown_check", "a")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x\nimport \"l\" as y\n"),
            ("contracts/l", "check a: true\nsequence a -> nothing\n"),
        ],
        &[("contract::unknown_check", "nothing")],
    ),
    (
        &[
            (MAIN, "import \"l\" as x\nimport \"l\" as y\n"),
            (
                "contracts/l",
                "whenChangedAny nothing {\n  check a: true\n}\n",
            ),
        ],
        &[("contract::unknown_paths", "nothing")],
    ),
    (
        &[
            (MAIN, "import \"l\" at \"d\"\n"),
            (
                "contracts/l",
                "whenChangedAny \"/x\" \"../y\" {\n  check a: true\n}\n",
            ),
        ],
        &[("contract::glob", "/"), ("contract::glob", "..")],
    ),
    (
        &[
            (MAIN, "import \"l\" at \"d\"\n"),
            ("contracts/l", "check a {\n  run true\n  dir \"../x\"\n}\n"),
        ],
        &[("contract::path", "dir \"../x\"")],
    ),
    (
        &[
            (MAIN, "import \"l\"\n"),
            (
                "contracts/l",
                "role qa {\n}\nbyRole qa {\n  check a: true\n}\n",
            ),
        ],
        &[("contract::unknown_role", "qa")],
    ),
    (
        &[
            (
                MAIN,
                "import \"l\" as l\ncheck a: true\nsequence a -> l/b\n",
            ),
            (
                "contracts/l",
                "check b {\n  run true\n  needs c\n}\ncheck c {\n  run true\n  needs b\n}\n",
            ),
        ],
        &[("contract::cycle", "c")],
    ),
];

#[test]
fn bad_imports() {
    for (files, want) in BAD {
        let project = tree(files);
        let loaded = load_with(&project, &mut NothingPinned);
        let got = found(&loaded);
        let got: Vec<(&str, &str)> = got.iter().map(|(c, t)| (c.as_str(), t.as_str())).collect();
        assert_eq!(&got, want, "{files:?}");
        assert!(!loaded.drift);
        let errors = loaded
            .diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error);
        assert_eq!(loaded.contract.is_none(), errors);
    }
    assert!(BAD.len() >= 30);
}

/// Paths and texts.
type Files = Vec<(String, String)>;

/// Files that are too much in one respect, with the code and what is underlined.
fn too_much() -> Vec<(Files, &'static str, String)> {
    let file = |n: usize, text: String| (format!("contracts/f{n}.vplan"), text);
    let main = |text: String| (MAIN.to_owned(), text);
    let import = |n: usize| format!("import \"f{n}.vplan\"\n");
    let chain: Vec<_> = std::iter::once(main(import(1)))
        .chain((1..=9).map(|n| file(n, import(n + 1) + "run true\n")))
        .collect();
    let many: String = (1..=65).map(import).collect();
    let many: Vec<_> = std::iter::once(main(many))
        .chain((1..=65).map(|n| file(n, "run true\n".to_owned())))
        .collect();
    let uses: String = (0..10_001)
        .map(|n| format!("import \"f1.vplan\" as n{n}\n"))
        .collect();
    let uses = vec![main(uses), file(1, "paths p = \"a\"\n".to_owned())];
    // Four times 256 uses of half a thousand checks: found out without building them.
    let doubling = |n: usize| {
        (0..8)
            .map(|i| format!("import \"f{n}.vplan\" as n{i}\n"))
            .collect::<String>()
    };
    let checks = vec![
        main(doubling(1)),
        file(1, doubling(2)),
        file(2, doubling(3)),
        file(3, "check a: true\n".repeat(500)),
    ];
    let text = format!("# {}\n", "x".repeat(60_000)).repeat(17) + "paths p = \"a\"\n";
    let bytes = vec![
        main(
            (0..40)
                .map(|n| format!("import \"f1.vplan\" as n{n}\n"))
                .collect(),
        ),
        file(1, text),
    ];
    vec![
        (chain, "contract::import_depth", "\"f9.vplan\"".to_owned()),
        (many, "contract::import_files", "\"f65.vplan\"".to_owned()),
        (
            uses,
            "contract::import_size",
            "import \"f1.vplan\" as n10000".to_owned(),
        ),
        (
            checks,
            "contract::too_many_checks",
            "import \"f3.vplan\" as n4".to_owned(),
        ),
        (
            bytes,
            "contract::import_size",
            "import \"f1.vplan\" as n32".to_owned(),
        ),
    ]
}

#[test]
fn caps() {
    for (files, code, marked) in too_much() {
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(p, t)| (p.as_str(), t.as_str()))
            .collect();
        let loaded = load_with(&tree(&files), &mut NothingPinned);
        let all = found(&loaded);
        // The repetition that makes a file large is found fault with too.
        let got: Vec<_> = all
            .iter()
            .filter(|(c, _)| c != "contract::duplicate_name")
            .collect();
        assert_eq!(got, [&(code.to_owned(), marked)]);
    }
}

#[test]
fn no_code_without_an_example() {
    let mut shown: BTreeSet<String> = BAD
        .iter()
        .flat_map(|(_, want)| want.iter().map(|(c, _)| (*c).to_owned()))
        .collect();
    shown.extend(too_much().iter().map(|(_, code, _)| (*code).to_owned()));
    // These need what a table of texts does not have; they are below.
    let elsewhere =
        [effect::OUTSIDE, effect::UNREADABLE].map(|c| c.0.trim_start_matches("vplan::").to_owned());
    shown.extend(elsewhere);
    shown.insert("contract::import_not_allowed".to_owned());
    for code in contract::CODES.iter().chain(&effect::CODES) {
        assert!(
            shown.contains(code.0.trim_start_matches("vplan::")),
            "{code}"
        );
    }
}

/// The one message about the import of `path`: its code and its text.
#[track_caller]
fn one_message(project: &Project) -> (&'static str, String, Option<String>) {
    let loaded = load_with(project, &mut NothingPinned);
    let all = loaded.diagnostics.sorted();
    let [only] = &all[..] else {
        panic!("one message: {all:?}")
    };
    assert_eq!(only.labels[0].place.source.0 as usize, 0, "at the import");
    (only.code.0, only.message.clone(), only.help.clone())
}

#[test]
fn what_is_no_contract_file() {
    let project = tree(&[
        (MAIN, "import \"lib.vplan\"\n"),
        ("contracts/libs.vplan", "check a: true\n"),
    ]);
    let (code, message, help) = one_message(&project);
    assert_eq!(
        (code, message.as_str()),
        (effect::MISSING.0, "there is no file `contracts/lib.vplan`")
    );
    assert_eq!(help.as_deref(), Some("did you mean `libs.vplan`?"));
    let path = project.path("contracts/lib.vplan");
    let restart = || {
        if path.symlink_metadata().is_ok() {
            project.remove("contracts/lib.vplan");
        }
    };
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(one_message(&project).0, effect::NO_FILE.0);
    assert_eq!(
        one_message(&project).1,
        "`contracts/lib.vplan` is a pipe, a socket or a device"
    );
    for (target, code) in [
        ("/dev/zero", effect::OUTSIDE),
        ("../../home", effect::OUTSIDE),
        ("/etc/passwd", effect::OUTSIDE),
        ("lib.vplan", effect::MISSING),
        ("nowhere", effect::MISSING),
        ("..", effect::NO_FILE),
    ] {
        restart();
        project.symlink("contracts/lib.vplan", target);
        assert_eq!(one_message(&project).0, code.0, "{target}");
    }
    restart();
    std::fs::File::create(&path)
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    assert_eq!(one_message(&project).0, TOO_LARGE.0);
    let utf16: Vec<u8> = "vplan 1\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    project.write("contracts/lib.vplan", [&b"\xff\xfe"[..], &utf16].concat());
    let (code, message, _) = one_message(&project);
    assert_eq!(
        (code, message.as_str()),
        (
            NOT_UTF8.0,
            "`contracts/lib.vplan` is not UTF-8: byte 0xff at offset 0"
        )
    );
    // A symlink that stays inside is a file like any other.
    restart();
    project.symlink("contracts/lib.vplan", "libs.vplan");
    assert!(load_with(&project, &mut NothingPinned).contract.is_some());
    // A file that nobody may read. Root may.
    restart();
    project
        .write("contracts/lib.vplan", "vplan 1\n")
        .mode("contracts/lib.vplan", 0);
    if std::fs::read(Path::new(&path)).is_err() {
        assert_eq!(one_message(&project).0, effect::UNREADABLE.0);
    }
}

/// Pins these files, whatever their repository and revision.
struct These(Vec<(&'static str, &'static str)>);

impl Pins for These {
    fn read(&mut self, origin: &GitOrigin) -> Result<Vec<u8>, PinError> {
        let path = origin.path.to_string();
        match self.0.iter().find(|(p, _)| *p == path) {
            Some((_, text)) => Ok(text.as_bytes().to_vec()),
            None => NothingPinned.read(origin),
        }
    }

    fn commit(&mut self, at: &GitRef) -> Result<String, PinError> {
        NothingPinned.commit(at)
    }
}

#[test]
fn a_file_of_another_repository_widens_nothing_by_itself() {
    let url = format!("git+https://h/r?rev={REV}#d/main.vplan");
    let refused = |block: &str, files: &[(&'static str, &'static str)]| {
        let project = tree(&[(MAIN, &format!("import \"{url}\" as r{block}\n"))]);
        found(&load_with(&project, &mut These(files.to_vec())))
    };
    let at = |places: &[&str]| -> Vec<(String, String)> {
        let code = "contract::import_not_allowed".to_owned();
        let places = places
            .iter()
            .map(|place| (code.clone(), (*place).to_owned()));
        places.collect()
    };
    let main = |text: &'static str| vec![("d/main.vplan", text)];
    let confined = "vplan 1\ncheck a {\n  run true\n  inputs \"x\"\n  sandbox files\n  network off\n  \
                    reads \"~/.ssh\" \"/usr/share\"\n}\n";
    // Each of the three, in a check, in `defaults` and in those of a verb.
    assert_eq!(
        refused("", &main(confined)),
        at(&["reads \"~/.ssh\" \"/usr/share\""])
    );
    let on = "vplan 1\ndefaults {\n  network on\n}\ncheck a: true\n";
    assert_eq!(refused("", &main(on)), at(&["network on"]));
    let none = "vplan 1\ndefaults test {\n  sandbox none\n}\ncheck a: true\n";
    assert_eq!(refused("", &main(none)), at(&["sandbox none"]));
    // The word of another one allows nothing; the right one does.
    assert_eq!(
        refused(" {\n  allow network sandbox\n}", &main(confined)).len(),
        1
    );
    for (word, text) in [("reads", confined), ("network", on), ("sandbox", none)] {
        assert_eq!(
            refused(&format!(" {{\n  allow {word}\n}}"), &main(text)),
            []
        );
    }
    // What is stronger, what is readable anyway, and what is not given need no leave.
    let free = "vplan 1\ndefaults {\n  sandbox guard\n  network loopback\n}\ncheck a {\n  run true\n  \
                inputs \"x\"\n  sandbox files\n  reads \"/usr/share\" \"/etc\"\n  writes \"out/**\"\n}\ncheck b: true\n";
    assert_eq!(refused("", &main(free)), []);
    for path in ["/usr/../root", "/usrx", "~/usr"] {
        let text = confined
            .replace("/usr/share", path)
            .replace("\"~/.ssh\" ", "");
        let text: &'static str = text.leak();
        let codes = refused("", &main(text));
        let mut codes = codes.iter().map(|(code, _)| code.as_str());
        assert!(
            codes.any(|code| code == "contract::import_not_allowed"),
            "{path}"
        );
    }
    // The importing file can change the check instead, or take it out.
    for block in [
        "override a {\n    without reads\n  }",
        "override a {\n    reads \"/opt/x\"\n  }",
    ] {
        assert_eq!(
            refused(&format!(" {{\n  {block}\n}}"), &main(confined)),
            [],
            "{block}"
        );
    }
    let two = "vplan 1\ncheck a: true\ncheck b {\n  run true\n  network on\n}\n";
    assert_eq!(refused(" {\n  without b\n}", &main(two)), []);
}

#[test]
fn to_allow_more_to_another_repository_is_weaker() {
    let files = vec![("d/main.vplan", "vplan 1\ncheck a: true\n")];
    let load = |rev: &str, block: &str| {
        let url = format!("git+https://h/r?rev={rev}#d/main.vplan");
        let project = tree(&[(MAIN, &format!("import \"{url}\" as r{block}\n"))]);
        load_with(&project, &mut These(files.clone()))
    };
    let diff = |old: &Loaded, new: &Loaded| {
        let side = |loaded: &'_ Loaded| loaded.contract.clone().unwrap();
        let (before, after) = (side(old), side(new));
        let compared = compare(
            &Side {
                contract: &before,
                sources: &old.sources,
            },
            &Side {
                contract: &after,
                sources: &new.sources,
            },
            &[],
        );
        [Class::Weakens, Class::Strengthens].map(|class| compared.count(class))
    };
    let (none, one) = (load(REV, ""), load(REV, " {\n  allow reads\n}"));
    let two = load(REV, " {\n  allow reads\n  allow network\n}");
    assert_eq!(diff(&none, &one), [1, 0]);
    assert_eq!(diff(&none, &two), [2, 0]);
    assert_eq!(diff(&two, &one), [0, 1]);
    assert_eq!(diff(&one, &one), [0, 0]);
    // Another commit of the same file is allowed the same.
    let other = "1".repeat(40);
    assert_eq!(diff(&one, &load(&other, " {\n  allow reads\n}")), [0, 0]);
}

#[test]
fn what_comes_with_a_file_of_another_repository_is_allowed_by_ours_alone() {
    let url = format!("git+https://h/r?rev={REV}#d/main.vplan");
    let on = "vplan 1\ncheck on {\n  run true\n  network on\n}\n";
    let files = vec![
        (
            "d/main.vplan",
            "vplan 1\nimport \"on.vplan\" as on {\n  allow network\n}\nimport \"std:docs@1\" as docs {\n  \
             override markdownlint {\n    sandbox none\n  }\n}\n",
        ),
        ("d/on.vplan", on),
    ];
    let refused = |main: &str| {
        let project = tree(&[
            (MAIN, main),
            (
                "contracts/own.vplan",
                &format!("vplan 1\nimport \"{url}\" as r {{\n  allow network sandbox\n}}\n"),
            ),
        ]);
        let mut found = found(&load_with(&project, &mut These(files.clone())));
        // It is the default, which is a warning of its own.
        found.retain(|(code, text)| code != "contract::change_nothing" || text != "sandbox none");
        found
    };
    let codes = |found: &[(String, String)]| -> Vec<String> {
        found.iter().map(|(_, place)| place.clone()).collect()
    };
    // What a foreign file allows to another, and what it changes of a shipped one, counts for nothing.
    let bare = refused(&format!("import \"{url}\" as r\n"));
    assert_eq!(codes(&bare), ["sandbox none", "network on"]);
    let one = refused(&format!("import \"{url}\" as r {{\n  allow network\n}}\n"));
    assert_eq!(codes(&one), ["sandbox none"]);
    // A file of ours allows, wherever it is; to allow what needs no leave is a warning.
    assert_eq!(refused("import \"own.vplan\"\n"), []);
    let warned = refused("import \"own.vplan\" {\n  allow network\n}\n");
    assert_eq!(
        warned,
        [("contract::change_nothing".to_owned(), "network".to_owned())]
    );
    let wrong = refused(&format!(
        "import \"{url}\" as r {{\n  allow network sandbox nothing\n}}\n"
    ));
    assert_eq!(
        wrong,
        [("lang::unknown_word".to_owned(), "nothing".to_owned())]
    );
}

#[test]
fn files_of_another_repository() {
    let url = format!("git+https://h/r?rev={REV}#d/main.vplan");
    let project = tree(&[(
        MAIN,
        &format!("import \"{url}\" as r\ncheck a: true\nsequence a -> r/x\n"),
    )]);
    let loaded = load_with(&project, &mut NothingPinned);
    assert!(loaded.drift, "nothing is wrong but the pin");
    assert_eq!(
        found(&loaded),
        [(
            NOT_PINNED.0.trim_start_matches("vplan::").to_owned(),
            format!("\"{url}\"")
        )]
    );
    assert_eq!(
        loaded
            .origins
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        std::slice::from_ref(&url)
    );
    project
        .run(&["check"])
        .exits(4)
        .warns("`vplan lock` fetches and pins it");
    project
        .run(&["explain", "--changed-none"])
        .exits(4)
        .warns("vplan::contract::drift");

    // A path in it is a file of the same revision; `std:` is the same everywhere.
    let pins = vec![
        (
            "d/main.vplan",
            "vplan 1\nimport \"../up.vplan\"\nimport \"std:rust@1\" as rust\ncheck x: true\n",
        ),
        (
            "up.vplan",
            "vplan 1\nimport \"gone.vplan\"\ncheck up: true\n",
        ),
    ];
    let loaded = load_with(&project, &mut These(pins.clone()));
    assert!(loaded.drift);
    assert_eq!(
        found(&loaded),
        [("lock::not_pinned".to_owned(), "\"gone.vplan\"".to_owned())]
    );
    let paths: Vec<String> = loaded.origins.iter().map(|o| o.path.to_string()).collect();
    assert_eq!(paths, ["d/main.vplan", "up.vplan", "gone.vplan"]);
    let whole = vec![pins[0], ("up.vplan", "vplan 1\ncheck up: true\n")];
    let contract = load_with(&project, &mut These(whole)).contract.unwrap();
    let ids: Vec<&str> = contract.checks.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "r/up",
            "r/rust/fmt",
            "r/rust/check",
            "r/rust/clippy",
            "r/rust/test",
            "r/rust/doc",
            "r/rust/deny",
            "r/x",
            "a"
        ]
    );
    let names: Vec<&str> = contract.imports.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(
        names,
        [
            url.as_str(),
            &format!("git+https://h/r?rev={REV}#up.vplan"),
            "std:rust@1"
        ]
    );
    assert_eq!(contract.imports[0].path, None);

    // With another error it is the contract that is wrong; too large is no matter of pins either.
    let project = tree(&[(MAIN, &format!("import \"{url}\"\nchek a: true\n"))]);
    assert!(!load_with(&project, &mut NothingPinned).drift);
    project.run(&["check"]).exits(3);
    let large = "vplan 1\n#################################################################################################\n";
    let project = tree(&[(MAIN, &format!("import \"{url}\"\n"))]);
    let site = load::locate(&project.root(), None, &|_| None).unwrap();
    for (max_file, whole) in [(110, true), (100, false)] {
        let wanted = ContractRequest {
            contract: None,
            revision: None,
            base: None,
            max_file,
            text: None,
            folders: vplan::effect::repo::folders::FoldersOf::WorkTree,
        };
        let loaded = load::load(&site, &wanted, &mut These(vec![("d/main.vplan", large)])).unwrap();
        assert_eq!((loaded.contract.is_some(), loaded.drift), (whole, false));
        assert_eq!(
            found(&loaded)
                .iter()
                .any(|(code, _)| code == "load::too_large"),
            !whole
        );
    }
}

/// A package's own contract, used at three packages and once for the root.
const PACKAGE: &str = "vplan 1
paths code = \"src/**\" \"!**/*.md\"
defaults {
  timeout 5m
  tool-path \"bin\"
}
whenChangedAny code {
  check lint: echo lint {changed}
  check unit {
    run echo unit
    exclusive database
    tags slow
    produces \"out/**\"
  }
}
whenExists \"Makefile\" {
  check built {
    file \"out/app\" {
      exists
    }
    needs unit
  }
}
risk core tier 1 \"src/core/**\"
sequence lint -> *
";

fn monorepo() -> Project {
    let project = Project::git_with(&[
        (
            MAIN,
            "vplan 1\ndefaults {\n  timeout 7m\n}\ncheck first: echo first\n\
             import \"package.vplan\" as web at \"apps/web\"\nimport \"package.vplan\" as api at \"apps/[api]\"\n\
             import \"package.vplan\" as lib at \"packages/lib\"\ncheck last: echo last\n\
             byRole tester {\n  use web/unit lib/unit\n}\nsequence * -> last\nsequence api/unit -> web/unit\n",
        ),
        ("contracts/package.vplan", PACKAGE),
        ("apps/web/src/a.ts", ""),
        ("apps/web/Makefile", ""),
        ("apps/[api]/src/core/b.ts", ""),
        ("apps/a/src/b.ts", ""),
        ("packages/lib/src/c.md", ""),
    ]);
    project.write("README.md", "").commit("more");
    project
}

#[test]
fn one_template_for_three_packages() {
    let project = monorepo();
    let plan = |changed: &[&str], more: &[&str]| {
        let args = [
            &["plan", "--format", "json", "--no-preflight", "--changed"],
            changed,
            more,
        ]
        .concat();
        let ran = project.run(&args);
        ran.exits(0);
        ran.json()
    };
    let ids = |plan: &Value| {
        plan["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let step = |plan: &Value, id: &str| {
        plan["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["id"] == id)
            .unwrap()
            .clone()
    };

    let web = plan(&["apps/web/src/a.ts"], &[]);
    assert_eq!(
        ids(&web),
        ["first", "web/lint", "web/unit", "web/built", "last"]
    );
    let lint = step(&web, "web/lint");
    assert_eq!(
        (&lint["dir"], &lint["argv"]),
        (&json!("apps/web"), &json!(["echo", "lint", "src/a.ts"]))
    );
    assert_eq!(
        (&lint["timeoutMs"], &lint["toolPath"]),
        (&json!(300_000), &json!(["apps/web/bin"]))
    );
    assert_eq!(
        lint["source"],
        json!({"column": 9, "file": "contracts/package.vplan", "line": 8})
    );
    assert_eq!(lint["reasons"][0]["file"], "contracts/package.vplan");
    assert_eq!(
        (&lint["reasons"][0]["paths"], &lint["reasons"][0]["glob"]),
        (&json!("web/code"), &json!("apps/web/src/**"))
    );
    let unit = step(&web, "web/unit");
    assert_eq!(
        (&unit["exclusive"], &unit["tags"]),
        (&json!("database"), &json!(["slow"]))
    );
    assert_eq!(unit["produces"], json!(["apps/web/out/**"]));
    assert_eq!(step(&web, "web/built")["path"], "apps/web/out/app");
    assert_eq!(
        step(&web, "first")["timeoutMs"],
        420_000,
        "the contract's own defaults are its own"
    );
    assert_eq!(step(&web, "first")["source"]["file"], MAIN);
    assert_eq!(
        web["contract"]["imports"].as_array().unwrap().len(),
        1,
        "each file once"
    );
    assert_eq!(
        web["contract"]["imports"][0]["path"],
        "contracts/package.vplan"
    );
    assert_eq!(
        web["facts"].as_array().unwrap().len(),
        4,
        "{:#}",
        web["facts"]
    );

    // The directory is no glob, and a trigger is below it too.
    let api = plan(&["apps/[api]/src/core/b.ts", "apps/a/src/b.ts"], &[]);
    assert_eq!(
        ids(&api),
        [
            "first",
            "api/lint",
            "api/unit",
            "web/unit",
            "web/built",
            "last"
        ]
    );
    assert_eq!(
        step(&api, "api/lint")["argv"],
        json!(["echo", "lint", "src/core/b.ts"])
    );
    assert_eq!(api["tiers"][1]["triggers"][0]["names"], json!(["api/core"]));
    assert_eq!(
        ids(&plan(&["apps/a/src/b.ts"], &[])),
        ["first", "web/unit", "web/built", "last"]
    );
    // An exclusion keeps its meaning, and a use reaches into a namespace.
    assert_eq!(
        ids(&plan(&["packages/lib/src/c.md"], &[])),
        ["first", "web/unit", "web/built", "last"]
    );
    assert_eq!(
        ids(&plan(&["README.md"], &["--role", "tester"])),
        ["first", "web/unit", "web/built", "lib/unit", "last"]
    );

    let told = project.run(&["explain", "--changed", "apps/web/src/a.ts"]);
    told.exits(0)
        .says("contracts/package.vplan:7")
        .says("web/lint");
    project
        .run(&["explain", "web/lint", "--changed", "apps/web/src/a.ts"])
        .exits(0)
        .says("contracts/package.vplan:8");
    project
        .run(&["check"])
        .exits(0)
        .says("contracts/verify.vplan: 11 checks from 2 files");
    let changed = plan(
        &["contracts/package.vplan", "contracts/verify.lock.kdl"],
        &[],
    );
    let notes: Vec<&str> = changed["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        notes,
        ["contracts/verify.lock.kdl", "contracts/package.vplan"]
    );
}

#[test]
fn a_revision_has_its_own_imports() {
    let project = monorepo();
    project.write("contracts/package.vplan", "vplan 1\ncheck weaker: true\n");
    let ids = |args: &[&str]| {
        let ran = project.run(
            &[
                &[
                    "plan",
                    "--format",
                    "json",
                    "--no-preflight",
                    "--changed",
                    "apps/web/src/a.ts",
                ],
                args,
            ]
            .concat(),
        );
        ran.exits(0);
        let plan = ran.json();
        plan["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    project.write(MAIN, "vplan 1\nimport \"package.vplan\"\n");
    assert_eq!(ids(&[]), ["weaker"]);
    assert_eq!(
        ids(&["--contract-from", "HEAD"]),
        ["first", "web/lint", "web/unit", "web/built", "last"]
    );
    project.remove("contracts/package.vplan").commit("gone");
    let ran = project.run(&["explain", "--changed-none", "--contract-from", "HEAD"]);
    ran.exits(3)
        .warns("load::import_missing")
        .warns("has no file `contracts/package.vplan`");
    assert_eq!(ids(&["--contract-from", "HEAD~1"]).len(), 5);
    // A symlink is what it is in the work tree: a file like any other inside, none outside.
    project
        .write("contracts/target", "vplan 1\ncheck linked: true\n")
        .symlink("contracts/package.vplan", "target");
    project.commit("link");
    assert_eq!(ids(&["--contract-from", "HEAD"]), ["linked"]);
    project
        .remove("contracts/package.vplan")
        .symlink("contracts/package.vplan", "../../out")
        .commit("outside");
    project
        .run(&["explain", "--changed-none", "--contract-from", "HEAD"])
        .exits(3);
}

#[test]
fn messages_lead_through_the_files() {
    let project = tree(&[
        (MAIN, "import \"a.vplan\"\nimport \"c.vplan\"\n"),
        ("contracts/a.vplan", "import \"b.vplan\"\n"),
        ("contracts/b.vplan", "check x: true\n"),
        ("contracts/c.vplan", "check y: true\ncheck x: true\n"),
    ]);
    let ran = project.run(&["check"]);
    ran.exits(3)
        .warns("contracts/c.vplan:3")
        .warns("contracts/b.vplan:2: first defined here");
    ran.warns("contracts/verify.vplan:3: the second comes with this");
    ran.warns("contracts/verify.vplan:2: the first comes with this");
    ran.warns("contracts/a.vplan:2: the first comes with this")
        .warns("import with `as NAME`");
    let project = tree(&[
        (MAIN, "import \"a.vplan\"\n"),
        ("contracts/a.vplan", "\nimport \"b.vplan\"\n"),
        ("contracts/b.vplan", "\n\nimport \"verify.vplan\"\n"),
    ]);
    let ran = project.run(&["check"]);
    ran.exits(3)
        .warns("`contracts/verify.vplan` -> `contracts/a.vplan` -> ");
    ran.warns("imports `contracts/b.vplan` in line 3")
        .warns("imports `contracts/verify.vplan` in line 4");
    let project = tree(&[
        (MAIN, "import \"a.vplan\"\n"),
        (
            "contracts/a.vplan",
            "role qa {\n}\nbyRole qa {\n  check x: true\n}\n",
        ),
    ]);
    project
        .run(&["check"])
        .exits(3)
        .warns("write a block `role qa` into the contract too")
        .warns("stays with its file");
    // Which is then enough.
    project.write(MAIN, "vplan 1\nimport \"a.vplan\"\nrole qa {\n}\n");
    project.run(&["check"]).exits(0);
}

#[test]
fn what_stays_with_its_file() {
    let project = tree(&[
        (
            MAIN,
            "contract \"own\"\ncheck a: true\nimport \"l.vplan\"\n",
        ),
        (
            "contracts/l.vplan",
            "contract \"other\"\ncheck b {\n  run true\n  tags t\n}\nscope {\n  deny \"**\"\n}\nrecover {\n  off\n}\n\
             limits {\n  jobs 9\n  jobs 8\n}\ngate {\n  retries 9\n}\nrole docser {\n  only t\n}\njudge-with x\n",
        ),
    ]);
    let contract = load_with(&project, &mut NothingPinned).contract.unwrap();
    assert_eq!(contract.name.as_deref(), Some("own"));
    assert_eq!(
        (
            contract.limits.jobs,
            contract.gate.retries,
            contract.judge_with
        ),
        (None, None, None)
    );
    assert!(
        contract.scope.deny.is_none()
            && !contract.recover.rules.is_empty()
            && contract.roles["docser"].only.is_empty()
    );
}

#[test]
fn json_contracts_and_shipped_ones() {
    let project = tree(&[
        (
            MAIN,
            "import \"old/verify.contract.json\" as old at \"old\"\nimport \"std:rust@1\"\n",
        ),
        (
            "contracts/old/verify.contract.json",
            "{\"commands\": [\"echo a\", \"echo a\"], \"rules\": [{\"whenChangedAny\": [\"x/**\"], \"commands\": [\"echo b\"]}]}",
        ),
    ]);
    let contract = load_with(&project, &mut NothingPinned).contract.unwrap();
    let ids: Vec<&str> = contract.checks.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "old/echo-a",
            "old/echo-a-2",
            "old/echo-b",
            "fmt",
            "check",
            "clippy",
            "test",
            "doc",
            "deny"
        ]
    );
    assert_eq!(contract.checks[CheckIndex::new(0)].dir.to_string(), "old");
    assert!(
        contract
            .imports
            .iter()
            .all(|i| i.digest != vplan::base::canon::Digest::hash(b""))
    );
}

#[test]
fn the_list_of_shipped_contracts() {
    let project = Project::bare();
    project
        .run(&["std"])
        .exits(0)
        .says("std:rust@1  ")
        .is_quiet();
    let text = project.run(&["std", "rust"]).out();
    assert!(text.starts_with("vplan 1\n"));
    for name in ["rust@3", "std:rust", "std:rust@3"] {
        assert_eq!(project.run(&["std", name]).exits(0).out(), text);
    }
    let list = project.run(&["std", "--format", "json"]).json()["contracts"].clone();
    let rust = list
        .as_array()
        .unwrap()
        .iter()
        .find(|e| e["name"] == "rust" && e["version"] == 3)
        .unwrap()
        .clone();
    assert_eq!(
        (&rust["import"], &rust["version"], rust.get("text")),
        (&json!("std:rust@3"), &json!(3), None)
    );
    assert_eq!(
        project.run(&["std", "rust", "--format", "json"]).json()["contracts"][0]["text"],
        text
    );
    for (name, help) in [
        ("rusty", "did you mean `rust@"),
        ("rust@99", "did you mean `rust@"),
        ("rust@x", "did you mean `rust@"),
        ("", "`vplan std` lists"),
        ("qqqqqq", "`vplan std` lists"),
    ] {
        project
            .run(&["std", name])
            .exits(2)
            .warns("usage::unknown_std")
            .warns(help);
    }
    project.run(&["std", "--format", "dot"]).exits(2);
}

/// As many files and checks as there may be, each file with checks, `paths`, needs and a sequence
/// of its own.
#[test]
fn as_much_as_there_may_be() {
    use std::fmt::Write as _;
    let project = Project::bare();
    let mut main = "vplan 1\n".to_owned();
    for file in 0..64 {
        writeln!(main, "import \"f{file}.vplan\" as f{file} at \"d/{file}\"").unwrap();
        let mut text = "vplan 1\npaths p = \"src/**\"\n".to_owned();
        for check in 0..156 {
            writeln!(
                text,
                "whenChangedAny p \"{check}/**\" {{\n  check c{check} {{\n    run true\n    produces \"out/{check}\""
            )
            .unwrap();
            text += &if check > 0 {
                format!("    needs c{}\n  }}\n}}\n", check - 1)
            } else {
                "  }\n}\n".to_owned()
            };
        }
        text += "sequence c0 -> *\n";
        project.write(format!("contracts/f{file}.vplan"), text);
    }
    project.write(MAIN, main);
    let loaded = load_with(&project, &mut NothingPinned);
    let contract = loaded.contract.expect("a contract");
    assert_eq!(
        (
            contract.checks.len(),
            contract.imports.len(),
            contract.sequences.len()
        ),
        (64 * 156, 64, 64)
    );
    assert_eq!(
        contract.sequences[1]
            .groups
            .iter()
            .map(Vec::len)
            .collect::<Vec<_>>(),
        [1, 155],
        "of its own file"
    );
}
