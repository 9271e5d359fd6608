//! Which words does a shell make of a text that asks nothing else of it? POSIX XCU 2.2 and 2.3, one
//! character at a time, with `$'…'` as bash reads it.

/// The assignments and the words of a simple command. None where a shell would do more than to
/// start it: operators, expansions, comments, text that does not end.
pub fn simple_command(text: &str) -> Option<(Vec<(String, Vec<u8>)>, Vec<Vec<u8>>)> {
    let mut assignments = Vec::new();
    let mut words = Vec::new();
    for word in split(text)? {
        match word.assigned {
            Some(at) if words.is_empty() => {
                let name = String::from_utf8(word.bytes[..at].to_vec()).ok()?;
                assignments.push((name, word.bytes[at + 1..].to_vec()));
            }
            _ => words.push(word.bytes),
        }
    }
    Some((assignments, words))
}

#[derive(Default)]
struct Word {
    bytes: Vec<u8>,
    /// Where the `=` is, if it is an assignment: a name without quotes in front of it.
    assigned: Option<usize>,
    has_quote: bool,
}

fn split(text: &str) -> Option<Vec<Word>> {
    let signs: Vec<char> = text.chars().collect();
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut at = 0;
    while at < signs.len() {
        let sign = signs[at];
        at += 1;
        match sign {
            ' ' | '\t' => words.extend(word.take()),
            '\0' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '`' => return None,
            '#' if word.is_none() => return None,
            '\'' => {
                let word = quoted(&mut word);
                loop {
                    let inside = *signs.get(at)?;
                    at += 1;
                    match inside {
                        '\'' => break,
                        '\0' => return None,
                        other => push(word, other),
                    }
                }
            }
            '"' => {
                let word = quoted(&mut word);
                loop {
                    let inside = *signs.get(at)?;
                    at += 1;
                    match inside {
                        '"' => break,
                        '\0' | '`' => return None,
                        '$' if expands(signs.get(at)) => return None,
                        '\\' => {
                            let next = *signs.get(at)?;
                            at += 1;
                            if !matches!(next, '"' | '\\' | '$' | '`') {
                                push(word, '\\');
                            }
                            if next == '\0' {
                                return None;
                            }
                            push(word, next);
                        }
                        other => push(word, other),
                    }
                }
            }
            '$' if signs.get(at) == Some(&'\'') => {
                at += 1;
                let word = quoted(&mut word);
                loop {
                    let inside = *signs.get(at)?;
                    at += 1;
                    match inside {
                        '\'' => break,
                        '\0' => return None,
                        '\\' => {
                            let escape = *signs.get(at)?;
                            at += 1;
                            match escape {
                                'n' => word.bytes.push(b'\n'),
                                't' => word.bytes.push(b'\t'),
                                'r' => word.bytes.push(b'\r'),
                                '\\' | '\'' => push(word, escape),
                                'x' => {
                                    let two: String = signs.get(at..at + 2)?.iter().collect();
                                    at += 2;
                                    word.bytes.push(
                                        u8::from_str_radix(&two, 16).ok().filter(|b| *b != 0)?,
                                    );
                                }
                                _ => return None,
                            }
                        }
                        other => push(word, other),
                    }
                }
            }
            '$' if expands(signs.get(at)) => return None,
            '\\' => {
                let next = *signs.get(at)?;
                at += 1;
                if next == '\0' {
                    return None;
                }
                push(quoted(&mut word), next);
            }
            other => {
                let word = word.get_or_insert_default();
                if other == '='
                    && word.assigned.is_none()
                    && !word.has_quote
                    && is_name(&word.bytes)
                {
                    word.assigned = Some(word.bytes.len());
                }
                push(word, other);
            }
        }
    }
    words.extend(word);
    Some(words)
}

fn quoted(word: &mut Option<Word>) -> &mut Word {
    let word = word.get_or_insert_default();
    word.has_quote = true;
    word
}

fn push(word: &mut Word, sign: char) {
    word.bytes.extend(sign.to_string().bytes());
}

/// Whether what follows a `$` makes it an expansion.
fn expands(next: Option<&char>) -> bool {
    next.is_some_and(|c| c.is_ascii_alphanumeric() || "_{(@*#?-$!".contains(*c))
}

fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && !bytes[0].is_ascii_digit()
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}
