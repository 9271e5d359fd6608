//! What does a KDL 2 text say, node by node, with the place of each word?
//!
//! The `kdl` crate mends what it cannot read and goes on, in a recursion that some two thousand faults, or as many braces,
//! bring to the end of the stack. This reader stops at the first fault, counts the levels, and takes time in proportion to the
//! text; what it accepts is a part of KDL 2 (whole numbers, texts on one line) in which the crate has nothing to mend.

use crate::base::span::Span;
use crate::base::word::is_unsafe_to_show;

/// Levels of `{`, far more than a plan or a lock has; of `/*` in `/*` too.
pub const DEEPEST: usize = 32;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// A conflict that git left behind.
    pub conflict: bool,
    /// One line, lower case, no full stop.
    pub message: String,
    /// Where.
    pub span: Span,
}

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Without quotes and escapes.
    pub text: String,
    /// With its quotes.
    pub span: Span,
}

/// `(mark)name entry… { children }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The word in parentheses.
    pub mark: Option<Name>,
    /// What it is called.
    pub name: Name,
    /// What stands behind the name.
    pub entries: Vec<Entry>,
    /// What stands in braces, if there are any.
    pub children: Option<Vec<Node>>,
}

/// `value` or `name=value`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Of a property.
    pub name: Option<Name>,
    /// The word in parentheses.
    pub mark: Option<Name>,
    /// What it says.
    pub value: Value,
    /// All of it.
    pub span: Span,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text, in quotes or bare.
    Text(String),
    /// A whole number.
    Integer(i128),
    /// `#true`, `#false`
    Bool(bool),
    /// `#null`
    Null,
}

/// Reads a text.
///
/// # Errors
/// The first fault.
pub fn parse(text: &str) -> Result<Vec<Node>, Unreadable> {
    conflicts(text)?;
    if let Some((at, c)) = text.char_indices().find(|(_, c)| !matches!(c, '\n' | '\t') && is_unsafe_to_show(*c)) {
        let message = format!(
            "the character U+{:04X}, which nobody sees, must be written `\\u{{{:x}}}`",
            u32::from(c),
            u32::from(c)
        );
        return Err(Unreadable { conflict: false, message, span: Span::new(at, at + c.len_utf8()) });
    }
    let mut reader = Reader { text, at: 0, depth: 0 };
    let nodes = reader.nodes()?;
    match reader.peek() {
        Some('}') => reader.fail(1, "this `}` closes nothing"),
        _ => Ok(nodes),
    }
}

