//! A task of a runner, as a file has it.

use std::collections::BTreeMap;

/// Variables that a file gives a plain value.
pub(crate) type Variables = BTreeMap<String, String>;
/// The tasks of a file and its variables.
pub(crate) type Lines = (Vec<Task>, Variables);

/// A task of a runner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    pub name: String,
    pub line: u32,
    /// Its commands as shell text, with the line of each.
    pub commands: Vec<(u32, String)>,
    /// The tasks that run before it.
    pub needs: Vec<String>,
}

impl Task {
    pub(super) fn new(name: impl Into<String>, line: u32) -> Self {
        Self {
            name: name.into(),
            line,
            ..Self::default()
        }
    }
}
