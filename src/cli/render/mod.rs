//! Renders results for people and machines.

use style::{Tone, paint};
use vplan_base::word::framed;
use vplan_plan::caveat::{self, Caveat};
use vplan_plan::compared::Compared;
use vplan_plan::drift::Difference;

pub mod diagnostic;
pub mod diff;
pub mod feedback;
pub mod finding;
pub mod github;
pub mod html;
pub mod junit;
pub mod report;
pub mod sarif;
pub mod style;
pub mod test;
pub mod wrap;

/// The subject of a plan or report: printed before anything else.
pub fn compared(compared: Option<&Compared>, color: bool) -> String {
    let line = |c: &Compared| paint(color, Tone::Faint, &format!("compared: {}", c.for_people()));
    framed("  ", compared.map(line), "\n")
}

/// The caveats of an answer: printed before anything else.
pub fn caveats(caveats: &[Caveat], color: bool) -> String {
    let line = |c: &Caveat| format!("  {} {}\n", paint(color, Tone::Warn, "!"), c.for_people());
    caveat::sorted(caveats).into_iter().map(line).collect()
}

/// With more steps than these, a plain pass has no line of its own without a terminal: a log of
/// thousands of passes hides the failure in it. A line each tenth of the way says that the run goes
/// on.
pub const MANY: usize = 100;
/// Lines of an account of drift.
const LINES: usize = 20;

/// One line a field, and how many more there are.
pub fn drift(differences: &[Difference]) -> String {
    let shown = differences.iter().take(LINES).map(|d| format!("  {d}\n"));
    let more = differences
        .len()
        .checked_sub(LINES)
        .filter(|more| *more > 0);
    shown.collect::<String>() + &framed("  and ", more, " more\n")
}
