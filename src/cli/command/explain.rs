//! `vplan explain`: shows what would run and what would not, and why, and what earlier runs say of
//! it. Runs nothing and writes nothing.

use super::answer::*;
use crate::args::Explain;
use crate::render::style::Colors;
use vplan_away::seat::SeatReason;
use vplan_engine::possible::PossibleChecks;
use vplan_engine::remote::places;
use vplan_plan::Step;
use vplan_plan::diff::possible::{PossibleCheck, When};
use vplan_plan::document::write_json;
use vplan_plan::explain::checks::{definitions, definitions_text};
use vplan_plan::explain::forecast::Outlook;
use vplan_plan::explain::story::{story, story_text};
use vplan_plan::explain::{Options, graph, shell, text};

/// A plan, and what earlier runs say of it.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
pub(super) struct ExplainDocument<'p> {
    /// The plan.
    #[serde(flatten)]
    plan: &'p Plan,
    /// What the runs that are recorded, and the passes that are kept, say of its steps.
    outlook: Option<&'p Outlook>,
    /// With `--remote`: where a run with it executes each step, in their order.
    places: Option<Vec<StepPlace<'p>>>,
}

/// Where a step is executed.
#[derive(Serialize, JsonSchema)]
pub(super) struct StepPlace<'p> {
    /// The reason why it is executed here; absent where it is executed elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The step.
    step: &'p str,
}

/// The forms of a whole plan.
const FORMATS: &[OutputFormat] = &[
    OutputFormat::Text,
    OutputFormat::Json,
    OutputFormat::Dot,
    OutputFormat::Mermaid,
    OutputFormat::Shell,
];

/// Prints the explanation of a plan, or the story of one check.
///
/// # Errors
/// A contract or a request that does not fit, an unknown name.
pub fn run(global: &Global, args: &Explain, terminal: &Terminal) -> Result<u8, Failure> {
    if args.checks {
        return checks(global, terminal);
    }
    if !args.may_change.is_empty() {
        return possible(global, args, terminal);
    }
    let known: &[OutputFormat] = match args.name {
        None => FORMATS,
        Some(_) => &[OutputFormat::Text],
    };
    let format = format(global, known)?;
    let engine = global.engine().with_observer(terminal);
    let (session, plan, facts) = engine.planned(&args.request.planned()?)?;
    let places = (args.remote).then(|| places(&session, &plan)).transpose()?;
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
        (None, OutputFormat::Json) => {
            let outlook = engine.forecast(&session, &plan);
            json(&plan, outlook.as_ref(), places.as_deref(), terminal);
            String::new()
        }
        (None, OutputFormat::Dot) => graph::dot(&plan),
        (None, OutputFormat::Mermaid) => graph::mermaid(&plan),
        (None, OutputFormat::Shell) => shell::shell(&plan),
        (None, _) => {
            let outlook = engine.forecast(&session, &plan);
            let options = Options {
                outlook: outlook.as_ref(),
                ..options
            };
            let places = places.map(|places| places_text(&plan, &places));
            text::explain_text(&plan, &options) + &places.unwrap_or_default()
        }
    };
    // Graphs and scripts are for programs: they are written without workflow commands.
    if format == OutputFormat::Text {
        terminal.say(&out)
    } else {
        terminal.print(&out)
    }
    // The process ends here; to give back its memory piece by piece would only take time.
    std::mem::forget((session, plan, facts));
    Ok(Exit::Success.code())
}

/// Prints a plan as a document, with its preview and the places of its steps if there are any.
fn json(
    plan: &Plan,
    outlook: Option<&Outlook>,
    places: Option<&[Option<SeatReason>]>,
    terminal: &Terminal,
) {
    if outlook.is_none() && places.is_none() {
        return terminal.print_json_with(|out| write_json(plan, out));
    }
    terminal.print_json(&ExplainDocument {
        plan,
        outlook,
        places: places.map(|places| step_places(plan, places)),
    });
}

fn step_places<'p>(plan: &'p Plan, places: &[Option<SeatReason>]) -> Vec<StepPlace<'p>> {
    let steps = plan.steps.iter().zip(places);
    let place = |(step, why): (&'p Step, &Option<SeatReason>)| StepPlace {
        reason: why.as_ref().map(ToString::to_string),
        step: &step.id,
    };
    steps.map(place).collect()
}

fn places_text(plan: &Plan, places: &[Option<SeatReason>]) -> String {
    let mut out = String::from("\nWith --remote:\n");
    for place in step_places(plan, places) {
        let step = visible(place.step);
        let here = place.reason.map(|why| format!("here: {why}"));
        let place = here.unwrap_or_else(|| "elsewhere".to_owned());
        out.push_str(&format!("  {step}: {place}\n"));
    }
    out
}

/// Prints what a change inside of some globs may need.
fn possible(global: &Global, args: &Explain, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let engine = global.engine().with_observer(terminal);
    let requested = args.request.planned()?;
    let found = engine.possible(&requested.request, &args.may_change)?;
    answer_if(terminal, format, true, &found, || possible_text(&found));
    Ok(Exit::Success.code())
}

fn possible_text(found: &PossibleChecks) -> String {
    let mut out = String::new();
    for (when, heading) in [
        (When::Always, "every change inside of the globs plans"),
        (When::Possible, "some change does"),
        (When::Never, "no change does"),
    ] {
        let checks: Vec<&PossibleCheck> = found.checks.iter().filter(|c| c.when == when).collect();
        if !checks.is_empty() {
            out.push_str(&format!("{heading}:\n"));
        }
        for check in checks {
            let paths = check.paths.iter().map(|path| visible(path.as_bytes()));
            let mut told: Vec<String> = paths.collect();
            told.extend(check.reason.clone());
            told.extend(check.undecided.map(|why| format!("not decided: {why}")));
            let told = text_if(!told.is_empty(), || format!("  {}", told.join("  ")));
            out.push_str(&format!("  {}{told}\n", visible(&check.id)));
        }
    }
    if !found.unguarded.is_empty() {
        out.push_str("a change of one of these files plans nothing:\n");
    }
    for group in &found.unguarded {
        let files = count(group.files, "file");
        out.push_str(&format!("  {} ({files})\n", group.glob));
    }
    out.push_str("Nothing was verified.\n");
    out
}

/// Prints the definitions of the contract.
fn checks(global: &Global, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let engine = global.engine().with_observer(terminal);
    let (contract, _) = engine.valid_contract(&engine.locate()?)?;
    let of = definitions(&contract);
    if format == OutputFormat::Json {
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
