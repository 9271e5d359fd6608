//! How is a plan written in KDL? The same plan, the same bytes.

use super::super::Plan;
use crate::base::word::is_unsafe_to_show;
use kdl::{
    KdlDocument, KdlDocumentFormat, KdlEntry, KdlEntryFormat, KdlIdentifier, KdlNode, KdlNodeFormat, KdlValue,
};
use serde_json::{Map, Value};

/// What a reader of the file should know.
const HEAD: &str = "// A plan of vplan: what is verified for one change, in which order, and why.
// It is checked before anything runs: `vplan run --plan FILE` refuses it when a word of it was changed, or when the contract,
// the repository or the change is no longer the one that it was made from. Comments like this one are welcome.

";
/// Columns that a node with its properties keeps to.
const COLUMNS: usize = 120;
/// Fields that come first, in this order; all others follow in the order of their names.
const FIRST: &[&str] = &[
    "version",
    "digest",
    "contract",
    "request",
    "policy",
    "tiers",
    "steps",
    "omitted",
    "id",
    "kind",
    "condition",
    "path",
    "status",
    "question",
    "name",
    "recoveryRule",
    "tier",
    "command",
    "argv",
    "env",
    "dir",
    "after",
    "needs",
    "timeoutMs",
];
/// Fields that stand behind the `-` of an item even when others stand below.
const TITLES: &[&str] =
    &["id", "kind", "condition", "path", "status", "question", "name", "recoveryRule", "glob", "tier"];
/// Fields whose type depends on what is written: a list of one word or none is marked in them, and below them.
pub(super) const UNTYPED: &[&str] = &["answer", "chain", "items"];
/// The mark.
pub(super) const LIST: &str = "list";

/// The plan as a KDL 2 document, with a comment for its reader in front.
#[must_use]
pub fn to_kdl(plan: &Plan) -> String {
    let mut document = KdlDocument::new();
    document.set_format(KdlDocumentFormat { leading: HEAD.to_owned(), ..KdlDocumentFormat::default() });
    if let Ok(Value::Object(fields)) = serde_json::to_value(plan) {
        for (i, (key, value)) in ordered(&fields).into_iter().enumerate() {
            let mut node = node(0, key, value, false);
            if let Some(format) = node.format_mut().filter(|_| i > 1) {
                format.leading = "\n".to_owned();
            }
            document.nodes_mut().push(node);
        }
    }
    document.to_string()
}

fn ordered(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut list: Vec<(&String, &Value)> = fields.iter().collect();
    list.sort_by_key(|(key, _)| (FIRST.iter().position(|f| f == key).unwrap_or(FIRST.len()), key.as_str()));
    list
}

/// INVARIANT (depth): a plan nests a handful of levels (steps, reasons, a chain in a chain), so this recursion is bounded by
/// its types.
fn node(depth: usize, name: &str, value: &Value, untyped: bool) -> KdlNode {
    let untyped = untyped || UNTYPED.contains(&name);
    let mut node = KdlNode::new(word(name));
    let mut below = None;
    match value {
        Value::Array(items) => {
            if untyped && items.len() < 2 {
                node.set_ty(LIST);
            }
            let inline: Vec<KdlEntry> = items.iter().map(|item| scalar(None, item)).collect();
            let width = 4 * depth + name.len() + inline.iter().map(width).sum::<usize>();
            if items.len() > 1 && width > COLUMNS || items.iter().any(|i| !is_scalar(i)) {
                below = Some(items.iter().map(|item| self::node(depth + 1, "-", item, untyped)).collect());
            } else {
                *node.entries_mut() = inline;
            }
        }
        Value::Object(fields) => {
            let fields = ordered(fields);
            let inline: Vec<KdlEntry> =
                fields.iter().filter(|(_, v)| is_scalar(v)).map(|(key, value)| scalar(Some(key), value)).collect();
            let width = 4 * depth + word(name).to_string().len() + inline.iter().map(width).sum::<usize>();
            if !fields.is_empty() && inline.len() == fields.len() && width <= COLUMNS && name != "env" {
                *node.entries_mut() = inline;
            } else {
                let is_title = |key: &str| name == "-" && TITLES.contains(&key);
                let titles = inline.into_iter().filter(|e| e.name().is_some_and(|n| is_title(n.value())));
                *node.entries_mut() = titles.collect();
                let rest = fields.iter().filter(|(key, value)| !(is_title(key) && is_scalar(value)));
                let rest: Vec<KdlNode> =
                    rest.map(|(key, value)| self::node(depth + 1, key, value, untyped)).collect();
                below = (fields.is_empty() || !rest.is_empty()).then_some(rest);
            }
        }
        value => node.push(scalar(None, value)),
    }
    let indent = " ".repeat(4 * depth);
    if let Some(nodes) = below {
        let mut block = KdlDocument::new();
        let format = KdlDocumentFormat { leading: "\n".to_owned(), trailing: indent.clone() };
        block.set_format(if nodes.is_empty() { KdlDocumentFormat::default() } else { format });
        *block.nodes_mut() = nodes;
        node.set_children(block);
    }
    let (before_children, terminator) = (" ".to_owned(), "\n".to_owned());
    node.set_format(KdlNodeFormat { leading: indent, before_children, terminator, ..KdlNodeFormat::default() });
    node
}

fn width(entry: &KdlEntry) -> usize {
    entry.to_string().chars().count()
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn scalar(name: Option<&str>, said: &Value) -> KdlEntry {
    match said {
        Value::String(text) => value(name, text.as_str(), quoted(text)),
        Value::Bool(yes) => value(name, *yes, format!("#{yes}")),
        Value::Number(number) => value(name, number.as_i128().unwrap_or_default(), number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => value(name, KdlValue::Null, "#null".to_owned()),
    }
}

/// A value, written as `repr`: the crate leaves out quotes where it can, and we do not, so that each value of a kind looks alike.
pub(crate) fn value(name: Option<&str>, said: impl Into<KdlValue>, repr: String) -> KdlEntry {
    let mut entry = KdlEntry::new(said);
    entry.set_name(name.map(word));
    entry.set_format(KdlEntryFormat { leading: " ".to_owned(), value_repr: repr, ..KdlEntryFormat::default() });
    entry
}

/// A name: bare when it is a plain one.
fn word(name: &str) -> KdlIdentifier {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || name == "-";
    let keyword = matches!(name, "true" | "false" | "null" | "inf" | "nan");
    let bare = begins && name.chars().all(plain) && !keyword;
    let mut word = KdlIdentifier::from(name);
    word.set_repr(if bare { name.to_owned() } else { quoted(name) });
    word
}

/// A text in quotes on one line, everything escaped that KDL or a terminal would not take as it stands.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unsafe_to_show(c) || c.is_control() || (c != ' ' && c.is_whitespace()) => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
