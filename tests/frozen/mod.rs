//! What was once found by fuzzing, forever: every input below `tests/frozen/TARGET` and every seed
//! of the fuzz targets holds, and the targets, their files and their manifest are the same list.

pub mod oracle;

use oracle::ALL;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use vplan::lang::statement::STATEMENTS;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files directly below, by name.
fn inputs(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return BTreeMap::new();
    };
    let entries = entries.map(|e| e.unwrap()).filter(|e| e.path().is_file());
    entries
        .map(|e| {
            (
                e.file_name().into_string().unwrap(),
                std::fs::read(e.path()).unwrap(),
            )
        })
        .collect()
}

/// Holds every input against its target; says which ones do not hold, and how many there are.
fn replay(dir: &str) -> (Vec<String>, usize) {
    let mut broken = Vec::new();
    let mut count = 0;
    for (target, oracle) in ALL {
        for (name, bytes) in inputs(&root().join(dir).join(target)) {
            count += 1;
            if std::panic::catch_unwind(|| oracle(&bytes)).is_err() {
                broken.push(format!("{dir}/{target}/{name}"));
            }
        }
    }
    (broken, count)
}

#[test]
fn what_was_found_once_holds() {
    let (broken, count) = replay("tests/frozen");
    assert_eq!(broken, [""; 0]);
    assert!(count > 0, "nothing is frozen");
}

#[test]
fn every_seed_holds() {
    let (broken, count) = replay("fuzz/seeds");
    assert_eq!(broken, [""; 0]);
    assert!(count > 200, "{count} seeds");
}

/// A directory of inputs that no target reads would rot.
#[test]
fn targets_are_what_they_are_called() {
    let known: BTreeSet<String> = ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(known.len(), ALL.len());
    let files = inputs(&root().join("fuzz/fuzz_targets"));
    assert_eq!(
        files
            .keys()
            .map(|f| f.trim_end_matches(".rs").to_owned())
            .collect::<BTreeSet<_>>(),
        known
    );
    for (name, text) in &files {
        let text = String::from_utf8(text.clone()).unwrap();
        let target = name.trim_end_matches(".rs");
        assert_eq!(
            text.matches(&format!("vplan_fuzz::run(\"{target}\", "))
                .count(),
            1,
            "{name}"
        );
    }
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    let built: BTreeSet<String> = manifest
        .split("[[bin]]\n")
        .skip(1)
        .map(|bin| {
            bin.lines()
                .next()
                .unwrap()
                .trim_start_matches("name = \"")
                .trim_end_matches('"')
                .to_owned()
        })
        .collect();
    assert_eq!(built, known);
    for dir in ["fuzz/seeds", "tests/frozen"] {
        for entry in std::fs::read_dir(root().join(dir))
            .unwrap()
            .map(|e| e.unwrap())
        {
            let name = entry.file_name().into_string().unwrap();
            assert!(
                !entry.path().is_dir() || name == "oracle" || known.contains(&name),
                "{dir}/{name} is read by nobody"
            );
        }
    }
}

/// A word that is not there is found by chance at best.
#[test]
fn the_dictionary_has_every_statement() {
    let dictionary = std::fs::read_to_string(root().join("fuzz/dict/all.dict")).unwrap();
    let begins = |word: &str| {
        let mut entries = dictionary.lines().filter_map(|line| line.strip_prefix('"'));
        entries.any(|entry| {
            let behind = entry.strip_prefix(word);
            behind.is_some_and(|behind| {
                !behind.starts_with(|c: char| c.is_alphanumeric() || c == '-')
            })
        })
    };
    let words = STATEMENTS.iter().map(|statement| statement.word);
    let words = words.chain(["in-folders", "in-workspace", "dependents"]);
    let missing: BTreeSet<&str> = words.filter(|word| !begins(word)).collect();
    assert_eq!(missing, BTreeSet::new());
}
