//! Splits a tool's output into lines, and matches lines against templates.

use vplan_base::inert::without_escapes;
use vplan_check::evidence::Captured;

/// Limit of a line that is parsed as a message, in bytes; the rest of it is ignored.
const LONGEST_LINE: usize = 4096;

/// A line without terminal escapes, with runs of blanks collapsed and its ends trimmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The number of leading blanks.
    pub indent: usize,
    /// The text after them.
    pub text: String,
}

/// Values for the variable parts of a template.
#[derive(Clone, Copy, Default)]
pub(super) struct Names<'a> {
    /// `{asked}`: one of the requested scripts, goals or programs.
    pub asked: &'a [String],
    /// `{self}`: the program's name as it was called.
    pub program: &'a str,
}

/// Splits output into the lines that are not blank. A carriage return ends a line as well, since
/// the following text overwrites it.
pub(super) fn lines(captured: &Captured) -> Vec<Line> {
    let mut bytes = captured.head.as_bytes().to_vec();
    if captured.total > (captured.head.as_bytes().len() + captured.tail.as_bytes().len()) as u64 {
        // The middle of the output is missing, so the two sides are separate lines.
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(captured.tail.as_bytes());
    // U+009B alone begins a control sequence, as ESC [ does.
    let text = String::from_utf8_lossy(&bytes).replace('\u{9b}', "\u{1b}[");
    let plain = without_escapes(&text);
    plain.split(['\n', '\r']).filter_map(line).collect()
}

fn line(raw: &str) -> Option<Line> {
    let raw = raw.trim_end();
    let body = raw.trim_start();
    if body.is_empty() {
        return None;
    }
    let indent = raw.chars().count() - body.chars().count();
    let text: String = body.chars().take(LONGEST_LINE).collect();
    Some(Line {
        indent,
        text: text.split_whitespace().collect::<Vec<_>>().join(" "),
    })
}

/// Whether a whole line matches a template: literal text with `{asked}`, `{self}`, `{n}` (digits),
/// `{word}` (no blanks) and `{any}` (anything, or nothing).
pub(super) fn reads_as(text: &str, template: &str, names: Names<'_>) -> bool {
    let Some(rest) = template.strip_prefix('{') else {
        let literal = template.find('{').unwrap_or(template.len());
        let (literal, further) = template.split_at(literal);
        return match text.strip_prefix(literal) {
            Some(text) if further.is_empty() => text.is_empty(),
            Some(text) => reads_as(text, further, names),
            None => false,
        };
    };
    let Some((name, further)) = rest.split_once('}') else {
        return false;
    };
    let after = |end: usize| text.get(end..).is_some_and(|t| reads_as(t, further, names));
    match name {
        "asked" => names.asked.iter().any(|n| {
            text.strip_prefix(n.as_str())
                .is_some_and(|t| reads_as(t, further, names))
        }),
        "self" => text
            .strip_prefix(names.program)
            .is_some_and(|t| reads_as(t, further, names)),
        "any" => text
            .char_indices()
            .map(|(i, _)| i)
            .chain([text.len()])
            .any(after),
        "n" => run(text, |c| c.is_ascii_digit()).any(after),
        "word" => run(text, |c| !c.is_whitespace()).any(after),
        _ => false,
    }
}

/// Returns the ends of all prefixes of at least one character that consist of such characters.
fn run(text: &str, wanted: fn(char) -> bool) -> impl Iterator<Item = usize> {
    text.char_indices()
        .take_while(move |(_, c)| wanted(*c))
        .map(|(i, c)| i + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<String> {
        lines(&Captured::from(bytes))
            .into_iter()
            .map(|l| l.text)
            .collect()
    }

    #[test]
    fn escapes_and_blanks_go() {
        for (raw, want) in [
            (
                &b"\x1b[31mError:\x1b[39m  a\tb \n\n"[..],
                vec!["Error: a b"],
            ),
            (b"\x1b]0;title\x07x\x1b]8;;u\x1b\\y", vec!["xy"]),
            (b"\x1b[31\nnext", vec!["next"]),
            (b"\x1b]0;C:\\dir\x07x", vec!["x"]),
            (b"50%\r100%\r\n", vec!["50%", "100%"]),
            (
                "\u{2009}ERR_X\u{2009} Missing".as_bytes(),
                vec!["ERR_X Missing"],
            ),
            (b"\xff\xfe a", vec!["\u{fffd}\u{fffd} a"]),
        ] {
            assert_eq!(texts(raw), want, "{raw:?}");
        }
    }

    #[test]
    fn a_gap_joins_no_lines() {
        let captured = Captured {
            head: "npm error Missing ".into(),
            tail: "script: \"x\"".into(),
            total: 30,
        };
        assert_eq!(lines(&captured).len(), 2);
        let whole = Captured {
            total: 29,
            ..captured
        };
        assert_eq!(lines(&whole).len(), 1);
    }

    #[test]
    fn templates() {
        let names = Names {
            asked: &["ab".to_owned(), "a".to_owned()],
            program: "gmake",
        };
        for (text, template, want) in [
            ("{self}", "x", false),
            ("gmake: *** 'a'", "{self}: *** '{asked}'", true),
            ("gmake: *** 'b'", "{self}: *** '{asked}'", false),
            ("gmake: *** 'a', needed", "{self}: *** '{asked}'", false),
            (
                "sh: 12: x: not found",
                "{word}: {n}: {word}: not found",
                true,
            ),
            (
                "sh: : x: not found",
                "{word}: {n}: {word}: not found",
                false,
            ),
            ("a x b y c", "a {any} b {any} c", true),
            ("a", "a{any}", true),
            ("a", "a{unknown}", false),
            ("a", "a{", false),
        ] {
            assert_eq!(reads_as(text, template, names), want, "{text} / {template}");
        }
    }
}
