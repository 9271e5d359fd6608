//! Writes a lock. The same lock gives the same bytes.

use super::pins::{Lock, LockEntry, entries};
use vplan_base::word::is_unsafe_to_show;
use vplan_plan::kdl::{quoted, value};

const HEADER: &str =
    "// Written by `vplan lock`. Comments stay where they are; everything else is checked.\n";

/// Writes the lock as text, without any comment but ours.
#[must_use]
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
    let seal = entry.seal();
    let (name, on_first_line, values) = match entry {
        LockEntry::Ref(r) => {
            let accepted = r.accepted.iter();
            let mut values = vec![
                string(None, &r.at.to_string()),
                string(Some("commit"), &r.commit),
            ];
            values.extend(accepted.map(|digest| string(Some("accepted"), &digest.to_string())));
            values.push(string(Some("seal"), &seal));
            ("ref", 1, values)
        }
        LockEntry::Import(i) => {
            let bytes = value(Some("bytes"), &i.bytes.to_string());
            let digest = string(Some("digest"), &i.digest.to_string());
            (
                "import",
                1,
                vec![
                    string(None, &i.origin.to_string()),
                    digest,
                    bytes,
                    string(Some("seal"), &seal),
                ],
            )
        }
        LockEntry::Proposal(a) => {
            let question = string(Some("question"), &a.question.to_string());
            let (proposer, answer) = (
                string(Some("proposer"), &a.proposer),
                string(Some("answer"), &a.answer),
            );
            (
                "proposal",
                2,
                vec![question, proposer, answer, string(Some("seal"), &seal)],
            )
        }
    };
    let (first, rest) = values
        .split_at_checked(on_first_line)
        .unwrap_or((&values, &[]));
    format!("{name}{} \\{newline} {}", first.concat(), rest.concat())
}

/// Writes a string: plain if possible, raw if it contains quotes or backslashes, with escapes if it
/// contains characters that are unsafe to show.
fn string(name: Option<&str>, text: &str) -> String {
    // A raw string that begins with two quotes would open several lines.
    let is_raw = text.contains(['"', '\\']) && !text.starts_with("\"\"") && text != "\"";
    let repr = if is_raw && !text.chars().any(is_unsafe_to_show) {
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
    };
    value(name, &repr)
}
