//! Names of a contract, and patterns of names: the productions NAME and `reference` of
//! src/lang/grammar.md, "Grammar".

use nom::bytes::complete::{take_while, take_while_m_n, take_while1};
use nom::character::complete::char;
use nom::combinator::{all_consuming, recognize, verify};
use nom::multi::separated_list1;
use nom::{IResult, Parser};

/// The prefix that names must not have: `--only tag:fast` means a tag.
const TAG: &str = "tag:";

/// Whether a text is a name: a letter or `_`, then letters, digits, `_`, `-`, `.` and `:`. The last
/// character is not `.` or `:`. It does not begin with `tag:`.
pub fn is_name(text: &str) -> bool {
    all_consuming(name).parse(text).is_ok()
}

/// Whether a text is a name, perhaps in namespaces: `web/unit`.
pub fn is_reference(text: &str) -> bool {
    is_list_of(name, text)
}

/// Whether a text is a pattern of names: a reference in which a `*` matches any characters but
/// `/`.
pub fn is_pattern(text: &str) -> bool {
    text.contains('*') && is_list_of(part, text)
}

/// Whether a pattern matches a name.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (mut patterns, mut parts) = (pattern.split('/'), name.split('/'));
    loop {
        match (patterns.next(), parts.next()) {
            (None, None) => return true,
            (Some(pattern), Some(part)) if matches_part(pattern, part) => {}
            _ => return false,
        }
    }
}

/// Makes a name of a text: letters, digits and `_` stay, all else becomes one `-`, up to a number of
/// bytes. One that would begin with something else gets the prefix and a `-` in front.
pub fn slug(text: &str, most: usize, prefix: &str) -> String {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let parts = parts.filter(|part| !part.is_empty());
    let mut name = Vec::from_iter(parts).join("-");
    name.truncate(most);
    let name = name.trim_end_matches('-');
    match name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        true => name.to_owned(),
        false => format!("{prefix}-{name}").trim_end_matches('-').to_owned(),
    }
}

fn is_list_of<'a>(item: fn(&'a str) -> IResult<&'a str, &'a str, ()>, text: &'a str) -> bool {
    let list = separated_list1(char::<_, ()>('/'), item);
    all_consuming(list).parse(text).is_ok()
}

fn name(input: &str) -> IResult<&str, &str, ()> {
    let first = take_while_m_n(1, 1, |c: char| c.is_ascii_alphabetic() || c == '_');
    let all = recognize((first, take_while(is_inner)));
    verify(all, |name: &str| {
        !name.ends_with(['.', ':']) && !name.starts_with(TAG)
    })
    .parse(input)
}

fn part(input: &str) -> IResult<&str, &str, ()> {
    let all = take_while1(|c| is_inner(c) || c == '*');
    verify(all, |part: &str| !part.starts_with(TAG)).parse(input)
}

fn is_inner(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}

/// Matches each piece between two `*` at its first occurrence from the left: no later place can be
/// better.
fn matches_part(pattern: &str, part: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == part;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut left) = part
        .strip_prefix(first)
        .and_then(|left| left.strip_suffix(last))
    else {
        return false;
    };
    for piece in middle.split('*') {
        match left.split_once(piece) {
            Some((_, behind)) => left = behind,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for text in ["a", "_a-9", "test:unit", "py3.14", "a.b:c", "tags:x", "tag"] {
            assert!(is_name(text), "{text}");
        }
        for text in [
            "", "9a", "-a", "ä", "unit.", "unit:", "tag:x", "a/b", "a*", ".a", ":a", "a b",
        ] {
            assert!(!is_name(text), "{text}");
        }
        assert!(is_reference("web/unit") && is_reference("a") && is_reference("a/b.c/d:e"));
        assert!(!is_reference("a//b") && !is_reference("/a") && !is_reference("a/b."));
    }

    #[test]
    fn patterns() {
        for text in ["*", "build-*", "rust/*", "*/unit", "a*b*c", "a*."] {
            assert!(is_pattern(text), "{text}");
        }
        for text in ["a", "", "*/", "a b*", "tag:*", "!*", "a?*"] {
            assert!(!is_pattern(text), "{text}");
        }
        for (pattern, name, want) in [
            ("build-*", "build-core", true),
            ("build-*", "build-", true),
            ("build-*", "web/build-core", false),
            ("rust/*", "rust/test", true),
            ("rust/*", "rust/a/b", false),
            ("*", "a.b", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "acb", false),
            ("*ab*ab*", "aabab", true),
            ("*ab*ab*", "aab", false),
            ("a*a", "a", false),
            ("a**b", "ab", true),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
    }
}
