//! Recognises a missing tool, module, manifest or engine: the machine is to be repaired, not the
//! plan.

use super::goal::has_no_makefile;
use super::invocation::{Layer, LayerRole, ToolLayer};
use super::scene::{Scene, quote};
use super::table::{EvidenceStream, TABLE, lines, row};
use super::test_runner::tests_ran;
use super::text::Names;

fn shell_line(scene: &Scene<'_>, place: EvidenceStream, programs: &[String]) -> Option<String> {
    scene.line(
        place,
        lines("shells"),
        Names {
            asked: programs,
            program: "",
        },
    )
}

/// Finds a line of a shell for any program.
fn any_shell_line(scene: &Scene<'_>) -> Option<String> {
    scene.line(EvidenceStream::Stderr, lines("any-shell"), Names::default())
}

/// Recognises exit code 127, a command that was not found (POSIX, "Exit Status for Commands"). Only
/// tools that start other programs report so.
pub(super) fn exit_127(scene: &Scene<'_>) -> Option<String> {
    if !scene.exited(127) {
        return None;
    }
    let starts_others = |l: &Layer| {
        !l.echoed
            && (matches!(l.tool, ToolLayer::Shell | ToolLayer::Wrapper)
                || matches!(l.role, LayerRole::Script | LayerRole::Exec))
    };
    if scene.layers.iter().any(starts_others) {
        return Some(any_shell_line(scene).unwrap_or_else(|| "exit 127".to_owned()));
    }
    // A script that is started by its own name: its shell must have printed that name.
    let own = scene
        .layers
        .iter()
        .any(|l| !l.echoed && l.tool == ToolLayer::Other);
    any_shell_line(scene).filter(|_| own)
}

/// Recognises a missing program of a script. pnpm exits with 1, whatever its script's shell
/// reports.
pub(super) fn program_of_script(scene: &Scene<'_>) -> Option<String> {
    let runs = scene
        .layers
        .iter()
        .any(|l| l.role == LayerRole::Script && !l.echoed);
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
            .line(
                EvidenceStream::Either,
                lines("runner-shell"),
                Names::default(),
            )
            .filter(|_| !tests_ran_anywhere(scene)),
    }
}

fn tests_ran_anywhere(scene: &Scene<'_>) -> bool {
    scene.layers.iter().any(|layer| tests_ran(scene, layer))
}

pub(super) fn make_127(scene: &Scene<'_>) -> Option<String> {
    let layer = scene
        .layers
        .iter()
        .find(|l| l.tool == ToolLayer::Make && !l.echoed)?;
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

pub(super) fn program_of_exec(scene: &Scene<'_>) -> Option<String> {
    if !scene.ended_badly() {
        return None;
    }
    let starts = |l: &&Layer| l.role == LayerRole::Exec || scene.names_a_program(l);
    let layers = scene.layers.iter().filter(|l| !l.echoed).filter(starts);
    let rows = TABLE.iter().filter(|row| row.name.starts_with("exec-"));
    let lines = |layer: &Layer| rows.clone().find(|row| row.tools.contains(&layer.tool));
    layers
        .filter_map(|layer| Some((layer, lines(layer)?)))
        .find_map(|(layer, row)| scene.line_of_layer(layer, EvidenceStream::Either, &row.lines))
}

/// Recognises a missing makefile: `make X` prints the message of a missing goal then; so does `make
/// -f FILE` for FILE itself.
pub(super) fn makefile_missing(scene: &Scene<'_>) -> Option<String> {
    let layer = scene
        .layers
        .iter()
        .find(|l| l.tool == ToolLayer::Make && !l.echoed)?;
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
pub(super) fn node_module(scene: &Scene<'_>) -> Option<String> {
    let tools = &row("node-no-package")?.tools;
    let ours = |l: &Layer| tools.contains(&l.tool) && !tests_ran(scene, l);
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
        .map(|line| quote(&line.text))
}
