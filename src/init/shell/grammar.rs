//! The structure of shell text: lists, pipes, groups, conditions and loops, over its tokens. A text
//! that a shell rejects has a structure, too: what does not fit is left out.

use super::words::{Kind, Token};

/// How a pipe is joined to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    Always,
    And,
    Or,
}

/// A pipe of a list.
#[derive(Clone, Debug)]
pub(super) struct Item<'t> {
    pub(super) join: Join,
    pub(super) negated: bool,
    pub(super) background: bool,
    pub(super) pipe: Vec<Node<'t>>,
    pub(super) part: &'t [Token],
}

/// A command of a pipe, with its tokens where they matter.
#[derive(Clone, Debug)]
pub(super) enum Node<'t> {
    Simple(&'t [Token]),
    /// A list in brackets; `true` for `( … )`, which keeps its changes of the shell to itself.
    Group(Vec<Item<'t>>, bool),
    /// Conditions with what they start, and the rest.
    If(Vec<(Vec<Item<'t>>, Vec<Item<'t>>)>, Vec<Item<'t>>),
    For {
        name: String,
        values: &'t [Token],
        body: Vec<Item<'t>>,
        part: &'t [Token],
    },
    While(Vec<Item<'t>>, Vec<Item<'t>>, &'t [Token]),
    /// `case`, a function, arithmetic.
    Unread(&'static str, &'t [Token]),
}

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 40;
/// Words with which a list ends.
const ENDS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];

pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: &'t [Token],
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, tokens: &'t [Token]) -> Self {
        Self {
            text,
            tokens,
            at: 0,
            depth: 0,
        }
    }

    /// Reads all of a text.
    pub(super) fn all(&mut self) -> Vec<Item<'t>> {
        let mut items = Vec::new();
        while self.at < self.tokens.len() {
            items.extend(self.list());
            // A closing word or bracket of nothing.
            self.at += 1;
        }
        items
    }

    /// The operator that comes next; none before a word.
    fn operator(&self) -> &'static str {
        match self.tokens.get(self.at).map(|token| &token.kind) {
            Some(Kind::Operator(sign)) => sign,
            _ => "",
        }
    }

    /// The tokens from one on to the next.
    fn since(&self, start: usize) -> &'t [Token] {
        let end = self.at.min(self.tokens.len());
        self.tokens.get(start..end).unwrap_or_default()
    }

    fn skip(&mut self, signs: &[&str]) {
        while signs.contains(&self.operator()) {
            self.at += 1;
        }
    }

    /// The word that comes next, as it is written.
    fn word(&self) -> &'t str {
        match self.tokens.get(self.at) {
            Some(token) if matches!(token.kind, Kind::Word(_)) => token.raw(self.text),
            _ => "",
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.word() == word;
        self.at += usize::from(is_next);
        is_next
    }

    fn list(&mut self) -> Vec<Item<'t>> {
        let mut items = Vec::new();
        let mut join = Join::Always;
        loop {
            self.skip(&["\n", ";", "&"]);
            let sign = self.operator();
            let ends = sign == ")" || sign.starts_with(";;");
            if self.at >= self.tokens.len() || ends || ENDS.contains(&self.word()) {
                return items;
            }
            let start = self.at;
            let mut negated = false;
            while self.take("!") {
                negated = !negated;
            }
            let pipe = self.pipe();
            let sign = self.operator();
            items.push(Item {
                join,
                negated,
                background: sign == "&",
                pipe,
                part: self.since(start),
            });
            join = match sign {
                "&&" => Join::And,
                "||" => Join::Or,
                _ => Join::Always,
            };
            // Nothing is read twice, whatever it is.
            let moved = join != Join::Always || self.at == start;
            self.at += usize::from(moved);
        }
    }

    fn pipe(&mut self) -> Vec<Node<'t>> {
        let mut pipe = vec![self.command()];
        while matches!(self.operator(), "|" | "|&") {
            self.at += 1;
            self.skip(&["\n"]);
            pipe.push(self.command());
        }
        pipe
    }

    fn command(&mut self) -> Node<'t> {
        let start = self.at;
        self.depth += 1;
        let node = if self.depth > MAX_DEPTH {
            self.at = self.tokens.len();
            Node::Unread("it is nested too deep", self.since(start))
        } else {
            self.compound(start)
        };
        self.depth -= 1;
        if !matches!(node, Node::Simple(_)) {
            // Redirections of all of it.
            while matches!(self.tokens.get(self.at), Some(t) if matches!(t.kind, Kind::Redirection(_)))
            {
                self.at += 2;
            }
        }
        node
    }

    fn compound(&mut self, start: usize) -> Node<'t> {
        let is_own = self.operator() == "(";
        if is_own || self.word() == "{" {
            self.at += 1;
            let is_arithmetic = is_own && self.operator() == "(";
            let items = self.list();
            self.at += 1;
            return match is_arithmetic {
                true => Node::Unread("arithmetic", self.since(start)),
                false => Node::Group(items, is_own),
            };
        }
        match self.word() {
            "if" => self.condition(),
            "for" | "select" => self.for_loop(start),
            "while" | "until" => {
                self.at += 1;
                let condition = self.list();
                let body = self.body();
                Node::While(condition, body, self.since(start))
            }
            "case" => {
                self.skip_to("esac");
                Node::Unread("a `case` is not read", self.since(start))
            }
            "function" => {
                self.at += 2;
                self.function(start)
            }
            "[[" => {
                while self.at < self.tokens.len() && !self.take("]]") {
                    self.at += 1;
                }
                Node::Simple(self.since(start))
            }
            _ => self.simple(start),
        }
    }

    fn simple(&mut self, start: usize) -> Node<'t> {
        while let Some(token) = self.tokens.get(self.at) {
            match token.kind {
                Kind::Operator("(") if self.at == start + 1 => return self.function(start),
                Kind::Operator(_) => break,
                _ => self.at += 1,
            }
        }
        Node::Simple(self.since(start))
    }

    fn function(&mut self, start: usize) -> Node<'t> {
        self.skip(&["(", ")", "\n"]);
        self.command();
        Node::Unread("a function is not read", self.since(start))
    }

    fn condition(&mut self) -> Node<'t> {
        let mut branches = Vec::new();
        let mut rest = Vec::new();
        while self.take("if") || self.take("elif") {
            let condition = self.list();
            self.take("then");
            branches.push((condition, self.list()));
        }
        if self.take("else") {
            rest = self.list();
        }
        self.take("fi");
        Node::If(branches, rest)
    }

    fn for_loop(&mut self, start: usize) -> Node<'t> {
        self.at += 1;
        let name = self.word().to_owned();
        self.at += 1;
        self.skip(&["\n"]);
        self.take("in");
        let values = self.at;
        while self.at < self.tokens.len() && !matches!(self.operator(), ";" | "\n") {
            self.at += 1;
        }
        let values = self.since(values);
        self.skip(&[";", "\n"]);
        Node::For {
            name,
            values,
            body: self.body(),
            part: self.since(start),
        }
    }

    fn body(&mut self) -> Vec<Item<'t>> {
        self.take("do");
        let body = self.list();
        self.take("done");
        body
    }

    /// Skips to a closing word, over the same construct inside.
    fn skip_to(&mut self, end: &str) {
        let mut open = 0_usize;
        while self.at < self.tokens.len() {
            open += usize::from(self.word() == "case");
            if self.take(end) {
                open = open.saturating_sub(1);
                if open == 0 {
                    return;
                }
            } else {
                self.at += 1;
            }
        }
    }
}
