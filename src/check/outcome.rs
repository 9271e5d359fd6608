//! Decides the outcome of a step: evidence of one attempt in, status and cause out.

use super::evidence::Evidence;
use super::judge::{Answer, Ruling};
use super::{Kind, agreement};
use crate::base::word::visible;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The terminal status of a step. Every planned step gets exactly one.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It passed.
    Passed,
    /// It passed, with warnings within the limits.
    PassedWithWarnings,
    /// It passed on a later try.
    Flaky,
    /// It failed.
    Failed,
    /// Its time was up.
    TimedOut,
    /// It could not be run.
    Errored,
    /// It was waived, said so itself, or has no judge.
    Skipped,
    /// Its turn never came: fail fast, budget, needs, cancelled.
    NotRun,
    /// An earlier pass on the same inputs stands for it.
    Cached,
}

impl Status {
    /// Whether what `needs` this step may run.
    #[must_use]
    pub fn is_pass(self) -> bool {
        matches!(
            self,
            Status::Passed | Status::PassedWithWarnings | Status::Flaky | Status::Cached
        )
    }

    /// Whether the step was tried and did not pass.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Status::Failed | Status::TimedOut | Status::Errored)
    }

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::PassedWithWarnings => "passed_with_warnings",
            Status::Flaky => "flaky",
            Status::Failed => "failed",
            Status::TimedOut => "timed_out",
            Status::Errored => "errored",
            Status::Skipped => "skipped",
            Status::NotRun => "not_run",
            Status::Cached => "cached",
        }
    }
}

/// What decided a status: a stable word, the `reason` of a report. Words never change their
/// meaning.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// failed: an exit code that is not accepted.
    ExitCode,
    /// failed: a signal that vplan did not send.
    Signal,
    /// failed: an assertion of a `file` check.
    Assertion,
    /// failed: a file that `unchanged` selects differs.
    Mutated,
    /// failed: tracked files changed while it ran alone, which nothing lets it change.
    TreeChanged,
    /// failed: it says how its output is to be read, and nothing in it can be read so.
    NoEvidence,
    /// failed: its output says that tests failed.
    TestsFailed,
    /// failed: fewer tests ran than must, or none.
    TooFewTests,
    /// failed: more errors than are allowed.
    Errors,
    /// failed: more warnings than are allowed.
    Warnings,
    /// failed: its exit code and its output do not say the same.
    Contradiction,
    /// failed: the judge said so.
    Judged,
    /// errored: the judge gave no answer that can be used.
    BadAnswer,
    /// `timed_out`: its own limit.
    TimeLimit,
    /// `timed_out`: the budget ended while it ran; `not_run`: the budget was used up before.
    Budget,
    /// errored: the program or the directory is missing, or is not to be used.
    Missing,
    /// errored: the system could not start it for another reason.
    SpawnError,
    /// errored: the command needs a shell that there is not.
    Unsupported,
    /// errored: how it ended is not known.
    Lost,
    /// skipped: one of its own skip codes.
    SkipExit,
    /// skipped: there is no judge.
    #[serde(rename = "no judge")]
    NoJudge,
    /// `not_run`: a step before it failed.
    FailFast,
    /// `not_run`: a step that it needs did not pass.
    Needs,
    /// `not_run`: the run was interrupted.
    Cancelled,
    /// `not_run`: the record could not be written.
    Storage,
    /// `not_run`: the change is outside the contract's scope.
    Policy,
    /// `not_run`: the report of the shard that it belongs to is missing.
    Shard,
    /// flaky: it passed on a later try.
    Retried,
    /// cached: it passed in an earlier run, and all that it depends on is as it was.
    SameInputs,
    /// passed: by exit code alone, because its output is in no format that is known.
    OutputUnread,
}

impl Cause {
    /// The word in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Cause::ExitCode => "exit_code",
            Cause::Signal => "signal",
            Cause::Assertion => "assertion",
            Cause::Mutated => "mutated",
            Cause::TreeChanged => "tree_changed",
            Cause::NoEvidence => "no_evidence",
            Cause::TestsFailed => "tests_failed",
            Cause::TooFewTests => "too_few_tests",
            Cause::Errors => "errors",
            Cause::Warnings => "warnings",
            Cause::Contradiction => "contradiction",
            Cause::Judged => "judged",
            Cause::BadAnswer => "bad_answer",
            Cause::TimeLimit => "time_limit",
            Cause::Budget => "budget",
            Cause::Missing => "missing",
            Cause::SpawnError => "spawn_error",
            Cause::Unsupported => "unsupported",
            Cause::Lost => "lost",
            Cause::SkipExit => "skip_exit",
            Cause::NoJudge => "no judge",
            Cause::FailFast => "fail_fast",
            Cause::Needs => "needs",
            Cause::Cancelled => "cancelled",
            Cause::Storage => "storage",
            Cause::Policy => "policy",
            Cause::Shard => "shard",
            Cause::Retried => "retried",
            Cause::SameInputs => "same_inputs",
            Cause::OutputUnread => "output_unread",
        }
    }
}

