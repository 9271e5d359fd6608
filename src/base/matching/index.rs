//! Which of many globs match a path? Few are tried: each lies under a key that every path it matches must have.

use super::table::{SEED, Table, hash, step};
use crate::base::glob::{Glob, Part, Pattern, Segment};

/// No further entry.
const END: u32 = u32::MAX;

/// Globs by what a path must have for them to match it.
#[derive(Default)]
pub(super) struct Index<'g> {
    /// The whole path: `package.json`.
    whole: Keys<'g>,
    /// The path or a directory above it: `apps/web/**`.
    tree: Keys<'g>,
    /// Some segment: `**/auth/**`.
    segment: Keys<'g>,
    /// The last segment: `**/Makefile`.
    name: Keys<'g>,
    /// What the last segment ends with, from one of its dots on: `**/*.rs`. Hashed from its end.
    suffix: Keys<'g>,
    /// The first entry of the globs that have no such key.
    rest: Option<u32>,
    entries: Vec<Entry<'g>>,
}

/// Keys of one kind.
#[derive(Default)]
struct Keys<'g> {
    table: Table,
    keys: Vec<Key<'g>>,
}

struct Key<'g> {
    bytes: &'g [u8],
    hash: u64,
    /// How many patterns could lie here.
    shared: u32,
    /// The first of those that do.
    first: u32,
}

/// One alternative of a glob, in the chain of its key.
struct Entry<'g> {
    glob: u32,
    next: u32,
    /// What remains to be tested; nothing when the key says it all.
    test: Option<&'g Pattern>,
}

/// The kinds of keys.
#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Tree,
    Segment,
    Name,
    Suffix,
}

impl<'g> Index<'g> {
    /// Indexes globs; a glob is known by its place in the list.
    pub(super) fn new(globs: &[&'g Glob]) -> Self {
        let mut index = Self::default();
        let mut later = Vec::new();
        for (glob, number) in globs.iter().zip(0_u32..) {
            for pattern in glob.alternatives() {
                if let Some((kind, bytes)) = sole_key(pattern) {
                    let key = index.keys(kind).intern(kind, bytes);
                    index.add(Some((kind, key)), number, None);
                } else {
                    each_key(pattern, |kind, bytes| {
                        let keys = index.keys(kind);
                        let key = keys.intern(kind, bytes);
                        if let Some(key) = keys.keys.get_mut(key) {
                            key.shared += 1;
                        }
                    });
                    later.push((number, pattern));
                }
            }
        }
        // Only now is known how many patterns share a key. `packages/*/web/**` is better found by `web` than by
        // `packages` when there are a thousand such globs.
        for (number, pattern) in later {
            let mut best: Option<(u32, Kind, usize)> = None;
            each_key(pattern, |kind, bytes| {
                let keys = index.keys(kind);
                let key = keys.intern(kind, bytes);
                let shared = keys.keys.get(key).map_or(0, |key| key.shared);
                if best.is_none_or(|(least, ..)| shared < least) {
                    best = Some((shared, kind, key));
                }
            });
            let everything = pattern.prefix.is_empty() && matches!(*pattern.rest, [Segment::Any]);
            index.add(best.map(|(_, kind, key)| (kind, key)), number, (!everything).then_some(pattern));
        }
        index
    }

    fn keys(&mut self, kind: Kind) -> &mut Keys<'g> {
        match kind {
            Kind::Whole => &mut self.whole,
            Kind::Tree => &mut self.tree,
            Kind::Segment => &mut self.segment,
            Kind::Name => &mut self.name,
            Kind::Suffix => &mut self.suffix,
        }
    }

    fn add(&mut self, key: Option<(Kind, usize)>, glob: u32, test: Option<&'g Pattern>) {
        let entry = u32::try_from(self.entries.len()).unwrap_or(END);
        let next = match key {
            Some((kind, key)) => match self.keys(kind).keys.get_mut(key) {
                Some(key) => std::mem::replace(&mut key.first, entry),
                None => END,
            },
            None => self.rest.replace(entry).unwrap_or(END),
        };
        self.entries.push(Entry { glob, next, test });
    }
}

/// The key that decides alone whether a pattern matches.
fn sole_key(pattern: &Pattern) -> Option<(Kind, &[u8])> {
    Some(match (&*pattern.prefix, &*pattern.rest) {
        (path, []) => (Kind::Whole, path),
        ([], [Segment::Any, Segment::Literal(name)]) => (Kind::Name, name),
        ([], [Segment::Any, Segment::Literal(name), Segment::Any]) => (Kind::Segment, name),
        ([], [Segment::Any, Segment::Wild(parts)]) => match &**parts {
            [Part::Star, Part::Text(text)] if text.starts_with(b".") => (Kind::Suffix, text),
            _ => return None,
        },
        ([_, ..], [Segment::Any]) => (Kind::Tree, &pattern.prefix),
        _ => return None,
    })
}

/// The keys that every path has which a pattern matches. The first is the best of equals.
fn each_key<'p>(pattern: &'p Pattern, mut visit: impl FnMut(Kind, &'p [u8])) {
    if !pattern.prefix.is_empty() {
        visit(Kind::Tree, &pattern.prefix);
    }
    let Some((last, before)) = pattern.rest.split_last() else { return };
    match last {
        Segment::Literal(name) => visit(Kind::Name, name),
        Segment::Wild(parts) => {
            if let Some(Part::Text(text)) = parts.last()
                && let Some(dot) = text.iter().position(|b| *b == b'.')
                && let Some(suffix) = text.get(dot..)
            {
                visit(Kind::Suffix, suffix);
            }
        }
        Segment::Any => {}
    }
    for segment in before {
        if let Segment::Literal(name) = segment {
            visit(Kind::Segment, name);
        }
    }
}

