#![doc = include_str!("architecture.md")]

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod base;
pub mod check;
pub mod cli;
pub mod contract;
pub mod effect;
pub mod engine;
pub mod front;
pub mod lang;
pub mod ledger;
pub mod lock;
pub mod plan;
pub mod recover;
pub mod reuse;
pub mod run;
