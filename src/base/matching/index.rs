//! An index of many globs by a key that every matching path must have, so that few globs are tried
//! for each path.

use super::table::{Table, hash};
use crate::glob::{Glob, Part, Pattern, PatternSet, Segment};

/// No further entry.
pub(super) const END: u32 = u32::MAX;

/// The bytes of a piece of text that serves as a key.
pub(super) const GRAM: usize = 4;

/// The number of patterns that may share a key before a less shared piece of their text is tried.
const CROWD: u32 = 8;

/// Maximum number of patterns in one set, because larger ones are slow (measured: at 512, half of
/// the gain is lost).
const SET_SIZE: usize = 128;

/// Globs, by a property that matching paths must have.
#[derive(Default)]
pub(super) struct Index<'g> {
    /// The whole path: `package.json`.
    pub(super) whole: Keys<'g>,
    /// The path or a directory above it: `apps/web/**`.
    pub(super) tree: Keys<'g>,
    /// Some segment: `**/auth/**`.
    pub(super) segment: Keys<'g>,
    /// The last segment: `**/Makefile`.
    pub(super) name: Keys<'g>,
    /// The end of the last segment, from one of its dots on: `**/*.rs`. Hashed from its end.
    pub(super) suffix: Keys<'g>,
    /// A piece of text in some segment: `**/*-worker-*`. Only for globs that would be crowded under
    /// the keys above.
    pub(super) gram: Keys<'g>,
    /// The first entry of the globs without such a key.
    pub(super) rest: Option<u32>,
    pub(super) entries: Vec<IndexEntry<'g>>,
    /// Patterns that share an entry, since there are many under one key.
    pub(super) groups: Vec<Vec<(u32, &'g Pattern)>>,
}

/// Keys of one kind.
#[derive(Default)]
pub(super) struct Keys<'g> {
    table: Table,
    pub(super) keys: Vec<Key<'g>>,
}

pub(super) struct Key<'g> {
    bytes: &'g [u8],
    hash: u64,
    /// The number of patterns that could be filed under this key.
    shared: u32,
    /// The first entry that is.
    first: u32,
}

/// An alternative of a glob, or a group of them, in the chain of its key.
pub(super) struct IndexEntry<'g> {
    /// The glob's number, or that of the group.
    pub(super) number: u32,
    pub(super) next: u32,
    pub(super) test: Test<'g>,
}

/// The test that remains for a path that has the key.
#[derive(Clone, Copy)]
pub(super) enum Test<'g> {
    /// None: the key decides.
    None,
    /// This pattern.
    One(&'g Pattern),
    /// A group of patterns.
    Group,
}

/// The kinds of keys.
#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Tree,
    Segment,
    Name,
    Suffix,
    Gram,
}

impl<'g> Index<'g> {
    /// Indexes globs; a glob is identified by its place in the list.
    pub(super) fn new(globs: &[&'g Glob]) -> Self {
        let mut index = Self::default();
        let mut later = Vec::new();
        for (glob, number) in globs.iter().zip(0_u32..) {
            for pattern in glob.alternatives() {
                if let Some((kind, bytes)) = sole_key(pattern) {
                    let key = index.keys(kind).intern(kind, bytes);
                    index.add(Some((kind, key)), number, Test::None);
                } else if pattern.prefix.is_empty() && matches!(*pattern.rest, [Segment::Any]) {
                    index.add(None, number, Test::None);
                } else {
                    each_key(pattern, |kind, bytes| index.share(kind, bytes));
                    later.push((number, pattern));
                }
            }
        }
        // Only now is the number of patterns of each key known. With a thousand globs such as
        // `packages/*/web/**`, the key `web` is better than `packages`.
        let crowded: Vec<bool> = later
            .iter()
            .map(|(_, pattern)| {
                let crowded = index
                    .least_shared(pattern, false)
                    .is_none_or(|(shared, ..)| shared > CROWD);
                if crowded {
                    each_gram(pattern, |bytes| index.share(Kind::Gram, bytes));
                }
                crowded
            })
            .collect();
        for ((number, pattern), crowded) in later.into_iter().zip(crowded) {
            let best = index.least_shared(pattern, crowded);
            index.add(
                best.map(|(_, kind, key)| (kind, key)),
                number,
                Test::One(pattern),
            );
        }
        index.group();
        index
    }

    /// Counts a pattern that could be filed under a key.
    fn share(&mut self, kind: Kind, bytes: &'g [u8]) {
        let keys = self.keys(kind);
        let key = keys.intern(kind, bytes);
        if let Some(key) = keys.keys.get_mut(key) {
            key.shared += 1;
        }
    }

    /// Returns the key of a pattern that the fewest others have, and how many do.
    fn least_shared(&mut self, pattern: &'g Pattern, grams: bool) -> Option<(u32, Kind, usize)> {
        let mut best: Option<(u32, Kind, usize)> = None;
        let mut consider = |kind, bytes: &'g [u8]| {
            let keys = self.keys(kind);
            let key = keys.intern(kind, bytes);
            let shared = keys.keys.get(key).map_or(0, |key| key.shared);
            if best.is_none_or(|(least, ..)| shared < least) {
                best = Some((shared, kind, key));
            }
        };
        each_key(pattern, &mut consider);
        if grams {
            each_gram(pattern, |bytes| consider(Kind::Gram, bytes));
        }
        best
    }

