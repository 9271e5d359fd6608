//! `vplan plan`: the plan for this change.

use super::format;
use crate::cli::args::{Format, Global, PlanArgs};
use crate::cli::error::Failure;
use crate::cli::propose::Asking;
use crate::cli::render::style::Colors;
use crate::cli::session::Session;
use crate::cli::terminal::Terminal;
use crate::plan::document::{write_canonical, write_json};
use crate::plan::explain::{Options, text::explain_text};
use crate::plan::kdl::to_kdl;
use crate::run::verdict::Exit;

/// Prints the plan: as text for people, JSON for pipelines, canonically for `sha256sum`, in KDL for reviews.
///
/// # Errors
/// A contract or a request that does not fit.
pub fn run(global: &Global, args: &PlanArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json, Format::Canonical, Format::Kdl])?;
    let mut session = Session::open(global, &args.request, terminal)?;
    let (plan, facts) = session.plan(&args.request, Asking::Recorded)?;
    match format {
        Format::Json => terminal.print_with(|out| write_json(&plan, &mut *out).and_then(|()| out.write_all(b"\n"))),
        // Without a final line end: these are the bytes that the digest covers.
        Format::Canonical => terminal.print_with(|out| write_canonical(&plan, out)),
        Format::Kdl => terminal.print(&to_kdl(&plan)),
        _ => {
            let style = Colors(terminal.color);
            terminal
                .print(&explain_text(&plan, &Options { style: &style, width: terminal.width, ..Options::default() }));
        }
    }
    // The process ends here; to give back its memory piece by piece would only take time.
    std::mem::forget((session, plan, facts));
    Ok(Exit::Success.code())
}
