//! Parses KDL 2 text into nodes, with the place of each word.
//!
//! The one reader of plan files and of locks. It takes time in proportion to the text, counts
//! levels before it descends, and reads an unambiguous part of KDL 2 (whole numbers, texts on one
//! line).
//!
//! The `kdl` crate (6.7) writes both files and is the reference for this reader in the tests, but
//! does not replace it. Its parser overflows the stack on some hundred `{`, on a comment with a
//! thousand `* /`, on some thousand faults: a guard that keeps all that from it knows each word and
//! its place, so is a reader already. With such a guard it was measured (release build, CPU time):
//! a plan of 10,000 steps, 4.1 MB, takes the crate 2.0 s, where the whole of `vplan run --plan`
//! before its first step takes 0.27 s; a lock of 4,300 entries, 0.95 MB, about the largest that is
//! read, 0.37 s, where the whole of `vplan lock --check` takes 0.04 s (`cargo bench --bench lock`).
//! And it gives no document where reading a lock must continue after the marks of a merge.

use vplan_base::span::Span;
use vplan_base::word::is_unsafe_to_show;

/// Levels of `{`, far more than a plan has.
pub const DEEPEST: usize = 32;

/// An error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Whether it is a conflict of a merge by git.
    pub conflict: bool,
    /// One line, lower case, no full stop.
    pub message: String,
    /// The name of what is at the place, in a word or two.
    pub label: &'static str,
    /// The place of the error.
    pub span: Span,
}

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KdlName {
    /// The word without quotes and escapes.
    pub text: String,
    /// The place, quotes included.
    pub span: Span,
}

/// `(mark)name entry… { children }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KdlNode {
    /// The word in parentheses.
    pub mark: Option<KdlName>,
    /// The node's name.
    pub name: KdlName,
    /// The arguments and properties after the name.
    pub entries: Vec<NodeEntry>,
    /// The nodes in braces, if there are braces.
    pub children: Option<Vec<KdlNode>>,
}

impl KdlNode {
    /// Returns the place from the name to the last entry, without the block.
    pub fn span(&self) -> Span {
        let last = self.entries.last();
        last.map_or(self.name.span, |last| self.name.span.to(last.at))
    }
}

/// `value` or `name=value`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEntry {
    /// The name of a property.
    pub name: Option<KdlName>,
    /// The word in parentheses.
    pub mark: Option<KdlName>,
    /// The value after the name and the mark.
    pub value: KdlValue,
    /// The place of the value alone.
    pub at: Span,
}

impl NodeEntry {
    /// Returns the place of all of it.
    pub fn span(&self) -> Span {
        let first = self.name.as_ref().or(self.mark.as_ref());
        first.map_or(self.at, |first| first.span.to(self.at))
    }
}

/// The value of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KdlValue {
    /// A text in quotes.
    Text(String),
    /// A word without quotes.
    Bare(String),
    /// A whole number.
    Integer(i128),
    /// `#true`, `#false`
    Bool(bool),
    /// `#null`
    Null,
}

/// Reads a text that has its byte-order mark taken away.
///
/// # Errors
/// The first fault.
pub fn parse(text: &str) -> Result<Vec<KdlNode>, Unreadable> {
    conflicts(text)?;
    let mut reader = Reader {
        text,
        ..Reader::default()
    };
    let nodes = reader.nodes()?;
    match reader.peek() {
        Some('}') => reader.fail(1, "this `}` closes nothing"),
        _ => Ok(nodes),
    }
}

/// A text of nodes without blocks, marks and `/-`, with all that an edit must know of it.
#[derive(Clone, Debug, Default)]
pub struct KdlLines {
    /// The nodes that can be read.
    pub nodes: Vec<KdlNode>,
    /// Text outside of nodes: from a fault to the end of its line.
    pub junk: Vec<Span>,
    /// The faults, in the order of the text.
    pub faults: Vec<Unreadable>,
    /// The places of comments.
    pub comments: Vec<Span>,
    /// The line ends that end a node: not those in comments, and none after a `\`.
    pub line_ends: Vec<Span>,
    /// Whether reading stopped at the last fault: a comment is not closed, or there are too many
    /// faults.
    pub stopped: bool,
}

