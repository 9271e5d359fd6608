//! Says what this machine can confine steps to, as found by trying.

use crate::args::Format;
use crate::render::style::{Tone, paint};
use crate::terminal::Terminal;
use schemars::JsonSchema;
use serde::Serialize;
use vplan_base::vocabulary::Exit;
use vplan_check::confine::{Confinement, Guarantee, NetworkUse, SandboxLevel};
use vplan_runner::sandbox::{lacking, missing};

/// What this machine guarantees.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineDocument {
    /// The exit code.
    exit_code: u8,
    /// Each guarantee.
    guarantees: Vec<Tried>,
    /// The levels of which all guarantees hold, the weakest first.
    levels: Vec<SandboxLevel>,
}

/// A guarantee that was tried.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TriedGuarantee")]
struct Tried {
    /// Whether it holds.
    holds: bool,
    /// Its name.
    name: Guarantee,
    /// Why it does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Prints it. Ends with 5 if a level that is required is not reached.
pub(super) fn run(required: Option<SandboxLevel>, format: Format, terminal: &Terminal) -> u8 {
    let asked = |level| Confinement {
        level,
        network: NetworkUse::On,
    };
    let reaches = |level: &SandboxLevel| missing(asked(*level)).is_empty();
    let exit = Exit::Setup.when(required.is_some_and(|level| !reaches(&level)));
    let guarantees = Guarantee::ALL.map(|name| {
        let why = lacking(name);
        Tried {
            holds: why.is_none(),
            name,
            why,
        }
    });
    let document = MachineDocument {
        exit_code: exit.code(),
        guarantees: guarantees.into(),
        levels: SandboxLevel::ALL.into_iter().filter(reaches).collect(),
    };
    if format == Format::Json {
        terminal.print_document(&document);
    } else {
        terminal.print(&text(&document, required, terminal));
    }
    exit.code()
}

fn text(document: &MachineDocument, required: Option<SandboxLevel>, terminal: &Terminal) -> String {
    let mut out = String::new();
    for Tried { holds, name, why } in &document.guarantees {
        let (tone, mark) = if *holds {
            (Tone::Good, "✓")
        } else {
            (Tone::Bad, "✗")
        };
        let mark = paint(terminal.color, tone, mark);
        let why = why
            .as_deref()
            .map_or(String::new(), |why| format!("  {why}"));
        out.push_str(&format!(
            "  {mark} {:<16} {}{why}\n",
            name.name(),
            name.meaning()
        ));
    }
    let levels = document.levels.iter().map(|level| level.name());
    let levels = levels.collect::<Vec<_>>().join(" ");
    out.push_str(&format!("levels that are reached here: {levels}\n"));
    if let Some(level) = required.filter(|level| !document.levels.contains(level)) {
        out.push_str(&format!(
            "`{}` is required, and not reached\n",
            level.name()
        ));
    }
    out
}
