//! Reuses earlier passes in place of steps (src/engine.md section 10).
//!
//! INVARIANT (reuse): if an earlier pass replaces a step, running the step would have passed and
//! left the same products, as far as its command is a function of its declared inputs. It rests on
//! three decisions:
//!
//! 1. *The key holds everything that may influence the result* ([`key`]): a new field of a step is
//!    part of it by default.
//! 2. *The past of this run counts* ([`decide`]): a step that ran before, or cleans its outputs,
//!    may have changed things that no key contains.
//! 3. *Only stable results are cached*: an input that was written while the step ran voids its
//!    pass, unless it is the step's own output ([`own_output`]). A step that ends in any other way
//!    removes the entry with the same key.
//!
//! If a pass wrote some of its own inputs, it has two keys: that of the state in which it began,
//! and that of the state that it left. Each covers all files at one time, because a mixture would
//! be a state that no run has had. The second key assumes that a step passes again from where it
//! ended, if it began with nothing but the files of its own passes. Nothing of the kind is assumed
//! of files that others left.
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
