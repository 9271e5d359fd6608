//! Reads the output of pytest: its last line, and the sections and the short summary before it.
//!
//! Written from the output of pytest 7 to 9. Tests may print what pytest prints, also whole
//! sessions (tests of plugins do): sessions nest like brackets, and the last summary counts.

use crate::output::kit::location::place;
use crate::output::kit::number::{self, count, counted};
use crate::output::reader::{Format, FormatName, Reader, Stream, after, starts};
use crate::results::{FAILED_KEPT, FailedTest, Reading, TEXT_KEPT, TestCounts, clipped};
use vplan_base::word::has_word;

/// Text of pytest.
pub const FORMAT: Format = Format::run::<Pytest>("pytest", &[FormatName::Pytest], &[], |line| {
    line.starts_with("==") || summary(line).is_some()
});

#[derive(Default)]
struct Pytest {
    /// The number of open sessions, one in the other.
    open: usize,
    /// What the session collected: the tests that it selects, with what else counts as one, and
    /// the errors.
    collected: Option<(u64, u64)>,
    /// The tests of them that a plug-in says it left, which shares them among machines.
    share: Option<u64>,
    /// Whether a session said that it starts; then its summary is framed.
    framed: bool,
    /// Of the sessions before the last one.
    before: Reading,
    /// Whether it stopped after its first failures, so that later tests did not run.
    stopped_early: bool,
    /// The last summary.
    last: Option<Summary>,
    zone: Zone,
    /// The sections about failures since the last summary.
    sections: Vec<Section>,
    /// The lines of the short summary since its heading.
    short: Vec<FailedTest>,
    /// The reason why the session stopped, when the line before gives it.
    stopped: Option<String>,
    /// By the letters of its progress, for when it prints no summary (`-qq`); and whether they go
    /// to the end.
    letters: Option<(TestCounts, bool)>,
    /// Whether a line of progress says that a test failed, or the progress did not go to its end.
    marked_failed: bool,
}

/// A summary and what belongs to it.
struct Summary {
    counts: TestCounts,
    /// Whether its session shows more than this line, which a test may print.
    is_own: bool,
    problem: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Zone {
    #[default]
    Progress,
    /// Sections about failures or errors.
    Failures,
    /// The list at the end.
    Short,
}

/// `____ test_b ____` and what is below it.
#[derive(Default)]
struct Section {
    title: String,
    message: String,
    /// The indentation of the message.
    indent: usize,
    /// The message has ended; another one, of the last exception, may come.
    over: bool,
    /// Whether the output of the test follows.
    done: bool,
    file: Option<String>,
    line: Option<u64>,
}

impl Pytest {
    fn banner(&mut self, line: &str) {
        let title = line.trim_matches('=');
        let Some(title) = title.strip_prefix(' ').and_then(|t| t.strip_suffix(' ')) else {
            return;
        };
        match title {
            "test session starts" => {
                if self.open == 0 {
                    self.settle();
                }
                self.framed = true;
                if self.open == 0 {
                    (self.collected, self.share) = (None, None);
                }
                self.open = self.open.saturating_add(1);
            }
            "FAILURES" | "ERRORS" => {
                self.zone = Zone::Failures;
                if let Some(last) = self.sections.last_mut() {
                    last.done = true;
                }
            }
            "short test summary info" => {
                self.zone = Zone::Short;
                self.short.clear();
            }
            "warnings summary" | "PASSES" | "XFAILURES" | "XPASSES" => self.zone = Zone::Progress,
            _ => match summary(title) {
                Some(sum) if self.framed || !self.is_printed() => self.sum(sum),
                Some(_) => {}
                // What a test printed may look like a heading.
                None => {}
            },
        }
    }

