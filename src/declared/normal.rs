//! The normal form of a command: equal for equal work, whatever the wrapper and the verbosity.

use super::candidate::{Candidate, Leaf, Work};
use super::kind::{self, Kind};
use super::launch;
use crate::base::path::RepoPath;
use std::collections::BTreeMap;

/// The normal forms of what a candidate runs in the end, sorted; its text where that is not known.
#[must_use]
pub fn forms(candidate: &Candidate) -> Vec<String> {
    let words = match &candidate.work {
        // The operators between the commands belong to what it does.
        Work::Shell(text) => {
            let words: Vec<&str> = text.split_whitespace().collect();
            return vec![format!("{} shell {}", candidate.dir, words.join(" "))];
        }
        Work::Words(words) => words,
    };
    let leaf = |leaf: &Leaf| form(&leaf.dir, &leaf.env, &leaf.words);
    let mut all: Vec<String> = candidate.leaves.iter().map(leaf).collect();
    if all.is_empty() {
        all.push(form(&candidate.dir, &candidate.env, words));
    }
    all.sort();
    all.dedup();
    all
}

/// Whether a variable changes what a command means. What only concerns colours, caches and accounts
/// of a CI service does not.
#[must_use]
pub fn means(name: &str, value: &str) -> bool {
    const NOISE: &[&str] = &[
        "CARGO_INCREMENTAL",
        "CARGO_TERM_COLOR",
        "CARGO_TERM_PROGRESS_WHEN",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLORTERM",
        "COLUMNS",
        "CHECKPOINT_DISABLE",
        "DEBIAN_FRONTEND",
        "DO_NOT_TRACK",
        "DOTNET_CLI_TELEMETRY_OPTOUT",
        "DOTNET_NOLOGO",
        "DOTNET_SKIP_FIRST_TIME_EXPERIENCE",
        "FORCE_COLOR",
        "HUSKY",
        "NEXT_TELEMETRY_DISABLED",
        "NO_COLOR",
        "PIP_DISABLE_PIP_VERSION_CHECK",
        "PY_COLORS",
        "PYTHONUNBUFFERED",
        "RUSTUP_MAX_RETRIES",
        "RUST_BACKTRACE",
        "TERM",
        "TURBO_TEAM",
    ];
    // Options for a report that CI collects, or for its colours.
    let options = ["--color", "--junit"];
    let is_for_ci = |word: &str| options.iter().any(|option| word.starts_with(option));
    if !value.trim().is_empty() && value.split_whitespace().all(is_for_ci) {
        return false;
    }
    let starts = [
        "ACTIONS_",
        "CARGO_NET_",
        "GITHUB_",
        "NPM_CONFIG_",
        "RUNNER_",
        "npm_config_",
    ];
    let memory = name == "NODE_OPTIONS"
        && ["--max-old-space", "--max_old_space"]
            .iter()
            .any(|start| value.trim().starts_with(start));
    !(NOISE.contains(&name)
        || starts.iter().any(|start| name.starts_with(start))
        || name.ends_with("_TOKEN")
        || name.ends_with("_KEY")
        || name.contains("_CACHE")
        || name.contains("SECRET")
        || name.contains("PASSWORD")
        || memory)
}

/// Options without a meaning of their own, alone or as `NAME=VALUE`.
const NOISE: &[&str] = &[
    "--batch-mode",
    "--cache",
    "--cache-dir",
    "--cache-location",
    "--cache-strategy",
    "--ci",
    "--color",
    "--colors",
    "--colour",
    "--console",
    "--cov",
    "--cov-append",
    "--cov-branch",
    "--cov-config",
    "--cov-report",
    "--coverage",
    "--durations",
    "--format",
    "--forceExit",
    "--github",
    "--hide-progress",
    "--info",
    "--junit-xml",
    "--junitxml",
    "--log-level",
    "--log-opts",
    "--logger",
    "--message-format",
    "--no-cache",
    "--no-color",
    "--no-colors",
    "--no-cov",
    "--no-daemon",
    "--no-fail-fast",
    "--no-progress",
    "--no-transfer-progress",
    "--nologo",
    "--output-format",
    "--output-logs",
    "--outputFile",
    "--output-on-failure",
    "--log-prefix",
    "--progress",
    "--quiet",
    "--reporter",
    "--reporters",
    "--reruns",
    "--retries",
    "--run",
    "--show-diff-on-failure",
    "--silent",
    "--stacktrace",
    "--summarize",
    "--tb",
    "--timings",
    "--verbose",
    "--verbosity",
    "-B",
    "-count",
    "-covermode",
    "-coverpkg",
    "-coverprofile",
    "-json",
    "-ntp",
    "-q",
    "-ra",
    "-s",
    "-timeout",
    "-v",
    "-vv",
    "-vvv",
];

