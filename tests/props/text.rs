//! Laws of texts and of what is said about them: places, order, repetition, limits.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use vplan::arbitrary::config;
use vplan::arbitrary::lang::{Style, contract, damaged, style, text};
use vplan::base::diagnostic::{Diagnostic, Diagnostics};
use vplan::base::inert::inert;
use vplan::base::source::{Source, Sources};
use vplan::base::span::{SourceId, Span};
use vplan::base::unit::{MAX_INTEGER, parse_duration, parse_size, show_duration, show_size};
use vplan::base::word::{is_bidi_control, is_unsafe_to_show, quote_string};
use vplan::contract::Contract;
use vplan::contract::draft::Draft;
use vplan::contract::validate::validate;
use vplan::front::vplan::lower;
use vplan::lang::layout::{Formatted, reformat};
use vplan::lang::parse::{ParserCaps, parse};
use vplan::lang::statement::{STATEMENTS, StatementContext, find};

/// What came of a text.
pub(super) struct Told {
    /// The contract, when it is one.
    pub contract: Option<Contract>,
    /// What was said of it, sorted.
    pub diagnostics: Vec<Diagnostic>,
}

fn drafted(text: &str) -> (Sources, Draft, Diagnostics) {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("contracts/verify.vplan", text));
    let mut sink = Diagnostics::default();
    let draft = lower(&sources, id, &ParserCaps::default(), &mut sink);
    (sources, draft, sink)
}

/// Reads a text and checks it.
pub(super) fn told(text: &str) -> Told {
    let (sources, draft, mut sink) = drafted(text);
    let contract = validate(&draft, &sources, &mut sink);
    Told {
        contract,
        diagnostics: sink.sorted(),
    }
}

/// What the parser alone says: code, and where.
fn said(text: &str) -> Vec<(String, Vec<(usize, usize)>)> {
    let source = Source::new("a.vplan", text);
    let (_, diagnostics) = parse(&source, SourceId(0), &ParserCaps::default());
    let places = |d: &Diagnostic| {
        d.labels
            .iter()
            .map(|l| (l.place.span.start, l.place.span.end))
            .collect()
    };
    diagnostics
        .iter()
        .map(|d| (d.code.to_string(), places(d)))
        .collect()
}

/// Settings that may be written once, each with a value.
const ONCE: [&str; 18] = [
    "describe \"a\"",
    "dir \"a\"",
    "timeout 5s",
    "retries 1",
    "exit 0 1",
    "skip-exit 77",
    "tier 1",
    "tags a",
    "needs b",
    "produces \"a/**\"",
    "cleans \"b/**\"",
    "requires \"c/**\"",
    "inputs \"src/**\"",
    "setup",
    "always",
    "exclusive db",
    "severity warning",
    "optional",
];

/// A word of the language with a letter too many or too few, which is read as the word it nearly
/// is.
fn mistyped() -> impl Strategy<Value = String> {
    (
        select(&**STATEMENTS),
        any::<Index>(),
        prop::option::of("[a-z]"),
    )
        .prop_map(|(statement, at, letter)| {
            let mut word = statement.word.to_owned();
            let at = 1 + at.index(word.len() - 1);
            match letter {
                Some(letter) => word.insert_str(at, &letter),
                None => drop(word.remove(at)),
            }
            word.trim_end_matches('-').to_owned()
        })
}

