//! How is a plan written in KDL? The same plan, the same bytes.

use super::super::Plan;
use crate::base::word::is_unsafe_to_show;
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
    let mut out = HEAD.to_owned();
    if let Ok(Value::Object(fields)) = serde_json::to_value(plan) {
        for (key, value) in ordered(&fields) {
            node(&mut out, 0, key, value, false);
            if key != "version" {
                out.push('\n');
            }
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn ordered(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut list: Vec<(&String, &Value)> = fields.iter().collect();
    list.sort_by_key(|(key, _)| (FIRST.iter().position(|f| f == key).unwrap_or(FIRST.len()), key.as_str()));
    list
}

/// INVARIANT (depth): a plan nests a handful of levels (steps, reasons, a chain in a chain), so this recursion is bounded by
/// its types.
fn node(out: &mut String, depth: usize, name: &str, value: &Value, untyped: bool) {
    out.extend(std::iter::repeat_n("    ", depth));
    let untyped = untyped || UNTYPED.contains(&name);
    match value {
        Value::Array(items) => {
            if untyped && items.len() < 2 {
                out.push_str(&format!("({LIST})"));
            }
            out.push_str(&word(name));
            let inline = items.iter().map(|item| format!(" {}", scalar(item))).collect::<String>();
            let long = items.len() > 1 && 4 * depth + name.len() + inline.chars().count() > COLUMNS;
            if long || items.iter().any(|i| i.is_object() || i.is_array()) {
                out.push_str(" {\n");
                items.iter().for_each(|item| node(out, depth + 1, "-", item, untyped));
                close(out, depth);
            } else {
                out.push_str(&inline);
            }
        }
        Value::Object(fields) => {
            out.push_str(&word(name));
            let fields = ordered(fields);
            let start = out.rfind('\n').map_or(0, |at| at + 1);
            let properties = |keys: &dyn Fn(&str) -> bool| {
                let chosen = fields.iter().filter(|(key, value)| is_scalar(value) && keys(key));
                chosen.map(|(key, value)| format!(" {}={}", word(key), scalar(value))).collect::<String>()
            };
            let all = properties(&|_| true);
            let flat = !fields.is_empty() && fields.iter().all(|(_, value)| is_scalar(value));
            if fields.is_empty() {
                out.push_str(" {}");
            } else if flat && out.len() - start + all.chars().count() <= COLUMNS && name != "env" {
                out.push_str(&all);
            } else {
                let title = |key: &str| name == "-" && TITLES.contains(&key);
                out.push_str(&properties(&title));
                let below: Vec<_> = fields.iter().filter(|(key, value)| !(title(key) && is_scalar(value))).collect();
                if below.is_empty() {
                    out.push('\n');
                    return;
                }
                out.push_str(" {\n");
                below.iter().for_each(|(key, value)| node(out, depth + 1, key, value, untyped));
                close(out, depth);
            }
        }
        value => {
            out.push_str(&word(name));
            out.extend([" ", &scalar(value)]);
        }
    }
    out.push('\n');
}

fn close(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("    ", depth));
    out.push('}');
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Bool(true) => "#true".to_owned(),
        Value::Bool(false) => "#false".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => "#null".to_owned(),
    }
}

/// A name: bare when it is a plain one.
fn word(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || name == "-";
    let keyword = matches!(name, "true" | "false" | "null" | "inf" | "nan");
    if begins && name.chars().all(plain) && !keyword { name.to_owned() } else { quoted(name) }
}

/// A text in quotes on one line, everything escaped that KDL or a terminal would not take as it stands.
fn quoted(text: &str) -> String {
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
