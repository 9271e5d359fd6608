//! Writes a faulty line as its author may have meant it: the same words in the form that the
//! statement's slots ask for. Only a line that reads without an error is offered.

use super::argument::without_holes;
use super::parser::{Head, Parser, ParserCaps};
use crate::statement::{Slot, Statement, StatementContext, StatementItem};
use std::iter::Peekable;
use std::vec::IntoIter;
use vplan_base::command::{is_env_name, quote};
use vplan_base::diagnostic::Severity;
use vplan_base::hole::{holes, service_hole};
use vplan_base::name::{is_name, is_pattern, is_reference};
use vplan_base::span::{SourceId, Span};
use vplan_base::unit::parse_duration;
use vplan_base::word::{Word, is_unsafe_to_show};

/// Maximum length of rewritten text after a keyword, in bytes. Longer text is hard to read in a
/// message.
const LONGEST: usize = 240;

/// A part of a line that may be in another language.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bit {
    /// A string, with its quotes as the language has them.
    Str(String),
    Word(String),
    /// `{`
    Open,
    /// `:`, `=`, `:=`
    Equals,
    /// `->`, `=>`, `→` and the like.
    Arrow,
    Comma,
}

type Bits = Peekable<IntoIter<Bit>>;

/// Returns the whole line, if the text after the keyword can be written in the statement's form.
pub(super) fn meant(statement: &'static Statement, rest: &str) -> Option<String> {
    meant_with(statement, rest, &[])
}

/// The same where enclosing `each` blocks fill these placeholders.
pub(super) fn meant_with(
    statement: &'static Statement,
    rest: &str,
    known: &[&str],
) -> Option<String> {
    if rest.len() > LONGEST || rest.contains('`') || rest.chars().any(is_unsafe_to_show) {
        return None;
    }
    let behind = match statement.slots {
        [Slot::Command] => command(rest)?,
        [Slot::Shell] => behind_mark(rest)?.to_owned(),
        [Slot::Assignment] => assignment(rest)?,
        [_, Slot::ColonOrBlock] => check(rest)?,
        slots => arguments(statement, slots, rest)?,
    };
    let line = format!("{} {behind}", statement.word).trim_end().to_owned();
    is_sound(statement, &line, known).then_some(line)
}

/// Whether a line of this statement reads without an error.
fn is_sound(statement: &'static Statement, line: &str, known: &[&str]) -> bool {
    let mut parser = Parser::new(line, SourceId::default(), ParserCaps::default());
    (parser.around, parser.is_line) = (known.to_vec(), true);
    let end = statement.word.len();
    let rest = line.get(end..).unwrap_or_default();
    let keyword = Span::new(0, end);
    let parts = parser.arguments(Head { statement, keyword }, (rest, end));
    let opens = parts.open.is_some();
    let blocks = match statement.body {
        // A check and an import may have either.
        Some(StatementContext::Check | StatementContext::Service | StatementContext::Change) => {
            true
        }
        Some(_) => opens,
        None => !opens,
    };
    !parts.broken && blocks && !parser.out.iter().any(|d| d.severity == Severity::Error)
}

/// Returns a text without the `:`, `=` or arrow at its beginning, if there is anything else.
fn behind_mark(rest: &str) -> Option<&str> {
    let rest = rest.trim();
    let marks = [":=", "=>", "->", ":", "="];
    let rest = marks
        .iter()
        .find_map(|mark| rest.strip_prefix(mark))
        .unwrap_or(rest);
    Some(rest.trim()).filter(|rest| !rest.is_empty())
}

/// Returns what is between quotes, if a text is nothing else.
fn unquoted(text: &str) -> Option<&str> {
    ['"', '\''].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains([quote, '\\'])).then_some(inner)
    })
}

