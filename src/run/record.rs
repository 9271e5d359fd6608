//! The record of one step when it has ended: one entry of a report's `steps`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::{Digest, is_default};
use vplan_base::inert::inert;
use vplan_base::vocabulary::{FailureCode, Open};
use vplan_base::word::Word;
use vplan_check::Kind;
use vplan_check::confine::{Confined, InputsBasis};
use vplan_check::difference::Difference;
use vplan_check::evidence::{Captured, EarlierPass, Evidence};
use vplan_check::judge::JudgeAnswer;
use vplan_check::outcome::{Cause, Outcome, Status};
use vplan_check::results::{FailedTest, Finding, Identity, TestCounts, clip};
use vplan_plan::Step;

/// Limit of each stream's end in a report, in bytes.
pub(crate) const TAIL_BYTES: usize = 2048;

/// The detail of a step that was running when the run was interrupted.
pub const INTERRUPTED: &str = "the run was interrupted while it was running";

/// The record of one step at its end.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// Advice about a name that its command asks for and that is not declared: near names, and the
    /// file. Set by the caller.
    pub advice: Option<String>,
    /// The earlier pass that replaces it.
    pub cached_from: Option<Box<EarlierPass>>,
    /// Its command as the plan shows it.
    pub command: String,
    /// The comparison with an earlier pass that would have replaced it (`--confirm`). Set by the
    /// caller.
    pub confirmation: Option<Confirmation>,
    /// One line for people; absent only for a plain pass.
    pub detail: Option<String>,
    /// Findings that were read from its output: the first of each severity.
    #[serde(default)]
    pub diagnostics: Vec<Finding>,
    /// The first thing in which it differs from its last kept pass, where that is why no earlier
    /// pass replaces it. Set by the caller.
    pub differs: Option<Difference>,
    /// The duration of its tries together, in milliseconds.
    pub duration_ms: u64,
    /// The number of errors in its output, where it was read.
    pub errors: Option<u64>,
    /// The last try's evidence, for the classifier and for feedback. Not part of the report; kept
    /// for failures only.
    #[serde(skip)]
    pub evidence: Option<Box<Evidence>>,
    /// The last try's exit code, if it exited by itself.
    pub exit_code: Option<i32>,
    /// The first tests that failed, by its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<FailedTest>,
    /// The failure code. Set by the caller.
    pub failure_code: Option<Open<FailureCode>>,
    /// The format in which its output was read.
    pub format: Option<String>,
    /// Its id in the plan.
    pub id: String,
    /// The identities of its `diagnostics`, then of its `failedTests`, in their order.
    /// Only where they make it fail, or the baseline lists some of its check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<Identity>,
    /// How far it is known that it depends on its `inputs` alone; absent where it has none, or was neither
    /// observed nor confined to them. Set by the caller.
    pub inputs: Option<InputsBasis>,
    /// The number of processes that it left behind, which were stopped.
    #[serde(default, skip_serializing_if = "is_default")]
    pub leaked: u32,
    /// The log of its last try, relative to the run's directory. Set by the caller.
    pub log: Option<String>,
    /// The reason why no earlier pass replaces it although it has `inputs`. Set by the caller.
    pub not_reused: Option<String>,
    /// Where it was executed, in a run that may execute steps elsewhere. Set by the caller.
    pub place: Option<Place>,
    /// The signs of failure in its output besides its counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The file that was started. Set by the caller.
    pub program: Option<ProgramRecord>,
    /// The digest of the question to its judge.
    pub question: Option<Digest>,
    /// The cause of its status; absent only for a plain pass.
    pub reason: Option<Cause>,
    /// The judge's reasoning: foreign text, made inert.
    pub reasoning: Option<String>,
    /// What it was asked to be confined to, and what held; absent where nothing was asked. Set by the
    /// caller.
    pub sandbox: Option<Confined>,
    /// The signal that ended its last try.
    pub signal: Option<String>,
    /// Its status.
    pub status: Status,
    /// The end of its standard error, at most `TAIL_BYTES`.
    #[serde(default)]
    pub stderr_tail: String,
    /// The end of its standard output, at most `TAIL_BYTES`.
    #[serde(default)]
    pub stdout_tail: String,
    /// The number of tests that it ran, where its output was read.
    pub tests: Option<TestCounts>,
    /// The number of tries that ended by themselves.
    pub tries: u32,
    /// The number of warnings in its output, where it was read.
    pub warnings: Option<u64>,
}

