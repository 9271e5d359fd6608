//! Decides whether two globs can select the same path. The result is exact, except that it may be
//! "yes" because of names that no path has, such as `.`.

use super::Glob;
use super::automaton::machine::{Machine, NodeIndex, Token};
use super::pattern::{Class, Part, Pattern, Segment};
use crate::bits::Bits;
use crate::index::{Dense, Index as _, at, numbered};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Whether both globs select some path.
pub fn overlaps(a: &Glob, b: &Glob) -> bool {
    Shape::new(a).overlaps(&Shape::new(b))
}

crate::index!(ShapeIndex, "glob", "Position of a glob in its list.");
crate::index!(RowIndex, "row", "Position of a row.");

/// Returns which globs of `a` overlap with which of `b`, as groups: each of the first list with
/// each of the second, both in the order of their lists. Every overlapping pair is in one group,
/// and no other pair is in any. If thousands of globs overlap with the same thousands, they form
/// few groups. Globs come with their identifiers for the result.
pub fn groups<'l, A, B>(
    a: &'l [(Shape<'_>, A)],
    b: &'l [(Shape<'_>, B)],
) -> Vec<GlobGroup<'l, A, B>> {
    // Globs of `a` that overlap with the same ones are one row …
    let mut rows: BTreeMap<Vec<ShapeIndex>, Vec<ShapeIndex>> = BTreeMap::new();
    let near = Near::new(b);
    for (i, (shape, _)) in numbered(a) {
        let row = near.meeting(shape);
        if !row.is_empty() {
            rows.entry(row).or_default().push(i);
        }
    }
    // … and those of `b` in the same rows one column. The shorter of both is returned.
    let rows: Dense<RowIndex, (Vec<ShapeIndex>, Vec<ShapeIndex>)> = rows.into_iter().collect();
    let mut columns: Dense<ShapeIndex, Vec<RowIndex>> = Dense::filled(Vec::new(), b.len());
    for (number, (row, _)) in rows.numbered() {
        row.iter().for_each(|j| columns[*j].push(number));
    }
    let mut by_column: BTreeMap<&Vec<RowIndex>, Vec<ShapeIndex>> = BTreeMap::new();
    for (j, column) in columns.numbered().filter(|(_, column)| !column.is_empty()) {
        by_column.entry(column).or_default().push(j);
    }
    let size = |column: &[RowIndex]| column.iter().map(|r| rows[*r].1.len()).sum::<usize>();
    let in_columns = by_column.iter().map(|(column, js)| size(column) + js.len());
    let in_rows = rows.iter().map(|(row, is)| row.len() + is.len());
    let of_a = |is: &[ShapeIndex]| is.iter().map(|i| &at(a, *i).1).collect();
    let of_b = |js: &[ShapeIndex]| js.iter().map(|j| &at(b, *j).1).collect();
    if in_columns.sum::<usize>() >= in_rows.sum() {
        return rows.iter().map(|(row, is)| (of_a(is), of_b(row))).collect();
    }
    let together = |(column, js): (&Vec<RowIndex>, Vec<ShapeIndex>)| {
        let mut is: Vec<ShapeIndex> = column.iter().flat_map(|r| &rows[*r].1).copied().collect();
        is.sort_unstable();
        (of_a(&is), of_b(&js))
    };
    by_column.into_iter().map(together).collect()
}

/// Two groups of globs, where each glob overlaps all globs of the other group.
pub type GlobGroup<'l, A, B> = (Vec<&'l A>, Vec<&'l B>);

/// Globs, by the directories that they name in full, so that thousands of globs for as many
/// directories are not compared with each other.
struct Near<'i, 'g, T> {
    shapes: &'i [(Shape<'g>, T)],
    by_directory: BTreeMap<Vec<u8>, Vec<ShapeIndex>>,
}

impl<'i, 'g, T> Near<'i, 'g, T> {
    fn new(shapes: &'i [(Shape<'g>, T)]) -> Self {
        let mut by_directory: BTreeMap<Vec<u8>, Vec<ShapeIndex>> = BTreeMap::new();
        for (i, (shape, _)) in numbered(shapes) {
            for directory in shape.directories() {
                by_directory.entry(directory).or_default().push(i);
            }
        }
        Self {
            shapes,
            by_directory,
        }
    }

    /// Returns those that overlap with a glob, ascending.
    fn meeting(&self, shape: &Shape<'_>) -> Vec<ShapeIndex> {
        let mut near = Vec::new();
        for directory in shape.directories() {
            // Those in a directory above, or in this one …
            let bytes = directory.iter().enumerate();
            let ends = bytes.filter(|(_, c)| **c == b'/').map(|(at, _)| at + 1);
            for end in std::iter::once(0).chain(ends) {
                near.extend(
                    directory
                        .get(..end)
                        .and_then(|above| self.by_directory.get(above))
                        .into_iter()
                        .flatten(),
                );
            }
            // … and those below.
            let below = self
                .by_directory
                .range(directory.clone()..)
                .take_while(|(other, _)| other.starts_with(&directory));
            near.extend(below.flat_map(|(_, indices)| indices));
        }
        near.sort_unstable();
        near.dedup();
        near.retain(|j| shape.overlaps(&at(self.shapes, *j).0));
        near
    }
}

