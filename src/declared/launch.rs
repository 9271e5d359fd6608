//! Finds the programs of an argument vector behind everything that only starts others: `env`,
//! `uv run`, `npx`, `nix develop -c`, `sh -c`.

use crate::base::command::is_env_name;
use crate::check::tool;
use std::collections::BTreeMap;

/// The most launchers in front of a program.
const DEEPEST: usize = 12;

/// An argument vector with its launchers told from the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peeled {
    /// The index at which each program begins, launchers first; the last one does the work.
    pub starts: Vec<usize>,
    /// Shell text that the last one runs (`sh -c TEXT`).
    pub text: Option<String>,
    /// Variables that launchers set.
    pub env: BTreeMap<String, String>,
    /// Directories that launchers enter, one after the other.
    pub dirs: Vec<String>,
    /// Whether there are more launchers than anybody writes.
    pub too_deep: bool,
}

impl Peeled {
    /// The index of the program that does the work.
    #[must_use]
    pub fn at(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }
}

/// The command inside of a launcher's words.
enum Inner {
    /// None: the program does the work.
    None,
    /// It begins at this word.
    At(usize),
    /// It is shell text.
    Text(String),
}

/// Takes the launchers off.
#[must_use]
pub fn peel(words: &[String]) -> Peeled {
    let mut out = Peeled::default();
    let mut at = 0;
    while at < words.len() {
        if out.starts.len() >= DEEPEST {
            out.too_deep = true;
            return out;
        }
        let rest = words.get(at..).unwrap_or_default();
        if let Some((name, value)) = rest
            .first()
            .and_then(|w| w.split_once('='))
            .filter(|(name, _)| is_env_name(name))
        {
            out.env.insert(name.to_owned(), value.to_owned());
            at += 1;
            continue;
        }
        out.starts.push(at);
        match inner(rest, &mut out) {
            Inner::None => break,
            Inner::At(by) if by == 0 || by >= rest.len() => break,
            Inner::At(by) => at += by,
            Inner::Text(text) => {
                out.text = Some(text);
                break;
            }
        }
    }
    out
}

/// The name of a program: no folder, version, or ending of a script's wrapper.
#[must_use]
pub fn name(word: &str) -> &str {
    let word = word
        .strip_prefix("npm:")
        .or_else(|| word.strip_prefix("jsr:"))
        .unwrap_or(word);
    let word = match word.rsplit_once('@') {
        Some((before, _)) if !before.is_empty() && !before.ends_with('/') => before,
        _ => word,
    };
    let word = word.strip_prefix('\\').unwrap_or(word);
    let mut base = tool::base_name(word);
    // A major version of a Go module is no program.
    if base
        .strip_prefix('v')
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        && let Some((before, _)) = word.rsplit_once('/')
    {
        base = tool::base_name(before);
    }
    let ends = [".phar", ".bat", ".ps1", ".cjs", ".mjs"];
    // A program of a package, by its script.
    if word.contains("node_modules/")
        && let Some(stem) = base.strip_suffix(".js")
    {
        base = stem;
    }
    let base = ends
        .iter()
        .find_map(|end| base.strip_suffix(end))
        .unwrap_or(base);
    match base {
        "gradlew" => "gradle",
        "mvnw" | "mvnd" => "mvn",
        "sbtn" | "sbtx" => "sbt",
        "gmake" => "make",
        "py.test" => "pytest",
        "nodejs" => "node",
        "pip3" => "pip",
        "golangci-lint-v2" => "golangci-lint",
        other => other,
    }
}

/// The index of the first word that is no option; `valued` options take the next word.
fn operand(words: &[String], from: usize, valued: &[&str]) -> usize {
    let mut at = from;
    while let Some(word) = words.get(at) {
        if word == "--" {
            return at + 1;
        }
        if !word.starts_with(['-', '+']) || word == "-" {
            break;
        }
        at += 1 + usize::from(valued.contains(&word.as_str()));
    }
    at
}

/// The index after the first of these words.
fn behind(words: &[String], marks: &[&str]) -> Option<usize> {
    words
        .iter()
        .position(|w| marks.contains(&w.as_str()))
        .map(|at| at + 1)
}

/// The word after one of these options, or its value behind `=`.
fn given<'a>(words: &'a [String], options: &[&str]) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| {
        if options.contains(&word.as_str()) {
            return words.get(at + 1).map(String::as_str);
        }
        let (name, value) = word.split_once('=')?;
        options.contains(&name).then_some(value)
    })
}

