//! Answers what belongs to another language: its words, its lists over several lines, its nested
//! lines, its comments, its `else`. Each is one message, and what belongs to it is not read as
//! something else.

use super::line::{self, Line};
use super::meant::{meant, meant_with};
use super::parser::{Head, Parser, Parts, Text};
use super::token;
use crate::ast::{Arg, Node, Value};
use crate::error::{self, quote};
use crate::foreign::{self, Advice, Foreign};
use crate::statement::{self, Keyword, STATEMENTS, Slot, Statement, StatementContext};
use vplan_base::diagnostic::{Diagnostic, Severity};
use vplan_base::name::is_name;
use vplan_base::nearest::nearest;
use vplan_base::span::Span;

/// Maximum number of lines of a list in the syntax of another language.
const MOST_LINES: usize = 200;

/// Lines that belong to the line in front of them.
pub(super) struct Nested<'a> {
    /// The lines, without the marks of list items.
    items: Vec<&'a str>,
    /// The offset of the line after them.
    next: usize,
    /// Whether the last of them opens a block.
    opens: bool,
    /// What makes them belong there: a bracket, a `:` or nothing but a brace.
    mark: Span,
}

impl<'a> Parser<'a> {
    /// Finds the lines of a list in brackets, or of lines that are nested by indentation.
    pub(super) fn nested(&mut self, line: &Line) -> Option<Nested<'a>> {
        let text = self.slice(line.content).trim_end();
        let end = line.content.start + text.len();
        let mark = Span::new(end.saturating_sub(1), end);
        let bracket = text.ends_with(['[', '(']);
        let colon = text.ends_with([':', '=', '|', '>']);
        if !(bracket || colon) || !self.may_guess() {
            return None;
        }
        let mut items = Vec::new();
        let (mut at, mut lines) = (line.next, 0);
        while at < self.text.len() && lines < MOST_LINES {
            lines += 1;
            let next = line::read(self.text, at);
            let text = self.slice(next.content).trim();
            if bracket && text.starts_with([']', ')']) {
                return Some(Nested {
                    items,
                    next: next.next,
                    opens: next.opens,
                    mark,
                });
            }
            let ends = if bracket {
                text.starts_with('}')
            } else {
                next.indent <= line.indent
            };
            if !text.is_empty() && ends {
                break;
            }
            at = next.next;
            if !text.is_empty() {
                items.push(text.strip_prefix('-').map_or(text, str::trim_start));
            }
        }
        (colon && !items.is_empty()).then_some(Nested {
            items,
            next: at,
            opens: false,
            mark,
        })
    }

    /// Reads a statement whose arguments follow on lines of their own. Returns whether it was one.
    pub(super) fn over_lines(&mut self, head: Head, rest: &'a str, line: &Line) -> bool {
        let (statement, keyword) = (head.statement, head.keyword);
        let is_list = !matches!(
            statement.slots,
            [] | [Slot::Maybe(_) | Slot::Command | Slot::Shell, ..] | [_, Slot::ColonOrBlock]
        );
        if !is_list {
            return false;
        }
        let assigns = statement.slots == [Slot::Assignment];
        let text = rest.trim();
        if assigns && matches!(text, "{" | ": {" | "= {") {
            self.variables(head, line);
            return true;
        }
        let bare = text.trim_start_matches([':', '=']).trim();
        let follows = matches!(bare, "" | "[" | "(") || statement.slots.contains(&Slot::Equals);
        let Some(nested) = follows.then(|| self.nested(line)).flatten() else {
            return false;
        };
        let items = nested.items.join(" ");
        let whole = format!("{} {items}", text.trim_end_matches(['[', '(']));
        let item = match assigns {
            true => nested.items.first().copied(),
            false => Some(whole.as_str()),
        };
        let written = item.and_then(|item| meant_with(statement, item, &self.known_holes()));
        let (label, help) = match (assigns, written) {
            (true, Some(line)) => (
                "one line for each variable",
                format!("write `{line}`, and so on"),
            ),
            (false, Some(line)) => ("a list stands on one line", format!("write `{line}`")),
            _ => ("what it takes stands on its line", statement.help()),
        };
        self.unexpected(nested.mark, label, &help, &mut Parts::default());
        self.skip_to = nested.next;
        let said = self.out.len();
        let args = self.arguments(head, (rest, keyword.end)).args;
        self.out.truncate(said);
        let mut node = self.broken(head, line);
        // Its name is known.
        if statement.keyword == Keyword::Paths {
            node.args = args;
        }
        match statement.body.filter(|_| nested.opens) {
            Some(context) => self.push(node, context, keyword, line.indent, false),
            None => self.add(node),
        }
        true
    }

    /// Reads `env {`, and passes over the lines of its block.
    fn variables(&mut self, head: Head, line: &Line) {
        let first = line::read(self.text, line.next);
        let text = self.slice(first.content).trim();
        let written = meant_with(head.statement, text, &self.known_holes());
        let written = written.unwrap_or_else(|| head.statement.usage.to_owned());
        let end = line.content.start + self.slice(line.content).trim_end().len();
        let brace = Span::new(end.saturating_sub(1), end);
        let (message, label) = ("`env` has no block", "one line for each variable");
        let error = self.error(error::UNEXPECTED_BLOCK, message, brace, label);
        self.report(error.help(format!("write `{written}`, and so on")));
        let node = self.broken(head, line);
        self.push(node, StatementContext::Unknown, brace, line.indent, false);
    }

    /// Makes the node of a statement whose arguments are not known.
    pub(super) fn broken(&mut self, head: Head, line: &Line) -> Node<'a> {
        Node {
            before: std::mem::take(&mut self.trivia),
            statement: head.statement,
            keyword: head.keyword,
            args: Vec::new(),
            body: None,
            comment: line.comment,
            span: head.keyword,
            broken: true,
        }
    }

    /// Reports a word that begins no statement.
    fn unknown_statement(&mut self, message: &str, span: Span, label: &str, help: String) {
        let error = self.error(error::UNKNOWN_STATEMENT, message, span, label);
        self.report(error.help(help));
    }

    /// Reports a word of another tool, and passes over what belongs to it. Returns the statement as
    /// which its block is read, if it is one of the language's.
    pub(super) fn answer(
        &mut self,
        row: Foreign,
        word: &str,
        rest: &str,
        span: Span,
        line: &Line,
    ) -> Option<&'static Statement> {
        let context = self.context();
        let nested = if line.opens { None } else { self.nested(line) };
        let value = match &nested {
            Some(nested) => format!("{rest} {}", nested.items.join(" ")),
            None => rest.to_owned(),
        };
        if let Some(nested) = &nested {
            self.skip_to = nested.next;
        }
        let help = match row.advice {
            Advice::No(why) => format!("vplan has none: {why}"),
            Advice::Write(text) | Advice::Commands(text) => text.to_owned(),
            Advice::Around(text) => around(text, &value),
            Advice::Line(text) => match value.trim_matches([':', '=', ' ', '\t']) {
                "false" | "no" | "off" | "0" => {
                    "leave it out: without a line it is so anyway".to_owned()
                }
                _ => format!("write `{text}`{}", stands(text, context)),
            },
            Advice::Timeout(unit) => {
                let number: String = value.chars().filter(char::is_ascii_digit).collect();
                let number = if number.is_empty() { "5" } else { &number };
                let place = stands("timeout", context);
                format!("write `timeout {number}{unit}`{place}")
            }
            Advice::Word(known) => {
                let statement = word_of(known, context);
                let written = statement.and_then(|statement| meant(statement, &value));
                let usage = statement.map_or(known, |statement| statement.usage);
                let written = written.as_deref().unwrap_or(usage);
                format!("write `{written}`{}", stands(known, context))
            }
        };
        let help = self.else_of(word).unwrap_or(help);
        let noun = noun(context).0;
        let message = format!("unknown {noun} {}", quote(word));
        let label = format!("a word of {}", foreign::tool(word));
        self.unknown_statement(&message, span, &label, help);
        self.break_frame();
        if !line.opens {
            return None;
        }
        if let Advice::Word(known) = row.advice
            && let Some(statement) = statement::find(known, context).filter(|s| s.body.is_some())
        {
            return Some(statement);
        }
        let around = matches!(row.advice, Advice::Around(_));
        let checks = around && matches!(context, StatementContext::Top | StatementContext::Group);
        self.push_foreign(line, checks);
        None
    }

    /// Describes the block that an `else` means: the opposite of the one that was closed last.
    pub(super) fn else_of(&self, word: &str) -> Option<String> {
        if !matches!(word, "else" | "elif" | "elseif" | "otherwise") {
            return None;
        }
        let nodes = self.frames.last().map_or(&self.nodes, |frame| &frame.nodes);
        let last = nodes.iter().rev().find(|node| node.body.is_some())?;
        let list = || {
            let first = last.args.first()?.span;
            let list = self.slice(first.to(last.args.last()?.span));
            (list.len() < 200 && !list.contains(['`', '\n'])).then_some(list)
        };
        let single = || (last.args.len() == 1).then(list).flatten();
        let opposite = match last.statement.keyword {
            Keyword::WhenChangedAny => format!("`whenChangedNone {} {{`", list()?),
            Keyword::WhenChangedNone => format!("`whenChangedAny {} {{`", list()?),
            Keyword::WhenExists => format!("`whenAbsent {} {{`", single()?),
            Keyword::WhenExistsAny => format!("`whenAbsent {} {{`", list()?),
            Keyword::WhenAbsent => match single() {
                Some(one) => format!("`whenExists {one} {{`"),
                None => format!("`whenExistsAny {} {{`", list()?),
            },
            Keyword::ByRole => "`byRole NAME … {` with the other roles".to_owned(),
            _ => return None,
        };
        Some(format!(
            "vplan has no `else`: close the block, and write {opposite}"
        ))
    }

    /// Reports an `else`, and reads its block as one of checks.
    pub(super) fn otherwise(&mut self, span: Span, line: &Line) {
        let general = "vplan has no `else`: close the block, and open one for the opposite, such as `whenChangedNone \"GLOB\" {`";
        let help = self.else_of("else").unwrap_or_else(|| general.to_owned());
        let message = "unknown statement `else`";
        self.unknown_statement(message, span, "a block has no other branch", help);
        if line.opens {
            let checks = matches!(
                self.context(),
                StatementContext::Top | StatementContext::Group
            );
            self.push_foreign(line, checks);
        }
    }

    /// Opens the block of a line in another language.
    fn push_foreign(&mut self, line: &Line, checks: bool) {
        let Some(statement) =
            statement::find("whenChangedAny", StatementContext::Group).filter(|_| checks)
        else {
            return self.push_unknown(line);
        };
        let end = line.content.start + self.slice(line.content).trim_end().len();
        let open = Span::new(end.saturating_sub(1), end);
        // Broken and without arguments: its checks are known all the same.
        let keyword = open;
        let node = self.broken(Head { statement, keyword }, line);
        self.push(node, StatementContext::Group, open, line.indent, true);
    }

    /// Reports a comment of another language. Returns whether the line was one.
    pub(super) fn comment_line(&mut self, text: &str, line: &Line) -> bool {
        const MARKS: &[&str] = &["//", "/*", "--", ";", "<!--", "%", "REM "];
        let Some(mark) = MARKS.iter().find(|mark| text.starts_with(**mark)) else {
            return false;
        };
        let start = line.content.start;
        let said = text.get(mark.len()..).unwrap_or_default();
        let said = said.trim_end_matches("*/").trim_end_matches("-->");
        let said = said.trim_matches(['/', '*', '!', ' ', '\t']);
        let help = if said.is_empty() || said.len() > 120 || said.contains('`') {
            "a comment begins with `#`".to_owned()
        } else {
            format!("write `# {said}`")
        };
        let mark = mark.trim_end();
        let message = format!("`{mark}` begins no comment");
        let span = Span::new(start, start + mark.len());
        self.unknown_statement(&message, span, "a comment begins with `#`", help);
        let close = match mark {
            "/*" => "*/",
            "<!--" => "-->",
            _ => return true,
        };
        if !text.contains(close)
            && self.may_guess()
            && let Some(at) = self.text.get(line.next..).and_then(|rest| rest.find(close))
        {
            let end = line.next + at;
            let behind = self.text.get(end..).and_then(|rest| rest.find('\n'));
            self.skip_to = behind.map_or(self.text.len(), |i| end + i + 1);
        }
        true
    }

    /// Reports a list item of YAML, and passes over the lines that are nested in it.
    pub(super) fn list_item(&mut self, line: &Line) {
        let start = line.content.start;
        let help = "the lines of a block have no `-`: each begins with its own word".to_owned();
        let (message, span) = ("unknown statement `-`", Span::new(start, start + 1));
        self.unknown_statement(message, span, "begins no statement", help);
        self.break_frame();
        let mut at = line.next;
        while at < self.text.len() {
            let next = line::read(self.text, at);
            let blank = self.slice(next.content).trim().is_empty();
            if !blank && next.indent <= line.indent {
                break;
            }
            at = next.next;
            if !blank {
                self.skip_to = at;
            }
        }
    }

    /// Reads `NAME {` or `NAME:` as a check, if the next line is one of a check's block and the word
    /// means nothing else. Returns whether it was one.
    pub(super) fn check_without_head(
        &mut self,
        word: &str,
        rest: &str,
        span: Span,
        line: &Line,
    ) -> bool {
        let context = self.context();
        let (brace, colon) = (rest.trim() == "{", rest.trim() == ":");
        let is_outer = matches!(context, StatementContext::Top | StatementContext::Group);
        let Some(statement) = statement::find("check", context)
            .filter(|_| is_outer && (brace || colon) && is_name(word) && !self.is_answered(word))
        else {
            return false;
        };
        let Some((next, first)) = self.first_below(line) else {
            return false;
        };
        // A key without a value heads lines of its own.
        let text = self.slice(next.content).trim_end();
        let is_line =
            statement::find(first, StatementContext::Check).is_some() && !text.ends_with(':');
        let near = || nearest(word, statement::allowed(context).map(|s| s.word)).is_some();
        if !is_line || (colon && self.nested(line).is_none()) || (brace && near()) {
            return false;
        }
        let message = format!("unknown statement {}", quote(word));
        let help = format!("write `check {word} {{`");
        self.unknown_statement(&message, span, "begins no statement", help);
        self.break_frame();
        let keyword = span;
        let mut node = self.broken(Head { statement, keyword }, line);
        let name = Value::Word(self.slice(span));
        node.args.push(Arg::new(span, name));
        if brace {
            self.push(node, StatementContext::Check, span, line.indent, false);
        } else {
            self.presume(node, StatementContext::Check, line.indent);
        }
        true
    }

    /// Whether a word has an answer that is about a block of checks, whatever is in it.
    fn is_answered(&self, word: &str) -> bool {
        let row = foreign::find(word, self.context());
        row.is_some_and(|row| matches!(row.advice, Advice::Word("check") | Advice::Commands(_)))
            || matches!(word, "else" | "elif" | "elseif" | "otherwise")
    }

    /// Returns the next line that is not empty, and its first word.
    pub(super) fn first_below(&self, line: &Line) -> Option<(Line, &'a str)> {
        let mut at = line.next;
        while at < self.text.len() {
            let next = line::read(self.text, at);
            let text = self.slice(next.content);
            if !text.trim().is_empty() {
                return Some((next, token::word(text).map_or("", |(_, word)| word)));
            }
            at = next.next;
        }
        None
    }

    /// Reports the verb in front of the value of a default, `timeout test 5m`, in place of what was
    /// said of the line. Returns whether there was one.
    pub(super) fn verb_of_default(
        &mut self,
        said: usize,
        statement: &'static Statement,
        rest: Text<'a>,
    ) -> bool {
        let start = rest.0.trim_start();
        let Some((behind, word)) = token::word(start).ok().filter(|(_, word)| {
            let verb = statement::find(word, StatementContext::Check).map(|s| s.keyword);
            self.context() == StatementContext::Defaults
                && verb.is_some_and(|verb| (Keyword::Run..=Keyword::Judge).contains(&verb))
        }) else {
            return false;
        };
        let Some(written) = meant_with(statement, behind, &self.known_holes()) else {
            return false;
        };
        self.out.truncate(said);
        let help = format!("write `{written}` in a block `defaults {word} {{`");
        let label = "a verb stands in the head of the block";
        let parts = &mut Parts::default();
        self.unexpected(token::span_of(word, rest), label, &help, parts);
        true
    }

    /// Replaces the messages about a line by one message, with the line as it was meant.
    pub(super) fn repair(
        &mut self,
        said: usize,
        statement: &Statement,
        rest: Text<'a>,
        written: &str,
    ) {
        let mut errors = self.out.split_off(said).into_iter();
        let first = errors.find(|d| d.severity == Severity::Error);
        let is_command = matches!(
            statement.slots,
            [Slot::Command | Slot::Shell | Slot::Assignment] | [_, Slot::ColonOrBlock]
        );
        let assigned = || {
            let is_said = |d: &Diagnostic| d.code == error::COMMAND_PROGRAM;
            let is_assigned = statement.slots == [Slot::Assignment];
            let span = token::span_of(rest.0.trim(), rest);
            (is_assigned && first.as_ref().is_some_and(is_said))
                .then(|| self.unexpected_at(span, "one `NAME=VALUE` is expected"))
        };
        let noise = self.noise(rest, is_command);
        let diagnostic = noise.or_else(assigned).or(first.clone());
        if let Some(diagnostic) = diagnostic {
            self.report(diagnostic.help(format!("write `{written}`")));
        }
    }

    /// Finds the mark of another language in the arguments of a statement.
    fn noise(&self, (rest, offset): Text<'_>, is_command: bool) -> Option<Diagnostic> {
        let mut quote = None;
        let mut before = ' ';
        for (at, c) in rest.char_indices() {
            let tail = rest.get(at..).unwrap_or_default();
            let begins = before.is_whitespace();
            before = c;
            if let Some(open) = quote {
                quote = (c != open).then_some(open);
                continue;
            }
            let (length, label) = match c {
                '"' | '\'' => {
                    quote = Some(c);
                    continue;
                }
                '“' | '”' | '„' | '‘' | '’' => {
                    (c.len_utf8(), "a string stands in `\"…\"` or `'…'`")
                }
                '[' | '(' if !is_command && (begins || at == 0) => (1, "a list has no brackets"),
                '/' if begins && tail.starts_with("//") => (2, "a comment begins with `#`"),
                '=' if tail.starts_with("=>") => (2, "an arrow is written `->`"),
                '-' if !is_command && tail.starts_with("-->") => (3, "an arrow is written `->`"),
                '→' | '⇒' | '➔' if !is_command => (c.len_utf8(), "an arrow is written `->`"),
                ';' if !is_command && tail.trim_end() == ";" => (1, "a line ends without it"),
                _ => continue,
            };
            let span = Span::new(offset + at, offset + at + length);
            return Some(self.unexpected_at(span, label));
        }
        None
    }
}

