//! Selections that are prepared once, and a pass of them over files in blocks.

use super::index::Index;
use super::list::{ChildKind, GlobIndex, Level, ListIndex, Lists};
use super::walk::{Sink, Walk};
use crate::change::ChangeSet;
use crate::glob::Selection;
use crate::index::{Dense, Index as _};
use std::cell::Cell;

/// Maximum number of files that a reason names.
pub const SHOWN: usize = 20;

/// Selected files: how many, and the first [`SHOWN`] as indices into the change set (which is in
/// byte order).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// How many files are selected, also those not in `first`.
    pub count: u64,
    /// The first of them, at most [`SHOWN`].
    pub first: Vec<u32>,
}

/// The files that one selection selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// Files that the whole selection selects.
    pub all: Hits,
    /// For each item in order: files that this (positive) item selects and no exclusion of the
    /// list takes away. Empty for excluding items.
    pub items: Vec<Hits>,
}

/// The number of words of a block's mask, a bit for each file. Wide, so that a list that every
/// block concerns costs few steps (measured: four words take a third of the time of one when ten
/// thousand lists name `**`).
const WORDS: usize = 4;
type Mask = [u64; WORDS];
const NONE: Mask = [0; WORDS];

/// Matches all selections against all changed files; the result has one entry per selection, in
/// order.
///
/// Time and memory grow with the files plus the selections plus the hits. Equal globs and equal
/// selections are evaluated once. The files are taken in blocks, a bit each, so that the lists are
/// evaluated some words at a time: a glob that matches most files costs each list that names it one
/// step a block, not one a file.
pub fn match_all(selections: &[&Selection], changes: &ChangeSet) -> Vec<Selected> {
    let matcher = Matcher::new(selections);
    let lists = &matcher.lists;
    let tally = matcher.walk(Tally::new(lists), changes);
    lists.roots.iter().map(|root| tally.answer(*root)).collect()
}

/// Returns for each file whether the selection selects it, in the time of [`match_all`].
pub fn match_each(selection: &Selection, changes: &ChangeSet) -> Vec<bool> {
    let matcher = Matcher::new(&[selection]);
    let blocks = matcher.watch(changes);
    let mut selected = vec![false; changes.len()];
    for file in blocks.iter().flat_map(SeenBlock::files) {
        if let Some(is_selected) = selected.get_mut(file) {
            *is_selected = true;
        }
    }
    selected
}

/// Selections that are prepared once, for many change sets. The cost of a pass depends on the
/// matches, not on the number of selections.
pub struct Matcher<'g> {
    lists: Lists<'g>,
    index: Index<'g>,
    /// For each list the selections that it is.
    selections: Dense<ListIndex, Vec<usize>>,
    /// The empty buffers of the previous pass: making them takes longer than a pass over a few
    /// files.
    tally: Cell<Option<Tally>>,
}

impl<'g> Matcher<'g> {
    /// Prepares selections.
    pub fn new(selections: &[&'g Selection]) -> Self {
        let lists = Lists::new(selections);
        let index = Index::new(&lists.globs);
        let mut of_list = Dense::filled(Vec::new(), lists.lists.len());
        for (selection, root) in lists.roots.iter().enumerate() {
            of_list[*root].push(selection);
        }
        Self {
            lists,
            index,
            selections: of_list,
            tally: Cell::default(),
        }
    }

    /// Returns the result of [`match_all`] for each selection that selects a file, with its
    /// position, ascending.
    pub fn matches(&self, changes: &ChangeSet) -> Vec<(usize, Selected)> {
        let lists = &self.lists;
        let tally = self.tally.take().unwrap_or_else(|| Tally::new(lists));
        let mut tally = self.walk(tally, changes);
        let mut found = Vec::new();
        for list in &tally.found {
            let selections = self.selections[*list].iter();
            found.extend(selections.map(|s| (*s, tally.answer(*list))));
        }
        found.sort_unstable_by_key(|(selection, _)| *selection);
        tally.clear();
        self.tally.set(Some(tally));
        found
    }

    /// Returns for each list of a selection, and each block, every file that it selects.
    pub(super) fn watch(&self, changes: &ChangeSet) -> Vec<SeenBlock> {
        self.walk(Tally::watching(&self.lists), changes).seen
    }

    fn walk(&self, mut tally: Tally, changes: &ChangeSet) -> Tally {
        let mut walk = Walk::new(&self.index);
        let mut base = 0;
        for block in changes.files().chunks(64 * WORDS) {
            for (i, file) in block.iter().enumerate() {
                (tally.word, tally.bit) = (i / 64, 1 << (i % 64));
                walk.visit(file.path.as_bytes(), &mut tally);
            }
            tally.close(&self.lists, base);
            base += 64 * WORDS as u32;
        }
        tally
    }
}

impl std::fmt::Debug for Matcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matcher")
            .field("globs", &self.lists.globs.len())
            .finish_non_exhaustive()
    }
}