fn inner(words: &[String], out: &mut Peeled) -> Inner {
    let Some(first) = words.first() else {
        return Inner::None;
    };
    let second = words.get(1).map_or("", String::as_str);
    let at = |index: Option<usize>| index.map_or(Inner::None, Inner::At);
    match name(first) {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" => shell_text(words),
        // `command -v make` only searches.
        "command" if matches!(second, "-v" | "-V") => Inner::None,
        "busybox" | "command" | "exec" | "builtin" | "noglob" | "catchsegv" | "linux32"
        | "linux64" | "caffeinate" | "dbus-run-session" | "env-cmd" | "firejail"
        | "proxychains" | "proxychains4" | "tsocks" => Inner::At(operand(words, 1, &["-f", "-a"])),
        "eval" | "cross-env-shell" => Inner::Text(words.get(1..).unwrap_or_default().join(" ")),
        "env" => {
            let end = operand(words, 1, &["-u", "--unset", "-C", "--chdir", "-P", "-S"]);
            let own = words.get(..end).unwrap_or_default();
            if let Some(text) = given(own, &["-S", "--split-string"]) {
                let rest = words.get(end..).unwrap_or_default().join(" ");
                return Inner::Text(format!("{text} {rest}").trim_end().to_owned());
            }
            if let Some(dir) = given(own, &["-C", "--chdir"]) {
                out.dirs.push(dir.to_owned());
            }
            Inner::At(operand(words, 1, &["-u", "--unset", "-C", "--chdir", "-P"]))
        }
        "cross-env" => Inner::At(1),
        "dotenv" | "dotenvx" | "dotenv-run-script" => match behind(words, &["--"]) {
            Some(index) => Inner::At(index),
            None => {
                let from = usize::from(second == "run") + 1;
                Inner::At(operand(
                    words,
                    from,
                    &["-e", "-f", "-p", "-v", "--env-file"],
                ))
            }
        },
        "xargs" => Inner::At(operand(
            words,
            1,
            &[
                "-I",
                "-n",
                "-P",
                "-L",
                "-d",
                "-s",
                "-E",
                "-a",
                "--arg-file",
                "--delimiter",
                "--max-args",
                "--max-procs",
                "--max-lines",
                "--replace",
            ],
        )),
        "parallel" | "sem" => Inner::At(operand(
            words,
            1,
            &[
                "-j",
                "--jobs",
                "-a",
                "--arg-file",
                "-I",
                "--delay",
                "--retries",
            ],
        )),
        "find" | "fd" | "fdfind" => at(behind(
            words,
            &[
                "-exec",
                "-execdir",
                "-ok",
                "-okdir",
                "-x",
                "-X",
                "--exec",
                "--exec-batch",
            ],
        )),
        "flock" => {
            if let Some(text) = given(words, &["-c", "--command"]) {
                return Inner::Text(text.to_owned());
            }
            Inner::At(operand(words, 1, &["-w", "--timeout", "-E"]) + 1)
        }
        "su" | "runuser" | "script" | "scriptlive" => match given(
            words,
            &["-c", "--command", "-qc", "-qec", "-ec", "-qefc", "-efqc"],
        ) {
            Some(text) => Inner::Text(text.to_owned()),
            None => Inner::None,
        },
        "nix" if matches!(second, "develop" | "shell" | "env") => {
            at(behind(words, &["-c", "--command"]))
        }
        "nix-shell" => match given(words, &["--run", "--command"]) {
            Some(text) => Inner::Text(text.to_owned()),
            None => Inner::None,
        },
        "mise" | "rtx" if matches!(second, "x" | "exec") => {
            let end = behind(words, &["--"]);
            let own = words.get(..end.unwrap_or(words.len())).unwrap_or_default();
            match given(own, &["-c", "--command"]) {
                Some(text) => Inner::Text(text.to_owned()),
                None => at(end),
            }
        }
        "devbox" | "flox" | "guix" | "devenv" | "pkgx" | "hermit" | "op" | "doppler"
        | "infisical" | "chamber" | "aws-vault" => at(behind(words, &["--"])),
        "direnv" if second == "exec" => Inner::At(3),
        "asdf" | "rbenv" | "pyenv" | "nodenv" | "goenv" | "bundle" | "bundler"
            if second == "exec" =>
        {
            Inner::At(operand(words, 2, &["--gemfile"]))
        }
        "composer" if second == "exec" => Inner::At(operand(words, 2, &[])),
        "opam" if second == "exec" => {
            at(behind(words, &["--"]).or(Some(operand(words, 2, &["--switch"]))))
        }
        "stack" | "cabal" if second == "exec" => {
            at(behind(words, &["--"]).or(Some(operand(words, 2, &[]))))
        }
        "lerna" if second == "exec" => {
            Inner::At(operand(words, 2, &["--scope", "--ignore", "--concurrency"]))
        }
        "dotnet" if second == "tool" && words.get(2).is_some_and(|w| w == "run") => Inner::At(3),
        "swift" if second == "package" && words.iter().any(|w| w == "plugin") => Inner::At(
            operand(words, (behind(words, &["plugin"])).unwrap_or(2), &[]),
        ),
        "go" if second == "tool" => Inner::At(operand(words, 2, &["-modfile"])),
        "go" if second == "run" => {
            let index = operand(
                words,
                2,
                &["-C", "-tags", "-mod", "-modfile", "-ldflags", "-exec"],
            );
            match words.get(index) {
                Some(what)
                    if what.contains('@')
                        || (what.contains('.') && !what.starts_with('.') && what.contains('/')) =>
                {
                    Inner::At(index)
                }
                _ => Inner::None,
            }
        }
        "deno" if second == "run" || second == "x" => {
            let index = operand(words, 2, &["-c", "--config", "--import-map", "--lock"]);
            match words.get(index) {
                Some(what) if what.starts_with("npm:") || what.starts_with("jsr:") => {
                    Inner::At(index)
                }
                _ => Inner::None,
            }
        }
        "retry" => {
            let program =
                |w: &String| !w.starts_with('-') && !w.bytes().all(|b| b.is_ascii_digit());
            at(words.iter().skip(1).position(program).map(|i| i + 1))
        }
        "valgrind" | "strace" | "ltrace" | "perf" | "rr" | "heaptrack" | "qemu" => {
            match name(first) {
                "perf" | "rr" => Inner::At(operand(words, 2, &["-e", "-o", "-F"])),
                _ => Inner::At(operand(words, 1, &["-o", "-e", "-p", "-s"])),
            }
        }
        "faketime" => Inner::At(operand(words, 1, &["-f"]) + 1),
        "setarch" => Inner::At(operand(words, 2, &[])),
        "npx" | "pnpm" | "npm" | "yarn" | "bunx" | "bun" if text_option(words).is_some() => {
            Inner::Text(text_option(words).unwrap_or_default().to_owned())
        }
        "npx" if second == "nx-cloud" => at(behind(words, &["--"])),
        "nx-cloud" => at(behind(words, &["--"])),
        "cargo" | "cross" | "make" | "just" | "ninja" => Inner::None,
        // The shells of these run what they are given as one word.
        "yarn"
            if second == "exec"
                && words.len() == 3
                && words.get(2).is_some_and(|w| w.contains(' ')) =>
        {
            Inner::Text(words.get(2).cloned().unwrap_or_default())
        }
        _ => by_table(words),
    }
}

