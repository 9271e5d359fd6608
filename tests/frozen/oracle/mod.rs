//! What must hold for any bytes whatsoever? One function for each fuzz target; the targets call
//! them, and so do the tests that replay what was once found. They panic on what does not hold.
//!
//! Nothing here is about one input: each function is a statement of a whole room, held against a
//! second implementation, against its own inverse, or against itself under a change that may make
//! no difference.

pub mod answer;
pub mod arguments;
pub mod choices;
pub mod contract;
pub mod elsewhere;
pub mod import;
pub mod language;
pub mod output;
pub mod plan;
pub mod readings;
pub mod recovery;
pub mod rewrites;
pub mod run;
pub mod store;
pub mod text;

/// A statement about any bytes.
pub type Oracle = fn(&[u8]);

/// Every fuzz target, by the name of its file.
pub const ALL: &[(&str, Oracle)] = &[
    ("answers", answer::answers),
    ("arguments", arguments::arguments),
    ("away", elsewhere::away),
    ("changes", output::changes),
    ("classify", recovery::classify),
    ("command", text::command),
    ("compile", plan::compile_drawn),
    ("contract", contract::contract),
    ("convert", contract::convert),
    ("diff", plan::diff),
    ("facts", output::facts),
    ("fmt", contract::fmt),
    ("git", output::git),
    ("glob", text::glob),
    ("import", import::import),
    ("inert", text::inert),
    ("journal", run::journal),
    ("lock", store::lock),
    ("mask", text::mask),
    ("output", output::output),
    ("plan", plan::plan),
    ("recover", recovery::recover),
    ("request", contract::request),
    ("runner", run::runner),
    ("signed", elsewhere::signed),
    ("state", store::state),
    ("substitute", plan::substitute),
    ("tamper", run::tamper),
    ("words", text::words),
];
