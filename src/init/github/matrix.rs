//! The cells of a job's matrix and how ordinary each of them is.

use crate::expression::{Entries as Cell, Scope, Value, get};
use crate::words::{is_listed, listed};
use vplan_front::tree::TreeNode;

/// The most cells of a matrix.
const MAX_CELLS: usize = 256;

/// Builds the cells: one of unknown values where the matrix is not known before CI runs, an empty one
/// where there is none.
pub(super) fn cells(scope: &Scope, node: Option<&TreeNode>) -> Vec<Cell> {
    let Some(node) = node else {
        return vec![Cell::new()];
    };
    let entries = scope.node(node).entries();
    let maps = |name: &str| -> Vec<Cell> {
        let Value::List(items) = get(&entries, name) else {
            return Vec::new();
        };
        let maps = items.into_iter().map(Value::entries);
        maps.filter(|map| !map.is_empty()).take(MAX_CELLS).collect()
    };
    let is_axis = |(key, _): &&(String, Value)| key != "include" && key != "exclude";
    let axes = entries.iter().filter(is_axis);
    let mut all = vec![Cell::new()];
    for (key, value) in axes.clone() {
        let values = match value {
            Value::List(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        let with = |cell: &Cell| {
            let one = |value: &Value| [&**cell, &[(key.clone(), value.clone())]].concat();
            values.iter().map(one).collect::<Vec<Cell>>()
        };
        if !values.is_empty() {
            all = all.iter().flat_map(with).take(MAX_CELLS).collect();
        }
    }
    let is_out = |cell: &Cell, out: &Cell| out.iter().all(|(k, v)| is(cell, k, v));
    let excluded = maps("exclude");
    all.retain(|cell| !cell.is_empty() && !excluded.iter().any(|out| is_out(cell, out)));
    let original = all.len();
    for included in maps("include") {
        let own = |key: &str| axes.clone().any(|(axis, _)| axis == key);
        let mut fits = false;
        for cell in all.iter_mut().take(original) {
            if included.iter().any(|(k, v)| own(k) && !is(cell, k, v)) {
                continue;
            }
            fits = true;
            cell.retain(|(k, _)| own(k) || !included.iter().any(|(other, _)| other == k));
            cell.extend(included.iter().filter(|(k, _)| !own(k)).cloned());
        }
        if !fits && all.len() < MAX_CELLS {
            all.push(included);
        }
    }
    if all.is_empty() {
        all.push(vec![("*".to_owned(), Value::Unknown)]);
    }
    all
}

fn is(cell: &Cell, key: &str, value: &Value) -> bool {
    let own = cell.iter().find(|(k, _)| k == key);
    own.is_some_and(|(_, own)| own == value)
}

fn parts(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let parts = lower.split(|c: char| !c.is_ascii_alphanumeric());
    parts.map(str::to_owned).collect()
}

/// Whether a runner's label is another system.
pub(crate) fn is_foreign(label: &str) -> bool {
    let parts = parts(label);
    parts.iter().any(|part| is_listed("foreign", part))
}

/// How ordinary a cell is among all: 0 for the newest versions without a target.
pub(super) fn oddness(cell: &Cell, all: &[Cell]) -> u32 {
    let mut odd = 0_u32;
    for (key, value) in cell {
        let text = match value {
            Value::Map(entries) => {
                let texts = entries.iter().filter_map(|(_, value)| value.scalar());
                texts.collect::<Vec<_>>().join(" ")
            }
            other => other.scalar().unwrap_or_default(),
        };
        odd += odd_words(&text);
        let none = "false x86_64-unknown-linux-gnu x64 amd64 x86_64";
        if is_listed("targets", &key.to_ascii_lowercase())
            && !text.is_empty()
            && !listed(none, &text)
        {
            odd += 4;
        }
        if let Some(version) = version(&text) {
            let others = all.iter().flatten().filter(|(other, _)| other == key);
            let others = others.filter_map(|(_, value)| self::version(&value.scalar()?));
            let newer: std::collections::BTreeSet<_> = others.filter(|v| *v > version).collect();
            odd += u32::try_from(newer.len().min(3)).unwrap_or_default();
        }
    }
    odd
}

/// A weight for the words of a text that name another machine, a preview or a lower bound.
pub(crate) fn odd_words(text: &str) -> u32 {
    let parts = parts(text);
    let is_odd = |part: &&String| is_listed("odd", part) || is_listed("foreign", part);
    parts.iter().filter(is_odd).map(|_| 3).sum()
}

/// The version in a text such as `3.12`, `v20.x`, `ubuntu-22.04`, `stable`; named ones are the newest.
fn version(text: &str) -> Option<Vec<u32>> {
    let parts = parts(text);
    if parts.iter().any(|part| listed("stable latest lts", part)) {
        return Some(vec![u32::MAX]);
    }
    let digits = text.get(text.find(|c: char| c.is_ascii_digit())?..)?;
    let numbers = digits.split('.').map_while(|part| part.parse().ok());
    let numbers: Vec<u32> = numbers.collect();
    (!numbers.is_empty()).then_some(numbers)
}
