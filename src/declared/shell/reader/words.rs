//! Reads words of shell text: quotes, variables, substitutions.

use super::super::{Piece, Word};
use super::{Reader, TOP, Until};
use crate::base::command::is_env_name;

impl Reader<'_> {
    /// Reads a word.
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word::default();
        let start = self.at;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'<' | b'>' if self.at == start && self.byte(1) == Some(b'(') => {
                    self.at += 1;
                    self.substitution(start, &mut word);
                }
                b'(' if self.slice(start, self.at).ends_with('=') => {
                    // An array.
                    let from = self.at;
                    self.array();
                    let raw = self.slice(from, self.at).to_owned();
                    word.pieces.push(Piece::Opaque(raw));
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\r' if matches!(self.byte(1), Some(b'\n') | None) => break,
                b'\'' => {
                    word.quoted = true;
                    self.single(&mut word);
                }
                b'"' => {
                    word.quoted = true;
                    self.double(&mut word);
                }
                b'\\' if self.byte(1) == Some(b'\n') => self.at += 2,
                b'\\' => {
                    word.quoted = true;
                    self.at += 1;
                    self.character(&mut word);
                }
                b'$' if self.byte(1) == Some(b'\'') => {
                    word.quoted = true;
                    self.ansi(&mut word);
                }
                b'$' if self.byte(1) == Some(b'"') => self.at += 1,
                b'$' => self.dollar(&mut word, false),
                b'`' => self.backquotes(&mut word),
                _ => {
                    word.glob |= matches!(byte, b'*' | b'?')
                        || (byte == b'~' && self.at == start)
                        || (byte == b'['
                            && self.reserved().contains(']')
                            && self.reserved() != "[")
                        || (byte == b'{' && self.is_list_of_words());
                    self.character(&mut word);
                }
            }
        }
        word
    }

    /// Whether `{a,b}` or `{1..3}` begins here.
    fn is_list_of_words(&self) -> bool {
        let word = self.reserved();
        let inner = word.strip_prefix('{').and_then(|w| w.split_once('}'));
        inner.is_some_and(|(inner, _)| inner.contains(',') || inner.contains(".."))
    }

    /// Reads one character as text.
    fn character(&mut self, word: &mut Word) {
        match self
            .text
            .get(self.at..)
            .and_then(|rest| rest.chars().next())
        {
            Some(one) => {
                self.at += one.len_utf8();
                push(word, one.encode_utf8(&mut [0; 4]));
            }
            None => self.fail(),
        }
    }

    fn array(&mut self) {
        self.at += 1;
        if !self.enter() {
            return;
        }
        loop {
            self.lines();
            match self.byte(0) {
                None => {
                    self.fail();
                    break;
                }
                Some(b')') => {
                    self.at += 1;
                    break;
                }
                Some(b';' | b'&' | b'|' | b'(' | b'<' | b'>') => self.at += 1,
                _ => {
                    self.word();
                }
            }
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn single(&mut self, word: &mut Word) {
        let start = self.at + 1;
        let rest = self.bytes.get(start..).unwrap_or_default();
        match rest.iter().position(|b| *b == b'\'') {
            Some(length) => {
                self.at = start + length + 1;
                push(word, self.slice(start, start + length));
            }
            None => self.fail(),
        }
    }

    fn ansi(&mut self, word: &mut Word) {
        self.at += 2;
        loop {
            match (self.byte(0), self.byte(1)) {
                (None, _) | (Some(b'\\'), None) => return self.fail(),
                (Some(b'\''), _) => {
                    self.at += 1;
                    return;
                }
                (Some(b'\\'), Some(next)) => {
                    let text = match next {
                        b'n' => "\n",
                        b't' => "\t",
                        b'r' => "\r",
                        b'\\' => "\\",
                        b'\'' => "'",
                        b'"' => "\"",
                        _ => {
                            word.pieces.push(Piece::Opaque("$'\\'".to_owned()));
                            ""
                        }
                    };
                    push(word, text);
                    self.at += 1;
                    let mut skipped = Word::default();
                    self.character(&mut skipped);
                }
                _ => self.character(word),
            }
        }
    }

    fn double(&mut self, word: &mut Word) {
        self.at += 1;
        push(word, "");
        loop {
            match (self.byte(0), self.byte(1)) {
                (None, _) => return self.fail(),
                (Some(b'"'), _) => {
                    self.at += 1;
                    return;
                }
                (Some(b'\\'), Some(b'\n')) => self.at += 2,
                (Some(b'\\'), Some(b'"' | b'\\' | b'$' | b'`')) => {
                    self.at += 1;
                    self.character(word);
                }
                (Some(b'$'), _) => self.dollar(word, true),
                (Some(b'`'), _) => self.backquotes(word),
                _ => self.character(word),
            }
        }
    }

    /// Reads what begins with `$`.
    pub(super) fn dollar(&mut self, word: &mut Word, quoted: bool) {
        let start = self.at;
        if self.looks_at("${{") {
            let rest = self.slice(start, self.bytes.len());
            match rest.find("}}") {
                Some(length) => self.at = start + length + 2,
                None => self.fail(),
            }
            let raw = self.slice(start, self.at).to_owned();
            word.pieces.push(Piece::Opaque(raw));
            return;
        }
        match self.byte(1) {
            Some(b'(') => {
                if !self.enter() {
                    return;
                }
                if self.byte(2) == Some(b'(') && self.arithmetic(3) {
                    let raw = self.slice(start, self.at).to_owned();
                    word.pieces.push(Piece::Opaque(raw));
                } else if !self.out.broken || self.at < self.bytes.len() {
                    self.at = start + 1;
                    self.substitution(start, word);
                }
                self.depth = self.depth.saturating_sub(1);
            }
            Some(b'{') => self.braces(word, quoted),
            Some(b) if b.is_ascii_alphabetic() || b == b'_' => {
                self.at += 1;
                while self
                    .byte(0)
                    .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
                {
                    self.at += 1;
                }
                let name = self.slice(start + 1, self.at).to_owned();
                word.pieces.push(Piece::Variable {
                    name,
                    default: None,
                    raw: self.slice(start, self.at).to_owned(),
                });
            }
            Some(b) if b.is_ascii_digit() || b"?!$#@*-".contains(&b) => {
                self.at += 2;
                let raw = self.slice(start, self.at).to_owned();
                word.pieces.push(Piece::Opaque(raw));
            }
            _ => self.character(word),
        }
    }

    /// Reads `(…)` of a substitution that began at `start`.
    fn substitution(&mut self, start: usize, word: &mut Word) {
        self.at += 1;
        if self.enter() {
            let here = std::mem::take(&mut self.here);
            let parenthesis = Until {
                parenthesis: true,
                ..TOP
            };
            self.list(parenthesis, false);
            self.here = here;
            self.depth = self.depth.saturating_sub(1);
        }
        let raw = self.slice(start, self.at).to_owned();
        word.pieces.push(Piece::Opaque(raw));
    }

    /// Reads `${…}`.
    fn braces(&mut self, word: &mut Word, quoted: bool) {
        let start = self.at;
        self.at += 2;
        if !self.enter() {
            return;
        }
        let mut inner = Word::default();
        loop {
            match (self.byte(0), self.byte(1)) {
                (None, _) => {
                    self.fail();
                    break;
                }
                (Some(b'}'), _) => {
                    self.at += 1;
                    break;
                }
                (Some(b'\\'), Some(_)) => {
                    self.at += 1;
                    self.character(&mut inner);
                }
                (Some(b'\''), _) if !quoted => self.single(&mut inner),
                (Some(b'"'), _) => self.double(&mut inner),
                (Some(b'$'), _) => self.dollar(&mut inner, quoted),
                (Some(b'`'), _) => self.backquotes(&mut inner),
                _ => self.character(&mut inner),
            }
        }
        self.depth = self.depth.saturating_sub(1);
        let raw = self.slice(start, self.at).to_owned();
        let piece = match inner.literal() {
            Some(text) if is_env_name(&text) => Piece::Variable {
                name: text,
                default: None,
                raw,
            },
            Some(text) => {
                let (name, rest) = text.split_at(
                    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                        .unwrap_or(text.len()),
                );
                let default = rest.strip_prefix(":-").or_else(|| rest.strip_prefix('-'));
                match default {
                    Some(default) if is_env_name(name) => Piece::Variable {
                        name: name.to_owned(),
                        default: Some(default.to_owned()),
                        raw,
                    },
                    _ => Piece::Opaque(raw),
                }
            }
            None => Piece::Opaque(raw),
        };
        word.pieces.push(piece);
    }

    /// Reads `` `…` ``.
    pub(super) fn backquotes(&mut self, word: &mut Word) {
        let start = self.at;
        self.at += 1;
        let mut inner = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let mut chars = rest.chars();
            match chars.next() {
                None => {
                    self.fail();
                    break;
                }
                Some('`') => {
                    self.at += 1;
                    break;
                }
                Some('\\') => {
                    let next = chars.next();
                    if !matches!(next, Some('`' | '\\' | '$')) {
                        inner.push('\\');
                    }
                    inner.extend(next);
                    self.at += 1 + next.map_or(0, char::len_utf8);
                }
                Some(one) => {
                    inner.push(one);
                    self.at += one.len_utf8();
                }
            }
        }
        if self.enter() {
            let mut reader = Reader {
                depth: self.depth,
                ..Reader::new(&inner)
            };
            reader.list(TOP, true);
            self.out.broken |= reader.out.broken;
            self.out.commands.append(&mut reader.out.commands);
            self.depth = self.depth.saturating_sub(1);
        }
        let raw = self.slice(start, self.at).to_owned();
        word.pieces.push(Piece::Opaque(raw));
    }
}

/// Adds text to a word.
fn push(word: &mut Word, text: &str) {
    if let Some(Piece::Text(last)) = word.pieces.last_mut() {
        last.push_str(text);
    } else {
        word.pieces.push(Piece::Text(text.to_owned()));
    }
}