/// The launchers that the table of tools knows.
fn by_table(words: &[String]) -> Inner {
    let layers = tool::layers(words, None);
    let [_, next, ..] = &*layers else {
        return Inner::None;
    };
    let index = words.len().saturating_sub(next.arguments.len() + 1);
    let same = words.get(index).is_some_and(|word| {
        let found = tool::base_name(word);
        found == next.program
            || found.split('.').next() == Some(&*next.program)
            || found.starts_with(&format!("{}@", next.program))
            || name(word) == name(&next.program)
    });
    if same { Inner::At(index) } else { Inner::None }
}

/// The text of `npx -c TEXT`, `npm exec -c TEXT`, `pnpm -c exec TEXT`.
fn text_option(words: &[String]) -> Option<&str> {
    let first = words.first().map(|w| name(w))?;
    let end = words.iter().position(|w| w == "--").unwrap_or(words.len());
    let own = words.get(..end).unwrap_or_default();
    match first {
        "npx" => {
            let text = given(own, &["-c", "--call"])?;
            // Behind the program `-c` is the program's own.
            let option = own
                .iter()
                .position(|w| matches!(w.as_str(), "-c" | "--call") || w.starts_with("--call="))?;
            (option
                < operand(
                    own,
                    1,
                    &["-p", "--package", "-c", "--call", "-w", "--workspace"],
                ))
            .then_some(text)
        }
        "npm"
            if own
                .get(1)
                .is_some_and(|w| matches!(w.as_str(), "exec" | "x")) =>
        {
            given(own, &["-c", "--call"])
        }
        "pnpm" => {
            let exec = words.iter().position(|w| w == "exec")?;
            let before = words.get(..exec).unwrap_or_default();
            let mode = |w: &String| matches!(w.as_str(), "-c" | "--shell-mode");
            let after = words.get(exec + 1);
            if before.iter().any(mode) {
                return after.map(String::as_str);
            }
            if after.is_some_and(mode) {
                return words.get(exec + 2).map(String::as_str);
            }
            None
        }
        _ => None,
    }
}

