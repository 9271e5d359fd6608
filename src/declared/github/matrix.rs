//! The cells of a job's matrix, and those that are read (R19 to R24): one for this machine, and
//! further ones where the words of a command differ.

use super::expression::{Scope, Truth, Value};
use super::value_of;
use crate::base::path::RepoPath;
use crate::declared::tree::{DataFile, Syntax, Tree};
use crate::front::tree::Node;
use std::cmp::Reverse;

/// The most cells that are built.
const MAX_CELLS: usize = 256;
/// The most values of an axis that changes the words of commands.
const MAX_VARIANTS: usize = 4;

/// A cell: the values of the axes.
pub(super) type Cell = Vec<(String, Value)>;

/// The kinds of axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// The machine or its system.
    Platform,
    /// The version of a compiler or interpreter.
    Toolchain,
    /// A part of the whole.
    Shard,
    /// It changes the words of commands.
    Words,
    /// It changes nothing that a command says.
    Other,
}

/// The places of a job at which axes are named.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    /// `runs-on` and `container`.
    pub(super) machine: String,
    /// The inputs of actions that set up tools.
    pub(super) setup: String,
    /// Texts of commands, directories, inputs of actions that verify, environments.
    pub(super) words: String,
}

/// What was chosen.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    /// The cell of this machine, then further ones with other words.
    pub(super) cells: Vec<Cell>,
    /// A remark for each of them.
    pub(super) notes: Vec<Option<String>>,
    /// Axes whose other values are left out, with those.
    pub(super) dropped: Vec<(String, Vec<String>, Axis)>,
    /// The axes that decide nothing for a contract.
    pub(super) machine_axes: Vec<String>,
    /// Whether all cells are for other machines.
    pub(super) elsewhere: bool,
}

/// Builds the cells. `None` where the matrix is not known before CI runs (R24).
pub(super) fn cells(scope: &Scope<'_>, doc: &DataFile, node: &Node) -> Option<Vec<Cell>> {
    let Value::Map(entries) = value_of(scope, doc, node) else {
        return None;
    };
    let special = |name: &str| {
        let found = entries.iter().find(|(key, _)| key == name);
        match found.map(|(_, value)| value) {
            Some(Value::List(items)) => items.clone(),
            _ => Vec::new(),
        }
    };
    let mut all: Vec<Cell> = Vec::new();
    let mut axes: Vec<String> = Vec::new();
    for (key, value) in &entries {
        if key == "include" || key == "exclude" {
            continue;
        }
        let values = match value {
            Value::List(items) if !items.is_empty() => items.clone(),
            Value::List(_) => continue,
            Value::Maybe(_) => vec![Value::unknown()],
            other => vec![other.clone()],
        };
        let mut next: Vec<Cell> = Vec::new();
        let before = if axes.is_empty() {
            vec![Vec::new()]
        } else {
            all
        };
        'cells: for cell in &before {
            for value in &values {
                if next.len() >= MAX_CELLS {
                    break 'cells;
                }
                let mut cell = cell.clone();
                cell.push((key.clone(), value.clone()));
                next.push(cell);
            }
        }
        all = next;
        axes.push(key.clone());
    }
    for excluded in special("exclude") {
        let Value::Map(excluded) = excluded else {
            continue;
        };
        all.retain(|cell| {
            !excluded
                .iter()
                .all(|(key, value)| same(&of(cell, key), value))
        });
    }
    let original = all.len();
    for included in special("include").into_iter().take(MAX_CELLS) {
        let Value::Map(included) = included else {
            continue;
        };
        let mut fits = false;
        for cell in all.iter_mut().take(original) {
            let own = |key: &String| axes.contains(key);
            let agrees = included
                .iter()
                .filter(|(key, _)| own(key))
                .all(|(key, value)| same(&of(cell, key), value));
            if !agrees {
                continue;
            }
            fits = true;
            for (key, value) in included.iter().filter(|(key, _)| !own(key)) {
                match cell.iter_mut().find(|(k, _)| k == key) {
                    Some((_, old)) => *old = value.clone(),
                    None => cell.push((key.clone(), value.clone())),
                }
            }
        }
        if !fits && all.len() < MAX_CELLS {
            all.push(included);
        }
    }
    (!all.is_empty()).then_some(all)
}

