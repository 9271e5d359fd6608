//! Collects the files that have a say in what a command does: its scripts, makefiles and package.json,
//! what those call, and the configuration of its programs.

use crate::Step;
use crate::facts::{FactAnswer, Facts, Question};
use std::borrow::Cow;
use std::collections::BTreeSet;
use vplan_base::path::RepoPath;
use vplan_check::commands::commands;
use vplan_check::tool::table::fits;
use vplan_check::tool::{
    Layer, LayerRole, Steering, configuration, is_shell, layers, name as tool_name, operands,
    started,
};

/// A file that has a say in what a step does.
pub(super) struct File {
    pub place: Place,
    /// What it is to the step, for people.
    pub part: Cow<'static, str>,
    /// The questions by whose answers it is one.
    pub by: Vec<Question>,
}

/// The files that are meant.
pub(super) enum Place {
    Exact(RepoPath),
    /// Any package.json below a directory, where a workspace's tool picks the package itself.
    Below(RepoPath),
    /// The paths below a directory that fit a pattern.
    Fitting(RepoPath, String),
    /// By a pattern of the table of tools.
    Configuration(Steering),
}

impl Place {
    pub fn is(&self, path: &RepoPath) -> bool {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        match self {
            Self::Exact(exact) => exact == path,
            Self::Below(dir) => path.name() == PACKAGE.as_bytes() && path.below(dir).is_some(),
            Self::Fitting(dir, pattern) => path
                .below(dir)
                .is_some_and(|path| fits(pattern, &text(path))),
            Self::Configuration(steering) => configures(steering, path),
        }
    }

    /// The name that such files have; `*` is any text.
    pub fn name(&self) -> &[u8] {
        let last = |pattern: &'_ str| pattern.rfind('/').map_or(0, |at| at + 1);
        let pattern = match self {
            Self::Exact(path) => return path.name(),
            Self::Below(_) => PACKAGE,
            Self::Fitting(_, pattern) => pattern,
            Self::Configuration(steering) => steering.file,
        };
        pattern.get(last(pattern)..).unwrap_or_default().as_bytes()
    }
}

/// Whether a path is of a pattern: in the folder where the program runs, above it, or below where the
/// pattern says so. Where that folder is not known, anywhere.
fn configures(steering: &Steering, path: &RepoPath) -> bool {
    let (pattern, below) = match steering.file.strip_prefix("**/") {
        Some(pattern) => (pattern, true),
        None => (steering.file, false),
    };
    let path_text = String::from_utf8_lossy(path.as_bytes());
    let depth = pattern.matches('/').count() + 1;
    let names: Vec<&str> = path_text.rsplitn(depth + 1, '/').collect();
    let own: Vec<&str> = names.iter().take(depth).rev().copied().collect();
    if !fits(pattern, &own.join("/")) {
        return false;
    }
    let folder = names.get(depth).copied().unwrap_or_default();
    let Some(dir) = &steering.dir else {
        return true;
    };
    let dir = match dir.is_root() {
        true => String::new(),
        false => String::from_utf8_lossy(dir.as_bytes()).into_owned(),
    };
    let is_in = |inner: &str, outer: &str| {
        outer.is_empty()
            || inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(&dir, folder) || below && is_in(folder, &dir)
}

const PACKAGE: &str = "package.json";
const SCRIPT: &str = "what it runs";

const SCRIPT_RUNNERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
/// The subcommands that start a program without reading package.json.
const NO_SCRIPT: [&str; 5] = ["exec", "dlx", "x", "create", "init"];
const INTERPRETERS: [&str; 10] = [
    "node", "nodejs", "tsx", "bun", "ruby", "perl", "php", "deno", "Rscript", "python",
];
/// Maximum nesting of shell texts, package scripts and makefiles.
const DEEPEST: usize = 3;
/// Maximum number of directories in which a shell text is assumed to start programs.
const DIRECTORIES: usize = 8;

/// The files of a command, as far as the facts tell.
pub(super) struct Files<'a> {
    facts: &'a Facts,
    tool_path: &'a [RepoPath],
    pub files: Vec<File>,
    /// The questions without an answer.
    pub asked: BTreeSet<Question>,
    /// The answers that led to what is examined now.
    by: Vec<Question>,
    /// The examined scripts of packages.
    scripts: BTreeSet<(RepoPath, String)>,
}