    fn sum(&mut self, (mut counts, announced, deselected): (TestCounts, u64, u64)) {
        let is_own = self.framed || self.is_of_letters(counts) || !self.sections.is_empty();
        let failed = |last: &Summary| last.is_own && last.counts.failed > 0;
        let is_another = !self.framed && self.is_of_letters(counts)
            || self.open == 0 && self.last.as_ref().is_some_and(failed);
        if is_another && self.last.is_some() {
            // Another session, that does not say that it starts (`-q`).
            self.settle();
        }
        self.open = self.open.saturating_sub(1);
        if let Some((letters, complete)) = self.letters.filter(|_| self.is_of_letters(counts)) {
            self.marked_failed |= letters.failed > 0 || !complete;
        }
        if self.open == 0 && !self.is_printed() {
            // What follows is not pytest's.
            self.zone = Zone::Progress;
            self.letters = None;
        }
        let problem = self.stopped.take();
        let mut problem = problem.or_else(|| counts.differ_from(announced));
        if let Some((tests, errors)) = self.collected.filter(|_| self.open == 0) {
            // A part that a plug-in takes out of them is often not counted as deselected.
            let tests = self.share.unwrap_or(tests);
            let shown = counts.all().saturating_add(deselected);
            if counts.failed == 0 && shown < tests {
                self.before
                    .leave_out(counts.differ_from(tests).unwrap_or_default());
                counts.unshown = tests - shown;
            }
            if errors > counts.failed {
                problem = problem.or(Some("an error when it collected is not shown".to_owned()));
            }
        }
        if self.open == 0 && std::mem::take(&mut self.marked_failed) && counts.failed == 0 {
            let marked = "its progress shows a failure, or does not go to its end";
            problem = problem.or(Some(marked.to_owned()));
        }
        self.last = Some(Summary {
            counts,
            is_own,
            problem,
        });
    }

    /// `collected 10 items / 1 error / 7 deselected / 1 skipped / 3 selected`
    fn collects(&mut self, text: &str) {
        let (mut tests, mut errors) = (0_u64, 0);
        for (number, word) in number::counts(text, '/') {
            match word {
                "item" | "items" | "skipped" => tests = tests.saturating_add(number),
                "error" | "errors" => {
                    tests = tests.saturating_add(number);
                    errors = number;
                }
                "deselected" => tests = tests.saturating_sub(number),
                _ => {}
            }
        }
        self.collected = Some((tests, errors));
    }

    /// Whether the lines that come are what a test printed.
    fn is_printed(&self) -> bool {
        self.zone == Zone::Failures && self.sections.last().is_some_and(|section| section.done)
    }

    /// Whether a summary is about as many tests as there were letters of progress.
    fn is_of_letters(&self, counts: TestCounts) -> bool {
        let total = |counts: TestCounts| counts.ran().saturating_add(counts.skipped);
        self.letters
            .is_some_and(|(letters, _)| total(letters) == total(counts))
    }

    /// Adds the last summary to those before it.
    fn settle(&mut self) {
        self.zone = Zone::Progress;
        let sections = std::mem::take(&mut self.sections);
        let failed = failed(sections, std::mem::take(&mut self.short));
        self.before.fail_all(failed);
        if let Some(last) = self.last.take() {
            self.before.tests.get_or_insert_default().add(last.counts);
            self.before.object_all(last.problem);
        }
    }

    /// `..F.s   [ 42%]`
    fn progress(&mut self, line: &str) {
        let Some((letters, rest)) = line.split_once(' ') else {
            return;
        };
        let percent = rest.trim_start().strip_prefix('[');
        let Some((percent, "%]")) = percent.and_then(|percent| count(percent.trim_start())) else {
            return;
        };
        if !letters.bytes().all(|b| b".FEsxXR".contains(&b)) {
            return;
        }
        let (counts, complete) = self.letters.get_or_insert_default();
        for letter in letters.bytes() {
            let sum = match letter {
                b'.' => &mut counts.passed,
                b's' | b'x' => &mut counts.skipped,
                b'R' => continue,
                _ => &mut counts.failed,
            };
            *sum = sum.saturating_add(1);
        }
        *complete = percent == 100;
    }

    /// A line of a section.
    fn section(&mut self, line: &str) {
        if line.starts_with("____") || line.starts_with("_ ") {
            let title = line.trim_matches('_').strip_prefix(' ');
            if let Some(title) = title.and_then(|title| title.strip_suffix(' '))
                && line.ends_with('_')
                && !title.chars().all(|c| matches!(c, ' ' | '_'))
                && self.sections.len() < FAILED_KEPT
            {
                let title = clipped(title);
                self.sections.push(Section {
                    title,
                    ..Section::default()
                });
            }
            return;
        }
        let Some(section) = self.sections.last_mut().filter(|s| !s.done) else {
            return;
        };
        if line.starts_with("---") && line.contains(" Captured ") {
            section.done = true;
            return;
        }
        if let Some(text) = line.strip_prefix("E ") {
            if section.over {
                section.message.clear();
                section.over = false;
            }
            if section.message.len() < TEXT_KEPT {
                let indent = text.len() - text.trim_start_matches(' ').len();
                if section.message.is_empty() {
                    section.indent = indent;
                } else {
                    section.message.push('\n');
                }
                let text = text.get(indent.min(section.indent)..).unwrap_or_default();
                section.message.push_str(text.trim_end());
            }
            return;
        }
        section.over |= !section.message.is_empty();
        if line.starts_with("[XPASS(strict)]") {
            section.message = line.trim_end().to_owned();
        }
        // `test_x.py:4: AssertionError` ends the traceback.
        if let Some(colon) = line.find(':')
            && !line.starts_with([' ', '/', '.'])
            && line.get(..colon).is_some_and(|file| file.ends_with(".py"))
            && let Some(at) = place(line)
        {
            section.file = Some(at.file.to_owned());
            section.line = Some(at.line);
        }
    }

