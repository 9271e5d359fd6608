//! Splits command text into words: the productions of src/lang/grammar.md, "Grammar", shared by
//! command text inside and outside contract files.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_while, take_while_m_n, take_while1};
use nom::character::complete::{anychar, one_of};
use nom::combinator::{map_opt, recognize, value};
use nom::multi::many0_count;
use nom::sequence::preceded;
use nom::{IResult, Parser};
use std::ops::Range;
use vplan_base::command::{UnsupportedReason, is_env_name};
use vplan_base::hole::holes;
use vplan_base::span::Span;
use vplan_base::word::has_word;

/// A place where the text leaves the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WordError {
    /// Byte offsets in the scanned text.
    pub(super) span: Span,
    pub(super) reason: UnsupportedReason,
}

/// A word that a shell would read in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remark {
    /// An unquoted `*`, `?`, `[…]`, `~` or `{a,b}`: passed on literally.
    Glob(Span),
    /// An unquoted `{changed}` inside a longer word.
    ChangedInWord(Span),
    /// An unquoted `{name}` or `{{name}}` that is a whole word, or another tool's name for changed
    /// files anywhere.
    Hole(Span),
}

/// A `{name}` in a word, `{changed}` aside, that a backslash or `'…'` does not make literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HoleInWord {
    /// Where it is in the value, in bytes, braces included.
    pub(super) range: Range<usize>,
    pub(super) name: String,
    /// Whether it is between double quotes.
    pub(super) quoted: bool,
}

/// One word: its value, and whether it was written without any quoting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    pub(super) span: Span,
    pub(super) bytes: Vec<u8>,
    pub(super) bare: bool,
    pub(super) holes: Vec<HoleInWord>,
}

impl Scanned {
    /// Whether it is the placeholder `{changed}`.
    pub(super) fn is_changed(&self) -> bool {
        self.bare && self.bytes == b"{changed}"
    }
}

/// All words of a text, and all faults in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scan<'a> {
    /// Assignments in front, in the order of the text: the name, and the value as a word.
    pub(super) env: Vec<(&'a str, Scanned)>,
    /// The words after them.
    pub(super) words: Vec<Scanned>,
    pub(super) faults: Vec<WordError>,
    pub(super) remarks: Vec<Remark>,
}

impl Scan<'_> {
    /// Returns the first fault by offset.
    pub(super) fn first_fault(&self) -> Option<WordError> {
        self.faults.iter().copied().min_by_key(|f| f.span.start)
    }
}

/// Shell builtins that are not programs. `test [ true false echo printf kill pwd` are programs as
/// well.
pub(super) const BUILTINS: &str = "\
    . alias bg bind break builtin caller cd command compgen complete continue declare dirs \
    disown enable eval exec exit export fc fg getopts hash help history jobs let local logout \
    mapfile popd pushd read readarray readonly return set setopt shift shopt source suspend \
    times trap type typeset ulimit umask unalias unset wait";

/// Reads a whole text. Everything is collected: a caller that wants one fault takes the first by
/// offset. The first word is only checked when the text has no other fault (`cd x && y` is an
/// operator's fault, not `cd`'s).
pub(super) fn scan(text: &str) -> Scan<'_> {
    let mut scanner = Scanner {
        text,
        out: Scan::default(),
    };
    scanner.run();
    let mut out = scanner.out;
    if out.faults.is_empty() {
        out.faults.extend(judge_program(text, &out.words));
    }
    out
}

fn judge_program(text: &str, words: &[Scanned]) -> Option<WordError> {
    let Some(first) = words.first() else {
        return Some(WordError {
            span: Span::new(text.len(), text.len()),
            reason: UnsupportedReason::Empty,
        });
    };
    let reason = match first.bytes.as_slice() {
        [] => UnsupportedReason::Empty,
        [b'-', ..] | [.., b':'] => UnsupportedReason::Program,
        _ if first.is_changed() => UnsupportedReason::Program,
        name if has_word(BUILTINS, name) => UnsupportedReason::Builtin,
        _ => return None,
    };
    Some(WordError {
        span: first.span,
        reason,
    })
}

