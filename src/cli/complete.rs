//! Completes a command line for a shell: commands and options, and what the repository gives their
//! values, such as the names of checks.
//!
//! An invalid contract or damaged records give no candidates, and no message.

use super::args::Global;
use super::command::{help, schema};
use super::command_line::CommandLine;
use super::history::{Records, ids, open};
use clap::{Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _, ValueHint};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate, complete};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;
use vplan_base::jobs::Jobs;
use vplan_contract::{BUILT_IN_ROLES, Contract};
use vplan_front::std::{SHIPPED, Shipped};
use vplan_os::completing::{CompletionQuestion, VARIABLE};
use vplan_repo::load;
use vplan_run::run_summary::short;

/// Maximum number of offered runs, the newest ones.
const RUNS: usize = 50;

/// The source of an argument's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The names of checks.
    Check,
    /// The names of checks, and `tag:NAME`.
    Selector,
    /// The roles of the contract.
    Role,
    /// The recorded runs.
    Run,
    /// The topics of help, and the commands.
    Topic,
    /// The names of commands.
    Command,
    /// The shipped contracts.
    Std,
    /// The documents that have a schema.
    Document,
    /// The values for a number of parallel steps.
    Jobs,
    /// Files.
    Path,
}

/// The arguments of commands whose values the repository or vplan knows: command with its
/// subcommand (`*` is any), argument, source.
const SOURCES: [(&str, &str, Source); 23] = [
    ("run", "names", Source::Selector),
    ("loop", "names", Source::Selector),
    ("fix", "names", Source::Selector),
    ("explain", "name", Source::Check),
    ("log", "name", Source::Check),
    ("log", "run", Source::Run),
    ("details", "run", Source::Run),
    ("report", "run", Source::Run),
    ("feedback", "run", Source::Run),
    ("verify", "report", Source::Run),
    ("help", "topic", Source::Topic),
    ("man", "command", Source::Command),
    ("std", "name", Source::Std),
    ("schema", "name", Source::Document),
    ("baseline record", "checks", Source::Check),
    ("baseline record", "run", Source::Run),
    ("baseline show", "checks", Source::Check),
    ("*", "only", Source::Selector),
    ("*", "skip", Source::Check),
    ("*", "check", Source::Check),
    ("*", "role", Source::Role),
    ("*", "jobs", Source::Jobs),
    ("*", "changed", Source::Path),
];

/// What zsh needs where the script is a file in its `fpath`, which it reads at the first question.
const ZSH_AUTOLOADED: &str = "\nif [ \"${funcstack[1]-}\" = \"_vplan\" ]; then\n    _clap_dynamic_completer_vplan \"$@\"\nfi\n";

/// The line of clap's script for bash that takes the word under the cursor for the last one.
const BASH_WORD: &str = "words[COMP_CWORD]=\"$2\"";
/// The same, without losing a `:` or `=` in its place.
const BASH_WORD_OR_SIGN: &str =
    "[[ \"${words[COMP_CWORD]}\" == [:=]* ]] || words[COMP_CWORD]=\"$2\"";

/// Returns the script that completes in a shell. It asks `vplan` each time.
///
/// # Errors
/// The script cannot be made.
pub fn script(shell: Shell) -> io::Result<String> {
    let mut text = Vec::new();
    let completer = completer(shell).unwrap_or(&Bash);
    completer.write_registration(VARIABLE, "vplan", "vplan", "vplan", &mut text)?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if shell == Shell::Zsh {
        text.push_str(ZSH_AUTOLOADED);
    }
    // After a `:` or `=`, bash gives an empty word, though it counts the sign as a word.
    Ok(text.replace(BASH_WORD, BASH_WORD_OR_SIGN))
}

fn completer(shell: Shell) -> Option<&'static dyn EnvCompleter> {
    Some(match shell {
        Shell::Bash => &Bash,
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::PowerShell => &Powershell,
        Shell::Zsh => &Zsh,
        _ => return None,
    })
}

/// Answers the question of a completion function, in its shell's form.
///
/// # Errors
/// The shell is unknown, or there is nothing to complete.
pub fn answer(question: &CompletionQuestion) -> io::Result<Vec<u8>> {
    let mut words = question.words.clone();
    let (mut index, mut prefix) = (question.index, 0);
    if question.shell == "bash" {
        (words, index, prefix) = joined(&question.words, question.index);
    }
    let mut all = with_sources(CommandLine::command(), &Place::parse(&words));
    let here = std::path::absolute(".").ok();
    let mut text = Vec::new();
    if question.shell == "bash" {
        let found = complete(&mut all, words, index, here.as_deref())?;
        let value = |candidate: &CompletionCandidate| {
            Some(candidate.get_value().to_str()?.get(prefix..)?.to_owned())
        };
        let values: Vec<String> = found.iter().filter_map(value).collect();
        text = values.join(&question.separator).into_bytes();
    } else {
        let shells: [&dyn EnvCompleter; 4] = [&Elvish, &Fish, &Powershell, &Zsh];
        let shell = shells.into_iter().find(|shell| shell.is(&question.shell));
        let shell = shell.ok_or_else(|| io::Error::other("the shell is unknown"))?;
        shell.write_complete(&mut all, words, here.as_deref(), &mut text)?;
    }
    Ok(text)
}

