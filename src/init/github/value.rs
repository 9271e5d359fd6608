//! Values of a workflow's YAML, as GitHub reads them.

use crate::expression::{Scope, Value};
use crate::tree::DataFile;
use vplan_front::tree::{Node, Value as Read};

/// The text of a scalar; empty for lists and mappings.
pub(crate) fn text_of(doc: &DataFile, node: &Node) -> String {
    match &node.value {
        Read::Text(text) => text.clone(),
        Read::Bool(yes) => yes.to_string(),
        Read::Whole(n) => n.to_string(),
        Read::Other => {
            let raw = doc.raw(node);
            raw.parse::<f64>()
                .map_or_else(|_| raw.to_owned(), |n| n.to_string())
        }
        Read::Null | Read::List(_) | Read::Map(_) => String::new(),
    }
}

/// The text of a key of a mapping; empty where it is missing.
pub(crate) fn text_at(doc: &DataFile, node: &Node, key: &str) -> String {
    node.get(key)
        .map(|node| text_of(doc, node))
        .unwrap_or_default()
}

/// The texts of a list or of a single value.
pub(crate) fn texts(doc: &DataFile, node: Option<&Node>) -> Vec<String> {
    match node.map(|node| (node, &node.value)) {
        None | Some((_, Read::Null | Read::Map(_))) => Vec::new(),
        Some((_, Read::List(items))) => items.iter().map(|item| text_of(doc, item)).collect(),
        Some((node, _)) => vec![text_of(doc, node)],
    }
}

/// A value of YAML with its expressions evaluated. The reader of YAML bounds the recursion.
pub(super) fn value_of(scope: &Scope, doc: &DataFile, node: &Node) -> Value {
    match &node.value {
        Read::Null => Value::Null,
        Read::Bool(yes) => Value::Bool(*yes),
        Read::List(items) => Value::List(
            items
                .iter()
                .map(|item| value_of(scope, doc, item))
                .collect(),
        ),
        Read::Map(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, node)| (key.name.clone(), value_of(scope, doc, node)));
            Value::Map(entries.collect(), true)
        }
        Read::Whole(_) | Read::Other => {
            let text = text_of(doc, node);
            text.parse()
                .map_or_else(|_| Value::Text(text), Value::Number)
        }
        Read::Text(text) => scope.value(text),
    }
}
