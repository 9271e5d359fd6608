//! Sets of things that an index numbers, as bits.

use super::index::{Dense, Index};
use std::marker::PhantomData;

crate::index!(Word, "word of a set", "Position of 64 things in a set.");

/// A set of some of the first things that an index numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits<I> {
    words: Dense<Word, u64>,
    len: usize,
    of: PhantomData<I>,
}

impl<I: Index> Default for Bits<I> {
    fn default() -> Self {
        Self::none(0)
    }
}

impl<I: Index> Bits<I> {
    /// Returns the empty set, with room for the first `len` things.
    pub fn none(len: usize) -> Self {
        Self {
            words: Dense::filled(0, len.div_ceil(64)),
            len,
            of: PhantomData,
        }
    }

    /// Returns the set of those of the first `len` things for which `holds` is true.
    pub fn from_fn(len: usize, holds: impl Fn(I) -> bool) -> Self {
        let mut all = Self::none(len);
        let held = (0..len).map(I::new).filter(|i| holds(*i));
        held.for_each(|i| all.set(i));
        all
    }

    fn place(index: I) -> (Word, u64) {
        let position = index.position();
        (Word::new(position / 64), 1 << (position % 64))
    }

    /// Whether it contains a thing.
    pub fn has(&self, index: I) -> bool {
        let (word, bit) = Self::place(index);
        self.words[word] & bit != 0
    }

    /// Adds a thing.
    pub fn set(&mut self, index: I) {
        let (word, bit) = Self::place(index);
        self.words[word] |= bit;
    }

    /// Adds a thing, or removes it.
    pub fn put(&mut self, index: I, is_in: bool) {
        let (word, bit) = Self::place(index);
        if is_in {
            self.words[word] |= bit;
        } else {
            self.words[word] &= !bit;
        }
    }

    /// Returns its elements, ascending.
    pub fn iter(&self) -> impl Iterator<Item = I> {
        let of_word = |(place, word): (usize, &u64)| {
            let rest = |left: &u64| Some(left & (left - 1)).filter(|left| *left != 0);
            let each = std::iter::successors(Some(*word).filter(|w| *w != 0), rest);
            each.map(move |left| I::new(place * 64 + left.trailing_zeros() as usize))
        };
        self.words.iter().enumerate().flat_map(of_word)
    }

    /// Adds the elements of another set.
    pub fn add(&mut self, other: &Self) {
        for (own, more) in self.words.iter_mut().zip(&other.words) {
            *own |= more;
        }
    }

    /// Whether it contains something that the other one lacks.
    pub fn exceeds(&self, other: &Self) -> bool {
        self.words
            .iter()
            .zip(&other.words)
            .any(|(a, b)| a & !b != 0)
    }

    /// Returns its elements that the other set lacks.
    pub fn without(&self, other: &Self) -> Self {
        let words = self.words.iter().zip(&other.words);
        Self {
            words: words.map(|(a, b)| a & !b).collect(),
            ..*self
        }
    }

    /// Returns the complement.
    pub fn opposite(&self) -> Self {
        Self::from_fn(self.len, |i| !self.has(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::index!(Thing, "thing", "A thing.");

    #[test]
    fn sets() {
        let of =
            |members: &[usize]| Bits::<Thing>::from_fn(70, |i| members.contains(&i.position()));
        let (a, b) = (of(&[0, 63, 64, 69]), of(&[0, 64]));
        assert!(a.exceeds(&b) && !b.exceeds(&a) && !b.without(&a).exceeds(&of(&[])));
        assert_eq!(a.without(&b), of(&[63, 69]));
        let members = |set: &Bits<Thing>| set.iter().map(Index::position).collect::<Vec<_>>();
        assert_eq!(members(&a), [0, 63, 64, 69]);
        assert!(members(&of(&[])).is_empty());
        let mut moved = b.clone();
        moved.put(Thing::new(0), false);
        moved.put(Thing::new(65), true);
        assert_eq!(members(&moved), [64, 65]);
        let mut all = a.opposite();
        assert!(!all.has(Thing::new(69)) && all.has(Thing::new(1)));
        all.add(&a);
        assert_eq!(all.opposite(), Bits::none(70));
    }
}
