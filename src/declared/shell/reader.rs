//! Reads shell text by recursive descent: lists, pipes and commands.

mod words;

use super::{Part, Piece, Redirection, Shape, Simple, Text, Word};
use crate::base::command::is_env_name;

/// The deepest nesting of a text.
const DEEPEST: usize = 48;

/// A here-document that begins at the next line.
struct Here {
    end: String,
    tabs: bool,
    expands: bool,
}

/// The end of a list of commands.
#[derive(Clone, Copy)]
struct Until {
    words: &'static [&'static str],
    parenthesis: bool,
    case: bool,
}

const TOP: Until = Until {
    words: &[],
    parenthesis: false,
    case: false,
};

/// A command of a pipe.
struct Command {
    start: usize,
    end: usize,
    kind: Kind,
}

enum Kind {
    Simple(Simple),
    Group { start: usize, end: usize, own: bool },
    Compound,
}

/// A pipe of commands.
struct Pipe {
    start: usize,
    end: usize,
    negated: bool,
    commands: Vec<Command>,
}

pub(super) struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    here: Vec<Here>,
    out: Text,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            here: Vec::new(),
            out: Text::default(),
        }
    }

    pub(super) fn text(mut self) -> Text {
        self.list(TOP, true);
        self.out
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn looks_at(&self, text: &str) -> bool {
        self.bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text
            .get(start..end.min(self.bytes.len()))
            .unwrap_or_default()
    }

    /// Gives up: nothing behind this can be read.
    fn fail(&mut self) {
        self.out.broken = true;
        self.at = self.bytes.len();
    }

    /// Enters a nested construct.
    fn enter(&mut self) -> bool {
        self.depth += 1;
        if self.depth > DEEPEST {
            self.fail();
            return false;
        }
        true
    }

    /// Skips blanks and joined lines.
    fn blanks(&mut self) {
        loop {
            match (self.byte(0), self.byte(1)) {
                (Some(b' ' | b'\t'), _) => self.at += 1,
                (Some(b'\r'), Some(b'\n') | None) => self.at += 1,
                (Some(b'\\'), Some(b'\n')) => self.at += 2,
                (Some(b'\\'), Some(b'\r')) if self.byte(2) == Some(b'\n') => self.at += 3,
                _ => return,
            }
        }
    }

    /// Skips a comment.
    fn comment(&mut self) {
        if self.byte(0) == Some(b'#') {
            while self.byte(0).is_some_and(|b| b != b'\n') {
                self.at += 1;
            }
        }
    }

    /// Skips a line's end, and the here-documents that begin behind it.
    fn newline(&mut self) {
        self.at += 1;
        for here in std::mem::take(&mut self.here) {
            let start = self.at;
            let mut body = start;
            let mut closed = false;
            while body < self.bytes.len() {
                let rest = self.bytes.get(body..).unwrap_or_default();
                let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                let line = self.slice(body, body + length);
                let line = line.strip_suffix('\r').unwrap_or(line);
                let line = if here.tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if line == here.end {
                    closed = true;
                    if here.expands {
                        self.substitutions(start, body);
                    }
                    self.at = (body + length + 1).min(self.bytes.len());
                    break;
                }
                body += length + 1;
            }
            if !closed {
                self.fail();
                return;
            }
        }
    }

    /// Collects the commands of the substitutions in a here-document.
    fn substitutions(&mut self, start: usize, end: usize) {
        let inner = self.slice(start, end);
        let mut reader = Reader {
            depth: self.depth,
            ..Reader::new(inner)
        };
        let mut word = Word::default();
        while let Some(byte) = reader.byte(0) {
            match byte {
                b'\\' => reader.at += 2,
                b'$' => reader.dollar(&mut word, true),
                b'`' => reader.backquotes(&mut word),
                _ => reader.at += 1,
            }
        }
        self.out.broken |= reader.out.broken;
        self.out.commands.append(&mut reader.out.commands);
    }

    /// Skips line ends, blanks and comments.
    fn lines(&mut self) {
        loop {
            self.blanks();
            self.comment();
            if self.byte(0) != Some(b'\n') {
                return;
            }
            self.newline();
        }
    }

    /// The unquoted word at which a command begins, if a shell could reserve it.
    fn reserved(&self) -> &'a str {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|b| {
                matches!(
                    b,
                    b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
                )
            })
            .unwrap_or(rest.len());
        self.slice(self.at, self.at + end)
    }

    /// Reads commands up to the end of their list, which is skipped. The word that ended it.
    fn list(&mut self, until: Until, top: bool) -> &'a str {
        loop {
            self.lines();
            let Some(byte) = self.byte(0) else {
                self.out.broken |= !top;
                return "";
            };
            if until.case && self.looks_at(";;") {
                while matches!(self.byte(0), Some(b';' | b'&')) {
                    self.at += 1;
                }
                return ";;";
            }
            match byte {
                b')' => {
                    self.at += 1;
                    if until.parenthesis {
                        return ")";
                    }
                    continue;
                }
                b';' | b'&' | b'|' => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let word = self.reserved();
            if until.words.contains(&word) {
                // `esac` is looked at once more, by the reader of its `case`.
                if !(until.case && word == "esac") {
                    self.at += word.len();
                }
                return word;
            }
            self.conjunction(top);
        }
    }

    /// Reads `a && b || c`, and makes parts of it on the top level.
    fn conjunction(&mut self, top: bool) {
        let mut pipes: Vec<(bool, Pipe)> = Vec::new();
        let mut alternatives = false;
        // The starts of what is between `||`.
        let mut starts = vec![self.at];
        let mut ends = Vec::new();
        let mut and = false;
        // Whether an earlier command's here-document is still to come.
        let mut is_open;
        loop {
            let from = self.at;
            is_open = !self.here.is_empty();
            let mut pipe = self.pipe();
            // Its lines are inside of this one.
            if is_open && self.slice(from, self.at).contains('\n') {
                self.fail();
                pipe.end = self.at;
            }
            let end = pipe.end;
            pipes.push((and, pipe));
            self.blanks();
            if self.looks_at("&&") {
                and = true;
                self.at += 2;
            } else if self.looks_at("||") {
                alternatives = true;
                and = false;
                self.at += 2;
                ends.push(end);
                self.lines();
                starts.push(self.at);
            } else {
                ends.push(end);
                break;
            }
            self.lines();
        }
        let background = self.byte(0) == Some(b'&');
        self.comment();
        if self.byte(0) == Some(b'\n') && !self.here.is_empty() {
            self.newline();
            // The line end behind a here-document belongs to nothing.
            let back = usize::from(self.bytes.get(self.at.wrapping_sub(1)) == Some(&b'\n'));
            self.at -= back;
            if !is_open {
                if let Some((_, last)) = pipes.last_mut() {
                    last.end = self.at;
                }
                if let Some(last) = ends.last_mut() {
                    *last = self.at;
                }
            }
        }
        if !top {
            return;
        }
        let broken = self.out.broken;
        if alternatives {
            let texts: Vec<String> = starts
                .iter()
                .zip(&ends)
                .map(|(start, end)| self.slice(*start, *end).trim_end().to_owned())
                .collect();
            let shape = if broken {
                Shape::Compound
            } else {
                Shape::Or(texts)
            };
            let start = starts.first().copied().unwrap_or_default();
            let end = ends.last().copied().unwrap_or_default();
            self.part(start, end, false, background, shape);
            return;
        }
        let last = pipes.len();
        for (index, (and, pipe)) in pipes.into_iter().enumerate() {
            let ends_here = index + 1 == last;
            let (start, end) = (pipe.start, pipe.end);
            let shape = if broken && ends_here {
                Shape::Compound
            } else {
                self.shape(pipe)
            };
            self.part(start, end, and, background && ends_here, shape);
        }
    }

    fn shape(&self, pipe: Pipe) -> Shape {
        if pipe.negated {
            return Shape::Compound;
        }
        if pipe.commands.len() > 1 {
            let texts = pipe.commands.iter();
            return Shape::Pipe(
                texts
                    .map(|c| self.slice(c.start, c.end).trim_end().to_owned())
                    .collect(),
            );
        }
        match pipe.commands.into_iter().next().map(|c| c.kind) {
            Some(Kind::Simple(simple)) => Shape::Plain(simple),
            Some(Kind::Group { start, end, own }) => {
                Shape::Group(self.slice(start, end).to_owned(), own)
            }
            Some(Kind::Compound) | None => Shape::Compound,
        }
    }

    fn part(&mut self, start: usize, end: usize, and: bool, background: bool, shape: Shape) {
        let whole = self.slice(start, end);
        let mut text = whole.trim_end_matches([' ', '\t', '\r', '\n']);
        // A line that is joined with nothing ends there; a blank behind a backslash belongs to its
        // word.
        while text.ends_with('\\') {
            let behind = whole.get(text.len()..).unwrap_or_default();
            if behind.starts_with(['\n', '\r']) {
                let shorter = text.strip_suffix('\\').unwrap_or(text);
                text = shorter.trim_end_matches([' ', '\t', '\r', '\n']);
            } else {
                text = whole.get(..text.len() + 1).unwrap_or(text);
                break;
            }
        }
        if text.is_empty() {
            return;
        }
        let count = |text: &str| u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX);
        let part = Part {
            text: text.to_owned(),
            line: count(self.slice(0, start)),
            lines: count(text).saturating_add(1),
            and,
            background,
            shape,
        };
        self.out.parts.push(part);
    }

    fn pipe(&mut self) -> Pipe {
        self.blanks();
        let start = self.at;
        let mut negated = false;
        while self.reserved() == "!" {
            negated = true;
            self.at += 1;
            self.blanks();
        }
        let mut commands = Vec::new();
        loop {
            let command = self.command();
            let end = command.end;
            commands.push(command);
            self.blanks();
            if self.byte(0) == Some(b'|') && self.byte(1) != Some(b'|') {
                self.at += 1 + usize::from(self.byte(1) == Some(b'&'));
                self.lines();
            } else {
                return Pipe {
                    start,
                    end,
                    negated,
                    commands,
                };
            }
        }
    }

    fn command(&mut self) -> Command {
        self.blanks();
        let start = self.at;
        if !self.enter() {
            return Command {
                start,
                end: self.at,
                kind: Kind::Compound,
            };
        }
        let mut kind = self.compound(start);
        if let Some(found) = &mut kind {
            // Redirections behind it.
            let mut simple = Simple::default();
            loop {
                self.blanks();
                if !self.redirection(&mut simple) {
                    break;
                }
            }
            if !simple.redirections.is_empty() {
                *found = Kind::Compound;
            }
        }
        let kind = kind.unwrap_or_else(|| self.simple());
        self.depth -= 1;
        let end = self.at;
        let blank = self.slice(start, end);
        let kept = blank.trim_end_matches([' ', '\t', '\r']);
        let kept = if kept.ends_with('\\') {
            blank.len()
        } else {
            kept.len()
        };
        Command {
            start,
            end: start + kept,
            kind,
        }
    }

    /// Reads a compound command, if one begins here.
    fn compound(&mut self, start: usize) -> Option<Kind> {
        let until = |words| Until { words, ..TOP };
        if self.looks_at("((") && self.arithmetic(2) {
            return Some(Kind::Compound);
        }
        if self.byte(0) == Some(b'(') {
            self.at += 1;
            let inner = self.at;
            let parenthesis = Until {
                parenthesis: true,
                ..TOP
            };
            self.list(parenthesis, false);
            let end = self.at.saturating_sub(1);
            return Some(Kind::Group {
                start: inner,
                end,
                own: true,
            });
        }
        let word = self.reserved();
        match word {
            "{" => {
                self.at += 1;
                let inner = self.at;
                self.list(until(&["}"]), false);
                let end = self.at.saturating_sub(1);
                return Some(Kind::Group {
                    start: inner,
                    end,
                    own: false,
                });
            }
            "if" => {
                self.at += word.len();
                self.list(until(&["then"]), false);
                while matches!(
                    self.list(until(&["elif", "else", "then", "fi"]), false),
                    "elif" | "else" | "then"
                ) {}
            }
            "while" | "until" => {
                self.at += word.len();
                self.list(until(&["do"]), false);
                self.list(until(&["done"]), false);
            }
            "for" | "select" => self.loop_over(word),
            "case" => self.case(),
            "[[" => self.brackets(start),
            "coproc" => {
                self.at += word.len();
                self.command();
            }
            "function" => {
                self.at += word.len();
                self.blanks();
                let name = self.reserved().to_owned();
                self.at += name.len();
                self.blanks();
                if self.looks_at("()") {
                    self.at += 2;
                }
                self.function(name);
            }
            _ => return None,
        }
        Some(Kind::Compound)
    }

    fn function(&mut self, name: String) {
        self.out.functions.push(name);
        self.lines();
        self.command();
    }

    fn loop_over(&mut self, word: &str) {
        self.at += word.len();
        self.blanks();
        if !(self.looks_at("((") && self.arithmetic(2)) {
            loop {
                self.blanks();
                if self.byte(0).is_none_or(|b| {
                    matches!(b, b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
                }) || self.reserved() == "do"
                {
                    break;
                }
                self.word();
            }
        }
        loop {
            self.lines();
            if self.byte(0) != Some(b';') {
                break;
            }
            self.at += 1;
        }
        match self.reserved() {
            "do" => {
                self.at += 2;
                self.list(
                    Until {
                        words: &["done"],
                        ..TOP
                    },
                    false,
                );
            }
            "{" => {
                self.at += 1;
                self.list(
                    Until {
                        words: &["}"],
                        ..TOP
                    },
                    false,
                );
            }
            _ => self.out.broken = true,
        }
    }

    fn case(&mut self) {
        self.at += "case".len();
        self.blanks();
        if self
            .byte(0)
            .is_some_and(|b| !matches!(b, b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'))
        {
            self.word();
        }
        self.lines();
        if self.reserved() != "in" {
            self.out.broken = true;
            return;
        }
        self.at += 2;
        loop {
            self.lines();
            if self.byte(0).is_none() {
                self.out.broken = true;
                return;
            }
            if self.reserved() == "esac" {
                self.at += "esac".len();
                return;
            }
            if self.byte(0) == Some(b'(') {
                self.at += 1;
            }
            // The patterns.
            loop {
                self.blanks();
                match self.byte(0) {
                    Some(b')') => {
                        self.at += 1;
                        break;
                    }
                    Some(b'|') => self.at += 1,
                    None | Some(b'\n' | b';' | b'&' | b'<' | b'>' | b'(') => {
                        self.fail();
                        return;
                    }
                    _ => {
                        self.word();
                    }
                }
            }
            let end = Until {
                words: &["esac"],
                parenthesis: false,
                case: true,
            };
            self.list(end, false);
        }
    }

    /// Reads `[[ … ]]`; its operators are its own.
    fn brackets(&mut self, start: usize) {
        self.at += 2;
        loop {
            self.blanks();
            match self.byte(0) {
                None => {
                    self.out.broken = true;
                    return;
                }
                Some(b'\n') => self.newline(),
                Some(b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>') => self.at += 1,
                _ if self.reserved() == "]]" => {
                    self.at += 2;
                    break;
                }
                _ => {
                    self.word();
                }
            }
        }
        let text = self.slice(start, self.at).to_owned();
        let words = text.split_whitespace();
        let word = |w: &str| Word {
            pieces: vec![Piece::Text(w.to_owned())],
            ..Word::default()
        };
        self.out.commands.push(Simple {
            words: words.map(word).collect(),
            ..Simple::default()
        });
    }

    /// Skips arithmetic up to its `))`. `false`, and nothing is skipped, where it is none.
    fn arithmetic(&mut self, opening: usize) -> bool {
        let start = self.at;
        let (parts, functions, commands) = (
            self.out.parts.len(),
            self.out.functions.len(),
            self.out.commands.len(),
        );
        let was_broken = self.out.broken;
        self.at += opening;
        let mut open = 0_usize;
        let mut word = Word::default();
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\\' => self.at += 2,
                b'$' => self.dollar(&mut word, true),
                b'`' => self.backquotes(&mut word),
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                b')' if self.byte(1) == Some(b')') => {
                    self.at += 2;
                    return true;
                }
                b')' | b'\n' | b';' if opening == 3 || byte == b')' => break,
                _ => self.at += 1,
            }
        }
        self.at = start;
        self.out.parts.truncate(parts);
        self.out.functions.truncate(functions);
        self.out.commands.truncate(commands);
        // Trying again from here could take twice as long at each level.
        self.out.broken = was_broken || self.depth > 5;
        if self.depth > 5 {
            self.fail();
        }
        false
    }

    /// Reads a redirection, if one begins here.
    fn redirection(&mut self, simple: &mut Simple) -> bool {
        let start = self.at;
        let mut digits = 0;
        while self.byte(digits).is_some_and(|b| b.is_ascii_digit()) {
            digits += 1;
        }
        let both = digits == 0 && self.looks_at("&>");
        if !both && !matches!(self.byte(digits), Some(b'<' | b'>')) {
            return false;
        }
        if !both && digits == 0 && self.byte(1) == Some(b'(') {
            return false;
        }
        self.at += digits;
        let operators = [
            "&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">",
        ];
        let operator = operators
            .iter()
            .find(|o| self.looks_at(o))
            .copied()
            .unwrap_or(">");
        self.at += operator.len();
        self.blanks();
        let ends = self
            .byte(0)
            .is_none_or(|b| matches!(b, b'\n' | b';' | b'|' | b')'))
            || (self.byte(0) == Some(b'&'));
        let word_start = self.at;
        let target = if ends { Word::default() } else { self.word() };
        if self.at == start {
            return false;
        }
        if matches!(operator, "<<" | "<<-") {
            let raw = self.slice(word_start, self.at);
            self.here.push(Here {
                end: raw.replace(['\'', '"', '\\'], ""),
                tabs: operator == "<<-",
                expands: !raw.contains(['\'', '"', '\\']),
            });
        }
        simple.redirections.push(Redirection {
            operator: operator.to_owned(),
            target,
        });
        true
    }

    fn simple(&mut self) -> Kind {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            match self.byte(0) {
                None | Some(b'\n' | b';' | b'|' | b')') => break,
                Some(b'&') if self.byte(1) != Some(b'>') => break,
                // A comment belongs to nothing.
                Some(b'#') => break,
                Some(b'(') => {
                    if simple.words.len() == 1 && self.is_empty_list() {
                        let name = simple.shown().concat();
                        self.function(name);
                        return Kind::Compound;
                    }
                    self.at += 1;
                    let parenthesis = Until {
                        parenthesis: true,
                        ..TOP
                    };
                    self.list(parenthesis, false);
                    self.out.commands.push(simple);
                    return Kind::Compound;
                }
                _ if self.redirection(&mut simple) => {}
                _ => {
                    let start = self.at;
                    let word = self.word();
                    if self.at == start {
                        // Nothing a shell would read; never twice at one place.
                        self.at += 1;
                    }
                    match self.assignment(start, &word) {
                        Some((name, value)) if simple.words.is_empty() => {
                            simple.env.push((name, value));
                        }
                        _ => simple.words.push(word),
                    }
                }
            }
        }
        if !simple.words.is_empty() || !simple.env.is_empty() || !simple.redirections.is_empty() {
            self.out.commands.push(simple.clone());
        }
        Kind::Simple(simple)
    }

    /// Skips `()` behind a function's name.
    fn is_empty_list(&mut self) -> bool {
        let start = self.at;
        self.at += 1;
        self.blanks();
        if self.byte(0) == Some(b')') {
            self.at += 1;
            return true;
        }
        self.at = start;
        false
    }

    /// The name and value of `NAME=VALUE`.
    fn assignment(&self, start: usize, word: &Word) -> Option<(String, Word)> {
        let raw = self.slice(start, self.at);
        let (name, _) = raw.split_once('=')?;
        let name = name.strip_suffix('+').unwrap_or(name);
        if !is_env_name(name) {
            return None;
        }
        let mut value = word.clone();
        if let Some(Piece::Text(text)) = value.pieces.first_mut() {
            let (_, rest) = text.split_once('=')?;
            *text = rest.to_owned();
        }
        value.pieces.retain(|p| *p != Piece::Text(String::new()));
        Some((name.to_owned(), value))
    }
}