    fn short(&mut self, line: &str) {
        let (message, rest) = if let Some(rest) = after(line, &["FAILED ", "ERROR "]) {
            (None, rest)
        } else if let Some(rest) = line.strip_prefix("XPASS ") {
            (Some("passed although it is expected to fail"), rest)
        } else {
            return;
        };
        if self.short.len() >= FAILED_KEPT {
            return;
        }
        // A parameter may hold ` - ` itself.
        let from = match (rest.find('['), rest.find(" - ")) {
            (Some(bracket), Some(dash)) if bracket < dash => {
                rest.find("] - ").map_or(rest.len(), |at| at + 1)
            }
            (_, dash) => dash.unwrap_or(rest.len()),
        };
        let (name, why) = rest.split_at_checked(from).unwrap_or((rest, ""));
        let name = clipped(name.trim_end());
        let why = why.strip_prefix(" - ").map(str::trim);
        let message = message.or(why.filter(|why| !why.is_empty()));
        let message = message.map(str::to_owned);
        let file = name.split("::").next().filter(|file| file.ends_with(".py"));
        self.short.push(FailedTest {
            file: file.map(str::to_owned),
            line: None,
            message,
            name,
        });
    }
}

impl Reader for Pytest {
    fn line(&mut self, _: Stream, line: &str) {
        match line.as_bytes() {
            [b'=', b'=' | b' ', ..] => return self.banner(line),
            [b'!', b'!' | b' ', ..] => {
                let why = line.trim_matches('!').trim();
                // `pytest.exit` with code 0 says so after the summary.
                if let Some(last) = self.last.as_mut().filter(|_| self.open == 0)
                    && starts(why, &["_pytest.outcomes.Exit", "KeyboardInterrupt"])
                {
                    let problem = clipped(&format!("the session stopped: {why}"));
                    last.problem.get_or_insert(problem);
                    return;
                }
                // `-x` stops after a failure, which is counted.
                let is_early = why.starts_with("stopping after ");
                if is_early {
                    let behind = "the tests behind the first failures";
                    self.before.leave_out(behind);
                }
                let stopped = || clipped(&format!("the session stopped: {why}"));
                self.stopped = (!why.is_empty() && !is_early).then(stopped);
                return;
            }
            [b'0'..=b'9', ..] | [b'n', b'o', b' ', b't', ..] if !self.framed => {
                if let Some(sum) = summary(line)
                    && (!self.is_printed() || self.is_of_letters(sum.0))
                {
                    return self.sum(sum);
                }
            }
            [b'.' | b'F' | b'E' | b's' | b'x' | b'X' | b'R', ..] if line.ends_with("%]") => {
                self.progress(line)
            }
            [b'I', b'N', b'T', ..] | [b'F', b'A', b'I', b'L', b' ', ..]
                if self.open <= 1
                    && starts(line, &["INTERNALERROR>", "FAIL Required test cov"]) =>
            {
                self.before.object(clipped(line));
            }
            [b'R', b'u', b'n', ..] if self.open == 1 => self.share = share(line).or(self.share),
            [b'c', b'o', b'l', ..] if self.open == 1 && self.collected.is_none() => {
                if let Some(text) = line.strip_prefix("collected ") {
                    self.collects(text);
                }
            }
            _ if self.open == 1 && line.ends_with("%]") => {
                self.marked_failed |= line.contains("::") && line.contains(" FAILED ");
            }
            _ => {}
        }
        if self.stopped.is_some() && !line.is_empty() {
            self.stopped = None;
        }
        match self.zone {
            Zone::Progress => {}
            Zone::Failures => self.section(line),
            Zone::Short => self.short(line),
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        if self.last.is_none() && !self.framed {
            // Without any summary the letters count.
            let (counts, complete) = self.letters?;
            let problem = (!complete).then(|| "the progress does not go to its end".to_owned());
            self.last = Some(Summary {
                counts,
                is_own: true,
                problem,
            });
        }
        let mut reading = Reading::default();
        if self.last.is_none() {
            reading.object("the session ended without its summary");
        }
        self.settle();
        reading.add(self.before);
        let failed = reading.tests.get_or_insert_default().failed;
        if self.stopped_early {
            reading.leave_out("the tests behind the first failures");
        }
        // A session that is torn after another one.
        if u64::try_from(reading.failed_tests.len()).is_ok_and(|named| named > failed) {
            reading.object("more failed tests are named than counted");
        }
        Some(reading)
    }
}

/// The failed tests: those of the list, with what their sections say; without a list the sections.
fn failed(mut sections: Vec<Section>, short: Vec<FailedTest>) -> Vec<FailedTest> {
    if short.is_empty() {
        let test = |s: Section| FailedTest {
            file: s.file,
            line: s.line,
            message: Some(s.message).filter(|m| !m.is_empty()),
            name: s.title,
        };
        return sections.into_iter().map(test).collect();
    }
    let explained = |mut test: FailedTest| {
        // `t.py::TestC::test_d[1]` has the section `TestC.test_d[1]`; `t.py` the section `ERROR
        // collecting t.py`.
        let name = match test.name.split_once("::") {
            Some((_, name)) => match name.split_once('[') {
                Some((name, parameters)) => format!("{}[{parameters}", name.replace("::", ".")),
                None => name.replace("::", "."),
            },
            None => test.name.clone(),
        };
        let is_it = |s: &Section| {
            let titled = s.title == name
                || (s.title.starts_with("ERROR ") && s.title.ends_with(&format!(" {name}")));
            titled
                && (s.file.is_none()
                    || test.file.is_none()
                    || !s.title.starts_with("test")
                    || same_file(s, &test))
        };
        if let Some(at) = sections.iter().position(is_it) {
            let section = sections.remove(at);
            if section.line.is_some() {
                (test.file, test.line) = (section.file, section.line);
            }
            if !section.message.is_empty() {
                test.message = Some(section.message);
            }
        }
        test
    };
    short.into_iter().map(explained).collect()
}

/// Whether a section may be about a test of this file: a failure inside of a helper has the
/// helper's place, so only another test file speaks against it.
fn same_file(section: &Section, test: &FailedTest) -> bool {
    let (Some(section), Some(test)) = (&section.file, &test.file) else {
        return true;
    };
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    !name(section).starts_with("test_") || name(section) == name(test)
}

/// `1 failed, 2 passed, 1 xfailed in 0.12s (0:01:02)`, `no tests ran in 0.00s`: the counts, how
/// many tests they are with those that ended in a way that is not known, and how many were deselected.
fn summary(text: &str) -> Option<(TestCounts, u64, u64)> {
    let (counts, time) = text.rsplit_once(" in ")?;
    let (_, after) = count(time)?;
    let after = after
        .strip_prefix('.')
        .and_then(count)
        .map_or(after, |(_, after)| after);
    let after = after.strip_prefix("s")?;
    let long = after.starts_with(" (") && after.ends_with(')');
    if !after.is_empty() && !long {
        return None;
    }
    let mut tests = TestCounts::default();
    let (mut reruns, mut odd, mut deselected, mut is_known) = (0_u64, 0_u64, 0_u64, false);
    for part in counts.split(", ") {
        if part == "no tests ran" || part.starts_with("no tests collected") {
            is_known = true;
            continue;
        }
        let (n, word) = counted(part)?;
        if !word.bytes().all(|b| b.is_ascii_lowercase() || b == b' ') {
            return None;
        }
        let outcome = word.rsplit(' ').next().unwrap_or_default();
        is_known |= has_word(WORDS, outcome);
        let sum = match word {
            "passed" => &mut tests.passed,
            "failed" | "xpassed" | "error" | "errors" => &mut tests.failed,
            "skipped" | "xfailed" => &mut tests.skipped,
            "rerun" => &mut reruns,
            "deselected" => &mut deselected,
            // Of parts of tests (`subtests passed`).
            _ if matches!(outcome, "failed" | "error" | "errors") => &mut tests.failed,
            _ if has_word(WORDS, outcome) => continue,
            _ => &mut odd,
        };
        *sum = sum.saturating_add(n);
    }
    // Those of tests that failed in the end are not told apart.
    tests.flaky = reruns.min(tests.passed);
    let announced = tests.all().saturating_add(odd);
    is_known.then_some((tests, announced, deselected))
}

/// `Running 3 items in this shard`, `Running test group #1 (3 tests)`
fn share(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("Running ")?;
    if let Some((n, rest)) = counted(rest) {
        return rest.starts_with("items in this shard").then_some(n);
    }
    let (_, group) = rest.strip_prefix("test group #")?.rsplit_once(" (")?;
    counted(group).map(|(n, _)| n)
}

/// The words of pytest's counts and of its plug-ins'; tests that are only collected do not run.
const WORDS: &str = "collected deselected error errors failed passed quarantined rerun reruns \
    retried selected skipped warning warnings xfailed xpassed";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Reading> {
        crate::output::read(&[&FORMAT], text.as_bytes(), b"")
    }

