//! Parses text to a syntax tree, never failing: a tree and a list of errors. The only room of
//! `nom`.

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
