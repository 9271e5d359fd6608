//! `vplan explain`: shows what would run and what would not, and why. Runs nothing and writes
//! nothing.

use super::format;
use crate::base::vocabulary::Exit;
use crate::cli::args::{Explain, Format, Global};
use crate::cli::render::style::Colors;
use crate::cli::terminal::Terminal;
use crate::engine::Failure;
use crate::plan::document::write_json;
use crate::plan::explain::story::{story, story_text};
use crate::plan::explain::{Options, graph, shell, text};

/// Prints the explanation of a plan, or the story of one check.
///
/// # Errors
/// A contract or a request that does not fit, an unknown name.
pub fn run(global: &Global, args: &Explain, terminal: &Terminal) -> Result<u8, Failure> {
    let known: &[Format] = match args.name {
        None => &[
            Format::Text,
            Format::Json,
            Format::Dot,
            Format::Mermaid,
            Format::Shell,
        ],
        Some(_) => &[Format::Text],
    };
    let format = format(global, known)?;
    let engine = global.engine().with_observer(terminal);
    let (session, plan, facts) = engine.planned(&args.request.planned()?)?;
    let style = Colors(terminal.color);
    let options = Options {
        style: &style,
        width: terminal.width,
        ..Options::default()
    };
    let out = match (&args.name, format) {
        (Some(name), _) => {
            let story = story(session.contract(), &session.request, &facts, &plan, name)?;
            story_text(&story, &options)
        }
        (None, Format::Json) => {
            terminal.print_json_with(|out| write_json(&plan, out));
            String::new()
        }
        (None, Format::Dot) => graph::dot(&plan),
        (None, Format::Mermaid) => graph::mermaid(&plan),
        (None, Format::Shell) => shell::shell(&plan),
        (None, _) => text::explain_text(&plan, &options),
    };
    // Graphs and scripts are for programs, which want every byte.
    if format == Format::Text {
        terminal.say(&out)
    } else {
        terminal.print(&out)
    }
    // The process ends here; to give back its memory piece by piece would only take time.
    std::mem::forget((session, plan, facts));
    Ok(Exit::Success.code())
}
