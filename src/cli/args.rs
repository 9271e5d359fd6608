//! Reads the command line into typed arguments.

use super::command::diff::Diff;
use super::command::merge::Merge;
use crate::base::canon::Digest;
use crate::base::vocabulary::Exit;
use crate::plan::shard::Shard;
use clap::{Args, CommandFactory, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// The exit codes of what ends with a verdict.
fn verdicts() -> String {
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

/// The end of the help of `vplan` itself.
const ABOUT: &str = " Also: 40 a failed `test`, `fmt --check` or `--deny`; 45 the contract is weakened (`diff`).\n\n\
     Topics of `vplan help TOPIC`:\n  \
     language      the contract language, by examples and as a grammar\n  \
     environment   the variables that a step sees\n  \
     events        the events of a run, and what other tools call them\n  \
     integrations  vplan in git hooks, CI systems and coding agents\n  \
     judge         how the program that answers `judge` checks is asked\n  \
     proposer      how the program that proposes checks is asked\n  \
     reference     all commands, changed files, steps, JSON documents, exit codes\n  \
     rounds        subjects, confirmations, decisions, the loop\n  \
     security      what is promised, against whom, and what is not\n  \
     tour          a session, from an empty directory to shared contracts and plan files";

/// The heading in `run --help` of what it takes besides a request and a plan.
const RUN: &str = "Run";

/// The exit codes of `explain` and `plan`.
const PLANNED: &str = "Exit codes: 0 planned; 2 usage; 3 contract invalid or missing; 4 lock drift, or no recorded answer of the \
                       proposer; 40 a step is refused by `--deny`.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "vplan",
    version,
    about = "Which checks does this change need? Plan them, explain them, run them, and believe the answer.",
    disable_help_subcommand = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = verdicts() + ABOUT
)]
pub struct CommandLine {
    /// Flags that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl CommandLine {
    /// Reads a command line. `color` says how clap's own words are to look, should it come to that.
    ///
    /// # Errors
    /// What clap has to say: also help and version, which are none.
    pub fn read(
        words: Vec<OsString>,
        color: fn(&[OsString]) -> clap::ColorChoice,
    ) -> Result<Self, clap::Error> {
        if let Some(line) = Self::read_directly(&words) {
            return Ok(line);
        }
        let matches = Self::command()
            .color(color(&words))
            .try_get_matches_from(&words)?;
        Self::from_arg_matches(&matches)
    }

    /// Reads a command line that begins with a subcommand and has nothing wrong with it. Only that
    /// subcommand is built, a tenth of all words that there are; whatever is not plain is read,
    /// and answered, by all of them.
    fn read_directly(words: &[OsString]) -> Option<Self> {
        let name = words.get(1)?.to_str()?;
        let augment: fn(clap::Command) -> clap::Command = match name {
            "argv" => Argv::augment_args,
            "check" => Check::augment_args,
            "classify" => Classify::augment_args,
            "diff" => Diff::augment_args,
            "explain" => Explain::augment_args,
            "fmt" => super::command::fmt::Fmt::augment_args,
            "plan" => PlanArgs::augment_args,
            "recover" => Recover::augment_args,
            "run" => Run::augment_args,
            "status" => super::command::status::Status::augment_args,
            "test" => super::command::test::Test::augment_args,
            _ => return None,
        };
        let subcommand = augment(clap::Command::new(name.to_owned()));
        let mut all = Global::augment_args(clap::Command::new("vplan")).subcommand(subcommand);
        let read = all.try_get_matches_from_mut(words).ok()?;
        // The process lives shortly; to give back hundreds of small pieces of memory would only
        // take time.
        std::mem::forget(all);
        Self::from_arg_matches(&read).ok()
    }
}

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Work in this directory, as if started there: files that the command line names are relative
    /// to it.
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// The contract, relative to the repository's root.
    #[arg(long, value_name = "PATH", global = true)]
    pub contract: Option<PathBuf>,
    /// The form of the answer.
    #[arg(long, value_name = "FORMAT", global = true)]
    pub format: Option<Format>,
    /// When to use colour.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: When,
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
    /// Where fetched imports are kept; `$XDG_CACHE_HOME/vplan` or `~/.cache/vplan` otherwise.
    #[arg(long, value_name = "DIR", global = true)]
    pub cache_dir: Option<PathBuf>,
    /// Where vplan keeps what decides things: rounds, reusable results, what it wrote of each run;
    /// `$XDG_STATE_HOME/vplan` or `~/.local/state/vplan` otherwise.
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
}

