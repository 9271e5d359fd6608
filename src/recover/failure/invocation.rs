//! Which tools does an argument vector start, and what does it ask of them?
//!
//! A command is seen as layers: `env CI=1 pnpm exec vitest run` is `env`, behind it pnpm, behind it vitest. Each layer knows
//! its own words for "I cannot find that".

use crate::base::path::RepoPath;
use crate::base::word::Word;
use crate::plan::Step;

/// The tools whose words are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tool {
    Ava,
    Bun,
    BunTest,
    Cargo,
    Ctest,
    Cypress,
    DenoTest,
    Go,
    Jest,
    Just,
    Make,
    Mocha,
    Nextest,
    Ninja,
    Node,
    NodeTest,
    Npm,
    Playwright,
    Pnpm,
    Pytest,
    Python,
    /// `uv run`, `poetry run` and their like.
    PythonRunner,
    Shell,
    /// A package script whose body is not known, since its runner did not print it.
    SilentScript,
    Unittest,
    Vitest,
    /// `env`, `timeout`, `nice`: they only start something else.
    Wrapper,
    Yarn,
    Other,
}

/// What a layer asks its tool to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Run a package script.
    Script,
    /// Start another program.
    Exec,
    /// Build goals.
    Goals,
    /// Run a Python module.
    Module,
    /// Run a subcommand.
    Subcommand,
    /// Anything else.
    Plain,
}

/// One tool of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    pub tool: Tool,
    pub role: Role,
    /// The program's name without its folder.
    pub program: String,
    /// The scripts, goals, programs or modules asked for.
    pub asked: Vec<String>,
    /// Where the file stands that declares them, if that is certain.
    pub dir: Option<RepoPath>,
    /// Whether a name that is no script may still work (`yarn eslint` starts a program).
    pub lenient: bool,
    /// Whether the runner's own print of a script's body is all that tells of it.
    pub echoed: bool,
    /// A file given by option (`-f build.mk`), instead of the usual one.
    pub file: Option<String>,
}

type Words<'a> = &'a [String];

/// What is started by this layer, and where.
type Inner = Option<(Vec<String>, Option<RepoPath>)>;

/// More layers than any real command has.
const DEEPEST: usize = 8;

/// The layers of a step's command, outermost first. None without an argument vector.
pub(super) fn layers_of(step: &Step) -> Vec<Layer> {
    let words: Vec<String> = step.argv.iter().flatten().map(lossy).collect();
    layers(&words, Some(&step.dir))
}

fn lossy(word: &Word) -> String {
    String::from_utf8_lossy(word.as_bytes()).into_owned()
}

/// The layers of words that start in this directory, if it is known.
pub(super) fn layers(words: Words<'_>, dir: Option<&RepoPath>) -> Vec<Layer> {
    let mut found = Vec::new();
    let mut next = Some((words.to_vec(), dir.cloned()));
    while let Some((words, dir)) = next.take().filter(|(words, _)| !words.is_empty() && found.len() < DEEPEST) {
        let (layer, inner) = peel(&words, dir);
        found.push(layer);
        next = inner;
    }
    found
}

/// The layers of a script's body as its runner printed it. Only its simple commands are looked at.
pub(super) fn layers_of_body(body: &str) -> Vec<Layer> {
    let mut found = Vec::new();
    for part in body.split(['&', '|', ';']) {
        let words: Vec<String> = part
            .split_whitespace()
            .map(|w| w.trim_matches(['"', '\'']).to_owned())
            .skip_while(|w| is_assignment(w))
            .collect();
        found.extend(layers(&words, None).into_iter().map(|layer| Layer { echoed: true, ..layer }));
    }
    found
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| crate::base::command::is_env_name(name))
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The directory that an option names.
fn moved(dir: &Option<RepoPath>, to: &str) -> Option<RepoPath> {
    dir.as_ref().and_then(|d| d.join(to.as_bytes()).ok())
}

