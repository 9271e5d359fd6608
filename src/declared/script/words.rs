//! Reads single commands of a script.

use super::super::judge;
use super::super::launch;
use super::super::normal;
use super::super::shell::{self, Piece, Simple, Text, Word};
use super::super::tree::Tree;
use super::edits;
use crate::base::path::RepoPath;
use std::collections::BTreeMap;

/// Programs that print, ask, or wait: what they do is no work.
const NOISE: &[&str] = &[
    ":",
    "[",
    "[[",
    "basename",
    "cat",
    "cut",
    "date",
    "declare",
    "df",
    "dirname",
    "du",
    "echo",
    "env",
    "exit",
    "export",
    "false",
    "file",
    "free",
    "head",
    "hostname",
    "jq",
    "local",
    "ls",
    "lscpu",
    "mktemp",
    "nproc",
    "printenv",
    "printf",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "return",
    "seq",
    "set",
    "shift",
    "sleep",
    "sort",
    "stat",
    "tail",
    "tee",
    "test",
    "tr",
    "tree",
    "true",
    "tty",
    "type",
    "uname",
    "uniq",
    "unset",
    "uptime",
    "wait",
    "wc",
    "which",
    "whoami",
    "yes",
    "yq",
    "break",
    "continue",
    "shopt",
    "source",
    ".",
    "trap",
    "ulimit",
    "umask",
    "cd",
    "pushd",
    "popd",
    "readonly",
    "id",
    "ldd",
    "tput",
    "sync",
    "lsb_release",
    "grep",
    "egrep",
    "awk",
    "sed",
];

/// Whether a command does no work in a script.
pub fn is_noise(words: &[String]) -> bool {
    let Some(first) = words.first() else {
        return true;
    };
    if first == "env" || first == "command" {
        return words.len() == 1
            || words
                .get(1)
                .is_some_and(|w| matches!(w.as_str(), "-v" | "-V"));
    }
    // A comparison that looks for what has changed.
    let looks = first == "git"
        && words.iter().any(|w| w == "diff")
        && !words.iter().any(|w| w == "--check");
    looks || (NOISE.contains(&first.as_str()) && !writes_in_place(words)) || judge::is_noise(words)
}

/// `sed -i`.
fn writes_in_place(words: &[String]) -> bool {
    words.first().is_some_and(|w| w == "sed" || w == "awk")
        && words
            .iter()
            .any(|w| w.starts_with("-i") || w == "--in-place" || w == "inplace")
}

/// Whether a plain command asserts something of a file by its exit code.
pub fn asserts(words: &[String]) -> bool {
    let quiet = || words.iter().any(|w| w == "-q" || w == "--quiet");
    match words.first().map(String::as_str) {
        Some("test" | "[") => !words.iter().any(|w| w.contains('$')),
        Some("grep" | "egrep") => quiet() && !words.iter().any(|w| w.contains('$')),
        _ => false,
    }
}

/// Programs that only prepare for others.
pub fn prepares(words: &[String]) -> bool {
    const PROGRAMS: &[&str] = &[
        "mkdir",
        "cp",
        "chmod",
        "ln",
        "touch",
        "mv",
        "tar",
        "unzip",
        "zip",
        "gzip",
        "gunzip",
        "7z",
        "install",
        "xz",
        "zstd",
        "openssl",
        "sha256sum",
        "md5sum",
        "shasum",
        "dos2unix",
        "locale-gen",
        "sccache",
        "ccache",
        "virtualenv",
        "venv",
        "dotenv",
    ];
    let peeled = launch::peel(words);
    let own = words.get(peeled.at()..).unwrap_or_default();
    let first = own.first().map_or("", |w| launch::name(w));
    // `sha256sum -c` verifies.
    let verifies = own.iter().any(|w| matches!(w.as_str(), "-c" | "--check"));
    (PROGRAMS.contains(&first) && !verifies)
        || (first == "cmake" && own.iter().any(|w| w == "-E"))
        || (first == "git" && own.iter().any(|w| matches!(w.as_str(), "init" | "config")))
}

