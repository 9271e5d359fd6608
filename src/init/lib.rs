//! Proposes a first contract from what a repository already runs: CI workflows, hooks, manifests.
//!
//! `sources -> readers -> classify -> fold -> rank -> conditions -> text and account`, each a pure
//! function of plain data. Readers only list commands; the table of tools (`vplan_check::tool`)
//! and the name of a task decide. Nothing runs, and files are read before.
//! INVARIANT (account): every source line is kept, folded into another one, or named in the account.

#![forbid(unsafe_code)]

pub mod account;
mod body;
pub mod check;
mod circleci;
mod classify;
mod conditions;
mod expression;
mod fold;
pub mod found;
mod github;
mod gitlab;
mod globs;
mod hooks;
mod kinds;
pub mod makefile;
mod manifests;
mod names;
pub mod proposal;
mod rank;
mod shell;
pub mod single;
mod sink;
mod tasks;
#[cfg(test)]
mod tests;
pub mod text;
pub mod tree;
mod variables;
mod words;
mod workspace;
