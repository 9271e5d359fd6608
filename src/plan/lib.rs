//! Plans what must be verified for a change: contract, request and facts in, a plan out; plain
//! data, content-hashed.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod changed;

pub mod audit;
pub mod canonical;
pub mod caveat;
pub mod compared;
pub mod compile;
pub mod containment;
pub mod definition;
pub mod diff;
pub mod digest;
pub mod document;
pub mod drift;
pub mod error;
pub mod expectation;
pub mod explain;
pub mod facts;
pub mod field;
pub mod fixes;
pub mod focus;
pub mod implication;
mod inclusion;
pub mod kdl;
pub mod lost_commands;
mod merge;
pub mod order;
pub mod parallel;
mod prepared;
pub mod proposal;
pub mod request;
pub mod scope;
pub mod select;
pub mod shard;
pub mod skeleton;
pub mod soundness;
pub mod step;
pub mod tier;
pub mod vacuity;
mod validity;

use caveat::Caveat;
use compared::Compared;
use facts::Fact;
use request::RequestRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use vplan_base::canon::Digest;
use vplan_base::command::{Env, ToolchainCommand, Unsupported};
use vplan_base::glob::{Glob, Selection};
use vplan_base::index::{Index as _, at, bug, numbered};
use vplan_base::jobs::Jobs;
use vplan_base::machine::{Machine, On};
use vplan_base::path::RepoPath;
use vplan_base::service::Service;
use vplan_base::setting::Row;
use vplan_base::vocabulary::{FormatName, Open, RewriteRule};
use vplan_base::word::Word;
use vplan_check::confine::{Confinement, Guarantee, NetworkUse, OutsideRequest, SandboxLevel};
use vplan_check::definition::FormatDefinition;
use vplan_check::environment::EnvironmentRequest;
use vplan_check::request::Assertion;
use vplan_check::{Kind, Report, Severity};
use vplan_contract::settings::known_by;

/// The first version, in which the name of a base and the schedule were part of a plan.
pub const FIRST: u32 = 1;
/// The version of plans that this program makes.
pub const VERSION: u32 = 2;

vplan_base::index!(StepIndex, "step", "Position of a step in its plan.");

/// A frozen, totally ordered list of steps and all it was made from.
///
/// `vplan plan` prints it, `vplan run` executes it, and recovery rewrites it. Annotations, which
/// the digest leaves out, are marked; [`canonical`] says which there are.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    /// Annotation: what keeps a pass of it from meaning all that was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
    /// Annotation: what the changed files were found by comparing.
    pub compared: Option<Compared>,
    /// The contract, unless there was none.
    pub contract: Option<ContractRef>,
    /// Annotation: the digest of everything else.
    pub digest: Option<Digest>,
    /// The facts that were requested, with their values.
    pub facts: Vec<Fact>,
    /// Notes on the whole plan: a changed contract, mode `off`, a lowered trigger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The checks that were left out, in base order.
    pub omitted: Vec<Omitted>,
    /// Budget, jobs and so on.
    pub policy: Policy,
    /// The request.
    pub request: RequestRecord,
    /// The rewrites of the plan by recovery, in order.
    pub rewrites: Vec<Rewrite>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The tiers reached, ascending, and why.
    pub tiers: Vec<Tier>,
    /// The version of this shape: 2, or 1 in a plan that an older vplan made.
    #[schemars(extend("enum" = [1, 2]))]
    pub version: u32,
}

impl Plan {
    /// Whether a file is one that a step may make for others (`produces`).
    pub fn produces(&self, path: &RepoPath) -> bool {
        let mut globs = self.steps.iter().flat_map(|step| &step.produces);
        globs.any(|glob| glob.matches(path))
    }

    /// Makes a plan of these steps, made from no contract and no request: they run one after the
    /// other, up to the first that fails, and are not repaired. It has no digest.
    pub fn of_steps(steps: Vec<Step>) -> Self {
        Self {
            caveats: Vec::new(),
            compared: None,
            contract: None,
            digest: None,
            facts: Vec::new(),
            notes: Vec::new(),
            omitted: Vec::new(),
            policy: Policy {
                budget_ms: None,
                fail_fast: true,
                jobs: Policy::JOBS,
                recover: Vec::new(),
                recover_contract: false,
            },
            request: RequestRecord::default(),
            rewrites: Vec::new(),
            steps,
            tiers: Vec::new(),
            version: VERSION,
        }
    }

