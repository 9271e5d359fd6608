//! Makes untrusted text of several lines harmless for terminals, documents and programs that read
//! them.

use super::word::is_unsafe_to_show;
use std::borrow::Cow;

/// Makes untrusted text of several lines harmless: terminal sequences are removed, carriage returns
/// begin a line, every other character that is unsafe to show becomes U+FFFD, as does every invalid
/// byte. Line feeds and tabs stay.
#[must_use]
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
#[must_use]
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
/// both comparisons ignore invisible characters, and a carriage return ends a line, too. The one
/// gets a bar in front, the other a space inside. Everything else stays, line for line.
#[must_use]
pub fn without_commands(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive(['\n', '\r']) {
        let mut seen = line
            .chars()
            .filter(|c| !is_overlooked(*c))
            .skip_while(|c| c.is_whitespace());
        if seen.next() == Some(':') && seen.next() == Some(':') {
            out.push_str("| ");
        }
        break_brackets(line, " [", &mut 0, &mut out);
    }
    out
}

/// Disarms the workflow commands in a JSON document, whose value stays the same. No line of one
/// begins with `::`, and `##[` occurs only inside strings, where a bracket can be escaped.
#[must_use]
pub fn json_without_commands(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    break_brackets(document, "\\u005b", &mut 0, &mut out);
    out
}

/// Disarms a document that is written piece by piece, as [`json_without_commands`] does; `signs`
/// begins at 0 and is passed from one piece to the next.
#[must_use]
pub fn json_piece_without_commands<'p>(piece: &'p str, signs: &mut usize) -> Cow<'p, str> {
    if !piece.contains('[') {
        *signs = signs_at_end(piece, *signs);
        return Cow::Borrowed(piece);
    }
    let mut out = String::with_capacity(piece.len() + 16);
    break_brackets(piece, "\\u005b", signs, &mut out);
    Cow::Owned(out)
}

/// Disarms the workflow commands in a KDL document, whose value stays the same. Differs from JSON
/// in how a bracket is escaped.
#[must_use]
pub fn kdl_without_commands(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    break_brackets(document, "\\u{5b}", &mut 0, &mut out);
    out
}

/// Writes another text for each `[` after `##`; `signs`: how many `#` are right before the text,
/// then at its end.
fn break_brackets(text: &str, bracket: &str, signs: &mut usize, out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        out.push_str(if signs_at_end(before, *signs) >= 2 {
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

/// Counts the `#` at the end of a text, regardless of ignored characters, when `before` of them
/// precede it.
fn signs_at_end(text: &str, before: usize) -> usize {
    let kept = text.trim_end_matches(|c| c == '#' || is_overlooked(c));
    let end = text
        .strip_prefix(kept)
        .unwrap_or_default()
        .chars()
        .filter(|c| *c == '#')
        .count();
    if kept.is_empty() {
        before.saturating_add(end)
    } else {
        end
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

/// Skips what follows ESC (ECMA-48): a control sequence up to its final byte, a string up to its
/// terminator on the same line, or one character with the intermediates before it.
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
        let document = "[\"##[x]\",\"#\u{34f}#\u{200b}[y]#[z]\",\"##\",[\"###[\"]]";
        let whole = json_without_commands(document);
        for cut in (0..=document.len()).filter(|at| document.is_char_boundary(*at)) {
            let mut signs = 0;
            let (before, behind) = document.split_at(cut);
            let pieces = [before, behind]
                .map(|piece| json_piece_without_commands(piece, &mut signs).into_owned());
            assert_eq!(pieces.concat(), whole, "{cut}");
        }
        assert_eq!(
            kdl_without_commands("a \"##[x]\" #true"),
            "a \"##\\u{5b}x]\" #true"
        );
        assert_eq!(
            serde_json::from_str::<Vec<String>>(&json).unwrap(),
            ["a\\##[x]", "#[y]"]
        );
    }

    /// Does what [`break_brackets`] does, character by character.
    fn one_by_one(text: &str) -> String {
        let (mut signs, mut out) = (0, String::new());
        for c in text.chars() {
            out.push_str(&if c == '[' && signs >= 2 {
                " [".to_owned()
            } else {
                c.to_string()
            });
            if !is_overlooked(c) {
                signs = if c == '#' { signs + 1 } else { 0 };
            }
        }
        out
    }

    proptest::proptest! {
        #![proptest_config(crate::arbitrary::config(512))]

        #[test]
        fn brackets_are_broken_however_a_text_is_cut(texts in proptest::collection::vec("[#\\[a\u{200b}\u{301}]{0,6}", 0..6)) {
            let (mut signs, mut out) = (0, String::new());
            for text in &texts {
                break_brackets(text, " [", &mut signs, &mut out);
            }
            proptest::prop_assert_eq!(out, one_by_one(&texts.concat()));
        }
    }
}
