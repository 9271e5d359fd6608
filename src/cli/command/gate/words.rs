//! Describes subjects and their rounds for people.

use crate::command::answer::*;
use vplan_ledger::Ledger;
use vplan_ledger::round::{Because, Recorded};
use vplan_run::report::Decision;

/// Describes the result of a round: the subject, why, and who else is not complete.
pub(super) fn account(recorded: &Recorded, color: bool) -> String {
    let Recorded {
        counter,
        required,
        decision,
        ..
    } = *recorded;
    let mut text = line(&recorded.subject, counter, required, decision, color);
    if recorded.reason == Some(Because::NotVerified) {
        let subject = visible(&recorded.subject);
        text.push_str(&format!(
            ": a word verifies nothing here, `vplan run --subject '{subject}'` does"
        ));
    } else if let Some(reason) = recorded.reason {
        text.push_str(&format!(": {}", reason.name().replace('_', " ")));
    } else if decision == Decision::Retry {
        let left = usize::try_from(recorded.retries_remaining).unwrap_or(usize::MAX);
        text.push_str(&format!(": {} left", count(left, "more round")));
    }
    text.push('\n');
    for other in recorded.others.iter().filter(|o| o.counter < required) {
        let what = format!("{} {}/{required}", visible(&other.subject), other.counter);
        text.push_str(&format!("  {}\n", paint(color, Tone::Faint, &what)));
    }
    text
}

/// `S 2/3 [●●○] reverify`
pub(crate) fn line(
    subject: &str,
    counter: u32,
    required: u32,
    decision: Decision,
    color: bool,
) -> String {
    const SHOWN: u32 = 20;
    let tone = match decision {
        Decision::Advance | Decision::Complete => Tone::Good,
        Decision::Reverify | Decision::Retry => Tone::Warn,
        Decision::Fail | Decision::Escalate => Tone::Bad,
    };
    let bar = if required > SHOWN {
        String::new()
    } else {
        let dot = |at| if at < counter { '●' } else { '○' };
        format!(" [{}]", (0..required).map(dot).collect::<String>())
    };
    format!(
        "{} {counter}/{required}{bar} {}",
        visible(subject),
        paint(color, tone, decision.name())
    )
}

/// The failure of a subject that nothing is known of.
pub(super) fn unknown(ledger: &Ledger, subject: &str) -> Failure {
    let message = format!("the subject `{}` has had no round", visible(subject));
    let help = suggest(
        subject,
        ledger.subjects.iter().map(|e| e.subject.as_str()),
        "`vplan gate show` lists those that have had one",
    );
    Failure::usage("vplan::usage::unknown_subject", message).help(help)
}
