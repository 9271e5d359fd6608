//! Renders the results of a contract's tests as one JSON document.

use super::TestResultRows;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use vplan_base::canon::Digest;
use vplan_plan::expectation::coverage::{self, Item};
use vplan_plan::expectation::{self, DifferenceKind, Verdict};

/// The tests of a contract, and what came of them.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestDocument<'a> {
    /// The tests, in order.
    cases: Vec<Case<'a>>,
    /// The contract.
    contract: Contract<'a>,
    /// The parts of the contract that the tests touched; absent when they were only listed.
    coverage: Option<Covered<'a>>,
    /// The number of failed tests; absent when they were only listed.
    failed: Option<usize>,
    /// The number of passed tests; absent when they were only listed.
    passed: Option<usize>,
}

/// A test. One that was only listed has neither `differences` nor `plan` nor `status`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
struct Case<'a> {
    /// The differences between the plan and the test.
    differences: Option<Vec<Difference<'a>>>,
    /// The file that it is in.
    file: &'a str,
    /// Its line, from 1.
    line: usize,
    /// The checks of the plan, in order.
    plan: Option<&'a [String]>,
    /// The reason why there is no plan, where there is none.
    refused: Option<&'a str>,
    /// Whether it passed.
    status: Option<Status>,
    /// Its title.
    title: &'a str,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CaseStatus")]
enum Status {
    Passed,
    Failed,
}

/// The contract that was tested.
#[derive(Debug, Serialize, JsonSchema)]
struct Contract<'a> {
    /// Of its formatted, comment-free form.
    digest: &'a Digest,
    /// Its repository path.
    path: &'a str,
}

/// A difference between a plan and a test.
#[derive(Debug, Serialize, JsonSchema)]
struct Difference<'a> {
    /// The statement of the test: `runs`, `plan`, `skips`, …
    assertion: &'static str,
    /// Its column: from 1, in bytes.
    column: usize,
    /// The kind of difference.
    kind: DifferenceKind,
    /// Its line: from 1.
    line: usize,
    /// The check that it is about.
    name: &'a str,
    /// The reason, in one line.
    why: &'a str,
}

/// The part of the contract that the tests touched.
#[derive(Debug, Serialize, JsonSchema)]
struct Covered<'a> {
    #[serde(flatten)]
    all: Count,
    /// Items that imports bring, which are tested where they come from.
    elsewhere: usize,
    /// The same by the kind of item.
    kinds: BTreeMap<&'static str, Count>,
    /// The parts that no test touched.
    uncovered: &'a [Item],
}

/// Touched items, of how many.
#[derive(Debug, Serialize, JsonSchema)]
struct Count {
    /// Items that some test touched.
    covered: usize,
    /// In percent, rounded down.
    percent: usize,
    /// All items.
    total: usize,
}

impl From<coverage::Count> for Count {
    fn from(count: coverage::Count) -> Self {
        Self {
            covered: count.covered,
            percent: count.percent(),
            total: count.total,
        }
    }
}

/// All that there is to tell.
pub fn document<'a>(results: &'a TestResultRows<'_>) -> TestDocument<'a> {
    let differences = |v: &'a Verdict| {
        v.differences
            .iter()
            .map(|d| difference(results, d))
            .collect()
    };
    let cases = results.all().map(|(expect, verdict)| Case {
        differences: verdict.map(differences),
        file: results.file(expect),
        line: expect.line,
        plan: verdict.map(|v| v.plan.as_slice()),
        refused: verdict.and_then(|v| Some(v.refused.as_ref()?.message.as_str())),
        status: verdict.map(|v| {
            if v.passed() {
                Status::Passed
            } else {
                Status::Failed
            }
        }),
        title: &expect.title,
    });
    let failed = results.verdicts.map(|_| results.failed());
    TestDocument {
        cases: cases.collect(),
        contract: Contract {
            digest: &results.contract.digest,
            path: &results.contract.path,
        },
        coverage: results.verdicts.map(|_| covered(results)),
        failed,
        passed: failed.map(|failed| results.expects.len() - failed),
    }
}

fn difference<'a>(
    results: &TestResultRows<'_>,
    difference: &'a expectation::Difference,
) -> Difference<'a> {
    let position = results.sources.position(difference.place);
    Difference {
        assertion: difference.assertion.name(),
        column: position.column,
        kind: difference.kind,
        line: position.line,
        name: &difference.name,
        why: &difference.why,
    }
}

fn covered<'a>(results: &'a TestResultRows<'_>) -> Covered<'a> {
    let kinds = results.coverage.kinds.iter();
    let kinds = kinds.map(|(kind, count)| (kind.plural(), Count::from(*count)));
    Covered {
        all: results.coverage.total().into(),
        elsewhere: results.coverage.elsewhere,
        kinds: kinds.collect(),
        uncovered: &results.coverage.uncovered,
    }
}
