//! Combines exit code and output into the outcome of a `compile`, `test` or `lint` check, for every
//! combination of both.
//!
//! INVARIANT (no pass against the evidence): neither of the two makes up for the other. A pass
//! needs an accepted exit code, and nothing in the output that speaks against it; and where the
//! contract says how its evidence looks (`format`, `report`, `min-tests`), that evidence. Only
//! under `format auto` may output be unknown, which is then said.

use super::Kind;
use super::evidence::{Captured, Evidence};
use super::outcome::{Cause, Outcome, Status, Terms, wrong_exit};
use super::results::{Finding, Level, Reading, TestCounts};
use super::tool::Invocation;
use vplan_base::inert::without_escapes;
use vplan_base::word::{and_more, count, visible};

/// Maximum number of failed tests that are named.
const NAMED: usize = 3;
/// The beginning of the detail of a pass whose output was not read at all.
pub const BY_EXIT_CODE: &str = "passed by exit code alone";
/// Limit of characters of a name or a message on the one line.
const SHOWN: usize = 120;

/// A sign of failure in a reading.
struct ReadingFault {
    cause: Cause,
    /// Whether it also says why a command exits with a failure.
    explains_exit: bool,
    /// Whether exit code 0 contradicts it.
    contradicts_success: bool,
    text: String,
}

/// Judges a try that exited. The kind is one whose output is read.
pub(super) fn judge(terms: &Terms<'_>, evidence: &Evidence, exit: i32) -> Outcome {
    let failed = |cause, text: String| Outcome::new(Status::Failed, cause, text);
    let reading = evidence.reading.as_deref();
    let missing = missing(terms, evidence, exit);
    match (terms.accepts(exit), reading.and_then(|r| fault(terms, r))) {
        (true, Some(fault)) if exit == 0 && fault.contradicts_success => {
            let text = format!("exit code 0, but {}", fault.text);
            failed(Cause::Contradiction, text)
        }
        (true, Some(fault)) => failed(fault.cause, fault.text),
        (true, None) => match missing {
            Some(missing) => failed(Cause::NoEvidence, missing),
            None => pass(terms, evidence, exit),
        },
        (false, Some(fault)) if fault.explains_exit => failed(fault.cause, fault.text),
        (false, Some(ReadingFault { text, .. })) => {
            let code = wrong_exit(exit, terms.exit);
            failed(Cause::ExitCode, format!("{code}; {text}"))
        }
        (false, None) => {
            let code = wrong_exit(exit, terms.exit);
            match (reading, missing) {
                (_, Some(missing)) => failed(Cause::ExitCode, format!("{code}; {missing}")),
                (Some(reading), None) if reading.errors > 0 => {
                    let said = describe_counts(reading).unwrap_or_default();
                    let text = format!("{code}, although {said} would be within the limits");
                    failed(Cause::ExitCode, text)
                }
                // Linters may be configured to fail for warnings, and for nothing else.
                (Some(reading), None) if terms.kind == Kind::Lint && reading.warnings > 0 => {
                    let warnings = count(reading.warnings, "warning");
                    let first = first(reading, Level::Warning);
                    failed(Cause::Warnings, format!("{code}, with {warnings}{first}"))
                }
                (Some(reading), None) if !reading.unread.is_empty() => {
                    let part = unread_part(reading).unwrap_or_default();
                    failed(Cause::ExitCode, format!("{code}; {part}"))
                }
                (Some(reading), None) if terms.kind != Kind::Test || reading.tests.is_some() => {
                    let said = describe_counts(reading);
                    let said = said.map_or_else(String::new, |said| format!(": {said}"));
                    let text = format!("{code}, but its output shows no failure{said}");
                    failed(Cause::Contradiction, text)
                }
                (_, None) if is_silent(evidence) => {
                    failed(Cause::ExitCode, format!("{code}, and it wrote nothing"))
                }
                (_, None) => failed(Cause::ExitCode, code),
            }
        }
    }
}

/// The failures that an output reports, for people: failed tests, or more errors than may be.
pub(super) fn failures(terms: &Terms<'_>, evidence: &Evidence) -> Option<String> {
    let fault = fault(terms, evidence.reading.as_deref()?)?;
    matches!(fault.cause, Cause::TestsFailed | Cause::Errors).then_some(fault.text)
}