/// The file that the first word of a command named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramRecord {
    /// The digest of its content; absent when it was replaced or could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Its absolute path.
    pub path: Word,
    /// Its size, in bytes.
    pub size: u64,
}

/// Where a step was executed.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// `here`, or what carried it elsewhere: `folder`, `reapi`.
    pub engine: String,
    /// The orders that were needed for an answer.
    pub orders: Option<u32>,
    /// The system and the processor there.
    pub platform: Option<String>,
    /// The reason why it was executed here, or was not executed.
    pub reason: Option<String>,
    /// The machine there, as the server names it.
    pub worker: Option<String>,
}

impl Place {
    /// Makes that of a step which is not executed elsewhere.
    pub fn local(reason: String) -> Self {
        Self {
            engine: "here".to_owned(),
            reason: Some(reason),
            ..Self::default()
        }
    }
}

/// The comparison of a step with an earlier pass on the same inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// The difference, for people; absent when they agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
    /// The run of the earlier pass.
    pub run_id: String,
}

/// Findings or tests, each with whether it is known.
pub(crate) type Marked<'r, T> = Vec<(&'r T, bool)>;

impl StepRecord {
    /// Whether this end may be reused: a plain pass of the first try that left nothing running. A pass with warnings must be shown
    /// again, and one that needed another try must be tried again.
    pub fn is_reusable(&self) -> bool {
        self.status == Status::Passed
            && self.tries == 1
            && self.leaked == 0
            && self.problems.is_empty()
    }

    /// Creates the record of a step without evidence: it never ran, or its result does not count.
    pub fn without_evidence(step: &Step, outcome: Outcome) -> Self {
        Self {
            command: step.command.clone(),
            detail: outcome.detail,
            id: step.id.clone(),
            reason: outcome.cause,
            status: outcome.status,
            ..Self::default()
        }
    }

    /// Creates the record of a step whose last try has this evidence.
    pub fn with_evidence(
        step: &Step,
        outcome: Outcome,
        evidence: &Evidence,
        tries: u32,
        duration_ms: u64,
    ) -> Self {
        if let Some(earlier) = &evidence.earlier {
            return Self {
                errors: earlier.errors,
                exit_code: earlier.exit_code,
                format: earlier.format.clone(),
                tests: earlier.tests,
                warnings: earlier.warnings,
                cached_from: Some(earlier.clone()),
                ..Self::without_evidence(step, outcome)
            };
        }
        let reading = evidence.reading.as_deref();
        let counts = reading.filter(|r| r.tests.is_none() || r.errors > 0 || r.warnings > 0);
        Self {
            diagnostics: reading.map(|r| r.findings.clone()).unwrap_or_default(),
            duration_ms,
            errors: counts.map(|r| r.errors),
            evidence: outcome
                .status
                .is_failure()
                .then(|| Box::new(evidence.clone())),
            exit_code: evidence.exit,
            failed_tests: reading.map(|r| r.failed_tests.clone()).unwrap_or_default(),
            format: reading.map(|r| r.format.clone()),
            leaked: evidence.leaked,
            problems: reading.map(|r| r.problems.clone()).unwrap_or_default(),
            question: evidence.question.clone(),
            reasoning: reasoning(step, evidence),
            signal: evidence.signal.clone(),
            stderr_tail: tail(&evidence.stderr, TAIL_BYTES),
            stdout_tail: tail(&evidence.stdout, TAIL_BYTES),
            tests: reading.and_then(|r| r.tests),
            tries,
            warnings: counts.map(|r| r.warnings),
            ..Self::without_evidence(step, outcome)
        }
    }