    #[test]
    fn summaries() {
        let counts = |passed, failed, skipped| {
            Some(TestCounts {
                failed,
                passed,
                skipped,
                ..TestCounts::default()
            })
        };
        let flaky = summary("3 passed, 2 rerun in 0.12s").map(|(tests, ..)| tests.flaky);
        assert_eq!(flaky, Some(2));
        for (text, want) in [
            ("2 passed in 0.01s", counts(2, 0, 0)),
            (
                "1 failed, 2 passed, 3 skipped, 4 deselected, 5 xfailed, 6 xpassed, 7 warnings, 8 errors in 61.10s (0:01:01)",
                counts(2, 15, 8),
            ),
            ("1 failed, 1 rerun in 0.12s", counts(0, 1, 0)),
            ("no tests ran in 0.00s", counts(0, 0, 0)),
            ("3 tests collected in 0.01s", counts(0, 0, 0)),
            ("2 passed, 3 subtests passed in 0.01s", counts(2, 0, 0)),
            (
                "99999999999999999999999 passed in 1s",
                counts(u64::MAX, 0, 0),
            ),
            ("2 passed", None),
            ("2 passed in 3 minutes", None),
            ("2 passed in 0.01seconds", None),
            ("put 2 passed in 1s", None),
            ("3 of 4: passed in 1s", None),
        ] {
            assert_eq!(summary(text).map(|(tests, ..)| tests), want, "{text}");
        }
    }