/// Joins the words that bash takes apart at `:` and `=`. Returns with them the number of the word
/// that is completed, and how much of it bash has already.
fn joined(words: &[OsString], index: usize) -> (Vec<OsString>, usize, usize) {
    let breaks = |word: &OsString| {
        let text = word.as_encoded_bytes();
        !text.is_empty() && text.iter().all(|byte| matches!(byte, b':' | b'='))
    };
    let mut whole: Vec<OsString> = Vec::new();
    let (mut at, mut before, mut goes_on) = (0, 0, false);
    for (number, word) in words.iter().enumerate() {
        let is_break = number > 0 && breaks(word);
        match whole.last_mut().filter(|_| is_break || goes_on) {
            Some(last) => {
                let had = last.len();
                last.push(word);
                if number == index {
                    before = if is_break { last.len() } else { had };
                }
            }
            None => whole.push(word.clone()),
        }
        if number == index {
            at = whole.len() - 1;
        }
        goes_on = is_break;
    }
    // The word after a break is new and empty: it belongs to what is before it.
    if index >= words.len() {
        at = whole.len();
        whole.push(OsString::new());
    }
    (whole, at, before)
}

/// The repository that a command line is about.
#[derive(Debug)]
struct Place {
    global: Option<Global>,
    records: Records,
}

impl Place {
    /// Reads a command line that is not complete, as far as it goes.
    fn parse(words: &[OsString]) -> Arc<Self> {
        let all = CommandLine::command().ignore_errors(true);
        let read = all.try_get_matches_from(words).ok();
        let read = read.as_ref();
        let global = read.and_then(|found| Global::from_arg_matches(found).ok());
        // A folder that is not there has nothing to offer.
        let global = global.filter(|global| {
            let dir = global.directory.as_deref();
            dir.is_none_or(|dir| load::enter(dir).is_ok())
        });
        let own = read.and_then(ArgMatches::subcommand);
        let records = own.and_then(|(_, own)| own.try_get_one("records").ok()?.cloned());
        Arc::new(Self {
            global,
            records: Records { records },
        })
    }

    fn contract(&self) -> Option<Contract> {
        let engine = self.global.as_ref()?.engine();
        let site = engine.locate().ok()?;
        engine.load_contract(&site).ok()?.contract
    }

    fn candidates(&self, source: Source) -> Vec<CompletionCandidate> {
        let found = match source {
            Source::Check => self.checks(false),
            Source::Selector => self.checks(true),
            Source::Role => self.roles(),
            Source::Run => self.runs(),
            Source::Topic => {
                let topics: BTreeSet<&str> = help::topics().collect();
                let others = commands().filter(|command| {
                    let name = command.get_value().to_str();
                    name.is_none_or(|name| !topics.contains(name))
                });
                plain(topics.iter().copied()).chain(others).collect()
            }
            Source::Command => commands().collect(),
            Source::Std => {
                let name = |std: &Shipped| format!("{}@{}", std.name, std.version);
                let all = SHIPPED.iter();
                all.map(|std| candidate(name(std), std.description()))
                    .collect()
            }
            Source::Document => plain(schema::names()).collect(),
            Source::Jobs => plain([Jobs::AUTO]).collect(),
            Source::Path => Vec::new(),
        };
        let found = found.into_iter().filter(|one| is_plain(one.get_value()));
        let found = found.enumerate().map(|(n, one)| one.display_order(Some(n)));
        found.collect()
    }

    fn checks(&self, tags: bool) -> Vec<CompletionCandidate> {
        let Some(contract) = self.contract() else {
            return Vec::new();
        };
        let checks = contract.checks.iter();
        let tags = checks.clone().filter(|_| tags);
        let tags: BTreeSet<&String> = tags.flat_map(|check| &check.tags).collect();
        let tags = tags
            .iter()
            .map(|tag| candidate(format!("tag:{tag}"), "tag"));
        let checks = checks.map(|check| candidate(check.id.clone(), check.kind.verb()));
        checks.chain(tags).collect()
    }

    fn roles(&self) -> Vec<CompletionCandidate> {
        match self.contract() {
            Some(contract) => plain(contract.roles.keys().map(String::as_str)).collect(),
            None => plain(BUILT_IN_ROLES).collect(),
        }
    }

