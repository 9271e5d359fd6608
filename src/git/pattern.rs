//! Matches the patterns of `.gitignore` and `.gitattributes`, by git's documentation of
//! `gitignore`.

use std::collections::BTreeSet;

/// Size limit of a file of patterns, in bytes.
pub(super) const MOST: u64 = 16 << 20;

/// One pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    text: Vec<u8>,
    /// `!`: matching paths are not ignored after all.
    pub negated: bool,
    /// It ends in a slash: directories only.
    pub only_directories: bool,
    /// It has no slash before its end: the last name of a path is compared, not the path.
    by_name: bool,
}

impl Pattern {
    /// Reads a pattern without the blanks around it; `None` for an empty one.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (negated, text) = text
            .strip_prefix(b"!")
            .map_or((false, text), |rest| (true, rest));
        let (only_directories, text) = text
            .strip_suffix(b"/")
            .map_or((false, text), |rest| (true, rest));
        let by_name = !text.contains(&b'/');
        let text = text.strip_prefix(b"/").unwrap_or(text);
        (!text.is_empty()).then(|| Self {
            text: text.to_vec(),
            negated,
            only_directories,
            by_name,
        })
    }

    /// Whether it matches a path, given below the directory of the pattern's file.
    pub(super) fn matches(&self, path: &[u8], is_directory: bool) -> bool {
        if self.only_directories && !is_directory {
            return false;
        }
        let name = path.rsplit(|b| *b == b'/').next().unwrap_or(path);
        matches(
            &self.text,
            if self.by_name { name } else { path },
            !self.by_name,
        )
    }
}

/// Returns the lines of a `.gitignore` that are patterns: number, text, pattern.
pub(super) fn ignore_lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8], Pattern)> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let lines = text
        .split(|b| *b == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let numbered = (1..).zip(lines).filter(|(_, line)| !line.starts_with(b"#"));
    numbered
        .filter_map(|(number, line)| Some((number, line, Pattern::parse(without_spaces(line))?)))
}

/// Returns a line without the spaces at its end, unless they are escaped.
fn without_spaces(line: &[u8]) -> &[u8] {
    let (mut end, mut escaped) = (0, false);
    for (at, byte) in line.iter().enumerate() {
        if escaped || *byte != b' ' {
            end = at + 1;
        }
        escaped = *byte == b'\\' && !escaped;
    }
    line.get(..end).unwrap_or(line)
}

/// Whether a pattern with wildcards matches all of a text. `in_path`: only `**` crosses a slash.
fn matches(pattern: &[u8], text: &[u8], in_path: bool) -> bool {
    if !pattern
        .iter()
        .any(|b| matches!(b, b'*' | b'?' | b'[' | b'\\'))
    {
        return pattern == text;
    }
    Wild {
        pattern,
        text,
        in_path,
        failed: BTreeSet::new(),
    }
    .from(0, 0)
}

struct Wild<'w> {
    pattern: &'w [u8],
    text: &'w [u8],
    in_path: bool,
    /// The positions where a star failed to match: each is tried once.
    failed: BTreeSet<(usize, usize)>,
}

