//! Reads the output of `go test -json`: one event of `test2json` per line.
//!
//! Only a test that has begun (`run`) can end: older Go makes results of what tests print.

use crate::output::findings::go_build::GoBuild;
use crate::output::kit::dedupe::{Open, PendingMessages, append, hash};
use crate::output::reader::{Format, FormatName, Reader, Stream, starts};
use crate::output::test::go_test::{located, result};
use crate::results::{FailedTest, Reading, TestCounts, clipped};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::word::count;

pub const FORMAT: Format =
    Format::run::<GoTestJson>("go-test-json", &[FormatName::Go], &["{\""], |line| {
        starts(line, &["{\""])
    });

/// One line. Its names may have escapes, so they are borrowed only where they can be.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event<'a> {
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow, default)]
    failed_build: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    import_path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    output: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    package: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    test: Option<Cow<'a, str>>,
}

#[derive(Default)]
struct GoTestJson {
    known: bool,
    torn: bool,
    counts: TestCounts,
    reading: Reading,
    open: Open,
    /// Tests that have ended.
    ended: BTreeSet<u64>,
    said: PendingMessages,
    /// The packages that have begun; some more are not remembered.
    packages: BTreeMap<String, Package>,
    /// The package that panicked last, and the first words of its panic.
    panic: Option<(u64, String)>,
    build: GoBuild,
    /// What did not build.
    not_built: Option<String>,
}

#[derive(Clone, Copy, Default)]
struct Package {
    failed: u64,
    /// Its tests that have begun and not ended.
    open: u64,
}

/// The actions of `test2json` in a package.
const ACTIONS: [&str; 11] = [
    "artifacts",
    "attr",
    "bench",
    "cont",
    "fail",
    "output",
    "pass",
    "pause",
    "run",
    "skip",
    "start",
];

/// Maximum number of tests whose end is remembered.
const ENDED: usize = 100_000;

impl Reader for GoTestJson {
    fn line(&mut self, stream: Stream, line: &str) {
        if !line.starts_with('{') {
            self.text(stream, line);
        } else if let Ok(event) = serde_json::from_str::<Event<'_>>(line) {
            self.event(&event);
        } else {
            // Text of a program among the events may look like anything; only an event that is cut
            // off tells something.
            self.torn |= self.known
                && ["{\"Time\":", "{\"Action\":", "{\"ImportPath\":"]
                    .iter()
                    .any(|k| line.starts_with(k));
        }
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        if !self.known {
            return None;
        }
        let build = self.build.reading;
        let mut reading = Reading {
            errors: build.errors,
            findings: build.findings,
            tests: Some(self.counts),
            ..self.reading
        };
        reading.object_all(build.problems);
        if let Some(what) = self.not_built.filter(|_| reading.problems.is_empty()) {
            reading.object(format!("{what} was not built"));
        }
        if self.torn {
            reading.object("an event is cut off");
        }
        if let Some((package, _)) = self.packages.first_key_value() {
            reading.object(format!(
                "the output ends before the result of package {package}"
            ));
        }
        Some(reading)
    }
}

impl GoTestJson {
    fn event(&mut self, event: &Event<'_>) {
        const PACKAGES: usize = 10_000;
        match (&*event.action, &event.package, &event.import_path) {
            ("build-output", _, Some(_)) => {
                self.known = true;
                if let Some(output) = &event.output {
                    output
                        .lines()
                        .for_each(|line| self.build.line(Stream::Err, line));
                }
            }
            ("build-fail", _, Some(what)) => {
                self.known = true;
                self.not_built = Some(clipped(what));
            }
            (action, Some(package), _) => {
                let known = ACTIONS.contains(&action);
                self.known |= known;
                // What another tool writes as JSON is of no package that has begun.
                if !known && !self.packages.contains_key(&**package) {
                    return;
                }
                if let Some(panic) = event
                    .output
                    .as_ref()
                    .and_then(|output| output.strip_prefix("panic: "))
                {
                    let mut words = String::new();
                    append(&mut words, panic.trim_end());
                    self.panic = Some((hash(&**package), words));
                }
                let over = event.test.is_none() && matches!(action, "pass" | "fail" | "skip");
                if !over
                    && !self.packages.contains_key(&**package)
                    && self.packages.len() < PACKAGES
                {
                    self.packages.insert(clipped(package), Package::default());
                }
                // Before Go 1.20 a result has no event if the test printed before it on its line.
                let printed = event.output.as_deref().and_then(result);
                if let Some(glued) = printed.filter(|result| !result.at_start) {
                    self.end(package, glued.name);
                }
                match &event.test {
                    Some(test) => self.of_test(action, package, test, event.output.as_deref()),
                    None => self.of_package(action, package, event.failed_build.is_some()),
                }
            }
            _ => {}
        }
    }

    fn of_test(&mut self, action: &str, package: &str, test: &str, output: Option<&str>) {
        let id = hash(&(package, test));
        let is_new = || !self.open.holds(id) && !self.ended.contains(&id);
        // What is about a test, known or not, says that it has begun.
        if action == "run" || !ACTIONS.contains(&action) && is_new() {
            self.open.begin(id);
            if let Some(open) = self.open_of(package, test) {
                *open = open.saturating_add(1);
            }
            return;
        }
        if let Some(output) = output.filter(|_| action == "output") {
            let output = output.trim_end_matches(['\n', '\r']);
            if !output.starts_with("=== ") && !output.trim_start().starts_with("--- ") {
                self.said.add(id, output);
            }
            return;
        }
        if !matches!(action, "pass" | "fail" | "skip") {
            return;
        }
        let is_open = self.end(package, test);
        // A test that was never begun was printed by another one; one that has ended may not fail.
        if !(is_open || action == "fail" && self.ended.contains(&id)) {
            return;
        }
        let said = self.said.take(id);
        let count = match action {
            "pass" => &mut self.counts.passed,
            "skip" => &mut self.counts.skipped,
            _ => {
                if let Some(package) = self.packages.get_mut(package) {
                    package.failed = package.failed.saturating_add(1);
                }
                let test = FailedTest {
                    message: said,
                    name: test.to_owned(),
                    ..FailedTest::default()
                };
                self.reading.fail(located(test));
                &mut self.counts.failed
            }
        };
        *count = count.saturating_add(1);
    }

