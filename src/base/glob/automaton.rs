//! Which sets of paths do globs tell apart? Exact: all globs run as automata side by side, as far as paths lead.
//!
//! The automata read characters, not bytes. That loses nothing: a path is one sequence of characters and stray bytes, no glob
//! tells one stray byte from another, and 0xff, which is always stray, stands for all of them. Characters that no glob tells
//! apart are one letter.

use super::pattern::{Class, Part, Pattern, Segment};
use super::{Glob, Item, Selection, What};
use crate::base::path::RepoPath;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// A set of paths.
#[derive(Clone, Debug, PartialEq)]
pub enum Region<'a> {
    /// What a selection selects.
    Selected(&'a Selection),
    /// What one positive item of a list selects and the list does not exclude: the item's index.
    Item(&'a Selection, usize),
    /// What lies below a directory.
    Below(&'a RepoPath),
}

impl Region<'_> {
    /// Whether a path lies in it.
    #[must_use]
    pub fn holds(&self, path: &RepoPath) -> bool {
        match self {
            Region::Selected(selection) => selection.selects(path),
            Region::Item(selection, index) => {
                selection.items.get(*index).is_some_and(|item| item.selects(path))
                    && !selection.items.iter().any(|item| item.not && item.selects(path))
            }
            Region::Below(dir) => path.below(dir).is_some(),
        }
    }
}

/// Paths that lie in the same regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// For each region whether they lie in it.
    pub inside: Vec<bool>,
    /// The most readable of them.
    pub example: RepoPath,
}

/// How far the search goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// States of the product.
    pub states: usize,
    /// Atoms.
    pub atoms: usize,
    /// Nodes of all globs together.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { states: 100_000, atoms: 4_096, nodes: 50_000 }
    }
}

/// All non-empty atoms of some regions, the most readable first. `None` when a limit is reached.
#[must_use]
pub fn atoms(regions: &[Region<'_>], limits: &Limits) -> Option<Vec<Atom>> {
    let mut globs = Globs::default();
    let sets: Vec<Set> = regions.iter().map(|region| globs.region(region)).collect();
    let machine = Machine::new(&globs, limits.nodes)?;
    explore(&machine, &sets, globs.all.len(), limits)
}

/// Every glob once.
#[derive(Default)]
struct Globs<'a> {
    all: Vec<Source<'a>>,
    known: BTreeMap<&'a str, usize>,
}

enum Source<'a> {
    Glob(&'a Glob),
    /// Everything below a directory.
    Below(&'a RepoPath),
}

/// A region as a formula over globs.
enum Set {
    All,
    Glob(usize),
    /// Some of the first and none of the second.
    But(Vec<Set>, Vec<Set>),
}

impl Set {
    fn holds(&self, accepted: &[bool]) -> bool {
        match self {
            Set::All => true,
            Set::Glob(index) => accepted.get(*index).copied().unwrap_or(false),
            Set::But(some, none) => some.iter().any(|s| s.holds(accepted)) && !none.iter().any(|s| s.holds(accepted)),
        }
    }
}

impl<'a> Globs<'a> {
    fn region(&mut self, region: &Region<'a>) -> Set {
        match region {
            Region::Selected(selection) => self.selection(selection),
            Region::Item(selection, index) => {
                let some = selection.items.get(*index).map(|item| self.item(item)).into_iter().collect();
                Set::But(some, self.items(selection, true))
            }
            Region::Below(dir) if dir.is_root() => Set::All,
            Region::Below(dir) => {
                self.all.push(Source::Below(dir));
                Set::Glob(self.all.len() - 1)
            }
        }
    }

    fn selection(&mut self, selection: &'a Selection) -> Set {
        Set::But(self.items(selection, false), self.items(selection, true))
    }

    fn items(&mut self, selection: &'a Selection, not: bool) -> Vec<Set> {
        selection.items.iter().filter(|item| item.not == not).map(|item| self.item(item)).collect()
    }

    fn item(&mut self, item: &'a Item) -> Set {
        match &item.what {
            What::Paths { items, .. } => self.selection(items),
            What::Glob(glob) => {
                let next = self.all.len();
                let index = *self.known.entry(glob.text()).or_insert(next);
                if index == next {
                    self.all.push(Source::Glob(glob));
                }
                Set::Glob(index)
            }
        }
    }
}

/// What one character must be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    Any,
    Char(char),
    /// An index into [`Machine::classes`].
    Class(usize),
}

