//! Parses an argument vector into the tools that it starts and what it asks of them: the one reader
//! of commands, for the formats of output, recovery and feedback.
//!
//! A command is parsed as layers: `env CI=1 pnpm exec vitest run` is `env`, then pnpm, then vitest.
//! Each layer has its own message for "not found"; the last one does the work and writes the output.

mod builder;
mod form;
mod launch;
mod layer;
pub mod matched;
mod package_manager;
pub mod table;

pub use form::Form;
pub use launch::{Started, is_installed, is_shell, name, operands, started};

use builder::{just, make, ninja};
pub(super) use launch::is_assignment;
use launch::one_command;
pub use layer::base_name;
use layer::{Inner, Words, has, moved, skip_options, unversioned, value};
pub use layer::{Layer, LayerRole, ToolLayer};
use package_manager::{bun, npm, pnpm, script, yarn};
use vplan_base::path::RepoPath;

/// The programs that a command starts.
pub struct Invocation {
    layers: Vec<Layer>,
    words: Vec<String>,
    formats: Vec<&'static str>,
}

impl Invocation {
    /// Finds the programs that an argument vector starts.
    pub fn parse(argv: &[&str]) -> Self {
        let words: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let layers = layers(&words, None);
        Self {
            formats: layers.last().map(formats_of).unwrap_or_default(),
            layers,
            words,
        }
    }

    /// The formats that the program writes that does the work.
    pub fn formats(&self) -> &[&'static str] {
        &self.formats
    }

    /// The program that does the work, after everything that only starts it; without its folder.
    pub fn program(&self) -> &str {
        self.layers.last().map_or("", |layer| &layer.program)
    }

    /// Whether one of these programs does the work.
    pub fn runs(&self, programs: &[&str]) -> bool {
        programs.contains(&self.program())
    }

    /// Whether this tool does the work, by whatever program.
    pub fn is(&self, tool: ToolLayer) -> bool {
        self.layers.last().is_some_and(|layer| layer.tool == tool)
    }

    /// The arguments of the program that does the work.
    pub fn arguments(&self) -> &[String] {
        self.layers.last().map_or(&[], |layer| &layer.arguments)
    }

    /// All its words.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Whether one of these words is an argument of the program that does the work.
    pub fn has(&self, words: &[&str]) -> bool {
        self.arguments().iter().any(|word| words.contains(&&**word))
    }

    /// The script of a package that it runs.
    pub fn script(&self) -> Option<&str> {
        let layer = self
            .layers
            .iter()
            .find(|layer| layer.role == LayerRole::Script);
        layer
            .and_then(|layer| layer.asked.first())
            .map(String::as_str)
    }

    /// The names of all programs that it starts, outermost first.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().map(|layer| &*layer.program)
    }

    /// Whether it asks a tool for one of these forms of output: `--reporter tap`, `-f=json`,
    /// `--test-reporter=junit`.
    pub fn asks(&self, forms: &[&str]) -> bool {
        const OPTIONS: [&str; 8] = [
            "-R",
            "-f",
            "-o",
            "--format",
            "--output-format",
            "--reporter",
            "--reporters",
            "--test-reporter",
        ];
        let mut option = false;
        self.words.iter().any(|word| {
            let value = match word.split_once('=') {
                Some((name, value)) if OPTIONS.contains(&name) => Some(value),
                _ => option.then_some(&**word),
            };
            option = OPTIONS.contains(&&**word);
            value.is_some_and(|value| {
                forms
                    .iter()
                    .any(|form| value == *form || value.ends_with(&format!("-{form}")))
            })
        })
    }
}

impl Invocation {
    /// The phrases with which its programs say that nothing was tested.
    pub fn no_tests(&self) -> impl Iterator<Item = &'static str> {
        let rows = self.layers.iter().flat_map(rows_of);
        rows.flat_map(|row| row.no_tests.iter().copied())
    }

    /// Whether one of its programs only lists or shows what it would execute, by the table of tools.
    pub fn is_dry(&self) -> bool {
        self.layers.iter().any(is_dry)
    }
}

