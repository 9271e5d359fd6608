//! The arguments that commands share.

use super::terminal::ColorWhen;
use super::value::{Words, duration, one_of};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use vplan_base::canon::Digest;
use vplan_base::jobs::Jobs;
use vplan_base::vocabulary::Exit;
use vplan_check::confine::{NetworkUse, SandboxLevel};
use vplan_engine::Engine;
use vplan_engine::request::{Allowed, SandboxMissing};
use vplan_ledger::Status;
use vplan_plan::audit::FindingKind;
use vplan_plan::request::{Mode, Risk};
use vplan_plan::shard::{MOST, Shard};
use vplan_repo::changes::list::ListFormat;
use vplan_run::feedback::LEAST_BYTES;
use vplan_run::verdict::Require;

/// The exit codes of what ends with a verdict.
pub(super) fn verdicts() -> String {
    let said = |exit: Exit| format!("{} {}", exit.code(), exit.words());
    let list =
        |codes: &mut dyn Iterator<Item = Exit>| codes.map(said).collect::<Vec<_>>().join("; ");
    let of_rounds = |exit: &Exit| (Exit::Unconfirmed..=Exit::Escalated).contains(exit);
    let of_run = |exit: &Exit| !of_rounds(exit) && *exit < Exit::Weakened;
    let all = || Exit::ALL.iter().copied();
    format!(
        "Exit codes: {}; {}, {}. With a subject also: {}.",
        list(&mut all().filter(of_run)),
        Exit::Interrupted.code(),
        said(Exit::Terminated),
        list(&mut all().filter(of_rounds)),
    )
}

/// The heading in `run --help` for options other than those of a request or a plan.
const RUN: &str = "Run";

/// The heading in `plan --help` of what divides a plan.
const DIVIDE: &str = "Shards";

/// The exit codes of `explain` and `plan`.
const PLANNED: &str = "Exit codes: 0 planned; 2 usage; 3 contract invalid or missing; 4 lock drift, or no recorded answer of the \
                       proposer; 40 a step is refused by `--deny`.";

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Work in this directory, as if started there.
    ///
    /// Files that the command line names are relative to it.
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// The contract, relative to the repository's root.
    #[arg(long, value_name = "PATH", global = true)]
    pub contract: Option<PathBuf>,
    /// The form of the answer.
    #[arg(long, value_name = "FORMAT", global = true)]
    pub format: Option<OutputFormat>,
    /// The use of colour.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: ColorWhen,
    /// Say only what went wrong.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Trace what vplan does on standard error; twice for more.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub verbose: u8,
    /// The largest contract that is read.
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = size, global = true)]
    pub max_file: u64,
    /// The lock must pin exactly what is imported: nothing missing, nothing more.
    #[arg(long, global = true)]
    pub locked: bool,
    /// Open no connection: `lock` pins only what is in the cache. No other command opens one.
    #[arg(long, global = true)]
    pub offline: bool,
    /// The directory of fetched imports; `$XDG_CACHE_HOME/vplan` or `~/.cache/vplan` otherwise.
    #[arg(long, value_name = "DIR", global = true)]
    pub cache_dir: Option<PathBuf>,
    /// The directory of what decides things: rounds, reusable results, what it wrote of each run;
    /// `$XDG_STATE_HOME/vplan` or `~/.local/state/vplan` otherwise.
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// Print help: `-h` the usual options, `--help` all.
    #[arg(short = 'h', long, action = clap::ArgAction::Help, global = true)]
    pub help: Option<bool>,
}

impl Global {
    /// The engine that these flags describe. It has no observer.
    pub fn engine(&self) -> Engine<'_> {
        Engine {
            contract: self.contract.as_deref(),
            locked: self.locked,
            max_file: self.max_file,
            cache_dir: self.cache_dir.as_deref(),
            state_dir: self.state_dir.as_deref(),
            // `-C` was entered when vplan started.
            ..Engine::at(Path::new("."))
        }
    }
}

/// Forms of an answer. Not every command has every form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// `plan`: RFC 8785, the bytes that the digest covers.
    Canonical,
    /// `plan`: for people who review one.
    Kdl,
    /// `explain`: a graph for Graphviz.
    Dot,
    /// `explain`: a graph for Mermaid.
    Mermaid,
    /// `explain`: a script to copy.
    Shell,
    /// `test`: XML for servers that collect it.
    Junit,
    /// `feedback`: Markdown.
    Md,
    /// `audit`: SARIF 2.1.0, for code scanning.
    Sarif,
}