/// A node of an automaton: a place in the text of a glob.
struct Node {
    /// What takes a character from here, and to where.
    step: Option<(Token, Vec<u32>)>,
    /// Where a `/` leads.
    slash: Vec<u32>,
    /// The glob, when a path that ends here is selected.
    accepts: Option<usize>,
}

/// One letter: all characters of it are the same to every glob.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Letter {
    /// The character of it that is best to read; none is a stray byte.
    shown: Option<char>,
    cost: u64,
}

struct Machine<'a> {
    nodes: Vec<Node>,
    start: Vec<u32>,
    classes: Vec<&'a Class>,
    /// Letters that the same classes hold, those that are best to read first.
    families: Vec<(Vec<bool>, Vec<Letter>)>,
}

impl<'a> Machine<'a> {
    fn new(globs: &Globs<'a>, most: usize) -> Option<Self> {
        let mut machine = Machine { nodes: Vec::new(), start: Vec::new(), classes: Vec::new(), families: Vec::new() };
        for (index, source) in globs.all.iter().enumerate() {
            match source {
                Source::Glob(glob) => {
                    for pattern in glob.alternatives() {
                        machine.add(segments(pattern), index, most)?;
                    }
                }
                Source::Below(dir) => {
                    let mut list: Vec<Piece> = dir.segments().map(|name| Piece::One(literal(name))).collect();
                    list.extend([Piece::Any, Piece::One(vec![Letters::Star])]);
                    machine.add(list, index, most)?;
                }
            }
        }
        machine.start.sort_unstable();
        machine.start.dedup();
        machine.families = machine.alphabet();
        Some(machine)
    }

    /// Adds an automaton for one alternative, from its end to its beginning, so that what comes next is known already.
    fn add(&mut self, pieces: Vec<Piece<'a>>, glob: usize, most: usize) -> Option<()> {
        // The nodes at which the segment behind begins, and whether a path may end in front of it.
        let mut behind: Vec<u32> = Vec::new();
        let mut may_end = true;
        for piece in pieces.into_iter().rev() {
            let mut entry = match piece {
                Piece::Any => {
                    let this = self.next(most)?;
                    let mut again = vec![this];
                    again.extend(&behind);
                    let accepts = may_end.then_some(glob);
                    self.nodes.push(Node { step: Some((Token::Any, vec![this])), slash: again.clone(), accepts });
                    // A `**` takes no segment at all, too: in front of it a path may end if it may end behind it.
                    again
                }
                Piece::One(letters) => {
                    let end = self.next(most)?;
                    self.nodes.push(Node { step: None, slash: behind, accepts: may_end.then_some(glob) });
                    may_end = false;
                    let mut entry = vec![end];
                    for letter in letters.into_iter().rev() {
                        let this = self.next(most)?;
                        let (token, to, from) = match letter {
                            Letters::Star => {
                                entry.push(this);
                                (Token::Any, entry.clone(), entry)
                            }
                            Letters::One => (Token::Any, entry, vec![this]),
                            Letters::Char(c) => (Token::Char(c), entry, vec![this]),
                            Letters::Class(class) => (Token::Class(self.class(class)), entry, vec![this]),
                        };
                        self.nodes.push(Node { step: Some((token, to)), slash: Vec::new(), accepts: None });
                        entry = from;
                    }
                    entry
                }
            };
            entry.sort_unstable();
            entry.dedup();
            behind = entry;
        }
        self.start.extend(behind);
        Some(())
    }

    fn next(&self, most: usize) -> Option<u32> {
        (self.nodes.len() < most).then_some(())?;
        u32::try_from(self.nodes.len()).ok()
    }