/// Forms of an answer. Not every command has every form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
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
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Subcommands, in the order of the help: of the contract, of the plan, of runs, of records, of
/// rounds; tools.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a contract from what the repository declares.
    Init(Init),
    /// Convert another tool's configuration into a contract: verify.contract.json, runr, ralph-tui,
    /// acode.
    Import(super::command::import::Import),
    /// Validate the contract and show everything that is wrong with it.
    Check(Check),
    /// Write the contract in its one layout.
    Fmt(super::command::fmt::Fmt),
    /// Run the tests of the contract: does it ask for what it should?
    Test(super::command::test::Test),
    /// Compare two plans, or two contracts: what differs, and what of it weakens.
    Diff(Diff),
    /// Fetch the contract's git imports, pin them in the lock, and take out what is not imported
    /// any more.
    Lock(super::command::lock::Lock),
    /// List the contracts shipped with vplan, which `import "std:NAME@VERSION"` names, or print
    /// one.
    Std(super::command::std::Std),
    /// Show what would run for this change, and why, and what would not, and why not.
    Explain(Explain),
    /// Print the plan for this change.
    Plan(PlanArgs),
    /// Verify this change: plan, execute, repair the plan where the plan was wrong, report.
    Run(Box<Run>),
    /// Verify, have a command repair what failed, and verify again, until there is a decision.
    Loop(Box<super::command::r#loop::Loop>),
    /// Join the reports of all shards of a plan into one verdict.
    Merge(Merge),
    /// Say what failed in a run, and what to do about it: for a person, or for an agent.
    Feedback(super::command::feedback::Feedback),
    /// Show how the latest run ended, and whether what is here now is verified.
    Status(super::command::status::Status),
    /// List the recorded runs, newest first.
    Runs(super::command::runs::Runs),
    /// Show what each check of a run did, and why it was there.
    Details(super::command::details::Details),
    /// Print what a check wrote.
    Log(super::command::log::Log),
    /// Show what happened in a run, in order.
    Report(super::command::report::ReportArgs),
    /// Show how checks fare over many runs: how often they pass, how long they take.
    Stats(super::command::stats::Stats),
    /// Check a report offline: is it what vplan wrote, and is it about this tree?
    Verify(super::command::verify::Verify),
    /// Remove the records of old runs.
    Gc(super::command::gc::Gc),
    /// Record rounds of work by hand, and show how subjects stand.
    Gate(super::command::gate::Gate),
    /// Answer a coding agent's hooks: an agent that stops is sent back until its change is
    /// verified.
    Hook(super::command::hook::Hook),
    /// Repair a list of commands, or a plan, of which one failed because the plan was wrong.
    Recover(Recover),
    /// Say why a command failed.
    Classify(Classify),
    /// Read a command text as vplan reads it: environment and argument vector.
    Argv(Argv),
    /// Print the JSON Schema of a document that vplan prints or writes, or list them.
    Schema(super::command::schema::Schema),
    /// Print a completion script.
    Completions(Completions),
    /// Print the manual page.
    Man(Man),
    /// Help on a command, or on a topic: `language`, `environment`, `events`, `integrations`,
    /// `judge`, `proposer`, `reference`, `rounds`, `security`, `tour`.
    Help(Help),
}

