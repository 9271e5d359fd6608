//! What does a glob select? Try every way to fit it, one character at a time.

use vplan::base::glob::{Item, ItemContent, Selection};

/// One sign of a glob.
#[derive(Clone, Debug, PartialEq)]
enum Sign {
    /// `*`
    Star,
    /// `?`
    One,
    /// `[…]`: whether it is negated, and from where to where it goes.
    Class(bool, Vec<(char, char)>),
    /// Itself, or behind a `\`.
    Plain(char),
    /// `/`
    Slash,
    /// `{`
    Open,
    /// `,` within braces.
    Comma,
    /// `}`
    Close,
}

/// What of a name is one character; none is a byte that is no part of one.
type Letter = Option<char>;

/// Whether a glob, which must be right, selects a path.
pub fn selects(glob: &str, path: &[u8]) -> bool {
    let names: Vec<Vec<Letter>> = path.split(|b| *b == b'/').map(letters).collect();
    spread(&read(glob)).iter().any(|signs| {
        let mut segments: Vec<&[Sign]> = signs.split(|s| *s == Sign::Slash).collect();
        let everything = [Sign::Star, Sign::Star];
        // `dir/` is `dir/**`.
        if let [_, .., last] = segments.as_mut_slice()
            && last.is_empty()
        {
            *last = &everything;
        }
        !signs.is_empty() && path_fits(&segments, &names)
    })
}

/// Whether a list selects a path: some item does, and none that excludes.
pub fn is_selected(list: &Selection, path: &[u8]) -> bool {
    let positive = list
        .items
        .iter()
        .filter(|i| !i.not)
        .any(|i| item_selects(i, path));
    positive
        && !list
            .items
            .iter()
            .filter(|i| i.not)
            .any(|i| item_selects(i, path))
}

/// Whether the glob or the named list of an item selects a path, whatever the item does with it.
pub fn item_selects(item: &Item, path: &[u8]) -> bool {
    match &item.what {
        ItemContent::Glob(glob) => selects(glob.text(), path),
        ItemContent::Paths { items, .. } => is_selected(items, path),
    }
}

/// Whether there is a path that both select: all are tried that are made from the names in both,
/// each star filled or not. Good for globs of which one alone has a star in a segment.
pub fn may_meet(one: &str, other: &str) -> bool {
    let mut names: Vec<String> = Vec::new();
    let mut most = 0;
    for signs in [one, other]
        .into_iter()
        .flat_map(|glob| spread(&read(glob)))
    {
        most = most.max(signs.split(|s| *s == Sign::Slash).count() + 1);
        for segment in signs.split(|s| *s == Sign::Slash) {
            for fill in ["", "z"] {
                let name = segment.iter().map(|sign| match sign {
                    Sign::Plain(c) => c.to_string(),
                    Sign::Class(false, ranges) => ranges[0].0.to_string(),
                    Sign::One | Sign::Class(true, _) => "z".to_owned(),
                    _ => fill.to_owned(),
                });
                names.push(name.collect());
            }
        }
    }
    names.retain(|n| !n.is_empty());
    names.sort();
    names.dedup();
    let mut paths: Vec<String> = names.clone();
    for _ in 1..=most.min(3) {
        if paths
            .iter()
            .any(|p| selects(one, p.as_bytes()) && selects(other, p.as_bytes()))
        {
            return true;
        }
        paths = paths
            .iter()
            .flat_map(|p| names.iter().map(move |n| format!("{p}/{n}")))
            .collect();
    }
    false
}

fn letters(name: &[u8]) -> Vec<Letter> {
    let mut all = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        // The shortest beginning that is a character, or else one byte that is none.
        let whole =
            (1..=rest.len().min(4)).find_map(|n| Some((n, std::str::from_utf8(&rest[..n]).ok()?)));
        all.push(whole.and_then(|(_, text)| text.chars().next()));
        rest = &rest[whole.map_or(1, |(n, _)| n)..];
    }
    all
}