/// The request to the planner.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Request")]
pub struct RequestArgs {
    /// The role of the change's author.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// The risk of the change.
    #[arg(long, value_name = "LEVEL", default_value = "medium", value_parser = one_of(RISKS))]
    pub risk: Risk,
    /// The change ends a milestone.
    #[arg(long)]
    pub milestone_end: bool,
    /// The change ends the run.
    #[arg(long)]
    pub run_end: bool,
    /// The last change: `--milestone-end` and `--run-end`.
    #[arg(long)]
    pub last: bool,
    /// The least tier.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub min_tier: u8,
    /// A command to run first (repeatable). `test:make x` states its verb: `run`, `compile`, `test` or
    /// `lint`. It demands at least what vplan knows of the tool; `run:test:x` starts a program called
    /// `test:x`. A `cd DIR` or `export NAME=VALUE` alone holds for the commands after it.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub command: Vec<OsString>,
    /// Commands to run first: one a line, or a JSON array of strings; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub commands_from: Option<PathBuf>,
    /// The source of checks.
    #[arg(long, value_name = "MODE", default_value = "contract", value_parser = one_of(MODES))]
    pub mode: Mode,
    /// The program that proposes commands (modes `llm` and `hybrid`): it reads a JSON question
    /// from standard input and writes a JSON answer. Only `run` and `lock --record` start it;
    /// the others use recorded answers.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub proposer: Option<OsString>,
    /// The time limit of the proposer.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration)]
    pub proposer_timeout: u64,
    /// Only this check, or `tag:NAME` (repeatable).
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Waive this check; needs `--reason` (repeatable).
    #[arg(long, value_name = "NAME", requires = "reason")]
    pub skip: Vec<String>,
    /// The reason for the waiver: one for each `--skip`, or one for all.
    #[arg(long, value_name = "TEXT", requires = "skip")]
    pub reason: Vec<String>,
    /// Steps side by side; `auto`: those that do not meet.
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<Jobs>,
    /// Time for the whole run, such as `10m`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub budget: Option<u64>,
    /// Go on after a failure.
    #[arg(long)]
    pub keep_going: bool,
    /// Do not repair the plan.
    #[arg(long)]
    pub no_recover: bool,
    /// Do not repair the plan before it runs.
    #[arg(long)]
    pub no_preflight: bool,
    /// Confine every command at least so: `none`, `guard`, `files`, `sealed`, which is without network unless
    /// `--network` says otherwise. What the contract asks for is never weakened (`vplan help language`).
    #[arg(long, value_name = "LEVEL", value_parser = levels())]
    pub sandbox: Option<SandboxLevel>,
    /// Let every command use at most these networks: `on`, `loopback`, `off`. What the contract asks for is never
    /// widened.
    #[arg(long, value_name = "WORD", value_parser = networks())]
    pub network: Option<NetworkUse>,
    /// Refuse a plan with such a step: `definition-changed`, `shell`; with `run --observe`, a run with
    /// findings of this kind, as `vplan audit` names it (repeatable).
    #[arg(long, value_name = "WHAT", value_parser = refusals(), hide_possible_values = true)]
    pub deny: Vec<DenyArgs>,
    /// Read the contract from this revision, not from the work tree.
    #[arg(long, value_name = "REV", allow_hyphen_values = true)]
    pub contract_from: Option<String>,
    /// The changed files.
    #[command(flatten)]
    pub changes: ChangesArgs,
}

