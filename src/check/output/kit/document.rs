//! Collects a document (XML, JSON) that arrives line by line, without holding what is none.

use crate::output::reader::{Claim, Reader, Stream};
use crate::results::{Reading, TestCounts};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, SeqAccess, Visitor};
use std::marker::PhantomData;

/// The longest document that is read, in bytes.
pub const MOST: usize = 64 << 20;
/// Limit of bytes after which the document must have been recognised.
const PROBE: usize = 64 << 10;

/// A kind of document, which is read as a whole.
pub(crate) trait DocumentKind: Send + 'static {
    /// Whether it begins with this line (no leading blanks).
    const BEGINS: fn(&str) -> bool;
    /// Whether it may begin later than with the first line that is not blank. Only for a beginning
    /// that nothing else has.
    const LATER: bool = false;
    /// Whether this text, the beginning of a document, is of the kind.
    const TELLS: fn(&str) -> bool;
    /// The word for it in problems.
    const WORD: &'static str;
    /// Whether its readings have counts of tests.
    const HAS_TESTS: bool = true;

    /// Reads a text, perhaps torn. `None` means that it is another kind of document.
    fn read(text: &str, reading: &mut Reading) -> Option<()>;
}

/// Reads a kind of document from the lines of standard output.
#[derive(Debug, Default)]
pub(crate) struct DocumentReader<K> {
    state: State,
    text: String,
    /// The name of the root of XML, to know where it ends.
    root: Option<String>,
    /// Whether the document has ended; another may follow.
    over: bool,
    /// Whether the last line was part of a document.
    took: bool,
    kind: PhantomData<K>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but blank lines so far.
    #[default]
    Before,
    /// A document has begun; whether it is of the kind is undecided.
    Begun,
    /// A document of the kind.
    Told,
    /// A document of the kind, longer than [`MOST`].
    TooLarge,
    /// No document of the kind.
    Foreign,
}

impl<K: DocumentKind> Reader for DocumentReader<K> {
    fn line(&mut self, stream: Stream, line: &str) {
        self.took = false;
        if stream == Stream::Err || matches!(self.state, State::Foreign | State::TooLarge) {
            return;
        }
        let line = line.trim_start_matches('\u{feff}');
        if self.state == State::Before {
            let start = line.trim_start();
            // `> name@1.0.0 test` is what package managers print before a script's output.
            if start.is_empty() || start.starts_with("> ") {
                return;
            }
            if !(K::BEGINS)(start) {
                if !K::LATER {
                    self.state = State::Foreign;
                }
                return;
            }
            self.state = State::Begun;
        }
        if std::mem::take(&mut self.over) && !(K::BEGINS)(line.trim_start()) {
            // The rest is other output.
            self.over = true;
            return;
        }
        self.took = true;
        self.over = self.ends(line);
        if self.state == State::Begun && self.text.len() + line.len() > PROBE {
            let told = (K::TELLS)(head(&self.text)) || (K::TELLS)(head(line));
            self.state = if told { State::Told } else { State::Foreign };
        }
        if self.state == State::Told && self.text.len() + line.len() >= MOST {
            self.state = State::TooLarge;
        }
        if matches!(self.state, State::Foreign | State::TooLarge) {
            self.text = String::new();
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn claim(&self) -> Claim {
        match self.state {
            _ if !self.took => Claim::None,
            State::Begun => Claim::Perhaps,
            State::Told | State::TooLarge => Claim::Own,
            State::Before | State::Foreign => Claim::None,
        }
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        let mut reading = Reading {
            tests: K::HAS_TESTS.then(TestCounts::default),
            ..Reading::default()
        };
        match self.state {
            State::Before | State::Foreign => return None,
            State::Begun if !(K::TELLS)(&self.text) => return None,
            State::Begun | State::Told => K::read(&self.text, &mut reading)?,
            State::TooLarge => reading.object(format!("the {} is too large to read", K::WORD)),
        }
        Some(reading)
    }
}

impl<K> DocumentReader<K> {
    /// Whether the document ends with this line: the end tag of its root, or a bracket that is not
    /// indented. What is on one line ends there.
    fn ends(&mut self, line: &str) -> bool {
        let line = line.trim_end();
        if line.starts_with(['{', '[']) && line.len() > 1 {
            return line.ends_with(['}', ']']);
        }
        if line.starts_with(['}', ']']) {
            return line.len() == 1;
        }
        if self.root.is_none() {
            let mut tags = line.split('<').skip(1);
            let root = tags.find(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic()));
            let name = root.and_then(|tag| tag.split([' ', '>', '/']).next());
            self.root = name.map(|name| format!("</{name}>"));
        }
        self.root.as_ref().is_some_and(|end| line.ends_with(end))
    }
}

/// Returns the part by which a document is recognised.
fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(PROBE))
        .unwrap_or_default()
}

