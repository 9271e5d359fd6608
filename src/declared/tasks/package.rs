//! Scripts of a `package.json`: `npm run X`, `pnpm --filter P X`, `yarn workspace P X`, `bun run X`,
//! `node --run X`, with their `pre` and `post` scripts and wireit's dependencies.

use super::super::tree::{DataFile, Syntax, Tree};
use super::kit::{self, Options, appended, at, line};
use super::{Body, Line};
use crate::base::path::RepoPath;
use crate::front::tree::Node;

/// The manifest's name.
pub const FILE: &str = "package.json";

/// The text that `npm init` writes where there is no test.
pub const NO_TEST: &str = "no test specified";

/// The lock files, in the order in which they decide.
pub const LOCKS: [(&str, &str); 6] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
];

/// Folders whose packages are vendored, generated, or test data.
pub const NOT_OURS: [&str; 19] = [
    "__fixtures__",
    "__tests__",
    "build",
    "dist",
    "example",
    "examples",
    "external",
    "fixtures",
    "node_modules",
    "out",
    "target",
    "template",
    "templates",
    "test",
    "testdata",
    "tests",
    "third-party",
    "third_party",
    "vendor",
];

/// Whether a directory holds the repository's own packages.
pub fn is_ours(dir: &RepoPath) -> bool {
    dir.is_root()
        || !dir
            .segments()
            .any(|s| s.starts_with(b".") || NOT_OURS.iter().any(|n| s == n.as_bytes()))
}

/// The package manager of a directory, and the lock file that shows it: the nearest one, as package
/// managers themselves look for it; `packageManager` of a manifest on the way wins.
pub fn manager(tree: &Tree, dir: &RepoPath) -> (&'static str, Option<RepoPath>) {
    let mut here = Some(dir.clone());
    let (mut said, mut found) = (None, None);
    while let Some(dir) = here {
        let named = dir
            .join(FILE.as_bytes())
            .ok()
            .and_then(|file| tree.read(&file, Syntax::Json).ok())
            .and_then(|doc| doc.root.get("packageManager")?.text().map(str::to_owned));
        let named = named.as_deref().and_then(|text| text.split('@').next());
        let known = LOCKS.iter().map(|(_, manager)| *manager);
        said = said.or_else(|| known.into_iter().find(|m| Some(*m) == named));
        let lock = LOCKS.iter().find(|(file, _)| tree.has(&dir, file));
        if let (None, Some((file, manager))) = (&found, lock) {
            found = Some((*manager, dir.join(file.as_bytes()).ok()));
        }
        here = if dir.is_root() {
            None
        } else {
            dir.join(b"..").ok()
        };
    }
    let (by_lock, lock) = found.unwrap_or(("npm", None));
    (said.unwrap_or(by_lock), lock)
}

/// The packages of the repository: directory and name, in the order of their paths.
pub fn all(tree: &Tree) -> Vec<(RepoPath, String)> {
    let manifests = tree
        .texts
        .keys()
        .filter(|file| file.name() == FILE.as_bytes());
    manifests
        .filter_map(|file| {
            let dir = file.join(b"..").ok()?;
            let doc = tree.read(file, Syntax::Json).ok()?;
            let name = doc
                .root
                .get("name")
                .and_then(Node::text)
                .unwrap_or_default();
            is_ours(&dir).then(|| (dir, name.to_owned()))
        })
        .collect()
}

/// A package manager's request to run a script.
struct Request<'a> {
    script: &'a str,
    args: Vec<String>,
    dirs: Dirs<'a>,
    /// A script that is missing is no failure (`--if-present`, recursive runs).
    if_present: bool,
    /// A word that may be a program as well.
    or_program: bool,
}

/// The packages in which a script is wanted.
enum Dirs<'a> {
    Here(Option<&'a str>),
    /// By name, path or pattern.
    Named(Vec<&'a str>),
    All,
}

/// Finds the scripts that a package manager's command runs.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    let rest = words.get(1..).unwrap_or_default();
    let request = match kit::program(words) {
        "npm" => npm(rest)?,
        "pnpm" => pnpm(rest)?,
        "yarn" | "yarnpkg" => yarn(rest)?,
        "bun" => bun(rest)?,
        "node" | "nodejs" => node(rest)?,
        "lerna" => lerna(rest)?,
        _ => return None,
    };
    let dirs = match &request.dirs {
        Dirs::Here(None) => vec![dir.clone()],
        Dirs::Here(Some(to)) => match dir.join(to.as_bytes()) {
            Ok(dir) => vec![dir],
            Err(_) => return Some(Body::Opaque(format!("`{to}` is outside of the repository"))),
        },
        Dirs::Named(names) => named(tree, dir, names),
        Dirs::All => all(tree)
            .into_iter()
            .map(|(package, _)| package)
            .filter(|package| !package.is_root() && package.below(dir).is_some())
            .collect(),
    };
    let single = matches!(request.dirs, Dirs::Here(_));
    let (mut lines, mut declared) = (Vec::new(), false);
    for dir in &dirs {
        match script(tree, dir, &request, single) {
            Ok(None) => {}
            Ok(Some(found)) => {
                declared = true;
                lines.extend(found);
            }
            Err(why) => return Some(Body::Opaque(why)),
        }
        if lines.len() > kit::MAX_LINES {
            break;
        }
    }
    if !declared {
        if request.or_program {
            return None;
        }
        if !request.if_present {
            let name = request.script;
            return Some(Body::Opaque(format!("no `{FILE}` declares `{name}`")));
        }
    }
    Some(Body::Lines(lines))
}

