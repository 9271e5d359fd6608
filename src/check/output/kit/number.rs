//! Reads decimal numbers of any length, as summaries write them.

/// A decimal number at the beginning of a text, saturating, and what follows; `None` without a
/// digit.
#[must_use]
pub fn count(text: &str) -> Option<(u64, &str)> {
    let end = text
        .bytes()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    if digits.is_empty() {
        return None;
    }
    Some((digits.parse().unwrap_or(u64::MAX), rest))
}

/// Like [`count`], followed by a word: `3 passed` is 3 and `passed`; what follows the word is left.
#[must_use]
pub fn counted(text: &str) -> Option<(u64, &str)> {
    let (n, rest) = count(text)?;
    Some((n, rest.strip_prefix(' ')?))
}

/// The counts of a line like `1 failed, 2 skipped, 5 total`, with their words: what does not begin
/// with a number is left out.
pub fn counts(text: &str, separator: char) -> impl Iterator<Item = (u64, &str)> {
    let parts = text.split(separator);
    parts.filter_map(|part| count(part.trim()).map(|(n, words)| (n, words.trim_start())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_any_length() {
        for (text, want) in [
            ("12 passed", Some((12, " passed"))),
            ("0", Some((0, ""))),
            ("99999999999999999999999 x", Some((u64::MAX, " x"))),
            ("", None),
            ("x1", None),
            ("-1", None),
            ("١", None),
        ] {
            assert_eq!(count(text), want, "{text}");
        }
        assert_eq!(counted("3 passed, 1 failed"), Some((3, "passed, 1 failed")));
        assert_eq!(counted("3passed"), None);
    }

    #[test]
    fn lines_of_counts() {
        let all = |text, separator| counts(text, separator).collect::<Vec<_>>();
        assert_eq!(
            all(" 1 failed, 4 passed, 5 total", ','),
            [(1, "failed"), (4, "passed"), (5, "total")]
        );
        assert_eq!(
            all("1 failed | 1 passed (2)", '|'),
            [(1, "failed"), (1, "passed (2)")]
        );
        assert_eq!(all("no tests", '|'), []);
    }
}
