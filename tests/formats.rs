//! Formats that a contract defines: what their patterns read, what a run makes of it, and the ones
//! that are shipped, against output of the tools.

use crate::support::Project;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use vplan::arbitrary::config;
use vplan::base::diagnostic::Diagnostics;
use vplan::base::source::{Source, Sources};
use vplan::check::definition::{FormatDefinition, LineLevel};
use vplan::check::output::{Expected, read_expected};
use vplan::check::pattern::{LineHole, Pattern, single_blanks};
use vplan::check::results::Reading;
use vplan::contract::validate::validate;
use vplan::front::lower;

/// A format of a contract.
fn defined(text: &str, name: &str) -> Arc<FormatDefinition> {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("contracts/verify.vplan", text));
    let mut sink = Diagnostics::default();
    let draft = lower(&sources, id, &mut sink);
    let contract = validate(&draft, &sources, &mut sink);
    contract
        .unwrap_or_else(|| panic!("{:?}", sink.iter().collect::<Vec<_>>()))
        .formats[name]
        .clone()
}

fn std_formats() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("contracts/std/formats-1.vplan");
    std::fs::read_to_string(here).unwrap()
}

/// What a shipped format reads in an output.
fn shipped(name: &str, out: &str, err: &str) -> Option<Reading> {
    let definition = defined(&std_formats(), name);
    read_expected(
        &Expected::defined(name, &definition),
        out.as_bytes(),
        err.as_bytes(),
    )
}

/// A captured output: standard output and standard error.
fn captured(file: &str) -> [String; 2] {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    let found =
        ["txt", "err"].map(|ending| std::fs::read_to_string(here.join(format!("{file}.{ending}"))));
    assert!(found.iter().any(Result::is_ok), "{file}");
    found.map(Result::unwrap_or_default)
}

/// The captured outputs: file, format, errors, warnings, and the first finding. Those of hadolint and
/// terraform are written after the text format that their documentation shows.
const CAPTURED: &[(&str, &str, u64, u64, &str)] = &[
    (
        "rubocop",
        "rubocop",
        1,
        5,
        "a.rb:1:1 Style/FrozenStringLiteralComment Missing frozen string literal comment.",
    ),
    ("rubocop-ok", "rubocop", 0, 0, ""),
    (
        "biome",
        "biome",
        3,
        2,
        "bad.js:0:0 - This let declares a variable that is only assigned once.",
    ),
    (
        "biome-github",
        "biome",
        3,
        2,
        "/repo/bad.js:1:1 lint/style/useConst This let declares a variable that is only assigned once.",
    ),
    (
        "biome-concise",
        "biome",
        3,
        2,
        "src/a.js:1:1 lint/style/useConst This let declares a variable that is only assigned once.",
    ),
    ("biome-ok", "biome", 0, 0, ""),
    (
        "hadolint",
        "hadolint",
        1,
        2,
        "Dockerfile:1:0 DL3006 Always tag the version of an image explicitly",
    ),
    (
        "hadolint-syntax",
        "hadolint",
        1,
        0,
        "Dockerfile:2:1 - unexpected 'F' expecting",
    ),
    (
        "sqlfluff",
        "sqlfluff",
        7,
        0,
        "a.sql:1:1 LT09 Select targets should be on a new line unless there is",
    ),
    ("sqlfluff-ok", "sqlfluff", 0, 0, ""),
    (
        "terraform-validate",
        "terraform-validate",
        1,
        1,
        "-:0:0 - Unsupported argument",
    ),
    (
        "terraform-validate-no-color",
        "terraform-validate",
        1,
        1,
        "-:0:0 - Unsupported argument",
    ),
    ("terraform-validate-ok", "terraform-validate", 0, 0, ""),
    (
        "terraform-validate-warned",
        "terraform-validate",
        0,
        1,
        "-:0:0 - Deprecated attribute",
    ),
];