/// The changed files. Without any of these: the work tree since the merge base with the default
/// branch.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Changed files (default: everything since the default branch)")]
#[group(skip)]
pub struct ChangesArgs {
    /// These paths.
    ///
    /// `added:PATH`, `deleted:PATH`, … say how they changed; `:PATH` is a path whatever it looks
    /// like, `:/PATH` one from the root in any directory.
    #[arg(long, value_name = "[STATUS:]PATH", num_args = 1.., group = "source")]
    pub changed: Vec<OsString>,
    /// The paths in this file; `-` is standard input.
    #[arg(long, value_name = "FILE", group = "source")]
    pub changed_from: Option<PathBuf>,
    /// All since the merge base with this revision.
    ///
    /// `auto` asks the CI system.
    #[arg(long, value_name = "REV", allow_hyphen_values = true, group = "source")]
    pub base: Option<String>,
    /// The staged files.
    #[arg(long, group = "source")]
    pub staged: bool,
    /// Every file of the tree, tracked or not.
    #[arg(long, group = "source")]
    pub all: bool,
    /// No file.
    #[arg(long, group = "source")]
    pub changed_none: bool,
    /// The form of `--changed-from`; otherwise it is recognised.
    #[arg(long, value_name = "FORM", requires = "changed_from", value_parser = one_of(LIST_FORMATS))]
    pub changed_format: Option<ListFormat>,
    /// `--changed-from` is separated by NUL.
    #[arg(short = 'z', long = "null", requires = "changed_from")]
    pub null: bool,
}

/// Forms of a list of changed files.
const LIST_FORMATS: &Words<ListFormat> = &[
    ("names", "A path a record", ListFormat::Names),
    (
        "name-status",
        "`git diff --name-status`",
        ListFormat::NameStatus,
    ),
    ("raw", "`git diff --raw`", ListFormat::Raw),
];

/// What can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenyArgs {
    /// A plan with such a step.
    Step(vplan_engine::request::Deny),
    /// A run with this finding about the recorded effects of a step.
    Finding(FindingKind),
}

/// Reads what is refused.
fn refusals() -> impl TypedValueParser<Value = DenyArgs> {
    use vplan_engine::request::Deny::{DefinitionChanged, Shell};
    let steps = [("definition-changed", DefinitionChanged), ("shell", Shell)];
    let steps = steps.map(|(word, step)| (word, DenyArgs::Step(step)));
    let findings = FindingKind::ALL.map(|kind| (kind.name(), DenyArgs::Finding(kind)));
    let known: Vec<(&str, DenyArgs)> = steps.into_iter().chain(findings).collect();
    PossibleValuesParser::new(known.iter().map(|(word, _)| *word)).try_map(move |word| {
        let found = known.iter().find(|(known, _)| *known == word);
        found.map(|(_, deny)| *deny).ok_or("no such word")
    })
}

/// Risk levels.
pub(super) const RISKS: &Words<Risk> = &[
    ("low", "No effect", Risk::Low),
    ("medium", "No effect", Risk::Medium),
    ("high", "Reaches tier 1", Risk::High),
];

/// Sources of checks.
const MODES: &Words<Mode> = &[
    ("off", "Nothing runs", Mode::Off),
    ("contract", "The contract", Mode::Contract),
    (
        "fallback",
        "The contract, or what the repository declares where there is none",
        Mode::Fallback,
    ),
    (
        "llm",
        "The contract, and always what `--proposer` adds",
        Mode::Llm,
    ),
    (
        "hybrid",
        "The contract; where it asks for nothing, `--proposer`; where that knows nothing, what the repository declares",
        Mode::Hybrid,
    ),
];

/// `vplan init`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 written; 2 usage, also when there is a contract already.")]
pub struct Init {
    /// Print the contract instead of writing it.
    #[arg(long)]
    pub stdout: bool,
    /// Replace a contract that is there.
    #[arg(long)]
    pub force: bool,
    /// Run the proposal once on the commit that is checked out, apart from the work tree, and mend it
    /// by what comes of that.
    #[arg(long)]
    pub r#try: bool,
    /// Time for the trial, such as `10m`.
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "try", default_value = "10m")]
    pub budget: u64,
}

/// `vplan check`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 valid, perhaps with warnings; 2 usage; 3 contract invalid or missing, or a warning is denied; 4 \
                        lock drift."
)]
pub struct CheckArgs {
    /// Take these for errors: `warnings`, `shell`, `unconfined` (a command with `inputs` and without
    /// `sandbox files`), or a code or its last part (repeatable).
    #[arg(long, value_name = "WHAT")]
    pub deny: Vec<String>,
    /// List the tracked files that no condition mentions: that neither the list of a
    /// `whenChanged…` around a check nor a `risk` selects. A check without such a condition
    /// mentions no file, although it runs for every one.
    #[arg(long)]
    pub uncovered: bool,
    /// Leave out what depends on this machine: programs on the PATH or with an absolute path, and
    /// files that git ignores. The answer is then the same wherever the same files are.
    #[arg(long)]
    pub pure: bool,
}

