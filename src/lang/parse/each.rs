//! Parses the first line of an `each`: the production `each` of src/lang/grammar.md, "Grammar".

use super::parser::{Frame, Head, Parser, Parts, Text};
use super::token::{self, Token};
use crate::ast::{Arg, Node, Value};
use crate::error::{self, quote};
use crate::statement::{Keyword, StatementItem};
use crate::word::{self, FILE_HOLES};
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::{anychar, char};
use nom::combinator::{peek, recognize, verify};
use nom::multi::{many1_count, separated_list1};
use nom::sequence::{delimited, preceded};
use nom::{IResult, Offset as _, Parser as _};
use vplan_base::folders::FolderQuery;
use vplan_base::hole::is_hole_name;
use vplan_base::nearest::nearest;
use vplan_base::path::RepoPath;
use vplan_base::span::Span;
use vplan_base::word::count;

/// The most `each` blocks inside each other.
const DEPTH: usize = 4;

/// The names that mean something in a command already, or will.
const RESERVED: &[&str] = &["changed", "port", "tmp"];

type Parsed<'a, T> = IResult<&'a str, T, ()>;

/// The word between the names and the values.
const IN: &str = "in";
/// The word between the names and the folders.
const IN_FOLDERS: &str = "in-folders";
/// The word between the name and the workspace.
const IN_WORKSPACE: &str = "in-workspace";
/// The word in front of the files that each folder holds.
const WITH: &str = "with";

/// Whether the names of an `each` are of packages.
pub(super) fn is_of_packages(node: &Node<'_>) -> bool {
    let is_mark = |arg: &Arg<'_>| arg.value == Value::Mark(IN_WORKSPACE);
    node.statement.keyword == Keyword::Each && node.args.iter().any(is_mark)
}

/// Returns the names of an `each`.
pub(super) fn names<'a>(node: &Node<'a>) -> Vec<&'a str> {
    let is_name = |arg: &&Arg<'a>| !matches!(arg.value, Value::Mark(_));
    let names = node.args.iter().take_while(is_name);
    let name = |arg: &Arg<'a>| match arg.value {
        Value::Word(name) => Some(name),
        _ => None,
    };
    names.filter_map(name).collect()
}

/// `HOLE { HOLE } ( 'in' | 'in-folders' | 'in-workspace' )`
fn head(input: &str) -> Parsed<'_, (Vec<&str>, &str)> {
    let is_name =
        |name: &str| is_hole_name(name) && ![IN, IN_FOLDERS, IN_WORKSPACE].contains(&name);
    let names = separated_list1(blanks, verify(plain, is_name));
    let end = peek(alt((blanks, tag("\""), tag("'"), tag("{"))));
    let word = delimited(
        blanks,
        alt((tag(IN_FOLDERS), tag(IN_WORKSPACE), tag(IN))),
        end,
    );
    preceded(blanks, (names, word)).parse(input)
}

/// `row { ',' row }`
fn rows(input: &str) -> Parsed<'_, Vec<Vec<&str>>> {
    let row = separated_list1(blanks, item);
    let comma = delimited(token::blanks, char(','), token::blanks);
    preceded(token::blanks, separated_list1(comma, row)).parse(input)
}

/// A word of a command, without `,`, `{` and `}` outside of quotes.
fn item(input: &str) -> Parsed<'_, &str> {
    let single = || delimited(char('\''), take_while(|c| c != '\''), char('\''));
    let escape = || recognize((char('\\'), verify(anychar, |c| *c != '\n')));
    let inside = take_while1(|c| !matches!(c, '"' | '\\'));
    let double = recognize((char('"'), many0_of(alt((inside, escape()))), char('"')));
    let ansi = recognize((char('$'), single()));
    recognize(many1_count(alt((
        recognize(single()),
        double,
        ansi,
        escape(),
        bare,
    ))))
    .parse(input)
}