    fn class(&mut self, class: &'a Class) -> usize {
        self.classes.iter().position(|known| *known == class).unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() - 1
        })
    }

    /// Cuts all characters into letters and puts those together that only a literal character tells apart.
    fn alphabet(&self) -> Vec<(Vec<bool>, Vec<Letter>)> {
        let mut cuts: BTreeSet<u32> = BTreeSet::from([1, 0xd800, 0xe000, 0x11_0000]);
        let mut literal: BTreeSet<char> = BTreeSet::from(['.']);
        for node in &self.nodes {
            if let Some((Token::Char(c), _)) = &node.step {
                literal.insert(*c);
            }
        }
        let ends = |first: char, last: char| [u32::from(first), u32::from(last) + 1];
        cuts.extend(literal.iter().chain(&['/']).flat_map(|c| ends(*c, *c)));
        cuts.extend(self.classes.iter().flat_map(|c| &c.ranges).flat_map(|(first, last)| ends(*first, *last)));
        let cuts: Vec<u32> = cuts.into_iter().filter(|c| *c > 0).collect();
        // Letters that no literal names and that the same classes hold are one, under its best name.
        let mut families: BTreeMap<Vec<bool>, (Vec<Letter>, Option<Letter>)> = BTreeMap::new();
        let mut add = |held: Vec<bool>, letter: Letter, is_literal: bool| {
            let (named, other) = families.entry(held).or_default();
            if is_literal {
                named.push(letter);
            } else if other.is_none_or(|o| letter.cost < o.cost) {
                *other = Some(letter);
            }
        };
        let held = |c: Option<char>| self.classes.iter().map(|class| class.contains(c)).collect::<Vec<_>>();
        for (from, to) in cuts.iter().zip(cuts.iter().skip(1)) {
            let Some(c) = best(*from, *to).filter(|c| *c != '/') else { continue };
            add(held(Some(c)), Letter { shown: Some(c), cost: cost(c) }, literal.contains(&c));
        }
        add(held(None), Letter { shown: None, cost: STRAY }, false);
        let family = |(held, (mut named, other)): (Vec<bool>, (Vec<Letter>, Option<Letter>))| {
            named.extend(other);
            named.sort_by_key(|l| (l.cost, l.shown));
            (held, named)
        };
        families.into_iter().map(family).collect()
    }

    fn node(&self, index: u32) -> Option<&Node> {
        usize::try_from(index).ok().and_then(|i| self.nodes.get(i))
    }
}

/// A segment of a glob, character by character.
enum Piece<'a> {
    Any,
    One(Vec<Letters<'a>>),
}

enum Letters<'a> {
    Star,
    One,
    Char(char),
    Class(&'a Class),
}

fn segments(pattern: &Pattern) -> Vec<Piece<'_>> {
    let prefix = pattern.prefix.split(|b| *b == b'/').filter(|name| !name.is_empty());
    let mut list: Vec<Piece> = prefix.map(|name| Piece::One(literal(name))).collect();
    list.extend(pattern.rest.iter().map(|segment| match segment {
        Segment::Any => Piece::Any,
        Segment::Literal(name) => Piece::One(literal(name)),
        Segment::Wild(parts) => {
            let mut letters = Vec::new();
            for part in parts {
                match part {
                    Part::Star => letters.push(Letters::Star),
                    Part::One => letters.push(Letters::One),
                    Part::Class(class) => letters.push(Letters::Class(class)),
                    Part::Text(text) => letters.extend(literal(text)),
                }
            }
            Piece::One(letters)
        }
    }));
    list
}

/// The characters of a name, which stands in a contract and is therefore UTF-8.
fn literal(name: &[u8]) -> Vec<Letters<'static>> {
    let mut letters = Vec::new();
    let mut rest = name;
    while let Some((c, behind)) = super::pattern::first_char(rest) {
        letters.push(c.map_or(Letters::One, Letters::Char));
        rest = behind;
    }
    letters
}

const STRAY: u64 = 40;

/// How bad a character is to read in a path.
fn cost(c: char) -> u64 {
    match c {
        'a' => 4,
        'b'..='z' => 5,
        'A'..='Z' | '0'..='9' | '_' | '-' | '.' => 6,
        ' ' | '"' | '\'' | '\\' => 20,
        c if c.is_ascii_graphic() => 10,
        c if c.is_alphanumeric() => 14,
        c if c.is_ascii_control() => 35,
        _ => 25,
    }
}

/// The character of a range that is best to read.
fn best(from: u32, to: u32) -> Option<char> {
    let ascii = (from..to.min(0x80)).filter_map(char::from_u32).min_by_key(|c| (cost(*c), *c));
    ascii.or_else(|| (from..to).take(0x400).filter_map(char::from_u32).min_by_key(|c| (cost(*c), *c)))
}

/// Where in a segment a path stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    /// At its beginning.
    Start,
    /// Behind `.`.
    Dot,
    /// Behind `..`.
    DotDot,
    /// In a name that no path forbids.
    Name,
}

type State = (Spot, Vec<u32>);

/// How a state was reached first: from where, by which letter (`/` for none).
struct Reached {
    from: Option<(usize, Option<Letter>)>,
    state: State,
}

const SLASH: u64 = 7;
/// A name that begins with a dot is found last among equals.
const HIDDEN: u64 = 20;