/// Those that take the next word when they have no `=`.
const NOISE_WITH_VALUE: &[&str] = &[
    "--cache-dir",
    "--cache-location",
    "--color",
    "--concurrency",
    "--console",
    "--cov-config",
    "--cov-report",
    "--durations",
    "--format",
    "--jobs",
    "--junit-xml",
    "--junitxml",
    "--log-level",
    "--logger",
    "--max-workers",
    "--maxWorkers",
    "--message-format",
    "--output-format",
    "--output-logs",
    "--outputFile",
    "--reporter",
    "--reporters",
    "--reruns",
    "--retries",
    "--verbosity",
    "--workers",
    "-coverprofile",
    "-j",
    "-timeout",
];

/// Options that take no value, of any program.
const ALONE: &[&str] = &[
    "--all-features",
    "--all-targets",
    "--benches",
    "--bins",
    "--check",
    "--deny-warnings",
    "--doc",
    "--examples",
    "--frozen",
    "--lib",
    "--locked",
    "--no-default-features",
    "--no-deps",
    "--noEmit",
    "--offline",
    "--recursive",
    "--release",
    "--strict",
    "--tests",
    "--workspace",
    "-race",
    "-r",
    "-short",
];

/// The normal form of one command.
#[must_use]
pub fn form(dir: &RepoPath, env: &BTreeMap<String, String>, words: &[String]) -> String {
    let peeled = launch::peel(words);
    let mut dir = peeled.dirs.iter().fold(dir.clone(), |dir, to| {
        dir.join(to.as_bytes()).unwrap_or(dir)
    });
    let mut all = env.clone();
    all.extend(peeled.env.clone());
    all.retain(|name, value| name != "CI" && means(name, value));
    let set: Vec<String> = all.iter().map(|(n, v)| format!("{n}={v} ")).collect();
    let own = match &peeled.text {
        Some(text) => format!(
            "shell {}",
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        ),
        None => {
            let mut own = arranged(&decorated(program(words, &peeled)));
            dir = tests_in(&mut own)
                .and_then(|to| dir.join(to.as_bytes()).ok())
                .unwrap_or(dir);
            own.join(" ")
        }
    };
    format!("{dir} {}{own}", set.concat())
}

/// Takes the folder out of `ctest --test-dir=FOLDER`, which is the same as `ctest` in it.
fn tests_in(words: &mut Vec<String>) -> Option<String> {
    const OPTION: &str = "--test-dir=";
    let is_ctest = words.first().is_some_and(|first| first == "ctest");
    let at = words
        .iter()
        .position(|word| is_ctest && word.starts_with(OPTION))?;
    let word = words.remove(at);
    word.strip_prefix(OPTION).map(str::to_owned)
}

/// The program of a command, with its words. The name of a package's script is no program: there it
/// is the package manager.
fn program<'a>(words: &'a [String], peeled: &launch::Peeled) -> &'a [String] {
    let at = peeled.at();
    let inner = words.get(at..).unwrap_or_default();
    let before = peeled.starts.iter().rev().nth(1).copied();
    let outer = before.and_then(|from| words.get(from..at));
    let manager = outer.is_some_and(|outer| {
        let name = outer.first().map_or("", |w| launch::name(w));
        matches!(name, "pnpm" | "yarn" | "bun")
            && !outer
                .iter()
                .any(|w| matches!(w.as_str(), "exec" | "dlx" | "x"))
    });
    let scripts = [
        "all",
        "build",
        "check",
        "ci",
        "docs",
        "e2e",
        "fmt",
        "format",
        "lint",
        "spec",
        "test",
        "types",
        "typecheck",
        "verify",
    ];
    let is_script = inner
        .first()
        .is_some_and(|w| w.contains(':') || scripts.contains(&w.as_str()));
    match before {
        Some(from) if manager && is_script => words.get(from..).unwrap_or(inner),
        _ => inner,
    }
}

/// Programs that only decorate another's output become that one.
pub(super) fn decorated(words: &[String]) -> Vec<String> {
    let name = words.first().map_or("", |w| launch::name(w));
    let rest = || words.get(1..).unwrap_or_default().iter().cloned();
    let as_words = |front: &[&str], rest: Vec<String>| -> Vec<String> {
        front.iter().map(|w| (*w).to_owned()).chain(rest).collect()
    };
    match name {
        "richgo" => as_words(&["go"], rest().collect()),
        "gotestsum" => {
            let mut own: Vec<String> = rest().collect();
            match own.iter().position(|w| w == "--") {
                Some(at) => own.drain(..=at).for_each(drop),
                None => own.retain(|w| !w.starts_with('-')),
            }
            as_words(&["go", "test"], own)
        }
        _ => words.to_vec(),
    }
}

