//! What does the text of a lock consist of? Linear in its length, without recursion, and never failing.
//!
//! Read is what KDL 2 (sections 3.1 to 3.20 of its specification) calls nodes with arguments and properties; see the room's
//! header for what is left out. A line with a mistake is left out as a whole, and reading goes on behind it.

use super::error::{ANEW, CONFLICT, SYNTAX, TOO_MANY};
use crate::base::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::base::span::{Place, SourceId, Span};
use crate::base::word::is_unsafe_to_show;

/// So many mistakes are listed; a lock with more of them is none.
const MAX_MISTAKES: usize = 50;
/// So many values a node may have; none that is known has as many.
const MAX_VALUES: usize = 16;

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Nodes and lines with mistakes, in the order of the text.
    pub items: Vec<Item>,
    /// The comments.
    pub comments: Vec<Span>,
    /// The line ends that end a node: not those in comments, and none behind a `\`.
    pub line_ends: Vec<Span>,
    /// A comment without end, or too many mistakes: behind that nothing was read.
    pub hopeless: bool,
}

#[derive(Debug)]
pub(super) enum Item {
    Node(Node),
    /// A line, or a part of one, that is no node. It has been reported.
    Junk(Span),
}

#[derive(Debug)]
pub(super) struct Node {
    pub name: Value,
    pub values: Vec<Property>,
    /// From the name to the last value.
    pub span: Span,
}

/// An argument (without name) or a property.
#[derive(Debug)]
pub(super) struct Property {
    pub name: Option<Value>,
    pub value: Value,
}

#[derive(Debug)]
pub(super) struct Value {
    pub text: String,
    /// In quotes.
    pub quoted: bool,
    pub span: Span,
}

pub(super) fn scan(text: &str, source: SourceId, sink: &mut Diagnostics) -> Scan {
    let mut scanner = Scanner { text, at: 0, source, sink, mistakes: 0, out: Scan::default() };
    scanner.run();
    scanner.out
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    source: SourceId,
    sink: &'a mut Diagnostics,
    mistakes: usize,
    out: Scan,
}

/// What stands between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    Nothing,
    Blank,
    /// A line end or `;`, or the end of the text.
    End,
}

/// A mistake; it has been reported.
struct Reported;

type Step<T> = Result<T, Reported>;

const MARKERS: [&str; 4] = ["<<<<<<<", "=======", ">>>>>>>", "|||||||"];

