//! Writes a request as a test, with assertions on its plan.

use crate::request::{Request, Risk};
use std::collections::BTreeSet;
use vplan_base::path::RepoPath;
use vplan_base::word::quote_string;
use vplan_contract::expect::AssertionKind;

/// The width of a line of names before it is continued, in columns.
const WIDTH: usize = 100;

/// Writes a request as an `expect` that a contract, or a file of its tests, can hold: reading it
/// gives a test with this request, and `names` as its one assertion. `exists`: the paths that exist
/// for `whenExists`. `names`: checks and commands, without batches, each once; for
/// [`AssertionKind::Plan`] all of the plan, in order ([`Verdict::plan`](super::Verdict::plan)).
///
/// A test has no mode, no `--only`, no `--skip` and no way to run: these parts of the request are
/// not written. `None` when a path is not UTF-8, which no test can name.
pub fn write_expect(
    title: &str,
    request: &Request,
    exists: &BTreeSet<RepoPath>,
    kind: AssertionKind,
    names: &[String],
) -> Option<String> {
    let mut out = format!("expect {} {{\n", quote_string(title));
    let mut line = |keyword: &str, value: &str| out.push_str(&format!("  {keyword} {value}\n"));
    let string = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).ok()?;
        Some(quote_string(text).into_owned())
    };
    if let Some(role) = &request.role {
        line("role", role);
    }
    for file in request.changed.files() {
        line("changed", &string(&file.to_named())?);
    }
    if request.min_tier > 0 {
        line("tier", &request.min_tier.to_string());
    }
    if request.risk != Risk::Medium {
        line("risk-level", request.risk.name());
    }
    let ends = request.sorted_boundaries();
    if !ends.is_empty() {
        let words: Vec<&str> = ends.iter().map(|end| end.name()).collect();
        line("at", &words.join(" "));
    }
    for command in &request.explicit {
        line("command", &quote_string(&command.to_text()));
    }
    if !exists.is_empty() {
        let paths: Option<Vec<String>> = exists.iter().map(|p| string(p.as_bytes())).collect();
        list("exists", &paths?, &mut out);
    }
    list(kind.name(), names, &mut out);
    out.push_str("}\n");
    Some(out)
}

/// Writes a line of many words, continued where it grows wide.
fn list(keyword: &str, words: &[String], out: &mut String) {
    out.push_str("  ");
    out.push_str(keyword);
    let mut column = 2 + keyword.len();
    for word in words {
        if column + 1 + word.len() > WIDTH {
            out.push_str(" \\\n   ");
            column = 3;
        }
        out.push(' ');
        out.push_str(word);
        column += 1 + word.len();
    }
    out.push('\n');
}
