//! The evidence of one attempt of a step: bounded, plain data, gathered by the shell (`effect`) and
//! evaluated by pure crates.

use serde::{Deserialize, Serialize};
use vplan_base::canon::Digest;

/// Everything known of one try.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// The first assertion of a `file` check that does not hold, or the first that cannot be
    /// decided.
    pub assertion: Option<String>,
    /// Its duration by the monotonic clock, in milliseconds.
    pub duration_ms: u64,
    /// The earlier pass that is reused; then nothing was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Box<EarlierPass>>,
    /// Its exit code, if it exited by itself.
    pub exit: Option<i32>,
    /// The identities of the findings in `reading`, then of its failed tests, in their order. Empty
    /// where they were not found out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<super::results::Identity>,
    /// The number of processes that were still there when it ended and had to be stopped.
    pub leaked: u32,
    /// The first file that `unchanged` selects and that the step changed.
    pub mutated: Option<vplan_base::path::RepoPath>,
    /// The digest of the question to a judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Digest>,
    /// The reading of its output, or of the report that it wrote; absent when it is in no format
    /// that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Box<super::results::Reading>>,
    /// It was to write a report and wrote none: what `reading` holds comes from its output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub report_missing: bool,
    /// The signal that ended it, such as `SIGKILL`.
    pub signal: Option<String>,
    /// The reason why it could not be started.
    pub spawn_error: Option<SpawnError>,
    /// Its standard error.
    pub stderr: Captured,
    /// Its standard output.
    pub stdout: Captured,
    /// Whether vplan stopped it because its time was up.
    pub timed_out: bool,
}

/// The code of the spawn error of a step whose service was never ready, or died: whatever the step
/// did then says nothing.
pub const SERVICE: &str = "SERVICE";

/// The code of a [`SpawnError`] that says that a step could not be confined as it asks to be.
pub const UNCONFINED: &str = "SANDBOX_FAILED";

/// The code of the spawn error of a step that was sent elsewhere, where no answer that counts came back.
pub const UNANSWERED: &str = "AWAY";

/// A pass in an earlier run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EarlierPass {
    /// Its time by the wall clock: RFC 3339, UTC. For people; nothing depends on it.
    pub at: String,
    /// The message besides "passed", if there was one.
    pub detail: Option<String>,
    /// Its duration then, in milliseconds.
    pub duration_ms: u64,
    /// The number of errors in its output, where it was read.
    pub errors: Option<u64>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The format in which its output was read.
    pub format: Option<String>,
    /// The digest of all that it depends on.
    pub key: Option<vplan_base::canon::Digest>,
    /// The run.
    pub run_id: String,
    /// What the operator says of the machines of which it may be one, where it is shared.
    pub scope: Option<String>,
    /// The id of the key that signed it, where it is shared.
    pub signed_by: Option<String>,
    /// The id of the step then.
    pub step: String,
    /// The number of tests that it ran, where its output was read.
    pub tests: Option<super::results::TestCounts>,
    /// The number of warnings in its output, where it was read.
    pub warnings: Option<u64>,
}

/// A stream of output: its beginning and its end, and how much there was.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Captured {
    /// The first bytes.
    pub head: vplan_base::word::Word,
    /// The last bytes that are not in `head`; both together are everything when nothing was left
    /// out between them.
    pub tail: vplan_base::word::Word,
    /// The number of bytes that the step wrote.
    pub total: u64,
}

impl Evidence {
    /// Whether it is that of a step that was sent elsewhere and had no answer.
    pub fn is_unanswered(&self) -> bool {
        (self.spawn_error.as_ref()).is_some_and(|error| error.code == UNANSWERED)
    }
}

impl Captured {
    /// Everything that was kept, in order.
    pub fn text(&self) -> Vec<u8> {
        [self.head.as_bytes(), self.tail.as_bytes()].concat()
    }

    /// Whether the step wrote nothing but blanks.
    pub fn is_blank(&self) -> bool {
        let blank = |w: &vplan_base::word::Word| w.as_bytes().iter().all(u8::is_ascii_whitespace);
        blank(&self.head) && blank(&self.tail)
    }
}

impl From<&[u8]> for Captured {
    fn from(bytes: &[u8]) -> Self {
        Self {
            head: vplan_base::word::Word::new(bytes),
            tail: Default::default(),
            total: bytes.len() as u64,
        }
    }
}

impl std::fmt::Debug for Captured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Captured({} bytes, {:?} … {:?})",
            self.total, self.head, self.tail
        )
    }
}

/// The reason why a step could not be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpawnError {
    /// The system's name for it, such as `ENOENT`, or vplan's own: `PROGRAM_NOT_FOUND`,
    /// `PROGRAM_IN_REPOSITORY` (only an omitted entry of PATH has it),
    /// `NO_SUCH_DIRECTORY`, `DIRECTORY_OUTSIDE`.
    pub code: String,
    /// One line for people, with the next step.
    pub message: String,
}
