//! Types that all crates share. Uses no other crate.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bits;
pub mod canon;
pub mod carried;
pub mod change;
pub mod command;
pub mod diagnostic;
pub mod folders;
pub mod glob;
pub mod graph;
pub mod hole;
pub mod index;
pub mod inert;
pub mod jobs;
pub mod lookalike;
pub mod machine;
pub mod markup;
pub mod matching;
pub mod name;
pub mod nearest;
pub mod origin;
pub mod path;
pub mod service;
pub mod setting;
pub mod source;
pub mod span;
pub mod table;
pub mod unit;
pub mod vocabulary;
pub mod word;
pub mod workspace;

#[cfg(test)]
extern crate self as vplan_base;
/// Strategies for the types of this crate: those of `vplan-arbitrary`, compiled again for its own tests.
#[cfg(test)]
#[path = "../arbitrary"]
pub mod arbitrary {
    pub mod config;
    pub mod glob;
    pub use config::{config, drawn};
}
