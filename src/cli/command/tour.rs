//! `vplan tour`: runs the session that `vplan help tour` shows, and prints it with what the commands
//! print here and now.

use super::answer::*;
use super::help::TOUR;
use vplan_base::inert::inert;
use vplan_runner::session::{SessionEnd, SessionError, SessionProgress, Typed, run as run_session};

/// A piece of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Text between commands, as it is on the page.
    Prose(String),
    /// A command, as it is typed, and what is printed above its output.
    Command { shown: String, typed: Typed },
}

/// Runs the session.
///
/// # Errors
/// A program is missing, or a command ends otherwise than the page says (exit 5).
pub fn run(terminal: &Terminal) -> Result<u8, Failure> {
    let parts = parts(TOUR);
    let typed = |part: &Part| match part {
        Part::Command { typed, .. } => Some(typed.clone()),
        Part::Prose(_) => None,
    };
    let commands: Vec<Typed> = parts.iter().filter_map(typed).collect();
    let mut rest = parts.iter();
    let ended = run_session(&commands, &mut |progress| match progress {
        SessionProgress::Begins(_) => print_up_to_command(&mut rest, terminal),
        SessionProgress::Ended(text, exit) => {
            let exit = framed("[exit ", exit.filter(|code| *code != 0), "]\n");
            terminal.say(&(lines(&inert(text)) + &exit));
        }
    });
    match ended.map_err(|error| failed(&error))? {
        SessionEnd::Complete => {
            print_up_to_command(&mut rest, terminal);
            terminal.say(&format!(
                "\nThese were {} commands, in a folder that is gone. Next, in a repository of yours: `vplan init`.\n",
                commands.len()
            ));
            Ok(Exit::Success.code())
        }
        SessionEnd::Otherwise(number, how) => {
            let command = commands.get(number).map_or("", |typed| typed.text.as_str());
            let first = command.lines().next().unwrap_or_default();
            let message =
                format!("a command of the tour {how}, which it does not elsewhere: `{first}`");
            Err(Failure::setup("vplan::tour::command", message)
                .help("`vplan help tour` shows what it should print"))
        }
        SessionEnd::Interrupted(signal) => Ok(signal.exit().code()),
    }
}

fn failed(error: &SessionError) -> Failure {
    let failure = Failure::setup("vplan::tour::setup", error.to_string());
    match error {
        SessionError::Lacking(_) => {
            failure.help("`vplan help tour` shows the tour without running anything")
        }
        SessionError::Folder(_) => failure.help("`TMPDIR` names another folder for it"),
        SessionError::Drive(_) => failure,
    }
}

/// Returns text that ends with the end of a line.
fn lines(text: &str) -> String {
    let is_whole = text.is_empty() || text.ends_with('\n');
    format!("{text}{}", if is_whole { "" } else { "\n" })
}

/// Prints the page up to the next command, and that.
fn print_up_to_command(rest: &mut std::slice::Iter<'_, Part>, terminal: &Terminal) {
    for part in rest {
        match part {
            Part::Prose(text) => terminal.say(&dressed(text, terminal.color)),
            Part::Command { shown, .. } => {
                let lines = shown.lines();
                let lines = lines.map(|line| paint(terminal.color, Tone::Command, line) + "\n");
                return terminal.say(&lines.collect::<String>());
            }
        }
    }
}

/// Returns prose with its headings in colour.
fn dressed(text: &str, color: bool) -> String {
    let line = |line: &str| {
        let tone = line.starts_with('#').then_some(Tone::Strong);
        tone.map_or_else(|| line.to_owned(), |tone| paint(color, tone, line)) + "\n"
    };
    text.lines().map(line).collect()
}

/// Takes the page apart. Between the fences of `console`, `$ ` begins a command and `> ` goes on
/// with it; the rest is output, and `[exit N]` at its end the exit code that the command has.
fn parts(page: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut prose = String::new();
    let (mut inside, mut typing) = (false, false);
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
            typing = false;
        } else if !inside {
            prose += line;
            prose.push('\n');
        } else if let Some(text) = line.strip_prefix("$ ") {
            if !prose.is_empty() {
                parts.push(Part::Prose(std::mem::take(&mut prose)));
            }
            typing = true;
            parts.push(Part::Command {
                shown: line.to_owned(),
                typed: Typed {
                    text: text.to_owned(),
                    exit: 0,
                },
            });
        } else if let Some(Part::Command { shown, typed }) = parts.last_mut() {
            match line.strip_prefix('>').filter(|_| typing) {
                Some(more) => {
                    typed.text += &format!("\n{}", more.strip_prefix(' ').unwrap_or(more));
                    *shown += &format!("\n{line}");
                }
                None => {
                    typing = false;
                    typed.exit = exit(line).unwrap_or(typed.exit);
                }
            }
        }
    }
    parts.push(Part::Prose(prose));
    parts
}

/// Returns the exit code that a line of output says.
fn exit(line: &str) -> Option<i32> {
    line.strip_prefix("[exit ")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_taken_apart_and_nothing_of_it_is_lost() {
        let page = "# A\n\n```console\n$ cat <<E\n> a\n>\n> b\n> E\na\n\nb\n$ false\n[exit 1]\n```\n\nEnd.\n";
        let command = |shown: &str, text: &str, exit| Part::Command {
            shown: shown.to_owned(),
            typed: Typed {
                text: text.to_owned(),
                exit,
            },
        };
        assert_eq!(
            parts(page),
            [
                Part::Prose("# A\n\n".to_owned()),
                command("$ cat <<E\n> a\n>\n> b\n> E", "cat <<E\na\n\nb\nE", 0),
                command("$ false", "false", 1),
                Part::Prose("\nEnd.\n".to_owned()),
            ]
        );
        // A `>` in what a command prints goes on with nothing.
        let printed = parts("```console\n$ a\nb\n> c\n```\n");
        assert_eq!(printed[0], command("$ a", "a", 0));
    }
}