fn peel(words: Words<'_>, dir: Option<RepoPath>) -> (Layer, Inner) {
    let program = words.first().map(|w| base_name(w)).unwrap_or_default();
    let rest = words.get(1..).unwrap_or_default();
    let plain = |tool| Layer {
        tool,
        role: Role::Plain,
        program: program.to_owned(),
        asked: Vec::new(),
        dir: dir.clone(),
        lenient: true,
        echoed: false,
        file: None,
    };
    match program {
        "npm" => npm(rest, plain(Tool::Npm)),
        "pnpm" => pnpm(rest, plain(Tool::Pnpm)),
        "yarn" | "yarnpkg" => yarn(rest, plain(Tool::Yarn)),
        "bun" => bun(rest, plain(Tool::Bun)),
        "npx" => exec(rest, plain(Tool::Npm), NPX_VALUES),
        "pnpx" => exec(rest, plain(Tool::Pnpm), &[]),
        "bunx" => exec(rest, plain(Tool::Bun), &["-p", "--package"]),
        "corepack" => (plain(Tool::Wrapper), Some((unversioned(rest), dir))),
        "make" | "gmake" => (make(rest, plain(Tool::Make)), None),
        "ninja" | "ninja-build" | "samu" => (ninja(rest, plain(Tool::Ninja)), None),
        "just" => (just(rest, plain(Tool::Just)), None),
        "env" | "cross-env" => environment(rest, plain(Tool::Wrapper)),
        "timeout" | "gtimeout" => {
            let (rest, _) = skip_options(rest, &["-k", "--kill-after", "-s", "--signal"]);
            wrapped(rest.get(1..).unwrap_or_default(), plain(Tool::Wrapper))
        }
        "nice" | "ionice" | "nohup" | "setsid" | "stdbuf" | "time" | "xvfb-run" => {
            let (rest, _) = skip_options(rest, &["-n", "-c", "-p", "-i", "-o", "-e", "-s", "-f", "-w"]);
            wrapped(rest, plain(Tool::Wrapper))
        }
        "uv" | "poetry" | "pipenv" | "pdm" | "rye" | "hatch" => match rest.split_first() {
            Some((run, rest)) if run == "run" => {
                let (rest, _) = skip_options(rest, UV_VALUES);
                wrapped(rest, plain(Tool::PythonRunner))
            }
            _ => (plain(Tool::PythonRunner), None),
        },
        "uvx" => wrapped(skip_options(rest, UV_VALUES).0, plain(Tool::PythonRunner)),
        "coverage" => match rest.split_first() {
            Some((run, rest)) if run == "run" => (plain(Tool::Other), module(rest, dir).1),
            _ => (plain(Tool::Other), None),
        },
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => (plain(Tool::Shell), None),
        "cargo" => cargo(rest, plain(Tool::Cargo)),
        "cargo-nextest" => (plain(Tool::Nextest), None),
        "go" => (with_subcommand(plain(Tool::Go), skip_options(rest, &["-C"]).0), None),
        "node" | "nodejs" => node(rest, plain(Tool::Node)),
        "vitest" => (plain(Tool::Vitest), None),
        "jest" => (plain(Tool::Jest), None),
        "react-scripts" if rest.first().is_some_and(|w| w == "test") => (plain(Tool::Jest), None),
        "mocha" | "_mocha" => (plain(Tool::Mocha), None),
        "ava" => (plain(Tool::Ava), None),
        "playwright" => (plain(Tool::Playwright), None),
        "cypress" => (plain(Tool::Cypress), None),
        "ctest" => (plain(Tool::Ctest), None),
        "deno" if rest.first().is_some_and(|w| w == "test") => (plain(Tool::DenoTest), None),
        "pytest" | "py.test" => (plain(Tool::Pytest), None),
        "unittest" => (plain(Tool::Unittest), None),
        _ if is_python(program) => {
            let (asked, inner) = module(rest, dir.clone());
            let role = if asked.is_empty() { Role::Plain } else { Role::Module };
            (Layer { role, asked, ..plain(Tool::Python) }, inner)
        }
        _ => (plain(Tool::Other), None),
    }
}

fn is_python(program: &str) -> bool {
    ["python", "pypy"].iter().any(|name| {
        program.strip_prefix(name).is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
    })
}

fn wrapped(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let asked = rest.first().map(|w| base_name(w).to_owned()).into_iter().collect();
    let dir = layer.dir.clone();
    (Layer { role: Role::Exec, asked, ..layer }, Some((rest.to_vec(), dir)))
}