/// A part of a word.
enum Part<'a> {
    /// Unquoted text without any meaning of its own.
    Bare(&'a str),
    /// Text after a backslash or between single quotes.
    Literal(&'a str),
    /// Text between double quotes.
    Double(String),
    /// Bytes that are written otherwise in the text.
    Made(Vec<u8>),
}

struct Scanner<'a> {
    text: &'a str,
    out: Scan<'a>,
}

impl<'a> Scanner<'a> {
    /// Returns the offset of a rest of the text.
    fn at(&self, rest: &str) -> usize {
        self.text.len() - rest.len()
    }

    fn fault(&mut self, from: &str, len: usize, reason: UnsupportedReason) {
        let start = self.at(from);
        self.out.faults.push(WordError {
            span: Span::new(start, start + len),
            reason,
        });
    }

    fn run(&mut self) {
        if let Some(nul) = self.text.find('\0') {
            // No argument can hold it, in whatever quotes.
            self.out.faults.push(WordError {
                span: Span::new(nul, nul + 1),
                reason: UnsupportedReason::Quote,
            });
        }
        let mut rest = self.text;
        loop {
            rest = after(blanks(rest), rest);
            if rest.is_empty() {
                return;
            }
            if rest.starts_with('#') {
                let len = take_till::<_, _, Nothing>(|c| c == '\n')
                    .parse(rest)
                    .map_or(0, |(_, comment)| comment.len());
                return self.fault(rest, len, UnsupportedReason::Comment);
            }
            rest = match operator(rest) {
                Ok((next, found)) => {
                    self.fault(rest, found.len(), UnsupportedReason::Operator);
                    next
                }
                Err(_) => self.word(rest),
            };
        }
    }

