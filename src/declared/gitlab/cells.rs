//! The cells of `parallel: matrix`: the one that fits this machine, and those that change
//! the work.

use super::item::Item;
use crate::base::path::RepoPath;
use crate::declared::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// A cell: its variables.
pub(super) type Cell = BTreeMap<String, String>;

/// The cells that become checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chosen {
    /// The cell of tier 0.
    pub(super) first: Cell,
    /// Cells whose other axes have other values: tier 1, at most three.
    pub(super) more: Vec<Cell>,
    /// The number of all cells.
    pub(super) count: usize,
    /// Combinations of other axes that are no check.
    pub(super) dropped: Vec<String>,
}

/// The most cells that are looked at.
const MAX_CELLS: usize = 256;
/// The most further values that become checks.
const MAX_MORE: usize = 3;

/// Words in the name of an axis of platforms or toolchains.
const TOOLCHAINS: &[&str] = &[
    "ARCH",
    "DISTRO",
    "DOTNET",
    "ELIXIR",
    "GO",
    "GOLANG",
    "IMAGE",
    "JAVA",
    "JDK",
    "NODE",
    "NODEJS",
    "OS",
    "OTP",
    "PHP",
    "PLATFORM",
    "PY",
    "PYTHON",
    "RUBY",
    "RUNNER",
    "RUST",
    "RUSTC",
    "TAG",
    "TOOLCHAIN",
    "VERSION",
];

/// Chooses among the cells of a job.
pub(super) fn choose(tree: &Tree, matrix: &Item) -> Option<Chosen> {
    let cells = all(matrix);
    let pins = pins(tree);
    let mut best = cells.first()?;
    for cell in &cells {
        if rank(cell, &pins) > rank(best, &pins) {
            best = cell;
        }
    }
    // The first value of the other axes, with the best toolchain.
    let others = |cell: &Cell| -> Cell {
        let own = cell.iter().filter(|(name, _)| !is_toolchain(name));
        own.map(|(n, v)| (n.clone(), v.clone())).collect()
    };
    let wanted = cells.first().map(others).unwrap_or_default();
    let best_of = |wanted: &Cell| {
        let alike = cells.iter().filter(|cell| others(cell) == *wanted);
        alike.reduce(|a, b| {
            if rank(b, &pins) > rank(a, &pins) {
                b
            } else {
                a
            }
        })
    };
    let first = best_of(&wanted).unwrap_or(best).clone();
    let mut seen = BTreeSet::from([others(&first)]);
    let mut more = Vec::new();
    let mut dropped = Vec::new();
    let kinds: BTreeSet<Cell> = cells.iter().map(others).collect();
    for cell in &cells {
        let own = others(cell);
        if !seen.insert(own.clone()) {
            continue;
        }
        // More than four values: only the first.
        if kinds.len() <= MAX_MORE + 1
            && let Some(cell) = best_of(&own)
        {
            more.push(cell.clone());
        } else {
            dropped.push(words(&own));
        }
    }
    Some(Chosen {
        first,
        more,
        count: cells.len(),
        dropped,
    })
}

/// A cell as words for people: the values of its axes.
pub(super) fn words(cell: &Cell) -> String {
    let words: Vec<String> = cell.iter().map(|(n, v)| format!("{n}={v}")).collect();
    words.join(" ")
}

/// All cells, in the order of the file: each entry of the list is a product.
fn all(matrix: &Item) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for entry in matrix.flat() {
        let mut product = vec![Cell::new()];
        for axis in entry.entries() {
            let values = axis.value.texts();
            let mut next = Vec::new();
            for cell in &product {
                for (value, _) in &values {
                    if next.len() >= MAX_CELLS {
                        break;
                    }
                    let mut cell = cell.clone();
                    cell.insert(axis.key.clone(), (*value).to_owned());
                    next.push(cell);
                }
            }
            product = next;
        }
        cells.extend(product.into_iter().filter(|cell| !cell.is_empty()));
        cells.truncate(MAX_CELLS);
    }
    cells
}

fn is_toolchain(name: &str) -> bool {
    name.split(['_', '-'])
        .any(|word| TOOLCHAINS.contains(&word.to_ascii_uppercase().as_str()))
}

/// Versions that the repository pins.
fn pins(tree: &Tree) -> Vec<String> {
    let mut all = Vec::new();
    let root = RepoPath::root();
    for name in [
        ".python-version",
        ".nvmrc",
        ".node-version",
        ".ruby-version",
        ".java-version",
    ] {
        if let Some((_, text)) = tree.text(&root, name) {
            let version = text.trim().trim_start_matches('v');
            all.push(version.to_owned());
        }
    }
    if let Some((_, text)) = tree.text(&root, "go.mod") {
        let version = text.lines().find_map(|line| line.strip_prefix("go "));
        all.extend(version.map(|v| v.trim().to_owned()));
    }
    for name in ["rust-toolchain.toml", "rust-toolchain"] {
        if let Some((_, text)) = tree.text(&root, name) {
            let channel = text
                .lines()
                .find_map(|line| line.trim().strip_prefix("channel"));
            let channel = channel.unwrap_or(text);
            all.push(channel.trim_matches([' ', '=', '"', '\n']).to_owned());
        }
    }
    if let Some((_, text)) = tree.text(&root, ".tool-versions") {
        let versions = text
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1));
        all.extend(versions.map(str::to_owned));
    }
    all.retain(|version| !version.is_empty());
    all
}

/// The fit of a cell to this machine: Linux, then the pinned version, then the newest release.
fn rank(cell: &Cell, pins: &[String]) -> (bool, bool, bool, Vec<Vec<u64>>) {
    let values: Vec<&String> = cell
        .iter()
        .filter(|(name, _)| is_toolchain(name))
        .map(|(_, value)| value)
        .collect();
    let holds = |words: &[&str]| {
        values.iter().any(|value| {
            let value = value.to_ascii_lowercase();
            words.iter().any(|word| value.contains(word))
        })
    };
    let linux = !holds(&["windows", "macos", "darwin", "freebsd", "arm64", "aarch64"]);
    let released = !holds(&[
        "nightly", "beta", "alpha", "rc", "dev", "pypy", "head", "next", "t-",
    ]);
    let pinned = values.iter().any(|value| {
        pins.iter().any(|pin| {
            pin == *value
                || pin
                    .strip_prefix(value.as_str())
                    .is_some_and(|rest| rest.starts_with('.'))
                || value
                    .strip_prefix(pin.as_str())
                    .is_some_and(|rest| rest.starts_with(['.', '-']))
        })
    });
    let versions = values.iter().map(|value| numbers(value)).collect();
    (linux, pinned, released, versions)
}

fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap_or(u64::MAX))
        .collect()
}
