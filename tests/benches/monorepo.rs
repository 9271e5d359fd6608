//! What would a large monorepo's contract and change look like? The same numbers give the same
//! texts on every machine.
#![allow(dead_code, reason = "not every benchmark asks for everything")]

use std::fmt::Write as _;
use vplan::arbitrary::glob::change_set;
use vplan::base::change::ChangeSet;
use vplan::base::glob::{Glob, Item, ItemContent, Selection};
use vplan::base::path::RepoPath;

/// The lists of `checks` conditions, each as it would stand behind `whenChangedAny`: directories,
/// files of a kind in a directory or anywhere, lock files, exclusions. About one in four is equal
/// to another.
pub fn lists(checks: usize) -> Vec<Vec<String>> {
    let list = |i: usize| -> Vec<String> {
        let n = i / 10;
        match i % 10 {
            0..=2 => vec![format!("apps/app{}/**", n * 3 + i % 10)],
            3 => vec![
                format!("apps/app{n}/src/**/*.{{ts,tsx}}"),
                "!**/*.test.ts".into(),
            ],
            4 => vec![format!("packages/*/src/mod{}/**/*.{{ts,tsx}}", n % 40)],
            5 => vec![
                format!("packages/pkg{n}/**"),
                "packages/*/package.json".into(),
                "!**/*.md".into(),
            ],
            6 => vec![format!(
                "**/*.{}",
                ["rs", "go", "py", "sql", "proto"][n % 5]
            )],
            7 => vec![format!("apps/app{n}/package.json"), "pnpm-lock.yaml".into()],
            8 => vec![
                format!("services/svc{n}/**"),
                "**/*.proto".into(),
                format!("!services/svc{n}/gen/**"),
            ],
            _ => vec![format!("**/mod{n}/**"), format!("libs/lib{n}/[a-z]*.rs")],
        }
    };
    (0..checks).map(list).collect()
}

/// `files` different paths, four to eight segments deep, in no order.
pub fn paths(files: usize) -> Vec<String> {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        // xorshift64, Marsaglia 2003.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as usize % below
    };
    let mut all = std::collections::BTreeSet::new();
    while all.len() < files {
        let (top, name) = [
            ("apps", "app"),
            ("packages", "pkg"),
            ("services", "svc"),
            ("libs", "lib"),
        ][random(4)];
        let part = ["src", "test", "gen", "docs"][random(4)];
        let extension = [
            "ts", "tsx", "test.ts", "rs", "go", "py", "md", "json", "proto", "css",
        ][random(10)];
        let deep = ["", "core/", "core/io/"][random(3)];
        let path = format!(
            "{top}/{name}{}/{part}/mod{}/{deep}file{}.{extension}",
            random(3000),
            random(1000),
            random(files)
        );
        all.insert(path);
    }
    let mut all: Vec<String> = all.into_iter().collect();
    // The order in which they are given is not to matter; this one is the worst for whoever hopes
    // for neighbours.
    all.sort_by_key(|path| path.bytes().rev().collect::<Vec<u8>>());
    all
}

/// A contract with one check a list, to be measured as a whole process.
pub fn contract(checks: usize) -> String {
    let mut text = String::from("vplan 1\ncontract \"monorepo\"\n");
    for (i, list) in lists(checks).iter().enumerate() {
        let items = list
            .iter()
            .map(|item| format!("\"{item}\""))
            .collect::<Vec<_>>()
            .join(" ");
        let _ = write!(
            text,
            "\nwhenChangedAny {items} {{\n  check check-{i}: tool verify {i}\n}}\n"
        );
    }
    text
}

/// A list of changed files, one a line, for `--changed-from FILE`.
pub fn changed(files: usize) -> String {
    paths(files).into_iter().map(|path| path + "\n").collect()
}

/// Lists as selections.
pub fn selections(lists: &[Vec<String>]) -> Vec<Selection> {
    let item = |text: &String| {
        let (not, text) = text
            .strip_prefix('!')
            .map_or((false, text.as_str()), |text| (true, text));
        Item {
            not,
            what: ItemContent::Glob(Glob::parse(text).unwrap()),
        }
    };
    lists
        .iter()
        .map(|list| Selection {
            items: list.iter().map(item).collect(),
        })
        .collect()
}

/// The paths as a change set.
pub fn changes(files: usize) -> ChangeSet {
    change_set(
        paths(files)
            .iter()
            .map(|path| RepoPath::from_exact(path.as_bytes()).unwrap())
            .collect(),
    )
}
