//! Scans output while it comes: lines for all readers, one reading of what they make of them.
//!
//! The lines of a document are read by documents only. Where a tool runs several others and puts
//! their names in front of their lines (`web:test: 1 failed`), each is read as a separate lane, by
//! line formats only: documents have no names in front, and each lane would hold a whole output.
//! An unknown command may start any tool: lines outside the output of recognised tools are searched
//! for failures.

use super::reader::{Claim, Expected, Format, PerStream, Reader, Stream, after};
use super::stray_failures::{StrayFailures, may_report, reports_failure};
use super::test::summary;
use super::together;
use crate::Kind;
use crate::agreement::short;
use crate::commands::{commands, is_command};
use crate::results::Reading;
use std::borrow::Cow;

/// Reads output while it comes, by several formats at once.
pub struct Scan {
    /// The formats that are not documents.
    of_lines: Vec<&'static Format>,
    plain: Readers,
    /// The reader of the format that the contract defines, which is the only one then.
    defined: Option<Box<dyn Reader>>,
    lanes: Vec<(String, Readers)>,
    /// The reader of summaries, for tests whose output is in no other format.
    summary: Option<Box<dyn Reader>>,
    /// The tools that the command starts, where they are not known.
    guess: Option<Echoed>,
    /// The first line in no lane that reports a failure.
    bare: Option<String>,
    /// Whether there were more than [`LANES`] lanes.
    is_full: bool,
    /// Whether a line was longer than [`LINE_MOST`].
    is_cut: bool,
    partial: PerStream<Partial>,
}