impl Wild<'_> {
    fn from(&mut self, mut p: usize, mut t: usize) -> bool {
        while let Some(&want) = self.pattern.get(p) {
            if want == b'*' {
                return self.failed.insert((p, t)) && self.star(p, t);
            }
            let Some(&have) = self.text.get(t) else {
                return false;
            };
            let next = match want {
                b'?' => (!self.in_path || have != b'/').then_some(p + 1),
                b'[' => self
                    .class(p, have)
                    .filter(|_| !self.in_path || have != b'/'),
                b'\\' => (self.pattern.get(p + 1) == Some(&have)).then_some(p + 2),
                _ => (want == have).then_some(p + 1),
            };
            let Some(next) = next else { return false };
            (p, t) = (next, t + 1);
        }
        t == self.text.len()
    }

    fn star(&mut self, p: usize, t: usize) -> bool {
        let stars = self
            .pattern
            .iter()
            .skip(p)
            .take_while(|b| **b == b'*')
            .count();
        let after = p + stars;
        let begins = p == 0 || self.pattern.get(p - 1) == Some(&b'/');
        let rest = self.pattern.get(after..).unwrap_or_default();
        let whole =
            begins && (rest.is_empty() || rest.starts_with(b"/") || rest.starts_with(b"\\/"));
        let crosses = !self.in_path || (stars > 1 && whole);
        if self.in_path && crosses && rest.starts_with(b"/") && self.from(after + 1, t) {
            // `**/` may match nothing at all.
            return true;
        }
        let left = self.text.get(t..).unwrap_or_default();
        let reach = if crosses {
            None
        } else {
            left.iter().position(|b| *b == b'/')
        }
        .unwrap_or(left.len());
        if rest.is_empty() {
            return reach == left.len();
        }
        (t..=t + reach).any(|at| self.from(after, at))
    }

    /// Returns the position after a character class that matches; `None` if it does not match.
    fn class(&self, p: usize, have: u8) -> Option<usize> {
        let at = |i: usize| self.pattern.get(i).copied();
        let mut i = p + 1;
        let negated = matches!(at(i), Some(b'!' | b'^'));
        i += usize::from(negated);
        let (mut found, mut previous, mut first) = (false, None, true);
        loop {
            let byte = at(i)?;
            if byte == b']' && !first {
                return (found != negated).then_some(i + 1);
            }
            first = false;
            match byte {
                b'\\' => {
                    i += 1;
                    let byte = at(i)?;
                    found |= byte == have;
                    previous = Some(byte);
                }
                b'-' if previous.is_some() && at(i + 1).is_some_and(|b| b != b']') => {
                    i += 1;
                    if at(i) == Some(b'\\') {
                        i += 1;
                    }
                    let last = at(i)?;
                    found |= previous.is_some_and(|low| (low..=last).contains(&have));
                    previous = None;
                }
                b'[' if at(i + 1) == Some(b':') => {
                    let name = self.pattern.get(i + 2..)?;
                    let end = name.iter().position(|b| *b == b']')?;
                    match name.get(..end)?.strip_suffix(b":") {
                        Some(name) => {
                            found |= named_class(name, have)?;
                            (i, previous) = (i + 2 + end, None);
                        }
                        None => {
                            found |= have == b'[';
                            previous = Some(b'[');
                        }
                    }
                }
                _ => {
                    found |= byte == have;
                    previous = Some(byte);
                }
            }
            i += 1;
        }
    }
}

fn named_class(name: &[u8], have: u8) -> Option<bool> {
    Some(match name {
        b"alnum" => have.is_ascii_alphanumeric(),
        b"alpha" => have.is_ascii_alphabetic(),
        b"blank" => matches!(have, b' ' | b'\t'),
        b"cntrl" => have.is_ascii_control(),
        b"digit" => have.is_ascii_digit(),
        b"graph" => have.is_ascii_graphic(),
        b"lower" => have.is_ascii_lowercase(),
        b"print" => have.is_ascii_graphic() || have == b' ',
        b"punct" => have.is_ascii_punctuation(),
        b"space" => have.is_ascii_whitespace() || have == 0x0b,
        b"upper" => have.is_ascii_uppercase(),
        b"xdigit" => have.is_ascii_hexdigit(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_gitignore_says() {
        for (pattern, path, want) in [
            ("*.log", "a/b.log", true),
            ("*.log", "a.log/b", false),
            ("/a", "a", true),
            ("/a", "b/a", false),
            ("a/b", "a/b", true),
            ("a/b", "x/a/b", false),
            ("a/*", "a/b", true),
            ("a/*", "a/b/c", false),
            ("**/b", "b", true),
            ("**/b", "a/x/b", true),
            ("a/**", "a/x/y", true),
            ("a/**", "a", false),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("a/x**y/b", "a/x/y/b", false),
            ("a/x**y/b", "a/xzy/b", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[[:digit:]]", "7", true),
            ("[[:none:]]", "7", false),
            ("a/[!x]b", "a//b", false),
            ("\\!a", "!a", true),
            ("a?c", "abc", true),
            ("a/?c", "a//c", false),
            ("[a", "[a", false),
        ] {
            let parsed = Pattern::parse(pattern.as_bytes()).unwrap();
            assert_eq!(
                parsed.matches(path.as_bytes(), false),
                want,
                "{pattern} {path}"
            );
        }
        let directory = Pattern::parse(b"a/").unwrap();
        assert!(directory.matches(b"x/a", true) && !directory.matches(b"a", false));
        assert_eq!(Pattern::parse(b"/"), None);
        let lines: Vec<_> = ignore_lines(b"\xef\xbb\xbf# no\r\n\na  \r\nb\\ \n!c\n").collect();
        let texts: Vec<_> = lines
            .iter()
            .map(|(n, text, p)| (*n, *text, p.text.as_slice(), p.negated))
            .collect();
        assert_eq!(
            texts,
            [
                (3, &b"a  "[..], &b"a"[..], false),
                (4, b"b\\ ", b"b\\ ", false),
                (5, b"!c", b"c", true)
            ]
        );
    }

    #[test]
    fn many_stars_end_soon() {
        let pattern = Pattern::parse("*a".repeat(60).as_bytes()).unwrap();
        assert!(!pattern.matches("a".repeat(50).as_bytes(), false));
        let path = Pattern::parse("**/a/".repeat(40).as_bytes()).unwrap();
        assert!(!path.matches("a/".repeat(200).as_bytes(), true));
    }
}
