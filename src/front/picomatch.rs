//! Translates globs of JavaScript's picomatch to the one dialect of the language.
//!
//! Two differences are distinguished: `wild` (here a wildcard matches names that begin with a dot,
//! there it does not), and `wider` (the glob selects more for another reason). Nothing is ever made
//! to select less.

use vplan_base::glob::Glob;

/// A pattern in the language's dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    /// Whether it began with `!`.
    pub not: bool,
    /// The glob, without the `!`.
    pub glob: String,
    /// Whether it has wildcards.
    pub wild: bool,
    /// Whether a segment of it begins with a dot.
    pub dot: bool,
    /// The reason why the glob selects more than the pattern matched, apart from dots.
    pub wider: Option<&'static str>,
}

/// The reason why a pattern has no glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {
    /// The glob is empty, which is an error there.
    Empty,
    /// The glob names nothing that a path of a repository can be.
    Outside,
}

const EXTGLOB: &str = "extended patterns `!(…)`, `+(…)`, `?(…)`, `*(…)` do not exist here";
const GROUP: &str = "a group in parentheses is not read here";
const RANGE: &str = "a range `{a..b}` does not exist here";
const CLASS: &str = "this class of characters does not exist here";
const FOLDER: &str = "a slash at the end stands for all that is below";
const OTHER: &str = "this pattern cannot be said here";

/// Translates a pattern.
pub fn translate(pattern: &str) -> Result<Translated, Never> {
    let (mut rest, mut not) = (pattern, false);
    while let Some(after) = rest
        .strip_prefix('!')
        .filter(|after| !after.starts_with('('))
    {
        (rest, not) = (after, !not);
    }
    while let Some(after) = rest.strip_prefix("./") {
        rest = after;
    }
    if rest.is_empty() {
        return Err(Never::Empty);
    }
    let outside = |segment: &str| segment == ".." || segment == ".";
    if rest.starts_with('/') || rest.contains("//") || rest.split('/').any(outside) {
        return Err(Never::Outside);
    }
    let mut reader = Reader {
        chars: rest.chars().collect(),
        at: 0,
        out: String::new(),
        wild: false,
        wider: None,
    };
    reader.read();
    let Reader {
        out,
        wild,
        mut wider,
        ..
    } = reader;
    if rest.ends_with('/') {
        wider = wider.or(Some(FOLDER));
    }
    let dot = rest.starts_with('.')
        || ["/.", "{.", ",.", "(.", "|."]
            .iter()
            .any(|d| rest.contains(d));
    if Glob::parse(&out).is_ok() {
        return Ok(Translated {
            not,
            glob: out,
            wild,
            dot,
            wider,
        });
    }
    Ok(Translated {
        not,
        glob: "**".to_owned(),
        wild: true,
        dot,
        wider: wider.or(Some(OTHER)),
    })
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    out: String,
    wild: bool,
    wider: Option<&'static str>,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Writes a star in place of something.
    fn star(&mut self, why: &'static str) {
        self.out.push('*');
        self.wild = true;
        self.wider = self.wider.or(Some(why));
    }

    fn read(&mut self) {
        let mut open = 0_usize;
        while let Some(c) = self.peek(0) {
            let next = self.peek(1);
            match (c, next) {
                ('\\', next) => {
                    self.at += 1;
                    match next {
                        Some(n) if "*?[]{}!\\".contains(n) => self.out.extend(['\\', n]),
                        Some(n) => self.out.push(n),
                        None => self.out.push_str("\\\\"),
                    }
                }
                ('@', Some('(')) => {
                    self.at += 1;
                    self.group(GROUP);
                    continue;
                }
                ('!' | '+' | '?' | '*', Some('(')) => {
                    self.at += 1;
                    self.skip_group();
                    self.star(EXTGLOB);
                    continue;
                }
                ('(', _) => {
                    self.group(GROUP);
                    continue;
                }
                ('*', _) => {
                    self.stars();
                    continue;
                }
                ('?', _) => {
                    self.out.push('?');
                    self.wild = true;
                }
                ('[', _) => {
                    self.class();
                    continue;
                }
                ('{', _) => match self.braces() {
                    Braces::List => {
                        open += 1;
                        self.out.push('{');
                    }
                    Braces::Range(length) => {
                        self.at += length;
                        self.star(RANGE);
                        continue;
                    }
                    Braces::Literal => self.out.push_str("\\{"),
                },
                ('}', _) if open > 0 => {
                    open -= 1;
                    self.out.push('}');
                }
                (']' | '}', _) => self.out.extend(['\\', c]),
                (c, _) => self.out.push(c),
            }
            self.at += 1;
        }
    }

    /// Translates stars: `**` is a whole segment or two stars in one, which are one.
    fn stars(&mut self) {
        let border = |c: Option<char>| c.is_none_or(|c| matches!(c, '/' | '{' | ',' | '}'));
        let before = self
            .at
            .checked_sub(1)
            .and_then(|i| self.chars.get(i))
            .copied();
        let count = self
            .chars
            .iter()
            .skip(self.at)
            .take_while(|c| **c == '*')
            .count();
        self.at += count;
        self.wild = true;
        let whole = count > 1 && border(before) && border(self.peek(0));
        self.out.push_str(if whole { "**" } else { "*" });
    }

    fn class(&mut self) {
        let inner = self.chars.iter().skip(self.at + 1);
        let skip = inner
            .clone()
            .take_while(|c| matches!(c, '!' | '^'))
            .take(1)
            .count();
        // A bracket that comes first belongs to the class.
        let first = usize::from(self.peek(1 + skip) == Some(']'));
        let length = inner
            .skip(skip + first)
            .position(|c| *c == ']')
            .map(|p| p + skip + first);
        let Some(length) = length else {
            self.out.push_str("\\[");
            self.at += 1;
            return;
        };
        let text: String = self.chars.iter().skip(self.at).take(length + 2).collect();
        self.at += length + 2;
        self.wild = true;
        if Glob::parse(&text).is_ok() && !text.contains("[:") {
            self.out.push_str(&text);
        } else {
            self.star(CLASS);
        }
    }

    /// Translates `(a|b)` to `{a,b}`, when there is nothing else in it.
    fn group(&mut self, why: &'static str) {
        let inner: String = self
            .chars
            .iter()
            .skip(self.at + 1)
            .take_while(|c| **c != ')')
            .collect();
        let simple = !inner.is_empty() && !inner.contains(|c: char| "(){}[]*?!+@\\,".contains(c));
        self.skip_group();
        if simple && inner.contains('|') {
            self.out
                .push_str(&format!("{{{}}}", inner.replace('|', ",")));
        } else if simple {
            self.out.push_str(&inner);
        } else {
            self.star(why);
        }
    }

    /// Skips to after the parenthesis that closes the one here.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '(' => depth += 1,
                ')' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    fn braces(&self) -> Braces {
        let (mut depth, mut comma) = (0_usize, false);
        for (length, c) in self.chars.iter().skip(self.at).enumerate() {
            match c {
                '{' => depth += 1,
                ',' if depth == 1 => comma = true,
                '}' => {
                    depth -= 1;
                    if depth == 0 {
                        let inner: String = self.chars.iter().skip(self.at).take(length).collect();
                        return match comma {
                            true => Braces::List,
                            false if inner.contains("..") => Braces::Range(length + 1),
                            false => Braces::Literal,
                        };
                    }
                }
                _ => {}
            }
        }
        Braces::Literal
    }
}

