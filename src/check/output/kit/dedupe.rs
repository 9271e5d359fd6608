//! Counts each distinct thing once when a tool prints it several times, in bounded memory.

use crate::results::Finding;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum number of distinct things; every later one counts as new.
const REMEMBERED: usize = 1 << 18;

/// Things met so far, by a hash of 64 bits.
#[derive(Default)]
pub struct Distinct(std::collections::BTreeSet<u64>);

impl Distinct {
    /// Whether this is new.
    pub fn is_new(&mut self, thing: &impl Hash) -> bool {
        let hash = hash(thing);
        if self.0.len() >= REMEMBERED {
            return !self.0.contains(&hash);
        }
        self.0.insert(hash)
    }

    /// Whether this finding is new: another place, severity, code or message.
    pub(crate) fn is_new_finding(&mut self, found: &Finding) -> bool {
        self.is_new(&(
            &found.file,
            found.line,
            found.column,
            found.severity as u8,
            &found.code,
            &found.message,
        ))
    }
}

/// A name of any length as a number.
pub fn hash(thing: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    hasher.finish()
}

/// Tests that have begun and have not ended, by the hash of their names; a name may have begun
/// several times.
#[derive(Default)]
pub struct Open(BTreeMap<u64, u32>);

impl Open {
    /// A test begins.
    pub fn begin(&mut self, name: u64) {
        if self.0.len() < REMEMBERED {
            let times = self.0.entry(name).or_default();
            *times = times.saturating_add(1);
        }
    }

    /// A test ends; whether it had begun. More tests than are remembered have all begun.
    pub fn end(&mut self, name: u64) -> bool {
        let Some(times) = self.0.get_mut(&name) else {
            return self.0.len() >= REMEMBERED;
        };
        *times -= 1;
        if *times == 0 {
            self.0.remove(&name);
        }
        true
    }

    /// Whether a test has begun and not ended.
    pub fn holds(&self, name: u64) -> bool {
        self.0.contains_key(&name) || self.0.len() >= REMEMBERED
    }

    /// Whether every test has ended.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The first words of tests that may yet fail: those of the latest ones, each as much as a reading
/// keeps.
#[derive(Default)]
pub(crate) struct PendingMessages(VecDeque<(u64, String)>);

impl PendingMessages {
    /// A test, or who else speaks, says a line.
    pub fn add(&mut self, who: u64, line: &str) {
        const HEARD: usize = 64;
        let index = match self.0.iter().rposition(|(w, _)| *w == who) {
            Some(index) => index,
            None => {
                if self.0.len() >= HEARD {
                    self.0.pop_front();
                }
                self.0.push_back((who, String::new()));
                self.0.len() - 1
            }
        };
        if let Some((_, text)) = self.0.get_mut(index) {
            append(text, line);
        }
    }

    /// Removes and returns its message.
    pub fn take(&mut self, who: u64) -> Option<String> {
        let index = self.0.iter().rposition(|(w, _)| *w == who)?;
        self.0
            .remove(index)
            .map(|(_, text)| text)
            .filter(|text| !text.trim().is_empty())
    }
}

/// Adds a line to a message while it is no longer than what is kept of one.
pub fn append(text: &mut String, line: &str) {
    use crate::results::{TEXT_KEPT, clip};
    if text.len() > TEXT_KEPT {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let end = line.floor_char_boundary(TEXT_KEPT + 4);
    text.push_str(line.get(..end).unwrap_or_default());
    clip(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_met_again_is_not_new() {
        let mut met = Distinct::default();
        assert!(met.is_new(&"a") && met.is_new(&"b") && !met.is_new(&"a"));
    }

    #[test]
    fn a_test_ends_as_often_as_it_begins() {
        let mut open = Open::default();
        open.begin(1);
        open.begin(1);
        assert!(
            open.end(1)
                && open.holds(1)
                && open.end(1)
                && !open.end(1)
                && !open.end(2)
                && open.is_empty()
        );
    }

    #[test]
    fn only_the_latest_are_heard_and_only_so_much() {
        let mut said = PendingMessages::default();
        for who in 0..100 {
            said.add(who, &"é".repeat(3000));
            said.add(who, "more");
        }
        assert_eq!(said.take(0), None);
        assert!(
            said.take(99)
                .is_some_and(|text| text.len() <= 2048 + '…'.len_utf8())
        );
        assert_eq!(said.take(99), None);
    }
}
