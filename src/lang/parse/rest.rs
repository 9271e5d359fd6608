//! Parses the text after a verb, a `:` or `env`: the rest of a line, by the rules of commands.

use super::argument::hole_place;
use super::command::{self, Fillable};
use super::parser::{Head, Parser, Parts, Text};
use super::token;
use crate::ast::{Arg, Holed, Value};
use crate::error;
use crate::statement::{Keyword, Statement, StatementItem};
use crate::word;
use vplan_base::command::UnsupportedReason;
use vplan_base::hole::{holes, service_hole};
use vplan_base::span::Span;
use vplan_base::word::Word;

impl<'a> Parser<'a> {
    /// Reads `NAME: COMMAND`, or `NAME` and a block, of a check, a service or a toolchain, which has no block.
    pub(super) fn check(&mut self, head: Head, rest: Text<'a>, parts: &mut Parts<'a>) {
        let statement = head.statement;
        let (word, has_block) = (statement.word, statement.body.is_some());
        let start = token::blanks(rest.0).map_or(rest.0, |(rest, _)| rest);
        let at = |text: &str| token::span_of(text, rest).start;
        let Ok((behind, name)) = token::word(start) else {
            self.tokens(rest, parts);
            self.one(StatementItem::Name, head, parts);
            // The error is in the name; a block after it is read, a command is not.
            let open = parts.tokens.take_last().filter(|token| token.is_mark("{"));
            parts.open = open.map(|token| token.span).or(parts.open);
            return;
        };
        let span = Span::new(at(start), at(behind));
        parts.broken |= !self.name(name, span, false);
        if matches!(statement.keyword, Keyword::Service | Keyword::Toolchain)
            && let Some((_, hole)) = holes(name).next()
            && !parts.broken
        {
            let help = format!("a {word} is there for all rows: give it a name without a hole");
            let error = hole_place(hole, self.place(span));
            self.fail(error.help(help), parts);
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
                self.bad_colon((colon, label), word, name, command, parts);
            }
            parts.args.push(Arg::new(colon, Value::Mark(":")));
            if command.trim().is_empty() && !spaced {
                let end = at(command) + command.len();
                let span = Span::new(end, end);
                let help = match has_block {
                    true => {
                        format!("write `{word} {name}: COMMAND`, or `{word} {name} {{` for a block")
                    }
                    false => format!("write `{word} {name}: COMMAND`"),
                };
                let (message, label) = ("the command is missing", "a command is expected here");
                let error = self.error(error::COMMAND_EMPTY, message, span, label);
                self.fail(error.help(help), parts);
                return parts.args.push(no_command(span, ""));
            }
            return self.command((":", statement), (command, at(command)), parts);
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
            let colon = (Span::new(colon, colon + 1), "no blank behind it");
            return self.bad_colon(colon, word, short, &command, parts);
        }
        let reported = self.out.len();
        self.tokens((next, at(next)), parts);
        let is_said = self.out.len() > reported;
        let Some(token) = parts.tokens.peek() else {
            let (what, expected, help) = if has_block {
                (
                    "`: COMMAND` or a block",
                    "`: COMMAND` or `{` is expected behind the name",
                    format!(
                        "it is written `{word} NAME: COMMAND`, or `{word} NAME {{`, its lines, and `}}` on a line of its own"
                    ),
                )
            } else {
                let label = "`: COMMAND` is expected behind the name";
                ("`: COMMAND`", label, statement.help())
            };
            if !parts.broken {
                let message = format!("`{word}` needs {what}");
                let error = self.error(error::MISSING_ARGUMENT, message, head.keyword, expected);
                self.fail(error.help(help), parts);
            }
            return;
        };
        if token.is_mark("{") {
            return self.block(head, parts);
        }
        // The error is that the quote is not closed, not that it is here.
        if !is_said {
            let rest = next.trim();
            let help = format!("put a `:` behind the name: `{word} {name}: {rest}`");
            self.unexpected(token.span, "`:` or `{` is expected before it", &help, parts);
        }
        let open = parts.tokens.take_last().filter(|token| token.is_mark("{"));
        parts.open = open.map(|token| token.span).or(parts.open);
    }

    fn bad_colon(
        &mut self,
        (colon, label): (Span, &str),
        word: &str,
        name: &str,
        command: &str,
        parts: &mut Parts<'a>,
    ) {
        let message = format!("the `:` of a {word} stands directly behind its name");
        let error = self.error(error::CHECK_COLON, message, colon, label);
        let help = format!("write `{word} {name}: {}`", command.trim());
        self.fail(error.help(help), parts);
    }

    pub(super) fn command(
        &mut self,
        (verb, statement): (&str, &'static Statement),
        text: Text<'a>,
        parts: &mut Parts<'a>,
    ) {
        let (trimmed, offset) = without_blanks(text);
        // Where the word in front takes a value in another language.
        let mark = ["=>", "->", ":=", "="].iter().find(|mark| {
            let behind = trimmed.strip_prefix(**mark);
            behind.is_some_and(|rest| rest.starts_with([' ', '\t']))
        });
        if let Some(mark) = mark {
            let span = Span::new(offset, offset + mark.len());
            let help = format!("leave the `{mark}` out");
            self.unexpected(span, "the command follows here", &help, parts);
            return parts.args.push(no_command(span, trimmed));
        }
        let fillable = self.fillable(self.is_served(statement));
        let (command, broken) = self.read_command((trimmed, offset), verb, &fillable);
        parts.broken |= broken;
        let line = trimmed.trim_end();
        let end = offset + line.len();
        parts.args.reserve_exact(1);
        let value = Value::Command(Box::new(command));
        parts.args.push(Arg::new(Span::new(offset, end), value));
        // People do write `check x: {`; reading the block all the same keeps its lines from being
        // taken for something else.
        if broken && (line == "{" || line.ends_with(" {") || line.ends_with("\t{")) {
            parts.open = Some(Span::new(end - 1, end));
            parts.doubtful = true;
        }
    }

    pub(super) fn shell(&mut self, keyword: Span, text: Text<'a>, parts: &mut Parts<'a>) {
        let joined = join(text.0);
        let (trimmed, start) = without_blanks(text);
        let span = Span::new(start, start + trimmed.trim_end().len());
        let error = if joined.trim().is_empty() {
            let message = "the command is missing";
            let label = "text for a shell is expected behind it";
            let error = self.error(error::COMMAND_EMPTY, message, keyword, label);
            error.help("write it behind `shell`, such as `shell grep -q ok log | wc -l`")
        } else if joined.contains('\0') {
            let message = "a NUL character can be in no argument";
            self.error(error::COMMAND_QUOTE, message, span, "somewhere in here")
        } else if joined.contains("{changed}") {
            let message = "`{changed}` has no meaning behind `shell`";
            let error = self.error(error::CHANGED_IN_SHELL, message, span, "in this text");
            error.help("use the verb `run` with `{changed}` as a word of its own")
        } else if let Some(found) = file_hole(&joined) {
            let hole = command::hole(&found, &[], self.place(span));
            hole.help("write the verb `run` with `{changed}` as a word of its own")
        } else if let Some(name) = self.known_hole_in(&joined) {
            let variable = name.replace('-', "_").to_uppercase();
            let message = format!("the value of `{{{name}}}` cannot stand in text for a shell");
            let label = "a shell would read the value";
            let error = self.error(error::HOLE_PLACE, message, span, label);
            error.help(format!(
                "write `env {variable}={{{name}}}` in the check, and `\"${variable}\"` here"
            ))
        } else if joined.ends_with([' ', '\t']) {
            let message = "a blank behind a backslash ends the text";
            self.error(error::BAD_CONTINUATION, message, span, "in this text")
        } else {
            return parts.args.push(Arg::new(span, Value::Shell(joined)));
        };
        self.fail(error, parts);
        parts.args.push(Arg::new(span, Value::Shell(joined)));
    }

    pub(super) fn assignment(&mut self, head: Head, text: Text<'a>, parts: &mut Parts<'a>) {
        let (trimmed, offset) = without_blanks(text);
        let words = word::scan(trimmed);
        let span = Span::new(offset, offset + trimmed.trim_end().len());
        let fillable = self.fillable(self.is_served(head.statement));
        let known = &fillable.rows;
        // The value with another tool's name for changed files.
        let of_files = words.remarks.iter().find_map(|remark| match remark {
            word::Remark::Hole(span) => Some(*span),
            _ => None,
        });
        let of_files = of_files.map(|span| {
            let text = trimmed.get(span.start..span.end).unwrap_or_default();
            let value = text.split_once('=').map_or(text, |(_, value)| value);
            (span, value.to_owned())
        });
        let of_files = of_files.filter(|(_, value)| !fillable.knows(value));
        let value = words.env.iter().map(|(_, word)| word);
        let mut found = value.flat_map(|word| word.holes.iter().map(|hole| (word.span, hole)));
        // Outside of an `each` nothing is filled in.
        let is_unknown = |name: &str| {
            let is_of_service = service_hole(name).is_some();
            fillable.lacks(name) && (!known.is_empty() || is_of_service)
        };
        let unknown = found.find(|(_, hole)| is_unknown(&hole.name));
        let unknown = unknown.map(|(span, hole)| (span, format!("{{{}}}", hole.name)));
        if let Some((span, found)) = unknown.or(of_files) {
            let span = Span::new(offset + span.start, offset + span.end);
            let mut hole = command::hole(&found, known, self.place(span));
            if known.is_empty() && !command::is_of_service(&found) {
                let help = "quote it with '…' for the literal text: nothing is filled in here";
                hole = hole.help(help);
            }
            return self.fail(hole, parts);
        }
        let mut faults = words.faults.iter();
        let faults = faults.any(|fault| fault.reason != UnsupportedReason::Empty);
        let is_in_word = |remark: &_| matches!(remark, word::Remark::ChangedInWord(_));
        match (words.env.as_slice(), words.words.as_slice()) {
            ([(name, value)], []) if !faults && !words.remarks.iter().any(is_in_word) => {
                let pair = ((*name).to_owned(), Word::new(value.bytes.clone()));
                let value = Value::Assignment(Box::new(Holed {
                    value: pair,
                    holes: command::holes_of(&words, &fillable),
                }));
                parts.args.push(Arg::new(span, value));
            }
            _ if trimmed.trim().is_empty() => {
                let message = "`env` needs an assignment";
                let label = "`NAME=VALUE` is expected behind it";
                let error = self.error(error::MISSING_ARGUMENT, message, head.keyword, label);
                self.fail(error.help("it is written `env NAME=VALUE`"), parts);
            }
            ([_, ..], []) | ([], [_, ..]) | ([_, ..], [_, ..]) if !faults => {
                let label = "one `NAME=VALUE` is expected";
                let help = "write one `env` line for each variable, and quote a value with blanks";
                self.unexpected(span, label, help, parts);
            }
            _ => {
                parts.broken = true;
                self.read_command((trimmed, offset), "env", &Fillable::default());
            }
        }
    }
}

/// Returns a text from its first character that is not a blank.
fn without_blanks((text, offset): Text<'_>) -> Text<'_> {
    let trimmed = text.trim_start_matches([' ', '\t']);
    (trimmed, offset + text.len() - trimmed.len())
}

/// Returns the argument of a line without a command.
fn no_command<'a>(span: Span, text: &str) -> Arg<'a> {
    let command = Holed::whole(command::none(text));
    Arg::new(span, Value::Command(Box::new(command)))
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