/// The packages of names, paths and patterns. One that asks for dependents or dependencies (`...`)
/// takes all.
fn named(tree: &Tree, dir: &RepoPath, names: &[&str]) -> Vec<RepoPath> {
    let packages = all(tree);
    let hit = |pattern: &str, package: &RepoPath, name: &str| {
        let pattern = pattern.trim_matches(['{', '}']);
        if pattern.contains("...") || pattern.starts_with('[') {
            return true;
        }
        if name == pattern || kit::matches(pattern, name, '/') {
            return true;
        }
        let path = dir.join(pattern.trim_end_matches("/**").as_bytes());
        path.is_ok_and(|path| {
            *package == path
                || pattern.ends_with("**") && package.below(&path).is_some()
                || std::str::from_utf8(package.as_bytes()).is_ok_and(|package| {
                    kit::matches(pattern.trim_start_matches("./"), package, '/')
                })
        })
    };
    let wanted = |(package, name): &(RepoPath, String)| {
        let mut positive = names.iter().filter(|n| !n.starts_with('!')).peekable();
        let any = positive.peek().is_none() || positive.any(|p| hit(p, package, name));
        let mut negative = names.iter().filter_map(|n| n.strip_prefix('!'));
        any && !negative.any(|p| hit(p, package, name))
    };
    packages
        .into_iter()
        .filter(wanted)
        .map(|(package, _)| package)
        .collect()
}

/// The lines of a script in a package. `None` when the package has no such script.
fn script(
    tree: &Tree,
    dir: &RepoPath,
    request: &Request<'_>,
    upwards: bool,
) -> Result<Option<Vec<Line>>, String> {
    // A package manager takes the nearest manifest.
    let found = if upwards {
        kit::nearest(tree, dir, &[FILE])
    } else {
        dir.join(FILE.as_bytes())
            .ok()
            .map(|file| (dir.clone(), file))
    };
    let Some((dir, file)) = found else {
        return Ok(None);
    };
    let doc = match kit::document(tree, &file, Syntax::Json) {
        None => return Ok(None),
        Some(doc) => doc?,
    };
    let scripts: Vec<&str> = match request.script.strip_prefix('/') {
        // pnpm takes a regular expression.
        Some(pattern) => {
            let part = pattern
                .trim_end_matches('/')
                .trim_matches(['^', '$', '(', ')']);
            let entries = doc
                .root
                .get("scripts")
                .map_or(&[][..], Node::entries)
                .iter();
            let part = part.split([':', '|', '.', '*']).next().unwrap_or_default();
            entries
                .map(|(key, _)| key.name.as_str())
                .filter(|name| name.starts_with(part))
                .collect()
        }
        None => vec![request.script],
    };
    let mut lines = Vec::new();
    let mut declared = false;
    for name in scripts {
        let Some(node) = at(&doc.root, &["scripts", name]) else {
            continue;
        };
        declared = true;
        for (prefix, args) in [("pre", &[][..]), ("", &request.args), ("post", &[])] {
            let name = format!("{prefix}{name}");
            let node = if prefix.is_empty() {
                Some(node)
            } else {
                at(&doc.root, &["scripts", &name])
            };
            if let Some(node) = node {
                lines.extend(text(tree, &doc, node, &name, &dir, args)?);
            }
        }
    }
    Ok(declared.then_some(lines))
}

