//! The arguments of `vplan hook`.

use clap::{Args, ValueEnum};
/// `vplan hook`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        vplan hook claude-code --print\n  \
        vplan hook claude-code --check\n\n\
        Exit codes: 0 answered, whether the agent may stop or not; 1 what came is no event that it knows; 2 usage; 40 the hook is not \
                        installed as it would be printed (`--check`). `vplan help integrations` has the rest.")]
pub struct Hook {
    /// The agent that sends the event.
    pub agent: Agent,
    /// Print the settings, and where they belong.
    #[arg(long, conflicts_with = "check")]
    pub print: bool,
    /// Verify the stops of subagents, too: each of them is a subject of its own.
    #[arg(long)]
    pub subagents: bool,
    /// Say whether what is installed is what would be printed, and whether an agent may change it.
    #[arg(long)]
    pub check: bool,
    /// The time after which the agent ends the hook and lets itself go, in seconds: the answer
    /// comes before that. Without it: the contract's budget and a minute, two minutes at least.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
}

/// The supported agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
}
