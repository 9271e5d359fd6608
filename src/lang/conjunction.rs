//! Splits a shell's `a && b && c` into its parts, when the text is nothing else.

/// Returns the parts between the `&&` of a text, at least two. `None` when the text is no
/// conjunction a split would keep: a `||`, `;`, `&`, newline, parenthesis or lone brace at top
/// level binds otherwise, quotes are broken, or a part is empty.
///
/// Pipes, redirections and expansions stay inside their part. One pass with an explicit stack, so
/// that no text can overflow anything.
pub(super) fn split(text: &str) -> Option<Vec<&str>> {
    let bytes = text.as_bytes();
    let byte = |i: usize| bytes.get(i).copied();
    let mut parts = Vec::new();
    let mut stack: Vec<Inside> = Vec::new();
    // At most one pair of backquotes is open at a time; looking for it in the stack would take
    // quadratic time.
    let mut backquotes = false;
    let mut start = 0;
    let mut i = 0;
    while let Some(b) = byte(i) {
        let inside = stack.last().copied();
        let word_start = i == start || matches!(byte(i - 1), Some(b' ' | b'\t'));
        i = match (b, inside) {
            (b'\\', _) => byte(i + 1).map(|_| i + 2)?,
            (b'\'', None | Some(Inside::Parentheses | Inside::Backquotes)) => {
                close_quote(bytes, i + 1, false)?
            }
            // The meaning of a quote here depends on the shell.
            (b'\'', Some(Inside::Braces)) => return None,
            (b'"', Some(Inside::Quotes))
            | (b'}', Some(Inside::Braces))
            | (b')', Some(Inside::Parentheses)) => {
                stack.pop();
                i + 1
            }
            (b'"', _) => push(&mut stack, Inside::Quotes, i + 1),
            (b'$', Some(Inside::Quotes)) if byte(i + 1) == Some(b'\'') => i + 2,
            (b'$', _) => match byte(i + 1) {
                Some(b'\'') => close_quote(bytes, i + 2, true)?,
                Some(b'(') => push(&mut stack, Inside::Parentheses, i + 2),
                Some(b'{') => push(&mut stack, Inside::Braces, i + 2),
                _ => i + 1,
            },
            (b'`', Some(Inside::Backquotes)) => {
                stack.pop();
                backquotes = false;
                i + 1
            }
            (b'`', _) if backquotes => return None,
            (b'`', _) => {
                backquotes = true;
                push(&mut stack, Inside::Backquotes, i + 1)
            }
            (b'(', Some(Inside::Parentheses)) => push(&mut stack, Inside::Parentheses, i + 1),
            (_, Some(_)) => i + 1,
            (b'#', None) if word_start => {
                // A comment: it belongs to the last part, unless there is a further line.
                if bytes.get(i..)?.contains(&b'\n') {
                    return None;
                }
                bytes.len()
            }
            (b'{' | b'}', None)
                if word_start && matches!(byte(i + 1), None | Some(b' ' | b'\t' | b'&' | b'|')) =>
            {
                return None;
            }
            (b'(' | b')' | b';' | b'\n', None) => return None,
            (b'|', None) if matches!(byte(i + 1), Some(b'|' | b'&')) => return None,
            (b'<', None) if byte(i + 1) == Some(b'<') && byte(i + 2) != Some(b'<') => return None,
            (b'<', None) if byte(i + 1) == Some(b'<') => i + 3,
            (b'<' | b'>', None) if byte(i + 1) == Some(b'&') => i + 2,
            (b'>', None) if byte(i + 1) == Some(b'|') => i + 2,
            (b'&', None) if byte(i + 1) == Some(b'&') => {
                parts.push(part(text, start, i)?);
                start = i + 2;
                start
            }
            (b'&', None) => return None,
            _ => i + 1,
        };
    }
    if !stack.is_empty() || parts.is_empty() {
        return None;
    }
    parts.push(part(text, start, bytes.len())?);
    Some(parts)
}

/// An element that must still be closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// `"…"`
    Quotes,
    /// `$(…)`, and the parentheses inside it
    Parentheses,
    /// `${…}`
    Braces,
    /// `` `…` ``
    Backquotes,
}

fn push(stack: &mut Vec<Inside>, inside: Inside, next: usize) -> usize {
    stack.push(inside);
    next
}

/// Returns the offset after the closing `'`.
fn close_quote(bytes: &[u8], from: usize, escapes: bool) -> Option<usize> {
    let mut i = from;
    loop {
        match bytes.get(i)? {
            b'\'' => return Some(i + 1),
            b'\\' if escapes => i += 2,
            _ => i += 1,
        }
    }
}

/// Trims the blanks around a part, except after an escape at its end. None if nothing is left.
fn part(text: &str, start: usize, end: usize) -> Option<&str> {
    let part = text.get(start..end)?.trim_start_matches([' ', '\t']);
    let trimmed = part.trim_end_matches([' ', '\t']);
    let part = if trimmed.ends_with('\\') {
        part
    } else {
        trimmed
    };
    (!part.is_empty()).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        for (text, want) in [
            ("a && b&&c", Some(vec!["a", "b", "c"])),
            ("a | b && c > d 2>&1", Some(vec!["a | b", "c > d 2>&1"])),
            (
                "echo '&&' \"&&\" \\&\\& && b",
                Some(vec!["echo '&&' \"&&\" \\&\\&", "b"]),
            ),
            (
                "echo \"$(a && (b; c))\" && d",
                Some(vec!["echo \"$(a && (b; c))\"", "d"]),
            ),
            (
                "echo ${x:-;} `a;b` && c",
                Some(vec!["echo ${x:-;} `a;b`", "c"]),
            ),
            ("echo a\\  && b", Some(vec!["echo a\\  ", "b"])),
            ("! a && b", Some(vec!["! a", "b"])),
            ("a && b # && c", Some(vec!["a", "b # && c"])),
            ("echo $'\\'' && b", Some(vec!["echo $'\\''", "b"])),
            ("echo \"$'\" && b", Some(vec!["echo \"$'\"", "b"])),
            ("a", None),
            ("a &&", None),
            ("&& a", None),
            ("a && && b", None),
            ("a &&& b", None),
            ("a || b && c", None),
            ("a && b; c", None),
            ("a && b &", None),
            ("a && b\nc", None),
            ("(a && b)", None),
            ("{ a && b", None),
            ("a && 'b", None),
            ("a && \"b", None),
            ("a && $(b", None),
            ("a |& b && c", None),
            ("cat <<E && b", None),
            ("a && b\\", None),
        ] {
            assert_eq!(split(text), want, "{text}");
        }
    }
}
