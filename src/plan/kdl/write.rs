//! Writes a plan as KDL. The same plan, the same bytes.

use super::super::Plan;
use serde_json::{Map, Value};
use vplan_base::word::{has_word, is_unsafe_to_show};

/// The comment at the head of the file.
const HEAD: &str = "// A plan of vplan: what is verified for one change, in which order, and why.
// It is checked before anything runs: `vplan run --plan FILE` refuses it when a word of it was changed, or when the contract,
// the repository or the change is no longer the one that it was made from. Comments like this one are welcome.

";
/// Columns that a node with its properties keeps to.
const COLUMNS: usize = 120;
/// Fields that come first, in this order; all others follow in the order of their names.
const FIRST: &str = "\
    version digest contract request policy tiers steps omitted id kind condition path status \
    question name recoveryRule tier command argv env dir after needs timeoutMs";
/// Fields that follow the `-` of an item even when others are in its block.
const TITLES: &str = "id kind condition path status question name recoveryRule glob tier";
/// Fields whose type depends on the text: a list of one word or none is marked in them, and below
/// them.
pub(super) const UNTYPED: &[&str] = &["answer", "chain", "items"];
/// The mark of such a list.
pub(super) const LIST: &str = "list";

/// Writes the plan as a KDL 2 document, with a comment for its reader in front.
pub fn to_kdl(plan: &Plan) -> String {
    let mut out = HEAD.to_owned();
    if let Ok(Value::Object(fields)) = serde_json::to_value(plan) {
        for (i, (key, value)) in ordered(&fields).into_iter().enumerate() {
            out.push_str(if i > 1 { "\n" } else { "" });
            node(&mut out, 0, key, value, false);
        }
    }
    out
}

fn ordered(fields: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let fields = fields.iter().map(|(key, value)| (key.as_str(), value));
    let mut list: Vec<(&str, &Value)> = fields.collect();
    list.sort_by_key(|(key, _)| {
        let place = FIRST.split(' ').position(|first| first == *key);
        (place.unwrap_or(usize::MAX), *key)
    });
    list
}

/// Writes a node. INVARIANT (depth): a plan nests a handful of levels (steps, reasons, a chain in a
/// chain), so this recursion is bounded by its types.
fn node(out: &mut String, depth: usize, name: &str, value: &Value, untyped: bool) {
    let untyped = untyped || UNTYPED.contains(&name);
    let mut line = format!("{}{}", " ".repeat(4 * depth), word(name));
    let mut below: Option<Vec<(&str, &Value)>> = None;
    match value {
        Value::Array(items) => {
            if untyped && items.len() < 2 {
                line = format!("{}({LIST}){}", " ".repeat(4 * depth), word(name));
            }
            let inline: String = items.iter().map(|item| scalar(None, item)).collect();
            let width = 4 * depth + name.len() + inline.chars().count();
            if items.len() > 1 && width > COLUMNS || !items.iter().all(is_scalar) {
                below = Some(items.iter().map(|item| ("-", item)).collect());
            } else {
                line.push_str(&inline);
            }
        }
        Value::Object(fields) => {
            let mut rest = ordered(fields);
            let scalars = rest.iter().filter(|(_, value)| is_scalar(value));
            let scalars = scalars.map(|(key, value)| (*key, scalar(Some(key), value)));
            let mut inline: Vec<(&str, String)> = scalars.collect();
            let width = inline.iter().map(|(_, text)| text.chars().count());
            let width = line.len() + width.sum::<usize>();
            if fields.is_empty() || inline.len() < fields.len() || width > COLUMNS || name == "env"
            {
                let is_title = |key: &str| name == "-" && has_word(TITLES, key);
                inline.retain(|(key, _)| is_title(key));
                rest.retain(|(key, value)| !(is_title(key) && is_scalar(value)));
                below = (fields.is_empty() || !rest.is_empty()).then_some(rest);
            }
            line.extend(inline.into_iter().map(|(_, text)| text));
        }
        value => line.push_str(&scalar(None, value)),
    }
    out.push_str(&line);
    match below {
        Some(nodes) if nodes.is_empty() => out.push_str(" {}"),
        Some(nodes) => {
            out.push_str(" {\n");
            nodes
                .into_iter()
                .for_each(|(name, value)| self::node(out, depth + 1, name, value, untyped));
            out.push_str(&" ".repeat(4 * depth));
            out.push('}');
        }
        None => {}
    }
    out.push('\n');
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn scalar(name: Option<&str>, said: &Value) -> String {
    match said {
        Value::String(text) => value(name, &quoted(text, is_odd)),
        Value::Bool(yes) => value(name, &format!("#{yes}")),
        Value::Number(number) => value(name, &number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => value(name, "#null"),
    }
}

/// Writes a value after a blank, as a property where it has a name. `repr` is KDL: a string with its quotes.
pub fn value(name: Option<&str>, repr: &str) -> String {
    match name {
        Some(name) => format!(" {}={repr}", word(name)),
        None => format!(" {repr}"),
    }
}

/// Writes a name: bare when it is a plain one.
fn word(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || name == "-";
    let keyword = matches!(name, "true" | "false" | "null" | "inf" | "nan");
    if begins && name.chars().all(plain) && !keyword {
        name.to_owned()
    } else {
        quoted(name, is_odd)
    }
}

/// Whether a character must be escaped: KDL or a terminal does not accept it, or it is a blank that
/// looks like another.
fn is_odd(c: char) -> bool {
    is_unsafe_to_show(c) || (c != ' ' && c.is_whitespace())
}

/// Writes a text in quotes on one line, with escapes for the characters that `is_escaped` selects.
pub fn quoted(text: &str, is_escaped: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_escaped(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