/// A glob that is compared with many.
#[derive(Clone, Debug)]
pub struct Shape<'g> {
    /// The alternatives, with their automata where a glance did not decide.
    alternatives: Vec<(&'g Pattern, OnceCell<Machine<'g>>)>,
}

impl<'g> Shape<'g> {
    /// Prepares the data for comparisons.
    pub fn new(glob: &'g Glob) -> Self {
        let alternatives = glob.alternatives().iter();
        Self {
            alternatives: alternatives.map(|p| (p, OnceCell::new())).collect(),
        }
    }

    /// Whether some path is selected by both.
    pub fn overlaps(&self, other: &Shape<'_>) -> bool {
        let mut own = self.alternatives.iter();
        own.any(|(a, m)| {
            let (mut others, m) = (other.alternatives.iter(), || {
                m.get_or_init(|| Machine::compile(a))
            });
            others.any(|(b, n)| {
                let meet = || meet(m(), n.get_or_init(|| Machine::compile(b)));
                at_a_glance(a, b).unwrap_or_else(meet)
            })
        })
    }

    /// Returns the directories, each name closed by `/`, that every path must be or be in, one for
    /// each alternative.
    fn directories(&self) -> impl Iterator<Item = Vec<u8>> {
        let closed = |prefix: &[u8]| {
            if prefix.is_empty() {
                Vec::new()
            } else {
                [prefix, b"/"].concat()
            }
        };
        self.alternatives
            .iter()
            .map(move |(pattern, _)| closed(&pattern.prefix))
    }
}

/// Compares by the literal beginnings and ends. `None` if they do not decide.
fn at_a_glance(a: &Pattern, b: &Pattern) -> Option<bool> {
    if a.rest.is_empty() {
        return Some(b.matches(&a.prefix));
    }
    if b.rest.is_empty() {
        return Some(a.matches(&b.prefix));
    }
    let (short, long) = if a.prefix.len() <= b.prefix.len() {
        (a, b)
    } else {
        (b, a)
    };
    let is_apart = !short.prefix.is_empty()
        && long
            .prefix
            .strip_prefix(&*short.prefix)
            .is_none_or(|rest| !matches!(rest, [] | [b'/', ..]));
    if is_apart || !(tail(a).ends_with(tail(b)) || tail(b).ends_with(tail(a))) {
        return Some(false);
    }
    let all_below = |a: &Pattern, b: &Pattern| {
        // `x/**` includes all of `x/y/…`; `x/**/…` continues from any end of `x/y/**`; `p*` and
        // `*q` share `pq`.
        let goes_on =
            matches!(&*a.rest, [Segment::Any, ..]) && matches!(b.rest.last(), Some(Segment::Any));
        let joins = a.prefix == b.prefix
            && matches!((&*a.rest, &*b.rest), ([Segment::Wild(a)], [Segment::Wild(b)])
                if a.last() == Some(&Part::Star) && b.first() == Some(&Part::Star));
        matches!(&*a.rest, [Segment::Any]) || goes_on || joins
    };
    (all_below(short, long) || (a.prefix == b.prefix && all_below(long, short))).then_some(true)
}

/// Returns the common end of all matching paths.
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

crate::index!(
    PairIndex,
    "pair of states",
    "Number of a pair of states of two automata."
);

/// Whether two automata accept the same path: a walk over pairs of nodes.
fn meet(a: &Machine, b: &Machine) -> bool {
    let mut seen: Bits<PairIndex> = Bits::none(a.nodes.len() * b.nodes.len());
    let mut is_new = |i: NodeIndex, j: NodeIndex| {
        let pair = PairIndex::new(i.position() * b.nodes.len() + j.position());
        !seen.has(pair) && {
            seen.set(pair);
            true
        }
    };
    let mut open = Vec::new();
    let mut reach = |open: &mut Vec<_>, from: &[NodeIndex], to: &[NodeIndex]| {
        for i in from {
            open.extend(to.iter().map(|j| (*i, *j)).filter(|(i, j)| is_new(*i, *j)));
        }
    };
    reach(&mut open, &a.start, &b.start);
    while let Some((i, j)) = open.pop() {
        let (x, y) = (&a.nodes[i], &b.nodes[j]);
        if x.accepts.is_some() && y.accepts.is_some() {
            return true;
        }
        reach(&mut open, &x.slash, &y.slash);
        if let (Some((s, to)), Some((t, on))) = (&x.step, &y.step)
            && share((a, *s), (b, *t))
        {
            reach(&mut open, to, on);
        }
    }
    false
}