fn many0_of<'a>(
    part: impl nom::Parser<&'a str, Output = &'a str, Error = ()>,
) -> impl nom::Parser<&'a str, Output = usize, Error = ()> {
    nom::multi::many0_count(part)
}

fn bare(input: &str) -> Parsed<'_, &str> {
    let stands = |c| !matches!(c, ' ' | '\t' | '\n' | '\'' | '"' | '\\' | ',' | '{' | '}');
    take_while1(stands).parse(input)
}

fn plain(input: &str) -> Parsed<'_, &str> {
    take_while1(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).parse(input)
}

/// Blanks, at least one.
fn blanks(input: &str) -> Parsed<'_, &str> {
    verify(recognize(token::blanks), |found: &str| !found.is_empty()).parse(input)
}

/// Returns the help for text after an `each` or a `for` that cannot be read.
pub(super) fn each_help(rest: &str) -> String {
    let end = rest.trim_end().trim_end_matches('{').trim_end().len();
    let mut words = rest.get(..end).unwrap_or_default().split_whitespace();
    let first = words
        .next()
        .map(|word| word.trim_end_matches([':', '=', ',']));
    let values: Vec<&str> = words
        .filter(|word| {
            !matches!(
                *word,
                "in" | "in-folders" | "in-workspace" | "of" | "=" | ":"
            ) && !word.contains('*')
        })
        .map(|word| word.trim_matches(['[', ']', ',', '(', ')']))
        .filter(|word| !word.is_empty())
        .collect();
    let near = rest.split_whitespace().nth(1);
    let near = near.and_then(|word| nearest(word, [IN_FOLDERS, IN_WORKSPACE]));
    match (first.filter(|name| is_hole_name(name)), near) {
        (Some(name), Some(near)) => format!("did you mean `each {name} {near}`?"),
        (Some(name), None) if !values.is_empty() => {
            format!("write `each {name} in {} {{`", values.join(" "))
        }
        _ => "write `each NAME in VALUE VALUE {`; in the block `{NAME}` stands for the value"
            .to_owned(),
    }
}

impl<'a> Parser<'a> {
    /// Reads the text after `each`.
    pub(super) fn each(&mut self, head: Head, rest: Text<'a>, parts: &mut Parts<'a>) {
        let span = |text: &str| token::span_of(text, rest);
        let Ok((behind, (names, word))) = self::head(rest.0) else {
            return self.bad_head(head, rest, parts);
        };
        for name in &names {
            let place = span(name);
            self.name_of_each(name, place, &names, parts);
            parts.args.push(Arg::new(place, Value::Word(name)));
        }
        let is_each = |frame: &&Frame<'_>| frame.node.statement.keyword == Keyword::Each;
        if self.frames.iter().filter(is_each).count() >= DEPTH {
            let message = format!("more than {DEPTH} `each` blocks inside each other");
            let error = self.error(error::EACH_DEPTH, message, head.keyword, "one too many");
            let help =
                "one `each` may have several names: `each NAME NAME in VALUE VALUE, VALUE VALUE {`";
            self.fail(error.help(help), parts);
        }
        let end = rest.1 + rest.0.offset(behind);
        let mut known = [IN_FOLDERS, IN_WORKSPACE].into_iter();
        let mark = known.find(|known| *known == word).unwrap_or(IN);
        let at = Span::new(end - mark.len(), end);
        parts.args.push(Arg::new(at, Value::Mark(mark)));
        match mark {
            IN_FOLDERS => self.folders(head, (behind, end), parts),
            IN_WORKSPACE => {
                let second = names.get(1).map(|second| span(second));
                self.workspace(head, (behind, end), second, parts);
            }
            _ => match rows(behind) {
                Ok((behind, rows)) => {
                    self.rows(&names, &rows, &span, parts);
                    self.tokens((behind, rest.1 + rest.0.offset(behind)), parts);
                }
                Err(_) => {
                    self.tokens((behind, end), parts);
                    self.missing("a value", head.with_keyword(at), parts);
                }
            },
        }
        self.block(head, parts);
    }

