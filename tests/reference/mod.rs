//! What is the right plan, and what does a glob select? A second evaluator, written from the
//! description of the language and of the engine alone: the shortest way to each answer, never the
//! fastest. It shares nothing with `src/` but the types in which a contract, a request and facts
//! are given.

pub mod diff;
pub mod glob;
pub mod graph;
pub mod plan;
pub mod run;
pub mod shell;
