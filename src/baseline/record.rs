//! Makes a baseline from the findings of a run.

use super::encode::encode;
use super::known::{Baseline, EntryKind, KnownEntry, MAX_BYTES, MAX_ENTRIES, TEXT_SHOWN};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use vplan_base::inert::inert;
use vplan_base::unit::show_size;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_check::baseline::cannot_be_known;
use vplan_check::outcome::{Cause, Status};
use vplan_check::results::{FAILED_KEPT, FINDINGS_KEPT, FailedTest, Finding};
use vplan_contract::{Body, Contract};
use vplan_plan::{Plan, Step};
use vplan_run::record::StepRecord;
use vplan_run::report::Report;

/// A baseline made from a run, and the result for each check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The whole baseline.
    pub baseline: Baseline,
    /// The number of entries that were not there before.
    pub added: usize,
    /// The number of old entries that are gone.
    pub removed: usize,
    /// The checks whose entries stay unchanged, and findings that cannot be identified, in plan
    /// order.
    pub left: Vec<LeftOut>,
}

/// A check that was not recorded, or not completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The name of the check.
    pub check: String,
    /// The reason, on one line, safe to show.
    pub why: String,
}

/// Returns the checks whose commands get the changed files as arguments: they may miss findings in
/// other files.
pub fn partial_checks(contract: &Contract) -> BTreeSet<String> {
    contract
        .checks
        .iter()
        .filter(|check| matches!(&check.body, Body::Command(command) if command.has_changed()))
        .map(|check| check.id.clone())
        .collect()
}

/// Makes the baseline after a run. Each check of the run whose output was parsed completely gets
/// exactly its findings; the entries of all others stay.
///
/// A check keeps its entries and gets none if it did not run, could not be run, was stopped,
/// crashed, or had its output cut. `old` is the baseline before, `plan` the one that was executed
/// last. `checks` names the checks to record; empty for all of the run. For `partial` checks
/// ([`partial_checks`]), entries are only added.
///
/// Pure: it uses the report only. `vplan init --try` records its trial with it.
pub fn record(
    old: &Baseline,
    report: &Report,
    plan: &Plan,
    checks: &[String],
    partial: &BTreeSet<String>,
) -> Recording {
    changed(old, report, plan, checks, |check, found| {
        let before = old.entries().filter(|e| e.check == check).cloned();
        if partial.contains(check) {
            before.chain(found).collect()
        } else {
            found
        }
    })
}

/// Removes entries from a baseline that a run no longer shows, and adds nothing. The arguments are
/// those of [`record`].
pub fn tighten(
    old: &Baseline,
    report: &Report,
    plan: &Plan,
    checks: &[String],
    partial: &BTreeSet<String>,
) -> Recording {
    changed(old, report, plan, checks, |check, found| {
        let shown: BTreeSet<_> = found.iter().map(|e| e.fingerprint.clone()).collect();
        let is_shown = |e: &&KnownEntry| partial.contains(check) || shown.contains(&e.fingerprint);
        let before = old.entries().filter(|e| e.check == check);
        before.filter(is_shown).cloned().collect()
    })
}

