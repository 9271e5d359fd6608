//! Reuses earlier passes in place of steps (src/engine.md section 10).
//!
//! INVARIANT (reuse): where an earlier pass replaces a step, running the step would have passed and
//! left the same products, as far as its command is a function of what the contract says it depends
//! on. It rests on three decisions:
//!
//! 1. *The key holds everything that may influence the result* ([`key`]): a new field of a step is
//!    part of it by default.
//! 2. *The past of this run counts* ([`decide`]): what ran before a step, or cleans what it makes,
//!    may have changed what no key holds.
//! 3. *Only stable results are kept*: an input that was written while the step ran voids its pass,
//!    unless it is the step's own output ([`own_output`]); a step that ends in any other way removes
//!    what was kept for the same key.
//!
//! What a pass wrote of its own inputs is in two keys, that of the state in which it began and that
//! of the state that it left: all files together, never some as they were before and others as they
//! were afterwards, which is a state that no run has seen. The second key assumes that a step that
//! passed, beginning with nothing but what its own passes had left, passes again from where it
//! ended. Nothing of the kind is assumed of what others left.
//!
//! Out of its reach: files outside the repository and programs that the command starts in turn
//! (beyond its interpreter), the network, clocks, limits of the process; a program that makes an
//! ignored file while the step runs and belongs neither to it nor to a run of vplan. `inputs` declares that they do not
//! matter; `--confirm` tests that. Any process that can write to the state directory
//! can forge a pass: a step of the same user can, unless it is contained.

#![forbid(unsafe_code)]

pub mod decide;
pub mod entry;
pub mod key;
pub mod listing;
pub mod own_output;
pub mod shared;
pub mod signing;
mod touched;
