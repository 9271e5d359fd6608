//! `vplan plan`: the plan for this change.

use super::format;
use crate::cli::args::{Format, Global, PlanArgs};
use crate::cli::error::Failure;
use crate::cli::render::style::Colors;
use crate::cli::session::Session;
use crate::cli::terminal::Terminal;
use crate::plan::document::{canonical, to_json};
use crate::plan::explain::{Options, text::explain_text};
use crate::plan::kdl::to_kdl;
use crate::run::verdict::Exit;

/// Prints the plan: as text for people, JSON for pipelines, canonically for `sha256sum`, in KDL for reviews.
///
/// # Errors
/// A contract or a request that does not fit.
pub fn run(global: &Global, args: &PlanArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json, Format::Canonical, Format::Kdl])?;
    let (plan, _) = Session::open(global, &args.request, terminal)?.plan(&args.request)?;
    match format {
        Format::Json => terminal.print(&(to_json(&plan) + "\n")),
        // Without a final line end: these are the bytes that the digest covers.
        Format::Canonical => terminal.print(&canonical(&plan)),
        Format::Kdl => terminal.print(&to_kdl(&plan)),
        _ => {
            let style = Colors(terminal.color);
            terminal
                .print(&explain_text(&plan, &Options { style: &style, width: terminal.width, ..Options::default() }));
        }
    }
    Ok(Exit::Success.code())
}