/// A status, what decided it, and the same for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What decided; absent only for a pass.
    pub cause: Option<Cause>,
    /// One line for people, safe to show; absent only for a plain pass.
    pub detail: Option<String>,
    /// The status.
    pub status: Status,
}

impl Outcome {
    /// A plain pass.
    pub const PASSED: Outcome = Outcome {
        cause: None,
        detail: None,
        status: Status::Passed,
    };

    /// A status with its cause.
    #[must_use]
    pub fn new(status: Status, cause: Cause, detail: impl Into<String>) -> Self {
        Self {
            cause: Some(cause),
            detail: Some(detail.into()),
            status,
        }
    }
}

/// By what a try is judged: the settings of its step that have a say, and the limit that this try
/// had.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Whether `limit_ms` is what the budget left, not the step's own limit.
    pub by_budget: bool,
    /// Accepted exit codes; none means 0.
    pub exit: &'a [i32],
    /// The verb.
    pub kind: Kind,
    /// The limit of this try in milliseconds.
    pub limit_ms: u64,
    /// What the contract says about the output.
    pub output: Output<'a>,
    /// Codes that mean "does not apply here".
    pub skip_exit: &'a [i32],
}

/// What a contract says about a step's output. Only `compile`, `test` and `lint` are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output<'a> {
    /// `format`, unless it is `auto`: what it says must be found.
    pub format: Option<&'a str>,
    /// How many errors may be (`max-errors`).
    pub max_errors: u64,
    /// How many warnings may be (`max-warnings`); any number without.
    pub max_warnings: Option<u64>,
    /// How many tests must have run (`min-tests`), where that is written; otherwise one, where
    /// tests are found at all.
    pub min_tests: Option<u64>,
    /// The glob of `report`: what it selects must have been written.
    pub report: Option<&'a str>,
}

/// Spawn errors that a person mends by installing or creating something: exit 5.
const SETUP_CODES: [&str; 9] = [
    "ENOENT",
    "ENOTDIR",
    "EACCES",
    "ENOEXEC",
    "ELOOP",
    "PROGRAM_NOT_FOUND",
    "PROGRAM_IN_REPOSITORY",
    "NO_SUCH_DIRECTORY",
    "DIRECTORY_OUTSIDE",
];

/// Judges one try. Total; the first that holds: not started, out of time, ended by a signal,
/// changed what it must not, skipped itself, a false assertion; then what exit code and output say
/// together (`agreement`).
///
/// A try that took longer than its limit is out of time even when it ended before anybody stopped
/// it: the same durations must give the same outcome however late the clock was read. One that took
/// exactly its limit is within it.
#[must_use]
pub fn judge(terms: &Terms<'_>, evidence: &Evidence) -> Outcome {
    if let Some(earlier) = &evidence.earlier {
        let detail = format!(
            "passed in run {} on the same inputs",
            visible(earlier.run_id.as_bytes())
        );
        return Outcome::new(Status::Cached, Cause::SameInputs, detail);
    }
    if let Some(error) = &evidence.spawn_error {
        let cause = if SETUP_CODES.contains(&error.code.as_str()) {
            Cause::Missing
        } else {
            Cause::SpawnError
        };
        return Outcome::new(Status::Errored, cause, visible(error.message.as_bytes()));
    }
    if evidence.timed_out || evidence.duration_ms > terms.limit_ms {
        let limit = crate::base::unit::show_duration(terms.limit_ms);
        return if terms.by_budget {
            Outcome::new(
                Status::TimedOut,
                Cause::Budget,
                format!("the run's budget left it {limit}"),
            )
        } else {
            Outcome::new(
                Status::TimedOut,
                Cause::TimeLimit,
                format!("it took longer than {limit}"),
            )
        };
    }
    if let Some(signal) = &evidence.signal {
        return Outcome::new(
            Status::Failed,
            Cause::Signal,
            format!("ended by {}", visible(signal.as_bytes())),
        );
    }
    if terms.kind == Kind::Judge {
        return ruled(evidence);
    }
    let exit = match (evidence.exit, terms.kind) {
        // vplan itself looks at the path; there is no process that could exit.
        (exit, Kind::File) => exit.unwrap_or(0),
        (Some(exit), _) => exit,
        (None, _) => {
            return Outcome::new(Status::Errored, Cause::Lost, "how it ended is not known");
        }
    };
    if let Some(path) = &evidence.mutated {
        return Outcome::new(
            Status::Failed,
            Cause::Mutated,
            format!("it changed `{path}`, which must stay as it was"),
        );
    }
    let is_read = matches!(terms.kind, Kind::Compile | Kind::Test | Kind::Lint);
    if terms.skip_exit.contains(&exit) {
        return match agreement::failures(terms, evidence).filter(|_| is_read) {
            // What did not apply cannot have failed.
            Some(failures) => {
                let detail =
                    format!("exit code {exit} says that it does not apply here, but {failures}");
                Outcome::new(Status::Failed, Cause::Contradiction, detail)
            }
            None => {
                let detail = format!("exit code {exit}: it says that it does not apply here");
                Outcome::new(Status::Skipped, Cause::SkipExit, detail)
            }
        };
    }
    if let Some(assertion) = &evidence.assertion {
        return Outcome::new(
            Status::Failed,
            Cause::Assertion,
            visible(assertion.as_bytes()),
        );
    }
    if is_read {
        return agreement::judge(terms, evidence, exit);
    }
    if terms.kind != Kind::File && !terms.accepts(exit) {
        return Outcome::new(
            Status::Failed,
            Cause::ExitCode,
            wrong_exit(exit, terms.exit),
        );
    }
    Outcome::PASSED
}