    /// A test ends; whether it had begun.
    fn end(&mut self, package: &str, test: &str) -> bool {
        let id = hash(&(package, test));
        let is_open = self.open.end(id);
        if let Some(open) = self.open_of(package, test).filter(|_| is_open) {
            *open = open.saturating_sub(1);
        }
        if is_open && self.ended.len() < ENDED {
            self.ended.insert(id);
        }
        is_open
    }

    /// The number of the tests of its package that have begun and not ended; the end of a benchmark
    /// has no event.
    fn open_of(&mut self, package: &str, test: &str) -> Option<&mut u64> {
        let package = self.packages.get_mut(package);
        let package = package.filter(|_| !test.starts_with("Benchmark"));
        package.map(|package| &mut package.open)
    }

    fn of_package(&mut self, action: &str, package: &str, build: bool) {
        if !matches!(action, "pass" | "fail" | "skip") {
            return;
        }
        let Package { failed, open } = self.packages.remove(package).unwrap_or_default();
        if action == "pass" && open > 0 {
            let tests = count(open, "test");
            self.reading
                .object(format!("package {package}: {tests} began and did not end"));
        }
        if action == "fail" && failed == 0 {
            let why = if build { " [build failed]" } else { "" };
            let panic = self.panic.take().filter(|(who, _)| *who == hash(package));
            let panic = panic.map_or(String::new(), |(_, words)| format!(": panic: {words}"));
            self.reading
                .object(format!("package {package} failed{why}{panic}"));
        }
    }

    /// Older Go writes its build messages as text between the events.
    fn text(&mut self, stream: Stream, line: &str) {
        if stream == Stream::Err {
            self.build.line(stream, line);
        } else if let Some((package, why)) = line
            .strip_prefix("FAIL\t")
            .and_then(|rest| rest.split_once(' '))
            && why.starts_with('[')
        {
            self.reading
                .object(format!("package {package} failed {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    #[test]
    fn events() {
        let event = |action: &str, test: &str| {
            let test = if test.is_empty() {
                String::new()
            } else {
                format!(",\"Test\":\"{test}\"")
            };
            format!("{{\"Action\":\"{action}\",\"Package\":\"p\"{test}}}\n")
        };
        let all = |events: &[(&str, &str)]| {
            events
                .iter()
                .map(|(action, test)| event(action, test))
                .collect::<String>()
        };
        let built = "{\"ImportPath\":\"p [p.test]\",\"Action\":\"build-output\",\"Output\":\"./a.go:1:2: undefined: x\\n\"}\n\
            {\"ImportPath\":\"p [p.test]\",\"Action\":\"build-fail\"}\n\
            {\"Action\":\"start\",\"Package\":\"p\"}\n{\"Action\":\"fail\",\"Package\":\"p\",\"FailedBuild\":\"p [p.test]\"}\n";
        for (text, want) in [
            (
                all(&[
                    ("start", ""),
                    ("run", "A"),
                    ("pass", "A"),
                    ("run", "B"),
                    ("skip", "B"),
                    ("pass", ""),
                ]),
                Some((1, 0, 1, 0, 0)),
            ),
            (
                all(&[
                    ("run", "A"),
                    ("run", "A/b"),
                    ("fail", "A/b"),
                    ("fail", "A"),
                    ("fail", ""),
                ]),
                Some((0, 2, 0, 0, 0)),
            ),
            (
                all(&[("run", "A"), ("pass", "A"), ("fail", "A"), ("pass", "")]),
                Some((1, 1, 0, 0, 0)),
            ),
            (
                all(&[
                    ("run", "A"),
                    ("pass", "A"),
                    ("run", "A"),
                    ("pass", "A"),
                    ("pass", ""),
                ]),
                Some((2, 0, 0, 0, 0)),
            ),
            // What a test printed: it has never begun.
            (
                all(&[("run", "A"), ("fail", "Fake"), ("pass", "A"), ("pass", "")]),
                Some((1, 0, 0, 0, 0)),
            ),
            (all(&[("start", ""), ("skip", "")]), Some((0, 0, 0, 0, 0))),
            (
                all(&[("run", "A"), ("pass", "A"), ("fail", "")]),
                Some((1, 0, 0, 1, 0)),
            ),
            (all(&[("run", "A"), ("pass", "A")]), Some((1, 0, 0, 1, 0))),
            (
                all(&[("run", "A"), ("pass", "A"), ("pass", "")]) + "{\"Action\":\"pa",
                Some((1, 0, 0, 1, 0)),
            ),
            (built.to_owned(), Some((0, 0, 0, 1, 1))),
            ("{\"Action\":\"build\"}\n{\"a\":1}\n[]\n".to_owned(), None),
            (String::new(), None),
        ] {
            let reading = read(&[&FORMAT], text.as_bytes(), b"");
            let got = reading.map(|r| (r.tests.unwrap(), r.problems.len(), r.errors));
            assert_eq!(
                got.map(|(t, problems, errors)| (t.passed, t.failed, t.skipped, problems, errors)),
                want,
                "{text}"
            );
        }
    }
}
