//! Generates globs, paths and selections, and decides the right answer: strategies, a reference
//! matcher that shares nothing with the real one, and the oracle for the property tests and the
//! fuzz target.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, Select, select};
use std::collections::BTreeSet;
use std::sync::Arc;
use vplan_base::change::ChangeSet;
use vplan_base::glob::{Glob, Item, ItemContent, Selection};
use vplan_base::matching::{Hits, SHOWN, Selected, match_all};
use vplan_base::path::RepoPath;

/// Names for paths and globs: few, so that they match often; including characters with a meaning in
/// globs.
const NAMES: &str =
    "a | b | ab | src | web | .env | a.rs | x.test.ts | é | 日本 | a*b | [id] | {x}y | ba.rs";

/// Pieces of segments, as written in a glob.
const PARTS: &str =
    "a | b | ab | .rs | .ts | . | é | * | * | ? | [ab] | [!a] | [^é-日] | [a-c.] | \\* | []!]";

/// One of these, which ` | ` separates.
pub fn among(list: &'static str) -> Select<&'static str> {
    select(list.split(" | ").collect::<Vec<_>>())
}

/// The text of one segment of a glob.
fn segment() -> impl Strategy<Value = String> {
    let literal = among(NAMES).prop_map(escape);
    let wild = vec(among(PARTS), 1..5).prop_map(|parts| parts.concat());
    let braces = vec(select(&["", "a", "b*", ".rs", "{a,b}"]), 1..4)
        .prop_map(|parts| format!("a{{{}}}", parts.join(",")));
    prop_oneof![3 => literal, 3 => wild, 3 => Just("**".to_owned()), 1 => braces]
}

/// Texts of globs; most are right.
pub fn glob_text() -> impl Strategy<Value = String> {
    let plain = vec(segment(), 1..6)
        .prop_map(|segments| segments.join("/"))
        .boxed();
    let directory = plain.clone().prop_map(|text| format!("{text}/"));
    let braces = vec(plain.clone(), 1..4).prop_map(|texts| format!("{{{}}}", texts.join(",")));
    let middle = (plain.clone(), vec(segment(), 1..3), plain.clone())
        .prop_map(|(head, middle, tail)| format!("{head}/{{{}}}/{tail}", middle.join(",")));
    prop_oneof![8 => plain, 1 => directory, 1 => braces, 1 => middle]
}

/// Globs.
pub fn glob() -> impl Strategy<Value = Glob> {
    glob_text().prop_filter_map("no glob", |text| Glob::parse(&text).ok())
}

/// Returns the glob that matches exactly this text.
pub fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if "*?[]{}!\\".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Paths of the names that globs are made of, and some of arbitrary bytes.
pub fn path() -> impl Strategy<Value = RepoPath> {
    let name = prop_oneof![
        6 => among(NAMES).prop_map(|name| name.as_bytes().to_vec()),
        2 => vec(select(&b"ab.rs\xc3\xa9\xe6"[..]), 1..6),
        1 => vec(1_u8.., 1..8),
    ];
    vec(name, 1..6).prop_filter_map("no path", |names| RepoPath::from_exact(&names.join(&b'/')))
}

/// A glob and a path made from it: a hit most of the time, else a near miss.
pub fn glob_and_path() -> impl Strategy<Value = (Glob, RepoPath)> {
    (glob(), vec(any::<u8>(), 0..48)).prop_filter_map("no path", |(glob, choices)| {
        let path = derive(glob.text(), &choices)?;
        Some((glob, path))
    })
}

/// Selections of globs, with named ones among them that are shared.
pub fn selections() -> impl Strategy<Value = Vec<Selection>> {
    let list = |named: usize| {
        let (not, by_name) = (prop::bool::weighted(0.3), prop::bool::weighted(0.2));
        vec((not, any::<Index>(), by_name, 0..=named), 1..5)
    };
    (vec(glob(), 1..8), vec(list(0), 1..4), vec(list(2), 1..8)).prop_map(|(globs, named, lists)| {
        let mut shared: Vec<Arc<Selection>> = Vec::new();
        for list in named {
            let selection = selection(&list, &globs, &shared);
            shared.push(Arc::new(selection));
        }
        let lists = lists.iter();
        lists.map(|list| selection(list, &globs, &shared)).collect()
    })
}

/// An item before its names are known: whether it excludes, which glob, whether it is a named
/// selection instead, which.
type RawItem = (bool, Index, bool, usize);

fn selection(list: &[RawItem], globs: &[Glob], named: &[Arc<Selection>]) -> Selection {
    let items = list.iter().enumerate();
    let items = items.map(|(i, (not, glob, by_name, name))| Item {
        // The first item is positive: a list with only exclusions is not a selection.
        not: *not && i > 0,
        what: match named.get(*name) {
            Some(items) if *by_name => ItemContent::Paths {
                items: items.clone(),
                name: format!("n{name}"),
            },
            _ => ItemContent::Glob(glob.get(globs).clone()),
        },
    });
    Selection {
        items: items.collect(),
    }
}

/// Sets of changed files, where the given globs select many.
pub fn changes_like(globs: Vec<Glob>) -> impl Strategy<Value = ChangeSet> {
    let near = (any::<Index>(), vec(any::<u8>(), 0..32));
    let near = near.prop_filter_map("no path", move |(index, choices)| {
        let glob = (!globs.is_empty()).then(|| index.get(&globs))?;
        derive(glob.text(), &choices)
    });
    vec(prop_oneof![3 => near, 1 => path()], 0..150).prop_map(change_set)
}

/// A set of modified files.
pub fn change_set(paths: Vec<RepoPath>) -> ChangeSet {
    ChangeSet::modified(&paths)
}

/// All globs of some selections.
pub fn globs_of<'s>(selections: impl IntoIterator<Item = &'s Selection>) -> Vec<Glob> {
    let mut globs = Vec::new();
    let items = selections.into_iter().flat_map(|s| &s.items);
    for item in items {
        match &item.what {
            ItemContent::Glob(glob) => globs.push(glob.clone()),
            ItemContent::Paths { items, .. } => globs.extend(globs_of([&**items])),
        }
    }
    globs
}

