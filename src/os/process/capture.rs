//! Captures a step's output: all of it in a log, its beginning and end in memory, both limited.

use super::mask::{Masker, Secrets};
use crate::atomic_file;
use rustix::fd::BorrowedFd;
use rustix::fs::Mode;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use vplan_base::word::Word;
use vplan_check::evidence::Captured;
use vplan_check::output::Scan;
use vplan_check::output::reader::Stream;
use vplan_check::results::Reading;

/// Limit for the kept beginning of a stream, and for its end, in bytes of memory each.
pub(crate) const CAPTURE_LIMIT: usize = 64 * 1024;

/// Limit of the last output in a live view, in bytes.
const LIVE: usize = 512;

/// The place of a step's log.
#[derive(Clone, Debug)]
pub struct LogPlace<'a> {
    pub folder: BorrowedFd<'a>,
    /// The file's name in it.
    pub name: String,
}

/// The last bytes that a running step wrote, for a live view, and whether a text was among all that
/// it wrote.
#[derive(Debug, Default)]
pub struct Live {
    tail: Mutex<Vec<u8>>,
    wanted: Option<TextSearch>,
}

/// A text that each stream is searched for.
#[derive(Debug)]
struct TextSearch {
    text: Vec<u8>,
    /// The last bytes of each stream, in which the text may have begun.
    ends: Mutex<[Vec<u8>; 2]>,
    is_seen: AtomicBool,
}

impl TextSearch {
    fn push(&self, stream: Stream, bytes: &[u8]) {
        let Ok(mut ends) = self.ends.lock() else {
            return;
        };
        if self.is_seen.load(Ordering::Relaxed) {
            return;
        }
        let [out, err] = &mut *ends;
        let end = match stream {
            Stream::Out => out,
            Stream::Err => err,
        };
        end.extend_from_slice(bytes);
        let is_text = |window: &[u8]| window == self.text;
        if end.windows(self.text.len().max(1)).any(is_text) {
            self.is_seen.store(true, Ordering::Relaxed);
        }
        let extra = (end.len() + 1).saturating_sub(self.text.len().max(1));
        end.drain(..extra.min(end.len()));
    }
}

impl Live {
    /// Looks for a text.
    pub fn looking_for(text: &str) -> Self {
        let wanted = TextSearch {
            text: text.as_bytes().to_vec(),
            ends: Mutex::default(),
            is_seen: AtomicBool::new(text.is_empty()),
        };
        Self {
            wanted: Some(wanted),
            ..Self::default()
        }
    }

    /// Whether the text was written.
    pub fn has_seen(&self) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_some_and(|wanted| wanted.is_seen.load(Ordering::Relaxed))
    }

    /// Returns the last bytes, at most 512.
    pub fn tail(&self) -> Vec<u8> {
        self.tail.lock().map(|t| t.clone()).unwrap_or_default()
    }

    fn push(&self, stream: Stream, bytes: &[u8]) {
        if let Some(wanted) = &self.wanted {
            wanted.push(stream, bytes);
        }
        let Ok(mut tail) = self.tail.lock() else {
            return;
        };
        if bytes.len() >= LIVE {
            tail.clear();
        }
        tail.extend(last(bytes, LIVE));
        let extra = tail.len().saturating_sub(LIVE);
        tail.drain(..extra);
    }
}

/// The sink of both streams.
pub(super) struct Capture<'a> {
    out: RetainedOutput,
    err: RetainedOutput,
    log: Log<'a>,
    live: Option<Arc<Live>>,
    /// `None` if the output is not parsed.
    scan: Option<Scan>,
}

/// The captured output of a step.
pub(super) struct Output {
    pub stdout: Captured,
    pub stderr: Captured,
    /// The parsed output, if it is parsed and in a known format.
    pub reading: Option<Reading>,
    /// Whether it has a log: a silent step has none.
    pub logged: bool,
    /// The reason why the log is not complete, if it is not.
    pub error: Option<io::Error>,
}

