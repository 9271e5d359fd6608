//! May two globs select the same path? Exact but for names such as `.` that no path has, and there it errs towards yes.
//!
//! Unaware of matching: `base/glob` decides which paths a glob selects, this file only whether two globs can meet.

use crate::base::glob::Glob;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// More alternatives than any valid glob has (language.md section 2 allows 64); beyond, overlap is assumed.
const MOST_ALTERNATIVES: usize = 256;

/// Whether some path is selected by both.
#[must_use]
pub fn overlaps(a: &Glob, b: &Glob) -> bool {
    Pattern::new(a).overlaps(&Pattern::new(b))
}

/// All pairs (index into `a`, index into `b`) that overlap, ascending. Patterns are looked up by the directories that they
/// name in full, so that thousands of globs for as many directories are not compared with each other.
#[must_use]
pub fn pairs(a: &[Pattern], b: &[Pattern]) -> Vec<(usize, usize)> {
    let mut index: BTreeMap<Vec<u8>, BTreeSet<usize>> = BTreeMap::new();
    for (i, pattern) in b.iter().enumerate() {
        for prefix in pattern.prefixes() {
            index.entry(prefix).or_default().insert(i);
        }
    }
    let mut found = BTreeSet::new();
    for (i, pattern) in a.iter().enumerate() {
        let mut near = BTreeSet::new();
        for prefix in pattern.prefixes() {
            // Those in a directory above, or in this one …
            let ends = prefix.iter().enumerate().filter(|(_, c)| **c == b'/').map(|(at, _)| at + 1);
            for end in std::iter::once(0).chain(ends) {
                near.extend(prefix.get(..end).and_then(|above| index.get(above)).into_iter().flatten());
            }
            // … and those below.
            let below = index.range(prefix.clone()..).take_while(|(other, _)| other.starts_with(&prefix));
            near.extend(below.flat_map(|(_, indices)| indices));
        }
        let meets = |j: &usize| b.get(*j).is_some_and(|other| pattern.overlaps(other));
        found.extend(near.into_iter().filter(meets).map(|j| (i, j)));
    }
    found.into_iter().collect()
}

/// A glob, taken apart for comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Without braces; `None` when there are too many to look at.
    alternatives: Option<Vec<Vec<Segment>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of segments, none included.
    Any,
    /// One segment.
    One(Vec<Token>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// `*`
    Star,
    /// This character.
    One(char),
    /// What one character may be.
    Char(Set),
    /// `/`; only before segments are cut.
    Slash,
}

/// A set of characters: those in the ranges, or all others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Set {
    not: bool,
    ranges: Vec<(char, char)>,
}

impl Token {
    /// A character for it; a star is at least one.
    fn example(&self, letter: char) -> Option<char> {
        match self {
            Token::Star => Some(letter),
            Token::Slash => None,
            Token::One(c) => Some(*c),
            Token::Char(set) if set.not => [letter, 'x', 'a', '0', '_', 'ä'].into_iter().find(|c| set.has(*c)),
            Token::Char(set) => set.ranges.first().map(|(from, _)| *from),
        }
    }
}

impl Set {
    fn has(&self, c: char) -> bool {
        self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != self.not
    }

    fn meets(&self, other: &Set) -> bool {
        match (self.not, other.not) {
            // Each leaves out few of the characters there are.
            (true, true) => true,
            (false, false) => self.ranges.iter().any(|(a, b)| other.ranges.iter().any(|(c, d)| a.max(c) <= b.min(d))),
            (true, false) => other.ranges.iter().any(|range| !covered(*range, &self.ranges)),
            (false, true) => other.meets(self),
        }
    }
}

/// Whether every character of a range lies in one of the others.
fn covered((from, to): (char, char), ranges: &[(char, char)]) -> bool {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut next = u32::from(from);
    for (a, b) in sorted {
        if u32::from(a) <= next && next <= u32::from(b) {
            next = u32::from(b) + 1;
        }
    }
    next > u32::from(to)
}

impl Pattern {
    /// Takes a glob apart.
    #[must_use]
    pub fn new(glob: &Glob) -> Self {
        let chars: Vec<char> = glob.text().chars().collect();
        let mut at = 0;
        let words = expand(&chars, &mut at, false);
        Self { alternatives: words.map(|words| words.iter().filter_map(|word| segments(word)).collect()) }
    }

    /// Whether some path is selected by both.
    #[must_use]
    pub fn overlaps(&self, other: &Pattern) -> bool {
        let (Some(a), Some(b)) = (&self.alternatives, &other.alternatives) else { return true };
        a.iter().any(|a| b.iter().any(|b| paths_meet(a, b)))
    }

