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
//! 3. *Only stable results are kept*: an input that was written while the step ran voids its pass;
//!    a step that ends in any other way removes what was kept for the same key.
//!
//! Out of its reach: files outside the repository and programs that the command starts in turn
//! (beyond its interpreter), the network, clocks, limits of the process. `inputs` declares that
//! they do not matter; `--confirm` tests that. Any process that can write to the state directory
//! can forge a pass: a step of the same user can, unless it is contained.

pub mod decide;
pub mod entry;
pub mod key;