/// `sh [OPTIONS] -c TEXT`.
fn shell_text(words: &[String]) -> Inner {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some(letters) = word.strip_prefix(['-', '+']) else {
            break;
        };
        if letters.starts_with('-') {
            at += 1 + usize::from(matches!(word.as_str(), "--rcfile" | "--init-file"));
            continue;
        }
        at += 1;
        if letters.contains('c') {
            let takes = usize::from(letters.contains('o'));
            // Further options may follow.
            let mut text = at + takes;
            while words
                .get(text)
                .is_some_and(|w| w.starts_with('-') && w.len() > 1)
            {
                text += 1 + usize::from(words.get(text).is_some_and(|w| w.ends_with('o')));
            }
            return words
                .get(text)
                .map_or(Inner::None, |t| Inner::Text(t.clone()));
        }
        if letters.ends_with('o') || letters.ends_with('O') {
            at += 1;
        }
    }
    Inner::None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(|w| w.replace('~', " ")).collect()
    }

    #[test]
    fn programs_behind_launchers() {
        for (command, want) in [
            ("prettier --write .", "prettier"),
            ("npx prettier --write .", "prettier"),
            ("npx --yes prettier@3 --write .", "prettier@3"),
            ("pnpm exec prettier --write .", "prettier"),
            ("pnpm -r exec prettier", "prettier"),
            ("yarn prettier --write .", "prettier"),
            ("yarn run -T prettier", "prettier"),
            ("bunx prettier", "prettier"),
            ("bun run prettier", "prettier"),
            ("uv run --group dev ruff format", "ruff"),
            ("uv run -m pytest", "pytest"),
            ("uvx ruff@0.9 format", "ruff@0.9"),
            ("poetry run black .", "black"),
            ("bundle exec rubocop -a", "rubocop"),
            (
                "go run github.com/a/golangci-lint/v2/cmd/golangci-lint@v2.1 run",
                "github.com/a/golangci-lint/v2/cmd/golangci-lint@v2.1",
            ),
            ("go tool gofumpt -w .", "gofumpt"),
            ("python3 -m black .", "black"),
            ("env A=1 B= black .", "black"),
            ("A=1 black .", "black"),
            ("time -p timeout -k 5 5m nice black", "black"),
            ("xargs -0 -n 1 black", "black"),
            ("find . -name x -exec black {} +", "black"),
            ("nix develop .#ci -c cargo fmt", "cargo"),
            ("nix develop --command cargo fmt", "cargo"),
            ("mise x -- cargo fmt", "cargo"),
            ("mise exec go@1.23 -- go test", "go"),
            ("direnv exec . make lint", "make"),
            ("composer exec -- pint", "pint"),
            ("xvfb-run -a npx playwright test", "playwright"),
            ("retry -t 3 -- cargo test", "cargo"),
            ("command -v make", "command"),
            ("deno run -A npm:prettier@3 --write", "npm:prettier@3"),
            (
                "./node_modules/.bin/eslint --fix",
                "./node_modules/.bin/eslint",
            ),
            (
                "node node_modules/eslint/bin/eslint.js --fix",
                "node_modules/eslint/bin/eslint.js",
            ),
            ("sudo -u ci rm -r x", "rm"),
            ("npx nx-cloud record -- nx format:check", "nx"),
        ] {
            let words = words(command);
            assert_eq!(words[peel(&words).at()], want, "{command}");
        }
    }

    #[test]
    fn names() {
        for (word, want) in [
            ("prettier@3.1", "prettier"),
            ("@biomejs/biome@2", "biome"),
            ("@biomejs/biome", "biome"),
            ("npm:prettier@3", "prettier"),
            (
                "github.com/a/golangci-lint/v2/cmd/golangci-lint@v2.1",
                "golangci-lint",
            ),
            ("golang.org/x/tools/gopls/v2@latest", "gopls"),
            ("./gradlew", "gradle"),
            ("vendor/bin/php-cs-fixer", "php-cs-fixer"),
            ("mvnw.cmd", "mvn"),
            ("\\rm", "rm"),
            ("/bin/rm", "rm"),
        ] {
            assert_eq!(name(word), want, "{word}");
        }
    }

    #[test]
    fn texts() {
        for (command, want) in [
            ("sh -c rm~-rf~x", Some("rm -rf x")),
            ("bash -euo pipefail -c rm~x", Some("rm x")),
            ("bash -lc rm~x", Some("rm x")),
            ("bash -c -e rm~x", Some("rm x")),
            ("env bash -ec rm~x", Some("rm x")),
            ("env -S rm~x", Some("rm x")),
            ("nix-shell --run rm~x", Some("rm x")),
            ("npx -c rm~x", Some("rm x")),
            ("npx eslint -c config.js", None),
            ("npm exec -c rm~x", Some("rm x")),
            ("pnpm -c exec rm~x", Some("rm x")),
            ("eval rm x", Some("rm x")),
            ("bash -e script.sh", None),
            ("bash script.sh -c x", None),
        ] {
            assert_eq!(peel(&words(command)).text.as_deref(), want, "{command}");
        }
    }

    #[test]
    fn too_many_launchers() {
        assert!(peel(&vec!["env".to_owned(); 40]).too_deep);
    }
}
