//! Wraps the operating system: processes, files, time, signals, the environment.
#![expect(
    clippy::disallowed_methods,
    reason = "the door: the core's purity is a lint, and this is where it ends"
)]

pub mod atomic_file;
pub mod clock;
pub mod completing;
pub mod environment;
pub mod files;
pub mod hard_links;
pub mod held;
pub mod input;
pub mod outside;
pub mod own_program;
pub mod parallel;
pub mod port;
pub mod process;
pub mod retry_eintr;
pub mod scratch;
pub mod signals;
pub mod stale_temp;
pub mod stat_cache;
pub mod state_dir;
pub mod state_files;
pub mod terminal;
pub mod view;
pub mod watches;
