//! `vplan report`: shows what happened in a run, in order.

mod document;
mod text;

use super::answer::*;
use crate::outputs::PAGE;
use crate::page;
pub(super) use document::TimelineDocument;
use vplan_store::history::History;

/// `vplan report`
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:\n  \
        vplan report --tail 5\n  \
        vplan report latest~1 --html run.html\n\n\
        Exit codes: 0 shown; 2 usage, also when there is no such run; 5 the records cannot be read.\n\n`vplan help events` says what each event means.\n\n{NAMES}"))]
pub struct ReportArgs {
    /// The run.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Show so many events, the last ones; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub tail: u32,
    /// Write the run as one page for a browser to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Replace the file that `--html` names, whatever it holds.
    #[arg(long, requires = "html")]
    pub force: bool,
    /// The directory of the records.
    #[command(flatten)]
    pub records: Records,
}

/// Shows the events of a run.
///
/// # Errors
/// No such run.
pub fn run(global: &Global, args: &ReportArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let (site, history) = open(global, &args.records)?;
    let id = pick(&history, &args.run)?;
    if let Some(path) = &args.html {
        return html(global, &(site, history), &id, (path, args.force), terminal);
    }
    let most = usize::try_from(args.tail).unwrap_or(usize::MAX);
    let document = TimelineDocument::new(&history, &id, most);
    answer_if(terminal, format, true, &versioned(&document), || {
        text::page(&document, terminal)
    });
    Ok(0)
}

/// The page for a browser.
fn html(
    global: &Global,
    (site, history): &(Site, History),
    id: &str,
    (path, force): (&Path, bool),
    terminal: &Terminal,
) -> Result<u8, Failure> {
    if global.format == Some(OutputFormat::Json) {
        let message = "`--html` writes a page, and `--format json` asks for a document";
        return Err(Failure::usage("vplan::usage::html", message).help("leave out one of them"));
    }
    PAGE.check(path, force, "vplan::usage::html")?;
    let matrix = global.engine().matrix(site, history, id);
    let page = page::write((&site.root, history), id, matrix, path, force)?;
    if path == Path::new("-") {
        terminal.print(&page);
    } else if !terminal.quiet {
        terminal.say(&format!("wrote `{}`\n", visible_path(path)));
    }
    Ok(0)
}
