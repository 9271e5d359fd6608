//! `vplan init` on trees shaped like real repositories: the contract and the account, each of which
//! was read and approved. Set `VPLAN_TEST_BLESS` to write them anew.

use crate::support::Project;
use crate::support::tree::copy;
use std::path::{Path, PathBuf};

fn trees() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/init")
}

/// The names of all trees.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(trees()).unwrap();
    let folders = entries.map(Result::unwrap).filter(|e| e.path().is_dir());
    let mut names: Vec<String> = folders
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[track_caller]
fn approved(file: &str, text: &str) {
    let path = trees().join(file);
    if std::env::var_os("VPLAN_TEST_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "{file}");
}

#[test]
fn contracts_and_accounts() {
    for name in names() {
        let project = Project::git_empty();
        // The name of the folder is the name of the contract.
        copy(&trees().join(&name), &project.root());
        project.commit("begin");
        let shown = project.run(&["init", "--stdout"]);
        shown.exits(0).is_quiet();
        assert_eq!(project.git(&["status", "--porcelain", "--ignored"]), "");
        let said = project.run(&["init", "-v"]);
        said.exits(0);
        let text = project.read("contracts/verify.vplan");
        assert_eq!(text, shown.out(), "{name}: the same bytes twice");
        project.run(&["check"]).exits(0);
        project.run(&["fmt", "--check"]).exits(0);
        approved(&format!("{name}.vplan"), &text);
        approved(&format!("{name}.account"), &said.out());
        let document = project
            .run(&["init", "--stdout", "--format", "json"])
            .json();
        for check in document["checks"].as_array().unwrap() {
            let source = &check["source"];
            let file = project.read(source["file"].as_str().unwrap());
            let line = usize::try_from(source["line"].as_u64().unwrap()).unwrap();
            assert!(file.lines().nth(line - 1).is_some(), "{name}: {check}");
        }
    }
}

/// What a repository's fixtures declare is not declared for the repository.
#[test]
fn fixtures_declare_nothing() {
    let project = Project::git_empty();
    for name in names() {
        copy(
            &trees().join(&name),
            &project.path(format!("tests/fixtures/{name}")),
        );
    }
    project.commit("begin");
    let ran = project.run(&["init", "--format", "json"]);
    ran.exits(0);
    let document = ran.json();
    assert_eq!(document["checks"], serde_json::json!([]), "{document:#}");
}