fn environment(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let (mut rest, options) = skip_options(rest, &["-u", "--unset", "-C", "--chdir"]);
    let dir = match value(&options, &["-C", "--chdir"]) {
        Some(to) => moved(&layer.dir, to),
        None => layer.dir.clone(),
    };
    while let Some((_, further)) = rest.split_first().filter(|(first, _)| first.contains('=')) {
        rest = further;
    }
    wrapped(rest, Layer { dir, ..layer })
}

/// `vitest@2.1.9` names the program `vitest`; `@scope/name` stays.
fn unversioned(rest: Words<'_>) -> Vec<String> {
    let mut words = rest.to_vec();
    if let Some(first) = words.first_mut()
        && let Some((name, _)) = first.rsplit_once('@').filter(|(name, _)| !name.is_empty())
    {
        *first = name.to_owned();
    }
    words
}

fn exec(rest: Words<'_>, layer: Layer, valued: &[&str]) -> (Layer, Inner) {
    let (rest, _) = skip_options(rest, valued);
    let words = unversioned(rest);
    let dir = layer.dir.clone();
    let asked = words.first().cloned().into_iter().collect();
    (Layer { role: Role::Exec, asked, ..layer }, Some((words, dir)))
}

/// `-m NAME …`, behind other options. The module's name stands for its program.
fn module(rest: Words<'_>, dir: Option<RepoPath>) -> (Vec<String>, Inner) {
    let mut words = rest;
    while let Some((first, further)) = words.split_first() {
        if first == "-m" {
            let asked = further.first().cloned().into_iter().collect();
            return (asked, Some((further.to_vec(), dir)));
        }
        let takes_value = matches!(first.as_str(), "-W" | "-X");
        if !first.starts_with('-') || first == "-" || first == "-c" {
            break;
        }
        words = further.get(usize::from(takes_value)..).unwrap_or_default();
    }
    (Vec::new(), None)
}

type Options<'a> = Vec<(&'a str, Option<&'a str>)>;

/// Options in front of the first other word; `--` ends them and goes.
fn skip_options<'a>(words: Words<'a>, valued: &[&str]) -> (Words<'a>, Options<'a>) {
    let mut rest = words;
    let mut options = Vec::new();
    while let Some((first, further)) = rest.split_first() {
        if first == "--" {
            return (further, options);
        }
        if !first.starts_with('-') || first == "-" {
            break;
        }
        rest = further;
        if let Some((name, value)) = first.split_once('=') {
            options.push((name, Some(value)));
        } else if valued.contains(&first.as_str()) {
            options.push((first, rest.first().map(String::as_str)));
            rest = rest.get(1..).unwrap_or_default();
        } else {
            options.push((first, None));
        }
    }
    (rest, options)
}

fn value<'a>(options: &Options<'a>, names: &[&str]) -> Option<&'a str> {
    options.iter().rev().find(|(name, _)| names.contains(name)).and_then(|(_, value)| *value)
}

fn has(options: &Options<'_>, names: &[&str]) -> bool {
    options.iter().any(|(name, _)| names.contains(name))
}

fn script(layer: Layer, name: &str) -> Layer {
    Layer { role: Role::Script, asked: vec![name.to_owned()], ..layer }
}

const UV_VALUES: &[&str] = &[
    "--with",
    "--extra",
    "--group",
    "--only-group",
    "-p",
    "--python",
    "--project",
    "--directory",
    "--env-file",
    "--package",
    "--from",
    "--index-url",
    "--default-index",
];
const NPX_VALUES: &[&str] =
    &["-p", "--package", "-w", "--workspace", "-c", "--call", "--prefix", "--loglevel", "--registry"];
const NPM_VALUES: &[&str] = &[
    "--prefix",
    "-C",
    "-w",
    "--workspace",
    "--loglevel",
    "--script-shell",
    "--userconfig",
    "--cache",
    "--registry",
    "-p",
    "--package",
];

