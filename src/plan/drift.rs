//! Lists the fields in which two plans differ. One line a field, for people who must decide whether
//! a saved plan still fits.

use super::Plan;
use super::canonical::value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::word::visible;

/// Maximum number of characters that are shown of a value.
const SHOWN: usize = 120;
/// Fields that name an item of a list, in the order in which they are tried.
const NAMES: [&str; 6] = ["id", "question", "path", "tier", "kind", "name"];

/// A field that is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Drift")]
pub struct Difference {
    /// The path of the field: `steps.unit.timeoutMs`.
    pub path: String,
    /// Its present value; absent when it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<String>,
    /// Its saved value; absent when it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [saved, present] =
            [&self.saved, &self.present].map(|value| value.as_deref().unwrap_or("(absent)"));
        write!(f, "{}: {saved} -> {present}", self.path)
    }
}

/// Returns all fields in which two plans differ, without annotations, in the order of their paths'
/// first appearance in the saved plan. Empty exactly when their digests are the same.
pub fn drift(saved: &Plan, present: &Plan) -> Vec<Difference> {
    let mut found = Vec::new();
    differences("", Some(&value(saved)), Some(&value(present)), &mut found);
    found
}

/// INVARIANT (depth): a plan nests a handful of levels.
fn differences(
    path: &str,
    saved: Option<&Value>,
    present: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    if saved == present {
        return;
    }
    match (saved, present) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            for (key, value) in a {
                differences(&join(path, key), Some(value), b.get(key), found);
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                differences(&join(path, key), None, Some(value), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => match (by_name(a), by_name(b)) {
            (Some(a), Some(b)) => lists(path, &a, &b, found),
            _ => found.push(difference(path, saved, present)),
        },
        _ => found.push(difference(path, saved, present)),
    }
}

type Named<'a> = Vec<(String, &'a Value)>;

/// Returns the items of a list with their names, if each has one of its own.
fn by_name(list: &[Value]) -> Option<Named<'_>> {
    let name =
        |item: &Map<String, Value>| NAMES.iter().find_map(|key| item.get(*key)).map(name_text);
    let items = list.iter();
    let names = items.map(|item| Some((name(item.as_object()?)?, item)));
    let names = names.collect::<Option<Named<'_>>>()?;
    let each_once: BTreeSet<&String> = names.iter().map(|(name, _)| name).collect();
    (each_once.len() == names.len()).then_some(names)
}

fn name_text(value: &Value) -> String {
    match value {
        Value::String(text) => visible(text),
        value => value.to_string(),
    }
}

fn lists(path: &str, a: &Named<'_>, b: &Named<'_>, found: &mut Vec<Difference>) {
    let [in_a, in_b]: [BTreeMap<_, _>; 2] = [a, b].map(|list| list.iter().cloned().collect());
    for (name, value) in a {
        match in_b.get(name) {
            Some(other) => differences(&join(path, name), Some(value), Some(other), found),
            None => found.push(difference(&join(path, name), Some(&summary(value)), None)),
        }
    }
    for (name, value) in b.iter().filter(|(name, _)| !in_a.contains_key(name)) {
        found.push(difference(&join(path, name), None, Some(&summary(value))));
    }
    let common = |list: &Named<'_>, other: &BTreeMap<String, &Value>| -> Value {
        let names = list.iter().map(|(name, _)| name.as_str());
        names.filter(|name| other.contains_key(*name)).collect()
    };
    let (order_a, order_b) = (common(a, &in_b), common(b, &in_a));
    if order_a != order_b {
        let path = format!("{path} (order)");
        found.push(difference(&path, Some(&order_a), Some(&order_b)));
    }
}

/// Returns the fields that identify, for people, an item that only one side has.
fn summary(item: &Value) -> Value {
    ["command", "answer", "status", "reason", "message"]
        .iter()
        .find_map(|key| item.get(*key))
        .unwrap_or(item)
        .clone()
}

fn difference(path: &str, saved: Option<&Value>, present: Option<&Value>) -> Difference {
    let show = |value: &Value| {
        let text = visible(value.to_string());
        match text.chars().count() {
            0..=SHOWN => text,
            _ => text.chars().take(SHOWN - 1).chain(['…']).collect(),
        }
    };
    Difference {
        path: path.to_owned(),
        present: present.map(show),
        saved: saved.map(show),
    }
}

fn join(path: &str, key: &str) -> String {
    match path {
        "" => visible(key),
        path => format!("{path}.{}", visible(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::made::{plan, step};

    #[test]
    fn a_line_a_field() {
        let saved = plan(vec![step("a"), step("b"), step("c")]);
        let mut changed = step("b");
        changed.timeout_ms = 120_000;
        changed.needs = vec!["c".to_owned()];
        let present = plan(vec![step("c"), changed, step("d")]);
        let lines: Vec<String> = drift(&saved, &present)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            lines,
            [
                "steps.a: \"a\" -> (absent)",
                "steps.b.timeoutMs: 60000 -> 120000",
                "steps.b.needs: (absent) -> [\"c\"]",
                "steps.d: (absent) -> \"d\"",
                "steps (order): [\"b\",\"c\"] -> [\"c\",\"b\"]",
            ]
        );
        assert!(drift(&saved, &saved).is_empty());
    }
}
