//! `vplan import`: converts another tool's configuration to a contract, and reports what it does
//! not express.

use super::answer::*;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use vplan_engine::convert::{Converted, ConvertedItem, SourceKind, write};
use vplan_front::convert::Weight;
use vplan_repo::load::DEFAULT_CONTRACT;

/// `vplan import`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 converted; 2 usage, also when there is a contract already; 3 the file is invalid, asks for no check, or with \
                        `--strict` something is lost; 5 the contract cannot be written."
)]
pub struct ImportArgs {
    /// The file to convert; `-` is standard input.
    pub file: PathBuf,
    /// The kind of the file, when neither its name nor its keys tell.
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub from: Option<SourceKind>,
    /// Write the contract to this file instead of contracts/verify.vplan.
    #[arg(short, long, value_name = "PATH", conflicts_with = "stdout")]
    pub output: Option<PathBuf>,
    /// Print the contract instead of writing it; the account goes to standard error.
    #[arg(long)]
    pub stdout: bool,
    /// Replace a contract that is there.
    #[arg(long)]
    pub force: bool,
    /// Write nothing, with exit code 3, when something is lost or means something else.
    #[arg(long)]
    pub strict: bool,
}

/// Reads the name of a kind; each is shown with the path of such a file.
fn kinds() -> impl TypedValueParser<Value = SourceKind> {
    let values = SourceKind::all().map(|kind| PossibleValue::new(kind.name()).help(kind.home()));
    PossibleValuesParser::new(values).try_map(|name| {
        let mut all = SourceKind::all();
        all.find(|kind| kind.name() == name).ok_or("no such kind")
    })
}

/// Converts, checks the result, writes it, and says what it does not say.
///
/// # Errors
/// A file that cannot be read or is none of the kinds, errors in it, a contract that is there
/// already, `--strict`.
pub fn run(global: &Global, args: &ImportArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let form = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let engine = global.engine();
    let found = engine.convert(&args.file, args.from)?;
    let heavy = found.heavy();
    if found.verifies_nothing() {
        terminal.note(&account(&found, ""));
        let name = &found.name;
        let message =
            format!("nothing in `{name}` becomes a check: a contract of it would verify nothing");
        return Err(Failure::contract("vplan::import::no_checks", message)
            .help("write by hand what is lost, or let `vplan init` propose a contract"));
    }
    if args.strict && heavy > 0 {
        terminal.note(&account(&found, ""));
        let what = if heavy == 1 { "thing is" } else { "things are" };
        let message = format!("{heavy} {what} lost or changed, and `--strict` was said");
        return Err(Failure::contract("vplan::import::lossy", message));
    }
    if args.stdout {
        if form == OutputFormat::Json {
            terminal.print_document(&ImportDocument::new(&found, None, Some(&found.text)));
        } else {
            terminal.print_contract(&found.text)?;
            if !terminal.quiet {
                terminal.note(&account(&found, ""));
            }
        }
        return Ok(Exit::Success.code());
    }
    let (target, shown) = match &args.output {
        Some(path) => (path.clone(), visible_path(path)),
        None => engine.own_contract()?,
    };
    write(&target, &shown, &found.text, args.force)?;
    answer(
        terminal,
        form,
        &versioned(ImportDocument::new(&found, Some(&shown), None)),
        || account(&found, &shown),
    );
    Ok(Exit::Success.code())
}

/// The result of a conversion.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
pub(crate) struct ImportDocument<'a> {
    /// The number of checks in the contract.
    pub checks: usize,
    /// The file that was read.
    pub file: &'a str,
    /// The tool whose configuration it is.
    pub from: &'static str,
    /// The parts that the contract lacks, or has otherwise.
    pub lost: Vec<Line<'a>>,
    /// The file that was written.
    pub output: Option<&'a str>,
    /// The contract, when no file was written.
    pub text: Option<&'a str>,
    /// The number of risk triggers in the contract.
    pub triggers: usize,
}

/// Something that the contract does not say, or says otherwise.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Lost")]
pub struct Line<'a> {
    /// From 1, in bytes.
    pub column: usize,
    /// The file that it is in, when that is another one than the file that was read.
    pub file: Option<&'a str>,
    /// The change to make by hand, where that is known.
    pub instead: Option<&'a str>,
    /// From 1.
    pub line: usize,
    /// Whether it is lost, means something else now, or has no effect on checks.
    pub weight: &'static str,
    /// The lost part.
    pub what: &'a str,
    /// The reason, in one line.
    pub why: &'a str,
}

impl<'a> ImportDocument<'a> {
    fn new(found: &'a Converted, output: Option<&'a str>, text: Option<&'a str>) -> Self {
        let line = |lost: &'a ConvertedItem| Line {
            column: lost.column,
            file: (lost.file != found.name).then_some(&*lost.file),
            instead: lost.instead.as_deref(),
            line: lost.line,
            weight: lost.weight.name(),
            what: &lost.what,
            why: &lost.why,
        };
        Self {
            checks: found.contract.checks.len(),
            file: &found.name,
            from: found.kind.name(),
            lost: found.lost.iter().map(line).collect(),
            output,
            text,
            triggers: found.contract.risks.len(),
        }
    }
}

fn account(found: &Converted, output: &str) -> String {
    let triggers = found.contract.risks.len();
    let to = text_if(!output.is_empty(), || format!(" to {output}"));
    let also = text_if(triggers > 0, || format!(", {}", count(triggers, "trigger")));
    let (name, from) = (&found.name, found.kind.name());
    let checks = count(found.contract.checks.len(), "check");
    let mut out = format!("converted {name}{to} ({from}): {checks}{also}\n");
    let changed = "changed: in the contract, but with another meaning; look at each";
    for (weight, title) in [
        (Weight::Lost, "lost: not in the contract"),
        (Weight::Changed, changed),
        (Weight::NoEffect, "without effect on checks"),
    ] {
        let of = found.lost.iter().filter(|l| l.weight == weight);
        let lines: String = of.map(line).collect();
        if !lines.is_empty() {
            out.push_str(&format!("{title}\n{lines}"));
        }
    }
    // `check` reads contracts of the repository only.
    let inside = !output.is_empty()
        && !output.starts_with('/')
        && !output.split('/').any(|part| part == "..");
    if inside {
        let which = text_if(output != DEFAULT_CONTRACT, || {
            format!(" --contract {output}")
        });
        out += &format!("next: `vplan check{which}` compares the contract with the repository\n");
    }
    out
}

fn line(lost: &ConvertedItem) -> String {
    let by_hand = framed("    by hand: ", lost.instead.as_ref(), "\n");
    let (file, line, what, why) = (&lost.file, lost.line, &lost.what, &lost.why);
    format!("  {file}:{line}: {what}: {why}\n{by_hand}")
}
