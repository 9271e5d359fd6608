//! Parses a baseline, and reports its errors.

use super::error::{ANEW, BAD_VALUE, MISSING, SYNTAX, TOO_MANY, UNKNOWN, VERSION};
use super::known::{Baseline, EntryKind, KnownEntry, MAX_ENTRIES};
use vplan_base::canon::Digest;
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::span::{Place, SourceId, Span};
use vplan_base::word::visible;
use vplan_plan::kdl::text::{KdlNode, KdlValue, NodeEntry, lines};

/// Maximum number of reported errors of a text.
const MAX_MISTAKES: usize = 20;

/// Reads a baseline without its invalid entries, and reports each of them as an error. A text
/// without any node is an empty baseline.
pub fn decode(text: &str, source: SourceId) -> (Baseline, Diagnostics) {
    let mut reader = Reader {
        source,
        sink: Diagnostics::default(),
        mistakes: 0,
        versions: 0,
    };
    let lines = lines(text, "a baseline", MAX_MISTAKES);
    for fault in &lines.faults {
        reader.wrong(SYNTAX, fault.span, fault.message.clone(), fault.label);
    }
    let mut entries = Vec::new();
    for node in &lines.nodes {
        if reader.mistakes > MAX_MISTAKES {
            break;
        }
        if entries.len() >= MAX_ENTRIES {
            let message = format!("a baseline has at most {MAX_ENTRIES} entries");
            reader.wrong(TOO_MANY, node.span(), message, "from here on");
            break;
        }
        entries.extend(reader.node(node));
    }
    if reader.versions == 0 && !(lines.nodes.is_empty() && lines.faults.is_empty()) {
        let start = Span::new(0, 0);
        reader.wrong(
            VERSION,
            start,
            "the baseline does not say its version",
            "`version 1` is missing",
        );
    }
    (Baseline::new(entries), reader.sink)
}

struct Reader {
    source: SourceId,
    sink: Diagnostics,
    mistakes: usize,
    versions: usize,
}

impl Reader {
    fn wrong(&mut self, code: Code, span: Span, message: impl Into<String>, label: &str) {
        self.mistakes += 1;
        let place = Place::new(self.source, span);
        if self.mistakes > MAX_MISTAKES {
            if self.mistakes == MAX_MISTAKES + 1 {
                let message = format!("the baseline has more than {MAX_MISTAKES} mistakes");
                let diagnostic = Diagnostic::error(TOO_MANY, message).label(place, "here");
                self.sink.push(diagnostic.help(ANEW));
            }
            return;
        }
        let diagnostic = Diagnostic::error(code, message).label(place, label);
        self.sink.push(diagnostic.help(ANEW));
    }

    fn node(&mut self, node: &KdlNode) -> Option<KnownEntry> {
        match node.name.text.as_str() {
            "version" => {
                self.version(node);
                None
            }
            "finding" => self.finding(node),
            "test" => self.test(node),
            other => {
                let message = format!("a baseline knows no `{}`", visible(other));
                let label = "neither `finding` nor `test`";
                self.wrong(UNKNOWN, node.name.span, message, label);
                None
            }
        }
    }

    fn version(&mut self, node: &KdlNode) {
        self.versions += 1;
        let number = match node.entries.as_slice() {
            [
                NodeEntry {
                    name: None,
                    value: KdlValue::Integer(number),
                    ..
                },
            ] => Some(*number),
            _ => None,
        };
        let message = match number {
            Some(1) if self.versions == 1 => return,
            Some(1) => "the baseline says its version twice",
            Some(n) if n > 1 => "the baseline was written by a newer vplan",
            _ => "a baseline has version 1",
        };
        self.wrong(VERSION, node.span(), message, "not `version 1`");
    }

    fn finding(&mut self, node: &KdlNode) -> Option<KnownEntry> {
        const NAMES: [&str; 6] = ["", "format", "file", "message", "fingerprint", "rule"];
        let [check, format, file, message, fingerprint, rule] =
            self.texts(node, NAMES, NAMES.len() - 1)?;
        let fingerprint = self.digest(&fingerprint?)?;
        Some(KnownEntry {
            check: check?.text,
            format: format?.text,
            what: EntryKind::Finding {
                file: file?.text,
                rule: rule.map(|rule| rule.text),
                message: message?.text,
            },
            fingerprint,
        })
    }

    fn test(&mut self, node: &KdlNode) -> Option<KnownEntry> {
        const NAMES: [&str; 4] = ["", "format", "name", "fingerprint"];
        let [check, format, name, fingerprint] = self.texts(node, NAMES, NAMES.len())?;
        let fingerprint = self.digest(&fingerprint?)?;
        Some(KnownEntry {
            check: check?.text,
            format: format?.text,
            what: EntryKind::Test { name: name?.text },
            fingerprint,
        })
    }

