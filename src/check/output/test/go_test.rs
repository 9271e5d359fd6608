//! Reads the text that `go test` prints.
//!
//! With `-v` every test and subtest has a line and counts one by one. Without it, Go prints only
//! the tests that failed and one line a package, so how many passed is not known: the line `ok` of
//! a package then counts as one passed test, `[no tests to run]` and `[no test files]` as none.
//!
//! A test may print what Go prints. Where tests are announced (`=== RUN`), only an announced test
//! has a result, and a package's line among them is trusted only if none of them continues
//! afterwards.

use crate::output::findings::go_build::GoBuild;
use crate::output::kit::dedupe::{Open, PendingMessages, append, hash};
use crate::output::kit::location::place;
use crate::output::reader::{Format, FormatName, Reader, Stream, after, starts};
use crate::results::{FAILED_KEPT, FailedTest, Reading, TestCounts, clipped, fill};

pub const FORMAT: Format = Format::run::<GoTest>("go-test", &[FormatName::Go], &[], |line| {
    starts(line, &["PASS", "coverage: ", "ok  \t", "?   \t"])
});

#[derive(Default)]
struct GoTest {
    /// It is this format.
    known: bool,
    /// What the packages say that are over.
    done: Reading,
    /// Packages that are `ok` without a test named.
    bare: u64,
    /// Announced tests have had results: `-v`.
    verbose: bool,
    package: Package,
    /// A package that looked finished while its tests were not, with its line and those that came
    /// after it.
    doubtful: Option<(Package, Vec<String>)>,
    build: GoBuild,
}

/// The lines of the package whose own line follows.
#[derive(Default)]
struct Package {
    open: Open,
    said: PendingMessages,
    /// The test that prints: the last one that `=== RUN`, `CONT` or `NAME` named.
    speaker: Option<(u64, String)>,
    /// Tests are announced in it.
    announces: bool,
    /// The last failed test has just been reported, and what follows belongs to it.
    after_failure: bool,
    counts: TestCounts,
    failed: Vec<FailedTest>,
    /// The last line that was `PASS` or `FAIL`.
    word: Option<bool>,
    /// The first words of a panic.
    panic: Option<String>,
}

/// A line about a package.
enum Verdict<'a> {
    Ok { empty: bool },
    Failed { name: &'a str, why: &'a str },
    NoFiles,
}

impl Reader for GoTest {
    fn line(&mut self, stream: Stream, line: &str) {
        if stream == Stream::Err {
            return self.build.line(stream, line);
        }
        match line.as_bytes() {
            [b'o', b'k', b' ', ..] | [b'F', ..] | [b'?', ..] | [b'\t', ..] => {
                if let Some(verdict) = verdict(line) {
                    return self.package_line(line, &verdict);
                }
            }
            _ => {}
        }
        if let Some((before, name)) = announcement(line) {
            if before.is_empty() || self.package.announces {
                return self.announce(name);
            }
        } else if let Some(result) = result(line)
            && self.result(&result)
        {
            return;
        }
        self.other(line);
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.settle();
        let package = std::mem::take(&mut self.package);
        if package.announces || package.counts != TestCounts::default() {
            if package.word.is_none() {
                let torn = "the output ends before the result of a package";
                self.done.object(torn);
            } else if package.announces && !package.open.is_empty() {
                self.done.object("a test began and did not end");
            }
            self.close(package);
        } else if package.word == Some(false)
            && self.done.problems.is_empty()
            && self.done.tests.is_none_or(|tests| tests.failed == 0)
        {
            self.done.object("its last word is `FAIL`");
        }
        if !self.known {
            return None;
        }
        let counts = self.done.tests.get_or_insert_default();
        if !self.verbose {
            counts.passed = counts.passed.saturating_add(self.bare);
        }
        let mut reading = self.build.reading;
        reading.add(self.done);
        Some(reading)
    }
}