#[test]
fn shipped_formats_read_the_tools_output() {
    for (file, format, errors, warnings, first) in CAPTURED {
        let [out, err] = captured(file);
        let reading = shipped(format, &out, &err).unwrap_or_else(|| panic!("{file}: not read"));
        assert_eq!(
            (reading.errors, reading.warnings),
            (*errors, *warnings),
            "{file}: {reading:#?}"
        );
        assert_eq!(reading.problems, Vec::<String>::new(), "{file}");
        let said = reading.findings.first().map_or(String::new(), |f| {
            let text = |text: &Option<String>| text.clone().unwrap_or("-".to_owned());
            let number = |n: Option<u64>| n.unwrap_or(0);
            format!(
                "{}:{}:{} {} {}",
                text(&f.file),
                number(f.line),
                number(f.column),
                text(&f.code),
                f.message
            )
        });
        assert!(
            said.starts_with(first) && said.is_empty() == first.is_empty(),
            "{file}: {said}"
        );
    }
}

/// A blank more is the same. A blank less is a line less at the most.
#[test]
fn one_changed_blank() {
    for (file, format, errors, warnings, _) in CAPTURED {
        let [out, err] = captured(file);
        let text = format!("{out}{err}");
        let blanks = text.match_indices(' ').map(|(at, _)| at);
        // The drawings of biome hold hundreds of blanks.
        for at in blanks.step_by(1 + text.len() / 2_000) {
            let mut more = text.clone();
            more.insert(at, if at % 2 == 0 { ' ' } else { '\t' });
            let found = shipped(format, &more, "").map(|r| (r.errors, r.warnings));
            assert_eq!(found, Some((*errors, *warnings)), "{file} at {at}");
            let mut less = text.clone();
            less.remove(at);
            let found = shipped(format, &less, "").map_or(0, |r| r.errors + r.warnings);
            assert!(found + 1 >= errors + warnings, "{file} at {at}");
        }
    }
}

#[test]
fn every_shipped_line_reads_something_captured() {
    for name in [
        "rubocop",
        "biome",
        "hadolint",
        "sqlfluff",
        "terraform-validate",
    ] {
        let whole = defined(&std_formats(), name);
        // What `--autocorrect` writes was not captured.
        let lines = whole.lines.iter().enumerate();
        for (n, line) in lines.filter(|(_, line)| !line.pattern.text().contains("[Corrected]")) {
            let mut without = (*whole).clone();
            without.lines.remove(n);
            let without = Arc::new(without);
            let differs = CAPTURED.iter().filter(|row| row.1 == name).any(|row| {
                let [out, err] = captured(row.0);
                let read = |definition| {
                    let expected = Expected::defined(name, definition);
                    read_expected(&expected, out.as_bytes(), err.as_bytes())
                };
                // A line that is no finding may change nothing that is counted.
                let lines = out.lines().chain(err.lines()).map(single_blanks);
                let is_note = line.level == Some(LineLevel::Note);
                let mut fits = lines.filter(|l| line.pattern.read(l).is_some());
                read(&whole) != read(&without) || is_note && fits.next().is_some()
            });
            assert!(differs, "{name}: {}", line.pattern.text());
        }
    }
}

const LINT: &str = "format own {
  finding '{file}:{line}: {severity} {message}'
  heading '== {file}'
  finding warning ' {line}: {message}'
  clean 'all is well'
  errors E
  warnings W
  notes N
}
";

fn lint(output: &str) -> Option<Reading> {
    let text = format!("vplan 1\n{LINT}check a {{\n  lint x\n  format own\n}}\n");
    read_expected(
        &Expected::defined("own", &defined(&text, "own")),
        output.as_bytes(),
        b"",
    )
}

#[test]
fn levels_headings_and_what_is_clean() {
    let counts = |output: &str| lint(output).map(|r| (r.errors, r.warnings, r.problems.len()));
    for (output, want) in [
        ("a.rb:1: E x\na.rb:2: W x\na.rb:3: N x\n", Some((1, 1, 0))),
        // A word in no list is an error.
        ("a.rb:1: R x\n", Some((1, 0, 0))),
        ("a.rb:1: N x\n", Some((0, 0, 0))),
        ("all is well\n", Some((0, 0, 0))),
        ("all is well\na.rb:1: W x\n", Some((0, 1, 1))),
        ("a.rb:1: W x\nall  is\twell  \r\n", Some((0, 1, 1))),
        ("\u{1b}[31ma.rb:1: \u{1b}[0mE x\n", Some((1, 0, 0))),
        // A heading alone says nothing.
        ("== b.rb\n", None),
        ("all is not well\n", None),
        ("", None),
    ] {
        assert_eq!(counts(output), want, "{output:?}");
    }
    let found = lint("== b.rb\n  4: x\na.rb:1: W y\n  5: z\n== c.rb\n  6: z\n").unwrap();
    let places: Vec<_> = (found.findings.iter())
        .map(|f| (f.file.as_deref().unwrap(), f.line.unwrap()))
        .collect();
    assert_eq!(places, [("b.rb", 4), ("a.rb", 1), ("b.rb", 5), ("c.rb", 6)]);
}

