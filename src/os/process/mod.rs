//! Starts, limits and reads steps, and ensures that none of their processes remain.
//!
//! vplan keeps a supervisor, a process of its own program, for each step that runs ([`supervise`];
//! [`pool`] holds them), and sends it frames (`frame`). The supervisor starts the step and ends all
//! its descendants (`tree`). On request it observes the step (`observe`), or starts it in
//! namespaces of its own ([`sealed`]). vplan finds the program ([`program`]), reads both streams
//! and stores them ([`capture`]), masks granted secrets ([`mask`]), and assembles the result
//! ([`attempt`]). No shell is involved anywhere. All `unsafe` code is in `sys`.
//!
//! The containment is `subtree`: nothing outlives its step, whatever it forks, detaches or ignores;
//! not even when vplan or the supervisor is killed with SIGKILL. There are three exceptions: a step
//! that kills vplan *and* its supervisor; work that is handed to another daemon (docker, at,
//! systemd-run); and processes of another user (sudo), which are reported.

pub mod ask;
pub mod attempt;
pub mod capture;
pub mod confine;
pub mod doorbell;
mod filter;
pub mod guarantees;
pub mod input;
pub mod mask;
mod messages;
pub mod namespace;
mod observe;
pub mod pool;
pub mod program;
pub mod sealed;
pub mod sealed_files;
mod starter;
pub mod stop;
pub mod supervise;
mod sys;
mod tree;
pub mod writable;

pub use sys::{give_back, take_again};

/// Makes this process able to wait for its children, whatever it inherits from its caller. Must be
/// called before the first child is started.
pub fn wait_for_children() {
    sys::hear_children();
}

/// Ends all that a child of this process has started and that is still below it. The child itself is
/// stopped.
pub fn end_all_below(child: rustix::process::Pid) {
    tree::end_all_below(child);
}

/// Makes this process survive `ulimit -f`: a write beyond it returns an error. Steps get the
/// default again.
pub fn survive_file_limits() {
    sys::ignore_file_size_signal();
}
