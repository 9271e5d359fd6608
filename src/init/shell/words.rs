//! Splits shell text into words and operators. Any text is accepted; what is not understood becomes a
//! piece that is not known.

use vplan_base::command::is_env_name;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text, and whether it was quoted.
    Text(String, bool),
    /// A variable.
    Variable(Variable),
    /// `$(…)` or backquotes: the text inside.
    Output(String),
    /// What is not read, as it is written: arithmetic, an expression of CI, an open quote.
    Unread(String),
}

/// `$NAME` or `${NAME:-ALTERNATIVE}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    /// `-` or `+` and the alternative; any other operator is `?`.
    pub(super) operator: Option<(char, Vec<Piece>)>,
    pub(super) quoted: bool,
    pub(super) raw: String,
}

/// A word, an operator, or the end of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word(Vec<Piece>),
    /// `&&`, `||`, `;`, `|`, `&`, `(`, `)`, `;;`, and `\n`.
    Operator(&'static str),
    /// `>`, `<`, `<<` and their like; the next word belongs to it.
    Redirection(&'static str),
}

/// A token with its bytes in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    /// The pieces of a word.
    pub(super) fn pieces(&self) -> &[Piece] {
        match &self.kind {
            Kind::Word(pieces) => pieces,
            _ => &[],
        }
    }

    /// Its part of the text.
    pub(super) fn raw<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// Operators, the longest first.
const OPERATORS: &[&str] = &[
    "&&", "||", ";;&", ";;", ";&", "|&", "&", "|", ";", "(", ")", "\n",
];
const REDIRECTIONS: &[&str] = &[
    "&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">",
];
/// The deepest nesting of `${…:-…}` that is read.
const MAX_DEPTH: usize = 8;

/// Splits a text. Comments and here-documents are left out.
pub(super) fn split(text: &str) -> Vec<Token> {
    let mut scan = Scan {
        text,
        at: 0,
        depth: 0,
    };
    let mut tokens: Vec<Token> = Vec::new();
    let mut documents: Vec<(String, bool)> = Vec::new();
    loop {
        scan.blanks();
        let start = scan.at;
        let Some(first) = scan.peek() else {
            return tokens;
        };
        if first == '#' {
            scan.line();
            continue;
        }
        let rest = scan.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let behind = rest.get(digits..).unwrap_or_default();
        let redirection = REDIRECTIONS.iter().find(|r| behind.starts_with(**r));
        let is_process = behind.starts_with("<(") || behind.starts_with(">(");
        let kind = if let Some(sign) = redirection.filter(|_| !is_process) {
            scan.at += digits + sign.len();
            Kind::Redirection(sign)
        } else if let Some(sign) = OPERATORS.iter().find(|o| rest.starts_with(**o)) {
            scan.at += sign.len();
            if *sign == "\n" {
                for (end, tabs) in documents.drain(..) {
                    scan.document(&end, tabs);
                }
            }
            Kind::Operator(sign)
        } else {
            Kind::Word(scan.word())
        };
        let previous = tokens.last().map(|token| &token.kind);
        if let Some(Kind::Redirection(sign @ ("<<" | "<<-"))) = previous {
            let raw = text.get(start..scan.at).unwrap_or_default();
            documents.push((raw.replace(['\'', '"', '\\'], ""), *sign == "<<-"));
        }
        tokens.push(Token {
            kind,
            start,
            end: scan.at,
        });
    }
}

/// The pieces of a text inside double quotes.
fn quoted(text: &str, depth: usize) -> Vec<Piece> {
    let mut scan = Scan { text, at: 0, depth };
    let mut pieces = Vec::new();
    while let Some(next) = scan.peek() {
        scan.piece(next, true, &mut pieces);
    }
    pieces
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// The text up to a character, which is skipped; nothing is where it does not come.
    fn to(&mut self, end: char) -> Option<String> {
        let (inner, _) = self.rest().split_once(end)?;
        let inner = inner.to_owned();
        self.at += inner.len() + end.len_utf8();
        Some(inner)
    }

    fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            let mark = ["\\\r\n", "\\\n", " ", "\t", "\r"];
            let Some(blank) = mark.iter().find(|m| rest.starts_with(**m)) else {
                return;
            };
            self.at += blank.len();
        }
    }

    fn line(&mut self) {
        let length = self.rest().find('\n');
        self.at += length.unwrap_or(self.rest().len());
    }

    fn document(&mut self, end: &str, tabs: bool) {
        while !self.rest().is_empty() {
            let start = self.at;
            self.line();
            let line = self.text.get(start..self.at).unwrap_or_default();
            let line = line.trim_end_matches('\r');
            let ends = end == if tabs { line.trim_start() } else { line };
            self.next();
            if ends {
                return;
            }
        }
    }

    fn word(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while let Some(next) = self.peek() {
            let rest = self.rest();
            let array = rest.starts_with('(')
                && matches!(&*pieces, [Piece::Text(name, false)] if name.ends_with('='));
            let process = rest.starts_with("<(") || rest.starts_with(">(");
            if array || process {
                let start = self.at;
                self.at += usize::from(process);
                self.enclosed('(', ')');
                let raw = self.text.get(start..self.at).unwrap_or_default();
                pieces.push(Piece::Unread(raw.to_owned()));
            } else if rest.starts_with("\\\n") || rest.starts_with("\\\r\n") {
                self.blanks();
                let blank = self.text.get(..self.at).unwrap_or_default();
                if !blank.ends_with('\n') {
                    break;
                }
            } else if " \t\r\n;&|()<>".contains(next) {
                break;
            } else {
                self.piece(next, false, &mut pieces);
            }
        }
        pieces
    }

    fn piece(&mut self, next: char, quotes: bool, pieces: &mut Vec<Piece>) {
        let mut add = |text: &str, is_quoted: bool| match pieces.last_mut() {
            Some(Piece::Text(last, was)) if *was == is_quoted => last.push_str(text),
            _ => pieces.push(Piece::Text(text.to_owned(), is_quoted)),
        };
        let start = self.at;
        self.next();
        match next {
            '\\' => {
                let escaped = self.next().map_or(String::new(), String::from);
                if quotes && !"\"\\$`\n".contains(&escaped) {
                    add("\\", true);
                }
                add(if escaped == "\n" { "" } else { &escaped }, true);
            }
            '\'' if !quotes => match self.to('\'') {
                Some(inner) => add(&inner, true),
                None => pieces.push(self.unread(start, true)),
            },
            '"' if !quotes => {
                if let Some(inner) = self.until_quote() {
                    add("", true);
                    pieces.extend(quoted(&inner, self.depth + 1));
                } else {
                    pieces.push(self.unread(start, true));
                }
            }
            '`' => {
                let output = self.to('`').map(Piece::Output);
                pieces.push(output.unwrap_or_else(|| self.unread(start, true)));
            }
            '$' => pieces.push(self.dollar(start, quotes)),
            other => add(other.encode_utf8(&mut [0; 4]), quotes),
        }
    }

    /// The text from `start`; with `whole`, all that follows belongs to it.
    fn unread(&mut self, start: usize, whole: bool) -> Piece {
        if whole {
            self.at = self.text.len();
        }
        Piece::Unread(self.text.get(start..self.at).unwrap_or_default().to_owned())
    }

    /// Reads to the closing quote, over what is nested in it.
    fn until_quote(&mut self) -> Option<String> {
        let start = self.at;
        loop {
            match self.peek()? {
                '"' => {
                    let inner = self.text.get(start..self.at)?.to_owned();
                    self.at += 1;
                    return Some(inner);
                }
                '\\' => {
                    self.next();
                    self.next();
                }
                '$' if self.rest().starts_with("$(") => {
                    self.at += 1;
                    self.enclosed('(', ')');
                }
                _ => {
                    self.next();
                }
            }
        }
    }

    /// Skips from an opening bracket to its closing one, over quotes.
    fn enclosed(&mut self, opening: char, closing: char) {
        let mut open = 0_usize;
        while let Some(next) = self.next() {
            match next {
                '\\' => {
                    self.next();
                }
                '\'' | '"' => drop(self.to(next)),
                _ if next == opening => open += 1,
                _ if next == closing => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    /// Reads what follows a `$`.
    fn dollar(&mut self, start: usize, quotes: bool) -> Piece {
        let rest = self.rest();
        if rest.starts_with("{{") {
            let length = rest.find("}}").map_or(rest.len(), |end| end + 2);
            self.at += length;
            return self.unread(start, false);
        }
        if rest.starts_with("((") {
            self.enclosed('(', ')');
            return self.unread(start, false);
        }
        for (opening, closing) in [('(', ')'), ('{', '}')] {
            if self.rest().starts_with(opening) {
                let inner = self.at + 1;
                self.enclosed(opening, closing);
                let inner = self.text.get(inner..self.at).unwrap_or_default();
                let inner = inner.strip_suffix(closing).unwrap_or(inner);
                return match opening {
                    '(' => Piece::Output(inner.to_owned()),
                    _ => self.variable(start, inner, quotes),
                };
            }
        }
        let rest = self.rest();
        if rest.starts_with('\'') && !quotes {
            self.at += 1;
            self.to('\'');
            return self.unread(start, false);
        }
        let name = name_of(rest).to_owned();
        if name.is_empty() {
            return Piece::Text("$".to_owned(), true);
        }
        self.at += name.len();
        self.variable(start, &name, quotes)
    }

    fn variable(&self, start: usize, inner: &str, quotes: bool) -> Piece {
        let raw = self.text.get(start..self.at).unwrap_or_default().to_owned();
        let name = name_of(inner);
        let rest = inner.get(name.len()..).unwrap_or_default();
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        if name.is_empty() || self.depth > MAX_DEPTH {
            return Piece::Unread(raw);
        }
        let operator = rest.chars().next().map(|sign| {
            let rest = rest.get(sign.len_utf8()..).unwrap_or_default();
            let bare = rest.trim_matches(['"', '\'']);
            match sign {
                '-' | '=' => ('-', quoted(bare, self.depth + 1)),
                '+' => ('+', quoted(bare, self.depth + 1)),
                _ => ('?', Vec::new()),
            }
        });
        Piece::Variable(Variable {
            name: name.to_owned(),
            operator,
            quoted: quotes,
            raw,
        })
    }
}

/// The name of a variable at the beginning of a text: letters, or one special character.
fn name_of(text: &str) -> &str {
    let end = text
        .char_indices()
        .find(|(_, c)| !c.is_ascii_alphanumeric() && *c != '_')
        .map_or(text.len(), |(at, _)| at);
    let name = text.get(..end).unwrap_or_default();
    if is_env_name(name) {
        return name;
    }
    let special = text.starts_with(|c: char| c.is_ascii_digit() || "@*#?$!-".contains(c));
    text.get(..usize::from(special)).unwrap_or_default()
}
