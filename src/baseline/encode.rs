//! Writes a baseline. The same entries give the same bytes.

use super::{Baseline, EntryKind, KnownEntry};
use crate::base::word::is_unsafe_to_show;
use crate::plan::kdl::{self as plan_kdl, value};
use kdl::{KdlEntry, KdlNode, KdlNodeFormat};

const HEADER: &str = "// Written by `vplan baseline record`: known findings, which fail nothing once they are at the base.\nversion 1\n";

/// Writes the baseline as text, without any comment but ours.
#[must_use]
pub fn encode(baseline: &Baseline) -> String {
    let mut out = HEADER.to_owned();
    for entry in baseline.entries() {
        out.push_str(&node(entry).to_string());
        out.push('\n');
    }
    out
}

fn node(entry: &KnownEntry) -> KdlNode {
    let format = string(Some("format"), &entry.format);
    let (name, own) = match &entry.what {
        EntryKind::Finding {
            file,
            rule,
            message,
        } => {
            let rule = rule.as_ref().map(|rule| string(Some("rule"), rule));
            let place = [Some(string(Some("file"), file)), rule];
            let message = string(Some("message"), message);
            let own = place.into_iter().flatten().chain([message]).collect();
            ("finding", own)
        }
        EntryKind::Test { name } => ("test", vec![string(Some("name"), name)]),
    };
    let fingerprint = string(Some("fingerprint"), &entry.fingerprint.to_string());
    let mut node = KdlNode::new(name);
    *node.entries_mut() = [string(None, &entry.check), format]
        .into_iter()
        .chain(own)
        .chain([fingerprint])
        .collect();
    node.set_format(KdlNodeFormat::default());
    node
}

fn string(name: Option<&str>, text: &str) -> KdlEntry {
    value(name, text, quoted(text))
}

/// Writes a text as a baseline has it.
#[must_use]
pub fn quoted(text: &str) -> String {
    plan_kdl::quoted(text, is_unsafe_to_show)
}
