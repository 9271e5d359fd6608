//! The block of an import: what it changes is what an edit of the imported file would change, and
//! it is shown wherever the contract is.

use crate::support::Project;
use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::Value;
use std::collections::BTreeSet;
use vplan::arbitrary::config;
use vplan::base::diagnostic::Diagnostics;
use vplan::base::index::{Dense, Index as _};
use vplan::base::path::RepoPath;
use vplan::base::source::{Source, Sources};
use vplan::contract::Contract;
use vplan::contract::import::{self, File, FileIndex, expand};
use vplan::contract::validate::validate;
use vplan::front::vplan::lower;
use vplan::lang::parse::ParserCaps;
use vplan::plan::diff::Class;
use vplan::plan::diff::contracts::{Side, compare};

/// The imported file: its checks have settings of their own, defaults, conditions, an order.
const LIB: &str = r#"vplan 1
defaults {
  env A=1
  env B=1
  tags all
  timeout 9m
}
defaults test {
  retries 1
}
import "deep.vplan" as deep
check prepare: ./prepare
whenChangedAny "src/**" {
  check unit {
    test C=1 ./unit
    env B=2
    tags slow
    needs prepare
    exclusive port
    inputs "src/**"
  }
  check lint {
    lint ./lint
    max-warnings 3
  }
}
tier 1 {
  check late: ./late
}
sequence lint -> unit -> late
"#;

/// The same, edited by hand.
fn lib(edit: &[(&str, &str)]) -> String {
    let mut text = LIB.to_owned();
    for (old, new) in edit {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    text
}

/// A repository that imports the file.
fn project(block: &str, lib: String) -> Project {
    let project = Project::bare();
    let own = "check own {\n  run ./own\n  needs r/lint\n}\n";
    project.write(
        "contracts/verify.vplan",
        format!("vplan 1\nimport \"lib.vplan\" as r at \"app\"{block}\n{own}"),
    );
    project.write("contracts/lib.vplan", lib);
    project.write("contracts/deep.vplan", "vplan 1\ncheck unit: ./deep\n");
    project
}

/// The steps of a plan of everything, without the places of what stands in files.
fn steps(project: &Project) -> Vec<Value> {
    let request = [
        "plan",
        "--changed",
        "app/src/a.rs",
        "--min-tier",
        "1",
        "--format",
        "json",
    ];
    let ran = project.run(&request);
    ran.exits(0);
    let mut plan = ran.json();
    let steps = plan["steps"].as_array_mut().unwrap();
    for step in steps.iter_mut() {
        let step = step.as_object_mut().unwrap();
        step.remove("source");
        for reason in step["reasons"].as_array_mut().unwrap() {
            reason.as_object_mut().unwrap().remove("line");
        }
    }
    std::mem::take(steps)
}

#[test]
fn a_block_is_an_edit_of_the_file() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            "without late",
            &[
                ("tier 1 {\n  check late: ./late\n}\n", ""),
                ("-> unit -> late", "-> unit"),
            ],
        ),
        (
            "without late unit",
            &[
                ("tier 1 {\n  check late: ./late\n}\n", ""),
                ("sequence lint -> unit -> late\n", ""),
                (
                    "  check unit {\n    test C=1 ./unit\n    env B=2\n    tags slow\n    needs prepare\n    exclusive port\n    inputs \"src/**\"\n  }\n",
                    "",
                ),
            ],
        ),
        ("without deep/*", &[("import \"deep.vplan\" as deep\n", "")]),
        (
            "override unit {\n    test ./other {changed}\n  }",
            &[("test C=1 ./unit", "test ./other {changed}")],
        ),
        (
            "override unit {\n    timeout 1h\n  }",
            &[("tags slow", "tags slow\n    timeout 1h")],
        ),
        // Variables stand in front of a command, too.
        (
            "override unit {\n    env C=9\n  }",
            &[("test C=1 ./unit", "test C=9 ./unit")],
        ),
        (
            "override unit {\n    env B=9\n  }",
            &[("env B=2", "env B=9")],
        ),
        (
            "override unit {\n    env A=\n  }",
            &[("env B=2", "env B=2\n    env A=")],
        ),
        (
            "override unit {\n    without exclusive inputs\n  }",
            &[("    exclusive port\n    inputs \"src/**\"\n", "")],
        ),
        (
            "override unit {\n    needs lint\n  }\n  override unit {\n    tier 1\n  }",
            &[],
        ),
        (
            "override late {\n    tier 0\n  }",
            &[(
                "tier 1 {\n  check late: ./late\n}\n",
                "check late: ./late\n",
            )],
        ),
        (
            "override lint {\n    without max-warnings\n    max-errors 2\n  }",
            &[("max-warnings 3", "max-errors 2")],
        ),
        (
            "override l* {\n    timeout 2m\n  }",
            &[
                ("max-warnings 3", "max-warnings 3\n    timeout 2m"),
                (
                    "check late: ./late",
                    "check late {\n  run ./late\n  timeout 2m\n  }",
                ),
            ],
        ),
    ];
    for (block, edit) in cases {
        let changed = project(&format!(" {{\n  {block}\n}}"), lib(&[]));
        if edit.is_empty() {
            // Names of the importing file are not those of the imported one.
            changed
                .run(&["check"])
                .exits(3)
                .warns("unknown check `lint`");
            continue;
        }
        let edited = project("", lib(edit));
        assert_eq!(steps(&changed), steps(&edited), "{block}");
        assert_ne!(steps(&changed), steps(&project("", lib(&[]))), "{block}");
    }
}

