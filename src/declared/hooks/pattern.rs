//! Globs of the regular expressions that hook managers filter files with: anchored folders, endings,
//! alternations of these. Any other expression has none.

use crate::base::glob::{Glob, escape};

/// The most globs that an expression may become.
const MAX_GLOBS: usize = 40;
/// The deepest nesting of groups.
const MAX_DEPTH: usize = 16;

/// A part of a way through an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// A character as it is.
    Char(char),
    /// Any character of a class, as a glob has it.
    Class(String),
    /// Any one character.
    One,
    /// Anything within a segment.
    Segment,
    /// Anything.
    Any,
    /// The beginning of the path.
    Start,
    /// Its end.
    End,
}

/// Returns globs that select what the expression finds in a path. `None` when no list of globs
/// does.
#[must_use]
pub fn globs(expression: &str) -> Option<Vec<String>> {
    let (verbose, text) = match expression.trim().strip_prefix("(?x)") {
        Some(rest) => (true, rest),
        None => (false, expression.trim()),
    };
    let text = if verbose {
        condensed(text)
    } else {
        text.to_owned()
    };
    let mut reader = Reader {
        chars: text.chars().collect(),
        at: 0,
        depth: 0,
    };
    let ways = reader.either()?;
    if reader.at < reader.chars.len() {
        return None;
    }
    let mut all: Vec<String> = Vec::new();
    for way in ways {
        for glob in of_way(way)? {
            Glob::parse(&glob).ok()?;
            if !all.contains(&glob) {
                all.push(glob);
            }
        }
    }
    (!all.is_empty() && all.len() <= MAX_GLOBS).then_some(all)
}

/// Removes the blanks and comments of a verbose expression.
fn condensed(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut escaped = false;
        for c in line.chars() {
            match c {
                '#' if !escaped => break,
                c if c.is_whitespace() && !escaped => {}
                c => out.push(c),
            }
            escaped = c == '\\' && !escaped;
        }
    }
    out
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

