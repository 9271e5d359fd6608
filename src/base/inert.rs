//! Makes untrusted text of several lines harmless for terminals, documents and programs that read
//! them.

use super::word::is_unsafe_to_show;
use std::borrow::Cow;

/// Makes untrusted text of several lines harmless: terminal sequences are removed, carriage returns
/// begin a line, every other character that is unsafe to show becomes U+FFFD, as does every invalid
/// byte. Line feeds and tabs stay.
pub fn inert(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            '\n' | '\t' => out.push(c),
            c if is_unsafe_to_show(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Removes terminal sequences, for readers of output and of words. Everything else stays.
pub fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            c => out.push(c),
        }
    }
    out
}

/// Disarms the workflow commands in a text for people, which CI systems execute from a log's lines.
/// GitHub's runner obeys a line that begins with `::` after blanks, and `##[` anywhere in a line;
/// the agent of Azure Pipelines obeys `##vso[` in any case. All comparisons ignore invisible
/// characters, and a carriage return ends a line, too. The first gets a bar in front, the others a
/// space inside. Everything else stays, line for line.
pub fn without_commands(text: &str) -> String {
    disarmed(text, "| ", " [")
}

/// Disarms the workflow commands in the text between two single quotes of a shell without changing
/// its value: the quotes are closed and opened again inside a command.
pub fn quoted_without_commands(text: &str) -> String {
    disarmed(text, "''", "''[")
}

/// Disarms the workflow commands in a JSON document without changing its value. No line of JSON
/// begins with `::`, and `##[` and `##vso[` occur only inside strings, where a bracket can be
/// escaped.
pub fn json_without_commands(document: &str) -> String {
    escaped_without_commands(document, IN_JSON)
}

const IN_JSON: &str = "\\u005b";

/// Disarms the workflow commands in a document whose strings may hold a bracket as this instead.
pub fn escaped_without_commands(document: &str, bracket: &str) -> String {
    let mut out = String::with_capacity(document.len());
    break_brackets(document, bracket, &mut 0, &mut out);
    out
}

/// Disarms a document that is written piece by piece, as [`json_without_commands`] does; `signs`
/// begins at 0 and is passed from one piece to the next.
pub fn json_piece_without_commands<'p>(piece: &'p str, signs: &mut usize) -> Cow<'p, str> {
    if !piece.contains('[') {
        *signs = signs_at_end(piece, *signs);
        return Cow::Borrowed(piece);
    }
    let mut out = String::with_capacity(piece.len() + 16);
    break_brackets(piece, IN_JSON, signs, &mut out);
    Cow::Owned(out)
}

fn disarmed(text: &str, before_line: &str, bracket: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive(['\n', '\r']) {
        if begins_command(line) {
            out.push_str(before_line);
        }
        break_brackets(line, bracket, &mut 0, &mut out);
    }
    out
}

/// Whether a line begins with `::` after blanks.
fn begins_command(line: &str) -> bool {
    let mut shown = line
        .chars()
        .filter(|c| !is_overlooked(*c))
        .skip_while(|c| c.is_whitespace());
    shown.next() == Some(':') && shown.next() == Some(':')
}

/// Replaces each `[` after `##` or `##vso`. `signs`: how much of that the preceding text matches,
/// and at the end how much this text matches (see [`signs_after`]).
fn break_brackets(text: &str, bracket: &str, signs: &mut usize, out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        out.push_str(if matches!(signs_at_end(before, *signs), 2 | 5) {
            bracket
        } else {
            "["
        });
        *signs = 0;
        rest = after;
    }
    out.push_str(rest);
    *signs = signs_at_end(rest, *signs);
}

/// Returns how much of `##vso` the end of a text matches, without ignored characters. `before`: how
/// much the preceding text matches.
fn signs_at_end(text: &str, before: usize) -> usize {
    let kept = text.trim_end_matches(|c| "#vVsSoO\u{17f}".contains(c) || is_overlooked(c));
    let end = text.strip_prefix(kept).unwrap_or_default();
    let before = if kept.is_empty() { before } else { 0 };
    let end = end.chars().filter(|c| !is_overlooked(*c));
    end.fold(before, signs_after)
}

/// Returns how much of `##vso` a text matches with one more character: 1 and 2 for its signs, 3 to
/// 5 with its letters.
fn signs_after(signs: usize, c: char) -> usize {
    match (signs, c) {
        (1 | 2, '#') => 2,
        (_, '#') => 1,
        (2, 'v' | 'V') => 3,
        (3, 's' | 'S' | '\u{17f}') => 4,
        (4, 'o' | 'O') => 5,
        _ => 0,
    }
}

/// Whether a comparison of texts for people ignores a character: format characters, variation
/// selectors, marks.
fn is_overlooked(c: char) -> bool {
    (is_unsafe_to_show(c) && !c.is_whitespace())
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{2065}'..='\u{206f}' | '\u{20d0}'..='\u{20ff}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}')
}

