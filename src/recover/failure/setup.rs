//! Recognises a missing tool, module, manifest or engine: the machine is to be repaired, not the
//! plan.

use super::goal::has_no_makefile;
use super::invocation::{Layer, Role, Tool};
use super::test_runner::tests_ran;
use super::text::Names;
use super::{EvidenceStream, Row, Scene, Test, Text, never};
use crate::base::vocabulary::FailureCode;

const CODE: FailureCode = FailureCode::SetupOrBootstrap;

const RUNNERS: &[Tool] = &[Tool::Npm, Tool::Pnpm, Tool::Yarn, Tool::Bun];
/// Tools that node runs, and whose uncaught errors it prints.
const NODE_TOOLS: &[Tool] = &[
    Tool::Npm,
    Tool::Pnpm,
    Tool::Yarn,
    Tool::Bun,
    Tool::Node,
    Tool::NodeTest,
    Tool::Vitest,
    Tool::Jest,
    Tool::Mocha,
    Tool::Ava,
    Tool::Playwright,
    Tool::Cypress,
    Tool::SilentScript,
];

pub(super) const ROWS: &[Row] = &[
    // A manifest.
    text(
        "npm-no-manifest",
        &[Tool::Npm],
        EvidenceStream::Stderr,
        &[
            "npm error enoent Could not read package.json: {any}",
            "npm ERR! enoent Could not read package.json: {any}",
            "npm ERR! enoent ENOENT: no such file or directory, open '{any}package.json'",
        ],
    ),
    text(
        "pnpm-no-manifest",
        &[Tool::Pnpm],
        EvidenceStream::Either,
        &[
            "ERR_PNPM_NO_IMPORTER_MANIFEST_FOUND {any}",
            "ERR_PNPM_NO_PKG_MANIFEST {any}",
        ],
    ),
    text(
        "yarn-no-manifest",
        &[Tool::Yarn],
        EvidenceStream::Either,
        &[
            "error Couldn't find a package.json file in {any}",
            "Usage Error: No project found in {any}",
            "Usage Error: The nearest package directory {any} doesn't seem to be part of the project declared in {any}",
        ],
    ),
    text(
        "bun-no-manifest",
        &[Tool::Bun],
        EvidenceStream::Either,
        &[
            "error: No package.json was found {any}",
            "error: No package.json found {any}",
        ],
    ),
    text(
        "make-no-makefile",
        &[Tool::Make],
        EvidenceStream::Stderr,
        &[
            "{self}: *** No targets specified and no makefile found. Stop.",
            "{self}: *** No targets. Stop.",
            // make -C
            "{self}: *** {word}: No such file or directory. Stop.",
        ],
    ),
    Row {
        name: "make-missing-makefile",
        code: CODE,
        test: Test::Structure(makefile_missing),
    },
    text(
        "ninja-no-manifest",
        &[Tool::Ninja],
        EvidenceStream::Stderr,
        &[
            "ninja: error: loading '{any}': No such file or directory",
            "ninja: fatal: chdir to '{any}' - No such file or directory",
        ],
    ),
    text(
        "just-no-justfile",
        &[Tool::Just],
        EvidenceStream::Stderr,
        &["error: No justfile found"],
    ),
    text(
        "cargo-no-manifest",
        &[Tool::Cargo, Tool::Nextest],
        EvidenceStream::Stderr,
        &[
            "error: could not find `Cargo.toml` in `{any}` or any parent directory",
            "error: manifest path `{any}` does not exist",
        ],
    ),
    text(
        "go-no-manifest",
        &[Tool::Go],
        EvidenceStream::Stderr,
        &[
            "go: go.mod file not found {any}",
            "go: cannot find main module{any}",
        ],
    ),
    text(
        "python-no-manifest",
        &[Tool::PythonRunner],
        EvidenceStream::Stderr,
        &[
            "error: No `pyproject.toml` found {any}",
            "Poetry could not find a pyproject.toml file {any}",
        ],
    ),
    // A program.
    Row {
        name: "shell-exit-127",
        code: CODE,
        test: Test::Structure(exit_127),
    },
    Row {
        name: "script-program-not-found",
        code: CODE,
        test: Test::Structure(program_of_script),
    },
    Row {
        name: "make-error-127",
        code: CODE,
        test: Test::Structure(make_127),
    },
    Row {
        name: "exec-program-not-found",
        code: CODE,
        test: Test::Structure(program_of_exec),
    },
    text(
        "cargo-no-such-command",
        &[Tool::Cargo],
        EvidenceStream::Stderr,
        &[
            "error: no such command: `{asked}`",
            "error: no such subcommand: `{asked}`",
        ],
    ),
    text(
        "rustup-not-installed",
        &[Tool::Cargo, Tool::Nextest],
        EvidenceStream::Stderr,
        &[
            "error: '{word}' is not installed for the toolchain {any}",
            "error: toolchain '{any}' is not installed{any}",
            "error: linker `{any}` not found",
        ],
    ),
    text(
        "go-no-compiler",
        &[Tool::Go],
        EvidenceStream::Either,
        &["cgo: C compiler \"{any}\" not found: {any}"],
    ),
    // A module.
    text(
        "python-no-module",
        &[Tool::Python],
        EvidenceStream::Stderr,
        &[
            "{word}: No module named {asked}",
            "{word}: No module named {asked}.__main__; {any}",
            "{word}: Error while finding module specification for '{asked}' ({any}",
        ],
    ),
    Row {
        name: "node-no-package",
        code: CODE,
        test: Test::Text(Text {
            tools: NODE_TOOLS,
            place: EvidenceStream::Stderr,
            lines: &[
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '{word}' imported from {any}",
                "Error: Cannot find package '{word}' imported from {any}",
                "MISSING DEPENDENCY Cannot find dependency '{word}'",
                "Error: spawn {word} ENOENT",
                // Code of the repository that imports a missing file fails; a package that does is
                // not installed whole.
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '{any}' imported from {any}node_modules{any}",
                "Error: Cannot find module '{any}' imported from {any}node_modules{any}",
                "You are using Node.js {word} {any} requires Node.js version {any}",
                "You are using Node.js {word} For Next.js, Node.js version {any} is required.",
                "Error [ERR_REQUIRE_ESM]: require() of ES Module {any}node_modules{any}",
            ],
            unless: tests_ran,
        }),
    },
    Row {
        name: "node-no-module",
        code: CODE,
        test: Test::Structure(node_module),
    },
    text(
        "yarn-not-installed",
        &[Tool::Yarn],
        EvidenceStream::Either,
        &[
            "Internal Error: {any}: This package doesn't seem to be present in your lockfile; {any}",
            "Usage Error: The project in {any} doesn't seem to have been installed {any}",
        ],
    ),
    // An engine.
    text(
        "wrong-engine",
        RUNNERS,
        EvidenceStream::Either,
        &[
            "npm error code EBADENGINE",
            "npm ERR! code EBADENGINE",
            "npm ERR! notsup Unsupported engine for {any}",
            "ERR_PNPM_UNSUPPORTED_ENGINE {any}",
            "ERR_PNPM_BAD_PM_VERSION {any}",
            "ERR_PNPM_OTHER_PM_EXPECTED {any}",
            "error {word} The engine \"{any}\" is incompatible with this module. {any}",
            "error This project's package.json defines \"packageManager\": {any}",
            "Usage Error: This project is configured to use {any}",
        ],
    ),
    text(
        "wrong-rust",
        &[Tool::Cargo, Tool::Nextest],
        EvidenceStream::Stderr,
        &[
            "error: package `{any}` cannot be built because it requires rustc {any}",
            "error: rustc {word} is not supported by the following package{any}",
            "error: {any} requires rustc {word} or newer{any}",
        ],
    ),
    text(
        "wrong-go",
        &[Tool::Go],
        EvidenceStream::Stderr,
        &["go: {word} requires go >= {word} (running go {any}"],
    ),
];

