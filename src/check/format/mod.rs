//! Readers of output, one file per format: lines in, a [`Reading`] out.
//!
//! A reader is fed line by line while the step runs, so its memory is bounded and an output of any
//! length costs one pass. What it reads is untrusted: any lines give an answer. A reader answers
//! only for its own tool's words at the place where that tool prints them: a summary that a *test*
//! prints is not the summary.

pub mod cargo_nextest;
pub mod cargo_test;
pub mod count;
pub mod flake8;
pub mod json_text;
pub mod launched;
pub mod mypy;
pub mod panic;
pub mod place;
pub mod pylint;
pub mod pytest;
pub mod reader;
pub mod ruff;
pub mod rustc;
pub mod rustc_json;
pub mod seen;
pub mod unittest;

mod collected;
pub mod command;
pub mod distinct;
mod dotnet_test;
mod eslint;
mod eslint_json;
mod gcc;
mod go_build;
mod go_test;
mod go_test_json;
mod javac;
mod jest;
mod jest_json;
mod junit;
mod mocha;
mod msbuild;
mod node_test;
mod npm;
mod sarif;
mod shellcheck;
mod tally;
mod tap;
mod together;
mod trx;
mod tsc;
mod vitest;
pub mod xml;

use super::Kind;
use super::reading::Reading;
use crate::base::vocabulary::FormatName;
use reader::{Format, Reader, Stream};
use std::borrow::Cow;

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

/// The formats that a name means for a kind of check.
#[must_use]
pub fn named(name: FormatName, kind: Kind) -> Vec<&'static Format> {
    ALL.iter()
        .filter(|f| f.names.contains(&name) && f.kinds.contains(&kind))
        .collect()
}

/// The formats that may be met under `format auto`: those that the command writes, or, if none is
/// known to, all of the kind.
#[must_use]
pub fn guessed(argv: &[&str], kind: Kind) -> Vec<&'static Format> {
    let of_kind = || ALL.iter().filter(|f| f.kinds.contains(&kind));
    let written: Vec<_> = of_kind().filter(|f| (f.written_by)(argv)).collect();
    if written.is_empty() {
        of_kind().collect()
    } else {
        written
    }
}

/// Reads output while it comes, by several formats at once.
pub struct Scan {
    formats: Vec<&'static Format>,
    readers: Vec<Box<dyn Reader>>,
    out: Partial,
    err: Partial,
}

/// A line that has begun, as much of it as is looked at.
#[derive(Default)]
struct Partial(Vec<u8>);

/// How much of a line is looked at, in bytes; documents may be one line.
pub const LINE_MOST: usize = 64 << 20;

/// How large the memory is that a stream keeps between two lines, in bytes.
const LINE_KEPT: usize = 64 << 10;

impl Scan {
    /// By these formats; the order decides when several recognise the output.
    #[must_use]
    pub fn new(formats: &[&'static Format]) -> Self {
        Self {
            formats: formats.to_vec(),
            readers: formats.iter().map(|f| (f.reader)()).collect(),
            out: Partial::default(),
            err: Partial::default(),
        }
    }

    /// Takes what was read from a stream.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let Self {
            formats: _,
            readers,
            out,
            err,
        } = self;
        let partial = match stream {
            Stream::Out => out,
            Stream::Err => err,
        };
        let mut rest = bytes;
        while let Some((line, behind)) =
            memchr::memchr(b'\n', rest).and_then(|end| rest.split_at_checked(end))
        {
            rest = behind.get(1..).unwrap_or_default();
            if partial.0.is_empty() {
                tell(readers, stream, line.get(..LINE_MOST).unwrap_or(line));
            } else {
                partial.push(line);
                tell(readers, stream, &partial.0);
                partial.0.clear();
                partial.0.shrink_to(LINE_KEPT);
            }
        }
        partial.push(rest);
    }

    /// Both streams have ended. What the formats that recognise the output say together.
    #[must_use]
    pub fn finish(mut self) -> Option<Reading> {
        for (stream, partial) in [(Stream::Out, &self.out), (Stream::Err, &self.err)] {
            if !partial.0.is_empty() {
                tell(&mut self.readers, stream, &partial.0);
            }
        }
        let readings = self
            .readers
            .into_iter()
            .map(|reader| reader.finish().map(as_counted));
        together::together(
            self.formats
                .into_iter()
                .zip(readings)
                .filter_map(|(f, reading)| Some((f, reading?))),
        )
    }
}

/// Counts are the summary's. What else looks like a failed test was printed by one, unless
/// something is wrong.
fn as_counted(mut reading: Reading) -> Reading {
    if let Some(tests) = reading.tests.filter(|_| reading.problems.is_empty()) {
        reading
            .failed_tests
            .truncate(usize::try_from(tests.failed).unwrap_or(usize::MAX));
    }
    reading
}

impl Partial {
    fn push(&mut self, bytes: &[u8]) {
        let room = LINE_MOST.saturating_sub(self.0.len());
        self.0.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}

fn tell(readers: &mut [Box<dyn Reader>], stream: Stream, line: &[u8]) {
    let line = plain(line);
    for reader in readers {
        reader.line(stream, &line);
    }
}

/// A line as readers see it.
fn plain(line: &[u8]) -> Cow<'_, str> {
    let text = match memchr::memchr(0x1b, line) {
        None => String::from_utf8_lossy(line),
        Some(_) => crate::base::inert::without_escapes(&String::from_utf8_lossy(line)).into(),
    };
    match text {
        Cow::Borrowed(text) => text.strip_suffix('\r').unwrap_or(text).into(),
        Cow::Owned(mut text) => {
            if text.ends_with('\r') {
                text.pop();
            }
            text.into()
        }
    }
}

/// Reads a whole output; for tests and report files.
#[must_use]
pub fn read(formats: &[&'static Format], stdout: &[u8], stderr: &[u8]) -> Option<Reading> {
    let mut scan = Scan::new(formats);
    scan.push(Stream::Out, stdout);
    scan.push(Stream::Err, stderr);
    scan.finish()
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
                        .any(|kind| named(*name, *kind).iter().any(|f| f.id == format.id))
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
