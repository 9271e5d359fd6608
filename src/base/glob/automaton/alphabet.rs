//! Divides characters into classes that no glob distinguishes.

use super::machine::{ClassIndex, Machine, Token};
use crate::index::Dense;
use std::collections::{BTreeMap, BTreeSet};

/// A set of characters that are the same to every glob.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Letter {
    /// Its most readable character; `None` is a stray byte.
    pub shown: Option<char>,
    pub cost: u64,
}

/// The classes that contain some letters, and these letters, the most readable first.
pub(super) type Family = (Dense<ClassIndex, bool>, Vec<Letter>);

impl Machine<'_> {
    /// Divides all characters into letters, and groups those that only a literal character
    /// distinguishes.
    pub(super) fn alphabet(&self) -> Vec<Family> {
        let mut cuts: BTreeSet<u32> = BTreeSet::from([1, 0xd800, 0xe000, 0x11_0000]);
        let mut literal: BTreeSet<char> = BTreeSet::from(['.']);
        for node in &self.nodes {
            if let Some((Token::Char(c), _)) = &node.step {
                literal.insert(*c);
            }
        }
        let ends = |first: char, last: char| [u32::from(first), u32::from(last) + 1];
        cuts.extend(literal.iter().chain(&['/']).flat_map(|c| ends(*c, *c)));
        cuts.extend(
            self.classes
                .iter()
                .flat_map(|c| &c.ranges)
                .flat_map(|(first, last)| ends(*first, *last)),
        );
        let cuts: Vec<u32> = cuts.into_iter().filter(|c| *c > 0).collect();
        // Letters that no literal names and that belong to the same classes are one, under the best
        // name.
        let mut families: BTreeMap<Vec<bool>, (Vec<Letter>, Option<Letter>)> = BTreeMap::new();
        let mut add = |held: Vec<bool>, letter: Letter, is_literal: bool| {
            let (named, other) = families.entry(held).or_default();
            if is_literal {
                named.push(letter);
            } else if other.is_none_or(|o| letter.cost < o.cost) {
                *other = Some(letter);
            }
        };
        let held = |c: Option<char>| {
            self.classes
                .iter()
                .map(|class| class.contains(c))
                .collect::<Vec<_>>()
        };
        for (from, to) in cuts.iter().zip(cuts.iter().skip(1)) {
            let Some(c) = best(*from, *to).filter(|c| *c != '/') else {
                continue;
            };
            add(
                held(Some(c)),
                Letter {
                    shown: Some(c),
                    cost: cost(c),
                },
                literal.contains(&c),
            );
        }
        add(
            held(None),
            Letter {
                shown: None,
                cost: STRAY,
            },
            false,
        );
        let family = |(held, (mut named, other)): (Vec<bool>, (Vec<Letter>, Option<Letter>))| {
            named.extend(other);
            named.sort_by_key(|l| (l.cost, l.shown));
            (held.into(), named)
        };
        families.into_iter().map(family).collect()
    }
}

const STRAY: u64 = 40;

/// Returns the cost of a character in a path: the higher, the harder to read.
fn cost(c: char) -> u64 {
    match c {
        'a' => 4,
        'b'..='z' => 5,
        'A'..='Z' | '0'..='9' | '_' | '-' | '.' => 6,
        ' ' | '"' | '\'' | '\\' => 20,
        c if c.is_ascii_graphic() => 10,
        c if c.is_alphanumeric() => 14,
        c if c.is_ascii_control() => 35,
        _ => 25,
    }
}

/// The number of examined characters of a range; and the last start of a range whose examined
/// characters are all for private use.
const MOST_TRIED: usize = 0x400;
const LAST_PRIVATE: u32 = 0xf900 - 0x400;

/// Returns the most readable character of a range.
fn best(from: u32, to: u32) -> Option<char> {
    let ascii = (from..to.min(0x80))
        .filter_map(char::from_u32)
        .min_by_key(|c| (cost(*c), *c));
    // All others are letters, or equally hard to read.
    let others = || (from..to).take(MOST_TRIED).filter_map(char::from_u32);
    let letter = || match from {
        // Characters for private use are not letters.
        0xe000..=LAST_PRIVATE => None,
        _ => others().find(|c| c.is_alphanumeric()),
    };
    ascii.or_else(letter).or_else(|| others().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_a_range_costs_least() {
        let cuts = [
            0x21, 0x2f, 0x61, 0x7f, 0x80, 0xaa, 0xab, 0xff, 0x2028, 0xd7ff, 0xe000, 0xf8ff, 0xf900,
            0x1_0000, 0x10_ffff,
        ];
        for (at, from) in cuts.iter().enumerate() {
            for to in cuts.get(at + 1..).unwrap_or_default() {
                let all = (*from..*to).filter_map(char::from_u32);
                let few = all.clone().take_while(|c| u32::from(*c) < from + 0x400);
                let ascii = all.filter(char::is_ascii).min_by_key(|c| (cost(*c), *c));
                let wanted = ascii.or_else(|| few.min_by_key(|c| (cost(*c), *c)));
                assert_eq!(best(*from, *to), wanted, "{from:x} {to:x}");
            }
        }
    }
}
