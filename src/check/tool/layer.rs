//! Defines one tool of a command, and reads options that precede other words.

use vplan_base::path::RepoPath;

/// The tools whose arguments and messages are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolLayer {
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

/// The action of a layer's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerRole {
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
pub struct Layer {
    pub tool: ToolLayer,
    pub role: LayerRole,
    /// The program's name without its folder.
    pub program: String,
    /// The words after it.
    pub arguments: Vec<String>,
    /// The requested scripts, goals, programs or modules.
    pub asked: Vec<String>,
    /// The directory of the file that declares them, if that is certain.
    pub dir: Option<RepoPath>,
    /// Whether a name that is not a script may still work (`yarn eslint` starts a program).
    pub lenient: bool,
    /// Whether a script's body is known only from the runner's output.
    pub echoed: bool,
    /// A file given by option (`-f build.mk`), instead of the usual one.
    pub file: Option<String>,
}

/// Words of a command.
pub type Words<'a> = &'a [String];

/// The command that a layer starts, and its directory.
pub type Inner = Option<(Vec<String>, Option<RepoPath>)>;

/// The name of a program without its folder, and without `.exe` and `.cmd`.
pub fn base_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let ends = [".exe", ".cmd"];
    ends.iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

/// Returns the directory that an option names.
pub fn moved(dir: &Option<RepoPath>, to: &str) -> Option<RepoPath> {
    dir.as_ref().and_then(|d| d.join(to.as_bytes()).ok())
}

/// Removes a version: `vitest@2.1.9` names the program `vitest`; `@scope/name` stays.
pub(crate) fn unversioned(rest: Words<'_>) -> Vec<String> {
    let mut words = rest.to_vec();
    if let Some(first) = words.first_mut()
        && let Some((name, _)) = first.rsplit_once('@').filter(|(name, _)| !name.is_empty())
    {
        *first = name.to_owned();
    }
    words
}

/// The layer of a launcher, and the command after its options.
pub fn exec(rest: Words<'_>, layer: Layer, valued: &[&str]) -> (Layer, Inner) {
    let (rest, _) = skip_options(rest, valued);
    let words = unversioned(rest);
    let dir = layer.dir.clone();
    let asked = words.first().cloned().into_iter().collect();
    (
        Layer {
            role: LayerRole::Exec,
            asked,
            ..layer
        },
        Some((words, dir)),
    )
}

/// Options in front of a word, and what they are given.
pub type LayerOptions<'a> = Vec<(&'a str, Option<&'a str>)>;

/// Skips the options in front of the first other word; `--` ends them and is removed.
pub(crate) fn skip_options<'a>(words: Words<'a>, valued: &[&str]) -> (Words<'a>, LayerOptions<'a>) {
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

/// The value of the last of these options.
pub fn value<'a>(options: &LayerOptions<'a>, names: &[&str]) -> Option<&'a str> {
    options
        .iter()
        .rev()
        .find(|(name, _)| names.contains(name))
        .and_then(|(_, value)| *value)
}

/// Whether one of these options is there.
pub fn has(options: &LayerOptions<'_>, names: &[&str]) -> bool {
    options.iter().any(|(name, _)| names.contains(name))
}
