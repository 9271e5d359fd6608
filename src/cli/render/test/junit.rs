//! Renders the results of a contract's tests as JUnit XML.

use super::{TestResultRows, describe, plan_of};
use crate::render::junit::{JunitCase, JunitDocument, JunitEnd, JunitFailure, Suite, write};
use vplan_base::source::Source;
use vplan_base::span::SourceId;
use vplan_contract::expect::Expect;
use vplan_plan::expectation::{Difference, Verdict};

/// One `testsuite` for each file, one `testcase` for each test. Nothing depends on the clock, so
/// there is no time in it.
pub fn document(results: &TestResultRows<'_>) -> String {
    let mut files: Vec<SourceId> = results.expects.iter().map(|e| e.place.source).collect();
    files.dedup();
    let suite = |file: SourceId| {
        let of_file = results.all().filter(|(e, _)| e.place.source == file);
        let cases = of_file.map(|(e, verdict)| case(results, e, verdict));
        let name = results.sources.get(file).map_or("", Source::name);
        Suite {
            cases: cases.collect(),
            name: name.to_owned(),
            ..Suite::default()
        }
    };
    let suites = files.into_iter().map(suite).collect();
    write(&JunitDocument {
        name: "vplan test".to_owned(),
        suites,
        time_ms: None,
    })
}

fn case(results: &TestResultRows<'_>, expect: &Expect, verdict: Option<&Verdict>) -> JunitCase {
    let file = results.file(expect).to_owned();
    let end = match verdict {
        None => JunitEnd::Skipped(None),
        Some(verdict) if verdict.passed() => JunitEnd::Passed,
        Some(verdict) => {
            let line = |d: &Difference| {
                let (assertion, what) = (d.assertion.name(), describe(d));
                format!("{assertion}: `{}` {what}: {}", d.name, d.why)
            };
            let refused = verdict.refused.iter().map(|r| r.message.clone());
            let lines: Vec<String> = verdict
                .differences
                .iter()
                .map(line)
                .chain(refused)
                .collect();
            JunitEnd::Failed(JunitFailure {
                body: format!("{}\n{}", lines.join("\n"), plan_of(verdict)),
                kind: "expect".to_owned(),
                message: lines.first().cloned().unwrap_or_default(),
            })
        }
    };
    JunitCase {
        class: file.clone(),
        end,
        file: Some(file),
        line: u64::try_from(expect.line).ok(),
        name: expect.title.clone(),
        ..JunitCase::default()
    }
}
