//! How is a lock written? The same lock gives the same bytes.

use super::{Entry, Lock, entries};
use crate::base::word::is_unsafe_to_show;

const HEADER: &str = "// Written by `vplan lock`. Comments stay where they are; everything else is checked.\n";

/// The lock as text, without any comment but ours.
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

/// One entry, without the last line end.
pub(super) fn encode_entry(entry: &Entry, newline: &str) -> String {
    let seal = entry.seal();
    match entry {
        Entry::Import(import) => format!(
            "import {} \\{newline}  digest=\"{}\" bytes={} seal=\"{seal}\"",
            string(&import.origin.to_string()),
            import.digest,
            import.bytes
        ),
        Entry::Proposal(answer) => format!(
            "proposal question=\"{}\" proposer={} \\{newline}  answer={} seal=\"{seal}\"",
            answer.question,
            string(&answer.proposer),
            string(&answer.answer)
        ),
    }
}

/// A string: plain where it can be, raw where it holds quotes or backslashes, with escapes where it holds what is not shown.
fn string(text: &str) -> String {
    if text.chars().any(is_unsafe_to_show) {
        let escaped = |c: char| match c {
            '\n' => "\\n".to_owned(),
            '\r' => "\\r".to_owned(),
            '\t' => "\\t".to_owned(),
            '"' | '\\' => format!("\\{c}"),
            c if is_unsafe_to_show(c) => format!("\\u{{{:x}}}", u32::from(c)),
            c => c.to_string(),
        };
        return format!("\"{}\"", text.chars().map(escaped).collect::<String>());
    }
    if !text.contains(['"', '\\']) {
        return format!("\"{text}\"");
    }
    // More hashes than follow any quote in it. A raw string that begins with two quotes would open several lines.
    let longest = text.split('"').skip(1).map(|s| s.len() - s.trim_start_matches('#').len()).max().unwrap_or(0);
    if text.starts_with("\"\"") || text == "\"" {
        return format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    }
    let hashes = "#".repeat(longest + 1);
    format!("{hashes}\"{text}\"{hashes}")
}
