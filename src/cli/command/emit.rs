//! `vplan emit`: writes the file with which another system runs a plan in shards.

use super::answer::*;
use crate::args::REQUIRED;
use crate::outputs::{self, EMITTED};
use crate::render::diff::unified;
use crate::value::{Words, one_of};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use vplan_emit::options::{EmitOptions, EmitRequest, LeastCoverage, ProgramFrom, Target, USAGE};
use vplan_emit::text;
use vplan_os::{files, view};
use vplan_run::verdict::Require;

/// Limit of a file that `--check` reads, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// `vplan emit`
#[derive(Debug, Args)]
#[command(
    after_help = "The text is made of these options and the path of `--contract` alone; `vplan help integrations` says what its jobs need.\n\n\
                  Exit codes: 0 printed, written, or as it would be written; 2 usage; 40 with `--check`, when the file is another one."
)]
pub struct Emit {
    /// The system that runs the shards.
    #[arg(value_name = "SYSTEM", value_parser = targets())]
    pub target: Target,
    /// The number of shards, or `auto`: as few as keep each within 10 minutes, by how long steps
    /// took, and 20 at most. GitLab takes a number, and 4 where none is said.
    #[arg(long, value_name = "N")]
    pub shards: Option<String>,
    /// The revision that a change is compared with: `auto` asks the CI system, `default` is the
    /// default branch, `all` takes every tracked file, `env:NAME` is the value of a variable.
    #[arg(long, value_name = "FROM")]
    pub base_from: Option<String>,
    /// The image in which the jobs run (GitHub, GitLab).
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Where vplan comes from: `build` builds it in the first job, from the variables
    /// VPLAN_REPOSITORY and VPLAN_REVISION of the project; `installed` takes the one on the PATH.
    #[arg(long, value_name = "FROM", value_parser = one_of(PROGRAMS), hide_possible_values = true)]
    pub program: Option<ProgramFrom>,
    /// The least that a pass must have verified: `some` check at all, or with `full` coverage.
    #[arg(long, value_name = "COVERAGE", value_parser = one_of(REQUIRED))]
    pub require: Option<Require>,
    /// Further words for `sbatch` (Slurm), such as `--partition=ci --time=1:00:00`.
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub sbatch_args: Option<String>,
    /// Write this file instead of printing the text.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file, whatever it holds.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Write nothing: show how the file of `--output` differs, and exit 40 if it does.
    #[arg(long, requires = "output", conflicts_with = "force")]
    pub check: bool,
}

/// Where vplan comes from.
const PROGRAMS: &Words<ProgramFrom> = &[
    ("build", "The first job builds it", ProgramFrom::Build),
    ("installed", "It is on the PATH", ProgramFrom::Installed),
];

/// Reads the name of a system.
fn targets() -> impl TypedValueParser<Value = Target> {
    PossibleValuesParser::new(Target::ALL.map(Target::word))
        .map(|word| Target::from_word(&word).unwrap_or(Target::Github))
}

/// Prints the text, writes it, or says how a file differs from it.
///
/// # Errors
/// Options that do not fit the system; a file that is in the way or cannot be read (exit 2); one
/// that differs (`--check`, exit 40).
pub fn run(global: &Global, args: &Emit, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let options = options(global, args)?;
    let text = text(&options);
    let file = args.output.as_deref();
    let file = file.filter(|path| *path != Path::new("-"));
    if args.check && file.is_none() {
        let message = "`--check` compares a file, and `-` is none";
        return Err(Failure::usage("vplan::usage::output", message).help("name the file"));
    }
    let color = format == OutputFormat::Text && terminal.color;
    let (status, diff) = match file {
        None => (EmittedState::Printed, None),
        Some(path) if args.check => compared(path, &text, color)?,
        Some(path) => written(path, &text, args.force)?,
    };
    let differs = diff.is_some();
    let name = file.map(visible_path);
    if format == OutputFormat::Json {
        terminal.print_document(&EmitDocument {
            diff,
            path: name.clone(),
            status,
            target: args.target.word(),
            text: &text,
        });
    } else if let Some(diff) = &diff {
        terminal.say(diff);
    } else if let Some(name) = name.as_deref().filter(|_| !terminal.quiet) {
        terminal.say(&format!("{name}: {}\n", status.label()));
    } else if file.is_none() {
        terminal.print(&text);
    }
    match name {
        Some(name) if differs => {
            let message = format!("`{name}` is not what would be written now");
            let help = format!("`vplan emit {} -o {name}` writes it", options.words());
            Err(Failure::new(Exit::Failed, "vplan::emit::differs", message).help(help))
        }
        _ => Ok(Exit::Success.code()),
    }
}

fn options(global: &Global, args: &Emit) -> Result<EmitOptions, Failure> {
    // What is no UTF-8 is refused like every other sign that a path may not have.
    let contract = global.contract.as_deref().map(Path::to_string_lossy);
    let asked = EmitRequest {
        shards: args.shards.as_deref(),
        base_from: args.base_from.as_deref(),
        contract: contract.as_deref(),
        image: args.image.as_deref(),
        program: args.program,
        require: args.require.map(|require| match require.full {
            false => LeastCoverage::Some,
            true => LeastCoverage::Full,
        }),
        sbatch_args: args.sbatch_args.as_deref(),
    };
    EmitOptions::new(args.target, &asked)
        .map_err(|error| Failure::usage(USAGE, error.message).help(error.help))
}

/// What became of a file.
type Emitted = (EmittedState, Option<String>);

/// The state of an emitted file.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum EmittedState {
    /// There is no file: the text was printed.
    Printed,
    /// It has this text now.
    Written,
    /// It had this text already (`--check`).
    Same,
    /// It has another text (`--check`).
    Differs,
}

impl EmittedState {
    fn label(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Written => "written",
            Self::Same => "as it would be written",
            Self::Differs => "differs",
        }
    }
}

fn compared(path: &Path, text: &str, color: bool) -> Result<Emitted, Failure> {
    let name = visible_path(path);
    let old = files::read_plain(&view::outside(path), MAX_FILE).map_err(|e| {
        let message = format!("`{name}` cannot be read: {e}");
        Failure::usage("vplan::usage::output", message).help("leave out `--check`, which writes it")
    })?;
    if old == text.as_bytes() {
        return Ok((EmittedState::Same, None));
    }
    let old = String::from_utf8_lossy(&old);
    let diff = unified(&name, &old, (text, "emitted"), color);
    Ok((EmittedState::Differs, Some(diff)))
}

fn written(path: &Path, text: &str, force: bool) -> Result<Emitted, Failure> {
    EMITTED.check(path, force, "vplan::usage::output")?;
    let written = EMITTED.write(path, text, force);
    written.map_err(|e| outputs::unwritten(path, &e))?;
    Ok((EmittedState::Written, None))
}

/// A file that runs a plan in shards.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
pub(super) struct EmitDocument<'a> {
    /// How the file differs, as a unified diff; only with `--check`.
    diff: Option<String>,
    /// The file; absent where the text was printed.
    path: Option<String>,
    /// What became of it.
    status: EmittedState,
    /// The system: `github`, `gitlab` or `slurm`.
    target: &'static str,
    /// The whole text.
    text: &'a str,
}
