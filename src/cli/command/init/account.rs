//! The account of a proposed contract as a document: each check with its sources, each command that
//! is none with the reason.

use crate::base::path::RepoPath;
use crate::declared::candidate::{Candidate, Origin, State};
use crate::declared::conditions::Condition;
use crate::declared::text::command_text;
use crate::engine::infer::Proposed;
use crate::engine::trial::TrialEnd;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What the repository declares, and the contract that is proposed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct InitDocument<'a> {
    /// The proposed checks, in the order of the contract.
    checks: Vec<CheckDocument<'a>>,
    /// The contract that was written; absent where it was only shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    contract: Option<&'a RepoPath>,
    /// The commands that are no check, in the order of their sources.
    left_out: Vec<LeftOut<'a>>,
    /// The text of the contract.
    text: &'a str,
    /// The tools that CI sets up, with versions where they are said.
    tools: &'a [String],
    /// What came of each check in a trial; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tried: Option<Vec<TriedCheck<'a>>>,
    /// The reason why the trial that was asked for did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    untried: Option<&'a str>,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// A check of a trial.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TriedCheck<'a> {
    /// Its name.
    name: &'a str,
    /// What came of it, for people.
    outcome: &'a str,
}

/// A proposed check.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CheckDocument<'a> {
    /// Further sources of the same work.
    also: Vec<Source<'a>>,
    /// Its command.
    command: String,
    /// Its directory; empty for the root.
    dir: String,
    /// Its name.
    name: &'a str,
    /// What was changed in comparison with the source, and what is known of it.
    notes: Vec<&'a String>,
    /// The commands that it runs in the end, behind launchers, scripts and targets, as far as that
    /// is known.
    runs: Vec<String>,
    /// Its source.
    source: Source<'a>,
    /// The globs of the files for which it runs; empty for every change.
    when: &'a [String],
}

/// A command, or something larger, that is no check.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LeftOut<'a> {
    /// The command as it is declared, or what it is: a workflow, a job, an action.
    command: String,
    /// What in particular is in the way; may be empty.
    detail: &'a str,
    /// The check that does the same work, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    merged_into: Option<&'a str>,
    /// The reason, as a key.
    reason: &'static str,
    /// Its source.
    source: Source<'a>,
}

/// A place in a file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Source<'a> {
    /// The file.
    file: &'a RepoPath,
    /// The job and step, the hook, the target.
    label: &'a str,
    /// The line, from 1.
    line: u32,
}

impl<'a> From<&'a Origin> for Source<'a> {
    fn from(origin: &'a Origin) -> Self {
        Self {
            file: &origin.file,
            label: &origin.label,
            line: origin.line,
        }
    }
}

/// Makes the document.
pub(super) fn document<'a>(
    path: Option<&'a RepoPath>,
    found: &'a Proposed,
    tried: Option<&'a TrialEnd>,
) -> InitDocument<'a> {
    let declared = &found.declared;
    let names: BTreeMap<usize, &str> = declared
        .checks
        .iter()
        .map(|check| (check.candidate, &*check.name))
        .collect();
    let checks = declared.checks.iter().map(|check| {
        let one = declared.found.candidate(check.candidate);
        CheckDocument {
            also: one.also.iter().map(Source::from).collect(),
            command: command_text(&one.work),
            dir: if one.dir.is_root() {
                String::new()
            } else {
                one.dir.to_string()
            },
            name: &check.name,
            notes: one.remarks().collect(),
            runs: one.leaves.iter().map(|leaf| leaf.words.join(" ")).collect(),
            source: Source::from(&one.origin),
            when: match &check.condition {
                Condition::Always => &[],
                Condition::Changed(globs, _) => globs,
            },
        }
    });
    let candidates = declared.found.candidates.iter();
    let commands = candidates.filter_map(|one| left_out(one, &names));
    let skipped = declared.found.skipped.iter().map(|one| LeftOut {
        command: one.what.clone(),
        detail: &one.detail,
        merged_into: None,
        reason: one.reason.key(),
        source: Source::from(&one.origin),
    });
    InitDocument {
        checks: checks.collect(),
        contract: path,
        left_out: commands.chain(skipped).collect(),
        text: &found.text,
        tools: &declared.found.tools,
        tried: match tried {
            Some(TrialEnd::Ran(all)) => {
                let one = |(name, outcome): &'a (String, String)| TriedCheck { name, outcome };
                Some(all.iter().map(one).collect())
            }
            _ => None,
        },
        untried: match tried {
            Some(TrialEnd::Untried(why)) => Some(why),
            _ => None,
        },
        version: 1,
    }
}

fn left_out<'a>(one: &'a Candidate, names: &BTreeMap<usize, &'a str>) -> Option<LeftOut<'a>> {
    let (reason, detail, merged_into) = match &one.state {
        State::Open => return None,
        State::Merged(into) => ("merged", "", names.get(into).copied()),
        State::Out(reason, detail) => (reason.key(), &**detail, None),
    };
    Some(LeftOut {
        command: one.text(),
        detail,
        merged_into,
        reason,
        source: Source::from(&one.origin),
    })
}