/// The statement of a word: that of this context, else of another one.
fn word_of(word: &str, context: StatementContext) -> Option<&'static Statement> {
    statement::find(word, context).or_else(|| STATEMENTS.iter().find(|s| s.word == word))
}

/// Names the place of a line, unless it is here.
fn stands(line: &str, context: StatementContext) -> String {
    let word = line.split(' ').next().unwrap_or(line);
    if statement::find(word, context).is_some() {
        return String::new();
    }
    let found = STATEMENTS.iter().find(|s| s.word == word);
    let name = found
        .and_then(|s| s.contexts.first())
        .map_or("", |c| c.name());
    format!(" {name}")
}

/// Adds the author's own globs to an advice about files.
fn around(text: &str, value: &str) -> String {
    const GENERAL: &str = "whenChangedAny \"GLOB\" … {";
    let condition = statement::find("whenChangedAny", StatementContext::Top);
    let regex = value.contains(['^', '$', '\\', '|']);
    match condition.and_then(|statement| meant(statement, value)) {
        Some(line) if text.contains(GENERAL) && !regex && line.contains('"') => {
            text.replace(GENERAL, &line)
        }
        _ => text.to_owned(),
    }
}

/// Returns the noun for a line of a context, and the predicate for a word that begins none.
pub(super) fn noun(context: StatementContext) -> (&'static str, String) {
    match context {
        StatementContext::Top | StatementContext::Group => {
            ("statement", "begins no statement".to_owned())
        }
        StatementContext::File => ("assertion", format!("asserts nothing {}", context.name())),
        StatementContext::Change => ("statement", format!("changes nothing {}", context.name())),
        _ => ("setting", format!("sets nothing {}", context.name())),
    }
}
