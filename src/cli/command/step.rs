//! `vplan step`: executes one step that another vplan has ordered.

use super::answer::*;
use crate::args::StepOrder;
use vplan_runner::worker::{Unanswered, execute};

/// Executes the step of a work order, and writes the answer to the same directory.
///
/// # Errors
/// No answer: the order is invalid, or the step cannot be executed here.
pub fn run(_: &Global, args: &StepOrder, _: &Terminal) -> Result<u8, Failure> {
    let failed = |exit, code, why: &Unanswered| Err(Failure::new(exit, code, why.to_string()));
    match execute(&args.order) {
        Ok(()) => Ok(Exit::Success.code()),
        Err(Unanswered::Stopped(signal)) => Ok(signal.exit().code()),
        Err(why @ (Unanswered::NoOrder(_) | Unanswered::Answered(_))) => {
            failed(Exit::Usage, "vplan::away::order", &why)
        }
        Err(why @ Unanswered::Unable(_)) => failed(Exit::Setup, "vplan::away::unable", &why),
    }
}
