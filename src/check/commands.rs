//! Parses the commands that a shell is given as text (`sh -c 'make && ./own'`) into invocations.

use super::tool::{Invocation, Tool, base_name, is_assignment};

/// Commands that write nothing that is read: they prepare, or pass on what others write.
const QUIET: &[&str] = &[
    ":", "[", "cd", "cp", "echo", "exit", "export", "mkdir", "mv", "printf", "rm", "set", "sleep",
    "tee", "test", "touch", "true", "ulimit", "umask", "unset",
];

/// Programs whose names begin a line that may be a command.
const PROGRAMS: &[&str] = &[
    "_mocha",
    "bun",
    "bunx",
    "c8",
    "cargo",
    "coverage",
    "cross",
    "cross-env",
    "dotnet",
    "env",
    "go",
    "gotestsum",
    "jest",
    "mocha",
    "node",
    "npx",
    "nyc",
    "pdm",
    "pipenv",
    "pnpm",
    "poetry",
    "py.test",
    "pytest",
    "python",
    "python3",
    "sh",
    "tap",
    "tape",
    "timeout",
    "uv",
    "uvx",
    "vitest",
    "yarn",
];

/// Whether a line that begins with this word may be a command that starts a known tool.
#[must_use]
pub fn is_command(word: &str) -> bool {
    let is_path = word.contains('/');
    (word.len() <= 12 || is_path && word.len() <= 100) && PROGRAMS.contains(&base_name(word))
}

/// The commands that an argument vector starts one after another: those of a shell's text, without
/// what writes nothing that is read, or the one that it is.
#[must_use]
pub fn parts(argv: &[&str]) -> Vec<Invocation> {
    let whole = Invocation::of(argv);
    let found = text_of_shell(&whole).map(commands).unwrap_or_default();
    if found.is_empty() { vec![whole] } else { found }
}

/// The commands of a shell's text, without what writes nothing that is read.
#[must_use]
pub fn commands(text: &str) -> Vec<Invocation> {
    text.split(['&', '|', ';', '\n'])
        .map(|part| {
            part.split_whitespace()
                .map(|word| word.trim_matches(['"', '\'', '(', ')', '{', '}']))
                .skip_while(|word| word.is_empty() || is_assignment(word))
                .collect::<Vec<&str>>()
        })
        // What remains of `2>&1` is a number.
        .filter(|words| {
            words.first().is_some_and(|program| {
                !QUIET.contains(&base_name(program)) && !program.bytes().all(|b| b.is_ascii_digit())
            })
        })
        .map(|words| Invocation::of(&words))
        .collect()
}

/// The text that a shell is told to execute.
fn text_of_shell(run: &Invocation) -> Option<&str> {
    if !run.is(Tool::Shell) {
        return None;
    }
    let mut words = run.arguments().iter();
    let mut expects_text = false;
    while let Some(word) = words.next() {
        match word.strip_prefix(['-', '+']) {
            // `-o` takes the name of an option.
            Some(letters) if !word.starts_with("--") => {
                expects_text |= word.starts_with('-') && letters.contains('c');
                if letters.ends_with('o') {
                    words.next();
                }
            }
            Some(_) => {}
            None => return expects_text.then_some(word),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_shell_is_its_commands() {
        for (argv, want) in [
            (&["make", "test"][..], &["make"][..]),
            (
                &["sh", "-c", "cargo test && ./own-runner"],
                &["cargo", "own-runner"],
            ),
            (
                &[
                    "bash",
                    "-euo",
                    "pipefail",
                    "-c",
                    "cd a; CI=1 jest 2>&1 | tee log",
                ],
                &["jest"],
            ),
            (
                &[
                    "env",
                    "A=1",
                    "sh",
                    "-ec",
                    "(timeout 5 pytest)\ngo test ./...",
                ],
                &["pytest", "go"],
            ),
            (&["sh", "-c", "cd a"], &["sh"]),
            (&["sh", "test.sh"], &["sh"]),
        ] {
            let parts = parts(argv);
            let got: Vec<&str> = parts.iter().map(Invocation::program).collect();
            assert_eq!(got, want, "{argv:?}");
        }
    }
}