type Ways = Vec<Vec<Part>>;

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is = self.peek() == Some(wanted);
        self.at += usize::from(is);
        is
    }

    fn either(&mut self) -> Option<Ways> {
        let mut ways = self.sequence()?;
        while self.takes('|') {
            ways.extend(self.sequence()?);
            if ways.len() > MAX_GLOBS {
                return None;
            }
        }
        Some(ways)
    }

    fn sequence(&mut self) -> Option<Ways> {
        let mut ways: Ways = vec![Vec::new()];
        while let Some(c) = self.peek() {
            if c == '|' || c == ')' {
                break;
            }
            let atom = self.atom()?;
            let atom = self.repeated(atom)?;
            let mut next = Vec::new();
            for way in &ways {
                for part in &atom {
                    next.push(way.iter().chain(part).cloned().collect());
                }
            }
            if next.len() > MAX_GLOBS {
                return None;
            }
            ways = next;
        }
        Some(ways)
    }

    fn atom(&mut self) -> Option<Ways> {
        let c = self.peek()?;
        self.at += 1;
        let one = |part| Some(vec![vec![part]]);
        match c {
            '(' => {
                if self.takes('?') && !self.takes(':') {
                    return None;
                }
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return None;
                }
                let ways = self.either()?;
                self.depth -= 1;
                self.takes(')').then_some(ways)
            }
            '[' => {
                let class = self.class()?;
                one(class)
            }
            '^' => one(Part::Start),
            '$' => one(Part::End),
            // Before an ending, a dot without `\` is meant as one.
            '.' if self.before_ending() => one(Part::Char('.')),
            '.' => one(Part::One),
            '\\' => {
                let c = self.peek()?;
                self.at += 1;
                match c {
                    'A' => one(Part::Start),
                    'Z' | 'z' => one(Part::End),
                    'd' => one(Part::Class("[0-9]".to_owned())),
                    'w' => one(Part::Class("[0-9A-Z_a-z]".to_owned())),
                    c if c.is_alphanumeric() => None,
                    c => one(Part::Char(c)),
                }
            }
            '*' | '+' | '?' | '{' | '}' | ']' | ')' => None,
            c => one(Part::Char(c)),
        }
    }

    /// Whether the dot that was just read is between a name and the ending that is the last of
    /// its way.
    fn before_ending(&self) -> bool {
        let before = self.at.checked_sub(2).and_then(|at| self.chars.get(at));
        let after = self.chars.get(self.at..).unwrap_or_default();
        let ending = after.iter().take_while(|c| c.is_ascii_alphanumeric());
        let ending = ending.count();
        before.is_some_and(|c| c.is_alphanumeric())
            && (1..=5).contains(&ending)
            && matches!(after.get(ending), None | Some('$' | ')' | '|'))
    }

    /// A class; `[^/]` is a wildcard within a segment.
    fn class(&mut self) -> Option<Part> {
        let negative = self.takes('^');
        let mut members = String::new();
        loop {
            let c = self.peek()?;
            self.at += 1;
            match c {
                ']' if !members.is_empty() => break,
                '\\' => {
                    let c = self.peek()?;
                    self.at += 1;
                    match c {
                        'd' => members.push_str("0-9"),
                        'w' => members.push_str("0-9A-Z_a-z"),
                        c if c.is_alphanumeric() => return None,
                        c => members.push(c),
                    }
                }
                '[' => return None,
                c => members.push(c),
            }
        }
        if negative {
            return (members == "/").then_some(Part::Segment);
        }
        let plain = |c: char| c.is_alphanumeric() || "-_.+ ".contains(c);
        members
            .chars()
            .all(plain)
            .then(|| Part::Class(format!("[{members}]")))
    }

    fn repeated(&mut self, atom: Ways) -> Option<Ways> {
        let Some(c) = self.peek().filter(|c| "*+?".contains(*c)) else {
            // `[^/]` alone is one character.
            return match atom.as_slice() {
                [way] if *way == [Part::Segment] => Some(vec![vec![Part::One]]),
                _ => (self.peek() != Some('{')).then_some(atom),
            };
        };
        self.at += 1;
        // Whether it takes much or little makes no difference to whether there is a match.
        self.takes('?');
        if c == '?' {
            let mut ways = atom;
            ways.push(Vec::new());
            return Some(ways);
        }
        let [way] = atom.as_slice() else { return None };
        match way.as_slice() {
            [Part::One] => Some(vec![vec![Part::Any]]),
            [Part::Segment | Part::Class(_)] => Some(vec![vec![Part::Segment]]),
            _ => None,
        }
    }
}

/// The globs of one way through an expression.
fn of_way(mut way: Vec<Part>) -> Option<Vec<String>> {
    if way.first() == Some(&Part::Start) {
        way.remove(0);
    } else {
        way.insert(0, Part::Any);
    }
    if way.last() == Some(&Part::End) {
        way.pop();
    } else {
        way.push(Part::Any);
    }
    way.dedup_by(|a, b| *a == Part::Any && *b == Part::Any);
    let mut globs = vec![String::new()];
    let mut parts = way.into_iter().peekable();
    while let Some(part) = parts.next() {
        let next = parts.peek();
        let mut grown = Vec::new();
        for glob in &globs {
            let text = match &part {
                Part::Char(c) => escape(&c.to_string()),
                Part::Class(class) => class.clone(),
                Part::One => "?".to_owned(),
                Part::Segment => "*".to_owned(),
                Part::Any => {
                    grown.extend(anything(glob, next)?);
                    continue;
                }
                Part::Start | Part::End => return None,
            };
            grown.push(format!("{glob}{text}"));
        }
        globs = grown;
        if globs.len() > MAX_GLOBS {
            return None;
        }
    }
    // `**` beside a wildcard of the same segment says no more than the wildcard.
    Some(globs.into_iter().filter(|glob| !glob.is_empty()).collect())
}

