//! Renders the difference of two texts as a unified diff.

use super::style::{Tone, paint};
use similar::{ChangeTag, TextDiff};
use vplan_base::word::{is_unsafe_to_show, visible};

/// Lines around a change.
const CONTEXT: usize = 3;

/// A unified diff of two texts that differ, made safe to show; empty for equal ones. `became`: what the
/// newer one is, in a word.
pub fn unified(name: &str, old: &str, (new, became): (&str, &str), color: bool) -> String {
    let diff = TextDiff::from_lines(old, new);
    let shown = visible(name);
    let mut out = String::new();
    for group in diff.grouped_ops(CONTEXT) {
        if out.is_empty() {
            let names = format!("--- {shown}\n+++ {shown} ({became})");
            out.push_str(&(paint(color, Tone::Strong, &names) + "\n"));
        }
        let range = |from: usize, to: usize| match to - from {
            0 => format!("{from},0"),
            1 => format!("{}", from + 1),
            many => format!("{},{many}", from + 1),
        };
        if let (Some(first), Some(last)) = (group.first(), group.last()) {
            let old = range(first.old_range().start, last.old_range().end);
            let new = range(first.new_range().start, last.new_range().end);
            let range = format!("@@ -{old} +{new} @@");
            out.push_str(&(paint(color, Tone::Faint, &range) + "\n"));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, tone) = match change.tag() {
                ChangeTag::Equal => (' ', None),
                ChangeTag::Delete => ('-', Some(Tone::Bad)),
                ChangeTag::Insert => ('+', Some(Tone::Good)),
            };
            let value = change.value();
            let line = format!("{sign}{}", inert(value.strip_suffix('\n').unwrap_or(value)));
            out.push_str(&tone.map_or_else(|| line.clone(), |tone| paint(color, tone, &line)));
            out.push('\n');
            if !value.ends_with('\n') {
                out.push_str("\\ no newline at end of file\n");
            }
        }
    }
    out
}

/// Keeps tabs, which are what often differs; everything else that may not reach a terminal is
/// escaped.
fn inert(line: &str) -> String {
    if !line.contains(is_unsafe_to_show) {
        return line.to_owned();
    }
    line.split('\t').map(visible).collect::<Vec<_>>().join("\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs() {
        let old = "a\n\tb\r\nc\nd\ne\nf\ng\nh\ni\nj\n\u{1b}[2J";
        let new = "a\n  b\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
        assert_eq!(
            unified("x", old, (new, "formatted"), false),
            "--- x\n+++ x (formatted)\n@@ -1,5 +1,5 @@\n a\n-\tb\\r\n+  b\n c\n d\n e\n@@ -8,4 +8,4 @@\n h\n i\n j\n\
             -\\u{1b}[2J\n\\ no newline at end of file\n+k\n"
        );
        assert_eq!(unified("x", new, (new, "formatted"), false), "");
        assert_eq!(
            unified("x", "", ("a\n", "formatted"), false),
            "--- x\n+++ x (formatted)\n@@ -0,0 +1 @@\n+a\n"
        );
        assert!(
            unified("x", "a\n", ("b\n", "formatted"), true).contains("\u{1b}[31m-a\u{1b}[0m\n")
        );
    }
}