/// Writes a command: `: npm test`, `"npm test"`, `["npm", "test"]`.
fn command(rest: &str) -> Option<String> {
    let text = behind_mark(rest)?;
    if let Some(inner) = unquoted(text) {
        return Some(inner.trim().to_owned());
    }
    if let Some(inner) = text
        .strip_prefix(['"', '\''])
        .filter(|inner| !inner.contains(['"', '\'']))
    {
        return Some(inner.to_owned());
    }
    if text.starts_with('[') && text.ends_with(']') {
        let words = bits(text).into_iter().map(|bit| match bit {
            Bit::Str(text) => unquoted(&text).map(|inner| Some(quote(&Word::from(inner)))),
            Bit::Comma => Some(None),
            _ => None,
        });
        let words: Option<Vec<Option<String>>> = words.collect();
        let words: Vec<String> = words?.into_iter().flatten().collect();
        return (!words.is_empty()).then(|| words.join(" "));
    }
    // What follows is a comment in another language.
    let text = text
        .split_once(" // ")
        .map_or(text, |(command, _)| command.trim_end());
    Some(text.to_owned())
}

/// Writes `NAME=VALUE`.
fn assignment(rest: &str) -> Option<String> {
    let text = behind_mark(rest)?.trim_end_matches([',', ';']).trim_end();
    let text = unquoted(text).unwrap_or(text);
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_\"'".contains(c)))?;
    let (name, behind) = text.split_at_checked(end)?;
    let name = unquoted(name).unwrap_or(name);
    let value = behind_mark(behind).unwrap_or_default();
    let another = value
        .split_whitespace()
        .any(|word| word.split_once('=').is_some_and(|(n, _)| is_env_name(n)));
    if !is_env_name(name) || (another && !value.starts_with(['"', '\''])) {
        return None;
    }
    let value = if value.is_empty() || value.starts_with(['"', '\'']) {
        value.to_owned()
    } else {
        // In quotes, a service placeholder would be literal text.
        let shape = without_holes(value);
        let is_filled = holes(value).all(|(_, name)| service_hole(name).is_some());
        if is_filled && quote(&Word::from(shape.as_ref())) == shape {
            value.to_owned()
        } else {
            quote(&Word::from(value))
        }
    };
    Some(format!("{name}={value}"))
}

