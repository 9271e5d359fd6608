//! Finds the known word closest to a misspelt one.

use super::word::visible;
use std::cell::Cell;

/// Returns the known word nearest to a misspelt one, if one is near enough. That means equal except
/// for case, or within a third of its length, and at most three, of insertions, deletions, changes
/// and swaps. Very short words are near to any other, so they must be equal except for case. Of
/// equally near words, the first one.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(word, known, &Cell::new(usize::MAX))
}

/// The help of a message about an unknown word: the nearest known one, or an alternative.
pub fn suggest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean `{}`?", visible(near)),
        None => otherwise.into(),
    }
}

/// Finds the nearest word, for texts that may consist of misspelt words: `budget` is how many
/// comparisons all calls together may still make. `None` when it is used up.
pub fn nearest_within<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    budget: &Cell<usize>,
) -> Option<&'a str> {
    let most = |name: &str| (name.len().max(word.len()) / 3).clamp(1, 3);
    // The comparison costs the product of both lengths, and longer words are not typing errors.
    if word.len() > LONGEST {
        return None;
    }
    let lower = word.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for name in known
        .into_iter()
        .filter(|name| name.len().abs_diff(word.len()) <= most(name))
    {
        budget.set(budget.get().checked_sub(1)?);
        let distance = strsim::osa_distance(&name.to_lowercase(), &lower);
        let is_near = distance == 0 || (distance <= most(name) && name.len() > 2);
        if is_near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// The longest word that is compared, in bytes.
const LONGEST: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips() {
        let known = ["byRole", "run", "timeout", "tier", "needs", "test"];
        for (word, want) in [
            ("byrole", Some("byRole")),
            ("timeot", Some("timeout")),
            ("tets", Some("test")),
            ("rnu", Some("run")),
            ("x", None),
            ("completely", None),
            ("", None),
            ("TIMEOUTS", Some("timeout")),
        ] {
            assert_eq!(nearest(word, known), want, "{word}");
        }
    }

    #[test]
    fn comparisons_are_counted() {
        let budget = Cell::new(2);
        // Names of a very different length cost nothing.
        assert_eq!(
            nearest_within("testr", ["abcdefghijk", "tests", "tester"], &budget),
            Some("tests")
        );
        assert_eq!(budget.get(), 0);
        assert_eq!(nearest_within("testr", ["tester"], &budget), None);
    }
}
