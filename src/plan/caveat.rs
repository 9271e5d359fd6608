//! Caveats: the reasons why an answer means less than was requested. Printed first wherever a plan
//! or its report is shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::path::RepoPath;
use vplan_base::word::{and_more, visible};

/// Maximum number of files that a caveat names.
pub const FILES_SHOWN: usize = 20;

/// Maximum number of files that a line for people names.
const FEW: usize = 3;

vplan_base::vocabulary! {
    /// The kind of a caveat.
    #[schemars(rename = "CaveatCode")]
    Code {
        /// There was no contract at the base: there is nothing to compare the contract with.
        BaseContractMissing = "base_contract_missing",
        /// The baseline differs from the one that counts, or that one cannot be read.
        BaselineChanged = "baseline_changed",
        /// The contract at the base cannot be read or compiled: its requirements are not known.
        BaseContractUnreadable = "base_contract_unreadable",
        /// The contract's line `base` does not count: the contract at the merge base with that branch
        /// does not have it.
        BaseIgnored = "base_ignored",
        /// The requested base leaves out commits of the change.
        BaseLater = "base_later",
        /// The base is HEAD because no other is known: commits before it were not examined.
        BaseUnknown = "base_unknown",
        /// The contract is not that of the subject's round before.
        ContractChanged = "contract_changed",
        /// The contract asks for less than the one at the base does, for the same request.
        ContractWeakened = "contract_weakened",
        /// `--observe --deny KIND`: steps were seen to do what the contract does not say.
        DeniedFindings = "denied_findings",
        /// The change of a subject is empty, and earlier work of it was not verified.
        EmptyChange = "empty_change",
        /// The contract has no checks, and the request brings none.
        EmptyContract = "empty_contract",
        /// `--staged`: checks changed tracked files, so that what was verified is not what is staged.
        IndexDiffers = "index_differs",
        /// `--staged`: the index was verified in a view of its own, apart from the work tree.
        IndexView = "index_view",
        /// `--staged`: files changed of the folders that the checkout has as links.
        LinkedChanged = "linked_changed",
        /// HEAD was another commit at the end of the run than at its beginning.
        HeadMoved = "head_moved",
        /// New files are there that git does not ignore and no check `produces`.
        NewFiles = "new_files",
        /// HEAD has no common ancestor with the branch that the change is made for.
        NoCommonAncestor = "no_common_ancestor",
        /// Merged shards: which tree was verified is not known of all of them.
        NoCommonTree = "no_common_tree",
        /// Checks passed although they failed, because what they found is known.
        KnownFindings = "known_findings",
        /// `run NAME…`: only the named checks were examined.
        Named = "named",
        /// `--observe --deny KIND`: not all that steps did could be seen.
        ObservationIncomplete = "observation_incomplete",
        /// `--only` names checks of which none applies.
        OnlyNothing = "only_nothing",
        /// A push to the default branch is compared with the commit before it: earlier pushes were not
        /// examined.
        EarlierPushes = "earlier_pushes",
        /// A base was requested, and no earlier commit is known: every tracked file counts as changed.
        WholeTree = "whole_tree",
        /// Files that only ignore rules of this machine hide would be selected by checks.
        HiddenFiles = "hidden_files",
        /// Lines that the change adds to a tracked `.gitignore` hide files that checks would select.
        NewlyIgnored = "newly_ignored",
        /// Merged shards: not all of them have reported.
        ShardsMissing = "shards_missing",
        /// `--sandbox-missing run`: checks ran without all that was to confine them.
        SandboxMissing = "sandbox_missing",
        /// Files are outside the sparse checkout.
        Sparse = "sparse",
        /// Checks do not apply any more because of files that the change adds or removes.
        SwitchedOff = "switched_off",
        /// Files have other line ends than at the base, and would be committed with the same.
        LineEnds = "line_ends",
        /// Changed files have names that look like ones that checks are for.
        Lookalikes = "lookalikes",
        /// All of the change that a loop began with is gone.
        ChangeGone = "change_gone",
        /// Files were written or appeared while checks ran, and the resulting change requires more than
        /// what ran.
        ChangeGrew = "change_grew",
        /// The gate asks for less than the one that the subject began with.
        GateWeakened = "gate_weakened",
        /// All work of earlier rounds of the subject is not there.
        LeftBehind = "left_behind",
        /// The subject began in another work tree, or on commits that HEAD does not contain.
        OtherSubject = "other_subject",
        /// A saved plan, named files, or a round of a subject cover a part of the whole change.
        PartOfChange = "part_of_change",
        /// Recovery dropped commands of the request.
        RequestLostCommand = "request_lost_command",
        /// Rows of `each` went with their folders.
        RowsDropped = "rows_dropped",
        /// Files that an earlier round changed are as at the base again.
        Undone = "undone",
        /// The proposer gave no usable answer: the checks that it would have added are not known.
        ProposerFailed = "proposer_failed",
        /// A program in the repository differs from the one in the last pass of the same command.
        ProgramChanged = "program_changed",
        /// Files changed while checks ran, and had their content again at the end: what the checks in
        /// between passed for is not known.
        TouchedAndRestored = "touched_and_restored",
        /// A check ran fewer tests than in the last pass of the same command on the base's tree or
        /// later.
        TestsDropped = "tests_dropped",
        /// Checks with the verb `test` passed, and their output shows no test that ran.
        TestsNotShown = "tests_not_shown",
        /// Merged shards: a command started programs of different content.
        ToolsDiffer = "tools_differ",
        /// Files changed while one check ran that may not change them.
        TreeChanged = "tree_changed",
        /// Files changed during the run, and which check changed them is not known.
        TreeMoved = "tree_moved",
        /// Whether files changed during the run is not known.
        TreeUnknown = "tree_unknown",
        /// The caller names changed files that are neither in the work tree nor at the base.
        UnknownFiles = "unknown_files",
    }
}

