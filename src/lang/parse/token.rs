//! Splits a statement into words, strings and marks: the productions of src/lang/grammar.md,
//! "Grammar".

use crate::ast::{Arg, Quoted, Value};
use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_while, take_while_m_n, take_while1};
use nom::character::complete::anychar;
use nom::combinator::{map_opt, recognize, value, verify};
use nom::multi::{many0_count, many1_count};
use nom::sequence::{delimited, preceded};
use nom::{IResult, Offset as _, Parser};
use std::borrow::Cow;
use std::vec::IntoIter;
use vplan_base::hole::{has_hole, is_hole_name, package_hole};
use vplan_base::span::Span;

/// A token of a statement, with its span in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) span: Span,
    /// Whether no blank separates it from the token before.
    pub(super) glued: bool,
    /// A word, a string, or the mark `{`, `}`, `=`, `,`, `:`, `!`, `->`.
    pub(super) value: Value<'a>,
}

impl<'a> Token<'a> {
    pub(super) fn is_mark(&self, mark: &'static str) -> bool {
        self.value == Value::Mark(mark)
    }

    /// Whether it is a word or a string.
    pub(super) fn is_value(&self) -> bool {
        !matches!(self.value, Value::Mark(_))
    }

    pub(super) fn into_arg(self) -> Arg<'a> {
        Arg::new(self.span, self.value)
    }
}

/// The tokens that are still to be read.
#[derive(Default)]
pub(super) struct Tokens<'a>(IntoIter<Token<'a>>);

impl<'a> Tokens<'a> {
    pub(super) fn new(tokens: Vec<Token<'a>>) -> Self {
        Self(tokens.into_iter())
    }

    pub(super) fn peek(&self) -> Option<&Token<'a>> {
        self.0.as_slice().first()
    }

    pub(super) fn next_if(&mut self, is: impl FnOnce(&Token<'a>) -> bool) -> Option<Token<'a>> {
        self.peek().is_some_and(is).then(|| self.0.next()).flatten()
    }

    /// Reads on to the end of what no blank separates, and returns the place of all of it.
    pub(super) fn next_glued(&mut self, mut span: Span) -> Span {
        while let Some(more) = self.next_if(|token| token.glued) {
            span = span.to(more.span);
        }
        span
    }

    /// Passes over all of them, and returns the last.
    pub(super) fn take_last(&mut self) -> Option<Token<'a>> {
        self.0.by_ref().last()
    }
}

/// Returns the place of a part of a text that begins at an offset of the file.
pub(super) fn span_of(part: &str, (text, offset): (&str, usize)) -> Span {
    let start = offset + text.offset(part);
    Span::new(start, start + part.len())
}

/// The faults of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenError {
    Unclosed,
    Escape,
}

type Parsed<'a, T> = IResult<&'a str, T, ()>;

/// Splits a line. `offset` is its place in the file; faults are reported with their spans.
pub(super) fn tokens<'a>(
    line: &'a str,
    offset: usize,
    fault: &mut dyn FnMut(TokenError, Span),
) -> Vec<Token<'a>> {
    let mut out: Vec<Token<'a>> = Vec::new();
    let mut rest = line;
    loop {
        let before = rest.len();
        rest = blanks(rest).map_or(rest, |(rest, _)| rest);
        let glued = rest.len() == before && !out.is_empty();
        if rest.is_empty() {
            return out;
        }
        let start = offset + line.len() - rest.len();
        let (next, value) = token(rest, start, fault);
        let span = Span::new(start, start + rest.len() - next.len());
        out.push(Token { span, glued, value });
        rest = next;
    }
}

