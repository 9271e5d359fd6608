//! Matches one path after another against the globs of an index.

use super::index::{END, GRAM, Index, Test};
use super::table::{SEED, hash, step};
use crate::glob::{Pattern, PatternSet};

/// The number of paths that a group of patterns is tested with before it is compiled to a set.
const PATIENCE: u32 = 256;

/// Maximum number of compiled sets, because each may take a megabyte or two.
const SETS: usize = 8;

/// A walk over paths. It is fastest in byte order, because neighbours share directories, which are
/// looked up once.
pub(super) struct Walk<'g, 'p> {
    index: &'g Index<'g>,
    /// The directories above the previous path, outermost first.
    above: Vec<Directory>,
    before: &'p [u8],
    sets: Vec<Set>,
}

/// The state of a group of patterns.
enum Set {
    /// Tested with that many paths so far.
    Waiting(u32),
    Compiled(PatternSet),
    /// Its patterns are tested one by one.
    Never,
}

struct Directory {
    /// The offset of the `/` after it.
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
        let sets = (0..index.groups.len())
            .map(|i| {
                if i < SETS {
                    Set::Waiting(0)
                } else {
                    Set::Never
                }
            })
            .collect();
        Self {
            index,
            above: Vec::new(),
            before: &[],
            sets,
        }
    }

    /// Calls `found` with the number of each glob that matches the path, at least once. `known` may
    /// exempt a glob from being tested again.
    pub(super) fn visit<S: Sink>(&mut self, path: &'p [u8], sink: &mut S) {
        let index = self.index;
        let shared = self
            .before
            .iter()
            .zip(path)
            .take_while(|(a, b)| a == b)
            .count();
        self.before = path;
        while self
            .above
            .last()
            .is_some_and(|d| d.end > shared || path.get(d.end) != Some(&b'/'))
        {
            self.above.pop();
        }
        let sets = &mut self.sets;
        let mut test = |first: u32, end: Option<usize>| test(index, sets, first, path, end, sink);
        for directory in &self.above {
            test(directory.tree, Some(directory.end));
            test(directory.segment, None);
        }
        let (mut start, mut whole) = self.above.last().map_or((0, SEED), |d| (d.end + 1, d.hash));
        let mut segment = SEED;
        for (at, byte) in path.iter().enumerate().skip(start) {
            if *byte == b'/' {
                let tree = path
                    .get(..at)
                    .map_or(END, |dir| index.tree.first(whole, dir));
                let name = path
                    .get(start..at)
                    .map_or(END, |name| index.segment.first(segment, name));
                test(tree, Some(at));
                test(name, None);
                whole = step(whole, *byte);
                self.above.push(Directory {
                    end: at,
                    hash: whole,
                    tree,
                    segment: name,
                });
                (start, segment) = (at + 1, SEED);
            } else {
                whole = step(whole, *byte);
                segment = step(segment, *byte);
            }
        }
        let name = path.get(start..).unwrap_or_default();
        test(index.whole.first(whole, path), None);
        test(index.tree.first(whole, path), Some(path.len()));
        test(index.segment.first(segment, name), None);
        test(index.name.first(segment, name), None);
        if !index.suffix.keys.is_empty() {
            let mut hash = SEED;
            for (at, byte) in name.iter().enumerate().rev() {
                hash = step(hash, *byte);
                if *byte == b'.' {
                    let suffix = name.get(at..).unwrap_or_default();
                    test(index.suffix.first(hash, suffix), None);
                }
            }
        }
        if !index.gram.keys.is_empty() {
            for gram in path.windows(GRAM) {
                test(index.gram.first(hash(gram), gram), None);
            }
        }
        test(index.rest.unwrap_or(END), None);
    }
}

/// A receiver of the globs that match.
pub(super) trait Sink {
    /// Whether a glob is already known to match the current path.
    fn knows(&self, glob: u32) -> bool;
    /// Reports a glob that matches the current path.
    fn hit(&mut self, glob: u32);
}

/// Tests the entries of one key. `end`: the end of the pattern's prefix, if the key was that
/// prefix.
#[inline]
fn test(
    index: &Index<'_>,
    sets: &mut [Set],
    first: u32,
    path: &[u8],
    end: Option<usize>,
    sink: &mut impl Sink,
) {
    let mut next = first;
    while let Some(entry) = index.entries.get(next as usize) {
        match (entry.test, end) {
            (Test::None, _) => sink.hit(entry.number),
            (Test::One(_), _) if sink.knows(entry.number) => {}
            (Test::One(pattern), Some(end)) => {
                if pattern.matches_below(path.get(end + 1..)) {
                    sink.hit(entry.number);
                }
            }
            (Test::One(pattern), None) => {
                if pattern.matches(path) {
                    sink.hit(entry.number);
                }
            }
            (Test::Group, _) => {
                let group = index.groups.get(entry.number as usize);
                if let (Some(group), Some(set)) = (group, sets.get_mut(entry.number as usize)) {
                    set.test(group, path, sink);
                }
            }
        }
        next = entry.next;
    }
}

impl Set {
    fn test(&mut self, group: &[(u32, &Pattern)], path: &[u8], sink: &mut impl Sink) {
        if let Set::Waiting(met) = self {
            *met += 1;
            if *met > PATIENCE {
                *self = PatternSet::new(group).map_or(Set::Never, Set::Compiled);
            }
        }
        if let Set::Compiled(set) = self {
            return set.visit(path, |glob| sink.hit(glob));
        }
        for (glob, pattern) in group {
            if !sink.knows(*glob) && pattern.matches(path) {
                sink.hit(*glob);
            }
        }
    }
}
