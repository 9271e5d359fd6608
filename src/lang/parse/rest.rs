//! Parses the text after a verb, a `:` or `env`: the rest of a line, by the rules of commands.

use super::argument::hole_place;
use super::command::{self, Fillable};
use super::parser::{Parser, Parts};
use super::token::{self, Kind, Token};
use crate::ast::{Arg, Holed, Value};
use crate::error;
use crate::statement::{Item, Keyword, Statement};
use crate::word;
use vplan_base::command::UnsupportedReason;
use vplan_base::diagnostic::Diagnostic;
use vplan_base::hole::{holes, service_hole};
use vplan_base::span::Span;
use vplan_base::word::Word;

impl<'a> Parser<'a> {
    /// Reads `NAME: COMMAND`, or `NAME` and a block, of a check, a service or a toolchain, which has no block.
    pub(super) fn check(
        &mut self,
        statement: &'static Statement,
        keyword: Span,
        rest: &'a str,
        offset: usize,
        parts: &mut Parts<'a>,
    ) {
        let (word, has_block) = (statement.word, statement.body.is_some());
        let start = token::blanks(rest).map_or(rest, |(rest, _)| rest);
        let at = |text: &str| token::span_of(text, (rest, offset)).start;
        let Ok((behind, name)) = token::word(start) else {
            let mut tokens = self.tokens(rest, offset, parts);
            self.one(Item::Name, statement, keyword, &mut tokens, parts);
            // The error is in the name; a block after it is read, a command is not.
            parts.open = tokens
                .last()
                .filter(|t| t.kind == Kind::Mark("{"))
                .map(|t| t.span)
                .or(parts.open);
            return;
        };
        let span = Span::new(at(start), at(behind));
        parts.broken |= !self.name(name, span, false);
        if matches!(statement.keyword, Keyword::Service | Keyword::Toolchain)
            && let Some((_, hole)) = holes(name).next()
            && !parts.broken
        {
            parts.broken = true;
            let place = self.place(span);
            self.report(hole_place(hole, place).help(format!(
                "a {word} is there for all rows: give it a name without a hole"
            )));
        }
        parts.args.reserve_exact(3);
        parts.args.push(Arg::new(span, Value::Word(name)));
        let next = token::blanks(behind).map_or(behind, |(rest, _)| rest);
        if let Some(command) = next.strip_prefix(':') {
            let colon = Span::new(at(next), at(command));
            let spaced = next.len() != behind.len();
            if spaced
                || !(command.is_empty()
                    || command.starts_with([' ', '\t'])
                    || command.starts_with("\\\n"))
            {
                let label = if spaced {
                    "a blank before it"
                } else {
                    "no blank behind it"
                };
                self.bad_colon((colon, label), statement.word, name, command, parts);
            }
            parts.args.push(Arg::new(colon, Value::Mark(":")));
            if command.trim().is_empty() && !spaced {
                parts.broken = true;
                let end = at(command) + command.len();
                self.report(
                    Diagnostic::error(error::COMMAND_EMPTY, "the command is missing")
                        .label(
                            self.place(Span::new(end, end)),
                            "a command is expected here",
                        )
                        .help(if has_block {
                            format!(
                                "write `{word} {name}: COMMAND`, or `{word} {name} {{` for a block"
                            )
                        } else {
                            format!("write `{word} {name}: COMMAND`")
                        }),
                );
                parts.args.push(Arg {
                    span: Span::new(end, end),
                    value: Value::Command(Box::new(Holed::whole(command::none("")))),
                });
                return;
            }
            return self.command((":", statement), command, at(command), parts);
        }
        if let Some((short, command)) = name.split_once(':')
            && !next.starts_with('{')
            && !parts.broken
        {
            // `check lint:pnpm lint`
            let colon = span.start + short.len();
            if let Some(arg) = parts.args.last_mut() {
                arg.value = Value::Word(short);
                arg.span.end = colon;
            }
            let command = format!("{command}{behind}");
            self.bad_colon(
                (Span::new(colon, colon + 1), "no blank behind it"),
                statement.word,
                short,
                &command,
                parts,
            );
            return;
        }
        let reported = self.out.len();
        let mut tokens = self.tokens(next, at(next), parts);
        let is_said = self.out.len() > reported;
        match tokens.peek() {
            None => {
                let was_sound = !std::mem::replace(&mut parts.broken, true);
                if was_sound {
                    let (what, expected, help) = if has_block {
                        (
                            "`: COMMAND` or a block",
                            "`: COMMAND` or `{` is expected behind the name",
                            format!(
                                "it is written `{word} NAME: COMMAND`, or `{word} NAME {{`, its lines, and `}}` on a line of its own"
                            ),
                        )
                    } else {
                        (
                            "`: COMMAND`",
                            "`: COMMAND` is expected behind the name",
                            format!("it is written `{}`", statement.usage),
                        )
                    };
                    self.report(
                        Diagnostic::error(
                            error::MISSING_ARGUMENT,
                            format!("`{word}` needs {what}"),
                        )
                        .label(self.place(keyword), expected)
                        .help(help),
                    );
                }
            }
            Some(Token {
                kind: Kind::Mark("{"),
                ..
            }) => self.block(statement, keyword, tokens, parts),
            Some(token) => {
                let span = token.span;
                let help = format!(
                    "put a `:` behind the name: `{word} {name}: {}`",
                    next.trim()
                );
                // The error is that the quote is not closed, not that it is here.
                if !is_said {
                    self.unexpected(
                        self.slice(span),
                        span,
                        "`:` or `{` is expected before it",
                        &help,
                        parts,
                    );
                }
                if let Some(Token {
                    kind: Kind::Mark("{"),
                    span,
                    ..
                }) = tokens.last()
                {
                    parts.open = Some(span);
                }
            }
        }
    }