// ---- the reference
// -------------------------------------------------------------------------------------------------

/// A condition on the character at one position of a segment, in the reference.
#[derive(Clone, Debug)]
enum Ask {
    Star,
    Any,
    Set(bool, Vec<(char, char)>),
    Char(char),
}

/// Whether a valid glob selects a path, decided directly by the language's definition: expand the
/// braces of the text, split at the slashes, follow all paths at once.
pub fn reference(glob: &str, path: &[u8]) -> bool {
    let names: Vec<Vec<Option<char>>> = path.split(|b| *b == b'/').map(characters).collect();
    expand(glob).iter().any(|text| {
        let segments = segments_of(text);
        let is_star = |ask: &Ask| matches!(ask, Ask::Star);
        let is_any = |segment: &Vec<Ask>| segment.len() == 2 && segment.iter().all(is_star);
        let of_name = |segment: &Vec<Ask>, name: &Vec<Option<char>>| {
            fits(segment, name, is_star, |ask, c| takes(ask, *c))
        };
        !text.is_empty() && fits(&segments, &names, is_any, of_name)
    })
}

/// Whether a pattern fits all of a text, some of its parts taking any number of things, the others
/// exactly one.
fn fits<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    takes: impl Fn(&P, &T) -> bool,
) -> bool {
    let and_behind_stars = |places: BTreeSet<usize>| {
        let mut all = BTreeSet::new();
        for mut place in places {
            all.insert(place);
            while pattern.get(place).is_some_and(&is_star) {
                place += 1;
                all.insert(place);
            }
        }
        all
    };
    let mut places = and_behind_stars(BTreeSet::from([0]));
    for thing in text {
        let next = places.iter().filter_map(|place| match pattern.get(*place) {
            Some(part) if is_star(part) => Some(*place),
            Some(part) if takes(part, thing) => Some(*place + 1),
            _ => None,
        });
        places = and_behind_stars(next.collect());
    }
    places.contains(&pattern.len())
}

fn takes(ask: &Ask, c: Option<char>) -> bool {
    match ask {
        Ask::Star | Ask::Any => true,
        Ask::Char(want) => c == Some(*want),
        Ask::Set(negated, ranges) => {
            c.is_some_and(|c| ranges.iter().any(|(a, z)| *a <= c && c <= *z)) != *negated
        }
    }
}

/// The characters of a name; an invalid byte counts as one.
fn characters(name: &[u8]) -> Vec<Option<char>> {
    let mut all = Vec::new();
    for chunk in name.utf8_chunks() {
        all.extend(chunk.valid().chars().map(Some));
        all.extend(chunk.invalid().iter().map(|_| None));
    }
    all
}