/// Whether it configures a build; its products are added.
pub fn configures(words: &[String], dir: &RepoPath, produces: &mut Vec<String>) -> bool {
    let peeled = launch::peel(words);
    let own = words.get(peeled.at()..).unwrap_or_default();
    let Some((first, rest)) = own.split_first() else {
        return false;
    };
    let below = |folder: &str| dir.join(folder.as_bytes()).ok().filter(|p| !p.is_root());
    let mut add = |folder: &str| {
        if let Some(path) = below(folder) {
            produces.push(format!("{path}/**"));
        }
    };
    match launch::name(first) {
        "cmake" => {
            let other = [
                "--build",
                "--install",
                "-E",
                "-P",
                "--version",
                "--workflow",
                "--open",
                "--find-package",
            ];
            if rest.iter().any(|w| other.contains(&w.as_str())) {
                return false;
            }
            let folder = rest.iter().enumerate().find_map(|(at, w)| {
                if w == "-B" {
                    rest.get(at + 1).map(String::as_str)
                } else {
                    w.strip_prefix("-B").filter(|w| !w.is_empty())
                }
            });
            if let Some(folder) = folder {
                add(folder);
            }
            true
        }
        "meson" if rest.first().is_some_and(|w| w == "setup") => {
            if let Some(folder) = rest.iter().skip(1).find(|w| !w.starts_with('-')) {
                add(folder);
            }
            true
        }
        "autoreconf" | "autogen.sh" | "bootstrap" | "bootstrap.sh" | "buildconf"
        | "buildconf.sh" => {
            if let Some(path) = below("configure") {
                produces.push(path.to_string());
            }
            true
        }
        "configure" if first.contains('/') => {
            if let (Some(path), true) = (below("config.status"), first == "./configure") {
                produces.push(path.to_string());
            }
            true
        }
        _ => false,
    }
}

/// The first operand that leads out of the repository.
pub fn outside<'a>(words: &'a [String], dir: Option<&RepoPath>) -> Option<&'a str> {
    let dir = dir?;
    let leads_out = |word: &&String| {
        (*word == ".." || word.starts_with("../")) && dir.join(word.as_bytes()).is_err()
    };
    words.iter().find(leads_out).map(String::as_str)
}

/// Whether what tests the result compiles it itself.
pub fn builds_by_itself(words: &[String]) -> bool {
    let peeled = launch::peel(words);
    let first = words.get(peeled.at()).map_or("", |w| launch::name(w));
    matches!(
        first,
        "cargo"
            | "go"
            | "mvn"
            | "gradle"
            | "swift"
            | "zig"
            | "mix"
            | "sbt"
            | "stack"
            | "cabal"
            | "bazel"
            | "gleam"
    )
}

/// Words with their variables filled in.
#[derive(Default)]
pub struct Filled {
    pub env: BTreeMap<String, String>,
    pub words: Vec<String>,
    /// Whether a shell would make other words of one of them.
    pub needs_shell: bool,
}

/// Fills in variables. Numbers of processors are removed with their option.
///
/// # Errors
/// The first piece that is not known, as it is written.
pub fn filled(simple: &Simple, value: &dyn Fn(&str) -> Option<String>) -> Result<Filled, String> {
    let mut out = Filled::default();
    for (name, word) in &simple.env {
        out.env.insert(name.clone(), word.fill(value)?);
    }
    for word in &simple.words {
        if counts_processors(word) {
            let shown = word.shown();
            let attached = shown.starts_with("-j") || shown.starts_with("--");
            let option = out.words.last().is_some_and(|w| {
                matches!(
                    w.as_str(),
                    "-j" | "--jobs"
                        | "--parallel"
                        | "-n"
                        | "--test-threads"
                        | "--concurrency"
                        | "-P"
                )
            });
            if attached {
                continue;
            }
            if option {
                out.words.pop();
                continue;
            }
        }
        let text = word.fill(value)?;
        // An unquoted variable that is empty is no word.
        if text.is_empty() && !word.quoted {
            continue;
        }
        let split = !word.quoted
            && word
                .pieces
                .iter()
                .any(|p| matches!(p, Piece::Variable { .. }))
            && text.contains(' ');
        if split {
            out.words.extend(text.split_whitespace().map(str::to_owned));
        } else {
            out.words.push(text);
        }
        out.needs_shell |= word.glob;
    }
    Ok(out)
}

/// `$(nproc)`, `$(sysctl -n hw.ncpu)`.
fn counts_processors(word: &Word) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Opaque(raw) => {
            raw.contains("nproc")
                || raw.contains("hw.ncpu")
                || raw.contains("hw.logicalcpu")
                || raw.contains("_NPROCESSORS_ONLN")
        }
        _ => false,
    })
}