    /// Returns a step; an index of another plan is a bug.
    #[track_caller]
    pub fn step(&self, index: StepIndex) -> &Step {
        at(&self.steps, index)
    }

    /// Returns all steps with their indices, in order.
    pub fn numbered_steps(&self) -> impl DoubleEndedIterator<Item = (StepIndex, &Step)> {
        numbered(&self.steps)
    }

    /// Returns the index of the step with an id.
    pub fn find(&self, id: &str) -> Option<StepIndex> {
        let position = self.steps.iter().position(|step| step.id == id);
        position.map(StepIndex::new)
    }

    /// Returns the indices of all steps, by id.
    pub fn positions(&self) -> BTreeMap<&str, StepIndex> {
        self.numbered_steps()
            .map(|(index, step)| (step.id.as_str(), index))
            .collect()
    }
}

/// Returns the indices of predecessors of a step, from [`Plan::positions`]. One that is not before it
/// is a bug: the order of a plan from a file was checked when it was read.
pub fn predecessors<'i>(
    positions: &BTreeMap<&str, StepIndex>,
    own: StepIndex,
    ids: impl Iterator<Item = &'i String>,
) -> impl Iterator<Item = StepIndex> {
    ids.map(move |id| match positions.get(id.as_str()) {
        Some(index) if *index < own => *index,
        _ => bug("a step waits for one that is not before it"),
    })
}

/// The contract that a plan was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContractRef {
    /// Digest of its formatted, comment-free form.
    pub digest: Digest,
    /// Every file that it imports, directly or not, once, sorted by name; theirs is empty.
    pub imports: Vec<ContractRef>,
    /// Its repository path; of an import perhaps `std:rust@1` or `git+URL?rev=OBJECTID#path`.
    pub path: String,
}

/// A remark on the whole plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Note {
    /// A stable kebab-case name: `contract-changed`, `mode-off`, `trigger-lowered`, `no-contract`,
    /// `outside-scope`.
    pub kind: String,
    /// One line for people.
    pub message: String,
    /// The file it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<RepoPath>,
}

impl Note {
    /// Returns a note without a path.
    pub fn new(kind: &str, message: String) -> Self {
        Self {
            kind: kind.to_owned(),
            message,
            path: None,
        }
    }
}

/// The settings of the plan's execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Time for the whole run in milliseconds, if it is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    /// Annotation: whether the first failure in plan order ends the run.
    #[serde(default = "fail_fast")]
    pub fail_fast: bool,
    /// Annotation: steps side by side, at least 1, or `auto`.
    #[serde(default = "jobs")]
    pub jobs: Jobs,
    /// The rewrite rules that may be used, in the order in which they are tried.
    pub recover: Vec<Open<RewriteRule>>,
    /// Whether a contract's own checks may be dropped.
    pub recover_contract: bool,
}

impl Policy {
    /// The default of `jobs`.
    pub(crate) const JOBS: Jobs = Jobs::ONE;
    /// The default of `failFast`.
    pub(crate) const FAIL_FAST: bool = true;
}

fn jobs() -> Jobs {
    Policy::JOBS
}

fn fail_fast() -> bool {
    Policy::FAIL_FAST
}

/// A tier that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tier {
    /// `always`, `trigger NAME` in file order, `milestone-end`, `high-risk`, `run-end`,
    /// `min-tier`, `named`.
    pub reasons: Vec<String>,
    /// 0, 1 or 2.
    pub tier: u8,
    /// The matches of the triggers among the reasons: glob and files, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Reason>,
}

/// The origin of a step.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The request's own commands.
    Explicit,
    /// A check of the contract.
    #[default]
    Contract,
    /// Declared by the repository (mode `fallback`).
    Inferred,
    /// An external proposer.
    Proposed,
}

/// Who asked for a confinement, other than the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxFrom {
    /// Whoever called vplan, by `--sandbox` or `--network`.
    Operator,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One thing to do: a node of the plan, with every setting that has an effect.