/// `vplan explain`
#[derive(Debug, Args)]
#[command(after_help = PLANNED)]
pub struct Explain {
    /// Only this check's story.
    pub name: Option<String>,
    /// List the definitions of the contract instead: where each is, when it applies, its rows,
    /// and what the block of an import changes.
    #[arg(long, conflicts_with = "name", help_heading = "Options")]
    pub checks: bool,
    /// Say also which steps a run with `--remote` executes elsewhere, and why the others not. Asks
    /// nobody.
    #[arg(long, conflicts_with_all = ["name", "checks"], help_heading = "Options")]
    pub remote: bool,
    /// What a change of files that this glob selects may need, before there is one: which checks each
    /// such change plans, which some change does, with files that do, and which none (repeatable;
    /// `!GLOB` takes away).
    #[arg(long, value_name = "GLOB", help_heading = "Options", conflicts_with_all = [
        "name", "checks", "remote", "command", "commands_from", "mode", "proposer", "only", "skip", "source",
    ])]
    pub may_change: Vec<String>,
    /// The request.
    #[command(flatten)]
    pub request: RequestArgs,
}

/// `vplan plan`
#[derive(Debug, Args)]
#[command(after_help = PLANNED)]
pub struct PlanArgs {
    /// The request.
    #[command(flatten)]
    pub request: RequestArgs,
    /// Write the plan to this file, as its ending says: `.kdl` for people, `.json` for pipelines.
    /// With `--divide`: the division.
    #[arg(short, long, value_name = "FILE", help_heading = "Options")]
    pub output: Option<PathBuf>,
    /// Replace the file that `--output` names, whatever it holds.
    #[arg(long, requires = "output", help_heading = "Options")]
    pub force: bool,
    /// Divide the plan into so many shards that take equally long, by how long its steps took:
    /// `vplan run --plan PLAN --shard I/N --division FILE` runs one. With `--format json` the words
    /// of `--shard` are printed, for a CI matrix.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)), help_heading = DIVIDE)]
    pub divide: Option<u32>,
    /// Divide this plan file, if its request still gives the same plan here.
    #[arg(long, value_name = "FILE", requires = "divide", help_heading = DIVIDE, conflicts_with_all = [
        "role", "risk", "milestone_end", "run_end", "last", "min_tier", "command", "commands_from", "mode", "only", "skip",
        "reason", "budget", "no_recover", "no_preflight", "source",
    ])]
    pub plan: Option<PathBuf>,
    /// Take fewer shards where none of them is then expected to take longer, such as `10m`.
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "divide", help_heading = DIVIDE)]
    pub target: Option<u64>,
    /// The folder of the runs that say how long steps took, up to four folders deep; otherwise the
    /// records of this repository.
    #[arg(long, value_name = "RUNS", requires = "divide", help_heading = DIVIDE)]
    pub past: Option<PathBuf>,
}