impl<'a> Files<'a> {
    pub fn of_step(step: &'a Step, facts: &'a Facts) -> Self {
        let argv = || step.argv.iter().flatten();
        let words: Vec<String> = argv()
            .map(|word| String::from_utf8_lossy(word.as_bytes()).into_owned())
            .collect();
        let mut files = Self::new(&words, &step.dir, &step.tool_path, facts);
        // A name that is not UTF-8 may be that of a script.
        for word in argv().filter(|word| word.as_str().is_none()) {
            files.exact(step.dir.join(word.as_bytes()).ok(), SCRIPT);
        }
        files
    }

    pub fn new(
        words: &[String],
        dir: &RepoPath,
        tool_path: &'a [RepoPath],
        facts: &'a Facts,
    ) -> Self {
        let mut files = Self {
            facts,
            tool_path,
            files: Vec::new(),
            asked: BTreeSet::new(),
            by: Vec::new(),
            scripts: BTreeSet::new(),
        };
        files.command(dir, words, DEEPEST);
        files
    }

    fn add(&mut self, place: Place, part: impl Into<Cow<'static, str>>) {
        self.files.push(File {
            place,
            part: part.into(),
            by: self.by.clone(),
        });
    }

    fn exact(&mut self, path: Option<RepoPath>, part: impl Into<Cow<'static, str>>) {
        if let Some(path) = path {
            self.add(Place::Exact(path), part);
        }
    }

    /// Collects the files of a command: of each of its programs, launchers first, and of the text that
    /// it gives to a shell.
    fn command(&mut self, dir: &RepoPath, words: &[String], deepest: usize) {
        let layers = layers(words, Some(dir));
        let mut dirs: Vec<&RepoPath> = layers.iter().filter_map(|l| l.dir.as_ref()).collect();
        dirs.push(dir);
        dirs.sort();
        dirs.dedup();
        let started = started(words);
        for at in &started.starts {
            let words = words.get(*at..).unwrap_or_default();
            let Some(program) = words.first() else {
                continue;
            };
            for dir in &dirs {
                self.program(dir, program, words, deepest);
            }
        }
        for layer in layers
            .iter()
            .filter(|layer| layer.role == LayerRole::Script)
        {
            self.script_of_package(layer, deepest);
        }
        self.configuration(&layers);
        if let Some(text) = started.text {
            for dir in dirs {
                self.text(dir, &text, deepest);
            }
        }
    }

    /// Collects the files of a shell's text.
    fn text(&mut self, dir: &RepoPath, text: &str, deepest: usize) {
        let Some(deepest) = deepest.checked_sub(1) else {
            return;
        };
        let inner = entered(dir, text);
        for command in commands(text) {
            let words: Vec<String> = command.words().map(str::to_owned).collect();
            for dir in &inner {
                self.command(dir, &words, deepest);
            }
        }
    }

    fn configuration(&mut self, layers: &[Layer]) {
        let own =
            |steering: &Steering| steering.file != PACKAGE || steering.part != Some("scripts");
        let rules = |steering: &Steering| !matches!(&*steering.program, "make" | "gmake");
        for steering in configuration(layers) {
            if own(&steering) && rules(&steering) {
                let part = match steering.part {
                    Some(part) => format!("{}, by `{part}`", steering.program),
                    None => format!("configuration of {}", steering.program),
                };
                self.add(Place::Configuration(steering), part);
            }
        }
    }

