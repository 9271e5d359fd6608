//! Parses a lock, and reports its errors.

use super::error::{
    ANEW, BAD_VALUE, COMMENTED, CONFLICT, DUPLICATE, MISSING_VALUE, NEWER, SEAL, SYNTAX, TOO_MANY,
    UNKNOWN_NODE, UNKNOWN_VALUE, VERSION,
};
use super::pins::{Key, Lock, LockEntry, PinnedImport, PinnedRef, RecordedAnswer};
use std::collections::BTreeMap;
use vplan_base::canon::Digest;
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::origin::{GitOrigin, GitRef, OriginError};
use vplan_base::span::{Place, SourceId, Span};
use vplan_base::word::visible;
use vplan_plan::kdl::text::{Lines, Name, Node, NodeEntry, Unreadable, Value, lines};

/// Maximum number of reported errors of a text; a lock with more is rejected.
const MAX_MISTAKES: usize = 50;
/// Maximum number of values that are read in a node; no known node has as many.
const MAX_VALUES: usize = 16;

/// Reads a lock without its invalid entries; a text without any node is an empty lock.
///
/// Changing a single character of a lock either leaves its content unchanged or gives an error.
#[must_use]
pub fn decode(text: &str, source: SourceId) -> (Lock, Diagnostics) {
    let mut sink = Diagnostics::default();
    let read = read(text, source, &mut sink);
    let mut lock = Lock::default();
    for piece in read.pieces {
        match piece.node {
            DecodedNode::Entry(LockEntry::Ref(pinned)) => lock.refs.push(pinned),
            DecodedNode::Entry(LockEntry::Import(import)) => lock.imports.push(import),
            DecodedNode::Entry(LockEntry::Proposal(answer)) => lock.proposals.push(answer),
            DecodedNode::Version | DecodedNode::Junk => {}
        }
    }
    lock.refs.sort();
    lock.imports.sort();
    lock.proposals.sort();
    (lock, sink)
}

/// A parsed lock with the places of its text.
pub(super) struct Read {
    pub pieces: Vec<Piece>,
    pub lines: Lines,
    /// A newer vplan wrote it.
    pub newer: bool,
}

pub(super) struct Piece {
    pub node: DecodedNode,
    pub span: Span,
}

pub(super) enum DecodedNode {
    Version,
    Entry(LockEntry),
    /// A part that was reported as wrong.
    Junk,
}

pub(super) fn read(text: &str, source: SourceId, sink: &mut Diagnostics) -> Read {
    let lines = lines(text, "a lock", MAX_MISTAKES);
    // Nothing else that a newer vplan wrote can be evaluated by this one.
    let newer = lines
        .nodes
        .iter()
        .any(|node| node.name.text == "version" && is_newer(node));
    let mut reader = Reader {
        source,
        sink,
        version: None,
        newer,
        seen: BTreeMap::new(),
    };
    for (i, fault) in lines.faults.iter().enumerate() {
        reader.fault(fault, i < MAX_MISTAKES);
    }
    for comment in &lines.comments {
        reader.comment(text, *comment);
    }
    let mut pieces = Vec::new();
    for node in &lines.nodes {
        pieces.push(Piece {
            node: reader.node(node).unwrap_or(DecodedNode::Junk),
            span: node.span(),
        });
    }
    reader.drop_duplicates(&mut pieces);
    pieces.extend(lines.junk.iter().map(|span| Piece {
        node: DecodedNode::Junk,
        span: *span,
    }));
    if reader.version.is_none() && !pieces.is_empty() {
        let start = Place::new(source, Span::new(0, 0));
        let message = "the lock does not say its version";
        reader.sink.push(
            Diagnostic::error(VERSION, message)
                .label(start, "`version 1` is missing")
                .help(ANEW),
        );
    }
    Read {
        pieces,
        lines,
        newer,
    }
}

/// Whether a `version` node has a number above ours.
fn is_newer(node: &Node) -> bool {
    match node.entries.as_slice() {
        [
            NodeEntry {
                name: None, value, ..
            },
        ] => number(value).is_some_and(|n| n > 1),
        _ => false,
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::Text(_) | Value::Bare(_) | Value::Bool(_) | Value::Null => None,
    }
}

struct Reader<'a> {
    source: SourceId,
    sink: &'a mut Diagnostics,
    version: Option<Span>,
    newer: bool,
    seen: BTreeMap<Key, Span>,
}

struct Wrong;