impl GoTest {
    fn announce(&mut self, name: &str) {
        self.known = true;
        let name = name.trim_end();
        let id = hash(&name);
        self.package.announces = true;
        self.package.after_failure = false;
        // A benchmark has no result.
        if !name.starts_with("Benchmark") {
            self.package.open.begin(id);
        }
        self.package.speaker = Some((id, clipped(name)));
    }

    /// Takes a result; whether it is one.
    fn result(&mut self, result: &TestResult<'_>) -> bool {
        let id = hash(&result.name);
        let open = &self.package.open;
        let is_before =
            |(doubtful, _): &mut (Package, _)| !open.holds(id) && doubtful.open.holds(id);
        // The package goes on: a test printed that line.
        if let Some((package, _)) = self.doubtful.take_if(is_before) {
            let since = std::mem::replace(&mut self.package, package);
            if since.announces {
                self.package.counts.add(since.counts);
                fill(&mut self.package.failed, FAILED_KEPT, since.failed);
            }
        }
        let package = &mut self.package;
        if package.announces {
            if !package.open.end(id) {
                return false;
            }
            self.verbose = true;
        } else if !result.at_start {
            return false;
        }
        self.known = true;
        package.after_failure = false;
        let said = package.said.take(id);
        package.speaker.take_if(|(speaker, _)| *speaker == id);
        let count = match result.word {
            "PASS" => &mut package.counts.passed,
            "SKIP" => &mut package.counts.skipped,
            _ => &mut package.counts.failed,
        };
        *count = count.saturating_add(1);
        if result.word == "FAIL" {
            package.after_failure = true;
            let test = FailedTest {
                message: said,
                ..FailedTest::from_name(clipped(result.name))
            };
            fill(&mut package.failed, FAILED_KEPT, [test]);
        }
        true
    }

    /// A line that is neither announcement nor result.
    fn other(&mut self, line: &str) {
        let package = &mut self.package;
        match line {
            "PASS" | "FAIL" => {
                package.word = Some(line == "PASS");
                package.after_failure = false;
                return;
            }
            "testing: warning: no tests to run" => self.known = true,
            _ if line.ends_with("PASS") && !line.starts_with(' ') => package.word = Some(true),
            _ => {}
        }
        if let Some(why) = line.strip_prefix("panic: ") {
            if package.panic.is_none() {
                let mut panic = String::new();
                append(&mut panic, why);
                package.panic = Some(panic);
            }
            let message = match package.failed.last_mut().filter(|_| package.after_failure) {
                Some(test) => test.message.get_or_insert_default(),
                None => return,
            };
            append(message, line);
        } else if package.after_failure && line.starts_with("    ") {
            // Without `-v`, and before Go 1.14, what a test said follows its result.
            if let Some(test) = package.failed.last_mut() {
                append(test.message.get_or_insert_default(), line);
            }
        } else if line.starts_with('\t') && package.after_failure {
            // A frame of the panic, which names the place.
            if line.contains("_test.go:")
                && let Some(test) = package.failed.last_mut()
            {
                append(test.message.get_or_insert_default(), line);
            }
        } else if let Some((who, _)) = &package.speaker
            && !line.starts_with("=== ")
        {
            package.said.add(*who, line);
        } else if let Some(name) = speaker(line) {
            package.speaker = Some((hash(&name), clipped(name)));
        }
    }

    fn package_line(&mut self, line: &str, verdict: &Verdict<'_>) {
        const WAITING: usize = 1000;
        if let Some((_, lines)) = &mut self.doubtful
            && !self.package.announces
            && lines.len() < WAITING
        {
            // A test that printed the first of them may have printed this one.
            lines.push(clipped(line));
            return;
        }
        self.settle();
        let package = &self.package;
        let passes = matches!(verdict, Verdict::Ok { .. });
        if passes && !package.announces && package.counts.failed > 0 && package.word.is_none() {
            // After output of a test: Go itself first says `PASS` or `FAIL`.
            return;
        }
        if package.open.is_empty() {
            self.conclude(verdict);
        } else if matches!(verdict, Verdict::Failed { .. }) {
            self.doubtful = Some((std::mem::take(&mut self.package), vec![clipped(line)]));
        }
        // A package whose tests have not ended is not `ok`: a test printed that.
    }