    /// Collects the files of a program that runs in a directory.
    fn program(&mut self, dir: &RepoPath, program: &str, words: &[String], deepest: usize) {
        let path = |name: &str| dir.join(name.as_bytes()).ok();
        let arguments = words.get(1..).unwrap_or_default();
        // `uv run check.py` starts a file, too.
        if program.contains(['/', '.']) {
            self.script(dir, path(program));
        }
        if !program.contains('/') {
            for at in self.tool_path {
                let path = at.join(program.as_bytes()).ok();
                self.exact(path, "the program, by `tool-path`");
            }
        }
        let name = tool_name(program);
        if SCRIPT_RUNNERS.contains(&name) {
            self.package(dir, arguments);
        }
        if matches!(name, "make" | "gmake") {
            self.makefiles(dir, arguments, deepest);
        }
        let named = match name {
            "awk" | "gawk" | "mawk" | "sed" | "gsed" => option(arguments, Some("-f"), &["--file"]),
            _ if is_shell(name) => option(arguments, None, &["--rcfile", "--init-file"]),
            _ => Vec::new(),
        };
        for file in named {
            self.exact(dir.join(file).ok(), SCRIPT);
        }
        let module = arguments.iter().position(|word| word == "-m");
        let is_python = name.starts_with("python") || name.starts_with("pypy") || name == "py";
        if let Some(module) = module.and_then(|at| arguments.get(at + 1))
            && (is_python || name == "coverage")
        {
            let module = module.replace('.', "/");
            for end in ["", "/__main__", "/__init__"] {
                self.exact(
                    path(&format!("{module}{end}.py")),
                    "the module that it runs",
                );
            }
            return;
        }
        let sources = matches!(name, "." | "source");
        let interprets = is_python || is_shell(name) || INTERPRETERS.contains(&name) || sources;
        if interprets
            && let Some(script) = operands(words).into_iter().find(|word| word != "run")
            && !is_code(name, arguments, &script)
        {
            self.script(dir, path(&script));
        }
    }

    /// The lines of a file that call others; asks for them where they are not known.
    fn calls(&mut self, path: &RepoPath) -> Option<(Question, Vec<String>)> {
        let question = Question::Calls(path.clone());
        match self.facts.get(&question) {
            Some(FactAnswer::List(lines)) => {
                let text = |line: &vplan_base::word::Word| line.as_str().map(str::to_owned);
                Some((question, lines.iter().filter_map(text).collect()))
            }
            Some(FactAnswer::Word(_)) => None,
            None => {
                self.asked.insert(question);
                None
            }
        }
    }

    /// Collects a script that runs in a directory, and what it sources.
    fn script(&mut self, dir: &RepoPath, path: Option<RepoPath>) {
        let Some(path) = path else {
            return;
        };
        self.add(Place::Exact(path.clone()), SCRIPT);
        let Some((question, lines)) = self.calls(&path) else {
            return;
        };
        self.by.push(question);
        let part = format!("what `{path}` sources");
        for line in lines.iter().filter_map(|line| line.strip_prefix(". ")) {
            for place in candidates(line, dir, &path) {
                self.add(place, part.clone());
            }
        }
        self.by.pop();
    }

    /// Collects what a script of a package calls, and with it those that are started before and after it.
    fn script_of_package(&mut self, layer: &Layer, deepest: usize) {
        let (Some(dir), Some(name)) = (&layer.dir, layer.asked.first()) else {
            return;
        };
        let manifest = dir.join(PACKAGE.as_bytes()).ok();
        let seen = (dir.clone(), name.clone());
        if deepest == 0 || !self.scripts.insert(seen) {
            return;
        }
        let Some((question, lines)) = manifest.and_then(|path| self.calls(&path)) else {
            return;
        };
        self.by.push(question);
        let before = self.files.len();
        for line in &lines {
            let Some((script, text)) = line.split_once(": ") else {
                continue;
            };
            let around = ["", "pre", "post"].map(|around| format!("{around}{name}"));
            if around.iter().any(|name| name == script) {
                self.text(dir, text, deepest);
            }
        }
        self.by.pop();
        for file in self.files.iter_mut().skip(before) {
            if file.part == SCRIPT {
                file.part = format!("what its script `{name}` runs").into();
            }
        }
    }

    fn package(&mut self, dir: &RepoPath, arguments: &[String]) {
        let mut words = arguments.iter().map(String::as_str);
        let first = words.clone().find(|word| !word.starts_with('-'));
        if first.is_some_and(|word| NO_SCRIPT.contains(&word)) {
            return;
        }
        let Some(dir) = moved(
            dir,
            option(arguments, Some("-C"), &["--dir", "--prefix", "--cwd"]),
        ) else {
            return;
        };
        let workspace = |w: &str| {
            matches!(
                w,
                "-r" | "--recursive" | "-F" | "-w" | "--workspaces" | "workspace" | "workspaces"
            ) || w.starts_with("--filter")
                || w.starts_with("--workspace")
        };
        if words.any(workspace) {
            self.add(Place::Below(dir), "its scripts");
        } else {
            self.exact(dir.join(PACKAGE.as_bytes()).ok(), "its scripts");
        }
    }

