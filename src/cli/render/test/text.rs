//! Renders the results of a contract's tests for people: a line a test, and for a failure the
//! expected next to the actual.

use super::{Results, describe};
use crate::render::diagnostic::diagnostics;
use crate::render::style::{Tone, count, cut, paint};
use vplan_base::diagnostic::{Code, Diagnostic};
use vplan_base::span::Place;
use vplan_base::word::visible;
use vplan_contract::expect::{Assertion, AssertionKind, Expect};
use vplan_plan::expectation::alignment::align;
use vplan_plan::expectation::coverage::ItemKind;
use vplan_plan::expectation::{Difference, DifferenceKind, Verdict};

/// An assertion does not hold.
const FAILED: Code = Code("vplan::test::failed");
/// Wider names do not push the second column further.
const WIDEST: usize = 32;
/// So many lines of what is not covered are shown.
const UNCOVERED: usize = 50;

/// The whole page. `quiet`: failures only.
pub fn page(results: &Results<'_>, quiet: bool, color: bool, width: usize) -> String {
    let mut out = String::new();
    let title = |e: &Expect| {
        format!(
            "{}  ({}:{})",
            visible(&e.title),
            visible(results.file(e)),
            e.line
        )
    };
    if results.verdicts.is_none() {
        results
            .expects
            .iter()
            .for_each(|e| out.push_str(&format!("{}\n", title(e))));
        return out;
    }
    let mut failures = String::new();
    for (expect, verdict) in results.run() {
        if !verdict.passed() {
            out.push_str(&format!(
                "{} {}\n",
                paint(color, Tone::Bad, "FAILED"),
                title(expect)
            ));
            failure(results, expect, verdict, color, width, &mut failures);
        } else if !quiet {
            out.push_str(&format!(
                "{}     {}\n",
                paint(color, Tone::Good, "ok"),
                title(expect)
            ));
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

fn coverage(results: &Results<'_>, color: bool, out: &mut String) {
    let part = |kind: &ItemKind| {
        let count = results
            .coverage
            .kinds
            .get(kind)
            .copied()
            .unwrap_or_default();
        (count.total > 0).then(|| {
            format!(
                "{} {}/{} ({}%)",
                kind.plural(),
                count.covered,
                count.total,
                count.percent()
            )
        })
    };
    let parts: Vec<String> = ItemKind::ALL.iter().filter_map(part).collect();
    let total = results.coverage.total().percent();
    let parts = if parts.is_empty() {
        String::new()
    } else {
        format!(": {}", parts.join(", "))
    };
    out.push_str(&format!("coverage {total}%{parts}\n"));
    if results.coverage.elsewhere > 0 {
        let text = format!(
            "  not counted: {} of imports from elsewhere",
            count(results.coverage.elsewhere, "item")
        );
        out.push_str(&format!("{}\n", paint(color, Tone::Faint, &text)));
    }
    let uncovered = &results.coverage.uncovered;
    for item in uncovered.iter().take(UNCOVERED) {
        let place = format!("{}:{}", visible(&item.file), item.line);
        let text = format!(
            "  {place}  {}: {}",
            cut(&visible(&item.name), 100),
            item.never
        );
        out.push_str(&format!("{}\n", paint(color, Tone::Faint, &text)));
    }
    if uncovered.len() > UNCOVERED {
        let text = format!(
            "  … and {} more (`--format json` has all)",
            uncovered.len() - UNCOVERED
        );
        out.push_str(&format!("{}\n", paint(color, Tone::Faint, &text)));
    }
}

/// The failure of one test.
fn failure(
    results: &Results<'_>,
    expect: &Expect,
    verdict: &Verdict,
    color: bool,
    width: usize,
    out: &mut String,
) {
    if let Some(refused) = &verdict.refused {
        let message = format!(
            "`{}`: there is no plan: {}",
            visible(&expect.title),
            refused.message
        );
        let mut diagnostic =
            Diagnostic::error(FAILED, message).label(expect.place, "for this test");
        diagnostic.help.clone_from(&refused.help);
        out.push_str(&diagnostics(results.sources, &[diagnostic], color, width));
    }
    for assertion in &expect.assertions {
        let of: Vec<&Difference> = verdict
            .differences
            .iter()
            .filter(|d| d.assertion == assertion.kind)
            .collect();
        if of.is_empty() {
            continue;
        }
        let message = format!("`{}`: {}", visible(&expect.title), sum(assertion, &of));
        let diagnostic = labelled(Diagnostic::error(FAILED, message), assertion, &of);
        out.push_str(&diagnostics(results.sources, &[diagnostic], color, width));
        if assertion.kind == AssertionKind::Plan {
            table(assertion, &of, verdict, color, out);
        } else {
            let plan = if verdict.plan.is_empty() {
                "nothing".to_owned()
            } else {
                verdict.plan.join(" ")
            };
            out.push_str(&format!("    the plan is: {}\n\n", visible(&plan)));
        }
    }
}

/// A message with its places: the assertion as a whole gets one label, for the first check that it
/// does not name.
fn labelled(mut diagnostic: Diagnostic, assertion: &Assertion, of: &[&Difference]) -> Diagnostic {
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

fn sum(assertion: &Assertion, differences: &[&Difference]) -> &'static str {
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

/// Expected and actual plan side by side, with the reason for each difference.
fn table(
    assertion: &Assertion,
    differences: &[&Difference],
    verdict: &Verdict,
    color: bool,
    out: &mut String,
) {
    let expected: Vec<&str> = assertion.names.iter().map(|n| n.value.as_str()).collect();
    let actual: Vec<&str> = verdict.plan.iter().map(String::as_str).collect();
    let widest = |names: &[&str], head: &str| {
        names
            .iter()
            .map(|n| n.chars().count())
            .chain([head.len()])
            .max()
            .unwrap_or(0)
            .min(WIDEST)
    };
    let (left, right) = (widest(&expected, "expected"), widest(&actual, "actual"));
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
        let why = name
            .and_then(|n| differences.iter().find(|d| d.name == n))
            .filter(moved);
        let why = why.map_or(String::new(), |d| format!("   {}: {}", describe(d), d.why));
        let cells = format!(
            "  {mark} {:left$}   {:right$}",
            cell(row.expected),
            cell(row.actual)
        );
        let cells = if why.is_empty() {
            cells.trim_end().to_owned()
        } else {
            cells
        };
        let cells = tone.map_or(cells.clone(), |t| paint(color, t, &cells));
        out.push_str(&format!("{cells}{}\n", visible(&why)));
    }
    out.push('\n');
}