impl<'a> Capture<'a> {
    /// Makes a sink that stores at most `limit` bytes in the log, and `keep` bytes of each end of a
    /// stream. `scan` reads everything, including the part that is cut off.
    pub(super) fn new(
        place: Option<LogPlace<'a>>,
        (limit, keep): (u64, usize),
        secrets: &Secrets,
        live: Option<Arc<Live>>,
        scan: Option<Scan>,
    ) -> Self {
        let log = Log {
            place,
            file: None,
            index: None,
            run: None,
            left: limit,
            limit,
            marked: false,
            error: None,
        };
        Self {
            out: RetainedOutput::new(secrets, keep),
            err: RetainedOutput::new(secrets, keep),
            log,
            live,
            scan,
        }
    }

    /// Returns the number of bytes that were read from standard output.
    pub(super) fn written(&self) -> u64 {
        self.out.ends.total
    }

    /// Adds bytes that were read from a stream.
    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let kept = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        };
        let bytes = match &mut kept.masker {
            None => bytes,
            Some((masker, clean)) => {
                clean.clear();
                masker.push(bytes, clean);
                clean
            }
        };
        kept.ends.push(bytes);
        self.log.push(stream, bytes);
        if let Some(live) = &self.live {
            live.push(stream, bytes);
        }
        if let Some(scan) = &mut self.scan {
            scan.push(stream, bytes);
        }
    }

    /// Ends both streams.
    pub(super) fn finish(mut self) -> Output {
        for (stream, kept) in [(Stream::Out, &mut self.out), (Stream::Err, &mut self.err)] {
            if let Some((masker, clean)) = &mut kept.masker {
                clean.clear();
                masker.finish(clean);
                kept.ends.push(clean);
                self.log.push(stream, clean);
                if let Some(scan) = &mut self.scan {
                    scan.push(stream, clean);
                }
            }
        }
        self.log.finish();
        Output {
            stdout: self.out.ends.finish(),
            stderr: self.err.ends.finish(),
            reading: self.scan.and_then(Scan::finish),
            logged: self.log.file.is_some(),
            error: self.log.error,
        }
    }
}

struct RetainedOutput {
    ends: Ends,
    /// `None` without secrets; with a buffer for the masked bytes.
    masker: Option<(Masker, Vec<u8>)>,
}

impl RetainedOutput {
    fn new(secrets: &Secrets, keep: usize) -> Self {
        let masker = (!secrets.is_empty()).then(|| (Masker::new(secrets), Vec::new()));
        Self {
            ends: Ends::new(keep),
            masker,
        }
    }
}

/// The beginning and the end of a stream.
struct Ends {
    /// How many bytes of each end are kept.
    keep: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
}

impl Ends {
    fn new(keep: usize) -> Self {
        Self {
            keep,
            head: Vec::new(),
            tail: Vec::new(),
            total: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.keep.saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(first);
        if rest.len() >= self.keep {
            self.tail.clear();
        } else if self.tail.len() + rest.len() > 2 * self.keep {
            // Rare: the tail is moved once for each `keep` bytes.
            let extra = self.tail.len().saturating_sub(self.keep);
            self.tail.drain(..extra);
        }
        self.tail.extend_from_slice(last(rest, self.keep));
    }

    fn finish(mut self) -> Captured {
        let extra = self.tail.len().saturating_sub(self.keep);
        self.tail.drain(..extra);
        Captured {
            head: Word::new(self.head),
            tail: Word::new(self.tail),
            total: self.total,
        }
    }
}

fn last(bytes: &[u8], count: usize) -> &[u8] {
    bytes
        .get(bytes.len().saturating_sub(count)..)
        .unwrap_or(bytes)
}

/// The bytes of both streams in the order in which they were read; next to it, when there are two,
/// an index that assigns them to streams: lines of `o`, `e` or `v` (vplan's own mark) and a number
/// of bytes.
struct Log<'a> {
    place: Option<LogPlace<'a>>,
    file: Option<File>,
    index: Option<BufWriter<File>>,
    run: Option<(char, u64)>,
    left: u64,
    limit: u64,
    marked: bool,
    error: Option<io::Error>,
}

