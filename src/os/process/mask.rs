//! Masks granted secrets in everything that is printed or stored.
//!
//! This is help, not a security boundary: a step that wants to reveal a secret can spell it
//! backwards.

use std::sync::Arc;
use vplan_base::inert::without_escapes;

/// Minimum length of a masked value, in bytes: masking shorter ones would damage ordinary text.
const LEAST: usize = 8;
/// The shortest beginning of a secret, in bytes, that is masked at the end of a text that was cut.
/// Fewer bytes reveal nothing.
const BEGINNING: usize = 4;
/// The mark of a cut (see [`vplan_check::reading::clip`]).
const CUT: &str = "…";
/// Maximum size of terminal sequences within a secret that is still recognised, in bytes.
const SKIPPED: usize = 4096;
const ESCAPE: u8 = 0x1b;
/// The replacement of masked bytes.
const MARK: &[u8] = b"***";

/// The values to be masked.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Arc<Vec<Vec<u8>>>);

impl Secrets {
    /// Takes the values, without those of less than 8 bytes. A value is also masked in its JSON and
    /// XML spellings, and without the terminal sequences in it.
    pub fn new(values: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut values: Vec<_> = values.into_iter().collect();
        let shown = |value: &Vec<u8>| {
            let text = std::str::from_utf8(value).ok()?;
            Some(without_escapes(&text.replace("\r\n", "\n")).into_bytes())
        };
        values.extend(values.iter().filter_map(shown).collect::<Vec<_>>());
        values.retain(|v| v.len() >= LEAST);
        let texts = values
            .iter()
            .filter_map(|value| std::str::from_utf8(value).ok());
        let spelled = |text: &str| {
            let json = vplan_base::canon::to_canonical(&text);
            let json = json.strip_prefix('"').and_then(|j| j.strip_suffix('"'));
            let json = json.unwrap_or_default().to_owned();
            [json, vplan_check::output::kit::xml::escaped(text)]
        };
        let spelled: Vec<Vec<u8>> = texts.flat_map(spelled).map(String::into_bytes).collect();
        values.extend(spelled);
        values.sort();
        values.dedup();
        Self(Arc::new(values))
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Masks a whole text.
    pub fn mask(&self, text: &[u8]) -> Vec<u8> {
        let mut masker = Masker::new(self);
        let mut out = Vec::with_capacity(text.len());
        masker.push(text, &mut out);
        masker.finish(&mut out);
        out
    }

    /// Masks a line for people.
    pub fn mask_text(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        String::from_utf8_lossy(&self.mask(text.as_bytes())).into_owned()
    }

    /// Masks a text that may have been cut, at a mark, within a secret.
    pub fn mask_clipped(&self, text: &str) -> String {
        let masked = self.mask_text(text);
        let Some(kept) = masked.strip_suffix(CUT) else {
            return masked;
        };
        let beginning = |secret: &Vec<u8>| {
            let lengths = (BEGINNING..secret.len()).rev();
            let mut starts = lengths.filter_map(|n| secret.get(..n));
            let start = starts.find(|start| kept.as_bytes().ends_with(start));
            start.map(<[u8]>::len)
        };
        let longest = self.0.iter().filter_map(beginning).max();
        let Some(kept) = longest.and_then(|n| kept.as_bytes().get(..kept.len() - n)) else {
            return masked;
        };
        let mark = String::from_utf8_lossy(MARK);
        [&String::from_utf8_lossy(kept), &*mark, CUT].concat()
    }
}

/// Masks a stream that arrives in pieces, independently of their boundaries.
///
/// Each byte that belongs to some occurrence of some secret is masked, and a run of masked bytes
/// becomes one mark. Terminal sequences within a secret, and carriage returns before its line
/// feeds, do not prevent masking: they are removed before a text is shown.
pub(super) struct Masker {
    secrets: Secrets,
    starts: [bool; 256],
    held: Vec<u8>,
    /// The number of bytes of `held` in an occurrence that began before it.
    covered: usize,
    masking: bool,
}

impl Masker {
    pub(super) fn new(secrets: &Secrets) -> Self {
        let mut starts = [false; 256];
        for secret in secrets.0.iter() {
            if let Some(start) = secret.first().and_then(|b| starts.get_mut(usize::from(*b))) {
                *start = true;
            }
        }
        Self {
            secrets: secrets.clone(),
            starts,
            held: Vec::new(),
            covered: 0,
            masking: false,
        }
    }

    /// Adds a piece; appends the bytes that are certain to `out`. A possible beginning of a secret
    /// is held back.
    pub(super) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(piece);
        let done = self.scan(&text, out, true);
        text.drain(..done);
        self.held = text;
    }