/// Looks for what `git merge` writes into a file that it could not merge.
///
/// # Errors
/// The first such line.
pub fn conflicts(text: &str) -> Result<(), Unreadable> {
    let mut start = 0;
    for line in text.split('\n') {
        let marker =
            |m: &str| line.strip_prefix(m).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\r']));
        if ["<<<<<<<", ">>>>>>>", "=======", "|||||||"].into_iter().any(marker) {
            let message = "a merge left a conflict here".to_owned();
            return Err(Unreadable { conflict: true, message, span: Span::new(start, start + 7) });
        }
        start += line.len() + 1;
    }
    Ok(())
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// What a word was, before anybody knows whether it is a name or a value.
enum Token {
    Bare(String),
    Quoted(String),
    Other(Value),
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn fail<T>(&self, len: usize, message: impl Into<String>) -> Result<T, Unreadable> {
        let end = (self.at + len).min(self.text.len());
        Err(Unreadable { conflict: false, message: message.into(), span: Span::new(self.at, end) })
    }

    fn fail_at<T>(&self, start: usize, message: impl Into<String>) -> Result<T, Unreadable> {
        Err(Unreadable { conflict: false, message: message.into(), span: Span::new(start, self.at) })
    }

    /// Nodes up to the end or the `}` of the block, which is left.
    fn nodes(&mut self) -> Result<Vec<Node>, Unreadable> {
        let mut nodes = Vec::new();
        loop {
            self.blanks(true)?;
            match self.peek() {
                None | Some('}') => return Ok(nodes),
                Some(';') => return self.fail(1, "nothing stands in front of this `;`"),
                Some(_) => {
                    let dropped = self.slashdash(true)?;
                    let node = self.node()?;
                    // The crate does not take a `;` here, whatever KDL says.
                    if dropped && self.text.get(..self.at).is_some_and(|read| read.ends_with(';')) {
                        return self.fail_at(node.name.span.start, "a node that is left out ends with its line");
                    }
                    nodes.extend((!dropped).then_some(node));
                }
            }
        }
    }

    /// `/-` in front of what is to be left out.
    fn slashdash(&mut self, lines: bool) -> Result<bool, Unreadable> {
        if !self.rest().starts_with("/-") {
            return Ok(false);
        }
        self.at += 2;
        self.blanks(lines)?;
        if self.rest().starts_with("/-") || matches!(self.peek(), None | Some('}' | ';')) {
            return self.fail(1, "`/-` must stand in front of what it leaves out");
        }
        Ok(true)
    }

    fn node(&mut self) -> Result<Node, Unreadable> {
        let mark = self.mark()?;
        let start = self.at;
        let name = match self.token()? {
            Token::Bare(text) | Token::Quoted(text) => Name { text, span: Span::new(start, self.at) },
            Token::Other(_) => return self.fail_at(start, "a name is expected here"),
        };
        let mut node = Node { mark, name, entries: Vec::new(), children: None };
        loop {
            let blank = self.blanks(false)?;
            match self.peek() {
                None | Some('}') => return Ok(node),
                Some(';' | '\n') => {
                    self.at += 1;
                    return Ok(node);
                }
                Some('/') if self.rest().starts_with("//") => return Ok(node),
                _ => {}
            }
            let dropped = self.slashdash(true)?;
            if dropped && !blank {
                return self.fail(1, "a blank is expected in front of `/-`");
            }
            if self.peek() == Some('{') {
                let children = self.block()?;
                if !dropped && node.children.replace(children).is_some() {
                    return self.fail_at(node.name.span.start, "this node has two blocks");
                }
                self.blanks(false)?;
                let ends = matches!(self.peek(), None | Some('}' | ';' | '\n' | '{')) || self.rest().starts_with('/');
                if !ends {
                    return self.fail(1, "a line end or `;` is expected behind a block");
                }
            } else if node.children.is_some() {
                return self.fail(1, "nothing but a line end stands behind a block");
            } else if !blank {
                return self.fail(1, "a blank is expected here");
            } else {
                let entry = self.entry()?;
                node.entries.extend((!dropped).then_some(entry));
            }
        }
    }

    fn block(&mut self) -> Result<Vec<Node>, Unreadable> {
        let start = self.at;
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail(1, "blocks are nested too deeply");
        }
        self.at += 1;
        let children = self.nodes()?;
        if self.peek() != Some('}') {
            self.at = start;
            return self.fail(1, "this `{` is not closed");
        }
        self.at += 1;
        self.depth -= 1;
        Ok(children)
    }

    fn entry(&mut self) -> Result<Entry, Unreadable> {
        let start = self.at;
        let mark = self.mark()?;
        let own = self.at;
        let token = self.token()?;
        if mark.is_none() && self.peek() == Some('=') {
            let name = match token {
                Token::Bare(text) | Token::Quoted(text) => Name { text, span: Span::new(own, self.at) },
                Token::Other(_) => return self.fail_at(own, "a name is expected here"),
            };
            self.at += 1;
            let mark = self.mark()?;
            let value = value(self.token()?);
            return Ok(Entry { name: Some(name), mark, value, span: Span::new(start, self.at) });
        }
        Ok(Entry { name: None, mark, value: value(token), span: Span::new(start, self.at) })
    }

    /// `(word)`
    fn mark(&mut self) -> Result<Option<Name>, Unreadable> {
        if self.peek() != Some('(') {
            return Ok(None);
        }
        let open = self.at;
        self.at += 1;
        let start = self.at;
        let text = match self.token()? {
            Token::Bare(text) | Token::Quoted(text) => text,
            Token::Other(_) => return self.fail_at(start, "a name is expected here"),
        };
        let name = Name { text, span: Span::new(start, self.at) };
        if self.peek() != Some(')') {
            return self.fail_at(open, "this `(` is not closed");
        }
        self.at += 1;
        Ok(Some(name))
    }

    /// Blanks and comments, line ends too if they mean nothing here. Whether there were any.
    fn blanks(&mut self, lines: bool) -> Result<bool, Unreadable> {
        let start = self.at;
        loop {
            let rest = self.rest();
            if rest.starts_with([' ', '\t']) || (lines && rest.starts_with('\n')) {
                self.at += 1;
            } else if lines && rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.comment()?;
            } else if rest.starts_with('\\') {
                // A line that goes on.
                self.at += 1;
                while self.rest().starts_with([' ', '\t']) {
                    self.at += 1;
                }
                if self.rest().starts_with("//") {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                if !self.rest().starts_with('\n') {
                    return self.fail(1, "a line end is expected behind `\\`");
                }
                self.at += 1;
            } else {
                return Ok(self.at > start);
            }
        }
    }

    fn comment(&mut self) -> Result<(), Unreadable> {
        let start = self.at;
        let mut depth = 0;
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                depth += 1;
                if depth > DEEPEST {
                    return self.fail(2, "comments are nested too deeply");
                }
                self.at += 2;
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    return Ok(());
                }
            } else if let Some(c) = rest.chars().next() {
                self.at += c.len_utf8();
            } else {
                self.at = start;
                return self.fail(2, "this comment is not closed");
            }
        }
    }

    fn token(&mut self) -> Result<Token, Unreadable> {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quoted().map(Token::Quoted);
        }
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        if hashes > 0 && rest.get(hashes..).is_some_and(|r| r.starts_with('"')) {
            return self.raw(hashes).map(Token::Quoted);
        }
        let ends = |c: char| c.is_whitespace() || "\\/(){}[];\"=,<>".contains(c);
        let word = rest.split(ends).next().unwrap_or_default();
        let begins = |at: usize| word.get(at..).is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit()));
        let sign = usize::from(word.starts_with(['+', '-']));
        self.at += word.len();
        if begins(sign) {
            let digits: String = word.chars().filter(|c| *c != '_').collect();
            return match digits.parse() {
                Ok(number) => Ok(Token::Other(Value::Integer(number))),
                Err(_) => self.fail_at(start, "numbers are whole, and written in decimal"),
            };
        }
        match word {
            "" => self.fail(self.peek().map_or(0, char::len_utf8), "a word is expected here"),
            "#true" => Ok(Token::Other(Value::Bool(true))),
            "#false" => Ok(Token::Other(Value::Bool(false))),
            "#null" => Ok(Token::Other(Value::Null)),
            "true" | "false" | "null" | "inf" | "-inf" | "nan" => {
                self.fail_at(start, format!("it is written `#{word}`, or in quotes"))
            }
            _ if word.contains('#') => self.fail_at(start, "nothing is written with this `#`"),
            // `.5` and `-.5` are no names.
            _ if word.get(sign..).is_some_and(|w| w.starts_with('.')) && begins(sign + 1) => {
                self.fail_at(start, "numbers are whole, and written in decimal")
            }
            _ => Ok(Token::Bare(word.to_owned())),
        }
    }

    /// A text in quotes on one line.
    fn quoted(&mut self) -> Result<String, Unreadable> {
        if self.rest().starts_with("\"\"\"") {
            return self.fail(3, "a text stands on one line here, in one pair of quotes");
        }
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            let rest = self.rest();
            let plain = rest.find(['"', '\\', '\n']).unwrap_or(rest.len());
            text.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some('\\') => text.extend(self.escape()?),
                _ => {
                    self.at = start;
                    return self.fail(1, "this text is not closed");
                }
            }
        }
    }

    fn escape(&mut self) -> Result<Option<char>, Unreadable> {
        let rest = self.rest().get(1..).unwrap_or_default();
        let c = match rest.chars().next() {
            Some(c @ ('"' | '\\')) => c,
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('s') => ' ',
            Some('u') => {
                let digits = rest.strip_prefix("u{").and_then(|r| r.split_once('}')).map(|(digits, _)| digits);
                let digits = digits.filter(|d| (1..=6).contains(&d.len()) && d.bytes().all(|b| b.is_ascii_hexdigit()));
                let found = digits.and_then(|d| Some((d.len(), char::from_u32(u32::from_str_radix(d, 16).ok()?)?)));
                let Some((len, c)) = found else { return self.fail(3, "no character has this number") };
                self.at += len + 4;
                return Ok(Some(c));
            }
            _ => return self.fail(1, "nothing is written with this `\\`"),
        };
        self.at += 2;
        Ok(Some(c))
    }

    /// A text between quotes and `#` as many as in front, on one line, in which nothing is escaped.
    fn raw(&mut self, hashes: usize) -> Result<String, Unreadable> {
        let start = self.at;
        let close = format!("\"{}", "#".repeat(hashes));
        let inner = self.rest().get(hashes + 1..).unwrap_or_default();
        if inner.starts_with("\"\"") {
            return self.fail(hashes + 3, "a text stands on one line here, in one pair of quotes");
        }
        match inner.split('\n').next().unwrap_or_default().split_once(&close) {
            Some((text, _)) => {
                self.at = start + hashes + 1 + text.len() + close.len();
                Ok(text.to_owned())
            }
            None => self.fail(hashes + 1, "this text is not closed"),
        }
    }
}

fn value(token: Token) -> Value {
    match token {
        Token::Bare(text) | Token::Quoted(text) => Value::Text(text),
        Token::Other(value) => value,
    }
}
