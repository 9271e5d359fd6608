//! Reads the place of a finding, `FILE:LINE:COLUMN:` at the beginning of a line, as most tools
//! write it.

/// A place at the beginning of a line, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file, as written.
    pub file: &'a str,
    /// From 1.
    pub line: u64,
    /// From 1, if it is given.
    pub column: Option<u64>,
    /// What follows, without leading blanks.
    pub rest: &'a str,
}

/// Reads `FILE:LINE:` or `FILE:LINE:COLUMN:`. The first such pair of colons counts, so a file's
/// name may hold `:NUMBER` only at its end; a drive letter belongs to the file.
#[must_use]
pub fn place(text: &str) -> Option<Place<'_>> {
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
        let (line, rest) = number(text.get(colon + 1..)?);
        if let Some(line) = line
            && let Some(rest) = rest.strip_prefix(':')
        {
            let (column, behind) = number(rest);
            let file = text.get(..colon)?;
            return Some(
                match behind.strip_prefix(':').filter(|_| column.is_some()) {
                    Some(behind) => Place {
                        file,
                        line,
                        column,
                        rest: behind.trim_start(),
                    },
                    None => Place {
                        file,
                        line,
                        column: None,
                        rest: rest.trim_start(),
                    },
                },
            );
        }
        at = colon + 1;
    }
}

/// A decimal number at the beginning, and what follows.
#[must_use]
pub fn number(text: &str) -> (Option<u64>, &str) {
    let end = text
        .bytes()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(text.len());
    (
        text.get(..end).and_then(|digits| digits.parse().ok()),
        text.get(end..).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let at = |file, line, column, rest| {
            Some(Place {
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
            ("a.c:99999999999999999999: x", None),
        ] {
            assert_eq!(place(text), want, "{text}");
        }
    }
}
