//! Parses the commands that a shell is given as text (`sh -c 'make && ./own'`) into invocations.

use super::tool::table::{is_echoed, is_quiet};
use super::tool::{Invocation, base_name, is_assignment, started};

/// Whether a line that begins with this word may be a command that starts a known tool.
pub fn is_command(word: &str) -> bool {
    let is_path = word.contains('/');
    (word.len() <= 12 || is_path && word.len() <= 100) && is_echoed(base_name(word))
}

/// The commands that an argument vector starts one after another: those of a shell's text, without
/// what writes nothing that is read, or the one that it is.
pub fn parts(argv: &[&str]) -> Vec<Invocation> {
    let text = shell_text(argv.iter().copied());
    let found = text.as_deref().map(commands).unwrap_or_default();
    if found.is_empty() {
        vec![Invocation::parse(argv)]
    } else {
        found
    }
}

/// The text that an argument vector gives to a shell, after any launchers: `sh -c TEXT`,
/// `env -S TEXT`, `flock FILE -c TEXT`.
pub fn shell_text<'a>(argv: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let words: Vec<String> = argv.into_iter().map(str::to_owned).collect();
    started(&words).text
}

/// The commands of a shell's text, without what writes nothing that is read.
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
                !is_quiet(base_name(program)) && !program.bytes().all(|b| b.is_ascii_digit())
            })
        })
        .map(|words| Invocation::parse(&words))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_shell_is_one() {
        for command in [
            "sh -c x",
            "bash -c x",
            "/bin/bash -ec x",
            "bash -o pipefail -c x",
            "bash -euo pipefail -c x",
            "bash --norc -c x",
            "zsh -fc x",
            "busybox sh -c x",
            "timeout 5 sh -c x",
            "timeout -k 5 60 bash -c x",
            "env -u X A=1 sh -c x",
            "env -S x",
            "nice -n 5 nohup sh -c x",
            "flock l sh -c x",
            "flock l -c x",
            "xargs -0 sh -c x",
            "find . -exec sh -c x",
            "npx -c x",
            "npm exec -c x",
            "uv run bash -c x",
            "nix-shell --run x",
            "nix develop -c sh -c x",
            "mise exec -- sh -c x",
            "su ci -c x",
            "script -qc x",
            "eval x",
        ] {
            let text = shell_text(command.split(' '));
            assert_eq!(text.as_deref(), Some("x"), "{command}");
        }
        for command in [
            "sh x.sh",
            "bash -e x.sh -c",
            "eslint -c x",
            "npx eslint -c x",
        ] {
            assert_eq!(shell_text(command.split(' ')), None, "{command}");
        }
    }

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
            (&["sh", "-c", "cd a"], &["cd"]),
            (&["sh", "test.sh"], &["sh"]),
        ] {
            let parts = parts(argv);
            let got: Vec<&str> = parts.iter().map(Invocation::program).collect();
            assert_eq!(got, want, "{argv:?}");
        }
    }
}