fn is_dry(layer: &Layer) -> bool {
    let is_manager = matches!(
        layer.tool,
        ToolLayer::Npm | ToolLayer::Pnpm | ToolLayer::Yarn | ToolLayer::Bun
    );
    let runs = |word: &String| matches!(word.as_str(), "run" | "run-script");
    // Without a script it lists those that there are.
    if is_manager && layer.role == LayerRole::Plain && layer.arguments.iter().any(runs) {
        return true;
    }
    let dry: Vec<&str> = table::dry(&layer.program).collect();
    if dry.is_empty() {
        return false;
    }
    let values = launch::values_of(&layer.program);
    // just passes on what follows its recipe.
    let is_passed_on = |word: &String| {
        word == "--" || layer.tool == ToolLayer::Just && layer.asked.first() == Some(word)
    };
    let end = layer.arguments.iter().position(is_passed_on);
    let own = layer.arguments.get(..end.unwrap_or(layer.arguments.len()));
    let own = own.unwrap_or_default();
    own.iter().enumerate().any(|(at, word)| {
        let with_value = own.get(at + 1).map(|next| format!("{word}={next}"));
        // Short options in one word, up to one that may take the rest.
        let letters = word.strip_prefix('-').unwrap_or_default().chars();
        let letters = letters.take_while(char::is_ascii_lowercase);
        let options = letters.map(|letter| format!("-{letter}"));
        let options = options.take_while(|option| !values.contains(&option.as_str()));
        let mut given = [word.clone()].into_iter().chain(with_value).chain(options);
        given.any(|given| dry.iter().any(|dry| table::fits(dry, &given)))
    })
}

/// A file pattern that steers a program of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Steering {
    pub program: String,
    /// A name, in the folder where the program runs or above; `**/NAME` also below.
    pub file: &'static str,
    /// The part of the file that it is about.
    pub part: Option<&'static str>,
    pub dir: Option<RepoPath>,
}

/// The configuration files of a command's programs, by the table of tools.
pub fn configuration(layers: &[Layer]) -> Vec<Steering> {
    let of_layer = |layer: &Layer| {
        let of_row = |row: &'static table::ToolRow| {
            row.config.iter().map(|pattern| {
                let (file, part) = match pattern.split_once(':') {
                    Some((file, part)) => (file, Some(part)),
                    None => (*pattern, None),
                };
                Steering {
                    program: layer.program.clone(),
                    file,
                    part,
                    dir: layer.dir.clone(),
                }
            })
        };
        let rows = rows_of(layer);
        rows.into_iter().flat_map(of_row).collect::<Vec<_>>()
    };
    let mut found: Vec<Steering> = layers.iter().flat_map(of_layer).collect();
    found.sort();
    found.dedup();
    found
}

/// The rows of the table that a program's call is of.
fn rows_of(layer: &Layer) -> Vec<&'static table::ToolRow> {
    let values = launch::values_of(&layer.program);
    let words: Vec<String> = [layer.program.clone()]
        .into_iter()
        .chain(layer.arguments.iter().cloned())
        .collect();
    let rows = table::rows_for(&layer.program);
    rows.filter(|(_, call)| launch::matched(call, &words, &values).is_some())
        .map(|(row, _)| row)
        .collect()
}

/// The formats that a program writes.
fn formats_of(layer: &Layer) -> Vec<&'static str> {
    let rows = rows_of(layer);
    let mut found: Vec<_> = rows
        .iter()
        .flat_map(|row| row.formats.iter().copied())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Maximum number of layers of a command.
const DEEPEST: usize = 8;

/// Returns the layers of an argument vector that starts in this directory, if it is known.
pub fn layers(words: Words<'_>, dir: Option<&RepoPath>) -> Vec<Layer> {
    let mut found = Vec::new();
    let mut next = Some((words.to_vec(), dir.cloned()));
    while let Some((words, dir)) = next
        .take()
        .filter(|(words, _)| !words.is_empty() && found.len() < DEEPEST)
    {
        let (layer, inner) = peel(&words, dir);
        found.push(layer);
        next = inner;
    }
    found
}

