//! Generates values of `lang`: contracts as a model that can be written in many styles, and command
//! texts.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::Union;
use vplan_arbitrary::glob::among;
use vplan_base::command::{Command, Env, quote, to_text};
use vplan_base::setting::{Row, Takes};
use vplan_base::word::Word;

/// A piece of a statement, before it is decided how it is written.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Written literally.
    Bare(String),
    /// A string, in any quoting.
    Str(String),
    /// A word of a command, in any quoting.
    Arg(String),
    /// Written literally, without a blank before it.
    Glued(&'static str),
    /// The text after `shell`, which has no comments.
    Text(String),
}

/// A line of a contract, with its block.
#[derive(Clone, Debug)]
pub struct Line {
    /// Keyword and arguments.
    pub pieces: Vec<Piece>,
    /// The lines between its braces, if it has any.
    pub body: Option<Vec<Line>>,
    /// Whether the lines of its block may have any order.
    pub free: bool,
}

/// A contract without errors of syntax.
#[derive(Clone)]
pub struct Contract(pub Vec<Line>);

impl std::fmt::Debug for Contract {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.write(Style::plain()))
    }
}

/// Decides how something is written: an endless sequence of small numbers, how many were taken, and
/// how many separate comments were written, if any are.
#[derive(Clone, Debug)]
pub struct Style(Vec<u8>, usize, Option<usize>);

impl Style {
    /// Two blanks, no comments, no continuations.
    pub fn plain() -> Self {
        Self(vec![0], 0, None)
    }

    fn pick(&mut self, most: u8) -> u8 {
        let byte = self.0.get(self.1 % self.0.len().max(1)).copied();
        self.1 += 1;
        byte.unwrap_or(0) % most.max(1)
    }