/// Whether there is a character that both tokens accept, each of its automaton.
fn share((m, a): (&Machine, Token), (n, b): (&Machine, Token)) -> bool {
    let (a, b) = match (a, b) {
        // Empty classes do not occur, so there is a first member.
        (Token::Any, _) | (_, Token::Any) => return true,
        (Token::Char(a), Token::Char(b)) => return a == b,
        (Token::Char(c), Token::Class(class)) => return n.classes[class].contains(Some(c)),
        (Token::Class(class), Token::Char(c)) => return m.classes[class].contains(Some(c)),
        (Token::Class(a), Token::Class(b)) => (m.classes[a], n.classes[b]),
    };
    let holds_more = |a: &Class, b: &Class| a.ranges.iter().any(|r| !is_covered(*r, &b.ranges));
    match (a.negated, b.negated) {
        // Both match a byte outside of any character, for example.
        (true, true) => true,
        (false, false) => a
            .ranges
            .iter()
            .any(|x| b.ranges.iter().any(|y| x.0.max(y.0) <= x.1.min(y.1))),
        (true, false) => holds_more(b, a),
        (false, true) => holds_more(a, b),
    }
}

/// Whether every character of a range is in one of the others.
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
            assert_eq!(
                groups(&[(Shape::new(&a), ())], &[(Shape::new(&b), ())]).len(),
                usize::from(want),
                "{a:?} {b:?}"
            );
        }
    }

    #[test]
    fn groups_are_those_of_comparing_all() {
        let texts = [
            "dist/**",
            "dist/a/**",
            "dist/a",
            "**/x",
            "{dist,out}/b",
            "out/*",
            "d*/a/x",
            "dist/ab/**",
            "{dist,dist/a}/x",
        ];
        let globs: Vec<Glob> = texts.iter().map(|t| glob(t)).collect();
        let all: Vec<(Shape, usize)> = globs.iter().map(Shape::new).zip(0..).collect();
        let want: Vec<(usize, usize)> = (0..all.len())
            .flat_map(|i| (0..all.len()).map(move |j| (i, j)))
            .filter(|(i, j)| all[*i].0.overlaps(&all[*j].0))
            .collect();
        let told = groups(&all, &all);
        let mut got: Vec<(usize, usize)> = told
            .iter()
            .flat_map(|(a, b)| {
                a.iter()
                    .flat_map(move |i| b.iter().map(move |j| (**i, **j)))
            })
            .collect();
        got.sort_unstable();
        assert_eq!(got, want, "each once");
    }

    #[test]
    fn what_meets_the_same_is_one_group() {
        let many =
            |what: fn(usize) -> String| (0..50).map(what).map(|t| glob(&t)).collect::<Vec<Glob>>();
        fn shapes(globs: &[Glob]) -> Vec<(Shape<'_>, usize)> {
            globs.iter().map(Shape::new).zip(0..).collect()
        }
        fn overlapping_groups(a: &[Glob], b: &[Glob]) -> Vec<(Vec<usize>, Vec<usize>)> {
            let plain = |list: Vec<&usize>| list.into_iter().copied().collect::<Vec<_>>();
            let (a, b) = (shapes(a), shapes(b));
            let told = groups(&a, &b).into_iter();
            told.map(|(is, js)| (plain(is), plain(js))).collect()
        }
        let (made, asked) = (many(|i| format!("g/p{i}*")), many(|i| format!("g/*r{i}")));
        let all = || (0..50).collect::<Vec<usize>>();
        assert_eq!(overlapping_groups(&made, &asked), [(all(), all())]);
        // Each overlaps with its own and with the one that matches all: columns are shorter than
        // rows.
        let made = many(|i| format!("g/{i}/**"));
        let asked: Vec<Glob> = many(|i| format!("g/{i}/x"))
            .into_iter()
            .chain(many(|i| format!("**/r{i}")))
            .collect();
        let told = overlapping_groups(&made, &asked);
        assert_eq!(told.len(), 51, "{told:?}");
        assert!(told.contains(&(all(), (50..100).collect())) && told.contains(&(vec![7], vec![7])));
    }

    /// Checks that the comparison by beginnings and ends agrees with the automata.
    #[test]
    fn at_a_glance_is_right() {
        let texts = [
            "**",
            "dist/**",
            "dist/a/**",
            "dist/a",
            "**/x",
            "**/x*",
            "*",
            "*x",
            "x*",
            "dist/*x",
            "dist/x*",
            "dist/*",
            "dist/**/x",
            "dist/**/x/**",
            "dist/a/**/x",
            "**/a/**",
            "d*/**",
            "?x/**",
            "[ab]*",
            "*[ab]",
            "dist/?",
            "**/*",
            "*/**",
            "dist/*/x*y",
        ];
        for (a, b) in texts
            .iter()
            .flat_map(|a| texts.iter().map(move |b| (glob(a), glob(b))))
        {
            for (x, y) in a
                .alternatives()
                .iter()
                .flat_map(|x| b.alternatives().iter().map(move |y| (x, y)))
            {
                let met = meet(&Machine::compile(x), &Machine::compile(y));
                assert_eq!(at_a_glance(x, y).unwrap_or(met), met, "{a:?} {b:?}");
            }
        }
    }
}