/// `vplan run`
#[derive(Clone, Debug, Args)]
#[command(after_help = verdicts())]
pub struct RunArgs {
    /// Run these checks, or those with `tag:NAME`, in any case.
    ///
    /// Their conditions and tiers do not count, and what they need runs with them. Such a run is
    /// narrowed.
    #[arg(value_name = "NAME", conflicts_with = "only")]
    pub names: Vec<String>,
    /// The request.
    #[command(flatten)]
    pub request: RequestArgs,
    /// The plan that is run.
    #[command(flatten)]
    pub saved: Saved,
    /// The least that a pass must have verified: `some` check at all, or with `full` coverage.
    #[arg(long, value_name = "COVERAGE", value_parser = one_of(REQUIRED), help_heading = RUN)]
    pub require: Option<Require>,
    /// Refuse to run unless vplan can end a step's whole process tree.
    #[arg(long, value_name = "LEVEL", value_parser = one_of(CONTAINMENT), help_heading = RUN)]
    pub require_containment: Option<bool>,
    /// What to do where this machine cannot confine a step as it asks for: start nothing, or run it
    /// with what there is, which the report names.
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = one_of(SANDBOX_MISSING), help_heading = RUN)]
    pub sandbox_missing: SandboxMissing,
    /// Let files that a confined step may change be hard links to files in this folder: the store of
    /// pnpm, uv or ccache (repeatable).
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    pub sandbox_store: Vec<PathBuf>,
    /// Let this variable through to the checks that ask for it (repeatable).
    #[arg(long, value_name = "NAME", help_heading = RUN)]
    pub grant_env: Vec<String>,
    /// The program that answers `judge` checks, instead of the contract's `judge-with`: it reads a
    /// JSON question from standard input and writes a JSON answer (`vplan help judge`).
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true, help_heading = RUN)]
    pub judge: Option<OsString>,
    /// Give every step vplan's whole environment; recorded.
    #[arg(long, help_heading = RUN)]
    pub inherit_env: bool,
    /// Let steps keep the capability to trace processes that are not their own, where vplan has
    /// it; recorded.
    #[arg(long, help_heading = RUN)]
    pub keep_capabilities: bool,
    /// The most output of a step that is kept.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size, help_heading = RUN)]
    pub max_output: u64,
    /// The form of the progress.
    #[arg(long, value_name = "HOW", default_value = "auto", help_heading = RUN)]
    pub progress: ProgressArgs,
    /// See what each step reads, writes and connects to, record it, and hold the contract against it:
    /// what it does not say is a note (`vplan audit`), or fails the run with `--deny KIND`. Slower;
    /// reuses nothing.
    #[arg(long, help_heading = RUN)]
    pub observe: bool,
    /// Write the events to this file too; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = RUN)]
    pub events: Option<PathBuf>,
    /// Keep the records of runs in this directory instead of `.vplan/` at the root.
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    pub records: Option<PathBuf>,
    /// Keep so many runs there, the newest; what is older goes, a few at a time.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..), help_heading = RUN)]
    pub keep_runs: u32,
    /// Keep no more than so much of earlier runs there; where there are many, one run in sixteen
    /// looks.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size, help_heading = RUN)]
    pub keep_bytes: u64,
    /// The reports to write.
    #[command(flatten)]
    pub reports: super::reports::Reports,
    /// Whether earlier results are used.
    #[command(flatten)]
    pub reuse: super::servers::Reuse,
    /// Where steps are executed.
    #[command(flatten)]
    pub remote: super::servers::RemoteArgs,
    /// By which servers and this machine know each other.
    #[command(flatten)]
    pub tls: super::servers::TlsArgs,
    /// The subject of this round, and its status.
    #[command(flatten)]
    pub round: RoundArgs,
    /// Accept the contract with this digest although it asks for less than the one at the base;
    /// the answer still says so. In `loop`, without a digest: go on when a fixer changes the
    /// contract, what it imports, or its lock; one that asks for less is no pass.
    #[arg(
        long, value_name = "sha256:…", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = allowed,
        help_heading = RUN
    )]
    pub allow_contract_change: Option<Allowed>,
    /// The number of the attempt at the same work.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = RUN)]
    pub attempt: u32,
}

/// The plan that is run: the one that the request gives, or one from a file.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Plan")]
pub struct Saved {
    /// Run this plan file, if its request still gives the same plan here. Its digest says which
    /// plan it is, not that it may do what the contract does not allow. `--jobs` and
    /// `--keep-going` say how it is run, whatever the file says.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "role", "risk", "milestone_end", "run_end", "last", "min_tier", "command", "commands_from", "mode", "only", "skip",
        "reason", "budget", "no_recover", "no_preflight", "source",
        "names",
    ])]
    pub plan: Option<PathBuf>,
    /// Run the saved plan although it would be another one today; the report says in what.
    #[arg(long, requires = "plan")]
    pub allow_drift: bool,
    /// Run the saved plan where there is no contract that could confirm it; the report says so.
    #[arg(long, requires = "plan")]
    pub plan_as_is: bool,
    /// Refuse every plan but the one with this digest.
    #[arg(long, value_name = "sha256:…", value_parser = digest)]
    pub expect_digest: Option<Digest>,
    /// Run a share of the plan's steps, with all that they need: the I-th of N. `vplan merge`
    /// joins the reports.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// The division that says which steps are whose, as `vplan plan --divide N` wrote it. Without
    /// one, steps are dealt in turn.
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub division: Option<PathBuf>,
}

