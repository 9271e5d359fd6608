//! Adds advice where a flag is another tool's word for something that vplan does in another way.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// Flags of other tools, and the advice about them.
struct Hint {
    /// Without hyphens at the beginning.
    flags: &'static [&'static str],
    /// The commands of vplan for which it is right.
    commands: &'static [&'static str],
    advice: &'static str,
}

/// The commands that plan a change.
const PLANNING: &[&str] = &["run", "fix", "loop", "plan", "explain"];

const HINTS: &[Hint] = &[
    Hint {
        flags: &["dry-run", "dryrun", "dry", "n", "just-print", "what-if"],
        commands: &["run", "loop"],
        advice: "`vplan explain` shows what would run, and why, and starts nothing",
    },
    Hint {
        flags: &["dry-run", "dryrun", "dry", "n"],
        commands: &["plan", "explain"],
        advice: "this command starts nothing: leave the flag out",
    },
    Hint {
        flags: &["dry-run", "dryrun", "dry", "n", "print"],
        commands: &["init", "import"],
        advice: "`--stdout` prints the contract instead of writing it",
    },
    Hint {
        flags: &["dry-run", "dryrun", "dry", "n", "diff"],
        commands: &["fmt"],
        advice: "`--check` shows what would change, and writes nothing",
    },
    Hint {
        flags: &[
            "fail-fast",
            "failfast",
            "bail",
            "exitfirst",
            "stop-on-failure",
            "x",
        ],
        commands: &["run"],
        advice: "`vplan run` does that already; `--keep-going` goes on after a failure",
    },
    Hint {
        flags: &[
            "no-fail-fast",
            "no-bail",
            "continue",
            "continue-on-error",
            "k",
        ],
        commands: PLANNING,
        advice: "`--keep-going` goes on after a failure",
    },
    Hint {
        flags: &[
            "affected",
            "changed-only",
            "only-changed",
            "modified",
            "uncommitted",
        ],
        commands: PLANNING,
        advice: "vplan does that already: only checks that the changed files ask for are run; `--base REV` names what the change is compared with",
    },
    Hint {
        flags: &[
            "since",
            "changed-since",
            "from",
            "from-ref",
            "against",
            "target-branch",
        ],
        commands: PLANNING,
        advice: "`--base REV` takes all changes since the merge base with REV",
    },
    Hint {
        flags: &["watch", "w", "watch-all", "watchAll"],
        commands: PLANNING,
        advice: "there is no watch mode: let a file watcher start `vplan run`, or `vplan loop --fix COMMAND` verify again after each repair",
    },
    Hint {
        flags: &["fix", "autofix", "apply-fixes"],
        commands: &["run", "plan", "explain"],
        advice: "`vplan fix` runs the `fix COMMAND` of what failed, and `vplan loop --fix COMMAND` has a command repair it; both verify again",
    },
    Hint {
        flags: &["all-files", "a", "everything"],
        commands: PLANNING,
        advice: "`--all` takes every tracked file for changed",
    },
    Hint {
        flags: &["files", "file", "f", "path", "paths"],
        commands: PLANNING,
        advice: "`--changed PATH…` names the changed files",
    },
    Hint {
        flags: &[
            "parallel",
            "concurrency",
            "p",
            "max-workers",
            "workers",
            "threads",
        ],
        commands: PLANNING,
        advice: "`--jobs N` runs up to N steps side by side, `--jobs auto` those that do not meet",
    },
    Hint {
        flags: &["filter", "grep", "check", "task", "step", "hook", "t"],
        commands: PLANNING,
        advice: "`--only NAME`, or `--only tag:NAME`, takes some of the checks that the change asks for",
    },
    Hint {
        // `plan` has one of its own, for shards.
        flags: &["target"],
        commands: &["explain", "run", "loop", "fix"],
        advice: "`--only NAME`, or `--only tag:NAME`, takes some of the checks that the change asks for",
    },
    Hint {
        flags: &["exclude", "except", "ignore"],
        commands: PLANNING,
        advice: "`--skip NAME --reason TEXT` leaves a check out, and the answer says so",
    },
    Hint {
        flags: &["timeout", "time-limit"],
        commands: PLANNING,
        advice: "`--budget DURATION` limits the whole run; the limit of one check is its `timeout` in the contract",
    },
    Hint {
        flags: &["fresh", "rerun", "skip-cache", "refresh"],
        commands: &["run"],
        advice: "`--no-cache` runs every step, whatever passed before",
    },
    Hint {
        flags: &["list", "l", "ls"],
        commands: PLANNING,
        advice: "`vplan explain --all` lists the checks, with the reason for each",
    },
];

/// Adds the advice about the unknown flag of an error, if there is any, in place of clap's own.
#[must_use]
pub fn advised(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let flag = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => flag,
        _ => return error,
    };
    let Some(advice) = words
        .iter()
        .skip(1)
        .filter_map(|word| word.to_str())
        .find_map(|command| advice(command, flag))
    else {
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
    let hint = HINTS
        .iter()
        .find(|hint| hint.commands.contains(&command) && hint.flags.contains(&name))?;
    Some(hint.advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_line::CommandLine;
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
        for hint in HINTS {
            for command in hint.commands {
                let known = flags(&all, command);
                for flag in hint.flags {
                    let hyphens = if flag.len() == 1 { "-" } else { "--" };
                    let word = format!("{hyphens}{flag}");
                    assert!(!known.contains(&word), "vplan {command} {word}");
                }
            }
        }
    }

    /// A hint names a flag either of the command at hand or behind a command of its own.
    #[test]
    fn every_flag_of_an_advice_exists() {
        let all = CommandLine::command();
        for hint in HINTS {
            for quoted in hint.advice.split('`').skip(1).step_by(2) {
                let mut words = quoted.split_whitespace().peekable();
                let named = words.next_if_eq(&"vplan").and_then(|_| words.next());
                let commands = named.map_or(hint.commands.to_vec(), |name| vec![name]);
                let wanted: Vec<&str> = words.filter(|w| w.starts_with('-')).collect();
                for command in commands {
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
            ("-q run --all-files", "every tracked file"),
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