fn npm(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    // npm takes its options anywhere in front of `--`.
    let own = rest.iter().position(|w| w == "--").map_or(rest, |end| rest.get(..end).unwrap_or_default());
    let (mut words, mut options) = skip_options(own, NPM_VALUES);
    let mut positional = Vec::new();
    while let Some((first, further)) = words.split_first() {
        positional.push(first.as_str());
        let (next, more) = skip_options(further, NPM_VALUES);
        words = next;
        options.extend(more);
    }
    let dir = match value(&options, &["--prefix", "-C"]) {
        _ if has(&options, &["-w", "--workspace", "-ws", "--workspaces", "--ws"]) => None,
        Some(to) => moved(&layer.dir, to),
        None => layer.dir.clone(),
    };
    let if_present = has(&options, &["--if-present"]);
    let layer = Layer { dir, lenient: if_present, ..layer };
    match *positional.as_slice() {
        ["run" | "run-script" | "rum" | "urn", name, ..] => {
            (Layer { lenient: if_present || matches!(name, "start" | "restart" | "env"), ..script(layer, name) }, None)
        }
        ["test" | "t" | "tst", ..] => (script(layer, "test"), None),
        // Without the script it starts server.js.
        ["start", ..] => (Layer { lenient: true, ..script(layer, "start") }, None),
        ["stop", ..] => (script(layer, "stop"), None),
        ["exec" | "x", ..] => {
            let at = rest.iter().position(|w| w == "exec" || w == "x").map_or(rest.len(), |i| i + 1);
            exec(rest.get(at..).unwrap_or_default(), layer, NPM_VALUES)
        }
        _ => (layer, None),
    }
}

const PNPM_VALUES: &[&str] = &[
    "-C",
    "--dir",
    "-F",
    "--filter",
    "--filter-prod",
    "--test-pattern",
    "--changed-files-ignore-pattern",
    "--reporter",
    "--loglevel",
    "--workspace-concurrency",
    "--store-dir",
    "--resume-from",
    "--node-options",
];
/// The first word after `pnpm` that is none of these is a script, or a program.
const PNPM_COMMANDS: &[&str] = &[
    "add",
    "approve-builds",
    "audit",
    "bin",
    "bugs",
    "c",
    "cache",
    "cat-file",
    "cat-index",
    "completion",
    "config",
    "create",
    "ci",
    "dedupe",
    "deploy",
    "docs",
    "doctor",
    "edit",
    "env",
    "fetch",
    "find-hash",
    "get",
    "help",
    "i",
    "ignored-builds",
    "import",
    "info",
    "init",
    "install",
    "install-test",
    "it",
    "la",
    "licenses",
    "link",
    "list",
    "ll",
    "ln",
    "login",
    "logout",
    "ls",
    "outdated",
    "owner",
    "pack",
    "patch",
    "patch-commit",
    "patch-remove",
    "ping",
    "prefix",
    "prune",
    "publish",
    "rb",
    "rebuild",
    "remove",
    "rm",
    "root",
    "search",
    "self-update",
    "server",
    "set",
    "setup",
    "show",
    "store",
    "un",
    "uninstall",
    "unlink",
    "up",
    "update",
    "upgrade",
    "version",
    "view",
    "whoami",
    "why",
];

fn pnpm(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let (mut words, mut options) = skip_options(rest, PNPM_VALUES);
    if let Some((first, further)) =
        words.split_first().filter(|(first, _)| matches!(first.as_str(), "recursive" | "multi" | "m"))
    {
        let (next, more) = skip_options(further, PNPM_VALUES);
        options.push((first, None));
        options.extend(more);
        words = next;
    }
    let Some((command, further)) = words.split_first() else { return (layer, None) };
    let (behind, more) = skip_options(further, PNPM_VALUES);
    // Behind the name of a script options are the script's own; behind `run` they still are pnpm's.
    let runs = matches!(command.as_str(), "run" | "run-script");
    if runs {
        options.extend(more);
    }
    let elsewhere =
        ["-F", "--filter", "--filter-prod", "-r", "--recursive", "recursive", "multi", "m", "-w", "--workspace-root"];
    let dir = match value(&options, &["-C", "--dir"]) {
        _ if has(&options, &elsewhere) => None,
        Some(to) => moved(&layer.dir, to),
        None => layer.dir.clone(),
    };
    let if_present = has(&options, &["--if-present"]);
    let layer = Layer { dir, lenient: if_present, ..layer };
    match command.as_str() {
        _ if runs => match behind.first() {
            // A regular expression selects scripts.
            Some(name) => {
                (Layer { lenient: if_present || name.starts_with('/') || name == "start", ..script(layer, name) }, None)
            }
            None => (layer, None),
        },
        "test" | "t" | "tst" => (script(layer, "test"), None),
        "start" => (Layer { lenient: true, ..script(layer, "start") }, None),
        "stop" => (script(layer, "stop"), None),
        "exec" | "dlx" => exec(further, layer, PNPM_VALUES),
        name if PNPM_COMMANDS.contains(&name) => (layer, None),
        name => {
            let dir = layer.dir.clone();
            let inner = words.to_vec();
            // It falls back to a program of this name.
            (Layer { lenient: true, ..script(layer, name) }, Some((inner, dir)))
        }
    }
}

