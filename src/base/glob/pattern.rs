//! Matches a path against one alternative of a glob, in time at most proportional to the product of
//! their lengths.

use std::sync::Arc;

/// One alternative of a glob, its braces expanded: literal segments, then any others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// The literal segments at the beginning, joined by `/`. Empty if the first segment is not
    /// literal.
    pub(crate) prefix: Box<[u8]>,
    /// The segments after the prefix; the first of them is not literal, no two `**` are adjacent.
    pub(crate) rest: Box<[Segment]>,
}

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// `**`: any number of segments, including none.
    Any,
    /// Exactly this name.
    Literal(Box<[u8]>),
    /// One segment that fits these parts.
    Wild(Box<[Part]>),
}

/// A part of a segment. No two stars and no two texts are adjacent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// `*`: any number of characters.
    Star,
    /// `?`: one character.
    One,
    /// `[…]`: one character of a set.
    Class(Arc<Class>),
    /// These bytes, a whole number of characters.
    Text(Box<[u8]>),
}

/// A set of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    /// Whether it contains all characters except those of `ranges`.
    pub(crate) negated: bool,
    /// First and last character of each range.
    pub(crate) ranges: Vec<(char, char)>,
}

impl Class {
    /// Whether the set contains a character. `None` is a stray byte, which only a negated set
    /// contains.
    pub(super) fn contains(&self, c: Option<char>) -> bool {
        c.is_some_and(|c| {
            self.ranges
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&c))
        }) != self.negated
    }
}

impl Pattern {
    /// Whether the whole path matches.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        if self.prefix.is_empty() {
            return self.matches_below(Some(path));
        }
        match path.strip_prefix(&*self.prefix) {
            Some([]) => self.matches_below(None),
            Some([b'/', below @ ..]) => self.matches_below(Some(below)),
            _ => false,
        }
    }

    /// Whether some path below a directory, which is not the root, may match.
    pub(crate) fn may_match_below(&self, dir: &[u8]) -> bool {
        let below = if self.prefix.is_empty() {
            dir
        } else if *dir == *self.prefix {
            return !self.rest.is_empty();
        } else if let Some(below) = dir
            .strip_prefix(&*self.prefix)
            .and_then(|d| d.strip_prefix(b"/"))
        {
            below
        } else {
            return self
                .prefix
                .strip_prefix(dir)
                .is_some_and(|p| p.starts_with(b"/"));
        };
        // The rest of the pattern after the directory's segments: every possible one, if there is a
        // choice.
        let mut left: Vec<&[Segment]> = vec![&*self.rest];
        for name in below.split(|b| *b == b'/') {
            let mut next: Vec<&[Segment]> = Vec::new();
            for pattern in left {
                match pattern {
                    // Paths below may be of any depth.
                    [Segment::Any, ..] => return true,
                    [segment, after @ ..] if segment.matches(name) => next.push(after),
                    _ => {}
                }
            }
            left = next;
        }
        left.iter().any(|pattern| !pattern.is_empty())
    }

    /// Whether every path below a directory matches; errs towards no.
    pub(crate) fn matches_all_below(&self, dir: &[u8]) -> bool {
        matches!(&*self.rest, [.., Segment::Any]) && self.matches(dir)
    }

    /// Whether the part of a path after the prefix matches the rest of the pattern; `None` if no
    /// part is left.
    ///
    /// A mismatch returns to the last `**` only: it can match everything that an earlier one could.
    /// So each segment of the path is compared with each segment of the pattern at most once.
    pub(crate) fn matches_below(&self, path: Option<&[u8]>) -> bool {
        let (mut pattern, mut path) = (&*self.rest, path);
        let mut retry: Option<(&[Segment], &[u8])> = None;
        loop {
            match (pattern, path) {
                ([], None) | ([Segment::Any], _) => return true,
                ([Segment::Any, last], Some(path)) if *last != Segment::Any => {
                    return last.matches(name(path));
                }
                ([Segment::Any, after @ ..], Some(from)) => {
                    retry = Some((after, from));
                    pattern = after;
                    continue;
                }
                ([segment, after @ ..], Some(from)) => {
                    let (name, below) = split(from);
                    if segment.matches(name) {
                        (pattern, path) = (after, below);
                        continue;
                    }
                }
                _ => {}
            }
            let Some((after, from)) = retry else {
                return false;
            };
            let (_, Some(below)) = split(from) else {
                return false;
            };
            retry = Some((after, below));
            (pattern, path) = (after, Some(below));
        }
    }
}

impl Segment {
    /// Whether a name matches. `**` matches every name here; the pattern handles that it spans
    /// several.
    fn matches(&self, name: &[u8]) -> bool {
        match self {
            Segment::Any => true,
            Segment::Literal(text) => **text == *name,
            Segment::Wild(parts) => matches_name(parts, name),
        }
    }
}

/// Matches a name, going back to the last star only, for the same reason as above.
fn matches_name(parts: &[Part], name: &[u8]) -> bool {
    let (mut parts, mut name) = (parts, name);
    let mut retry: Option<(&[Part], &[u8])> = None;
    loop {
        match parts {
            [] if name.is_empty() => return true,
            [Part::Star] => return true,
            [Part::Star, Part::Text(tail)] => return name.ends_with(tail),
            [Part::Star, after @ ..] => {
                retry = Some((after, name));
                parts = after;
                continue;
            }
            [part, after @ ..] => {
                if let Some(left) = part.strip(name) {
                    (parts, name) = (after, left);
                    continue;
                }
            }
            [] => {}
        }
        // A star takes whole characters: otherwise a class could match the second byte as an
        // invalid one.
        let Some((after, from)) = retry else {
            return false;
        };
        let Some((_, left)) = first_char(from) else {
            return false;
        };
        retry = Some((after, left));
        (parts, name) = (after, left);
    }
}

impl Part {
    /// Returns the rest of a name after this part, which is not a star.
    fn strip<'a>(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Part::Star => Some(name),
            Part::One => Some(first_char(name)?.1),
            Part::Class(class) => {
                let (c, left) = first_char(name)?;
                class.contains(c).then_some(left)
            }
            Part::Text(text) => name.strip_prefix(&**text),
        }
    }
}

/// Splits off the first character; a byte that begins no valid one counts as one (`None`).
pub(super) fn first_char(name: &[u8]) -> Option<(Option<char>, &[u8])> {
    let (first, behind) = name.split_first()?;
    let length = match first {
        0..0x80 => return Some((Some(char::from(*first)), behind)),
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return Some((None, behind)),
    };
    let valid = name.split_at_checked(length).and_then(|(head, left)| {
        let c = std::str::from_utf8(head).ok()?.chars().next()?;
        Some((Some(c), left))
    });
    valid.or(Some((None, behind)))
}

/// Returns the first segment, and the text after its `/`.
fn split(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    let end = path.iter().position(|b| *b == b'/').unwrap_or(path.len());
    match path.split_at_checked(end) {
        Some((name, [_, below @ ..])) => (name, Some(below)),
        _ => (path, None),
    }
}

/// Returns the last segment.
fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}
