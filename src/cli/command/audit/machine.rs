//! Says what this machine can confine steps to, as found by trying.

use crate::command::answer::*;
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
pub(super) fn run(required: Option<SandboxLevel>, format: OutputFormat, terminal: &Terminal) -> u8 {
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
    answer_if(terminal, format, true, &versioned(&document), || {
        text(&document, required, terminal)
    });
    exit.code()
}

fn text(document: &MachineDocument, required: Option<SandboxLevel>, terminal: &Terminal) -> String {
    let mut out = String::new();
    for Tried { holds, name, why } in &document.guarantees {
        let mark = match holds {
            true => paint(terminal.color, Tone::Good, "✓"),
            false => paint(terminal.color, Tone::Bad, "✗"),
        };
        let (why, name, meaning) = (framed("  ", why.as_ref(), ""), name.name(), name.meaning());
        out.push_str(&format!("  {mark} {name:<16} {meaning}{why}\n"));
    }
    let levels = document.levels.iter().map(|level| level.name());
    let levels = levels.collect::<Vec<_>>().join(" ");
    out.push_str(&format!("levels that are reached here: {levels}\n"));
    if let Some(level) = required.filter(|level| !document.levels.contains(level)) {
        let level = level.name();
        out.push_str(&format!("`{level}` is required, and not reached\n"));
    }
    out
}
