//! `vplan hook`: reads a coding agent's event and answers in that agent's format.

mod answer;
mod install;
mod page;
mod settings;
mod stop;

use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::Global;
use crate::cli::terminal::Terminal;
use crate::effect::os::clock::Clock;
use crate::effect::os::input::standard_within;
use crate::engine::Failure;
use crate::engine::agent::start;
use answer::HookOutput;
use clap::{Args, ValueEnum};
use page::cut;
use serde::Deserialize;
use std::time::Duration;

/// The largest event that is read, in bytes.
const MOST: usize = 4 << 20;
/// The time that an event may take to come: some agents do not close standard input.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest id of a session, in bytes.
const LONGEST: usize = 128;

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

/// The fields of an event that are read; it has others.
#[derive(Debug, Deserialize)]
struct Event {
    hook_event_name: String,
    session_id: String,
}

/// Answers an event, prints the settings, or looks at those that there are.
///
/// # Errors
/// The input is no event (exit 1). A stop is always answered.
pub fn run(global: &Global, args: &Hook, terminal: &Terminal) -> Result<u8, Failure> {
    let Agent::ClaudeCode = args.agent;
    if args.print {
        return install::print(global, args.timeout, terminal);
    }
    if args.check {
        return install::check(global, args.timeout, terminal);
    }
    let clock = Clock::start();
    let Event {
        hook_event_name,
        session_id,
    } = event()?;
    match hook_event_name.as_str() {
        "SessionStart" => start(&global.engine(), &session_id)?,
        "Stop" | "SubagentStop" => {
            let answer = stop::stop(global, args.timeout, &session_id, &clock);
            let answer =
                answer.unwrap_or_else(|failure| HookOutput::block(&answer::of_failure(&failure)));
            terminal.print_json(&answer);
        }
        other => {
            let message = format!(
                "the event `{}` is none that vplan answers",
                visible(cut(other, LONGEST).as_bytes())
            );
            return Err(unknown(message).help(
                "`SessionStart`, `Stop`, `SubagentStop`: see `vplan hook claude-code --print`",
            ));
        }
    }
    Ok(Exit::Success.code())
}

/// Reads the event from standard input.
fn event() -> Result<Event, Failure> {
    let bytes = standard_within(MOST, PATIENCE)
        .map_err(|e| unknown(format!("the event cannot be read: {e}")))?;
    let event: Event = serde_json::from_slice(&bytes).map_err(|e| {
        unknown(format!("standard input holds no event of Claude Code: {e}"))
            .help("an agent starts this command; `vplan hook claude-code --print` shows how")
    })?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let id = event.session_id.as_bytes();
    if id.is_empty() || id.len() > LONGEST || id.starts_with(b".") || !id.iter().all(|b| plain(*b))
    {
        let shown = visible(cut(&event.session_id, LONGEST).as_bytes());
        return Err(unknown(format!("`{shown}` is no id of a session"))
            .help("letters, digits, `-`, `_` and `.`"));
    }
    Ok(event)
}

fn unknown(message: String) -> Failure {
    Failure::new(Exit::Internal, "vplan::hook::event", message)
}