proptest! {
    #![proptest_config(config(256))]

    /// Whatever a program writes: nothing that moves, colours or hides is left, and what is clean stays as it is.
    #[test]
    fn sanitise_idempotent_and_inert(x in prop_oneof![any::<String>(), "[\u{1b}\u{9b}\\[\\]0-9;mA-H\u{7}\r\n\t ab]{0,40}"]) {
        let once = inert(x.as_bytes());
        prop_assert_eq!(inert(once.as_bytes()), once.clone());
        prop_assert!(once.chars().all(|c| matches!(c, '\n' | '\t') || !is_unsafe_to_show(c)), "{:?}", once);
        let size = |n| std::num::NonZero::new(n).unwrap();
        let mut terminal = vt100::Parser::new(size(40), size(200), 0);
        terminal.process(once.replace('\n', "\r\n").as_bytes());
        prop_assert!(!terminal.screen().hide_cursor() && !terminal.screen().alternate_screen());
        prop_assert_eq!(terminal.screen().fgcolor(), vt100::Color::Default);
    }

    /// What is written between quotes is what is read, whatever it is made of.
    #[test]
    fn escape_roundtrip(x in prop_oneof![text(), any::<String>(), "[\r\n\t\\\\\"' \u{7f}\u{85}\u{202e}é]{0,12}"]) {
        // No word, path or name can hold a zero, and no escape stands for it.
        let x = x.replace('\0', "");
        let written = format!("vplan 1\ncontract {}\ncheck a: true\n", quote_string(&x));
        let (_, draft, _) = drafted(&written);
        prop_assert_eq!(draft.names.iter().map(|n| n.value.as_str()).collect::<Vec<_>>(), vec![x.as_str()], "{}", written);
    }

    #[test]
    fn number_and_duration_roundtrip(n in prop_oneof![1..100_000_u64, 1..=MAX_INTEGER, Just(MAX_INTEGER)], over in (MAX_INTEGER + 1)..=u64::MAX) {
        prop_assert_eq!(parse_duration(&show_duration(n)), Ok(n));
        prop_assert_eq!(parse_size(&show_size(n)), Ok(n));
        // The normal form is one.
        prop_assert_eq!(parse_duration(&format!("{n}ms")).map(show_duration), Ok(show_duration(n)));
        for unit in ["ms", "s", "m", "h"] {
            let much = format!("{over}{unit}");
            prop_assert!(parse_duration(&much).is_err());
            for wrong in ["-1", "NaN", "inf", "1.5", "0", "", "1e3", " 1", "+1", "18446744073709551616"] {
                let text = format!("{wrong}{unit}");
                prop_assert!(parse_duration(&text).is_err(), "{}", text);
            }
        }
        for unit in ["B", "KiB", "MiB", "GiB", "KB", "MB", "GB"] {
            let (much, negative) = (format!("{over}{unit}"), format!("-{n}{unit}"));
            prop_assert!(parse_size(&much).is_err() && parse_size(&negative).is_err());
        }
    }

    /// What comes behind a faulty line takes nothing away of what was said about it.
    #[test]
    fn error_recovery_monotone(contract in contract(), fault in "(bogus|check|tier 9|paths x|timeout 5) [a-z]{0,6}", garbage in "[ -~\n]{0,80}") {
        let whole = format!("{}{}\n", contract.write(Style::plain()).trim_end_matches('\n').to_owned() + "\n", fault);
        let before = said(&whole);
        // No fault opens a block or a string, which would go on behind it.
        let after = said(&format!("{whole}{garbage}"));
        for one in &before {
            prop_assert!(after.contains(one), "{:?} of {:?} is gone behind {:?}", one, fault, garbage);
        }
    }

    #[test]
    fn unknown_key_is_error_at_its_span(word in prop_oneof![mistyped(), "[a-z]{2,12}"], value in "[a-z0-9]{0,5}|\"[a-z]{1,3}\"|[a-z]: [a-z]", inside in any::<bool>()) {
        let context = if inside { StatementContext::Check } else { StatementContext::Top };
        prop_assume!(find(&word, context).is_none());
        let text = if inside {
            format!("vplan 1\ncheck a {{\n  run true\n  {word} {value}\n}}\n")
        } else {
            format!("vplan 1\ncheck a: true\n{word} {value}\n")
        };
        let Told { contract, diagnostics } = told(&text);
        prop_assert!(contract.is_none());
        let at = text.rfind(&format!("{word} {value}\n")).unwrap();
        let points = |d: &&Diagnostic| d.labels.first().is_some_and(|l| l.place.span == Span::new(at, at + word.len()));
        prop_assert_eq!(diagnostics.iter().filter(points).count(), 1, "{:?}", diagnostics);
    }

    /// Both places are shown.
    #[test]
    fn duplicate_key_is_error_with_both_spans(one in 0..ONCE.len(), others in prop::collection::btree_set(0..ONCE.len(), 0..4), again in any::<bool>()) {
        let mut lines: Vec<&str> = others.into_iter().filter(|o| *o != one).map(|o| ONCE[o]).collect();
        lines.insert(0, ONCE[one]);
        lines.push(ONCE[one]);
        let lines = lines.iter().map(|l| format!("  {l}\n")).collect::<String>();
        let settings = format!("vplan 1\ncheck b: true\ncheck a {{\n  run true\n{lines}}}\n");
        let definitions = "vplan 1\ncheck a: true\ncheck b: true\ncheck a: false\n".to_owned();
        let (text, word) = if again { (definitions, "a") } else { (settings, ONCE[one].split(' ').next().unwrap()) };
        let Told { contract, diagnostics } = told(&text);
        prop_assert!(contract.is_none());
        let at = |l: &vplan::base::diagnostic::Label| text[l.place.span.start..l.place.span.end].starts_with(word);
        let both = diagnostics.iter().any(|d| {
            d.labels.len() == 2 && d.labels.iter().all(at) && d.labels[0].place != d.labels[1].place
        });
        prop_assert!(both, "{:?}\n{}", diagnostics, text);
    }

    /// Wherever a control that turns the direction of text stands, somebody says so.
    #[test]
    fn confusables_and_bidi_reported(contract in contract(), control in "[\u{202a}-\u{202e}\u{2066}-\u{2069}]", at in any::<Index>()) {
        let plain = contract.write(Style::plain());
        let at = (0..=at.index(plain.len() + 1)).rev().find(|i| plain.is_char_boundary(*i)).unwrap();
        let text = format!("{}{control}{}", &plain[..at], &plain[at..]);
        prop_assert!(control.chars().all(is_bidi_control));
        prop_assert!(!said(&text).is_empty(), "{:?}", text);
    }

    /// An empty place is where a line, or the text, ends: something is missing there. A command without a program is missing where
    /// it should stand, behind its variables; what a glob lacks, inside its quotes. So this is about syntax.
    #[test]
    fn span_is_not_empty_unless_eof(text in damaged()) {
        for diagnostic in told(&text).diagnostics {
            let span = diagnostic.labels.first().map(|l| l.place.span).unwrap_or_default();
            let rest = text.get(span.start..).unwrap_or("");
            // A comment is no content: what is missing is missing in front of it.
            let at_end = rest.trim_start_matches([' ', '\t', '\r', '\\']).starts_with(['\n', '#']) || rest.trim().is_empty();
            let whole = span.start == 0 && span.end == 0;
            let code = diagnostic.code.to_string();
            let no_command = ["vplan::lang::command_empty", "vplan::lang::missing_command"];
            let no_command = no_command.contains(&&*code) || !code.starts_with("vplan::lang::");
            prop_assert!(span.start < span.end || at_end || whole || no_command, "{}: {:?} in\n{}", diagnostic.code, span, text);
        }
    }

    #[test]
    fn diagnostics_deterministic_and_sorted(text in damaged()) {
        let (one, two) = (told(&text).diagnostics, told(&text).diagnostics);
        prop_assert_eq!(&one, &two);
        let start = |d: &Diagnostic| d.labels.first().map(|l| (l.place.source, l.place.span.start));
        prop_assert!(one.iter().map(start).is_sorted(), "{:?}", one);
    }

    /// One line that is no statement: somebody points at it.
    #[test]
    fn one_fault_one_primary(contract in contract(), fault in "(bogus|whenChangedSome|checks|timeouts) [a-z]{1,6}", at in any::<Index>()) {
        let plain = contract.write(Style::plain());
        let lines: Vec<&str> = plain.lines().collect();
        // Not inside of a statement that goes on in the next line, and behind the header.
        let places: Vec<usize> = (1..=lines.len()).filter(|i| !lines[i - 1].ends_with('\\')).collect();
        let at = *at.get(&places);
        let mut broken = lines.clone();
        broken.insert(at, &fault);
        let text = broken.join("\n") + "\n";
        let from: usize = broken[..at].iter().map(|l| l.len() + 1).sum();
        let touched = |(_, places): &(String, Vec<(usize, usize)>)| places.first().is_some_and(|(s, e)| *s <= from + fault.len() && from <= *e);
        prop_assert!(said(&plain).is_empty());
        let said = said(&text);
        prop_assert!(!said.is_empty() && said.iter().all(touched), "{:?}\n{}", said, text);
    }

    /// A block whose head opens none, or is not there: what stands in it is not what is wrong.
    #[test]
    fn one_head_one_primary(contract in contract(), at in any::<Index>(), whole in any::<bool>()) {
        let source = Source::new("a.vplan", &contract.write(Style::plain()));
        let Ok(Formatted::Text(laid_out)) = reformat(&source, SourceId(0), &ParserCaps::default()) else {
            return Err(TestCaseError::fail("no text"));
        };
        let lines: Vec<&str> = laid_out.lines().collect();
        let indent = |line: &str| line.len() - line.trim_start().len();
        // An import needs no block: without one, what stands there is what is wrong.
        let needs_block = |line: &str| !line.trim_start().starts_with("import ");
        let is_head = |i: &usize| {
            lines[*i].ends_with(" {") && needs_block(lines[*i]) && (!whole || lines[*i].trim_start().starts_with("check ")) && indent(lines[i + 1]) > indent(lines[*i])
        };
        let heads: Vec<usize> = (0..lines.len() - 1).filter(is_head).collect();
        // Outside a check, `tier 1` and `format tap` are read as the heads of blocks.
        let is_word_of_both = |l: &str| ["tier ", "format "].iter().any(|word| l.starts_with(word));
        let is_ambiguous = whole && lines.iter().any(|l| is_word_of_both(l.trim_start()) && !l.ends_with('{'));
        prop_assume!(!heads.is_empty() && !is_ambiguous);
        let head = *at.get(&heads);
        let mut broken = lines.clone();
        broken[head] = if whole { "" } else { broken[head].trim_end_matches(" {") };
        let text = broken.join("\n") + "\n";
        let said = said(&text);
        let from: usize = broken[..head].iter().map(|l| l.len() + 1).sum();
        let here = |(_, places): &(String, Vec<(usize, usize)>)| places.first().is_some_and(|(s, e)| from <= *s && *e <= from + broken[head].len());
        prop_assert!(said.len() == 1 && (whole || here(&said[0])), "{:?}\n{}", said, text);
    }

    /// A text that is laid out says the same, down to the checked contract, but for where things stand.
    #[test]
    fn format_preserves_meaning(contract in contract(), style in style(), by in prop::collection::vec(any::<Index>(), 1..20)) {
        let text = contract.permuted(&by).littered(style);
        let source = Source::new("a.vplan", &text);
        let Ok(Formatted::Text(laid_out)) = reformat(&source, SourceId(0), &ParserCaps::default()) else {
            return Err(TestCaseError::fail("no text"));
        };
        let (one, two) = (told(&text), told(&laid_out));
        let codes = |t: &Told| {
            let mut all: Vec<String> = t.diagnostics.iter().map(|d| d.code.to_string()).collect();
            all.sort();
            all
        };
        prop_assert_eq!(codes(&one), codes(&two));
        prop_assert_eq!(one.contract.as_ref().map(|c| &c.digest), two.contract.as_ref().map(|c| &c.digest));
        let ids = |t: &Told| t.contract.iter().flat_map(|c| c.checks.iter().map(|k| (k.id.clone(), k.body.clone(), k.tier))).collect::<Vec<_>>();
        prop_assert_eq!(ids(&one), ids(&two));
    }
}