/// The value of an axis in a cell.
pub(super) fn of(cell: &Cell, key: &str) -> Value {
    let found = cell.iter().find(|(k, _)| k == key);
    found.map_or(Value::Null, |(_, value)| value.clone())
}

fn same(a: &Value, b: &Value) -> bool {
    match (a.scalar(), b.scalar()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// Whether a text names an axis.
pub(super) fn names(text: &str, key: &str) -> bool {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("matrix.") {
        let ends = after.strip_prefix(key).is_some_and(|tail| {
            !tail.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
        });
        if ends {
            return true;
        }
        rest = after;
    }
    text.contains(&format!("matrix['{key}']"))
}

const PLATFORMS: &[&str] = &[
    "arch",
    "container",
    "cpu",
    "distro",
    "goarch",
    "goos",
    "image",
    "os",
    "platform",
    "runner",
    "runs-on",
    "runs_on",
    "machine",
];
const TOOLCHAINS: &[&str] = &[
    "bun",
    "cc",
    "channel",
    "compiler",
    "cxx",
    "deno",
    "dotnet",
    "elixir",
    "erlang",
    "gcc",
    "ghc",
    "go",
    "java",
    "jdk",
    "julia",
    "lua",
    "nim",
    "node",
    "nodejs",
    "ocaml",
    "otp",
    "perl",
    "php",
    "py",
    "pypy",
    "python",
    "ruby",
    "rust",
    "scala",
    "swift",
    "toolchain",
    "version",
    "zig",
];
const SHARDS: &[&str] = &[
    "bucket",
    "chunk",
    "group",
    "index",
    "part",
    "partition",
    "shard",
    "slice",
    "split",
    "total",
];

/// The parts of an axis' name: `python-version` is `python` and `version`.
fn parts(key: &str) -> Vec<String> {
    let lower = key.to_ascii_lowercase();
    lower.split(['-', '_', '.']).map(str::to_owned).collect()
}

/// Whether a runner's label or a platform's name is another system.
pub(super) fn is_foreign(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    [
        "windows", "macos", "darwin", "freebsd", "openbsd", "netbsd", "solaris", "gpu",
    ]
    .iter()
    .any(|name| label.contains(name))
        || label.split(|c: char| !c.is_alphanumeric()).any(|part| {
            matches!(
                part,
                "mac" | "osx" | "win" | "win32" | "win64" | "ios" | "android"
            )
        })
}

fn is_other_architecture(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    [
        "arm", "aarch64", "ppc64", "s390x", "riscv", "i686", "i386", "x86-32", "loong",
    ]
    .iter()
    .any(|name| label.contains(name))
        || label == "x86"
        || label == "386"
}

/// The kind of an axis, by its name, its values and where it is used.
fn axis(key: &str, values: &[Value], uses: &Uses) -> Axis {
    let parts = parts(key);
    let within = |list: &[&str]| parts.iter().any(|part| list.contains(&&**part));
    let counted = values.iter().all(|value| match value {
        Value::Number(_) => true,
        Value::Text(text) => {
            !text.is_empty()
                && text
                    .chars()
                    .all(|c| c.is_ascii_digit() || matches!(c, '/' | ':' | 'o' | 'f' | ' '))
        }
        _ => false,
    });
    let labels = values.iter().filter_map(Value::scalar).any(|text| {
        ["ubuntu-", "windows-", "macos-"]
            .iter()
            .any(|start| text.starts_with(start))
    });
    if within(PLATFORMS) || names(&uses.machine, key) || labels {
        Axis::Platform
    } else if within(SHARDS) && counted || parts.iter().any(|part| part.starts_with("shard")) {
        Axis::Shard
    } else if within(TOOLCHAINS) || names(&uses.setup, key) {
        Axis::Toolchain
    } else if names(&uses.words, key) {
        Axis::Words
    } else {
        Axis::Other
    }
}

/// Chooses the cells that are read. `runs_on` gives the machine's label for a cell, `failing` says
/// whether CI ignores a cell's failure.
pub(super) fn choose(
    tree: &Tree,
    all: Vec<Cell>,
    uses: &Uses,
    runs_on: impl Fn(&Cell) -> String,
    failing: impl Fn(&Cell) -> bool,
) -> Choice {
    let total = all.len();
    let mut keys: Vec<String> = Vec::new();
    for (key, _) in all.iter().flatten() {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    let distinct = |key: &str| {
        let mut values: Vec<Value> = Vec::new();
        for value in all.iter().map(|cell| of(cell, key)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    let axes: Vec<(String, Axis, Vec<Value>)> = keys
        .iter()
        .map(|key| {
            let values = distinct(key);
            (key.clone(), axis(key, &values, uses), values)
        })
        .collect();
    let of_kind = |kind: Axis| axes.iter().filter(move |(_, k, _)| *k == kind);
    let pins = pins(tree);
    let label = |cell: &Cell| {
        let named = of_kind(Axis::Platform).filter_map(|(key, _, _)| of(cell, key).scalar());
        named.chain([runs_on(cell)]).collect::<Vec<_>>().join(" ")
    };
    let here: Vec<Cell> = all
        .iter()
        .filter(|cell| !failing(cell) && !is_foreign(&label(cell)))
        .cloned()
        .collect();
    let mut choice = Choice {
        machine_axes: axes
            .iter()
            .filter(|(_, kind, _)| matches!(kind, Axis::Platform | Axis::Toolchain | Axis::Shard))
            .map(|(key, _, _)| key.clone())
            .collect(),
        ..Choice::default()
    };
    if here.is_empty() {
        choice.elsewhere = !all.iter().all(failing);
        return choice;
    }
    let rank = |cell: &Cell| {
        let tools: Vec<_> = of_kind(Axis::Toolchain)
            .map(|(key, _, _)| {
                let value = of(cell, key).scalar().unwrap_or_default();
                (
                    Reverse(pinned(&pins, key, &value)),
                    Reverse(release(&value)),
                )
            })
            .collect();
        (is_other_architecture(&label(cell)), tools)
    };
    let words: Vec<&String> = of_kind(Axis::Words).map(|(key, _, _)| key).collect();
    let projection =
        |cell: &Cell| -> Vec<Value> { words.iter().map(|key| of(cell, key)).collect() };
    // The first value of an axis of words comes first, then the cell of this machine.
    let mut groups: Vec<(Vec<Value>, Vec<&Cell>)> = Vec::new();
    for cell in &here {
        let words = projection(cell);
        match groups.iter_mut().find(|(other, _)| *other == words) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((words, vec![cell])),
        }
    }
    let mut best: Vec<Cell> = groups
        .iter()
        .filter_map(|(_, cells)| cells.iter().min_by_key(|cell| rank(cell)))
        .map(|cell| (*cell).clone())
        .collect();
    // Where the words hang on the toolchain (`include`), the toolchain of this machine leads.
    if let Some((at, _)) = best.iter().enumerate().min_by_key(|(_, cell)| rank(cell)) {
        let first = best.remove(at);
        best.insert(0, first);
    }
    if best.len() > MAX_VARIANTS {
        let further: Vec<String> = best
            .iter()
            .skip(1)
            .map(|cell| shown(cell, &words))
            .collect();
        let key = words.iter().map(|k| &***k).collect::<Vec<_>>().join("`, `");
        choice.dropped.push((key, further, Axis::Words));
        best.truncate(1);
    }
    for (key, kind, values) in &axes {
        let used = best.first().map(|cell| of(cell, key));
        let further: Vec<String> = values
            .iter()
            .filter(|value| Some(*value) != used.as_ref())
            .filter_map(Value::scalar)
            .filter(|text| !text.is_empty())
            .collect();
        if !further.is_empty() && !matches!(kind, Axis::Words | Axis::Other) {
            choice.dropped.push((key.clone(), further, *kind));
        }
    }
    let tools: Vec<&String> = of_kind(Axis::Toolchain).map(|(key, _, _)| key).collect();
    for cell in &best {
        let mut named = shown(cell, &words);
        for part in [shown(cell, &tools)] {
            if !part.is_empty() {
                named = if named.is_empty() {
                    part
                } else {
                    format!("{part}, {named}")
                };
            }
        }
        if named.is_empty() {
            named = of_kind(Axis::Platform)
                .filter_map(|(key, _, _)| of(cell, key).scalar())
                .collect::<Vec<_>>()
                .join(", ");
        }
        let note =
            (total > 1 && !named.is_empty()).then(|| format!("one of {total} cells: {named}"));
        choice.notes.push(note);
    }
    choice.cells = best;
    choice
}

fn shown(cell: &Cell, keys: &[&String]) -> String {
    let parts: Vec<String> = keys
        .iter()
        .filter_map(|key| {
            let value = of(cell, key).scalar().filter(|v| !v.is_empty())?;
            let name = family(key).unwrap_or(key);
            Some(format!("{name} {value}"))
        })
        .collect();
    parts.join(", ")
}

/// The toolchain that an axis is about.
fn family(key: &str) -> Option<&'static str> {
    let parts = parts(key);
    let is = |names: &[&str]| parts.iter().any(|part| names.contains(&&**part));
    if is(&["python", "py"]) {
        Some("python")
    } else if is(&["node", "nodejs"]) {
        Some("node")
    } else if is(&["go", "golang"]) {
        Some("go")
    } else if is(&["rust", "toolchain", "channel"]) {
        Some("rust")
    } else if is(&["ruby"]) {
        Some("ruby")
    } else if is(&["java", "jdk"]) {
        Some("java")
    } else {
        None
    }
}

/// The versions that the repository pins, by toolchain.
fn pins(tree: &Tree) -> Vec<(&'static str, String)> {
    let root = RepoPath::root();
    let mut pins = Vec::new();
    let first = |name: &str| {
        let (_, text) = tree.text(&root, name)?;
        let line = text
            .lines()
            .map(str::trim)
            .find(|l| !l.is_empty() && !l.starts_with('#'))?;
        Some(line.to_owned())
    };
    for (family, file) in [
        ("python", ".python-version"),
        ("node", ".nvmrc"),
        ("node", ".node-version"),
        ("ruby", ".ruby-version"),
        ("java", ".java-version"),
    ] {
        pins.extend(first(file).map(|version| (family, version)));
    }
    for name in ["rust-toolchain.toml", "rust-toolchain"] {
        let Some((file, text)) = tree.text(&root, name) else {
            continue;
        };
        let table = tree.read(&file, Syntax::Toml).ok();
        let channel = table.as_ref().and_then(|doc| {
            doc.root
                .get("toolchain")?
                .get("channel")?
                .text()
                .map(str::to_owned)
        });
        let bare = text
            .lines()
            .map(str::trim)
            .find(|l| !l.is_empty())
            .map(str::to_owned);
        pins.extend(
            channel
                .or(bare.filter(|b| !b.contains(['[', '='])))
                .map(|v| ("rust", v)),
        );
    }
    if let Some((_, text)) = tree.text(&root, "go.mod") {
        let line = |start: &str| {
            text.lines()
                .find_map(|line| line.trim().strip_prefix(start))
        };
        let version = line("toolchain go").or_else(|| line("go "));
        pins.extend(version.map(|v| ("go", v.trim().to_owned())));
    }
    let known = |name: &str| match name {
        "python" => Some("python"),
        "node" | "nodejs" => Some("node"),
        "go" | "golang" => Some("go"),
        "rust" => Some("rust"),
        "ruby" => Some("ruby"),
        "java" => Some("java"),
        _ => None,
    };
    if let Some((_, text)) = tree.text(&root, ".tool-versions") {
        for line in text.lines() {
            let mut words = line.split_whitespace();
            if let (Some(name), Some(version)) = (words.next(), words.next()) {
                pins.extend(known(name).map(|family| (family, version.to_owned())));
            }
        }
    }
    for name in ["mise.toml", ".mise.toml"] {
        let Some((file, _)) = tree.text(&root, name) else {
            continue;
        };
        let Ok(doc) = tree.read(&file, Syntax::Toml) else {
            continue;
        };
        for (key, node) in doc.root.get("tools").map(Node::entries).unwrap_or_default() {
            let version = node.text().or_else(|| node.get("version")?.text());
            let pin = known(&key.name).zip(version.map(str::to_owned));
            pins.extend(pin);
        }
    }
    pins
}

fn components(version: &str) -> Vec<String> {
    let version = version.trim().trim_start_matches(['v', '=', '^', '~']);
    let version = version
        .strip_prefix("go")
        .or_else(|| version.strip_prefix("ruby-"))
        .unwrap_or(version);
    let parts = version
        .split('.')
        .filter(|part| !matches!(*part, "x" | "*" | ""));
    parts.map(str::to_owned).collect()
}

/// Whether the repository pins this version of an axis' toolchain.
fn pinned(pins: &[(&'static str, String)], key: &str, value: &str) -> bool {
    let value = components(value);
    !value.is_empty()
        && pins
            .iter()
            .filter(|(name, _)| family(key) == Some(*name))
            .any(|(_, pin)| {
                let pin = components(pin);
                !pin.is_empty() && value.iter().zip(&pin).all(|(a, b)| a == b)
            })
}

/// How new a version is: a release before others, names such as `stable` before numbers.
fn release(version: &str) -> (bool, bool, Vec<u64>) {
    let lower = version.to_ascii_lowercase();
    let early = [
        "nightly", "beta", "alpha", "rc", "dev", "pypy", "graalpy", "head", "canary", "master",
        "tip", "edge", "next", "preview", "snapshot", "unstable", "old",
    ]
    .iter()
    .any(|word| lower.contains(word))
        || lower.ends_with('t')
            && lower
                .chars()
                .rev()
                .nth(1)
                .is_some_and(|c| c.is_ascii_digit());
    let named = ["stable", "latest", "lts", "current"]
        .iter()
        .any(|word| lower.starts_with(word));
    let start = lower
        .find(|c: char| c.is_ascii_digit())
        .unwrap_or(lower.len());
    let digits = lower.get(start..).unwrap_or_default();
    let numbers = digits
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|part| part.parse::<u64>().ok())
        .collect();
    (!early, named && !early, numbers)
}

/// Whether CI ignores the failure of a cell (R4): its own keys, or the job's `continue-on-error`.
pub(super) fn is_ignored(cell: &Cell, scope: &Scope<'_>, job: &str) -> bool {
    let own = [
        "experimental",
        "continue-on-error",
        "continue_on_error",
        "allow-failure",
        "allow_failure",
        "allowed-to-fail",
    ];
    own.iter().any(|key| of(cell, key).truth() == Truth::Yes) || {
        let mut scope = scope.clone();
        scope.set("matrix", Value::Map(cell.clone()));
        !job.is_empty() && scope.condition(job) == Truth::Yes
    }
}

/// Removes what makes a command run a part of its work only (R22). The second says whether there
/// was something.
pub(super) fn without_shards(text: &str) -> (String, bool) {
    const FLAGS: &[&str] = &[
        "--shard",
        "--shards",
        "--num-shards",
        "--shard-id",
        "--shard-index",
        "--shard-count",
        "--total-shards",
        "--test-shard",
        "--partition",
        "--splits",
        "--split-index",
        "--split-total",
    ];
    let mut out = String::with_capacity(text.len());
    let mut removed = false;
    for line in text.split_inclusive('\n') {
        if !FLAGS.iter().any(|flag| line.contains(flag)) {
            out.push_str(line);
            continue;
        }
        let splits = line.contains("--splits");
        let mut rest = line;
        while !rest.is_empty() {
            let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            let (space, after) = rest.split_at(blank);
            let end = after.find([' ', '\t', '\n']).unwrap_or(after.len());
            let (word, tail) = after.split_at(end);
            let name = word.split_once('=').map_or(word, |(name, _)| name);
            if !(FLAGS.contains(&name) || splits && name == "--group") {
                out.push_str(space);
                out.push_str(word);
                if word.is_empty() {
                    out.push_str(tail);
                    break;
                }
                rest = tail;
                continue;
            }
            removed = true;
            rest = tail;
            if !word.contains('=') {
                // Its value is the next word, unless that is a flag.
                let value = rest.trim_start_matches([' ', '\t']);
                if !value.starts_with(['-', '\n', '\\']) {
                    let end = value.find([' ', '\t', '\n']).unwrap_or(value.len());
                    rest = value.get(end..).unwrap_or_default();
                }
            }
        }
    }
    (out, removed)
}
