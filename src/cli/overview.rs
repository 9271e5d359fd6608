//! Arranges the help: the commands in groups, and what `-h` shows of a command that has more
//! options than fit on a screen.

use clap::builder::StyledStr;
use clap::{Arg, Command};
use vplan_base::word::has_word;

/// The groups of commands, in the order of the help. Every command is in one of them.
pub const GROUPS: [(&str, &str); 5] = [
    ("Daily", "init check explain run feedback status log loop"),
    ("Contract", "import fmt test diff audit lock baseline std"),
    ("Pipelines", "fix plan emit merge gate hook"),
    ("Records", "runs details report stats verify gc"),
    (
        "Help, tools",
        "tour help man completions schema recover classify argv step",
    ),
];

/// The arguments that `-h` shows of a command, by their ids; of all other commands it shows all
/// arguments. The global ones are [`GLOBAL`].
const USUAL: [(&str, &str); 11] = [
    ("audit", "names from_records write deny machine role"),
    ("emit", "target shards base_from output check"),
    ("explain", "name only changed base staged all role"),
    ("fix", "names only jobs changed base staged all role"),
    ("lock", "check record timeout"),
    ("loop", "fix max_rounds names only base all subject"),
    ("merge", "reports expect require junit sarif"),
    ("plan", "output only changed base staged all role"),
    ("recover", "command failed exit stdout stderr plan failure"),
    ("run", "names only jobs keep_going changed base staged all"),
    ("status", "require base all subject records"),
];

/// The global arguments that `-h` shows.
const GLOBAL: &str = "directory format quiet help";

/// Arranges the help of the whole command line and of its commands.
pub fn arranged(all: Command) -> Command {
    let header = all.get_styles().get_header();
    // Clap has no groups of commands, and no headings where a template is.
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{{before-help}}{header}Everywhere:{header:#}\n\
         {{options}}{{after-help}}"
    );
    let (short, long) = (list(&all, false), list(&all, true));
    let topics = all.get_after_help().cloned().unwrap_or_default();
    all.mut_subcommands(usual)
        .mut_args(|arg| hide_unless_usual(arg, GLOBAL))
        .help_template(template)
        .before_help(short)
        .before_long_help(long)
        .after_help(None::<&str>)
        .after_long_help(topics)
}

/// Takes out of the short help of a command what is not usual: arguments, and what follows them.
fn usual(command: Command) -> Command {
    let arguments = USUAL.iter().find(|(name, _)| *name == command.get_name());
    let command = match arguments {
        Some((_, usual)) => command.mut_args(|arg| hide_unless_usual(arg, usual)),
        None => command,
    };
    let command = command.mut_subcommands(usual);
    match command.get_after_help().cloned() {
        Some(rest) => command.after_help(None::<&str>).after_long_help(rest),
        None => command,
    }
}

/// Leaves an argument in the short help only if it is one of these.
fn hide_unless_usual(arg: Arg, usual: &str) -> Arg {
    let hidden = !has_word(usual, arg.get_id().as_str());
    arg.hide_short_help(hidden)
}

/// Lists the commands in their groups: the daily ones with what they do, in the long form all.
fn list(all: &Command, long: bool) -> StyledStr {
    let header = all.get_styles().get_header();
    let literal = all.get_styles().get_literal();
    let line = |name: &str| {
        let about = all.find_subcommand(name).and_then(Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        format!("  {literal}{name:<11}{literal:#}  {about}\n")
    };
    let mut text = String::new();
    for (number, (title, commands)) in GROUPS.iter().enumerate() {
        if long || number == 0 {
            let lines: String = commands.split(' ').map(line).collect();
            text += &format!("{header}{title}:{header:#}\n{lines}\n");
            continue;
        }
        if number == 1 {
            text +=
                &format!("{header}More, on each of which `vplan --help` has a line:{header:#}\n");
        }
        // A line begins with a blank, because clap finds no line end before a change of style.
        text += &format!(
            "  {title:<11}  {literal}{}{literal:#}\n",
            commands.replace(' ', ", ")
        );
    }
    text.trim_end().to_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::CommandLine;
    use clap::CommandFactory as _;
    use std::collections::BTreeSet;

    /// The columns and lines of a small terminal; a shell's prompt takes one more line.
    const COLUMNS: usize = 80;
    const LINES: usize = 24;
    /// The lines of what is not used daily.
    const MORE_LINES: usize = 30;

    fn every(command: &Command, path: &str, look: &mut dyn FnMut(&str, &Command)) {
        look(path, command);
        for nested in command.get_subcommands() {
            every(nested, &format!("{path} {}", nested.get_name()), look);
        }
    }

    fn built() -> Command {
        let mut all = CommandLine::command().term_width(COLUMNS);
        all.build();
        all
    }

    /// Limit of commands.
    const MOST: usize = 41;

    #[test]
    fn every_command_is_in_one_of_five_groups_and_there_are_not_too_many() {
        let all = built();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.split(' '))
            .collect();
        let known: BTreeSet<&str> = all.get_subcommands().map(Command::get_name).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(grouped.len(), known.len(), "none is in two groups");
        assert!(known.len() <= MOST, "{} commands", known.len());
        assert_eq!(GROUPS[0].1.split(' ').count(), 8, "the daily ones");
        let (short, long) = (list(&all, false).to_string(), list(&all, true).to_string());
        let wide = long.lines().find(|line| line.chars().count() > COLUMNS);
        assert_eq!(wide, None);
        for name in grouped {
            assert!(
                short.contains(name) && long.contains(&format!("\n  {name} ")),
                "{name}"
            );
        }
    }

    #[test]
    fn the_short_help_of_every_command_fits_on_a_screen() {
        every(&built(), "vplan", &mut |path, command| {
            let mut command = command.clone().term_width(COLUMNS);
            let help = command.render_help().to_string();
            let wide = help.lines().find(|line| line.chars().count() > COLUMNS);
            assert_eq!(wide, None, "{path}");
            let daily = |name: &str| path == format!("vplan {name}");
            let most = if GROUPS[0].1.split(' ').any(daily) {
                LINES
            } else {
                MORE_LINES
            };
            assert!(
                help.lines().count() <= most,
                "{path}: {}\n{help}",
                help.lines().count()
            );
        });
    }

    #[test]
    fn the_long_help_has_every_argument_and_the_short_one_what_it_promises() {
        every(&built(), "vplan", &mut |path, command| {
            let help = command.clone().render_long_help().to_string();
            // `loop` and `fix` take no plan file, and hide the flag, so that its error says why.
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                if let Some(long) = arg.get_long() {
                    assert!(help.contains(&format!("--{long}")), "{path} --{long}");
                }
                let said = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(
                    !said.is_empty() && !said.ends_with('.'),
                    "{path} {}: {said}",
                    arg.get_id()
                );
            }
        });
        for (name, ids) in USUAL {
            let all = built();
            let command = all.find_subcommand(name).unwrap();
            for id in ids.split(' ') {
                let shown = |a: &Arg| a.get_id() == id && !a.is_hide_short_help_set();
                assert!(command.get_arguments().any(shown), "{name} {id}");
            }
        }
    }
}