/// Takes off what a contract says otherwise: `time`, `timeout 5m` (its minutes), `retry`, and
/// programs that only decorate another's output.
pub fn unwrap(words: &mut Vec<String>) -> Option<u32> {
    let mut minutes = None;
    for _ in 0..4 {
        let name = words.first().map_or("", |w| launch::name(w)).to_owned();
        let peeled = launch::peel(words);
        let Some(next) = peeled.starts.get(1).copied() else {
            break;
        };
        match name.as_str() {
            "time" | "retry" | "nice" | "ionice" | "stdbuf" | "unbuffer" | "nohup" | "chronic"
            | "command" | "catchsegv" => {}
            "timeout" | "gtimeout" => {
                let amount = words.get(..next).and_then(|front| {
                    front
                        .iter()
                        .rev()
                        .find(|w| w.starts_with(|c: char| c.is_ascii_digit()))
                });
                minutes = amount.and_then(|w| in_minutes(w));
            }
            _ => break,
        }
        words.drain(..next);
    }
    *words = normal::decorated(words);
    minutes
}

/// `90`, `90s`, `5m`, `1h` in minutes, rounded up.
fn in_minutes(text: &str) -> Option<u32> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let amount: u32 = digits.parse().ok()?;
    let minutes = match text.get(digits.len()..)? {
        "" | "s" => amount.div_ceil(60),
        "m" => amount,
        "h" => amount.checked_mul(60)?,
        _ => return None,
    };
    (minutes > 0).then_some(minutes)
}

/// Whether a command of a pipe only shows what comes through it.
pub fn only_shows(tree: &Tree, dir: Option<&RepoPath>, text: &str) -> bool {
    const SHOWS: &[&str] = &[
        "tee",
        "cat",
        "tail",
        "head",
        "xcpretty",
        "xcbeautify",
        "reviewdog",
        "gotestfmt",
        "tparse",
        "go-junit-report",
        "cargo2junit",
        "ts",
        "pino-pretty",
        "bunyan",
        "tap-spec",
        "tap-dot",
        "tap-xunit",
        "ansi2html",
        "less",
        "nl",
        "fold",
        "clippy-sarif",
        "sarif-fmt",
        "junit-xml",
        "tojunit",
        "cargo-sarif",
    ];
    let found = shell::commands(text);
    let [words] = found.as_slice() else {
        return false;
    };
    let writes = words
        .iter()
        .skip(1)
        .any(|w| dir.is_some_and(|dir| edits::is_tracked(tree, dir, w)));
    words
        .first()
        .is_some_and(|w| SHOWS.contains(&launch::name(w)))
        && !writes
}

/// The end that an alternative gives a command that failed.
pub enum End {
    Passes,
    Fails,
    Other,
}

/// The end that `|| TEXT` gives a failure.
pub fn end_of(text: &str) -> End {
    let read = shell::read(text);
    if read.broken {
        return End::Other;
    }
    let mut end = End::Passes;
    for simple in &read.commands {
        let words = simple.shown();
        let second = words.get(1).map(String::as_str);
        match words.first().map(String::as_str) {
            // `failed=1`: a later command fails for it.
            None if !simple.env.is_empty() => return End::Fails,
            Some("exit" | "return") if second != Some("0") => return End::Fails,
            Some("false") => return End::Fails,
            Some("exit" | "return" | "true" | ":" | "echo" | "printf") => {}
            Some("cat" | "git" | "ls" | "tail" | "head")
                if is_noise(&words) || second == Some("diff") => {}
            _ => end = End::Other,
        }
    }
    end
}

/// The pathspecs of a comparison of the work tree with git, if a command is one.
pub fn comparison(simple: &Simple) -> Option<Vec<String>> {
    let words = simple.shown();
    match words.first()?.as_str() {
        "test" | "[" | "[[" => {
            let asks = |w: &String| {
                (w.starts_with('$') || w.starts_with('`'))
                    && (w.contains("git status")
                        || w.contains("git diff")
                        || w.contains("git ls-files"))
            };
            let inner = words.iter().find(|w| asks(w))?;
            let inner = inner
                .trim_start_matches("$(")
                .trim_end_matches(')')
                .trim_matches('`');
            let found = shell::commands(inner);
            let words = found.first()?;
            let sub = words
                .iter()
                .position(|w| matches!(w.as_str(), "status" | "diff" | "ls-files"))?;
            Some(paths(words.get(sub + 1..).unwrap_or_default()))
        }
        "git" => {
            let sub = words
                .iter()
                .position(|w| matches!(w.as_str(), "diff" | "diff-index" | "diff-files"))?;
            let rest = words.get(sub + 1..).unwrap_or_default();
            let compares = rest
                .iter()
                .any(|w| matches!(w.as_str(), "--exit-code" | "--quiet"));
            // A comparison with another commit looks for what has changed.
            let other = rest.iter().any(|w| {
                w.contains("..") && !w.starts_with('.')
                    || w.contains("origin/")
                    || w.contains("base")
            });
            (compares && !other).then(|| paths(rest))
        }
        _ => None,
    }
}