    /// Some paths that the glob selects, shortest first for each alternative: `**` becomes nothing or a filler, `*` and `?` its
    /// first letter.
    #[must_use]
    pub fn examples(&self, fillers: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        for segments in self.alternatives.iter().flatten() {
            for filler in std::iter::once(None).chain(fillers.iter().map(Some)) {
                let letter = filler.and_then(|f| f.chars().next()).unwrap_or('x');
                let of = |segment: &Segment| match segment {
                    Segment::Any => filler.map(|f| (*f).to_owned()),
                    Segment::One(tokens) => Some(tokens.iter().filter_map(|t| t.example(letter)).collect()),
                };
                let path = segments.iter().filter_map(of).collect::<Vec<String>>().join("/");
                // `x/**` selects x too, but nobody means that.
                let bare = filler.is_none() && segments.last() == Some(&Segment::Any);
                if !path.is_empty() && !bare && !found.contains(&path) {
                    found.push(path);
                }
            }
        }
        found
    }

    /// The directories, each segment closed by `/`, that every path must lie in or be, one for each alternative.
    fn prefixes(&self) -> Vec<Vec<u8>> {
        let Some(alternatives) = &self.alternatives else { return vec![Vec::new()] };
        let of = |segments: &Vec<Segment>| {
            let mut prefix = String::new();
            for segment in segments {
                let Segment::One(tokens) = segment else { break };
                let literal = |t: &Token| if let Token::One(c) = t { Some(*c) } else { None };
                let Some(text) = tokens.iter().map(literal).collect::<Option<String>>() else { break };
                prefix.push_str(&text);
                prefix.push('/');
            }
            prefix.into_bytes()
        };
        alternatives.iter().map(of).collect()
    }
}

/// Replaces braces by what they stand for, from `at` to the end or to the `,` or `}` that closes this alternative.
fn expand(chars: &[char], at: &mut usize, in_braces: bool) -> Option<Vec<Vec<Token>>> {
    let mut words: Vec<Vec<Token>> = vec![Vec::new()];
    let add = |words: &mut Vec<Vec<Token>>, token: Token| words.iter_mut().for_each(|w| w.push(token.clone()));
    while let Some(c) = chars.get(*at) {
        *at += 1;
        match c {
            ',' | '}' if in_braces => {
                *at -= 1;
                break;
            }
            '{' => {
                let mut choices = Vec::new();
                loop {
                    choices.extend(expand(chars, at, true)?);
                    let comma = chars.get(*at) == Some(&',');
                    *at += 1;
                    if !comma {
                        break;
                    }
                }
                if words.len() * choices.len() > MOST_ALTERNATIVES {
                    return None;
                }
                words =
                    words.iter().flat_map(|w| choices.iter().map(|c| [w.as_slice(), c.as_slice()].concat())).collect();
            }
            '[' => add(&mut words, Token::Char(class(chars, at))),
            '?' => add(&mut words, Token::Char(Set { not: true, ranges: Vec::new() })),
            '*' => add(&mut words, Token::Star),
            '/' => add(&mut words, Token::Slash),
            '\\' => {
                let c = chars.get(*at).copied().unwrap_or('\\');
                *at += 1;
                add(&mut words, Token::One(c));
            }
            c => add(&mut words, Token::One(*c)),
        }
    }
    Some(words)
}

/// Reads a class behind its `[`.
fn class(chars: &[char], at: &mut usize) -> Set {
    let mut set = Set { not: false, ranges: Vec::new() };
    if matches!(chars.get(*at), Some('!' | '^')) {
        set.not = true;
        *at += 1;
    }
    let mut first = true;
    while let Some(c) = chars.get(*at) {
        if *c == ']' && !first {
            *at += 1;
            break;
        }
        first = false;
        let from = member(chars, at);
        let to = match (chars.get(*at), chars.get(*at + 1)) {
            (Some('-'), Some(end)) if *end != ']' => {
                *at += 1;
                member(chars, at)
            }
            _ => from,
        };
        set.ranges.push((from.min(to), from.max(to)));
    }
    set
}

fn member(chars: &[char], at: &mut usize) -> char {
    if chars.get(*at) == Some(&'\\') {
        *at += 1;
    }
    let c = chars.get(*at).copied().unwrap_or('\\');
    *at += 1;
    c
}

/// Cuts at slashes. `None` when a segment in the middle is empty: no path is selected.
fn segments(word: &[Token]) -> Option<Vec<Segment>> {
    let mut out = Vec::new();
    let mut parts = word.split(|t| *t == Token::Slash).peekable();
    while let Some(part) = parts.next() {
        match part {
            // `dir/` is `dir/**`.
            [] if parts.peek().is_none() => out.push(Segment::Any),
            [] => return None,
            [Token::Star, Token::Star] => out.push(Segment::Any),
            part => out.push(Segment::One(part.to_vec())),
        }
    }
    Some(out)
}

