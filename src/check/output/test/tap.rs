//! Reads TAP, versions 12 to 14.
//!
//! Every point counts, those of subtests and those that summarise subtests alike. Subtests are
//! indented by four blanks, before their point (TAP 14) or after it in braces. Indented lines
//! count only if a comment `# Subtest` or a plan shows that they are a subtest; lines in a YAML
//! block never do.

use crate::output::kit::location;
use crate::output::kit::message::{self, Message};
use crate::output::kit::number;
use crate::output::reader::{Format, FormatName, Reader, Stream, after, starts};
use crate::results::{FailedTest, Reading};
use std::collections::BTreeSet;

/// The Test Anything Protocol.
pub const FORMAT: Format = Format::run::<Tap>(
    "tap",
    &[FormatName::Tap, FormatName::Node],
    &["1..", "TAP version ", "not ok ", "ok "],
    |line| starts(line, &["# ", "1..", "not ok ", "ok "]),
)
.asked_by(&["tap", "tap-flat"]);

/// The greatest depth of subtests that is followed.
const DEPTH: usize = 64;
/// The indentation of a subtest, in blanks.
const INDENT: usize = 4;
/// Maximum number of points that come before their turn.
const EARLY: usize = 10_000;

#[derive(Default)]
struct Tap {
    /// The document and, within it, the subtests that are open.
    levels: Vec<Level>,
    /// The failed point whose details come, and its level.
    failure: Option<(usize, FailedTest, Message)>,
    /// The indentation of the YAML block that is open.
    yaml: Option<usize>,
    /// In it, the block of lines that is the message: how far its key is indented.
    block: Option<usize>,
    /// The indentation of the last line if it was a point, so that a YAML block may begin.
    after_point: Option<usize>,
    /// A comment at the end that says that something failed: it counts where nothing else does.
    complaint: Option<String>,
    /// Whether anything specific to TAP was read.
    told: bool,
    total: Level,
}

/// One document or subtest.
#[derive(Default)]
struct Level {
    reading: Reading,
    points: u64,
    /// Whether the first point has the number 1; without a plan nothing else tells that this is
    /// TAP.
    numbered: bool,
    numbers: Numbers,
    plan: Option<Plan>,
    /// The name of the subtest that follows or is open below.
    below: Option<String>,
    /// A version or a comment says that this is TAP.
    announced: bool,
    bailed: bool,
}

/// The numbers of points so far.
#[derive(Default)]
struct Numbers {
    /// Each up to this one.
    all_to: u64,
    /// Those after it, which came before their turn.
    early: BTreeSet<u64>,
}

impl Numbers {
    /// Takes the number of a point; whether it is the first with it. Of very many numbers that come
    /// before their turn none is the first.
    fn take(&mut self, number: u64) -> bool {
        if number > self.all_to.saturating_add(1) {
            return self.early.len() < EARLY && self.early.insert(number);
        }
        let is_new = number > self.all_to;
        self.all_to = self.all_to.max(number);
        while self.early.remove(&self.all_to.saturating_add(1)) {
            self.all_to = self.all_to.saturating_add(1);
        }
        is_new
    }
}

#[derive(Clone, Copy)]
struct Plan {
    count: u64,
    /// Whether it came before the first point.
    first: bool,
}