    /// The newest runs, by their short names.
    fn runs(&self) -> Vec<CompletionCandidate> {
        let global = self.global.as_ref();
        let Some((_, history)) = global.and_then(|global| open(global, &self.records).ok()) else {
            return Vec::new();
        };
        let all = ids(&history).unwrap_or_default();
        let latest = ["latest", "latest~1"].into_iter().take(all.len());
        let named = all.iter().take(RUNS);
        let named = named.map(|id| candidate(short(id).to_owned(), id.get(..15).unwrap_or(id)));
        plain(latest).chain(named).collect()
    }
}

fn plain<'a>(
    names: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = CompletionCandidate> {
    names.into_iter().map(CompletionCandidate::new)
}

fn candidate(name: String, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(name).help(Some(help.to_owned().into()))
}

fn commands() -> impl Iterator<Item = CompletionCandidate> {
    let all = CommandLine::command();
    let candidate = |command: &Command| CompletionCandidate::new(command.get_name());
    let all: Vec<_> = all.get_subcommands().map(candidate).collect();
    all.into_iter()
}

/// Whether a shell reads a candidate as one word that means itself: it puts it into a command line
/// as it is.
fn is_plain(value: &OsStr) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:@~".contains(c);
    let text = value.to_str();
    text.is_some_and(|text| !text.starts_with('-') && text.chars().all(is_plain))
}

/// Gives the arguments of commands their sources.
fn with_sources(all: Command, place: &Arc<Place>) -> Command {
    all.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        command
            .mut_args(|arg| with_source(&name, arg, place))
            .mut_subcommands(|nested| {
                let name = format!("{name} {}", nested.get_name());
                nested.mut_args(|arg| with_source(&name, arg, place))
            })
    })
}

fn with_source(command: &str, arg: Arg, place: &Arc<Place>) -> Arg {
    let takes_value = arg.get_action().takes_values();
    let found = SOURCES
        .iter()
        .find(|(of, id, _)| arg.get_id() == id && (*of == command || *of == "*") && takes_value);
    match found {
        None => arg,
        Some((_, _, Source::Path)) => arg.value_hint(ValueHint::AnyPath),
        Some((_, _, source)) => {
            let (place, source) = (Arc::clone(place), *source);
            arg.add(ArgValueCandidates::new(move || place.candidates(source)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_that_of_an_argument() {
        let all = CommandLine::command();
        for (name, id, source) in SOURCES {
            let has = |command: &Command| {
                let mut args = command.get_arguments().filter(|a| a.get_id() == id);
                args.any(|a| a.get_action().takes_values())
            };
            let found = all.get_subcommands().any(|command| {
                let own = command.get_name();
                let is_nested = |nested: &Command| format!("{own} {}", nested.get_name()) == name;
                (name == "*" || own == name) && has(command)
                    || command.get_subcommands().any(|n| is_nested(n) && has(n))
            });
            assert!(found, "{name} {id} {source:?}");
        }
    }

    #[test]
    fn what_bash_takes_apart_is_put_together() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, index, want, at, before) in [
            ("vplan run --only un", 3, "vplan run --only un", 3, 0),
            (
                "vplan run --only tag : qu",
                5,
                "vplan run --only tag:qu",
                3,
                4,
            ),
            ("vplan run --only tag :", 4, "vplan run --only tag:", 3, 4),
            ("vplan run --only = un", 4, "vplan run --only=un", 2, 7),
            (
                "vplan run --only = tag : q",
                6,
                "vplan run --only=tag:q",
                2,
                11,
            ),
            ("vplan run --only =", 3, "vplan run --only=", 2, 7),
            (
                "vplan run --only tag : a --skip b",
                7,
                "vplan run --only tag:a --skip b",
                5,
                0,
            ),
            ("vplan log", 2, "vplan log ", 2, 0),
        ] {
            let (whole, number, prefix) = joined(&words(line), index);
            assert_eq!((whole, number, prefix), (words(want), at, before), "{line}");
        }
    }

    #[test]
    fn the_script_of_bash_is_the_one_that_is_changed() {
        assert!(script(Shell::Bash).unwrap().contains(BASH_WORD_OR_SIGN));
        for shell in [Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
            assert!(script(shell).unwrap().contains("vplan"), "{shell}");
        }
    }

    #[test]
    fn only_words_that_mean_themselves_are_offered() {
        for (text, plain) in [
            ("unit", true),
            ("web/unit", true),
            ("tag:quick", true),
            ("latest~1", true),
            ("rust@2", true),
            ("a b", false),
            ("$(x)", false),
            ("*", false),
            ("-rf", false),
            ("a\u{1b}b", false),
            ("a;b", false),
        ] {
            assert_eq!(is_plain(OsStr::new(text)), plain, "{text:?}");
        }
    }
}