    /// `STRING [ 'with' strings ]`
    fn folders(&mut self, head: Head, behind: Text<'a>, parts: &mut Parts<'a>) {
        self.tokens(behind, parts);
        self.one(StatementItem::Glob, head, parts);
        if let Some(with) = parts.tokens.next_if(|t| t.value == Value::Word(WITH)) {
            parts.args.push(Arg::new(with.span, Value::Mark(WITH)));
            self.one(StatementItem::Str, head.with_keyword(with.span), parts);
            while parts.tokens.peek().is_some_and(is_string) {
                self.one(StatementItem::Str, head.with_keyword(with.span), parts);
            }
        }
    }

    /// `[ STRING ]`; `second`: a second name, which is an error for packages.
    fn workspace(
        &mut self,
        head: Head,
        behind: Text<'a>,
        second: Option<Span>,
        parts: &mut Parts<'a>,
    ) {
        if let Some(second) = second {
            let message = "a package has one name";
            let error = self.error(error::EACH_ROW, message, second, "one too many");
            let help =
                "write `each pkg in-workspace {`: `{pkg}` is its folder, `{pkg.name}` its name";
            self.fail(error.help(help), parts);
        }
        self.tokens(behind, parts);
        if parts.tokens.peek().is_some_and(is_string) {
            self.one(StatementItem::Str, head, parts);
        }
    }

