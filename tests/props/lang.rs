//! Laws of `lang`: parsing is total, the canonical form is canonical, the command grammar reads
//! what it writes.

use crate::frozen::oracle::language as oracle;
use proptest::prelude::*;
use proptest::sample::Index;
use vplan::arbitrary::config;
use vplan::arbitrary::lang::{
    Style, command_text, contract, damaged, environment_and_words, style,
};
use vplan::base::canon::Digest;
use vplan::base::command::{Command, Piece, to_text};
use vplan::base::diagnostic::Diagnostics;
use vplan::base::index::Index as _;
use vplan::base::source::{Source, Sources};
use vplan::base::span::SourceId;
use vplan::base::word::Word;
use vplan::contract::draft::CheckEntry;
use vplan::front::vplan::lower;
use vplan::lang::command::parse_command;
use vplan::lang::format::{digest, format};
use vplan::lang::layout::{Formatted, reformat};
use vplan::lang::parse::{ParserCaps, parse};

/// The digest of a text that must be without errors.
fn digest_of(text: &str) -> Result<Digest, TestCaseError> {
    let source = Source::new("a.vplan", text);
    let (ast, diagnostics) = parse(&source, SourceId(0), &ParserCaps::default());
    prop_assert!(
        !diagnostics.has_errors(),
        "{text}\n{:?}",
        diagnostics.iter().next()
    );
    Ok(digest(&ast))
}

