//! Words for the outcome of a test, as reports of many tools write them.

use vplan_base::word::has_word;

/// The meaning of a word for an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeWord {
    /// The test passed.
    Passed,
    /// The test was not meant to run.
    Skipped,
    /// The test failed, or it is unknown how it ended: never a pass.
    NotPassed,
}

const PASSED: &str = "complete completed done executed finished flaky ok pass passed run \
    succeeded success successful true warning";

const SKIPPED: &str = "disabled excluded ignored notexecuted notrun skip skipped suppressed todo";

/// Parts of the names of elements that say how a test ended.
const TELLING: &str = "abort block broken cancel crash error exception fail incomplete \
    inconclusive interrupt killed notstarted panic pending timedout timeout undefined unknown \
    unstable";

/// Reads the value of an attribute for an outcome; `None` for a value that is not a word.
pub fn of_word(word: &str) -> Option<OutcomeWord> {
    let word = bare(word);
    if !word.bytes().any(|b| b.is_ascii_alphabetic()) {
        return None;
    }
    Some(if has_word(PASSED, &word) {
        OutcomeWord::Passed
    } else if has_word(SKIPPED, &word) {
        OutcomeWord::Skipped
    } else {
        OutcomeWord::NotPassed
    })
}

/// Reads the name of an element in a test; `None` for one that does not name an outcome.
pub(crate) fn of_element(name: &str) -> Option<OutcomeWord> {
    let name = bare(name);
    if has_word(PASSED, &name) {
        return Some(OutcomeWord::Passed);
    }
    if has_word(SKIPPED, &name) {
        return Some(OutcomeWord::Skipped);
    }
    let is_telling = TELLING.split(' ').any(|part| name.contains(part));
    is_telling.then_some(OutcomeWord::NotPassed)
}

/// A word in small letters, without its namespace and what joins its parts.
fn bare(word: &str) -> String {
    let word = word.rsplit(':').next().unwrap_or_default();
    let letters = word.chars().filter(|c| !matches!(c, ' ' | '-' | '_'));
    letters.flat_map(char::to_lowercase).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        use OutcomeWord::{NotPassed, Passed, Skipped};
        for (word, want) in [
            ("Passed", Some(Passed)),
            ("run", Some(Passed)),
            ("not-run", Some(Skipped)),
            ("NotExecuted", Some(Skipped)),
            ("failed", Some(NotPassed)),
            ("kaputt", Some(NotPassed)),
            ("0", None),
            ("", None),
        ] {
            assert_eq!(of_word(word), want, "{word}");
        }
        for (name, want) in [
            ("aborted", Some(NotPassed)),
            ("x:Pending", Some(NotPassed)),
            ("timed-out", Some(NotPassed)),
            ("ignored", Some(Skipped)),
            ("passed", Some(Passed)),
            ("pass", Some(Passed)),
            ("as", None),
            ("system-out", None),
            ("attachments", None),
        ] {
            assert_eq!(of_element(name), want, "{name}");
        }
    }
}
