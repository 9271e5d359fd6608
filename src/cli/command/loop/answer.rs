//! Formats the result of a loop.

use crate::base::path::RepoPath;
use crate::base::word::visible;
use crate::effect::runner::fixer::{Fixed, How};
use crate::run::event::Interrupt;
use crate::run::report::{Decision, Report};
use crate::run::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stop {
    /// It passed, as often as it must.
    Passed,
    /// The retries are used up.
    Exhausted,
    /// The same failure came too often, or the round could not be recorded.
    Escalated,
    /// `--max-rounds`
    MaxRounds,
    /// After a failure the fixer changed nothing.
    NoChange,
    /// It passed, and who looked at it again did not confirm it.
    NotConfirmed,
    /// The fixer said that it does not go on.
    Stuck,
    /// Nothing is left of the change that the loop began with.
    ChangeGone,
    /// Another contract would have been verified.
    ContractChanged,
    /// The change could not be told from what was there before any more.
    HistoryChanged,
    /// There is nobody who could repair.
    FixerNotStarted,
    /// A signal.
    Interrupted,
}

impl Stop {
    pub(super) fn words(self) -> &'static str {
        match self {
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
        }
    }
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli::command) struct Answer<'a> {
    /// How often the work is confirmed; absent where one pass is enough and there is no subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) counter: Option<u32>,
    /// What the caller should do.
    pub(super) decision: Decision,
    /// The exit code.
    pub(super) exit_code: u8,
    /// Of the last round that was verified; `failed` when nothing is left of the change.
    pub(super) report: &'a Report,
    /// How many confirmations are asked for; absent where `counter` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) required: Option<u32>,
    /// The rounds, in order.
    pub(super) rounds: &'a [Line],
    /// Why the loop ended.
    pub(super) stop: Stop,
    /// Why the fixer does not go on, in its own words made harmless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stuck: Option<&'a str>,
    /// Whose rounds they were, if anybody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<&'a str>,
    /// The files of the first round's change that are as at the base again.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) undone: &'a [RepoPath],
    #[schemars(extend("const" = 1))]
    pub(super) version: u32,
}

/// One round.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Round")]
pub(super) struct Line {
    /// Which attempt it was, from 1.
    pub(super) attempt: u32,
    /// The contract had changed, and that was allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) contract_changed: bool,
    /// What it came to.
    pub(super) decision: Decision,
    /// The verdict's.
    pub(super) exit_code: u8,
    /// The repair after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fix: Option<Repair>,
    /// Whether nothing had changed since the round before.
    pub(super) no_change: bool,
    /// How many rounds of repair are left.
    pub(super) retries_remaining: u32,
    /// Each time that somebody was asked to look at it again, because a pass has to be confirmed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reviews: Vec<Review>,
    /// From 1.
    pub(super) round: u32,
    /// The run.
    pub(super) run_id: String,
    /// Its verdict.
    pub(super) verdict: Verdict,
}

/// One turn of the fixer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Repair {
    /// How long it took, in milliseconds.
    pub(super) duration_ms: u64,
    /// Its exit code, which decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i32>,
    /// Where the feedback is that it was given.
    pub(super) feedback: String,
    /// How many processes it left behind.
    pub(super) leaked: u32,
    /// What it wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) log: Option<String>,
    /// Whether it changed nothing.
    pub(super) no_change: bool,
    /// `exited`, `signalled`, `timed_out`, `not_started`, `interrupted`, `lost`
    pub(super) outcome: &'static str,
    /// Why it came to that, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// The end of what it wrote.
    pub(super) said: String,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signal: Option<String>,
    /// Why it does not go on, if it said that (`STUCK: why`, or the file in `VPLAN_STUCK`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stuck: Option<String>,
}

/// One look at work that has passed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Review {
    /// Whether it confirmed the work: it changed nothing, and its exit code was 0.
    pub(super) confirmed: bool,
    /// How often the work was confirmed afterwards.
    pub(super) counter: u32,
    /// The turn of the fixer that it was.
    pub(super) turn: Repair,
}

/// What a fixer is asked after a pass that has to be confirmed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli::command) struct ReviewRequest<'a> {
    /// What keeps the pass from meaning all that was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) caveats: Vec<&'a str>,
    /// How often it is confirmed so far.
    pub(super) counter: u32,
    /// How often it has to be.
    pub(super) required: u32,
    /// What to do.
    pub(super) review: &'a str,
    /// The verdict of the round.
    pub(super) verdict: Verdict,
    #[schemars(extend("const" = 1))]
    pub(super) version: u32,
}

/// What a fixer is told when nothing failed and it is no pass all the same.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli::command) struct Unexplained<'a> {
    /// What decided the verdict, on one line.
    pub(super) reason: &'a str,
    /// The verdict.
    pub(super) verdict: Verdict,
    #[schemars(extend("const" = 1))]
    pub(super) version: u32,
}

impl Repair {
    pub(super) fn of(fixed: Fixed, no_change: bool, feedback: &Path, record: &Path) -> Self {
        let Fixed {
            duration_ms,
            how,
            leaked,
            log,
            said,
            stuck,
        } = fixed;
        let place = |path: PathBuf| visible(path.as_os_str().as_encoded_bytes());
        let mut repair = Self {
            duration_ms,
            exit_code: None,
            feedback: place(feedback.to_owned()),
            leaked,
            log: log.map(|name| place(record.join("logs").join(name))),
            no_change,
            outcome: "lost",
            reason: None,
            said,
            signal: None,
            stuck,
        };
        match how {
            How::Exited(code) => (repair.outcome, repair.exit_code) = ("exited", Some(code)),
            How::Signalled(signal) => (repair.outcome, repair.signal) = ("signalled", Some(signal)),
            How::TimedOut => repair.outcome = "timed_out",
            How::NotStarted(why) => {
                (repair.outcome, repair.reason) = ("not_started", Some(visible(why.as_bytes())))
            }
            How::Interrupted(signal) => {
                let name = if signal == Interrupt::Int {
                    "SIGINT"
                } else {
                    "SIGTERM"
                };
                (repair.outcome, repair.signal) = ("interrupted", Some(name.to_owned()));
            }
            How::Lost => {}
        }
        repair
    }
}
