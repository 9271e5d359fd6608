//! Is the language's reference true? Every example is checked, laid out and run; every statement is
//! in it, and nothing else.

use crate::support::Project;
use std::collections::BTreeSet;
use vplan::base::setting::{Row, Unset, Verbs};
use vplan::base::vocabulary::{FormatName, RewriteRule};
use vplan::lang::GRAMMAR;
use vplan::lang::statement::{STATEMENTS, Slot, StatementContext};

/// Everything but the grammar, and the grammar.
fn parts() -> (&'static str, &'static str) {
    GRAMMAR.split_once("\n## Grammar\n").unwrap()
}

/// The examples, each with the file that it is: its first line says so in a comment, or it is the
/// contract.
fn examples() -> Vec<(&'static str, String)> {
    let blocks = GRAMMAR
        .split("```vplan\n")
        .skip(1)
        .map(|b| b.split_once("```").expect("an end").0);
    let file = |example: &'static str| {
        let named = example
            .strip_prefix("# ")
            .and_then(|rest| rest.split_once('\n'));
        match named.filter(|(name, _)| name.starts_with("contracts/") && !name.contains(' ')) {
            Some((name, _)) => (name, example.to_owned()),
            None if example.starts_with("vplan 1\n") => {
                ("contracts/verify.vplan", example.to_owned())
            }
            None => ("contracts/verify.vplan", format!("vplan 1\n{example}")),
        }
    };
    blocks.map(file).collect()
}

