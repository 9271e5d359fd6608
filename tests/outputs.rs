//! What do real tools print, and what is read from it? `outputs/FORMAT/CASE.txt` is what a tool
//! wrote to standard output, `CASE.err` (optional) to standard error, `CASE.json` beside them says
//! what it means.

use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use vplan::base::vocabulary::FormatName;
use vplan::check::Kind;
use vplan::check::output::reader::Stream;
use vplan::check::output::{self, Scan};
use vplan::check::results::{Reading, TestCounts};

/// A captured output and its meaning. What is absent is not compared.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    /// The words of the command, for `format auto`.
    #[serde(default)]
    argv: Vec<String>,
    errors: Option<u64>,
    /// How the tool exited. An exit code of 0 goes with no failed test and no problem, unless
    /// `contradicts`.
    exit: i32,
    #[serde(default)]
    contradicts: bool,
    /// All failed tests in order: names, or objects whose parts are compared, of a `message` the
    /// beginning.
    failed_tests: Option<Vec<Value>>,
    /// These are among the findings, in this order; only the parts given are compared, of a
    /// `message` the beginning.
    #[serde(default)]
    findings: Vec<Value>,
    kind: Kind,
    /// The name of the format in a contract.
    name: FormatName,
    /// Whether there are any.
    problems: Option<bool>,
    /// Whether it is this format at all; by default it is.
    recognised: Option<bool>,
    tests: Option<TestCounts>,
    warnings: Option<u64>,
    /// Where it comes from, for people.
    #[serde(default, rename = "why")]
    _why: String,
}

struct Captured {
    /// The folder: the id of the format.
    id: String,
    title: String,
    case: Case,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

fn captured() -> Vec<Captured> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs");
    let mut all = Vec::new();
    for folder in list(&root).into_iter().filter(|path| path.is_dir()) {
        let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(output::ALL.iter().any(|f| f.id == id), "no format `{id}`");
        let files = list(&folder);
        for file in &files {
            let at = |extension| file.with_extension(extension);
            match file.extension().and_then(|e| e.to_str()) {
                Some("txt" | "err") => {
                    assert!(at("json").exists(), "{} has no expectation", file.display())
                }
                Some("json") => {
                    assert!(
                        at("txt").exists() || at("err").exists(),
                        "{} has no output",
                        file.display()
                    );
                    let text = std::fs::read_to_string(file).unwrap();
                    let case = serde_json::from_str(&text)
                        .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
                    let stdout = std::fs::read(at("txt")).unwrap_or_default();
                    let stderr = std::fs::read(at("err")).unwrap_or_default();
                    let title = format!("{id}/{}", file.file_stem().unwrap().to_str().unwrap());
                    all.push(Captured {
                        id: id.clone(),
                        title,
                        case,
                        stdout,
                        stderr,
                    });
                }
                _ => panic!("{}: neither output nor expectation", file.display()),
            }
        }
    }
    all
}

fn list(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    paths
}

fn json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// Whether a finding or failed test has the parts that are wanted; a message may go on.
fn has(got: &Value, want: &Value) -> bool {
    let Some(parts) = want.as_object() else {
        return got["name"] == *want;
    };
    parts.iter().all(
        |(key, want)| match (key.as_str(), want.as_str(), got[key].as_str()) {
            ("message", Some(want), Some(got)) => got.starts_with(want),
            _ => got[key] == *want,
        },
    )
}

/// What is wrong with a reading.
fn disagreements(captured: &Captured, reading: Option<&Reading>) -> Vec<String> {
    let case = &captured.case;
    let Some(reading) = reading else {
        return if case.recognised == Some(false) {
            Vec::new()
        } else {
            vec!["is not recognised".to_owned()]
        };
    };
    let mut wrong = Vec::new();
    let mut compare = |what: &str, want: Option<Value>, got: Value| {
        if let Some(want) = want
            && want != got
        {
            wrong.push(format!("{what}: {got}, not {want}"));
        }
    };
    compare("recognised", case.recognised.map(Value::from), true.into());
    compare(
        "format",
        Some(captured.id.as_str().into()),
        reading.format.as_str().into(),
    );
    compare(
        "errors",
        case.errors.map(Value::from),
        reading.errors.into(),
    );
    compare(
        "warnings",
        case.warnings.map(Value::from),
        reading.warnings.into(),
    );
    compare("tests", case.tests.map(json), json(reading.tests));
    if case.problems != Some(!reading.problems.is_empty()) {
        compare(
            "problems",
            case.problems.map(Value::from),
            json(&reading.problems),
        );
    }
    if case.exit == 0 && !case.contradicts {
        compare(
            "failed although it exits with 0",
            Some(0.into()),
            reading.tests.map_or(0, |t| t.failed).into(),
        );
        compare(
            "problems although it exits with 0",
            Some(Value::Array(Vec::new())),
            json(&reading.problems),
        );
    }
    let failed = json(&reading.failed_tests);
    let failed = failed.as_array().unwrap();
    if let Some(want) = &case.failed_tests {
        if want.len() != failed.len() {
            let names: Vec<_> = failed.iter().map(|test| &test["name"]).collect();
            wrong.push(format!(
                "{} failed tests, not {}: {names:?}",
                failed.len(),
                want.len()
            ));
        }
        let pair = failed.iter().zip(want).find(|(got, want)| !has(got, want));
        wrong.extend(pair.map(|(got, want)| format!("failed test {got}, not {want}")));
    }
    let findings = json(&reading.findings);
    let mut rest = findings.as_array().unwrap().iter();
    for want in &case.findings {
        if !rest.any(|got| has(got, want)) {
            wrong.push(format!(
                "not found here or in this order: {want}\namong {findings:#}"
            ));
            break;
        }
    }
    wrong
}