const AUTOMAKE: &str = "format automake {
  passed '# PASS: {count}'
  failed '# FAIL: {count}'
  failed '# ERROR: {count}'
  skipped '# SKIP: {count}'
  failed 'FAIL: {name}'
  passed 'ok {name}'
}
";

#[test]
fn tests_are_counted_or_named() {
    let text = format!("vplan 1\n{AUTOMAKE}check a {{\n  test x\n  format automake\n}}\n");
    let definition = defined(&text, "automake");
    for (output, want) in [
        (
            "# PASS:  2\n# FAIL:  1\n# ERROR: 1\n# SKIP:  3\n# PASS: 1\n",
            Some((3, 2, 3)),
        ),
        // Named and counted is said twice.
        ("FAIL: a\nFAIL: b\n# FAIL: 2\n# PASS: 0\n", Some((0, 2, 0))),
        ("ok a\nok b\nFAIL: c\n", Some((2, 1, 0))),
        ("# PASS: 99999999999999999999\n", Some((u64::MAX, 0, 0))),
        ("PASS: 1\n", None),
    ] {
        let read = read_expected(
            &Expected::defined("automake", &definition),
            b"",
            output.as_bytes(),
        );
        let counts = read
            .map(|r| r.tests.unwrap())
            .map(|t| (t.passed, t.failed, t.skipped));
        assert_eq!(counts, want, "{output}");
    }
}

/// A repository with one check that prints a file.
fn project(blocks: &str, check: &str) -> Project {
    let project = Project::git_empty();
    project.write(
        "contracts/verify.vplan",
        format!("vplan 1\n{blocks}check a {{\n{check}}}\n"),
    );
    project.write("out.txt", "");
    project.commit("begin");
    project
}

/// What a run says of the check, with its exit code.
fn run(project: &Project, output: &str) -> (i32, String) {
    project.write("out.txt", output);
    let ran = project.run(&["run", "--all", "--format", "json"]);
    let steps = ran.json()["steps"].as_array().unwrap().clone();
    let text = |key: &str| steps[0][key].as_str().unwrap_or_default().to_owned();
    (
        ran.exit.unwrap(),
        format!("{} {} {}", text("status"), text("reason"), text("detail")),
    )
}

#[test]
fn a_run_believes_it_as_it_does_others() {
    let lint = project(LINT, "  lint cat out.txt\n  format own\n  max-warnings 1\n");
    for (output, code, said) in [
        ("all is well\n", 0, "passed  "),
        ("", 0, "passed  "),
        ("a:1: W x\n", 0, "passed_with_warnings"),
        (
            "a:1: W x\na:2: W x\n",
            40,
            "failed warnings 2 warnings (1 is allowed)",
        ),
        ("a:1: R x\n", 40, "failed errors 1 error: a:1: x"),
        (
            "a:1: W x\nall is well\n",
            40,
            "failed contradiction exit code 0, but it says `all is well` beside 1 finding",
        ),
        (
            "hello\n\n\u{1b}[1mthere\u{1b}[0m\nyou\nwho\n",
            40,
            "failed no_evidence nothing in its output is of the format `own`; it begins `hello`, `there`, `you`",
        ),
    ] {
        let (exit, ended) = run(&lint, output);
        assert_eq!(exit, code, "{output}: {ended}");
        assert!(ended.starts_with(said), "{output}: {ended}");
    }
    let tests = project(
        AUTOMAKE,
        "  test cat out.txt\n  format automake\n  min-tests 2\n",
    );
    for (output, code, said) in [
        ("# PASS: 2\n", 0, "passed"),
        (
            "# PASS: 1\n",
            42,
            "failed too_few_tests 1 test ran; at least 2 must",
        ),
        (
            "# PASS: 0\n# FAIL: 0\n",
            42,
            "failed too_few_tests no tests ran",
        ),
        (
            "# PASS: 2\nFAIL: it\n",
            42,
            "failed contradiction exit code 0, but 1 of 3 tests failed: it",
        ),
        (
            "hello\n",
            42,
            "failed no_evidence nothing in its output is of the format `automake`; it begins `hello`",
        ),
        (
            "",
            42,
            "failed no_evidence it wrote nothing that would show that tests ran",
        ),
    ] {
        let (exit, ended) = run(&tests, output);
        assert_eq!(exit, code, "{output}: {ended}");
        assert!(ended.starts_with(said), "{output}: {ended}");
    }
    // Zero of both, and nothing that says how many must run.
    let tests = project(AUTOMAKE, "  test cat out.txt\n  format automake\n");
    let (exit, ended) = run(&tests, "# PASS: 0\n# FAIL: 0\n");
    assert_eq!(
        (exit, ended.contains("no tests ran")),
        (42, true),
        "{ended}"
    );
}

