//! Describes subjects and their rounds for people.

use crate::base::nearest::nearest;
use crate::base::word::visible;
use crate::cli::render::style::{Tone, count, paint};
use crate::engine::Failure;
use crate::ledger::Ledger;
use crate::ledger::round::{Because, Recorded};
use crate::run::report::Decision;

/// Describes the result of a round: the subject, why, and who else is not complete.
#[must_use]
pub(super) fn account(recorded: &Recorded, color: bool) -> String {
    let Recorded {
        counter,
        required,
        decision,
        ..
    } = *recorded;
    let mut text = line(&recorded.subject, counter, required, decision, color);
    if recorded.reason == Some(Because::NotVerified) {
        let subject = visible(recorded.subject.as_bytes());
        text.push_str(&format!(
            ": a word verifies nothing here, `vplan run --subject '{subject}'` does"
        ));
    } else if let Some(reason) = recorded.reason {
        text.push_str(&format!(": {}", reason.word().replace('_', " ")));
    } else if decision == Decision::Retry {
        let left = usize::try_from(recorded.retries_remaining).unwrap_or(usize::MAX);
        text.push_str(&format!(": {} left", count(left, "more round")));
    }
    text.push('\n');
    for other in recorded.others.iter().filter(|o| o.counter < required) {
        let what = format!(
            "{} {}/{required}",
            visible(other.subject.as_bytes()),
            other.counter
        );
        text.push_str(&format!("  {}\n", paint(color, Tone::Faint, &what)));
    }
    text
}

/// `S 2/3 [●●○] reverify`
#[must_use]
pub(in crate::cli) fn line(
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
        visible(subject.as_bytes()),
        paint(color, tone, decision.name())
    )
}

/// The failure of a subject that nothing is known of.
pub(super) fn unknown(ledger: &Ledger, subject: &str) -> Failure {
    let message = format!(
        "the subject `{}` has had no round",
        visible(subject.as_bytes())
    );
    let help = match nearest(subject, ledger.subjects.iter().map(|e| e.subject.as_str())) {
        Some(near) => format!("did you mean `{}`?", visible(near.as_bytes())),
        None => "`vplan gate show` lists those that have had one".to_owned(),
    };
    Failure::usage("vplan::usage::unknown_subject", message).help(help)
}
