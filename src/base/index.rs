//! Indices that have a type of their own, vectors that only they index, and the error of an index
//! that does not fit.

use std::marker::PhantomData;

/// Ends vplan because it contradicts itself. The command line reports it as `vplan::internal`, exit
/// 1 (never a pass); records that were written stay. Only for states that no input can cause: input
/// from a file or a caller is checked when it is read, and has its own errors.
#[expect(
    clippy::panic,
    reason = "the one place; the command line makes exit 1 of it"
)]
#[track_caller]
pub fn bug(what: &str) -> ! {
    panic!("a bug in vplan: {what}")
}

/// An index of one kind of thing, such as the steps of a plan.
pub trait Index: Copy + Eq + Ord {
    /// The name of the numbered things, for the report of a bug.
    const OF: &'static str;

    /// Numbers the thing at a position.
    fn new(position: usize) -> Self;

    /// Returns the position.
    fn position(self) -> usize;
}

/// Declares the index of one kind of thing: `index!(StepIndex, "step", "Position of a step in its
/// plan.")`.
#[macro_export]
macro_rules! index {
    ($name:ident, $of:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(usize);

        impl $crate::index::Index for $name {
            const OF: &'static str = $of;

            fn new(position: usize) -> Self {
                Self(position)
            }

            fn position(self) -> usize {
                self.0
            }
        }
    };
}

/// Returns the thing at an index of its own vector.
#[track_caller]
pub fn at<I: Index, T>(things: &[T], index: I) -> &T {
    match things.get(index.position()) {
        Some(thing) => thing,
        None => bug(I::OF),
    }
}

/// Returns the thing at an index of its own vector, to be changed.
#[track_caller]
pub fn at_mut<I: Index, T>(things: &mut [T], index: I) -> &mut T {
    match things.get_mut(index.position()) {
        Some(thing) => thing,
        None => bug(I::OF),
    }
}

/// Numbers the things of a vector.
pub fn numbered<I: Index, T>(things: &[T]) -> impl DoubleEndedIterator<Item = (I, &T)> {
    things.iter().enumerate().map(|(i, t)| (I::new(i), t))
}

/// A vector that only one kind of index reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dense<I, T> {
    things: Vec<T>,
    index: PhantomData<I>,
}

impl<I: Index, T> Dense<I, T> {
    /// Makes one of `count` copies.
    pub fn filled(thing: T, count: usize) -> Self
    where
        T: Clone,
    {
        vec![thing; count].into_iter().collect()
    }

    /// Appends a thing and returns its index.
    pub fn push(&mut self, thing: T) -> I {
        let index = I::new(self.things.len());
        self.things.push(thing);
        index
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// Returns all indices, ascending.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.things.len()).map(I::new)
    }

    /// Returns all things in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.things.iter()
    }

    /// Returns all things in order, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.things.iter_mut()
    }

    /// Returns all things with their indices.
    pub fn numbered(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        numbered(&self.things)
    }

    /// Returns all things in order, as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.things
    }

    /// Returns the vector without its type of index.
    pub fn into_vec(self) -> Vec<T> {
        self.things
    }
}

impl<I, T> Default for Dense<I, T> {
    fn default() -> Self {
        Self {
            things: Vec::new(),
            index: PhantomData,
        }
    }
}

impl<I, T> FromIterator<T> for Dense<I, T> {
    fn from_iter<Things: IntoIterator<Item = T>>(things: Things) -> Self {
        Self {
            things: things.into_iter().collect(),
            index: PhantomData,
        }
    }
}

impl<I, T> From<Vec<T>> for Dense<I, T> {
    fn from(things: Vec<T>) -> Self {
        Self {
            things,
            index: PhantomData,
        }
    }
}

impl<I, T> IntoIterator for Dense<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.things.into_iter()
    }
}

impl<'d, I: Index, T> IntoIterator for &'d mut Dense<I, T> {
    type Item = &'d mut T;
    type IntoIter = std::slice::IterMut<'d, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<'d, I: Index, T> IntoIterator for &'d Dense<I, T> {
    type Item = &'d T;
    type IntoIter = std::slice::Iter<'d, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<I: Index, T> std::ops::Index<I> for Dense<I, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        at(&self.things, index)
    }
}

impl<I: Index, T> std::ops::IndexMut<I> for Dense<I, T> {
    fn index_mut(&mut self, index: I) -> &mut T {
        at_mut(&mut self.things, index)
    }
}

#[cfg(test)]
mod tests {
    use super::{Dense, Index as _};

    crate::index!(RowIndex, "row", "Position of a row.");

    #[test]
    fn only_its_own_index_reads_it() {
        let mut rows: Dense<RowIndex, &str> = ["a", "b"].into_iter().collect();
        let third = rows.push("c");
        rows[third] = "d";
        let all: Vec<(usize, &str)> = rows.numbered().map(|(i, r)| (i.position(), *r)).collect();
        assert_eq!(all, [(0, "a"), (1, "b"), (2, "d")]);
    }

    #[test]
    #[should_panic(expected = "a bug in vplan: row")]
    fn an_index_of_another_vector_is_a_bug() {
        let rows: Dense<RowIndex, u8> = Dense::filled(0, 2);
        let _ = rows[RowIndex::new(2)];
    }
}
