//! Proposes a first contract from what a repository already runs: CI workflows, hooks, manifests.
//!
//! `sources -> readers -> classify -> fold -> rank -> conditions -> text and account`, each a pure
//! function of plain data. Readers only list commands; the table of tools (`vplan_check::tool`)
//! and the name of a task decide. Nothing runs, and files are read before.
//! INVARIANT (account): every source line is kept, folded into another one, or named in the account.

#![forbid(unsafe_code)]

pub mod account;
mod actions;
pub mod check;
pub mod circleci;
pub mod classify;
pub mod conditions;
mod expression;
pub mod fold;
pub mod found;
pub mod github;
pub mod gitlab;
mod globs;
pub mod hooks;
mod listed;
pub mod manifests;
mod names;
pub mod proposal;
pub mod rank;
pub mod shell;
pub mod single;
mod sink;
mod source;
pub mod tasks;
#[cfg(test)]
mod tests;
pub mod text;
pub mod tree;
mod variables;
pub mod workspace;
