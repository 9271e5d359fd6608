//! May two globs select the same path? Exact but for names such as `.` that no path has, and there it errs towards yes.

use super::Glob;
use super::automaton::machine::{Machine, Node, Token};
use super::pattern::{Class, Part, Pattern, Segment};
use std::collections::{BTreeMap, BTreeSet};

/// Whether some path is selected by both.
#[must_use]
pub fn overlaps(a: &Glob, b: &Glob) -> bool {
    let both = |a, b| at_a_glance(a, b).unwrap_or_else(|| meet(&Machine::of(a), &Machine::of(b)));
    a.alternatives().iter().any(|a| b.alternatives().iter().any(|b| both(a, b)))
}

/// All pairs (index into `a`, index into `b`) that overlap, ascending. Globs are looked up by the directories that they
/// name in full, so that thousands of globs for as many directories are not compared with each other.
#[must_use]
pub fn pairs(a: &[Shape<'_>], b: &[Shape<'_>]) -> Vec<(usize, usize)> {
    let mut index: BTreeMap<Vec<u8>, BTreeSet<usize>> = BTreeMap::new();
    for (i, shape) in b.iter().enumerate() {
        for directory in shape.directories() {
            index.entry(directory).or_default().insert(i);
        }
    }
    let mut found = BTreeSet::new();
    for (i, shape) in a.iter().enumerate() {
        let mut near = BTreeSet::new();
        for directory in shape.directories() {
            // Those in a directory above, or in this one …
            let ends = directory.iter().enumerate().filter(|(_, c)| **c == b'/').map(|(at, _)| at + 1);
            for end in std::iter::once(0).chain(ends) {
                near.extend(directory.get(..end).and_then(|above| index.get(above)).into_iter().flatten());
            }
            // … and those below.
            let below = index.range(directory.clone()..).take_while(|(other, _)| other.starts_with(&directory));
            near.extend(below.flat_map(|(_, indices)| indices));
        }
        let meets = |j: &usize| b.get(*j).is_some_and(|other| shape.overlaps(other));
        found.extend(near.into_iter().filter(meets).map(|j| (i, j)));
    }
    found.into_iter().collect()
}

/// A glob that is compared with many.
#[derive(Clone, Debug)]
pub struct Shape<'g> {
    alternatives: Vec<(&'g Pattern, Machine<'g>)>,
}

impl<'g> Shape<'g> {
    /// Makes ready what each comparison needs.
    #[must_use]
    pub fn new(glob: &'g Glob) -> Self {
        Self { alternatives: glob.alternatives().iter().map(|pattern| (pattern, Machine::of(pattern))).collect() }
    }

    /// Whether some path is selected by both.
    #[must_use]
    pub fn overlaps(&self, other: &Shape<'_>) -> bool {
        let both = |(a, m): &(&Pattern, Machine), (b, n): &(&Pattern, Machine)| {
            at_a_glance(a, b).unwrap_or_else(|| meet(m, n))
        };
        self.alternatives.iter().any(|a| other.alternatives.iter().any(|b| both(a, b)))
    }

    /// The directories, each name closed by `/`, that every path must lie in or be, one for each alternative.
    fn directories(&self) -> impl Iterator<Item = Vec<u8>> {
        let closed = |prefix: &[u8]| if prefix.is_empty() { Vec::new() } else { [prefix, b"/"].concat() };
        self.alternatives.iter().map(move |(pattern, _)| closed(&pattern.prefix))
    }
}

/// The answer, where the literal beginnings and ends tell it.
fn at_a_glance(a: &Pattern, b: &Pattern) -> Option<bool> {
    if a.rest.is_empty() {
        return Some(b.matches(&a.prefix));
    }
    if b.rest.is_empty() {
        return Some(a.matches(&b.prefix));
    }
    let (short, long) = if a.prefix.len() <= b.prefix.len() { (a, b) } else { (b, a) };
    let is_apart = !short.prefix.is_empty()
        && long.prefix.strip_prefix(&*short.prefix).is_none_or(|rest| !matches!(rest, [] | [b'/', ..]));
    (is_apart || !(tail(a).ends_with(tail(b)) || tail(b).ends_with(tail(a)))).then_some(false)
}

