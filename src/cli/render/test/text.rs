//! Renders the results of a contract's tests for people: a line a test, and for a failure the
//! expected next to the actual.

use super::{TestResultRows, describe, plan_of};
use crate::render::diagnostic::diagnostics;
use crate::render::style::{Tone, count, cut, paint, widest};
use vplan_base::diagnostic::{Code, Diagnostic};
use vplan_base::span::Place;
use vplan_base::word::{text_if, visible};
use vplan_contract::expect::{AssertionKind, Expect, ExpectAssertion};
use vplan_plan::expectation::alignment::align;
use vplan_plan::expectation::coverage::{Count, ItemKind};
use vplan_plan::expectation::{Difference, DifferenceKind, Verdict};

/// An assertion does not hold.
const FAILED: Code = Code("vplan::test::failed");
/// Wider names do not push the second column further.
const WIDEST: usize = 32;
/// So many lines of what is not covered are shown.
const UNCOVERED: usize = 50;

/// The whole page. `quiet`: failures only.
pub fn page(results: &TestResultRows<'_>, quiet: bool, color: bool, width: usize) -> String {
    let mut out = String::new();
    let title = |e: &Expect| {
        let (title, file) = (visible(&e.title), visible(results.file(e)));
        format!("{title}  ({file}:{})\n", e.line)
    };
    if results.verdicts.is_none() {
        return results.expects.iter().map(title).collect();
    }
    let mut failures = String::new();
    for (expect, verdict) in results.run() {
        if !verdict.passed() {
            let word = paint(color, Tone::Bad, "FAILED");
            out.push_str(&format!("{word} {}", title(expect)));
            failure(results, expect, verdict, color, width, &mut failures);
        } else if !quiet {
            let word = paint(color, Tone::Good, "ok");
            out.push_str(&format!("{word}     {}", title(expect)));
        }
    }
    if !failures.is_empty() {
        out.push('\n');
        out.push_str(&failures);
    }
    if results.expects.is_empty() || quiet {
        return out;
    }
    let failed = results.failed();
    let passed = results.expects.len() - failed;
    let (tone, sum) = match failed {
        0 => (Tone::Good, format!("{} passed", count(passed, "test"))),
        _ => {
            let all = count(results.expects.len(), "test");
            (Tone::Bad, format!("{failed} of {all} failed"))
        }
    };
    let sum = paint(color, tone, &sum);
    out.push_str(&format!("\n{sum}\n"));
    if !results.filtered {
        coverage(results, color, &mut out);
    }
    out
}

fn coverage(results: &TestResultRows<'_>, color: bool, out: &mut String) {
    let part = |kind: &ItemKind| {
        let count = results
            .coverage
            .kinds
            .get(kind)
            .copied()
            .unwrap_or_default();
        let Count { covered, total, .. } = count;
        let (kind, percent) = (kind.plural(), count.percent());
        (total > 0).then(|| format!("{kind} {covered}/{total} ({percent}%)"))
    };
    let parts: Vec<String> = ItemKind::ALL.iter().filter_map(part).collect();
    let total = results.coverage.total().percent();
    let parts = text_if(!parts.is_empty(), || format!(": {}", parts.join(", ")));
    out.push_str(&format!("coverage {total}%{parts}\n"));
    let mut faint = |text: &str| out.push_str(&(paint(color, Tone::Faint, text) + "\n"));
    if results.coverage.elsewhere > 0 {
        let items = count(results.coverage.elsewhere, "item");
        faint(&format!("  not counted: {items} of imports from elsewhere"));
    }
    let uncovered = &results.coverage.uncovered;
    for item in uncovered.iter().take(UNCOVERED) {
        let (file, name) = (visible(&item.file), cut(&visible(&item.name), 100));
        faint(&format!("  {file}:{}  {name}: {}", item.line, item.never));
    }
    if uncovered.len() > UNCOVERED {
        let more = uncovered.len() - UNCOVERED;
        faint(&format!("  … and {more} more (`--format json` has all)"));
    }
}

