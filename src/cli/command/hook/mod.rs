//! `vplan hook`: reads a coding agent's event and answers in that agent's format.

mod answer;
mod args;
mod install;
mod page;
mod settings;
mod stop;

use crate::command::answer::*;
use answer::HookOutput;
pub use args::{Agent, Hook};
use page::cut;
use serde::Deserialize;
use std::time::Duration;
use vplan_engine::agent::{Stopping, start};
use vplan_os::clock::Clock;
use vplan_os::input::standard_within;

/// Limit of an event, in bytes.
const MOST: usize = 4 << 20;

/// The time that an event may take to come: some agents do not close standard input.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest id of a session, in bytes.
const LONGEST: usize = 128;

/// The longest id of a subagent, in bytes: both are in the name of its subject.
const LONGEST_AGENT: usize = 100;

/// The name of subagents whose event has no id.
const UNNAMED: &str = "subagent";

/// The fields of an event that are read; it has others.
#[derive(Debug, Deserialize)]
struct Event {
    /// The subagent; absent of the main agent, and of older versions.
    #[serde(default)]
    agent_id: Option<String>,
    hook_event_name: String,
    session_id: String,
}

/// Answers an event, prints the settings, or looks at those that there are. `unreachable`: why the
/// directory of the repository cannot be entered.
///
/// # Errors
/// The input is not an event (exit 1). A stop is always answered.
pub fn run(
    global: &Global,
    args: &Hook,
    unreachable: Option<Failure>,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    let Agent::ClaudeCode = args.agent;
    let unreachable = match unreachable {
        Some(failure) if args.print || args.check => return Err(failure),
        unreachable => unreachable,
    };
    if args.print {
        return install::print(global, args, terminal);
    }
    if args.check {
        return install::check(global, args, terminal);
    }
    let clock = Clock::start();
    let Event {
        agent_id,
        hook_event_name,
        session_id,
    } = event()?;
    match hook_event_name.as_str() {
        "SessionStart" => match unreachable {
            Some(failure) => return Err(failure),
            None => start(&global.engine(), &session_id)?,
        },
        "Stop" | "SubagentStop" => {
            let subagent = agent_id.as_deref().unwrap_or(UNNAMED);
            let who = Stopping {
                session: &session_id,
                subagent: (hook_event_name == "SubagentStop").then_some(subagent),
            };
            let answer = stop::stop(global, args.timeout, who, unreachable, &clock);
            let answer = answer.unwrap_or_else(|failure| {
                let message = format!("vplan: {} is NOT verified", who.subject());
                HookOutput::block(&answer::of_failure(&failure), &message)
            });
            terminal.print_json(&answer);
        }
        other => {
            let message = format!(
                "the event `{}` is none that vplan answers",
                visible(cut(other, LONGEST))
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
    let ids = [
        (Some(&event.session_id), LONGEST),
        (event.agent_id.as_ref(), LONGEST_AGENT),
    ];
    for (id, most) in ids.into_iter().filter_map(|(id, most)| Some((id?, most))) {
        if !is_id(id.as_bytes(), most) {
            let shown = visible(cut(id, most));
            return Err(unknown(format!("`{shown}` is no id of a session"))
                .help("letters, digits, `-`, `_` and `.`"));
        }
    }
    Ok(event)
}

fn is_id(id: &[u8], most: usize) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    !id.is_empty() && id.len() <= most && !id.starts_with(b".") && id.iter().all(plain)
}

fn unknown(message: String) -> Failure {
    Failure::new(Exit::Internal, "vplan::hook::event", message)
}
