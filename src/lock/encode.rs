//! Writes a lock. The same lock gives the same bytes.

use super::pins::{Lock, LockEntry, entries};
use serde_json::Value;
use vplan_base::word::is_unsafe_to_show;
use vplan_plan::kdl::{quoted, value};

const HEADER: &str =
    "// Written by `vplan lock`. Comments stay where they are; everything else is checked.\n";

/// Writes the lock as text, without any comment but ours.
pub fn encode(lock: &Lock) -> String {
    let mut out = format!("{HEADER}{VERSION}\n");
    for entry in entries(lock) {
        out.push_str(&encode_entry(&entry, "\n"));
        out.push('\n');
    }
    out
}

pub(super) const VERSION: &str = "version 1";

/// Writes one entry, without the last line end.
pub(super) fn encode_entry(entry: &LockEntry, newline: &str) -> String {
    let (name, on_first_line, mut values) = entry.values();
    values.push(("seal", Value::String(entry.seal())));
    let values: Vec<String> = values
        .iter()
        .map(|(name, value)| written(Some(*name).filter(|name| !name.is_empty()), value))
        .collect();
    let (first, rest) = values
        .split_at_checked(on_first_line)
        .unwrap_or((&values, &[]));
    format!("{name}{} \\{newline} {}", first.concat(), rest.concat())
}

fn written(name: Option<&str>, said: &Value) -> String {
    match said {
        Value::Null => String::new(),
        Value::String(text) => value(name, &string(text)),
        other => value(name, &other.to_string()),
    }
}

/// Writes a string: plain if possible, raw if it contains quotes or backslashes, with escapes if it
/// contains characters that are unsafe to show.
fn string(text: &str) -> String {
    // A raw string that begins with two quotes would open several lines.
    let is_raw = text.contains(['"', '\\']) && !text.starts_with("\"\"") && text != "\"";
    if is_raw && !text.chars().any(is_unsafe_to_show) {
        // More hashes than follow any quote in it.
        let longest = text
            .split('"')
            .skip(1)
            .map(|s| s.len() - s.trim_start_matches('#').len())
            .max()
            .unwrap_or(0);
        let hashes = "#".repeat(longest + 1);
        format!("{hashes}\"{text}\"{hashes}")
    } else {
        quoted(text, is_unsafe_to_show)
    }
}