#[test]
fn neither_exit_code_nor_output_makes_up_for_the_other() {
    let failing = project(LINT, "  lint sh -c 'cat out.txt; exit 1'\n  format own\n");
    for (output, said) in [
        (
            "all is well\n",
            "failed contradiction exit code 1, but its output shows no failure",
        ),
        (
            "hello\n",
            "failed exit_code exit code 1; nothing in its output is of the format `own`; it begins `hello`",
        ),
        ("a:1: E x\n", "failed errors 1 error: a:1: x"),
    ] {
        let (exit, ended) = run(&failing, output);
        assert_eq!(exit, 40);
        assert!(ended.starts_with(said), "{output}: {ended}");
    }
}

fn plan(project: &Project) -> Value {
    let ran = project.run(&["plan", "--format", "json", "--changed", "x"]);
    ran.exits(0);
    ran.json()
}

#[test]
fn only_steps_that_use_it_have_the_definition() {
    let check = "  lint cat out.txt\n}\ncheck b {\n  lint cat out.txt\n";
    let used = plan(&project(LINT, &format!("{check}  format own\n")));
    assert_eq!(used["steps"][0]["formatDefinition"], Value::Null);
    assert_eq!(used["steps"][1]["format"], json!("own"));
    let definition = &used["steps"][1]["formatDefinition"];
    assert_eq!(definition["errors"], json!(["E"]));
    let first = json!({"pattern": "{file}:{line}: {severity} {message}", "says": "finding"});
    assert_eq!(definition["lines"][0], first);
    assert_eq!(definition["lines"][2]["level"], json!("warning"));
    // The order of words says nothing, a word does.
    let check = "  lint cat out.txt\n  format own\n";
    let words =
        |words: &str| plan(&project(&LINT.replace("errors E", words), check))["steps"].clone();
    let [one, other, more] = ["errors E F", "errors F E", "errors E F G"].map(words);
    assert_eq!(one, other);
    assert_ne!(one, more);
    let explained = project(LINT, check).run(&["explain", "--changed", "x"]);
    explained
        .exits(0)
        .says("read as own by 4 patterns of the contract");
}

#[test]
fn formats_of_an_imported_file() {
    let project = Project::git_empty();
    let rules = format!("vplan 1\n{LINT}check inner {{\n  lint cat out.txt\n  format own\n}}\n");
    project.write("contracts/rules.vplan", rules);
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nimport \"rules.vplan\" as rules\nimport \"std:formats@1\"\ncheck a {\n  lint cat out.txt\n  format rules/own\n}\ncheck b {\n  lint cat out.txt\n  format rubocop\n}\n",
    );
    project.write("out.txt", "a:1: W x\n");
    project.commit("begin");
    let steps = plan(&project)["steps"].clone();
    let formats: Vec<_> = (steps.as_array().unwrap().iter())
        .map(|s| s["format"].as_str().unwrap())
        .collect();
    assert_eq!(formats, ["rules/own", "rules/own", "rubocop"]);
    assert_eq!(steps[0]["formatDefinition"], steps[1]["formatDefinition"]);
    let wrong = "vplan 1\nimport \"rules.vplan\" as rules\ncheck a {\n  lint x\n  format own\n}\n";
    project.write("contracts/verify.vplan", wrong);
    project
        .run(&["check"])
        .exits(3)
        .warns("unknown format `own`");
}