/// The globs that go on with anything, before the next part.
fn anything(before: &str, next: Option<&Part>) -> Option<Vec<String>> {
    let fresh = before.is_empty() || before.ends_with('/');
    // `**` before `**` says nothing more.
    if let Some(deep) = before.strip_suffix("**/") {
        return Some(match next {
            None => vec![format!("{deep}**")],
            Some(Part::Char('/')) => return None,
            Some(_) => vec![format!("{before}*")],
        });
    }
    Some(match (fresh, next) {
        (true, None) => vec![format!("{before}**")],
        (false, None) => vec![format!("{before}*"), format!("{before}*/**")],
        (true, Some(Part::Char('/'))) => vec![format!("{before}*/**")],
        (false, Some(Part::Char('/'))) => {
            vec![format!("{before}*"), format!("{before}*/**")]
        }
        (true, Some(_)) => vec![format!("{before}**/*")],
        (false, Some(_)) => vec![format!("{before}*"), format!("{before}*/**/*")],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::path::RepoPath;

    #[test]
    fn globs_of_expressions() {
        for (expression, want) in [
            ("^src/", Some(vec!["src/**"])),
            (r"\.py$", Some(vec!["**/*.py"])),
            (r"\.pyi?$", Some(vec!["**/*.pyi", "**/*.py"])),
            (r"^src/.*\.py$", Some(vec!["src/**/*.py"])),
            (r"^(a|b)/", Some(vec!["a/**", "b/**"])),
            (r"^docs/index\.md$", Some(vec!["docs/index.md"])),
            (
                r"\.(js|tsx?)$",
                Some(vec!["**/*.js", "**/*.tsx", "**/*.ts"]),
            ),
            (r"(^|/)tests/", Some(vec!["tests/**", "*/**/tests/**"])),
            (
                "(?x)^(\n  a/  # one\n  | b\\.txt$\n)",
                Some(vec!["a/**", "b.txt"]),
            ),
            (
                r"^\.github/workflows/[^/]+\.ya?ml$",
                Some(vec![".github/workflows/*.yaml", ".github/workflows/*.yml"]),
            ),
            ("^foo", Some(vec!["foo*", "foo*/**"])),
            (r"^v\d/", Some(vec!["v[0-9]/**"])),
            ("^setup.py$", Some(vec!["setup.py"])),
            (r"^(AB.rst|c/D.rst)$", Some(vec!["AB.rst", "c/D.rst"])),
            ("^a.b/", Some(vec!["a?b/**"])),
            // What no list of globs says.
            (r"^(?!docs/)", None),
            (r"(?i)\.md$", None),
            (r"^(ab)+/", None),
            (r"a{2}", None),
            (r"(", None),
            (r"[", None),
            (r"\", None),
            (r"a$b", None),
        ] {
            let got = globs(expression);
            let got: Option<Vec<&str>> =
                got.as_ref().map(|g| g.iter().map(String::as_str).collect());
            assert_eq!(got, want, "{expression}");
        }
    }

    #[test]
    fn globs_select_what_expressions_find() {
        let paths = [
            "a.py",
            "src/a.py",
            "src/b/c.py",
            "src/b.pyi",
            "tests/a.py",
            "x/tests/a.py",
            "docs/a.md",
            "docs/b/a.md",
            "setup.py",
            "contests/a",
            "srcs/a.py",
            "foo",
            "foo/bar",
            "foob/ar",
            ".github/workflows/ci.yml",
            "a-b/c.d",
        ];
        for expression in [
            "^src/",
            r"\.py$",
            r"\.pyi?$",
            r"^src/.*\.py$",
            r"(^|/)tests/",
            "tests/",
            "^foo",
            "oo",
            r"^(docs|src)/.*",
            r"^docs/[^/]*\.md$",
            r"/tests/",
            r"^.*\.md$",
            "b",
            r"c\.py",
            "",
            r"^src/.*/c",
            "^$|^a",
        ] {
            let Some(globs) = globs(expression) else {
                assert_eq!(expression, "^$|^a", "{expression} has globs");
                continue;
            };
            let regex = regex::Regex::new(expression).unwrap();
            for path in paths {
                let parsed = RepoPath::parse(path.as_bytes()).unwrap();
                let selected = globs
                    .iter()
                    .any(|glob| Glob::parse(glob).unwrap().matches(&parsed));
                assert_eq!(
                    selected,
                    regex.is_match(path),
                    "{expression}: {path}: {globs:?}"
                );
            }
        }
    }
}
