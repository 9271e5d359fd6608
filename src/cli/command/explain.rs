//! `vplan explain`: shows what would run and what would not, and why, and what earlier runs say of
//! it. Runs nothing and writes nothing.

use super::format;
use crate::base::vocabulary::Exit;
use crate::cli::args::{Explain, Format, Global};
use crate::cli::render::style::Colors;
use crate::cli::terminal::Terminal;
use crate::engine::Failure;
use crate::engine::failure::invalid;
use crate::plan::Plan;
use crate::plan::document::write_json;
use crate::plan::explain::checks::{definitions, definitions_text};
use crate::plan::explain::outlook::Outlook;
use crate::plan::explain::story::{story, story_text};
use crate::plan::explain::{Options, graph, shell, text};
use schemars::JsonSchema;
use serde::Serialize;

/// A plan, and what earlier runs say of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExplainDocument<'p> {
    /// The plan.
    #[serde(flatten)]
    plan: &'p Plan,
    /// What the runs that are recorded, and the passes that are kept, say of its steps.
    outlook: &'p Outlook,
}

/// The forms of a whole plan.
const FORMATS: &[Format] = &[
    Format::Text,
    Format::Json,
    Format::Dot,
    Format::Mermaid,
    Format::Shell,
];

/// Prints the explanation of a plan, or the story of one check.
///
/// # Errors
/// A contract or a request that does not fit, an unknown name.
pub fn run(global: &Global, args: &Explain, terminal: &Terminal) -> Result<u8, Failure> {
    if args.checks {
        return checks(global, terminal);
    }
    let known: &[Format] = match args.name {
        None => FORMATS,
        Some(_) => &[Format::Text],
    };
    let format = format(global, known)?;
    let engine = global.engine().with_observer(terminal);
    let (session, plan, facts) = engine.planned(&args.request.planned()?)?;
    let style = Colors(terminal.color);
    let options = Options {
        style: &style,
        width: terminal.width,
        rows: global.verbose > 0,
        contract: session.contract(),
        ..Options::default()
    };
    let out = match (&args.name, format) {
        (Some(name), _) => {
            let story = story(session.contract(), &session.request, &facts, &plan, name)?;
            story_text(&story, &options)
        }
        (None, Format::Json) => {
            match engine.outlook(&session, &plan) {
                Some(outlook) => terminal.print_json(&ExplainDocument {
                    plan: &plan,
                    outlook: &outlook,
                }),
                None => terminal.print_json_with(|out| write_json(&plan, out)),
            }
            String::new()
        }
        (None, Format::Dot) => graph::dot(&plan),
        (None, Format::Mermaid) => graph::mermaid(&plan),
        (None, Format::Shell) => shell::shell(&plan),
        (None, _) => {
            let outlook = engine.outlook(&session, &plan);
            let options = Options {
                outlook: outlook.as_ref(),
                ..options
            };
            text::explain_text(&plan, &options)
        }
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

/// Prints the definitions of the contract.
fn checks(global: &Global, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let engine = global.engine().with_observer(terminal);
    let loaded = engine.load_contract(&engine.locate()?)?;
    let Some(contract) = &loaded.contract else {
        return Err(invalid(loaded));
    };
    let of = definitions(contract);
    if format == Format::Json {
        terminal.print_json(&of);
    } else {
        let style = Colors(terminal.color);
        let options = Options {
            style: &style,
            width: terminal.width,
            ..Options::default()
        };
        terminal.say(&definitions_text(&of, &options));
    }
    Ok(Exit::Success.code())
}