/// The reading of a silent compiler or linter that exited with 0: no findings.
pub fn silence(format: &str, kind: Kind, evidence: &Evidence) -> Option<Reading> {
    let ended_well = evidence.exit == Some(0) && !evidence.timed_out;
    (kind != Kind::Test && ended_well && is_silent(evidence)).then(|| Reading::from_format(format))
}

/// The reading of a tool that ended well and says that it tested nothing: no tests.
pub fn nothing(run: &Invocation, kind: Kind, evidence: &Evidence) -> Option<Reading> {
    if kind != Kind::Test || evidence.exit != Some(0) {
        return None;
    }
    let text = [evidence.stdout.text(), evidence.stderr.text()].concat();
    let says = |phrase: &&str| memchr::memmem::find(&text, phrase.as_bytes()).is_some();
    run.no_tests().find(says).map(|_| Reading {
        tests: Some(TestCounts::default()),
        ..Reading::from_format(run.program())
    })
}

/// Whether it wrote nothing. What a package manager prints before a script does not count as output
/// of the tool that the script runs.
fn is_silent(evidence: &Evidence) -> bool {
    let mut streams = [&evidence.stdout, &evidence.stderr].into_iter();
    streams.all(|stream| stream.is_blank() || is_announcement(stream))
}

/// Whether there is nothing in it but `> name@1.0.0 script`, `> command` and what npm says of
/// itself.
fn is_announcement(stream: &Captured) -> bool {
    let (bytes, whole) = (stream.head.as_bytes(), stream.tail.as_bytes().is_empty());
    let mut announced = false;
    let mut lines = bytes.split(|b| *b == b'\n').map(<[u8]>::trim_ascii);
    let notices = [&b"npm warn "[..], b"npm WARN ", b"npm notice"];
    let is_announced = |line: &[u8]| {
        let is_script = line.starts_with(b"> ");
        let is_first = is_script && !announced;
        announced |= is_script;
        line.is_empty()
            || (is_script && (!is_first || line.contains(&b'@')))
            || notices.iter().any(|words| line.starts_with(words))
    };
    whole && lines.all(is_announced)
}

/// Returns the worst fault of a reading.
fn fault(terms: &Terms<'_>, reading: &Reading) -> Option<ReadingFault> {
    let fault = |cause, explains_exit, contradicts_success, text| {
        Some(ReadingFault {
            cause,
            explains_exit,
            contradicts_success,
            text,
        })
    };
    let output = &terms.output;
    let tests = reading.tests.filter(|_| terms.kind == Kind::Test);
    if tests.is_some_and(TestCounts::is_impossible) {
        let text = "its output counts tests that no run can have".to_owned();
        return fault(Cause::Contradiction, true, true, text);
    }
    if let Some(tests) = tests.filter(|t| t.failed > 0) {
        let names = reading.failed_tests.iter().map(|t| short(&t.name));
        let (failed, ran) = (tests.failed, count(tests.ran(), "test"));
        let text = format!("{failed} of {ran} failed{}", list(names, failed));
        return fault(Cause::TestsFailed, true, true, text);
    }
    if reading.errors > output.max_errors {
        let limit = limit(output.max_errors, output.max_errors > 0);
        let first = first(reading, Level::Error);
        let text = format!("{}{limit}{first}", count(reading.errors, "error"));
        // That a linter's exit code takes no notice of what it finds is how some are set up.
        return fault(Cause::Errors, true, terms.kind != Kind::Lint, text);
    }
    if let Some(problem) = reading.problems.first() {
        let mut text = match short(problem) {
            said if said.is_empty() => "its output says that it failed".to_owned(),
            said => said,
        };
        if let more @ 2.. = reading.problems.len() {
            text += &format!(" (and {} more)", more - 1);
        }
        return fault(Cause::Contradiction, false, true, text);
    }
    if let Some(most) = output.max_warnings.filter(|most| reading.warnings > *most) {
        let (limit, first) = (limit(most, true), first(reading, Level::Warning));
        let text = format!("{}{limit}{first}", count(reading.warnings, "warning"));
        return fault(Cause::Warnings, true, false, text);
    }
    let least = output.min_tests.unwrap_or(1);
    let tests = tests.filter(|tests| tests.ran() < least)?;
    let mut text = match tests.ran() {
        0 => "no tests ran".to_owned(),
        ran => format!("{} ran", count(ran, "test")),
    };
    match tests.skipped {
        0 => {}
        1 => text += " (1 was skipped)",
        n => text += &format!(" ({n} were skipped)"),
    }
    if output.min_tests.is_some() {
        text += &format!("; at least {least} must");
    }
    fault(Cause::TooFewTests, tests.ran() == 0, false, text)
}