    /// Accepts the apparent end of a package.
    fn settle(&mut self) {
        if let Some((package, lines)) = self.doubtful.take() {
            let next = std::mem::replace(&mut self.package, package);
            let verdicts = lines.iter().filter_map(|line| verdict(line));
            verdicts.for_each(|verdict| self.conclude(&verdict));
            self.package = next;
        }
    }

    fn conclude(&mut self, verdict: &Verdict<'_>) {
        self.known = true;
        let mut package = std::mem::take(&mut self.package);
        match *verdict {
            Verdict::NoFiles => {}
            Verdict::Ok { empty } => {
                if !package.announces && package.word != Some(false) {
                    // Go does not print a failed test of a package that passed: another test
                    // printed it.
                    package.counts.failed = 0;
                    package.failed.clear();
                }
                if package.counts == TestCounts::default() && !empty {
                    self.bare = self.bare.saturating_add(1);
                }
            }
            Verdict::Failed { name, why } => {
                if package.counts.failed == 0 {
                    let mut problem = format!("package {name} failed");
                    if !why.is_empty() {
                        problem = format!("{problem} {why}");
                    }
                    if let Some((id, test)) = &package.speaker
                        && package.open.holds(*id)
                    {
                        problem = format!("{problem} while {test} ran");
                    }
                    if let Some(panic) = &package.panic {
                        problem = format!("{problem}: panic: {panic}");
                    }
                    self.done.object(problem);
                }
            }
        }
        self.close(package);
    }

    fn close(&mut self, package: Package) {
        self.done.tests.get_or_insert_default().add(package.counts);
        self.done.fail_all(package.failed.into_iter().map(located));
    }
}

/// A line `--- PASS: NAME (0.00s)`.
pub(super) struct TestResult<'a> {
    pub(super) word: &'a str,
    pub(super) name: &'a str,
    /// Nothing but blanks precedes it; otherwise a test did not end its last line.
    pub(super) at_start: bool,
}

pub(super) fn result(line: &str) -> Option<TestResult<'_>> {
    // Its end tells most lines apart.
    let (head, time) = line.trim_end().strip_suffix("s)")?.rsplit_once(" (")?;
    let at = head.rfind("--- ").filter(|_| is_seconds(time))?;
    let (before, rest) = head.split_at_checked(at)?;
    let (word, name) = rest.strip_prefix("--- ")?.split_once(": ")?;
    let is_result = matches!(word, "PASS" | "FAIL" | "SKIP") && !name.is_empty();
    is_result.then(|| TestResult {
        word,
        name,
        at_start: before.bytes().all(|b| b == b' '),
    })
}

/// A line `=== RUN   NAME`, and what precedes it on its line.
fn announcement(line: &str) -> Option<(&str, &str)> {
    if let Some(name) = line.strip_prefix("=== RUN   ") {
        return Some(("", name));
    }
    // A test that did not end its last line.
    let word = "=== RUN   ";
    let at = memchr::memmem::find(line.as_bytes(), word.as_bytes())?;
    Some((line.get(..at)?, line.get(at + word.len()..)?)).filter(|(_, name)| !name.is_empty())
}

fn speaker(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("=== ")?;
    after(rest, &["CONT  ", "NAME  "]).map(str::trim_end)
}