    fn makefiles(&mut self, dir: &RepoPath, arguments: &[String], deepest: usize) {
        let Some(dir) = moved(dir, option(arguments, Some("-C"), &["--directory"])) else {
            return;
        };
        let mut names = option(arguments, Some("-f"), &["--file", "--makefile"]);
        if names.is_empty() {
            names = vec![b"GNUmakefile", b"makefile", b"Makefile"];
        }
        for path in names.into_iter().filter_map(|name| dir.join(name).ok()) {
            self.add(Place::Exact(path.clone()), "its rules");
            self.included(&dir, &path, deepest);
        }
    }

    /// Collects what a makefile includes, and what that includes.
    fn included(&mut self, dir: &RepoPath, makefile: &RepoPath, deepest: usize) {
        let Some(deepest) = deepest.checked_sub(1) else {
            return;
        };
        let Some((question, lines)) = self.calls(makefile) else {
            return;
        };
        self.by.push(question);
        for name in lines.iter().filter_map(|l| l.strip_prefix("include ")) {
            for place in candidates(name, dir, makefile) {
                let inner = match &place {
                    Place::Exact(path) if !name.starts_with('$') => Some(path.clone()),
                    _ => None,
                };
                self.add(place, format!("rules that `{makefile}` includes"));
                if let Some(inner) = inner.filter(|inner| inner != makefile) {
                    self.included(dir, &inner, deepest);
                }
            }
        }
        self.by.pop();
    }
}

/// The places that a name in a script or makefile may mean: where the program runs, next to the file,
/// and, where a variable begins it, in any folder above the file.
fn candidates(name: &str, dir: &RepoPath, file: &RepoPath) -> Vec<Place> {
    let own = file.folder();
    let (rest, mut folders) = match name.strip_prefix('$') {
        Some(rest) => {
            let above = own.ancestors().into_iter().chain([RepoPath::root()]);
            (rest.trim_start_matches('/'), above.collect())
        }
        None => (name, vec![own]),
    };
    if rest.trim_matches(['*', '$', '/', '.']).is_empty() {
        return Vec::new();
    }
    folders.push(dir.clone());
    folders.sort();
    folders.dedup();
    let place = |folder: RepoPath| {
        let pattern = rest.replace('$', "*");
        if pattern.contains('*') {
            let pattern = pattern.trim_start_matches("./").to_owned();
            return Some(Place::Fitting(folder, pattern));
        }
        folder.join(rest.as_bytes()).ok().map(Place::Exact)
    };
    folders.into_iter().filter_map(place).collect()
}

/// The directory that options lead to, one after another.
fn moved(dir: &RepoPath, to: Vec<&[u8]>) -> Option<RepoPath> {
    let enter = |dir: RepoPath, to| dir.join(to).ok();
    to.into_iter().try_fold(dir.clone(), enter)
}

/// The directories in which a shell's text may start programs: where it begins, and where each `cd` leads.
fn entered(dir: &RepoPath, text: &str) -> Vec<RepoPath> {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || "&|;()".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let to = words.windows(2).filter_map(|pair| match pair {
        ["cd" | "pushd", to] => dir.join(to.as_bytes()).ok(),
        _ => None,
    });
    std::iter::once(dir.clone())
        .chain(to)
        .take(DIRECTORIES)
        .collect()
}

/// Whether an interpreter's operand is code: `-e TEXT`, `sh -c TEXT`.
fn is_code(name: &str, arguments: &[String], operand: &str) -> bool {
    let code = ["-c", "-e", "-p", "--eval", "--print"];
    let mut options = arguments.iter().take_while(|word| *word != operand);
    if is_shell(name) {
        return options
            .any(|word| word.starts_with('-') && word.contains('c') && !word.starts_with("--"));
    }
    options.any(|word| code.contains(&word.as_str()))
}

/// Returns the values of an option in its forms `-C DIR`, `-CDIR`, `--directory DIR`,
/// `--directory=DIR`.
fn option<'a>(arguments: &'a [String], short: Option<&str>, long: &[&str]) -> Vec<&'a [u8]> {
    let mut values = Vec::new();
    let mut rest = arguments.iter().map(String::as_bytes);
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