/// Reads a text of one node a line. A line with a fault is skipped and reading continues after it,
/// until there are more than `most`; messages call the text `what`.
pub fn lines(text: &str, what: &'static str, most: usize) -> KdlLines {
    let at = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut reader = Reader {
        text,
        at,
        flat: Some(what),
        ..Reader::default()
    };
    let (mut nodes, mut junk, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let blanks = reader.blanks(true);
        let start = reader.at;
        let found = match blanks {
            Ok(_) if reader.peek().is_none() => break,
            Ok(_) => reader.statement(),
            Err(fault) => Err(fault),
        };
        match found {
            Ok(node) => nodes.extend(node),
            Err(fault) => {
                reader.skip_line(fault.span.end);
                junk.push(Span::new(start, reader.at));
                faults.push(fault);
                reader.stopped |= faults.len() > most;
                if reader.stopped {
                    break;
                }
            }
        }
    }
    KdlLines {
        nodes,
        junk,
        faults,
        comments: reader.comments,
        line_ends: reader.line_ends,
        stopped: reader.stopped,
    }
}

/// Checks for the conflict markers of `git merge`.
///
/// # Errors
/// The first conflict marker.
pub fn conflicts(text: &str) -> Result<(), Unreadable> {
    let mut start = 0;
    for line in text.split('\n') {
        if is_marker(line) {
            return Err(conflict(start));
        }
        start += line.len() + 1;
    }
    Ok(())
}

fn is_marker(line: &str) -> bool {
    let marker = |m: &str| {
        line.strip_prefix(m)
            .is_some_and(|r| r.is_empty() || r.starts_with([' ', '\r', '\n']))
    };
    ["<<<<<<<", ">>>>>>>", "=======", "|||||||"]
        .into_iter()
        .any(marker)
}

fn conflict(at: usize) -> Unreadable {
    let message = "a merge left a conflict here";
    Unreadable {
        conflict: true,
        ..unreadable(message, "not finished", Span::new(at, at + 7))
    }
}

fn unreadable(message: impl Into<String>, label: &'static str, span: Span) -> Unreadable {
    Unreadable {
        conflict: false,
        message: message.into(),
        label,
        span,
    }
}

/// Returns the first invisible character, with its offset.
fn hidden(text: &str) -> Option<(usize, char)> {
    let carriage = |at: usize| text.get(at..).is_some_and(|rest| rest.starts_with("\r\n"));
    text.char_indices()
        .find(|(at, c)| !matches!(c, '\n' | '\t') && is_unsafe_to_show(*c) && !carriage(*at))
}

#[derive(Default)]
struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// The name, in messages, of a text without blocks, marks and `/-`.
    flat: Option<&'static str>,
    comments: Vec<Span>,
    line_ends: Vec<Span>,
    stopped: bool,
}

type Read<T> = Result<T, Unreadable>;

const ONE_LINE: &str = "a text stands on one line here, in one pair of quotes";

impl<'a> Reader<'a> {
    fn before(&self) -> &'a str {
        self.text.get(..self.at).unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn fail<T>(&self, len: usize, message: impl Into<String>) -> Read<T> {
        self.fail_with(len, message, "here")
    }

    fn fail_with<T>(&self, len: usize, message: impl Into<String>, label: &'static str) -> Read<T> {
        let end = self.text.floor_char_boundary(self.at + len);
        Err(unreadable(message, label, Span::new(self.at, end)))
    }

    fn fail_at<T>(&self, start: usize, message: impl Into<String>) -> Read<T> {
        Err(unreadable(message, "here", Span::new(start, self.at)))
    }

    fn unclosed<T>(&self, len: usize, message: &str) -> Read<T> {
        self.fail_with(len, message, "begins here")
    }

    /// Fails: something else than the required word or blank is here.
    fn unexpected<T>(&self, message: &str) -> Read<T> {
        if self.newline() == 0 {
            let next = self.peek().map(String::from);
            self.check_visible(&next.unwrap_or_default(), 0)?;
        }
        match (self.peek(), self.flat) {
            (Some('{' | '}'), Some(what)) => self.fail(1, format!("{what} has no blocks")),
            (Some('(' | ')'), Some(what)) => self.fail(1, format!("{what} has no types")),
            (Some('/'), Some(what)) if self.rest().starts_with("/-") => {
                self.fail(2, format!("an entry is there or not: {what} has no `/-`"))
            }
            (Some(c), _) if self.newline() == 0 => self.fail(c.len_utf8(), message),
            _ => self.fail(0, message),
        }
    }

