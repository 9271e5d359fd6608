//! Which arguments does a statement have? Its slots in the table say what is expected; every fault is reported.

use super::token::{self, Kind, Token};
use super::{Parser, command};
use crate::base::diagnostic::Diagnostic;
use crate::base::span::Span;
use crate::base::word::Word;
use crate::lang::ast::{Arg, Value};
use crate::lang::error::{self, shown};
use crate::lang::statement::{Item, Keyword, Slot, Statement};
use crate::lang::word;
use std::iter::Peekable;
use std::vec::IntoIter;

/// What a statement's line says.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub(super) args: Vec<Arg<'a>>,
    /// The `{` of a block that is now open.
    pub(super) open: Option<Span>,
    pub(super) broken: bool,
    /// Whether the block was opened by a line that opens none, so that its `}` may well be missing.
    pub(super) doubtful: bool,
}

type Tokens<'a> = Peekable<IntoIter<Token<'a>>>;

impl<'a> Parser<'a> {
    /// Reads what stands behind a keyword. `rest` begins at `offset`.
    pub(super) fn arguments(
        &mut self,
        statement: &'static Statement,
        keyword: Span,
        rest: &'a str,
        offset: usize,
    ) -> Parts<'a> {
        let mut parts = Parts::default();
        if !rest.is_empty() && !rest.starts_with([' ', '\t', '\\', '{']) {
            let span = Span::new(keyword.start, offset + rest.chars().next().map_or(0, char::len_utf8));
            self.report(
                Diagnostic::error(error::MISSING_BLANK, format!("a blank is missing behind `{}`", statement.word))
                    .label(self.place(span), "no blank here")
                    .help(format!("it is written `{}`", statement.usage)),
            );
            parts.broken = true;
        }
        match statement.slots {
            [Slot::Command] => self.command(statement.word, rest, offset, &mut parts),
            [Slot::Shell] => self.shell(keyword, rest, offset, &mut parts),
            [Slot::Assignment] => self.assignment(keyword, rest, offset, &mut parts),
            [_, Slot::ColonOrBlock] => self.check(statement, keyword, rest, offset, &mut parts),
            slots => {
                let mut tokens = self.tokens(rest, offset, &mut parts);
                for slot in slots {
                    self.slot(*slot, statement, keyword, &mut tokens, &mut parts);
                }
                self.block(statement, keyword, tokens, &mut parts);
            }
        }
        parts
    }

    fn tokens(&mut self, text: &'a str, offset: usize, parts: &mut Parts<'a>) -> Tokens<'a> {
        let mut faults = Vec::new();
        let tokens = token::tokens(text, offset, &mut |fault, span| faults.push((fault, span)));
        parts.broken |= !faults.is_empty();
        for (fault, span) in &faults {
            self.report(match fault {
                token::Fault::Unclosed => Diagnostic::error(error::UNCLOSED_STRING, "the string is not closed")
                    .label(self.place(*span), "opened here")
                    .help("a string ends on its line, with the quote that began it"),
                token::Fault::Escape => {
                    let found = self.slice(*span);
                    Diagnostic::error(error::BAD_ESCAPE, format!("{} is no escape", shown(found)))
                        .label(self.place(*span), "unknown escape")
                        .help(r#"the escapes are `\"`, `\\`, `\n`, `\t`, `\r` and `\u{HEX}`; in '…' everything is literal"#)
                }
            });
        }
        if faults.is_empty() {
            for pair in tokens.windows(2) {
                if let [a, b] = pair
                    && b.glued
                    && !matches!(a.kind, Kind::Mark(_))
                    && !matches!(b.kind, Kind::Mark(_))
                {
                    parts.broken = true;
                    self.report(
                        Diagnostic::error(error::MISSING_BLANK, "a blank is missing between two arguments")
                            .label(self.place(b.span), "no blank before this"),
                    );
                }
            }
        }
        tokens.into_iter().peekable()
    }

    fn slot(
        &mut self,
        slot: Slot,
        statement: &'static Statement,
        keyword: Span,
        tokens: &mut Tokens<'a>,
        parts: &mut Parts<'a>,
    ) {
        match slot {
            Slot::One(item) => self.one(item, statement, keyword, tokens, parts),
            Slot::Many(item) => {
                self.one(item, statement, keyword, tokens, parts);
                while let Some(token) = tokens.peek() {
                    match token.kind {
                        Kind::Mark("{" | "}") => break,
                        Kind::Mark(",") => {
                            let span = token.span;
                            tokens.next();
                            self.unexpected(",", span, "no comma here", "blanks separate the items of a list", parts);
                        }
                        _ => self.one(item, statement, keyword, tokens, parts),
                    }
                }
            }
            Slot::Literal(word) => match tokens.peek() {
                Some(Token { kind: Kind::Word(found), span, .. }) if *found == word => {
                    parts.args.push(Arg { span: *span, value: Value::Mark(word) });
                    tokens.next();
                }
                _ => self.missing(&format!("`{word}`"), statement, keyword, tokens, parts),
            },
            Slot::Equals => match tokens.peek() {
                Some(Token { kind: Kind::Mark("="), span, .. }) => {
                    parts.args.push(Arg { span: *span, value: Value::Mark("=") });
                    tokens.next();
                }
                _ => self.missing("`=`", statement, keyword, tokens, parts),
            },
            Slot::Groups => self.groups(statement, keyword, tokens, parts),
            Slot::Anything => {
                while let Some(token) = tokens.next_if(|t| t.kind != Kind::Mark("{")) {
                    let value = match token.kind {
                        Kind::Word(word) => Value::Word(word),
                        Kind::Str { text, verbatim } => Value::Str { text, verbatim },
                        Kind::Mark(mark) => Value::Mark(mark),
                    };
                    parts.args.push(Arg { span: token.span, value });
                }
            }
            Slot::Command | Slot::ColonOrBlock | Slot::Shell | Slot::Assignment => {}
        }
    }

    fn one(
        &mut self,
        item: Item,
        statement: &'static Statement,
        keyword: Span,
        tokens: &mut Tokens<'a>,
        parts: &mut Parts<'a>,
    ) {
        let Some(token) = tokens.next_if(|t| !matches!(t.kind, Kind::Mark("{" | "}"))) else {
            return self.missing(expected(item), statement, keyword, tokens, parts);
        };
        match (item, token.kind) {
            (Item::Name, Kind::Word(word)) => {
                parts.broken |= !self.name(word, token.span, false);
                parts.args.push(Arg { span: token.span, value: Value::Word(word) });
            }
            (Item::Reference, Kind::Word(word)) => {
                parts.broken |= !self.name(word, token.span, true);
                parts.args.push(Arg { span: token.span, value: Value::Word(word) });
            }
            (Item::Word(_), Kind::Word(word)) => {
                parts.args.push(Arg { span: token.span, value: Value::Word(word) });
            }
            (Item::Str | Item::Sel | Item::Glob, Kind::Str { text, verbatim }) => {
                parts.args.push(Arg { span: token.span, value: Value::Str { text, verbatim } });
            }
            (Item::Sel, Kind::Word(word)) if word.split('/').all(token::is_name) => {
                parts.broken |= !self.name(word, token.span, true);
                parts.args.push(Arg { span: token.span, value: Value::Word(word) });
            }
            (Item::Sel, Kind::Mark("!")) => self.negated(token.span, tokens, parts),
            (Item::Sel | Item::Glob, Kind::Word(word)) => {
                let mut span = token.span;
                while let Some(more) = tokens.next_if(|t| t.glued) {
                    span = span.to(more.span);
                }
                parts.broken = true;
                let glob = word.contains(['*', '?', '[', '/', '.']) || span != token.span || item == Item::Glob;
                let message = format!("{} is not quoted", shown(self.slice(span)));
                if glob {
                    self.report(
                        Diagnostic::error(error::UNQUOTED_GLOB, message)
                            .label(self.place(span), "a glob stands in quotes")
                            .help(format!("write `\"{}\"`", self.slice(span))),
                    );
                } else {
                    self.name(word, span, true);
                }
            }
            (Item::Name | Item::Reference | Item::Word(_), Kind::Str { text, .. }) => {
                let help = format!("write {} without quotes", shown(&text));
                self.unexpected(
                    self.slice(token.span),
                    token.span,
                    &format!("{} is expected", expected(item)),
                    &help,
                    parts,
                );
            }
            (Item::Str, Kind::Word(_)) => {
                let mut span = token.span;
                while let Some(more) = tokens.next_if(|t| t.glued) {
                    span = span.to(more.span);
                }
                let found = self.slice(span);
                self.unexpected(found, span, "a string is expected", &format!("write `\"{found}\"`"), parts);
            }
            (_, Kind::Mark(mark)) => {
                let label = format!("{} is expected", expected(item));
                self.unexpected(mark, token.span, &label, &format!("it is written `{}`", statement.usage), parts);
            }
        }
    }

    /// `!name`
    fn negated(&mut self, bang: Span, tokens: &mut Tokens<'a>, parts: &mut Parts<'a>) {
        match tokens.next_if(|t| t.glued && !matches!(t.kind, Kind::Mark(_))) {
            Some(Token { kind: Kind::Word(word), span, .. }) => {
                parts.broken |= !self.name(word, span, true);
                parts.args.push(Arg { span: bang.to(span), value: Value::Not(word) });
            }
            Some(Token { span, .. }) => {
                parts.broken = true;
                let inner = self.slice(span).trim_matches(['"', '\'']);
                self.report(
                    Diagnostic::error(error::UNQUOTED_GLOB, "the `!` stands outside the quotes")
                        .label(self.place(bang.to(span)), "an excluding glob is one string")
                        .help(format!("write `\"!{inner}\"`")),
                );
            }
            None => self.unexpected(
                "!",
                bang,
                "a name is expected directly behind it",
                "exclude with `!name` or `\"!glob\"`",
                parts,
            ),
        }
    }

    /// `name, name -> * -> name`
    fn groups(&mut self, statement: &'static Statement, keyword: Span, tokens: &mut Tokens<'a>, parts: &mut Parts<'a>) {
        let mut arrows = 0;
        loop {
            match tokens.peek() {
                Some(Token { kind: Kind::Word("*"), span, .. }) => {
                    parts.args.push(Arg { span: *span, value: Value::Word("*") });
                    tokens.next();
                }
                _ => self.one(Item::Reference, statement, keyword, tokens, parts),
            }
            match tokens.peek() {
                Some(Token { kind: Kind::Mark(mark @ ("," | "->")), span, .. }) => {
                    arrows += usize::from(*mark == "->");
                    parts.args.push(Arg { span: *span, value: Value::Mark(mark) });
                    tokens.next();
                }
                Some(Token { kind: Kind::Word(_) | Kind::Str { .. }, span, .. }) => {
                    let span = *span;
                    self.unexpected(
                        self.slice(span),
                        span,
                        "`->` or `,` is expected before it",
                        "`a, b -> c` runs a and b before c",
                        parts,
                    );
                    tokens.by_ref().for_each(drop);
                    return;
                }
                _ => break,
            }
        }
        if arrows == 0 && !parts.broken {
            self.missing("`->` and a second group", statement, keyword, tokens, parts);
        }
    }

    /// `NAME: COMMAND`, or `NAME` and a block.
    fn check(
        &mut self,
        statement: &'static Statement,
        keyword: Span,
        rest: &'a str,
        offset: usize,
        parts: &mut Parts<'a>,
    ) {
        let start = token::blanks(rest).map_or(rest, |(rest, _)| rest);
        let at = |text: &str| offset + rest.len() - text.len();
        let Ok((behind, name)) = token::word(start) else {
            let mut tokens = self.tokens(rest, offset, parts);
            self.one(Item::Name, statement, keyword, &mut tokens, parts);
            return self.block(statement, keyword, tokens, parts);
        };
        let span = Span::new(at(start), at(behind));
        parts.broken |= !self.name(name, span, false);
        parts.args.push(Arg { span, value: Value::Word(name) });
        let next = token::blanks(behind).map_or(behind, |(rest, _)| rest);
        if let Some(command) = next.strip_prefix(':') {
            let colon = Span::new(at(next), at(command));
            let spaced = next.len() != behind.len();
            if spaced || !(command.is_empty() || command.starts_with([' ', '\t']) || command.starts_with("\\\n")) {
                parts.broken = true;
                let label = if spaced { "a blank before it" } else { "no blank behind it" };
                self.report(
                    Diagnostic::error(error::CHECK_COLON, "the `:` of a check stands directly behind its name")
                        .label(self.place(colon), label)
                        .help(format!("write `check {name}: {}`", command.trim())),
                );
            }
            parts.args.push(Arg { span: colon, value: Value::Mark(":") });
            return self.command(":", command, at(command), parts);
        }
        let mut tokens = self.tokens(next, at(next), parts);
        match tokens.peek() {
            None => self.missing("`: COMMAND` or a block", statement, keyword, &mut tokens, parts),
            Some(Token { kind: Kind::Mark("{"), .. }) => self.block(statement, keyword, tokens, parts),
            Some(token) => {
                let span = token.span;
                let help = format!("put a `:` behind the name: `check {name}: {}`", next.trim());
                self.unexpected(self.slice(span), span, "`:` or `{` is expected before it", &help, parts);
                if let Some(Token { kind: Kind::Mark("{"), span, .. }) = tokens.last() {
                    parts.open = Some(span);
                }
            }
        }
    }

    fn command(&mut self, verb: &str, text: &'a str, offset: usize, parts: &mut Parts<'a>) {
        let trimmed = text.trim_start_matches([' ', '\t']);
        let offset = offset + text.len() - trimmed.len();
        let source = self.id;
        let (command, broken) = command::read(trimmed, offset, verb, source, &mut |d| self.report(d));
        parts.broken |= broken;
        let end = trimmed.trim_end().len();
        parts.args.push(Arg { span: Span::new(offset, offset + end), value: Value::Command(command) });
        // People do write `check x: {`; reading the block all the same keeps its lines from being taken for something else.
        let line = trimmed.trim_end();
        if broken && (line == "{" || line.ends_with(" {") || line.ends_with("\t{")) {
            let brace = offset + end.saturating_sub(1);
            parts.open = Some(Span::new(brace, brace + 1));
            parts.doubtful = true;
        }
    }

    fn shell(&mut self, keyword: Span, text: &'a str, offset: usize, parts: &mut Parts<'a>) {
        let joined = join(text);
        let trimmed = text.trim_start_matches([' ', '\t']);
        let start = offset + text.len() - trimmed.len();
        let span = Span::new(start, start + trimmed.trim_end().len());
        if joined.trim().is_empty() {
            parts.broken = true;
            self.report(
                Diagnostic::error(error::COMMAND_EMPTY, "the command is missing")
                    .label(self.place(keyword), "text for a shell is expected behind it")
                    .help("write it behind `shell`, such as `shell grep -q ok log | wc -l`"),
            );
        } else if joined.contains('\0') {
            parts.broken = true;
            self.report(
                Diagnostic::error(error::COMMAND_QUOTE, "a NUL character can be in no argument")
                    .label(self.place(span), "somewhere in here"),
            );
        } else if joined.contains("{changed}") {
            parts.broken = true;
            self.report(
                Diagnostic::error(error::CHANGED_IN_SHELL, "`{changed}` has no meaning behind `shell`")
                    .label(self.place(span), "in this text")
                    .help("use the verb `run` with `{changed}` as a word of its own"),
            );
        } else if joined.ends_with([' ', '\t']) {
            parts.broken = true;
            self.report(
                Diagnostic::error(error::BAD_CONTINUATION, "a blank behind a backslash ends the text")
                    .label(self.place(span), "in this text"),
            );
        }
        parts.args.push(Arg { span, value: Value::Shell(joined) });
    }

    fn assignment(&mut self, keyword: Span, text: &'a str, offset: usize, parts: &mut Parts<'a>) {
        let trimmed = text.trim_start_matches([' ', '\t']);
        let offset = offset + text.len() - trimmed.len();
        let words = word::scan(trimmed);
        let source = self.id;
        let empty = trimmed.trim().is_empty();
        let faults = words.faults.iter().any(|f| f.reason != crate::base::command::UnsupportedReason::Empty);
        match (words.env.as_slice(), words.words.as_slice()) {
            ([(name, value)], [])
                if !faults && !words.remarks.iter().any(|r| matches!(r, word::Remark::ChangedInWord(_))) =>
            {
                let span = Span::new(offset, offset + trimmed.trim_end().len());
                let value = Value::Assignment((*name).to_owned(), Word::new(value.clone()));
                parts.args.push(Arg { span, value });
            }
            _ if empty => {
                parts.broken = true;
                self.report(
                    Diagnostic::error(error::MISSING_ARGUMENT, "`env` needs an assignment")
                        .label(self.place(keyword), "`NAME=VALUE` is expected behind it")
                        .help("it is written `env NAME=VALUE`"),
                );
            }
            ([_, ..], []) | ([], [_, ..]) | ([_, ..], [_, ..]) if !faults => {
                let span = Span::new(offset, offset + trimmed.trim_end().len());
                let found = self.slice(span);
                self.unexpected(
                    found,
                    span,
                    "one `NAME=VALUE` is expected",
                    "write one `env` line for each variable, and quote a value with blanks",
                    parts,
                );
            }
            _ => {
                parts.broken = true;
                command::read(trimmed, offset, "env", source, &mut |d| self.report(d));
            }
        }
    }

    /// What stands behind the arguments: the `{` of a block, or nothing.
    fn block(&mut self, statement: &'static Statement, keyword: Span, mut tokens: Tokens<'a>, parts: &mut Parts<'a>) {
        match (tokens.next(), statement.body) {
            (None, None) => {}
            (None, Some(_)) => {
                if !parts.broken {
                    self.report(
                        Diagnostic::error(error::MISSING_BLOCK, format!("`{}` needs a block", statement.word))
                            .label(self.place(keyword), "its line must end with `{`")
                            .help(format!(
                                "it is written `{}`, its lines, and `}}` on a line of its own",
                                statement.usage
                            )),
                    );
                }
                parts.broken = true;
            }
            (Some(Token { kind: Kind::Mark("{"), span, .. }), body) => {
                let rest = tokens.last();
                if let Some(last) = &rest {
                    parts.broken = true;
                    self.report(
                        Diagnostic::error(error::BLOCK_ON_ONE_LINE, "a block is never on one line")
                            .label(self.place(Span::new(span.end, last.span.end)), "this belongs to the next line")
                            .help(format!(
                                "write `{} … {{`, then `{}`, then `}}`, each on a line of its own",
                                statement.word,
                                self.slice(Span::new(span.end, last.span.end)).trim_matches(['}', ' ', '\t'])
                            )),
                    );
                } else if body.is_none() {
                    parts.broken = true;
                    parts.doubtful = true;
                    self.report(
                        Diagnostic::error(error::UNEXPECTED_BLOCK, format!("`{}` has no block", statement.word))
                            .label(self.place(span), "nothing can be opened here")
                            .help(format!("it is written `{}`", statement.usage)),
                    );
                }
                if !matches!(rest, Some(Token { kind: Kind::Mark("}"), .. })) {
                    parts.open = Some(span);
                }
            }
            (Some(token), body) => {
                let last = tokens.last();
                let opens = |t: &Token<'_>| t.kind == Kind::Mark("{");
                if let Some(open) = last.as_ref().filter(|t| opens(t)) {
                    parts.open = Some(open.span);
                    parts.doubtful = body.is_none();
                }
                let end = last.as_ref().map_or(token.span, |l| if opens(l) { token.span } else { l.span });
                let span = token.span.to(end);
                let label = if body.is_some() { "`{` is expected here" } else { "nothing more is expected" };
                let help = format!("it is written `{}`", statement.usage);
                self.unexpected(self.slice(span), span, label, &help, parts);
            }
        }
    }

    /// Reports what is no name. `true` when it is one.
    fn name(&mut self, text: &'a str, span: Span, reference: bool) -> bool {
        let most = self.caps.name_bytes;
        let mut parts = text.split('/');
        let ok = if reference { parts.all(token::is_name) } else { token::is_name(text) };
        if !ok {
            let help = if !reference && text.contains('/') {
                "a `/` only stands in the name of something imported"
            } else {
                "a name begins with a letter or `_`, and has letters, digits, `_` and `-`"
            };
            self.report(
                Diagnostic::error(error::BAD_NAME, format!("{} is no name", shown(text)))
                    .label(self.place(span), "a name is expected here")
                    .help(help),
            );
        } else if text.split('/').any(|part| part.len() > most) {
            self.report(
                Diagnostic::error(error::NAME_TOO_LONG, format!("a name is longer than {most} bytes"))
                    .label(self.place(span), format!("{} bytes", text.len())),
            );
            return false;
        }
        ok
    }

    fn missing(
        &mut self,
        what: &str,
        statement: &'static Statement,
        keyword: Span,
        tokens: &mut Tokens<'a>,
        parts: &mut Parts<'a>,
    ) {
        // One remark about a line that has been found broken is enough.
        if !parts.broken {
            let diagnostic = Diagnostic::error(error::MISSING_ARGUMENT, format!("`{}` needs {what}", statement.word));
            let diagnostic = match tokens.peek() {
                Some(token) => diagnostic.label(self.place(token.span), format!("{what} is expected before this")),
                None => diagnostic.label(self.place(keyword), format!("{what} is expected behind it")),
            };
            self.report(diagnostic.help(format!("it is written `{}`", statement.usage)));
        }
        parts.broken = true;
        if statement.body.is_none() || statement.keyword == Keyword::Check {
            // Whatever follows would only be found fault with again.
            let open = tokens.by_ref().last().filter(|t| t.kind == Kind::Mark("{"));
            parts.doubtful = open.is_some();
            parts.open = open.map(|t| t.span);
        }
    }

    fn unexpected(&mut self, found: &str, span: Span, label: &str, help: &str, parts: &mut Parts<'a>) {
        parts.broken = true;
        self.report(
            Diagnostic::error(error::UNEXPECTED_ARGUMENT, format!("unexpected {}", shown(found)))
                .label(self.place(span), label)
                .help(help),
        );
    }
}