/// `\A=` is a program of this name, and no variable, also where another word has a hole.
#[test]
fn a_program_whose_name_reads_as_a_variable() {
    for command in ["\\A= {port}", "\\A=b {port}", "'' {port}", "\"A='\" {port}"] {
        let text = format!("vplan 1\nservice s: {command}\n");
        oracle::contract(text.as_bytes()).unwrap();
    }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn parse_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        oracle::contract(&bytes).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn parsing_is_total_on_strings(text in "[\\PC\n\t \"'{}#\\\\]{0,200}") {
        oracle::contract(text.as_bytes()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn parsing_is_total_on_damaged_contracts(text in damaged()) {
        oracle::contract(text.as_bytes()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn spans_within_source(text in damaged()) {
        let mut sources = Sources::default();
        let id = sources.add(Source::new("contracts/verify.vplan", &text));
        let mut sink = Diagnostics::default();
        let draft = lower(&sources, id, &ParserCaps::default(), &mut sink);
        let text = sources.get(id).map_or("", Source::text);
        for diagnostic in sink.iter() {
            for label in &diagnostic.labels {
                let span = label.place.span;
                prop_assert!(text.get(span.start..span.end).is_some(), "{}: {:?}", diagnostic.code, span);
            }
        }
        for entry in &draft.entries {
            let conditions = match entry {
                CheckEntry::Check(check) => &check.conditions,
                CheckEntry::Use { conditions, .. } => conditions,
            };
            prop_assert!(conditions.iter().all(|c| c.position() < draft.conditions.len()));
            if let CheckEntry::Check(check) = entry
                && !check.verbs.is_empty()
            {
                prop_assert!(text.get(check.place.span.start..check.place.span.end).is_some_and(|name| !name.is_empty()));
            }
        }
    }

    #[test]
    fn parse_print_roundtrip(contract in contract(), style in style()) {
        let text = contract.write(style);
        digest_of(&text)?;
        oracle::contract(text.as_bytes()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn trivia_invariance(contract in contract(), style in style()) {
        let plain = contract.write(Style::plain());
        let styled = contract.write(style);
        prop_assert_eq!(digest_of(&plain)?, digest_of(&styled)?, "{}\n-----\n{}", plain, styled);
    }

    #[test]
    fn key_order_invariance(
        contract in contract(),
        by in prop::collection::vec(any::<Index>(), 1..20),
    ) {
        let one = contract.write(Style::plain());
        let other = contract.permuted(&by).write(Style::plain());
        prop_assert_eq!(digest_of(&one)?, digest_of(&other)?, "{}\n-----\n{}", one, other);
    }

    #[test]
    fn what_differs_in_canonical_form_differs_in_digest(one in contract(), other in contract()) {
        let form = |text: &str| {
            let source = Source::new("a.vplan", text);
            let form = format(&parse(&source, SourceId(0), &ParserCaps::default()).0);
            // Which folders a checkout has as links is no part of what is verified.
            form.lines().filter(|line| !line.starts_with("linked ")).map(str::to_owned).collect::<Vec<_>>()
        };
        let (one, other) = (one.write(Style::plain()), other.write(Style::plain()));
        prop_assert_eq!(form(&one) == form(&other), digest_of(&one)? == digest_of(&other)?);
    }

    #[test]
    fn format_keeps_every_comment_in_order(
        contract in contract(),
        style in style(),
        by in prop::collection::vec(any::<Index>(), 1..20),
    ) {
        let text = contract.permuted(&by).littered(style);
        let digest = digest_of(&text)?;
        oracle::fmt(text.as_bytes()).map_err(TestCaseError::fail)?;
        let source = Source::new("a.vplan", &text);
        let Ok(Formatted::Text(laid_out)) = reformat(&source, SourceId(0), &ParserCaps::default()) else {
            return Err(TestCaseError::fail("no text"));
        };
        prop_assert_eq!(digest_of(&laid_out)?, digest);
        // Whatever the bytes around the lines were.
        let other = Source::new("a.vplan", &format!("\u{feff}{}", laid_out.replace('\n', " \t\r\n")));
        if !laid_out.contains(['\\']) {
            let other = reformat(&other, SourceId(0), &ParserCaps::default());
            prop_assert_eq!(other, Ok(Formatted::Text(laid_out.clone())));
        }
    }

    #[test]
    fn format_idempotent(contract in contract(), style in style()) {
        let source = Source::new("a.vplan", &contract.write(style));
        let canonical = format(&parse(&source, SourceId(0), &ParserCaps::default()).0);
        let again = reformat(&Source::new("a.vplan", &canonical), SourceId(0), &ParserCaps::default());
        prop_assert_eq!(again, Ok(Formatted::Text(canonical)));
    }

    #[test]
    fn layout_is_total_on_damaged_contracts(text in damaged()) {
        oracle::fmt(text.as_bytes()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn layout_is_total_on_strings(text in "(vplan 1\n)?[\\PC\n\t \"'{}#\\\\]{0,200}") {
        oracle::fmt(text.as_bytes()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn commands_are_total(text in command_text()) {
        oracle::command(&text).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn commands_are_total_on_strings(text in any::<String>()) {
        oracle::command(&text).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn commands_read_what_is_written((env, argv) in environment_and_words()) {
        let text = to_text(&env, &argv);
        let pieces = argv.into_iter().map(Piece::Word).collect();
        prop_assert_eq!(parse_command(&text), Command::Argv { env, pieces }, "{}", text);
    }
}

/// The words that a POSIX shell makes of a text, without expanding file names.
#[expect(
    clippy::disallowed_methods,
    reason = "the shell is the reference, and tests may start it"
)]
fn shell_words(text: &str) -> Option<Vec<Vec<u8>>> {
    let script = format!("set -f; printf '%s\\0' {text}");
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg(script)
        .output()
        .ok()?;
    let all = output.status.success().then_some(output.stdout)?;
    let words = all.strip_suffix(b"\0")?;
    Some(words.split(|b| *b == 0).map(<[u8]>::to_vec).collect())
}

proptest! {
    #![proptest_config(config(256))]

    /// What the grammar accepts without assignments has the words that a shell gives it. Left out: what the two read
    /// differently by design (a joined line, `~`) and what not every `sh` knows (`$'…'`).
    #[test]
    fn string_command_tokenizer_rejects_operators(text in command_text()) {
        let Command::Argv { env, pieces } = parse_command(&text) else { return Ok(()) };
        if !env.is_empty() || text.contains("$'") || text.contains("\\\n") || text.contains('~') {
            return Ok(());
        }
        let words: Option<Vec<Vec<u8>>> = pieces.into_iter().map(|p| match p {
            Piece::Word(word) => Some(Word::into_bytes(word)),
            Piece::Changed => None,
        }).collect();
        let Some(words) = words else { return Ok(()) };
        prop_assert_eq!(shell_words(&text), Some(words), "{}", text);
    }
}
