//! Finds lines that report a failure outside the output of recognised tools: if a command may start
//! several tools, another one wrote them.

use super::reader::{Extent, Format, starts};
use crate::agreement::short;
use regex::bytes::Regex;
use std::sync::{Arc, LazyLock};
use vplan_base::word::has_word;

/// Size limit of a line that is examined, in bytes.
const LONGEST: usize = 400;

/// The words that say that something failed.
const FAILING: &str = "abort aborted aborting broken crash crashed ko error errored errors \
    exception fail failed failing fails failure failures fatal nok panic panicked segfault \
    traceback";

/// The words that do after a number.
const COUNTED: &str = "finding findings issue issues mismatch mismatches offense offenses \
    problem problems violation violations";

/// What every line that reports a failure has one of: these words and signs.
static PERHAPS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let all = || {
        [FAILING, COUNTED]
            .into_iter()
            .flat_map(|list| list.split(' '))
            .chain(["not ok"])
    };
    let is_first = |word: &&str| !all().any(|o| o != *word && word.contains(o));
    let words: Vec<&str> = all().filter(is_first).collect();
    let words = words.join("|");
    Regex::new(&format!(
        "(?i){words}|[{}]",
        SIGNS.iter().collect::<String>()
    ))
    .ok()
});

/// The signs in front of what failed.
const SIGNS: &[char] = &['✗', '✘', '✖', '❌'];

/// Whether a line of this output may report a failure: most have none of the words.
pub(crate) fn may_report(output: &[u8]) -> bool {
    PERHAPS
        .as_ref()
        .is_some_and(|perhaps| perhaps.is_match(output))
}

/// Whether a line reports a failure, by its words: one of them begins or ends it, is followed by a
/// colon, is in capitals, or is next to a number. `0 errors` and warnings do not count.
pub(crate) fn reports_failure(line: &str) -> bool {
    if line.len() > LONGEST || !may_report(line.as_bytes()) {
        return false;
    }
    let line = line.trim();
    if line.starts_with("not ok") {
        return true;
    }
    let pieces: Vec<&str> = line
        .split([' ', '\t', '='])
        .filter(|piece| !piece.is_empty())
        .collect();
    let is_source = |piece: &str| piece.trim_start_matches(|c: char| c.is_ascii_digit()) == "|";
    if pieces.iter().take(2).any(|piece| is_source(piece)) {
        return false;
    }
    let words: Vec<String> = pieces.iter().map(|piece| bare(piece)).collect();
    let word = |at: Option<usize>| at.and_then(|at| words.get(at)).map_or("", String::as_str);
    let number = |at: Option<usize>| {
        // Of `1 of 3` the first.
        let of = at.and_then(|at| at.checked_sub(2));
        let total = at.and_then(|at| at.checked_sub(1));
        let at = if word(total) == "of" { of } else { at };
        word(at).parse::<u64>().ok()
    };
    let (mut reports, mut denies) = (false, false);
    for (at, piece) in pieces.iter().enumerate() {
        let this = word(Some(at));
        let (is_failing, is_counted) = (has_word(FAILING, this), has_word(COUNTED, this));
        if !is_failing && !is_counted {
            continue;
        }
        // In `5, failures: 0` the first number is another one's.
        let is_open = |back: usize| {
            let piece = at.checked_sub(back).and_then(|at| pieces.get(at));
            piece.is_some_and(|piece| !piece.ends_with([',', ';']))
        };
        let count = |back: usize| number(at.checked_sub(back)).filter(|_| is_open(back));
        let before = count(1).or_else(|| count(2).filter(|_| is_open(1)));
        let behind = number(at.checked_add(1)).filter(|_| before.is_none());
        let none = ["no", "without", "zero"].contains(&word(at.checked_sub(1)));
        match before.or(behind) {
            _ if none => denies = true,
            Some(0) => denies = true,
            Some(_) => reports = true,
            None if is_counted => reports |= word(at.checked_add(1)) == "found",
            None => {
                let ends = at == 0 || at + 1 == pieces.len() || piece.ends_with(':');
                let loud = piece.chars().any(|c| c.is_ascii_uppercase())
                    && !piece.chars().any(|c| c.is_ascii_lowercase());
                reports |= (ends || loud) && !words.iter().any(|word| is_remark(word));
            }
        }
    }
    reports || !denies && line.starts_with(SIGNS)
}