#[serde_with::skip_serializing_none]
#[serde_with::apply(
    Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")],
    bool => #[serde(default, skip_serializing_if = "std::ops::Not::not")],
    BTreeMap => #[serde(default, skip_serializing_if = "BTreeMap::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// Ids of direct predecessors by constraints, in plan order: the fewest that imply all others.
    #[serde_with(skip_apply)]
    pub after: Vec<String>,
    /// Runs whatever its predecessors did.
    pub always: bool,
    /// The words; absent for `file`, `judge`, and unsupported commands. For `shell`: `sh -c TEXT`.
    pub argv: Option<Vec<Word>>,
    /// `file`: what must hold.
    pub assertions: Vec<Assertion>,
    /// The check it belongs to when it is one of several batches of it.
    pub batch_of: Option<String>,
    /// `cleans`.
    pub cleans: Vec<Glob>,
    /// The command as text that `vplan argv` reads back; for `file` and `judge` a line for people.
    pub command: String,
    /// `judge`: the files that accompany the question.
    pub context: Option<Selection>,
    /// Annotation: `describe`.
    pub describe: Option<String>,
    /// The working directory.
    pub dir: RepoPath,
    /// Annotation: the row of the `each` blocks that its check is in, by name.
    pub each: BTreeMap<String, String>,
    /// Environment variables that are added.
    pub env: Env,
    /// Never beside another step with the same name here.
    pub exclusive: Option<String>,
    /// Accepted exit codes, sorted.
    #[serde_with(skip_apply)]
    pub exit: Vec<i32>,
    /// Annotation: `fix`, the command that mends its failure.
    pub fix: Option<String>,
    /// The format in which its output is read.
    pub format: Option<Open<FormatName>>,
    /// How that reads lines, where the contract defines it.
    pub format_definition: Option<Arc<FormatDefinition>>,
    /// Its id, unique in the plan.
    pub id: String,
    /// `inputs`.
    pub inputs: Option<Selection>,
    /// Its verb.
    pub kind: Kind,
    /// `max-errors` of compile and lint.
    pub max_errors: Option<u64>,
    /// `max-warnings`.
    pub max_warnings: Option<u64>,
    /// `min-tests`, when it was written.
    pub min_tests: Option<u64>,
    /// Ids of steps that must pass before, in plan order.
    pub needs: Vec<String>,
    /// `network`: which networks it may use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub network: NetworkUse,
    /// `on`: where it is executed, when steps are executed elsewhere.
    pub on: Option<On>,
    /// Recovery may drop it.
    pub optional: bool,
    /// Its origin.
    pub origin: Origin,
    /// Variables that it asks for.
    pub pass_env: Vec<String>,
    /// `file`: which path.
    pub path: Option<RepoPath>,
    /// Ids of those of `after` that it waits for only because they prepare: `setup`, and commands
    /// of the request. Such an order gives way to every other, and recovery may turn it round.
    pub prepared_by: Vec<String>,
    /// `produces`.
    pub produces: Vec<Glob>,
    /// `judge`: the question.
    pub question: Option<String>,
    /// `reads`: what it may read outside of the repository, when its reads are held to.
    pub reads: Vec<String>,
    /// The reasons why it is in the plan.
    #[serde_with(skip_apply)]
    pub reasons: Vec<Reason>,
    /// `report`.
    pub report: Option<Report>,
    /// `requires`.
    pub requires: Vec<Glob>,
    /// Further tries.
    pub retries: u32,
    /// `sandbox`: the level at which it is confined.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sandbox: SandboxLevel,
    /// Who asked for more of `sandbox` and `network` than the contract, if somebody did.
    pub sandbox_from: Option<SandboxFrom>,
    /// It prepares and verifies nothing.
    pub setup: bool,
    /// Its pass counts on every machine of the same scope.
    pub shared: bool,
    /// Whether its failure fails the plan.
    pub severity: Severity,
    /// Exit codes that mean "does not apply here", sorted.
    pub skip_exit: Vec<i32>,
    /// Annotation: where it is defined.
    pub source: Option<StepSource>,
    /// `tags`.
    pub tags: Vec<String>,
    /// Its tier.
    pub tier: u8,
    /// The time limit of a try, in milliseconds, at least 1.
    pub timeout_ms: u64,
    /// `shared`: the commands that say which toolchains are there, by name.
    pub toolchains: BTreeMap<String, ToolchainCommand>,
    /// Folders put in front of PATH.
    pub tool_path: Vec<RepoPath>,
    /// Files that must be the same after it as before.
    pub unchanged: Option<Selection>,
    /// The reason why the command cannot be started; then there is no `argv`.
    pub unsupported: Option<Unsupported>,
    /// The services beside which it runs, in the order of their names; `{NAME.port}` and
    /// `{NAME.tmp}` in its words and its environment are theirs.
    pub with: Vec<Service>,
    /// Files of the tree that it may change beyond `produces`, `cleans` and `report`.
    pub writes: Option<Selection>,
}

