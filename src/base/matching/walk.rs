//! Matches one path after another against the globs of an index.

use super::index::{EntryIndex, GRAM, GroupIndex, Index, Keys, Test};
use super::list::GlobIndex;
use crate::glob::{Pattern, PatternSet};
use crate::index::Dense;

/// The number of paths that a group of patterns is tested with before it is compiled to a set.
const PATIENCE: u32 = 256;

/// Maximum number of compiled sets, because each may take a megabyte or two.
const SETS: usize = 8;

/// Takes the globs that match the current path.
pub(super) trait Sink {
    /// Whether a glob is already known to match the path.
    fn knows(&self, glob: GlobIndex) -> bool;
    /// Notes a glob that matches the path.
    fn hit(&mut self, glob: GlobIndex);
}

/// A walk over paths. It is fastest in byte order, because neighbours share directories, which are
/// looked up once.
pub(super) struct Walk<'g, 'p> {
    index: &'g Index<'g>,
    /// The directories above the previous path, outermost first.
    above: Vec<Directory>,
    before: &'p [u8],
    sets: Dense<GroupIndex, Set>,
}

/// The state of a group of patterns.
enum Set {
    /// Tested with that many paths so far.
    Waiting(u32),
    Compiled(PatternSet<GlobIndex>),
    /// Its patterns are tested one by one.
    Never,
}

struct Directory {
    /// The offset of the `/` after it.
    end: usize,
    /// The entries found by its path, and by its name.
    tree: Option<EntryIndex>,
    segment: Option<EntryIndex>,
}

impl<'g, 'p> Walk<'g, 'p> {
    /// Starts at the root.
    pub(super) fn new(index: &'g Index<'g>) -> Self {
        let sets = (0..index.groups.len()).map(|i| match i {
            0..SETS => Set::Waiting(0),
            _ => Set::Never,
        });
        Self {
            index,
            above: Vec::new(),
            before: &[],
            sets: sets.collect(),
        }
    }

    /// Tells the tally of each glob that matches the path, at least once. A glob that it knows is
    /// not tested again.
    pub(super) fn visit(&mut self, path: &'p [u8], tally: &mut impl Sink) {
        let index = self.index;
        let pairs = self.before.iter().zip(path);
        let shared = pairs.take_while(|(a, b)| a == b).count();
        self.before = path;
        let is_left = |d: &mut Directory| d.end > shared || path.get(d.end) != Some(&b'/');
        while self.above.pop_if(is_left).is_some() {}
        let sets = &mut self.sets;
        let mut test = |first, end| test(index, sets, first, path, end, tally);
        for directory in &self.above {
            test(directory.tree, Some(directory.end));
            test(directory.segment, None);
        }
        let mut start = self.above.last().map_or(0, |d| d.end + 1);
        let slashes = path.iter().enumerate().skip(start);
        for (end, _) in slashes.filter(|(_, byte)| **byte == b'/') {
            let tree = first(&index.tree, path.get(..end));
            let segment = first(&index.segment, path.get(start..end));
            test(tree, Some(end));
            test(segment, None);
            self.above.push(Directory { end, tree, segment });
            start = end + 1;
        }
        let name = path.get(start..);
        test(first(&index.whole, Some(path)), None);
        test(first(&index.tree, Some(path)), Some(path.len()));
        test(first(&index.segment, name), None);
        test(first(&index.name, name), None);
        if !index.suffix.is_empty() {
            let letters = path.iter().enumerate().skip(start);
            for (dot, _) in letters.filter(|(_, byte)| **byte == b'.') {
                test(first(&index.suffix, path.get(dot..)), None);
            }
        }
        if !index.gram.is_empty() {
            for gram in path.windows(GRAM) {
                test(first(&index.gram, Some(gram)), None);
            }
        }
        test(index.rest.first, None);
    }
}

/// Returns the first entry under a key.
#[inline]
fn first(keys: &Keys<'_>, bytes: Option<&[u8]>) -> Option<EntryIndex> {
    keys.get(bytes?)?.first
}

/// Tests the entries of one key. `end`: the end of the pattern's prefix, if the key was that
/// prefix.
#[inline]
fn test(
    index: &Index<'_>,
    sets: &mut Dense<GroupIndex, Set>,
    mut next: Option<EntryIndex>,
    path: &[u8],
    end: Option<usize>,
    tally: &mut impl Sink,
) {
    while let Some(entry) = next.map(|entry| &index.entries[entry]) {
        match entry.test {
            Test::None(glob) => tally.hit(glob),
            Test::One(glob, _) if tally.knows(glob) => {}
            Test::One(glob, pattern) => {
                let matches = match end {
                    Some(end) => pattern.matches_below(path.get(end + 1..)),
                    None => pattern.matches(path),
                };
                if matches {
                    tally.hit(glob);
                }
            }
            Test::Group(group) => sets[group].test(&index.groups[group], path, tally),
        }
        next = entry.next;
    }
}

impl Set {
    fn test(&mut self, group: &[(GlobIndex, &Pattern)], path: &[u8], tally: &mut impl Sink) {
        if let Set::Waiting(met) = self {
            *met += 1;
            if *met > PATIENCE {
                *self = PatternSet::new(group).map_or(Set::Never, Set::Compiled);
            }
        }
        if let Set::Compiled(set) = self {
            return set.visit(path, |glob| tally.hit(glob));
        }
        for (glob, pattern) in group {
            if !tally.knows(*glob) && pattern.matches(path) {
                tally.hit(*glob);
            }
        }
    }
}