    /// Checks that this part of the text, `from` bytes after here, has no invisible character.
    fn check_visible(&self, part: &str, from: usize) -> Read<()> {
        let Some((at, c)) = hidden(part) else {
            return Ok(());
        };
        let code = u32::from(c);
        let message = format!(
            "the character U+{code:04X}, which nobody sees, must be written `\\u{{{code:x}}}`"
        );
        let start = self.at + from + at;
        let span = Span::new(start, start + c.len_utf8());
        Err(unreadable(message, "this one", span))
    }

    /// Returns the length in bytes of the line end at this place.
    fn newline(&self) -> usize {
        match self.rest().as_bytes() {
            [b'\r', b'\n', ..] => 2,
            [b'\n', ..] => 1,
            _ => 0,
        }
    }

    fn line_end(&mut self) {
        let span = Span::new(self.at, self.at + self.newline());
        self.line_ends.push(span);
        self.at = span.end;
    }

    /// Skips the rest of a line with a fault, and the next line after a `\` at its end.
    fn skip_line(&mut self, from: usize) {
        self.at = self.at.max(from);
        loop {
            let line = self.rest().split('\n').next().unwrap_or_default();
            let line = line.trim_end_matches('\r');
            self.at += line.len();
            if !line.trim_end_matches([' ', '\t']).ends_with('\\') || self.newline() == 0 {
                return;
            }
            self.at += self.newline();
        }
    }

    /// Reads nodes up to the end or the `}` of the block, which is not consumed.
    fn nodes(&mut self) -> Read<Vec<KdlNode>> {
        let mut nodes = Vec::new();
        loop {
            self.blanks(true)?;
            if matches!(self.peek(), None | Some('}')) {
                return Ok(nodes);
            }
            nodes.extend(self.statement()?);
        }
    }

    /// Reads a node, or none: one after `/-`, or the `;` that an edit of a lock leaves where a node
    /// was.
    fn statement(&mut self) -> Read<Option<KdlNode>> {
        if self.peek() == Some(';') {
            if self.flat.is_none() {
                return self.fail(1, "nothing stands in front of this `;`");
            }
            self.at += 1;
            return Ok(None);
        }
        let dropped = self.slashdash(true)?;
        let node = self.node()?;
        // The crate does not take a `;` here, although KDL does.
        if dropped && self.before().ends_with(';') {
            let message = "a node that is left out ends with its line";
            return self.fail_at(node.name.span.start, message);
        }
        Ok((!dropped).then_some(node))
    }

    /// Reads `/-` in front of an element that is to be ignored.
    fn slashdash(&mut self, lines: bool) -> Read<bool> {
        if self.flat.is_some() || !self.rest().starts_with("/-") {
            return Ok(false);
        }
        self.at += 2;
        self.blanks(lines)?;
        if self.rest().starts_with("/-") || matches!(self.peek(), None | Some('}' | ';')) {
            return self.fail(1, "`/-` must stand in front of what it leaves out");
        }
        Ok(true)
    }

    fn node(&mut self) -> Read<KdlNode> {
        let mark = self.mark()?;
        let name = self.name()?;
        let mut node = KdlNode {
            mark,
            name,
            entries: Vec::new(),
            children: None,
        };
        loop {
            let blank = self.blanks(false)?;
            match self.peek() {
                None | Some('}') => return Ok(node),
                Some(';') => {
                    self.at += 1;
                    return Ok(node);
                }
                Some(_) if self.newline() > 0 => {
                    self.line_end();
                    return Ok(node);
                }
                Some('/') if self.rest().starts_with("//") => return Ok(node),
                _ => {}
            }
            let dropped = self.slashdash(true)?;
            if dropped && !blank {
                return self.fail(1, "a blank is expected in front of `/-`");
            }
            if self.peek() == Some('{') && self.flat.is_none() {
                let children = self.block()?;
                if !dropped && node.children.replace(children).is_some() {
                    return self.fail_at(node.name.span.start, "this node has two blocks");
                }
                self.blanks(false)?;
                let ends =
                    matches!(self.peek(), None | Some('}' | ';' | '{' | '/')) || self.newline() > 0;
                if !ends {
                    return self.unexpected("a line end or `;` is expected behind a block");
                }
            } else if node.children.is_some() {
                return self.fail(1, "nothing but a line end stands behind a block");
            } else if !blank {
                return self.unexpected("a blank is expected here");
            } else {
                let entry = self.entry()?;
                node.entries.extend((!dropped).then_some(entry));
            }
        }
    }