const fn text(
    name: &'static str,
    tools: &'static [Tool],
    place: EvidenceStream,
    lines: &'static [&'static str],
) -> Row {
    Row {
        name,
        code: CODE,
        test: Test::Text(Text {
            tools,
            place,
            lines,
            unless: never,
        }),
    }
}

/// The messages of shells about a missing program: dash, busybox, bash, zsh.
const SHELLS: &[&str] = &[
    "{word}: {n}: {asked}: not found",
    "{word}: {asked}: not found",
    "{word}: line {n}: {asked}: command not found",
    "{word}: {asked}: command not found",
    "zsh:{n}: command not found: {asked}",
    "zsh: command not found: {asked}",
    "command not found: {asked}",
];

/// `SHELLS` for any program, by a shell that the runner started.
const SHELL: &[&str] = &[
    "sh: {n}: {word}: not found",
    "/bin/sh: {n}: {word}: not found",
    "sh: {word}: not found",
    "sh: {word}: command not found",
    "/bin/sh: {word}: command not found",
    "sh: line {n}: {word}: command not found",
    "bash: line {n}: {word}: command not found",
    "/bin/bash: line {n}: {word}: command not found",
    "bash: {word}: command not found",
];

fn shell_line(scene: &Scene<'_>, place: EvidenceStream, programs: &[String]) -> Option<String> {
    scene.line(
        place,
        SHELLS,
        Names {
            asked: programs,
            program: "",
        },
    )
}

