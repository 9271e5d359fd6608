//! Does what the pure rooms may not: files, processes, git, clocks, records. Five drawers, of which
//! each uses only those before it: the operating system (`os`), git (`git`), what outlives a run
//! (`store`), running a plan (`runner`), reading a repository (`repo`).
#![expect(
    clippy::disallowed_methods,
    reason = "the door: the core's purity is a lint, and this is where it ends"
)]

pub mod git;
pub mod os;
pub mod repo;
pub mod runner;
pub mod store;
