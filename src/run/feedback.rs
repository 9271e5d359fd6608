//! What does whoever must repair a failure need to know? (engine.md section 8)

use super::record::{StepRecord, head, tail};
use crate::base::path::RepoPath;
use crate::check::Kind;
use crate::check::Severity;
use crate::check::evidence::Captured;
use crate::check::outcome::{Cause, Status};
use crate::plan::{Plan, Step};
use serde::{Deserialize, Serialize};

/// How many bytes of each end of a stream are shown.
pub const EXCERPT_BYTES: usize = 4096;
/// How many changed files are named.
pub const FILES_SHOWN: usize = 50;

/// The first blocking failure in plan order, made for its repair. All foreign text in it is inert and bounded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// Which round this is, from 1.
    pub attempt_number: u32,
    /// The first changed files, in byte order.
    pub changed_files: Vec<RepoPath>,
    /// How many there are.
    pub changed_files_count: usize,
    /// What happened, on one line.
    pub detail: String,
    /// Its exit code, if it exited by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The command that failed.
    pub failed_command: String,
    /// What the classifier calls the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_code: Option<String>,
    /// What decided.
    pub reason: Option<Cause>,
    /// How many rounds are left.
    pub retries_remaining: u32,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Its standard error.
    pub stderr: Excerpt,
    /// Its standard output.
    pub stdout: Excerpt,
    /// Its id.
    pub step_id: String,
    /// What to do about it, by kind of failure.
    pub suggestion: String,
}

/// Beginning and end of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Excerpt {
    /// The beginning, or everything when it is short.
    pub head: String,
    /// How many bytes between both are left out.
    pub omitted_bytes: u64,
    /// The end, unless `head` is everything.
    pub tail: String,
}

impl Excerpt {
    /// Both ends of a stream, at most `most` bytes each.
    #[must_use]
    pub fn of(captured: &Captured, most: usize) -> Self {
        let kept = captured.head.as_bytes().len() + captured.tail.as_bytes().len();
        let complete = u64::try_from(kept).is_ok_and(|kept| kept >= captured.total);
        if complete && kept <= 2 * most {
            return Self { head: head(captured, 2 * most), omitted_bytes: 0, tail: String::new() };
        }
        let shown = u64::try_from(kept.min(2 * most)).unwrap_or(u64::MAX);
        Self {
            head: head(captured, most.min(kept)),
            omitted_bytes: captured.total.saturating_sub(shown),
            tail: tail(captured, most.min(kept.saturating_sub(most))),
        }
    }
}

/// Makes the feedback for a run's first blocking failure; `None` when nothing failed.
#[must_use]
pub fn feedback(plan: &Plan, records: &[StepRecord], attempt: u32, retries_remaining: u32) -> Option<Feedback> {
    let mut steps = plan.steps.iter().zip(records);
    let (step, record) = steps.find(|(s, r)| s.severity == Severity::Blocking && r.status.is_failure())?;
    let excerpt = |of: fn(&crate::check::evidence::Evidence) -> &Captured, fallback: &String| match &record.evidence {
        Some(evidence) => Excerpt::of(of(evidence), EXCERPT_BYTES),
        None => Excerpt { head: fallback.clone(), ..Excerpt::default() },
    };
    let changed = plan.request.changed.files();
    Some(Feedback {
        attempt_number: attempt,
        changed_files: changed.iter().take(FILES_SHOWN).map(|f| f.path.clone()).collect(),
        changed_files_count: changed.len(),
        detail: record.detail.clone().unwrap_or_default(),
        exit_code: record.exit_code,
        failed_command: record.command.clone(),
        failure_code: record.failure_code.clone(),
        reason: record.reason,
        retries_remaining,
        signal: record.signal.clone(),
        stderr: excerpt(|e| &e.stderr, &record.stderr_tail),
        stdout: excerpt(|e| &e.stdout, &record.stdout_tail),
        step_id: record.id.clone(),
        suggestion: suggestion(step, record).to_owned(),
    })
}

/// What to do about a failure.
fn suggestion(step: &Step, record: &StepRecord) -> &'static str {
    match (record.status, record.reason) {
        (_, Some(Cause::Missing)) => {
            "install what is missing, or create the directory, and run again; the change itself was not checked"
        }
        (_, Some(Cause::Unsupported)) => "write the check as one command, or with the verb `shell`",
        (_, Some(Cause::Budget)) => "the run's budget was too short for its steps: raise it, or make the steps faster",
        (Status::TimedOut, _) => {
            "find out why it hangs or has become slow; raise its `timeout` only if it needs that long"
        }
        (_, Some(Cause::Mutated)) => "run the generator and commit what it writes",
        (_, Some(Cause::NoEvidence)) => "make sure that the command really runs tests and prints their results",
        (_, Some(Cause::SpawnError | Cause::Lost)) => {
            "this is the machine's fault, not the change's: look at the detail and run again"
        }
        (_, Some(Cause::Signal)) => "it was killed from outside or crashed: look at its output, and at memory limits",
        _ if step.setup => "repair the setup step; nothing behind it was checked",
        _ => match step.kind {
            Kind::Compile => "repair the first error that the compiler reports; later ones often follow from it",
            Kind::Test => "repair the code that the first failing test covers; do not weaken the test",
            Kind::Lint => "repair the reported places; do not silence the rule",
            Kind::File => "make the file what the check asserts, usually by repairing the step that writes it",
            Kind::Judge => "follow the judge's reasoning",
            Kind::Run | Kind::Shell => {
                "read the end of its output, repair the cause, and run the command by itself first"
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::word::Word;

    #[test]
    fn excerpts_are_bounded() {
        let short = Captured::from(&b"abcdef"[..]);
        assert_eq!(Excerpt::of(&short, 3), Excerpt { head: "abcdef".into(), omitted_bytes: 0, tail: String::new() });
        assert_eq!(Excerpt::of(&short, 2), Excerpt { head: "ab".into(), omitted_bytes: 2, tail: "ef".into() });
        let cut = Captured { head: Word::from("ab"), tail: Word::from("yz"), total: 100 };
        assert_eq!(Excerpt::of(&cut, 2), Excerpt { head: "ab".into(), omitted_bytes: 96, tail: "yz".into() });
        let long = Excerpt::of(&cut, 3);
        assert_eq!((long.omitted_bytes, long.head.len() + long.tail.len()), (96, 4));
    }
}