    fn bad_colon(
        &mut self,
        (colon, label): (Span, &str),
        word: &str,
        name: &str,
        command: &str,
        parts: &mut Parts<'a>,
    ) {
        parts.broken = true;
        self.report(
            Diagnostic::error(
                error::CHECK_COLON,
                format!("the `:` of a {word} stands directly behind its name"),
            )
            .label(self.place(colon), label)
            .help(format!("write `{word} {name}: {}`", command.trim())),
        );
    }

    pub(super) fn command(
        &mut self,
        (verb, statement): (&str, &'static Statement),
        text: &'a str,
        offset: usize,
        parts: &mut Parts<'a>,
    ) {
        let trimmed = text.trim_start_matches([' ', '\t']);
        let offset = offset + text.len() - trimmed.len();
        let source = self.id;
        // Where the word in front takes a value in another language.
        let mark = ["=>", "->", ":=", "="].iter().find(|mark| {
            let behind = trimmed.strip_prefix(**mark);
            behind.is_some_and(|rest| rest.starts_with([' ', '\t']))
        });
        if let Some(mark) = mark {
            let span = Span::new(offset, offset + mark.len());
            self.unexpected(
                mark,
                span,
                "the command follows here",
                &format!("leave the `{mark}` out"),
                parts,
            );
            parts.args.push(Arg::new(
                span,
                Value::Command(Box::new(Holed::whole(command::none(trimmed)))),
            ));
            return;
        }
        let (command, broken) = command::read(
            trimmed,
            offset,
            verb,
            source,
            &self.fillable(self.is_served(statement)),
            &mut |d| {
                self.report(d);
            },
        );
        parts.broken |= broken;
        let end = trimmed.trim_end().len();
        parts.args.reserve_exact(1);
        parts.args.push(Arg {
            span: Span::new(offset, offset + end),
            value: Value::Command(Box::new(command)),
        });
        // People do write `check x: {`; reading the block all the same keeps its lines from being
        // taken for something else.
        let line = trimmed.trim_end();
        if broken && (line == "{" || line.ends_with(" {") || line.ends_with("\t{")) {
            let brace = offset + end.saturating_sub(1);
            parts.open = Some(Span::new(brace, brace + 1));
            parts.doubtful = true;
        }
    }

    pub(super) fn shell(
        &mut self,
        keyword: Span,
        text: &'a str,
        offset: usize,
        parts: &mut Parts<'a>,
    ) {
        let joined = join(text);
        let trimmed = text.trim_start_matches([' ', '\t']);
        let start = offset + text.len() - trimmed.len();
        let span = Span::new(start, start + trimmed.trim_end().len());
        if joined.trim().is_empty() {
            parts.broken = true;
            self.report(
                Diagnostic::error(error::COMMAND_EMPTY, "the command is missing")
                    .label(
                        self.place(keyword),
                        "text for a shell is expected behind it",
                    )
                    .help("write it behind `shell`, such as `shell grep -q ok log | wc -l`"),
            );
        } else if joined.contains('\0') {
            parts.broken = true;
            self.report(
                Diagnostic::error(
                    error::COMMAND_QUOTE,
                    "a NUL character can be in no argument",
                )
                .label(self.place(span), "somewhere in here"),
            );
        } else if joined.contains("{changed}") {
            parts.broken = true;
            self.report(
                Diagnostic::error(
                    error::CHANGED_IN_SHELL,
                    "`{changed}` has no meaning behind `shell`",
                )
                .label(self.place(span), "in this text")
                .help("use the verb `run` with `{changed}` as a word of its own"),
            );
        } else if let Some(found) = file_hole(&joined) {
            parts.broken = true;
            let hole = command::hole(&found, &[], self.place(span));
            self.report(hole.help("write the verb `run` with `{changed}` as a word of its own"));
        } else if let Some(name) = self.known_hole_in(&joined) {
            parts.broken = true;
            let variable = name.replace('-', "_").to_uppercase();
            self.report(
                Diagnostic::error(
                    error::HOLE_PLACE,
                    format!("the value of `{{{name}}}` cannot stand in text for a shell"),
                )
                .label(self.place(span), "a shell would read the value")
                .help(format!(
                    "write `env {variable}={{{name}}}` in the check, and `\"${variable}\"` here"
                )),
            );
        } else if joined.ends_with([' ', '\t']) {
            parts.broken = true;
            self.report(
                Diagnostic::error(
                    error::BAD_CONTINUATION,
                    "a blank behind a backslash ends the text",
                )
                .label(self.place(span), "in this text"),
            );
        }
        parts.args.push(Arg::new(span, Value::Shell(joined)));
    }

    pub(super) fn assignment(
        &mut self,
        statement: &'static Statement,
        keyword: Span,
        text: &'a str,
        offset: usize,
        parts: &mut Parts<'a>,
    ) {
        let trimmed = text.trim_start_matches([' ', '\t']);
        let offset = offset + text.len() - trimmed.len();
        let words = word::scan(trimmed);
        let source = self.id;
        let empty = trimmed.trim().is_empty();
        let fillable = self.fillable(self.is_served(statement));
        let known = &fillable.rows;
        let of_files = words.remarks.iter().find_map(|remark| match remark {
            word::Remark::Hole(span) => Some(*span),
            _ => None,
        });
        let of_files = of_files.filter(|span| {
            let text = trimmed.get(span.start..span.end).unwrap_or_default();
            let value = text.split_once('=').map_or(text, |(_, value)| value);
            !fillable.knows(value)
        });
        let value = words.env.iter().map(|(_, word)| word);
        let mut found = value.flat_map(|word| word.holes.iter().map(|hole| (word.span, hole)));
        // Outside of an `each` nothing is filled in.
        let is_unknown = |name: &str| {
            let is_of_service = service_hole(name).is_some();
            fillable.lacks(name) && (!known.is_empty() || is_of_service)
        };
        let unknown = found.find(|(_, hole)| is_unknown(&hole.name));
        let unknown = unknown.map(|(span, hole)| (span, format!("{{{}}}", hole.name)));
        let unknown = unknown.or_else(|| {
            let span = of_files?;
            let text = trimmed.get(span.start..span.end).unwrap_or_default();
            let value = text.split_once('=').map_or(text, |(_, value)| value);
            Some((span, value.to_owned()))
        });
        if let Some((span, found)) = unknown {
            parts.broken = true;
            let span = Span::new(offset + span.start, offset + span.end);
            let mut hole = command::hole(&found, known, self.place(span));
            if known.is_empty() && !command::is_of_service(&found) {
                let help = "quote it with '…' for the literal text: nothing is filled in here";
                hole = hole.help(help);
            }
            return self.report(hole);
        }
        let faults = words
            .faults
            .iter()
            .any(|f| f.reason != UnsupportedReason::Empty);
        match (words.env.as_slice(), words.words.as_slice()) {
            ([(name, value)], [])
                if !faults
                    && !words
                        .remarks
                        .iter()
                        .any(|r| matches!(r, word::Remark::ChangedInWord(_))) =>
            {
                let span = Span::new(offset, offset + trimmed.trim_end().len());
                let pair = ((*name).to_owned(), Word::new(value.bytes.clone()));
                let value = Value::Assignment(Box::new(Holed {
                    value: pair,
                    holes: command::holes_of(&words, &fillable),
                }));
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
                command::read(
                    trimmed,
                    offset,
                    "env",
                    source,
                    &Fillable::default(),
                    &mut |d| self.report(d),
                );
            }
        }
    }
}

/// Returns another tool's name for changed files in a text for a shell, unless it is quoted.
fn file_hole(text: &str) -> Option<String> {
    let words = word::scan(text);
    let spans = words.remarks.iter().filter_map(|remark| match remark {
        word::Remark::Hole(span) => text.get(span.start..span.end),
        _ => None,
    });
    let names = spans.flat_map(|found| {
        let holes = word::FILE_HOLES.iter().map(|name| format!("{{{name}}}"));
        holes.filter(move |hole| found.contains(hole.as_str()))
    });
    names.into_iter().next()
}

/// Joins the lines of a shell's text: a backslash at a line's end and the blanks around it become
/// one blank. The character after any other backslash is kept, even a blank.
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