impl Terms<'_> {
    /// Whether an exit code is accepted.
    #[must_use]
    pub fn accepts(&self, exit: i32) -> bool {
        if self.exit.is_empty() {
            exit == 0
        } else {
            self.exit.contains(&exit)
        }
    }
}

/// What a judge that ended by itself has said.
fn ruled(evidence: &Evidence) -> Outcome {
    let bad = |why: String| Outcome::new(Status::Errored, Cause::BadAnswer, why);
    match evidence.exit {
        Some(0) => {}
        Some(exit) => {
            return bad(format!(
                "the judge gave no answer: it ended with exit code {exit}"
            ));
        }
        None => return Outcome::new(Status::Errored, Cause::Lost, "how it ended is not known"),
    }
    let said = &evidence.stdout;
    if said.total > said.head.as_bytes().len() as u64 {
        return bad(format!(
            "the judge's answer has more than {} bytes",
            super::judge::MAX_ANSWER
        ));
    }
    match Answer::read(said.head.as_bytes()) {
        Err(why) => bad(format!("the judge's answer cannot be used: {why}")),
        Ok(Answer {
            verdict: Ruling::Pass,
            ..
        }) => Outcome::PASSED,
        Ok(Answer {
            verdict: Ruling::Fail,
            reasoning,
            ..
        }) => {
            let mut why = visible(reasoning.trim().as_bytes());
            super::reading::clip(&mut why);
            Outcome::new(
                Status::Failed,
                Cause::Judged,
                format!("the judge says no: {why}"),
            )
        }
    }
}