/// The line of one script; wireit's dependencies in front of it.
fn text(
    tree: &Tree,
    doc: &DataFile,
    node: &Node,
    name: &str,
    dir: &RepoPath,
    args: &[String],
) -> Result<Vec<Line>, String> {
    let Some(text) = node.text() else {
        return Err(format!("the script `{name}` of `{}` is no text", doc.file));
    };
    if text.trim() != "wireit" {
        let text = format!("{text}{}", appended(args));
        return Ok(vec![line(&doc.file, doc.line(node), name, text, dir)]);
    }
    let Some(task) = at(&doc.root, &["wireit", name]) else {
        return Err(format!("`{}` has no `wireit.{name}`", doc.file));
    };
    let mut lines = Vec::new();
    let manager = manager(tree, dir).0;
    for on in task.get("dependencies").map_or(&[][..], Node::list) {
        let script = on.text().or_else(|| on.get("script").and_then(Node::text));
        let Some(script) = script.and_then(|s| s.strip_prefix('!').or(Some(s))) else {
            continue;
        };
        let (dir, script) = match script.rsplit_once(':') {
            // `../other:build` is a script of another package.
            Some((path, script)) if path.starts_with('.') => match dir.join(path.as_bytes()) {
                Ok(dir) => (dir, script),
                Err(_) => return Err(format!("`{path}` is outside of the repository")),
            },
            _ => (dir.clone(), script),
        };
        let run = kit::joined(&kit::words(&[manager, "run", script]));
        lines.push(line(&doc.file, doc.line(on), name, run, &dir));
    }
    if let Some(command) = task.get("command")
        && let Some(text) = command.text()
    {
        let text = format!("{text}{}", appended(args));
        let mut own = line(&doc.file, doc.line(command), name, text, dir);
        own.env = kit::variables(task.get("env"));
        lines.push(own);
    }
    Ok(lines)
}

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
];

fn npm(rest: &[String]) -> Option<Request<'_>> {
    let end = rest.iter().position(|w| w == "--").unwrap_or(rest.len());
    let (mut own, behind) = rest.split_at_checked(end)?;
    let mut given = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    // npm takes its options anywhere in front of `--`.
    loop {
        let options = Options::of(own, NPM_VALUES);
        given.extend(options.given);
        let Some((first, further)) = options.rest.split_first() else {
            break;
        };
        names.push(first);
        own = further;
    }
    let options = Options { given, rest: &[] };
    let (script, further) = match *names.as_slice() {
        [
            "run" | "run-script" | "rum" | "urn",
            script,
            ref further @ ..,
        ] => (script, further),
        ["test" | "t" | "tst", ref further @ ..] => ("test", further),
        [script @ ("start" | "stop" | "restart"), ref further @ ..] => (script, further),
        _ => return None,
    };
    let mut args = kit::words(further);
    args.extend(behind.iter().skip(1).cloned());
    let named = options.values(&["-w", "--workspace"]);
    let dirs = if options.has(&["-ws", "--workspaces", "--ws"]) {
        Dirs::All
    } else if named.is_empty() {
        Dirs::Here(options.value(&["--prefix", "-C"]))
    } else {
        Dirs::Named(named)
    };
    Some(Request {
        script,
        args,
        dirs,
        if_present: options.has(&["--if-present"]),
        or_program: false,
    })
}

const PNPM_VALUES: &[&str] = &[
    "-C",
    "--dir",
    "-F",
    "--filter",
    "--filter-prod",
    "--reporter",
    "--loglevel",
    "--workspace-concurrency",
    "--resume-from",
];

/// Words behind a package manager that are its own commands, and no scripts.
const COMMANDS: &str = "add approve-builds audit autoclean bin bugs c cache cat-file cat-index ci completion config \
    constraints create dedupe deploy dlx docs doctor edit env exec explain fetch find-hash generate-lock-entry get \
    global help i import info init install install-test it la licenses link list ll ln login logout ls node npm \
    outdated owner pack patch patch-commit patch-remove ping plugin policies prefix prune publish rb rebuild remove \
    rm root search self-update server set setup show store tag team un uninstall unlink unplug up update upgrade \
    upgrade-interactive version versions view whoami why x";

fn is_command(word: &str) -> bool {
    COMMANDS.split_whitespace().any(|command| command == word)
}

/// The words behind the name of a script; one `--` in front of them is the manager's.
fn behind(words: &[String]) -> Vec<String> {
    match words.split_first() {
        Some((first, rest)) if first == "--" => rest.to_vec(),
        _ => words.to_vec(),
    }
}

fn pnpm(rest: &[String]) -> Option<Request<'_>> {
    let mut options = Options::of(rest, PNPM_VALUES);
    let mut recursive = false;
    if matches!(
        options.rest.first().map(String::as_str),
        Some("recursive" | "multi" | "m")
    ) {
        recursive = true;
        let more = Options::of(options.rest.get(1..).unwrap_or_default(), PNPM_VALUES);
        options.given.extend(more.given);
        options.rest = more.rest;
    }
    let (command, further) = options.rest.split_first()?;
    let (script, args, or_program) = match command.as_str() {
        "run" | "run-script" => {
            let more = Options::of(further, PNPM_VALUES);
            options.given.extend(more.given);
            let (script, args) = more.rest.split_first()?;
            (script.as_str(), args, false)
        }
        "test" | "t" | "tst" => ("test", further, false),
        "start" | "stop" | "restart" => (command.as_str(), further, false),
        // `versions` is a command of yarn alone.
        name if is_command(name) && name != "versions" => return None,
        name => (name, further, true),
    };
    recursive |= options.has(&["-r", "--recursive"]);
    let filters = options.values(&["-F", "--filter", "--filter-prod"]);
    let dirs = if !filters.is_empty() {
        Dirs::Named(filters)
    } else if recursive {
        Dirs::All
    } else if options.has(&["-w", "--workspace-root"]) {
        Dirs::Named(vec!["."])
    } else {
        Dirs::Here(options.value(&["-C", "--dir"]))
    };
    Some(Request {
        script,
        args: behind(args),
        if_present: options.has(&["--if-present"]) || recursive,
        dirs,
        or_program,
    })
}