/// The words with synonyms replaced, noise removed, and options sorted.
fn arranged(words: &[String]) -> Vec<String> {
    let Some((first, rest)) = words.split_first() else {
        return Vec::new();
    };
    let program = launch::name(first).to_owned();
    let known = kind::of_words(words) != Kind::Other;
    let mut operands: Vec<String> = Vec::new();
    let mut options: Vec<String> = Vec::new();
    let mut tail: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        at += 1;
        if word == "--" {
            // What a package manager gives on is as if it was there.
            if matches!(program.as_str(), "npm" | "pnpm" | "yarn") {
                continue;
            }
            tail = rest.get(at..).unwrap_or_default().to_vec();
            break;
        }
        let next = rest.get(at).filter(|w| !w.starts_with('-'));
        if !word.starts_with('-') || word.len() == 1 {
            operands.push(word.clone());
            continue;
        }
        let word = synonym(&program, word);
        let name = word.split('=').next().unwrap_or(&word);
        if known && is_noise(&program, name) {
            let takes = NOISE_WITH_VALUE.contains(&name) || (program == "pytest" && name == "-n");
            at += usize::from(takes && !word.contains('=') && next.is_some());
            continue;
        }
        match next {
            Some(value) if !word.contains('=') && !ALONE.contains(&word.as_str()) => {
                options.push(format!("{word}={value}"));
                at += 1;
            }
            _ => options.push(word),
        }
    }
    operands_of(&program, &mut operands);
    options.sort();
    options.dedup();
    let mut out = vec![program];
    out.append(&mut operands);
    out.append(&mut options);
    if !tail.is_empty() {
        out.push("--".to_owned());
        tail.retain(|w| {
            !matches!(
                w.as_str(),
                "--nocapture" | "--test-threads=1" | "--color=always"
            )
        });
        out.append(&mut tail);
    }
    if out.last().is_some_and(|w| w == "--") {
        out.pop();
    }
    out
}

fn is_noise(program: &str, name: &str) -> bool {
    // Numbers may be attached: `-j4`, `-n8`.
    let attached = |letter: &str| {
        name.strip_prefix(letter)
            .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit() || b == b'%'))
    };
    let other = match name {
        // They mean something else there.
        "-s" => return matches!(program, "npm" | "pnpm" | "make" | "pytest"),
        "-B" => return program == "mvn",
        "-r" => return false,
        _ => matches!(
            name,
            "--concurrency"
                | "--jobs"
                | "--max-workers"
                | "--maxWorkers"
                | "--workers"
                | "--parallel"
                | "-T"
        ),
    };
    NOISE.contains(&name)
        || (other && !(name == "-T" && program != "mvn"))
        || attached("-j")
        || (program == "pytest" && (name == "-n" || attached("-n")))
}

fn synonym(program: &str, word: &str) -> String {
    let named = |short: &str, long: &str| {
        word.strip_prefix(short)
            .filter(|rest| rest.is_empty() || rest.starts_with('='))
            .map(|rest| format!("{long}{rest}"))
    };
    let found = match program {
        "cargo" => named("--all", "--workspace")
            .or_else(|| named("-p", "--package"))
            .or_else(|| named("-F", "--features"))
            .or_else(|| named("-r", "--release")),
        "npm" | "pnpm" => named("-w", "--workspace")
            .or_else(|| named("-C", "--prefix"))
            .or_else(|| named("-F", "--filter"))
            .or_else(|| named("-r", "--recursive")),
        "tox" | "nox" => named("--env", "-e").or_else(|| named("--session", "-s")),
        "make" => named("--directory", "-C"),
        "tsc" => named("--project", "-p").or_else(|| named("--build", "-b")),
        "black" => named("-c", "--code"),
        "isort" => named("-c", "--check-only").or_else(|| named("--check", "--check-only")),
        "prettier" => named("-c", "--check")
            .or_else(|| named("-l", "--check"))
            .or_else(|| named("--list-different", "--check")),
        _ => None,
    };
    found.unwrap_or_else(|| word.to_owned())
}