fn changed(
    old: &Baseline,
    report: &Report,
    plan: &Plan,
    checks: &[String],
    next: impl Fn(&str, Vec<KnownEntry>) -> Vec<KnownEntry>,
) -> Recording {
    let is_asked = |check: &str| checks.is_empty() || checks.iter().any(|c| c == check);
    let mut ran: BTreeMap<&str, Vec<(&Step, &StepRecord)>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (step, record) in plan.steps.iter().zip(&report.steps) {
        if !ran.contains_key(step.check()) {
            order.push(step.check());
        }
        ran.entry(step.check()).or_default().push((step, record));
    }
    let mut left = Vec::new();
    let mut after: BTreeSet<KnownEntry> = old.entries().cloned().collect();
    for check in order.into_iter().filter(|check| is_asked(check)) {
        let steps = ran.get(check).map_or(&[][..], Vec::as_slice);
        let mut leave = |why: String| {
            left.push(LeftOut {
                check: check.to_owned(),
                why,
            });
        };
        if report.shard.is_some() {
            leave("the run is a shard: its other batches ran elsewhere".to_owned());
            continue;
        }
        match steps
            .iter()
            .map(|(step, record)| identify(check, step, record))
            .collect()
        {
            Err(why) => leave(why.to_string()),
            Ok(found) => {
                let found: Vec<(Vec<KnownEntry>, usize)> = found;
                let unknowable: usize = found.iter().map(|(_, n)| n).sum();
                let found: Vec<KnownEntry> =
                    found.into_iter().flat_map(|(found, _)| found).collect();
                if unknowable > 0 {
                    leave(why_unknowable(steps, unknowable));
                }
                let fingerprints: BTreeSet<_> =
                    found.iter().map(|e| e.fingerprint.clone()).collect();
                // A remaining entry keeps its text, so that a review shows only new ones.
                let words = |e: &KnownEntry| fingerprints.contains(&e.fingerprint);
                let kept: Vec<KnownEntry> = old
                    .entries()
                    .filter(|e| e.check == check && words(e))
                    .cloned()
                    .collect();
                let before: BTreeSet<_> = kept.iter().map(|e| e.fingerprint.clone()).collect();
                let is_fresh = |e: &KnownEntry| !before.contains(&e.fingerprint);
                let fresh = found.into_iter().filter(is_fresh);
                let found: Vec<KnownEntry> = kept.iter().cloned().chain(fresh).collect();
                // An unidentified finding may be one that is listed, so the check keeps its old
                // entries.
                let hides = unknowable > 0;
                let before = old.entries().filter(|e| hides && e.check == check);
                let before: Vec<KnownEntry> = before.cloned().collect();
                after.retain(|e| e.check != check);
                after.extend(next(check, found).into_iter().chain(before));
            }
        }
    }
    let missing = checks.iter().filter(|c| !ran.contains_key(c.as_str()));
    left.extend(missing.map(|check| LeftOut {
        check: check.clone(),
        why: "the run did not have it".to_owned(),
    }));
    let mut baseline = Baseline::new(after);
    if let Some(why) = too_large(&baseline) {
        left.push(LeftOut {
            check: String::new(),
            why: format!("{why}: nothing was recorded"),
        });
        baseline = old.clone();
    }
    Recording {
        added: baseline.beyond(old).values().sum(),
        removed: old.beyond(&baseline).values().sum(),
        baseline,
        left,
    }
}

/// Says why a baseline could not be read again.
fn too_large(baseline: &Baseline) -> Option<String> {
    if baseline.entries().len() > MAX_ENTRIES {
        return Some(format!("a baseline has at most {MAX_ENTRIES} entries"));
    }
    let is_large = u64::try_from(encode(baseline).len()).is_ok_and(|size| size > MAX_BYTES);
    is_large.then(|| format!("a baseline has at most {}", show_size(MAX_BYTES)))
}

/// The reason why the findings of a step cannot be listed.
enum Unlisted {
    NotOutput,
    Unread,
    Status(Status, String),
    Cached,
    TooManyFindings(u64),
    TooManyFailed(u64),
    NotWhole,
    WithinLimits,
}

impl Display for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOutput => f.write_str("nothing is read of its output"),
            Self::Unread => f.write_str("its output was not read"),
            Self::Status(status, detail) => write!(f, "`{}`: {}", status.name(), visible(detail)),
            Self::Cached => f.write_str("it did not run: an earlier pass stands for it"),
            Self::TooManyFindings(n) => write!(
                f,
                "it has {n} findings, and at most {FINDINGS_KEPT} of a severity can be listed: divide it into checks of fewer files"
            ),
            Self::TooManyFailed(n) => write!(
                f,
                "{n} of its tests fail, and at most {FAILED_KEPT} can be listed: divide it into checks of fewer tests"
            ),
            Self::NotWhole => {
                f.write_str("its output was not read whole: it counts others than are listed")
            }
            Self::WithinLimits => f.write_str("what it found is within its limits"),
        }
    }
}

