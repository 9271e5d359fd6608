//! Strategies for property tests: a module for each crate whose types it generates.
//!
//! Unit tests cannot use a strategy for the types of their own crate from here, because those are
//! types of another compilation. They compile the file of this directory as a separate module.

#![forbid(unsafe_code)]

extern crate self as vplan_arbitrary;

mod config;
pub mod glob;
#[cfg(feature = "lang")]
pub mod lang;
#[cfg(feature = "plan")]
pub mod made;
#[cfg(feature = "plan")]
pub mod order;
#[cfg(feature = "plan")]
pub mod plan;
#[cfg(feature = "recover")]
pub mod recover;
#[cfg(feature = "run")]
pub mod run;

pub use config::{config, drawn, rows};