fn explore(machine: &Machine, sets: &[Set], globs: usize, limits: &Limits) -> Option<Vec<Atom>> {
    let start: State = (Spot::Start, machine.start.clone());
    let mut numbers: BTreeMap<State, usize> = BTreeMap::from([(start.clone(), 0)]);
    let mut reached = vec![Reached { from: None, state: start }];
    let mut costs = vec![0_u64];
    let mut heap = BinaryHeap::from([Reverse((0_u64, 0_usize))]);
    let mut known: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    let mut atoms = Vec::new();
    while let Some(Reverse((cost, number))) = heap.pop() {
        if costs.get(number).is_none_or(|least| cost > *least) {
            continue;
        }
        let Some((spot, nodes)) = reached.get(number).map(|r| r.state.clone()) else { continue };
        if spot == Spot::Name {
            let mut accepted = vec![false; globs];
            for glob in nodes.iter().filter_map(|n| machine.node(*n)?.accepts) {
                if let Some(slot) = accepted.get_mut(glob) {
                    *slot = true;
                }
            }
            let inside: Vec<bool> = sets.iter().map(|set| set.holds(&accepted)).collect();
            if let std::collections::btree_map::Entry::Vacant(slot) = known.entry(inside.clone()) {
                if atoms.len() == limits.atoms {
                    return None;
                }
                slot.insert(atoms.len());
                atoms.push(Atom { inside, example: path(&reached, number)? });
            }
        }
        for (letter, next, more) in successors(machine, spot, &nodes) {
            let total = cost + more;
            let target = match numbers.get(&next) {
                Some(target) => *target,
                None if reached.len() == limits.states => return None,
                None => {
                    numbers.insert(next.clone(), reached.len());
                    reached.push(Reached { from: None, state: next });
                    costs.push(u64::MAX);
                    reached.len() - 1
                }
            };
            if let (Some(least), Some(entry)) = (costs.get_mut(target), reached.get_mut(target))
                && total < *least
            {
                *least = total;
                entry.from = Some((number, letter));
                heap.push(Reverse((total, target)));
            }
        }
    }
    Some(atoms)
}

/// The states that follow, each with the letter that leads there and what it costs. Letters that lead to the same are one.
fn successors(machine: &Machine, spot: Spot, nodes: &[u32]) -> Vec<(Option<Letter>, State, u64)> {
    let mut found = Vec::new();
    let live = || nodes.iter().filter_map(|n| machine.node(*n));
    if spot == Spot::Name {
        let next = sorted(live().flat_map(|node| node.slash.iter().copied()).collect());
        found.push((None, (Spot::Start, next), SLASH));
    }
    let mut named: BTreeSet<char> =
        live().filter_map(|n| if let Some((Token::Char(c), _)) = &n.step { Some(*c) } else { None }).collect();
    if spot != Spot::Name {
        named.insert('.');
    }
    for (held, letters) in &machine.families {
        let mut other = false;
        for letter in letters {
            let is_named = letter.shown.is_some_and(|c| named.contains(&c));
            // Of the letters that nothing here names, the first stands for all.
            if !is_named && std::mem::replace(&mut other, true) {
                continue;
            }
            let takes = |token: &Token| match token {
                Token::Any => true,
                Token::Char(c) => letter.shown == Some(*c),
                Token::Class(class) => held.get(*class).copied().unwrap_or(false),
            };
            let next = live().filter_map(|n| n.step.as_ref()).filter(|(token, _)| takes(token));
            let next = sorted(next.flat_map(|(_, to)| to.iter().copied()).collect());
            let (to, more) = match (spot, letter.shown) {
                (Spot::Start, Some('.')) => (Spot::Dot, HIDDEN),
                (Spot::Start, Some('-' | '@')) => (Spot::Name, HIDDEN),
                (Spot::Dot, Some('.')) => (Spot::DotDot, HIDDEN),
                _ => (Spot::Name, 0),
            };
            found.push((Some(*letter), (to, next), letter.cost + more));
        }
    }
    found
}