/// The effect of a caveat on the verdict.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CaveatEffect")]
pub enum Effect {
    /// No effect: it is printed.
    Note,
    /// The coverage is narrowed.
    Narrows,
    /// The coverage is narrowed, and what would be a pass is incomplete.
    Incomplete,
    /// What would be a pass has failed, whatever was verified.
    Fails,
}

/// A reason why an answer means less than was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Caveat {
    /// The checks that it is about, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Its kind.
    pub code: Code,
    /// Its effect on the verdict.
    pub effect: Effect,
    /// The first files that it is about, in byte order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<RepoPath>,
    /// The number of those files.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub files_count: usize,
    /// One line, safe to show to people and agents.
    pub message: String,
    /// The way out, on one line, for people only: feedback and hooks leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way_out: Option<String>,
}

impl Caveat {
    /// Makes a caveat without files, checks or help.
    pub fn new(code: Code, effect: Effect, message: impl Into<String>) -> Self {
        Self {
            checks: Vec::new(),
            code,
            effect,
            files: Vec::new(),
            files_count: 0,
            message: message.into(),
            way_out: None,
        }
    }

    /// Sets the affected files.
    pub fn with_files(mut self, mut files: Vec<RepoPath>) -> Self {
        files.sort();
        files.dedup();
        self.files_count = files.len();
        files.truncate(FILES_SHOWN);
        self.files = files;
        self
    }

    /// Sets the affected checks.
    pub fn of_checks(mut self, checks: Vec<String>) -> Self {
        self.checks = checks;
        self
    }

    /// Returns everything on one line, for people.
    pub fn for_people(&self) -> String {
        let mut text = visible(&self.message);
        if !self.files.is_empty() {
            let shown: Vec<String> = self
                .files
                .iter()
                .take(FEW)
                .map(RepoPath::to_string)
                .collect();
            let more = and_more(self.files_count.saturating_sub(shown.len()));
            text.push_str(&format!(": {}{more}", shown.join(", ")));
        }
        if let Some(way_out) = &self.way_out {
            text.push_str(&format!("; {}", visible(way_out)));
        }
        text
    }

    /// Sets the help, for people.
    pub fn way_out(mut self, way_out: impl Into<String>) -> Self {
        self.way_out = Some(way_out.into());
        self
    }
}

/// Returns the caveats sorted: those that decide come first.
pub fn sorted(caveats: &[Caveat]) -> Vec<&Caveat> {
    let mut sorted: Vec<&Caveat> = caveats.iter().collect();
    sorted.sort_by_key(|c| std::cmp::Reverse(c.effect));
    sorted
}

/// Whether the coverage is narrowed by any of them.
pub fn narrows(caveats: &[Caveat]) -> bool {
    let narrows = |c: &Caveat| matches!(c.effect, Effect::Narrows | Effect::Incomplete);
    caveats.iter().any(narrows)
}

/// Returns the first one that makes what would be a pass failed, or else incomplete.
pub fn blocking(caveats: &[Caveat]) -> Option<&Caveat> {
    let incomplete = || caveats.iter().find(|c| c.effect == Effect::Incomplete);
    failing(caveats).or_else(incomplete)
}

/// Returns the first one that makes what would be a pass failed.
pub fn failing(caveats: &[Caveat]) -> Option<&Caveat> {
    caveats.iter().find(|c| c.effect == Effect::Fails)
}