/// A word without what is around it, in small letters.
fn bare(piece: &str) -> String {
    piece
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_ascii_lowercase()
}

/// Whether a word makes a line a remark.
fn is_remark(word: &str) -> bool {
    ["warning", "warn", "note", "help", "hint", "info", "debug"].contains(&word)
}

/// The lines of an output that report a failure, by where they are.
pub struct StrayFailures {
    formats: Vec<Place>,
    /// The first of all.
    first: Option<Arc<str>>,
}

/// The lines outside the output of one format.
struct Place {
    format: &'static Format,
    begun: bool,
    before: Option<Arc<str>>,
    behind: Option<Arc<str>>,
}

impl StrayFailures {
    /// Nothing so far.
    pub fn new(formats: &[&'static Format]) -> Self {
        let place = |format: &&'static Format| Place {
            format,
            begun: !matches!(
                format.extent,
                Extent::Run {
                    begins: [_, ..],
                    ..
                }
            ),
            before: None,
            behind: None,
        };
        Self {
            formats: formats.iter().map(place).collect(),
            first: None,
        }
    }

    /// Takes a line, and whether it reports a failure.
    pub fn line(&mut self, line: &str, fails: bool) {
        let trimmed = line.trim_start();
        let failure = fails.then(|| Arc::<str>::from(short(trimmed)));
        if self.first.is_none() {
            self.first.clone_from(&failure);
        }
        for place in &mut self.formats {
            let Extent::Run { begins, ends } = place.format.extent else {
                if matches!(place.format.extent, Extent::Lines) && place.behind.is_none() {
                    place.behind.clone_from(&failure);
                }
                continue;
            };
            place.begun = place.begun || starts(trimmed, begins);
            let is_own = || ends(trimmed) || starts(trimmed, begins);
            if failure.is_none() {
                if place.behind.is_some() && ends(trimmed) {
                    place.behind = None;
                }
            } else if !is_own() {
                let kept = if place.begun {
                    &mut place.behind
                } else {
                    &mut place.before
                };
                kept.clone_from(&failure);
            }
        }
    }

    /// The first line outside the output of all these formats, by their ids.
    pub fn first(&self, recognised: &[&str]) -> Option<&str> {
        let places = || {
            self.formats
                .iter()
                .filter(|place| recognised.contains(&place.format.id))
        };
        let behind = places().map(|place| place.behind.as_deref());
        let before = places().map(|place| place.before.as_deref());
        if places().next().is_none() {
            return self.first.as_deref();
        }
        all(before).or_else(|| all(behind))
    }
}

/// The first of these lines, unless one is missing: what one tool does not own another may.
fn all<'a>(lines: impl Iterator<Item = Option<&'a str>>) -> Option<&'a str> {
    let lines: Option<Vec<&str>> = lines.collect();
    lines?.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reports_a_failure() {
        for (line, want) in [
            ("3 checks FAILED", true),
            ("failed: 2", true),
            ("errors=1", true),
            ("a.c:3:5: error: no", true),
            ("✖ 3 problems (1 error, 2 warnings)", true),
            ("✗ login", true),
            ("1 of 3 failed", true),
            ("0 of 3 failed", false),
            ("Tests run: 5, Failures: 0, Errors: 0, Skipped: 0", false),
            ("Tests run: 5, Failures: 1, Errors: 0, Skipped: 0", true),
            ("tests=5, errors=0", false),
            ("5 passed, 2 failed, 0 errors", true),
            ("✔ 0 problems", false),
            ("✖ 3 warnings (0 errors)", false),
            ("it returns an error to the caller", false),
            ("no issues found", false),
            ("  12 |     return error", false),
            ("warning: this may fail", false),
            ("", false),
        ] {
            assert_eq!(reports_failure(line), want, "{line}");
        }
    }
}