#[test]
fn every_example_is_checked_laid_out_and_run() {
    let project = Project::bare();
    // What the examples of `in-folders` and `in-workspace` ask for.
    project
        .write("package.json", r#"{"workspaces": ["packages/*"]}"#)
        .write("packages/ui/package.json", r#"{"name": "@acme/ui"}"#)
        .write(
            "packages/web/package.json",
            r#"{"name": "@acme/web", "dependencies": {"@acme/ui": "*"}}"#,
        );
    let (mut contracts, mut tested) = (0, 0);
    for (name, text) in examples() {
        project.write(name, &text);
        project.run(&["fmt", "--check", name]).exits(0);
        if name.ends_with("/package.vplan") {
            project.run(&["check", "--contract", name]).exits(0);
            continue;
        }
        contracts += 1;
        // No warning says that the text itself is doubtful; tools and folders are the reader's.
        let checked = project.run(&["check", "--format", "json"]);
        for warning in checked.exits(0).json()["diagnostics"].as_array().unwrap() {
            assert!(
                warning["code"]
                    .as_str()
                    .unwrap()
                    .starts_with("vplan::repository::"),
                "{warning}\n{text}"
            );
        }
        project.run(&["plan", "--changed-none"]).exits(0);
        if text.contains("\nexpect \"") {
            tested += 1;
            project.run(&["test"]).exits(0).says("passed");
        }
    }
    assert!(contracts >= 9 && tested >= 4, "the examples were not found");
}

#[test]
fn every_statement_is_in_the_text_and_in_the_grammar() {
    let (text, grammar) = parts();
    let shown: String = examples().into_iter().map(|(_, text)| text).collect();
    for statement in STATEMENTS.iter() {
        let word = statement.word;
        assert!(
            grammar.contains(&format!("'{word}'")),
            "`{word}` is not in the grammar"
        );
        let code = text
            .lines()
            .flat_map(|line| line.split('`').skip(1).step_by(2));
        let told = code
            .into_iter()
            .any(|code| code.split([' ', ',', '…']).any(|w| w == word));
        assert!(told, "`{word}` is not explained");
        let row = text
            .lines()
            .any(|l| l.starts_with('|') && l.contains(&format!("`{word}")));
        let example = shown
            .lines()
            .any(|l| l.split_whitespace().next() == Some(word));
        assert!(row || example, "`{word}` has neither a row nor an example");
    }
}

#[test]
fn every_word_of_the_grammar_is_known() {
    let (_, grammar) = parts();
    let grammar = grammar.split("```").nth(1).unwrap();
    // Behind this line are the marks of commands.
    let (statements, _) = grammar.split_once("\ncommand ").unwrap();
    let mut known: BTreeSet<String> = STATEMENTS.iter().map(|s| s.word.to_owned()).collect();
    for statement in STATEMENTS.iter() {
        for slot in statement.slots {
            match slot {
                Slot::Literal(word) | Slot::Optional(word, _) => known.insert((*word).to_owned()),
                Slot::Level => {
                    known.extend(["error", "warning", "note"].map(str::to_owned));
                    true
                }
                Slot::Each => {
                    let words = ["in", "in-folders", "in-workspace", "with", "dependents"];
                    known.extend(words.map(str::to_owned));
                    true
                }
                Slot::Ready => {
                    known.extend(["tcp", "file", "line", "port"].map(str::to_owned));
                    true
                }
                _ => false,
            };
        }
    }
    // The values of settings that are one of a few words: each of them is taken, and no other.
    let values: &[(&str, &str, &[&str])] = &[
        (
            "check a {\n  file \"x\" {\n    type ",
            "\n  }\n}",
            &["file", "dir", "symlink", "executable", "utf8"],
        ),
        (
            "check a {\n  test x\n  report ",
            " \"r\"\n}",
            &["junit", "trx", "tap"],
        ),
        (
            "check a {\n  lint x\n  report ",
            " \"r\"\n}",
            &["junit", "sarif"],
        ),
        (
            "check a {\n  run x\n  severity ",
            "\n}",
            &["blocking", "warning"],
        ),
        (
            "check a {\n  run x\n  inputs \"x\"\n  sandbox ",
            "\n}",
            &["none", "guard", "files", "sealed"],
        ),
        (
            "defaults {\n  network ",
            "\n}\ncheck a: x",
            &["on", "loopback", "off"],
        ),
        (
            "check a {\n  run x\n  timeout 1",
            "\n}",
            &["h", "m", "s", "ms"],
        ),
        (
            "gate {\n  on-exhausted ",
            "\n}\ncheck a: x",
            &["fail", "escalate", "allow"],
        ),
        (
            "gate {\n  propagate ",
            "\n}\ncheck a: x",
            &["downgrade", "reset", "off"],
        ),
        (
            "check a: x\nexpect \"e\" {\n  risk-level ",
            "\n  plan a\n}",
            &["low", "medium", "high"],
        ),
        (
            "check a: x\nexpect \"e\" {\n  at ",
            "\n  plan a\n}",
            &["milestone-end", "run-end"],
        ),
        ("check a: x\nlimits {\n  jobs ", "\n}", &["auto"]),
    ];
    let project = Project::bare();
    for (before, after, words) in values {
        for (word, code) in words.iter().map(|w| (*w, 0)).chain([("nonsense", 3)]) {
            project.write(
                "contracts/verify.vplan",
                format!("vplan 1\n{before}{word}{after}\n"),
            );
            project.run(&["check", "-q"]).exits(code);
        }
        known.extend(words.iter().map(|w| (*w).to_owned()));
        for word in *words {
            assert!(
                statements.contains(&format!("'{word}'")),
                "`{word}` is not in the grammar"
            );
        }
    }
    let quoted = statements.split('\'').skip(1).step_by(2);
    for word in quoted.filter(|w| w.starts_with(|c: char| c.is_ascii_lowercase())) {
        assert!(
            known.contains(word),
            "`{word}` of the grammar is no word of the language"
        );
    }
}

/// The rows of the reference's table of settings: usages, verbs, what holds without them.
fn rows_of_settings(text: &str) -> Vec<(Vec<&str>, &str, &str)> {
    let (_, table) = text
        .split_once("| setting | with | meaning | without it |\n")
        .unwrap();
    let rows = table.lines().skip(1).take_while(|l| l.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row[1..].split('|').map(str::trim).collect();
        let usages = cells[0].split('`').skip(1).step_by(2).collect();
        (usages, cells[1], cells[3])
    })
    .collect()
}

#[test]
fn the_reference_says_what_the_table_of_settings_says() {
    let (text, grammar) = parts();
    let mut told = Vec::new();
    for (usages, with, without) in rows_of_settings(text) {
        let rows = usages.iter().map(|usage| {
            let word = usage.split(' ').next().unwrap();
            let row = Row::ALL.iter().find(|row| row.setting().word == word);
            *row.unwrap_or_else(|| panic!("`{word}` is no setting"))
        });
        let rows: Vec<Row> = rows.collect();
        let mut usual = Vec::new();
        for setting in rows.iter().map(|row| row.setting()) {
            let verbs = match setting.with {
                Verbs::All => "all",
                Verbs::Commands => "commands",
                Verbs::AllButFile => "all but `file`",
                Verbs::Reading => "reading",
                Verbs::Findings => "`compile`, `lint`",
                Verbs::Test => "`test`",
                Verbs::Judge => "`judge`",
            };
            assert_eq!(with, verbs, "{}", setting.word);
            usual.extend(match setting.unset {
                Unset::Number(n) | Unset::AtMost(n) => Some(n.to_string()),
                Unset::Word(word) => Some(format!("`{word}`")),
                Unset::Unlimited => Some("any number".to_owned()),
                Unset::ByVerb => Some("60s; `test` 120s; `judge` 30s".to_owned()),
                Unset::Nothing => None,
            });
        }
        if !usual.is_empty() {
            assert_eq!(without, usual.join("; "), "{usages:?}");
        }
        told.extend(rows);
    }
    assert_eq!(told, Row::ALL, "the rows are in the order of a block");
    let words = Row::in_defaults();
    assert!(text.contains(&format!(
        "settings for all checks of the file: `{}`",
        words.join(" ")
    )));
    let (_, shared) = grammar.split_once("\nshared ").unwrap();
    let (shared, _) = shared.split_once("\n\n").unwrap();
    let shared: BTreeSet<&str> = shared.split('\'').skip(1).step_by(2).collect();
    for setting in Row::ALL.iter().map(|row| row.setting()) {
        assert_eq!(
            shared.contains(setting.word),
            setting.in_defaults,
            "`{}` among the settings of `defaults`",
            setting.word
        );
    }
}

/// What stands for the arguments of a setting in a usage or a table.
fn example(usage: &str) -> String {
    let rest = usage.trim_end_matches('…').trim_end();
    ["WORD", "NAME=VALUE", "NAME", "SEL", "\"GLOB\"", "N"]
        .iter()
        .zip(["junit", "A=b", "other", "\"g\"", "\"g\"", "1"])
        .fold(rest.to_owned(), |text, (name, value)| {
            text.replace(name, value)
        })
}

#[test]
fn a_setting_goes_with_the_verbs_that_its_row_names() {
    let verbs = [
        ("run", "run x"),
        ("compile", "compile x"),
        ("test", "test x"),
        ("lint", "lint x"),
        ("shell", "shell x"),
        ("file", "file \"x\" {\n    exists\n  }"),
        ("judge", "judge \"x\""),
    ];
    let (text, _) = parts();
    let project = Project::bare();
    let mut settings = BTreeSet::new();
    for (usages, with, _) in rows_of_settings(text) {
        let knows = |verb: &str| match with {
            "all" => true,
            "commands" => !["file", "judge"].contains(&verb),
            "reading" => ["compile", "test", "lint"].contains(&verb),
            "all but `file`" => verb != "file",
            some => some.contains(&format!("`{verb}`")),
        };
        for usage in usages {
            let setting = match usage.split(' ').next().unwrap() {
                "format" => "format auto".to_owned(),
                "severity" => "severity warning".to_owned(),
                "sandbox" => "sandbox guard".to_owned(),
                "network" => "network off".to_owned(),
                "reads" => "reads \"/x\"\n  sandbox files\n  inputs \"x\"".to_owned(),
                "on" => "on here".to_owned(),
                "shared" => "sandbox files\n  inputs \"x\"\n  shared".to_owned(),
                _ => example(usage),
            };
            settings.insert(usage.split(' ').next().unwrap().to_owned());
            for (name, verb) in verbs {
                let contract = format!(
                    "vplan 1\ncheck other: x\nservice other: x\ncheck a {{\n  {verb}\n  {setting}\n}}\n"
                );
                project.write("contracts/verify.vplan", &contract);
                let ran = project.run(&["check", "-q"]);
                ran.exits(if knows(name) { 0 } else { 3 });
                if !knows(name) {
                    ran.warns("vplan::contract::foreign_setting");
                }
            }
        }
    }
    let all = STATEMENTS
        .iter()
        .filter(|s| s.contexts.contains(&StatementContext::Check))
        .map(|s| s.word.to_owned());
    let all: BTreeSet<String> = all
        .filter(|w| !verbs.iter().any(|(verb, _)| verb == w))
        .collect();
    assert_eq!(settings, all);
    for name in FormatName::NAMES.iter().chain(RewriteRule::NAMES) {
        assert!(
            text.contains(&format!("`{name}`")),
            "`{name}` is not explained"
        );
    }
}