    /// Reads one word and adds it as an assignment, a word or a fault.
    fn word(&mut self, start: &'a str) -> &'a str {
        let mut bytes: Vec<u8> = Vec::new();
        let mut found = Vec::new();
        let mut rest = start;
        let mut bare = true;
        let mut assigned: Option<&'a str> = None;
        let mut loose = Loose::default();
        while let Some((next, part)) = self.part(rest) {
            match part {
                Part::Bare(text) => {
                    let first = rest.len() == start.len();
                    if first && self.out.words.is_empty() {
                        assigned = text
                            .split_once('=')
                            .map(|(name, _)| name)
                            .filter(|name| is_env_name(name));
                    }
                    loose.see(text, first);
                    found.extend(holes_in(text, bytes.len(), false));
                    bytes.extend_from_slice(text.as_bytes());
                }
                Part::Literal(text) => {
                    bare = false;
                    bytes.extend_from_slice(text.as_bytes());
                }
                Part::Double(text) => {
                    bare = false;
                    found.extend(holes_in(&text, bytes.len(), true));
                    bytes.extend_from_slice(text.as_bytes());
                }
                Part::Made(made) => {
                    bare = false;
                    bytes.extend_from_slice(&made);
                }
            }
            rest = next;
        }
        let span = Span::new(self.at(start), self.at(rest));
        let lone = bare
            && (matches!(bytes.as_slice(), b"{" | b"}")
                || (bytes == b"!" && self.out.words.is_empty()));
        if lone {
            self.out.faults.push(WordError {
                span,
                reason: UnsupportedReason::Operator,
            });
            return rest;
        }
        let mut word = Scanned {
            span,
            bytes,
            bare,
            holes: found,
        };
        if loose.changed && !word.is_changed() {
            self.out.remarks.push(Remark::ChangedInWord(span));
        } else if loose.files || (bare && is_hole(&word.bytes) && !word.is_changed()) {
            self.out.remarks.push(Remark::Hole(span));
        } else if loose.glob && !matches!(word.bytes.as_slice(), b"[" | b"]" | b"[[" | b"]]") {
            self.out.remarks.push(Remark::Glob(span));
        }
        match assigned {
            Some(name) => {
                let head = name.len() + 1;
                word.bytes.drain(..head);
                for hole in &mut word.holes {
                    hole.range = hole.range.start - head..hole.range.end - head;
                }
                self.out.env.push((name, word));
            }
            None => self.out.words.push(word),
        }
        rest
    }

    /// Reads a part of a word; `None` where the word ends. Records faults and goes on after them.
    fn part(&mut self, input: &'a str) -> Option<(&'a str, Part<'a>)> {
        if let Ok((rest, text)) = bare(input) {
            return Some((rest, Part::Bare(text)));
        }
        match input.as_bytes() {
            [b'\'', ..] => Some(match single_quoted(input) {
                Ok((rest, text)) => (rest, Part::Literal(text)),
                Err(_) => self.unclosed(input, 1),
            }),
            [b'"', ..] => Some(self.double_quoted(input)),
            [b'$', b'\'', ..] => Some(self.ansi_quoted(input)),
            [b'$' | b'`', ..] => Some(self.dollar(input)),
            [b'\\', b'\n', ..] => None,
            [b'\\', ..] => Some(match escaped(input) {
                Ok((rest, text)) => (rest, Part::Literal(text)),
                Err(_) => self.unclosed(input, 1),
            }),
            _ => None,
        }
    }

    /// Records a quote that is not closed, or a backslash at the end: nothing after it can be read.
    fn unclosed(&mut self, input: &'a str, len: usize) -> (&'a str, Part<'a>) {
        self.fault(input, len, UnsupportedReason::Quote);
        ("", Part::Literal(""))
    }

    /// Reads `$` or a backquote: an expansion, or a `$` that begins nothing.
    fn dollar(&mut self, input: &'a str) -> (&'a str, Part<'a>) {
        match expansion(input) {
            Ok((rest, found)) => {
                self.fault(input, found.len(), UnsupportedReason::Expansion);
                (rest, Part::Literal(found))
            }
            Err(_) => match tag::<_, _, Nothing>("$").parse(input) {
                Ok((rest, dollar)) => (rest, Part::Bare(dollar)),
                Err(_) => self.unclosed(input, 1),
            },
        }
    }

    /// Reads `"…"`: `\"`, `\\`, `\$` and `` \` `` are escapes, every other backslash stays.
    fn double_quoted(&mut self, input: &'a str) -> (&'a str, Part<'a>) {
        let mut made = String::new();
        let mut rest = after(tag::<_, _, Nothing>("\"").parse(input), input);
        loop {
            let (next, text) =
                take_till::<_, &str, Nothing>(|c| matches!(c, '"' | '\\' | '$' | '`'))
                    .parse(rest)
                    .unwrap_or((rest, ""));
            made.push_str(text);
            rest = match next.as_bytes() {
                [] => return self.unclosed(input, 1),
                [b'"', ..] => {
                    return (
                        after(tag::<_, _, Nothing>("\"").parse(next), next),
                        Part::Double(made),
                    );
                }
                [b'\\', ..] => match double_quoted_escape(next) {
                    Ok((rest, text)) => {
                        made.push_str(text);
                        rest
                    }
                    Err(_) => return self.unclosed(input, 1),
                },
                _ => {
                    let (rest, part) = self.dollar(next);
                    if let Part::Bare(text) | Part::Literal(text) = part {
                        made.push_str(text);
                    }
                    rest
                }
            };
        }
    }

    /// Reads `$'…'`: bytes as `\xHH`, and the escapes `\\ \' \n \t \r`.
    fn ansi_quoted(&mut self, input: &'a str) -> (&'a str, Part<'a>) {
        let mut made = Vec::new();
        let mut rest = after(tag::<_, _, Nothing>("$'").parse(input), input);
        loop {
            let (next, text) = take_till::<_, &str, Nothing>(|c| matches!(c, '\'' | '\\'))
                .parse(rest)
                .unwrap_or((rest, ""));
            made.extend_from_slice(text.as_bytes());
            rest = match next.as_bytes() {
                [] => return self.unclosed(input, 2),
                [b'\'', ..] => {
                    return (
                        after(tag::<_, _, Nothing>("'").parse(next), next),
                        Part::Made(made),
                    );
                }
                _ => match ansi_escape(next) {
                    Ok((rest, byte)) => {
                        made.push(byte);
                        rest
                    }
                    Err(_) => {
                        let whole =
                            recognize(preceded(tag::<_, _, Nothing>("\\"), anychar)).parse(next);
                        let Ok((rest, found)) = whole else {
                            return self.unclosed(input, 2);
                        };
                        self.fault(next, found.len(), UnsupportedReason::Quote);
                        rest
                    }
                },
            };
        }
    }
}

/// Returns the placeholders in a part of a word whose value begins at `offset`.
fn holes_in(text: &str, offset: usize, quoted: bool) -> impl Iterator<Item = HoleInWord> {
    let found = holes(text).filter(|(_, name)| *name != "changed");
    found.map(move |(range, name)| HoleInWord {
        range: offset + range.start..offset + range.end,
        name: name.to_owned(),
        quoted,
    })
}

/// Names by which other tools put changed files into a command.
pub(super) const FILE_HOLES: &[&str] = &[
    "files",
    "staged_files",
    "push_files",
    "all_files",
    "changed_files",
];

/// Whether a word is `{name}` or `{{name}}`.
fn is_hole(word: &[u8]) -> bool {
    let Some(inner) = word.strip_prefix(b"{").and_then(|w| w.strip_suffix(b"}")) else {
        return false;
    };
    let name = inner
        .strip_prefix(b"{")
        .and_then(|w| w.strip_suffix(b"}"))
        .unwrap_or(inner);
    name.first().is_some_and(u8::is_ascii_alphabetic)
        && name
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':'))
}

