//! Known findings: the fingerprints of findings and failing tests, and whether a check failed only
//! for known ones.
//!
//! A fingerprint is made of content: the check, the file, the rule, the message and the text of the
//! line. It survives lines that are added above, but not a change of the line itself. Equal
//! findings are distinguished by their number, so one more than is known is a new one.
//!
//! INVARIANT (known): a check is excused only if its findings are complete (nothing was omitted,
//! cut off or left unread, and its tool continues after a finding), its exit code is the one that
//! its tool has for findings, and each finding that counts is known.

mod rules;

use super::Kind;
use super::agreement::{located, short};
use super::evidence::Evidence;
use super::outcome::{Cause, Outcome, Status, Terms};
use super::results::{FailedTest, Finding, Identity, Level, Reading};
use rules::Rule;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::canon::Digest;
use vplan_base::word::{count, visible};

/// The known findings and failing tests of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFindings {
    /// The fingerprints, by the name of the check.
    pub checks: BTreeMap<String, BTreeSet<Digest>>,
    /// The list and where it was read, for people: `contracts/verify.baseline.kdl` at 1a2b3c4.
    pub origin: String,
}

/// The place of a finding: its file, from the root of the repository, and the text of its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub file: String,
    /// The text of the line, as it is.
    pub text: Vec<u8>,
}

/// Returns the findings of a reading with their fingerprints, then its failed tests, in order.
/// `argv`: the command; `line` reads the line of a finding. No fingerprint is given unless the
/// format, the command and the output show that everything was examined.
pub fn fingerprints(
    check: &str,
    argv: &[&str],
    reading: &Reading,
    line: &mut dyn FnMut(&Finding) -> Option<Line>,
) -> Vec<Identity> {
    let is_whole = reading.unread.is_empty() && reading.problems.is_empty();
    let format = reading.format.as_str();
    let goes_on = |rule: &&Rule| is_whole && rule.is_whole(format, argv).is_ok();
    let Some(rule) = Rule::from_format(format).filter(goes_on) else {
        return vec![Identity::default(); reading.findings.len() + reading.failed_tests.len()];
    };
    let mut met: BTreeMap<Digest, u32> = BTreeMap::new();
    let mut numbered = |content: Digest| {
        let nth = met.entry(content.clone()).or_default();
        *nth = nth.saturating_add(1);
        Some(Digest::of_value(&(&content, *nth)))
    };
    let mut all: Vec<Identity> = Vec::new();
    for finding in &reading.findings {
        let shown = Some(finding).filter(|finding| !(rule.hides_finding)(finding));
        let place = shown.and_then(&mut *line);
        all.push(place.map_or_else(Identity::default, |place| Identity {
            fingerprint: numbered(content_of_finding(check, finding, &place)),
            file: Some(place.file),
            known: false,
        }));
    }
    for test in &reading.failed_tests {
        let shown = Some(test).filter(|test| !(rule.hides_test)(test));
        all.push(Identity {
            fingerprint: shown.and_then(|test| numbered(content_of_test(check, format, test))),
            ..Identity::default()
        });
    }
    all
}

fn content_of_finding(check: &str, finding: &Finding, place: &Line) -> Digest {
    let text = String::from_utf8_lossy(&place.text);
    Digest::of_value(&(
        "finding",
        check,
        &place.file,
        finding.code.as_deref().unwrap_or_default(),
        without_lines(&finding.message),
        text.trim(),
    ))
}

fn content_of_test(check: &str, format: &str, test: &FailedTest) -> Digest {
    Digest::of_value(&(
        "test",
        check,
        format,
        test.file.as_deref().unwrap_or_default(),
        &test.name,
    ))
}