/// Whether two lists of segments have a path in common: a walk over pairs of positions.
fn paths_meet(a: &[Segment], b: &[Segment]) -> bool {
    walk(a.len(), b.len(), |i, j| match (a.get(i), b.get(j)) {
        (Some(Segment::Any), Some(Segment::One(_))) => [Some((i + 1, j)), Some((i, j + 1))],
        (Some(Segment::One(_)), Some(Segment::Any)) => [Some((i, j + 1)), Some((i + 1, j))],
        (Some(Segment::Any), _) => [Some((i + 1, j)), b.get(j).map(|_| (i, j + 1))],
        (None, Some(Segment::Any)) => [Some((i, j + 1)), None],
        (Some(Segment::One(x)), Some(Segment::One(y))) => [segments_meet(x, y).then_some((i + 1, j + 1)), None],
        (None, _) | (Some(Segment::One(_)), None) => [None, None],
    })
}

/// The same for the characters of one segment.
fn segments_meet(a: &[Token], b: &[Token]) -> bool {
    walk(a.len(), b.len(), |i, j| match (a.get(i), b.get(j)) {
        (Some(Token::Star), other) => [Some((i + 1, j)), other.map(|_| (i, j + 1))],
        (other, Some(Token::Star)) => [Some((i, j + 1)), other.map(|_| (i + 1, j))],
        (Some(Token::One(x)), Some(Token::One(y))) => [(x == y).then_some((i + 1, j + 1)), None],
        (Some(Token::One(c)), Some(Token::Char(set))) | (Some(Token::Char(set)), Some(Token::One(c))) => {
            [set.has(*c).then_some((i + 1, j + 1)), None]
        }
        (Some(Token::Char(x)), Some(Token::Char(y))) => [x.meets(y).then_some((i + 1, j + 1)), None],
        _ => [None, None],
    })
}

/// Whether the end (`n`, `m`) can be reached from (0, 0).
fn walk(n: usize, m: usize, steps: impl Fn(usize, usize) -> [Option<(usize, usize)>; 2]) -> bool {
    let mut seen = BTreeSet::new();
    let mut stack = vec![(0, 0)];
    while let Some(at) = stack.pop() {
        if at == (n, m) {
            return true;
        }
        if seen.insert(at) {
            stack.extend(steps(at.0, at.1).into_iter().flatten());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str) -> Glob {
        Glob::parse(text).unwrap()
    }

    #[test]
    fn which_globs_meet() {
        for (a, b, want) in [
            ("dist/**", "dist/app.js", true),
            ("dist/**", "dist", true),
            ("dist/", "dist/x/y", true),
            ("dist/**", "out/**", false),
            ("**/*.js", "dist/**", true),
            ("**/*.js", "dist/*.ts", false),
            ("a/*/c", "a/b/**", true),
            ("a/*/c", "a/b", false),
            ("a/**/c", "a/c", true),
            ("a/**/b/**", "a/x/**/c", true),
            ("*.{js,ts}", "a.ts", true),
            ("*.{js,ts}", "a.tsx", false),
            ("{a,b}/**", "{b,c}/x", true),
            ("{a,b}/**", "{c,d}/x", false),
            ("[a-c]x", "[c-d]x", true),
            ("[a-c]x", "[!a-c]x", false),
            ("[!a]x", "[!b]x", true),
            ("[a-c]x", "[!b]x", true),
            ("?", "ab", false),
            ("?b", "a*", true),
            ("a*b", "b*a", false),
            ("*a*", "b*", true),
            (r"\*", "a", false),
            (r"\*", "?", true),
            ("a{,b}", "ab", true),
            ("a/{**,x}", "a/y/z", true),
            ("**", "x", true),
        ] {
            assert_eq!(overlaps(&glob(a), &glob(b)), want, "{a} {b}");
            assert_eq!(overlaps(&glob(b), &glob(a)), want, "{b} {a}");
            let lists = [Pattern::new(&glob(a))];
            assert_eq!(pairs(&lists, &[Pattern::new(&glob(b))]).len(), usize::from(want), "{a} {b}");
        }
    }

    #[test]
    fn pairs_are_those_of_comparing_all() {
        let texts = ["dist/**", "dist/a/**", "dist/a", "**/x", "{dist,out}/b", "out/*", "d*/a/x", "dist/ab/**"];
        let all: Vec<Pattern> = texts.iter().map(|t| Pattern::new(&glob(t))).collect();
        let want: Vec<(usize, usize)> = (0..all.len())
            .flat_map(|i| (0..all.len()).map(move |j| (i, j)))
            .filter(|(i, j)| all[*i].overlaps(&all[*j]))
            .collect();
        assert_eq!(pairs(&all, &all), want);
    }
}