/// Whatever is nested, and however deep, it is an error and no crash, also on a small stack.
#[test]
fn depth_cap_is_error_not_crash() {
    let texts = |n: usize| {
        let glob = |inside: String| format!("whenChangedAny '{inside}' {{\n  check a: true\n}}\n");
        [
            "tier 1 {\n".repeat(n),
            "whenChangedAny \"a\" {\n".repeat(n) + &"}\n".repeat(n),
            "check a {\n".repeat(n),
            "file \"a\" {\n".repeat(n),
            "}\n".repeat(n),
            "# {\n".repeat(n) + &"check a {\n".repeat(n),
            glob("{".repeat(n)),
            glob("{a,".repeat(n) + &"}".repeat(n)),
            glob("[".repeat(n)),
            glob("**/".repeat(n)),
            format!("check a: x {}\n", "\"'".repeat(n)),
            format!("check a: {}\n", "a && ".repeat(n)),
            (0..n.min(20_000))
                .map(|i| format!("paths p{i} = p{}\n", i + 1))
                .collect(),
        ]
    };
    let small = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            for n in [1, 63, 64, 65, 1_000, 100_000, 1_000_000] {
                for text in texts(n) {
                    let Told {
                        contract,
                        diagnostics,
                    } = told(&format!("vplan 1\n{text}"));
                    assert!(
                        n < 1_000 || contract.is_none() || text.starts_with('#'),
                        "{n}: {:.60}",
                        text
                    );
                    assert!(
                        contract.is_some() || !diagnostics.is_empty(),
                        "{n}: {:.60}",
                        text
                    );
                }
            }
        });
    small.unwrap().join().unwrap();
}

