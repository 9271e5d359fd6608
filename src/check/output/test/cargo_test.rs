//! Reads the output of `cargo test`: libtest's summaries, one per binary, and its list of failures.
//!
//! Written from the output of Rust 1.56 to 1.95. A test may print anything, even what libtest
//! prints. A summary counts if its number of tests is that of the last open run, and only after the
//! list of failures if that has begun.

use crate::output::findings::rustc::{RustcDiagnostics, is_status};
use crate::output::kit::number::{count, counted};
use crate::output::kit::panic::{Panic, calm};
use crate::output::reader::{Format, FormatName, PerStream, Reader, Stream, after, starts};
use crate::results::{FAILED_KEPT, FailedTest, Level, Reading, TEXT_KEPT, TestCounts, clipped};

/// Text of libtest, alone or through `cargo test`.
pub const FORMAT: Format = Format::run::<CargoTest>(
    "cargo-test",
    &[FormatName::Cargo],
    &[
        "Compiling ",
        "Doc-tests ",
        "Finished ",
        "Running ",
        "running ",
    ],
    |line| starts(line, &["Doc-tests ", "test result: "]),
);

/// Maximum number of open runs: those that died, and those that tests print.
const RUNS_OPEN: usize = 64;

#[derive(Default)]
struct CargoTest {
    /// The messages of the compiler, until tests run.
    built: RustcDiagnostics,
    /// Whether tests run, by stream: from then on its lines are theirs.
    running: PerStream<bool>,
    /// The runs that are not settled; all but the last may be those that died, or those in which a
    /// test printed the next.
    runs: Vec<Run>,
    /// What the settled runs say.
    done: Reading,
    /// Whether there was a run, or a list of tests.
    any: bool,
    /// Cargo says that it did not compile.
    not_compiled: bool,
    /// Whether cargo reports what it does, so that its own messages can be distinguished from what
    /// tests print.
    tells: bool,
    /// Whether a run has no summary.
    died: bool,
    /// The end of the last test program that died, as cargo reports it.
    signal: Option<String>,
    /// A panic whose lines are coming, by stream, outside of libtest's sections.
    panic: PerStream<Option<Panic>>,
    /// Panics that were not captured.
    panics: Vec<Panic>,
}

/// The tests of one binary.
#[derive(Default)]
struct Run {
    /// The number of tests that it said it would run.
    expected: Option<u64>,
    summary: Option<Summary>,
    /// As its lines say, for when it has no summary.
    lines: TestCounts,
    /// The lines that name a test, also those in which one printed.
    named: u64,
    failed: Vec<Failure>,
    /// The names in the last list of failures.
    listed: Vec<String>,
    zone: Zone,
}

/// In which part of its output a run is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Zone {
    #[default]
    Results,
    /// After a heading, `failures:` or `successes:`.
    Heading { good: bool },
    /// In the output of a test.
    Section { good: bool, test: Option<usize> },
    /// In the list at the end.
    List {
        good: bool,
        test: Option<usize>,
        any: bool,
    },
}