enum Braces {
    List,
    Range(usize),
    Literal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_picomatch_compat_vectors() {
        let plain = |glob: &str, wild, dot| Ok((false, glob.to_owned(), wild, dot, None));
        let wider = |glob: &str, why| Ok((false, glob.to_owned(), true, false, Some(why)));
        for (pattern, want) in [
            ("package.json", plain("package.json", false, false)),
            ("./package.json", plain("package.json", false, false)),
            ("**/auth/**", plain("**/auth/**", true, false)),
            (".github/**", plain(".github/**", true, true)),
            ("src/**.ts", plain("src/*.ts", true, false)),
            ("src/***/a", plain("src/**/a", true, false)),
            (
                "a{b,c/**}d",
                Ok((false, "**".to_owned(), true, false, Some(OTHER))),
            ),
            ("{src,lib}/**", plain("{src,lib}/**", true, false)),
            ("{**/a,b}", plain("{**/a,b}", true, false)),
            ("a{b}c", plain("a\\{b\\}c", false, false)),
            ("a}b]", plain("a\\}b\\]", false, false)),
            ("[ab", plain("\\[ab", false, false)),
            ("[^ab]x", plain("[^ab]x", true, false)),
            ("a\\.b\\*", plain("a.b\\*", false, false)),
            ("@(a|b).ts", plain("{a,b}.ts", false, false)),
            ("(a|b).ts", plain("{a,b}.ts", false, false)),
            ("!(a|b).ts", wider("*.ts", EXTGLOB)),
            ("src/+(a|(b|c))/x", wider("src/*/x", EXTGLOB)),
            ("f{1..3}", wider("f*", RANGE)),
            ("[[:alpha:]]", wider("*\\]", CLASS)),
            (
                "src/",
                Ok((false, "src/".to_owned(), false, false, Some(FOLDER))),
            ),
            (
                "!a/*.md",
                Ok((true, "a/*.md".to_owned(), true, false, None)),
            ),
            ("!!a", plain("a", false, false)),
            ("", Err(Never::Empty)),
            ("!", Err(Never::Empty)),
            ("/src/**", Err(Never::Outside)),
            ("../x", Err(Never::Outside)),
            ("a//b", Err(Never::Outside)),
        ] {
            let got = translate(pattern).map(|t| (t.not, t.glob, t.wild, t.dot, t.wider));
            assert_eq!(got, want, "{pattern}");
        }
    }
}
