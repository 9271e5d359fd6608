//! Reads where and why a thread panicked, in the three generations of Rust's message.

use crate::output::kit::location::{ending, place};
use crate::results::TEXT_KEPT;

/// A panic that was printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Panic {
    /// The name of the thread, which for a test is its name.
    pub thread: String,
    /// The file, as written.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u64>,
    /// The message, with its lines so far.
    pub message: String,
}

impl Panic {
    /// The first line of one: `thread 'NAME' (ID) panicked at FILE:LINE:COLUMN:`, before Rust 1.73
    /// with the message in front of the place.
    pub fn begin(line: &str) -> Option<Self> {
        let (thread, rest) = line.strip_prefix("thread '")?.split_once('\'')?;
        let (_, rest) = rest
            .split_once("panicked at ")
            .filter(|(id, _)| id.len() < 40)?;
        let (message, at) = match rest.strip_prefix('\'').and_then(|r| r.rsplit_once("', ")) {
            Some((message, at)) => (message, at),
            None => ("", rest),
        };
        let place = place(at);
        let (file, line) = match &place {
            Some(place) => (Some(place.file.to_owned()), Some(place.line)),
            None => old_place(at),
        };
        Some(Self {
            thread: thread.to_owned(),
            file,
            line,
            message: message.to_owned(),
        })
    }

    /// Takes the next line, if it belongs to the message.
    pub fn more(&mut self, line: &str) -> bool {
        let over = line.is_empty() || line.starts_with("note: ") || line == "stack backtrace:";
        if over || self.message.len() > TEXT_KEPT {
            return false;
        }
        if !self.message.is_empty() {
            self.message.push('\n');
        }
        self.message.push_str(line.trim_end());
        true
    }
}

/// The place of a test that should have panicked: `note: test did not panic as expected at
/// FILE:LINE:COLUMN`.
pub fn calm(line: &str) -> Option<(Option<String>, Option<u64>)> {
    Some(old_place(
        line.strip_prefix("note: test did not panic as expected at ")?,
    ))
}

/// `FILE:LINE:COLUMN` at the end of a line.
fn old_place(at: &str) -> (Option<String>, Option<u64>) {
    ending(at).map_or((None, None), |(file, line, _)| {
        (Some(file.to_owned()), Some(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_of_all_generations() {
        for (line, thread, file, at, message) in [
            (
                "thread 'two' (6619) panicked at tests/it.rs:2:19:",
                "two",
                Some("tests/it.rs"),
                Some(2),
                "",
            ),
            (
                "thread 'a::b' panicked at src/x.rs:7:1:",
                "a::b",
                Some("src/x.rs"),
                Some(7),
                "",
            ),
            (
                "thread 'main' panicked at 'it's bad', src/x.rs:7:1",
                "main",
                Some("src/x.rs"),
                Some(7),
                "it's bad",
            ),
            ("thread 'main' panicked at 'torn", "main", None, None, ""),
        ] {
            let got = Panic::begin(line).unwrap();
            assert_eq!(
                (got.thread.as_str(), got.file.as_deref(), got.line),
                (thread, file, at),
                "{line}"
            );
            assert_eq!(got.message, message, "{line}");
        }
        for line in [
            "thread",
            "thread '",
            "thread 'x' has overflowed its stack",
            "the thread 'x' panicked at a:1:1:",
        ] {
            assert_eq!(Panic::begin(line), None, "{line}");
        }
        let mut panic = Panic::begin("thread 'two' panicked at a.rs:1:2:").unwrap();
        assert!(panic.more("assertion failed") && panic.more("  left: 1"));
        assert!(!panic.more("note: run with `RUST_BACKTRACE=1`"));
        assert_eq!(panic.message, "assertion failed\n  left: 1");
    }
}
