//! Parses a statement's arguments by its slots in the table, and reports every fault.

use super::command::Fillable;
use super::parser::{Head, Parser, Parts, Text};
use super::token::{self, Token, TokenError, Tokens};
use super::{command, each};
use crate::ast::{Arg, Value};
use crate::error::{self, quote};
use crate::statement::{Keyword, Slot, StatementItem};
use std::borrow::Cow;
use vplan_base::diagnostic::Diagnostic;
use vplan_base::hole::{has_hole, holes, package_hole};
use vplan_base::name::{is_name, is_pattern, is_reference};
use vplan_base::span::{Place, Span};

impl<'a> Parser<'a> {
    /// Reads the text after a keyword.
    pub(super) fn arguments(&mut self, head: Head, rest: Text<'a>) -> Parts<'a> {
        let mut parts = Parts::default();
        let (statement, (text, offset)) = (head.statement, rest);
        if !text.is_empty() && !text.starts_with([' ', '\t', '\\', '{']) {
            let end = offset + text.chars().next().map_or(0, char::len_utf8);
            let span = Span::new(head.keyword.start, end);
            let message = format!("a blank is missing behind `{}`", statement.word);
            let error = self.error(error::MISSING_BLANK, message, span, "no blank here");
            self.fail(error.help(statement.help()), &mut parts);
        }
        match statement.slots {
            [Slot::Command] => self.command((statement.word, statement), rest, &mut parts),
            [Slot::Shell] => self.shell(head.keyword, rest, &mut parts),
            [Slot::Assignment] => self.assignment(head, rest, &mut parts),
            [Slot::Ready] => self.ready(head, rest, &mut parts),
            [Slot::Each] => self.each(head, rest, &mut parts),
            [_, Slot::ColonOrBlock] => self.check(head, rest, &mut parts),
            slots => {
                self.tokens(rest, &mut parts);
                for slot in slots {
                    self.slot(*slot, head, &mut parts);
                }
                self.block(head, &mut parts);
            }
        }
        parts
    }

    /// Splits a text into the tokens that are read next.
    pub(super) fn tokens(&mut self, (text, offset): Text<'a>, parts: &mut Parts<'a>) {
        let mut faults = Vec::new();
        let tokens = token::tokens(text, offset, &mut |fault, span| faults.push((fault, span)));
        parts.args.reserve_exact(tokens.len());
        for (fault, span) in &faults {
            let error = match fault {
                TokenError::Unclosed => {
                    let message = "the string is not closed";
                    self.error(error::UNCLOSED_STRING, message, *span, "opened here")
                        .help("a string ends on its line, with the quote that began it")
                }
                TokenError::Escape => {
                    let message = format!("{} is no escape", quote(self.slice(*span)));
                    self.error(error::BAD_ESCAPE, message, *span, "unknown escape")
                        .help(r#"the escapes are `\"`, `\\`, `\n`, `\t`, `\r` and `\u{HEX}`; in '…' everything is literal"#)
                }
            };
            self.fail(error, parts);
        }
        let sound = tokens.windows(2).filter(|_| faults.is_empty());
        for pair in sound {
            if let [a, b] = pair
                && b.glued
                && a.is_value()
                && b.is_value()
            {
                let message = "a blank is missing between two arguments";
                let label = "no blank before this";
                let error = self.error(error::MISSING_BLANK, message, b.span, label);
                self.fail(error, parts);
            }
        }
        parts.tokens = Tokens::new(tokens);
    }

    fn slot(&mut self, slot: Slot, head: Head, parts: &mut Parts<'a>) {
        let next = parts.tokens.peek();
        let is_word = next.is_some_and(|token| matches!(token.value, Value::Word(_)));
        let is_value = next.is_some_and(Token::is_value);
        match slot {
            Slot::Any(_) | Slot::Maybe(_) if !is_value => {}
            Slot::Level if !is_word => {}
            Slot::Level => self.one(StatementItem::Word("a level"), head, parts),
            Slot::One(item) | Slot::Maybe(item) => self.one(item, head, parts),
            Slot::Many(item) | Slot::Any(item) => {
                self.one(item, head, parts);
                let is_in = |token: &&Token<'_>| !token.is_mark("{") && !token.is_mark("}");
                while parts.tokens.peek().filter(is_in).is_some() {
                    match parts.tokens.next_if(|token| token.is_mark(",")) {
                        Some(comma) => {
                            let help = "blanks separate the items of a list";
                            self.unexpected(comma.span, "no comma here", help, parts);
                        }
                        None => self.one(item, head, parts),
                    }
                }
            }
            Slot::Literal(word) => self.part(Value::Word(word), word, head, parts),
            Slot::Equals => self.part(Value::Mark("="), "=", head, parts),
            Slot::Optional(word, item) => {
                if let Some(token) = parts.tokens.next_if(|t| t.value == Value::Word(word)) {
                    parts.args.push(Arg::new(token.span, Value::Mark(word)));
                    self.one(item, head.with_keyword(token.span), parts);
                }
            }
            Slot::Groups => self.groups(head, parts),
            Slot::Anything => {
                while let Some(token) = parts.tokens.next_if(|token| !token.is_mark("{")) {
                    parts.args.push(token.into_arg());
                }
            }
            Slot::Command
            | Slot::ColonOrBlock
            | Slot::MaybeBlock
            | Slot::Each
            | Slot::Shell
            | Slot::Ready
            | Slot::Assignment => {}
        }
    }

    /// Reads a word or mark that belongs to the statement.
    fn part(&mut self, value: Value<'a>, word: &'static str, head: Head, parts: &mut Parts<'a>) {
        match parts.tokens.next_if(|token| token.value == value) {
            Some(token) => parts.args.push(Arg::new(token.span, Value::Mark(word))),
            None => self.missing(&format!("`{word}`"), head, parts),
        }
    }

    pub(super) fn one(&mut self, item: StatementItem, head: Head, parts: &mut Parts<'a>) {
        let is_brace = |token: &Token<'_>| token.is_mark("{") || token.is_mark("}");
        let Some(token) = parts.tokens.next_if(|token| !is_brace(token)) else {
            return self.missing(expected(item), head, parts);
        };
        let span = token.span;
        match (item, token.value) {
            (StatementItem::Name, Value::Word(word)) => {
                parts.broken |= !self.name(word, span, false);
                parts.args.push(Arg::new(span, Value::Word(word)));
            }
            (StatementItem::Reference, Value::Word(word)) => {
                let is_sound = is_pattern(word) || self.name(word, span, true);
                parts.broken |= !is_sound;
                parts.args.push(Arg::new(span, Value::Word(word)));
            }
            (StatementItem::Word(_), Value::Word(word)) => {
                if let Some((_, name)) = holes(word).next() {
                    self.fail(hole_place(name, self.place(span)), parts);
                }
                parts.args.push(Arg::new(span, Value::Word(word)));
            }
            (
                StatementItem::Str | StatementItem::Sel | StatementItem::Glob,
                Value::Str(mut string),
            ) => {
                let is_served = head.statement.keyword == Keyword::Ready;
                if string.holes {
                    let kind = (item != StatementItem::Str, is_served);
                    parts.broken |= !self.knows_holes(&string.text, span, kind);
                }
                // Outside of an `each` a plain string has none.
                let fillable = self.fillable(is_served);
                string.holes &= holes(&string.text).any(|(_, name)| fillable.has(name));
                parts.args.push(Arg::new(span, Value::Str(string)));
            }
            (StatementItem::Sel, Value::Word(word)) if is_reference(&without_holes(word)) => {
                parts.broken |= !self.name(word, span, true);
                parts.args.push(Arg::new(span, Value::Word(word)));
            }
            (StatementItem::Sel, Value::Mark("!")) => self.negated(span, parts),
            (StatementItem::Sel | StatementItem::Glob, Value::Word(word)) => {
                let whole = parts.tokens.next_glued(span);
                parts.broken = true;
                if word.contains(['*', '?', '[', '/', '.'])
                    || whole != span
                    || item == StatementItem::Glob
                {
                    let found = self.slice(whole);
                    let message = format!("{} is not quoted", quote(found));
                    let label = "a glob stands in quotes";
                    let error = self.error(error::UNQUOTED_GLOB, message, whole, label);
                    self.report(error.help(format!("write `\"{found}\"`")));
                } else {
                    self.name(word, whole, true);
                }
            }
            (
                StatementItem::Name | StatementItem::Reference | StatementItem::Word(_),
                Value::Str(string),
            ) => {
                let help = format!("write {} without quotes", quote(&string.text));
                // The name is known all the same.
                if let (StatementItem::Name, Cow::Borrowed(name)) = (item, &string.text)
                    && is_name(name)
                {
                    parts.args.push(Arg::new(span, Value::Word(name)));
                }
                let label = format!("{} is expected", expected(item));
                self.unexpected(span, &label, &help, parts);
            }
            (StatementItem::Str, Value::Word(_)) => {
                let span = parts.tokens.next_glued(span);
                let help = format!("write `\"{}\"`", self.slice(span));
                self.unexpected(span, "a string is expected", &help, parts);
            }
            _ => {
                let label = format!("{} is expected", expected(item));
                self.unexpected(span, &label, &head.statement.help(), parts);
            }
        }
    }

    /// Reads `!name`.
    fn negated(&mut self, bang: Span, parts: &mut Parts<'a>) {
        let named = parts
            .tokens
            .next_if(|token| token.glued && token.is_value());
        match named.map(|token| (token.span, token.value)) {
            Some((span, Value::Word(word))) => {
                parts.broken |= !self.name(word, span, true);
                parts.args.push(Arg::new(bang.to(span), Value::Not(word)));
            }
            Some((span, _)) => {
                let inner = self.slice(span).trim_matches(['"', '\'']);
                let message = "the `!` stands outside the quotes";
                let label = "an excluding glob is one string";
                let error = self.error(error::UNQUOTED_GLOB, message, bang.to(span), label);
                self.fail(error.help(format!("write `\"!{inner}\"`")), parts);
            }
            None => {
                let label = "a name is expected directly behind it";
                let help = "exclude with `!name` or `\"!glob\"`";
                self.unexpected(bang, label, help, parts);
            }
        }
    }

    /// Reads `name, name -> * -> name`.
    fn groups(&mut self, head: Head, parts: &mut Parts<'a>) {
        let mut arrows = 0;
        loop {
            let before = parts.args.len();
            match parts
                .tokens
                .next_if(|token| token.value == Value::Word("*"))
            {
                Some(token) => parts.args.push(token.into_arg()),
                None => self.one(StatementItem::Reference, head, parts),
            }
            if parts.args.len() == before {
                return drop(parts.tokens.take_last());
            }
            let is_between = |token: &Token<'_>| token.is_mark(",") || token.is_mark("->");
            let Some(mark) = parts.tokens.next_if(is_between) else {
                break;
            };
            arrows += usize::from(mark.is_mark("->"));
            parts.args.push(mark.into_arg());
        }
        if let Some(token) = parts.tokens.next_if(Token::is_value) {
            let help = "`a, b -> c` runs a and b before c";
            self.unexpected(token.span, "`->` or `,` is expected before it", help, parts);
            parts.tokens.take_last();
        } else if arrows == 0 && !parts.broken {
            self.missing("`->` and a second group", head, parts);
        }
    }

    /// Reads the text after the arguments: the `{` of a block, or nothing.
    pub(super) fn block(&mut self, head: Head, parts: &mut Parts<'a>) {
        let (statement, opens) = (head.statement, head.statement.body.is_some());
        let Some(token) = parts.tokens.next_if(|_| true) else {
            if opens && !statement.has_maybe_block() && !parts.broken {
                let message = format!("`{}` needs a block", statement.word);
                let label = "its line must end with `{`";
                let error = self.error(error::MISSING_BLOCK, message, head.keyword, label);
                let rest = "its lines, and `}` on a line of its own";
                self.fail(error.help(format!("{}, {rest}", statement.help())), parts);
            }
            parts.broken |= opens && !statement.has_maybe_block();
            return;
        };
        let last = parts.tokens.take_last();
        if !token.is_mark("{") {
            let (open, last): (Option<_>, Option<_>) = match last {
                Some(last) if last.is_mark("{") => (Some(last.span), None),
                last => (None, last),
            };
            parts.doubtful |= open.is_some() && !opens;
            parts.open = open.or(parts.open);
            let span = last.map_or(token.span, |last| token.span.to(last.span));
            let label = match opens {
                true => "`{` is expected here",
                false => "nothing more is expected",
            };
            return self.unexpected(span, label, &statement.help(), parts);
        }
        if let Some(last) = &last {
            let span = Span::new(token.span.end, last.span.end);
            let inner = self.slice(span).trim_matches(['}', ' ', '\t']);
            let message = "a block is never on one line";
            let label = "this belongs to the next line";
            let error = self.error(error::BLOCK_ON_ONE_LINE, message, span, label);
            let help = format!(
                "write `{} … {{`, then `{inner}`, then `}}`, each on a line of its own",
                statement.word
            );
            self.fail(error.help(help), parts);
        } else if !opens {
            parts.doubtful = true;
            let message = format!("`{}` has no block", statement.word);
            let label = "nothing can be opened here";
            let error = self.error(error::UNEXPECTED_BLOCK, message, token.span, label);
            self.fail(error.help(statement.help()), parts);
        }
        if !last.is_some_and(|last| last.is_mark("}")) {
            parts.open = Some(token.span);
        }
    }

    /// Reports an invalid name. Returns `true` for a valid one.
    pub(super) fn name(&mut self, text: &'a str, span: Span, reference: bool) -> bool {
        let most = self.caps.name_bytes;
        if has_hole(text) {
            let fillable = self.fillable(false);
            if let Some((_, name)) = holes(text).find(|(_, name)| !fillable.has(name)) {
                self.report_hole(name, span);
                return false;
            }
        }
        // The resulting name is checked when its placeholders are filled.
        let shape = without_holes(text);
        let ok = if reference {
            is_reference(&shape) || is_pattern(&shape) && has_hole(text)
        } else {
            is_name(&shape)
        };
        let error = if !ok {
            let help = if !reference && text.contains('/') {
                "a `/` only stands in the name of something imported"
            } else {
                "a name begins with a letter or `_`, has letters, digits, `_`, `-`, and inside `.` and `:`"
            };
            let message = format!("{} is no name", quote(text));
            let error = self.error(error::BAD_NAME, message, span, "a name is expected here");
            error.help(help)
        } else if text.split('/').any(|part| part.len() > most) {
            let message = format!("a name is longer than {most} bytes");
            let label = format!("{} bytes", text.len());
            self.error(error::NAME_TOO_LONG, message, span, label)
        } else {
            return true;
        };
        self.report(error);
        false
    }

    /// Returns the names of the `each` blocks around, outermost first.
    pub(super) fn known_holes(&self) -> Vec<&'a str> {
        let eaches = self.frames.iter().map(|frame| &frame.node);
        let eaches = eaches.filter(|node| node.statement.keyword == Keyword::Each);
        let outer = self.around.iter().copied();
        outer.chain(eaches.flat_map(each::names)).collect()
    }

    /// Returns what is filled here; `services`: also by services.
    pub(super) fn fillable(&self, services: bool) -> Fillable<'a> {
        let eaches = self.frames.iter().map(|frame| &frame.node);
        let eaches = eaches.filter(|node| each::is_of_packages(node));
        Fillable {
            rows: self.known_holes(),
            packages: eaches.flat_map(each::names).collect(),
            services,
        }
    }

