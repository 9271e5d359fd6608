//! `vplan plan`: prints the plan for this change.

use super::answer::*;
use crate::args::PlanArgs;
use crate::outputs::{self, OutputTarget};
use crate::render::style::Colors;
use std::os::unix::ffi::OsStrExt as _;
use vplan_base::inert::escaped_without_commands;
use vplan_engine::propose::ProposerUse;
use vplan_os::files;
use vplan_plan::document::{DocumentForm, write_canonical, write_json};
use vplan_plan::explain::{Options, text::explain_text};
use vplan_plan::kdl::to_kdl;
use vplan_plan::shard::division::Division;

/// Prints the plan: as text for people, JSON for pipelines, canonically for `sha256sum`, in KDL for
/// reviews.
///
/// # Errors
/// A contract or a request that does not fit.
pub fn run(global: &Global, args: &PlanArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(
        global,
        &[
            OutputFormat::Text,
            OutputFormat::Json,
            OutputFormat::Canonical,
            OutputFormat::Kdl,
        ],
    )?;
    if let Some(shares) = args.divide {
        return divide(global, args, shares, terminal);
    }
    let output = args.output.as_deref();
    let form = output.map(|path| output_form(global, path, args.force));
    let form = form.transpose()?;
    let engine = global.engine().with_observer(terminal);
    let asked = args.request.planned()?;
    let mut session = engine.open(&asked)?;
    if let Some(path) = &args.output {
        session.leave_out(path);
    }
    let (mut plan, facts) = session.plan(&asked, ProposerUse::Recorded)?;
    engine.add_comparisons(&session, &mut plan)?;
    if let (Some(path), Some(form)) = (&args.output, form) {
        write_text(path, &form.write(&plan))?;
        let written = Written {
            digest: plan.digest.as_ref(),
            file: visible_path(path),
            steps: plan.steps.len(),
        };
        let json = global.format.filter(|f| *f == OutputFormat::Json);
        let format = json.unwrap_or(OutputFormat::Text);
        answer(terminal, format, &versioned(&written), || {
            let digest = framed(" ", written.digest, "");
            let steps = count(written.steps, "step");
            format!("{}: {steps},{digest}\n", written.file)
        });
        return Ok(Exit::Success.code());
    }
    match format {
        OutputFormat::Json => terminal.print_json_with(|out| write_json(&plan, out)),
        // Without a final line end: these are the bytes that the digest covers.
        OutputFormat::Canonical => terminal.print_with(|out| write_canonical(&plan, out)),
        OutputFormat::Kdl => terminal.print(&escaped_without_commands(&to_kdl(&plan), "\\u{5b}")),
        _ => {
            let options = Options {
                style: &Colors(terminal.color),
                width: terminal.width,
                ..Options::default()
            };
            terminal.say(&explain_text(&plan, &options));
        }
    }
    // The process ends here; to give back its memory piece by piece would only take time.
    std::mem::forget((session, plan, facts));
    Ok(Exit::Success.code())
}

/// Divides a plan: writes the division on request, and prints it, or with `--format json` the
/// words of `--shard`.
fn divide(
    global: &Global,
    args: &PlanArgs,
    shares: u32,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    if let Some(path) = &args.output {
        if DocumentForm::of_name(path.as_os_str().as_bytes()) != Some(DocumentForm::Json) {
            let name = visible_path(path);
            let message = format!("`{name}` does not end in `.json`, which a division is");
            return Err(Failure::usage("vplan::usage::output", message)
                .help("name it such as `division.json`"));
        }
        outputs::DIVISION.check(path, args.force, "vplan::usage::output")?;
    }
    let engine = global.engine().with_observer(terminal);
    let asked = args.request.planned()?;
    let plan = if let Some(file) = &args.plan {
        engine.saved_plan(file, asked)?
    } else {
        let mut session = engine.open(&asked)?;
        session.plan(&asked, ProposerUse::Recorded)?.0
    };
    let times = engine.known_times(args.past.as_deref())?;
    let mut division = Division::new(&plan, shares, &times.medians);
    if let Some(target) = args.target {
        division = division.within(&plan, target);
    }
    let expected = division.expected(&plan);
    if let Some(path) = &args.output {
        write_text(path, &division.to_json())?;
    }
    if let Some(target) = args.target.filter(|t| expected.iter().any(|ms| ms > t)) {
        let (shards, target) = (count(division.count, "shard"), duration(target));
        terminal.note(&format!("note: {shards} cannot keep within {target}\n"));
    }
    let told = times.describe_source(&plan);
    match (format, terminal.quiet) {
        (OutputFormat::Json, quiet) => {
            if !quiet {
                // For people who read the log of the pipeline.
                terminal.note(&format!("note: {told}\n"));
            }
            terminal.print_json(&ShardWords(division.words()));
        }
        (_, true) => {}
        _ => {
            let mut text = divided(&plan, &division, &expected, &told);
            if let Some(path) = &args.output {
                let name = visible_path(path);
                let digest = framed(" ", division.digest.as_ref(), "");
                text.push_str(&format!("{name}:{digest}\n"));
            }
            terminal.say(&text);
        }
    }
    Ok(Exit::Success.code())
}

/// Says what a division is, for people. `expected`: how long each share is expected to take.
fn divided(plan: &Plan, division: &Division, expected: &[u64], told: &str) -> String {
    let steps = count(plan.steps.len(), "step");
    let mut text = format!("{steps} in {}, {told}\n", count(division.count, "shard"));
    let shares = division.shares(plan).into_iter();
    for ((word, ids), ms) in (division.words().iter()).zip(shares).zip(expected) {
        let steps = count(ids.len(), "step");
        text.push_str(&format!("  {word}: {steps}, about {}\n", duration(*ms)));
    }
    text
}

/// The words of `--shard` for all shards of a division, for a CI matrix.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct ShardWords(Vec<String>);

/// The summary of a plan that was written to a file.
#[derive(Serialize, JsonSchema)]
pub(super) struct Written<'a> {
    /// Of the plan.
    digest: Option<&'a Digest>,
    /// The file.
    file: String,
    /// The number of steps in the plan.
    steps: usize,
}

/// In which form a plan goes into this file.
fn output_form(global: &Global, path: &Path, force: bool) -> Result<DocumentForm, Failure> {
    let refuse = |message: String, help: &str| {
        Err(Failure::usage("vplan::usage::output", message).help(help))
    };
    let name = visible_path(path);
    let Some(form) = DocumentForm::of_name(path.as_os_str().as_bytes()) else {
        let help = match path == Path::new("-") {
            true => "`--format json` and `--format kdl` print it",
            false => {
                "`.kdl` is for people, `.json` for pipelines; other forms are printed with `--format`"
            }
        };
        return refuse(format!("`{name}` does not end in `.kdl` or `.json`"), help);
    };
    match global.format {
        None | Some(OutputFormat::Text) => {}
        Some(OutputFormat::Json) if form == DocumentForm::Json => {}
        Some(OutputFormat::Kdl) if form == DocumentForm::Kdl => {}
        Some(_) => {
            let message = format!("`--format` says something else than the ending of `{name}`");
            return refuse(message, "leave out `--format`");
        }
    }
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        let message = format!("`{name}` is there and no regular file");
        return refuse(message, "name another one");
    }
    OutputTarget::plan(form).check(path, force, "vplan::usage::output")?;
    Ok(form)
}

fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    files::replace(path, text.as_bytes()).map_err(|e| outputs::unwritten(path, &e))
}
