//! The account of a proposed contract as a document: each check with its source, each command that is
//! none with the reason.

use crate::command::answer::*;
use vplan_base::path::RepoPath;
use vplan_engine::infer::Proposed;
use vplan_engine::trial::TrialEnd;
use vplan_init::check::{Check, Folded, Uncovered};
use vplan_init::found::{NotRead, Place};
use vplan_init::text::{said, when};

/// The contract that is proposed, and what of the repository is not in it.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitDocument<'a> {
    /// The proposed checks, in the order of the contract.
    checks: Vec<CheckDocument<'a>>,
    /// The contract that was written; absent where it was only shown.
    contract: Option<&'a RepoPath>,
    /// Commands that are the same work as a check.
    folded: Vec<FoldedDocument<'a>>,
    /// Commands that are no check; tests first.
    left_out: Vec<LeftOut<'a>>,
    /// Workflows, jobs, hooks and files that are not read.
    not_read: Vec<Unread<'a>>,
    /// The text of the contract.
    text: &'a str,
    /// What came of each check in a trial; absent without one.
    tried: Option<Vec<TriedCheck<'a>>>,
    /// The reason why the trial that was asked for did not run.
    untried: Option<&'a str>,
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
    /// Its command.
    command: String,
    /// Its directory; empty for the root.
    dir: String,
    /// Its name.
    name: &'a str,
    /// The checks that run before it.
    needs: Vec<&'a str>,
    /// What was changed in comparison with the source, and what is known of it.
    notes: &'a [String],
    /// Its source.
    source: Source<'a>,
    /// Its verb.
    verb: &'static str,
    /// The globs of the files for which it runs.
    when: Vec<String>,
}

/// A command that is the same work as a check.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FoldedDocument<'a> {
    /// The stem of the check's name.
    check: &'a str,
    /// The command.
    command: &'a str,
    /// Its source.
    source: Source<'a>,
}

/// A command that is no check.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LeftOut<'a> {
    /// The command as it is declared.
    command: &'a str,
    /// Whether it tests something.
    is_test: bool,
    /// The reason.
    reason: &'a str,
    /// Its source.
    source: Source<'a>,
}

/// A part of a source that is not read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Unread<'a> {
    /// The job, step or hook; absent for the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'a str>,
    /// The reason.
    reason: &'a str,
    /// Its source.
    source: Source<'a>,
}

/// A place in a file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Source<'a> {
    /// The file.
    file: &'a RepoPath,
    /// The line, from 1.
    line: u32,
}

impl<'a> From<&'a Place> for Source<'a> {
    fn from(place: &'a Place) -> Self {
        Self {
            file: &place.file,
            line: place.line,
        }
    }
}

impl<'a> From<&'a Uncovered> for LeftOut<'a> {
    fn from(left: &'a Uncovered) -> Self {
        Self {
            command: &left.text,
            is_test: left.is_test,
            reason: &left.why,
            source: Source::from(&left.place),
        }
    }
}

/// Makes the document.
pub(super) fn document<'a>(
    path: Option<&'a RepoPath>,
    found: &'a Proposed,
    tried: Option<&'a TrialEnd>,
) -> InitDocument<'a> {
    let proposal = &found.proposal;
    let account = &proposal.account;
    let folded = |one: &'a Folded| FoldedDocument {
        check: &one.name,
        command: &one.text,
        source: Source::from(&one.place),
    };
    let unread = |one: &'a NotRead| Unread {
        part: one.part.as_deref(),
        reason: &one.why,
        source: Source::from(&one.place),
    };
    let left = account.left.iter().chain(&account.setup);
    InitDocument {
        checks: proposal
            .checks
            .iter()
            .map(|one| check(one, found))
            .collect(),
        contract: path,
        folded: account.folded.iter().map(folded).collect(),
        left_out: left.map(LeftOut::from).collect(),
        not_read: account.not_read.iter().map(unread).collect(),
        text: &proposal.text,
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
    }
}

fn check<'a>(one: &'a Check, found: &'a Proposed) -> CheckDocument<'a> {
    let all = &found.proposal.checks;
    let needs = one.needs.iter().filter_map(|need| all.get(*need));
    CheckDocument {
        command: said(one),
        dir: match one.found.dir.is_root() {
            true => String::new(),
            false => one.found.dir.to_string(),
        },
        name: &one.name,
        needs: needs.map(|need| &*need.name).collect(),
        notes: &one.notes,
        source: Source::from(&one.found.place),
        verb: one.verb.verb(),
        when: when(one, &found.tree, all),
    }
}
