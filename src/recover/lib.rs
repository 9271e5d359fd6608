//! Repairs a plan that was itself wrong: plan and failures in, a plan or a refusal out. Pure (src/engine.md
//! section 6).

#![forbid(unsafe_code)]

pub mod bare;
mod change;
pub mod failure;
pub mod obstacle;
mod preflight;
mod repair;
pub mod rewrite;
mod rules;

pub use failure::{Failure, advice, advice_questions, classify, questions};
pub use preflight::{foreseen, preflight, preflight_questions};
pub use repair::{Recovery, recover};

#[cfg(test)]
mod tests;