impl Log<'_> {
    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        if self.place.is_none() || bytes.is_empty() || self.error.is_some() || self.marked {
            return;
        }
        let owner = if stream == Stream::Out { 'o' } else { 'e' };
        let room = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let (fits, beyond) = bytes.split_at(room);
        self.left = self.left.saturating_sub(room as u64);
        let mut written = if fits.is_empty() {
            Ok(())
        } else {
            self.write(owner, fits)
        };
        if !beyond.is_empty() && written.is_ok() {
            self.marked = true;
            written = self.write(
                'v',
                format!("\n[vplan: cut here, after {} bytes]\n", self.limit).as_bytes(),
            );
        }
        self.error = written.err();
    }

    fn write(&mut self, owner: char, bytes: &[u8]) -> io::Result<()> {
        let Some(place) = &self.place else {
            return Ok(());
        };
        match &mut self.run {
            Some((who, count)) if *who == owner => *count += bytes.len() as u64,
            run => {
                if let Some((who, count)) = run.replace((owner, bytes.len() as u64)) {
                    if self.index.is_none() {
                        self.index = Some(BufWriter::new(create(place, ".index")?));
                    }
                    if let Some(index) = &mut self.index {
                        writeln!(index, "{who} {count}")?;
                    }
                }
            }
        }
        if self.file.is_none() {
            self.file = Some(create(place, "")?);
        }
        self.file
            .as_mut()
            .map_or(Ok(()), |file| file.write_all(bytes))
    }

    fn finish(&mut self) {
        let owner = self.run.map(|(who, _)| who);
        // A log of standard error alone needs the index too: without one, readers take it for
        // standard output.
        if owner == Some('e') && self.index.is_none() && self.error.is_none() {
            self.error = self.place.as_ref().and_then(|p| {
                create(p, ".index")
                    .map(|f| self.index = Some(BufWriter::new(f)))
                    .err()
            });
        }
        if let (Some(index), Some((who, count))) = (&mut self.index, self.run) {
            let ended = writeln!(index, "{who} {count}").and_then(|()| index.flush());
            self.error = self.error.take().or(ended.err());
        }
    }
}

