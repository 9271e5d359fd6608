//! Renders the results of a contract's tests, one file per format.

pub mod json;
pub mod junit;
pub mod text;

use vplan_base::source::{Source, Sources};
use vplan_contract::Contract;
use vplan_contract::expect::{AssertionKind, Expect};
use vplan_plan::expectation::coverage::TestCoverage;
use vplan_plan::expectation::{Difference, DifferenceKind, Verdict};

/// All that there is to tell.
#[derive(Debug)]
pub struct TestResultRows<'r> {
    /// The contract under test.
    pub contract: &'r Contract,
    /// The files that contain the tests.
    pub sources: &'r Sources,
    /// The tests, in order.
    pub expects: &'r [Expect],
    /// The result of each; `None` when they were only listed.
    pub verdicts: Option<&'r Vec<Verdict>>,
    /// The coverage of the tests.
    pub coverage: &'r TestCoverage,
    /// Whether only some of the tests ran, which says nothing about coverage.
    pub filtered: bool,
}

/// Says what the plan of a test is.
fn plan_of(verdict: &Verdict) -> String {
    match verdict.plan.as_slice() {
        [] => "the plan is: nothing".to_owned(),
        plan => format!("the plan is: {}", plan.join(" ")),
    }
}

impl TestResultRows<'_> {
    /// Returns all tests, with the results of those that ran.
    fn all(&self) -> impl Iterator<Item = (&Expect, Option<&Verdict>)> {
        let ran = self.verdicts.into_iter().flatten().map(Some);
        let all = self.expects.iter();
        all.zip(ran.chain(std::iter::repeat(None)))
    }

    /// Returns the tests with their results.
    fn run(&self) -> impl Iterator<Item = (&Expect, &Verdict)> {
        self.expects.iter().zip(self.verdicts.into_iter().flatten())
    }

    fn failed(&self) -> usize {
        self.run().filter(|(_, v)| !v.passed()).count()
    }

    /// The file of a test.
    fn file(&self, expect: &Expect) -> &str {
        self.sources
            .get(expect.place.source)
            .map_or("", Source::name)
    }
}

/// A difference as a sentence without its reason.
fn describe(difference: &Difference) -> &'static str {
    match (difference.kind, difference.assertion) {
        (DifferenceKind::Missing, _) => "does not run",
        (DifferenceKind::Surplus, AssertionKind::Skips) => "runs",
        (DifferenceKind::Surplus, _) => "runs, too",
        (DifferenceKind::Moved, _) => "runs at another place",
        (DifferenceKind::Unknown, _) => "is unknown",
    }
}
