//! Parses which script or program a package manager's command runs.

use super::layer::{
    Inner, Layer, LayerOptions, LayerRole, ToolLayer, Words, exec, has, moved, skip_options, value,
};
use vplan_base::path::RepoPath;

pub(super) fn script(layer: Layer, name: &str) -> Layer {
    Layer {
        role: LayerRole::Script,
        asked: vec![name.to_owned()],
        ..layer
    }
}

/// A script of this name, or one that may be missing.
fn maybe_script(layer: Layer, name: &str, lenient: bool) -> (Layer, Inner) {
    let layer = Layer { lenient, ..layer };
    (script(layer, name), None)
}

/// The folder that options lead to; none where others lead to several.
fn led(
    layer: &Layer,
    options: &LayerOptions<'_>,
    to: &[&str],
    elsewhere: &[&str],
) -> Option<RepoPath> {
    match value(options, to) {
        _ if has(options, elsewhere) => None,
        Some(to) => moved(&layer.dir, to),
        None => layer.dir.clone(),
    }
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
    "-p",
    "--package",
];

pub(super) fn npm(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    // npm takes its options anywhere in front of `--`.
    let end = rest.iter().position(|w| w == "--");
    let own = end.and_then(|end| rest.get(..end)).unwrap_or(rest);
    let (mut words, mut options) = skip_options(own, NPM_VALUES);
    let mut positional = Vec::new();
    while let Some((first, further)) = words.split_first() {
        positional.push(first.as_str());
        let (next, more) = skip_options(further, NPM_VALUES);
        words = next;
        options.extend(more);
    }
    let elsewhere = ["-w", "--workspace", "-ws", "--workspaces", "--ws"];
    let dir = led(&layer, &options, &["--prefix", "-C"], &elsewhere);
    let if_present = has(&options, &["--if-present"]);
    let layer = Layer {
        dir,
        lenient: if_present,
        ..layer
    };
    match *positional.as_slice() {
        ["run" | "run-script" | "rum" | "urn", name, ..] => {
            let is_own = matches!(name, "start" | "restart" | "env");
            maybe_script(layer, name, if_present || is_own)
        }
        ["test" | "t" | "tst", ..] => (script(layer, "test"), None),
        // Without the script it starts server.js.
        ["start", ..] => maybe_script(layer, "start", true),
        ["stop", ..] => (script(layer, "stop"), None),
        ["exec" | "x", ..] => {
            let (words, _) = skip_options(rest, NPM_VALUES);
            exec(words.get(1..).unwrap_or_default(), layer, NPM_VALUES)
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
const PNPM_COMMANDS: &str = "add approve-builds audit bin bugs c cache cat-file cat-index completion config create ci dedupe \
    deploy docs doctor edit env fetch find-hash get help i ignored-builds import info init install \
    install-test it la licenses link list ll ln login logout ls outdated owner pack patch patch-commit \
    patch-remove ping prefix prune publish rb rebuild remove rm root search self-update server set setup \
    show store un uninstall unlink up update upgrade version view whoami why";

pub(super) fn pnpm(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let (mut words, mut options) = skip_options(rest, PNPM_VALUES);
    if let Some((first, further)) = words.split_first()
        && matches!(first.as_str(), "recursive" | "multi" | "m")
    {
        let (next, more) = skip_options(further, PNPM_VALUES);
        options.push((first, None));
        options.extend(more);
        words = next;
    }
    let Some((command, further)) = words.split_first() else {
        return (layer, None);
    };
    let (behind, more) = skip_options(further, PNPM_VALUES);
    // After the name of a script options are the script's own; after `run` they still are pnpm's.
    let runs = matches!(command.as_str(), "run" | "run-script");
    if runs {
        options.extend(more);
    }
    let elsewhere = [
        "-F",
        "--filter",
        "--filter-prod",
        "-r",
        "--recursive",
        "recursive",
        "multi",
        "m",
        "-w",
        "--workspace-root",
    ];
    let dir = led(&layer, &options, &["-C", "--dir"], &elsewhere);
    let if_present = has(&options, &["--if-present"]);
    let layer = Layer {
        dir,
        lenient: if_present,
        ..layer
    };
    match command.as_str() {
        _ if runs => match behind.first() {
            Some(name) => {
                // A regular expression selects scripts.
                let lenient = if_present || name.starts_with('/') || name == "start";
                maybe_script(layer, name, lenient)
            }
            None => (layer, None),
        },
        "test" | "t" | "tst" => (script(layer, "test"), None),
        "start" => maybe_script(layer, "start", true),
        "stop" => (script(layer, "stop"), None),
        "exec" | "dlx" => exec(further, layer, PNPM_VALUES),
        name if is_among(name, PNPM_COMMANDS) => (layer, None),
        name => {
            // It falls back to a program of this name.
            let inner = Some((words.to_vec(), layer.dir.clone()));
            (maybe_script(layer, name, true).0, inner)
        }
    }
}

const YARN_VALUES: &[&str] = &[
    "--cwd",
    "--mutex",
    "--use-yarnrc",
    "--cache-folder",
    "--modules-folder",
    "--registry",
    "--inspect-brk",
];
const FOREACH_VALUES: &[&str] = &["-j", "--jobs", "--include", "--exclude", "--from"];
const YARN_COMMANDS: &str = "add audit autoclean bin cache config constraints create dedupe explain generate-lock-entry global \
    help import info init install licenses link list login logout node npm outdated owner pack patch \
    patch-commit plugin policies publish rebuild remove search set tag team unlink unplug up upgrade \
    upgrade-interactive version versions why";

pub(super) fn yarn(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let (words, options) = skip_options(rest, YARN_VALUES);
    let dir = led(&layer, &options, &["--cwd"], &[]);
    let layer = Layer { dir, ..layer };
    let Some((command, further)) = words.split_first() else {
        return (layer, None);
    };
    match command.as_str() {
        "run" => match skip_options(further, YARN_VALUES).0 {
            inner @ [name, ..] => {
                let dir = layer.dir.clone();
                (script(layer, name), Some((inner.to_vec(), dir)))
            }
            [] => (layer, None),
        },
        "exec" | "dlx" => exec(further, layer, &["-p", "--package"]),
        "workspace" => yarn(further.get(1..).unwrap_or_default(), anywhere(layer)),
        "workspaces" => match further.split_first() {
            Some((first, further)) if first == "foreach" => {
                yarn(skip_options(further, FOREACH_VALUES).0, anywhere(layer))
            }
            Some((first, _)) if first == "run" => yarn(further, anywhere(layer)),
            _ => (layer, None),
        },
        name if is_among(name, YARN_COMMANDS) => (layer, None),
        name => {
            let dir = layer.dir.clone();
            (script(layer, name), Some((words.to_vec(), dir)))
        }
    }
}

const BUN_VALUES: &[&str] = &[
    "--cwd",
    "--filter",
    "-F",
    "--config",
    "-c",
    "--env-file",
    "-r",
    "--preload",
    "--shell",
];
const BUN_COMMANDS: &str = "a add audit build c completions create discord help i info init install link outdated patch \
    patch-commit pm publish r remove repl rm unlink update upgrade why";

pub(super) fn bun(rest: Words<'_>, layer: Layer) -> (Layer, Inner) {
    let (words, mut options) = skip_options(rest, BUN_VALUES);
    let Some((command, further)) = words.split_first() else {
        return (layer, None);
    };
    let (name, behind) = match command.as_str() {
        "run" => {
            let (behind, more) = skip_options(further, BUN_VALUES);
            options.extend(more);
            (behind.first(), behind)
        }
        "test" => {
            let tool = ToolLayer::BunTest;
            return (Layer { tool, ..layer }, None);
        }
        "x" => return exec(further, layer, &["-p", "--package"]),
        name if is_among(name, BUN_COMMANDS) => (None, further),
        _ => (Some(command), words),
    };
    let dir = led(&layer, &options, &["--cwd"], &["--filter", "-F"]);
    let layer = Layer {
        dir: dir.clone(),
        ..layer
    };
    match name {
        // It falls back to programs and files.
        Some(name) => (script(layer, name), Some((behind.to_vec(), dir))),
        None => (layer, None),
    }
}

fn anywhere(layer: Layer) -> Layer {
    Layer { dir: None, ..layer }
}

fn is_among(name: &str, commands: &str) -> bool {
    commands.split(' ').any(|command| command == name)
}
