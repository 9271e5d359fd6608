#![doc = include_str!("architecture.md")]

pub mod base;
pub mod lang;
pub mod check;
pub mod contract;
pub mod front;
pub mod plan;
pub mod recover;
pub mod run;
pub mod reuse;
pub mod ledger;
pub mod lock;
pub mod effect;
pub mod cli;
#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
