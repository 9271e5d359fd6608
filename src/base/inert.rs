//! How does foreign text of several lines become harmless? For terminals, documents and programs that read them.

use super::word::is_unsafe_to_show;

/// Foreign text of several lines, made harmless: terminal sequences go, carriage returns begin a line, every other
/// character that is unsafe to show becomes U+FFFD, as does every invalid byte. Line feeds and tabs stay.
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

/// A text without terminal sequences: what readers of output and of words look at. Everything else stays.
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

/// Skips what follows ESC (ECMA-48): a control sequence up to its final byte, a string up to its terminator on the same
/// line, or one character with the intermediates before it.
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
}