    /// Groups the patterns of one key if there are many.
    fn group(&mut self) {
        for kind in [
            Kind::Tree,
            Kind::Segment,
            Kind::Name,
            Kind::Suffix,
            Kind::Gram,
        ] {
            for key in 0..self.keys(kind).keys.len() {
                let first = self.keys(kind).keys.get(key).map_or(END, |key| key.first);
                let first = self.group_chain(first);
                if let Some(key) = self.keys(kind).keys.get_mut(key) {
                    key.first = first;
                }
            }
        }
        self.rest = self.rest.map(|first| self.group_chain(first));
    }

    /// Groups the patterns of one chain that can be grouped; returns its new first entry.
    fn group_chain(&mut self, first: u32) -> u32 {
        let (mut alone, mut many) = (Vec::new(), Vec::new());
        let mut next = first;
        while let Some(entry) = self.entries.get(next as usize) {
            match entry.test {
                Test::One(pattern) if PatternSet::holds(pattern) => {
                    many.push((entry.number, pattern))
                }
                _ => alone.push(next),
            }
            next = entry.next;
        }
        if many.len() <= CROWD as usize {
            return first;
        }
        let mut next = END;
        for entry in alone {
            if let Some(entry) = self.entries.get_mut(entry as usize) {
                entry.next = next;
            }
            next = entry;
        }
        for group in many.chunks(SET_SIZE) {
            let number = u32::try_from(self.groups.len()).unwrap_or(END);
            self.groups.push(group.to_vec());
            let entry = u32::try_from(self.entries.len()).unwrap_or(END);
            self.entries.push(IndexEntry {
                number,
                next,
                test: Test::Group,
            });
            next = entry;
        }
        next
    }

    fn keys(&mut self, kind: Kind) -> &mut Keys<'g> {
        match kind {
            Kind::Whole => &mut self.whole,
            Kind::Tree => &mut self.tree,
            Kind::Segment => &mut self.segment,
            Kind::Name => &mut self.name,
            Kind::Suffix => &mut self.suffix,
            Kind::Gram => &mut self.gram,
        }
    }

    fn add(&mut self, key: Option<(Kind, usize)>, number: u32, test: Test<'g>) {
        let entry = u32::try_from(self.entries.len()).unwrap_or(END);
        let next = match key {
            Some((kind, key)) => match self.keys(kind).keys.get_mut(key) {
                Some(key) => std::mem::replace(&mut key.first, entry),
                None => END,
            },
            None => self.rest.replace(entry).unwrap_or(END),
        };
        self.entries.push(IndexEntry { number, next, test });
    }
}

/// Returns the key that alone decides whether a pattern matches.
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

/// Visits the keys that every matching path has. The first is the best of equals.
fn each_key<'p>(pattern: &'p Pattern, mut visit: impl FnMut(Kind, &'p [u8])) {
    if !pattern.prefix.is_empty() {
        visit(Kind::Tree, &pattern.prefix);
    }
    let Some((last, before)) = pattern.rest.split_last() else {
        return;
    };
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

/// Visits pieces of a pattern's longest text, from its beginning and its end, where names differ
/// most.
fn each_gram<'p>(pattern: &'p Pattern, mut visit: impl FnMut(&'p [u8])) {
    let texts = pattern.rest.iter().flat_map(|segment| match segment {
        Segment::Wild(parts) => &**parts,
        _ => &[],
    });
    let texts = texts.filter_map(|part| match part {
        Part::Text(text) => Some(&**text),
        _ => None,
    });
    let Some(text) = texts.max_by_key(|text| text.len()) else {
        return;
    };
    let count = (text.len() + 1).saturating_sub(GRAM);
    for (i, gram) in text.windows(GRAM).enumerate() {
        if i < 4 || i + 4 >= count {
            visit(gram);
        }
    }
}

impl<'g> Keys<'g> {
    /// Returns the number of a key, which is added if it is new.
    fn intern(&mut self, kind: Kind, bytes: &'g [u8]) -> usize {
        let hash = match kind {
            Kind::Suffix => hash(bytes.iter().rev()),
            _ => hash(bytes),
        };
        let found = self.table.find(hash, |number| self.is(number, bytes));
        let number = found.unwrap_or_else(|| {
            let number = u32::try_from(self.keys.len()).unwrap_or(END);
            self.table.insert(hash, number, |n| {
                self.keys.get(n as usize).map_or(0, |key| key.hash)
            });
            self.keys.push(Key {
                bytes,
                hash,
                shared: 0,
                first: END,
            });
            number
        });
        number as usize
    }

    fn is(&self, number: u32, bytes: &[u8]) -> bool {
        self.keys
            .get(number as usize)
            .is_some_and(|key| key.bytes == bytes)
    }

    /// Returns the first entry under a key.
    #[inline]
    pub(super) fn first(&self, hash: u64, bytes: &[u8]) -> u32 {
        let found = self.table.find(hash, |number| self.is(number, bytes));
        found
            .and_then(|number| self.keys.get(number as usize))
            .map_or(END, |key| key.first)
    }
}
