//! The account of a proposed contract for people.

use crate::base::path::RepoPath;
use crate::base::word::{count, visible};
use crate::declared::candidate::{Origin, Reason, State};
use crate::declared::proposal::Proposal;
use crate::declared::text::{command_text, comment, shorten};
use crate::effect::repo::load::DEFAULT_CONTRACT;
use crate::engine::trial::{TrialEnd, summary};
use std::collections::BTreeMap;

/// The most commands of one reason that are listed, unless all are asked for.
const SHOWN: usize = 3;

/// Tells people: each check with its source, and by reason what was left out.
pub(super) fn told(
    path: &RepoPath,
    declared: &Proposal,
    tried: Option<&TrialEnd>,
    all: bool,
) -> String {
    let mut out = format!("{path}: {}\n", count(declared.checks.len(), "check"));
    for check in &declared.checks {
        let one = declared.found.candidate(check.candidate);
        let dir = if one.dir.is_root() {
            String::new()
        } else {
            format!(" in {}", one.dir)
        };
        let command = visible(command_text(&one.work).as_bytes());
        let (name, comment) = (&check.name, comment(one));
        out.push_str(&format!("  {name}: {command}{dir} ({comment})\n"));
    }
    left_out(&mut out, declared, all);
    if !declared.found.tools.is_empty() {
        let tools = visible(declared.found.tools.join(", ").as_bytes());
        out.push_str(&format!("CI sets up: {tools}\n"));
    }
    if let Some(tried) = tried {
        out.push_str(&format!("{}\n", summary(tried)));
        if let TrialEnd::Ran(checks) = tried {
            let others = checks.iter().filter(|(_, what)| what != "passes");
            let line = |(name, what): &(String, String)| {
                format!("  {name}: {}\n", visible(what.as_bytes()))
            };
            out.extend(others.map(line));
        }
    }
    let next = if path.as_bytes() == DEFAULT_CONTRACT.as_bytes() {
        String::new()
    } else {
        format!(" --contract {path}")
    };
    let try_it = if tried.is_none() {
        format!("`vplan init --force --try{next}` runs it once on HEAD, ")
    } else {
        String::new()
    };
    out.push_str(&format!(
        "next: {try_it}`vplan explain --all{next}` shows what would run\n"
    ));
    out
}

/// Lists what was left out, by reason.
fn left_out(out: &mut String, declared: &Proposal, all: bool) {
    let mut reasons: BTreeMap<Reason, Vec<String>> = BTreeMap::new();
    for one in &declared.found.candidates {
        if let State::Out(reason, detail) = &one.state {
            let text = format!("`{}`", shorten(&one.text()));
            let items = reasons.entry(*reason).or_default();
            // What all jobs begin with is one command.
            let item = placed(&one.origin, text, detail);
            if !items.contains(&item) {
                items.push(item);
            }
        }
    }
    for one in &declared.found.skipped {
        let text = visible(one.what.as_bytes());
        let items = reasons.entry(one.reason).or_default();
        items.push(placed(&one.origin, text, &one.detail));
    }
    for (reason, items) in reasons {
        let number = items.len();
        out.push_str(&format!("left out, {}: {number}\n", reason.sentence()));
        let shown = if all { number } else { SHOWN };
        out.extend(items.iter().take(shown).map(|item| format!("  {item}\n")));
        if number > shown {
            out.push_str(&format!("  {} more (`-v`)\n", number - shown));
        }
    }
}

fn placed(origin: &Origin, text: String, detail: &str) -> String {
    let detail = if detail.is_empty() {
        String::new()
    } else {
        format!(": {}", visible(detail.as_bytes()))
    };
    format!("{}:{} {text}{detail}", origin.file, origin.line)
}