/// The state of the current block, and the hits so far.
pub(super) struct Tally {
    /// The position of the current file in a mask.
    word: usize,
    bit: u64,
    /// For each glob, and for each list, the files of the current block that it selects.
    globs: Dense<GlobIndex, Mask>,
    masks: Dense<ListIndex, Mask>,
    /// The globs that match some file of the current block.
    touched: Vec<GlobIndex>,
    /// The lists that may select some file of the block, by level; and whether each is queued.
    queues: Dense<Level, Vec<ListIndex>>,
    queued: Dense<ListIndex, bool>,
    /// For each list its hits, and for each of its children; a single child has those of its list.
    all: Dense<ListIndex, Hits>,
    items: Dense<ListIndex, Vec<Hits>>,
    /// The lists with hits.
    found: Vec<ListIndex>,
    /// For each list, whether all its files are requested; and the files found for such lists.
    watched: Dense<ListIndex, bool>,
    seen: Vec<SeenBlock>,
}

/// The files of one block that a list selects.
pub(super) struct SeenBlock {
    pub(super) list: ListIndex,
    /// The first file of the block.
    base: u32,
    mask: Mask,
}

impl SeenBlock {
    /// Returns the indices of the files, ascending.
    pub(super) fn files(&self) -> impl Iterator<Item = usize> {
        files(self.mask, self.base).map(|file| file as usize)
    }
}

/// Returns the files of a mask, whose lowest bit is the file `base`, ascending.
fn files(mask: Mask, base: u32) -> impl Iterator<Item = u32> {
    let words = mask.into_iter().zip((base..).step_by(64));
    words.flat_map(|(word, base)| {
        let rests = std::iter::successors(Some(word), |rest| Some(rest & (rest - 1)));
        let rests = rests.take(word.count_ones() as usize);
        rests.map(move |rest| base + rest.trailing_zeros())
    })
}

impl Tally {
    fn new(lists: &Lists<'_>) -> Self {
        let count = lists.lists.len();
        let levels = lists.lists.iter().map(|list| list.level.position() + 1);
        let hits = |count: usize| vec![Hits::default(); count];
        Self {
            word: 0,
            bit: 0,
            globs: Dense::filled(NONE, lists.globs.len()),
            masks: Dense::filled(NONE, count),
            touched: Vec::new(),
            queues: Dense::filled(Vec::new(), levels.max().unwrap_or(0)),
            queued: Dense::filled(false, count),
            all: Dense::filled(Hits::default(), count),
            items: (lists.lists.iter())
                .map(|list| hits(list.children.len()))
                .collect(),
            found: Vec::new(),
            watched: Dense::filled(false, count),
            seen: Vec::new(),
        }
    }

    /// Makes one that remembers every file that a selection selects.
    fn watching(lists: &Lists<'_>) -> Self {
        let mut tally = Self::new(lists);
        (lists.roots.iter()).for_each(|root| tally.watched[*root] = true);
        tally
    }

