//! Reads the place of a finding, `FILE:LINE:COLUMN:` at the beginning of a line, as most tools
//! write it.

use super::number::count;
use crate::output::reader::after;

/// A place at the beginning of a line, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePrefix<'a> {
    /// The file, as written.
    pub file: &'a str,
    /// From 1.
    pub line: u64,
    /// From 1, if it is given.
    pub column: Option<u64>,
    /// The rest of the line, without leading blanks.
    pub rest: &'a str,
}

/// Reads `FILE:LINE:` or `FILE:LINE:COLUMN:`. The first such pair of colons counts, so a file's
/// name may hold `:NUMBER` only at its end; a drive letter belongs to the file.
pub fn place(text: &str) -> Option<LinePrefix<'_>> {
    let from = if matches!(
        text.as_bytes(),
        [b'a'..=b'z' | b'A'..=b'Z', b':', b'\\' | b'/', ..]
    ) {
        2
    } else {
        0
    };
    let mut at = from;
    if text.starts_with(':') {
        return None;
    }
    loop {
        let colon = at + text.get(at..)?.find(':')?;
        if let Some((line, rest)) = count(text.get(colon + 1..)?)
            && let Some(rest) = rest.strip_prefix(':')
        {
            let column = count(rest).and_then(|(n, rest)| Some((n, rest.strip_prefix(':')?)));
            return Some(LinePrefix {
                file: text.get(..colon)?,
                line,
                column: column.map(|(column, _)| column),
                rest: column.map_or(rest, |(_, rest)| rest).trim_start(),
            });
        }
        at = colon + 1;
    }
}

/// The file and line of a stack's line, `at f (a.js:3:15)` or `❯ a.ts:4:8`. Places inside Node and
/// in other people's packages are none.
pub fn frame(line: &str) -> Option<(&str, u64)> {
    let line = line.trim();
    let at = after(line, &["at ", "❯ "])?;
    let place = match at.rsplit_once('(') {
        Some((_, place)) => place.strip_suffix(')')?,
        None => at.rsplit(' ').next()?,
    };
    let (file, line) = located(place)?;
    let foreign =
        file.starts_with("node:") || file.contains("node_modules/") || file.contains("<anonymous>");
    (!foreign).then_some((file, line))
}

/// `FILE:LINE:COLUMN` that is nothing else: the file, perhaps as a URL, and the line.
pub fn located(place: &str) -> Option<(&str, u64)> {
    let (file, line, _) = ending(place)?;
    let file = file.strip_prefix("file://").unwrap_or(file);
    (!file.is_empty()).then_some((file, line))
}

/// `FILE:LINE:COLUMN` at the end of a text.
pub fn ending(text: &str) -> Option<(&str, u64, u64)> {
    let (rest, column) = text.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some((file, line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let at = |file, line, column, rest| {
            Some(LinePrefix {
                file,
                line,
                column,
                rest,
            })
        };
        for (text, want) in [
            ("a.c:1:10: error: x", at("a.c", 1, Some(10), "error: x")),
            ("a.c:3: warning: y", at("a.c", 3, None, "warning: y")),
            ("C:\\x\\a.c:3:4: z", at("C:\\x\\a.c", 3, Some(4), "z")),
            ("a:b:2: c", at("a:b", 2, None, "c")),
            ("10:20:30", at("10", 20, None, "30")),
            (":1:2: x", None),
            ("a.c: error", None),
            ("", None),
            (
                "a.c:99999999999999999999: x",
                at("a.c", u64::MAX, None, "x"),
            ),
        ] {
            assert_eq!(place(text), want, "{text}");
        }
    }

    #[test]
    fn frames() {
        for (line, want) in [
            (
                "      at Object.toBe (a.test.js:3:151)",
                Some(("a.test.js", 3)),
            ),
            ("at file:///x/a.mjs:4:32", Some(("/x/a.mjs", 4))),
            ("at async f (C:\\x\\a.js:4:32)", Some(("C:\\x\\a.js", 4))),
            (" ❯ a.test.ts:4:88", Some(("a.test.ts", 4))),
            (
                " ❯ Timeout._onTimeout b.test.ts:3:47",
                Some(("b.test.ts", 3)),
            ),
            ("at f (node:internal/timers:483:21)", None),
            ("at f (../node_modules/jest/a.js:4:2)", None),
            ("at new Promise (<anonymous>)", None),
            ("at", None),
            ("at (", None),
            ("at ::", None),
        ] {
            assert_eq!(frame(line), want, "{line}");
        }
    }
}
