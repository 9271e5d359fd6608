//! The KDL form of a plan, for people who review one: how it is written and read back.
//!
//! A field is a node of its name; a list has its items after the name, or, when they are more than
//! words, as nodes called `-`; short fields of an object follow it as properties. The type that a
//! node is read as gives its meaning, so a list of one word needs no mark of its own; only where
//! the type itself depends on the text, such a list is marked `(list)`.

mod read;
pub mod text;
mod write;

pub use read::from_kdl;
pub use write::to_kdl;
pub use write::{quoted, value};

#[cfg(test)]
mod tests;
