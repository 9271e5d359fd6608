//! Parses a statement's arguments by its slots in the table, and reports every fault.

use super::command::Fillable;
use super::parser::{Parser, Parts};
use super::token::{self, Kind, Token};
use super::{command, each};
use crate::ast::{Arg, Value};
use crate::error::{self, shown};
use crate::statement::{Item, Keyword, Slot, Statement};
use std::borrow::Cow;
use std::iter::Peekable;
use std::vec::IntoIter;
use vplan_base::diagnostic::Diagnostic;
use vplan_base::hole::{has_hole, holes, package_hole};
use vplan_base::name::{is_name, is_pattern, is_reference};
use vplan_base::span::{Place, Span};

pub(super) type Tokens<'a> = Peekable<IntoIter<Token<'a>>>;

impl<'a> Parser<'a> {
    /// Reads the text after a keyword. `rest` begins at `offset`.
    pub(super) fn arguments(
        &mut self,
        statement: &'static Statement,
        keyword: Span,
        rest: &'a str,
        offset: usize,
    ) -> Parts<'a> {
        let mut parts = Parts::default();
        if !rest.is_empty() && !rest.starts_with([' ', '\t', '\\', '{']) {
            let span = Span::new(
                keyword.start,
                offset + rest.chars().next().map_or(0, char::len_utf8),
            );
            self.report(
                Diagnostic::error(
                    error::MISSING_BLANK,
                    format!("a blank is missing behind `{}`", statement.word),
                )
                .label(self.place(span), "no blank here")
                .help(format!("it is written `{}`", statement.usage)),
            );
            parts.broken = true;
        }
        match statement.slots {
            [Slot::Command] => self.command((statement.word, statement), rest, offset, &mut parts),
            [Slot::Shell] => self.shell(keyword, rest, offset, &mut parts),
            [Slot::Assignment] => self.assignment(statement, keyword, rest, offset, &mut parts),
            [Slot::Ready] => self.ready(statement, keyword, rest, offset, &mut parts),
            [Slot::Each] => self.each(statement, keyword, rest, offset, &mut parts),
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

    pub(super) fn tokens(
        &mut self,
        text: &'a str,
        offset: usize,
        parts: &mut Parts<'a>,
    ) -> Tokens<'a> {
        let mut faults = Vec::new();
        let tokens = token::tokens(text, offset, &mut |fault, span| faults.push((fault, span)));
        parts.args.reserve_exact(tokens.len());
        parts.broken |= !faults.is_empty();
        for (fault, span) in &faults {
            self.report(match fault {
                token::TokenError::Unclosed => Diagnostic::error(error::UNCLOSED_STRING, "the string is not closed")
                    .label(self.place(*span), "opened here")
                    .help("a string ends on its line, with the quote that began it"),
                token::TokenError::Escape => {
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
                        Diagnostic::error(
                            error::MISSING_BLANK,
                            "a blank is missing between two arguments",
                        )
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
            Slot::Any(_) | Slot::Maybe(_)
                if !matches!(
                    tokens.peek(),
                    Some(Token {
                        kind: Kind::Word(_) | Kind::Str { .. },
                        ..
                    })
                ) => {}
            Slot::Level
                if !matches!(
                    tokens.peek(),
                    Some(Token {
                        kind: Kind::Word(_),
                        ..
                    })
                ) => {}
            Slot::Level => self.one(Item::Word("a level"), statement, keyword, tokens, parts),
            Slot::Maybe(item) => self.one(item, statement, keyword, tokens, parts),
            Slot::Many(item) | Slot::Any(item) => {
                self.one(item, statement, keyword, tokens, parts);
                while let Some(token) = tokens.peek() {
                    match token.kind {
                        Kind::Mark("{" | "}") => break,
                        Kind::Mark(",") => {
                            let span = token.span;
                            tokens.next();
                            self.unexpected(
                                ",",
                                span,
                                "no comma here",
                                "blanks separate the items of a list",
                                parts,
                            );
                        }
                        _ => self.one(item, statement, keyword, tokens, parts),
                    }
                }
            }
            Slot::Literal(word) => match tokens.peek() {
                Some(Token {
                    kind: Kind::Word(found),
                    span,
                    ..
                }) if *found == word => {
                    parts.args.push(Arg::new(*span, Value::Mark(word)));
                    tokens.next();
                }
                _ => self.missing(&format!("`{word}`"), statement, keyword, tokens, parts),
            },
            Slot::Optional(word, item) => {
                if let Some(token) = tokens.next_if(|t| t.kind == Kind::Word(word)) {
                    parts.args.push(Arg::new(token.span, Value::Mark(word)));
                    self.one(item, statement, token.span, tokens, parts);
                }
            }
            Slot::Equals => match tokens.peek() {
                Some(Token {
                    kind: Kind::Mark("="),
                    span,
                    ..
                }) => {
                    parts.args.push(Arg::new(*span, Value::Mark("=")));
                    tokens.next();
                }
                _ => self.missing("`=`", statement, keyword, tokens, parts),
            },
            Slot::Groups => self.groups(statement, keyword, tokens, parts),
            Slot::Anything => {
                while let Some(token) = tokens.next_if(|t| t.kind != Kind::Mark("{")) {
                    let value = match token.kind {
                        Kind::Word(word) => Value::Word(word),
                        Kind::Str {
                            text,
                            verbatim,
                            holes,
                        } => Value::Str {
                            text,
                            verbatim,
                            holes,
                        },
                        Kind::Mark(mark) => Value::Mark(mark),
                    };
                    parts.args.push(Arg {
                        span: token.span,
                        value,
                    });
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

    pub(super) fn one(
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
                parts.args.push(Arg::new(token.span, Value::Word(word)));
            }
            (Item::Reference, Kind::Word(word)) => {
                let is_sound = is_pattern(word) || self.name(word, token.span, true);
                parts.broken |= !is_sound;
                parts.args.push(Arg::new(token.span, Value::Word(word)));
            }
            (Item::Word(_), Kind::Word(word)) => {
                if let Some((_, name)) = holes(word).next() {
                    parts.broken = true;
                    let place = self.place(token.span);
                    self.report(hole_place(name, place));
                }
                parts.args.push(Arg::new(token.span, Value::Word(word)));
            }
            (
                Item::Str | Item::Sel | Item::Glob,
                Kind::Str {
                    text,
                    verbatim,
                    holes,
                },
            ) => {
                let is_served = statement.keyword == Keyword::Ready;
                if holes {
                    parts.broken |=
                        !self.knows_holes(&text, token.span, (item != Item::Str, is_served));
                }
                // Outside of an `each` a plain string has none.
                let fillable = self.fillable(is_served);
                let is_filled = |text: &str| {
                    let mut named = vplan_base::hole::holes(text);
                    named.any(|(_, name)| fillable.has(name))
                };
                let holes = holes && is_filled(&text);
                parts.args.push(Arg::new(
                    token.span,
                    Value::Str {
                        text,
                        verbatim,
                        holes,
                    },
                ));
            }
            (Item::Sel, Kind::Word(word)) if is_reference(&without_holes(word)) => {
                parts.broken |= !self.name(word, token.span, true);
                parts.args.push(Arg::new(token.span, Value::Word(word)));
            }
            (Item::Sel, Kind::Mark("!")) => self.negated(token.span, tokens, parts),
            (Item::Sel | Item::Glob, Kind::Word(word)) => {
                let mut span = token.span;
                while let Some(more) = tokens.next_if(|t| t.glued) {
                    span = span.to(more.span);
                }
                parts.broken = true;
                let glob = word.contains(['*', '?', '[', '/', '.'])
                    || span != token.span
                    || item == Item::Glob;
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
                // The name is known all the same.
                if let (Item::Name, Cow::Borrowed(name)) = (item, &text)
                    && is_name(name)
                {
                    parts.args.push(Arg::new(token.span, Value::Word(name)));
                }
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
                self.unexpected(
                    found,
                    span,
                    "a string is expected",
                    &format!("write `\"{found}\"`"),
                    parts,
                );
            }
            (_, Kind::Mark(mark)) => {
                let label = format!("{} is expected", expected(item));
                self.unexpected(
                    mark,
                    token.span,
                    &label,
                    &format!("it is written `{}`", statement.usage),
                    parts,
                );
            }
        }
    }

    /// Reads `!name`.
    fn negated(&mut self, bang: Span, tokens: &mut Tokens<'a>, parts: &mut Parts<'a>) {
        match tokens.next_if(|t| t.glued && !matches!(t.kind, Kind::Mark(_))) {
            Some(Token {
                kind: Kind::Word(word),
                span,
                ..
            }) => {
                parts.broken |= !self.name(word, span, true);
                parts.args.push(Arg::new(bang.to(span), Value::Not(word)));
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

    /// Reads `name, name -> * -> name`.
    fn groups(
        &mut self,
        statement: &'static Statement,
        keyword: Span,
        tokens: &mut Tokens<'a>,
        parts: &mut Parts<'a>,
    ) {
        let mut arrows = 0;
        loop {
            match tokens.peek() {
                Some(Token {
                    kind: Kind::Word("*"),
                    span,
                    ..
                }) => {
                    parts.args.push(Arg::new(*span, Value::Word("*")));
                    tokens.next();
                }
                _ => {
                    let before = parts.args.len();
                    self.one(Item::Reference, statement, keyword, tokens, parts);
                    if parts.args.len() == before {
                        return tokens.by_ref().for_each(drop);
                    }
                }
            }
            match tokens.peek() {
                Some(Token {
                    kind: Kind::Mark(mark @ ("," | "->")),
                    span,
                    ..
                }) => {
                    arrows += usize::from(*mark == "->");
                    parts.args.push(Arg::new(*span, Value::Mark(mark)));
                    tokens.next();
                }
                Some(Token {
                    kind: Kind::Word(_) | Kind::Str { .. },
                    span,
                    ..
                }) => {
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

    /// Reads the text after the arguments: the `{` of a block, or nothing.
    pub(super) fn block(
        &mut self,
        statement: &'static Statement,
        keyword: Span,
        mut tokens: Tokens<'a>,
        parts: &mut Parts<'a>,
    ) {
        match (tokens.next(), statement.body) {
            (None, None) => {}
            (None, Some(_)) if statement.has_maybe_block() => {}
            (None, Some(_)) => {
                if !parts.broken {
                    self.report(
                        Diagnostic::error(
                            error::MISSING_BLOCK,
                            format!("`{}` needs a block", statement.word),
                        )
                        .label(self.place(keyword), "its line must end with `{`")
                        .help(format!(
                            "it is written `{}`, its lines, and `}}` on a line of its own",
                            statement.usage
                        )),
                    );
                }
                parts.broken = true;
            }
            (
                Some(Token {
                    kind: Kind::Mark("{"),
                    span,
                    ..
                }),
                body,
            ) => {
                let rest = tokens.last();
                if let Some(last) = &rest {
                    parts.broken = true;
                    self.report(
                        Diagnostic::error(error::BLOCK_ON_ONE_LINE, "a block is never on one line")
                            .label(
                                self.place(Span::new(span.end, last.span.end)),
                                "this belongs to the next line",
                            )
                            .help(format!(
                                "write `{} … {{`, then `{}`, then `}}`, each on a line of its own",
                                statement.word,
                                self.slice(Span::new(span.end, last.span.end))
                                    .trim_matches(['}', ' ', '\t'])
                            )),
                    );
                } else if body.is_none() {
                    parts.broken = true;
                    parts.doubtful = true;
                    self.report(
                        Diagnostic::error(
                            error::UNEXPECTED_BLOCK,
                            format!("`{}` has no block", statement.word),
                        )
                        .label(self.place(span), "nothing can be opened here")
                        .help(format!("it is written `{}`", statement.usage)),
                    );
                }
                if !matches!(
                    rest,
                    Some(Token {
                        kind: Kind::Mark("}"),
                        ..
                    })
                ) {
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
                let end = last
                    .as_ref()
                    .map_or(token.span, |l| if opens(l) { token.span } else { l.span });
                let span = token.span.to(end);
                let label = if body.is_some() {
                    "`{` is expected here"
                } else {
                    "nothing more is expected"
                };
                let help = format!("it is written `{}`", statement.usage);
                self.unexpected(self.slice(span), span, label, &help, parts);
            }
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
        // What the name becomes is looked at where it is filled.
        let shape = without_holes(text);
        let ok = if reference {
            is_reference(&shape) || is_pattern(&shape) && has_hole(text)
        } else {
            is_name(&shape)
        };
        if !ok {
            let help = if !reference && text.contains('/') {
                "a `/` only stands in the name of something imported"
            } else {
                "a name begins with a letter or `_`, has letters, digits, `_`, `-`, and inside `.` and `:`"
            };
            self.report(
                Diagnostic::error(error::BAD_NAME, format!("{} is no name", shown(text)))
                    .label(self.place(span), "a name is expected here")
                    .help(help),
            );
        } else if text.split('/').any(|part| part.len() > most) {
            self.report(
                Diagnostic::error(
                    error::NAME_TOO_LONG,
                    format!("a name is longer than {most} bytes"),
                )
                .label(self.place(span), format!("{} bytes", text.len())),
            );
            return false;
        }
        ok
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
        self.report(command::hole(
            &format!("{{{name}}}"),
            &known,
            self.place(span),
        ));
    }

    /// Returns the first hole of a text that is filled here.
    pub(super) fn known_hole_in(&self, text: &str) -> Option<&'a str> {
        let known = self.known_holes();
        holes(text).find_map(|(_, name)| {
            let name = package_hole(name).unwrap_or(name);
            known.iter().find(|known| **known == name).copied()
        })
    }

    /// Whether all holes of a text are filled here; reports the first that is not. In a plain
    /// string outside of an `each` they are text.
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

    pub(super) fn missing(
        &mut self,
        what: &str,
        statement: &'static Statement,
        keyword: Span,
        tokens: &mut Tokens<'a>,
        parts: &mut Parts<'a>,
    ) {
        // One remark about a line that has been found broken is enough.
        if !parts.broken {
            let diagnostic = Diagnostic::error(
                error::MISSING_ARGUMENT,
                format!("`{}` needs {what}", statement.word),
            );
            let diagnostic = match tokens.peek() {
                Some(token) => diagnostic.label(
                    self.place(token.span),
                    format!("{what} is expected before this"),
                ),
                None => {
                    diagnostic.label(self.place(keyword), format!("{what} is expected behind it"))
                }
            };
            self.report(diagnostic.help(format!("it is written `{}`", statement.usage)));
        }
        parts.broken = true;
        if statement.body.is_none()
            || matches!(statement.keyword, Keyword::Check | Keyword::Service)
        {
            // Anything that follows would only be reported again.
            let open = tokens.by_ref().last().filter(|t| t.kind == Kind::Mark("{"));
            parts.doubtful = open.is_some();
            parts.open = open.map(|t| t.span);
        }
    }

    pub(super) fn unexpected(
        &mut self,
        found: &str,
        span: Span,
        label: &str,
        help: &str,
        parts: &mut Parts<'a>,
    ) {
        parts.broken = true;
        self.report(
            Diagnostic::error(
                error::UNEXPECTED_ARGUMENT,
                format!("unexpected {}", shown(found)),
            )
            .label(self.place(span), label)
            .help(help),
        );
    }
}

/// Puts a letter into the place of each hole.
pub(super) fn without_holes(text: &str) -> Cow<'_, str> {
    let mut shape = Cow::Borrowed(text);
    // From behind, so that the other ranges stay as they are.
    for (range, _) in holes(text).collect::<Vec<_>>().into_iter().rev() {
        shape.to_mut().replace_range(range, "x");
    }
    shape
}

/// Describes a hole where no value can be.
pub(super) fn hole_place(name: &str, place: Place) -> Diagnostic {
    Diagnostic::error(
        error::HOLE_PLACE,
        format!("the value of `{{{name}}}` cannot stand here"),
    )
    .label(place, "no hole here")
    .help("values stand in names, in \"…\", in the words of a command and in the value of an `env`")
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
