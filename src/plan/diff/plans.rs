//! Compares two plans, field by field.

use super::difference::VERSION;
use crate::Plan;
use crate::canonical::value;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::canon::Digest;
use vplan_base::index::{Dense, Index as _, at, numbered};

/// A field that differs; one side is absent when only the other has it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Field {
    /// Its JSON name, with dots for what lies deeper.
    pub field: String,
    /// Its value in the newer plan.
    pub new: Option<Value>,
    /// Its value in the older one.
    pub old: Option<Value>,
}

/// A step, an omitted check, a fact or a tier that both plans have, with what differs in it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Changed {
    /// The fields that differ.
    pub fields: Vec<Field>,
    /// Its name.
    pub name: String,
}

/// A list whose members have names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Members {
    /// Those that only the newer plan has, in its order.
    pub added: Vec<String>,
    /// Those that differ, in the order of the newer plan.
    pub changed: Vec<Changed>,
    /// As few as explain why the rest is in another order, in the order of the newer plan.
    pub moved: Vec<String>,
    /// Those that only the older plan has, in its order.
    pub removed: Vec<String>,
}

impl Members {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The differences between two plans. Annotations (lines, descriptions) are no difference: plans
/// with one digest are equal.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanDiff {
    /// Whether nothing differs.
    pub equal: bool,
    /// The facts that were requested, by question.
    pub facts: Members,
    /// `plans`.
    pub kind: &'static str,
    /// The newer plan's digest.
    pub new: Option<Digest>,
    /// The older plan's digest.
    pub old: Option<Digest>,
    /// The checks that were left out.
    pub omitted: Members,
    /// Contract, notes, policy, request, rewrites and version.
    pub other: Vec<Field>,
    /// Steps that are there for other reasons: a field `reasons` each.
    pub reasons: Vec<Changed>,
    /// The steps.
    pub steps: Members,
    /// The tiers reached.
    pub tiers: Members,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

/// Compares two plans.
pub fn compare(old: &Plan, new: &Plan) -> PlanDiff {
    let (a, b) = (value(old), value(new));
    let list = |value: &'_ Value, name: &str| value.get(name).and_then(Value::as_array).cloned();
    let [a, b] = [&a, &b];
    let of = |name: &str, key: &str| {
        let [old, new] = [a, b].map(|value| list(value, name).unwrap_or_default());
        members(&old, &new, key)
    };
    let mut steps = of("steps", "id");
    let mut reasons = Vec::new();
    for changed in &mut steps.changed {
        let (why, rest): (Vec<Field>, Vec<Field>) =
            changed.fields.drain(..).partition(|f| f.field == "reasons");
        changed.fields = rest;
        if !why.is_empty() {
            reasons.push(Changed {
                fields: why,
                name: changed.name.clone(),
            });
        }
    }
    steps.changed.retain(|changed| !changed.fields.is_empty());
    let mut other = Vec::new();
    for name in [
        "contract", "notes", "policy", "request", "rewrites", "version",
    ] {
        fields(name, a.get(name), b.get(name), &mut other);
    }
    let mut diff = PlanDiff {
        equal: false,
        facts: of("facts", "question"),
        kind: "plans",
        new: Some(crate::digest::digest(new)),
        old: Some(crate::digest::digest(old)),
        omitted: of("omitted", "id"),
        other,
        reasons,
        steps,
        tiers: of("tiers", "tier"),
        version: VERSION,
    };
    let lists = [&diff.steps, &diff.omitted, &diff.facts, &diff.tiers];
    diff.equal =
        lists.iter().all(|m| m.is_empty()) && diff.reasons.is_empty() && diff.other.is_empty();
    diff
}

/// Compares two lists whose members have names under `key`. Equal names in one list are
/// distinguished by their number.
fn members(old: &[Value], new: &[Value], key: &str) -> Members {
    let (before, after) = (by_name(old, key), by_name(new, key));
    let places = before.iter().enumerate();
    let places: BTreeMap<&str, (usize, &Value)> = places
        .map(|(i, (name, value))| (name.as_str(), (i, *value)))
        .collect();
    let mut members = Members::default();
    let mut shared = Vec::new();
    for (name, value) in &after {
        let Some((place, other)) = places.get(name.as_str()) else {
            members.added.push(name.clone());
            continue;
        };
        shared.push((*place, name));
        let mut found = Vec::new();
        fields("", Some(other), Some(value), &mut found);
        if !found.is_empty() {
            members.changed.push(Changed {
                fields: found,
                name: name.clone(),
            });
        }
    }
    let order: Vec<usize> = shared.iter().map(|(place, _)| *place).collect();
    let stay = longest_ascending(&order);
    let moved = shared.iter().enumerate();
    let moved = moved.filter(|(i, _)| stay.binary_search(i).is_err());
    members.moved = moved.map(|(_, (_, name))| (*name).clone()).collect();
    let there: BTreeSet<&String> = after.iter().map(|(name, _)| name).collect();
    let removed = before.iter().filter(|(name, _)| !there.contains(name));
    members.removed = removed.map(|(name, _)| name.clone()).collect();
    members
}

fn by_name<'a>(list: &'a [Value], key: &str) -> Vec<(String, &'a Value)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let name = |value: &'a Value| {
        let name = match value.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        match *count {
            1 => (name, value),
            count => (format!("{name} ({count})"), value),
        }
    };
    list.iter().map(name).collect()
}