/// Returns the layers of a script's body as its runner printed it. Only its simple commands are
/// parsed.
pub fn layers_of_body(body: &str) -> Vec<Layer> {
    let mut found = Vec::new();
    for part in body.split(['&', '|', ';']) {
        let words: Vec<String> = part
            .split_whitespace()
            .map(|w| w.trim_matches(['"', '\'']).to_owned())
            .skip_while(|w| is_assignment(w))
            .collect();
        found.extend(layers(&words, None).into_iter().map(|layer| Layer {
            echoed: true,
            ..layer
        }));
    }
    found
}

/// The tools whose messages are known, by program.
const TOOLS: &[(&str, ToolLayer)] = &[
    ("_mocha", ToolLayer::Mocha),
    ("ava", ToolLayer::Ava),
    ("bunx", ToolLayer::Bun),
    ("cargo-nextest", ToolLayer::Nextest),
    ("ctest", ToolLayer::Ctest),
    ("cypress", ToolLayer::Cypress),
    ("hatch", ToolLayer::PythonRunner),
    ("jest", ToolLayer::Jest),
    ("mocha", ToolLayer::Mocha),
    ("npx", ToolLayer::Npm),
    ("pdm", ToolLayer::PythonRunner),
    ("pipenv", ToolLayer::PythonRunner),
    ("pipx", ToolLayer::PythonRunner),
    ("pixi", ToolLayer::PythonRunner),
    ("playwright", ToolLayer::Playwright),
    ("pnpx", ToolLayer::Pnpm),
    ("poetry", ToolLayer::PythonRunner),
    ("py.test", ToolLayer::Pytest),
    ("pytest", ToolLayer::Pytest),
    ("rye", ToolLayer::PythonRunner),
    ("unittest", ToolLayer::Unittest),
    ("uv", ToolLayer::PythonRunner),
    ("uvx", ToolLayer::PythonRunner),
    ("vitest", ToolLayer::Vitest),
];

fn tool_of(program: &str, rest: Words<'_>) -> ToolLayer {
    let tests = || rest.first().is_some_and(|word| word == "test");
    match program {
        "react-scripts" if tests() => ToolLayer::Jest,
        "deno" if tests() => ToolLayer::DenoTest,
        _ if program.starts_with("py") && launch::names_modules(program) => ToolLayer::Python,
        _ if launch::is_shell(program) => ToolLayer::Shell,
        _ => TOOLS
            .iter()
            .find(|(name, _)| *name == program)
            .map_or(ToolLayer::Other, |(_, tool)| *tool),
    }
}

fn peel(words: Words<'_>, dir: Option<RepoPath>) -> (Layer, Inner) {
    let program = words.first().map(|w| name(w)).unwrap_or_default();
    let rest = words.get(1..).unwrap_or_default();
    let plain = |tool| Layer {
        tool,
        role: LayerRole::Plain,
        program: program.to_owned(),
        arguments: rest.to_vec(),
        asked: Vec::new(),
        dir: dir.clone(),
        lenient: true,
        echoed: false,
        file: None,
    };
    match program {
        "npm" => npm(rest, plain(ToolLayer::Npm)),
        "pnpm" => pnpm(rest, plain(ToolLayer::Pnpm)),
        "yarn" | "yarnpkg" => yarn(rest, plain(ToolLayer::Yarn)),
        "bun" => bun(rest, plain(ToolLayer::Bun)),
        "make" | "gmake" => (make(rest, plain(ToolLayer::Make)), None),
        "ninja" | "ninja-build" | "samu" => (ninja(rest, plain(ToolLayer::Ninja)), None),
        "just" => (just(rest, plain(ToolLayer::Just)), None),
        "cargo" | "cross" => cargo(rest, plain(ToolLayer::Cargo)),
        "go" if !launches(words) => (
            with_subcommand(plain(ToolLayer::Go), skip_options(rest, &["-C"]).0),
            None,
        ),
        "node" | "nodejs" | "tsx" if !launches(words) => (node(rest, plain(ToolLayer::Node)), None),
        _ => launched(words, plain(tool_of(program, rest))),
    }
}