/// Returns the findings of a step, and how many of them cannot be identified.
///
/// # Errors
/// Its record does not show all that there is.
fn identify(
    check: &str,
    step: &Step,
    record: &StepRecord,
) -> Result<(Vec<KnownEntry>, usize), Unlisted> {
    if !matches!(step.kind, Kind::Compile | Kind::Test | Kind::Lint) || step.setup {
        return Err(Unlisted::NotOutput);
    }
    let Some(format) = record.format.as_ref() else {
        return Err(Unlisted::Unread);
    };
    let shows_all = match (record.status, record.reason) {
        (Status::Passed, None) => true,
        (Status::PassedWithWarnings, None | Some(Cause::Known)) => true,
        (Status::Failed, Some(Cause::Errors | Cause::TestsFailed | Cause::Warnings)) => true,
        (Status::Cached, _) => false,
        _ => {
            let detail = record.detail.clone().unwrap_or_default();
            return Err(Unlisted::Status(record.status, detail));
        }
    };
    if !shows_all {
        return Err(Unlisted::Cached);
    }
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let listed = count(record.diagnostics.len());
    let counted = (record.errors.unwrap_or(0)).saturating_add(record.warnings.unwrap_or(0));
    let failed = record.tests.map_or(0, |tests| tests.failed);
    let most = count(FINDINGS_KEPT);
    if record.errors.is_some_and(|n| n > most) || record.warnings.is_some_and(|n| n > most) {
        return Err(Unlisted::TooManyFindings(counted));
    }
    if failed > count(FAILED_KEPT) {
        return Err(Unlisted::TooManyFailed(failed));
    }
    if !record.problems.is_empty()
        || listed != counted
        || count(record.failed_tests.len()) != failed
    {
        return Err(Unlisted::NotWhole);
    }
    let all = record.diagnostics.len() + record.failed_tests.len();
    if record.identities.len() != all {
        if record.status == Status::Failed {
            return Ok((Vec::new(), all));
        }
        return Err(Unlisted::WithinLimits);
    }
    let findings = record.diagnostics.iter().map(of_finding);
    let tests = record.failed_tests.iter().map(of_test);
    let entries: Vec<KnownEntry> = findings
        .chain(tests)
        .zip(&record.identities)
        .filter_map(|(mut what, identity)| {
            // A tool may name the file from the root of all files.
            if let (EntryKind::Finding { file, .. }, Some(own)) = (&mut what, &identity.file) {
                *file = inert_excerpt(own);
            }
            Some(KnownEntry {
                check: check.to_owned(),
                what,
                format: format.clone(),
                fingerprint: identity.fingerprint.clone()?,
            })
        })
        .collect();
    let unknowable = all - entries.len();
    Ok((entries, unknowable))
}

fn why_unknowable(steps: &[(&Step, &StepRecord)], unknowable: usize) -> String {
    let why = steps.iter().find_map(|(step, record)| {
        let argv: Vec<_> = (step.argv.iter().flatten())
            .map(|word| String::from_utf8_lossy(word.as_bytes()))
            .collect();
        let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
        cannot_be_known(record.format.as_deref()?, &argv)
    });
    let why = why.unwrap_or_else(|| {
        "not all of its output was read, their lines cannot be read, or they keep their tool from finding others".to_owned()
    });
    format!("{unknowable} of its findings cannot be known: {why}")
}

fn of_finding(finding: &Finding) -> EntryKind {
    EntryKind::Finding {
        file: inert_excerpt(finding.file.as_deref().unwrap_or_default()),
        rule: finding.code.as_deref().map(inert_excerpt),
        message: inert_excerpt(&finding.message),
    }
}

fn of_test(test: &FailedTest) -> EntryKind {
    EntryKind::Test {
        name: inert_excerpt(&test.name),
    }
}

/// Returns the beginning of a text, on one line and inert.
fn inert_excerpt(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = inert(line.join(" ").as_bytes());
    match line.char_indices().nth(TEXT_SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