fn verdict(line: &str) -> Option<Verdict<'_>> {
    if let Some(rest) = line.strip_prefix("ok  \t") {
        let (name, rest) = rest.split_once('\t')?;
        let time = rest.split(['\t', ' ']).next()?;
        let is_time = time == "(cached)" || time.strip_suffix('s').is_some_and(is_seconds);
        return (is_time && is_package(name)).then(|| Verdict::Ok {
            empty: rest.contains("[no tests to run]"),
        });
    }
    if let Some(rest) = line.strip_prefix("FAIL\t") {
        let (name, rest) = rest.split_once(['\t', ' '])?;
        let time = rest.strip_suffix('s').is_some_and(is_seconds);
        let why = if time { "" } else { rest };
        let is_why = rest.starts_with('[') && rest.ends_with(']');
        return ((time || is_why) && is_package(name)).then_some(Verdict::Failed { name, why });
    }
    if let Some(rest) = line.strip_prefix("?   \t") {
        let (name, rest) = rest.split_once('\t')?;
        return (is_package(name) && rest.starts_with("[no test files]"))
            .then_some(Verdict::NoFiles);
    }
    // With `-cover`, Go 1.22 and later say it so.
    let (name, rest) = line.strip_prefix('\t')?.split_once("\t\t")?;
    (is_package(name) && rest.starts_with("coverage: ")).then_some(Verdict::NoFiles)
}

fn is_package(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace)
}

