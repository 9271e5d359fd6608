//! Renders the results of a contract's tests as JUnit XML.

use super::{Results, describe};
use crate::base::source::Source;
use crate::base::span::SourceId;
use crate::cli::render::junit::{Case, End, JunitDocument, JunitFailure, Suite, write};

/// One `testsuite` for each file, one `testcase` for each test. Nothing depends on the clock, so
/// there is no time in it.
#[must_use]
pub fn document(results: &Results<'_>) -> String {
    let mut files: Vec<SourceId> = results.expects.iter().map(|e| e.place.source).collect();
    files.dedup();
    let suite = |file: SourceId| {
        let of_file = results
            .expects
            .iter()
            .enumerate()
            .filter(|(_, e)| e.place.source == file);
        Suite {
            cases: of_file.map(|(index, _)| case(results, index)).collect(),
            name: results
                .sources
                .get(file)
                .map_or("", Source::name)
                .to_owned(),
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

fn case(results: &Results<'_>, index: usize) -> Case {
    let Some(expect) = results.expects.get(index) else {
        return Case::default();
    };
    let file = results.file(expect).to_owned();
    let end = match results.verdicts.and_then(|v| v.get(index)) {
        None => End::Skipped(None),
        Some(verdict) if verdict.passed() => End::Passed,
        Some(verdict) => {
            let lines: Vec<String> = verdict
                .differences
                .iter()
                .map(|d| {
                    format!(
                        "{}: `{}` {}: {}",
                        d.assertion.keyword(),
                        d.name,
                        describe(d),
                        d.why
                    )
                })
                .chain(verdict.refused.iter().map(|r| r.message.clone()))
                .collect();
            let plan = if verdict.plan.is_empty() {
                "nothing".to_owned()
            } else {
                verdict.plan.join(" ")
            };
            End::Failed(JunitFailure {
                body: format!("{}\nthe plan is: {plan}", lines.join("\n")),
                kind: "expect".to_owned(),
                message: lines.first().cloned().unwrap_or_default(),
            })
        }
    };
    Case {
        class: file.clone(),
        end,
        file: Some(file),
        line: u64::try_from(expect.line).ok(),
        name: expect.title.clone(),
        ..Case::default()
    }
}
