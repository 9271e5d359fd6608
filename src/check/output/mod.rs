//! Readers of output, one file per format: lines in, a [`Reading`] out.
//!
//! A reader is fed line by line while the step runs, so its memory is bounded and an output of any
//! length costs one pass. What it reads is untrusted: any lines give an answer. A reader answers
//! only for its own tool's words at the place where that tool prints them: a summary that a *test*
//! prints is not the summary.

mod defined;
pub mod reader;
mod scan;
mod stray_failures;
mod together;

/// The parts that readers share.
pub mod kit {
    pub mod blocks;
    pub mod dedupe;
    pub mod document;
    pub mod json;
    pub mod location;
    pub mod message;
    pub mod number;
    pub mod outcome;
    pub mod panic;
    pub mod xml;
}

/// Readers of test runners' output.
mod test {
    pub mod cargo_nextest;
    pub mod cargo_test;
    pub mod dotnet_test;
    pub mod go_test;
    pub mod go_test_json;
    pub mod jest;
    pub mod jest_json;
    pub mod mocha;
    pub mod node_test;
    pub mod pytest;
    pub mod summary;
    pub mod tap;
    pub mod unittest;
    pub mod vitest;
}

/// Readers of compilers' and linters' output.
mod findings {
    pub mod eslint;
    pub mod eslint_json;
    pub mod flake8;
    pub mod gcc;
    pub mod go_build;
    pub mod javac;
    pub mod msbuild;
    pub mod mypy;
    pub mod pylint;
    pub mod ruff;
    pub mod rustc;
    pub mod rustc_json;
    pub mod shellcheck;
    pub mod table;
    pub mod tsc;
}

/// Readers of report formats that many tools write.
mod report {
    pub mod junit;
    pub mod sarif;
    pub mod trx;
}

use super::Kind;
use super::commands::parts;
use super::results::Reading;
use super::tool::Invocation;
pub use findings::eslint::IGNORES as ESLINT_IGNORES;
use findings::{
    eslint, eslint_json, flake8, gcc, go_build, javac, msbuild, mypy, pylint, ruff, rustc,
    rustc_json, shellcheck, tsc,
};
pub use reader::Expected;
use reader::{Format, Stream};
use report::{junit, sarif, trx};
pub use scan::{LINE_MOST, Scan};
use test::{
    cargo_nextest, cargo_test, dotnet_test, go_test, go_test_json, jest, jest_json, mocha,
    node_test, pytest, tap, unittest, vitest,
};
use vplan_base::vocabulary::FormatName;

/// All formats. Of several that recognise the same lines, the first counts: the more telling ones
/// precede those whose words occur elsewhere. How several make one reading is described in
/// `together`.
pub const ALL: &[Format] = &[
    // Documents, which may hold whatever a test has said.
    junit::FORMAT,
    junit::FINDINGS,
    trx::FORMAT,
    sarif::FORMAT,
    jest_json::FORMAT,
    eslint_json::FORMAT,
    cargo_nextest::FORMAT,
    cargo_test::FORMAT,
    rustc_json::FORMAT,
    rustc::FORMAT,
    pytest::FORMAT,
    unittest::FORMAT,
    mypy::FORMAT,
    pylint::FORMAT,
    flake8::FORMAT,
    ruff::FORMAT,
    jest::FORMAT,
    vitest::FORMAT,
    mocha::FORMAT,
    node_test::FORMAT,
    tap::FORMAT,
    tsc::FORMAT,
    eslint::FORMAT,
    go_test_json::FORMAT,
    go_test::FORMAT,
    dotnet_test::FORMAT,
    shellcheck::FORMAT,
    go_build::FORMAT,
    javac::FORMAT,
    msbuild::FORMAT,
    // Its words are those of many tools: after all others.
    gcc::FORMAT,
];

/// Whether a name means a format that vplan knows by itself.
pub fn is_built_in(name: &str) -> bool {
    FormatName::parse(name).is_some() || ALL.iter().any(|format| format.id == name)
}

/// The formats that a name means for a kind of check.
pub fn resolve_name(name: FormatName, kind: Kind) -> Vec<&'static Format> {
    ALL.iter()
        .filter(|f| f.names.contains(&name) && f.kinds.contains(&kind))
        .collect()
}

