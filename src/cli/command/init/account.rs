//! The account of a proposed contract as a document: each check with its source, each command that is
//! none with the reason.

use crate::command::answer::*;
use vplan_base::path::RepoPath;
use vplan_engine::infer::Proposed;
use vplan_engine::trial::TrialEnd;
use vplan_init::check::{Folded, ProposedCheck, Uncovered};
use vplan_init::found::{NotRead, Place};
use vplan_init::text::{command_text, when};

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
    folded: &'a [Folded],
    /// Commands that are no check; tests first.
    left_out: Vec<&'a Uncovered>,
    /// Workflows, jobs, hooks and files that are not read.
    not_read: &'a [NotRead],
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
    source: &'a Place,
    /// Its verb.
    verb: &'static str,
    /// The globs of the files for which it runs.
    when: Vec<String>,
}

/// Makes the document.
pub(super) fn document<'a>(
    path: Option<&'a RepoPath>,
    found: &'a Proposed,
    tried: Option<&'a TrialEnd>,
) -> InitDocument<'a> {
    let proposal = &found.proposal;
    let account = &proposal.account;
    let left = account.left.iter().chain(&account.setup);
    InitDocument {
        checks: proposal
            .checks
            .iter()
            .map(|one| check(one, found))
            .collect(),
        contract: path,
        folded: &account.folded,
        left_out: left.collect(),
        not_read: &account.not_read,
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

fn check<'a>(one: &'a ProposedCheck, found: &'a Proposed) -> CheckDocument<'a> {
    let all = &found.proposal.checks;
    let needs = one.needs.iter().filter_map(|need| all.get(*need));
    CheckDocument {
        command: command_text(one),
        dir: match one.found.dir.is_root() {
            true => String::new(),
            false => one.found.dir.to_string(),
        },
        name: &one.name,
        needs: needs.map(|need| &*need.name).collect(),
        notes: &one.notes,
        source: &one.found.place,
        verb: one.verb.verb(),
        when: when(one, &found.tree, all),
    }
}
