//! Wrong lines, as people write them: each line of the language reference with one edit, each word
//! of five other tools, syntax of other languages. One error each, with the line to write.

use std::collections::BTreeSet;
use vplan::base::diagnostic::{Diagnostic, Diagnostics, Severity};
use vplan::base::source::{Source, Sources};
use vplan::contract::validate::validate;
use vplan::front;
use vplan::front::vplan_test::lower_tests;
use vplan::lang::GRAMMAR;

/// `RIGHT<tab>WRONG<tab>CODE<tab>HELP`: a line of an example, an edit of it, and what the one error
/// says. `\n` is the end of a line; `&` separates words that all are in the help.
const LINES: &str = include_str!("words/lines.tsv");

/// `TOOL<tab>WORD<tab>LINE<tab>CODE<tab>HELP`: a line in a `check` block.
const WORDS: &str = include_str!("words/words.tsv");

/// Reads a contract, or a file of tests, and returns its errors and their texts.
fn errors(text: &str) -> Vec<(Diagnostic, String)> {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("contracts/verify.vplan", text));
    let mut sink = Diagnostics::default();
    if text.contains("\ntests ") {
        lower_tests(&sources, id, 1 << 20, &mut sink);
    } else {
        let mut draft = front::lower(&sources, id, &mut sink);
        // Read alone, no file that it imports is there.
        let aliases = draft.imports.iter().filter_map(|i| i.alias.as_ref());
        let absent: Vec<String> = aliases.map(|alias| format!("{}/", alias.value)).collect();
        draft.absent.extend(absent);
        validate(&draft, &sources, &mut sink);
    }
    let errors = sink.sorted().into_iter();
    errors
        .filter(|d| d.severity == Severity::Error)
        .map(|d| {
            let place = d.labels.first().map(|l| l.place);
            let found = place.and_then(|p| sources.get(p.source).map(|s| s.slice(p.span)));
            (d.clone(), found.unwrap_or_default().to_owned())
        })
        .collect()
}

/// Compares the errors of a text with the one that it should have.
fn fault(text: &str, code: &str, help: &str, line: &str) -> Option<String> {
    let found = errors(text);
    let told: Vec<String> = found
        .iter()
        .map(|(d, at)| {
            format!(
                "{} at {at:?}: {} -> {}",
                d.code,
                d.message,
                d.help.as_deref().unwrap_or("")
            )
        })
        .collect();
    let right = match found.as_slice() {
        [(only, at)] => {
            let said = only.help.as_deref().unwrap_or_default();
            only.code.0 == format!("vplan::lang::{code}")
                && help.split(" & ").all(|words| said.contains(words))
                && !at.contains('\n')
                && (at.is_empty() || line.contains(at.as_str()))
        }
        _ => false,
    };
    (!right).then(|| {
        format!(
            "{line}\n    wanted {code}: {help}\n    got {}",
            told.join("\n        ")
        )
    })
}

fn rows<const N: usize>(table: &'static str) -> Vec<[&'static str; N]> {
    let rows = table.lines().map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        cells.try_into().unwrap_or_else(|_| panic!("{line}"))
    });
    rows.collect()
}

