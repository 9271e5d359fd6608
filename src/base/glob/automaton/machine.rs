//! Compiles a glob to an automaton that reads a path character by character.

use crate::glob::Glob;
use crate::glob::pattern::{Class, Part, Pattern, Segment, first_char};
use crate::index::{Dense, Index as _};
use crate::path::RepoPath;

crate::index!(
    GlobIndex,
    "glob of an automaton",
    "Number of a glob in an automaton of several."
);
crate::index!(
    ClassIndex,
    "class of an automaton",
    "Position of a class of characters in its automaton."
);
crate::index!(
    NodeIndex,
    "state of an automaton",
    "Position of a state in its automaton."
);

/// A condition on one character of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::glob) enum Token {
    Any,
    Char(char),
    Class(ClassIndex),
}

/// A state of an automaton: a place in the text of a glob.
#[derive(Clone, Debug)]
pub(in crate::glob) struct Node {
    /// The character accepted here, and the states that follow it.
    pub step: Option<(Token, Vec<NodeIndex>)>,
    /// The states that follow a `/`.
    pub slash: Vec<NodeIndex>,
    /// The glob, when a path that ends here is selected.
    pub accepts: Option<GlobIndex>,
    /// The glob that the state belongs to.
    pub glob: GlobIndex,
    /// Whether every continuation of the path is selected: the state is in the `**` at a glob's
    /// end.
    pub forever: bool,
}

/// Some globs as one automaton.
#[derive(Clone, Debug, Default)]
pub(in crate::glob) struct Machine<'a> {
    pub nodes: Dense<NodeIndex, Node>,
    pub start: Vec<NodeIndex>,
    pub classes: Dense<ClassIndex, &'a Class>,
}

impl<'a> Machine<'a> {
    /// Compiles one alternative of a glob, whose size is limited by that of a glob.
    pub fn compile(pattern: &'a Pattern) -> Self {
        let mut machine = Self::default();
        let _ = machine.add(pieces(pattern), GlobIndex::new(0), usize::MAX);
        machine.finish();
        machine
    }

    /// Adds a glob under a number. `None` when there are `most` nodes.
    pub(crate) fn add_glob(
        &mut self,
        glob: &'a Glob,
        number: GlobIndex,
        most: usize,
    ) -> Option<()> {
        glob.alternatives()
            .iter()
            .try_for_each(|pattern| self.add(pieces(pattern), number, most))
    }

    /// Adds the nodes for paths below a directory.
    pub(crate) fn add_below(
        &mut self,
        dir: &'a RepoPath,
        number: GlobIndex,
        most: usize,
    ) -> Option<()> {
        let mut list: Vec<Piece> = dir
            .segments()
            .map(|name| Piece::One(literal(name)))
            .collect();
        list.extend([Piece::Any, Piece::One(vec![Letters::Star])]);
        self.add(list, number, most)
    }

    /// Completes the machine once everything was added.
    pub fn finish(&mut self) {
        self.start.sort_unstable();
        self.start.dedup();
    }

    /// Adds an automaton for one alternative, from its end to its beginning, so that the following
    /// states are known.
    fn add(&mut self, pieces: Vec<Piece<'a>>, glob: GlobIndex, most: usize) -> Option<()> {
        // The states at which the next segment begins, and whether a path may end before it.
        let mut behind: Vec<NodeIndex> = Vec::new();
        let mut may_end = true;
        for piece in pieces.into_iter().rev() {
            let mut entry = match piece {
                Piece::Any => {
                    let this = self.next(most)?;
                    let mut again = vec![this];
                    again.extend(&behind);
                    let accepts = may_end.then_some(glob);
                    let (step, slash) = (Some((Token::Any, vec![this])), again.clone());
                    self.nodes.push(Node {
                        step,
                        slash,
                        accepts,
                        glob,
                        forever: behind.is_empty(),
                    });
                    // A `**` can take no segment at all: a path may end before it if it may end
                    // after it.
                    again
                }
                Piece::One(letters) => {
                    let end = self.next(most)?;
                    let accepts = may_end.then_some(glob);
                    self.nodes.push(Node {
                        step: None,
                        slash: behind,
                        accepts,
                        glob,
                        forever: false,
                    });
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
                            Letters::Class(class) => {
                                (Token::Class(self.class(class)), entry, vec![this])
                            }
                        };
                        let step = Some((token, to));
                        self.nodes.push(Node {
                            step,
                            slash: Vec::new(),
                            accepts: None,
                            glob,
                            forever: false,
                        });
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

    fn next(&self, most: usize) -> Option<NodeIndex> {
        let next = self.nodes.len();
        (next < most).then(|| NodeIndex::new(next))
    }

    fn class(&mut self, class: &'a Class) -> ClassIndex {
        let known = self.classes.numbered().find(|(_, known)| **known == class);
        known
            .map(|(index, _)| index)
            .unwrap_or_else(|| self.classes.push(class))
    }
}

/// A segment of a glob, character by character.
pub(in crate::glob) enum Piece<'a> {
    Any,
    One(Vec<Letters<'a>>),
}

pub(in crate::glob) enum Letters<'a> {
    Star,
    One,
    Char(char),
    Class(&'a Class),
}

/// Splits one alternative of a glob into segments.
pub(in crate::glob) fn pieces(pattern: &Pattern) -> Vec<Piece<'_>> {
    let prefix = pattern
        .prefix
        .split(|b| *b == b'/')
        .filter(|name| !name.is_empty());
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

/// Returns the characters of a name, which comes from a contract and is therefore UTF-8.
fn literal(name: &[u8]) -> Vec<Letters<'static>> {
    let mut letters = Vec::new();
    let mut rest = name;
    while let Some((c, behind)) = first_char(rest) {
        letters.push(c.map_or(Letters::One, Letters::Char));
        rest = behind;
    }
    letters
}