/// The values for the minimum coverage of a pass.
pub(super) const REQUIRED: &Words<Require> = &[
    (
        "some",
        "At least one effective check",
        Require {
            full: false,
            some: true,
        },
    ),
    (
        "full",
        "Nothing waived, dropped, cut or skipped",
        Require {
            full: true,
            some: false,
        },
    ),
];

/// What to do where a step cannot be confined as it asks for.
const SANDBOX_MISSING: &Words<SandboxMissing> = &[
    ("refuse", "Start nothing", SandboxMissing::Refuse),
    ("run", "Run it with what there is", SandboxMissing::Run),
];

/// The processes that end when a step ends: whether those are all that descend from it.
const CONTAINMENT: &Words<bool> = &[
    ("subtree", "Every process that descends from it", true),
    ("group", "Its process group", false),
];

/// The form of the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressArgs {
    /// A live view on a terminal, lines without one.
    Auto,
    /// A live view.
    Bar,
    /// A line as each step ends.
    Plain,
    /// Nothing.
    None,
}

/// The facts about a failed command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Evidence")]
pub struct EvidenceArgs {
    /// Its exit code.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit: Option<i32>,
    /// The signal that ended it, such as SIGKILL.
    #[arg(long, value_name = "NAME")]
    pub signal: Option<String>,
    /// The error that prevented its start, such as ENOENT.
    #[arg(long, value_name = "NAME")]
    pub spawn_error: Option<String>,
    /// Its time was up.
    #[arg(long)]
    pub timed_out: bool,
    /// A file with its standard output; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub stdout: Option<PathBuf>,
    /// A file with its standard error; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub stderr: Option<PathBuf>,
}

/// `vplan recover`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 repaired; 2 usage; 44 there is no repair.")]
pub struct Recover {
    /// A command of a bare list, in order (repeatable).
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        conflicts_with = "plan"
    )]
    pub command: Vec<OsString>,
    /// The number of a command that failed, from 1 (repeatable).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "plan")]
    pub failed: Vec<u32>,
    /// The reason, if that is known already.
    #[arg(long, value_name = "CODE")]
    pub code: Option<String>,
    /// The evidence of its failure.
    #[command(flatten)]
    pub evidence: EvidenceArgs,
    /// A plan file, `.kdl` or as `vplan plan --format json` prints it.
    #[arg(
        long,
        value_name = "FILE",
        requires = "failure",
        help_heading = "A plan instead of a list"
    )]
    pub plan: Option<PathBuf>,
    /// A failure in JSON, `{"step":"NAME","code":"…"}`, or a list of them.
    #[arg(
        long,
        value_name = "FILE",
        requires = "plan",
        help_heading = "A plan instead of a list"
    )]
    pub failure: Option<PathBuf>,
}

/// `vplan step`
#[derive(Debug, Args)]
#[command(
    after_help = "A run with `--remote` starts it; the answer appears beside the order's folder, as `answer.json`.\n\nExit codes: 0 there is an answer, however the step ended; 2 it is no order, or it is answered; 5 the step cannot be executed here; 130 and 143 interrupted."
)]
pub struct StepOrder {
    /// The order: `vplan/order.json`, beside the folder `work` with the files of the step.
    pub order: PathBuf,
}

/// `vplan classify`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 said why, or what is read; 2 usage; with --read also 3 the contract is invalid."
)]
pub struct Classify {
    /// The command that failed.
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required_unless_present = "read"
    )]
    pub command: Option<OsString>,
    /// Print what this format, of the contract or a built-in one, reads in standard input, in place of why a command
    /// failed.
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["command", "previous", "EvidenceArgs"])]
    pub read: Option<String>,
    /// A command that ran before it, in order (repeatable).
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub previous: Vec<OsString>,
    /// The evidence of its failure.
    #[command(flatten)]
    pub evidence: EvidenceArgs,
}

/// `vplan argv`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 it is a command; 2 usage; 3 it is none without a shell.")]
pub struct Argv {
    /// The command's text.
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub text: OsString,
}