/// Synonyms of subcommands, and operands that are the default.
fn operands_of(program: &str, operands: &mut Vec<String>) {
    let mut replace = |at: usize, from: &[&str], to: &str| {
        if let Some(word) = operands.get_mut(at).filter(|w| from.contains(&w.as_str())) {
            to.clone_into(word);
        }
    };
    match program {
        "cargo" => {
            replace(0, &["t"], "test");
            replace(0, &["b"], "build");
            replace(0, &["c"], "check");
        }
        "npm" | "pnpm" | "yarn" => {
            replace(0, &["t", "tst"], "test");
            replace(0, &["run-script"], "run");
            let script = operands
                .first()
                .is_some_and(|w| w == "run")
                .then(|| operands.get(1).cloned());
            if let Some(Some(_)) = script {
                operands.remove(0);
            }
        }
        "vitest" => operands.retain(|w| w != "run"),
        "ruff" | "mypy" | "codespell" | "typos" | "golangci-lint" => {
            let last = operands.len() > 1 || program != "mypy";
            if last {
                operands.retain(|w| w != "." && w != "./...");
            }
        }
        "tox" => operands.retain(|w| w != "run" && w != "r"),
        "turbo" => operands.retain(|w| w != "run"),
        "make" if operands.is_empty() => {}
        _ => {}
    }
}