pub(super) fn wrong_exit(exit: i32, accepted: &[i32]) -> String {
    if matches!(accepted, [] | [0]) {
        return format!("exit code {exit}");
    }
    let codes: Vec<String> = accepted.iter().map(i32::to_string).collect();
    format!("exit code {exit}; accepted: {}", codes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::evidence::SpawnError;
    use super::*;
    use crate::base::path::RepoPath;

    fn terms(kind: Kind) -> Terms<'static> {
        Terms {
            by_budget: false,
            exit: &[0],
            kind,
            limit_ms: 1000,
            output: Output::default(),
            skip_exit: &[77],
        }
    }

    fn exited(code: i32) -> Evidence {
        Evidence {
            exit: Some(code),
            ..Evidence::default()
        }
    }

    #[test]
    fn one_try() {
        let run = terms(Kind::Run);
        let three = Terms { exit: &[3], ..run };
        let spawn = |code: &str| Evidence {
            spawn_error: Some(SpawnError {
                code: code.into(),
                message: "no".into(),
            }),
            ..Evidence::default()
        };
        let late = Evidence {
            timed_out: true,
            ..exited(0)
        };
        let slow = Evidence {
            duration_ms: 1001,
            ..exited(0)
        };
        let just = Evidence {
            duration_ms: 1000,
            ..exited(0)
        };
        let killed = Evidence {
            signal: Some("SIGKILL".into()),
            ..Evidence::default()
        };
        let wrote = Evidence {
            mutated: RepoPath::from_exact(b"gen/a"),
            ..exited(0)
        };
        let wrote_and_skipped = Evidence {
            exit: Some(77),
            ..wrote.clone()
        };
        let wrong = Evidence {
            assertion: Some("exists".into()),
            ..Evidence::default()
        };
        let budget = Terms {
            by_budget: true,
            ..run
        };
        for (name, terms, evidence, status, cause) in [
            ("exit 0", run, exited(0), Status::Passed, None),
            (
                "exit 7",
                run,
                exited(7),
                Status::Failed,
                Some(Cause::ExitCode),
            ),
            (
                "0 is not in the list",
                three,
                exited(0),
                Status::Failed,
                Some(Cause::ExitCode),
            ),
            ("3 is", three, exited(3), Status::Passed, None),
            (
                "its skip code",
                run,
                exited(77),
                Status::Skipped,
                Some(Cause::SkipExit),
            ),
            (
                "no program",
                run,
                spawn("PROGRAM_NOT_FOUND"),
                Status::Errored,
                Some(Cause::Missing),
            ),
            (
                "too many arguments",
                run,
                spawn("E2BIG"),
                Status::Errored,
                Some(Cause::SpawnError),
            ),
            (
                "stopped",
                run,
                late.clone(),
                Status::TimedOut,
                Some(Cause::TimeLimit),
            ),
            (
                "stopped by the budget",
                budget,
                late,
                Status::TimedOut,
                Some(Cause::Budget),
            ),
            (
                "nobody stopped it",
                run,
                slow,
                Status::TimedOut,
                Some(Cause::TimeLimit),
            ),
            ("just in time", run, just, Status::Passed, None),
            ("killed", run, killed, Status::Failed, Some(Cause::Signal)),
            (
                "lost",
                run,
                Evidence::default(),
                Status::Errored,
                Some(Cause::Lost),
            ),
            ("mutated", run, wrote, Status::Failed, Some(Cause::Mutated)),
            (
                "mutated and skipped",
                run,
                wrote_and_skipped,
                Status::Failed,
                Some(Cause::Mutated),
            ),
            (
                "a file as asserted",
                terms(Kind::File),
                Evidence::default(),
                Status::Passed,
                None,
            ),
            (
                "a file not as asserted",
                terms(Kind::File),
                wrong,
                Status::Failed,
                Some(Cause::Assertion),
            ),
        ] {
            let outcome = judge(&terms, &evidence);
            assert_eq!((outcome.status, outcome.cause), (status, cause), "{name}");
            assert_eq!(outcome.cause.is_some(), outcome.detail.is_some(), "{name}");
        }
        assert_eq!(
            judge(&three, &exited(0)).detail.as_deref(),
            Some("exit code 0; accepted: 3")
        );
    }

    /// An answer counts only if it is whole, and its process ended well.
    #[test]
    fn judges() {
        use super::super::evidence::Captured;
        let pass = br#"{"reasoning":"fine","verdict":"pass"}"#;
        let fail = br#"{"reasoning":" too\nshort ","verdict":"fail"}"#;
        let said = |answer: &[u8], more: u64| {
            let all = Captured::from(answer);
            Evidence {
                stdout: Captured {
                    total: all.total + more,
                    ..all
                },
                ..exited(0)
            }
        };
        for (evidence, status, cause, detail) in [
            (said(pass, 0), Status::Passed, None, None),
            (
                said(fail, 0),
                Status::Failed,
                Some(Cause::Judged),
                Some("the judge says no: too\\nshort"),
            ),
            // What was cut off may have said something else.
            (
                said(pass, 1),
                Status::Errored,
                Some(Cause::BadAnswer),
                Some("the judge's answer has more than 65536 bytes"),
            ),
            (
                said(b"pass", 0),
                Status::Errored,
                Some(Cause::BadAnswer),
                Some("the judge's answer cannot be used: the answer is not one JSON object"),
            ),
            (
                Evidence {
                    exit: Some(1),
                    ..said(pass, 0)
                },
                Status::Errored,
                Some(Cause::BadAnswer),
                Some("the judge gave no answer: it ended with exit code 1"),
            ),
            (
                Evidence {
                    exit: None,
                    ..said(pass, 0)
                },
                Status::Errored,
                Some(Cause::Lost),
                Some("how it ended is not known"),
            ),
        ] {
            let outcome = judge(&terms(Kind::Judge), &evidence);
            assert_eq!(
                (outcome.status, outcome.cause, outcome.detail.as_deref()),
                (status, cause, detail)
            );
        }
    }

    #[test]
    fn words_are_those_of_the_json() {
        for cause in [
            Cause::ExitCode,
            Cause::NoJudge,
            Cause::FailFast,
            Cause::OutputUnread,
            Cause::SkipExit,
        ] {
            assert_eq!(
                serde_json::to_string(&cause).unwrap(),
                format!("\"{}\"", cause.word())
            );
        }
        for status in [Status::NotRun, Status::TimedOut, Status::PassedWithWarnings] {
            assert_eq!(
                serde_json::to_string(&status).unwrap(),
                format!("\"{}\"", status.name())
            );
        }
    }
}
