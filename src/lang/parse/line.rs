//! Splits the text into the lines of statements, by continuations, quotes and comments only, so
//! that an error inside a line never costs more than that line.

use vplan_base::span::Span;

/// A line of the file, the lines joined to it by backslashes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// From the first non-blank character to the comment or the end, trailing blanks included.
    pub(super) content: Span,
    /// Blanks before the first character.
    pub(super) indent: usize,
    /// The comment, from its `#`.
    pub(super) comment: Option<Span>,
    /// The offset of the next line.
    pub(super) next: usize,
    /// Whether its last character is a `{` outside quotes.
    pub(super) opens: bool,
    /// A backslash that only blanks, or nothing at all, follow.
    pub(super) loose_backslash: Option<Span>,
}

/// Reads the line that begins at an offset. Takes time proportional to its length.
pub(super) fn read(text: &str, start: usize) -> Line {
    let bytes = text.as_bytes();
    let first = skip_blanks(bytes, start);
    // After `shell`, quotes and `#` mean nothing.
    let raw = bytes.get(first..).is_some_and(|rest| {
        rest.strip_prefix(b"shell")
            .is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\t' | b'\n' | b'\\')))
    });
    let mut line = Line {
        content: Span::new(first, first),
        indent: first - start,
        comment: None,
        next: bytes.len(),
        opens: false,
        loose_backslash: None,
    };
    let mut i = first;
    let mut behind_blank = true;
    let mut end = None;
    while let Some(b) = bytes.get(i).copied() {
        let blank = matches!(b, b' ' | b'\t');
        match b {
            b'\n' => {
                end = Some(i);
                line.next = i + 1;
                break;
            }
            b'\\' => {
                let behind = skip_blanks(bytes, i + 1);
                let joined = behind == i + 1 && bytes.get(behind) == Some(&b'\n');
                if !joined && matches!(bytes.get(behind), None | Some(b'\n')) {
                    line.loose_backslash = Some(Span::new(i, behind));
                }
                behind_blank = joined;
                line.opens &= joined;
                i += if bytes.get(i + 1).is_some() { 2 } else { 1 };
                continue;
            }
            b'#' if behind_blank && !raw => {
                let close = find_newline(bytes, i);
                line.comment = Some(Span::new(i, close));
                end = Some(i);
                line.next = (close + 1).min(bytes.len());
                break;
            }
            b'\'' if !raw => i = skip_quoted(bytes, i + 1, b'\'', false),
            b'"' if !raw => i = skip_quoted(bytes, i + 1, b'"', true),
            b'$' if !raw && bytes.get(i + 1) == Some(&b'\'') => {
                i = skip_quoted(bytes, i + 2, b'\'', true)
            }
            _ => i += 1,
        }
        behind_blank = blank;
        if !blank {
            line.opens = b == b'{' && !raw;
        }
    }
    line.content.end = end.unwrap_or(bytes.len()).max(first);
    line
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest
        .iter()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count()
}

fn find_newline(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter()
        .position(|b| *b == b'\n')
        .map_or(bytes.len(), |i| from + i)
}

/// Returns the offset after the closing quote, or of the line's end where there is none: a quote
/// never swallows further lines, unless a backslash joins them.
fn skip_quoted(bytes: &[u8], from: usize, quote: u8, escapes: bool) -> usize {
    let mut i = from;
    while let Some(b) = bytes.get(i).copied() {
        match b {
            _ if b == quote => return i + 1,
            b'\n' => return i,
            b'\\' if escapes => {
                // In `$'…'` a backslash joins no lines.
                if quote == b'\'' && bytes.get(i + 1) == Some(&b'\n') {
                    return i + 1;
                }
                i += 2;
            }
            _ => i += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        for (text, content, comment, next, opens) in [
            ("a b\nc", "a b", None, 4, false),
            ("  a {  # c\n", "a {  ", Some("# c"), 11, true),
            ("a \\\nb\nc", "a \\\nb", None, 6, false),
            ("a '{'\n", "a '{'", None, 6, false),
            ("a 'b\nc'", "a 'b", None, 5, false),
            ("a 'b\\\nc'", "a 'b\\", None, 6, false),
            ("a \"b\\\nc\" d\n", "a \"b\\\nc\" d", None, 11, false),
            (
                "a \"\\\" # b\" # c\n",
                "a \"\\\" # b\" ",
                Some("# c"),
                15,
                false,
            ),
            ("a#b '#' # c \\\nd", "a#b '#' ", Some("# c \\"), 14, false),
            ("a $'\\'' # c\n", "a $'\\'' ", Some("# c"), 12, false),
            ("a $'\\\nb", "a $'\\", None, 6, false),
            ("shell a ' # {\n", "shell a ' # {", None, 14, false),
            ("shell a \\\nb\n", "shell a \\\nb", None, 12, false),
            ("shell a \\\\\nb\n", "shell a \\\\", None, 11, false),
            ("a { \\\n\nb", "a { \\\n", None, 7, true),
            ("", "", None, 0, false),
            ("# c", "", Some("# c"), 3, false),
        ] {
            let line = read(text, 0);
            let slice = |s: Span| &text[s.start..s.end];
            let got = (
                slice(line.content),
                line.comment.map(slice),
                line.next,
                line.opens,
            );
            assert_eq!(got, (content, comment, next, opens), "{text:?}");
        }
    }

    #[test]
    fn loose_backslashes() {
        for (text, want) in [
            ("a \\  \nb", Some((2, 5))),
            ("a \\", Some((2, 3))),
            ("a \\\nb", None),
            ("a \\\\ \n", None),
            ("a \\ b\n", None),
            ("# \\ \n", None),
            ("shell a \\ \n", Some((8, 10))),
        ] {
            assert_eq!(
                read(text, 0).loose_backslash.map(|s| (s.start, s.end)),
                want,
                "{text:?}"
            );
        }
    }
}
