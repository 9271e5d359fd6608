//! Finds the files that are executed when a step starts: its program and, for a script, its
//! interpreter.

use super::content::digest;
use super::unsteady::Unsteady;
use std::collections::BTreeSet;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use vplan_base::word::{Word, visible};
use vplan_check::confine::SandboxLevel;
use vplan_check::tool::started;
use vplan_os::files::open_plain;
use vplan_os::process::program::{Root, SearchPath, interpreter, resolve};
use vplan_os::stat_cache::{StatCacheStats, StatStamp, now};
use vplan_plan::Step;
use vplan_reuse::key::Tool;

/// Maximum length of a chain of interpreters; the system follows no more.
const DEPTH: usize = 5;

/// Returns the program that the step's command names, its interpreter, and so on; and those that its
/// launchers start, where they are found.
pub(super) fn tools(
    root: &Root,
    search: &SearchPath,
    step: &Step,
    stats: &mut StatCacheStats,
) -> Result<Vec<Tool>, Unsteady> {
    let argv = step.argv.as_deref().unwrap_or_default();
    let word = argv.first().ok_or(Unsteady::NoCommand)?;
    let find = |word: &[u8]| {
        let found = resolve(root, search, &step.dir, word);
        found
            .map(|(program, _)| program.path)
            .map_err(Unsteady::NoProgram)
    };
    let mut tools = Vec::new();
    interpreted(find, find(word.as_bytes())?, root, step, stats, &mut tools)?;
    let text: Vec<String> = argv.iter().map(visible).collect();
    let behind = started(&text).starts.into_iter().filter(|at| *at > 0);
    for word in behind.filter_map(|at| argv.get(at)) {
        if let Ok(path) = find(word.as_bytes()) {
            interpreted(find, path, root, step, stats, &mut tools)?;
        }
    }
    if step.sandbox >= SandboxLevel::Files {
        add_named(find, step, stats, &mut tools)?;
    }
    Ok(tools)
}

/// Adds a program, its interpreter, and so on.
fn interpreted(
    find: impl Fn(&[u8]) -> Result<PathBuf, Unsteady>,
    mut path: PathBuf,
    root: &Root,
    step: &Step,
    stats: &mut StatCacheStats,
    tools: &mut Vec<Tool>,
) -> Result<(), Unsteady> {
    for _ in 0..DEPTH {
        add(&path, stats, tools)?;
        let words = interpreter(&path).unwrap_or_default();
        let Some((first, rest)) = words.split_first() else {
            return Ok(());
        };
        path = Path::new(std::ffi::OsStr::from_bytes(first)).to_owned();
        // A relative interpreter is relative to the step's directory.
        if !path.is_absolute() {
            path = root.path().join(step.dir.to_os()).join(path);
        }
        // `#!/usr/bin/env NAME` means NAME on the PATH.
        if path.file_name().is_some_and(|name| name == "env") {
            add(&path, stats, tools)?;
            let named = rest
                .iter()
                .find(|w| !w.starts_with(b"-") && !w.contains(&b'='));
            path = find(named.ok_or(Unsteady::NoInterpreter)?)?;
        }
    }
    Err(Unsteady::EndlessInterpreters)
}

/// Adds a program once.
fn add(path: &Path, stats: &mut StatCacheStats, tools: &mut Vec<Tool>) -> Result<(), Unsteady> {
    let tool = tool(path, stats)?;
    if !tools.contains(&tool) {
        tools.push(tool);
    }
    Ok(())
}

/// Adds the programs that further words of a command name, also in the text of a shell: all words that
/// are the name of a program are taken for one.
fn add_named(
    find: impl Fn(&[u8]) -> Result<PathBuf, Unsteady>,
    step: &Step,
    stats: &mut StatCacheStats,
    tools: &mut Vec<Tool>,
) -> Result<(), Unsteady> {
    let words = step.argv.iter().flatten().skip(1);
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_+.".contains(byte);
    let names = words.flat_map(|word| word.as_bytes().split(move |byte| !is_of_name(byte)));
    let names: BTreeSet<&[u8]> = names.filter(|name| !name.is_empty()).collect();
    for path in names.into_iter().filter_map(|name| find(name).ok()) {
        add(&path, stats, tools)?;
    }
    Ok(())
}

fn tool(path: &Path, stats: &mut StatCacheStats) -> Result<Tool, Unsteady> {
    let failed = |e: std::io::Error| Unsteady::UnreadableProgram(path.to_owned(), e);
    // The file behind all symlinks: its metadata shows whether it was written.
    let real = path.canonicalize().map_err(failed)?;
    let name = real.clone().into_os_string().into_vec();
    let since = now();
    let file = open_plain(&real).map_err(failed)?;
    let stat = rustix::fs::fstat(&file).map_err(|e| failed(e.into()))?;
    let word = Word::new(path.as_os_str().as_bytes());
    if let Some(digest) = stats.digest(&name, &StatStamp::from(&stat)) {
        return Ok(Tool { digest, path: word });
    }
    let (digest, steady) = digest(file).map_err(failed)?;
    let stat = steady.ok_or_else(|| Unsteady::ProgramBeingWritten(path.to_owned()))?;
    stats.learn(&name, StatStamp::from(&stat), digest.clone(), since);
    Ok(Tool { digest, path: word })
}
