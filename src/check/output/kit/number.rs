//! Reads decimal numbers of any length, as summaries write them.

/// A decimal number at the beginning of a text, saturating, and what follows; `None` without a
/// digit.
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
pub fn counted(text: &str) -> Option<(u64, &str)> {
    let (n, rest) = count(text)?;
    Some((n, rest.strip_prefix(' ')?))
}

/// Maximum number of tests in a run. A summary with a larger one is not a count.
pub const LARGEST: u64 = 1_000_000_000_000;

/// A count as an attribute of a report has it: `None` where it is not one (negative, a fraction,
/// larger than any run).
pub fn exact(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok())?;
    number.filter(|number| *number <= LARGEST)
}

/// The counts of a line like `1 failed, 2 skipped, 5 total`, with their words. Parts that do not
/// begin with a number are omitted. A negative number and a fraction are larger than [`LARGEST`].
pub fn counts(text: &str, separator: char) -> impl Iterator<Item = (u64, &str)> {
    let parts = text.split(separator);
    parts.filter_map(|part| {
        let part = part.trim();
        let digits = part.strip_prefix('-').unwrap_or(part);
        let (n, words) = count(digits)?;
        let fraction = words.strip_prefix(['.', ',']).and_then(count);
        match fraction {
            Some((_, words)) => Some((u64::MAX, words.trim_start())),
            None if digits.len() < part.len() => Some((u64::MAX, words.trim_start())),
            None => Some((n, words.trim_start())),
        }
    })
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
        assert_eq!(
            all("-1 failed, 1.5 passed", ','),
            [(u64::MAX, "failed"), (u64::MAX, "passed")]
        );
    }

    #[test]
    fn counts_of_reports() {
        for (text, want) in [
            (" 12 ", Some(12)),
            ("0", Some(0)),
            ("-1", None),
            ("1.0", None),
            ("1e3", None),
            ("100000000000000000000", None),
            ("", None),
        ] {
            assert_eq!(exact(text), want, "{text}");
        }
    }
}