fn launches(words: Words<'_>) -> bool {
    matches!(launch::inner(words), Some(launch::Inner::At(_)))
}

/// The layer of a program that may start another one, by the table of tools.
fn launched(words: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let Some(found) = launch::inner(words) else {
        return (layer, None);
    };
    let dir = match launch::folder(words) {
        Some(to) => moved(&layer.dir, to),
        None => layer.dir.clone(),
    };
    let inner = match found {
        launch::Inner::At(at) => {
            let inner = words.iter().skip(at).skip_while(|word| is_assignment(word));
            inner.cloned().collect()
        }
        launch::Inner::Text(text) => match one_command(&text) {
            Some(words) => words,
            None => return (layer, None),
        },
    };
    let is_package = matches!(
        layer.tool,
        ToolLayer::Npm | ToolLayer::Pnpm | ToolLayer::Bun
    );
    let first = inner.first();
    let asked = first.map(|word| match is_package {
        true => unversioned(std::slice::from_ref(word)).concat(),
        false => base_name(word).to_owned(),
    });
    let role = match layer.tool {
        ToolLayer::Python if words.contains(&"-m".to_owned()) => LayerRole::Module,
        ToolLayer::Python | ToolLayer::Shell => LayerRole::Plain,
        _ => LayerRole::Exec,
    };
    let tool = match layer.tool {
        ToolLayer::Other => ToolLayer::Wrapper,
        tool => tool,
    };
    let asked = asked
        .filter(|_| role != LayerRole::Plain)
        .into_iter()
        .collect();
    (
        Layer {
            tool,
            role,
            asked,
            dir: dir.clone(),
            ..layer
        },
        Some((unversioned(&inner), dir)),
    )
}

fn node(rest: Words<'_>, layer: Layer) -> Layer {
    let values = launch::values_of("node");
    let (words, options) = skip_options(rest, &values);
    if let Some(name) = value(&options, &["--run"]) {
        return Layer {
            lenient: false,
            ..script(layer, name)
        };
    }
    if has(&options, &["--test"]) {
        return Layer {
            tool: ToolLayer::NodeTest,
            asked: words.to_vec(),
            ..layer
        };
    }
    layer
}

fn with_subcommand(layer: Layer, rest: Words<'_>) -> Layer {
    match rest.first() {
        Some(name) => Layer {
            role: LayerRole::Subcommand,
            asked: vec![name.clone()],
            ..layer
        },
        None => layer,
    }
}