/// The setting that names files of the tree which a step may change.
pub const MAY_CHANGE: Row = Row::Writes;

impl Step {
    /// Calls `ask` with the words of its command, lossily decoded; with none if it has no command.
    pub fn with_words<T>(&self, ask: impl FnOnce(&[&str]) -> T) -> T {
        let argv = self.argv.iter().flatten();
        let argv: Vec<_> = argv
            .map(|w| String::from_utf8_lossy(w.as_bytes()))
            .collect();
        ask(&argv.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
    }

    /// Returns the globs of what it makes and removes: `produces`, `cleans` and its report.
    pub fn products(&self) -> impl Iterator<Item = &Glob> {
        let report = self.report.iter().map(|report| &report.glob);
        self.produces.iter().chain(&self.cleans).chain(report)
    }

    /// Whether it may change files of the tree.
    pub fn is_writer(&self) -> bool {
        self.writes.is_some()
    }

    /// Whether an end with an exit code, or with none, may be a pass.
    pub fn accepts(&self, exit: Option<i32>) -> bool {
        exit.is_some_and(|exit| match self.exit.as_slice() {
            [] => exit == 0,
            accepted => accepted.contains(&exit),
        })
    }

    /// Whether it may change this file of the tree, beyond what it produces, cleans and reports in.
    pub fn may_write(&self, path: &RepoPath) -> bool {
        self.writes.as_ref().is_some_and(|w| w.selects(path))
    }

    /// Returns the selections of all that it may make, change and remove.
    pub fn may_change(&self) -> Vec<Selection> {
        let products = self.products().cloned().collect();
        self.writes.iter().cloned().chain([products]).collect()
    }

    /// Returns the globs of all that it may make, change and remove.
    pub fn written_globs(&self) -> Vec<&Glob> {
        let written = self.writes.iter().flat_map(Selection::positive_globs);
        written.chain(self.products()).collect()
    }

    /// Whether it depends on its `inputs` alone where these guarantees hold: it can read nothing else, and
    /// finds nothing that an earlier run left.
    pub fn is_held_to_inputs(&self, reached: &[Guarantee]) -> bool {
        self.inputs.is_some()
            && reached.contains(&Guarantee::DeclaredReads)
            && (reached.contains(&Guarantee::Absence) || self.written_globs().is_empty())
    }

    /// Whether it starts the command of its check, which can be confined.
    pub fn starts_command(&self) -> bool {
        known_by(Row::Sandbox).contains(&self.kind)
    }

    /// Returns what it requests of its environment.
    pub fn environment_request(&self) -> EnvironmentRequest<'_> {
        EnvironmentRequest {
            pass_env: &self.pass_env,
            env: &self.env,
            tool_path: &self.tool_path,
        }
    }

    /// Returns what it may read outside of the repository.
    pub fn outside_request(&self) -> OutsideRequest<'_> {
        OutsideRequest {
            program: self.argv.as_deref().and_then(<[_]>::first),
            dir: &self.dir,
            reads: &self.reads,
        }
    }

    /// Returns how it is confined.
    pub fn confinement(&self) -> Confinement {
        Confinement {
            level: self.sandbox,
            network: self.network,
        }
    }

    /// Confines a step that starts a command at least so, because the operator asks for it. What is
    /// confined as strongly anyway stays as it is.
    pub fn confine(&mut self, least: Confinement) {
        let stronger = self.confinement().and(least);
        if self.starts_command() && stronger != self.confinement() {
            (self.sandbox, self.network) = (stronger.level, stronger.network);
            self.sandbox_from = Some(SandboxFrom::Operator);
        }
    }

    /// Returns the machine requested for its remote execution, if it names one.
    pub fn machine(&self) -> Option<&Machine> {
        self.on.as_ref().and_then(On::machine)
    }

    /// Whether its pass verifies something: it is blocking and no `setup`.
    pub fn is_effective(&self) -> bool {
        !self.setup && self.severity == Severity::Blocking
    }

    /// Whether it is a test, for the contract or for a caller that states this verb of its command.
    pub fn is_test(&self) -> bool {
        let test = Kind::Test.verb();
        let is_stated = |reason: &Reason| {
            matches!(reason.condition.as_str(), "explicit" | "proposed")
                && reason.names.iter().any(|verb| verb == test)
        };
        self.kind == Kind::Test || self.reasons.iter().any(is_stated)
    }

    /// Returns the format of its output, where that is not left to a guess.
    pub fn explicit_format(&self) -> Option<&Open<FormatName>> {
        let guessed = Open::Known(FormatName::Auto);
        self.format.as_ref().filter(|format| **format != guessed)
    }

    /// Returns the predecessors that come before it for another reason than preparing.
    pub fn bound_to(&self) -> impl Iterator<Item = &String> {
        let bound = |id: &&String| !self.prepared_by.contains(id) || self.needs.contains(id);
        self.after.iter().chain(&self.needs).filter(bound)
    }

    /// Returns the name that `--only`, `needs` and people use: the check's name, also for a batch.
    pub fn check(&self) -> &str {
        self.batch_of.as_deref().unwrap_or(&self.id)
    }
}