/// `vplan completions`
#[derive(Debug, Args)]
#[command(
    after_help = "The script asks `vplan` each time: commands, options, checks, tags, roles, runs, topics. It begins a shell \
                  best, so that it is the one of this vplan:\n  \
                  bash  source <(vplan completions bash)         in ~/.bashrc\n  \
                  zsh   source <(vplan completions zsh)          in ~/.zshrc, after compinit\n  \
                  fish  vplan completions fish | source          in ~/.config/fish/config.fish\n\n\
                  Exit codes: 0 printed; 2 usage."
)]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// `vplan man`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 printed or written; 2 usage, also when a file is in the way; 5 a page cannot be written."
)]
pub struct Man {
    /// The page of this command.
    #[arg(conflicts_with = "dir")]
    pub command: Option<String>,
    /// Write a page for each command into this folder.
    ///
    /// `man` finds them in `~/.local/share/man/man1`.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Replace the files in the way, whatever they hold.
    #[arg(long, requires = "dir")]
    pub force: bool,
}

/// `vplan help`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 printed; 2 usage.")]
pub struct Help {
    /// A command, or one of `language`, `environment`, `events`, `integrations`, `judge`,
    /// `proposer`, `reference`, `rounds`, `security`, `tour`.
    pub topic: Option<String>,
}

/// `vplan tour`
#[derive(Debug, Args)]
#[command(
    after_help = "`vplan help tour` is the same without running anything.\n\nExit codes: 0 every command of the session ended as the \
                  page says; 2 usage; 5 a program is missing, or a command ended otherwise; 130, 143 interrupted."
)]
pub struct Tour {}

/// Reads the level of `--sandbox`.
pub(super) fn levels() -> impl TypedValueParser<Value = SandboxLevel> {
    level_of(&SandboxLevel::ALL)
}

/// Reads one of these levels.
pub(super) fn level_of(levels: &[SandboxLevel]) -> impl TypedValueParser<Value = SandboxLevel> {
    PossibleValuesParser::new(levels.iter().map(|level| level.name()))
        .map(|word| SandboxLevel::parse(&word).unwrap_or_default())
}

/// Reads the word of `--network`.
fn networks() -> impl TypedValueParser<Value = NetworkUse> {
    PossibleValuesParser::new(NetworkUse::NAMES)
        .map(|word| NetworkUse::parse(&word).unwrap_or_default())
}

fn size(text: &str) -> Result<u64, &'static str> {
    vplan_base::unit::parse_size(text).map_err(|_| "expected a size such as `64MiB`")
}

/// Reads the budget of a feedback: in bytes, enough for a message.
pub(super) fn feedback_size(text: &str) -> Result<usize, &'static str> {
    let bytes = size(text)?;
    usize::try_from(bytes)
        .ok()
        .filter(|bytes| *bytes >= LEAST_BYTES)
        .ok_or("expected at least `1KiB`")
}

pub(super) fn digest(text: &str) -> Result<Digest, &'static str> {
    Digest::try_from(text.to_owned()).map_err(|_| "expected `sha256:` and 64 hexadecimal digits")
}

fn allowed(text: &str) -> Result<Allowed, &'static str> {
    if text.is_empty() {
        Ok(Allowed::Any)
    } else {
        digest(text).map(Allowed::Contract)
    }
}

/// Reads a number of parallel steps, or `auto`.
pub(super) fn jobs(text: &str) -> Result<Jobs, &'static str> {
    let number = text.parse().ok().filter(|n| (1..=Jobs::MOST).contains(n));
    match text {
        Jobs::AUTO => Ok(Jobs::Auto),
        _ => number
            .map(Jobs::Number)
            .ok_or("expected a number from 1 to 256, or `auto`"),
    }
}

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Round")]
pub struct RoundArgs {
    /// The subject of the work: a task, a milestone.
    ///
    /// The round is recorded, and the decision is about all rounds so far; see `vplan help rounds`.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["attempt", "shard"])]
    pub subject: Option<String>,
    /// The caller's status of the round. Without it a pass says that the work is done.
    #[arg(long, value_name = "STATUS", requires = "subject", value_parser = one_of(STATUSES))]
    pub status: Option<Status>,
}

/// The statuses of a round that a caller may report.
pub(super) const STATUSES: &Words<Status> = &[
    ("done", "The work is done", Status::Done),
    ("continue", "There is more to do", Status::Continue),
    (
        "rotate",
        "There is more to do, for another worker",
        Status::Rotate,
    ),
    ("stuck", "It does not go on without a person", Status::Stuck),
];