/// The operands of `git diff` and `git status` that are paths.
fn paths(rest: &[String]) -> Vec<String> {
    let from = rest.iter().position(|w| w == "--").map_or(0, |at| at + 1);
    rest.get(from..)
        .unwrap_or_default()
        .iter()
        .filter(|w| !w.starts_with('-') && !matches!(w.as_str(), "HEAD" | "@"))
        .cloned()
        .collect()
}

/// The pathspecs of a compound command around a comparison, which fails where there is a difference.
pub fn compared_within(read: &Text, text: &str) -> Option<Vec<String>> {
    let fails = read.commands.iter().any(|simple| {
        let words = simple.shown();
        words.first().is_some_and(|w| {
            w == "false"
                || ((w == "exit" || w == "return") && words.get(1).is_none_or(|c| c != "0"))
        })
    });
    let negated = text.trim_start().starts_with('!') || text.trim_start().starts_with("[[");
    if !fails && !negated {
        return None;
    }
    // Nothing else is done there.
    let works = read.commands.iter().any(|simple| {
        let words = simple.shown();
        !words.is_empty() && !is_noise(&words) && words.first().is_some_and(|w| w != "git")
    });
    if works {
        return None;
    }
    read.commands.iter().find_map(|simple| {
        let words = simple.shown();
        if let Some(found) = comparison(simple) {
            return Some(found);
        }
        let is_status = words.first().is_some_and(|w| w == "git")
            && words.iter().any(|w| w == "status")
            && words.iter().any(|w| w == "--porcelain" || w == "-s");
        let is_text =
            words.first().is_some_and(|w| w == "[[") && words.iter().any(|w| w.contains("git"));
        (is_status || is_text).then(Vec::new)
    })
}

/// Whether a text does nothing but define a function.
pub fn is_function(text: &str) -> bool {
    let text = text.trim_start();
    let name: String = text
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':'))
        .collect();
    text.starts_with("function ")
        || (!name.is_empty()
            && text
                .get(name.len()..)
                .is_some_and(|rest| rest.trim_start().starts_with("()")))
}

/// The first variable of a text that nothing sets, as it is written.
pub fn unset(read: &Text, text: &str, known: &dyn Fn(&str) -> bool) -> Option<String> {
    let own: Vec<&str> = read
        .commands
        .iter()
        .flat_map(|simple| simple.env.iter().map(|(name, _)| name.as_str()))
        .collect();
    let looped = |name: &str| {
        text.contains(&format!("for {name} "))
            || text.contains(&format!("read {name}"))
            || text.contains(&format!("read -r {name}"))
    };
    let words = read.commands.iter().flat_map(|simple| {
        simple
            .words
            .iter()
            .chain(simple.env.iter().map(|(_, word)| word))
            .chain(simple.redirections.iter().map(|r| &r.target))
    });
    words
        .flat_map(|word| &word.pieces)
        .find_map(|piece| match piece {
            Piece::Variable { name, default, raw } => {
                let set = own.contains(&name.as_str())
                    || looped(name)
                    || known(name)
                    || default.is_some();
                (!set).then(|| raw.clone())
            }
            Piece::Opaque(raw) if raw.starts_with("${{") => Some(raw.clone()),
            Piece::Opaque(raw)
                if raw.starts_with('$')
                    && raw.len() == 2
                    && !matches!(raw.as_str(), "$?" | "$!" | "$$") =>
            {
                Some(raw.clone())
            }
            _ => None,
        })
}

/// Whether the name of a task says that it generates.
pub fn sounds_generating(text: &str) -> bool {
    let words = text.to_ascii_lowercase();
    let mut parts = words.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| {
        part.starts_with("gen") && !part.starts_with("genuine") && !part.starts_with("general")
            || matches!(
                part,
                "codegen"
                    | "docs"
                    | "schema"
                    | "schemas"
                    | "update"
                    | "sync"
                    | "bindings"
                    | "manifests"
                    | "proto"
                    | "protos"
                    | "vendor"
                    | "bundle"
                    | "dist"
            )
    })
}