/// Skips the characters after ESC (ECMA-48): a control sequence up to its final byte, a string up
/// to its terminator on the same line, or one character with the intermediates before it.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            chars.next_if(|c| matches!(c, '@'..='~'));
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next_if(|c| !matches!(c, '\n' | '\u{1b}')) {
                if c == '\u{7}' {
                    return;
                }
            }
            if chars.next_if_eq(&'\u{1b}').is_some() {
                chars.next_if_eq(&'\\');
            }
        }
        _ => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_inert() {
        for (from, to) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "link"),
            ("\u{1b}]never closed\nnext", "\nnext"),
            ("\u{1b}(Bx", "x"),
            ("a\r\nb\rc", "a\nb\nc"),
            ("a\u{202e}b\u{9b}c\u{7}", "a\u{fffd}b\u{fffd}c\u{fffd}"),
            ("\u{1b}", ""),
            ("tab\tstays", "tab\tstays"),
        ] {
            assert_eq!(inert(from.as_bytes()), to, "{from:?}");
        }
    }

    #[test]
    fn workflow_commands_are_text() {
        for (from, to) in [
            ("::error::x\n", "| ::error::x\n"),
            (" \t\u{a0}::add-mask::x", "|  \t\u{a0}::add-mask::x"),
            ("\u{fe0f}:\u{301}:error::x", "| \u{fe0f}:\u{301}:error::x"),
            ("a\n::stop-commands::t\nb", "a\n| ::stop-commands::t\nb"),
            ("a ##[error]x ##[group]", "a ## [error]x ## [group]"),
            (
                "###[x] #\u{34f}#\u{200b}[y]",
                "### [x] #\u{34f}#\u{200b} [y]",
            ),
            ("a\r::error::x\r\n::b", "a\r| ::error::x\r\n| ::b"),
            ("│ ::error::x", "│ ::error::x"),
            (
                "a ##vso[task.setvariable]x #\u{301}#VS\u{200b}O[y]",
                "a ##vso [task.setvariable]x #\u{301}#VS\u{200b}O [y]",
            ),
            (
                "#vso[x] ##vs[y] ##vsoo[z] ## vso[w]",
                "#vso[x] ##vs[y] ##vsoo[z] ## vso[w]",
            ),
            ("###vso[x] ##v#vso[y]", "###vso [x] ##v#vso[y]"),
            (
                "#[test]\nstd::mem::swap\n: :a\n## [x]",
                "#[test]\nstd::mem::swap\n: :a\n## [x]",
            ),
        ] {
            assert_eq!(without_commands(from), to, "{from:?}");
            assert_eq!(without_commands(to), to, "once is enough: {to:?}");
        }
        let json = json_without_commands(r###"["a\\##[x]","#[y]"]"###);
        assert_eq!(json, r###"["a\\##\u005bx]","#[y]"]"###);
        // However it is cut, and twice the signs.
        let document =
            "[\"##[x]\",\"#\u{34f}#\u{200b}[y]#[z]\",\"##\",[\"###[\"],\"##vSo[\",\"#vso[\"]";
        let whole = json_without_commands(document);
        for cut in (0..=document.len()).filter(|at| document.is_char_boundary(*at)) {
            let mut signs = 0;
            let (before, behind) = document.split_at(cut);
            let pieces = [before, behind]
                .map(|piece| json_piece_without_commands(piece, &mut signs).into_owned());
            assert_eq!(pieces.concat(), whole, "{cut}");
        }
        assert_eq!(
            json_without_commands("[\"##vso[x\"]"),
            "[\"##vso\\u005bx\"]"
        );
        assert_eq!(
            escaped_without_commands("a [l=\"##[x\"]", "&#91;"),
            "a [l=\"##&#91;x\"]"
        );
        for (from, to) in [
            ("a ##[x ##vso[y", "a ##''[x ##vso''[y"),
            ("a\n ::error::x\r::y", "a\n'' ::error::x\r''::y"),
            ("::a", "''::a"),
            ("a::b\n:c", "a::b\n:c"),
        ] {
            assert_eq!(quoted_without_commands(from), to, "{from:?}");
        }
        assert_eq!(
            serde_json::from_str::<Vec<String>>(&json).unwrap(),
            ["a\\##[x]", "#[y]"]
        );
    }

    /// Does the same as [`break_brackets`], character by character.
    fn one_by_one(text: &str) -> String {
        let (mut signs, mut out) = (0, String::new());
        for c in text.chars() {
            out.push_str(&if c == '[' && matches!(signs, 2 | 5) {
                " [".to_owned()
            } else {
                c.to_string()
            });
            if !is_overlooked(c) {
                signs = signs_after(signs, c);
            }
        }
        out
    }

    proptest::proptest! {
        #![proptest_config(crate::arbitrary::config(512))]

        #[test]
        fn brackets_are_broken_however_a_text_is_cut(texts in proptest::collection::vec("[#\\[avSo\u{200b}\u{301}]{0,6}", 0..6)) {
            let (mut signs, mut out) = (0, String::new());
            for text in &texts {
                break_brackets(text, " [", &mut signs, &mut out);
            }
            proptest::prop_assert_eq!(out, one_by_one(&texts.concat()));
        }
    }
}