/// Maximum number of documents that may follow each other.
const DOCUMENTS: usize = 10_000;

/// Reads a list element by element without keeping it: untrusted lists are long. What `take`
/// does not keep is dropped.
///
/// # Errors
/// The value is not a list, or an element has the wrong form.
pub fn each<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    list: D,
    take: impl FnMut(T),
) -> Result<(), D::Error> {
    struct Each<T, F>(F, PhantomData<T>);
    impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Each<T, F> {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list")
        }

        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
            while let Some(element) = list.next_element()? {
                (self.0)(element);
            }
            Ok(())
        }
    }
    list.deserialize_any(Each(take, PhantomData))
}

/// The JSON values in a text, one after another, and the error in the text after them. Other
/// output after the last value is not an error.
pub fn values<T: DeserializeOwned>(text: &str) -> (Vec<T>, Option<String>) {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let mut found = Vec::new();
    loop {
        if found.len() >= DOCUMENTS {
            return (found, Some("too many documents in one".to_owned()));
        }
        let at = stream.byte_offset();
        match stream.next() {
            None => return (found, None),
            Some(Ok(value)) => found.push(value),
            Some(Err(error)) => {
                let rest = text.get(at..).unwrap_or_default().trim_start();
                let other = !found.is_empty() && !rest.starts_with(['{', '[']);
                return (found, (!other).then(|| error.to_string()));
            }
        }
    }
}

/// A number from 1, as a place has it.
pub fn natural(number: Option<f64>) -> Option<u64> {
    // Saturates; a fraction is cut off.
    number.filter(|n| *n >= 1.0).map(|n| n as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Log<const LATER: bool>;

    impl<const LATER: bool> DocumentKind for Log<LATER> {
        const BEGINS: fn(&str) -> bool = |l| l.starts_with('{');
        const LATER: bool = LATER;
        const TELLS: fn(&str) -> bool = |t| t.contains("\"runs\"");
        const WORD: &'static str = "log";

        fn read(text: &str, reading: &mut Reading) -> Option<()> {
            text.clone_into(&mut reading.format);
            Some(())
        }
    }

    fn collect<const LATER: bool>(lines: &[&str]) -> Option<Reading> {
        let mut document = Box::<DocumentReader<Log<LATER>>>::default();
        for line in lines {
            document.line(Stream::Out, line);
        }
        document.finish()
    }

    #[test]
    fn what_is_none_is_not_held() {
        let mut document = Box::<DocumentReader<Log<false>>>::default();
        document.line(Stream::Out, "hello");
        document.line(Stream::Out, "{\"runs\": []}");
        assert_eq!(document.text.capacity(), 0);
        assert_eq!(document.finish(), None);
        let mut document = Box::<DocumentReader<Log<false>>>::default();
        for _ in 0..PROBE {
            document.line(Stream::Out, "{\"line\": 1}");
        }
        assert_eq!(
            (document.state, document.text.capacity()),
            (State::Foreign, 0)
        );
    }

    #[test]
    fn documents() {
        let text = |reading: Option<Reading>| reading.map(|reading| reading.format);
        for (lines, want) in [
            (
                &["\u{feff}{", "\"runs\"", "}"][..],
                Some("{\n\"runs\"\n}\n"),
            ),
            (
                &["", "> a@1 lint", "> x", "", "{\"runs\""],
                Some("{\"runs\"\n"),
            ),
            (&["{}"], None),
            (&[], None),
        ] {
            assert_eq!(text(collect::<false>(lines)).as_deref(), want);
        }
        assert_eq!(
            text(collect::<true>(&["noise", "{\"runs\"}"])).as_deref(),
            Some("{\"runs\"}\n")
        );
        let long = format!("{{\"runs\": \"{}\"", "x".repeat(PROBE));
        assert!(text(collect::<false>(&[&long])).is_some_and(|text| !text.is_empty()));
        let long = format!("{{\"runs\": \"{}\"", "x".repeat(MOST));
        let problems = collect::<false>(&[&long]).unwrap().problems;
        assert_eq!(problems, ["the log is too large to read"]);
    }

    #[test]
    fn several_values() {
        for (text, count, wrong) in [
            ("1 2", 2, false),
            ("1\nDone.", 1, false),
            ("1 {", 1, true),
            ("", 0, false),
            ("x", 0, true),
            ("[", 0, true),
        ] {
            let (found, error) = values::<serde_json::Value>(text);
            assert_eq!((found.len(), error.is_some()), (count, wrong), "{text}");
        }
        let deep = "[".repeat(1_000_000);
        assert!(values::<serde_json::Value>(&deep).1.is_some());
    }
}
