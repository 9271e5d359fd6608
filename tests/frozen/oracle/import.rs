//! Contracts that import each other.

use super::choices::fields;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use vplan::contract::import::IMPORT_CYCLE;
use vplan::effect::git::pins::NothingPinned;
use vplan::effect::repo::load::{self, ContractRequest};

/// Where the files lie, the contract first. Beside the repository lies another one, which nobody
/// may read.
const FILES: [&str; 6] = [
    "repo/contracts/verify.vplan",
    "repo/contracts/a.vplan",
    "repo/contracts/sub/b.vplan",
    "repo/c.vplan",
    "repo/contracts/d.contract.json",
    "repo/contracts/sub/deep/e.vplan",
];
/// What stands in the file outside, and nowhere else.
const SECRET: &str = "outside-of-everything";

thread_local! {
    static DIR: tempfile::TempDir = tempfile::tempdir().unwrap();
}

/// The texts of six files, separated by zeros: reading ends, always the same way, and reads nothing
/// outside of the repository; files that import each other in a circle are never a contract.
pub fn import(bytes: &[u8]) {
    // Whoever has guessed the name has not read it.
    if bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes()) {
        return;
    }
    let texts: [&[u8]; 6] = fields(bytes);
    DIR.with(|dir| {
        let outside = dir.path().join("other.vplan");
        if !outside.exists() {
            std::fs::write(&outside, format!("vplan 1\ncheck {SECRET}: true\n")).unwrap();
            for file in FILES {
                std::fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
            }
            std::os::unix::fs::symlink(
                "../../other.vplan",
                dir.path().join("repo/contracts/link.vplan"),
            )
            .unwrap();
            std::os::unix::fs::symlink("../..", dir.path().join("repo/contracts/up")).unwrap();
        }
        for (file, text) in FILES.iter().zip(texts) {
            std::fs::write(dir.path().join(file), text).unwrap();
        }
        let [one, two] = [(), ()].map(|()| {
            let site = load::locate(&dir.path().join("repo"), None, &|_| None).unwrap();
            let wanted = ContractRequest {
                contract: None,
                revision: None,
                base: None,
                max_file: 1 << 16,
                text: None,
                folders: vplan::effect::repo::folders::FoldersOf::WorkTree,
            };
            load::load(&site, &wanted, &mut NothingPinned).unwrap()
        });
        assert_eq!(one.contract, two.contract);
        assert_eq!(one.diagnostics, two.diagnostics);
        let said = format!("{:?} {:?}", one.contract, one.diagnostics);
        assert!(!said.contains(SECRET), "what lies outside was read");
        for diagnostic in one.diagnostics.iter() {
            for label in &diagnostic.labels {
                let source = one.sources.get(label.place.source).expect("a source");
                assert!(
                    source
                        .text()
                        .get(label.place.span.start..label.place.span.end)
                        .is_some(),
                    "{diagnostic:?}"
                );
            }
        }
        if let Some(contract) = &one.contract {
            assert_eq!(
                is_circular(&texts),
                None,
                "a circle is no contract: {contract:?}"
            );
            assert!(contract.imports.len() < FILES.len() + 64);
        }
        let cycles = one.diagnostics.iter().filter(|d| d.code == IMPORT_CYCLE);
        for diagnostic in cycles {
            assert!(
                !diagnostic.labels.is_empty(),
                "a circle without a place: {diagnostic:?}"
            );
        }
    });
}

/// A file that is reached from the contract and reaches itself, by the lines that say plainly what
/// they import.
fn is_circular(texts: &[&[u8]; 6]) -> Option<PathBuf> {
    let files: BTreeMap<PathBuf, &[u8]> = FILES
        .iter()
        .map(PathBuf::from)
        .zip(texts.iter().copied())
        .collect();
    let reached = |from: &PathBuf| {
        let mut all: BTreeSet<PathBuf> = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(file) = open.pop() {
            let Some(text) = files.get(&file).and_then(|t| std::str::from_utf8(t).ok()) else {
                continue;
            };
            // Inside of a text of several lines an import may be none.
            if text.contains(['\\', '\'']) || !file.to_string_lossy().ends_with(".vplan") {
                continue;
            }
            for line in text.split('\n') {
                let Some(name) = line
                    .strip_prefix("import \"")
                    .and_then(|l| l.strip_suffix('"'))
                else {
                    continue;
                };
                let mut to = file.parent().unwrap().to_owned();
                for part in name.split('/') {
                    match part {
                        "" | "." => {}
                        ".." => drop(to.pop()),
                        part => to.push(part),
                    }
                }
                if files.contains_key(&to) && all.insert(to.clone()) {
                    open.push(to);
                }
            }
        }
        all
    };
    let contract = PathBuf::from(FILES[0]);
    let mut all = reached(&contract);
    all.insert(contract);
    all.into_iter().find(|file| reached(file).contains(file))
}
