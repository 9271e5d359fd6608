//! Writes a plan as a POSIX shell script to copy and run by hand; without time limits, records and
//! recovery.

use super::text::confined;
use crate::{Plan, Step};
use vplan_base::command::is_env_name;
use vplan_base::inert::{quoted_without_commands, without_commands};
use vplan_base::path::RepoPath;
use vplan_base::unit::show_duration;
use vplan_base::word::{Word, framed, is_unsafe_to_show, visible};
use vplan_check::request::{Assertion, FileType};
use vplan_check::{Kind, Severity};

/// Returns the script. A step that a shell cannot express becomes a comment and a failing command.
pub fn shell(plan: &Plan) -> String {
    let mut out = String::from("#!/bin/sh\n");
    if let Some(digest) = &plan.digest {
        out.push_str(&format!("# {digest}\n"));
    }
    out.push_str("# Run it at the root of the repository. Time limits, records and repairs are left out.\nset -eu\n");
    for (at, step) in plan.steps.iter().enumerate() {
        let limit = show_duration(step.timeout_ms);
        let confined = confined(step.confinement());
        let confined = Some(confined).filter(|confined| !confined.is_empty());
        let without = framed("; here without ", confined, "");
        let (number, id) = (at + 1, comment(&step.id));
        out.push_str(&format!("\n# {number} {id} (up to {limit}{without})\n"));
        match body(step) {
            Some(body) => out.push_str(&guarded(step, &body)),
            None => {
                out.push_str(&format!("# not for a shell: {}\n", comment(&step.command)));
                let id = visible(&step.id);
                let told = sh_quote(&format!("vplan: step {id} cannot run in this script"));
                out.push_str(&format!("echo {told} >&2\n"));
                if step.severity == Severity::Blocking {
                    out.push_str("exit 1\n");
                }
            }
        }
    }
    out
}

/// Returns the step as one subshell; its exit status decides.
fn body(step: &Step) -> Option<String> {
    // The values of its placeholders are known only once its services run.
    if !step.with.is_empty() {
        return None;
    }
    let mut words = Words::default();
    let mut parts = Vec::new();
    if !step.dir.is_root() {
        parts.push(format!("cd -- {}", words.path(&step.dir)));
    }
    match step.kind {
        Kind::File => {
            let path = step.path.as_ref()?.as_bytes();
            let here: &[u8] = if path.starts_with(b"-") { b"./" } else { b"" };
            let path = words.quote(&Word::new([here, path].concat()));
            for assertion in &step.assertions {
                parts.push(file_test(assertion, &path)?);
            }
        }
        Kind::Judge => return None,
        Kind::Run | Kind::Compile | Kind::Test | Kind::Lint | Kind::Shell => {
            let argv = step.argv.as_ref()?;
            let mut line = Vec::new();
            if !step.tool_path.is_empty() {
                let dirs = step.tool_path.iter();
                let dirs = dirs.map(|dir| format!("\"$root\"/{}", words.path(dir)));
                let dirs: Vec<String> = dirs.collect();
                line.push(format!("PATH={}:\"$PATH\"", dirs.join(":")));
            }
            let plain = step.env.keys().all(|name| is_env_name(name));
            if !plain {
                line.push("env --".to_owned());
            }
            for (name, value) in &step.env {
                let both = || [name.as_bytes(), b"=", value.as_bytes()].concat();
                line.push(match plain {
                    true => format!("{name}={}", words.quote(value)),
                    false => words.quote(&Word::new(both())),
                });
            }
            let argv = argv.iter().enumerate();
            line.extend(argv.map(|(i, word)| words.argument(i, word)));
            parts.push(line.join(" "));
        }
    }
    let setup = match step.tool_path.is_empty() {
        true => "",
        false => "root=$(pwd); ",
    };
    Some(format!("({setup}{}{})", words.setup, parts.join(" && ")))
}

/// Adds accepted codes other than 0, and failures that only warn.
fn guarded(step: &Step, body: &str) -> String {
    let codes = step.exit.iter().chain(&step.skip_exit);
    let codes: Vec<String> = codes.map(ToString::to_string).collect();
    let warning = format!("vplan: warning: {} failed", visible(&step.id));
    let fail = match step.severity {
        Severity::Blocking => "exit \"$code\"".to_owned(),
        Severity::Warning => format!("echo {} >&2", sh_quote(&warning)),
    };
    if codes == ["0"] && step.severity == Severity::Blocking {
        return format!("{body}\n");
    }
    format!(
        "code=0\n{body} || code=$?\ncase $code in {}) ;; *) {fail} ;; esac\n",
        codes.join("|")
    )
}

