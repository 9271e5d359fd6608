//! `vplan help`: prints help on a command or on a topic.

use super::answer::*;
use crate::args::Help;
use crate::command_line::CommandLine;
use clap::CommandFactory as _;

/// Topics and their texts.
const TOPICS: [(&str, &str); 11] = [
    ("language", vplan_lang::GRAMMAR),
    ("environment", vplan_os::environment::ALLOW_LIST),
    ("events", vplan_run::journal::EVENTS),
    ("integrations", include_str!("../integrations.md")),
    ("judge", vplan_check::judge::PROTOCOL),
    ("proposer", vplan_plan::proposal::PROTOCOL),
    ("reference", include_str!("../reference.md")),
    ("rounds", vplan_ledger::ROUNDS),
    ("sandbox", vplan_check::confine::PAGE),
    ("security", include_str!("../security.md")),
    ("tour", TOUR),
];

/// The session that `vplan tour` runs.
pub(super) const TOUR: &str = include_str!("../tour.md");

/// Returns the names of all topics.
pub(crate) fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|(name, _)| *name)
}

/// Prints help.
///
/// # Errors
/// An unknown topic.
pub fn run(args: &Help, terminal: &Terminal) -> Result<u8, Failure> {
    let topic = args.topic.as_deref();
    match TOPICS.iter().find(|(name, _)| Some(*name) == topic) {
        Some((_, text)) => terminal.print(text),
        None => {
            let help = subcommand(topic)?.render_long_help();
            terminal.print(&if terminal.color {
                help.ansi().to_string()
            } else {
                help.to_string()
            });
        }
    }
    Ok(Exit::Success.code())
}

/// The clap command of a subcommand, or of vplan itself.
pub(super) fn subcommand(name: Option<&str>) -> Result<clap::Command, Failure> {
    let mut all = CommandLine::command();
    all.build();
    let Some(name) = name else { return Ok(all) };
    let found = all.get_subcommands().find(|c| c.get_name() == name);
    found.cloned().ok_or_else(|| {
        let commands = all.get_subcommands().map(clap::Command::get_name);
        let names = commands.chain(TOPICS.iter().map(|(topic, _)| *topic));
        let help = suggest(name, names, "`vplan help` lists them all");
        let message = format!("there is no command or topic `{}`", visible(name));
        Failure::usage("vplan::usage::unknown_topic", message).help(help)
    })
}