/// The evidence that the contract requires and that is missing.
fn missing(terms: &Terms<'_>, evidence: &Evidence, exit: i32) -> Option<String> {
    let output = &terms.output;
    let reading = evidence.reading.as_deref();
    let is_missing = evidence.report_missing || reading.is_none();
    if let Some(glob) = output.report.filter(|_| is_missing) {
        let glob = visible(glob);
        return Some(format!(
            "it wrote no report that `{glob}` selects; what was there before does not count"
        ));
    }
    let tests = terms.kind == Kind::Test;
    let least = output.min_tests;
    match (output.format.or(output.report), reading) {
        (Some(_), None) if tests && is_silent(evidence) => {
            Some("it wrote nothing that would show that tests ran".to_owned())
        }
        (Some(_), None) if exit == 0 && is_silent(evidence) => None,
        (Some(_), None) if is_silent(evidence) => Some("it wrote nothing".to_owned()),
        (Some(format), None) => {
            let begins = output.is_defined.then(|| beginning(evidence));
            let (format, begins) = (visible(format), begins.unwrap_or_default());
            Some(format!(
                "nothing in its output is of the format `{format}`{begins}"
            ))
        }
        (Some(_), Some(reading)) if tests && reading.tests.is_none() && least != Some(0) => {
            Some("nothing in its output shows that tests ran".to_owned())
        }
        (None, reading) if tests && reading.is_none_or(|r| r.tests.is_none()) => {
            let least = least.filter(|n| *n > 0)?;
            let text = "nothing in its output shows how many tests ran";
            Some(format!("{text}; at least {least} must"))
        }
        _ => None,
    }
}

/// The first lines of an unread output, for the author of a pattern.
fn beginning(evidence: &Evidence) -> String {
    let streams = [&evidence.stdout, &evidence.stderr].map(|stream| stream.head.as_bytes());
    let lines = streams
        .iter()
        .flat_map(|bytes| bytes.split(|b| *b == b'\n'));
    let lines = lines.map(|line| short(&without_escapes(&String::from_utf8_lossy(line))));
    let first: Vec<String> = lines.filter(|line| !line.is_empty()).take(NAMED).collect();
    format!("; it begins `{}`", first.join("`, `"))
}

/// A pass, with its detail.
fn pass(terms: &Terms<'_>, evidence: &Evidence, exit: i32) -> Outcome {
    let tests = terms.kind == Kind::Test;
    let unread = |detail| Outcome::new(Status::Passed, Cause::OutputUnread, detail);
    let by_exit = |text: String| unread(format!("{BY_EXIT_CODE}: {text}"));
    let Some(reading) = evidence.reading.as_deref() else {
        return match (is_silent(evidence), tests) {
            (true, true) => by_exit("it wrote nothing that shows that tests ran".to_owned()),
            // No output could have been read; compilers print nothing when all is well.
            (true, false) if exit == 0 => Outcome::PASSED,
            (true, false) => by_exit(format!("exit code {exit}, and it wrote nothing")),
            (false, _) => {
                let unchecked = unchecked(terms);
                by_exit(format!(
                    "its output is in no format that is known{unchecked}"
                ))
            }
        };
    };
    if tests && reading.tests.is_none() && terms.output.min_tests != Some(0) {
        let said = describe_counts(reading).unwrap_or_else(|| "nothing".to_owned());
        return by_exit(format!("its output shows {said}, and no tests"));
    }
    let unread = unread_part(reading).map(|part| {
        unread(match describe_counts(reading) {
            Some(said) => format!("{said}, but {part}"),
            None => part,
        })
    });
    if reading.errors == 0 && reading.warnings == 0 {
        let flaky = reading.tests.map_or(0, |tests| tests.flaky);
        return match unread {
            unread if tests && flaky > 0 => {
                let rest = unread.and_then(|outcome| outcome.detail);
                let rest = rest.map_or_else(String::new, |rest| format!("; {rest}"));
                let tests = count(flaky, "test");
                let text = format!("{tests} passed only when tried again{rest}");
                Outcome::new(Status::Flaky, Cause::Retried, text)
            }
            unread => unread.unwrap_or(Outcome::PASSED),
        };
    }
    let within = limit(terms.output.max_errors, true);
    let [errors, warnings] = faults(reading);
    let errors = errors.map(|errors| format!("{errors}{within}"));
    let said: Vec<String> = errors.into_iter().chain(warnings).collect();
    let said = Some(said.join(", "));
    let (cause, detail) = unread.map_or((None, said), |o| (o.cause, o.detail));
    Outcome {
        cause,
        detail,
        status: Status::PassedWithWarnings,
    }
}