impl<'g> Keys<'g> {
    /// The number of a key, which is new if need be.
    fn intern(&mut self, kind: Kind, bytes: &'g [u8]) -> usize {
        let hash = match kind {
            Kind::Suffix => hash(bytes.iter().rev()),
            _ => hash(bytes),
        };
        let found = self.table.find(hash, |number| self.is(number, bytes));
        let number = found.unwrap_or_else(|| {
            let number = u32::try_from(self.keys.len()).unwrap_or(END);
            self.table.insert(hash, number, |n| self.keys.get(n as usize).map_or(0, |key| key.hash));
            self.keys.push(Key { bytes, hash, shared: 0, first: END });
            number
        });
        number as usize
    }

    fn is(&self, number: u32, bytes: &[u8]) -> bool {
        self.keys.get(number as usize).is_some_and(|key| key.bytes == bytes)
    }

    /// The first entry under a key.
    #[inline]
    fn first(&self, hash: u64, bytes: &[u8]) -> u32 {
        let found = self.table.find(hash, |number| self.is(number, bytes));
        found.and_then(|number| self.keys.get(number as usize)).map_or(END, |key| key.first)
    }
}

/// A walk over paths; in byte order it is fastest, for neighbours share directories, which are looked up once.
pub(super) struct Walk<'g, 'p> {
    index: &'g Index<'g>,
    /// The directories above the path of before, outermost first.
    above: Vec<Directory>,
    before: &'p [u8],
}

struct Directory {
    /// Where the `/` behind it stands.
    end: usize,
    /// The hash of the path up to and with that `/`.
    hash: u64,
    /// The entries found by its path, and by its name.
    tree: u32,
    segment: u32,
}

impl<'g, 'p> Walk<'g, 'p> {
    /// Starts at the root.
    pub(super) fn new(index: &'g Index<'g>) -> Self {
        Self { index, above: Vec::new(), before: &[] }
    }

    /// Calls `found` with the number of each glob that matches the path, once or more. `known` may say that a glob need
    /// not be tested again.
    pub(super) fn visit<S: Sink>(&mut self, path: &'p [u8], sink: &mut S) {
        let index = self.index;
        let shared = self.before.iter().zip(path).take_while(|(a, b)| a == b).count();
        self.before = path;
        while self.above.last().is_some_and(|d| d.end > shared || path.get(d.end) != Some(&b'/')) {
            self.above.pop();
        }
        for directory in &self.above {
            index.test(directory.tree, path, Some(directory.end), sink);
            index.test(directory.segment, path, None, sink);
        }
        let (mut start, mut whole) = self.above.last().map_or((0, SEED), |d| (d.end + 1, d.hash));
        let mut segment = SEED;
        for (at, byte) in path.iter().enumerate().skip(start) {
            if *byte == b'/' {
                let tree = path.get(..at).map_or(END, |dir| index.tree.first(whole, dir));
                let name = path.get(start..at).map_or(END, |name| index.segment.first(segment, name));
                index.test(tree, path, Some(at), sink);
                index.test(name, path, None, sink);
                whole = step(whole, *byte);
                self.above.push(Directory { end: at, hash: whole, tree, segment: name });
                (start, segment) = (at + 1, SEED);
            } else {
                whole = step(whole, *byte);
                segment = step(segment, *byte);
            }
        }
        let name = path.get(start..).unwrap_or_default();
        index.test(index.whole.first(whole, path), path, None, sink);
        index.test(index.tree.first(whole, path), path, Some(path.len()), sink);
        index.test(index.segment.first(segment, name), path, None, sink);
        index.test(index.name.first(segment, name), path, None, sink);
        if !index.suffix.keys.is_empty() {
            let mut hash = SEED;
            for (at, byte) in name.iter().enumerate().rev() {
                hash = step(hash, *byte);
                if *byte == b'.' {
                    let suffix = name.get(at..).unwrap_or_default();
                    index.test(index.suffix.first(hash, suffix), path, None, sink);
                }
            }
        }
        index.test(index.rest.unwrap_or(END), path, None, sink);
    }
}

/// What is told which globs match.
pub(super) trait Sink {
    /// Whether a glob is already known to match the present path.
    fn knows(&self, glob: u32) -> bool;
    /// A glob matches the present path.
    fn hit(&mut self, glob: u32);
}

impl Index<'_> {
    /// Tests the entries of one key. `end` is where the pattern's prefix ends, when the key was that prefix.
    #[inline]
    fn test(&self, first: u32, path: &[u8], end: Option<usize>, sink: &mut impl Sink) {
        let mut next = first;
        while let Some(entry) = self.entries.get(next as usize) {
            let hit = match (entry.test, end) {
                (None, _) => true,
                (Some(_), _) if sink.knows(entry.glob) => false,
                (Some(pattern), Some(end)) => pattern.matches_below(path.get(end + 1..)),
                (Some(pattern), None) => pattern.matches(path),
            };
            if hit {
                sink.hit(entry.glob);
            }
            next = entry.next;
        }
    }
}