fn sorted(mut nodes: Vec<u32>) -> Vec<u32> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The path that leads to a state.
fn path(reached: &[Reached], mut number: usize) -> Option<RepoPath> {
    let mut letters = Vec::new();
    while let Some((from, letter)) = reached.get(number)?.from {
        letters.push(letter);
        number = from;
    }
    let mut bytes = Vec::new();
    for letter in letters.into_iter().rev() {
        match letter {
            None => bytes.push(b'/'),
            Some(Letter { shown: None, .. }) => bytes.push(0xff),
            Some(Letter { shown: Some(c), .. }) => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    RepoPath::from_exact(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(items: &[&str]) -> Selection {
        let item = |text: &&str| {
            let (not, text) = text.strip_prefix('!').map_or((false, *text), |text| (true, text));
            Item { not, what: What::Glob(Glob::parse(text).unwrap()) }
        };
        Selection { items: items.iter().map(item).collect() }
    }

    /// The atoms of two selections: whether there are paths in both, in the first alone, in the second alone, in none, and
    /// an example of each.
    fn compared(a: &[&str], b: &[&str]) -> [Option<String>; 4] {
        let (a, b) = (selection(a), selection(b));
        let found = atoms(&[Region::Selected(&a), Region::Selected(&b)], &Limits::default()).unwrap();
        for atom in &found {
            assert_eq!(atom.inside, [a.selects(&atom.example), b.selects(&atom.example)], "{}", atom.example);
        }
        [[true, true], [true, false], [false, true], [false, false]]
            .map(|inside| found.iter().find(|atom| atom.inside == inside).map(|atom| atom.example.to_string()))
    }

    #[test]
    fn what_two_selections_share() {
        let some = |text: &str| Some(text.to_owned());
        for (a, b, want) in [
            (&["src/**"][..], &["src/**"][..], [some("src"), None, None, some("a")]),
            (&["src/**"], &["src/**", "!**/*.md"], [some("src"), some("src/a.md"), None, some("a")]),
            (&["**"], &["a/**", "!a/**"], [None, some("a"), None, None]),
            (&["**/*"], &["**"], [some("a"), None, None, None]),
            (&["*"], &["?*"], [some("a"), None, None, some("a/a")]),
            (&["{a,b}/c"], &["a/c", "b/c"], [some("a/c"), None, None, some("a")]),
            (&["[ab]"], &["[!a]"], [some("b"), some("a"), some("c"), some("aa")]),
            (&["x[!a]"], &["x[b-é]"], [some("xb"), some("x-"), None, some("a")]),
            (&["*.ts"], &["*.test.ts"], [some("a.test.ts"), some("a.ts"), None, some("a")]),
            (&["a/**/b"], &["a/b", "a/*/**/b"], [some("a/b"), None, None, some("a")]),
            (&["?"], &["[\u{0}-\u{10ffff}]"], [some("a"), some("\\xff"), None, some("aa")]),
        ] {
            assert_eq!(compared(a, b), want, "{a:?} {b:?}");
        }
    }

    #[test]
    fn only_names_that_paths_have() {
        // `.`, `..` and empty names are nobody's; `??` minus `..` is not empty, `.` minus everything is.
        let dots = compared(&["[.]"], &["**"]);
        assert_eq!(dots[0], None);
        let two = compared(&["[.][.]", "[.]?"], &["[.][!.]"]);
        assert_eq!(two[1], None, "`..` is no path");
        assert!(two[0].is_some());
    }

    #[test]
    fn items_and_directories() {
        let list = selection(&["src/**", "lib/**", "!**/*.md"]);
        let dir = RepoPath::parse(b"src/[a]").unwrap();
        let regions = [Region::Item(&list, 0), Region::Item(&list, 1), Region::Below(&dir), Region::Selected(&list)];
        let found = atoms(&regions, &Limits::default()).unwrap();
        for atom in &found {
            let want: Vec<bool> = regions.iter().map(|r| r.holds(&atom.example)).collect();
            assert_eq!(atom.inside, want, "{}", atom.example);
        }
        let shown: Vec<String> = found.iter().map(|a| a.example.to_string()).collect();
        assert_eq!(shown, ["a", "lib", "src", "src/[a]/a", "src/[a]/a.md"]);
    }

    #[test]
    fn limits_are_kept() {
        // Which of the last twenty characters are `a`: a million states.
        let text = format!("*a{}", "?".repeat(20));
        let hard = selection(&[&text]);
        assert_eq!(atoms(&[Region::Selected(&hard)], &Limits::default()), None);
        let few = Limits { atoms: 1, ..Limits::default() };
        assert_eq!(atoms(&[Region::Selected(&selection(&["a"]))], &few), None);
        let small = Limits { nodes: 3, ..Limits::default() };
        assert_eq!(atoms(&[Region::Selected(&selection(&["abcdef"]))], &small), None);
    }
}
