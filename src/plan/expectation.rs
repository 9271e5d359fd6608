//! Runs the tests of a contract. A test is a request with the plan that it must give; no repository
//! is read.

pub mod alignment;
pub mod coverage;
pub mod writing;

use super::compile::{Assembled, assemble};
use super::definition::name_definitions;
use super::error::PlanError;
use super::explain::sentence;
use super::facts::{Certainty, FactAnswer, Facts, Question};
use super::prepared::Prepared;
use super::request::Request;
use super::select::ConditionResults;
use super::{Omitted, Plan, Step};
use coverage::{Blocks, Touched};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use vplan_base::span::Place;
use vplan_base::word::{first_of, visible};
use vplan_check::Kind;
use vplan_contract::draft::At;
use vplan_contract::expect::{AssertionKind, Expect, ExpectAssertion};
use vplan_contract::{CheckIndex, Contract, Sought};

/// Maximum number of files and reasons that a sentence names.
const NAMED: usize = 3;

/// The result of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The checks and commands of the plan, in order, each once: batches are one.
    pub plan: Vec<String>,
    /// The failed assertions, in order; empty when the test passed.
    pub differences: Vec<Difference>,
    /// The error, if there is no plan.
    pub refused: Option<PlanError>,
    /// The parts of the contract that the test touched.
    pub touched: Touched,
}

impl Verdict {
    /// Whether everything was as expected.
    pub fn passed(&self) -> bool {
        self.differences.is_empty() && self.refused.is_none()
    }
}

/// One way in which the plan is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The assertion that does not hold.
    pub assertion: AssertionKind,
    /// The kind of difference.
    pub kind: DifferenceKind,
    /// The check, or the command of the test.
    pub name: String,
    /// The name in the assertion; the whole assertion for a check that it does not name.
    pub place: Place,
    /// One line for people: why it is in the plan, why it is not, or why it has this place.
    pub why: String,
}

// The kinds of difference between a plan and an assertion.
#[expect(missing_docs, reason = "the schema of the document would show it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceKind {
    /// Expected to run, but omitted.
    Missing,
    /// A check that the test does not ask for is in the plan.
    Surplus,
    /// A check is at another place.
    Moved,
    /// Nothing has that name.
    Unknown,
}

/// Runs tests of one contract; shared data is built once.
#[derive(Debug)]
pub struct Examiner<'c> {
    contract: &'c Contract,
    /// Every path and glob of a `whenExists`, a `whenExistsAny` or a `whenAbsent`.
    asked: Vec<&'c Sought>,
    index: BTreeMap<&'c str, CheckIndex>,
    blocks: Blocks,
    prepared: Prepared<'c>,
}

/// Runs one test. [`Examiner`] is faster for several.
pub fn evaluate(contract: &Contract, expect: &Expect) -> Verdict {
    Examiner::new(contract).evaluate(expect)
}

/// Makes the request of a test: mode `contract`, no waivers, no choice of checks.
pub fn request(expect: &Expect) -> Request {
    Request {
        role: expect.role.clone(),
        changed: expect.changed.clone(),
        risk: expect.risk.unwrap_or_default(),
        boundaries: expect.ends.iter().copied().collect(),
        min_tier: expect.min_tier,
        explicit: expect.commands.clone(),
        ..Request::default()
    }
}

impl<'c> Examiner<'c> {
    /// Builds the data that all tests share.
    pub fn new(contract: &'c Contract) -> Self {
        Self {
            contract,
            asked: contract.sought().into_iter().collect(),
            index: contract.check_indices(),
            blocks: Blocks::new(contract),
            prepared: Prepared::new(contract),
        }
    }

    /// Runs one test.
    pub fn evaluate(&self, expect: &Expect) -> Verdict {
        let (request, facts) = (request(expect), self.facts(expect));
        let role = expect.role.as_deref().unwrap_or("worker").to_owned();
        let nothing = |refused| Verdict {
            plan: Vec::new(),
            differences: Vec::new(),
            refused: Some(refused),
            touched: Touched {
                role: role.clone(),
                ..Touched::default()
            },
        };

        let verdict = |prepared| match assemble(Some(self.contract), &request, &facts, prepared) {
            Ok(Assembled::Plan(mut plan, seen)) => {
                let known = &mut facts.clone();
                name_definitions(&mut plan, &request.changed, known, |_| Facts::default());
                self.verdict(expect, &plan, &seen, role.clone())
            }
            Ok(Assembled::Needs(questions)) => {
                let list: Vec<String> = questions.iter().map(|q| visible(q.to_word())).collect();
                let list = list.join("`, `");
                let message = format!("the plan depends on `{list}`, which a test cannot say");
                nothing(PlanError::new("vplan::test::facts", message, None))
            }
            Err(error) => nothing(error),
        };
        let quick = verdict(Some(&self.prepared));
        if quick.passed() {
            return quick;
        }
        verdict(None)
    }

    /// Answers everything that compiling may ask.
    fn facts(&self, expect: &Expect) -> Facts {
        let mut facts = Facts::default();
        for sought in &self.asked {
            let there = match sought.is_among(expect.exists.iter()) {
                true => Certainty::Yes,
                false => Certainty::No,
            };
            facts.add(Question::exists(sought), FactAnswer::Word(there));
        }
        // A file that a test names as changed exists, unless the test marks it as deleted.
        facts.add(Question::MissingChanged, FactAnswer::List(Vec::new()));
        facts
    }