/// A failed test, and how far its message is known.
struct Failure {
    test: FailedTest,
    known: FailureDetail,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FailureDetail {
    /// At most what it printed.
    Printed,
    /// Its panic, whose lines are coming.
    Panic,
    /// All of it.
    All,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Summary {
    ok: bool,
    /// A benchmark that was measured has passed.
    counts: TestCounts,
}

impl Summary {
    fn total(self) -> u64 {
        self.counts.ran().saturating_add(self.counts.skipped)
    }
}

impl Run {
    fn new(expected: Option<u64>) -> Self {
        Self {
            expected,
            ..Self::default()
        }
    }

    /// Whether a summary may be this run's.
    fn takes(&self, summary: Summary) -> bool {
        self.expected
            .is_none_or(|expected| expected == summary.total())
    }

    /// Whether it has the summary that it should have.
    fn is_over(&self) -> bool {
        self.summary.is_some_and(|s| self.takes(s))
    }

    /// The failed test with a name, noted if it is new and there is room.
    fn failure(&mut self, name: &str) -> Option<usize> {
        let name = clipped(bare(name));
        if let Some(at) = self.failed.iter().position(|f| f.test.name == name) {
            return Some(at);
        }
        if self.failed.len() >= FAILED_KEPT {
            return None;
        }
        // `src/lib.rs - add (line 8)`
        let doctest = || {
            let (item, line) = name.strip_suffix(')')?.rsplit_once("(line ")?;
            let (file, _) = item.split_once(" - ")?;
            Some((file.to_owned(), line.parse().ok()?))
        };
        let (file, line) = doctest().unzip();
        self.failed.push(Failure {
            test: FailedTest {
                file,
                line,
                message: None,
                name,
            },
            known: FailureDetail::Printed,
        });
        Some(self.failed.len() - 1)
    }
}

impl CargoTest {
    /// Standard output, where libtest writes.
    fn out(&mut self, line: &str) {
        match line.as_bytes().first() {
            Some(b'r') => {
                if let Some(expected) = running(line) {
                    return self.begin(expected);
                }
            }
            Some(b't') => {
                if let Some(summary) = line.strip_prefix("test result: ").and_then(summary) {
                    return self.sum(summary);
                }
                let result = line.strip_prefix("test ");
                if let Some((name, result)) = result.and_then(|rest| rest.rsplit_once(" ... ")) {
                    return self.result(name, result);
                }
            }
            Some(b'0'..=b'9') if is_list_end(line) => {
                self.any = true;
                return;
            }
            _ => {}
        }
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        if run.zone == Zone::Results {
            match line {
                "failures:" => run.zone = Zone::Heading { good: false },
                "successes:" => run.zone = Zone::Heading { good: true },
                _ => {
                    // `test a ... ok` after what a test printed.
                    if line.contains("test ") && line.contains(" ... ") {
                        run.named = run.named.saturating_add(1);
                    }
                    if let Some(name) = line.strip_suffix(" --- FAILED") {
                        run.failure(name);
                    }
                }
            }
            return;
        }
        run.zone = section(run, line);
    }

    fn begin(&mut self, expected: u64) {
        self.any = true;
        if let Some(last) = self.runs.last() {
            // In what a failed test printed.
            if matches!(last.zone, Zone::Section { .. } | Zone::List { .. }) && !last.is_over() {
                return;
            }
        }
        if self.runs.iter().all(Run::is_over) {
            self.settle();
        } else if self.runs.len() >= RUNS_OPEN {
            let first = self.runs.remove(0);
            self.settle_one(first);
        }
        self.runs.push(Run::new(Some(expected)));
    }

    fn sum(&mut self, summary: Summary) {
        self.any = true;
        let alone = Run {
            summary: Some(summary),
            ..Run::default()
        };
        let Some(last) = self.runs.last_mut() else {
            return self.runs.push(alone);
        };
        // In what a failed test printed: the summary follows the list.
        if matches!(
            last.zone,
            Zone::Section { .. } | Zone::List { any: false, .. }
        ) {
            return;
        }
        if last.summary.is_none() && last.takes(summary) {
            last.summary = Some(summary);
            last.zone = Zone::Results;
            return;
        }
        // The runs after the one that it belongs to were printed by a test.
        let is_open = |run: &Run| run.summary.is_none() && run.takes(summary);
        if let Some(open) = self.runs.iter().rposition(is_open) {
            self.runs.truncate(open + 1);
        }
        let Some(last) = self.runs.last_mut() else {
            return;
        };
        if last.expected.is_none() {
            // Only summaries, as `grep` leaves them: each is a run.
            self.settle();
            self.runs.push(alone);
        } else if last.takes(summary) || last.summary.is_none() || !last.is_over() {
            last.summary = Some(summary);
            last.zone = Zone::Results;
        }
    }

    fn result(&mut self, name: &str, result: &str) {
        if self.runs.last().is_some_and(Run::is_over) {
            // The run that is over was printed by a test of one that is not.
            if let Some(open) = self.runs.iter().rposition(|run| run.summary.is_none()) {
                self.runs.truncate(open + 1);
            }
        }
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        match run.zone {
            Zone::Section { .. } | Zone::List { .. } => return,
            // A test printed the heading.
            Zone::Heading { .. } | Zone::Results => run.zone = Zone::Results,
        }
        let add = |n: &mut u64| *n = n.saturating_add(1);
        add(&mut run.named);
        match result {
            "ok" => add(&mut run.lines.passed),
            _ if starts(result, &["ok ", "bench: "]) => add(&mut run.lines.passed),
            _ if result == "FAILED" || result.starts_with("FAILED ") => {
                add(&mut run.lines.failed);
                run.failure(name);
            }
            "ignored" => add(&mut run.lines.skipped),
            _ if result.starts_with("ignored, ") => add(&mut run.lines.skipped),
            _ => {}
        }
    }

    /// Adds up the runs.
    fn settle(&mut self) {
        for run in std::mem::take(&mut self.runs) {
            self.settle_one(run);
        }
    }

    fn settle_one(&mut self, mut run: Run) {
        let is_listed = !run.listed.is_empty();
        for name in std::mem::take(&mut run.listed) {
            run.failure(&name);
        }
        let counts = match run.summary {
            Some(mut summary) => {
                let (expected, total) = (run.expected.unwrap_or_default(), summary.total());
                if summary.counts.failed == 0 && !is_listed && run.lines.all() != total {
                    // A test printed them.
                    run.failed.clear();
                }
                if run.named > 0 && run.named < expected && summary.counts.failed == 0 {
                    let why = format!(
                        "{expected} tests ran, of which its lines name {}",
                        run.named
                    );
                    self.done.leave_out(why);
                    summary.counts.unshown = expected - run.named;
                }
                if !run.is_over() {
                    let problem =
                        format!("a run of {expected} tests ended with a summary of {total}");
                    self.done.object(problem);
                } else {
                    self.done
                        .object_all(summary.counts.contradiction(summary.ok));
                }
                summary.counts
            }
            None => {
                let expected = run.expected.unwrap_or_default();
                let problem = format!("a run of {expected} tests ended without its summary");
                self.done.object(problem);
                self.died = true;
                run.lines
            }
        };
        self.done.tests.get_or_insert_default().add(counts);
        self.done.fail_all(run.failed.into_iter().map(|f| f.test));
    }

    /// The messages of cargo itself.
    fn cargo(&mut self, stream: Stream, line: &str) {
        match line.as_bytes() {
            [b'e', b'r', b'r', b'o', b'r', b':', b' ', ..] => {
                self.not_compiled |=
                    line.starts_with("error: could not compile `") && !self.is_running(stream);
            }
            [b' ', b' ', ..] => match line.get(..13) {
                Some("     Running " | "   Doc-tests ") => {
                    self.tells = true;
                    *self.running.get_mut(stream) = true;
                }
                Some("  Executable ") => self.any = true,
                Some("   Compiling ") if is_status(line) => {
                    self.tells = true;
                    *self.running.get_mut(stream) = false;
                }
                Some(_) if line.starts_with("  process didn't exit successfully: ") => {
                    let how = line.rsplit_once(" (signal: ");
                    let how = how.map(|(_, how)| how.trim_end_matches(')').to_owned());
                    self.signal = how.or(self.signal.take());
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn is_running(&mut self, stream: Stream) -> bool {
        *self.running.get_mut(stream) || stream == Stream::Out && !self.runs.is_empty()
    }

    /// Panics that are not captured; of captured ones the sections tell more.
    fn panic(&mut self, stream: Stream, line: &str) {
        let open = self.panic.get_mut(stream);
        if open.as_mut().is_some_and(|panic| panic.more(line)) {
            return;
        }
        if let Some(over) = open.take()
            && self.panics.len() < FAILED_KEPT
        {
            self.panics.push(over);
        }
        if line.starts_with("thread '") {
            *open = Panic::begin(line);
        }
    }
}

impl Reader for CargoTest {
    fn line(&mut self, stream: Stream, line: &str) {
        self.cargo(stream, line);
        if stream == Stream::Out {
            self.out(line);
        }
        if !self.is_running(stream) {
            self.built.text(stream, line);
        }
        self.panic(stream, line);
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.settle();
        self.panic(Stream::Out, "");
        self.panic(Stream::Err, "");
        let (mut reading, telling) = self.built.close();
        // Cargo's status lines alone are not tests: a program may have its own harness.
        let told = self.any || self.not_compiled || (telling && reading.errors > 0);
        if !told {
            return None;
        }
        if self.any && !(self.not_compiled && self.tells) {
            // Tests ran, and nothing says that something did not compile: what looks like an error
            // was printed by a test.
            reading.errors = 0;
            reading.findings.retain(|f| f.severity != Level::Error);
            reading.problems.clear();
        } else if reading.errors == 0 && reading.problems.is_empty() {
            reading.object("it did not compile");
        }
        for test in &mut self.done.failed_tests {
            if test.line.is_none()
                && let Some(panic) = self.panics.iter().find(|p| p.thread == test.name)
            {
                let printed = test.message.take().unwrap_or_default();
                test.message = Some(format!("{}\n{printed}", panic.message).trim().to_owned())
                    .filter(|m| !m.is_empty());
                test.file.clone_from(&panic.file);
                test.line = panic.line;
            }
        }
        self.done.tests.get_or_insert_default();
        reading.add(self.done);
        if let Some(signal) = self.signal.filter(|_| self.died) {
            reading.object(format!("a test program was ended by a signal: {signal}"));
        }
        Some(reading)
    }
}

/// Returns the zone of the run after a line of its second part: captured output of tests, then the
/// list of failures.
fn section(run: &mut Run, line: &str) -> Zone {
    let (good, test) = match run.zone {
        Zone::Results => return Zone::Results,
        Zone::Heading { good } => (good, None),
        Zone::Section { good, test } | Zone::List { good, test, .. } => (good, test),
    };
    if let Some(name) = line
        .strip_prefix("---- ")
        .and_then(|rest| rest.strip_suffix(" ----"))
        && let Some(name) = name
            .strip_suffix(" stdout")
            .or_else(|| name.strip_suffix(" stderr"))
    {
        // Only a test that is known to have failed has a section, if any is known.
        let known =
            good || run.lines.failed == 0 || run.failed.iter().any(|f| f.test.name == bare(name));
        if known {
            let test = if good { None } else { run.failure(name) };
            return Zone::Section { good, test };
        }
    }
    match line {
        "failures:" | "successes:" => {
            run.listed.clear();
            let good = line == "successes:";
            // A heading again, or the list.
            return Zone::List {
                good,
                test,
                any: false,
            };
        }
        "" => return run.zone,
        _ => {}
    }
    let heading = matches!(run.zone, Zone::Heading { .. });
    if heading || matches!(run.zone, Zone::List { .. }) {
        if let Some(name) = line.strip_prefix("    ")
            && !name.starts_with(' ')
        {
            if !good && run.listed.len() < FAILED_KEPT {
                let name = clipped(name);
                run.listed.push(name);
            }
            return Zone::List {
                good,
                test,
                any: true,
            };
        }
        run.listed.clear();
        if test.is_none() {
            // A test printed the heading.
            return Zone::Results;
        }
    }
    if let Some(test) = test.and_then(|at| run.failed.get_mut(at)) {
        explain(test, line);
    }
    Zone::Section { good, test }
}

/// Takes a line of what a failed test printed: its panic if it has one, otherwise the first lines.
fn explain(Failure { test, known }: &mut Failure, line: &str) {
    const LINES: usize = 12;
    if let Some(panic) = line
        .starts_with("thread '")
        .then(|| Panic::begin(line))
        .flatten()
    {
        // The first panic is the cause of what follows.
        if *known == FailureDetail::Printed {
            test.file = panic.file.or(test.file.take());
            test.line = panic.line.or(test.line);
            test.message = Some(panic.message);
            *known = FailureDetail::Panic;
        }
        return;
    }
    if line.starts_with("note: panic did not contain expected string") {
        *known = FailureDetail::Panic;
    }
    if *known == FailureDetail::All {
        return;
    }
    let message = test.message.get_or_insert_default();
    let over = line == "stack backtrace:" || line.starts_with("note: run with ");
    if over || message.len() > TEXT_KEPT || message.lines().count() >= LINES {
        if *known == FailureDetail::Panic {
            *known = FailureDetail::All;
        }
        return;
    }
    if let Some(place) = calm(line) {
        (test.file, test.line) = place;
    }
    if !message.is_empty() {
        message.push('\n');
    }
    message.push_str(line.trim_end());
}

/// A name without what libtest says of the way it is run.
fn bare(name: &str) -> &str {
    [" - should panic", " - compile fail", " - compile"]
        .iter()
        .find_map(|s| name.strip_suffix(s))
        .unwrap_or(name)
}

/// `running 3 tests`
fn running(line: &str) -> Option<u64> {
    let (n, rest) = counted(line.strip_prefix("running ")?)?;
    matches!(rest, "test" | "tests" | "benchmarks" | "benchmark").then_some(n)
}

/// `4 tests, 0 benchmarks`
fn is_list_end(line: &str) -> bool {
    counted(line).is_some_and(|(_, rest)| {
        let rest = after(rest, &["tests, ", "test, "]);
        rest.and_then(counted)
            .is_some_and(|(_, word)| matches!(word, "benchmarks" | "benchmark"))
    })
}

/// `ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
fn summary(text: &str) -> Option<Summary> {
    let (ok, mut rest) = match text.strip_prefix("ok. ") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix("FAILED. ")?),
    };
    let mut next = |word: &str| {
        let (n, after) = count(rest)?;
        rest = after.strip_prefix(word)?;
        rest = rest.strip_prefix("; ").unwrap_or(rest);
        Some(n)
    };
    let (passed, failed) = (next(" passed")?, next(" failed")?);
    let (ignored, measured) = (next(" ignored")?, next(" measured")?);
    next(" filtered out")?;
    let counts = TestCounts {
        failed,
        passed: passed.saturating_add(measured),
        skipped: ignored,
        ..TestCounts::default()
    };
    (rest.is_empty() || rest.starts_with("finished in ")).then_some(Summary { ok, counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Reading> {
        crate::output::read(&[&FORMAT], text.as_bytes(), b"")
    }

    fn result(passed: u64, failed: u64, ignored: u64) -> String {
        let word = if failed == 0 { "ok" } else { "FAILED" };
        format!(
            "test result: {word}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; 0 filtered out\n"
        )
    }

    #[test]
    fn what_cargo_hack_and_miri_pass_on_decides() {
        for (command, want) in [
            ("cargo test --doc", true),
            ("cargo hack --each-feature test", true),
            ("cargo +nightly miri test", true),
            ("cargo hack check --each-feature", false),
            ("cargo miri setup", false),
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!(
                FORMAT.is_written_by(&crate::tool::Invocation::parse(&words)),
                want,
                "{command}"
            );
        }
    }

    #[test]
    fn only_the_summary_of_the_run_counts() {
        let (one, two) = (result(1, 0, 0), result(1, 1, 0));
        let failures = "\nfailures:\n    b\n\n";
        for (what, text, passed, failed, problem) in [
            ("one run", format!("running 1 test\ntest a ... ok\n\n{one}"), 1, 0, false),
            ("two runs", format!("running 1 test\n{one}\nrunning 1 test\n{one}"), 2, 0, false),
            ("only the summaries", format!("{one}{one}"), 2, 0, false),
            ("printed before it", format!("running 2 tests\n{}{failures}{two}", result(2, 0, 0)), 1, 1, false),
            ("printed, of another size", format!("running 2 tests\n{}{failures}{two}", result(9, 0, 0)), 1, 1, false),
            (
                "a run in a run",
                format!("running 2 tests\nrunning 1 test\ntest a ... ok\n{one}test b ... FAILED\n{failures}{two}"),
                1,
                1,
                false,
            ),
            (
                "a run in what a failed test printed",
                format!(
                    "running 2 tests\ntest b ... FAILED\ntest c ... ok\n\nfailures:\n\n---- b stdout ----\nrunning 2 tests\n{}{failures}{two}",
                    result(2, 0, 0)
                ),
                1,
                1,
                false,
            ),
            ("a test prints the heading", format!("running 1 test\nfailures:\ntest a ... ok\n\n{one}"), 1, 0, false),
            ("indented", format!("running 1 test\n  {}", one), 0, 0, true),
            ("died", "running 3 tests\ntest a ... ok\ntest b ... FAILED\n".to_owned(), 1, 1, true),
            ("died, and another", format!("running 3 tests\ntest a ... ok\nrunning 1 test\n{one}"), 2, 0, true),
            ("only one of another size", format!("running 3 tests\n{one}"), 1, 0, true),
            ("failed without a failure", format!("running 1 test\n{}", one.replace("ok", "FAILED")), 1, 0, true),
            (
                "huge",
                "test result: ok. 99999999999999999999 passed; 0 failed; 0 ignored; 9 measured; 0 filtered out\n"
                    .to_owned(),
                u64::MAX,
                0,
                false,
            ),
        ] {
            let reading = read(&text).unwrap_or_else(|| panic!("{what}: not recognised"));
            let tests = reading.tests.unwrap();
            assert_eq!((tests.passed, tests.failed), (passed, failed), "{what}: {text}");
            assert_eq!(!reading.problems.is_empty(), problem, "{what}: {:?}", reading.problems);
        }
    }

    #[test]
    fn what_only_looks_like_it() {
        for text in [
            "test result: fine\n",
            "test result: ok. 3 passed\n",
            " test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
            "running late\nrunning 3 miles\ntest a ... ok\n",
            "    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.40s\n     Running tests/own.rs (target/x)\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn many_runs_in_little_memory() {
        let text = format!("{}{}", "running 2 tests\n".repeat(1000), result(2, 0, 0));
        let reading = read(&text).unwrap();
        assert_eq!(reading.tests.unwrap().passed, 2);
        assert!(!reading.problems.is_empty() && reading.problems.len() <= 20);
    }
}