/// What a few lines stand for is counted before it is built: with less memory than it would take,
/// it is an error all the same.
#[test]
fn expansion_counted_before_built() {
    use crate::support::Project;
    let doubling: String = (0..60)
        .rev()
        .map(|i| format!("paths p{i} = p{} p{}\n", i + 1, i + 1))
        .collect();
    let braces = "{a,b}".repeat(60);
    let checks: Vec<String> = (0..3_000).map(|i| format!("c{i}")).collect();
    let sequence = format!("sequence {}\n", ["*"; 2].join(" -> "));
    for text in [
        format!("paths p60 = \"a\"\n{doubling}whenChangedAny p0 {{\n  check a: true\n}}\n"),
        format!("whenChangedAny \"{braces}\" {{\n  check a: true\n}}\n"),
        format!(
            "check a {{\n  run true\n  inputs \"{}\"\n}}\n",
            "{a,{b,{c,d}}}".repeat(12)
        ),
        checks
            .iter()
            .map(|c| format!("check {c}: true\n"))
            .collect::<String>()
            + &sequence,
    ] {
        let project = Project::bare();
        project.write("contracts/verify.vplan", format!("vplan 1\n{text}"));
        let mut command = project.vplan(&["check"]).command();
        let program = command.get_program().to_owned();
        let mut limited = std::process::Command::new("sh");
        limited
            .args(["-c", "ulimit -v 1000000; exec \"$0\" check"])
            .arg(program);
        limited.current_dir(project.root());
        let output = limited.output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(3),
            "{:.80}: {}",
            text,
            String::from_utf8_lossy(&output.stderr)
        );
        let _ = &mut command;
    }
}

/// Patterns that would be large programs are refused, and those that are not are ready at once.
#[test]
fn regex_and_glob_compile_bounded() {
    for pattern in [
        "((((a{100}){100}){100}){100})",
        "(\\\\w{500}){500}",
        "(x+x+)+y",
    ] {
        let text =
            format!("vplan 1\ncheck a {{\n  file \"a\" {{\n    matches \"{pattern}\"\n  }}\n}}\n");
        let is_small = pattern == "(x+x+)+y";
        assert_eq!(told(&text).contract.is_some(), is_small, "{pattern}");
    }
    for glob in ["?".repeat(513), "{a,b}".repeat(7), "[a-z]".repeat(110)] {
        let text = format!("vplan 1\nwhenChangedAny \"{glob}\" {{\n  check a: true\n}}\n");
        assert!(told(&text).contract.is_none(), "{glob}");
    }
}