impl Scanner<'_> {
    fn run(&mut self) {
        if self.rest().starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        while !self.out.hopeless {
            let start = self.at;
            if self.marker() {
                continue;
            }
            match self.gap() {
                Ok(Gap::End) if self.at == self.text.len() => return,
                Ok(Gap::End | Gap::Blank) if self.at > start => continue,
                Ok(_) => {}
                Err(Reported) => {
                    self.skip_line(start);
                    continue;
                }
            }
            let start = self.at;
            match self.node() {
                Ok(node) => self.out.items.push(Item::Node(node)),
                Err(Reported) => self.skip_line(start),
            }
        }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self, c: char) {
        self.at += c.len_utf8();
    }

    fn mistake<T>(&mut self, code: Code, span: Span, message: &str, label: &str, help: &str) -> Step<T> {
        self.mistakes += 1;
        let place = Place::new(self.source, span);
        if self.mistakes > MAX_MISTAKES {
            let message = format!("the lock has more than {MAX_MISTAKES} mistakes");
            self.sink
                .push(Diagnostic::error(TOO_MANY, message).label(place, "nothing was read from here on").help(ANEW));
            self.out.hopeless = true;
        } else {
            self.sink.push(Diagnostic::error(code, message).label(place, label).help(help));
        }
        Err(Reported)
    }

    fn syntax<T>(&mut self, span: Span, message: &str, label: &str) -> Step<T> {
        self.mistake(SYNTAX, span, message, label, ANEW)
    }

    /// The character that is next, for a message.
    fn next_span(&self) -> Span {
        Span::new(self.at, self.at + self.peek().map_or(0, char::len_utf8))
    }

    /// Leaves out the rest of a line with a mistake. What follows a `\` at its end is left out too.
    fn skip_line(&mut self, start: usize) {
        let from = self.at.max(start);
        let mut end = from;
        loop {
            let rest = self.text.get(end..).unwrap_or("");
            let line = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let continues = rest.get(..line).is_some_and(|l| l.trim_end_matches([' ', '\t']).ends_with('\\'));
            end += line;
            let newline = newline_length(self.text.get(end..).unwrap_or(""));
            if !continues || newline == 0 {
                break;
            }
            end += newline;
        }
        self.at = end;
        self.out.items.push(Item::Junk(Span::new(start, end)));
    }

    /// The marks of a merge, at the beginning of a line.
    fn marker(&mut self) -> bool {
        let before = self.text.get(..self.at).unwrap_or("");
        let at_line_start = before.is_empty() || before.ends_with(['\n', '\r', '\u{feff}']);
        if !at_line_start || !MARKERS.iter().any(|m| self.rest().starts_with(m)) {
            return false;
        }
        let start = self.at;
        let span = Span::new(start, start + 7);
        let help = "`vplan lock` keeps what both sides pin and is needed";
        let _ = self.mistake::<()>(CONFLICT, span, "the lock holds the marks of a merge", "not finished", help);
        self.at += self.rest().find(['\n', '\r']).unwrap_or(self.rest().len());
        self.out.items.push(Item::Junk(Span::new(start, self.at)));
        true
    }

    /// Blanks, comments, escaped line ends, and the end of a node.
    fn gap(&mut self) -> Step<Gap> {
        let start = self.at;
        loop {
            match self.peek() {
                None => return Ok(Gap::End),
                Some(c @ (' ' | '\t')) => self.bump(c),
                Some('\n' | '\r') => {
                    self.line_end();
                    return Ok(Gap::End);
                }
                Some(';') => {
                    self.at += 1;
                    return Ok(Gap::End);
                }
                Some('\\') => self.escaped_line_end()?,
                Some('/') => self.comment()?,
                Some(_) if self.at > start => return Ok(Gap::Blank),
                Some(_) => return Ok(Gap::Nothing),
            }
        }
    }

    fn line_end(&mut self) {
        let length = newline_length(self.rest());
        self.out.line_ends.push(Span::new(self.at, self.at + length));
        self.at += length;
    }

    fn escaped_line_end(&mut self) -> Step<()> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Ok(()),
                Some(c @ (' ' | '\t')) => self.bump(c),
                Some('\n' | '\r') => {
                    self.at += newline_length(self.rest());
                    return Ok(());
                }
                Some('/') => self.comment()?,
                Some(_) => {
                    let span = Span::new(start, start + 1);
                    return self.syntax(span, "`\\` stands at the end of a line", "something follows");
                }
            }
        }
    }

    fn comment(&mut self) -> Step<()> {
        let start = self.at;
        if self.rest().starts_with("//") {
            self.at += self.rest().find(['\n', '\r']).unwrap_or(self.rest().len());
        } else if self.rest().starts_with("/*") {
            let mut depth = 0_usize;
            let mut bytes = self.rest().bytes().enumerate().peekable();
            let mut end = None;
            while let Some((i, byte)) = bytes.next() {
                match (byte, bytes.peek().map(|(_, b)| *b)) {
                    (b'/', Some(b'*')) => depth += 1,
                    (b'*', Some(b'/')) => depth -= 1,
                    _ => continue,
                }
                bytes.next();
                if depth == 0 {
                    end = Some(i + 2);
                    break;
                }
            }
            let Some(length) = end else {
                let span = Span::new(start, start + 2);
                let result = self.syntax(span, "the comment has no end", "begins here");
                self.out.hopeless = true;
                return result;
            };
            self.at += length;
        } else {
            let span = Span::new(start, (start + 2).min(self.text.len()));
            let span = if self.rest().starts_with("/-") { span } else { Span::new(start, start + 1) };
            return self.syntax(span, "an entry is there or not: a lock has no `/-`", "no comment begins like this");
        }
        let span = Span::new(start, self.at);
        self.out.comments.push(span);
        let text = self.text.get(span.start..span.end).unwrap_or("");
        let nasty = text.char_indices().find(|(_, c)| is_unsafe_to_show(*c) && !matches!(c, '\n' | '\r' | '\t'));
        if let Some((i, c)) = nasty {
            self.at = span.start + i + c.len_utf8();
            let span = Span::new(span.start + i, self.at);
            return self.syntax(span, "a lock holds no invisible characters", "this one");
        }
        Ok(())
    }

    fn node(&mut self) -> Step<Node> {
        let name = self.value()?;
        let mut node = Node { span: name.span, name, values: Vec::new() };
        loop {
            match self.gap()? {
                Gap::End => return Ok(node),
                Gap::Nothing => {
                    let message = if self.peek() == Some('=') {
                        "the name of an entry has no value"
                    } else {
                        "a blank is missing"
                    };
                    let span = self.next_span();
                    return self.syntax(span, message, "here");
                }
                Gap::Blank => {}
            }
            if node.values.len() == MAX_VALUES {
                let span = self.next_span();
                return self.syntax(span, "too many values", "from here on");
            }
            let first = self.value()?;
            let property = self.property(first)?;
            node.span = node.span.to(property.value.span);
            node.values.push(property);
        }
    }

    /// The value behind a name and `=`, blanks around it allowed; without `=` the word is an argument.
    fn property(&mut self, first: Value) -> Step<Property> {
        let blanks = |s: &str| s.len() - s.trim_start_matches([' ', '\t']).len();
        let ahead = self.at + blanks(self.rest());
        if !self.text.get(ahead..).is_some_and(|r| r.starts_with('=')) {
            return Ok(Property { name: None, value: first });
        }
        self.at = ahead + 1;
        self.at += blanks(self.rest());
        let value = self.value()?;
        Ok(Property { name: Some(first), value })
    }

    fn value(&mut self) -> Step<Value> {
        match self.peek() {
            Some('"') => self.quoted(),
            Some('#') => self.raw(),
            Some(c) if is_word(c) => {
                let start = self.at;
                self.at += self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len());
                let span = Span::new(start, self.at);
                let text = self.text.get(span.start..span.end).unwrap_or("").to_owned();
                Ok(Value { text, quoted: false, span })
            }
            Some(c) => {
                let span = self.next_span();
                let message = match c {
                    '{' | '}' => "a lock has no blocks",
                    '(' | ')' => "a lock has no types",
                    c if is_unsafe_to_show(c) => "a lock holds no invisible characters",
                    _ => "a name or a value was expected",
                };
                self.syntax(span, message, "here")
            }
            None => {
                let span = self.next_span();
                self.syntax(span, "a value is missing", "here")
            }
        }
    }

    fn quoted(&mut self) -> Step<Value> {
        let start = self.at;
        if self.rest().starts_with("\"\"\"") {
            return self.syntax(Span::new(start, start + 3), "a lock has no strings of several lines", "here");
        }
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                None | Some('\n' | '\r') => {
                    let span = Span::new(start, start + 1);
                    return self.syntax(span, "the string does not end on its line", "begins here");
                }
                Some('"') => {
                    self.at += 1;
                    return Ok(Value { text, quoted: true, span: Span::new(start, self.at) });
                }
                Some('\\') => text.push(self.escape()?),
                Some(c) if is_unsafe_to_show(c) => {
                    let span = self.next_span();
                    return self.syntax(span, "a lock holds no invisible characters", "this one");
                }
                Some(c) => {
                    self.bump(c);
                    text.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> Step<char> {
        let start = self.at;
        self.at += 1;
        let short = match self.peek() {
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('t') => Some('\t'),
            Some('b') => Some('\u{8}'),
            Some('f') => Some('\u{c}'),
            Some('s') => Some(' '),
            Some(c @ ('\\' | '"')) => Some(c),
            _ => None,
        };
        if let Some(c) = short {
            self.at += 1;
            return Ok(c);
        }
        let digits = self.rest().strip_prefix("u{").and_then(|r| r.split_once('}')).map(|(digits, _)| digits);
        let valid = digits.filter(|d| (1..=6).contains(&d.len()) && d.bytes().all(|b| b.is_ascii_hexdigit()));
        match valid.and_then(|d| Some((d.len(), char::from_u32(u32::from_str_radix(d, 16).ok()?)?))) {
            Some((length, c)) => {
                self.at += length + 3;
                Ok(c)
            }
            None => self.syntax(Span::new(start, start + 1), "this is no escape", "here"),
        }
    }

    fn raw(&mut self) -> Step<Value> {
        let start = self.at;
        let hashes = self.rest().len() - self.rest().trim_start_matches('#').len();
        let body = self.at + hashes + 1;
        let opens = self.text.get(self.at + hashes..).is_some_and(|r| r.starts_with('"') && !r.starts_with("\"\"\""));
        if !opens {
            let span = Span::new(start, start + hashes);
            return self.syntax(span, "a lock has no keywords and no strings of several lines", "here");
        }
        let rest = self.text.get(body..).unwrap_or("");
        let line = rest.get(..rest.find(['\n', '\r']).unwrap_or(rest.len())).unwrap_or("");
        let close = format!("\"{}", "#".repeat(hashes));
        let Some(length) = line.find(&close) else {
            return self.syntax(Span::new(start, body), "the string does not end on its line", "begins here");
        };
        let text = line.get(..length).unwrap_or("").to_owned();
        self.at = body + length + close.len();
        if let Some((i, c)) = text.char_indices().find(|(_, c)| is_unsafe_to_show(*c)) {
            let span = Span::new(body + i, body + i + c.len_utf8());
            return self.syntax(span, "a lock holds no invisible characters", "this one");
        }
        Ok(Value { text, quoted: true, span: Span::new(start, self.at) })
    }
}

/// Characters of a bare word; a few more than KDL allows, because none of the words that a lock knows has them.
fn is_word(c: char) -> bool {
    !c.is_whitespace()
        && !is_unsafe_to_show(c)
        && !matches!(c, '\\' | '/' | '(' | ')' | '{' | '}' | ';' | '[' | ']' | '"' | '#' | '=')
}

fn newline_length(rest: &str) -> usize {
    if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with(['\n', '\r'])) }
}