impl Reader<'_> {
    fn place(&self, span: Span) -> Place {
        Place::new(self.source, span)
    }

    fn wrong<T>(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
        label: &str,
    ) -> Result<T, Wrong> {
        let place = self.place(span);
        self.sink.push(
            Diagnostic::error(code, message)
                .label(place, label)
                .help(ANEW),
        );
        Err(Wrong)
    }

    /// Reports an unreadable part; after the limit, the last message reports that.
    fn fault(&mut self, fault: &Unreadable, is_listed: bool) {
        let place = self.place(fault.span);
        self.sink.push(if !is_listed {
            let message = format!("the lock has more than {MAX_MISTAKES} mistakes");
            Diagnostic::error(TOO_MANY, message)
                .label(place, "nothing was read from here on")
                .help(ANEW)
        } else if fault.conflict {
            let help = "`vplan lock` keeps what both sides pin and is needed";
            Diagnostic::error(CONFLICT, "the lock holds the marks of a merge")
                .label(place, fault.label)
                .help(help)
        } else {
            Diagnostic::error(SYNTAX, fault.message.clone())
                .label(place, fault.label)
                .help(ANEW)
        });
    }

    /// Reports an entry inside a comment: it is lost, and one wrong key does that (a line end
    /// removed after a comment).
    fn comment(&mut self, text: &str, span: Span) {
        let comment = text.get(span.start..span.end).unwrap_or("");
        let signs = [
            "ref \"git+",
            "import \"git+",
            "proposal question=",
            "seal=\"",
        ];
        if let Some(at) = signs.iter().filter_map(|sign| comment.find(sign)).min() {
            let place = self.place(Span::new(span.start + at, span.end));
            let message = "an entry of the lock stands in a comment";
            let diagnostic =
                Diagnostic::error(COMMENTED, message).label(place, "this pins nothing");
            self.sink
                .push(diagnostic.help("begin it on a line of its own, or take it out"));
        }
    }

    fn node(&mut self, node: &Node) -> Result<DecodedNode, Wrong> {
        match node.name.text.as_str() {
            "version" => self.version(node),
            _ if self.newer => Err(Wrong),
            "ref" => self.pinned_ref(node),
            "import" => self.import(node),
            "proposal" => self.proposal(node),
            other => {
                let message = format!("a lock knows no `{}`", visible(other.as_bytes()));
                self.wrong(
                    UNKNOWN_NODE,
                    node.name.span,
                    message,
                    "neither `ref` nor `import` nor `proposal`",
                )
            }
        }
    }

    fn version(&mut self, node: &Node) -> Result<DecodedNode, Wrong> {
        if let Some(first) = self.version {
            let place = self.place(first);
            let again = self.place(node.span());
            let diagnostic =
                Diagnostic::error(DUPLICATE, "the version is said twice").label(again, "again");
            self.sink
                .push(diagnostic.label(place, "first here").help(ANEW));
            return Err(Wrong);
        }
        self.version = Some(node.span());
        let [
            NodeEntry {
                name: None,
                value,
                at,
                ..
            },
        ] = node.entries.as_slice()
        else {
            return self.wrong(
                VERSION,
                node.span(),
                "the version is one number",
                "`version 1`",
            );
        };
        match number(value) {
            Some(1) => Ok(DecodedNode::Version),
            Some(n) if n > 1 => {
                let place = self.place(*at);
                let message = format!("the lock was written by a newer vplan: it has version {n}");
                let diagnostic =
                    Diagnostic::error(NEWER, message).label(place, "this vplan knows version 1");
                self.sink.push(
                    diagnostic.help("use that vplan; this one neither reads nor replaces it"),
                );
                Err(Wrong)
            }
            _ => self.wrong(VERSION, *at, "this is no version of a lock", "`version 1`"),
        }
    }

    fn pinned_ref(&mut self, node: &Node) -> Result<DecodedNode, Wrong> {
        let is_accepted = |entry: &NodeEntry| {
            let name = entry.name.as_ref();
            name.is_some_and(|name| name.text == "accepted")
        };
        let (at, commit, accepted, seal) = if node.entries.iter().any(is_accepted) {
            let [at, commit, accepted, seal] =
                self.values(node, ["", "commit", "accepted", "seal"])?;
            (at, commit, Some(accepted), seal)
        } else {
            let [at, commit, seal] = self.values(node, ["", "commit", "seal"])?;
            (at, commit, None, seal)
        };
        let read = self.git(at, GitRef::parse);
        let accepted = accepted.map(|digest| self.digest(digest)).transpose();
        let id = self.string(commit)?;
        let is_hex = id
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !is_hex || !matches!(id.len(), 40 | 64) {
            let message = "a commit is named by its full object id";
            return self.wrong(BAD_VALUE, commit.at, message, "no object id");
        }
        let pinned = PinnedRef {
            at: read?,
            commit: id.to_owned(),
            accepted: accepted?,
        };
        self.sealed(node, LockEntry::Ref(pinned), seal)
    }

    fn import(&mut self, node: &Node) -> Result<DecodedNode, Wrong> {
        let [origin, digest, bytes, seal] = self.values(node, ["", "digest", "bytes", "seal"])?;
        let origin = self.git(origin, GitOrigin::parse);
        let digest = self.digest(digest);
        let bytes = match number(&bytes.value) {
            Some(bytes) => Ok(bytes),
            None => self.wrong(
                BAD_VALUE,
                bytes.at,
                "`bytes` is a whole number",
                "no number of bytes",
            ),
        };
        let import = PinnedImport {
            origin: origin?,
            digest: digest?,
            bytes: bytes?,
        };
        self.sealed(node, LockEntry::Import(import), seal)
    }

    fn proposal(&mut self, node: &Node) -> Result<DecodedNode, Wrong> {
        let [question, proposer, answer, seal] =
            self.values(node, ["question", "proposer", "answer", "seal"])?;
        let question = self.digest(question);
        let proposer = self.string(proposer);
        let answer = self.string(answer);
        let (proposer, answer) = (proposer?.to_owned(), answer?.to_owned());
        let answer = RecordedAnswer {
            question: question?,
            proposer,
            answer,
        };
        self.sealed(node, LockEntry::Proposal(answer), seal)
    }

    /// Returns the values of these names, each once and no other; the empty name is the argument.
    fn values<'n, const N: usize>(
        &mut self,
        node: &'n Node,
        names: [&str; N],
    ) -> Result<[&'n NodeEntry; N], Wrong> {
        let mut found: [Option<&'n NodeEntry>; N] = [None; N];
        let mut good = true;
        for value in node.entries.iter().take(MAX_VALUES) {
            let name = value.name.as_ref().map_or("", |n| n.text.as_str());
            let slot = names
                .iter()
                .zip(&mut found)
                .find(|(known, _)| **known == name)
                .map(|(_, slot)| slot);
            let span = value.name.as_ref().map_or(value.at, |n: &Name| n.span);
            let what = if name.is_empty() {
                "value".to_owned()
            } else {
                format!("`{}`", visible(name.as_bytes()))
            };
            match slot {
                Some(slot @ None) => *slot = Some(value),
                Some(_) => {
                    let message = format!("`{}` has a second {what}", node.name.text);
                    good = self
                        .wrong::<()>(UNKNOWN_VALUE, span, message, "the second")
                        .is_ok();
                }
                None if name.is_empty() => {
                    let message = format!("`{}` has no value without a name", node.name.text);
                    good = self
                        .wrong::<()>(UNKNOWN_VALUE, span, message, "not expected")
                        .is_ok();
                }
                None => {
                    let message = format!("`{}` has no {what}", node.name.text);
                    good = self
                        .wrong::<()>(UNKNOWN_VALUE, span, message, "not expected")
                        .is_ok();
                }
            }
        }
        let mut out = Vec::new();
        for (name, value) in names.iter().zip(found) {
            match value {
                Some(value) => out.push(value),
                None => {
                    let what = if name.is_empty() {
                        "the origin".to_owned()
                    } else {
                        format!("`{name}`")
                    };
                    let message = format!("`{}` lacks {what}", node.name.text);
                    good = self
                        .wrong::<()>(MISSING_VALUE, node.span(), message, "not complete")
                        .is_ok();
                }
            }
        }
        if good {
            <[&NodeEntry; N]>::try_from(out).map_err(|_| Wrong)
        } else {
            Err(Wrong)
        }
    }

    fn string<'n>(&mut self, said: &'n NodeEntry) -> Result<&'n str, Wrong> {
        match &said.value {
            Value::Text(text) => Ok(text),
            _ => self.wrong(
                BAD_VALUE,
                said.at,
                "this value is a string in quotes",
                "without quotes",
            ),
        }
    }

    fn digest(&mut self, said: &NodeEntry) -> Result<Digest, Wrong> {
        let text = self.string(said)?;
        text.parse()
            .or_else(|message: &'static str| self.wrong(BAD_VALUE, said.at, message, "no digest"))
    }

    /// Parses a reference to another repository.
    fn git<T>(
        &mut self,
        said: &NodeEntry,
        parse: impl Fn(&str) -> Result<T, OriginError>,
    ) -> Result<T, Wrong> {
        let text = self.string(said)?;
        parse(text).or_else(|e| {
            // With an escape in it, offsets in text and source differ.
            let plain = said.at.len() == text.len() + 2;
            let start = said.at.start + 1 + e.at;
            let span = if plain {
                Span::new(start, start + e.length)
            } else {
                said.at
            };
            self.wrong(BAD_VALUE, span, e.message, "no git import says this")
        })
    }

    fn sealed(
        &mut self,
        node: &Node,
        entry: LockEntry,
        seal: &NodeEntry,
    ) -> Result<DecodedNode, Wrong> {
        if self.string(seal)? == entry.seal() {
            return Ok(DecodedNode::Entry(entry));
        }
        let (entry_place, seal_place) = (self.place(node.span()), self.place(seal.at));
        let message = "the entry was changed by something else than `vplan lock`";
        let diagnostic = Diagnostic::error(SEAL, message)
            .label(entry_place, "its seal does not fit")
            .label(seal_place, "the seal");
        self.sink.push(diagnostic.help(
            "undo the change (`git checkout` has the last one), or take the entry out: `vplan lock` pins it anew",
        ));
        Err(Wrong)
    }

    /// Drops both of two entries for one thing, unless they are equal: nothing decides between
    /// them.
    fn drop_duplicates(&mut self, pieces: &mut [Piece]) {
        let mut disputed = Vec::new();
        for i in 0..pieces.len() {
            let Some(Piece {
                node: DecodedNode::Entry(entry),
                span,
            }) = pieces.get(i)
            else {
                continue;
            };
            let (key, span, same) = (entry.key(), *span, entry.clone());
            let Some(first) = self.seen.get(&key).copied() else {
                self.seen.insert(key, span);
                continue;
            };
            let (again, before) = (self.place(span), self.place(first));
            let diagnostic =
                Diagnostic::error(DUPLICATE, "the lock has this entry twice").label(again, "again");
            self.sink
                .push(diagnostic.label(before, "first here").help(ANEW));
            let differs = |p: &Piece| matches!(&p.node, DecodedNode::Entry(e) if p.span == first && *e != same);
            if pieces.iter().any(differs) {
                disputed.push(first);
            }
            if let Some(piece) = pieces.get_mut(i) {
                piece.node = DecodedNode::Junk;
            }
        }
        for piece in pieces.iter_mut().filter(|p| disputed.contains(&p.span)) {
            piece.node = DecodedNode::Junk;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;
    use crate::error::CODES;
    use std::collections::BTreeSet;

    fn good() -> String {
        let mut lock = Lock::default();
        let origin = format!("git+https://example.org/x?rev={}#a", "1a".repeat(20));
        lock.pin(PinnedImport {
            origin: GitOrigin::parse(&origin).unwrap(),
            digest: Digest::of(b""),
            bytes: 0,
        });
        let (proposer, answer) = ("ask".to_owned(), "{\"a\":1}".to_owned());
        lock.record(RecordedAnswer {
            question: Digest::of(b"q"),
            proposer,
            answer,
        });
        encode(&lock)
    }

    /// Checks each code, and the place that it points at.
    #[test]
    fn each_code_and_its_place() {
        let good = good();
        let with = |from: &str, to: &str| {
            assert!(good.contains(from), "{from}");
            good.replacen(from, to, 1)
        };
        let empty = Digest::of(b"").to_string();
        let upper = empty.to_uppercase().replace("SHA", "sha");
        let mut seen = BTreeSet::new();
        for (text, code, place) in [
            (with("version 1", "version 1 {"), SYNTAX, "{"),
            (with("version 1", "/- version 1"), SYNTAX, "/-"),
            (with("version 1", "version #true"), VERSION, "#true"),
            (with("version 1", "version #yes"), SYNTAX, "#yes"),
            (with("version 1", "version (u8)1"), SYNTAX, "("),
            (with("version 1", "version \"\"\"1"), SYNTAX, "\"\"\""),
            (with("version 1", "version 1\n\"a"), SYNTAX, "\""),
            (with("version 1", "version 1\na \"\\q\""), SYNTAX, "\\"),
            (with("version 1", "version 1\na\"b\""), SYNTAX, "\""),
            (with("version 1", "version 1 \\ x"), SYNTAX, "\\"),
            (with("version 1", "version 1 /* x"), SYNTAX, "/*"),
            (
                with("version 1", "version 1 // \u{202e}"),
                SYNTAX,
                "\u{202e}",
            ),
            (with("version 1", "=======\nversion 1"), CONFLICT, "======="),
            (with(" \\\n", " \\\n<<<<<<< ours\n"), CONFLICT, "<<<<<<<"),
            (with("version 1", "version one"), VERSION, "one"),
            (with("version 1", "version 0"), VERSION, "0"),
            (with("version 1", "version"), VERSION, "version"),
            (with("version 1\n", ""), VERSION, ""),
            (with("version 1", "version 12"), NEWER, "12"),
            (with("import ", "imports "), UNKNOWN_NODE, "imports"),
            (with("bytes=0", "bytes=0 size=1"), UNKNOWN_VALUE, "size"),
            (with("bytes=0", "bytes=0 bytes=0"), UNKNOWN_VALUE, "bytes"),
            (with("bytes=0", "bytes=0 \"x\""), UNKNOWN_VALUE, "\"x\""),
            (with("proposer=\"ask\"", ""), MISSING_VALUE, "proposal"),
            (with("bytes=0", "bytes=\"0\""), BAD_VALUE, "\"0\""),
            (with("bytes=0", "bytes=-1"), BAD_VALUE, "-1"),
            (
                with(&format!("\"{empty}\""), "nothing"),
                BAD_VALUE,
                "nothing",
            ),
            (with(&empty, &upper), BAD_VALUE, &*format!("\"{upper}\"")),
            (with("?rev=1a", "?rev=1A"), BAD_VALUE, "A"),
            (with("https://", "http://"), BAD_VALUE, "http"),
            (with("bytes=0", "bytes=1"), SEAL, "import"),
            (with("{\"a\":1}", "{\"a\":2}"), SEAL, "proposal"),
            (
                with("version 1", "version 1\nversion 1"),
                DUPLICATE,
                "version 1",
            ),
            (
                format!("{good}{}", good.split_once("version 1\n").unwrap().1),
                DUPLICATE,
                "import",
            ),
            (with("import ", "// import "), COMMENTED, "import"),
            (format!("{good}{}", "=\n".repeat(100)), TOO_MANY, "="),
        ] {
            let (_, found) = decode(&text, SourceId::default());
            let hit = found
                .iter()
                .find(|d| d.code == code)
                .unwrap_or_else(|| panic!("{code}: {text}\n{found:?}"));
            let span = hit.labels[0].place.span;
            let under = &text[span.start..span.end];
            let exact = !matches!(place, "import" | "proposal");
            assert!(
                if exact {
                    under == place
                } else {
                    under.starts_with(place)
                },
                "{code}: {under:?}, not {place:?}"
            );
            assert!(hit.help.is_some() && !hit.message.contains('\n'), "{hit:?}");
            seen.insert(code);
        }
        assert_eq!(
            seen,
            CODES.iter().copied().collect(),
            "each code has an example"
        );
        assert!(decode(&good, SourceId::default()).1.is_empty());
    }

    #[test]
    fn entries_without_mistakes_are_read() {
        let good = good();
        let (whole, _) = decode(&good, SourceId::default());
        let (part, found) = decode(&good.replacen("bytes=0", "bytes=9", 1), SourceId::default());
        assert_eq!(
            (part.imports.len(), part.proposals),
            (0, whole.proposals.clone())
        );
        assert_eq!(found.iter().count(), 1);
        // The same entry twice, as after a merge: it counts once. Two that differ: neither does.
        let (_, entries) = good.split_once("version 1\n").unwrap();
        let merged =
            format!("version 1\n<<<<<<< ours\n{entries}=======\n{entries}>>>>>>> theirs\n");
        assert_eq!(decode(&merged, SourceId::default()).0, whole);
        let mut other = whole.clone();
        other.imports[0].bytes = 7;
        let other = encode(&other);
        let (disputed, _) = decode(
            &format!("{good}{}", other.split_once("version 1\n").unwrap().1),
            SourceId::default(),
        );
        assert_eq!(disputed.imports, []);
    }
}