#[test]
fn defaults_of_the_file_do_not_reach_what_is_replaced() {
    let block = " {\n  override unit {\n    tags mine\n    dir \"tools\"\n    without env.A timeout retries\n  }\n  \
                 override lint {\n    without env dir tags\n    inputs \"x/**\"\n  }\n}";
    let all = steps(&project(block, lib(&[])));
    let of = |id: &str| all.iter().find(|step| step["id"] == id).unwrap().clone();
    let unit = of("r/unit");
    assert_eq!(unit["tags"], serde_json::json!(["mine"]));
    assert_eq!(unit["dir"], "tools", "paths are the importing file's");
    assert_eq!(unit["env"], serde_json::json!({"B": "2", "C": "1"}));
    assert_eq!(unit["retries"], 0);
    assert_eq!(unit["timeoutMs"], 2 * 60 * 1000, "what holds for `test`");
    let lint = of("r/lint");
    assert_eq!(lint["env"], serde_json::json!({}));
    assert_eq!(lint["dir"], "app", "the folder that the file is used for");
    assert_eq!(lint["tags"], serde_json::json!(null));
    assert_eq!(lint["inputs"], serde_json::json!([{"glob": "x/**"}]));
}

#[test]
fn what_is_changed_is_shown() {
    let block =
        " {\n  without late\n  override unit {\n    timeout 1h\n    without exclusive\n  }\n}";
    let project = project(block, lib(&[]));
    let page = project.run(&["explain", "--changed", "app/src/a.rs"]);
    page.exits(0);
    page.says("timeout, exclusive changed in contracts/verify.vplan:5,6");
    page.says("r/late (contracts/verify.vplan:3)");
    let story = project.run(&["explain", "r/unit", "--changed-none"]);
    story.exits(0).says("what an import changes");
    let list = project
        .run(&["explain", "--checks", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(list["takenOut"][0]["name"], "r/late");
    let definitions = list["definitions"].as_array().unwrap();
    let unit = definitions.iter().find(|d| d["name"] == "r/unit").unwrap();
    assert_eq!(unit["changed"][1]["part"], "exclusive");
    assert_eq!(unit["file"], "contracts/lib.vplan");
    let text = project.run(&["explain", "--checks"]);
    text.exits(0)
        .says("taken out: r/late (contracts/verify.vplan:3)");
    project.run(&["explain", "--checks", "own"]).exits(2);
    project
        .run(&["explain", "--checks", "--format", "dot"])
        .exits(2);
    let laid_out = project.run(&["fmt", "--check"]);
    laid_out.exits(0);
}

#[test]
fn a_check_that_is_taken_out_has_no_name_any_more() {
    let project = project(" {\n  without late\n}\nsequence own -> r/late", lib(&[]));
    project
        .run(&["check"])
        .exits(3)
        .warns("unknown check `r/late`");
    // One of its own may stand for it.
    let project = Project::bare();
    project.write(
        "contracts/lib.vplan",
        "vplan 1\ncheck a: ./theirs\ncheck b {\n  run ./b\n  needs a\n}\n",
    );
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nimport \"lib.vplan\" {\n  without a\n}\ncheck a: ./ours\n",
    );
    let all = steps(&project);
    assert_eq!(all[0]["argv"], serde_json::json!(["./ours"]));
    assert_eq!(all[1]["after"], serde_json::json!(["a"]));
}

#[test]
fn each_rows_of_a_definition_stand_in_one_line() {
    let project = Project::contract(
        "vplan 1\neach py in 3.12 3.13 {\n  whenChangedAny \"src/{py}/**\" {\n    check unit-{py}: tox -e {py}\n  }\n}\n",
    );
    let list = project.run(&["explain", "--checks"]);
    list.exits(0)
        .says("unit-{py}  run  contracts/verify.vplan:4")
        .says("2 rows: unit-3.12 unit-3.13")
        .says("whenChangedAny \"src/{py}/**\" (line 3)");
}

/// A contract that imports a file, with the block of that import.
fn contract_of(block: &str, lib: &str) -> Result<(Contract, Sources), TestCaseError> {
    let mut sources = Sources::default();
    let mut sink = Diagnostics::default();
    let texts = [
        (
            "contracts/verify.vplan",
            format!("vplan 1\nimport \"l\"{block}\n"),
        ),
        ("contracts/l", lib.to_owned()),
    ];
    let mut files: Dense<FileIndex, File> = Dense::default();
    for (name, text) in &texts {
        let source = sources.add(Source::new(*name, text));
        files.push(File {
            draft: lower(&sources, source, &ParserCaps::default(), &mut sink),
            name: (*name).to_owned(),
            path: RepoPath::parse(name.as_bytes()).ok(),
            is_foreign: false,
            source,
            bytes: text.len(),
            imports: Vec::new(),
        });
    }
    let imported = FileIndex::new(1);
    files[FileIndex::CONTRACT].imports = vec![Some(imported)];
    let draft = expand(files, &import::ImportCaps::default(), &sources, &mut sink);
    let contract = draft.and_then(|draft| validate(&draft, &sources, &mut sink));
    let contract =
        contract.ok_or_else(|| TestCaseError::fail(format!("{lib}\n{:?}", sink.sorted())))?;
    Ok((contract, sources))
}

proptest! {
    #![proptest_config(config(512))]

    /// Taking checks out never makes a contract stronger.
    #[test]
    fn taken_out_is_never_stronger(
        count in 2_usize..7,
        needs in prop::collection::vec((0_usize..7, 0_usize..7), 0..4),
        out in subsequence((0..7).collect::<Vec<usize>>(), 1..5),
        order in prop::option::of((0_usize..7, 0_usize..7)),
    ) {
        let out: BTreeSet<usize> = out.into_iter().filter(|n| *n < count).collect();
        prop_assume!(!out.is_empty() && out.len() < count);
        let mut lib = String::from("vplan 1\n");
        for n in 0..count {
            lib.push_str(&format!("check c{n} {{\n  run ./c{n}\n"));
            // What is left needs nothing that is taken out.
            let needs = needs.iter().filter(|(a, b)| *a == n && b < a && (out.contains(a) || !out.contains(b)));
            let needs: BTreeSet<String> = needs.map(|(_, b)| format!("c{b}")).collect();
            if !needs.is_empty() {
                lib.push_str(&format!("  needs {}\n", Vec::from_iter(needs).join(" ")));
            }
            lib.push_str("}\n");
        }
        if let Some((a, b)) = order.filter(|(a, b)| a < b && *b < count) {
            lib.push_str(&format!("sequence c{a} -> c{b}\n"));
        }
        let names: Vec<String> = out.iter().map(|n| format!("c{n}")).collect();
        let (old, old_texts) = contract_of("", &lib)?;
        let (new, new_texts) = contract_of(&format!(" {{\n  without {}\n}}", names.join(" ")), &lib)?;
        prop_assert_eq!(new.checks.len() + out.len(), old.checks.len());
        let old = Side { contract: &old, sources: &old_texts };
        let new = Side { contract: &new, sources: &new_texts };
        let found = compare(&old, &new, &[]).differences;
        let weaker = found.iter().filter(|d| d.class == Class::Weakens).count();
        prop_assert!(weaker >= out.len(), "{:?}", found);
        prop_assert!(found.iter().all(|d| d.class != Class::Strengthens), "{:?}", found);
    }
}
