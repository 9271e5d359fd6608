//! Selections that are prepared once, and a pass of them over files in blocks.

use super::index::Index;
use super::list::{Child, Lists};
use super::walk::{Sink, Walk};
use crate::change::ChangeSet;
use crate::glob::Selection;
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
#[must_use]
pub fn match_all(selections: &[&Selection], changes: &ChangeSet) -> Vec<Selected> {
    let matcher = Matcher::new(selections);
    let lists = &matcher.lists;
    let tally = matcher.walk(Tally::new(lists), changes);
    lists
        .roots
        .iter()
        .map(|r| tally.answer(lists, *r))
        .collect()
}

/// Returns for each file whether the selection selects it, in the time of [`match_all`].
#[must_use]
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
    selections: Vec<Vec<usize>>,
    /// The empty buffers of the previous pass: making them takes longer than a pass over a few
    /// files.
    tally: Cell<Option<Tally>>,
}

impl<'g> Matcher<'g> {
    /// Prepares selections.
    #[must_use]
    pub fn new(selections: &[&'g Selection]) -> Self {
        let lists = Lists::new(selections);
        let index = Index::new(&lists.globs);
        let mut of_list = vec![Vec::new(); lists.lists.len()];
        for (selection, root) in lists.roots.iter().enumerate() {
            if let Some(selections) = of_list.get_mut(*root as usize) {
                selections.push(selection);
            }
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
    #[must_use]
    pub fn matches(&self, changes: &ChangeSet) -> Vec<(usize, Selected)> {
        let lists = &self.lists;
        let tally = self.tally.take().unwrap_or_else(|| Tally::new(lists));
        let mut tally = self.walk(tally, changes);
        let mut found = Vec::new();
        for list in &tally.found {
            let selections = self.selections.get(*list as usize).into_iter().flatten();
            found.extend(selections.map(|s| (*s, tally.answer(lists, *list))));
        }
        found.sort_unstable_by_key(|(selection, _)| *selection);
        tally.clear(lists);
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
struct Tally {
    /// The position of the current file in a mask.
    word: usize,
    bit: u64,
    /// For each glob, and for each list, the files of the current block that it selects.
    globs: Vec<Mask>,
    masks: Vec<Mask>,
    /// The globs that match some file of the current block.
    touched: Vec<u32>,
    /// The lists that may select some file of the block, by level; and whether each is queued.
    queues: Vec<Vec<u32>>,
    queued: Vec<bool>,
    /// For each list its hits, and for each child of each list.
    all: Vec<Hits>,
    items: Vec<Hits>,
    /// The lists with hits.
    found: Vec<u32>,
    /// For each list, whether all its files are requested; and the files found for such lists.
    watched: Vec<bool>,
    seen: Vec<SeenBlock>,
}

/// The files of one block that a list selects.
pub(super) struct SeenBlock {
    pub(super) list: u32,
    /// The first file of the block.
    base: u32,
    mask: Mask,
}

impl SeenBlock {
    /// Returns the indices of the files, ascending.
    pub(super) fn files(&self) -> impl Iterator<Item = usize> {
        let words = self
            .mask
            .into_iter()
            .zip((self.base as usize..).step_by(64));
        words.flat_map(|(word, base)| {
            let rests = std::iter::successors(Some(word), |rest| Some(rest & (rest - 1)));
            let rests = rests.take(word.count_ones() as usize);
            rests.map(move |rest| base + rest.trailing_zeros() as usize)
        })
    }
}

impl Sink for Tally {
    #[inline]
    fn knows(&self, glob: u32) -> bool {
        self.globs
            .get(glob as usize)
            .and_then(|mask| mask.get(self.word))
            .is_some_and(|word| word & self.bit != 0)
    }

    #[inline]
    fn hit(&mut self, glob: u32) {
        if let Some(mask) = self.globs.get_mut(glob as usize) {
            if *mask == NONE {
                self.touched.push(glob);
            }
            if let Some(word) = mask.get_mut(self.word) {
                *word |= self.bit;
            }
        }
    }
}

impl Tally {
    fn new(lists: &Lists<'_>) -> Self {
        let count = lists.lists.len();
        Self {
            word: 0,
            bit: 0,
            globs: vec![NONE; lists.globs.len()],
            masks: vec![NONE; count],
            touched: Vec::new(),
            queues: vec![Vec::new(); lists.levels],
            queued: vec![false; count],
            all: vec![Hits::default(); count],
            items: vec![Hits::default(); lists.children.len()],
            found: Vec::new(),
            watched: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Makes one that remembers every file that a selection selects.
    fn watching(lists: &Lists<'_>) -> Self {
        let mut tally = Self::new(lists);
        tally.watched = vec![false; lists.lists.len()];
        (lists.roots.iter()).for_each(|root| set(&mut tally.watched, *root, true));
        tally
    }

    /// Evaluates the lists on the current block, whose first file has the index `base`, and clears
    /// the block.
    fn close(&mut self, lists: &Lists<'_>, base: u32) {
        for glob in &self.touched {
            for list in lists.of_glob.of(*glob) {
                enqueue(&mut self.queues, &mut self.queued, lists, *list);
            }
        }
        // A list comes after all lists that it names, including excluded ones.
        for level in 0..self.queues.len() {
            let queue = self
                .queues
                .get_mut(level)
                .map(std::mem::take)
                .unwrap_or_default();
            for list in &queue {
                if self.evaluate(lists, *list, base) {
                    for user in lists.of_list.of(*list) {
                        enqueue(&mut self.queues, &mut self.queued, lists, *user);
                    }
                }
            }
            if let Some(slot) = self.queues.get_mut(level) {
                *slot = queue;
            }
        }
        for queue in &mut self.queues {
            for list in queue.drain(..) {
                set(&mut self.masks, list, NONE);
                set(&mut self.queued, list, false);
            }
        }
        for glob in self.touched.drain(..) {
            set(&mut self.globs, glob, NONE);
        }
    }

    /// Counts the files of the block that a list selects, and returns whether there are any.
    fn evaluate(&mut self, lists: &Lists<'_>, list: u32, base: u32) -> bool {
        let (from, children) = lists.children_of(list);
        let excluded = children
            .iter()
            .filter(|c| c.not)
            .fold(NONE, |mask, c| zip(mask, self.mask(*c), |a, b| a | b));
        let mut all = NONE;
        for (child, item) in children.iter().zip(from..) {
            if child.not {
                continue;
            }
            let mask = zip(self.mask(*child), excluded, |mask, not| mask & !not);
            all = zip(all, mask, |a, b| a | b);
            // A single item has the hits of its list.
            if children.len() > 1
                && let Some(hits) = self.items.get_mut(item)
            {
                hits.add(mask, base);
            }
        }
        set(&mut self.masks, list, all);
        if let Some(hits) = self.all.get_mut(list as usize) {
            if hits.count == 0 && all != NONE {
                self.found.push(list);
            }
            hits.add(all, base);
        }
        if all != NONE && self.watched.get(list as usize) == Some(&true) {
            let mask = all;
            self.seen.push(SeenBlock { list, base, mask });
        }
        all != NONE
    }

    fn mask(&self, child: Child) -> Mask {
        let masks = if child.list { &self.masks } else { &self.globs };
        masks.get(child.number as usize).copied().unwrap_or(NONE)
    }

    fn answer(&self, lists: &Lists<'_>, list: u32) -> Selected {
        let all = self.all.get(list as usize).cloned().unwrap_or_default();
        let (from, children) = lists.children_of(list);
        let items = match children {
            [_] => vec![all.clone()],
            _ => self
                .items
                .get(from..from + children.len())
                .map(<[Hits]>::to_vec)
                .unwrap_or_default(),
        };
        Selected { all, items }
    }

    /// Forgets the hits. All else was cleared with each block.
    fn clear(&mut self, lists: &Lists<'_>) {
        for list in self.found.drain(..) {
            set(&mut self.all, list, Hits::default());
            let (from, children) = lists.children_of(list);
            let items = self.items.get_mut(from..from + children.len());
            items.unwrap_or_default().fill(Hits::default());
        }
    }
}

impl Hits {
    /// Adds the files of a mask, whose lowest bit is the file `base`.
    fn add(&mut self, mask: Mask, base: u32) {
        self.count += mask
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum::<u64>();
        if self.first.len() == SHOWN {
            return;
        }
        for (word, base) in mask.iter().zip((base..).step_by(64)) {
            let mut left = *word;
            while left != 0 && self.first.len() < SHOWN {
                self.first.push(base + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }
}

fn zip(a: Mask, b: Mask, of: impl Fn(u64, u64) -> u64) -> Mask {
    let mut mask = a;
    for (word, other) in mask.iter_mut().zip(b) {
        *word = of(*word, other);
    }
    mask
}

fn enqueue(queues: &mut [Vec<u32>], queued: &mut [bool], lists: &Lists<'_>, list: u32) {
    let level = lists.level(list);
    if let (Some(queue), Some(queued @ false)) =
        (queues.get_mut(level), queued.get_mut(list as usize))
    {
        *queued = true;
        queue.push(list);
    }
}

fn set<T>(values: &mut [T], at: u32, to: T) {
    if let Some(value) = values.get_mut(at as usize) {
        *value = to;
    }
}