/// What a caller asks of the planner.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Request")]
pub struct Request {
    /// Whose change it is.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// How risky the change is.
    #[arg(long, value_name = "LEVEL", default_value = "medium")]
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
    /// A command to run first (repeatable). A `cd DIR` or `export NAME=VALUE` alone holds for the
    /// commands after it.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub command: Vec<OsString>,
    /// Commands to run first: one a line, or a JSON array of strings; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub commands_from: Option<PathBuf>,
    /// Where checks come from.
    #[arg(long, value_name = "MODE", default_value = "contract")]
    pub mode: Mode,
    /// The program that proposes commands (modes `llm` and `hybrid`): it reads a JSON question
    /// from standard input and writes a JSON answer. Only `run` and `lock --record` start it;
    /// the others use recorded answers.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub proposer: Option<OsString>,
    /// How long the proposer may take.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration)]
    pub proposer_timeout: u64,
    /// Only this check, or `tag:NAME` (repeatable).
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Waive this check; needs `--reason` (repeatable).
    #[arg(long, value_name = "NAME", requires = "reason")]
    pub skip: Vec<String>,
    /// Why it is waived: one for each `--skip`, or one for all.
    #[arg(long, value_name = "TEXT", requires = "skip")]
    pub reason: Vec<String>,
    /// Steps side by side.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,
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
    /// Refuse a plan with such a step: `definition-changed`, `shell` (repeatable).
    #[arg(long, value_name = "WHAT")]
    pub deny: Vec<Deny>,
    /// Read the contract from this revision, not from the work tree.
    #[arg(long, value_name = "REV", allow_hyphen_values = true)]
    pub contract_from: Option<String>,
    /// Which files changed.
    #[command(flatten)]
    pub changes: Changes,
}

impl Request {
    /// That of a command line without any flag.
    ///
    /// # Errors
    /// None, unless a flag has become one that must be given.
    pub fn plain() -> Result<Self, clap::Error> {
        let matches =
            Self::augment_args(clap::Command::new("vplan")).try_get_matches_from(["vplan"])?;
        Self::from_arg_matches(&matches)
    }
}

/// Which files changed. Without any of these: the work tree since the merge base with the default
/// branch.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Changed files (default: everything since the default branch)")]
#[group(skip)]
pub struct Changes {
    /// These paths, `added:PATH`, `deleted:PATH`, … or `:PATH` literally.
    #[arg(long, value_name = "[STATUS:]PATH", num_args = 1.., group = "source")]
    pub changed: Vec<OsString>,
    /// The paths in this file; `-` is standard input.
    #[arg(long, value_name = "FILE", group = "source")]
    pub changed_from: Option<PathBuf>,
    /// All changes since the merge base with this revision; `auto` asks the CI system.
    #[arg(long, value_name = "REV", allow_hyphen_values = true, group = "source")]
    pub base: Option<String>,
    /// What is staged.
    #[arg(long, group = "source")]
    pub staged: bool,
    /// Every tracked file.
    #[arg(long, group = "source")]
    pub all: bool,
    /// No file.
    #[arg(long, group = "source")]
    pub changed_none: bool,
    /// The form of `--changed-from`.
    #[arg(
        long,
        value_name = "FORM",
        default_value = "names",
        requires = "changed_from"
    )]
    pub changed_format: ListFormat,
    /// `--changed-from` is separated by NUL.
    #[arg(short = 'z', long = "null", requires = "changed_from")]
    pub null: bool,
}

/// Forms of a list of changed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// A path a record.
    Names,
    /// `git diff --name-status`.
    NameStatus,
    /// `git diff --raw`.
    Raw,
}

/// What can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deny {
    /// A step whose command is defined by a changed file.
    DefinitionChanged,
    /// A step that goes through `sh -c`.
    Shell,
}

/// Risk levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Risk {
    /// No effect.
    Low,
    /// No effect.
    Medium,
    /// Reaches tier 1.
    High,
}

impl From<Risk> for crate::plan::request::Risk {
    fn from(risk: Risk) -> Self {
        match risk {
            Risk::Low => Self::Low,
            Risk::Medium => Self::Medium,
            Risk::High => Self::High,
        }
    }
}

/// Where checks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Nothing runs.
    Off,
    /// The contract.
    Contract,
    /// The contract, or what the repository declares where there is none.
    Fallback,
    /// The contract, and always what `--proposer` adds.
    Llm,
    /// The contract; where it asks for nothing, `--proposer`; where that knows nothing, what the
    /// repository declares.
    Hybrid,
}

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
}

