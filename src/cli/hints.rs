//! Adds advice where a flag is another tool's word for something that vplan does in another way.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use vplan_base::table;
use vplan_base::word::has_word;

/// `hints.table`: flags of other tools, the commands for which the advice is right, and the advice.
fn hints() -> impl Iterator<Item = [&'static str; 3]> {
    table::rows(include_str!("hints.table"))
}

/// Adds the advice about the unknown flag of an error, if there is any, in place of clap's own.
pub fn advised(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let flag = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => flag,
        _ => return error,
    };
    let mut commands = words.iter().skip(1).filter_map(|word| word.to_str());
    let Some(advice) = commands.find_map(|command| advice(command, flag)) else {
        return error;
    };
    error.remove(ContextKind::SuggestedArg);
    error.insert(
        ContextKind::Suggested,
        ContextValue::StyledStrs(vec![advice.into()]),
    );
    error
}

fn advice(command: &str, flag: &str) -> Option<&'static str> {
    let name = flag.split('=').next()?.trim_start_matches('-');
    let is_right =
        |[flags, commands, _]: &[&str; 3]| has_word(commands, command) && has_word(flags, name);
    hints().find(is_right).map(|[_, _, advice]| advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::CommandLine;
    use clap::CommandFactory as _;

    /// The flags of a command, with `--` or `-`, and those that every command has.
    fn flags(all: &clap::Command, name: &str) -> Vec<String> {
        let command = all.find_subcommand(name).unwrap();
        let own = command.get_arguments().chain(all.get_arguments());
        own.flat_map(|a| {
            let long = a.get_long().map(|l| format!("--{l}"));
            long.into_iter()
                .chain(a.get_short().map(|s| format!("-{s}")))
        })
        .collect()
    }

    #[test]
    fn no_hint_is_about_a_flag_that_there_is() {
        let all = CommandLine::command();
        assert_eq!(hints().count(), 19);
        for [others, commands, _] in hints() {
            for command in commands.split(' ') {
                let known = flags(&all, command);
                for flag in others.split(' ') {
                    let hyphens = if flag.len() == 1 { "-" } else { "--" };
                    let word = format!("{hyphens}{flag}");
                    assert!(!known.contains(&word), "vplan {command} {word}");
                }
            }
        }
    }

    /// A hint names a flag of the current command, or of the `vplan` command that it quotes.
    #[test]
    fn every_flag_of_an_advice_exists() {
        let all = CommandLine::command();
        for [_, commands, advice] in hints() {
            for quoted in advice.split('`').skip(1).step_by(2) {
                let mut words = quoted.split_whitespace().peekable();
                let named = words.next_if_eq(&"vplan").and_then(|_| words.next());
                let commands = named.unwrap_or(commands);
                let wanted: Vec<&str> = words.filter(|w| w.starts_with('-')).collect();
                for command in commands.split(' ') {
                    let known = flags(&all, command);
                    for flag in &wanted {
                        assert!(known.iter().any(|k| k == flag), "vplan {command} {flag}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_hint_is_said_instead_of_what_clap_would_say() {
        for (line, said) in [
            ("run --dry-run", "vplan explain"),
            ("run -n", "vplan explain"),
            ("--dry-run run", "vplan explain"),
            ("run unit --fail-fast", "--keep-going"),
            ("run --affected", "--base REV"),
            ("explain --since=main", "--base REV"),
            ("run --watch", "file watcher"),
            ("loop --fix x --watch", "file watcher"),
            ("-q run --all-files", "every file of the tree"),
            ("init --dry-run", "--stdout"),
        ] {
            let words: Vec<OsString> = std::iter::once("vplan")
                .chain(line.split_whitespace())
                .map(Into::into)
                .collect();
            let error = CommandLine::read(words, |_| clap::ColorChoice::Never).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(said), "{line}: {text}");
            assert!(!text.contains("as a value"), "{line}: {text}");
        }
    }

    #[test]
    fn other_words_get_what_clap_says() {
        for (line, said) in [
            ("run --keep-goin", "--keep-going"),
            ("run --no-such-flag", "as a value"),
            ("gate --dry-run", "--dry-run"),
        ] {
            let words: Vec<OsString> = std::iter::once("vplan")
                .chain(line.split_whitespace())
                .map(Into::into)
                .collect();
            let error = CommandLine::read(words, |_| clap::ColorChoice::Never).unwrap_err();
            assert!(error.to_string().contains(said), "{line}: {error}");
        }
    }
}