/// Writes a name as one that a check may have: `test@unit` is `test-unit`.
fn check_name(text: &str) -> Option<String> {
    let text = unquoted(text).unwrap_or(text);
    if is_name(&without_holes(text)) {
        return Some(text.to_owned());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut name = String::new();
    for c in text.trim().chars() {
        if plain(c) {
            name.push(c);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_matches('-').to_owned();
    let name = if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{name}")
    } else {
        name
    };
    is_name(&name).then_some(name)
}

/// Writes `NAME: COMMAND`, or `NAME {`.
fn check(rest: &str) -> Option<String> {
    let text = rest.trim().trim_start_matches([':', '=']).trim_start();
    if let Some(head) = text.strip_suffix('{') {
        let head = head.trim_end().trim_end_matches([':', '=']);
        // A command has no block.
        return (!head.contains(": "))
            .then(|| check_name(head))
            .flatten()
            .map(|name| format!("{name} {{"));
    }
    let quoted = text.strip_prefix(['"', '\'']).and_then(|inner| {
        let end = inner.find(text.get(..1)?)?;
        inner.split_at_checked(end)
    });
    let (name, behind) = match quoted {
        Some((name, behind)) => (name, behind.get(1..)?),
        None => {
            let mark = [": ", " = ", " => ", " -> ", " :"]
                .iter()
                .filter_map(|mark| text.find(mark))
                .min();
            match mark {
                Some(at) if text.get(..at)?.split_whitespace().count() <= 3 => {
                    text.split_at_checked(at)?
                }
                _ => {
                    let end = text.find([' ', '\t'])?;
                    let end = text.get(..end)?.find(':').unwrap_or(end);
                    text.split_at_checked(end)?
                }
            }
        }
    };
    let command = command(behind)?;
    Some(format!("{}: {command}", check_name(name)?))
}

/// Writes the arguments that the slots ask for.
fn arguments(statement: &'static Statement, slots: &[Slot], rest: &str) -> Option<String> {
    let mut bits: Bits = bits(rest).into_iter().peekable();
    bits.next_if(|bit| matches!(bit, Bit::Equals | Bit::Arrow));
    let mut words: Vec<String> = Vec::new();
    if slots.is_empty() && statement.body.is_none() {
        // `setup: true`
        bits.next_if(
            |bit| matches!(bit, Bit::Word(word) if matches!(word.as_str(), "true" | "yes" | "on")),
        );
    }
    for slot in slots {
        if *slot != Slot::Equals {
            bits.next_if_eq(&Bit::Equals);
        }
        match slot {
            Slot::One(StatementItem::Str) if slots.len() == 1 => words.push(sentence(&mut bits)?),
            Slot::One(item) => words.push(one(*item, &mut bits)?),
            Slot::Many(item) | Slot::Any(item) => many(*item, slot, &mut bits, &mut words)?,
            Slot::Maybe(item) => {
                if matches!(bits.peek(), Some(Bit::Str(_) | Bit::Word(_))) {
                    words.push(one(*item, &mut bits)?);
                }
            }
            Slot::Literal(word) => {
                bits.next_if(|bit| matches!(bit, Bit::Word(found) if found == word));
                bits.next_if_eq(&Bit::Equals);
                words.push((*word).to_owned());
            }
            Slot::Optional(word, item) => {
                if bits
                    .next_if(|bit| matches!(bit, Bit::Word(found) if found == word))
                    .is_some()
                {
                    bits.next_if_eq(&Bit::Equals);
                    words.extend([(*word).to_owned(), one(*item, &mut bits)?]);
                }
            }
            Slot::Equals => {
                bits.next_if(|bit| matches!(bit, Bit::Equals | Bit::Arrow));
                words.push("=".to_owned());
            }
            Slot::Groups => words.push(groups(&mut bits)?),
            Slot::MaybeBlock => {}
            _ => return None,
        }
    }
    let opens = statement.body.is_some();
    if opens && (!statement.has_maybe_block() || bits.peek() == Some(&Bit::Open)) {
        bits.next_if(|bit| matches!(bit, Bit::Equals | Bit::Arrow));
        bits.next_if_eq(&Bit::Open);
        words.push("{".to_owned());
    }
    while bits.next_if_eq(&Bit::Comma).is_some() {}
    bits.next().is_none().then(|| words.join(" "))
}

/// Writes the words of a text without quotes as one string.
fn sentence(bits: &mut Bits) -> Option<String> {
    let first = one(StatementItem::Str, bits)?;
    let is_word = |bit: &Bit| matches!(bit, Bit::Word(_));
    let mut text = first;
    while let Some(Bit::Word(word)) = bits.next_if(is_word) {
        let inner = text.strip_suffix('"').map(str::to_owned)?;
        text = format!("{inner} {word}\"");
    }
    Some(text)
}

fn many(item: StatementItem, slot: &Slot, bits: &mut Bits, words: &mut Vec<String>) -> Option<()> {
    let before = words.len();
    loop {
        while bits.next_if_eq(&Bit::Comma).is_some() {}
        if !matches!(bits.peek(), Some(Bit::Str(_) | Bit::Word(_))) {
            break;
        }
        words.push(one(item, bits)?);
    }
    (words.len() > before || matches!(slot, Slot::Any(_))).then_some(())
}

/// Writes one argument.
fn one(item: StatementItem, bits: &mut Bits) -> Option<String> {
    let bit = bits.next()?;
    Some(match (item, bit) {
        (StatementItem::Str | StatementItem::Sel | StatementItem::Glob, Bit::Str(text)) => text,
        // What has a dot may be a name, but is a file more often.
        (StatementItem::Sel, Bit::Word(word))
            if is_reference(&without_holes(word.strip_prefix('!').unwrap_or(&word)))
                && !word.contains('.') =>
        {
            word
        }
        (StatementItem::Str | StatementItem::Sel | StatementItem::Glob, Bit::Word(word))
            if !word.contains('\\') =>
        {
            format!("\"{word}\"")
        }
        (StatementItem::Name, Bit::Word(word)) if is_name(&without_holes(&word)) => word,
        (StatementItem::Reference, Bit::Word(word))
            if is_reference(&without_holes(&word)) || is_pattern(&without_holes(&word)) =>
        {
            word
        }
        (StatementItem::Name | StatementItem::Reference, Bit::Str(text) | Bit::Word(text)) => {
            let name = unquoted(&text).unwrap_or(&text);
            let name = if is_reference(name) {
                name.to_owned()
            } else {
                name.replace([':', '.', ' '], "-")
            };
            is_reference(&name).then_some(name)?
        }
        (StatementItem::Word(what), Bit::Str(text) | Bit::Word(text)) => {
            let word = unquoted(&text).unwrap_or(&text).to_owned();
            if what == "a duration" {
                return duration(&word, bits);
            }
            let counts = what.contains("number") || what.contains("tier");
            let digits = word.bytes().all(|b| b.is_ascii_digit());
            let fits = digits || !counts || what.contains(&format!("`{word}`"));
            (!word.is_empty() && fits && !word.contains(' ')).then_some(word)?
        }
        _ => return None,
    })
}

/// Writes a duration: `5 minutes`, `5min` and `300` are `5m`, `5m` and `300s`.
fn duration(word: &str, bits: &mut Bits) -> Option<String> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = word.split_at_checked(digits)?;
    let unit = match bits.peek() {
        Some(Bit::Word(next)) if unit.is_empty() => {
            let next = next.clone();
            bits.next();
            next
        }
        _ => unit.to_owned(),
    };
    let unit = match unit.trim().to_lowercase().as_str() {
        "" | "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "ms" | "msec" | "millisecond" | "milliseconds" => "ms",
        _ => return None,
    };
    let text = format!("{number}{unit}");
    parse_duration(&text).is_ok().then_some(text)
}

/// Writes the groups of a `sequence`.
fn groups(bits: &mut Bits) -> Option<String> {
    let mut text = String::new();
    let mut arrows = 0;
    let mut joined = true;
    while let Some(bit) = bits.next_if(|bit| *bit != Bit::Open) {
        let bit = match bit {
            Bit::Word(word) if matches!(word.as_str(), "before" | "then") => Bit::Arrow,
            bit => bit,
        };
        match bit {
            Bit::Arrow => {
                (!joined).then_some(())?;
                text.push_str(" -> ");
                arrows += 1;
                joined = true;
            }
            Bit::Comma => {
                (!joined).then_some(())?;
                text.push_str(", ");
                joined = true;
            }
            Bit::Word(word) | Bit::Str(word) => {
                let name = unquoted(&word).unwrap_or(&word);
                (name == "*" || is_reference(name)).then_some(())?;
                if !joined {
                    text.push_str(", ");
                }
                text.push_str(name);
                joined = false;
            }
            Bit::Open | Bit::Equals => return None,
        }
    }
    (arrows > 0 && !joined).then_some(text)
}

/// Splits a line leniently: drops brackets around lists, and semicolons and comments of other
/// languages.
fn bits(text: &str) -> Vec<Bit> {
    const ARROWS: &[&str] = &["-->", "==>", "->", "=>", ">>", "→", "⇒", "➔"];
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        if let Some(arrow) = ARROWS.iter().find(|arrow| rest.starts_with(**arrow)) {
            taken = arrow.len();
            out.push(Bit::Arrow);
        } else if rest.starts_with("//") {
            return out;
        } else if let Some((string, length)) = string(rest) {
            taken = length;
            out.push(Bit::Str(string));
        } else {
            match c {
                '{' if !begins_with_hole(rest) => out.push(Bit::Open),
                ',' => out.push(Bit::Comma),
                ':' | '=' => {
                    if out.last() != Some(&Bit::Equals) {
                        out.push(Bit::Equals);
                    }
                }
                '>' => out.push(Bit::Arrow),
                '[' | ']' | '(' | ')' | ';' | '}' | ' ' | '\t' | '\n' | '\r' => {}
                '\\' if rest.starts_with("\\\n") => {}
                _ => {
                    let (word, length) = word(rest);
                    taken = length;
                    out.push(Bit::Word(word.to_owned()));
                }
            }
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

fn begins_with_hole(text: &str) -> bool {
    holes(text).next().is_some_and(|(hole, _)| hole.start == 0)
}

/// Reads a string in whatever quotes, perhaps with a `!` in front; an unclosed one ends with its
/// line, before a `{` there.
fn string(text: &str) -> Option<(String, usize)> {
    const QUOTES: &[(char, &[char])] = &[
        ('"', &['"', '”', '“']),
        ('\'', &['\'', '’', '‘']),
        ('“', &['”', '“', '"']),
        ('”', &['”', '“', '"']),
        ('„', &['“', '”', '"']),
        ('‘', &['’', '‘', '\'']),
        ('’', &['’', '‘', '\'']),
    ];
    let (not, inner) = match text.strip_prefix('!') {
        Some(inner) => ("!", inner),
        None => ("", text),
    };
    let open = inner.chars().next()?;
    let (_, closing) = QUOTES.iter().find(|(quote, _)| *quote == open)?;
    let body = inner.get(open.len_utf8()..)?;
    let straight = if matches!(open, '\'' | '‘' | '’') {
        '\''
    } else {
        '"'
    };
    let before = text.len() - body.len();
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        if closing.contains(&c) && !escaped {
            let content = body.get(..at)?;
            let length = before + at + c.len_utf8();
            let next = text.get(length..).and_then(|rest| rest.chars().next());
            if content.ends_with(' ')
                && next.is_some_and(|c| !c.is_whitespace() && !",;])".contains(c))
            {
                // The quote begins the next string: this one was not closed.
                let content = content.trim_end();
                let string = format!("{straight}{not}{content}{straight}");
                return Some((string, before + content.len()));
            }
            return Some((format!("{straight}{not}{content}{straight}"), length));
        }
        escaped = c == '\\' && !escaped && straight == '"';
    }
    let content = body.trim_end();
    let content = content.strip_suffix('{').unwrap_or(content).trim_end();
    let content = content
        .strip_suffix([']', ')', ',', ';'])
        .unwrap_or(content);
    (!content.is_empty() && !content.contains(['"', '\\', '\''])).then(|| {
        (
            format!("{straight}{not}{content}{straight}"),
            before + content.len(),
        )
    })
}

/// Reads a word without quotes, and its length in the text.
fn word(text: &str) -> (&str, usize) {
    let mut ends = text.char_indices();
    let end = ends.find(|(at, c)| {
        let is_hole = || holes(text).any(|(hole, _)| hole.start == *at || hole.end == at + 1);
        let stops = c.is_whitespace() || "\"'{},;→⇒“”‘’".contains(*c);
        stops && !(matches!(c, '{' | '}') && is_hole())
    });
    let end = end.map_or(text.len(), |(at, _)| at);
    let mut word = text.get(..end).unwrap_or(text);
    for arrow in ["->", "=>"] {
        if let Some(at) = word.find(arrow).filter(|at| *at > 0) {
            word = word.get(..at).unwrap_or(word);
        }
    }
    // The end of a list, or of a name.
    let kept = word.trim_end_matches([':', '=']);
    let kept = if kept.contains(['[', '(']) {
        kept
    } else {
        kept.trim_end_matches([']', ')'])
    };
    let kept = if kept.is_empty() { word } else { kept };
    (kept, kept.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::find;

    #[test]
    fn lines_of_other_languages() {
        for (context, text, want) in [
            (
                StatementContext::Top,
                "whenChangedAny [\"a/**\", 'b'] {",
                "whenChangedAny \"a/**\" 'b' {",
            ),
            (
                StatementContext::Top,
                "whenChangedAny(\"a/**\")",
                "whenChangedAny \"a/**\" {",
            ),
            (
                StatementContext::Top,
                "whenChangedAny src/** !b/[ab].c {",
                "whenChangedAny \"src/**\" \"!b/[ab].c\" {",
            ),
            (
                StatementContext::Top,
                "whenChangedAny “a/**” {",
                "whenChangedAny \"a/**\" {",
            ),
            (
                StatementContext::Top,
                "whenChangedAny \"a/** {",
                "whenChangedAny \"a/**\" {",
            ),
            (
                StatementContext::Top,
                "whenChangedAny !\"a\" {",
                "whenChangedAny \"!a\" {",
            ),
            (
                StatementContext::Top,
                "paths api: [a/*.c, c]",
                "paths api = \"a/*.c\" c",
            ),
            (StatementContext::Top, "sequence a => b", "sequence a -> b"),
            (
                StatementContext::Top,
                "sequence a, b → *;",
                "sequence a, b -> *",
            ),
            (
                StatementContext::Top,
                "sequence a b before c",
                "sequence a, b -> c",
            ),
            (
                StatementContext::Top,
                "check test@unit: npm t",
                "check test-unit: npm t",
            ),
            (
                StatementContext::Top,
                "check unit tests: npm t",
                "check unit-tests: npm t",
            ),
            (
                StatementContext::Top,
                "check lint:npm t",
                "check lint: npm t",
            ),
            (
                StatementContext::Top,
                "check lint npm t",
                "check lint: npm t",
            ),
            (
                StatementContext::Top,
                "check lint => npm t",
                "check lint: npm t",
            ),
            (
                StatementContext::Top,
                "check \"lint\": npm t",
                "check lint: npm t",
            ),
            (StatementContext::Top, "check lint: {", "check lint {"),
            (
                StatementContext::Top,
                "contract my project",
                "contract \"my project\"",
            ),
            (
                StatementContext::Top,
                "byRole [\"tester\"] {",
                "byRole tester {",
            ),
            (
                StatementContext::Top,
                "import: a.vplan as: x",
                "import \"a.vplan\" as x",
            ),
            (StatementContext::Check, "timeout: 5m", "timeout 5m"),
            (StatementContext::Check, "timeout = \"5 min\"", "timeout 5m"),
            (
                StatementContext::Check,
                "timeout 5 minutes // slow",
                "timeout 5m",
            ),
            (StatementContext::Check, "timeout: 300", "timeout 300s"),
            (StatementContext::Check, "setup: true", "setup"),
            (StatementContext::Check, "setup: false", ""),
            (
                StatementContext::Check,
                "tags: [fast, slow]",
                "tags fast slow",
            ),
            (StatementContext::Check, "exit [0, 1]", "exit 0 1"),
            (StatementContext::Check, "env: CI: 1", "env CI=1"),
            (StatementContext::Check, "env CI = 'a b'", "env CI='a b'"),
            (StatementContext::Check, "env \"CI=a b\"", "env CI='a b'"),
            (StatementContext::Check, "env A=1 B=2", ""),
            (StatementContext::Check, "run: npm test", "run npm test"),
            (
                StatementContext::Check,
                "run [\"npm\", \"run x\"]",
                "run npm 'run x'",
            ),
            (StatementContext::Check, "run: a && b", ""),
            // A word and a string: no line is offered that would not be read.
            (StatementContext::Check, "report: junit, out.xml", ""),
            (StatementContext::Check, "retries three", ""),
        ] {
            let end = text
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                .unwrap();
            let statement = find(&text[..end], context).unwrap();
            assert_eq!(
                meant(statement, &text[end..]).unwrap_or_default(),
                want,
                "{text}"
            );
        }
    }
}
