//! Reuses earlier passes in place of steps (engine.md section 10).
//!
//! INVARIANT (reuse): where an earlier pass stands for a step, running the step would have passed
//! and left the same products, as far as its command is a function of what the contract says it
//! depends on. It rests on three decisions:
//!
//! 1. *The key holds all that may have a say* ([`key`]): a field of a step that nobody thought of
//!    is part of it.
//! 2. *The past of this run counts* ([`decide`]): what ran before a step, or cleans what it makes,
//!    may have changed what no key holds.
//! 3. *Only what was seen to be steady is kept*: an input that was written while the step ran voids
//!    its pass; a step that comes to any other end takes away what was kept for the same key.
//!
//! What it cannot know: files outside the repository and programs that the command starts in turn
//! (beyond its interpreter), the network, clocks, limits of the process. Whoever writes `inputs`
//! says that they have no say; `--confirm` puts it to the test. And whoever may write to the state
//! directory may forge a pass: a step of the same user can, unless it is contained.

pub mod decide;
pub mod entry;
pub mod key;