    fn verdict(
        &self,
        expect: &Expect,
        plan: &Plan,
        seen: &ConditionResults,
        role: String,
    ) -> Verdict {
        let mut names: Vec<String> = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            if names.last().is_none_or(|last| last != step.check()) {
                names.push(step.check().to_owned());
            }
        }
        let checks = names.iter().filter_map(|n| self.index.get(n.as_str()));
        let touched = Touched::new(role, checks.copied().collect(), seen, &self.blocks);
        let view = View::new(self, plan, &names);
        let assertions = expect.assertions.iter();
        let differences = assertions.flat_map(|a| view.differences(a)).collect();
        Verdict {
            plan: names,
            differences,
            refused: None,
            touched,
        }
    }
}

/// A plan against which assertions are checked.
struct View<'v> {
    examiner: &'v Examiner<'v>,
    names: &'v [String],
    /// The place of each name.
    places: BTreeMap<&'v str, usize>,
    /// The last step of each name.
    steps: BTreeMap<&'v str, &'v Step>,
    omitted: BTreeMap<&'v str, &'v Omitted>,
}

impl<'v> View<'v> {
    fn new(examiner: &'v Examiner<'v>, plan: &'v Plan, names: &'v [String]) -> Self {
        // Of two with one name the first counts; of the steps of one check, the last.
        let places = names.iter().enumerate().rev();
        let omitted = plan.omitted.iter().rev();
        Self {
            examiner,
            names,
            places: places.map(|(i, n)| (n.as_str(), i)).collect(),
            steps: plan.steps.iter().map(|s| (s.check(), s)).collect(),
            omitted: omitted.map(|o| (o.id.as_str(), o)).collect(),
        }
    }

    fn differences(&self, assertion: &ExpectAssertion) -> Vec<Difference> {
        let runs = |name: &str| self.places.contains_key(name);
        let of = |kind, name: &str, place, why| Difference {
            assertion: assertion.kind,
            kind,
            name: name.to_owned(),
            place,
            why,
        };
        let absent = |name: &str, place| match self.why_not(name) {
            Some(why) => of(DifferenceKind::Missing, name, place, why),
            None => {
                let why = "no check, and no command of this test, has this name".to_owned();
                of(DifferenceKind::Unknown, name, place, why)
            }
        };
        match assertion.kind {
            AssertionKind::Runs => {
                let missing = assertion.names.iter().filter(|n| !runs(&n.value));
                missing.map(|n| absent(&n.value, n.place)).collect()
            }
            AssertionKind::Skips => {
                let wrong = |name: &At<String>| {
                    let (name, place) = (&name.value, name.place);
                    if runs(name) {
                        return Some(of(DifferenceKind::Surplus, name, place, self.why(name)));
                    }
                    let is_unknown = self.why_not(name).is_none();
                    is_unknown.then(|| absent(name, place))
                };
                assertion.names.iter().filter_map(wrong).collect()
            }
            AssertionKind::Plan => {
                let expected = assertion.names.iter().map(|n| n.value.as_str());
                let expected: Vec<&str> = expected.collect();
                let actual: Vec<&str> = self.names.iter().map(String::as_str).collect();
                if actual == expected {
                    return Vec::new();
                }
                let named = assertion.names.iter().rev();
                let places: BTreeMap<&str, Place> =
                    named.map(|n| (n.value.as_str(), n.place)).collect();
                let place = |name: &str| places.get(name).copied();
                let rows = alignment::align(&expected, &actual);
                let wrong = rows
                    .iter()
                    .filter_map(|row| match (row.expected, row.actual) {
                        (Some(name), None) if runs(name) => None,
                        (Some(name), None) => {
                            Some(absent(name, place(name).unwrap_or(assertion.place)))
                        }
                        (None, Some(name)) => {
                            let (kind, place, why) = match place(name) {
                                Some(place) => (DifferenceKind::Moved, place, self.why_here(name)),
                                None => (DifferenceKind::Surplus, assertion.place, self.why(name)),
                            };
                            Some(of(kind, name, place, why))
                        }
                        _ => None,
                    });
                wrong.collect()
            }
        }
    }

    /// Explains why a check is in the plan.
    fn why(&self, name: &str) -> String {
        let step = self.steps.get(name);
        let reasons = step.map(|s| s.reasons.as_slice()).unwrap_or_default();
        let shown = reasons.iter().take(NAMED);
        let mut told: Vec<String> = shown.map(|r| sentence(r, NAMED)).collect();
        if reasons.len() > NAMED {
            told.push(format!("and {} more reasons", reasons.len() - NAMED));
        }
        told.join("; ")
    }

    /// Explains why a check is not in the plan; `None` when nothing has this name.
    fn why_not(&self, name: &str) -> Option<String> {
        if let Some(omitted) = self.omitted.get(name) {
            return Some(visible(&omitted.reason));
        }
        let is_known = self.examiner.index.contains_key(name);
        is_known.then(|| "it is the same work as another check of the plan".to_owned())
    }

    /// Explains why a check has its place in the order.
    fn why_here(&self, name: &str) -> String {
        let before = self.places.get(name).and_then(|place| place.checked_sub(1));
        let before = before.and_then(|place| self.names.get(place));
        let place = before.map_or("it runs first".to_owned(), |b| {
            format!("it runs behind `{}`", visible(b))
        });
        let step = self.steps.get(name);
        let after = step.map(|s| s.after.as_slice()).unwrap_or_default();
        match after {
            [] if step.is_some_and(|step| step.kind == Kind::Judge) => {
                format!("{place}, since a judge is asked last in its tier")
            }
            [] => format!("{place}, by the order of the file"),
            list => {
                let names = list.iter().map(|name| format!("`{}`", visible(name)));
                format!("{place}; it waits for {}", first_of(names, NAMED))
            }
        }
    }
}

#[cfg(test)]
mod tests;