    /// Ends the stream: writes the bytes held back, which did not complete a secret.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let text = std::mem::take(&mut self.held);
        self.scan(&text, out, false);
    }

    fn scan(&mut self, text: &[u8], out: &mut Vec<u8>, more: bool) -> usize {
        for (at, byte) in text.iter().enumerate() {
            if self.starts.get(usize::from(*byte)) == Some(&true) {
                let rest = text.get(at..).unwrap_or_default();
                for secret in self.secrets.0.iter() {
                    match occurrence(rest, secret) {
                        Occurrence::Whole(length) => self.covered = self.covered.max(length),
                        Occurrence::Begun if more => return at,
                        Occurrence::Begun | Occurrence::None => {}
                    }
                }
            }
            if self.covered == 0 {
                out.push(*byte);
                self.masking = false;
            } else {
                if !self.masking {
                    out.extend_from_slice(MARK);
                }
                self.masking = true;
                self.covered -= 1;
            }
        }
        text.len()
    }
}

/// Whether a text begins with a secret.
enum Occurrence {
    /// The whole secret, with its length in bytes.
    Whole(usize),
    /// The text is the beginning of one.
    Begun,
    None,
}

fn occurrence(text: &[u8], secret: &[u8]) -> Occurrence {
    let is_opaque = || secret.iter().any(|b| matches!(*b, ESCAPE | b'\r'));
    let mut at = 0;
    for (count, wanted) in secret.iter().enumerate() {
        loop {
            let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else {
                return Occurrence::Begun;
            };
            if rest.first() == Some(wanted) {
                at += 1;
                break;
            }
            let skipped = if count == 0 { 0 } else { invisible_len(rest) };
            at += skipped;
            if skipped == 0 || at - count > SKIPPED || is_opaque() {
                return Occurrence::None;
            }
        }
    }
    Occurrence::Whole(at)
}

/// Returns the length of the invisible beginning of a text: a terminal sequence, in bytes as
/// [`without_escapes`] takes it in characters; a carriage return before a line feed.
fn invisible_len(text: &[u8]) -> usize {
    let run = |from: usize, wanted: fn(u8) -> bool| {
        let rest = text.iter().skip(from);
        from + rest.take_while(|b| wanted(**b)).count()
    };
    let is =
        |at: usize, wanted: fn(u8) -> bool| usize::from(text.get(at).is_some_and(|b| wanted(*b)));
    match (text.first(), text.get(1)) {
        (Some(b'\r'), Some(b'\n') | None) => 1,
        (Some(&ESCAPE), Some(b'[')) => {
            let end = run(2, |b| matches!(b, b' '..=b'?'));
            end + is(end, |b| matches!(b, b'@'..=b'~'))
        }
        (Some(&ESCAPE), Some(b']' | b'P' | b'X' | b'^' | b'_')) => {
            let end = run(2, |b| !matches!(b, b'\n' | ESCAPE | 7));
            match text.get(end) {
                Some(7) => end + 1,
                Some(&ESCAPE) => end + 1 + is(end + 1, |b| b == b'\\'),
                _ => end,
            }
        }
        (Some(&ESCAPE), _) => {
            let end = run(1, |b| matches!(b, b' '..=b'/'));
            end + is(end, |b| matches!(b, b'0'..=b'~'))
        }
        _ => 0,
    }
}

/// Checks the law for any secrets and any text: exactly the bytes in occurrences of a secret are
/// masked, in whatever pieces the text arrives.
///
/// # Panics
/// The violated property.
pub fn oracle(secrets: Vec<Vec<u8>>, text: &[u8], pieces: &[u8]) {
    let secrets = Secrets::new(secrets);
    let mut covered = vec![false; text.len()];
    for secret in secrets.0.iter() {
        for at in 0..text.len() {
            let length = shown_length(text.get(at..).unwrap_or_default(), secret);
            covered
                .iter_mut()
                .skip(at)
                .take(length)
                .for_each(|c| *c = true);
        }
    }
    let mut wanted = Vec::new();
    let mut before = false;
    for (byte, covered) in text.iter().zip(covered) {
        match (covered, before) {
            (true, false) => wanted.extend_from_slice(MARK),
            (true, true) => {}
            (false, _) => wanted.push(*byte),
        }
        before = covered;
    }
    assert_eq!(secrets.mask(text), wanted, "whole");
    let (mut masker, mut out, mut rest) = (Masker::new(&secrets), Vec::new(), text);
    let longest = secrets.0.iter().map(Vec::len).max().unwrap_or(0);
    for size in pieces {
        let (piece, behind) = rest
            .split_at_checked(usize::from(*size))
            .unwrap_or((rest, &[]));
        masker.push(piece, &mut out);
        rest = behind;
        let held = masker.held.len();
        assert!(held < longest.max(1) + SKIPPED, "{held} of {longest} bytes");
    }
    masker.push(rest, &mut out);
    masker.finish(&mut out);
    assert_eq!(out, wanted, "in pieces");
}

