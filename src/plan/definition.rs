//! Finds the changed files that define what a step does: a change can weaken the checks that
//! verify it.

use super::{Plan, Reason, Step};
use crate::base::change::ChangeSet;
use crate::base::path::RepoPath;
use crate::base::word::Word;

/// The reason's name.
pub const DEFINITION_CHANGED: &str = "definition-changed";

/// Returns the steps of a plan whose defining files are among the changed ones, with those files.
pub fn changed_definitions(plan: &Plan) -> impl Iterator<Item = (&Step, &Reason)> {
    let reason = |step: &'_ Step| {
        step.reasons
            .iter()
            .position(|r| r.condition == DEFINITION_CHANGED)
    };
    plan.steps
        .iter()
        .filter_map(move |step| Some((step, step.reasons.get(reason(step)?)?)))
}

/// The changed files, indexed for the lookup of definitions.
pub(super) struct Definitions<'a> {
    changes: &'a ChangeSet,
    /// Every changed package.json, looked up once: a workspace tool may mean any of them.
    packages: Vec<&'a RepoPath>,
}

impl<'a> Definitions<'a> {
    pub fn new(changes: &'a ChangeSet) -> Self {
        let packages = changes
            .files()
            .iter()
            .map(|f| &f.path)
            .filter(|p| p.name() == PACKAGE.as_bytes())
            .collect();
        Self { changes, packages }
    }

    /// Returns the reason for a step whose defining file is among the changed ones.
    pub fn reason(&self, step: &Step) -> Option<Reason> {
        let mut matched: Vec<RepoPath> = Vec::new();
        for defined in files(step) {
            match defined {
                File::Exact(path) if self.changes.contains(&path) => matched.push(path),
                File::Exact(_) => {}
                File::PackageBelow(dir) => {
                    matched.extend(
                        self.packages
                            .iter()
                            .filter(|p| p.below(&dir).is_some())
                            .copied()
                            .cloned(),
                    );
                }
            }
        }
        matched.sort();
        matched.dedup();
        let count = matched.len() as u64;
        matched.truncate(crate::base::matching::SHOWN);
        (count > 0).then(|| Reason {
            condition: DEFINITION_CHANGED.to_owned(),
            matched,
            matched_count: Some(count),
            ..Reason::default()
        })
    }
}

/// A file, or any package.json below a directory (where a workspace tool picks the package itself).
enum File {
    Exact(RepoPath),
    PackageBelow(RepoPath),
}

const PACKAGE: &str = "package.json";

const SCRIPT_RUNNERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
/// The subcommands that start a program without reading package.json.
const NO_SCRIPT: [&str; 5] = ["exec", "dlx", "x", "create", "init"];
const INTERPRETERS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "bun", "ruby", "perl", "php",
    "deno", "Rscript",
];

fn files(step: &Step) -> Vec<File> {
    let Some((program, arguments)) = step.argv.as_deref().and_then(<[Word]>::split_first) else {
        return Vec::new();
    };
    if step.kind == crate::check::Kind::Shell {
        return Vec::new();
    }
    let join = |bytes: &[u8]| step.dir.join(bytes).ok();
    let mut files = Vec::new();
    if program.as_bytes().contains(&b'/') {
        files.extend(join(program.as_bytes()).map(File::Exact));
    }
    let name = program
        .as_bytes()
        .rsplit(|b| *b == b'/')
        .next()
        .and_then(|n| std::str::from_utf8(n).ok())
        .unwrap_or("");
    if SCRIPT_RUNNERS.contains(&name) {
        files.extend(package_files(step, arguments));
    }
    if matches!(name, "make" | "gmake") {
        files.extend(makefiles(step, arguments));
    }
    let interpreter = INTERPRETERS.contains(&name) || name.strip_prefix("python3.").is_some();
    if interpreter && let Some(script) = script(arguments) {
        files.extend(join(script).map(File::Exact));
    }
    files
}

/// Returns the file that an interpreter was given: its first argument that is no option. Code on
/// the command line has none.
fn script(arguments: &[Word]) -> Option<&[u8]> {
    for argument in arguments.iter().map(Word::as_bytes) {
        match argument {
            b"-c" | b"-e" | b"-m" | b"-p" | b"--eval" | b"--print" => return None,
            b"run" | [b'-', ..] => {}
            file => return Some(file),
        }
    }
    None
}

/// Returns the values of an option in its forms `-C DIR`, `-CDIR`, `--directory DIR`,
/// `--directory=DIR`.
fn option<'a>(arguments: &'a [Word], short: Option<&str>, long: &[&str]) -> Vec<&'a [u8]> {
    let mut values = Vec::new();
    let mut rest = arguments.iter().map(Word::as_bytes);
    while let Some(argument) = rest.next() {
        if argument == b"--" {
            break;
        }
        let is_long = long.iter().any(|l| argument == l.as_bytes());
        if is_long || short.is_some_and(|s| argument == s.as_bytes()) {
            values.extend(rest.next());
        } else if let Some(value) = long
            .iter()
            .find_map(|l| argument.strip_prefix(l.as_bytes())?.strip_prefix(b"="))
        {
            values.push(value);
        } else if let Some(value) = short.and_then(|s| argument.strip_prefix(s.as_bytes())) {
            values.push(value);
        }
    }
    values
}

fn package_files(step: &Step, arguments: &[Word]) -> Vec<File> {
    let mut words = arguments.iter().filter_map(Word::as_str);
    if words
        .clone()
        .find(|w| !w.starts_with('-'))
        .is_some_and(|w| NO_SCRIPT.contains(&w))
    {
        return Vec::new();
    }
    let mut dir = step.dir.clone();
    for value in option(arguments, Some("-C"), &["--dir", "--prefix", "--cwd"]) {
        match dir.join(value) {
            Ok(inner) => dir = inner,
            Err(_) => return Vec::new(),
        }
    }
    let workspace = |w: &str| {
        matches!(
            w,
            "-r" | "--recursive" | "-F" | "-w" | "--workspaces" | "workspace" | "workspaces"
        ) || w.starts_with("--filter")
            || w.starts_with("--workspace")
    };
    if words.any(workspace) {
        return vec![File::PackageBelow(dir)];
    }
    dir.join(PACKAGE.as_bytes())
        .map(File::Exact)
        .into_iter()
        .collect()
}

fn makefiles(step: &Step, arguments: &[Word]) -> Vec<File> {
    let mut dir = step.dir.clone();
    for value in option(arguments, Some("-C"), &["--directory"]) {
        match dir.join(value) {
            Ok(inner) => dir = inner,
            Err(_) => return Vec::new(),
        }
    }
    let mut named = option(arguments, Some("-f"), &["--file", "--makefile"]);
    if named.is_empty() {
        named = vec![b"GNUmakefile", b"makefile", b"Makefile"];
    }
    named
        .into_iter()
        .filter_map(|name| dir.join(name).ok())
        .map(File::Exact)
        .collect()
}
