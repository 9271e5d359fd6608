//! The messages of a loop, for people, fixers and programs.

use crate::command::answer::*;
use crate::command::fix::leaked;
use crate::render;
use clap::ValueEnum;
use vplan_base::canon::to_canonical;
use vplan_base::unit::show_duration;
use vplan_engine::repair_loop::{RoundRecord, Stop, Turn, TurnRecord};
use vplan_plan::caveat;
use vplan_run::feedback::json_size;
use vplan_run::report::Decision;

/// The instruction to an agent that cannot go on.
const HOW_TO_END: &str = "If you cannot go on without a person, change nothing more and write `STUCK: ` and the reason as your last line.";
/// The request to review work that has passed.
const REVIEW: &str = "All checks passed. Look at the whole change once more, as a reviewer who did not write it: does it do what was asked, \
    completely, and nothing else? Repair what is wrong. If nothing is, change no file and end with exit code 0.";

/// Forms of feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Markdown.
    Md,
    /// Plain text.
    Text,
    /// One JSON document.
    Json,
}

impl Form {
    pub(super) fn ending(self) -> &'static str {
        match self {
            Form::Md => "md",
            Form::Text => "txt",
            Form::Json => "json",
        }
    }
}

/// Returns the reason for a loop's end.
pub(super) fn stop(stop: Stop) -> &'static str {
    match stop {
        Stop::Passed => "passed",
        Stop::Exhausted => "the retries are used up",
        Stop::Escalated => "a person should look at it",
        Stop::MaxRounds => "no more rounds are allowed",
        Stop::NoChange => "it failed, and the fixer changed nothing",
        Stop::NotConfirmed => "passed, and not confirmed",
        Stop::Stuck => "the fixer is stuck",
        Stop::ChangeGone => "failed: nothing is left of the change",
        Stop::ContractChanged => "the contract is not what it was in the first round",
        Stop::HistoryChanged => "what has changed cannot be told any more",
        Stop::FixerNotStarted => "the fixer could not be started",
        Stop::Interrupted => "interrupted",
        Stop::WroteOutside => "a fix changed what it must not",
    }
}

/// Describes the failures, and what to do about them, in so many bytes.
pub(super) fn feedback((form, most): (Form, usize), report: &Report) -> String {
    // Without feedback nothing failed, but the run did not pass either: the budget ran out, or
    // nothing was verified.
    let why = visible(report.reason.as_deref().unwrap_or_default());
    let verdict = report.verdict;
    let end = format!("\n{HOW_TO_END}\n");
    match (form, &report.feedback) {
        (Form::Md, Some(told)) => render::feedback::markdown_within(told, most) + &end,
        (Form::Md, None) => format!("## {}\n\n{why}\n{end}", verdict.name()),
        (Form::Text, Some(told)) => render::feedback::text_within(told, most) + &end,
        (Form::Text, None) => format!("{}: {why}\n{end}", verdict.name()),
        (Form::Json, Some(told)) => to_canonical(&told.within(most, &json_size)) + "\n",
        (Form::Json, None) => {
            let reason = &why;
            to_canonical(&versioned(Unexplained { reason, verdict })) + "\n"
        }
    }
}

/// The request after a pass.
pub(super) fn review(form: Form, report: &Report) -> String {
    let counts = [report.counter, report.required];
    let [counter, required] = counts.map(Option::unwrap_or_default);
    let caveats = caveat::sorted(&report.caveats).into_iter();
    let caveats: Vec<&str> = caveats.map(|c| c.message.as_str()).collect();
    let lines: String = (caveats.iter())
        .map(|c| format!("- {}\n", visible(c)))
        .collect();
    let lines = text_if(!lines.is_empty(), || {
        format!("What was not looked at, or is worth a look:\n\n{lines}\n")
    });
    let text = || format!("review {counter} of {required}\n\n{REVIEW}\n\n{lines}{HOW_TO_END}\n");
    match form {
        Form::Md => format!("## {}", text()),
        Form::Text => text(),
        Form::Json => {
            let verdict = report.verdict;
            to_canonical(&versioned(ReviewRequest {
                caveats,
                counter,
                required,
                review: REVIEW,
                verdict,
            })) + "\n"
        }
    }
}

/// Formats a turn of the fixer. `limit_ms`: how long it could take.
pub(super) fn turn(turn: Turn, repair: &TurnRecord, limit_ms: u64, color: bool) -> String {
    let how = match (repair.outcome, repair.exit_code, &repair.signal) {
        (_, Some(code), _) => format!("exit code {code}"),
        ("timed_out", ..) => format!("stopped: it took longer than {}", show_duration(limit_ms)),
        ("signalled", _, Some(signal)) => format!("ended by {}", visible(signal)),
        (other, ..) => other.replace('_', " "),
    };
    let changed = if repair.no_change { "nothing" } else { "files" };
    let sign = paint(color, Tone::Warn, "↻");
    let time = show_duration(repair.duration_ms);
    let name = match turn {
        Turn::Repair => "fix",
        Turn::Review => "review",
    };
    let log = |log: &String| paint(color, Tone::Faint, &visible(log));
    let log = framed("    ", repair.log.as_ref().map(log), "\n");
    let left = leaked(repair.leaked);
    format!("  {sign} {name}: changed {changed} ({how}, {time})\n{left}{log}")
}

/// The answer.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct LoopDocument<'a> {
    /// The number of confirmations of the work; absent where one pass is enough and there is no
    /// subject.
    pub(super) counter: Option<u32>,
    /// The decision: what the caller does next.
    pub(super) decision: Decision,
    /// The exit code.
    pub(super) exit_code: u8,
    /// Of the last round that was verified; `failed` when nothing is left of the change.
    pub(super) report: &'a Report,
    /// The number of required confirmations; absent where `counter` is.
    pub(super) required: Option<u32>,
    /// The rounds, in order.
    pub(super) rounds: &'a [RoundRecord],
    /// The reason for the end of the loop.
    pub(super) stop: Stop,
    /// The fixer's reason not to go on, in its own words made harmless.
    pub(super) stuck: Option<&'a str>,
    /// The subject of the rounds, if they have one.
    pub(super) subject: Option<&'a str>,
    /// The files of the first round's change that are as at the base again.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) undone: &'a [RepoPath],
}

/// The request to a fixer after a pass that has to be confirmed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct ReviewRequest<'a> {
    /// The caveats: why the pass means less than was requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) caveats: Vec<&'a str>,
    /// The number of confirmations so far.
    pub(super) counter: u32,
    /// The number of required confirmations.
    pub(super) required: u32,
    /// The task.
    pub(super) review: &'a str,
    /// The verdict of the round.
    pub(super) verdict: Verdict,
}

/// The message to a fixer when nothing failed and the round is still no pass.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::command) struct Unexplained<'a> {
    /// The reason for the verdict, on one line.
    pub(super) reason: &'a str,
    /// The verdict.
    pub(super) verdict: Verdict,
}
