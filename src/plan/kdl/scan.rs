//! May the KDL parser see this text? It overflows its stack on deep nesting, and guesses on where a text is not closed.
//!
//! The scan reads texts, raw texts, comments and braces by the rules of KDL 2, and refuses whatever it cannot read for certain,
//! so that the parser sees the same braces that were counted here.

use crate::base::span::Span;

/// Levels of `{`, far more than a plan or a lock has.
pub const DEEPEST: usize = 32;
/// Levels of `/*` in `/*`.
const DEEPEST_COMMENT: usize = 16;
/// `/-` one behind another.
const MOST_SLASHDASHES: usize = 16;

/// What is wrong with a text before anybody parses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// A conflict that git left behind.
    pub conflict: bool,
    /// One line, lower case, no full stop.
    pub message: String,
    /// Where.
    pub span: Span,
}

/// Looks a KDL text over.
///
/// # Errors
/// The first place that the parser must not see: too deep, not closed, a conflict marker, an unknown escape.
pub fn scan(text: &str) -> Result<(), Unreadable> {
    let bytes = text.as_bytes();
    let mut scan = Scan { bytes, at: 0, open: Vec::new(), slashdashes: 0 };
    conflicts(text)?;
    scan.line_ends()?;
    while scan.at < bytes.len() {
        scan.step()?;
    }
    match scan.open.pop() {
        Some(at) => Err(fault(at, 1, "this `{` is not closed")),
        None => Ok(()),
    }
}

/// Looks for what `git merge` writes into a file that it could not merge.
///
/// # Errors
/// The first such line.
pub fn conflicts(text: &str) -> Result<(), Unreadable> {
    let mut start = 0;
    for line in text.split('\n') {
        let marker = |m: &str| line.strip_prefix(m).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\r']));
        if ["<<<<<<<", ">>>>>>>", "=======", "|||||||"].into_iter().any(marker) {
            let message = "a merge left a conflict here".to_owned();
            return Err(Unreadable { conflict: true, message, span: Span::new(start, start + 7) });
        }
        start += line.len() + 1;
    }
    Ok(())
}

fn fault(at: usize, len: usize, message: &str) -> Unreadable {
    Unreadable { conflict: false, message: message.to_owned(), span: Span::new(at, at + len) }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Offsets of the braces that are open.
    open: Vec<usize>,
    slashdashes: usize,
}

impl Scan<'_> {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// KDL ends lines at characters that nobody sees; texts and comments would end where a reader does not expect it.
    fn line_ends(&self) -> Result<(), Unreadable> {
        for (at, byte) in self.bytes.iter().enumerate() {
            let next = self.bytes.get(at + 1..(at + 3).min(self.bytes.len())).unwrap_or_default();
            let ends = match (byte, next) {
                (0x0b | 0x0c, _) | (0xc2, [0x85, ..]) | (0xe2, [0x80, 0xa8 | 0xa9]) => true,
                (b'\r', [b'\n', ..]) => false,
                (b'\r', _) => true,
                _ => false,
            };
            if ends {
                return Err(fault(at, 0, "a line ends here with a character that nobody sees"));
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Unreadable> {
        match self.rest() {
            [b'/', b'/', ..] => self.at += self.rest().iter().position(|b| *b == b'\n').unwrap_or(self.rest().len()),
            [b'/', b'*', ..] => return self.comment(),
            [b'/', b'-', ..] => {
                self.slashdashes += 1;
                if self.slashdashes > MOST_SLASHDASHES {
                    return Err(fault(self.at, 2, "too many `/-` one behind another"));
                }
                self.at += 2;
            }
            [b'"', b'"', b'"', ..] => return self.lines(),
            [b'"', ..] => return self.line(),
            [b'#', rest @ ..] => {
                let more = rest.iter().take_while(|b| **b == b'#').count();
                if rest.get(more) == Some(&b'"') {
                    return self.raw(more + 1);
                }
                self.at += 1;
            }
            [b'{', ..] => {
                self.slashdashes = 0;
                self.open.push(self.at);
                if self.open.len() > DEEPEST {
                    return Err(fault(self.at, 1, "blocks are nested too deeply"));
                }
                self.at += 1;
            }
            [b'}', ..] => {
                if self.open.pop().is_none() {
                    return Err(fault(self.at, 1, "this `}` closes nothing"));
                }
                self.at += 1;
            }
            [byte, ..] => {
                if byte.is_ascii_alphanumeric() {
                    self.slashdashes = 0;
                }
                self.at += 1;
            }
            [] => {}
        }
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Unreadable> {
        let start = self.at;
        let mut depth = 0;
        loop {
            match self.rest() {
                [b'/', b'*', ..] => {
                    depth += 1;
                    if depth > DEEPEST_COMMENT {
                        return Err(fault(self.at, 2, "comments are nested too deeply"));
                    }
                    self.at += 2;
                }
                [b'*', b'/', ..] => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                [] => return Err(fault(start, 2, "this comment is not closed")),
                _ => self.at += 1,
            }
        }
    }

    /// A text in quotes on one line.
    fn line(&mut self) -> Result<(), Unreadable> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.rest() {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(());
                }
                [b'\\', ..] => self.escape()?,
                [] | [b'\n', ..] => return Err(fault(start, 1, "this text is not closed")),
                _ => self.at += 1,
            }
        }
    }

    /// A text in three quotes.
    fn lines(&mut self) -> Result<(), Unreadable> {
        let start = self.at;
        self.at += 3;
        loop {
            match self.rest() {
                [b'"', b'"', b'"', ..] => {
                    self.at += 3;
                    return Ok(());
                }
                [b'\\', ..] => self.escape()?,
                [] => return Err(fault(start, 3, "this text is not closed")),
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), Unreadable> {
        match self.rest() {
            [_, b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' | b's', ..] => self.at += 2,
            [_, b'u', b'{', rest @ ..] => match rest.iter().take(7).position(|b| *b == b'}') {
                Some(digits @ 1..=6) if rest.iter().take(digits).all(u8::is_ascii_hexdigit) => self.at += digits + 4,
                _ => return Err(fault(self.at, 3, "no character has this number")),
            },
            [_, b' ' | b'\t' | b'\n' | b'\r', ..] => {
                self.at += 1;
                while matches!(self.rest(), [b' ' | b'\t' | b'\n' | b'\r', ..]) {
                    self.at += 1;
                }
            }
            _ => return Err(fault(self.at, 1, "nothing is written with this `\\`")),
        }
        Ok(())
    }

    /// A raw text behind `hashes`.
    fn raw(&mut self, hashes: usize) -> Result<(), Unreadable> {
        let start = self.at;
        self.at += hashes;
        let many = self.rest().starts_with(b"\"\"\"");
        let quotes = if many { 3 } else { 1 };
        self.at += quotes;
        loop {
            let rest = self.rest();
            let closes = rest.iter().take_while(|b| **b == b'"').count() >= quotes
                && rest.iter().skip(quotes).take(hashes).filter(|b| **b == b'#').count() == hashes;
            match rest {
                _ if closes => {
                    self.at += quotes + hashes;
                    return Ok(());
                }
                [] => return Err(fault(start, hashes, "this text is not closed")),
                [b'\n', ..] if !many => return Err(fault(start, hashes, "this text is not closed")),
                _ => self.at += 1,
            }
        }
    }
}