    /// Returns its outcome.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            cause: self.reason,
            detail: self.detail.clone(),
            status: self.status,
        }
    }

    /// Adds what its findings and failed tests are, where they decided about it, or the baseline
    /// lists some of its check.
    pub fn identified(mut self, identities: Vec<Identity>, is_listed: bool) -> Self {
        let decided = is_listed
            || matches!(
                self.reason,
                Some(
                    Cause::Errors
                        | Cause::TestsFailed
                        | Cause::Warnings
                        | Cause::ExitCode
                        | Cause::Known
                )
            );
        if decided && identities.iter().any(|i| i.fingerprint.is_some()) {
            self.identities = identities;
        }
        self
    }

    /// Returns its findings and its failed tests, each with whether it is known: those that are not
    /// come first, otherwise in their order.
    pub fn news_first(&self) -> (Marked<'_, Finding>, Marked<'_, FailedTest>) {
        let known = |at: usize| self.identities.get(at).is_some_and(|i| i.known);
        let findings = self.diagnostics.iter().enumerate();
        let mut findings: Vec<_> = findings.map(|(at, f)| (f, known(at))).collect();
        let behind = self.diagnostics.len();
        let tests = self.failed_tests.iter().enumerate();
        let mut tests: Vec<_> = tests.map(|(at, t)| (t, known(behind + at))).collect();
        findings.sort_by_key(|(_, known)| *known);
        tests.sort_by_key(|(_, known)| *known);
        (findings, tests)
    }

    /// Returns how many of its findings and failed tests are known.
    pub fn count_known(&self) -> usize {
        self.identities.iter().filter(|i| i.known).count()
    }

    /// Replaces the outcome of its own evidence.
    pub(super) fn end_as(&mut self, outcome: Outcome) {
        (self.reason, self.detail, self.status) = (outcome.cause, outcome.detail, outcome.status);
    }

    /// Whether the budget ended it, or left no time for it.
    pub fn is_cut(&self) -> bool {
        self.reason == Some(Cause::Budget)
            && matches!(self.status, Status::TimedOut | Status::NotRun)
    }
}

/// Returns the judge's reasoning, if it gave an answer.
fn reasoning(step: &Step, evidence: &Evidence) -> Option<String> {
    let answer = (step.kind == Kind::Judge)
        .then(|| JudgeAnswer::read(evidence.stdout.head.as_bytes()).ok())??;
    let mut text = inert(answer.reasoning.as_bytes());
    clip(&mut text);
    Some(text)
}

/// Returns the last bytes that were kept of a stream, whole characters only, safe to print.
pub fn tail(captured: &Captured, most: usize) -> String {
    let text = captured.text();
    let from = text.len().saturating_sub(most);
    let mut bytes = text.get(from..).unwrap_or_default();
    if from > 0 {
        // The cut may have split a character.
        while let [0x80..=0xbf, rest @ ..] = bytes {
            bytes = rest;
        }
    }
    inert(bytes)
}

/// Returns the first bytes that were kept of a stream, whole characters only, safe to print.
pub fn head(captured: &Captured, most: usize) -> String {
    let text = captured.text();
    let mut bytes = text.get(..most).unwrap_or(&text);
    if bytes.len() < text.len() {
        // The cut may have split a character: an incomplete one at the end is removed.
        if let Err(e) = std::str::from_utf8(bytes)
            && e.error_len().is_none()
        {
            bytes = bytes.get(..e.valid_up_to()).unwrap_or(bytes);
        }
    }
    inert(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::step;
    use vplan_check::outcome::Cause;

    #[test]
    fn only_plain_first_passes_are_reusable() {
        let end = |status, tries, leaked| {
            let outcome = Outcome {
                status,
                ..Outcome::new(status, Cause::Retried, "")
            };
            let record = StepRecord {
                tries,
                leaked,
                ..StepRecord::without_evidence(&step("a"), outcome)
            };
            record.is_reusable()
        };
        assert!(end(Status::Passed, 1, 0));
        for (status, tries, leaked) in [
            (Status::Passed, 2, 0),
            (Status::Passed, 1, 1),
            (Status::Cached, 0, 0),
            (Status::Flaky, 2, 0),
            (Status::PassedWithWarnings, 1, 0),
            (Status::Failed, 1, 0),
            (Status::TimedOut, 1, 0),
            (Status::Skipped, 1, 0),
            (Status::NotRun, 0, 0),
        ] {
            assert!(!end(status, tries, leaked), "{status:?}");
        }
    }

    #[test]
    fn ends_of_output() {
        let text = |s: &str| Captured::from(s.as_bytes());
        assert_eq!(tail(&text("abc"), 2), "bc");
        assert_eq!(tail(&text("aöb"), 2), "b", "no half character");
        assert_eq!(head(&text("aöb"), 2), "a");
        assert_eq!(head(&text("aöb"), 3), "aö");
        assert_eq!(head(&Captured::from(&b"a\xff"[..]), 9), "a\u{fffd}");
        assert_eq!(tail(&text(""), 5), "");
    }
}