const YARN_VALUES: &[&str] = &["--cwd", "--mutex", "--use-yarnrc", "--cache-folder"];

fn yarn(rest: &[String]) -> Option<Request<'_>> {
    let options = Options::of(rest, YARN_VALUES);
    let (command, further) = options.rest.split_first()?;
    let own = |command: &'static str| Some(command).filter(|_| !further.is_empty());
    match command.as_str() {
        "workspace" => {
            let (name, further) = further.split_first()?;
            let inner = yarn(further)?;
            return Some(Request {
                dirs: Dirs::Named(vec![name]),
                ..inner
            });
        }
        "workspaces" => {
            let (how, further) = further.split_first()?;
            let valued = ["-j", "--jobs", "--include", "--exclude", "--from"];
            let more = Options::of(further, &valued);
            let inner = match how.as_str() {
                "foreach" => yarn(more.rest)?,
                "run" => {
                    let (script, args) = more.rest.split_first()?;
                    Request {
                        script,
                        args: behind(args),
                        dirs: Dirs::All,
                        if_present: true,
                        or_program: false,
                    }
                }
                _ => return None,
            };
            let included = more.values(&["--include", "--from"]);
            let dirs = if included.is_empty() {
                Dirs::All
            } else {
                Dirs::Named(included)
            };
            return Some(Request {
                dirs,
                if_present: true,
                ..inner
            });
        }
        _ => {}
    }
    let (script, args, or_program) = match command.as_str() {
        "run" => {
            own("run")?;
            let more = Options::of(further, YARN_VALUES);
            let (script, args) = more.rest.split_first()?;
            (script.as_str(), args, true)
        }
        name if is_command(name) => return None,
        name => (name, further, true),
    };
    // `yarn app:build` of another workspace (`-T`, `-B`) is the root's.
    Some(Request {
        script,
        args: behind(args),
        dirs: Dirs::Here(options.value(&["--cwd"])),
        if_present: false,
        or_program,
    })
}

const BUN_VALUES: &[&str] = &["--cwd", "--filter", "-F", "--config", "-c", "--env-file"];

fn bun(rest: &[String]) -> Option<Request<'_>> {
    let mut options = Options::of(rest, BUN_VALUES);
    let (command, further) = options.rest.split_first()?;
    let (script, args) = match command.as_str() {
        "run" => {
            let more = Options::of(further, BUN_VALUES);
            options.given.extend(more.given);
            more.rest.split_first()?
        }
        "test" | "build" => return None,
        name if is_command(name) => return None,
        _ => (command, further),
    };
    let filters = options.values(&["--filter", "-F"]);
    let dirs = if filters.is_empty() {
        Dirs::Here(options.value(&["--cwd"]))
    } else {
        Dirs::Named(filters)
    };
    Some(Request {
        script,
        args: behind(args),
        dirs,
        if_present: options.has(&["--if-present"]),
        or_program: true,
    })
}

fn node(rest: &[String]) -> Option<Request<'_>> {
    let options = Options::of(rest, &["--run"]);
    Some(Request {
        script: options.value(&["--run"])?,
        args: behind(options.rest),
        dirs: Dirs::Here(None),
        if_present: false,
        or_program: false,
    })
}

fn lerna(rest: &[String]) -> Option<Request<'_>> {
    let options = Options::of(rest, &["--scope", "--ignore", "--concurrency"]);
    let (run, further) = options.rest.split_first()?;
    if run != "run" {
        return None;
    }
    let more = Options::of(further, &["--scope", "--ignore", "--concurrency"]);
    let (script, further) = more.rest.split_first()?;
    let last = Options::of(further, &["--scope", "--ignore", "--concurrency"]);
    let mut scopes = options.values(&["--scope"]);
    scopes.extend(more.values(&["--scope"]));
    scopes.extend(last.values(&["--scope"]));
    Some(Request {
        script,
        args: last.rest.to_vec(),
        dirs: if scopes.is_empty() {
            Dirs::All
        } else {
            Dirs::Named(scopes)
        },
        if_present: true,
        or_program: false,
    })
}
