//! Parses text to a syntax tree, never failing: the result is a tree and a list of errors. The only
//! crate that uses `nom`.

#![forbid(unsafe_code)]

/// The reference of the language, for people: what `vplan help language` prints.
pub const GRAMMAR: &str = include_str!("grammar.md");

pub mod ast;
pub mod command;
mod conjunction;
pub mod error;
pub mod foreign;
pub mod format;
pub mod layout;
pub mod parse;
mod state;
pub mod statement;
mod word;
