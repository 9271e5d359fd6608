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
use vplan_plan::kdl::text::{KdlLines, KdlNode, KdlValue, NodeEntry, Unreadable, lines};

/// Maximum number of reported errors of a text; a lock with more is rejected.
const MAX_MISTAKES: usize = 50;
/// The texts in a comment that show an entry there, which is none.
pub(super) const SIGNS: [&str; 3] = ["import \"git+", "proposal question=", "seal=\""];
/// Maximum number of values that are read in a node; no known node has as many.
const MAX_VALUES: usize = 16;

/// Reads a lock without its invalid entries; a text without any node is an empty lock.
///
/// Changing a single character of a lock either leaves its content unchanged or gives an error.
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
    pub lines: KdlLines,
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
        .filter(|node| node.name.text == "version")
        .any(|node| only(node).and_then(number).is_some_and(|n| n > 1));
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
    let piece = |node: &KdlNode| Piece {
        node: reader.node(node).unwrap_or(DecodedNode::Junk),
        span: node.span(),
    };
    let mut pieces: Vec<Piece> = lines.nodes.iter().map(piece).collect();
    reader.drop_duplicates(&mut pieces);
    pieces.extend(lines.junk.iter().map(|span| Piece {
        node: DecodedNode::Junk,
        span: *span,
    }));
    if reader.version.is_none() && !pieces.is_empty() {
        let (start, message) = (Span::new(0, 0), "the lock does not say its version");
        reader.wrong(VERSION, start, message, "`version 1` is missing");
    }
    Read {
        pieces,
        lines,
        newer,
    }
}

/// Returns the value of a node that has one without a name, and nothing else.
fn only(node: &KdlNode) -> Option<&NodeEntry> {
    match node.entries.as_slice() {
        [entry] if entry.name.is_none() => Some(entry),
        _ => None,
    }
}

fn number(entry: &NodeEntry) -> Option<u64> {
    match entry.value {
        KdlValue::Integer(number) => u64::try_from(number).ok(),
        _ => None,
    }
}

struct Reader<'a> {
    source: SourceId,
    sink: &'a mut Diagnostics,
    version: Option<Span>,
    newer: bool,
    seen: BTreeMap<Key, Span>,
}

/// What was wrong is reported.
struct Wrong;

