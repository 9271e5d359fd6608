//! How does a plan look in KDL, for people who review one? The only user of `kdl` in this version; reading it back comes with
//! plan files.

use super::Plan;
use kdl::{KdlDocument, KdlEntry, KdlNode, KdlValue};
use serde_json::Value;

/// The plan as a KDL 2 document: a node for each key, `-` for each item of a list of objects.
#[must_use]
pub fn to_kdl(plan: &Plan) -> String {
    let mut document = KdlDocument::new();
    if let Ok(Value::Object(fields)) = serde_json::to_value(plan) {
        document.nodes_mut().extend(fields.iter().map(|(key, value)| node(key, value)));
    }
    document.autoformat();
    document.to_string()
}

/// INVARIANT (depth): a plan nests a handful of levels (steps, reasons, a chain in a chain), so this recursion is bounded by its types.
fn node(name: &str, value: &Value) -> KdlNode {
    let mut node = KdlNode::new(name);
    match value {
        Value::Object(fields) => {
            node.set_children(children(fields.iter().map(|(key, value)| self::node(key, value))));
        }
        Value::Array(items) if items.iter().any(|i| i.is_object() || i.is_array()) => {
            node.set_children(children(items.iter().map(|item| self::node("-", item))));
        }
        Value::Array(items) => items.iter().for_each(|item| node.push(KdlEntry::new(scalar(item)))),
        value => node.push(KdlEntry::new(scalar(value))),
    }
    node
}

fn children(nodes: impl Iterator<Item = KdlNode>) -> KdlDocument {
    let mut document = KdlDocument::new();
    document.nodes_mut().extend(nodes);
    document
}

fn scalar(value: &Value) -> KdlValue {
    match value {
        Value::String(text) => KdlValue::String(text.clone()),
        Value::Bool(yes) => KdlValue::Bool(*yes),
        Value::Number(number) => KdlValue::Integer(number.as_i64().map_or(0, i128::from)),
        Value::Null | Value::Array(_) | Value::Object(_) => KdlValue::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let value = serde_json::json!({"a": ["x y", 1, true], "b": [{"c": {}}], "d": "\"q\"\n"});
        let mut document = children(value.as_object().unwrap().iter().map(|(k, v)| node(k, v)));
        document.autoformat();
        let text = document.to_string();
        let again: KdlDocument = text.parse().unwrap();
        assert_eq!(again.get("a").unwrap().entries().len(), 3, "{text}");
        assert_eq!(again.get_arg("d").unwrap().as_string(), Some("\"q\"\n"));
        assert!(again.get("b").unwrap().children().unwrap().get("-").is_some());
    }
}
