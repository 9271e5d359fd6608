//! The results of a contract's tests for machines: one document.

use super::Results;
use crate::plan::expectation::coverage::{Count, Item};
use crate::plan::expectation::{Difference, DifferenceKind, Verdict};
use serde_json::{Value, json};

/// `{cases, contract, coverage, failed, passed, version}`; a listed case has neither `plan` nor `status`.
#[must_use]
pub fn document(results: &Results<'_>) -> Value {
    let verdict = |i: usize| results.verdicts.and_then(|v| v.get(i));
    let cases: Vec<Value> = results
        .expects
        .iter()
        .enumerate()
        .map(|(i, expect)| {
            let mut case = json!({
                "file": results.file(expect),
                "line": expect.line,
                "title": expect.title,
            });
            if let (Some(verdict), Some(map)) = (verdict(i), case.as_object_mut()) {
                map.insert("differences".to_owned(), differences(results, verdict));
                map.insert("plan".to_owned(), json!(verdict.plan));
                map.insert("status".to_owned(), json!(if verdict.passed() { "passed" } else { "failed" }));
                if let Some(refused) = &verdict.refused {
                    map.insert("refused".to_owned(), json!(refused.message));
                }
            }
            case
        })
        .collect();
    let mut document = json!({
        "cases": cases,
        "contract": { "digest": results.contract.digest, "path": results.contract.path },
        "version": 1,
    });
    if let (Some(verdicts), Some(map)) = (results.verdicts, document.as_object_mut()) {
        let failed = results.failed();
        map.insert("failed".to_owned(), json!(failed));
        map.insert("passed".to_owned(), json!(verdicts.len() - failed));
        map.insert("coverage".to_owned(), coverage(results));
    }
    document
}

fn differences(results: &Results<'_>, verdict: &Verdict) -> Value {
    let kind = |d: &Difference| match d.kind {
        DifferenceKind::Missing => "missing",
        DifferenceKind::Surplus => "surplus",
        DifferenceKind::Moved => "moved",
        DifferenceKind::Unknown => "unknown",
    };
    let one = |d: &Difference| {
        let position = results.sources.position(d.place);
        json!({
            "assertion": d.assertion.keyword(),
            "column": position.column,
            "kind": kind(d),
            "line": position.line,
            "name": d.name,
            "why": d.why,
        })
    };
    verdict.differences.iter().map(one).collect()
}

fn coverage(results: &Results<'_>) -> Value {
    let count = |c: &Count| json!({ "covered": c.covered, "percent": c.percent(), "total": c.total });
    let kinds = results.coverage.kinds.iter().map(|(kind, c)| (kind.plural().to_owned(), count(c)));
    let item = |i: &Item| json!({ "file": i.file, "kind": i.kind, "line": i.line, "name": i.name, "never": i.never });
    let mut all = count(&results.coverage.total());
    if let Some(map) = all.as_object_mut() {
        map.insert("elsewhere".to_owned(), results.coverage.elsewhere.into());
        map.insert("kinds".to_owned(), Value::Object(kinds.collect()));
        map.insert("uncovered".to_owned(), results.coverage.uncovered.iter().map(item).collect());
    }
    all
}
