//! How is output read? One file per format: lines in, a [`Reading`] out.
//!
//! A reader is fed line by line while the step runs, so its memory is bounded and an output of any length costs one pass. What it
//! reads is untrusted: any lines give an answer. A reader answers only for its own tool's words at the place where that tool
//! prints them: a summary that a *test* prints is not the summary.

pub mod place;

mod collected;
mod eslint;
mod eslint_json;
mod jest;
mod jest_json;
mod junit;
mod mocha;
mod node_test;
mod npm;
mod sarif;
mod tally;
mod tap;
mod trx;
mod tsc;
mod vitest;
mod xml;

use super::Kind;
use super::reading::Reading;

/// A format of output.
pub struct Format {
    /// Its id, the name of its file, in kebab case.
    pub id: &'static str,
    /// The names by which a contract may ask for it (`format NAME`, `report "NAME"`). Formats may share one: the output shows
    /// which it is.
    pub names: &'static [&'static str],
    /// The kinds of checks whose output may have it.
    pub kinds: &'static [Kind],
    /// Whether a command writes it, as far as its words show (`format auto`): the words without environment and directory.
    pub written_by: fn(&[&str]) -> bool,
    /// A fresh reader.
    pub reader: fn() -> Box<dyn Reader>,
}

/// One of a step's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output; also the content of a report file.
    Out,
    /// Standard error.
    Err,
}

/// Reads one output. `Send`, because a step may be read on another thread.
pub trait Reader: Send {
    /// Takes the next line of a stream: without its end (`\n`, `\r\n`), without terminal sequences (colours), invalid UTF-8 replaced.
    /// Lines of the two streams come in the order in which they were read, which is an approximation.
    fn line(&mut self, stream: Stream, line: &str);

    /// The output is over. `None` when it is not this format: nothing in it that only this format has. A document that can be
    /// told but not be read (torn XML) is a reading with a problem.
    fn finish(self: Box<Self>) -> Option<Reading>;
}

/// All formats. Of several that recognise an output of which nothing else is known, the first counts: the more telling ones stand
/// before those whose words occur elsewhere.
pub const ALL: &[Format] = &[
    // Documents, and what Node's tools write.
    junit::FORMAT,
    junit::FINDINGS,
    trx::FORMAT,
    sarif::FORMAT,
    jest_json::FORMAT,
    eslint_json::FORMAT,
    jest::FORMAT,
    vitest::FORMAT,
    mocha::FORMAT,
    node_test::FORMAT,
    tap::FORMAT,
    tsc::FORMAT,
    eslint::FORMAT,
];

/// The formats that a name means for a kind of check.
#[must_use]
pub fn named(name: &str, kind: Kind) -> Vec<&'static Format> {
    ALL.iter().filter(|f| f.names.contains(&name) && f.kinds.contains(&kind)).collect()
}

/// The formats that may be met under `format auto`: those that the command writes, or, if none is known to, all of the kind.
#[must_use]
pub fn guessed(argv: &[&str], kind: Kind) -> Vec<&'static Format> {
    let of_kind = || ALL.iter().filter(|f| f.kinds.contains(&kind));
    let written: Vec<_> = of_kind().filter(|f| (f.written_by)(argv)).collect();
    if written.is_empty() { of_kind().collect() } else { written }
}

/// Reads output while it comes, by several formats at once.
pub struct Scan {
    readers: Vec<Box<dyn Reader>>,
    out: Partial,
    err: Partial,
}

/// A line that has begun.
#[derive(Default)]
struct Partial {
    bytes: Vec<u8>,
    /// It is longer than is looked at.
    cut: bool,
}

/// How much of a line is looked at, in bytes; documents may be one line.
pub const LINE_MOST: usize = 64 << 20;

impl Scan {
    /// By these formats; the order decides when several recognise the output.
    #[must_use]
    pub fn new(formats: &[&'static Format]) -> Self {
        Self {
            readers: formats.iter().map(|f| (f.reader)()).collect(),
            out: Partial::default(),
            err: Partial::default(),
        }
    }

    /// Takes what was read from a stream.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let Self { readers, out, err } = self;
        let partial = match stream {
            Stream::Out => out,
            Stream::Err => err,
        };
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(end) if partial.bytes.is_empty() => tell(readers, stream, end),
                Some(end) => {
                    partial.push(end);
                    tell(readers, stream, &std::mem::take(&mut partial.bytes));
                    partial.cut = false;
                }
                None => partial.push(piece),
            }
        }
    }

    /// Both streams have ended. The first format that recognises the output, by the order given.
    #[must_use]
    pub fn finish(mut self) -> Option<Reading> {
        for (stream, partial) in
            [(Stream::Out, std::mem::take(&mut self.out)), (Stream::Err, std::mem::take(&mut self.err))]
        {
            if !partial.bytes.is_empty() {
                tell(&mut self.readers, stream, &partial.bytes);
            }
        }
        self.readers.into_iter().find_map(Reader::finish)
    }
}

impl Partial {
    fn push(&mut self, bytes: &[u8]) {
        let room = LINE_MOST.saturating_sub(self.bytes.len());
        self.cut |= bytes.len() > room;
        self.bytes.extend(bytes.iter().take(room));
    }
}

fn tell(readers: &mut [Box<dyn Reader>], stream: Stream, line: &[u8]) {
    let line = plain(line);
    for reader in readers {
        reader.line(stream, &line);
    }
}

/// A line as readers see it.
fn plain(line: &[u8]) -> std::borrow::Cow<'_, str> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.contains(&0x1b) {
        return crate::base::inert::without_escapes(&String::from_utf8_lossy(line)).into();
    }
    String::from_utf8_lossy(line)
}

/// Reads a whole output; for tests and report files.
#[must_use]
pub fn read(formats: &[&'static Format], stdout: &[u8], stderr: &[u8]) -> Option<Reading> {
    let mut scan = Scan::new(formats);
    scan.push(Stream::Out, stdout);
    scan.push(Stream::Err, stderr);
    scan.finish()
}