    /// Returns the texts of these names, each once and no other; the empty name is the argument.
    /// The first `required` of them must be present.
    fn texts<const N: usize>(
        &mut self,
        node: &KdlNode,
        names: [&str; N],
        required: usize,
    ) -> Option<[Option<Text>; N]> {
        let before = self.mistakes;
        let mut found: [Option<Text>; N] = std::array::from_fn(|_| None);
        for entry in &node.entries {
            let name = entry.name.as_ref().map_or("", |n| n.text.as_str());
            let slots = names.iter().zip(&mut found);
            let slot = slots.into_iter().find(|(known, _)| **known == name);
            match (slot.map(|(_, slot)| slot), &entry.value) {
                (Some(slot @ None), KdlValue::Text(text)) => {
                    *slot = Some(Text {
                        text: text.clone(),
                        span: entry.at,
                    });
                }
                (Some(None), _) => {
                    let message = "this value is a text in quotes";
                    self.wrong(BAD_VALUE, entry.at, message, "without quotes");
                }
                _ => {
                    let message =
                        format!("`{}` has no such value, or has it already", node.name.text);
                    self.wrong(UNKNOWN, entry.span(), message, "not expected");
                }
            }
        }
        for (name, text) in names.iter().zip(&found).take(required) {
            if text.is_none() && self.mistakes == before {
                let what = if name.is_empty() {
                    "the name of its check".to_owned()
                } else {
                    format!("`{name}`")
                };
                let message = format!("`{}` lacks {what}", node.name.text);
                self.wrong(MISSING, node.span(), message, "not complete");
            }
        }
        (self.mistakes == before).then_some(found)
    }

    fn digest(&mut self, text: &Text) -> Option<Digest> {
        match text.text.parse() {
            Ok(digest) => Some(digest),
            Err(message) => {
                let message: &'static str = message;
                self.wrong(BAD_VALUE, text.span, message, "no fingerprint");
                None
            }
        }
    }
}

/// A text and its place.
struct Text {
    text: String,
    span: Span,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;
    use crate::error::{CODES, UNKNOWN_CHECK};
    use std::collections::BTreeSet;

    fn good() -> String {
        encode(&Baseline::new([
            KnownEntry {
                check: "lint".to_owned(),
                format: "eslint".to_owned(),
                what: EntryKind::Finding {
                    file: "src/a b.js".to_owned(),
                    rule: Some("semi".to_owned()),
                    message: "say \"x\\\u{202e}\"\n".to_owned(),
                },
                fingerprint: Digest::hash(b"1"),
            },
            KnownEntry {
                check: "unit".to_owned(),
                format: "pytest".to_owned(),
                what: EntryKind::Test {
                    name: "t.py::test_a".to_owned(),
                },
                fingerprint: Digest::hash(b"2"),
            },
        ]))
    }

    #[test]
    fn what_is_written_is_read() {
        let text = good();
        let (read, found) = decode(&text, SourceId::default());
        assert!(found.is_empty(), "{text}\n{found:?}");
        assert_eq!(encode(&read), text);
        assert_eq!(read.entries().len(), 2);
        // Both sides of a merge may have one entry.
        let (_, entries) = text.split_once("version 1\n").unwrap();
        let (twice, found) = decode(&format!("{text}{entries}"), SourceId::default());
        assert!(found.is_empty() && twice == read);
        assert_eq!(decode("", SourceId::default()).0, Baseline::default());
    }

    /// Checks each code, and the place that it points at.
    #[test]
    fn each_code_and_its_place() {
        let good = good();
        let with = |from: &str, to: &str| {
            assert!(good.contains(from), "{from}");
            good.replacen(from, to, 1)
        };
        let digest = Digest::hash(b"1").to_string();
        let mut seen = BTreeSet::from([UNKNOWN_CHECK]);
        for (text, code, place) in [
            (with("version 1", "version 1 {"), SYNTAX, "{"),
            (with("version 1", "=======\nversion 1"), SYNTAX, "======="),
            (with("version 1", "version 2"), VERSION, "version 2"),
            (with("version 1\n", ""), VERSION, ""),
            (
                with("version 1", "version 1\nversion 1"),
                VERSION,
                "version 1",
            ),
            (with("test ", "tests "), UNKNOWN, "tests"),
            (
                with(" format=", " colour=\"x\" format="),
                UNKNOWN,
                "colour=\"x\"",
            ),
            (
                with(" format=", " file=\"x\" format="),
                UNKNOWN,
                "file=\"src/a b.js\"",
            ),
            (with(" name=\"t.py::test_a\"", ""), MISSING, "test"),
            (with("finding \"lint\"", "finding"), MISSING, "finding"),
            (with("\"eslint\"", "eslint"), BAD_VALUE, "eslint"),
            (with(&digest, "sha256:0"), BAD_VALUE, "\"sha256:0\""),
            (format!("{good}{}", "x\n".repeat(30)), TOO_MANY, "x"),
        ] {
            let (_, found) = decode(&text, SourceId::default());
            let hit = found
                .iter()
                .find(|d| d.code == code)
                .unwrap_or_else(|| panic!("{code}: {text}\n{found:?}"));
            let span = hit.labels[0].place.span;
            let under = &text[span.start..span.end];
            assert!(under.starts_with(place), "{code}: {under:?}, not {place:?}");
            assert!(hit.help.is_some() && !hit.message.contains('\n'), "{hit:?}");
            seen.insert(code);
        }
        assert_eq!(seen, CODES.iter().copied().collect());
    }
}