    fn report_hole(&mut self, name: &str, span: Span) {
        let known = self.known_holes();
        let hole = command::hole(&format!("{{{name}}}"), &known, self.place(span));
        self.report(hole);
    }

    /// Returns the first placeholder of a text that is filled here.
    pub(super) fn known_hole_in(&self, text: &str) -> Option<&'a str> {
        let known = self.known_holes();
        holes(text).find_map(|(_, name)| {
            let name = package_hole(name).unwrap_or(name);
            known.iter().find(|known| **known == name).copied()
        })
    }

    /// Whether all placeholders of a text are filled here; reports the first that is not. In a
    /// plain string outside of an `each` they are literal text.
    fn knows_holes(&mut self, text: &str, span: Span, (strict, services): (bool, bool)) -> bool {
        let fillable = self.fillable(services);
        if fillable.rows.is_empty() && !strict {
            return true;
        }
        let unknown = holes(text).find(|(_, name)| fillable.lacks(name));
        if let Some((_, name)) = unknown {
            self.report_hole(name, span);
        }
        unknown.is_none()
    }

    pub(super) fn missing(&mut self, what: &str, head: Head, parts: &mut Parts<'a>) {
        let statement = head.statement;
        // One remark about a line that has been found broken is enough.
        if !parts.broken {
            let (span, side) = match parts.tokens.peek() {
                Some(token) => (token.span, "before this"),
                None => (head.keyword, "behind it"),
            };
            let message = format!("`{}` needs {what}", statement.word);
            let label = format!("{what} is expected {side}");
            let error = self.error(error::MISSING_ARGUMENT, message, span, label);
            self.fail(error.help(statement.help()), parts);
        }
        if statement.body.is_none()
            || matches!(statement.keyword, Keyword::Check | Keyword::Service)
        {
            // Anything that follows would only be reported again.
            let open = parts.tokens.take_last().filter(|token| token.is_mark("{"));
            parts.doubtful = open.is_some();
            parts.open = open.map(|t| t.span);
        }
    }

    pub(super) fn unexpected(
        &mut self,
        span: Span,
        label: &str,
        help: &str,
        parts: &mut Parts<'a>,
    ) {
        self.fail(self.unexpected_at(span, label).help(help), parts);
    }

    pub(super) fn unexpected_at(&self, span: Span, label: &str) -> Diagnostic {
        let message = format!("unexpected {}", quote(self.slice(span)));
        self.error(error::UNEXPECTED_ARGUMENT, message, span, label)
    }
}

/// Replaces each placeholder with a letter.
pub(super) fn without_holes(text: &str) -> Cow<'_, str> {
    let mut shape = Cow::Borrowed(text);
    // From the end, so that the other ranges stay valid.
    for (range, _) in holes(text).collect::<Vec<_>>().into_iter().rev() {
        shape.to_mut().replace_range(range, "x");
    }
    shape
}

/// Describes a placeholder where no value is allowed.
pub(super) fn hole_place(name: &str, place: Place) -> Diagnostic {
    Diagnostic::error(
        error::HOLE_PLACE,
        format!("the value of `{{{name}}}` cannot stand here"),
    )
    .label(place, "no hole here")
    .help("values stand in names, in \"…\", in the words of a command and in the value of an `env`")
}

fn expected(item: StatementItem) -> &'static str {
    match item {
        StatementItem::Name | StatementItem::Reference => "a name",
        StatementItem::Str => "a string",
        StatementItem::Sel => "a quoted glob or the name of a `paths` definition",
        StatementItem::Glob => "a quoted glob",
        StatementItem::Word(what) => what,
    }
}
