//! Scans output while it comes: lines for all readers, one reading of what they make of them.

use super::reader::{Format, Reader, Stream};
use super::together;
use crate::check::reading::Reading;
use std::borrow::Cow;

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
                feed(readers, stream, line.get(..LINE_MOST).unwrap_or(line));
            } else {
                partial.push(line);
                feed(readers, stream, &partial.0);
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
                feed(&mut self.readers, stream, &partial.0);
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

fn feed(readers: &mut [Box<dyn Reader>], stream: Stream, line: &[u8]) {
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