/// Replaces the numbers of lines and columns in a message, and brings its blanks to one each. Other
/// numbers stay: that a function is more complex than it was is another finding.
fn without_lines(message: &str) -> String {
    const BEFORE: [&str; 6] = ["line ", "lines ", "column ", "columns ", "col ", "ln "];
    let words: Vec<&str> = message.split_whitespace().collect();
    let text = words.join(" ");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (head, tail) = rest.split_at(at);
        let end = tail
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (digits, after) = tail.split_at(end);
        out.push_str(head);
        let lower = out.to_ascii_lowercase();
        let is_place = BEFORE.iter().any(|word| lower.ends_with(word))
            || out.strip_suffix(':').is_some_and(|before| {
                before.ends_with(|c: char| c.is_alphanumeric() || c == '#' || c == '_')
            })
            || (out.ends_with("#-") || out.ends_with("#,"));
        out.push_str(if is_place { "#" } else { digits });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Tells which of the findings and failed tests of a try are known.
pub fn identities(
    known: Option<&KnownFindings>,
    check: &str,
    evidence: &Evidence,
) -> Vec<Identity> {
    let listed = known.and_then(|known| known.checks.get(check));
    let is_known = |found: &Identity| {
        let fingerprint = found.fingerprint.as_ref();
        fingerprint.is_some_and(|f| listed.is_some_and(|listed| listed.contains(f)))
    };
    let found = evidence.identities.iter().map(|found| Identity {
        known: is_known(found),
        ..found.clone()
    });
    found.collect()
}

/// Judges a failed try by what is known: a pass with warnings where it failed for nothing else, and
/// otherwise the same failure, which says how much of it is new.
pub fn judge(
    known: Option<&KnownFindings>,
    check: &str,
    terms: &Terms<'_>,
    evidence: &Evidence,
    outcome: Outcome,
) -> Outcome {
    let Some(known) = known.filter(|known| known.checks.contains_key(check)) else {
        return outcome;
    };
    let identities = identities(Some(known), check, evidence);
    let found = identities.iter().filter(|i| i.known).count();
    if found == 0 || !is_counted(&outcome) {
        return outcome;
    }
    let origin = visible(&known.origin);
    match excused(terms, evidence, &identities, &outcome) {
        Ok(what) => {
            let what = format!("{what} of {origin}");
            Outcome::new(Status::PassedWithWarnings, Cause::Known, what)
        }
        Err(why) => {
            let said = outcome.detail.unwrap_or_default();
            let said = first_new(evidence, &identities).unwrap_or(said);
            Outcome {
                detail: Some(format!("{said}; {found} known of {origin}, but {why}")),
                ..outcome
            }
        }
    }
}

/// Names the first finding or failed test that is not known: what comes first in an output may have
/// been there before.
fn first_new(evidence: &Evidence, identities: &[Identity]) -> Option<String> {
    let reading = evidence.reading.as_deref()?;
    let is_new = |at: usize| identities.get(at).is_some_and(|i| !i.known);
    let new = identities.iter().filter(|i| !i.known).count();
    let behind = reading.findings.len();
    let mut findings = reading.findings.iter().enumerate();
    let finding = findings.find(|(at, f)| is_new(*at) && f.severity == Level::Error);
    let mut tests = reading.failed_tests.iter().enumerate();
    let mut test = || tests.find(|(at, _)| is_new(behind + at));
    let first = match finding {
        Some((_, finding)) => located(finding),
        None => short(&test()?.1.name),
    };
    Some(format!("{new} new, first {first}"))
}

/// Whether an outcome is a failure for what an output counts.
fn is_counted(outcome: &Outcome) -> bool {
    outcome.status == Status::Failed
        && matches!(
            outcome.cause,
            Some(Cause::Errors | Cause::TestsFailed | Cause::Warnings)
        )
}

/// Says what is known where a try failed for nothing else; otherwise why it is not excused.
fn excused(
    terms: &Terms<'_>,
    evidence: &Evidence,
    identities: &[Identity],
    outcome: &Outcome,
) -> Result<String, String> {
    let reading = evidence.reading.as_deref();
    let reading = reading.ok_or("its output was not read")?;
    let format = &reading.format;
    let rule = Rule::from_format(format);
    let rule = rule.ok_or_else(|| format!("`{format}` has no exit code for findings alone"))?;
    if !matches!(terms.exit, [] | [0]) {
        return Err("the contract says which exit codes are accepted".to_owned());
    }
    let is_whole = !evidence.report_missing
        && reading.problems.is_empty()
        && reading.unread.is_empty()
        && identities.len() == reading.findings.len() + reading.failed_tests.len();
    if !is_whole {
        return Err("not all of its output was read".to_owned());
    }
    let (findings, tests) = identities.split_at(reading.findings.len().min(identities.len()));
    let of = |level| {
        let all = reading.findings.iter().zip(findings);
        all.filter(move |(finding, _)| finding.severity == level)
            .map(|(_, identity)| identity)
    };
    let listed = |level| of(level).count() as u64;
    let counts = reading.tests.unwrap_or_default();
    if listed(Level::Error) != reading.errors
        || listed(Level::Warning) != reading.warnings
        || tests.len() as u64 != counts.failed
    {
        return Err("it counts others than it lists".to_owned());
    }
    let exit = evidence.exit.unwrap_or(0);
    if !rule.exits(reading, exit) {
        return Err(format!(
            "exit code {exit} is not the one that `{format}` has for them"
        ));
    }
    // Which of them make the check fail.
    let most = terms.output.max_warnings;
    let warnings = outcome.cause == Some(Cause::Warnings)
        || most.is_some_and(|most| reading.warnings > most)
        || rule.counts_warnings && exit != 0;
    let failing = of(Level::Error)
        .chain(of(Level::Warning).filter(|_| warnings))
        .chain(tests);
    let new = failing.clone().filter(|i| !i.known).count();
    if new > 0 {
        return Err(format!("{new} more"));
    }
    if terms.kind == Kind::Test {
        if reading.errors > 0 {
            return Err("a test check has errors beside its tests".to_owned());
        }
        if counts.ran() < terms.output.min_tests.unwrap_or(1) {
            return Err("fewer tests ran than must".to_owned());
        }
        if rule.skips_behind_failure && counts.skipped > 0 {
            return Err("it skips tests, perhaps behind the first failure".to_owned());
        }
    }
    let (found, failed) = (failing.count() - tests.len(), tests.len());
    let all = [(found, "known finding"), (failed, "known failing test")].into_iter();
    let all = all.filter(|(n, _)| *n > 0).map(|(n, word)| count(n, word));
    Ok(all.collect::<Vec<_>>().join(" and "))
}

/// Says why the findings of a format under a command can never be known; `None`: they can.
pub fn cannot_be_known(format: &str, argv: &[&str]) -> Option<String> {
    match Rule::from_format(format) {
        None => {
            let format = visible(format);
            Some(format!(
                "the format `{format}` has no exit code for findings alone"
            ))
        }
        Some(rule) => rule.is_whole(format, argv).err().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests;