const YARN_VALUES: &[&str] =
    &["--cwd", "--mutex", "--use-yarnrc", "--cache-folder", "--modules-folder", "--registry", "--inspect-brk"];
const FOREACH_VALUES: &[&str] = &["-j", "--jobs", "--include", "--exclude", "--from"];
const YARN_COMMANDS: &[&str] = &[
    "add",
    "audit",
    "autoclean",
    "bin",
    "cache",
    "config",
    "constraints",
    "create",
    "dedupe",
    "explain",
    "generate-lock-entry",
    "global",
    "help",
    "import",
    "info",
    "init",
    "install",
    "licenses",
    "link",
    "list",
    "login",
    "logout",
    "node",
    "npm",
    "outdated",
    "owner",
    "pack",
    "patch",
    "patch-commit",
    "plugin",
    "policies",
    "publish",
    "rebuild",
    "remove",
    "search",
    "set",
    "tag",
    "team",
    "unlink",
    "unplug",
    "up",
    "upgrade",
    "upgrade-interactive",
    "version",
    "versions",
    "why",
];

fn yarn(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let (words, options) = skip_options(rest, YARN_VALUES);
    let dir = match value(&options, &["--cwd"]) {
        Some(to) => moved(&layer.dir, to),
        None => layer.dir.clone(),
    };
    let layer = Layer { dir, ..layer };
    let Some((command, further)) = words.split_first() else { return (layer, None) };
    match command.as_str() {
        "run" => match skip_options(further, YARN_VALUES).0 {
            inner @ [name, ..] => {
                let dir = layer.dir.clone();
                (script(layer, name), Some((inner.to_vec(), dir)))
            }
            [] => (layer, None),
        },
        "exec" | "dlx" => exec(further, layer, &["-p", "--package"]),
        "workspace" => yarn(further.get(1..).unwrap_or_default(), Layer { dir: None, ..layer }),
        "workspaces" => {
            let further = match further.split_first() {
                Some((first, further)) if first == "foreach" => skip_options(further, FOREACH_VALUES).0,
                _ => further,
            };
            yarn(further, Layer { dir: None, ..layer })
        }
        name if YARN_COMMANDS.contains(&name) => (layer, None),
        name => {
            let dir = layer.dir.clone();
            (script(layer, name), Some((words.to_vec(), dir)))
        }
    }
}

const BUN_VALUES: &[&str] = &["--cwd", "--filter", "-F", "--config", "-c", "--env-file", "-r", "--preload", "--shell"];
const BUN_COMMANDS: &[&str] = &[
    "a",
    "add",
    "audit",
    "build",
    "c",
    "completions",
    "create",
    "discord",
    "help",
    "i",
    "info",
    "init",
    "install",
    "link",
    "outdated",
    "patch",
    "patch-commit",
    "pm",
    "publish",
    "r",
    "remove",
    "repl",
    "rm",
    "unlink",
    "update",
    "upgrade",
    "why",
];