    /// Evaluates the lists on the current block, whose first file has the index `base`, and clears
    /// the block.
    fn close(&mut self, lists: &Lists<'_>, base: u32) {
        let mut touched = std::mem::take(&mut self.touched);
        for glob in &touched {
            self.enqueue(lists, &lists.of_glob[*glob]);
        }
        // A list comes after all lists that it names, including excluded ones.
        for level in self.queues.indices() {
            let queue = std::mem::take(&mut self.queues[level]);
            for list in &queue {
                if self.evaluate(lists, *list, base) {
                    self.enqueue(lists, &lists.of_list[*list]);
                }
            }
            self.queues[level] = queue;
        }
        for list in self.queues.iter_mut().flat_map(|queue| queue.drain(..)) {
            self.masks[list] = NONE;
            self.queued[list] = false;
        }
        for glob in touched.drain(..) {
            self.globs[glob] = NONE;
        }
        self.touched = touched;
    }

    fn enqueue(&mut self, lists: &Lists<'_>, users: &[ListIndex]) {
        for list in users {
            if !std::mem::replace(&mut self.queued[*list], true) {
                self.queues[lists.lists[*list].level].push(*list);
            }
        }
    }

    /// Counts the files of the block that a list selects, and returns whether there are any.
    fn evaluate(&mut self, lists: &Lists<'_>, list: ListIndex, base: u32) -> bool {
        let children = &*lists.lists[list].children;
        let mask = |this: &Self, child: ChildKind| match child {
            ChildKind::Glob(glob) => this.globs[glob],
            ChildKind::List(list) => this.masks[list],
        };
        let excluding = children.iter().filter(|child| child.not);
        let excluded = excluding.fold(NONE, |sum, child| {
            zip(sum, mask(self, child.what), |a, b| a | b)
        });
        let mut all = NONE;
        for (item, child) in children.iter().enumerate().filter(|(_, c)| !c.not) {
            let mask = zip(mask(self, child.what), excluded, |mask, not| mask & !not);
            all = zip(all, mask, |a, b| a | b);
            if let Some(hits) = self.items[list].get_mut(item) {
                hits.add(mask, base);
            }
        }
        self.masks[list] = all;
        if all == NONE {
            return false;
        }
        if self.all[list].count == 0 {
            self.found.push(list);
        }
        self.all[list].add(all, base);
        if self.watched[list] {
            let mask = all;
            self.seen.push(SeenBlock { list, base, mask });
        }
        true
    }

    fn answer(&self, list: ListIndex) -> Selected {
        let (all, mut items) = (self.all[list].clone(), self.items[list].clone());
        if let [only] = &mut *items {
            only.clone_from(&all);
        }
        Selected { all, items }
    }

    /// Forgets the hits. All else was cleared with each block.
    fn clear(&mut self) {
        for list in self.found.drain(..) {
            self.all[list] = Hits::default();
            self.items[list].fill(Hits::default());
        }
    }
}

impl Sink for Tally {
    #[inline]
    fn knows(&self, glob: GlobIndex) -> bool {
        let word = self.globs[glob].get(self.word);
        word.is_some_and(|word| word & self.bit != 0)
    }

    #[inline]
    fn hit(&mut self, glob: GlobIndex) {
        let mask = &mut self.globs[glob];
        if *mask == NONE {
            self.touched.push(glob);
        }
        if let Some(word) = mask.get_mut(self.word) {
            *word |= self.bit;
        }
    }
}

impl Hits {
    /// Adds the files of a mask, whose lowest bit is the file `base`.
    fn add(&mut self, mask: Mask, base: u32) {
        let ones = mask.iter().map(|word| u64::from(word.count_ones()));
        self.count += ones.sum::<u64>();
        let room = SHOWN.saturating_sub(self.first.len());
        self.first.extend(files(mask, base).take(room));
    }
}

fn zip(a: Mask, b: Mask, of: impl Fn(u64, u64) -> u64) -> Mask {
    let mut mask = a;
    for (word, other) in mask.iter_mut().zip(b) {
        *word = of(*word, other);
    }
    mask
}