    /// Reads a block. INVARIANT (depth): only this function descends a level, and it counts them.
    fn block(&mut self) -> Read<Vec<KdlNode>> {
        let start = self.at;
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail(1, "blocks are nested too deeply");
        }
        self.at += 1;
        let children = self.nodes()?;
        if self.peek() != Some('}') {
            self.at = start;
            return self.unclosed(1, "this `{` is not closed");
        }
        self.at += 1;
        self.depth -= 1;
        Ok(children)
    }

    fn entry(&mut self) -> Read<NodeEntry> {
        let mark = self.mark()?;
        let start = self.at;
        let value = self.value()?;
        let mut entry = NodeEntry {
            name: None,
            mark,
            value,
            at: Span::new(start, self.at),
        };
        let behind = self.rest().trim_start_matches([' ', '\t']);
        let is_marked = entry.mark.is_some();
        if let Some(behind) = behind.strip_prefix('=').filter(|_| !is_marked) {
            entry.name = Some(self.to_name(entry.value, start)?);
            self.at = self.text.len() - behind.trim_start_matches([' ', '\t']).len();
            entry.mark = self.mark()?;
            let start = self.at;
            entry.value = self.value()?;
            entry.at = Span::new(start, self.at);
        }
        Ok(entry)
    }

    fn name(&mut self) -> Read<KdlName> {
        let start = self.at;
        let value = self.value()?;
        self.to_name(value, start)
    }

    fn to_name(&self, value: KdlValue, start: usize) -> Read<KdlName> {
        match value {
            KdlValue::Text(text) | KdlValue::Bare(text) => Ok(KdlName {
                text,
                span: Span::new(start, self.at),
            }),
            KdlValue::Integer(_) | KdlValue::Bool(_) | KdlValue::Null => {
                self.fail_at(start, "a name is expected here")
            }
        }
    }

    /// Reads `(word)`.
    fn mark(&mut self) -> Read<Option<KdlName>> {
        if self.flat.is_some() || self.peek() != Some('(') {
            return Ok(None);
        }
        let open = self.at;
        self.at += 1;
        let name = self.name()?;
        if self.peek() != Some(')') {
            return self.fail_at(open, "this `(` is not closed");
        }
        self.at += 1;
        Ok(Some(name))
    }

    /// Skips blanks and comments, line ends too if they mean nothing here. Returns whether there
    /// were any. At a fault the reader stays in front of it.
    fn blanks(&mut self, lines: bool) -> Read<bool> {
        let start = self.at;
        loop {
            let rest = self.rest();
            if rest.starts_with([' ', '\t']) {
                self.at += 1;
            } else if lines && self.newline() > 0 {
                self.line_end();
            } else if rest.starts_with("/*") || (lines && rest.starts_with("//")) {
                self.comment()?;
            } else if rest.starts_with('\\') {
                self.escaped_line_end()?;
            } else if is_marker(rest) && self.begins_line() {
                return Err(conflict(self.at));
            } else {
                return Ok(self.at > start);
            }
        }
    }

    fn begins_line(&self) -> bool {
        self.before().is_empty() || self.before().ends_with(['\n', '\u{feff}'])
    }

    /// Skips a line end after `\`.
    fn escaped_line_end(&mut self) -> Read<()> {
        let start = self.at;
        self.at += 1;
        loop {
            let rest = self.rest();
            if rest.starts_with([' ', '\t']) {
                self.at += 1;
            } else if rest.starts_with("//") || rest.starts_with("/*") {
                self.comment()?;
            } else if rest.is_empty() || self.newline() > 0 {
                self.at += self.newline();
                return Ok(());
            } else {
                self.at = start;
                let message = "`\\` stands at the end of a line";
                return self.fail_with(1, message, "something follows");
            }
        }
    }

    fn comment(&mut self) -> Read<()> {
        let rest = self.rest();
        let length = if rest.starts_with("//") {
            let line = rest.split('\n').next().unwrap_or_default();
            let ends = line.len() < rest.len();
            let shown = line.strip_suffix('\r').filter(|_| ends);
            shown.unwrap_or(line).len()
        } else {
            let Some(length) = comment_length(rest) else {
                self.stopped = true;
                return self.unclosed(2, "this comment is not closed");
            };
            length
        };
        self.check_visible(rest.get(..length).unwrap_or_default(), 0)?;
        self.comments.push(Span::new(self.at, self.at + length));
        self.at += length;
        Ok(())
    }

    fn value(&mut self) -> Read<KdlValue> {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quoted().map(KdlValue::Text);
        }
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        if hashes > 0 && rest.get(hashes..).is_some_and(|r| r.starts_with('"')) {
            return self.raw(hashes).map(KdlValue::Text);
        }
        let ends =
            |c: char| c.is_whitespace() || "\\/(){}[];\"=,<>".contains(c) || is_unsafe_to_show(c);
        let word = rest.split(ends).next().unwrap_or_default();
        let begins = |at: usize| word.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let sign = usize::from(word.starts_with(['+', '-']));
        self.at += word.len();
        if begins(sign) {
            let digits: String = word.chars().filter(|c| *c != '_').collect();
            return match digits.parse() {
                Ok(number) => Ok(KdlValue::Integer(number)),
                Err(_) => self.fail_at(start, "numbers are whole, and written in decimal"),
            };
        }
        match word {
            "" => self.unexpected("a word is expected here"),
            "#true" => Ok(KdlValue::Bool(true)),
            "#false" => Ok(KdlValue::Bool(false)),
            "#null" => Ok(KdlValue::Null),
            "true" | "false" | "null" | "inf" | "-inf" | "nan" => {
                self.fail_at(start, format!("it is written `#{word}`, or in quotes"))
            }
            _ if word.contains('#') => self.fail_at(start, "nothing is written with this `#`"),
            // `.5` and `-.5` are not names.
            _ if word.as_bytes().get(sign) == Some(&b'.') && begins(sign + 1) => {
                self.fail_at(start, "numbers are whole, and written in decimal")
            }
            _ => Ok(KdlValue::Bare(word.to_owned())),
        }
    }

    /// Reads a text in quotes on one line.
    fn quoted(&mut self) -> Read<String> {
        if self.rest().starts_with("\"\"\"") {
            return self.fail(3, ONE_LINE);
        }
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            let rest = self.rest();
            let plain = rest.split(['"', '\\', '\n']).next().unwrap_or_default();
            let end = rest.as_bytes().get(plain.len());
            if !matches!(end, Some(b'"' | b'\\')) {
                self.at = start;
                return self.unclosed(1, "this text is not closed");
            }
            self.check_visible(plain, 0)?;
            text.push_str(plain);
            self.at += plain.len();
            if end == Some(&b'"') {
                self.at += 1;
                return Ok(text);
            }
            text.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Read<char> {
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
                let digits = rest.strip_prefix("u{").and_then(|r| r.split_once('}'));
                let digits = digits.map_or("", |(digits, _)| digits);
                let is_number = digits.len() <= 6 && digits.bytes().all(|b| b.is_ascii_hexdigit());
                let number = u32::from_str_radix(digits, 16).ok();
                let Some(c) = number.filter(|_| is_number).and_then(char::from_u32) else {
                    return self.fail(3, "no character has this number");
                };
                self.at += digits.len() + 4;
                return Ok(c);
            }
            _ => return self.fail(1, "nothing is written with this `\\`"),
        };
        self.at += 2;
        Ok(c)
    }

    /// Reads a text between quotes and `#` as many as in front, on one line, in which nothing is
    /// escaped.
    fn raw(&mut self, hashes: usize) -> Read<String> {
        let close = format!("\"{}", "#".repeat(hashes));
        let inner = self.rest().get(hashes + 1..).unwrap_or_default();
        if inner.starts_with("\"\"") {
            return self.fail(hashes + 3, ONE_LINE);
        }
        let line = inner.split('\n').next().unwrap_or_default();
        match line.split_once(&close) {
            Some((text, _)) => {
                self.check_visible(text, hashes + 1)?;
                self.at += hashes + 1 + text.len() + close.len();
                Ok(text.to_owned())
            }
            None => self.unclosed(hashes + 1, "this text is not closed"),
        }
    }
}

/// Returns the length in bytes of the `/* … */` at the beginning, nested ones included.
fn comment_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match (byte, bytes.peek().map(|(_, next)| *next)) {
            (b'/', Some(b'*')) => depth += 1,
            (b'*', Some(b'/')) => depth -= 1,
            _ => continue,
        }
        bytes.next();
        if depth == 0 {
            return Some(at + 2);
        }
    }
    None
}
