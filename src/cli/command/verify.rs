//! `vplan verify`: checks that a report is what vplan wrote, and that it is about this tree.

use super::answer::*;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use vplan_run::authenticity::{Aspect, AspectState};
use vplan_store::records::REPORT;

/// `vplan verify`
#[derive(Debug, Args)]
#[command(after_help = format!("Exit codes: 0 all that can be told holds; 2 usage, also when there is no such report; 4 something does not hold; 5 the records cannot be read.\n\nA report that holds may be that of a failed run. {NAMES}"))]
pub struct Verify {
    /// A `report.json`, the directory of a run, or a recorded run.
    #[arg(value_name = "REPORT|RUN", default_value = "latest")]
    pub report: PathBuf,
    /// The directory of the records.
    #[command(flatten)]
    pub records: Records,
}

/// Whether a report is believed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct VerifyDocument<'a> {
    /// The aspects that were examined.
    aspects: &'a [Aspect],
    /// Whether nothing speaks against it.
    holds: bool,
    /// The run that it is about.
    run_id: &'a str,
    /// The verdict in the report.
    verdict: Verdict,
}

/// Checks a report; says what does not hold.
///
/// # Errors
/// A report that cannot be read.
pub fn run(global: &Global, args: &Verify, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let (site, folder, file) = place(global, args)?;
    let found = global.engine().examine(&site, &folder, &file)?;
    let holds = found.aspects.iter().all(|a| a.holds != AspectState::No);
    let document = versioned(VerifyDocument {
        aspects: &found.aspects,
        holds,
        run_id: &found.report.run_id,
        verdict: found.report.verdict,
    });
    answer_if(
        terminal,
        format,
        !terminal.quiet || !holds,
        &document,
        || text(&found.report, &found.aspects, holds, terminal),
    );
    Ok(Exit::Drift.when(!holds).code())
}

/// The folder of a run and the report in it.
fn place(global: &Global, args: &Verify) -> Result<(Site, PathBuf, PathBuf), Failure> {
    let path = args.report.as_path();
    let looks_like_a_path = path.as_os_str().as_bytes().contains(&b'/')
        || path.extension().is_some_and(|e| e == "json");
    if looks_like_a_path || path.symlink_metadata().is_ok() {
        let site = global.engine().locate()?;
        if path.is_dir() {
            return Ok((site, path.to_owned(), path.join(REPORT)));
        }
        let folder = Path::new(".").join(path.parent().unwrap_or(Path::new("")));
        return Ok((site, folder, path.to_owned()));
    }
    let (site, history) = open(global, &args.records)?;
    let id = pick(&history, &path.to_string_lossy())?;
    let folder = history.path().join(&id);
    let file = folder.join(REPORT);
    if let Err(error) = file.symlink_metadata()
        && error.kind() == io::ErrorKind::NotFound
    {
        let state = history.read_run(&id).summary().word();
        let run = short(&id);
        let message = format!("the run {run} has no report: it is {state}");
        let help = format!("`vplan details {run}` shows what is known of it");
        return Err(Failure::usage("vplan::records::no_report", message).help(help));
    }
    Ok((site, folder, file))
}

fn text(report: &Report, aspects: &[Aspect], holds: bool, terminal: &Terminal) -> String {
    let color = terminal.color;
    let mut out = String::new();
    for aspect in aspects {
        let (sign, tone) = match aspect.holds {
            AspectState::Yes => ("✓", Tone::Good),
            AspectState::No => ("✗", Tone::Bad),
            AspectState::Unknown => ("?", Tone::Warn),
        };
        let name = match aspect.aspect {
            "exitCode" => "exit code",
            name => name,
        };
        let (sign, message) = (paint(color, tone, sign), visible(&aspect.message));
        out.push_str(&format!("  {sign} {name}: {message}\n"));
    }
    let run = short(&report.run_id);
    let verdict = report.verdict.name().replace('_', " ");
    let word = if holds { "holds" } else { "does not hold" };
    let word = paint(color, tone(holds), word);
    let run = visible(run);
    out + &format!("\nthe report of the run {run} ({verdict}) {word}\n")
}
