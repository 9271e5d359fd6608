//! The colours of everything that vplan prints, in one table.

pub use vplan_base::unit::show_time as duration;
pub use vplan_base::word::count;

/// The number of characters of the longest of these.
pub fn widest<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> usize {
    let lengths = texts.into_iter().map(|text| text.as_ref().chars().count());
    lengths.max().unwrap_or(0)
}
use vplan_base::word::visible;
use vplan_check::outcome::Status;
use vplan_plan::explain::{Mark, Style};

/// A use of colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// For a pass.
    Good,
    /// For a failure.
    Bad,
    /// Worth a look.
    Warn,
    /// A heading, a name.
    Strong,
    /// Less important.
    Faint,
    /// For a command line to copy.
    Command,
}

/// Puts colour around a text, if there is colour.
pub fn paint(color: bool, tone: Tone, text: &str) -> String {
    if !color {
        return text.to_owned();
    }
    let code = match tone {
        Tone::Good => "32",
        Tone::Bad => "31",
        Tone::Warn => "33",
        Tone::Strong => "1",
        Tone::Faint => "2",
        Tone::Command => "36",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// The style of explanations: in colour, or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colors(pub bool);

impl Style for Colors {
    fn paint(&self, mark: Mark, text: &str) -> String {
        let tone = match mark {
            Mark::Title | Mark::Id => Tone::Strong,
            Mark::Command => Tone::Command,
            Mark::Dim => Tone::Faint,
            Mark::Good => Tone::Good,
            Mark::Bad => Tone::Bad,
            Mark::Warn => Tone::Warn,
        };
        paint(self.0, tone, text)
    }
}

/// The mark of a status and its tone.
pub fn mark(status: Status) -> (&'static str, Tone) {
    match status {
        Status::Passed => ("✓", Tone::Good),
        Status::PassedWithWarnings | Status::Flaky => ("✓", Tone::Warn),
        Status::Cached => ("=", Tone::Good),
        Status::Failed | Status::Errored => ("✗", Tone::Bad),
        Status::TimedOut => ("⧖", Tone::Bad),
        Status::Skipped | Status::NotRun => ("-", Tone::Faint),
    }
}

/// The tone of what went well or did not.
pub fn tone(is_good: bool) -> Tone {
    if is_good { Tone::Good } else { Tone::Bad }
}

/// A line about something foreign, after a sign.
pub fn marked(color: bool, tone: Tone, sign: &str, what: &str) -> String {
    format!("  {} {}\n", paint(color, tone, sign), visible(what))
}

/// Cuts a text of one line to so many characters, with a mark.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars()
        .take(width.saturating_sub(1))
        .chain(['…'])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(
            [duration(999), duration(1_250), duration(184_000)],
            ["999ms", "1.2s", "3m04s"]
        );
        assert_eq!([count(1, "step"), count(0, "step")], ["1 step", "0 steps"]);
        assert_eq!([cut("abcdef", 4), cut("abcd", 4)], ["abc…", "abcd"]);
        assert_eq!(paint(false, Tone::Bad, "x"), "x");
    }
}