/// The parts of an unquoted run of characters that a shell would expand.
#[derive(Default)]
struct Loose {
    glob: bool,
    changed: bool,
    files: bool,
}

impl Loose {
    fn see(&mut self, text: &str, first: bool) {
        // Most words hold none of these characters.
        if text.contains('~') {
            self.glob |=
                (first && text.starts_with('~')) || text.contains("=~") || text.contains(":~");
        }
        if let Some((_, tail)) = text.split_once('{') {
            let lists = |inner: &str| inner.contains(',') || inner.contains("..");
            self.glob |= tail.split_once('}').is_some_and(|(inner, _)| lists(inner));
            self.changed |= text.contains("{changed}");
            self.files |= FILE_HOLES
                .iter()
                .any(|name| text.contains(&format!("{{{name}}}")));
        }
        self.glob |= text.contains(['*', '?']);
        self.glob |= text
            .split_once('[')
            .is_some_and(|(_, tail)| tail.contains(']'));
    }
}

/// The error of a production that does not apply here.
type Nothing = ();
type Parsed<'a, T> = IResult<&'a str, T, Nothing>;

/// Returns the rest after a production, or the input where it does not apply.
fn after<'a, T>(parsed: Parsed<'a, T>, input: &'a str) -> &'a str {
    parsed.map_or(input, |(rest, _)| rest)
}

fn blanks(input: &str) -> Parsed<'_, usize> {
    many0_count(alt((take_while1(|c| matches!(c, ' ' | '\t')), tag("\\\n")))).parse(input)
}

/// Reads an operator: `||` and `&&` before `|` and `&`; a newline outside quotes is one too.
fn operator(input: &str) -> Parsed<'_, &str> {
    alt((tag("||"), tag("&&"), recognize(one_of("|&;<>()\n")))).parse(input)
}

fn bare(input: &str) -> Parsed<'_, &str> {
    let plain = |c| {
        !matches!(
            c,
            ' ' | '\t'
                | '\n'
                | '\''
                | '"'
                | '\\'
                | '$'
                | '`'
                | '|'
                | '&'
                | ';'
                | '<'
                | '>'
                | '('
                | ')'
        )
    };
    take_while1(plain).parse(input)
}