#[test]
fn another_definition_is_not_decided() {
    let check = "  lint cat out.txt\n  format own\n";
    let project = project(LINT, check);
    let text = |format: &str| format!("vplan 1\n{format}check a {{\n{check}}}\n");
    project.write("old.vplan", text(LINT));
    project.write(
        "new.vplan",
        text(&LINT.replace("warnings W\n", "warnings W R\n")),
    );
    let ran = project.run(&["diff", "old.vplan", "new.vplan"]);
    ran.says("format `own` is defined otherwise");
    let same = project.run(&["diff", "old.vplan", "old.vplan"]);
    same.exits(0).never_says("defined otherwise");
}

#[test]
fn what_a_format_reads_is_printed() {
    let project = project(LINT, "  lint cat out.txt\n  format own\n");
    let read = |name: &str, text: &str| {
        project
            .vplan(&["classify", "--read", name])
            .stdin(text)
            .run()
    };
    let own = read("own", "a:1: E x\nhello\n");
    own.exits(0);
    assert_eq!(own.json()["reading"]["findings"][0]["message"], json!("x"));
    assert_eq!(read("own", "hello\n").json().get("reading"), None);
    assert_eq!(
        read("tap", "1..1\nok 1 a\n").json()["reading"]["tests"]["passed"],
        json!(1)
    );
    read("owm", "").exits(2).warns("did you mean `own`?");
    project
        .run(&["classify", "--read", "own", "--exit", "1"])
        .exits(2);
    project.run(&["classify"]).exits(2);
}

#[test]
fn layout_keeps_patterns_in_single_quotes() {
    let project = Project::bare();
    project.write("a.vplan", "vplan 1\nformat own {\n  clean   \"all {} well\"\n  finding   error   \"it's {message}\"\n}\n");
    project.run(&["fmt", "a.vplan"]).exits(0);
    let want =
        "vplan 1\nformat own {\n  clean 'all {} well'\n  finding error \"it's {message}\"\n}\n";
    assert_eq!(project.read("a.vplan"), want);
}

/// Holes with a text that fits each, and a text behind it that is not in it.
fn filled() -> impl Strategy<Value = Vec<(LineHole, String, String)>> {
    let between = select(vec![": ", " | ", "=", " - ", ",,", "[", "{"]);
    let texts = proptest::collection::vec(
        ("[0-9]{1,6}", "[A-Z]{1,4}( [A-Z]{1,4}){0,2}", between),
        1..9,
    );
    (Just(LineHole::ALL.to_vec()).prop_shuffle(), texts).prop_map(|(holes, texts)| {
        let fill = |hole: LineHole, number: String, text: String| match hole {
            LineHole::Line | LineHole::Column | LineHole::Count => number,
            LineHole::Severity => text.replace(' ', ""),
            _ => text,
        };
        let parts = holes.into_iter().zip(texts);
        parts
            .map(|(hole, (number, text, between))| {
                (hole, fill(hole, number, text), between.to_owned())
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(config(512))]

    /// A line that is made of a pattern is read as what it was made of, whatever its blanks.
    #[test]
    fn what_is_written_by_a_pattern_is_read_by_it(parts in filled(), wide in "[ \t]{1,3}") {
        let (mut pattern, mut line) = ("> ".to_owned(), "> ".to_owned());
        for (hole, text, between) in &parts {
            pattern.push_str(&format!("{hole}{between}"));
            line.push_str(&format!("{text}{between}"));
        }
        pattern.push('.');
        line.push('.');
        let pattern = Pattern::parse(&pattern).unwrap();
        let line = line.replace(' ', &wide);
        let line = single_blanks(&line);
        let read = pattern.read(&line);
        prop_assert!(read.is_some(), "{:?} {line}", pattern.text());
        for (hole, text, _) in &parts {
            prop_assert_eq!(read.as_ref().unwrap().text(*hole), Some(text.as_str()));
        }
        let other = format!("{line}x");
        prop_assert_eq!(pattern.read(&other), None);
    }

    /// Any text is a pattern or none, any line is read or not; what is read is in the line.
    #[test]
    fn any_pattern_and_any_line(pattern in r"([a:{} ]|\{file\}|\{message\}|\{line\}|\PC){0,12}", line in r"([a:{} 1]|\PC){0,40}") {
        if let Ok(pattern) = Pattern::parse(&pattern) {
            let line = single_blanks(&line);
            if let Some(read) = pattern.read(&line) {
                for hole in pattern.holes() {
                    prop_assert!(read.text(hole).is_some_and(|text| line.contains(text)));
                }
            }
        }
    }
}