/// A reader of each format.
struct Readers {
    all: Vec<(&'static Format, Box<dyn Reader>)>,
    /// The lines that may be part of a document, those of standard error that came meanwhile, and
    /// whether they report a failure.
    pending: Vec<(Stream, String, bool)>,
    /// The length of those of standard error, in bytes.
    held: usize,
    /// The reader of other lines, where the command may start any tool.
    beside: Option<StrayFailures>,
}

/// The reading of an output by several readers.
struct ReadOutput {
    reading: Option<Reading>,
    /// A line that reports a failure and that none of them answers for.
    beside: Option<String>,
}

impl Readers {
    fn new(formats: &[&'static Format], guess: bool) -> Self {
        Self {
            all: formats.iter().map(|f| (*f, (f.reader)())).collect(),
            pending: Vec::new(),
            held: 0,
            beside: guess.then(|| StrayFailures::new(formats)),
        }
    }

    fn line(&mut self, stream: Stream, line: &str, fails: bool) {
        let mut claim = Claim::None;
        for (_, document) in self.all.iter_mut().filter(|(f, _)| f.is_document()) {
            document.line(stream, line);
            if stream == Stream::Out {
                claim = claim.max(document.claim());
            }
        }
        match (stream, claim) {
            (Stream::Out, Claim::Own) => self.release(false),
            (Stream::Out, Claim::Perhaps) => self.pending.push((stream, line.to_owned(), fails)),
            (Stream::Out, Claim::None) => {
                self.release(true);
                self.text(stream, line, fails);
            }
            // What was printed first is read first, as it is without a document's reader.
            (Stream::Err, _) if !self.pending.is_empty() && self.held < HELD => {
                self.held += line.len();
                self.pending.push((stream, line.to_owned(), fails));
            }
            (Stream::Err, _) => self.text(stream, line, fails),
        }
    }

    /// Hands on the lines that were held back: of standard output only those that turned out to be
    /// text, and no part of a document.
    fn release(&mut self, is_text: bool) {
        self.held = 0;
        for (stream, line, fails) in std::mem::take(&mut self.pending) {
            if is_text || stream == Stream::Err {
                self.text(stream, &line, fails);
            }
        }
    }

    fn text(&mut self, stream: Stream, line: &str, fails: bool) {
        for (_, reader) in self.all.iter_mut().filter(|(f, _)| !f.is_document()) {
            reader.line(stream, line);
        }
        if let Some(beside) = &mut self.beside {
            beside.line(line, fails);
        }
    }

    fn finish(mut self, added: &dyn Fn(&Format, &Format) -> bool) -> ReadOutput {
        let (documents, texts): (Vec<_>, Vec<_>) = std::mem::take(&mut self.all)
            .into_iter()
            .partition(|(f, _)| f.is_document());
        let read = |all: Vec<(&'static Format, Box<dyn Reader>)>| -> Vec<_> {
            let read =
                |(f, reader): (_, Box<dyn Reader>)| Some((f, as_counted(f, reader.finish()?)));
            all.into_iter().filter_map(read).collect()
        };
        let mut readings = read(documents);
        self.all = texts;
        self.release(readings.is_empty());
        readings.extend(read(std::mem::take(&mut self.all)));
        let ids: Vec<&str> = readings.iter().map(|(format, _)| format.id).collect();
        let beside = self.beside.as_ref().and_then(|beside| beside.first(&ids));
        ReadOutput {
            beside: beside.map(str::to_owned),
            reading: together::together(readings.into_iter(), added),
        }
    }
}

/// Limit of standard error that is held back, in bytes.
const HELD: usize = 1 << 20;

/// A line that has begun, up to [`LINE_MOST`] bytes of it.
#[derive(Default)]
struct Partial(Vec<u8>);

/// Limit of a line that is read, in bytes; documents may be one line.
pub const LINE_MOST: usize = 64 << 20;

/// Limit of memory that a stream keeps between two lines, in bytes.
const LINE_KEPT: usize = 64 << 10;

impl Scan {
    /// By these formats, of tools that are known; the order decides when several recognise the
    /// output.
    pub fn new(formats: &[&'static Format]) -> Self {
        Self::with_guess(formats, None)
    }

    /// By the formats that the output of a command may have.
    pub fn expecting(expected: &Expected) -> Self {
        let guess = (!expected.is_sure).then(|| Echoed {
            formats: expected.formats.clone(),
            ran: expected.ran.clone(),
            looked_at: 0,
        });
        let mut scan = Self::with_guess(expected, guess);
        let is_test = |format: &&Format| format.kinds.contains(&Kind::Test);
        if !expected.is_sure && expected.formats.iter().any(is_test) {
            scan.summary = Some(summary::reader());
        }
        let defined = expected.defined.as_ref();
        scan.defined = defined.map(|(name, definition)| super::defined::reader(name, definition));
        scan
    }

    fn with_guess(formats: &[&'static Format], guess: Option<Echoed>) -> Self {
        let of_lines = formats.iter().copied().filter(|f| !f.is_document());
        Self {
            of_lines: of_lines.collect(),
            plain: Readers::new(formats, guess.is_some()),
            defined: None,
            lanes: Vec::new(),
            summary: None,
            guess,
            bare: None,
            is_full: false,
            is_cut: false,
            partial: PerStream::default(),
        }
    }

    /// Takes what was read from a stream.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let mut partial = std::mem::take(self.partial.get_mut(stream));
        let mut rest = bytes;
        // Seen of all lines at once: most outputs report none.
        let may_fail = self.guess.is_some() && may_report(bytes);
        while let Some((line, behind)) =
            memchr::memchr(b'\n', rest).and_then(|end| rest.split_at_checked(end))
        {
            rest = behind.get(1..).unwrap_or_default();
            if partial.0.is_empty() {
                self.feed(stream, line.get(..LINE_MOST).unwrap_or(line), may_fail);
            } else {
                partial.push(line);
                self.feed(stream, &partial.0, true);
                partial.0.clear();
                partial.0.shrink_to(LINE_KEPT);
            }
        }
        partial.push(rest);
        *self.partial.get_mut(stream) = partial;
    }

    /// Takes a line. What a carriage return would hide on a screen is a line, too.
    fn feed(&mut self, stream: Stream, line: &[u8], may_fail: bool) {
        self.is_cut |= line.len() >= LINE_MOST;
        let line = plain(line);
        // Terminal sequences may be within a word.
        let may_fail = self.guess.is_some() && (may_fail || matches!(line, Cow::Owned(_)));
        if memchr::memchr(b'\r', line.as_bytes()).is_none() {
            return self.read_line(stream, &line, may_fail);
        }
        let mut parts = line.split('\r').filter(|part| !part.is_empty());
        self.read_line(stream, parts.next().unwrap_or_default(), may_fail);
        parts.for_each(|part| self.read_line(stream, part, may_fail));
    }

    fn read_line(&mut self, stream: Stream, line: &str, may_fail: bool) {
        if let Some(reader) = &mut self.defined {
            return reader.line(stream, line);
        }
        let fails = may_fail && reports_failure(line);
        self.plain.line(stream, line, fails);
        if let Some(echoed) = &mut self.guess {
            echoed.line(line);
        }
        if let Some(summary) = &mut self.summary {
            summary.line(stream, line);
        }
        let lane = lane(line);
        let lane_fails = may_fail && lane.is_some_and(|(_, line)| reports_failure(line));
        if fails && !lane_fails && self.bare.is_none() {
            self.bare = Some(short(line));
        }
        let Some((name, line)) = lane else {
            return;
        };
        let known = self.lanes.iter().position(|(lane, _)| lane == name);
        if known.is_none() && self.lanes.len() < LANES {
            let readers = Readers::new(&self.of_lines, self.guess.is_some());
            self.lanes.push((name.to_owned(), readers));
        }
        let at = known.unwrap_or(self.lanes.len().saturating_sub(1));
        match self.lanes.get_mut(at).filter(|(lane, _)| lane == name) {
            Some((_, readers)) => readers.line(stream, line, lane_fails),
            None => self.is_full = true,
        }
    }

    /// Both streams have ended. What the formats that recognise the output say together.
    pub fn finish(mut self) -> Option<Reading> {
        for stream in [Stream::Out, Stream::Err] {
            let partial = std::mem::take(self.partial.get_mut(stream));
            if !partial.0.is_empty() {
                self.feed(stream, &partial.0, true);
            }
        }
        if let Some(reader) = self.defined {
            let mut reading = reader.finish()?;
            if self.is_cut {
                reading.leave_out(too_long());
            }
            return Some(reading);
        }
        let guess = self.guess.take();
        let ran = guess.as_ref().map(|echoed| &echoed.ran);
        let added = |a: &Format, b: &Format| {
            ran.is_none_or(|ran| ran.contains(&a.id) && ran.contains(&b.id))
        };
        let plain = self.plain.finish(&added);
        let lanes = self.lanes.into_iter();
        let lanes: Vec<ReadOutput> = lanes.map(|(_, readers)| readers.finish(&added)).collect();
        let mut beside = plain.beside.filter(|_| plain.reading.is_some());
        let reads_lanes = lanes.iter().any(|lane| lane.reading.is_some());
        if plain.reading.is_none() && reads_lanes {
            let of_lanes = lanes.iter().find_map(|lane| lane.beside.clone());
            beside = beside.or(self.bare).or(of_lanes);
        }
        let lanes = lanes.into_iter().filter_map(|lane| lane.reading);
        let Some(mut reading) = together::with_lanes(plain.reading, lanes) else {
            return self.summary?.finish();
        };
        if let Some(line) = beside.filter(|_| !together::fails(&reading)) {
            reading.leave_out(format!("`{line}`, which is of no tool that is known"));
        }
        if self.is_full && reads_lanes {
            let part = format!("what has more than {LANES} names in front of its lines");
            reading.leave_out(part);
        }
        if self.is_cut {
            reading.leave_out(too_long());
        }
        Some(reading)
    }
}

fn too_long() -> String {
    format!("a line is longer than {} MiB", LINE_MOST >> 20)
}

/// The tools that run, as the output shows: `make` and package managers print the commands.
struct Echoed {
    formats: Vec<&'static Format>,
    /// The ids of the formats that they write.
    ran: Vec<&'static str>,
    looked_at: usize,
}

/// Maximum number of lines that are examined as commands.
const ECHOED: usize = 200;

impl Echoed {
    fn line(&mut self, line: &str) {
        let command = line.trim_start_matches(['>', '$', '+']).trim_start();
        let program = command.split(' ').next().unwrap_or_default();
        if self.looked_at >= ECHOED || command.len() > LANE_NAME * 5 || !is_command(program) {
            return;
        }
        self.looked_at += 1;
        let commands = commands(command);
        let written = |f: &&&Format| commands.iter().any(|command| f.is_written_by(command));
        for format in self.formats.iter().filter(written) {
            if !self.ran.contains(&format.id) {
                self.ran.push(format.id);
            }
        }
    }
}

/// Maximum number of separate lanes.
const LANES: usize = 64;

/// The longest name of a lane, in bytes.
const LANE_NAME: usize = 100;

/// The name in front of a line, and the line: `web:test: LINE` (turbo), `packages/a test: LINE`
/// (pnpm), `a: LINE` (lerna), `web-1  | LINE` (docker compose), `[0] LINE` (concurrently), the
/// argument and a tab (GNU parallel).
fn lane(line: &str) -> Option<(&str, &str)> {
    let bytes = line.as_bytes();
    let first = bytes.first()?;
    if *first == b'[' {
        let (name, rest) = line.get(1..)?.split_once("] ")?;
        return (name.len() <= LANE_NAME && !name.contains([' ', '['])).then_some((name, rest));
    }
    let is_other = |b: &u8| !matches!(b, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'@' | b'/' | b'.' | b'_' | b':' | b'#' | b'-');
    if is_other(first) {
        return None;
    }
    let start = bytes.get(..LANE_NAME).unwrap_or(bytes);
    let end = start.iter().position(is_other)?;
    // The name of a package may be followed by that of its script.
    let end = match bytes.get(end..)? {
        [b' ', script @ ..] if script.first().is_some_and(u8::is_ascii_lowercase) => {
            end + 1 + script.iter().position(is_other)?
        }
        _ => end,
    };
    let (name, rest) = line.split_at_checked(end)?;
    match name.strip_suffix(':') {
        Some(name) => Some((name, rest.strip_prefix(' ')?)),
        None => {
            let rest = rest.trim_start_matches(' ');
            Some((name, after(rest, &["| ", "\t"])?))
        }
    }
}

/// Counts are the summary's. What else looks like a failed test was printed by one, unless
/// something is wrong.
fn as_counted(format: &Format, mut reading: Reading) -> Reading {
    reading.format = format.id.to_owned();
    if let Some(tests) = reading.tests.filter(|_| reading.problems.is_empty()) {
        let failed = usize::try_from(tests.failed).unwrap_or(usize::MAX);
        match reading.failed_tests.first() {
            Some(test) if failed == 0 => {
                let problem = format!("it counts no failed test and names one: {}", test.name);
                reading.object(problem);
            }
            _ => reading.failed_tests.truncate(failed),
        }
    }
    reading
}

impl Partial {
    fn push(&mut self, bytes: &[u8]) {
        let room = LINE_MOST.saturating_sub(self.0.len());
        self.0.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}

/// A line as readers see it.
fn plain(line: &[u8]) -> Cow<'_, str> {
    let text = match memchr::memchr(0x1b, line) {
        None => String::from_utf8_lossy(line),
        Some(_) => vplan_base::inert::without_escapes(&String::from_utf8_lossy(line)).into(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{ALL, read};

    /// What may be a document holds back what follows it, of both streams.
    #[test]
    fn the_order_of_streams_does_not_depend_on_documents() {
        let out = format!("[{{\n{}\nFAIL: test_s (u.T)\n", "=".repeat(70));
        let err = format!("{}\nRan 9 tests in 0.001s\n\nOK\n", "-".repeat(70));
        let all: Vec<&Format> = ALL.iter().collect();
        for (out, err, is_read) in [
            (&*out, &*err, false),
            ("[{\n", &*err, true),
            ("[{\n}]\n", &*err, true),
            ("", &*err, true),
        ] {
            let text: Vec<&Format> = (all.iter().copied())
                .filter(|format| format.id == "unittest")
                .collect();
            for formats in [&all, &text] {
                let reading = read(formats, out.as_bytes(), err.as_bytes());
                assert_eq!(reading.is_some(), is_read, "{out}{err}{reading:#?}");
            }
        }
    }

    #[test]
    fn names_of_lanes() {
        for (line, want) in [
            ("web:test: 1 failed", Some(("web:test", "1 failed"))),
            ("@r/web:test:   a", Some(("@r/web:test", "  a"))),
            ("packages/a test: ok", Some(("packages/a test", "ok"))),
            ("web-1  | FAIL", Some(("web-1", "FAIL"))),
            ("[0] not ok 1", Some(("0", "not ok 1"))),
            ("a.test.js\tFAIL a", Some(("a.test.js", "FAIL a"))),
            ("pkg: FAIL", Some(("pkg", "FAIL"))),
            ("  web:test: a", None),
            ("test a ... ok", None),
            ("1 failed, 2 passed", None),
            ("", None),
            ("[", None),
        ] {
            assert_eq!(lane(line), want, "{line}");
        }
    }
}