impl Reader<'_> {
    fn place(&self, span: Span) -> Place {
        Place::new(self.source, span)
    }

    fn wrong(&mut self, code: Code, span: Span, message: impl Into<String>, label: &str) -> Wrong {
        let diagnostic = Diagnostic::at(code, message, self.place(span), label);
        self.sink.push(diagnostic.help(ANEW));
        Wrong
    }

    /// Reports an unreadable part; after the limit, the last message reports that.
    fn fault(&mut self, fault: &Unreadable, is_listed: bool) {
        if !is_listed {
            let message = format!("the lock has more than {MAX_MISTAKES} mistakes");
            self.wrong(
                TOO_MANY,
                fault.span,
                message,
                "nothing was read from here on",
            );
        } else if fault.conflict {
            let (place, message) = (
                self.place(fault.span),
                "the lock holds the marks of a merge",
            );
            let diagnostic = Diagnostic::at(CONFLICT, message, place, fault.label);
            let help = "`vplan lock` keeps what both sides pin and is needed";
            self.sink.push(diagnostic.help(help));
        } else {
            self.wrong(SYNTAX, fault.span, fault.message.clone(), fault.label);
        }
    }

    /// Reports an entry inside a comment: it is lost, and one wrong key does that (a line end
    /// removed after a comment).
    fn comment(&mut self, text: &str, span: Span) {
        let comment = text.get(span.start..span.end).unwrap_or("");
        let found = ["ref \"git+"].into_iter().chain(SIGNS);
        if let Some(at) = found.filter_map(|sign| comment.find(sign)).min() {
            let place = self.place(Span::new(span.start + at, span.end));
            let message = "an entry of the lock stands in a comment";
            let diagnostic = Diagnostic::at(COMMENTED, message, place, "this pins nothing");
            self.sink
                .push(diagnostic.help("begin it on a line of its own, or take it out"));
        }
    }

    fn node(&mut self, node: &KdlNode) -> Result<DecodedNode, Wrong> {
        match node.name.text.as_str() {
            "version" => self.version(node),
            _ if self.newer => Err(Wrong),
            "ref" => self.pinned_ref(node),
            "import" => self.import(node),
            "proposal" => self.proposal(node),
            other => {
                let message = format!("a lock knows no `{}`", visible(other));
                let label = "neither `ref` nor `import` nor `proposal`";
                Err(self.wrong(UNKNOWN_NODE, node.name.span, message, label))
            }
        }
    }

    fn version(&mut self, node: &KdlNode) -> Result<DecodedNode, Wrong> {
        if let Some(first) = self.version {
            let place = self.place(first);
            let again = self.place(node.span());
            let diagnostic = Diagnostic::at(DUPLICATE, "the version is said twice", again, "again");
            self.sink
                .push(diagnostic.label(place, "first here").help(ANEW));
            return Err(Wrong);
        }
        self.version = Some(node.span());
        let Some(entry) = only(node) else {
            let message = "the version is one number";
            return Err(self.wrong(VERSION, node.span(), message, "`version 1`"));
        };
        match number(entry) {
            Some(1) => Ok(DecodedNode::Version),
            Some(n) if n > 1 => {
                let place = self.place(entry.at);
                let message = format!("the lock was written by a newer vplan: it has version {n}");
                let diagnostic =
                    Diagnostic::at(NEWER, message, place, "this vplan knows version 1");
                self.sink.push(
                    diagnostic.help("use that vplan; this one neither reads nor replaces it"),
                );
                Err(Wrong)
            }
            _ => {
                let message = "this is no version of a lock";
                Err(self.wrong(VERSION, entry.at, message, "`version 1`"))
            }
        }
    }

    fn pinned_ref(&mut self, node: &KdlNode) -> Result<DecodedNode, Wrong> {
        const NAMES: [&str; 4] = ["", "commit", "seal", "accepted"];
        let [at, commit, seal, accepted] = self.values(node, NAMES, NAMES.len() - 1)?;
        let at = self.git(at, GitRef::parse);
        let accepted = accepted.map(|_| self.digest(accepted)).transpose();
        let (commit, place) = self.string(commit)?;
        let is_hex = commit
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !is_hex || !matches!(commit.len(), 40 | 64) {
            let message = "a commit is named by its full object id";
            return Err(self.wrong(BAD_VALUE, place, message, "no object id"));
        }
        let pinned = PinnedRef {
            at: at?,
            commit: commit.to_owned(),
            accepted: accepted?,
        };
        self.sealed(node, LockEntry::Ref(pinned), seal)
    }

    fn import(&mut self, node: &KdlNode) -> Result<DecodedNode, Wrong> {
        const NAMES: [&str; 4] = ["", "digest", "bytes", "seal"];
        let [origin, digest, bytes, seal] = self.values(node, NAMES, NAMES.len())?;
        let origin = self.git(origin, GitOrigin::parse);
        let digest = self.digest(digest);
        let bytes = bytes.ok_or(Wrong)?;
        let count = number(bytes).ok_or_else(|| {
            let message = "`bytes` is a whole number";
            self.wrong(BAD_VALUE, bytes.at, message, "no number of bytes")
        });
        let import = PinnedImport {
            origin: origin?,
            digest: digest?,
            bytes: count?,
        };
        self.sealed(node, LockEntry::Import(import), seal)
    }

    fn proposal(&mut self, node: &KdlNode) -> Result<DecodedNode, Wrong> {
        const NAMES: [&str; 4] = ["question", "proposer", "answer", "seal"];
        let [question, proposer, answer, seal] = self.values(node, NAMES, NAMES.len())?;
        let question = self.digest(question);
        let (proposer, answer) = (self.string(proposer), self.string(answer));
        let answer = RecordedAnswer {
            proposer: proposer?.0.to_owned(),
            answer: answer?.0.to_owned(),
            question: question?,
        };
        self.sealed(node, LockEntry::Proposal(answer), seal)
    }

    /// Returns the values of these names, each once and no other; the empty name is the argument.
    /// The first `required` of them are present.
    fn values<'n, const N: usize>(
        &mut self,
        node: &'n KdlNode,
        names: [&str; N],
        required: usize,
    ) -> Result<[Option<&'n NodeEntry>; N], Wrong> {
        let mut found: [Option<&'n NodeEntry>; N] = [None; N];
        let mut wrong = None;
        for value in node.entries.iter().take(MAX_VALUES) {
            let name = value.name.as_ref().map_or("", |n| n.text.as_str());
            let mut slots = names.iter().zip(&mut found);
            let slot = slots.find(|(known, _)| **known == name);
            let what = match name {
                "" => "value".to_owned(),
                _ => format!("`{}`", visible(name)),
            };
            let (message, label) = match slot.map(|(_, slot)| slot) {
                Some(slot @ None) => {
                    *slot = Some(value);
                    continue;
                }
                Some(_) => (format!("a second {what}"), "the second"),
                None if name.is_empty() => ("no value without a name".to_owned(), "not expected"),
                None => (format!("no {what}"), "not expected"),
            };
            let span = value.name.as_ref().map_or(value.at, |n| n.span);
            let message = format!("`{}` has {message}", node.name.text);
            wrong = Some(self.wrong(UNKNOWN_VALUE, span, message, label));
        }
        let lacking = names.iter().zip(found).take(required);
        for (name, _) in lacking.filter(|(_, value)| value.is_none()) {
            let what = match *name {
                "" => "the origin".to_owned(),
                name => format!("`{name}`"),
            };
            let message = format!("`{}` lacks {what}", node.name.text);
            wrong = Some(self.wrong(MISSING_VALUE, node.span(), message, "not complete"));
        }
        wrong.map_or(Ok(found), Err)
    }

    fn string<'n>(&mut self, said: Option<&'n NodeEntry>) -> Result<(&'n str, Span), Wrong> {
        let said = said.ok_or(Wrong)?;
        match &said.value {
            KdlValue::Text(text) => Ok((text, said.at)),
            _ => {
                let message = "this value is a string in quotes";
                Err(self.wrong(BAD_VALUE, said.at, message, "without quotes"))
            }
        }
    }

    fn digest(&mut self, said: Option<&NodeEntry>) -> Result<Digest, Wrong> {
        let (text, at) = self.string(said)?;
        text.parse()
            .map_err(|message: &'static str| self.wrong(BAD_VALUE, at, message, "no digest"))
    }

    /// Parses a reference to another repository.
    fn git<T>(
        &mut self,
        said: Option<&NodeEntry>,
        parse: impl Fn(&str) -> Result<T, OriginError>,
    ) -> Result<T, Wrong> {
        let (text, at) = self.string(said)?;
        parse(text).map_err(|e| {
            // With an escape in it, offsets in text and source differ.
            let start = at.start + 1 + e.at;
            let span = match at.len() == text.len() + 2 {
                true => Span::new(start, start + e.length),
                false => at,
            };
            self.wrong(BAD_VALUE, span, e.message, "no git import says this")
        })
    }

    fn sealed(
        &mut self,
        node: &KdlNode,
        entry: LockEntry,
        seal: Option<&NodeEntry>,
    ) -> Result<DecodedNode, Wrong> {
        let (seal, at) = self.string(seal)?;
        if seal == entry.seal() {
            return Ok(DecodedNode::Entry(entry));
        }
        let (entry_place, seal_place) = (self.place(node.span()), self.place(at));
        let message = "the entry was changed by something else than `vplan lock`";
        let diagnostic = Diagnostic::at(SEAL, message, entry_place, "its seal does not fit")
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
            let message = "the lock has this entry twice";
            let diagnostic = Diagnostic::at(DUPLICATE, message, again, "again");
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
            digest: Digest::hash(b""),
            bytes: 0,
        });
        let (proposer, answer) = ("ask".to_owned(), "{\"a\":1}".to_owned());
        lock.record(RecordedAnswer {
            question: Digest::hash(b"q"),
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
        let empty = Digest::hash(b"").to_string();
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