/// Creates a file that does not exist yet; a symlink in its place is refused.
fn create(place: &LogPlace<'_>, ending: &str) -> io::Result<File> {
    let name = format!("{}{ending}", place.name);
    Ok(atomic_file::create(
        place.folder,
        &*name,
        Mode::from_raw_mode(0o644),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::fd::AsFd as _;

    fn run(
        pieces: &[(Stream, Vec<u8>)],
        limit: u64,
        secrets: &Secrets,
    ) -> (Output, Vec<u8>, String) {
        let dir = tempfile::tempdir().unwrap();
        let folder = File::open(dir.path()).unwrap();
        let place = LogPlace {
            folder: folder.as_fd(),
            name: "a.1.log".to_owned(),
        };
        let mut capture = Capture::new(Some(place), (limit, CAPTURE_LIMIT), secrets, None, None);
        pieces
            .iter()
            .for_each(|(stream, bytes)| capture.push(*stream, bytes));
        let output = capture.finish();
        let log = std::fs::read(dir.path().join("a.1.log")).unwrap_or_default();
        let index = std::fs::read_to_string(dir.path().join("a.1.log.index")).unwrap_or_default();
        (output, log, index)
    }

    #[test]
    fn two_streams() {
        let pieces = [
            (Stream::Out, b"one\n".to_vec()),
            (Stream::Out, b"two\n".to_vec()),
            (Stream::Err, b"oops\n".to_vec()),
            (Stream::Out, b"three\n".to_vec()),
        ];
        let (output, log, index) = run(&pieces, 1_000, &Secrets::default());
        assert_eq!(log, b"one\ntwo\noops\nthree\n");
        assert_eq!(index, "o 8\ne 5\no 6\n");
        assert_eq!(output.stdout.text(), b"one\ntwo\nthree\n");
        assert_eq!(output.stderr.text(), b"oops\n");
        assert!(output.logged && output.error.is_none());

        let (_, _, index) = run(&pieces[..2], 1_000, &Secrets::default());
        assert_eq!(index, "", "one stream needs no index");
        let (_, _, index) = run(&pieces[2..3], 1_000, &Secrets::default());
        assert_eq!(index, "e 5\n", "unless it is the other one");
        assert!(!run(&[], 1_000, &Secrets::default()).0.logged);
    }

    #[test]
    fn cut_with_a_mark() {
        let pieces = [
            (Stream::Out, b"12345".to_vec()),
            (Stream::Err, b"6789".to_vec()),
            (Stream::Out, b"x".to_vec()),
        ];
        let (output, log, index) = run(&pieces, 7, &Secrets::default());
        assert_eq!(
            String::from_utf8(log).unwrap(),
            "1234567\n[vplan: cut here, after 7 bytes]\n"
        );
        assert_eq!(index, "o 5\ne 2\nv 34\n");
        assert_eq!(
            (output.stdout.total, output.stderr.total),
            (6, 4),
            "counting goes on"
        );
    }

    #[test]
    fn secrets_across_pieces() {
        let secrets = Secrets::new([b"open-sesame".to_vec()]);
        let pieces: Vec<_> = b"say open-sesame!"
            .iter()
            .map(|b| (Stream::Err, vec![*b]))
            .collect();
        let (output, log, _) = run(&pieces, 1_000, &secrets);
        assert_eq!(log, b"say ***!");
        assert_eq!(output.stderr.text(), b"say ***!");
    }

    #[test]
    fn a_planted_file_or_symlink_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path().join("victim"), dir.path().join("a.1.log")).unwrap();
        let folder = File::open(dir.path()).unwrap();
        let secrets = Secrets::default();
        let place = LogPlace {
            folder: folder.as_fd(),
            name: "a.1.log".to_owned(),
        };
        let mut capture = Capture::new(Some(place), (1_000, CAPTURE_LIMIT), &secrets, None, None);
        capture.push(Stream::Out, b"text");
        let output = capture.finish();
        assert!(output.error.is_some());
        assert_eq!(
            output.stdout.text(),
            b"text",
            "the evidence does not suffer"
        );
        assert!(!dir.path().join("victim").exists());
    }

    proptest! {
        #![proptest_config(vplan_arbitrary::config(256))]
        /// Checks that the index assigns the bytes to streams in their order of arrival: read along
        /// it, each stream is complete.
        #[test]
        fn interleaving_order_index_monotone(pieces in prop::collection::vec((any::<bool>(), "[a-z\n]{1,20}"), 0..20)) {
            let stream = |out: bool| if out { Stream::Out } else { Stream::Err };
            let pieces: Vec<(Stream, Vec<u8>)> = pieces.into_iter().map(|(out, p)| (stream(out), p.into_bytes())).collect();
            let (output, log, index) = run(&pieces, 1 << 20, &Secrets::default());
            let both: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
            prop_assert_eq!(&log, &both);
            let (mut out, mut err, mut rest) = (Vec::new(), Vec::new(), log.as_slice());
            for line in index.lines() {
                let (whose, length) = line.split_at(2);
                let (bytes, left) = rest.split_at(length.parse().unwrap());
                prop_assert!(!bytes.is_empty());
                if whose == "o " { out.extend(bytes) } else { err.extend(bytes) }
                rest = left;
            }
            // One stream alone has no index.
            if index.is_empty() { out.extend(rest) } else { prop_assert!(rest.is_empty()) }
            prop_assert_eq!((output.stdout.text().to_vec(), output.stderr.text().to_vec()), (out, err));
        }

        #[test]
        fn output_head_tail_exact(pieces in prop::collection::vec((any::<u8>(), 0_usize..150_000), 0..8)) {
            let mut ends = Ends::new(CAPTURE_LIMIT);
            let mut all = Vec::new();
            for (byte, length) in pieces {
                let piece: Vec<u8> = (0..length).map(|i| byte.wrapping_add((i % 251) as u8)).collect();
                ends.push(&piece);
                all.extend(piece);
            }
            let kept = ends.finish();
            prop_assert_eq!(kept.total, all.len() as u64);
            prop_assert_eq!(kept.head.as_bytes(), &all[..all.len().min(CAPTURE_LIMIT)]);
            let rest = &all[all.len().min(CAPTURE_LIMIT)..];
            prop_assert_eq!(kept.tail.as_bytes(), &rest[rest.len().saturating_sub(CAPTURE_LIMIT)..]);
        }
    }
}