/// What every path ends with.
fn tail(pattern: &Pattern) -> &[u8] {
    match pattern.rest.last() {
        Some(Segment::Literal(name)) => name,
        Some(Segment::Wild(parts)) => match parts.last() {
            Some(Part::Text(text)) => text,
            _ => &[],
        },
        Some(Segment::Any) | None => &[],
    }
}

/// Whether two automata accept the same path: a walk over pairs of nodes.
fn meet(a: &Machine, b: &Machine) -> bool {
    let mut seen = vec![0_u64; (a.nodes.len() * b.nodes.len()).div_ceil(64)];
    let mut is_new = |i: u32, j: u32| {
        let (Ok(i), Ok(j)) = (usize::try_from(i), usize::try_from(j)) else { return false };
        let (at, bit) = ((i * b.nodes.len() + j) / 64, 1 << ((i * b.nodes.len() + j) % 64));
        seen.get_mut(at).is_some_and(|word| std::mem::replace(word, *word | bit) & bit == 0)
    };
    let mut open = Vec::new();
    let mut reach = |open: &mut Vec<(u32, u32)>, from: &[u32], to: &[u32]| {
        for i in from {
            open.extend(to.iter().map(|j| (*i, *j)).filter(|(i, j)| is_new(*i, *j)));
        }
    };
    reach(&mut open, &a.start, &b.start);
    while let Some((i, j)) = open.pop() {
        let (Some(x), Some(y)) = (a.node(i), b.node(j)) else { continue };
        if x.accepts.is_some() && y.accepts.is_some() {
            return true;
        }
        reach(&mut open, &x.slash, &y.slash);
        if let (Node { step: Some((s, to)), .. }, Node { step: Some((t, on)), .. }) = (x, y)
            && share(takes(a, *s), takes(b, *t))
        {
            reach(&mut open, to, on);
        }
    }
    false
}

/// What a token takes.
enum Takes<'a> {
    Any,
    Char(char),
    Class(&'a Class),
}

fn takes<'a>(machine: &Machine<'a>, token: Token) -> Takes<'a> {
    match token {
        Token::Any => Takes::Any,
        Token::Char(c) => Takes::Char(c),
        Token::Class(index) => machine.classes.get(index).map_or(Takes::Any, |class| Takes::Class(class)),
    }
}

/// Whether there is a character that both take.
fn share(a: Takes, b: Takes) -> bool {
    match (a, b) {
        // Nobody writes a class that is empty: its first member is one whatever it is.
        (Takes::Any, _) | (_, Takes::Any) => true,
        (Takes::Char(a), Takes::Char(b)) => a == b,
        (Takes::Char(c), Takes::Class(class)) | (Takes::Class(class), Takes::Char(c)) => class.contains(Some(c)),
        (Takes::Class(a), Takes::Class(b)) => match (a.negated, b.negated) {
            // A byte that is no character, for one.
            (true, true) => true,
            (false, false) => a.ranges.iter().any(|x| b.ranges.iter().any(|y| x.0.max(y.0) <= x.1.min(y.1))),
            (true, false) => b.ranges.iter().any(|range| !is_covered(*range, &a.ranges)),
            (false, true) => a.ranges.iter().any(|range| !is_covered(*range, &b.ranges)),
        },
    }
}

/// Whether every character of a range lies in one of the others.
fn is_covered((from, to): (char, char), ranges: &[(char, char)]) -> bool {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut next = Some(from);
    for (a, b) in sorted {
        if next.is_some_and(|next| (a..=b).contains(&next)) {
            next = (b..=to).nth(1);
        }
    }
    next.is_none()
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
            let (a, b) = (glob(a), glob(b));
            assert_eq!(pairs(&[Shape::new(&a)], &[Shape::new(&b)]).len(), usize::from(want), "{a:?} {b:?}");
        }
    }

    #[test]
    fn pairs_are_those_of_comparing_all() {
        let texts = ["dist/**", "dist/a/**", "dist/a", "**/x", "{dist,out}/b", "out/*", "d*/a/x", "dist/ab/**"];
        let globs: Vec<Glob> = texts.iter().map(|t| glob(t)).collect();
        let all: Vec<Shape> = globs.iter().map(Shape::new).collect();
        let want: Vec<(usize, usize)> = (0..all.len())
            .flat_map(|i| (0..all.len()).map(move |j| (i, j)))
            .filter(|(i, j)| all[*i].overlaps(&all[*j]))
            .collect();
        assert_eq!(pairs(&all, &all), want);
    }
}