fn is_seconds(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// A failed test with the place that its first words name, or the first frame of a panic that is in
/// a test.
pub fn located(mut test: FailedTest) -> FailedTest {
    let Some(message) = &mut test.message else {
        return test;
    };
    let mut places = message.lines().filter_map(|line| place(line.trim()));
    let said = places.find(|at| at.file.ends_with(".go"));
    let frame = |line: &str| {
        let (place, _) = line.strip_prefix('\t')?.split_once(" +0x")?;
        let (file, line) = place.rsplit_once(':')?;
        let line = line.parse().ok()?;
        file.ends_with("_test.go").then(|| (file.to_owned(), line))
    };
    let said = said.map(|at| (at.file.to_owned(), at.line));
    if let Some((file, line)) = said.or_else(|| message.lines().find_map(frame)) {
        test.file = Some(file);
        test.line = Some(line);
    }
    // Its position tells no more than that place.
    let told = message.split("\ngoroutine ").next().unwrap_or_default();
    let told: Vec<_> = told.lines().filter(|line| frame(line).is_none()).collect();
    *message = dedent(told.join("\n").trim_end());
    test
}

/// A text without the indentation that all its lines share.
fn dedent(text: &str) -> String {
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let full = text.lines().filter(|line| !line.trim().is_empty());
    let shared = full.map(depth).min().unwrap_or(0);
    let lines = text
        .lines()
        .map(|line| line.get(shared..).unwrap_or_default().trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    /// `passed failed skipped`, the failed tests, whether something is wrong.
    fn summarize(out: &str) -> String {
        let Some(reading) = read(&[&FORMAT], out.as_bytes(), b"") else {
            return "-".to_owned();
        };
        let tests = reading.tests.unwrap();
        let names: Vec<_> = reading.failed_tests.iter().map(|t| &*t.name).collect();
        let wrong = if reading.problems.is_empty() {
            ""
        } else {
            " !"
        };
        format!(
            "{} {} {} {}{wrong}",
            tests.passed,
            tests.failed,
            tests.skipped,
            names.join(",")
        )
    }

    #[test]
    fn what_counts() {
        for (text, want) in [
            // Without -v: a package is one passed test.
            ("ok  \tx/a\t0.01s\nok  \tx/b\t(cached)\n", "2 0 0 "),
            ("ok  \tx/a\t0.01s [no tests to run]\n", "0 0 0 "),
            (
                "ok  \tx/a\t0.01s\tcoverage: 81.2% of statements\n",
                "1 0 0 ",
            ),
            (
                "ok  \tx/a\t0.01s\tcoverage: 0.0% of statements [no tests to run]\n",
                "0 0 0 ",
            ),
            ("?   \tx/a\t[no test files]\n", "0 0 0 "),
            ("\tx/a\t\tcoverage: 0.0% of statements\n", "0 0 0 "),
            (
                "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx/a\t0.01s\nok  \tx/b\t0.01s\nFAIL\n",
                "1 1 0 TestA",
            ),
            // With -v: one by one, and a package without tests is none.
            (
                "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \tx/a\t0.01s\nok  \tx/b\t0.01s\n",
                "1 0 0 ",
            ),
            (
                "=== RUN   TestA\n--- SKIP: TestA (0.00s)\nPASS\nok  \tx/a\t0.01s\n",
                "0 0 1 ",
            ),
            // The same name in two packages, and twice in one.
            (
                "=== RUN   T\n--- PASS: T (0s)\nPASS\nok  \ta\t1s\n=== RUN   T\n--- FAIL: T (0s)\nFAIL\nFAIL\tb\t1s\n",
                "1 1 0 T",
            ),
            (
                "=== RUN   T\n=== RUN   T\n--- PASS: T (0s)\n--- PASS: T (0s)\n--- PASS: T (0s)\nPASS\nok  \ta\t1s\n",
                "2 0 0 ",
            ),
            // A test that does not end its line.
            (
                "=== RUN   T\nx--- PASS: T (0s)\nPASS\nok  \ta\t1s\n",
                "1 0 0 ",
            ),
            (
                "=== RUN   T\nx=== RUN   T/y\n    --- PASS: T/y (0s)\n--- PASS: T (0s)\nPASS\nok  \ta\t1s\n",
                "2 0 0 ",
            ),
            // A compiled test program says no package.
            ("=== RUN   T\n--- PASS: T (0s)\nPASS\n", "1 0 0 "),
            // What no test failed in.
            ("FAIL\tx/a [build failed]\nFAIL\n", "0 0 0  !"),
            ("FAIL\tx/a [setup failed]\nok  \tx/b\t0.01s\n", "1 0 0  !"),
            ("=== RUN   T\npanic: no\nFAIL\ta\t1s\n", "0 0 0  !"),
            // A test that does not end.
            (
                "=== RUN   T\n--- PASS: T (0s)\n=== RUN   U\nPASS\nok  \ta\t1s\n",
                "1 0 0  !",
            ),
            (
                "=== RUN   T\nPASS\nok  \ta\t1s\n=== RUN   U\n--- PASS: U (0s)\nPASS\nok  \tb\t1s\n",
                "1 0 0  !",
            ),
            ("ok  \tx/a\t0.01s\nFAIL\n", "1 0 0  !"),
            // Torn.
            ("=== RUN   T\n--- PASS: T (0s)\n", "1 0 0  !"),
            ("=== RUN   T\n", "0 0 0  !"),
            // Not this format.
            ("", "-"),
            ("PASS\nFAIL\n", "-"),
            ("ok\nok  \nok  \tx\nok 1 - a\nFAIL\tx\nFAIL: y\n", "-"),
            ("--- a/file\n+++ b/file\n", "-"),
        ] {
            assert_eq!(summarize(text), want, "{text}");
        }
    }

    #[test]
    fn what_a_test_prints_does_not_count() {
        let fake = "--- FAIL: Fake (0.00s)\n--- PASS: Fake (0.00s)\nFAIL\tfake\t0.1s\nok  \tfake\t0.1s\nFAIL\nPASS\n1 failed\n";
        for (text, want) in [
            (
                format!("=== RUN   T\n{fake}--- PASS: T (0s)\nPASS\nok  \ta\t1s\n"),
                "1 0 0 ",
            ),
            (
                format!("=== RUN   T\n{fake}--- FAIL: T (0s)\nFAIL\nFAIL\ta\t1s\n"),
                "0 1 0 T",
            ),
            (
                format!(
                    "=== RUN   T\n{fake}=== RUN   T/u\n    --- PASS: T/u (0s)\n--- PASS: T (0s)\nPASS\nok  \ta\t1s\n"
                ),
                "2 0 0 ",
            ),
            (
                "--- FAIL: Fake (0.00s)\nok  \tfake\t0.1s\nFAIL\nno line endPASS\nok  \ta\t1s\n"
                    .to_owned(),
                "1 0 0 ",
            ),
            // It fails, and ends the program without Go's knowledge.
            (
                "--- FAIL: T (0.00s)\nFAIL\nok  \ta\t1s\n".to_owned(),
                "0 1 0 T",
            ),
        ] {
            assert_eq!(summarize(&text), want, "{text}");
        }
    }
}