/// The failure of one test.
fn failure(
    results: &TestResultRows<'_>,
    expect: &Expect,
    verdict: &Verdict,
    color: bool,
    width: usize,
    out: &mut String,
) {
    if let Some(refused) = &verdict.refused {
        let title = visible(&expect.title);
        let message = format!("`{title}`: there is no plan: {}", refused.message);
        let mut diagnostic =
            Diagnostic::error(FAILED, message).label(expect.place, "for this test");
        diagnostic.help.clone_from(&refused.help);
        out.push_str(&diagnostics(results.sources, &[diagnostic], color, width));
    }
    for assertion in &expect.assertions {
        let of = verdict
            .differences
            .iter()
            .filter(|d| d.assertion == assertion.kind);
        let of: Vec<&Difference> = of.collect();
        if of.is_empty() {
            continue;
        }
        let message = format!("`{}`: {}", visible(&expect.title), sum(assertion, &of));
        let diagnostic = labelled(Diagnostic::error(FAILED, message), assertion, &of);
        out.push_str(&diagnostics(results.sources, &[diagnostic], color, width));
        if assertion.kind == AssertionKind::Plan {
            table(assertion, &of, verdict, color, out);
        } else {
            out.push_str(&format!("    {}\n\n", visible(plan_of(verdict))));
        }
    }
}

/// A message with its places: the assertion as a whole gets one label, for the first check that it
/// does not name.
fn labelled(
    mut diagnostic: Diagnostic,
    assertion: &ExpectAssertion,
    of: &[&Difference],
) -> Diagnostic {
    let mut places: Vec<Place> = Vec::new();
    for difference in of {
        if places.contains(&difference.place) {
            continue;
        }
        places.push(difference.place);
        let label = match assertion.kind {
            AssertionKind::Plan => format!("`{}` {}", difference.name, describe(difference)),
            _ => format!("it {}: {}", describe(difference), difference.why),
        };
        diagnostic = diagnostic.label(difference.place, label);
    }
    diagnostic
}

fn sum(assertion: &ExpectAssertion, differences: &[&Difference]) -> &'static str {
    let unknown = differences
        .iter()
        .all(|d| d.kind == DifferenceKind::Unknown);
    match assertion.kind {
        AssertionKind::Plan => "the plan is another",
        _ if unknown => "nothing has this name",
        AssertionKind::Runs => "something does not run",
        AssertionKind::Skips => "something runs",
    }
}

/// Expected and actual plan in two columns, with the reason for each difference.
fn table(
    assertion: &ExpectAssertion,
    differences: &[&Difference],
    verdict: &Verdict,
    color: bool,
    out: &mut String,
) {
    let expected: Vec<&str> = assertion.names.iter().map(|n| n.value.as_str()).collect();
    let actual: Vec<&str> = verdict.plan.iter().map(String::as_str).collect();
    let width = |names: &[&str], head: &str| widest(names).max(head.len()).min(WIDEST);
    let (left, right) = (width(&expected, "expected"), width(&actual, "actual"));
    let head = format!("    {:left$}   {:right$}", "expected", "actual");
    out.push_str(&format!("{}\n", paint(color, Tone::Faint, head.trim_end())));
    for row in align(&expected, &actual) {
        let cell = |name: Option<&str>| cut(&visible(name.unwrap_or("")), WIDEST);
        let (mark, tone) = match (row.expected, row.actual) {
            (Some(_), Some(_)) => (' ', None),
            (Some(_), None) => ('-', Some(Tone::Bad)),
            (None, _) => ('+', Some(Tone::Warn)),
        };
        let name = row.expected.xor(row.actual);
        // A check at another place has its reason there.
        let moved = |d: &&&Difference| row.actual.is_some() || !verdict.plan.contains(&d.name);
        let why = name.and_then(|n| differences.iter().find(|d| d.name == n));
        let why = why
            .filter(moved)
            .map(|d| format!("   {}: {}", describe(d), d.why));
        let (expected, actual) = (cell(row.expected), cell(row.actual));
        let mut cells = format!("  {mark} {expected:left$}   {actual:right$}");
        if why.is_none() {
            cells.truncate(cells.trim_end().len());
        }
        let cells = tone.map_or(cells.clone(), |t| paint(color, t, &cells));
        out.push_str(&format!("{cells}{}\n", visible(why.unwrap_or_default())));
    }
    out.push('\n');
}