/// Cuts a text into its smallest units: an escape, a class, or a character.
fn units(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut left = text;
    while let Some(c) = left.chars().next() {
        let length = match c {
            '\\' => 2,
            '[' => {
                let body = left.strip_prefix('[').unwrap_or_default();
                let negation = body.starts_with(['!', '^']);
                let members = body.get(usize::from(negation)..).unwrap_or_default();
                let mut length = 1 + usize::from(negation);
                let mut first = true;
                let mut escaped = false;
                for c in members.chars() {
                    length += c.len_utf8();
                    if c == ']' && !first && !escaped {
                        break;
                    }
                    escaped = c == '\\' && !escaped;
                    first = false;
                }
                length
            }
            c => c.len_utf8(),
        };
        let (unit, behind) = left.split_at_checked(length).unwrap_or((left, ""));
        all.push(unit);
        left = behind;
    }
    all
}

/// Expands braces as text.
fn expand(text: &str) -> Vec<String> {
    let units = units(text);
    let Some(open) = units.iter().position(|u| *u == "{") else {
        return vec![text.to_owned()];
    };
    let (mut depth, mut close, mut commas) = (0, open, vec![open]);
    for (i, unit) in units.iter().enumerate().skip(open) {
        match *unit {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => commas.push(i),
            _ => {}
        }
        if depth == 0 {
            close = i;
            break;
        }
    }
    commas.push(close);
    let part = |from: usize, to: usize| units.get(from..to).unwrap_or_default().concat();
    let ends = commas.iter().zip(commas.iter().skip(1));
    let (head, tail) = (part(0, open), part(close + 1, units.len()));
    ends.flat_map(|(from, to)| expand(&format!("{head}{}{tail}", part(from + 1, *to))))
        .collect()
}

/// The segments of a text without braces.
fn segments_of(text: &str) -> Vec<Vec<Ask>> {
    let behind = if text.ends_with('/') { "**" } else { "" };
    let text = format!("{text}{behind}");
    let units = units(&text);
    let segments = units.split(|unit| *unit == "/");
    segments
        .map(|s| s.iter().map(|unit| ask(unit)).collect())
        .collect()
}

fn ask(unit: &str) -> Ask {
    let mut chars = unit.chars();
    match (unit, chars.next()) {
        ("*", _) => Ask::Star,
        ("?", _) => Ask::Any,
        (_, Some('\\')) => Ask::Char(chars.next().unwrap_or('\\')),
        (_, Some('[')) if unit.len() > 1 => {
            let body = unit.strip_prefix('[').and_then(|b| b.strip_suffix(']'));
            let body = body.unwrap_or_default();
            let positive = body.strip_prefix(['!', '^']);
            let mut members: Vec<(char, bool)> = Vec::new();
            let mut chars = positive.unwrap_or(body).chars();
            while let Some(c) = chars.next() {
                members.push(match c {
                    '\\' => (chars.next().unwrap_or(c), false),
                    c => (c, c == '-'),
                });
            }
            Ask::Set(positive.is_some(), ranges(&members))
        }
        (_, c) => Ask::Char(c.unwrap_or_default()),
    }
}

/// Members of a class, each with whether it is a bare `-`.
fn ranges(members: &[(char, bool)]) -> Vec<(char, char)> {
    match members {
        [(a, _), (_, true), (z, _), more @ ..] => [vec![(*a, *z)], ranges(more)].concat(),
        [(c, _), more @ ..] => [vec![(*c, *c)], ranges(more)].concat(),
        [] => Vec::new(),
    }
}

/// Makes a path from a glob, by the choices; each literal stays with a probability of three in
/// four.
pub fn derive(glob: &str, choices: &[u8]) -> Option<RepoPath> {
    let mut choices = choices.iter().copied().map(usize::from);
    // Without choices left it is a plain hit.
    let mut choose = move || choices.next().unwrap_or(0);
    let alternatives = expand(glob);
    let text = alternatives.get(choose() % alternatives.len().max(1))?;
    let known: Vec<&str> = NAMES.split(" | ").collect();
    let mut names: Vec<Vec<u8>> = Vec::new();
    for segment in segments_of(text) {
        if matches!(segment.as_slice(), [Ask::Star, Ask::Star]) {
            for _ in 0..choose() % 4 {
                names.push(known.get(choose() % known.len())?.as_bytes().to_vec());
            }
            continue;
        }
        let mut name = Vec::new();
        for ask in segment {
            let put = |name: &mut Vec<u8>, c: char| name.extend(c.encode_utf8(&mut [0; 4]).bytes());
            match ask {
                Ask::Star => {
                    (0..choose() % 3).for_each(|_| name.extend(b"ab.\xc3".get(choose() % 4)))
                }
                Ask::Any => match choose() % 6 {
                    0..3 => put(&mut name, 'a'),
                    3 => put(&mut name, '日'),
                    4 => name.push(0xff),
                    _ => {}
                },
                Ask::Set(_, ranges) => match choose() % 6 {
                    0..3 => put(&mut name, ranges.first()?.0),
                    3 => put(&mut name, ranges.last()?.1),
                    4 => put(&mut name, 'c'),
                    _ => name.push(0xc3),
                },
                Ask::Char(c) => match choose() % 32 {
                    0..28 => put(&mut name, c),
                    28 | 29 => put(&mut name, 'b'),
                    _ => {}
                },
            }
        }
        names.push(name);
    }
    match choose() % 8 {
        6 => drop(names.pop()),
        7 => names.push(b"a".to_vec()),
        _ => {}
    }
    RepoPath::from_exact(&names.join(&b'/'))
}