/// `vplan check`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 valid, perhaps with warnings; 2 usage; 3 contract invalid or missing, or a warning is denied; 4 \
                        lock drift."
)]
pub struct Check {
    /// Take these for errors: `warnings`, `shell`, or a code or its last part (repeatable).
    #[arg(long, value_name = "WHAT")]
    pub deny: Vec<String>,
    /// List the tracked files that no condition mentions: that neither the list of a
    /// `whenChanged…` around a check nor a `risk` selects. A check without such a condition
    /// mentions no file, although it runs for every one.
    #[arg(long)]
    pub uncovered: bool,
}

/// `vplan explain`
#[derive(Debug, Args)]
#[command(after_help = PLANNED)]
pub struct Explain {
    /// Only this check's story.
    pub name: Option<String>,
    /// The request.
    #[command(flatten)]
    pub request: Request,
}

/// `vplan plan`
#[derive(Debug, Args)]
#[command(after_help = PLANNED)]
pub struct PlanArgs {
    /// The request.
    #[command(flatten)]
    pub request: Request,
    /// Write the plan to this file, as its ending says: `.kdl` for people, `.json` for pipelines.
    #[arg(short, long, value_name = "FILE", help_heading = "Options")]
    pub output: Option<PathBuf>,
}

/// `vplan run`
#[derive(Clone, Debug, Args)]
#[command(after_help = verdicts())]
pub struct Run {
    /// Run these checks, or those with `tag:NAME`, whatever their conditions and tiers say, and
    /// what they need. Such a run is narrowed.
    #[arg(value_name = "NAME", conflicts_with = "only")]
    pub names: Vec<String>,
    /// The request.
    #[command(flatten)]
    pub request: Request,
    /// Which plan.
    #[command(flatten)]
    pub saved: Saved,
    /// What a pass must have verified: `some` check at all, or with `full` coverage.
    #[arg(long, value_name = "COVERAGE", help_heading = RUN)]
    pub require: Option<Require>,
    /// Refuse to run unless vplan can end a step's whole process tree.
    #[arg(long, value_name = "LEVEL", help_heading = RUN)]
    pub require_containment: Option<Containment>,
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
    /// How much output of a step is kept.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size, help_heading = RUN)]
    pub max_output: u64,
    /// How progress is shown.
    #[arg(long, value_name = "HOW", default_value = "auto", help_heading = RUN)]
    pub progress: Progress,
    /// Write the events to this file too; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = RUN)]
    pub events: Option<PathBuf>,
    /// Keep the records of runs in this directory instead of `.vplan/` at the root.
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    pub records: Option<PathBuf>,
    /// Which reports are written.
    #[command(flatten)]
    pub reports: super::reports::Reports,
    /// Whether earlier results are used.
    #[command(flatten)]
    pub reuse: super::reuse::Reuse,
    /// Whose round this is.
    #[command(flatten)]
    pub round: super::round::Round,
    /// Accept the contract with this digest although it asks for less than the one at the base;
    /// the answer still says so. In `loop`, without a digest: go on when a fixer changes the
    /// contract, what it imports, or its lock; one that asks for less is no pass.
    #[arg(
        long, value_name = "sha256:…", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = allowed,
        help_heading = RUN
    )]
    pub allow_contract_change: Option<Allowed>,
    /// Which attempt at the same work this is.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = RUN)]
    pub attempt: u32,
}

/// `--allow-contract-change`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Without a value: any contract, as long as it asks for no less.
    Any,
    /// This very contract.
    Contract(Digest),
}

/// Which plan is run: the one that the request gives, or one from a file.
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
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
}

/// What a pass must have verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Require {
    /// At least one effective check.
    Some,
    /// Nothing waived, dropped, cut or skipped.
    Full,
}

/// What ends when a step ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Containment {
    /// Every process that descends from it.
    Subtree,
    /// Its process group.
    Group,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    /// A live view on a terminal, lines without one.
    Auto,
    /// A live view.
    Bar,
    /// A line as each step ends.
    Plain,
    /// Nothing.
    None,
}

