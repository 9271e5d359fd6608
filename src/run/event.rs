//! Events that happen to a run, and actions that it requests. All times are milliseconds since the
//! run's start, monotonic.

use vplan_base::vocabulary::Exit;
use vplan_check::evidence::Evidence;
use vplan_plan::StepIndex;

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A try of a step has ended, its processes are gone, its output is on disk.
    Finished {
        step: StepIndex,
        /// The number of the try, from 1.
        attempt: u32,
        /// The time of its end.
        at: u64,
        /// The evidence of the try.
        evidence: Box<Evidence>,
    },
    /// A try has begun: the preparations before it do not count towards its time.
    Began {
        step: StepIndex,
        /// The number of the try, from 1.
        attempt: u32,
        at: u64,
    },
    /// The time last requested by [`Action::WakeAt`] has come, or some time has passed.
    Time {
        /// The present time.
        at: u64,
    },
    /// All events up to now have been delivered. A caller that cannot know that leaves this out;
    /// choices then wait for the next millisecond.
    InstantComplete {
        /// The present time.
        at: u64,
    },
    /// SIGINT or SIGTERM. The second one makes it urgent.
    Interrupt {
        /// The present time.
        at: u64,
        signal: Interrupt,
    },
    /// The record could not be written (a full or read-only disk): nothing further may start.
    RecordFailed {
        /// The present time.
        at: u64,
        /// One line for people.
        message: String,
    },
}

impl Event {
    /// Returns the time of the event.
    pub fn at(&self) -> u64 {
        match self {
            Event::Finished { at, .. }
            | Event::Began { at, .. }
            | Event::Time { at }
            | Event::InstantComplete { at }
            | Event::Interrupt { at, .. }
            | Event::RecordFailed { at, .. } => *at,
        }
    }
}

vplan_base::vocabulary! {
    /// The signals that end a run.
    Interrupt {
        /// SIGINT: exit 130.
        Int = "int",
        /// SIGTERM (and SIGHUP): exit 143.
        Term = "term",
    }
}

impl Interrupt {
    /// Returns the exit code of what it has ended.
    pub fn exit(self) -> Exit {
        match self {
            Self::Int => Exit::Interrupted,
            Self::Term => Exit::Terminated,
        }
    }
}

/// An action that the run requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Start a try of a step. Its end comes back as [`Event::Finished`], whatever happens.
    Spawn {
        step: StepIndex,
        /// The number of the try, from 1.
        attempt: u32,
        /// The effective time limit in milliseconds, at least 1; for the record. The machine itself
        /// decides when it is up; elsewhere it is enforced there, and counts from
        /// [`Event::Began`].
        limit_ms: u64,
        /// Whether it is executed elsewhere.
        elsewhere: bool,
    },
    /// Ask the step's whole tree to end (SIGTERM, then SIGCONT).
    Terminate {
        step: StepIndex,
        /// Whether its time was up, which its evidence must then record.
        timed_out: bool,
    },
    /// End the step's whole tree now (SIGKILL, swept until none is left).
    Kill {
        step: StepIndex,
        /// Whether its time was up, which its evidence must then record.
        timed_out: bool,
    },
    /// Send [`Event::Time`] at this time, unless an earlier event comes first.
    WakeAt { at: u64 },
    /// Everything has ended; the report is ready.
    Done,
}