    /// Picks one of `most` choices: the given texts, and the last one for all further numbers.
    fn one_of(&mut self, most: u8, texts: &[&'static str]) -> &'static str {
        let text = texts.get(usize::from(self.pick(most)));
        text.or(texts.last()).copied().unwrap_or_default()
    }
}

/// Any style.
pub fn style() -> impl Strategy<Value = Style> {
    vec(any::<u8>(), 16..64).prop_map(|bytes| Style(bytes, 0, None))
}

impl Contract {
    /// Writes the contract in a style.
    pub fn write(&self, mut style: Style) -> String {
        let mut out = String::new();
        write_lines(&self.0, 0, &mut style, &mut out);
        out
    }

    /// Writes the contract in a style, with comments, each like no other, and blank lines wherever
    /// they are allowed; perhaps with CR LF throughout and a byte-order mark.
    pub fn littered(&self, mut style: Style) -> String {
        style.2 = Some(0);
        let mut out = String::new();
        if style.pick(4) == 1 {
            out.push_str("#!/usr/bin/env vplan\n");
        }
        write_lines(&self.0, 0, &mut style, &mut out);
        litter(&mut style, &mut out);
        if style.pick(3) == 1 {
            out.truncate(out.trim_end().len());
        }
        if style.pick(4) == 1 {
            out = out.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        if style.pick(4) == 1 {
            out.insert(0, '\u{feff}');
        }
        out
    }

    /// The same contract with the settings of its blocks in another order.
    pub fn permuted(&self, by: &[Index]) -> Self {
        let mut by = by.iter().cycle();
        Self(permute(&self.0, false, &mut by))
    }
}

fn permute<'a>(lines: &[Line], free: bool, by: &mut impl Iterator<Item = &'a Index>) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    for line in lines {
        let body = line.body.as_ref().map(|b| permute(b, line.free, by));
        let line = line.clone();
        let at = match free {
            true => by.next().map_or(0, |i| i.index(out.len() + 1)),
            false => out.len(),
        };
        out.insert(at, Line { body, ..line });
    }
    out
}

fn write_lines(lines: &[Line], depth: usize, style: &mut Style, out: &mut String) {
    for line in lines {
        if style.2.is_some() {
            litter(style, out);
        } else {
            match style.pick(8) {
                1 => out.push('\n'),
                2 => out.push_str(" \t\n\n"),
                3 => out.push_str("  # a comment: it's \"{ \\\n"),
                _ => {}
            }
        }
        let raw = line.pieces.iter().any(|p| matches!(p, Piece::Text(_)));
        out.push_str(&style.one_of(3, &["  ", "\t", " "]).repeat(depth));
        for (i, piece) in line.pieces.iter().enumerate() {
            if i > 0 && !matches!(piece, Piece::Glued(_)) {
                blank(style, out);
            }
            write_piece(piece, style, out);
        }
        if let Some(body) = &line.body {
            blank(style, out);
            out.push('{');
            end(style, false, out);
            write_lines(body, depth + 1, style, out);
            if style.2.is_some() {
                litter(style, out);
            }
            out.push('}');
        }
        end(style, raw && line.body.is_none(), out);
    }
}

/// Some blank lines and comments.
fn litter(style: &mut Style, out: &mut String) {
    for _ in 0..style.pick(4) {
        match style.pick(4) {
            0 => out.push('\n'),
            1 => out.push_str("\t \n\n"),
            _ => {
                out.push_str(style.one_of(4, &["", "  ", "\t", "          "]));
                comment(style, out);
                out.push('\n');
            }
        }
    }
}

fn comment(style: &mut Style, out: &mut String) {
    let number = style.2.map_or(0, |n| n + 1);
    style.2 = Some(number);
    let text = style.one_of(4, &["", "# it's \"{", " é\t#x", "!}\\"]);
    let behind = style.one_of(4, &[" ", "\t ", ""]);
    out.push_str(&format!("#{text} {number}{behind}"));
}

fn blank(style: &mut Style, out: &mut String) {
    out.push_str(style.one_of(12, &["  ", "\t", " \\\n ", " "]));
}

fn end(style: &mut Style, raw: bool, out: &mut String) {
    if style.2.is_some() && !raw && style.pick(2) == 1 {
        // No continuation follows a `}`.
        let most = if out.ends_with('}') { 3 } else { 4 };
        out.push_str(style.one_of(most, &[" ", "  ", "\t", " \\\n"]));
        comment(style, out);
        out.push('\n');
        return;
    }
    out.push_str(match style.pick(6) {
        1 => "  \n",
        2 if !raw => " # it's {\n",
        3 if !raw => "\t#\n",
        4 => "\r\n",
        _ => "\n",
    });
}

fn write_piece(piece: &Piece, style: &mut Style, out: &mut String) {
    match piece {
        Piece::Bare(text) | Piece::Text(text) => out.push_str(text),
        Piece::Glued(text) => out.push_str(text),
        Piece::Str(text) => {
            let literal = !text.contains(['\'', '\n', '\r']);
            match style.pick(3) {
                1 if literal => out.push_str(&format!("'{text}'")),
                how => {
                    out.push('"');
                    for c in text.chars() {
                        match c {
                            c if how == 2 => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
                            '\n' => out.push_str("\\n"),
                            '\r' => out.push_str("\\r"),
                            '"' | '\\' => out.extend(['\\', c]),
                            c => out.push(c),
                        }
                    }
                    out.push('"');
                }
            }
        }
        Piece::Arg(text) => {
            let plain = !text.is_empty() && !text.contains(['\n', '\r']);
            match style.pick(3) {
                1 if plain && !text.contains('\'') => out.push_str(&format!("'{text}'")),
                // An escaped blank at the end of a line would read as a broken continuation.
                2 if plain && !text.ends_with([' ', '\t']) => {
                    text.chars().for_each(|c| out.extend(['\\', c]))
                }
                _ => out.push_str(&quote(&Word::from(text.as_str()))),
            }
        }
    }
}

pub fn name() -> impl Strategy<Value = String> {
    "[A-Za-z_]([A-Za-z0-9_.:-]{0,6}[A-Za-z0-9_-])?"
        .prop_filter("a tag", |name| !name.starts_with("tag:"))
}

/// The text of a string or an argument: words with any special characters. Without bidirectional
/// controls, which a contract may only contain escaped.
pub fn text() -> impl Strategy<Value = String> {
    const ODD: &str = "' \" \\ # { } {changed} $X $( ` && | ; é 日 ! * ? [a] ~ : -> , =";
    const BLANK: [&str; 8] = [
        " #", "\n", "\t", "\r", " ", "\u{1b}", "\u{feff}", "\u{e000}",
    ];
    let odd: Vec<&str> = ODD.split(' ').chain(BLANK).collect();
    let odd = select(odd).prop_map(str::to_owned);
    let piece = prop_oneof!["[a-z0-9./_-]{1,4}".boxed(), odd.boxed()];
    vec(piece, 0..5).prop_map(|p| p.concat())
}

fn program() -> impl Strategy<Value = String> {
    "[a-z]{1,6}".prop_filter("no builtin", |name| is_program(name.as_bytes()))
}

/// Whether the grammar takes a word for a program.
fn is_program(name: &[u8]) -> bool {
    let words = [Word::new(name)];
    let text = to_text(&Env::new(), &words);
    matches!(
        vplan_lang::command::parse_command(&text),
        Command::Argv { .. }
    )
}

fn bare(text: impl Into<String>) -> Piece {
    Piece::Bare(text.into())
}

fn line(pieces: Vec<Piece>) -> Line {
    Line {
        pieces,
        body: None,
        free: false,
    }
}

fn block(pieces: Vec<Piece>, body: Vec<Line>) -> Line {
    Line {
        body: Some(body),
        ..line(pieces)
    }
}

fn sel() -> impl Strategy<Value = Piece> {
    prop_oneof![
        3 => "!?[a-z*./]{1,8}".prop_map(Piece::Str),
        1 => name().prop_map(Piece::Bare),
        1 => name().prop_map(|n| Piece::Bare(format!("!{n}"))),
    ]
}

fn command() -> impl Strategy<Value = Vec<Piece>> {
    let assignments = btree_map("[A-Z_]{1,3}", "[a-z0-9]{0,3}", 0..2);
    let arg = prop_oneof![4 => text().prop_map(Piece::Arg), 1 => Just(bare("{changed}"))];
    (assignments, program(), vec(arg, 0..4)).prop_map(|(env, program, args)| {
        let env = env.into_iter().map(|(k, v)| bare(format!("{k}={v}")));
        env.chain([Piece::Arg(program)]).chain(args).collect()
    })
}

fn list(
    word: &'static str,
    items: impl Strategy<Value = Piece>,
) -> impl Strategy<Value = Vec<Piece>> {
    vec(items, 1..4).prop_map(move |items| joined([bare(word)], items))
}

/// The first pieces, or lines, and the others.
fn joined<T, const N: usize>(head: [T; N], more: impl IntoIterator<Item = T>) -> Vec<T> {
    head.into_iter().chain(more).collect()
}

fn words(pieces: &[&str]) -> Vec<Piece> {
    pieces.iter().map(|p| bare(*p)).collect()
}

fn verb() -> impl Strategy<Value = Line> {
    let simple = among("exists | absent | not-empty | size 1B..2KiB | size ..3MB | type utf8");
    let assertion = prop_oneof![
        simple.prop_map(|w| words(&[w])),
        text().prop_map(|t| vec![bare("contains"), Piece::Str(t)]),
    ];
    prop_oneof![
        (select(vec!["run", "compile", "test", "lint"]), command())
            .prop_map(|(verb, command)| line(joined([bare(verb)], command))),
        "[a-z|&;<>'\"#{}$ ]{0,8}x"
            .prop_map(|t| line(vec![bare("shell"), Piece::Text(t.trim().to_owned())])),
        text().prop_map(|t| line(vec![bare("judge"), Piece::Str(t)])),
        ("[a-z/.]{1,6}", vec(assertion, 1..3)).prop_map(|(path, body)| {
            let body = body.into_iter().map(line).collect();
            block(vec![bare("file"), Piece::Str(path)], body)
        }),
    ]
}

fn setting() -> impl Strategy<Value = Vec<Piece>> {
    prop_oneof![
        among(
            "setup | always | optional | timeout 5m | retries 2 | exit 0 3 | skip-exit 77 | \
             tier 1 | severity warning | sandbox none | sandbox guard | sandbox files | \
             shared | on here | network on | network off | network loopback | format tap | \
             max-errors 0 | min-tests 4 | pass-env HOME CARGO_*",
        )
        .prop_map(|w| words(&[w])),
        command().prop_map(|c| joined([bare("fix")], c)),
        text().prop_map(|t| vec![bare("describe"), Piece::Str(t)]),
        ("[A-Z]{1,4}", "[a-z]{0,3}").prop_map(|(k, v)| vec![bare("env"), bare(format!("{k}={v}"))]),
        list("tags", name().prop_map(Piece::Bare)),
        list("needs", name().prop_map(Piece::Bare)),
        list("with", name().prop_map(Piece::Bare)),
        name().prop_map(|name| vec![bare("on"), bare(name)]),
        Just(vec![bare("env"), bare("PORT={db.port}")]),
        list(
            "reads",
            select(vec!["~/.cargo", "/opt/a b"]).prop_map(|path| Piece::Str(path.to_owned()))
        ),
        list("produces", "[a-z*/]{1,6}".prop_map(Piece::Str)),
        Union::new(
            Row::ALL
                .iter()
                .map(|row| row.setting())
                .filter(|setting| setting.takes == Takes::Selection)
                .map(|setting| list(setting.word, sel()).boxed())
        ),
        "[a-z*/]{1,6}".prop_map(|g| vec![bare("report"), bare("junit"), Piece::Str(g)]),
    ]
}

fn check() -> impl Strategy<Value = Line> {
    let block = (name(), verb(), vec(setting(), 0..5)).prop_map(|(name, verb, settings)| Line {
        pieces: vec![bare("check"), bare(name)],
        body: Some(joined([verb], settings.into_iter().map(line))),
        free: true,
    });
    let short = (name(), command()).prop_map(|(name, command)| {
        let head = [bare("check"), bare(name), Piece::Glued(":")];
        line(joined(head, command))
    });
    let anonymous = command().prop_map(|c| line(joined([bare("run")], c)));
    prop_oneof![block, short, anonymous]
}

/// The rows of an `each` of `x`: values, folders, or packages.
fn rows() -> impl Strategy<Value = Vec<Piece>> {
    let values = btree_set("[a-z0-9.]{1,3}", 1..4);
    let values = values.prop_map(|values| {
        let values = values.into_iter().map(Piece::Arg);
        joined([bare("in")], values)
    });
    let with = vec("[a-z]{1,3}(/[a-z.]{1,3})?", 0..3);
    let folders = ("([a-z]{1,3}/)?\\*(/[a-z]{1,3})?", with).prop_map(|(glob, with)| {
        let mut pieces = vec![bare("in-folders"), Piece::Str(glob)];
        pieces.extend((!with.is_empty()).then(|| bare("with")));
        pieces.extend(with.into_iter().map(Piece::Str));
        pieces
    });
    let manifest = proptest::option::of("([a-z]{1,3}/){0,2}(package.json|Cargo.toml|go.work)?");
    let packages = manifest.prop_map(|manifest| {
        let manifest = manifest.filter(|path| !path.is_empty()).map(Piece::Str);
        joined([bare("in-workspace")], manifest)
    });
    prop_oneof![values, folders, packages]
}

/// An `each` with a check that has the placeholder in its name, words and globs.
fn each() -> impl Strategy<Value = Line> {
    (name(), rows(), command(), any::<bool>()).prop_map(|(name, rows, command, deep)| {
        let hole = || ["'{x}'", "\"{x}.y\"", "{x}", "a{x}"].map(bare);
        let name = bare(format!("a{{x}}{name}"));
        let check = [bare("check"), name, Piece::Glued(":")];
        let check = line(check.into_iter().chain(command).chain(hole()).collect());
        let mut head = vec![bare("whenChangedAny"), bare("\"{x}/**\""), bare("'{x}'")];
        if matches!(rows.first(), Some(Piece::Bare(word)) if word == "in-workspace") {
            head.extend(["dependents", "{x}"].map(bare));
        }
        let inside = block(head, vec![check]);
        let deeper = || {
            let head = words(&["each y in-folders \"{x}/*\""]);
            block(head, vec![inside.clone(), line(words(&["run t {y}"]))])
        };
        let inside = if deep { deeper() } else { inside };
        block(joined([bare("each"), bare("x")], rows), vec![inside])
    })
}

fn entry() -> impl Strategy<Value = Line> {
    check().prop_recursive(4, 24, 4, |inner| {
        let head = prop_oneof![
            list("byRole", name().prop_map(Piece::Bare)),
            list("whenChangedAny", sel()),
            list("whenChangedOnly", sel()),
            list("whenExists", text().prop_map(Piece::Str)),
            list("whenExistsAny", text().prop_map(Piece::Str)),
            list("whenAbsent", text().prop_map(Piece::Str)),
        ];
        let group = (head, vec(inner, 0..4)).prop_map(|(pieces, body)| block(pieces, body));
        prop_oneof![4 => check(), 4 => group, 1 => each()]
    })
}

/// A service, with its placeholders.
fn service() -> impl Strategy<Value = Line> {
    let ready = prop_oneof![
        Just(words(&["ready tcp {port}"])),
        Just(words(&["ready tcp 5432"])),
        text().prop_map(|t| vec![bare("ready"), bare("file"), Piece::Str(t)]),
        text().prop_map(|t| vec![bare("ready"), bare("line"), Piece::Str(t)]),
        Just(words(&["ready run true {tmp}/x '{port}'"])),
    ];
    let setting = select(vec!["timeout 3s", "needs a", "env A={port}", "dir \"a\""]);
    let settings = (proptest::option::of(ready), vec(setting, 0..3));
    let settings = settings.prop_map(|(ready, settings)| {
        let settings = settings.into_iter().map(|text| words(&[text]));
        Vec::from_iter(ready.into_iter().chain(settings).map(line))
    });
    (name(), command(), proptest::option::of(settings)).prop_map(|(name, command, settings)| {
        let holes = [bare("{port}"), bare("\"{tmp}/x\"")];
        let command = command.into_iter().chain(holes);
        let head = [bare("service"), bare(name)].into_iter();
        let Some(settings) = settings else {
            return line(head.chain([Piece::Glued(":")]).chain(command).collect());
        };
        let run = line(joined([bare("run")], command));
        Line {
            free: true,
            ..block(head.collect(), joined([run], settings))
        }
    })
}

fn top() -> impl Strategy<Value = Line> {
    let flat = prop_oneof![
        text().prop_map(|t| vec![bare("contract"), Piece::Str(t)]),
        (name(), vec(sel(), 1..4))
            .prop_map(|(n, s)| joined([bare("paths"), bare(n), bare("=")], s)),
        (name(), vec(sel(), 1..3))
            .prop_map(|(n, s)| joined([bare("risk"), bare(n), bare("tier"), bare("1")], s)),
        (name(), name(), name()).prop_map(|(a, b, c)| vec![
            bare("sequence"),
            bare(a),
            Piece::Glued(","),
            bare(b),
            bare("->"),
            bare(c)
        ]),
        list("linked", text().prop_map(Piece::Str)),
        (name(), command()).prop_map(|(name, c)| {
            joined([bare("toolchain"), bare(name), Piece::Glued(":")], c)
        }),
        command().prop_map(|c| joined([bare("judge-with")], c)),
    ];
    let policy = among(
        "limits; budget 5m; jobs 2 | limits; jobs auto | \
         import \"l\" as x at \"d\"; allow reads; without a b/*; allow network sandbox | \
         gate; confirmations 2; retries 1; propagate off | \
         defaults; timeout 3s; tags a b; retries 0 | \
         machine linux; property \"OS\" \"linux\"; property 'a b' \"\\n\" | \
         defaults test; timeout 3s; tags a b; sandbox files",
    );
    let policy = policy.prop_map(|text| {
        let (head, lines) = text.split_once("; ").unwrap_or((text, ""));
        (head, lines.split("; ").collect())
    });
    let policy = prop_oneof![4 => policy.boxed(), 1 => format_block().boxed()];
    prop_oneof![
        3 => entry(),
        1 => service(),
        2 => flat.prop_map(line),
        1 => policy.prop_map(|(head, body)| Line {
            pieces: words(&[head]),
            body: Some(body.into_iter().map(|b| line(words(&[b]))).collect()),
            // The first matching pattern reads a line; the lines of an import keep their order.
            free: !head.starts_with("format") && !head.starts_with("import"),
        }),
    ]
}

/// The lines of a `format` block; they need not fit each other.
fn format_block() -> impl Strategy<Value = (&'static str, Vec<&'static str>)> {
    let line = among(
        "finding '{file}:{line}:{column}: {severity}: {code}: {message}' | \
         finding error '{file} - {message}' | finding note \"it's {}\" | heading '== {file}' | \
         clean 'all  is well' | passed '{count} passed' | failed '\u{2716} {name}' | \
         skipped '{count} \"skipped\"' | errors E F | warnings W | notes N I",
    );
    vec(line, 1..6).prop_map(|lines| ("format own", lines))
}

/// A contract without errors of syntax; it need not make sense.
pub fn contract() -> impl Strategy<Value = Contract> {
    vec(top(), 0..6).prop_map(|lines| Contract(joined([line(words(&["vplan", "1"]))], lines)))
}

/// A contract's text with a few random changes.
pub fn damaged() -> impl Strategy<Value = String> {
    let edit = (any::<Index>(), 0_usize..6, "[\\PC\n\\\\\"'{}#:!=,> -]{0,3}");
    (contract(), style(), vec(edit, 0..6)).prop_map(|(contract, style, edits)| {
        let mut chars: Vec<char> = contract.write(style).chars().collect();
        for (at, gone, new) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + gone).min(chars.len());
            chars.splice(at..end, new.chars());
        }
        chars.into_iter().collect()
    })
}

