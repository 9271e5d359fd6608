//! Reads what a repository declares about its own verification: CI workflows, hooks, task runners
//! and manifests become candidates, each with its source, and those that are kept a contract.
//!
//! `sources -> candidates -> looked through -> judged -> merged -> conditions -> size -> text`, each
//! a pure function of plain data. Files are read before (`effect::repo::infer`); nothing runs.
//! INVARIANT (account): every command that a source declares is a candidate, and every candidate
//! ends as kept, as merged into another one, or as left out for a reason that is shown.

pub mod candidate;
pub mod ci_other;
pub mod conditions;
pub mod github;
pub mod gitlab;
pub mod hooks;
pub mod judge;
pub mod kind;
pub mod launch;
pub mod look;
pub mod manifests;
pub mod merge;
pub mod normal;
pub mod predecessors;
pub mod proposal;
pub mod runners;
pub mod script;
pub mod shell;
pub mod single;
pub mod size;
pub mod tasks;
pub mod text;
pub mod tree;
