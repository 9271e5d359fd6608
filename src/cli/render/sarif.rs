//! Renders the findings of a run as SARIF 2.1.0, for code scanning.

use super::finding::{Issue, Spot, issues};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use vplan_base::path::RepoPath;
use vplan_base::word::framed;
use vplan_plan::Plan;
use vplan_run::report::Report;

/// The base of relative paths.
pub(crate) const BASE: &str = "SRCROOT";
/// Maximum number of results in a log; services refuse longer ones.
const RESULTS: usize = 5000;

/// A log with one run. `root` is the repository, if it is here.
pub fn log(report: &Report, plan: &Plan, root: Option<&Path>) -> Value {
    let contract = plan.contract.as_ref().and_then(|c| {
        let path = RepoPath::from_exact(super::finding::plain_file(&c.path)?.as_bytes())?;
        Some(Spot {
            column: None,
            line: Some(1),
            path,
        })
    });
    let found = issues(report, plan, root);
    let mut indices: BTreeMap<String, usize> = BTreeMap::new();
    let mut rules = Vec::new();
    let mut results = Vec::new();
    for issue in found.iter().take(RESULTS) {
        let id = rule(issue);
        let index = *indices.entry(id.clone()).or_insert_with(|| {
            let short = match &issue.code {
                Some(code) => format!("{code}, found by the check {}", issue.step),
                None => format!("the check {}", issue.step),
            };
            rules.push(json!({"id": id, "shortDescription": {"text": short}}));
            rules.len() - 1
        });
        let mut result = json!({
            "level": issue.level.name(),
            "message": {"text": if issue.message.trim().is_empty() { &issue.title } else { &issue.message }},
            "ruleId": id,
            "ruleIndex": index,
        });
        let spot = issue.spot.as_ref().or(contract.as_ref());
        let locations = spot.map(|spot| json!([{"physicalLocation": location(spot)}]));
        let state = issue.known.then(|| json!("unchanged"));
        for (key, value) in [("locations", locations), ("baselineState", state)] {
            if let (Some(value), Some(object)) = (value, result.as_object_mut()) {
                object.insert(key.to_owned(), value);
            }
        }
        results.push(result);
    }
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{
            "automationDetails": {"id": format!("vplan/{}", report.run_id)},
            "invocations": [{"executionSuccessful": report.verdict.is_pass(), "exitCode": report.exit_code}],
            "originalUriBaseIds": {BASE: {"description": {"text": "the root of the repository"}}},
            "properties": {"omittedResults": found.len().saturating_sub(RESULTS), "verdict": report.verdict.name()},
            "results": results,
            "tool": {"driver": {"name": "vplan", "rules": rules, "semanticVersion": version, "version": version}},
        }],
        "version": "2.1.0",
    })
}

/// The tool's code below the check that ran the tool.
fn rule(issue: &Issue) -> String {
    format!("{}{}", issue.step, framed("/", issue.code.as_ref(), ""))
}

fn location(spot: &Spot) -> Value {
    let artifact = json!({"uri": uri(&spot.path), "uriBaseId": BASE});
    match (spot.line, spot.column) {
        (None, _) => json!({"artifactLocation": artifact}),
        (Some(line), None) => json!({"artifactLocation": artifact, "region": {"startLine": line}}),
        (Some(line), Some(column)) => {
            json!({"artifactLocation": artifact, "region": {"startColumn": column, "startLine": line}})
        }
    }
}

/// A path as a relative reference (RFC 3986): everything that is not unreserved is escaped, byte by
/// byte.
pub(crate) fn uri(path: &RepoPath) -> String {
    let mut out = String::new();
    for byte in path.as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(*byte))
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris() {
        for (path, want) in [
            ("a/b-c_d.~", "a/b-c_d.~"),
            ("a b:c#d?é", "a%20b%3Ac%23d%3F%C3%A9"),
            ("C:/x", "C%3A/x"),
            ("100%", "100%25"),
        ] {
            assert_eq!(uri(&RepoPath::from_exact(path.as_bytes()).unwrap()), want);
        }
    }
}