fn bun(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let (words, mut options) = skip_options(rest, BUN_VALUES);
    let Some((command, further)) = words.split_first() else { return (layer, None) };
    let (name, behind) = match command.as_str() {
        "run" => {
            let (behind, more) = skip_options(further, BUN_VALUES);
            options.extend(more);
            (behind.first(), behind)
        }
        "test" => return (Layer { tool: Tool::BunTest, ..layer }, None),
        "x" => return exec(further, layer, &["-p", "--package"]),
        name if BUN_COMMANDS.contains(&name) => (None, further),
        _ => (Some(command), words),
    };
    let dir = match value(&options, &["--cwd"]) {
        _ if has(&options, &["--filter", "-F"]) => None,
        Some(to) => moved(&layer.dir, to),
        None => layer.dir.clone(),
    };
    let layer = Layer { dir: dir.clone(), ..layer };
    match name {
        // It falls back to programs and files.
        Some(name) => (script(layer, name), Some((behind.to_vec(), dir))),
        None => (layer, None),
    }
}

fn node(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let (words, options) =
        skip_options(rest, &["-r", "--require", "--import", "--loader", "--run", "-C", "--conditions"]);
    if let Some(name) = value(&options, &["--run"]) {
        return (Layer { lenient: false, ..script(layer, name) }, None);
    }
    if has(&options, &["--test"]) {
        return (Layer { tool: Tool::NodeTest, asked: words.to_vec(), ..layer }, None);
    }
    (layer, None)
}

fn with_subcommand(layer: Layer, rest: Words<'_>) -> Layer {
    match rest.first() {
        Some(name) => Layer { role: Role::Subcommand, asked: vec![name.clone()], ..layer },
        None => layer,
    }
}

fn cargo(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let toolchain = usize::from(rest.first().is_some_and(|w| w.starts_with('+')));
    let (words, _) = skip_options(rest.get(toolchain..).unwrap_or_default(), &["-C", "--config", "--color", "-Z"]);
    let inner = match words.first() {
        Some(name) if name == "nextest" => Some((vec!["cargo-nextest".to_owned()], layer.dir.clone())),
        _ => None,
    };
    (with_subcommand(layer, words), inner)
}

/// Short options of GNU make that take a value (its manual, "Summary of Options"); `j` and `l` only when a number follows.
const MAKE_SHORT: &str = "CfIoWE";
const MAKE_LONG: &[&str] = &[
    "--directory",
    "--file",
    "--makefile",
    "--include-dir",
    "--old-file",
    "--assume-old",
    "--what-if",
    "--new-file",
    "--assume-new",
    "--eval",
];

fn make(rest: Words<'_>, layer: Layer) -> Layer {
    let mut layer = Layer { role: Role::Goals, lenient: false, ..layer };
    let mut words = rest;
    let mut only_goals = false;
    while let Some((word, further)) = words.split_first() {
        words = further;
        let next = further.first().map(String::as_str);
        let number = next.is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit()));
        if only_goals || !word.starts_with('-') || word == "-" {
            if !word.contains('=') {
                layer.asked.push(word.clone());
            }
        } else if word == "--" {
            only_goals = true;
        } else if word.starts_with("--") {
            let (name, given) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            let takes =
                MAKE_LONG.contains(&name) || (matches!(name, "--jobs" | "--load-average" | "--max-load") && number);
            if given.is_none() && takes {
                words = further.get(1..).unwrap_or_default();
            }
            make_option(&mut layer, name, given.or(next));
        } else {
            let mut letters = word.char_indices().skip(1);
            while let Some((at, letter)) = letters.next() {
                let attached = word.get(at + 1..).filter(|v| !v.is_empty());
                if MAKE_SHORT.contains(letter) {
                    if attached.is_none() {
                        words = further.get(1..).unwrap_or_default();
                    }
                    make_option(&mut layer, &format!("-{letter}"), attached.or(next));
                    break;
                }
                if "jlO".contains(letter) {
                    if attached.is_none() && letter != 'O' && number {
                        words = further.get(1..).unwrap_or_default();
                    }
                    if attached.is_none_or(|v| letter == 'O' || v.starts_with(|c: char| c.is_ascii_digit())) {
                        break;
                    }
                }
            }
        }
    }
    layer
}

fn make_option(layer: &mut Layer, name: &str, value: Option<&str>) {
    match (name, value) {
        ("-C" | "--directory", Some(to)) => layer.dir = moved(&layer.dir, to),
        ("-f" | "--file" | "--makefile", Some(file)) => layer.file = Some(file.to_owned()),
        // Goals may come from there.
        ("-E" | "--eval", _) => layer.lenient = true,
        _ => {}
    }
}

