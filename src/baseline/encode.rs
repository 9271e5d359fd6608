//! Writes a baseline. The same entries give the same bytes.

use super::known::{Baseline, EntryKind, KnownEntry};
use vplan_base::word::is_unsafe_to_show;
use vplan_plan::kdl::{self as plan_kdl, value};

const HEADER: &str = "// Written by `vplan baseline record`: known findings, which fail nothing once they are at the base.\nversion 1\n";

/// Writes the baseline as text, without any comment but ours.
pub fn encode(baseline: &Baseline) -> String {
    let mut out = HEADER.to_owned();
    for entry in baseline.entries() {
        out.push_str(&node(entry));
        out.push('\n');
    }
    out
}

fn node(entry: &KnownEntry) -> String {
    let format = string(Some("format"), &entry.format);
    let (name, own) = match &entry.what {
        EntryKind::Finding {
            file,
            rule,
            message,
        } => {
            let rule = rule.as_ref().map(|rule| string(Some("rule"), rule));
            let (file, message) = (string(Some("file"), file), string(Some("message"), message));
            (
                "finding",
                format!("{file}{}{message}", rule.unwrap_or_default()),
            )
        }
        EntryKind::Test { name } => ("test", string(Some("name"), name)),
    };
    let check = string(None, &entry.check);
    let fingerprint = string(Some("fingerprint"), &entry.fingerprint.to_string());
    format!("{name}{check}{format}{own}{fingerprint}")
}

fn string(name: Option<&str>, text: &str) -> String {
    value(name, &quoted(text))
}

/// Writes a text as a baseline has it.
pub fn quoted(text: &str) -> String {
    plan_kdl::quoted(text, is_unsafe_to_show)
}
