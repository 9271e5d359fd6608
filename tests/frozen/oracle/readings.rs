//! Invariants of every reader for any output: the oracle that property tests and the fuzz target
//! share.

use vplan::check::output::reader::{Format, Stream};
use vplan::check::output::{ALL, Scan, read};
use vplan::check::results::{FAILED_KEPT, FINDINGS_KEPT, Level, PROBLEMS_KEPT, Reading, TEXT_KEPT};

/// Reading any two streams by any format ends, without a panic, and
///
/// - is the same in whatever pieces they come, with colours and with either end of lines;
/// - is bounded, and no list is longer than its count;
/// - by several formats is bounded, too, and there only where one of them recognises it.
///
/// `seed` decides where the pieces end and where the colours are.
///
/// # Errors
/// What does not hold.
pub fn output(stdout: &[u8], stderr: &[u8], seed: u64) -> Result<(), String> {
    let mut first = None;
    for format in ALL {
        let whole = read(&[format], stdout, stderr);
        if let Some(reading) = &whole {
            bounded(reading, format.id)?;
            if reading.format != format.id {
                return Err(format!("{} calls itself {}", format.id, reading.format));
            }
        }
        same(
            format,
            "in pieces",
            &whole,
            &in_pieces(format, stdout, stderr, seed),
        )?;
        if let (Some(out), Some(err)) = (plain(stdout), plain(stderr)) {
            let coloured = read(
                &[format],
                coloured(out, seed).as_bytes(),
                coloured(err, !seed).as_bytes(),
            );
            same(format, "in colours", &whole, &coloured)?;
            let crlf = |text: &str| text.replace('\n', "\r\n");
            same(
                format,
                "with CR LF",
                &whole,
                &read(&[format], crlf(out).as_bytes(), crlf(err).as_bytes()),
            )?;
        }
        first = first.or(whole);
    }
    let all: Vec<_> = ALL.iter().collect();
    match (read(&all, stdout, stderr), first) {
        (None, None) => Ok(()),
        (Some(all), Some(_)) => bounded(&all, "all formats"),
        (all, first) => Err(format!(
            "all formats together read {all:#?}\nthe first {first:#?}"
        )),
    }
}

/// The same for bytes: a seed, standard output, a zero, standard error.
///
/// # Errors
/// What does not hold.
pub fn bytes(input: &[u8]) -> Result<(), String> {
    let (seed, rest) = input.split_first().unwrap_or((&0, &[]));
    let mut streams = rest.splitn(2, |b| *b == 0);
    output(
        streams.next().unwrap_or_default(),
        streams.next().unwrap_or_default(),
        u64::from(*seed),
    )
}

fn same(
    format: &Format,
    how: &str,
    whole: &Option<Reading>,
    other: &Option<Reading>,
) -> Result<(), String> {
    if whole == other {
        return Ok(());
    }
    Err(format!("{} {how}: {other:#?}\nnot {whole:#?}", format.id))
}

fn in_pieces(format: &'static Format, stdout: &[u8], stderr: &[u8], seed: u64) -> Option<Reading> {
    let mut dice = Dice(seed);
    let mut scan = Scan::new(&[format]);
    for (stream, mut rest) in [(Stream::Out, stdout), (Stream::Err, stderr)] {
        while !rest.is_empty() {
            let size = dice.throw(24).min(rest.len());
            let (piece, behind) = rest.split_at_checked(size).unwrap_or((rest, &[]));
            scan.push(stream, piece);
            rest = behind;
        }
    }
    scan.finish()
}

/// The text, where its bytes are the words and nothing else.
fn plain(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains(['\u{1b}', '\r']))
}

/// The text with colours in it, as a terminal gets it.
fn coloured(text: &str, seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut out = String::new();
    let mut left = dice.throw(16);
    for c in text.chars() {
        left -= 1;
        if left == 0 {
            out.push_str(if dice.throw(2) == 1 {
                "\u{1b}[1;31m"
            } else {
                "\u{1b}[m\u{1b}[K"
            });
            left = dice.throw(16);
        }
        out.push(c);
    }
    out
}

/// Numbers from 1, all decided by the first.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, most: u64) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % most).unwrap_or(0) + 1
    }
}

fn bounded(reading: &Reading, id: &str) -> Result<(), String> {
    for (level, count) in [
        (Level::Error, reading.errors),
        (Level::Warning, reading.warnings),
    ] {
        let kept = reading
            .findings
            .iter()
            .filter(|f| f.severity == level)
            .count();
        if kept > FINDINGS_KEPT || u64::try_from(kept).is_ok_and(|kept| kept > count) {
            return Err(format!("{id}: {kept} findings of {count}"));
        }
    }
    let (failed, known) = (
        reading.failed_tests.len(),
        reading.tests.map_or(0, |tests| tests.failed),
    );
    if failed > FAILED_KEPT
        || (u64::try_from(failed).is_ok_and(|n| n > known) && reading.problems.is_empty())
    {
        return Err(format!(
            "{id}: {failed} failed tests of {known}, and nothing is wrong"
        ));
    }
    if reading.problems.len() > PROBLEMS_KEPT {
        return Err(format!("{id}: {} problems", reading.problems.len()));
    }
    let findings = reading
        .findings
        .iter()
        .flat_map(|f| [Some(&f.message), f.file.as_ref(), f.code.as_ref()]);
    let tests = reading
        .failed_tests
        .iter()
        .flat_map(|t| [Some(&t.name), t.message.as_ref(), t.file.as_ref()]);
    let texts = findings.chain(tests).flatten().chain(&reading.problems);
    match texts.map(String::len).max() {
        Some(longest) if longest > TEXT_KEPT + '…'.len_utf8() => {
            Err(format!("{id}: a text of {longest} bytes"))
        }
        _ => Ok(()),
    }
}