fn ninja(rest: Words<'_>, layer: Layer) -> Layer {
    let mut layer = Layer { role: Role::Goals, ..layer };
    let mut words = rest;
    while let Some((word, further)) = words.split_first() {
        words = further;
        match word.strip_prefix('-').and_then(|w| w.chars().next().map(|c| (c, w))) {
            Some((letter, option)) if "Cfjkldtw".contains(letter) => {
                let attached = option.get(1..).filter(|v| !v.is_empty());
                if attached.is_none() {
                    words = further.get(1..).unwrap_or_default();
                }
                let value = attached.or(further.first().map(String::as_str));
                match (letter, value) {
                    ('C', Some(to)) => layer.dir = moved(&layer.dir, to),
                    ('f', Some(file)) => layer.file = Some(file.to_owned()),
                    ('t', _) => return Layer { role: Role::Plain, ..layer },
                    _ => {}
                }
            }
            Some(_) => {}
            None => layer.asked.push(word.clone()),
        }
    }
    layer
}

fn just(rest: Words<'_>, layer: Layer) -> Layer {
    let valued =
        ["-f", "--justfile", "-d", "--working-directory", "--shell", "--shell-arg", "--color", "--dotenv-path", "-E"];
    let (words, options) = skip_options(rest, &valued);
    let file = value(&options, &["-f", "--justfile"]).map(str::to_owned);
    let asked = words.iter().find(|w| !w.contains('=')).cloned().into_iter().collect();
    Layer { role: Role::Goals, asked, file, ..layer }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tool:role:asked@dir` for each layer.
    fn shown(command: &str) -> String {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let dir = RepoPath::parse(b"d").unwrap();
        let show = |l: Layer| {
            let dir = l.dir.map_or("?".to_owned(), |d| d.to_string());
            format!("{:?}:{:?}:{}@{dir}", l.tool, l.role, l.asked.join(","))
        };
        layers(&words, Some(&dir)).into_iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn package_managers() {
        for (command, want) in [
            ("npm run x", "Npm:Script:x@d"),
            ("npm --silent run-script x -- --watch", "Npm:Script:x@d"),
            ("npm test", "Npm:Script:test@d"),
            ("npm t", "Npm:Script:test@d"),
            ("npm run verify -w a", "Npm:Script:verify@?"),
            ("npm -w a run verify", "Npm:Script:verify@?"),
            ("npm --prefix web run x", "Npm:Script:x@d/web"),
            ("npm run", "Npm:Plain:@d"),
            ("npm install x", "Npm:Plain:@d"),
            ("npm ci", "Npm:Plain:@d"),
            ("pnpm run x", "Pnpm:Script:x@d"),
            ("pnpm -s x", "Pnpm:Script:x@d Other:Plain:@d"),
            ("pnpm --filter @shop/api run x", "Pnpm:Script:x@?"),
            ("pnpm --filter=a test", "Pnpm:Script:test@?"),
            ("pnpm -r --parallel run x", "Pnpm:Script:x@?"),
            ("pnpm -C web run x", "Pnpm:Script:x@d/web"),
            ("pnpm -C ../.. run x", "Pnpm:Script:x@?"),
            ("pnpm run --if-present x", "Pnpm:Script:x@d"),
            ("pnpm install x", "Pnpm:Plain:@d"),
            ("pnpm exec vitest run", "Pnpm:Exec:vitest@d Vitest:Plain:@d"),
            ("pnpm dlx vitest@2.1.9", "Pnpm:Exec:vitest@d Vitest:Plain:@d"),
            ("pnpm vitest run", "Pnpm:Script:vitest@d Vitest:Plain:@d"),
            ("yarn x", "Yarn:Script:x@d Other:Plain:@d"),
            ("yarn run -T x", "Yarn:Script:x@d Other:Plain:@d"),
            ("yarn workspace w run x", "Yarn:Script:x@? Other:Plain:@?"),
            ("yarn workspaces foreach -pt --include w run x", "Yarn:Script:x@? Other:Plain:@?"),
            ("yarn --cwd web x", "Yarn:Script:x@d/web Other:Plain:@d/web"),
            ("yarn", "Yarn:Plain:@d"),
            ("yarn add x", "Yarn:Plain:@d"),
            ("bun run x", "Bun:Script:x@d Other:Plain:@d"),
            ("bun --cwd web run x", "Bun:Script:x@d/web Other:Plain:@d/web"),
            ("bun test", "BunTest:Plain:@d"),
            ("bunx vitest", "Bun:Exec:vitest@d Vitest:Plain:@d"),
            ("npx vitest run", "Npm:Exec:vitest@d Vitest:Plain:@d"),
            ("npx --yes -p x vitest", "Npm:Exec:vitest@d Vitest:Plain:@d"),
            ("npm exec -- jest --ci", "Npm:Exec:jest@d Jest:Plain:@d"),
            ("node --run x", "Node:Script:x@d"),
            ("node --test a.js", "NodeTest:Plain:a.js@d"),
        ] {
            assert_eq!(shown(command), want, "{command}");
        }
    }

    #[test]
    fn builders() {
        for (command, want) in [
            ("make", "Make:Goals:@d"),
            ("make V=1 -j4 e2e", "Make:Goals:e2e@d"),
            ("make -j 4 a b", "Make:Goals:a,b@d"),
            ("make -j a", "Make:Goals:a@d"),
            ("make -sj4 -kC web a", "Make:Goals:a@d/web"),
            ("make -kj a", "Make:Goals:a@d"),
            ("make --directory=web a", "Make:Goals:a@d/web"),
            ("make --directory web -- -a", "Make:Goals:-a@d/web"),
            ("make -f x.mk a X:=1", "Make:Goals:a@d"),
            ("make -O a", "Make:Goals:a@d"),
            ("/usr/bin/gmake --jobs 4 a", "Make:Goals:a@d"),
            ("ninja -C out -j4 a b", "Ninja:Goals:a,b@d/out"),
            ("ninja -t clean", "Ninja:Plain:@d"),
            ("just --set a b", "Just:Goals:a@d"),
        ] {
            assert_eq!(shown(command), want, "{command}");
        }
    }

    #[test]
    fn wrappers() {
        for (command, want) in [
            ("env -i A=1 make a", "Wrapper:Exec:make@d Make:Goals:a@d"),
            ("env A=1 B= pytest", "Wrapper:Exec:pytest@d Pytest:Plain:@d"),
            ("env -C web npm run x", "Wrapper:Exec:npm@d/web Npm:Script:x@d/web"),
            ("timeout -k 5 10 pytest", "Wrapper:Exec:pytest@d Pytest:Plain:@d"),
            ("uv run --with x pytest -q", "PythonRunner:Exec:pytest@d Pytest:Plain:@d"),
            ("python3.12 -W error -m pytest", "Python:Module:pytest@d Pytest:Plain:@d"),
            ("python3 -m unittest discover", "Python:Module:unittest@d Unittest:Plain:@d"),
            ("coverage run -m pytest", "Other:Plain:@d Pytest:Plain:@d"),
            ("python3 x.py -m pytest", "Python:Plain:@d"),
            ("pythonista -m pytest", "Other:Plain:@d"),
            ("cargo +nightly nextest run", "Cargo:Subcommand:nextest@d Nextest:Plain:@d"),
            ("go test ./...", "Go:Subcommand:test@d"),
            ("./node_modules/.bin/vitest", "Vitest:Plain:@d"),
            ("corepack pnpm@9 run x", "Wrapper:Plain:@d Pnpm:Script:x@d"),
        ] {
            assert_eq!(shown(command), want, "{command}");
        }
    }

    #[test]
    fn no_command_is_too_deep_or_too_odd() {
        let deep = "env ".repeat(100);
        assert!(shown(&deep).split(' ').count() <= DEEPEST);
        for odd in ["", "make -", "make -C", "npm --", "pnpm -C", "env", "timeout", "ninja -C", "python -m", "-"] {
            let _ = shown(odd);
        }
    }

    #[test]
    fn bodies() {
        let tools: Vec<Tool> = layers_of_body("CI=1 tsc -b && vitest run | cat").into_iter().map(|l| l.tool).collect();
        assert_eq!(tools, [Tool::Other, Tool::Vitest, Tool::Other]);
    }
}