impl Reader for Tap {
    fn line(&mut self, stream: Stream, line: &str) {
        if stream == Stream::Err {
            return;
        }
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        if let Some(yaml) = self.yaml {
            if indent >= yaml && text.trim_end() == "..." {
                self.yaml = None;
                return;
            }
            // A value may hold lines that are not indented, so only its end ends a block. One that
            // is never closed swallows points, and the plan is not kept.
            return self.detail(indent, text);
        }
        let after_point = std::mem::take(&mut self.after_point);
        match text.as_bytes() {
            [b'-', b'-', b'-', ..]
                if after_point.is_some_and(|at| indent > at) && text.trim_end() == "---" =>
            {
                self.yaml = Some(indent)
            }
            [b'o', b'k', ..]
            | [b'n', b'o', b't', b' ', b'o', b'k', ..]
            | [b'1', b'.', b'.', ..]
            | [b'#' | b'}', ..]
            | [b'T', b'A', b'P', b' ', ..]
            | [b'B' | b'b', ..]
                if indent.is_multiple_of(INDENT) && indent / INDENT < DEPTH =>
            {
                if !self.structure(indent / INDENT, text) {
                    self.told_of_failure(line);
                }
            }
            _ => self.told_of_failure(line),
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.close(0);
        if !self.told {
            return None;
        }
        if self.total.reading.tests.get_or_insert_default().failed == 0 {
            self.total.reading.object_all(self.complaint);
        }
        Some(self.total.reading)
    }
}

impl Tap {
    /// A line that may be TAP, at a depth. Whether it is.
    fn structure(&mut self, depth: usize, text: &str) -> bool {
        // A subtest is one deeper than what is open; what is deeper is no TAP.
        if depth > self.levels.len().max(1) {
            return false;
        }
        if let Some(point) = point(text) {
            self.point(depth, &point);
        } else if let Some((count, reason)) = plan(text) {
            self.plan(depth, count, reason);
        } else if let Some(name) = text.strip_prefix("# Subtest") {
            self.flush();
            let name = name.strip_prefix(':').unwrap_or(name).trim();
            // Some write the comment outside and some inside of the subtest: inside, it names the
            // level itself.
            if depth > 0
                && self.levels.len() == depth
                && let Some(above) = self.levels.get_mut(depth - 1)
                && above.below.is_none()
            {
                above.below = Some(unescaped(name));
                self.level(depth).announced = true;
                return true;
            }
            self.close(depth + 1);
            let level = self.level(depth);
            level.below = Some(unescaped(name));
            level.announced |= depth > 0;
        } else if depth == 0
            && let Some(version) = text.strip_prefix("TAP version ")
            && version.trim().parse::<u32>().is_ok()
        {
            self.close(0);
            self.told = true;
            self.level(0).announced = true;
        } else if let Some(comment) = text.strip_prefix("# ").filter(|_| depth == 0)
            && is_complaint(comment)
        {
            self.complaint = Some(comment.to_owned());
            return false;
        } else if text.starts_with('}') {
            self.flush();
            self.close(depth + 1);
        } else if let Some(reason) = bail_out(text) {
            self.flush();
            let mut first = self.levels.iter().take(1);
            let known = self.told || first.any(|l| l.points > 0 || l.plan.is_some());
            if known && self.levels.len() >= depth {
                self.told = true;
                let level = self.level(depth);
                level.bailed = true;
                level.reading.object(format!("bailed out: {reason}"));
            }
        } else {
            return false;
        }
        true
    }

    /// The level at a depth; opened if it is the next.
    fn level(&mut self, depth: usize) -> &mut Level {
        while self.levels.len() <= depth {
            self.levels.push(Level::default());
        }
        // It is there: the loop above made it.
        let at = depth.min(self.levels.len().saturating_sub(1));
        match self.levels.get_mut(at) {
            Some(level) => level,
            None => &mut self.total,
        }
    }