    #[test]
    fn sessions() {
        let starts = "=== test session starts ===\n";
        for (what, text, passed, failed, problem) in [
            (
                "one",
                format!("{starts}=== 2 passed in 0.1s ===\n"),
                2,
                0,
                false,
            ),
            (
                "two",
                format!("{starts}=== 2 passed in 0.1s ===\n{starts}=== 1 failed in 0.1s ===\n"),
                2,
                1,
                false,
            ),
            (
                "printed",
                format!(
                    "{starts}=== 9 passed in 0.1s ===\n1 passed in 1s\n=== 2 passed in 0.1s ===\n"
                ),
                2,
                0,
                false,
            ),
            (
                "two quiet ones",
                "F  [100%]\n1 failed in 0.1s\n2 passed in 0.1s\n".to_owned(),
                2,
                1,
                false,
            ),
            (
                "two summaries",
                format!("{starts}=== 1 failed in 0.1s ===\n=== 2 passed in 0.1s ===\n"),
                2,
                1,
                false,
            ),
            (
                "sessions in a session",
                format!(
                    "{starts}{starts}=== 1 failed in 0.1s ===\n{starts}=== 1 failed in 0.1s ===\n=== 2 passed in 0.1s ===\n"
                ),
                2,
                0,
                false,
            ),
            (
                "quiet",
                "..  [100%]\n2 passed in 0.01s\n".to_owned(),
                2,
                0,
                false,
            ),
            ("died", format!("{starts}t.py .."), 0, 0, true),
            (
                "interrupted",
                format!("{starts}!!! Interrupted: no !!!\n=== 1 passed in 0.1s ===\n"),
                1,
                0,
                true,
            ),
            (
                "stopped after the first",
                format!("{starts}!!! stopping after 1 failures !!!\n=== 1 failed in 0.1s ===\n"),
                0,
                1,
                false,
            ),
            (
                "a test cried",
                format!("{starts}!!! Oh !!!\ndone\n=== 1 passed in 0.1s ===\n"),
                1,
                0,
                false,
            ),
        ] {
            let reading = read(&text).unwrap_or_else(|| panic!("{what}: not recognised"));
            let tests = reading.tests.unwrap();
            assert_eq!((tests.passed, tests.failed), (passed, failed), "{what}");
            assert_eq!(
                !reading.problems.is_empty(),
                problem,
                "{what}: {:?}",
                reading.problems
            );
        }
        for text in [
            "1 failed\n",
            "=== x ===\n",
            " 2 passed in 0.1s\n",
            "got 2 passed in 0.1s\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