/// Lists the fields in which two values differ. Objects are compared field by field, lists as a
/// whole.
fn fields(name: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Field>) {
    match (old, new) {
        (a, b) if a == b => {}
        // Values that are one unit: a path or a word that is not UTF-8, a list of globs.
        (Some(Value::Object(a)), Some(Value::Object(b)))
            if !a.contains_key("b64") && !b.contains_key("b64") =>
        {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in names {
                let deeper = if name.is_empty() {
                    key.clone()
                } else {
                    format!("{name}.{key}")
                };
                fields(&deeper, a.get(key), b.get(key), found);
            }
        }
        (a, b) => found.push(Field {
            field: name.to_owned(),
            new: b.cloned(),
            old: a.cloned(),
        }),
    }
}

vplan_base::index!(Row, "row", "Position in a list.");

/// Returns the positions of a longest ascending part of a list of different values.
pub(super) fn longest_ascending<T: Ord>(list: &[T]) -> Vec<usize> {
    // For each length, where the part of that length with the lowest end ends.
    let mut ends: Vec<Row> = Vec::new();
    let mut before: Dense<Row, Option<Row>> = Dense::default();
    for (index, value) in numbered(list) {
        let shorter = ends.partition_point(|end| at(list, *end) < value);
        before.push(ends.iter().take(shorter).next_back().copied());
        match ends.get_mut(shorter) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let earlier = |row: &Row| before[*row];
    let part = std::iter::successors(ends.last().copied(), earlier);
    let mut part: Vec<usize> = part.map(|row| row.position()).collect();
    part.reverse();
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{plain_check, plain_contract};
    use crate::compile::{Compiled, compile};
    use crate::facts::Facts;
    use crate::request::Request;
    use vplan_base::jobs::Jobs;

    fn plan(names: &[&str]) -> Plan {
        let contract = plain_contract(names.iter().map(|n| plain_check(n)).collect());
        match compile(Some(&contract), &Request::default(), &Facts::default()).unwrap() {
            Compiled::Plan(plan) => *plan,
            Compiled::Needs(_) => unreachable!("no facts are needed"),
        }
    }

    #[test]
    fn steps_that_came_went_and_moved() {
        let diff = compare(
            &plan(&["a", "b", "c", "d", "e"]),
            &plan(&["x", "b", "e", "c", "d"]),
        );
        assert_eq!(diff.steps.added, ["x"]);
        assert_eq!(diff.steps.removed, ["a"]);
        assert_eq!(diff.steps.moved, ["e"]);
        assert!(diff.steps.changed.is_empty() && !diff.equal);
        let same = plan(&["a", "b"]);
        assert!(compare(&same, &same).equal);
    }

    #[test]
    fn fields_of_steps_and_of_the_rest() {
        let old = plan(&["a", "b"]);
        let mut new = old.clone();
        new.steps[0].timeout_ms = 120_000;
        new.steps[0].describe = Some("an annotation".to_owned());
        new.steps[1].reasons[0].condition = "use".to_owned();
        new.policy.jobs = Jobs::Number(4);
        new.policy.budget_ms = Some(1);
        new.request.role = "tester".to_owned();
        let diff = compare(&old, &new);
        let field = &diff.steps.changed[0].fields[0];
        assert_eq!(
            (field.field.as_str(), &field.old, &field.new),
            ("timeoutMs", &Some(60_000.into()), &Some(120_000.into()))
        );
        assert_eq!(diff.steps.changed.len(), 1);
        assert_eq!(
            diff.reasons
                .iter()
                .map(|c| c.name.as_str())
                .collect::<Vec<_>>(),
            ["b"]
        );
        let other: Vec<&str> = diff.other.iter().map(|f| f.field.as_str()).collect();
        assert_eq!(other, ["policy.budgetMs", "request.role"]);
    }

    #[test]
    fn the_longest_part_that_stays() {
        for (list, want) in [
            (&[][..], &[][..]),
            (&[0, 1, 2], &[0, 1, 2]),
            (&[2, 0, 1], &[1, 2]),
            (&[3, 2, 1, 0], &[3]),
            (&[0, 4, 1, 5, 2, 3], &[0, 2, 4, 5]),
        ] {
            assert_eq!(longest_ascending(list), want, "{list:?}");
        }
    }
}
