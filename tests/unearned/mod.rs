//! A green that was not earned: each test is named after the way to one that it closes.

mod base;
mod baseline;
mod checkout;
mod ci;
mod confined;
mod content;
mod continuation;
mod diff;
mod during;
mod elsewhere;
mod evidence;
mod hook;
mod judge;
mod r#loop;
mod merge;
mod named;
mod names;
mod not_promised;
mod objects;
mod order;
mod orphan;
mod output;
mod plan;
mod recovery;
mod reports;
mod run;
mod secrets;
mod staged;
mod status;
mod subjects;
mod supervisor;
mod tree;
mod writes;

use serde_json::Value;

/// The codes of a report's caveats.
fn codes(report: &Value) -> Vec<&str> {
    let caveats = report["caveats"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    caveats
        .iter()
        .map(|c| c["code"].as_str().unwrap())
        .collect()
}

fn caveat<'a>(report: &'a Value, code: &str) -> &'a Value {
    let caveats = report["caveats"]
        .as_array()
        .unwrap_or_else(|| panic!("no caveats: {report:#}"));
    caveats
        .iter()
        .find(|c| c["code"] == code)
        .unwrap_or_else(|| panic!("no {code}: {report:#}"))
}

/// Says that the remote's default branch has what is committed: then it is known what a change
/// begins from.
fn pushed(project: &crate::support::Project) {
    project.git(&["config", "remote.origin.url", "/nowhere"]);
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
}