fn token<'a>(
    input: &'a str,
    start: usize,
    fault: &mut dyn FnMut(TokenError, Span),
) -> (&'a str, Value<'a>) {
    // A word may begin with a placeholder.
    if input.starts_with('{')
        && let Ok((rest, text)) = word(input)
    {
        return (rest, Value::Word(text));
    }
    if let Ok((rest, mark)) = mark(input) {
        return (rest, Value::Mark(mark));
    }
    if let Ok((rest, text)) = literal(input) {
        let string = Quoted {
            text: Cow::Borrowed(text),
            verbatim: true,
            holes: input.starts_with('"') && has_hole(text),
        };
        return (rest, Value::Str(string));
    }
    if input.starts_with('"') {
        return string(input, start, fault);
    }
    if input.starts_with('\'') {
        return unclosed(Cow::Borrowed(""), input, start, fault);
    }
    match word(input) {
        Ok((rest, text)) => (rest, Value::Word(text)),
        // Only a backslash is left, which the line's reader has reported, or one before another
        // character.
        Err(_) => {
            let (rest, text) = recognize(anychar::<_, ()>)
                .parse(input)
                .unwrap_or(("", input));
            (rest, Value::Word(text))
        }
    }
}

/// Reads `"…"` with its escapes. An invalid escape is reported and dropped.
fn string<'a>(
    input: &'a str,
    start: usize,
    fault: &mut dyn FnMut(TokenError, Span),
) -> (&'a str, Value<'a>) {
    let plain = |i| take_till::<_, &str, ()>(|c| matches!(c, '"' | '\\')).parse(i);
    let mut rest = input.get(1..).unwrap_or_default();
    let mut text = Cow::Borrowed("");
    let mut verbatim = true;
    loop {
        let (next, part) = plain(rest).unwrap_or((rest, ""));
        if text.is_empty() && verbatim {
            text = Cow::Borrowed(part);
        } else {
            text.to_mut().push_str(part);
        }
        if let Some(rest) = next.strip_prefix('"') {
            let holes = has_hole(&text);
            let string = Quoted {
                text,
                verbatim,
                holes,
            };
            return (rest, Value::Str(string));
        }
        verbatim = false;
        rest = match escape(next) {
            Ok((rest, c)) => {
                text.to_mut().push(c);
                rest
            }
            Err(_) => match recognize(preceded(tag::<_, _, ()>("\\"), anychar)).parse(next) {
                Ok((rest, found)) => {
                    let from = start + input.len() - next.len();
                    fault(TokenError::Escape, Span::new(from, from + found.len()));
                    rest
                }
                Err(_) => return unclosed(text, input, start, fault),
            },
        };
    }
}

/// Reports a string that is not closed, which takes the rest of the line.
fn unclosed<'a>(
    text: Cow<'a, str>,
    input: &str,
    start: usize,
    fault: &mut dyn FnMut(TokenError, Span),
) -> (&'a str, Value<'a>) {
    let span = Span::new(start, start + input.trim_end().len());
    fault(TokenError::Unclosed, span);
    let string = Quoted {
        text,
        verbatim: false,
        holes: false,
    };
    ("", Value::Str(string))
}

/// Reads a backslash before the line's end, which joins the lines as one blank, here too.
fn escape(input: &str) -> Parsed<'_, char> {
    let hex = |digits: &str| {
        u32::from_str_radix(digits, 16)
            .ok()
            .and_then(char::from_u32)
            .filter(|c| *c != '\0')
    };
    let digits = take_while_m_n(1, 6, |c: char| c.is_ascii_hexdigit());
    preceded(
        tag("\\"),
        alt((
            value('"', tag("\"")),
            value('\\', tag("\\")),
            value('\n', tag("n")),
            value('\t', tag("t")),
            value('\r', tag("r")),
            value(' ', tag("\n")),
            map_opt(delimited(tag("u{"), digits, tag("}")), hex),
        )),
    )
    .parse(input)
}

/// Reads `'…'`, everything literal; or `"…"` without escapes.
fn literal(input: &str) -> Parsed<'_, &str> {
    let single = delimited(tag("'"), take_while(|c| c != '\''), tag("'"));
    let double = delimited(
        tag("\""),
        take_while(|c| !matches!(c, '"' | '\\')),
        tag("\""),
    );
    alt((single, double)).parse(input)
}