fn single_quoted(input: &str) -> Parsed<'_, &str> {
    let (rest, _) = tag("'").parse(input)?;
    let (rest, text) = take_till(|c| c == '\'').parse(rest)?;
    let (rest, _) = tag("'").parse(rest)?;
    Ok((rest, text))
}

fn escaped(input: &str) -> Parsed<'_, &str> {
    preceded(tag("\\"), recognize(anychar)).parse(input)
}

/// Reads a backslash before a line's end, which joins the lines as one blank, in double quotes too.
fn double_quoted_escape(input: &str) -> Parsed<'_, &str> {
    alt((
        preceded(tag("\\"), recognize(one_of("\"\\$`"))),
        value(" ", tag("\\\n")),
        recognize(preceded(tag("\\"), anychar)),
    ))
    .parse(input)
}

fn ansi_escape(input: &str) -> Parsed<'_, u8> {
    let hex = |digits: &str| u8::from_str_radix(digits, 16).ok().filter(|b| *b != 0);
    preceded(
        tag("\\"),
        alt((
            value(b'\\', tag("\\")),
            value(b'\'', tag("'")),
            value(b'\n', tag("n")),
            value(b'\t', tag("t")),
            value(b'\r', tag("r")),
            map_opt(
                preceded(
                    tag("x"),
                    take_while_m_n(2, 2, |c: char| c.is_ascii_hexdigit()),
                ),
                hex,
            ),
        )),
    )
    .parse(input)
}

/// Reads `$NAME`, `$1`, `$?`, `${…}`, `$(…)`, `` `…` ``. The bracketed forms reach to their end
/// when they have one.
fn expansion(input: &str) -> Parsed<'_, &str> {
    let name = recognize((
        tag("$"),
        take_while_m_n(1, 1, |c: char| c.is_ascii_alphabetic() || c == '_'),
        take_while(|c: char| c.is_ascii_alphanumeric() || c == '_'),
    ));
    let special = recognize((tag("$"), one_of("0123456789?$!#@*-")));
    let braces = recognize((
        tag("${"),
        take_till(|c| c == '}'),
        take_while_m_n(0, 1, |c| c == '}'),
    ));
    let quotes = recognize((
        tag("`"),
        take_till(|c| c == '`'),
        take_while_m_n(0, 1, |c| c == '`'),
    ));
    alt((name, special, braces, parentheses, quotes)).parse(input)
}

/// Reads `$(…)` with the parentheses inside it counted; to the text's end when it is not closed.
fn parentheses(input: &str) -> Parsed<'_, &str> {
    tag("$(").parse(input)?;
    let mut depth = 0_usize;
    let end = |(i, b): (usize, u8)| {
        match b {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => return None,
        }
        (depth == 0).then_some(i + 1)
    };
    let len = input
        .bytes()
        .enumerate()
        .find_map(end)
        .unwrap_or(input.len());
    nom::bytes::complete::take(input.get(..len).map_or(0, |t| t.chars().count())).parse(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_faults_are_met() {
        let faults: Vec<_> = scan("a $X && b \"${Y}\" | c $(d (e)) 'f")
            .faults
            .iter()
            .map(|f| (f.span.start, f.span.end))
            .collect();
        assert_eq!(
            faults,
            [(2, 4), (5, 7), (11, 15), (17, 18), (21, 29), (30, 31)]
        );
    }

    #[test]
    fn remarks() {
        for (text, glob, other) in [
            ("ls *.c", 1, 0),
            ("ls '*.c' \\* \"?\"", 0, 0),
            ("[ -f a ]", 0, 0),
            ("ls [ab] a{b,c} ~/x FOO=~", 4, 0),
            ("ls a~ {} {a,b} '{a}' @{a} {1}", 1, 0),
            ("ls {a} {{a-b}} x{files} {changed}", 0, 3),
            ("echo x{changed} '{changed}' {changed}", 0, 1),
        ] {
            let remarks = scan(text).remarks;
            let globs = remarks
                .iter()
                .filter(|r| matches!(r, Remark::Glob(_)))
                .count();
            assert_eq!((globs, remarks.len() - globs), (glob, other), "{text}");
        }
    }
}