    fn point(&mut self, depth: usize, point: &Point<'_>) {
        self.flush();
        // A subtest's own plan is not a first one: an unannounced level is trusted when its plan
        // comes.
        self.close(depth + 1);
        // Another document follows.
        let mut first = self.levels.iter().take(1);
        let is_new = depth == 0 && point.number == Some(1);
        if is_new && first.any(Level::is_complete_by_last_plan) {
            self.close(0);
        }
        let level = self.level(depth);
        level.points = level.points.saturating_add(1);
        level.numbered |= level.points == 1 && point.number == Some(1);
        level.below = point.opens.then(|| point.label());
        if let Some(number) = point.number.filter(|n| *n > 0)
            && !level.numbers.take(number)
        {
            level.object(format!("two points have the number {number}"));
        }
        if let Some(Plan { count, first }) = level.plan
            && (!first || point.number.is_some_and(|n| n > count))
        {
            let shown = point.number.unwrap_or(level.points);
            level.object(format!("test {shown} is outside of the plan 1..{count}"));
        }
        let counts = level.reading.tests.get_or_insert_default();
        let count = match (point.directive, point.ok) {
            (Some(_), _) => &mut counts.skipped,
            (None, true) => &mut counts.passed,
            (None, false) => &mut counts.failed,
        };
        *count = count.saturating_add(1);
        if point.directive.is_none() && !point.ok {
            let mut path = self.path(depth);
            path.push(point.label());
            let name = message::path(path.iter().map(String::as_str));
            self.failure = Some((depth, FailedTest::from_name(name), Message::default()));
        }
        self.after_point = Some(depth * INDENT);
    }

    fn plan(&mut self, depth: usize, count: u64, reason: Option<&str>) {
        self.flush();
        self.close(depth + 1);
        if depth == 0 && self.levels.first().is_some_and(Level::is_complete) {
            // Another document follows.
            self.close(0);
        }
        let level = self.level(depth);
        if level.plan.is_some() {
            level.object("two plans".to_owned());
            return;
        }
        level.plan = Some(Plan {
            count,
            first: level.points == 0,
        });
        // A plan alone is also a range of numbers in other people's output; nothing planned is
        // TAP's word for it.
        level.announced |= count == 0 && reason.is_some();
        let has_points = level.points > 0;
        self.told |= depth == 0 && (count == 0 || has_points);
    }

    /// Ends the levels from this depth on, the deepest first.
    fn close(&mut self, depth: usize) {
        if self.levels.len() <= depth {
            return;
        }
        self.flush();
        while self.levels.len() > depth {
            let Some(mut level) = self.levels.pop() else {
                return;
            };
            let outer = self.levels.is_empty();
            if outer {
                let shown =
                    level.plan.is_some() && level.points > 0 || level.announced || level.bailed;
                self.told |= shown || level.points > 0 && level.numbered;
            } else if !level.announced
                && !level.bailed
                && (level.plan.is_none() || level.points == 0)
            {
                continue;
            }
            // What was never told to be TAP says nothing.
            if outer && !self.told {
                continue;
            }
            level.check();
            let above = self.levels.last_mut().unwrap_or(&mut self.total);
            above.reading.add(level.reading);
        }
    }

    /// The names of the subtests that are open above a depth.
    fn path(&self, depth: usize) -> Vec<String> {
        let above = self.levels.iter().take(depth);
        above.filter_map(|level| level.below.clone()).collect()
    }

    /// A line in a YAML block.
    fn detail(&mut self, indent: usize, text: &str) {
        let Some((_, test, message)) = &mut self.failure else {
            return;
        };
        if let Some(key) = self.block {
            if indent > key || text.is_empty() {
                // vitest nests what others write flat.
                let text = text.strip_prefix("message: ").map_or(text, unquoted);
                if !text.starts_with("name: ") {
                    message.line(text);
                }
                return;
            }
            self.block = None;
            message.end();
        }
        let Some((key, value)) = text.split_once(':') else {
            return;
        };
        let value = value.trim();
        match key {
            "error" | "message" if message.is_empty() => {
                if matches!(value, "" | "|" | "|-" | "|+" | ">" | ">-" | ">+") {
                    self.block = Some(indent);
                } else {
                    message.line(unquoted(value));
                    message.end();
                }
            }
            "location" | "at" if test.file.is_none() => {
                if let Some((file, line)) = location::located(unquoted(value)) {
                    test.file = Some(file.to_owned());
                    test.line = Some(line);
                }
            }
            _ => {}
        }
    }