/// Finds a line of a shell for any program.
fn any_shell_line(scene: &Scene<'_>) -> Option<String> {
    const ANY: &[&str] = &[
        "{word}: {n}: {word}: not found",
        "{word}: {word}: not found",
        "{word}: line {n}: {word}: command not found",
        "{word}: {word}: command not found",
        "zsh:{n}: command not found: {word}",
        "zsh: command not found: {word}",
        "command not found: {word}",
    ];
    scene.line(EvidenceStream::Stderr, ANY, Names::default())
}

/// Recognises exit code 127, a command that was not found (POSIX, "Exit Status for Commands"). Only
/// tools that start other programs report so.
fn exit_127(scene: &Scene<'_>) -> Option<String> {
    if !scene.exited(127) {
        return None;
    }
    let starts_others = |l: &Layer| {
        !l.echoed
            && (matches!(l.tool, Tool::Shell | Tool::Wrapper)
                || matches!(l.role, Role::Script | Role::Exec))
    };
    if scene.layers.iter().any(starts_others) {
        return Some(any_shell_line(scene).unwrap_or_else(|| "exit 127".to_owned()));
    }
    // A script that is started by its own name: its shell must have printed so.
    let own = scene
        .layers
        .iter()
        .any(|l| !l.echoed && l.tool == Tool::Other);
    any_shell_line(scene).filter(|_| own)
}

/// Recognises a missing program of a script; pnpm exits with 1 whatever its script's shell reports.
fn program_of_script(scene: &Scene<'_>) -> Option<String> {
    let runs = scene
        .layers
        .iter()
        .any(|l| l.role == Role::Script && !l.echoed);
    if !runs || !scene.ended_badly() {
        return None;
    }
    match &scene.body {
        Some(body) => {
            let programs: Vec<String> = body
                .split([' ', '&', '|', ';', '(', ')'])
                .filter(|w| !w.is_empty())
                .map(str::to_owned)
                .collect();
            shell_line(scene, EvidenceStream::Either, &programs)
        }
        None => scene
            .line(EvidenceStream::Either, SHELL, Names::default())
            .filter(|_| !tests_ran_anywhere(scene)),
    }
}

fn tests_ran_anywhere(scene: &Scene<'_>) -> bool {
    scene.layers.iter().any(|layer| tests_ran(scene, layer))
}

fn make_127(scene: &Scene<'_>) -> Option<String> {
    let layer = scene
        .layers
        .iter()
        .find(|l| l.tool == Tool::Make && !l.echoed)?;
    let names = Names {
        asked: &[],
        program: &layer.program,
    };
    let line = scene.line(
        EvidenceStream::Stderr,
        &["{self}: *** [{any}] Error 127"],
        names,
    )?;
    scene
        .exited(2)
        .then(|| any_shell_line(scene).unwrap_or(line))
}