/// Says which part of an output was not read.
fn unread_part(reading: &Reading) -> Option<String> {
    let first = short(reading.unread.first()?);
    let more = and_more(reading.unread.len().saturating_sub(1) as u64);
    Some(format!("not all of its output was read: {first}{more}"))
}

/// The thresholds that a reading would have been compared with.
fn unchecked(terms: &Terms<'_>) -> String {
    let output = &terms.output;
    match (output.max_errors > 0, output.max_warnings.is_some()) {
        (false, false) => String::new(),
        (true, true) => ", so `max-errors` and `max-warnings` were not checked".to_owned(),
        (true, false) => ", so `max-errors` was not checked".to_owned(),
        (false, true) => ", so `max-warnings` was not checked".to_owned(),
    }
}

/// Describes the counts of a reading.
fn describe_counts(reading: &Reading) -> Option<String> {
    let ran = reading.tests.filter(|tests| tests.ran() > 0);
    let passed = ran.map(|tests| format!("{} passed", count(tests.passed, "test")));
    let faults = faults(reading).into_iter().flatten();
    let said: Vec<String> = passed.into_iter().chain(faults).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// The numbers of errors and of warnings, where there are any.
fn faults(reading: &Reading) -> [Option<String>; 2] {
    let said = |number: u64, word| (number > 0).then(|| count(number, word));
    [
        said(reading.errors, "error"),
        said(reading.warnings, "warning"),
    ]
}

fn limit(most: u64, is_said: bool) -> String {
    match most {
        _ if !is_said => String::new(),
        0 => " (none is allowed)".to_owned(),
        1 => " (1 is allowed)".to_owned(),
        n => format!(" ({n} are allowed)"),
    }
}

/// The first names of `total` things.
fn list(names: impl Iterator<Item = String>, total: u64) -> String {
    let names: Vec<String> = names.take(NAMED).collect();
    if names.is_empty() {
        return String::new();
    }
    let more = and_more(total.saturating_sub(names.len() as u64));
    format!(": {}{more}", names.join(", "))
}

/// The first finding of a severity.
fn first(reading: &Reading, severity: Level) -> String {
    let mut of_it = reading.findings.iter().filter(|f| f.severity == severity);
    let Some(finding) = of_it.next() else {
        return String::new();
    };
    let word = if of_it.next().is_some() {
        ", first "
    } else {
        ": "
    };
    format!("{word}{}", located(finding))
}

/// A finding on one line, safe to show: `src/a.rs:3:5: E0308: mismatched types`.
pub fn located(finding: &Finding) -> String {
    let mut place = finding.file.as_deref().map(short).unwrap_or_default();
    if !place.is_empty() {
        let column = finding.column.filter(|_| finding.line.is_some());
        let numbers = finding.line.into_iter().chain(column);
        numbers.for_each(|n| place.push_str(&format!(":{n}")));
    }
    let code = finding.code.as_deref().map(short).unwrap_or_default();
    let mut parts = vec![place, code, short(&finding.message)];
    parts.retain(|part| !part.is_empty());
    parts.join(": ")
}

/// The first line of a foreign text, bounded and safe to show.
pub fn short(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", visible(line.get(..end).unwrap_or_default())),
        None => visible(line),
    }
}

#[cfg(test)]
mod tests;
