//! Verifies a change, runs a fixer on the failures, and verifies again, until there is a decision.
//!
//! The fixer is not trusted: neither its output nor its exit code can turn a failure into a pass.
//! Before each verification, the loop checks that the request is unchanged, and that the work is
//! still there. The fixer can only end the loop, or confirm a pass by a second look.

mod caller;
mod task;
mod turn;
mod watch;

pub use caller::{
    FixerCommand, LoopCaller, LoopFix, LoopOutcome, LoopProgress, LoopRequest, MAX_ROUNDS, Review,
    RoundRecord, Stop, Turn, TurnRecord,
};

use crate::{Engine, Failure};
use std::cell::RefCell;
use task::Task;
use vplan_ledger::Ledger;
use watch::Watch;

/// Verifies and repairs until there is a decision.
///
/// # Errors
/// The first round cannot begin; later, a failure that does not concern the work (a full disk).
pub fn repair_loop(
    engine: &Engine<'_>,
    requested: &LoopRequest,
    caller: LoopCaller<'_>,
) -> Result<LoopOutcome, Failure> {
    let task = Task {
        engine,
        asked: requested,
        caller,
        memory: &RefCell::new(Ledger::default()),
        verify: requested.verify.clone(),
        watch: Watch::new(requested.verify.allow_contract_change.clone()),
        rounds: Vec::new(),
        stuck: None,
    };
    task.go()
}