/// Returns how many bytes at the beginning of a text show a secret; 0 if it does not.
fn shown_length(text: &[u8], secret: &[u8]) -> usize {
    let characters = |bytes: &[u8]| bytes.iter().map(|b| char::from(*b)).collect::<String>();
    let most = if secret.iter().any(|b| matches!(*b, ESCAPE | b'\r')) {
        secret.len()
    } else {
        secret.len() + SKIPPED
    };
    if text.first() != secret.first() {
        return 0;
    }
    let wanted = characters(secret);
    for end in secret.len()..=text.len().min(most) {
        let window = characters(text.get(..end).unwrap_or_default());
        let is_whole = window == wanted
            || most > secret.len() && without_escapes(&window.replace("\r\n", "\n")) == wanted;
        if is_whole {
            return end;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_sequences_do_not_hide_it() {
        let secrets = Secrets::new([
            b"hunter2\nhunter2".to_vec(),
            b"\x1b[1mbold-word\x1b[0m".to_vec(),
        ]);
        for (text, want) in [
            (
                "x \x1b[31mhunter2\nhunter2\x1b[0m y",
                "x \x1b[31m***\x1b[0m y",
            ),
            ("hun\x1b[31;1mter\x1b[0m2\r\nhunter2", "***"),
            ("hun\x1b]0;title\x07ter2\nhun\x1b(Bter2.", "***."),
            ("hun\x1b]8;;http://x\x1b\\ter2\nhunter2.", "***."),
            ("hun\x1b[31mters", "hun\x1b[31mters"),
            ("hun\rter2\nhunter2", "hun\rter2\nhunter2"),
            ("a \x1b[1mbold-word\x1b[0m b", "a *** b"),
            ("a bold-word b bo\x1b[32mld-word", "a *** b ***"),
        ] {
            assert_eq!(secrets.mask_text(text), want, "{text:?}");
            oracle(
                vec![b"hunter2\nhunter2".to_vec()],
                text.as_bytes(),
                &[3, 1, 7],
            );
        }
        let long = |n: usize| format!("hun\x1b[{}mter2\nhunter2", "1".repeat(n));
        assert_eq!(secrets.mask_text(&long(SKIPPED - 3)), "***");
        assert_eq!(secrets.mask_text(&long(SKIPPED - 2)), long(SKIPPED - 2));
    }

    #[test]
    fn what_was_cut_within_a_secret() {
        let secrets = Secrets::new([b"open&sesame".to_vec()]);
        for (text, want) in [
            ("x open&sesame y", "x *** y"),
            ("x open&ses…", "x ***…"),
            ("x open&amp;se…", "x ***…"),
            ("x open…", "x ***…"),
            ("x ope…", "x ope…"),
            ("x open", "x open"),
            ("open&sesame…", "***…"),
        ] {
            assert_eq!(secrets.mask_clipped(text), want, "{text}");
        }
    }
    use proptest::prelude::*;

    #[test]
    fn masked() {
        let secrets = Secrets::new(
            ["hunter2hunter2", "short", "2hunter2-more"].map(|s| s.as_bytes().to_vec()),
        );
        for (text, want) in [
            ("", ""),
            ("short stays", "short stays"),
            ("a hunter2hunter2 b", "a *** b"),
            ("hunter2hunter2-more", "***"),
            ("hunter2hunter2hunter2", "***"),
            ("hunter2hunter", "hunter2hunter"),
            ("hunter2hunter2hunter2hunter2.", "***."),
        ] {
            assert_eq!(secrets.mask_text(text), want, "{text}");
        }
        assert!(Secrets::new([b"1234567".to_vec()]).is_empty());
    }

    proptest! {
        #![proptest_config(vplan_arbitrary::config(512))]
        #[test]
        fn redaction_chunk_invariant(
            secrets in prop::collection::vec("[ab]{8,12}", 1..4),
            text in "([abc]|\x1b\\[0m|\x1b\\]a|\x07|\r|\n){0,200}",
            cuts in prop::collection::vec(1_usize..20, 0..40),
        ) {
            let secrets = Secrets::new(secrets.into_iter().map(String::into_bytes));
            let whole = secrets.mask(text.as_bytes());
            let (mut masker, mut out, mut rest) = (Masker::new(&secrets), Vec::new(), text.as_bytes());
            for cut in cuts {
                let (piece, left) = rest.split_at(cut.min(rest.len()));
                masker.push(piece, &mut out);
                rest = left;
            }
            masker.push(rest, &mut out);
            masker.finish(&mut out);
            prop_assert_eq!(&out, &whole);
            for secret in secrets.0.iter() {
                prop_assert!(!out.windows(secret.len()).any(|w| w == secret.as_slice()));
            }
            let secrets = secrets.0.iter().cloned().collect();
            oracle(secrets, text.as_bytes(), &[1, 2, 3]);
        }

        #[test]
        fn redaction_idempotent(secrets in prop::collection::vec("[ab*]{8,12}", 0..4), text in "[ab*c]{0,200}") {
            let secrets = Secrets::new(secrets.into_iter().map(String::into_bytes));
            let once = secrets.mask(text.as_bytes());
            let holds = |text: &[u8]| secrets.0.iter().any(|s| text.windows(s.len()).any(|w| w == s.as_slice()));
            // The mark may form another secret with its neighbours, if that contains stars itself.
            if !holds(&once) {
                prop_assert_eq!(secrets.mask(&once), once);
            }
            prop_assert!(holds(text.as_bytes()) || secrets.mask(text.as_bytes()) == text.as_bytes());
        }
    }
}