fn expected(item: Item) -> &'static str {
    match item {
        Item::Name | Item::Reference => "a name",
        Item::Str => "a string",
        Item::Sel => "a quoted glob or the name of a `paths` definition",
        Item::Glob => "a quoted glob",
        Item::Word(what) => what,
    }
}

/// Joins the lines of a shell's text: a backslash at a line's end and the blanks around it become one blank. What stands
/// behind any other backslash is kept, a blank too.
fn join(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    let mut chars = text.chars().peekable();
    let trim = |out: &mut String, kept: usize| {
        while out.len() > kept && out.ends_with([' ', '\t']) {
            out.pop();
        }
    };
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {
                chars.next();
                while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                trim(&mut out, kept);
                if !out.is_empty() {
                    out.push(' ');
                }
            }
            ('\\', Some(next)) => {
                out.extend([c, *next]);
                chars.next();
                kept = out.len();
            }
            (' ' | '\t', _) if out.is_empty() => {}
            _ => out.push(c),
        }
    }
    trim(&mut out, kept);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_texts() {
        for (text, want) in [
            (" a | b ", "a | b"),
            (" a \\\n   b", "a b"),
            (" a\\\nb", "a b"),
            (" \\\n a", "a"),
            (" a\\ \\\nb", "a\\  b"),
            (" a \\\\", "a \\\\"),
            (" a \\\n \\\n b", "a b"),
        ] {
            assert_eq!(join(text), want, "{text:?}");
        }
    }
}