/// The formats that may be met under `format auto`: those that the command writes, or, if it may
/// start a tool that is not known, all of the kind.
pub fn guessed(argv: &[&str], kind: Kind) -> Expected {
    let parts = parts(argv);
    let of_kind = || ALL.iter().filter(|f| f.kinds.contains(&kind));
    let is_known = |part: &Invocation| of_kind().any(|f| f.is_written_by(part));
    let written: Vec<_> = of_kind()
        .filter(|f| parts.iter().any(|part| f.is_written_by(part)))
        .collect();
    let is_sure = !written.is_empty() && parts.iter().all(is_known);
    Expected {
        defined: None,
        ran: written.iter().map(|f| f.id).collect(),
        formats: if is_sure {
            written
        } else {
            of_kind().collect()
        },
        is_sure,
    }
}

/// The kind of check that all these commands are, by the tools that they start.
pub fn kind_of(parts: &[Invocation]) -> Option<Kind> {
    let kind = |part: &Invocation| {
        let format = ALL
            .iter()
            .find(|f| !f.is_document() && f.is_written_by(part))?;
        format.kinds.first().copied()
    };
    let (first, rest) = parts.split_first()?;
    kind(first).filter(|first| rest.iter().all(|part| kind(part) == Some(*first)))
}

/// Reads a whole output by formats of tools that are known; for tests and report files.
pub fn read(formats: &[&'static Format], stdout: &[u8], stderr: &[u8]) -> Option<Reading> {
    finish(Scan::new(formats), stdout, stderr)
}

/// Reads a whole output of a command.
pub fn read_expected(expected: &Expected, stdout: &[u8], stderr: &[u8]) -> Option<Reading> {
    finish(Scan::expecting(expected), stdout, stderr)
}

fn finish(mut scan: Scan, stdout: &[u8], stderr: &[u8]) -> Option<Reading> {
    scan.push(Stream::Out, stdout);
    scan.push(Stream::Err, stderr);
    scan.finish()
}

/// Returns what a format counts in an output: tests that passed, failed and were skipped, and problems.
#[cfg(test)]
fn counted(format: &'static Format, text: &str) -> Option<(u64, u64, u64, usize)> {
    let reading = read(&[format], text.as_bytes(), b"")?;
    let tests = reading.tests?;
    let problems = reading.problems.len();
    Some((tests.passed, tests.failed, tests.skipped, problems))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_has_a_format() {
        let names = ALL.iter().flat_map(|f| f.names).copied();
        let names: BTreeSet<FormatName> = [FormatName::Auto].into_iter().chain(names).collect();
        assert_eq!(names, FormatName::ALL.iter().copied().collect());
        for format in ALL {
            assert!(
                !format.names.is_empty() && !format.kinds.is_empty(),
                "{}",
                format.id
            );
            for name in format.names {
                assert!(
                    format
                        .kinds
                        .iter()
                        .any(|kind| resolve_name(*name, *kind).iter().any(|f| f.id == format.id))
                );
            }
        }
    }

    #[test]
    fn ids_are_unique_and_are_what_readings_say() {
        for (i, format) in ALL.iter().enumerate() {
            assert!(
                ALL.iter().skip(i + 1).all(|f| f.id != format.id),
                "{}",
                format.id
            );
            assert!(
                format
                    .id
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            );
        }
    }

    #[test]
    fn any_bytes_give_an_answer() {
        for bytes in [
            &b"\xff\xfe error[E0308]: \xff\n --> \xff:1:1\n"[..],
            b"\x1b[31m\x1b]",
            b"\r\r\n\0\n",
            b"test \xf0\x9f ... FAILED",
        ] {
            for format in ALL {
                if let Some(reading) = read(&[format], bytes, bytes) {
                    assert_eq!(reading.format, format.id);
                }
            }
        }
        let reading = read(
            &[&rustc::FORMAT],
            b"error[E0308]: \xff\n --> \xff:1:1\n",
            b"",
        );
        assert_eq!(reading.map(|r| r.errors), Some(1));
    }

    #[test]
    fn nothing_is_recognised_in_what_says_nothing() {
        for text in [
            "",
            "\n",
            "all good\n",
            "1 failed\n",
            "0 errors, 3 warnings\n",
            "error: no\n",
            "OK\n",
            "{}\n",
        ] {
            for format in ALL {
                for kind in format.kinds {
                    let got = read(&[format], text.as_bytes(), b"");
                    assert_eq!(got, None, "{} of {kind:?}: {text:?}", format.id);
                }
            }
        }
    }
}