    /// A line that is not TAP, or a comment: after a failed point it says why.
    fn told_of_failure(&mut self, line: &str) {
        if let Some((_, _, message)) = &mut self.failure {
            let text = line.trim().trim_start_matches("# ");
            if text.starts_with("at ") {
                message.end();
            }
            message.line(text);
        }
    }

    fn flush(&mut self) {
        self.yaml = None;
        self.block = None;
        if let Some((depth, mut test, mut message)) = self.failure.take() {
            test.message = message.take();
            self.level(depth).reading.fail(test);
        }
    }
}

impl Level {
    fn object(&mut self, problem: String) {
        // One is enough to tell, thousands of points outside of a plan are not more.
        if self.reading.problems.len() < 3 {
            self.reading.object(problem);
        }
    }

    /// It is over and as it was planned, so that what follows is another document.
    fn is_complete(&self) -> bool {
        self.plan.is_some_and(|plan| plan.count == self.points)
    }

    fn is_complete_by_last_plan(&self) -> bool {
        self.is_complete() && self.plan.is_some_and(|plan| !plan.first)
    }

    /// Returns the signs of failure at its end.
    fn check(&mut self) {
        match self.plan {
            _ if self.bailed => {}
            None => self.object(format!("{} tests without a plan", self.points)),
            Some(plan) if plan.count != self.points => {
                self.object(format!("{} tests planned, {} ran", plan.count, self.points));
            }
            Some(_) => {}
        }
    }
}

/// A test point.
#[derive(Debug, PartialEq, Eq)]
struct Point<'a> {
    ok: bool,
    number: Option<u64>,
    name: &'a str,
    directive: Option<Directive>,
    /// Its subtests follow in braces.
    opens: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    Skip,
    Todo,
}

impl Point<'_> {
    /// Returns its name, or else its number.
    fn label(&self) -> String {
        match self.number {
            _ if !self.name.is_empty() => unescaped(self.name),
            Some(number) => number.to_string(),
            None => "unnamed".to_owned(),
        }
    }
}

fn point(text: &str) -> Option<Point<'_>> {
    let (ok, rest) = match text.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok")?),
    };
    let trimmed = rest.trim_start_matches(' ');
    // `ok` is followed by a blank or nothing; `ok<tab>` is what `go test` writes.
    if !rest.is_empty() && trimmed.len() == rest.len() {
        return None;
    }
    let (number, rest) = match number::count(trimmed).map(|(n, behind)| (n, behind.trim_start())) {
        Some((number, behind))
            if behind.is_empty() || trimmed.contains(' ') && !trimmed.starts_with(behind) =>
        {
            let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
            // A number is a word of its own.
            match trimmed.get(digits..) {
                Some(behind) if behind.is_empty() || behind.starts_with(' ') => {
                    (Some(number), behind.trim_start())
                }
                _ => (None, trimmed),
            }
        }
        _ => (None, trimmed),
    };
    let rest = if rest == "-" { "" } else { rest };
    let rest = rest.strip_prefix("- ").unwrap_or(rest).trim();
    let (rest, opens) = match rest.strip_suffix('{') {
        Some(rest) if rest.is_empty() || rest.ends_with(' ') => (rest.trim_end(), true),
        _ => (rest, false),
    };
    let (name, directive) = split_directive(rest);
    Some(Point {
        ok,
        number,
        name,
        directive,
        opens,
    })
}

/// Cuts a description at its directive: an unescaped `#` after a blank and one of the two words.
fn split_directive(text: &str) -> (&str, Option<Directive>) {
    for (at, _) in text.match_indices('#') {
        let before = text.get(..at).unwrap_or_default();
        if !before.is_empty() && !before.ends_with([' ', '\t']) {
            continue;
        }
        let comment = text.get(at + 1..).unwrap_or_default().trim_start();
        let end = comment
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(comment.len());
        let word = comment.get(..end).unwrap_or_default();
        let directive = match word.to_ascii_lowercase().as_str() {
            "skip" | "skipped" => Some(Directive::Skip),
            "todo" => Some(Directive::Todo),
            _ if comment.starts_with("time=") => None,
            _ => continue,
        };
        return (before.trim_end(), directive);
    }
    (text, None)
}

