//! Computes the signature of a failure, which identifies equal failures: by what failed, not by
//! time, duration, count or place on this machine.

use serde::Serialize;
use std::collections::BTreeSet;
use vplan_base::canon::Digest;
use vplan_check::outcome::{Cause, Status};
use vplan_check::results::Level;
use vplan_run::record::StepRecord;
use vplan_run::report::Report;

/// The parts of a signature.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Signature<'a> {
    failed: Vec<Failed<'a>>,
    verdict: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Failed<'a> {
    error_codes: BTreeSet<String>,
    failure_code: Option<&'a str>,
    id: &'a str,
    reason: Option<Cause>,
    tests: BTreeSet<String>,
}

/// Returns the digest of a run's failures. Steps that were only not reached do not count; `root` is
/// the repository's directory, in which tools name files by absolute paths.
pub fn signature(report: &Report, root: &str) -> Digest {
    let consequence = |r: &StepRecord| {
        r.status == Status::NotRun
            && matches!(
                r.reason,
                Some(Cause::FailFast | Cause::Needs | Cause::Cancelled)
            )
            || r.reason == Some(Cause::Away)
    };
    let steps = report.steps.iter();
    let failed = steps.filter(|r| !r.status.is_pass() && !consequence(r));
    let failed = failed.map(|record| {
        let errors = record.diagnostics.iter();
        let errors = errors.filter(|d| d.severity == Level::Error);
        let codes = errors.filter_map(|d| d.code.as_deref());
        let tests = record.failed_tests.iter();
        Failed {
            error_codes: codes.map(|code| steady(code, root)).collect(),
            failure_code: record.failure_code.as_deref(),
            id: &record.id,
            reason: record.reason,
            tests: tests.map(|t| steady(&t.name, root)).collect(),
        }
    });
    Digest::of_value(&Signature {
        failed: failed.collect(),
        verdict: report.verdict.name(),
    })
}

/// Removes from a name the parts that differ from run to run: times, and paths outside the
/// repository.
fn steady(name: &str, root: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while !rest.is_empty() {
        let end = rest.find(divides).unwrap_or(rest.len());
        let (word, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
        out.push_str(&steady_word(word, root));
        let mut letters = behind.chars();
        out.extend(letters.next());
        rest = letters.as_str();
    }
    // `12 ms`: a blank separates the number from its unit.
    let words: Vec<&str> = out.split(' ').collect();
    let mut kept: Vec<&str> = Vec::new();
    for word in words {
        let unit = word.trim_matches(|c: char| !c.is_alphanumeric());
        match kept.last().copied() {
            Some(last)
                if is_unit(unit)
                    && is_number(last.trim_start_matches(|c: char| !c.is_ascii_digit())) =>
            {
                kept.pop();
                kept.push("<time>");
            }
            _ => kept.push(word),
        }
    }
    kept.join(" ")
}

fn divides(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\'' | '"' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '='
        )
}

fn steady_word(word: &str, root: &str) -> String {
    let inside = word.strip_prefix(root);
    if let Some(inside) = inside.and_then(|inside| inside.strip_prefix('/')) {
        return inside.to_owned();
    }
    let rooted = word.starts_with('/') && word.chars().filter(|c| *c == '/').count() > 1;
    if rooted || word.starts_with("~/") || word.starts_with("file:///") {
        return "<path>".to_owned();
    }
    let digits = word.trim_end_matches(|c: char| c.is_alphabetic());
    let unit = word.strip_prefix(digits).unwrap_or_default();
    if is_unit(unit) && is_number(digits) {
        "<time>".to_owned()
    } else {
        word.to_owned()
    }
}

fn is_unit(text: &str) -> bool {
    matches!(
        text,
        "ns" | "us" | "µs" | "ms" | "s" | "sec" | "secs" | "second" | "seconds" | "min" | "m" | "h"
    )
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_what_differs() {
        for (name, want) in [
            ("case_1", "case_1"),
            ("math::adds 2 and 2", "math::adds 2 and 2"),
            ("reads a file (12 ms)", "reads a file <time>"),
            ("reads a file (1.5s)", "reads a file (<time>)"),
            ("test_read[/tmp/pytest-7/x.txt]", "test_read[<path>]"),
            ("/home/me/repo/tests/a.rs", "tests/a.rs"),
            ("GET /users", "GET /users"),
            ("a/b/c", "a/b/c"),
            ("in '/var/folders/xy/T' it fails", "in '<path>' it fails"),
            ("", ""),
        ] {
            assert_eq!(steady(name, "/home/me/repo"), want, "{name}");
        }
    }
}