fn read(glob: &str) -> Vec<Sign> {
    let mut signs = Vec::new();
    let mut chars = glob.chars().peekable();
    let mut depth = 0;
    while let Some(c) = chars.next() {
        signs.push(match c {
            '*' => Sign::Star,
            '?' => Sign::One,
            '/' => Sign::Slash,
            '\\' => Sign::Plain(chars.next().unwrap()),
            '{' => {
                depth += 1;
                Sign::Open
            }
            ',' if depth > 0 => Sign::Comma,
            '}' => {
                depth -= 1;
                Sign::Close
            }
            '[' => {
                let negated = chars.next_if(|c| matches!(c, '!' | '^')).is_some();
                // Each member, and whether it stands for itself whatever is around it.
                let mut members: Vec<(char, bool)> = Vec::new();
                loop {
                    match chars.next().unwrap() {
                        ']' if !members.is_empty() => break,
                        '\\' => members.push((chars.next().unwrap(), true)),
                        c => members.push((c, c != '-')),
                    }
                }
                let mut ranges = Vec::new();
                let mut rest = members.as_slice();
                while let [(first, _), behind @ ..] = rest {
                    rest = match behind {
                        [('-', false), (last, _), behind @ ..] => {
                            ranges.push((*first, *last));
                            behind
                        }
                        _ => {
                            ranges.push((*first, *first));
                            behind
                        }
                    };
                }
                Sign::Class(negated, ranges)
            }
            c => Sign::Plain(c),
        });
    }
    signs
}

/// All globs without braces that one with braces stands for.
fn spread(signs: &[Sign]) -> Vec<Vec<Sign>> {
    let Some(open) = signs.iter().position(|s| *s == Sign::Open) else {
        return vec![signs.to_vec()];
    };
    let mut parts: Vec<Vec<Sign>> = vec![Vec::new()];
    let mut depth = 1;
    let mut at = open + 1;
    while depth > 0 {
        match &signs[at] {
            Sign::Comma if depth == 1 => parts.push(Vec::new()),
            sign => {
                depth += match sign {
                    Sign::Open => 1,
                    Sign::Close => -1,
                    _ => 0,
                };
                if depth > 0 {
                    parts.last_mut().unwrap().push(sign.clone());
                }
            }
        }
        at += 1;
    }
    parts
        .iter()
        .flat_map(|part| spread(&[&signs[..open], part, &signs[at..]].concat()))
        .collect()
}

fn path_fits(segments: &[&[Sign]], names: &[Vec<Letter>]) -> bool {
    match (segments, names) {
        ([], names) => names.is_empty(),
        ([[Sign::Star, Sign::Star], rest @ ..], names) => {
            path_fits(rest, names)
                || names
                    .split_first()
                    .is_some_and(|(_, behind)| path_fits(segments, behind))
        }
        ([segment, rest @ ..], [name, behind @ ..]) => {
            name_fits(segment, name) && path_fits(rest, behind)
        }
        ([_, ..], []) => false,
    }
}

fn name_fits(segment: &[Sign], name: &[Letter]) -> bool {
    match (segment, name) {
        ([], name) => name.is_empty(),
        ([Sign::Star, rest @ ..], name) => {
            name_fits(rest, name)
                || name
                    .split_first()
                    .is_some_and(|(_, behind)| name_fits(segment, behind))
        }
        ([sign, rest @ ..], [letter, behind @ ..]) => {
            letter_fits(sign, *letter) && name_fits(rest, behind)
        }
        ([_, ..], []) => false,
    }
}

fn letter_fits(sign: &Sign, letter: Letter) -> bool {
    match sign {
        Sign::One => true,
        Sign::Class(negated, ranges) => {
            letter.is_some_and(|c| ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)))
                != *negated
        }
        Sign::Plain(c) => letter == Some(*c),
        _ => false,
    }
}
