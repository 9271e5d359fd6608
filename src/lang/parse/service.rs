//! Parses when a service is ready: the production `ready` of src/lang/grammar.md, "Grammar".

use super::parser::{Head, Parser, Parts, Text};
use super::token;
use crate::ast::{Arg, Value};
use crate::error::{self, quote};
use crate::statement::{Keyword, Statement, StatementContext, StatementItem};
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, digit1};
use nom::combinator::{all_consuming, eof, peek, recognize, verify};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Offset as _, Parser as _};
use vplan_base::hole::{Given, service_hole};
use vplan_base::span::Span;

type Parsed<'a> = IResult<&'a str, &'a str, ()>;

/// `'tcp' | 'file' | 'line' | 'run'`
fn form(input: &str) -> Parsed<'_> {
    let word = alt((tag("tcp"), tag("file"), tag("line"), tag("run")));
    let end = peek(alt((blanks, eof)));
    preceded(token::blanks, terminated(word, end)).parse(input)
}

/// A number, or `{port}` of a service.
fn port(input: &str) -> Parsed<'_> {
    let number = verify(digit1, |digits: &str| {
        digits.parse::<u16>().is_ok_and(|port| port > 0)
    });
    let is_port = |name: &str| service_hole(name).is_some_and(|(_, what)| what == Given::Port);
    let name = verify(take_while1(|c| c != '}'), is_port);
    let hole = recognize(delimited(char('{'), name, char('}')));
    let port = alt((number, hole));
    all_consuming(delimited(token::blanks, port, token::blanks)).parse(input)
}

/// Blanks, at least one.
fn blanks(input: &str) -> Parsed<'_> {
    verify(recognize(token::blanks), |found: &str| !found.is_empty()).parse(input)
}

/// Words of other tools for what a service prints, and for a command.
const PRINTED: &[&str] = &[
    "log", "output", "stdout", "stderr", "text", "message", "match", "contains", "prints", "regex",
];
const COMMANDS: &[&str] = &["command", "cmd", "exec", "shell", "probe", "test", "check"];

/// Returns the line that was probably meant by the text after `ready`.
fn meant(rest: &str) -> Option<String> {
    let text = rest.trim();
    let (word, behind) = text.split_once([' ', '\t']).unwrap_or((text, ""));
    let (word, behind) = (word.trim_end_matches([':', '=']), behind.trim());
    let of_port = |text: &str| {
        let text = text.trim_matches(['"', '\'']);
        // `http://localhost:8080/health`, `127.0.0.1:8080`, `:8080`
        let behind = text.rsplit_once("//").map_or(text, |(_, behind)| behind);
        let address = behind.split('/').next().unwrap_or_default();
        let port = address.rsplit_once(':').map_or(address, |(_, port)| port);
        self::port(port).ok().map(|(_, port)| port.to_owned())
    };
    let quoted = |text: &str| match text.starts_with(['"', '\'']) {
        true => text.to_owned(),
        false => format!("\"{text}\""),
    };
    if text.starts_with(['"', '\'']) {
        let path = text.trim_matches(['"', '\'']);
        let is_path = path.contains('/') && !path.contains(' ');
        return Some(match of_port(path) {
            Some(port) => format!("ready tcp {port}"),
            None if is_path => format!("ready file {text}"),
            None => format!("ready line {text}"),
        });
    }
    if matches!(word, "tcp" | "port" | "listen" | "http" | "on") {
        return of_port(behind).map(|port| format!("ready tcp {port}"));
    }
    if behind.is_empty()
        && let Some(port) = of_port(word)
    {
        return Some(format!("ready tcp {port}"));
    }
    match behind {
        "" => None,
        behind if matches!(word, "path" | "socket" | "exists") => {
            Some(format!("ready file {}", quoted(behind)))
        }
        behind if PRINTED.contains(&word) => Some(format!("ready line {}", quoted(behind))),
        behind if COMMANDS.contains(&word) => Some(format!("ready run {behind}")),
        _ => Some(format!("ready run {text}")),
    }
}

impl<'a> Parser<'a> {
    /// Whether service placeholders are filled in a line of this statement here.
    pub(super) fn is_served(&self, statement: &'static Statement) -> bool {
        match statement.keyword {
            Keyword::Service | Keyword::Ready => true,
            _ if self.is_line => statement.contexts.contains(&StatementContext::Check),
            _ => matches!(
                self.context(),
                StatementContext::Check | StatementContext::Override | StatementContext::Service
            ),
        }
    }

    /// Reads the text after `ready`.
    pub(super) fn ready(&mut self, head: Head, rest: Text<'a>, parts: &mut Parts<'a>) {
        let Ok((behind, word)) = form(rest.0) else {
            return self.bad_ready(head.keyword, rest, parts);
        };
        let span = |text: &str| token::span_of(text, rest);
        parts.args.push(Arg::new(span(word), Value::Word(word)));
        let behind = (behind, rest.1 + rest.0.offset(behind));
        match word {
            "run" => self.command(("ready run", head.statement), behind, parts),
            "tcp" => match port(behind.0) {
                Ok((_, port)) => parts.args.push(Arg::new(span(port), Value::Word(port))),
                Err(_) => self.bad_ready(head.keyword, rest, parts),
            },
            _ => {
                self.tokens(behind, parts);
                self.one(StatementItem::Str, head.with_keyword(span(word)), parts);
                self.block(head, parts);
            }
        }
    }

    fn bad_ready(&mut self, keyword: Span, rest: Text<'a>, parts: &mut Parts<'a>) {
        let text = rest.0.trim();
        let place = match text.is_empty() {
            true => keyword,
            false => token::span_of(text, rest),
        };
        let message = if text.is_empty() {
            "`ready` does not say when".to_owned()
        } else {
            format!("{} does not say when a service is ready", quote(text))
        };
        let meant = meant(text).filter(|line| !line.contains(['`', '\n', '\\']));
        let label = "`tcp PORT`, `file \"PATH\"`, `line \"TEXT\"` or `run COMMAND` is expected";
        let error = self.error(error::READY_FORM, message, place, label);
        let meant = meant.unwrap_or_else(|| "ready tcp {port}".to_owned());
        self.fail(error.help(format!("write `{meant}`")), parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant() {
        for (rest, want) in [
            ("{port}", "ready tcp {port}"),
            ("port 5432", "ready tcp 5432"),
            ("tcp localhost:5432", "ready tcp 5432"),
            ("\"http://localhost:8080/health\"", "ready tcp 8080"),
            ("\"{tmp}/s.sock\"", "ready file \"{tmp}/s.sock\""),
            ("\"ready to accept\"", "ready line \"ready to accept\""),
            ("log started", "ready line \"started\""),
            ("socket \"x.sock\"", "ready file \"x.sock\""),
            ("cmd: pg_isready -q", "ready run pg_isready -q"),
            ("pg_isready -p {port}", "ready run pg_isready -p {port}"),
        ] {
            assert_eq!(meant(rest).as_deref(), Some(want), "{rest}");
        }
        assert_eq!(meant(" "), None);
        for (text, is_port) in [
            (" {db.port} ", true),
            ("65535", true),
            ("0", false),
            ("65536", false),
            ("{tmp}", false),
            ("1 2", false),
        ] {
            assert_eq!(port(text).is_ok(), is_port, "{text}");
        }
    }
}