fn file_test(assertion: &Assertion, path: &str) -> Option<String> {
    Some(match assertion {
        Assertion::Exists => format!("[ -e {path} ]"),
        Assertion::Absent => format!("[ ! -e {path} ] && [ ! -L {path} ]"),
        Assertion::NotEmpty => format!("[ -s {path} ]"),
        Assertion::Size { max, min } => {
            let bound = |n: &Option<u64>, op: &str| {
                n.map(|n| format!("[ \"$(wc -c < {path})\" {op} {n} ]"))
            };
            let bounds = bound(min, "-ge").into_iter().chain(bound(max, "-le"));
            let bounds: Vec<String> = bounds.collect();
            match bounds.as_slice() {
                [] => format!("[ -e {path} ]"),
                bounds => bounds.join(" && "),
            }
        }
        Assertion::Type(FileType::File) => format!("[ -f {path} ]"),
        Assertion::Type(FileType::Dir) => format!("[ -d {path} ]"),
        Assertion::Type(FileType::Symlink) => format!("[ -L {path} ]"),
        Assertion::Type(FileType::Executable) => format!("[ -f {path} ] && [ -x {path} ]"),
        // Texts may span lines, and regular expressions are of another dialect than grep's.
        Assertion::Contains(_)
        | Assertion::Lacks(_)
        | Assertion::Matches(_)
        | Assertion::Type(FileType::Utf8) => {
            return None;
        }
    })
}

/// Words with characters that a terminal must not get come from `printf` through a variable, so
/// that the script stays plain text.
#[derive(Default)]
struct Words {
    setup: String,
    used: usize,
}

impl Words {
    fn path(&mut self, path: &RepoPath) -> String {
        self.quote(&Word::new(path.as_bytes()))
    }

    fn quote(&mut self, word: &Word) -> String {
        match word.as_str() {
            Some(text) if !text.chars().any(is_unsafe_to_show) => sh_quote(text),
            _ => {
                self.used += 1;
                let octal = word.as_bytes().iter().map(|b| format!("\\{b:03o}"));
                let octal: String = octal.collect();
                // The closing x keeps newlines at the end.
                let name = format!("w{}", self.used);
                self.setup.push_str(&format!(
                    "{name}=$(printf '{octal}x'); {name}=${{{name}%x}}; "
                ));
                format!("\"${name}\"")
            }
        }
    }

    /// Formats an argument. The program is always quoted where it could be a keyword or an
    /// assignment.
    fn argument(&mut self, index: usize, word: &Word) -> String {
        const KEYWORDS: [&str; 16] = [
            "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until",
            "for", "in", "function", "select", "time",
        ];
        let quoted = self.quote(word);
        if index == 0
            && (quoted.contains('=') || KEYWORDS.contains(&quoted.as_str()))
            && !quoted.starts_with(['\'', '"'])
        {
            return format!("'{quoted}'");
        }
        quoted
    }
}

/// Returns a text as it is in a comment: on one line, and no workflow command.
fn comment(text: &str) -> String {
    without_commands(&visible(text))
}

fn sh_quote(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !text.is_empty() && text.chars().all(harmless) {
        return text.to_owned();
    }
    let text = text.replace('\'', "'\\''");
    format!("'{}'", quoted_without_commands(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let cases: [&[u8]; 12] = [
            b"a",
            b"",
            b"a b",
            b"it's",
            b"$x `y`",
            b"a\n",
            b"\xff\n\n",
            b"-n",
            "größe".as_bytes(),
            b"it's ##[x] ##vso[y]",
            b"a\n  ::error::x",
            b"::stop-commands::x",
        ];
        for bytes in cases {
            let mut words = Words::default();
            let quoted = words.quote(&Word::new(bytes));
            let script = format!("{}printf %s {quoted}", words.setup);
            assert!(!script.chars().any(is_unsafe_to_show), "{script:?}");
            assert_eq!(without_commands(&script), script, "no workflow command");
            #[expect(
                clippy::disallowed_methods,
                reason = "the shell is the only judge of its quoting"
            )]
            let output = std::process::Command::new("sh")
                .args(["-c", &script])
                .output()
                .unwrap();
            assert_eq!(output.stdout, bytes, "{script}");
        }
    }
}