/// An environment and an argument vector of any bytes that a process could be given and the grammar
/// can name.
pub fn environment_and_words() -> impl Strategy<Value = (Env, Vec<Word>)> {
    let word = prop_oneof![
        text().prop_map(|t| Word::from(t.as_str())),
        vec(1_u8.., 0..6).prop_map(Word::new),
        any::<String>().prop_map(|s| Word::from(s.replace('\0', "").as_str())),
    ]
    .boxed();
    let program = word.clone();
    let program = program.prop_filter("a program's name", |w| is_program(w.as_bytes()));
    let env = btree_map("[A-Za-z_][A-Za-z0-9_]{0,4}", word.clone(), 0..3);
    let all = (env, program, vec(word, 0..5));
    all.prop_map(|(env, program, args)| (env, joined([program], args)))
}

/// Command text: whole words in every quoting, operators and expansions, and loose characters.
pub fn command_text() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        6 => "[a-z0-9./=_-]{1,4}",
        2 => "'[a-z \"$&\\\\]{0,4}'",
        2 => r#""([a-z ']|\\["\\$`a]){0,4}""#,
        2 => r#"\\[a-z "'$&|#\\]"#,
        4 => " {1,2}",
        1 => select(vec!["&&", " && ", "|", "||", ";", "&", "$X", "$(a)", "`", "$'\\x41'", "{changed}", "{", "}", "!", "#",
            "\n", "\\\n", "'", "\"", "cd ", "A=1 "]).prop_map(str::to_owned),
    ];
    vec(fragment, 0..10).prop_map(|parts| parts.concat())
}
