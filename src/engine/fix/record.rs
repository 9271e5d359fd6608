//! Records what became of a fix.

use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_run::event::Interrupt;
use vplan_runner::fixer::{Fixed, FixerEnd};

/// The fix of one check.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Fix")]
pub struct FixRecord {
    /// The files that it changed, ascending.
    pub changed: Vec<RepoPath>,
    /// The check that it mends.
    pub check: String,
    /// Its command; the first one of several with the changed files.
    pub command: String,
    /// Its duration in milliseconds.
    pub duration_ms: u64,
    /// Its exit code, which decides nothing.
    pub exit_code: Option<i32>,
    /// The number of processes that it left behind; they were stopped.
    pub leaked: u32,
    /// The paths of its logs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<String>,
    /// The end of it: `exited`, `signalled`, `timed_out`, `not_started`, `interrupted`, `lost`
    pub outcome: &'static str,
    /// What it changed and must not, ascending: files of the tree, and of `.git/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// The reason for the outcome, in one line.
    pub reason: Option<String>,
    /// The end of what it wrote.
    pub said: String,
    /// The signal that ended it.
    pub signal: Option<String>,
}

/// How a fixer or a fix ended, in words.
#[derive(Debug)]
pub(crate) struct HowEnded {
    pub outcome: &'static str,
    pub exit_code: Option<i32>,
    pub reason: Option<String>,
    pub signal: Option<String>,
}

impl HowEnded {
    pub fn of(how: FixerEnd) -> Self {
        let mut ended = Self {
            outcome: "lost",
            exit_code: None,
            reason: None,
            signal: None,
        };
        match how {
            FixerEnd::Exited(code) => (ended.outcome, ended.exit_code) = ("exited", Some(code)),
            FixerEnd::Signalled(signal) => {
                (ended.outcome, ended.signal) = ("signalled", Some(signal));
            }
            FixerEnd::TimedOut => ended.outcome = "timed_out",
            FixerEnd::NotStarted(why) => {
                (ended.outcome, ended.reason) = ("not_started", Some(visible(&why)));
            }
            FixerEnd::Interrupted(signal) => {
                let name = if signal == Interrupt::Int {
                    "SIGINT"
                } else {
                    "SIGTERM"
                };
                (ended.outcome, ended.signal) = ("interrupted", Some(name.to_owned()));
            }
            FixerEnd::Lost => {}
        }
        ended
    }
}

impl FixRecord {
    /// Makes it of how its steps ended: of several, the last one that did not end well counts.
    pub(super) fn of(check: &str, command: &str, steps: Vec<Option<Fixed>>, record: &Path) -> Self {
        let mut all = Self {
            check: check.to_owned(),
            command: command.to_owned(),
            outcome: "lost",
            ..Self::default()
        };
        let mut is_first = true;
        for fixed in steps.into_iter().flatten() {
            all.duration_ms += fixed.duration_ms;
            all.leaked += fixed.leaked;
            let log = fixed
                .log
                .as_ref()
                .map(|name| record.join("logs").join(name));
            all.logs
                .extend(log.map(|path| visible(path.as_os_str().as_encoded_bytes())));
            let is_well = fixed.how == FixerEnd::Exited(0);
            if is_first || !is_well {
                let ended = HowEnded::of(fixed.how);
                all.outcome = ended.outcome;
                all.exit_code = ended.exit_code;
                all.reason = ended.reason;
                all.signal = ended.signal;
                all.said = fixed.said;
            }
            is_first = false;
        }
        all
    }
}