/// The messages of tools that could not start another program.
const EXEC: &[(Tool, &[&str])] = &[
    (
        Tool::Npm,
        &[
            "npm error could not determine executable to run",
            "npm error npx canceled due to missing packages and no YES option: {any}",
            "npm error code E404",
            "npm error code ENOTCACHED",
            "npm error code ENOTFOUND",
            "npm error code EAI_AGAIN",
            "npm error code ECONNREFUSED",
            "npm error enoent spawn {any} ENOENT",
            "npm ERR! code E404",
            "npm ERR! could not determine executable to run",
            "npm ERR! canceled",
        ],
    ),
    (
        Tool::Pnpm,
        &[
            "ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL Command \"{asked}\" not found",
            "ERR_PNPM_NO_SCRIPT Missing script: {asked}",
            "Command \"{asked}\" not found.",
            "ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL spawn {asked} ENOENT",
            "ERR_PNPM_FETCH_404 {any}",
        ],
    ),
    (
        Tool::Yarn,
        &[
            "error Command \"{asked}\" not found.",
            "Usage Error: Couldn't find a script named \"{asked}\".",
        ],
    ),
    (
        Tool::Bun,
        &[
            "error: could not determine executable to run for package {any}",
            "error: GET {any} - 404",
        ],
    ),
    (
        Tool::Wrapper,
        &[
            "{self}: failed to run command '{asked}': No such file or directory",
            "{self}: failed to run command ‘{asked}’: No such file or directory",
        ],
    ),
    (
        Tool::PythonRunner,
        &[
            "error: Failed to spawn: `{asked}`",
            "Command not found: {asked}",
            "Error: the command {asked} could not be found within PATH{any}",
        ],
    ),
];

fn program_of_exec(scene: &Scene<'_>) -> Option<String> {
    if !scene.ended_badly() {
        return None;
    }
    let starts = |l: &&Layer| l.role == Role::Exec || scene.names_a_program(l);
    let layers = scene.layers.iter().filter(|l| !l.echoed).filter(starts);
    layers
        .filter_map(|layer| {
            EXEC.iter()
                .find(|(tool, _)| *tool == layer.tool)
                .map(|(_, lines)| (layer, lines))
        })
        .find_map(|(layer, lines)| scene.line_of_layer(layer, EvidenceStream::Either, lines))
}

/// Recognises a missing makefile: `make X` prints the message of a missing goal then; so does `make
/// -f FILE` for FILE itself.
fn makefile_missing(scene: &Scene<'_>) -> Option<String> {
    let layer = scene
        .layers
        .iter()
        .find(|l| l.tool == Tool::Make && !l.echoed)?;
    if !scene.exited(2) {
        return None;
    }
    if has_no_makefile(scene, layer) {
        return scene.line_of_layer(
            layer,
            EvidenceStream::Stderr,
            &["{self}: *** No rule to make target '{asked}'. Stop."],
        );
    }
    let file = [layer.file.clone()?];
    let names = Names {
        asked: &file,
        program: &layer.program,
    };
    scene.line(
        EvidenceStream::Stderr,
        &["{self}: {asked}: No such file or directory"],
        names,
    )
}

/// Recognises an uncaught `Error: Cannot find module 'x'`: a package that is not installed, unless
/// the name is a path.
fn node_module(scene: &Scene<'_>) -> Option<String> {
    let ours = |l: &Layer| NODE_TOOLS.contains(&l.tool) && !tests_ran(scene, l);
    if !scene.ended_badly() || !scene.layers.iter().any(ours) {
        return None;
    }
    let package = |line: &str| {
        let name = line
            .strip_prefix("Error: Cannot find module '")
            .and_then(|rest| rest.strip_suffix('\''));
        name.is_some_and(|name| !name.is_empty() && !name.starts_with(['.', '/']))
    };
    scene
        .err
        .iter()
        .find(|line| line.indent == 0 && package(&line.text))
        .map(|line| super::shown(&line.text))
}