    /// Reads the rows of an `each`.
    fn rows(
        &mut self,
        names: &[&str],
        rows: &[Vec<&'a str>],
        span: &dyn Fn(&str) -> Span,
        parts: &mut Parts<'a>,
    ) {
        let comma = |before: &[&str]| {
            let end = before.last().map_or(0, |value| span(value).end);
            let rest = self.slice(Span::new(end, self.text.len()));
            let blanks = rest.find(',').unwrap_or(0);
            Span::new(end + blanks, end + blanks + 1)
        };
        let commas: Vec<Span> = rows.iter().map(|row| comma(row)).collect();
        // With one name each value is a row.
        let single: Vec<Vec<&str>> = match names {
            [_] => rows.iter().flatten().map(|value| vec![*value]).collect(),
            _ => Vec::new(),
        };
        if let ([_], [_, _, ..], Some(first)) = (names, rows, commas.first()) {
            let message = "a `,` stands between the values of one name";
            let error = self.error(error::EACH_ROW, message, *first, "blanks separate them");
            self.fail(error.help("leave the `,` out"), parts);
        }
        let is_single = names.len() == 1;
        for (n, row) in (if is_single { &single } else { rows }).iter().enumerate() {
            let comma = n.checked_sub(1).filter(|_| !is_single);
            let comma = comma.and_then(|n| commas.get(n));
            let comma = comma.map(|comma| Arg::new(*comma, Value::Mark(",")));
            parts.args.extend(comma);
            let whole = match (row.first(), row.last()) {
                (Some(first), Some(last)) => span(first).to(span(last)),
                _ => Span::default(),
            };
            for text in row {
                let place = span(text);
                let value = self.item(text, place, parts);
                parts.args.push(Arg::new(place, Value::Item(value)));
            }
            if row.len() != names.len() {
                let count = count(row.len(), "value");
                let named: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                let message = format!(
                    "row {} has {count}, the `each` has {} names, {}",
                    n + 1,
                    names.len(),
                    named.join(" and "),
                );
                let error = self.error(error::EACH_ROW, message, whole, "another number");
                let help = "a `,` stands between rows, blanks between the values of a row; quote a value with blanks";
                self.fail(error.help(help), parts);
            }
        }
    }

    /// Reads a value: one word of a command.
    fn item(&mut self, text: &'a str, place: Span, parts: &mut Parts<'a>) -> String {
        let scan = word::scan(text);
        let faults = scan.faults.iter().any(|fault| {
            use vplan_base::command::UnsupportedReason::{Builtin, Empty, Program};
            !matches!(fault.reason, Builtin | Empty | Program)
        });
        let assigned = scan.env.first();
        let assigned = assigned.map(|(name, value)| [name.as_bytes(), b"=", &value.bytes].concat());
        let value = assigned.or_else(|| scan.words.first().map(|word| word.bytes.clone()));
        let value = value.and_then(|bytes| String::from_utf8(bytes).ok());
        let is_of_glob = |remark: &_| matches!(remark, word::Remark::Glob(_));
        let is_glob = text.starts_with('"') && text.contains(['*', '?', '['])
            || scan.remarks.iter().any(is_of_glob);
        if is_glob {
            let inner = text.trim_matches('"');
            let message = format!("{} is a value here, not a glob", quote(inner));
            let error = self.error(error::EACH_GLOB, message, place, "nothing is looked up");
            let help = match FolderQuery::parse(&RepoPath::root(), inner, &[]) {
                Ok(_) => format!("write `in-folders \"{inner}\"`, or `'{inner}'` for this one"),
                Err(_) => format!("write the values out, or `'{inner}'` for this one"),
            };
            self.fail(error.help(help), parts);
        } else if faults || value.as_ref().is_none_or(|value| value.contains('\0')) {
            let message = format!("{} is no value", quote(text));
            let label = "one word of a command is expected";
            let error = self.error(error::EACH_ROW, message, place, label);
            self.fail(error.help("quote it with '…' for the literal text"), parts);
        }
        value.unwrap_or_default()
    }

    /// Checks a name of an `each`.
    fn name_of_each(&mut self, name: &str, place: Span, all: &[&str], parts: &mut Parts<'a>) {
        let same = all.iter().filter(|other| **other == name).count() > 1;
        if RESERVED.contains(&name) || FILE_HOLES.contains(&name) {
            let message = match name {
                "changed" => "`{changed}` means the changed files".to_owned(),
                _ => format!("`{{{name}}}` means something else"),
            };
            let error = self.error(error::EACH_RESERVED, message, place, "a reserved name");
            self.fail(error.help("give it another name"), parts);
        } else if same || self.known_holes().contains(&name) {
            let outer = self.frames.iter().map(|frame| &frame.node);
            let mut outer = outer.filter(|node| node.statement.keyword == Keyword::Each);
            let outer = outer.find(|node| names(node).contains(&name));
            let message = format!("`{name}` is a name of an `each` already");
            let mut error = self.error(error::EACH_SHADOWS, message, place, "again here");
            if let Some(outer) = outer {
                error = error.label(self.place(outer.keyword), "a name of this one");
            }
            // Of two in one line the first is meant.
            if outer.is_some() || parts.args.iter().any(|arg| arg.value == Value::Word(name)) {
                self.fail(error.help("give one of them another name"), parts);
            }
        }
    }

    /// Reports a first line that cannot be read, and what may have been meant.
    fn bad_head(&mut self, head: Head, rest: Text<'a>, parts: &mut Parts<'a>) {
        let (text, offset) = rest;
        let whole = text.trim_end().trim_end_matches('{').trim();
        let place = match whole.is_empty() {
            true => head.keyword,
            false => token::span_of(whole, rest),
        };
        let message = format!("an `each` is written `{}`", head.statement.usage);
        let label = "names, `in`, and what they stand for, are expected";
        let error = self.error(error::EACH_HEAD, message, place, label);
        self.fail(error.help(each_help(text)), parts);
        // Its block is read all the same, with the name that it may have.
        let name = text.split_whitespace().next();
        let name = name.map(|word| word.trim_end_matches([':', '=', ',', '{']));
        if let Some(name) = name.filter(|name| is_hole_name(name)) {
            let place = token::span_of(name, rest);
            parts.args.push(Arg::new(place, Value::Word(name)));
        }
        if text.trim_end().ends_with('{') {
            let open = offset + text.trim_end().len();
            parts.open = Some(Span::new(open - 1, open));
        }
    }
}

fn is_string(token: &Token<'_>) -> bool {
    matches!(token.value, Value::Str(_))
}