/// What is known of a failed command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Evidence")]
pub struct Evidence {
    /// Its exit code.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit: Option<i32>,
    /// The signal that ended it, such as SIGKILL.
    #[arg(long, value_name = "NAME")]
    pub signal: Option<String>,
    /// Why it could not be started, such as ENOENT.
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
    /// Which of them failed, from 1 (repeatable).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "plan")]
    pub failed: Vec<u32>,
    /// Why, if that is known already.
    #[arg(long, value_name = "CODE")]
    pub code: Option<String>,
    /// What was seen of it.
    #[command(flatten)]
    pub evidence: Evidence,
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

/// `vplan classify`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 said why; 2 usage.")]
pub struct Classify {
    /// The command that failed.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, required = true)]
    pub command: OsString,
    /// A command that ran before it, in order (repeatable).
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub previous: Vec<OsString>,
    /// What was seen of it.
    #[command(flatten)]
    pub evidence: Evidence,
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
#[command(after_help = "Exit codes: 0 printed; 2 usage.")]
pub struct Completions {
    /// For which shell.
    pub shell: clap_complete::Shell,
}

/// `vplan man`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 printed; 2 usage.")]
pub struct Man {
    /// The page of this command.
    pub command: Option<String>,
}

/// `vplan help`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 printed; 2 usage.")]
pub struct Help {
    /// A command, or one of `language`, `environment`, `events`, `integrations`, `judge`,
    /// `proposer`, `reference`, `rounds`, `security`, `tour`.
    pub topic: Option<String>,
}

fn size(text: &str) -> Result<u64, String> {
    crate::base::unit::parse_size(text).map_err(|_| "expected a size such as `64MiB`".to_owned())
}

pub(super) fn digest(text: &str) -> Result<Digest, String> {
    Digest::try_from(text.to_owned())
        .map_err(|_| "expected `sha256:` and 64 hexadecimal digits".to_owned())
}

fn allowed(text: &str) -> Result<Allowed, String> {
    if text.is_empty() {
        Ok(Allowed::Any)
    } else {
        digest(text).map(Allowed::Contract)
    }
}

fn shard(text: &str) -> Result<Shard, String> {
    text.parse()
}

pub(super) fn duration(text: &str) -> Result<u64, String> {
    crate::base::unit::parse_duration(text)
        .map_err(|_| "expected a duration such as `10m`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_reads_what_the_long_way_reads() {
        for (line, direct) in [
            ("explain --changed a b", true),
            ("explain lint --changed a -q", true),
            (
                "plan --format json --changed-from list -z --max-file 2MiB",
                true,
            ),
            (
                "plan -C dir --contract c --color never -vv --risk high --min-tier 2 --last",
                true,
            ),
            (
                "run --all --jobs 2 --keep-going --skip a --reason b --skip c --reason d --only tag:x",
                true,
            ),
            (
                "run --grant-env A --grant-env B --max-output 1GiB --events - --attempt 2",
                true,
            ),
            ("argv -x", true),
            ("check --deny warnings", true),
            ("check --uncovered --deny never_selected", true),
            ("fmt --check a.vplan - --format json", true),
            ("diff a.json b.json --exit-code", true),
            ("diff --base main --strict --contract c", true),
            ("test a.test.vplan --filter x --list", true),
            ("test --min-coverage 80", true),
            ("status --require verified --records r", true),
            ("classify --command x --exit -1", true),
            ("recover --command a --command b --failed 2 --exit 1", true),
            // Everything else takes the long way.
            ("", false),
            ("-q explain", false),
            ("init --stdout", false),
            ("completions bash", false),
            ("help", false),
            ("explain --help", false),
            ("--version", false),
            ("explain --no-such-flag", false),
            ("test --min-coverage 101", false),
            ("test --filter x --min-coverage 1", false),
            ("explain --all --staged", false),
            ("plan --skip a", false),
            ("run --jobs 0", false),
            ("explian", false),
        ] {
            let words: Vec<OsString> = std::iter::once("vplan")
                .chain(line.split_whitespace())
                .map(Into::into)
                .collect();
            let short = CommandLine::read_directly(&words);
            assert_eq!(short.is_some(), direct, "{line}");
            let long = CommandLine::try_parse_from(&words);
            if let Some(short) = short {
                assert_eq!(
                    format!("{short:?}"),
                    format!("{:?}", long.unwrap()),
                    "{line}"
                );
            }
        }
    }
}