/// The place of a check's definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepSource {
    /// From 1, in bytes.
    pub column: usize,
    /// The file.
    pub file: String,
    /// From 1.
    pub line: usize,
}

/// The reason why a check is in the plan, or why it is not.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Reason {
    /// `always`, `byRole`, `whenChangedAny`, `whenChangedAll`, `whenChangedOnly`,
    /// `whenChangedNone`, `whenExists`, `whenExistsAny`, `whenAbsent`, `use`, `needed-by`, `named`, `explicit`,
    /// `inferred`, `proposed`, `definition-changed`, `tier`, `role`, `only`, `skip`, `risk`, …
    pub condition: String,
    /// Annotation: the file of that line, if it is not the contract itself.
    pub file: Option<String>,
    /// The glob that selected files.
    pub glob: Option<String>,
    /// Annotation: the line of the condition.
    pub line: Option<usize>,
    /// The first 20 files, in byte order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<RepoPath>,
    /// The number of matched files.
    pub matched_count: Option<u64>,
    /// Roles, checks, paths or tags that it is about; of a command, the stated verb; of `definition-changed`, what each matched file
    /// is to the step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The named selection that holds the glob.
    pub paths: Option<String>,
}

impl Reason {
    /// Returns a reason that says no more than its condition.
    pub(crate) fn from_condition(condition: &str) -> Self {
        Self {
            condition: condition.to_owned(),
            ..Self::default()
        }
    }
}

/// A check that was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Omitted {
    /// Annotation: the row of the `each` blocks that it is in, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub each: BTreeMap<String, String>,
    /// Annotation: the file that defines it, if it is not the contract itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its id.
    pub id: String,
    /// Annotation: its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Whether leaving it out narrows the coverage: waived, cut. A condition that does not hold
    /// narrows nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub narrows: bool,
    /// One line for people.
    pub reason: String,
    /// The same for machines: what did not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
}

/// One use of a rewrite rule.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rewrite {
    /// The coverage that is left.
    pub coverage: Coverage,
    /// Ids of the steps that it dropped, in the order of the plan before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// The reason.
    pub evidence: Option<String>,
    /// The commands after.
    pub next_commands: Vec<String>,
    /// Digest of the plan after. Absent in the rewritten plan itself, whose digest covers this
    /// list.
    pub next_digest: Option<Digest>,
    /// The commands before.
    pub previous_commands: Vec<String>,
    /// Digest of the plan before; absent for a bare list.
    pub previous_digest: Option<Digest>,
    /// Such as `verification_command_missing_script_adjusted`.
    pub reason: String,
    /// The rule's name.
    pub recovery_rule: Open<RewriteRule>,
}

/// The reason why a rule may not be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// One line for people.
    pub reason: String,
    /// The rule's name.
    pub recovery_rule: Open<RewriteRule>,
    /// The step that it would have touched.
    pub step: String,
}

/// The part of the request that is verified.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Coverage {
    /// All.
    Full,
    /// Something was waived, dropped, cut, or skipped itself.
    Narrowed,
}

pub mod bare;

#[cfg(test)]
extern crate self as vplan_plan;
/// Strategies for the types of this crate: those of `vplan-arbitrary`, compiled again for its own tests.
#[cfg(test)]
#[path = "../arbitrary"]
pub mod arbitrary {
    pub mod made;
    pub mod order;
    pub mod plan;
    pub use plan::*;
}