// ---- the oracle
// ----------------------------------------------------------------------------------------------------

/// Compares the matcher of one glob with the reference, and the matcher of many with a loop over
/// them.
///
/// Both texts hold one thing a line: items of one list, with a `!` before those that exclude;
/// paths. The same items are also given to the index one by one, so that each is distinguished.
///
/// # Panics
/// The first difference. Also a parse error that points outside the glob, or whose help is not a
/// glob.
pub fn oracle(globs: &[u8], paths: &[u8]) {
    let globs = std::str::from_utf8(globs).unwrap_or_default();
    let mut items = Vec::new();
    for line in globs.split('\n').take(64) {
        let text = line.strip_prefix('!').unwrap_or(line);
        match Glob::parse(text) {
            Ok(glob) => items.push(Item {
                not: text != line,
                what: ItemContent::Glob(glob),
            }),
            Err(error) => sound(text, &error),
        }
    }
    let paths = paths.split(|b| *b == b'\n').take(256);
    let paths: Vec<RepoPath> = paths.filter_map(RepoPath::from_exact).collect();
    let whole = Selection { items };
    for glob in globs_of([&whole]) {
        for path in &paths {
            let (got, want) = (glob.matches(path), reference(glob.text(), path.as_bytes()));
            assert_eq!(got, want, "`{}` on `{path}`", glob.text());
        }
    }
    let alone = |item: &Item| Selection {
        items: vec![item.clone()],
    };
    let mut selections: Vec<Selection> = whole.items.iter().map(alone).collect();
    selections.push(whole);
    agree(&selections, &change_set(paths));
}

/// Whether a parse error is one: inside the text, on one line, and its help is a glob if it names
/// one.
///
/// # Panics
/// The violated rule.
pub fn sound(text: &str, error: &vplan_base::glob::GlobError) {
    let is_inside = text.get(error.span.start..error.span.end).is_some();
    let message = &error.message;
    let is_line = !message.contains('\n') && !message.ends_with('.') && !message.is_empty();
    assert!(is_inside && is_line, "`{text}`: {error:?}");
    let proposal = error.help.as_deref();
    let proposal = proposal.and_then(|h| h.strip_prefix("write `")?.strip_suffix('`'));
    let is_glob = proposal.is_none_or(|proposal| Glob::parse(proposal).is_ok());
    // Text that cannot be shown unchanged is shown escaped, and then is not meant to be copied.
    let is_escaped = text.contains(vplan_base::word::is_unsafe_to_show);
    assert!(is_glob || is_escaped, "`{text}`: no glob: {:?}", error.help);
}

/// Compares [`match_all`] with a loop over the selections and the files.
///
/// # Panics
/// The first selection on which they differ.
pub fn agree(selections: &[Selection], changes: &ChangeSet) {
    let got = match_all(&selections.iter().collect::<Vec<_>>(), changes);
    assert_eq!(got.len(), selections.len());
    for (selection, got) in selections.iter().zip(got) {
        let excluded = |path: &RepoPath| selection.items.iter().any(|i| i.not && i.selects(path));
        let is_hit =
            |item: &Item, path: &RepoPath| !item.not && item.selects(path) && !excluded(path);
        let items = selection.items.iter();
        let items = items.map(|item| hits(changes, |path| is_hit(item, path)));
        let want = Selected {
            all: hits(changes, |path| selection.selects(path)),
            items: items.collect(),
        };
        assert_eq!(got, want, "{selection:?}\non {changes:?}");
    }
}

fn hits(changes: &ChangeSet, selects: impl Fn(&RepoPath) -> bool) -> Hits {
    let mut hits = Hits::default();
    for (file, i) in changes.files().iter().zip(0_u32..) {
        if selects(&file.path) {
            hits.count += 1;
            if hits.first.len() < SHOWN {
                hits.first.push(i);
            }
        }
    }
    hits
}