#[test]
fn each_line_of_the_reference_with_one_edit() {
    let rows: Vec<[&str; 4]> = rows(LINES);
    let (mut wrong, mut used, mut without) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let blocks = GRAMMAR.split("```vplan\n").skip(1);
    for example in blocks.map(|b| b.split_once("```").expect("an end").0) {
        let text = if example.lines().any(|line| line == "vplan 1") {
            example.to_owned()
        } else {
            format!("vplan 1\n{example}")
        };
        let lines: Vec<&str> = text.lines().collect();
        for (at, right) in lines.iter().enumerate() {
            let content = right.trim();
            if content.is_empty() || content.starts_with('#') || lines[..at].contains(right) {
                continue;
            }
            let mut any = false;
            for (number, row) in rows.iter().enumerate().filter(|(_, row)| row[0] == content) {
                any = true;
                used.insert(number);
                let indent = &right[..right.len() - right.trim_start().len()];
                let edited = row[1].replace("\\n", &format!("\n{indent}"));
                let mut edited_lines: Vec<String> = lines.iter().map(|l| (*l).to_owned()).collect();
                edited_lines[at] = format!("{indent}{edited}");
                let edited_text = edited_lines.join("\n") + "\n";
                // An `env {` takes what follows to its `}`.
                let edited_text = if edited == "env {" {
                    edited_text.replacen("env {", "env {\n    CI=1\n  }", 1)
                } else {
                    edited_text
                };
                wrong.extend(fault(&edited_text, row[2], row[3], &edited));
            }
            if !any {
                without.insert(content.to_owned());
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    assert_eq!(
        without,
        BTreeSet::new(),
        "lines of the reference without a row"
    );
    assert_eq!(
        used.len(),
        rows.len(),
        "a row is of a line that is not in the reference"
    );
}

#[test]
fn each_word_of_five_other_tools() {
    let rows: Vec<[&str; 5]> = rows(WORDS);
    let mut wrong = Vec::new();
    for [tool, word, line, code, help] in &rows {
        assert!(line.starts_with(word), "{tool}: {line}");
        let line = line.replace("\\n", "\n");
        let text = format!(
            "vplan 1\ncheck lint: x\ncheck unit: x\ncheck a {{\n  run true\n  {line}\n  retries 1\n}}\n"
        );
        wrong.extend(fault(&text, code, help, &line));
    }
    assert!(
        wrong.is_empty(),
        "{} of {}\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    for tool in [
        "GitHub Actions",
        "pre-commit",
        "lefthook",
        "Turborepo",
        "tox",
    ] {
        assert!(
            rows.iter().filter(|row| row[0] == tool).count() >= 20,
            "{tool}"
        );
    }
}

#[test]
fn syntax_of_other_languages_is_one_error_each() {
    let mut wrong = Vec::new();
    for (text, code, help, line) in [
        (
            "// a note\ncheck a: x\n",
            "unknown_statement",
            "`# a note`",
            "//",
        ),
        (
            "/* a note\n   over lines\n*/\ncheck a: x\n",
            "unknown_statement",
            "`# a note`",
            "/*",
        ),
        (
            "<!-- a note -->\ncheck a: x\n",
            "unknown_statement",
            "`# a note`",
            "<!--",
        ),
        (
            "check a: x\ncheck b {\n  run x // why\n}\n",
            "unexpected_argument",
            "`run x`",
            "run x // why",
        ),
        (
            "whenChangedAny \"src/**\" {\n  check a: x\n} else {\n  check b: x\n}\ncheck c {\n  run x\n  needs b\n}\n",
            "unknown_statement",
            "`whenChangedNone \"src/**\" {`",
            "else",
        ),
        (
            "whenExists \"a\" {\n  check a: x\n}\nelse {\n  check b: x\n}\n",
            "unknown_statement",
            "`whenAbsent \"a\" {`",
            "else",
        ),
        (
            "if changed(\"src/**\") {\n  check a: x\n}\ncheck b {\n  run x\n  needs a\n}\n",
            "unknown_statement",
            "`whenChangedAny \"GLOB\" {`",
            "if",
        ),
        (
            "job unit {\n  run x\n}\ncheck b {\n  run x\n  needs unit\n}\n",
            "unknown_statement",
            "`check unit {`",
            "job",
        ),
        (
            "unit:\n  run x\n  timeout 5m\ncheck b: x\n",
            "unknown_statement",
            "`check unit {`",
            "unit",
        ),
        (
            "check unit:\n  run x\n  timeout 5m\ncheck b: x\n",
            "command_empty",
            "`check unit {`",
            "",
        ),
        (
            "check a {\n  run x\n  env {\n    A=1\n    B=2\n  }\n  timeout 5m\n}\n",
            "unexpected_block",
            "`env A=1`",
            "{",
        ),
        (
            "check a {\n  run x\n  env:\n    A: 1\n    B: 2\n  timeout 5m\n}\n",
            "unexpected_argument",
            "`env A=1`",
            ":",
        ),
        (
            "check a {\n  run x\n  tags [\n    fast,\n    slow,\n  ]\n  timeout 5m\n}\n",
            "unexpected_argument",
            "`tags fast slow`",
            "[",
        ),
        (
            "check a: x\ncheck b: x\nsequence a --> b\n",
            "unexpected_argument",
            "`sequence a -> b`",
            "-->",
        ),
        (
            "jobs:\n  test:\n    runs-on: x\n    steps:\n      - run: npm test\ncheck a: x\n",
            "unknown_statement",
            "`check NAME: COMMAND`",
            "jobs",
        ),
        (
            "check a {\n  run x\n}\ncheck b {\n  test:\n}\n",
            "missing_blank",
            "`test COMMAND`",
            "test:",
        ),
        (
            "check a {\n  run x\n  - retries 1\n}\n",
            "unknown_statement",
            "no `-`",
            "-",
        ),
        (
            "check a {\n  run x\n  env A={files}\n}\n",
            "unknown_hole",
            "`env A='{files}'`",
            "A={files}",
        ),
        (
            "check a: x {toxinidir}\n",
            "unknown_hole",
            "`.`",
            "{toxinidir}",
        ),
        (
            "check a: x {posargs}\n",
            "unknown_hole",
            "vplan has none",
            "{posargs}",
        ),
        ("check a: x {code}\n", "unknown_hole", "quote it", "{code}"),
    ] {
        wrong.extend(
            fault(&format!("vplan 1\n{text}"), code, help, line).map(|f| format!("{text}{f}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_argument_that_looks_like_a_hole_or_a_comment_is_no_error() {
    for line in [
        "find . -exec true {} +",
        "x '{files}' '//' {a,b} %{http_code} @{u}",
        "x //pkg:target https://example.org",
    ] {
        assert_eq!(
            errors(&format!("vplan 1\ncheck a: {line}\n")).len(),
            0,
            "{line}"
        );
    }
    assert_eq!(
        errors("vplan 1\ncheck a {\n  shell awk '{print}' '{files}' // x\n}\n").len(),
        0
    );
}
