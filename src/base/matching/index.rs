//! An index of many globs by a key that every matching path must have, so that few globs are tried
//! for each path. Its hash tables serve lookups only: no result depends on their order.

use super::list::GlobIndex;
use crate::glob::{Glob, Part, Pattern, PatternSet, Segment};
use crate::index::Dense;
use hashbrown::HashMap;

/// The bytes of a piece of text that serves as a key.
pub(super) const GRAM: usize = 4;

/// The number of patterns that may share a key before a less shared piece of their text is tried.
const CROWD: u32 = 8;

/// Maximum number of patterns in one set, because larger ones are slow (measured: at 512, half of
/// the gain is lost).
const SET_SIZE: usize = 128;

crate::index!(EntryIndex, "entry", "Position of an entry of an index.");
crate::index!(GroupIndex, "group", "Position of a group of patterns.");

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
    /// The end of the last segment, from one of its dots on: `**/*.rs`.
    pub(super) suffix: Keys<'g>,
    /// A piece of text in some segment: `**/*-worker-*`. Only for globs that would be crowded under
    /// the keys above.
    pub(super) gram: Keys<'g>,
    /// The globs without such a key.
    pub(super) rest: Key,
    pub(super) entries: Dense<EntryIndex, IndexEntry<'g>>,
    /// Patterns that share an entry, since there are many under one key.
    pub(super) groups: Dense<GroupIndex, Vec<(GlobIndex, &'g Pattern)>>,
}

/// Keys of one kind.
pub(super) type Keys<'g> = HashMap<&'g [u8], Key>;

/// What is known of the patterns of a key.
#[derive(Default)]
pub(super) struct Key {
    /// How many patterns could be filed under it.
    shared: u32,
    /// The first entry that is.
    pub(super) first: Option<EntryIndex>,
}

/// An alternative of a glob, or a group of them, in the chain of its key.
pub(super) struct IndexEntry<'g> {
    pub(super) next: Option<EntryIndex>,
    pub(super) test: Test<'g>,
}

/// The test that remains for a path that has the key.
#[derive(Clone, Copy)]
pub(super) enum Test<'g> {
    /// None: the key decides.
    None(GlobIndex),
    /// This pattern.
    One(GlobIndex, &'g Pattern),
    /// A group of patterns.
    Group(GroupIndex),
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
    /// Indexes globs.
    pub(super) fn new(globs: &Dense<GlobIndex, &'g Glob>) -> Self {
        let mut index = Self::default();
        let mut later = Vec::new();
        for (number, &glob) in globs.numbered() {
            for pattern in glob.alternatives() {
                if let Some(key) = sole_key(pattern) {
                    index.add(Some(key), Test::None(number));
                } else if pattern.prefix.is_empty() && matches!(*pattern.rest, [Segment::Any]) {
                    index.add(None, Test::None(number));
                } else {
                    each_key(pattern, |kind, bytes| index.share(kind, bytes));
                    later.push((number, pattern, false));
                }
            }
        }
        // Only now is the number of patterns of each key known. With a thousand globs such as
        // `packages/*/web/**`, the key `web` is better than `packages`.
        for (_, pattern, is_crowded) in &mut later {
            let best = index.least_shared(pattern, false);
            *is_crowded = best.is_none_or(|(shared, _)| shared > CROWD);
            if *is_crowded {
                each_gram(pattern, |bytes| index.share(Kind::Gram, bytes));
            }
        }
        for (number, pattern, is_crowded) in later {
            let best = index.least_shared(pattern, is_crowded);
            index.add(best.map(|(_, key)| key), Test::One(number, pattern));
        }
        index.group();
        index
    }

    /// Counts a pattern that could be filed under a key.
    fn share(&mut self, kind: Kind, bytes: &'g [u8]) {
        self.keys(kind).entry(bytes).or_default().shared += 1;
    }

    /// Returns the key of a pattern that the fewest others have, and how many do.
    fn least_shared(
        &mut self,
        pattern: &'g Pattern,
        grams: bool,
    ) -> Option<(u32, (Kind, &'g [u8]))> {
        let mut best = None;
        let mut consider = |kind, bytes: &'g [u8]| {
            let shared = self.keys(kind).get(bytes).map_or(0, |key| key.shared);
            if best.is_none_or(|(least, _)| shared < least) {
                best = Some((shared, (kind, bytes)));
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
            let mut keys = std::mem::take(self.keys(kind));
            // In one order always, as the first groups are those that are compiled.
            let mut in_order: Vec<&mut Key> = keys.values_mut().collect();
            in_order.sort_unstable_by_key(|key| key.first);
            for key in in_order {
                key.first = self.group_chain(key.first);
            }
            *self.keys(kind) = keys;
        }
        self.rest.first = self.group_chain(self.rest.first);
    }

    /// Groups the patterns of one chain that can be grouped; returns its new first entry.
    fn group_chain(&mut self, first: Option<EntryIndex>) -> Option<EntryIndex> {
        let (mut alone, mut many) = (Vec::new(), Vec::new());
        let mut next = first;
        while let Some(entry) = next {
            match self.entries[entry].test {
                Test::One(glob, pattern) if PatternSet::holds(pattern) => {
                    many.push((glob, pattern))
                }
                _ => alone.push(entry),
            }
            next = self.entries[entry].next;
        }
        if many.len() <= CROWD as usize {
            return first;
        }
        for entry in alone {
            self.entries[entry].next = next.replace(entry);
        }
        for group in many.chunks(SET_SIZE) {
            let test = Test::Group(self.groups.push(group.to_vec()));
            next = Some(self.entries.push(IndexEntry { next, test }));
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

    fn add(&mut self, key: Option<(Kind, &'g [u8])>, test: Test<'g>) {
        let entry = self.entries.push(IndexEntry { next: None, test });
        let key = match key {
            Some((kind, bytes)) => self.keys(kind).entry(bytes).or_default(),
            None => &mut self.rest,
        };
        let next = key.first.replace(entry);
        self.entries[entry].next = next;
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
