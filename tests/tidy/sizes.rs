//! How long files and functions of the command line may be.

use super::source_files;

/// The most lines of a file below `src/cli/command`, with all that is in it.
const FILE: usize = 250;
/// The most lines of a function of `src/cli`, from `fn` to its last brace.
const FUNCTION: usize = 60;

/// The length of a character literal after its first quote; 0 for a lifetime.
fn character(rest: &[char]) -> usize {
    match rest {
        ['\\', _, behind @ ..] => behind.iter().position(|c| *c == '\'').map_or(0, |n| n + 3),
        [_, '\'', ..] => 2,
        _ => 0,
    }
}

/// The length of a string literal after its first quote. `hashes`: how many `#` end a raw one;
/// `None` where escapes are read.
fn string(rest: &[char], hashes: Option<usize>) -> usize {
    let mut at = 0;
    while at < rest.len() {
        match (rest[at], hashes) {
            ('\\', None) => at += 1,
            ('"', None) => return at + 1,
            ('"', Some(n)) if rest[at + 1..].iter().take_while(|c| **c == '#').count() >= n => {
                return at + 1 + n;
            }
            _ => {}
        }
        at += 1;
    }
    rest.len()
}

/// The length of a block comment after its `/*`; it may hold others.
fn comment(rest: &[char]) -> usize {
    let (mut at, mut depth) = (0, 1);
    while at < rest.len() && depth > 0 {
        match rest[at..] {
            ['/', '*', ..] => (at, depth) = (at + 2, depth + 1),
            ['*', '/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at
}

/// A source without comments, strings and characters; its lines are where they were.
fn bare(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    while at < chars.len() {
        let rest = &chars[at..];
        let is_word = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let prefix = rest
            .iter()
            .take_while(|c| matches!(c, 'b' | 'c' | 'r'))
            .count();
        let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
        let is_raw = !is_word && prefix > 0 && rest[prefix - 1] == 'r';
        let end = match rest {
            ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
            ['/', '*', ..] => 2 + comment(&rest[2..]),
            ['"', ..] => 1 + string(&rest[1..], None),
            ['\'', ..] => 1 + character(&rest[1..]),
            _ if is_raw && rest.get(prefix + hashes) == Some(&'"') => {
                let begin = prefix + hashes + 1;
                begin + string(&rest[begin..], Some(hashes))
            }
            [c, ..] => {
                out.push(*c);
                at += 1;
                continue;
            }
            [] => break,
        };
        out.extend(rest[..end].iter().filter(|c| **c == '\n'));
        at += end;
    }
    out
}

/// What follows `fn` in the first line of a function.
fn function(line: &str) -> Option<&str> {
    let mut line = line.trim_start();
    loop {
        if let Some(name) = line.strip_prefix("fn ") {
            return Some(name);
        }
        let (word, rest) = line.split_once(' ')?;
        let is_before = ["pub", "const", "async", "unsafe", "extern"].contains(&word);
        line = match line.strip_prefix("pub(") {
            Some(inside) => inside.split_once(") ")?.1,
            None if is_before => rest.trim_start(),
            None => return None,
        };
    }
}

/// The functions of a source that have a body: name, first line, lines.
fn functions(text: &str) -> Vec<(String, usize, usize)> {
    let bare = bare(text);
    let lines: Vec<&str> = bare.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(name) = function(line) else { continue };
        let (mut braces, mut others) = (0, 0);
        let end = lines[first..].iter().position(|line| {
            line.chars().any(|c| {
                match c {
                    '(' | '[' => others += 1,
                    ')' | ']' => others -= 1,
                    '{' => braces += 1,
                    '}' => braces -= 1,
                    ';' if braces == 0 && others == 0 => return true,
                    _ => {}
                }
                c == '}' && braces == 0
            })
        });
        let end = end.unwrap_or_else(|| panic!("{name} has no end"));
        if lines[first + end].contains('}') {
            let name = name.split(['(', '<']).next().unwrap();
            found.push((name.to_owned(), first + 1, end + 1));
        }
    }
    found
}

#[test]
fn commands_stay_short() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (file, text) in source_files() {
        let lines = text.lines().count();
        if file.starts_with("cli/command/") && lines > FILE {
            wrong.push(format!("src/{file} has {lines} lines, more than {FILE}"));
        }
        if !file.starts_with("cli/") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for (name, line, lines) in functions(code) {
            seen += 1;
            if lines > FUNCTION {
                let place = format!("src/{file}:{line}: `{name}`");
                wrong.push(format!("{place} has {lines} lines, more than {FUNCTION}"));
            }
        }
    }
    assert!(seen > 300, "{seen} functions are few");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lengths_are_counted_right() {
    let text = r##"
trait Form { // fn none() {
    fn heading(&self, level: [u8; 2]) -> String;
}
/* fn none() { /* } */ */
pub(in crate::cli) const fn one<'a>(x: &'a str) -> char { '}' }
impl Form for Text {
    /// {{{
    fn heading(
        &self,
        level: [u8; 2],
    ) -> String {
        let open = ('{', '\'', b'{', '\u{7b}');
        let raw = r#"fn none() { " {"#;
        let text = "{ \" {
fn none() {";
        [open].map(|x| { x }).into()
    }
    pub async unsafe fn empty() {}
}
fn last() {
    fn inner() {
    }
}
"##;
    let want = [
        ("one", 6, 1),
        ("heading", 9, 10),
        ("empty", 19, 1),
        ("last", 21, 4),
        ("inner", 22, 2),
    ];
    assert_eq!(functions(text), want.map(|(n, a, b)| (n.to_owned(), a, b)));
}
