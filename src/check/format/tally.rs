//! Reads a line of counts: `1 failed, 2 skipped, 5 total`.

/// The counts of such a line with their words. The separator is between them; what does not
/// begin with a number is left out.
pub fn counts(text: &str, separator: char) -> impl Iterator<Item = (u64, &str)> {
    text.split(separator).filter_map(|part| count(part.trim()))
}

/// A number at the beginning, saturating, and the words after it.
#[must_use]
pub fn count(text: &str) -> Option<(u64, &str)> {
    super::count::count(text).map(|(number, rest)| (number, rest.trim_start()))
}

/// A name for a test in suites: the parts that are not blank, as `a > b`.
#[must_use]
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

    /// Takes a line. Blank ones are left out.
    pub fn line(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() || self.over || self.lines >= Self::LINES {
            return;
        }
        if self.lines > 0 {
            self.text.push('\n');
        }
        let mut line = line.to_owned();
        crate::check::reading::clip(&mut line);
        self.text.push_str(&line);
        self.lines += 1;
    }

    /// What follows is no part of it: a stack, an excerpt of the source.
    pub fn end(&mut self) {
        self.over = true;
    }

    /// Whether nothing was taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it has ended.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.over
    }

    /// What was taken.
    #[must_use]
    pub fn take(&mut self) -> Option<String> {
        let text = std::mem::take(self).text;
        (!text.is_empty()).then_some(text)
    }
}

/// The file and line of a stack's line, `at f (a.js:3:15)` or `❯ a.ts:4:8`. Places inside Node and
/// in other people's packages are none.
#[must_use]
pub fn frame(line: &str) -> Option<(&str, u64)> {
    let line = line.trim();
    let at = line
        .strip_prefix("at ")
        .or_else(|| line.strip_prefix("❯ "))?;
    let place = match at.rsplit_once('(') {
        Some((_, place)) => place.strip_suffix(')')?,
        None => at.rsplit(' ').next()?,
    };
    let (file, line) = located(place)?;
    let foreign =
        file.starts_with("node:") || file.contains("node_modules/") || file.contains("<anonymous>");
    (!foreign).then_some((file, line))
}

/// `FILE:LINE:COLUMN` that is nothing else.
#[must_use]
pub fn located(place: &str) -> Option<(&str, u64)> {
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    column.parse::<u64>().ok()?;
    let file = file.strip_prefix("file://").unwrap_or(file);
    (!file.is_empty()).then(|| line.parse().ok().map(|line| (file, line)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_counts() {
        let all = |text, separator| counts(text, separator).collect::<Vec<_>>();
        assert_eq!(
            all(" 1 failed, 4 passed, 5 total", ','),
            [(1, "failed"), (4, "passed"), (5, "total")]
        );
        assert_eq!(
            all("1 failed | 1 passed (2)", '|'),
            [(1, "failed"), (1, "passed (2)")]
        );
        assert_eq!(all("no tests", '|'), []);
        assert_eq!(
            count("99999999999999999999999 failed"),
            Some((u64::MAX, "failed"))
        );
        assert_eq!(count("failed"), None);
    }

    #[test]
    fn frames() {
        for (line, want) in [
            (
                "      at Object.toBe (a.test.js:3:151)",
                Some(("a.test.js", 3)),
            ),
            ("at file:///x/a.mjs:4:32", Some(("/x/a.mjs", 4))),
            ("at async f (C:\\x\\a.js:4:32)", Some(("C:\\x\\a.js", 4))),
            (" ❯ a.test.ts:4:88", Some(("a.test.ts", 4))),
            (
                " ❯ Timeout._onTimeout b.test.ts:3:47",
                Some(("b.test.ts", 3)),
            ),
            ("at f (node:internal/timers:483:21)", None),
            ("at f (../node_modules/jest/a.js:4:2)", None),
            ("at new Promise (<anonymous>)", None),
            ("at", None),
            ("at (", None),
            ("at ::", None),
        ] {
            assert_eq!(frame(line), want, "{line}");
        }
    }
}