fn mark(input: &str) -> Parsed<'_, &'static str> {
    alt((
        value("->", tag("->")),
        value("{", tag("{")),
        value("}", tag("}")),
        value("=", tag("=")),
        value(",", tag(",")),
        value(":", tag(":")),
        value("!", tag("!")),
    ))
    .parse(input)
}

/// Reads a bare word, which ends at a blank, a quote, a mark, and before `->`. It may contain a
/// placeholder `{NAME}`, and a `:` if more of the word follows.
pub(super) fn word(input: &str) -> Parsed<'_, &str> {
    let hole = || {
        recognize((
            tag("{"),
            verify(take_while1(is_plain), |name| {
                is_hole_name(name) || package_hole(name).is_some()
            }),
            tag("}"),
        ))
    };
    let some = || recognize(many1_count(alt((take_while1(is_plain), hole()))));
    let mut run = recognize((some(), many0_count((take_while1(|c| c == ':'), some()))));
    let (_, run) = run.parse(input)?;
    let end = run.find("->").filter(|i| *i > 0).unwrap_or(run.len());
    Ok((
        input.get(end..).unwrap_or_default(),
        input.get(..end).unwrap_or_default(),
    ))
}

fn is_plain(c: char) -> bool {
    !matches!(
        c,
        ' ' | '\t' | '\n' | '"' | '\'' | '{' | '}' | '=' | ',' | ':' | '\\'
    )
}

/// Reads blanks, and backslashes that join lines.
pub(super) fn blanks(input: &str) -> Parsed<'_, usize> {
    many0_count(alt((take_while1(|c| matches!(c, ' ' | '\t')), tag("\\\n")))).parse(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (Vec<String>, usize) {
        let mut faults = 0;
        let tokens = tokens(line, 0, &mut |_, _| faults += 1);
        let show = |t: Token<'_>| match t.value {
            Value::Word(w) => w.to_owned(),
            Value::Str(string) => {
                let end = if string.verbatim { "" } else { "e" };
                format!("<{}>{end}", string.text)
            }
            Value::Mark(m) => format!("`{m}"),
            other => panic!("{other:?}"),
        };
        (tokens.into_iter().map(show).collect(), faults)
    }

    #[test]
    fn tokens_of_a_line() {
        for (line, want, faults) in [
            (
                "paths api = \"a/**\" '!b'",
                vec!["paths", "api", "`=", "<a/**>", "<!b>"],
                0,
            ),
            (
                "a->b -> c,d",
                vec!["a", "`->", "b", "`->", "c", "`,", "d"],
                0,
            ),
            ("a-b->*", vec!["a-b", "`->", "*"], 0),
            ("!x \"\\u{61}\\n\\\"\"", vec!["`!", "x", "<a\n\">e"], 0),
            ("size 1B..2MiB {", vec!["size", "1B..2MiB", "`{"], 0),
            ("a \\\n b", vec!["a", "b"], 0),
            ("\"a\\\nb\"", vec!["<a b>e"], 0),
            ("\"a\\qb\"", vec!["<ab>e"], 1),
            (
                "\"\\u{}\\u{110000}\\u{0}\\u{1234567}\"",
                vec!["<{}{110000}{0}{1234567}>e"],
                4,
            ),
            ("\"a", vec!["<a>e"], 1),
            ("'a", vec!["<>e"], 1),
            ("it's", vec!["it", "<>e"], 1),
            ("a: b", vec!["a", "`:", "b"], 0),
            (
                "a:b a::b :c d:",
                vec!["a:b", "a::b", "`:", "c", "d", "`:"],
                0,
            ),
            ("\\x", vec!["\\", "x"], 0),
        ] {
            let want: Vec<String> = want.into_iter().map(str::to_owned).collect();
            assert_eq!(read(line), (want, faults), "{line}");
        }
    }
}