fn cargo(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let toolchain = usize::from(rest.first().is_some_and(|w| w.starts_with('+')));
    let rest = rest.get(toolchain..).unwrap_or_default();
    let (words, _) = skip_options(rest, &["-C", "--config", "--color", "-Z"]);
    let inner = match words.first() {
        Some(name) if name == "nextest" => {
            let more = words.iter().skip(1).cloned();
            let inner = ["cargo-nextest".to_owned()].into_iter().chain(more);
            Some((inner.collect(), layer.dir.clone()))
        }
        _ => None,
    };
    (with_subcommand(layer, words), inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats `tool:role:asked@dir` for each layer.
    fn format_layers(command: &str) -> String {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let dir = RepoPath::parse(b"d").unwrap();
        let show = |l: Layer| {
            let dir = l.dir.map_or("?".to_owned(), |d| d.to_string());
            format!("{:?}:{:?}:{}@{dir}", l.tool, l.role, l.asked.join(","))
        };
        layers(&words, Some(&dir))
            .into_iter()
            .map(show)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The rows of a table, with cells between `|`.
    fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
        let rows = table.lines().map(str::trim);
        let rows = rows.filter(|row| !row.is_empty() && !row.starts_with('#'));
        rows.map(|row| {
            let mut cells = row.split('|').map(str::trim);
            std::array::from_fn(|_| cells.next().unwrap_or_default())
        })
    }

    #[test]
    fn package_managers() {
        for [command, want] in rows(
            "
            npm run x                                     | Npm:Script:x@d
            npm --silent run-script x -- --watch          | Npm:Script:x@d
            npm test                                      | Npm:Script:test@d
            npm t                                         | Npm:Script:test@d
            npm run verify -w a                           | Npm:Script:verify@?
            npm -w a run verify                           | Npm:Script:verify@?
            npm --prefix web run x                        | Npm:Script:x@d/web
            npm run                                       | Npm:Plain:@d
            npm install x                                 | Npm:Plain:@d
            npm ci                                        | Npm:Plain:@d
            pnpm run x                                    | Pnpm:Script:x@d
            pnpm -s x                                     | Pnpm:Script:x@d Other:Plain:@d
            pnpm --filter @shop/api run x                 | Pnpm:Script:x@?
            pnpm --filter=a test                          | Pnpm:Script:test@?
            pnpm -r --parallel run x                      | Pnpm:Script:x@?
            pnpm -C web run x                             | Pnpm:Script:x@d/web
            pnpm -C ../.. run x                           | Pnpm:Script:x@?
            pnpm run --if-present x                       | Pnpm:Script:x@d
            pnpm install x                                | Pnpm:Plain:@d
            pnpm exec vitest run                          | Pnpm:Exec:vitest@d Vitest:Plain:@d
            pnpm dlx vitest@2.1.9                         | Pnpm:Exec:vitest@d Vitest:Plain:@d
            pnpm vitest run                               | Pnpm:Script:vitest@d Vitest:Plain:@d
            yarn x                                        | Yarn:Script:x@d Other:Plain:@d
            yarn run -T x                                 | Yarn:Script:x@d Other:Plain:@d
            yarn workspace w run x                        | Yarn:Script:x@? Other:Plain:@?
            yarn workspaces foreach -pt --include w run x | Yarn:Script:x@? Other:Plain:@?
            yarn --cwd web x                              | Yarn:Script:x@d/web Other:Plain:@d/web
            yarn                                          | Yarn:Plain:@d
            yarn add x                                    | Yarn:Plain:@d
            bun run x                                     | Bun:Script:x@d Other:Plain:@d
            bun --cwd web run x                           | Bun:Script:x@d/web Other:Plain:@d/web
            bun test                                      | BunTest:Plain:@d
            bunx vitest                                   | Bun:Exec:vitest@d Vitest:Plain:@d
            npx vitest run                                | Npm:Exec:vitest@d Vitest:Plain:@d
            npx --yes -p x vitest                         | Npm:Exec:vitest@d Vitest:Plain:@d
            npm exec -- jest --ci                         | Npm:Exec:jest@d Jest:Plain:@d
            npm --silent exec jest                        | Npm:Exec:jest@d Jest:Plain:@d
            npm x jest                                    | Npm:Exec:jest@d Jest:Plain:@d
            npm --loglevel x exec jest                    | Npm:Exec:jest@d Jest:Plain:@d
            npm stop                                      | Npm:Script:stop@d
            npm start                                     | Npm:Script:start@d
            pnpm test                                     | Pnpm:Script:test@d
            pnpm stop                                     | Pnpm:Script:stop@d
            pnpm start                                    | Pnpm:Script:start@d
            pnpx vitest                                   | Pnpm:Exec:vitest@d Vitest:Plain:@d
            yarn workspaces run pack                      | Yarn:Script:pack@? Other:Plain:@?
            yarn workspaces focus                         | Yarn:Plain:@d
            bun x vitest                                  | Bun:Exec:vitest@d Vitest:Plain:@d
            bun lint                                      | Bun:Script:lint@d Other:Plain:@d
            bun install x                                 | Bun:Plain:@d
            bun --filter a run x                          | Bun:Script:x@? Other:Plain:@?
            node --run x                                  | Node:Script:x@d
            node --test a.js                              | NodeTest:Plain:a.js@d
            ",
        ) {
            assert_eq!(format_layers(command), want, "{command}");
        }
    }

    #[test]
    fn builders() {
        for [command, want] in rows(
            "
            make                                    | Make:Goals:@d
            make V=1 -j4 e2e                        | Make:Goals:e2e@d
            make -j 4 a b                           | Make:Goals:a,b@d
            make -j a                               | Make:Goals:a@d
            make -sj4 -kC web a                     | Make:Goals:a@d/web
            make -kj a                              | Make:Goals:a@d
            make --directory=web a                  | Make:Goals:a@d/web
            make --directory web -- -a              | Make:Goals:-a@d/web
            make -f x.mk a X:=1                     | Make:Goals:a@d
            make -O a                               | Make:Goals:a@d
            # Goals that begin with a digit.
            make --silent 2to3                      | Make:Goals:2to3@d
            make -s 2to3                            | Make:Goals:2to3@d
            make -j4 2to3                           | Make:Goals:2to3@d
            make -O 2to3                            | Make:Goals:2to3@d
            make -l 2.5 --load-average 2 --jobs=2 a | Make:Goals:a@d
            make --jobs a                           | Make:Goals:a@d
            make -Oline a                           | Make:Goals:a@d
            ninja -v a                              | Ninja:Goals:a@d
            /usr/bin/gmake --jobs 4 a               | Make:Goals:a@d
            ninja -C out -j4 a b                    | Ninja:Goals:a,b@d/out
            ninja -t clean                          | Ninja:Plain:@d
            just --set a b                          | Just:Goals:a@d
            ",
        ) {
            assert_eq!(format_layers(command), want, "{command}");
        }
    }

    #[test]
    fn wrappers() {
        for [command, want] in rows(
            "
            env -i A=1 make a                      | Wrapper:Exec:make@d Make:Goals:a@d
            env A=1 B= pytest                      | Wrapper:Exec:pytest@d Pytest:Plain:@d
            env -C web npm run x                   | Wrapper:Exec:npm@d/web Npm:Script:x@d/web
            timeout -k 5 10 pytest                 | Wrapper:Exec:pytest@d Pytest:Plain:@d
            uv run --with x pytest -q              | PythonRunner:Exec:pytest@d Pytest:Plain:@d
            python3.12 -W error -m pytest          | Python:Module:pytest@d Pytest:Plain:@d
            python3 -m unittest discover           | Python:Module:unittest@d Unittest:Plain:@d
            coverage run -m pytest                 | Wrapper:Exec:pytest@d Pytest:Plain:@d
            coverage run --source a manage.py test | Wrapper:Exec:manage.py@d Other:Plain:@d
            python3 x.py -m pytest                 | Python:Plain:@d
            pythonista -m pytest                   | Other:Plain:@d
            cargo +nightly nextest run             | Cargo:Subcommand:nextest@d Nextest:Plain:@d
            go test ./...                          | Go:Subcommand:test@d
            nice -n 5 pytest                       | Wrapper:Exec:pytest@d Pytest:Plain:@d
            uvx pytest                             | PythonRunner:Exec:pytest@d Pytest:Plain:@d
            poetry install pytest                  | PythonRunner:Plain:@d
            coverage report -m pytest              | Other:Plain:@d
            python3 -c x -m pytest                 | Python:Plain:@d
            python3 - -m pytest                    | Python:Plain:@d
            sh check.sh                            | Shell:Plain:@d
            ava                                    | Ava:Plain:@d
            cypress run                            | Cypress:Plain:@d
            ctest                                  | Ctest:Plain:@d
            react-scripts test                     | Jest:Plain:@d
            react-scripts build                    | Other:Plain:@d
            deno test                              | DenoTest:Plain:@d
            deno run x                             | Other:Plain:@d
            ./node_modules/.bin/vitest             | Vitest:Plain:@d
            corepack pnpm@9 run x                  | Wrapper:Exec:pnpm@9@d Pnpm:Script:x@d
            mise exec -- make a                    | Wrapper:Exec:make@d Make:Goals:a@d
            uv --directory w run make a            | PythonRunner:Exec:make@d/w Make:Goals:a@d/w
            sh -c pytest                           | Shell:Plain:@d Pytest:Plain:@d
            ",
        ) {
            assert_eq!(format_layers(command), want, "{command}");
        }
    }

    /// Every tool is the same after every launcher.
    #[test]
    fn tools_behind_launchers() {
        let tools = [
            "cargo test",
            "cargo +nightly clippy",
            "go test ./...",
            "pytest -q",
            "python3 -m unittest discover",
            "python manage.py test",
            "jest --ci",
            "node --test a.mjs",
            "mypy .",
            "ruff check",
            "gcc -c a.c",
            "dotnet test",
            "mvn verify",
        ];
        let launchers = [
            "timeout 60",
            "timeout -k 5 60",
            "gtimeout --signal KILL 60",
            "nice -n 5",
            "nice -5",
            "ionice -c 2 -n 7",
            "nohup",
            "env -u X A=1",
            "env -i PATH=/bin",
            "time",
            "time -p",
            "stdbuf -oL -e 0",
            "setsid -w",
            "xvfb-run -a -s -screen",
            "sudo -u ci A=1",
            "taskset 3",
            "npx --yes",
            "npm exec --",
            "pnpm exec",
            "yarn exec",
            "bunx",
            "corepack pnpm exec",
            "cross-env CI=1",
            "c8 --reporter lcov",
            "nyc",
            "uv run",
            "uv --directory d run --frozen",
            "uvx",
            "poetry run",
            "pipenv run",
            "hatch run",
            "unbuffer timeout 5 nice",
        ];
        for tool in tools {
            let bare: Vec<&str> = tool.split(' ').collect();
            let bare = Invocation::parse(&bare);
            for launcher in launchers {
                let words: Vec<&str> = launcher.split(' ').chain(tool.split(' ')).collect();
                let got = Invocation::parse(&words);
                assert_eq!(got.program(), bare.program(), "{launcher} {tool}");
                assert_eq!(got.arguments(), bare.arguments(), "{launcher} {tool}");
            }
        }
    }

    #[test]
    fn programs_by_their_paths_and_scripts() {
        for (command, want) in [
            ("/usr/bin/pytest", "pytest"),
            ("C:\\x\\ruff.exe check", "ruff"),
            ("node_modules\\.bin\\jest.cmd", "jest"),
            ("node node_modules/jest/bin/jest.js", "jest"),
            (
                "node --no-warnings ./node_modules/vitest/vitest.mjs run",
                "vitest",
            ),
            ("yarn jest a.test.js", "jest"),
            ("python3.13t -X dev -m pytest", "pytest"),
            ("python -m coverage run -m unittest", "unittest"),
            ("py -m mypy .", "mypy"),
            ("uv tool run ruff", "ruff"),
            ("npm test", "npm"),
            ("npm run test jest", "npm"),
            ("echo jest", "echo"),
            ("node a.js --test", "node"),
            ("python t.py -m pytest", "python"),
            ("", ""),
            ("env", "env"),
        ] {
            let words: Vec<&str> = command.split_whitespace().collect();
            let got = Invocation::parse(&words);
            assert_eq!(got.program(), want, "{command}");
        }
    }

    #[test]
    fn forms() {
        for (text, want) in [
            ("mocha -R tap", true),
            ("mocha --reporter=tap", true),
            ("vitest run --reporter tap", true),
            ("eslint -f @x/eslint-formatter-tap .", true),
            ("mocha tap", false),
            ("mocha -R spec tap", false),
            ("mocha -R", false),
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(Invocation::parse(&words).asks(&["tap"]), want, "{text}");
        }
    }

    /// Checks which commands may succeed although nothing of this name is declared.
    #[test]
    fn leniency() {
        for (command, want) in [
            ("npm run x", false),
            ("npm run --if-present x", true),
            ("npm --if-present test", true),
            ("npm test", false),
            ("npm stop", false),
            // It starts server.js.
            ("npm start", true),
            ("npm run start", true),
            ("npm run env", true),
            ("pnpm run x", false),
            ("pnpm run --if-present x", true),
            ("pnpm --if-present test", true),
            ("pnpm run /^x/", true),
            ("pnpm run start", true),
            ("pnpm start", true),
            ("pnpm test", false),
            ("pnpm stop", false),
            // They look for a program next.
            ("pnpm x", true),
            ("yarn run x", true),
            ("bun run x", true),
            ("node --run x", false),
            ("make x", false),
            ("make -E x: x", true),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let layers = layers(&words, None);
            let layer = layers
                .iter()
                .find(|l| matches!(l.role, LayerRole::Script | LayerRole::Goals));
            assert_eq!(layer.map(|l| l.lenient), Some(want), "{command}");
        }
    }

    #[test]
    fn no_command_is_too_deep_or_too_odd() {
        let deep = "env ".repeat(100);
        assert!(format_layers(&deep).split(' ').count() <= DEEPEST);
        for odd in [
            "",
            "make -",
            "make -C",
            "npm --",
            "pnpm -C",
            "env",
            "timeout",
            "ninja -C",
            "python -m",
            "-",
        ] {
            let _ = format_layers(odd);
        }
    }

    #[test]
    fn bodies() {
        let tools: Vec<ToolLayer> = layers_of_body("tsc -b && CI=1 vitest run | cat")
            .into_iter()
            .map(|l| l.tool)
            .collect();
        assert_eq!(
            tools,
            [ToolLayer::Other, ToolLayer::Vitest, ToolLayer::Other]
        );
    }

    #[test]
    fn what_is_only_shown() {
        let is_dry = |text: &str| Invocation::parse(&text.split(' ').collect::<Vec<_>>()).is_dry();
        for (dry, full) in [
            ("make -n test", "make -j2 test"),
            ("make -C a -kn test", "make -C n -fn.mk test"),
            ("env A=1 gmake test --dry-run", "gmake test -- -n"),
            ("make -t test", "make -Otarget test"),
            ("bmake -q test", "bmake -k test"),
            ("make --just-print test", "make --no-print-directory test"),
            ("make -v test", "make test N=-n"),
            ("just -n test", "just test -n"),
            ("just --dry-run test", "just -f x test --dry-run"),
            ("task --dry test", "task test -- --dry"),
            ("rake -n test", "rake test"),
            ("ninja -n test", "ninja -v test"),
            ("gradle test --dry-run", "gradle test --info"),
            ("./gradlew -m test", "./gradlew --max-workers 2 test"),
            ("gradle test -x test", "gradle test -x lint"),
            ("mvn test -DskipTests", "mvn test -DskipTests=false"),
            ("mvn -Dmaven.test.skip=true test", "mvn -q test"),
            ("tox -l", "tox -e l"),
            ("nox --list", "nox -s test"),
            ("ctest -N", "ctest -j 2"),
            ("ctest --show-only=json-v1", "ctest --test-dir build"),
            ("meson test --list", "meson test -t 2"),
            ("bazel test --nobuild //a", "bazel test //a"),
            ("turbo run test --dry=json", "turbo run test"),
            ("prove --dry t", "prove -l t"),
            ("bats -c t", "bats t"),
            ("nx run-many -t test --graph", "nx run-many -t test"),
            ("deno test --no-run", "deno test -A"),
            ("rspec --dry-run", "rspec -f d"),
            ("go test -run ^$ ./...", "go test -count=1 -run ^T$ -v"),
            ("cargo test --no-run", "cargo test -j 2"),
            ("pytest --co -q", "pytest -c x.ini"),
            ("playwright test --list", "playwright test"),
            ("dotnet test --list-tests", "dotnet test -l trx"),
            ("npm run", "npm run test"),
            ("npm --silent run", "npm test -- run"),
            ("yarn run", "yarn run test"),
        ] {
            assert!(is_dry(dry), "{dry}");
            assert!(!is_dry(full), "{full}");
        }
    }
}
