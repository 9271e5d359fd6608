//! What the pure rooms may not do: files, processes, git, clocks, records. Five drawers, of which
//! each uses only those before it: what the operating system gives (`os`), git (`git`), what
//! outlives a run (`store`), running a plan (`runner`), reading a repository (`repo`).
#![expect(
    clippy::disallowed_methods,
    reason = "the door: the core's purity is a lint, and this is where it ends"
)]

pub mod git;
pub mod os;
pub mod repo;
pub mod runner;
pub mod store;
