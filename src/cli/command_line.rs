//! Reads the command line into typed arguments.

use super::args::{
    Argv, CheckArgs, Classify, Completions, Explain, Global, Help, Init, Man, PlanArgs, Recover,
    RunArgs, StepOrder, Tour, verdicts,
};
use super::command::diff::Diff;
use super::command::merge::MergeArgs;
use super::overview::arranged;
use clap::{Args, CommandFactory, FromArgMatches as _, Parser, Subcommand};
use std::ffi::OsString;

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

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "vplan",
    version,
    about = "Which checks does this change need? Plan them, explain them, run them, and believe the answer.",
    disable_help_flag = true,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = verdicts() + ABOUT,
    defer(arranged)
)]
pub struct CommandLine {
    /// Flags that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl CommandLine {
    /// Reads a command line. `color` says how clap's own words are to look, should it come to that.
    ///
    /// # Errors
    /// The message of clap: an error, help or version.
    pub fn read(
        words: Vec<OsString>,
        color: fn(&[OsString]) -> clap::ColorChoice,
    ) -> Result<Self, clap::Error> {
        if let Some(line) = Self::read_directly(&words) {
            return Ok(line);
        }
        let matches = Self::command()
            .color(color(&words))
            .try_get_matches_from(&words)
            .map_err(|error| super::hints::advised(error, &words))?;
        Self::from_arg_matches(&matches)
    }

    /// Reads a command line that begins with a subcommand and has nothing wrong with it. Only that
    /// subcommand is built, a tenth of all words that there are; whatever is not plain is read,
    /// and answered, by all of them.
    fn read_directly(words: &[OsString]) -> Option<Self> {
        let name = words.get(1)?.to_str()?;
        let augment: fn(clap::Command) -> clap::Command = match name {
            "argv" => Argv::augment_args,
            "check" => CheckArgs::augment_args,
            "classify" => Classify::augment_args,
            "diff" => Diff::augment_args,
            "explain" => Explain::augment_args,
            "fmt" => super::command::fmt::Fmt::augment_args,
            "plan" => PlanArgs::augment_args,
            "recover" => Recover::augment_args,
            "run" => RunArgs::augment_args,
            "status" => super::command::status::StatusArgs::augment_args,
            "test" => super::command::test::TestArgs::augment_args,
            _ => return None,
        };
        let subcommand = augment(clap::Command::new(name.to_owned()));
        let mut all = Global::augment_args(clap::Command::new("vplan"))
            .disable_help_flag(true)
            .subcommand(subcommand);
        let read = all.try_get_matches_from_mut(words).ok()?;
        // The process lives shortly; to give back hundreds of small pieces of memory would only
        // take time.
        std::mem::forget(all);
        Self::from_arg_matches(&read).ok()
    }
}

