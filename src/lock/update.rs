//! Updates a lock's text without touching unchanged parts.
//!
//! The text is edited only at nodes that differ. Everything else stays, byte for byte: comments,
//! blank lines and the order that people chose.

use super::decode::{DecodedNode, Piece, Read, SIGNS, decode, read};
use super::encode::{VERSION, encode, encode_entry};
use super::pins::{Key, Lock, entries};
use std::collections::BTreeMap;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::span::{SourceId, Span};

/// Updates the text of a lock to contain exactly `lock`. Comments survive, even in removed entries;
/// errors do not. A text that cannot be updated (a comment without end) is replaced.
pub fn update(old: &str, lock: &Lock) -> String {
    let mut sink = Diagnostics::default();
    let read = read(old, SourceId::default(), &mut sink);
    let nothing = read.pieces.is_empty() && read.lines.comments.is_empty();
    if nothing || read.lines.stopped || read.newer {
        return encode(lock);
    }
    let new = apply(old, edits(old, &read, lock));
    // Text that a person wrote around the entries can change their meaning; the result must read
    // back as `lock`.
    let (said, wrong) = decode(&new, SourceId::default());
    if wrong.is_empty() && entries(&said) == entries(lock) {
        new
    } else {
        encode(lock)
    }
}

struct Edit {
    span: Span,
    text: String,
}

fn edits(old: &str, read: &Read, lock: &Lock) -> Vec<Edit> {
    let newline = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let mut wanted: BTreeMap<Key, _> = entries(lock).into_iter().map(|e| (e.key(), e)).collect();
    let mut edits = Vec::new();
    // The end of each remaining entry; the version, without a key, precedes all of them.
    let mut anchors: BTreeMap<Option<Key>, usize> = BTreeMap::new();
    let mut has_version = false;
    for piece in &read.pieces {
        match &piece.node {
            DecodedNode::Version => {
                has_version = true;
                anchors.insert(None, piece.span.end);
            }
            DecodedNode::Entry(entry) => match wanted.remove(&entry.key()) {
                Some(same) if same == *entry => {
                    anchors.insert(Some(entry.key()), piece.span.end);
                }
                Some(other) => {
                    let comments = comments_inside(old, read, piece.span, newline);
                    let text = format!("{comments}{}", encode_entry(&other, newline));
                    edits.push(Edit {
                        span: piece.span,
                        text,
                    });
                    anchors.insert(Some(other.key()), piece.span.end);
                }
                None => edits.push(removal(old, read, piece, newline)),
            },
            DecodedNode::Junk => edits.push(removal(old, read, piece, newline)),
        }
    }
    if !has_version {
        let start = if old.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        edits.push(Edit {
            span: Span::new(start, start),
            text: format!("{VERSION}{newline}"),
        });
        anchors.insert(None, start);
    }
    for (key, entry) in wanted {
        let at = anchors
            .range(..Some(key))
            .next_back()
            .map_or(old.len(), |(_, end)| *end);
        let text = encode_entry(&entry, newline);
        edits.push(insertion(old, read, at, has_version, &text, newline));
    }
    edits
}

/// Inserts text after the line that ends at or after `at`.
fn insertion(
    old: &str,
    read: &Read,
    at: usize,
    has_version: bool,
    text: &str,
    newline: &str,
) -> Edit {
    let first_line = !has_version
        && old
            .get(..at)
            .is_some_and(|before| before.strip_prefix('\u{feff}').unwrap_or(before).is_empty());
    let ends = &read.lines.line_ends;
    let end = ends.get(ends.partition_point(|e| e.start < at));
    let (at, before) = match end {
        _ if first_line => (at, ""),
        Some(end) => (end.end, ""),
        None => (old.len(), newline),
    };
    Edit {
        span: Span::new(at, at),
        text: format!("{before}{text}{newline}"),
    }
}

/// Removes a node, with its whole line if it is alone there.
fn removal(old: &str, read: &Read, piece: &Piece, newline: &str) -> Edit {
    let is_blank = |c: char| c == ' ' || c == '\t';
    let comments = comments_inside(old, read, piece.span, newline);
    let before = old.get(..piece.span.start).unwrap_or("");
    let behind = old.get(piece.span.end..).unwrap_or("");
    let line_start = before.trim_end_matches(is_blank);
    let rest = behind.trim_start_matches(is_blank);
    let rest = rest
        .strip_prefix(';')
        .map_or(rest, |r| r.trim_start_matches(is_blank));
    let alone_before = line_start.is_empty() || line_start.ends_with(['\n', '\r', '\u{feff}']);
    let line_end = ["\r\n", "\n", "\r"]
        .iter()
        .find(|n| rest.starts_with(**n))
        .map(|n| n.len());
    let span = match line_end {
        Some(length) if alone_before => {
            Span::new(line_start.len(), old.len() - rest.len() + length)
        }
        None if alone_before && rest.is_empty() => Span::new(line_start.len(), old.len()),
        _ => Span::new(piece.span.start, old.len() - rest.len()),
    };
    Edit {
        span,
        text: comments,
    }
}

/// Returns the comments inside a node, each on a separate line.
fn comments_inside(old: &str, read: &Read, span: Span, newline: &str) -> String {
    let inside = read
        .lines
        .comments
        .iter()
        .filter(|c| span.start <= c.start && c.end <= span.end);
    let entry = |text: &&str| !SIGNS.iter().any(|sign| text.contains(sign));
    inside
        .filter_map(|c| old.get(c.start..c.end))
        .filter(entry)
        .map(|text| format!("{text}{newline}"))
        .collect()
}

fn apply(old: &str, mut edits: Vec<Edit>) -> String {
    // The sort is stable, so insertions at one place stay in order.
    edits.sort_by_key(|e| (e.span.start, e.span.end));
    let mut new = String::with_capacity(old.len());
    let mut at = 0;
    for edit in edits {
        new.push_str(old.get(at..edit.span.start.max(at)).unwrap_or(""));
        new.push_str(&edit.text);
        at = at.max(edit.span.end);
    }
    new.push_str(old.get(at..).unwrap_or(""));
    new
}