/// `1..N`, and why nothing is planned.
fn plan(text: &str) -> Option<(u64, Option<&str>)> {
    let (count, rest) = number::count(text.strip_prefix("1..")?)?;
    match rest.trim().strip_prefix('#') {
        Some(reason) => Some((count, Some(reason.trim()))),
        None => rest.trim().is_empty().then_some((count, None)),
    }
}

/// `fail 1`, `cancelled 1`, `Looks like your test exited with 255 just after 2.`
fn is_complaint(comment: &str) -> bool {
    let count = after(comment, &["fail ", "cancelled "]);
    let count = count.and_then(number::exact);
    let words = ["Looks like you failed ", "Looks like your test "];
    count.is_some_and(|n| n > 0) || starts(comment, &words)
}

fn bail_out(text: &str) -> Option<&str> {
    const WORDS: &str = "bail out!";
    let head = text.get(..WORDS.len())?;
    head.eq_ignore_ascii_case(WORDS)
        .then(|| text.get(WORDS.len()..).unwrap_or_default().trim())
}

/// `\#` and `\\` in a description mean the characters.
fn unescaped(text: &str) -> String {
    text.replace("\\#", "#").replace("\\\\", "\\")
}

/// A YAML scalar on one line, without its quotes.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    quoted('\'').or_else(|| quoted('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::counted;
    use crate::output::read;

    fn tests(text: &str) -> Option<(u64, u64, u64, usize)> {
        counted(&FORMAT, text)
    }

    #[test]
    fn documents() {
        for (text, want) in [
            ("1..1\nok 1 - prints not ok 2 - x\n", Some((1, 0, 0, 0))),
            (
                "ok 1 a\nnot ok 2 b\nok 3 c # SKIP -\n# tests 2\n1..3\n",
                Some((1, 1, 1, 0)),
            ),
            (
                "TAP version 13\n1..3\nok\nnot ok # todo\nok 3 # Skip: no db\n",
                Some((1, 0, 2, 0)),
            ),
            ("1..2\nok 1\n", Some((1, 0, 0, 1))),
            ("1..1\nok 1\nok 2\n", Some((2, 0, 0, 2))),
            ("ok 1\nok 2\n", Some((2, 0, 0, 1))),
            (
                "1..3\nok 1 - a\nBail out! database is down\n",
                Some((1, 0, 0, 1)),
            ),
            ("1..3\nok 1 - a\nbail OUT!\n", Some((1, 0, 0, 1))),
            (
                "1..2\n# Subtest: s\n    Bail out! no\nok 1 - s\nok 2\n",
                Some((2, 0, 0, 1)),
            ),
            ("ok 1\n1..1\n# pass 0\n# fail 1\n", Some((1, 0, 0, 1))),
            ("ok 1\n1..1\n# pass 1\n# fail 0\n", Some((1, 0, 0, 0))),
            (
                "ok 1\n1..1\n# Looks like your test exited with 255 just after 1.\n",
                Some((1, 0, 0, 1)),
            ),
            ("1..0 # SKIP nothing to do\n", Some((0, 0, 0, 0))),
            ("1..0\n", Some((0, 0, 0, 0))),
            ("TAP version 14\n", Some((0, 0, 0, 1))),
            (
                "1..2\nok 1 - issue#todo\nok 2 - a \\# skip\n",
                Some((2, 0, 0, 0)),
            ),
            (
                "1..2\nok 1 - fixes #1 # TODO\nok 2 - # skipping is fun\n",
                Some((1, 0, 1, 0)),
            ),
            ("1..1\r\nok 1\r\n", Some((1, 0, 0, 0))),
            ("1..2\nok 1\nok 2\n1..1\nok 1\n", Some((3, 0, 0, 0))),
            ("ok 1\nok 2\n1..2\nok 1\n1..1\n", Some((3, 0, 0, 0))),
            (
                "TAP version 13\n1..1\nok 1\nTAP version 13\n1..2\nok 1\n",
                Some((2, 0, 0, 1)),
            ),
            ("1..1\n1..1\nok 1\n", Some((1, 0, 0, 1))),
            ("1..99999999999999999999999\nok 1\n", Some((1, 0, 0, 1))),
            (
                "not ok 5 - printed\nTAP version 13\n1..1\nok 1\n",
                Some((1, 0, 0, 0)),
            ),
            ("1..2\n", None),
            ("ok  \tgithub.com/x/z\t0.005s\n", None),
            ("okay\nok then\nnot ok\n", None),
            ("1..5 is a range\n", None),
            ("", None),
        ] {
            assert_eq!(tests(text), want, "{text}");
        }
    }

    #[test]
    fn subtests() {
        for (name, text, want) in [
            (
                "before",
                "1..1\n# Subtest: s\n    ok 1 - a\n    not ok 2 - b\n    1..2\nnot ok 1 - s\n",
                Some((1, 2, 0, 0)),
            ),
            (
                "inside",
                "    # Subtest: s\n    ok 1 - a\n    1..1\nok 1 - s\n1..1\n",
                Some((2, 0, 0, 0)),
            ),
            (
                "bare",
                "    ok 1 - a\n    1..1\nok 1 - s\n1..1\n",
                Some((2, 0, 0, 0)),
            ),
            (
                "braces",
                "1..1\nok 1 - s # time=1ms {\n    1..1\n    ok 1 - a\n}\n",
                Some((2, 0, 0, 0)),
            ),
            (
                "no subtest",
                "1..1\nok 1 - s\n    ok 1 - printed\n    not ok 2 - printed\n",
                Some((1, 0, 0, 0)),
            ),
            (
                "short",
                "# Subtest: s\n    1..2\n    ok 1 - a\nok 1 - s\n1..1\n",
                Some((2, 0, 0, 1)),
            ),
            (
                "yaml",
                "1..2\nnot ok 1\n  ---\n  x: |\n    not ok 2 - no\nok 5\n  ...\nok 2\n",
                Some((1, 1, 0, 0)),
            ),
            (
                "skipped",
                "# Subtest: s\n    1..0 # SKIP no\nok 1 - s # SKIP no\n1..1\n",
                Some((0, 0, 1, 0)),
            ),
        ] {
            assert_eq!(tests(text), want, "{name}");
        }
        let deep: String = (0..500)
            .map(|i| format!("{}# Subtest: x\n", " ".repeat(4 * i)))
            .collect();
        assert!(tests(&format!("TAP version 14\n{deep}")).is_some());
    }

    #[test]
    fn failures() {
        let text = "TAP version 13\n# Subtest: s\n    # Subtest: a \\# b\n    not ok 1 - a \\# b\n      ---\n      location: '/x/a.mjs:4:1'\n      error: |-\n        boom\n        more\n      code: 'X'\n      ...\n    1..1\nnot ok 1 - s\n  ---\n  error: '1 subtest failed'\n  ...\nnot ok 2\n# why\n  and\n1..2\n";
        let reading = read(&[&FORMAT], text.as_bytes(), b"").unwrap();
        let failed: Vec<_> = reading
            .failed_tests
            .iter()
            .map(|t| {
                (
                    t.name.as_str(),
                    t.message.as_deref(),
                    t.file.as_deref(),
                    t.line,
                )
            })
            .collect();
        assert_eq!(
            failed,
            [
                ("s > a # b", Some("boom\nmore"), Some("/x/a.mjs"), Some(4)),
                ("s", Some("1 subtest failed"), None, None),
                ("2", Some("why\nand"), None, None),
            ]
        );
    }
}