/// The work of a compiler, alone or for a test: the same for both where they compile the same.
#[must_use]
pub fn compiled(candidate: &Candidate) -> Option<String> {
    let own;
    let leaves: &[Leaf] = match (&candidate.work, candidate.leaves.as_slice()) {
        (Work::Words(words), []) => {
            own = [Leaf {
                dir: candidate.dir.clone(),
                env: candidate.env.clone(),
                words: words.clone(),
            }];
            &own
        }
        (_, leaves) => leaves,
    };
    let [leaf] = leaves else {
        return None;
    };
    let peeled = launch::peel(&leaf.words);
    if peeled.text.is_some() {
        return None;
    }
    let words = decorated(leaf.words.get(peeled.at()..).unwrap_or_default());
    let words = arranged(&words);
    let (program, rest) = words.split_first()?;
    let (sub, rest) = rest.split_first()?;
    let mut env = leaf.env.clone();
    env.retain(|name, value| means(name, value));
    let rest: Vec<&str> = rest
        .iter()
        .map(String::as_str)
        .take_while(|w| *w != "--")
        .collect();
    let what: Vec<&str> = match (program.as_str(), sub.as_str()) {
        ("cargo", "build" | "check" | "test") => {
            const PARTS: &[&str] = &[
                "--lib",
                "--bins",
                "--bin",
                "--test",
                "--tests",
                "--doc",
                "--examples",
                "--example",
                "--benches",
                "--bench",
                "--all-targets",
                "--no-run",
            ];
            let part = rest
                .iter()
                .any(|w| PARTS.contains(&w.split('=').next().unwrap_or(w)));
            if part {
                return None;
            }
            // A filter of a test's name changes nothing of what is compiled.
            rest.into_iter()
                .filter(|w| {
                    w.starts_with("--") && !matches!(*w, "--locked" | "--frozen" | "--offline")
                })
                .collect()
        }
        ("go", "build" | "test") => {
            if rest.iter().any(|w| w.starts_with("-o")) {
                return None;
            }
            rest.into_iter()
                .filter(|w| !w.starts_with('-') || w.starts_with("-tags"))
                .collect()
        }
        ("dotnet" | "swift" | "cabal" | "stack", "build" | "test") => {
            if rest.contains(&"--no-build") {
                return None;
            }
            rest.into_iter()
                .filter(|w| !matches!(*w, "--no-restore"))
                .collect()
        }
        (
            "mvn" | "gradle",
            "compile" | "package" | "test" | "verify" | "install" | "classes" | "assemble"
            | "check" | "build",
        ) => rest,
        ("mix", "compile" | "test") => {
            if rest.iter().any(|w| w.starts_with("--warnings-as-errors")) {
                return None;
            }
            rest
        }
        _ => return None,
    };
    let set: Vec<String> = env.iter().map(|(n, v)| format!("{n}={v} ")).collect();
    Some(format!(
        "{} {}{program} {}",
        leaf.dir,
        set.concat(),
        what.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::candidate::{Belief, Origin};
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn of(text: &str) -> String {
        form(&RepoPath::root(), &BTreeMap::new(), &words(text))
    }

    #[test]
    fn equal_work() {
        for (one, other) in [
            ("cargo test --workspace", "cargo test --all"),
            ("cargo test --workspace", "time cargo test --all --verbose"),
            ("cargo test -p a", "cargo test --package=a"),
            ("cargo t", "cargo test"),
            ("env -C out ctest", "ctest --test-dir out"),
            (
                "cargo test --all-features --workspace",
                "cargo test --workspace --all-features",
            ),
            (
                "cargo clippy --workspace -- -D warnings",
                "cargo clippy --all --message-format short -- -D warnings",
            ),
            (
                "pytest",
                "uv run --group dev pytest -v --cov-report xml --durations=10 -n auto",
            ),
            ("pytest tests", "python -m pytest tests --junitxml=x.xml"),
            ("ruff check", "uv run ruff check . --output-format=github"),
            ("npm test", "npm run test"),
            ("npm run lint", "npm run-script lint"),
            ("pnpm lint", "pnpm run lint"),
            ("npx eslint .", "pnpm exec eslint . --cache --no-color"),
            ("npx vitest run", "CI=1 vitest"),
            ("go test ./...", "richgo test -v ./..."),
            ("go test ./...", "gotestsum --format x -- -count=1 ./..."),
            ("make -j4 test", "make test"),
            ("make -j 4 test", "nix develop -c make test"),
            ("tox run -e py", "tox -e py"),
            ("mvn -B verify", "./mvnw --no-transfer-progress verify"),
            ("isort --check .", "isort --check-only ."),
            ("prettier --check .", "prettier -l ."),
            (
                "ctest --test-dir build",
                "ctest --output-on-failure --test-dir build",
            ),
            ("env A=1 cargo test", "A=1 cargo test"),
            ("env CARGO_TERM_COLOR=always cargo test", "cargo test"),
        ] {
            assert_eq!(of(one), of(other), "{one} / {other}");
        }
    }

    #[test]
    fn other_work() {
        for (one, other) in [
            ("cargo test", "cargo test --workspace"),
            ("cargo test", "cargo build"),
            ("cargo clippy", "cargo clippy -- -D warnings"),
            ("cargo test --features a", "cargo test --features b"),
            ("go test ./...", "go test -race ./..."),
            ("grep -v a b", "grep a b"),
            ("pytest a", "pytest b"),
            ("A=1 cargo test", "cargo test"),
            ("RUSTFLAGS=-Dwarnings cargo test", "cargo test"),
            ("x a --b c", "x a c --b"),
            ("npm test", "pnpm test"),
            ("sh -c a", "sh -c b"),
            ("env -C a make", "make"),
            ("mypy .", "mypy src"),
        ] {
            assert_ne!(of(one), of(other), "{one} / {other}");
        }
    }

    fn candidate(work: Work) -> Candidate {
        let origin = Origin {
            file: RepoPath::root(),
            line: 1,
            label: String::new(),
        };
        Candidate::new(origin, Belief::Workflow, work, RepoPath::root())
    }

    #[test]
    fn forms_are_of_the_leaves() {
        let mut one = candidate(Work::Words(words("npm run check")));
        let leaf = |text: &str| Leaf {
            dir: RepoPath::root(),
            env: BTreeMap::new(),
            words: words(text),
        };
        one.leaves = vec![leaf("vitest run"), leaf("eslint .")];
        assert_eq!(forms(&one), [". eslint .", ". vitest"]);
        let shell = candidate(Work::Shell("a  |\n b".to_owned()));
        assert_eq!(forms(&shell), [". shell a | b"]);
    }

    #[test]
    fn compiled_alike() {
        let what = |text: &str| compiled(&candidate(Work::Words(words(text))));
        for (build, test) in [
            ("cargo build", "cargo test"),
            ("cargo build --locked --verbose", "cargo test --locked"),
            ("cargo check --all", "cargo test --workspace -- --nocapture"),
            ("go build ./...", "go test -race ./..."),
            ("dotnet build --no-restore", "dotnet test"),
            ("mvn -B compile", "mvn test"),
        ] {
            assert!(what(build).is_some(), "{build}");
            assert_eq!(what(build), what(test), "{build} / {test}");
        }
        for (build, test) in [
            ("cargo build --release", "cargo test"),
            ("cargo build --all-features", "cargo test"),
            ("cargo build", "cargo test --workspace"),
            ("cargo build", "cargo test --lib"),
            ("cargo build --all-targets", "cargo test"),
            ("go build -o x ./...", "go test ./..."),
            ("dotnet build", "dotnet test --no-build"),
            ("npm run build", "npm test"),
        ] {
            let (build, test) = (what(build), what(test));
            assert!(build.is_none() || build != test, "{build:?} / {test:?}");
        }
    }
}