/// Subcommands, in the order of the help: of the contract, of the plan, of runs, of records, of
/// rounds; tools.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a contract from what the repository declares.
    Init(Init),
    /// Convert another tool's configuration into a contract.
    ///
    /// Known are workflows of CI, hook configurations, task runners, verify.contract.json, runr,
    /// ralph-tui and acode.
    Import(super::command::import::ImportArgs),
    /// Show everything that is wrong with the contract.
    Check(CheckArgs),
    /// Write the contract in its one layout.
    Fmt(super::command::fmt::Fmt),
    /// Run the tests of the contract: it must require what it should.
    Test(super::command::test::TestArgs),
    /// Compare two plans or contracts: what differs, what weakens.
    Diff(Diff),
    /// Fetch the contract's git imports, and pin them in the lock.
    ///
    /// What is not imported any more is taken out of it.
    Lock(super::command::lock::LockArgs),
    /// Hold the contract against what its checks read and write.
    ///
    /// The checks run under observation: each file that one reads, and whose change would not run it,
    /// is found, and `--write` writes into the contract what is missing.
    Audit(super::command::audit::Audit),
    /// Record what was wrong before, so that only what is new fails.
    ///
    /// The file beside the contract counts once it is at the base of a change.
    Baseline(super::command::baseline::BaselineArgs),
    /// List the contracts shipped with vplan, or print one.
    ///
    /// `import "std:NAME@VERSION"` imports one.
    Std(super::command::std::Std),
    /// Show what would run for this change and what would not, and why.
    Explain(Explain),
    /// Print the plan for this change.
    Plan(PlanArgs),
    /// Verify this change: plan its checks, run them, report.
    ///
    /// Where the plan was wrong, and not the change, the plan is repaired.
    Run(Box<RunArgs>),
    /// Have the contract's fixes mend what fails, and verify again.
    ///
    /// What mends a check is its `fix COMMAND`.
    Fix(Box<super::command::fix::FixArgs>),
    /// Verify, have a command repair what failed, and verify again.
    ///
    /// That goes on until there is a decision.
    Loop(Box<super::command::r#loop::Loop>),
    /// Write what runs a plan in shards on GitHub, GitLab or Slurm.
    ///
    /// One job plans, each shard is a job, and one more merges what they reported: its end is the
    /// verdict.
    Emit(super::command::emit::Emit),
    /// Join the reports of all shards of a plan into one verdict.
    Merge(MergeArgs),
    /// Say what failed, and what to do about it: for people and agents.
    Feedback(super::command::feedback::FeedbackArgs),
    /// Show how the latest run ended, and whether that is what is here.
    Status(super::command::status::StatusArgs),
    /// List the recorded runs, newest first.
    Runs(super::command::runs::Runs),
    /// Show what each check of a run did, and why it was there.
    Details(super::command::details::Details),
    /// Print what a check wrote.
    Log(super::command::log::LogArgs),
    /// Show what happened in a run, in order.
    Report(super::command::report::ReportArgs),
    /// Show how often checks pass over many runs, and how long they take.
    Stats(super::command::stats::StatsArgs),
    /// Check offline that vplan wrote a report, and of this tree.
    Verify(super::command::verify::Verify),
    /// Remove the records of old runs.
    Gc(super::command::gc::Gc),
    /// Record rounds of work by hand, and show their state.
    Gate(super::command::gate::Gate),
    /// Answer a coding agent's hooks: it may stop when it is verified.
    Hook(super::command::hook::Hook),
    /// Repair a plan, or commands, that failed because of the plan.
    Recover(Recover),
    /// Say why a command failed.
    Classify(Classify),
    /// Execute one step that another vplan has ordered.
    Step(StepOrder),
    /// Read a command text as vplan does: environment and arguments.
    Argv(Argv),
    /// Print the JSON Schema of a document of vplan, or list them.
    Schema(super::command::schema::Schema),
    /// Print a script that completes command lines in a shell.
    Completions(Completions),
    /// Print a manual page, or write those of all commands.
    Man(Man),
    /// Print help on a command, or on a topic.
    ///
    /// Topics are `language`, `environment`, `events`, `integrations`, `judge`, `proposer`,
    /// `reference`, `rounds`, `security`, `tour`.
    Help(Help),
    /// Try vplan: run the session of `help tour`, in a folder of its own.
    ///
    /// The folder is temporary, and gone afterwards; nothing else is touched.
    Tour(Tour),
}

impl CommandLine {
    /// Makes the folders in which vplan keeps things independent of the working directory.
    pub(crate) fn keep_folders(&mut self) {
        let records = match &mut self.command {
            Command::Run(run) => run.records.as_mut(),
            Command::Fix(fix) => fix.run.records.as_mut(),
            Command::Audit(audit) => audit.records.as_mut(),
            _ => None,
        };
        let own = [
            self.global.state_dir.as_mut(),
            self.global.cache_dir.as_mut(),
            records,
        ];
        for path in own.into_iter().flatten() {
            if let Ok(whole) = std::path::absolute(&*path) {
                *path = whole;
            }
        }
    }
}

impl Command {
    /// Returns where the records of a run are kept, if the command line says so.
    pub fn records(&self) -> Option<&std::path::Path> {
        match self {
            Command::Run(run) => run.records.as_deref(),
            Command::Fix(fix) => fix.run.records.as_deref(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of words, and whether it is read the short way.
    const LINES: &[(&str, bool)] = &[
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
        ("check --pure --deny warnings", true),
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
    ];

    #[test]
    fn the_short_way_reads_what_the_long_way_reads() {
        for &(line, direct) in LINES {
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
