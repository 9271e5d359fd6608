//! The findings of an audit as SARIF 2.1.0.

use crate::render::sarif::{BASE, uri};
use serde_json::{Value, json};
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::Exit;
use vplan_plan::audit::{Audited, Finding, FindingKind, Severity};

/// A log with one run.
pub(super) fn log(audited: &Audited, exit: Exit) -> Value {
    let rules = FindingKind::ALL.map(|kind| {
        json!({
            "defaultConfiguration": {"level": level(kind.severity())},
            "id": kind.name(),
            "shortDescription": {"text": kind.meaning()},
        })
    });
    let results: Vec<Value> = audited.findings.iter().map(result).collect();
    let gaps = audited.incomplete.iter();
    let gaps = gaps.map(|gap| {
        let text = format!("{}: {}", gap.check, gap.reason);
        json!({"level": "warning", "message": {"text": text}})
    });
    let gaps: Vec<Value> = gaps.collect();
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{
            "automationDetails": {"id": "vplan/audit"},
            "invocations": [{
                "executionSuccessful": exit == Exit::Success,
                "exitCode": exit.code(),
                "toolExecutionNotifications": gaps,
            }],
            "originalUriBaseIds": {BASE: {"description": {"text": "the root of the repository"}}},
            "results": results,
            "tool": {"driver": {"name": "vplan", "rules": rules, "semanticVersion": version, "version": version}},
        }],
        "version": "2.1.0",
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn result(finding: &Finding) -> Value {
    let mut result = json!({
        "level": level(finding.severity),
        "message": {"text": finding.sentence()},
        "ruleId": finding.kind.name(),
        "ruleIndex": finding.kind as usize,
    });
    let source = &finding.source;
    if let (Ok(path), Some(object)) = (
        RepoPath::parse(source.file.as_bytes()),
        result.as_object_mut(),
    ) {
        let location = json!({
            "artifactLocation": {"uri": uri(&path), "uriBaseId": BASE},
            "region": {"startColumn": source.column, "startLine": source.line},
        });
        object.insert(
            "locations".to_owned(),
            json!([{"physicalLocation": location}]),
        );
    }
    result
}