#[test]
fn every_captured_output_is_read_as_what_it_means() {
    let mut wrong = Vec::new();
    for captured in captured() {
        let Captured {
            title,
            case,
            stdout,
            stderr,
            ..
        } = &captured;
        let named = output::read(&output::resolve_name(case.name, case.kind), stdout, stderr);
        wrong.extend(
            disagreements(&captured, named.as_ref())
                .into_iter()
                .map(|w| format!("{title}: {w}")),
        );
        if !case.argv.is_empty() {
            let argv: Vec<&str> = case.argv.iter().map(String::as_str).collect();
            let guessed = output::read_expected(&output::guessed(&argv, case.kind), stdout, stderr);
            if guessed != named {
                wrong.push(format!(
                    "{title}: by its words it reads {guessed:#?}, by its name {named:#?}"
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} disagreements:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Under `format auto` a command that is not known may write any of them; no other format may claim
/// it.
#[test]
fn no_format_takes_the_output_of_another() {
    let mut wrong = Vec::new();
    // An empty list of findings is the same in several.
    let telling =
        |c: &&Captured| c.case.recognised != Some(false) && c.stdout.trim_ascii() != b"[]";
    for captured in captured().iter().filter(telling) {
        let of_kind: Vec<_> = output::ALL
            .iter()
            .filter(|f| f.kinds.contains(&captured.case.kind))
            .collect();
        let got = output::read(&of_kind, &captured.stdout, &captured.stderr).map(|r| r.format);
        if got.as_deref() != Some(&captured.id) {
            wrong.push(format!("{} is taken for {got:?}", captured.title));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Torn, in small pieces, with both ends of lines, with colours: a reading in any case, and the
/// same one where the words are the same.
#[test]
fn outputs_may_come_in_pieces_torn_and_with_other_ends_of_lines() {
    for captured in captured() {
        let Captured {
            title,
            case,
            stdout,
            stderr,
            ..
        } = &captured;
        let formats = output::resolve_name(case.name, case.kind);
        let whole = output::read(&formats, stdout, stderr);
        let mut scan = Scan::new(&formats);
        stdout
            .chunks(7)
            .for_each(|piece| scan.push(Stream::Out, piece));
        stderr
            .chunks(5)
            .for_each(|piece| scan.push(Stream::Err, piece));
        assert_eq!(scan.finish(), whole, "{title} in pieces");
        let crlf = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
            text.replace('\n', "\r\n").into_bytes()
        };
        assert_eq!(
            output::read(&formats, &crlf(stdout), &crlf(stderr)),
            whole,
            "{title} with CR LF"
        );
        for part in 0..32 {
            let cut = |bytes: &[u8]| bytes[..bytes.len() * part / 32].to_vec();
            let all: Vec<_> = output::ALL.iter().collect();
            for torn in [
                output::read(&all, &cut(stdout), stderr),
                output::read(&all, stdout, &cut(stderr)),
            ] {
                assert!(
                    torn.is_none_or(|r| !r.format.is_empty()),
                    "{title} torn at {part}/32"
                );
            }
        }
    }
}

/// The data set `vectors/output.json`, for the formats that there are: what the output says, before
/// it is judged.
#[test]
fn the_vectors_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/output.json");
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut wrong = Vec::new();
    let mut read = 0;
    for case in &cases {
        let (input, expected) = (&case["input"], &case["expected"]);
        let kind: Kind = serde_json::from_value(input["kind"].clone()).unwrap();
        let formats =
            output::resolve_name(FormatName::deserialize(&input["format"]).unwrap(), kind);
        let Some(text) = input["text"]
            .as_str()
            .filter(|t| !formats.is_empty() && !t.is_empty())
        else {
            continue;
        };
        read += 1;
        let (stdout, stderr) = if input["stream"] == "stderr" {
            ("", text)
        } else {
            (text, "")
        };
        let reading = json(output::read(&formats, stdout.as_bytes(), stderr.as_bytes()));
        for key in ["errors", "warnings"] {
            if !expected[key].is_null() && expected[key] != reading[key] {
                wrong.push(format!(
                    "{}: {key} {} not {}",
                    case["id"], reading[key], expected[key]
                ));
            }
        }
        for (key, want) in expected["tests"].as_object().into_iter().flatten() {
            if reading["tests"][key] != *want {
                wrong.push(format!(
                    "{}: {key} {} not {want}",
                    case["id"], reading["tests"][key]
                ));
            }
        }
        let none = Vec::new();
        let findings = reading["findings"].as_array().unwrap_or(&none);
        for severity in ["error", "warning"] {
            let of = |list: &[Value]| {
                list.iter()
                    .filter(|f| f["severity"] == severity)
                    .cloned()
                    .collect::<Vec<_>>()
            };
            let mut rest = of(findings).into_iter();
            for want in of(expected["diagnostics"].as_array().unwrap_or(&none)) {
                let same_file = |got: &Value| {
                    let (got, want) = (
                        got["file"].as_str().unwrap_or_default(),
                        want["file"].as_str().unwrap_or_default(),
                    );
                    got.ends_with(want) || want.ends_with(got)
                };
                let parts = want
                    .as_object()
                    .unwrap()
                    .iter()
                    .filter(|(key, _)| *key != "file");
                let parts: Vec<_> = parts.collect();
                if !rest.any(|got| {
                    same_file(&got) && parts.iter().all(|(key, want)| got[key.as_str()] == **want)
                }) {
                    wrong.push(format!("{}: not found: {want} in {findings:?}", case["id"]));
                }
            }
        }
    }
    assert!(read > 10, "only {read} were read");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
