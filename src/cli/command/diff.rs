//! `vplan diff`: compares two plans or two contracts, and reports what weakens. Runs nothing and
//! writes nothing.

use super::answer::*;
use crate::render::style::Colors;
use crate::request::{self, read};
use vplan_engine::compared::{ComparedContracts, with_new_folder};
use vplan_engine::saved::read_plan;
use vplan_plan::diff::accept::Accept;
use vplan_plan::diff::{Class, contracts, plans, text};
use vplan_plan::document::from_json;

/// `vplan diff`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing weakens; 2 usage; 3 a contract is invalid or missing; 4 with `--exit-code`, when there is another \
                  difference; 45 the newer contract is weaker, or may be: what cannot be decided, such as another command, counts as weaker \
                  until a maintainer accepts it by `--accept`."
)]
pub struct Diff {
    /// Two plans (`.json`, `.kdl`; `-` is standard input) or two contracts, the older one first.
    #[arg(value_name = "FILE", num_args = 2, conflicts_with = "base")]
    pub files: Vec<PathBuf>,
    /// Compare the contract at the merge base with this revision with the work tree's; `auto` asks
    /// the CI system.
    #[arg(long, value_name = "REV", allow_hyphen_values = true)]
    pub base: Option<String>,
    /// Accept the new words of one check that cannot be compared with its old ones, as the
    /// comparison prints them; of a statement about the whole contract by its name, such as
    /// `judge-with`. What weakens cannot be accepted.
    #[arg(long, value_name = "NAME=sha256:…")]
    pub accept: Vec<Accept>,
    /// Does nothing more: what cannot be decided counts as weaker anyway.
    #[arg(long)]
    pub strict: bool,
    /// Exit with 4 when there is a difference that weakens nothing.
    #[arg(long)]
    pub exit_code: bool,
}

/// Prints the comparison.
///
/// # Errors
/// Files that cannot be read, are of different kinds, or hold an invalid contract.
pub fn run(global: &Global, args: &Diff, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    match (&args.base, args.files.as_slice()) {
        (Some(base), _) => {
            let site = global.engine().locate()?;
            let engine = global.engine().with_observer(terminal);
            let base = request::base(base);
            let compared = with_new_folder(|invented| {
                let (old, new) = engine.contracts_since(&site, &base, invented)?;
                Ok((&site, old, new))
            })?;
            compare(args, format, &compared, compared.site, terminal)
        }
        (None, [old, new]) => match (plan(old)?, plan(new)?) {
            (Some(_), Some(_)) if !args.accept.is_empty() => {
                let message = "`--accept` is about contracts: plans are not weaker or stronger";
                Err(Failure::usage("vplan::usage::accept", message))
            }
            (Some(old), Some(new)) => Ok(compare_plans(args, format, &old, &new, terminal)),
            (None, None) => {
                let engine = global.engine();
                let compared = with_new_folder(|invented| {
                    let (_, old) = engine.contract_in(old, invented)?;
                    let (site, new) = engine.contract_in(new, invented)?;
                    Ok((site, old, new))
                })?;
                compare(args, format, &compared, &compared.site, terminal)
            }
            (a, _) => {
                let name = |path: &Path, is_plan: bool| {
                    let kind = if is_plan { "plan" } else { "contract" };
                    format!("`{}` is a {kind}", visible_path(path))
                };
                let message = format!("{}, {}", name(old, a.is_some()), name(new, a.is_none()));
                Err(Failure::usage("vplan::usage::diff", message)
                    .help("compare two plans, or two contracts"))
            }
        },
        (None, _) => {
            let failure = Failure::usage("vplan::usage::diff", "there is nothing to compare");
            Err(failure.help("name two files, or `--base REV`"))
        }
    }
}

fn compare_plans(
    args: &Diff,
    format: OutputFormat,
    old: &Plan,
    new: &Plan,
    terminal: &Terminal,
) -> u8 {
    let diff = plans::compare(old, new);
    let speaks = !(terminal.quiet && diff.equal);
    answer_if(terminal, format, speaks, &diff, || {
        text::plans(&diff, &Colors(terminal.color))
    });
    Exit::Drift.when(args.exit_code && !diff.equal).code()
}

fn compare<S>(
    args: &Diff,
    format: OutputFormat,
    compared: &ComparedContracts<S>,
    site: &Site,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    // What git tracks only makes the examples better.
    let git = site.git.as_ref().ok();
    let tracked = git.and_then(|git| git.tracked().ok()).unwrap_or_default();
    let ComparedContracts { old, new, .. } = compared;
    let mut diff = contracts::compare(&old.side(), &new.side(), &tracked);
    compared.tell_of_new_folders(&mut diff);
    diff.differences.extend(old.baseline_differences(new));
    diff.differences.sort_by_key(|d| d.class);
    let accepted = diff.accept(new.side().contract, &args.accept);
    accepted.map_err(|e| {
        Failure::usage("vplan::usage::accept", e.to_string())
            .help("`vplan diff` without `--accept` prints what it takes")
    })?;
    let speaks = !(terminal.quiet && diff.differences.is_empty());
    answer_if(terminal, format, speaks, &diff, || {
        text::contracts(&diff, &Colors(terminal.color))
    });
    let others = diff.differences.len() - diff.count(Class::Cosmetic);
    Ok(match (diff.weaker(), others) {
        (1.., _) => Exit::Weakened,
        (0, 1..) if args.exit_code => Exit::Drift,
        _ => Exit::Success,
    }
    .code())
}

/// The plan in a file; `None` when it can only be a contract.
fn plan(path: &Path) -> Result<Option<Plan>, Failure> {
    let ends = |with: &str| path.extension().is_some_and(|e| e == with);
    let is_stdin = path == Path::new("-");
    if !(is_stdin || ends("json") || ends("kdl")) {
        return Ok(None);
    }
    if is_stdin {
        let text = String::from_utf8(read(path)?)
            .map_err(|_| Failure::usage("vplan::usage::plan", "standard input is not UTF-8"))?;
        return Ok(Some(from_json(&text)?));
    }
    if ends("json") && std::str::from_utf8(&read(path)?).is_ok_and(is_contract) {
        return Ok(None);
    }
    read_plan(path).map(Some)
}

/// Whether a JSON text is a contract: it is an object without steps.
fn is_contract(text: &str) -> bool {
    // What is no JSON is for the reader of plans to complain about, unless only a contract may hold
    // it.
    match serde_json::from_str::<serde_json::Value>(text.trim_start_matches('\u{feff}')) {
        Ok(serde_json::Value::Object(fields)) => {
            !fields.contains_key("steps") && !fields.contains_key("digest")
        }
        Ok(_) => false,
        Err(_) => !text.contains("\"steps\""),
    }
}
