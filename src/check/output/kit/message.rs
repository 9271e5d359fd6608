//! Puts together what test runners say of a failed test: its name from suites, its message from lines.

/// A name for a test in suites: the parts that are not blank, as `a > b`.
pub fn path<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(" > ")
}

/// The message of a failure while its lines come: the first lines that are not blank, on as many
/// lines.
#[derive(Clone, Debug, Default)]
pub struct Message {
    text: String,
    lines: usize,
    over: bool,
}

impl Message {
    const LINES: usize = 12;

    /// Takes a line. Blank ones are omitted.
    pub fn line(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() || self.over || self.lines >= Self::LINES {
            return;
        }
        if self.lines > 0 {
            self.text.push('\n');
        }
        let mut line = line.to_owned();
        crate::results::clip(&mut line);
        self.text.push_str(&line);
        self.lines += 1;
    }

    /// The following lines are not part of it: a stack, an excerpt of the source.
    pub fn end(&mut self) {
        self.over = true;
    }

    /// Whether nothing was taken.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it has ended.
    pub fn ended(&self) -> bool {
        self.over
    }

    /// Takes the collected text.
    pub fn take(&mut self) -> Option<String> {
        let text = std::mem::take(self).text;
        (!text.is_empty()).then_some(text)
    }
}
