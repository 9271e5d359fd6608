//! Matches a path against several patterns at once, if no index separates them. The only file that
//! calls `globset`.
//!
//! Its regular sets answer for a hundred patterns in the time that [`Pattern::matches`] takes for
//! ten. Literals, `*` and `**` mean the same to them (except `x/**`, which is given as two globs).
//! But `?` and classes match bytes instead of characters, so patterns with those are excluded.

use super::pattern::{Part, Pattern, Segment};
use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// Patterns compiled together, each identified by what the caller knows it by.
#[derive(Debug)]
pub(crate) struct PatternSet<N> {
    set: GlobSet,
    /// The caller's number of each glob of the set.
    numbers: Vec<N>,
    found: Vec<usize>,
}

impl PatternSet<()> {
    /// Whether a set can contain a pattern.
    pub(crate) fn holds(pattern: &Pattern) -> bool {
        let plain = |part: &Part| matches!(part, Part::Star | Part::Text(_));
        pattern.rest.iter().all(|segment| match segment {
            Segment::Wild(parts) => parts.iter().all(plain),
            Segment::Any | Segment::Literal(_) => true,
        })
    }
}

impl<N: Copy> PatternSet<N> {
    /// Compiles patterns, which costs some ten microseconds each. `None` when `globset` refuses
    /// one.
    pub fn new(patterns: &[(N, &Pattern)]) -> Option<Self> {
        let mut builder = GlobSetBuilder::new();
        let mut numbers = Vec::new();
        for (number, pattern) in patterns {
            let text = translate(pattern)?;
            let itself = text.strip_suffix("/**").map(str::to_owned);
            for text in std::iter::once(text).chain(itself) {
                builder.add(
                    GlobBuilder::new(&text)
                        .literal_separator(true)
                        .backslash_escape(true)
                        .build()
                        .ok()?,
                );
                numbers.push(*number);
            }
        }
        Some(Self {
            set: builder.build().ok()?,
            numbers,
            found: Vec::new(),
        })
    }

    /// Calls `found` with the number of each pattern that matches, once or more.
    pub(crate) fn visit(&mut self, path: &[u8], mut found: impl FnMut(N)) {
        self.set
            .matches_candidate_into(&Candidate::new(OsStr::from_bytes(path)), &mut self.found);
        for number in self.found.iter().filter_map(|i| self.numbers.get(*i)) {
            found(*number);
        }
    }
}

/// Writes the pattern as `globset` reads it.
fn translate(pattern: &Pattern) -> Option<String> {
    let mut segments = Vec::new();
    if !pattern.prefix.is_empty() {
        segments.push(globset::escape(std::str::from_utf8(&pattern.prefix).ok()?));
    }
    for segment in &pattern.rest {
        segments.push(match segment {
            Segment::Any => "**".to_owned(),
            Segment::Literal(name) => globset::escape(std::str::from_utf8(name).ok()?),
            Segment::Wild(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        Part::Text(bytes) => {
                            text.push_str(&globset::escape(std::str::from_utf8(bytes).ok()?))
                        }
                        _ => text.push('*'),
                    }
                }
                text
            }
        });
    }
    Some(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glob::Glob;

    #[test]
    fn a_set_means_what_its_patterns_mean() {
        let globs = [
            "a/**",
            "*/**",
            "**/a",
            "**/a*b/**",
            "a/**/b*",
            "**/*-x-*",
            "{a,\\*}/*",
            "\\[a\\]/*\\{*",
            "é*/**/*é",
            "**",
            "**/*",
        ];
        let paths: [&[u8]; 20] = [
            b"a",
            b"a/b",
            b"b",
            b"b/a",
            b"x/ab/c",
            b"ab",
            b"a/x/y/bc",
            b"p-x-q",
            b"q/-x-",
            b"*/a",
            b"*",
            b"[a]/x{y",
            b"\xc3\xa9/x",
            b"\xc3\xa9x/y/z\xc3\xa9",
            b"\xff-x-\xfe",
            b"a/\n-x-",
            b".a/.b",
            b"aXb/\xff",
            b"a/a/a/a",
            b"-x-/y",
        ];
        let globs = globs.map(|glob| Glob::parse(glob).unwrap());
        for glob in &globs {
            let patterns: Vec<(u32, &Pattern)> =
                glob.alternatives().iter().map(|p| (7, p)).collect();
            assert!(patterns.iter().all(|(_, p)| PatternSet::holds(p)));
            let mut set = PatternSet::new(&patterns).unwrap();
            for path in paths {
                let mut hit = false;
                set.visit(path, |number| hit = number == 7);
                let want = glob.alternatives().iter().any(|p| p.matches(path));
                assert_eq!(
                    hit,
                    want,
                    "{} on {}",
                    glob.text(),
                    String::from_utf8_lossy(path)
                );
            }
        }
        for glob in ["a?", "[a]/b"] {
            assert!(
                !Glob::parse(glob)
                    .unwrap()
                    .alternatives()
                    .iter()
                    .any(PatternSet::holds)
            );
        }
    }
}
